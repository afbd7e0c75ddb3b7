package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/sandbox"
)

// card is one that so many of a hundred people pay with.
type card struct {
	token   string
	percent int
}

var cards = []card{
	{sandbox.TokenOK, 42}, {sandbox.TokenDeclined, 10}, {sandbox.TokenInsufficientFunds, 4}, {sandbox.TokenSlow, 4},
	{sandbox.TokenTimeout, 3}, {sandbox.TokenAsync, 8}, {sandbox.TokenAsyncDeclined, 4}, {sandbox.TokenAsyncLate, 2},
	{sandbox.TokenRedirect, 10}, {sandbox.TokenStorm, 5}, {sandbox.TokenRefundSlow, 2}, {sandbox.TokenRefundFailsOnce, 6},
}

func (v *visit) token() string {
	n := v.plan.IntN(100)
	for _, t := range v.t.cfg.cards {
		if n -= t.percent; n < 0 {
			return t.token
		}
	}
	return sandbox.TokenOK
}

// booking is what an answer says about one.
type booking struct {
	BookingID      string
	ReservationID  string
	Status         string
	Buyer          *struct{ Name string } // nil: forgotten
	PaymentStatus  string
	TotalAmount    int64
	RefundedAmount int64
	ConfirmedAt    time.Time
	Tickets        []ticket
	Refunds        []refunded
	Payments       []payment
	NextAction     *struct{ URL string }
}

type ticket struct {
	TicketID string
	SeatID   uuid.UUID
	AreaID   uuid.UUID
	Status   string
	Code     string
}

type payment struct {
	PaymentID, Gateway, Status string
	Amount, RefundedAmount     int64
}

type refunded struct {
	RefundID, PaymentID, Status, Failure string
	Amount                               int64
}

// tells notes in o what an answer says about a booking.
func (b *booking) tells(o *Op, h *history) {
	o.Booking, o.BookingIs = b.BookingID, b.Status
	if !b.ConfirmedAt.IsZero() {
		o.Confirmed = h.on(b.ConfirmedAt)
	}
	for _, t := range b.Tickets {
		o.Tickets = append(o.Tickets, t.TicketID)
	}
}

// pay pays a hold. A decline may be followed by another card.
func (v *visit) pay(ctx context.Context, h *hold, token, key string, again bool) {
	o := v.op(pay)
	o.What, o.Reservation, o.Seats, o.Units = token, h.id, h.seats, h.units
	req := request{method: http.MethodPost, path: "/bookings", customer: v.customer, key: key, body: object{
		"reservationId": h.id, "buyer": object{"name": "Ada Lovelace", "email": "ada@example.org"},
		"payment": object{"method": "card", "token": token},
	}}
	if key[0] == 'a' { // one in sixteen loses patience
		req.patience = 1
	}
	var b booking
	a := v.send(ctx, o, req, &b)
	if o.ok() {
		b.tells(o, v.h)
	}
	v.done(ctx, o, req, a, again && a.status == http.StatusCreated)
	if boxoffice.Code(o.Code) == boxoffice.CodePaymentDeclined && key[1] < '8' {
		second := v.op(pay)
		second.What, second.Reservation, second.Seats, second.Units = sandbox.TokenOK, h.id, h.seats, h.units
		req := request{method: http.MethodPost, path: "/bookings/" + o.Booking + "/pay", customer: v.customer, key: rekey(key), body: object{
			"payment": object{"method": "card", "token": sandbox.TokenOK},
		}}
		var b booking
		a := v.send(ctx, second, req, &b)
		if second.ok() {
			b.tells(second, v.h)
		}
		v.done(ctx, second, req, a, false)
	}
}

// rekey is a key that follows from another.
func rekey(key string) string {
	id := uuid.MustParse(key)
	id[0] ^= 0xff
	return strings.ReplaceAll(id.String(), "-", "")
}

// bookingOf reads the booking of a hold, if it has one.
func (v *visit) bookingOf(ctx context.Context, h *hold, wait int) *booking {
	r, ok := v.read(ctx, h)
	if !ok || r.BookingID == "" {
		return nil
	}
	o := v.op(look)
	o.What, o.Reservation = "booking", h.id
	var b booking
	a := v.send(ctx, o, request{method: http.MethodGet, path: fmt.Sprintf("/bookings/%s?wait=%d", r.BookingID, wait), customer: v.customer}, &b)
	if a.ok() {
		b.tells(o, v.h)
	}
	v.h.add(o)
	if !a.ok() {
		return nil
	}
	h.costs(v, "booking", b.TotalAmount)
	return &b
}

// settle sees a payment to its end, and then makes use of what was bought.
func (v *visit) settle(ctx context.Context, h *hold) {
	cancelEarly, decision, walks := v.chance(6), "confirm", v.chance(15)
	if v.chance(25) {
		decision = "decline"
	}
	b := v.bookingOf(ctx, h, 0)
	if b == nil {
		return
	}
	if b.Status == "pending" && cancelEarly {
		v.cancel(ctx, h, b, nil, false)
	}
	if b.NextAction != nil && !walks {
		v.visitGateway(ctx, b.NextAction.URL, decision)
	}
	for range 5 {
		if b == nil || b.Status != "pending" || walks || ctx.Err() != nil {
			break
		}
		b = v.bookingOf(ctx, h, 2)
	}
	if b != nil && b.Status == "confirmed" {
		v.enjoy(ctx, h, b)
	}
}

// visitGateway presses a button of the gateway's page.
func (v *visit) visitGateway(ctx context.Context, page, decision string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, page, strings.NewReader(url.Values{"decision": {decision}}.Encode()))
	if err != nil {
		v.t.found("the gateway's page has the address %q", page)
		return
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if w, err := v.t.http.Do(r); err == nil {
		w.Body.Close()
	}
}

// confirm books by staff what was paid at the till.
func (v *visit) confirm(ctx context.Context, h *hold, method string) {
	o := v.op(confirm)
	o.What, o.Reservation, o.Seats, o.Units, o.Block = method, h.id, h.seats, h.units, h.block
	req := request{method: http.MethodPost, path: "/reservations/" + h.id + "/confirm", key: newKey(v.plan), body: object{
		"paymentMethod": method, "paymentReference": "till " + v.customer[:8],
	}}
	again := v.chance(10)
	var b booking
	a := v.send(ctx, o, req, &b)
	if o.ok() {
		b.tells(o, v.h)
	}
	v.done(ctx, o, req, a, again)
	if o.ok() && b.Status == "confirmed" {
		v.enjoy(ctx, h, &b)
	}
}

// enjoy goes to the show, or gives tickets back.
func (v *visit) enjoy(ctx context.Context, h *hold, b *booking) {
	if len(b.Tickets) != len(h.seats)+h.units {
		v.t.found("booking %s has %d tickets for %d places", b.BookingID, len(b.Tickets), len(h.seats)+h.units)
		return
	}
	if v.chance(30) {
		v.enter(ctx, b)
	}
	if v.chance(12) {
		v.giveMoney(ctx, b)
	}
	if v.chance(15) {
		v.nameHolder(ctx, b)
	}
	if v.show.doomed && v.t.cfg.desk && v.chance(25) {
		v.deskRefund(ctx, b)
		return
	}
	switch {
	case v.chance(25): // one ticket, by the buyer
		v.cancel(ctx, h, b, []string{b.Tickets[v.plan.IntN(len(b.Tickets))].TicketID}, false)
	case v.chance(85):
		v.cancel(ctx, h, b, nil, v.chance(50))
		if v.chance(20) { // and to be sure, once more
			v.cancel(ctx, h, b, nil, true)
		}
	}
	if v.chance(10) {
		v.enter(ctx, b)
	}
}

// nameHolder puts names on a ticket, on two devices at once, looks what became
// of it, and may have itself forgotten in the end.
func (v *visit) nameHolder(ctx context.Context, b *booking) {
	id := b.Tickets[v.plan.IntN(len(b.Tickets))].TicketID
	var both sync.WaitGroup
	for _, who := range []string{"Ada Lovelace", "李小龍"} {
		key := newKey(v.plan)
		both.Go(func() {
			o := v.op(name)
			o.Ticket, o.Booking, o.Holder = id, b.BookingID, &who
			req := request{method: http.MethodPatch, path: "/tickets/" + id, customer: v.customer, key: key, body: object{"holderName": who}}
			a := v.send(ctx, o, req, nil)
			v.done(ctx, o, req, a, false) // the answer is the ticket, which has become something else meanwhile
		})
	}
	both.Wait()
	v.readHolder(ctx, id)
	if !v.chance(40) {
		return
	}
	o := v.op(forget)
	o.Booking = b.BookingID
	for _, t := range b.Tickets {
		o.Tickets = append(o.Tickets, t.TicketID)
	}
	req := request{method: http.MethodDelete, path: "/customers/" + v.customer + "/personal-data", key: newKey(v.plan)}
	again := v.chance(20)
	a := v.send(ctx, o, req, nil)
	v.done(ctx, o, req, a, again)
	v.readHolder(ctx, id)
}

// readHolder reads the name on a ticket.
func (v *visit) readHolder(ctx context.Context, id string) {
	o := v.op(look)
	o.What, o.Ticket = "ticket", id
	var t struct{ HolderName string }
	v.send(ctx, o, request{method: http.MethodGet, path: "/tickets/" + id, customer: v.customer}, &t)
	if o.ok() {
		o.Holder = &t.HolderName
	}
	v.h.add(o)
}

// enter shows a ticket at two gates at once.
func (v *visit) enter(ctx context.Context, b *booking) {
	t := b.Tickets[v.plan.IntN(len(b.Tickets))]
	var both sync.WaitGroup
	for _, gate := range []string{"north", "south"} {
		scan, key, again := newID(v.plan).String(), newKey(v.plan), v.chance(20)
		both.Go(func() {
			o := v.op(checkIn)
			o.Ticket, o.Booking, o.Scan = t.TicketID, b.BookingID, scan
			req := request{method: http.MethodPost, path: "/tickets/check-in", key: key, body: object{"code": t.Code, "scanId": scan, "gate": gate}}
			var did struct{ Result string }
			a := v.send(ctx, o, req, &did)
			o.Result = did.Result
			if o.ok() && (did.Result == "invalid" || did.Result == "wrong_show") {
				v.t.found("ticket %s of booking %s was %s at the gate", t.TicketID, b.BookingID, did.Result)
			}
			v.done(ctx, o, req, a, again)
		})
	}
	both.Wait()
}

// cancel gives tickets back, all or some, or a purchase that is not paid yet.
func (v *visit) cancel(ctx context.Context, h *hold, b *booking, ids []string, staff bool) {
	o := v.op(cancel)
	o.Reservation, o.Booking, o.Seats, o.Units = h.id, b.BookingID, h.seats, h.units
	body := object{}
	if ids != nil {
		body["ticketIds"] = ids
	}
	req := request{method: http.MethodPost, path: "/bookings/" + b.BookingID + "/cancel", customer: v.customer, key: newKey(v.plan), body: body}
	if ids == nil && v.chance(30) {
		req.method, req.path, req.body = http.MethodDelete, "/bookings/"+b.BookingID, nil
	}
	if staff {
		req.customer = ""
	}
	var did struct {
		SeatsReleased []struct {
			TicketID       string
			SeatID, AreaID uuid.UUID
		}
		Refunds []refunded
	}
	again := v.chance(10)
	a := v.send(ctx, o, req, &did)
	for _, p := range did.SeatsReleased {
		switch {
		case p.TicketID != "" && p.AreaID != uuid.Nil:
			o.VoidUnits = append(o.VoidUnits, p.TicketID)
		case p.AreaID != uuid.Nil:
			o.BackUnits++
		}
		if p.SeatID != uuid.Nil {
			o.Back = append(o.Back, v.show.index[p.SeatID])
		}
		if p.TicketID != "" {
			o.Void = append(o.Void, p.TicketID)
		}
	}
	if !o.ok() {
		o.Void = ids
	}
	v.done(ctx, o, req, a, again && a.status == http.StatusOK)
}

// giveMoney gives a little money back; the tickets stay valid.
func (v *visit) giveMoney(ctx context.Context, b *booking) {
	o := v.op(refund)
	o.Booking = b.BookingID
	req := request{method: http.MethodPost, path: "/bookings/" + b.BookingID + "/refunds", key: newKey(v.plan), body: object{"amount": 1 + v.plan.IntN(500)}}
	again := v.chance(20)
	var did refunded
	a := v.send(ctx, o, req, &did)
	o.Refund = did.RefundID
	v.done(ctx, o, req, a, again)
}

// mend sends refunds again that the gateway has refused, as people do who look
// for such; sometimes two of them find the same.
func (v *visit) mend(ctx context.Context) {
	list, err := pages[booking](ctx, v.client, "/bookings?showId="+v.show.id, "bookings")
	if err != nil {
		return // there are others
	}
	for i := range list {
		for _, f := range list[i].refused() {
			var both sync.WaitGroup
			for range 1 + v.plan.IntN(2) {
				key, again := newKey(v.plan), v.chance(20)
				both.Go(func() { v.retry(ctx, &list[i], f, key, again) })
			}
			both.Wait()
		}
	}
}

// refused are the refunds of a booking that the gateway would not make. Those of
// money that is gone already are none of them: news of that is on its way.
func (b *booking) refused() []refunded {
	return slices.DeleteFunc(slices.Clone(b.Refunds), func(f refunded) bool { return f.Status != "failed" || f.Failure != "refund_refused" })
}

// retry sends a refund again.
func (v *visit) retry(ctx context.Context, b *booking, f refunded, key string, again bool) *Op {
	o := v.op(retry)
	o.Booking, o.Refund = b.BookingID, f.RefundID
	req := request{method: http.MethodPost, path: "/refunds/" + f.RefundID + "/retry", key: key}
	a := v.send(ctx, o, req, nil)
	v.done(ctx, o, req, a, again)
	return o
}

// deskRefund has the gateway's own people give the money back, all or some, or
// the buyer's bank take it.
func (v *visit) deskRefund(ctx context.Context, b *booking) {
	i := slices.IndexFunc(b.Payments, func(p payment) bool { return p.Gateway == "sandbox" && p.Status == "succeeded" })
	page, amount := []string{"/desk/refunds", "/desk/disputes"}[v.plan.IntN(2)], 0
	if v.chance(30) {
		amount = 1 + v.plan.IntN(1000)
	}
	if i < 0 {
		return
	}
	body, _ := json.Marshal(object{"payment": b.Payments[i].PaymentID, "amount": amount})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, page, bytes.NewReader(body))
	if err != nil {
		return
	}
	o := &Op{Client: v.id, Do: desk, What: page, Show: v.at, Booking: b.BookingID, Call: v.t.now(), Tries: 1}
	w := httptest.NewRecorder()
	v.t.house.Sandbox().ServeHTTP(w, r)
	o.Return, o.Status = v.t.now(), w.Code
	v.t.counts.did(o)
	v.h.add(o)
}
