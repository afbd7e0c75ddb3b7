// Package strategies sells seats in the ways that Rowlock is compared with.
//
// Each is a [store.Road]: given to [store.Open], it stands where the lanes
// would, with the same store and the same HTTP code in front of it. All of them
// write what the lanes write: reservation, seats, log, idempotency key with its
// receipt, and a job for the hold's end. The rules are the lanes' own, too
// ([boxoffice.Decide] of one command), so that answers and rows are the same and
// what differs is how the strategies keep two buyers from one seat:
//
//	naive     looks whether the seats are free, then takes them
//	waiting   SELECT … FOR UPDATE, in seat order, which waits for whoever has a row
//	pipelined waiting, in as few round trips as there can be
//	advisory  pg_advisory_xact_lock of the show, then FOR UPDATE SKIP LOCKED
//	setnx     SET NX EX of every seat in Redis, all or nothing, then Postgres
//	lua       one script in Redis that takes all seats or none, then Postgres
//
// They are what careful people write: pooled connections, prepared statements,
// the planner settings of the lanes, one transaction for each request. What must
// be known before the next step is read in a round trip of its own; what is
// written goes in one, next to River's own. The pipelined one goes further, with
// two round trips instead of seven: BEGIN goes with what is locked and read, and
// COMMIT with what is written, jobs included. Seats only: shows with areas, or with a limit for
// each customer, are not sold here.
//
// The advisory strategy numbers changes by the show's row, which is its already.
// To the others that row would be one more lock, which is why a sequence numbers
// theirs. So their logs have gaps, and no order in time: see [Strategy.Without].
package strategies

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/internal/jobs"
	"github.com/rowlock/rowlock/internal/store"
)

// Config says what a strategy works with.
type Config struct {
	Pool        string // URL of the database, role rowlock_lane
	Redis       string // address, for strategies that need one
	Connections int    // in the pool of Postgres; 0: what suits the strategy best, see [Strategy.Connections]
	Log         *slog.Logger
}

// Road is an open strategy.
type Road interface {
	store.Road
	Close()
}

// Strategy is a way of selling seats.
type Strategy struct {
	Name        string // naive, waiting, …
	Title       string // for tables
	Redis       bool   // needs one
	Connections int    // in its pool unless the Config says how many
	// Without names the rules of sql/ops/invariants.sql that it does not
	// promise to keep, for [Audit]. None of them is about who has a seat.
	Without []string

	way  way
	take take
}

// All is every strategy, from the simplest on.
var All = []Strategy{
	{
		Name: "naive", Title: "check, then act", Connections: pooled, Without: unordered,
		way: way{seats: sqlSeats},
	},
	{
		Name: "waiting", Title: "SELECT … FOR UPDATE", Connections: pooled, Without: unordered,
		way: waiting,
	},
	{
		Name: "pipelined", Title: "FOR UPDATE, two round trips", Connections: pooled, Without: unordered,
		way: way{seats: sqlSeatsForUpdate, pipelined: true},
	},
	{
		Name: "advisory", Title: "advisory lock, SKIP LOCKED", Connections: pooledAdvisory,
		way: way{show: sqlLockShow, seats: sqlSeatsSkipLocked, numbered: true},
	},
	{
		Name: "setnx", Title: "Redis SET NX, Postgres", Redis: true, Connections: pooled, Without: unordered,
		way: trusting, take: takeOneByOne,
	},
	{
		Name: "lua", Title: "Redis Lua, Postgres", Redis: true, Connections: pooled, Without: unordered,
		way: trusting, take: takeAtOnce,
	},
}

// Connections that were best on two cores. Behind a lock that one transaction
// of a show has at a time, more of them only wait inside Postgres.
const (
	pooled         = 32
	pooledAdvisory = 8
)

// unordered are the rules that a log numbered by a sequence does not keep.
var unordered = []string{
	"the_change_log_of_a_show_has_no_gap_and_ends_at_its_version",
	"time_does_not_run_backwards_in_a_show",
}

// Named returns the strategy of a name.
func Named(name string) (Strategy, error) {
	for _, s := range All {
		if s.Name == name {
			return s, nil
		}
	}
	return Strategy{}, fmt.Errorf("there is no strategy %q", name)
}

// Open connects. The database must have been prepared, see [Prepare].
func (s Strategy) Open(ctx context.Context, cfg Config) (Road, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Connections == 0 {
		cfg.Connections = s.Connections
	}
	r, err := openRoad(ctx, cfg, s.way)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	if !s.Redis {
		return r, nil
	}
	g, err := openGate(ctx, cfg, s.take, r)
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	return g, nil
}

func openRoad(ctx context.Context, cfg Config, w way) (*road, error) {
	c, err := pgxpool.ParseConfig(cfg.Pool)
	if err != nil {
		return nil, err
	}
	// All at once: a pool that grows while it is measured is another pool.
	c.MinConns, c.MaxConns = int32(cfg.Connections), int32(cfg.Connections)
	c.ConnConfig.RuntimeParams["application_name"] = "rowlock bench"
	c.ConnConfig.RuntimeParams["lock_timeout"] = lockTimeout
	r := &road{way: w}
	if r.jobs, err = jobs.NewScheduler(cfg.Log, false); err != nil {
		return nil, err
	}
	if r.terms, err = openTerms(ctx, cfg); err != nil {
		return nil, err
	}
	if r.pool, err = pgxpool.NewWithConfig(ctx, c); err != nil {
		r.terms.close()
		return nil, err
	}
	if err := r.pool.Ping(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}
