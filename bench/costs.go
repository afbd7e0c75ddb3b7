package main

import (
	"context"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// costing says where the time of a round goes: what each statement cost
// Postgres, and what this process, callers and all, cost the processors. What
// fills the tables and looks at them afterwards is among them.
func (b *bench) costing(ctx context.Context, round func() (measure, error)) (m measure, err error) {
	if _, err := b.house.all.Exec(ctx, sqlCostsCount); err != nil {
		return m, err
	}
	if _, err := b.house.all.Exec(ctx, sqlCostsAnew); err != nil {
		return m, err
	}
	before := processorTime()
	if m, err = round(); err != nil {
		return m, err
	}
	b.screen.say("    this process: %v of processor time", (processorTime() - before).Round(time.Millisecond))
	rows, err := b.house.all.Query(ctx, sqlCosts)
	if err != nil {
		return m, err
	}
	var name string
	var calls, affected int64
	var ms float64
	_, err = pgx.ForEachRow(rows, []any{&name, &calls, &ms, &affected}, func() error {
		b.screen.say("    %-28s %8d calls  %8d rows  %8.0f ms", name, calls, affected, ms)
		return nil
	})
	return m, err
}

func processorTime() time.Duration {
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use) // of oneself it does not fail
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
