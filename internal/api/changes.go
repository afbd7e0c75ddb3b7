package api

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

// Change is something that happened: one entry of the log.
type Change struct {
	ID       string               `json:"id" doc:"Unique, and the same whenever it is read. As cursor it goes on after this change" example:"AAAAAAAAAyABl6HwW358Op1-HyorPE1eAAAAAAAAACoAAAAA"`
	Type     boxoffice.ChangeType `json:"type" doc:"What happened" example:"reservation.created"`
	ShowID   uuid.UUID            `json:"showId" format:"uuid" doc:"In which show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	Sequence int64                `json:"sequence" doc:"The show's version that it made; without gaps" example:"42"`
	N        int32                `json:"n" doc:"Its place within the version, from 0: whoever takes an overdue hold's seat closes that hold first" example:"0"`
	At       time.Time            `json:"at" doc:"When, by the database's clock" example:"2026-11-27T20:15:00.123456Z"`
	Actor    string               `json:"actor" doc:"Who: a customerId, key: and the beginning of an API key, or system" example:"guest:9b2e7d1c-53a4-4f0e-8b7a-2d4c6e8f0a1b"`
	Reason   boxoffice.Reason     `json:"reason" doc:"Why: buyer, staff, expired, swept and so on" example:"buyer"`
	Object   ChangeObject         `json:"object" doc:"What changed"`
	Before   *ChangeBefore        `json:"before,omitempty" doc:"What it was; missing when it was made"`
	After    ChangeAfter          `json:"after" doc:"What it is since"`
	Amount   int64                `json:"amount,omitempty" doc:"Of the payment or refund, in the currency's minor unit" example:"9000"`
	Note     string               `json:"note,omitempty" doc:"More about it, for people" example:"camera platform"`
}

// ChangeObject says what a change is about.
type ChangeObject struct {
	Kind          string      `json:"kind" doc:"The first half of type: reservation, booking, payment, refund, ticket, place, waitlist or show" example:"reservation"`
	ID            *uuid.UUID  `json:"id,omitempty" format:"uuid" doc:"Of the reservation, booking, payment, refund, single ticket, block or show; missing when seats were unblocked one by one, for several tickets, and for a waitlist, whose entry note names" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	BlockID       *uuid.UUID  `json:"blockId,omitempty" format:"uuid" doc:"The block that a reservation is sold from" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	ReservationID *uuid.UUID  `json:"reservationId,omitempty" format:"uuid" doc:"The reservation that it belongs to" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d62"`
	BookingID     *uuid.UUID  `json:"bookingId,omitempty" format:"uuid" doc:"The booking that it belongs to" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d63"`
	PaymentID     *uuid.UUID  `json:"paymentId,omitempty" format:"uuid" doc:"The payment, also of a refund" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d65"`
	RefundID      *uuid.UUID  `json:"refundId,omitempty" format:"uuid" doc:"The refund" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d66"`
	TicketIDs     []uuid.UUID `json:"ticketIds,omitempty" format:"uuid" doc:"The tickets, also of a refund" example:"[\"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d64\"]"`
}

// ChangeBefore is what the object of a change was.
type ChangeBefore struct {
	Status string `json:"status" doc:"Its status" example:"active"`
}

// ChangeAfter is what a change made of its object and of places.
type ChangeAfter struct {
	Status    string        `json:"status,omitempty" doc:"Its status" example:"expired"`
	ExpiresAt *time.Time    `json:"expiresAt,omitempty" doc:"The end of the hold" example:"2026-11-27T20:15:00.123456Z"`
	Seats     []ChangedSeat `json:"seats" doc:"Seats whose status changed, or whose hold's end did"`
	Areas     []ChangedArea `json:"areas" doc:"Areas whose units changed hands"`
}

// ChangedSeat is a seat and what it became.
type ChangedSeat struct {
	SeatID *uuid.UUID           `json:"seatId,omitempty" format:"uuid" doc:"The seat; missing when the show's plan no longer has it" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	Label  string               `json:"label" doc:"Its label" example:"Stalls-A-7"`
	Status boxoffice.SeatStatus `json:"status" enum:"available,held,booked,blocked" doc:"What it became" example:"held"`
}

// ChangedArea is an area and the units that changed hands.
type ChangedArea struct {
	AreaID *uuid.UUID `json:"areaId,omitempty" format:"uuid" doc:"The area; missing when the show no longer has it" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	Name   string     `json:"name" doc:"Its name" example:"Floor"`
	Units  int        `json:"units" doc:"Held units: taken, or given back when negative. Buying moves them to booked" example:"-2"`
	Booked int        `json:"booked" doc:"Booked units: bought, or given back when negative" example:"2"`
}

type changesInput struct {
	ShowID        uuid.UUID            `query:"showId" format:"uuid" doc:"Only of this show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	SeatID        uuid.UUID            `query:"seatId" format:"uuid" doc:"Only with this seat" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	ReservationID uuid.UUID            `query:"reservationId" format:"uuid" doc:"Only of this reservation" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d62"`
	BookingID     uuid.UUID            `query:"bookingId" format:"uuid" doc:"Only of this booking" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d63"`
	Type          boxoffice.ChangeType `query:"type" maxLength:"50" doc:"Only of this type" example:"reservation.expired"`
	Actor         string               `query:"actor" maxLength:"200" doc:"Only by this actor" example:"key:rlk_5uHcnV"`
	Since         time.Time            `query:"since" doc:"Only from this time on, RFC 3339 with an offset" example:"2026-11-27T19:00:00Z"`
	Cursor        string               `query:"cursor" maxLength:"100" doc:"nextCursor of the page before, or the id of the last change that was seen" example:"AAAAAAAABFYBoh-2IaZ0JZHjaZkz534bAAAAAAAAAAEAAAAA"`
	Limit         int                  `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"At most so many" example:"50"`
}

type changesOutput struct {
	Body struct {
		Changes    []Change `json:"changes" doc:"The oldest first"`
		NextCursor string   `json:"nextCursor,omitempty" doc:"Asks for the page after this one; missing when there is none yet" example:"AAAAAAAABFYBoh-2IaZ0JZHjaZkz534bAAAAAAAAAAEAAAAA"`
	}
}

// changeTypes are all types of change, for the docs and for those who filter.
var changeTypes = func() []string {
	var names []string
	for _, t := range []boxoffice.ChangeType{
		boxoffice.ReservationCreated, boxoffice.ReservationChanged, boxoffice.ReservationExtended, boxoffice.ReservationConsume,
		boxoffice.ReservationExpire, boxoffice.ReservationCancelled,
		boxoffice.BookingCreated, boxoffice.BookingConfirmedChange, boxoffice.BookingFailedChange, boxoffice.BookingExpiredChange, boxoffice.BookingCancelledChange,
		boxoffice.PaymentCreated, boxoffice.PaymentSucceededChange, boxoffice.PaymentFailedChange,
		boxoffice.RefundCreated, boxoffice.RefundSucceededChange, boxoffice.RefundFailedChange,
		boxoffice.TicketIssued, boxoffice.TicketUsedChange, boxoffice.TicketVoidChange,
		boxoffice.PlaceBlocked, boxoffice.PlaceUnblocked, boxoffice.WaitlistJoined, boxoffice.WaitlistLeftChange,
		boxoffice.ShowPublished, boxoffice.ShowPausedChange, boxoffice.ShowResumed, boxoffice.ShowCancelledChange, boxoffice.ShowChanged,
	} {
		names = append(names, string(t))
	}
	return names
}()

func (a *API) registerChanges() {
	register(a, Operation{
		ID: "listChanges", Method: http.MethodGet, Path: "/changes", Tag: "Operations",
		Summary: "Read what happened",
		Description: "The log of everything that happened to places, holds, bookings, money, tickets and shows, the oldest first, each change once. With `showId` or `reservationId` in the order of the show's versions and up to date. Across shows in an order in which nothing ever appears before what was already returned: what was written while an older transaction is still running is held back for as long." +
			" To follow the log, ask again with the id of the last change as `cursor`.\n\nTypes: `" + strings.Join(changeTypes, "`, `") + "`.",
		Scopes: []boxoffice.Scope{boxoffice.ScopeSalesRead},
	}, func(ctx context.Context, call *Call, in *changesInput) (*changesOutput, error) {
		f := store.ChangeFilter{
			OrganisationID: call.Caller.OrganisationID, ShowID: in.ShowID, SeatID: in.SeatID, ReservationID: in.ReservationID,
			BookingID: in.BookingID, Type: in.Type, Actor: in.Actor, Since: in.Since, Limit: in.Limit + 1,
		}
		if in.Type != "" && !slices.Contains(changeTypes, string(in.Type)) {
			return nil, boxoffice.Invalid(boxoffice.Violation{Field: "type", Message: "is not a type of change"})
		}
		if in.Cursor != "" {
			after, ok := parseChangeID(in.Cursor)
			if !ok {
				return nil, boxoffice.Invalid(boxoffice.Violation{Field: "cursor", Message: "is not one of ours"})
			}
			f.After = &after
		}
		list, err := a.opts.Store.ListChanges(ctx, f)
		if err != nil {
			return nil, err
		}
		out := &changesOutput{}
		more := len(list) > in.Limit
		list = list[:min(len(list), in.Limit)]
		out.Body.Changes = make([]Change, len(list))
		for i := range list {
			out.Body.Changes[i] = changeOf(&list[i])
		}
		if more {
			out.Body.NextCursor = out.Body.Changes[len(list)-1].ID
		}
		return out, nil
	})
}

func changeOf(v *store.ChangeView) Change {
	kind, _, _ := strings.Cut(string(v.Type), ".")
	c := Change{
		ID: formatChangeID(v.ChangeID), Type: v.Type, ShowID: v.ShowID, Sequence: v.Version, N: v.N, At: v.At.UTC(),
		Actor: v.Actor, Reason: v.Reason, Amount: v.AmountMinor, Note: v.Detail,
		Object: ChangeObject{
			Kind: kind, ReservationID: optionalID(v.ReservationID), BookingID: optionalID(v.BookingID),
			PaymentID: optionalID(v.PaymentID), RefundID: optionalID(v.RefundID), TicketIDs: v.TicketIDs,
		},
		After: ChangeAfter{Status: v.After, Seats: []ChangedSeat{}, Areas: []ChangedArea{}},
	}
	switch kind {
	case "show":
		c.Object.ID = &v.ShowID
	case "place":
		c.Object.ID = optionalID(v.BlockID)
	case "booking":
		c.Object.ID = optionalID(v.BookingID)
	case "payment":
		c.Object.ID = optionalID(v.PaymentID)
	case "refund":
		c.Object.ID = optionalID(v.RefundID)
	case "ticket":
		if len(v.TicketIDs) == 1 {
			c.Object.ID = &v.TicketIDs[0]
		}
	default:
		c.Object.ID, c.Object.BlockID = optionalID(v.ReservationID), optionalID(v.BlockID)
	}
	if v.Before != "" {
		c.Before = &ChangeBefore{v.Before}
	}
	if !v.ExpiresAt.IsZero() {
		c.After.ExpiresAt = new(v.ExpiresAt.UTC())
	}
	for _, s := range v.Seats {
		c.After.Seats = append(c.After.Seats, ChangedSeat{optionalID(s.SeatID), s.Label, s.Status})
	}
	for _, a := range v.Areas {
		c.After.Areas = append(c.After.Areas, ChangedArea{optionalID(a.AreaID), a.Name, a.Units, a.Booked})
	}
	return c
}

func optionalID(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// A change's id is its place in the log, so that it is its own cursor.
const changeIDBytes = 8 + 16 + 8 + 4

func formatChangeID(id store.ChangeID) string {
	b := make([]byte, 0, changeIDBytes)
	b = binary.BigEndian.AppendUint64(b, id.Xid)
	b = append(b, id.ShowID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(id.Version))
	b = binary.BigEndian.AppendUint32(b, uint32(id.N))
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseChangeID(s string) (id store.ChangeID, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != changeIDBytes {
		return id, false
	}
	id.Xid = binary.BigEndian.Uint64(b)
	copy(id.ShowID[:], b[8:])
	id.Version, id.N = int64(binary.BigEndian.Uint64(b[24:])), int32(binary.BigEndian.Uint32(b[32:]))
	return id, true
}
