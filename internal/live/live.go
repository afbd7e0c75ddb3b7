package live

import (
	"container/list"
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// Limits.
const (
	showsMax    = 4096             // shows kept
	placesMax   = 2_000_000        // seats of all kept shows together that nobody watches; some 60 bytes each
	watchedMax  = 8_000_000        // seats of those that are watched; with more, no other show is watched
	crowdedWait = 10 * time.Second // before somebody tries again who wanted to
	changesMax  = 2000             // log entries that are followed; more, and reading all is cheaper
	checkMax    = time.Second      // for one question to the database; then the last map is served, marked stale
	readMax     = 5 * time.Second  // for reading a whole map
	trustMax    = time.Minute      // a map that old is read as a whole again, in case somebody changed rows by hand
	waitMax     = time.Second      // how long a read waits for a version
	waitBetween = 50 * time.Millisecond
)

// Loader reads shows from the database. A show that does not exist is
// NOT_FOUND. What one call returns is of one snapshot, and no call returns less
// than was acknowledged before it.
type Loader interface {
	// ReadSeatMap reads a whole map.
	ReadSeatMap(ctx context.Context, show uuid.UUID) (*Map, error)
	// ReadSeatMapChanges reads what was logged in shows after versions, the first
	// so many entries of each, by one statement. The answers are in step with the
	// questions; nil: there is no such show.
	ReadSeatMapChanges(ctx context.Context, questions []Question, most int) ([]*Delta, error)
	// ReadShowVersions reads the versions of shows, by one statement, and what
	// time it is. Shows that do not exist are missing.
	ReadShowVersions(ctx context.Context, shows []uuid.UUID) (versions map[uuid.UUID]int64, now time.Time, err error)
	// Listen calls changed with a show when this process has changed it, and with
	// uuid.Nil when another process may have changed any, until ctx ends. changed
	// does not block. News that are lost are made up for by asking.
	Listen(ctx context.Context, changed func(show uuid.UUID)) error
}

// Maps are the maps of the shows that are being looked at. It is safe for
// concurrent use. Maps move when they are read; those that are watched move
// by themselves, while [Maps.Run] works.
type Maps struct {
	loader Loader
	asker  asker
	encode func(*News) []byte

	mu      sync.Mutex
	shows   map[uuid.UUID]*show
	recent  *list.List // of *show that nobody watches, the one read last in front
	places  int        // of those
	watched int        // places of the others
	feeds   map[uuid.UUID]*feed

	stirred chan struct{} // another process may have changed something
	sending chan struct{} // has an element for each goroutine that sends to viewers
	roused  atomic.Bool   // nobody rests any more

	showsMax, placesMax, watchedMax, framesMax int
}

// New makes an empty set of maps. encode writes what viewers are told, once
// for all of them; nil: nobody watches.
func New(loader Loader, encode func(*News) []byte) *Maps {
	return &Maps{
		loader: loader, asker: asker{loader: loader, most: changesMax}, encode: encode,
		shows: map[uuid.UUID]*show{}, recent: list.New(), feeds: map[uuid.UUID]*feed{},
		stirred: make(chan struct{}, 1), sending: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		showsMax: showsMax, placesMax: placesMax, watchedMax: watchedMax, framesMax: framesMax,
	}
}

// show is one show's map and who waits for it.
type show struct {
	id     uuid.UUID
	place  *list.Element // in Maps.recent; nil: it is watched
	places int           // what it counts for in Maps.places, or Maps.watched

	mu            sync.Mutex
	running, next *check

	feed atomic.Pointer[feed] // nil: nobody watches

	// Only the running check uses these.
	m       *Map
	view    *View
	read    time.Time // when m was read as a whole
	checked time.Time // when m was last known to be right
	logged  touched   // what the log was about since the feed was told, if there is one
}

// check is one question to the database, and its answer.
type check struct {
	done chan struct{}
	view *View
	err  error
}

// Read returns the map of a show as it is now: with everything in it that was
// acknowledged before the call, on any instance. While the database is away it
// returns what was known last, marked stale, if anything was.
func (ms *Maps) Read(ctx context.Context, id uuid.UUID) (*View, error) {
	s := ms.show(id)
	c := s.join(ms)
	select {
	case <-c.done:
		return c.view, c.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ReadVersion is Read that waits up to a second for the show to reach a
// version, and then returns what there is.
func (ms *Maps) ReadVersion(ctx context.Context, id uuid.UUID, version int64) (*View, error) {
	deadline := time.Now().Add(waitMax)
	for {
		v, err := ms.Read(ctx, id)
		if err != nil || v.Version >= version || v.Stale || time.Now().Add(waitBetween).After(deadline) {
			return v, err
		}
		select {
		case <-time.After(waitBetween):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// show finds or begins the entry of a show.
func (ms *Maps) show(id uuid.UUID) *show {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.entry(id)
}

func (ms *Maps) entry(id uuid.UUID) *show {
	s := ms.shows[id]
	switch {
	case s == nil:
		s = &show{id: id}
		s.place = ms.recent.PushFront(s)
		ms.shows[id] = s
		ms.shed()
	case s.place != nil:
		ms.recent.MoveToFront(s.place)
	}
	return s
}

// kept counts the places of a show that was just read.
func (ms *Maps) kept(s *show) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.shows[s.id] != s {
		return // it was dropped meanwhile
	}
	more := len(s.m.States) - s.places
	s.places += more
	if s.place == nil {
		ms.watched += more
		return
	}
	ms.places += more
	ms.shed()
}

// shed drops the shows that nobody watches and nobody has read for longest
// until the rest of those is within the limits. A dropped show's readers are
// served all the same.
func (ms *Maps) shed() {
	for e := ms.recent.Back(); e != ms.recent.Front() && (ms.recent.Len() > ms.showsMax || ms.places > ms.placesMax); {
		s := e.Value.(*show)
		e = e.Prev()
		ms.drop(s)
	}
}

// drop forgets a show, unless it is watched.
func (ms *Maps) drop(s *show) {
	if ms.shows[s.id] == s && s.place != nil {
		delete(ms.shows, s.id)
		ms.recent.Remove(s.place)
		ms.places -= s.places
	}
}

// join returns a check that has not begun yet: one that has may have asked
// before what the caller wants to see was there.
func (s *show) join(ms *Maps) *check {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running = &check{done: make(chan struct{})}
		go s.run(ms, s.running)
		return s.running
	}
	if s.next == nil {
		s.next = &check{done: make(chan struct{})}
	}
	return s.next
}

// run makes checks, one after the other, until nobody waits for one.
func (s *show) run(ms *Maps, c *check) {
	for c != nil {
		c.view, c.err = s.check(ms)
		if f := s.feed.Load(); f != nil && c.err == nil {
			f.note(c.view, s.logged, clock{s.m.Now, s.checked})
		}
		s.logged = touched{}
		close(c.done)
		s.mu.Lock()
		s.running, s.next = s.next, nil
		c = s.running
		s.mu.Unlock()
	}
}

// check brings the map up to date and looks at it. It belongs to nobody's
// request, since many wait for it.
func (s *show) check(ms *Maps) (*View, error) {
	err := s.refresh(ms)
	switch {
	case err == nil:
		if s.view == nil || !s.view.holds(s.m, s.m.Now) {
			s.view = s.m.At(s.m.Now)
		}
		return s.view, nil
	case boxoffice.CodeOf(err) == boxoffice.CodeNotFound:
		ms.mu.Lock()
		defer ms.mu.Unlock()
		ms.drop(s)
		return nil, err
	case boxoffice.CodeOf(err) != boxoffice.CodeUnavailable || s.m == nil:
		return nil, err
	}
	// The database's clock goes on; ours tells by how much.
	age := time.Since(s.checked)
	v := s.m.At(s.m.Now.Add(age))
	v.Stale, v.Age = true, age
	return v, nil
}

// refresh follows the log, or reads everything when it cannot.
func (s *show) refresh(ms *Maps) error {
	if s.m != nil {
		d, err := s.ask(ms)
		if err != nil {
			return err
		}
		// As many as asked for: there may be more, even of the last version.
		if time.Since(s.read) < trustMax && len(d.Changes) < ms.asker.most && s.m.Follow(d) {
			s.checked = time.Now()
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), readMax)
	defer cancel()
	m, err := ms.loader.ReadSeatMap(ctx, s.id)
	if err != nil {
		return err
	}
	if s.m != nil && s.feed.Load() != nil {
		// The viewers are told what was logged meanwhile, even if it came to
		// nothing. Asked for now, it reaches at least as far as the map.
		if _, err := s.ask(ms); err != nil {
			return err
		}
	}
	s.m, s.view = m, nil
	s.read, s.checked = time.Now(), time.Now()
	ms.kept(s)
	return nil
}

// ask reads what was logged after the map's version, and notes for the viewers
// what it is about.
func (s *show) ask(ms *Maps) (*Delta, error) {
	d, err := ms.asker.ask(s.id, s.m.Version)
	if err == nil && s.feed.Load() != nil {
		s.logged.add(d, s.m.Holds)
	}
	return d, err
}
