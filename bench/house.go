package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/bench/strategies"
	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/jobs"
	"github.com/rowlock/rowlock/internal/lanes"
	"github.com/rowlock/rowlock/internal/postgres"
	"github.com/rowlock/rowlock/internal/store"
)

var quiet = slog.New(slog.DiscardHandler)

// city is the server that all rows are measured on, and a Redis if there is one.
type city struct {
	dir    string
	server *postgres.Server
	redis  string // address; "": none
	stop   func() // ends the Redis
}

// serverSettings are those of a server of some size on a small machine. What it
// promises stays: every commit is on the disk before it is answered.
var serverSettings = map[string]string{
	"shared_buffers": "1GB", "max_connections": "200", "max_wal_size": "4GB", "checkpoint_timeout": "15min",
	"fsync": "on", "synchronous_commit": "on",
}

func openCity(ctx context.Context) (c *city, err error) {
	c = &city{stop: func() {}}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if c.dir, err = os.MkdirTemp("", "rowlock-bench-"); err != nil {
		return nil, err
	}
	// The server may run as another user, who has to come through; its data
	// folder inside stays private.
	if err := os.Chmod(c.dir, 0o711); err != nil {
		return nil, err
	}
	if c.server, err = postgres.Start(ctx, postgres.Config{Dir: c.dir, Settings: serverSettings}); err != nil {
		return nil, err
	}
	if err := store.EnsureRoles(ctx, c.server.URL(postgres.Superuser, "postgres"), nil); err != nil {
		return nil, err
	}
	addr, stop, err := strategies.StartRedis(ctx, c.dir)
	if err == nil {
		c.redis, c.stop = addr, stop
	} else if !errors.Is(err, strategies.ErrNoRedis) {
		return nil, err
	}
	return c, nil
}

func (c *city) close() {
	c.stop()
	if c.server != nil {
		c.server.Stop()
	}
	os.RemoveAll(c.dir)
}

// house is a database of the city's server in which shows are sold.
type house struct {
	city *city
	name string
	all  *pgxpool.Pool // as superuser, to set up and to count
	keep bool          // what was sold before stays: see [house.shows]
}

// open makes a database.
func (c *city) open(ctx context.Context, name string) (h *house, err error) {
	h = &house{city: c, name: name}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if err := store.EnsureDatabase(ctx, c.server.URL(postgres.Superuser, "postgres"), name); err != nil {
		return nil, err
	}
	if err := store.EnsureRoles(ctx, c.server.URL(postgres.Superuser, name), nil); err != nil {
		return nil, err
	}
	if _, _, err := store.Migrate(ctx, h.url(store.RoleOwner), quiet); err != nil {
		return nil, err
	}
	if h.all, err = pgxpool.New(ctx, h.url("")); err != nil {
		return nil, err
	}
	return h, strategies.Prepare(ctx, h.all)
}

func (h *house) close() {
	if h.all != nil {
		h.all.Close()
	}
}

// url is the address for a role; "": the superuser's.
func (h *house) url(role string) string {
	if role == "" {
		role = postgres.Superuser
	}
	return h.city.server.URL(role, h.name)
}

// shows makes n shows of so many seats, on tables that are as a quiet night
// would have left them: empty, unless the house keeps what it has.
func (h *house) shows(ctx context.Context, n, seats int) ([]uuid.UUID, error) {
	if !h.keep {
		if _, err := h.all.Exec(ctx, sqlForget); err != nil {
			return nil, err
		}
	}
	ids := make([]uuid.UUID, n)
	for i := range ids {
		ids[i] = store.NewID()
	}
	org, plan := boxoffice.DefaultOrganisationID, store.NewID()
	if _, err := h.all.Exec(ctx, sqlHall, org, plan, seats); err != nil {
		return nil, err
	}
	if _, err := h.all.Exec(ctx, sqlShows, org, plan, seats, ids); err != nil {
		return nil, err
	}
	for _, sql := range []string{sqlVacuum, sqlCheckpoint} {
		if _, err := h.all.Exec(ctx, sql); err != nil {
			return nil, err
		}
	}
	return ids, nil // whose seats Redis has never heard of
}

// seller is what sells: a store, or several on one database, between which
// callers are split.
type seller struct {
	stores []*store.Store
	stop   func()
}

// of is the store that a caller comes to.
func (s *seller) of(caller int) *store.Store { return s.stores[caller%len(s.stores)] }

// patience is how long a command may wait for its turn. Callers of a benchmark
// go away no sooner, whichever strategy they meet.
const patience = 5 * time.Second

// seller opens a strategy. Rowlock's lanes may be those of several instances.
func (h *house) seller(ctx context.Context, strategy string, instances int) (s *seller, err error) {
	s = &seller{stop: func() {}}
	if strategy != report.Rowlock {
		named, err := strategies.Named(strategy)
		if err != nil {
			return nil, err
		}
		road, err := named.Open(ctx, strategies.Config{Pool: h.url(store.RoleLane), Redis: h.city.redis, Log: quiet})
		if err != nil {
			return nil, err
		}
		one, err := store.Open(ctx, store.Config{URL: h.url(store.RoleApp), LaneURL: h.url(store.RoleLane), Road: road})
		if err != nil {
			road.Close()
			return nil, err
		}
		s.stores, s.stop = []*store.Store{one}, func() { one.Close(); road.Close() }
		return s, nil
	}
	scheduler, err := jobs.NewScheduler(quiet, false)
	if err != nil {
		return nil, err
	}
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	s.stop = func() {
		stop()
		group.Wait()
		for _, one := range s.stores {
			one.Close()
		}
	}
	for range instances {
		one, err := store.Open(ctx, store.Config{
			URL: h.url(store.RoleApp), LaneURL: h.url(store.RoleLane), Jobs: scheduler, Lanes: lanes.Config{Timeout: patience},
		})
		if err != nil {
			s.stop()
			return nil, err
		}
		s.stores = append(s.stores, one)
		group.Go(func() { _ = one.Run(working) }) // it ends because it is told to
	}
	return s, nil
}

// check looks at what a sale left behind: every rule of sql/ops/invariants.sql
// that the strategy promises to keep, and seats that were sold twice. A
// strategy that has broken a rule has not been measured at what it is for,
// which is an error of everybody but the naive one.
func (h *house) check(ctx context.Context, strategy string, shows []uuid.UUID) (twice int64, err error) {
	if h.keep {
		var wrong int64
		for _, show := range shows {
			if err := h.all.QueryRow(ctx, sqlSound, show).Scan(&wrong); err != nil {
				return 0, err
			}
			if wrong > 0 {
				return 0, fmt.Errorf("%d seats of show %s are not what their holds say", wrong, show)
			}
		}
		return 0, nil
	}
	if twice, err = strategies.Twice(ctx, h.all); err != nil || strategy == naive {
		return twice, err
	}
	var without []string
	if strategy != report.Rowlock {
		named, err := strategies.Named(strategy)
		if err != nil {
			return 0, err
		}
		without = named.Without
	}
	broken, err := strategies.Audit(ctx, h.all, without...)
	if err == nil && (len(broken) > 0 || twice > 0) {
		err = fmt.Errorf("%s: seats sold twice: %d; rules broken: %s", strategy, twice, strings.Join(broken, ", "))
	}
	return twice, err
}

const naive = "naive"

// labels are the names of seats, which are their numbers.
func labels(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = strconv.Itoa(i)
	}
	return list
}
