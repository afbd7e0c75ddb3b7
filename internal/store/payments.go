package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

var (
	sqlPaymentsRead              = queries.Must("payments_read")
	sqlPaymentsPlace             = queries.Must("payments_place")
	sqlPaymentsByRef             = queries.Must("payments_by_ref")
	sqlPaymentsPending           = queries.Must("payments_pending")
	sqlPaymentChecksClaim        = queries.Must("payment_checks_claim")
	sqlPaymentChecksOverdueShows = queries.Must("payment_checks_overdue_shows")
	sqlRefundsRead               = queries.Must("refunds_read")
	sqlRefundsPlace              = queries.Must("refunds_place")
	sqlRefundsForsaken           = queries.Must("refunds_forsaken")
	sqlRefundsWatch              = queries.Must("refunds_watch")
	sqlPaymentEventsStore        = queries.Must("payment_events_store")
	sqlPaymentEventsRead         = queries.Must("payment_events_read")
	sqlPaymentEventsDone         = queries.Must("payment_events_done")
	sqlPaymentEventsWatch        = queries.Must("payment_events_watch")
	sqlPaymentEventsPurge        = queries.Must("payment_events_purge")
)

// PaymentPlace is where a payment is, and what has to be known to ask its
// gateway.
type PaymentPlace struct {
	ShowID        uuid.UUID
	BookingID     uuid.UUID
	PaymentID     uuid.UUID
	ReservationID uuid.UUID
	Gateway       string
	Ref           string // the gateway's id of it; "": not known
	Status        boxoffice.PaymentStatus
	Waits         bool // for the buyer to do something
	Booking       boxoffice.BookingStatus
	HoldOver      bool // its hold has reached its end
	HoldEnds      time.Time
	AmountMinor   int64
	Currency      string
	Reference     string
	CustomerID    string
}

// PaymentPlace finds a payment; one that there is not is NOT_FOUND.
func (s *Store) PaymentPlace(ctx context.Context, id uuid.UUID) (p PaymentPlace, err error) {
	var ref *string
	err = s.pool.QueryRow(ctx, sqlPaymentsPlace, id).Scan(&p.ShowID, &p.BookingID, &p.PaymentID, &p.ReservationID, &p.Gateway, &ref,
		&p.Status, &p.Waits, &p.Booking, &p.HoldOver, &p.AmountMinor, &p.Currency, &p.Reference, &p.CustomerID, &p.HoldEnds)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such payment.")
	}
	p.Ref = orZero(ref)
	return p, coded(err)
}

// PaymentByRef finds the payment that a gateway means by its own id.
func (s *Store) PaymentByRef(ctx context.Context, gateway, ref string) (id uuid.UUID, err error) {
	err = s.pool.QueryRow(ctx, sqlPaymentsByRef, gateway, ref).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return id, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such payment.")
	}
	return id, coded(err)
}

// Settlement is what a gateway says of a payment.
type Settlement struct {
	Status      boxoffice.PaymentStatus
	Ref         string
	DeclineCode string
	Next        string // JSON
	AmountMinor int64  // 0: it did not say
}

// Settled is what came of it.
type Settled struct {
	Booking boxoffice.BookingStatus
	Payment boxoffice.PaymentStatus
	Late    boxoffice.Late // "": it was not late
	Version int64
}

// SettlePayment tells what a gateway says of a payment; see
// [boxoffice.SettlePayment]. The actor's name is for the log.
func (s *Store) SettlePayment(ctx context.Context, actor string, p PaymentPlace, say Settlement) (Settled, error) {
	out, err := s.do(ctx, p.ShowID, &laneCommand{Command: boxoffice.Command{
		Actor: boxoffice.Actor{Name: actor},
		Do: &boxoffice.SettlePayment{
			ReservationID: p.ReservationID, BookingID: p.BookingID, PaymentID: p.PaymentID,
			Status: say.Status, Ref: say.Ref, DeclineCode: say.DeclineCode, Next: say.Next, AmountMinor: say.AmountMinor,
		},
	}})
	if err != nil {
		return Settled{}, err
	}
	r := out.Receipt
	return Settled{boxoffice.BookingStatus(r.Booking), boxoffice.PaymentStatus(r.Payment), r.Late, r.Version}, nil
}

// checkBackOff is how long a payment without an outcome is left alone after
// each time its gateway was asked; the last one is for all further times.
var checkBackOff = []float64{15, 30, 60, 120, 300, 600, 1800, 3600}

// ClaimPayments returns payments of a show whose gateway should be asked now,
// and puts the next asking of each on the queue: whoever claimed them may die.
func (s *Store) ClaimPayments(ctx context.Context, show uuid.UUID, limit int) (ids []uuid.UUID, err error) {
	err = s.tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		ids = nil
		rows, err := tx.Query(ctx, sqlPaymentChecksClaim, show, limit, checkBackOff)
		if err != nil {
			return err
		}
		var tasks []Task
		var id uuid.UUID
		var due time.Time
		if _, err := pgx.ForEachRow(rows, []any{&id, &due}, func() error {
			ids = append(ids, id)
			// One for all that are due within a second.
			if whole := due.Truncate(time.Second); whole.Before(due) {
				due = whole.Add(time.Second)
			}
			if !slices.ContainsFunc(tasks, func(t Task) bool { return t.At.Equal(due) }) {
				tasks = append(tasks, Task{show, boxoffice.Task{Kind: boxoffice.TaskSettle, At: due}})
			}
			return nil
		}); err != nil {
			return err
		}
		return s.schedule(ctx, tx, tasks)
	})
	return ids, err
}

// UnsettledShows lists shows with payments that should have been asked for the
// given time ago, the longest waiting first.
func (s *Store) UnsettledShows(ctx context.Context, ago time.Duration, limit int) ([]uuid.UUID, error) {
	return readIDs(ctx, s.pool, sqlPaymentChecksOverdueShows, ago.Seconds(), limit)
}

// RefundPlace is where a refund is, and what its gateway has to be told.
type RefundPlace struct {
	ShowID        uuid.UUID
	BookingID     uuid.UUID
	RefundID      uuid.UUID
	ReservationID uuid.UUID
	PaymentID     uuid.UUID
	Gateway       string
	PaymentRef    string // the gateway's id of the payment; "": not known
	Status        boxoffice.RefundStatus
	AmountMinor   int64
	Currency      string
	Reason        boxoffice.Reason
	Attempt       int
	Age           time.Duration // since it was decided, database clock
}

// RefundPlace finds a refund; one that there is not is NOT_FOUND.
func (s *Store) RefundPlace(ctx context.Context, id uuid.UUID) (f RefundPlace, err error) {
	var ref *string
	var created, now time.Time
	err = s.pool.QueryRow(ctx, sqlRefundsPlace, id).Scan(&f.ShowID, &f.BookingID, &f.RefundID, &f.ReservationID, &f.PaymentID, &f.Gateway,
		&ref, &f.Status, &f.AmountMinor, &f.Currency, &f.Reason, &f.Attempt, &created, &now)
	if errors.Is(err, pgx.ErrNoRows) {
		return f, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such refund.")
	}
	f.PaymentRef, f.Age = orZero(ref), now.Sub(created)
	return f, coded(err)
}

// SettleRefund tells what a gateway says of a refund; see
// [boxoffice.SettleRefund].
func (s *Store) SettleRefund(ctx context.Context, actor string, f RefundPlace, status boxoffice.RefundStatus, ref, failure string) error {
	_, err := s.do(ctx, f.ShowID, &laneCommand{Command: boxoffice.Command{
		Actor: boxoffice.Actor{Name: actor},
		Do: &boxoffice.SettleRefund{
			ReservationID: f.ReservationID, BookingID: f.BookingID, RefundID: f.RefundID, Status: status, Ref: ref, Failure: failure,
		},
	}})
	return err
}

// SendForsaken puts refunds on the queue again that were decided the given time
// ago and have neither an outcome nor a job: theirs was discarded, and purged.
// It returns how many.
func (s *Store) SendForsaken(ctx context.Context, ago time.Duration, limit int) (n int, err error) {
	err = s.tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sqlRefundsForsaken, ago.Seconds(), limit)
		if err != nil {
			return err
		}
		var tasks []Task
		var show, booking, refund uuid.UUID
		if _, err := pgx.ForEachRow(rows, []any{&show, &booking, &refund}, func() error {
			tasks = append(tasks, Task{show, boxoffice.Task{Kind: boxoffice.TaskRefund, BookingID: booking, RefundID: refund}})
			return nil
		}); err != nil {
			return err
		}
		n = len(tasks)
		return s.schedule(ctx, tx, tasks)
	})
	return n, err
}

// DeskRefund is money that was given back, or taken back, without us.
type DeskRefund struct {
	Ref         string // the gateway's id of it
	AmountMinor int64
	Status      boxoffice.RefundStatus
	Dispute     bool
}

// RecordRefund records what was begun at the gateway's desk; see
// [boxoffice.RecordRefund].
func (s *Store) RecordRefund(ctx context.Context, actor string, p PaymentPlace, d DeskRefund) error {
	_, err := s.do(ctx, p.ShowID, &laneCommand{Command: boxoffice.Command{
		Actor: boxoffice.Actor{Name: actor},
		Do: &boxoffice.RecordRefund{
			ReservationID: p.ReservationID, BookingID: p.BookingID, PaymentID: p.PaymentID,
			Ref: d.Ref, AmountMinor: d.AmountMinor, Status: d.Status, Dispute: d.Dispute,
		},
	}})
	return err
}

// GiveBackRequest gives money back for tickets that stay.
type GiveBackRequest struct {
	TicketIDs   []uuid.UUID // nil: all
	AmountMinor int64       // 0: all that is left of their price
}

// GiveBack gives money back for tickets that stay valid; see
// [boxoffice.GiveBack].
func (s *Store) GiveBack(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, booking uuid.UUID, req GiveBackRequest) (refund uuid.UUID, version int64, replayed bool, err error) {
	cause := "given:" + NewID().String()
	if key != nil {
		cause = "given:" + key.Key.String()
	}
	return s.refundCommand(ctx, actor, key, booking, &boxoffice.GiveBack{
		BookingID: booking, TicketIDs: req.TicketIDs, AmountMinor: req.AmountMinor, Cause: cause,
	})
}

// RetryRefund sends a refund once more that its gateway had refused, or with
// paidBy notes that people made it; see [boxoffice.RetryRefund].
func (s *Store) RetryRefund(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, refund uuid.UUID, paidBy string) (id uuid.UUID, version int64, replayed bool, err error) {
	f, err := s.RefundPlace(ctx, refund)
	if err != nil {
		return id, 0, false, err
	}
	return s.refundCommand(ctx, actor, key, f.BookingID, &boxoffice.RetryRefund{BookingID: f.BookingID, RefundID: refund, PaidBy: paidBy})
}

func (s *Store) refundCommand(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, booking uuid.UUID, do boxoffice.Doer) (id uuid.UUID, version int64, replayed bool, err error) {
	place, err := s.placeOfBooking(ctx, booking)
	if err != nil {
		return id, 0, false, err
	}
	out, err := s.do(ctx, place.show, &laneCommand{Command: boxoffice.Command{Key: key, Actor: actor, Do: do}})
	if err != nil {
		return id, 0, false, err
	}
	return out.Receipt.ID, out.Receipt.Version, out.Replayed, nil
}

// StorePaymentEvent keeps what a gateway tells, once, and puts a job on the queue
// that sees to it, should whoever stores it not live to. done says that its
// effect is in the database already.
func (s *Store) StorePaymentEvent(ctx context.Context, gateway, id string, event []byte) (done bool, err error) {
	err = s.tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		var fresh bool
		if err := tx.QueryRow(ctx, sqlPaymentEventsStore, gateway, id, event).Scan(&done, &fresh); err != nil || !fresh {
			return err
		}
		return s.schedule(ctx, tx, []Task{{Task: boxoffice.Task{Kind: boxoffice.TaskEvent, Gateway: gateway, Event: id}}})
	})
	return done, err
}

// ReadPaymentEvent returns what [Store.StorePaymentEvent] kept.
func (s *Store) ReadPaymentEvent(ctx context.Context, gateway, id string) (event []byte, done bool, err error) {
	err = s.pool.QueryRow(ctx, sqlPaymentEventsRead, gateway, id).Scan(&event, &done)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, false, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such event.")
	}
	return event, done, coded(err)
}

// PaymentEventDone notes that an event's effect is in the database.
func (s *Store) PaymentEventDone(ctx context.Context, gateway, id, outcome string) error {
	_, err := s.pool.Exec(ctx, sqlPaymentEventsDone, gateway, id, outcome)
	return coded(err)
}

// PurgePaymentEvents forgets gateways' events that were done with 90 days ago, at
// most limit.
func (s *Store) PurgePaymentEvents(ctx context.Context, limit int) (int64, error) {
	tag, err := s.pool.Exec(ctx, sqlPaymentEventsPurge, limit)
	return tag.RowsAffected(), coded(err)
}

// MoneyWatch is what should be near nothing: money whose way is not known yet.
type MoneyWatch struct {
	Payments      int           // without an outcome
	OldestPayment time.Duration // its age
	Refunds       int
	OldestRefund  time.Duration
	Refused       int // refunds that the gateway refuses
	Events        int // whose effect is not in the database
	OldestEvent   time.Duration
}

// WatchMoney counts money whose way is not known yet.
func (s *Store) WatchMoney(ctx context.Context) (w MoneyWatch, err error) {
	var payment, refund, event float64
	b := &pgx.Batch{}
	b.Queue(sqlPaymentsPending).QueryRow(func(row pgx.Row) error { return row.Scan(&w.Payments, &payment) })
	b.Queue(sqlRefundsWatch).QueryRow(func(row pgx.Row) error { return row.Scan(&w.Refunds, &refund, &w.Refused) })
	b.Queue(sqlPaymentEventsWatch).QueryRow(func(row pgx.Row) error { return row.Scan(&w.Events, &event) })
	err = s.pool.SendBatch(ctx, b).Close()
	seconds := func(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }
	w.OldestPayment, w.OldestRefund, w.OldestEvent = seconds(payment), seconds(refund), seconds(event)
	return w, coded(err)
}
