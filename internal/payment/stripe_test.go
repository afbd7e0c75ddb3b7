package payment_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stripe/stripe-go/v82/webhook"

	"github.com/rowlock/rowlock/internal/payment"
)

const (
	intentID = "pi_3MtwBwLkdIwHu7ix28a3tqPa"
	refundID = "re_1Nispe2eZvKYlo2Cd31jOCgZ"
	secret   = "whsec_test"
)

// ---- The shapes of requests, against stripe-mock ----

// TestStripeTakesTheRequests sends every kind of request to Stripe's own mock,
// which holds them against the published description of the API. It keeps
// nothing and always succeeds; the rest is below.
func TestStripeTakesTheRequests(t *testing.T) {
	t.Parallel()
	mock := startStripeMock(t)
	gateway := payment.NewStripe(payment.StripeOptions{Key: "sk_test_123", URL: "http://stripe-mock", HTTP: &http.Client{Transport: mock}})
	young := payment.Ref{PaymentID: uuid.Must(uuid.NewV7())}

	for name, c := range map[string]payment.Charge{
		"a PaymentMethod":     charge(func(c *payment.Charge) { c.ReturnURL = "https://example.org/back" }),
		"a ConfirmationToken": charge(func(c *payment.Charge) { c.Token = "ctoken_1NnQUf2eZvKYlo2CIObdtbnb" }),
		"no token":            charge(func(c *payment.Charge) { c.Token = "" }),
	} {
		t.Run("a charge with "+name, func(t *testing.T) {
			if a, err := gateway.Charge(t.Context(), c); err != nil || a.Gateway == "" || a.AmountMinor != c.AmountMinor {
				t.Errorf("charge = %+v, %v", a, err)
			}
		})
	}
	t.Run("reading an intent", func(t *testing.T) {
		if a, err := gateway.Find(t.Context(), payment.Ref{Gateway: intentID}); err != nil || a.Gateway != intentID {
			t.Errorf("find = %+v, %v", a, err)
		}
	})
	t.Run("the list of intents", func(t *testing.T) {
		if a, err := gateway.Find(t.Context(), young); err == nil || errors.Is(err, payment.ErrUnknown) {
			t.Errorf("find = %+v, %v, want an error that leaves it open", a, err)
		}
		if a, err := gateway.Find(t.Context(), payment.Ref{PaymentID: madeAgo(time.Hour)}); !errors.Is(err, payment.ErrUnknown) {
			t.Errorf("find = %+v, %v, want ErrUnknown", a, err)
		}
	})
	t.Run("a search", func(t *testing.T) {
		// A busy account in front of the mock: more intents than are looked through.
		desk := newDesk(t)
		desk.on("GET /v1/payment_intents", strangers)
		desk.on("GET /v1/payment_intents/search", (&httputil.ReverseProxy{Transport: mock, Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "stripe-mock"})
		}}).ServeHTTP)
		// The mock finds an intent whatever is asked.
		if a, err := desk.gateway.Find(t.Context(), young); err != nil || a.Gateway == "" {
			t.Errorf("find = %+v, %v", a, err)
		}
	})
	t.Run("cancelling", func(t *testing.T) {
		if a, err := gateway.Cancel(t.Context(), payment.Ref{Gateway: intentID}); err != nil || a.Gateway != intentID {
			t.Errorf("cancel = %+v, %v", a, err)
		}
	})
	for name, id := range map[string]uuid.UUID{"a refund": uuid.Must(uuid.NewV7()), "the list of refunds": madeAgo(48 * time.Hour)} {
		t.Run(name, func(t *testing.T) {
			r := payment.Refund{RefundID: id, Payment: payment.Ref{PaymentID: young.PaymentID, Gateway: intentID}, AmountMinor: 50, Currency: "EUR", Reason: "buyer"}
			if a, err := gateway.Refund(t.Context(), r); err != nil || a.State != payment.Succeeded || a.Gateway == "" {
				t.Errorf("refund = %+v, %v", a, err)
			}
		})
	}
	t.Run("and the mock would have said no", func(t *testing.T) {
		// Else none of the above could fail.
		resp, err := (&http.Client{Transport: mock}).PostForm("http://stripe-mock/v1/payment_intents", url.Values{"amount": {"many"}})
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode == http.StatusOK {
			t.Error("an amount of many was taken")
		}
	})
}

// startStripeMock starts the mock of tools/go.mod, listening on a socket, and
// returns the way to it. It ends with the test.
func startStripeMock(t *testing.T) http.RoundTripper {
	t.Helper()
	var stderr bytes.Buffer
	find := exec.Command("go", "tool", "-modfile=../../tools/go.mod", "-n", "stripe-mock")
	find.Stderr = &stderr
	path, err := find.Output()
	if err != nil {
		t.Skipf("stripe-mock cannot be had: %v\n%s", err, stderr.Bytes())
	}
	dir, err := os.MkdirTemp("", "") // not t.TempDir: the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")

	mock := exec.Command(strings.TrimSpace(string(path)), "-http-unix", socket)
	stdout, err := mock.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	mock.Stderr = mock.Stdout
	if err := mock.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		mock.Process.Kill()
		mock.Wait()
	})
	lines := bufio.NewScanner(stdout)
	for ready := false; !ready; ready = strings.HasPrefix(lines.Text(), "Listening") {
		if !lines.Scan() {
			t.Fatalf("stripe-mock ended: %v", lines.Err())
		}
	}
	go func() {
		for lines.Scan() { // what it says of each request is not read, and must not stop it
		}
	}()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// ---- What the mock cannot do: answers as Stripe documents them ----

// desk answers as Stripe would, in shapes taken from its documentation, and
// remembers what it was asked.
type desk struct {
	t       *testing.T
	gateway *payment.Stripe
	mux     *http.ServeMux

	mu    sync.Mutex
	asked []asked
}

type asked struct {
	what string // POST /v1/refunds
	key  string // of idempotency
	form url.Values
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, mux: http.NewServeMux()}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		d.mu.Lock()
		d.asked = append(d.asked, asked{r.Method + " " + r.URL.Path, r.Header.Get("Idempotency-Key"), r.Form})
		d.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer sk_test_123" {
			t.Error("a request without the key")
		}
		d.mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	d.gateway = payment.NewStripe(payment.StripeOptions{Key: "sk_test_123", WebhookSecret: secret, URL: server.URL, HTTP: server.Client()})
	return d
}

func (d *desk) on(what string, h http.HandlerFunc) { d.mux.HandleFunc(what, h) }

// requests are what was asked so far.
func (d *desk) requests() []asked {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.asked)
}

type object map[string]any

// says answers with an object.
func says(status int, o object) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Request-Id", "req_123")
		if status >= 500 { // Stripe asks for no repetition: it would only say the same again
			w.Header().Set("Stripe-Should-Retry", "false")
		}
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(o)
	}
}

// repeats answers as Stripe does for an idempotency key that it knows.
func repeats(status int, o object) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Idempotent-Replayed", "true")
		says(status, o)(w, r)
	}
}

func refuses(kind, code string, more object) object {
	e := object{"type": kind, "code": code, "message": "…"}
	for k, v := range more {
		e[k] = v
	}
	return object{"error": e}
}

// intent is a PaymentIntent of 45.00 euros in a state.
func intent(status string, more object) object {
	o := object{
		"id": intentID, "object": "payment_intent", "amount": 4500, "amount_received": 0, "currency": "eur", "status": status,
		"client_secret": intentID + "_secret_x", "capture_method": "automatic", "payment_method_types": []string{"card"},
		"latest_charge": nil, "next_action": nil, "last_payment_error": nil, "metadata": object{}, "created": 1750000000, "livemode": false,
	}
	if status == "succeeded" {
		o["amount_received"] = 4500
		o["latest_charge"] = "ch_3MtwBwLkdIwHu7ix28a3tqPb"
	}
	for k, v := range more {
		o[k] = v
	}
	return o
}

func declined() object {
	return object{"last_payment_error": object{"type": "card_error", "code": "card_declined", "decline_code": "insufficient_funds", "message": "…"}}
}

func refund(status string, more object) object {
	o := object{
		"id": refundID, "object": "refund", "amount": 1500, "currency": "eur", "status": status, "payment_intent": intentID,
		"charge": "ch_3MtwBwLkdIwHu7ix28a3tqPb", "reason": nil, "metadata": object{}, "created": 1750000000,
	}
	for k, v := range more {
		o[k] = v
	}
	return o
}

func list(more bool, data ...object) object {
	return object{"object": "list", "data": data, "has_more": more, "url": "/v1/…"}
}

// strangers is a page of other people's intents, and not the last.
func strangers(w http.ResponseWriter, r *http.Request) {
	page := make([]object, 100)
	for i := range page {
		page[i] = intent("succeeded", object{"id": fmt.Sprintf("pi_%d", i)})
	}
	says(200, list(true, page...))(w, r)
}

func charge(change func(*payment.Charge)) payment.Charge {
	c := payment.Charge{
		PaymentID: uuid.Must(uuid.NewV7()), BookingID: uuid.Must(uuid.NewV7()), ShowID: uuid.Must(uuid.NewV7()),
		Reference: "K7WQ2MPX", Method: "card", Token: "pm_card_visa", AmountMinor: 4500, Currency: "EUR",
	}
	if change != nil {
		change(&c)
	}
	return c
}

// madeAgo is an id that was made so long ago.
func madeAgo(d time.Duration) uuid.UUID {
	id := uuid.Must(uuid.NewV7())
	ms := time.Now().Add(-d).UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	return id
}

func TestStripeChargesOnceForAPayment(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.on("POST /v1/payment_intents", says(200, intent("succeeded", nil)))
	c := charge(func(c *payment.Charge) { c.ReturnURL = "https://example.org/back" })
	a, err := d.gateway.Charge(t.Context(), c)
	if want := (payment.Answer{State: payment.Succeeded, Gateway: intentID, AmountMinor: 4500, Currency: "EUR"}); err != nil || a != want {
		t.Errorf("charge = %+v, %v, want %+v", a, err, want)
	}

	got := d.requests()
	if len(got) != 1 || got[0].key != c.PaymentID.String() {
		t.Fatalf("asked %+v, want one request with the payment's id as its key", got)
	}
	want := url.Values{
		"amount": {"4500"}, "currency": {"eur"}, "confirm": {"true"}, "payment_method": {"pm_card_visa"}, "capture_method": {"automatic"},
		"payment_method_types[0]": {"card"}, "description": {"Booking K7WQ2MPX"}, "return_url": {"https://example.org/back"},
		"metadata[rowlock_payment]": {c.PaymentID.String()}, "metadata[rowlock_booking]": {c.BookingID.String()}, "metadata[rowlock_show]": {c.ShowID.String()},
	}
	if got[0].form.Encode() != want.Encode() {
		t.Errorf("sent %s\nwant %s", got[0].form.Encode(), want.Encode())
	}
}

func TestStripeWithoutATokenWaitsForTheBuyersScript(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.on("POST /v1/payment_intents", says(200, intent("requires_payment_method", nil)))
	a, err := d.gateway.Charge(t.Context(), charge(func(c *payment.Charge) { c.Token, c.ReturnURL = "", "https://example.org/back" }))
	if err != nil || a.State != payment.Pending || a.Next == nil || *a.Next != (payment.Next{Type: "confirm", ClientSecret: intentID + "_secret_x"}) {
		t.Errorf("charge = %+v, %v", a, err)
	}
	// Stripe refuses a return_url without a confirmation.
	if form := d.requests()[0].form; form.Has("confirm") || form.Has("payment_method") || form.Has("return_url") || form.Has("use_stripe_sdk") {
		t.Errorf("sent %s", form.Encode())
	}
}

func TestStripeTakesAConfirmationToken(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.on("POST /v1/payment_intents", says(200, intent("requires_action", nil)))
	if a, err := d.gateway.Charge(t.Context(), charge(func(c *payment.Charge) { c.Token = "ctoken_1" })); err != nil || a.Next == nil || a.Next.Type != "confirm" {
		t.Errorf("charge = %+v, %v", a, err)
	}
	form := d.requests()[0].form
	if form.Get("confirmation_token") != "ctoken_1" || form.Has("payment_method") || form.Get("use_stripe_sdk") != "true" || form.Has("return_url") {
		t.Errorf("sent %s", form.Encode())
	}
}

func TestStripeAnswers(t *testing.T) {
	t.Parallel()
	confirm := &payment.Next{Type: "confirm", ClientSecret: intentID + "_secret_x"}
	for name, c := range map[string]struct {
		intent object
		want   payment.Answer
	}{
		"succeeded":  {intent("succeeded", nil), payment.Answer{State: payment.Succeeded}},
		"processing": {intent("processing", nil), payment.Answer{State: payment.Pending}},
		"canceled":   {intent("canceled", declined()), payment.Answer{State: payment.Cancelled}},
		"declined":   {intent("requires_payment_method", declined()), payment.Answer{State: payment.Failed, DeclineCode: "insufficient_funds"}},
		"declined without the bank's word": {
			intent("requires_payment_method", object{"last_payment_error": object{"type": "card_error", "code": "expired_card"}}),
			payment.Answer{State: payment.Failed, DeclineCode: "expired_card"},
		},
		"no card yet":         {intent("requires_payment_method", nil), payment.Answer{State: payment.Pending, Next: confirm}},
		"not confirmed yet":   {intent("requires_confirmation", nil), payment.Answer{State: payment.Pending, Next: confirm}},
		"a bank's question":   {intent("requires_action", object{"next_action": object{"type": "use_stripe_sdk", "use_stripe_sdk": object{}}}), payment.Answer{State: payment.Pending, Next: confirm}},
		"a bank's page to go": {intent("requires_action", object{"next_action": object{"type": "redirect_to_url", "redirect_to_url": object{"url": "https://hooks.stripe.com/3ds", "return_url": "https://example.org/back"}}}), payment.Answer{State: payment.Pending, Next: &payment.Next{Type: "redirect", URL: "https://hooks.stripe.com/3ds"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.on("GET /v1/payment_intents/"+intentID, says(200, c.intent))
			c.want.Gateway, c.want.AmountMinor, c.want.Currency = intentID, 4500, "EUR"
			a, err := d.gateway.Find(t.Context(), payment.Ref{Gateway: intentID})
			if err != nil {
				t.Fatal(err)
			}
			next, want := a.Next, c.want.Next
			a.Next, c.want.Next = nil, nil
			if a != c.want || (next == nil) != (want == nil) || next != nil && *next != *want {
				t.Errorf("answer = %+v next %+v, want %+v next %+v", a, next, c.want, want)
			}
		})
	}

	t.Run("a state that there is not is no answer", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		d.on("GET /v1/payment_intents/"+intentID, says(200, intent("pondering", nil)))
		if a, err := d.gateway.Find(t.Context(), payment.Ref{Gateway: intentID}); err == nil {
			t.Errorf("answer = %+v", a)
		}
	})
}

func TestStripeTellsARefusalFromAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	cardError := func(code, decline string) object {
		return refuses("card_error", code, object{"decline_code": decline, "payment_intent": intent("requires_payment_method", object{
			"last_payment_error": object{"type": "card_error", "code": code, "decline_code": decline},
		})})
	}
	for name, c := range map[string]struct {
		status  int
		body    object
		decline string // "": an error
		gateway string
	}{
		"a decline":                         {402, cardError("card_declined", "insufficient_funds"), "insufficient_funds", intentID},
		"a wrong code":                      {402, cardError("incorrect_cvc", ""), "incorrect_cvc", intentID},
		"a decline that its intent has not": {402, refuses("card_error", "card_declined", object{"payment_intent": intent("requires_payment_method", nil)}), "card_declined", intentID},
		"a decline without its intent":      {402, refuses("card_error", "card_declined", object{"decline_code": "do_not_honor"}), "do_not_honor", ""},
		"a token that there is not":         {400, refuses("invalid_request_error", "resource_missing", object{"param": "payment_method"}), "resource_missing", ""},
		"a sum below Stripe's least":        {400, refuses("invalid_request_error", "amount_too_small", object{"param": "amount"}), "amount_too_small", ""},
		"a currency that Stripe has not":    {400, refuses("invalid_request_error", "", object{"param": "currency"}), "invalid_request_error", ""},
		"a fault of ours":                   {400, refuses("invalid_request_error", "parameter_unknown", object{"param": "colour"}), "", ""},
		"a key used for something else":     {400, refuses("idempotency_error", "", object{"param": "amount"}), "", ""},
		"a key in use this moment":          {409, refuses("idempotency_error", "idempotency_key_in_use", nil), "", ""},
		"an account without a valid key":    {401, refuses("invalid_request_error", "api_key_expired", nil), "", ""},
		"too many requests":                 {429, refuses("invalid_request_error", "rate_limit", nil), "", ""},
		"Stripe in trouble":                 {500, refuses("api_error", "", object{"payment_intent": intent("processing", nil)}), "", ""},
		"an account that is closed":         {403, refuses("invalid_request_error", "account_invalid", nil), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.on("POST /v1/payment_intents", says(c.status, c.body))
			a, err := d.gateway.Charge(t.Context(), charge(nil))
			if c.decline == "" {
				if err == nil {
					t.Errorf("charge = %+v, want an error", a)
				} else if strings.Contains(err.Error(), "_secret_") || !strings.Contains(err.Error(), "req_123") {
					t.Errorf("error = %v, want Stripe's request and nobody's secret", err)
				}
				return
			}
			if err != nil || a.State != payment.Failed || a.DeclineCode != c.decline || a.Gateway != c.gateway {
				t.Errorf("charge = %+v, %v, want declined with %s", a, err, c.decline)
			}
		})
	}
}

func TestStripeKnowsWhatBecameOfALostAnswer(t *testing.T) {
	t.Parallel()

	t.Run("the repeated call has it", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		var once sync.Once
		d.on("POST /v1/payment_intents", func(w http.ResponseWriter, r *http.Request) {
			cut := false
			once.Do(func() { cut = true })
			if cut {
				panic(http.ErrAbortHandler) // charged, and the line breaks
			}
			repeats(200, intent("processing", nil))(w, r)
		})
		d.on("GET /v1/payment_intents/"+intentID, says(200, intent("succeeded", nil)))
		c := charge(nil)
		if a, err := d.gateway.Charge(t.Context(), c); err != nil || a.State != payment.Succeeded {
			t.Errorf("charge = %+v, %v", a, err)
		}
		for _, r := range d.requests() {
			if strings.HasPrefix(r.what, "POST") && r.key != c.PaymentID.String() {
				t.Errorf("%s with key %q", r.what, r.key)
			}
		}
	})

	t.Run("a second call gets the news, not the first one's answer", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		d.on("POST /v1/payment_intents", repeats(402, refuses("card_error", "card_declined", object{"payment_intent": intent("requires_payment_method", declined())})))
		d.on("GET /v1/payment_intents/"+intentID, says(200, intent("succeeded", nil)))
		if a, err := d.gateway.Charge(t.Context(), charge(nil)); err != nil || a.State != payment.Succeeded {
			t.Errorf("charge = %+v, %v", a, err)
		}
	})

	// The caller's patience ends after the money was taken. The gateway's id
	// was never learnt.
	for name, c := range map[string]struct {
		search http.HandlerFunc
		busy   bool
	}{
		"the list has it":           {nil, false},
		"search has it, after many": {says(200, object{"object": "search_result", "has_more": false, "data": []object{intent("succeeded", nil)}}), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			ctx, giveUp := context.WithCancel(t.Context())
			var taken object
			d.on("POST /v1/payment_intents", func(_ http.ResponseWriter, r *http.Request) {
				taken = intent("succeeded", object{"metadata": object{"rowlock_payment": r.Form.Get("metadata[rowlock_payment]")}})
				giveUp()
				<-r.Context().Done()
			})
			d.on("GET /v1/payment_intents", func(w http.ResponseWriter, r *http.Request) {
				if c.busy {
					strangers(w, r)
					return
				}
				says(200, list(false, intent("succeeded", object{"id": "pi_other"}), taken))(w, r)
			})
			if c.search != nil {
				d.on("GET /v1/payment_intents/search", c.search)
			}
			in := charge(nil)
			if a, err := d.gateway.Charge(ctx, in); !errors.Is(err, context.Canceled) {
				t.Fatalf("charge = %+v, %v", a, err)
			}
			a, err := d.gateway.Find(t.Context(), payment.Ref{PaymentID: in.PaymentID})
			if err != nil || a.State != payment.Succeeded || a.Gateway != intentID {
				t.Fatalf("find = %+v, %v", a, err)
			}
			asked := d.requests()
			if listed, made := asked[1].form, in.PaymentID.Time(); listed.Get("limit") != "100" || !between(listed.Get("created[gte]"), made, listed.Get("created[lte]")) {
				t.Errorf("listed %s for a payment made at %d", listed.Encode(), unix(made))
			}
			last := asked[len(asked)-1]
			if c.busy && last.form.Get("query") != "metadata['rowlock_payment']:'"+in.PaymentID.String()+"'" {
				t.Errorf("searched for %s", last.form.Get("query"))
			}
		})
	}
}

func unix(t uuid.Time) int64 {
	sec, _ := t.UnixTime()
	return sec
}

// between says that an id was made well inside a time that is written in
// seconds, as Stripe wants it.
func between(from string, made uuid.Time, to string) bool {
	first, err1 := strconv.ParseInt(from, 10, 64)
	last, err2 := strconv.ParseInt(to, 10, 64)
	return err1 == nil && err2 == nil && first < unix(made) && unix(made) < last
}

func TestStripeSaysUnknownOnlyWhenItIsCertain(t *testing.T) {
	t.Parallel()
	nothing := says(200, object{"object": "search_result", "has_more": false, "data": []object{}})
	for name, c := range map[string]struct {
		id      uuid.UUID
		busy    bool
		unknown bool
	}{
		"a moment ago":                    {madeAgo(time.Second), false, false},
		"its call cannot be out any more": {madeAgo(4 * time.Minute), false, true},
		"search may lag":                  {madeAgo(time.Hour), true, false},
		"search has caught up":            {madeAgo(3 * time.Hour), true, true},
		"an id that does not tell":        {uuid.New(), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.on("GET /v1/payment_intents/search", nothing)
			d.on("GET /v1/payment_intents", func(w http.ResponseWriter, r *http.Request) {
				if c.busy {
					strangers(w, r)
					return
				}
				says(200, list(false))(w, r)
			})
			for verb, ask := range map[string]func(context.Context, payment.Ref) (payment.Answer, error){"find": d.gateway.Find, "cancel": d.gateway.Cancel} {
				if a, err := ask(t.Context(), payment.Ref{PaymentID: c.id}); err == nil || errors.Is(err, payment.ErrUnknown) != c.unknown {
					t.Errorf("%s = %+v, %v, want unknown: %v", verb, a, err, c.unknown)
				}
			}
		})
	}

	t.Run("a page that Stripe does not give is no certainty", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		d.on("GET /v1/payment_intents", says(500, refuses("api_error", "", nil)))
		if a, err := d.gateway.Find(t.Context(), payment.Ref{PaymentID: madeAgo(time.Hour)}); err == nil || errors.Is(err, payment.ErrUnknown) {
			t.Errorf("find = %+v, %v", a, err)
		}
	})
	t.Run("an intent that is not there", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		gone := says(404, refuses("invalid_request_error", "resource_missing", object{"param": "intent"}))
		d.on("GET /v1/payment_intents/"+intentID, gone)
		d.on("POST /v1/payment_intents/"+intentID+"/cancel", gone)
		if a, err := d.gateway.Find(t.Context(), payment.Ref{Gateway: intentID}); !errors.Is(err, payment.ErrUnknown) {
			t.Errorf("find = %+v, %v", a, err)
		}
		if a, err := d.gateway.Cancel(t.Context(), payment.Ref{Gateway: intentID}); !errors.Is(err, payment.ErrUnknown) {
			t.Errorf("cancel = %+v, %v", a, err)
		}
	})
}

func TestStripeCancels(t *testing.T) {
	t.Parallel()
	late := refuses("invalid_request_error", "payment_intent_unexpected_state", nil)
	for name, c := range map[string]struct {
		status int
		body   object
		now    object
		want   payment.State // "": an error
	}{
		"in time":                            {200, intent("canceled", nil), nil, payment.Cancelled},
		"too late":                           {400, late, intent("succeeded", nil), payment.Succeeded},
		"again":                              {400, late, intent("canceled", nil), payment.Cancelled},
		"while the bank decides":             {400, late, intent("processing", nil), payment.Pending},
		"and nobody knows whether it worked": {500, refuses("api_error", "", nil), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.on("POST /v1/payment_intents/"+intentID+"/cancel", says(c.status, c.body))
			d.on("GET /v1/payment_intents/"+intentID, says(200, c.now))
			a, err := d.gateway.Cancel(t.Context(), payment.Ref{PaymentID: madeAgo(0), Gateway: intentID})
			if a.State != c.want || (err != nil) != (c.want == "") {
				t.Errorf("cancel = %+v, %v, want %q", a, err, c.want)
			}
		})
	}

	t.Run("one whose id was never learnt", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		id := madeAgo(time.Second)
		d.on("GET /v1/payment_intents", says(200, list(false, intent("requires_action", object{"metadata": object{"rowlock_payment": id.String()}}))))
		d.on("POST /v1/payment_intents/"+intentID+"/cancel", says(200, intent("canceled", nil)))
		if a, err := d.gateway.Cancel(t.Context(), payment.Ref{PaymentID: id}); err != nil || a.State != payment.Cancelled {
			t.Errorf("cancel = %+v, %v", a, err)
		}
	})
}

func TestStripeRefundsOnce(t *testing.T) {
	t.Parallel()
	ask := func(id uuid.UUID) payment.Refund {
		return payment.Refund{RefundID: id, Payment: payment.Ref{PaymentID: uuid.Must(uuid.NewV7()), Gateway: intentID}, AmountMinor: 1500, Currency: "EUR", Reason: "show_cancelled"}
	}
	for name, c := range map[string]struct {
		status int
		body   object
		want   payment.RefundAnswer // zero: an error
	}{
		"given":                           {200, refund("succeeded", nil), payment.RefundAnswer{State: payment.Succeeded, Gateway: refundID}},
		"on its way":                      {200, refund("pending", nil), payment.RefundAnswer{State: payment.Pending, Gateway: refundID}},
		"sent back":                       {200, refund("failed", object{"failure_reason": "lost_or_stolen_card"}), payment.RefundAnswer{State: payment.Failed, Gateway: refundID, Failure: "lost_or_stolen_card"}},
		"cancelled":                       {200, refund("canceled", nil), payment.RefundAnswer{State: payment.Failed, Gateway: refundID, Failure: "canceled"}},
		"all given back already":          {400, refuses("invalid_request_error", "charge_already_refunded", nil), payment.RefundAnswer{State: payment.Failed, Failure: "charge_already_refunded"}},
		"more than is left":               {400, refuses("invalid_request_error", "", object{"param": "amount"}), payment.RefundAnswer{State: payment.Failed, Failure: "invalid_request_error"}},
		"a dispute was faster":            {400, refuses("invalid_request_error", "charge_disputed", nil), payment.RefundAnswer{State: payment.Failed, Failure: "charge_disputed"}},
		"the key is used for another sum": {400, refuses("idempotency_error", "", nil), payment.RefundAnswer{}},
		"Stripe in trouble":               {500, refuses("api_error", "", nil), payment.RefundAnswer{}},
		"a state that there is not":       {200, refund("pondering", nil), payment.RefundAnswer{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.on("POST /v1/refunds", says(c.status, c.body))
			r := ask(uuid.Must(uuid.NewV7()))
			a, err := d.gateway.Refund(t.Context(), r)
			if a != c.want || (err == nil) != (c.want.State != "") {
				t.Errorf("refund = %+v, %v, want %+v", a, err, c.want)
			}
			got := d.requests()
			want := url.Values{
				"payment_intent": {intentID}, "amount": {"1500"},
				"metadata[rowlock_refund]": {r.RefundID.String()}, "metadata[rowlock_payment]": {r.Payment.PaymentID.String()}, "metadata[rowlock_reason]": {"show_cancelled"},
			}
			if len(got) != 1 || got[0].key != r.RefundID.String() || got[0].form.Encode() != want.Encode() {
				t.Errorf("asked %+v", got)
			}
		})
	}

	t.Run("a second call gets the news", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		d.on("POST /v1/refunds", repeats(200, refund("pending", nil)))
		d.on("GET /v1/refunds/"+refundID, says(200, refund("succeeded", nil)))
		if a, err := d.gateway.Refund(t.Context(), ask(uuid.Must(uuid.NewV7()))); err != nil || a.State != payment.Succeeded {
			t.Errorf("refund = %+v, %v", a, err)
		}
	})
	t.Run("after Stripe forgot the key", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		id := madeAgo(25 * time.Hour)
		d.on("GET /v1/refunds", says(200, list(false, refund("succeeded", object{"id": "re_desk"}), refund("succeeded", object{"metadata": object{"rowlock_refund": id.String()}}))))
		if a, err := d.gateway.Refund(t.Context(), ask(id)); err != nil || a.State != payment.Succeeded || a.Gateway != refundID {
			t.Errorf("refund = %+v, %v", a, err)
		}
		if got := d.requests(); len(got) != 1 || got[0].form.Get("payment_intent") != intentID {
			t.Errorf("asked %+v, want the list alone", got)
		}
	})
	t.Run("of a payment whose id was never learnt", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		r := ask(uuid.Must(uuid.NewV7()))
		r.Payment.Gateway = ""
		d.on("GET /v1/payment_intents", says(200, list(false, intent("succeeded", object{"metadata": object{"rowlock_payment": r.Payment.PaymentID.String()}}))))
		d.on("POST /v1/refunds", says(200, refund("succeeded", nil)))
		if a, err := d.gateway.Refund(t.Context(), r); err != nil || a.State != payment.Succeeded {
			t.Errorf("refund = %+v, %v", a, err)
		}
	})
}

// TestStripeTakesExactlyTheAmount is a table of what Rowlock counts and what
// Stripe does: docs.stripe.com/currencies.
func TestStripeTakesExactlyTheAmount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		minor    int64
		currency string
		stripe   int64 // 0: refused
	}{
		{1, "EUR", 1},
		{4599, "EUR", 4599},
		{10000, "JPY", 10000}, // ¥10,000, not ¥1,000,000
		{1, "KRW", 1},
		{1230, "KWD", 1230}, // 1.230 dinars
		{1234, "KWD", 0},    // Stripe wants the last digit 0, and nobody rounds here
		{500, "BHD", 500},
		{505, "TND", 0},
		{5, "ISK", 500}, // written with two decimals that are always zero
		{5, "UGX", 500},
		{500, "MGA", 5}, // two decimals in ISO 4217, none at Stripe
		{550, "MGA", 0},
		{1045, "HUF", 1045},
		{80045, "TWD", 80045},
	} {
		t.Run(fmt.Sprintf("%d %s", c.minor, c.currency), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			amounts := object{"amount": c.stripe, "amount_received": c.stripe, "currency": strings.ToLower(c.currency)}
			d.on("POST /v1/payment_intents", says(200, intent("succeeded", amounts)))
			d.on("POST /v1/refunds", says(200, refund("succeeded", amounts)))

			a, err := d.gateway.Charge(t.Context(), charge(func(in *payment.Charge) { in.AmountMinor, in.Currency = c.minor, c.currency }))
			if err != nil {
				t.Fatal(err)
			}
			back, err := d.gateway.Refund(t.Context(), payment.Refund{
				RefundID: uuid.Must(uuid.NewV7()), Payment: payment.Ref{Gateway: intentID}, AmountMinor: c.minor, Currency: c.currency,
			})
			if err != nil {
				t.Fatal(err)
			}

			if c.stripe == 0 {
				if a.State != payment.Failed || a.DeclineCode != "amount_not_supported" || back.State != payment.Failed || back.Failure != "amount_not_supported" || len(d.requests()) != 0 {
					t.Errorf("charge = %+v, refund = %+v, after %d requests", a, back, len(d.requests()))
				}
				return
			}
			if a.AmountMinor != c.minor || a.Currency != c.currency {
				t.Errorf("charged %d %s, want %d %s", a.AmountMinor, a.Currency, c.minor, c.currency)
			}
			for _, r := range d.requests() {
				if r.form.Get("amount") != fmt.Sprint(c.stripe) {
					t.Errorf("%s sent %s, want %d", r.what, r.form.Get("amount"), c.stripe)
				}
			}
			e, err := d.gateway.Webhook(signed(t, event("refund.created", refund("succeeded", amounts))))
			if err != nil || e.AmountMinor != c.minor {
				t.Errorf("a webhook of %d = %+v, %v", c.stripe, e, err)
			}
		})
	}
}

// ---- Webhooks ----

func event(kind string, o object) []byte {
	body, err := json.Marshal(object{
		"id": "evt_1NG8Du2eZvKYlo2CUI79vXWy", "object": "event", "type": kind, "api_version": "2019-02-19",
		"created": 1750000000, "livemode": false, "pending_webhooks": 1, "data": object{"object": o},
	})
	if err != nil {
		panic(err)
	}
	return body
}

// signed is a body with its header, as a webhook's arguments.
func signed(t *testing.T, body []byte) (http.Header, []byte) {
	t.Helper()
	p := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: secret})
	return http.Header{"Stripe-Signature": {p.Header}}, body
}

func TestStripeWebhooks(t *testing.T) {
	t.Parallel()
	gateway := payment.NewStripe(payment.StripeOptions{WebhookSecret: secret})
	ours, refundOurs := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	meta := func(more object) object {
		o := object{"metadata": object{"rowlock_payment": ours.String()}}
		for k, v := range more {
			o[k] = v
		}
		return o
	}
	both := object{"metadata": object{"rowlock_payment": ours.String(), "rowlock_refund": refundOurs.String()}}
	dispute := func(status string) object {
		return object{"id": "du_1", "object": "dispute", "amount": 4500, "currency": "eur", "status": status, "charge": "ch_1", "payment_intent": intentID, "metadata": object{}}
	}
	is := func(state payment.State, decline string) payment.Answer {
		return payment.Answer{State: state, Gateway: intentID, AmountMinor: 4500, Currency: "EUR", DeclineCode: decline}
	}
	known := payment.Ref{PaymentID: ours, Gateway: intentID}
	desk := payment.Ref{Gateway: intentID}
	disputed := func(state payment.State, failure string) payment.Event {
		return payment.Event{Kind: payment.EventDispute, Payment: desk, GatewayRefund: "du_1", AmountMinor: 4500,
			Refund: payment.RefundAnswer{State: state, Gateway: "du_1", Failure: failure}}
	}

	for name, c := range map[string]struct {
		kind   string
		object object
		want   payment.Event
	}{
		"a payment succeeded":             {"payment_intent.succeeded", intent("succeeded", meta(nil)), payment.Event{Kind: payment.EventPayment, Payment: known, Answer: is(payment.Succeeded, "")}},
		"a payment failed":                {"payment_intent.payment_failed", intent("requires_payment_method", meta(declined())), payment.Event{Kind: payment.EventPayment, Payment: known, Answer: is(payment.Failed, "insufficient_funds")}},
		"a payment was cancelled":         {"payment_intent.canceled", intent("canceled", meta(nil)), payment.Event{Kind: payment.EventPayment, Payment: known, Answer: is(payment.Cancelled, "")}},
		"a payment is being worked on":    {"payment_intent.processing", intent("processing", meta(nil)), payment.Event{Kind: payment.EventPayment, Payment: known, Answer: is(payment.Pending, "")}},
		"a payment waits for its buyer":   {"payment_intent.requires_action", intent("requires_action", meta(nil)), payment.Event{Kind: payment.EventPayment, Payment: known, Answer: is(payment.Pending, "")}},
		"a payment of another shop":       {"payment_intent.succeeded", intent("succeeded", nil), payment.Event{Kind: payment.EventOther}},
		"our refund went through":         {"refund.updated", refund("succeeded", both), payment.Event{Kind: payment.EventRefund, Payment: known, RefundID: refundOurs, GatewayRefund: refundID, AmountMinor: 1500, Refund: payment.RefundAnswer{State: payment.Succeeded, Gateway: refundID}}},
		"our refund came back":            {"refund.failed", refund("failed", object{"metadata": both["metadata"], "failure_reason": "expired_or_canceled_card"}), payment.Event{Kind: payment.EventRefund, Payment: known, RefundID: refundOurs, GatewayRefund: refundID, AmountMinor: 1500, Refund: payment.RefundAnswer{State: payment.Failed, Gateway: refundID, Failure: "expired_or_canceled_card"}}},
		"a refund begun at Stripe":        {"refund.created", refund("pending", nil), payment.Event{Kind: payment.EventRefund, Payment: desk, GatewayRefund: refundID, AmountMinor: 1500, Refund: payment.RefundAnswer{State: payment.Pending, Gateway: refundID}}},
		"the same by its older name":      {"charge.refund.updated", refund("succeeded", nil), payment.Event{Kind: payment.EventRefund, Payment: desk, GatewayRefund: refundID, AmountMinor: 1500, Refund: payment.RefundAnswer{State: payment.Succeeded, Gateway: refundID}}},
		"the sum of a charge's refunds":   {"charge.refunded", object{"id": "ch_1", "object": "charge", "amount_refunded": 1500}, payment.Event{Kind: payment.EventOther}},
		"a refund of a bare charge":       {"refund.created", refund("succeeded", object{"payment_intent": nil}), payment.Event{Kind: payment.EventOther}},
		"a dispute began":                 {"charge.dispute.created", dispute("needs_response"), disputed(payment.Pending, "")},
		"a dispute is looked at":          {"charge.dispute.updated", dispute("under_review"), disputed(payment.Pending, "")},
		"a dispute is lost":               {"charge.dispute.closed", dispute("lost"), disputed(payment.Succeeded, "")},
		"a dispute is won":                {"charge.dispute.closed", dispute("won"), disputed(payment.Failed, "won")},
		"a bank only inquires":            {"charge.dispute.created", dispute("warning_needs_response"), payment.Event{Kind: payment.EventOther}},
		"something that nobody here uses": {"customer.created", object{"id": "cus_1", "object": "customer"}, payment.Event{Kind: payment.EventOther}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := gateway.Webhook(signed(t, event(c.kind, c.object)))
			c.want.ID, c.want.Type = "evt_1NG8Du2eZvKYlo2CUI79vXWy", c.kind
			if (e.Answer.Next != nil) != (c.kind == "payment_intent.requires_action") {
				t.Errorf("next = %+v", e.Answer.Next)
			}
			e.Answer.Next = nil
			if err != nil || e != c.want {
				t.Errorf("event = %+v, %v\nwant    %+v", e, err, c.want)
			}
		})
	}
}

func TestStripeWebhooksAreBelievedOnlyWhenSigned(t *testing.T) {
	t.Parallel()
	gateway := payment.NewStripe(payment.StripeOptions{WebhookSecret: secret})
	body := event("payment_intent.succeeded", intent("succeeded", nil))
	sign := func(secret string, at time.Time) http.Header {
		p := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: secret, Timestamp: at})
		return http.Header{"Stripe-Signature": {p.Header}}
	}
	good := sign(secret, time.Now())

	for name, c := range map[string]struct {
		gateway *payment.Stripe
		header  http.Header
		body    []byte
	}{
		"no signature":                  {gateway, http.Header{}, body},
		"a signature of nonsense":       {gateway, http.Header{"Stripe-Signature": {"nonsense"}}, body},
		"another secret":                {gateway, sign("whsec_other", time.Now()), body},
		"another body":                  {gateway, good, bytes.Replace(body, []byte("4500"), []byte("9500"), 1)},
		"an old one, sent again":        {gateway, sign(secret, time.Now().Add(-6*time.Minute)), body},
		"no secret here, signed by all": {payment.NewStripe(payment.StripeOptions{}), sign("", time.Now()), body},
	} {
		if e, err := c.gateway.Webhook(c.header, c.body); !errors.Is(err, payment.ErrSignature) {
			t.Errorf("%s: event = %+v, %v", name, e, err)
		}
	}

	// Stripe signs with both secrets while one replaces the other.
	other := sign("whsec_old", time.Now()).Get("Stripe-Signature")
	_, theirs, _ := strings.Cut(other, ",")
	if _, err := gateway.Webhook(http.Header{"Stripe-Signature": {good.Get("Stripe-Signature") + "," + theirs}}, body); err != nil {
		t.Errorf("a webhook signed twice: %v", err)
	}

	for _, nonsense := range []string{"", "[]", "{}", `{"id":"evt_1","type":"payment_intent.succeeded"}`,
		`{"id":"evt_1","type":"payment_intent.succeeded","data":{"object":7}}`,
		string(event("refund.updated", refund("pondering", nil))),
		string(event("refund.updated", refund("succeeded", object{"amount": 150, "currency": "isk"}))),
	} {
		if e, err := gateway.Webhook(signed(t, []byte(nonsense))); err == nil || errors.Is(err, payment.ErrSignature) {
			t.Errorf("%s: event = %+v, %v", nonsense, e, err)
		}
	}
}

func TestStripeOffersWhatIsDecidedWhileTheBuyerWaits(t *testing.T) {
	t.Parallel()
	var gateway payment.Gateway = payment.NewStripe(payment.StripeOptions{})
	if gateway.Name() != "stripe" {
		t.Errorf("name = %q", gateway.Name())
	}
	if got, want := gateway.Methods(), []payment.Method{{Name: "card", Title: "Card", Token: true, Redirect: true}}; !slices.Equal(got, want) {
		t.Errorf("methods = %+v, want %+v", got, want)
	}
}
