package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/internal/telemetry"
)

const (
	sweepEvery = 30 * time.Second

	// sweepGrace is how long after its end a hold is left to its own job,
	// which may be five seconds late by River's clockwork.
	sweepGrace    = 10 * time.Second
	sweepShowsMax = 1000
	sweepTimeout  = 25 * time.Second // less than sweepEvery: sweeps do not pile up

	lagEvery = 15 * time.Second
)

// ExpireReservationsArgs ask to close the holds of a show that are over.
type ExpireReservationsArgs struct {
	ShowID uuid.UUID `json:"showId"`
	At     time.Time `json:"at"` // when the holds end that the job was made for
}

// Kind implements [river.JobArgs].
func (ExpireReservationsArgs) Kind() string { return "reservations_expire" }

// Scheduler puts jobs on the queue in the lane's transaction; it is the
// store's [store.Scheduler]. It has no connection of its own and works
// nothing, so that the store can be opened with it before there are workers,
// which in turn need the store.
type Scheduler struct {
	client *river.Client[pgx.Tx]
	mails  bool
}

// NewScheduler makes a scheduler; log gets what River has to say. Without
// mails, nobody is to be told anything by mail, and no job is made for it.
func NewScheduler(log *slog.Logger, mails bool) (*Scheduler, error) {
	client, err := river.NewClient(riverpgxv5.New(nil), &river.Config{Logger: log})
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return &Scheduler{client, mails}, nil
}

// Schedule implements [store.Scheduler]. The jobs are due by the database
// clock, from which the instants come. As they are scheduled and not available,
// River sends no NOTIFY from inside the lane's transaction.
func (s *Scheduler) Schedule(ctx context.Context, conn *pgx.Conn, b *pgx.Batch, ends []store.Ending, tasks []store.Task) error {
	jobs := make([]river.InsertManyParams, 0, len(ends)+len(tasks))
	for _, end := range ends {
		jobs = append(jobs, river.InsertManyParams{
			Args: ExpireReservationsArgs{ShowID: end.ShowID, At: end.At},
			// Few attempts: the sweep comes before the third.
			InsertOpts: &river.InsertOpts{Queue: queueExpiry, ScheduledAt: end.At, MaxAttempts: 5},
		})
	}
	for _, task := range tasks {
		if task.Kind != boxoffice.TaskMail || s.mails {
			jobs = append(jobs, jobOf(task))
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	_, err := s.client.InsertManyTx(ctx, pipelined{conn, b}, jobs)
	return err
}

// expireReservations closes what is overdue in a show, whether it is what the
// job was made for or not.
type expireReservations struct {
	river.WorkerDefaults[ExpireReservationsArgs]
	store   *store.Store
	metrics *telemetry.Metrics
	turns   *turns
}

func (w *expireReservations) Work(ctx context.Context, job *river.Job[ExpireReservationsArgs]) error {
	end, err := w.turns.take(ctx, job.Args.ShowID)
	if err != nil || end == nil {
		return err // or another job is about to do this one's work too
	}
	defer end()
	closed, err := w.store.ExpireReservations(ctx, job.Args.ShowID, boxoffice.ReasonExpired)
	if closed > 0 {
		w.metrics.ExpirySeconds.Observe(max(0, time.Since(job.Args.At).Seconds()))
	}
	return err
}

// SweepReservationsArgs ask to close what is overdue in any show.
type SweepReservationsArgs struct{}

// Kind implements [river.JobArgs].
func (SweepReservationsArgs) Kind() string { return "reservations_sweep" }

type sweepReservations struct {
	river.WorkerDefaults[SweepReservationsArgs]
	store   *store.Store
	metrics *telemetry.Metrics
}

func (w *sweepReservations) Timeout(*river.Job[SweepReservationsArgs]) time.Duration {
	return sweepTimeout
}

// Work takes the most overdue show first. One that cannot be swept, because it
// is locked for long, does not keep the others waiting for the next sweep.
func (w *sweepReservations) Work(ctx context.Context, _ *river.Job[SweepReservationsArgs]) error {
	shows, err := w.store.OverdueShows(ctx, sweepGrace, sweepShowsMax)
	if err != nil {
		return err
	}
	var failed []error
	for _, show := range shows {
		closed, err := w.store.ExpireReservations(ctx, show.ShowID, boxoffice.ReasonSwept)
		w.metrics.Swept.Add(float64(closed))
		if closed > 0 {
			w.metrics.ExpirySeconds.Observe(show.Lag.Seconds())
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("show %s: %w", show.ShowID, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

// WatchLag measures, until ctx ends, how long ago the oldest hold ended that is
// not closed; how long the job has been running that has run longest, which a
// dead process may have left behind; and how old the oldest snapshot is, which
// makes selling slower by the minute. It runs in every process, also in those
// that work no jobs.
func WatchLag(ctx context.Context, s *store.Store, metrics *telemetry.Metrics) error {
	tick := time.NewTicker(lagEvery)
	defer tick.Stop()
	for {
		// An error leaves the last figure: the database's absence has alarms
		// of its own.
		if shows, err := s.OverdueShows(ctx, 0, 1); err == nil {
			lag := time.Duration(0)
			if len(shows) > 0 {
				lag = shows[0].Lag
			}
			metrics.ExpiryLag.Set(lag.Seconds())
		}
		if age, err := s.OldestJob(ctx); err == nil {
			metrics.OldestJob.Set(age.Seconds())
		}
		if age, err := s.OldestSnapshot(ctx); err == nil {
			metrics.OldestSnapshot.Set(age.Seconds())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
