package store_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

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

// gathered is a store on a database that works its commands n at a time.
func gathered(t *testing.T, db *pgtest.DB, n int) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: db.URL(store.RoleApp), LaneURL: db.URL(store.RoleLane)})
	if err != nil {
		t.Fatal(err)
	}
	s.Gather(n)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
		s.Close()
	})
	return s
}

// A customer of a limit of two has two places when the money for a third
// comes, too late, together with the show's move to another plan.
func TestALatePaymentKeepsToTheCustomersLimitWhileTheShowMoves(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	options := fixture.Options{Seats: 4, Edit: func(n *store.NewShow) { n.MaxPlacesPerCustomer = 2 }}
	show := fixture.Show(t, s, options)
	plan := fixture.Plan(t, s, show.HallID, options)
	ann := boxoffice.Actor{CustomerID: "ann", Name: "ann"}
	hold := func(seats ...int) uuid.UUID {
		t.Helper()
		req := store.PlaceRequest{ShowID: show.ID, CustomerID: "ann"}
		for _, i := range seats {
			req.Seats = append(req.Seats, store.SeatRef{ID: show.Seats[i].ID})
		}
		v, _, err := s.PlaceReservation(t.Context(), ann, nil, req)
		if err != nil {
			t.Fatal(err)
		}
		return v.ID
	}
	late := hold(0)
	begun, err := s.BeginBooking(t.Context(), ann, nil, late, store.BeginRequest{
		Gateway: "sandbox", Method: "card", Buyer: &boxoffice.Buyer{Name: "Ann", Email: "ann@example.org"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Pool("").Exec(t.Context(), `
		with r as (update reservations set expires_at = clock_timestamp() - interval '1 second', created_at = clock_timestamp() - interval '1 hour' returning *)
		update show_seats s set held_until = r.expires_at from r where s.show_id = r.show_id and s.reservation_id = r.reservation_id`); err != nil {
		t.Fatal(err)
	}
	hold(1, 2)
	both := gathered(t, db, 2)
	var moving sync.WaitGroup
	moving.Go(func() {
		if _, err := both.AmendShow(t.Context(), fixture.Staff, new(fixture.Key()), boxoffice.DefaultOrganisationID, show.ID, store.ShowAmendment{PlanID: &plan}); err != nil {
			t.Error(err)
		}
	})
	settled, err := both.SettlePayment(t.Context(), "gateway:sandbox", *begun.Place, store.Settlement{Status: boxoffice.PaymentSucceeded})
	moving.Wait()
	if err != nil || settled.Late != boxoffice.LateRefunded {
		t.Errorf("%+v, %v", settled, err)
	}
}

// group is a booking of places in a standing area that was paid elsewhere.
func group(t *testing.T, s *store.Store, places int) (store.Begun, fixture.Made) {
	t.Helper()
	show := fixture.Show(t, s, fixture.Options{Floor: 300})
	v, _, err := s.PlaceReservation(t.Context(), fixture.Staff, nil, store.PlaceRequest{
		ShowID: show.ID, CustomerID: "group", Areas: []store.AreaRef{{ID: show.Areas[0].ID, Quantity: places}},
	})
	if err != nil {
		t.Fatal(err)
	}
	begun, err := s.ConfirmReservation(t.Context(), fixture.Staff, nil, v.ID, store.ConfirmRequest{Method: "cash", PaymentRef: "1"})
	if err != nil {
		t.Fatal(err)
	}
	return begun, show
}

// The tickets that must not be read cannot be: no Go time is infinity.
func TestWhoComesWithAGroupDoesNotWaitForItsTicketsToBeRead(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	begun, show := group(t, s, 3)
	v, err := s.ReadBooking(t.Context(), uuid.Nil, "", begun.BookingID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Pool("").Exec(t.Context(), `update tickets set issued_at = 'infinity' where n = 3`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadBooking(t.Context(), uuid.Nil, "", begun.BookingID); err == nil {
		t.Fatal("the third ticket can be read")
	}
	both := gathered(t, db, 3) // the same ticket at two gates, and another
	var gates sync.WaitGroup
	var results [3]boxoffice.ScanResult
	for i, ticket := range []uuid.UUID{v.Tickets[0].ID, v.Tickets[0].ID, v.Tickets[1].ID} {
		gates.Go(func() {
			done, err := both.CheckIn(t.Context(), fixture.Staff, nil, store.CheckInRequest{TicketID: ticket, ShowID: show.ID, ScanID: uuid.New()})
			if err != nil {
				t.Error(err)
				return
			}
			results[i] = done.Scan.Result
		})
	}
	gates.Wait()
	if slices.Sort(results[:2]); results != [3]boxoffice.ScanResult{boxoffice.ScanAdmitted, boxoffice.ScanAlreadyUsed, boxoffice.ScanAdmitted} {
		t.Error(results)
	}
	if one, err := s.ReadTicket(t.Context(), uuid.Nil, "group", v.Tickets[0].ID); err != nil || one.Status != boxoffice.TicketUsed || one.Reference != v.Reference || one.Seat.Label != "Floor" {
		t.Errorf("%+v, %v", one, err)
	}
}

func TestACheckInAndACancellationOfOneBatchSeeEachOther(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	begun, show := group(t, s, 3)
	v, err := s.ReadBooking(t.Context(), uuid.Nil, "", begun.BookingID)
	if err != nil {
		t.Fatal(err)
	}
	both := gathered(t, db, 2)
	var scanned sync.WaitGroup
	var scan *store.CheckedIn
	scanned.Go(func() {
		if scan, err = both.CheckIn(t.Context(), fixture.Staff, nil, store.CheckInRequest{TicketID: v.Tickets[0].ID, ShowID: show.ID, ScanID: uuid.New()}); err != nil {
			t.Error(err)
		}
	})
	done, failed := both.CancelBooking(t.Context(), fixture.Staff, nil, begun.BookingID, store.CancelRequest{Override: true, Reason: boxoffice.ReasonStaff})
	scanned.Wait()
	if failed != nil || done.Status != boxoffice.BookingCancelled || len(done.Tickets) != 3 {
		t.Fatalf("%+v, %v", done, failed)
	}
	if t0 := done.View.Tickets[0]; scan != nil && (t0.Status != boxoffice.TicketVoid || (scan.Scan.Result == boxoffice.ScanAdmitted) == t0.UsedAt.IsZero()) {
		t.Errorf("the scan was %s, the ticket is %+v", scan.Scan.Result, t0)
	}
}
