// Command race sells the same seats in three ways, one after the other, to the
// same crowd, on a Postgres of its own that keeps what it commits: by checking
// and then acting, behind a lock that waits, and with Rowlock. It takes about
// 15 seconds and prints who sold a seat twice. The first two are strategies of
// bench/strategies.
//
// It shows, it does not measure: make bench does that, in rounds, with medians.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"
)

const (
	callers = 200                     // who want seats at the same time
	seats   = 40_000                  // of the show that each way sells
	front   = 100                     // everybody wants one of the best so many that are left
	each    = 3500 * time.Millisecond // for each way
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := race(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "race:", err)
		os.Exit(1)
	}
}

func race(ctx context.Context) error {
	screen := newScreen(os.Stdout)
	screen.say("%d callers want the best seats that are left, one or two side by side, of a house of %s.", callers, digits(seats))
	screen.say("Postgres with fsync on; every hold writes reservation, seats, log, idempotency key and job.")
	screen.say("")
	h, err := open(ctx)
	if err != nil {
		return err
	}
	defer h.close()

	var results []result
	for _, w := range []struct {
		name string
		open func(context.Context, *house) (*way, error)
	}{
		{"check, then act", strategy("naive")},
		{"SELECT … FOR UPDATE", strategy("waiting")},
		{"Rowlock", rowlock},
	} {
		r, err := run(ctx, h, screen, w.name, w.open)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		results = append(results, r)
	}
	screen.table(results)
	for _, r := range results[1:] {
		if r.twice > 0 {
			return errors.New(r.name + " sold a seat twice, which must not be")
		}
	}
	return nil
}
