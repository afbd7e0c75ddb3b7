package main

import (
	"context"
	"errors"
	"flag"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// A benchmark is run by hand, so nobody would notice that the schema has moved on.
func TestStatementsFitTheSchema(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	if _, err := db.Pool("").Exec(t.Context(), sqlOldPrepare); err != nil {
		t.Fatal(err)
	}
	conn, err := db.Pool("").Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	list, err := files.ReadDir("sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		sql := statement(strings.TrimSuffix(f.Name(), ".sql"))
		if _, err := conn.Conn().Prepare(t.Context(), "", sql); err != nil {
			t.Errorf("%s: %v", f.Name(), err)
		}
	}
}

// What is written at once stands for what lanes write, so it must be as good.
func TestRowsWrittenAtOnceBreakNoRule(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	ctx := t.Context()
	show, plan, org := store.NewID(), store.NewID(), boxoffice.DefaultOrganisationID
	if _, err := db.Pool("").Exec(ctx, sqlHall, org, plan, 30); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Pool("").Exec(ctx, sqlShows, org, plan, 30, []uuid.UUID{show}); err != nil {
		t.Fatal(err)
	}
	conn, err := db.Pool(store.RoleLane).Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	at := time.Now().Truncate(time.Microsecond)
	for first := 0; first < 30; first += 10 {
		w, err := writtenHolds(show, at, first, 10, func(i int) time.Time { return at.Add(time.Duration(i/2+1) * time.Minute) })
		if err != nil {
			t.Fatal(err)
		}
		if err := w.write(ctx, conn.Conn()); err != nil {
			t.Fatal(err)
		}
	}
	h := &house{all: db.Pool("")}
	if _, err := h.check(ctx, report.Rowlock, []uuid.UUID{show}); err != nil {
		t.Error(err)
	}
	h.keep = true
	if _, err := h.check(ctx, report.Rowlock, []uuid.UUID{show}); err != nil {
		t.Error(err)
	}
	var jobs float64
	if err := db.Pool("").QueryRow(ctx, sqlJobs).Scan(&jobs); err != nil || jobs != 0.5 {
		t.Errorf("two holds end at each instant, but there are %v jobs a hold: %v", jobs, err)
	}
	if _, err := db.Pool("").Exec(ctx, "update show_seats set state = 'a', reservation_id = null, held_until = null where seat_no = 3"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.check(ctx, report.Rowlock, []uuid.UUID{show}); err == nil {
		t.Error("nobody saw that a hold has lost its seat")
	}
	h.keep = false
	if _, err := h.check(ctx, report.Rowlock, []uuid.UUID{show}); err == nil {
		t.Error("no rule saw that a hold has lost its seat")
	}
}

func TestOldRowsAreOfManyShowsAndAsManyAsSaid(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	b := &bench{screen: &screen{out: t.Output()}}
	if err := b.load(t.Context(), &house{all: db.Pool("")}, 2_500, 1_000); err != nil {
		t.Fatal(err)
	}
	for table, wantShows := range map[string]int{"reservations": 100, "changes": 100, "idempotency_keys": 100} {
		var rows, shows int
		if err := db.Pool("").QueryRow(t.Context(), "select count(*), count(distinct show_id) from "+table).Scan(&rows, &shows); err != nil {
			t.Fatal(err)
		}
		if rows != 2_500 || shows != wantShows {
			t.Errorf("%s: %d rows of %d shows", table, rows, shows)
		}
	}
}

func TestEveryAttemptIsMadeOnceAndCounted(t *testing.T) {
	t.Parallel()
	quietly := &screen{out: t.Output()}
	taken := boxoffice.Refuse(boxoffice.CodeSeatAlreadyReserved, "taken")
	broken := errors.New("broken")
	var seen [100]atomic.Int64
	attempt := func(_ context.Context, _, i int) error {
		seen[i].Add(1)
		switch {
		case i%10 == 0:
			return taken
		case i == 55:
			return broken
		}
		return nil
	}
	check := func(name string, p pressed) {
		if p.attempts != 100 || p.refused != 10 || p.failed != 1 || !errors.Is(p.why, broken) || len(p.waits) != 100 {
			t.Errorf("%s: %+v", name, p)
		}
		for i := range seen {
			if n := seen[i].Swap(0); n != 1 {
				t.Errorf("%s: attempt %d was made %d times", name, i, n)
			}
		}
	}
	check("press", press(t.Context(), quietly, 7, 100, time.Minute, attempt))
	check("pace", pace(t.Context(), quietly, 7, 1000, 100*time.Millisecond, attempt))
	if p := press(t.Context(), quietly, 7, 100, -1, attempt); p.attempts != 0 {
		t.Errorf("when the time is over: %+v", p)
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	o, _, err := parse([]string{"--only", "hot, one", "--old=1e6,2e6"})
	if err != nil || len(o.chosen()) != 2 || o.rounds != 5 || !o.keep || len(o.oldRows) != 2 || o.oldRows[1] != 2_000_000 {
		t.Errorf("%+v %v", o, err)
	}
	o, _, err = parse([]string{"--quick"})
	if err != nil || len(o.chosen()) != 8 || o.rounds != 1 || o.keep { // as its help says
		t.Errorf("%+v %v", o, err)
	}
	var takes time.Duration
	for _, s := range o.chosen() {
		takes += s.quickly
	}
	if takes > 110*time.Second {
		t.Errorf("a quick run is planned to take %v", takes)
	}
	if o, _, err = parse([]string{"--quick", "--save"}); err != nil || !o.keep {
		t.Errorf("%+v %v", o, err)
	}
	for _, bad := range []string{"--only=cold", "--old=none", "--rounds=-1", "hot", "--quick --write"} {
		if _, _, err := parse(strings.Fields(bad)); err == nil || errors.Is(err, flag.ErrHelp) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
