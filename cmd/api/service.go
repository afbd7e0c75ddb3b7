package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/internal/api"
	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/checkout"
	"github.com/rowlock/rowlock/internal/config"
	"github.com/rowlock/rowlock/internal/jobs"
	"github.com/rowlock/rowlock/internal/lanes"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/internal/telemetry"
	"github.com/rowlock/rowlock/internal/tickets"
	"github.com/rowlock/rowlock/internal/web"
)

// drainNotice is how long a stopping instance goes on taking requests while
// /readyz says 503, so that a load balancer has heard of it before connections
// are refused. On a developer's machine nobody waits for that.
const drainNotice = 3 * time.Second

// service is a process that serves HTTP, works jobs, or both.
type service struct {
	cfg      config.Config
	log      *slog.Logger
	metrics  *telemetry.Metrics
	store    *store.Store
	checkout *checkout.Checkout
	tickets  *tickets.Signer
	river    *pgxpool.Pool
	jobs     *jobs.Jobs // nil: works none
	ui       *jobs.UI
	api      *api.API
	server   *http.Server
	listener net.Listener
	draining atomic.Bool
}

// modes of a service.
const (
	serving = 1 << iota // the API, not only health and metrics
	working             // jobs
)

// newService opens everything and starts nothing. The listener, which is taken
// early so that a port in use is found at once, becomes the service's.
func newService(ctx context.Context, cfg config.Config, log *slog.Logger, listener net.Listener, mode int) (_ *service, err error) {
	cfg.Lanes = cmp.Or(cfg.Lanes, lanes.Cores())
	config.CollectGarbage()
	s := &service{cfg: cfg, log: log, metrics: telemetry.NewMetrics(), listener: listener}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if err := inspect(ctx, &cfg, log); err != nil {
		return nil, err
	}
	if s.store, err = openStore(ctx, &cfg, log, observer{s.metrics}); err != nil {
		return nil, err
	}
	for name, pool := range s.store.Pools() {
		s.metrics.WatchPool(name, pool)
	}
	gateways := gatewaysOf(&cfg)
	s.checkout = checkout.New(checkout.Config{Store: s.store, Gateways: gateways, Observer: s.metrics, Log: log})
	if s.tickets, err = signerOf(&cfg, log); err != nil {
		return nil, err
	}
	if s.river, err = jobs.OpenPool(ctx, cfg.DirectURL(), cfg.PoolRiver); err != nil {
		return nil, err
	}
	s.metrics.WatchPool("river", s.river)
	if mode&working != 0 {
		post, err := s.post()
		if err != nil {
			return nil, err
		}
		s.jobs, err = jobs.New(jobs.Config{
			Store: s.store, Checkout: s.checkout, Post: post, Pool: s.river, Workers: cfg.PoolJobs, StopTimeout: max(cfg.ShutdownTimeout, time.Millisecond),
			Metrics: s.metrics, Log: log,
		})
		if err != nil {
			return nil, err
		}
	}
	return s, s.open(ctx, mode)
}

// openStore opens the store with its jobs scheduled.
func openStore(ctx context.Context, cfg *config.Config, log *slog.Logger, watch store.Observer) (*store.Store, error) {
	scheduler, err := jobs.NewScheduler(log, cfg.MailURL != "")
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, store.Config{
		URL: cfg.DatabaseURL, LaneURL: cfg.DatabaseLaneURL, DirectURL: cfg.DirectURL(), ReplicaURL: cfg.DatabaseReplicaURL,
		PoolMax: int32(cfg.PoolRequests + cfg.PoolJobs), // jobs never take more than theirs
		Lanes: lanes.Config{
			Lanes: cfg.Lanes, BatchMax: cfg.LaneBatchMax, QueueMax: cfg.LaneQueueMax,
			WaitersMax: cfg.Waiters, Timeout: cfg.LaneTimeout,
		},
		Jobs: scheduler, Log: log, Observer: watch,
	})
}

// open makes the HTTP door.
func (s *service) open(ctx context.Context, mode int) (err error) {
	opts := api.Options{
		Log: s.log, Metrics: s.metrics, Version: version, Addr: s.cfg.Addr, Store: s.store,
		Checkout: s.checkout, Tickets: s.tickets,
		InFlightMax: s.cfg.InFlightMax, StreamsMax: s.cfg.StreamsMax, StreamsPerAddress: s.cfg.StreamsPerAddress, CORSOrigins: s.cfg.CORSOrigins, Checks: s.checks(),
		Limit: api.LimitOptions{
			PerSecond: s.cfg.RateLimit, KeyPerSecond: s.cfg.RateLimitAPIKeys,
			SkipLoopback: s.cfg.Development(), TrustProxy: s.cfg.TrustProxy,
		},
		Auth: api.AuthOptions{
			Mock: s.cfg.AuthMode == "mock", Secret: secret(s.cfg.JWTSecret),
			Issuer: s.cfg.JWTIssuer, Audience: s.cfg.JWTAudience,
			SessionSecret: secret(s.cfg.SessionSecret), SessionLife: s.cfg.SessionLife,
			Keys: s.store, SignIns: s.store,
		},
	}
	if !s.cfg.Development() {
		opts.Auth.Keys = secretKeys{s.store}
		if s.cfg.JWKSURL != "" && s.cfg.JWTAudience == "" {
			s.log.Warn("JWT_AUDIENCE is not set: tokens that the identity provider made for other services, with whatever scopes they have there, are taken here, too")
		}
	}
	if s.cfg.JWKSURL != "" {
		if opts.Auth.JWKS, err = api.JWKS(ctx, s.cfg.JWKSURL); err != nil {
			return err
		}
	}
	s.api = api.New(opts)
	s.api.Mount("GET /metrics", s.metrics.Handler())
	s.server = s.api.Server()
	if mode&serving == 0 {
		s.server.Handler = only(s.api, "/healthz", "/readyz", "/metrics")
		return nil
	}
	if s.ui, err = jobs.NewUI(s.river, "/riverui", s.log); err != nil {
		return err
	}
	s.api.MountOps("/riverui/", s.ui)
	docs, problems := web.Docs(), web.Problems(api.Status)
	s.api.Mount("GET /docs", docs)
	s.api.Mount("GET /docs/", docs)
	s.api.Mount("GET /problems", problems)
	s.api.Mount("GET /problems/", problems)
	s.api.Mount("GET /style.css", web.Style())
	s.api.Mount("GET /organiser", web.Organiser())
	s.api.Mount("GET /organiser/{$}", http.RedirectHandler("/organiser", http.StatusMovedPermanently))
	developers := web.DevelopersOptions{Shows: (&recentShows{ask: s.shows}).shows, Mock: opts.Auth.Mock}
	if s.cfg.Development() && opts.Auth.Mock {
		developers.Key = devKey
	}
	s.api.Mount("GET /developers", web.Developers(developers))
	s.api.Mount("GET /{$}", web.App(s.cfg.Development()))
	s.api.Mount("GET /assets/", web.Assets())
	s.api.Mount("GET /embed.js", web.Embed())
	s.api.Mount("GET /leave.js", web.Leave())
	return nil
}

// only lets requests for these paths through.
func only(h http.Handler, paths ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(paths, r.URL.Path) {
			http.Error(w, "This process works jobs and serves "+strings.Join(paths, ", ")+".", http.StatusNotFound)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// secretKeys are the API keys of the database without the one that everybody
// knows: where rowlock run has been, by mistake, it stays behind.
type secretKeys struct{ api.APIKeys }

func (k secretKeys) APIKeyByHash(ctx context.Context, hash []byte) (boxoffice.APIKey, error) {
	if bytes.Equal(hash, boxoffice.HashAPIKey(devKey)) {
		return boxoffice.APIKey{}, boxoffice.Refuse(boxoffice.CodeNotFound, "This key is only for development.")
	}
	return k.APIKeys.APIKeyByHash(ctx, hash)
}

func secret(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

// checks are what /readyz asks.
func (s *service) checks() []api.Check {
	checks := []api.Check{
		{Name: "running", Check: func(context.Context) error {
			if s.draining.Load() {
				return boxoffice.Refuse(boxoffice.CodeUnavailable, "stopping")
			}
			return nil
		}},
		{Name: "database", Check: s.store.Ready},
		{Name: "migrations", Check: s.onConn(func(ctx context.Context, conn *pgx.Conn) error {
			if have, want, err := schema(ctx, conn); err != nil || have < want {
				return cmp.Or(err, error(boxoffice.Refuse(boxoffice.CodeUnavailable, "the schema is at version %d, not %d", have, want)))
			}
			return nil
		})},
		{Name: "settings", Check: s.onConn(func(ctx context.Context, conn *pgx.Conn) error {
			if wrong, err := store.CheckSettings(ctx, conn); err != nil || len(wrong) > 0 {
				return cmp.Or(err, error(boxoffice.Refuse(boxoffice.CodeUnavailable, "%s", strings.Join(wrong, "; "))))
			}
			return nil
		})},
	}
	if s.jobs != nil {
		checks = append(checks, api.Check{Name: "workers", Check: s.jobs.Ready})
	}
	return checks
}

func (s *service) onConn(check func(context.Context, *pgx.Conn) error) func(context.Context) error {
	return func(ctx context.Context) error {
		return s.store.Pools()["requests"].AcquireFunc(ctx, func(c *pgxpool.Conn) error { return check(ctx, c.Conn()) })
	}
}

// run works until ctx ends, or something fails, and then stops in order: no
// new requests, the running ones answered; jobs; lanes.
func (s *service) run(ctx context.Context, more ...part) error {
	defer s.close()
	parts := append([]part{
		{"lanes", s.store.Run},
		{"lag", func(ctx context.Context) error { return jobs.WatchLag(ctx, s.store, s.metrics) }},
		{"queue", func(ctx context.Context) error { return jobs.RunQueues(ctx, s.store, s.metrics) }},
		{"money", func(ctx context.Context) error { return jobs.WatchMoney(ctx, s.store, s.metrics) }},
	}, more...)
	if s.jobs != nil {
		parts = append(parts, part{"jobs", s.jobs.Run})
	}
	if s.ui != nil {
		parts = append(parts, part{"riverui", s.ui.Run})
	}
	if s.ui != nil { // it serves the API
		parts = append(parts, part{"live", s.api.Run})
	}
	return together(ctx, s.log, append(parts, part{"http", s.http}))
}

// http serves until ctx ends, and then until every request is answered or the
// time for that is over.
func (s *service) http(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.server.Serve(s.listener) }()
	s.log.Info("serving", "addr", s.listener.Addr().String())
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.draining.Store(true)
	if !s.cfg.Development() {
		time.Sleep(min(drainNotice, s.cfg.ShutdownTimeout))
	}
	grace, cancel := context.WithTimeout(context.Background(), s.cfg.ShutdownTimeout)
	defer cancel()
	if err := s.server.Shutdown(grace); err != nil {
		s.server.Close()
		return fmt.Errorf("requests were cut off after %v: %w", s.cfg.ShutdownTimeout, err)
	}
	return s.api.Drain(grace)
}

func (s *service) close() {
	if s.store != nil {
		s.store.Close()
	}
	if s.river != nil {
		s.river.Close()
	}
	s.listener.Close()
}

// observer hands what happens in the store to the metrics.
type observer struct{ *telemetry.Metrics }

func (o observer) Batch(lane, size int, waited time.Duration, queued int, took time.Duration) {
	name := "waiter"
	if lane >= 0 {
		name = strconv.Itoa(lane)
	}
	o.LaneCommands.WithLabelValues(name).Observe(float64(size))
	o.LaneWait.WithLabelValues(name).Observe(waited.Seconds())
	o.LaneWork.WithLabelValues(name).Observe(took.Seconds())
	o.LaneQueued.WithLabelValues(name).Set(float64(queued))
}

// listen takes the address, or says how to have another.
func listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("another program serves on %s: stop it, or choose another address, such as ADDR=localhost:8081", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("ADDR=%s: %w", addr, err)
	}
	return l, nil
}

func logger(cfg *config.Config, w io.Writer) *slog.Logger {
	return telemetry.NewLogger(w, cfg.Level(), cfg.LogFormat)
}
