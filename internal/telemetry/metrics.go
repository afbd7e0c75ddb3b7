package telemetry

import (
	"net/http"
	"strings"
	"time"

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
	Room           prometheus.Gauge         // requests for a hold that may be worked on at once; it follows how long they take
	Streams        prometheus.Gauge         // open event streams
	StreamsEnded   *prometheus.CounterVec   // why: left, slow, closing
	HearsOthers    prometheus.Gauge         // 1 while the connection that hears of other processes' changes is there

	Holds *prometheus.CounterVec // outcome: see Hold

	WaitlistEntries *prometheus.CounterVec // status: what entries of waitlists have become

	LaneCommands *prometheus.HistogramVec // lane: commands in one transaction
	LaneWait     *prometheus.HistogramVec // lane: from queueing until its transaction begins
	LaneWork     *prometheus.HistogramVec // lane: a transaction, from begin to commit
	LaneQueued   *prometheus.GaugeVec     // lane: commands waiting now

	Jobs       *prometheus.CounterVec   // kind, outcome (completed, failed, snoozed, cancelled)
	JobSeconds *prometheus.HistogramVec // kind: time spent working
	OldestJob  prometheus.Gauge         // how long the job has been running that has run longest, whoever works it; 0 when none runs

	OldestSnapshot prometheus.Gauge // age of the oldest transaction on the database; 0 when there is none

	ExpiryLag     prometheus.Gauge     // age of the oldest overdue reservation that is not closed yet; 0 when there is none
	ExpirySeconds prometheus.Histogram // from expiresAt until the reservation was closed by job, sweep or buyer
	Swept         prometheus.Counter   // reservations that only the periodic sweep closed: should stay near 0

	QueuesOpen   prometheus.Gauge   // waiting rooms that are open
	QueueWaiting prometheus.Gauge   // entries in them that have not been called
	QueueCalled  prometheus.Counter // people whose turn this instance called

	Payments       *prometheus.CounterVec   // gateway, outcome (succeeded, failed, cancelled): payments settled
	LatePayments   *prometheus.CounterVec   // outcome: booked, refunded: money that came after its hold's end
	Refunds        *prometheus.CounterVec   // gateway, outcome (pending, succeeded, failed): what gateways said
	PaymentEvents  *prometheus.CounterVec   // gateway, outcome (applied, ignored, failed, forged): webhooks
	GatewayCalls   *prometheus.CounterVec   // gateway, call, outcome (answered, unknown)
	GatewaySeconds *prometheus.HistogramVec // gateway, call (charge, find, cancel, refund)
	CheckIns       *prometheus.CounterVec   // result
	Mails          *prometheus.CounterVec   // kind, outcome (sent, failed, refused, skipped)

	// Gauges of money whose way is not known yet. They should be near 0, and
	// their ages within minutes.
	PaymentsPending, PaymentsPendingAge           prometheus.Gauge
	RefundsPending, RefundsPendingAge             prometheus.Gauge
	RefundsRefused                                prometheus.Gauge // the gateway will not: people must
	PaymentEventsWaiting, PaymentEventsWaitingAge prometheus.Gauge
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
		registry:        prometheus.NewRegistry(),
		Requests:        counter("http_requests_total", "HTTP requests answered, by operation and status.", "operation", "status"),
		RequestSeconds:  histogram("http_request_seconds", "Time to answer a request, by operation.", seconds, "operation"),
		InFlight:        gauge("http_requests_in_flight", "Requests being worked on, event streams excepted."),
		Room:            gauge("http_room", "Requests for a hold that may be worked on at once; more are answered OVERLOADED."),
		Streams:         gauge("streams", "Open event streams."),
		StreamsEnded:    counter("streams_ended_total", "Event streams that ended: the viewer left, was too slow, or the server stopped.", "why"),
		HearsOthers:     gauge("listening", "1 while the connection that hears of other processes' changes is there."),
		Holds:           counter("holds_total", "Requests for a hold, by outcome: placed, replayed or the code of the refusal.", "outcome"),
		WaitlistEntries: counter("waitlist_entries_total", "Entries of waitlists, by what they have become: waiting, offered, accepted, declined, lapsed, left.", "status"),
		LaneCommands:    histogram("lane_commands", "Commands in one transaction of a lane.", []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, "lane"),
		LaneWait:        histogram("lane_wait_seconds", "Time a command waits before its transaction begins.", seconds, "lane"),
		LaneWork:        histogram("lane_work_seconds", "Time a transaction of a lane takes, commit included.", seconds, "lane"),
		LaneQueued:      prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "rowlock", Name: "lane_queued", Help: "Commands waiting in a lane now."}, []string{"lane"}),
		Jobs:            counter("jobs_total", "Jobs worked, by kind and outcome.", "kind", "outcome"),
		JobSeconds:      histogram("job_seconds", "Time a job takes, by kind.", seconds, "kind"),
		OldestJob:       gauge("jobs_running_age_seconds", "Time for which the job has been running that has run longest, in any process."),
		OldestSnapshot:  gauge("oldest_snapshot_seconds", "Age of the oldest transaction on the database, which keeps dead rows from being vacuumed."),
		ExpiryLag:       gauge("expiry_lag_seconds", "Age of the oldest overdue reservation that is not closed yet."),
		ExpirySeconds: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "rowlock", Name: "expiry_seconds",
			Help: "Time from a reservation's expiresAt until it was closed.", Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}}),
		Swept: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "rowlock", Name: "expiry_swept_total",
			Help: "Reservations that only the periodic sweep closed."}),

		QueuesOpen:   gauge("queues_open", "Waiting rooms that are open."),
		QueueWaiting: gauge("queue_waiting", "Entries in open waiting rooms that have not been called."),
		QueueCalled: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "rowlock", Name: "queue_called_total",
			Help: "People in waiting rooms whose turn this instance called."}),

		Payments:       counter("payments_total", "Payments settled, by gateway and outcome.", "gateway", "outcome"),
		LatePayments:   counter("late_payments_total", "Payments that succeeded after their hold's end: booked all the same, or refunded.", "outcome"),
		Refunds:        counter("refunds_total", "What gateways said of refunds.", "gateway", "outcome"),
		PaymentEvents:  counter("payment_events_total", "Webhooks of payment gateways, by outcome.", "gateway", "outcome"),
		GatewayCalls:   counter("gateway_calls_total", "Calls of payment gateways: answered, or their outcome is unknown.", "gateway", "call", "outcome"),
		GatewaySeconds: histogram("gateway_seconds", "Time that payment gateways take to answer.", seconds, "gateway", "call"),
		CheckIns:       counter("check_ins_total", "Scans of tickets, by result.", "result"),
		Mails:          counter("mails_total", "Mails, by kind and outcome.", "kind", "outcome"),

		PaymentsPending:         gauge("payments_pending", "Payments without an outcome."),
		PaymentsPendingAge:      gauge("payments_pending_age_seconds", "Age of the oldest payment without an outcome."),
		RefundsPending:          gauge("refunds_pending", "Refunds without an outcome."),
		RefundsPendingAge:       gauge("refunds_pending_age_seconds", "Age of the oldest refund without an outcome."),
		RefundsRefused:          gauge("refunds_refused", "Refunds that the gateway will not make."),
		PaymentEventsWaiting:    gauge("payment_events_waiting", "Webhooks of payment gateways whose effect is not in the database."),
		PaymentEventsWaitingAge: gauge("payment_events_waiting_age_seconds", "Age of the oldest of them."),
	}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.Requests, m.RequestSeconds, m.InFlight, m.Room, m.Streams, m.StreamsEnded, m.HearsOthers, m.Holds, m.WaitlistEntries,
		m.LaneCommands, m.LaneWait, m.LaneWork, m.LaneQueued,
		m.Jobs, m.JobSeconds, m.OldestJob, m.OldestSnapshot, m.ExpiryLag, m.ExpirySeconds, m.Swept,
		m.QueuesOpen, m.QueueWaiting, m.QueueCalled,
		m.Payments, m.LatePayments, m.Refunds, m.PaymentEvents, m.GatewayCalls, m.GatewaySeconds, m.CheckIns, m.Mails,
		m.PaymentsPending, m.PaymentsPendingAge, m.RefundsPending, m.RefundsPendingAge, m.RefundsRefused,
		m.PaymentEventsWaiting, m.PaymentEventsWaitingAge,
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

// Waitlist counts an entry of a waitlist that has become something.
func (m *Metrics) Waitlist(status boxoffice.WaitlistStatus) {
	m.WaitlistEntries.WithLabelValues(string(status)).Inc()
}

// Listening says whether the connection that hears of other processes' changes
// is there.
func (m *Metrics) Listening(up bool) {
	m.HearsOthers.Set(0)
	if up {
		m.HearsOthers.Set(1)
	}
}

// Payment counts a payment that has an outcome.
func (m *Metrics) Payment(gateway, outcome string) {
	m.Payments.WithLabelValues(gateway, outcome).Inc()
}

// LatePayment counts money that came after its hold's end: booked, refunded.
func (m *Metrics) LatePayment(outcome string) { m.LatePayments.WithLabelValues(outcome).Inc() }

// Refund counts what a gateway says of a refund.
func (m *Metrics) Refund(gateway, outcome string) { m.Refunds.WithLabelValues(gateway, outcome).Inc() }

// PaymentEvent counts a webhook of a payment gateway.
func (m *Metrics) PaymentEvent(gateway, outcome string) {
	m.PaymentEvents.WithLabelValues(gateway, outcome).Inc()
}

// GatewayCall counts a call of a payment gateway.
func (m *Metrics) GatewayCall(gateway, call string, took time.Duration, err error) {
	outcome := "answered"
	if err != nil {
		outcome = "unknown"
	}
	m.GatewayCalls.WithLabelValues(gateway, call, outcome).Inc()
	m.GatewaySeconds.WithLabelValues(gateway, call).Observe(took.Seconds())
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
