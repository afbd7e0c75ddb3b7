package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/sql/queries"
)

// shop is a show on a database that the test can look into.
type shop struct {
	*store.Store
	fixture.Made
	db   *pgtest.DB
	pool *pgxpool.Pool // the superuser's
}

func openShop(t *testing.T, o fixture.Options, edit ...func(*store.Config)) shop {
	t.Helper()
	db := pgtest.New(t)
	s := fixture.On(t, db, edit...)
	return shop{s, fixture.Show(t, s, o), db, db.Pool("")}
}

// place holds seats, by their place in the plan, for a customer under a fresh
// key.
func (s shop) place(ctx context.Context, customer string, ttl int, seats ...int) (*store.ReservationView, error) {
	key := fixture.Key()
	key.Owner = "customer|" + customer
	v, _, err := s.placeKeyed(ctx, &key, customer, ttl, seats...)
	return v, err
}

func (s shop) placeKeyed(ctx context.Context, key *boxoffice.IdempotencyKey, customer string, ttl int, seats ...int) (*store.ReservationView, bool, error) {
	req := store.PlaceRequest{ShowID: s.ID, CustomerID: customer, TTLSeconds: ttl}
	for _, i := range seats {
		req.Seats = append(req.Seats, store.SeatRef{ID: s.Seats[i].ID})
	}
	return s.PlaceReservation(ctx, boxoffice.Actor{CustomerID: customer, Name: customer}, key, req)
}

// count asks the database for a number, past every rule.
func (s shop) count(t *testing.T, sql string, args ...any) (n int) {
	t.Helper()
	if err := s.pool.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (s shop) clock(t *testing.T) (now time.Time) {
	t.Helper()
	if err := s.pool.QueryRow(t.Context(), "select clock_timestamp()").Scan(&now); err != nil {
		t.Fatal(err)
	}
	return now
}

// hold takes a show's lock on a connection of its own, as another instance
// would, until the returned function is called.
func (s shop) hold(t *testing.T) (release func()) {
	t.Helper()
	tx, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "select pg_advisory_xact_lock(show_lock_key($1))", s.ID); err != nil {
		t.Fatal(err)
	}
	return func() { tx.Rollback(context.Background()) }
}

// waiting blocks until somebody waits for the show's lock.
func (s shop) waiting(t *testing.T) {
	t.Helper()
	for s.count(t, "select count(*) from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())") == 0 {
		time.Sleep(time.Millisecond)
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	t.Run("is exact by the database clock, with no worker running", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, fixture.Options{})
		first, err := s.place(t.Context(), "first", 2, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := first.ExpiresAt.Sub(first.CreatedAt); got != 2*time.Second {
			t.Fatal("the hold is not 2 s long to the microsecond but", got)
		}
		// Somebody asks all the time. An attempt that ended before the instant
		// must lose, one that began at or after it must win.
		if _, err := s.pool.Exec(t.Context(), "select pg_sleep(extract(epoch from $1 - clock_timestamp()) - 0.3)", first.ExpiresAt); err != nil {
			t.Fatal(err)
		}
		early := 0
		for i := 0; ; i++ {
			before := s.clock(t)
			second, err := s.place(t.Context(), fmt.Sprint("second ", i), 2, 1)
			after := s.clock(t)
			switch {
			case after.Before(first.ExpiresAt) && boxoffice.CodeOf(err) != boxoffice.CodeSeatAlreadyReserved:
				t.Fatal("before the end:", err)
			case !before.Before(first.ExpiresAt) && err != nil:
				t.Fatal("after the end:", err)
			case err == nil && second.CreatedAt.Before(first.ExpiresAt):
				t.Fatal("sold at", second.CreatedAt, "before", first.ExpiresAt)
			}
			if err == nil {
				break
			}
			early++
		}
		if early == 0 {
			t.Fatal("nobody asked before the end")
		}
		key := fixture.Key()
		_, _, err = s.ExtendReservation(t.Context(), boxoffice.Actor{CustomerID: "first", Name: "first"}, &key, first.ID)
		var refusal *boxoffice.Error
		if !errors.As(err, &refusal) || refusal.Code != boxoffice.CodeReservationExpired || !refusal.Facts.ExpiredAt.Equal(first.ExpiresAt) {
			t.Fatal(err)
		}
		// The next buyer closed the hold whole: its other seat is free, too.
		if _, err := s.place(t.Context(), "third", 2, 0); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("never goes back when the clock does", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, fixture.Options{})
		// The log of this show has seen a time ten minutes ahead.
		if _, err := s.pool.Exec(t.Context(), "update show_heads set changed_at = clock_timestamp() + interval '10 minutes' where show_id = $1", s.ID); err != nil {
			t.Fatal(err)
		}
		v, err := s.place(t.Context(), "a", 60, 0)
		if err != nil {
			t.Fatal(err)
		}
		if ahead := v.CreatedAt.Sub(s.clock(t)); ahead < 9*time.Minute {
			t.Fatal("the hold was placed before what the log has seen:", ahead)
		}
		key := fixture.Key()
		if _, _, err := s.ReleaseReservation(t.Context(), boxoffice.Actor{CustomerID: "a", Name: "a"}, &key, v.ID); err != nil {
			t.Fatal(err)
		}
		if n := s.count(t, "select count(*) from (select at < lag(at) over (order by version, n) as back from changes where show_id = $1) x where back", s.ID); n != 0 {
			t.Fatal("the log goes back in time")
		}
	})
}

func TestLane(t *testing.T) {
	t.Parallel()

	t.Run("one bad command does not fail its neighbours", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, fixture.Options{Seats: 30})
		release := s.hold(t)
		var group sync.WaitGroup
		var sold, internal atomic.Int32
		for i := range 20 {
			group.Go(func() {
				customer := fmt.Sprint("customer ", i)
				if i == 7 {
					customer = strings.Repeat("x", 200) // more than the database takes
				}
				switch _, err := s.place(t.Context(), customer, 0, i); {
				case err == nil:
					sold.Add(1)
				case boxoffice.CodeOf(err) == boxoffice.CodeInternal && i == 7:
					internal.Add(1)
				default:
					t.Error(i, err)
				}
			})
		}
		s.waiting(t)
		release()
		group.Wait()
		if sold.Load() != 19 || internal.Load() != 1 {
			t.Fatal(sold.Load(), internal.Load())
		}
	})

	t.Run("a show that is locked elsewhere does not hold up the others", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, fixture.Options{}, func(c *store.Config) { c.Lanes.Lanes = 1 })
		other := s
		other.Made = fixture.Show(t, s.Store, fixture.Options{})
		release := s.hold(t)
		done := make(chan error, 1)
		go func() {
			_, err := s.place(t.Context(), "a", 0, 0)
			done <- err
		}()
		s.waiting(t)
		if _, err := other.place(t.Context(), "b", 0, 0); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			t.Fatal("answered while the show was locked:", err)
		default:
		}
		release()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})

	t.Run("a batch that had none of its shows waits in line for one, and does not ask again and again", func(t *testing.T) {
		t.Parallel()
		line := &tap{in: make(chan struct{})}
		s := openShop(t, fixture.Options{}, func(c *store.Config) {
			c.Lanes.Lanes, c.Lanes.Timeout, c.LaneDial = 1, 5*time.Second, line.dial
		})
		release := s.hold(t)
		defer release()
		done := make(chan error, 1)
		go func() {
			_, err := s.place(t.Context(), "a", 0, 0)
			done <- err
		}()
		select {
		case <-line.in:
		case err := <-done:
			t.Fatal("the lane never waited for the lock itself:", err)
		}
		release()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})

	t.Run("a show that stays locked is LOCK_TIMEOUT and nothing is done", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, fixture.Options{}, func(c *store.Config) { c.Lanes.Timeout = 200 * time.Millisecond })
		release := s.hold(t)
		defer release()
		if _, err := s.place(t.Context(), "a", 0, 0); boxoffice.CodeOf(err) != boxoffice.CodeLockTimeout {
			t.Fatal(err)
		}
		release()
		if n := s.count(t, "select count(*) from reservations"); n != 0 {
			t.Fatal(n)
		}
	})

	t.Run("a row that somebody outside has locked is taken, without waiting for it", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, fixture.Options{})
		tx, err := s.pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback(context.Background())
		if _, err := tx.Exec(t.Context(), "select * from show_seats where show_id = $1 and seat_no = $2 for update", s.ID, s.Seats[3].No); err != nil {
			t.Fatal(err)
		}
		if _, err := s.place(t.Context(), "a", 0, 3); boxoffice.CodeOf(err) != boxoffice.CodeSeatAlreadyReserved {
			t.Fatal(err)
		}
		if _, err := s.place(t.Context(), "a", 0, 4); err != nil {
			t.Fatal(err)
		}
	})

	t.Run("a key that is being worked elsewhere is IDEMPOTENCY_KEY_IN_USE", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, fixture.Options{})
		key := fixture.Key()
		tx, err := s.pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback(context.Background())
		a, b := store.LockKeyOf(&key)
		if _, err := tx.Exec(t.Context(), "select pg_advisory_xact_lock($1::int, $2::int)", a, b); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.placeKeyed(t.Context(), &key, "a", 0, 0); boxoffice.CodeOf(err) != boxoffice.CodeKeyInUse {
			t.Fatal(err)
		}
		venue := boxoffice.Venue{OrganisationID: boxoffice.DefaultOrganisationID, Name: "V", City: "C", Country: "FI", TimeZone: "UTC"}
		if _, _, err := s.CreateVenue(t.Context(), key, venue); boxoffice.CodeOf(err) != boxoffice.CodeKeyInUse {
			t.Fatal(err)
		}
		tx.Rollback(context.Background())
		if _, _, err := s.placeKeyed(t.Context(), &key, "a", 0, 0); err != nil {
			t.Fatal(err)
		}
	})

	t.Run("while the database is away everybody in the queue is told so", func(t *testing.T) {
		t.Parallel()
		var away atomic.Bool
		s := openShop(t, fixture.Options{}, func(c *store.Config) {
			c.Lanes.Lanes, c.Lanes.BatchMax, c.Lanes.Timeout = 1, 1, 300*time.Millisecond
			c.LaneDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				if away.Load() {
					return nil, errors.New("no route to it")
				}
				return new(net.Dialer).DialContext(ctx, network, addr)
			}
		})
		away.Store(true)
		if _, err := s.pool.Exec(t.Context(), "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'rowlock lane' and datname = current_database()"); err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for i := range 5 {
			group.Go(func() {
				_, err := s.place(t.Context(), fmt.Sprint(i), 0, i)
				var e *boxoffice.Error
				if !errors.As(err, &e) || e.Code != boxoffice.CodeUnavailable || e.Facts.Outcome != "none" {
					t.Error(i, err)
				}
			})
		}
		group.Wait()
		away.Store(false)
		// Whoever retries finds it back; a first try may still be told that it is away.
		for _, err := s.place(t.Context(), "again", 0, 9); err != nil; _, err = s.place(t.Context(), "again", 0, 9) {
			if boxoffice.CodeOf(err) != boxoffice.CodeUnavailable {
				t.Fatal(err)
			}
		}
	})

	t.Run("connections that die while it works cost no hold and double none", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, fixture.Options{Seats: 300})
		var group sync.WaitGroup
		var next, sold atomic.Int32
		for range 8 {
			group.Go(func() {
				for {
					i := int(next.Add(1)) - 1
					if i >= 300 {
						return
					}
					if i%10 == 9 { // while seven others are at it
						s.pool.Exec(t.Context(), "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'rowlock lane' and datname = current_database()")
					}
					switch _, err := s.place(t.Context(), fmt.Sprint("customer ", i), 0, i); boxoffice.CodeOf(err) {
					case "":
						sold.Add(1)
					case boxoffice.CodeUnavailable:
					default:
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		if n := s.count(t, "select count(*) from reservations"); n < int(sold.Load()) || sold.Load() < 50 {
			t.Fatal("sold", sold.Load(), "stored", n)
		}
		if n := s.count(t, "select count(*) from (select seat_no from reservation_items group by 1 having count(*) > 1) x"); n != 0 {
			t.Fatal("seats in two reservations:", n)
		}
	})
}

// tap listens to the first connection that is made, which is a lane's: waiters
// come later. in is closed when it waits for a show's lock.
type tap struct {
	lines atomic.Int32
	in    chan struct{}
}

func (p *tap) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil || p.lines.Add(1) > 1 {
		return conn, err
	}
	return &tapped{Conn: conn, in: p.in}, nil
}

type tapped struct {
	net.Conn
	in    chan struct{}
	heard bool
}

func (c *tapped) Write(b []byte) (int, error) {
	if !c.heard && bytes.Contains(b, []byte(queries.All()["lanes_wait_show"])) {
		c.heard = true
		close(c.in)
	}
	return c.Conn.Write(b)
}

// cutter is a network that loses the connection around the first COMMIT of a
// hold: before Postgres sees it, or after it has committed and before its
// answer arrives.
type cutter struct {
	after bool
	done  atomic.Bool
	wait  func() // until the commit has happened
}

func (c *cutter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return &cutConn{Conn: conn, c: c}, err
}

type cutConn struct {
	net.Conn
	c   *cutter
	cut atomic.Bool
}

// savesHold recognises the pipeline that ends with COMMIT: it carries the
// receipt of an active hold.
func savesHold(p []byte) bool { return bytes.Contains(p, []byte(`"s":"active"`)) }

func (c *cutConn) Write(p []byte) (int, error) {
	if savesHold(p) && c.c.done.CompareAndSwap(false, true) {
		c.cut.Store(true)
		if !c.c.after {
			c.Conn.Close()
			return 0, net.ErrClosed
		}
	}
	return c.Conn.Write(p)
}

func (c *cutConn) Read(p []byte) (int, error) {
	if c.cut.Load() && c.c.after {
		c.c.wait()
		c.Conn.Close()
	}
	return c.Conn.Read(p)
}

func TestCommitWithoutAnswer(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]bool{"that happened": true, "that did not happen": false} {
		t.Run(name+" becomes exactly one hold, answered as if nothing had been", func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			pool := db.Pool("")
			cut := &cutter{after: after, wait: func() {
				for {
					var n int
					if err := pool.QueryRow(context.Background(), "select count(*) from reservations").Scan(&n); err != nil || n > 0 {
						return
					}
				}
			}}
			s := shop{Store: fixture.On(t, db, func(c *store.Config) { c.LaneDial = cut.dial }), db: db, pool: pool}
			s.Made = fixture.Show(t, s.Store, fixture.Options{})
			key := fixture.Key()
			v, replayed, err := s.placeKeyed(t.Context(), &key, "a", 0, 0)
			if err != nil || replayed {
				t.Fatal(err, replayed)
			}
			if !cut.done.Load() {
				t.Fatal("nothing was cut")
			}
			if n := s.count(t, "select count(*) from reservations"); n != 1 {
				t.Fatal(n)
			}
			again, replayed, err := s.placeKeyed(t.Context(), &key, "a", 0, 0)
			if err != nil || !replayed || again.ID != v.ID || again.CustomerID != "a" {
				t.Fatal(again, replayed, err)
			}
		})
	}
}

func TestTheDatabaseRefusesByItself(t *testing.T) {
	t.Parallel()
	s := openShop(t, fixture.Options{Seats: 4, Floor: 10})
	a, err := s.place(t.Context(), "a", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.place(t.Context(), "b", 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	key := fixture.Key()
	if _, _, err := s.ReleaseReservation(t.Context(), boxoffice.Actor{CustomerID: "b"}, &key, b.ID); err != nil {
		t.Fatal(err)
	}
	no := s.Seats[0].No
	for name, c := range map[string]struct {
		constraint, sql string
		args            []any
	}{
		"a second owner of a held seat":        {"show_seats_keep_owner", "update show_seats set reservation_id = $3 where show_id = $1 and seat_no = $2", []any{s.ID, no, uuid.New()}},
		"a second row for a seat":              {"show_seats_pkey", "insert into show_seats (show_id, seat_no, organisation_id) select show_id, seat_no, organisation_id from show_seats where show_id = $1 and seat_no = $2", []any{s.ID, no}},
		"a free seat with an owner":            {"show_seats_one_owner", "update show_seats set state = 'a' where show_id = $1 and seat_no = $2", []any{s.ID, no}},
		"more held than there is":              {"show_areas_never_oversold", "update show_areas set held = 11 where show_id = $1", []any{s.ID}},
		"a capacity below what is booked":      {"show_areas_never_oversold", "update show_areas set booked = 5, capacity = 4 where show_id = $1", []any{s.ID}},
		"fewer than none held":                 {"show_areas_never_oversold", "update show_areas set held = -1 where show_id = $1", []any{s.ID}},
		"an ended hold that lives again":       {"reservations_stay_closed", "update reservations set status = 'active', closed_at = null where show_id = $1 and reservation_id = $2", []any{s.ID, b.ID}},
		"a hold with fewer prices than seats":  {"reservations_items", "update reservations set seat_prices = '{}' where show_id = $1 and reservation_id = $2", []any{s.ID, a.ID}},
		"a hold that expired before its end":   {"reservations_status", "update reservations set status = 'expired', closed_at = created_at where show_id = $1 and reservation_id = $2", []any{s.ID, a.ID}},
		"two answers to one idempotency key":   {"idempotency_keys_pkey", "insert into idempotency_keys select * from idempotency_keys where show_id = $1", []any{s.ID}},
		"a version of the log that was before": {"changes_pkey", "insert into changes (show_id, version, n, organisation_id, at, type, actor, reason) select show_id, version, n, organisation_id, at, type, actor, reason from changes where show_id = $1", []any{s.ID}},
	} {
		_, err := s.pool.Exec(t.Context(), c.sql, c.args...)
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.ConstraintName != c.constraint {
			t.Errorf("%s: %v, wanted constraint %s", name, err, c.constraint)
		}
	}
	for _, role := range []string{store.RoleApp, store.RoleLane} {
		for _, sql := range []string{"update changes set actor = 'x'", "delete from changes", "truncate changes"} {
			var pg *pgconn.PgError
			if _, err := s.db.Pool(role).Exec(t.Context(), sql); !errors.As(err, &pg) || pg.Code != "42501" {
				t.Errorf("%s may %s: %v", role, sql, err)
			}
		}
	}
}

func TestReplayIsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	s := openShop(t, fixture.Options{Seats: 6, Floor: 10})
	actor := boxoffice.Actor{CustomerID: "a", Name: "a"}
	key := fixture.Key()
	req := store.PlaceRequest{ShowID: s.ID, CustomerID: "a", Metadata: map[string]string{"cart": "Zoë 🎭"},
		Seats: []store.SeatRef{{ID: s.Seats[2].ID, TicketType: "child"}, {Label: s.Seats[0].Label}},
		Areas: []store.AreaRef{{ID: s.Areas[0].ID, Quantity: 2}}}
	first, _, err := s.PlaceReservation(t.Context(), actor, &key, req)
	if err != nil {
		t.Fatal(err)
	}
	// The hold changes, ends, and its seats are sold again; the answer stays.
	other := fixture.Key()
	if _, _, err := s.ChangeReservation(t.Context(), actor, &other, first.ID, store.ChangeRequest{RemoveSeats: []store.SeatRef{{Label: s.Seats[0].Label}}}); err != nil {
		t.Fatal(err)
	}
	release := fixture.Key()
	if _, _, err := s.ReleaseReservation(t.Context(), actor, &release, first.ID); err != nil {
		t.Fatal(err)
	}
	again, replayed, err := s.PlaceReservation(t.Context(), actor, &key, req)
	if err != nil || !replayed {
		t.Fatal(err, replayed)
	}
	if a, b := fmt.Sprintf("%+v", *first), fmt.Sprintf("%+v", *again); utc(a) != utc(b) {
		t.Fatalf("\n%s\n%s", a, b)
	}
	key.Fingerprint[0]++
	if _, _, err := s.PlaceReservation(t.Context(), actor, &key, req); boxoffice.CodeOf(err) != boxoffice.CodeKeyReused {
		t.Fatal(err)
	}
}

// utc makes the printed times of two sources comparable: the zone is not part
// of an instant.
func utc(s string) string {
	return strings.NewReplacer(" +0000 UTC", "", " +0000 +0000", "").Replace(s)
}

// A rush for standing places is refused without a question to the database
// beside the lane's own.
func TestAreasAreNamedWithoutAskingTheDatabase(t *testing.T) {
	t.Parallel()
	s := openShop(t, fixture.Options{Floor: 1})
	ask := func() error {
		_, _, err := s.PlaceReservation(t.Context(), boxoffice.Actor{CustomerID: "a", Name: "a"}, new(fixture.Key()),
			store.PlaceRequest{ShowID: s.ID, CustomerID: "a", Areas: []store.AreaRef{{ID: s.Areas[0].ID, Quantity: 1}}})
		return err
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	if n := fixture.Connections(s.Store, func() {
		for range 3 {
			var refusal *boxoffice.Error
			if err := ask(); !errors.As(err, &refusal) || refusal.Code != boxoffice.CodeInsufficient || refusal.Facts.Areas[0].AreaID != s.Areas[0].ID {
				t.Fatal(err)
			}
		}
	}); n != 0 {
		t.Errorf("three refusals took %d connections", n)
	}
}
