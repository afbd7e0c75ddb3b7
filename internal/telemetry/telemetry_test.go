package telemetry

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

func TestALogLineCarriesTheIDOfItsRequest(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"json": `"requestId":"abc"`, "text": "requestId=abc"} {
		var out bytes.Buffer
		log := NewLogger(&out, slog.LevelInfo, format).With("part", "lane")
		log.DebugContext(context.Background(), "unseen")
		log.InfoContext(context.WithValue(context.Background(), RequestIDKey{}, "abc"), "held")
		log.InfoContext(context.Background(), "other")
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], want) || !strings.Contains(lines[0], "lane") || strings.Contains(lines[1], "requestId") {
			t.Errorf("%s: %s", format, out.String())
		}
	}
}

func TestMetricsAreServedWithThePoolsByName(t *testing.T) {
	t.Parallel()
	m := NewMetrics()
	pool, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1/none?pool_max_conns=7") // connects to nothing until asked to
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	m.WatchPool("requests", pool)
	m.WatchPool("jobs", pool)
	m.Hold(false, nil)
	m.Hold(true, nil)
	m.Hold(false, boxoffice.Refuse(boxoffice.CodeSeatAlreadyReserved, ""))
	m.Hold(false, context.DeadlineExceeded)
	m.LaneQueued.WithLabelValues("0").Set(3)
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`rowlock_holds_total{outcome="placed"} 1`, `rowlock_holds_total{outcome="replayed"} 1`, `rowlock_holds_total{outcome="seat_already_reserved"} 1`, `rowlock_holds_total{outcome="internal"} 1`,
		`rowlock_pool_connections_max{pool="requests"} 7`, `rowlock_pool_connections_max{pool="jobs"} 7`, `rowlock_lane_queued{lane="0"} 3`, "rowlock_expiry_lag_seconds 0", "go_goroutines",
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s", want)
		}
	}
}
