package main

import (
	"context"
	"fmt"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/internal/boxoffice"
)

// allowed is how many times slower sales may be beside so many old rows.
func allowed(rows int) float64 {
	if rows <= 1_000_000 {
		return 1.1
	}
	return 1.3
}

const (
	nothing = "empty tables"
	chunk   = 100_000 // old rows loaded at once
)

func (b *bench) old(ctx context.Context) (report.Row, error) {
	seats := pick(b, 40_000, 5_000)
	row := report.Row{
		ID: "old", Title: "Old reservations, changes and keys in the tables", Unit: "holds/s",
		Explain: fmt.Sprintf("The hot show of above beside so many old reservations, as many changes and as many keys, of shows that are over: %d callers, %s seats, every attempt succeeds. "+
			"They lie in a database of their own on the same server; each round sells a new show there.", everybody, digits(float64(seats))),
	}
	selling := func(h *house) func(context.Context) (measure, error) {
		return func(ctx context.Context) (measure, error) {
			return b.sell(ctx, h, report.Rowlock, sale{shows: 1, seats: seats, callers: everybody, attempts: seats, most: noLimit})
		}
	}
	variants := []variant{{nothing, "", selling(b.house)}}
	for _, rows := range b.oldRows {
		h, err := b.city.open(ctx, fmt.Sprintf("old_%d", rows))
		if err != nil {
			return row, err
		}
		defer h.close()
		h.keep = true
		if err := b.load(ctx, h, rows, chunk); err != nil {
			return row, err
		}
		name := digits(float64(rows)) + " old of each"
		variants = append(variants, variant{name, "", selling(h)})
		row.Bars = append(row.Bars, times(name, nothing, 1/allowed(rows)), none(name, failures))
	}
	return b.compare(ctx, &row, b.rounds, variants)
}

// load writes so many old rows of each kind, a chunk at a time.
func (b *bench) load(ctx context.Context, h *house, rows, chunk int) error {
	if _, err := h.all.Exec(ctx, sqlOldPrepare); err != nil {
		return err
	}
	conn, err := h.all.Acquire(ctx)
	if err != nil {
		return err
	}
	// It is not for others any more, having lost its triggers.
	defer func() { conn.Hijack().Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, sqlOldOn); err != nil {
		return err
	}
	for from := 0; from < rows; from += chunk {
		b.screen.now("old  writing %s of %s old rows of each kind", digits(float64(from)), digits(float64(rows)))
		for _, sql := range sqlOld {
			if _, err := conn.Exec(ctx, sql, boxoffice.DefaultOrganisationID, from, min(from+chunk, rows)-1); err != nil {
				return err
			}
		}
	}
	b.screen.now("old  vacuum and analyze")
	_, err = h.all.Exec(ctx, sqlVacuum)
	return err
}
