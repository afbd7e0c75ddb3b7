package strategies

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

var (
	//go:embed sql/head.sql
	sqlHead string
	//go:embed sql/take.sql
	sqlTake string
	//go:embed sql/take_free.sql
	sqlTakeFree string
	//go:embed sql/reserve.sql
	sqlReserve string
	//go:embed sql/change.sql
	sqlChange string
	//go:embed sql/book.sql
	sqlBook string
	//go:embed sql/ticket.sql
	sqlTicket string
	//go:embed sql/log.sql
	sqlLog string
	//go:embed sql/remember.sql
	sqlRemember string
)

// notFree is the code with which sqlTakeFree ends a transaction: a seat was
// taken elsewhere and is not free here.
const notFree = "22012"

// save has what was decided written with COMMIT.
func (a *attempt) save(ctx context.Context, did *boxoffice.Changes, receipt *boxoffice.Receipt) error {
	if len(did.Areas)+len(did.People)+len(did.Payments)+len(did.Refunds)+len(did.Scans)+len(did.Blocks)+len(did.Amended) > 0 {
		return errors.New("strategies: only seats, and bookings that cost nothing, are sold here")
	}
	if did.Dirty && !a.way.numbered {
		if !a.way.pipelined {
			a.drawVersion()
			if err := a.tx.send(ctx); err != nil {
				return err
			}
		}
		receipt.Version = a.version
		for i := range did.Log {
			did.Log[i].Version = receipt.Version
		}
		for _, k := range did.Bookings {
			k.ConfirmedVersion = receipt.Version // no booking comes here but to be confirmed
		}
	}
	ends := make([]store.Ending, len(did.Ends))
	for i, at := range did.Ends {
		ends[i] = store.Ending{ShowID: a.show, At: at}
	}
	tasks := make([]store.Task, len(did.Tasks))
	for i, task := range did.Tasks {
		tasks[i] = store.Task{ShowID: a.show, Task: task}
	}
	if err := a.jobs.Schedule(ctx, a.tx.conn, a.tx.next, ends, tasks); err != nil {
		return err
	}
	if err := a.tx.step(ctx); err != nil {
		return err
	}
	b := a.tx.next
	if did.Dirty && a.way.numbered {
		b.Queue(sqlHead, a.show, did.Version, a.state.Now)
	}
	a.saveSeats(b, did)
	a.saveReservations(b, did)
	a.saveBookings(b, did)
	a.saveLog(b, did.Log)
	return a.saveReceipts(b, did.Kept)
}

// saveSeats writes seats, those together that become the same.
func (a *attempt) saveSeats(b *pgx.Batch, did *boxoffice.Changes) {
	if len(did.Handed) > 0 { // not straight from one owner to the next
		b.Queue(sqlTake, a.show, did.Handed, "a", nil, nil, 0)
	}
	sql := sqlTake
	if a.way.seats == "" && len(did.Placed) > 0 {
		sql = sqlTakeFree
	}
	for left := did.Seats; len(left) > 0; {
		first := left[0]
		n := slices.IndexFunc(left, func(s *boxoffice.SeatRow) bool {
			return s.State != first.State || s.ReservationID != first.ReservationID || !s.HeldUntil.Equal(first.HeldUntil) || s.Holder != first.Holder
		})
		if n < 0 {
			n = len(left)
		}
		nos := make([]int32, n)
		for i, s := range left[:n] {
			nos[i] = s.No
		}
		b.Queue(sql, a.show, nos, string(first.State), nullable(first.ReservationID), instant(first.HeldUntil), first.Holder)
		left = left[n:]
	}
}

func (a *attempt) saveReservations(b *pgx.Batch, did *boxoffice.Changes) {
	for _, r := range did.Updated {
		b.Queue(sqlChange, a.show, r.ID, string(r.Status), r.ExpiresAt, instant(r.ClosedAt), textOrNil(string(r.CloseReason)),
			nullable(r.BookingID), instant(r.OwnEnd))
	}
	for _, r := range did.Placed {
		nos, types, prices := make([]int32, len(r.Seats)), make([]string, len(r.Seats)), make([]int64, len(r.Seats))
		for i, s := range r.Seats {
			nos[i], types[i], prices[i] = s.No, s.TicketType, s.PriceMinor
		}
		var metadata any
		if len(r.Metadata) > 0 {
			metadata = r.Metadata
		}
		b.Queue(sqlReserve, a.show, r.ID, a.state.Terms.OrganisationID, r.CustomerID, r.CreatedAt, r.ExpiresAt, r.HoldSeconds, r.Staff,
			r.Currency, r.TotalMinor(), r.Places(), nos, types, prices, metadata)
	}
}

func (a *attempt) saveBookings(b *pgx.Batch, did *boxoffice.Changes) {
	org := a.state.Terms.OrganisationID
	for _, k := range did.Bookings {
		b.Queue(sqlBook, a.show, k.ID, org, k.Reference, k.ReservationID, k.CustomerID, string(k.Status), k.Currency, k.TotalMinor,
			k.CreatedAt, instant(k.ConfirmedAt), k.ConfirmedVersion)
	}
	for _, t := range did.Tickets {
		b.Queue(sqlTicket, a.show, t.BookingID, t.N, t.ID, org, t.SeatNo, t.TicketType, t.PriceMinor, string(t.Status), t.IssuedAt)
	}
}

func (a *attempt) saveLog(b *pgx.Batch, log []boxoffice.Change) {
	for _, c := range log {
		b.Queue(sqlLog, a.show, c.Version, c.N, a.state.Terms.OrganisationID, c.At, string(c.Type), c.Actor, string(c.Reason),
			nullable(c.ReservationID), nullable(c.BookingID), textOrNil(c.Before), textOrNil(c.After), instant(c.ExpiresAt),
			c.SeatNos, textOrNil(string(c.SeatStates)), c.TicketIDs)
	}
}

func (a *attempt) saveReceipts(b *pgx.Batch, kept []boxoffice.KeptReceipt) error {
	for _, k := range kept {
		text, err := json.Marshal(k.Receipt)
		if err != nil {
			return err
		}
		b.Queue(sqlRemember, k.Key.Owner, k.Key.Key, a.state.Terms.OrganisationID, k.Key.Fingerprint[:], k.Receipt.At, a.show, string(text))
	}
	return nil
}

func instant(t time.Time) pgtype.Timestamptz { return pgtype.Timestamptz{Time: t, Valid: !t.IsZero()} }

func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func nullable(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: id != uuid.Nil} }
