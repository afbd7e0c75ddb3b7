package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

// nfc brings a filter into the form in which texts are kept.
func nfc(s string) string { return norm.NFC.String(s) }

// instant is a time that was given, or nil.
func instant(c *boxoffice.Checks, field string, t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	c.Instant(field, &t)
	return &t
}

func (a *API) registerShows() {
	write := []boxoffice.Scope{boxoffice.ScopeCatalogueWrite}
	version := map[string]string{"Show-Version": "The show's version after this; for ?minVersion= on map reads."}
	register(a, Operation{
		ID: "listShows", Method: http.MethodGet, Path: "/shows", Tag: "Catalogue", Access: Public,
		Summary: "List shows",
		Description: "In time order. Without `from`, `to`, `status` and `externalRef`: the shows that are not over. Availability is coarse and at most five seconds old. " +
			"With the scope `catalogue:write` drafts are listed too.",
	}, a.listShows)
	register(a, Operation{
		ID: "readShow", Method: http.MethodGet, Path: "/shows/{showId}", Tag: "Catalogue", Access: Public,
		Summary: "Read a show", Description: "A draft is only found with the scope `catalogue:write`. `refunding` of a cancelled show says how far the paying back of its buyers is.",
		Codes: []boxoffice.Code{boxoffice.CodeNotFound},
	}, a.readShow)
	register(a, Operation{
		ID: "createShow", Method: http.MethodPost, Path: "/shows", Tag: "Organisers", Scopes: write, Status: http.StatusCreated,
		Summary: "Add a show",
		Description: "One performance of an event, with the places of a seating plan: `eventId`, `planId`, `prices`. Every category of the plan prices the ticket type `standard`.\n\n" +
			"Or a bare stock of places without a hall, in one call: `areas` with a capacity and prices each instead of `planId` and `prices`, `event` instead of `eventId` if it is new, " +
			"and `publish: true` to put it on sale at once. Each area of a stock is a category of its own that bears its name.\n\n" +
			"A show is a draft, which only organisers see, until it is published.",
		Codes: []boxoffice.Code{boxoffice.CodeConflict, boxoffice.CodeLockTimeout}, Headers: version,
	}, a.createShow)
	register(a, Operation{
		ID: "amendShow", Method: http.MethodPatch, Path: "/shows/{showId}", Tag: "Organisers", Scopes: write,
		Summary: "Change a show",
		Description: "Fields that are left out stay. `prices` replaces all prices; places that are held keep theirs. After the first hold the currency is fixed. " +
			"The plan may move to another version for the same hall that has every used seat; else `PLAN_IN_USE` names those that would vanish. " +
			"With `If-Match` the change is only made to the version that the ETag names.",
		Codes: []boxoffice.Code{
			boxoffice.CodeNotFound, boxoffice.CodePreconditionFailed, boxoffice.CodeConflict, boxoffice.CodePlanInUse,
			boxoffice.CodeCapacityInUse, boxoffice.CodeLockTimeout,
		},
		Headers: version,
	}, a.amendShow)
	for _, v := range []struct {
		verb                 boxoffice.ShowVerb
		summary, description string
	}{
		{boxoffice.PublishShow, "Publish a show", "Puts a draft on sale, within its sale window. Its event is published with it."},
		{boxoffice.PauseShow, "Pause sales", "No new holds and extensions. Holds that are live may be paid until they end."},
		{boxoffice.ResumeShow, "Resume sales", "Ends a pause."},
		{boxoffice.CancelShow, "Cancel a show", "For good: no more holds, no more sales. Every buyer gets all their money back, by jobs; `refunding` of `GET /shows/{showId}` says how far they are."},
	} {
		set := boxoffice.SetShowStatus{Verb: v.verb}
		register(a, Operation{
			ID: string(v.verb) + "Show", Method: http.MethodPost, Path: "/shows/{showId}/" + string(v.verb), Tag: "Organisers", Scopes: write,
			Summary: v.summary, Description: v.description + " Asking for what is already so changes nothing and succeeds.",
			Codes:   []boxoffice.Code{boxoffice.CodeNotFound, boxoffice.CodeConflict, boxoffice.CodeLockTimeout},
			Headers: version, Status: http.StatusOK,
		}, func(ctx context.Context, call *Call, in *showInput) (*showStatusOutput, error) {
			done, err := a.opts.Store.SetShowStatus(ctx, call.Caller.Actor(), &call.Key, call.Caller.OrganisationID, in.ShowID, set)
			if err != nil {
				return nil, err
			}
			finishWrite(call, done.Version, done.Replayed)
			return &showStatusOutput{ShowState{in.ShowID, string(v.verb.To()), done.Version}}, nil
		})
	}
	register(a, Operation{
		ID: "amendArea", Method: http.MethodPatch, Path: "/shows/{showId}/areas/{areaId}", Tag: "Organisers", Scopes: write,
		Summary: "Change an area's capacity", Description: "In this show only, and never below what is held and booked.",
		Codes:   []boxoffice.Code{boxoffice.CodeNotFound, boxoffice.CodeCapacityInUse, boxoffice.CodeConflict, boxoffice.CodeLockTimeout},
		Headers: version,
	}, a.amendArea)
}

// ShowVenue is where a show is.
type ShowVenue struct {
	VenueID uuid.UUID `json:"venueId" format:"uuid" doc:"The venue" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d70"`
	Name    string    `json:"name" doc:"Its name" example:"Grand Theatre"`
	City    string    `json:"city" doc:"Its city" example:"Vienna"`
	Country string    `json:"country" doc:"ISO 3166-1 alpha-2" example:"AT"`
}

// ShowHall is the room a show is in.
type ShowHall struct {
	HallID uuid.UUID `json:"hallId" format:"uuid" doc:"The hall" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d71"`
	Name   string    `json:"name" doc:"Its name" example:"Main stage"`
}

// ShowPrice is what a place costs.
type ShowPrice struct {
	Category   string `json:"category" doc:"Category of the place" example:"Stalls"`
	TicketType string `json:"ticketType" doc:"Who comes; every category has standard" example:"standard"`
	Amount     int64  `json:"amount" doc:"Gross price in the currency's minor unit" example:"4500"`
}

// ShowQueue is the state of a show's waiting room.
type ShowQueue struct {
	Open bool `json:"open" doc:"Whether buyers must go through it" example:"false"`
}

// ShowAvailability is how many places are free.
type ShowAvailability struct {
	Available int       `json:"available" doc:"Places that are free" example:"312"`
	Capacity  int       `json:"capacity" doc:"Places in all" example:"480"`
	AsOf      time.Time `json:"asOf" doc:"When it was so; at most five seconds ago" example:"2026-11-27T20:00:00.123456Z"`
}

// ShowRefunding is how far the paying back of a cancelled show is.
type ShowRefunding struct {
	Left           int  `json:"left" doc:"Bookings that are not cancelled yet" example:"12"`
	Done           int  `json:"done" doc:"Bookings that are" example:"468"`
	RefundsPending int  `json:"refundsPending" doc:"Refunds that the gateway has not answered yet" example:"3"`
	RefundsFailed  int  `json:"refundsFailed" doc:"Refunds that the gateway refuses: people must look" example:"0"`
	Complete       bool `json:"complete" doc:"Everybody has their money back" example:"false"`
}

// Show is one performance of an event.
type Show struct {
	ShowID                  uuid.UUID               `json:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	EventID                 uuid.UUID               `json:"eventId" format:"uuid" doc:"What is performed" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d72"`
	Venue                   *ShowVenue              `json:"venue,omitempty" doc:"Where; missing for a stock that is nowhere"`
	Hall                    *ShowHall               `json:"hall,omitempty" doc:"In which room; missing for a stock"`
	PlanID                  *uuid.UUID              `json:"planId,omitempty" format:"uuid" doc:"Its seating plan; missing for a stock" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d73"`
	StartsAt                time.Time               `json:"startsAt" doc:"Start" example:"2026-11-27T19:00:00Z"`
	EndsAt                  *time.Time              `json:"endsAt,omitempty" doc:"End" example:"2026-11-27T21:30:00Z"`
	DoorsAt                 *time.Time              `json:"doorsAt,omitempty" doc:"Doors open" example:"2026-11-27T18:00:00Z"`
	TimeZone                string                  `json:"timeZone" doc:"IANA zone to print the times in" example:"Europe/Vienna"`
	Language                string                  `json:"language,omitempty" doc:"BCP 47 tag, when it differs from the event's" example:"de"`
	Format                  []string                `json:"format" doc:"imax, 3d, dubbed and the like" example:"[\"imax\"]"`
	Accessibility           []string                `json:"accessibility" doc:"subtitled, audio_description, relaxed and the like" example:"[\"subtitled\"]"`
	Note                    string                  `json:"note,omitempty" doc:"For buyers" example:"No late admission."`
	Status                  string                  `json:"status" enum:"draft,on_sale,paused,cancelled,ended" doc:"on_sale and paused become ended by themselves" example:"on_sale"`
	SoldOut                 bool                    `json:"soldOut" doc:"No place is free" example:"false"`
	Version                 int64                   `json:"version" doc:"Raised by each change of the show or its places" example:"42"`
	Currency                string                  `json:"currency" doc:"ISO 4217" example:"EUR"`
	HoldSeconds             int                     `json:"holdSeconds" doc:"Length of a hold, seconds" example:"900"`
	MaxHoldSeconds          int                     `json:"maxHoldSeconds" doc:"How far a hold can be extended, seconds from its creation" example:"1800"`
	MaxPlacesPerReservation int                     `json:"maxPlacesPerReservation" doc:"Places in one reservation" example:"5"`
	MaxPlacesPerCustomer    int                     `json:"maxPlacesPerCustomer,omitempty" doc:"Places of one customer in this show; missing: no limit" example:"10"`
	OfferSeconds            int                     `json:"offerSeconds" doc:"How long an offer of the waitlist lasts, seconds" example:"900"`
	SalesStartAt            *time.Time              `json:"salesStartAt,omitempty" doc:"Sales begin; missing: at publication" example:"2026-10-01T10:00:00Z"`
	SalesEndAt              *time.Time              `json:"salesEndAt,omitempty" doc:"Sales end; missing: with the show" example:"2026-11-27T18:30:00Z"`
	SaleOpen                bool                    `json:"saleOpen" doc:"Whether places can be held now" example:"true"`
	Queue                   ShowQueue               `json:"queue" doc:"The waiting room"`
	Prices                  []ShowPrice             `json:"prices" doc:"What places cost, by category and ticket type"`
	Refunding               *ShowRefunding          `json:"refunding,omitempty" doc:"Of a cancelled show that is read by itself: how far the paying back is"`
	Availability            ShowAvailability        `json:"availability" doc:"Coarse; /availability is exact"`
	Cancellation            *boxoffice.Cancellation `json:"cancellation,omitempty" doc:"On which terms buyers may cancel; missing: they may not"`
	TestMode                bool                    `json:"testMode,omitempty" doc:"A show to try things on" example:"false"`
	ExternalRef             string                  `json:"externalRef,omitempty" doc:"The organiser's own identifier" example:"demo-theatre-tonight"`
	Metadata                map[string]string       `json:"metadata,omitempty" doc:"The organiser's own pairs; shown with the scope catalogue:write only" example:"{\"season\":\"2026\"}"`
}

func showBody(l *store.ShowListing, staff bool) Show {
	s := Show{
		ShowID: l.ShowID, EventID: l.EventID, StartsAt: l.StartsAt.UTC(), EndsAt: inUTC(l.EndsAt), DoorsAt: inUTC(l.Facts.DoorsAt), TimeZone: l.TimeZone,
		Language: l.Facts.Language, Format: l.Facts.Format, Accessibility: l.Facts.Accessibility, Note: l.Facts.Note,
		Status: string(l.StatusAt(l.Now)), SoldOut: l.Availability.Capacity > 0 && l.Availability.Available <= 0, Version: l.Version,
		Currency: l.Currency, HoldSeconds: l.HoldSeconds, MaxHoldSeconds: l.MaxHoldSeconds,
		MaxPlacesPerReservation: l.MaxPlacesPerReservation, MaxPlacesPerCustomer: l.MaxPlacesPerCustomer,
		OfferSeconds: l.OfferSeconds,
		SalesStartAt: inUTC(l.SalesStartAt), SalesEndAt: inUTC(l.SalesEndAt), SaleOpen: l.OnSale(l.Now) == nil,
		Prices:       make([]ShowPrice, len(l.PriceList)),
		Availability: ShowAvailability{l.Availability.Available, l.Availability.Capacity, l.Availability.AsOf.UTC()},
		Queue:        ShowQueue{l.QueueOpen},
		Cancellation: l.Facts.Cancellation, TestMode: l.Facts.TestMode, ExternalRef: l.Facts.ExternalRef,
	}
	for i, p := range l.PriceList {
		s.Prices[i] = ShowPrice{p.Category, p.TicketType, p.AmountMinor}
	}
	if l.VenueID != uuid.Nil {
		s.Venue = &ShowVenue{l.VenueID, l.VenueName, l.City, l.Country}
	}
	if l.HallID != uuid.Nil {
		s.Hall = &ShowHall{l.HallID, l.HallName}
	}
	if l.PlanID != uuid.Nil {
		s.PlanID = &l.PlanID
	}
	if staff {
		s.Metadata = l.Facts.Metadata
	}
	return s
}

func inUTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}

// showRevision begins the ETag of something with a revision and with parts that
// change beside it.
func showRevision(revision int64) string { return strconv.FormatInt(revision, 10) + "-" }

type showInput struct {
	ShowID uuid.UUID `path:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
}

func (a *API) readShow(ctx context.Context, call *Call, in *showInput) (*catalogueOutput[Show], error) {
	drafts := seesDrafts(&call.Caller)
	l, err := a.opts.Store.ReadShow(ctx, in.ShowID, call.Caller.OrganisationID, drafts)
	if err != nil {
		return nil, err
	}
	body := showBody(&l, drafts)
	if l.Status == boxoffice.ShowCancelled {
		p, err := a.opts.Store.CancellationProgress(ctx, in.ShowID)
		if err != nil {
			return nil, err
		}
		body.Refunding = &ShowRefunding{p.Left, p.Done, p.Sending, p.Refused, p.Complete}
	}
	return answerHashed(call, showRevision(l.Definition), availabilityAge, body)
}

type listShowsInput struct {
	EventID     uuid.UUID `query:"eventId" format:"uuid" doc:"Of this event" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d72"`
	VenueID     uuid.UUID `query:"venueId" format:"uuid" doc:"In this venue" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d70"`
	From        time.Time `query:"from" doc:"Starting at this time or later" example:"2026-11-27T00:00:00Z"`
	To          time.Time `query:"to" doc:"Starting before this time" example:"2026-12-01T00:00:00Z"`
	Status      string    `query:"status" enum:"draft,on_sale,paused,cancelled,ended" doc:"In this state" example:"on_sale"`
	ExternalRef string    `query:"externalRef" maxLength:"200" doc:"The one with this externalRef; other filters are not looked at" example:"demo-theatre-tonight"`
	Cursor      string    `query:"cursor" maxLength:"200" doc:"nextCursor of the page before" example:"c2hvd3MgMTc2"`
	Limit       int       `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Shows a page" example:"50"`
}

type showsBody struct {
	Shows      []Show `json:"shows" doc:"The page"`
	NextCursor string `json:"nextCursor,omitempty" doc:"Send it as cursor for the next page; missing on the last" example:"c2hvd3MgMTc2"`
}

func (a *API) listShows(ctx context.Context, call *Call, in *listShowsInput) (*catalogueOutput[showsBody], error) {
	var c boxoffice.Checks
	f := store.ShowFilter{
		Organisation: call.Caller.OrganisationID, Drafts: seesDrafts(&call.Caller), EventID: in.EventID, VenueID: in.VenueID,
		From: instant(&c, "from", in.From), To: instant(&c, "to", in.To), Status: in.Status, ExternalRef: nfc(in.ExternalRef),
		Page: store.Page{Limit: in.Limit + 1},
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	after, err := cursorParts("shows", in.Cursor, 2)
	if err != nil {
		return nil, err
	}
	if after != nil {
		micros, err := strconv.ParseInt(after[0], 10, 64)
		id, idErr := uuid.Parse(after[1])
		start := time.UnixMicro(micros)
		if err != nil || idErr != nil || start.Year() < 1900 || start.Year() > 2300 {
			return nil, errCursor()
		}
		f.AfterStart, f.After = &start, id
	}
	list, err := a.opts.Store.Shows(ctx, f)
	if err != nil {
		return nil, err
	}
	body := showsBody{Shows: []Show{}}
	list, body.NextCursor = page(list, in.Limit, func(l store.ShowListing) string {
		return cursor("shows", strconv.FormatInt(l.StartsAt.UnixMicro(), 10), l.ShowID.String())
	})
	for i := range list {
		body.Shows = append(body.Shows, showBody(&list[i], f.Drafts))
	}
	return answerHashed(call, "", availabilityAge, body)
}

// PriceFields are a price of a category of the plan, or of a stock's area by
// its name.
type PriceFields struct {
	Category   string `json:"category" minLength:"1" maxLength:"64" doc:"Category of the plan; in a stock, the area's name" example:"Stalls"`
	TicketType string `json:"ticketType,omitempty" minLength:"1" maxLength:"64" default:"standard" doc:"Who comes" example:"standard"`
	Amount     int64  `json:"amount" minimum:"0" maximum:"1000000000000" doc:"Gross price in the currency's minor unit" example:"4500"`
}

func priceList(fields []PriceFields) []store.Price {
	list := make([]store.Price, len(fields))
	for i, p := range fields {
		list[i] = store.Price{Category: p.Category, TicketType: p.TicketType, AmountMinor: p.Amount}
	}
	return list
}

// AreaPrice is a price of a stock's area.
type AreaPrice struct {
	TicketType string `json:"ticketType,omitempty" minLength:"1" maxLength:"64" default:"standard" doc:"Who comes" example:"standard"`
	Amount     int64  `json:"amount" minimum:"0" maximum:"1000000000000" doc:"Gross price in the currency's minor unit" example:"3500"`
}

// AreaFields are a part of a stock of places.
type AreaFields struct {
	Name        string      `json:"name" minLength:"1" maxLength:"64" doc:"Display name; its category too" example:"Floor"`
	Capacity    int         `json:"capacity" minimum:"0" maximum:"1000000" doc:"How many places" example:"250"`
	Prices      []AreaPrice `json:"prices" minItems:"1" maxItems:"100" doc:"Prices; the ticket type standard is needed"`
	ExternalRef string      `json:"externalRef,omitempty" maxLength:"200" doc:"Your own identifier, unique in the show" example:"sku-8231"`
}

type createShowInput struct {
	Body struct {
		EventID *uuid.UUID   `json:"eventId,omitempty" format:"uuid" doc:"What is performed; either this or event" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d72"`
		Event   *EventFields `json:"event,omitempty" doc:"A new event, instead of eventId"`

		PlanID *uuid.UUID    `json:"planId,omitempty" format:"uuid" doc:"The seating plan; either this or areas" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d73"`
		Prices []PriceFields `json:"prices,omitempty" maxItems:"2000" doc:"Prices of the plan's categories, each with the ticket type standard at least"`

		Areas    []AreaFields `json:"areas,omitempty" minItems:"1" maxItems:"1000" doc:"A bare stock of places, instead of planId and prices"`
		VenueID  *uuid.UUID   `json:"venueId,omitempty" format:"uuid" doc:"Where a stock is, if it is somewhere; a plan's hall is in its venue" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d70"`
		TimeZone string       `json:"timeZone,omitempty" maxLength:"100" doc:"IANA zone of a stock that has no venue; default UTC" example:"Europe/Vienna"`

		StartsAt                time.Time               `json:"startsAt" doc:"Start, with an offset" example:"2026-11-27T19:00:00Z"`
		EndsAt                  *time.Time              `json:"endsAt,omitempty" doc:"End; without it sales end with the start" example:"2026-11-27T21:30:00Z"`
		DoorsAt                 *time.Time              `json:"doorsAt,omitempty" doc:"Doors open" example:"2026-11-27T18:00:00Z"`
		Currency                string                  `json:"currency" minLength:"3" maxLength:"3" pattern:"^[A-Z]{3}$" doc:"ISO 4217" example:"EUR"`
		HoldSeconds             int                     `json:"holdSeconds,omitempty" minimum:"1" maximum:"3600" default:"900" doc:"Length of a hold, seconds" example:"900"`
		MaxHoldSeconds          int                     `json:"maxHoldSeconds,omitempty" minimum:"1" maximum:"604800" doc:"How far a hold can be extended, seconds from its creation; not below holdSeconds. Default: 1800, or holdSeconds if that is more" example:"1800"`
		MaxPlacesPerReservation int                     `json:"maxPlacesPerReservation,omitempty" minimum:"1" maximum:"10000" default:"5" doc:"Places in one reservation" example:"5"`
		MaxPlacesPerCustomer    int                     `json:"maxPlacesPerCustomer,omitempty" minimum:"1" maximum:"1000000" doc:"Places of one customer in this show; default: no limit" example:"10"`
		OfferSeconds            int                     `json:"offerSeconds,omitempty" minimum:"1" maximum:"604800" default:"900" doc:"How long an offer of the waitlist lasts, seconds" example:"3600"`
		SalesStartAt            *time.Time              `json:"salesStartAt,omitempty" doc:"Sales begin; default: at publication" example:"2026-10-01T10:00:00Z"`
		SalesEndAt              *time.Time              `json:"salesEndAt,omitempty" doc:"Sales end; default: with the show" example:"2026-11-27T18:30:00Z"`
		Language                string                  `json:"language,omitempty" maxLength:"35" doc:"BCP 47 tag, when it differs from the event's" example:"de"`
		Format                  []string                `json:"format,omitempty" maxItems:"20" maxLength:"50" doc:"imax, 3d, dubbed and the like" example:"[\"imax\"]"`
		Accessibility           []string                `json:"accessibility,omitempty" maxItems:"20" maxLength:"50" doc:"subtitled, audio_description, relaxed and the like" example:"[\"subtitled\"]"`
		Note                    string                  `json:"note,omitempty" maxLength:"2000" doc:"For buyers" example:"No late admission."`
		Cancellation            *boxoffice.Cancellation `json:"cancellation,omitempty" doc:"On which terms buyers may cancel; default: they may not"`
		TestMode                bool                    `json:"testMode,omitempty" doc:"A show to try things on" example:"false"`
		ExternalRef             string                  `json:"externalRef,omitempty" maxLength:"200" doc:"Your own identifier, unique among your shows" example:"demo-theatre-tonight"`
		Metadata                map[string]string       `json:"metadata,omitempty" maxProperties:"20" doc:"At most 20 pairs of your own: keys to 40, values to 500 characters" example:"{\"season\":\"2026\"}"`
		Publish                 bool                    `json:"publish,omitempty" doc:"Put it on sale at once" example:"true"`
	}
}

// CreatedArea is an area of a new show.
type CreatedArea struct {
	AreaID      uuid.UUID `json:"areaId" format:"uuid" doc:"The area" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6f"`
	Name        string    `json:"name" doc:"Its name" example:"Floor"`
	Capacity    int       `json:"capacity" doc:"Its places" example:"250"`
	ExternalRef string    `json:"externalRef,omitempty" doc:"Your own identifier" example:"sku-8231"`
}

// CreatedShow is what came of making a show.
type CreatedShow struct {
	ShowID  uuid.UUID     `json:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	EventID uuid.UUID     `json:"eventId" format:"uuid" doc:"Its event" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d72"`
	PlanID  *uuid.UUID    `json:"planId,omitempty" format:"uuid" doc:"Its plan; missing for a stock" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d73"`
	Status  string        `json:"status" enum:"draft,on_sale" doc:"draft, unless publish was true" example:"draft"`
	Version int64         `json:"version" doc:"The show's version" example:"0"`
	Areas   []CreatedArea `json:"areas" doc:"Its areas"`
}

func (a *API) createShow(ctx context.Context, call *Call, in *createShowInput) (*createdOutput[CreatedShow], error) {
	b := &in.Body
	var c boxoffice.Checks
	n := store.NewShow{
		Organisation: call.Caller.OrganisationID, TimeZone: b.TimeZone,
		StartsAt: b.StartsAt, EndsAt: b.EndsAt, SalesStartAt: b.SalesStartAt, SalesEndAt: b.SalesEndAt, Currency: b.Currency,
		HoldSeconds: b.HoldSeconds, MaxHoldSeconds: b.MaxHoldSeconds,
		MaxPlacesPerReservation: b.MaxPlacesPerReservation, MaxPlacesPerCustomer: b.MaxPlacesPerCustomer,
		OfferSeconds: b.OfferSeconds,
		Facts: boxoffice.ShowFacts{
			DoorsAt: b.DoorsAt, Language: b.Language, Format: b.Format, Accessibility: b.Accessibility, Note: b.Note,
			Cancellation: b.Cancellation, TestMode: b.TestMode, ExternalRef: b.ExternalRef, Metadata: b.Metadata,
		},
		Publish: b.Publish,
	}
	switch {
	case (b.EventID == nil) == (b.Event == nil):
		c.Add("eventId", "either eventId or event is needed")
	case b.EventID != nil:
		n.EventID = *b.EventID
	default:
		e := b.Event.event(n.Organisation)
		n.Event = &e
	}
	switch {
	case (b.PlanID == nil) == (b.Areas == nil):
		c.Add("planId", "either planId or areas is needed")
	case b.PlanID != nil:
		n.PlanID, n.Prices = *b.PlanID, priceList(b.Prices)
		if b.VenueID != nil {
			c.Add("venueId", "is that of the plan's hall")
		}
		if b.TimeZone != "" {
			c.Add("timeZone", "is that of the plan's hall")
		}
	default:
		if b.Prices != nil {
			c.Add("prices", "belong to the areas of a stock")
		}
		if b.VenueID != nil {
			n.VenueID = *b.VenueID
			if b.TimeZone != "" {
				c.Add("timeZone", "is that of the venue")
			}
		}
		for _, area := range b.Areas {
			of := store.NewArea{Name: area.Name, Capacity: area.Capacity, ExternalRef: area.ExternalRef}
			for _, p := range area.Prices {
				of.Prices = append(of.Prices, store.Price{TicketType: p.TicketType, AmountMinor: p.Amount})
			}
			n.Areas = append(n.Areas, of)
		}
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	show, replayed, err := a.opts.Store.CreateShow(ctx, call.Caller.Actor(), call.Key, n)
	if err != nil {
		return nil, err
	}
	body := CreatedShow{ShowID: show.ShowID, EventID: show.EventID, Status: string(show.Status), Version: show.Version, Areas: []CreatedArea{}}
	if show.PlanID != uuid.Nil {
		body.PlanID = &show.PlanID
	}
	for _, area := range show.Areas {
		body.Areas = append(body.Areas, CreatedArea{area.ID, area.Name, area.Capacity, area.ExternalRef})
	}
	call.ShowVersion(show.Version)
	// The first definition, and the one that publishing made.
	return created(call, "/shows/", show.ShowID, 1+show.Version, replayed, body), nil
}

// ShowState is what came of steering a show.
type ShowState struct {
	ShowID  uuid.UUID `json:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	Status  string    `json:"status" enum:"on_sale,paused,cancelled" doc:"What the show is now" example:"on_sale"`
	Version int64     `json:"version" doc:"The show's version after this" example:"43"`
}

type showStatusOutput struct{ Body ShowState }

type amendShowInput struct {
	ShowID uuid.UUID `path:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	Body   struct {
		StartsAt                amended[time.Time]               `json:"startsAt,omitzero" doc:"Start, with an offset" example:"2026-11-27T19:00:00Z"`
		EndsAt                  amended[time.Time]               `json:"endsAt,omitzero" nullable:"true" doc:"End; null: not known" example:"2026-11-27T21:30:00Z"`
		DoorsAt                 amended[time.Time]               `json:"doorsAt,omitzero" nullable:"true" doc:"Doors open; null: not known" example:"2026-11-27T18:00:00Z"`
		SalesStartAt            amended[time.Time]               `json:"salesStartAt,omitzero" nullable:"true" doc:"Sales begin; null: at publication" example:"2026-10-01T10:00:00Z"`
		SalesEndAt              amended[time.Time]               `json:"salesEndAt,omitzero" nullable:"true" doc:"Sales end; null: with the show" example:"2026-11-27T18:30:00Z"`
		Currency                amended[string]                  `json:"currency,omitzero" minLength:"3" maxLength:"3" pattern:"^[A-Z]{3}$" doc:"ISO 4217; fixed after the first hold" example:"EUR"`
		HoldSeconds             amended[int]                     `json:"holdSeconds,omitzero" minimum:"1" maximum:"3600" doc:"Length of a hold, seconds" example:"900"`
		MaxHoldSeconds          amended[int]                     `json:"maxHoldSeconds,omitzero" minimum:"1" maximum:"604800" doc:"How far a hold can be extended, seconds from its creation" example:"1800"`
		MaxPlacesPerReservation amended[int]                     `json:"maxPlacesPerReservation,omitzero" minimum:"1" maximum:"10000" doc:"Places in one reservation; holds that exist stay" example:"5"`
		MaxPlacesPerCustomer    amended[int]                     `json:"maxPlacesPerCustomer,omitzero" minimum:"1" maximum:"1000000" nullable:"true" doc:"Places of one customer in this show; null: no limit" example:"10"`
		OfferSeconds            amended[int]                     `json:"offerSeconds,omitzero" minimum:"1" maximum:"604800" doc:"How long an offer of the waitlist lasts, seconds; offers that exist stay" example:"3600"`
		Prices                  amended[[]PriceFields]           `json:"prices,omitzero" minItems:"1" maxItems:"2000" doc:"All prices; they replace those that were"`
		Queue                   amended[*QueueFields]            `json:"queue,omitzero" doc:"Settings of the waiting room; those that are left out stay"`
		PlanID                  amended[uuid.UUID]               `json:"planId,omitzero" format:"uuid" doc:"Another version of the hall's plan" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d73"`
		Language                amended[string]                  `json:"language,omitzero" maxLength:"35" nullable:"true" doc:"BCP 47 tag; null: the event's" example:"de"`
		Format                  amended[[]string]                `json:"format,omitzero" maxItems:"20" maxLength:"50" doc:"imax, 3d, dubbed and the like" example:"[\"imax\"]"`
		Accessibility           amended[[]string]                `json:"accessibility,omitzero" maxItems:"20" maxLength:"50" doc:"subtitled, audio_description, relaxed and the like" example:"[\"subtitled\"]"`
		Note                    amended[string]                  `json:"note,omitzero" maxLength:"2000" nullable:"true" doc:"For buyers; null takes it away" example:"No late admission."`
		Cancellation            amended[*boxoffice.Cancellation] `json:"cancellation,omitzero" nullable:"true" doc:"On which terms buyers may cancel; null: they may not"`
		TestMode                amended[bool]                    `json:"testMode,omitzero" doc:"A show to try things on" example:"false"`
		ExternalRef             amended[string]                  `json:"externalRef,omitzero" maxLength:"200" nullable:"true" doc:"Your own identifier; null takes it away" example:"demo-theatre-tonight"`
		Metadata                amended[map[string]string]       `json:"metadata,omitzero" maxProperties:"20" nullable:"true" doc:"All pairs; they replace those that were" example:"{\"season\":\"2026\"}"`
	}
}

// ChangedShow is what came of changing a show.
type ChangedShow struct {
	ShowID  uuid.UUID `json:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	Version int64     `json:"version" doc:"The show's version after this" example:"43"`
}

type changedShowOutput struct{ Body ChangedShow }

func (a *API) amendShow(ctx context.Context, call *Call, in *amendShowInput) (*changedShowOutput, error) {
	b := &in.Body
	var c boxoffice.Checks
	checkNulls(&c, b)
	if err := c.Err(); err != nil {
		return nil, err
	}
	definition, err := ifMatch(call)
	if err != nil {
		return nil, err
	}
	change := store.ShowAmendment{
		Definition: definition, StartsAt: b.StartsAt.ptr(),
		EndsAt: orNull(b.EndsAt), SalesStartAt: orNull(b.SalesStartAt), SalesEndAt: orNull(b.SalesEndAt),
		Currency: b.Currency.ptr(), HoldSeconds: b.HoldSeconds.ptr(), MaxHoldSeconds: b.MaxHoldSeconds.ptr(),
		MaxPlacesPerReservation: b.MaxPlacesPerReservation.ptr(), OfferSeconds: b.OfferSeconds.ptr(), PlanID: b.PlanID.ptr(),
	}
	if b.MaxPlacesPerCustomer.given {
		change.MaxPlacesPerCustomer = &b.MaxPlacesPerCustomer.value // null is 0: no limit
	}
	change.Queue = b.Queue.value.change()
	if b.Prices.given {
		change.Prices = priceList(b.Prices.value)
	}
	if b.DoorsAt.given || b.Language.given || b.Format.given || b.Accessibility.given || b.Note.given ||
		b.Cancellation.given || b.TestMode.given || b.ExternalRef.given || b.Metadata.given {
		change.Facts = func(f *boxoffice.ShowFacts) {
			if doors := orNull(b.DoorsAt); doors != nil {
				f.DoorsAt = *doors
			}
			b.Language.to(&f.Language)
			b.Format.to(&f.Format)
			b.Accessibility.to(&f.Accessibility)
			b.Note.to(&f.Note)
			b.Cancellation.to(&f.Cancellation)
			b.TestMode.to(&f.TestMode)
			b.ExternalRef.to(&f.ExternalRef)
			b.Metadata.to(&f.Metadata)
		}
	}
	done, err := a.opts.Store.AmendShow(ctx, call.Caller.Actor(), &call.Key, call.Caller.OrganisationID, in.ShowID, change)
	if err != nil {
		return nil, err
	}
	finishWrite(call, done.Version, done.Replayed)
	return &changedShowOutput{ChangedShow{in.ShowID, done.Version}}, nil
}

// orNull is nil for what stays, and a pointer to nil for what is taken away.
func orNull[T any](f amended[T]) **T {
	if !f.given {
		return nil
	}
	var to *T
	if !f.null {
		to = &f.value
	}
	return &to
}

type amendAreaInput struct {
	ShowID uuid.UUID `path:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	AreaID uuid.UUID `path:"areaId" format:"uuid" doc:"The area" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6f"`
	Body   struct {
		Capacity int `json:"capacity" minimum:"0" maximum:"1000000" doc:"Places in all" example:"300"`
	}
}

// AreaCapacity is what came of changing an area.
type AreaCapacity struct {
	ShowID   uuid.UUID `json:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	AreaID   uuid.UUID `json:"areaId" format:"uuid" doc:"The area" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6f"`
	Capacity int       `json:"capacity" doc:"Its places in all" example:"300"`
	Version  int64     `json:"version" doc:"The show's version after this" example:"43"`
}

type areaCapacityOutput struct{ Body AreaCapacity }

func (a *API) amendArea(ctx context.Context, call *Call, in *amendAreaInput) (*areaCapacityOutput, error) {
	done, err := a.opts.Store.SetAreaCapacity(ctx, call.Caller.Actor(), &call.Key, call.Caller.OrganisationID, in.ShowID, in.AreaID, in.Body.Capacity)
	if err != nil {
		return nil, err
	}
	finishWrite(call, done.Version, done.Replayed)
	return &areaCapacityOutput{AreaCapacity{in.ShowID, in.AreaID, in.Body.Capacity, done.Version}}, nil
}
