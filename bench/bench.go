package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/bench/strategies"
)

// bench is a run.
type bench struct {
	options
	screen *screen
	city   *city
	house  *house
}

// pick is the figure of a whole run, or that of a quick one.
func pick[T any](b *bench, whole, quick T) T {
	if b.quick {
		return quick
	}
	return whole
}

// measure is what one strategy came to in one round.
type measure struct {
	value float64
	notes map[string]float64 // of which the median counts
	sums  map[string]float64 // which are added up: what must not be is not to be lost in the middle
}

// variant is one of those that are compared.
type variant struct {
	name, title string
	run         func(ctx context.Context) (measure, error)
}

// compare measures variants in turn, A B C A B C, so that what the machine does
// meanwhile meets all of them.
func (b *bench) compare(ctx context.Context, row *report.Row, rounds int, variants []variant) (report.Row, error) {
	notes := make([]map[string][]float64, len(variants))
	row.Results = make([]report.Result, len(variants))
	for i, v := range variants {
		row.Results[i] = report.Result{Strategy: v.name, Title: v.title, Notes: map[string]float64{}}
		notes[i] = map[string][]float64{}
	}
	for round := range rounds {
		for i, v := range variants {
			b.screen.now("%s  round %d of %d  %s", row.ID, round+1, rounds, v.name)
			run := func() (measure, error) { return v.run(ctx) }
			if b.costs {
				b.screen.say("  %s  round %d of %d  %s", row.ID, round+1, rounds, v.name)
				run = func() (measure, error) { return b.costing(ctx, func() (measure, error) { return v.run(ctx) }) }
			}
			m, err := run()
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return *row, fmt.Errorf("%s, round %d, %s: %w", row.ID, round+1, v.name, err)
			}
			res := &row.Results[i]
			res.Values = append(res.Values, m.value)
			for name, value := range m.notes {
				notes[i][name] = append(notes[i][name], value)
			}
			for name, value := range m.sums {
				res.Notes[name] += value
			}
			if !b.screen.live {
				b.screen.say("  %s  round %d of %d  %-24s %s %s", row.ID, round+1, rounds, v.name, report.Figure(m.value), row.Unit)
			}
		}
	}
	for i := range variants {
		for _, name := range slices.Sorted(maps.Keys(notes[i])) {
			row.Results[i].Notes[name] = report.Median(notes[i][name])
		}
	}
	row.Settle()
	return *row, nil
}

// sale is a number of callers who want seats.
type sale struct {
	shows, seats, callers int
	attempts              int
	most                  time.Duration // no new attempt after that
	contended             bool          // one to three seats side by side, anywhere; else a seat that nobody else wants
	instants              bool          // each hold ends at an instant of its own, and so needs a job of its own
	instances             int           // of Rowlock, 0: one
}

const (
	warmings = 256         // attempts before a sale, so that terms are known and statements prepared
	spread   = 3000        // seconds, over which holds end that are to end apart
	shortest = 600         // the first of them
	noLimit  = time.Minute // of Rowlock's sales, which end before
	twice    = "seats sold twice"
	failures = "failed"
)

// sell runs a sale with a strategy, and looks at what it left in the tables.
func (b *bench) sell(ctx context.Context, h *house, strategy string, s sale) (m measure, err error) {
	warm := max(2, warmings/s.shows)
	shows, err := h.shows(ctx, s.shows, s.seats+warm)
	if err != nil {
		return m, err
	}
	if strategy == naive {
		if err := strategies.Guard(ctx, h.all, false); err != nil {
			return m, err
		}
		defer func() {
			if on := strategies.Guard(context.WithoutCancel(ctx), h.all, true); err == nil {
				err = on
			}
		}()
	}
	p, err := b.sold(ctx, h, strategy, s, shows, warm)
	if err != nil {
		return m, err
	}
	if p.why != nil {
		b.screen.say("  %s: %d of %d failed, the first: %v", strategy, p.failed, p.attempts, p.why)
	}
	m.value = p.perSecond()
	m.notes = map[string]float64{"p50 ms": p.wait(50), "p99 ms": p.wait(99), "holds": float64(p.attempts) - float64(p.refused) - float64(p.failed)}
	m.sums = map[string]float64{failures: float64(p.failed)}
	if !h.keep {
		var jobs float64
		if err := h.all.QueryRow(ctx, sqlJobs).Scan(&jobs); err != nil {
			return m, err
		}
		m.notes["jobs per hold"] = jobs
	}
	sold, err := h.check(ctx, strategy, shows)
	m.sums[twice] = float64(sold)
	return m, err
}

func (b *bench) sold(ctx context.Context, h *house, strategy string, s sale, shows []uuid.UUID, warm int) (p pressed, err error) {
	sell, err := h.seller(ctx, strategy, max(1, s.instances))
	if err != nil {
		return p, err
	}
	defer sell.stop()
	names := labels(s.seats + warm)
	ttl := func(i int) int {
		if !s.instants {
			return 0
		}
		return shortest + i%spread
	}
	warmed := press(ctx, b.screen, min(s.callers, 64), warm*len(shows), time.Minute, func(ctx context.Context, caller, i int) error {
		_, _, err := place(ctx, sell.of(caller), shows[i%len(shows)], ttl(i), names[s.seats+i/len(shows)])
		return err
	})
	if warmed.why != nil {
		return p, warmed.why
	}
	wants := s.wants(names)
	return press(ctx, b.screen, s.callers, s.attempts, s.most, func(ctx context.Context, caller, i int) error {
		show, seats := wants(i)
		_, _, err := place(ctx, sell.of(caller), shows[show], ttl(i), seats...)
		return err
	}), nil
}
