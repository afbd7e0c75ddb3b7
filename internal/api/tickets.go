package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"golang.org/x/text/language"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/internal/tickets"
)

const (
	gateMax = 100
	// aheadMax is how far a device's clock may be ahead of ours.
	aheadMax = 5 * time.Minute
	// printMax is how many tickets are printed at once, and printTimeout how
	// long that, and the turn for it, may take: an answer has a minute.
	printMax     = 200
	printTimeout = 30 * time.Second
)

func (a *API) registerTickets() {
	checkin := []boxoffice.Scope{boxoffice.ScopeCheckin}
	show := map[string]string{"Show-Version": "The show's version after this."}
	theirs := []boxoffice.Code{boxoffice.CodeNotFound}
	drawn := []boxoffice.Code{boxoffice.CodeNotFound, boxoffice.CodeConflict}
	register(a, Operation{
		ID: "listTickets", Method: http.MethodGet, Path: "/bookings/{bookingId}/tickets", Tag: "Tickets",
		Summary: "List the tickets of a booking", Description: "Void ones too. Other customers' bookings are not found.", Codes: theirs,
	}, a.listTickets)
	register(a, Operation{
		ID: "printTickets", Method: http.MethodGet, Path: "/bookings/{bookingId}/tickets.pdf", Tag: "Tickets", Weight: 5, Media: "application/pdf",
		Summary: "Print the tickets of a booking",
		Description: "Two to a page of A4, with names in any script. Labels are in the language of `Accept-Language`, else the buyer's, as far as there are some: English, German and Arabic. " +
			"Void tickets are left out; when no other is left the answer is `CONFLICT`.\n\n" +
			"At most 200 at once. A larger booking is printed in parts: `limit=200` with `from=1`, `from=201` and so on, as far as it has numbers.",
		Codes: drawn,
	}, a.printTickets)
	register(a, Operation{
		ID: "readTicket", Method: http.MethodGet, Path: "/tickets/{ticketId}", Tag: "Tickets",
		Summary: "Read a ticket", Description: "Other customers' tickets are not found. With the scope `checkin` any ticket may be read, without its code.", Codes: theirs,
	}, a.readTicket)
	register(a, Operation{
		ID: "drawTicketSVG", Method: http.MethodGet, Path: "/tickets/{ticketId}/qr.svg", Tag: "Tickets", Media: "image/svg+xml",
		Summary: "Draw a ticket's QR code as SVG", Description: "Black on white with the margin that scanners need, in any size. A void ticket has none: `CONFLICT`.", Codes: drawn,
	}, a.drawSVG)
	register(a, Operation{
		ID: "drawTicketPNG", Method: http.MethodGet, Path: "/tickets/{ticketId}/qr.png", Tag: "Tickets", Media: "image/png",
		Summary: "Draw a ticket's QR code as PNG", Description: "As the SVG, in a size of one's own. Every module has the same whole number of pixels.", Codes: drawn,
	}, a.drawPNG)
	register(a, Operation{
		ID: "nameTicket", Method: http.MethodPatch, Path: "/tickets/{ticketId}", Tag: "Tickets",
		Summary:     "Put a name on a ticket",
		Description: "Or, with null or an empty text, take it off. Nothing else about the ticket changes and no place is touched, so it works for a show that is sold out as well. Staff need the scope `reservations:staff`.",
		Codes:       []boxoffice.Code{boxoffice.CodeForbidden, boxoffice.CodeNotFound},
	}, a.nameTicket)
	register(a, Operation{
		ID: "listTicketKeys", Method: http.MethodGet, Path: "/tickets/keys", Tag: "Tickets", Access: Public,
		Summary: "List the keys of ticket codes",
		Description: "A JSON Web Key Set with the Ed25519 keys that ticket codes are signed with: with it a scanner without a network tells a real code from a forged one. The first key signs today. " +
			"docs/tickets.md says what a code is made of. What a code cannot say is whether its ticket is void or used.",
	}, a.listTicketKeys)
	register(a, Operation{
		ID: "checkIn", Method: http.MethodPost, Path: "/tickets/check-in", Tag: "Tickets", Scopes: checkin,
		Summary: "Check a ticket in",
		Description: "Admits a ticket once. The result is no error: `admitted`; `already_used`, with when and where; `void`, which wins over it; `wrong_show`, when `showId` is given and the code is of another one; `invalid`, when the code is not, or not provably, one of this house. " +
			"Of the last two nothing is kept. A `scanId` that is sent again is answered the same.\n\n" +
			"A device without a network verifies codes by `GET /tickets/keys`, lets people in, and sends its scans later with `at`. They are kept as they happened: whoever was let in by them is `admitted`, and `shouldNotHaveBeenAdmitted` says that somebody else had come with the ticket before, or that it was void.",
		Status: http.StatusOK, Codes: []boxoffice.Code{boxoffice.CodeLockTimeout}, Headers: show,
	}, a.checkIn)
	register(a, Operation{
		ID: "readAdmissions", Method: http.MethodGet, Path: "/shows/{showId}/admissions", Tag: "Tickets",
		Scopes:  []boxoffice.Scope{boxoffice.ScopeCheckin, boxoffice.ScopeSalesRead},
		Summary: "Count who went in", Description: "In all and by gate. Heads are different tickets; entries are scans that let somebody in.",
		Codes: theirs,
	}, a.readAdmissions)
}

// Ticket is the right to one place.
type Ticket struct {
	TicketID       uuid.UUID  `json:"ticketId" format:"uuid" doc:"The ticket" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d64"`
	BookingID      uuid.UUID  `json:"bookingId" format:"uuid" doc:"Its booking" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d63"`
	ShowID         uuid.UUID  `json:"showId" format:"uuid" doc:"For which show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	Number         int        `json:"number" doc:"Its number in the booking, from 1" example:"1"`
	SeatID         *uuid.UUID `json:"seatId,omitempty" format:"uuid" doc:"The seat; missing for a place of an area" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	AreaID         *uuid.UUID `json:"areaId,omitempty" format:"uuid" doc:"The area; missing for a seat" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6f"`
	Label          string     `json:"label" doc:"The seat's label, or the area's name" example:"Stalls-A-7"`
	Category       string     `json:"category,omitempty" doc:"Price category of the place" example:"Stalls"`
	TicketType     string     `json:"ticketType" doc:"Who comes" example:"standard"`
	Price          int64      `json:"price" doc:"As it was when held, in the currency's minor unit; 0 for a comp" example:"4500"`
	RefundedAmount int64      `json:"refundedAmount" doc:"What of it was given back or is on its way" example:"0"`
	Currency       string     `json:"currency" doc:"ISO 4217" example:"EUR"`
	HolderName     string     `json:"holderName,omitempty" doc:"The name on it" example:"محمد"`
	Status         string     `json:"status" enum:"valid,used,void" doc:"used: somebody came with it; void: it was given back" example:"valid"`
	Code           string     `json:"code,omitempty" doc:"What the QR code says: signed, 168 characters of A to Z and 2 to 7. A void ticket has none" example:"AG5YUQ…"`
	UsedAt         *time.Time `json:"usedAt,omitempty" doc:"When somebody first came with it" example:"2026-11-27T18:42:00Z"`
	UsedGate       string     `json:"usedGate,omitempty" doc:"And where" example:"north"`
}

func (a *API) ticketBody(t *store.TicketView, currency string) Ticket {
	return Ticket{
		TicketID: t.ID, BookingID: t.BookingID, ShowID: t.ShowID, Number: t.N, SeatID: optionalID(t.Seat.SeatID), AreaID: optionalID(t.AreaID),
		Label: t.Seat.Label, Category: t.Seat.Category, TicketType: t.TicketType, Price: t.PriceMinor, RefundedAmount: t.RefundedMinor,
		Currency: currency, HolderName: t.HolderName, Status: string(t.Status), Code: a.codeOf(t), UsedAt: utc(t.UsedAt), UsedGate: t.UsedGate,
	}
}

// codeOf is what a ticket's QR code says; "": it has none.
func (a *API) codeOf(t *store.TicketView) string {
	if a.opts.Tickets == nil || t.Status == boxoffice.TicketVoid {
		return ""
	}
	return a.opts.Tickets.Code(tickets.Claims{TicketID: t.ID, ShowID: t.ShowID})
}

func (a *API) ticketBodies(v *store.BookingView) []Ticket {
	bodies := make([]Ticket, len(v.Tickets))
	for i := range v.Tickets {
		bodies[i] = a.ticketBody(&v.Tickets[i], v.Currency)
	}
	return bodies
}

type ticketsOutput struct {
	Body struct {
		Tickets []Ticket `json:"tickets" doc:"By number: seats in the order of the reservation, then the places of areas"`
	}
}

func (a *API) listTickets(ctx context.Context, call *Call, in *bookingInput) (*ticketsOutput, error) {
	v, err := a.bookingOf(ctx, call, in.BookingID)
	if err != nil {
		return nil, err
	}
	out := &ticketsOutput{}
	out.Body.Tickets = a.ticketBodies(v)
	return out, nil
}

type ticketInput struct {
	TicketID uuid.UUID `path:"ticketId" format:"uuid" doc:"The ticket" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d64"`
}

type ticketOutput struct{ Body Ticket }

func (a *API) ticketOf(ctx context.Context, call *Call, id uuid.UUID, scopes ...boxoffice.Scope) (*store.SingleTicket, error) {
	organisation, customer, ok := reader(&call.Caller, scopes...)
	if !ok {
		return nil, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such ticket.")
	}
	return a.opts.Store.ReadTicket(ctx, organisation, customer, id)
}

func (a *API) readTicket(ctx context.Context, call *Call, in *ticketInput) (*ticketOutput, error) {
	t, err := a.ticketOf(ctx, call, in.TicketID, boxoffice.ScopeCheckin)
	if err != nil {
		return nil, err
	}
	out := &ticketOutput{a.ticketBody(&t.TicketView, t.Currency)}
	if !seesBookings(&call.Caller) && t.CustomerID != call.Caller.CustomerID {
		out.Body.Code = "" // who stands at the door is shown it
	}
	return out, nil
}

// bytesOutput is an answer that is a file.
type bytesOutput struct {
	Disposition string `header:"Content-Disposition" doc:"A name to keep it under"`
	Body        []byte
}

// file is a file as an answer.
func file(call *Call, kind, name string, body []byte, err error) (*bytesOutput, error) {
	if err != nil {
		return nil, err
	}
	call.Header().Set("Content-Type", kind)
	return &bytesOutput{`inline; filename="` + name + `"`, body}, nil
}

func errVoid() error {
	return boxoffice.Refuse(boxoffice.CodeConflict, "The ticket is void: it has no code any more.")
}

type printTicketsInput struct {
	BookingID uuid.UUID `path:"bookingId" format:"uuid" doc:"The booking" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d63"`
	From      int       `query:"from" minimum:"1" default:"1" doc:"Number of the first ticket" example:"201"`
	Limit     int       `query:"limit" minimum:"1" maximum:"200" doc:"How many numbers from there on, those of void tickets too; missing: all, which must be at most 200 tickets" example:"200"`
}

// part leaves the tickets that are to be printed, and says which of all that
// are not void the first of them is.
func (in *printTicketsInput) part(all []store.TicketView) (part []store.TicketView, first, of int, err error) {
	first = 1
	for _, t := range all {
		switch {
		case t.Status == boxoffice.TicketVoid:
			continue
		case t.N < in.From:
			first++
		case in.Limit == 0 || t.N-in.From < in.Limit:
			part = append(part, t)
		}
		of++
	}
	switch {
	case len(part) > printMax:
		return nil, 0, 0, boxoffice.Invalid(boxoffice.Violation{Field: "limit", Message: fmt.Sprintf(
			"is needed, with from: these are %d tickets, and at most %d are printed at once", len(part), printMax)})
	case len(part) == 0:
		return nil, 0, 0, boxoffice.Refuse(boxoffice.CodeConflict, "None of these tickets of the booking is valid.")
	}
	return part, first, of, nil
}

func (a *API) printTickets(ctx context.Context, call *Call, in *printTicketsInput) (*bytesOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, printTimeout)
	defer cancel()
	v, err := a.bookingOf(ctx, call, in.BookingID)
	if err != nil {
		return nil, err
	}
	part, first, of, err := in.part(v.Tickets)
	if err != nil {
		return nil, err
	}
	v.Tickets = part
	occasion, err := a.opts.Checkout.Occasion(ctx, v.OrganisationID, v.ShowID)
	if err != nil {
		return nil, err
	}
	doc := occasion.Printable(v, a.opts.Tickets, speaks(call.Request().Header, v))
	doc.First, doc.Of = first, of
	var b bytes.Buffer
	err = tickets.PDF(ctx, &b, doc)
	return file(call, "application/pdf", "tickets-"+v.Reference+".pdf", b.Bytes(), err)
}

// speaks is the language of whoever reads: what the request asks for, else the
// buyer's.
func speaks(h http.Header, v *store.BookingView) string {
	if list, _, err := language.ParseAcceptLanguage(h.Get("Accept-Language")); err == nil && len(list) > 0 && list[0] != language.Und {
		return list[0].String()
	}
	if v.Buyer != nil {
		return v.Buyer.Locale
	}
	return ""
}

func (a *API) drawSVG(ctx context.Context, call *Call, in *ticketInput) (*bytesOutput, error) {
	t, err := a.ticketOf(ctx, call, in.TicketID)
	if err != nil {
		return nil, err
	}
	code := a.codeOf(&t.TicketView)
	if code == "" {
		return nil, errVoid()
	}
	picture, err := tickets.QRSVG(code, t.Reference+" · "+t.Seat.Label)
	return file(call, "image/svg+xml", "ticket-"+t.ID.String()+".svg", picture, err)
}

type drawPNGInput struct {
	TicketID uuid.UUID `path:"ticketId" format:"uuid" doc:"The ticket" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d64"`
	Size     int       `query:"size" minimum:"64" maximum:"2048" default:"512" doc:"Length of a side in pixels" example:"512"`
}

func (a *API) drawPNG(ctx context.Context, call *Call, in *drawPNGInput) (*bytesOutput, error) {
	t, err := a.ticketOf(ctx, call, in.TicketID)
	if err != nil {
		return nil, err
	}
	code := a.codeOf(&t.TicketView)
	if code == "" {
		return nil, errVoid()
	}
	picture, err := tickets.QRPNG(code, in.Size)
	return file(call, "image/png", "ticket-"+t.ID.String()+".png", picture, err)
}

type nameTicketInput struct {
	TicketID uuid.UUID `path:"ticketId" format:"uuid" doc:"The ticket" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d64"`
	Body     struct {
		HolderName *string `json:"holderName" nullable:"true" maxLength:"200" doc:"The name, in any script; null or empty takes it off" example:"李小龍"`
	}
}

func (a *API) nameTicket(ctx context.Context, call *Call, in *nameTicketInput) (*ticketOutput, error) {
	var c boxoffice.Checks
	name := ""
	if in.Body.HolderName != nil {
		name = *in.Body.HolderName
	}
	c.Line("holderName", &name, 0, personMax)
	if err := c.Err(); err != nil {
		return nil, err
	}
	organisation, customer := uuid.Nil, call.Caller.CustomerID
	switch {
	case call.Caller.Has(boxoffice.ScopeReservationsStaff):
		organisation, customer = call.Caller.OrganisationID, ""
	case customer == "":
		return nil, call.Require(boxoffice.ScopeReservationsStaff)
	}
	replayed, err := a.opts.Store.NameHolder(ctx, call.Key, organisation, customer, in.TicketID, name)
	if err != nil {
		return nil, err
	}
	if replayed {
		call.Replayed()
	}
	t, err := a.opts.Store.ReadTicket(ctx, organisation, customer, in.TicketID)
	if err != nil {
		return nil, err
	}
	return &ticketOutput{a.ticketBody(&t.TicketView, t.Currency)}, nil
}

// TicketKey is a public key as RFC 8037 writes it in a JSON Web Key.
type TicketKey struct {
	KeyType   string `json:"kty" enum:"OKP" doc:"Always OKP" example:"OKP"`
	Curve     string `json:"crv" enum:"Ed25519" doc:"Always Ed25519" example:"Ed25519"`
	KeyID     string `json:"kid" doc:"The first eight bytes of the SHA-256 of the public key, in hex: what a code names its key by" example:"6f1ed002ab559585"`
	X         string `json:"x" doc:"The public key, 32 bytes in base64url without padding" example:"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"`
	Use       string `json:"use" enum:"sig" doc:"Always sig" example:"sig"`
	Algorithm string `json:"alg" enum:"EdDSA" doc:"Always EdDSA" example:"EdDSA"`
}

type ticketKeysBody struct {
	Keys []TicketKey `json:"keys" doc:"The first one signs today; the others still verify"`
}

func (a *API) listTicketKeys(_ context.Context, call *Call, _ *struct{}) (*catalogueOutput[ticketKeysBody], error) {
	body := ticketKeysBody{[]TicketKey{}}
	if a.opts.Tickets != nil {
		for _, k := range a.opts.Tickets.Keys().Keys {
			body.Keys = append(body.Keys, TicketKey(k))
		}
	}
	return answerHashed(call, "", catalogueAge, body)
}

type checkInInput struct {
	Body struct {
		Code   string     `json:"code" minLength:"1" maxLength:"1000" doc:"As it was read" example:"AG5YUQ…"`
		ScanID uuid.UUID  `json:"scanId" format:"uuid" doc:"Made by the device for this scan, and sent again with each retry of it" example:"6f1c2b34-8a5d-4a8e-9c0e-2b7f6d1e3a90"`
		Gate   string     `json:"gate,omitempty" maxLength:"100" doc:"Where" example:"north"`
		At     *time.Time `json:"at,omitempty" doc:"When a device without a network let its holder in; missing: this is now, and the answer decides" example:"2026-11-27T18:42:00Z"`
		ShowID *uuid.UUID `json:"showId,omitempty" format:"uuid" doc:"The show at this door: a ticket of another one is wrong_show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	}
}

// CheckedTicket is what a door is told about a ticket.
type CheckedTicket struct {
	TicketID   uuid.UUID  `json:"ticketId" format:"uuid" doc:"The ticket" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d64"`
	BookingID  uuid.UUID  `json:"bookingId" format:"uuid" doc:"Its booking" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d63"`
	ShowID     uuid.UUID  `json:"showId" format:"uuid" doc:"Its show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	SeatID     *uuid.UUID `json:"seatId,omitempty" format:"uuid" doc:"The seat" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	AreaID     *uuid.UUID `json:"areaId,omitempty" format:"uuid" doc:"The area" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6f"`
	Label      string     `json:"label" doc:"The seat's label, or the area's name" example:"Stalls-A-7"`
	TicketType string     `json:"ticketType" doc:"Who comes" example:"child"`
	HolderName string     `json:"holderName,omitempty" doc:"The name on it" example:"Ada Lovelace"`
}

// CheckIn is what came of a scan.
type CheckIn struct {
	Result                    boxoffice.ScanResult `json:"result" enum:"admitted,already_used,void,wrong_show,invalid" doc:"What it is" example:"admitted"`
	Admitted                  bool                 `json:"admitted" doc:"Whether its holder is in: let in now, or by the device before" example:"true"`
	ShouldNotHaveBeenAdmitted bool                 `json:"shouldNotHaveBeenAdmitted" doc:"A device without a network let somebody in who should not have been" example:"false"`
	Offline                   bool                 `json:"offline" doc:"Whether it was told later, with at" example:"false"`
	At                        *time.Time           `json:"at,omitempty" doc:"When it was read" example:"2026-11-27T18:42:00.123456Z"`
	Ticket                    *CheckedTicket       `json:"ticket,omitempty" doc:"The ticket; missing with invalid and wrong_show"`
	FirstUsedAt               *time.Time           `json:"firstUsedAt,omitempty" doc:"With already_used: when somebody came with it first" example:"2026-11-27T18:40:12Z"`
	FirstGate                 string               `json:"firstGate,omitempty" doc:"And where" example:"south"`
}

type checkInOutput struct{ Body CheckIn }

func (a *API) checkIn(ctx context.Context, call *Call, in *checkInInput) (*checkInOutput, error) {
	b := &in.Body
	var c boxoffice.Checks
	req := store.CheckInRequest{ScanID: b.ScanID, Gate: b.Gate}
	c.Line("gate", &req.Gate, 0, gateMax)
	if b.ScanID == uuid.Nil {
		c.Add("scanId", "must not be the zero UUID")
	}
	if b.At != nil {
		req.At = *b.At
		c.Instant("at", &req.At)
		if time.Until(req.At) > aheadMax {
			c.Add("at", "must not be in the future")
		}
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	claims, ours := a.verify(b.Code)
	switch {
	case !ours:
		return a.scanned(&CheckIn{Result: boxoffice.ScanInvalid, Offline: b.At != nil}, false), nil
	case b.ShowID != nil && *b.ShowID != claims.ShowID:
		return a.scanned(&CheckIn{Result: boxoffice.ScanWrongShow, Offline: b.At != nil}, false), nil
	}
	req.TicketID, req.ShowID = claims.TicketID, claims.ShowID
	done, err := a.opts.Store.CheckIn(ctx, call.Caller.Actor(), &call.Key, req)
	if boxoffice.CodeOf(err) == boxoffice.CodeNotFound { // another organisation's, or of a database that was restored
		return a.scanned(&CheckIn{Result: boxoffice.ScanInvalid, Offline: b.At != nil}, false), nil
	}
	if err != nil {
		return nil, err
	}
	s, t := &done.Scan, done.Ticket
	finishWrite(call, done.Version, done.Replayed)
	return a.scanned(&CheckIn{
		Result: s.Result, Admitted: s.Admitted, ShouldNotHaveBeenAdmitted: s.ShouldNot, Offline: s.Offline, At: utc(s.At),
		FirstUsedAt: utc(s.FirstAt), FirstGate: s.FirstGate,
		Ticket: &CheckedTicket{
			t.ID, t.BookingID, t.ShowID, optionalID(t.Seat.SeatID), optionalID(t.AreaID), t.Seat.Label, t.TicketType, t.HolderName,
		},
	}, done.Replayed), nil
}

// verify reads a code, if it is one of ours. Why not is for scanners to know,
// which do this by themselves.
func (a *API) verify(code string) (c tickets.Claims, ours bool) {
	if a.opts.Tickets == nil {
		return c, false
	}
	c, err := a.opts.Tickets.Verify(code)
	return c, err == nil
}

func (a *API) scanned(c *CheckIn, replayed bool) *checkInOutput {
	if !replayed {
		a.metrics.CheckIns.WithLabelValues(string(c.Result)).Inc()
	}
	return &checkInOutput{*c}
}

// Admissions are who went in.
type Admissions struct {
	ShowID  uuid.UUID        `json:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	Tickets int              `json:"tickets" doc:"Tickets that are valid or used: who may come" example:"480"`
	Heads   int              `json:"heads" doc:"Different tickets that somebody went in with" example:"312"`
	Entries int              `json:"entries" doc:"Scans that let somebody in; more than heads when devices without a network let a ticket in twice" example:"313"`
	Flagged int              `json:"flagged" doc:"Of them, those that should not have" example:"1"`
	Refused int              `json:"refused" doc:"Scans that let nobody in" example:"4"`
	Gates   []GateAdmissions `json:"gates" doc:"By gate"`
}

// GateAdmissions are who went in at one gate.
type GateAdmissions struct {
	Gate    string `json:"gate" doc:"Its name; empty for scans without one" example:"north"`
	Heads   int    `json:"heads" doc:"Different tickets that somebody went in with here" example:"200"`
	Entries int    `json:"entries" doc:"Scans that let somebody in" example:"200"`
	Flagged int    `json:"flagged" doc:"Of them, those that should not have" example:"0"`
	Refused int    `json:"refused" doc:"Scans that let nobody in" example:"3"`
}

type admissionsOutput struct{ Body Admissions }

func (a *API) readAdmissions(ctx context.Context, call *Call, in *showInput) (*admissionsOutput, error) {
	n, err := a.opts.Store.Admissions(ctx, call.Caller.OrganisationID, in.ShowID)
	if err != nil {
		return nil, err
	}
	out := &admissionsOutput{Admissions{in.ShowID, n.Tickets, n.Heads, n.Entries, n.Flagged, n.Refused, make([]GateAdmissions, len(n.Gates))}}
	for i, g := range n.Gates {
		out.Body.Gates[i] = GateAdmissions(g)
	}
	return out, nil
}
