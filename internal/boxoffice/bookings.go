package boxoffice

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// BookingStatus is the state of a booking; see the package comment.
type BookingStatus string

// The states of a booking.
const (
	BookingPending   BookingStatus = "pending"
	BookingConfirmed BookingStatus = "confirmed"
	BookingFailed    BookingStatus = "failed"  // paid too late for its places, and the money goes back
	BookingExpired   BookingStatus = "expired" // the hold ended unpaid
	BookingCancelled BookingStatus = "cancelled"
)

// PaymentExtension is how long a hold lasts at least when a payment of it
// begins. It is given once, and taken back when the payment fails.
const PaymentExtension = 120 * time.Second

// Booking is a purchase made from a reservation, with all that belongs to it.
type Booking struct {
	ID            uuid.UUID
	Reference     string // 8 characters of [ReferenceAlphabet]
	ReservationID uuid.UUID
	CustomerID    string
	Status        BookingStatus
	Currency      string
	TotalMinor    int64 // what the places cost, as when they were held
	RefundedMinor int64 // given back or on its way
	AppliedID     uuid.UUID
	CreatedAt     time.Time
	ConfirmedAt   time.Time // zero: never
	// ConfirmedVersion is the show's version that confirmed it; 0: never, or
	// before that was written down.
	ConfirmedVersion int64
	ClosedAt         time.Time // when it failed, expired or was cancelled; zero: it did not

	Payments []*Payment // in the order in which they began
	Refunds  []*Refund  // in the order in which they were made
	Tickets  []*Ticket  // by number

	dirty bool
}

// ReferenceAlphabet has the characters of booking references: none that looks
// or sounds like another.
const ReferenceAlphabet = "CDEFGHJKMNPQRTUVWXY34679"

// ReferenceLength is how many characters a booking's reference has.
const ReferenceLength = 8

// Buyer is who buys. It is personal: it stays out of receipts, logs, jobs and
// the change log.
type Buyer struct {
	Name   string
	Email  string
	Phone  string // "": not given
	Locale string // BCP 47; "": not given
}

// People are the persons of a booking, for their own tables.
type People struct {
	BookingID uuid.UUID
	Buyer     *Buyer   // nil: as before
	Holders   []string // by ticket number; "": not named
	Unnamed   bool     // the places have changed: the names on them go
}

// open returns the attempt that the gateway has not answered yet, if any.
func (k *Booking) open() *Payment {
	i := slices.IndexFunc(k.Payments, func(p *Payment) bool { return p.Status == PaymentPending })
	if i < 0 {
		return nil
	}
	return k.Payments[i]
}

func (k *Booking) payment(id uuid.UUID) *Payment {
	i := slices.IndexFunc(k.Payments, func(p *Payment) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	return k.Payments[i]
}

func (k *Booking) ticket(id uuid.UUID) *Ticket {
	i := slices.IndexFunc(k.Tickets, func(t *Ticket) bool { return t.ID == id })
	if i < 0 {
		return nil
	}
	return k.Tickets[i]
}

// live returns the tickets that are not void.
func (k *Booking) live() []*Ticket {
	return slices.DeleteFunc(slices.Clone(k.Tickets), func(t *Ticket) bool { return t.Status == TicketVoid })
}

// BeginPayment begins an attempt to pay a reservation. It makes the booking
// when there is none, and gives the hold the time that paying takes. A booking
// that costs nothing is confirmed at once.
type BeginPayment struct {
	ReservationID uuid.UUID
	BookingID     uuid.UUID // UUIDv7 of the booking to make; looked at only when the reservation has none
	Reference     string    // of the booking to make
	PaymentID     uuid.UUID // UUIDv7 of the attempt
	Gateway       string
	Method        string
	Buyer         *Buyer   // nil: as before, for a booking that exists
	Holders       []string // by place, seats first; fewer or none will do
}

func (c *BeginPayment) decide(b *batch) *Error {
	r, err := b.own(c.ReservationID)
	if err != nil {
		return err
	}
	if c.Gateway == "" && r.TotalMinor() > 0 {
		return Invalid(Violation{"payment", "is needed: the reservation costs something"})
	}
	if err := b.notCancelled(); err != nil {
		return err
	}
	if err := r.alive(b.Now); err != nil {
		return err
	}
	if err := b.owns(r, r.Seats); err != nil {
		return err
	}
	k, err := b.payable(r)
	if err != nil {
		return err
	}
	if k == nil && c.Buyer == nil {
		return Refuse(CodeNotFound, "There is no such booking.")
	}
	if err := checkHolders(c.Holders, r); err != nil {
		return err
	}
	if k == nil {
		k = b.book(r, c.BookingID, c.Reference)
	}
	b.people(k, c.Buyer, c.Holders)
	b.out.BookingID, b.out.ReservationID = k.ID, r.ID
	if k.TotalMinor == 0 {
		b.confirm(k, r, b.reason())
		b.out.Booking = string(k.Status)
		return nil
	}
	p := &Payment{
		ID: c.PaymentID, BookingID: k.ID, Gateway: c.Gateway, Method: c.Method,
		Status: PaymentPending, AmountMinor: k.TotalMinor, Currency: k.Currency, CreatedAt: b.Now,
	}
	k.Payments = append(k.Payments, p)
	b.changePayment(p)
	b.logPayment(k, p, PaymentCreated, "", b.reason())
	if until := b.Now.Add(PaymentExtension); r.OwnEnd.IsZero() && until.After(r.ExpiresAt) {
		own := r.ExpiresAt
		b.moveEnd(r, until)
		r.OwnEnd = own
		b.logReservation(r, ReservationExtended, ReservationActive, b.reason(), items{seats: r.Seats}, items{})
	}
	b.settleAt(b.Now.Add(SettleAfter))
	b.out.PaymentID, b.out.Booking, b.out.Reservation = p.ID, string(k.Status), r.snapshot()
	return nil
}

// people notes who buys and who comes. What a batch tells of one booking twice
// is one entry, in which the later word counts.
func (b *batch) people(k *Booking, buyer *Buyer, holders []string) {
	if buyer == nil && holders == nil {
		return
	}
	i := slices.IndexFunc(b.did.People, func(p People) bool { return p.BookingID == k.ID })
	if i < 0 {
		b.did.People = append(b.did.People, People{BookingID: k.ID, Buyer: buyer, Holders: holders})
		return
	}
	p := &b.did.People[i]
	if buyer != nil {
		p.Buyer = buyer
	}
	if holders != nil {
		p.Holders = holders
	}
}

// unname takes the names off a booking's places, which are others now.
func (b *batch) unname(k *Booking) {
	i := slices.IndexFunc(b.did.People, func(p People) bool { return p.BookingID == k.ID })
	if i < 0 {
		b.did.People = append(b.did.People, People{BookingID: k.ID, Unnamed: true})
		return
	}
	b.did.People[i].Holders, b.did.People[i].Unnamed = nil, true
}

func checkHolders(holders []string, r *Reservation) *Error {
	if len(holders) > r.Places() {
		return Invalid(Violation{"holders", "names more people than the reservation has places: " + strconv.Itoa(r.Places())})
	}
	return nil
}

// notCancelled refuses what cannot be sold any more because nobody will play.
func (b *batch) notCancelled() *Error {
	if b.Terms.Status != ShowCancelled {
		return nil
	}
	e := Refuse(CodeShowNotOnSale, "The show is cancelled.")
	e.Facts.Reason = string(ShowCancelled)
	return e
}

// payable returns the booking of a hold, nil if it has none, or refuses when
// it is being paid already.
func (b *batch) payable(r *Reservation) (*Booking, *Error) {
	if r.BookingID == uuid.Nil {
		return nil, nil
	}
	k := b.Bookings[r.BookingID]
	if k == nil {
		return nil, Refuse(CodeInternal, "the booking of the reservation was not loaded")
	}
	if k.open() != nil {
		e := Refuse(CodePaymentInProgress, "A payment of this booking is under way; its outcome is not known yet.")
		e.Facts.BookingID, e.RetryAfter = new(k.ID), 2*time.Second
		return nil, e
	}
	return k, nil
}

// book makes the booking of a hold.
func (b *batch) book(r *Reservation, id uuid.UUID, reference string) *Booking {
	k := &Booking{
		ID: id, Reference: reference, ReservationID: r.ID, CustomerID: r.CustomerID, Status: BookingPending,
		Currency: r.Currency, TotalMinor: r.TotalMinor(), CreatedAt: b.Now,
	}
	b.Bookings[id] = k
	b.changeBooking(k)
	b.changeReservation(r)
	r.BookingID = id
	b.logBooking(k, BookingCreated, "", b.reason())
	return k
}

// ConfirmReservation books a hold that was paid elsewhere, or is given away.
type ConfirmReservation struct {
	ReservationID uuid.UUID
	BookingID     uuid.UUID // as in [BeginPayment]
	Reference     string
	PaymentID     uuid.UUID
	Method        string // cash, terminal, invoice, external; comp: nothing is charged, and the tickets cost nothing
	PaymentRef    string // of the receipt, the invoice; needed unless the total is 0 or it is a comp
	Buyer         *Buyer // nil: nobody is named
	Holders       []string
}

// MethodComp is the payment method of tickets that are given away.
const MethodComp = "comp"

// GatewayManual is the gateway of money that was taken elsewhere. Refunds of
// it are paid out by the people who took it.
const GatewayManual = "manual"

func (c *ConfirmReservation) decide(b *batch) *Error {
	r := b.Reservations[c.ReservationID]
	if r == nil || b.alien() {
		return Refuse(CodeNotFound, "There is no such reservation.")
	}
	if c.PaymentRef == "" && c.Method != MethodComp && r.TotalMinor() > 0 {
		return Invalid(Violation{"paymentReference", "is needed: the reservation costs something"})
	}
	if err := b.notCancelled(); err != nil {
		return err
	}
	if err := r.alive(b.Now); err != nil {
		return err
	}
	if err := b.owns(r, r.Seats); err != nil {
		return err
	}
	k, err := b.payable(r)
	if err != nil {
		return err
	}
	if err := checkHolders(c.Holders, r); err != nil {
		return err
	}
	if k == nil {
		k = b.book(r, c.BookingID, c.Reference)
	}
	b.people(k, c.Buyer, c.Holders)
	if c.Method == MethodComp {
		b.changeBooking(k)
		k.TotalMinor = 0
	}
	if k.TotalMinor > 0 {
		p := &Payment{
			ID: c.PaymentID, BookingID: k.ID, Gateway: GatewayManual, Method: c.Method, Ref: c.PaymentRef,
			Status: PaymentSucceeded, AmountMinor: k.TotalMinor, Currency: k.Currency, CreatedAt: b.Now, SettledAt: b.Now,
		}
		k.Payments = append(k.Payments, p)
		b.changePayment(p)
		b.logPayment(k, p, PaymentSucceededChange, "", ReasonStaff)
		k.AppliedID = p.ID
		b.out.PaymentID = p.ID
	}
	b.confirm(k, r, ReasonStaff)
	b.out.BookingID, b.out.ReservationID, b.out.Booking = k.ID, r.ID, string(k.Status)
	return nil
}

// confirm gives the places of a living hold to its booking, and issues the
// tickets.
func (b *batch) confirm(k *Booking, r *Reservation, reason Reason) {
	b.consume(k, r, taking{}, reason)
}

// retake gives a booking that was paid too late the places of its hold after
// all: the same ones, and all of them, or it changes nothing and says false.
func (b *batch) retake(k *Booking, r *Reservation) bool {
	was := r.Status
	back := items{} // what is still written down as this hold's
	if was == ReservationActive {
		back.areas = r.Areas
		for _, s := range r.Seats {
			if row := b.Seats[s.No]; row != nil && row.ReservationID == r.ID {
				back.seats = append(back.seats, s)
			}
		}
	}
	areas := make([]AreaWant, len(r.Areas))
	for i, l := range r.Areas {
		areas[i] = AreaWant{No: l.No, TicketType: l.TicketType, Quantity: l.Quantity}
		if b.Areas[l.No] == nil {
			return false // the show moved to a plan without it
		}
	}
	for _, s := range r.Seats {
		if b.Terms.Plan.Seat(s.No) == nil {
			return false
		}
	}
	t := taking{items: items{seats: r.Seats, areas: slices.Clone(r.Areas)}}
	r.Status = ReservationConsumed // or it would be among the overdue holds that may be closed
	way, err := b.planSeats(&t, r.CustomerID, r.BlockID, back)
	short := b.planAreas(&t, areas, back)
	limited := b.checkCustomer(r.CustomerID, r.Places(), 0)
	r.Status = was
	if r.Staff {
		limited = nil // the hold was not held to it either
	}
	if err != nil || way.nos != nil || short != nil || limited != nil {
		return false
	}
	b.consume(k, r, t, ReasonLatePayment)
	return true
}

// consume makes what r holds, or held, the booking's. The overdue holds of t
// are closed first.
func (b *batch) consume(k *Booking, r *Reservation, t taking, reason Reason) {
	for _, o := range t.overdue {
		b.close(o, ReservationExpired, ReasonExpired)
	}
	before, held := r.Status, r.Status == ReservationActive
	if !held || r.Overdue(b.Now) {
		b.Places[r.CustomerID] += r.Places()
	}
	for _, s := range r.Seats {
		row := b.Seats[s.No]
		b.changeSeat(row)
		row.State, row.ReservationID, row.HeldUntil, row.Holder = 'b', r.ID, time.Time{}, 0
	}
	for _, l := range r.Areas {
		a := b.Areas[l.No]
		b.changeArea(a)
		if held {
			a.Held -= l.Quantity
		}
		a.Booked += l.Quantity
	}
	b.changeReservation(r)
	r.Status, r.ClosedAt, r.CloseReason = ReservationConsumed, b.Now, reason
	b.endOffer(r)
	c := b.reservationChange(r, ReservationConsume, before, reason, r.Seats)
	if held {
		c.moveUnits(r.Areas, -1)
	}
	c.bookUnits(r.Areas, 1)
	b.log(c)

	was := k.Status
	b.changeBooking(k)
	k.Status, k.ConfirmedAt, k.ClosedAt = BookingConfirmed, b.Now, time.Time{}
	k.ConfirmedVersion = b.did.Version + 1 // as of what was logged above
	b.logBooking(k, BookingConfirmedChange, was, reason)
	b.issue(k, r, reason)
	b.task(Task{Kind: TaskMail, Mail: MailConfirmation, BookingID: k.ID})
	if p := k.open(); p != nil { // nobody needs it any more
		b.hurry(p)
	}
}

// CancelBooking gives tickets of a booking back, all or some, by the show's
// terms; or takes a purchase back that is not paid yet.
type CancelBooking struct {
	BookingID     uuid.UUID
	ReservationID uuid.UUID
	TicketIDs     []uuid.UUID // nil: all that are left
	// Override: by somebody who may refund: whatever the terms say, all of the
	// money goes back, and used tickets too can be cancelled.
	Override bool
	Reason   Reason // of staff and of the system: ReasonStaff, ReasonShowCancelled
}

func (c *CancelBooking) decide(b *batch) *Error {
	k, r := b.Bookings[c.BookingID], b.Reservations[c.ReservationID]
	if k == nil || r == nil || (c.Override && b.alien()) || (!c.Override && k.CustomerID != b.cmd.Actor.CustomerID) {
		return Refuse(CodeNotFound, "There is no such booking.")
	}
	reason := c.Reason
	if !c.Override {
		reason = ReasonBuyer
	}
	b.out.BookingID, b.out.ReservationID = k.ID, r.ID
	var err *Error
	status := k.Status
	if !c.Override && status == BookingPending && r.Overdue(b.Now) && k.open() == nil {
		status = BookingExpired // though nothing has tidied it up
	}
	switch status {
	case BookingPending:
		if c.TicketIDs != nil {
			return Invalid(Violation{"ticketIds", "the booking is not confirmed and has no tickets yet"})
		}
		b.abandon(k, r, reason)
	case BookingConfirmed:
		err = c.cancel(b, k, r, reason)
	case BookingCancelled:
		err = c.tickets(k, nil) // names of tickets must be right, also when nothing is left to do
	default:
		return Refuse(CodeBookingNotCancellable, "The booking is %s.", status)
	}
	b.out.Booking, b.out.TicketIDs = string(k.Status), c.TicketIDs
	if p := k.open(); p != nil { // whoever asked is told that it is being stopped, also when they ask again
		b.out.PaymentID = p.ID
	}
	return err
}

// tickets collects the named tickets that are live, or all of them; an unknown
// one is refused.
func (c *CancelBooking) tickets(k *Booking, into *[]*Ticket) *Error {
	if c.TicketIDs == nil && into != nil {
		*into = k.live()
	}
	var bad []Violation
	for i, id := range c.TicketIDs {
		j := slices.IndexFunc(k.Tickets, func(t *Ticket) bool { return t.ID == id })
		switch field := "ticketIds[" + strconv.Itoa(i) + "]"; {
		case j < 0:
			bad = append(bad, Violation{field, id.String() + " is not a ticket of this booking"})
		case slices.Index(c.TicketIDs, id) < i:
			bad = append(bad, Violation{field, id.String() + " is named more than once"})
		case into != nil && k.Tickets[j].Status != TicketVoid:
			*into = append(*into, k.Tickets[j])
		}
	}
	if bad != nil {
		return Invalid(bad...)
	}
	return nil
}

func (c *CancelBooking) cancel(b *batch, k *Booking, r *Reservation, reason Reason) *Error {
	var tickets []*Ticket
	if err := c.tickets(k, &tickets); err != nil {
		return err
	}
	if len(tickets) == 0 {
		return nil // done before
	}
	percent := 100
	if !c.Override {
		policy := b.Terms.Cancellation
		if policy == nil {
			return Refuse(CodeBookingNotCancellable, "Bookings of this show cannot be cancelled.")
		}
		until := b.Terms.StartsAt.Add(-time.Duration(policy.UntilMinutesBeforeStart) * time.Minute)
		if !b.Now.Before(until) {
			e := Refuse(CodeBookingNotCancellable, "Bookings of this show could be cancelled until %s.", until.UTC().Format(time.RFC3339))
			e.Facts.Until = &until
			return e
		}
		if i := slices.IndexFunc(tickets, func(t *Ticket) bool { return t.Status == TicketUsed }); i >= 0 {
			return Refuse(CodeBookingNotCancellable, "Ticket %s was used.", tickets[i].ID)
		}
		percent = policy.RefundPercent
	}
	b.void(k, r, tickets, reason)
	refund := &Refund{Cause: cancelCause(tickets), Reason: reason, Status: RefundPending}
	if p := k.payment(k.AppliedID); p != nil {
		left := make([]int64, len(tickets))
		for i, t := range tickets {
			left[i] = t.PriceMinor - t.RefundedMinor
		}
		b.refundTickets(k, p, refund, tickets, Share(left, percent))
	}
	if len(k.live()) == 0 {
		b.changeBooking(k)
		k.Status, k.ClosedAt = BookingCancelled, b.Now
		b.logBooking(k, BookingCancelledChange, BookingConfirmed, reason)
	}
	b.tellCancelled(k, refund, tickets)
	return nil
}

// tellCancelled has the buyer told of tickets that are void now, and of the
// money for them, if any goes back.
func (b *batch) tellCancelled(k *Booking, f *Refund, tickets []*Ticket) {
	t := Task{Kind: TaskMail, Mail: MailCancellation, BookingID: k.ID, RefundID: f.ID, N: len(k.Tickets) - len(k.live())}
	for _, void := range tickets {
		t.Tickets = append(t.Tickets, void.N)
	}
	b.task(t)
}

// cancelCause names a cancellation by the tickets it voids: each of them can
// only once, so the first few will do, and an index can have the name.
func cancelCause(tickets []*Ticket) string {
	const few = 8
	nos := make([]string, 0, few+1)
	for _, t := range tickets[:min(len(tickets), few)] {
		nos = append(nos, strconv.Itoa(t.N))
	}
	if more := len(tickets) - few; more > 0 {
		nos = append(nos, "+"+strconv.Itoa(more))
	}
	return "cancel:" + strings.Join(nos, ",")
}

// abandon takes back a purchase that is not paid: its places are free at once.
// A payment under way is cancelled at the gateway; should it succeed all the
// same, the money goes back.
func (b *batch) abandon(k *Booking, r *Reservation, reason Reason) {
	b.changeBooking(k)
	k.Status, k.ClosedAt = BookingCancelled, b.Now
	b.logBooking(k, BookingCancelledChange, BookingPending, reason)
	if r.StatusAt(b.Now) == ReservationActive {
		b.close(r, ReservationReleased, reason)
	}
	if p := k.open(); p != nil {
		b.hurry(p)
	}
}

// hurry has a payment asked for at once, and cancelled at its gateway.
func (b *batch) hurry(p *Payment) {
	b.did.Hurried = append(b.did.Hurried, p.ID)
	b.settleAt(b.Now)
}

// left tells the booking of a hold that the hold has ended unpaid. One with a
// payment under way waits for its outcome.
func (b *batch) left(r *Reservation, to ReservationStatus, reason Reason) {
	k := b.Bookings[r.BookingID]
	if k == nil || k.Status != BookingPending {
		return
	}
	switch open := k.open() != nil; {
	case to == ReservationReleased:
		b.abandon(k, r, reason)
	case !open:
		b.expireBooking(k)
	}
}

func (b *batch) expireBooking(k *Booking) {
	b.changeBooking(k)
	k.Status, k.ClosedAt = BookingExpired, b.Now
	b.logBooking(k, BookingExpiredChange, BookingPending, ReasonExpired)
	b.task(Task{Kind: TaskMail, Mail: MailExpiry, BookingID: k.ID})
}

// alien says whether whoever gives the command belongs to another organisation
// than the show: for commands that scopes allow, and not being the customer.
func (b *batch) alien() bool {
	id := b.cmd.Actor.OrganisationID
	return id != uuid.Nil && id != b.Terms.OrganisationID
}

func (b *batch) changeBooking(k *Booking) {
	if !k.dirty {
		k.dirty = true
		b.did.Bookings = append(b.did.Bookings, k)
	}
}

func (b *batch) logBooking(k *Booking, typ ChangeType, before BookingStatus, reason Reason) {
	c := Change{
		Type: typ, Reason: reason, BookingID: k.ID, ReservationID: k.ReservationID,
		Before: string(before), After: string(k.Status),
	}
	if typ == BookingExpiredChange {
		c.Actor = systemActor
	}
	b.log(c)
}

// moveEnd gives a hold and its seats another end.
func (b *batch) moveEnd(r *Reservation, end time.Time) {
	b.changeReservation(r)
	r.ExpiresAt = end
	for _, s := range r.Seats {
		if row := b.Seats[s.No]; row != nil && row.ReservationID == r.ID {
			b.changeSeat(row)
			row.HeldUntil = end
		}
	}
	b.endsAt(end)
}

// DerivedID makes the id of something that follows from something else: the
// n-th ticket of a booking, the refund of a payment for a cause. It is the
// same each time, so that a step that is repeated makes nothing twice, and a
// well-formed UUIDv7 with the time of the id it comes from.
func DerivedID(from uuid.UUID, what string) uuid.UUID {
	sum := sha256.Sum256(append(from[:], what...))
	id := from
	copy(id[6:], sum[:])
	id[6] = 0x70 | id[6]&0x0f
	id[8] = 0x80 | id[8]&0x3f
	return id
}

// Share is what percent of each amount is, in whole minor units, so that the
// parts add up to that share of the sum, rounded half up: by the largest
// remainder, the earlier one of equals.
func Share(amounts []int64, percent int) []int64 {
	var sum int64
	for _, a := range amounts {
		sum += a
	}
	return Apportion((sum*int64(percent)+50)/100, amounts)
}

// Apportion divides a total among parts in proportion to their weights, in
// whole units that add up to the total exactly: by the largest remainder, the
// earlier one of equals. Weights are not negative; if all are 0, so are the
// parts.
func Apportion(total int64, weights []int64) []int64 {
	parts := make([]int64, len(weights))
	var sum int64
	for _, w := range weights {
		sum += w
	}
	if sum == 0 {
		return parts
	}
	type rest struct {
		i    int
		rest uint64
	}
	rests := make([]rest, len(weights))
	left := total
	for i, w := range weights {
		q, r := mulDiv(uint64(total), uint64(w), uint64(sum))
		parts[i], rests[i] = int64(q), rest{i, r}
		left -= parts[i]
	}
	slices.SortStableFunc(rests, func(x, y rest) int {
		switch {
		case x.rest > y.rest:
			return -1
		case x.rest < y.rest:
			return 1
		}
		return 0
	})
	for _, r := range rests[:left] {
		parts[r.i]++
	}
	return parts
}
