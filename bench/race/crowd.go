package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// crowd is everybody who wants seats of one show. They see which are sold, as
// on a live map, and each goes for one or two of the best that are left.
type crowd struct {
	show     uuid.UUID
	sold     [seats]atomic.Bool
	best     atomic.Int64 // no seat before it is free
	attempts atomic.Int64
	holds    atomic.Int64
	failed   atomic.Int64
	why      atomic.Pointer[error] // the first that failed
}

// want is what the next caller goes for; none when the house is sold out.
func (c *crowd) want(nos []int32) []int32 {
	at := c.free(c.best.Load())
	c.best.Store(at) // somebody may set it back a little, who only looks again
	for n := rand.IntN(front); n > 0 && at < seats; n-- {
		at = c.free(at + 1)
	}
	if at >= seats {
		at = c.free(c.best.Load())
	}
	if at >= seats {
		return nil
	}
	nos = append(nos, int32(at))
	if next := c.free(at + 1); next == at+1 && next < seats && rand.IntN(2) == 0 {
		nos = append(nos, int32(next))
	}
	return nos
}

// free is the first seat from at on that is not known to be sold.
func (c *crowd) free(at int64) int64 {
	for at < seats && c.sold[at].Load() {
		at++
	}
	return at
}

// result is what one way came to.
type result struct {
	name     string
	took     time.Duration
	attempts int64
	failed   int64
	why      error
	waits    []time.Duration // sorted

	reservations, seats, twice, most int64 // as the database has them
}

func (r *result) perSecond(n int64) float64 { return float64(n) / r.took.Seconds() }

// wait is how long so many of a hundred callers waited at most.
func (r *result) wait(percent int) time.Duration {
	if len(r.waits) == 0 {
		return 0
	}
	return r.waits[(len(r.waits)-1)*percent/100]
}

func run(ctx context.Context, h *house, screen *screen, name string, open func(context.Context, *house) (*way, error)) (result, error) {
	r := result{name: name}
	show, err := h.show(ctx)
	if err != nil {
		return r, err
	}
	w, err := open(ctx, h)
	if err != nil {
		return r, err
	}
	defer w.close()
	// Who comes first has the plan read, which is not what the race is about. An
	// error that matters comes again.
	_, _ = w.hold(ctx, show, "first", nil)
	c := &crowd{show: show}
	began := time.Now()
	over := began.Add(each)
	waits := make([][]time.Duration, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() { waits[i] = c.caller(ctx, w, fmt.Sprintf("caller-%d", i), over) })
	}
	ended := make(chan struct{})
	go func() { group.Wait(); close(ended) }()
	screen.watch(name, began, ended, c)
	r.took = time.Since(began)
	r.attempts, r.failed, r.waits = c.attempts.Load(), c.failed.Load(), slices.Concat(waits...)
	slices.Sort(r.waits)
	if why := c.why.Load(); why != nil {
		r.why = *why
	}
	if err := ctx.Err(); err != nil {
		return r, err
	}
	err = h.all.QueryRow(ctx, sqlCount, show).Scan(&r.reservations, &r.seats, &r.twice, &r.most)
	screen.done(&r)
	return r, err
}

// caller asks for seats again and again, and returns how long each answer took.
func (c *crowd) caller(ctx context.Context, w *way, name string, over time.Time) (waits []time.Duration) {
	nos := make([]int32, 0, 2)
	for time.Now().Before(over) && ctx.Err() == nil {
		if nos = c.want(nos[:0]); len(nos) == 0 {
			return waits
		}
		began := time.Now()
		got, err := w.hold(ctx, c.show, name, nos)
		waits = append(waits, time.Since(began))
		c.attempts.Add(1)
		switch {
		case err != nil:
			c.failed.Add(1)
			c.why.CompareAndSwap(nil, &err)
		case got:
			c.holds.Add(1)
			for _, no := range nos {
				c.sold[no].Store(true)
			}
		}
	}
	return waits
}
