package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/checkout"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/internal/telemetry"
)

const (
	// paymentsGrace is how long a payment's own job may be late before the
	// sweep does its work.
	paymentsGrace    = 30 * time.Second
	paymentsShowsMax = 100

	// refundsForsaken is after how long a refund without a job has a new one.
	// Its first one is tried for three weeks.
	refundsForsaken = time.Hour

	// sliceMax is how long one turn of a long work may take: then the job puts
	// itself back, since River gives jobs of a minute to somebody else.
	sliceMax = 5 * time.Second

	// soon is when tasks are due that could be worked at once. That they are
	// scheduled keeps River from sending a NOTIFY inside the lane's transaction.
	soon = time.Second

	remindEvery  = 5 * time.Minute
	remindBefore = 24 * time.Hour
	remindShows  = 20 // in one transaction
)

// jobOf is the job that a task becomes.
func jobOf(t store.Task) river.InsertManyParams {
	at := t.At
	if at.IsZero() {
		at = time.Now().Add(soon)
	}
	payments := func(args river.JobArgs, attempts int) river.InsertManyParams {
		return river.InsertManyParams{Args: args, InsertOpts: &river.InsertOpts{Queue: queuePayments, ScheduledAt: at, MaxAttempts: attempts}}
	}
	switch t.Kind {
	case boxoffice.TaskSettle:
		return payments(SettlePaymentsArgs{t.ShowID}, 5) // the sweep comes before the third
	case boxoffice.TaskRefund:
		return payments(SendRefundArgs{t.RefundID}, river.MaxAttemptsDefault)
	case boxoffice.TaskCancelShow:
		return payments(CancelShowArgs{t.ShowID}, river.MaxAttemptsDefault)
	case boxoffice.TaskEvent:
		at = time.Now().Add(eventRetries[0])
		return payments(ApplyPaymentEventArgs{t.Gateway, t.Event}, len(eventRetries))
	case boxoffice.TaskMail:
		priority := 2
		if t.Mail == boxoffice.MailOffer {
			priority = 1 // its reader has minutes, and ten thousand confirmations may be before it
		}
		return river.InsertManyParams{
			Args:       SendMailArgs{t.Mail, t.BookingID, t.RefundID, t.N, t.Tickets, t.WaitlistEntryID},
			InsertOpts: &river.InsertOpts{Queue: queueMail, ScheduledAt: at, MaxAttempts: mailAttempts, Priority: priority},
		}
	}
	panic(fmt.Sprintf("jobs: there is no job for the task %q", t.Kind))
}

// SettlePaymentsArgs ask for the payments of a show whose outcome is due.
type SettlePaymentsArgs struct {
	ShowID uuid.UUID `json:"showId"`
}

// Kind implements [river.JobArgs].
func (SettlePaymentsArgs) Kind() string { return "payments_settle" }

type settlePayments struct {
	river.WorkerDefaults[SettlePaymentsArgs]
	checkout *checkout.Checkout
	turns    *turns
}

func (w *settlePayments) Timeout(*river.Job[SettlePaymentsArgs]) time.Duration {
	return 30 * time.Second
}

func (w *settlePayments) Work(ctx context.Context, job *river.Job[SettlePaymentsArgs]) error {
	end, err := w.turns.take(ctx, job.Args.ShowID)
	if err != nil || end == nil {
		return err // or another job is about to do this one's work too
	}
	defer end()
	return w.checkout.SettleShow(ctx, job.Args.ShowID)
}

// SweepPaymentsArgs ask for payments whose own job did not.
type SweepPaymentsArgs struct{}

// Kind implements [river.JobArgs].
func (SweepPaymentsArgs) Kind() string { return "payments_sweep" }

type sweepPayments struct {
	river.WorkerDefaults[SweepPaymentsArgs]
	store    *store.Store
	checkout *checkout.Checkout
}

func (w *sweepPayments) Timeout(*river.Job[SweepPaymentsArgs]) time.Duration { return sweepTimeout }

func (w *sweepPayments) Work(ctx context.Context, _ *river.Job[SweepPaymentsArgs]) error {
	shows, err := w.store.UnsettledShows(ctx, paymentsGrace, paymentsShowsMax)
	if err != nil {
		return err
	}
	if _, err := w.store.SendForsaken(ctx, refundsForsaken, paymentsShowsMax); err != nil {
		return err
	}
	if _, err := w.store.CancelForsaken(ctx, paymentsShowsMax); err != nil {
		return err
	}
	var failed []error
	for _, show := range shows {
		if err := w.checkout.SettleShow(ctx, show); err != nil {
			failed = append(failed, fmt.Errorf("show %s: %w", show, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

// SendRefundArgs ask to give money back.
type SendRefundArgs struct {
	RefundID uuid.UUID `json:"refundId"`
}

// Kind implements [river.JobArgs].
func (SendRefundArgs) Kind() string { return "refund_send" }

// sendRefund tells a gateway until it has answered: River's own back-off comes
// to three weeks, and what is discarded then is for people.
type sendRefund struct {
	river.WorkerDefaults[SendRefundArgs]
	checkout *checkout.Checkout
}

func (w *sendRefund) Work(ctx context.Context, job *river.Job[SendRefundArgs]) error {
	return w.checkout.SendRefund(ctx, job.Args.RefundID)
}

// eventRetries is when the effect of a webhook is tried again that failed when
// it came. After the last time the job is kept, discarded, where an operator
// sees it and runs it again (River UI).
var eventRetries = []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour, 24 * time.Hour, 48 * time.Hour}

// ApplyPaymentEventArgs ask to see to it that a webhook has its effect.
type ApplyPaymentEventArgs struct {
	Gateway string `json:"gateway"`
	EventID string `json:"eventId"`
}

// Kind implements [river.JobArgs].
func (ApplyPaymentEventArgs) Kind() string { return "payment_event_apply" }

type applyPaymentEvent struct {
	river.WorkerDefaults[ApplyPaymentEventArgs]
	checkout *checkout.Checkout
}

func (w *applyPaymentEvent) NextRetry(job *river.Job[ApplyPaymentEventArgs]) time.Time {
	return time.Now().Add(eventRetries[min(job.Attempt, len(eventRetries)-1)])
}

func (w *applyPaymentEvent) Work(ctx context.Context, job *river.Job[ApplyPaymentEventArgs]) error {
	return w.checkout.ApplyEvent(ctx, job.Args.Gateway, job.Args.EventID)
}

// PurgePaymentEventsArgs ask to forget gateways' events after 90 days.
type PurgePaymentEventsArgs struct{}

// Kind implements [river.JobArgs].
func (PurgePaymentEventsArgs) Kind() string { return "payment_events_purge" }

// CancelShowArgs ask to give the buyers of a cancelled show their money back.
type CancelShowArgs struct {
	ShowID uuid.UUID `json:"showId"`
}

// Kind implements [river.JobArgs].
func (CancelShowArgs) Kind() string { return "show_cancel" }

type cancelShow struct {
	river.WorkerDefaults[CancelShowArgs]
	checkout *checkout.Checkout
}

func (w *cancelShow) Timeout(*river.Job[CancelShowArgs]) time.Duration { return 30 * time.Second }

func (w *cancelShow) Work(ctx context.Context, job *river.Job[CancelShowArgs]) error {
	until := time.Now().Add(sliceMax)
	more, err := w.checkout.CancelShow(ctx, job.Args.ShowID, func() bool { return time.Now().After(until) })
	if err == nil && more {
		return &checkout.ErrWait{}
	}
	if err != nil && boxoffice.CodeOf(err).Info().Class != boxoffice.ClassUnavailable {
		// Whatever stands in one booking's way, the job is not to be given up for it.
		return errors.New(err.Error())
	}
	return err
}

// WatchMoney measures, until ctx ends, money whose way is not known yet, in
// every process and without River: an alarm must not depend on what it
// watches.
func WatchMoney(ctx context.Context, s *store.Store, m *telemetry.Metrics) error {
	tick := time.NewTicker(lagEvery)
	defer tick.Stop()
	for {
		if w, err := s.WatchMoney(ctx); err == nil {
			m.PaymentsPending.Set(float64(w.Payments))
			m.PaymentsPendingAge.Set(w.OldestPayment.Seconds())
			m.RefundsPending.Set(float64(w.Refunds))
			m.RefundsPendingAge.Set(w.OldestRefund.Seconds())
			m.RefundsRefused.Set(float64(w.Refused))
			m.PaymentEventsWaiting.Set(float64(w.Events))
			m.PaymentEventsWaitingAge.Set(w.OldestEvent.Seconds())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
