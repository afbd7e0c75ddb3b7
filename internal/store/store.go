package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/singleflight"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/lanes"
	"github.com/rowlock/rowlock/internal/recent"
)

// Config says where the database is and how much of it to use.
type Config struct {
	URL        string // role rowlock_app; may go through PgBouncer in transaction mode
	LaneURL    string // role rowlock_lane, direct; "": URL
	DirectURL  string // past any pooler, to LISTEN; "": URL
	ReplicaURL string // a replica, for lists and whole maps; see [Store.reading]; "": there is none
	PoolMax    int32  // connections for requests; 0: 16
	Lanes      lanes.Config
	Jobs       Scheduler // schedules expiry jobs in the lane's transaction; nil: none are (tests)
	Log        *slog.Logger
	Observer   Observer // what the lanes do, for metrics; nil: nobody looks
	// LaneDial is how lanes connect; nil: as usual. Fault tests cut the line with it.
	LaneDial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Road is another way for commands to reach the tables than through the
	// lanes, which the benchmarks compare with; nil: the lanes.
	Road Road
}

// Road works one command on one show, and answers as the lanes would.
type Road interface {
	Do(ctx context.Context, show uuid.UUID, cmd boxoffice.Command) (boxoffice.Outcome, error)
}

// Scheduler puts jobs on the queue, inside the transaction that makes them
// necessary. The jobs package implements it: imports only go down.
type Scheduler interface {
	// Schedule adds to a pipeline what inserts one job for each (show, instant) of
	// ends: at that instant the holds of that show which ended are closed. And one
	// for each task. What it must know of the server it asks the connection, in
	// whose transaction the pipeline is to run.
	Schedule(ctx context.Context, conn *pgx.Conn, b *pgx.Batch, ends []Ending, tasks []Task) error
}

// Task is work on a show that follows from a batch.
type Task struct {
	ShowID uuid.UUID
	boxoffice.Task
}

// Ending is an instant at which holds of a show end.
type Ending struct {
	ShowID uuid.UUID
	At     time.Time // database clock
}

// Observer is told what happens in the store. Its methods must not block.
type Observer interface {
	lanes.Observer
	Hold(replayed bool, err error)            // what became of a request for a hold
	Waitlist(status boxoffice.WaitlistStatus) // what an entry of a waitlist has become
	Listening(up bool)                        // whether the connection that hears of other processes' changes is there
}

// Store is the database with its rules: one exported method is one use case
// and one transaction. It is safe for concurrent use.
type Store struct {
	cfg      Config
	pool     *pgxpool.Pool
	replica  *pgxpool.Pool // nil: there is none
	useful   atomic.Bool   // the replica answers and is not far behind
	lanes    *lanes.Set[*laneCommand, boxoffice.Outcome]
	terms    *termsCache
	asked    singleflight.Group // shows whose terms are being read
	counts   *countsCache
	known    *recent.Map[uuid.UUID, *knownShow] // shows as lists have read them
	showIDs  *recent.Map[uuid.UUID, uuid.UUID]  // of reservations
	away     atomic.Bool                        // a lane lost the database, and none has had it since
	news     news
	joins    *lanes.Set[*joining, joined]
	arrivals arrivals
	replan   time.Duration // how old a lane's plans may be
	queueMax time.Duration // how long a batch waits for a show it missed
	seen     sync.Map      // placesSeen by show
	log      *slog.Logger
}

// Open connects to the database. It starts nothing that works by itself: see
// [Store.Run].
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.LaneURL == "" {
		cfg.LaneURL = cfg.URL
	}
	cfg.DirectURL = cmp.Or(cfg.DirectURL, cfg.URL)
	if cfg.PoolMax == 0 {
		cfg.PoolMax = 16
	}
	pool, err := openPool(ctx, cfg.URL, cfg.PoolMax)
	if err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, pool: pool, log: cfg.Log, terms: newTermsCache(), counts: newCountsCache(), known: recent.New[uuid.UUID, *knownShow](listingsMax), news: newNews(), showIDs: recent.New[uuid.UUID, uuid.UUID](showsMax), replan: replanEvery, queueMax: queueMax}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("database: %w", err)
	}
	if cfg.ReplicaURL != "" { // which may be away: nothing depends on it
		if s.replica, err = openPool(ctx, cfg.ReplicaURL, cfg.PoolMax); err != nil {
			pool.Close()
			return nil, err
		}
	}
	if cfg.Observer != nil && cfg.Lanes.Observer == nil {
		cfg.Lanes.Observer = cfg.Observer
	}
	s.lanes = lanes.New(cfg.Lanes, s.openLane)
	s.joins = lanes.New(joinLanes, s.openJoins)
	return s, nil
}

// replanEvery is how old the plan of a statement may be. Postgres itself plans
// it anew only with new statistics, and those of a table that was empty a moment
// ago come after a minute, when a hundred thousand rows may be in it.
const replanEvery = 5 * time.Second

func openPool(ctx context.Context, url string, most int32) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	c.MaxConns = most
	c.ConnConfig.RuntimeParams["application_name"] = "rowlock requests"
	const planned = "planned" // when the connection's statements were planned for the tables as they were
	c.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		conn.PgConn().CustomData()[planned] = time.Now()
		setTypes(conn)
		return nil
	}
	c.PrepareConn = func(ctx context.Context, conn *pgx.Conn) (bool, error) {
		data := conn.PgConn().CustomData()
		if time.Since(data[planned].(time.Time)) < replanEvery {
			return true, nil
		}
		data[planned] = time.Now()
		_, err := conn.Exec(ctx, sqlServiceReplan)
		return err == nil, nil // or another connection is taken
	}
	return pgxpool.NewWithConfig(ctx, c)
}

// Run works the lanes, and the waiting rooms, until ctx ends; then it lets what
// has queued finish. Beside that it tells other processes of what has changed,
// and looks after the replica.
func (s *Store) Run(ctx context.Context) error {
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	var working, ended sync.WaitGroup
	ended.Go(func() { s.notify(beside) })
	ended.Go(func() { s.watchReplica(beside) })
	working.Go(func() { _ = s.joins.Run(ctx) }) // it ends because ctx does
	err := s.lanes.Run(ctx)
	working.Wait()
	stop()
	ended.Wait()
	return err
}

// Close closes the pools. Call it after Run has returned.
func (s *Store) Close() {
	s.pool.Close()
	if s.replica != nil {
		s.replica.Close()
	}
}

// Pools returns the connection pools by name, for metrics.
func (s *Store) Pools() map[string]*pgxpool.Pool {
	m := map[string]*pgxpool.Pool{"requests": s.pool}
	if s.replica != nil {
		m["replica"] = s.replica
	}
	return m
}

// Ready reports whether the database can be reached and is writable.
func (s *Store) Ready(ctx context.Context) error {
	var readOnly bool
	err := s.pool.QueryRow(ctx, sqlServiceReady).Scan(&readOnly)
	if err == nil && readOnly {
		err = errors.New("the database is read-only")
	}
	return err
}

// OldestSnapshot is how long the oldest transaction on the database has been
// open, whoever has it; 0 when there is none. The role needs pg_read_all_stats
// to see those of others.
func (s *Store) OldestSnapshot(ctx context.Context) (time.Duration, error) {
	var seconds float64
	err := s.pool.QueryRow(ctx, sqlServiceOldestSnapshot).Scan(&seconds)
	return time.Duration(seconds * float64(time.Second)), coded(err)
}

// OldestJob is how long the job has been running that has run longest; 0 when
// none runs. A job that runs for longer than it may has lost its worker.
func (s *Store) OldestJob(ctx context.Context) (time.Duration, error) {
	var seconds float64
	err := s.pool.QueryRow(ctx, sqlServiceOldestJob).Scan(&seconds)
	return time.Duration(seconds * float64(time.Second)), coded(err)
}

// NewID makes a UUIDv7, whose order is that of creation to the millisecond.
func NewID() uuid.UUID { return uuid.Must(uuid.NewV7()) }
