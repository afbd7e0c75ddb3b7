package store_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/store"
)

func TestScratchManyShowsTwoInstances(t *testing.T) {
	r := newRush(t, 2)
	var shows []fixture.Made
	for range 60 {
		shows = append(shows, fixture.Show(t, r.stores[0], fixture.Options{Seats: 100}))
	}
	var group sync.WaitGroup
	var codes sync.Map
	var ok atomic.Int64
	start := time.Now()
	for w := range 200 {
		group.Go(func() {
			for i := 0; time.Since(start) < 3*time.Second; i++ {
				show := shows[(w*7+i*13)%len(shows)]
				c := fmt.Sprintf("c-%d-%d", w, i)
				v, _, err := r.stores[w%2].PlaceReservation(t.Context(), boxoffice.Actor{CustomerID: c, Name: c}, new(fixture.Key()),
					store.PlaceRequest{ShowID: show.ID, CustomerID: c, Seats: []store.SeatRef{{ID: show.Seats[(w+i)%100].ID}}})
				if err == nil {
					ok.Add(1)
					r.stores[w%2].ReleaseReservation(t.Context(), boxoffice.Actor{CustomerID: c, Name: c}, new(fixture.Key()), v.ID)
				}
				n, _ := codes.LoadOrStore(boxoffice.CodeOf(err), new(atomic.Int64))
				n.(*atomic.Int64).Add(1)
			}
		})
	}
	group.Wait()
	codes.Range(func(k, v any) bool { t.Logf("%q %d", k, v.(*atomic.Int64).Load()); return true })
	var sessions int
	r.all.QueryRow(t.Context(), "select sessions from pg_stat_database where datname = current_database()").Scan(&sessions)
	t.Log("sessions", sessions, ok.Load())
}
