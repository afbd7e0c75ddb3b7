package store_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
)

// Two kinds of ticket for one area are short together, though neither is
// alone: the overdue hold in their way must be found and closed.
func TestALatePaymentForTwoKindsOfTicketFindsTheOverdueHoldInItsWay(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	show := fixture.Show(t, s, fixture.Options{Floor: 10})
	floor, super := show.Areas[0].ID, db.Pool("")
	hold := func(customer string, areas ...store.AreaRef) uuid.UUID {
		t.Helper()
		v, _, err := s.PlaceReservation(t.Context(), boxoffice.Actor{CustomerID: customer, Staff: true, Name: customer}, nil, store.PlaceRequest{
			ShowID: show.ID, CustomerID: customer, Areas: areas,
		})
		if err != nil {
			t.Fatal(err)
		}
		return v.ID
	}
	over := func(reservation uuid.UUID) {
		t.Helper()
		if _, err := super.Exec(t.Context(), `
			update reservations set expires_at = clock_timestamp() - interval '1 second', created_at = clock_timestamp() - interval '1 hour'
			 where reservation_id = $1`, reservation); err != nil {
			t.Fatal(err)
		}
	}
	late := hold("late", store.AreaRef{ID: floor, Quantity: 1}, store.AreaRef{ID: floor, Quantity: 1, TicketType: "child"})
	begun, err := s.BeginBooking(t.Context(), boxoffice.Actor{CustomerID: "late", Name: "late"}, nil, late, store.BeginRequest{
		Gateway: "sandbox", Method: "card", Buyer: &boxoffice.Buyer{Name: "Late", Email: "late@example.org"},
	})
	if err != nil {
		t.Fatal(err)
	}
	over(late)
	over(hold("other", store.AreaRef{ID: floor, Quantity: 9})) // which closed the one before it
	settled, err := s.SettlePayment(t.Context(), "gateway:sandbox", *begun.Place, store.Settlement{Status: boxoffice.PaymentSucceeded})
	if err != nil || settled.Late != boxoffice.LateBooked {
		t.Errorf("%+v, %v", settled, err)
	}
}

func TestReferencesHaveNoLookAlikesAndDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 10_000 {
		r := store.NewReference()
		if len(r) != boxoffice.ReferenceLength || seen[r] {
			t.Fatalf("reference %q", r)
		}
		seen[r] = true
		for _, letter := range r {
			if !strings.ContainsRune(boxoffice.ReferenceAlphabet, letter) {
				t.Fatalf("reference %q has %q", r, letter)
			}
		}
	}
}
