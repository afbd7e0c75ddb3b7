package strategies

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/jobs"
)

var (
	//go:embed sql/lock_show.sql
	sqlLockShow string
	//go:embed sql/seats.sql
	sqlSeats string
	//go:embed sql/seats_for_update.sql
	sqlSeatsForUpdate string
	//go:embed sql/seats_skip_locked.sql
	sqlSeatsSkipLocked string
	//go:embed sql/answered.sql
	sqlAnswered string
	//go:embed sql/holds.sql
	sqlHolds string
	//go:embed sql/due.sql
	sqlDue string
	//go:embed sql/next_version.sql
	sqlNextVersion string
)

// lockTimeout is how long a statement waits for a row, and the show's lock. The
// role's own would be a lane's, which never waits for buyers.
const lockTimeout = "8s"

// retriesMax is how often a transaction is repeated that was a deadlock's
// victim, or whose key another one answered first.
const retriesMax = 3

// way is how a transaction makes sure that seats are free.
type way struct {
	show     string // locks the show, before anything else; "": nothing does
	seats    string // reads wanted seats; "": they are free, somebody else has seen to that
	numbered bool   // changes are numbered by the show's row, not by a sequence
	// pipelined asks in as few round trips as there can be, see [tx].
	pipelined bool
}

var (
	waiting = way{seats: sqlSeatsForUpdate}
	// trusting is for those who come with the seats taken elsewhere. Taking them
	// here as well still needs each to be free: see notFree.
	trusting = way{}
)

// road works each command in a transaction of its own.
type road struct {
	way   way
	pool  *pgxpool.Pool
	jobs  *jobs.Scheduler
	terms *terms
}

// Close ends the connections.
func (r *road) Close() {
	r.pool.Close()
	r.terms.close()
}

// Do implements [store.Road].
func (r *road) Do(ctx context.Context, show uuid.UUID, cmd boxoffice.Command) (boxoffice.Outcome, error) {
	out, _, err := r.do(ctx, r.way, show, cmd)
	return out, err
}

// do works a command and says what it wrote; nil: nothing.
func (r *road) do(ctx context.Context, w way, show uuid.UUID, cmd boxoffice.Command) (out boxoffice.Outcome, did *boxoffice.Changes, err error) {
	t, err := r.terms.of(ctx, show)
	if err != nil {
		return out, nil, err
	}
	for attempt := 1; ; attempt++ {
		out, did, err = r.transact(ctx, w, t, cmd)
		var pg *pgconn.PgError
		if !errors.As(err, &pg) {
			return out, did, err
		}
		if pg.Code == "55P03" {
			return out, nil, &boxoffice.Error{Code: boxoffice.CodeLockTimeout, Detail: "A seat was locked for too long; nothing was done.", Cause: err}
		}
		again := pg.Code == "40P01" || pg.Code == "40001" || pg.ConstraintName == "idempotency_keys_pkey"
		if !again || attempt == retriesMax {
			return out, nil, err
		}
	}
}

// errNothing rolls back a transaction that has nothing to write.
var errNothing = errors.New("nothing to write")

func (r *road) transact(ctx context.Context, w way, t *boxoffice.Terms, cmd boxoffice.Command) (out boxoffice.Outcome, did *boxoffice.Changes, err error) {
	err = transact(ctx, r.pool, w.pipelined, func(tx *tx) error {
		a := attempt{road: r, way: w, tx: tx, cmd: cmd, show: t.ShowID, state: boxoffice.State{
			Terms: t, Seats: map[int32]*boxoffice.SeatRow{}, Reservations: map[uuid.UUID]*boxoffice.Reservation{},
		}}
		if err := a.load(ctx); err != nil {
			return err
		}
		var outcomes []boxoffice.Outcome
		outcomes, did = boxoffice.Decide(a.state, []boxoffice.Command{cmd})
		out = outcomes[0]
		if !did.Writes() {
			return errNothing
		}
		return a.save(ctx, did, out.Receipt)
	})
	switch {
	case errors.Is(err, errNothing):
		return out, nil, nil
	case err != nil:
		return boxoffice.Outcome{}, nil, err
	}
	return out, did, nil
}

// repeat answers a request that is sent again from its receipt, without a lock.
func (r *road) repeat(ctx context.Context, t *boxoffice.Terms, cmd boxoffice.Command) (boxoffice.Outcome, error) {
	st, b := boxoffice.State{Terms: t}, &pgx.Batch{}
	readAnswered(b, &st, cmd.Key)
	if err := r.pool.SendBatch(ctx, b).Close(); err != nil {
		return boxoffice.Outcome{}, err
	}
	if st.Receipts == nil {
		return boxoffice.Outcome{Err: boxoffice.Refuse(boxoffice.CodeKeyInUse, "The first request with this Idempotency-Key is still running.")}, nil
	}
	outcomes, _ := boxoffice.Decide(st, []boxoffice.Command{cmd})
	return outcomes[0], nil
}

// attempt is one transaction for one command.
type attempt struct {
	*road
	way     way
	tx      *tx
	cmd     boxoffice.Command
	show    uuid.UUID
	state   boxoffice.State
	version int64 // the number of what is written, for ways that take it from a sequence
}

// load locks and reads what the command is decided by. The clock and the key
// are read when all locks are had: whoever waited for a lock waited for what
// the key says, too.
func (a *attempt) load(ctx context.Context) error {
	if a.way.show != "" {
		a.tx.next.Queue(a.way.show, a.show)
	}
	if err := a.tx.step(ctx); err != nil {
		return err
	}
	var err error
	switch do := a.cmd.Do.(type) {
	case *boxoffice.PlaceReservation:
		a.readWanted(do.Seats)
	case *boxoffice.ExtendReservation:
		err = a.readHolds(ctx, do.ID)
	case *boxoffice.ReleaseReservation:
		err = a.readHolds(ctx, do.ID)
	case *boxoffice.ConfirmReservation:
		err = a.readHolds(ctx, do.ReservationID)
	case *boxoffice.ExpireReservations:
		err = a.readDue(ctx, do.Limit)
	default:
		err = fmt.Errorf("strategies: no way to %T", do)
	}
	if err == nil {
		err = a.tx.step(ctx)
	}
	if err != nil {
		return err
	}
	readAnswered(a.tx.next, &a.state, a.cmd.Key)
	if a.way.pipelined && !a.way.numbered {
		a.drawVersion() // which refusals will not need
	}
	if err := a.tx.send(ctx); err != nil {
		return err
	}
	return a.readOverdue(ctx)
}

// drawVersion draws a number for what will be written, with the next questions.
func (a *attempt) drawVersion() {
	a.tx.next.Queue(sqlNextVersion).QueryRow(func(row pgx.Row) error { return row.Scan(&a.version) })
}

// readAnswered reads the clock, the show's head, and what was answered before
// to a key.
func readAnswered(b *pgx.Batch, st *boxoffice.State, key *boxoffice.IdempotencyKey) {
	if key == nil {
		key = &boxoffice.IdempotencyKey{}
	}
	b.Queue(sqlAnswered, st.Terms.ShowID, key.Owner, key.Key).QueryRow(func(row pgx.Row) error {
		var changed time.Time
		var fingerprint []byte
		var receipt *string
		if err := row.Scan(&st.Now, &st.Version, &changed, &fingerprint, &receipt); err != nil {
			return err
		}
		if changed.After(st.Now) {
			st.Now = changed
		}
		if receipt == nil {
			return nil
		}
		r := boxoffice.Remembered{Receipt: &boxoffice.Receipt{}}
		copy(r.Fingerprint[:], fingerprint)
		st.Receipts = map[boxoffice.KeyID]boxoffice.Remembered{{Owner: key.Owner, Key: key.Key}: r}
		return json.Unmarshal([]byte(*receipt), r.Receipt)
	})
}

// readWanted reads the seats that somebody wants, locked as the way locks, with
// the next questions.
func (a *attempt) readWanted(wants []boxoffice.SeatWant) {
	nos := make([]int32, 0, len(wants))
	for _, w := range wants {
		if w.No >= 0 {
			nos = append(nos, w.No)
		}
	}
	slices.Sort(nos)
	if a.way.seats == "" {
		for _, no := range nos {
			a.state.Seats[no] = &boxoffice.SeatRow{No: no, State: 'a', Locked: true}
		}
		return
	}
	a.readSeats(a.way.seats, nos)
}

// readSeats reads seats with the next questions.
func (a *attempt) readSeats(sql string, nos []int32) {
	a.tx.next.Queue(sql, a.show, nos).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			// Locked means that it may be taken. The naive way believes so.
			s := &boxoffice.SeatRow{Locked: true}
			var reservation, block pgtype.UUID
			var until pgtype.Timestamptz
			if err := rows.Scan(&s.No, &s.State, &reservation, &until, &block, &s.Holder); err != nil {
				return err
			}
			s.ReservationID, s.BlockID, s.HeldUntil = reservation.Bytes, block.Bytes, until.Time
			a.state.Seats[s.No] = s
		}
		return rows.Err()
	})
}

// readHolds locks and reads reservations, and with the next questions their
// seats.
func (a *attempt) readHolds(ctx context.Context, ids ...uuid.UUID) error {
	var nos []int32
	a.tx.next.Queue(sqlHolds, a.show, ids).Query(func(rows pgx.Rows) error {
		holds, err := pgx.CollectRows(rows, scanHold)
		for _, r := range holds {
			r.ShowID = a.show
			a.state.Reservations[r.ID] = r
			for _, s := range r.Seats {
				nos = append(nos, s.No)
			}
		}
		return err
	})
	if err := a.tx.send(ctx); err != nil || len(nos) == 0 {
		return err
	}
	slices.Sort(nos)
	a.readSeats(sqlSeatsForUpdate, nos)
	return nil
}

func scanHold(row pgx.CollectableRow) (*boxoffice.Reservation, error) {
	r := &boxoffice.Reservation{}
	var closed, own pgtype.Timestamptz
	var booking pgtype.UUID
	var nos []int32
	var types []string
	var prices []int64
	if err := row.Scan(&r.ID, &r.CustomerID, &r.Status, &r.CreatedAt, &r.ExpiresAt, &r.HoldSeconds, &closed, &r.Staff,
		&booking, &r.Currency, &nos, &types, &prices, &own); err != nil {
		return nil, err
	}
	r.ClosedAt, r.OwnEnd, r.BookingID = closed.Time, own.Time, booking.Bytes
	for i, no := range nos {
		r.Seats = append(r.Seats, boxoffice.SeatLine{No: no, TicketType: types[i], PriceMinor: prices[i]})
	}
	return r, nil
}

// readDue reads the oldest holds that are over.
func (a *attempt) readDue(ctx context.Context, limit int) error {
	var ids []uuid.UUID
	a.tx.next.Queue(sqlDue, a.show, limit).Query(func(rows pgx.Rows) (err error) {
		ids, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		return err
	})
	if err := a.tx.send(ctx); err != nil || len(ids) == 0 {
		return err
	}
	return a.readHolds(ctx, ids...)
}

// readOverdue reads the holds on wanted seats that are over, which have to be
// closed first.
func (a *attempt) readOverdue(ctx context.Context) error {
	var ids []uuid.UUID
	for _, s := range a.state.Seats {
		if s.State == 'h' && !a.state.Now.Before(s.HeldUntil) && a.state.Reservations[s.ReservationID] == nil && !slices.Contains(ids, s.ReservationID) {
			ids = append(ids, s.ReservationID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := a.readHolds(ctx, ids...); err != nil {
		return err
	}
	return a.tx.send(ctx)
}
