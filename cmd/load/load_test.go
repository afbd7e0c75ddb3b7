package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/sandbox"
	"github.com/rowlock/rowlock/internal/store"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// limit turns a hang into a failure.
const limit = time.Minute

// service is a rowlock of this test's own, and what the test knows of it.
type service struct {
	url    string
	binary string
	env    []string
	store  *store.Store
}

const adminKey = "the-key-of-the-drills"

var servingAt = regexp.MustCompile(`msg=serving addr=(\S+)`)

// serve builds rowlock and starts it on a database of its own, beside a gateway.
func serve(t *testing.T) *service {
	t.Helper()
	dir := t.TempDir()
	s := &service{binary: filepath.Join(dir, "rowlock")}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", s.binary, "../api").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	db := pgtest.New(t)
	s.store = fixture.On(t, db)
	if err := s.store.EnsureAPIKey(t.Context(), adminKey, "drills", []boxoffice.Scope{boxoffice.ScopeAdmin}); err != nil {
		t.Fatal(err)
	}
	gateway := sandboxOf(t)
	cmd := exec.Command(s.binary, "serve")
	s.env = append(slices.DeleteFunc(cmd.Environ(), func(v string) bool { return strings.HasPrefix(v, "DATABASE_") }),
		"DATABASE_URL="+db.URL(store.RoleApp), "DATABASE_LANE_URL="+db.URL(store.RoleLane), "ADDR=127.0.0.1:0",
		"ENV=development", "AUTH_MODE=mock", "LOG_FORMAT=text", "SANDBOX_URL="+gateway.url, "SANDBOX_KEY=key", "SANDBOX_WEBHOOK_SECRET=secret",
		"SESSION_SECRET=0123456789abcdef0123456789abcdef", "TICKET_KEYS="+strings.Repeat("0123456789abcdef", 4), "MAIL_URL="+filepath.Join(dir, "mail"))
	cmd.Env = s.env
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := func() []byte {
		text, err := os.ReadFile(log.Name())
		if err != nil {
			t.Error(err)
		}
		return text
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil || t.Failed() {
			t.Logf("rowlock ended: %v\n%s", err, said())
		}
		log.Close()
	})
	for deadline := time.Now().Add(limit); ; {
		if m := servingAt.FindSubmatch(said()); m != nil {
			s.url = "http://" + string(m[1])
			gateway.SetWebhookURL(s.url + "/api/v1/webhooks/payments/sandbox")
			if w, err := http.Get(s.url + "/readyz"); err == nil {
				w.Body.Close()
				if w.StatusCode == http.StatusOK {
					return s
				}
			}
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("it ended before it was ready: %v", err)
		case <-time.After(10 * time.Millisecond): // a poll: there is nothing to wait for
		}
		if time.Now().After(deadline) {
			t.Fatal("it did not become ready")
		}
	}
}

type gateway struct {
	*sandbox.Sandbox
	url string
}

// sandboxOf runs a gateway for as long as the test.
func sandboxOf(t *testing.T) gateway {
	t.Helper()
	g, err := sandbox.New(sandbox.Options{Key: "key", WebhookSecret: "secret", Async: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := g.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(g)
	t.Cleanup(func() {
		server.Close()
		stop()
		running.Wait()
		g.Close()
	})
	return gateway{g, server.URL}
}

// show makes one on sale.
func (s *service) show(t *testing.T, o fixture.Options) string {
	t.Helper()
	return fixture.Show(t, s.store, o).ID.String()
}

// run runs a drill from its command line, and returns what it says.
func run(t *testing.T, ctx context.Context, args ...string) (code int, r report, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "report.json")
	errs, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer errs.Close()
	var out bytes.Buffer
	code = load(ctx, append(args, "--json", path), &out, errs)
	said, err := os.ReadFile(errs.Name())
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err == nil {
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
	}
	return code, r, out.String(), string(said)
}

// liar stands before the service and may change what it answers.
func (s *service) liar(t *testing.T, lie func(*http.Response, []byte) error) string {
	t.Helper()
	to, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	type sent struct{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Set("Accept-Encoding", "identity") // to be read here
		},
		ModifyResponse: func(w *http.Response) error {
			body, _ := w.Request.Context().Value(sent{}).([]byte)
			return lie(w, body)
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), sent{}, body)))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// rewrite replaces an answer.
func rewrite(w *http.Response, status int, body []byte) error {
	w.Body.Close()
	w.StatusCode, w.Status = status, http.StatusText(status)
	w.Body, w.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	w.Header.Set("Content-Length", fmt.Sprint(len(body)))
	w.Header.Del("Retry-After")
	return nil
}

// amend changes an answer that is a JSON object.
func amend(w *http.Response, change func(map[string]any)) error {
	var body map[string]any
	if err := json.NewDecoder(w.Body).Decode(&body); err != nil {
		return err
	}
	change(body)
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return rewrite(w, w.StatusCode, text)
}

var aBooking = regexp.MustCompile(`/bookings/[0-9a-f-]{36}$`)

func isRead(w *http.Response, pattern *regexp.Regexp) bool {
	return w.Request.Method == http.MethodGet && pattern.MatchString(w.Request.URL.Path) && w.StatusCode == http.StatusOK
}

// sellAgain says yes to everybody who wants seats that somebody holds.
func sellAgain(w *http.Response, body []byte) error {
	if w.Request.Method != http.MethodPost || !strings.HasSuffix(w.Request.URL.Path, "/reservations") || w.StatusCode != http.StatusConflict {
		return nil
	}
	asked := struct {
		Seats      []map[string]string
		TTLSeconds int
	}{TTLSeconds: 900}
	if err := json.Unmarshal(body, &asked); err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"reservationId": newUUID(), "status": "active", "seats": asked.Seats, "totalAmount": 2500, "expiresInSeconds": asked.TTLSeconds})
	if err != nil {
		return err
	}
	return rewrite(w, http.StatusCreated, text)
}

// forget knows of no booking any more.
func forget(w *http.Response, _ []byte) error {
	if isRead(w, aBooking) {
		return rewrite(w, http.StatusNotFound, []byte(`{"code":"NOT_FOUND"}`))
	}
	return nil
}

// keepTheMoney has charges, and no tickets for them.
func keepTheMoney(w *http.Response, _ []byte) error {
	if !isRead(w, aBooking) {
		return nil
	}
	return amend(w, func(body map[string]any) { body["status"], body["tickets"] = "expired", []any{} })
}

// giveOne has a ticket too few for each booking.
func giveOne(w *http.Response, _ []byte) error {
	if !isRead(w, aBooking) {
		return nil
	}
	return amend(w, func(body map[string]any) { body["tickets"] = body["tickets"].([]any)[1:] })
}

// keepHolds does not let go of what was released.
func keepHolds() func(*http.Response, []byte) error {
	var once sync.Once
	released := make(chan struct{})
	return func(w *http.Response, _ []byte) error {
		if w.Request.Method == http.MethodDelete {
			once.Do(func() { close(released) })
		}
		select {
		case <-released:
		default:
			return nil
		}
		if !isRead(w, regexp.MustCompile(`/availability$`)) {
			return nil
		}
		return amend(w, func(body map[string]any) {
			body["statuses"] = strings.Replace(body["statuses"].(string), "a", "h", 1)
		})
	}
}

func honest(*http.Response, []byte) error { return nil }

func TestADrill(t *testing.T) {
	t.Parallel()
	s := serve(t)

	t.Run("SellsAShowOutAndFindsNothingWrong", func(t *testing.T) {
		t.Parallel()
		code, r, stdout, stderr := run(t, t.Context(), "--target", s.url, "--show", s.show(t, fixture.Options{Seats: 300}), "--buyers", "400", "--over", "2s", "--think", "20ms", "--hold", "1s", "--release", "15%", "--viewers", "5")
		if code != exitFine {
			t.Fatalf("exit %d\n%s\n%s", code, stdout, stderr)
		}
		sum := 0
		for _, n := range r.Outcomes {
			sum += n
		}
		if r.Arrived != 400 || sum != 400 || r.Outcomes[paid] < 50 || r.Outcomes[abandoned] == 0 || r.Outcomes[released] == 0 || r.Outcomes[failed] > 0 {
			t.Errorf("%d came: %v\n%s", r.Arrived, r.Outcomes, stdout)
		}
		for _, c := range r.Checks {
			if c.Examined == 0 {
				t.Errorf("nobody looked whether %s", c.Rule)
			}
		}
		for _, want := range []string{"paid and have tickets", "p99.9", "ok      no place had two owners (300 looked at)", "Fine:"} {
			if !strings.Contains(stdout, want) {
				t.Errorf("no %q in\n%s", want, stdout)
			}
		}
		if !strings.Contains(stderr, "in flight") {
			t.Errorf("no word while it went on:\n%s", stderr)
		}
		prove := exec.CommandContext(t.Context(), s.binary, "prove")
		prove.Env = s.env
		if out, err := prove.CombinedOutput(); err != nil {
			t.Errorf("prove: %v\n%s", err, out)
		}
	})

	t.Run("SellsAStockOfPlaces", func(t *testing.T) {
		t.Parallel()
		code, r, stdout, stderr := run(t, t.Context(), "--target", s.url, "--show", s.show(t, fixture.Options{Floor: 100}), "--buyers", "80", "--over", "500ms", "--think", "5ms", "--hold", "1s", "--mock", "--curve", "steady")
		if code != exitFine || r.Outcomes[paid] == 0 || r.Outcomes[soldOut]+r.Outcomes[outrun] == 0 {
			t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
		}
	})

	t.Run("BuysForCustomersOfABackEnd", func(t *testing.T) {
		t.Parallel()
		code, r, stdout, stderr := run(t, t.Context(), "--target", s.url, "--show", s.show(t, fixture.Options{Seats: 60}), "--rate", "50", "--buyers", "10", "--think", "0s", "--hold", "1s", "--api-key", adminKey)
		if code != exitFine || r.Outcomes[paid] == 0 {
			t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
		}
	})

	t.Run("BuysWithTokensWhileOthersPoll", func(t *testing.T) {
		t.Parallel()
		var tokens strings.Builder
		for range 3 {
			a, err := http.Post(s.url+"/api/v1/sessions", "application/json", nil)
			if err != nil {
				t.Fatal(err)
			}
			var session struct{ Token string }
			if err := json.NewDecoder(a.Body).Decode(&session); err != nil || session.Token == "" {
				t.Fatal(a.Status, err)
			}
			a.Body.Close()
			tokens.WriteString(session.Token + "\n")
		}
		file := filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(file, []byte(tokens.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		code, r, stdout, stderr := run(t, t.Context(), "--target", s.url, "--show", s.show(t, fixture.Options{Seats: 60}), "--buyers", "12", "--over", "500ms", "--think", "5ms", "--hold", "1s",
			"--abandon", "0", "--release", "0", "--bearer", file, "--watch", "poll", "--viewers", "3")
		if code != exitFine || r.Outcomes[paid] == 0 {
			t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
		}
		looks := map[string]int64{}
		for _, step := range r.Steps {
			looks[step.Step] = step.Count
		}
		if looks[stepView] == 0 || looks[stepSession] > 0 {
			t.Errorf("viewers looked %d times, and %d asked for a token who had one", looks[stepView], looks[stepSession])
		}
	})

	t.Run("QueuesWhereThereIsAWaitingRoom", func(t *testing.T) {
		t.Parallel()
		for _, lies := range []bool{false, true} {
			room := fixture.Show(t, s.store, fixture.Options{Seats: 200})
			_, err := s.store.AmendShow(t.Context(), fixture.Staff, new(fixture.Key()), boxoffice.DefaultOrganisationID, room.ID, store.ShowAmendment{Queue: &boxoffice.QueueChange{RatePerMinute: new(600)}})
			if err == nil {
				_, err = s.store.SetQueue(t.Context(), fixture.Staff, new(fixture.Key()), boxoffice.DefaultOrganisationID, room.ID, boxoffice.SetQueue{Open: true})
			}
			if err != nil {
				t.Fatal(err)
			}
			var rises atomic.Int64
			at := s.liar(t, func(w *http.Response, _ []byte) error {
				if !lies || !isRead(w, regexp.MustCompile(`/queue/[0-9a-f-]{36}$`)) {
					return nil
				}
				return amend(w, func(body map[string]any) {
					if body["status"] == "waiting" {
						body["position"] = 1000 + rises.Add(1)
					}
				})
			})
			code, r, stdout, stderr := run(t, t.Context(), "--target", at, "--show", room.ID.String(), "--buyers", "60", "--over", "500ms", "--think", "5ms", "--hold", "1s")
			i := slices.IndexFunc(r.Checks, func(c check) bool { return c.Rule == ruleQueue })
			if i < 0 || r.Checks[i].Examined != 60 || r.Outcomes[paid] == 0 || !strings.Contains(stdout, "let in") {
				t.Fatalf("exit %d\n%s\n%s", code, stdout, stderr)
			}
			if want := map[bool]int{false: exitFine, true: exitBroken}[lies]; code != want || (len(r.Checks[i].Broken) > 0) != lies {
				t.Errorf("exit %d instead of %d\n%s", code, want, stdout)
			}
		}
	})

	t.Run("MissesAThreshold", func(t *testing.T) {
		t.Parallel()
		code, r, stdout, _ := run(t, t.Context(), "--target", s.url, "--show", s.show(t, fixture.Options{Seats: 60}), "--buyers", "10", "--over", "100ms", "--think", "0s", "--abandon", "0", "--release", "0", "--p99", "1ns")
		if code != exitMissed || len(r.Missed) != 2 {
			t.Errorf("exit %d, missed %q\n%s", code, r.Missed, stdout)
		}
	})

	t.Run("EndsEarlyAndReports", func(t *testing.T) {
		t.Parallel()
		selling, end := context.WithCancel(t.Context())
		at := s.liar(t, func(w *http.Response, _ []byte) error {
			if strings.HasSuffix(w.Request.URL.Path, "/tickets") {
				end()
			}
			return nil
		})
		code, r, stdout, stderr := run(t, selling, "--target", at, "--show", s.show(t, fixture.Options{Seats: 100}), "--buyers", "36000", "--over", "1h", "--curve", "steady", "--think", "0s", "--hold", "1s")
		if code != exitFine || r.Arrived == 36_000 || r.Outcomes[paid] == 0 || !strings.Contains(stdout, "of 36,000 buyers came") {
			t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
		}
	})

	for name, c := range map[string]struct {
		lie   func(*http.Response, []byte) error
		rules []string
		args  []string
	}{
		"LetsAnHonestServicePass":                {lie: honest},
		"CatchesAServiceThatSellsASeatTwice":     {lie: sellAgain, rules: []string{ruleOwners}},
		"CatchesAServiceThatForgetsBookings":     {lie: forget, rules: []string{ruleBookings}},
		"CatchesAServiceThatKeepsTheMoney":       {lie: keepTheMoney, rules: []string{ruleBookings, ruleMoney}},
		"CatchesAServiceThatGivesTooFewTickets":  {lie: giveOne, rules: []string{ruleBookings}},
		"CatchesAServiceThatKeepsWhatIsReleased": {lie: keepHolds(), rules: []string{ruleHolds, ruleCounts}, args: []string{"--cards", "none"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"--target", s.liar(t, c.lie), "--show", s.show(t, fixture.Options{Seats: 100}), "--buyers", "30", "--over", "10ms", "--think", "0s", "--spread", "0", "--hold", "1s", "--patience", "20s"}
			code, r, stdout, stderr := run(t, t.Context(), append(args, c.args...)...)
			want := exitFine
			if c.rules != nil {
				want = exitBroken
			}
			if code != want {
				t.Errorf("exit %d instead of %d\n%s\n%s", code, want, stdout, stderr)
			}
			broken := map[string]bool{}
			for _, k := range r.Checks {
				broken[k.Rule] = len(k.Broken) > 0
			}
			for _, rule := range c.rules {
				if !broken[rule] {
					t.Errorf("it did not see that this is broken: %s\n%s", rule, stdout)
				}
			}
		})
	}
}

func TestADrillSaysWhatToDoWhenNothingIsOnSale(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		`[]`: "rowlock demo",
		`[{"showId":"1","status":"paused","externalRef":"matinee"},{"showId":"2","status":"on_sale","saleOpen":true,"soldOut":true}]`: "matinee is not on sale (paused)",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"shows":%s}`, list) }))
		defer server.Close()
		if code, _, _, stderr := run(t, t.Context(), "--target", server.URL); code != exitUnable || !strings.Contains(stderr, want) {
			t.Errorf("exit %d: %s", code, stderr)
		}
	}
}
