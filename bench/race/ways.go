package main

import (
	"context"
	_ "embed"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

// way is a way to sell seats. Hold says whether the customer got all of them.
type way interface {
	hold(ctx context.Context, show uuid.UUID, customer string, nos []int32) (bool, error)
	close()
}

var (
	//go:embed sql/prepare.sql
	sqlPrepare string
	//go:embed sql/answered.sql
	sqlAnswered string
	//go:embed sql/check.sql
	sqlCheck string
	//go:embed sql/check_for_update.sql
	sqlCheckForUpdate string
	//go:embed sql/take.sql
	sqlTake string
	//go:embed sql/reserve.sql
	sqlReserve string
	//go:embed sql/log.sql
	sqlLog string
	//go:embed sql/remember.sql
	sqlRemember string
	//go:embed sql/schedule.sql
	sqlSchedule string
	//go:embed sql/count.sql
	sqlCount string
)

// perRequest is the usual code: a transaction for each request, on a pool.
// Whether it is naive or waits is one statement. It is given what speed can be
// had: prepared statements, the planner settings of the lanes, and all its
// writes in one round trip with the commit.
type perRequest struct {
	pool  *pgxpool.Pool
	check string
}

func newPerRequest(ctx context.Context, h *house, check string) (way, error) {
	c, err := pgxpool.ParseConfig(h.server.URL(store.RoleLane, database))
	if err != nil {
		return nil, err
	}
	c.MinConns, c.MaxConns = pooled, pooled
	pool, err := pgxpool.NewWithConfig(ctx, c)
	return &perRequest{pool, check}, err
}

func (w *perRequest) close() { w.pool.Close() }

var errTaken = errors.New("taken")

func (w *perRequest) hold(ctx context.Context, show uuid.UUID, customer string, nos []int32) (bool, error) {
	conn, err := w.pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	key := newKey()
	read := &pgx.Batch{}
	read.Queue("begin")
	read.Queue(sqlAnswered, key.Owner, key.Key)
	read.Queue(w.check, show, nos).QueryRow(func(row pgx.Row) error {
		var free int
		if err := row.Scan(&free); err != nil {
			return err
		}
		if free < len(nos) {
			return errTaken
		}
		return nil
	})
	err = conn.SendBatch(ctx, read).Close()
	if err == nil {
		id, org, until := store.NewID(), boxoffice.DefaultOrganisationID, time.Now().Add(900*time.Second)
		write := &pgx.Batch{}
		write.Queue(sqlTake, show, nos, id, until)
		write.Queue(sqlReserve, show, nos, id, until, org, customer)
		write.Queue(sqlLog, show, nos, id, until, org, customer)
		write.Queue(sqlRemember, key.Owner, key.Key, org, key.Fingerprint[:], show, `{"r": "`+id.String()+`"}`)
		write.Queue(sqlSchedule, show, until)
		write.Queue("commit")
		err = conn.SendBatch(ctx, write).Close()
	}
	if err != nil {
		if _, err := conn.Exec(context.WithoutCancel(ctx), "rollback"); err != nil {
			return false, err
		}
	}
	if errors.Is(err, errTaken) {
		return false, nil
	}
	return err == nil, err
}

// rowlock sells as the API does.
type rowlock struct{ h *house }

func newRowlock(_ context.Context, h *house) (way, error) { return rowlock{h}, nil }

func (w rowlock) close() {}

func (w rowlock) hold(ctx context.Context, show uuid.UUID, customer string, nos []int32) (bool, error) {
	req := store.PlaceRequest{ShowID: show, CustomerID: customer}
	for _, no := range nos {
		req.Seats = append(req.Seats, store.SeatRef{ID: w.h.plan.Seats[no].ID})
	}
	_, _, err := w.h.store.PlaceReservation(ctx, boxoffice.Actor{CustomerID: customer, Name: customer}, new(newKey()), req)
	if boxoffice.CodeOf(err) == boxoffice.CodeSeatAlreadyReserved {
		return false, nil
	}
	return err == nil, err
}
