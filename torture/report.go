package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/torture/cluster"
)

// counts are what has happened so far.
type counts struct {
	ops, tries, unsure, nothing, unknown        atomic.Int64
	replays, ghosts, facts, maps, proofs        atomic.Int64
	legal, expired, charges, succeeded, refused atomic.Int64
	followed, pictures, resets, excused         atomic.Int64
	turns, offers, polite, freed, notJudged     atomic.Int64
	mu                                          sync.Mutex
	byVerb                                      map[verb]map[string]int
}

// audited marks operations that are no part of the load.
const audited = "audit"

// tried counts a try.
func (c *counts) tried(o *Op, f fate) {
	if o.What == audited {
		return
	}
	c.tries.Add(1)
	switch f {
	case unsure:
		c.unsure.Add(1)
	case nothing:
		c.nothing.Add(1)
	}
}

// did counts an operation by what came of it.
func (c *counts) did(o *Op) {
	if o.What == audited {
		return
	}
	c.ops.Add(1)
	what := o.Code
	switch {
	case !o.known():
		what = "unknown"
		c.unknown.Add(1)
	case o.Status < 300:
		what = "done"
		c.succeeded.Add(1)
	default:
		c.refused.Add(1)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byVerb == nil {
		c.byVerb = map[verb]map[string]int{}
	}
	if c.byVerb[o.Do] == nil {
		c.byVerb[o.Do] = map[string]int{}
	}
	c.byVerb[o.Do][what]++
}

// report is what a run was and found.
type report struct {
	Seed       uint64                  `json:"seed"`
	Took       time.Duration           `json:"tookNanoseconds"`
	Planted    string                  `json:"planted,omitempty"`
	Operations map[verb]map[string]int `json:"operations"` // by verb and outcome
	Faults     map[cluster.Kind]int    `json:"faults"`
	Tries      int64                   `json:"tries"`
	Unanswered int64                   `json:"unanswered"` // tries
	Unknown    int64                   `json:"unknown"`    // operations whose outcome nobody learned
	Ghosts     int64                   `json:"ghosts"`     // of them, holds that were found in the end
	Resets     int64                   `json:"resets"`     // of viewers, because a show had changed
	Excused    int64                   `json:"excused"`    // of viewers, because the log could not be read just then
	NotJudged  int64                   `json:"notJudged"`  // shows of frozen instances
	Checks     map[string]int64        `json:"checks"`
	Findings   []string                `json:"findings"`
}

func (t *run) report() *report {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &t.counts
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range t.kinds {
		t.done[k] += 0 // what might have happened, and did not, is said as well
	}
	return &report{
		Seed: t.seed, Took: time.Since(t.began).Round(time.Second), Planted: t.cfg.planted, Operations: c.byVerb, Faults: t.done,
		Tries: c.tries.Load(), Unanswered: c.unsure.Load(), Unknown: c.unknown.Load(), Ghosts: c.ghosts.Load(),
		Resets: c.resets.Load(), Excused: c.excused.Load(), NotJudged: c.notJudged.Load(),
		Checks: map[string]int64{
			"histories that are linearizable": c.legal.Load(), "acknowledged facts found again": c.facts.Load(), "maps that are the log replayed": c.maps.Load(),
			"replays answered the same": c.replays.Load(), "charges that agree with the gateway": c.charges.Load(), "holds closed in time": c.expired.Load(),
			"proofs of all rules": c.proofs.Load(), "versions that viewers followed": c.followed.Load(), "maps that viewers ended with": c.pictures.Load(),
			"turns in waiting rooms": c.turns.Load(), "offers of waitlists": c.offers.Load(), "refusals that say what they should and no more": c.polite.Load(),
			"shows of frozen instances that sold elsewhere in time": c.freed.Load(),
		},
		Findings: t.findings,
	}
}

func (r *report) save(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}

// count adds up faults of some kinds.
func (r *report) count(kinds ...cluster.Kind) (n int) {
	for _, k := range kinds {
		n += r.Faults[k]
	}
	return n
}

func (r *report) print(s *screen) {
	s.say("\nseed %d, %v", r.Seed, r.Took)
	total := 0
	for _, do := range sortedKeys(stringKeys(r.Operations)) {
		outcomes := r.Operations[verb(do)]
		var parts []string
		for _, what := range sortedKeys(outcomes) {
			parts = append(parts, fmt.Sprintf("%d %s", outcomes[what], strings.ToLower(what)))
			total += outcomes[what]
		}
		s.say("  %-11s %s", do, strings.Join(parts, ", "))
	}
	s.say("  %d operations in %d tries, of which %d went unanswered; %d outcomes were never learned, %d of them holds that were there in the end", total, r.Tries, r.Unanswered, r.Unknown, r.Ghosts)
	faults := 0
	for _, kind := range sortedKeys(stringKeys(r.Faults)) {
		s.say("  %-24s %d", kind, r.Faults[cluster.Kind(kind)])
		faults += r.Faults[cluster.Kind(kind)]
	}
	s.say("  %d faults: %d kills, %d fail-overs", faults, r.count(cluster.InstanceKilled, cluster.WorkerKilled, cluster.PostgresKilled),
		r.count(cluster.Promoted, cluster.HungPromoted))
	for _, what := range sortedKeys(r.Checks) {
		s.say("  %6d %s", r.Checks[what], what)
	}
	s.say("  viewers began anew %d times because a show had changed, and %d times because the log could not be read", r.Resets, r.Excused)
	s.say("  shows of frozen instances were not judged %d times", r.NotJudged)
	if len(r.Findings) == 0 {
		s.say("nothing was found that must not be")
	}
	for _, f := range r.Findings {
		s.say("FOUND %s", f)
	}
}

func stringKeys[K ~string, V any](m map[K]V) map[string]V {
	out := make(map[string]V, len(m))
	for k, v := range m {
		out[string(k)] = v
	}
	return out
}

// screen is where a run is watched: a terminal, whose last line moves, or
// anything else, to which whole lines are written.
type screen struct {
	mu   sync.Mutex
	out  io.Writer
	live bool
}

func newScreen(f *os.File) *screen {
	info, err := f.Stat()
	return &screen{out: f, live: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

const erase = "\r\x1b[K"

func (s *screen) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live {
		fmt.Fprint(s.out, erase)
	}
	fmt.Fprintf(s.out, format+"\n", args...)
}

func (s *screen) clear() {
	if s.live {
		fmt.Fprint(s.out, erase)
	}
}

// watch shows how the run gets on until the function it returns is called.
func (s *screen) watch(t *run) (end func()) {
	every := 5 * time.Second
	if s.live {
		every = 250 * time.Millisecond
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		var last int64
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				ops := t.counts.ops.Load()
				line := t.progress(float64(ops-last) / every.Seconds())
				last = ops
				s.mu.Lock()
				if s.live {
					fmt.Fprint(s.out, erase+line)
				} else {
					fmt.Fprintln(s.out, line)
				}
				s.mu.Unlock()
			}
		}
	}()
	return func() { close(over); <-ended }
}

func (t *run) progress(perSecond float64) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &t.counts
	r := report{Faults: t.done}
	faults := 0
	for _, n := range t.done {
		faults += n
	}
	left := time.Duration(0)
	if !t.ends.IsZero() {
		left = max(0, time.Until(t.ends))
	}
	return fmt.Sprintf("%-14s %4.0f ops/s | done %d, refused %d, unknown %d | faults %d, kills %d, fail-overs %d | checks %d, found %d | %v left",
		t.doing, perSecond, c.succeeded.Load(), c.refused.Load(), c.unknown.Load(), faults,
		r.count(cluster.InstanceKilled, cluster.WorkerKilled, cluster.PostgresKilled), r.count(cluster.Promoted, cluster.HungPromoted),
		c.legal.Load()+c.facts.Load()+c.maps.Load()+c.replays.Load()+c.charges.Load()+c.expired.Load()+c.proofs.Load()+
			c.followed.Load()+c.pictures.Load()+c.turns.Load()+c.offers.Load()+c.freed.Load(), len(t.findings), left.Round(time.Second))
}
