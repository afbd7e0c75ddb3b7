package payment_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v82/webhook"

	"github.com/rowlock/rowlock/internal/payment"
)

// told holds a gateway to what it promises of any webhook: what is not signed
// is not believed, and what is makes an event that has all its kind needs, or
// an error that is no [payment.ErrSignature].
func told(t *testing.T, e payment.Event, err error, signed bool) {
	t.Helper()
	if err != nil {
		if e != (payment.Event{}) {
			t.Errorf("refused, and read all the same: %+v, %v", e, err)
		}
		if errors.Is(err, payment.ErrSignature) == signed {
			t.Errorf("signed %t: %v", signed, err)
		}
		return
	}
	switch {
	case !signed:
		t.Errorf("believed without a signature: %+v", e)
	case e.ID == "":
		t.Errorf("an event without an id: %+v", e)
	case !slices.Contains([]payment.EventKind{payment.EventPayment, payment.EventRefund, payment.EventDispute, payment.EventOther}, e.Kind):
		t.Errorf("an event of no kind: %+v", e)
	case e.Kind == payment.EventPayment && !slices.Contains([]payment.State{payment.Pending, payment.Succeeded, payment.Failed, payment.Cancelled}, e.Answer.State):
		t.Errorf("a payment that became nothing: %+v", e)
	case e.Kind == payment.EventRefund && !slices.Contains([]payment.State{payment.Pending, payment.Succeeded, payment.Failed}, e.Refund.State):
		t.Errorf("a refund that became nothing: %+v", e)
	}
}

func FuzzStripeWebhook(f *testing.F) {
	gateway := payment.NewStripe(payment.StripeOptions{WebhookSecret: secret})
	meta := object{"metadata": object{"rowlock_payment": "0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d65", "rowlock_refund": "0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d66"}}
	for kind, o := range map[string]object{
		"payment_intent.succeeded":       intent("succeeded", meta),
		"payment_intent.payment_failed":  intent("requires_payment_method", object{"metadata": meta["metadata"], "last_payment_error": object{"code": "card_declined", "decline_code": "insufficient_funds"}}),
		"payment_intent.requires_action": intent("requires_action", object{"metadata": meta["metadata"], "next_action": object{"redirect_to_url": object{"url": "https://example.org"}}}),
		"refund.updated":                 refund("succeeded", meta),
		"refund.failed":                  refund("failed", object{"metadata": meta["metadata"], "failure_reason": "lost"}),
		"charge.dispute.closed":          {"id": "du_1", "object": "dispute", "amount": 4500, "currency": "jpy", "status": "lost", "payment_intent": intentID},
		"customer.created":               {"id": "cus_1"},
	} {
		f.Add(event(kind, o), "", true)
		f.Add(event(kind, o), "t=1750000000,v1=00", false)
	}
	for _, body := range []string{"", "null", "[]", "{}", `{"id":"evt_1","type":"refund.created","data":null}`, `{"id":"evt_1","type":"refund.created","data":{"object":null}}`, `{"id":"evt_1","type":"charge.dispute.created","data":{"object":[]}}`} {
		f.Add([]byte(body), "t=,v1=", true)
	}
	f.Fuzz(func(t *testing.T, body []byte, signature string, sign bool) {
		if sign {
			signature = webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: secret}).Header
		}
		e, err := gateway.Webhook(http.Header{"Stripe-Signature": {signature}}, body)
		told(t, e, err, sign)
	})
}

func FuzzSandboxWebhook(f *testing.F) {
	gateway := payment.NewSandbox(payment.SandboxOptions{WebhookSecret: sandboxSecret})
	const id = `"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d65"`
	for _, body := range []string{
		`{"id":"evt_1","type":"payment.succeeded","data":{"id":"pay_1","merchant_id":` + id + `,"state":"succeeded","amount":4500,"currency":"EUR"}}`,
		`{"id":"evt_1","type":"payment.pending","data":{"id":"pay_1","merchant_id":` + id + `,"state":"requires_action","redirect_url":"https://example.org"}}`,
		`{"id":"evt_1","type":"refund.failed","data":{"id":"re_1","merchant_id":` + id + `,"payment":"pay_1","amount":1,"state":"failed","failure":"refund_refused"}}`,
		`{"id":"evt_1","type":"dispute.opened","data":{"id":"dp_1","payment":"pay_1","amount":1}}`,
		`{"id":"evt_1","type":"payout.paid","data":{}}`, "", "null", "[]", "{}", `{"id":"evt_1","type":"refund.failed","data":[]}`,
	} {
		f.Add([]byte(body), "", true)
		f.Add([]byte(body), "t=1750000000,v1=00,v1=", false)
	}
	f.Fuzz(func(t *testing.T, body []byte, signature string, sign bool) {
		if sign {
			at := fmt.Sprint(time.Now().Unix())
			mac := hmac.New(sha256.New, []byte(sandboxSecret))
			mac.Write([]byte(at + "."))
			mac.Write(body)
			signature = "v0=," + signature + ",t=" + at + ",v1=" + hex.EncodeToString(mac.Sum(nil))
		}
		e, err := gateway.Webhook(http.Header{"Sandbox-Signature": {signature}}, body)
		told(t, e, err, sign)
	})
}
