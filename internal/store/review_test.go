package store_test

import (
	"strings"
	"testing"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
)

// Folded, each of these characters is six: a word of 3,600 bytes, which
// Postgres would keep in a way that nobody can read or dump.
func TestANameThatGrowsWhenItIsFoldedIsKeptAndFound(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	show := fixture.Show(t, s, fixture.Options{Floor: 10})
	v, _, err := s.PlaceReservation(t.Context(), fixture.Staff, nil, store.PlaceRequest{
		ShowID: show.ID, CustomerID: "long", Areas: []store.AreaRef{{ID: show.Areas[0].ID, Quantity: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("㌖", 200)
	begun, err := s.BeginBooking(t.Context(), boxoffice.Actor{CustomerID: "long", Name: "long"}, nil, v.ID, store.BeginRequest{
		Gateway: "sandbox", Method: "card", Buyer: &boxoffice.Buyer{Name: name, Email: "long@example.org"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var words string
	if err := db.Pool("").QueryRow(t.Context(), `select search::text from buyers where booking_id = $1`, begun.BookingID).Scan(&words); err != nil {
		t.Fatal(err)
	}
	found, err := s.ListBookings(t.Context(), store.BookingFilter{OrganisationID: boxoffice.DefaultOrganisationID, Search: name, Limit: 1})
	if err != nil || len(found) != 1 || found[0].ID != begun.BookingID {
		t.Errorf("found %d, %v", len(found), err)
	}
}
