package store

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

var sqlBlocksRead = queries.Must("blocks_read")

// ChangedBlock is what came of blocking or unblocking seats.
type ChangedBlock struct {
	ChangedShow
	BlockID uuid.UUID // zero when single seats were unblocked
	Count   int       // seats
}

// BlockSeats keeps seats of a show off sale; see [boxoffice.BlockSeats].
func (s *Store) BlockSeats(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, organisation, show uuid.UUID, seats []SeatRef, reason string) (ChangedBlock, error) {
	var c boxoffice.Checks
	c.Line("reason", &reason, 1, boxoffice.ReasonMax)
	if err := c.Err(); err != nil {
		return ChangedBlock{}, err
	}
	wants, err := s.seatsOf(ctx, show, seats)
	if err != nil {
		return ChangedBlock{}, err
	}
	return s.block(ctx, organisation, show, &laneCommand{Command: boxoffice.Command{
		Key: key, Actor: actor, Do: &boxoffice.BlockSeats{ID: NewID(), Seats: wants, Reason: reason},
	}})
}

// UnblockSeats puts seats back on sale: those of a block, or the named ones;
// see [boxoffice.UnblockSeats].
func (s *Store) UnblockSeats(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, organisation, show, block uuid.UUID, seats []SeatRef) (ChangedBlock, error) {
	wants, err := s.seatsOf(ctx, show, seats)
	if err != nil {
		return ChangedBlock{}, err
	}
	cmd := &laneCommand{Command: boxoffice.Command{Key: key, Actor: actor, Do: &boxoffice.UnblockSeats{BlockID: block, Seats: wants}}}
	if block != uuid.Nil {
		// Which seats a block was made of never changes; which of them are in
		// it still is for the lane to see. An unknown block has none, and the
		// rules say so.
		err := s.pool.QueryRow(ctx, sqlBlocksRead, show, block).Scan(&cmd.extraSeats)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return ChangedBlock{}, coded(err)
		}
	}
	return s.block(ctx, organisation, show, cmd)
}

func (s *Store) seatsOf(ctx context.Context, show uuid.UUID, refs []SeatRef) ([]boxoffice.SeatWant, error) {
	t, err := s.termsOf(ctx, show)
	if err != nil {
		return nil, err
	}
	return s.resolveSeats(ctx, t, refs)
}

func (s *Store) block(ctx context.Context, organisation, show uuid.UUID, cmd *laneCommand) (ChangedBlock, error) {
	r, replayed, err := s.command(ctx, organisation, show, cmd)
	if err != nil {
		return ChangedBlock{}, err
	}
	return ChangedBlock{ChangedShow{r.Version, replayed}, r.ID, r.Count}, nil
}
