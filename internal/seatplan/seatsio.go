package seatplan

import (
	"math"
	"slices"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// The format: an object with name, categories.list and a subChart, or with
// floors, a list of them. A chart holds rows, tables, booths, standing areas,
// texts and shapes, and sections, each of which holds a chart again, whose
// positions are relative to the section's topLeft. A seat that names no
// category has that of its row, or else of its section.
//
// seats.io publishes no schema, so what is known here is what its charts hold;
// of booths and texts, of which we have no chart, what other objects have. The
// rest is left out with a warning, which is where a new flag of a seat shows.

// seatsioSilent are the members that say nothing about which seats there are
// and where: the editor's settings, numbering schemes whose results are in the
// labels, and how labels look.
var seatsioSilent = map[string]bool{
	// the chart
	"tablesLabelCounter": true, "uuidCounter": true, "zones": true, "rowSpacing": true,
	"rowChairSpacing": true, "colorScheme": true, "version": true, "venueType": true,
	"sectionScaleFactor": true, "showAllButtons": true, "referenceChartVisible": true,
	"multiFloorView": true, "maxCategoryKey": true,
	// a subChart
	"width": true, "imageObjects": true, "icons": true, "focalPoint": true,
	"backgroundImage": true, "referenceChart": true, "snapOffset": true, "floorName": true,
	// any object
	"uuid": true, "objectType": true, "displayObjectType": true, "objectLabeling": true,
	"published": true, "displayLabel": true, "foreground": true, "translucent": true,
	"labelSize": true, "labelShown": true, "labelHorizontalOffset": true,
	"labelVerticalOffset": true, "labelRotationAngle": true, "entrance": true,
	"viewFromYourSeatImage": true, "zone": true, "cutoffAngle": true,
	"minOccupancy": true, "variableOccupancy": true, "autoRadius": true, "openSpaces": true,
	// rows and seats
	"sectionLabel": true, "sectionDisplayedLabel": true, "rowLabelPosition": true,
	"seatLabeling": true, "curve": true, "chairSpacing": true, "verticalRowLabelDirection": true,
	"smooth": true, "smoothness": true, "rowLabelDisabled": true, "categoryAccessible": true,
	// shapes and texts
	"smartType": true, "smartTypeVariation": true, "strokeColor": true, "strokeWidth": true,
	"autoStroke": true, "icon": true, "cornerRadius": true,
}

// seatsioFeatures are the flags of a seat that become features.
var seatsioFeatures = map[string]string{
	"restrictedView":     "restricted_view",
	"semiAmbulatorySeat": "semi_ambulatory",
}

// readSeatsio reads a chart of seats.io.
func readSeatsio(d *document) {
	var charts bool
	for name := range d.members() {
		switch name {
		case "name":
			d.name()
		case "categories":
			for name := range d.members() {
				switch name {
				case "list":
					for range d.elements() {
						d.seatsioCategory()
					}
				default:
					d.seatsioRest(name)
				}
			}
		case "subChart":
			charts = true
			d.seatsioChart()
		case "subChartFloors":
			charts = true
			d.seatsioFloors()
		default:
			d.seatsioRest(name)
		}
	}
	d.require("subChart or subChartFloors", charts)
}

func (d *document) seatsioRest(name string) {
	if seatsioSilent[name] {
		d.skip()
	} else {
		d.unknown()
	}
}

func (d *document) seatsioCategory() {
	var c category
	for name := range d.members() {
		switch name {
		case "label":
			c.Name = d.part()
		case "key":
			c.key = d.part()
		case "color":
			c.Color = d.hexColor()
		case "accessible":
			c.accessible = d.flag()
		default:
			d.unknown()
		}
	}
	d.declare(d.here(), c)
}

// seatsioFloors reads charts that lie above each other in the building, and
// puts them below each other on the map.
func (d *document) seatsioFloors() {
	const gap = 60
	top := 0.0
	for range d.elements() {
		start := d.mark()
		chart := d.seatsioChart()
		if chart.floor != "" {
			d.addDrawing(d.pattern(), boxoffice.Drawing{Kind: "text", Text: chart.floor, X: chart.width / 2, Y: -gap / 3})
		}
		d.move(start, 0, top)
		top += chart.height + gap
	}
}

type seatsioChart struct {
	width, height float64
	floor         string
}

func (d *document) seatsioChart() (chart seatsioChart) {
	for name := range d.members() {
		switch name {
		case "width":
			chart.width = d.length()
		case "height":
			chart.height = d.length()
		case "floorDisplayName":
			chart.floor = caption(d.raw())
		case "rows":
			for range d.elements() {
				d.seatsioObject(seatsioRow)
			}
		case "tables":
			for range d.elements() {
				d.seatsioObject(seatsioTable)
			}
		case "booths":
			for range d.elements() {
				d.seatsioObject(seatsioBooth)
			}
		case "generalAdmissionAreas":
			for range d.elements() {
				d.seatsioObject(seatsioArea)
			}
		case "shapes":
			for range d.elements() {
				d.seatsioObject(seatsioShape)
			}
		case "texts":
			for range d.elements() {
				d.seatsioObject(seatsioText)
			}
		case "sections":
			for range d.elements() {
				d.seatsioObject(seatsioSection)
			}
		default:
			d.seatsioRest(name)
		}
	}
	return chart
}

// seatsioKind is what an object of a chart is, which is told by the list that
// it is in.
type seatsioKind int

const (
	seatsioRow seatsioKind = iota
	seatsioTable
	seatsioBooth
	seatsioArea
	seatsioShape
	seatsioText
	seatsioSection
)

// seatsioObject reads an object of a chart. The kinds share most members, so
// one loop reads them all.
func (d *document) seatsioObject(kind seatsioKind) {
	start := d.mark()
	var (
		label, key, categoryLabel, kindOfShape string
		topLeft                                boxoffice.Point
		placed, whole                          bool
		capacity                               int
		shape                                  boxoffice.Drawing
	)
	for name := range d.members() {
		switch name {
		case "label":
			label = d.seatsioLabel(kind)
		case "text":
			label = caption(d.raw())
		case "categoryKey":
			key = d.part()
		case "categoryLabel":
			categoryLabel = d.part()
		case "seats":
			parent := d.here()
			for i := range d.elements() {
				d.seatsioSeat(origin{parent, i})
			}
		case "subChart":
			d.seatsioChart()
		case "topLeft":
			topLeft, _ = d.point()
		case "center":
			var p boxoffice.Point
			p, placed = d.point()
			shape.X, shape.Y = p.X, p.Y
		case "x", "centerX":
			shape.X, placed = d.number()
		case "y", "centerY":
			shape.Y, placed = d.number()
		case "points":
			shape.Points = d.points()
		case "type":
			kindOfShape = d.raw()
		case "width":
			shape.Width = d.length()
		case "height", "fontSize":
			shape.Height = d.length()
		case "radius":
			shape.Width = 2 * d.length()
			shape.Height = shape.Width
		case "radius1":
			shape.Width = 2 * d.length()
		case "radius2":
			shape.Height = 2 * d.length()
		case "rotationAngle":
			shape.Turn = d.length()
		case "fillColor", "textColor":
			shape.Color = d.hexColor()
		case "capacity":
			capacity = d.capacity()
		case "bookAsAWhole":
			whole = d.flag()
		default:
			d.seatsioRest(name)
		}
	}
	if d.err != nil {
		return
	}
	if len(shape.Points) > 0 && !placed {
		p := middle(shape.Points)
		shape.X, shape.Y, placed = p.X, p.Y, true
	}
	if whole {
		d.warn(d.here(), "%q is sold as a whole there; here its places are sold one by one", label)
	}

	ref := d.ref(key, categoryLabel)
	switch kind {
	case seatsioRow, seatsioTable:
		for i := start.seats; i < len(d.plan.Seats); i++ {
			d.plan.Seats[i].Row = label
		}
		if kind == seatsioTable && placed {
			shape.Text = caption(label)
			d.seatsioDraw(kindOfShape, shape)
		}
	case seatsioBooth: // sold as one thing, so it is one seat
		d.addSeat(d.self(), boxoffice.Seat{
			Number: label, Category: ref, Features: []string{"booth"}, X: shape.X, Y: shape.Y, Placed: placed,
		})
	case seatsioArea:
		d.addArea(d.here(), boxoffice.Area{
			Name: label, Category: ref, Capacity: capacity, X: shape.X, Y: shape.Y, Placed: placed, Outline: outline(kindOfShape, shape),
		})
	case seatsioShape:
		shape.Text = caption(label)
		d.seatsioDraw(kindOfShape, shape)
	case seatsioText:
		shape.Text = caption(label)
		d.seatsioDraw("text", shape)
	case seatsioSection:
		d.seatsioFill(start, label, topLeft)
		if len(shape.Points) > 2 && len(d.plan.Drawing) < maxDrawing {
			under := boxoffice.Drawing{Kind: "polygon", Text: caption(label), X: shape.X, Y: shape.Y, Points: shape.Points}
			d.plan.Drawing = slices.Insert(d.plan.Drawing, start.drawing, under)
		}
	}
	d.inherit(start, ref)
}

// self is the origin of a seat that is an object of a chart itself.
func (d *document) self() origin {
	last := len(d.path) - 1
	defer func(path []step) { d.path = path }(d.path)
	index := d.path[last].index
	d.path = d.path[:last]
	return origin{d.here(), index}
}

// seatsioLabel reads a label: a name of places, or a caption.
func (d *document) seatsioLabel(kind seatsioKind) string {
	if kind == seatsioShape || kind == seatsioText {
		return caption(d.raw())
	}
	return d.part()
}

// seatsioFill puts what came after start into a section.
func (d *document) seatsioFill(start mark, section string, topLeft boxoffice.Point) {
	for i := start.seats; i < len(d.plan.Seats); i++ {
		d.plan.Seats[i].Section = section
	}
	for i := start.areas; i < len(d.plan.Areas); i++ {
		if a := &d.plan.Areas[i]; a.Name != "" {
			a.Name = label(section, "", a.Name)
		}
	}
	d.move(start, topLeft.X, topLeft.Y)
}

// seatsioDraw keeps a shape of a chart. It stands at its centre.
func (d *document) seatsioDraw(kind string, shape boxoffice.Drawing) {
	switch kind {
	case "round":
		shape.Kind = "circle"
	case "circle", "ellipse":
		shape.Kind = "ellipse"
		if shape.Width == shape.Height {
			shape.Kind = "circle"
		}
	case "polygon", "text":
		shape.Kind = kind
	case "rectangle", "rectangular":
		shape.Kind = "rectangle"
	default:
		d.warnEach(d.pattern()+".type", "the shape is not known here and is left out")
		return
	}
	if shape.Kind != "polygon" {
		shape.Points = nil
	}
	d.addDrawing(d.pattern(), shape)
}

// outline is a shape as a polygon; nil if the shape is not known.
func outline(kind string, shape boxoffice.Drawing) []boxoffice.Point {
	points := shape.Points
	switch kind {
	case "circle", "ellipse":
		const corners = 32
		points = nil
		for i := range corners {
			sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
			points = append(points, boxoffice.Point{X: shape.Width / 2 * cos, Y: shape.Height / 2 * sin})
		}
	case "rectangle":
		w, h := shape.Width/2, shape.Height/2
		points = []boxoffice.Point{{X: -w, Y: -h}, {X: w, Y: -h}, {X: w, Y: h}, {X: -w, Y: h}}
	default:
		return points // a polygon has its corners already
	}
	sin, cos := math.Sincos(shape.Turn * math.Pi / 180)
	for i, p := range points {
		points[i] = boxoffice.Point{X: shape.X + p.X*cos - p.Y*sin, Y: shape.Y + p.X*sin + p.Y*cos}
	}
	return points
}

func (d *document) seatsioSeat(at origin) {
	seat := boxoffice.Seat{}
	var key, categoryLabel string
	var hasX, hasY, wheelchair, companion bool
	for name := range d.members() {
		switch name {
		case "label":
			seat.Number = d.part()
		case "x":
			seat.X, hasX = d.number()
		case "y":
			seat.Y, hasY = d.number()
		case "categoryKey":
			key = d.part()
		case "categoryLabel":
			categoryLabel = d.part()
		case "accessible":
			wheelchair = d.flag()
		case "companionSeat":
			companion = d.flag()
		case "disabledBySocialDistancingRules":
			if d.flag() {
				d.warnEach(d.pattern(), "the seat is closed there by a distancing rule; here it is a seat like any other")
			}
		default:
			if feature, ok := seatsioFeatures[name]; ok {
				if d.flag() {
					seat.Features = append(seat.Features, feature)
				}
			} else {
				d.seatsioRest(name)
			}
		}
	}
	if d.err != nil {
		return
	}
	switch {
	case wheelchair:
		seat.Kind = boxoffice.SeatWheelchair
	case companion:
		seat.Kind = boxoffice.SeatCompanion
	}
	if seat.Placed = hasX && hasY; !seat.Placed {
		seat.X, seat.Y = 0, 0
	}
	seat.Category = d.ref(key, categoryLabel)
	d.addSeat(at, seat)
}
