package api

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

func (a *API) registerBlocks() {
	write := []boxoffice.Scope{boxoffice.ScopeCatalogueWrite, boxoffice.ScopeReservationsStaff}
	version := map[string]string{"Show-Version": "The show's version after this; for ?minVersion= on map reads."}
	codes := []boxoffice.Code{
		boxoffice.CodeNotFound, boxoffice.CodeConflict, boxoffice.CodeSeatNotFound, boxoffice.CodeSeatAlreadyReserved, boxoffice.CodeLockTimeout,
	}
	register(a, Operation{
		ID: "blockSeats", Method: http.MethodPost, Path: "/shows/{showId}/seats/block", Tag: "Organisers", Scopes: write, Status: http.StatusCreated,
		Summary:     "Keep seats off sale",
		Description: "All of them or none: a seat that is held, booked or blocked already is named in the refusal. A staff hold may take the seats later by `fromBlockId`.",
		Codes:       codes, Headers: version,
	}, a.blockSeats)
	register(a, Operation{
		ID: "unblockSeats", Method: http.MethodPost, Path: "/shows/{showId}/seats/unblock", Tag: "Organisers", Scopes: write,
		Summary:     "Put seats back on sale",
		Description: "Either all that is left of a block, or single seats. A seat that is being sold from its block is in use, and refused.",
		Codes:       codes, Headers: version,
	}, a.unblockSeats)
}

type blockInput struct {
	ShowID uuid.UUID `path:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	Body   struct {
		Seats  []SeatRemoval `json:"seats" minItems:"1" maxItems:"10000" doc:"Seats, by id or label" example:"[{\"label\":\"Stalls-A-7\"}]"`
		Reason string        `json:"reason" minLength:"1" maxLength:"500" doc:"Why, for people" example:"camera platform"`
	}
}

// Block is a number of seats that are kept off sale.
type Block struct {
	BlockID   uuid.UUID `json:"blockId" format:"uuid" doc:"The block" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d61"`
	ShowID    uuid.UUID `json:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	SeatCount int       `json:"seatCount" doc:"Seats in it" example:"4"`
	Version   int64     `json:"version" doc:"The show's version after this" example:"43"`
}

type blockOutput struct{ Body Block }

func (a *API) blockSeats(ctx context.Context, call *Call, in *blockInput) (*blockOutput, error) {
	seats, err := seatRefs(in.Body.Seats)
	if err != nil {
		return nil, err
	}
	done, err := a.opts.Store.BlockSeats(ctx, call.Caller.Actor(), &call.Key, call.Caller.OrganisationID, in.ShowID, seats, in.Body.Reason)
	if err != nil {
		return nil, err
	}
	finishWrite(call, done.Version, done.Replayed)
	return &blockOutput{Block{done.BlockID, in.ShowID, done.Count, done.Version}}, nil
}

// seatRefs reads seats that are named by id or label.
func seatRefs(seats []SeatRemoval) ([]store.SeatRef, error) {
	choices := make([]SeatChoice, len(seats))
	for i, s := range seats {
		choices[i] = SeatChoice{SeatID: s.SeatID, Label: s.Label}
	}
	var v violations
	refs := v.seats("seats", choices)
	return refs, v.err()
}

type unblockInput struct {
	ShowID uuid.UUID `path:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	Body   struct {
		BlockID *uuid.UUID    `json:"blockId,omitempty" format:"uuid" doc:"All that is left of this block; either this or seats" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d61"`
		Seats   []SeatRemoval `json:"seats,omitempty" minItems:"1" maxItems:"10000" doc:"Single seats, by id or label" example:"[{\"label\":\"Stalls-A-7\"}]"`
	}
}

// Unblocked is what came of unblocking seats.
type Unblocked struct {
	ShowID    uuid.UUID `json:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	SeatCount int       `json:"seatCount" doc:"Seats that are on sale again" example:"4"`
	Version   int64     `json:"version" doc:"The show's version after this" example:"44"`
}

type unblockOutput struct{ Body Unblocked }

func (a *API) unblockSeats(ctx context.Context, call *Call, in *unblockInput) (*unblockOutput, error) {
	b := &in.Body
	if (b.BlockID == nil) == (b.Seats == nil) {
		return nil, boxoffice.Invalid(boxoffice.Violation{Field: "blockId", Message: "either blockId or seats is needed"})
	}
	seats, err := seatRefs(b.Seats)
	if err != nil {
		return nil, err
	}
	var block uuid.UUID
	if b.BlockID != nil {
		block = *b.BlockID
	}
	done, err := a.opts.Store.UnblockSeats(ctx, call.Caller.Actor(), &call.Key, call.Caller.OrganisationID, in.ShowID, block, seats)
	if err != nil {
		return nil, err
	}
	finishWrite(call, done.Version, done.Replayed)
	return &unblockOutput{Unblocked{in.ShowID, done.Count, done.Version}}, nil
}
