package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/torture/cluster"
)

// show is one of those that a round sells.
type show struct {
	title string // round 2, show 1
	id    string
	seats []uuid.UUID
	index map[uuid.UUID]int
	label []string
	area  uuid.UUID
	floor int // units at first; 0: no area
	terms terms
	house
	known atomic.Int64
}

func (s *show) name(seat int) string { return fmt.Sprintf("%s, seat %s", s.title, s.label[seat]) }

func (s *show) areaName() string { return s.title + ", floor" }

// tell notes that somebody was told of a version.
func (s *show) tell(version int64) {
	for {
		have := s.known.Load()
		if version <= have || s.known.CompareAndSwap(have, version) {
			return
		}
	}
}

// told is the last version that anybody was told of.
func (s *show) told() int64 { return s.known.Load() }

// round is a number of shows that are sold under faults for a while, and then
// proved.
type round struct {
	t       *run
	n       int
	shows   []*show
	history *history
	auditor *client
	beyond  map[string]bool // refunds that were refused, and cannot be sent again

	mu     sync.Mutex
	events []cluster.Event
}

// house is what is special about a show.
type house struct {
	// doomed is a show that is cancelled in the middle of the round. Everybody
	// gets their money back by jobs, at no time that a client knows of: it is
	// audited, and its history is not looked at.
	doomed bool
	// wanted is one that people wait for when it is sold out.
	wanted bool
	// crowded is one whose waiting room is open. Who has not queued gets nothing
	// there.
	crowded bool
}

// houses are the shows of a round: small, so that many want the same; but one
// that is sold out needs no waiting room.
var houses = []struct {
	cluster.ShowOptions
	house
}{
	{cluster.ShowOptions{Seats: 10, Floor: 8, HoldSeconds: holdSecondsMax}, house{}},
	{cluster.ShowOptions{Seats: 6, HoldSeconds: holdSecondsMax}, house{}},
	{cluster.ShowOptions{Seats: 16, Floor: 5, HoldSeconds: holdSecondsMax}, house{}},
	{cluster.ShowOptions{Seats: 4, Floor: 2, HoldSeconds: holdSecondsMax}, house{wanted: true}},
	{cluster.ShowOptions{Seats: 8, Floor: 4, HoldSeconds: holdSecondsMax}, house{doomed: true}},
	{cluster.ShowOptions{Seats: 12, Floor: 40, HoldSeconds: holdSecondsMax}, house{crowded: true}},
}

// mostPlaces is how many places a reservation may have at first.
const mostPlaces = 5

// rules are what a show is changed to before it is sold.
func (h *house) rules() object {
	o := object{"cancellation": object{"untilMinutesBeforeStart": 0, "refundPercent": 80}, "maxPlacesPerReservation": mostPlaces}
	if h.wanted {
		o["offerSeconds"] = offerSeconds
	}
	if h.crowded {
		o["queue"] = object{
			"ratePerMinute": queueRules.perMinute, "admissionSeconds": queueRules.admission / time.Second, "sessionSeconds": queueRules.session / time.Second,
			"returnSeconds": queueRules.comeBack / time.Second, "sizeMax": queueRules.sizeMax,
		}
	}
	return o
}

// How long the house may take to come to rest. A payment lengthens a hold by two
// minutes, a job whose process was killed is taken up again after one, and a
// webhook that could have no effect is tried again after one and then five.
const (
	restMax    = 7 * time.Minute
	restFailed = 15 * time.Second // when something was found already
)

func (t *run) round(ctx context.Context, n int, during time.Duration) (err error) {
	r := &round{t: t, n: n, history: &history{began: t.began, round: n}, auditor: &client{t: t, id: t.cfg.buyers + t.cfg.staff}, beyond: map[string]bool{}}
	if err := r.open(ctx); err != nil {
		return fmt.Errorf("shows could not be made: %w", err)
	}
	load, enough := context.WithTimeout(ctx, during)
	defer enough()
	t.stopLoad.Store(&enough)
	stop, cancel := context.WithCancel(ctx)
	defer cancel()

	var people, trouble sync.WaitGroup
	for i := range t.cfg.buyers {
		people.Go(func() { (&client{t: t, id: i}).buyer(load, stop, r) })
	}
	for i := range t.cfg.staff {
		people.Go(func() { (&client{t: t, id: t.cfg.buyers + i}).staff(load, stop, r) })
	}
	for i := range t.cfg.queuers {
		people.Go(func() { r.newcomer(1+i).queuer(load, stop, r) })
	}
	for i := range t.cfg.waiters {
		people.Go(func() { r.newcomer(1+t.cfg.queuers+i).waiter(load, stop, r) })
	}
	viewers, leave := r.watchers(ctx)
	defer leave()
	people.Go(func() {
		rest(load, during*2/3)
		r.cancelShow(stop)
	})
	for i := range t.cfg.troubles {
		trouble.Go(func() { r.trouble(load, i) })
	}
	trouble.Go(func() {
		rest(load, during/2)
		if load.Err() == nil {
			r.prove(load, false)
		}
	})
	t.phase("selling")
	<-load.Done()
	t.phase("healing")
	trouble.Wait()
	// Everything works again, so everybody is answered.
	late := time.AfterFunc(2*time.Minute, func() {
		t.found("two minutes after the last fault somebody still waits for an answer")
		cancel()
	})
	people.Wait()
	late.Stop()
	if ctx.Err() != nil {
		return ctx.Err()
	}

	t.phase("coming to rest")
	patience := restMax
	if t.failed() {
		patience = restFailed // it may never come to rest
	}
	quiet, cancelQuiet := context.WithTimeout(ctx, patience)
	defer cancelQuiet()
	resting := r.quiet(quiet)
	if resting != nil && patience == restMax {
		t.found("%v", resting)
	}
	t.phase("auditing")
	audit, cancelAudit := context.WithTimeout(ctx, 2*time.Minute)
	defer cancelAudit()
	var maps []*picture // that viewers should have; nil: they may have any
	if resting == nil {
		if maps, err = r.arrived(audit, viewers); err != nil {
			t.found("the maps of the database could not be read: %v", err)
		}
	}
	leave()
	r.fell()
	if err := r.audit(audit, resting == nil, viewers, maps); err != nil {
		t.found("the books could not be read: %v", err)
	}
	r.prove(audit, true)
	t.phase("looking for an order")
	r.linearize()
	for _, e := range t.house.Exits() {
		if e.Ready && !slices.Contains(t.exits, e.At) {
			t.exits = append(t.exits, e.At)
			t.found("%s ended by itself at %v: %s\n%s", e.Process, e.At, e.State, e.Log)
		}
	}
	return r.history.save(filepath.Join(t.cfg.dir, "history.jsonl"))
}

// linearize has every partition of the history checked.
func (r *round) linearize() {
	v := judge(lower(r.history.all(), r.shows, r.wrong()), 2)
	r.t.counts.legal.Add(int64(v.legal))
	for i, p := range v.illegal {
		if i == 5 {
			r.t.found("and %d more partitions have no order", len(v.illegal)-i)
			break
		}
		r.t.found("%s", p.explain(r.t.cfg.dir))
	}
	for _, p := range v.undecided {
		r.t.found("no order of the %d operations on %s was found in %v, and none was ruled out", len(p.history), p.name, checkMax)
	}
}

// open makes the shows of the round, and lets buyers cancel.
func (r *round) open(ctx context.Context) error {
	for i, o := range houses {
		made, err := r.t.house.NewShow(ctx, o.ShowOptions)
		if err != nil {
			return err
		}
		sh := &show{
			title: fmt.Sprintf("round %d, show %d", r.n, i), id: made.ID.String(), seats: made.Seats, label: made.Labels,
			index: map[uuid.UUID]int{}, area: made.Floor, floor: o.Floor, house: o.house,
		}
		for i, id := range made.Seats {
			sh.index[id] = i
		}
		r.shows = append(r.shows, sh)
		plan := rand.New(rand.NewPCG(r.t.seed, uint64(r.n)<<40|0xffff<<24|uint64(i)))
		requests := []request{{method: http.MethodPatch, path: "/shows/" + sh.id, body: sh.rules()}}
		if sh.crowded {
			requests = append(requests, request{method: http.MethodPost, path: "/shows/" + sh.id + "/queue/open"})
		}
		for _, req := range requests {
			req.key = newKey(plan)
			if a := r.auditor.ask(ctx, &Op{Do: look}, req); !a.ok() {
				return fmt.Errorf("the terms were answered %d %s", a.status, brief(a.body))
			}
		}
		told, err := r.auditor.terms(ctx, sh, &Op{Do: look})
		if err != nil {
			return err
		}
		sh.terms = *told
	}
	return nil
}

// among are those of the shows, by index, that people go to.
func (r *round) among(they func(sh *show) bool) (list []int) {
	for i, sh := range r.shows {
		if they(sh) {
			list = append(list, i)
		}
	}
	return list
}

// newcomer is a client beside buyers, staff and the auditor.
func (r *round) newcomer(n int) *client { return &client{t: r.t, id: r.auditor.id + 1 + n} }

// cancelShow cancels the doomed show.
func (r *round) cancelShow(ctx context.Context) {
	doomed := r.among(func(sh *show) bool { return sh.doomed })
	v := newVisit(r.newcomer(0), r, 0, doomed)
	o := v.op(cancelShow)
	v.send(ctx, o, request{method: http.MethodPost, path: "/shows/" + v.show.id + "/cancel"}, nil)
	r.history.add(o)
	if o.known() && !o.ok() {
		r.t.found("the show could not be cancelled: %d %s", o.Status, o.Code)
	}
}

// trouble does one fault after the other, as they are drawn from the seed, until
// the load ends. The first of those who do freezes an instance at the start of
// every other round, and nobody else does: with all of them frozen nothing
// happens, and it lasts.
func (r *round) trouble(ctx context.Context, n int) {
	plan := rand.New(rand.NewPCG(r.t.seed, uint64(r.n)<<40|uint64(0xfff0+n)<<24))
	only := len(r.t.kinds) == 1
	freezes := slices.Contains(r.t.kinds, cluster.InstanceFrozen)
	if len(r.t.kinds) == 0 || only && freezes && n > 0 {
		return
	}
	freezes = freezes && n == 0 && (r.n%2 == 1 || only)
	for {
		rest(ctx, r.t.cfg.calm/5+time.Duration(plan.Int64N(int64(r.t.cfg.calm))))
		if ctx.Err() != nil {
			return
		}
		l := lot{cluster.InstanceFrozen, plan}
		if !freezes {
			l = r.t.draw()
		}
		freezes = freezes && only
		e, err := r.t.house.Inflict(ctx, l.kind, l.rng)
		if ctx.Err() != nil && e.Began.IsZero() {
			if l.kind != cluster.InstanceFrozen {
				r.t.undo(l)
			}
			return
		}
		if err != nil && ctx.Err() == nil {
			r.t.found("the fault %q could not be done, or not be repaired: %v", l.kind, err)
			return
		}
		r.mu.Lock()
		r.events = append(r.events, e)
		r.mu.Unlock()
		r.t.happened(e)
	}
}

// wrong are the times in which the database's clock was not ours.
func (r *round) wrong() (spans []span) {
	for _, f := range r.faults() {
		if f.Kind == cluster.ClockStepped {
			spans = append(spans, span{r.history.on(f.Began), r.history.on(f.Ended)})
		}
	}
	return spans
}

// fell takes the crashes of Postgres for faults, which they are where its clock
// is a library's that may crash it. Elsewhere nothing excuses them.
func (r *round) fell() {
	falls := r.t.house.Falls()
	for _, e := range falls[r.t.fallen:] {
		if !slices.Contains(r.t.house.Kinds(), cluster.ClockStepped) {
			r.t.found("%s at %v", e.What, e.Began)
		}
		r.mu.Lock()
		r.events = append(r.events, e)
		r.mu.Unlock()
		r.t.happened(e)
	}
	r.t.fallen = len(falls)
}

// faults are those that happened in this round.
func (r *round) faults() []cluster.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}
