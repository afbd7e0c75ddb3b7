package checkout_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/checkout"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/payment"
	"github.com/rowlock/rowlock/internal/sandbox"
	"github.com/rowlock/rowlock/internal/store"
)

// holdsBack is a house whose gateway answers charges when the test lets it.
func holdsBack(s *setup) {
	s.charges = func(g payment.Gateway) payment.Gateway { return &heldBack{Gateway: g, release: make(chan struct{})} }
}

func (h *house) release() { close(h.pays.(*heldBack).release) }

func TestOfTwoPaysAtOnceOneIsOpenAndTheOtherIsTold(t *testing.T) {
	t.Parallel()
	h := open(t, holdsBack)
	h.gateway.HoldWebhooks()
	r := h.hold("a", 0, 1)
	type answer struct {
		res *checkout.Result
		err error
	}
	answers := make(chan answer, 5)
	for range cap(answers) {
		go func() {
			res, err := h.book(r, sandbox.TokenOK)
			answers <- answer{res, err}
		}()
	}
	for range cap(answers) - 1 {
		refusal := refused(t, (<-answers).err, boxoffice.CodePaymentInProgress)
		if refusal.Facts.BookingID == nil || refusal.RetryAfter == 0 {
			t.Errorf("%+v", refusal)
		}
	}
	h.release()
	if a := <-answers; a.err != nil || a.res.Booking.Status != boxoffice.BookingConfirmed || len(a.res.Booking.Payments) != 1 {
		t.Fatal(a.err, a.res)
	}
	if n := len(h.gateway.Ledger().Payments); n != 1 {
		t.Error(n, "payments at the gateway")
	}
	refusal := refused(t, func() error { _, err := h.book(r, sandbox.TokenOK); return err }(), boxoffice.CodeReservationNotActive)
	if refusal.Facts.BookingID == nil {
		t.Error("afterwards nobody is told of the booking")
	}
}

func TestTheSameKeyAtOnceIsOneAttemptAndOneAnswer(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.gateway.Inject(func(r *http.Request) sandbox.Fault { return sandbox.Fault{After: 200 * time.Millisecond} })
	r, key := h.hold("a", 0, 1), fixture.Key()
	ids := make([]uuid.UUID, 8)
	if err := first(all(len(ids), func(i int) error {
		res, err := h.bookAs(&key, r, sandbox.TokenOK)
		if err == nil {
			ids[i] = res.Booking.ID
		}
		return err
	})); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if id != ids[0] {
			t.Error("two bookings")
		}
	}
	if v := h.is(ids[0], boxoffice.BookingConfirmed); len(v.Payments) != 1 || len(v.Tickets) != 2 || len(h.gateway.Ledger().Payments) != 1 {
		t.Error(len(v.Payments), "payments", len(v.Tickets), "tickets")
	}
}

func TestASecondCardAfterADeclineIsANewAttempt(t *testing.T) {
	t.Parallel()
	h := open(t)
	r := h.hold("a", 0, 1)
	key := new(fixture.Key())
	_, err := h.bookAs(key, r, sandbox.TokenInsufficientFunds)
	refusal := refused(t, err, boxoffice.CodePaymentDeclined)
	f := refusal.Facts
	if f.BookingID == nil || f.PaymentID == nil || f.ExpiresAt == nil || f.DeclineCode != "insufficient_funds" || !f.ExpiresAt.Equal(r.ExpiresAt) {
		t.Fatalf("%+v", f)
	}
	res, err := h.pay("a", *f.BookingID, sandbox.TokenOK)
	if err != nil || res.Booking.Status != boxoffice.BookingConfirmed {
		t.Fatal(err, res)
	}
	list := h.gateway.Ledger().Payments
	if len(list) != 2 || list[0].MerchantID == list[1].MerchantID || list[0].State != sandbox.Failed || list[1].State != sandbox.Succeeded {
		t.Errorf("%+v", list)
	}
	// The first request again is answered as it was.
	_, err = h.bookAs(key, r, sandbox.TokenInsufficientFunds)
	if again := refused(t, err, boxoffice.CodePaymentDeclined); *again.Facts.PaymentID != *f.PaymentID {
		t.Errorf("%+v", again.Facts)
	}
}

func TestTheHoldLastsWhileItIsPaidAndGoesBackToItsOwnEnd(t *testing.T) {
	t.Parallel()
	h := open(t, holdsBack)
	h.gateway.HoldWebhooks()
	r, _, err := h.store.PlaceReservation(h.ctx, buyer("a"), new(fixture.Key()), store.PlaceRequest{
		ShowID: h.ID, CustomerID: "a", TTLSeconds: 60, Seats: []store.SeatRef{{ID: h.Seats[0].ID}},
	})
	if err != nil {
		t.Fatal(err)
	}
	end := func() time.Time {
		v, err := h.store.ReadReservation(h.ctx, uuid.Nil, "", r.ID)
		if err != nil {
			t.Fatal(err)
		}
		return v.ExpiresAt
	}
	done := make(chan error, 1)
	go func() {
		_, err := h.book(r, sandbox.TokenDeclined)
		done <- err
	}()
	h.until("the payment has begun", func() bool { return len(h.gateway.Ledger().Payments) == 1 })
	if longer := end().Sub(r.ExpiresAt); longer < 50*time.Second || longer > boxoffice.PaymentExtension {
		t.Error("while it is paid the hold lasts", longer, "longer")
	}
	h.release()
	refusal := refused(t, <-done, boxoffice.CodePaymentDeclined)
	if !end().Equal(r.ExpiresAt) {
		t.Error("afterwards it ends", end().Sub(r.ExpiresAt), "later")
	}
	// It is given once.
	if _, err := h.store.BeginPayment(h.ctx, buyer("a"), new(fixture.Key()), *refusal.Facts.BookingID, store.BeginRequest{Gateway: "sandbox", Method: "card"}); err != nil {
		t.Fatal(err)
	}
	if !end().Equal(r.ExpiresAt) {
		t.Error("the second attempt makes it end", end().Sub(r.ExpiresAt), "later")
	}
}

func TestARequestCutOffAfterItsBeginIsGoneOnWithByItsKey(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]bool{"before the charge": false, "after the charge": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			h.gateway.HoldWebhooks()
			r, key := h.hold("a", 0), new(fixture.Key())
			begun, err := h.store.BeginBooking(h.ctx, buyer("a"), key, r.ID, begin("a"))
			if err != nil {
				t.Fatal(err)
			}
			if sent {
				h.send(begun.PaymentID, sandbox.TokenOK)
			}
			res, err := h.bookAs(key, r, sandbox.TokenOK)
			if err != nil || !res.Replayed || res.Booking.ID != begun.BookingID || res.Booking.Status != boxoffice.BookingConfirmed {
				t.Fatal(err, res)
			}
		})
	}
}

func TestARequestGoneOnWithTooLateIsNotCharged(t *testing.T) {
	t.Parallel()
	h := open(t)
	r, key := h.hold("a", 0), new(fixture.Key())
	begun, err := h.store.BeginBooking(h.ctx, buyer("a"), key, r.ID, begin("a"))
	if err != nil {
		t.Fatal(err)
	}
	h.endHolds(h.ID)
	// The gateway is down: then it is not known yet.
	h.gateway.Inject(func(*http.Request) sandbox.Fault { return sandbox.Fault{Refuse: true} })
	if res, err := h.bookAs(key, r, sandbox.TokenOK); err != nil || !res.Pending {
		t.Fatal(err, res)
	}
	h.gateway.Inject(nil)
	_, err = h.bookAs(key, r, sandbox.TokenOK)
	refused(t, err, boxoffice.CodeReservationExpired)
	// Not even when the request that was cut off comes through at last.
	h.send(begun.PaymentID, sandbox.TokenOK)
	if n := len(h.charges()); n != 0 {
		t.Error(n, "charges")
	}
	h.is(begun.BookingID, boxoffice.BookingExpired)
}

func TestABuyerWhoGoesAwayIsChargedAllTheSameOnce(t *testing.T) {
	t.Parallel()
	h := open(t, holdsBack)
	h.gateway.HoldWebhooks()
	r := h.hold("a", 0)
	ctx, leave := context.WithCancel(h.ctx)
	done := make(chan error, 1)
	go func() {
		_, err := h.out.Book(ctx, buyer("a"), new(fixture.Key()), checkout.Request{
			ReservationID: r.ID, Buyer: who("a"), Payment: checkout.Payment{Method: "card", Token: sandbox.TokenOK},
		})
		done <- err
	}()
	h.until("the charge is made", func() bool { return len(h.charges()) == 1 })
	leave()
	h.release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := read[string](h, `select status from bookings`); got != "confirmed" {
		t.Error(got)
	}
}

func TestWhatCostsNothingIsBookedWithoutAGateway(t *testing.T) {
	t.Parallel()
	h := open(t, edited(func(n *store.NewShow) {
		for i := range n.Prices {
			n.Prices[i].AmountMinor = 0
		}
	}))
	res, err := h.out.Book(h.ctx, buyer("a"), new(fixture.Key()), checkout.Request{ReservationID: h.hold("a", 0, 1).ID, Buyer: who("a")})
	if err != nil || res.Booking.Status != boxoffice.BookingConfirmed || len(res.Booking.Tickets) != 2 || len(res.Booking.Payments) != 0 {
		t.Fatal(err, res)
	}
	if n := len(h.gateway.Ledger().Payments); n != 0 {
		t.Error(n, "payments at the gateway")
	}
}

func TestWhatCostsSomethingNeedsAWayToPay(t *testing.T) {
	t.Parallel()
	h := open(t)
	r := h.hold("a", 0)
	for _, p := range []checkout.Payment{{}, {Method: "shells"}, {Method: "card", Gateway: "stripe"}} {
		_, err := h.out.Book(h.ctx, buyer("a"), new(fixture.Key()), checkout.Request{ReservationID: r.ID, Buyer: who("a"), Payment: p})
		refused(t, err, boxoffice.CodeValidation)
	}
	if n := read[int](h, `select count(*)::int from bookings`); n != 0 {
		t.Error(n, "bookings")
	}
}

func TestWhatIsBeingPaidStaysAsItIs(t *testing.T) {
	t.Parallel()
	h := open(t)
	r := h.hold("a", 0, 1)
	res, err := h.book(r, sandbox.TokenAsync)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = h.store.ChangeReservation(h.ctx, buyer("a"), new(fixture.Key()), r.ID, store.ChangeRequest{RemoveSeats: []store.SeatRef{{ID: h.Seats[0].ID}}})
	refused(t, err, boxoffice.CodePaymentInProgress)
	h.settle(res.Booking.Payment().ID)
}

func TestAHoldThatChangesAfterADeclineIsPaidAsItIsThen(t *testing.T) {
	t.Parallel()
	h := open(t)
	r := h.hold("a", 0, 9)
	_, err := h.book(r, sandbox.TokenDeclined)
	id := *refused(t, err, boxoffice.CodePaymentDeclined).Facts.BookingID
	if _, _, err := h.store.ChangeReservation(h.ctx, buyer("a"), new(fixture.Key()), r.ID, store.ChangeRequest{RemoveSeats: []store.SeatRef{{ID: h.Seats[0].ID}}}); err != nil {
		t.Fatal(err)
	}
	res, err := h.pay("a", id, sandbox.TokenOK)
	if err != nil || res.Booking.TotalMinor != fixture.BackPrice || len(res.Booking.Tickets) != 1 {
		t.Fatal(err, res)
	}
	if c := h.charges(); len(c) != 1 || c[0].Amount != fixture.BackPrice {
		t.Errorf("%+v", c)
	}
}

func TestARedirectIsConfirmedOnThePageOrEndsWithTheHold(t *testing.T) {
	t.Parallel()
	for decision, want := range map[string]boxoffice.BookingStatus{
		"confirm": boxoffice.BookingConfirmed, "decline": boxoffice.BookingPending, "": boxoffice.BookingExpired,
	} {
		t.Run("decision "+decision, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			res, err := h.out.Book(h.ctx, buyer("a"), new(fixture.Key()), checkout.Request{
				ReservationID: h.hold("a", 0).ID, Buyer: who("a"), Payment: checkout.Payment{Method: "redirect", ReturnURL: "https://shop.example/done"},
			})
			if err != nil || !res.Pending || res.Next == nil || res.Next.Type != "redirect" || res.Next.URL == "" {
				t.Fatal(err, res)
			}
			id := res.Booking.Payment().ID
			// A session that outlives the hold would take money for nothing.
			if there := h.at(id).ExpiresAt; !there.Equal(res.Booking.ExpiresAt) {
				t.Error("the session ends", there.Sub(res.Booking.ExpiresAt), "after the hold")
			}
			if decision != "" {
				h.decide(id, decision)
				h.rest()
				h.is(res.Booking.ID, want)
				return
			}
			h.endHolds(h.ID)
			h.rest()
			h.is(res.Booking.ID, want)
			if p := h.at(id); p.State == sandbox.RequiresAction {
				t.Error("the session at the gateway outlives the hold")
			}
		})
	}
}

// A buyer whose payment hangs holds the same seat again and pays that.
func TestOfTwoHoldsOfOneSeatByOneBuyerOneIsPaid(t *testing.T) {
	t.Parallel()
	h := open(t)
	first, err := h.book(h.hold("a", 0), sandbox.TokenAsync)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.tryHold(h.ID, "a", 0); boxoffice.CodeOf(err) != boxoffice.CodeSeatAlreadyReserved {
		t.Fatal("while it is paid the seat is", err)
	}
	h.endHolds(h.ID)
	second := h.bought("a", sandbox.TokenOK, 0)
	h.settle(first.Booking.Payment().ID)
	h.rest()
	h.is(second.ID, boxoffice.BookingConfirmed)
	h.is(first.Booking.ID, boxoffice.BookingFailed)
	h.givenBack(first.Booking.ID, 1, first.Booking.TotalMinor)
}

func TestAPaymentWhoseJobIsLostIsSettledByTheSweep(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.gateway.HoldWebhooks()
	id := h.forgotten("a", sandbox.TokenOK, 0)
	h.exec(`delete from river_job`)
	h.exec(`update payment_checks set due_at = clock_timestamp() - interval '1 minute'`)
	h.works()
	h.until("the sweep has come", func() bool { return h.booking(id).Status == boxoffice.BookingConfirmed })
}

func TestAPaymentWithoutAnOutcomeIsAskedForLessAndLessOften(t *testing.T) {
	t.Parallel()
	h := open(t)
	res, err := h.book(h.hold("a", 0), sandbox.TokenAsyncLate)
	if err != nil {
		t.Fatal(err)
	}
	h.endHolds(h.ID) // else it is asked for at the hold's end, too
	for _, seconds := range []int{15, 30, 60, 120, 300, 600, 1800, 3600, 3600} {
		want := time.Duration(seconds) * time.Second
		h.exec(`update payment_checks set due_at = clock_timestamp()`)
		ids, err := h.store.ClaimPayments(h.ctx, h.ID, 10)
		if err != nil || len(ids) != 1 {
			t.Fatal(ids, err)
		}
		next := read[time.Duration](h, `select due_at - clock_timestamp() from payment_checks`)
		if next > want || next < want-5*time.Second {
			t.Errorf("asked for again after %s, not %s", next, want)
		}
		if n := read[int](h, `select count(*)::int from river_job j join payment_checks c on j.scheduled_at >= c.due_at and j.scheduled_at < c.due_at + interval '1 second' where kind = 'payments_settle'`); n == 0 {
			t.Error("no job will ask then")
		}
		if ids, err := h.store.ClaimPayments(h.ctx, h.ID, 10); err != nil || len(ids) != 0 {
			t.Error("it is claimed twice", ids, err)
		}
	}
	h.settle(res.Booking.Payment().ID)
}

func TestAPaymentIsAskedForWhenItsHoldEnds(t *testing.T) {
	t.Parallel()
	h := open(t)
	if _, err := h.book(h.hold("a", 0), sandbox.TokenRedirect); err != nil {
		t.Fatal(err)
	}
	h.exec(`update payment_checks set due_at = clock_timestamp(), asked = 8`)
	if _, err := h.store.ClaimPayments(h.ctx, h.ID, 10); err != nil {
		t.Fatal(err)
	}
	if !read[bool](h, `select c.due_at = r.expires_at from payment_checks c, reservations r`) {
		t.Error("its session at the gateway is left to itself")
	}
	h.endHolds(h.ID)
}
