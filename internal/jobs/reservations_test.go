package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/riverqueue/river"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/internal/telemetry"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// limit turns a hang into a failure. Nothing is measured against it.
const limit = time.Minute

// house is a database with a store at work on it.
type house struct {
	t     *testing.T
	ctx   context.Context
	db    *pgtest.DB
	super *pgxpool.Pool
	store *store.Store
}

// newHouse opens a store whose expiry jobs are scheduled, or, for the sweep's
// tests, are not.
func newHouse(t *testing.T, scheduled bool) *house {
	t.Helper()
	h := &house{t: t, db: pgtest.New(t)}
	h.super = h.db.Pool("")
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	h.ctx = ctx
	t.Cleanup(cancel)
	h.store = fixture.On(t, h.db, func(cfg *store.Config) {
		if !scheduled {
			return
		}
		scheduler, err := NewScheduler(slog.New(slog.DiscardHandler), true)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Jobs = scheduler
	})
	return h
}

func (h *house) exec(sql string, args ...any) {
	h.t.Helper()
	if _, err := h.super.Exec(h.ctx, sql, args...); err != nil {
		h.t.Fatal(err)
	}
}

// read reads one value.
func read[T any](h *house, sql string, args ...any) T {
	h.t.Helper()
	rows, err := h.super.Query(h.ctx, sql, args...)
	if err != nil {
		h.t.Fatal(err)
	}
	v, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	if err != nil {
		h.t.Fatal(err)
	}
	return v
}

// show makes a stock of 100 places.
func (h *house) show() (show, area uuid.UUID) {
	h.t.Helper()
	made := fixture.Show(h.t, h.store, fixture.Options{Floor: 100})
	return made.ID, made.Areas[0].ID
}

// hold holds one place of the area for so many seconds.
func (h *house) hold(show, area uuid.UUID, seconds int) *store.ReservationView {
	h.t.Helper()
	r, _, err := h.store.PlaceReservation(h.ctx, boxoffice.Actor{CustomerID: "c", Name: "c"}, nil, store.PlaceRequest{
		ShowID: show, CustomerID: "c", TTLSeconds: seconds, Areas: []store.AreaRef{{ID: area, Quantity: 1}},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// overdue moves the end of a show's holds into the past.
func (h *house) overdue(show uuid.UUID, by time.Duration) {
	h.t.Helper()
	h.exec(`update reservations set expires_at = clock_timestamp() - $2::interval, created_at = clock_timestamp() - $2::interval - interval '1 minute'
	         where show_id = $1`, show, by)
}

func (h *house) pool() *pgxpool.Pool {
	h.t.Helper()
	pool, err := OpenPool(h.ctx, h.db.URL(store.RoleApp), 4)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(pool.Close)
	return pool
}

// jobs makes a worker and tells of jobs that ended. start runs it and returns
// what stops it again.
func (h *house) jobs(cfg Config) (j *Jobs, events <-chan *river.Event, start func() (stop func())) {
	h.t.Helper()
	cfg.Store, cfg.Pool = h.store, h.pool()
	j, err := New(cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	events, unsubscribe := j.client.Subscribe(river.EventKindJobCompleted, river.EventKindJobFailed,
		river.EventKindJobCancelled, river.EventKindJobSnoozed, river.EventKindJobInterrupted)
	h.t.Cleanup(unsubscribe)
	return j, events, func() func() {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- j.Run(ctx) }()
		stop := func() {
			cancel()
			if err, ok := <-ended; ok && err != nil {
				h.t.Error(err)
			}
		}
		h.t.Cleanup(func() { cancel(); <-ended })
		return func() { stop(); close(ended) }
	}
}

// next waits for the next job of a kind to end.
func (h *house) next(events <-chan *river.Event, kind string) *river.Event {
	h.t.Helper()
	for {
		select {
		case e := <-events:
			if e.Job.Kind == kind {
				return e
			}
		case <-h.ctx.Done():
			h.t.Fatalf("no job %s ended", kind)
		}
	}
}

// closed says how a reservation was closed in the database: by status, and not
// merely by the clock. It is empty while the reservation is not.
func (h *house) closed(id uuid.UUID) string {
	h.t.Helper()
	return read[string](h, `select case when status = 'active' then '' else status || ' ' || close_reason end from reservations where reservation_id = $1`, id)
}

func (h *house) held(show uuid.UUID) int {
	h.t.Helper()
	return read[int](h, `select held from show_areas where show_id = $1`, show)
}

// figure is what a counter or gauge says now.
func figure(m prometheus.Metric) float64 {
	var d dto.Metric
	if err := m.Write(&d); err != nil {
		panic(err)
	}
	return d.GetCounter().GetValue() + d.GetGauge().GetValue()
}

func TestAHoldIsClosedByItsJob(t *testing.T) {
	t.Parallel()
	h := newHouse(t, true)
	show, area := h.show()
	metrics := telemetry.NewMetrics()
	_, events, start := h.jobs(Config{Metrics: metrics})
	stop := start()
	r := h.hold(show, area, 1)
	if got := h.closed(r.ID); got != "" || h.held(show) != 1 {
		t.Fatalf("at first it is %q, %d held", got, h.held(show))
	}
	e := h.next(events, ExpireReservationsArgs{}.Kind())
	if e.Kind != river.EventKindJobCompleted {
		t.Fatalf("%s: %+v", e.Kind, e.Job.Errors)
	}
	if got := h.closed(r.ID); got != "expired expired" || h.held(show) != 0 {
		t.Errorf("after its job it is %q, %d held", got, h.held(show))
	}
	stop() // with the metrics all written
	if n := figure(metrics.Jobs.WithLabelValues("reservations_expire", "completed")); n != 1 {
		t.Errorf("%v jobs counted", n)
	}
}

func TestAJobThatRunsTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, true)
	show, area := h.show()
	r := h.hold(show, area, 900)
	h.overdue(show, time.Second)
	version := func() int64 { return read[int64](h, `select version from show_heads where show_id = $1`, show) }
	changes := func() int { return read[int](h, `select count(*)::int from changes where show_id = $1`, show) }

	w := &expireReservations{store: h.store, metrics: telemetry.NewMetrics(), turns: newTurns(1)}
	job := &river.Job[ExpireReservationsArgs]{Args: ExpireReservationsArgs{ShowID: show, At: r.ExpiresAt}}
	before := version()
	if err := w.Work(h.ctx, job); err != nil {
		t.Fatal(err)
	}
	once, logged := version(), changes()
	if once != before+1 || h.closed(r.ID) != "expired expired" {
		t.Fatalf("the first run: version %d after %d, %q", once, before, h.closed(r.ID))
	}
	if err := w.Work(h.ctx, job); err != nil {
		t.Fatal(err)
	}
	if version() != once || changes() != logged || h.held(show) != 0 {
		t.Errorf("the second run: version %d, %d changes, %d held; before it %d, %d, 0", version(), changes(), h.held(show), once, logged)
	}
}

func TestSweepClosesWhatNoJobDidAndLeavesTheRestToItsJob(t *testing.T) {
	t.Parallel()
	h := newHouse(t, false)
	lost, lostArea := h.show()
	fresh, freshArea := h.show()
	stuck, stuckArea := h.show()
	old, recent, held := h.hold(lost, lostArea, 900), h.hold(fresh, freshArea, 900), h.hold(stuck, stuckArea, 900)
	h.overdue(lost, 2*sweepGrace)
	h.overdue(fresh, 0)
	h.overdue(stuck, 3*sweepGrace) // and therefore first
	unlock := h.lock(stuck)

	metrics := telemetry.NewMetrics()
	w := &sweepReservations{store: h.store, metrics: metrics}
	err := w.Work(h.ctx, nil)
	if boxoffice.CodeOf(err) != boxoffice.CodeLockTimeout {
		t.Errorf("the locked show: %v", err)
	}
	for name, c := range map[string]struct {
		id   uuid.UUID
		want string
	}{"without a job": {old.ID, "expired swept"}, "just ended": {recent.ID, ""}, "in a locked show": {held.ID, ""}} {
		if got := h.closed(c.id); got != c.want {
			t.Errorf("a hold %s is %q, want %q", name, got, c.want)
		}
	}
	if n := figure(metrics.Swept); n != 1 {
		t.Errorf("%v counted as swept", n)
	}
	unlock()
	if err := w.Work(h.ctx, nil); err != nil || h.closed(held.ID) != "expired swept" {
		t.Errorf("after the lock: %v, %q", err, h.closed(held.ID))
	}
}

func TestSweepRunsByItself(t *testing.T) {
	t.Parallel()
	h := newHouse(t, false)
	show, area := h.show()
	r := h.hold(show, area, 900)
	h.overdue(show, time.Hour)
	_, events, start := h.jobs(Config{})
	start()
	if e := h.next(events, SweepReservationsArgs{}.Kind()); e.Kind != river.EventKindJobCompleted || e.Job.MaxAttempts != 1 || h.closed(r.ID) != "expired swept" {
		t.Errorf("%s, %d attempts, %q", e.Kind, e.Job.MaxAttempts, h.closed(r.ID))
	}
}

// lock holds a show's lock in a session of its own, as an instance that hangs
// would.
func (h *house) lock(show uuid.UUID) (unlock func()) {
	h.t.Helper()
	conn, err := h.super.Acquire(h.ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := conn.Exec(h.ctx, `select pg_advisory_lock(show_lock_key($1))`, show); err != nil {
		h.t.Fatal(err)
	}
	return func() {
		h.t.Helper()
		if _, err := conn.Exec(h.ctx, `select pg_advisory_unlock_all()`); err != nil {
			h.t.Error(err)
		}
		conn.Release()
	}
}

func TestAWorkerStoppedInTheMiddleLosesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, true)
	show, area := h.show()
	r := h.hold(show, area, 1)
	unlock := h.lock(show)
	j, _, start := h.jobs(Config{StopTimeout: time.Millisecond})
	stop := start()
	state := func() string {
		return read[string](h, `select state::text from river_job where kind = 'reservations_expire'`)
	}
	for state() != "running" {
		if h.ctx.Err() != nil {
			t.Fatal("the job did not start")
		}
	}
	stop()
	if err := j.Ready(h.ctx); err == nil {
		t.Error("a stopped worker says that it works")
	}
	if got := state(); got != "available" && got != "scheduled" || h.closed(r.ID) != "" {
		t.Fatalf("after the stop the job is %s, the hold %q", got, h.closed(r.ID))
	}
	unlock()
	_, events, start := h.jobs(Config{})
	start()
	if e := h.next(events, ExpireReservationsArgs{}.Kind()); e.Kind != river.EventKindJobCompleted || h.closed(r.ID) != "expired expired" {
		t.Errorf("%s, %q", e.Kind, h.closed(r.ID))
	}
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	h := newHouse(t, true)
	scheduler, err := NewScheduler(slog.New(slog.DiscardHandler), true)
	if err != nil {
		t.Fatal(err)
	}
	show, area := h.show()

	t.Run("OneJobForEachInstantDueExactlyThen", func(t *testing.T) {
		results := make(chan error, 20)
		for range cap(results) {
			go func() {
				_, _, err := h.store.PlaceReservation(h.ctx, boxoffice.Actor{Staff: true, Name: "staff"}, nil, store.PlaceRequest{
					ShowID: show, CustomerID: "c", Areas: []store.AreaRef{{ID: area, Quantity: 1}},
				})
				results <- err
			}()
		}
		for range cap(results) {
			if err := <-results; err != nil {
				t.Fatal(err)
			}
		}
		wrong := read[int](h, `
			select count(*)::int
			  from (select distinct show_id, expires_at from reservations) r
			  full join river_job j on (j.args->>'showId')::uuid = r.show_id and j.scheduled_at = r.expires_at
			   and j.kind = 'reservations_expire' and j.queue = 'expiry' and j.state = 'scheduled'
			 where r.show_id is null or j.id is null`)
		if wrong != 0 || read[int](h, `select count(*)::int from river_job`) == 0 {
			t.Errorf("%d instants without a job or jobs without an instant", wrong)
		}
	})
	t.Run("VanishesWithItsTransaction", func(t *testing.T) {
		before := read[int](h, `select count(*)::int from river_job`)
		rollback := errors.New("rollback")
		during := 0
		err := pgx.BeginFunc(h.ctx, h.super, func(tx pgx.Tx) error {
			ends := []store.Ending{{ShowID: show, At: time.Now().Add(time.Hour)}, {ShowID: show, At: time.Now().Add(2 * time.Hour)}}
			b := &pgx.Batch{}
			if err := scheduler.Schedule(h.ctx, tx.Conn(), b, ends, nil); err != nil {
				return err
			}
			if err := tx.SendBatch(h.ctx, b).Close(); err != nil {
				return err
			}
			if err := tx.QueryRow(h.ctx, `select count(*) from river_job`).Scan(&during); err != nil {
				return err
			}
			return rollback
		})
		if !errors.Is(err, rollback) || during != before+2 {
			t.Fatalf("%v, %d jobs during, %d before", err, during, before)
		}
		if after := read[int](h, `select count(*)::int from river_job`); after != before {
			t.Errorf("%d jobs after the rollback, %d before", after, before)
		}
	})
	t.Run("NothingToDo", func(t *testing.T) {
		b := &pgx.Batch{}
		if err := scheduler.Schedule(h.ctx, nil, b, nil, nil); err != nil || b.Len() > 0 {
			t.Error(err, b.Len())
		}
	})
}

func TestAJobForAHoldThatWasExtendedFindsNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, true)
	show, area := h.show()
	r := h.hold(show, area, 1)
	h.exec(`update reservations set expires_at = expires_at + interval '1 hour' where reservation_id = $1`, r.ID)
	_, events, start := h.jobs(Config{})
	start()
	if e := h.next(events, ExpireReservationsArgs{}.Kind()); e.Kind != river.EventKindJobCompleted || h.closed(r.ID) != "" || h.held(show) != 1 {
		t.Errorf("%s, %q", e.Kind, h.closed(r.ID))
	}
}

func TestUnknownKindsAreLeftToTheBinaryThatKnowsThem(t *testing.T) {
	t.Parallel()
	h := newHouse(t, true)
	show, area := h.show()
	h.exec(`insert into river_job (kind, args, max_attempts, queue, state) values ('from_the_future', '{}', 1, 'expiry', 'available')`)
	h.hold(show, area, 1)
	_, events, start := h.jobs(Config{})
	start()
	h.next(events, ExpireReservationsArgs{}.Kind()) // the same queue was worked
	if got := read[string](h, `select state::text from river_job where kind = 'from_the_future'`); got != "available" {
		t.Errorf("the job is %s", got)
	}
}

// Jobs of an older binary are in the queue when this one starts.
func TestArgumentsKeepTheirNames(t *testing.T) {
	t.Parallel()
	args := ExpireReservationsArgs{ShowID: uuid.MustParse("0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"), At: time.Date(2026, 11, 27, 20, 15, 0, 123456000, time.UTC)}
	b, err := json.Marshal(args)
	if want := `{"showId":"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e","at":"2026-11-27T20:15:00.123456Z"}`; err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
	if kind := args.Kind(); kind != "reservations_expire" {
		t.Error(kind)
	}
}

func TestWatchLagMeasuresTheOldestOverdueHold(t *testing.T) {
	t.Parallel()
	h := newHouse(t, false)
	show, area := h.show()
	h.hold(show, area, 900)
	h.overdue(show, time.Hour)
	metrics := telemetry.NewMetrics()
	ctx, cancel := context.WithCancel(h.ctx)
	ended := make(chan error, 1)
	go func() { ended <- WatchLag(ctx, h.store, metrics) }()
	for figure(metrics.ExpiryLag) < 3600 {
		if h.ctx.Err() != nil {
			t.Fatal("the lag was not measured")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestPurgeForgetsIdempotencyKeysAfterADay(t *testing.T) {
	t.Parallel()
	h := newHouse(t, false)
	h.exec(`insert into idempotency_keys (owner, key, organisation_id, fingerprint, created_at, receipt)
	        select 'o', gen_random_uuid(), $1, ''::bytea, clock_timestamp() - case when i > 3 then interval '25 hours' else interval '23 hours' end, '{}'
	          from generate_series(1, $2::int + 10) i`, boxoffice.DefaultOrganisationID, purgeBatch)
	w := &purge[PurgeIdempotencyKeysArgs]{batch: h.store.PurgeIdempotencyKeys}
	if err := w.Work(h.ctx, nil); err != nil {
		t.Fatal(err)
	}
	if left := read[int](h, `select count(*)::int from idempotency_keys`); left != 3 {
		t.Errorf("%d keys are left, 3 are younger than a day", left)
	}
}

func TestPurgeForgetsSessionsThatEnded(t *testing.T) {
	t.Parallel()
	h := newHouse(t, false)
	h.exec(`insert into sessions (session_id, organisation_id, customer_id, expires_at)
	        select gen_random_uuid(), $1, 'c', clock_timestamp() + i * interval '1 minute' from generate_series(-4, 4) i where i <> 0`, boxoffice.DefaultOrganisationID)
	w := &purge[PurgeSessionsArgs]{batch: h.store.PurgeSessions}
	if err := w.Work(h.ctx, nil); err != nil {
		t.Fatal(err)
	}
	if left := read[int](h, `select count(*)::int from sessions`); left != 4 {
		t.Errorf("%d sessions are left, 4 have not ended", left)
	}
}
