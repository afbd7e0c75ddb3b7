package payment

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// Gateway is a place where money is taken and given back. An implementation
// is one file; docs/gateways.md shows how to write one.
//
// Every method that moves money is repeatable: called again with the same id,
// after a crash or a lost answer, it must not move money again, and answers
// what became of the first call. None of them is called with a lock or a
// transaction open.
//
// A refusal of the gateway is an [Answer], not an error. An error means that
// the outcome is unknown: the call timed out, the line broke, the gateway
// answered with something that is neither yes nor no. Whoever called asks
// again, by [Gateway.Find].
type Gateway interface {
	// Name is the gateway's name in URLs, settings and the payments table:
	// lower case letters, never changed.
	Name() string
	// Methods are the ways to pay that the gateway offers, at least one.
	Methods() []Method
	// Charge begins to take the money, and takes it when nothing stands in
	// the way. Its idempotency key at the gateway is c.PaymentID.
	Charge(ctx context.Context, c Charge) (Answer, error)
	// Find asks what became of a payment. One that the gateway never heard
	// of is [ErrUnknown].
	Find(ctx context.Context, p Ref) (Answer, error)
	// Cancel ends a payment that has not been taken, and answers what it is
	// now: cancelled, or succeeded when it was too late. One that the gateway
	// never heard of is [ErrUnknown].
	Cancel(ctx context.Context, p Ref) (Answer, error)
	// Refund gives money back. Its idempotency key at the gateway is
	// r.RefundID together with r.Attempt; what it shows of our own id is
	// r.RefundID.
	Refund(ctx context.Context, r Refund) (RefundAnswer, error)
	// Webhook checks the signature of a webhook, of the bytes as they came,
	// and says what it tells. A signature that is missing, wrong or too old
	// is [ErrSignature]; a body that makes no sense is another error. An
	// event of a kind that nobody here needs is of kind [EventOther].
	Webhook(header http.Header, body []byte) (Event, error)
}

var (
	// ErrUnknown says that the gateway never heard of the payment.
	ErrUnknown = errors.New("payment: the gateway does not know this payment")
	// ErrSignature says that a webhook is not, or not provably, the gateway's.
	ErrSignature = errors.New("payment: the webhook's signature is not valid")
)

// Method is a way to pay.
type Method struct {
	Name     string // what clients name it: card
	Title    string // for people: "Card"
	Token    bool   // a token that the gateway's own script made comes with the payment
	Redirect bool   // the buyer may have to confirm on a page of the gateway
}

// Charge is what is to be taken.
type Charge struct {
	PaymentID   uuid.UUID // ours; the idempotency key
	BookingID   uuid.UUID
	ShowID      uuid.UUID
	Reference   string // the booking's, for statements and the gateway's desk
	Method      string
	Token       string    // of the buyer's card, made by the gateway's script; never stored here
	AmountMinor int64     // at least 1
	Currency    string    // ISO 4217
	ReturnURL   string    // where the gateway's page sends the buyer back to; "": nowhere
	Until       time.Time // when the hold ends: no session at the gateway should outlive it
}

// Ref names a payment at its gateway.
type Ref struct {
	PaymentID uuid.UUID
	Gateway   string // the gateway's own id of it, when it was learnt; "": not yet
}

// State is what has become of a payment at its gateway.
type State string

// The states. Succeeded is the only one that never changes any more.
const (
	Pending   State = "pending" // not known yet, or waiting for the buyer: see Answer.Next
	Succeeded State = "succeeded"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Answer is what a gateway says of a payment.
type Answer struct {
	State       State
	Gateway     string // the gateway's id of the payment; "": it has none yet
	AmountMinor int64  // what was or will be taken; 0: it did not say
	Currency    string // "": it did not say
	DeclineCode string // why it failed, in the gateway's words: insufficient_funds
	Next        *Next  // what the buyer has to do; nil: nothing
}

// Next is what a buyer has to do before a payment can succeed.
type Next struct {
	Type         string `json:"type"`                   // redirect: go to URL; confirm: the gateway's script, with ClientSecret
	URL          string `json:"url,omitempty"`          // of the gateway's page
	ClientSecret string `json:"clientSecret,omitempty"` // for the gateway's script in the browser
}

// Refund is what is to be given back.
type Refund struct {
	RefundID    uuid.UUID // ours
	Attempt     int       // from 1; more when people send one again that the gateway had refused
	Payment     Ref
	AmountMinor int64 // at least 1, at most what is left of the payment
	Currency    string
	Reason      string
}

// RefundAnswer is what a gateway says of a refund.
type RefundAnswer struct {
	State   State // pending, succeeded or failed
	Gateway string
	Failure string // why it failed, in the gateway's words
}

// EventKind says what a webhook tells.
type EventKind string

// The kinds of event.
const (
	EventPayment EventKind = "payment" // something became of a payment: Event.Payment and Answer
	EventRefund  EventKind = "refund"  // something became of a refund, ours or one begun at the gateway's desk
	EventDispute EventKind = "dispute" // the buyer's bank took the money back
	EventOther   EventKind = "other"
)

// Event is a webhook that is the gateway's.
type Event struct {
	ID   string // the gateway's, the same in each delivery
	Kind EventKind
	Type string // the gateway's name of it, for people

	// Payment is the payment concerned. Its PaymentID is zero when the
	// gateway does not carry our id there: then only Gateway names it.
	Payment Ref
	// Answer is what the payment has become, with EventPayment.
	Answer Answer

	// With EventRefund and EventDispute.
	RefundID      uuid.UUID // ours; zero: begun at the gateway's desk
	GatewayRefund string    // the gateway's id of the refund or dispute
	AmountMinor   int64
	Refund        RefundAnswer
}
