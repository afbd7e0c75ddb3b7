// Command server is Rowlock's HTTP door in front of any strategy, for the
// benchmarks: a process of its own, so that what serving costs and what asking
// costs can be told apart. It prints its address, and ends when its standard
// input does, so that it never outlives the benchmark that started it.
//
// The door is that of rowlock serve with its default settings: limits, metrics
// and a line of log for each request, which are written and not kept. Only the
// limits on how often somebody may ask, and how many may watch from one address,
// are out of reach: nobody's own, but a benchmark's callers ask without a pause.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/pprof"
	"strconv"
	"syscall"
	"time"

	"github.com/rowlock/rowlock/bench/onsale"
	"github.com/rowlock/rowlock/bench/strategies"
	"github.com/rowlock/rowlock/internal/api"
	"github.com/rowlock/rowlock/internal/config"
	"github.com/rowlock/rowlock/internal/jobs"
	"github.com/rowlock/rowlock/internal/lanes"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/internal/telemetry"
)

type options struct {
	addr            string
	app, lane       string
	strategy, redis string
	secret          string
	profile         string
}

func main() {
	var o options
	flag.StringVar(&o.addr, "addr", "127.0.0.1:0", "host and port to serve at")
	flag.StringVar(&o.app, "app", "", "URL of the database for requests")
	flag.StringVar(&o.lane, "lane", "", "URL of the database for what places holds")
	flag.StringVar(&o.strategy, "strategy", onsale.Rowlock, "how holds are placed; see bench/strategies")
	flag.StringVar(&o.redis, "redis", "", "address of the Redis of strategies that need one")
	flag.StringVar(&o.secret, "secret", "", "secret that customers' tokens are signed with")
	flag.StringVar(&o.profile, "cpuprofile", "", "file for a CPU profile of the whole run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	if err := serve(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, o *options) error {
	if o.profile != "" {
		file, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	config.CollectGarbage()
	cfg, err := config.Load(func(name string) (string, bool) {
		text, given := map[string]string{"ENV": "development", "RATE_LIMIT": "1000000", "DATABASE_URL": o.app, "DATABASE_LANE_URL": o.lane, "JWT_SECRET": o.secret}[name]
		return text, given
	})
	if err != nil {
		return err
	}
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer nowhere.Close()
	log := slog.New(slog.NewMultiHandler(
		telemetry.NewLogger(nowhere, cfg.Level(), cfg.LogFormat).Handler(),
		telemetry.NewLogger(os.Stderr, slog.LevelError, "text").Handler(),
	))
	road, closeRoad, err := open(ctx, o, log)
	if err != nil {
		return err
	}
	defer closeRoad()
	metrics := telemetry.NewMetrics()
	scheduler, err := jobs.NewScheduler(log, false)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, store.Config{
		URL: cfg.DatabaseURL, LaneURL: cfg.LaneURL(), PoolMax: int32(cfg.PoolRequests + cfg.PoolJobs),
		Lanes: lanes.Config{
			Lanes: cmp.Or(cfg.Lanes, lanes.Cores()), BatchMax: cfg.LaneBatchMax, QueueMax: cfg.LaneQueueMax,
			WaitersMax: cfg.Waiters, Timeout: cfg.LaneTimeout,
		},
		Jobs: scheduler, Log: log, Observer: observer{metrics}, Road: road,
	})
	if err != nil {
		return err
	}
	defer s.Close()
	door := api.New(api.Options{
		Log: log, Metrics: metrics, Addr: cfg.Addr, Store: s, InFlightMax: cfg.InFlightMax,
		StreamsMax: cfg.StreamsMax, StreamsPerAddress: cfg.StreamsMax,
		Limit: api.LimitOptions{PerSecond: cfg.RateLimit, KeyPerSecond: cfg.RateLimitAPIKeys},
		Auth:  api.AuthOptions{Secret: []byte(cfg.JWTSecret), Keys: s},
	})
	door.Mount("GET /metrics", metrics.Handler())
	return run(ctx, s, door, o.addr)
}

// open opens the strategy. None, for Rowlock itself, is nil.
func open(ctx context.Context, o *options, log *slog.Logger) (road store.Road, end func(), err error) {
	if o.strategy == onsale.Rowlock {
		return nil, func() {}, nil
	}
	s, err := strategies.Named(o.strategy)
	if err != nil {
		return nil, nil, err
	}
	opened, err := s.Open(ctx, strategies.Config{Pool: o.lane, Redis: o.redis, Log: log})
	if err != nil {
		return nil, nil, err
	}
	return opened, opened.Close, nil
}

// run serves until ctx ends.
func run(ctx context.Context, s *store.Store, door *api.API, addr string) error {
	server := door.Server()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	working, rest := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- s.Run(working) }()
	go func() {
		_ = door.Run(working) // it ends because it is told to
		ended <- nil
	}()
	end := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(grace) // callers have hung up, or nobody looks any more
	})
	defer end()
	fmt.Println(listener.Addr())
	err = server.Serve(listener)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	rest()
	return errors.Join(err, <-ended, <-ended)
}

// observer hands what happens in the store to the metrics, as in cmd/api.
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
