package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// State is what has become of a payment or a refund.
type State string

// The states. A payment is never pending, and a refund only pending, succeeded
// or failed.
const (
	Pending        State = "pending"
	Processing     State = "processing"
	RequiresAction State = "requires_action"
	Succeeded      State = "succeeded"
	Failed         State = "failed"
	Cancelled      State = "cancelled"
)

// Payment is money that is taken, or not. Amounts are in the currency's minor
// unit.
type Payment struct {
	ID          string    `json:"id"`
	MerchantID  string    `json:"merchant_id"` // the merchant's own id of it, unique
	Reference   string    `json:"reference,omitempty"`
	Method      string    `json:"method,omitempty"`
	Amount      int64     `json:"amount"` // 0: cancelled before it was ever asked for
	Currency    string    `json:"currency,omitempty"`
	State       State     `json:"state"`
	DeclineCode string    `json:"decline_code,omitempty"`
	RedirectURL string    `json:"redirect_url,omitempty"` // of the hosted page
	ReturnURL   string    `json:"return_url,omitempty"`
	ExpiresAt   time.Time `json:"expires_at,omitzero"` // when the session at the hosted page ends
	Refunded    int64     `json:"refunded"`            // by refunds that succeeded
	Refunding   int64     `json:"refunding"`           // by refunds that are pending
	Disputed    int64     `json:"disputed"`            // taken back by the buyer's bank
	Created     time.Time `json:"created"`
}

// Left is what is the merchant's of a payment, and could be refunded.
func (p Payment) Left() int64 {
	if p.State != Succeeded {
		return 0
	}
	return p.Amount - p.Refunded - p.Refunding - p.Disputed
}

// Open says that something may still become of the payment.
func (p Payment) Open() bool { return p.State == Processing || p.State == RequiresAction }

// Refund is money that is given back.
type Refund struct {
	ID                string    `json:"id"`
	MerchantID        string    `json:"merchant_id,omitempty"` // "": begun at the gateway's desk
	Payment           string    `json:"payment"`
	MerchantPaymentID string    `json:"merchant_payment_id"`
	Amount            int64     `json:"amount"`
	Currency          string    `json:"currency"`
	Reason            string    `json:"reason,omitempty"`
	State             State     `json:"state"`
	Failure           string    `json:"failure,omitempty"`
	Created           time.Time `json:"created"`
}

// Dispute is money that the buyer's bank took back.
type Dispute struct {
	ID                string    `json:"id"`
	Payment           string    `json:"payment"`
	MerchantPaymentID string    `json:"merchant_payment_id"`
	Amount            int64     `json:"amount"`
	Currency          string    `json:"currency"`
	Created           time.Time `json:"created"`
}

// Event is what a webhook tells: an object as it was when that happened.
type Event struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Created time.Time       `json:"created"`
	Data    json.RawMessage `json:"data"`
}

// Sum is what was done in one currency.
type Sum struct {
	Charged   int64 `json:"charged"`
	Refunded  int64 `json:"refunded"`
	Refunding int64 `json:"refunding"`
	Disputed  int64 `json:"disputed"`
	Net       int64 `json:"net"` // what is the merchant's
}

// Ledger is everything there is, the oldest first.
type Ledger struct {
	Payments []Payment      `json:"payments"`
	Refunds  []Refund       `json:"refunds"`
	Disputes []Dispute      `json:"disputes"`
	Sums     map[string]Sum `json:"sums"` // by currency
}

// payment is a Payment with what only the gateway knows.
type payment struct {
	Payment
	Token     string    `json:"token,omitempty"`
	Key       string    `json:"idempotency_key,omitempty"`
	Request   string    `json:"request,omitempty"` // its fingerprint
	Later     State     `json:"later,omitempty"`   // what it becomes at SettlesAt, if it is open then
	LaterCode string    `json:"later_code,omitempty"`
	SettlesAt time.Time `json:"settles_at,omitzero"`
}

type refund struct {
	Refund
	Key       string    `json:"idempotency_key,omitempty"`
	Request   string    `json:"request,omitempty"`
	SettlesAt time.Time `json:"settles_at,omitzero"` // when it succeeds, if it is pending
}

type event struct {
	Event
	Storm bool `json:"storm,omitempty"`
}

// record is a line of the ledger's file: what is so from then on.
type record struct {
	At        time.Time `json:"at"`
	Payment   *payment  `json:"payment,omitempty"`
	Refund    *refund   `json:"refund,omitempty"`
	Dispute   *Dispute  `json:"dispute,omitempty"`
	Events    []*event  `json:"events,omitempty"`
	Delivered string    `json:"delivered,omitempty"` // an event's id
}

// ledger is the file and what it says. Objects in it are never changed, only
// replaced, so that a reader may keep one. Whoever uses it has the lock.
type ledger struct {
	file *os.File // nil: in memory only
	size int64    // bytes of whole records in the file

	payments  map[string]*payment
	refunds   map[string]*refund
	disputes  []*Dispute
	events    map[string]*event
	merchants map[string]string // merchant's id of a payment → id
	keys      map[string]string // idempotency key → id

	// What there is, the oldest first.
	paymentIDs, refundIDs, eventIDs []string
	undelivered                     map[string]bool // ids of events
}

func openLedger(dir string) (*ledger, error) {
	l := &ledger{
		payments: map[string]*payment{}, refunds: map[string]*refund{}, events: map[string]*event{},
		merchants: map[string]string{}, keys: map[string]string{}, undelivered: map[string]bool{},
	}
	if dir == "" {
		return l, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, "ledger.jsonl"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if err := l.replay(file); err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	l.file = file
	return l, nil
}

// replay reads what was written. A last line without an end is one that its
// writer was killed over: nobody was told of it, and it goes.
func (l *ledger) replay(file *os.File) error {
	text, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	for n, line := range bytes.Split(bytes.TrimSuffix(text[:whole], []byte("\n")), []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("line %d: %w", n+1, err)
		}
		l.apply(&r)
	}
	l.size = int64(whole)
	return file.Truncate(l.size)
}

// write makes a record so. On an error nothing has changed.
func (l *ledger) write(r *record) error {
	if l.file != nil {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		n, err := l.file.Write(append(line, '\n'))
		if err != nil {
			// Half a record would spoil the next one.
			return errors.Join(err, l.file.Truncate(l.size))
		}
		l.size += int64(n)
	}
	l.apply(r)
	return nil
}

func (l *ledger) apply(r *record) {
	if p := r.Payment; p != nil {
		if l.payments[p.ID] == nil {
			l.paymentIDs = append(l.paymentIDs, p.ID)
			l.merchants[p.MerchantID] = p.ID
			if p.Key != "" {
				l.keys[p.Key] = p.ID
			}
		}
		l.payments[p.ID] = p
	}
	if re := r.Refund; re != nil {
		if l.refunds[re.ID] == nil {
			l.refundIDs = append(l.refundIDs, re.ID)
			if re.Key != "" {
				l.keys[re.Key] = re.ID
			}
		}
		l.refunds[re.ID] = re
	}
	if r.Dispute != nil {
		l.disputes = append(l.disputes, r.Dispute)
	}
	for _, e := range r.Events {
		l.events[e.ID] = e
		l.eventIDs = append(l.eventIDs, e.ID)
		l.undelivered[e.ID] = true
	}
	delete(l.undelivered, r.Delivered)
}

// all is the ledger for others.
func (l *ledger) all() Ledger {
	// Empty lists, not null, in JSON.
	all := Ledger{Payments: []Payment{}, Refunds: []Refund{}, Disputes: []Dispute{}, Sums: map[string]Sum{}}
	for _, id := range l.paymentIDs {
		p := l.payments[id].Payment
		all.Payments = append(all.Payments, p)
		if p.State == Succeeded {
			sum := all.Sums[p.Currency]
			sum.Charged += p.Amount
			sum.Refunded += p.Refunded
			sum.Refunding += p.Refunding
			sum.Disputed += p.Disputed
			sum.Net += p.Left()
			all.Sums[p.Currency] = sum
		}
	}
	for _, id := range l.refundIDs {
		all.Refunds = append(all.Refunds, l.refunds[id].Refund)
	}
	for _, d := range l.disputes {
		all.Disputes = append(all.Disputes, *d)
	}
	return all
}
