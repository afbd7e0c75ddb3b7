package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/mail"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/checkout"
	"github.com/rowlock/rowlock/internal/payment"
	"github.com/rowlock/rowlock/internal/store"
)

// The limits of what is said about people and payments, in characters.
const (
	personMax    = 200
	emailMax     = 320
	phoneMax     = 50
	returnURLMax = 2000
	referenceMax = 200
)

// waitMax is the longest long poll.
const waitMax = 20 * time.Second

func (a *API) registerBookings() {
	show := map[string]string{"Show-Version": "The show's version after this; for ?minVersion= on map reads."}
	paying := []boxoffice.Code{
		boxoffice.CodeNotFound, boxoffice.CodeShowNotOnSale, boxoffice.CodePaymentDeclined, boxoffice.CodePaymentInProgress,
		boxoffice.CodeReservationExpired, boxoffice.CodeReservationNotActive, boxoffice.CodeLockTimeout,
	}
	const pending = "The payment has no outcome yet: `nextAction` says what the buyer has to do, if anything; then wait with `GET /bookings/{bookingId}?wait=20`."
	register(a, Operation{
		ID: "createBooking", Method: http.MethodPost, Path: "/bookings", Tag: "Bookings",
		Summary: "Buy what is held",
		Description: "Makes the reservation's booking and begins to pay it. `201` when it is confirmed, with its tickets; `202` while the payment has no outcome: a gateway call ends after ten seconds, and the booking goes on by itself. " +
			"The hold lasts at least 120 seconds from now, once per reservation.\n\n" +
			"A declined payment is `PAYMENT_DECLINED`: the hold goes back to its own end, and until then `POST /bookings/{bookingId}/pay` tries another card. A reservation has one booking; sending this again with another Idempotency-Key is another attempt to pay it. " +
			"Money that comes too late for its places is given back in full, without anyone asking for it.\n\n" +
			"A retry with the same Idempotency-Key is the same attempt: a confirmed booking is answered as it was when it was confirmed, a decline is repeated, and a payment without an outcome is gone on with.\n\n" +
			"`payment` may be missing when the total is 0; then nobody is charged.",
		Status: http.StatusCreated, Also: map[int]string{http.StatusAccepted: pending}, Codes: paying, Headers: show,
	}, a.createBooking)
	register(a, Operation{
		ID: "payBooking", Method: http.MethodPost, Path: "/bookings/{bookingId}/pay", Tag: "Bookings",
		Summary:     "Pay with another card",
		Description: "The next attempt to pay a pending booking, after a decline. Only one attempt may be open at a time. Everything else is as with `POST /bookings`.",
		Also:        map[int]string{http.StatusAccepted: pending}, Codes: paying, Headers: show,
	}, a.payBooking)
	register(a, Operation{
		ID: "confirmReservation", Method: http.MethodPost, Path: "/reservations/{reservationId}/confirm", Tag: "Bookings",
		Scopes: []boxoffice.Scope{boxoffice.ScopeBookingsConfirm}, Status: http.StatusCreated,
		Summary: "Book what was paid elsewhere",
		Description: "For box offices and back ends that took the money themselves: no gateway is asked. `paymentReference` (of the receipt, the invoice, the other system) is needed unless the total is 0. " +
			"With `comp` nothing is charged and the tickets cost nothing. What is given back later, the people who took it pay out.",
		Codes: []boxoffice.Code{
			boxoffice.CodeNotFound, boxoffice.CodeShowNotOnSale, boxoffice.CodePaymentInProgress, boxoffice.CodeReservationExpired,
			boxoffice.CodeReservationNotActive, boxoffice.CodeLockTimeout,
		},
		Headers: show,
	}, a.confirmReservation)
	register(a, Operation{
		ID: "readBooking", Method: http.MethodGet, Path: "/bookings/{bookingId}", Tag: "Bookings",
		Summary: "Read a booking",
		Description: "With `wait` the answer comes as soon as a pending booking is confirmed or over, or its `paymentStatus` or `nextAction` changes, and after so many seconds in any case. " +
			"Other customers' bookings are not found; the scopes `sales:read`, `reservations:staff` and `refunds` see everybody's.",
		Codes: []boxoffice.Code{boxoffice.CodeNotFound},
	}, a.readBooking)
	register(a, Operation{
		ID: "listBookings", Method: http.MethodGet, Path: "/bookings", Tag: "Bookings",
		Summary: "List and search bookings",
		Description: "The newest first. A customer sees their own; with `sales:read`, `reservations:staff` or `refunds` everybody's. " +
			"`q` is for those: it finds a reference, and the beginnings of words of the buyer's name, mail address and phone number, in any script; all of them must be there.",
		Codes: []boxoffice.Code{boxoffice.CodeForbidden},
	}, a.listBookings)
	cancelling := []boxoffice.Code{
		boxoffice.CodeForbidden, boxoffice.CodeNotFound, boxoffice.CodeBookingNotCancellable, boxoffice.CodeLockTimeout,
	}
	stopping := map[int]string{http.StatusAccepted: "A payment was under way and is being cancelled at its gateway. Should it succeed all the same, the money goes back."}
	register(a, Operation{
		ID: "cancelBooking", Method: http.MethodPost, Path: "/bookings/{bookingId}/cancel", Tag: "Bookings",
		Summary: "Give tickets back",
		Description: "All tickets, or those named, by the show's `cancellation` terms: until when, and how much of the price goes back. Their places are free at once. Asking again answers the same; what was cancelled before is not refunded twice. " +
			"A booking that is not paid yet is taken back whole, whatever the terms.\n\n" +
			"With the scope `refunds` anybody's, at any time, used tickets too, and all of the money goes back. " +
			"`refunds` are as they were begun; `GET /bookings/{bookingId}` has what became of them.",
		Also: stopping, Codes: cancelling, Headers: show,
	}, func(ctx context.Context, call *Call, in *cancelInput) (*cancelledOutput, error) {
		var tickets []uuid.UUID
		if in.Body != nil {
			tickets = in.Body.TicketIDs
		}
		return a.cancel(ctx, call, in.BookingID, tickets)
	})
	register(a, Operation{
		ID: "deleteBooking", Method: http.MethodDelete, Path: "/bookings/{bookingId}", Tag: "Bookings", Status: http.StatusOK,
		Summary: "Cancel a booking", Description: "The same as `POST /bookings/{bookingId}/cancel` without `ticketIds`.",
		Also: stopping, Codes: cancelling, Headers: show,
	}, func(ctx context.Context, call *Call, in *bookingInput) (*cancelledOutput, error) {
		return a.cancel(ctx, call, in.BookingID, nil)
	})
	register(a, Operation{
		ID: "forgetCustomer", Method: http.MethodDelete, Path: "/customers/{customerId}/personal-data", Tag: "Operations",
		Scopes: []boxoffice.Scope{boxoffice.ScopeAdmin}, Status: http.StatusOK,
		Summary:     "Forget a customer",
		Description: "Empties what is personal of all bookings of a customer: names on bookings and tickets, mail addresses, phone numbers. Bookings, tickets and money stay, without names. It cannot be undone; doing it again finds nothing left.",
	}, a.forgetCustomer)
}

// Booking is a purchase as clients see it.
type Booking struct {
	BookingID      uuid.UUID         `json:"bookingId" format:"uuid" doc:"The booking" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d63"`
	Reference      string            `json:"reference" doc:"For people: eight letters and digits without look-alikes" example:"K7HM3XQD"`
	ReservationID  uuid.UUID         `json:"reservationId" format:"uuid" doc:"The reservation that it is made from" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d62"`
	ShowID         uuid.UUID         `json:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	CustomerID     string            `json:"customerId" doc:"Whose it is" example:"customer-4711"`
	Status         string            `json:"status" enum:"pending,confirmed,failed,expired,cancelled" doc:"pending until it is paid; failed: paid too late for its places; expired: not paid in time" example:"confirmed"`
	PaymentStatus  string            `json:"paymentStatus" enum:"none,pending,succeeded,failed,cancelled" doc:"Of the payment that counts: the one that paid for it, else the last attempt" example:"succeeded"`
	TotalAmount    int64             `json:"totalAmount" doc:"What it costs, in the currency's minor unit" example:"9000"`
	RefundedAmount int64             `json:"refundedAmount" doc:"What was given back or is on its way" example:"0"`
	Currency       string            `json:"currency" doc:"ISO 4217" example:"EUR"`
	Buyer          *Buyer            `json:"buyer,omitempty" doc:"Who buys; missing when nobody was named, or was forgotten"`
	Tickets        []Ticket          `json:"tickets" doc:"One for each place, once it is confirmed"`
	Refunds        []Refund          `json:"refunds" doc:"What was given back, in the order in which it was begun"`
	Payments       []PaymentAttempt  `json:"payments" doc:"Attempts to pay, in the order in which they began"`
	NextAction     *NextAction       `json:"nextAction,omitempty" doc:"What the buyer has to do before the payment can succeed"`
	Metadata       map[string]string `json:"metadata" doc:"The reservation's pairs" example:"{\"cart\":\"8231\"}"`
	CreatedAt      time.Time         `json:"createdAt" doc:"When it was made" example:"2026-11-27T20:00:00.123456Z"`
	ConfirmedAt    *time.Time        `json:"confirmedAt,omitempty" doc:"When it was confirmed" example:"2026-11-27T20:00:01.123456Z"`
	ExpiresAt      *time.Time        `json:"expiresAt,omitempty" doc:"While it is pending: when its hold ends" example:"2026-11-27T20:15:00.123456Z"`
}

// Buyer is who buys.
type Buyer struct {
	Name   string `json:"name" minLength:"1" maxLength:"200" doc:"In any script" example:"Nguyễn Thị Ánh"`
	Email  string `json:"email" minLength:"3" maxLength:"320" doc:"Where tickets and news go" example:"anh@example.org"`
	Phone  string `json:"phone,omitempty" maxLength:"50" doc:"For the day of the show" example:"+43 1 234567"`
	Locale string `json:"locale,omitempty" maxLength:"35" doc:"BCP 47 tag: the language of mails and printed tickets" example:"de-AT"`
}

// NextAction is what a buyer has to do before a payment can succeed.
type NextAction struct {
	Type         string `json:"type" doc:"redirect: go to url; confirm: hand clientSecret to the gateway's script" example:"redirect"`
	URL          string `json:"url,omitempty" doc:"The gateway's page" example:"https://pay.example.org/p/8f14e45f"`
	ClientSecret string `json:"clientSecret,omitempty" doc:"For the gateway's script in the browser" example:"pi_3N_secret_x1"`
}

func utc(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

func (a *API) bookingBody(v *store.BookingView) Booking {
	k := Booking{
		BookingID: v.ID, Reference: v.Reference, ReservationID: v.ReservationID, ShowID: v.ShowID, CustomerID: v.CustomerID,
		Status: string(v.Status), PaymentStatus: "none", TotalAmount: v.TotalMinor, RefundedAmount: v.RefundedMinor, Currency: v.Currency,
		Tickets: a.ticketBodies(v), Refunds: refundBodies(v.Refunds), Payments: make([]PaymentAttempt, len(v.Payments)),
		NextAction: nextAction(v), Metadata: v.Metadata, CreatedAt: v.CreatedAt.UTC(), ConfirmedAt: utc(v.ConfirmedAt),
	}
	if p := v.Payment(); p != nil {
		k.PaymentStatus = string(p.Status)
	}
	for i, p := range v.Payments {
		k.Payments[i] = PaymentAttempt{p.ID, p.Gateway, p.Method, string(p.Status), p.AmountMinor, p.RefundedMinor, p.DeclineCode, p.CreatedAt.UTC()}
	}
	if b := v.Buyer; b != nil {
		k.Buyer = &Buyer{b.Name, b.Email, b.Phone, b.Locale}
	}
	if k.Metadata == nil {
		k.Metadata = map[string]string{}
	}
	if v.Status == boxoffice.BookingPending {
		k.ExpiresAt = utc(v.ExpiresAt)
	}
	return k
}

// nextAction is what the buyer has to do about the payment that is open.
func nextAction(v *store.BookingView) *NextAction {
	for _, p := range v.Payments {
		var next payment.Next
		if p.Status == boxoffice.PaymentPending && p.Next != "" && json.Unmarshal([]byte(p.Next), &next) == nil {
			return &NextAction{next.Type, next.URL, next.ClientSecret}
		}
	}
	return nil
}

// asConfirmed is a booking as it was when it was confirmed. Whatever says that
// one was confirmed is made from this, the first time and at each replay, so
// that they are the same to the byte, whatever has become of it since. Only the
// people are as they are now: they are not remembered with keys.
func asConfirmed(v *store.BookingView) *store.BookingView {
	k := *v
	k.Status, k.RefundedMinor = boxoffice.BookingConfirmed, 0
	k.Tickets = slices.Clone(v.Tickets)
	for i := range k.Tickets {
		t := &k.Tickets[i]
		t.Status, t.RefundedMinor, t.UsedAt, t.UsedGate = boxoffice.TicketValid, 0, time.Time{}, ""
	}
	k.Refunds = nil // but for those of attempts that were too late for an earlier state of the hold
	refunded := map[uuid.UUID]int64{}
	for _, f := range v.Refunds {
		if f.PaymentID != v.AppliedID && !f.CreatedAt.After(v.ConfirmedAt) {
			k.Refunds = append(k.Refunds, asBegun(v, f))
			refunded[f.PaymentID] += f.AmountMinor
			k.RefundedMinor += f.AmountMinor
		}
	}
	k.Payments = make([]*boxoffice.Payment, len(v.Payments))
	for i, p := range v.Payments {
		was := *p
		was.RefundedMinor = refunded[p.ID]
		if was.SettledAt.After(v.ConfirmedAt) { // the gateway's late truth
			was.Status = boxoffice.PaymentFailed
		}
		k.Payments[i] = &was
	}
	return &k
}

// asBegun is a refund as it was when it was made: with that it is always
// answered to whoever asks for it. Money that people took people give back,
// there and then.
func asBegun(v *store.BookingView, f *boxoffice.Refund) *boxoffice.Refund {
	was := *f
	was.Status, was.Failure = boxoffice.RefundPending, ""
	manual := slices.ContainsFunc(v.Payments, func(p *boxoffice.Payment) bool { return p.ID == f.PaymentID && p.Gateway == boxoffice.GatewayManual })
	if manual || f.Reason == boxoffice.ReasonGateway {
		was.Status = boxoffice.RefundSucceeded
	}
	return &was
}

// PaymentChoice is how a buyer wants to pay.
type PaymentChoice struct {
	Method  string `json:"method" minLength:"1" maxLength:"50" doc:"One of GET /shows/{showId}/payment-methods" example:"card"`
	Token   string `json:"token,omitempty" maxLength:"500" doc:"Of the card, made by the gateway's script; never stored. The sandbox gateway's are sbx_ok, sbx_declined and so on" example:"sbx_ok"`
	Gateway string `json:"gateway,omitempty" maxLength:"50" doc:"Of several that have the method; default: the first" example:"sandbox"`
}

// payment is the choice for the checkout; a zero one when there is none.
func (p *PaymentChoice) payment(c *boxoffice.Checks, returnURL string) checkout.Payment {
	c.Line("returnUrl", &returnURL, 0, returnURLMax)
	if u, err := url.Parse(returnURL); returnURL != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "") {
		c.Add("returnUrl", "must be an http or https address")
	}
	if p == nil {
		return checkout.Payment{}
	}
	return checkout.Payment{Gateway: p.Gateway, Method: p.Method, Token: p.Token, ReturnURL: returnURL}
}

// buyer brings what is said of a buyer into form.
func (b *Buyer) buyer(c *boxoffice.Checks) *boxoffice.Buyer {
	if b == nil {
		return nil
	}
	out := &boxoffice.Buyer{Name: b.Name, Email: b.Email, Phone: b.Phone, Locale: b.Locale}
	c.Line("buyer.name", &out.Name, 1, personMax)
	c.Line("buyer.email", &out.Email, 1, emailMax)
	if a, err := mail.ParseAddress(out.Email); err != nil || a.Name != "" || a.Address != out.Email {
		c.Add("buyer.email", "must be a mail address such as ada@example.org")
	}
	c.Line("buyer.phone", &out.Phone, 0, phoneMax)
	c.Language("buyer.locale", &out.Locale)
	return out
}

// holders brings the names on tickets into form.
func holders(c *boxoffice.Checks, names []string) []string {
	names = slices.Clone(names)
	for i := range names {
		c.Line(fmt.Sprintf("holders[%d]", i), &names[i], 0, personMax)
	}
	return names
}

type createBookingInput struct {
	Body struct {
		ReservationID uuid.UUID      `json:"reservationId" format:"uuid" doc:"What is bought" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d62"`
		Buyer         Buyer          `json:"buyer" doc:"Who buys"`
		Holders       []string       `json:"holders,omitempty" maxItems:"10000" maxLength:"200" doc:"Names on the tickets, by place: seats in the order of the reservation, then the places of its areas. An empty name is none; each to 200 characters" example:"[\"Ada Lovelace\",\"\"]"`
		Payment       *PaymentChoice `json:"payment,omitempty" doc:"How it is paid; needed unless the total is 0"`
		ReturnURL     string         `json:"returnUrl,omitempty" maxLength:"2000" doc:"Where the gateway's page sends the buyer back to; http or https" example:"https://tickets.example.org/done"`
	}
}

type bookingOutput struct {
	Status   int
	Location string `header:"Location" doc:"The booking"`
	Body     Booking
}

func (a *API) createBooking(ctx context.Context, call *Call, in *createBookingInput) (*bookingOutput, error) {
	b := &in.Body
	var c boxoffice.Checks
	req := checkout.Request{
		ReservationID: b.ReservationID, Buyer: *b.Buyer.buyer(&c), Holders: holders(&c, b.Holders), Payment: b.Payment.payment(&c, b.ReturnURL),
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	res, err := a.opts.Checkout.Book(ctx, call.Caller.Actor(), &call.Key, req)
	if err != nil {
		return nil, err
	}
	return a.paid(ctx, call, res, http.StatusCreated)
}

type payInput struct {
	BookingID uuid.UUID `path:"bookingId" format:"uuid" doc:"The booking" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d63"`
	Body      struct {
		Payment   PaymentChoice `json:"payment" doc:"How it is paid"`
		ReturnURL string        `json:"returnUrl,omitempty" maxLength:"2000" doc:"Where the gateway's page sends the buyer back to; http or https" example:"https://tickets.example.org/done"`
	}
}

func (a *API) payBooking(ctx context.Context, call *Call, in *payInput) (*bookingOutput, error) {
	var c boxoffice.Checks
	pay := in.Body.Payment.payment(&c, in.Body.ReturnURL)
	if err := c.Err(); err != nil {
		return nil, err
	}
	res, err := a.opts.Checkout.Pay(ctx, call.Caller.Actor(), &call.Key, in.BookingID, pay)
	if err != nil {
		return nil, err
	}
	return a.paid(ctx, call, res, http.StatusOK)
}

// paid answers what came of paying.
func (a *API) paid(ctx context.Context, call *Call, res *checkout.Result, done int) (*bookingOutput, error) {
	v, status, version := res.Booking, http.StatusAccepted, res.Version
	if !res.Pending {
		v, status = asConfirmed(v), done
		// The receipt knows the version that the beginning made, the buyer is
		// told that of the end.
		switch {
		case v.ConfirmedVersion > 0:
			version = v.ConfirmedVersion
		case res.Replayed: // and confirmed before bookings had their version
			log, err := a.opts.Store.ListChanges(ctx, store.ChangeFilter{
				OrganisationID: v.OrganisationID, ShowID: v.ShowID, BookingID: v.ID, Type: boxoffice.BookingConfirmedChange, Limit: 1,
			})
			if err != nil {
				return nil, err
			}
			if len(log) > 0 {
				version = log[0].Version
			}
		}
	}
	finishWrite(call, version, res.Replayed)
	return &bookingOutput{status, bookingPath(v.ID), a.bookingBody(v)}, nil
}

func bookingPath(id uuid.UUID) string { return basePath + "/bookings/" + id.String() }

type confirmInput struct {
	ReservationID uuid.UUID `path:"reservationId" format:"uuid" doc:"The reservation" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d62"`
	Body          struct {
		PaymentMethod    string   `json:"paymentMethod" enum:"cash,terminal,invoice,comp,external" doc:"How it was paid; comp: it is given away" example:"cash"`
		PaymentReference string   `json:"paymentReference,omitempty" maxLength:"200" doc:"Of the receipt, the invoice, the other system; needed unless the total is 0 or it is a comp" example:"till 3, receipt 4711"`
		Buyer            *Buyer   `json:"buyer,omitempty" doc:"Who buys, if they say so"`
		Holders          []string `json:"holders,omitempty" maxItems:"10000" maxLength:"200" doc:"Names on the tickets, by place, as with POST /bookings" example:"[\"Ada Lovelace\"]"`
	}
}

type createdBookingOutput struct {
	Location string `header:"Location" doc:"The booking"`
	Body     Booking
}

func (a *API) confirmReservation(ctx context.Context, call *Call, in *confirmInput) (*createdBookingOutput, error) {
	b := &in.Body
	var c boxoffice.Checks
	c.Line("paymentReference", &b.PaymentReference, 0, referenceMax)
	req := store.ConfirmRequest{Method: b.PaymentMethod, PaymentRef: b.PaymentReference, Buyer: b.Buyer.buyer(&c), Holders: holders(&c, b.Holders)}
	if err := c.Err(); err != nil {
		return nil, err
	}
	begun, err := a.opts.Store.ConfirmReservation(ctx, call.Caller.Actor(), &call.Key, in.ReservationID, req)
	if err != nil {
		return nil, err
	}
	v, err := a.opts.Store.ReadBooking(ctx, uuid.Nil, "", begun.BookingID)
	if err != nil {
		return nil, err
	}
	finishWrite(call, begun.Version, begun.Replayed)
	return &createdBookingOutput{bookingPath(v.ID), a.bookingBody(asConfirmed(v))}, nil
}

// seesBookings says whether the caller may read everybody's bookings.
func seesBookings(c *boxoffice.Caller) bool { return seesAll(c) || c.Has(boxoffice.ScopeRefunds) }

// reader says whose bookings and tickets the caller may read: those of its
// organisation, or its own; nobody's when both are empty. Scopes are further
// ones that will do.
func reader(c *boxoffice.Caller, scopes ...boxoffice.Scope) (organisation uuid.UUID, customer string, ok bool) {
	if seesBookings(c) || slices.ContainsFunc(scopes, c.Has) {
		return c.OrganisationID, "", true
	}
	return uuid.Nil, c.CustomerID, c.CustomerID != ""
}

func (a *API) bookingOf(ctx context.Context, call *Call, id uuid.UUID) (*store.BookingView, error) {
	organisation, customer, ok := reader(&call.Caller)
	if !ok {
		return nil, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such booking.")
	}
	return a.opts.Store.ReadBooking(ctx, organisation, customer, id)
}

type bookingInput struct {
	BookingID uuid.UUID `path:"bookingId" format:"uuid" doc:"The booking" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d63"`
}

type readBookingInput struct {
	BookingID uuid.UUID `path:"bookingId" format:"uuid" doc:"The booking" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d63"`
	Wait      int       `query:"wait" minimum:"0" maximum:"20" doc:"Seconds to wait for news of a pending booking" example:"20"`
}

type readBookingOutput struct{ Body Booking }

func (a *API) readBooking(ctx context.Context, call *Call, in *readBookingInput) (*readBookingOutput, error) {
	v, err := a.bookingOf(ctx, call, in.BookingID)
	if err == nil && in.Wait > 0 && v.Status == boxoffice.BookingPending {
		wait := min(time.Duration(in.Wait)*time.Second, waitMax)
		v, err = a.awaitNews(ctx, v, wait, func() (*store.BookingView, error) { return a.bookingOf(ctx, call, in.BookingID) })
	}
	if err != nil {
		return nil, err
	}
	return &readBookingOutput{a.bookingBody(v)}, nil
}

// awaitNews reads a pending booking again, at growing intervals, until there is
// news of it, the time is over, the client is gone or the server stops. Reading
// is what all instances can do, whichever of them the news comes to.
//
// Between two looks it takes no place from those who are served. As many may
// wait as may be served; one more is answered at once, and asks again.
func (a *API) awaitNews(ctx context.Context, v *store.BookingView, wait time.Duration, read func() (*store.BookingView, error)) (*store.BookingView, error) {
	if a.polling.Add(1) > int64(a.opts.InFlightMax) {
		a.polling.Add(-1)
		return v, nil
	}
	defer a.polling.Add(-1)
	old := newsOf(v)
	over := time.NewTimer(wait)
	defer over.Stop()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		last, closing := false, false
		a.inFlight.Add(-1)
		select {
		case <-time.After(pause):
		case <-over.C:
			last = true
		case <-a.closing:
			closing = true
		case <-ctx.Done():
		}
		a.inFlight.Add(1)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if closing {
			return v, nil
		}
		var err error
		if v, err = read(); err != nil || last || newsOf(v) != old {
			return v, err
		}
	}
}

// news is what a waiting buyer waits for.
type news struct {
	booking  boxoffice.BookingStatus
	payment  uuid.UUID
	status   boxoffice.PaymentStatus
	nextStep NextAction
}

func newsOf(v *store.BookingView) news {
	n := news{booking: v.Status}
	if p := v.Payment(); p != nil {
		n.payment, n.status = p.ID, p.Status
	}
	if next := nextAction(v); next != nil {
		n.nextStep = *next
	}
	return n
}

type listBookingsInput struct {
	ShowID     uuid.UUID `query:"showId" format:"uuid" doc:"Only of this show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	Status     string    `query:"status" enum:"pending,confirmed,failed,expired,cancelled" doc:"Only with this status" example:"confirmed"`
	Q          string    `query:"q" maxLength:"200" doc:"Staff: a reference, or words of the buyer's name, mail address or phone number" example:"lovelace"`
	CustomerID string    `query:"customerId" maxLength:"128" doc:"Only of this customer; a customer can only name themselves" example:"customer-4711"`
	Cursor     string    `query:"cursor" maxLength:"200" doc:"nextCursor of the page before" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d63"`
	Limit      int       `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Bookings a page" example:"50"`
}

type listBookingsOutput struct {
	Body struct {
		Bookings   []Booking `json:"bookings" doc:"The page, the newest first"`
		NextCursor string    `json:"nextCursor,omitempty" doc:"Send it as cursor for the next page; missing on the last" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d63"`
	}
}

func (a *API) listBookings(ctx context.Context, call *Call, in *listBookingsInput) (*listBookingsOutput, error) {
	f := store.BookingFilter{
		OrganisationID: call.Caller.OrganisationID, ShowID: in.ShowID, Status: boxoffice.BookingStatus(in.Status),
		CustomerID: in.CustomerID, Search: nfc(in.Q), Limit: in.Limit + 1,
	}
	if !seesBookings(&call.Caller) {
		if call.Caller.CustomerID == "" || in.Q != "" || (in.CustomerID != "" && in.CustomerID != call.Caller.CustomerID) {
			return nil, boxoffice.Refuse(boxoffice.CodeForbidden, "Looking for other people's bookings needs the scope %s, %s or %s.",
				boxoffice.ScopeSalesRead, boxoffice.ScopeReservationsStaff, boxoffice.ScopeRefunds)
		}
		f.CustomerID = call.Caller.CustomerID
	}
	if in.Cursor != "" {
		id, err := uuid.Parse(in.Cursor)
		if err != nil {
			return nil, boxoffice.Invalid(boxoffice.Violation{Field: "cursor", Message: "is not a cursor of this list"})
		}
		f.After = id
	}
	views, err := a.opts.Store.ListBookings(ctx, f)
	if err != nil {
		return nil, err
	}
	out := &listBookingsOutput{}
	if len(views) > in.Limit {
		views = views[:in.Limit]
		out.Body.NextCursor = views[in.Limit-1].ID.String()
	}
	out.Body.Bookings = make([]Booking, len(views))
	for i, v := range views {
		out.Body.Bookings[i] = a.bookingBody(v)
	}
	return out, nil
}

type cancelInput struct {
	BookingID uuid.UUID `path:"bookingId" format:"uuid" doc:"The booking" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d63"`
	Body      *CancelRequest
}

// CancelRequest says what is given back.
type CancelRequest struct {
	TicketIDs []uuid.UUID `json:"ticketIds,omitempty" format:"uuid" minItems:"1" maxItems:"10000" doc:"These tickets; missing: all that are left" example:"[\"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d64\"]"`
}

// ReleasedPlace is a place that somebody else can have now.
type ReleasedPlace struct {
	TicketID *uuid.UUID `json:"ticketId,omitempty" format:"uuid" doc:"The ticket that is void; missing when there was none yet" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d64"`
	SeatID   *uuid.UUID `json:"seatId,omitempty" format:"uuid" doc:"The seat; missing for a place of an area" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	AreaID   *uuid.UUID `json:"areaId,omitempty" format:"uuid" doc:"The area; missing for a seat" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6f"`
	Label    string     `json:"label" doc:"The seat's label, or the area's name" example:"Stalls-A-7"`
}

// Cancelled is what was given back.
type Cancelled struct {
	BookingID     uuid.UUID       `json:"bookingId" format:"uuid" doc:"The booking" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d63"`
	Status        string          `json:"status" enum:"pending,confirmed,failed,expired,cancelled" doc:"Of the booking: cancelled when no ticket is left" example:"cancelled"`
	SeatsReleased []ReleasedPlace `json:"seatsReleased" doc:"Places that are free again"`
	Refunds       []Refund        `json:"refunds" doc:"What goes back for them, as it was begun"`
}

type cancelledOutput struct {
	Status int
	Body   Cancelled
}

func (a *API) cancel(ctx context.Context, call *Call, booking uuid.UUID, tickets []uuid.UUID) (*cancelledOutput, error) {
	req := store.CancelRequest{TicketIDs: tickets, Override: call.Caller.Has(boxoffice.ScopeRefunds)}
	switch {
	case req.Override:
		req.Reason = boxoffice.ReasonStaff
	case call.Caller.CustomerID == "":
		return nil, boxoffice.Refuse(boxoffice.CodeForbidden, "Cancelling other people's bookings needs the scope %s.", boxoffice.ScopeRefunds)
	}
	done, err := a.opts.Checkout.Cancel(ctx, call.Caller.Actor(), &call.Key, booking, req)
	if err != nil {
		return nil, err
	}
	out := &cancelledOutput{http.StatusOK, Cancelled{
		BookingID: booking, Status: string(done.Status), SeatsReleased: []ReleasedPlace{}, Refunds: make([]Refund, len(done.Refunds)),
	}}
	for i, f := range done.Refunds {
		out.Body.Refunds[i] = refundBody(asBegun(done.View, f))
	}
	if done.Open != uuid.Nil && done.Status == boxoffice.BookingCancelled {
		out.Status = http.StatusAccepted
	}
	for _, t := range done.Tickets {
		out.Body.SeatsReleased = append(out.Body.SeatsReleased, ReleasedPlace{&t.ID, optionalID(t.Seat.SeatID), optionalID(t.AreaID), t.Seat.Label})
	}
	if h := done.Hold; h != nil {
		for _, s := range h.Seats {
			out.Body.SeatsReleased = append(out.Body.SeatsReleased, ReleasedPlace{SeatID: optionalID(s.SeatID), Label: s.Label})
		}
		for _, l := range h.Areas {
			for range l.Quantity {
				out.Body.SeatsReleased = append(out.Body.SeatsReleased, ReleasedPlace{AreaID: optionalID(l.AreaID), Label: l.Name})
			}
		}
	}
	finishWrite(call, done.Version, done.Replayed)
	return out, nil
}

type forgetInput struct {
	CustomerID string `path:"customerId" minLength:"1" maxLength:"128" doc:"Whose" example:"customer-4711"`
}

type forgetOutput struct {
	Body struct {
		Rows int64 `json:"rows" doc:"Buyers and names on tickets that were emptied" example:"3"`
	}
}

func (a *API) forgetCustomer(ctx context.Context, call *Call, in *forgetInput) (*forgetOutput, error) {
	rows, replayed, err := a.opts.Store.ForgetPeople(ctx, call.Key, call.Caller.OrganisationID, in.CustomerID)
	if err != nil {
		return nil, err
	}
	if replayed {
		call.Replayed()
	}
	out := &forgetOutput{}
	out.Body.Rows = rows
	return out, nil
}
