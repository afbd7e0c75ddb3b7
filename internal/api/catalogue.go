package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

// Shows listed with an event; GET /shows?eventId= has the rest.
const (
	showsInList  = 20
	showsOfEvent = 200
)

// seesDrafts says whether the caller is an organiser, who sees what is not
// published.
func seesDrafts(c *boxoffice.Caller) bool { return c.Has(boxoffice.ScopeCatalogueWrite) }

func (a *API) registerCatalogue() {
	write := []boxoffice.Scope{boxoffice.ScopeCatalogueWrite}
	patch := []boxoffice.Code{boxoffice.CodeNotFound, boxoffice.CodePreconditionFailed, boxoffice.CodeConflict}
	const patching = " Fields that are left out stay. With `If-Match` the change is only made to the version that the ETag names."

	register(a, Operation{
		ID: "createVenue", Method: http.MethodPost, Path: "/venues", Tag: "Organisers", Scopes: write, Status: http.StatusCreated,
		Summary: "Add a venue", Description: "A house: a theatre, a cinema, an arena. Its halls are added next.",
		Codes: []boxoffice.Code{boxoffice.CodeConflict},
	}, a.createVenue)
	register(a, Operation{
		ID: "amendVenue", Method: http.MethodPatch, Path: "/venues/{venueId}", Tag: "Organisers", Scopes: write,
		Summary: "Change a venue", Description: "When the time zone is corrected, the venue's shows keep their instants and are printed in the new zone." + patching,
		Codes: patch,
	}, a.amendVenue)
	register(a, Operation{
		ID: "listVenues", Method: http.MethodGet, Path: "/venues", Tag: "Catalogue", Access: Public,
		Summary: "List venues", Description: "The oldest first.",
	}, a.listVenues)
	register(a, Operation{
		ID: "readVenue", Method: http.MethodGet, Path: "/venues/{venueId}", Tag: "Catalogue", Access: Public,
		Summary: "Read a venue", Description: "A venue with its time zone.", Codes: []boxoffice.Code{boxoffice.CodeNotFound},
	}, a.readVenue)

	register(a, Operation{
		ID: "createHall", Method: http.MethodPost, Path: "/halls", Tag: "Organisers", Scopes: write, Status: http.StatusCreated,
		Summary: "Add a hall", Description: "A room of a venue. Its seating plan is imported next.",
		Codes: []boxoffice.Code{boxoffice.CodeConflict},
	}, a.createHall)
	register(a, Operation{
		ID: "amendHall", Method: http.MethodPatch, Path: "/halls/{hallId}", Tag: "Organisers", Scopes: write,
		Summary: "Change a hall", Description: "Its name or externalRef." + patching, Codes: patch,
	}, a.amendHall)
	register(a, Operation{
		ID: "listHalls", Method: http.MethodGet, Path: "/halls", Tag: "Catalogue", Access: Public,
		Summary: "List halls", Description: "The oldest first.",
	}, a.listHalls)
	register(a, Operation{
		ID: "readHall", Method: http.MethodGet, Path: "/halls/{hallId}", Tag: "Catalogue", Access: Public,
		Summary: "Read a hall", Description: "A room of a venue.", Codes: []boxoffice.Code{boxoffice.CodeNotFound},
	}, a.readHall)

	register(a, Operation{
		ID: "createEvent", Method: http.MethodPost, Path: "/events", Tag: "Organisers", Scopes: write, Status: http.StatusCreated,
		Summary: "Add an event", Description: "A film, a concert, a play, a match: what people come for. It is a draft until its first show is published.",
		Codes: []boxoffice.Code{boxoffice.CodeConflict},
	}, a.createEvent)
	register(a, Operation{
		ID: "amendEvent", Method: http.MethodPatch, Path: "/events/{eventId}", Tag: "Organisers", Scopes: write,
		Summary: "Change an event", Description: "`archived` takes it out of the lists, and back." + patching, Codes: patch,
	}, a.amendEvent)
	register(a, Operation{
		ID: "listEvents", Method: http.MethodGet, Path: "/events", Tag: "Catalogue", Access: Public,
		Summary: "What is on",
		Description: "Events with a show that matches, the newest events first, each with its first " + strconv.Itoa(showsInList) + " matching shows; `GET /shows?eventId=` has them all. " +
			"Without `date`, `from` and `to` only shows that are not over count. Availability is coarse and at most five seconds old. " +
			"The answer is kept for all who ask the same for two seconds, and says its `Age`; with `Cache-Control: no-cache` it is made anew. " +
			"Films are events of kind `movie`. With the scope `catalogue:write` drafts are listed too.",
	}, a.listEvents)
	register(a, Operation{
		ID: "readEvent", Method: http.MethodGet, Path: "/events/{eventId}", Tag: "Catalogue", Access: Public,
		Summary:     "Read an event",
		Description: "With its first " + strconv.Itoa(showsOfEvent) + " shows that are not over. A draft is only found with the scope `catalogue:write`.",
		Codes:       []boxoffice.Code{boxoffice.CodeNotFound},
	}, a.readEvent)
	register(a, Operation{
		ID: "listFacets", Method: http.MethodGet, Path: "/facets", Tag: "Catalogue", Access: Public,
		Summary: "What there is to filter by", Description: "Cities, genres, languages and kinds of the events that are on, each with the number of events, the most frequent first. Kept for a minute, as its `Age` says; with `Cache-Control: no-cache` it is counted anew.",
	}, a.listFacets)
}

// Venue is a house.
type Venue struct {
	VenueID     uuid.UUID `json:"venueId" format:"uuid" doc:"The venue" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d70"`
	Name        string    `json:"name" doc:"Display name" example:"Grand Theatre"`
	City        string    `json:"city" doc:"City" example:"Vienna"`
	Country     string    `json:"country" doc:"ISO 3166-1 alpha-2" example:"AT"`
	TimeZone    string    `json:"timeZone" doc:"IANA time zone; a day of the catalogue is a day in it" example:"Europe/Vienna"`
	ExternalRef string    `json:"externalRef,omitempty" doc:"The organiser's own identifier" example:"grand-theatre"`
}

func venueBody(v *boxoffice.Venue) Venue {
	return Venue{v.ID, v.Name, v.City, v.Country, v.TimeZone, v.ExternalRef}
}

type createVenueInput struct {
	Body struct {
		Name        string `json:"name" minLength:"1" maxLength:"200" doc:"Display name, any script" example:"Grand Theatre"`
		City        string `json:"city" minLength:"1" maxLength:"200" doc:"City" example:"Vienna"`
		Country     string `json:"country" minLength:"2" maxLength:"2" pattern:"^[A-Z]{2}$" doc:"ISO 3166-1 alpha-2" example:"AT"`
		TimeZone    string `json:"timeZone" minLength:"1" maxLength:"100" doc:"IANA time zone" example:"Europe/Vienna"`
		ExternalRef string `json:"externalRef,omitempty" maxLength:"200" doc:"Your own identifier, unique among your venues" example:"grand-theatre"`
	}
}

func (a *API) createVenue(ctx context.Context, call *Call, in *createVenueInput) (*createdOutput[Venue], error) {
	b := &in.Body
	v, replayed, err := a.opts.Store.CreateVenue(ctx, call.Key, boxoffice.Venue{
		OrganisationID: call.Caller.OrganisationID, Name: b.Name, City: b.City, Country: b.Country, TimeZone: b.TimeZone, ExternalRef: b.ExternalRef,
	})
	if err != nil {
		return nil, err
	}
	return created(call, "/venues/", v.ID, v.Revision, replayed, venueBody(&v)), nil
}

type venueInput struct {
	VenueID uuid.UUID `path:"venueId" format:"uuid" doc:"The venue" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d70"`
}

type amendVenueInput struct {
	VenueID uuid.UUID `path:"venueId" format:"uuid" doc:"The venue" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d70"`
	Body    struct {
		Name        amended[string] `json:"name,omitzero" minLength:"1" maxLength:"200" doc:"Display name" example:"Grand Theatre"`
		City        amended[string] `json:"city,omitzero" minLength:"1" maxLength:"200" doc:"City" example:"Vienna"`
		Country     amended[string] `json:"country,omitzero" minLength:"2" maxLength:"2" pattern:"^[A-Z]{2}$" doc:"ISO 3166-1 alpha-2" example:"AT"`
		TimeZone    amended[string] `json:"timeZone,omitzero" minLength:"1" maxLength:"100" doc:"IANA time zone" example:"Europe/Vienna"`
		ExternalRef amended[string] `json:"externalRef,omitzero" maxLength:"200" nullable:"true" doc:"Your own identifier; null takes it away" example:"grand-theatre"`
	}
}

func (a *API) amendVenue(ctx context.Context, call *Call, in *amendVenueInput) (*amendedOutput[Venue], error) {
	b := &in.Body
	v, err := amend(ctx, call, in.VenueID, b, a.opts.Store.AmendVenue, func(v *boxoffice.Venue) {
		b.Name.to(&v.Name)
		b.City.to(&v.City)
		b.Country.to(&v.Country)
		b.TimeZone.to(&v.TimeZone)
		b.ExternalRef.to(&v.ExternalRef)
	})
	if err != nil {
		return nil, err
	}
	return &amendedOutput[Venue]{revisionTag(v.Revision), venueBody(&v)}, nil
}

type listVenuesInput struct {
	City        string `query:"city" maxLength:"200" doc:"Only in this city" example:"Vienna"`
	ExternalRef string `query:"externalRef" maxLength:"200" doc:"Only the one with this externalRef" example:"grand-theatre"`
	Cursor      string `query:"cursor" maxLength:"200" doc:"nextCursor of the page before" example:"dmVudWVzIDAxOTc"`
	Limit       int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Venues a page" example:"50"`
}

type venuesBody struct {
	Venues     []Venue `json:"venues" doc:"The page"`
	NextCursor string  `json:"nextCursor,omitempty" doc:"Send it as cursor for the next page; missing on the last" example:"dmVudWVzIDAxOTc"`
}

func (a *API) listVenues(ctx context.Context, call *Call, in *listVenuesInput) (*catalogueOutput[venuesBody], error) {
	after, err := cursorID("venues", in.Cursor)
	if err != nil {
		return nil, err
	}
	list, err := a.opts.Store.Venues(ctx, store.VenueFilter{
		Organisation: call.Caller.OrganisationID, City: nfc(in.City), ExternalRef: nfc(in.ExternalRef), Page: store.Page{After: after, Limit: in.Limit + 1},
	})
	if err != nil {
		return nil, err
	}
	body := venuesBody{Venues: []Venue{}}
	list, body.NextCursor = page(list, in.Limit, func(v boxoffice.Venue) string { return cursor("venues", v.ID.String()) })
	for i := range list {
		body.Venues = append(body.Venues, venueBody(&list[i]))
	}
	return answerHashed(call, "", catalogueAge, body)
}

func (a *API) readVenue(ctx context.Context, call *Call, in *venueInput) (*catalogueOutput[Venue], error) {
	v, err := a.opts.Store.Venue(ctx, in.VenueID)
	if err != nil {
		return nil, err
	}
	return answer(call, revisionTag(v.Revision), catalogueAge, venueBody(&v))
}

// Hall is a room of a venue.
type Hall struct {
	HallID      uuid.UUID `json:"hallId" format:"uuid" doc:"The hall" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d71"`
	VenueID     uuid.UUID `json:"venueId" format:"uuid" doc:"The house it is in" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d70"`
	Name        string    `json:"name" doc:"Display name" example:"Main stage"`
	ExternalRef string    `json:"externalRef,omitempty" doc:"The organiser's own identifier" example:"grand-main"`
}

func hallBody(h *boxoffice.Hall) Hall { return Hall{h.ID, h.VenueID, h.Name, h.ExternalRef} }

type createHallInput struct {
	Body struct {
		VenueID     uuid.UUID `json:"venueId" format:"uuid" doc:"The house it is in" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d70"`
		Name        string    `json:"name" minLength:"1" maxLength:"200" doc:"Display name, any script" example:"Main stage"`
		ExternalRef string    `json:"externalRef,omitempty" maxLength:"200" doc:"Your own identifier, unique among your halls" example:"grand-main"`
	}
}

func (a *API) createHall(ctx context.Context, call *Call, in *createHallInput) (*createdOutput[Hall], error) {
	b := &in.Body
	h, replayed, err := a.opts.Store.CreateHall(ctx, call.Key, boxoffice.Hall{
		OrganisationID: call.Caller.OrganisationID, VenueID: b.VenueID, Name: b.Name, ExternalRef: b.ExternalRef,
	})
	if err != nil {
		return nil, err
	}
	return created(call, "/halls/", h.ID, h.Revision, replayed, hallBody(&h)), nil
}

type hallInput struct {
	HallID uuid.UUID `path:"hallId" format:"uuid" doc:"The hall" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d71"`
}

type amendHallInput struct {
	HallID uuid.UUID `path:"hallId" format:"uuid" doc:"The hall" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d71"`
	Body   struct {
		Name        amended[string] `json:"name,omitzero" minLength:"1" maxLength:"200" doc:"Display name" example:"Main stage"`
		ExternalRef amended[string] `json:"externalRef,omitzero" maxLength:"200" nullable:"true" doc:"Your own identifier; null takes it away" example:"grand-main"`
	}
}

func (a *API) amendHall(ctx context.Context, call *Call, in *amendHallInput) (*amendedOutput[Hall], error) {
	b := &in.Body
	h, err := amend(ctx, call, in.HallID, b, a.opts.Store.AmendHall, func(h *boxoffice.Hall) {
		b.Name.to(&h.Name)
		b.ExternalRef.to(&h.ExternalRef)
	})
	if err != nil {
		return nil, err
	}
	return &amendedOutput[Hall]{revisionTag(h.Revision), hallBody(&h)}, nil
}

type listHallsInput struct {
	VenueID     uuid.UUID `query:"venueId" format:"uuid" doc:"Only of this venue" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d70"`
	ExternalRef string    `query:"externalRef" maxLength:"200" doc:"Only the one with this externalRef" example:"grand-main"`
	Cursor      string    `query:"cursor" maxLength:"200" doc:"nextCursor of the page before" example:"aGFsbHMgMDE5Nw"`
	Limit       int       `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Halls a page" example:"50"`
}

type hallsBody struct {
	Halls      []Hall `json:"halls" doc:"The page"`
	NextCursor string `json:"nextCursor,omitempty" doc:"Send it as cursor for the next page; missing on the last" example:"aGFsbHMgMDE5Nw"`
}

func (a *API) listHalls(ctx context.Context, call *Call, in *listHallsInput) (*catalogueOutput[hallsBody], error) {
	after, err := cursorID("halls", in.Cursor)
	if err != nil {
		return nil, err
	}
	list, err := a.opts.Store.Halls(ctx, store.HallFilter{
		Organisation: call.Caller.OrganisationID, VenueID: in.VenueID, ExternalRef: nfc(in.ExternalRef), Page: store.Page{After: after, Limit: in.Limit + 1},
	})
	if err != nil {
		return nil, err
	}
	body := hallsBody{Halls: []Hall{}}
	list, body.NextCursor = page(list, in.Limit, func(h boxoffice.Hall) string { return cursor("halls", h.ID.String()) })
	for i := range list {
		body.Halls = append(body.Halls, hallBody(&list[i]))
	}
	return answerHashed(call, "", catalogueAge, body)
}

func (a *API) readHall(ctx context.Context, call *Call, in *hallInput) (*catalogueOutput[Hall], error) {
	h, err := a.opts.Store.Hall(ctx, in.HallID)
	if err != nil {
		return nil, err
	}
	return answer(call, revisionTag(h.Revision), catalogueAge, hallBody(&h))
}

// Event is what people come for.
type Event struct {
	EventID         uuid.UUID `json:"eventId" format:"uuid" doc:"The event" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d72"`
	Kind            string    `json:"kind" enum:"movie,concert,play,match,festival,talk,other" doc:"What it is" example:"play"`
	Title           string    `json:"title" doc:"Title" example:"The Tempest"`
	Genre           string    `json:"genre,omitempty" doc:"Genre" example:"drama"`
	Language        string    `json:"language,omitempty" doc:"BCP 47 tag of the main language" example:"en"`
	DurationMinutes int       `json:"durationMinutes,omitempty" doc:"Length in minutes" example:"150"`
	AgeRating       string    `json:"ageRating,omitempty" doc:"As printed on the poster" example:"PG-13"`
	Description     string    `json:"description,omitempty" doc:"Plain text" example:"A storm, an island, a pardon."`
	PosterURL       string    `json:"posterUrl,omitempty" doc:"Where the poster is" example:"https://example.org/tempest.jpg"`
	Status          string    `json:"status" enum:"draft,published,archived" doc:"draft until its first show is published" example:"published"`
	ExternalRef     string    `json:"externalRef,omitempty" doc:"The organiser's own identifier" example:"tempest-2026"`
}

// EventWithShows is an event with those of its shows that were asked for.
type EventWithShows struct {
	Event
	Shows []Show `json:"shows" doc:"Its shows in time order; GET /shows?eventId= has them all"`
}

func eventBody(e *boxoffice.Event) Event {
	return Event{e.ID, string(e.Kind), e.Title, e.Genre, e.Language, e.DurationMinutes, e.AgeRating, e.Description, e.PosterURL, string(e.Status), e.ExternalRef}
}

func listingBody(e *store.EventListing, staff bool) EventWithShows {
	body := EventWithShows{eventBody(&e.Event), make([]Show, len(e.Shows))}
	for i := range e.Shows {
		body.Shows[i] = showBody(&e.Shows[i], staff)
	}
	return body
}

// EventFields are what an organiser says about an event.
type EventFields struct {
	Kind            string `json:"kind" enum:"movie,concert,play,match,festival,talk,other" doc:"What it is" example:"play"`
	Title           string `json:"title" minLength:"1" maxLength:"300" doc:"Title, any script" example:"The Tempest"`
	Genre           string `json:"genre,omitempty" maxLength:"100" doc:"For filtering" example:"drama"`
	Language        string `json:"language,omitempty" maxLength:"35" doc:"BCP 47 tag of the main language" example:"en"`
	DurationMinutes int    `json:"durationMinutes,omitempty" minimum:"1" maximum:"100000" doc:"Length in minutes" example:"150"`
	AgeRating       string `json:"ageRating,omitempty" maxLength:"50" doc:"As printed on the poster" example:"PG-13"`
	Description     string `json:"description,omitempty" maxLength:"20000" doc:"Plain text" example:"A storm, an island, a pardon."`
	PosterURL       string `json:"posterUrl,omitempty" maxLength:"2000" doc:"http or https address of the poster" example:"https://example.org/tempest.jpg"`
	ExternalRef     string `json:"externalRef,omitempty" maxLength:"200" doc:"Your own identifier, unique among your events" example:"tempest-2026"`
}

func (f *EventFields) event(organisation uuid.UUID) boxoffice.Event {
	return boxoffice.Event{
		OrganisationID: organisation, Kind: boxoffice.EventKind(f.Kind), Title: f.Title, Genre: f.Genre, Language: f.Language,
		DurationMinutes: f.DurationMinutes, AgeRating: f.AgeRating, Description: f.Description, PosterURL: f.PosterURL, ExternalRef: f.ExternalRef,
	}
}

type createEventInput struct{ Body EventFields }

func (a *API) createEvent(ctx context.Context, call *Call, in *createEventInput) (*createdOutput[Event], error) {
	e, replayed, err := a.opts.Store.CreateEvent(ctx, call.Key, in.Body.event(call.Caller.OrganisationID))
	if err != nil {
		return nil, err
	}
	return created(call, "/events/", e.ID, e.Revision, replayed, eventBody(&e)), nil
}

type eventInput struct {
	EventID uuid.UUID `path:"eventId" format:"uuid" doc:"The event" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d72"`
}

type amendEventInput struct {
	EventID uuid.UUID `path:"eventId" format:"uuid" doc:"The event" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d72"`
	Body    struct {
		Kind            amended[string] `json:"kind,omitzero" enum:"movie,concert,play,match,festival,talk,other" doc:"What it is" example:"play"`
		Title           amended[string] `json:"title,omitzero" minLength:"1" maxLength:"300" doc:"Title" example:"The Tempest"`
		Genre           amended[string] `json:"genre,omitzero" maxLength:"100" nullable:"true" doc:"For filtering; null takes it away" example:"drama"`
		Language        amended[string] `json:"language,omitzero" maxLength:"35" nullable:"true" doc:"BCP 47 tag; null takes it away" example:"en"`
		DurationMinutes amended[int]    `json:"durationMinutes,omitzero" minimum:"1" maximum:"100000" nullable:"true" doc:"Length in minutes; null takes it away" example:"150"`
		AgeRating       amended[string] `json:"ageRating,omitzero" maxLength:"50" nullable:"true" doc:"As printed on the poster; null takes it away" example:"PG-13"`
		Description     amended[string] `json:"description,omitzero" maxLength:"20000" nullable:"true" doc:"Plain text; null takes it away" example:"A storm, an island, a pardon."`
		PosterURL       amended[string] `json:"posterUrl,omitzero" maxLength:"2000" nullable:"true" doc:"http or https address; null takes it away" example:"https://example.org/tempest.jpg"`
		ExternalRef     amended[string] `json:"externalRef,omitzero" maxLength:"200" nullable:"true" doc:"Your own identifier; null takes it away" example:"tempest-2026"`
		Archived        amended[bool]   `json:"archived,omitzero" doc:"true takes the event out of the lists, false puts it back" example:"true"`
	}
}

func (a *API) amendEvent(ctx context.Context, call *Call, in *amendEventInput) (*amendedOutput[Event], error) {
	b := &in.Body
	e, err := amend(ctx, call, in.EventID, b, a.opts.Store.AmendEvent, func(e *boxoffice.Event) {
		b.Kind.to((*string)(&e.Kind))
		b.Title.to(&e.Title)
		b.Genre.to(&e.Genre)
		b.Language.to(&e.Language)
		b.DurationMinutes.to(&e.DurationMinutes)
		b.AgeRating.to(&e.AgeRating)
		b.Description.to(&e.Description)
		b.PosterURL.to(&e.PosterURL)
		b.ExternalRef.to(&e.ExternalRef)
		if b.Archived.given {
			e.Status = boxoffice.EventDraft // or published: the store knows
			if b.Archived.value {
				e.Status = boxoffice.EventArchived
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return &amendedOutput[Event]{revisionTag(e.Revision), eventBody(&e)}, nil
}

type listEventsInput struct {
	City        string    `query:"city" maxLength:"200" doc:"Shown in this city" example:"Vienna"`
	VenueID     uuid.UUID `query:"venueId" format:"uuid" doc:"Shown in this venue" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d70"`
	Date        string    `query:"date" format:"date" doc:"Shown on this day, in the venue's time zone" example:"2026-11-27"`
	From        time.Time `query:"from" doc:"Shown at this time or later" example:"2026-11-27T00:00:00Z"`
	To          time.Time `query:"to" doc:"Shown before this time" example:"2026-12-01T00:00:00Z"`
	Genre       string    `query:"genre" maxLength:"100" doc:"Of this genre" example:"drama"`
	Language    string    `query:"language" maxLength:"35" doc:"Shown in this language" example:"en"`
	Kind        string    `query:"kind" enum:"movie,concert,play,match,festival,talk,other" doc:"Of this kind" example:"movie"`
	Q           string    `query:"q" maxLength:"100" doc:"With this in the title; upper and lower case are alike, in any script" example:"tempest"`
	ExternalRef string    `query:"externalRef" maxLength:"200" doc:"The one with this externalRef" example:"tempest-2026"`
	Cursor      string    `query:"cursor" maxLength:"200" doc:"nextCursor of the page before" example:"ZXZlbnRzIDAxOTc"`
	Limit       int       `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Events a page" example:"50"`
}

type eventsBody struct {
	Events     []EventWithShows `json:"events" doc:"The page"`
	NextCursor string           `json:"nextCursor,omitempty" doc:"Send it as cursor for the next page; missing on the last" example:"ZXZlbnRzIDAxOTc"`
}

func (a *API) listEvents(ctx context.Context, call *Call, in *listEventsInput) (*catalogueOutput[eventsBody], error) {
	after, err := cursorID("events", in.Cursor)
	if err != nil {
		return nil, err
	}
	var c boxoffice.Checks
	f := store.EventFilter{
		Organisation: call.Caller.OrganisationID, Drafts: seesDrafts(&call.Caller),
		Kind: in.Kind, Genre: nfc(in.Genre), Query: in.Q, ExternalRef: nfc(in.ExternalRef),
		VenueID: in.VenueID, City: nfc(in.City), Date: in.Date, From: instant(&c, "from", in.From), To: instant(&c, "to", in.To), Language: in.Language,
		ShowsMax: showsInList, Page: store.Page{After: after, Limit: in.Limit + 1},
	}
	c.Language("language", &f.Language)
	if day, err := time.Parse(time.DateOnly, in.Date); in.Date != "" && (err != nil || day.Year() < 1900 || day.Year() > 2200) {
		c.Add("date", "must be a day such as 2026-11-27")
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	return answerKept(ctx, a, call, fmt.Sprintf("events %+v", *in), keptAvailability, func(ctx context.Context) (eventsBody, error) {
		list, err := a.opts.Store.Events(ctx, f)
		if err != nil {
			return eventsBody{}, err
		}
		body := eventsBody{Events: []EventWithShows{}}
		list, body.NextCursor = page(list, in.Limit, func(e store.EventListing) string { return cursor("events", e.ID.String()) })
		for i := range list {
			body.Events = append(body.Events, listingBody(&list[i], f.Drafts))
		}
		return body, nil
	})
}

func (a *API) readEvent(ctx context.Context, call *Call, in *eventInput) (*catalogueOutput[EventWithShows], error) {
	drafts := seesDrafts(&call.Caller)
	e, err := a.opts.Store.ReadEvent(ctx, in.EventID, store.EventFilter{
		Organisation: call.Caller.OrganisationID, Drafts: drafts, ShowsMax: showsOfEvent,
	})
	if err != nil {
		return nil, err
	}
	return answerHashed(call, showRevision(e.Revision), availabilityAge, listingBody(&e, drafts))
}

// Facet is a value to filter events by.
type Facet struct {
	Value string `json:"value" doc:"What to filter by" example:"Vienna"`
	Count int    `json:"count" doc:"How many events that are on have it" example:"12"`
}

type facetsBody struct {
	Cities    []Facet `json:"cities" doc:"For city"`
	Genres    []Facet `json:"genres" doc:"For genre"`
	Languages []Facet `json:"languages" doc:"For language"`
	Kinds     []Facet `json:"kinds" doc:"For kind"`
}

func (a *API) listFacets(ctx context.Context, call *Call, _ *struct{}) (*catalogueOutput[facetsBody], error) {
	return answerKept(ctx, a, call, "facets", keptCatalogue, func(ctx context.Context) (facetsBody, error) {
		return a.countFacets(ctx, call.Caller.OrganisationID)
	})
}

func (a *API) countFacets(ctx context.Context, organisation uuid.UUID) (facetsBody, error) {
	facets, err := a.opts.Store.Facets(ctx, organisation)
	if err != nil {
		return facetsBody{}, err
	}
	list := func(by string) []Facet {
		out := make([]Facet, len(facets[by]))
		for i, f := range facets[by] {
			out[i] = Facet{f.Value, f.Count}
		}
		return out
	}
	return facetsBody{list("city"), list("genre"), list("language"), list("kind")}, nil
}
