package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/rowlock/rowlock/internal/store"
)

const (
	purgeEvery   = 5 * time.Minute
	purgeTimeout = 2 * time.Minute
	// purgeBatch is rows a statement: it stays far below statement_timeout.
	purgeBatch = 5000
)

// PurgeIdempotencyKeysArgs ask to forget idempotency keys after their 24 hours.
type PurgeIdempotencyKeysArgs struct{}

// Kind implements [river.JobArgs].
func (PurgeIdempotencyKeysArgs) Kind() string { return "idempotency_purge" }

// InsertOpts implements [river.JobArgsWithInsertOpts]: the next purge is on
// its way.
func (PurgeIdempotencyKeysArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{MaxAttempts: 1}
}

type purgeIdempotencyKeys struct {
	river.WorkerDefaults[PurgeIdempotencyKeysArgs]
	store *store.Store
}

func (w *purgeIdempotencyKeys) Timeout(*river.Job[PurgeIdempotencyKeysArgs]) time.Duration {
	return purgeTimeout
}

func (w *purgeIdempotencyKeys) Work(ctx context.Context, _ *river.Job[PurgeIdempotencyKeysArgs]) error {
	return purge(ctx, w.store.PurgeIdempotencyKeys)
}

// purge repeats a purge of at most so many rows until none is left.
func purge(ctx context.Context, do func(ctx context.Context, limit int) (int64, error)) error {
	for {
		if n, err := do(ctx, purgeBatch); err != nil || n < purgeBatch {
			return err
		}
	}
}
