package store

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/lanes"
)

// Do sends a command through the lanes as the store's own methods do.
func (s *Store) Do(ctx context.Context, show uuid.UUID, cmd boxoffice.Command) (boxoffice.Outcome, error) {
	return s.do(ctx, show, &laneCommand{Command: cmd})
}

// Replan says how old a lane's plans may be.
func (s *Store) Replan(age time.Duration) { s.replan = age }

// QueueFor says how long a batch that had few of its shows waits for one.
func (s *Store) QueueFor(most time.Duration) { s.queueMax = most }

// PerRequest works commands one transaction each, with the lanes' own
// statements, locks and round trips, and without lanes: what the benchmarks
// compare with. Requests share n connections and wait for the show's lock.
type PerRequest struct {
	conns []*lanes.Set[*laneCommand, boxoffice.Outcome]
	next  atomic.Uint64
	stop  func()
	done  sync.WaitGroup
}

// NewPerRequest makes n connections, each of which works one command at a time.
func NewPerRequest(s *Store, n int) *PerRequest {
	ctx, cancel := context.WithCancel(context.Background())
	p := &PerRequest{stop: cancel}
	for range n {
		set := lanes.New(lanes.Config{Lanes: 1, BatchMax: 1, QueueMax: 1 << 16, Timeout: 5 * time.Second, AnswerMax: time.Minute},
			func(bool) lanes.Worker[*laneCommand, boxoffice.Outcome] { return s.openLane(true) })
		p.conns = append(p.conns, set)
		p.done.Go(func() { set.Run(ctx) })
	}
	return p
}

// Do works a command on the next connection.
func (p *PerRequest) Do(ctx context.Context, show uuid.UUID, cmd boxoffice.Command) (boxoffice.Outcome, error) {
	return p.conns[p.next.Add(1)%uint64(len(p.conns))].Do(ctx, show, &laneCommand{Command: cmd})
}

// Close ends the connections.
func (p *PerRequest) Close() {
	p.stop()
	p.done.Wait()
}

// Gather has a store that does not run yet work its commands n at a time, in
// one batch.
func (s *Store) Gather(n int) {
	s.lanes = lanes.New(lanes.Config{Lanes: 1, Timeout: 5 * time.Second, Observer: s.cfg.Lanes.Observer}, func(waiting bool) lanes.Worker[*laneCommand, boxoffice.Outcome] {
		return gathering{s.openLane(waiting), n}
	})
}

// gathering is a worker to which a show is busy until all are there.
type gathering struct {
	lanes.Worker[*laneCommand, boxoffice.Outcome]
	n int
}

func (g gathering) Work(ctx context.Context, calls []*laneCall) (busy []*laneCall) {
	if len(calls) < g.n {
		return calls
	}
	return g.Worker.Work(ctx, calls)
}

// LockKeyOf is the advisory lock of an idempotency key.
var LockKeyOf = lockKeyOf

// LaneSettings are the settings of a lane's session.
var LaneSettings = laneSettings

// NewReference makes a booking's reference.
var NewReference = newReference

// ReportArrivals does what RunQueues does every second.
func (s *Store) ReportArrivals(ctx context.Context) { s.reportArrivals(ctx) }

// ReplicaIsUseful reports whether reads go to the replica.
func (s *Store) ReplicaIsUseful() bool { return s.useful.Load() }

// TrustReplica has reads go to the replica until it is found wanting.
func (s *Store) TrustReplica() { s.useful.Store(true) }

// Tx is what every transaction on the pool goes through.
func (s *Store) Tx(ctx context.Context, do func(ctx context.Context, tx pgx.Tx) error) error {
	return s.tx(ctx, do)
}
