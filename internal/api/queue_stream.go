package api

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"reflect"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

const (
	queuePoll  = 500 * time.Millisecond
	askTimeout = 5 * time.Second // of the database, for news

	// Whoever is far from their turn is told less often than the head moves.
	nearPosition = 500
	nearEvery    = time.Second
	farEvery     = 5 * time.Second
)

// queueRooms are the waiting rooms that somebody watches at this instance. One
// goroutine asks for one number for all who watch a room: what it costs the
// database does not depend on how many there are.
type queueRooms struct {
	ask    func(ctx context.Context, show uuid.UUID) (*store.QueueState, error)
	rounds func(ctx context.Context, show uuid.UUID, from, limit int) ([]boxoffice.QueueRound, error)

	mu    sync.Mutex
	rooms map[uuid.UUID]*queueRoom
}

// queueRoom is a waiting room that somebody watches.
type queueRoom struct {
	rooms    *queueRooms
	show     uuid.UUID
	watchers int // under queueRooms.mu
	stop     context.CancelFunc

	mu    sync.Mutex
	state *store.QueueState
	news  chan struct{} // closed when state is no longer the last

	drawing sync.Mutex
	drawn   map[int]*boxoffice.QueueRound
}

// enter begins to watch a room whose state is known.
func (q *queueRooms) enter(show uuid.UUID, known *store.QueueState) *queueRoom {
	q.mu.Lock()
	defer q.mu.Unlock()
	r := q.rooms[show]
	if r == nil {
		ctx, stop := context.WithCancel(context.Background())
		r = &queueRoom{rooms: q, show: show, stop: stop, state: known, news: make(chan struct{}), drawn: map[int]*boxoffice.QueueRound{}}
		if q.rooms == nil {
			q.rooms = map[uuid.UUID]*queueRoom{}
		}
		q.rooms[show] = r
		go r.watch(ctx)
	}
	r.learn(known) // who comes from another instance may have been told of it there
	r.watchers++
	return r
}

func (r *queueRoom) leave() {
	r.rooms.mu.Lock()
	defer r.rooms.mu.Unlock()
	if r.watchers--; r.watchers == 0 {
		delete(r.rooms.rooms, r.show)
		r.stop()
	}
}

// watch asks for news until nobody watches any more. While the database is away
// everybody is where they were.
func (r *queueRoom) watch(ctx context.Context) {
	tick := time.NewTicker(queuePoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asking, cancel := context.WithTimeout(ctx, askTimeout)
		state, err := r.rooms.ask(asking, r.show)
		cancel()
		if err == nil {
			r.learn(state)
		}
	}
}

// learn takes in a state that was read, unless what was read later came sooner:
// nobody's position rises by that.
func (r *queueRoom) learn(state *store.QueueState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.state
	if state.Head.Head < old.Head.Head && state.Now.Before(old.Now) {
		return
	}
	r.state = state
	if old.Head != state.Head || old.Terms.QueueOpen != state.Terms.QueueOpen || old.Terms.QueueState(old.Now) != state.Terms.QueueState(state.Now) {
		close(r.news)
		r.news = make(chan struct{})
	}
}

// now is the room's state, and what is closed when there is another.
func (r *queueRoom) now() (*store.QueueState, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state, r.news
}

// place is where an entry is in the whole order; 0 until that is known, and
// while the database is away. A round is read once for all who are in it.
func (r *queueRoom) place(v *store.QueueView) int64 {
	round := r.round(v.Round)
	if round == nil {
		return 0
	}
	return round.Position(v.Number)
}

// round is a round that is drawn; nil: it is not, or the database is away.
func (r *queueRoom) round(no int) *boxoffice.QueueRound {
	r.drawing.Lock()
	defer r.drawing.Unlock()
	if r.drawn[no] == nil {
		ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
		defer cancel()
		list, err := r.rooms.rounds(ctx, r.show, no, 1)
		if err != nil || len(list) == 0 || !list[0].Drawn() {
			return nil
		}
		r.drawn[no] = &list[0]
	}
	return r.drawn[no]
}

type streamQueueInput struct {
	EntryID     uuid.UUID `path:"entryId" format:"uuid" doc:"The entry" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d80"`
	StreamToken string    `query:"streamToken" maxLength:"100" doc:"As joining answered it" example:"pQ3x…"`
}

// The events of a queue entry's stream.
type (
	// QueuePositionEvent is where the entry is.
	QueuePositionEvent struct {
		Position             int64     `json:"position,omitempty" doc:"How many turns until it is theirs, their own included; missing until they are drawn. It only falls" example:"1204"`
		EstimatedWaitSeconds int64     `json:"estimatedWaitSeconds,omitempty" doc:"About how long that takes" example:"121"`
		Waiting              int64     `json:"waiting" doc:"Entries of the show that have not been called" example:"48210"`
		Open                 bool      `json:"open" doc:"Whether a turn is needed to hold places" example:"true"`
		Reason               string    `json:"reason,omitempty" doc:"Why nobody is called now: before_sales, paused" example:"before_sales"`
		ServerTime           time.Time `json:"serverTime" doc:"When it was so, database clock" example:"2026-11-27T20:00:00.123456Z"`
	}
	// QueueAdmittedEvent is the customer's turn.
	QueueAdmittedEvent struct {
		Token      string    `json:"token" doc:"Send it as X-Queue-Token with POST /reservations" example:"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.…"`
		ExpiresAt  time.Time `json:"expiresAt" doc:"When it is over, unless something is held before; once something was, until when the customer may hold again" example:"2026-11-27T20:02:00.123456Z"`
		Used       bool      `json:"used" doc:"Something was held with it" example:"false"`
		ServerTime time.Time `json:"serverTime" doc:"The clock to count down to expiresAt by" example:"2026-11-27T20:00:00.123456Z"`
	}
	// QueueExpiredEvent says that the turn was missed.
	QueueExpiredEvent struct {
		ReturnUntil time.Time `json:"returnUntil" doc:"Until when the customer may come back, by joining again" example:"2026-11-27T20:12:00.123456Z"`
		ServerTime  time.Time `json:"serverTime" doc:"The clock to count down to returnUntil by" example:"2026-11-27T20:02:00.123456Z"`
	}
	// QueueEndedEvent is the last one: there is nothing to wait for.
	QueueEndedEvent struct {
		Reason     string    `json:"reason" enum:"sold_out,cancelled,ended,after_sales,closed,left,turn_over" doc:"sold_out, cancelled, ended, after_sales: of the show; closed: places can be held without a turn; left, turn_over: of the entry" example:"sold_out"`
		ServerTime time.Time `json:"serverTime" doc:"When it was so, database clock" example:"2026-11-27T20:30:00.123456Z"`
	}
)

// queueEvents are the events of a queue entry's stream, in the order of the
// docs.
var queueEvents = []eventKind{
	{"position", reflect.TypeFor[QueuePositionEvent](), "Where the entry is."},
	{"admitted", reflect.TypeFor[QueueAdmittedEvent](), "It is the customer's turn."},
	{"expired", reflect.TypeFor[QueueExpiredEvent](), "The turn was missed. Join again."},
	{"ended", reflect.TypeFor[QueueEndedEvent](), "Nothing more comes. Close the EventSource."},
	{"heartbeat", reflect.TypeFor[HeartbeatEvent](), "The stream is alive."},
	{"closing", reflect.TypeFor[ClosingEvent](), "The server stops."},
}

const queueStreamNote = `Server-sent events; each says all there is to know at that time, so that nothing has to be resumed. Authorised by ` + "`streamToken`" + `, since browsers send no headers with an EventSource.

` + "`position`" + ` comes first, as a rule, and whenever the head has moved: every second to who is near, every five seconds to others. Positions only fall. ` + "`admitted`" + ` has the token. ` + "`expired`" + ` says that the turn was missed; after joining again the same stream goes on. After ` + "`ended`" + ` nothing comes: close the EventSource, or it comes back for ever. ` + "`closing`" + ` is the last event of a server that stops. Events with other names may come one day; ignore them.`

func (a *API) streamQueueEntry(ctx context.Context, call *Call, in *streamQueueInput) (*struct{}, error) {
	if !a.queue.mayWatch(in.EntryID, in.StreamToken) {
		return nil, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such queue entry, or the streamToken is not its own.")
	}
	v, err := a.opts.Store.QueueEntry(ctx, uuid.Nil, "", in.EntryID)
	if err != nil {
		return nil, err
	}
	st, err := a.opts.Store.QueueState(ctx, v.ShowID)
	if err != nil {
		return nil, err
	}
	room := a.rooms.enter(v.ShowID, st)
	w := &queueWatcher{sender: sender{leave: room.leave}, room: room, v: v}
	return nil, call.x.flow(ctx, &w.sender, w.run)
}

// queueWatcher tells one client what becomes of an entry.
type queueWatcher struct {
	sender
	room  *queueRoom
	v     store.QueueView // as it was read last
	place int64           // in the whole order; 0: not known yet
	told  string          // the last event, so that none is told twice
	spoke time.Time       // when anything was sent last
	again time.Time       // when it must be read again, process clock; zero: not by itself
}

// run tells what there is to tell until the entry is over, the client has gone,
// or the server stops.
func (w *queueWatcher) run(head []byte, gone <-chan struct{}) {
	w.spoke = time.Now()
	err := w.send(w.retry(head))
	for over := false; err == nil && !over; {
		st, news := w.room.now()
		var pause time.Duration
		pause, over, err = w.tell(st)
		// First a while in which nobody wants to hear more, then until there is
		// something.
		if pause > 0 && err == nil && !over {
			err = w.sleep(pause, nil, gone)
		}
		if err == nil && !over {
			wait := heartbeatEvery - time.Since(w.spoke)
			if !w.again.IsZero() {
				wait = min(wait, time.Until(w.again))
			}
			err = w.sleep(wait, news, gone)
		}
		if err == nil && !over && time.Since(w.spoke) >= heartbeatEvery {
			err = w.say("heartbeat", HeartbeatEvent{st.Now.UTC()})
		}
	}
	w.finish(err)
}

// sleep waits for a while, or until there is news.
func (w *queueWatcher) sleep(d time.Duration, news, gone <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-news:
	case <-timer.C:
	case <-gone:
		return net.ErrClosed
	case <-w.a.closing:
		return w.close()
	}
	return nil
}

// tell sends what is new, and returns how long the client wants to hear nothing
// more, and whether there will be no more.
func (w *queueWatcher) tell(st *store.QueueState) (pause time.Duration, over bool, err error) {
	if w.v.Status == boxoffice.QueueWaiting && w.place == 0 && w.v.Number <= st.Head.Drawn {
		if w.place = w.room.place(&w.v); w.place == 0 {
			return nearEvery, false, nil
		}
	}
	called := w.v.Status == boxoffice.QueueWaiting && w.place > 0 && w.place <= st.Head.Head
	if called || !w.again.IsZero() && !time.Now().Before(w.again) {
		if !w.read() {
			return nearEvery, false, nil
		}
	}
	now := st.Now.UTC()
	if reason := endOf(st); reason != "" {
		return 0, true, w.end(reason, now)
	}
	switch v := &w.v; v.Status {
	case boxoffice.QueueAdmitted:
		w.readAt(turnEnds(v))
		e := QueueAdmittedEvent{w.a.queue.token(v), turnEnds(v).UTC(), !v.SessionEndsAt.IsZero(), now}
		return 0, false, w.once("admitted", e, e.Token)
	case boxoffice.QueueExpired:
		if v.ReturnUntil.IsZero() {
			return 0, true, w.end("turn_over", now)
		}
		w.readAt(v.Now.Add(farEvery)) // they may have joined again
		return 0, false, w.once("expired", QueueExpiredEvent{v.ReturnUntil.UTC(), now}, v.ReturnUntil.String())
	case boxoffice.QueueLeft:
		return 0, true, w.end("left", now)
	}
	e := QueuePositionEvent{Waiting: st.Head.Joined - st.Head.Head, Open: st.Terms.QueueOpen, Reason: st.Terms.QueueState(st.Now), ServerTime: now}
	pause = farEvery
	if w.place > 0 {
		// Who came back is behind the head, and next.
		e.Position = max(1, w.place-st.Head.Head)
		e.EstimatedWaitSeconds = int64(st.Terms.Queue.Wait(e.Position) / time.Second)
		if e.Position <= nearPosition {
			pause = nearEvery
		}
	}
	return pause, false, w.once("position", e, fmt.Sprint(e.Position, e.Waiting, e.Open, e.Reason))
}

// read reads the entry again, and reports whether that worked. It is tried
// again soon.
func (w *queueWatcher) read() bool {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	v, err := w.a.opts.Store.QueueEntry(ctx, uuid.Nil, "", w.v.EntryID)
	if err != nil {
		w.again = time.Now().Add(nearEvery)
		return false
	}
	w.v, w.again = v, time.Time{}
	return true
}

// readAt has the entry read again at an instant of the database's clock.
func (w *queueWatcher) readAt(at time.Time) {
	if w.again.IsZero() {
		w.again = time.Now().Add(max(nearEvery/10, at.Sub(w.v.Now)))
	}
}

// say sends one event.
func (w *queueWatcher) say(name string, e any) error {
	b := buffers.Get().(*bytes.Buffer)
	defer putBuffer(b)
	appendEvent(b, name, 0, e)
	w.spoke = time.Now()
	return w.send(b.Bytes())
}

// once sends an event unless it says what the last one said.
func (w *queueWatcher) once(name string, e any, says string) error {
	if says = name + " " + says; says == w.told {
		return nil
	}
	w.told = says
	return w.say(name, e)
}

// end sends the last event. Who comes back all the same is to do so seldom.
func (w *queueWatcher) end(reason string, now time.Time) error {
	if err := w.send([]byte("retry: 60000\n")); err != nil {
		return err
	}
	return w.say("ended", QueueEndedEvent{reason, now})
}

// endOf is why nobody needs the waiting room any more; "": they do.
func endOf(st *store.QueueState) string {
	reason := st.Terms.QueueState(st.Now)
	switch {
	case reason == string(boxoffice.ShowCancelled), reason == string(boxoffice.ShowEnded), reason == "after_sales":
		return reason
	case st.Terms.QueueOpen, reason == "before_sales", reason == string(boxoffice.ShowPaused):
		return ""
	case reason == boxoffice.QueueSoldOut:
		return reason
	}
	return boxoffice.QueueByHand
}
