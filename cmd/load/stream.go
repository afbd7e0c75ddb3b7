package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// way is how those look who only watch.
type way string

const (
	told   way = "sse"  // they are told what changes
	asking way = "poll" // they ask every 2 seconds
)

// Set takes a flag's value.
func (w *way) Set(text string) error {
	switch way(text) {
	case told, asking:
		*w = way(text)
		return nil
	}
	return fmt.Errorf("%q is neither sse nor poll", text)
}

func (w *way) String() string { return string(*w) }

// Type is what --help calls it.
func (w *way) Type() string { return "way" }

const (
	eventMax   = 16 << 20         // bytes of a line: the map of a stadium is one
	agreeMax   = 20 * time.Second // for those who watch to see the last change
	agreeEvery = 100 * time.Millisecond
)

// sightings are when holds were answered, by the version that each made.
type sightings struct {
	mu sync.Mutex
	at map[int64]time.Time
}

func (s *sightings) answered(version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		s.at = map[int64]time.Time{}
	}
	s.at[version] = time.Now()
}

// first is when the first of the holds after one version, up to another, was
// answered: of what a viewer sees at once, that is what waited longest.
func (s *sightings) first(after, version int64) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for v := after + 1; v <= version; v++ {
		if at, ok := s.at[v]; ok {
			return at, true
		}
	}
	return time.Time{}, false
}

// streamViewer is somebody who watches by the stream, with the map that they keep.
type streamViewer struct {
	*scenario
	position map[string]int // of a seat's id, in the plan

	mu       sync.Mutex
	version  int64
	statuses []byte
	gap      string // what did not follow, if anything
}

// watch follows the stream until ctx is over, and comes back to it when it
// ends, as a browser does.
func (v *streamViewer) watch(ctx context.Context) {
	last, wait := "", time.Duration(0)
	for attempt := 0; until(ctx, time.Now().Add(wait)); attempt++ {
		began := time.Now()
		refused, err := v.follow(ctx, &last, &wait)
		if ctx.Err() != nil {
			return
		}
		switch {
		case refused != nil:
			v.target.meter.answered(stepView, refused.status, refused.code, time.Since(began))
			wait = pause(attempt, refused)
		case err != nil && wait == 0:
			v.target.meter.answered(stepView, 0, kindOf(err), time.Since(began))
			wait = pause(attempt, &answer{})
		default: // it was told how long to wait
			wait += rand.N(100 * time.Millisecond)
		}
	}
}

// follow reads one stream to its end. It notes the last id, and how long to
// wait when the stream ends.
func (v *streamViewer) follow(ctx context.Context, last *string, wait *time.Duration) (refused *answer, err error) {
	hr, err := http.NewRequestWithContext(ctx, http.MethodGet, v.target.base+"/shows/"+v.hall.show.ShowID+"/stream", nil)
	if err != nil {
		return nil, err
	}
	if *last != "" {
		hr.Header.Set("Last-Event-ID", *last)
	}
	w, err := v.target.streams.Do(hr)
	if err != nil {
		*wait = 0
		return nil, err
	}
	defer w.Body.Close()
	if w.StatusCode != http.StatusOK {
		a := &answer{status: w.StatusCode}
		if seconds, err := strconv.Atoi(w.Header.Get("Retry-After")); err == nil && seconds >= 0 {
			a.retryAfter, a.wait = time.Duration(seconds)*time.Second, true
		}
		return a, nil
	}
	v.target.meter.answered(stepView, w.StatusCode, "", 0)
	lines := bufio.NewScanner(w.Body)
	lines.Buffer(nil, eventMax)
	// An event counts when it has ended: of one that is cut off nothing may stay.
	name, id, data := "", *last, []byte(nil)
	for lines.Scan() {
		field, value, _ := bytes.Cut(lines.Bytes(), []byte(": "))
		switch string(field) {
		case "event":
			name = string(value)
		case "id":
			id = string(value)
		case "retry":
			if ms, err := strconv.Atoi(string(value)); err == nil {
				*wait = time.Duration(ms) * time.Millisecond
			}
		case "data":
			data = append(data[:0], value...)
		case "":
			v.hear(name, data)
			name, data, *last = "", data[:0], id
		}
	}
	return nil, lines.Err()
}

// hear does what an event says.
func (v *streamViewer) hear(name string, data []byte) {
	if name != "snapshot" && name != "changes" {
		return
	}
	var e struct {
		After, Version int64
		Statuses       string
		Seats          []struct{ SeatID, Status string }
	}
	err := json.Unmarshal(data, &e)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.gap = fmt.Sprintf("after version %d came an event that is no JSON: %v", v.version, err)
		return
	}
	before := v.version
	if name == "snapshot" {
		v.statuses = []byte(e.Statuses)
	} else if e.After != before {
		v.gap = fmt.Sprintf("after version %d came a change that follows version %d", before, e.After)
	}
	for _, s := range e.Seats {
		letter := s.Status[:1]
		if s.Status == "blocked" {
			letter = "x"
		}
		if at, ok := v.position[strings.ToLower(s.SeatID)]; ok && at < len(v.statuses) {
			v.statuses[at] = letter[0]
		}
	}
	v.version = e.Version
	if at, ok := v.sold.first(before, e.Version); before > 0 && ok {
		v.meter.took(stepView, time.Since(at))
	}
}

// knows reports whether this is the map that the viewer has.
func (v *streamViewer) knows(now *availability) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.version == now.Version && string(v.statuses) == now.Statuses
}

// agree waits until all who watch by the stream have the map that there is, and
// says who does not, and who missed something.
func (s *scenario) agree(ctx context.Context, viewers []*streamViewer) *check {
	c := &check{Rule: ruleViewers, Examined: len(viewers), Broken: []string{}}
	ctx, cancel := context.WithTimeout(ctx, agreeMax)
	defer cancel()
	left := viewers
	for len(left) > 0 {
		var now availability
		if err := s.target.read(ctx, s.mapPath(), &now); err != nil && ctx.Err() == nil {
			c.Unread = append(c.Unread, err.Error())
			break
		}
		var still []*streamViewer
		for _, v := range left {
			if !v.knows(&now) {
				still = append(still, v)
			}
		}
		if left = still; !until(ctx, time.Now().Add(agreeEvery)) {
			break
		}
	}
	for i, v := range left {
		if i == surprisesMax {
			c.Broken = append(c.Broken, fmt.Sprintf("and %d more", len(left)-i))
			break
		}
		v.mu.Lock()
		c.Broken = append(c.Broken, fmt.Sprintf("a viewer ended with another map than there is, at version %d", v.version))
		v.mu.Unlock()
	}
	for _, v := range viewers {
		v.mu.Lock()
		if v.gap != "" && len(c.Broken) < 2*surprisesMax {
			c.Broken = append(c.Broken, v.gap)
		}
		v.mu.Unlock()
	}
	return c
}
