package main

import (
	"context"
	"net/http"
	"time"
)

// queueRules are the settings of the crowded show's waiting room: short, so
// that turns are missed, and narrow, so that people wait.
var queueRules = struct {
	perMinute                    int
	admission, session, comeBack time.Duration
	sizeMax                      int
}{30, 2 * time.Second, 20 * time.Second, 10 * time.Second, 6}

// queueGrace is how long who waits still waits when the load has ended, and
// queueMax how long anybody does.
const (
	queueGrace = 5 * time.Second
	queueMax   = 25 * time.Second
)

// queued is what an answer says about an entry of a waiting room.
type queued struct {
	EntryID     string
	Status      string
	Position    int64
	Waiting     int64
	Admission   *admission
	ReturnUntil time.Time
	StreamToken string
}

type admission struct {
	Token                 string
	AdmittedAt, ExpiresAt time.Time
}

// tells notes in o what an answer says about an entry.
func (q *queued) tells(o *Op, h *history) {
	o.Entry, o.EntryIs, o.Position, o.Waiting = q.EntryID, q.Status, q.Position, q.Waiting
	if a := q.Admission; a != nil {
		o.TurnEnds = h.on(a.ExpiresAt)
		if !a.AdmittedAt.IsZero() {
			o.Admitted = h.on(a.AdmittedAt)
		}
	}
}

// pass is a queue token, and what its owner knows of it.
type pass struct {
	token, whose, entry string
	admitted, ends      int64
}

// Whose turn is shown.
const (
	ownTurn     = "own"
	anothersOne = "another's"
)

// shows shows a turn with the holds that follow.
func (v *visit) shows(q *queued, whose string) {
	o := &Op{}
	q.tells(o, v.h)
	v.pass = &pass{q.Admission.Token, whose, q.EntryID, o.Admitted, o.TurnEnds}
}

// queuer goes to the show with a waiting room until ctx ends. stop ends even
// what is not answered.
func (c *client) queuer(ctx, stop context.Context, r *round) {
	among := r.among(func(sh *show) bool { return sh.crowded })
	for n := uint64(0); ctx.Err() == nil; n++ {
		v := newVisit(c, r, n, among)
		v.queue(ctx, stop)
		rest(ctx, time.Duration(v.plan.IntN(200))*time.Millisecond)
	}
}

// queue is a visit from the door of the waiting room on.
func (v *visit) queue(ctx, stop context.Context) {
	seats, units := v.want()
	if v.chance(20) { // past it
		v.place(stop, seats, units, "")
	}
	q := v.join(stop)
	if q == nil {
		rest(ctx, 500*time.Millisecond) // it is full
		return
	}
	if v.chance(10) { // on the other device: the entry is the same
		v.join(stop)
	}
	if v.chance(8) {
		rest(ctx, time.Duration(v.plan.IntN(1500))*time.Millisecond)
		v.leave(stop, q)
		return
	}
	sleeps, forgets := v.chance(12), v.chance(70)
	if q = v.await(ctx, stop, q); q.Admission != nil && sleeps {
		// Until the turn is over, and tries it all the same.
		rest(ctx, time.Until(q.Admission.ExpiresAt)+100*time.Millisecond)
		v.shows(q, ownTurn)
		v.place(stop, seats, units, "")
		q = v.readEntry(stop, q)
	}
	if q.Status == "expired" { // comes back
		if back := v.join(stop); back != nil {
			q = v.await(ctx, stop, back)
		}
	}
	if q.Admission != nil {
		v.useTurn(stop, q, seats, units)
	}
	if q.Admission == nil || !forgets {
		v.leave(stop, q)
	}
}

// closeRoom lets everybody in without a turn for a moment, and tries a draw that
// nobody has named a beacon for.
func (v *visit) closeRoom(ctx context.Context) {
	set := func(do verb, what string) {
		o := v.op(do)
		req := request{method: http.MethodPost, path: "/shows/" + v.show.id + "/queue/" + what, key: newKey(v.plan)}
		again := v.chance(20)
		a := v.send(ctx, o, req, nil)
		v.done(ctx, o, req, a, again)
	}
	set(closeQueue, "close")
	rest(ctx, time.Duration(v.plan.IntN(1000))*time.Millisecond)
	o := v.op(drawQueue)
	v.send(ctx, o, request{method: http.MethodPost, path: "/shows/" + v.show.id + "/queue/draw", body: object{"publicValue": "6, 9, 13"}}, nil)
	v.h.add(o)
	if o.ok() {
		v.t.found("the waiting room of %s was drawn by a value that nobody had said would come", v.show.title)
	}
	set(openQueue, "open")
}

// join joins the waiting room, or comes back to it.
func (v *visit) join(ctx context.Context) *queued {
	o := v.op(queueUp)
	req := request{method: http.MethodPost, path: "/shows/" + v.show.id + "/queue", customer: v.customer, key: newKey(v.plan)}
	if v.chance(10) {
		req.patience = 1
	}
	again := v.chance(10)
	var q queued
	a := v.send(ctx, o, req, &q)
	if o.ok() {
		q.tells(o, v.h)
	}
	v.done(ctx, o, req, a, again)
	if !o.ok() {
		return nil
	}
	return &q
}

func (v *visit) leave(ctx context.Context, q *queued) {
	o := v.op(leaveQueue)
	o.Entry = q.EntryID
	req := request{method: http.MethodDelete, path: "/queue/" + q.EntryID, customer: v.customer, key: newKey(v.plan)}
	again := v.chance(20)
	a := v.send(ctx, o, req, nil)
	v.done(ctx, o, req, a, again)
}

// await waits for something to become of an entry that waits, by its stream or
// by asking, and returns what is known of it then.
func (v *visit) await(ctx, stop context.Context, q *queued) *queued {
	streams := v.chance(50)
	patience, cancel := context.WithTimeout(stop, queueMax)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(queueGrace, cancel) })()
	for q.Status == "waiting" && patience.Err() == nil {
		if streams {
			q = v.hearEntry(patience, q)
			rest(patience, 50*time.Millisecond)
			continue
		}
		rest(patience, time.Duration(100+v.plan.IntN(300))*time.Millisecond)
		q = v.readEntry(stop, q)
	}
	return q
}

// readEntry reads an entry of the waiting room.
func (v *visit) readEntry(ctx context.Context, old *queued) *queued {
	o := v.op(look)
	o.What, o.Entry = "queue entry", old.EntryID
	var q queued
	a := v.send(ctx, o, request{method: http.MethodGet, path: "/queue/" + old.EntryID, customer: v.customer}, &q)
	if o.ok() {
		q.tells(o, v.h)
	}
	v.h.add(o)
	if !o.ok() {
		if o.known() {
			v.t.found("entry %s of the waiting room was acknowledged, and then read as %d %s", old.EntryID, a.status, a.problem.Code)
		}
		return old
	}
	return &q
}

// hearEntry watches an entry by its stream, until that ends or something
// becomes of the entry.
func (v *visit) hearEntry(ctx context.Context, old *queued) *queued {
	q := *old
	ctx, leave := context.WithTimeout(ctx, 500*time.Millisecond+time.Duration(v.plan.IntN(5000))*time.Millisecond)
	defer leave()
	path := "/queue/" + q.EntryID + "/stream?streamToken=" + q.StreamToken
	s := v.listen(ctx, request{method: http.MethodGet, path: path, customer: v.customer})
	if s == nil {
		return &q
	}
	defer s.close()
	for {
		e, err := s.next()
		if err != nil {
			return &q
		}
		var said struct {
			Position, Waiting int64
			Token             string
			ExpiresAt         time.Time
			ReturnUntil       time.Time
			Reason            string
		}
		e.says(v.client, path, &said)
		switch e.name {
		case "position":
			q.Position, q.Waiting = said.Position, said.Waiting
		case "admitted":
			q.Status, q.Position, q.Admission = "admitted", 0, &admission{Token: said.Token, ExpiresAt: said.ExpiresAt}
		case "expired":
			q.Status, q.Position, q.ReturnUntil = "expired", 0, said.ReturnUntil
		case "ended":
			q.Status, q.Position = "ended: "+said.Reason, 0
		case "heartbeat", "closing":
			continue
		default:
			v.t.found("the stream %s said %q", path, e.name)
		}
		o := v.op(look)
		o.Client, o.Customer, o.Tries, o.What, o.Status = v.id, v.customer, 1, "queue stream", http.StatusOK
		o.Call = v.h.now()
		o.Return = o.Call
		q.tells(o, v.h)
		v.t.counts.did(o)
		v.h.add(o)
		if q.Status != "waiting" {
			return &q
		}
	}
}

// useTurn holds places with a turn, and whatever else can be tried with one.
func (v *visit) useTurn(ctx context.Context, q *queued, seats []int, units int) {
	v.shows(q, ownTurn)
	if v.chance(15) { // somebody else has got hold of the token
		thief := *v
		thief.customer, thief.pass = newID(v.plan).String(), &pass{token: v.pass.token, whose: anothersOne, entry: q.EntryID}
		thief.place(ctx, seats, units, "")
	}
	h := v.place(ctx, seats, units, "")
	if h == nil { // what is refused does not use it up
		seats, units = nil, 1
		if h = v.place(ctx, seats, units, ""); h == nil {
			return
		}
	}
	more, moreUnits := v.want()
	if v.chance(25) { // a second one beside the first
		v.place(ctx, more, moreUnits, "")
	}
	if v.chance(40) {
		v.release(ctx, h)
		if h = v.place(ctx, more, moreUnits, ""); h == nil {
			return
		}
	}
	rest(ctx, time.Duration(v.plan.IntN(200))*time.Millisecond)
	switch n := v.plan.IntN(100); {
	case n < 50:
		v.pay(ctx, h, v.token(), newKey(v.plan), false)
		v.settle(ctx, h)
		if v.chance(40) { // once more, when that was bought
			v.place(ctx, seats, units, "")
		}
	case n < 75:
		v.release(ctx, h)
	default:
		v.outlast(ctx, h)
	}
}
