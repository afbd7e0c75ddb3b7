package boxoffice

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/google/uuid"
)

// PaymentStatus is the state of one attempt to pay. It never goes down in
// truth: pending < failed, cancelled < succeeded.
type PaymentStatus string

// The states of a payment.
const (
	PaymentPending   PaymentStatus = "pending"
	PaymentSucceeded PaymentStatus = "succeeded"
	PaymentFailed    PaymentStatus = "failed"
	PaymentCancelled PaymentStatus = "cancelled"
)

// SettleAfter is how long after its beginning a payment is asked for at its
// gateway, should nobody have heard of it: longer than a call may take.
const SettleAfter = 15 * time.Second

// Payment is one attempt at one gateway. Any number of a booking's may have
// succeeded; one of them is applied to it, and the others go back.
type Payment struct {
	ID            uuid.UUID // the idempotency key at the gateway
	BookingID     uuid.UUID
	Gateway       string
	Method        string
	Status        PaymentStatus
	AmountMinor   int64
	RefundedMinor int64 // given back or on its way; at most AmountMinor
	Currency      string
	Ref           string // the gateway's id of it; "": not known yet
	DeclineCode   string // the gateway's
	Next          string // what the buyer has to do, as JSON; "": nothing
	CreatedAt     time.Time
	SettledAt     time.Time // zero: pending

	dirty bool
}

// RefundStatus is the state of a refund.
type RefundStatus string

// The states of a refund.
const (
	RefundPending   RefundStatus = "pending"
	RefundSucceeded RefundStatus = "succeeded"
	RefundFailed    RefundStatus = "failed" // the gateway will not; people must
)

// Refund is money given back for a payment.
type Refund struct {
	ID           uuid.UUID // the idempotency key at the gateway; from payment and cause
	BookingID    uuid.UUID
	PaymentID    uuid.UUID
	Cause        string // unique for the payment
	Reason       Reason
	Status       RefundStatus
	Attempt      int // from 1; one more each time that people send it again
	AmountMinor  int64
	Currency     string
	TicketIDs    []uuid.UUID // whose money it is; nil: of a payment that was not applied
	TicketAmount []int64     // in step; adds up to AmountMinor
	Ref          string      // the gateway's id of it
	Failure      string      // why it failed, the gateway's words
	CreatedAt    time.Time
	SettledAt    time.Time // zero: pending

	dirty bool
}

// SettlePayment tells what a gateway says of a payment. The answer to the
// charge, the webhook and the reconciler all end here; telling it again, or
// something older, changes nothing.
type SettlePayment struct {
	ReservationID uuid.UUID
	BookingID     uuid.UUID
	PaymentID     uuid.UUID
	Status        PaymentStatus // pending: only Ref and Next are news
	Ref           string
	DeclineCode   string
	Next          string
	AmountMinor   int64 // what the gateway took; 0: it did not say
}

func (c *SettlePayment) decide(b *batch) *Error {
	k, r := b.Bookings[c.BookingID], b.Reservations[c.ReservationID]
	if k == nil || r == nil {
		return Refuse(CodeNotFound, "There is no such booking.")
	}
	p := k.payment(c.PaymentID)
	if p == nil {
		return Refuse(CodeNotFound, "There is no such payment.")
	}
	if c.Status == PaymentSucceeded && c.AmountMinor != 0 && c.AmountMinor != p.AmountMinor {
		return Refuse(CodeInternal, "payment %s: the gateway took %d instead of %d", p.ID, c.AmountMinor, p.AmountMinor)
	}
	if r.Status == ReservationActive {
		if err := b.owns(r, r.Seats); err != nil {
			return err
		}
	}
	if c.Ref != "" && p.Ref == "" {
		b.changePayment(p)
		p.Ref = c.Ref
	}
	switch {
	case p.Status == PaymentSucceeded, p.Status != PaymentPending && c.Status != PaymentSucceeded:
		// Older than what is known.
	case c.Status == PaymentPending:
		if c.Next != p.Next && c.Next != "" {
			b.changePayment(p)
			p.Next = c.Next
		}
	case c.Status == PaymentSucceeded:
		b.succeed(k, r, p)
	default:
		b.fail(k, r, p, c)
	}
	b.out.BookingID, b.out.PaymentID, b.out.ReservationID = k.ID, p.ID, r.ID
	b.out.Booking, b.out.Payment = string(k.Status), string(p.Status)
	return nil
}

// succeed applies money that was taken to its booking, or gives it back.
func (b *batch) succeed(k *Booking, r *Reservation, p *Payment) {
	before := p.Status
	b.taken(k, p)
	over := r.StatusAt(b.Now) == ReservationExpired
	switch {
	case k.Status != BookingPending && k.Status != BookingExpired:
		// Bought by another payment, cancelled, or given back already.
	case b.Terms.Status == ShowCancelled:
	case r.StatusAt(b.Now) == ReservationActive && p.AmountMinor == r.TotalMinor():
		k.AppliedID = p.ID
		b.confirm(k, r, ReasonBuyer)
		return
	case over && p.AmountMinor == r.TotalMinor():
		k.AppliedID = p.ID
		if b.retake(k, r) {
			b.out.Late = LateBooked
			return
		}
		k.AppliedID = uuid.Nil
	}
	b.out.Late = LateRefunded
	b.addRefund(k, p, &Refund{
		Cause: "unapplied", Reason: ReasonLatePayment, AmountMinor: p.AmountMinor, Status: RefundPending,
	})
	// A living hold that has changed since can still be paid by another attempt.
	switch lost := r.StatusAt(b.Now) != ReservationActive || b.Terms.Status == ShowCancelled; {
	case !lost || k.Status != BookingPending || k.open() != nil:
	case before != PaymentPending && r.Overdue(b.Now):
		b.close(r, ReservationExpired, ReasonExpired) // it had ended unpaid, though nothing has tidied it up
	default:
		b.changeBooking(k)
		k.Status, k.ClosedAt = BookingFailed, b.Now
		b.logBooking(k, BookingFailedChange, BookingPending, ReasonLatePayment)
		if r.Status == ReservationActive {
			b.close(r, endOf(r, b.Now), ReasonLatePayment)
		}
	}
	b.task(Task{Kind: TaskMail, Mail: MailRefund, BookingID: k.ID, RefundID: DerivedID(p.ID, "unapplied")})
}

// taken notes that a gateway has taken the money.
func (b *batch) taken(k *Booking, p *Payment) {
	before := p.Status
	b.changePayment(p)
	p.Status, p.SettledAt, p.Next = PaymentSucceeded, b.Now, ""
	b.logPayment(k, p, PaymentSucceededChange, before, ReasonGateway)
}

// endOf is what becomes of a hold that its booking does not need any more.
func endOf(r *Reservation, now time.Time) ReservationStatus {
	if r.Overdue(now) {
		return ReservationExpired
	}
	return ReservationReleased
}

// fail notes that no money was taken.
func (b *batch) fail(k *Booking, r *Reservation, p *Payment, c *SettlePayment) {
	b.changePayment(p)
	p.Status, p.SettledAt, p.DeclineCode, p.Next = c.Status, b.Now, c.DeclineCode, ""
	b.logPayment(k, p, PaymentFailedChange, PaymentPending, ReasonGateway)
	b.unpaid(k, r)
}

// unpaid takes back the time that an attempt gave the hold, now that it is
// over and has bought nothing.
func (b *batch) unpaid(k *Booking, r *Reservation) {
	if k.Status != BookingPending || k.open() != nil {
		return
	}
	if r.StatusAt(b.Now) == ReservationActive && !r.OwnEnd.IsZero() && r.ExpiresAt.After(r.OwnEnd) {
		if over := !b.Now.Before(r.OwnEnd); over {
			b.changeReservation(r)
			r.ExpiresAt = r.OwnEnd
			b.Places[r.CustomerID] -= r.Places() // it was counted, having been alive
		} else {
			b.moveEnd(r, r.OwnEnd)
			b.logReservation(r, ReservationExtended, ReservationActive, ReasonPaymentFailed, items{seats: r.Seats}, items{})
		}
	}
	switch {
	case r.Overdue(b.Now):
		b.close(r, ReservationExpired, ReasonExpired) // and the booking with it
	case r.Status != ReservationActive:
		b.expireBooking(k)
	}
}

// Late tells what became of a payment that came too late for its hold.
type Late string

// What becomes of late payments.
const (
	LateBooked   Late = "booked" // the places were free still, or again
	LateRefunded Late = "refunded"
)

// SettleRefund tells what a gateway says of a refund.
type SettleRefund struct {
	ReservationID uuid.UUID
	BookingID     uuid.UUID
	RefundID      uuid.UUID
	Status        RefundStatus // pending: only Ref is news
	Ref           string
	Failure       string
}

func (c *SettleRefund) decide(b *batch) *Error {
	k := b.Bookings[c.BookingID]
	if k == nil {
		return Refuse(CodeNotFound, "There is no such booking.")
	}
	i := slices.IndexFunc(k.Refunds, func(f *Refund) bool { return f.ID == c.RefundID })
	if i < 0 {
		return Refuse(CodeNotFound, "There is no such refund.")
	}
	f := k.Refunds[i]
	b.out.BookingID, b.out.ID = k.ID, f.ID
	retried := f.Status == RefundPending && f.Failure != "" // and Ref is the attempt's before
	switch named := c.Ref != "" && c.Ref != f.Ref; {
	case named && f.Ref != "" && !retried:
		return nil // it is of an earlier attempt
	case named:
		if err := b.settleRefund(k, f, c.Status, c.Failure); err != nil {
			return err
		}
		b.changeRefund(f)
		f.Ref = c.Ref
		if f.Status == RefundPending {
			f.Failure = ""
		}
	case c.Ref != "" && (retried || f.Status == RefundFailed && c.Status == RefundSucceeded):
		// Of an attempt that failed. A bank sends back what it had been given, and
		// the news that it was given may come after that: not the other way round.
		return nil
	default:
		return b.settleRefund(k, f, c.Status, c.Failure)
	}
	return nil
}

// settleRefund applies what a gateway says of a refund: a bank may send back
// what was given back already.
func (b *batch) settleRefund(k *Booking, f *Refund, to RefundStatus, failure string) *Error {
	if to == RefundPending || f.Status == to {
		return nil
	}
	before, p := f.Status, k.payment(f.PaymentID)
	if p == nil {
		return Refuse(CodeInternal, "the payment of the refund was not loaded")
	}
	typ := RefundSucceededChange
	switch {
	case to == RefundFailed:
		typ, failure = RefundFailedChange, cmp.Or(failure, "failed")
		b.moveRefunded(k, p, f, -1)
	case before == RefundFailed && !k.fits(p, f):
		return Refuse(CodeConflict, "More would be given back than was paid.")
	case before == RefundFailed:
		b.moveRefunded(k, p, f, 1)
	}
	b.changeRefund(f)
	f.Status, f.Failure, f.SettledAt = to, failure, b.Now
	b.logRefund(k, f, typ, before)
	return nil
}

// fits says whether the money of a refund that failed was not given back in
// another way meanwhile.
func (k *Booking) fits(p *Payment, f *Refund) bool {
	for i, id := range f.TicketIDs {
		if t := k.ticket(id); t.RefundedMinor+f.TicketAmount[i] > t.PriceMinor {
			return false
		}
	}
	return p.RefundedMinor+f.AmountMinor <= p.AmountMinor
}

// RetryRefund sends a refund once more that the gateway had refused, or notes
// that people gave the money back in another way.
type RetryRefund struct {
	BookingID uuid.UUID
	RefundID  uuid.UUID
	PaidBy    string // the reference of what people did: of a transfer, a receipt; "": send it again
}

func (c *RetryRefund) decide(b *batch) *Error {
	k := b.Bookings[c.BookingID]
	if k == nil || b.alien() {
		return Refuse(CodeNotFound, "There is no such booking.")
	}
	i := slices.IndexFunc(k.Refunds, func(f *Refund) bool { return f.ID == c.RefundID })
	if i < 0 {
		return Refuse(CodeNotFound, "There is no such refund.")
	}
	f := k.Refunds[i]
	if f.Status != RefundFailed {
		return Refuse(CodeAlreadyRefunded, "The refund is %s.", f.Status)
	}
	p := k.payment(f.PaymentID)
	if p == nil || !k.fits(p, f) {
		return Refuse(CodeAlreadyRefunded, "The payment was given back meanwhile.")
	}
	b.out.BookingID, b.out.ID = k.ID, f.ID
	if c.PaidBy != "" {
		if err := b.settleRefund(k, f, RefundSucceeded, ""); err != nil {
			return err
		}
		f.Ref = c.PaidBy
		return nil
	}
	b.changeRefund(f)
	// Ref and Failure stay until the gateway names the new attempt: by them the
	// old one is known, should it be told again.
	f.Status, f.SettledAt = RefundPending, time.Time{}
	f.Attempt++
	b.moveRefunded(k, p, f, 1)
	b.logRefund(k, f, RefundCreated, RefundFailed)
	b.task(Task{Kind: TaskRefund, BookingID: k.ID, RefundID: f.ID})
	return nil
}

// GiveBack gives money back for tickets that stay valid: for a view that was
// blocked, a heating that was not on.
type GiveBack struct {
	BookingID uuid.UUID
	TicketIDs []uuid.UUID // nil: all that are not void
	// AmountMinor is divided among the tickets in proportion to what is left of
	// their prices; 0: all that is left.
	AmountMinor int64
	Cause       string // unique for the payment: the same twice is one refund
}

func (c *GiveBack) decide(b *batch) *Error {
	k := b.Bookings[c.BookingID]
	if k == nil || b.alien() {
		return Refuse(CodeNotFound, "There is no such booking.")
	}
	p := k.payment(k.AppliedID)
	if p == nil {
		return Refuse(CodeAlreadyRefunded, "Nothing was paid for this booking.")
	}
	if i := slices.IndexFunc(k.Refunds, func(f *Refund) bool { return f.PaymentID == p.ID && f.Cause == c.Cause }); i >= 0 {
		b.out.BookingID, b.out.ID = k.ID, k.Refunds[i].ID
		return nil
	}
	var tickets []*Ticket
	if err := (&CancelBooking{TicketIDs: c.TicketIDs}).tickets(k, &tickets); err != nil {
		return err
	}
	left := make([]int64, len(tickets))
	var sum int64
	for i, t := range tickets {
		left[i] = t.PriceMinor - t.RefundedMinor
		sum += left[i]
	}
	sum = min(sum, p.AmountMinor-p.RefundedMinor)
	switch {
	case sum == 0:
		return Refuse(CodeAlreadyRefunded, "The money was given back already.")
	case c.AmountMinor > sum:
		return Invalid(Violation{"amount", "must be at most " + itoa(sum) + ", what is left of the price"})
	case c.AmountMinor > 0:
		sum = c.AmountMinor
	}
	b.refundTickets(k, p, &Refund{Cause: c.Cause, Reason: ReasonStaff, Status: RefundPending}, tickets, Apportion(sum, left))
	f := k.Refunds[len(k.Refunds)-1]
	b.task(Task{Kind: TaskMail, Mail: MailRefund, BookingID: k.ID, RefundID: f.ID})
	b.out.BookingID, b.out.ID = k.ID, f.ID
	return nil
}

// RecordRefund records what was begun at the gateway's own desk: a refund, or
// a dispute that the buyer's bank decided. When all the money is gone the
// tickets are void and the places free.
type RecordRefund struct {
	ReservationID uuid.UUID
	BookingID     uuid.UUID
	PaymentID     uuid.UUID
	Ref           string // the gateway's id of it
	AmountMinor   int64
	Status        RefundStatus
	Dispute       bool
}

func (c *RecordRefund) decide(b *batch) *Error {
	k, r := b.Bookings[c.BookingID], b.Reservations[c.ReservationID]
	if k == nil || r == nil {
		return Refuse(CodeNotFound, "There is no such booking.")
	}
	p := k.payment(c.PaymentID)
	if p == nil {
		return Refuse(CodeNotFound, "There is no such payment.")
	}
	b.out.BookingID, b.out.PaymentID, b.out.ReservationID = k.ID, p.ID, r.ID
	if i := slices.IndexFunc(k.Refunds, func(f *Refund) bool { return f.PaymentID == p.ID && f.Ref == c.Ref }); i >= 0 {
		// Known; but it may not have come through after all, or a dispute was won.
		return b.settleRefund(k, k.Refunds[i], c.Status, "")
	}
	if c.Status == RefundFailed {
		return nil // nothing came of it
	}
	if c.AmountMinor > p.AmountMinor-p.RefundedMinor && slices.ContainsFunc(k.Refunds, func(f *Refund) bool {
		return f.PaymentID == p.ID && f.Status == RefundPending
	}) {
		// It may be that refund, whose id there is not known here yet, or have
		// come before it, and then the gateway will refuse that one. How it ends
		// tells which.
		return Refuse(CodeConflict, "A refund of this payment is under way, and both are more than was paid.")
	}
	// What was given back must have been taken. All of it buys nothing.
	nothing := p.Status != PaymentSucceeded && c.AmountMinor >= p.AmountMinor
	switch {
	case nothing:
		b.taken(k, p)
	case p.Status != PaymentSucceeded:
		b.succeed(k, r, p)
	}
	amount := min(c.AmountMinor, p.AmountMinor-p.RefundedMinor)
	if amount <= 0 {
		return nil // all of it went back already
	}
	whole, live := amount == p.AmountMinor-p.RefundedMinor, k.live()
	cause := "gateway:" + c.Ref
	if c.Dispute {
		cause = "dispute:" + c.Ref
	}
	f := &Refund{Cause: cause, Reason: ReasonGateway, Status: RefundSucceeded, Ref: c.Ref, SettledAt: b.Now}
	if p.ID != k.AppliedID {
		f.AmountMinor = amount
		b.addRefund(k, p, f)
		if nothing {
			b.unpaid(k, r)
		}
		return nil
	}
	tickets, amounts := k.spread(amount)
	b.refundTickets(k, p, f, tickets, amounts)
	if whole && k.Status == BookingConfirmed {
		b.void(k, r, live, ReasonGateway)
		b.changeBooking(k)
		k.Status, k.ClosedAt = BookingCancelled, b.Now
		b.logBooking(k, BookingCancelledChange, BookingConfirmed, ReasonGateway)
		b.tellCancelled(k, f, live)
	}
	return nil
}

// spread divides money that went back without us among a booking's tickets:
// that of the live ones first, then what was kept of void ones.
func (k *Booking) spread(amount int64) (tickets []*Ticket, amounts []int64) {
	for _, void := range []bool{false, true} {
		var left []int64
		var sum int64
		for _, t := range k.Tickets {
			if (t.Status == TicketVoid) == void {
				tickets, left = append(tickets, t), append(left, t.PriceMinor-t.RefundedMinor)
				sum += t.PriceMinor - t.RefundedMinor
			}
		}
		part := min(amount, sum)
		amounts, amount = append(amounts, Apportion(part, left)...), amount-part
	}
	return tickets, amounts
}

// refundTickets gives the money of tickets back: amounts are in step with
// them. Nothing is given back for nothing.
func (b *batch) refundTickets(k *Booking, p *Payment, f *Refund, tickets []*Ticket, amounts []int64) {
	for i, t := range tickets {
		if amounts[i] == 0 {
			continue
		}
		b.changeTicket(t)
		t.RefundedMinor += amounts[i]
		f.TicketIDs, f.TicketAmount = append(f.TicketIDs, t.ID), append(f.TicketAmount, amounts[i])
		f.AmountMinor += amounts[i]
	}
	if f.AmountMinor > 0 {
		b.addRefund(k, p, f)
	}
}

// addRefund adds a refund to a payment. Money that was taken by people is
// given back by people, there and then.
func (b *batch) addRefund(k *Booking, p *Payment, f *Refund) {
	f.ID, f.BookingID, f.PaymentID, f.Currency, f.CreatedAt = DerivedID(p.ID, f.Cause), k.ID, p.ID, p.Currency, b.Now
	f.Attempt = 1
	if p.Gateway == GatewayManual {
		f.Status, f.SettledAt = RefundSucceeded, b.Now
	}
	k.Refunds = append(k.Refunds, f)
	b.changeRefund(f)
	b.changePayment(p)
	p.RefundedMinor += f.AmountMinor
	b.changeBooking(k)
	k.RefundedMinor += f.AmountMinor
	if f.Status == RefundSucceeded {
		b.logRefund(k, f, RefundSucceededChange, "")
		return
	}
	b.logRefund(k, f, RefundCreated, "")
	b.task(Task{Kind: TaskRefund, BookingID: k.ID, RefundID: f.ID})
}

// moveRefunded takes a refund out of the sums, or puts it back.
func (b *batch) moveRefunded(k *Booking, p *Payment, f *Refund, sign int64) {
	b.changePayment(p)
	p.RefundedMinor += sign * f.AmountMinor
	b.changeBooking(k)
	k.RefundedMinor += sign * f.AmountMinor
	for i, id := range f.TicketIDs {
		t := k.ticket(id)
		b.changeTicket(t)
		t.RefundedMinor += sign * f.TicketAmount[i]
	}
}

func (b *batch) changePayment(p *Payment) {
	if !p.dirty {
		p.dirty = true
		b.did.Payments = append(b.did.Payments, p)
	}
}

func (b *batch) changeRefund(f *Refund) {
	if !f.dirty {
		f.dirty = true
		b.did.Refunds = append(b.did.Refunds, f)
	}
}

func (b *batch) logPayment(k *Booking, p *Payment, typ ChangeType, before PaymentStatus, reason Reason) {
	b.log(Change{
		Type: typ, Reason: reason, BookingID: k.ID, ReservationID: k.ReservationID, PaymentID: p.ID,
		Before: string(before), After: string(p.Status), AmountMinor: p.AmountMinor, Detail: p.DeclineCode,
	})
}

func (b *batch) logRefund(k *Booking, f *Refund, typ ChangeType, before RefundStatus) {
	b.log(Change{
		Type: typ, Reason: f.Reason, BookingID: k.ID, ReservationID: k.ReservationID, PaymentID: f.PaymentID, RefundID: f.ID,
		Before: string(before), After: string(f.Status), AmountMinor: f.AmountMinor, TicketIDs: f.TicketIDs, Detail: f.Failure,
	})
}

// TaskKind is a kind of work that must be done after a batch.
type TaskKind string

// The kinds of task.
const (
	TaskSettle     TaskKind = "settle"      // ask for the show's payments that nobody has heard of
	TaskRefund     TaskKind = "refund"      // send a refund to its gateway
	TaskMail       TaskKind = "mail"        // tell the buyer
	TaskCancelShow TaskKind = "cancel_show" // give everybody their money back
	TaskEvent      TaskKind = "event"       // see to it that a gateway's webhook has its effect
)

// The kinds of mail.
const (
	MailConfirmation = "confirmation"
	MailExpiry       = "expiry"
	MailCancellation = "cancellation"
	MailRefund       = "refund"
	MailReminder     = "reminder"
	MailOffer        = "offer" // of the waitlist
)

// Task is work that follows from a batch, put on the queue in its transaction:
// it is done if, and only if, the batch is committed.
type Task struct {
	Kind      TaskKind
	BookingID uuid.UUID
	RefundID  uuid.UUID
	Mail      string
	N         int       // tells mails of one kind and booking apart
	Tickets   []int     // by number: those that a cancellation is about
	Gateway   string    // of the event
	Event     string    // the gateway's id of it
	At        time.Time // zero: at once

	WaitlistEntryID uuid.UUID // whom an offer is made
}

func (b *batch) task(t Task) { b.did.Tasks = append(b.did.Tasks, t) }

// settleAt notes that payments of the show must be asked for at t, or in the
// second after: one task does it for many.
func (b *batch) settleAt(t time.Time) {
	if whole := t.Truncate(time.Second); whole.Before(t) {
		t = whole.Add(time.Second)
	}
	for i := range b.did.Tasks {
		if have := &b.did.Tasks[i]; have.Kind == TaskSettle && have.At.Equal(t) {
			return
		}
	}
	b.task(Task{Kind: TaskSettle, At: t})
}

// mulDiv is x*y/z and its remainder without overflow; z is at least y.
func mulDiv(x, y, z uint64) (quotient, remainder uint64) {
	hi, lo := bits.Mul64(x, y)
	return bits.Div64(hi, lo, z)
}
