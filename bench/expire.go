package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/internal/checkout"
	"github.com/rowlock/rowlock/internal/jobs"
	"github.com/rowlock/rowlock/internal/store"
)

const closed = "closed after s"

func (b *bench) expire(ctx context.Context) (report.Row, error) {
	holds := pick(b, 20_000, 5_000)
	perSecond := pick(b, 2_000, 1_000)
	before, after := pick(b, 4*time.Second, time.Second), pick(b, 8*time.Second, 3*time.Second)
	row := report.Row{
		ID: "expire", Title: "Holds that end in the same instant", Unit: "ms", Less: true,
		Explain: fmt.Sprintf("p99 of placing, from when it was due: %s times a second, whether or not others have been answered, from %v before %s holds of the same show end until %v after. "+
			"At first callers want seats that are free; from the instant on, seats of those holds, and every one of them is to get what they want at once, "+
			"whether or not the hold has been closed by its job.", digits(float64(perSecond)), before, digits(float64(holds)), after),
		Bars: []report.Bar{
			{Sense: report.AtMost, Limit: 100},
			{Note: closed, Sense: report.AtMost, Limit: 5},
			none("", "refused"), none("", failures), none("", "left open"),
		},
	}
	return b.compare(ctx, &row, min(b.rounds, 3), []variant{{report.Rowlock, "Rowlock", func(ctx context.Context) (measure, error) {
		return b.expireAll(ctx, holds, perSecond, before, after)
	}}})
}

func (b *bench) expireAll(ctx context.Context, holds, perSecond int, before, after time.Duration) (m measure, err error) {
	h := b.house
	free := int(before.Seconds()+1) * perSecond
	shows, err := h.shows(ctx, 1, holds+free+warmings)
	if err != nil {
		return m, err
	}
	show := shows[0]
	sell, err := h.seller(ctx, report.Rowlock, 1)
	if err != nil {
		return m, err
	}
	defer sell.stop()
	s := sell.stores[0]
	stop, err := h.work(ctx, s)
	if err != nil {
		return m, err
	}
	defer stop()
	conn, err := h.lane(ctx)
	if err != nil {
		return m, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var now time.Time
	if err := conn.QueryRow(ctx, sqlClock).Scan(&now); err != nil {
		return m, err
	}
	lead := pick(b, 5*time.Second, 2*time.Second) // to write the holds, and for the worker to find its place
	end := now.Add(lead + before).Truncate(time.Millisecond)
	for first := 0; first < holds; first += 1000 {
		w, err := writtenHolds(show, now, first, min(1000, holds-first), func(int) time.Time { return end })
		if err != nil {
			return m, err
		}
		if first > 0 {
			w.instants = nil // one job for all of them
		}
		if err := w.write(ctx, conn); err != nil {
			return m, err
		}
	}
	names := labels(holds + free + warmings)
	warmed := press(ctx, b.screen, 64, warmings, time.Minute, func(ctx context.Context, _, i int) error {
		_, _, err := place(ctx, s, show, 0, names[holds+free+i])
		return err
	})
	if warmed.why != nil {
		return m, warmed.why
	}
	wait := time.Until(end) - before
	if wait < 0 {
		return m, fmt.Errorf("writing %d holds took too long: %v", holds, lead-wait)
	}
	time.Sleep(wait)
	// Ten milliseconds later it is over by any clock of this machine.
	over := end.Add(10 * time.Millisecond)
	var mu sync.Mutex
	var early, late int
	p := pace(ctx, b.screen, everybody, perSecond, before+after, func(ctx context.Context, _, i int) error {
		mu.Lock()
		seat := holds + early
		if time.Now().After(over) && late < holds {
			seat = late
			late++
		} else {
			early++
		}
		mu.Unlock()
		if seat >= holds+free {
			return nil // all are sold
		}
		_, _, err := place(ctx, s, show, 0, names[seat])
		return err
	})
	return h.expired(ctx, show, end, p)
}

// expired looks at what became of the holds, when all are closed, or should
// long have been.
func (h *house) expired(ctx context.Context, show uuid.UUID, end time.Time, p pressed) (m measure, err error) {
	var gone, open, seconds float64
	for late := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if err := h.all.QueryRow(ctx, sqlEnded, show, end).Scan(&gone, &open, &seconds); err != nil {
			return m, err
		}
		if open == 0 || time.Now().After(late) {
			break
		}
	}
	m.value = p.wait(99)
	m.notes = map[string]float64{"p50 ms": p.wait(50), closed: seconds, "closed holds": gone}
	m.sums = map[string]float64{"refused": float64(p.refused), failures: float64(p.failed), "left open": open}
	sold, err := h.check(ctx, report.Rowlock, []uuid.UUID{show})
	m.sums[twice] = float64(sold)
	return m, err
}

// work has the jobs of a store done, as rowlock serve does.
func (h *house) work(ctx context.Context, s *store.Store) (stop func(), err error) {
	pool, err := jobs.OpenPool(ctx, h.url(store.RoleApp), 0)
	if err != nil {
		return nil, err
	}
	worker, err := jobs.New(jobs.Config{
		Store: s, Checkout: checkout.New(checkout.Config{Store: s, Log: quiet}), Pool: pool, StopTimeout: time.Second, Log: quiet,
	})
	if err != nil {
		pool.Close()
		return nil, err
	}
	working, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = worker.Run(working) // it ends because it is told to
	}()
	return func() { end(); <-ended; pool.Close() }, nil
}
