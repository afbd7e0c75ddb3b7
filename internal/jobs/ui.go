package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"riverqueue.com/riverui"
)

// uiPolicy lets the page run its own script and nothing else: it is on the same
// server as the organiser's pages, and would act for whoever is signed in. Its
// messages write their own styles.
const uiPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// UI is River's own web page for looking at jobs, running them again and
// cancelling them. It authenticates nobody: whoever mounts it must.
type UI struct {
	handler *riverui.Handler
}

// NewUI makes the page for the given path, such as /riverui. It needs a pool
// and no worker, so a process that only serves has it too. It starts nothing.
// Arguments of jobs are shown: they hold ids and times, nothing personal.
func NewUI(pool *pgxpool.Pool, prefix string, log *slog.Logger) (*UI, error) {
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: log})
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	handler, err := riverui.NewHandler(&riverui.HandlerOpts{
		Endpoints: riverui.NewEndpoints(client, nil),
		Logger:    log,
		Prefix:    prefix,
	})
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return &UI{handler: handler}, nil
}

// ServeHTTP implements [http.Handler].
func (ui *UI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", uiPolicy)
	ui.handler.ServeHTTP(w, r)
}

// Run keeps the page's counts fresh until ctx ends.
func (ui *UI) Run(ctx context.Context) error {
	if err := ui.handler.Start(ctx); err != nil {
		return fmt.Errorf("jobs: %w", err)
	}
	<-ctx.Done()
	return nil
}
