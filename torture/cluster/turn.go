//go:build unix

package cluster

import (
	"context"
	"time"
)

// turn is a lock that can be waited for with a context. Each part of the
// cluster that faults happen to has one.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) leave() { <-t }

// last lets a fault last for d, or until ctx ends, and returns how long it did.
func last(ctx context.Context, d time.Duration) time.Duration {
	began := time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return time.Since(began).Round(time.Millisecond)
}
