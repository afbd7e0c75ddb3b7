package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/live"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/sql/queries"
)

// Plans are made once a connection, perhaps while a table is still empty, and
// kept while it grows: none may read a growing table from end to end.
func TestReadingPlacesScansNoTable(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	show := fixture.Show(t, s, fixture.Options{Seats: 100, Floor: 10})
	conn, err := db.Pool(store.RoleApp).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(t.Context(), "set plan_cache_mode = force_generic_plan"); err != nil {
		t.Fatal(err)
	}
	org := boxoffice.DefaultOrganisationID
	for name, args := range map[string]string{
		"seatmap_read":       fmt.Sprintf("'%s'", show.ID),
		"seatmap_changes":    fmt.Sprintf("array['%s']::uuid[], '{1}', 2000", show.ID),
		"seatmap_owners":     fmt.Sprintf("'%s'", show.ID),
		"changes_of_show":    fmt.Sprintf("'%s', '%s', 1, 0, null, null, null, null, null, null, 50", org, show.ID),
		"changes_of_booking": fmt.Sprintf("'%s', '%s', 1, 0, null, null, '%s', null, null, null, 50", org, show.ID, show.ID),
		"changes_list":       fmt.Sprintf("'%s', '1', '%s', 1, 0, null, null, null, null, null, 50", org, show.ID),
	} {
		if _, err := conn.Exec(t.Context(), "prepare "+name+" as "+queries.All()[name]); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		rows, err := conn.Query(t.Context(), "explain execute "+name+"("+args+")")
		if err != nil {
			t.Fatal(err)
		}
		var plan strings.Builder
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			plan.WriteString(line + "\n")
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(plan.String(), "Seq Scan") {
			t.Errorf("%s:\n%s", name, plan.String())
		}
	}
}

func TestQuestionsAboutManyShowsAreAnsweredEachForItself(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	quiet, busy := fixture.Show(t, s, fixture.Options{Seats: 4}), fixture.Show(t, s, fixture.Options{Seats: 4})
	var last int64
	for i := range 3 {
		r, _, err := s.PlaceReservation(t.Context(), fixture.Staff, new(fixture.Key()), store.PlaceRequest{
			ShowID: busy.ID, CustomerID: "guest:reader", Seats: []store.SeatRef{{ID: busy.Seats[i].ID}}})
		if err != nil {
			t.Fatal(err)
		}
		last = r.ShowVersion
	}
	deltas, err := s.ReadSeatMapChanges(t.Context(), []live.Question{
		{ShowID: busy.ID, After: last - 1}, {ShowID: uuid.New()}, {ShowID: quiet.ID, After: 1}, {ShowID: busy.ID, After: last - 3}, {ShowID: busy.ID, After: last}}, 2)
	if err != nil || len(deltas) != 5 || deltas[1] != nil {
		t.Fatalf("%+v, %v", deltas, err)
	}
	for i, want := range map[int][]int64{0: {last}, 2: nil, 3: {last - 2, last - 1}, 4: nil} {
		var got []int64
		for _, c := range deltas[i].Changes {
			got = append(got, c.Version)
			if !slices.Equal(c.SeatNos, []int32{busy.Seats[c.Version-last+2].No}) || c.SeatStates != "h" {
				t.Errorf("question %d: %+v", i, c)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("question %d: changes of versions %d, want %d", i, got, want)
		}
		if i != 2 && deltas[i].Version != last {
			t.Errorf("question %d: version %d, want %d", i, deltas[i].Version, last)
		}
	}
}

func TestReadSeatOwners(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	show := fixture.Show(t, s, fixture.Options{Seats: 4})
	org := boxoffice.DefaultOrganisationID
	block, err := s.BlockSeats(t.Context(), fixture.Staff, new(fixture.Key()), org, show.ID, []store.SeatRef{{ID: show.Seats[2].ID}, {ID: show.Seats[3].ID}}, "press")
	if err != nil {
		t.Fatal(err)
	}
	hold := func(from uuid.UUID, seat int) *store.ReservationView {
		r, _, err := s.PlaceReservation(t.Context(), fixture.Staff, new(fixture.Key()), store.PlaceRequest{
			ShowID: show.ID, CustomerID: "guest:press", FromBlockID: from, Seats: []store.SeatRef{{ID: show.Seats[seat].ID}}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	plain, blocked := hold(uuid.Nil, 1), hold(block.BlockID, 2)
	m, owners, err := s.ReadSeatOwners(t.Context(), show.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.At(m.Now).Statuses; got != "ahhx" || m.Version != blocked.ShowVersion || string(m.States) != "ahHx" {
		t.Errorf("statuses %s, written %s, version %d", got, m.States, m.Version)
	}
	byNo := map[int32]store.SeatOwner{}
	for _, o := range owners {
		o.HeldUntil = o.HeldUntil.UTC()
		byNo[o.SeatNo] = o
	}
	want := map[int32]store.SeatOwner{
		show.Seats[1].No: {SeatNo: show.Seats[1].No, ReservationID: plain.ID, CustomerID: "guest:press", HeldUntil: plain.ExpiresAt.UTC()},
		show.Seats[2].No: {SeatNo: show.Seats[2].No, ReservationID: blocked.ID, CustomerID: "guest:press", BlockID: block.BlockID, HeldUntil: blocked.ExpiresAt.UTC()},
		show.Seats[3].No: {SeatNo: show.Seats[3].No, BlockID: block.BlockID},
	}
	for no, o := range want {
		if byNo[no] != o {
			t.Errorf("seat %d: %+v, want %+v", no, byNo[no], o)
		}
	}
	if len(owners) != len(want) {
		t.Errorf("%d owners, want %d", len(owners), len(want))
	}
	if _, _, err := s.ReadSeatOwners(t.Context(), uuid.New()); boxoffice.CodeOf(err) != boxoffice.CodeNotFound {
		t.Errorf("got %v", err)
	}
}
