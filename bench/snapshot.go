package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/sql/ops"
)

const (
	quietly = "without"
	open    = "with"
	oldest  = "oldest snapshot s"
	// alarm is the age of a snapshot from which on operators are told.
	alarm = 30
)

func (b *bench) snapshot(ctx context.Context) (report.Row, error) {
	during := pick(b, 60*time.Second, 3*time.Second)
	last := during / 6
	row := report.Row{
		ID: "snapshot", Title: "A transaction that somebody left open", Unit: "commands/s",
		Explain: fmt.Sprintf("200 callers place and release holds of 2,000 seats for %v, without and with a REPEATABLE READ transaction that was begun before and is left open: "+
			"it keeps the dead versions of every row from being vacuumed. The figure is that of the last %v, when it is worst; one round. "+
			"The query oldest_snapshot names the transaction, and operators are to be told from %d seconds on.", during, last, alarm),
		Bars: []report.Bar{
			times(open, quietly, 0.5),
			{Of: open, Note: oldest, Sense: report.AtLeast, Limit: pick(b, float64(alarm), during.Seconds()/2)},
			none(open, failures),
		},
	}
	return b.compare(ctx, &row, 1, []variant{
		{quietly, "without one", func(ctx context.Context) (measure, error) { return b.lately(ctx, during, last) }},
		{open, "with one left open", func(ctx context.Context) (m measure, err error) {
			forgotten, err := b.forgotten(ctx)
			if err != nil {
				return m, err
			}
			defer forgotten.Close(context.WithoutCancel(ctx))
			age := make(chan float64, 1)
			go func() {
				select {
				case <-ctx.Done():
				case <-time.After(during):
				}
				age <- b.oldest(ctx)
			}()
			m, err = b.lately(ctx, during, last)
			if err == nil {
				m.notes[oldest] = <-age
			}
			return m, err
		}},
	})
}

// lately measures how fast it goes in the last part of the time.
func (b *bench) lately(ctx context.Context, during, last time.Duration) (measure, error) {
	const callers = 200
	var recent, all atomic.Int64
	var began atomic.Pointer[time.Time]
	m, err := b.turnstile(ctx, 2_000, callers, 1<<30, during, func() {
		// The first ones only warm up.
		if n := all.Add(1); n == 4*callers {
			now := time.Now()
			began.Store(&now)
		}
		if t := began.Load(); t != nil {
			if since := time.Since(*t); since > during-last && since <= during {
				recent.Add(1)
			}
		}
	})
	if err == nil {
		m.notes["average"] = m.value
		m.value = float64(recent.Load()) / last.Seconds()
	}
	return m, err
}

// forgotten is a connection whose transaction somebody left open.
func (b *bench) forgotten(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.Connect(ctx, b.house.url(""))
	if err != nil {
		return nil, err
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err == nil {
		_, err = tx.Exec(ctx, sqlSnapshot)
	}
	if err != nil {
		conn.Close(ctx)
		return nil, err
	}
	return conn, nil
}

// oldest asks as operators do, and returns how many seconds the worst
// transaction has been open; 0: there is none, or it could not be asked.
func (b *bench) oldest(ctx context.Context) float64 {
	for _, q := range ops.Queries() {
		if q.Name != "oldest_snapshot" {
			continue
		}
		rows, err := b.house.all.Query(ctx, q.SQL)
		if err != nil {
			return 0
		}
		list, err := pgx.CollectRows(rows, pgx.RowToMap)
		if err != nil || len(list) == 0 {
			return 0
		}
		since, ok := list[0]["open_for"].(pgtype.Interval)
		if !ok {
			return 0
		}
		return (time.Duration(since.Days)*24*time.Hour + time.Duration(since.Microseconds)*time.Microsecond).Seconds()
	}
	return 0
}
