package main

import (
	"context"
	_ "embed"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/bench/strategies"
	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

//go:embed sql/count.sql
var sqlCount string

// way is a way to sell seats: the store as the API has it, with the lanes
// behind it or, instead of them, a strategy.
type way struct {
	store *store.Store
	plan  *store.PlanDetails
	close func()
}

// rowlock sells through the lanes.
func rowlock(_ context.Context, h *house) (*way, error) {
	return &way{h.store, h.plan, func() {}}, nil
}

// strategy sells in the way of a name.
func strategy(name string) func(context.Context, *house) (*way, error) {
	return func(ctx context.Context, h *house) (*way, error) {
		s, err := strategies.Named(name)
		if err != nil {
			return nil, err
		}
		// What the naive way does, the schema would refuse. Nobody else tries it.
		if err := strategies.Guard(ctx, h.all, name != "naive"); err != nil {
			return nil, err
		}
		road, err := s.Open(ctx, strategies.Config{Pool: h.server.URL(store.RoleLane, database)})
		if err != nil {
			return nil, err
		}
		front, err := store.Open(ctx, store.Config{URL: h.server.URL(store.RoleApp, database), Road: road})
		if err != nil {
			road.Close()
			return nil, err
		}
		return &way{front, h.plan, func() { front.Close(); road.Close() }}, nil
	}
}

// hold says whether the customer got all of the seats.
func (w *way) hold(ctx context.Context, show uuid.UUID, customer string, nos []int32) (bool, error) {
	req := store.PlaceRequest{ShowID: show, CustomerID: customer}
	for _, no := range nos {
		req.Seats = append(req.Seats, store.SeatRef{ID: w.plan.Seats[no].ID})
	}
	_, _, err := w.store.PlaceReservation(ctx, boxoffice.Actor{CustomerID: customer, Name: customer}, new(newKey()), req)
	if boxoffice.CodeOf(err) == boxoffice.CodeSeatAlreadyReserved {
		return false, nil
	}
	return err == nil, err
}
