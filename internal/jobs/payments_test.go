package jobs

import (
	"testing"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/checkout"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/store"
)

// A job that was discarded, and perhaps purged, is no reason to keep anybody's
// money.
func TestACancelledShowWhoseJobIsGoneIsPaidBackBySweep(t *testing.T) {
	t.Parallel()
	h := newHouse(t, true)
	show, area := h.show()
	done, err := h.store.ConfirmReservation(h.ctx, fixture.Staff, nil, h.hold(show, area, 60).ID, store.ConfirmRequest{Method: "cash", PaymentRef: "receipt 1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.SetShowStatus(h.ctx, fixture.Staff, nil, boxoffice.DefaultOrganisationID, show, boxoffice.SetShowStatus{Verb: boxoffice.CancelShow}); err != nil {
		t.Fatal(err)
	}
	if n := read[int](h, `with gone as (delete from river_job where kind = 'show_cancel' returning 1) select count(*)::int from gone`); n != 1 {
		t.Fatalf("the show's cancellation made %d jobs", n)
	}
	_, events, start := h.jobs(Config{Checkout: checkout.New(checkout.Config{Store: h.store})})
	defer start()()
	h.next(events, CancelShowArgs{}.Kind())
	if got := read[string](h, `select status from bookings where booking_id = $1`, done.BookingID); got != "cancelled" {
		t.Errorf("the booking is %s", got)
	}
	if n, err := h.store.CancelForsaken(h.ctx, 10); n != 0 || err != nil {
		t.Errorf("%d shows are forsaken still, %v", n, err)
	}
}

// The same for a refund: one that was decided long ago has a job again, once.
func TestARefundWhoseJobIsGoneIsSentAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t, true)
	show, area := h.show()
	buyer := boxoffice.Actor{CustomerID: "c", Name: "c"}
	begun, err := h.store.BeginBooking(h.ctx, buyer, nil, h.hold(show, area, 60).ID, store.BeginRequest{
		Gateway: "sandbox", Method: "card", Buyer: &boxoffice.Buyer{Name: "C", Email: "c@example.org"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.SettlePayment(h.ctx, "gateway:sandbox", *begun.Place, store.Settlement{Status: boxoffice.PaymentSucceeded}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.CancelBooking(h.ctx, fixture.Staff, nil, begun.BookingID, store.CancelRequest{Override: true, Reason: boxoffice.ReasonStaff}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		sql  string
		want int
	}{
		{`select 1`, 0}, // its job is there
		{`delete from river_job where kind = 'refund_send'`, 1},
		{`select 1`, 0}, // it has one again
	} {
		h.exec(step.sql)
		if n, err := h.store.SendForsaken(h.ctx, 0, 10); n != step.want || err != nil {
			t.Errorf("after %s: %d sent again, %v", step.sql, n, err)
		}
	}
}
