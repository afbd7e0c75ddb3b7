// Package lanes is a group commit. Commands for the same show go through the
// same lane; a lane works one batch at a time and takes all that has queued
// meanwhile as its next batch. An idle lane starts at once, so batching adds no
// delay; a busy one commits hundreds of commands with one fsync.
//
// A batch never waits for one slow show: commands whose show is locked
// elsewhere are handed back by the worker. With several instances on one
// database, many shows are locked elsewhere at any moment, though none of them
// for long: so these commands are in the lane's next batches again. What is
// handed back time after time moves to its show's waiter, which later commands
// for that show join, until none is left. Waiters share a few workers of their
// own and take turns.
//
//	Do ──▶ queue ──▶ lane: claim ─▶ work ─▶ answer
//	                  ▲         └─ show busy ─▶ again and again ─▶ waiter of the show: wait ─▶ work ─▶ answer
//	                  └───────────────────────────┘
//
// The package knows nothing of shows but their ids, and nothing of Postgres.
package lanes

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// Config bounds the lanes. Zero values take the defaults.
type Config struct {
	Lanes      int           // lanes, each with a connection; default: see [Cores]
	BatchMax   int           // commands in a batch, or what they weigh; default 256
	QueueMax   int           // commands waiting in front of one lane or one busy show, and busy shows; default 4096
	WaitersMax int           // busy shows waited for at once, each with a connection; more take turns; default 4
	Timeout    time.Duration // how long a command may wait for its show, queue and lock; default 2 s, at most 5 s
	AnswerMax  time.Duration // how long Do waits for a batch that has begun; default 15 s
	Observer   Observer      // nil: nobody looks
}

// Observer is told about batches. Its methods must not block.
type Observer interface {
	// Batch reports a batch that was worked: the lane (-1: a waiter), how many
	// commands it had, how long the first of them had queued, how many are
	// queued behind it, and how long the work took.
	Batch(lane, size int, waited time.Duration, queued int, took time.Duration)
}

// A Worker works batches, one at a time. It is used by one goroutine.
type Worker[C, R any] interface {
	// Work answers the calls of a batch. It returns those whose show is locked
	// elsewhere, unanswered; when that is all of them, it has waited a while for
	// one of the shows. ctx ends when the process must stop at once.
	Work(ctx context.Context, batch []*Call[C, R]) (busy []*Call[C, R])
	Close()
}

// Open makes a worker: for a lane, or, when waiting, for a waiter.
type Open[C, R any] func(waiting bool) Worker[C, R]

// Heavy is a command that takes as long as several common ones. Batches with it
// are smaller, or those behind would run out of time.
type Heavy interface {
	// Weight is how many common commands this one is worth, at least one.
	Weight() int
}

func weigh[C any](command C) int {
	if heavy, ok := any(command).(Heavy); ok {
		return heavy.Weight()
	}
	return 1
}

// missesMax is how often a call is handed back before it moves to a waiter.
const missesMax = 8

// The states of a call.
const (
	queued int32 = iota
	begun
	dropped
)

// Call is one command on its way.
type Call[C, R any] struct {
	Show     uuid.UUID
	Command  C
	Deadline time.Time // past it the command is not begun any more
	// Unknown is set by the worker when the command may have been done though
	// its commit was not answered. Whoever gives up from then on says so.
	Unknown bool

	ctx      context.Context
	entered  time.Time
	state    atomic.Int32
	answered bool // used by the worker's goroutine only, as the next is
	misses   int  // how often its show was locked elsewhere
	done     chan struct{}
	result   R
	err      error
}

// Answer gives the call its result. Only the first answer counts.
func (c *Call[C, R]) Answer(r R, err error) {
	if c.answered {
		return
	}
	c.answered = true
	c.result, c.err = r, err
	close(c.done)
}

// Answered says whether the call has its result. For the worker only.
func (c *Call[C, R]) Answered() bool { return c.answered }

// claim takes the call out of its caller's hands to be worked. A call that is
// too late, or whose caller has gone, is answered instead.
func (c *Call[C, R]) claim(now time.Time) bool {
	if !c.state.CompareAndSwap(queued, begun) {
		return false // its caller gave up
	}
	var zero R
	switch {
	case c.ctx.Err() != nil:
		c.Answer(zero, c.left())
	case !now.Before(c.Deadline):
		c.Answer(zero, c.late())
	default:
		return true
	}
	return false
}

// late is the answer to a call whose time is up.
func (c *Call[C, R]) late() error {
	if c.Unknown {
		return unanswered()
	}
	return boxoffice.Refuse(boxoffice.CodeLockTimeout, "The show was busy for too long; nothing was done.")
}

// left is the answer to a call whose caller has gone.
func (c *Call[C, R]) left() error {
	if c.Unknown {
		return unanswered()
	}
	return unavailable("none", "The caller went away; nothing was done.")
}

func unanswered() error {
	return unavailable("unknown", "The database did not answer in time. Retry with the same Idempotency-Key.")
}

// Set is a set of lanes.
type Set[C, R any] struct {
	cfg  Config
	open Open[C, R]

	lanes []chan *Call[C, R]

	mu      sync.RWMutex
	stopped bool
	waiters map[uuid.UUID]*waiter[C, R]
	waiting sync.WaitGroup
	turns   chan struct{}  // full: as many waiters are at work as may be
	idle    []Worker[C, R] // of waiters, between two turns
}

type waiter[C, R any] struct{ calls []*Call[C, R] }

// Cores is how many lanes there are by default: as many as this process has
// cores, from 2 to 8. More make smaller batches, and what a batch costs whatever
// its size is paid more often: on two cores and a hundred shows, four lanes
// took 20 % more processor time for a hold than two.
func Cores() int { return min(max(2, runtime.GOMAXPROCS(0)), 8) }

// New makes a set of lanes; [Set.Run] works them.
func New[C, R any](cfg Config, open Open[C, R]) *Set[C, R] {
	cfg.Lanes, cfg.BatchMax = cmp.Or(cfg.Lanes, Cores()), cmp.Or(cfg.BatchMax, 256)
	cfg.QueueMax, cfg.WaitersMax = cmp.Or(cfg.QueueMax, 4096), cmp.Or(cfg.WaitersMax, 4)
	cfg.Timeout = min(cmp.Or(cfg.Timeout, 2*time.Second), 5*time.Second)
	cfg.AnswerMax = cmp.Or(cfg.AnswerMax, 15*time.Second)
	s := &Set[C, R]{cfg: cfg, open: open, waiters: map[uuid.UUID]*waiter[C, R]{}, turns: make(chan struct{}, cfg.WaitersMax)}
	for range cfg.Lanes {
		s.lanes = append(s.lanes, make(chan *Call[C, R], cfg.QueueMax))
	}
	return s
}

// Do sends a command through its show's lane and returns what became of it.
//
// Errors: OVERLOADED when the queue is full, LOCK_TIMEOUT when the show was not
// had in time, both with nothing done; UNAVAILABLE with outcome "none" when the
// set is stopping, with outcome "unknown" when ctx or the wait for an answer
// ended while the command was being worked.
func (s *Set[C, R]) Do(ctx context.Context, show uuid.UUID, cmd C) (R, error) {
	now := time.Now()
	c := &Call[C, R]{Show: show, Command: cmd, Deadline: now.Add(s.cfg.Timeout), ctx: ctx, entered: now, done: make(chan struct{})}
	var zero R
	if err := s.enter(c); err != nil {
		return zero, err
	}
	timer := time.NewTimer(s.cfg.Timeout)
	defer timer.Stop()
	select {
	case <-c.done:
		return c.result, c.err
	case <-timer.C:
		if c.state.CompareAndSwap(queued, dropped) {
			return zero, c.late()
		}
	case <-ctx.Done():
		if c.state.CompareAndSwap(queued, dropped) {
			return zero, c.left()
		}
		return zero, unavailable("unknown", "The caller went away while the command was being worked.")
	}
	timer.Reset(s.cfg.AnswerMax)
	select {
	case <-c.done:
		return c.result, c.err
	case <-timer.C:
	case <-ctx.Done():
	}
	return zero, unanswered()
}

func unavailable(outcome, detail string) error {
	e := boxoffice.Refuse(boxoffice.CodeUnavailable, "%s", detail)
	e.Facts.Outcome = outcome
	return e
}

// enter puts a call into its waiter's queue, if its show has a waiter, else
// into its lane's.
func (s *Set[C, R]) enter(c *Call[C, R]) error {
	s.mu.RLock()
	if s.waiters[c.Show] == nil {
		defer s.mu.RUnlock()
		return s.enqueue(c)
	}
	s.mu.RUnlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch joined, full := s.join(c); {
	case full:
		return overloaded()
	case joined:
		return nil
	}
	return s.enqueue(c)
}

// enqueue puts a call into its lane's queue. s.mu is held, so that the queue
// is not closed meanwhile.
func (s *Set[C, R]) enqueue(c *Call[C, R]) error {
	if s.stopped {
		return unavailable("none", "This instance is stopping; nothing was done.")
	}
	select {
	case s.lanes[laneOf(c.Show, len(s.lanes))] <- c:
		return nil
	default:
		return overloaded()
	}
}

func overloaded() error {
	return boxoffice.Refuse(boxoffice.CodeOverloaded, "The queue in front of this show is full; nothing was done.")
}

// join adds a call to its show's waiter, if there is one still. s.mu is held.
func (s *Set[C, R]) join(c *Call[C, R]) (joined, full bool) {
	w := s.waiters[c.Show]
	if w == nil || s.stopped {
		return false, false
	}
	if len(w.calls) >= s.cfg.QueueMax {
		return false, true
	}
	w.calls = append(w.calls, c)
	return true, false
}

func laneOf(show uuid.UUID, n int) int {
	return int(binary.BigEndian.Uint64(show[8:]) % uint64(n))
}

// Run works the lanes until ctx ends. Then no new command is accepted, those
// that have queued are worked, and Run returns.
func (s *Set[C, R]) Run(ctx context.Context) error {
	work := context.WithoutCancel(ctx)
	var group sync.WaitGroup
	for i := range s.lanes {
		group.Go(func() { s.lane(work, i) })
	}
	<-ctx.Done()
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	// Nobody sends any more: enter holds the lock while it does.
	for _, lane := range s.lanes {
		close(lane)
	}
	group.Wait()
	s.waiting.Wait()
	for _, w := range s.idle {
		w.Close()
	}
	return nil
}

// lane works one lane until its queue is closed and nothing is left of it.
func (s *Set[C, R]) lane(ctx context.Context, i int) {
	w := s.open(false)
	defer w.Close()
	queue := s.lanes[i]
	batch := make([]*Call[C, R], 0, s.cfg.BatchMax)
	var again []*Call[C, R] // handed back: first in the next batch
	for {
		batch = append(batch[:0], again...)
		if len(again) == 0 {
			first, ok := <-queue
			if !ok {
				return
			}
			batch = append(batch, first)
		}
		weight := 0
		for _, c := range batch {
			weight += weigh(c.Command)
		}
	fill:
		for weight < s.cfg.BatchMax {
			select {
			case c, ok := <-queue:
				if !ok {
					break fill
				}
				batch = append(batch, c)
				weight += weigh(c.Command)
			default:
				break fill
			}
		}
		again = again[:0]
		for _, c := range s.work(ctx, w, i, batch, len(queue)) {
			if c.misses++; c.misses < missesMax {
				again = append(again, c)
			} else {
				s.wait(ctx, c)
			}
		}
		clear(batch)
	}
}

var errUnanswered = errors.New("lanes: the worker left a call unanswered")

// work claims what is still wanted of a batch, works it, and returns the calls
// whose show is busy, claimable again.
func (s *Set[C, R]) work(ctx context.Context, w Worker[C, R], lane int, batch []*Call[C, R], behind int) []*Call[C, R] {
	start := time.Now()
	live := batch[:0]
	for _, c := range batch {
		if c.claim(start) {
			live = append(live, c)
		}
	}
	if len(live) == 0 {
		return nil
	}
	busy := w.Work(ctx, live)
	for _, c := range busy {
		c.state.Store(queued)
	}
	for _, c := range live {
		if !c.answered && c.state.Load() == begun {
			var zero R
			c.Answer(zero, errUnanswered)
		}
	}
	if s.cfg.Observer != nil {
		s.cfg.Observer.Batch(lane, len(live)-len(busy), start.Sub(live[0].entered), behind, time.Since(start))
	}
	return busy
}

// wait hands a call to its show's waiter, which is started if need be.
func (s *Set[C, R]) wait(ctx context.Context, c *Call[C, R]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.waiters[c.Show]
	switch {
	case w != nil && len(w.calls) < s.cfg.QueueMax:
		w.calls = append(w.calls, c)
		return
	case w != nil || len(s.waiters) >= s.cfg.QueueMax:
		if c.state.CompareAndSwap(queued, begun) {
			var zero R
			c.Answer(zero, overloaded())
		}
		return
	}
	w = &waiter[C, R]{calls: []*Call[C, R]{c}}
	s.waiters[c.Show] = w
	s.waiting.Go(func() { s.runWaiter(ctx, c.Show, w) })
}

// runWaiter works one show until nobody waits for it any more, a batch a turn.
func (s *Set[C, R]) runWaiter(ctx context.Context, show uuid.UUID, w *waiter[C, R]) {
	for s.turn(ctx, show, w) {
	}
}

func (s *Set[C, R]) turn(ctx context.Context, show uuid.UUID, w *waiter[C, R]) bool {
	s.turns <- struct{}{}
	defer func() { <-s.turns }()
	s.mu.Lock()
	n := 0
	for weight := 0; n < len(w.calls) && weight < s.cfg.BatchMax; n++ {
		weight += weigh(w.calls[n].Command)
	}
	if n == 0 {
		delete(s.waiters, show)
		s.mu.Unlock()
		return false
	}
	batch, behind := w.calls[:n:n], w.calls[n:]
	w.calls = behind
	var worker Worker[C, R]
	if last := len(s.idle) - 1; last >= 0 {
		worker, s.idle = s.idle[last], s.idle[:last]
	} else {
		worker = s.open(true)
	}
	s.mu.Unlock()
	busy := s.work(ctx, worker, -1, batch, len(behind))
	s.mu.Lock()
	s.idle = append(s.idle, worker)
	if len(busy) > 0 {
		w.calls = slices.Concat(busy, w.calls)
	}
	s.mu.Unlock()
	return true
}
