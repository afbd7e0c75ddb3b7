package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/seatplan"
	"github.com/rowlock/rowlock/internal/store"
)

// planBytesMax is the largest plan document.
const planBytesMax = 64 << 20

func (a *API) registerPlans() {
	write := []boxoffice.Scope{boxoffice.ScopeCatalogueWrite}
	plans := &encodedPlans{plans: map[uuid.UUID][]byte{}}
	register(a, Operation{
		ID: "importPlan", Method: http.MethodPost, Path: "/halls/{hallId}/plans", Tag: "Organisers", Scopes: write, Status: http.StatusCreated,
		Summary: "Import a seating plan",
		Description: "The body is the document, up to 64 MiB. It becomes the next version of the hall's plans, or is refused with every problem and where in the document it is, in `violations`; nothing is imported in part. " +
			"A seat with the same section, row and seat as in an earlier plan of the hall is the same seat, with the same id.",
		Codes:   []boxoffice.Code{boxoffice.CodeNotFound},
		BodyMax: planBytesMax, Weight: 10,
		Documents: planDocuments,
	}, a.importPlan)
	register(a, Operation{
		ID: "checkPlan", Method: http.MethodPost, Path: "/plans/check", Tag: "Organisers", Scopes: write, NoKey: true,
		Summary: "Check a seating plan",
		Description: "Reads a document as an import would, and imports nothing. The answer has every problem with its path and, where it is about a seat, which one; and what was understood of the plan, so that the problems can be shown on its map. " +
			"A document without problems may be sent to `POST /halls/{hallId}/plans` as it is.",
		BodyMax: planBytesMax, Weight: 10, Documents: planDocuments,
	}, a.checkPlan)
	register(a, Operation{
		ID: "listPlans", Method: http.MethodGet, Path: "/halls/{hallId}/plans", Tag: "Organisers", Scopes: write,
		Summary: "List the plans of a hall", Description: "The newest first.", Codes: []boxoffice.Code{boxoffice.CodeNotFound},
	}, a.listPlans)
	register(a, Operation{
		ID: "readPlan", Method: http.MethodGet, Path: "/plans/{planId}", Tag: "Seats", Access: Public, Weight: 5,
		Summary: "Read a seating plan",
		Description: "With every seat, in the order of the letters in a map's `statuses`. Public once a published show uses it, before with the scope `catalogue:write`. " +
			"A plan never changes: it may be kept for ever.",
		Codes: []boxoffice.Code{boxoffice.CodeNotFound},
	}, func(ctx context.Context, call *Call, in *planInput) (*mapOutput, error) {
		return plans.read(ctx, a.opts.Store, call, in)
	})
	describeBody[Plan](a, "/plans/{planId}")
}

// planDocuments are what plans are imported from.
var planDocuments = []Document{
	{MediaType: "application/json", Description: "a plan of Rowlock, pretix or seats.io, as format says", Example: planExample},
	{MediaType: "text/csv", Description: "a manifest with the header section,row,seat,category,x,y,kind; x, y and kind are optional", Example: "section,row,seat,category\nStalls,A,1,Front\nStalls,A,2,Front\n"},
}

var planExample = map[string]any{
	"rowlockPlan": 1, "name": "Little Theatre", "categories": []any{map[string]any{"name": "Front"}},
	"sections": []any{map[string]any{"name": "Stalls", "category": "Front", "rows": []any{
		map[string]any{"name": "A", "seats": []any{map[string]any{"seat": "1"}, map[string]any{"seat": "2"}}},
	}}},
}

type importPlanInput struct {
	HallID     uuid.UUID `path:"hallId" format:"uuid" doc:"The hall" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d71"`
	Format     string    `query:"format" required:"true" enum:"pretix,seatsio,csv,rowlock" doc:"What the document is" example:"csv"`
	Duplicates string    `query:"duplicates" enum:"refuse,rename" default:"refuse" doc:"rename imports a seat that is there twice under a suffixed label, with a warning" example:"refuse"`
}

// PlanCategory is a price class of an imported plan.
type PlanCategory struct {
	CategoryID uuid.UUID `json:"categoryId" format:"uuid" doc:"The category" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d74"`
	Name       string    `json:"name" doc:"What prices refer to" example:"Front"`
	SeatCount  int       `json:"seatCount" doc:"Seats in it" example:"120"`
}

// PlanAreaSummary is a standing area of an imported plan.
type PlanAreaSummary struct {
	AreaID   uuid.UUID `json:"areaId" format:"uuid" doc:"The area" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6f"`
	Name     string    `json:"name" doc:"Its name" example:"Floor"`
	Capacity int       `json:"capacity" doc:"Its places" example:"250"`
}

// ImportedPlan is what came of an import.
type ImportedPlan struct {
	PlanID     uuid.UUID           `json:"planId" format:"uuid" doc:"The plan" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d73"`
	HallID     uuid.UUID           `json:"hallId" format:"uuid" doc:"Its hall" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d71"`
	Version    int                 `json:"version" doc:"Counts the plans of the hall, from 1" example:"1"`
	SeatCount  int                 `json:"seatCount" doc:"Seats, without areas" example:"480"`
	Categories []PlanCategory      `json:"categories" doc:"Its price classes"`
	Areas      []PlanAreaSummary   `json:"areas" doc:"Its standing areas"`
	Warnings   []store.PlanWarning `json:"warnings" doc:"What of the document was left out or changed"`
}

type importPlanOutput struct {
	Location string `header:"Location" doc:"The plan"`
	Body     ImportedPlan
}

func (a *API) importPlan(ctx context.Context, call *Call, in *importPlanInput) (*importPlanOutput, error) {
	plan, notes, err := seatplan.Read(ctx, seatplan.Format(in.Format), call.Document(), seatplan.Options{RenameDuplicates: in.Duplicates == "rename"})
	if err != nil {
		return nil, planRefusal(err)
	}
	key, err := call.DocumentKey()
	if err != nil {
		return nil, err
	}
	warnings := make([]store.PlanWarning, len(notes))
	for i, w := range notes {
		warnings[i] = store.PlanWarning{Path: w.Path, Message: w.Message}
	}
	plan.OrganisationID, plan.HallID = call.Caller.OrganisationID, in.HallID
	done, replayed, err := a.opts.Store.ImportPlan(ctx, key, in.Format, plan, warnings)
	if err != nil {
		return nil, err
	}
	if replayed {
		call.Replayed()
	}
	body := ImportedPlan{
		PlanID: done.PlanID, HallID: done.HallID, Version: done.Version, SeatCount: done.SeatCount,
		Categories: make([]PlanCategory, len(done.Categories)), Areas: make([]PlanAreaSummary, len(done.Areas)), Warnings: done.Warnings,
	}
	for i, c := range done.Categories {
		body.Categories[i] = PlanCategory{c.ID, c.Name, c.SeatCount}
	}
	for i, area := range done.Areas {
		body.Areas[i] = PlanAreaSummary{area.ID, area.Name, area.Capacity}
	}
	return &importPlanOutput{basePath + "/plans/" + done.PlanID.String(), body}, nil
}

// planRefusal lists every problem of a document.
func planRefusal(err error) error {
	var problems *seatplan.Problems
	if !errors.As(err, &problems) {
		return err
	}
	e := boxoffice.Invalid()
	e.Detail = fmt.Sprintf("The plan has %d problems; nothing was imported.", problems.Total)
	if problems.Total == 1 {
		e.Detail = "The plan has a problem; nothing was imported."
	}
	if n := len(problems.List); n < problems.Total {
		e.Detail += fmt.Sprintf(" The first %d are listed.", n)
	}
	for _, p := range problems.List {
		e.Facts.Violations = append(e.Facts.Violations, boxoffice.Violation{Field: shorten(p.Path), Message: p.Message})
	}
	return e
}

type checkPlanInput struct {
	Format     string `query:"format" required:"true" enum:"pretix,seatsio,csv,rowlock" doc:"What the document is" example:"csv"`
	Duplicates string `query:"duplicates" enum:"refuse,rename" default:"refuse" doc:"As with an import" example:"refuse"`
}

// PlanProblem is why a document is refused.
type PlanProblem struct {
	Path    string `json:"path" doc:"Where in the document: a path of JSON, a line of CSV, or $ for all of it" example:"zones[0].rows[2].seats[5]"`
	Message string `json:"message" doc:"What is wrong there" example:"the seat \"Stalls-A-7\" is here again; it was first at zones[0].rows[2].seats[4]"`
	Seat    *int   `json:"seat,omitempty" doc:"The seat that it is about: its place in seats, from 0; missing when there is none" example:"17"`
}

// SketchedSeat is a seat as it was understood.
type SketchedSeat struct {
	Label    string   `json:"label" doc:"What people would read; with problems it may be there twice, or empty" example:"Stalls-A-7"`
	Section  string   `json:"section" doc:"Section, empty when there is none" example:"Stalls"`
	Row      string   `json:"row" doc:"Row, empty when there is none" example:"A"`
	Seat     string   `json:"seat" doc:"The seat's own name in its row" example:"7"`
	Category string   `json:"category" doc:"Its price class, empty when it has none" example:"Front"`
	X        *float64 `json:"x,omitempty" doc:"Horizontal position in the plan's own units; missing when the document has none" example:"120.5"`
	Y        *float64 `json:"y,omitempty" doc:"Vertical position, growing downwards" example:"80"`
}

// SketchedArea is a standing area as it was understood.
type SketchedArea struct {
	Name     string            `json:"name" doc:"Its name" example:"Floor"`
	Category string            `json:"category" doc:"Its price class, empty when it has none" example:"Floor"`
	Capacity int               `json:"capacity" doc:"How many people it takes" example:"250"`
	X        *float64          `json:"x,omitempty" doc:"Horizontal position" example:"300"`
	Y        *float64          `json:"y,omitempty" doc:"Vertical position" example:"420"`
	Outline  []boxoffice.Point `json:"outline,omitempty" doc:"Corners of its polygon"`
}

// CheckedPlan is what came of checking a document.
type CheckedPlan struct {
	OK           bool                `json:"ok" doc:"It can be imported" example:"false"`
	ProblemCount int                 `json:"problemCount" doc:"Problems in all; the first thousand are listed" example:"1"`
	Problems     []PlanProblem       `json:"problems" doc:"In the order in which they were found"`
	Warnings     []store.PlanWarning `json:"warnings" doc:"What of the document would be left out or changed"`
	Name         string              `json:"name" doc:"The document's name, empty when it has none" example:"Little Theatre"`
	Categories   []string            `json:"categories" doc:"Its price classes" example:"[\"Front\",\"Back\"]"`
	Seats        []SketchedSeat      `json:"seats" doc:"Its seats, as far as they were understood"`
	Areas        []SketchedArea      `json:"areas" doc:"Its standing areas, likewise"`
	Drawing      []boxoffice.Drawing `json:"drawing" doc:"Texts and shapes that are drawn and not sold"`
}

type checkPlanOutput struct{ Body CheckedPlan }

func (a *API) checkPlan(ctx context.Context, call *Call, in *checkPlanInput) (*checkPlanOutput, error) {
	sketch, err := seatplan.Check(ctx, seatplan.Format(in.Format), call.Document(), seatplan.Options{RenameDuplicates: in.Duplicates == "rename"})
	if err != nil {
		return nil, err
	}
	p := &sketch.Plan
	body := CheckedPlan{
		OK: sketch.Problems.Total == 0, ProblemCount: sketch.Problems.Total, Name: p.Name,
		Problems: make([]PlanProblem, len(sketch.Problems.List)), Warnings: make([]store.PlanWarning, len(sketch.Warnings)),
		Categories: make([]string, len(p.Categories)), Seats: make([]SketchedSeat, len(p.Seats)), Areas: make([]SketchedArea, len(p.Areas)), Drawing: append([]boxoffice.Drawing{}, p.Drawing...),
	}
	for i, q := range sketch.Problems.List {
		body.Problems[i] = PlanProblem{Path: q.Path, Message: q.Message}
		if q.Seat > 0 {
			body.Problems[i].Seat = new(q.Seat - 1)
		}
	}
	for i, w := range sketch.Warnings {
		body.Warnings[i] = store.PlanWarning{Path: w.Path, Message: w.Message}
	}
	for i, c := range p.Categories {
		body.Categories[i] = c.Name
	}
	category := func(i int) string {
		if i < 0 || i >= len(p.Categories) {
			return ""
		}
		return p.Categories[i].Name
	}
	position := func(placed bool, x, y *float64) (*float64, *float64) {
		if !placed {
			return nil, nil
		}
		return x, y
	}
	for i := range p.Seats {
		s := &p.Seats[i]
		seat := SketchedSeat{Label: s.Label, Section: s.Section, Row: s.Row, Seat: s.Number, Category: category(s.Category)}
		seat.X, seat.Y = position(s.Placed, &s.X, &s.Y)
		body.Seats[i] = seat
	}
	for i := range p.Areas {
		s := &p.Areas[i]
		area := SketchedArea{Name: s.Name, Category: category(s.Category), Capacity: s.Capacity, Outline: s.Outline}
		area.X, area.Y = position(s.Placed, &s.X, &s.Y)
		body.Areas[i] = area
	}
	return &checkPlanOutput{body}, nil
}

type listPlansInput struct {
	HallID uuid.UUID `path:"hallId" format:"uuid" doc:"The hall" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d71"`
	Cursor string    `query:"cursor" maxLength:"200" doc:"nextCursor of the page before" example:"cGxhbnMgMw"`
	Limit  int       `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Plans a page" example:"50"`
}

// PlanSummary is a plan without its places.
type PlanSummary struct {
	PlanID    uuid.UUID `json:"planId" format:"uuid" doc:"The plan" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d73"`
	Version   int       `json:"version" doc:"Counts the plans of the hall, from 1" example:"1"`
	Name      string    `json:"name" doc:"The document's name, or the hall's" example:"Little Theatre"`
	Format    string    `json:"format" enum:"pretix,seatsio,csv,rowlock" doc:"What it was imported from" example:"csv"`
	SeatCount int       `json:"seatCount" doc:"Seats, without areas" example:"480"`
	CreatedAt time.Time `json:"createdAt" doc:"When it was imported" example:"2026-11-27T20:00:00.123456Z"`
}

type listPlansOutput struct {
	Body struct {
		Plans      []PlanSummary `json:"plans" doc:"The page"`
		NextCursor string        `json:"nextCursor,omitempty" doc:"Send it as cursor for the next page; missing on the last" example:"cGxhbnMgMw"`
	}
}

func (a *API) listPlans(ctx context.Context, call *Call, in *listPlansInput) (*listPlansOutput, error) {
	before := 0
	parts, err := cursorParts("plans", in.Cursor, 1)
	if err == nil && parts != nil {
		if before, err = strconv.Atoi(parts[0]); err != nil || before < 1 || before > 1<<31-1 {
			err = errCursor()
		}
	}
	if err != nil {
		return nil, err
	}
	list, err := a.opts.Store.Plans(ctx, call.Caller.OrganisationID, in.HallID, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	out := &listPlansOutput{}
	list, out.Body.NextCursor = page(list, in.Limit, func(p store.PlanListing) string { return cursor("plans", strconv.Itoa(p.Version)) })
	out.Body.Plans = make([]PlanSummary, len(list))
	for i, p := range list {
		out.Body.Plans[i] = PlanSummary{p.ID, p.Version, p.Name, p.Format, p.SeatCount, p.CreatedAt.UTC()}
	}
	return out, nil
}

// PlanSeat is a seat of a plan.
type PlanSeat struct {
	SeatID   uuid.UUID `json:"seatId" format:"uuid" doc:"The seat, the same in every plan of the hall" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	Label    string    `json:"label" doc:"What people read; unique in the plan" example:"Stalls-A-7"`
	Section  string    `json:"section" doc:"Section, empty when there is none" example:"Stalls"`
	Row      string    `json:"row" doc:"Row, empty when there is none" example:"A"`
	Seat     string    `json:"seat" doc:"The seat's own name in its row" example:"7"`
	Category string    `json:"category" doc:"Its price class" example:"Front"`
	Kind     string    `json:"kind" enum:"standard,wheelchair,companion" doc:"Whom it is made for" example:"standard"`
	Features []string  `json:"features,omitempty" doc:"restricted_view, aisle and the like" example:"[\"aisle\"]"`
	X        *float64  `json:"x,omitempty" doc:"Horizontal position in the plan's own units; missing when the document has none" example:"120.5"`
	Y        *float64  `json:"y,omitempty" doc:"Vertical position, growing downwards" example:"80"`
}

// PlanArea is a standing area of a plan.
type PlanArea struct {
	AreaID   uuid.UUID         `json:"areaId" format:"uuid" doc:"The area" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6f"`
	Name     string            `json:"name" doc:"Its name" example:"Floor"`
	Category string            `json:"category" doc:"Its price class" example:"Floor"`
	Capacity int               `json:"capacity" doc:"How many people it takes, when a show does not say otherwise" example:"250"`
	X        *float64          `json:"x,omitempty" doc:"Horizontal position" example:"300"`
	Y        *float64          `json:"y,omitempty" doc:"Vertical position" example:"420"`
	Outline  []boxoffice.Point `json:"outline,omitempty" doc:"Corners of its polygon"`
}

// PlanClass is a price class of a plan.
type PlanClass struct {
	CategoryID uuid.UUID `json:"categoryId" format:"uuid" doc:"The category" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d74"`
	Name       string    `json:"name" doc:"What prices refer to" example:"Front"`
	Color      string    `json:"color,omitempty" doc:"CSS hex colour" example:"#c2185b"`
}

// Plan is a seating plan.
type Plan struct {
	PlanID     uuid.UUID           `json:"planId" format:"uuid" doc:"The plan" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d73"`
	HallID     uuid.UUID           `json:"hallId" format:"uuid" doc:"Its hall" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d71"`
	Version    int                 `json:"version" doc:"Counts the plans of the hall, from 1" example:"1"`
	Name       string              `json:"name" doc:"The document's name, or the hall's" example:"Little Theatre"`
	SeatCount  int                 `json:"seatCount" doc:"Seats, without areas" example:"480"`
	Categories []PlanClass         `json:"categories" doc:"Its price classes"`
	Seats      []PlanSeat          `json:"seats" doc:"Its seats, in the order of a map's statuses"`
	Areas      []PlanArea          `json:"areas" doc:"Its standing areas"`
	Drawing    []boxoffice.Drawing `json:"drawing" doc:"Texts and shapes that are drawn and not sold"`
}

type planInput struct {
	PlanID uuid.UUID `path:"planId" format:"uuid" doc:"The plan" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d73"`
}

// plansKept is how many bytes of encoded plans an instance keeps: everybody
// who looks at a show asks for its plan, which is megabytes and never changes.
const plansKept = 64 << 20

// encodedPlans keeps public plans as they are sent, compressed.
type encodedPlans struct {
	mu    sync.Mutex
	plans map[uuid.UUID][]byte
	bytes int
}

func (p *encodedPlans) get(id uuid.UUID) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.plans[id]
}

func (p *encodedPlans) put(id uuid.UUID, zipped []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.plans[id] != nil || len(zipped) > plansKept {
		return
	}
	for other, old := range p.plans { // any one may go
		if p.bytes+len(zipped) <= plansKept {
			break
		}
		delete(p.plans, other)
		p.bytes -= len(old)
	}
	p.plans[id] = zipped
	p.bytes += len(zipped)
}

func (p *encodedPlans) read(ctx context.Context, s *store.Store, call *Call, in *planInput) (*mapOutput, error) {
	out := &mapOutput{ETag: `"` + in.PlanID.String() + `"`, CacheControl: cacheable(call, "public, max-age=31536000, immutable")}
	call.Header().Add("Vary", "Accept-Encoding")
	zips := takesGzip(call.Request().Header) && !call.Enveloped()
	zipped := p.get(in.PlanID)
	var plan *store.PlanDetails
	if zipped == nil || !zips {
		var err error
		if plan, err = s.ReadPlan(ctx, in.PlanID, call.Caller.OrganisationID, seesDrafts(&call.Caller)); err != nil {
			return nil, err
		}
	}
	if call.Matches(out.ETag) {
		return nil, NotModified(out.ETag, out.CacheControl)
	}
	switch {
	case plan == nil:
		out.Body, out.ContentEncoding = zipped, "gzip"
	case zips:
		zipped = compress(mustJSON(planBody(plan)))
		if !seesDrafts(&call.Caller) { // then it is public
			p.put(in.PlanID, zipped)
		}
		out.Body, out.ContentEncoding = zipped, "gzip"
	default:
		out.Body = mustJSON(planBody(plan))
	}
	return out, nil
}

func planBody(p *store.PlanDetails) Plan {
	body := Plan{
		PlanID: p.ID, HallID: p.HallID, Version: p.Version, Name: p.Name, SeatCount: p.SeatCount,
		Categories: make([]PlanClass, len(p.Categories)), Seats: make([]PlanSeat, len(p.Seats)), Areas: make([]PlanArea, len(p.Areas)), Drawing: p.Drawing,
	}
	for i, c := range p.Categories {
		body.Categories[i] = PlanClass{c.ID, c.Name, c.Color}
	}
	for i := range p.Seats {
		s := &p.Seats[i]
		seat := PlanSeat{
			SeatID: s.ID, Label: s.Label, Section: s.Section, Row: s.Row, Seat: s.Number,
			Category: p.Categories[s.Category].Name, Kind: string(s.Kind), Features: s.Features,
		}
		if s.Placed {
			seat.X, seat.Y = &s.X, &s.Y
		}
		body.Seats[i] = seat
	}
	for i := range p.Areas {
		area := &p.Areas[i]
		body.Areas[i] = PlanArea{AreaID: area.ID, Name: area.Name, Category: p.Categories[area.Category].Name, Capacity: area.Capacity, Outline: area.Outline}
		if area.Placed {
			body.Areas[i].X, body.Areas[i].Y = &area.X, &area.Y
		}
	}
	return body
}
