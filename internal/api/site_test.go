package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/api"
	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/checkout"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/payment"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/sandbox"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/internal/telemetry"
	"github.com/rowlock/rowlock/internal/tickets"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// site is the whole service in front of a database of the test's own, with a
// sandbox gateway to pay at whose webhooks come in by HTTP.
type site struct {
	*api.API
	t        testing.TB
	store    *store.Store
	gateway  *sandbox.Sandbox
	checkout *checkout.Checkout
	tickets  *tickets.Signer
	metrics  *telemetry.Metrics
	logged   *bytes.Buffer
}

const organiser = "organiser-key"

func open(t testing.TB) *site {
	t.Helper()
	return openOn(t, pgtest.New(t))
}

// openOn is open on a database that the test looks into.
func openOn(t testing.TB, db *pgtest.DB, edit ...func(*checkout.Config)) *site {
	t.Helper()
	s := &site{t: t, store: fixture.On(t, db), metrics: telemetry.NewMetrics(), logged: new(bytes.Buffer)}
	if err := s.store.EnsureAPIKey(t.Context(), organiser, "organiser", []boxoffice.Scope{boxoffice.ScopeAdmin}); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(s.logged, &slog.HandlerOptions{Level: slog.LevelError}))
	const key, secret = "sandbox-key", "sandbox-webhook-secret"
	var err error
	s.gateway, err = sandbox.New(sandbox.Options{Key: key, WebhookSecret: secret, Async: 500 * time.Millisecond, Slow: 50 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	at := httptest.NewServer(s.gateway)
	cfg := checkout.Config{
		Store: s.store, Log: log,
		Gateways: []payment.Gateway{payment.NewSandbox(payment.SandboxOptions{URL: at.URL, Key: key, WebhookSecret: secret})},
	}
	for _, f := range edit {
		f(&cfg)
	}
	s.checkout = checkout.New(cfg)
	if s.tickets, err = tickets.NewSigner([][]byte{[]byte("a seed of just thirty-two bytes!")}); err != nil {
		t.Fatal(err)
	}
	s.API = api.New(api.Options{
		Log: log, Metrics: s.metrics, Store: s.store, Checkout: s.checkout, Tickets: s.tickets,
		Auth: api.AuthOptions{Mock: true, Keys: s.store, SignIns: s.store, SessionSecret: []byte("a secret of at least thirty-two bytes")},
	})
	server := httptest.NewServer(s.API)
	s.gateway.SetWebhookURL(server.URL + "/api/v1/webhooks/payments/sandbox")
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.gateway.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		server.Close()
		at.Close()
		if s.logged.Len() > 0 {
			t.Errorf("logged: %s", s.logged)
		}
	})
	return s
}

// reply is an answer, and its body as JSON.
type reply struct {
	*httptest.ResponseRecorder
	tree map[string]any
}

func newKey() string { return strings.ReplaceAll(uuid.NewString(), "-", "") }

// ask sends a request as the organiser; headers are pairs, and an empty value
// takes a header away.
func (s *site) ask(method, path, body string, headers ...string) reply {
	s.t.Helper()
	r := httptest.NewRequest(method, "/api/v1"+path, strings.NewReader(body))
	r.Header.Set("X-API-Key", organiser)
	if method != http.MethodGet {
		r.Header.Set("Idempotency-Key", newKey())
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	out := reply{ResponseRecorder: w}
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &out.tree); err != nil {
			s.t.Errorf("%s %s: %d %s: %v", method, path, w.Code, w.Body, err)
		}
	}
	return out
}

// raw is ask for an answer that may not be JSON.
func (s *site) raw(method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/api/v1"+path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// must is ask for what has to succeed.
func (s *site) must(method, path, body string, headers ...string) reply {
	s.t.Helper()
	r := s.ask(method, path, body, headers...)
	if r.Code >= 300 {
		s.t.Fatalf("%s %s: %d %s", method, path, r.Code, r.Body)
	}
	return r
}

// stranger sends nobody's credentials.
var stranger = []string{"X-API-Key", ""}

func (r reply) text(name string) string { s, _ := r.tree[name].(string); return s }

func (r reply) list(name string) []any { l, _ := r.tree[name].([]any); return l }

// field is the value at a path such as shows.0.venue.name.
func (r reply) field(path string) any {
	var v any = r.tree
	for _, step := range strings.Split(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

// fields are the names of what was wrong.
func (r reply) fields() []string {
	var names []string
	for _, v := range r.list("violations") {
		names = append(names, v.(map[string]any)["field"].(string))
	}
	return names
}

func (s *site) hall() (venue, hall string) {
	s.t.Helper()
	venue = s.must("POST", "/venues", `{"name":"Haus","city":"Wien","country":"AT","timeZone":"Europe/Vienna"}`).text("venueId")
	return venue, s.must("POST", "/halls", `{"venueId":"`+venue+`","name":"Saal"}`).text("hallId")
}

func (s *site) plan(hall, csv string) string {
	s.t.Helper()
	return s.must("POST", "/halls/"+hall+"/plans?format=csv", csv, "Content-Type", "text/csv").text("planId")
}

func (s *site) event(title string) string {
	s.t.Helper()
	return s.must("POST", "/events", `{"kind":"play","title":`+quote(title)+`}`).text("eventId")
}

func quote(s string) string { b, _ := json.Marshal(s); return string(b) }

func soon(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }

func (s *site) show(event, plan string, more ...string) string {
	s.t.Helper()
	body := `{"eventId":"` + event + `","planId":"` + plan + `","startsAt":"` + soon(48*time.Hour) + `","currency":"EUR","publish":true,
		"prices":[{"category":"Front","amount":4000},{"category":"Back","amount":2500}]` + strings.Join(more, "") + `}`
	return s.must("POST", "/shows", body).text("showId")
}
