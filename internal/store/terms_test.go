package store_test

import (
	"sync"
	"testing"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
)

func TestAPlanThatNobodyHasReadIsReadOnceForAll(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	show := fixture.Show(t, fixture.On(t, db), fixture.Options{Seats: 200})
	cold := fixture.On(t, db)
	before := cold.Pools()["requests"].Stat().AcquireCount()
	var start, done sync.WaitGroup
	start.Add(1)
	for range 100 {
		done.Go(func() {
			start.Wait()
			key := fixture.Key()
			_, _, err := cold.PlaceReservation(t.Context(), boxoffice.Actor{}, &key, store.PlaceRequest{
				ShowID: show.ID, CustomerID: "early bird",
			})
			if boxoffice.CodeOf(err) != boxoffice.CodeValidation {
				t.Error(err)
			}
		})
	}
	start.Done()
	done.Wait()
	if n := cold.Pools()["requests"].Stat().AcquireCount() - before; n != 1 {
		t.Errorf("100 who asked took %d connections", n)
	}
}
