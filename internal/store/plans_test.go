package store_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/sql/queries"
)

var org = boxoffice.DefaultOrganisationID

// drawn is a plan for a hall with seats of one row and category.
func drawn(hall uuid.UUID, numbers ...string) *boxoffice.Plan {
	p := &boxoffice.Plan{OrganisationID: org, HallID: hall, Categories: []boxoffice.Category{{Name: "One"}}}
	for _, n := range numbers {
		p.Seats = append(p.Seats, boxoffice.Seat{Row: "A", Number: n, Label: "A-" + n, Kind: boxoffice.SeatStandard})
	}
	return p
}

func TestImportPlan(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	imported := func(t *testing.T, p *boxoffice.Plan) *store.PlanDetails {
		t.Helper()
		done, _, err := s.ImportPlan(t.Context(), fixture.Key(), "rowlock", p, nil)
		if err != nil {
			t.Fatal(err)
		}
		read, err := s.ReadPlan(t.Context(), done.PlanID, org, true)
		if err != nil {
			t.Fatal(err)
		}
		return read
	}

	t.Run("KeepsAllThatTheDocumentSaid", func(t *testing.T) {
		t.Parallel()
		p := &boxoffice.Plan{
			OrganisationID: org, HallID: fixture.Hall(t, s).HallID, Name: "Großes Haus",
			Categories: []boxoffice.Category{{Name: "Parkett", Color: "#87A9CD"}, {Name: "Stehplatz"}},
			Seats: []boxoffice.Seat{
				{Section: "Mitte", Row: "1", Number: "2", Label: "Mitte-1-2", Kind: boxoffice.SeatWheelchair, Features: []string{"aisle", "restricted_view"}, X: 1.5, Y: -2, Placed: true},
				{Number: "1", Label: "1", Kind: boxoffice.SeatCompanion, Placed: true},
				{Row: "桟敷", Number: "い", Label: "桟敷-い", Category: 1, Kind: boxoffice.SeatStandard},
			},
			Areas:   []boxoffice.Area{{Name: "Floor", Category: 1, Capacity: 250, X: 3, Y: 4, Placed: true, Outline: []boxoffice.Point{{X: 1, Y: 2}, {X: 3, Y: 4}, {X: 5}}}, {Name: "Rang", Capacity: 1}},
			Drawing: []boxoffice.Drawing{{Kind: "text", Text: "Bühne", X: 1}},
		}
		got := imported(t, p)
		for i := range p.Seats {
			p.Seats[i].No, p.Seats[i].ID = int32(i), got.Seats[i].ID
			if len(p.Seats[i].Features) == 0 {
				p.Seats[i].Features = []string{}
			}
		}
		for i := range p.Areas {
			p.Areas[i].No, p.Areas[i].ID = int32(i), got.Areas[i].ID
		}
		p.Areas[1].Outline = []boxoffice.Point{}
		for i := range p.Categories {
			p.Categories[i].ID = got.Categories[i].ID
		}
		p.ID = got.ID
		if !reflect.DeepEqual(&got.Plan, p) {
			t.Errorf("got  %+v\nwant %+v", got.Plan, *p)
		}
		if got.Version != 1 || got.SeatCount != 3 || got.Format != "rowlock" {
			t.Errorf("%+v", got)
		}
	})

	t.Run("GivesASeatOneNumberThroughAllPlansOfItsHall", func(t *testing.T) {
		t.Parallel()
		hall := fixture.Hall(t, s).HallID
		area := func(p *boxoffice.Plan, name string) *boxoffice.Plan {
			p.Areas = append(p.Areas, boxoffice.Area{Name: name, Capacity: 5})
			return p
		}
		first := imported(t, area(drawn(hall, "1", "2", "3"), "Floor"))
		second := imported(t, area(drawn(hall, "4", "3", "1"), "Rang"))
		third := imported(t, area(drawn(hall, "2", "a", "4"), "Floor"))
		if first.Version != 1 || second.Version != 2 || third.Version != 3 {
			t.Errorf("versions %d, %d, %d", first.Version, second.Version, third.Version)
		}
		want := map[string]boxoffice.Seat{}
		for _, plan := range []*store.PlanDetails{first, second, third} {
			for _, seat := range plan.Seats {
				if known, ok := want[seat.Number]; ok && (known.No != seat.No || known.ID != seat.ID) {
					t.Errorf("plan %d: seat %s is %d %s, was %d %s", plan.Version, seat.Number, seat.No, seat.ID, known.No, known.ID)
				}
				want[seat.Number] = seat
			}
		}
		for number, no := range map[string]int32{"1": 0, "2": 1, "3": 2, "4": 3, "a": 4} {
			if want[number].No != no {
				t.Errorf("seat %s has number %d, want %d", number, want[number].No, no)
			}
		}
		if first.Areas[0].ID != third.Areas[0].ID || first.Areas[0].No != 0 || second.Areas[0].No != 1 {
			t.Errorf("areas: %+v %+v %+v", first.Areas, second.Areas, third.Areas)
		}
		if order := second.Seats[0].Number + second.Seats[1].Number + second.Seats[2].Number; order != "431" {
			t.Errorf("not in the document's order: %s", order)
		}
	})

	t.Run("AnswersARetryWithTheSame", func(t *testing.T) {
		t.Parallel()
		hall := fixture.Hall(t, s).HallID
		key := fixture.Key()
		warnings := []store.PlanWarning{{Path: "$", Message: "a <warning>"}}
		first, replayed, err := s.ImportPlan(t.Context(), key, "csv", drawn(hall, "1"), warnings)
		if err != nil || replayed {
			t.Fatal(replayed, err)
		}
		again, replayed, err := s.ImportPlan(t.Context(), key, "csv", drawn(hall, "1"), warnings)
		if err != nil || !replayed || !same(first, again) {
			t.Errorf("%+v %v %v, first %+v", again, replayed, err, first)
		}
		list, err := s.Plans(t.Context(), org, hall, 0, 10)
		if err != nil || len(list) != 1 {
			t.Errorf("%d plans, %v", len(list), err)
		}
		key.Fingerprint[0]++
		if _, _, err := s.ImportPlan(t.Context(), key, "csv", drawn(hall, "2"), nil); boxoffice.CodeOf(err) != boxoffice.CodeKeyReused {
			t.Errorf("another document under the key: %v", err)
		}
	})

	t.Run("RefusesAnothersHall", func(t *testing.T) {
		t.Parallel()
		p := drawn(fixture.Hall(t, s).HallID, "1")
		p.OrganisationID = uuid.New()
		if _, _, err := s.ImportPlan(t.Context(), fixture.Key(), "csv", p, nil); boxoffice.CodeOf(err) != boxoffice.CodeNotFound {
			t.Error(err)
		}
	})
}

// same says whether two answers are the same to the byte.
func same(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

func TestImportsIntoOneHallComeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	hall := fixture.Hall(t, s).HallID
	const imports = 8
	var wg sync.WaitGroup
	for i := range imports {
		wg.Go(func() {
			// Each shares seats with the next, and two share an id only if
			// they share a seat.
			p := drawn(hall, string(rune('a'+i)), string(rune('a'+i+1)), "x")
			if _, _, err := s.ImportPlan(t.Context(), fixture.Key(), "csv", p, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	list, err := s.Plans(t.Context(), org, hall, 0, 100)
	if err != nil || len(list) != imports || list[0].Version != imports || list[imports-1].Version != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	var seats, last int
	if err := db.Pool("").QueryRow(t.Context(), "select count(*), max(seat_no) from hall_seats where hall_id = $1", hall).Scan(&seats, &last); err != nil {
		t.Fatal(err)
	}
	if seats != imports+2 || last != seats-1 {
		t.Errorf("%d seats, the last has number %d", seats, last)
	}
	byID := map[uuid.UUID]string{}
	for _, listed := range list {
		p, err := s.ReadPlan(t.Context(), listed.ID, org, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, seat := range p.Seats {
			if was, ok := byID[seat.ID]; ok && was != seat.Label {
				t.Errorf("one id for %s and %s", was, seat.Label)
			}
			byID[seat.ID] = seat.Label
		}
	}
	if len(byID) != imports+2 {
		t.Errorf("%d ids for %d seats", len(byID), imports+2)
	}
}

func TestAPlanIsPublicWithItsFirstPublishedShow(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	m := fixture.Show(t, s, fixture.Options{Draft: true})
	read := func(organisation uuid.UUID, drafts bool) boxoffice.Code {
		_, err := s.ReadPlan(t.Context(), m.PlanID, organisation, drafts)
		return boxoffice.CodeOf(err)
	}
	if c := read(org, true); c != "" {
		t.Errorf("its organiser: %s", c)
	}
	if c := read(org, false); c != boxoffice.CodeNotFound {
		t.Errorf("the public, before: %q", c)
	}
	if c := read(uuid.New(), true); c != boxoffice.CodeNotFound {
		t.Errorf("another organiser, before: %q", c)
	}
	publish(t, s, m.ID)
	if c := read(org, false); c != "" {
		t.Errorf("the public, after: %s", c)
	}
}

func publish(t *testing.T, s *store.Store, show uuid.UUID) {
	t.Helper()
	key := fixture.Key()
	if _, err := s.SetShowStatus(t.Context(), fixture.Staff, &key, org, show, boxoffice.SetShowStatus{Verb: boxoffice.PublishShow}); err != nil {
		t.Fatal(err)
	}
}

// What was imported a moment ago is not in the planner's statistics.
func TestAPlanOfALargeHallIsReadByItsSeatsNumbers(t *testing.T) {
	t.Parallel()
	s := openShop(t, fixture.Options{})
	if _, err := s.pool.Exec(t.Context(), `analyze hall_seats; analyze plan_seats`); err != nil {
		t.Fatal(err)
	}
	hall := uuid.New()
	if _, err := s.pool.Exec(t.Context(), `
		with hall as (insert into halls (hall_id, organisation_id, venue_id, name) select $1, organisation_id, venue_id, 'Large' from halls limit 1 returning organisation_id),
		plan as (insert into plans (plan_id, organisation_id, hall_id, version, name, format, seat_count) select $1, organisation_id, $1, 1, 'Seats', 'rowlock', 3000 from hall),
		category as (insert into plan_categories (plan_id, category_no, organisation_id, category_id, name) select $1, 0, organisation_id, gen_random_uuid(), 'All' from hall),
		seats as (insert into hall_seats (hall_id, seat_no, organisation_id, seat_id, section, row_name, seat_name)
			select $1, i, organisation_id, gen_random_uuid(), '', '', i::text from hall, generate_series(0, 2999) as i)
		insert into plan_seats (plan_id, position, organisation_id, seat_no, label, category_no, kind)
		select $1, i, organisation_id, i, i::text, 0, 'standard' from hall, generate_series(0, 2999) as i`, hall); err != nil {
		t.Fatal(err)
	}
	rows, err := s.pool.Query(t.Context(), "explain "+queries.Must("plan_seats_load"), hall, hall)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if plan := strings.Join(lines, "\n"); err != nil || !strings.Contains(plan, "using hall_seats_pkey") {
		t.Errorf("%v\n%s", err, plan)
	}
}
