package jobs

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

func TestEveryClassHasAnOutcome(t *testing.T) {
	t.Parallel()
	for class := boxoffice.ClassExcessive; class <= boxoffice.ClassUnavailable; class++ {
		if actions[class] == 0 {
			t.Errorf("class %d: nobody said what becomes of the job", class)
		}
	}
	for _, c := range boxoffice.Codes {
		if actions[c.Class] == 0 {
			t.Errorf("%s: class %d is not in actions", c.Code, c.Class)
		}
	}
	if len(actions) != int(boxoffice.ClassUnavailable) {
		t.Errorf("%d actions for %d classes", len(actions), boxoffice.ClassUnavailable)
	}
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	stopped, stop := context.WithCancel(ctx)
	stop()
	late, cancel := context.WithTimeout(ctx, 0)
	defer cancel()
	away := boxoffice.Refuse(boxoffice.CodeUnavailable, "away")
	busy := &boxoffice.Error{Code: boxoffice.CodeOverloaded, RetryAfter: time.Minute}

	job, chore := &rivertype.JobRow{MaxAttempts: 5}, &rivertype.JobRow{MaxAttempts: 1}
	for name, c := range map[string]struct {
		job    *rivertype.JobRow
		ctx    context.Context
		err    error
		result string
		check  func(error) bool
	}{
		"nothing wrong":        {job, ctx, nil, resultCompleted, func(err error) bool { return err == nil }},
		"database away":        {job, ctx, away, resultSnoozed, snoozes(snoozeFor, 3*snoozeFor/2)},
		"database away, chore": {chore, ctx, away, resultFailed, func(err error) bool { return err == error(away) }},
		"the refusal says how": {job, ctx, busy, resultSnoozed, snoozes(time.Minute, 90*time.Second)},
		"the show is gone": {job, ctx, boxoffice.Refuse(boxoffice.CodeNotFound, "no such show"), resultCancelled,
			func(err error) bool { return errors.Is(err, &river.JobCancelError{}) }},
		"a bug":    {job, ctx, errors.New("bug"), resultFailed, func(err error) bool { return err.Error() == "bug" }},
		"stopping": {job, stopped, away, resultSnoozed, func(err error) bool { return errors.Is(err, context.Canceled) && errors.Is(err, away) }},
		"too slow": {job, late, away, resultFailed, func(err error) bool { return err == error(away) }},
	} {
		result, err := outcome(c.ctx, c.job, c.err)
		if result != c.result || !c.check(err) {
			t.Errorf("%s: %s, %v", name, result, err)
		}
	}
}

func snoozes(least, most time.Duration) func(error) bool {
	return func(err error) bool {
		var snooze *river.JobSnoozeError
		return errors.As(err, &snooze) && snooze.Duration >= least && snooze.Duration <= most
	}
}
