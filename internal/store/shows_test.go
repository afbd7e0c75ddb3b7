package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/lanes"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/sql/queries"
)

// violated are the fields that an error names.
func violated(err error) string {
	e, ok := err.(*boxoffice.Error)
	if !ok {
		return fmt.Sprint(err)
	}
	var fields []string
	for _, v := range e.Facts.Violations {
		fields = append(fields, v.Field)
	}
	return strings.Join(fields, " ")
}

func ptr[T any](v T) *T { return &v }

func TestCreateShow(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)

	t.Run("HasEveryPlaceOfItsPlan", func(t *testing.T) {
		t.Parallel()
		m := fixture.Show(t, s, fixture.Options{Seats: 20_000, Floor: 100})
		show, err := s.ReadShow(t.Context(), m.ID, org, false)
		if err != nil {
			t.Fatal(err)
		}
		if show.Availability.Capacity != 20_100 || show.Availability.Available != 20_100 || show.Version != 1 || show.Definition != 2 {
			t.Errorf("%+v, version %d, definition %d", show.Availability, show.Version, show.Definition)
		}
		if show.HoldSeconds != 900 || show.MaxHoldSeconds != 1800 || show.MaxPlacesPerReservation != 5 || show.MaxPlacesPerCustomer != 0 {
			t.Errorf("not the defaults: %+v", show.Terms)
		}
		if show.TimeZone != "Europe/Berlin" || show.City != "Berlin" || len(show.PriceList) != 5 {
			t.Errorf("%+v", show)
		}
		var free int
		if err := db.Pool("").QueryRow(t.Context(), "select count(*) from show_seats where show_id = $1 and state = 'a'", m.ID).Scan(&free); err != nil || free != 20_000 {
			t.Errorf("%d free seats, %v", free, err)
		}
	})

	t.Run("MaxHoldSecondsIsNeverBelowHoldSeconds", func(t *testing.T) {
		t.Parallel()
		m := fixture.Show(t, s, fixture.Options{Edit: func(n *store.NewShow) { n.HoldSeconds = 3600 }})
		show, err := s.ReadShow(t.Context(), m.ID, org, false)
		if err != nil || show.MaxHoldSeconds != 3600 {
			t.Errorf("%d, %v", show.MaxHoldSeconds, err)
		}
	})

	t.Run("RefusesWhatCannotBe", func(t *testing.T) {
		t.Parallel()
		m := fixture.Show(t, s, fixture.Options{Draft: true})
		start := time.Now().Add(time.Hour)
		for _, c := range []struct {
			want string
			edit func(*store.NewShow)
		}{
			{"prices", func(n *store.NewShow) { n.Prices = n.Prices[:1] }},
			{"prices", func(n *store.NewShow) { n.Prices = append(n.Prices, store.Price{Category: "Nope"}) }},
			{"prices[2]", func(n *store.NewShow) { n.Prices = append(n.Prices, n.Prices[0]) }},
			{"prices[0].amount", func(n *store.NewShow) { n.Prices[0].AmountMinor = -1 }},
			{"eventId", func(n *store.NewShow) { n.EventID = uuid.New() }},
			{"planId", func(n *store.NewShow) { n.PlanID = uuid.New() }},
			{"event.kind event.title", func(n *store.NewShow) { n.Event = &boxoffice.Event{} }},
			{"endsAt", func(n *store.NewShow) { n.EndsAt = &n.StartsAt }},
			{"salesEndAt", func(n *store.NewShow) { n.SalesStartAt, n.SalesEndAt = ptr(start), ptr(start) }},
			{"maxHoldSeconds", func(n *store.NewShow) { n.MaxHoldSeconds = 899 }},
			{"holdSeconds", func(n *store.NewShow) { n.HoldSeconds, n.MaxHoldSeconds = 3601, 3601 }},
			{"maxPlacesPerReservation", func(n *store.NewShow) { n.MaxPlacesPerReservation = 10_001 }},
			{"currency", func(n *store.NewShow) { n.Currency = "XTS" }},
			{"startsAt", func(n *store.NewShow) { n.StartsAt, n.Publish = time.Now().Add(-time.Hour), true }},
			{"areas[1].name areas[1].prices", func(n *store.NewShow) {
				n.PlanID, n.Prices = uuid.Nil, nil
				n.Areas = []store.NewArea{{Name: "A", Capacity: 1, Prices: []store.Price{{}}}, {Name: "A", Capacity: 1, Prices: []store.Price{{TicketType: "child"}}}}
			}},
			{"timeZone", func(n *store.NewShow) {
				n.PlanID, n.Prices, n.TimeZone = uuid.Nil, nil, "Nowhere/City"
				n.Areas = []store.NewArea{{Name: "A", Capacity: 1, Prices: []store.Price{{}}}}
			}},
		} {
			n := store.NewShow{
				Organisation: org, EventID: m.EventID, PlanID: m.PlanID, StartsAt: start, Currency: "EUR",
				Prices: []store.Price{{Category: "Front"}, {Category: "Back", TicketType: "standard"}},
			}
			c.edit(&n)
			_, _, err := s.CreateShow(t.Context(), fixture.Staff, fixture.Key(), n)
			if boxoffice.CodeOf(err) != boxoffice.CodeValidation || violated(err) != c.want {
				t.Errorf("want a violation of %s: %v %s", c.want, err, violated(err))
			}
		}
	})

	t.Run("OneKeyMakesOneShow", func(t *testing.T) {
		t.Parallel()
		m := fixture.Show(t, s, fixture.Options{Draft: true})
		key := fixture.Key()
		n := store.NewShow{
			Organisation: org, EventID: m.EventID, PlanID: m.PlanID, StartsAt: time.Now().Add(time.Hour), Currency: "EUR",
			Prices: []store.Price{{Category: "Front"}, {Category: "Back"}}, Publish: true,
		}
		made := make(chan store.CreatedShow, 10)
		var wg sync.WaitGroup
		for range cap(made) {
			wg.Go(func() {
				created, _, err := s.CreateShow(t.Context(), fixture.Staff, key, n)
				switch boxoffice.CodeOf(err) {
				case "":
					made <- created
				case boxoffice.CodeKeyInUse:
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		close(made)
		first, ok := <-made
		if !ok {
			t.Fatal("none was made")
		}
		for other := range made {
			if !same(first, other) {
				t.Errorf("%+v, and %+v", first, other)
			}
		}
		list, err := s.Shows(t.Context(), store.ShowFilter{Organisation: org, EventID: m.EventID, Page: store.Page{Limit: 10}})
		if err != nil || len(list) != 1 || list[0].Status != boxoffice.ShowOnSale {
			t.Errorf("%d published shows, %v", len(list), err)
		}
	})

	t.Run("ARetryPublishesWhatACrashLeftADraft", func(t *testing.T) {
		t.Parallel()
		m := fixture.Show(t, s, fixture.Options{Draft: true})
		// A process that dies after the first commit is one whose lanes never run.
		dying, err := store.Open(t.Context(), store.Config{URL: db.URL(store.RoleApp), LaneURL: db.URL(store.RoleLane), Lanes: lanes.Config{Timeout: time.Millisecond}})
		if err != nil {
			t.Fatal(err)
		}
		defer dying.Close()
		key := fixture.Key()
		n := store.NewShow{
			Organisation: org, EventID: m.EventID, PlanID: m.PlanID, StartsAt: time.Now().Add(time.Hour), Currency: "EUR",
			Prices: []store.Price{{Category: "Front"}, {Category: "Back"}}, Publish: true,
		}
		ctx, die := context.WithCancel(t.Context())
		dead := make(chan error)
		go func() {
			_, _, err := dying.CreateShow(ctx, fixture.Staff, key, n)
			dead <- err
		}()
		for made := 1; made < 2; {
			if err := db.Pool("").QueryRow(t.Context(), "select count(*) from shows where event_id = $1", m.EventID).Scan(&made); err != nil {
				t.Error(err)
				break
			}
		}
		die()
		if err := <-dead; err == nil {
			t.Fatal("published without lanes")
		}
		created, replayed, err := s.CreateShow(t.Context(), fixture.Staff, key, n)
		if err != nil || !replayed || created.Status != boxoffice.ShowOnSale || created.Version != 1 {
			t.Fatalf("%+v %v %v", created, replayed, err)
		}
		show, err := s.ReadShow(t.Context(), created.ShowID, org, false)
		if err != nil || show.Status != boxoffice.ShowOnSale || show.Version != 1 {
			t.Errorf("%s, version %d, %v", show.Status, show.Version, err)
		}
		// Later the organiser pauses; the same retry does not undo that.
		pause := fixture.Key()
		if _, err := s.SetShowStatus(t.Context(), fixture.Staff, &pause, org, created.ShowID, boxoffice.SetShowStatus{Verb: boxoffice.PauseShow}); err != nil {
			t.Fatal(err)
		}
		if again, replayed, err := s.CreateShow(t.Context(), fixture.Staff, key, n); err != nil || !replayed || !same(again, created) {
			t.Errorf("%+v %v %v", again, replayed, err)
		}
		if show, err := s.ReadShow(t.Context(), created.ShowID, org, false); err != nil || show.Status != boxoffice.ShowPaused {
			t.Errorf("%s, %v", show.Status, err)
		}
	})

	t.Run("AnExternalRefIsOneShows", func(t *testing.T) {
		t.Parallel()
		named := func(n *store.NewShow) { n.Facts.ExternalRef = "the-one" }
		m := fixture.Show(t, s, fixture.Options{Edit: named})
		n := store.NewShow{
			Organisation: org, EventID: m.EventID, PlanID: m.PlanID, StartsAt: time.Now().Add(time.Hour), Currency: "EUR",
			Prices: []store.Price{{Category: "Front"}, {Category: "Back"}},
		}
		named(&n)
		if _, _, err := s.CreateShow(t.Context(), fixture.Staff, fixture.Key(), n); boxoffice.CodeOf(err) != boxoffice.CodeConflict {
			t.Error(err)
		}
		list, err := s.Shows(t.Context(), store.ShowFilter{Organisation: org, ExternalRef: "the-one", Page: store.Page{Limit: 10}})
		if err != nil || len(list) != 1 || list[0].ShowID != m.ID {
			t.Errorf("%v, %v", list, err)
		}
	})
}

func TestAmendShow(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	amend := func(t *testing.T, show uuid.UUID, a store.ShowAmendment) (store.ChangedShow, error) {
		t.Helper()
		key := fixture.Key()
		return s.AmendShow(t.Context(), fixture.Staff, &key, org, show, a)
	}
	read := func(t *testing.T, show uuid.UUID) store.ShowListing {
		t.Helper()
		l, err := s.ReadShow(t.Context(), show, org, true)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}

	t.Run("MovesToAPlanThatHasEveryUsedSeat", func(t *testing.T) {
		t.Parallel()
		m := fixture.Show(t, s, fixture.Options{Seats: 10, Floor: 5})
		seat := m.Seats[9]
		key := fixture.Key()
		held, _, err := s.PlaceReservation(t.Context(), boxoffice.Actor{CustomerID: "ann", Name: "ann"}, &key, store.PlaceRequest{
			ShowID: m.ID, CustomerID: "ann", Seats: []store.SeatRef{{ID: seat.ID}},
		})
		if err != nil {
			t.Fatal(err)
		}
		smaller := fixture.Plan(t, s, m.HallID, fixture.Options{Seats: 9, Floor: 5})
		_, err = amend(t, m.ID, store.ShowAmendment{PlanID: &smaller})
		if boxoffice.CodeOf(err) != boxoffice.CodePlanInUse || len(err.(*boxoffice.Error).Facts.Seats) != 1 || err.(*boxoffice.Error).Facts.Seats[0].Label != seat.Label {
			t.Errorf("a plan without a held seat: %v", err)
		}
		larger := fixture.Plan(t, s, m.HallID, fixture.Options{Seats: 12, Floor: 8})
		if _, err := amend(t, m.ID, store.ShowAmendment{PlanID: &larger}); err != nil {
			t.Fatal(err)
		}
		after := read(t, m.ID)
		if after.PlanID != larger || after.Availability.Capacity != 20 || after.Availability.Available != 19 {
			t.Errorf("%s %+v", after.PlanID, after.Availability)
		}
		kept, err := s.ReadReservation(t.Context(), uuid.Nil, "ann", held.ID)
		if err != nil || kept.Status != boxoffice.ReservationActive || kept.Seats[0].SeatID != seat.ID || kept.Seats[0].Label != seat.Label {
			t.Errorf("%+v, %v", kept, err)
		}
		elsewhere := fixture.Plan(t, s, fixture.Hall(t, s).HallID, fixture.Options{Seats: 12, Floor: 8})
		if _, err := amend(t, m.ID, store.ShowAmendment{PlanID: &elsewhere}); violated(err) != "planId" {
			t.Errorf("a plan of another hall: %v", err)
		}
	})

	t.Run("SavesFactsWithTheTermsOrNeither", func(t *testing.T) {
		t.Parallel()
		m := fixture.Show(t, s, fixture.Options{})
		other := fixture.Show(t, s, fixture.Options{Edit: func(n *store.NewShow) { n.Facts.ExternalRef = "taken" }})
		_, err := amend(t, m.ID, store.ShowAmendment{HoldSeconds: ptr(60), Facts: func(f *boxoffice.ShowFacts) { f.Note, f.ExternalRef = "new", "taken" }})
		if boxoffice.CodeOf(err) != boxoffice.CodeConflict {
			t.Errorf("another's externalRef: %v", err)
		}
		if got := read(t, m.ID); got.HoldSeconds != 900 || got.Facts.Note != "" || got.Version != 1 {
			t.Errorf("half was saved: %+v", got)
		}
		if _, err := amend(t, m.ID, store.ShowAmendment{HoldSeconds: ptr(60), Facts: func(f *boxoffice.ShowFacts) { f.Note = "new" }}); err != nil {
			t.Fatal(err)
		}
		if got := read(t, m.ID); got.HoldSeconds != 60 || got.Facts.Note != "new" || got.Version != 2 {
			t.Errorf("not saved: %+v", got)
		}
		if got := read(t, other.ID); got.Version != 1 {
			t.Errorf("the other show: %+v", got)
		}
	})

	t.Run("RefusesAnOldDefinition", func(t *testing.T) {
		t.Parallel()
		m := fixture.Show(t, s, fixture.Options{})
		key := fixture.Key()
		a := store.ShowAmendment{Definition: read(t, m.ID).Definition, Facts: func(f *boxoffice.ShowFacts) { f.Note = "1" }}
		first, err := s.AmendShow(t.Context(), fixture.Staff, &key, org, m.ID, a)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := amend(t, m.ID, a); boxoffice.CodeOf(err) != boxoffice.CodePreconditionFailed {
			t.Errorf("the same definition again: %v", err)
		}
		again, err := s.AmendShow(t.Context(), fixture.Staff, &key, org, m.ID, a)
		if err != nil || !again.Replayed || again.Version != first.Version {
			t.Errorf("the same request again: %+v %v", again, err)
		}
	})

	t.Run("IsNotForStrangers", func(t *testing.T) {
		t.Parallel()
		m := fixture.Show(t, s, fixture.Options{})
		key := fixture.Key()
		for name, err := range map[string]error{
			"amend": second(s.AmendShow(t.Context(), fixture.Staff, &key, uuid.New(), m.ID, store.ShowAmendment{HoldSeconds: ptr(1)})),
			"pause": second(s.SetShowStatus(t.Context(), fixture.Staff, &key, uuid.New(), m.ID, boxoffice.SetShowStatus{Verb: boxoffice.PauseShow})),
			"block": second(s.BlockSeats(t.Context(), fixture.Staff, &key, uuid.New(), m.ID, []store.SeatRef{{ID: m.Seats[0].ID}}, "x")),
			"none":  second(s.AmendShow(t.Context(), fixture.Staff, &key, org, uuid.New(), store.ShowAmendment{HoldSeconds: ptr(1)})),
		} {
			if boxoffice.CodeOf(err) != boxoffice.CodeNotFound {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestAvailability(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	m := fixture.Show(t, s, fixture.Options{Seats: 10, Floor: 20})
	read := func(s *store.Store) store.Availability {
		t.Helper()
		show, err := s.ReadShow(t.Context(), m.ID, org, false)
		if err != nil {
			t.Fatal(err)
		}
		if age := show.Now.Sub(show.Availability.AsOf); age > 5*time.Second {
			t.Errorf("it is %v old", age)
		}
		return show.Availability
	}
	if a := read(s); a.Available != 30 || a.Capacity != 30 {
		t.Errorf("a new show: %+v", a)
	}
	place := func(seconds int, req store.PlaceRequest) {
		t.Helper()
		key := fixture.Key()
		req.ShowID, req.CustomerID, req.TTLSeconds = m.ID, "ann", seconds
		if _, _, err := s.PlaceReservation(t.Context(), boxoffice.Actor{CustomerID: "ann", Name: "ann", Staff: true}, &key, req); err != nil {
			t.Fatal(err)
		}
	}
	place(1, store.PlaceRequest{Seats: []store.SeatRef{{ID: m.Seats[0].ID}}, Areas: []store.AreaRef{{ID: m.Areas[0].ID, Quantity: 3}}})
	place(900, store.PlaceRequest{Seats: []store.SeatRef{{ID: m.Seats[1].ID}}, Areas: []store.AreaRef{{ID: m.Areas[0].ID, Quantity: 1}}})
	block := fixture.Key()
	if _, err := s.BlockSeats(t.Context(), fixture.Staff, &block, org, m.ID, []store.SeatRef{{ID: m.Seats[2].ID}}, "camera"); err != nil {
		t.Fatal(err)
	}
	// What ends is free at once, though nothing has closed it: an instance that
	// has not counted yet sees it, and one that has sees it within five seconds.
	other := fixture.On(t, db)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		a, b := read(other), read(s)
		if a.Available == 27 && b.Available == 27 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v and %+v, want 27 available", a, b)
		}
	}
	var open int
	if err := db.Pool("").QueryRow(t.Context(), "select count(*) from reservations where show_id = $1 and status = 'active'", m.ID).Scan(&open); err != nil || open != 2 {
		t.Errorf("%d reservations are open, %v: the test did not see an overdue one", open, err)
	}
}

// Lists keep what they have read of shows, and look whether it is still so.
func TestListsTellOfShowsAsTheyAre(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	writer, reader := fixture.On(t, db), fixture.On(t, db) // two processes
	m := fixture.Show(t, writer, fixture.Options{})
	lists := func() []store.ShowListing {
		t.Helper()
		shows, err := reader.Shows(t.Context(), store.ShowFilter{Organisation: org, Page: store.Page{Limit: 10}})
		if err != nil || len(shows) != 1 {
			t.Fatalf("%d shows, %v", len(shows), err)
		}
		events, err := reader.Events(t.Context(), store.EventFilter{Organisation: org, ShowsMax: 10, Page: store.Page{Limit: 10}})
		if err != nil || len(events) != 1 || len(events[0].Shows) != 1 {
			t.Fatalf("%d events, %v", len(events), err)
		}
		one, err := reader.ReadShow(t.Context(), m.ID, org, false)
		if err != nil {
			t.Fatal(err)
		}
		return []store.ShowListing{shows[0], events[0].Shows[0], one}
	}
	amend := func(a store.ShowAmendment) error {
		key := fixture.Key()
		return second(writer.AmendShow(t.Context(), fixture.Staff, &key, org, m.ID, a))
	}
	by := func(sql string) error {
		return second(db.Pool("").Exec(t.Context(), sql))
	}
	version := lists()[0].Version
	for _, c := range []struct {
		name    string
		change  func() error
		visible func(store.ShowListing) bool
	}{
		{"prices", func() error {
			return amend(store.ShowAmendment{Prices: []store.Price{{Category: "Front", AmountMinor: 1}, {Category: "Back", AmountMinor: 2}}})
		}, func(l store.ShowListing) bool { return len(l.PriceList) == 2 && l.PriceList[1].AmountMinor == 1 }},
		{"a fact", func() error {
			return amend(store.ShowAmendment{Facts: func(f *boxoffice.ShowFacts) { f.Note = "Bring a coat." }})
		}, func(l store.ShowListing) bool { return l.Facts.Note == "Bring a coat." }},
		{"a pause", func() error {
			key := fixture.Key()
			return second(writer.SetShowStatus(t.Context(), fixture.Staff, &key, org, m.ID, boxoffice.SetShowStatus{Verb: boxoffice.PauseShow}))
		}, func(l store.ShowListing) bool { return l.Status == boxoffice.ShowPaused && l.Version > version }},
		{"the venue's name and zone", func() error {
			_, _, err := writer.AmendVenue(t.Context(), fixture.Key(), store.Amendment[boxoffice.Venue]{
				Organisation: org, ID: m.VenueID, Change: func(v *boxoffice.Venue) { v.Name, v.City, v.TimeZone = "Arena", "Turin", "Europe/Rome" },
			})
			return err
		}, func(l store.ShowListing) bool {
			return l.VenueName == "Arena" && l.City == "Turin" && l.TimeZone == "Europe/Rome" && l.HallName != ""
		}},
		{"the hall's name", func() error {
			_, _, err := writer.AmendHall(t.Context(), fixture.Key(), store.Amendment[boxoffice.Hall]{
				Organisation: org, ID: m.HallID, Change: func(h *boxoffice.Hall) { h.Name = "Cellar" },
			})
			return err
		}, func(l store.ShowListing) bool { return l.HallName == "Cellar" && l.VenueName == "Arena" }},
		{"a row, by hand", func() error { return by("update shows set note = 'No coats.'") },
			func(l store.ShowListing) bool { return l.Facts.Note == "No coats." }},
		{"nothing, and so nothing is read", func() error { return by("update show_prices set amount_minor = 77") },
			func(l store.ShowListing) bool { return l.PriceList[1].AmountMinor == 1 }},
		{"a cancellation", func() error {
			key := fixture.Key()
			return second(writer.SetShowStatus(t.Context(), fixture.Staff, &key, org, m.ID, boxoffice.SetShowStatus{Verb: boxoffice.CancelShow}))
		}, func(l store.ShowListing) bool { return l.Status == boxoffice.ShowCancelled }},
	} {
		lists()
		if err := c.change(); err != nil {
			t.Fatal(c.name, err)
		}
		for i, l := range lists() {
			if !c.visible(l) {
				t.Errorf("%s: list %d says %+v", c.name, i, l)
			}
		}
	}
}

func TestListingShowsScansNoTable(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	m := fixture.Show(t, s, fixture.Options{Draft: true})
	super := db.Pool("")
	// Years of shows, nearly all over.
	for _, sql := range []string{
		`insert into shows (show_id, organisation_id, event_id, venue_id, hall_id, plan_id, status, starts_at, time_zone, currency)
		 select gen_random_uuid(), organisation_id, event_id, venue_id, hall_id, plan_id, 'on_sale', now() + make_interval(hours => n - 9000), time_zone, currency
		   from shows cross join generate_series(1, 10000) n`,
		`insert into events (event_id, organisation_id, kind, title, status)
		 select gen_random_uuid(), organisation_id, kind, title, 'published' from events cross join generate_series(1, 5000) n`,
		`insert into show_heads (show_id, organisation_id) select show_id, organisation_id from shows on conflict do nothing`,
		`insert into show_seats (show_id, organisation_id, seat_no)
		 select show_id, organisation_id, n from (select * from shows limit 100) s cross join generate_series(10, 200) n on conflict do nothing`,
		`insert into show_areas (show_id, organisation_id, area_no, area_id, name, category, capacity)
		 select show_id, organisation_id, 0, gen_random_uuid(), 'Floor', 'Floor', 10 from shows limit 5000`,
		`insert into show_prices (show_id, organisation_id, category, ticket_type, amount_minor)
		 select show_id, organisation_id, 'Floor', 'standard', 10 from shows limit 5000`,
		`insert into reservations (show_id, reservation_id, organisation_id, customer_id, created_at, expires_at, hold_seconds, currency, total_minor, places,
		        seat_nos, seat_types, seat_prices)
		 select show_id, gen_random_uuid(), organisation_id, 'ann', now(), now() + interval '900 s', 900, 'EUR', 1, 1, '{1}', '{standard}', '{1}' from shows limit 5000`,
		`analyze`,
	} {
		if _, err := super.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := db.Pool(store.RoleApp).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(t.Context(), "set plan_cache_mode = force_generic_plan"); err != nil {
		t.Fatal(err)
	}
	id := "'" + m.ID.String() + "'"
	for name, args := range map[string]string{
		"shows_find":          fmt.Sprintf("'%s', false, now(), null, '', null, null, 51, null", org),
		"shows_find_upcoming": fmt.Sprintf("'%s', false, null, null, 51, null", org),
		"shows_find_by_event": fmt.Sprintf("'%s', false, null, null, '', null, null, 51, null, '%s', null, true", org, uuid.New()),
		"shows_find_by_venue": fmt.Sprintf("'%s', false, null, null, '', null, null, 51, null, '%s', true", org, uuid.New()),
		"shows_find_by_ref":   fmt.Sprintf("'%s', false, 'x'", org),
		"shows_state":         "array[" + id + "]::uuid[]",
		"shows_read":          "array[" + id + "]::uuid[]",
		"show_prices_read":    "array[" + id + "]::uuid[]",
		"shows_count":         "array[" + id + "]::uuid[]",
		"events_read":         "array[" + id + "]::uuid[]",
		"events_shows":        fmt.Sprintf("array[%s]::uuid[], false, 20, null, '', null, null, null, '', true, null, '%s'", id, org),
	} {
		plan := explain(t, conn, name, args)
		for _, table := range []string{"shows", "events", "show_heads", "show_seats", "show_areas", "show_prices", "reservations"} {
			if strings.Contains(plan, "Seq Scan on "+table+" ") {
				t.Errorf("%s:\n%s", name, plan)
			}
		}
	}
	// What is on is planned for what is asked: from the cursor on, event by event, however many shows one has.
	if _, err := conn.Exec(t.Context(), "set plan_cache_mode = force_custom_plan"); err != nil {
		t.Fatal(err)
	}
	plan := explain(t, conn, "events_find", fmt.Sprintf(
		"'%s', false, '', '', '', '', null, 'Berlin', null, null, null, '', true, false, '%s', 51, null", org, uuid.Max))
	for _, want := range []string{"Index Scan Backward using events_pkey", "Index Cond: (event_id < ", "Index Scan using shows_by_event"} {
		if !strings.Contains(plan, want) {
			t.Errorf("events_find, no %s:\n%s", want, plan)
		}
	}
	start := time.Now()
	if _, err := s.Events(t.Context(), store.EventFilter{Organisation: org, ShowsMax: 20, Page: store.Page{Limit: 50}}); err != nil {
		t.Error(err)
	}
	t.Logf("what is on, among 5,000 events and 10,000 shows: %v", time.Since(start))
}

// explain is how Postgres would run a statement whoever asks.
func explain(t *testing.T, conn *pgxpool.Conn, name, args string) string {
	t.Helper()
	if _, err := conn.Exec(t.Context(), "prepare "+name+" as "+queries.All()[name]); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	rows, err := conn.Query(t.Context(), "explain execute "+name+"("+args+")")
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return strings.Join(lines, "\n")
}
