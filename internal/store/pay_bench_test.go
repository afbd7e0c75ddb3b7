package store_test

import (
	"context"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/checkout"
	"github.com/rowlock/rowlock/internal/jobs"
	"github.com/rowlock/rowlock/internal/lanes"
	"github.com/rowlock/rowlock/internal/payment"
	"github.com/rowlock/rowlock/internal/sandbox"
	"github.com/rowlock/rowlock/internal/store"
)

// BenchmarkPay pays holds of one hot show at the sandbox gateway, over HTTP,
// which answers at once: begin, charge, settle, ticket, and the jobs that
// follow. It compares lanes with a transaction for each command, in
// interleaved rounds of one run:
//
//	go test -run '^$' -bench Pay -benchtime 1x ./internal/store
//
// The transactions of the other strategy follow each other on one connection
// without ever waiting for the show: its best case.
func BenchmarkPay(b *testing.B) {
	app, lane, super := durable(b)
	pool, err := pgxpool.New(b.Context(), super)
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	gateway, err := sandbox.New(sandbox.Options{Key: "key", WebhookSecret: "secret", Log: quiet})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(gateway)
	defer server.Close()
	port := payment.NewSandbox(payment.SandboxOptions{URL: server.URL, Key: "key", WebhookSecret: "secret"})

	const callers = 200
	rates, slowest := map[string][]float64{}, map[string][]float64{}
	for range b.N {
		for range rounds {
			for _, strategy := range []struct {
				name string
				pays int
				cfg  lanes.Config
			}{
				{"lanes", 10_000, lanes.Config{Timeout: 30 * time.Second}},
				{"per-request", 1_000, lanes.Config{Timeout: 30 * time.Second, BatchMax: 1}},
			} {
				show := benchShows(b, pool, 1, strategy.pays)[0]
				if _, err := pool.Exec(b.Context(), `truncate bookings, payments, payment_checks, refunds, tickets, scans, buyers, ticket_holders`); err != nil {
					b.Fatal(err)
				}
				holds := placeAll(b, app, lane, show, strategy.pays)
				s, stop := openLanes(b, app, lane, strategy.cfg)
				c := checkout.New(checkout.Config{Store: s, Gateways: []payment.Gateway{port}, Log: quiet})
				rate, p99 := payAll(b, c, holds, callers)
				rates[strategy.name] = append(rates[strategy.name], rate)
				slowest[strategy.name] = append(slowest[strategy.name], p99.Seconds()*1000)
				stop()
				auditPays(b, pool, strategy.pays)
			}
		}
	}
	l, r := median(rates["lanes"]), median(rates["per-request"])
	b.ReportMetric(l, "lanes/s")
	b.ReportMetric(r, "per-request/s")
	b.ReportMetric(l/r, "ratio")
	b.ReportMetric(median(slowest["lanes"]), "lanes-p99-ms")
	b.ReportMetric(median(slowest["per-request"]), "per-request-p99-ms")
	b.ReportMetric(0, "ns/op")
}

func openLanes(b *testing.B, app, lane string, cfg lanes.Config) (*store.Store, func()) {
	b.Helper()
	scheduler, err := jobs.NewScheduler(quiet, true)
	if err != nil {
		b.Fatal(err)
	}
	s, err := store.Open(b.Context(), store.Config{URL: app, LaneURL: lane, Jobs: scheduler, Log: quiet, Lanes: cfg})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { s.Run(ctx) })
	return s, func() {
		cancel()
		group.Wait()
		s.Close()
	}
}

// placeAll holds each seat of a show for a customer of its own.
func placeAll(b *testing.B, app, lane string, show uuid.UUID, n int) []uuid.UUID {
	b.Helper()
	s, stop := openLanes(b, app, lane, lanes.Config{Timeout: 30 * time.Second})
	defer stop()
	holds := make([]uuid.UUID, n)
	var next atomic.Int64
	var group sync.WaitGroup
	for range 200 {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				holds[i] = store.NewID()
				customer := holds[i].String()
				out, err := s.Do(b.Context(), show, boxoffice.Command{
					Actor: boxoffice.Actor{CustomerID: customer, Name: customer},
					Do: &boxoffice.PlaceReservation{ID: holds[i], CustomerID: customer,
						Seats: []boxoffice.SeatWant{{No: int32(i), TicketType: "standard"}}},
				})
				if err != nil || out.Err != nil {
					b.Error(err, out.Err)
					return
				}
			}
		})
	}
	group.Wait()
	return holds
}

// payAll pays the holds and returns pays a second and the 99th percentile of
// the time that one takes.
func payAll(b *testing.B, c *checkout.Checkout, holds []uuid.UUID, callers int) (float64, time.Duration) {
	b.Helper()
	took := make([]time.Duration, len(holds))
	var next, failed atomic.Int64
	var group sync.WaitGroup
	start := time.Now()
	for range callers {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(holds); i = int(next.Add(1)) - 1 {
				began := time.Now()
				customer := holds[i].String()
				key := boxoffice.IdempotencyKey{Owner: "bench", Key: uuid.New()}
				done, err := c.Book(b.Context(), boxoffice.Actor{CustomerID: customer, Name: customer}, &key, checkout.Request{
					ReservationID: holds[i], Buyer: boxoffice.Buyer{Name: "Ada Lovelace", Email: "ada@example.org"},
					Payment: checkout.Payment{Method: "card", Token: "sbx_ok"},
				})
				if (err != nil || done.Booking.Status != boxoffice.BookingConfirmed) && failed.Add(1) == 1 {
					b.Error(err, done)
				}
				took[i] = time.Since(began)
			}
		})
	}
	group.Wait()
	rate := float64(len(holds)) / time.Since(start).Seconds()
	slices.Sort(took)
	return rate, took[len(took)*99/100]
}

// auditPays checks after a round that each pay is one booking with its ticket
// and its money.
func auditPays(b *testing.B, pool *pgxpool.Pool, pays int) {
	b.Helper()
	for what, sql := range map[string]string{
		"confirmed bookings": `select count(*) from bookings where status = 'confirmed' and applied_payment_id is not null`,
		"booked seats":       `select count(*) from show_seats where state = 'b'`,
		"tickets":            `select count(*) from tickets where status = 'valid'`,
		"payments":           `select count(*) from payments where status = 'succeeded' and amount_minor = 2500`,
		"mails to be sent":   `select count(*) from river_job where kind = 'mail_send'`,
	} {
		var n int
		if err := pool.QueryRow(context.Background(), sql).Scan(&n); err != nil || n != pays {
			b.Errorf("%s: %d of %d, %v", what, n, pays, err)
		}
	}
}
