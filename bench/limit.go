package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

// written are holds of one seat each as columns, made before the clock runs.
type written struct {
	show      uuid.UUID
	at        time.Time
	before    int64 // the show's version
	seats     []int32
	ids, keys []uuid.UUID
	customers []string
	ends      []time.Time
	instants  []time.Time // each once
	prints    [][]byte
	receipts  []string
}

// writtenHolds are n holds from a seat on, with ends as the function says.
func writtenHolds(show uuid.UUID, at time.Time, first, n int, ends func(i int) time.Time) (*written, error) {
	w := &written{show: show, at: at, before: int64(first)}
	known := map[time.Time]bool{}
	for i := range n {
		seat, key, id, end := int32(first+i), newKey(), store.NewID(), ends(first+i)
		text, err := json.Marshal(boxoffice.Receipt{
			At: at, Version: int64(first + i + 1), ReservationID: id,
			Reservation: &boxoffice.Reservation{
				Status: boxoffice.ReservationActive, CreatedAt: at, ExpiresAt: end,
				Seats: []boxoffice.SeatLine{{No: seat, TicketType: boxoffice.TicketTypeStandard, PriceMinor: 2500}},
			},
		})
		if err != nil {
			return nil, err
		}
		w.seats, w.ids, w.keys = append(w.seats, seat), append(w.ids, id), append(w.keys, key.Key)
		w.customers, w.ends = append(w.customers, key.Owner), append(w.ends, end)
		w.prints, w.receipts = append(w.prints, key.Fingerprint[:]), append(w.receipts, string(text))
		if !known[end] {
			known[end] = true
			w.instants = append(w.instants, end)
		}
	}
	return w, nil
}

// write writes them in one transaction and one pipeline: what lanes write, and
// nothing that lanes read or decide.
func (w *written) write(ctx context.Context, conn *pgx.Conn) error {
	org, last := boxoffice.DefaultOrganisationID, w.before+int64(len(w.seats))
	b := &pgx.Batch{} // which is a transaction
	b.Queue(sqlHead, w.show, last, w.at)
	b.Queue(sqlReservations, w.show, org, w.at, w.ids, w.customers, w.ends, w.seats)
	b.Queue(sqlSeats, w.show, w.seats, w.ids, w.ends)
	b.Queue(sqlChanges, w.show, org, w.at, w.before, w.ids, w.customers, w.ends, w.seats)
	b.Queue(sqlKeys, w.show, org, w.at, w.customers, w.keys, w.prints, w.receipts)
	b.Queue(sqlEndings, w.show, w.instants)
	return conn.SendBatch(ctx, b).Close()
}

// lane is a connection with the settings of Rowlock's lanes.
func (h *house) lane(ctx context.Context) (*pgx.Conn, error) {
	return pgx.Connect(ctx, h.url(store.RoleLane))
}

const (
	raw     = "limit"      // what Postgres writes, a job for holds that end together
	rawRows = "limit-rows" // and with a job a hold
)

func (b *bench) limit(ctx context.Context) (report.Row, error) {
	seats := pick(b, 40_000, 5_000)
	const batch = 1000
	row := report.Row{
		ID: "limit", Title: "How far from what Postgres can write", Unit: "holds/s",
		Explain: fmt.Sprintf("The rows of %s holds of one show, written by one connection, %s holds in each transaction, with nobody waiting and nothing to be read, "+
			"locked or decided; and the hot show of above.", digits(float64(seats)), digits(batch)),
		Bars: []report.Bar{times("", raw, 0.5), times(sameRows, rawRows, 0.5)},
	}
	write := func(instants bool) func(ctx context.Context) (measure, error) {
		return func(ctx context.Context) (measure, error) { return b.rawWrites(ctx, seats, batch, instants) }
	}
	sell := func(instants bool) func(ctx context.Context) (measure, error) {
		return func(ctx context.Context) (measure, error) {
			return b.sell(ctx, b.house, report.Rowlock, sale{shows: 1, seats: seats, callers: everybody, attempts: seats, most: noLimit, instants: instants})
		}
	}
	return b.compare(ctx, &row, b.rounds, []variant{
		{report.Rowlock, "Rowlock", sell(false)},
		{raw, "written at once", write(false)},
		{sameRows, "Rowlock, a job for each hold", sell(true)},
		{rawRows, "written at once, a job for each hold", write(true)},
	})
}

func (b *bench) rawWrites(ctx context.Context, seats, batch int, instants bool) (m measure, err error) {
	shows, err := b.house.shows(ctx, 1, seats)
	if err != nil {
		return m, err
	}
	conn, err := b.house.lane(ctx)
	if err != nil {
		return m, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var at time.Time
	if err := conn.QueryRow(ctx, sqlClock).Scan(&at); err != nil {
		return m, err
	}
	var took time.Duration
	for first := 0; first < seats; first += batch {
		// Each transaction has an instant of its own, as a batch of a lane has.
		at = at.Add(time.Millisecond)
		w, err := writtenHolds(shows[0], at, first, min(batch, seats-first), func(i int) time.Time {
			if instants {
				return at.Add(time.Duration(shortest+i%spread) * time.Second)
			}
			return at.Add(time.Hour)
		})
		if err != nil {
			return m, err
		}
		began := time.Now()
		if err := w.write(ctx, conn); err != nil {
			return m, err
		}
		took += time.Since(began)
	}
	_, err = b.house.check(ctx, report.Rowlock, shows)
	return measure{value: float64(seats) / took.Seconds()}, err
}
