package live_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/live"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const (
	customer = "guest:reader"
	org      = "00000000-0000-7000-8000-000000000001"
)

func buyer() boxoffice.Actor { return boxoffice.Actor{CustomerID: customer, Name: customer} }

func place(t testing.TB, s *store.Store, req store.PlaceRequest) *store.ReservationView {
	t.Helper()
	req.CustomerID = customer
	r, _, err := s.PlaceReservation(t.Context(), buyer(), new(fixture.Key()), req)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t testing.TB, maps *live.Maps, show uuid.UUID) *live.View {
	t.Helper()
	v, err := maps.Read(t.Context(), show)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// player does random things to a show through a store, as buyers and a box
// office would.
type player struct {
	s     *store.Store
	show  fixture.Made
	plans []uuid.UUID // to move between; none: it does not move
	rand  *rand.Rand
	holds []uuid.UUID
	block uuid.UUID
}

func (p *player) seats() []store.SeatRef {
	var refs []store.SeatRef
	from := p.rand.IntN(len(p.show.Seats))
	for _, s := range p.show.Seats[from:min(from+1+p.rand.IntN(3), len(p.show.Seats))] {
		refs = append(refs, store.SeatRef{ID: s.ID})
	}
	return refs
}

func (p *player) areas() []store.AreaRef {
	var refs []store.AreaRef
	for _, a := range p.show.Areas {
		if p.rand.IntN(2) == 0 {
			refs = append(refs, store.AreaRef{ID: a.ID, Quantity: 1 + p.rand.IntN(3), AllowPartial: p.rand.IntN(2) == 0})
		}
	}
	return refs
}

func (p *player) hold() uuid.UUID {
	if len(p.holds) == 0 {
		return uuid.New()
	}
	return p.holds[p.rand.IntN(len(p.holds))]
}

// play does one thing. It returns the show's version if that is known, and
// what went wrong unless it is a refusal, which random commands earn.
func (p *player) play(ctx context.Context) (version int64, err error) {
	key := new(fixture.Key())
	organisation := boxoffice.DefaultOrganisationID
	var view *store.ReservationView
	var changed store.ChangedShow
	switch n := p.rand.IntN(100); {
	case n < 40:
		actor := buyer()
		req := store.PlaceRequest{ShowID: p.show.ID, CustomerID: customer, Seats: p.seats(), Areas: p.areas()}
		if p.rand.IntN(2) == 0 {
			req.TTLSeconds = 1
		}
		if p.block != uuid.Nil && p.rand.IntN(3) == 0 {
			actor, req.FromBlockID = fixture.Staff, p.block
		}
		if view, _, err = p.s.PlaceReservation(ctx, actor, key, req); err == nil {
			p.holds = append(p.holds, view.ID)
		}
	case n < 55:
		req := store.ChangeRequest{AddAreas: p.areas()}
		if p.rand.IntN(2) == 0 {
			req.AddSeats = p.seats()
		}
		if r, readErr := p.s.ReadReservation(ctx, uuid.Nil, "", p.hold()); readErr == nil {
			for _, s := range r.Seats[:min(len(r.Seats), p.rand.IntN(2))] {
				req.RemoveSeats = append(req.RemoveSeats, store.SeatRef{ID: s.SeatID})
			}
			for _, a := range r.Areas[:min(len(r.Areas), p.rand.IntN(2))] {
				req.RemoveAreas = append(req.RemoveAreas, store.AreaRef{ID: a.AreaID, Quantity: 1})
			}
			view, _, err = p.s.ChangeReservation(ctx, fixture.Staff, key, r.ID, req)
		}
	case n < 65:
		view, _, err = p.s.ExtendReservation(ctx, fixture.Staff, key, p.hold())
	case n < 80:
		version, _, err = p.s.ReleaseReservation(ctx, fixture.Staff, key, p.hold())
	case n < 85:
		_, err = p.s.ExpireReservations(ctx, p.show.ID, boxoffice.ReasonExpired)
	case n < 91:
		var b store.ChangedBlock
		if b, err = p.s.BlockSeats(ctx, fixture.Staff, key, organisation, p.show.ID, p.seats(), "camera"); err == nil {
			p.block = b.BlockID
		}
		changed = b.ChangedShow
	case n < 95:
		var b store.ChangedBlock
		b, err = p.s.UnblockSeats(ctx, fixture.Staff, key, organisation, p.show.ID, uuid.Nil, p.seats())
		changed = b.ChangedShow
	case n < 97 && len(p.show.Areas) > 0:
		changed, err = p.s.SetAreaCapacity(ctx, fixture.Staff, key, organisation, p.show.ID, p.show.Areas[0].ID, 20+p.rand.IntN(20))
	case n < 98 && len(p.plans) > 0:
		changed, err = p.s.AmendShow(ctx, fixture.Staff, key, organisation, p.show.ID, store.ShowAmendment{PlanID: &p.plans[p.rand.IntN(len(p.plans))]})
	default:
		for _, verb := range []boxoffice.SetShowStatus{{Verb: boxoffice.PauseShow}, {Verb: boxoffice.ResumeShow}} {
			changed, err = p.s.SetShowStatus(ctx, fixture.Staff, new(fixture.Key()), organisation, p.show.ID, verb)
		}
	}
	var refusal *boxoffice.Error
	if errors.As(err, &refusal) && refusal.Code != boxoffice.CodeInternal && refusal.Code != boxoffice.CodeUnavailable {
		return 0, nil
	}
	if view != nil {
		version = view.ShowVersion
	}
	return max(version, changed.Version), err
}

func newPlayer(s *store.Store, show fixture.Made, seed uint64) *player {
	return &player{s: s, show: show, rand: rand.New(rand.NewPCG(seed, 1))}
}

// places is a map without what differs between two readings of one version.
func places(m *live.Map) any {
	return []any{m.Version, m.Definition, m.ChangedAt.UTC(), string(m.States), times(m.Ends), m.Areas, holds(m), m.Terms.Plan.ID}
}

func times(list []time.Time) []int64 {
	micros := make([]int64, len(list))
	for i, t := range list {
		if !t.IsZero() {
			micros[i] = t.UnixMicro()
		}
	}
	return micros
}

func holds(m *live.Map) map[uuid.UUID]map[int32][2]int64 {
	out := map[uuid.UUID]map[int32][2]int64{}
	for id, list := range m.Holds {
		out[id] = map[int32][2]int64{}
		for _, h := range list {
			out[id][h.AreaNo] = [2]int64{int64(h.Units), h.End.UnixMicro()}
		}
	}
	return out
}

func TestFollowingTheLogEqualsReadingEverything(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	show := fixture.Show(t, s, fixture.Options{Seats: 24, Floor: 30})
	larger := fixture.Plan(t, s, show.HallID, fixture.Options{Seats: 27, Floor: 30})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	p := newPlayer(s, show, seed)
	p.plans = []uuid.UUID{show.PlanID, larger}

	followed, err := s.ReadSeatMap(t.Context(), show.ID)
	if err != nil {
		t.Fatal(err)
	}
	// Until short holds have ended, and been in everybody's way, many times.
	var steps, follows int
	for began := time.Now(); time.Since(began) < 3*time.Second || steps < 300; steps++ {
		if _, err := p.play(t.Context()); err != nil {
			t.Fatal(err)
		}
		if p.rand.IntN(4) == 0 {
			continue // several commands at a time
		}
		deltas, err := s.ReadSeatMapChanges(t.Context(), []live.Question{{ShowID: show.ID, After: followed.Version}}, 1000)
		if err != nil {
			t.Fatal(err)
		}
		d := deltas[0]
		whole, err := s.ReadSeatMap(t.Context(), show.ID)
		if err != nil {
			t.Fatal(err)
		}
		if followed.Follow(d) {
			follows++
		} else {
			for _, c := range d.Changes {
				if !strings.HasPrefix(string(c.Type), "place.") && !strings.HasPrefix(string(c.Type), "reservation.") {
					followed = whole // the show itself has changed
				}
			}
		}
		if got, want := places(followed), places(whole); !reflect.DeepEqual(got, want) {
			t.Fatalf("after %d steps, from %+v:\nfollowed %v\nread     %v", steps, d.Changes, got, want)
		}
	}
	t.Logf("%d steps, %d times followed, version %d", steps, follows, followed.Version)
	if follows < steps/3 {
		t.Error("the log could hardly ever be followed")
	}
}

// Every command's answer must be in what is read afterwards, on either
// instance, whoever else reads at the same time; and nobody sees a show go
// back.
func TestReadersSeeWhatWasAcknowledgedOnTwoInstances(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	stores := []*store.Store{fixture.On(t, db), fixture.On(t, db)}
	show := fixture.Show(t, stores[0], fixture.Options{Seats: 40, Floor: 40})
	maps := []*live.Maps{live.New(stores[0], nil), live.New(stores[1], nil)}

	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var players, readers sync.WaitGroup
	for i := range 6 {
		p := newPlayer(stores[i%2], show, seed+uint64(i))
		players.Go(func() {
			for range 60 {
				version, err := p.play(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				for _, m := range maps {
					if v, err := m.Read(t.Context(), show.ID); err != nil || v.Version < version {
						t.Errorf("after version %d: %+v, %v", version, v, err)
					}
				}
			}
		})
	}
	var reads atomic.Int64
	for _, m := range maps {
		for range 4 {
			readers.Go(func() {
				last := int64(0)
				for ctx.Err() == nil {
					v, err := m.Read(t.Context(), show.ID)
					if err != nil || v.Version < last {
						t.Errorf("after version %d: %+v, %v", last, v, err)
						return
					}
					last = v.Version
					reads.Add(1)
				}
			})
		}
	}
	players.Wait()
	stop()
	readers.Wait()
	t.Logf("%d reads", reads.Load())

	whole, err := stores[0].ReadSeatMap(t.Context(), show.ID)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range maps {
		v := read(t, m, show.ID)
		// Holds may have ended between the two readings: look at both from then.
		want := whole.At(maxTime(v.Since, whole.Now))
		if v.Since.Before(want.Since) {
			v = read(t, m, show.ID)
		}
		if v.ETag() != want.ETag() || v.Statuses != want.Statuses || !reflect.DeepEqual(v.Areas, want.Areas) || v.Total != want.Total {
			t.Errorf("instance %d: %s %+v\n%s\n%s %+v\n%s", i, v.ETag(), v.Areas, v.Statuses, want.ETag(), want.Areas, want.Statuses)
		}
	}
}

// gate keeps statements that ask until it is opened, and notes how many
// questions were in each.
type gate struct {
	live.Loader
	open chan struct{}
	mu   sync.Mutex
	sent []int
}

func (g *gate) ReadSeatMapChanges(ctx context.Context, questions []live.Question, most int) ([]*live.Delta, error) {
	g.mu.Lock()
	g.sent = append(g.sent, len(questions))
	g.mu.Unlock()
	<-g.open
	return g.Loader.ReadSeatMapChanges(context.WithoutCancel(ctx), questions, most) // however long that took
}

func TestWhoReadsOtherShowsSharesAStatement(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	g := &gate{Loader: s, open: make(chan struct{})}
	maps := live.New(g, nil)
	const shows = 10
	made := make([]fixture.Made, shows)
	for i := range made {
		made[i] = fixture.Show(t, s, fixture.Options{Seats: 4})
		read(t, maps, made[i].ID) // as a whole
	}
	last := place(t, s, store.PlaceRequest{ShowID: made[shows-1].ID, Seats: []store.SeatRef{{ID: made[shows-1].Seats[1].ID}}})

	var readers sync.WaitGroup
	views := make([]*live.View, shows)
	var out int
	for i := range made {
		readers.Go(func() { views[i], _ = maps.Read(t.Context(), made[i].ID) })
		for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(time.Millisecond) {
			g.mu.Lock()
			out = len(g.sent)
			g.mu.Unlock()
			if out+maps.Waiting() == i+1 {
				break
			}
		}
	}
	close(g.open)
	readers.Wait()
	if len(g.sent) != out+1 || g.sent[out] != shows-out || out != 1 {
		t.Errorf("statements of %d questions, %d of them before the others waited", g.sent, out)
	}
	for i, v := range views {
		if v == nil || v.Terms.ShowID != made[i].ID {
			t.Errorf("reader %d got %+v", i, v)
		}
	}
	if v := views[shows-1]; v.Version != last.ShowVersion || v.Statuses != "ahaa" {
		t.Errorf("%+v", v)
	}
}

// silent is a database that answers no question while it is dumb.
type silent struct {
	*store.Store
	dumb atomic.Bool
}

func (l *silent) ReadSeatMapChanges(ctx context.Context, questions []live.Question, most int) ([]*live.Delta, error) {
	if l.dumb.Load() {
		<-ctx.Done()
		return nil, &boxoffice.Error{Code: boxoffice.CodeUnavailable, Cause: ctx.Err()}
	}
	return l.Store.ReadSeatMapChanges(ctx, questions, most)
}

// Who reads another show waits behind a question that is never answered, and
// not for ever.
func TestADatabaseThatDoesNotAnswerKeepsNoReaderOfAnyShow(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	l := &silent{Store: s}
	maps := live.New(l, nil)
	made := []fixture.Made{fixture.Show(t, s, fixture.Options{Seats: 2}), fixture.Show(t, s, fixture.Options{Seats: 2}), fixture.Show(t, s, fixture.Options{Seats: 2})}
	for _, show := range made {
		read(t, maps, show.ID)
	}
	l.dumb.Store(true)
	var readers sync.WaitGroup
	for _, show := range made {
		for range 3 {
			readers.Go(func() {
				if v, err := maps.Read(t.Context(), show.ID); err != nil || !v.Stale || v.Statuses != "aa" {
					t.Errorf("%+v, %v", v, err)
				}
			})
		}
	}
	readers.Wait()
	l.dumb.Store(false)
	for _, show := range made {
		if v := read(t, maps, show.ID); v.Stale {
			t.Errorf("it answers again: %+v", v)
		}
	}
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func TestASeatIsFreeAtTheEndOfItsHoldWithNobodyTidyingUp(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	show := fixture.Show(t, s, fixture.Options{Seats: 4, Floor: 9})
	block, err := s.BlockSeats(t.Context(), fixture.Staff, new(fixture.Key()), uuid.MustParse(org), show.ID, []store.SeatRef{{ID: show.Seats[2].ID}}, "camera")
	if err != nil {
		t.Fatal(err)
	}
	maps := live.New(s, nil)
	staff, _, err := s.PlaceReservation(t.Context(), fixture.Staff, new(fixture.Key()), store.PlaceRequest{
		ShowID: show.ID, CustomerID: customer, FromBlockID: block.BlockID, TTLSeconds: 1, Seats: []store.SeatRef{{ID: show.Seats[2].ID}},
	})
	if err != nil {
		t.Fatal(err)
	}
	hold := place(t, s, store.PlaceRequest{ShowID: show.ID, TTLSeconds: 1,
		Seats: []store.SeatRef{{ID: show.Seats[0].ID}}, Areas: []store.AreaRef{{ID: show.Areas[0].ID, Quantity: 2}}})
	first := read(t, maps, show.ID)
	if first.Statuses != "haha" || first.Areas[0].Available != 7 || first.Overdue != 0 {
		t.Fatalf("%+v", first)
	}
	pool := db.Pool("")
	clock := func() (now time.Time) {
		if err := pool.QueryRow(t.Context(), "select clock_timestamp()").Scan(&now); err != nil {
			t.Fatal(err)
		}
		return now
	}
	for {
		before := clock()
		v := read(t, maps, show.ID)
		after := clock()
		if v.Version != hold.ShowVersion {
			t.Fatalf("version %d, want %d: nothing was logged", v.Version, hold.ShowVersion)
		}
		free := v.Statuses[0] == 'a'
		if free && after.Before(hold.ExpiresAt) {
			t.Fatalf("free at %s already, before %s", after, hold.ExpiresAt)
		}
		if !free && !before.Before(hold.ExpiresAt) {
			t.Fatalf("held at %s still, after %s", before, hold.ExpiresAt)
		}
		if !free {
			continue
		}
		// The seat sold from a block goes back there.
		if v.Statuses != "aaxa" || v.Areas[0].Available != 9 || v.Overdue != 4 || v.ETag() == first.ETag() {
			t.Errorf("%+v", v)
		}
		if !v.Since.Equal(hold.ExpiresAt) && !v.Since.Equal(staff.ExpiresAt) {
			t.Errorf("since %s, want %s", v.Since, hold.ExpiresAt)
		}
		if v2 := read(t, maps, show.ID); v2 != v {
			t.Error("a view is made again although nothing has changed")
		}
		return
	}
}

// cut takes the database away until back is called.
func cut(t *testing.T, db *pgtest.DB) (back func()) {
	t.Helper()
	elsewhere, err := url.Parse(db.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere.Path = "/postgres"
	admin, err := pgx.Connect(t.Context(), elsewhere.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Close(context.Background()) })
	run := func(sql string) {
		t.Helper()
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	run("alter database " + db.Name + " with connection limit 0")
	run("select pg_terminate_backend(pid) from pg_stat_activity where datname = '" + db.Name + "'")
	return func() { run("alter database " + db.Name + " with connection limit -1") }
}

func TestTheLastMapIsServedWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	show := fixture.Show(t, s, fixture.Options{Seats: 4})
	maps := live.New(s, nil)
	hold := place(t, s, store.PlaceRequest{ShowID: show.ID, TTLSeconds: 1, Seats: []store.SeatRef{{ID: show.Seats[0].ID}}})
	fresh := read(t, maps, show.ID)

	back := cut(t, db)
	v := read(t, maps, show.ID)
	if !v.Stale || v.Version != fresh.Version || v.Age <= 0 {
		t.Errorf("while the database is away: %+v", v)
	}
	if _, err := maps.Read(t.Context(), uuid.New()); err == nil {
		t.Error("a show that nobody has read yet cannot be known")
	}
	for v.Statuses[0] == 'h' { // the hold ends all the same
		v = read(t, maps, show.ID)
	}
	if !v.Stale || !v.Since.Equal(hold.ExpiresAt) {
		t.Errorf("after the hold: %+v", v)
	}

	back()
	place(t, s, store.PlaceRequest{ShowID: show.ID, Seats: []store.SeatRef{{ID: show.Seats[1].ID}}})
	if v := read(t, maps, show.ID); v.Stale || v.Statuses != "ahaa" {
		t.Errorf("when it is back: %+v", v)
	}
}

func TestReadVersion(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	show := fixture.Show(t, s, fixture.Options{})
	maps := live.New(s, nil)
	now := read(t, maps, show.ID).Version

	t.Run("Waits for a version that comes", func(t *testing.T) {
		t.Parallel()
		got := make(chan int64, 1)
		go func() {
			v, err := maps.ReadVersion(t.Context(), show.ID, now+1)
			if err != nil {
				t.Error(err)
				got <- 0
				return
			}
			got <- v.Version
		}()
		place(t, s, store.PlaceRequest{ShowID: show.ID, Seats: []store.SeatRef{{ID: show.Seats[0].ID}}})
		if v := <-got; v != now+1 {
			t.Errorf("got version %d, want %d", v, now+1)
		}
	})
	t.Run("Answers what there is when it does not come", func(t *testing.T) {
		t.Parallel()
		if v, err := maps.ReadVersion(t.Context(), show.ID, now+1000); err != nil || v.Version > now+1 {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

func TestOnlySoManyShowsAreKept(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	var shows []fixture.Made
	for range 4 {
		shows = append(shows, fixture.Show(t, s, fixture.Options{Seats: 10}))
	}
	maps := live.New(s, nil)
	want := func(shows, places int) {
		t.Helper()
		if n, p := maps.Kept(); n != shows || p != places {
			t.Errorf("kept %d shows with %d places, want %d with %d", n, p, shows, places)
		}
	}
	if _, err := maps.Read(t.Context(), uuid.New()); boxoffice.CodeOf(err) != boxoffice.CodeNotFound {
		t.Errorf("got %v", err)
	}
	want(0, 0)
	for _, show := range shows {
		read(t, maps, show.ID)
	}
	want(4, 40)
	maps.Limit(100, 25)
	read(t, maps, shows[3].ID)
	read(t, maps, fixture.Show(t, s, fixture.Options{Seats: 5}).ID)
	want(3, 25)
	kept := read(t, maps, shows[3].ID)
	want(3, 25)
	maps.Limit(1, 25)
	read(t, maps, shows[0].ID)
	want(1, 10)
	if again := read(t, maps, shows[3].ID); again == kept || again.Statuses != kept.Statuses {
		t.Error("a show that was dropped is read again")
	}
}

// One version may have many entries: those that were not read must not be
// missed.
func TestMoreChangesThanAreReadAtOnce(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	show := fixture.Show(t, s, fixture.Options{Seats: 12})
	maps := live.New(s, nil)
	maps.FollowAtMost(5)
	read(t, maps, show.ID)
	var last *store.ReservationView
	for i := range 12 {
		last = place(t, s, store.PlaceRequest{ShowID: show.ID, TTLSeconds: 1, Seats: []store.SeatRef{{ID: show.Seats[i].ID}}})
		if v := read(t, maps, show.ID); v.Version != last.ShowVersion {
			t.Errorf("version %d, want %d", v.Version, last.ShowVersion)
		}
	}
	v := read(t, maps, show.ID)
	for v.Overdue < 12 {
		v = read(t, maps, show.ID)
	}
	if n, err := s.ExpireReservations(t.Context(), show.ID, boxoffice.ReasonExpired); n != 12 || err != nil {
		t.Fatalf("closed %d, %v", n, err)
	}
	if v := read(t, maps, show.ID); v.Version != last.ShowVersion+1 || v.Overdue != 0 || v.Statuses != "aaaaaaaaaaaa" {
		t.Errorf("%+v", v)
	}
}

func TestAMapIsReadAgainWhenTheShowItselfChanges(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	show := fixture.Show(t, s, fixture.Options{Seats: 4, Floor: 9})
	maps := live.New(s, nil)
	read(t, maps, show.ID)
	larger := fixture.Plan(t, s, show.HallID, fixture.Options{Seats: 6, Floor: 12})
	organisation := uuid.MustParse(org)
	if _, err := s.AmendShow(t.Context(), fixture.Staff, new(fixture.Key()), organisation, show.ID, store.ShowAmendment{PlanID: &larger}); err != nil {
		t.Fatal(err)
	}
	if v := read(t, maps, show.ID); v.Statuses != "aaaaaa" || v.Terms.Plan.ID != larger || v.Total.Capacity != 18 {
		t.Errorf("after the move: %+v", v)
	}
	if _, err := s.SetAreaCapacity(t.Context(), fixture.Staff, new(fixture.Key()), organisation, show.ID, show.Areas[0].ID, 5); err != nil {
		t.Fatal(err)
	}
	if v := read(t, maps, show.ID); v.Areas[0].Capacity != 5 || v.Total.Available != 11 {
		t.Errorf("with another capacity: %+v", v)
	}
}
