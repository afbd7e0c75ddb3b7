package payment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/stripe/stripe-go/v82"
	"github.com/stripe/stripe-go/v82/webhook"
)

// Stripe takes cards through Stripe's PaymentIntents: a payment is an intent,
// whose id is Answer.Gateway.
//
// Cards only, wallets with a card behind them included. They are decided while
// the buyer waits, and what is not decided can be cancelled, so that nothing
// at Stripe outlives a hold by itself. Vouchers, transfers and debits are paid
// hours or days later, long after the places are somebody else's; so the types
// are named in each intent and automatic_payment_methods, by which a click at
// Stripe's desk would let others in, is not used.
//
// A failed intent is not dead: whoever has its client secret may confirm it
// with another card. Charge hands the secret out only in Answer.Next; such a
// payment wants a Cancel once it is given up.
type Stripe struct {
	client        *stripe.Client
	webhookSecret string
}

// StripeOptions are what [NewStripe] needs.
type StripeOptions struct {
	Key           string       // the secret key, sk_… or a restricted rk_…
	WebhookSecret string       // of the webhook's endpoint, whsec_…; "": every webhook is refused
	URL           string       // of the API; "": Stripe's
	HTTP          *http.Client // nil: stripe-go's, which waits 80 s unless the context ends earlier
}

// Limits and habits of Stripe.
const (
	// stripeRetries is how often stripe-go repeats a call whose answer was
	// lost. The idempotency key makes that safe, and for a charge it is the
	// best there is: the token is still at hand, and the repeated call answers
	// what became of the first. More than once would eat the time of the
	// buyer who waits; then Find asks.
	stripeRetries = 1
	// stripeBefore and stripeAfter are how long before and after our id was
	// made its intent can have been: clocks differ, and a call takes a while.
	stripeBefore = time.Minute
	stripeAfter  = 3 * time.Minute
	// stripeListed is how many intents of that time are looked through, in
	// pages of 100, before search is asked.
	stripeListed = 300
	// stripeSearchLag is when search has surely seen an intent: documented are
	// a minute, and an hour while Stripe has an outage.
	stripeSearchLag = 2 * time.Hour
	// stripeKeyLife is how long an idempotency key is relied upon: Stripe
	// forgets them after 24 hours.
	stripeKeyLife = 12 * time.Hour
)

// The metadata that Rowlock gives to what it makes at Stripe.
const (
	stripePayment = "rowlock_payment"
	stripeBooking = "rowlock_booking"
	stripeShow    = "rowlock_show"
	stripeRefund  = "rowlock_refund"
	stripeReason  = "rowlock_reason"
)

// errNotListed says that Stripe does not show a payment, and may yet.
var errNotListed = errors.New("payment: stripe: no such payment so far, and too early to say that there is none")

// NewStripe makes the gateway. It calls nobody.
func NewStripe(o StripeOptions) *Stripe {
	config := &stripe.BackendConfig{
		HTTPClient:        o.HTTP,
		MaxNetworkRetries: stripe.Int64(stripeRetries),
		EnableTelemetry:   stripe.Bool(false),
		// Its own log would be a second one, on stderr; errors are returned.
		LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
	}
	if o.URL != "" {
		config.URL = stripe.String(o.URL)
	}
	backends := &stripe.Backends{API: stripe.GetBackendWithConfig(stripe.APIBackend, config)}
	return &Stripe{
		client:        stripe.NewClient(o.Key, stripe.WithBackends(backends)),
		webhookSecret: o.WebhookSecret,
	}
}

// Name implements [Gateway].
func (s *Stripe) Name() string { return "stripe" }

// Methods implements [Gateway].
func (s *Stripe) Methods() []Method {
	return []Method{{Name: "card", Title: "Card", Token: true, Redirect: true}}
}

// Charge makes an intent and confirms it with the token: a PaymentMethod
// (pm_…) or a ConfirmationToken (ctoken_…). Without a token the intent waits
// for Stripe's script, which confirms it with the client secret.
//
// A sum that Stripe cannot take exactly is failed with amount_not_supported,
// and Stripe never hears of it.
func (s *Stripe) Charge(ctx context.Context, c Charge) (Answer, error) {
	amount, ok := stripeAmount(c.AmountMinor, c.Currency)
	if !ok {
		return Answer{State: Failed, DeclineCode: "amount_not_supported"}, nil
	}
	// The account's own words stand on the buyer's statement. A suffix of ours
	// that Stripe does not like, all digits or too long, would refuse the
	// payment.
	p := &stripe.PaymentIntentCreateParams{
		Amount:             stripe.Int64(amount),
		Currency:           stripe.String(strings.ToLower(c.Currency)),
		CaptureMethod:      stripe.String(stripe.PaymentIntentCaptureMethodAutomatic),
		PaymentMethodTypes: stripe.StringSlice([]string{"card"}),
		Description:        stripe.String("Booking " + c.Reference),
		Metadata: map[string]string{
			stripePayment: c.PaymentID.String(),
			stripeBooking: c.BookingID.String(),
			stripeShow:    c.ShowID.String(),
		},
	}
	p.SetIdempotencyKey(c.PaymentID.String())
	if c.Token != "" {
		p.Confirm = stripe.Bool(true)
		if strings.HasPrefix(c.Token, "ctoken_") {
			p.ConfirmationToken = stripe.String(c.Token)
		} else {
			p.PaymentMethod = stripe.String(c.Token)
		}
		// A bank's question comes as a page to go to, if there is a way back
		// from it, or else for Stripe's script.
		if c.ReturnURL != "" {
			p.ReturnURL = stripe.String(c.ReturnURL)
		} else {
			p.UseStripeSDK = stripe.Bool(true)
		}
	}

	intent, err := s.client.V1PaymentIntents.Create(ctx, p)
	var refusal *stripe.Error
	switch {
	case err == nil:
	case !errors.As(err, &refusal):
		return Answer{}, stripeError("charge", err)
	case refusal.HTTPStatusCode == http.StatusPaymentRequired && refusal.PaymentIntent != nil:
		intent = refusal.PaymentIntent
		intent.LastResponse = refusal.LastResponse
		if intent.LastPaymentError == nil {
			intent.LastPaymentError = refusal
		}
	case refusal.HTTPStatusCode == http.StatusPaymentRequired || ofTheBuyer(refusal):
		return Answer{State: Failed, DeclineCode: declineCode(refusal)}, nil
	default:
		return Answer{}, stripeError("charge", err)
	}

	// A repeated call gets the first one's answer, word for word, whatever has
	// happened since.
	if replayed(intent.LastResponse) {
		if now, err := s.client.V1PaymentIntents.Retrieve(ctx, intent.ID, nil); err == nil {
			intent = now
		}
	}
	return stripeAnswer(intent)
}

// Find implements [Gateway]. Of a payment whose intent is not known by its id
// it may take a few minutes, and for a busy account two hours, until it says
// [ErrUnknown]; until then, what it does not see is an error.
func (s *Stripe) Find(ctx context.Context, p Ref) (Answer, error) {
	intent, err := s.find(ctx, p)
	if err != nil {
		return Answer{}, err
	}
	return stripeAnswer(intent)
}

// Cancel implements [Gateway]. What can neither be cancelled nor has been
// taken, because a bank is at work on it, is pending.
func (s *Stripe) Cancel(ctx context.Context, p Ref) (Answer, error) {
	if p.Gateway == "" {
		intent, err := s.find(ctx, p)
		if err != nil {
			return Answer{}, err
		}
		p.Gateway = intent.ID
	}
	intent, err := s.client.V1PaymentIntents.Cancel(ctx, p.Gateway, nil)
	var refusal *stripe.Error
	if errors.As(err, &refusal) && refusal.Code == stripe.ErrorCodePaymentIntentUnexpectedState {
		return s.Find(ctx, p)
	}
	if err != nil {
		return Answer{}, stripeError("cancel", err)
	}
	return stripeAnswer(intent)
}

// find reads an intent by its id, or by ours when its own was never learnt.
//
// Lists are complete at once and cannot be asked for metadata; search can, and
// lags. So the intents of the minutes in which ours must have been made are
// read, and search is asked where these are too many.
func (s *Stripe) find(ctx context.Context, p Ref) (*stripe.PaymentIntent, error) {
	if p.Gateway != "" {
		intent, err := s.client.V1PaymentIntents.Retrieve(ctx, p.Gateway, nil)
		if err != nil {
			return nil, stripeError("find", err)
		}
		return intent, nil
	}

	made, ok := madeAt(p.PaymentID)
	if !ok {
		return nil, fmt.Errorf("payment: stripe: %s does not tell when it was made", p.PaymentID)
	}
	certain := made.Add(stripeAfter)
	intent, all, err := s.findListed(ctx, p.PaymentID, made)
	if err == nil && intent == nil && !all {
		certain = made.Add(stripeSearchLag)
		intent, err = s.search(ctx, p.PaymentID)
	}
	switch {
	case err != nil:
		return nil, stripeError("find", err)
	case intent != nil:
		return intent, nil
	case time.Now().Before(certain):
		return nil, errNotListed
	}
	return nil, ErrUnknown
}

// findListed looks for a payment's intent among those made when it was; all
// says that there were no more than could be looked through. Both nil and all:
// there is none.
func (s *Stripe) findListed(ctx context.Context, id uuid.UUID, made time.Time) (intent *stripe.PaymentIntent, all bool, err error) {
	p := &stripe.PaymentIntentListParams{CreatedRange: &stripe.RangeQueryParams{
		GreaterThanOrEqual: made.Add(-stripeBefore).Unix(),
		LesserThanOrEqual:  made.Add(stripeAfter).Unix(),
	}}
	p.Limit = stripe.Int64(100)
	seen := 0
	for intent, err := range s.client.V1PaymentIntents.List(ctx, p) {
		if err != nil {
			return nil, false, err
		}
		if intent.Metadata[stripePayment] == id.String() {
			return intent, true, nil
		}
		if seen++; seen == stripeListed {
			return nil, false, nil
		}
	}
	return nil, true, nil
}

func (s *Stripe) search(ctx context.Context, id uuid.UUID) (*stripe.PaymentIntent, error) {
	p := &stripe.PaymentIntentSearchParams{}
	p.Query = fmt.Sprintf("metadata['%s']:'%s'", stripePayment, id)
	for intent, err := range s.client.V1PaymentIntents.Search(ctx, p) {
		return intent, err
	}
	return nil, nil
}

// Refund implements [Gateway]. Of a refund that was asked for long ago, whose
// idempotency key Stripe may have forgotten, the payment's refunds are read
// first.
func (s *Stripe) Refund(ctx context.Context, r Refund) (RefundAnswer, error) {
	amount, ok := stripeAmount(r.AmountMinor, r.Currency)
	if !ok {
		return RefundAnswer{State: Failed, Failure: "amount_not_supported"}, nil
	}
	if r.Payment.Gateway == "" {
		intent, err := s.find(ctx, r.Payment)
		if err != nil {
			return RefundAnswer{}, err
		}
		r.Payment.Gateway = intent.ID
	}
	if made, ok := madeAt(r.RefundID); !ok || time.Since(made) > stripeKeyLife {
		p := &stripe.RefundListParams{PaymentIntent: stripe.String(r.Payment.Gateway)}
		p.Limit = stripe.Int64(100)
		for refund, err := range s.client.V1Refunds.List(ctx, p) {
			if err != nil {
				return RefundAnswer{}, stripeError("refunds", err)
			}
			if refund.Metadata[stripeRefund] == r.RefundID.String() {
				return refundAnswer(refund)
			}
		}
	}

	p := &stripe.RefundCreateParams{
		PaymentIntent: stripe.String(r.Payment.Gateway),
		Amount:        stripe.Int64(amount),
		Metadata: map[string]string{
			stripeRefund:  r.RefundID.String(),
			stripePayment: r.Payment.PaymentID.String(),
			stripeReason:  r.Reason,
		},
	}
	p.SetIdempotencyKey(r.RefundID.String())
	refund, err := s.client.V1Refunds.Create(ctx, p)
	var refusal *stripe.Error
	if errors.As(err, &refusal) && refusal.Type != stripe.ErrorTypeIdempotency {
		switch refusal.HTTPStatusCode {
		case http.StatusBadRequest, http.StatusPaymentRequired, http.StatusNotFound:
			return RefundAnswer{State: Failed, Failure: declineCode(refusal)}, nil
		}
	}
	if err != nil {
		return RefundAnswer{}, stripeError("refund", err)
	}
	if replayed(refund.LastResponse) {
		if now, err := s.client.V1Refunds.Retrieve(ctx, refund.ID, nil); err == nil {
			refund = now
		}
	}
	return refundAnswer(refund)
}

// Webhook implements [Gateway].
//
// An endpoint speaks the version of the API that it was made with, and an
// operator moves one without the other; so a version that is not stripe-go's
// is no reason to refuse news of money. The few fields that are read here are
// older than any version an endpoint can have.
//
// Intents without our metadata are another application's on the same account,
// and of kind [EventOther]. Refunds and disputes do not tell whose they are:
// they name the payment's Gateway id, and may name one that nobody here knows.
func (s *Stripe) Webhook(header http.Header, body []byte) (Event, error) {
	if s.webhookSecret == "" { // anybody can sign with nothing
		return Event{}, ErrSignature
	}
	e, err := webhook.ConstructEventWithOptions(body, header.Get("Stripe-Signature"), s.webhookSecret,
		webhook.ConstructEventOptions{IgnoreAPIVersionMismatch: true})
	for _, wrong := range []error{webhook.ErrNotSigned, webhook.ErrInvalidHeader, webhook.ErrNoValidSignature, webhook.ErrTooOld} {
		if errors.Is(err, wrong) {
			return Event{}, fmt.Errorf("%w: %w", ErrSignature, err)
		}
	}
	if err == nil && (e.ID == "" || e.Data == nil) {
		err = errors.New("not an event")
	}
	if err != nil {
		return Event{}, fmt.Errorf("payment: stripe: webhook: %w", err)
	}

	event := Event{ID: e.ID, Kind: EventOther, Type: string(e.Type)}
	switch e.Type {
	case stripe.EventTypePaymentIntentSucceeded, stripe.EventTypePaymentIntentPaymentFailed, stripe.EventTypePaymentIntentCanceled,
		stripe.EventTypePaymentIntentProcessing, stripe.EventTypePaymentIntentRequiresAction:
		err = event.ofIntent(e.Data.Raw)
	// charge.refunded comes with each of these and is of kind EventOther: it
	// tells the sum of all refunds and not which is new.
	case stripe.EventTypeRefundCreated, stripe.EventTypeRefundUpdated, stripe.EventTypeRefundFailed, stripe.EventTypeChargeRefundUpdated:
		err = event.ofRefund(e.Data.Raw)
	case stripe.EventTypeChargeDisputeCreated, stripe.EventTypeChargeDisputeUpdated, stripe.EventTypeChargeDisputeClosed,
		stripe.EventTypeChargeDisputeFundsWithdrawn, stripe.EventTypeChargeDisputeFundsReinstated:
		err = event.ofDispute(e.Data.Raw)
	}
	if err != nil {
		return Event{}, fmt.Errorf("payment: stripe: webhook %s: %w", e.ID, err)
	}
	return event, nil
}

func (e *Event) ofIntent(raw json.RawMessage) error {
	var intent stripe.PaymentIntent
	if err := json.Unmarshal(raw, &intent); err != nil {
		return err
	}
	if intent.Metadata[stripePayment] == "" {
		return nil
	}
	var err error
	e.Kind = EventPayment
	e.Payment = Ref{PaymentID: ourID(intent.Metadata, stripePayment), Gateway: intent.ID}
	e.Answer, err = stripeAnswer(&intent)
	return err
}

func (e *Event) ofRefund(raw json.RawMessage) error {
	var refund stripe.Refund
	if err := json.Unmarshal(raw, &refund); err != nil {
		return err
	}
	if refund.PaymentIntent == nil { // of a charge that no intent made: not ours
		return nil
	}
	var err error
	e.Kind = EventRefund
	e.Payment = Ref{PaymentID: ourID(refund.Metadata, stripePayment), Gateway: refund.PaymentIntent.ID}
	e.RefundID = ourID(refund.Metadata, stripeRefund)
	e.GatewayRefund = refund.ID
	if e.Refund, err = refundAnswer(&refund); err != nil {
		return err
	}
	e.AmountMinor, err = minorAmount(refund.Amount, string(refund.Currency))
	return err
}

// ofDispute reads a dispute. The bank takes the money when it begins one
// (pending) and keeps it (succeeded) or gives it back (failed) in the end.
// Inquiries, which Stripe calls warnings, move no money.
func (e *Event) ofDispute(raw json.RawMessage) error {
	var dispute stripe.Dispute
	if err := json.Unmarshal(raw, &dispute); err != nil {
		return err
	}
	if dispute.PaymentIntent == nil { // as with refunds
		return nil
	}
	switch dispute.Status {
	case stripe.DisputeStatusNeedsResponse, stripe.DisputeStatusUnderReview:
		e.Refund = RefundAnswer{State: Pending, Gateway: dispute.ID}
	case stripe.DisputeStatusLost:
		e.Refund = RefundAnswer{State: Succeeded, Gateway: dispute.ID}
	case stripe.DisputeStatusWon:
		e.Refund = RefundAnswer{State: Failed, Gateway: dispute.ID, Failure: string(dispute.Status)}
	default:
		return nil
	}
	var err error
	e.Kind = EventDispute
	e.Payment.Gateway = dispute.PaymentIntent.ID
	e.GatewayRefund = dispute.ID
	e.AmountMinor, err = minorAmount(dispute.Amount, string(dispute.Currency))
	return err
}

// stripeAnswer says what an intent's status means.
func stripeAnswer(intent *stripe.PaymentIntent) (Answer, error) {
	a := Answer{Gateway: intent.ID, Currency: strings.ToUpper(string(intent.Currency))}
	amount := intent.Amount
	confirm := &Next{Type: "confirm", ClientSecret: intent.ClientSecret}
	switch intent.Status {
	case stripe.PaymentIntentStatusSucceeded:
		a.State = Succeeded
		amount = intent.AmountReceived
	case stripe.PaymentIntentStatusCanceled:
		a.State = Cancelled
	case stripe.PaymentIntentStatusProcessing:
		a.State = Pending
	case stripe.PaymentIntentStatusRequiresAction:
		a.State, a.Next = Pending, confirm
		if next := intent.NextAction; next != nil && next.RedirectToURL != nil {
			a.Next = &Next{Type: "redirect", URL: next.RedirectToURL.URL}
		}
	case stripe.PaymentIntentStatusRequiresConfirmation:
		a.State, a.Next = Pending, confirm
	case stripe.PaymentIntentStatusRequiresPaymentMethod:
		if intent.LastPaymentError != nil {
			a.State, a.DeclineCode = Failed, declineCode(intent.LastPaymentError)
		} else {
			a.State, a.Next = Pending, confirm
		}
	default:
		return Answer{}, fmt.Errorf("payment: stripe: intent %s is %q", intent.ID, intent.Status)
	}
	var err error
	a.AmountMinor, err = minorAmount(amount, string(intent.Currency))
	return a, err
}

// refundAnswer says what a refund's status means. One that succeeded may fail
// days later, when the buyer's bank sends it back.
func refundAnswer(refund *stripe.Refund) (RefundAnswer, error) {
	a := RefundAnswer{Gateway: refund.ID}
	switch refund.Status {
	case stripe.RefundStatusSucceeded:
		a.State = Succeeded
	case stripe.RefundStatusPending, stripe.RefundStatusRequiresAction:
		a.State = Pending
	case stripe.RefundStatusFailed, stripe.RefundStatusCanceled:
		a.State = Failed
		if a.Failure = string(refund.FailureReason); a.Failure == "" {
			a.Failure = string(refund.Status)
		}
	default:
		return RefundAnswer{}, fmt.Errorf("payment: stripe: refund %s is %q", refund.ID, refund.Status)
	}
	return a, nil
}

// ofTheBuyer says that a request was refused for what the buyer brought or
// bought: then nothing was taken, and another attempt may do better. Whatever
// else Stripe does not understand is a fault of ours or of the account, and
// nobody's decline.
func ofTheBuyer(e *stripe.Error) bool {
	if e.HTTPStatusCode != http.StatusBadRequest && e.HTTPStatusCode != http.StatusNotFound || e.Type != stripe.ErrorTypeInvalidRequest {
		return false
	}
	switch e.Param {
	case "payment_method", "confirmation_token", "return_url", "amount", "currency":
		return true
	}
	return false
}

// declineCode is Stripe's word for a refusal: the bank's if it gave one.
func declineCode(e *stripe.Error) string {
	switch {
	case e.DeclineCode != "":
		return string(e.DeclineCode)
	case e.Code != "":
		return string(e.Code)
	}
	return string(e.Type)
}

// stripeError says what went wrong without the objects that Stripe's errors
// carry and print: the client's secret and the buyer's address are in them.
func stripeError(doing string, err error) error {
	var e *stripe.Error
	switch {
	case !errors.As(err, &e):
		return fmt.Errorf("payment: stripe: %s: %w", doing, err)
	case e.HTTPStatusCode == http.StatusNotFound && e.Code == stripe.ErrorCodeResourceMissing:
		return ErrUnknown
	}
	return fmt.Errorf("payment: stripe: %s: %d %s %s: %s (request %s)", doing, e.HTTPStatusCode, e.Type, e.Code, e.Msg, e.RequestID)
}

// replayed says that an answer is one that Stripe kept for its idempotency key.
func replayed(r *stripe.APIResponse) bool {
	return r != nil && r.Header.Get("Idempotent-Replayed") == "true"
}

// ourID reads an id of ours, zero if it is not there.
func ourID(metadata map[string]string, key string) uuid.UUID {
	id, _ := uuid.Parse(metadata[key])
	return id
}

// madeAt is when an id was made, which those of version 7 tell.
func madeAt(id uuid.UUID) (time.Time, bool) {
	if id.Version() != 7 {
		return time.Time{}, false
	}
	return time.Unix(id.Time().UnixTime()), true
}

// stripeUnit is how Stripe counts a currency that it does not count as ISO
// 4217 does: its amount is ours times times, divided by per, where ours must
// be a multiple of step.
type stripeUnit struct{ times, per, step int64 }

// stripeUnits are from docs.stripe.com/currencies. The three-decimal ones end
// in a zero. Forints and Taiwan dollars are whole only in payouts.
var stripeUnits = map[string]stripeUnit{
	"BHD": {1, 1, 10},
	"JOD": {1, 1, 10},
	"KWD": {1, 1, 10},
	"OMR": {1, 1, 10},
	"TND": {1, 1, 10},
	"ISK": {100, 1, 1}, // no decimals any more, and still sent with two
	"UGX": {100, 1, 1}, // the same, though Stripe's list of zero-decimal currencies has it too
	"MGA": {1, 100, 100},
}

func unitOf(currency string) stripeUnit {
	if u, ok := stripeUnits[strings.ToUpper(currency)]; ok {
		return u
	}
	return stripeUnit{1, 1, 1}
}

// stripeAmount is an amount as Stripe writes it, or false when Stripe cannot
// take just that.
func stripeAmount(minor int64, currency string) (int64, bool) {
	u := unitOf(currency)
	return minor * u.times / u.per, minor%u.step == 0
}

// minorAmount is Stripe's amount in minor units of ISO 4217.
func minorAmount(amount int64, currency string) (int64, error) {
	u := unitOf(currency)
	if amount%u.times != 0 {
		return 0, fmt.Errorf("payment: stripe: %d is no whole amount of %s", amount, strings.ToUpper(currency))
	}
	return amount * u.per / u.times, nil
}
