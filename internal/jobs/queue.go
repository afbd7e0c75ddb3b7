package jobs

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/internal/telemetry"
)

// PurgeQueueEntriesArgs ask to forget who waited for shows that are long over.
type PurgeQueueEntriesArgs struct{}

// Kind implements [river.JobArgs].
func (PurgeQueueEntriesArgs) Kind() string { return "queue_purge" }

// RunQueues calls people in waiting rooms until ctx ends, see
// [store.Store.RunQueues], and counts them. It is no job: whose turn it is
// comes four times a second, and River's clock is too coarse for that.
func RunQueues(ctx context.Context, s *store.Store, metrics *telemetry.Metrics) error {
	var looked time.Time
	return s.RunQueues(ctx, func(called int) {
		metrics.QueueCalled.Add(float64(called))
		if time.Since(looked) < lagEvery {
			return
		}
		looked = time.Now()
		if waiting, rooms, err := s.QueueWaiting(ctx); err == nil {
			metrics.QueueWaiting.Set(float64(waiting))
			metrics.QueuesOpen.Set(float64(rooms))
		}
	})
}
