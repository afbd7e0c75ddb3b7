package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/torture/cluster"
)

// options are what a run is told.
type options struct {
	seed     uint64
	during   time.Duration
	faults   []string // groups; nil: all
	planted  string   // the bug that must be found; "": none is there
	dir      string   // of everything that is kept
	keep     bool     // also when nothing was found
	buyers   int
	staff    int
	queuers  int           // people who go through the waiting room
	waiters  int           // parties that wait for a show which is sold out
	viewers  int           // of each show
	troubles int           // faults at the same time
	calm     time.Duration // between two faults at most
	desk     bool          // the gateway's own people give money back, too
	each     time.Duration // a round
	cards    []card        // that people pay with
	house    cluster.Config
}

// group is a number of faults by the name that -faults takes.
type group struct {
	name  string
	kinds []cluster.Kind
	needs string // what a house must have for them
}

var groups = []group{
	{"kill", []cluster.Kind{cluster.InstanceKilled, cluster.WorkerKilled}, ""},
	{"postgres", []cluster.Kind{cluster.PostgresKilled}, ""},
	{"promote", []cluster.Kind{cluster.Promoted, cluster.StandbyHung, cluster.HungPromoted}, "a standby"},
	{"freeze", []cluster.Kind{cluster.InstanceFrozen}, ""},
	{"clock", []cluster.Kind{cluster.ClockWrong}, ""},
	{"step", []cluster.Kind{cluster.ClockStepped}, "libfaketime steps the database's clock; Debian, Ubuntu: apt install faketime"},
	{"cut", []cluster.Kind{cluster.Cut, cluster.CutBefore, cluster.CutAfter, cluster.Silenced}, "a proxy before the database"},
	{"slow", []cluster.Kind{cluster.Slowed}, "a proxy before the database"},
	{"jobs", []cluster.Kind{cluster.JobsPaused, cluster.JobsTwice}, ""},
	{"gateway", []cluster.Kind{cluster.GatewayUnsure, cluster.WebhooksHeld, cluster.WebhooksMixed}, ""},
}

// planted are the bugs that can be built into the product, and the faults by
// which they show.
var planted = map[string][]string{
	"skip-lock":     {"none"},
	"early-answer":  {"kill", "cut"},
	"process-clock": {"clock"},
}

// What a run has of its own accord.
const (
	buyersOwn   = 10
	troublesOwn = 2
	roundOwn    = time.Minute
	calmOwn     = 2500 * time.Millisecond
)

// The lengths that a run may have. In eachKindIn every kind of fault has its
// turn many times over.
const (
	duringMin  = 5 * time.Second
	duringMax  = time.Hour
	eachKindIn = 5 * time.Minute
)

func main() {
	var o options
	var faults string
	flag.Uint64Var(&o.seed, "seed", 0, "of the run; 0: any")
	flag.DurationVar(&o.during, "for", 5*time.Minute, "how long, the start and the last proof not counted")
	flag.StringVar(&faults, "faults", "", "which faults, with commas between them (see -list); none: none; empty: all")
	flag.StringVar(&o.planted, "planted", "", "build this bug in, and succeed only if it is found: skip-lock, early-answer or process-clock")
	flag.StringVar(&o.dir, "dir", "", "folder, which must be empty, for database, history and findings; empty: one that goes if nothing is found")
	flag.BoolVar(&o.keep, "keep", false, "keep the folder in any case")
	flag.IntVar(&o.buyers, "buyers", buyersOwn, "people who buy at the same time")
	flag.IntVar(&o.troubles, "troubles", troublesOwn, "faults at the same time")
	flag.DurationVar(&o.each, "round", roundOwn, "length of a round, after which everything is proved")
	flag.BoolVar(&o.desk, "desk", true, "let the gateway's own people give money back as well")
	flag.DurationVar(&o.calm, "calm", calmOwn, "longest time between two faults")
	listed := flag.Bool("list", false, "say which faults there are")
	kept := flag.String("open", "", "open the database that a run has kept in this folder, and no more")
	flag.Parse()
	if *listed {
		for _, g := range groups {
			var kinds []string
			for _, k := range g.kinds {
				kinds = append(kinds, string(k))
			}
			fmt.Printf("%-9s %s\n", g.name, strings.Join(kinds, ", "))
		}
		return
	}
	o.staff, o.queuers, o.waiters, o.viewers, o.cards = 2, 8, 3, 2, cards
	o.seed = cmp.Or(o.seed, rand.Uint64()>>32)
	o.house = cluster.Config{Instances: 2, Workers: 1, Standby: true, Proxy: true, FakeTime: true}
	if faults != "" {
		o.faults = strings.Split(faults, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	if *kept != "" {
		err = openKept(ctx, *kept)
	} else {
		_, err = torture(ctx, o, newScreen(os.Stdout))
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
}

// openKept starts Postgres on a database that was kept, and psql in it.
func openKept(ctx context.Context, folder string) error {
	if _, err := os.Stat(folder); err != nil {
		return err // Postgres would make an empty one
	}
	url, stop, err := cluster.Open(ctx, folder)
	if err != nil {
		return err
	}
	psql := exec.Command("psql", url)
	psql.Stdin, psql.Stdout, psql.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err = psql.Run(); errors.Is(err, exec.ErrNotFound) {
		fmt.Printf("psql is not installed; until Ctrl-C Postgres is at %s\n", url)
		<-ctx.Done()
		err = nil
	}
	return errors.Join(err, stop())
}

// run is one run.
type run struct {
	cfg    options
	seed   uint64
	house  *cluster.Cluster
	fallen int // crashes of Postgres that were seen in earlier rounds
	kinds  []cluster.Kind
	began  time.Time
	ends   time.Time
	http   *http.Client
	counts counts
	screen *screen
	ours   map[string]paid // payments, by id
	exits  []time.Time
	ill    sync.Map // address of an instance: when it did not answer

	stopLoad atomic.Pointer[context.CancelFunc]
	mu       sync.Mutex
	doing    string
	findings []string
	done     map[cluster.Kind]int
	lots     []lot  // faults that are still to come
	draws    uint64 // how often they were made anew
}

// paid is a payment with the booking that it is for.
type paid struct {
	payment payment
	booking booking
}

func (t *run) now() int64 { return time.Since(t.began).Microseconds() }

// found notes something that must not be, and ends the load: what led to it
// should not be buried.
func (t *run) found(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.findings) < 100 {
		t.findings = append(t.findings, fmt.Sprintf("%9.3f s: ", time.Since(t.began).Seconds())+fmt.Sprintf(format, args...))
	}
	if stop := t.stopLoad.Load(); stop != nil {
		(*stop)()
	}
}

func (t *run) failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.findings) > 0
}

func (t *run) happened(e cluster.Event) {
	if !e.Idle {
		t.mu.Lock()
		t.done[e.Kind]++
		t.mu.Unlock()
	}
	t.screen.say("%9.1f s  %s: %s", e.Ended.Sub(t.began).Seconds(), e.Kind, e.What)
}

// faulty says that things may go wrong for a good reason.
func (t *run) faulty() bool { return len(t.kinds) > 0 }

// clockRight says that the database's clock is never wrong in this run.
func (t *run) clockRight() bool { return !slices.Contains(t.kinds, cluster.ClockStepped) }

// lot is a fault that was drawn, with the chance that decides its particulars.
type lot struct {
	kind cluster.Kind
	rng  *rand.Rand
}

// draw draws the next fault, for whoever makes trouble next. All kinds come
// before the first comes again, kills and fail-overs twice, but for freezes: see
// [round.trouble].
func (t *run) draw() lot {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lots) == 0 {
		t.draws++
		rng := rand.New(rand.NewPCG(t.seed, 1<<63|t.draws))
		for _, k := range t.kinds {
			n := 1
			switch k {
			case cluster.InstanceFrozen:
				n = 0
			case cluster.InstanceKilled, cluster.WorkerKilled, cluster.PostgresKilled, cluster.Promoted:
				n = 2
			}
			for range n {
				t.lots = append(t.lots, lot{k, rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))})
			}
		}
		rng.Shuffle(len(t.lots), func(i, j int) { t.lots[i], t.lots[j] = t.lots[j], t.lots[i] })
	}
	l := t.lots[0]
	t.lots = t.lots[1:]
	return l
}

// undo puts back what was drawn and came to nothing.
func (t *run) undo(l lot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lots = slices.Insert(t.lots, 0, l)
}

// choose finds the kinds of faults that were asked for and that the house can
// have.
func choose(names []string, can []cluster.Kind) (kinds []cluster.Kind, err error) {
	for _, name := range names {
		if name != "none" && !slices.ContainsFunc(groups, func(g group) bool { return g.name == name }) {
			return nil, fmt.Errorf("there is no fault %q; see -list", name)
		}
	}
	for _, g := range groups {
		if names != nil && !slices.Contains(names, g.name) {
			continue
		}
		before := len(kinds)
		for _, k := range g.kinds {
			if slices.Contains(can, k) {
				kinds = append(kinds, k)
			}
		}
		if names != nil && len(kinds) == before {
			return nil, fmt.Errorf("there can be no fault %q here: %s", g.name, g.needs)
		}
	}
	return kinds, nil
}

// missing says of each group that cannot happen here what it needs.
func missing(can []cluster.Kind) (lines []string) {
	for _, g := range groups {
		if !slices.ContainsFunc(g.kinds, func(k cluster.Kind) bool { return slices.Contains(can, k) }) {
			lines = append(lines, g.name+": "+g.needs)
		}
	}
	return lines
}

// torture runs it all. The error is that something was found that must not be,
// or, with a planted bug, that nothing was.
func torture(ctx context.Context, o options, s *screen) (rep *report, err error) {
	if o.during < duringMin || o.during > duringMax || o.buyers < 1 || o.buyers > 100 || o.troubles < 0 || o.troubles > 8 || o.each < duringMin || o.calm < time.Millisecond {
		return nil, fmt.Errorf("-for is %v to %v, -buyers 1 to 100, -troubles 0 to 8, -round at least %v, -calm at least a millisecond", duringMin, duringMax, duringMin)
	}
	var tags []string
	if o.planted != "" {
		if planted[o.planted] == nil {
			return nil, fmt.Errorf("there is no bug %q to plant", o.planted)
		}
		tags = []string{"planted_" + strings.ReplaceAll(o.planted, "-", "_")}
		if o.faults == nil {
			o.faults = planted[o.planted]
		}
	}
	own := o.dir == ""
	if own {
		if o.dir, err = os.MkdirTemp("", "rowlock-torture-"); err != nil {
			return nil, err
		}
	}
	// Postgres may run as another user, who has to come through.
	if err := os.Chmod(o.dir, 0o711); err != nil {
		return nil, err
	}
	t := &run{
		cfg: o, seed: o.seed, screen: s, ours: map[string]paid{}, done: map[cluster.Kind]int{}, began: time.Now(), doing: "building",
		// A connection for each request: one that is kept has an end that was
		// killed, and Go would send some requests twice by itself.
		http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	s.say("seed %d, for %v", o.seed, o.during)
	defer s.watch(t)()
	if err := t.start(ctx, tags); err != nil {
		return nil, fmt.Errorf("the house could not be started, see %s: %w", o.dir, err)
	}
	for n := 1; ctx.Err() == nil && !t.failed(); n++ {
		left := time.Until(t.ends)
		if left < duringMin/2 {
			break
		}
		if err = t.round(ctx, n, min(left, o.each)); err != nil {
			break
		}
	}
	t.phase("stopping")
	rep = t.report()
	if e := t.house.Stop(); e != nil && ctx.Err() == nil {
		rep.Findings = append(rep.Findings, fmt.Sprintf("the house did not stop by itself: %v", e))
	}
	if e := rep.save(filepath.Join(o.dir, "report.json")); e != nil {
		err = errors.Join(err, e)
	}
	if err != nil {
		return rep, fmt.Errorf("seed %d, see %s: %w", o.seed, o.dir, err)
	}
	s.clear()
	rep.print(s)
	caught, never := len(rep.Findings) > 0, t.never()
	switch {
	case o.planted != "" && !caught:
		err = fmt.Errorf("the planted bug %s was not found; seed %d, see %s", o.planted, o.seed, o.dir)
	case o.planted == "" && caught:
		err = fmt.Errorf("%d findings; everything is in %s; again: %s", len(rep.Findings), o.dir, o.command())
	case ctx.Err() != nil:
		err = fmt.Errorf("stopped before its end, nothing was found until then; seed %d", o.seed)
	case len(never) > 0:
		err = fmt.Errorf("in %v there was never: %s; seed %d, see %s", o.during, strings.Join(never, ", "), o.seed, o.dir)
	}
	if err != nil {
		s.say("its database: go run ./torture -open %s", t.house.Folder())
		return rep, err
	}
	if o.planted != "" {
		s.say("the planted bug %s was caught after %v", o.planted, rep.Took)
	}
	if own && !o.keep {
		return rep, os.RemoveAll(o.dir)
	}
	return rep, nil
}

// never are the kinds of faults that were to happen in a run which was long
// enough, and did not.
func (t *run) never() (kinds []string) {
	if t.cfg.during < eachKindIn || t.cfg.planted != "" || t.cfg.troubles == 0 {
		return nil
	}
	for _, k := range t.kinds {
		if t.done[k] == 0 {
			kinds = append(kinds, string(k))
		}
	}
	return kinds
}

// command is how to do it again.
func (o *options) command() string {
	text := fmt.Sprintf("go run ./torture -seed %d -for %v", o.seed, o.during)
	if !o.desk {
		text += " -desk=false"
	}
	for _, f := range []struct {
		name       string
		value, own any
	}{{"buyers", o.buyers, buyersOwn}, {"troubles", o.troubles, troublesOwn}, {"round", o.each, roundOwn}, {"calm", o.calm, calmOwn}, {"planted", o.planted, ""}} {
		if f.value != f.own {
			text += fmt.Sprintf(" -%s %v", f.name, f.value)
		}
	}
	if o.faults != nil {
		text += " -faults " + strings.Join(o.faults, ",")
	}
	return text
}

// start builds the binary and starts the house.
func (t *run) start(ctx context.Context, tags []string) error {
	binary, err := cluster.Build(ctx, filepath.Join(t.cfg.dir, "bin"), tags...)
	if err != nil {
		return err
	}
	t.phase("starting")
	house := t.cfg.house
	// It makes Postgres fall now and then: a timer of its may open a file in the
	// middle of malloc. So it is there only when clocks are to be stepped.
	house.FakeTime = house.FakeTime && (t.cfg.faults == nil || slices.Contains(t.cfg.faults, "step"))
	house.Dir, house.Binary, house.Seed = filepath.Join(t.cfg.dir, "house"), binary, t.seed
	if house.Log == nil {
		log, err := os.OpenFile(filepath.Join(t.cfg.dir, "house.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		house.Log = slog.New(slog.NewTextHandler(io.Writer(log), nil))
	}
	house.Settings = map[string]string{"RATE_LIMIT": "0", "RATE_LIMIT_API_KEYS": "0"}
	if t.house, err = cluster.Start(ctx, house); err != nil {
		return err
	}
	if t.kinds, err = choose(t.cfg.faults, t.house.Kinds()); err != nil {
		return errors.Join(err, t.house.Stop())
	}
	if t.cfg.faults == nil {
		for _, what := range missing(t.house.Kinds()) {
			t.screen.say("does not happen here: %s", what)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.began = time.Now()
	t.ends = t.began.Add(t.cfg.during)
	return nil
}

func (t *run) phase(doing string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.doing = doing
}
