package store_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
)

// schedule is a scheduler that has something of the test's done inside the
// lane's transaction, between loading and saving.
type schedule func(b *pgx.Batch, ends []store.Ending)

func (f schedule) Schedule(_ context.Context, _ *pgx.Conn, b *pgx.Batch, ends []store.Ending, _ []store.Task) error {
	f(b, ends)
	return nil
}

func TestACommitWithoutAnswerIsNeverCalledNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	var s shop
	release := func() {}
	cut := &cutter{after: true}
	cut.wait = sync.OnceFunc(func() {
		for {
			var n int
			if err := s.pool.QueryRow(context.Background(), "select count(*) from reservations").Scan(&n); err != nil || n > 0 {
				break
			}
		}
		// It is committed. Before the lane is back, another instance has the show.
		release = s.hold(t)
	})
	s = shop{Store: fixture.On(t, db, func(c *store.Config) {
		c.LaneDial, c.Lanes.Timeout = cut.dial, 300*time.Millisecond
	}), db: db, pool: db.Pool("")}
	s.Made = fixture.Show(t, s.Store, fixture.Options{})
	key := fixture.Key()
	_, _, err := s.placeKeyed(t.Context(), &key, "a", 0, 0)
	release()
	var refusal *boxoffice.Error
	if !errors.As(err, &refusal) || refusal.Code != boxoffice.CodeUnavailable || refusal.Facts.Outcome != "unknown" {
		t.Fatal("the hold exists, and its customer is told", err)
	}
	if _, replayed, err := s.placeKeyed(t.Context(), &key, "a", 0, 0); err != nil || !replayed {
		t.Fatal(err, replayed)
	}
}

func TestABatchThatFindsItsShowMovedOnIsNotCommitted(t *testing.T) {
	t.Parallel()
	s := openShop(t, fixture.Options{}, func(c *store.Config) {
		c.Jobs = schedule(func(b *pgx.Batch, ends []store.Ending) {
			b.Queue("update show_heads set version = version + 10 where show_id = $1", ends[0].ShowID)
		})
	})
	if _, err := s.place(t.Context(), "a", 0, 0); boxoffice.CodeOf(err) != boxoffice.CodeInternal {
		t.Error(err)
	}
	if n := s.count(t, "select count(*) from reservations"); n != 0 {
		t.Error(n, "holds are committed")
	}
}

func TestAJobThatCannotBeScheduledFailsItsHoldAlone(t *testing.T) {
	t.Parallel()
	var bad shop
	bad = openShop(t, fixture.Options{}, func(c *store.Config) {
		c.Lanes.Lanes = 1
		c.Jobs = schedule(func(b *pgx.Batch, ends []store.Ending) {
			if slices.ContainsFunc(ends, func(end store.Ending) bool { return end.ShowID == bad.ID }) {
				b.Queue("select 1 / 0")
			}
		})
	})
	good := bad
	good.Made = fixture.Show(t, bad.Store, fixture.Options{})
	done := make(chan error)
	for i := range 5 {
		go func() {
			_, err := good.place(t.Context(), "good", 0, i)
			done <- err
		}()
	}
	if _, err := bad.place(t.Context(), "bad", 0, 0); boxoffice.CodeOf(err) != boxoffice.CodeInternal {
		t.Error(err)
	}
	for range 5 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := bad.count(t, "select count(*) from reservations where show_id = $1", bad.ID); n != 0 {
		t.Error(n, "holds without a job")
	}
}

// River asks for all columns of what it inserts, and its table may be altered by a
// newer version while this one still sells.
func TestALaneGoesOnWhenATableIsAltered(t *testing.T) {
	t.Parallel()
	s := openShop(t, fixture.Options{}, func(c *store.Config) {
		c.Lanes.Lanes = 1
		c.Jobs = schedule(func(b *pgx.Batch, _ []store.Ending) { b.Queue("select * from altered") })
	})
	run := func(sql string) {
		if _, err := s.pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	run("create table altered (a int); grant select on altered to public")
	for i, column := range []string{"b", "c"} {
		if _, err := s.place(t.Context(), "a", 0, i); err != nil {
			t.Fatal(err)
		}
		run("alter table altered add column " + column + " int")
	}
	if _, err := s.place(t.Context(), "a", 0, 2); err != nil {
		t.Error(err)
	}
}

func TestAReplayWaitsForNobodyWhoHasItsReservationLocked(t *testing.T) {
	t.Parallel()
	s := openShop(t, fixture.Options{})
	key := fixture.Key()
	first, _, err := s.placeKeyed(t.Context(), &key, "a", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(t.Context(), "select from reservations for update"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // for ever, if it waits
	defer cancel()
	again, replayed, err := s.placeKeyed(ctx, &key, "a", 0, 0)
	if err != nil || !replayed || again.ID != first.ID {
		t.Fatal(err, replayed)
	}
}

func TestARowThatStaysLockedHoldsUpItsLaneNoLongerThanADeadline(t *testing.T) {
	t.Parallel()
	s := openShop(t, fixture.Options{}, func(c *store.Config) {
		c.Lanes.Lanes = 1
		c.Lanes.AnswerMax = 4 * time.Second // then Do says UNAVAILABLE
	})
	other := s
	other.Made = fixture.Show(t, s.Store, fixture.Options{Seats: 60})
	v, err := s.place(t.Context(), "a", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(t.Context(), "select from show_seats where show_id = $1 and seat_no = $2 for update", s.ID, s.Seats[0].No); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 60 {
		group.Go(func() {
			if _, err := other.place(t.Context(), "b", 0, i); err != nil && boxoffice.CodeOf(err) != boxoffice.CodeLockTimeout {
				t.Error("a neighbour:", err)
			}
		})
	}
	for range 3 {
		group.Go(func() {
			_, _, err := s.ReleaseReservation(t.Context(), boxoffice.Actor{CustomerID: "a"}, new(fixture.Key()), v.ID)
			if boxoffice.CodeOf(err) != boxoffice.CodeLockTimeout {
				t.Error("the hold could not be released, and its customer is told", err)
			}
		})
	}
	group.Wait()
	if n := s.count(t, "select count(*) from reservations where status <> 'active'"); n != 0 {
		t.Error(n, "were released")
	}
}

// lastLine cuts a lane's line when the answer to its so-manieth message comes.
type lastLine struct {
	net.Conn
	left *atomic.Int32 // messages until then; below 0: never
}

func (l lastLine) Write(p []byte) (int, error) {
	l.left.Add(-1)
	return l.Conn.Write(p)
}

func (l lastLine) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if l.left.CompareAndSwap(0, -1) {
		l.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

func TestAReplayIsOneAlsoWhenItsCommitGoesUnanswered(t *testing.T) {
	t.Parallel()
	var left, lines atomic.Int32
	left.Store(-1)
	s := openShop(t, fixture.Options{}, func(c *store.Config) {
		c.Lanes.Lanes = 1
		c.LaneDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			lines.Add(1)
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return lastLine{conn, &left}, err
		}
	})
	key := fixture.Key()
	for i := range 2 {
		if _, replayed, err := s.placeKeyed(t.Context(), &key, "a", 0, 0); err != nil || replayed != (i > 0) {
			t.Fatal(replayed, err)
		}
	}
	cut := 0
	for messages := range int32(4) { // to lock, to load, to commit
		before := lines.Load()
		left.Store(messages + 1)
		if _, replayed, err := s.placeKeyed(t.Context(), &key, "a", 0, 0); err != nil || !replayed {
			t.Errorf("cut after %d: %v %v", messages+1, replayed, err)
		}
		if left.Swap(-1) < 0 && lines.Load() > before {
			cut++
		}
	}
	if cut < 2 {
		t.Error("the line was cut", cut, "times")
	}
}

func TestATransactionThatPostgresEndsIsNoBug(t *testing.T) {
	t.Parallel()
	s := openShop(t, fixture.Options{})
	ends := map[string]string{
		"a process that stood still for too long": "set local idle_in_transaction_session_timeout = '1ms'",
		"an administrator":                        "select pg_terminate_backend(pg_backend_pid())",
	}
	if s.count(t, "select current_setting('server_version_num')::int") >= 170_000 {
		ends["a transaction that took too long"] = "set local transaction_timeout = '50ms'"
	}
	for why, sql := range ends {
		err := s.Tx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
			for {
				if _, err := tx.Exec(ctx, sql); err != nil {
					return err
				}
				time.Sleep(10 * time.Millisecond) // in the middle of it
			}
		})
		var refusal *boxoffice.Error
		if !errors.As(err, &refusal) || refusal.Code != boxoffice.CodeUnavailable || refusal.Facts.Outcome != "unknown" {
			t.Errorf("%s: %v", why, err)
		}
	}
}

// brokenLine is cut instead of sending its so-manieth message.
type brokenLine struct {
	net.Conn
	left *atomic.Int32 // messages until then; below 0: never
}

func (l brokenLine) Write(p []byte) (int, error) {
	if l.left.Add(-1) == -1 {
		l.Close()
		return 0, net.ErrClosed
	}
	return l.Conn.Write(p)
}

// What is written of a large batch goes out in several messages, and COMMIT with
// the last of them.
func TestALargeHoldIsWrittenOnceWhereverItsLineBreaks(t *testing.T) {
	t.Parallel()
	const never, places = int32(-1 << 20), 300
	var left atomic.Int32
	left.Store(never)
	s := openShop(t, fixture.Options{Seats: 10 * places, RowLength: 100, Edit: func(n *store.NewShow) { n.MaxPlacesPerReservation = places }}, func(c *store.Config) {
		c.Lanes.Lanes = 1
		c.LaneDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return brokenLine{conn, &left}, err
		}
	})
	next, holds := 0, 0
	messages := func(n int) int32 {
		seats := make([]int, n)
		for i := range seats {
			seats[i] = next + i
		}
		next, holds = next+n, holds+1
		before := left.Load()
		if _, err := s.place(t.Context(), "a", 0, seats...); err != nil {
			t.Fatal(err)
		}
		return before - left.Load()
	}
	messages(1) // statements are prepared
	small, large := messages(1), messages(places)
	if large <= small {
		t.Fatalf("%d messages for a large hold, %d for a small one", large, small)
	}
	for cut := range large {
		left.Store(cut)
		messages(places)
		if left.Swap(never) >= 0 {
			t.Errorf("the line was not cut at message %d", cut)
		}
		if n := s.count(t, "select count(*) from reservations"); n != holds {
			t.Errorf("cut at message %d: %d holds instead of %d", cut, n, holds)
		}
	}
	s.sound(t)
}
