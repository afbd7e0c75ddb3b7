package api

import (
	"context"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

func (a *API) registerReservations() {
	show := map[string]string{"Show-Version": "The show's version after this; for ?minVersion= on map reads."}
	holding := []boxoffice.Code{
		boxoffice.CodeNotFound, boxoffice.CodeShowNotOnSale, boxoffice.CodeTooManySeats, boxoffice.CodeSeatNotFound,
		boxoffice.CodeCustomerLimit, boxoffice.CodeSeatAlreadyReserved, boxoffice.CodeInsufficient, boxoffice.CodeLockTimeout,
	}
	register(a, Operation{
		ID: "placeReservation", Method: http.MethodPost, Path: "/reservations", Tag: "Reservations",
		Summary: "Hold places",
		Description: "Keeps seats, units of areas, or both, for one customer until `expiresAt`. All or nothing, unless `allowPartial` is set for an area; then never nothing. " +
			"The price of each place is fixed now. An area and ticket type named twice is summed; a seat named twice is refused. " +
			"While the show's waiting room is open, `X-Queue-Token` must be that of the customer's admission; a refused hold does not use it up. " +
			"Holding again what one's own active reservation holds is refused like anybody's, and `ownReservationId` names that reservation; a retry with the same Idempotency-Key is a replay instead.\n\n" +
			"Staff (`reservations:staff`) may hold for any `customerId`, for up to `maxHoldSeconds`, up to 10,000 places, and from a block.",
		Status: http.StatusCreated, Codes: append(holding, boxoffice.CodeForbidden,
			boxoffice.CodeQueueTokenRequired, boxoffice.CodeQueueTokenExpired, boxoffice.CodeQueueTokenInvalid), Headers: show, Entry: true,
	}, a.placeReservation)
	register(a, Operation{
		ID: "listReservations", Method: http.MethodGet, Path: "/reservations", Tag: "Reservations",
		Summary: "List reservations",
		Description: "The newest first. A customer sees their own; with `reservations:staff` or `sales:read` everybody's, so that a box office can find a hold and release it. " +
			"`status` is judged by the database clock: an overdue hold counts as expired, whether or not it has been closed.",
		Codes: []boxoffice.Code{boxoffice.CodeForbidden},
	}, a.listReservations)
	register(a, Operation{
		ID: "readReservation", Method: http.MethodGet, Path: "/reservations/{reservationId}", Tag: "Reservations",
		Summary:     "Read a reservation",
		Description: "Also after its end, with the status it has then. Other customers' reservations are not found.",
		Codes:       []boxoffice.Code{boxoffice.CodeNotFound},
	}, a.readReservation)
	register(a, Operation{
		ID: "changeReservation", Method: http.MethodPatch, Path: "/reservations/{reservationId}", Tag: "Reservations",
		Summary: "Add and remove places",
		Description: "All or nothing. `expiresAt` and the price of kept places stay. What is removed is free at once, what is added has today's price. Removing the last place is refused: release the reservation instead. " +
			"A seat that is both removed and added keeps its place and takes the new ticket type. While a payment is under way nothing can be changed; afterwards what is held is what has to be paid.",
		Codes:   append(holding, boxoffice.CodePaymentInProgress, boxoffice.CodeReservationExpired, boxoffice.CodeReservationNotActive),
		Headers: show,
	}, a.changeReservation)
	register(a, Operation{
		ID: "extendReservation", Method: http.MethodPost, Path: "/reservations/{reservationId}/extend", Tag: "Reservations",
		Summary:     "Extend a reservation",
		Description: "`expiresAt` becomes the later of itself and now plus the reservation's length, but never later than `createdAt` plus the show's `maxHoldSeconds`.",
		Codes: []boxoffice.Code{
			boxoffice.CodeNotFound, boxoffice.CodeShowNotOnSale, boxoffice.CodeReservationExpired, boxoffice.CodeReservationNotActive,
			boxoffice.CodeExtensionLimit, boxoffice.CodeLockTimeout,
		},
		Headers: show,
	}, a.extendReservation)
	register(a, Operation{
		ID: "releaseReservation", Method: http.MethodDelete, Path: "/reservations/{reservationId}", Tag: "Reservations",
		Summary:     "Release a reservation",
		Description: "Its places are free at once. Releasing a cancelled or expired reservation again changes nothing and succeeds. Always allowed, also when sales are paused or over; a consumed reservation is refused with its `bookingId`. A payment under way is cancelled at its gateway; should it succeed all the same, the money goes back.",
		Codes:       []boxoffice.Code{boxoffice.CodeNotFound, boxoffice.CodeReservationNotActive, boxoffice.CodeLockTimeout},
		Headers:     show,
	}, a.releaseReservation)
}

// SeatChoice is a seat that somebody wants.
type SeatChoice struct {
	SeatID     *uuid.UUID `json:"seatId,omitempty" format:"uuid" doc:"The seat's id; either this or label" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	Label      string     `json:"label,omitempty" minLength:"1" maxLength:"200" doc:"The seat's label; either this or seatId" example:"Stalls-A-7"`
	TicketType string     `json:"ticketType,omitempty" minLength:"1" maxLength:"100" default:"standard" doc:"A ticket type that the seat's category prices" example:"standard"`
}

// AreaChoice is a number of places of an area that somebody wants.
type AreaChoice struct {
	AreaID       uuid.UUID `json:"areaId" format:"uuid" doc:"The area" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6f"`
	TicketType   string    `json:"ticketType,omitempty" minLength:"1" maxLength:"100" default:"standard" doc:"A ticket type that the area's category prices" example:"standard"`
	Quantity     int       `json:"quantity" minimum:"1" maximum:"10000" doc:"How many places" example:"2"`
	AllowPartial bool      `json:"allowPartial,omitempty" doc:"Take fewer when fewer are left, but at least one" example:"false"`
}

// AreaRemoval is a number of places of an area to give back.
type AreaRemoval struct {
	AreaID     uuid.UUID `json:"areaId" format:"uuid" doc:"The area" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6f"`
	TicketType string    `json:"ticketType,omitempty" minLength:"1" maxLength:"100" default:"standard" doc:"The ticket type of the places" example:"standard"`
	Quantity   int       `json:"quantity" minimum:"1" maximum:"10000" doc:"How many places" example:"1"`
}

// SeatRemoval is a seat to give back.
type SeatRemoval struct {
	SeatID *uuid.UUID `json:"seatId,omitempty" format:"uuid" doc:"The seat's id; either this or label" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	Label  string     `json:"label,omitempty" minLength:"1" maxLength:"200" doc:"The seat's label; either this or seatId" example:"Stalls-A-7"`
}

type placeInput struct {
	QueueToken string `header:"X-Queue-Token" maxLength:"2000" doc:"While the show's waiting room is open: the token of the admission. Staff needs none" example:"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.…"`
	Body       struct {
		ShowID      uuid.UUID         `json:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
		Seats       []SeatChoice      `json:"seats,omitempty" maxItems:"10000" doc:"Seats, by id or label" example:"[{\"label\":\"Stalls-A-7\"}]"`
		Areas       []AreaChoice      `json:"areas,omitempty" maxItems:"1000" doc:"Places of areas"`
		TTLSeconds  *int              `json:"ttlSeconds,omitempty" minimum:"1" maximum:"604800" doc:"Length of the hold in seconds: at most the show's holdSeconds, for staff its maxHoldSeconds. Default: holdSeconds" example:"600"`
		Metadata    map[string]string `json:"metadata,omitempty" maxProperties:"20" doc:"At most 20 pairs of your own: keys to 40, values to 500 characters" example:"{\"cart\":\"8231\"}"`
		CustomerID  string            `json:"customerId,omitempty" minLength:"1" maxLength:"128" doc:"Whose hold it is. Staff name anybody; a customer may name themselves" example:"customer-4711"`
		FromBlockID *uuid.UUID        `json:"fromBlockId,omitempty" format:"uuid" doc:"Staff: seats of this block may be taken; when the hold ends unsold they are blocked again" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d61"`
	}
}

// ReservedSeat is a seat of a reservation.
type ReservedSeat struct {
	SeatID     uuid.UUID `json:"seatId" format:"uuid" doc:"The seat" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	Label      string    `json:"label" doc:"What people read" example:"Stalls-A-7"`
	Category   string    `json:"category" doc:"Its price category" example:"Stalls"`
	TicketType string    `json:"ticketType" doc:"Its ticket type" example:"standard"`
	Price      int64     `json:"price" doc:"Price as it was when held, in the currency's minor unit" example:"4500"`
}

// ReservedArea is a number of places of an area in a reservation.
type ReservedArea struct {
	AreaID     uuid.UUID `json:"areaId" format:"uuid" doc:"The area" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6f"`
	Name       string    `json:"name" doc:"Its name" example:"Floor"`
	TicketType string    `json:"ticketType" doc:"The ticket type of these places" example:"standard"`
	Requested  int       `json:"requested" doc:"How many were asked for" example:"4"`
	Quantity   int       `json:"quantity" doc:"How many are held" example:"4"`
	Price      int64     `json:"price" doc:"Price of one place as it was when held, in the currency's minor unit" example:"3500"`
}

// Reservation is a hold as clients see it.
type Reservation struct {
	ReservationID    uuid.UUID         `json:"reservationId" format:"uuid" doc:"The reservation" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d62"`
	ShowID           uuid.UUID         `json:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	CustomerID       string            `json:"customerId" doc:"Whose hold it is" example:"customer-4711"`
	Status           string            `json:"status" enum:"active,consumed,expired,cancelled" doc:"active until expiresAt; consumed by a confirmed booking" example:"active"`
	Seats            []ReservedSeat    `json:"seats" doc:"Its seats"`
	Areas            []ReservedArea    `json:"areas" doc:"Its places in areas"`
	SeatCount        int               `json:"seatCount" doc:"Seats and area places together" example:"2"`
	TotalAmount      int64             `json:"totalAmount" doc:"Sum of all prices, in the currency's minor unit" example:"9000"`
	Currency         string            `json:"currency" doc:"ISO 4217" example:"EUR"`
	CreatedAt        time.Time         `json:"createdAt" doc:"When it was placed, database clock" example:"2026-11-27T20:00:00.123456Z"`
	ExpiresAt        time.Time         `json:"expiresAt" doc:"The instant at which it ends" example:"2026-11-27T20:15:00.123456Z"`
	ExpiresInSeconds int64             `json:"expiresInSeconds" doc:"Whole seconds from serverTime to expiresAt while it is active, else 0: for a countdown that does not trust the device's clock" example:"900"`
	ServerTime       time.Time         `json:"serverTime" doc:"The clock that status was judged by" example:"2026-11-27T20:00:00.123456Z"`
	ShowVersion      int64             `json:"showVersion" doc:"The show's version at that time" example:"42"`
	BookingID        *uuid.UUID        `json:"bookingId,omitempty" format:"uuid" doc:"Its booking, from the first attempt to pay on" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d63"`
	WaitlistEntryID  *uuid.UUID        `json:"waitlistEntryId,omitempty" format:"uuid" doc:"The entry of the waitlist that it is the offer of; missing for every other hold. An offer cannot be extended" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d67"`
	Metadata         map[string]string `json:"metadata" doc:"The pairs that were sent" example:"{\"cart\":\"8231\"}"`
}

type reservationOutput struct {
	Location string `header:"Location" doc:"The reservation"`
	Body     Reservation
}

type readReservationOutput struct{ Body Reservation }

func reservationBody(v *store.ReservationView) Reservation {
	r := Reservation{
		ReservationID: v.ID, ShowID: v.ShowID, CustomerID: v.CustomerID, Status: string(v.Status),
		Seats: make([]ReservedSeat, len(v.Seats)), Areas: make([]ReservedArea, len(v.Areas)),
		SeatCount: v.Places, TotalAmount: v.TotalMinor, Currency: v.Currency,
		CreatedAt: v.CreatedAt.UTC(), ExpiresAt: v.ExpiresAt.UTC(), ServerTime: v.Now.UTC(),
		ShowVersion: v.ShowVersion, Metadata: v.Metadata,
	}
	if v.Status == boxoffice.ReservationActive {
		r.ExpiresInSeconds = int64(v.ExpiresAt.Sub(v.Now) / time.Second)
	}
	for i, s := range v.Seats {
		r.Seats[i] = ReservedSeat{s.SeatID, s.Label, s.Category, s.TicketType, s.PriceMinor}
	}
	for i, p := range v.Areas {
		r.Areas[i] = ReservedArea{p.AreaID, p.Name, p.TicketType, p.Requested, p.Quantity, p.PriceMinor}
	}
	if v.BookingID != uuid.Nil {
		r.BookingID = &v.BookingID
	}
	r.WaitlistEntryID = optionalID(v.EntryID)
	if r.Metadata == nil {
		r.Metadata = map[string]string{}
	}
	return r
}

func (a *API) placeReservation(ctx context.Context, call *Call, in *placeInput) (*reservationOutput, error) {
	b := &in.Body
	actor := call.Caller.Actor()
	req := store.PlaceRequest{ShowID: b.ShowID, CustomerID: b.CustomerID, Pass: a.queue.pass(in.QueueToken), Metadata: b.Metadata}
	switch {
	case b.CustomerID == "":
		if req.CustomerID = call.Caller.CustomerID; req.CustomerID == "" {
			return nil, boxoffice.Invalid(boxoffice.Violation{Field: "customerId", Message: "is needed: the credentials are no customer's"})
		}
	case b.CustomerID != call.Caller.CustomerID && !actor.Staff:
		return nil, boxoffice.Refuse(boxoffice.CodeForbidden, "Holding for somebody else needs the scope %s.", boxoffice.ScopeReservationsStaff)
	}
	if b.FromBlockID != nil {
		if err := call.Require(boxoffice.ScopeReservationsStaff); err != nil {
			return nil, err
		}
		req.FromBlockID = *b.FromBlockID
	}
	if b.TTLSeconds != nil {
		req.TTLSeconds = *b.TTLSeconds
	}
	var v violations
	v.metadata("metadata", b.Metadata)
	req.Seats = v.seats("seats", b.Seats)
	req.Areas = areaRefs(b.Areas)
	if len(req.Seats)+len(req.Areas) == 0 {
		v.add("seats", "seats or areas must name at least one place")
	}
	if err := v.err(); err != nil {
		return nil, err
	}
	view, replayed, err := a.opts.Store.PlaceReservation(ctx, actor, &call.Key, req)
	if err != nil {
		return nil, withQueueURL(err, b.ShowID)
	}
	finishWrite(call, view.ShowVersion, replayed)
	return &reservationOutput{basePath + "/reservations/" + view.ID.String(), reservationBody(view)}, nil
}

// finishWrite says what every answer to a write on a show says.
func finishWrite(call *Call, version int64, replayed bool) {
	call.ShowVersion(version)
	if replayed {
		call.Replayed()
	}
}

// Additions are places to add to a reservation.
type Additions struct {
	Seats []SeatChoice `json:"seats,omitempty" maxItems:"10000" doc:"Seats to add" example:"[{\"label\":\"Stalls-A-8\"}]"`
	Areas []AreaChoice `json:"areas,omitempty" maxItems:"1000" doc:"Places of areas to add"`
}

// Removals are places to give back.
type Removals struct {
	Seats []SeatRemoval `json:"seats,omitempty" maxItems:"10000" doc:"Seats to give back" example:"[{\"label\":\"Stalls-A-7\"}]"`
	Areas []AreaRemoval `json:"areas,omitempty" maxItems:"1000" doc:"Places of areas to give back"`
}

type changeInput struct {
	ReservationID uuid.UUID `path:"reservationId" format:"uuid" doc:"The reservation" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d62"`
	Body          struct {
		Add    *Additions `json:"add,omitempty" doc:"What to add"`
		Remove *Removals  `json:"remove,omitempty" doc:"What to give back"`
	}
}

func (a *API) changeReservation(ctx context.Context, call *Call, in *changeInput) (*readReservationOutput, error) {
	var req store.ChangeRequest
	var v violations
	if add := in.Body.Add; add != nil {
		req.AddSeats = v.seats("add.seats", add.Seats)
		req.AddAreas = areaRefs(add.Areas)
	}
	if remove := in.Body.Remove; remove != nil {
		choices := make([]SeatChoice, len(remove.Seats))
		for i, s := range remove.Seats {
			choices[i] = SeatChoice{SeatID: s.SeatID, Label: s.Label}
		}
		req.RemoveSeats = v.seats("remove.seats", choices)
		for _, r := range remove.Areas {
			req.RemoveAreas = append(req.RemoveAreas, store.AreaRef{ID: r.AreaID, TicketType: r.TicketType, Quantity: r.Quantity})
		}
	}
	if len(req.AddSeats)+len(req.AddAreas)+len(req.RemoveSeats)+len(req.RemoveAreas) == 0 {
		v.add("add", "add or remove must name at least one place")
	}
	if err := v.err(); err != nil {
		return nil, err
	}
	view, replayed, err := a.opts.Store.ChangeReservation(ctx, call.Caller.Actor(), &call.Key, in.ReservationID, req)
	if err != nil {
		return nil, err
	}
	finishWrite(call, view.ShowVersion, replayed)
	return &readReservationOutput{reservationBody(view)}, nil
}

type reservationInput struct {
	ReservationID uuid.UUID `path:"reservationId" format:"uuid" doc:"The reservation" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d62"`
}

func (a *API) extendReservation(ctx context.Context, call *Call, in *reservationInput) (*readReservationOutput, error) {
	view, replayed, err := a.opts.Store.ExtendReservation(ctx, call.Caller.Actor(), &call.Key, in.ReservationID)
	if err != nil {
		return nil, err
	}
	finishWrite(call, view.ShowVersion, replayed)
	return &readReservationOutput{reservationBody(view)}, nil
}

func (a *API) releaseReservation(ctx context.Context, call *Call, in *reservationInput) (*struct{}, error) {
	version, replayed, err := a.opts.Store.ReleaseReservation(ctx, call.Caller.Actor(), &call.Key, in.ReservationID)
	if err != nil {
		return nil, err
	}
	finishWrite(call, version, replayed)
	return nil, nil
}

// seesAll says whether the caller may read everybody's reservations.
func seesAll(c *boxoffice.Caller) bool {
	return c.Has(boxoffice.ScopeReservationsStaff) || c.Has(boxoffice.ScopeSalesRead)
}

func (a *API) readReservation(ctx context.Context, call *Call, in *reservationInput) (*readReservationOutput, error) {
	var organisation uuid.UUID
	customer := call.Caller.CustomerID
	if seesAll(&call.Caller) {
		organisation, customer = call.Caller.OrganisationID, ""
	} else if customer == "" {
		return nil, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such reservation.")
	}
	view, err := a.opts.Store.ReadReservation(ctx, organisation, customer, in.ReservationID)
	if err != nil {
		return nil, err
	}
	return &readReservationOutput{reservationBody(view)}, nil
}

type listReservationsInput struct {
	ShowID     string `query:"showId" format:"uuid" doc:"Only of this show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	Status     string `query:"status" enum:"active,consumed,expired,cancelled" doc:"Only with this status" example:"active"`
	CustomerID string `query:"customerId" maxLength:"128" doc:"Only of this customer; a customer can only name themselves" example:"customer-4711"`
	Cursor     string `query:"cursor" maxLength:"200" doc:"nextCursor of the page before" example:"0197a1f05b7e7c3a9d7e1f2a3b4c5d62"`
	Limit      int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Reservations a page" example:"50"`
}

type listReservationsOutput struct {
	Body struct {
		Reservations []Reservation `json:"reservations" doc:"The page, the newest first"`
		NextCursor   string        `json:"nextCursor,omitempty" doc:"Send it as cursor for the next page; missing on the last" example:"0197a1f05b7e7c3a9d7e1f2a3b4c5d62"`
	}
}

func (a *API) listReservations(ctx context.Context, call *Call, in *listReservationsInput) (*listReservationsOutput, error) {
	f := store.ReservationFilter{
		OrganisationID: call.Caller.OrganisationID, Status: boxoffice.ReservationStatus(in.Status),
		CustomerID: in.CustomerID, Limit: in.Limit + 1,
	}
	if !seesAll(&call.Caller) {
		if call.Caller.CustomerID == "" || (in.CustomerID != "" && in.CustomerID != call.Caller.CustomerID) {
			return nil, boxoffice.Refuse(boxoffice.CodeForbidden, "Seeing other people's reservations needs the scope %s or %s.",
				boxoffice.ScopeReservationsStaff, boxoffice.ScopeSalesRead)
		}
		f.CustomerID = call.Caller.CustomerID
	}
	if in.ShowID != "" {
		f.ShowID = uuid.MustParse(in.ShowID) // the schema has checked it
	}
	if in.Cursor != "" {
		id, err := uuid.Parse(in.Cursor)
		if err != nil {
			return nil, boxoffice.Invalid(boxoffice.Violation{Field: "cursor", Message: "is not a cursor of this list"})
		}
		f.After = id
	}
	views, err := a.opts.Store.ListReservations(ctx, f)
	if err != nil {
		return nil, err
	}
	out := &listReservationsOutput{}
	if len(views) > in.Limit {
		views = views[:in.Limit]
		id := views[in.Limit-1].ID
		out.Body.NextCursor = id.String()
	}
	out.Body.Reservations = make([]Reservation, len(views))
	for i, v := range views {
		out.Body.Reservations[i] = reservationBody(v)
	}
	return out, nil
}

// violations gathers what is wrong with an input beyond its schema.
type violations []boxoffice.Violation

func (v *violations) add(field, message string) {
	*v = append(*v, boxoffice.Violation{Field: field, Message: message})
}

func (v violations) err() error {
	if v == nil {
		return nil
	}
	return boxoffice.Invalid(v...)
}

// seats translates choices and refuses those that name no seat, or one twice.
func (v *violations) seats(field string, choices []SeatChoice) []store.SeatRef {
	seen := make(map[string]bool, len(choices))
	refs := make([]store.SeatRef, len(choices))
	for i, c := range choices {
		at := field + "[" + strconv.Itoa(i) + "]"
		refs[i] = store.SeatRef{Label: c.Label, TicketType: c.TicketType}
		switch {
		case (c.SeatID == nil) == (c.Label == ""):
			v.add(at, "needs either seatId or label")
			continue
		case c.SeatID != nil:
			refs[i].ID = *c.SeatID
		}
		if name := refs[i].String(); seen[name] {
			v.add(at, name+" is named twice")
		} else {
			seen[name] = true
		}
	}
	return refs
}

// metadata refuses keys and values that are too long.
func (v *violations) metadata(field string, m map[string]string) {
	for key, value := range m {
		if n := utf8.RuneCountInString(key); n < 1 || n > 40 {
			v.add(field, "keys must have 1 to 40 characters")
		}
		if utf8.RuneCountInString(value) > 500 {
			v.add(field+"."+key, "must have at most 500 characters")
		}
	}
}

func areaRefs(choices []AreaChoice) []store.AreaRef {
	refs := make([]store.AreaRef, len(choices))
	for i, c := range choices {
		refs[i] = store.AreaRef{ID: c.AreaID, TicketType: c.TicketType, Quantity: c.Quantity, AllowPartial: c.AllowPartial}
	}
	return refs
}
