package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// part is something that works until its context ends. One that returns nil
// before has done what it had to do.
type part struct {
	name string
	run  func(context.Context) error
}

// together runs parts until ctx ends or one fails. Then it stops them one by
// one, the last first, each when those that need it have ended.
func together(ctx context.Context, log *slog.Logger, parts []part) error {
	type started struct {
		stop  context.CancelFunc
		ended chan error
	}
	failed := make(chan error, len(parts))
	all := make([]started, len(parts))
	for i, p := range parts {
		own, stop := context.WithCancel(context.WithoutCancel(ctx))
		r := started{stop, make(chan error, 1)}
		all[i] = r
		go func() {
			err := p.run(own)
			if own.Err() != nil && errors.Is(err, context.Canceled) {
				err = nil // it was told to stop, and did
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", p.name, err)
				failed <- err
			}
			r.ended <- err
		}()
	}
	var first error
	select {
	case <-ctx.Done():
		log.Info("stopping")
	case first = <-failed:
	}
	errs := []error{first}
	for i := len(parts) - 1; i >= 0; i-- {
		all[i].stop()
		if err := <-all[i].ended; err != nil && err != first {
			errs = append(errs, err)
		}
		log.Debug("stopped", "part", parts[i].name)
	}
	return errors.Join(errs...)
}
