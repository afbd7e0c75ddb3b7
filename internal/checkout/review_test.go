package checkout_test

import (
	"testing"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/sandbox"
)

// One booking that cannot be cancelled must not keep the money of everybody
// whose booking is listed after it.
func TestABookingThatCannotBeCancelledDoesNotKeepOthersFromTheirMoney(t *testing.T) {
	t.Parallel()
	const bookings = 70 // more than are read at once
	h := open(t, seats(bookings))
	stuck := h.bought("stuck", sandbox.TokenOK, 0).ID
	if err := first(all(bookings-1, func(i int) error {
		r, err := h.tryHold(h.ID, "other", i+1)
		if err != nil {
			return err
		}
		_, err = h.book(r, sandbox.TokenOK)
		return err
	})); err != nil {
		t.Fatal(err)
	}
	h.exec(`create function refuse_one() returns trigger language plpgsql as $$ begin raise exception 'not this one'; end $$`)
	h.exec(`create trigger refuse_one before update on bookings for each row when (old.booking_id = '` + stuck.String() + `') execute function refuse_one()`)
	if _, err := h.store.SetShowStatus(h.ctx, fixture.Staff, new(fixture.Key()), boxoffice.DefaultOrganisationID, h.ID, boxoffice.SetShowStatus{Verb: boxoffice.CancelShow}); err != nil {
		t.Fatal(err)
	}
	never := func() bool { return false }
	if _, err := h.out.CancelShow(h.ctx, h.ID, never); err == nil {
		t.Error("nobody is told of the one that is stuck")
	}
	if n := read[int](h, `select count(*)::int from bookings where status = 'confirmed'`); n != 1 {
		t.Error(n, "bookings were not cancelled")
	}
	h.exec(`drop trigger refuse_one on bookings`)
	if _, err := h.out.CancelShow(h.ctx, h.ID, never); err != nil {
		t.Error(err)
	}
	h.works()
	h.rest()
}
