package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

func (a *API) registerWaitlist() {
	show := map[string]string{"Show-Version": "The show's version after this; for ?minVersion= on map reads."}
	register(a, Operation{
		ID: "joinWaitlist", Method: http.MethodPost, Path: "/shows/{showId}/waitlist", Tag: "Waitlist",
		Summary: "Wait for places of a sold-out show",
		Description: "For a party that the show has no places for now; while it has, this is `PLACES_AVAILABLE`. A customer is on a show's waitlist once.\n\n" +
			"When places become free, the earliest entry that they will do for has an offer: a reservation of its customer with `waitlistEntryId`, at the prices of that moment, for the show's `offerSeconds`, which is paid as any other. It is mailed to the buyer, and `GET /waitlist/{entryId}` has it. " +
			"Places that become free go to those who wait first; an entry that cannot be served with what there is, is passed over, and `reason` says why. An offer that is not paid, or let go, passes on to the next.\n\n" +
			"A party is offered seats side by side in one row, or room in one standing area, going through the wanted categories in their order; failing that, seats apart. Spaces for wheelchairs and the seats beside them are not offered.",
		Status: http.StatusCreated, Headers: show,
		Codes: []boxoffice.Code{
			boxoffice.CodeForbidden, boxoffice.CodeNotFound, boxoffice.CodeShowNotOnSale, boxoffice.CodeTooManySeats, boxoffice.CodeCustomerLimit,
			boxoffice.CodeOnWaitlist, boxoffice.CodePlacesAvailable, boxoffice.CodeConflict, boxoffice.CodeLockTimeout,
		},
	}, a.joinWaitlist)
	register(a, Operation{
		ID: "readWaitlistEntry", Method: http.MethodGet, Path: "/waitlist/{entryId}", Tag: "Waitlist",
		Summary: "Read an entry of a waitlist",
		Description: "While it waits: its `position`, and the `reason` for which it has no offer. From its offer on: the reservation. " +
			"Other customers' entries are not found; the scopes `sales:read` and `reservations:staff` see everybody's.",
		Codes: []boxoffice.Code{boxoffice.CodeNotFound},
	}, a.readWaitlistEntry)
	register(a, Operation{
		ID: "leaveWaitlist", Method: http.MethodDelete, Path: "/waitlist/{entryId}", Tag: "Waitlist",
		Summary: "Leave a waitlist",
		Description: "An offer that the entry has is let go, and passes on at once. Leaving again, or after the entry's end, changes nothing and succeeds; " +
			"what was bought is given back by `POST /bookings/{bookingId}/cancel`.",
		Codes: []boxoffice.Code{boxoffice.CodeNotFound, boxoffice.CodeLockTimeout}, Headers: show,
	}, a.leaveWaitlist)
	register(a, Operation{
		ID: "listWaitlist", Method: http.MethodGet, Path: "/shows/{showId}/waitlist", Tag: "Waitlist",
		Scopes:      []boxoffice.Scope{boxoffice.ScopeSalesRead},
		Summary:     "List a show's waitlist",
		Description: "The earliest first, with what became of each entry, and for those who wait where they stand and why they have no offer.",
		Codes:       []boxoffice.Code{boxoffice.CodeNotFound},
	}, a.listWaitlist)
}

// WaitlistOffer is what an entry of a waitlist was offered.
type WaitlistOffer struct {
	ReservationID    uuid.UUID `json:"reservationId" format:"uuid" doc:"The hold; buy it with POST /bookings" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d62"`
	OfferedAt        time.Time `json:"offeredAt" doc:"When it was made" example:"2026-11-27T20:00:00.123456Z"`
	ExpiresAt        time.Time `json:"expiresAt" doc:"When it passes on to the next" example:"2026-11-27T20:15:00.123456Z"`
	ExpiresInSeconds int64     `json:"expiresInSeconds" doc:"Whole seconds until then while it is open, else 0" example:"900"`
}

// WaitlistEntry is a party on a waitlist as clients see it.
type WaitlistEntry struct {
	EntryID    uuid.UUID      `json:"entryId" format:"uuid" doc:"The entry" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d67"`
	ShowID     uuid.UUID      `json:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	CustomerID string         `json:"customerId" doc:"Who waits" example:"customer-4711"`
	Status     string         `json:"status" enum:"waiting,offered,accepted,declined,lapsed,left,closed" doc:"offered: places are held for it. accepted: and were bought, which spends the entry whatever follows. declined: and were let go. lapsed: and nobody came for them. left: before there was an offer. closed: the show sells no more" example:"waiting"`
	PartySize  int            `json:"partySize" doc:"How many places are waited for" example:"2"`
	Categories []string       `json:"categories" doc:"Of which categories, the best first; empty: any" example:"[\"Stalls\"]"`
	Position   int            `json:"position,omitempty" doc:"Among those who wait, from 1; missing when it does not wait" example:"3"`
	Reason     string         `json:"reason,omitempty" enum:"sold_out,too_few_left,others_first,apart,not_on_sale,over_limit,customer_limit" doc:"While it waits: why it has no offer. sold_out: nothing of the wanted categories was free, as of asOf. too_few_left: some places were, fewer than the party needs. others_first: enough were, and went to earlier entries. apart: enough are free, but not as seats alone or in one area. not_on_sale: sales rest. over_limit: the party is larger than the show allows by now. customer_limit: the customer has as many places as the show allows" example:"too_few_left"`
	Available  int            `json:"available" doc:"Places of the wanted categories that were free when that was last so, before anybody was served" example:"1"`
	AsOf       *time.Time     `json:"asOf,omitempty" doc:"When that was; missing when it does not wait" example:"2026-11-27T20:00:00.123456Z"`
	Offer      *WaitlistOffer `json:"offer,omitempty" doc:"Its offer, also when that is over"`
	Buyer      *Buyer         `json:"buyer,omitempty" doc:"Who waits; missing when they were forgotten"`
	JoinedAt   time.Time      `json:"joinedAt" doc:"When it joined, database clock" example:"2026-11-27T19:00:00.123456Z"`
	ClosedAt   *time.Time     `json:"closedAt,omitempty" doc:"When it was accepted, declined, left or found lapsed" example:"2026-11-27T20:10:00.123456Z"`
	ServerTime time.Time      `json:"serverTime" doc:"The clock that status was judged by" example:"2026-11-27T20:00:00.123456Z"`
}

func waitlistBody(v *store.WaitlistView) WaitlistEntry {
	e := WaitlistEntry{
		EntryID: v.ID, ShowID: v.ShowID, CustomerID: v.CustomerID, Status: string(v.Status), PartySize: v.PartySize,
		Categories: v.Categories, Position: v.Position, Reason: string(v.Why), Available: v.Free, AsOf: utc(v.SeenAt),
		JoinedAt: v.JoinedAt.UTC(), ClosedAt: utc(v.ClosedAt), ServerTime: v.Now.UTC(),
	}
	if e.Categories == nil {
		e.Categories = []string{}
	}
	if v.ReservationID != uuid.Nil {
		e.Offer = &WaitlistOffer{ReservationID: v.ReservationID, OfferedAt: v.OfferedAt.UTC(), ExpiresAt: v.OfferEnds.UTC()}
		if v.Status == boxoffice.WaitlistOffered {
			e.Offer.ExpiresInSeconds = int64(v.OfferEnds.Sub(v.Now) / time.Second)
		}
	}
	if b := v.Buyer; b != nil {
		e.Buyer = &Buyer{b.Name, b.Email, b.Phone, b.Locale}
	}
	return e
}

type joinInput struct {
	ShowID uuid.UUID `path:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	Body   struct {
		PartySize  int      `json:"partySize" minimum:"1" maximum:"10000" doc:"How many places; at most the show's maxPlacesPerReservation, also when staff writes somebody down" example:"2"`
		Categories []string `json:"categories,omitempty" minItems:"1" maxItems:"100" maxLength:"64" doc:"Of which categories, the best first; missing: any" example:"[\"Stalls\"]"`
		Buyer      Buyer    `json:"buyer" doc:"Who waits: the offer is mailed there"`
		CustomerID string   `json:"customerId,omitempty" minLength:"1" maxLength:"128" doc:"Who waits. Staff name anybody; a customer may name themselves" example:"customer-4711"`
	}
}

type joinOutput struct {
	Location string `header:"Location" doc:"The entry"`
	Body     WaitlistEntry
}

func (a *API) joinWaitlist(ctx context.Context, call *Call, in *joinInput) (*joinOutput, error) {
	b := &in.Body
	actor := call.Caller.Actor()
	req := store.JoinRequest{ShowID: in.ShowID, CustomerID: b.CustomerID, PartySize: b.PartySize, Categories: b.Categories}
	switch {
	case b.CustomerID == "":
		if req.CustomerID = call.Caller.CustomerID; req.CustomerID == "" {
			return nil, boxoffice.Invalid(boxoffice.Violation{Field: "customerId", Message: "is needed: the credentials are no customer's"})
		}
	case b.CustomerID != call.Caller.CustomerID && !actor.Staff:
		return nil, boxoffice.Refuse(boxoffice.CodeForbidden, "Waiting for somebody else needs the scope %s.", boxoffice.ScopeReservationsStaff)
	}
	var c boxoffice.Checks
	req.Buyer = *b.Buyer.buyer(&c)
	for i := range req.Categories {
		c.Line("categories["+strconv.Itoa(i)+"]", &req.Categories[i], 1, boxoffice.PartMax)
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	v, replayed, err := a.opts.Store.JoinWaitlist(ctx, actor, &call.Key, req)
	if err != nil {
		return nil, err
	}
	finishWrite(call, v.ShowVersion, replayed)
	return &joinOutput{basePath + "/waitlist/" + v.ID.String(), waitlistBody(v)}, nil
}

type waitlistEntryInput struct {
	EntryID uuid.UUID `path:"entryId" format:"uuid" doc:"The entry" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d67"`
}

type waitlistEntryOutput struct{ Body WaitlistEntry }

func (a *API) readWaitlistEntry(ctx context.Context, call *Call, in *waitlistEntryInput) (*waitlistEntryOutput, error) {
	var organisation uuid.UUID
	customer := call.Caller.CustomerID
	if seesAll(&call.Caller) {
		organisation, customer = call.Caller.OrganisationID, ""
	} else if customer == "" {
		return nil, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such entry.")
	}
	v, err := a.opts.Store.ReadWaitlistEntry(ctx, organisation, customer, in.EntryID)
	if err != nil {
		return nil, err
	}
	return &waitlistEntryOutput{waitlistBody(v)}, nil
}

func (a *API) leaveWaitlist(ctx context.Context, call *Call, in *waitlistEntryInput) (*struct{}, error) {
	version, replayed, err := a.opts.Store.LeaveWaitlist(ctx, call.Caller.Actor(), &call.Key, in.EntryID)
	if err != nil {
		return nil, err
	}
	finishWrite(call, version, replayed)
	return nil, nil
}

type listWaitlistInput struct {
	ShowID uuid.UUID `path:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	Status string    `query:"status" enum:"waiting,offered,accepted,declined,lapsed,left" doc:"Only with this status" example:"waiting"`
	Cursor string    `query:"cursor" maxLength:"200" doc:"nextCursor of the page before" example:"42"`
	Limit  int       `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Entries a page" example:"50"`
}

type listWaitlistOutput struct {
	Body struct {
		Waiting    int             `json:"waiting" doc:"How many parties wait in this show" example:"12"`
		Entries    []WaitlistEntry `json:"entries" doc:"The page, the earliest first"`
		NextCursor string          `json:"nextCursor,omitempty" doc:"Send it as cursor for the next page; missing on the last" example:"42"`
	}
}

func (a *API) listWaitlist(ctx context.Context, call *Call, in *listWaitlistInput) (*listWaitlistOutput, error) {
	f := store.WaitlistFilter{
		OrganisationID: call.Caller.OrganisationID, ShowID: in.ShowID, Status: boxoffice.WaitlistStatus(in.Status), Limit: in.Limit + 1,
	}
	if in.Cursor != "" {
		after, err := strconv.ParseInt(in.Cursor, 10, 64)
		if err != nil || after < 0 {
			return nil, boxoffice.Invalid(boxoffice.Violation{Field: "cursor", Message: "is not a cursor of this list"})
		}
		f.After = after
	}
	list, waiting, err := a.opts.Store.ListWaitlist(ctx, f)
	if err != nil {
		return nil, err
	}
	out := &listWaitlistOutput{}
	if len(list) > in.Limit {
		list = list[:in.Limit]
		out.Body.NextCursor = strconv.FormatInt(list[in.Limit-1].No, 10)
	}
	out.Body.Waiting, out.Body.Entries = waiting, make([]WaitlistEntry, len(list))
	for i, v := range list {
		out.Body.Entries[i] = waitlistBody(v)
	}
	return out, nil
}
