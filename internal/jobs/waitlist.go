package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"github.com/rowlock/rowlock/internal/store"
)

// The batch that frees places offers them to those who wait, in its own
// transaction. This job is for shows that nobody does anything with: a sale
// that begins by itself, a hold whose own job did not come; and for a row that
// somebody had locked.
const (
	waitlistEvery    = time.Minute
	waitlistShowsMax = 1000
)

// PurgeWaitlistBuyersArgs ask to forget who waited for shows that are long over.
type PurgeWaitlistBuyersArgs struct{}

// Kind implements [river.JobArgs].
func (PurgeWaitlistBuyersArgs) Kind() string { return "waitlist_purge" }

// SweepWaitlistsArgs ask to serve the waitlists of shows where something is
// free.
type SweepWaitlistsArgs struct{}

// Kind implements [river.JobArgs].
func (SweepWaitlistsArgs) Kind() string { return "waitlists_sweep" }

type sweepWaitlists struct {
	river.WorkerDefaults[SweepWaitlistsArgs]
	store *store.Store
}

func (w *sweepWaitlists) Timeout(*river.Job[SweepWaitlistsArgs]) time.Duration { return sweepTimeout }

func (w *sweepWaitlists) Work(ctx context.Context, _ *river.Job[SweepWaitlistsArgs]) error {
	shows, err := w.store.UnservedShows(ctx, waitlistShowsMax)
	if err != nil {
		return err
	}
	var failed []error
	for _, show := range shows {
		if err := w.store.OfferWaitlist(ctx, show); err != nil {
			failed = append(failed, fmt.Errorf("show %s: %w", show, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}
