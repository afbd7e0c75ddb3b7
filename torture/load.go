package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/sandbox"
)

// holdSecondsMax is how long a hold may be in the shows that are sold here:
// short, so that many end by themselves.
const holdSecondsMax = 8

// visit is what a client does with one show: a customer with a name of their
// own, from a plan that is drawn from the seed before the first request.
type visit struct {
	*client
	h        *history
	show     *show
	at       int // the show's index
	plan     *rand.Rand
	customer string
	pass     *pass // what is shown for a turn, where there is a waiting room
}

// newVisit draws the n-th visit of a client in a round, to one of some shows.
func newVisit(c *client, r *round, n uint64, among []int) *visit {
	plan := rand.New(rand.NewPCG(c.t.seed, uint64(r.n)<<40|uint64(c.id)<<24|n))
	at := among[plan.IntN(len(among))]
	return &visit{client: c, h: r.history, show: r.shows[at], at: at, plan: plan, customer: newID(plan).String()}
}

// buyer visits until ctx ends. stop ends even what is not answered.
func (c *client) buyer(ctx, stop context.Context, r *round) {
	among := r.among(func(sh *show) bool { return !sh.crowded })
	for n := uint64(0); ctx.Err() == nil; n++ {
		v := newVisit(c, r, n, among)
		v.buy(stop)
		rest(ctx, time.Duration(v.plan.IntN(60))*time.Millisecond)
	}
}

func (v *visit) chance(percent int) bool { return v.plan.IntN(100) < percent }

// want draws seats side by side, or units of the area, or both.
func (v *visit) want() (seats []int, units int) {
	if v.show.floor > 0 && v.chance(35) {
		units = 1 + v.plan.IntN(3)
		if v.chance(70) {
			return nil, units
		}
	}
	n := 1 + v.plan.IntN(3-min(units, 1))
	first := v.plan.IntN(len(v.show.seats) - n + 1)
	for i := range n {
		seats = append(seats, first+i)
	}
	return seats, units
}

// hold is what a visitor has.
type hold struct {
	id    string
	seats []int
	units int
	block string // it is sold from
	ends  time.Time
	total int64 // what it costs; -1: that was not told
}

type object = map[string]any

func (v *visit) seatList(seats []int) []object {
	list := make([]object, len(seats))
	for i, s := range seats {
		list[i] = object{"seatId": v.show.seats[s]}
		if i%2 == 1 {
			list[i] = object{"label": v.show.label[s]}
		}
	}
	return list
}

func (v *visit) areaList(units int, partial bool) []object {
	if units == 0 {
		return nil
	}
	return []object{{"areaId": v.show.area, "quantity": units, "allowPartial": partial}}
}

// reservation is what an answer says about one.
type reservation struct {
	ReservationID string
	Status        string
	Seats         []struct {
		SeatID uuid.UUID
		Price  int64
	}
	Areas []struct {
		Quantity int
		Price    int64
	}
	TotalAmount int64
	ExpiresAt   time.Time
	BookingID   string
	// WaitlistEntryID is whose offer it is.
	WaitlistEntryID string
}

func (r *reservation) units() int {
	n := 0
	for _, a := range r.Areas {
		n += a.Quantity
	}
	return n
}

// op begins an operation, to be written down when done is called.
func (v *visit) op(do verb) *Op { return &Op{Do: do, Show: v.at} }

// send asks on behalf of the visitor and writes it down.
func (v *visit) send(ctx context.Context, o *Op, req request, into any) *answer {
	if req.method != http.MethodGet && req.key == "" {
		req.key = newKey(v.plan)
	}
	a := v.ask(ctx, o, req)
	if version, err := strconv.ParseInt(a.header.Get("Show-Version"), 10, 64); err == nil {
		o.Version = version
		v.show.tell(version)
	}
	p := &a.problem
	if len(p.UnavailableSeats) > 0 {
		o.Taken = map[int]string{}
		for _, s := range p.UnavailableSeats {
			o.Taken[v.show.index[s.SeatID]] = s.Status
		}
	}
	if len(p.Areas) > 0 {
		o.Left = &p.Areas[0].Available
	}
	if p.Code == boxoffice.CodeTooManySeats && p.Limit > 0 {
		o.Terms = &terms{Most: p.Limit}
	}
	if p.InUse != nil {
		o.Left = p.InUse
	}
	if !p.ExpiresAt.IsZero() {
		o.Ends = v.h.on(p.ExpiresAt)
	}
	o.Booking = max(o.Booking, p.BookingID)
	if a.ok() && into != nil {
		if err := json.Unmarshal(a.body, into); err != nil {
			v.t.found("%s %s: the answer cannot be read: %v", req.method, req.path, err)
		}
	}
	return a
}

// done writes an operation down, and sends a request that was answered once
// more, if the plan says so.
func (v *visit) done(ctx context.Context, o *Op, req request, a *answer, again bool) {
	v.h.add(o)
	if again && o.ok() {
		v.again(ctx, req, a)
	}
}

// place holds places. From a block staff does it.
func (v *visit) place(ctx context.Context, seats []int, units int, fromBlock string) *hold {
	ttl := 2 + v.plan.IntN(holdSecondsMax-1)
	body := object{"showId": v.show.id, "ttlSeconds": ttl, "metadata": object{"visit": v.customer[:8]}}
	if len(seats) > 0 {
		body["seats"] = v.seatList(seats)
	}
	if units > 0 {
		body["areas"] = v.areaList(units, v.chance(30))
	}
	req := request{method: http.MethodPost, path: "/reservations", customer: v.customer, key: newKey(v.plan), body: body}
	if v.chance(10) {
		req.patience = 1
	}
	if fromBlock != "" {
		body["fromBlockId"], body["customerId"], req.customer = fromBlock, v.customer, ""
	}
	o := v.op(place)
	o.Seats, o.Units, o.TTL, o.Block, o.Places = seats, units, ttl, fromBlock, len(seats)+units
	if p := v.pass; p != nil {
		req.header = map[string]string{"X-Queue-Token": p.token}
		o.Pass, o.Entry, o.Admitted, o.TurnEnds = p.whose, p.entry, p.admitted, p.ends
	}
	var r reservation
	again, elsewhere := v.chance(8), v.chance(15)
	a := v.send(ctx, o, req, &r)
	o.Customer = v.customer
	if o.ok() {
		o.Reservation, o.Ends, o.Units = r.ReservationID, v.h.on(r.ExpiresAt), r.units()
		if len(r.Seats) != len(seats) {
			v.t.found("a hold of %d seats was answered with %d: %s", len(seats), len(r.Seats), brief(a.body))
		}
		v.costs(o, &r, seats)
	}
	v.done(ctx, o, req, a, again)
	if !o.ok() {
		return nil
	}
	// The hold's length is exact, and counted from when it was made.
	if made := o.Ends - int64(ttl)*1e6; v.t.clockRight() && (made < o.Call-slack || made > o.Return+slack) {
		v.t.found("reservation %s of %s ends %d seconds after %.3f s, and was asked for from %.3f to %.3f s", r.ReservationID, v.show.title, ttl, float64(made)/1e6, float64(o.Call)/1e6, float64(o.Return)/1e6)
	}
	h := &hold{id: r.ReservationID, seats: seats, units: r.units(), block: fromBlock, ends: r.ExpiresAt, total: r.TotalAmount}
	if elsewhere {
		v.read(ctx, h)
	}
	return h
}

// costs notes in o what the answer says that seats, which are new in the
// reservation, and the floor cost now, and sees that it adds up.
func (v *visit) costs(o *Op, r *reservation, fresh []int) {
	var sum int64
	t := terms{}
	for _, s := range r.Seats {
		sum += s.Price
		if slices.Contains(fresh, v.show.index[s.SeatID]) {
			if t.Seat != 0 && t.Seat != s.Price {
				v.t.found("seats of reservation %s were held at once, for %d and for %d", r.ReservationID, t.Seat, s.Price)
			}
			t.Seat = s.Price
		}
	}
	for _, a := range r.Areas {
		sum += int64(a.Quantity) * a.Price
		if o.Do == place {
			t.Floor = a.Price
		}
	}
	if o.Terms = &t; sum != r.TotalAmount {
		v.t.found("reservation %s costs %d in all and %d in its parts", r.ReservationID, r.TotalAmount, sum)
	}
}

// costs sees that what is paid is what was said when it was held.
func (h *hold) costs(v *visit, what string, total int64) {
	if h.total >= 0 && total != h.total {
		v.t.found("reservation %s was held for %d, and its %s costs %d", h.id, h.total, what, total)
	}
}

// read reads a hold: whoever was told that there is one must find it, on any
// instance.
func (v *visit) read(ctx context.Context, h *hold) (r reservation, ok bool) {
	o := v.op(look)
	o.What, o.Reservation = "reservation", h.id
	a := v.send(ctx, o, request{method: http.MethodGet, path: "/reservations/" + h.id, customer: v.customer}, &r)
	v.h.add(o)
	if o.known() && a.status != http.StatusOK {
		v.t.found("reservation %s was acknowledged, and then read as %d %s", h.id, a.status, a.problem.Code)
	}
	if a.ok() {
		h.costs(v, "reservation", r.TotalAmount)
	}
	return r, a.ok()
}

// choose moves a wish to where the map shows free seats, if it does anywhere.
func (v *visit) choose(seats []int, statuses string) []int {
	for i := range len(statuses) {
		first := (seats[0] + i) % len(statuses)
		if end := first + len(seats); end <= len(statuses) && strings.Trim(statuses[first:end], "a") == "" {
			moved := make([]int, len(seats))
			for j := range moved {
				moved[j] = first + j
			}
			return moved
		}
	}
	return seats
}

// buy is a visit from its beginning to its end.
func (v *visit) buy(ctx context.Context) {
	seats, units := v.want()
	looks, follows := v.chance(50), v.chance(70)
	if looks {
		if m := v.lookAround(ctx); follows && m != nil && len(seats) > 0 && m.Statuses != "" {
			seats = v.choose(seats, m.Statuses)
		}
	}
	h := v.place(ctx, seats, units, "")
	if h == nil {
		return
	}
	if v.chance(12) {
		v.change(ctx, h)
	}
	if v.chance(12) {
		v.extend(ctx, h)
	}
	rest(ctx, time.Duration(v.plan.IntN(200))*time.Millisecond)
	switch n := v.plan.IntN(100); {
	case n < 18:
		v.release(ctx, h)
	case n < 34: // the hold is let go
		v.outlast(ctx, h)
	case n < 42:
		v.confirm(ctx, h, "cash")
	case n < 50: // two windows of a browser
		tokens := [2]string{v.token(), v.token()}
		keys := [2]string{newKey(v.plan), newKey(v.plan)}
		var both sync.WaitGroup
		for i := range tokens {
			both.Go(func() { v.pay(ctx, h, tokens[i], keys[i], false) })
		}
		both.Wait()
		v.settle(ctx, h)
	default:
		v.pay(ctx, h, v.token(), newKey(v.plan), v.chance(8))
		v.settle(ctx, h)
	}
}

// outlast waits until a hold is over and sees that it is.
func (v *visit) outlast(ctx context.Context, h *hold) {
	if !v.chance(30) {
		return // others see it
	}
	rest(ctx, time.Until(h.ends)+5*time.Millisecond)
	if r, ok := v.read(ctx, h); ok && r.Status == "active" && v.t.clockRight() && time.Since(r.ExpiresAt) > time.Second {
		v.t.found("reservation %s ended at %v and was active at %v", h.id, r.ExpiresAt, time.Now())
	}
	// It can no longer be paid, nor extended.
	v.extend(ctx, h)
}

func (v *visit) change(ctx context.Context, h *hold) {
	o := v.op(change)
	o.Reservation = h.id
	body := object{}
	spare := v.plan.IntN(len(v.show.seats))
	if !slices.Contains(h.seats, spare) && len(h.seats)+h.units < 5 {
		o.Seats, o.Places = []int{spare}, len(h.seats)+h.units+1
		body["add"] = object{"seats": v.seatList(o.Seats)}
	}
	if len(h.seats) > 1 || len(h.seats) == 1 && o.Seats != nil {
		o.Back = h.seats[:1]
		o.Places = max(0, o.Places-1)
		body["remove"] = object{"seats": v.seatList(o.Back)}
	}
	if len(body) == 0 {
		return
	}
	req := request{method: http.MethodPatch, path: "/reservations/" + h.id, customer: v.customer, key: newKey(v.plan), body: body}
	again := v.chance(10)
	var r reservation
	a := v.send(ctx, o, req, &r)
	if o.ok() {
		v.costs(o, &r, o.Seats)
		h.seats, h.total = slices.Concat(h.seats[len(o.Back):], o.Seats), r.TotalAmount
	} else if !o.known() || o.Doubt {
		h.total = -1
	}
	v.done(ctx, o, req, a, again)
}

func (v *visit) extend(ctx context.Context, h *hold) {
	o := v.op(extend)
	o.Reservation, o.Seats, o.Units = h.id, h.seats, h.units
	req := request{method: http.MethodPost, path: "/reservations/" + h.id + "/extend", customer: v.customer, key: newKey(v.plan)}
	again := v.chance(10)
	var r reservation
	a := v.send(ctx, o, req, &r)
	if o.ok() {
		o.Ends, h.ends = v.h.on(r.ExpiresAt), r.ExpiresAt
	}
	v.done(ctx, o, req, a, again)
}

func (v *visit) release(ctx context.Context, h *hold) {
	o := v.op(release)
	o.Reservation = h.id
	req := request{method: http.MethodDelete, path: "/reservations/" + h.id, customer: v.customer, key: newKey(v.plan)}
	if v.chance(20) {
		req.patience = 1
	}
	again := v.chance(20)
	a := v.send(ctx, o, req, nil)
	v.done(ctx, o, req, a, again)
}

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

// lookAround reads the map in one of its forms.
func (v *visit) lookAround(ctx context.Context) *seen {
	o := v.op(look)
	known := v.show.told()
	seenMap := &seen{Held: -1}
	req := request{method: http.MethodGet, customer: v.customer}
	switch v.plan.IntN(3) {
	case 0:
		o.What, req.path = "seats", "/shows/"+v.show.id+"/seats"
		var m struct {
			Version int64
			AsOf    time.Time
			Stale   bool
			Seats   []struct{ Status string }
			Areas   []struct{ Capacity, Available int }
		}
		v.send(ctx, o, req, &m)
		seenMap.Version, seenMap.AsOf, seenMap.Stale = m.Version, m.AsOf.UnixNano(), m.Stale
		for _, s := range m.Seats {
			seenMap.Statuses += letters[s.Status]
		}
		for _, a := range m.Areas {
			seenMap.Capacity, seenMap.Free = a.Capacity, a.Available
		}
	case 1:
		o.What, req.path = "availability", fmt.Sprintf("/shows/%s/availability?minVersion=%d", v.show.id, known)
		var m struct {
			Version  int64
			AsOf     time.Time
			Stale    bool
			Statuses string
			Areas    []struct{ Capacity, Available, Held, Booked int }
		}
		v.send(ctx, o, req, &m)
		seenMap.Version, seenMap.AsOf, seenMap.Stale, seenMap.Statuses = m.Version, m.AsOf.UnixNano(), m.Stale, m.Statuses
		for _, a := range m.Areas {
			seenMap.Capacity, seenMap.Free, seenMap.Held, seenMap.Booked = a.Capacity, a.Available, a.Held, a.Booked
		}
	default:
		if v.show.floor == 0 {
			return nil
		}
		o.What, req.path = "area", fmt.Sprintf("/shows/%s/areas/%s/availability", v.show.id, v.show.area)
		var m struct {
			Version                                         int64
			AsOf                                            time.Time
			Stale                                           bool
			Capacity, Booked, ActiveReservations, Available int
		}
		v.send(ctx, o, req, &m)
		*seenMap = seen{Version: m.Version, AsOf: m.AsOf.UnixNano(), Stale: m.Stale, Held: m.ActiveReservations, Booked: m.Booked, Capacity: m.Capacity, Free: m.Available}
	}
	if o.ok() {
		o.Map = seenMap
		if seenMap.Version < known && !seenMap.Stale {
			v.t.found("somebody was told of version %d of %s, and later somebody was shown version %d", known, v.show.title, seenMap.Version)
		}
	}
	v.h.add(o)
	return o.Map
}

var letters = map[string]string{available: "a", held: "h", booked: "b", blocked: "x"}

// staff looks after the shows: keeps seats off sale and sells them, pauses
// sales, changes capacities.
func (c *client) staff(ctx, stop context.Context, r *round) {
	among := r.among(func(*show) bool { return true })
	for n := uint64(0); ctx.Err() == nil; n++ {
		v := newVisit(c, r, n, among)
		if v.show.crowded && v.chance(30) {
			v.closeRoom(stop)
		}
		switch v.plan.IntN(7) {
		case 0, 1:
			v.blockSeats(stop)
		case 2:
			v.pauseSales(stop)
		case 3:
			v.resize(stop)
		case 4:
			v.amend(stop)
		case 5:
			v.mend(stop)
		default:
			v.lists(stop)
		}
		rest(ctx, time.Duration(50+v.plan.IntN(300))*time.Millisecond)
	}
}

func (v *visit) blockSeats(ctx context.Context) {
	seats, _ := v.want()
	if seats == nil {
		seats = []int{v.plan.IntN(len(v.show.seats))}
	}
	o := v.op(block)
	o.Seats = seats
	req := request{method: http.MethodPost, path: "/shows/" + v.show.id + "/seats/block", key: newKey(v.plan), body: object{"seats": v.seatList(seats), "reason": "camera"}}
	var b struct{ BlockID string }
	again := v.chance(20)
	a := v.send(ctx, o, req, &b)
	o.Block = b.BlockID
	v.done(ctx, o, req, a, again)
	if !o.ok() {
		return
	}
	rest(ctx, time.Duration(v.plan.IntN(300))*time.Millisecond)
	if v.chance(50) {
		if h := v.place(ctx, seats[:1], 0, b.BlockID); h != nil {
			switch v.plan.IntN(3) {
			case 0:
				v.confirm(ctx, h, "comp")
			case 1:
				v.release(ctx, h)
			}
		}
	}
	u := v.op(unblock)
	u.Seats, u.Block = seats, b.BlockID
	req = request{method: http.MethodPost, path: "/shows/" + v.show.id + "/seats/unblock", key: newKey(v.plan), body: object{"blockId": b.BlockID}}
	a = v.send(ctx, u, req, nil)
	v.done(ctx, u, req, a, false)
}

func (v *visit) pauseSales(ctx context.Context) {
	for _, do := range []verb{pause, resume} {
		o := v.op(do)
		req := request{method: http.MethodPost, path: "/shows/" + v.show.id + "/" + string(do), key: newKey(v.plan)}
		a := v.send(ctx, o, req, nil)
		v.done(ctx, o, req, a, false)
		rest(ctx, time.Duration(v.plan.IntN(100))*time.Millisecond)
	}
}

func (v *visit) resize(ctx context.Context) {
	if v.show.floor == 0 || v.show.wanted { // what is free there must follow from the log
		return
	}
	o := v.op(capacity)
	o.Capacity = max(1, v.show.floor-3+v.plan.IntN(7))
	req := request{method: http.MethodPatch, path: "/shows/" + v.show.id + "/areas/" + v.show.area.String(), key: newKey(v.plan), body: object{"capacity": o.Capacity}}
	a := v.send(ctx, o, req, nil)
	v.done(ctx, o, req, a, v.chance(20))
}

// amend changes what places cost, when the show begins, and how many places one
// may hold; that only where nobody waits for more.
func (v *visit) amend(ctx context.Context) {
	o, body := v.op(amend), object{}
	o.Terms = &terms{}
	if v.chance(60) {
		o.Terms.Seat = 1000 + 100*v.plan.Int64N(40)
		prices := []object{{"category": "Seats", "amount": o.Terms.Seat}}
		if v.show.floor > 0 {
			o.Terms.Floor = 1000 + 100*v.plan.Int64N(40)
			prices = append(prices, object{"category": "Floor", "amount": o.Terms.Floor})
		}
		body["prices"] = prices
	}
	if v.chance(30) {
		at := time.Unix(v.show.terms.Starts+int64(v.plan.IntN(86_400)), 0).UTC()
		o.Terms.Starts, body["startsAt"] = at.Unix(), at
	}
	if !v.show.wanted && (v.chance(40) || len(body) == 0) {
		o.Terms.Most = 2 + v.plan.IntN(mostPlaces-1)
		body["maxPlacesPerReservation"] = o.Terms.Most
	}
	if len(body) == 0 {
		return
	}
	req := request{method: http.MethodPatch, path: "/shows/" + v.show.id, key: newKey(v.plan), body: body}
	again := v.chance(20)
	a := v.send(ctx, o, req, nil)
	v.done(ctx, o, req, a, again)
}

// terms reads the terms of a show, and notes them in o.
func (c *client) terms(ctx context.Context, sh *show, o *Op) (*terms, error) {
	a := c.ask(ctx, o, request{method: http.MethodGet, path: "/shows/" + sh.id})
	if !a.ok() {
		return nil, fmt.Errorf("%s: answered %d %s", sh.title, a.status, a.problem.Code)
	}
	var is struct {
		StartsAt                time.Time
		MaxPlacesPerReservation int
		Prices                  []struct {
			Category string
			Amount   int64
		}
	}
	if err := json.Unmarshal(a.body, &is); err != nil {
		return nil, err
	}
	o.Terms = &terms{Most: is.MaxPlacesPerReservation, Starts: is.StartsAt.Unix()}
	for _, p := range is.Prices {
		if p.Category == "Seats" {
			o.Terms.Seat = p.Amount
		} else {
			o.Terms.Floor = p.Amount
		}
	}
	return o.Terms, nil
}

// lists reads what people at a desk read.
func (v *visit) lists(ctx context.Context) {
	for _, path := range []string{
		"/reservations?status=active&showId=" + v.show.id, "/bookings?showId=" + v.show.id,
		"/shows/" + v.show.id + "/admissions", "/changes?limit=20&showId=" + v.show.id,
	} {
		o := v.op(look)
		o.What = "list"
		v.send(ctx, o, request{method: http.MethodGet, path: path}, nil)
		v.h.add(o)
	}
	o := v.op(look)
	o.What = "show"
	if _, err := v.client.terms(ctx, v.show, o); err != nil && o.known() {
		v.t.found("%v", err)
	}
	v.h.add(o)
}
