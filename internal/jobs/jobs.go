package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/rowlock/rowlock/internal/checkout"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/internal/telemetry"
)

// queueExpiry is apart from the default queue: what makes places free must not
// wait behind chores, and is polled ten times a second where those can wait.
const queueExpiry = "expiry"

// The queues of what waits for others: gateways and mail servers.
const (
	queuePayments = "payments"
	queueMail     = "mail"
)

const (
	// expiryPoll is how late a job of the expiry queue may start after it is
	// due. A poll costs a quarter of a millisecond of Postgres.
	expiryPoll = 100 * time.Millisecond

	chorePoll = 500 * time.Millisecond
	mailPoll  = 100 * time.Millisecond

	// River fetches at most expiryMax jobs each expiryCooldown: 2,000 a second.
	// A busy hour makes a few hundred a second, most of which will find nothing.
	expiryMax      = 100
	expiryCooldown = 50 * time.Millisecond

	// jobTimeout ends a job, and rescueAfter gives one that a dead process
	// left behind to another. River's own are a minute and an hour.
	jobTimeout  = 10 * time.Second
	rescueAfter = time.Minute

	// keepCompleted is how long the queue shows what was done. With a job for
	// each instant at which holds end, River's 24 hours would be millions of rows.
	keepCompleted = 10 * time.Minute

	choresMax   = 2  // chores at the same time
	paymentsMax = 32 // jobs that wait for gateways, each mostly without a connection
	mailMax     = 4  // forty mails a second; printing tickets costs processor time that buyers need more
)

// Config is what the jobs work with.
type Config struct {
	Store    *store.Store
	Checkout *checkout.Checkout
	// Post writes and sends mails; nil: no mails are sent.
	Post *Post
	// Pool is River's own, see [OpenPool].
	Pool *pgxpool.Pool
	// Workers is how many shows are tidied up at the same time, each on one
	// connection of the store's pool; 0 means 8.
	Workers int
	// StopTimeout is how long running jobs may take to end when Run's context
	// does; then they are cancelled and go back to the queue. 0 means 20 s.
	StopTimeout time.Duration
	Metrics     *telemetry.Metrics
	Log         *slog.Logger
}

// Jobs works the queue.
type Jobs struct {
	cfg     Config
	client  *river.Client[pgx.Tx]
	working atomic.Bool
}

// OpenPool connects River's own pool. The URL must lead to Postgres itself: a
// pooler in transaction mode loses LISTEN. One connection listens; the others,
// at least one, fetch and complete jobs.
func OpenPool(ctx context.Context, url string, connectionsMax int) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("jobs: database URL: %w", err)
	}
	c.MaxConns = int32(max(2, connectionsMax))
	c.ConnConfig.RuntimeParams["application_name"] = "rowlock jobs"
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return pool, nil
}

// New makes a worker of all kinds of job. It starts nothing.
func New(cfg Config) (*Jobs, error) {
	cfg.Workers = cmp.Or(cfg.Workers, 8)
	cfg.StopTimeout = cmp.Or(cfg.StopTimeout, 20*time.Second)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Metrics == nil {
		cfg.Metrics = telemetry.NewMetrics()
	}
	j := &Jobs{cfg: cfg}
	workers := river.NewWorkers()
	river.AddWorker(workers, &expireReservations{store: cfg.Store, metrics: cfg.Metrics, turns: newTurns(cfg.Workers)})
	river.AddWorker(workers, &sweepReservations{store: cfg.Store, metrics: cfg.Metrics})
	river.AddWorker(workers, &purge[PurgeIdempotencyKeysArgs]{batch: cfg.Store.PurgeIdempotencyKeys})
	river.AddWorker(workers, &purge[PurgeSessionsArgs]{batch: cfg.Store.PurgeSessions})
	river.AddWorker(workers, &purge[PurgeQueueEntriesArgs]{batch: cfg.Store.PurgeQueueEntries})
	river.AddWorker(workers, &purge[PurgeWaitlistBuyersArgs]{batch: cfg.Store.PurgeWaitlistBuyers})

	river.AddWorker(workers, &purge[PurgePaymentEventsArgs]{batch: cfg.Store.PurgePaymentEvents})
	river.AddWorker(workers, &settlePayments{checkout: cfg.Checkout, turns: newTurns(cfg.Workers)})
	river.AddWorker(workers, &sweepPayments{store: cfg.Store, checkout: cfg.Checkout})
	river.AddWorker(workers, &sendRefund{checkout: cfg.Checkout})
	river.AddWorker(workers, &applyPaymentEvent{checkout: cfg.Checkout})
	river.AddWorker(workers, &cancelShow{checkout: cfg.Checkout})
	river.AddWorker(workers, &remindBuyers{store: cfg.Store, mails: cfg.Post != nil})
	river.AddWorker(workers, &sweepWaitlists{store: cfg.Store})
	river.AddWorker(workers, &sendMail{post: cfg.Post, metrics: cfg.Metrics})

	client, err := river.NewClient(riverpgxv5.New(cfg.Pool), &river.Config{
		Logger:  cfg.Log,
		Workers: workers,
		Queues: map[string]river.QueueConfig{
			queueExpiry:        {MaxWorkers: expiryMax, FetchPollInterval: expiryPoll, FetchCooldown: expiryCooldown},
			queuePayments:      {MaxWorkers: paymentsMax, FetchPollInterval: chorePoll},
			queueMail:          {MaxWorkers: mailMax, FetchPollInterval: mailPoll},
			river.QueueDefault: {MaxWorkers: choresMax},
		},
		PeriodicJobs: []*river.PeriodicJob{
			every(sweepEvery, SweepReservationsArgs{}),
			every(purgeEvery, PurgeIdempotencyKeysArgs{}),
			every(purgeEvery, PurgeSessionsArgs{}),
			every(purgeEvery, PurgeQueueEntriesArgs{}),
			every(purgeEvery, PurgeWaitlistBuyersArgs{}),
			every(purgeEvery, PurgePaymentEventsArgs{}),
			every(sweepEvery, SweepPaymentsArgs{}),
			every(remindEvery, RemindBuyersArgs{}),
			every(waitlistEvery, SweepWaitlistsArgs{}),
		},
		Middleware: []rivertype.Middleware{river.WorkerMiddlewareFunc(j.work)},
		// During a rolling deploy the old binary leaves new kinds to the new one.
		FetchOnlyKnownKinds:         true,
		JobTimeout:                  jobTimeout,
		RescueStuckJobsAfter:        rescueAfter,
		CompletedJobRetentionPeriod: keepCompleted,
		SoftStopTimeout:             cfg.StopTimeout,
		// The service's role does not own the tables, so it cannot rebuild
		// their indexes; sql/ops/bloat.sql shows when somebody should.
		ReindexerSchedule: river.NeverSchedule(),
	})
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	j.client = client
	return j, nil
}

// every makes a chore that runs at regular intervals in one of all processes,
// at once when a process becomes the leader. One that failed is not tried
// again: the next is on its way.
func every(interval time.Duration, args river.JobArgs) *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(interval),
		func() (river.JobArgs, *river.InsertOpts) { return args, &river.InsertOpts{MaxAttempts: 1} },
		&river.PeriodicJobOpts{ID: args.Kind(), RunOnStart: true})
}

// Run works jobs until ctx ends; then it fetches no more, lets the running ones
// end within the stop timeout, and returns nil.
func (j *Jobs) Run(ctx context.Context) error {
	if err := j.client.Start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("jobs: %w", err)
	}
	j.working.Store(true)
	defer j.working.Store(false)
	<-j.client.Stopped()
	if ctx.Err() == nil {
		return errors.New("jobs: River stopped by itself")
	}
	return nil
}

// Ready says whether jobs are being worked, for /readyz.
func (j *Jobs) Ready(context.Context) error {
	if !j.working.Load() {
		return errors.New("jobs: not working")
	}
	return nil
}

// work surrounds every job: it turns what the job says into what River does
// about it, and counts.
func (j *Jobs) work(ctx context.Context, job *rivertype.JobRow, do func(context.Context) error) (err error) {
	began := time.Now()
	result := resultFailed // also of a panic, which goes on to River
	defer func() {
		j.cfg.Metrics.Jobs.WithLabelValues(job.Kind, result).Inc()
		j.cfg.Metrics.JobSeconds.WithLabelValues(job.Kind).Observe(time.Since(began).Seconds())
	}()
	result, err = outcome(ctx, job, do(ctx))
	return err
}
