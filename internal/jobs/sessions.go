package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/rowlock/rowlock/internal/store"
)

// PurgeSessionsArgs ask to forget guests whose token has ended.
type PurgeSessionsArgs struct{}

// Kind implements [river.JobArgs].
func (PurgeSessionsArgs) Kind() string { return "sessions_purge" }

// InsertOpts implements [river.JobArgsWithInsertOpts]: the next purge is on
// its way.
func (PurgeSessionsArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{MaxAttempts: 1} }

type purgeSessions struct {
	river.WorkerDefaults[PurgeSessionsArgs]
	store *store.Store
}

func (w *purgeSessions) Timeout(*river.Job[PurgeSessionsArgs]) time.Duration { return purgeTimeout }

func (w *purgeSessions) Work(ctx context.Context, _ *river.Job[PurgeSessionsArgs]) error {
	return purge(ctx, w.store.PurgeSessions)
}
