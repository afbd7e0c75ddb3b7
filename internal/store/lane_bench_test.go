package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/jobs"
	"github.com/rowlock/rowlock/internal/postgres"
	"github.com/rowlock/rowlock/internal/store"
)

// durable starts a server of its own for a benchmark, with fsync and
// synchronous commit on, and returns a migrated database; or the one that
// ROWLOCK_BENCH_DATABASE_URL names, which is emptied.
func durable(b *testing.B) (app, lane, super string) {
	b.Helper()
	if url := os.Getenv("ROWLOCK_BENCH_DATABASE_URL"); url != "" {
		return url, url, url
	}
	srv, err := postgres.Start(b.Context(), postgres.Config{Dir: b.TempDir(), Log: quiet, Settings: map[string]string{
		"shared_buffers": "1GB", "max_connections": "100", "max_wal_size": "4GB", "checkpoint_timeout": "15min",
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { srv.Stop() })
	super = srv.URL(postgres.Superuser, "postgres")
	if err := store.EnsureDatabase(b.Context(), super, "rowlock"); err != nil {
		b.Fatal(err)
	}
	super = srv.URL(postgres.Superuser, "rowlock")
	if err := store.EnsureRoles(b.Context(), super, nil); err != nil {
		b.Fatal(err)
	}
	if _, _, err := store.Migrate(b.Context(), srv.URL(store.RoleOwner, "rowlock"), quiet); err != nil {
		b.Fatal(err)
	}
	return srv.URL(store.RoleApp, "rowlock"), srv.URL(store.RoleLane, "rowlock"), super
}

// benchShows makes shows of n seats each in one hall, straight into the tables.
func benchShows(b *testing.B, pool *pgxpool.Pool, shows, n int) []uuid.UUID {
	b.Helper()
	ids := make([]uuid.UUID, shows)
	for i := range ids {
		ids[i] = store.NewID()
	}
	_, err := pool.Exec(b.Context(), `
		truncate idempotency_keys, changes, reservations, show_seats, show_areas, blocks, show_prices, show_heads, shows, plan_seats,
		         plan_categories, plans, hall_seats, halls, venues, events, river_job cascade`)
	if err != nil {
		b.Fatal(err)
	}
	org, venue, hall, plan, event := boxoffice.DefaultOrganisationID, store.NewID(), store.NewID(), store.NewID(), store.NewID()
	run := func(sql string, args ...any) {
		b.Helper()
		if _, err := pool.Exec(b.Context(), sql, args...); err != nil {
			b.Fatal(err)
		}
	}
	run(`insert into venues (venue_id, organisation_id, name, city, country, time_zone) values ($1, $2, 'v', 'c', 'FI', 'UTC')`, venue, org)
	run(`insert into halls (hall_id, organisation_id, venue_id, name) values ($1, $2, $3, 'h')`, hall, org, venue)
	run(`insert into events (event_id, organisation_id, kind, title) values ($1, $2, 'concert', 'e')`, event, org)
	run(`insert into plans (plan_id, organisation_id, hall_id, version, name, format, seat_count) values ($1, $2, $3, 1, 'p', 'csv', $4)`, plan, org, hall, n)
	run(`insert into plan_categories (plan_id, category_no, organisation_id, category_id, name) values ($1, 0, $2, gen_random_uuid(), 'A')`, plan, org)
	run(`insert into hall_seats (hall_id, seat_no, organisation_id, seat_id, section, row_name, seat_name)
	     select $1, i, $2, gen_random_uuid(), '', '', i::text from generate_series(0, $3::int - 1) i`, hall, org, n)
	run(`insert into plan_seats (plan_id, position, organisation_id, seat_no, label, category_no, kind)
	     select $1, i, $2, i, i::text, 0, 'standard' from generate_series(0, $3::int - 1) i`, plan, org, n)
	for _, id := range ids {
		run(`insert into shows (show_id, organisation_id, event_id, venue_id, hall_id, plan_id, status, starts_at, time_zone, currency)
		     values ($1, $2, $3, $4, $5, $6, 'on_sale', now() + interval '30 days', 'UTC', 'EUR')`, id, org, event, venue, hall, plan)
		run(`insert into show_heads (show_id, organisation_id) values ($1, $2)`, id, org)
		run(`insert into show_prices (show_id, category, ticket_type, organisation_id, amount_minor) values ($1, 'A', 'standard', $2, 2500)`, id, org)
		run(`insert into show_seats (show_id, seat_no, organisation_id) select $1, i, $2 from generate_series(0, $3::int - 1) i`, id, org, n)
	}
	run(`vacuum analyze`)
	return ids
}

// doer is a strategy: lanes, or a transaction for each request.
type doer interface {
	Do(ctx context.Context, show uuid.UUID, cmd boxoffice.Command) (boxoffice.Outcome, error)
}

// attempt places seats under a fresh key, as a request over HTTP would.
func attempt(ctx context.Context, d doer, show uuid.UUID, nos ...int32) error {
	var key boxoffice.IdempotencyKey
	key.Owner, key.Key = "bench", uuid.New()
	copy(key.Fingerprint[:], key.Key[:])
	place := &boxoffice.PlaceReservation{ID: store.NewID(), CustomerID: key.Key.String()}
	for _, no := range nos {
		place.Seats = append(place.Seats, boxoffice.SeatWant{No: no, TicketType: "standard"})
	}
	out, err := d.Do(ctx, show, boxoffice.Command{Key: &key, Actor: boxoffice.Actor{CustomerID: place.CustomerID, Name: place.CustomerID}, Do: place})
	if err == nil && out.Err != nil {
		err = out.Err
	}
	return err
}

// BenchmarkLane compares lanes with one transaction for each request, made of
// the same statements, over the same rows, in interleaved rounds of one run:
//
//	go test -run '^$' -bench Lane -benchtime 1x ./internal/store
//
// It prints rates per second (medians) and their ratio.
func BenchmarkLane(b *testing.B) {
	app, lane, super := durable(b)
	pool, err := pgxpool.New(b.Context(), super)
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	scenarios := []struct {
		name           string
		shows, seats   int
		callers        int
		contended      bool
		attempts       int // for the lanes
		perRequest     int // attempts for one transaction each, which is slower
		waitConnection int
	}{
		{"one hot show, all succeed", 1, 40_000, 400, false, 40_000, 2_000, 8},
		{"one hot show, contended", 1, 2_000, 400, true, 120_000, 6_000, 8},
		{"100 shows, all succeed", 100, 400, 400, false, 40_000, 3_000, 8},
		{"one caller, all succeed", 1, 4_000, 1, false, 2_000, 2_000, 1},
	}
	for _, sc := range scenarios {
		b.Run(sc.name, func(b *testing.B) {
			var lanesRates, requestRates []float64
			for range b.N {
				for range rounds {
					for _, strategy := range []string{"lanes", "per request"} {
						shows := benchShows(b, pool, sc.shows, sc.seats)
						s, stop := open(b, app, lane)
						var d doer = s
						n := sc.attempts
						if strategy == "per request" {
							p := store.NewPerRequest(s, sc.waitConnection)
							d, n = p, sc.perRequest
							defer p.Close()
						}
						attempt(b.Context(), d, shows[0], int32(sc.seats-1)) // warm: terms, statements
						rate := hammer(b, d, shows, sc.seats-1, sc.callers, n, sc.contended)
						if strategy == "lanes" {
							lanesRates = append(lanesRates, rate)
						} else {
							requestRates = append(requestRates, rate)
						}
						if p, ok := d.(*store.PerRequest); ok {
							p.Close()
						}
						stop()
						audit(b, pool)
					}
				}
			}
			l, r := median(lanesRates), median(requestRates)
			b.ReportMetric(l, "lanes/s")
			b.ReportMetric(r, "per-request/s")
			b.ReportMetric(l/r, "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

const rounds = 3

func median(v []float64) float64 {
	s := append([]float64(nil), v...)
	for i := range s {
		for j := i; j > 0 && s[j] < s[j-1]; j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
	return s[len(s)/2]
}

func open(b *testing.B, app, lane string) (*store.Store, func()) {
	b.Helper()
	scheduler, err := jobs.NewScheduler(quiet, false)
	if err != nil {
		b.Fatal(err)
	}
	s, err := store.Open(b.Context(), store.Config{URL: app, LaneURL: lane, Jobs: scheduler, Log: quiet})
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

// hammer makes n attempts with as many callers as said, and returns attempts a
// second.
func hammer(b *testing.B, d doer, shows []uuid.UUID, seats, callers, n int, contended bool) float64 {
	b.Helper()
	order := rand.Perm(seats * len(shows))
	if !contended {
		n = min(n, len(order))
	}
	var next, failed atomic.Int64
	var group sync.WaitGroup
	start := time.Now()
	for range callers {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				var err error
				if contended {
					first := rand.IntN(seats - 3)
					nos := []int32{int32(first), int32(first + 1), int32(first + 2)}
					err = attempt(b.Context(), d, shows[0], nos[:1+rand.IntN(3)]...)
					if boxoffice.CodeOf(err) == boxoffice.CodeSeatAlreadyReserved {
						err = nil
					}
				} else {
					at := order[i]
					err = attempt(b.Context(), d, shows[at%len(shows)], int32(at/len(shows)))
				}
				if err != nil && failed.Add(1) == 1 {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
	return float64(n) / time.Since(start).Seconds()
}

// audit checks after a round that nothing was sold twice and the log has no gap.
func audit(b *testing.B, pool *pgxpool.Pool) {
	b.Helper()
	for what, sql := range map[string]string{
		"seats with two active reservations": `select count(*) from (select show_id, seat_no from reservation_items where status = 'active' group by 1, 2 having count(*) > 1) x`,
		"held seats without their item": `select count(*) from (
			select show_id, seat_no, reservation_id from show_seats where state = 'h'
			except select show_id, seat_no, reservation_id from reservation_items where status = 'active') x`,
		"gaps in the log": `select count(*) from show_heads h left join (select show_id, count(distinct version) as n from changes group by 1) c
			using (show_id) where h.version <> coalesce(c.n, 0)`,
		"reservations without their key": `select abs((select count(*) from reservations) - (select count(*) from idempotency_keys))`,
	} {
		var n int
		if err := pool.QueryRow(context.Background(), sql).Scan(&n); err != nil || n != 0 {
			b.Error(what, fmt.Sprint(n), err)
		}
	}
}
