package sim

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/checkout"
	"github.com/rowlock/rowlock/internal/store"
)

// books are the store of an instance: what store.Store does with the database,
// done with the world's tables.
type books struct{ p *process }

var _ checkout.Store = (*books)(nil)

// do sends a command through the instance's lane. What it is about is looked up
// when it is decided: that never changes.
func (b *books) do(ctx context.Context, what string, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, doer func() boxoffice.Doer) (boxoffice.Outcome, boxoffice.Doer, error) {
	c := &call{what: what, doer: doer, command: boxoffice.Command{Key: key, Actor: actor}}
	err := b.p.wait(ctx, c)
	return c.out, c.command.Do, err
}

// read reads, or does in a transaction what is not about places.
func (b *books) read(ctx context.Context, what string, read func(*tables) error) error {
	return b.p.wait(ctx, &call{what: what, read: func() error { return read(b.p.w.tables) }})
}

func (b *books) BeginBooking(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, reservation uuid.UUID, req store.BeginRequest) (store.Begun, error) {
	return b.begin(ctx, "begin to pay "+name(reservation), actor, key, func() uuid.UUID { return reservation }, req)
}

func (b *books) BeginPayment(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, booking uuid.UUID, req store.BeginRequest) (store.Begun, error) {
	return b.begin(ctx, "begin to pay "+name(booking), actor, key, func() uuid.UUID { return b.reservationOf(booking) }, req)
}

func (b *books) reservationOf(booking uuid.UUID) uuid.UUID {
	if k := b.p.w.tables.books[booking]; k != nil {
		return k.ReservationID
	}
	return uuid.Nil
}

func (b *books) begin(ctx context.Context, what string, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, reservation func() uuid.UUID, req store.BeginRequest) (store.Begun, error) {
	out, did, err := b.do(ctx, what, actor, key, func() boxoffice.Doer {
		c := &boxoffice.BeginPayment{
			ReservationID: reservation(), BookingID: b.p.w.id('b'), Reference: "REF", PaymentID: b.p.w.id('p'),
			Gateway: req.Gateway, Method: req.Method, Buyer: req.Buyer, Holders: req.Holders,
		}
		if in, asked := ctx.Value(intentKey{}).(*intent); asked {
			in.made = append(in.made, c.PaymentID)
		}
		return c
	})
	if err != nil {
		return store.Begun{}, err
	}
	r, c := out.Receipt, did.(*boxoffice.BeginPayment)
	begun := store.Begun{BookingID: r.BookingID, PaymentID: r.PaymentID, Version: r.Version, Replayed: out.Replayed}
	if hold := r.Reservation; hold != nil && c.BookingID == r.BookingID && hold.ID == c.ReservationID {
		begun.Place = &store.PaymentPlace{
			ShowID: show, BookingID: r.BookingID, PaymentID: r.PaymentID, ReservationID: hold.ID, Gateway: c.Gateway,
			Status: boxoffice.PaymentPending, Booking: boxoffice.BookingPending, HoldEnds: hold.ExpiresAt,
			AmountMinor: hold.TotalMinor(), Currency: hold.Currency, Reference: c.Reference, CustomerID: hold.CustomerID,
		}
	}
	return begun, nil
}

func errNone(what string) error {
	return boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such %s.", what)
}

func (b *books) PaymentPlace(ctx context.Context, id uuid.UUID) (p store.PaymentPlace, err error) {
	err = b.read(ctx, "where is "+name(id), func(t *tables) error {
		k, pay := t.payment(id)
		if pay == nil {
			return errNone("payment")
		}
		r := t.holds[k.ReservationID]
		p = store.PaymentPlace{
			ShowID: show, BookingID: k.ID, PaymentID: id, ReservationID: r.ID, Gateway: pay.Gateway, Ref: pay.Ref, Status: pay.Status,
			Waits: pay.Next != "", Booking: k.Status, HoldOver: !r.ExpiresAt.After(b.p.w.clock()), HoldEnds: r.ExpiresAt,
			AmountMinor: pay.AmountMinor, Currency: pay.Currency, Reference: k.Reference, CustomerID: k.CustomerID,
		}
		return nil
	})
	return p, err
}

func (b *books) PaymentByRef(ctx context.Context, gateway, ref string) (id uuid.UUID, err error) {
	err = b.read(ctx, "which payment is "+ref, func(t *tables) error {
		for _, k := range t.books {
			for _, p := range k.Payments {
				if p.Gateway == gateway && p.Ref == ref {
					id = p.ID
					return nil
				}
			}
		}
		return errNone("payment")
	})
	return id, err
}

func (b *books) SettlePayment(ctx context.Context, actor string, p store.PaymentPlace, say store.Settlement) (store.Settled, error) {
	out, _, err := b.do(ctx, "settle "+name(p.PaymentID)+" as "+string(say.Status), boxoffice.Actor{Name: actor}, nil, func() boxoffice.Doer {
		return &boxoffice.SettlePayment{
			ReservationID: p.ReservationID, BookingID: p.BookingID, PaymentID: p.PaymentID,
			Status: say.Status, Ref: say.Ref, DeclineCode: say.DeclineCode, Next: say.Next, AmountMinor: say.AmountMinor,
		}
	})
	if err != nil {
		return store.Settled{}, err
	}
	r := out.Receipt
	return store.Settled{Booking: boxoffice.BookingStatus(r.Booking), Payment: boxoffice.PaymentStatus(r.Payment), Late: r.Late, Version: r.Version}, nil
}

var backOff = []time.Duration{15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour}

func (b *books) ClaimPayments(ctx context.Context, _ uuid.UUID, limit int) (ids []uuid.UUID, err error) {
	err = b.read(ctx, "claim payments", func(t *tables) error {
		now := b.p.w.clock()
		for id, c := range t.checks {
			if !c.due.After(now) {
				ids = append(ids, id)
			}
		}
		slices.SortFunc(ids, func(x, y uuid.UUID) int { return bytes.Compare(x[:], y[:]) })
		ids = ids[:min(len(ids), limit)]
		for _, id := range ids {
			c := t.checks[id]
			c.asked++
			c.due = now.Add(backOff[min(c.asked, len(backOff))-1])
			k, _ := t.payment(id)
			if ends := t.holds[k.ReservationID].ExpiresAt; ends.After(now) && ends.Before(c.due) {
				c.due = ends
			}
			b.p.w.enqueue(boxoffice.Task{Kind: boxoffice.TaskSettle, At: c.due})
		}
		return nil
	})
	return ids, err
}

func (b *books) CancelBooking(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, booking uuid.UUID, req store.CancelRequest) (*store.Cancelled, error) {
	if b.p.w.bug == refundFirst {
		b.payBackFirst(ctx, booking)
	}
	out, _, err := b.do(ctx, "cancel "+name(booking), actor, key, func() boxoffice.Doer {
		return &boxoffice.CancelBooking{
			BookingID: booking, ReservationID: b.reservationOf(booking), TicketIDs: req.TicketIDs, Override: req.Override, Reason: req.Reason,
		}
	})
	if err != nil {
		return nil, err
	}
	v, err := b.ReadBooking(ctx, uuid.Nil, "", booking)
	if err != nil {
		return nil, err
	}
	r := out.Receipt
	done := &store.Cancelled{Status: boxoffice.BookingStatus(r.Booking), View: v, Open: r.PaymentID, Version: r.Version, Replayed: out.Replayed}
	about := func(id uuid.UUID) bool { return len(r.TicketIDs) == 0 || slices.Contains(r.TicketIDs, id) }
	for _, f := range v.Refunds {
		if strings.HasPrefix(f.Cause, "cancel:") && !f.CreatedAt.After(r.At) && slices.ContainsFunc(f.TicketIDs, about) {
			done.Refunds = append(done.Refunds, f)
		}
	}
	return done, nil
}

func (b *books) OpenBookings(ctx context.Context, _, after uuid.UUID, limit int) (ids []uuid.UUID, err error) {
	err = b.read(ctx, "open bookings", func(t *tables) error {
		for _, id := range t.booked {
			if s := t.books[id].Status; (s == boxoffice.BookingPending || s == boxoffice.BookingConfirmed) && bytes.Compare(id[:], after[:]) > 0 {
				ids = append(ids, id)
			}
		}
		slices.SortFunc(ids, func(x, y uuid.UUID) int { return bytes.Compare(x[:], y[:]) })
		ids = ids[:min(len(ids), limit)]
		return nil
	})
	return ids, err
}

func (b *books) EndHolds(ctx context.Context, _ uuid.UUID, enough func() bool) (more bool, err error) {
	for {
		var ids []uuid.UUID
		if err := b.read(ctx, "active holds", func(t *tables) error {
			for _, id := range t.held {
				if t.holds[id].StatusAt(t.now(b.p.w.clock())) == boxoffice.ReservationActive {
					ids = append(ids, id)
				}
			}
			return nil
		}); err != nil || len(ids) == 0 {
			return err != nil, err
		}
		for _, id := range ids {
			_, _, err := b.do(ctx, "release "+name(id), system, nil, func() boxoffice.Doer { return &boxoffice.ReleaseReservation{ID: id} })
			if err != nil {
				return true, err
			}
		}
		if enough() {
			return true, nil
		}
	}
}

var system = boxoffice.Actor{Staff: true, Name: "system"}

// expire closes overdue holds, as store.Store.ExpireReservations does.
func (b *books) expire(ctx context.Context, reason boxoffice.Reason) error {
	for {
		due := false
		if err := b.read(ctx, "is anything overdue", func(t *tables) error {
			due = len(t.overdue(b.p.w.clock(), func(*boxoffice.Reservation) bool { return true })) > 0
			return nil
		}); err != nil || !due {
			return err
		}
		out, _, err := b.do(ctx, "close overdue holds", system, nil, func() boxoffice.Doer { return &boxoffice.ExpireReservations{Limit: 3, Reason: reason} })
		if err != nil || out.Receipt.Count == 0 {
			return err
		}
	}
}

func (b *books) RefundPlace(ctx context.Context, id uuid.UUID) (f store.RefundPlace, err error) {
	err = b.read(ctx, "where is refund "+name(id), func(t *tables) error {
		k, row := t.refund(id)
		if row == nil {
			return errNone("refund")
		}
		_, p := t.payment(row.PaymentID)
		f = store.RefundPlace{
			ShowID: show, BookingID: k.ID, RefundID: id, ReservationID: k.ReservationID, PaymentID: p.ID, Gateway: p.Gateway, PaymentRef: p.Ref,
			Status: row.Status, AmountMinor: row.AmountMinor, Currency: row.Currency, Reason: row.Reason, Attempt: row.Attempt, Age: b.p.w.clock().Sub(row.CreatedAt),
		}
		return nil
	})
	return f, err
}

func (b *books) SettleRefund(ctx context.Context, actor string, f store.RefundPlace, status boxoffice.RefundStatus, ref, failure string) error {
	_, _, err := b.do(ctx, "settle refund "+name(f.RefundID)+" as "+string(status), boxoffice.Actor{Name: actor}, nil, func() boxoffice.Doer {
		return &boxoffice.SettleRefund{
			ReservationID: f.ReservationID, BookingID: f.BookingID, RefundID: f.RefundID, Status: status, Ref: ref, Failure: failure,
		}
	})
	return err
}

func (b *books) RecordRefund(ctx context.Context, actor string, p store.PaymentPlace, d store.DeskRefund) error {
	_, _, err := b.do(ctx, "record what the desk gave back of "+name(p.PaymentID), boxoffice.Actor{Name: actor}, nil, func() boxoffice.Doer {
		return &boxoffice.RecordRefund{
			ReservationID: p.ReservationID, BookingID: p.BookingID, PaymentID: p.PaymentID,
			Ref: d.Ref, AmountMinor: d.AmountMinor, Status: d.Status, Dispute: d.Dispute,
		}
	})
	return err
}

func (b *books) StorePaymentEvent(ctx context.Context, gateway, id string, text []byte) (done bool, err error) {
	err = b.read(ctx, "keep "+id, func(t *tables) error {
		e := t.events[id]
		if e == nil {
			t.events[id] = &keptEvent{event: text, done: b.p.w.bug == doneFirst}
			b.p.w.enqueue(boxoffice.Task{Kind: boxoffice.TaskEvent, Gateway: gateway, Event: id, At: b.p.w.clock().Add(time.Minute)})
			return nil
		}
		done = e.done
		return nil
	})
	return done, err
}

func (b *books) ReadPaymentEvent(ctx context.Context, _, id string) (event []byte, done bool, err error) {
	err = b.read(ctx, "read "+id, func(t *tables) error {
		e := t.events[id]
		if e == nil {
			return errNone("event")
		}
		event, done = e.event, e.done
		return nil
	})
	return event, done, err
}

func (b *books) PaymentEventDone(ctx context.Context, _, id, _ string) error {
	return b.read(ctx, id+" is done", func(t *tables) error {
		t.events[id].done = true
		return nil
	})
}

func (b *books) ReadBooking(ctx context.Context, _ uuid.UUID, _ string, id uuid.UUID) (v *store.BookingView, err error) {
	err = b.read(ctx, "read "+name(id), func(t *tables) error {
		k := t.books[id]
		if k == nil {
			return errNone("booking")
		}
		v = &store.BookingView{Booking: *copyBooking(k), ShowID: show, ExpiresAt: t.holds[k.ReservationID].ExpiresAt, Now: b.p.w.clock()}
		for _, ticket := range v.Booking.Tickets {
			v.Tickets = append(v.Tickets, store.TicketView{Ticket: *ticket, ShowID: show})
		}
		v.Booking.Tickets = nil
		return nil
	})
	return v, err
}

// ReadShow and ReadEvent are for mails, of which there are none here.

func (b *books) ReadShow(context.Context, uuid.UUID, uuid.UUID, bool) (store.ShowListing, error) {
	return store.ShowListing{}, errNone("show")
}

func (b *books) ReadEvent(context.Context, uuid.UUID, store.EventFilter) (store.EventListing, error) {
	return store.EventListing{}, errNone("event")
}
