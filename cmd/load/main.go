// Command load is the on-sale drill: buyers come to a deployment of Rowlock,
// look, choose, hold, pay and fetch their tickets, or change their minds, all
// over its API; then it is checked through the same API that no place was sold
// twice and that everybody has what they were told.
//
//	go run ./cmd/load --buyers 2000 --over 60s
//
// Buyers come when they are due, whether or not those before them have been
// answered, and every wait is counted from the instant at which its buyer was
// due: a service that falls behind is seen to, instead of slowing down the load
// that should have shown it.
//
// It is for one's own deployment. Nothing but this machine is taken as a target
// unless its owner says so, everything is bounded, and it stops by itself.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	exitFine   = 0
	exitBroken = 1 // a rule was broken
	exitUnable = 2 // the drill, or the check after it, could not be run
	exitMissed = 3 // no rule was broken, but a threshold was missed
)

func main() {
	// The first signal ends the sale; those who are at it finish, and the report
	// comes. A second one ends the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(load(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// load runs a drill and returns the exit code. The sale ends early with ctx.
func load(ctx context.Context, args []string, stdout io.Writer, stderr *os.File) int {
	code := exitFine
	cmd := newCommand(func(cmd *cobra.Command, o *options) (err error) {
		code, err = drill(cmd.Context(), o, stdout, stderr)
		return err
	})
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(stderr, "load: %v\n", err)
		return exitUnable
	}
	return code
}

// The most that may be asked for. A drill beyond them needs more than one
// machine to drive it, and more than one flag to be asked for.
const (
	buyersMax      = 100_000
	rateMax        = 5_000 // buyers a second, on average
	overMax        = time.Hour
	thinkMax       = 10 * time.Minute
	patienceMax    = 10 * time.Minute
	queuingMax     = time.Hour
	viewersMax     = 20_000
	connectionsMax = 20_000
	triesMax       = 100
	placesMax      = 10
)

// options are what a drill is asked to be.
type options struct {
	Target string `json:"target"`
	Show   string `json:"show,omitempty"`
	Owned  bool   `json:"-"`

	Buyers int           `json:"buyers"`
	Over   time.Duration `json:"overNanos"`
	Rate   float64       `json:"rate"` // buyers a second, on average
	Curve  curve         `json:"curve"`
	Seed   uint64        `json:"seed"`

	Viewers  int           `json:"viewers"`
	Watch    way           `json:"watch"`
	Think    time.Duration `json:"thinkNanos"`
	Places   int           `json:"placesMax"`
	Spread   share         `json:"spread"`
	Tries    int           `json:"tries"`
	Patience time.Duration `json:"patienceNanos"`
	// QueuePatience is how long a buyer stays in a waiting room.
	QueuePatience time.Duration `json:"queuePatienceNanos"`
	Abandon       share         `json:"abandon"`
	Release       share         `json:"release"`
	Hold          time.Duration `json:"holdNanos"`
	Cards         cards         `json:"cards"`

	Mock   bool   `json:"mock"`
	Bearer string `json:"-"`
	APIKey string `json:"-"`

	Connections int    `json:"connections"`
	Shared      bool   `json:"shared"`
	JSON        string `json:"-"`

	P99    time.Duration `json:"p99Nanos,omitempty"`
	Errors share         `json:"errorsMax"`
}

const examples = `  A rush on the first show that is on sale here: 1,000 buyers within a minute, most of them at once
    load

  2,000 buyers and 500 who only watch, on a show of one's choice; slower than 500 ms at p99 is a failure
    load --show 0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e --buyers 2000 --viewers 500 --p99 500ms

  50 buyers a second for two minutes, evenly, who do not think
    load --rate 50 --over 2m --curve steady --think 0s

  Against a staging system of one's own, as its back end, with a report for a machine
    load --target https://tickets.staging.example.org --i-own-this-host --show … --api-key @key.txt --json report.json`

const about = `Lets buyers come to a deployment of Rowlock as on the first day of sales, and
checks afterwards, through the API, that nothing was sold twice and nobody lost
what they were promised. It buys: use a show that nobody else needs, and the
sandbox gateway.

Exit codes: 0 fine, 1 a rule was broken, 2 it could not be run or checked,
3 a threshold (--p99, --errors) was missed. Ctrl-C ends the sale early and
reports what was seen. docs/load.md explains the report.`

func newCommand(run func(*cobra.Command, *options) error) *cobra.Command {
	o := &options{Curve: rush, Watch: told, Spread: 0.1, Abandon: 0.1, Release: 0.05, Errors: 0.01}
	if err := o.Cards.Set("sbx_ok=92,sbx_declined=5,sbx_async=3"); err != nil {
		panic(err) // it is written one line above
	}
	cmd := &cobra.Command{
		Use:           "load",
		Short:         "An on-sale drill against your own deployment of Rowlock",
		Long:          about,
		Example:       examples,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.settle(cmd.Flags().Changed("buyers"), cmd.Flags().Changed("over"), cmd.Flags().Changed("rate")); err != nil {
				return fmt.Errorf("%w\nTry: load --help", err)
			}
			return run(cmd, o)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.Target, "target", "http://localhost:8080", "where Rowlock is")
	f.StringVar(&o.Show, "show", "", "id of the show to sell; default: the first that is on sale, on this machine only")
	f.BoolVar(&o.Owned, "i-own-this-host", false, "the target is not this machine, and I may load it")

	f.IntVar(&o.Buyers, "buyers", 1000, fmt.Sprintf("how many come, at most %d", buyersMax))
	f.DurationVar(&o.Over, "over", time.Minute, fmt.Sprintf("within which time they come, at most %v", overMax))
	f.Float64Var(&o.Rate, "rate", 0, fmt.Sprintf("buyers a second on average, at most %d; instead of --buyers or --over", rateMax))
	f.Var(&o.Curve, "curve", "how they come: rush (a peak at the start that dies down) or steady")
	f.Uint64Var(&o.Seed, "seed", 0, "repeats the arrivals and moods of an earlier drill; 0: new ones")

	f.IntVar(&o.Viewers, "viewers", 0, fmt.Sprintf("how many only watch the map, at most %d", viewersMax))
	f.Var(&o.Watch, "watch", fmt.Sprintf("how they watch: sse, by the stream, or poll, asking every %v", viewInterval))
	f.DurationVar(&o.Think, "think", 2*time.Second, "how long buyers think before each click, on average")
	f.IntVar(&o.Places, "places", 4, fmt.Sprintf("the most places a buyer wants, at most %d; they want 1 to this many, side by side", placesMax))
	f.Var(&o.Spread, "spread", "how much of what is free buyers choose from, the best first: little is a scramble for the front row, 100% is anywhere")
	f.IntVar(&o.Tries, "tries", 5, "how often a buyer tries other seats before giving up when somebody was faster")
	f.DurationVar(&o.Patience, "patience", time.Minute, "how long a buyer puts up with waiting, in all, before leaving")
	f.DurationVar(&o.QueuePatience, "queue-patience", 10*time.Minute, "how long a buyer stays in the show's waiting room, if it has one, beside --patience")
	f.Var(&o.Abandon, "abandon", "share of buyers who leave after holding; their holds run out")
	f.Var(&o.Release, "release", "share of buyers who give back what they hold")
	f.DurationVar(&o.Hold, "hold", 20*time.Second, "length of the holds of those who will leave, so that their end can be seen; others have the show's")
	f.Var(&o.Cards, "cards", "tokens of the sandbox gateway and how common they are; none: nobody pays, all give back")

	f.BoolVar(&o.Mock, "mock", false, "buyers are mock users (AUTH_MODE=mock) instead of guests")
	f.StringVar(&o.Bearer, "bearer", "", "file with customers' tokens, one a line, which buyers take in turn")
	f.StringVar(&o.APIKey, "api-key", "", "an API key with reservations:staff and sales:read, or @file: buyers are its customers")

	f.IntVar(&o.Connections, "connections", 2000, fmt.Sprintf("the most open connections, at most %d; waiting for one is counted", connectionsMax))
	f.BoolVar(&o.Shared, "shared", false, "others buy in this show meanwhile: places that the drill cannot explain are not held against Rowlock")
	f.StringVar(&o.JSON, "json", "", "write the report as JSON to this file, too")
	f.DurationVar(&o.P99, "p99", 0, "threshold: 99% of holds and of payments must take no longer; 0: none")
	f.Var(&o.Errors, "errors", "threshold: the most requests without an answer, or with an error that is not a refusal")
	for name, values := range map[string][]string{"curve": {string(rush), string(steady)}, "watch": {string(told), string(asking)}, "cards": {"sbx_ok", "sbx_declined", "sbx_insufficient_funds", "sbx_slow", "sbx_timeout", "sbx_async", "sbx_webhooks_storm"}} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // it fails for flags that there are not
	}
	return cmd
}

// settle works out how many buyers come how fast, and refuses what is out of
// bounds. It is told which of the three were given.
func (o *options) settle(buyers, over, rate bool) error {
	if rate && o.Rate <= 0 {
		return errors.New("--rate must be more than 0")
	}
	switch {
	case rate && buyers && over:
		return errors.New("--buyers, --over and --rate: two of them say it all")
	case rate && buyers:
		o.Over = time.Duration(float64(o.Buyers) / o.Rate * float64(time.Second))
	case rate:
		o.Buyers = int(o.Rate * o.Over.Seconds())
	}
	for _, limit := range []struct {
		flag           string
		is, from, upTo float64
		unit           string
	}{
		{"--buyers", float64(o.Buyers), 1, buyersMax, ""},
		{"--over", o.Over.Seconds(), 0.001, overMax.Seconds(), " s"},
		{"--viewers", float64(o.Viewers), 0, viewersMax, ""},
		{"--think", o.Think.Seconds(), 0, thinkMax.Seconds(), " s"},
		{"--places", float64(o.Places), 1, placesMax, ""},
		{"--tries", float64(o.Tries), 1, triesMax, ""},
		{"--patience", o.Patience.Seconds(), 1, patienceMax.Seconds(), " s"},
		{"--queue-patience", o.QueuePatience.Seconds(), 1, queuingMax.Seconds(), " s"},
		{"--hold", o.Hold.Seconds(), 1, 3600, " s"},
		{"--connections", float64(o.Connections), 1, connectionsMax, ""},
		{"--rate", float64(o.Buyers) / o.Over.Seconds(), 0, rateMax, " buyers a second"},
		{"--abandon and --release", float64(o.Abandon + o.Release), 0, 1, " of the buyers"},
		{"--p99", o.P99.Seconds(), 0, 3600, " s"},
	} {
		if limit.is < limit.from || limit.is > limit.upTo {
			return fmt.Errorf("%s: %g is not from %g to %g%s", limit.flag, limit.is, limit.from, limit.upTo, limit.unit)
		}
	}
	who := 0
	for _, given := range []bool{o.Mock, o.Bearer != "", o.APIKey != ""} {
		if given {
			who++
		}
	}
	if who > 1 {
		return errors.New("--mock, --bearer and --api-key: buyers are one of them")
	}
	if o.Owned && o.Show == "" {
		return errors.New("--i-own-this-host needs --show: a show of somebody else's machine is not bought by chance")
	}
	o.Rate = float64(o.Buyers) / o.Over.Seconds()
	if o.Seed == 0 {
		o.Seed = rand.Uint64()>>1 + 1 // fits where numbers are signed
	}
	return nil
}

// drill runs the drill and the check after it, and reports.
func drill(selling context.Context, o *options, stdout io.Writer, stderr *os.File) (code int, err error) {
	m := newMeter()
	t, err := dial(selling, o, m)
	if err != nil {
		return exitUnable, err
	}
	crowd, err := credentials(o)
	if err != nil {
		return exitUnable, err
	}
	h, err := enter(selling, t, o)
	if err != nil {
		return exitUnable, err
	}
	s := &scenario{options: o, target: t, hall: h, meter: m, callers: crowd}
	fmt.Fprintf(stderr, "%s\n%d buyers within %v (%s), seed %d. Ctrl-C ends the sale early.\n\n", h.title(), o.Buyers, o.Over.Round(time.Millisecond), o.Curve, o.Seed)

	watching := watch(stderr, m, o)
	records := s.run(selling)
	watching.stop()

	fmt.Fprintln(stderr, "The sale is over; checking what everybody was told.")
	// Whoever ended the sale wants to know how it went all the same.
	checks := audit(context.WithoutCancel(selling), t, h, records, o.Shared)
	if s.seen != nil {
		checks = append(checks, *s.seen)
	}
	if c := queued(records); c.Examined > 0 {
		checks = append(checks, c)
	}
	r := newReport(o, h, m, records, checks)
	r.print(stdout)
	if o.JSON != "" {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return exitUnable, err
		}
		if err := os.WriteFile(o.JSON, append(text, '\n'), 0o644); err != nil {
			return exitUnable, err
		}
	}
	return r.Exit, nil
}

// credentials make a buyer's caller out of their number.
func credentials(o *options) (func(n int) caller, error) {
	switch {
	case o.Mock:
		return func(int) caller { return caller{header: "X-Mock-User-Id", value: newUUID()} }, nil
	case o.APIKey != "":
		key := o.APIKey
		if path, ok := strings.CutPrefix(key, "@"); ok {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			key = strings.TrimSpace(string(text))
		}
		drill := newUUID()[:8]
		return func(n int) caller {
			return caller{header: "X-API-Key", value: key, customer: fmt.Sprintf("drill-%s-%d", drill, n)}
		}, nil
	case o.Bearer != "":
		text, err := os.ReadFile(o.Bearer)
		if err != nil {
			return nil, err
		}
		tokens := strings.Fields(string(text))
		if len(tokens) == 0 {
			return nil, fmt.Errorf("%s has no token", o.Bearer)
		}
		return func(n int) caller {
			return caller{header: "Authorization", value: "Bearer " + tokens[n%len(tokens)]}
		}, nil
	default:
		return nil, nil // they become guests when they come
	}
}
