package live_test

import (
	"context"
	"encoding/json"
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

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/live"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
)

// told is a frame as these tests encode it.
type told struct {
	After, Version         int64
	Reset, Snapshot, Stale bool
	IsStale, SaleOpen      bool
	Status                 boxoffice.ShowStatus
	Show                   bool
	Statuses               string         // with Snapshot
	Seats                  map[int]string // position to letter
	Areas                  map[string]int // id to what is available
}

func encode(n *live.News) []byte {
	t := told{
		After: n.After, Version: n.View.Version, Reset: n.Reset, Snapshot: n.Snapshot, Stale: n.Stale, IsStale: n.View.Stale,
		SaleOpen: n.View.SaleOpen, Status: n.View.ShowStatus, Show: n.Show, Seats: map[int]string{}, Areas: map[string]int{},
	}
	for i, a := range n.View.Areas {
		if n.Snapshot || slices.Contains(n.Areas, i) {
			t.Areas[a.ID.String()] = a.Available
		}
	}
	if n.Snapshot {
		t.Statuses = n.View.Statuses
	}
	for _, i := range n.Seats {
		t.Seats[i] = n.View.Statuses[i : i+1]
	}
	b, err := json.Marshal(t)
	if err != nil {
		panic(err)
	}
	return b
}

// watched makes maps that work until the test ends.
func watched(t testing.TB, s *store.Store) *live.Maps {
	maps := live.New(s, encode)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = maps.Run(ctx) // it ends because it is told to
	}()
	t.Cleanup(func() { stop(); <-ended })
	return maps
}

// watcher is a viewer with a map that it keeps by what it is told.
type watcher struct {
	t       testing.TB
	show    uuid.UUID
	viewer  *live.Viewer
	version int64 // the last that came with an id; live.FromNowhere: none yet
	seats   []byte
	areas   map[string]int
	stale   bool
	last    told
	frames  []told // that followed the log
	resets  int
}

func newWatcher(t testing.TB, show uuid.UUID) *watcher {
	return &watcher{t: t, show: show, version: live.FromNowhere}
}

// enter begins to watch, or comes back.
func (w *watcher) enter(maps *live.Maps) {
	w.t.Helper()
	var err error
	if w.viewer, _, err = maps.Watch(w.t.Context(), w.show, w.version); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watcher) leave() { w.viewer.Leave() }

// next waits for a frame and does what it says.
func (w *watcher) next() told {
	w.t.Helper()
	for {
		b, more := w.viewer.Next()
		if b != nil {
			return w.hear(b)
		}
		select {
		case <-more:
		case <-w.t.Context().Done():
			w.t.Fatal("nothing came")
		}
	}
}

// all hears what is there already.
func (w *watcher) all() {
	w.t.Helper()
	for {
		b, _ := w.viewer.Next()
		if b == nil {
			return
		}
		w.hear(b)
	}
}

func (w *watcher) hear(b []byte) told {
	w.t.Helper()
	var f told
	if err := json.Unmarshal(b, &f); err != nil {
		w.t.Fatal(err)
	}
	w.last = f
	if f.Stale {
		w.stale = f.IsStale
	}
	switch {
	case f.Reset:
		w.resets++
	case w.version == live.FromNowhere:
		if !f.Snapshot {
			w.t.Fatalf("the first is no snapshot: %s", b)
		}
	case f.After != w.version || f.Version < f.After:
		w.t.Fatalf("after version %d came %s", w.version, b)
	default:
		w.frames = append(w.frames, f)
	}
	if f.Snapshot {
		w.seats, w.areas = []byte(f.Statuses), map[string]int{}
	}
	for i, letter := range f.Seats {
		w.seats[i] = letter[0]
	}
	for id, n := range f.Areas {
		w.areas[id] = n
	}
	w.version = f.Version
	return f
}

// ear is how a watcher hears who rests, until so many frames were heard, or the
// show is over.
type ear struct {
	w    *watcher
	stay int
	over <-chan struct{}
	back chan int // the watcher rests no more; how many frames were left
}

func newEar(w *watcher, stay int, over <-chan struct{}) *ear {
	return &ear{w, stay, over, make(chan int, 1)}
}

func (e *ear) Hear(b []byte) bool {
	over := false
	select {
	case <-e.over:
		over = true
	default:
	}
	if b != nil {
		e.w.hear(b)
		e.stay--
	}
	if over || e.stay <= 0 {
		e.back <- e.stay
		return false
	}
	return true
}

// until hears until something is so.
func (w *watcher) until(what string, so func() bool) {
	w.t.Helper()
	for !so() {
		w.next()
	}
}

// check compares what the watcher knows with a view.
func (w *watcher) check(v *live.View) {
	w.t.Helper()
	if w.version != v.Version || string(w.seats) != v.Statuses {
		w.t.Errorf("at version %d the viewer knows\n%s, at version %d it is\n%s", w.version, w.seats, v.Version, v.Statuses)
	}
	for _, a := range v.Areas {
		if w.areas[a.ID.String()] != a.Available {
			w.t.Errorf("the viewer knows of %d places in area %s, there are %d", w.areas[a.ID.String()], a.Name, a.Available)
		}
	}
}

// checkLog looks whether each entry of the log is in the one frame that it
// belongs into.
func (w *watcher) checkLog(log []live.Change, plan *boxoffice.PlanIndex) {
	w.t.Helper()
	for _, f := range w.frames {
		if f.Snapshot {
			continue
		}
		for _, c := range log {
			if c.Version <= f.After || c.Version > f.Version {
				continue
			}
			for _, no := range c.SeatNos {
				at, ok := plan.Position(no)
				if _, named := f.Seats[at]; ok && !named {
					w.t.Errorf("version %d is about seat %d, and the frame %+v is not", c.Version, no, f)
				}
			}
		}
	}
}

// Viewers come and go, on two instances, while everything that can happen to a
// show happens. Each sees every logged change once and in order, and ends with
// the map that the database has.
func TestViewersSeeEachLoggedChangeOnceAndInOrder(t *testing.T) {
	t.Parallel()
	for _, moves := range []bool{false, true} {
		t.Run(fmt.Sprintf("PlanMoves=%v", moves), func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			stores := []*store.Store{fixture.On(t, db), fixture.On(t, db)}
			show := fixture.Show(t, stores[0], fixture.Options{Seats: 120, Floor: 40})
			plans := []uuid.UUID{show.PlanID, fixture.Plan(t, stores[0], show.HallID, fixture.Options{Seats: 130, Floor: 40})}
			maps := []*live.Maps{watched(t, stores[0]), watched(t, stores[1])}
			seed := rand.Uint64()
			t.Logf("seed %d", seed)

			playing := make(chan struct{})
			var players, viewers sync.WaitGroup
			for i := range 4 {
				p := newPlayer(stores[i%2], show, seed+uint64(i))
				if moves {
					p.plans = plans
				}
				players.Go(func() {
					for range 150 {
						if _, err := p.play(t.Context()); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			watchers := make([]*watcher, 12)
			for i := range watchers {
				w := newWatcher(t, show.ID)
				watchers[i] = w
				random := rand.New(rand.NewPCG(seed, uint64(100+i)))
				viewers.Go(func() {
					for {
						w.enter(maps[random.IntN(2)])
						for stay := random.IntN(8); stay >= 0; stay-- {
							b, more := w.viewer.Next()
							if b != nil {
								w.hear(b)
								continue
							}
							if random.IntN(2) == 0 {
								if e := newEar(w, stay, playing); w.viewer.Rest(e) {
									stay = <-e.back
								}
								continue
							}
							select {
							case <-more:
							case <-playing:
								return
							}
						}
						select {
						case <-playing:
							return
						default:
							w.leave()
						}
					}
				})
			}
			players.Wait()
			close(playing)
			ended := make(chan struct{})
			go func() {
				viewers.Wait()
				close(ended)
			}()
			for waiting := true; waiting; {
				select {
				case <-ended:
					waiting = false
				default:
					for _, m := range maps { // those who rest see that it is over
						m.Beat(0, 1)
					}
				}
			}

			// One more change, which nobody can miss.
			s := stores[0]
			if _, err := s.ExpireReservations(t.Context(), show.ID, boxoffice.ReasonExpired); err != nil {
				t.Fatal(err)
			}
			if _, err := s.SetAreaCapacity(t.Context(), fixture.Staff, new(fixture.Key()), boxoffice.DefaultOrganisationID, show.ID, show.Areas[0].ID, 77); err != nil {
				t.Fatal(err)
			}
			last := read(t, live.New(s, nil), show.ID)
			logs, err := s.ReadSeatMapChanges(t.Context(), []live.Question{{ShowID: show.ID}}, 1_000_000)
			if err != nil {
				t.Fatal(err)
			}
			log := logs[0]
			followed, resets := 0, 0
			for _, w := range watchers {
				w.until("the last version", func() bool { return w.version == last.Version })
				v := read(t, maps[0], show.ID)
				for string(w.seats) != v.Statuses { // holds of a second end meanwhile, without a version
					w.next()
					v = read(t, maps[0], show.ID)
				}
				w.check(v)
				if !moves {
					w.checkLog(log.Changes, v.Terms.Plan)
				}
				followed, resets = followed+len(w.frames), resets+w.resets
				w.leave()
			}
			for _, m := range maps {
				if n := m.Viewers(show.ID); n != 0 {
					t.Errorf("%d viewers are left", n)
				}
			}
			t.Logf("%d versions, %d frames, %d resets", last.Version, followed, resets)
			if followed == 0 {
				t.Error("nothing was followed")
			}
		})
	}
}

func TestAViewerComesBack(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	show := fixture.Show(t, s, fixture.Options{Seats: 200, Floor: 9})
	maps := watched(t, s)
	stays := newWatcher(t, show.ID)
	stays.enter(maps)
	stays.next()
	defer stays.leave()
	hold := func(i int) int64 {
		return place(t, s, store.PlaceRequest{ShowID: show.ID, Seats: []store.SeatRef{{ID: show.Seats[i].ID}}}).ShowVersion
	}
	w := newWatcher(t, show.ID)
	w.enter(maps)
	w.next()
	w.leave()

	t.Run("To another process that has told nobody anything", func(t *testing.T) {
		hold(0)
		hold(1)
		later := hold(2)
		other := live.New(fixture.On(t, db), encode) // it does not even run
		w.enter(other)
		defer w.leave()
		f := w.next()
		if f.Reset || f.Snapshot || f.Version != later || len(f.Seats) != 3 || !f.Show {
			t.Errorf("%+v", f)
		}
	})
	t.Run("To frames that are kept", func(t *testing.T) {
		stays.until("what there is", func() bool { return stays.version == w.version })
		hold(3)
		stays.next()
		hold(4)
		stays.next()
		w.enter(maps)
		defer w.leave()
		first := w.next()
		if len(first.Seats) != 1 || first.Seats[3] != "h" {
			t.Errorf("%+v", first)
		}
		w.until("the last version", func() bool { return w.version == stays.version })
		if b, _ := w.viewer.Next(); b != nil {
			t.Errorf("and then %s", b)
		}
	})
	t.Run("With nothing missed", func(t *testing.T) {
		w.enter(maps)
		defer w.leave()
		w.all()
		w.check(read(t, maps, show.ID))
	})
	t.Run("With a version that is not known", func(t *testing.T) {
		for _, after := range []int64{live.FromUnknown, w.version + 1000} {
			lost := newWatcher(t, show.ID)
			lost.version = after
			lost.enter(maps)
			if f := lost.next(); !f.Reset || !f.Snapshot || f.Version != w.version {
				t.Errorf("%+v", f)
			}
			lost.leave()
		}
	})
	t.Run("After more than is followed", func(t *testing.T) {
		maps := live.New(s, encode)
		maps.FollowAtMost(3)
		for i := range 3 {
			hold(5 + i)
		}
		w.enter(maps)
		defer w.leave()
		if f := w.next(); !f.Reset || w.resets != 1 {
			t.Errorf("%+v", f)
		}
		w.check(read(t, maps, show.ID))
	})
	t.Run("After the show itself has changed", func(t *testing.T) {
		if _, err := s.SetShowStatus(t.Context(), fixture.Staff, new(fixture.Key()), boxoffice.DefaultOrganisationID, show.ID, boxoffice.SetShowStatus{Verb: boxoffice.PauseShow}); err != nil {
			t.Fatal(err)
		}
		// Who has stayed is told, and who comes back begins anew.
		stays.until("the pause", func() bool { return stays.last.Status == boxoffice.ShowPaused })
		if f := stays.last; !f.Show || f.Reset || f.SaleOpen {
			t.Errorf("%+v", f)
		}
		w.enter(live.New(s, encode))
		defer w.leave()
		if f := w.next(); !f.Reset || f.Status != boxoffice.ShowPaused {
			t.Errorf("%+v", f)
		}
	})
}

func TestAViewerWhoIsTooFarBehindBeginsAnew(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	show := fixture.Show(t, s, fixture.Options{Seats: 30})
	maps := watched(t, s)
	maps.KeepFrames(2)
	quick, slow := newWatcher(t, show.ID), newWatcher(t, show.ID)
	for _, w := range []*watcher{quick, slow} {
		w.enter(maps)
		defer w.leave()
		w.next()
	}
	for i := range 4 {
		r := place(t, s, store.PlaceRequest{ShowID: show.ID, Seats: []store.SeatRef{{ID: show.Seats[i].ID}}})
		quick.until("the hold", func() bool { return quick.version == r.ShowVersion })
	}
	if f := slow.next(); !f.Reset || f.Version != quick.version {
		t.Errorf("%+v", f)
	}
	slow.check(read(t, maps, show.ID))
	quick.check(read(t, maps, show.ID))
	if quick.resets != 0 {
		t.Error("who keeps up was told to begin anew")
	}
}

// Without any job, and with nothing logged.
func TestViewersSeeAHoldEndAtItsInstant(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	show := fixture.Show(t, s, fixture.Options{Seats: 4, Floor: 9})
	w := newWatcher(t, show.ID)
	w.enter(watched(t, s))
	defer w.leave()
	w.next()
	hold := place(t, s, store.PlaceRequest{ShowID: show.ID, TTLSeconds: 1,
		Seats: []store.SeatRef{{ID: show.Seats[1].ID}}, Areas: []store.AreaRef{{ID: show.Areas[0].ID, Quantity: 2}}})
	area := show.Areas[0].ID.String()
	w.until("the hold", func() bool { return w.version == hold.ShowVersion })
	if w.seats[1] != 'h' || w.areas[area] != 7 {
		t.Fatalf("%s %v", w.seats, w.areas)
	}
	f := w.next()
	var now time.Time
	if err := db.Pool("").QueryRow(t.Context(), "select clock_timestamp()").Scan(&now); err != nil {
		t.Fatal(err)
	}
	if f.After != hold.ShowVersion || f.Version != hold.ShowVersion || f.Seats[1] != "a" || f.Areas[area] != 9 {
		t.Errorf("%+v", f)
	}
	if now.Before(hold.ExpiresAt) {
		t.Errorf("told at %s, before %s", now, hold.ExpiresAt)
	}
	// The log repeats it later.
	if _, err := s.ExpireReservations(t.Context(), show.ID, boxoffice.ReasonExpired); err != nil {
		t.Fatal(err)
	}
	if f := w.next(); f.Version != hold.ShowVersion+1 || f.Seats[1] != "a" {
		t.Errorf("%+v", f)
	}
}

func TestViewersSeeSalesBegin(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	begins := time.Now().Add(1500 * time.Millisecond)
	show := fixture.Show(t, s, fixture.Options{Edit: func(n *store.NewShow) { n.SalesStartAt = &begins }})
	w := newWatcher(t, show.ID)
	w.enter(watched(t, s))
	defer w.leave()
	if f := w.next(); f.SaleOpen {
		t.Skip("it took longer to make the show than until its sales began")
	}
	if f := w.next(); !f.SaleOpen || !f.Show || f.Version != f.After {
		t.Errorf("%+v", f)
	}
}

func TestChangesArriveWhenTheListeningConnectionIsCut(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	here, there := fixture.On(t, db), fixture.On(t, db)
	show := fixture.Show(t, here, fixture.Options{})
	w := newWatcher(t, show.ID)
	w.enter(watched(t, here))
	defer w.leave()
	w.next()
	pool := db.Pool("")
	listening := func() (pid int) {
		for pid == 0 {
			err := pool.QueryRow(t.Context(), `select coalesce(max(pid), 0) from pg_stat_activity
				where datname = current_database() and application_name = 'rowlock listen' and state = 'idle' and query like '%listen%'`).Scan(&pid)
			if err != nil {
				t.Fatal(err)
			}
		}
		return pid
	}
	first := listening()
	if _, err := pool.Exec(t.Context(), "select pg_terminate_backend($1)", first); err != nil {
		t.Fatal(err)
	}
	r := place(t, there, store.PlaceRequest{ShowID: show.ID, Seats: []store.SeatRef{{ID: show.Seats[0].ID}}})
	w.until("the hold", func() bool { return w.version == r.ShowVersion })
	for listening() == first {
	}
	r = place(t, there, store.PlaceRequest{ShowID: show.ID, Seats: []store.SeatRef{{ID: show.Seats[1].ID}}})
	w.until("the other hold", func() bool { return w.version == r.ShowVersion })
}

// A NOTIFY inside of the lanes' transactions would have all commits stand in
// line. Each notification says which connection sent it.
func TestLanesDoNotNotify(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	show := fixture.Show(t, s, fixture.Options{Seats: 100})
	conn, err := pgx.Connect(t.Context(), db.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "listen rowlock_shows"); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		place(t, s, store.PlaceRequest{ShowID: show.ID, Seats: []store.SeatRef{{ID: show.Seats[i].ID}}})
	}
	n, err := conn.WaitForNotification(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var sender string
	if err := db.Pool("").QueryRow(t.Context(), "select application_name from pg_stat_activity where pid = $1", n.PID).Scan(&sender); err != nil {
		t.Fatal(err)
	}
	if sender != "rowlock requests" || n.Payload != "" {
		t.Errorf("%q sent %q", sender, n.Payload)
	}
	// What follows is one at a time, however much is committed.
	sent := 1
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := conn.WaitForNotification(ctx)
		cancel()
		if err != nil {
			break
		}
		sent++
	}
	if sent >= 100 {
		t.Errorf("%d notifications of 100 commits", sent)
	}
}

func TestViewersAreToldThatTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	show := fixture.Show(t, s, fixture.Options{})
	hold := place(t, s, store.PlaceRequest{ShowID: show.ID, TTLSeconds: 2, Seats: []store.SeatRef{{ID: show.Seats[0].ID}}})
	maps := watched(t, s)
	w := newWatcher(t, show.ID)
	w.enter(maps)
	defer w.leave()
	w.next()
	back := cut(t, db)
	w.until("the database is away", func() bool { return w.stale })
	if w.version != hold.ShowVersion {
		t.Errorf("version %d, want %d", w.version, hold.ShowVersion)
	}
	w.until("the hold ends all the same", func() bool { return w.seats[0] == 'a' })
	late := newWatcher(t, show.ID) // who comes now is told, too
	late.enter(maps)
	if f := late.next(); !f.IsStale || f.Statuses[0] != 'a' {
		t.Errorf("%+v", f)
	}
	late.leave()
	// Who was told more by another instance is not shown less here.
	if _, _, err := maps.Watch(t.Context(), show.ID, hold.ShowVersion+1); boxoffice.CodeOf(err) != boxoffice.CodeUnavailable {
		t.Errorf("somebody who knows more: %v", err)
	}
	back()
	w.until("it is back", func() bool { return !w.stale })
	r := place(t, s, store.PlaceRequest{ShowID: show.ID, Seats: []store.SeatRef{{ID: show.Seats[1].ID}}})
	w.until("the hold", func() bool { return w.version == r.ShowVersion })
	w.check(read(t, maps, show.ID))
}

// slow reads no map before it is let.
type slow struct {
	live.Loader
	reads, let chan struct{}
}

func (s *slow) ReadSeatMap(ctx context.Context, show uuid.UUID) (*live.Map, error) {
	s.reads <- struct{}{}
	<-s.let
	return s.Loader.ReadSeatMap(ctx, show)
}

func TestAViewerWhoLeavesBeforeAnythingIsKnownHarmsNobody(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	show := fixture.Show(t, s, fixture.Options{})
	for range 50 { // whether the feed is waiting already, too, is luck
		loader := &slow{s, make(chan struct{}, 2), make(chan struct{})}
		maps := live.New(loader, encode)
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, _, err := maps.Watch(ctx, show.ID, live.FromNowhere)
			left <- err
		}()
		<-loader.reads
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		close(loader.let)
		w := newWatcher(t, show.ID)
		w.enter(maps)
		if f := w.next(); !f.Snapshot {
			t.Errorf("%+v", f)
		}
		w.leave()
	}
}

func TestNobodyWatchesAShowThatIsNotThere(t *testing.T) {
	t.Parallel()
	maps := live.New(fixture.Open(t), encode)
	if _, _, err := maps.Watch(t.Context(), uuid.New(), live.FromNowhere); boxoffice.CodeOf(err) != boxoffice.CodeNotFound {
		t.Errorf("got %v", err)
	}
	if shows, _ := maps.Kept(); shows != 0 {
		t.Errorf("%d shows are kept", shows)
	}
}

// Many rest, and are told by a few goroutines; some of them do not take what
// they are told, and go on by themselves.
func TestThoseWhoRestAreTold(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	show := fixture.Show(t, s, fixture.Options{Seats: 40})
	maps := watched(t, s)
	over := make(chan struct{})
	ears := make([]*ear, 700) // more than one goroutine tells at a time
	for i := range ears {
		w := newWatcher(t, show.ID)
		w.enter(maps)
		w.all()
		ears[i] = newEar(w, 1+i%50, over)
		if !w.viewer.Rest(ears[i]) {
			t.Fatal("there is nothing to tell")
		}
	}
	var last int64
	for i := range show.Seats {
		last = place(t, s, store.PlaceRequest{ShowID: show.ID, Seats: []store.SeatRef{{ID: show.Seats[i].ID}}}).ShowVersion
	}
	first := newWatcher(t, show.ID)
	first.enter(maps)
	first.next()
	first.until("the last hold", func() bool { return first.version == last })
	first.leave()
	close(over)
	maps.Rouse()
	now := read(t, maps, show.ID)
	for _, e := range ears {
		<-e.back
		if e.w.viewer.Rest(e) {
			t.Fatal("nobody rests any more")
		}
		e.w.all()
		e.w.check(now)
		if e.w.resets != 0 {
			t.Errorf("%d resets", e.w.resets)
		}
		e.w.leave()
	}
}

// Those who rest are told that nothing is new, each in their turn.
func TestThoseWhoRestHearASignOfLife(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	show := fixture.Show(t, s, fixture.Options{})
	maps := live.New(s, encode)
	const viewers, parts = 50, 5
	heard := make([]signs, viewers)
	for i := range heard {
		v, _, err := maps.Watch(t.Context(), show.ID, live.FromNowhere)
		if err != nil {
			t.Fatal(err)
		}
		for b, _ := v.Next(); b != nil; b, _ = v.Next() {
		}
		if !v.Rest(&heard[i]) {
			t.Fatal("there is nothing to tell")
		}
		defer v.Leave()
	}
	for round := range 2 {
		for part := range uint32(parts) {
			maps.Beat(part, parts)
		}
		for i := range heard {
			if int(heard[i]) != round+1 {
				t.Errorf("after round %d viewer %d has heard %d times", round, i, heard[i])
			}
		}
	}
}

// signs counts how often nothing was heard.
type signs int

func (s *signs) Hear(b []byte) bool {
	if b == nil {
		*s++
	}
	return true
}

// forsaken loses the database for good when it is told to.
type forsaken struct {
	*store.Store
	asking sync.RWMutex
	away   bool
}

// lose returns when no question is on its way any more, whose answer would tell
// of what happens next.
func (f *forsaken) lose() {
	f.asking.Lock()
	defer f.asking.Unlock()
	f.away = true
}

func (f *forsaken) ReadSeatMapChanges(ctx context.Context, questions []live.Question, most int) ([]*live.Delta, error) {
	f.asking.RLock()
	defer f.asking.RUnlock()
	if f.away {
		return nil, boxoffice.Refuse(boxoffice.CodeUnavailable, "away")
	}
	return f.Store.ReadSeatMapChanges(ctx, questions, most)
}

func TestAHoldThatWasExtendedElsewhereHasNotEndedForWhoWasToldSo(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	show := fixture.Show(t, s, fixture.Options{Seats: 4, Floor: 9})
	cutOff := &forsaken{Store: s}
	there, here := live.New(cutOff, encode), watched(t, s)
	w, other := newWatcher(t, show.ID), newWatcher(t, show.ID)
	other.enter(here)
	defer other.leave()
	hold := place(t, s, store.PlaceRequest{ShowID: show.ID, TTLSeconds: 1,
		Seats: []store.SeatRef{{ID: show.Seats[0].ID}}, Areas: []store.AreaRef{{ID: show.Areas[0].ID, Quantity: 2}}})
	other.until("it is held", func() bool { return other.version == hold.ShowVersion })
	w.enter(there)
	w.all()

	cutOff.lose()
	extended, _, err := s.ExtendReservation(t.Context(), fixture.Staff, new(fixture.Key()), hold.ID)
	if err != nil {
		t.Fatal(err)
	}
	other.until("it is extended", func() bool { return other.version == extended.ShowVersion })
	area := show.Areas[0].ID.String()
	w.until("the hold seems to be over", func() bool { return w.areas[area] == 9 && w.seats[0] == 'a' })
	w.leave()
	if w.version != hold.ShowVersion {
		t.Fatalf("at version %d, the hold was made in %d", w.version, hold.ShowVersion)
	}
	w.enter(here)
	defer w.leave()
	w.until("it is extended", func() bool { return w.version == extended.ShowVersion })
	if w.areas[area] != 7 || w.seats[0] != 'h' {
		t.Errorf("%d units are free, and seat %c", w.areas[area], w.seats[0])
	}
}

// slowly is a database that keeps questions waiting, and counts them.
type slowly struct {
	*store.Store
	asked, answer chan struct{}
	follows       atomic.Int64
	compared      atomic.Int64
}

func (l *slowly) ReadSeatMap(ctx context.Context, show uuid.UUID) (*live.Map, error) {
	if l.asked != nil {
		l.asked <- struct{}{}
		<-l.answer
	}
	return l.Store.ReadSeatMap(ctx, show)
}

func (l *slowly) ReadSeatMapChanges(ctx context.Context, questions []live.Question, most int) ([]*live.Delta, error) {
	l.follows.Add(int64(len(questions)))
	return l.Store.ReadSeatMapChanges(ctx, questions, most)
}

func (l *slowly) ReadShowVersions(ctx context.Context, shows []uuid.UUID) (map[uuid.UUID]int64, time.Time, error) {
	l.compared.Add(1)
	return l.Store.ReadShowVersions(ctx, shows)
}

func TestAViewerMayLeaveBeforeAnythingIsKnown(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	show := fixture.Show(t, s, fixture.Options{})
	slow := &slowly{Store: s, asked: make(chan struct{}, 10), answer: make(chan struct{})}
	maps := live.New(slow, encode)
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, _, err := maps.Watch(ctx, show.ID, live.FromNowhere)
		ended <- err
	}()
	<-slow.asked
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(slow.answer)
	for range 3 { // what the feed waited for has come, and it has ended
		read(t, maps, show.ID)
	}
	if n := maps.Viewers(show.ID); n != 0 {
		t.Errorf("%d viewers", n)
	}
}

// What is watched cannot be forgotten, so it is bounded.
func TestOnlySoManyPlacesAreWatched(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	one, two := fixture.Show(t, s, fixture.Options{Seats: 10}), fixture.Show(t, s, fixture.Options{Seats: 10})
	maps := live.New(s, encode)
	maps.WatchAtMost(15)
	maps.Limit(100, 5)
	first := newWatcher(t, one.ID)
	first.enter(maps)
	if _, _, err := maps.Watch(t.Context(), two.ID, live.FromNowhere); boxoffice.CodeOf(err) != boxoffice.CodeOverloaded {
		t.Errorf("another show: %v", err)
	}
	read(t, maps, two.ID)
	second := newWatcher(t, one.ID)
	second.enter(maps)
	first.leave()
	second.leave()
	second = newWatcher(t, two.ID)
	second.enter(maps)
	second.leave()
	if shows, places := maps.Kept(); shows != 1 || places != 10 {
		t.Errorf("%d shows with %d places are kept", shows, places)
	}
}

// However many shows are watched, the database is asked about all of them
// together while nothing happens.
func TestShowsThatNothingMovesAreAskedAboutTogether(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	counted := &slowly{Store: s}
	maps := live.New(counted, encode)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = maps.Run(ctx) // it ends because it is told to
	}()
	defer func() { stop(); <-ended }()
	const shows = 5
	for range shows {
		w := newWatcher(t, fixture.Show(t, s, fixture.Options{}).ID)
		w.enter(maps)
		w.next()
		defer w.leave()
	}
	for n := counted.compared.Load(); counted.compared.Load() < n+3; {
		time.Sleep(10 * time.Millisecond) // a poll: it is asked each second
	}
	if n := counted.follows.Load(); n > 3*shows {
		t.Errorf("asked %d times about single shows", n)
	}
}
