package api

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

func (a *API) registerSales() {
	register(a, Operation{
		ID: "readSales", Method: http.MethodGet, Path: "/shows/{showId}/sales", Tag: "Organisers", Weight: 5,
		Scopes:  []boxoffice.Scope{boxoffice.ScopeSalesRead},
		Summary: "Read how a show sells",
		Description: "Places, bookings and money of one moment, and what was sold in each minute of the last hour. " +
			"`takenAmount` less `refundedAmount` is what is kept. How many places are free is in `GET /shows/{showId}/availability`.",
		Codes: []boxoffice.Code{boxoffice.CodeNotFound},
	}, a.readSales)
}

// Sales are the figures of a show that sells. Amounts are in the currency's
// minor unit.
type Sales struct {
	ShowID         uuid.UUID     `json:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	Version        int64         `json:"version" doc:"The show's version" example:"42"`
	AsOf           time.Time     `json:"asOf" doc:"When it was so, by the database's clock" example:"2026-11-27T20:15:00.123456Z"`
	Currency       string        `json:"currency" doc:"ISO 4217" example:"EUR"`
	Holds          int           `json:"holds" doc:"Reservations that are not over" example:"14"`
	HeldPlaces     int           `json:"heldPlaces" doc:"Places in them" example:"31"`
	HeldAmount     int64         `json:"heldAmount" doc:"What they would cost" example:"139500"`
	Bookings       int           `json:"bookings" doc:"Confirmed bookings" example:"120"`
	Pending        int           `json:"pending" doc:"Bookings that are being paid" example:"3"`
	SoldPlaces     int           `json:"soldPlaces" doc:"Tickets that are not void" example:"287"`
	SoldAmount     int64         `json:"soldAmount" doc:"What they cost" example:"1291500"`
	TakenAmount    int64         `json:"takenAmount" doc:"What payments brought in, of whatever became of it" example:"1300500"`
	RefundedAmount int64         `json:"refundedAmount" doc:"What was given back or is on its way" example:"9000"`
	OpenAmount     int64         `json:"openAmount" doc:"Payments that have no outcome yet" example:"13500"`
	RefusedRefunds int           `json:"refusedRefunds" doc:"Refunds that the gateway would not make: people must look" example:"0"`
	Minutes        []SalesMinute `json:"minutes" doc:"Minutes of the last hour in which something was sold, the oldest first"`
}

// SalesMinute is what was sold in a minute, whatever became of it since.
type SalesMinute struct {
	At       time.Time `json:"at" doc:"Its beginning" example:"2026-11-27T20:14:00Z"`
	Bookings int       `json:"bookings" doc:"Bookings that were confirmed" example:"9"`
	Places   int       `json:"places" doc:"Places in them" example:"21"`
	Amount   int64     `json:"amount" doc:"What they cost" example:"94500"`
}

type salesOutput struct{ Body Sales }

func (a *API) readSales(ctx context.Context, call *Call, in *showInput) (*salesOutput, error) {
	n, err := a.opts.Store.Sales(ctx, call.Caller.OrganisationID, in.ShowID)
	if err != nil {
		return nil, err
	}
	out := &salesOutput{Sales{
		ShowID: in.ShowID, Version: n.Version, AsOf: n.Now.UTC(), Currency: n.Currency,
		Holds: n.Holds, HeldPlaces: n.Held, HeldAmount: n.HeldMinor, Bookings: n.Confirmed, Pending: n.Pending, SoldPlaces: n.Sold, SoldAmount: n.SoldMinor,
		TakenAmount: n.TakenMinor, RefundedAmount: n.RefundedMinor, OpenAmount: n.OpenMinor, RefusedRefunds: n.Refused,
		Minutes: make([]SalesMinute, len(n.Minutes)),
	}}
	for i, m := range n.Minutes {
		out.Body.Minutes[i] = SalesMinute{m.At.UTC(), m.Bookings, m.Places, m.AmountMinor}
	}
	return out, nil
}
