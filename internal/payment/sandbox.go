package payment

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// SandboxOptions say where the sandbox gateway is. All but HTTP are needed.
type SandboxOptions struct {
	URL           string // its address, without a path
	Key           string // the API key
	WebhookSecret string
	HTTP          *http.Client // nil: one of its own; calls end with their context
}

// Sandbox is the gateway of this repository, rowlock sandbox, where nothing
// costs money. See docs/gateways.md.
type Sandbox struct {
	opts SandboxOptions
}

var _ Gateway = (*Sandbox)(nil)

// NewSandbox returns the gateway. It calls nobody yet.
func NewSandbox(opts SandboxOptions) *Sandbox {
	opts.URL = strings.TrimSuffix(opts.URL, "/")
	if opts.HTTP == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = transport.MaxIdleConns // they all go to one
		opts.HTTP = &http.Client{Transport: transport}
	}
	return &Sandbox{opts}
}

// Name is sandbox.
func (*Sandbox) Name() string { return "sandbox" }

// Methods are card, whose tokens are in docs/gateways.md, and redirect.
func (*Sandbox) Methods() []Method {
	return []Method{
		{Name: "card", Title: "Card", Token: true, Redirect: true},
		{Name: "redirect", Title: "Confirmation page", Redirect: true},
	}
}

// sandboxPayment is a payment in the sandbox's words.
type sandboxPayment struct {
	ID          string `json:"id"`
	MerchantID  string `json:"merchant_id"`
	State       string `json:"state"`
	Amount      int64  `json:"amount"`
	Currency    string `json:"currency"`
	DeclineCode string `json:"decline_code"`
	RedirectURL string `json:"redirect_url"`
}

func (p *sandboxPayment) answer() (Answer, error) {
	a := Answer{Gateway: p.ID, AmountMinor: p.Amount, Currency: p.Currency, DeclineCode: p.DeclineCode}
	switch p.State {
	case "processing":
		a.State = Pending
	case "requires_action":
		a.State = Pending
		a.Next = &Next{Type: "redirect", URL: p.RedirectURL}
	case "succeeded":
		a.State = Succeeded
	case "failed":
		a.State = Failed
	case "cancelled":
		a.State = Cancelled
	default:
		return Answer{}, fmt.Errorf("payment: sandbox: payment %s has the state %q", p.ID, p.State)
	}
	return a, nil
}

type sandboxRefund struct {
	ID                string `json:"id"`
	MerchantID        string `json:"merchant_id"` // "": begun at the desk
	Payment           string `json:"payment"`
	MerchantPaymentID string `json:"merchant_payment_id"`
	Amount            int64  `json:"amount"`
	State             string `json:"state"`
	Failure           string `json:"failure"`
}

func (r *sandboxRefund) answer() (RefundAnswer, error) {
	switch state := State(r.State); state {
	case Pending, Succeeded, Failed:
		return RefundAnswer{State: state, Gateway: r.ID, Failure: r.Failure}, nil
	default:
		return RefundAnswer{}, fmt.Errorf("payment: sandbox: refund %s has the state %q", r.ID, r.State)
	}
}

// sandboxError is an answer of the sandbox that is not what was asked for.
type sandboxError struct {
	Status  int
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *sandboxError) Error() string {
	return fmt.Sprintf("payment: sandbox: %d %s %s", e.Status, e.Code, e.Message)
}

// Charge begins a payment. Repeated with the same PaymentID it must be the same
// in everything else, or it is an error; then Find knows what became of it.
func (s *Sandbox) Charge(ctx context.Context, c Charge) (Answer, error) {
	var p sandboxPayment
	refusal, err := refusedBySandbox(s.call(ctx, http.MethodPost, "/v1/payments", c.PaymentID.String(), map[string]any{
		"merchant_id": c.PaymentID, "reference": c.Reference, "method": c.Method, "token": c.Token,
		"amount": c.AmountMinor, "currency": c.Currency, "return_url": c.ReturnURL, "expires_at": c.Until.UTC(),
	}, &p))
	if err != nil {
		return Answer{}, err
	}
	if refusal != "" {
		return Answer{State: Failed, DeclineCode: refusal}, nil
	}
	return p.answer()
}

// Find asks what became of a payment.
func (s *Sandbox) Find(ctx context.Context, p Ref) (Answer, error) {
	if p.PaymentID == uuid.Nil {
		var found sandboxPayment
		if err := s.call(ctx, http.MethodGet, "/v1/payments/"+url.PathEscape(p.Gateway), "", nil, &found); err != nil {
			return Answer{}, err
		}
		return found.answer()
	}
	var list struct {
		Data []sandboxPayment `json:"data"`
	}
	if err := s.call(ctx, http.MethodGet, "/v1/payments?merchant_id="+p.PaymentID.String(), "", nil, &list); err != nil {
		return Answer{}, err
	}
	if len(list.Data) == 0 {
		return Answer{}, ErrUnknown
	}
	return list.Data[0].answer()
}

// Cancel ends a payment that has not been taken. One that the sandbox never
// heard of is cancelled, too: the sandbox remembers its id, and a charge that
// was still on the way is answered as cancelled. So this is ErrUnknown only for
// a Ref without our id. A payment that cannot be stopped any more and is not
// taken yet stays pending.
func (s *Sandbox) Cancel(ctx context.Context, p Ref) (Answer, error) {
	var cancelled sandboxPayment
	var err error
	if p.PaymentID == uuid.Nil {
		err = s.call(ctx, http.MethodPost, "/v1/payments/"+url.PathEscape(p.Gateway)+"/cancel", "", nil, &cancelled)
	} else {
		err = s.call(ctx, http.MethodPost, "/v1/cancellations", "", map[string]any{"merchant_id": p.PaymentID}, &cancelled)
	}
	if err != nil {
		return Answer{}, err
	}
	return cancelled.answer()
}

// Refund gives money back. A refund of more than is left has failed.
func (s *Sandbox) Refund(ctx context.Context, r Refund) (RefundAnswer, error) {
	body := map[string]any{"merchant_id": r.RefundID, "amount": r.AmountMinor, "currency": r.Currency, "reason": r.Reason}
	// The gateway's id may have been learnt between two attempts: ours is the
	// same in both, as the idempotency key wants it.
	if r.Payment.PaymentID != uuid.Nil {
		body["merchant_payment_id"] = r.Payment.PaymentID
	} else {
		body["payment"] = r.Payment.Gateway
	}
	var done sandboxRefund
	refusal, err := refusedBySandbox(s.call(ctx, http.MethodPost, "/v1/refunds", fmt.Sprintf("%s-%d", r.RefundID, r.Attempt), body, &done))
	if err != nil {
		return RefundAnswer{}, err
	}
	if refusal != "" {
		return RefundAnswer{State: Failed, Failure: refusal}, nil
	}
	return done.answer()
}

// refusedBySandbox tells a plain no, by which nothing was done and nothing will
// be, from errors, and says why it is one.
func refusedBySandbox(err error) (code string, _ error) {
	var refusal *sandboxError
	if errors.As(err, &refusal) && (refusal.Status == http.StatusBadRequest || refusal.Status == http.StatusUnprocessableEntity) {
		return refusal.Code, nil
	}
	return "", err
}

// sandboxBodyMax is the size of an answer in bytes.
const sandboxBodyMax = 1 << 20

// call sends a request, with key as its idempotency key unless it is empty, and
// reads the answer into out. A 404 is ErrUnknown.
func (s *Sandbox) call(ctx context.Context, method, path, key string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.opts.URL+path, body)
	if err != nil {
		return fmt.Errorf("payment: sandbox: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+s.opts.Key)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		// net/http sends a request with this header again by itself when an idle
		// connection breaks under it, which is just what the key is for.
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := s.opts.HTTP.Do(req)
	if err != nil {
		return fmt.Errorf("payment: sandbox: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, sandboxBodyMax))
	if err != nil {
		return fmt.Errorf("payment: sandbox: %w", err)
	}
	switch {
	case resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusCreated:
		if err := json.Unmarshal(text, out); err != nil {
			return fmt.Errorf("payment: sandbox: %w", err)
		}
		return nil
	default:
		var problem struct {
			Error sandboxError `json:"error"`
		}
		// What is no JSON does not come from the sandbox, but from something
		// before it: then there is no code, and it is no refusal.
		if json.Unmarshal(text, &problem) != nil || problem.Error.Code == "" {
			return fmt.Errorf("payment: sandbox: status %d", resp.StatusCode)
		}
		if problem.Error.Code == "not_found" {
			return ErrUnknown
		}
		problem.Error.Status = resp.StatusCode
		return &problem.Error
	}
}

// sandboxTolerance is how old a signature may be, or how far ahead the
// sandbox's clock.
const sandboxTolerance = 5 * time.Minute

// Webhook checks the header Sandbox-Signature, t=<unix seconds>,v1=<hex
// HMAC-SHA256 of "t.body">, where one of several v1 is enough, and reads the
// event.
func (s *Sandbox) Webhook(header http.Header, body []byte) (Event, error) {
	if err := checkSandboxSignature(s.opts.WebhookSecret, header.Get("Sandbox-Signature"), body, time.Now()); err != nil {
		return Event{}, err
	}
	var e struct {
		ID   string          `json:"id"`
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return Event{}, fmt.Errorf("payment: sandbox: event: %w", err)
	}
	if e.ID == "" || e.Type == "" {
		return Event{}, errors.New("payment: sandbox: an event without id or type")
	}
	event := Event{ID: e.ID, Kind: EventOther, Type: e.Type}
	var err error
	switch e.Type {
	case "payment.pending", "payment.succeeded", "payment.failed", "payment.cancelled":
		var p sandboxPayment
		if err = json.Unmarshal(e.Data, &p); err == nil {
			event.Kind = EventPayment
			event.Payment = Ref{PaymentID: sandboxID(p.MerchantID), Gateway: p.ID}
			event.Answer, err = p.answer()
		}
	case "refund.succeeded", "refund.failed", "dispute.opened":
		var r sandboxRefund // a dispute has the same fields, without a state
		if err = json.Unmarshal(e.Data, &r); err != nil {
			break
		}
		event.Kind, event.GatewayRefund, event.AmountMinor = EventRefund, r.ID, r.Amount
		event.Payment = Ref{PaymentID: sandboxID(r.MerchantPaymentID), Gateway: r.Payment}
		if e.Type == "dispute.opened" {
			event.Kind = EventDispute
			break
		}
		event.RefundID = sandboxID(r.MerchantID)
		event.Refund, err = r.answer()
	}
	if err != nil {
		return Event{}, fmt.Errorf("payment: sandbox: event %s: %w", e.ID, err)
	}
	return event, nil
}

// sandboxID is our id in what the sandbox sent. It is zero when there is none,
// or one of somebody else who uses the same sandbox with ids of another kind.
func sandboxID(text string) uuid.UUID {
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil
	}
	return id
}

// checkSandboxSignature is ErrSignature unless the sandbox signed the body at
// about this time.
func checkSandboxSignature(secret, signature string, body []byte, now time.Time) error {
	var t string
	var signatures [][]byte
	for part := range strings.SplitSeq(signature, ",") {
		switch name, value, _ := strings.Cut(strings.TrimSpace(part), "="); name {
		case "t":
			t = value
		case "v1":
			if mac, err := hex.DecodeString(value); err == nil {
				signatures = append(signatures, mac)
			}
		}
	}
	seconds, err := strconv.ParseInt(t, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > sandboxTolerance {
		return ErrSignature
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(body)
	want := mac.Sum(nil)
	for _, have := range signatures {
		if hmac.Equal(have, want) {
			return nil
		}
	}
	return ErrSignature
}
