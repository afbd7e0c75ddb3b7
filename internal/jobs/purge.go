package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"
)

const (
	purgeEvery   = 5 * time.Minute
	purgeTimeout = 2 * time.Minute
	// purgeBatch is rows a statement: it stays far below statement_timeout.
	purgeBatch = 5000
)

// purge works a kind of job that forgets what has served its time.
type purge[A river.JobArgs] struct {
	river.WorkerDefaults[A]
	batch func(ctx context.Context, limit int) (deleted int64, err error)
}

func (w *purge[A]) Timeout(*river.Job[A]) time.Duration { return purgeTimeout }

// Work deletes batch after batch until one is not full.
func (w *purge[A]) Work(ctx context.Context, _ *river.Job[A]) error {
	for {
		if n, err := w.batch(ctx, purgeBatch); err != nil || n < purgeBatch {
			return err
		}
	}
}
