// Command buyers lets people buy at a steady rate, whether or not answers come,
// from a Rowlock of its own: hold two seats, pay at the sandbox gateway, which
// answers at once, and fetch the tickets; all over HTTP. Each is timed from the
// instant at which they were due. At the end rowlock prove looks for a rule
// that was broken.
//
//	go run ./bench/buyers -rate 200 -for 15s
//
// It starts bin/rowlock in a folder that goes when it ends, on ports that are
// free, and talks to nothing else. The load itself is a row of make bench, and
// in bench/onsale.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/rowlock/rowlock/bench/onsale"
)

func main() {
	rate := flag.Int("rate", 200, "buyers a second")
	during := flag.Duration("for", 15*time.Second, "for how long they come")
	binary := flag.String("rowlock", "bin/rowlock", "the binary to run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	bought, err := onsale.Buy(ctx, onsale.Rush{Binary: *binary, Rate: *rate, During: *during, Say: say})
	stop()
	report(&bought)
	if err != nil {
		fmt.Fprintln(os.Stderr, "buyers:", err)
		os.Exit(1)
	}
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func report(b *onsale.Bought) {
	if b.Tickets.Attempts == 0 {
		return
	}
	say("")
	say("%d bought in %v, %.0f a second; until, in ms:", b.Tickets.Attempts-b.Tickets.Failed, b.Tickets.Took.Round(time.Millisecond), b.Tickets.PerSecond())
	say("  %-8s %8s %8s %8s", "", "p50", "p99", "max")
	for _, step := range []struct {
		name string
		load *onsale.Load
	}{{"hold", &b.Hold}, {"pay", &b.Pay}, {"tickets", &b.Tickets}} {
		say("  %-8s %8.1f %8.1f %8.1f", step.name, ms(step.load.P50), ms(step.load.P99), ms(step.load.Max))
	}
	say("%s", b.Verdict)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
