package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/text/currency"
)

// paymentRequest asks for money.
type paymentRequest struct {
	MerchantID string    `json:"merchant_id"`
	Reference  string    `json:"reference"`
	Method     string    `json:"method"`
	Token      string    `json:"token"`
	Amount     int64     `json:"amount"`
	Currency   string    `json:"currency"`
	ReturnURL  string    `json:"return_url"`
	ExpiresAt  time.Time `json:"expires_at,omitzero"` // when a session at the hosted page has to end
}

func (r *paymentRequest) check() error {
	switch {
	case r.MerchantID == "":
		return invalid("merchant_id is missing")
	case r.Method != MethodCard && r.Method != MethodRedirect:
		return invalid("method must be card or redirect")
	case r.Amount < 1:
		return invalid("amount must be at least 1")
	}
	if unit, err := currency.ParseISO(r.Currency); err != nil || unit.String() != r.Currency {
		return invalid("currency must be a code of ISO 4217")
	}
	if r.ReturnURL != "" {
		// A comma or semicolon would end the part of the page's security policy
		// that lets its form lead there.
		if u, err := url.Parse(r.ReturnURL); err != nil || u.Host == "" || strings.ContainsAny(u.Host, ",;") || u.Scheme != "https" && u.Scheme != "http" {
			return invalid("return_url must be an address that begins with https:// or http://")
		}
	}
	return nil
}

// fingerprint tells requests apart. A request is a struct: its JSON has one form.
func fingerprint(what string, request any) string {
	text, err := json.Marshal(request)
	if err != nil {
		panic(err) // strings, numbers and times
	}
	sum := sha256.Sum256(append([]byte(what+" "), text...))
	return hex.EncodeToString(sum[:])
}

// charge begins a payment. It answers the one that the same request has begun
// before, if any: then it is not fresh.
func (s *Sandbox) charge(key, base string, req *paymentRequest) (p *payment, fresh bool, err error) {
	if err := req.check(); err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	print := fingerprint("payment", req)
	if id, used := s.ledger.keys[key]; used {
		p = s.ledger.payments[id]
		if p == nil || p.Request != print {
			return nil, false, errKeyReused
		}
		p, err = s.current(p)
		return p, false, err
	}
	if id, used := s.ledger.merchants[req.MerchantID]; used {
		if p = s.ledger.payments[id]; p.Key == "" { // cancelled before it came
			return p, false, nil
		}
		return nil, false, &apiError{http.StatusConflict, "merchant_id_in_use", "There is a payment with this merchant_id, under another Idempotency-Key."}
	}
	b := behaves(req.Method, req.Token, req.Amount)
	now := s.now()
	p = &payment{
		Payment: Payment{
			ID: newID("pay"), MerchantID: req.MerchantID, Reference: req.Reference, Method: req.Method,
			Amount: req.Amount, Currency: req.Currency, State: b.state, DeclineCode: b.code, ReturnURL: req.ReturnURL, Created: now,
		},
		Token: req.Token, Key: key, Request: print,
	}
	if b.later != "" {
		p.DeclineCode, p.Later, p.LaterCode = "", b.later, b.code
		p.SettlesAt = now.Add(s.opts.Async)
		if b.slow {
			p.SettlesAt = now.Add(s.opts.Slow)
		}
	}
	if b.state == RequiresAction {
		p.ExpiresAt = req.ExpiresAt.UTC()
		if req.ExpiresAt.IsZero() {
			p.ExpiresAt = now.Add(s.opts.Session)
		}
		p.SettlesAt = p.ExpiresAt
		p.RedirectURL = base + "/pay/" + p.ID
	}
	var events []*event
	if b.storm {
		before := p.Payment
		before.State = Processing
		events = append(events, s.tell("payment.pending", before, true))
	}
	events = append(events, s.tellPayment(p))
	if err := s.commit(&record{Payment: p, Events: events}); err != nil {
		return nil, false, err
	}
	p, err = s.current(p) // a session may end before it began
	return p, true, err
}

// current is the payment as it is now: one whose time to settle has come is
// settled, though nothing has run to do it. The caller has the lock.
func (s *Sandbox) current(p *payment) (*payment, error) {
	if !p.Open() || s.now().Before(p.SettlesAt) {
		return p, nil
	}
	if err := s.settle(p.ID); err != nil {
		return nil, err
	}
	return s.ledger.payments[p.ID], nil
}

// settle makes of a payment or refund what becomes of it by itself, once. The
// caller has the lock.
func (s *Sandbox) settle(id string) error {
	if p := s.ledger.payments[id]; p != nil {
		if !p.Open() {
			return nil
		}
		_, err := s.become(p, p.Later, p.LaterCode)
		return err
	}
	if re := s.ledger.refunds[id]; re != nil {
		return s.settleRefund(re)
	}
	return errNotFound
}

// become writes down the end of an open payment. The caller has the lock.
func (s *Sandbox) become(p *payment, state State, code string) (*payment, error) {
	next := *p
	next.State, next.DeclineCode = state, code
	return &next, s.commit(&record{Payment: &next, Events: []*event{s.tellPayment(&next)}})
}

// payment finds a payment by its id.
func (s *Sandbox) payment(id string) (*payment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(id)
}

// find finds a payment by its id or the merchant's. The caller has the lock.
func (s *Sandbox) find(id string) (*payment, error) {
	p := s.ledger.payments[id]
	if p == nil {
		p = s.ledger.payments[s.ledger.merchants[id]]
	}
	if p == nil {
		return nil, errNotFound
	}
	return s.current(p)
}

// cancel ends a payment that is open, and answers what it is now.
func (s *Sandbox) cancel(id string) (*payment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.find(id)
	if err != nil {
		return nil, err
	}
	if !p.Open() || behaves(p.Method, p.Token, p.Amount).late {
		return p, nil
	}
	return s.become(p, Cancelled, "")
}

// cancelAhead cancels a payment by the merchant's id. One that has not come
// yet, as its request is still on the way or was lost, is cancelled ahead: it
// will be answered as cancelled, and takes no money.
func (s *Sandbox) cancelAhead(merchantID string) (*payment, error) {
	s.mu.Lock()
	_, known := s.ledger.merchants[merchantID]
	if !known {
		defer s.mu.Unlock()
		p := &payment{Payment: Payment{ID: newID("pay"), MerchantID: merchantID, State: Cancelled, Created: s.now()}}
		return p, s.commit(&record{Payment: p})
	}
	s.mu.Unlock()
	return s.cancel(merchantID)
}

// decide is what the buyer said at the hosted page. It answers the payment as
// it is then, and whether that is what was decided.
func (s *Sandbox) decide(id string, confirm bool) (*payment, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.ledger.payments[id]
	if p == nil || p.RedirectURL == "" {
		return nil, false, errNotFound
	}
	p, err := s.current(p)
	if err != nil {
		return nil, false, err
	}
	state, code := Succeeded, ""
	if !confirm {
		state, code = Failed, "declined_by_buyer"
	}
	if p.State == RequiresAction {
		p, err = s.become(p, state, code)
	}
	return p, err == nil && p.State == state && p.DeclineCode == code, err
}
