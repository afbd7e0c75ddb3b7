package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// The waiting room: what store.Store does with it, done with the world's
// tables, what people do with it, and what the auditor knows of it. Everybody
// has their place in the order in which they come: how lots are drawn is not
// for the lane.

// room is a waiting room as it is written down.
type room struct {
	head    boxoffice.QueueHead
	entries []*boxoffice.QueueEntry // by number, from 1
	answers map[uuid.UUID]int64     // numbers that were answered to keys
}

// now is the room's time when the clock says so: it never goes back.
func (r *room) now(clock time.Time) time.Time {
	if clock.Before(r.head.Since) {
		return r.head.Since
	}
	return clock
}

// of is a customer's entry that has not ended, as it is read; nil: there is none.
func (t *tables) of(customer string) *boxoffice.QueueEntry {
	for _, e := range t.room.entries {
		if e.CustomerID == customer && e.ClosedAt.IsZero() {
			read := *e
			if a := e.Admission; a != nil {
				read.Admission = copyAdmission(a)
				r := t.holds[a.ReservationID]
				read.Admission.Booked = r != nil && r.Status == boxoffice.ReservationConsumed
			}
			return &read
		}
	}
	return nil
}

func copyAdmission(a *boxoffice.Admission) *boxoffice.Admission {
	return &boxoffice.Admission{
		Number: a.Number, EntryID: a.EntryID, CustomerID: a.CustomerID, Position: a.Position, Turn: a.Turn, AdmittedAt: a.AdmittedAt, LapsesAt: a.LapsesAt,
		SessionEndsAt: a.SessionEndsAt, ReservationID: a.ReservationID, ReturningAt: a.ReturningAt, PassedOn: a.PassedOn, ClosedAt: a.ClosedAt, Booked: a.Booked,
	}
}

// admissions loads the turns that holds need, with the last holds that were
// placed with them.
func (l *loading) admissions() {
	for _, n := range l.turns {
		if n < 1 || int(n) > len(l.t.room.entries) || l.st.Admissions[n] != nil {
			continue
		}
		if a := l.t.room.entries[n-1].Admission; a != nil {
			l.st.Admissions[n] = copyAdmission(a)
			l.hold(a.ReservationID)
		}
	}
}

// enter gives a customer a place in the room.
func (t *tables) enter(w *world, customer string, clock time.Time) (int64, error) {
	now, h := t.room.now(clock), &t.room.head
	if err := t.terms.Joinable(now); err != nil {
		return 0, err
	}
	if e := t.of(customer); e != nil {
		row := t.room.entries[e.Number-1]
		switch status, until := e.StatusAt(now, &t.terms.Queue); {
		case status == boxoffice.QueueWaiting, status == boxoffice.QueueAdmitted:
			return e.Number, nil
		case !until.IsZero():
			if !row.Admission.PassedOn {
				h.Freed++
				w.auditor.passedOn(e.Number)
			}
			row.Admission.ReturningAt, row.Admission.PassedOn = now, true
			return e.Number, nil
		}
		row.ClosedAt = now
	}
	h.Joined++
	h.Drawn = h.Joined
	t.room.entries = append(t.room.entries, &boxoffice.QueueEntry{ID: w.id('q'), Number: h.Joined, CustomerID: customer, JoinedAt: now})
	return h.Joined, nil
}

// call calls people, as many as the rate allows.
func (t *tables) call(w *world, clock time.Time) {
	now, h, settings := t.room.now(clock), &t.room.head, &t.terms.Queue
	if !t.terms.QueueOpen {
		return
	}
	open := t.terms.OnSale(now) == nil // a pause takes nobody's turn
	var back []*boxoffice.Admission
	for _, e := range t.room.entries {
		a := e.Admission
		if a == nil {
			continue
		}
		if open && a.SessionEndsAt.IsZero() && !a.PassedOn && a.ReturningAt.IsZero() && !now.Before(a.LapsesAt) {
			a.PassedOn = true
			h.Freed++
			w.auditor.passedOn(a.Number)
		}
		if !a.ReturningAt.IsZero() && a.ClosedAt.IsZero() {
			back = append(back, a)
		}
	}
	free := t.areas[floor].Held+t.areas[floor].Booked < t.areas[floor].Capacity
	for _, s := range t.seats {
		free = free || s.State == 'a'
	}
	if !free || !open {
		h.Stand(now)
		return
	}
	slices.SortFunc(back, func(x, y *boxoffice.Admission) int {
		return cmp.Or(x.ReturningAt.Compare(y.ReturningAt), cmp.Compare(x.Number, y.Number))
	})
	again, next := h.Call(now, settings.RatePerMinute, int64(len(back)))
	lapses := now.Add(time.Duration(settings.AdmissionSeconds) * time.Second)
	for _, a := range back[:again] {
		a.Turn, a.AdmittedAt, a.LapsesAt, a.ReturningAt, a.PassedOn = 2, now, lapses, time.Time{}, false
		w.auditor.called(a, now)
	}
	for _, e := range t.room.entries[h.Head-next : h.Head] {
		if !e.ClosedAt.IsZero() { // lets somebody else in, the next time
			h.Freed++
			w.auditor.freed++
			continue
		}
		e.Admission = &boxoffice.Admission{Number: e.Number, EntryID: e.ID, CustomerID: e.CustomerID, Position: e.Number, Turn: 1, AdmittedAt: now, LapsesAt: lapses}
		w.auditor.called(e.Admission, now)
	}
}

// reopen does with turns that were not used what a batch does that opens the
// room, when those that are over are nobody's now, or has the sale go on, when
// they begin anew.
func (w *world) reopen(was *boxoffice.Terms, now time.Time) {
	t := w.tables
	opens := t.terms.QueueOpen && !was.QueueOpen
	resumes := t.terms.QueueOpen && was.QueueOpen && was.Status == boxoffice.ShowPaused && t.terms.Status == boxoffice.ShowOnSale
	lapses := now.Add(time.Duration(t.terms.Queue.AdmissionSeconds) * time.Second)
	for _, e := range t.room.entries {
		a := e.Admission
		switch {
		case a == nil || !a.SessionEndsAt.IsZero() || a.PassedOn || !a.ReturningAt.IsZero():
		case opens && !now.Before(a.LapsesAt):
			a.PassedOn = true
			w.auditor.over(a.Number)
		case resumes && a.LapsesAt.Before(lapses):
			a.LapsesAt, w.auditor.turns[a.Number].lapses = lapses, lapses
		}
	}
}

// leave takes a customer out of the room.
func (t *tables) leave(w *world, number int64, clock time.Time) {
	now, e := t.room.now(clock), t.room.entries[number-1]
	if !e.ClosedAt.IsZero() {
		return
	}
	e.ClosedAt = now
	if a := e.Admission; a != nil {
		if a.SessionEndsAt.IsZero() && !a.PassedOn {
			t.room.head.Freed++
			w.auditor.passedOn(number)
		}
		a.ClosedAt, a.PassedOn, a.ReturningAt = now, a.PassedOn || a.SessionEndsAt.IsZero(), time.Time{}
		w.auditor.over(number)
	}
}

func (w *world) opQueue(o operation) {
	open := o.a%4 > 0
	w.staffDo(o.b, fmt.Sprintf("the waiting room is open: %t", open), func(*intent) boxoffice.Doer {
		do := &boxoffice.SetQueue{Open: open}
		if !open {
			do.Ended = boxoffice.QueueByHand
		}
		return do
	})
}

func (w *world) opEnter(o operation) {
	who := customer(o.a)
	w.wants(w.process(o.b), who, "enter the waiting room", func(ctx context.Context, p *process, in *intent) (t told, err error) {
		err = (&books{p}).read(ctx, "enter the waiting room: "+who.CustomerID, func(b *tables) (err error) {
			if t.number = b.room.answers[in.key.Key]; t.number > 0 {
				return nil
			}
			t.number, err = b.enter(w, who.CustomerID, w.clock())
			if err == nil {
				b.room.answers[in.key.Key] = t.number
			}
			return err
		})
		return t, err
	})
}

// opCall lets an instance call people, and those who are called look.
func (w *world) opCall(o operation) {
	p := w.process(o.a)
	w.say("instance %d calls people (task %d)", p.n, w.tasks+1)
	w.begin(p, func(ctx context.Context) {
		_ = (&books{p}).read(ctx, "call people", func(t *tables) error { t.call(w, w.clock()); return nil })
	}, func() {}, func() {})
}

// opLook lets somebody see whether it is their turn.
func (w *world) opLook(o operation) {
	who := customer(o.a)
	p := w.process(o.b)
	w.begin(p, func(ctx context.Context) {
		_ = (&books{p}).read(ctx, "is it the turn of "+who.CustomerID, func(t *tables) error {
			if e := t.of(who.CustomerID); e != nil && e.Admission != nil {
				if status, _ := e.StatusAt(t.room.now(w.clock()), &t.terms.Queue); status == boxoffice.QueueAdmitted {
					pass := boxoffice.Pass{ShowID: show, Number: e.Number, Turn: e.Admission.Turn, CustomerID: who.CustomerID}
					if !slices.Contains(w.passes, pass) {
						w.passes = append(w.passes, pass)
					}
				}
			}
			return nil
		})
	}, func() {}, func() {})
}

// opTurn lets somebody want places who has a pass, perhaps at the very end of
// their turn, or when it is over.
func (w *world) opTurn(o operation) {
	n := len(w.passes)
	if n == 0 {
		return
	}
	p := w.passes[n-1-int(o.a)%min(n, 3)]
	if d := w.tables.room.entries[p.Number-1].Admission; o.c&512 > 0 {
		ends := d.SessionEndsAt
		if ends.IsZero() {
			ends = d.LapsesAt
		}
		w.pass(ends.Sub(w.clock()) - time.Duration(o.c>>10%2)*time.Microsecond)
	}
	w.hold(o, boxoffice.Actor{CustomerID: p.CustomerID, Name: p.CustomerID})
}

func (w *world) opExit(o operation) {
	who := customer(o.a)
	e := w.tables.of(who.CustomerID)
	if e == nil {
		return
	}
	w.wants(w.process(o.b), who, "leave the waiting room", func(ctx context.Context, p *process, _ *intent) (told, error) {
		err := (&books{p}).read(ctx, "leave the waiting room: "+who.CustomerID, func(t *tables) error { t.leave(w, e.Number, w.clock()); return nil })
		return told{}, err
	})
}

// shows is what somebody shows who wants to hold: mostly the last pass that they
// saw, sometimes an old one, another's, a forged one, or none.
func (w *world) shows(who string, c uint16) *boxoffice.Pass {
	own := slices.Clone(w.passes)
	if c%8 < 6 {
		own = slices.DeleteFunc(own, func(p boxoffice.Pass) bool { return p.CustomerID != who })
	}
	if len(own) == 0 || c%32 == 7 {
		return nil
	}
	p := own[len(own)-1]
	switch c % 16 {
	case 4, 5, 6:
		p = own[int(c/16)%len(own)]
	case 14:
		p.Forged = true
	case 15:
		p.ShowID = uuid.Nil
	}
	return &p
}

// turnModel is what the auditor knows of a turn: that somebody was called, and
// what the log tells of what they held.
type turnModel struct {
	customer string
	turn     int
	lapses   time.Time
	session  time.Time // zero: not used
	hold     uuid.UUID
	over     bool // passed on, or left
}

// called notes a turn: no more of them than the rate allows, and what was given
// back.
func (a *auditor) called(d *boxoffice.Admission, now time.Time) {
	if c := a.w.clock(); c.After(a.high) {
		a.high = c
	}
	if was := a.turns[d.Number]; was != nil && was.turn >= d.Turn {
		a.w.fail("%s is called for turn %d, after turn %d", d.CustomerID, d.Turn, was.turn)
	}
	a.turns[d.Number] = &turnModel{customer: d.CustomerID, turn: d.Turn, lapses: d.LapsesAt}
	a.calls++
	perMinute := a.w.tables.terms.Queue.RatePerMinute
	if most := int(a.high.Sub(start).Minutes()*float64(perMinute)) + 1 + a.freed; a.calls > most {
		a.w.fail("%d were called by %s, and %d turns were given back: more than the rate allows", a.calls, now.Sub(start), a.freed)
	}
}

func (a *auditor) passedOn(number int64) {
	a.freed++
	a.over(number)
}

func (a *auditor) over(number int64) {
	if t := a.turns[number]; t != nil {
		t.over = true
	}
}

// turn checks that a hold was placed with a turn that is its customer's, has
// not passed, and has no other hold.
func (a *auditor) turn(do *boxoffice.PlaceReservation, hold uuid.UUID, now time.Time) {
	p := do.Pass
	if p == nil || p.Forged || p.ShowID != show || p.CustomerID != do.CustomerID {
		a.w.fail("%s held something with the pass %+v", do.CustomerID, p)
		return
	}
	t := a.turns[p.Number]
	if t == nil || t.customer != do.CustomerID || t.turn != p.Turn || t.over {
		a.w.fail("%s held something with turn %d of %d, which is %+v", do.CustomerID, p.Turn, p.Number, t)
		return
	}
	ends := t.session
	if ends.IsZero() {
		ends = t.lapses
		t.session = now.Add(time.Duration(a.w.tables.terms.Queue.SessionSeconds) * time.Second)
	}
	if !now.Before(ends) {
		a.w.fail("%s held something at %s, with a turn until %s", do.CustomerID, now.Sub(start), ends.Sub(start))
	}
	if h := a.holds[t.hold]; h != nil && (h.status == string(boxoffice.ReservationConsumed) || h.status == string(boxoffice.ReservationActive) && now.Before(h.until)) {
		a.w.fail("%s held %s with a turn that has %s, which is %s", do.CustomerID, name(hold), name(t.hold), h.status)
	}
	t.hold = hold
	a.w.seen.things["held with a turn"]++
}

// room compares turns with what is written down of them.
func (a *auditor) room() {
	for _, e := range a.w.tables.room.entries {
		d, t := e.Admission, a.turns[e.Number]
		if (d == nil) != (t == nil) || d != nil && (d.ReservationID != t.hold || d.Turn != t.turn || !d.SessionEndsAt.Equal(t.session)) {
			a.w.fail("the turn of number %d is %+v, and should be %+v", e.Number, d, t)
		}
	}
}
