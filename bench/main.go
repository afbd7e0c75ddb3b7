// Command bench measures what docs and README claim: Rowlock beside the usual
// ways to sell a seat, in one run, on a Postgres of its own that keeps what it
// commits. Rounds are interleaved, medians and ratios are what counts, and after
// every round the tables are checked by the rules of sql/ops/invariants.sql: a
// strategy that sells a seat twice is not fast, it is wrong.
//
//	go run ./bench                      everything, about half an hour
//	go run ./bench --quick              the store, in two minutes: whether it works
//	go run ./bench --only hot,contended
//	go run ./bench --old 1e6,1e7        with ten million old rows, too
//
// Results go to bench/results, pictures to bench/plots. The folders strategies
// and onsale hold what it compares with, and what it does over HTTP.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rowlock/rowlock/internal/config"

	"github.com/rowlock/rowlock/bench/report"
)

// options are what the flags say.
type options struct {
	quick   bool
	rounds  int
	only    []string
	oldRows []int
	dir     string
	keep    bool // write results
	write   bool // write the README

	costs bool // say what each statement cost
}

func main() {
	o, list, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	case list:
		for _, s := range scenarios {
			fmt.Printf("%-10s %s\n", s.id, s.about)
		}
		return
	}
	config.CollectGarbage() // the store is worked in this process
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (o options, list bool, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.Usage = func() {
		out := flags.Output()
		fmt.Fprintf(out, "Measures Rowlock beside other ways to sell a seat, on a Postgres of its own.\n\n  go run ./bench [flags]\n\n")
		flags.PrintDefaults()
		fmt.Fprintf(out, "\nRows:\n")
		for _, s := range scenarios {
			fmt.Fprintf(out, "  %-10s %s\n", s.id, s.about)
		}
		fmt.Fprintf(out, "\nExit 0: measured, whatever was reached; 1: something could not be measured, or somebody but the naive strategy sold a seat twice.\n")
	}
	var only, old string
	var save bool
	flags.BoolVar(&o.quick, "quick", false, "one short round of eight rows, those that compare strategies among them and none over HTTP, to see that they work")
	flags.IntVar(&o.rounds, "rounds", 0, "rounds of each row (default 5, quick 1)")
	flags.StringVar(&only, "only", "", "measure these `rows`, with commas between")
	flags.StringVar(&old, "old", "1e6", "`numbers` of old rows for the row old, with commas between; 1e7 takes ten minutes and 20 GB")
	flags.StringVar(&o.dir, "dir", "bench", "`folder` with results, plots and README.md")
	flags.BoolVar(&save, "save", true, "write results and plots; a quick run writes none, or results alone if told so")
	flags.BoolVar(&o.write, "write", false, "write the figures into the README of the folder, too")
	flags.BoolVar(&o.costs, "costs", false, "say after each round of the store's rows what each statement cost; measuring that costs, too")
	flags.BoolVar(&list, "list", false, "list the rows, and measure nothing")
	if err := flags.Parse(args); err != nil {
		return o, false, err
	}
	if flags.NArg() > 0 {
		return o, false, fmt.Errorf("what is %q? Rows are named with --only", flags.Arg(0))
	}
	told := false
	flags.Visit(func(f *flag.Flag) { told = told || f.Name == "save" })
	o.keep = save && (told || !o.quick)
	if o.quick && o.write {
		return o, false, errors.New("the figures of a quick run mean too little to be written into a README")
	}
	if o.rounds == 0 {
		o.rounds = 5
		if o.quick {
			o.rounds = 1
		}
	}
	if o.rounds < 1 {
		return o, false, errors.New("--rounds must be 1 or more")
	}
	for name := range strings.SplitSeq(only, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !slices.ContainsFunc(scenarios, func(s scenario) bool { return s.id == name }) {
			return o, false, fmt.Errorf("there is no row %q; --list shows them", name)
		}
		o.only = append(o.only, name)
	}
	toldOld := false
	flags.Visit(func(f *flag.Flag) { toldOld = toldOld || f.Name == "old" })
	if o.quick && !toldOld {
		old = "1e5"
	}
	for text := range strings.SplitSeq(old, ",") {
		n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || n < 1 || n > 1e8 {
			return o, false, fmt.Errorf("--old: %q is no number of rows between 1 and 1e8", text)
		}
		o.oldRows = append(o.oldRows, int(n))
	}
	return o, list, nil
}

// chosen are the rows to measure.
func (o *options) chosen() (list []scenario) {
	for _, s := range scenarios {
		if len(o.only) == 0 && !(o.quick && s.long) || slices.Contains(o.only, s.id) {
			list = append(list, s)
		}
	}
	return list
}

func run(ctx context.Context, o options) (err error) {
	b := &bench{options: o, screen: newScreen(os.Stdout)}
	began := time.Now()
	if b.city, err = openCity(ctx); err != nil {
		return err
	}
	defer b.city.close()
	if b.house, err = b.city.open(ctx, "rowlock"); err != nil {
		return err
	}
	defer b.house.close()
	result := &report.Report{When: began, Commit: report.Commit(ctx), Quick: o.quick}
	if result.Machine, err = report.ThisMachine(ctx, b.house.all); err != nil {
		return err
	}
	if b.city.redis == "" {
		result.Machine.Redis = ""
	}
	b.plan(&result.Machine)
	var failed []error
	for _, s := range o.chosen() {
		start := time.Now()
		rows, err := s.measure(b, ctx)
		if ctx.Err() != nil {
			return errors.New("stopped; nothing was written")
		}
		if err != nil {
			b.screen.say("✗ %s could not be measured: %v", s.id, err)
			failed = append(failed, err)
			continue
		}
		for i := range rows {
			b.screen.row(&rows[i])
		}
		b.screen.say("  took %v\n", time.Since(start).Round(time.Second))
		result.Rows = append(result.Rows, rows...)
	}
	b.screen.say("%v in all.", time.Since(began).Round(time.Second))
	if o.keep && len(result.Rows) > 0 {
		if err := b.save(result); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// plan says what is ahead, and on what.
func (b *bench) plan(m *report.Machine) {
	redis := "no Redis"
	if m.Redis != "" {
		redis = "Redis " + m.Redis
	}
	b.screen.say("%s, %d cores, %s GB; %s, %s; Go %s, PostgreSQL %s, %s", m.CPU, m.Cores, report.Figure(m.MemoryGB), m.System, m.Kernel, m.Go, m.Postgres, redis)
	b.screen.say("fsync %s, synchronous_commit %s, wal_sync_method %s, shared_buffers %s", m.Settings["fsync"], m.Settings["synchronous_commit"],
		m.Settings["wal_sync_method"], m.Settings["shared_buffers"])
	var total time.Duration
	b.screen.say("")
	for _, s := range b.chosen() {
		takes := s.takes * time.Duration(b.rounds) / 5
		if b.quick {
			takes = s.quickly * time.Duration(b.rounds)
		}
		if s.id == "old" {
			for _, n := range b.oldRows {
				takes += time.Duration(n) * 50 * time.Microsecond
			}
		}
		total += takes
		b.screen.say("  %-10s %-55s about %v", s.id, s.about, takes.Round(time.Second))
	}
	b.screen.say("  %-10s %-55s about %v\n", "", fmt.Sprintf("%d rounds of each", b.rounds), total.Round(10*time.Second))
}

// save writes results, pictures and, if wanted, the README.
func (b *bench) save(r *report.Report) error {
	results, plots := filepath.Join(b.dir, "results"), filepath.Join(b.dir, "plots")
	path, err := r.Save(results)
	if err != nil {
		return err
	}
	if r.Quick {
		b.screen.say("%s is written.", path)
		return nil
	}
	all, err := report.Latest(results)
	if err != nil {
		return err
	}
	var ids []string
	for _, s := range scenarios {
		ids = append(ids, s.id)
	}
	all.Order(ids)
	if err := all.Plots(plots); err != nil {
		return err
	}
	b.screen.say("%s, %s and pictures in %s are written.", path, filepath.Join(results, "latest.json"), plots)
	if !b.write {
		return nil
	}
	readme := filepath.Join(b.dir, "README.md")
	b.screen.say("So are the figures of %s.", readme)
	return all.Into(readme, "plots")
}
