package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
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
		"seatmap_changes":    fmt.Sprintf("'%s', 1, 2000", show.ID),
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
