package sandbox

import (
	"net/http"
)

// refundRequest asks for money to be given back. Of payment and
// merchant_payment_id, one is enough.
type refundRequest struct {
	MerchantID        string `json:"merchant_id"`
	Payment           string `json:"payment"`
	MerchantPaymentID string `json:"merchant_payment_id"`
	Amount            int64  `json:"amount"`
	Currency          string `json:"currency"`
	Reason            string `json:"reason"`
}

// refund gives money back, or answers the refund that the same request has
// begun before.
func (s *Sandbox) refund(key string, req *refundRequest) (*refund, error) {
	if req.MerchantID == "" {
		return nil, invalid("merchant_id is missing")
	}
	if req.Amount < 1 {
		return nil, invalid("amount must be at least 1")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	print := fingerprint("refund", req)
	if id, used := s.ledger.keys[key]; used {
		re := s.ledger.refunds[id]
		if re == nil || re.Request != print {
			return nil, errKeyReused
		}
		return s.currentRefund(re)
	}
	id := req.Payment
	if id == "" {
		id = req.MerchantPaymentID
	}
	p, err := s.find(id)
	if err != nil {
		return nil, err
	}
	if req.Currency != p.Currency {
		return nil, refused("currency_mismatch", "The payment is in another currency.")
	}
	return s.giveBack(p, &refund{Refund: Refund{MerchantID: req.MerchantID, Amount: req.Amount, Reason: req.Reason}, Key: key, Request: print})
}

// deskRefund gives money back at the gateway's desk: nothing of it is the
// merchant's doing, and only a webhook says so. Amount 0 is all that is left.
func (s *Sandbox) deskRefund(paymentID string, amount int64) (*refund, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.find(paymentID)
	if err != nil {
		return nil, err
	}
	if amount == 0 {
		amount = p.Left()
	}
	return s.giveBack(p, &refund{Refund: Refund{Amount: amount, Reason: "desk"}})
}

// giveBack writes a refund down, if so much is left. The caller has the lock.
func (s *Sandbox) giveBack(p *payment, re *refund) (*refund, error) {
	if p.State != Succeeded {
		return nil, refused("payment_not_succeeded", "No money was taken with this payment.")
	}
	if re.Amount < 1 || re.Amount > p.Left() {
		return nil, refused("amount_too_large", "So much is not left of this payment.")
	}
	re.ID, re.Payment, re.MerchantPaymentID, re.Currency, re.Created = newID("re"), p.ID, p.MerchantID, p.Currency, s.now()
	next := *p
	b := behaves(p.Method, p.Token, p.Amount)
	if b.mends && (re.MerchantID == "" || s.failedBefore(re.MerchantID)) {
		b.refund = Succeeded
	}
	switch b.refund {
	case Failed:
		re.State, re.Failure = Failed, "refund_refused"
	case Pending:
		re.State, re.SettlesAt = Pending, re.Created.Add(s.opts.Async)
		next.Refunding += re.Amount
	default:
		re.State = Succeeded
		next.Refunded += re.Amount
	}
	return re, s.commit(&record{Payment: &next, Refund: re, Events: s.tellRefund(&next, re)})
}

// failedBefore says whether the merchant has sent a refund already that failed.
func (s *Sandbox) failedBefore(merchantID string) bool {
	for _, re := range s.ledger.refunds {
		if re.MerchantID == merchantID && re.State == Failed {
			return true
		}
	}
	return false
}

// currentRefund is for refunds what current is for payments.
func (s *Sandbox) currentRefund(re *refund) (*refund, error) {
	if re.State != Pending || s.now().Before(re.SettlesAt) {
		return re, nil
	}
	if err := s.settleRefund(re); err != nil {
		return nil, err
	}
	return s.ledger.refunds[re.ID], nil
}

func (s *Sandbox) settleRefund(re *refund) error {
	if re.State != Pending {
		return nil
	}
	done, p := *re, *s.ledger.payments[re.Payment]
	done.State = Succeeded
	p.Refunding -= re.Amount
	p.Refunded += re.Amount
	return s.commit(&record{Payment: &p, Refund: &done, Events: s.tellRefund(&p, &done)})
}

// dispute lets the buyer's bank take back all that is left of a payment.
func (s *Sandbox) dispute(paymentID string) (*Dispute, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.find(paymentID)
	if err != nil {
		return nil, err
	}
	if p.Left() == 0 {
		return nil, refused("nothing_left", "Nothing is left of this payment.")
	}
	d := &Dispute{
		ID: newID("dp"), Payment: p.ID, MerchantPaymentID: p.MerchantID,
		Amount: p.Left(), Currency: p.Currency, Created: s.now(),
	}
	next := *p
	next.Disputed += d.Amount
	return d, s.commit(&record{Payment: &next, Dispute: d, Events: []*event{s.tell("dispute.opened", d, storms(p))}})
}

func refused(code, message string) error {
	return &apiError{http.StatusUnprocessableEntity, code, message}
}
