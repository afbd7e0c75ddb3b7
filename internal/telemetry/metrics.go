package telemetry

import (
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// Metrics are Rowlock's own metrics. All durations are in seconds. Every
// method and field may be used from many goroutines at once.
type Metrics struct {
	registry *prometheus.Registry

	Requests       *prometheus.CounterVec   // operation, status: HTTP requests answered
	RequestSeconds *prometheus.HistogramVec // operation: from the first byte read to the last written; streams excepted
	InFlight       prometheus.Gauge         // requests being worked on, streams excepted
	Streams        prometheus.Gauge         // open event streams

	Holds *prometheus.CounterVec // outcome: see Hold

	LaneCommands *prometheus.HistogramVec // lane: commands in one transaction
	LaneWait     *prometheus.HistogramVec // lane: from queueing until its transaction begins
	LaneWork     *prometheus.HistogramVec // lane: a transaction, from begin to commit
	LaneQueued   *prometheus.GaugeVec     // lane: commands waiting now

	Jobs       *prometheus.CounterVec   // kind, outcome (completed, failed, snoozed, cancelled)
	JobSeconds *prometheus.HistogramVec // kind: time spent working

	ExpiryLag     prometheus.Gauge     // age of the oldest overdue reservation that is not closed yet; 0 when there is none
	ExpirySeconds prometheus.Histogram // from expiresAt until the reservation was closed by job, sweep or buyer
	Swept         prometheus.Counter   // reservations that only the periodic sweep closed: should stay near 0
}

// NewMetrics makes the metrics and registers them, and those of the Go runtime
// and the process, in a registry of their own.
func NewMetrics() *Metrics {
	// From a tenth of a millisecond, which a refusal takes, to the ten seconds
	// after which every caller has given up.
	seconds := []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "rowlock", Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "rowlock", Name: name, Help: help, Buckets: buckets}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "rowlock", Name: name, Help: help})
	}

	m := &Metrics{
		registry:       prometheus.NewRegistry(),
		Requests:       counter("http_requests_total", "HTTP requests answered, by operation and status.", "operation", "status"),
		RequestSeconds: histogram("http_request_seconds", "Time to answer a request, by operation.", seconds, "operation"),
		InFlight:       gauge("http_requests_in_flight", "Requests being worked on, event streams excepted."),
		Streams:        gauge("http_streams", "Open event streams."),
		Holds:          counter("holds_total", "Requests for a hold, by outcome: placed, replayed or the code of the refusal.", "outcome"),
		LaneCommands:   histogram("lane_commands", "Commands in one transaction of a lane.", []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, "lane"),
		LaneWait:       histogram("lane_wait_seconds", "Time a command waits before its transaction begins.", seconds, "lane"),
		LaneWork:       histogram("lane_work_seconds", "Time a transaction of a lane takes, commit included.", seconds, "lane"),
		LaneQueued:     prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "rowlock", Name: "lane_queued", Help: "Commands waiting in a lane now."}, []string{"lane"}),
		Jobs:           counter("jobs_total", "Jobs worked, by kind and outcome.", "kind", "outcome"),
		JobSeconds:     histogram("job_seconds", "Time a job takes, by kind.", seconds, "kind"),
		ExpiryLag:      gauge("expiry_lag_seconds", "Age of the oldest overdue reservation that is not closed yet."),
		ExpirySeconds: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "rowlock", Name: "expiry_seconds",
			Help: "Time from a reservation's expiresAt until it was closed.", Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}}),
		Swept: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "rowlock", Name: "expiry_swept_total",
			Help: "Reservations that only the periodic sweep closed."}),
	}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.Requests, m.RequestSeconds, m.InFlight, m.Streams, m.Holds,
		m.LaneCommands, m.LaneWait, m.LaneWork, m.LaneQueued,
		m.Jobs, m.JobSeconds, m.ExpiryLag, m.ExpirySeconds, m.Swept,
	)
	return m
}

// Hold counts the outcome of one request for a hold: "placed", "replayed", or
// the refusal's code in lower case, such as seat_already_reserved.
func (m *Metrics) Hold(replayed bool, err error) {
	outcome := "placed"
	switch {
	case err != nil:
		outcome = strings.ToLower(string(boxoffice.CodeOf(err)))
	case replayed:
		outcome = "replayed"
	}
	m.Holds.WithLabelValues(outcome).Inc()
}

// Handler serves the metrics in the Prometheus text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// WatchPool exports a connection pool's figures under the label pool=name.
// Each name may be given once.
func (m *Metrics) WatchPool(name string, pool *pgxpool.Pool) {
	m.registry.MustRegister(newPoolCollector(name, pool.Stat))
}
