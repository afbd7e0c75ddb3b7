package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

var (
	sqlSalesRead    = queries.Must("sales_read")
	sqlSalesMinutes = queries.Must("sales_minutes")
)

// Sales are the figures of a show that sells, all of one moment. Amounts are in
// minor units of Currency.
type Sales struct {
	Now       time.Time
	Version   int64
	Currency  string
	Holds     int // that are not over
	Held      int // places in them
	HeldMinor int64
	Confirmed int // bookings
	Pending   int // bookings that are not paid yet
	Sold      int // tickets that are not void
	SoldMinor int64
	// TakenMinor is what payments brought in, OpenMinor what those may bring
	// that have no outcome yet, and RefundedMinor what went back or is on its
	// way.
	TakenMinor, OpenMinor, RefundedMinor int64
	Refused                              int           // refunds that the gateway would not make
	Minutes                              []SalesMinute // of the last hour, those in which something was sold
}

// SalesMinute is what was sold in a minute, whatever became of it since.
type SalesMinute struct {
	At          time.Time // its beginning
	Bookings    int
	Places      int
	AmountMinor int64
}

// Sales reads the figures of a show of an organisation.
func (s *Store) Sales(ctx context.Context, organisation, show uuid.UUID) (n Sales, err error) {
	t, err := s.termsOf(ctx, show)
	if err != nil {
		return n, err
	}
	if t.OrganisationID != organisation {
		return n, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such show.")
	}
	n.Currency = t.Currency
	b := &pgx.Batch{}
	b.Queue(sqlSalesRead, show).QueryRow(func(row pgx.Row) error {
		return row.Scan(&n.Now, &n.Version, &n.Holds, &n.Held, &n.HeldMinor, &n.Confirmed, &n.Pending, &n.Sold, &n.SoldMinor,
			&n.TakenMinor, &n.OpenMinor, &n.RefundedMinor, &n.Refused)
	})
	b.Queue(sqlSalesMinutes, show).Query(func(rows pgx.Rows) (err error) {
		n.Minutes, err = pgx.CollectRows(rows, pgx.RowToStructByPos[SalesMinute])
		return err
	})
	return n, coded(s.pool.SendBatch(ctx, b).Close())
}
