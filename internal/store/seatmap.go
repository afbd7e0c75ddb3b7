package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/live"
	"github.com/rowlock/rowlock/sql/queries"
)

var (
	sqlSeatmapRead    = queries.Must("seatmap_read")
	sqlSeatmapChanges = queries.Must("seatmap_changes")
	sqlSeatmapOwners  = queries.Must("seatmap_owners")
)

var _ live.Loader = (*Store)(nil)

// snapshot runs do in a transaction whose statements all see the same instant.
func (s *Store) snapshot(ctx context.Context, do func(tx pgx.Tx) error) error {
	return coded(pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, do))
}

// snapshotBatch sends statements that see one moment, in one round trip.
func (s *Store) snapshotBatch(ctx context.Context, queue func(b *pgx.Batch)) error {
	b := &pgx.Batch{}
	b.Queue(sqlServiceSnapshot)
	queue(b)
	b.Queue(sqlLanesCommit)
	return coded(s.pool.SendBatch(ctx, b).Close())
}

// ReadSeatMap reads the whole map of a show, with the terms that it is sold
// by. The places come as one row of one statement.
func (s *Store) ReadSeatMap(ctx context.Context, show uuid.UUID) (*live.Map, error) {
	if m := s.readSeatMapNearby(ctx, show); m != nil {
		return m, nil
	}
	var m *live.Map
	err := s.snapshot(ctx, func(tx pgx.Tx) (err error) {
		m, err = s.readSeatMap(ctx, tx, show)
		return err
	})
	return m, err
}

// SeatOwner says whose a seat is.
type SeatOwner struct {
	SeatNo        int32
	ReservationID uuid.UUID // zero: none
	CustomerID    string    // the reservation's
	BlockID       uuid.UUID // zero: none
	HeldUntil     time.Time // zero unless held
}

// ReadSeatOwners reads the whole map of a show, and whose its seats are, at
// the same instant. Seats that are free are not among the owners; holds that
// are over may be.
func (s *Store) ReadSeatOwners(ctx context.Context, show uuid.UUID) (*live.Map, []SeatOwner, error) {
	var m *live.Map
	var owners []SeatOwner
	err := s.snapshot(ctx, func(tx pgx.Tx) (err error) {
		if m, err = s.readSeatMap(ctx, tx, show); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, sqlSeatmapOwners, show)
		if err != nil {
			return err
		}
		owners, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (o SeatOwner, err error) {
			var reservation, block *uuid.UUID
			var customer *string
			var until *time.Time
			err = row.Scan(&o.SeatNo, &reservation, &customer, &block, &until)
			o.ReservationID, o.CustomerID, o.BlockID, o.HeldUntil = orZero(reservation), orZero(customer), orZero(block), orZero(until)
			return o, err
		})
		return err
	})
	return m, owners, err
}

func (s *Store) readSeatMap(ctx context.Context, tx pgx.Tx, show uuid.UUID) (*live.Map, error) {
	m := &live.Map{Holds: map[uuid.UUID][]live.Hold{}}
	var seatNos, areaNos, capacities, held, booked, holdAreas, holdUnits []int32
	var states *string
	var until, holdEnds []time.Time
	var areaIDs, holders []uuid.UUID
	var refs, names, categories []string
	err := tx.QueryRow(ctx, sqlSeatmapRead, show).Scan(&m.Version, &m.Definition, &m.ChangedAt, &m.Now,
		&seatNos, &states, &until,
		&areaNos, &areaIDs, &refs, &names, &categories, &capacities, &held, &booked,
		&holders, &holdEnds, &holdAreas, &holdUnits)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such show.")
	}
	if err != nil {
		return nil, err
	}
	if m.Terms, err = s.termsAt(ctx, tx, show, m.Definition); err != nil {
		return nil, err
	}
	if err := placeSeats(m, seatNos, orZero(states), until); err != nil {
		return nil, fmt.Errorf("show %s: %w", show, err)
	}
	for i, no := range areaNos {
		m.Areas = append(m.Areas, live.Area{
			No: no, ID: areaIDs[i], Ref: refs[i], Name: names[i], Category: categories[i],
			Capacity: int(capacities[i]), Held: int(held[i]), Booked: int(booked[i]),
		})
	}
	for i, id := range holders {
		m.AddHold(id, live.Hold{AreaNo: holdAreas[i], Units: int(holdUnits[i]), End: holdEnds[i]})
	}
	return m, nil
}

// placeSeats puts the seats into the order of the plan.
func placeSeats(m *live.Map, nos []int32, states string, until []time.Time) error {
	plan := m.Terms.Plan
	if plan == nil {
		return nil
	}
	if len(nos) != len(plan.Seats) {
		return fmt.Errorf("has %d seats where its plan has %d", len(nos), len(plan.Seats))
	}
	m.States, m.Ends = make([]byte, len(nos)), make([]time.Time, len(nos))
	for i, no := range nos {
		at, ok := plan.Position(no)
		if !ok {
			return fmt.Errorf("has seat %d, which is not in its plan", no)
		}
		m.States[at] = states[i]
		if states[i] == 'h' || states[i] == 'H' {
			m.Ends[at], until = until[0], until[1:]
		}
	}
	return nil
}

// ReadSeatMapChanges reads what was logged in shows after versions, at most so
// many entries each, with the shows' heads: in one statement. The answers are
// in step with the questions; nil: there is no such show.
func (s *Store) ReadSeatMapChanges(ctx context.Context, questions []live.Question, most int) ([]*live.Delta, error) {
	shows, after := make([]uuid.UUID, len(questions)), make([]int64, len(questions))
	for i, q := range questions {
		shows[i], after[i] = q.ShowID, q.After
	}
	rows, err := s.pool.Query(ctx, sqlSeatmapChanges, shows, after, most)
	if err != nil {
		return nil, coded(err)
	}
	deltas := make([]*live.Delta, len(questions))
	var n int
	var head live.Head
	var version *int64
	var typ, states *string
	var reservation *uuid.UUID
	var expires *time.Time
	var seatNos, areaNos, areaUnits, areaBooked []int32
	_, err = pgx.ForEachRow(rows, []any{&n, &head.Version, &head.Definition, &head.ChangedAt, &head.Now,
		&version, &typ, &reservation, &expires, &seatNos, &states, &areaNos, &areaUnits, &areaBooked}, func() error {
		d := deltas[n-1]
		if d == nil {
			d = &live.Delta{}
			deltas[n-1] = d
		}
		d.Head = head
		if version != nil {
			d.Changes = append(d.Changes, live.Change{
				Version: *version, Type: boxoffice.ChangeType(*typ), ReservationID: orZero(reservation), ExpiresAt: orZero(expires),
				SeatNos: seatNos, SeatStates: orZero(states), AreaNos: areaNos, AreaUnits: areaUnits, AreaBooked: areaBooked,
			})
		}
		seatNos, areaNos, areaUnits, areaBooked = nil, nil, nil, nil // or the next scan would write into this entry's
		return nil
	})
	if err != nil {
		return nil, coded(err)
	}
	return deltas, nil
}
