package checkout_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/payment"
	"github.com/rowlock/rowlock/internal/sandbox"
	"github.com/rowlock/rowlock/internal/store"
)

// cancel gives a booking, or some of its tickets, back by its buyer.
func (h *house) cancel(customer string, booking uuid.UUID, tickets ...uuid.UUID) (*store.Cancelled, error) {
	return h.out.Cancel(h.ctx, buyer(customer), new(fixture.Key()), booking, store.CancelRequest{TicketIDs: tickets})
}

// givenBack fails the test unless the booking has so many refunds, all of
// which the gateway has made, and their sum is right.
func (h *house) givenBack(id uuid.UUID, refunds int, sum int64) *store.BookingView {
	h.t.Helper()
	v := h.booking(id)
	var got, there int64
	for _, f := range v.Refunds {
		if f.Status != boxoffice.RefundSucceeded {
			h.t.Errorf("a refund is %s: %s", f.Status, f.Failure)
		}
		got += f.AmountMinor
	}
	for _, p := range v.Payments {
		if at := h.at(p.ID); at != nil {
			there += at.Refunded + at.Disputed
		}
	}
	if len(v.Refunds) != refunds || got != sum || v.RefundedMinor != sum || there != sum {
		h.t.Errorf("%d refunds of %d, the booking says %d, the gateway %d; not %d of %d", len(v.Refunds), got, v.RefundedMinor, there, refunds, sum)
	}
	return v
}

func TestCancellingWhileTheBankSettlesGivesTheMoneyBackOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.gateway.HoldWebhooks()
	res, err := h.book(h.hold("a", 0, 1), sandbox.TokenAsyncLate)
	if err != nil {
		t.Fatal(err)
	}
	done, err := h.cancel("a", res.Booking.ID)
	if err != nil || done.Status != boxoffice.BookingCancelled || done.Open == uuid.Nil {
		t.Fatal(err, done)
	}
	h.hold("b", 0, 1) // the places are free at once
	h.settle(res.Booking.Payment().ID)
	e := h.event("payment.succeeded", res.Booking.Payment().ID)
	if err := first(all(3, func(int) error {
		if status := h.deliver(e); status != http.StatusOK {
			return fmt.Errorf("status %d", status)
		}
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	h.rest()
	h.givenBack(res.Booking.ID, 1, res.Booking.TotalMinor)
	h.is(res.Booking.ID, boxoffice.BookingCancelled)
	if n := read[int](h, `select count(*)::int from changes where booking_id = $1 and type like 'refund.%'`, res.Booking.ID); n != 2 {
		t.Error("the log tells of the refund", n, "times")
	}
}

func TestCancellingWhileItIsPaidTakesNoMoney(t *testing.T) {
	t.Parallel()
	for _, token := range []string{sandbox.TokenAsync, sandbox.TokenRedirect} {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			res, err := h.book(h.hold("a", 0), token)
			if err != nil {
				t.Fatal(err)
			}
			key := new(fixture.Key())
			for range 2 { // the same twice
				done, err := h.out.Cancel(h.ctx, buyer("a"), key, res.Booking.ID, store.CancelRequest{})
				if err != nil || done.Status != boxoffice.BookingCancelled || len(done.Refunds) != 0 {
					t.Fatal(err, done)
				}
			}
			if p := h.at(res.Booking.Payment().ID); p.State != sandbox.Cancelled {
				t.Error("at the gateway it is", p.State)
			}
			if p := h.is(res.Booking.ID, boxoffice.BookingCancelled).Payment(); p.Status != boxoffice.PaymentCancelled {
				t.Error("the payment is", p.Status)
			}
		})
	}
}

func TestCancellingWhatWasPaidWithoutOurKnowingGivesTheMoneyBack(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.gateway.HoldWebhooks()
	res, err := h.book(h.hold("a", 0), sandbox.TokenTimeout)
	if err != nil || !res.Pending {
		t.Fatal(err, res)
	}
	if _, err := h.cancel("a", res.Booking.ID); err != nil {
		t.Fatal(err)
	}
	h.rest()
	h.is(res.Booking.ID, boxoffice.BookingCancelled)
	h.givenBack(res.Booking.ID, 1, res.Booking.TotalMinor)
}

func TestCancellingDuringTheChargeTellsBothSides(t *testing.T) {
	t.Parallel()
	h := open(t, holdsBack)
	h.gateway.HoldWebhooks()
	r := h.hold("a", 0)
	done := make(chan error, 1)
	go func() {
		_, err := h.book(r, sandbox.TokenOK)
		done <- err
	}()
	h.until("the charge is made", func() bool { return len(h.charges()) == 1 })
	id := read[uuid.UUID](h, `select booking_id from bookings`)
	if _, err := h.cancel("a", id); err != nil {
		t.Fatal(err)
	}
	h.release()
	if refusal := refused(t, <-done, boxoffice.CodeReservationExpired); refusal.Facts.Refund == nil {
		t.Errorf("the buyer is not told of the refund: %+v", refusal.Facts)
	}
	h.rest()
	h.is(id, boxoffice.BookingCancelled)
	h.givenBack(id, 1, fixture.FrontPrice)
}

func TestAGatewayThatIsDownWhenAPaymentIsCancelledIsToldLater(t *testing.T) {
	t.Parallel()
	h := open(t)
	res, err := h.book(h.hold("a", 0), sandbox.TokenAsync)
	if err != nil {
		t.Fatal(err)
	}
	h.gateway.Inject(func(*http.Request) sandbox.Fault { return sandbox.Fault{Refuse: true} })
	if _, err := h.cancel("a", res.Booking.ID); err != nil {
		t.Fatal(err)
	}
	h.gateway.Inject(nil)
	h.works()
	h.until("the payment is cancelled there", func() bool {
		h.passTime()
		return h.at(res.Booking.Payment().ID).State == sandbox.Cancelled
	})
}

func TestACancelledShowGivesEverybodyTheirMoneyBack(t *testing.T) {
	t.Parallel()
	for name, crash := range map[string]bool{"at once": false, "though the process that does it is killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, seats(260))
			h.cancelledShow(crash)
		})
	}
}

func (h *house) cancelledShow(crash bool) {
	t := h.t
	t.Helper()
	const bookings, holds = 200, 40
	h.gateway.HoldWebhooks()
	ids := make([]uuid.UUID, bookings)
	if err := first(all(bookings, func(i int) error {
		r, err := h.tryHold(h.ID, fmt.Sprint("buyer", i), i)
		if err != nil {
			return err
		}
		// Most are paid; of the others the money is on its way, can be stopped or not.
		token := sandbox.TokenOK
		switch i % 8 {
		case 5:
			token = sandbox.TokenAsync
		case 6:
			token = sandbox.TokenAsyncLate
		case 7:
			token = sandbox.TokenRedirect
		}
		res, err := h.book(r, token)
		if err == nil {
			ids[i] = res.Booking.ID
		}
		return err
	})); err != nil {
		t.Fatal(err)
	}
	if err := first(all(holds, func(i int) error {
		_, err := h.tryHold(h.ID, fmt.Sprint("holder", i), bookings+i)
		return err
	})); err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.SetShowStatus(h.ctx, fixture.Staff, new(fixture.Key()), boxoffice.DefaultOrganisationID, h.ID, boxoffice.SetShowStatus{Verb: boxoffice.CancelShow}); err != nil {
		t.Fatal(err)
	}
	progress := func() store.Progress {
		t.Helper()
		p, err := h.store.CancellationProgress(h.ctx, h.ID)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := progress(); p.Complete || p.Left != bookings {
		t.Errorf("before anybody did anything: %+v", p)
	}
	if crash {
		// One process dies when it has begun, another when money is on its way.
		more, err := h.out.CancelShow(h.ctx, h.ID, func() bool { return true })
		if p := progress(); err != nil || !more || p.Left == 0 || p.Left == bookings {
			t.Fatalf("%v, %+v", err, p)
		}
		p, err := h.start(orders{KillAt: 100, Jobs: true})
		if err != nil {
			t.Fatal(err)
		}
		h.until("the child is dead", func() bool {
			h.passTime()
			_, alive := p.do(act{})
			return !alive
		})
		p.end()
		h.bury()
		if p := progress(); p.Complete {
			t.Errorf("after the crash: %+v", p)
		}
	}
	h.works()
	h.until("every booking is cancelled", func() bool {
		h.passTime()
		return progress().Left == 0
	})
	h.rest() // money that could not be stopped comes, and goes back
	if p := progress(); !p.Complete || p.Left+p.Sending+p.Refused != 0 || p.Done != bookings*5/8 {
		t.Errorf("at the end: %+v", p)
	}
	for _, id := range ids {
		v := h.is(id, boxoffice.BookingCancelled)
		if p := v.Payments[0]; p.Status == boxoffice.PaymentSucceeded {
			h.givenBack(id, 1, v.TotalMinor)
		}
	}
	if n := read[int](h, `select count(*)::int from show_seats where show_id = $1 and state <> 'a'`, h.ID); n != 0 {
		t.Error(n, "seats are not free")
	}
	if n := read[int](h, `select count(*)::int from reservations where show_id = $1 and status = 'active'`, h.ID); n != 0 {
		t.Error(n, "holds are left")
	}
	if n := len(h.gateway.Ledger().Refunds); n != len(h.charges()) {
		t.Error(n, "refunds for", len(h.charges()), "charges")
	}
}

func TestNobodyCanBeginToPayForACancelledShow(t *testing.T) {
	t.Parallel()
	h := open(t)
	r := h.hold("a", 0)
	if _, err := h.store.SetShowStatus(h.ctx, fixture.Staff, new(fixture.Key()), boxoffice.DefaultOrganisationID, h.ID, boxoffice.SetShowStatus{Verb: boxoffice.CancelShow}); err != nil {
		t.Fatal(err)
	}
	_, err := h.book(r, sandbox.TokenOK)
	refused(t, err, boxoffice.CodeShowNotOnSale)
}

func TestARefundAtTheGatewaysDesk(t *testing.T) {
	t.Parallel()
	t.Run("of a part leaves the tickets", func(t *testing.T) {
		t.Parallel()
		h := open(t)
		v := h.bought("a", sandbox.TokenOK, 0, 1, 2)
		h.desk("refunds", v.AppliedID, 1000)
		h.rest()
		v = h.givenBack(v.ID, 1, 1000)
		h.is(v.ID, boxoffice.BookingConfirmed)
		if f := v.Refunds[0]; len(f.TicketIDs) != 3 || !slices.Equal(f.TicketAmount, []int64{334, 333, 333}) || f.Reason != boxoffice.ReasonGateway {
			t.Errorf("%+v", f)
		}
		// What is left can still be given back here, and no more.
		if _, err := h.out.Cancel(h.ctx, fixture.Staff, new(fixture.Key()), v.ID, store.CancelRequest{Override: true, Reason: boxoffice.ReasonStaff}); err != nil {
			t.Fatal(err)
		}
		h.rest()
		h.givenBack(v.ID, 2, v.TotalMinor)
	})
	t.Run("of the whole makes the tickets void and the places free", func(t *testing.T) {
		t.Parallel()
		h := open(t)
		v := h.bought("a", sandbox.TokenOK, 0, 1)
		h.desk("refunds", v.AppliedID, 0)
		h.rest()
		h.is(v.ID, boxoffice.BookingCancelled)
		v = h.givenBack(v.ID, 1, v.TotalMinor)
		for _, ticket := range v.Tickets {
			if ticket.Status != boxoffice.TicketVoid {
				t.Error("a ticket is", ticket.Status)
			}
		}
		h.bought("b", sandbox.TokenOK, 0, 1)
	})
	t.Run("in two parts, the second of which is all that was left", func(t *testing.T) {
		t.Parallel()
		h := open(t)
		v := h.bought("a", sandbox.TokenOK, 0, 1)
		h.desk("refunds", v.AppliedID, 1000)
		h.rest()
		h.desk("refunds", v.AppliedID, 0)
		h.rest()
		h.is(v.ID, boxoffice.BookingCancelled)
		h.givenBack(v.ID, 2, v.TotalMinor)
	})
}

// A refund of ours that was never sent has no id at the gateway either: one
// that names none must not be taken for it.
func TestMoneyThatWentBackWithoutAnIDIsNobodysRefund(t *testing.T) {
	t.Parallel()
	h := open(t)
	v := h.bought("a", sandbox.TokenOK, 0, 1)
	if _, err := h.store.CancelBooking(h.ctx, fixture.Staff, new(fixture.Key()), v.ID, store.CancelRequest{Override: true, Reason: boxoffice.ReasonStaff}); err != nil {
		t.Fatal(err)
	}
	kept, err := json.Marshal(payment.Event{
		ID: "nameless", Kind: payment.EventRefund, Payment: payment.Ref{PaymentID: v.AppliedID},
		AmountMinor: v.TotalMinor, Refund: payment.RefundAnswer{State: payment.Succeeded},
	})
	if err != nil {
		t.Fatal(err)
	}
	gateway := h.booking(v.ID).Payments[0].Gateway
	if _, err := h.store.StorePaymentEvent(h.ctx, gateway, "nameless", kept); err != nil {
		t.Fatal(err)
	}
	if err := h.out.ApplyEvent(h.ctx, gateway, "nameless"); err != nil {
		t.Fatal(err)
	}
	if refunds := h.booking(v.ID).Refunds; len(refunds) != 1 || refunds[0].Status != boxoffice.RefundPending {
		t.Errorf("%+v", refunds)
	}
}

func TestADisputeTakesTheTicketsToo(t *testing.T) {
	t.Parallel()
	h := open(t)
	v := h.bought("a", sandbox.TokenOK, 0, 1)
	h.desk("disputes", v.AppliedID, 0)
	h.rest()
	h.is(v.ID, boxoffice.BookingCancelled)
	v = h.givenBack(v.ID, 1, v.TotalMinor)
	if f := v.Refunds[0]; f.Cause[:8] != "dispute:" {
		t.Error(f.Cause)
	}
	// Again, by somebody who died before it was noted that it had its effect.
	h.exec(`update payment_events set done_at = null, outcome = null`)
	if status := h.deliver(h.event("dispute.opened", v.AppliedID)); status != http.StatusOK {
		t.Error("again:", status)
	}
	if n := read[int](h, `select count(*)::int from payment_events where outcome = 'applied'`); n != 1 {
		t.Error("the second time it had no effect")
	}
	h.exec(`update payment_events set done_at = now() where done_at is null`)
	h.givenBack(v.ID, 1, v.TotalMinor)
}

func TestARefundThatTheGatewayRefusesIsForPeople(t *testing.T) {
	t.Parallel()
	h := open(t, policy(0, 100))
	v := h.bought("a", sandbox.TokenRefundFails, 0, 1)
	if _, err := h.cancel("a", v.ID); err != nil {
		t.Fatal(err)
	}
	h.rest()
	v = h.is(v.ID, boxoffice.BookingCancelled)
	if f := v.Refunds[0]; len(v.Refunds) != 1 || f.Status != boxoffice.RefundFailed || f.Failure == "" || v.RefundedMinor != 0 {
		t.Fatalf("%+v, given back %d", f, v.RefundedMinor)
	}
	if m, err := h.store.WatchMoney(h.ctx); err != nil || m.Refused != 1 {
		t.Errorf("those on watch see %+v, %v", m, err)
	}
	// Staff sends it again: a new attempt for the gateway, the same refund here.
	key := new(fixture.Key())
	for range 2 {
		if _, _, _, err := h.store.RetryRefund(h.ctx, fixture.Staff, key, v.Refunds[0].ID, ""); err != nil {
			t.Fatal(err)
		}
	}
	h.rest()
	v = h.booking(v.ID)
	if f := v.Refunds[0]; len(v.Refunds) != 1 || f.Attempt != 2 || f.Status != boxoffice.RefundFailed {
		t.Errorf("%+v", f)
	}
	if list := h.gateway.Ledger().Refunds; len(list) != 2 || list[0].MerchantID != list[1].MerchantID {
		t.Errorf("at the gateway: %+v", list)
	}
	// In the end they pay it out themselves.
	if _, _, _, err := h.store.RetryRefund(h.ctx, fixture.Staff, new(fixture.Key()), v.Refunds[0].ID, "transfer 17"); err != nil {
		t.Fatal(err)
	}
	h.byHand = map[string]int64{v.AppliedID.String(): v.TotalMinor}
	v = h.booking(v.ID)
	if f := v.Refunds[0]; len(v.Refunds) != 1 || f.Status != boxoffice.RefundSucceeded || v.RefundedMinor != v.TotalMinor {
		t.Errorf("%+v, given back %d", f, v.RefundedMinor)
	}
	h.rest()
	if n := len(h.gateway.Ledger().Refunds); n != 2 {
		t.Error("the gateway was asked", n, "times")
	}
}

func TestLateNewsOfARefusedRefundDoesNotEndItsNextAttempt(t *testing.T) {
	t.Parallel()
	h := open(t, policy(0, 100))
	h.breaks = "no_refund_stays_refused"
	h.gateway.HoldWebhooks()
	v := h.bought("a", sandbox.TokenRefundFails, 0)
	done, err := h.cancel("a", v.ID)
	if err != nil {
		t.Fatal(err)
	}
	id := done.Refunds[0].ID
	if err := h.out.SendRefund(h.ctx, id); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := h.store.RetryRefund(h.ctx, fixture.Staff, new(fixture.Key()), id, ""); err != nil {
		t.Fatal(err)
	}
	if status := h.deliver(h.event("refund.failed", id)); status != http.StatusOK {
		t.Fatal(status)
	}
	if f := h.booking(v.ID).Refunds[0]; f.Status != boxoffice.RefundPending {
		t.Errorf("before it was sent the second attempt is %s", f.Status)
	}
	h.rest()
	if n := len(h.gateway.Ledger().Refunds); n != 2 {
		t.Error("sent", n, "times")
	}
}

func TestASlowRefundIsSettledByItsWebhook(t *testing.T) {
	t.Parallel()
	h := open(t, policy(0, 100))
	v := h.bought("a", sandbox.TokenRefundSlow, 0)
	done, err := h.cancel("a", v.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.out.SendRefund(h.ctx, done.Refunds[0].ID); err == nil {
		t.Fatal("nobody is told to ask again")
	}
	if f := h.booking(v.ID).Refunds[0]; f.Status != boxoffice.RefundPending || f.Ref == "" {
		t.Fatalf("%+v", f)
	}
	h.settled(h.gateway.Ledger().Refunds[0].ID)
	if err := h.gateway.AwaitDelivery(h.ctx); err != nil {
		t.Fatal(err)
	}
	h.givenBack(v.ID, 1, v.TotalMinor)
}

func TestARefundWhoseAnswerIsLostIsMadeOnce(t *testing.T) {
	t.Parallel()
	h := open(t, policy(0, 100))
	h.gateway.HoldWebhooks()
	v := h.bought("a", sandbox.TokenOK, 0)
	var sent atomic.Int32
	h.gateway.Inject(func(r *http.Request) sandbox.Fault {
		if r.URL.Path != "/v1/refunds" {
			return sandbox.Fault{}
		}
		switch sent.Add(1) {
		case 1:
			return sandbox.Fault{Refuse: true}
		case 2, 3:
			return sandbox.Fault{Drop: true}
		}
		return sandbox.Fault{}
	})
	if _, err := h.cancel("a", v.ID); err != nil {
		t.Fatal(err)
	}
	h.works()
	h.until("the refund is known to be made", func() bool {
		h.passTime()
		return h.booking(v.ID).Refunds[0].Status == boxoffice.RefundSucceeded
	})
	h.givenBack(v.ID, 1, v.TotalMinor)
	if list := h.gateway.Ledger().Refunds; len(list) != 1 || sent.Load() != 4 {
		t.Errorf("sent %d times, made %d times", sent.Load(), len(list))
	}
}

func TestMoneyGivenBackForTicketsThatStay(t *testing.T) {
	t.Parallel()
	h := open(t)
	v := h.bought("a", sandbox.TokenOK, 0, 1, 9)
	key := new(fixture.Key())
	for range 2 {
		if _, _, _, err := h.store.GiveBack(h.ctx, fixture.Staff, key, v.ID, store.GiveBackRequest{AmountMinor: 100}); err != nil {
			t.Fatal(err)
		}
	}
	h.rest()
	h.is(v.ID, boxoffice.BookingConfirmed)
	h.givenBack(v.ID, 1, 100)
	_, _, _, err := h.store.GiveBack(h.ctx, fixture.Staff, new(fixture.Key()), v.ID, store.GiveBackRequest{AmountMinor: v.TotalMinor})
	refused(t, err, boxoffice.CodeValidation)
	if _, _, _, err := h.store.GiveBack(h.ctx, fixture.Staff, new(fixture.Key()), v.ID, store.GiveBackRequest{}); err != nil {
		t.Fatal(err)
	}
	_, _, _, err = h.store.GiveBack(h.ctx, fixture.Staff, new(fixture.Key()), v.ID, store.GiveBackRequest{})
	refused(t, err, boxoffice.CodeAlreadyRefunded)
	h.rest()
	h.givenBack(v.ID, 2, v.TotalMinor)
	// The tickets are still good, and can be given back for nothing.
	if _, err := h.out.Cancel(h.ctx, fixture.Staff, new(fixture.Key()), v.ID, store.CancelRequest{Override: true, Reason: boxoffice.ReasonStaff}); err != nil {
		t.Fatal(err)
	}
	h.rest()
	h.givenBack(v.ID, 2, v.TotalMinor)
}

func TestCancellingTwiceAtOnceGivesTheMoneyBackOnce(t *testing.T) {
	t.Parallel()
	h := open(t, policy(0, 100))
	v := h.bought("a", sandbox.TokenOK, 0, 1, 2)
	if err := first(all(8, func(i int) error {
		var err error
		if i%2 == 0 {
			_, err = h.cancel("a", v.ID)
		} else {
			_, err = h.cancel("a", v.ID, v.Tickets[1].ID)
		}
		return err
	})); err != nil {
		t.Fatal(err)
	}
	h.rest()
	v = h.is(v.ID, boxoffice.BookingCancelled)
	h.givenBack(v.ID, len(v.Refunds), v.TotalMinor)
	if len(v.Refunds) > 2 {
		t.Error(len(v.Refunds), "refunds")
	}
}
