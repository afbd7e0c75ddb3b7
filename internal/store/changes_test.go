package store_test

import (
	"context"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
)

// tail reads a log on from a change, page by page, as somebody who follows it.
func tail(t *testing.T, s *store.Store, after *store.ChangeID, limit int) (seen []store.ChangeID, last *store.ChangeID) {
	t.Helper()
	for {
		list, err := s.ListChanges(t.Context(), store.ChangeFilter{OrganisationID: boxoffice.DefaultOrganisationID, After: after, Limit: limit})
		if err != nil {
			t.Error(err)
			return seen, after
		}
		if len(list) == 0 {
			return seen, after
		}
		for _, c := range list {
			seen = append(seen, c.ChangeID)
		}
		after = &seen[len(seen)-1]
	}
}

// tailUntil follows the log until it has seen n changes. Transactions in other
// databases of the server hold changes back as well.
func tailUntil(t *testing.T, s *store.Store, after *store.ChangeID, limit, n int) (seen []store.ChangeID, last *store.ChangeID) {
	t.Helper()
	last = after
	for len(seen) < n && t.Context().Err() == nil {
		var more []store.ChangeID
		more, last = tail(t, s, last, limit)
		seen = append(seen, more...)
	}
	return seen, last
}

func TestListChanges(t *testing.T) {
	t.Parallel()

	t.Run("What commits late is not skipped", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		s := fixture.On(t, db)
		first, second := fixture.Show(t, s, fixture.Options{}), fixture.Show(t, s, fixture.Options{})
		_, last := tailUntil(t, s, nil, 200, 2) // the two publications
		begin := func(show uuid.UUID) pgx.Tx {
			tx, err := db.Pool("").Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = tx.Exec(t.Context(), `insert into changes (show_id, version, n, organisation_id, at, type, actor, reason)
				values ($1, 100, 0, $2, clock_timestamp(), 'show.paused', 'nobody', 'staff')`, show, boxoffice.DefaultOrganisationID)
			if err != nil {
				t.Fatal(err)
			}
			return tx
		}
		slow, quick := begin(first.ID), begin(second.ID)
		if err := quick.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if seen, _ := tail(t, s, last, 200); len(seen) != 0 {
			t.Errorf("saw %v, which the slow transaction will come before", seen)
		}
		// Within its own show the change is there at once.
		own, err := s.ListChanges(t.Context(), store.ChangeFilter{OrganisationID: boxoffice.DefaultOrganisationID, ShowID: second.ID, Limit: 200})
		if err != nil || len(own) != 2 || own[1].Version != 100 {
			t.Errorf("in its show: %v, %v", own, err)
		}
		if err := slow.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		seen, _ := tailUntil(t, s, last, 1, 2)
		if len(seen) != 2 || seen[0].ShowID != first.ID || seen[1].ShowID != second.ID {
			t.Errorf("saw %v, want the slow one and then the quick one", seen)
		}
	})

	t.Run("Who follows sees everything once while many write", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		stores := []*store.Store{fixture.On(t, db), fixture.On(t, db)}
		var shows []fixture.Made
		for range 6 {
			shows = append(shows, fixture.Show(t, stores[0], fixture.Options{Seats: 30}))
		}
		ctx, stop := context.WithCancel(t.Context())
		var writers sync.WaitGroup
		for i := range 12 {
			s := stores[i%2]
			writers.Go(func() {
				for j := range 30 {
					show := shows[(i+j)%len(shows)]
					r, _, err := s.PlaceReservation(t.Context(), fixture.Staff, new(fixture.Key()), store.PlaceRequest{
						ShowID: show.ID, CustomerID: "guest:writer", Seats: []store.SeatRef{{ID: show.Seats[(i*7+j)%30].ID}}})
					if err == nil {
						_, _, err = s.ReleaseReservation(t.Context(), fixture.Staff, new(fixture.Key()), r.ID)
					}
					if err != nil && boxoffice.CodeOf(err) != boxoffice.CodeSeatAlreadyReserved {
						t.Error(err)
					}
				}
			})
		}
		times := map[store.ChangeID]int{}
		versions := map[uuid.UUID]int64{}
		var last *store.ChangeID
		follow := func() {
			var seen []store.ChangeID
			seen, last = tail(t, stores[0], last, 20)
			for _, id := range seen {
				times[id]++
				if id.Version < versions[id.ShowID] {
					t.Errorf("version %d after %d", id.Version, versions[id.ShowID])
				}
				versions[id.ShowID] = id.Version
			}
		}
		go func() { writers.Wait(); stop() }()
		for ctx.Err() == nil {
			follow()
		}
		// The other tests of this server may hold the last ones back.
		var all int
		if err := db.Pool("").QueryRow(t.Context(), "select count(*) from changes").Scan(&all); err != nil {
			t.Fatal(err)
		}
		for len(times) < all && t.Context().Err() == nil {
			follow()
		}
		for id, n := range times {
			if n != 1 {
				t.Errorf("%v came %d times", id, n)
			}
		}
		t.Logf("%d changes", len(times))
	})
}
