package payment_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/payment"
	"github.com/rowlock/rowlock/internal/sandbox"
)

const (
	sandboxKey    = "a key"
	sandboxSecret = "a secret"
	sandboxLimit  = 20 * time.Second // turns a hang into a failure
)

// sandboxBench is the client with a real sandbox behind it. Nothing settles
// by itself there: Settle does it.
type sandboxBench struct {
	*payment.Sandbox
	gateway *sandbox.Sandbox
	url     string
	hooks   chan payment.Event // webhooks, checked and read by the client
}

func newSandbox(t *testing.T) *sandboxBench {
	t.Helper()
	b := &sandboxBench{hooks: make(chan payment.Event, 1000)}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("webhook: %v", err)
		}
		e, err := b.Webhook(r.Header, body)
		if err != nil {
			t.Errorf("webhook: %v: %s", err, body)
		}
		b.hooks <- e
	}))
	t.Cleanup(receiver.Close)
	gateway, err := sandbox.New(sandbox.Options{
		Key: sandboxKey, WebhookSecret: sandboxSecret, WebhookURL: receiver.URL, Async: time.Hour, Slow: time.Millisecond,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gateway)
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- gateway.Run(ctx) }()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
	b.gateway, b.url = gateway, server.URL
	b.Sandbox = payment.NewSandbox(payment.SandboxOptions{URL: server.URL + "/", Key: sandboxKey, WebhookSecret: sandboxSecret})
	return b
}

func (b *sandboxBench) hook(t *testing.T) payment.Event {
	t.Helper()
	select {
	case e := <-b.hooks:
		return e
	case <-time.After(sandboxLimit):
		t.Fatal("no webhook came")
		return payment.Event{}
	}
}

func byCard(token string) payment.Charge {
	return payment.Charge{
		PaymentID: uuid.New(), Reference: "QX7K2M", Method: "card", Token: token, AmountMinor: 4500, Currency: "EUR",
		ReturnURL: "https://shop.example/thanks", Until: time.Now().Add(10 * time.Minute),
	}
}

func (b *sandboxBench) charge(t *testing.T, c payment.Charge) payment.Answer {
	t.Helper()
	a, err := b.Charge(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (b *sandboxBench) find(t *testing.T, id uuid.UUID) payment.Answer {
	t.Helper()
	a, err := b.Find(t.Context(), payment.Ref{PaymentID: id})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestSandboxCharges(t *testing.T) {
	t.Parallel()
	b := newSandbox(t)
	for token, want := range map[string]struct {
		state payment.State
		code  string
		next  string
	}{
		sandbox.TokenOK:                {state: payment.Succeeded},
		sandbox.TokenSlow:              {state: payment.Succeeded},
		sandbox.TokenDeclined:          {state: payment.Failed, code: "card_declined"},
		sandbox.TokenInsufficientFunds: {state: payment.Failed, code: "insufficient_funds"},
		"":                             {state: payment.Failed, code: "token_missing"},
		sandbox.TokenAsync:             {state: payment.Pending},
		sandbox.TokenRedirect:          {state: payment.Pending, next: "redirect"},
	} {
		c := byCard(token)
		a := b.charge(t, c)
		if a.State != want.state || a.DeclineCode != want.code || a.AmountMinor != 4500 || a.Currency != "EUR" || a.Gateway == "" {
			t.Errorf("%q: %+v", token, a)
		}
		if next := a.Next; (next == nil) != (want.next == "") || next != nil && (next.Type != want.next || !strings.HasPrefix(next.URL, b.url+"/pay/")) {
			t.Errorf("%q: next %+v", token, next)
		}
		for _, ref := range []payment.Ref{{PaymentID: c.PaymentID}, {Gateway: a.Gateway}} {
			found, err := b.Find(t.Context(), ref)
			if err != nil || found.State != a.State || found.Gateway != a.Gateway || found.DeclineCode != a.DeclineCode {
				t.Errorf("%q, found: %+v, %v", token, found, err)
			}
		}
	}
	c := byCard(sandbox.TokenOK)
	c.Currency = "nonsense"
	if a := b.charge(t, c); a.State != payment.Failed || a.DeclineCode != "invalid_request" {
		t.Errorf("a refused request: %+v", a)
	}
}

func TestSandboxDoesNotKnowWhatItNeverHeardOf(t *testing.T) {
	t.Parallel()
	b := newSandbox(t)
	for _, ref := range []payment.Ref{{PaymentID: uuid.New()}, {Gateway: "pay_none"}} {
		if _, err := b.Find(t.Context(), ref); err != payment.ErrUnknown {
			t.Errorf("find %+v: %v", ref, err)
		}
		if _, err := b.Refund(t.Context(), payment.Refund{RefundID: uuid.New(), Payment: ref, AmountMinor: 1, Currency: "EUR"}); err != payment.ErrUnknown {
			t.Errorf("refund %+v: %v", ref, err)
		}
	}
	if _, err := b.Cancel(t.Context(), payment.Ref{Gateway: "pay_none"}); err != payment.ErrUnknown {
		t.Errorf("cancel: %v", err)
	}
}

func TestSandboxChargesOnceHoweverOftenItIsCalled(t *testing.T) {
	t.Parallel()
	b := newSandbox(t)
	for _, currency := range []string{"JPY", "EUR", "KWD"} {
		c := byCard(sandbox.TokenOK)
		c.Currency = currency
		answers := make([]payment.Answer, 20)
		var group sync.WaitGroup
		for i := range answers {
			group.Go(func() {
				var err error
				if answers[i], err = b.Charge(t.Context(), c); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		for _, a := range answers {
			if a != answers[0] || a.State != payment.Succeeded {
				t.Fatalf("%+v and %+v", a, answers[0])
			}
		}
		if sum := b.gateway.Ledger().Sums[currency]; sum.Charged != 4500 {
			t.Errorf("%s: %+v", currency, sum)
		}
		c.AmountMinor++
		if a, err := b.Charge(t.Context(), c); err == nil {
			t.Errorf("another amount with the same id: %+v", a)
		}
	}
}

func TestSandboxOutcomesThatAreLostAreErrors(t *testing.T) {
	t.Parallel()
	b := newSandbox(t)

	c := byCard(sandbox.TokenTimeout)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // the webhook says that it is charged; then the client has waited enough
		if e := b.hook(t); e.Answer.State != payment.Succeeded {
			t.Errorf("%+v", e)
		}
		cancel()
	}()
	if a, err := b.Charge(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", a, err)
	}
	if a := b.find(t, c.PaymentID); a.State != payment.Succeeded {
		t.Errorf("%+v", a)
	}
	if a := b.charge(t, c); a.State != payment.Succeeded {
		t.Errorf("repeated: %+v", a)
	}

	c = byCard(sandbox.TokenOK)
	b.gateway.Inject(func(r *http.Request) sandbox.Fault { return sandbox.Fault{Drop: r.Method == http.MethodPost} })
	if a, err := b.Charge(t.Context(), c); err == nil || errors.Is(err, payment.ErrUnknown) {
		t.Errorf("dropped: %+v, %v", a, err)
	}
	if a := b.find(t, c.PaymentID); a.State != payment.Succeeded {
		t.Errorf("dropped: %+v", a)
	}
	b.gateway.Inject(func(*http.Request) sandbox.Fault { return sandbox.Fault{Refuse: true} })
	if a, err := b.Find(t.Context(), payment.Ref{PaymentID: c.PaymentID}); err == nil || errors.Is(err, payment.ErrUnknown) {
		t.Errorf("out of order: %+v, %v", a, err)
	}
	if sum := b.gateway.Ledger().Sums["EUR"]; sum.Charged != 9000 {
		t.Errorf("%+v", sum)
	}

	stranger := payment.NewSandbox(payment.SandboxOptions{URL: b.url, Key: "wrong"})
	if a, err := stranger.Charge(t.Context(), byCard(sandbox.TokenOK)); err == nil {
		t.Errorf("with a wrong key: %+v", a)
	}
	for what, answer := range map[string]string{"a page": "<h1>Bad gateway</h1>", "nothing": "", "a state nobody knows": `{"id":"x","state":"odd"}`} {
		for _, status := range []int{200, 400, 404, 502} {
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				io.WriteString(w, answer)
			}))
			broken := payment.NewSandbox(payment.SandboxOptions{URL: proxy.URL, Key: sandboxKey})
			if a, err := broken.Charge(t.Context(), c); err == nil || errors.Is(err, payment.ErrUnknown) {
				t.Errorf("%s, %d: charge: %+v, %v", what, status, a, err)
			}
			if a, err := broken.Cancel(t.Context(), payment.Ref{PaymentID: c.PaymentID}); err == nil || errors.Is(err, payment.ErrUnknown) {
				t.Errorf("%s, %d: cancel: %+v, %v", what, status, a, err)
			}
			proxy.Close()
		}
	}
}

func TestSandboxCancels(t *testing.T) {
	t.Parallel()
	b := newSandbox(t)
	for token, want := range map[string]payment.State{
		sandbox.TokenAsync: payment.Cancelled, sandbox.TokenRedirect: payment.Cancelled,
		sandbox.TokenOK: payment.Succeeded, sandbox.TokenAsyncLate: payment.Pending,
	} {
		c := byCard(token)
		gateway := b.charge(t, c).Gateway
		for _, ref := range []payment.Ref{{PaymentID: c.PaymentID}, {Gateway: gateway}} {
			if a, err := b.Cancel(t.Context(), ref); err != nil || a.State != want || a.Gateway != gateway {
				t.Errorf("%s: %+v, %v", token, a, err)
			}
		}
		if err := b.gateway.Settle(gateway); err != nil {
			t.Error(err)
		}
	}
	if sum := b.gateway.Ledger().Sums["EUR"]; sum.Charged != 9000 { // sbx_ok, and the one that it was too late for
		t.Errorf("%+v", sum)
	}

	late := byCard(sandbox.TokenOK)
	if a, err := b.Cancel(t.Context(), payment.Ref{PaymentID: late.PaymentID}); err != nil || a.State != payment.Cancelled {
		t.Errorf("before it came: %+v, %v", a, err)
	}
	if a := b.charge(t, late); a.State != payment.Cancelled {
		t.Errorf("and when it came: %+v", a)
	}
}

func TestSandboxRefunds(t *testing.T) {
	t.Parallel()
	b := newSandbox(t)
	for _, currency := range []string{"JPY", "EUR", "KWD"} {
		c := byCard(sandbox.TokenOK)
		c.AmountMinor, c.Currency = 1000, currency
		a := b.charge(t, c)
		refund := func(amount int64, ref payment.Ref) (payment.Refund, payment.RefundAnswer) {
			t.Helper()
			r := payment.Refund{RefundID: uuid.New(), Payment: ref, AmountMinor: amount, Currency: currency, Reason: "cancelled"}
			answer, err := b.Refund(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			return r, answer
		}
		r, first := refund(333, payment.Ref{PaymentID: c.PaymentID})
		r.Payment.Gateway = a.Gateway // learnt meanwhile
		if again, err := b.Refund(t.Context(), r); err != nil || again != first || first.State != payment.Succeeded || first.Gateway == "" {
			t.Errorf("%+v, again %+v, %v", first, again, err)
		}
		if _, answer := refund(667, payment.Ref{Gateway: a.Gateway}); answer.State != payment.Succeeded {
			t.Errorf("the rest: %+v", answer)
		}
		if _, answer := refund(1, r.Payment); answer.State != payment.Failed || answer.Failure != "amount_too_large" {
			t.Errorf("more than was paid: %+v", answer)
		}
		if sum := b.gateway.Ledger().Sums[currency]; sum != (sandbox.Sum{Charged: 1000, Refunded: 1000}) {
			t.Errorf("%s: %+v", currency, sum)
		}
	}
	for token, want := range map[string]payment.State{
		sandbox.TokenRefundFails: payment.Failed, sandbox.TokenRefundSlow: payment.Pending, sandbox.TokenDeclined: payment.Failed,
	} {
		c := byCard(token)
		b.charge(t, c)
		a, err := b.Refund(t.Context(), payment.Refund{RefundID: uuid.New(), Payment: payment.Ref{PaymentID: c.PaymentID}, AmountMinor: 4500, Currency: "EUR"})
		if err != nil || a.State != want || (a.Failure != "") != (want == payment.Failed) {
			t.Errorf("%s: %+v, %v", token, a, err)
		}
	}
}

func TestSandboxRefundsThatFailedAreSentAgainAsAnotherAttempt(t *testing.T) {
	t.Parallel()
	b := newSandbox(t)
	c := byCard(sandbox.TokenRefundFails)
	b.charge(t, c)
	r := payment.Refund{RefundID: uuid.New(), Attempt: 1, Payment: payment.Ref{PaymentID: c.PaymentID}, AmountMinor: 4500, Currency: "EUR"}
	first, err := b.Refund(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := b.Refund(t.Context(), r); err != nil || again != first {
		t.Errorf("the same attempt: %+v, %v", again, err)
	}
	r.Attempt = 2
	if second, err := b.Refund(t.Context(), r); err != nil || second.Gateway == first.Gateway {
		t.Errorf("another attempt: %+v, %v", second, err)
	}
	told := 0
	for range 3 { // of the payment and of both attempts, in any order
		switch e := b.hook(t); {
		case e.Kind == payment.EventPayment:
		case e.Kind == payment.EventRefund && e.RefundID == r.RefundID && e.Refund.State == payment.Failed:
			told++
		default:
			t.Errorf("%+v", e)
		}
	}
	if told != 2 {
		t.Errorf("%d refunds were told", told)
	}
}

func TestSandboxTellsWhatBecameOfPayments(t *testing.T) {
	t.Parallel()
	b := newSandbox(t)
	c := byCard(sandbox.TokenRedirect)
	a := b.charge(t, c)
	ref := payment.Ref{PaymentID: c.PaymentID, Gateway: a.Gateway}
	if e := b.hook(t); e.Kind != payment.EventPayment || e.Payment != ref || e.Answer.State != payment.Pending || e.Answer.Next == nil || *e.Answer.Next != *a.Next {
		t.Errorf("%+v", e)
	}
	resp, err := http.PostForm(a.Next.URL, url.Values{"decision": {"decline"}})
	if err == nil { // the shop that it leads to is not there
		resp.Body.Close()
	}
	if e := b.hook(t); e.Payment != ref || e.Answer.State != payment.Failed || e.Answer.DeclineCode != "declined_by_buyer" || e.Type != "payment.failed" || e.ID == "" {
		t.Errorf("%+v", e)
	}
	c = byCard(sandbox.TokenAsync)
	b.charge(t, c)
	b.hook(t)
	if _, err := b.Cancel(t.Context(), payment.Ref{PaymentID: c.PaymentID}); err != nil {
		t.Fatal(err)
	}
	if e := b.hook(t); e.Answer.State != payment.Cancelled || e.Payment.PaymentID != c.PaymentID {
		t.Errorf("%+v", e)
	}
	c = byCard(sandbox.TokenStorm)
	b.charge(t, c)
	times := map[string]int{}
	for range 10 {
		e := b.hook(t)
		times[e.ID]++
		if e.Payment.PaymentID != c.PaymentID {
			t.Errorf("%+v", e)
		}
	}
	if len(times) != 2 {
		t.Errorf("%v", times)
	}
}

func TestSandboxTellsWhatItsDeskDid(t *testing.T) {
	t.Parallel()
	b := newSandbox(t)
	c := byCard(sandbox.TokenOK)
	ref := payment.Ref{PaymentID: c.PaymentID, Gateway: b.charge(t, c).Gateway}
	b.hook(t)
	r := payment.Refund{RefundID: uuid.New(), Payment: ref, AmountMinor: 1000, Currency: "EUR"}
	ours, err := b.Refund(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if e := b.hook(t); e.Kind != payment.EventRefund || e.Payment != ref || e.RefundID != r.RefundID || e.AmountMinor != 1000 || e.Refund != ours || e.GatewayRefund != ours.Gateway {
		t.Errorf("%+v", e)
	}
	desk := func(what, form string) {
		t.Helper()
		resp, err := http.Post(b.url+"/desk/"+what, "application/json", strings.NewReader(form))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusCreated {
			t.Fatalf("%s: %d", what, resp.StatusCode)
		}
	}
	desk("refunds", fmt.Sprintf(`{"payment":%q,"amount":500}`, ref.PaymentID))
	if e := b.hook(t); e.Kind != payment.EventRefund || e.Payment != ref || e.RefundID != uuid.Nil || e.AmountMinor != 500 || e.Refund.State != payment.Succeeded || e.GatewayRefund == "" {
		t.Errorf("%+v", e)
	}
	desk("disputes", fmt.Sprintf(`{"payment":%q}`, ref.Gateway))
	if e := b.hook(t); e.Kind != payment.EventDispute || e.Payment != ref || e.AmountMinor != 3000 || e.GatewayRefund == "" {
		t.Errorf("%+v", e)
	}
}

func TestSandboxSignatures(t *testing.T) {
	t.Parallel()
	s := payment.NewSandbox(payment.SandboxOptions{WebhookSecret: sandboxSecret})
	body := []byte(`{"id":"evt_1","type":"payout.paid","data":{}}`)
	sign := func(secret string, age time.Duration, body []byte) (at, v1 string) {
		at = fmt.Sprint(time.Now().Add(-age).Unix())
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(at + "."))
		mac.Write(body)
		return "t=" + at, "v1=" + hex.EncodeToString(mac.Sum(nil))
	}
	check := func(signature string, body []byte) (payment.Event, error) {
		return s.Webhook(http.Header{"Sandbox-Signature": {signature}}, body)
	}
	at, v1 := sign(sandboxSecret, 0, body)
	for what, signature := range map[string]string{
		"plain": at + "," + v1, "spaces, and another version": at + ", v0=00, " + v1,
		"two secrets": at + ",v1=" + strings.Repeat("00", 32) + "," + v1,
	} {
		if e, err := check(signature, body); err != nil || e.ID != "evt_1" || e.Kind != payment.EventOther || e.Type != "payout.paid" {
			t.Errorf("%s: %+v, %v", what, e, err)
		}
	}
	oldAt, oldV1 := sign(sandboxSecret, 6*time.Minute, body)
	aheadAt, aheadV1 := sign(sandboxSecret, -6*time.Minute, body)
	_, stranger := sign("another secret", 0, body)
	for what, signature := range map[string]string{
		"none": "", "no time": v1, "no signature": at, "a stranger's": at + "," + stranger, "too old": oldAt + "," + oldV1,
		"ahead": aheadAt + "," + aheadV1, "renewed": at + "," + oldV1, "no number": "t=now," + v1, "shortened": at + "," + v1[:20],
		"empty": at + ",v1=", "no hex": at + ",v1=zz", "beyond all times": "t=9223372036854775807," + v1,
	} {
		if e, err := check(signature, body); err != payment.ErrSignature {
			t.Errorf("%s: %+v, %v", what, e, err)
		}
	}
	if _, err := s.Webhook(http.Header{}, body); err != payment.ErrSignature {
		t.Errorf("no header: %v", err)
	}
	if _, err := check(at+","+v1, bytes.Replace(body, []byte("evt_1"), []byte("evt_2"), 1)); err != payment.ErrSignature {
		t.Errorf("an altered body: %v", err)
	}
	for _, nonsense := range []string{
		"", "[]", "{}", `{"id":"evt_1"}`, `{"id":"evt_1","type":"payment.succeeded","data":{"state":"odd"}}`,
		`{"id":"evt_1","type":"refund.failed","data":[]}`,
	} {
		at, v1 := sign(sandboxSecret, 0, []byte(nonsense))
		if e, err := check(at+","+v1, []byte(nonsense)); err == nil || errors.Is(err, payment.ErrSignature) {
			t.Errorf("%q: %+v, %v", nonsense, e, err)
		}
	}
	others := []byte(`{"id":"evt_1","type":"payment.succeeded","data":{"id":"pay_1","merchant_id":"order 7","state":"succeeded"}}`)
	at, v1 = sign(sandboxSecret, 0, others)
	if e, err := check(at+","+v1, others); err != nil || e.Payment != (payment.Ref{Gateway: "pay_1"}) {
		t.Errorf("another merchant's: %+v, %v", e, err)
	}
}
