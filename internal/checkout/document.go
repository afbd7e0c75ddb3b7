package checkout

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/internal/tickets"
)

// Occasion is what people come for, as they say it.
type Occasion struct {
	Event string
	Show  store.ShowListing
	Zone  *time.Location // of the show; UTC when its name is not known here
}

// Occasion reads what people come to a show of an organisation for.
func (c *Checkout) Occasion(ctx context.Context, organisation, id uuid.UUID) (*Occasion, error) {
	show, err := c.store.ReadShow(ctx, id, organisation, true)
	if err != nil {
		return nil, err
	}
	event, err := c.store.ReadEvent(ctx, show.EventID, store.EventFilter{Organisation: organisation, Drafts: true, ShowsMax: 1})
	if err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(show.TimeZone)
	if err != nil {
		zone = time.UTC
	}
	return &Occasion{event.Title, show, zone}, nil
}

// Printable makes the tickets of a booking that are not void ready to be
// printed.
func (o *Occasion) Printable(v *store.BookingView, signer *tickets.Signer, language string) tickets.Document {
	doc := tickets.Document{Language: language}
	for _, t := range v.Tickets {
		if t.Status == boxoffice.TicketVoid {
			continue
		}
		p := tickets.Ticket{
			ID: t.ID, Code: signer.Code(tickets.Claims{TicketID: t.ID, ShowID: v.ShowID}),
			Event: o.Event, Venue: o.Show.VenueName, Hall: o.Show.HallName, Starts: o.Show.StartsAt.In(o.Zone),
			Section: t.Section, Row: t.Row, Seat: t.Number,
			Type: t.TicketType, PriceMinor: t.PriceMinor, Currency: v.Currency, Holder: t.HolderName, Reference: v.Reference,
		}
		if t.SeatNo < 0 {
			p.Area = t.Seat.Label
		}
		if at := o.Show.Facts.DoorsAt; at != nil {
			p.Doors = at.In(o.Zone)
		}
		doc.Tickets = append(doc.Tickets, p)
	}
	return doc
}
