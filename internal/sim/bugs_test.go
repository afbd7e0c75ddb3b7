package sim

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/payment"
)

// bug is a mistake that a run can be made with, to see that the auditor finds
// it.
type bug string

const (
	noBug        bug = ""
	processClock bug = "an instance judges time by its own clock"
	skipLock     bug = "a lane goes on without the show's lock"
	earlyAnswer  bug = "a lane answers before it commits"
	lostReceipt  bug = "what was answered to a key is forgotten when the answer is lost"
	settledTwice bug = "a payment that has succeeded is settled again"
	refundFirst  bug = "money is sent back before the books say so"
	doneFirst    bug = "a gateway's event is done with before it has its effect"
	lostScan     bug = "a scan that is told again is a new one"
	longHold     bug = "a hold lasts a little longer than was said"
	lostTask     bug = "what follows from a batch is not on the queue"

	offeredLater bug = "what becomes free is offered to those who wait when somebody thinks of it"
	newestFirst  bug = "who came last to the waitlist is served first"
	lostOffer    bug = "an offer is not written to the entry that it was made to"
	lostWaiters  bug = "a show forgets that somebody waits"

	noTurn     bug = "nobody is asked for a turn"
	turnTwice  bug = "a turn has as many holds as somebody wants"
	longTurn   bug = "a turn lasts longer than was said"
	passedBack bug = "a turn that was passed on can still be used when the clock has gone back"
	lostTurn   bug = "that a turn was used is not written down"
)

var bugs = []bug{
	processClock, skipLock, earlyAnswer, lostReceipt, settledTwice, refundFirst, doneFirst, lostScan, longHold, lostTask,
	offeredLater, newestFirst, lostOffer, lostWaiters, noTurn, turnTwice, longTurn, passedBack, lostTurn,
}

// misload is what some bugs make of what was loaded.
func (w *world) misload(st *boxoffice.State) {
	switch w.bug {
	case settledTwice:
		for _, k := range st.Bookings {
			for _, p := range k.Payments {
				if p.Status == boxoffice.PaymentSucceeded && p.ID == k.AppliedID {
					p.Status = boxoffice.PaymentPending
				}
			}
		}
	case lostScan:
		clear(st.Scans)
	case longHold:
		for _, row := range st.Seats {
			if row.State == 'h' {
				row.HeldUntil = row.HeldUntil.Add(1)
			}
		}
	case offeredLater:
		st.Offering = false
	case newestFirst:
		for _, e := range st.Waitlist {
			e.No = -e.No
		}
	case noTurn:
		open := *st.Terms
		open.QueueOpen = false
		st.Terms = &open
	}
	for _, a := range st.Admissions {
		switch w.bug {
		case turnTwice:
			a.ReservationID = uuid.Nil
		case longTurn:
			a.LapsesAt = a.LapsesAt.Add(10 * time.Second)
		case passedBack:
			a.PassedOn = false
		}
	}
}

// missave is what some bugs make of what is saved.
func (w *world) missave(did *boxoffice.Changes, answered bool) {
	switch {
	case w.bug == lostReceipt && !answered:
		did.Kept = nil
	case w.bug == lostTask:
		did.Tasks = nil
	case w.bug == lostOffer:
		did.Entries = slices.DeleteFunc(did.Entries, func(e *boxoffice.WaitlistEntry) bool { return e.Status == boxoffice.WaitlistOffered })
	case w.bug == lostWaiters:
		did.Waiting = 0
	case w.bug == lostTurn:
		did.Admissions = nil
	}
}

// interleave lets another instance's lane commit between the loading of a batch
// and its saving.
func (w *world) interleave(p *process, outcomes []boxoffice.Outcome, did *boxoffice.Changes) {
	var others []*call
	for _, c := range w.calls {
		if c.doer != nil && c.task.process != p && !c.gone.Load() {
			others = append(others, c)
		}
	}
	if len(others) == 0 || !did.Dirty {
		return
	}
	was := w.tables.version
	w.bug = noBug
	w.lane(others[0].task.process, fateDone, 1, others[0])
	w.bug = skipLock
	more := w.tables.version - was
	did.Version += more
	for i := range did.Log {
		did.Log[i].Version += more
	}
	for _, o := range outcomes {
		if o.Err == nil && !o.Replayed {
			o.Receipt.Version += more
		}
	}
}

// answerEarly answers a batch that is never committed.
func (w *world) answerEarly(p *process, batch []*call) {
	_, _, outcomes, _ := w.decide(p, batch)
	for i, c := range batch {
		c.out = outcomes[i]
	}
}

// payBackFirst gives the money of a booking back before it is cancelled.
func (b *books) payBackFirst(ctx context.Context, booking uuid.UUID) {
	v, err := b.ReadBooking(ctx, uuid.Nil, "", booking)
	if err != nil || v.Status != boxoffice.BookingConfirmed || v.AppliedID == uuid.Nil || v.RefundedMinor > 0 || len(v.Tickets) != 1 {
		return
	}
	_, _ = (&port{b.p}).Refund(ctx, payment.Refund{
		RefundID: boxoffice.DerivedID(v.AppliedID, "cancel:1"), Attempt: 1, Payment: payment.Ref{PaymentID: v.AppliedID},
		AmountMinor: v.TotalMinor, Currency: v.Currency,
	})
}
