package jobs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/checkout"
)

// action is what becomes of a job that failed.
type action uint8

const (
	// retry counts the attempt and waits longer each time; after the last one
	// the job is discarded, where people find it.
	retry action = iota + 1
	// snooze comes back soon and does not count: nothing is wrong with the job.
	snooze
	// cancel gives up at once: trying again would end the same way.
	cancel
)

// actions says for each class of refusal what becomes of the job that got it.
var actions = map[boxoffice.Class]action{
	boxoffice.ClassExcessive:       cancel,
	boxoffice.ClassUnauthenticated: retry, // somebody is changing a credential
	boxoffice.ClassDeclined:        cancel,
	boxoffice.ClassDenied:          retry,
	boxoffice.ClassNotFound:        cancel, // what the job was for is gone
	boxoffice.ClassMethod:          cancel,
	boxoffice.ClassConflict:        retry, // states change
	boxoffice.ClassGone:            cancel,
	boxoffice.ClassPrecondition:    retry,
	boxoffice.ClassTooLarge:        cancel,
	boxoffice.ClassMediaType:       cancel,
	boxoffice.ClassInvalid:         cancel,
	boxoffice.ClassThrottled:       snooze,
	boxoffice.ClassInternal:        retry,
	boxoffice.ClassUnavailable:     snooze,
}

// The results of jobs, as metrics call them.
const (
	resultCompleted = "completed"
	resultFailed    = "failed"
	resultSnoozed   = "snoozed"
	resultCancelled = "cancelled"
)

// snoozeFor is how long a job that cannot run now stays away, unless the
// refusal says otherwise; up to half as long again, so that many do not come
// back together.
const snoozeFor = 2 * time.Second

// outcome turns the error of a job, which worked under ctx, into the one that
// tells River what to do.
func outcome(ctx context.Context, job *rivertype.JobRow, err error) (result string, _ error) {
	switch {
	case err == nil:
		return resultCompleted, nil
	case errors.Is(ctx.Err(), context.Canceled):
		// We are stopping. River knows by this error, and puts the job back as
		// if it had never been fetched.
		return resultSnoozed, fmt.Errorf("%w: %w", context.Canceled, err)
	case ctx.Err() != nil:
		return resultFailed, err // out of time, whatever the job makes of it
	}
	var wait *checkout.ErrWait
	if errors.As(err, &wait) {
		return resultSnoozed, river.JobSnooze(wait.After)
	}
	switch actions[boxoffice.CodeOf(err).Info().Class] {
	case cancel:
		return resultCancelled, river.JobCancel(err)
	case snooze:
		if job.MaxAttempts == 1 {
			break // a chore's next run is on its way; two would only pile up
		}
		wait := snoozeFor
		var refusal *boxoffice.Error
		if errors.As(err, &refusal) && refusal.RetryAfter > 0 {
			wait = refusal.RetryAfter
		}
		return resultSnoozed, river.JobSnooze(wait + rand.N(wait/2+1))
	}
	return resultFailed, err
}
