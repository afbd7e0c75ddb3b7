package checkout

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/payment"
	"github.com/rowlock/rowlock/internal/store"
)

// chargeMax is how long a gateway may take to answer a buyer's payment; then
// the buyer is told to wait. It is shorter than [boxoffice.SettleAfter]: when
// the reconciler asks, nobody is still calling.
const chargeMax = 10 * time.Second

// callMax is how long it may take otherwise.
const callMax = 8 * time.Second

// Store is what the saga wants of the database, and [store.Store] has. It is
// an interface for internal/sim, which runs the saga as it is on tables and a
// clock of its own.
type Store interface {
	BeginBooking(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, reservation uuid.UUID, req store.BeginRequest) (store.Begun, error)
	BeginPayment(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, booking uuid.UUID, req store.BeginRequest) (store.Begun, error)
	PaymentPlace(ctx context.Context, id uuid.UUID) (store.PaymentPlace, error)
	PaymentByRef(ctx context.Context, gateway, ref string) (uuid.UUID, error)
	SettlePayment(ctx context.Context, actor string, p store.PaymentPlace, say store.Settlement) (store.Settled, error)
	ClaimPayments(ctx context.Context, show uuid.UUID, limit int) ([]uuid.UUID, error)

	CancelBooking(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, booking uuid.UUID, req store.CancelRequest) (*store.Cancelled, error)
	OpenBookings(ctx context.Context, show, after uuid.UUID, limit int) ([]uuid.UUID, error)
	EndHolds(ctx context.Context, show uuid.UUID, enough func() bool) (more bool, err error)
	RefundPlace(ctx context.Context, id uuid.UUID) (store.RefundPlace, error)
	SettleRefund(ctx context.Context, actor string, f store.RefundPlace, status boxoffice.RefundStatus, ref, failure string) error
	RecordRefund(ctx context.Context, actor string, p store.PaymentPlace, d store.DeskRefund) error

	StorePaymentEvent(ctx context.Context, gateway, id string, event []byte) (done bool, err error)
	ReadPaymentEvent(ctx context.Context, gateway, id string) (event []byte, done bool, err error)
	PaymentEventDone(ctx context.Context, gateway, id, outcome string) error

	ReadBooking(ctx context.Context, organisation uuid.UUID, customer string, id uuid.UUID) (*store.BookingView, error)
	ReadShow(ctx context.Context, id, organisation uuid.UUID, drafts bool) (store.ShowListing, error)
	ReadEvent(ctx context.Context, id uuid.UUID, f store.EventFilter) (store.EventListing, error)
}

// Config is what a checkout works with.
type Config struct {
	Store Store
	// Gateways in the order in which their methods are offered. Of a method
	// that several have, the first one's is taken, unless the buyer names one.
	Gateways []payment.Gateway
	Observer Observer // nil: nobody looks
	Log      *slog.Logger
	// Step is told before and after each step of the saga: fault tests end the
	// process there. nil: nobody.
	Step func(Step)
}

// Step is a point between two things that the saga does.
type Step string

// The steps: on both sides of each commit and of each call of a gateway.
const (
	BeforeBegin       Step = "before begin"
	AfterBegin        Step = "after begin"
	BeforeCharge      Step = "before charge"
	AfterCharge       Step = "after charge"
	BeforeSettle      Step = "before settle"
	AfterSettle       Step = "after settle"
	BeforeAsk         Step = "before ask"
	AfterAsk          Step = "after ask"
	BeforeStore       Step = "before store event"
	AfterStore        Step = "after store event"
	BeforeDone        Step = "before event done"
	BeforeCancel      Step = "before cancel"
	AfterCancel       Step = "after cancel"
	BeforeSend        Step = "before send refund"
	AfterSend         Step = "after send refund"
	AfterSettleRefund Step = "after settle refund"
)

// Steps are all of them.
var Steps = []Step{
	BeforeBegin, AfterBegin, BeforeCharge, AfterCharge, BeforeSettle, AfterSettle, BeforeAsk, AfterAsk,
	BeforeStore, AfterStore, BeforeDone, BeforeCancel, AfterCancel, BeforeSend, AfterSend, AfterSettleRefund,
}

// Observer is told what happens to money. Its methods must not block.
type Observer interface {
	Payment(gateway, outcome string) // succeeded, failed, cancelled, pending
	LatePayment(outcome string)      // booked or refunded
	Refund(gateway, outcome string)  // succeeded, failed, pending
	PaymentEvent(gateway, outcome string)
	GatewayCall(gateway, call string, took time.Duration, err error)
}

// Checkout is the saga. It is safe for concurrent use and starts nothing.
type Checkout struct {
	cfg      Config
	store    Store
	gateways map[string]payment.Gateway
	log      *slog.Logger
}

// New makes a checkout.
func New(cfg Config) *Checkout {
	c := &Checkout{cfg: cfg, store: cfg.Store, gateways: map[string]payment.Gateway{}, log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))}
	for _, g := range cfg.Gateways {
		c.gateways[g.Name()] = g
	}
	return c
}

// Method is a way to pay at a gateway.
type Method struct {
	payment.Method
	Gateway string
}

// Methods are the ways to pay, in the order in which they are offered.
func (c *Checkout) Methods() []Method {
	var all []Method
	for _, g := range c.cfg.Gateways {
		for _, m := range g.Methods() {
			all = append(all, Method{m, g.Name()})
		}
	}
	return all
}

// method finds what the buyer wants.
func (c *Checkout) method(p Payment) (Method, error) {
	all := c.Methods()
	i := slices.IndexFunc(all, func(m Method) bool { return m.Name == p.Method && (p.Gateway == "" || m.Gateway == p.Gateway) })
	if i < 0 {
		return Method{}, boxoffice.Invalid(boxoffice.Violation{Field: "payment.method", Message: "is not offered; GET /shows/{showId}/payment-methods lists what is"})
	}
	return all[i], nil
}

// Payment is how a buyer wants to pay.
type Payment struct {
	Gateway   string // "": the first that has the method
	Method    string
	Token     string
	ReturnURL string // where a gateway's page sends the buyer back to
}

// Request asks to buy what a reservation holds.
type Request struct {
	ReservationID uuid.UUID
	Buyer         boxoffice.Buyer
	Holders       []string
	Payment       Payment // not looked at when the total is 0
}

// Result is what came of paying: a booking that is confirmed, or pending with
// what the buyer has to do.
type Result struct {
	Booking  *store.BookingView
	Next     *payment.Next // nil: nothing
	Pending  bool          // the outcome is not known yet
	Version  int64         // of the show
	Replayed bool
}

// Book buys what a reservation holds. A payment that the gateway declines is
// PAYMENT_DECLINED; the booking then waits for another. The same key again is
// the same attempt: if it was cut off, it is gone on with; if it was declined,
// that is said again.
func (c *Checkout) Book(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, req Request) (*Result, error) {
	method, err := c.method(req.Payment)
	if err != nil && req.Payment.Method != "" {
		return nil, err
	}
	c.at(BeforeBegin)
	begun, err := c.store.BeginBooking(ctx, actor, key, req.ReservationID, store.BeginRequest{
		Gateway: method.Gateway, Method: method.Name, Buyer: &req.Buyer, Holders: req.Holders,
	})
	if err != nil {
		return nil, err
	}
	return c.finish(ctx, actor, begun, req.Payment)
}

// Pay begins a further attempt to pay a booking; see [Checkout.Book].
func (c *Checkout) Pay(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, booking uuid.UUID, p Payment) (*Result, error) {
	method, err := c.method(p)
	if err != nil {
		return nil, err
	}
	c.at(BeforeBegin)
	begun, err := c.store.BeginPayment(ctx, actor, key, booking, store.BeginRequest{Gateway: method.Gateway, Method: method.Name})
	if err != nil {
		return nil, err
	}
	return c.finish(ctx, actor, begun, p)
}

// finish charges what has begun, settles it, and says what came of it. The
// buyer may go away meanwhile: the money is followed to its end.
func (c *Checkout) finish(ctx context.Context, actor boxoffice.Actor, begun store.Begun, pay Payment) (*Result, error) {
	c.at(AfterBegin)
	res := &Result{Version: begun.Version, Replayed: begun.Replayed}
	if begun.PaymentID != uuid.Nil {
		whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), chargeMax+callMax)
		defer cancel()
		if err := c.charge(whole, actor, begun, pay, res); err != nil {
			return nil, err
		}
		ctx = whole
	}
	return res, c.read(ctx, begun, res)
}

func (c *Checkout) charge(ctx context.Context, actor boxoffice.Actor, begun store.Begun, pay Payment, res *Result) error {
	p, err := c.place(ctx, begun)
	if err != nil || p.Status != boxoffice.PaymentPending || p.Waits {
		return err // settled meanwhile, by a webhook or an earlier request, or it is the buyer's turn
	}
	if p.HoldOver || p.Booking != boxoffice.BookingPending {
		// A retry, too late to begin to pay.
		if err := c.Ask(ctx, p.PaymentID); err != nil {
			c.log.Warn("checkout: a payment could not be asked for", "gateway", p.Gateway, "payment", p.PaymentID, "error", err)
		}
		return nil
	}
	g, err := c.gateway(p.Gateway)
	if err != nil {
		return err
	}
	charge := payment.Charge{
		PaymentID: p.PaymentID, BookingID: p.BookingID, ShowID: p.ShowID, Reference: p.Reference, Method: pay.Method, Token: pay.Token,
		AmountMinor: p.AmountMinor, Currency: p.Currency, ReturnURL: pay.ReturnURL, Until: p.HoldEnds,
	}
	c.at(BeforeCharge)
	answer, err := call(ctx, c, g, "charge", chargeMax, func(ctx context.Context) (payment.Answer, error) { return g.Charge(ctx, charge) })
	c.at(AfterCharge)
	if err != nil {
		// The outcome is unknown. The job of the attempt asks; the buyer waits.
		c.log.Warn("checkout: a charge went unanswered", "gateway", p.Gateway, "payment", p.PaymentID, "error", err)
		return nil
	}
	settled, err := c.settle(ctx, actor.Name, p, answer)
	if err != nil {
		// The gateway's answer is not lost: it is asked for again.
		c.log.Warn("checkout: an answer could not be settled", "gateway", p.Gateway, "payment", p.PaymentID, "error", err)
		return nil
	}
	res.Version = settled.Version
	return nil
}

func (c *Checkout) place(ctx context.Context, begun store.Begun) (store.PaymentPlace, error) {
	if begun.Place != nil {
		return *begun.Place, nil
	}
	return c.store.PaymentPlace(ctx, begun.PaymentID)
}

// settle applies what a gateway says of a payment. Answers, webhooks and the
// reconciler all come through here.
func (c *Checkout) settle(ctx context.Context, actor string, p store.PaymentPlace, a payment.Answer) (store.Settled, error) {
	say := store.Settlement{Status: boxoffice.PaymentStatus(a.State), Ref: printable(a.Gateway), DeclineCode: printable(a.DeclineCode)}
	if a.State == payment.Succeeded {
		if a.Currency != "" && a.Currency != p.Currency {
			return store.Settled{}, fmt.Errorf("checkout: payment %s: the gateway took %s instead of %s", p.PaymentID, a.Currency, p.Currency)
		}
		say.AmountMinor = a.AmountMinor
	}
	if a.Next != nil && a.State == payment.Pending {
		next, err := json.Marshal(a.Next)
		if err != nil {
			return store.Settled{}, err
		}
		say.Next = string(next)
	}
	c.at(BeforeSettle)
	settled, err := c.store.SettlePayment(ctx, actor, p, say)
	c.at(AfterSettle)
	if err != nil {
		return settled, err
	}
	if o := c.cfg.Observer; o != nil && settled.Payment != p.Status {
		o.Payment(p.Gateway, string(settled.Payment))
		if settled.Late != "" {
			o.LatePayment(string(settled.Late))
		}
	}
	return settled, nil
}

// read says what a buyer is told.
func (c *Checkout) read(ctx context.Context, begun store.Begun, res *Result) error {
	v, err := c.store.ReadBooking(ctx, uuid.Nil, "", begun.BookingID)
	if err != nil {
		return err
	}
	res.Booking = v
	i := slices.IndexFunc(v.Payments, func(p *boxoffice.Payment) bool { return p.ID == begun.PaymentID })
	if i < 0 {
		return nil // nothing was to be paid
	}
	switch p := v.Payments[i]; p.Status {
	case boxoffice.PaymentPending:
		res.Pending = true
		return res.readNext(p)
	case boxoffice.PaymentSucceeded:
		if v.AppliedID != p.ID {
			return lost(v, p)
		}
	default:
		// A retry may come when another attempt has paid meanwhile.
		if v.Status == boxoffice.BookingConfirmed || v.Status == boxoffice.BookingPending && v.Now.Before(v.ExpiresAt) {
			return declined(v, p)
		}
		return lost(v, p)
	}
	return nil
}

func (r *Result) readNext(p *boxoffice.Payment) error {
	if p.Next == "" {
		return nil
	}
	r.Next = &payment.Next{}
	return json.Unmarshal([]byte(p.Next), r.Next)
}

// declined is what a buyer is told whose card was refused.
func declined(v *store.BookingView, p *boxoffice.Payment) error {
	e := boxoffice.Refuse(boxoffice.CodePaymentDeclined, "The payment was refused. The places are held until %s; pay in another way by POST /bookings/%s/pay.",
		v.ExpiresAt.UTC().Format(time.RFC3339), v.ID)
	e.Facts.BookingID, e.Facts.PaymentID, e.Facts.ExpiresAt = new(v.ID), new(p.ID), new(v.ExpiresAt.UTC())
	e.Facts.DeclineCode = p.DeclineCode
	return e
}

// lost is what a buyer is told whose places are gone: what was paid goes back.
func lost(v *store.BookingView, p *boxoffice.Payment) error {
	e := boxoffice.Refuse(boxoffice.CodeReservationExpired, "The hold ended at %s, before the payment was through.", v.ExpiresAt.UTC().Format(time.RFC3339Nano))
	e.Facts.ExpiredAt, e.Facts.BookingID = new(v.ExpiresAt.UTC()), new(v.ID)
	for _, f := range v.Refunds {
		if f.PaymentID == p.ID {
			e.Detail += " The money goes back."
			e.Facts.Refund = &boxoffice.RefundRef{RefundID: f.ID, AmountMinor: f.AmountMinor, Currency: f.Currency}
		}
	}
	return e
}

// Ask asks a gateway what became of a payment, and settles it. A payment whose
// time is over, or that nobody wants any more, is cancelled there first. It is
// what the attempt's job does, until there is an outcome.
func (c *Checkout) Ask(ctx context.Context, id uuid.UUID) error {
	p, err := c.store.PaymentPlace(ctx, id)
	if err != nil || p.Status == boxoffice.PaymentSucceeded {
		return err
	}
	g, err := c.gateway(p.Gateway)
	if err != nil {
		return err
	}
	ref := payment.Ref{PaymentID: p.PaymentID, Gateway: p.Ref}
	unwanted := p.Booking != boxoffice.BookingPending || (p.Waits && p.HoldOver)
	c.at(BeforeAsk)
	answer, err := call(ctx, c, g, "find", callMax, func(ctx context.Context) (payment.Answer, error) { return g.Find(ctx, ref) })
	c.at(AfterAsk)
	unknown := errors.Is(err, payment.ErrUnknown)
	if err != nil && !unknown {
		return err
	}
	if unknown || unwanted && answer.State == payment.Pending {
		c.at(BeforeCancel)
		answer, err = call(ctx, c, g, "cancel", callMax, func(ctx context.Context) (payment.Answer, error) { return g.Cancel(ctx, ref) })
		c.at(AfterCancel)
		if errors.Is(err, payment.ErrUnknown) {
			// It never got there: whoever was to send it died before.
			answer, err = payment.Answer{State: payment.Cancelled, DeclineCode: "never_sent"}, nil
		}
		if err != nil {
			return err
		}
	}
	_, err = c.settle(ctx, "gateway:"+p.Gateway, p, answer)
	return err
}

// SettleShow asks for the payments of a show that are due. It returns the
// first error; each of them is asked for again later.
func (c *Checkout) SettleShow(ctx context.Context, show uuid.UUID) error {
	const slice = 8
	for {
		ids, err := c.store.ClaimPayments(ctx, show, slice)
		if err != nil {
			return err
		}
		failed := make(chan error, len(ids))
		for _, id := range ids {
			go func() { failed <- c.Ask(ctx, id) }()
		}
		for range ids {
			if err := <-failed; err != nil {
				// What is due next is on the queue already.
				c.log.Warn("checkout: a payment could not be settled", "show", show, "error", err)
			}
		}
		if len(ids) < slice || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// ErrWait says that something is under way whose outcome has to be asked for
// again after a while.
type ErrWait struct{ After time.Duration }

func (e *ErrWait) Error() string {
	return "checkout: no outcome yet; ask again after " + e.After.String()
}

// SendRefund tells a refund's gateway, and settles what it says. It may be
// called any number of times. Without an outcome yet it returns an [ErrWait].
func (c *Checkout) SendRefund(ctx context.Context, id uuid.UUID) error {
	f, err := c.store.RefundPlace(ctx, id)
	if err != nil || f.Status != boxoffice.RefundPending {
		return err
	}
	g, err := c.gateway(f.Gateway)
	if err != nil {
		return err
	}
	refund := payment.Refund{
		RefundID: f.RefundID, Attempt: f.Attempt, Payment: payment.Ref{PaymentID: f.PaymentID, Gateway: f.PaymentRef},
		AmountMinor: f.AmountMinor, Currency: f.Currency, Reason: string(f.Reason),
	}
	c.at(BeforeSend)
	answer, err := call(ctx, c, g, "refund", callMax, func(ctx context.Context) (payment.RefundAnswer, error) { return g.Refund(ctx, refund) })
	c.at(AfterSend)
	if err != nil {
		return err
	}
	if err := c.settleRefund(ctx, f, answer); err != nil {
		return err
	}
	c.at(AfterSettleRefund)
	if answer.State == payment.Pending {
		return &ErrWait{min(max(30*time.Second, f.Age/2), time.Hour)}
	}
	return nil
}

func (c *Checkout) settleRefund(ctx context.Context, f store.RefundPlace, a payment.RefundAnswer) error {
	err := c.store.SettleRefund(ctx, "gateway:"+f.Gateway, f, boxoffice.RefundStatus(a.State), printable(a.Gateway), printable(a.Failure))
	if o := c.cfg.Observer; o != nil && err == nil {
		o.Refund(f.Gateway, string(a.State))
	}
	return err
}

// What came of a webhook.
const (
	eventApplied = "applied"
	eventIgnored = "ignored" // about a payment that is not ours, or of no interest
)

// Webhook takes in what a gateway tells: it checks the signature, keeps the
// event once, and has its effect. Once it is kept, an effect that fails is not
// the gateway's business: a job sees to it.
func (c *Checkout) Webhook(ctx context.Context, gateway string, header http.Header, body []byte) error {
	g, ok := c.gateways[gateway]
	if !ok {
		return boxoffice.Refuse(boxoffice.CodeNotFound, "There is no gateway %s.", gateway)
	}
	e, err := g.Webhook(header, body)
	switch {
	case errors.Is(err, payment.ErrSignature):
		c.sawEvent(gateway, "forged")
		return boxoffice.Refuse(boxoffice.CodeUnauthenticated, "The webhook's signature is not valid.")
	case err != nil:
		return boxoffice.Invalid(boxoffice.Violation{Field: "body", Message: "is not an event of this gateway"})
	case e.Kind == payment.EventOther:
		c.sawEvent(gateway, eventIgnored)
		return nil
	}
	e.ID = printable(e.ID)
	kept, err := json.Marshal(e)
	if err != nil {
		return err
	}
	c.at(BeforeStore)
	done, err := c.store.StorePaymentEvent(ctx, gateway, e.ID, withoutNUL(kept))
	c.at(AfterStore)
	if err != nil || done {
		return err
	}
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), callMax)
	defer cancel()
	if err := c.apply(whole, gateway, e); err != nil {
		c.log.Warn("checkout: a webhook's effect failed, a job tries again", "gateway", gateway, "event", e.ID, "error", err)
	}
	return nil
}

// ApplyEvent has the effect of an event that was kept, unless it was had.
func (c *Checkout) ApplyEvent(ctx context.Context, gateway, id string) error {
	kept, done, err := c.store.ReadPaymentEvent(ctx, gateway, id)
	if err != nil || done {
		return err
	}
	var e payment.Event
	if err := json.Unmarshal(kept, &e); err != nil {
		return err
	}
	return c.apply(ctx, gateway, e)
}

// apply has an event's effect and notes that it was had. The effect may be had
// twice, should the process die in between; it is the same.
func (c *Checkout) apply(ctx context.Context, gateway string, e payment.Event) error {
	outcome, err := c.effect(ctx, gateway, e)
	if err != nil {
		c.sawEvent(gateway, "failed")
		return err
	}
	c.at(BeforeDone)
	c.sawEvent(gateway, outcome)
	return c.store.PaymentEventDone(ctx, gateway, e.ID, outcome)
}

func (c *Checkout) effect(ctx context.Context, gateway string, e payment.Event) (outcome string, err error) {
	actor := "gateway:" + gateway
	if e.Kind == payment.EventRefund && e.RefundID != uuid.Nil {
		f, err := c.store.RefundPlace(ctx, e.RefundID)
		switch {
		case boxoffice.CodeOf(err) == boxoffice.CodeNotFound:
			// We knew it before our database was restored, perhaps. If its payment
			// is here, the money went back all the same.
		case err != nil:
			return "", err
		case f.Gateway != gateway:
			return eventIgnored, nil
		default:
			answer := e.Refund
			answer.Gateway = cmp.Or(answer.Gateway, e.GatewayRefund)
			return eventApplied, c.settleRefund(ctx, f, answer)
		}
	}
	id := e.Payment.PaymentID
	if id == uuid.Nil {
		id, err = c.store.PaymentByRef(ctx, gateway, e.Payment.Gateway)
	}
	var p store.PaymentPlace
	if err == nil {
		p, err = c.store.PaymentPlace(ctx, id)
	}
	switch {
	case boxoffice.CodeOf(err) == boxoffice.CodeNotFound || err == nil && p.Gateway != gateway:
		return eventIgnored, nil
	case err != nil:
		return "", err
	}
	if e.Kind == payment.EventPayment {
		e.Answer.Gateway = cmp.Or(e.Answer.Gateway, e.Payment.Gateway)
		_, err := c.settle(ctx, actor, p, e.Answer)
		return eventApplied, err
	}
	if e.GatewayRefund = printable(e.GatewayRefund); e.GatewayRefund == "" {
		// Without its id it could not be told from another refund, nor from itself.
		c.log.Warn("checkout: a gateway tells of money that went back and does not say which", "gateway", gateway, "event", e.ID, "payment", id)
		return eventIgnored, nil
	}
	status := boxoffice.RefundStatus(e.Refund.State)
	if e.Kind == payment.EventDispute && status != boxoffice.RefundFailed {
		status = boxoffice.RefundSucceeded // the bank has the money
	}
	return eventApplied, c.store.RecordRefund(ctx, actor, p, store.DeskRefund{
		Ref: e.GatewayRefund, AmountMinor: e.AmountMinor, Status: status, Dispute: e.Kind == payment.EventDispute,
	})
}

// Cancel gives tickets back, or takes a purchase back. Refunds are sent, and a
// payment under way is cancelled at its gateway, there and then, as far as that
// can be; jobs see to the rest.
func (c *Checkout) Cancel(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, booking uuid.UUID, req store.CancelRequest) (*store.Cancelled, error) {
	done, err := c.store.CancelBooking(ctx, actor, key, booking, req)
	if err != nil || done.Replayed {
		return done, err
	}
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*callMax)
	defer cancel()
	if done.Open != uuid.Nil && done.Status == boxoffice.BookingCancelled {
		if err := c.Ask(whole, done.Open); err != nil {
			c.log.Warn("checkout: a payment could not be cancelled, a job tries again", "payment", done.Open, "error", err)
		}
	}
	for _, f := range done.Refunds {
		// The money need not wait for its job; one that could not be sent does.
		if err := c.SendRefund(whole, f.ID); err != nil && !errors.As(err, new(*ErrWait)) {
			c.log.Warn("checkout: a refund could not be sent, a job tries again", "refund", f.ID, "error", err)
		}
	}
	return done, nil
}

// CancelShow gives the buyers of a cancelled show their money back and ends
// its holds. It works for as long as ctx lets it; more says that it has to be
// called again.
func (c *Checkout) CancelShow(ctx context.Context, show uuid.UUID, enough func() bool) (more bool, err error) {
	system := boxoffice.Actor{Staff: true, Name: "system"}
	const slice = 64
	var errs []error // of bookings that cannot be cancelled: the others need not wait for them
	for after := uuid.Nil; ; {
		ids, err := c.store.OpenBookings(ctx, show, after, slice)
		if err != nil {
			return true, err
		}
		failed := make(chan error, len(ids))
		for _, id := range ids {
			go func() {
				_, err := c.store.CancelBooking(ctx, system, nil, id, store.CancelRequest{Override: true, Reason: boxoffice.ReasonShowCancelled})
				if boxoffice.CodeOf(err) == boxoffice.CodeBookingNotCancellable {
					err = nil // it ended by itself meanwhile
				}
				failed <- err
			}()
		}
		for range ids {
			if err := <-failed; err != nil {
				errs = append(errs, err)
			}
		}
		if len(ids) < slice {
			break
		}
		if enough() || ctx.Err() != nil {
			return true, errors.Join(errs...)
		}
		after = ids[len(ids)-1]
	}
	more, err = c.store.EndHolds(ctx, show, enough) // that nobody has begun to pay
	return more, errors.Join(append(errs, err)...)
}

func (c *Checkout) gateway(name string) (payment.Gateway, error) {
	g, ok := c.gateways[name]
	if !ok {
		return nil, &boxoffice.Error{Code: boxoffice.CodeInternal, Detail: "no gateway " + name + " is set up, but a payment of it is there"}
	}
	return g, nil
}

// call calls a gateway within a time, and tells how that went.
func call[T any](ctx context.Context, c *Checkout, g payment.Gateway, what string, most time.Duration, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	began := time.Now()
	v, err := do(ctx)
	if o := c.cfg.Observer; o != nil {
		o.GatewayCall(g.Name(), what, time.Since(began), err)
	}
	return v, err
}

// withoutNUL takes U+0000 out of JSON, which jsonb refuses. A backslash before
// another makes what follows plain text, and that stays.
func withoutNUL(text []byte) []byte {
	kept := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '\\':
			kept = append(kept, text[i])
		case bytes.HasPrefix(text[i:], []byte(`\u0000`)):
			i += len(`\u0000`) - 1
		default:
			kept = append(kept, text[i], text[i+1])
			i++
		}
	}
	return kept
}

// printable is a gateway's word as the database takes it.
func printable(s string) string { return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "") }

func (c *Checkout) at(s Step) {
	if c.cfg.Step != nil {
		c.cfg.Step(s)
	}
}

func (c *Checkout) sawEvent(gateway, outcome string) {
	if o := c.cfg.Observer; o != nil {
		o.PaymentEvent(gateway, outcome)
	}
}
