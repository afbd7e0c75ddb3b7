package checkout_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/payment"
	"github.com/rowlock/rowlock/internal/sandbox"
	"github.com/rowlock/rowlock/internal/store"
)

// slow lets the gateway take its time over each charge: before it does it, for
// every other one, or after.
func slow(d time.Duration) func(*http.Request) sandbox.Fault {
	n := make(chan int, 1)
	n <- 0
	return func(r *http.Request) sandbox.Fault {
		if r.Method != http.MethodPost || r.URL.Path != "/v1/payments" {
			return sandbox.Fault{}
		}
		i := <-n
		n <- i + 1
		if i%2 == 0 {
			return sandbox.Fault{Before: d} // the webhook comes together with the answer
		}
		return sandbox.Fault{After: d} // the webhook is first
	}
}

func TestAnswersAndWebhooksInParallelConfirmOnce(t *testing.T) {
	t.Parallel()
	const rounds = 100
	h := open(t, seats(rounds), func(s *setup) { s.mails = true })
	h.works()
	h.other = h.instance() // answers come to one process, webhooks to another
	h.gateway.Inject(slow(2 * time.Second))
	ids := make([]uuid.UUID, rounds)
	errs := all(rounds, func(i int) error {
		r, err := h.tryHold(h.ID, fmt.Sprint("buyer", i), i)
		if err != nil {
			return err
		}
		token := sandbox.TokenOK
		if i%5 == 0 {
			token = sandbox.TokenStorm // five copies of each webhook, out of order
		}
		res, err := h.book(r, token)
		if err != nil {
			return err
		}
		ids[i] = res.Booking.ID
		if res.Booking.Status != boxoffice.BookingConfirmed || res.Pending {
			return fmt.Errorf("the buyer was told %s", res.Booking.Status)
		}
		return nil
	})
	if err := first(errs); err != nil {
		t.Fatal(err)
	}
	if err := h.gateway.AwaitDelivery(h.ctx); err != nil {
		t.Fatal(err)
	}
	h.rest()
	for _, status := range h.heard {
		if status != http.StatusOK {
			t.Errorf("a webhook was answered %d", status)
		}
	}
	for _, id := range ids {
		if v := h.is(id, boxoffice.BookingConfirmed); len(v.Tickets) != 1 || len(v.Payments) != 1 || len(v.Refunds) != 0 {
			t.Errorf("%d tickets, %d payments, %d refunds", len(v.Tickets), len(v.Payments), len(v.Refunds))
		}
	}
	if n := len(h.sent("confirmation")); n != rounds {
		t.Errorf("%d mails in the folder", n)
	}
	if n := read[int](h, `select count(*)::int from river_job where kind = 'mail_send' and args->>'mail' = 'confirmation'`); n != rounds {
		t.Errorf("%d mails on the queue", n)
	}
	if n := read[int](h, `select count(*)::int from changes where type = 'booking.confirmed'`); n != rounds {
		t.Errorf("%d confirmations in the log", n)
	}
}

func TestCopiesOfAWebhookHaveOneEffect(t *testing.T) {
	t.Parallel()
	for name, parallel := range map[string]bool{"in parallel": true, "one after the other": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			h.gateway.HoldWebhooks()
			res, err := h.book(h.hold("a", 0, 1), sandbox.TokenAsync)
			if err != nil || !res.Pending {
				t.Fatal(err, res)
			}
			h.settle(res.Booking.Payment().ID)
			e := h.event("payment.succeeded", res.Booking.Payment().ID)
			send := func(int) error {
				if status := h.deliver(e); status != http.StatusOK {
					return fmt.Errorf("status %d", status)
				}
				return nil
			}
			if parallel {
				if err := first(all(5, send)); err != nil {
					t.Fatal(err)
				}
			} else {
				for i := range 5 {
					if err := send(i); err != nil {
						t.Fatal(err)
					}
				}
			}
			if v := h.is(res.Booking.ID, boxoffice.BookingConfirmed); len(v.Tickets) != 2 {
				t.Error(len(v.Tickets), "tickets")
			}
			h.rest()
			if n := read[int](h, `select count(*)::int from river_job where kind = 'mail_send'`); n != 1 {
				t.Error(n, "mails")
			}
			if n := read[int](h, `select count(*)::int from payment_events where event_id = $1 and outcome = 'applied'`, e.ID); n != 1 {
				t.Error(n, "events kept")
			}
		})
	}
}

func TestTwoKindsOfWebhookForOnePaymentInAnyOrder(t *testing.T) {
	t.Parallel()
	for _, order := range [][]string{{"payment.pending", "payment.succeeded"}, {"payment.succeeded", "payment.pending"}} {
		t.Run(strings.Join(order, " then "), func(t *testing.T) {
			t.Parallel()
			h := open(t)
			h.gateway.HoldWebhooks()
			res, err := h.book(h.hold("a", 0), sandbox.TokenAsync)
			if err != nil {
				t.Fatal(err)
			}
			id := res.Booking.Payment().ID
			h.settle(id)
			for _, e := range order {
				if status := h.deliver(h.event(e, id)); status != http.StatusOK {
					t.Fatal(e, status)
				}
			}
			h.is(res.Booking.ID, boxoffice.BookingConfirmed)
		})
	}
}

func TestAWebhookBeforeTheAnswerConfirmsAndTheAnswerSaysSo(t *testing.T) {
	t.Parallel()
	h := open(t, func(s *setup) {
		s.charges = func(g payment.Gateway) payment.Gateway { return &heldBack{Gateway: g, release: make(chan struct{})} }
	})
	r := h.hold("a", 0)
	done := make(chan error, 1)
	go func() {
		res, err := h.book(r, sandbox.TokenOK)
		if err == nil && (res.Booking.Status != boxoffice.BookingConfirmed || len(res.Booking.Tickets) != 1) {
			err = fmt.Errorf("the buyer was told %s", res.Booking.Status)
		}
		done <- err
	}()
	h.until("the webhook has confirmed the booking", func() bool {
		return read[bool](h, `select exists (select from bookings where status = 'confirmed')`)
	})
	select {
	case err := <-done:
		t.Fatal("the answer was first:", err)
	default:
	}
	close(h.pays.(*heldBack).release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// heldBack is a gateway whose answers come when the test lets them.
type heldBack struct {
	payment.Gateway
	release chan struct{}
}

func (g *heldBack) Charge(ctx context.Context, c payment.Charge) (payment.Answer, error) {
	a, err := g.Gateway.Charge(ctx, c)
	select {
	case <-g.release:
	case <-ctx.Done():
	}
	return a, err
}

func TestASecondAfterTheEndWithThePlacesFreeItIsBooked(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.gateway.HoldWebhooks()
	res, err := h.book(h.hold("a", 0, 1), sandbox.TokenAsync)
	if err != nil {
		t.Fatal(err)
	}
	h.endHolds(h.ID)
	h.settle(res.Booking.Payment().ID)
	if status := h.deliver(h.event("payment.succeeded", res.Booking.Payment().ID)); status != http.StatusOK {
		t.Fatal(status)
	}
	if v := h.is(res.Booking.ID, boxoffice.BookingConfirmed); len(v.Tickets) != 2 || len(v.Refunds) != 0 {
		t.Error(len(v.Tickets), "tickets", len(v.Refunds), "refunds")
	}
	if n := figure(h.metrics.LatePayments.WithLabelValues("booked")); n != 1 {
		t.Error(n, "late payments were booked, says the metric")
	}
}

func TestASecondAfterTheEndAndClosedWithThePlacesFreeItIsBooked(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.gateway.HoldWebhooks()
	res, err := h.book(h.hold("a", 0, 1), sandbox.TokenAsync)
	if err != nil {
		t.Fatal(err)
	}
	h.endHolds(h.ID)
	if _, err := h.store.ExpireReservations(h.ctx, h.ID, boxoffice.ReasonExpired); err != nil {
		t.Fatal(err)
	}
	h.is(res.Booking.ID, boxoffice.BookingPending) // it waits for the money
	h.settle(res.Booking.Payment().ID)
	if status := h.deliver(h.event("payment.succeeded", res.Booking.Payment().ID)); status != http.StatusOK {
		t.Fatal(status)
	}
	h.is(res.Booking.ID, boxoffice.BookingConfirmed)
}

func TestASecondAfterTheEndWithThePlacesGoneItGoesBackOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.gateway.HoldWebhooks()
	res, err := h.book(h.hold("a", 0, 1), sandbox.TokenAsync)
	if err != nil {
		t.Fatal(err)
	}
	id := res.Booking.Payment().ID
	h.endHolds(h.ID)
	if b := h.bought("b", sandbox.TokenOK, 1); len(b.Tickets) != 1 {
		t.Fatal(len(b.Tickets))
	}
	h.settle(id)
	if err := first(all(5, func(int) error {
		if status := h.deliver(h.event("payment.succeeded", id)); status != http.StatusOK {
			return fmt.Errorf("status %d", status)
		}
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	h.rest()
	v := h.is(res.Booking.ID, boxoffice.BookingFailed)
	if len(v.Refunds) != 1 || v.Refunds[0].Status != boxoffice.RefundSucceeded || v.Refunds[0].AmountMinor != v.TotalMinor {
		t.Fatalf("%+v", v.Refunds)
	}
	if p := h.at(id); p.Refunded != v.TotalMinor {
		t.Error("the gateway gave back", p.Refunded)
	}
	if n := figure(h.metrics.LatePayments.WithLabelValues("refunded")); n != 1 {
		t.Error(n, "late payments were refunded, says the metric")
	}
	if n := read[int](h, `select count(*)::int from changes where reason = 'late_payment' and type = 'booking.failed'`); n != 1 {
		t.Error("the log tells of it", n, "times")
	}
}

func TestABuyerWhosePlacesAreGoneWhenTheAnswerComesIsToldOfTheRefund(t *testing.T) {
	t.Parallel()
	h := open(t, func(s *setup) {
		s.charges = func(g payment.Gateway) payment.Gateway { return &heldBack{Gateway: g, release: make(chan struct{})} }
	})
	h.gateway.HoldWebhooks()
	r := h.hold("a", 0)
	done := make(chan error, 1)
	go func() {
		_, err := h.book(r, sandbox.TokenOK)
		done <- err
	}()
	h.until("the charge is made", func() bool { return len(h.charges()) == 1 })
	h.endHolds(h.ID)
	h.hold("b", 0)
	close(h.pays.(*heldBack).release)
	refusal := refused(t, <-done, boxoffice.CodeReservationExpired)
	if f := refusal.Facts; f.BookingID == nil || f.ExpiredAt == nil || f.Refund == nil || f.Refund.AmountMinor != fixture.FrontPrice {
		t.Fatalf("%+v", f)
	}
	h.is(*refusal.Facts.BookingID, boxoffice.BookingFailed)
}

func TestAWebhookOfAnUnknownPaymentIsTakenAndIgnored(t *testing.T) {
	t.Parallel()
	h := open(t)
	stranger := uuid.New()
	// Another merchant's payment, at the same gateway.
	if _, err := h.pays.Charge(h.ctx, payment.Charge{PaymentID: stranger, Method: "card", Token: sandbox.TokenDeclined, AmountMinor: 1, Currency: "EUR"}); err != nil {
		t.Fatal(err)
	}
	if err := h.gateway.AwaitDelivery(h.ctx); err != nil {
		t.Fatal(err)
	}
	if got := read[string](h, `select outcome from payment_events where done_at is not null`); got != "ignored" {
		t.Error(got)
	}
	if status := h.deliver(h.event("payment.failed", stranger)); status != http.StatusOK {
		t.Error("again:", status)
	}
}

func TestAWebhookWithABadSignatureLeavesNothing(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.gateway.HoldWebhooks()
	res, err := h.book(h.hold("a", 0), sandbox.TokenAsync)
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"id": "evt_forged", "type": "payment.succeeded", "data": {"id": "pay_x", "merchant_id": %q, "state": "succeeded", "amount": %d, "currency": "EUR"}}`,
		res.Booking.Payment().ID, res.Booking.TotalMinor)
	for name, signature := range map[string]string{
		"none": "", "nonsense": "nonsense",
		"of another secret": fmt.Sprintf("t=%d,v1=%064x", time.Now().Unix(), 7),
	} {
		header := http.Header{sandbox.SignatureHeader: {signature}}
		refused(t, h.out.Webhook(h.ctx, "sandbox", header, []byte(body)), boxoffice.CodeUnauthenticated)
		if n := read[int](h, `select count(*)::int from payment_events`); n != 0 {
			t.Errorf("%s: %d events kept", name, n)
		}
	}
	h.is(res.Booking.ID, boxoffice.BookingPending)
	refused(t, h.out.Webhook(h.ctx, "nobody", http.Header{}, []byte(body)), boxoffice.CodeNotFound)
}

func TestAWebhookThatCannotBeKeptIsSentAgain(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.exec(`alter table payment_events rename to away`)
	res, err := h.book(h.hold("a", 0), sandbox.TokenAsync)
	if err != nil {
		t.Fatal(err)
	}
	h.settle(res.Booking.Payment().ID)
	refusals := func() (n int) {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, status := range h.heard {
			if status == http.StatusInternalServerError {
				n++
			}
		}
		return n
	}
	h.until("the gateway has been refused", func() bool { return refusals() > 0 })
	h.is(res.Booking.ID, boxoffice.BookingPending)
	h.exec(`alter table away rename to payment_events`)
	h.until("it has come again", func() bool { return h.booking(res.Booking.ID).Status == boxoffice.BookingConfirmed })
}

// stubborn lets the database refuse every change of a payment.
func (h *house) stubborn() (end func()) {
	h.t.Helper()
	h.exec(`create function refuse_all() returns trigger language plpgsql as $$ begin raise exception 'the disk is full of cats'; end $$`)
	h.exec(`create trigger refuse_all before update on payments for each row execute function refuse_all()`)
	return func() { h.exec(`drop trigger refuse_all on payments`) }
}

// failing lets the effect of a webhook fail in the given way after it was kept,
// and returns the booking, the event and how the fault ends.
func (h *house) failing(fault func(*house) (end func())) (id uuid.UUID, e sandbox.Event, end func()) {
	h.t.Helper()
	h.gateway.HoldWebhooks()
	res, err := h.book(h.hold("a", 0), sandbox.TokenAsync)
	if err != nil {
		h.t.Fatal(err)
	}
	h.settle(res.Booking.Payment().ID)
	e = h.event("payment.succeeded", res.Booking.Payment().ID)
	end = fault(h)
	if status := h.deliver(e); status != http.StatusOK {
		h.t.Fatal("it is kept, and the gateway is told", status)
	}
	h.is(res.Booking.ID, boxoffice.BookingPending)
	if !read[bool](h, `select done_at is null from payment_events where event_id = $1`, e.ID) {
		h.t.Fatal("it had its effect, or says so")
	}
	return res.Booking.ID, e, end
}

var faults = map[string]func(*house) (end func()){
	"the show is locked elsewhere": func(h *house) func() { return h.lock(h.ID) },
	"the database refuses":         (*house).stubborn,
}

func TestAnEffectThatFailedIsHadByTheRedelivery(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"the show is locked elsewhere", "the database refuses"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, impatient)
			id, e, end := h.failing(faults[name])
			end()
			if status := h.deliver(e); status != http.StatusOK {
				t.Fatal(status)
			}
			h.is(id, boxoffice.BookingConfirmed)
			if got := read[string](h, `select outcome from payment_events where event_id = $1`, e.ID); got != "applied" {
				t.Error(got)
			}
		})
	}
}

// impatient lanes wait for a show no longer than they must.
func impatient(s *setup) {
	s.store = func(c *store.Config) { c.Lanes.Timeout = 100 * time.Millisecond }
}

func TestAnEffectThatFailedIsHadByItsJob(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"the show is locked elsewhere", "the database refuses"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, impatient)
			id, e, end := h.failing(faults[name])
			end()
			// Nothing but the event's own job.
			h.exec(`delete from river_job where kind = 'payments_settle'`)
			h.exec(`update payment_checks set due_at = clock_timestamp() + interval '1 day'`)
			h.works()
			h.exec(`update river_job set state = 'available', scheduled_at = clock_timestamp() where kind = 'payment_event_apply'`)
			h.until("the job has had the effect", func() bool { return h.booking(id).Status == boxoffice.BookingConfirmed })
			h.until("the event is done", func() bool {
				return read[bool](h, `select done_at is not null from payment_events where event_id = $1`, e.ID)
			})
		})
	}
}

func TestAnEffectThatGoesOnFailingIsTriedForDaysAndKeptForPeople(t *testing.T) {
	t.Parallel()
	h := open(t)
	id, e, end := h.failing((*house).stubborn)
	h.exec(`delete from river_job where kind = 'payments_settle'`)
	h.exec(`update payment_checks set due_at = clock_timestamp() + interval '1 day'`)
	job := func(field string) string {
		return read[string](h, `select (to_jsonb(j)->>$1)::text from river_job j where kind = 'payment_event_apply' and args->>'eventId' = $2`, field, e.ID)
	}
	// waits is how long from the last attempt, or the beginning, to the next.
	waits := func() time.Duration {
		return read[time.Duration](h, `select scheduled_at - coalesce(attempted_at, created_at) from river_job where kind = 'payment_event_apply' and args->>'eventId' = $1`, e.ID)
	}
	about := func(got, want time.Duration) {
		t.Helper()
		if got < want*9/10 || got > want*11/10 {
			t.Errorf("the next attempt is after %s, not about %s", got, want)
		}
	}
	about(waits(), time.Minute)
	h.works()
	for attempt, next := range []time.Duration{5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour, 24 * time.Hour, 48 * time.Hour, 0} {
		h.exec(`update river_job set state = 'available', scheduled_at = clock_timestamp() where kind = 'payment_event_apply'`)
		h.until(fmt.Sprint("attempt ", attempt+1, " has failed"), func() bool {
			state := job("state")
			return job("attempt") == fmt.Sprint(attempt+1) && (state == "retryable" || state == "discarded")
		})
		if next > 0 {
			about(waits(), next)
		}
	}
	if state := job("state"); state != "discarded" {
		t.Fatal("after the last attempt the job is", state)
	}
	h.is(id, boxoffice.BookingPending)
	if m, err := h.store.WatchMoney(h.ctx); err != nil || m.Events != 1 || m.Payments != 1 {
		t.Errorf("those on watch see %+v, %v", m, err)
	}

	// Somebody has tidied up, and runs it again, as River UI does.
	end()
	client, err := river.NewClient(riverpgxv5.New(h.super), &river.Config{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := h.super.Query(h.ctx, `select id from river_job where kind = 'payment_event_apply' and state = 'discarded'`)
	if err != nil {
		t.Fatal(err)
	}
	discarded, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.JobRetry(h.ctx, discarded); err != nil {
		t.Fatal(err)
	}
	h.until("it has had its effect", func() bool { return h.booking(id).Status == boxoffice.BookingConfirmed })
}
