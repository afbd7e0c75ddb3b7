package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

const (
	queuePoll    = 500 * time.Millisecond
	eventTimeout = 5 * time.Second // who takes an event slower is dropped, and comes back

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
		asking, cancel := context.WithTimeout(ctx, eventTimeout)
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
func (r *queueRoom) place(ctx context.Context, v *store.QueueView) int64 {
	r.drawing.Lock()
	round := r.drawn[v.Round]
	if round == nil {
		list, err := r.rooms.rounds(ctx, r.show, v.Round, 1)
		if err != nil || len(list) == 0 || !list[0].Drawn() {
			r.drawing.Unlock()
			return 0
		}
		round = &list[0]
		r.drawn[v.Round] = round
	}
	r.drawing.Unlock()
	return round.Position(v.Number)
}

type streamQueueInput struct {
	EntryID     uuid.UUID `path:"entryId" format:"uuid" doc:"The entry" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d80"`
	StreamToken string    `query:"streamToken" maxLength:"100" doc:"As joining answered it" example:"pQ3x…"`
}

type streamOutput struct {
	ContentType  string `header:"Content-Type" doc:"text/event-stream"`
	CacheControl string `header:"Cache-Control" doc:"Never kept"`
	Accel        string `header:"X-Accel-Buffering" doc:"Proxies must pass events on at once"`
	Body         func(huma.Context)
}

func (a *API) streamQueueEntry(ctx context.Context, call *Call, in *streamQueueInput) (*streamOutput, error) {
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
	return &streamOutput{eventStream, "no-store", "no", func(huma.Context) {
		room := a.rooms.enter(v.ShowID, st)
		defer room.leave()
		w := &queueWatcher{a: a, room: room, out: newEvents(call.x), v: v}
		_ = w.run(ctx) // the client has gone, or will come back
	}}, nil
}

// queueWatcher tells one client what becomes of an entry.
type queueWatcher struct {
	a     *API
	room  *queueRoom
	out   *events
	v     store.QueueView // as it was read last
	place int64           // in the whole order; 0: not known yet
	told  string          // the last event, so that none is told twice
	again time.Time       // when it must be read again, process clock; zero: not by itself
}

// The events of a queue entry's stream.
type (
	queuePosition struct {
		Position             int64     `json:"position,omitempty"`
		EstimatedWaitSeconds int64     `json:"estimatedWaitSeconds,omitempty"`
		Waiting              int64     `json:"waiting"`
		Open                 bool      `json:"open"`
		Reason               string    `json:"reason,omitempty"`
		ServerTime           time.Time `json:"serverTime"`
	}
	queueAdmitted struct {
		Token      string    `json:"token"`
		ExpiresAt  time.Time `json:"expiresAt"`
		Used       bool      `json:"used"`
		ServerTime time.Time `json:"serverTime"`
	}
	queueExpired struct {
		ReturnUntil time.Time `json:"returnUntil"`
		ServerTime  time.Time `json:"serverTime"`
	}
	queueEnded struct {
		Reason     string    `json:"reason"`
		ServerTime time.Time `json:"serverTime"`
	}
)

// run tells what there is to tell until the entry is over, the client has gone,
// or the server stops.
func (w *queueWatcher) run(ctx context.Context) error {
	for {
		st, news := w.room.now()
		pause, over, err := w.tell(ctx, st)
		if err != nil || over {
			return err
		}
		// First a while in which nobody wants to hear more, then until there is
		// something.
		for _, until := range []<-chan struct{}{nil, news} {
			wait := pause
			if until != nil {
				wait = heartbeatEvery
				if !w.again.IsZero() {
					wait = min(wait, max(0, time.Until(w.again)))
				}
			}
			timer := time.NewTimer(wait)
			select {
			case <-until:
			case <-timer.C:
			case <-ctx.Done():
				err = ctx.Err()
			case <-w.a.closing:
				err = w.out.send("closing", ClosingEvent{w.a.comeBack()})
				over = true
			}
			timer.Stop()
			if err != nil || over {
				return err
			}
		}
		if w.out.silent() >= heartbeatEvery {
			if err := w.out.send("heartbeat", HeartbeatEvent{st.Now.UTC()}); err != nil {
				return err
			}
		}
	}
}

// tell sends what is new, and returns how long the client wants to hear nothing
// more, and whether there will be no more.
func (w *queueWatcher) tell(ctx context.Context, st *store.QueueState) (pause time.Duration, over bool, err error) {
	if w.v.Status == boxoffice.QueueWaiting && w.place == 0 && w.v.Number <= st.Head.Drawn {
		if w.place = w.room.place(ctx, &w.v); w.place == 0 {
			return nearEvery, false, nil
		}
	}
	called := w.v.Status == boxoffice.QueueWaiting && w.place > 0 && w.place <= st.Head.Head
	if called || !w.again.IsZero() && !time.Now().Before(w.again) {
		if !w.read(ctx) {
			return 0, false, nil
		}
	}
	now := st.Now.UTC()
	if reason := endOf(st); reason != "" {
		return 0, true, w.out.send("ended", queueEnded{reason, now})
	}
	switch v := &w.v; v.Status {
	case boxoffice.QueueAdmitted:
		w.readAt(turnEnds(v))
		e := queueAdmitted{w.a.queue.token(v), turnEnds(v).UTC(), !v.SessionEndsAt.IsZero(), now}
		return 0, false, w.once("admitted", e, e.Token)
	case boxoffice.QueueExpired:
		if v.ReturnUntil.IsZero() {
			return 0, true, w.out.send("ended", queueEnded{"turn_over", now})
		}
		w.readAt(v.ReturnUntil)
		return 0, false, w.once("expired", queueExpired{v.ReturnUntil.UTC(), now}, "")
	case boxoffice.QueueLeft:
		return 0, true, w.out.send("ended", queueEnded{"left", now})
	}
	e := queuePosition{Waiting: st.Head.Joined - st.Head.Head, Open: st.Terms.QueueOpen, Reason: st.Terms.QueueState(st.Now), ServerTime: now}
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
func (w *queueWatcher) read(ctx context.Context) bool {
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

// once sends an event unless it says what the last one said.
func (w *queueWatcher) once(name string, e any, says string) error {
	if says = name + " " + says; says == w.told {
		return nil
	}
	w.told = says
	return w.out.send(name, e)
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

// events writes server-sent events.
type events struct {
	x    *exchange
	to   *http.ResponseController
	last time.Time
}

func newEvents(x *exchange) *events { return &events{x, http.NewResponseController(x), time.Now()} }

// silent is how long ago the last event was.
func (e *events) silent() time.Duration { return time.Since(e.last) }

// send writes one event at once. A client that does not take it is given up.
func (e *events) send(name string, data any) error {
	b := buffers.Get().(*bytes.Buffer)
	defer putBuffer(b)
	b.WriteString("event: " + name + "\ndata: ")
	if err := marshalJSON(b, data); err != nil { // ends with a new line
		return err
	}
	b.WriteByte('\n')
	_ = e.to.SetWriteDeadline(time.Now().Add(eventTimeout)) // a recorder in a test has none
	if _, err := e.x.Write(b.Bytes()); err != nil {
		return err
	}
	e.last = time.Now()
	return e.to.Flush()
}
