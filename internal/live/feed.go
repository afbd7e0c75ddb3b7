package live

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// Limits of what is watched.
const (
	framesMax  = 512                    // kept of a show, for viewers who are behind or come back
	bytesMax   = 1 << 20                // of them all
	resumesMax = 64                     // answers kept for viewers who come back with a version that no frame ends at
	resumeAge  = 5 * time.Second        // of such an answer
	paceMin    = 50 * time.Millisecond  // from one frame of a show to the next
	paceMax    = 250 * time.Millisecond // after one has been sent to all
	sendMany   = 256                    // viewers, whom one goroutine sends to before others have their turn
	pollEvery  = time.Second            // for changes that nobody told of
	pollPause  = 25 * time.Millisecond  // after one, however many tell
	lookEvery  = time.Hour              // at a show that nothing moves
	lookSoon   = 5 * time.Millisecond   // when a hold should have ended, and has not quite
)

// Where a viewer comes from, beside a version.
const (
	FromNowhere = -1      // a new viewer
	FromUnknown = 1 << 62 // one that was told something which is not known here
)

// News is what the viewers of a show are told at once.
type News struct {
	// View is what the places are like now. What was logged after the version
	// After up to View.Version is in it; when they are equal nothing was, and
	// only time has passed.
	View  *View
	After int64

	Reset    bool  // what was known before is worth nothing, not even the order of the seats
	Snapshot bool  // all of View is told, instead of Seats and Areas
	Seats    []int // what was logged, or is different: positions in the plan, ascending
	Areas    []int // likewise, in View.Areas
	Show     bool  // the show itself may have changed, or whether anything is left
	Stale    bool  // the database has gone away, or come back: View.Stale says which
}

// settle tells everything instead of nearly everything. It is what bounds a
// frame: who sells out a hall in a second does not send each viewer megabytes.
func (n *News) settle() {
	const base, seat, area = 1000, 100, 300 // bytes, about
	v := n.View
	n.Snapshot = n.Snapshot || seat*len(n.Seats) > base+len(v.Statuses)+area*len(v.Areas)
}

// touched is what entries of the log are about.
type touched struct{ seatNos, areaNos []int32 }

// add adds what d is about. A hold that is extended has its seats in the log,
// and no areas, since no units move. They are in holds; and a viewer who was
// told by an instance without the database that the hold had ended has to hear
// that it has not.
func (t *touched) add(d *Delta, holds map[uuid.UUID][]Hold) {
	for i := range d.Changes {
		c := &d.Changes[i]
		t.seatNos, t.areaNos = append(t.seatNos, c.SeatNos...), append(t.areaNos, c.AreaNos...)
		for _, h := range holds[c.ReservationID] {
			t.areaNos = append(t.areaNos, h.AreaNo)
		}
	}
}

// positions are the seats and areas in v.
func (t *touched) positions(v *View) (seats, areas []int) {
	if v.Terms.Plan != nil {
		for _, no := range t.seatNos {
			if at, ok := v.Terms.Plan.Position(no); ok {
				seats = append(seats, at)
			}
		}
	}
	for _, no := range t.areaNos {
		if at := slices.IndexFunc(v.Areas, func(a AreaView) bool { return a.No == no }); at >= 0 {
			areas = append(areas, at)
		}
	}
	return seats, areas
}

func sorted(list []int) []int {
	slices.Sort(list)
	return slices.Compact(list)
}

// samePlaces reports whether two views are of the same seats and areas.
func (v *View) samePlaces(w *View) bool {
	if (v.Terms.Plan == nil) != (w.Terms.Plan == nil) || v.Terms.Plan != nil && v.Terms.Plan.ID != w.Terms.Plan.ID {
		return false
	}
	return slices.EqualFunc(v.Areas, w.Areas, func(a, b AreaView) bool { return a.ID == b.ID })
}

// since is what a viewer of old must be told to know v. logged is what the log
// was about in between.
func (v *View) since(old *View, logged *touched) *News {
	n := &News{View: v, After: old.Version, Stale: v.Stale != old.Stale}
	if v.Version < old.Version || !v.samePlaces(old) {
		n.Reset, n.Snapshot = true, true
		return n
	}
	n.Seats, n.Areas = logged.positions(v)
	for i := range len(v.Statuses) {
		if v.Statuses[i] != old.Statuses[i] {
			n.Seats = append(n.Seats, i)
		}
	}
	for i := range v.Areas {
		if v.Areas[i].Available != old.Areas[i].Available || v.Areas[i].Capacity != old.Areas[i].Capacity {
			n.Areas = append(n.Areas, i)
		}
	}
	n.Seats, n.Areas = sorted(n.Seats), sorted(n.Areas)
	n.Show = v.Terms.Definition != old.Terms.Definition || v.ShowStatus != old.ShowStatus || v.SaleOpen != old.SaleOpen || v.SoldOut() != old.SoldOut()
	if v.Version == old.Version && len(n.Seats)+len(n.Areas) == 0 && !n.Show && !n.Stale {
		return nil
	}
	n.settle()
	return n
}

// clock tells the database's time: what it was, and when it was that.
type clock struct{ database, process time.Time }

func (c clock) now() time.Time { return c.database.Add(time.Since(c.process)) }

// feed is what the viewers of one show are told: frames, each encoded once and
// shared by all of them.
type feed struct {
	show    *show
	viewers int           // under Maps.mu
	wake    chan struct{} // the show may have changed
	ended   chan struct{} // the last viewer has left

	let bool // a viewer has been let in; under Maps.mu

	mu       sync.Mutex
	view     *View // what the viewers know
	latest   *View // what the last check found
	logged   touched
	clock    clock
	checking bool          // a check of the feed's own is out
	told     time.Time     // when the last frame was made
	took     time.Duration // to send the last one to all who rest
	frames   []frame
	first    int64 // how many frames were before those that are kept
	sent     int64 // up to which frame those who rest have been told
	bytes    int
	more     chan struct{} // closed when there is another frame
	resting  []*Viewer
	resumes  map[int64]*resume
}

// frame is a number of whole events, as they are sent.
type frame struct {
	after int64 // the version that it follows
	bytes []byte
}

// resume is what viewers are told who come back with a version.
type resume struct {
	view  *View // what they know then
	next  int64 // the frame that follows
	made  time.Time
	ready chan struct{}
	bytes []byte
}

// stir has the feed look at its show soon.
func (f *feed) stir() {
	select {
	case f.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// note is what every check of the show ends with, whoever wanted it.
func (f *feed) note(v *View, logged touched, c clock) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.latest, f.clock = v, c
	if f.view == nil {
		f.view = v
		return
	}
	f.logged.seatNos = append(f.logged.seatNos, logged.seatNos...)
	f.logged.areaNos = append(f.logged.areaNos, logged.areaNos...)
	if !f.checking && (v.Version != f.view.Version || v.Overdue != f.view.Overdue || v.Stale != f.view.Stale) {
		f.stir()
	}
}

// run looks at the show when it may have changed, and when a hold ends, and
// tells the viewers, until the last of them has left.
func (f *feed) run(ms *Maps) {
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	for {
		select {
		case <-f.wake:
		case <-timer.C:
		case <-f.ended:
			return
		}
		if wait := f.pause(); wait > 0 {
			select {
			case <-time.After(wait):
			case <-f.ended:
				return
			}
		}
		c := f.show.join(ms)
		<-c.done
		f.tell(ms, c.err)
		f.send(ms)
		timer.Reset(f.next(c.err))
	}
}

// pause is how long the feed waits before it looks again. The first change
// after a silence is told at once; of a storm of them viewers get as many
// frames as they can be sent, and a third of the time nobody sends. So a machine
// with too much to do makes fewer frames, and does not fall behind.
func (f *feed) pause() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.checking = true
	return max(paceMin, f.took+min(f.took/2, paceMax)) - time.Since(f.told)
}

// tell publishes what is new, unless it could not be learnt.
func (f *feed) tell(ms *Maps, failed error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.checking = false
	// Nothing has been found when whoever began the feed left before that.
	if failed == nil && f.latest != nil {
		f.publish(ms)
	}
}

// next is when to look again by oneself.
func (f *feed) next(failed error) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case failed != nil || f.view == nil:
		return pollEvery
	case f.view.until.IsZero():
		return lookEvery
	}
	return min(max(f.view.until.Sub(f.clock.now()), lookSoon), lookEvery)
}

// send tells those who rest what is new.
func (f *feed) send(ms *Maps) {
	f.mu.Lock()
	if f.sent == f.end() {
		f.mu.Unlock()
		return
	}
	all := f.resting
	f.sent, f.resting = f.end(), nil
	f.mu.Unlock()
	began := time.Now()
	ms.tell(all)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.took = time.Since(began)
}

// tell tells each of the viewers, who do not rest any more, what is new, or
// that nothing is, and lets them rest again. There are few goroutines that do
// this, each for a while: if each viewer had one, all that the process does
// would wait for its turn behind thousands of them.
func (ms *Maps) tell(viewers []*Viewer) {
	var all sync.WaitGroup
	for some := range slices.Chunk(viewers, sendMany) {
		ms.sending <- struct{}{}
		all.Go(func() {
			defer func() { <-ms.sending }()
			for _, v := range some {
				v.tell()
			}
		})
	}
	all.Wait()
}

// publish makes a frame of what the last check found. The caller has f.mu.
func (f *feed) publish(ms *Maps) {
	n := f.latest.since(f.view, &f.logged)
	if n != nil && n.Reset && f.latest.Version < f.view.Version {
		// The database lost what had been acknowledged. Versions will come again.
		f.first, f.frames, f.bytes, f.resumes = f.first+int64(len(f.frames)), nil, 0, nil
	}
	f.view, f.logged = f.latest, touched{}
	if n == nil {
		return
	}
	b := ms.encode(n)
	f.frames, f.bytes, f.told = append(f.frames, frame{n.After, b}), f.bytes+len(b), time.Now()
	for len(f.frames) > ms.framesMax || f.bytes > bytesMax && len(f.frames) > 1 {
		f.bytes -= len(f.frames[0].bytes)
		f.first, f.frames = f.first+1, f.frames[1:]
	}
	close(f.more)
	f.more = make(chan struct{})
}

// end is the number of the next frame. The caller has f.mu.
func (f *feed) end() int64 { return f.first + int64(len(f.frames)) }

// find is the number of the frame that follows a version, if one does. Frames
// that time made without a version of their own stand between: only when an
// older one is kept as well, none of those is missing. The caller has f.mu.
func (f *feed) find(after int64) (int64, bool) {
	i := sort.Search(len(f.frames), func(i int) bool { return f.frames[i].after >= after })
	return f.first + int64(i), i > 0 && i < len(f.frames) && f.frames[i].after == after
}

// snapshot is everything, for a new viewer or for one who must forget what was
// known. The caller has f.mu.
func (f *feed) snapshot(ms *Maps, reset bool) []byte {
	name := "snapshot"
	if reset {
		name = "reset"
	}
	v := f.view
	return v.Encoded(name, func() []byte { return ms.encode(&News{View: v, After: v.Version, Reset: reset, Snapshot: true}) })
}

// enter is what a viewer is told first, who was told everything up to a
// version before, and the frame that follows.
func (f *feed) enter(ctx context.Context, ms *Maps, after int64) (first []byte, next int64, err error) {
	f.mu.Lock()
	if after > f.view.Version && after < FromUnknown {
		f.publish(ms) // another instance was faster; the last check knows at least as much
		f.stir()      // so that those who rest are told
		if after > f.view.Version && f.view.Stale {
			// Or not: the database is away, and what the viewer knows may well be
			// right. Nobody is shown an older map than they have.
			defer f.mu.Unlock()
			e := boxoffice.Refuse(boxoffice.CodeUnavailable, "The database is away, and less is known here than you know. Come back later, or to another instance.")
			e.Facts.Outcome = "none"
			return nil, 0, e
		}
	}
	if after < 0 || after > f.view.Version {
		defer f.mu.Unlock()
		return f.snapshot(ms, after >= 0), f.end(), nil
	}
	if next, ok := f.find(after); ok {
		f.mu.Unlock()
		return nil, next, nil
	}
	r := f.resumes[after]
	if r == nil || r.next < f.first || time.Since(r.made) > resumeAge {
		if f.resumes == nil || len(f.resumes) >= resumesMax {
			f.resumes = map[int64]*resume{}
		}
		r = &resume{view: f.view, next: f.end(), made: time.Now(), ready: make(chan struct{})}
		f.resumes[after] = r
		go f.catchUp(ms, r, after)
	}
	f.mu.Unlock()
	select {
	case <-r.ready:
		return r.bytes, r.next, nil
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}

// catchUp asks the log what a viewer has missed, who was told everything up to
// a version: by another instance, or before this one was started.
func (f *feed) catchUp(ms *Maps, r *resume, after int64) {
	defer close(r.ready)
	n := &News{View: r.view, After: after, Show: true, Stale: r.view.Stale, Seats: slices.Clone(r.view.overdue)}
	for i := range r.view.Areas {
		n.Areas = append(n.Areas, i)
	}
	if after < r.view.Version {
		d, err := ms.asker.ask(f.show.id, after)
		if err != nil || len(d.Changes) >= ms.asker.most || !d.continues(after) {
			n.Reset, n.Snapshot = true, true
		} else {
			var logged touched
			logged.add(d, nil) // of areas they are all told
			seats, _ := logged.positions(r.view)
			n.Seats = append(n.Seats, seats...)
		}
	}
	n.Seats = sorted(n.Seats)
	n.settle()
	r.bytes = ms.encode(n)
}

// Viewer is somebody who watches a show. It is used by one goroutine at a
// time: by its owner's, or, while it rests, by those of Maps.
type Viewer struct {
	maps  *Maps
	feed  *feed
	first []byte
	next  int64
	turn  uint32 // in Beat
	ear   Ear    // of a viewer who rests
}

// Ear is what a viewer who rests is told by.
type Ear interface {
	// Hear is told what follows, a number of whole events; or nothing, as a sign
	// of life and after [Maps.Rouse]. It must not wait. If it returns false the
	// viewer does not rest any more, but is its owner's again: to be told what
	// follows by Next, to rest again, or to Leave. After Rouse it must.
	Hear(frame []byte) bool
}

// Watch begins to watch a show: after a version that the viewer was told
// before, or FromNowhere, or FromUnknown. Whoever watches gets first what
// brings them from there to now, or everything if that is not known, and then
// what changes. The caller must Leave.
//
// The view is what the show was like when the viewer came.
func (ms *Maps) Watch(ctx context.Context, id uuid.UUID, after int64) (*Viewer, *View, error) {
	v := &Viewer{maps: ms, feed: ms.follow(id), turn: rand.Uint32()}
	view, err := ms.Read(ctx, id)
	if err == nil {
		err = ms.let(v.feed)
	}
	if err == nil {
		v.first, v.next, err = v.feed.enter(ctx, ms, after)
	}
	if err != nil {
		v.Leave()
		if boxoffice.CodeOf(err) == boxoffice.CodeNotFound {
			ms.mu.Lock()
			defer ms.mu.Unlock()
			ms.drop(v.feed.show)
		}
		return nil, nil, err
	}
	return v, view, nil
}

// Next returns what the viewer has not been told yet, a number of whole
// events; or nothing, and then more is closed when there is something. Who is
// too far behind is told everything anew. The bytes are shared.
func (v *Viewer) Next() (frame []byte, more <-chan struct{}) {
	if frame, v.first = v.first, nil; frame != nil {
		return frame, nil
	}
	f := v.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if v.next < f.first {
		v.next = f.end()
		return f.snapshot(v.maps, true), nil
	}
	if v.next == f.end() {
		return nil, f.more
	}
	v.next++
	return f.frames[v.next-1-f.first].bytes, nil
}

// Rest lets a viewer who has been told everything be told what follows by ear,
// so that it costs no goroutine. It reports whether the viewer rests: not when
// there is something to tell already, nor after [Maps.Rouse].
func (v *Viewer) Rest(ear Ear) bool {
	f := v.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if v.first != nil || v.next != f.end() || v.maps.roused.Load() {
		return false
	}
	v.ear = ear
	f.resting = append(f.resting, v)
	return true
}

// tell tells a viewer who rested what is new, or that nothing is.
func (v *Viewer) tell() {
	for {
		frame, _ := v.Next()
		if !v.ear.Hear(frame) || v.Rest(v.ear) {
			return
		}
	}
}

// Beat tells one in so many of the viewers who rest that nothing is new: those
// whose turn it is, others for each part from 0 to of-1. Connections through
// which nothing is sent are closed by what is in between, and whether somebody
// has left is seen only when something is sent.
func (ms *Maps) Beat(part, of uint32) {
	var due []*Viewer
	for _, f := range ms.watching() {
		f.mu.Lock()
		f.resting = slices.DeleteFunc(f.resting, func(v *Viewer) bool {
			if v.turn%of != part {
				return false
			}
			due = append(due, v)
			return true
		})
		f.mu.Unlock()
	}
	ms.tell(due)
}

// Rouse ends all resting, for good: every ear hears of it.
func (ms *Maps) Rouse() {
	ms.roused.Store(true)
	ms.Beat(0, 1)
}

// watching are the feeds that there are.
func (ms *Maps) watching() []*feed {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return slices.Collect(maps.Values(ms.feeds))
}

// Now is the time by the clock of the database.
func (v *Viewer) Now() time.Time {
	v.feed.mu.Lock()
	defer v.feed.mu.Unlock()
	return v.feed.clock.now()
}

// Leave ends the watching.
func (v *Viewer) Leave() {
	ms, f := v.maps, v.feed
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if f.viewers--; f.viewers > 0 {
		return
	}
	s := f.show
	s.feed.Store(nil)
	s.place = ms.recent.PushFront(s)
	ms.watched, ms.places = ms.watched-s.places, ms.places+s.places
	delete(ms.feeds, s.id)
	close(f.ended)
	ms.shed()
}

// follow counts a viewer of a show, and begins its feed with the first.
func (ms *Maps) follow(id uuid.UUID) *feed {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	f := ms.feeds[id]
	if f == nil {
		s := ms.entry(id)
		ms.recent.Remove(s.place)
		s.place = nil
		ms.watched, ms.places = ms.watched+s.places, ms.places-s.places
		f = &feed{show: s, wake: make(chan struct{}, 1), ended: make(chan struct{}), more: make(chan struct{})}
		s.feed.Store(f)
		ms.feeds[id] = f
		f.stir() // it does not know yet when the first hold ends
		go f.run(ms)
	}
	f.viewers++
	return f
}

// let lets a viewer in, unless the maps of what is watched fill the memory
// already and nobody watches this one.
func (ms *Maps) let(f *feed) error {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if !f.let && ms.watched > ms.watchedMax {
		e := boxoffice.Refuse(boxoffice.CodeOverloaded, "This instance keeps the maps of as many shows as it can; this one can be read, and not be watched.")
		e.RetryAfter = crowdedWait
		return e
	}
	f.let = true
	return nil
}

// Run keeps the watched shows up to date until ctx ends: by what the loader
// tells, and by asking each second for what nobody told.
func (ms *Maps) Run(ctx context.Context) error {
	heard := make(chan error, 1)
	go func() { heard <- ms.loader.Listen(ctx, ms.changed) }()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		select {
		case <-ms.stirred:
		case <-poll.C:
		case err := <-heard:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		}
		began := time.Now()
		ms.compare(ctx)
		// Where very many shows are watched the question takes its time, and must
		// not take all of the database's.
		select {
		case <-time.After(min(max(pollPause, 3*time.Since(began)), pollEvery)):
		case <-ctx.Done():
		}
	}
}

// changed is told of a show that this process changed, or of any that another
// did.
func (ms *Maps) changed(id uuid.UUID) {
	if id == uuid.Nil {
		select {
		case ms.stirred <- struct{}{}:
		default:
		}
		return
	}
	ms.mu.Lock()
	f := ms.feeds[id]
	ms.mu.Unlock()
	if f != nil {
		f.stir()
	}
}

// compare looks which of the watched shows have moved, with one question.
func (ms *Maps) compare(ctx context.Context) {
	feeds := ms.watching()
	if len(feeds) == 0 || ctx.Err() != nil {
		return
	}
	ids := make([]uuid.UUID, len(feeds))
	for i, f := range feeds {
		ids[i] = f.show.id
	}
	ctx, cancel := context.WithTimeout(ctx, checkMax)
	defer cancel()
	versions, now, err := ms.loader.ReadShowVersions(ctx, ids)
	for i, f := range feeds {
		if err != nil && !f.stale() || err == nil && !f.knows(versions[ids[i]], now) {
			f.stir()
		}
	}
}

// knows reports whether the viewers have been told of a version, and of all
// that time does to it; and sets the clock.
func (f *feed) knows(version int64, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !now.IsZero() { // of a show that there is
		f.clock = clock{now, time.Now()}
	}
	v := f.view
	return v != nil && v.Version == version && !v.Stale && !now.Before(v.Since) && (v.until.IsZero() || now.Before(v.until))
}

// stale reports whether the viewers know already that the database is away.
func (f *feed) stale() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.view != nil && f.view.Stale
}

// Viewers is how many watch a show.
func (ms *Maps) Viewers(id uuid.UUID) int {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if f := ms.feeds[id]; f != nil {
		return f.viewers
	}
	return 0
}
