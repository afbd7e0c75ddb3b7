package seatplan

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// The format: an object with name, size, categories and zones; a zone has rows
// of seats, and areas, which are shapes for the eye and hold nobody. Positions
// are relative: a seat's to its row, a row's and an area's to their zone.
//
// The early dialect has areas that are rectangles by nature (width, height and
// a plain text), zones with "displayed", rows with "seats_spacing" and
// "number_of_seats", whole numbers only, and neither uuid nor zone_id; rows may
// lack a position. It is told apart member by member, for files in the wild mix
// the two.

// readPretix reads a seating plan of pretix.
func readPretix(d *document) {
	var zones, categories bool
	guids := map[string]origin{} // where each seat_guid was first
	for name := range d.members() {
		switch name {
		case "name":
			d.name()
		case "categories":
			categories = true
			for range d.elements() {
				d.pretixCategory()
			}
		case "zones":
			zones = true
			for range d.elements() {
				d.pretixZone(guids)
			}
		case "size":
			d.skip()
		default:
			d.unknown()
		}
	}
	d.require("zones", zones)
	d.require("categories", categories)
}

func (d *document) pretixCategory() {
	var c category
	for name := range d.members() {
		switch name {
		case "name":
			c.Name = d.part()
		case "color":
			c.Color = d.hexColor()
		default:
			d.unknown()
		}
	}
	d.declare(d.here(), c)
}

func (d *document) pretixZone(guids map[string]origin) {
	start := d.mark()
	var zone, id string
	var at boxoffice.Point
	for name := range d.members() {
		switch name {
		case "name":
			zone = d.part()
		case "zone_id":
			id = d.part()
		case "position":
			at, _ = d.point()
		case "rows":
			for range d.elements() {
				d.pretixRow(guids)
			}
		case "areas":
			for range d.elements() {
				d.pretixArea()
			}
		case "uuid", "displayed":
			d.skip()
		default:
			d.unknown()
		}
	}
	if zone == "" {
		zone = id
	}
	for i := start.seats; i < len(d.plan.Seats); i++ {
		d.plan.Seats[i].Section = zone
	}
	d.move(start, at.X, at.Y)
}

func (d *document) pretixRow(guids map[string]origin) {
	start := d.mark()
	var row, ends string
	var at boxoffice.Point
	for name := range d.members() {
		switch name {
		case "row_number":
			row = d.part()
		case "row_number_position":
			ends = d.raw()
		case "position":
			at, _ = d.point()
		case "seats":
			parent := d.here()
			for i := range d.elements() {
				d.pretixSeat(origin{parent, i}, guids)
			}
		case "uuid", "row_label", "seat_label", "seats_spacing", "number_of_seats":
			d.skip()
		default:
			d.unknown()
		}
	}
	seats := d.plan.Seats[start.seats:]
	for i := range seats {
		seats[i].Row = row
	}
	if ends == "start" || ends == "both" {
		d.rowLetter(row, seats, false)
	}
	if ends == "end" || ends == "both" {
		d.rowLetter(row, seats, true)
	}
	d.move(start, at.X, at.Y)
}

// rowLetter writes the row's name beside its first or last seat, as far away
// as the next seat is on the other side.
func (d *document) rowLetter(row string, seats []boxoffice.Seat, atEnd bool) {
	if len(seats) < 2 {
		return
	}
	s, next := seats[0], seats[1]
	if atEnd {
		s, next = seats[len(seats)-1], seats[len(seats)-2]
	}
	if s.Placed && next.Placed {
		d.addDrawing(d.pattern(), boxoffice.Drawing{Kind: "text", Text: caption(row), X: 2*s.X - next.X, Y: 2*s.Y - next.Y})
	}
}

func (d *document) pretixSeat(at origin, guids map[string]origin) {
	seat := boxoffice.Seat{Category: noCategory}
	var guid string
	for name := range d.members() {
		switch name {
		case "seat_number":
			seat.Number = d.part()
		case "seat_guid":
			guid = strings.TrimSpace(d.raw())
		case "category":
			seat.Category = d.ref("", d.part())
		case "position":
			var p boxoffice.Point
			p, seat.Placed = d.point()
			if seat.Placed {
				seat.X, seat.Y = p.X, p.Y
			}
		case "uuid", "radius", "start_direction":
			d.skip()
		default:
			d.unknown()
		}
	}
	if d.err != nil {
		return
	}
	d.checkGUID(at, guid, guids)
	d.addSeat(at, seat)
}

// checkGUID holds pretix to its word that a seat_guid is unique. Its schema
// cannot say so, and files that start again in every block are about. We do not
// keep the guid, yet a plan in which it names two seats is not what its maker
// believes.
func (d *document) checkGUID(at origin, guid string, guids map[string]origin) {
	first, repeated := guids[guid]
	switch {
	case guid == "":
		d.warnEach(d.pattern(), "the seat has no seat_guid")
	case !repeated:
		guids[guid] = at
	case d.opts.RenameDuplicates:
		d.warnEach(d.pattern()+".seat_guid", "the seat_guid is that of another seat")
	default:
		d.problem(at.String()+".seat_guid", "the seat_guid %.80q is that of the seat at %s", guid, first)
	}
}

// pretixArea reads a shape. Its position is the upper left corner of a
// rectangle, the centre of a circle or ellipse, and the origin of a polygon's
// points and of the text's position; it turns around that position.
func (d *document) pretixArea() {
	shape := boxoffice.Drawing{}
	var text *boxoffice.Drawing // inside the shape, at a position relative to it
	var at boxoffice.Point
	for name := range d.members() {
		switch name {
		case "shape":
			shape.Kind = d.raw()
		case "position":
			at, _ = d.point()
		case "rotation":
			shape.Turn = d.length()
		case "color":
			shape.Color = d.hexColor()
		case "width":
			shape.Width = d.length()
		case "height":
			shape.Height = d.length()
		case "rectangle", "circle", "ellipse", "polygon":
			d.pretixShape(&shape)
		case "text":
			text = d.pretixText()
		case "border_color", "uuid":
			d.skip()
		default:
			d.unknown()
		}
	}
	if shape.Kind == "" && shape.Width > 0 {
		shape.Kind = "rectangle" // the early dialect knows no other
	}

	sin, cos := math.Sincos(shape.Turn * math.Pi / 180)
	place := func(x, y float64) boxoffice.Point {
		return boxoffice.Point{X: at.X + x*cos - y*sin, Y: at.Y + x*sin + y*cos}
	}
	center := at
	switch shape.Kind {
	case "rectangle":
		center = place(shape.Width/2, shape.Height/2)
	case "circle", "ellipse":
	case "polygon":
		for i, p := range shape.Points {
			shape.Points[i] = place(p.X, p.Y)
		}
		center = middle(shape.Points)
		shape.Turn = 0
	case "text":
	default:
		d.warnEach(d.pattern()+".shape", "the shape is not known here and is left out")
		return
	}
	if shape.Kind != "text" {
		shape.X, shape.Y = center.X, center.Y
		d.addDrawing(d.pattern(), shape)
	}
	if text == nil {
		return
	}
	if shape.Kind != "text" && text.X == 0 && text.Y == 0 {
		text.X, text.Y = center.X, center.Y // the early dialect gives no place
	} else {
		p := place(text.X, text.Y)
		text.X, text.Y = p.X, p.Y
	}
	text.Turn = shape.Turn
	d.addDrawing(d.pattern(), *text)
}

// pretixShape reads what is particular to a shape: radii become the whole
// width and height.
func (d *document) pretixShape(shape *boxoffice.Drawing) {
	for name := range d.members() {
		switch name {
		case "width":
			shape.Width = d.length()
		case "height":
			shape.Height = d.length()
		case "points":
			shape.Points = d.points()
		case "radius":
			switch tok := d.next().(type) {
			case json.Number:
				r, _ := d.sane(tok)
				shape.Width, shape.Height = 2*r, 2*r
			case json.Delim:
				r, _ := d.pointFrom(tok)
				shape.Width, shape.Height = 2*r.X, 2*r.Y
			default:
				d.wrongType("a number or a point", tok)
			}
		default:
			d.unknown()
		}
	}
}

// pretixText reads a shape's text: an object, or in the early dialect, text.
func (d *document) pretixText() *boxoffice.Drawing {
	text := boxoffice.Drawing{Kind: "text"}
	tok := d.next()
	if s, ok := tok.(string); ok {
		text.Text = caption(s)
		return &text
	}
	for name := range d.membersFrom(tok) {
		switch name {
		case "text":
			text.Text = caption(d.raw())
		case "color":
			text.Color = d.hexColor()
		case "size":
			text.Height = d.length()
		case "position":
			p, _ := d.point()
			text.X, text.Y = p.X, p.Y
		default:
			d.unknown()
		}
	}
	return &text
}

// middle is the centre of the box around points.
func middle(points []boxoffice.Point) boxoffice.Point {
	if len(points) == 0 {
		return boxoffice.Point{}
	}
	low, high := points[0], points[0]
	for _, p := range points {
		low = boxoffice.Point{X: min(low.X, p.X), Y: min(low.Y, p.Y)}
		high = boxoffice.Point{X: max(high.X, p.X), Y: max(high.Y, p.Y)}
	}
	return boxoffice.Point{X: (low.X + high.X) / 2, Y: (low.Y + high.Y) / 2}
}
