package strategies_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/bench/strategies"
	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/jobs"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// shop is a store on a database of its own that sells in one of the ways.
type shop struct {
	*store.Store
	strategy strategies.Strategy
	all      *pgxpool.Pool
	show     fixture.Made
	road     strategies.Road
}

// open opens a shop with a show of so many seats. Shows are made by another
// store, as the strategies only sell.
func open(t *testing.T, s strategies.Strategy, redis string, seats int) *shop {
	t.Helper()
	db := pgtest.New(t)
	sh := &shop{strategy: s, all: db.Pool("")}
	if err := strategies.Prepare(t.Context(), sh.all); err != nil {
		t.Fatal(err)
	}
	sh.show = fixture.Show(t, fixture.On(t, db), fixture.Options{Seats: seats})
	var err error
	sh.road, err = s.Open(t.Context(), strategies.Config{Pool: db.URL(store.RoleLane), Redis: redis, Connections: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sh.road.Close)
	sh.Store = fixture.On(t, db, func(c *store.Config) { c.Road = sh.road })
	return sh
}

// each runs a test with every strategy, and with Redis for those that need one.
func each(t *testing.T, test func(t *testing.T, s strategies.Strategy, redis string)) {
	redis, stop, err := strategies.StartRedis(t.Context(), t.TempDir())
	if err != nil && !errors.Is(err, strategies.ErrNoRedis) {
		t.Fatal(err)
	}
	if stop != nil {
		t.Cleanup(stop) // after the strategies, which are parallel below
	}
	for _, s := range strategies.All {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			if s.Redis && redis == "" {
				t.Skip(strategies.ErrNoRedis)
			}
			test(t, s, redis)
		})
	}
}

func customer(n int) boxoffice.Actor {
	id := fmt.Sprintf("customer-%d", n)
	return boxoffice.Actor{CustomerID: id, Name: id}
}

// place wants seats by their place in the plan.
func (s *shop) place(ctx context.Context, who boxoffice.Actor, key boxoffice.IdempotencyKey, seats ...int) (*store.ReservationView, bool, error) {
	req := store.PlaceRequest{ShowID: s.show.ID, CustomerID: who.CustomerID}
	for _, i := range seats {
		req.Seats = append(req.Seats, store.SeatRef{ID: s.show.Seats[i].ID})
	}
	return s.PlaceReservation(ctx, who, &key, req)
}

func (s *shop) audit(t *testing.T) {
	t.Helper()
	broken, err := strategies.Audit(t.Context(), s.all, s.strategy.Without...)
	if err != nil || broken != nil {
		t.Errorf("broken: %v, %v", broken, err)
	}
}

func (s *shop) count(t *testing.T, sql string, args ...any) (n int) {
	t.Helper()
	if err := s.all.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestEveryStrategySells(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, strategy strategies.Strategy, redis string) {
		s := open(t, strategy, redis, 10)
		ctx := t.Context()
		ann, ben := customer(1), customer(2)
		key := fixture.Key()

		hold, replayed, err := s.place(ctx, ann, key, 3, 2)
		if err != nil || replayed || hold.Places != 2 || hold.TotalMinor != 2*fixture.FrontPrice || hold.Status != boxoffice.ReservationActive {
			t.Fatalf("%+v %v %v", hold, replayed, err)
		}
		if n := s.count(t, `select count(*) from river_job where kind = $1 and queue = 'expiry' and state = 'scheduled' and scheduled_at = $2`,
			jobs.ExpireReservationsArgs{}.Kind(), hold.ExpiresAt); n != 1 {
			t.Errorf("%d jobs at the hold's end", n)
		}

		again, replayed, err := s.place(ctx, ann, key, 3, 2)
		if err != nil || !replayed || again.ID != hold.ID || again.ShowVersion != hold.ShowVersion || !again.ExpiresAt.Equal(hold.ExpiresAt) ||
			!slices.Equal(again.Seats, hold.Seats) {
			t.Errorf("the same key: %v %v\n%+v\n%+v", replayed, err, again, hold)
		}
		other := key
		other.Fingerprint[0]++
		if _, _, err := s.place(ctx, ann, other, 3, 2); boxoffice.CodeOf(err) != boxoffice.CodeKeyReused {
			t.Errorf("the key for another request: %v", err)
		}

		_, _, err = s.place(ctx, ben, fixture.Key(), 1, 2, 3)
		var refusal *boxoffice.Error
		if !errors.As(err, &refusal) || refusal.Code != boxoffice.CodeSeatAlreadyReserved ||
			!slices.Equal(refusal.Facts.UnavailableSeatIDs, []uuid.UUID{s.show.Seats[2].ID, s.show.Seats[3].ID}) && strategy.Name != "naive" {
			t.Errorf("taken seats: %v", err)
		}
		if n := s.count(t, `select (select count(*) from reservations) + (select count(*) from idempotency_keys where show_id = $1 and receipt like '%"h":%')`,
			s.show.ID); n != 2 {
			t.Errorf("a refusal wrote something: %d", n)
		}
		if _, _, err := s.place(ctx, ben, fixture.Key(), 1); err != nil {
			t.Errorf("a seat that a refused request wanted, too: %v", err)
		}

		longer, _, err := s.ExtendReservation(ctx, ann, new(fixture.Key()), hold.ID)
		if err != nil || !longer.ExpiresAt.After(hold.ExpiresAt) {
			t.Errorf("extend: %+v %v", longer, err)
		}
		if _, _, err := s.ReleaseReservation(ctx, ben, new(fixture.Key()), hold.ID); boxoffice.CodeOf(err) != boxoffice.CodeNotFound {
			t.Errorf("somebody else's: %v", err)
		}
		release := fixture.Key()
		version, _, err := s.ReleaseReservation(ctx, ann, &release, hold.ID)
		if err != nil {
			t.Fatal(err)
		}
		if again, replayed, err := s.ReleaseReservation(ctx, ann, &release, hold.ID); err != nil || !replayed || again != version {
			t.Errorf("the same release: %v %v, version %d, not %d", replayed, err, again, version)
		}
		if _, _, err := s.ExtendReservation(ctx, ann, new(fixture.Key()), hold.ID); boxoffice.CodeOf(err) != boxoffice.CodeReservationNotActive {
			t.Errorf("extend what was released: %v", err)
		}
		hold, _, err = s.place(ctx, ben, fixture.Key(), 2, 3)
		if err != nil {
			t.Fatalf("seats that were given back: %v", err)
		}

		done, err := s.ConfirmReservation(ctx, fixture.Staff, new(fixture.Key()), hold.ID, store.ConfirmRequest{Method: boxoffice.MethodComp})
		if err != nil {
			t.Fatal(err)
		}
		booking, err := s.ReadBooking(ctx, uuid.Nil, ben.CustomerID, done.BookingID)
		if err != nil || booking.Status != boxoffice.BookingConfirmed || len(booking.Tickets) != 2 {
			t.Errorf("%+v %v", booking, err)
		}
		if _, _, err := s.place(ctx, ann, fixture.Key(), 3); boxoffice.CodeOf(err) != boxoffice.CodeSeatAlreadyReserved {
			t.Errorf("a booked seat: %v", err)
		}
		s.audit(t)
	})
}

// What a strategy writes is to the column what the lanes write, but for ids,
// times, and the numbers of changes.
func TestEveryStrategyWritesTheRowsOfTheLanes(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	scheduler, err := jobs.NewScheduler(slog.New(slog.DiscardHandler), false)
	if err != nil {
		t.Fatal(err)
	}
	lanes := &shop{all: db.Pool(""), Store: fixture.On(t, db, func(c *store.Config) { c.Jobs = scheduler })}
	lanes.show = fixture.Show(t, lanes.Store, fixture.Options{Seats: 10})
	want := lanes.history(t)
	each(t, func(t *testing.T, strategy strategies.Strategy, redis string) {
		s := open(t, strategy, redis, 10)
		got := s.history(t)
		for table, rows := range want {
			if !slices.Equal(got[table], rows) {
				t.Errorf("%s:\n%s\nand by the lanes:\n%s", table, strings.Join(got[table], "\n"), strings.Join(rows, "\n"))
			}
		}
	})
}

// history sells a little and returns the rows that came of it, by table.
func (s *shop) history(t *testing.T) map[string][]string {
	t.Helper()
	var holds []uuid.UUID
	for i, seats := range [][]int{{4, 3}, {0}, {9, 8, 7}, {6}} {
		hold, _, err := s.place(t.Context(), customer(i), fixture.Key(), seats...)
		if err != nil {
			t.Fatal(err)
		}
		holds = append(holds, hold.ID)
	}
	if _, _, err := s.ExtendReservation(t.Context(), customer(0), new(fixture.Key()), holds[0]); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.ReleaseReservation(t.Context(), customer(1), new(fixture.Key()), holds[1]); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ConfirmReservation(t.Context(), fixture.Staff, new(fixture.Key()), holds[2], store.ConfirmRequest{Method: boxoffice.MethodComp}); err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for table, order := range map[string]string{
		"reservations": "reservation_id", "show_seats": "seat_no", "changes": "version, n", "bookings": "booking_id", "tickets": "n",
		"idempotency_keys": "created_at", "river_job": "id",
	} {
		where := "true"
		switch table {
		case "changes":
			where = "type not like 'show.%'"
		case "idempotency_keys":
			where = "receipt like '{\"at\"%' and created_at >= (select min(created_at) from reservations)"
		case "river_job":
			where = "kind = 'reservations_expire'"
		}
		list, err := s.all.Query(t.Context(), `
			select regexp_replace(regexp_replace(to_jsonb(r)::text,
			         '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', 'uuid', 'g'),
			         '\d{4}-\d\d-\d\d(T|\s)\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)', 'time', 'g')
			  from (select * from `+table+` where `+where+` order by `+order+`) r`)
		if err != nil {
			t.Fatal(err)
		}
		if rows[table], err = pgx.CollectRows(list, pgx.RowTo[string]); err != nil {
			t.Fatal(err)
		}
		for i, row := range rows[table] {
			rows[table][i] = own.ReplaceAllString(row, `"$1": 0`)
		}
		if len(rows[table]) == 0 {
			t.Errorf("no rows in %s", table)
		}
	}
	return rows
}

// own are columns that tell nothing: random, or numbers of a sequence.
var own = regexp.MustCompile(`"(xid|id|fingerprint|reference)": ("[^"]*"|\d+)`)

// A hold that is over makes way for the next, and whatever is left is closed by
// the job.
func TestHoldsThatAreOverMakeWay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, strategy strategies.Strategy, redis string) {
		s := open(t, strategy, redis, 10)
		short := func(who boxoffice.Actor, seats ...int) *store.ReservationView {
			req := store.PlaceRequest{ShowID: s.show.ID, CustomerID: who.CustomerID, TTLSeconds: 1}
			for _, i := range seats {
				req.Seats = append(req.Seats, store.SeatRef{ID: s.show.Seats[i].ID})
			}
			hold, _, err := s.PlaceReservation(t.Context(), who, new(fixture.Key()), req)
			if err != nil {
				t.Fatal(err)
			}
			return hold
		}
		short(customer(1), 0, 1)
		short(customer(2), 2)
		deadline := time.Now().Add(20 * time.Second)
		for {
			_, _, err := s.place(t.Context(), customer(3), fixture.Key(), 1)
			if err == nil {
				break
			}
			if boxoffice.CodeOf(err) != boxoffice.CodeSeatAlreadyReserved || time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
		if n := s.count(t, `select count(*) from reservations where status = 'expired'`); n != 1 {
			t.Errorf("%d were closed", n)
		}
		for closed := 0; closed == 0; {
			var err error
			if closed, err = s.ExpireReservations(t.Context(), s.show.ID, boxoffice.ReasonExpired); err != nil || time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
		if _, _, err := s.place(t.Context(), customer(4), fixture.Key(), 0, 2); err != nil {
			t.Error(err)
		}
		s.audit(t)
	})
}

// rush has 50 callers want one or two of 20 seats, again and again, until the
// show is full, and gives back some on the way.
func (s *shop) rush(t *testing.T) {
	const callers, attempts = 50, 30
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			who := customer(i)
			for n := range attempts {
				at := rand.IntN(len(s.show.Seats) - 1)
				hold, _, err := s.place(t.Context(), who, fixture.Key(), []int{at, at + 1}[:1+n%2]...)
				if err == nil && n < attempts/2 {
					_, _, err = s.ReleaseReservation(t.Context(), who, new(fixture.Key()), hold.ID)
				}
				if err != nil && boxoffice.CodeOf(err) != boxoffice.CodeSeatAlreadyReserved {
					t.Errorf("caller %d: %v", i, err)
					return
				}
			}
		})
	}
	group.Wait()
}

func TestNoSeatIsSoldTwiceButByTheNaive(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, strategy strategies.Strategy, redis string) {
		if strategy.Name == "naive" {
			t.Skip("below")
		}
		s := open(t, strategy, redis, 20)
		s.rush(t)
		if n, err := strategies.Twice(t.Context(), s.all); err != nil || n != 0 {
			t.Errorf("%d seats were sold twice, %v", n, err)
		}
		if n := s.count(t, `select count(*) from show_seats where state = 'h'`); n < 10 {
			t.Errorf("of 20 seats %d were sold", n)
		}
		s.audit(t)
	})
}

func TestTheNaiveSellsSeatsTwice(t *testing.T) {
	t.Parallel()
	naive, err := strategies.Named("naive")
	if err != nil {
		t.Fatal(err)
	}
	for try := 1; ; try++ {
		s := open(t, naive, "", 20)
		if err := strategies.Guard(t.Context(), s.all, false); err != nil {
			t.Fatal(err)
		}
		s.rush(t)
		if err := strategies.Guard(t.Context(), s.all, true); err != nil {
			t.Fatal(err)
		}
		twice, err := strategies.Twice(t.Context(), s.all)
		if err != nil {
			t.Fatal(err)
		}
		if twice == 0 {
			if try == 5 {
				t.Fatal("it never did, and should have")
			}
			continue
		}
		broken, err := strategies.Audit(t.Context(), s.all, naive.Without...)
		if err != nil || !slices.Contains(broken, "no_seat_has_two_owners") {
			t.Errorf("nobody saw it: %v, %v", broken, err)
		}
		return
	}
}

// A client that loses patience sends the same request again, while the first is
// still under way.
func TestOneKeyIsOneHoldHoweverOftenItIsSent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, strategy strategies.Strategy, redis string) {
		s := open(t, strategy, redis, 20)
		if strategy.Name == "naive" { // the guard would be first to refuse
			if err := strategies.Guard(t.Context(), s.all, false); err != nil {
				t.Fatal(err)
			}
		}
		for range 10 {
			key, at := fixture.Key(), rand.IntN(19)
			var group sync.WaitGroup
			for range 8 {
				group.Go(func() {
					_, _, err := s.place(t.Context(), customer(0), key, at, at+1)
					if code := boxoffice.CodeOf(err); code != "" && code != boxoffice.CodeKeyInUse && code != boxoffice.CodeSeatAlreadyReserved {
						t.Error(err)
					}
				})
			}
			group.Wait()
			hold, replayed, err := s.place(t.Context(), customer(0), key, at, at+1)
			if boxoffice.CodeOf(err) == boxoffice.CodeSeatAlreadyReserved {
				continue // one of an earlier round has the seats
			}
			if err != nil || !replayed {
				t.Fatalf("once more: %v %v", replayed, err)
			}
			if n := s.count(t, `select count(*) from reservations where seat_nos && (select seat_nos from reservations where reservation_id = $1)`, hold.ID); n != 1 {
				t.Errorf("%d holds of one key", n)
			}
		}
		s.audit(t)
	})
}

// With the schema's guard on, even the naive cannot.
func TestTheSchemaRefusesASecondOwner(t *testing.T) {
	t.Parallel()
	naive, err := strategies.Named("naive")
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, naive, "", 2)
	hold, _, err := s.place(t.Context(), customer(1), fixture.Key(), 0)
	if err != nil {
		t.Fatal(err)
	}
	give := func() error {
		return pgx.BeginFunc(t.Context(), s.all, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), `update show_seats set reservation_id = $1 where reservation_id = $2`, uuid.New(), hold.ID)
			return err
		})
	}
	if give() == nil {
		t.Error("it did not")
	}
	if err := strategies.Guard(t.Context(), s.all, false); err != nil {
		t.Fatal(err)
	}
	if err := give(); err != nil {
		t.Errorf("with the guard off: %v", err)
	}
}

// What a crashed process has left, or a lost Redis has not: Postgres decides.
func TestPostgresDecidesWhenRedisForgets(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"setnx", "lua"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis, stop, err := strategies.StartRedis(t.Context(), t.TempDir())
			if errors.Is(err, strategies.ErrNoRedis) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(stop)
			strategy, err := strategies.Named(name)
			if err != nil {
				t.Fatal(err)
			}
			s := open(t, strategy, redis, 4)
			key := fixture.Key()
			hold, _, err := s.place(t.Context(), customer(1), key, 0, 1)
			if err != nil {
				t.Fatal(err)
			}
			longer, _, err := s.ExtendReservation(t.Context(), customer(1), new(fixture.Key()), hold.ID)
			if err != nil {
				t.Fatal(err)
			}
			ends, err := strategies.Ends(t.Context(), redis)
			if err != nil || len(ends) != 2 || slices.Max(ends) != slices.Min(ends) || ends[0] != longer.ExpiresAt.UnixMilli() {
				t.Errorf("Redis did not follow to %v: %v %v", longer.ExpiresAt.UnixMilli(), ends, err)
			}
			if err := strategies.Forget(t.Context(), redis); err != nil {
				t.Fatal(err)
			}
			if again, replayed, err := s.place(t.Context(), customer(1), key, 0, 1); err != nil || !replayed || again.ID != hold.ID {
				t.Errorf("the same key: %v %v", replayed, err)
			}
			if _, _, err := s.place(t.Context(), customer(2), fixture.Key(), 1, 2); boxoffice.CodeOf(err) != boxoffice.CodeSeatAlreadyReserved {
				t.Errorf("a seat that only Postgres knows to be held: %v", err)
			}
			if _, _, err := s.place(t.Context(), customer(2), fixture.Key(), 2); err != nil {
				t.Errorf("a seat that was given back to Redis: %v", err)
			}
			s.audit(t)
		})
	}
}
