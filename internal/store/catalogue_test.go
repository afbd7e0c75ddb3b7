package store_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
)

func venue() boxoffice.Venue {
	return boxoffice.Venue{OrganisationID: org, Name: "Haus", City: "Wien", Country: "AT", TimeZone: "Europe/Vienna"}
}

func TestAWriteOfTheCatalogueIsDoneOncePerKey(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	m := fixture.Hall(t, s)
	for noun, write := range map[string]func(key boxoffice.IdempotencyKey) (any, bool, error){
		"venues": func(key boxoffice.IdempotencyKey) (any, bool, error) {
			return untyped(s.CreateVenue(t.Context(), key, venue()))
		},
		"halls": func(key boxoffice.IdempotencyKey) (any, bool, error) {
			return untyped(s.CreateHall(t.Context(), key, boxoffice.Hall{OrganisationID: org, VenueID: m.VenueID, Name: "Saal"}))
		},
		"events": func(key boxoffice.IdempotencyKey) (any, bool, error) {
			return untyped(s.CreateEvent(t.Context(), key, boxoffice.Event{OrganisationID: org, Kind: "play", Title: "Sturm"}))
		},
	} {
		t.Run(noun, func(t *testing.T) {
			t.Parallel()
			count := func() (n int) {
				if err := db.Pool("").QueryRow(t.Context(), "select count(*) from "+noun).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			before := count()
			key := fixture.Key()
			var wg sync.WaitGroup
			var done atomic.Int32
			for range 10 {
				wg.Go(func() {
					switch _, _, err := write(key); boxoffice.CodeOf(err) {
					case "":
						done.Add(1)
					case boxoffice.CodeKeyInUse:
					default:
						t.Error(err)
					}
				})
			}
			wg.Wait()
			first, replayed, err := write(key)
			if err != nil || !replayed || done.Load() == 0 {
				t.Fatal(replayed, err)
			}
			if again, _, err := write(key); err != nil || !same(first, again) {
				t.Errorf("%+v, then %+v, %v", first, again, err)
			}
			if n := count(); n != before+1 {
				t.Errorf("%d were made", n-before)
			}
			other := key
			other.Fingerprint[0]++
			if _, _, err := write(other); boxoffice.CodeOf(err) != boxoffice.CodeKeyReused {
				t.Errorf("another request under the key: %v", err)
			}
			other.Owner += "x"
			if _, replayed, err := write(other); err != nil || replayed {
				t.Errorf("another owner's key: %v %v", replayed, err)
			}
		})
	}
}

func untyped[T any](v T, replayed bool, err error) (any, bool, error) { return v, replayed, err }

// Of those who change what they have read, one is told that it was still so.
func TestOneOfManyAmendmentsOfARevisionIsMade(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	v, _, err := s.CreateVenue(t.Context(), fixture.Key(), venue())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var made atomic.Int32
	for range 8 {
		wg.Go(func() {
			_, _, err := s.AmendVenue(t.Context(), fixture.Key(), store.Amendment[boxoffice.Venue]{
				Organisation: org, ID: v.ID, Revision: v.Revision, Change: func(v *boxoffice.Venue) { v.Name += "!" },
			})
			switch boxoffice.CodeOf(err) {
			case "":
				made.Add(1)
			case boxoffice.CodePreconditionFailed:
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	after, err := s.Venue(t.Context(), v.ID)
	if err != nil || made.Load() != 1 || after.Name != "Haus!" || after.Revision != 2 {
		t.Errorf("%d were made: %+v, %v", made.Load(), after, err)
	}
}

func TestACorrectedZoneMovesNoShow(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	start := time.Date(2099, 5, 1, 22, 30, 0, 0, time.UTC)
	m := fixture.Show(t, s, fixture.Options{Edit: func(n *store.NewShow) { n.StartsAt = start }})
	on := func(day string) int {
		t.Helper()
		list, err := s.Events(t.Context(), store.EventFilter{Organisation: org, Date: day, ShowsMax: 10, Page: store.Page{Limit: 10}})
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if on("2099-05-02") != 1 || on("2099-05-01") != 0 {
		t.Error("not on 2 May in Berlin")
	}
	for zone, day := range map[string]string{
		"Europe/London": "2099-05-01", "Pacific/Kiritimati": "2099-05-02", "Pacific/Pago_Pago": "2099-05-01",
	} {
		if _, _, err := s.AmendVenue(t.Context(), fixture.Key(), store.Amendment[boxoffice.Venue]{
			Organisation: org, ID: m.VenueID, Change: func(v *boxoffice.Venue) { v.TimeZone = zone },
		}); err != nil {
			t.Fatal(err)
		}
		show, err := s.ReadShow(t.Context(), m.ID, org, false)
		if err != nil || show.TimeZone != zone || !show.StartsAt.Equal(start) {
			t.Errorf("%s %s, %v", show.TimeZone, show.StartsAt, err)
		}
		for _, other := range []string{"2099-04-30", "2099-05-01", "2099-05-02", "2099-05-03"} {
			if on(other) == 1 != (other == day) {
				t.Errorf("%s: on %s it is listed %d times", zone, other, on(other))
			}
		}
	}
}

func TestAnEventsLife(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	m := fixture.Show(t, s, fixture.Options{Draft: true})
	listed := func(drafts bool) int {
		t.Helper()
		list, err := s.Events(t.Context(), store.EventFilter{Organisation: org, Drafts: drafts, ShowsMax: 10, Page: store.Page{Limit: 10}})
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	status := func(archived bool) boxoffice.EventStatus {
		t.Helper()
		e, _, err := s.AmendEvent(t.Context(), fixture.Key(), store.Amendment[boxoffice.Event]{Organisation: org, ID: m.EventID, Change: func(e *boxoffice.Event) {
			if e.Status = boxoffice.EventPublished; archived {
				e.Status = boxoffice.EventArchived
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		return e.Status
	}
	if listed(false) != 0 || listed(true) != 1 {
		t.Error("a draft is not just its organiser's")
	}
	if got := status(false); got != boxoffice.EventDraft {
		t.Errorf("an event without a published show became %s", got)
	}
	publish(t, s, m.ID)
	if listed(false) != 1 {
		t.Error("not listed with its first published show")
	}
	if got := status(true); got != boxoffice.EventArchived || listed(false) != 0 || listed(true) != 0 {
		t.Errorf("%s, and still listed", got)
	}
	if _, err := s.ReadEvent(t.Context(), m.EventID, store.EventFilter{Organisation: org, ShowsMax: 1}); err != nil {
		t.Errorf("an archived event is not found by those who know it: %v", err)
	}
	n := store.NewShow{Organisation: org, EventID: m.EventID, PlanID: m.PlanID, StartsAt: time.Now().Add(time.Hour), Currency: "EUR", Prices: []store.Price{{Category: "Front"}, {Category: "Back"}}}
	if _, _, err := s.CreateShow(t.Context(), fixture.Staff, fixture.Key(), n); violated(err) != "eventId" {
		t.Errorf("a new show of an archived event: %v", err)
	}
	if got := status(false); got != boxoffice.EventPublished || listed(false) != 1 {
		t.Errorf("%s, and not listed again", got)
	}
	if _, _, err := s.AmendEvent(t.Context(), fixture.Key(), store.Amendment[boxoffice.Event]{Organisation: uuid.New(), ID: m.EventID, Change: func(*boxoffice.Event) {}}); boxoffice.CodeOf(err) != boxoffice.CodeNotFound {
		t.Errorf("another's event: %v", err)
	}
}

func TestFacets(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	fixture.Show(t, s, fixture.Options{Draft: true})
	m := fixture.Show(t, s, fixture.Options{})
	for range 2 {
		n := store.NewShow{
			Organisation: org, EventID: m.EventID, PlanID: m.PlanID, StartsAt: time.Now().Add(time.Hour), Currency: "EUR", Publish: true,
			Prices: []store.Price{{Category: "Front"}, {Category: "Back"}}, Facts: boxoffice.ShowFacts{Language: "de"},
		}
		if _, _, err := s.CreateShow(t.Context(), fixture.Staff, fixture.Key(), n); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Facets(t.Context(), org)
	want := map[string][]store.Facet{
		"city": {{Value: "Berlin", Count: 1}}, "genre": {{Value: "jazz", Count: 1}}, "kind": {{Value: "concert", Count: 1}},
		"language": {{Value: "de", Count: 1}, {Value: "en", Count: 1}},
	}
	if err != nil || !same(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}
