package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// How long a viewer stays before it leaves, in the middle of whatever it is
// being told, and comes back to some instance with what it has seen.
const (
	stayMin = 200 * time.Millisecond
	stayMax = 5 * time.Second
)

// viewer watches a show from the beginning of a round until everything is at
// rest, and writes down all that it is told.
type viewer struct {
	*client
	n        int // of the round, from 0
	show     *show
	at       int
	plan     *rand.Rand
	customer string
	h        *history

	mu    sync.Mutex
	told  []*news
	knows int64 // the version of the map that it has; -1: it has none
}

// news is an event that a viewer was told, or its coming to an instance.
type news struct {
	Viewer int    `json:"viewer"`
	Round  int    `json:"round"`
	Show   int    `json:"show"`
	Line   int    `json:"line"` // which of the viewer's, from 1
	Time   int64  `json:"time"` // microseconds since the run began
	Event  string `json:"event"`
	Door   string `json:"door,omitempty"`
	From   string `json:"from,omitempty"` // of a coming: with this id; "": with none
	ID     string `json:"id,omitempty"`
	told
}

// comes is the event of a viewer who comes to an instance.
const comes = "comes"

// told is what events of all kinds say.
type told struct {
	After    int64      `json:"after,omitempty"`
	Version  int64      `json:"version,omitempty"`
	Statuses string     `json:"statuses,omitempty"`
	Seats    []toldSeat `json:"seats,omitempty"`
	Areas    []toldArea `json:"areas,omitempty"`
	Status   string     `json:"status,omitempty"` // of the show
	SoldOut  bool       `json:"soldOut,omitempty"`
	SaleOpen bool       `json:"saleOpen,omitempty"`
	Stale    bool       `json:"stale,omitempty"`
	RetryMs  int64      `json:"retryMs,omitempty"`
}

type toldSeat struct {
	SeatID uuid.UUID `json:"seatId"`
	Status string    `json:"status"`
}

type toldArea struct {
	Available int `json:"available"`
	Capacity  int `json:"capacity"`
}

// watchers are viewers of every show of the round, at work until stop is
// called.
func (r *round) watchers(ctx context.Context) (all []*viewer, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for at, sh := range r.shows {
		for range r.t.cfg.viewers {
			n := len(all)
			plan := rand.New(rand.NewPCG(r.t.seed, uint64(r.n)<<40|uint64(0xfe00+n)<<24))
			w := &viewer{
				client: &client{t: r.t, id: r.auditor.id}, n: n, show: sh, at: at, plan: plan, customer: newID(plan).String(), h: r.history, knows: -1,
			}
			all = append(all, w)
			group.Go(func() { w.watch(ctx) })
		}
	}
	return all, func() { cancel(); group.Wait() }
}

// watch comes and goes until ctx ends.
func (w *viewer) watch(ctx context.Context) {
	last := ""
	for line := 1; ctx.Err() == nil; line++ {
		if w.plan.IntN(10) == 0 {
			last = "" // the page is loaded anew
		}
		last = w.stay(ctx, line, last)
	}
}

// stay is one stay at an instance, after the event with the id last. It returns
// the id of the last event after it.
func (w *viewer) stay(ctx context.Context, line int, last string) string {
	here, leave := context.WithTimeout(ctx, stayMin+time.Duration(w.plan.Int64N(int64(stayMax))))
	defer leave()
	req := request{method: http.MethodGet, path: "/shows/" + w.show.id + "/stream", customer: w.customer}
	if last != "" && w.plan.IntN(2) == 0 {
		req.header = map[string]string{"Last-Event-ID": last}
	} else if last != "" {
		req.path += "?lastEventId=" + last
	}
	coming := w.h.now()
	s := w.listen(here, req)
	if s == nil {
		rest(ctx, 50*time.Millisecond)
		return last
	}
	defer s.close()
	w.note(&news{Line: line, Time: coming, Event: comes, From: last, Door: s.door})
	for {
		e, err := s.next()
		if err != nil {
			if here.Err() == nil {
				rest(ctx, s.retry) // it was the server that ended it
			}
			return last
		}
		if e.id != nil {
			last = *e.id
		}
		if e.name == "heartbeat" {
			continue
		}
		n := &news{Line: line, Time: w.h.now(), Event: e.name}
		if e.id != nil {
			n.ID = *e.id
		}
		e.says(w.client, req.path, &n.told)
		w.note(n)
	}
}

func (w *viewer) note(n *news) {
	n.Viewer, n.Round, n.Show = w.n, w.h.round, w.at
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, n)
	switch {
	case n.Event == "snapshot" || n.Event == "changes" && w.knows >= 0:
		w.knows = n.Version
	case n.Event == "reset" || n.Event == comes && n.From == "":
		w.knows = -1
	}
}

// version is that of the map that the viewer has now.
func (w *viewer) version() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.knows
}

// heard is all that the viewer was told.
func (w *viewer) heard() []*news {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.told)
}

func (n *news) String() string {
	return fmt.Sprintf("viewer %d, its line %d, at %.6f s: %s", n.Viewer, n.Line, float64(n.Time)/1e6, n.Event)
}
