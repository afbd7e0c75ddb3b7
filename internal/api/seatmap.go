package api

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/live"
	"github.com/rowlock/rowlock/internal/store"
)

// SeatMap is every place of a show.
type SeatMap struct {
	ShowID   uuid.UUID `json:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	Version  int64     `json:"version" doc:"The show's version; raised by each change" example:"42"`
	AsOf     time.Time `json:"asOf" doc:"Since when the places are like this, by the database's clock: the show's last change, or the end of a hold that came after it" example:"2026-11-27T20:15:00.123456Z"`
	Stale    bool      `json:"stale,omitempty" doc:"The database cannot be reached: this was known last, and later changes are missing" example:"true"`
	Currency string    `json:"currency" doc:"Of the prices, ISO 4217" example:"EUR"`
	Seats    []MapSeat `json:"seats" doc:"In plan order"`
	Areas    []MapArea `json:"areas" doc:"Standing areas and other countable places"`
}

// MapSeat is a seat in a show.
type MapSeat struct {
	SeatID   uuid.UUID            `json:"seatId" format:"uuid" doc:"The seat's id" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	Label    string               `json:"label" doc:"What people read: section, row and seat" example:"Stalls-A-7"`
	Section  string               `json:"section" doc:"Section; empty when the plan has none" example:"Stalls"`
	Row      string               `json:"row" doc:"Row; empty when the plan has none" example:"A"`
	Seat     string               `json:"seat" doc:"The seat's own name in its row" example:"7"`
	Category string               `json:"category" doc:"Price class" example:"Balcony"`
	Kind     boxoffice.SeatKind   `json:"kind" enum:"standard,wheelchair,companion" doc:"Whom it is made for" example:"standard"`
	Features []string             `json:"features" doc:"restricted_view, aisle and the like" example:"[\"aisle\"]"`
	X        *float64             `json:"x,omitempty" doc:"Horizontal position in the plan's own units, if the plan has one" example:"120.5"`
	Y        *float64             `json:"y,omitempty" doc:"Vertical position, growing downwards" example:"80"`
	Status   boxoffice.SeatStatus `json:"status" enum:"available,held,booked,blocked" doc:"What it is" example:"available"`
	Price    int64                `json:"price" doc:"Of the standard ticket type, minor units" example:"2500"`

	ReservationID *uuid.UUID `json:"reservationId,omitempty" format:"uuid" doc:"With view=staff: whose it is" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	CustomerID    string     `json:"customerId,omitempty" doc:"With view=staff: the reservation's customer" example:"guest:9b2e7d1c-53a4-4f0e-8b7a-2d4c6e8f0a1b"`
	BlockID       *uuid.UUID `json:"blockId,omitempty" format:"uuid" doc:"With view=staff: the block that it is in, or is sold from" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	HeldUntil     *time.Time `json:"heldUntil,omitempty" doc:"With view=staff: when the hold ends" example:"2026-11-27T20:15:00.123456Z"`
}

// MapArea is an area in a show.
type MapArea struct {
	AreaID      uuid.UUID `json:"areaId" format:"uuid" doc:"The area's id" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	ExternalRef string    `json:"externalRef,omitempty" doc:"The organiser's own identifier, such as an article number" example:"day-ticket-sat"`
	Name        string    `json:"name" doc:"Display name" example:"Floor"`
	Category    string    `json:"category" doc:"Price class" example:"Standing"`
	Capacity    int       `json:"capacity" doc:"Units in all" example:"800"`
	Available   int       `json:"available" doc:"Units that can be held now" example:"312"`
	Price       int64     `json:"price" doc:"Of the standard ticket type, minor units" example:"1800"`
}

// Availability is what is free in a show, in little space.
type Availability struct {
	ShowID     uuid.UUID              `json:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	Version    int64                  `json:"version" doc:"The show's version; raised by each change" example:"42"`
	AsOf       time.Time              `json:"asOf" doc:"Since when the places are like this, by the database's clock: the show's last change, or the end of a hold that came after it" example:"2026-11-27T20:15:00.123456Z"`
	Stale      bool                   `json:"stale,omitempty" doc:"The database cannot be reached: this was known last, and later changes are missing" example:"true"`
	PlanID     *uuid.UUID             `json:"planId,omitempty" format:"uuid" doc:"The plan whose order statuses is in" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	Capacity   int                    `json:"capacity" doc:"Places in all, seats and units of areas" example:"1200"`
	Available  int                    `json:"available" doc:"Places that can be held now" example:"512"`
	Held       int                    `json:"held" doc:"Places in holds that are not over" example:"80"`
	Booked     int                    `json:"booked" doc:"Places sold" example:"600"`
	Blocked    int                    `json:"blocked" doc:"Seats kept off sale" example:"8"`
	Categories []CategoryAvailability `json:"categories" doc:"The same for each price class"`
	Areas      []AreaCount            `json:"areas" doc:"Each standing area"`
	Statuses   string                 `json:"statuses" doc:"A letter a seat, in the order of the plan's seats: a available, h held, b booked, x blocked" example:"aahhbax"`
}

// CategoryAvailability counts the places of a category.
type CategoryAvailability struct {
	Category  string `json:"category" doc:"Price class" example:"Balcony"`
	Capacity  int    `json:"capacity" doc:"Places in all, seats and units of areas" example:"400"`
	Available int    `json:"available" doc:"Places that can be held now" example:"200"`
	Held      int    `json:"held" doc:"Places in holds that are not over" example:"20"`
	Booked    int    `json:"booked" doc:"Places sold" example:"172"`
	Blocked   int    `json:"blocked" doc:"Seats kept off sale" example:"8"`
}

// AreaCount counts the units of an area.
type AreaCount struct {
	AreaID      uuid.UUID `json:"areaId" format:"uuid" doc:"The area's id" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	ExternalRef string    `json:"externalRef,omitempty" doc:"The organiser's own identifier, such as an article number" example:"day-ticket-sat"`
	Name        string    `json:"name" doc:"Display name" example:"Floor"`
	Category    string    `json:"category" doc:"Price class" example:"Standing"`
	Capacity    int       `json:"capacity" doc:"Units in all" example:"800"`
	Available   int       `json:"available" doc:"Units that can be held now" example:"312"`
	Held        int       `json:"held" doc:"Units in holds that are not over" example:"40"`
	Booked      int       `json:"booked" doc:"Units sold" example:"448"`
}

// AreaAvailability is one area of a show, or one stock.
type AreaAvailability struct {
	ShowID             uuid.UUID `json:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	AreaID             uuid.UUID `json:"areaId" format:"uuid" doc:"The area" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	ExternalRef        string    `json:"externalRef,omitempty" doc:"The organiser's own identifier, such as an article number" example:"day-ticket-sat"`
	Name               string    `json:"name" doc:"Display name" example:"Floor"`
	Version            int64     `json:"version" doc:"The show's version; raised by each change" example:"42"`
	AsOf               time.Time `json:"asOf" doc:"Since when the show's places are like this, by the database's clock" example:"2026-11-27T20:15:00.123456Z"`
	Stale              bool      `json:"stale,omitempty" doc:"The database cannot be reached: this was known last, and later changes are missing" example:"true"`
	Capacity           int       `json:"capacity" doc:"Units in all" example:"800"`
	Booked             int       `json:"booked" doc:"Units sold" example:"448"`
	ActiveReservations int       `json:"activeReservations" doc:"Units in holds that are not over" example:"40"`
	Available          int       `json:"available" doc:"Units that can be held now: capacity less the two" example:"312"`
}

// mapOutput is a map that is encoded already, perhaps compressed.
type mapOutput struct {
	ETag            string `header:"ETag" doc:"Names what the places are like: the show's version, and how many places' holds have ended since"`
	CacheControl    string `header:"Cache-Control" doc:"Maps may be kept, and must be asked for again by their ETag"`
	ContentEncoding string `header:"Content-Encoding" doc:"gzip, for clients that take it"`
	Age             string `header:"Age" doc:"With stale maps only: seconds since the database was last heard of"`
	Body            JSON
}

// MapQuery is what all reads of places are asked with. It is exported because
// Huma looks into no embedded struct that is not.
type MapQuery struct {
	ShowID     uuid.UUID `path:"showId" format:"uuid" doc:"The show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60"`
	MinVersion int64     `query:"minVersion" minimum:"0" doc:"Wait up to a second for the show to reach this version, such as the Show-Version of a write; then answer what there is" example:"43"`
}

type seatMapInput struct {
	MapQuery
	Status boxoffice.SeatStatus `query:"status" enum:"available,held,booked,blocked" doc:"Only seats with this status" example:"available"`
	View   string               `query:"view" enum:"public,staff" default:"public" doc:"staff adds to each seat whose it is; needs the scope sales:read or reservations:staff" example:"public"`
}

type areaInput struct {
	MapQuery
	AreaID uuid.UUID `path:"areaId" format:"uuid" doc:"The area" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6f"`
}

// The cache rules of maps. A draft is for its organiser only.
const (
	mapCacheControl   = "no-cache"
	draftCacheControl = "private, no-store"
)

const staleNote = " While the database is away the answer is what was known last: it says `stale: true`, has an `Age` and a `Warning`, and no `ETag`; holds in it end at their time nevertheless."

func (a *API) registerSeatmap() {
	s := &seatmap{a.maps, a.opts.Store}
	stale := map[string]string{"Warning": "With stale maps only: 111, the database cannot be reached."}
	register(a, Operation{
		ID: "readSeats", Method: http.MethodGet, Path: "/shows/{showId}/seats", Tag: "Seats",
		Summary:     "Read the seat map of a show",
		Description: "Every seat with its place in the hall, price and status, in plan order, and every area. It has in it whatever was acknowledged before the request, by any instance; a seat is available from the instant its hold ends. What never changes about seats is in the plan as well, and `availability` is a hundredth of the size: pages that refresh should read that." + staleNote,
		Access:      Public, Weight: 5, Headers: stale,
		Codes: []boxoffice.Code{boxoffice.CodeNotFound, boxoffice.CodeForbidden},
	}, s.readSeats)
	register(a, Operation{
		ID: "readAvailability", Method: http.MethodGet, Path: "/shows/{showId}/availability", Tag: "Seats",
		Summary:     "Read what is free in a show",
		Description: "Counts by category and area, and one letter for each seat in plan order, so that a map of 20,000 seats is 20 kB before compression. It has in it whatever was acknowledged before the request, by any instance; a seat is available from the instant its hold ends. Ask with If-None-Match, and what has not changed is 304." + staleNote,
		Access:      Public, Headers: stale,
		Codes: []boxoffice.Code{boxoffice.CodeNotFound},
	}, s.readAvailability)
	register(a, Operation{
		ID: "readAreaAvailability", Method: http.MethodGet, Path: "/shows/{showId}/areas/{areaId}/availability", Tag: "Seats",
		Summary:     "Read what is free in an area",
		Description: "How many units of a standing area, or of a stock, are sold, held and left." + staleNote,
		Access:      Public, Headers: stale,
		Codes: []boxoffice.Code{boxoffice.CodeNotFound},
	}, s.readArea)
	s.registerStream(a)
	describeBody[SeatMap](a, "/shows/{showId}/seats")
	describeBody[Availability](a, "/shows/{showId}/availability")
	describeBody[AreaAvailability](a, "/shows/{showId}/areas/{areaId}/availability")
}

// describeBody documents the body of a GET that answers with a [JSON].
func describeBody[T any](a *API, path string) {
	doc := a.OpenAPI()
	doc.Paths[path].Get.Responses["200"].Content["application/json"].Schema = doc.Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

type seatmap struct {
	maps  *live.Maps
	store *store.Store
}

// view reads a show's map for a caller: drafts only for their organiser.
func (s *seatmap) view(ctx context.Context, call *Call, in *MapQuery) (*live.View, error) {
	v, err := s.maps.ReadVersion(ctx, in.ShowID, in.MinVersion)
	if err != nil {
		return nil, err
	}
	return v, visible(call, v.Terms)
}

// visible refuses a draft as if it were not there, unless the caller is an
// organiser of it.
func visible(call *Call, t *boxoffice.Terms) error {
	if t.Status != boxoffice.ShowDraft || seesDrafts(&call.Caller) && call.Caller.OrganisationID == t.OrganisationID {
		return nil
	}
	return boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such show.")
}

// answer sends a view in the form that the client takes, encoded once for all
// who ask for the same. Large forms are not kept as they are, only compressed.
func (s *seatmap) answer(call *Call, v *live.View, name string, large bool, encode func() []byte) (*mapOutput, error) {
	h := call.Header()
	h.Add("Vary", "Accept, Accept-Encoding")
	out := &mapOutput{ETag: v.ETag(), CacheControl: mapCacheControl}
	if v.Terms.Status == boxoffice.ShowDraft {
		out.CacheControl = draftCacheControl
	}
	if v.Stale {
		out.ETag, out.CacheControl, out.Age = "", "no-store", strconv.Itoa(int(v.Age.Seconds()))
		h.Set("Warning", `111 - "Revalidation Failed"`)
	} else if call.Matches(out.ETag) {
		return nil, NotModified(out.ETag, out.CacheControl)
	}
	plain := func() []byte {
		if large {
			return encode()
		}
		return v.Encoded(name, encode)
	}
	if call.Enveloped() || !takesGzip(call.Request().Header) {
		out.Body = plain()
		return out, nil
	}
	out.ContentEncoding = "gzip"
	out.Body = v.Encoded(name+".gz", func() []byte { return compress(plain()) })
	return out, nil
}

func (s *seatmap) readAvailability(ctx context.Context, call *Call, in *MapQuery) (*mapOutput, error) {
	v, err := s.view(ctx, call, in)
	if err != nil {
		return nil, err
	}
	return s.answer(call, v, "availability", false, func() []byte { return encodeAvailability(v) })
}

func (s *seatmap) readArea(ctx context.Context, call *Call, in *areaInput) (*mapOutput, error) {
	v, err := s.view(ctx, call, &in.MapQuery)
	if err != nil {
		return nil, err
	}
	area, ok := v.Area(in.AreaID)
	if !ok {
		return nil, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such area in this show.")
	}
	return s.answer(call, v, "area."+area.ID.String(), false, func() []byte {
		return mustJSON(AreaAvailability{
			ShowID: in.ShowID, AreaID: area.ID, ExternalRef: area.Ref, Name: area.Name, Version: v.Version, AsOf: v.Since.UTC(), Stale: v.Stale,
			Capacity: area.Capacity, Booked: area.Booked, ActiveReservations: area.Held, Available: area.Available,
		})
	})
}

func (s *seatmap) readSeats(ctx context.Context, call *Call, in *seatMapInput) (*mapOutput, error) {
	if in.View == "staff" {
		return s.readStaffSeats(ctx, call, in)
	}
	v, err := s.view(ctx, call, &in.MapQuery)
	if err != nil {
		return nil, err
	}
	return s.answer(call, v, "seats."+string(in.Status), true, func() []byte { return mustJSON(seatMapOf(v, in.Status, nil)) })
}

// readStaffSeats reads from the database: whose a seat is, is not kept in
// memory, and few people ask.
func (s *seatmap) readStaffSeats(ctx context.Context, call *Call, in *seatMapInput) (*mapOutput, error) {
	if !call.Caller.Has(boxoffice.ScopeReservationsStaff) {
		if err := call.Require(boxoffice.ScopeSalesRead); err != nil {
			return nil, err
		}
	}
	m, owners, err := s.store.ReadSeatOwners(ctx, in.ShowID)
	if err != nil {
		return nil, err
	}
	if m.Terms.OrganisationID != call.Caller.OrganisationID {
		return nil, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such show.")
	}
	if err := visible(call, m.Terms); err != nil {
		return nil, err
	}
	byNo := make(map[int32]*store.SeatOwner, len(owners))
	for i := range owners {
		byNo[owners[i].SeatNo] = &owners[i]
	}
	return &mapOutput{Body: mustJSON(seatMapOf(m.At(m.Now), in.Status, byNo))}, nil
}

func encodeAvailability(v *live.View) []byte { return mustJSON(availabilityOf(v)) }

func availabilityOf(v *live.View) Availability {
	t := v.Total
	out := Availability{
		ShowID: v.Terms.ShowID, Version: v.Version, AsOf: v.Since.UTC(), Stale: v.Stale,
		Capacity: t.Capacity, Available: t.Available, Held: t.Held, Booked: t.Booked, Blocked: t.Blocked,
		Categories: []CategoryAvailability{}, Areas: []AreaCount{}, Statuses: v.Statuses,
	}
	if v.Terms.Plan != nil {
		out.PlanID = &v.Terms.Plan.ID
	}
	for _, c := range v.Categories {
		out.Categories = append(out.Categories, CategoryAvailability{c.Category, c.Capacity, c.Available, c.Held, c.Booked, c.Blocked})
	}
	for _, a := range v.Areas {
		out.Areas = append(out.Areas, AreaCount{a.ID, a.Ref, a.Name, a.Category, a.Capacity, a.Available, a.Held, a.Booked})
	}
	return out
}

// seatMapOf names the places of a view; with owners, whose they are, too.
func seatMapOf(v *live.View, only boxoffice.SeatStatus, owners map[int32]*store.SeatOwner) *SeatMap {
	out := &SeatMap{ShowID: v.Terms.ShowID, Version: v.Version, AsOf: v.Since.UTC(), Stale: v.Stale, Currency: v.Terms.Currency,
		Seats: []MapSeat{}, Areas: []MapArea{}}
	price := func(category string) int64 {
		return v.Terms.Prices[boxoffice.PriceKey{Category: category, TicketType: boxoffice.TicketTypeStandard}]
	}
	for i := range len(v.Statuses) {
		status := v.Status(i)
		if only != "" && status != only {
			continue
		}
		s := &v.Terms.Plan.Seats[i]
		category := v.Terms.Plan.CategoryOf(s)
		seat := MapSeat{
			SeatID: s.ID, Label: s.Label, Section: s.Section, Row: s.Row, Seat: s.Number, Category: category,
			Kind: s.Kind, Features: s.Features, Status: status, Price: price(category),
		}
		if seat.Features == nil {
			seat.Features = []string{}
		}
		if s.Placed {
			seat.X, seat.Y = &s.X, &s.Y
		}
		if o := owners[s.No]; o != nil && status != boxoffice.SeatAvailable {
			seat.own(o)
		}
		out.Seats = append(out.Seats, seat)
	}
	for _, a := range v.Areas {
		out.Areas = append(out.Areas, MapArea{a.ID, a.Ref, a.Name, a.Category, a.Capacity, a.Available, price(a.Category)})
	}
	return out
}

// own says whose the seat is. A seat that is blocked again because a hold is
// over is nobody's.
func (s *MapSeat) own(o *store.SeatOwner) {
	if o.BlockID != uuid.Nil {
		s.BlockID = &o.BlockID
	}
	if s.Status == boxoffice.SeatBlocked || o.ReservationID == uuid.Nil {
		return
	}
	s.ReservationID, s.CustomerID = &o.ReservationID, o.CustomerID
	if s.Status == boxoffice.SeatHeld {
		s.HeldUntil = new(o.HeldUntil.UTC())
	}
}

// mustJSON encodes plain data, which cannot fail.
func mustJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// compressors are expensive to make: each has tables of its own.
var compressors = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is ours
	}
	return w
}}

func compress(b []byte) []byte {
	w := compressors.Get().(*gzip.Writer)
	defer compressors.Put(w)
	var out bytes.Buffer
	w.Reset(&out)
	_, err := w.Write(b)
	if err = cmp.Or(err, w.Close()); err != nil {
		panic(err) // a buffer takes everything
	}
	return out.Bytes()
}

// takesGzip reads Accept-Encoding: gzip, or anything, unless with q=0. What is
// said of gzip itself counts.
func takesGzip(h http.Header) (anything bool) {
	for _, line := range h["Accept-Encoding"] {
		for part := range strings.SplitSeq(line, ",") {
			coding, params, _ := strings.Cut(strings.TrimSpace(part), ";")
			if coding = strings.ToLower(strings.TrimSpace(coding)); coding != "gzip" && coding != "*" {
				continue
			}
			q, given := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
			weight, err := strconv.ParseFloat(q, 64)
			takes := !given || err == nil && weight > 0
			if coding == "gzip" {
				return takes
			}
			anything = takes
		}
	}
	return anything
}
