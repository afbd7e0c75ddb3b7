//go:build unix

package cluster

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/rowlock/rowlock/internal/sandbox"
)

var (
	//go:embed sql/mid_transaction.sql
	sqlMidTransaction string
	//go:embed sql/jobs_again.sql
	sqlJobsAgain string
)

// Kind names a fault, for seeds and reports.
type Kind string

// The kinds of fault, with the method that each stands for.
const (
	InstanceKilled Kind = "instance killed"        // KillInstance
	WorkerKilled   Kind = "worker killed"          // KillWorker
	InstanceFrozen Kind = "instance frozen"        // Freeze
	ClockWrong     Kind = "clock of a process off" // ClockOff
	PostgresKilled Kind = "postgres killed"        // KillPostgres
	PostgresFell   Kind = "postgres fell"          // by itself; see [Cluster.Falls]
	Promoted       Kind = "standby promoted"       // Promote
	StandbyHung    Kind = "standby hung"           // HangStandby
	HungPromoted   Kind = "hung standby promoted"  // PromoteHung
	ClockStepped   Kind = "database clock stepped" // StepDatabaseClock
	Cut            Kind = "connections cut"        // CutConnections
	CutBefore      Kind = "cut before commit"      // CutAt
	CutAfter       Kind = "cut after commit"       // CutAt
	Slowed         Kind = "connections slowed"     // SlowConnections
	Silenced       Kind = "connections silent"     // SilenceConnections
	JobsPaused     Kind = "jobs paused"            // PauseJobs
	JobsTwice      Kind = "jobs run twice"         // RunJobsTwice
	GatewayUnsure  Kind = "gateway unsure"         // UnsureGateway
	WebhooksHeld   Kind = "webhooks held"          // HoldWebhooks
	WebhooksMixed  Kind = "webhooks mixed up"      // RepeatWebhooks
)

// Event is a fault that happened.
type Event struct {
	Kind         Kind
	What         string // in words, with the particulars: "instance 1 killed, started again after 1.2s"
	Began, Ended time.Time
	// Idle says that there was nothing that the fault could have done anything to.
	Idle bool
	// Caught tells of a freeze in the middle of a transaction, and is nil
	// otherwise.
	Caught *Caught
}

// Caught says what an instance had that was frozen in the middle of a
// transaction.
type Caught struct {
	Instance int
	At       time.Time
	Shows    []uuid.UUID // whose locks it had
}

// errIdle is that a fault found nothing to do anything to.
var errIdle = errors.New("cluster: nothing was there")

func idle(n int) error {
	if n == 0 {
		return errIdle
	}
	return nil
}

// fault does something on a part of the cluster when no other fault is at work
// there, and tells of it. do returns what it did.
func (c *Cluster) fault(ctx context.Context, kind Kind, part turn, do func() (what string, err error)) (Event, error) {
	if err := part.take(ctx); err != nil {
		return Event{}, err
	}
	defer part.leave()
	e := Event{Kind: kind, Began: time.Now()}
	c.log.Info("fault", "kind", kind)
	what, err := do()
	e.What, e.Ended, e.Idle = what, time.Now(), errors.Is(err, errIdle)
	if err != nil && !e.Idle {
		return e, fmt.Errorf("%s: %w", kind, err)
	}
	c.log.Info("repaired", "kind", kind, "what", what, "took", e.Ended.Sub(e.Began).Round(time.Millisecond))
	return e, nil
}

// KillInstance kills an instance as kill -9 does, and starts it again when down
// has passed.
func (c *Cluster) KillInstance(ctx context.Context, i int, down time.Duration) (Event, error) {
	return c.kill(ctx, InstanceKilled, c.processes[i], down)
}

// KillWorker is KillInstance for a process that only works jobs.
func (c *Cluster) KillWorker(ctx context.Context, i int, down time.Duration) (Event, error) {
	return c.kill(ctx, WorkerKilled, c.processes[c.cfg.Instances+i], down)
}

func (c *Cluster) kill(ctx context.Context, kind Kind, p *process, down time.Duration) (Event, error) {
	return c.fault(ctx, kind, p.turn, func() (string, error) {
		if err := p.down(syscall.SIGKILL); err != nil {
			return "", err
		}
		down := last(ctx, down)
		p.up()
		return fmt.Sprintf("%s killed, started again after %v", p.name, down), p.awaitReady(context.WithoutCancel(ctx))
	})
}

// Freeze stops an instance for d (SIGSTOP), and lets it go on. It catches the
// instance in the middle of a lane's transaction if it is selling within the
// next seconds; the event says whether it did.
func (c *Cluster) Freeze(ctx context.Context, i int, d time.Duration) (Event, error) {
	p := c.processes[i]
	var caught *Caught
	e, err := c.fault(ctx, InstanceFrozen, p.turn, func() (string, error) {
		locked, err := c.freezeMidTransaction(ctx, p)
		if err != nil {
			return "", err
		}
		at := time.Now()
		if locked {
			// Another instance's lane may have been slow for once. Who says nothing
			// for so long is the one that is frozen.
			if shows := c.locked(ctx, last(ctx, surely)); shows != nil {
				caught = &Caught{Instance: i, At: at, Shows: shows}
			}
		}
		last(ctx, d-time.Since(at))
		what := fmt.Sprintf("%s frozen for %v", p.name, time.Since(at).Round(time.Millisecond))
		if err := p.signal(syscall.SIGCONT); err != nil {
			return "", err
		}
		if caught != nil {
			what += " in the middle of a transaction"
		}
		return what, awaitAnswer(ctx, p)
	})
	e.Caught = caught
	return e, err
}

// Frozen in the middle means that a lane says nothing for settled after the
// signal; it is tried freezeTries times. Surely is much longer, and less than
// Postgres lets it have its locks.
const (
	settled     = 30 * time.Millisecond
	freezeTries = 60
	surely      = time.Second
)

// freezeMidTransaction stops the process again and again until it is caught
// with a show locked.
func (c *Cluster) freezeMidTransaction(ctx context.Context, p *process) (caught bool, err error) {
	for range freezeTries {
		if err := p.signal(syscall.SIGSTOP); err != nil {
			return false, err
		}
		last(ctx, settled)
		if c.locked(ctx, settled/2) != nil {
			return true, nil
		}
		if err := p.signal(syscall.SIGCONT); err != nil {
			return false, err
		}
		last(ctx, time.Duration(c.draw(50))*time.Millisecond)
	}
	return false, p.signal(syscall.SIGSTOP)
}

// locked are the shows that lanes have which have been silent for so long; none,
// too, while another fault keeps the database away.
func (c *Cluster) locked(ctx context.Context, silent time.Duration) []uuid.UUID {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.Database())
	if err != nil {
		return nil
	}
	defer conn.Close(context.WithoutCancel(ctx))
	rows, err := conn.Query(ctx, sqlMidTransaction, silent.Milliseconds())
	if err != nil {
		return nil
	}
	shows, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil || len(shows) == 0 {
		return nil
	}
	return shows
}

// awaitAnswer waits until a process that runs says that it is ready.
func awaitAnswer(ctx context.Context, p *process) error {
	ctx, cancel := repair(ctx)
	defer cancel()
	for !isReady(p.url) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("cluster: %s is not ready: %w\n%s", p.name, ctx.Err(), logTail(p.file))
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// ClockOff starts an instance again with a clock that is off by that much, in
// whole seconds, and once more with the right one when d has passed.
func (c *Cluster) ClockOff(ctx context.Context, i int, off, d time.Duration) (Event, error) {
	p := c.processes[i]
	again := func(off string) error {
		if err := p.down(syscall.SIGTERM); err != nil {
			return err
		}
		p.set(clockVariable, off)
		p.up()
		return p.awaitReady(context.WithoutCancel(ctx))
	}
	return c.fault(ctx, ClockWrong, p.turn, func() (string, error) {
		err := again(off.String())
		if err == nil {
			d = last(ctx, d)
		}
		return fmt.Sprintf("clock of %s off by %v for %v", p.name, off, d), errors.Join(err, again(""))
	})
}

// KillPostgres kills all processes of the primary, and starts it again on the
// same data when down has passed.
func (c *Cluster) KillPostgres(ctx context.Context, down time.Duration) (Event, error) {
	return c.fault(ctx, PostgresKilled, c.database.turn, func() (string, error) {
		down, err := c.database.crash(ctx, down)
		return fmt.Sprintf("Postgres killed, started again after %v", down), err
	})
}

var errNoStandby = errors.New("cluster: there is no standby")

// Promote kills the primary for good, promotes the standby, leads all
// connections there, and makes a new standby of a fresh copy in the place of
// the lost primary. Commits wait until that one follows.
func (c *Cluster) Promote(ctx context.Context) (Event, error) {
	return c.fault(ctx, Promoted, c.database.turn, func() (string, error) {
		if !c.cfg.Standby {
			return "", errNoStandby
		}
		if err := c.database.primary.server.Kill(); err != nil {
			return "", err
		}
		return "primary lost, standby promoted", c.failOver(ctx)
	})
}

func (c *Cluster) failOver(ctx context.Context) error {
	ctx, cancel := repair(ctx)
	defer cancel()
	return c.database.failOver(ctx, c.lead)
}

// HangStandby stops all processes of the standby for d: commits wait.
func (c *Cluster) HangStandby(ctx context.Context, d time.Duration) (Event, error) {
	return c.fault(ctx, StandbyHung, c.database.turn, func() (string, error) {
		if !c.cfg.Standby {
			return "", errNoStandby
		}
		if err := c.database.other.server.Freeze(); err != nil {
			return "", err
		}
		d := last(ctx, d)
		if err := c.database.other.server.Thaw(); err != nil {
			return "", err
		}
		ctx, cancel := repair(ctx)
		defer cancel()
		return fmt.Sprintf("standby hung for %v", d), c.database.awaitSynchronous(ctx)
	})
}

// PromoteHung is HangStandby, at the end of which the primary is lost and the
// standby, which lacks what nobody was promised, is promoted.
func (c *Cluster) PromoteHung(ctx context.Context, d time.Duration) (Event, error) {
	return c.fault(ctx, HungPromoted, c.database.turn, func() (string, error) {
		if !c.cfg.Standby {
			return "", errNoStandby
		}
		if err := c.database.other.server.Freeze(); err != nil {
			return "", err
		}
		d := last(ctx, d)
		if err := errors.Join(c.database.primary.server.Kill(), c.database.other.server.Thaw()); err != nil {
			return "", err
		}
		return fmt.Sprintf("standby hung for %v, then the primary lost and the standby promoted", d), c.failOver(ctx)
	})
}

// StepDatabaseClock sets the clock of both Postgres servers off by that much,
// and back when d has passed. It does not wait for other faults of theirs.
func (c *Cluster) StepDatabaseClock(ctx context.Context, off, d time.Duration) (Event, error) {
	return c.fault(ctx, ClockStepped, c.database.clockTurn, func() (string, error) {
		if c.database.clock == "" {
			return "", errors.New("cluster: the database's clock cannot be stepped")
		}
		if err := c.database.setClock(off); err != nil {
			return "", err
		}
		d := last(ctx, d)
		return fmt.Sprintf("database clock stepped by %v for %v", off, d), c.database.setClock(0)
	})
}

// onLine does a fault to the line of an instance, or of a worker if i is beyond
// the instances.
func (c *Cluster) onLine(ctx context.Context, kind Kind, i int, do func(l *line, name string) (what string, err error)) (Event, error) {
	if !c.cfg.Proxy {
		return Event{}, errors.New("cluster: there is no proxy")
	}
	return c.fault(ctx, kind, c.lines[i].turn, func() (string, error) { return do(c.lines[i], c.processes[i].name) })
}

// CutConnections cuts all connections between an instance and Postgres, and
// refuses new ones for d. Instances are numbered, and workers after them, as in
// all faults of lines.
func (c *Cluster) CutConnections(ctx context.Context, i int, d time.Duration) (Event, error) {
	return c.onLine(ctx, Cut, i, func(l *line, name string) (string, error) {
		if err := l.setCut(true); err != nil {
			return "", err
		}
		d := last(ctx, d)
		return fmt.Sprintf("connections of %s cut for %v", name, d), l.setCut(false)
	})
}

// CutAt cuts, for d, each connection of an instance on which a COMMIT is sent:
// when Postgres has done it and before the instance hears of it (after), or
// before Postgres gets it, which has then whatever was sent with it.
func (c *Cluster) CutAt(ctx context.Context, i int, after bool, d time.Duration) (Event, error) {
	kind := CutBefore
	if after {
		kind = CutAfter
	}
	return c.onLine(ctx, kind, i, func(l *line, name string) (string, error) {
		cure, err := l.cutAtCommits(after)
		if err != nil {
			return "", err
		}
		d := last(ctx, d)
		cuts, err := cure()
		return fmt.Sprintf("%d connections of %s %s in %v", cuts, name, kind, d), cmp.Or(err, idle(cuts))
	})
}

// SlowConnections delays what Postgres answers an instance by latency, give or
// take half of it, and lets through no more than 256 KB/s, for d.
func (c *Cluster) SlowConnections(ctx context.Context, i int, latency, d time.Duration) (Event, error) {
	return c.onLine(ctx, Slowed, i, func(l *line, name string) (string, error) {
		late, err := l.poison("latency", map[string]int64{"latency": latency.Milliseconds(), "jitter": latency.Milliseconds() / 2})
		if err != nil {
			return "", err
		}
		narrow, err := l.poison("bandwidth", map[string]int64{"rate": 256})
		if err != nil {
			return "", errors.Join(err, late())
		}
		d := last(ctx, d)
		return fmt.Sprintf("answers to %s late by %v for %v", name, latency, d), errors.Join(narrow(), late())
	})
}

// SilenceConnections swallows what Postgres answers an instance for d; then
// those connections are closed.
func (c *Cluster) SilenceConnections(ctx context.Context, i int, d time.Duration) (Event, error) {
	return c.onLine(ctx, Silenced, i, func(l *line, name string) (string, error) {
		cure, err := l.poison("timeout", map[string]int64{"timeout": 0})
		if err != nil {
			return "", err
		}
		d := last(ctx, d)
		return fmt.Sprintf("no answers to %s for %v", name, d), cure()
	})
}

// onQueue lends a client of the queue that works no jobs. What it does must not
// wait for a standby.
func (c *Cluster) onQueue(ctx context.Context, do func(ctx context.Context, pool *pgxpool.Pool, queue *river.Client[pgx.Tx]) error) error {
	cfg, err := pgxpool.ParseConfig(c.Database())
	if err != nil {
		return err
	}
	cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "local"
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer pool.Close()
	queue, err := river.NewClient(riverpgxv5.New(pool), &river.Config{})
	if err != nil {
		return err
	}
	return do(ctx, pool, queue)
}

// insist repeats what a fault of the database may have kept from being done, or
// that it fell by itself and is about to be there again: libfaketime reads a
// file whenever it is asked for the time, also in the middle of malloc.
func insist(ctx context.Context, do func(ctx context.Context) error) error {
	for {
		err := do(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// PauseJobs pauses all queues for d. A process that misses the word, because its
// connections are cut at that moment, hears of it within a minute.
func (c *Cluster) PauseJobs(ctx context.Context, d time.Duration) (Event, error) {
	return c.fault(ctx, JobsPaused, c.jobs, func() (string, error) {
		repairing, cancel := context.WithTimeout(context.WithoutCancel(ctx), d+repairMax)
		defer cancel()
		if err := insist(repairing, func(ctx context.Context) error {
			return c.onQueue(ctx, func(ctx context.Context, _ *pgxpool.Pool, queue *river.Client[pgx.Tx]) error {
				return queue.QueuePause(ctx, "*", nil)
			})
		}); err != nil {
			return "", err
		}
		d := last(ctx, d)
		return fmt.Sprintf("jobs paused for %v", d), insist(repairing, func(ctx context.Context) error {
			return c.onQueue(ctx, func(ctx context.Context, _ *pgxpool.Pool, queue *river.Client[pgx.Tx]) error {
				return queue.QueueResume(ctx, "*", nil)
			})
		})
	})
}

// copiedJob is a job of any kind, as the queue has it.
type copiedJob struct {
	kind, args, queue string
}

func (j copiedJob) Kind() string                 { return j.kind }
func (j copiedJob) MarshalJSON() ([]byte, error) { return json.RawMessage(j.args), nil }

// RunJobsTwice puts copies of up to n of the latest jobs on the queue, whether
// they wait, are at work or have been done.
func (c *Cluster) RunJobsTwice(ctx context.Context, n int) (Event, error) {
	return c.fault(ctx, JobsTwice, c.jobs, func() (string, error) {
		repairing, cancel := repair(ctx)
		defer cancel()
		copied := 0
		err := insist(repairing, func(ctx context.Context) error {
			return c.onQueue(ctx, func(ctx context.Context, pool *pgxpool.Pool, queue *river.Client[pgx.Tx]) error {
				rows, err := pool.Query(ctx, sqlJobsAgain, n)
				if err != nil {
					return err
				}
				jobs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (j copiedJob, err error) {
					return j, row.Scan(&j.kind, &j.args, &j.queue)
				})
				if err != nil || len(jobs) == 0 {
					return err
				}
				var all []river.InsertManyParams
				for _, j := range jobs {
					all = append(all, river.InsertManyParams{Args: j, InsertOpts: &river.InsertOpts{Queue: j.queue}})
				}
				copied, err = queue.InsertManyFast(ctx, all)
				return err
			})
		})
		return fmt.Sprintf("%d jobs put on the queue once more", copied), cmp.Or(err, idle(copied))
	})
}

// UnsureGateway lets one in three of the calls of the gateway go wrong for d:
// done and not answered, answered late, or refused and not done.
func (c *Cluster) UnsureGateway(ctx context.Context, d time.Duration) (Event, error) {
	return c.fault(ctx, GatewayUnsure, c.gateway.calls, func() (string, error) {
		c.gateway.sandbox.Inject(func(*http.Request) sandbox.Fault {
			late := time.Duration(c.draw(3000)) * time.Millisecond
			return []sandbox.Fault{{Drop: true}, {After: late}, {Before: late, Drop: true}, {Refuse: true}, 11: {}}[c.draw(12)]
		})
		d := last(ctx, d)
		c.gateway.sandbox.Inject(nil)
		return fmt.Sprintf("gateway unsure for %v", d), nil
	})
}

// HoldWebhooks lets webhooks wait for d.
func (c *Cluster) HoldWebhooks(ctx context.Context, d time.Duration) (Event, error) {
	return c.fault(ctx, WebhooksHeld, c.gateway.webhooks, func() (string, error) {
		c.gateway.sandbox.HoldWebhooks()
		d := last(ctx, d)
		c.gateway.sandbox.ReleaseWebhooks()
		return fmt.Sprintf("webhooks held for %v", d), nil
	})
}

// RepeatWebhooks sends up to n of the latest webhooks once more, in any order.
func (c *Cluster) RepeatWebhooks(ctx context.Context, n int) (Event, error) {
	return c.fault(ctx, WebhooksMixed, c.gateway.webhooks, func() (string, error) {
		events := c.gateway.sandbox.Events()
		events = slices.Clone(events[max(0, len(events)-n):])
		for i := range events {
			j := c.draw(len(events))
			events[i], events[j] = events[j], events[i]
		}
		taken := 0
		for _, e := range events {
			// An instance may be down, or ctx over: it is one more delivery that is lost.
			status, err := c.gateway.sandbox.Deliver(ctx, e.ID)
			if err == nil && status < 300 {
				taken++
			}
		}
		return fmt.Sprintf("%d webhooks sent once more, %d taken", len(events), taken), idle(len(events))
	})
}

// Kinds are the faults that this cluster can have: all, or those without the
// parts that it was started without.
func (c *Cluster) Kinds() []Kind {
	kinds := []Kind{InstanceKilled, InstanceFrozen, ClockWrong, PostgresKilled, JobsPaused, JobsTwice, GatewayUnsure, WebhooksHeld, WebhooksMixed}
	if c.cfg.Workers > 0 {
		kinds = append(kinds, WorkerKilled)
	}
	if c.cfg.Standby {
		kinds = append(kinds, Promoted, StandbyHung, HungPromoted)
	}
	if c.cfg.Proxy {
		kinds = append(kinds, Cut, CutBefore, CutAfter, Slowed, Silenced)
	}
	if c.database.clock != "" {
		kinds = append(kinds, ClockStepped)
	}
	return kinds
}

// Inflict does a fault of a kind, with particulars (which process, for how
// long) drawn from rng. It blocks until the fault is over and repaired: mostly
// seconds, half a minute for an instance that is frozen. Cancelling ctx cuts it
// short.
func (c *Cluster) Inflict(ctx context.Context, kind Kind, rng *rand.Rand) (Event, error) {
	between := func(least, most time.Duration) time.Duration {
		return least + time.Duration(rng.Int64N(int64(most-least))).Round(time.Millisecond)
	}
	eitherWay := func(d time.Duration) time.Duration {
		if rng.IntN(2) == 0 {
			return -d
		}
		return d
	}
	short, long := between(0, 2*time.Second), between(time.Second, 6*time.Second)
	instance, any := rng.IntN(c.cfg.Instances), rng.IntN(len(c.processes))
	switch kind {
	case InstanceKilled:
		return c.KillInstance(ctx, instance, short)
	case WorkerKilled:
		return c.KillWorker(ctx, any%max(1, c.cfg.Workers), short)
	case InstanceFrozen:
		return c.Freeze(ctx, instance, 30*time.Second)
	case ClockWrong:
		return c.ClockOff(ctx, instance, eitherWay(90*time.Second), long)
	case PostgresKilled:
		return c.KillPostgres(ctx, short)
	case Promoted:
		return c.Promote(ctx)
	case StandbyHung:
		return c.HangStandby(ctx, long)
	case HungPromoted:
		return c.PromoteHung(ctx, long)
	case ClockStepped:
		return c.StepDatabaseClock(ctx, eitherWay(between(time.Second, 90*time.Second)), long)
	case Cut:
		return c.CutConnections(ctx, any, short)
	case CutBefore, CutAfter:
		return c.CutAt(ctx, any, kind == CutAfter, short)
	case Slowed:
		return c.SlowConnections(ctx, any, between(5*time.Millisecond, 200*time.Millisecond), long)
	case Silenced:
		return c.SilenceConnections(ctx, any, long)
	case JobsPaused:
		return c.PauseJobs(ctx, long)
	case JobsTwice:
		return c.RunJobsTwice(ctx, 1+rng.IntN(100))
	case GatewayUnsure:
		return c.UnsureGateway(ctx, long)
	case WebhooksHeld:
		return c.HoldWebhooks(ctx, long)
	case WebhooksMixed:
		return c.RepeatWebhooks(ctx, 1+rng.IntN(30))
	}
	return Event{}, fmt.Errorf("cluster: there is no fault %q", kind)
}
