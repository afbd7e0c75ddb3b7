package seatplan

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// The format: categories, then sections of rows of seats, areas and drawing.
// A category may stand at a section, row or seat; the nearest counts. Since it
// is our own, a member that is not known is refused: it is a misspelling.

// rowlockVersion is the value of "rowlockPlan", which may be left out.
const rowlockVersion = "1"

var featureName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// readRowlock reads our own format.
func readRowlock(d *document) {
	for name := range d.members() {
		switch name {
		case "rowlockPlan":
			if v := d.raw(); v != rowlockVersion && d.err == nil {
				d.problem(d.here(), "only version %s of the format is known here", rowlockVersion)
			}
		case "name":
			d.name()
		case "categories":
			for range d.elements() {
				d.rowlockCategory()
			}
		case "sections":
			for range d.elements() {
				d.rowlockSection()
			}
		case "areas":
			for range d.elements() {
				d.rowlockArea()
			}
		case "drawing":
			for range d.elements() {
				d.rowlockDrawing()
			}
		default:
			d.refuse()
		}
	}
}

// refuse steps over a member that is not part of the format.
func (d *document) refuse() {
	d.problem(d.here(), "the format has no such member")
	d.skip()
}

func (d *document) rowlockCategory() {
	var c category
	for name := range d.members() {
		switch name {
		case "name":
			c.Name = d.part()
		case "color":
			c.Color = d.hexColor()
		default:
			d.refuse()
		}
	}
	d.declare(d.here(), c)
}

func (d *document) rowlockSection() {
	start := d.mark()
	var section, category string
	for name := range d.members() {
		switch name {
		case "name":
			section = d.part()
		case "category":
			category = d.part()
		case "rows":
			for range d.elements() {
				d.rowlockRow()
			}
		default:
			d.refuse()
		}
	}
	for i := start.seats; i < len(d.plan.Seats); i++ {
		d.plan.Seats[i].Section = section
	}
	d.inherit(start, d.ref("", category))
}

func (d *document) rowlockRow() {
	start := d.mark()
	var row, category string
	for name := range d.members() {
		switch name {
		case "name":
			row = d.part()
		case "category":
			category = d.part()
		case "seats":
			parent := d.here()
			for i := range d.elements() {
				d.rowlockSeat(origin{parent, i})
			}
		default:
			d.refuse()
		}
	}
	for i := start.seats; i < len(d.plan.Seats); i++ {
		d.plan.Seats[i].Row = row
	}
	d.inherit(start, d.ref("", category))
}

func (d *document) rowlockSeat(at origin) {
	seat := boxoffice.Seat{Category: noCategory}
	var hasX, hasY bool
	for name := range d.members() {
		switch name {
		case "seat":
			seat.Number = d.part()
		case "category":
			seat.Category = d.ref("", d.part())
		case "x":
			seat.X, hasX = d.number()
		case "y":
			seat.Y, hasY = d.number()
		case "kind":
			seat.Kind = boxoffice.SeatKind(d.oneOf("", string(boxoffice.SeatStandard), string(boxoffice.SeatWheelchair), string(boxoffice.SeatCompanion)))
		case "features":
			seat.Features = d.features()
		default:
			d.refuse()
		}
	}
	if d.err != nil {
		return
	}
	seat.Placed = d.placed(hasX, hasY)
	d.addSeat(at, seat)
}

// placed says that an object has a position, of which half is none.
func (d *document) placed(hasX, hasY bool) bool {
	if hasX != hasY {
		d.problem(d.here(), "x and y go together")
	}
	return hasX && hasY
}

func (d *document) oneOf(words ...string) string {
	word := d.raw()
	if d.err == nil && !slices.Contains(words, word) {
		d.problem(d.here(), "%.60q is not one of %q", word, words)
		return ""
	}
	return word
}

func (d *document) features() (list []string) {
	for range d.elements() {
		feature := d.raw()
		switch {
		case d.err != nil:
		case !featureName.MatchString(feature):
			d.problem(d.here(), "a feature is a word such as restricted_view")
		case slices.Contains(list, feature):
			d.problem(d.here(), "the feature %q is there twice", feature)
		case len(list) == maxFeatures:
			d.problem(d.here(), "a seat has at most %d features", maxFeatures)
		default:
			list = append(list, feature)
		}
	}
	return list
}

func (d *document) rowlockArea() {
	area := boxoffice.Area{Category: noCategory}
	var hasX, hasY bool
	for name := range d.members() {
		switch name {
		case "name":
			area.Name = d.part()
		case "category":
			area.Category = d.ref("", d.part())
		case "capacity":
			area.Capacity = d.capacity()
		case "x":
			area.X, hasX = d.number()
		case "y":
			area.Y, hasY = d.number()
		case "outline":
			area.Outline = d.points()
		default:
			d.refuse()
		}
	}
	if d.err != nil {
		return
	}
	area.Placed = d.placed(hasX, hasY)
	d.addArea(d.here(), area)
}

func (d *document) rowlockDrawing() {
	var shape boxoffice.Drawing
	for name := range d.members() {
		switch name {
		case "kind":
			shape.Kind = d.oneOf("text", "rectangle", "circle", "ellipse", "polygon")
		case "text":
			shape.Text = caption(d.raw())
		case "x":
			shape.X, _ = d.number()
		case "y":
			shape.Y, _ = d.number()
		case "width":
			shape.Width = d.length()
		case "height":
			shape.Height = d.length()
		case "turn":
			shape.Turn = d.length()
		case "color":
			shape.Color = d.hexColor()
		case "points":
			shape.Points = d.points()
		default:
			d.refuse()
		}
	}
	if d.err != nil {
		return
	}
	if shape.Kind == "" {
		d.problem(d.here(), "the shape has no kind")
		return
	}
	d.addDrawing(d.here(), shape)
}

// What WriteRowlock writes, one row a line.
type (
	rowlockCategory struct {
		Name  string `json:"name"`
		Color string `json:"color,omitempty"`
	}
	rowlockRow struct {
		Name     string        `json:"name,omitempty"`
		Category string        `json:"category"`
		Seats    []rowlockSeat `json:"seats"`
	}
	rowlockSeat struct {
		Seat     string             `json:"seat"`
		Category string             `json:"category,omitempty"` // if not the row's
		X        *float64           `json:"x,omitempty"`
		Y        *float64           `json:"y,omitempty"`
		Kind     boxoffice.SeatKind `json:"kind,omitempty"`
		Features []string           `json:"features,omitempty"`
	}
	rowlockArea struct {
		Name     string            `json:"name"`
		Category string            `json:"category"`
		Capacity int               `json:"capacity"`
		X        *float64          `json:"x,omitempty"`
		Y        *float64          `json:"y,omitempty"`
		Outline  []boxoffice.Point `json:"outline,omitempty"`
	}
)

// WriteRowlock writes a plan in our own format. [Read] gives the same plan
// back, but for ids and numbers, which are the store's.
//
// Seats keep their order, so a section or row whose seats are not together in
// the plan is written in several pieces.
func WriteRowlock(w io.Writer, plan *boxoffice.Plan) error {
	out := planWriter{w: bufio.NewWriter(w), plan: plan}
	out.printf("{\"rowlockPlan\":%s,\"name\":%s", rowlockVersion, out.json(plan.Name))
	writeList(&out, "categories", len(plan.Categories), func(i int) any {
		return rowlockCategory{plan.Categories[i].Name, plan.Categories[i].Color}
	})
	if len(plan.Seats) > 0 {
		out.sections()
	}
	writeList(&out, "areas", len(plan.Areas), func(i int) any {
		a := &plan.Areas[i]
		area := rowlockArea{Name: a.Name, Category: plan.Categories[a.Category].Name, Capacity: a.Capacity, Outline: a.Outline}
		if a.Placed {
			area.X, area.Y = &a.X, &a.Y
		}
		return area
	})
	writeList(&out, "drawing", len(plan.Drawing), func(i int) any { return plan.Drawing[i] })
	out.printf("}\n")
	if out.err != nil {
		return fmt.Errorf("writing the plan: %w", out.err)
	}
	return out.w.Flush()
}

type planWriter struct {
	w    *bufio.Writer
	plan *boxoffice.Plan
	err  error
}

func (o *planWriter) printf(format string, args ...any) {
	if o.err == nil {
		_, o.err = fmt.Fprintf(o.w, format, args...)
	}
}

func (o *planWriter) json(v any) []byte {
	text, err := json.Marshal(v)
	if o.err == nil {
		o.err = err
	}
	return text
}

func writeList(o *planWriter, name string, n int, element func(i int) any) {
	if n == 0 {
		return
	}
	o.printf(",\n%q:[", name)
	for i := range n {
		if i > 0 {
			o.printf(",")
		}
		o.printf("\n%s", o.json(element(i)))
	}
	o.printf("]")
}

func (o *planWriter) sections() {
	seats := o.plan.Seats
	o.printf(",\n\"sections\":[")
	for i := 0; i < len(seats); {
		section := seats[i].Section
		if i > 0 {
			o.printf(",")
		}
		o.printf("\n{\"name\":%s,\"rows\":[", o.json(section))
		for first := i; i < len(seats) && seats[i].Section == section; {
			end := i + 1
			for end < len(seats) && seats[end].Section == section && seats[end].Row == seats[i].Row {
				end++
			}
			if i > first {
				o.printf(",")
			}
			o.printf("\n%s", o.json(o.row(seats[i:end])))
			i = end
		}
		o.printf("]}")
	}
	o.printf("]")
}

func (o *planWriter) row(seats []boxoffice.Seat) rowlockRow {
	row := rowlockRow{Name: seats[0].Row, Category: o.plan.Categories[seats[0].Category].Name}
	for i := range seats {
		s := &seats[i]
		seat := rowlockSeat{Seat: s.Number, Kind: s.Kind, Features: s.Features}
		if s.Category != seats[0].Category {
			seat.Category = o.plan.Categories[s.Category].Name
		}
		if s.Kind == boxoffice.SeatStandard {
			seat.Kind = ""
		}
		if s.Placed {
			seat.X, seat.Y = &s.X, &s.Y
		}
		row.Seats = append(row.Seats, seat)
	}
	return row
}
