package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/live"
	"github.com/rowlock/rowlock/sql/queries"
)

var sqlServiceReplicaLag = queries.Must("service_replica_lag")

// How far a replica may be behind, and how often that is looked at. While
// nothing at all is written it seems to fall behind; then the primary has time.
const (
	replicaLagMax = 10 * time.Second
	replicaEvery  = time.Second
	replicaMax    = time.Second // for an answer; then the primary is asked
	replicaFollow = 2000        // log entries by which a whole map may be behind
)

// watchReplica looks whether the replica is of use, until ctx ends.
func (s *Store) watchReplica(ctx context.Context) {
	if s.replica == nil {
		return
	}
	for first := true; ; first = false {
		lag, err := s.replicaLag(ctx)
		useful := err == nil && lag <= replicaLagMax
		if was := s.useful.Swap(useful); (was != useful || first) && ctx.Err() == nil {
			s.log.Info("the replica", "useful", useful, "lag", lag, "error", err)
		}
		select {
		case <-time.After(replicaEvery):
		case <-ctx.Done():
			return
		}
	}
}

func (s *Store) replicaLag(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, replicaEvery)
	defer cancel()
	var seconds float64
	err := s.replica.QueryRow(ctx, sqlServiceReplicaLag).Scan(&seconds)
	return time.Duration(seconds * float64(time.Second)), err
}

// reading reads what may be a little old: lists and counts of the public
// catalogue. It does so on the replica if that is of use, and on the primary
// otherwise, and again there when the replica fails. Whatever must know what
// was acknowledged before it is read from the primary.
func (s *Store) reading(ctx context.Context, do func(ctx context.Context, q querier) error) error {
	if s.useful.Load() {
		if err := s.nearby(ctx, func(ctx context.Context) error { return do(ctx, s.replica) }); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return do(ctx, s.pool)
}

// nearby asks the replica. If that fails, or takes long, the primary may know
// better, and the replica is of no use until it is looked at again: it may be
// going away, or have ended the query because of what the primary has vacuumed.
func (s *Store) nearby(ctx context.Context, ask func(ctx context.Context) error) error {
	near, cancel := context.WithTimeout(ctx, replicaMax)
	defer cancel()
	err := ask(near)
	if err != nil && ctx.Err() == nil && boxoffice.CodeOf(err) != boxoffice.CodeNotFound { // which it may only not have yet
		s.useful.Store(false)
	}
	return err
}

// readSeatMapNearby reads a whole map from the replica, and from the primary
// what was logged since: twenty thousand rows there and a few here. The map is
// then as good as one from the primary. nil: it has to be read there.
func (s *Store) readSeatMapNearby(ctx context.Context, show uuid.UUID) *live.Map {
	if !s.useful.Load() {
		return nil
	}
	var m *live.Map
	err := s.nearby(ctx, func(ctx context.Context) error {
		return pgx.BeginTxFunc(ctx, s.replica, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) (err error) {
			m, err = s.readSeatMap(ctx, tx, show)
			return err
		})
	})
	if err != nil {
		return nil // it may be a show that the replica does not have yet
	}
	d, err := s.ReadSeatMapChanges(ctx, []live.Question{{ShowID: show, After: m.Version}}, replicaFollow)
	if err != nil || d[0] == nil || len(d[0].Changes) >= replicaFollow || !m.Follow(d[0]) {
		return nil
	}
	return m
}
