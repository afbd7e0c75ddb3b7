package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// Check is one thing that must be right before an instance may get traffic.
type Check struct {
	Name string // database, migrations, workers
	// Check returns nil when it is right. The detail of a *boxoffice.Error is
	// shown to everybody; any other error only says that the check failed, and
	// is logged.
	Check func(context.Context) error
}

// checkTimeout is how long a check may take; a slower one has failed.
const checkTimeout = 2 * time.Second

// readyFor is how long what the checks found is told again. Anybody may ask, as
// often as they like, and the checks take connections that requests need.
const readyFor = time.Second

// lastReady is what the checks found last.
type lastReady struct {
	mu    sync.Mutex
	found readiness
	until time.Time
}

type readiness struct {
	Status string        `json:"status"` // ready or unready
	Checks []checkResult `json:"checks"`
}

type checkResult struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
}

func (a *API) mountHealth() {
	// The process lives: nothing is asked, since killing it would not help a
	// database that is away.
	a.Mount("GET /healthz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeHealth(w, http.StatusOK, map[string]string{"status": "ok"})
	}))
	a.Mount("GET /readyz", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		found := a.ready(r.Context())
		status := http.StatusOK
		if found.Status != "ready" {
			status = http.StatusServiceUnavailable
			w.Header().Set("Retry-After", "1")
		}
		writeHealth(w, status, found)
	}))
}

// ready makes all checks at once, or remembers having done so. Who asks
// meanwhile waits for the same answer; that the first one leaves is no failure.
func (a *API) ready(ctx context.Context) readiness {
	a.lastReady.mu.Lock()
	defer a.lastReady.mu.Unlock()
	if time.Now().Before(a.lastReady.until) {
		return a.lastReady.found
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
	defer cancel()
	found := readiness{Status: "ready", Checks: make([]checkResult, len(a.opts.Checks))}
	var wg sync.WaitGroup
	for i, c := range a.opts.Checks {
		wg.Go(func() {
			found.Checks[i] = a.check(ctx, c)
		})
	}
	wg.Wait()
	for _, c := range found.Checks {
		if !c.OK {
			found.Status = "unready"
		}
	}
	a.lastReady.found, a.lastReady.until = found, time.Now().Add(readyFor)
	return found
}

func (a *API) check(ctx context.Context, c Check) checkResult {
	err := c.Check(ctx)
	if err == nil {
		return checkResult{Name: c.Name, OK: true}
	}
	a.log.LogAttrs(ctx, slog.LevelWarn, "not ready", slog.String("check", c.Name), slog.String("error", err.Error()))
	detail := "failed; see the log"
	var e *boxoffice.Error
	if errors.As(err, &e) {
		detail = e.Detail
	}
	return checkResult{Name: c.Name, Detail: detail}
}

func writeHealth(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the prober has hung up
}
