package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/lanes"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/sql/ops"
)

// rush is a database on which several instances sell.
type rush struct {
	stores   []*store.Store
	all, ops *pgxpool.Pool // as superuser, and as people on call
}

func newRush(t *testing.T, instances int) *rush {
	t.Helper()
	db := pgtest.New(t)
	r := &rush{all: db.Pool(""), ops: db.Pool(store.RoleOps)}
	for range instances {
		r.stores = append(r.stores, fixture.On(t, db, func(c *store.Config) {
			c.Lanes.Timeout = 5 * time.Second // a busy machine is not what is tested
		}))
	}
	return r
}

// proven checks every rule that must hold at every moment.
func (r *rush) proven(t *testing.T) {
	t.Helper()
	broken, err := ops.Prove(t.Context(), r.ops)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range broken {
		t.Errorf("%s: %v %v", b.Name, b.Columns, b.Rows[:min(5, len(b.Rows))])
	}
}

// held is how many units of the show's only area are held.
func (r *rush) held(t *testing.T, show uuid.UUID) (n int) {
	t.Helper()
	if err := r.all.QueryRow(t.Context(), `select held from show_areas where show_id = $1`, show).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// attempts are what became of requests that were sent at the same moment.
type attempts struct {
	wants []store.PlaceRequest
	holds []*store.ReservationView
	errs  []error
}

// atOnce sends the requests at the same moment, each for a customer of its
// own, by turns to each instance.
func (r *rush) atOnce(t *testing.T, wants []store.PlaceRequest) attempts {
	a := attempts{wants, make([]*store.ReservationView, len(wants)), make([]error, len(wants))}
	var group sync.WaitGroup
	gate := make(chan struct{})
	for i, want := range wants {
		want.CustomerID = fmt.Sprintf("customer-%d", i)
		actor := boxoffice.Actor{CustomerID: want.CustomerID, Name: want.CustomerID}
		group.Go(func() {
			<-gate
			a.holds[i], _, a.errs[i] = r.stores[i%len(r.stores)].PlaceReservation(t.Context(), actor, new(fixture.Key()), want)
		})
	}
	close(gate)
	group.Wait()
	return a
}

// won are the requests that got what they wanted. Any error but the expected
// refusals fails the test.
func (a *attempts) won(t *testing.T, refusals ...boxoffice.Code) (winners []int) {
	t.Helper()
	for i, err := range a.errs {
		if err == nil {
			winners = append(winners, i)
		} else if !slices.Contains(refusals, boxoffice.CodeOf(err)) {
			t.Errorf("request %d: %v", i, err)
		}
	}
	return winners
}

// release gives back what the winners hold.
func (r *rush) release(t *testing.T, a attempts) {
	t.Helper()
	for i, h := range a.holds {
		if h == nil {
			continue
		}
		if _, _, err := r.stores[i%len(r.stores)].ReleaseReservation(t.Context(), boxoffice.Actor{CustomerID: h.CustomerID}, new(fixture.Key()), h.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// shortage is what a refusal said about its first area.
func shortage(err error) (a boxoffice.AreaRef) {
	var e *boxoffice.Error
	if errors.As(err, &e) && len(e.Facts.Areas) > 0 {
		a = e.Facts.Areas[0]
	}
	return a
}

func TestTwoThousandRequestsForOverlappingSeats(t *testing.T) {
	t.Parallel()
	for instances, where := range map[int]string{1: "on one instance", 2: "on two instances of one database"} {
		t.Run("Winners are disjoint and every loser lost to a winner "+where, func(t *testing.T) {
			t.Parallel()
			r := newRush(t, instances)
			show := fixture.Show(t, r.stores[0], fixture.Options{Seats: 400})
			const requests = 2_000
			wants := make([]store.PlaceRequest, requests)
			for i := range wants {
				wants[i].ShowID = show.ID
				for _, at := range rand.Perm(len(show.Seats))[:1+rand.IntN(5)] {
					wants[i].Seats = append(wants[i].Seats, store.SeatRef{ID: show.Seats[at].ID})
				}
			}
			a := r.atOnce(t, wants)
			winners := a.won(t, boxoffice.CodeSeatAlreadyReserved)
			owner := map[uuid.UUID]int{}
			for _, i := range winners {
				if len(a.holds[i].Seats) != len(wants[i].Seats) {
					t.Errorf("request %d got %d of its %d seats", i, len(a.holds[i].Seats), len(wants[i].Seats))
				}
				for _, seat := range a.holds[i].Seats {
					if other, twice := owner[seat.SeatID]; twice {
						t.Errorf("seat %s was sold to requests %d and %d", seat.Label, other, i)
					}
					owner[seat.SeatID] = i
				}
			}
			for i, err := range a.errs {
				if err == nil {
					continue
				}
				var refusal *boxoffice.Error
				if !errors.As(err, &refusal) || len(refusal.Facts.UnavailableSeats) == 0 {
					t.Errorf("request %d lost and is not told to what: %v", i, err)
					continue
				}
				for _, seat := range refusal.Facts.UnavailableSeats {
					if _, taken := owner[seat.SeatID]; !taken {
						t.Errorf("request %d lost for seat %s, which nobody won", i, seat.Label)
					}
					if !slices.ContainsFunc(wants[i].Seats, func(w store.SeatRef) bool { return w.ID == seat.SeatID }) {
						t.Errorf("request %d lost for seat %s, which it did not want", i, seat.Label)
					}
				}
			}
			r.proven(t)
			t.Logf("%d of %d won %d seats", len(winners), requests, len(owner))
		})
	}
}

// TestFiftyRequestsWithOneKeyMakeOneReservation is a client that retries
// without waiting for answers, through a load balancer.
func TestFiftyRequestsWithOneKeyMakeOneReservation(t *testing.T) {
	t.Parallel()
	r := newRush(t, 2)
	show := fixture.Show(t, r.stores[0], fixture.Options{})
	key := fixture.Key()
	ann := boxoffice.Actor{CustomerID: "ann", Name: "ann"}
	want := store.PlaceRequest{ShowID: show.ID, CustomerID: "ann", Seats: []store.SeatRef{{ID: show.Seats[0].ID}}}
	var group sync.WaitGroup
	gate := make(chan struct{})
	answers := make([]*store.ReservationView, 50)
	replays := make([]bool, len(answers))
	for i := range answers {
		s := r.stores[i%2]
		group.Go(func() {
			<-gate
			for {
				var err error
				answers[i], replays[i], err = s.PlaceReservation(t.Context(), ann, &key, want)
				switch boxoffice.CodeOf(err) {
				case boxoffice.CodeKeyInUse:
					continue // as a client would, when told to
				case "":
				default:
					t.Errorf("request %d: %v", i, err)
				}
				return
			}
		})
	}
	close(gate)
	group.Wait()
	firsts := 0
	for i, a := range answers {
		if !replays[i] {
			firsts++
		}
		if a == nil || a.ID != answers[0].ID || !a.ExpiresAt.Equal(answers[0].ExpiresAt) || a.ShowVersion != answers[0].ShowVersion {
			t.Errorf("answer %d is another: %+v", i, a)
		}
	}
	var rows int
	if err := r.all.QueryRow(t.Context(), `select count(*) from reservations`).Scan(&rows); err != nil || rows != 1 || firsts != 1 {
		t.Errorf("%d reservations, %d first answers, %v", rows, firsts, err)
	}
	r.proven(t)
}

// TestReportedOversales are failures that people reported of other systems.
// The numbers are those of the collection of cases that the project began with.
func TestReportedOversales(t *testing.T) {
	t.Parallel()
	r := newRush(t, 2)
	floor := func(t *testing.T, capacity int) (fixture.Made, func(quantities ...int) store.PlaceRequest) {
		show := fixture.Show(t, r.stores[0], fixture.Options{Seats: 10, Floor: capacity, Edit: func(n *store.NewShow) { n.MaxPlacesPerReservation = 20 }})
		return show, func(quantities ...int) store.PlaceRequest {
			want := store.PlaceRequest{ShowID: show.ID}
			for _, q := range quantities {
				want.Areas = append(want.Areas, store.AreaRef{ID: show.Areas[0].ID, Quantity: q})
			}
			return want
		}
	}
	seats := func(show fixture.Made, at ...int) store.PlaceRequest {
		want := store.PlaceRequest{ShowID: show.ID}
		for _, i := range at {
			want.Seats = append(want.Seats, store.SeatRef{Label: show.Seats[i].Label})
		}
		return want
	}

	t.Run("C01: of those who want the last two places at once, exactly one gets them", func(t *testing.T) {
		t.Parallel()
		show, places := floor(t, 2)
		for round := range 200 {
			clients := 2
			if round == 199 {
				clients = 50
			}
			a := r.atOnce(t, slices.Repeat([]store.PlaceRequest{places(2)}, clients))
			if winners := a.won(t, boxoffice.CodeInsufficient); len(winners) != 1 || r.held(t, show.ID) != 2 {
				t.Fatalf("round %d: %d winners, %d held", round, len(winners), r.held(t, show.ID))
			}
			for _, err := range a.errs {
				if err != nil && shortage(err) != (boxoffice.AreaRef{AreaID: show.Areas[0].ID, Requested: 2, Available: 0}) {
					t.Fatalf("round %d: %+v", round, shortage(err))
				}
			}
			r.release(t, a)
		}
		r.proven(t)
	})

	t.Run("C05: lines for the same places are added up before they are checked", func(t *testing.T) {
		t.Parallel()
		show, places := floor(t, 10)
		a := r.atOnce(t, []store.PlaceRequest{places(6, 6)})
		if len(a.won(t, boxoffice.CodeInsufficient)) != 0 || shortage(a.errs[0]) != (boxoffice.AreaRef{AreaID: show.Areas[0].ID, Requested: 12, Available: 10}) {
			t.Errorf("%v %+v", a.errs[0], shortage(a.errs[0]))
		}
		a = r.atOnce(t, []store.PlaceRequest{seats(show, 0, 1, 0)})
		if len(a.won(t, boxoffice.CodeValidation)) != 0 || violated(a.errs[0]) != "seats[2]" {
			t.Errorf("the same seat twice: %v", a.errs[0])
		}
		if n := r.held(t, show.ID); n != 0 {
			t.Errorf("%d held", n)
		}
		r.proven(t)
	})

	t.Run("C06: the counter is that of the living holds at every step", func(t *testing.T) {
		t.Parallel()
		show, places := floor(t, 1)
		for range 20 {
			a := r.atOnce(t, []store.PlaceRequest{places(1), places(1)})
			if winners := a.won(t, boxoffice.CodeInsufficient); len(winners) != 1 || r.held(t, show.ID) != 1 {
				t.Fatalf("%d winners, %d held", len(winners), r.held(t, show.ID))
			}
			r.release(t, a)
			r.release(t, a) // again, as a nervous client does
			if n := r.held(t, show.ID); n != 0 {
				t.Fatalf("%d held after the release", n)
			}
		}
		r.proven(t)
	})

	t.Run("C08: two holds of one place each hold two", func(t *testing.T) {
		t.Parallel()
		show, places := floor(t, 100)
		for round := 1; round <= 20; round++ {
			a := r.atOnce(t, []store.PlaceRequest{places(1), places(1)})
			if winners := a.won(t); len(winners) != 2 || r.held(t, show.ID) != 2*round {
				t.Fatalf("round %d: %d winners, %d held", round, len(winners), r.held(t, show.ID))
			}
		}
		r.proven(t)
	})

	t.Run("C09: eleven lines of one place each do not pass a pool of ten", func(t *testing.T) {
		t.Parallel()
		show, places := floor(t, 10)
		a := r.atOnce(t, []store.PlaceRequest{places(slices.Repeat([]int{1}, 11)...)})
		if len(a.won(t, boxoffice.CodeInsufficient)) != 0 || shortage(a.errs[0]).Requested != 11 || r.held(t, show.ID) != 0 {
			t.Errorf("%v, %d held", a.errs[0], r.held(t, show.ID))
		}
		r.proven(t)
	})

	t.Run("C12: the same two seats in opposite order neither deadlock nor defeat each other", func(t *testing.T) {
		t.Parallel()
		show, _ := floor(t, 1)
		for round := range 100 {
			a := r.atOnce(t, []store.PlaceRequest{seats(show, 0, 1), seats(show, 1, 0)})
			if winners := a.won(t, boxoffice.CodeSeatAlreadyReserved); len(winners) != 1 {
				t.Fatalf("round %d: %d winners", round, len(winners))
			}
			r.release(t, a)
		}
		r.proven(t)
	})

	t.Run("C14: of two carts of three for five places one is told that two are left", func(t *testing.T) {
		t.Parallel()
		show, places := floor(t, 5)
		for round := range 20 {
			a := r.atOnce(t, []store.PlaceRequest{places(3), places(3)})
			winners := a.won(t, boxoffice.CodeInsufficient)
			if len(winners) != 1 || shortage(a.errs[1-winners[0]]) != (boxoffice.AreaRef{AreaID: show.Areas[0].ID, Requested: 3, Available: 2}) {
				t.Fatalf("round %d: winners %v, %v", round, winners, a.errs)
			}
			r.release(t, a)
		}
		r.proven(t)
	})

	t.Run("C15: places of holds that are over are free though nobody swept", func(t *testing.T) {
		t.Parallel()
		show, places := floor(t, 10)
		short := places(1)
		short.TTLSeconds = 1
		a := r.atOnce(t, slices.Repeat([]store.PlaceRequest{short}, 10))
		if n := len(a.won(t)); n != 10 {
			t.Fatalf("%d winners", n)
		}
		if late := r.atOnce(t, []store.PlaceRequest{places(1)}); len(late.won(t, boxoffice.CodeInsufficient)) != 0 {
			t.Fatal("an eleventh place was sold")
		}
		last := slices.MaxFunc(a.holds, func(x, y *store.ReservationView) int { return x.ExpiresAt.Compare(y.ExpiresAt) })
		if _, err := r.all.Exec(t.Context(), `select pg_sleep(extract(epoch from $1::timestamptz - clock_timestamp()))`, last.ExpiresAt); err != nil {
			t.Fatal(err)
		}
		if n := r.held(t, show.ID); n != 10 {
			t.Fatalf("somebody swept: %d held", n)
		}
		if next := r.atOnce(t, []store.PlaceRequest{places(1)}); len(next.won(t)) != 1 {
			t.Error("the place was not free")
		}
		all := r.atOnce(t, []store.PlaceRequest{places(9)})
		if len(all.won(t)) != 1 || r.held(t, show.ID) != 10 {
			t.Errorf("the others were not free: %v, %d held", all.errs, r.held(t, show.ID))
		}
		r.proven(t)
	})
}

// TestTwoInstancesWithManyShowsRefuseNobody is an ordinary evening: each
// instance always finds some of its shows locked by the other, for moments, and
// more of them than it has connections to wait with.
func TestTwoInstancesWithManyShowsRefuseNobody(t *testing.T) {
	t.Parallel()
	r := newRush(t, 2)
	shows := make([]fixture.Made, 40)
	for i := range shows {
		shows[i] = fixture.Show(t, r.stores[0], fixture.Options{Seats: 20})
	}
	for round := range 5 {
		var wants []store.PlaceRequest
		for i := range 4 * len(shows) {
			show := shows[i/2%len(shows)]
			seat := show.Seats[round*4+i/(2*len(shows))*2+i%2]
			wants = append(wants, store.PlaceRequest{ShowID: show.ID, Seats: []store.SeatRef{{ID: seat.ID}}})
		}
		a := r.atOnce(t, wants)
		a.won(t)
	}
	r.proven(t)
}

// entering is a context that tells when a command has queued: its caller then
// waits for what becomes of it.
type entering struct {
	context.Context
	queued chan<- struct{}
}

func (e entering) Done() <-chan struct{} {
	e.queued <- struct{}{}
	return e.Context.Done()
}

// worked counts the commands that lanes did, and waiters.
type worked struct{ lane, waiter atomic.Int32 }

// Batch implements [lanes.Observer].
func (w *worked) Batch(lane, size int, _ time.Duration, _ int, _ time.Duration) {
	if lane < 0 {
		w.waiter.Add(int32(size))
	} else {
		w.lane.Add(int32(size))
	}
}

// With most of its shows locked elsewhere, a batch waits for one of them and
// then has them all; with few, or when it has waited in vain, it does the rest
// and leaves those for later.
func TestABatchThatMissesMostOfItsShowsWaitsForThem(t *testing.T) {
	t.Parallel()
	const shows = 4
	for name, c := range map[string]struct {
		locked       int
		wait         time.Duration
		waits        bool // until what is locked elsewhere is free
		transactions int  // 0: any number
	}{
		"few are locked":             {locked: 1, wait: time.Minute, transactions: 2},
		"most are locked":            {locked: 3, wait: time.Minute, waits: true, transactions: 1},
		"most are locked for longer": {locked: 3, wait: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			setUp, pool := fixture.On(t, db), db.Pool("")
			did := &worked{}
			s, err := store.Open(t.Context(), store.Config{
				URL: db.URL(store.RoleApp), LaneURL: db.URL(store.RoleLane), Lanes: lanes.Config{Observer: did},
			})
			if err != nil {
				t.Fatal(err)
			}
			s.QueueFor(c.wait)
			s.Gather(1) // one lane
			made := make([]fixture.Made, shows)
			for i := range made {
				made[i] = fixture.Show(t, setUp, fixture.Options{Seats: 1})
			}
			slices.SortFunc(made, func(x, y fixture.Made) int { return bytes.Compare(x.ID[:], y.ID[:]) })
			elsewhere := make([]pgx.Tx, c.locked)
			for i := range elsewhere {
				elsewhere[i], err = pool.Begin(t.Context())
				if err == nil {
					_, err = elsewhere[i].Exec(t.Context(), `select pg_advisory_xact_lock(show_lock_key($1))`, made[i].ID)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			queued := make(chan struct{}, 10*shows)
			var callers sync.WaitGroup
			for _, show := range made {
				callers.Go(func() {
					out, err := s.Do(entering{t.Context(), queued}, show.ID, boxoffice.Command{Actor: fixture.Staff, Do: &boxoffice.BlockSeats{
						ID: store.NewID(), Seats: []boxoffice.SeatWant{{No: show.Seats[0].No}}, Reason: "camera",
					}})
					if err != nil || out.Err != nil {
						t.Error(err, out.Err)
					}
				})
				<-queued
			}
			ctx, stop := context.WithCancel(context.Background())
			var running sync.WaitGroup
			running.Go(func() { s.Run(ctx) })
			end := sync.OnceFunc(func() {
				stop()
				running.Wait()
				s.Close()
			})
			t.Cleanup(end)
			count := func(query string) (n int) {
				t.Helper()
				if err := pool.QueryRow(t.Context(), query).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			for deadline := time.Now().Add(time.Minute); ; {
				done := count(`select count(*) from changes where type = 'place.blocked'`)
				waits := count(`select count(*) from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`)
				if c.waits && waits > 0 || !c.waits && done == shows-c.locked {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%d were done, %d wait", done, waits)
				}
			}
			for _, tx := range slices.Backward(elsewhere) { // what it waits for is the first, and the last to be free
				if err := tx.Rollback(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			callers.Wait()
			if n := count(`select count(distinct xid) from changes where type = 'place.blocked'`); c.transactions > 0 && n != c.transactions {
				t.Errorf("%d transactions instead of %d", n, c.transactions)
			}
			end()
			if in := int(did.lane.Load()); in < shows-c.locked {
				t.Errorf("%d were done in the lane, and %d by waiters", in, did.waiter.Load())
			}
		})
	}
}

// TestRandomCommandsOnTwoInstancesKeepEveryRule mixes everything that can be
// done to the places of a show, with holds that end meanwhile, moves between
// two plans, and clients that send the same request twice at once.
func TestRandomCommandsOnTwoInstancesKeepEveryRule(t *testing.T) {
	t.Parallel()
	r := newRush(t, 2)
	seed := rand.Uint64()
	t.Log("seed", seed)
	var group sync.WaitGroup
	var mixes []*mix
	for range 2 {
		m := newMix(t, r)
		mixes = append(mixes, m)
		for client := range 8 {
			rng := rand.New(rand.NewPCG(seed, uint64(client)))
			group.Go(func() {
				for range 120 {
					m.step(t, rng)
				}
			})
		}
	}
	for range 3 {
		r.proven(t) // at every moment, not only at the end
	}
	group.Wait()
	r.proven(t)
	for _, m := range mixes {
		if m.done["place"] == 0 || m.done["change"] == 0 || m.done["extend"] == 0 || m.done["release"] == 0 || m.done["block"] == 0 ||
			m.done["unblock"] == 0 || m.done["capacity"] == 0 || m.done["move"] == 0 {
			t.Error("not everything happened:", m.done)
		}
		t.Log(m.done)
	}
}

// mix is a show to which random things are done.
type mix struct {
	r     *rush
	show  fixture.Made
	plans [2]uuid.UUID

	mu     sync.Mutex
	holds  []*store.ReservationView
	blocks []uuid.UUID
	done   map[string]int // what succeeded
}

func newMix(t *testing.T, r *rush) *mix {
	m := &mix{r: r, done: map[string]int{}}
	m.show = fixture.Show(t, r.stores[0], fixture.Options{Seats: 44, Floor: 20, Edit: func(n *store.NewShow) { n.MaxPlacesPerCustomer = 25 }})
	// The other plan lacks four seats and has fewer places on the floor.
	m.plans = [2]uuid.UUID{m.show.PlanID, fixture.Plan(t, r.stores[0], m.show.HallID, fixture.Options{Seats: 40, Floor: 18})}
	return m
}

// step does one random thing, on a random instance.
func (m *mix) step(t *testing.T, rng *rand.Rand) {
	ctx, s := t.Context(), m.r.stores[rng.IntN(2)]
	customer := fmt.Sprintf("customer-%d", rng.IntN(6))
	actor, key := boxoffice.Actor{CustomerID: customer, Name: customer}, fixture.Key()
	org := boxoffice.DefaultOrganisationID
	seats := func() (refs []store.SeatRef) {
		at := rng.IntN(len(m.show.Seats) - 3)
		for _, seat := range m.show.Seats[at : at+1+rng.IntN(3)] {
			refs = append(refs, store.SeatRef{ID: seat.ID})
		}
		return refs
	}
	floor := func() []store.AreaRef {
		return []store.AreaRef{{ID: m.show.Areas[0].ID, Quantity: 1 + rng.IntN(2), AllowPartial: rng.IntN(2) == 0}}
	}
	m.mu.Lock()
	hold := &store.ReservationView{ID: uuid.New()}
	if len(m.holds) > 0 {
		hold = m.holds[len(m.holds)-1-rng.IntN(min(20, len(m.holds)))]
	}
	block := uuid.New()
	if len(m.blocks) > 0 {
		block = m.blocks[rng.IntN(len(m.blocks))]
	}
	m.mu.Unlock()
	owner := boxoffice.Actor{CustomerID: hold.CustomerID, Name: hold.CustomerID}

	var what string
	var err error
	switch n := rng.IntN(100); {
	case n < 45:
		what = "place"
		want := store.PlaceRequest{ShowID: m.show.ID, CustomerID: customer}
		if rng.IntN(3) > 0 {
			want.Seats = seats()
		}
		if rng.IntN(2) == 0 || want.Seats == nil {
			want.Areas = floor()
		}
		if rng.IntN(2) == 0 {
			want.TTLSeconds = 1
		}
		if rng.IntN(8) == 0 {
			actor, want.FromBlockID = fixture.Staff, block
		}
		var v *store.ReservationView
		if v, err = m.twice(t, rng, actor, &key, want); err == nil {
			m.mu.Lock()
			m.holds = append(m.holds, v)
			m.mu.Unlock()
		}
	case n < 57:
		what = "change"
		var change store.ChangeRequest
		if rng.IntN(2) == 0 {
			change.AddSeats = seats()
		} else {
			change.AddAreas = floor()
		}
		if len(hold.Seats) > 0 && rng.IntN(2) == 0 {
			change.RemoveSeats = []store.SeatRef{{ID: hold.Seats[0].SeatID}}
		}
		_, _, err = s.ChangeReservation(ctx, owner, &key, hold.ID, change)
	case n < 64:
		what = "extend"
		_, _, err = s.ExtendReservation(ctx, owner, &key, hold.ID)
	case n < 80:
		what = "release"
		_, _, err = s.ReleaseReservation(ctx, owner, &key, hold.ID)
	case n < 83:
		what = "expire"
		_, err = s.ExpireReservations(ctx, m.show.ID, boxoffice.ReasonExpired)
	case n < 87:
		what = "block"
		var b store.ChangedBlock
		if b, err = s.BlockSeats(ctx, fixture.Staff, &key, org, m.show.ID, seats(), "a camera"); err == nil {
			m.mu.Lock()
			m.blocks = append(m.blocks, b.BlockID)
			m.mu.Unlock()
		}
	case n < 92:
		what = "unblock"
		_, err = s.UnblockSeats(ctx, fixture.Staff, &key, org, m.show.ID, block, nil)
	case n < 96:
		what = "capacity"
		_, err = s.SetAreaCapacity(ctx, fixture.Staff, &key, org, m.show.ID, m.show.Areas[0].ID, 12+rng.IntN(12))
	default:
		what = "move"
		amend := store.ShowAmendment{PlanID: &m.plans[rng.IntN(2)]}
		_, err = s.AmendShow(ctx, fixture.Staff, &key, org, m.show.ID, amend)
	}
	switch code := boxoffice.CodeOf(err); code {
	case "":
		m.mu.Lock()
		m.done[what]++
		m.mu.Unlock()
	case boxoffice.CodeInternal, boxoffice.CodeUnavailable, boxoffice.CodeOverloaded, boxoffice.CodeLockTimeout,
		boxoffice.CodeKeyInUse, boxoffice.CodeKeyReused, boxoffice.CodeForbidden:
		t.Errorf("%s: %v", what, err)
	}
}

// twice places, sometimes on both instances at once with one key: there is one
// answer.
func (m *mix) twice(t *testing.T, rng *rand.Rand, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, want store.PlaceRequest) (*store.ReservationView, error) {
	var views [2]*store.ReservationView
	var errs [2]error
	var group sync.WaitGroup
	first := rng.IntN(2)
	for i := range 1 + rng.IntN(2) {
		s := m.r.stores[(first+i)%2]
		group.Go(func() {
			for {
				views[i], _, errs[i] = s.PlaceReservation(t.Context(), actor, key, want)
				if boxoffice.CodeOf(errs[i]) != boxoffice.CodeKeyInUse {
					return
				}
			}
		})
	}
	group.Wait()
	for i, v := range views {
		if v != nil && views[0] != nil && v.ID != views[0].ID {
			t.Errorf("one key, two answers: %+v %+v", v, views[0])
		}
		if v != nil {
			views[0], errs[0] = views[i], nil
		}
	}
	return views[0], errs[0]
}
