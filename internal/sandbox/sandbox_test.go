package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	testKey    = "a key"
	testSecret = "a secret"
	limit      = 20 * time.Second // turns a hang into a failure
)

// hook is a webhook as it arrived.
type hook struct {
	Event
	signature string
	body      []byte
}

// bench is a sandbox with a merchant beside it.
type bench struct {
	*Sandbox
	t     *testing.T
	url   string
	hooks chan hook
	taken atomic.Int32 // status that the merchant answers webhooks with
	now   atomic.Pointer[time.Time]
}

// open starts a sandbox. Nothing settles by itself while the test runs, unless
// with says so.
func open(t *testing.T, with func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, hooks: make(chan hook, 1000)}
	b.taken.Store(http.StatusNoContent)
	now := time.Now()
	b.now.Store(&now)
	merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := hook{signature: r.Header.Get(SignatureHeader)}
		h.body, _ = io.ReadAll(r.Body)
		if err := json.Unmarshal(h.body, &h.Event); err != nil {
			t.Errorf("webhook: %v", err)
		}
		status := int(b.taken.Load())
		b.hooks <- h
		w.WriteHeader(status)
	}))
	t.Cleanup(merchant.Close)
	opts := Options{
		Key: testKey, WebhookSecret: testSecret, WebhookURL: merchant.URL, Async: time.Hour, Slow: time.Millisecond,
		Retry: time.Millisecond, Clock: func() time.Time { return *b.now.Load() }, Log: slog.New(slog.DiscardHandler),
	}
	if with != nil {
		with(&opts)
	}
	s, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	b.Sandbox = s
	server := httptest.NewServer(s)
	b.url = server.URL
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		if err := s.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	}()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		stop()
		<-ran
		s.Close()
	})
	return b
}

// advance moves the clock.
func (b *bench) advance(d time.Duration) {
	now := b.now.Load().Add(d)
	b.now.Store(&now)
}

// hook is the next webhook.
func (b *bench) hook() hook {
	b.t.Helper()
	select {
	case h := <-b.hooks:
		return h
	case <-time.After(limit):
		b.t.Fatal("no webhook came")
		return hook{}
	}
}

func (b *bench) awaitDelivery() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := b.AwaitDelivery(ctx); err != nil {
		b.t.Fatal("webhooks are still not taken:", b.Undelivered())
	}
}

// told is the next webhook, which must be of this type, read into data.
func (b *bench) told(eventType string, data any) hook {
	b.t.Helper()
	h := b.hook()
	if h.Type != eventType {
		b.t.Fatalf("webhook %s, want %s: %s", h.Type, eventType, h.Data)
	}
	if data != nil {
		if err := json.Unmarshal(h.Data, data); err != nil {
			b.t.Fatal(err)
		}
	}
	return h
}

// do sends a request as the merchant, and reads the answer into out.
func (b *bench) do(method, path, key string, in, out any) (status int, err error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return 0, err
		}
		body = bytes.NewReader(text)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, b.url+path, body)
	if err != nil {
		return 0, err
	}
	req.GetBody = nil // no repetition but our own
	req.Header.Set("Authorization", "Bearer "+testKey)
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	if out != nil {
		if err := json.Unmarshal(text, out); err != nil {
			return 0, fmt.Errorf("%d %s: %w", resp.StatusCode, text, err)
		}
	}
	return resp.StatusCode, nil
}

// must is do for what has to be answered with this status.
func (b *bench) must(status int, method, path, key string, in, out any) {
	b.t.Helper()
	var text json.RawMessage
	have, err := b.do(method, path, key, in, &text)
	if err != nil || have != status {
		b.t.Fatalf("%s %s: %d, want %d: %s %v", method, path, have, status, text, err)
	}
	if out != nil {
		if err := json.Unmarshal(text, out); err != nil {
			b.t.Fatal(err)
		}
	}
}

// refuses sends a request that must be refused with this code.
func (b *bench) refuses(status int, code, method, path, key string, in any) {
	b.t.Helper()
	var problem struct {
		Error struct{ Code, Message string }
	}
	b.must(status, method, path, key, in, &problem)
	if problem.Error.Code != code || problem.Error.Message == "" {
		b.t.Errorf("%s %s: %+v, want %s", method, path, problem.Error, code)
	}
}

// card is a request for 45.00 EUR of a card.
func card(id, token string) paymentRequest {
	return paymentRequest{MerchantID: id, Reference: "QX7-" + id, Method: MethodCard, Token: token, Amount: 4500, Currency: "EUR"}
}

func (b *bench) pay(req paymentRequest) (p Payment) {
	b.t.Helper()
	b.must(http.StatusCreated, "POST", "/v1/payments", req.MerchantID, req, &p)
	return p
}

func (b *bench) read(id string) (p Payment) {
	b.t.Helper()
	b.must(http.StatusOK, "GET", "/v1/payments/"+id, "", nil, &p)
	return p
}

// page gets or posts a page without being led on.
func (b *bench) page(method, path string, form url.Values, header ...string) (status int, body, location string) {
	b.t.Helper()
	req, err := http.NewRequest(method, b.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, string(text), resp.Header.Get("Location")
}

func TestEveryTokenDoesWhatItSays(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	docs, err := os.ReadFile("../../docs/gateways.md")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		state State
		code  string
		later State
	}{
		TokenOK: {Succeeded, "", Succeeded}, TokenDeclined: {Failed, "card_declined", Failed},
		TokenInsufficientFunds: {Failed, "insufficient_funds", Failed}, TokenSlow: {Succeeded, "", Succeeded},
		TokenAsync: {Processing, "", Succeeded}, TokenAsyncDeclined: {Processing, "", Failed}, TokenAsyncLate: {Processing, "", Succeeded},
		TokenRedirect: {RequiresAction, "", Failed}, TokenStorm: {Succeeded, "", Succeeded},
		TokenRefundFails: {Succeeded, "", Succeeded}, TokenRefundFailsOnce: {Succeeded, "", Succeeded}, TokenRefundSlow: {Succeeded, "", Succeeded},
		"": {Failed, "token_missing", Failed}, "sbx_typo": {Failed, "unknown_token", Failed},
	}
	for token := range tokens {
		if !bytes.Contains(docs, []byte("`"+token+"`")) {
			t.Errorf("docs/gateways.md does not tell of %s", token)
		}
		if _, tested := want[token]; !tested && token != TokenTimeout {
			t.Errorf("%s is not tested", token)
		}
	}
	for token, w := range want {
		p := b.pay(card("of "+token, token))
		if p.State != w.state || p.DeclineCode != w.code || (p.RedirectURL != "") != (w.state == RequiresAction) {
			t.Errorf("%q: %+v", token, p)
		}
		if err := b.Settle(p.ID); err != nil {
			t.Error(err)
		}
		if p := b.read(p.ID); p.State != w.later || p.State == Failed && p.DeclineCode == "" {
			t.Errorf("%q, settled: %+v", token, p)
		}
	}
}

func TestAmountsMakeAnotherTokenOfAGoodOne(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	for i, currency := range []string{"JPY", "EUR", "KWD"} {
		for amount, want := range map[int64]State{AmountDeclined: Failed, AmountAsync: Processing, 4020: Succeeded} {
			req := card(fmt.Sprint("p", i, amount), TokenOK)
			req.Amount, req.Currency = amount, currency
			if p := b.pay(req); p.State != want || p.Amount != amount || p.Currency != currency {
				t.Errorf("%d %s: %+v", amount, currency, p)
			}
		}
	}
	req := card("other", TokenRefundFails)
	req.Amount = AmountDeclined
	if p := b.pay(req); p.State != Succeeded {
		t.Errorf("another token: %+v", p)
	}
}

func TestARepeatedRequestMovesNoMoneyTwice(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	var group sync.WaitGroup
	ids := make([]string, 40)
	var created atomic.Int32
	for i := range ids {
		group.Go(func() {
			var p Payment
			status, err := b.do("POST", "/v1/payments", "one key", card("one", TokenOK), &p)
			if err != nil {
				t.Error(err)
			}
			if status == http.StatusCreated {
				created.Add(1)
			}
			ids[i] = p.ID
		})
	}
	group.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Fatalf("different payments: %v", ids)
		}
	}
	if l := b.Ledger(); created.Load() != 1 || len(l.Payments) != 1 || l.Sums["EUR"] != (Sum{Charged: 4500, Net: 4500}) {
		t.Errorf("created %d: %+v", created.Load(), l)
	}
	back := refundRequest{MerchantID: "r", MerchantPaymentID: "one", Amount: 1000, Currency: "EUR"}
	refunds := make([]Refund, 20)
	for i := range refunds {
		group.Go(func() {
			if _, err := b.do("POST", "/v1/refunds", "back", back, &refunds[i]); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, re := range refunds {
		if re.ID != refunds[0].ID || re.State != Succeeded {
			t.Fatalf("different refunds: %+v", refunds)
		}
	}
	if sum := b.Ledger().Sums["EUR"]; sum != (Sum{Charged: 4500, Refunded: 1000, Net: 3500}) {
		t.Errorf("%+v", sum)
	}

	dearer := card("one", TokenOK)
	dearer.Amount++
	b.refuses(http.StatusConflict, "idempotency_key_reused", "POST", "/v1/payments", "one key", dearer)
	b.refuses(http.StatusConflict, "idempotency_key_reused", "POST", "/v1/payments", "back", card("two", TokenOK))
	b.refuses(http.StatusConflict, "idempotency_key_reused", "POST", "/v1/refunds", "one key", back)
	b.refuses(http.StatusConflict, "merchant_id_in_use", "POST", "/v1/payments", "another key", card("one", TokenOK))
	b.refuses(http.StatusBadRequest, "idempotency_key_missing", "POST", "/v1/payments", "", card("two", TokenOK))
	if l := b.Ledger(); len(l.Payments) != 1 || len(l.Refunds) != 1 {
		t.Errorf("a refused request left something: %+v", l)
	}
}

func TestRequestsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	for what, spoil := range map[string]func(*paymentRequest){
		"no id":           func(r *paymentRequest) { r.MerchantID = "" },
		"no method":       func(r *paymentRequest) { r.Method = "cash" },
		"nothing":         func(r *paymentRequest) { r.Amount = 0 },
		"less":            func(r *paymentRequest) { r.Amount = -1 },
		"no currency":     func(r *paymentRequest) { r.Currency = "eur" },
		"a script":        func(r *paymentRequest) { r.ReturnURL = "javascript://shop/%0aalert(1)" },
		"a policy":        func(r *paymentRequest) { r.ReturnURL = "https://shop.example;script-src" },
		"a relative path": func(r *paymentRequest) { r.ReturnURL = "/thanks" },
	} {
		req := card("p", TokenOK)
		spoil(&req)
		t.Run(what, func(t *testing.T) {
			b.refuses(http.StatusBadRequest, "invalid_request", "POST", "/v1/payments", "key", req)
		})
	}
	b.refuses(http.StatusBadRequest, "invalid_request", "POST", "/v1/payments", "key", map[string]any{"amuont": 1})
	b.refuses(http.StatusNotFound, "not_found", "GET", "/v1/payments/pay_none", "", nil)
	b.refuses(http.StatusNotFound, "not_found", "GET", "/v1/refunds/re_none", "", nil)
	if l := b.Ledger(); len(l.Payments) != 0 {
		t.Errorf("%+v", l)
	}
	for _, key := range []string{"", "Bearer", "Bearer wrong", testKey} {
		if status, body, _ := b.page("GET", "/v1/ledger", nil, "Authorization", key); status != http.StatusUnauthorized {
			t.Errorf("key %q: %d %s", key, status, body)
		}
	}
}

func TestAnAnswerThatNeverComesWasAChargeAllTheSame(t *testing.T) {
	t.Parallel()
	b := open(t, func(o *Options) { o.Timeout = time.Millisecond })
	amount := card("by amount", TokenOK)
	amount.Amount = AmountTimeout
	for _, req := range []paymentRequest{card("by token", TokenTimeout), amount} {
		if status, err := b.do("POST", "/v1/payments", req.MerchantID, req, nil); err == nil {
			t.Errorf("%s was answered: %d", req.MerchantID, status)
		}
		b.told("payment.succeeded", nil)
		var p Payment
		b.must(http.StatusOK, "POST", "/v1/payments", req.MerchantID, req, &p)
		if p.State != Succeeded {
			t.Errorf("repeated: %+v", p)
		}
	}
	if sum := b.Ledger().Sums["EUR"]; sum.Charged != 4500+AmountTimeout {
		t.Errorf("%+v", sum)
	}
}

func TestInjectedFaults(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.Inject(func(*http.Request) Fault { return Fault{Before: time.Nanosecond, After: time.Nanosecond, Drop: true} })
	if status, err := b.do("POST", "/v1/payments", "dropped", card("dropped", TokenOK), nil); err == nil {
		t.Errorf("answered: %d", status)
	}
	b.Inject(func(r *http.Request) Fault { return Fault{Refuse: r.Method == http.MethodPost} })
	b.refuses(http.StatusServiceUnavailable, "unavailable", "POST", "/v1/payments", "refused", card("refused", TokenOK))
	var list struct{ Data []Payment }
	b.must(http.StatusOK, "GET", "/v1/payments?merchant_id=dropped", "", nil, &list)
	if len(list.Data) != 1 || list.Data[0].State != Succeeded {
		t.Errorf("dropped: %+v", list)
	}
	b.must(http.StatusOK, "GET", "/v1/payments?merchant_id=refused", "", nil, &list)
	if len(list.Data) != 0 {
		t.Errorf("refused: %+v", list)
	}
}

func TestCancelling(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	for token, want := range map[string]State{
		TokenAsync: Cancelled, TokenRedirect: Cancelled, TokenAsyncLate: Processing, TokenOK: Succeeded, TokenDeclined: Failed,
	} {
		p := b.pay(card("of "+token, token))
		for range 2 {
			var now Payment
			b.must(http.StatusOK, "POST", "/v1/payments/"+p.ID+"/cancel", "", nil, &now)
			if now.State != want {
				t.Errorf("%s: %+v", token, now)
			}
		}
		if err := b.Settle(p.ID); err != nil {
			t.Error(err)
		}
		if now := b.read(p.ID); want == Cancelled && now.State != Cancelled || token == TokenAsyncLate && now.State != Succeeded {
			t.Errorf("%s, settled: %+v", token, now)
		}
	}
	b.refuses(http.StatusNotFound, "not_found", "POST", "/v1/payments/pay_none/cancel", "", nil)
}

func TestAPaymentIsCancelledBeforeItsRequestArrives(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	ahead := map[string]string{"merchant_id": "late"}
	var first, again, late Payment
	b.must(http.StatusOK, "POST", "/v1/cancellations", "", ahead, &first)
	b.must(http.StatusOK, "POST", "/v1/cancellations", "", ahead, &again)
	b.must(http.StatusOK, "POST", "/v1/payments", "late", card("late", TokenOK), &late)
	if first.State != Cancelled || again.ID != first.ID || late.ID != first.ID || late.State != Cancelled {
		t.Errorf("%+v, %+v, %+v", first, again, late)
	}
	p := b.pay(card("open", TokenAsync))
	b.must(http.StatusOK, "POST", "/v1/cancellations", "", map[string]string{"merchant_id": "open"}, &again)
	if again.ID != p.ID || again.State != Cancelled {
		t.Errorf("one that is open: %+v", again)
	}
	if sums := b.Ledger().Sums; len(sums) != 0 {
		t.Errorf("money was taken: %v", sums)
	}
}

func TestWhatIsAsynchronousSettlesByItself(t *testing.T) {
	t.Parallel()
	b := open(t, func(o *Options) { o.Async = time.Millisecond })
	// Both webhooks may be on their way at once, and overtake each other.
	both := func(outcome string) (told Payment) {
		t.Helper()
		types := map[string]bool{}
		for range 2 {
			h := b.hook()
			types[h.Type] = true
			if h.Type != outcome {
				continue
			}
			if err := json.Unmarshal(h.Data, &told); err != nil {
				t.Fatal(err)
			}
		}
		if !types["payment.pending"] || !types[outcome] {
			t.Fatalf("told %v", types)
		}
		return told
	}
	p := b.pay(card("good", TokenAsync))
	told := both("payment.succeeded")
	if told.ID != p.ID || told.State != Succeeded || b.read(p.ID).State != Succeeded {
		t.Errorf("%+v", told)
	}
	b.pay(card("bad", TokenAsyncDeclined))
	told = both("payment.failed")
	if told.MerchantID != "bad" || told.DeclineCode != "card_declined" {
		t.Errorf("%+v", told)
	}
}

func TestWhatIsDueIsSettledWhenItIsAskedFor(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	p := b.pay(card("p", TokenAsync))
	b.advance(time.Hour - time.Second)
	if p = b.read(p.ID); p.State != Processing {
		t.Errorf("before: %+v", p)
	}
	b.advance(time.Second)
	if p = b.read(p.ID); p.State != Succeeded {
		t.Errorf("after: %+v", p)
	}
}

func TestHostedPage(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	redirect := func(id string) Payment {
		return b.pay(paymentRequest{
			MerchantID: id, Reference: `<b>"QX7"`, Method: MethodRedirect, Amount: 12345, Currency: "KWD",
			ReturnURL: "https://shop.example/thanks?lang=en", ExpiresAt: b.now.Load().Add(10 * time.Minute),
		})
	}
	path := func(p Payment) string {
		return strings.TrimPrefix(p.RedirectURL, b.url)
	}
	confirm, decline := url.Values{"decision": {"confirm"}}, url.Values{"decision": {"decline"}}

	p := redirect("confirmed")
	if status, body, _ := b.page("GET", path(p), nil); status != 200 || !strings.Contains(body, "12.345 KWD") ||
		!strings.Contains(body, "&lt;b&gt;&#34;QX7&#34;") || strings.Contains(body, "<b>") || !strings.Contains(body, `value="decline"`) {
		t.Errorf("the page: %d %s", status, body)
	}
	if status, body, _ := b.page("POST", path(p), confirm, "Sec-Fetch-Site", "cross-site"); status != http.StatusForbidden {
		t.Errorf("a button of another site: %d %s", status, body)
	}
	if status, _, _ := b.page("POST", path(p), url.Values{}); status != http.StatusBadRequest {
		t.Errorf("no decision: %d", status)
	}
	for range 2 { // a double click
		if status, _, location := b.page("POST", path(p), confirm); status != http.StatusSeeOther ||
			location != "https://shop.example/thanks?lang=en&payment=confirmed&status=succeeded" {
			t.Errorf("confirmed: %d %s", status, location)
		}
	}
	if status, body, _ := b.page("POST", path(p), decline); status != http.StatusConflict || !strings.Contains(body, "You have paid") {
		t.Errorf("declined afterwards: %d %s", status, body)
	}
	if p = b.read(p.ID); p.State != Succeeded {
		t.Errorf("%+v", p)
	}

	p = redirect("declined")
	if status, _, location := b.page("POST", path(p), decline); status != http.StatusSeeOther ||
		location != "https://shop.example/thanks?lang=en&payment=declined&status=failed" {
		t.Errorf("declined: %d %s", status, location)
	}
	if status, body, _ := b.page("POST", path(p), confirm); status != http.StatusConflict || !strings.Contains(body, "You declined this payment") {
		t.Errorf("confirmed afterwards: %d %s", status, body)
	}
	if p = b.read(p.ID); p.State != Failed || p.DeclineCode != "declined_by_buyer" {
		t.Errorf("%+v", p)
	}

	p = redirect("cancelled")
	b.must(http.StatusOK, "POST", "/v1/payments/"+p.ID+"/cancel", "", nil, nil)
	if status, body, _ := b.page("POST", path(p), confirm); status != http.StatusConflict || !strings.Contains(body, "This payment was cancelled") {
		t.Errorf("cancelled: %d %s", status, body)
	}

	p = redirect("over")
	b.advance(10 * time.Minute)
	if status, body, _ := b.page("POST", path(p), confirm); status != http.StatusConflict ||
		!strings.Contains(body, "The time to confirm is over") || !strings.Contains(body, "https://shop.example/thanks?lang=en&amp;payment=over") {
		t.Errorf("over: %d %s", status, body)
	}
	if p = b.read(p.ID); p.State != Failed || p.DeclineCode != "session_expired" {
		t.Errorf("%+v", p)
	}

	p = b.pay(card("here", TokenRedirect))
	if status, body, _ := b.page("POST", path(p), confirm); status != 200 || !strings.Contains(body, "You have paid") {
		t.Errorf("nowhere to return to: %d %s", status, body)
	}
	p = b.pay(card("plain", TokenAsync))
	for _, path := range []string{"/pay/" + p.ID, "/pay/here", "/pay/pay_none"} {
		if status, _, _ := b.page("GET", path, nil); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, _, _ := b.page("POST", "/pay/"+p.ID, confirm); status != http.StatusNotFound || b.read(p.ID).State != Processing {
		t.Errorf("a payment without a page: %d", status)
	}
	if sum := b.Ledger().Sums["KWD"]; sum.Charged != 12345 {
		t.Errorf("%+v", sum)
	}
}

func TestOneOfConfirmAndCancelWins(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	for i := range 20 {
		p := b.pay(card(fmt.Sprint("p", i), TokenRedirect))
		var group sync.WaitGroup
		var confirmed int
		var cancelled Payment
		group.Go(func() { confirmed, _, _ = b.page("POST", "/pay/"+p.ID, url.Values{"decision": {"confirm"}}) })
		group.Go(func() {
			if _, err := b.do("POST", "/v1/payments/"+p.ID+"/cancel", "", nil, &cancelled); err != nil {
				t.Error(err)
			}
		})
		group.Wait()
		if p = b.read(p.ID); p.State != cancelled.State || (p.State == Succeeded) != (confirmed == 200) {
			t.Errorf("%s; confirmed: %d, cancelled: %s", p.State, confirmed, cancelled.State)
		}
	}
}

func TestRefundsNeverExceedThePayment(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	for i, currency := range []string{"JPY", "EUR", "KWD"} {
		req := card(currency, TokenOK)
		req.Amount, req.Currency = 1000, currency
		p := b.pay(req)
		var group sync.WaitGroup
		var given atomic.Int64
		for n := range 10 {
			group.Go(func() {
				key := fmt.Sprint(i, n)
				var re Refund
				status, err := b.do("POST", "/v1/refunds", key, refundRequest{MerchantID: key, Payment: p.ID, Amount: 333, Currency: currency}, &re)
				if err != nil {
					t.Error(err)
				}
				if status == http.StatusCreated {
					given.Add(re.Amount)
				}
			})
		}
		group.Wait()
		b.refuses(http.StatusUnprocessableEntity, "amount_too_large", "POST", "/v1/refunds", currency+"2",
			refundRequest{MerchantID: "x", Payment: p.ID, Amount: 2, Currency: currency})
		b.must(http.StatusCreated, "POST", "/v1/refunds", currency+"1",
			refundRequest{MerchantID: "rest of " + currency, Payment: p.ID, Amount: 1, Currency: currency}, nil)
		if sum := b.Ledger().Sums[currency]; given.Load() != 999 || sum != (Sum{Charged: 1000, Refunded: 1000}) {
			t.Errorf("%s: %d, %+v", currency, given.Load(), sum)
		}
	}
}

func TestRefundsThatFailOrTakeTheirTime(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.pay(card("fails", TokenRefundFails))
	b.told("payment.succeeded", nil)
	var re, told Refund
	fails := refundRequest{MerchantID: "r1", MerchantPaymentID: "fails", Amount: 4500, Currency: "EUR"}
	b.must(http.StatusCreated, "POST", "/v1/refunds", "r1", fails, &re)
	if re.State != Failed || re.Failure != "refund_refused" {
		t.Errorf("%+v", re)
	}
	if b.told("refund.failed", &told); told != re {
		t.Errorf("told %+v", told)
	}

	b.pay(card("once", TokenRefundFailsOnce))
	b.told("payment.succeeded", nil)
	for _, id := range []string{"first", "second"} {
		once := refundRequest{MerchantID: id, MerchantPaymentID: "once", Amount: 2000, Currency: "EUR"}
		for attempt, want := range []State{Failed, Succeeded} {
			b.must(http.StatusCreated, "POST", "/v1/refunds", fmt.Sprint(id, attempt), once, &re)
			if re.State != want {
				t.Errorf("%s refund, attempt %d: %+v", id, attempt, re)
			}
			b.told("refund."+string(want), nil)
		}
	}

	b.pay(card("slow", TokenRefundSlow))
	b.told("payment.succeeded", nil)
	slow := refundRequest{MerchantID: "r2", MerchantPaymentID: "slow", Amount: 4000, Currency: "EUR"}
	b.must(http.StatusCreated, "POST", "/v1/refunds", "r2", slow, &re)
	if sum := b.Ledger().Sums["EUR"]; re.State != Pending || sum != (Sum{Charged: 13500, Refunded: 4000, Refunding: 4000, Net: 5500}) {
		t.Errorf("%+v, %+v", re, sum)
	}
	b.refuses(http.StatusUnprocessableEntity, "amount_too_large", "POST", "/v1/refunds", "r3",
		refundRequest{MerchantID: "r3", MerchantPaymentID: "slow", Amount: 501, Currency: "EUR"})
	for range 2 {
		if err := b.Settle(re.ID); err != nil {
			t.Error(err)
		}
	}
	if b.told("refund.succeeded", &told); told.ID != re.ID || told.MerchantID != "r2" || told.MerchantPaymentID != "slow" {
		t.Errorf("told %+v", told)
	}
	b.must(http.StatusCreated, "POST", "/v1/refunds", "r2", slow, &re)
	if sum := b.Ledger().Sums["EUR"]; re.State != Succeeded || sum != (Sum{Charged: 13500, Refunded: 8000, Net: 5500}) {
		t.Errorf("%+v, %+v", re, sum)
	}

	b.pay(card("declined", TokenDeclined))
	b.refuses(http.StatusUnprocessableEntity, "payment_not_succeeded", "POST", "/v1/refunds", "r4",
		refundRequest{MerchantID: "r4", MerchantPaymentID: "declined", Amount: 1, Currency: "EUR"})
	b.refuses(http.StatusUnprocessableEntity, "currency_mismatch", "POST", "/v1/refunds", "r5",
		refundRequest{MerchantID: "r5", MerchantPaymentID: "slow", Amount: 1, Currency: "JPY"})
	b.refuses(http.StatusNotFound, "not_found", "POST", "/v1/refunds", "r6",
		refundRequest{MerchantID: "r6", MerchantPaymentID: "none", Amount: 1, Currency: "EUR"})
}

func TestTheDeskTellsOnlyByWebhook(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	p := b.pay(card("p", TokenOK))
	b.told("payment.succeeded", nil)
	var re, told Refund
	b.must(http.StatusCreated, "POST", "/desk/refunds", "", map[string]any{"payment": p.ID, "amount": 500}, &re)
	if b.told("refund.succeeded", &told); told != re || re.MerchantID != "" || re.Amount != 500 || re.MerchantPaymentID != "p" {
		t.Errorf("%+v, told %+v", re, told)
	}
	resp, err := http.PostForm(b.url+"/desk/refunds", nil) // a form without anything, which is led on to the page
	if err != nil || !strings.Contains(resp.Request.URL.RawQuery, "not_found") {
		t.Errorf("an empty form: %v %v", resp, err)
	}
	resp.Body.Close()
	// As curl sends it.
	resp, err = http.Post(b.url+"/desk/refunds", "application/x-www-form-urlencoded", strings.NewReader(`{"payment":"none"}`))
	if err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("JSON that is called a form: %v %v", resp, err)
	}
	resp.Body.Close()
	if status, _, location := b.page("POST", "/desk/refunds", url.Values{"payment": {p.ID}, "amount": {"1e3"}}); status != http.StatusSeeOther ||
		!strings.Contains(location, "whole+number") {
		t.Errorf("no number: %d %s", status, location)
	}
	if status, _, location := b.page("POST", "/desk/refunds", url.Values{"payment": {p.ID}, "amount": {"9999"}}); status != http.StatusSeeOther ||
		!strings.Contains(location, "amount_too_large") {
		t.Errorf("too much: %d %s", status, location)
	}
	if status, _, _ := b.page("POST", "/desk/disputes", url.Values{"payment": {p.ID}}, "Sec-Fetch-Site", "cross-site"); status != http.StatusForbidden {
		t.Errorf("a button of another site: %d", status)
	}
	if status, _, location := b.page("POST", "/desk/disputes", url.Values{"payment": {p.ID}}); status != http.StatusSeeOther || location != "/" {
		t.Errorf("dispute: %d %s", status, location)
	}
	var d Dispute
	if b.told("dispute.opened", &d); d.Amount != 4000 || d.MerchantPaymentID != "p" || d.Currency != "EUR" {
		t.Errorf("%+v", d)
	}
	b.refuses(http.StatusUnprocessableEntity, "nothing_left", "POST", "/desk/disputes", "", map[string]any{"payment": p.ID})
	if sum := b.Ledger().Sums["EUR"]; sum != (Sum{Charged: 4500, Refunded: 500, Disputed: 4000}) {
		t.Errorf("%+v", sum)
	}
	var all Ledger
	b.must(http.StatusOK, "GET", "/v1/ledger", "", nil, &all)
	if len(all.Payments) != 1 || len(all.Refunds) != 1 || len(all.Disputes) != 1 || all.Sums["EUR"].Disputed != 4000 {
		t.Errorf("%+v", all)
	}
	status, body, _ := b.page("GET", "/?refused=%3Cb%3E", nil)
	for _, text := range []string{"QX7-p", "45.00 EUR", "40.00 EUR", re.ID, d.ID, "Refused: &lt;b&gt;"} {
		if status != 200 || !strings.Contains(body, text) {
			t.Errorf("the desk's page, %d, has no %q: %s", status, text, body)
		}
	}
}

func TestWebhooksAreSignedAndRepeatedUntilTheyAreTaken(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.taken.Store(http.StatusInternalServerError)
	b.pay(card("p", TokenOK))
	first := b.hook()
	if first.signature != sign(testSecret, *b.now.Load(), first.body) {
		t.Errorf("signed %q", first.signature)
	}
	b.advance(time.Minute)
	var h hook
	for h = b.hook(); h.signature == first.signature; h = b.hook() { // on its way before the clock went on
	}
	if h.ID != first.ID || !bytes.Equal(h.body, first.body) || h.signature != sign(testSecret, *b.now.Load(), h.body) {
		t.Errorf("again: %+v, then %+v", first, h)
	}
	b.taken.Store(http.StatusNoContent)
	b.awaitDelivery()
	if status, err := b.Deliver(t.Context(), first.ID); err != nil || status != http.StatusNoContent {
		t.Errorf("once more: %d %v", status, err)
	}
}

func TestAWebhookComesOnceWhenItIsTaken(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	for i := range 30 {
		b.pay(card(fmt.Sprint("p", i), TokenOK))
	}
	b.awaitDelivery()
	seen := map[string]bool{}
	for range 30 {
		seen[b.hook().ID] = true
	}
	if len(seen) != 30 || len(b.hooks) != 0 {
		t.Errorf("%d events, and %d deliveries more", len(seen), len(b.hooks))
	}
}

func TestAStormBringsEachWebhookFiveTimesTheLaterFirst(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.pay(card("p", TokenStorm))
	times := map[string]int{}
	var order []string
	for range 2 * stormCopies {
		h := b.hook()
		times[h.ID+h.Type]++
		order = append(order, h.Type)
	}
	if len(times) != 2 || order[0] != "payment.succeeded" || order[len(order)-1] != "payment.pending" {
		t.Errorf("%v", order)
	}
	for id, n := range times {
		if n != stormCopies {
			t.Errorf("%s came %d times", id, n)
		}
	}
	b.awaitDelivery()
	if len(b.hooks) != 0 {
		t.Errorf("%d more", len(b.hooks))
	}
}

func TestWebhooksWaitWhileTheyAreHeldOrHaveNowhereToGo(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	merchant := b.opts.WebhookURL
	b.HoldWebhooks()
	b.pay(card("one", TokenOK))
	b.pay(card("two", TokenOK))
	waiting := b.Undelivered()
	if len(waiting) != 2 || len(b.hooks) != 0 {
		t.Fatalf("held: %d wait, %d came", len(waiting), len(b.hooks))
	}
	if status, err := b.Deliver(t.Context(), waiting[1].ID); err != nil || status != http.StatusNoContent {
		t.Errorf("one by hand: %d %v", status, err)
	}
	if h := b.hook(); h.ID != waiting[1].ID {
		t.Errorf("%+v", h)
	}
	b.SetWebhookURL("")
	b.ReleaseWebhooks()
	if len(b.Undelivered()) != 1 {
		t.Errorf("without an address: %d wait", len(b.Undelivered()))
	}
	b.SetWebhookURL(merchant)
	if h := b.hook(); h.ID != waiting[0].ID {
		t.Errorf("%+v", h)
	}
	if _, err := b.Deliver(t.Context(), "evt_none"); err == nil {
		t.Error("delivered an event that there is not")
	}
}

func TestARestartLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(o *Options) { o.Dir = dir }
	// The first is never told to stop, as if it had been killed.
	first := open(t, in)
	first.HoldWebhooks()
	paid := first.pay(card("paid", TokenOK))
	async := first.pay(card("async", TokenAsync))
	slow := first.pay(card("slow", TokenRefundSlow))
	first.must(http.StatusOK, "POST", "/v1/cancellations", "", map[string]string{"merchant_id": "late"}, nil)
	var re, pending Refund
	back := refundRequest{MerchantID: "r", Payment: paid.ID, Amount: 1500, Currency: "EUR"}
	first.must(http.StatusCreated, "POST", "/v1/refunds", "r", back, &re)
	first.must(http.StatusCreated, "POST", "/v1/refunds", "s", refundRequest{MerchantID: "s", Payment: slow.ID, Amount: 1, Currency: "EUR"}, &pending)
	first.must(http.StatusCreated, "POST", "/desk/disputes", "", map[string]string{"payment": paid.ID}, nil)
	delivered := first.Undelivered()[0]
	if status, err := first.Deliver(t.Context(), delivered.ID); err != nil || status != http.StatusNoContent {
		t.Fatal(status, err)
	}
	before, waiting := first.Ledger(), first.Undelivered()
	file := filepath.Join(dir, "ledger.jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// It was in the middle of a line.
	if err := os.WriteFile(file, append(text, `{"payment":{"id":"pay_half","amount":1`...), 0o600); err != nil {
		t.Fatal(err)
	}

	second := open(t, in)
	told := map[string]bool{}
	for range waiting {
		told[second.hook().ID] = true
	}
	for _, e := range waiting {
		if !told[e.ID] || told[delivered.ID] {
			t.Errorf("told %v, not %s", told, e.ID)
		}
	}
	if now := second.Ledger(); !equal(now, before) {
		t.Errorf("%+v\nbefore: %+v", now, before)
	}
	var p Payment
	second.must(http.StatusOK, "POST", "/v1/payments", "paid", card("paid", TokenOK), &p)
	var again Refund
	second.must(http.StatusCreated, "POST", "/v1/refunds", "r", back, &again)
	if p.ID != paid.ID || again.ID != re.ID {
		t.Errorf("repeated: %+v, %+v", p, again)
	}
	second.must(http.StatusOK, "POST", "/v1/payments", "late", card("late", TokenOK), &p)
	if p.State != Cancelled {
		t.Errorf("cancelled before it came: %+v", p)
	}
	// What was under way goes on.
	for _, id := range []string{async.ID, pending.ID} {
		if err := second.Settle(id); err != nil {
			t.Error(err)
		}
	}
	want := Sum{Charged: 13500, Refunded: 1501, Disputed: 3000, Net: 8999}
	if sum := second.Ledger().Sums["EUR"]; sum != want {
		t.Errorf("%+v, want %+v", sum, want)
	}

	// What was written after the broken line can be read again, too.
	third, err := New(Options{Dir: dir, Key: testKey, WebhookSecret: testSecret})
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close()
	if sum := third.Ledger().Sums["EUR"]; sum != want {
		t.Errorf("once more: %+v", sum)
	}
}

func equal(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

func TestWhatWasUnderWaySettlesAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// The first does not run, and its clock stands still, so nothing settles.
	yesterday := time.Now().Add(-24 * time.Hour)
	first, err := New(Options{Dir: dir, Key: testKey, WebhookSecret: testSecret, Clock: func() time.Time { return yesterday }})
	if err != nil {
		t.Fatal(err)
	}
	req := card("p", TokenAsync)
	if p, _, err := first.charge("p", "", &req); err != nil || p.State != Processing {
		t.Fatal(p, err)
	}
	first.Close()
	second := open(t, func(o *Options) { o.Dir = dir })
	types := map[string]bool{second.hook().Type: true, second.hook().Type: true}
	if !types["payment.pending"] || !types["payment.succeeded"] {
		t.Errorf("%v", types)
	}
}

func TestASpoiledLedgerIsNotOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ledger.jsonl"), []byte("{}\nnonsense\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := New(Options{Dir: dir, Key: testKey, WebhookSecret: testSecret})
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("%v", err)
	}
}

func TestNoChargeIsAnsweredThatCannotBeWrittenDown(t *testing.T) {
	t.Parallel()
	b := open(t, func(o *Options) { o.Dir = t.TempDir() })
	b.ledger.file.Close()
	b.refuses(http.StatusInternalServerError, "internal", "POST", "/v1/payments", "p", card("p", TokenOK))
	if l := b.Ledger(); len(l.Payments) != 0 || len(b.Events()) != 0 {
		t.Errorf("%+v", l)
	}
}

func TestMoneyIsWrittenInTheCurrencysDigits(t *testing.T) {
	t.Parallel()
	for want, amount := range map[string]int64{"4500 JPY": 4500, "45.00 EUR": 4500, "4.500 KWD": 4500, "0.05 EUR": 5, "0.005 KWD": 5} {
		if have := money(amount, want[len(want)-3:]); have != want {
			t.Errorf("%q, want %q", have, want)
		}
	}
}
