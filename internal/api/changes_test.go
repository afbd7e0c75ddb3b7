package api

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
)

func TestReadingWhatHappened(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	show := fixture.Show(t, s, fixture.Options{Seats: 6, Floor: 8})
	hold := placed(t, s, show, 2, 0, 1)
	placed(t, s, show, 0, 3)
	if _, _, err := s.ReleaseReservation(t.Context(), fixture.Staff, new(fixture.Key()), hold.ID); err != nil {
		t.Fatal(err)
	}
	d := newMapDoor(t, Options{Store: s})

	type page = struct {
		Changes    []Change
		NextCursor string
	}
	ask := func(query string) page {
		t.Helper()
		return decoded[page](t, d.ask("GET", "/api/v1/changes?"+query, "", "X-API-Key: sales-key"))
	}

	got := ask("showId=" + show.ID.String())
	var types []string
	for i, c := range got.Changes {
		types = append(types, string(c.Type))
		if c.Sequence != int64(i+1) || c.N != 0 || c.ShowID != show.ID || c.ID == "" {
			t.Errorf("change %d: %+v", i, c)
		}
	}
	if want := "show.published reservation.created reservation.created reservation.cancelled"; strings.Join(types, " ") != want || got.NextCursor != "" {
		t.Fatalf("got %v, next %q, want %s", types, got.NextCursor, want)
	}
	created, cancelled := got.Changes[1], got.Changes[3]
	if created.Object.Kind != "reservation" || *created.Object.ID != hold.ID || created.Before != nil || created.After.Status != "active" ||
		!created.After.ExpiresAt.Equal(hold.ExpiresAt) || created.Actor != "guest:reader" || created.Reason != boxoffice.ReasonBuyer || !created.At.Equal(hold.CreatedAt) {
		t.Errorf("%+v", created)
	}
	if seats := created.After.Seats; len(seats) != 2 || *seats[0].SeatID != show.Seats[0].ID || seats[0].Label != "Stalls-A-1" || seats[0].Status != "held" {
		t.Errorf("%+v", seats)
	}
	if areas := created.After.Areas; len(areas) != 1 || *areas[0].AreaID != show.Areas[0].ID || areas[0].Name != "Floor" || areas[0].Units != 2 {
		t.Errorf("%+v", areas)
	}
	if cancelled.Before.Status != "active" || cancelled.After.Status != "cancelled" || cancelled.After.Areas[0].Units != -2 ||
		cancelled.After.Seats[1].Status != "available" || cancelled.Reason != boxoffice.ReasonStaff {
		t.Errorf("%+v", cancelled)
	}

	// Across shows, transactions in other databases of the server hold changes
	// back as well.
	for len(ask("").Changes) < 4 && t.Context().Err() == nil {
	}

	for query, want := range map[string]int{
		"reservationId=" + hold.ID.String():                                          2,
		"reservationId=" + uuid.NewString():                                          0,
		"seatId=" + show.Seats[3].ID.String():                                        1,
		"seatId=" + show.Seats[3].ID.String() + "&showId=" + show.ID.String():        1,
		"seatId=" + uuid.NewString():                                                 0,
		"type=reservation.created":                                                   2,
		"type=reservation.created&showId=" + show.ID.String():                        2,
		"actor=" + fixture.Staff.Name + "&type=reservation.cancelled":                1,
		"since=" + hold.CreatedAt.UTC().Format("2006-01-02T15:04:05.999999Z07:00"):   3,
		"since=2999-01-01T00:00:00Z":                                                 0,
		"bookingId=" + uuid.NewString():                                              0,
		"showId=" + uuid.NewString():                                                 0,
		"showId=" + show.ID.String() + "&reservationId=" + hold.ID.String():          2,
		"showId=" + show.ID.String() + "&cursor=" + created.ID:                       2,
		"cursor=" + created.ID:                                                       2,
		"cursor=" + cancelled.ID:                                                     0,
		"showId=" + show.ID.String() + "&cursor=" + cancelled.ID + "&actor=" + "who": 0,
	} {
		if got := ask(query); len(got.Changes) != want {
			t.Errorf("%s: %d changes, want %d", query, len(got.Changes), want)
		}
	}

	// Page by page, over all shows and in one, everything comes once.
	for _, filter := range []string{"", "showId=" + show.ID.String() + "&"} {
		seen, cursor := 0, ""
		for {
			p := ask(filter + "limit=1" + cursor)
			seen += len(p.Changes)
			if p.NextCursor == "" {
				break
			}
			if p.NextCursor != p.Changes[0].ID {
				t.Errorf("the cursor is not the change's id: %+v", p)
			}
			cursor = "&cursor=" + p.NextCursor
		}
		if seen != 4 {
			t.Errorf("%q: saw %d changes, want 4", filter, seen)
		}
	}

	d.wantRefused(d.ask("GET", "/api/v1/changes", ""), boxoffice.CodeUnauthenticated)
	d.wantRefused(d.ask("GET", "/api/v1/changes", "", "X-Mock-User-Id: "+uuid.NewString()), boxoffice.CodeForbidden)
	for _, bad := range []string{"cursor=abc", "since=yesterday", "since=2026-11-27T20:15:00", "limit=201", "seatId=7", "showId=" + uuid.NewString() + "&cursor=" + created.ID} {
		d.wantRefused(d.ask("GET", "/api/v1/changes?"+bad, "", "X-API-Key: sales-key"), boxoffice.CodeValidation)
	}
}
