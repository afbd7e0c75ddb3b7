//go:build unix

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rowlock/rowlock/internal/postgres"
	"github.com/rowlock/rowlock/internal/sandbox"
	"github.com/rowlock/rowlock/internal/store"
)

// Config says how large a cluster is and what can be done to it.
type Config struct {
	// Dir is where all its files go: data, logs, the gateway's ledger. It must
	// be empty, or not be there yet. It stays after Stop.
	Dir string
	// Binary is what [Build] made.
	Binary string
	// Instances serve the API and work jobs; at least 1. Workers are further
	// processes that only work jobs.
	Instances, Workers int
	// Standby starts a second Postgres that every commit waits for. Without it
	// nothing can be promoted.
	Standby bool
	// Proxy puts a line that can be cut between each process and Postgres.
	// Without it processes know both servers, and find the one that takes
	// writes by themselves (target_session_attrs).
	Proxy bool
	// FakeTime runs Postgres under libfaketime, so that its clock can be
	// stepped. Where that is not installed this is as if it were false, and
	// Start says so in the log.
	FakeTime bool
	// Settings of all rowlock processes, by the names of rowlock settings, over
	// those set here: {"LANES": "2"}.
	Settings map[string]string
	// Log tells what happens to the cluster; nil: nobody. The processes' own
	// logs are in files in Dir.
	Log *slog.Logger
	// Seed of what happens to single requests and jobs in the midst of a fault.
	Seed uint64
}

// Cluster is a running one. It is safe for concurrent use.
type Cluster struct {
	cfg       Config
	log       *slog.Logger
	key       string
	database  *database
	gateway   *gateway
	lines     []*line    // of the instances, then of the workers; none without Proxy
	processes []*process // likewise
	jobs      turn       // of faults of the queue
	stop      sync.Once
	stopErr   error

	rngMu sync.Mutex
	rng   *rand.Rand
}

// settings of every rowlock process. The pools are those of a small machine
// with several of them.
var settings = map[string]string{
	"ENV": "development", "AUTH_MODE": "mock", "LOG_LEVEL": "warn", "SHUTDOWN_TIMEOUT": "5s",
	"SESSION_SECRET": "torture-session-secret-of-32-bytes", "TICKET_KEYS": "9c1f6b0e4d2a837755e8a1c03b9d46f2e07a5c18d3b264f98a0e71c5d92b3f64",
	"SANDBOX_KEY": gatewayKey, "SANDBOX_WEBHOOK_SECRET": webhookSecret,
	"LANES": "2", "WAITERS": "2", "POOL_REQUESTS": "8", "POOL_JOBS": "4", "POOL_RIVER": "3",
}

// connectionsMax of Postgres for each process, with those pools or somewhat
// larger ones.
const connectionsMax = 40

// Start starts everything and returns when every process says that it is ready.
// ctx limits the start only.
func Start(ctx context.Context, cfg Config) (_ *Cluster, err error) {
	if cfg.Instances < 1 || cfg.Workers < 0 {
		return nil, errors.New("cluster: there must be an instance, and no less than no workers")
	}
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.Dir, 0o711); err != nil {
		return nil, err
	}
	if err := os.Chmod(cfg.Dir, 0o711); err != nil { // whoever Postgres runs as has to come through
		return nil, err
	}
	if files, err := os.ReadDir(cfg.Dir); err != nil || len(files) > 0 {
		return nil, errors.Join(fmt.Errorf("cluster: %s is not empty", cfg.Dir), err)
	}
	c := &Cluster{cfg: cfg, log: cfg.Log, jobs: newTurn(), rng: rand.New(rand.NewPCG(cfg.Seed, 0))}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	if c.database, err = newDatabase(&cfg, connectionsMax*(cfg.Instances+cfg.Workers+1)); err != nil {
		return nil, err
	}
	if cfg.FakeTime {
		if err := c.database.fakeTime(cfg.Dir); err != nil {
			c.log.Warn("the database's clock stays as it is", "reason", err)
		}
	}
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	if c.gateway, err = startGateway(cfg.Dir, c.log); err != nil {
		return nil, err
	}
	for i := range cfg.Instances {
		if err := c.add(fmt.Sprintf("instance %d", i), "serve"); err != nil {
			return nil, err
		}
	}
	for i := range cfg.Workers {
		if err := c.add(fmt.Sprintf("worker %d", i), "work"); err != nil {
			return nil, err
		}
	}
	if err := c.gateway.openDoor(c.URLs()); err != nil {
		return nil, err
	}
	for _, p := range c.processes {
		p.up()
	}
	for _, p := range c.processes {
		if err := p.awaitFirst(ctx); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// prepare starts Postgres, makes roles, schema and a key as an operator does,
// and then the standby.
func (c *Cluster) prepare(ctx context.Context) error {
	d := c.database
	if err := d.run(ctx, d.primary, d.other); err != nil {
		return err
	}
	super := d.primary.server.URL(postgres.Superuser, "postgres")
	if _, err := c.verb(ctx, map[string]string{"DATABASE_URL": super}, "roles", "--create-database="+databaseName); err != nil {
		return err
	}
	if _, err := c.verb(ctx, map[string]string{"MIGRATE_DATABASE_URL": d.url(store.RoleOwner)}, "migrate"); err != nil {
		return err
	}
	key, err := c.Run(ctx, "apikey", "create", "--name=torture", "--scopes=admin")
	if err != nil {
		return err
	}
	c.key = strings.TrimSpace(key)
	if !c.cfg.Standby {
		return nil
	}
	if err := letStandbyIn(ctx, d.primary); err != nil {
		return err
	}
	return d.follow(ctx)
}

// add makes a process, and the line that it has to Postgres. It starts nothing.
func (c *Cluster) add(name, verb string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	at := fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d", c.database.primary.port, c.database.other.port)
	query := "sslmode=disable&target_session_attrs=read-write"
	if c.cfg.Proxy {
		l, err := newLine(name, c.database.upstream())
		if err != nil {
			return err
		}
		c.lines = append(c.lines, l)
		at, query = l.address(), "sslmode=disable"
	}
	s := maps.Clone(settings)
	maps.Copy(s, c.cfg.Settings)
	s["ADDR"] = fmt.Sprintf("127.0.0.1:%d", port)
	s["SANDBOX_URL"] = c.gateway.url
	s["DATABASE_URL"] = fmt.Sprintf("postgres://%s@%s/%s?%s", store.RoleApp, at, databaseName, query)
	s["DATABASE_LANE_URL"] = fmt.Sprintf("postgres://%s@%s/%s?%s", store.RoleLane, at, databaseName, query)
	c.processes = append(c.processes, &process{
		name: name, binary: c.cfg.Binary, args: []string{verb}, url: "http://" + s["ADDR"],
		file: filepath.Join(c.cfg.Dir, strings.ReplaceAll(name, " ", "-")+".log"), log: c.log, turn: newTurn(), settings: s,
	})
	return nil
}

// Stop ends everything: the processes as an operator would, then the gateway
// and the servers. Faults must have ended. The error tells of whatever had to
// be killed.
func (c *Cluster) Stop() error {
	c.stop.Do(func() {
		errs := make([]error, len(c.processes))
		var group sync.WaitGroup
		for i, p := range c.processes {
			group.Go(func() { errs[i] = p.down(syscall.SIGTERM) })
		}
		group.Wait()
		if c.gateway != nil {
			c.gateway.stop()
		}
		for _, l := range c.lines {
			l.close()
		}
		if c.database != nil {
			errs = append(errs, c.database.close())
		}
		c.stopErr = errors.Join(errs...)
	})
	return c.stopErr
}

// URLs are the addresses of the instances, such as http://127.0.0.1:12345. They
// are the same as long as the cluster lives, whatever is killed.
func (c *Cluster) URLs() []string {
	var urls []string
	for _, p := range c.processes[:c.cfg.Instances] {
		urls = append(urls, p.url)
	}
	return urls
}

// Key is an API key that may do everything; send it as X-API-Key. Customers
// send X-Mock-User-Id, any UUID.
func (c *Cluster) Key() string { return c.key }

// Database is the address of the present primary for a superuser, past all
// proxies. After a promotion it is another one.
func (c *Cluster) Database() string { return c.database.url(postgres.Superuser) }

// Sandbox is the gateway, with its ledger. It lives in this process and is the
// one part that never fails unasked.
func (c *Cluster) Sandbox() *sandbox.Sandbox { return c.gateway.sandbox }

// Run runs another verb of the binary, such as prove, on the present primary,
// and returns what it printed, even if it fails. The error has its messages.
func (c *Cluster) Run(ctx context.Context, args ...string) (stdout string, err error) {
	d := c.database
	return c.verb(ctx, map[string]string{"DATABASE_URL": d.url(store.RoleApp), "DATABASE_LANE_URL": d.url(store.RoleLane)}, args...)
}

func (c *Cluster) verb(ctx context.Context, settings map[string]string, args ...string) (string, error) {
	var out, failure bytes.Buffer
	cmd := exec.CommandContext(ctx, c.cfg.Binary, args...)
	cmd.Env = environment(settings)
	cmd.Dir = c.cfg.Dir
	cmd.Stdout, cmd.Stderr = &out, &failure
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("rowlock %s: %w\n%s", strings.Join(args, " "), err, failure.Bytes())
	}
	return out.String(), nil
}

// Exit is an end of a process that nobody here asked for.
type Exit struct {
	Process string // "instance 0", "worker 1"
	At      time.Time
	Ready   bool   // it had been ready before: it fell, and not just failed to start
	State   string // exit status or signal
	Log     string // the last lines that it wrote
}

// Exits are all such ends so far, in order. The process is started again each
// time, as any supervisor would.
func (c *Cluster) Exits() []Exit {
	var all []Exit
	for _, p := range c.processes {
		p.mu.Lock()
		all = append(all, p.exits...)
		p.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b Exit) int { return a.At.Compare(b.At) })
	return all
}

// draw is a random number below n for what no caller decides.
func (c *Cluster) draw(n int) int {
	c.rngMu.Lock()
	defer c.rngMu.Unlock()
	return c.rng.IntN(n)
}

// lead makes all lines end at the present primary.
func (c *Cluster) lead() error {
	errs := make([]error, len(c.lines))
	for i, l := range c.lines {
		errs[i] = l.lead(c.database.upstream())
	}
	return errors.Join(errs...)
}
