package boxoffice

import (
	"math"
	"time"

	"github.com/google/uuid"
)

// QueueMode says when a show's waiting room opens by itself.
type QueueMode string

// The modes. By hand it can be opened and closed in either.
const (
	QueueOff       QueueMode = "off"       // never by itself
	QueueAutomatic QueueMode = "automatic" // when more people arrive than the threshold
)

// Queue are the settings of a show's waiting room.
type Queue struct {
	Mode             QueueMode `json:"mode" enum:"off,automatic" doc:"off: it opens by hand only; automatic: people may join before the sale, and it opens by itself above threshold" example:"automatic"`
	Threshold        int       `json:"threshold" minimum:"1" maximum:"10000000" doc:"Arrivals within ten seconds, or people who have joined before the sale, above which it opens by itself" example:"10000"`
	RatePerMinute    int       `json:"ratePerMinute" minimum:"1" maximum:"1000000" doc:"How many people are let in a minute" example:"600"`
	AdmissionSeconds int       `json:"admissionSeconds" minimum:"1" maximum:"3600" doc:"How long somebody whose turn it is has to hold something, seconds" example:"120"`
	SessionSeconds   int       `json:"sessionSeconds" minimum:"1" maximum:"86400" doc:"How long somebody may hold again, seconds from their first hold" example:"600"`
	ReturnSeconds    int       `json:"returnSeconds" minimum:"0" maximum:"86400" doc:"How long somebody who missed their turn may come back, once, seconds" example:"600"`
	SizeMax          int       `json:"sizeMax" minimum:"0" maximum:"100000000" doc:"How many people may wait; 0: any number" example:"0"`
	Beacon           string    `json:"beacon,omitempty" maxLength:"500" doc:"Source of the public value of the draw, named before: a round of a public randomness beacon, numbers of a lottery" example:"drand quicknet round 4242"`
}

// DefaultQueue is what holds for a show whose organiser has said nothing.
var DefaultQueue = Queue{Mode: QueueOff, Threshold: 10_000, RatePerMinute: 600, AdmissionSeconds: 120, SessionSeconds: 600, ReturnSeconds: 600}

// Limits and lengths of waiting rooms.
const (
	BeaconMax      = 500              // characters of a beacon's name, and of what it said
	QueueRoundTime = 3 * time.Second  // within which people who come later are drawn together
	QueueCallMax   = 10_000           // people called at once
	QueueFullRetry = 10 * time.Second // after which who found the room full may try again
	queueCatchUp   = 2 * time.Second  // of the rate, after a while in which nobody called
	queueCalmTime  = 5 * time.Minute  // without a crowd, after which it closes by itself
)

// Why a waiting room is closed, or does not help.
const (
	QueueSoldOut = "sold_out" // no place is left, and none is held
	QueueByHand  = "closed"   // the organiser closed it: places can be held without it
	QueueCalm    = "calm"     // the crowd is gone: likewise
)

// check refuses settings out of range.
func (q *Queue) check(c *Checks) {
	c.Prefix = "queue."
	c.Between("threshold", int64(q.Threshold), 1, 10_000_000)
	c.Between("ratePerMinute", int64(q.RatePerMinute), 1, 1_000_000)
	c.Between("admissionSeconds", int64(q.AdmissionSeconds), 1, 3600)
	c.Between("sessionSeconds", int64(q.SessionSeconds), 1, 86_400)
	c.Between("returnSeconds", int64(q.ReturnSeconds), 0, 86_400)
	c.Between("sizeMax", int64(q.SizeMax), 0, 100_000_000)
	c.Line("beacon", &q.Beacon, 0, BeaconMax)
	if q.Mode != QueueOff && q.Mode != QueueAutomatic {
		c.Add("mode", "must be off or automatic")
	}
	c.Prefix = ""
}

// QueueChange changes the settings of a waiting room. Nil fields stay.
type QueueChange struct {
	Mode             *QueueMode
	Threshold        *int
	RatePerMinute    *int
	AdmissionSeconds *int
	SessionSeconds   *int
	ReturnSeconds    *int
	SizeMax          *int
	Beacon           *string
}

// to makes the change, or refuses it.
func (ch *QueueChange) to(q *Queue) *Error {
	set(&q.Mode, ch.Mode)
	set(&q.Threshold, ch.Threshold)
	set(&q.RatePerMinute, ch.RatePerMinute)
	set(&q.AdmissionSeconds, ch.AdmissionSeconds)
	set(&q.SessionSeconds, ch.SessionSeconds)
	set(&q.ReturnSeconds, ch.ReturnSeconds)
	set(&q.SizeMax, ch.SizeMax)
	set(&q.Beacon, ch.Beacon)
	var c Checks
	if q.check(&c); c.Found != nil {
		return Invalid(c.Found...)
	}
	return nil
}

// SetQueue opens or closes a show's waiting room. Asking for what is already so
// changes nothing and succeeds.
type SetQueue struct {
	Open  bool
	Ended string // why it is closed: [QueueByHand], …
}

func (c *SetQueue) decide(b *batch) *Error {
	t := b.Terms
	if t.QueueOpen == c.Open {
		return nil
	}
	if s := t.StatusAt(b.Now); c.Open && s != ShowOnSale && s != ShowPaused {
		return Refuse(CodeConflict, "A show that is %s has no waiting room.", s)
	}
	next := *t
	next.QueueOpen, next.QueueEnded = c.Open, c.Ended
	what := "The waiting room is open."
	if !c.Open {
		what = "The waiting room is closed: " + c.Ended + "."
	} else {
		next.QueueEnded = ""
	}
	b.redefine(&next)
	b.log(Change{Type: ShowChanged, Before: string(t.Status), After: string(t.Status), Detail: what})
	return nil
}

// Joinable refuses who wants to join a waiting room that is not there.
func (t *Terms) Joinable(now time.Time) *Error {
	err := t.OnSale(now)
	early := err != nil && err.Facts.Reason == "before_sales"
	switch {
	case err != nil && !early && err.Facts.Reason != string(ShowPaused):
		return err
	case t.QueueOpen || early && t.Queue.Mode == QueueAutomatic:
		return nil
	}
	reason, detail := QueueByHand, "The waiting room is not open: places can be held without it."
	if t.QueueEnded == QueueSoldOut {
		reason, detail = QueueSoldOut, "The show is sold out, and its waiting room closed."
	}
	refused := Refuse(CodeConflict, "%s", detail)
	refused.Facts.Reason = reason
	return refused
}

// QueueFull refuses who wants to join a waiting room that has no room left.
func QueueFull() *Error {
	e := Refuse(CodeConflict, "The waiting room is full. Somebody is let in every moment: try again.")
	e.Facts.Reason, e.RetryAfter = "full", QueueFullRetry
	return e
}

// QueueState is why a waiting room does not move, or "": paused, cancelled,
// ended, before_sales, after_sales, or why it is closed.
func (t *Terms) QueueState(now time.Time) string {
	if err := t.OnSale(now); err != nil {
		return err.Facts.Reason
	}
	if !t.QueueOpen {
		return t.QueueEnded
	}
	return ""
}

// QueueHead is how far a waiting room has come. Everybody's position is where
// they are in the order, less Head: one number moves all of them.
type QueueHead struct {
	Joined int64     // entries so far, which is also the last number
	Drawn  int64     // of those, how many have a place in the order
	Head   int64     // whose place is up to this has been called
	Since  time.Time // up to when the rate has been used
	Freed  int64     // turns that were given back, to be passed on
	Rounds int
	Calm   time.Time // since when there is no crowd; zero: there is one
}

// Call uses up what the rate allows from Since until now, and what was given
// back. It returns how many are called of the back people who have missed their
// turn and come back, who are first, and how many of those in the order, by whom
// Head moves on. Of what nobody wanted one turn is saved up, for who comes next;
// more would let a crowd that comes later rush in. A clock that went back allows
// nothing until it is where it was.
func (h *QueueHead) Call(now time.Time, perMinute int, back int64) (again, next int64) {
	want := min(back+h.Drawn-h.Head, QueueCallMax)
	if now.Before(h.Since) {
		now = h.Since
	}
	rate := int64(perMinute)
	from := h.Since
	if most := queueCatchUp + time.Minute/time.Duration(rate); now.Sub(from) > most {
		from = now.Add(-most)
	}
	due := int64(now.Sub(from)) * rate / int64(time.Minute)
	turns := min(due+h.Freed, want)
	spent := max(min(due, turns), due-1)
	h.Since = from.Add(time.Duration(spent * int64(time.Minute) / rate))
	h.Freed -= max(0, turns-due)
	again = min(turns, back)
	next = turns - again
	if h.Head += next; h.Joined == h.Head && again == back {
		h.Freed = 0 // there is nobody to pass it on to, not even somebody who is to be drawn
	}
	return again, next
}

// Stand is Call for a waiting room that must not move. The time does not count,
// and what is given back meanwhile is nobody's: else all of it would rush in
// together when one place is free again.
func (h *QueueHead) Stand(now time.Time) {
	if h.Since.Before(now) {
		h.Since = now
	}
	h.Freed = 0
}

// Watch notes whether there is a crowd: more people than ten seconds let in. It
// says whether there has been none for so long that nobody needs the room.
func (h *QueueHead) Watch(now time.Time, perMinute int) (over bool) {
	if h.Joined-h.Head > int64(max(1, perMinute/6)) {
		h.Calm = time.Time{}
		return false
	}
	if h.Calm.IsZero() {
		h.Calm = now
	}
	return now.Sub(h.Calm) >= queueCalmTime
}

// Undrawn sets how many have a place in the order, from the rounds that are not
// drawn yet, in their order.
func (h *QueueHead) Undrawn(rounds []*QueueRound) {
	h.Drawn = h.Joined
	for _, r := range rounds {
		if !r.Drawn() {
			h.Drawn = r.First
			return
		}
	}
}

// Wait is about how long it takes until a position is called, at the rate.
func (q *Queue) Wait(position int64) time.Duration {
	seconds := math.Ceil(float64(position) * 60 / float64(q.RatePerMinute))
	return time.Duration(seconds) * time.Second
}

// QueueStatus is what a queue entry is.
type QueueStatus string

// The states of a queue entry.
const (
	QueueWaiting  QueueStatus = "waiting"
	QueueAdmitted QueueStatus = "admitted" // may hold
	QueueExpired  QueueStatus = "expired"  // did not come when it was their turn, or have had it
	QueueLeft     QueueStatus = "left"
)

// QueueEntry is one customer's place in a show's waiting room.
type QueueEntry struct {
	ID         uuid.UUID
	Number     int64 // from 1, in the order of joining
	Round      int
	CustomerID string
	JoinedAt   time.Time
	ClosedAt   time.Time // zero: they are in it
	Admission  *Admission
}

// Admission is somebody's turn: the right to hold places while the waiting room
// is open.
type Admission struct {
	Number        int64
	EntryID       uuid.UUID
	CustomerID    string
	Position      int64 // in the show's whole order
	Turn          int   // 1; 2 for who missed the first and came back
	AdmittedAt    time.Time
	LapsesAt      time.Time // when it is over unless it is used before
	SessionEndsAt time.Time // zero: it was not used yet
	ReservationID uuid.UUID // the last hold that was placed with it; zero: none
	ReturningAt   time.Time // zero: not missed, or not come back yet
	PassedOn      bool      // it was missed, and its turn is another's
	ClosedAt      time.Time // when its entry left; zero: it did not
	Booked        bool      // that hold was bought. Known to readers; the rules look at the hold

	dirty bool
}

// lives says whether it can be used at now, as far as its own times go.
func (a *Admission) lives(now time.Time) bool {
	if a.SessionEndsAt.IsZero() {
		return now.Before(a.LapsesAt)
	}
	return now.Before(a.SessionEndsAt)
}

// StatusAt is what the entry is at now, and until when it may come back, if it
// may.
func (e *QueueEntry) StatusAt(now time.Time, q *Queue) (status QueueStatus, returnUntil time.Time) {
	a := e.Admission
	switch {
	case !e.ClosedAt.IsZero():
		return QueueLeft, time.Time{}
	case a == nil || !a.ReturningAt.IsZero():
		return QueueWaiting, time.Time{}
	case a.lives(now) && !a.Booked:
		return QueueAdmitted, time.Time{}
	}
	until := a.LapsesAt.Add(time.Duration(q.ReturnSeconds) * time.Second)
	if a.Turn == 1 && a.SessionEndsAt.IsZero() && now.Before(until) {
		return QueueExpired, until
	}
	return QueueExpired, time.Time{}
}

// PositionAt is how many turns it takes until it is the entry's, itself
// included; 0 when it does not wait, or its round is not drawn yet.
func (e *QueueEntry) PositionAt(head int64, r *QueueRound) int64 {
	switch {
	case !e.ClosedAt.IsZero():
		return 0
	case e.Admission != nil && !e.Admission.ReturningAt.IsZero():
		return 1
	case e.Admission != nil || !r.Drawn():
		return 0
	}
	return max(1, r.Position(e.Number)-head)
}

// Pass is what a customer shows to hold places while the waiting room is open:
// the queue token, read.
type Pass struct {
	Forged     bool // it is not one of ours; nothing else is known
	ShowID     uuid.UUID
	Number     int64
	Turn       int
	CustomerID string
}

// admission finds the turn that a hold needs, or says why there is none. Nil
// without an error: none is needed.
func (b *batch) admission(c *PlaceReservation) (*Admission, *Error) {
	if !b.Terms.QueueOpen || b.cmd.Actor.Staff {
		return nil, nil
	}
	p := c.Pass
	if p == nil {
		return nil, Refuse(CodeQueueTokenRequired, "The waiting room is open: join it, and send the token that you get when it is your turn.")
	}
	if p.Forged || p.ShowID != b.Terms.ShowID || p.CustomerID != c.CustomerID {
		return nil, Refuse(CodeQueueTokenInvalid, "The token is not one for this customer and show.")
	}
	a := b.Admissions[p.Number]
	switch {
	case a == nil || a.CustomerID != p.CustomerID || !a.ClosedAt.IsZero():
		return nil, Refuse(CodeQueueTokenInvalid, "Nobody was admitted with this token, or they have left.")
	case a.Turn != p.Turn || a.PassedOn || !a.lives(b.Now): // who comes back has passed it on, too
		return nil, Refuse(CodeQueueTokenExpired, "The turn is over. Join the queue again, at queueUrl: who missed a turn may come back once.")
	case a.ReservationID == uuid.Nil:
		return a, nil
	}
	r := b.Reservations[a.ReservationID]
	if r == nil {
		return nil, Refuse(CodeInternal, "the hold of an admission was not loaded")
	}
	switch r.StatusAt(b.Now) {
	case ReservationActive:
		return nil, Refuse(CodeQueueTokenInvalid, "Something is held with this token already; change that reservation, or release it first.")
	case ReservationConsumed:
		return nil, Refuse(CodeQueueTokenInvalid, "Something was bought with this token; that was the turn.")
	}
	return a, nil
}

// use notes that a hold was placed with a turn. The first one begins the time
// in which the customer may hold again.
func (b *batch) use(a *Admission, r *Reservation) {
	if a == nil {
		return
	}
	if a.SessionEndsAt.IsZero() {
		a.SessionEndsAt = b.Now.Add(time.Duration(b.Terms.Queue.SessionSeconds) * time.Second)
	}
	a.ReservationID = r.ID
	if !a.dirty {
		a.dirty = true
		b.did.Admissions = append(b.did.Admissions, a)
	}
}
