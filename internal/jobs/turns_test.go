package jobs

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
)

func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(2)
		a, b, c := uuid.New(), uuid.New(), uuid.New()
		take := func(show uuid.UUID) (end func()) {
			t.Helper()
			end, err := turns.take(t.Context(), show)
			if err != nil {
				t.Fatal(err)
			}
			return end
		}
		// later takes a turn that is not free yet.
		later := func(ctx context.Context, show uuid.UUID) <-chan func() {
			got := make(chan func(), 1)
			go func() {
				end, err := turns.take(ctx, show)
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				got <- end
			}()
			synctest.Wait()
			return got
		}

		endA := take(a)
		second := later(t.Context(), a)
		if len(second) > 0 {
			t.Error("two work on a show")
		}
		if take(a) != nil {
			t.Error("a third waits where the second will do its work")
		}
		endB := take(b) // another show is not held up
		third := later(t.Context(), c)
		if len(third) > 0 {
			t.Error("three shows at once where two are allowed")
		}
		endB()
		(<-third)()
		endA()
		endA = <-second

		// A job that gives up leaves its place to the next.
		ctx, cancel := context.WithCancel(t.Context())
		gone := later(ctx, a)
		cancel()
		if <-gone != nil {
			t.Error("it gave up and got a turn")
		}
		next := later(t.Context(), a)
		if len(next) > 0 {
			t.Error("two work on a show")
		}
		endA()
		(<-next)()
		if len(turns.shows) != 0 || len(turns.slots) != 0 {
			t.Errorf("%d shows and %d slots are left behind", len(turns.shows), len(turns.slots))
		}
	})
}
