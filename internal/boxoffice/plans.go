package boxoffice

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// SeatKind says whom a seat is made for.
type SeatKind string

// The kinds of seat.
const (
	SeatStandard   SeatKind = "standard"
	SeatWheelchair SeatKind = "wheelchair" // a space for a wheelchair
	SeatCompanion  SeatKind = "companion"  // the seat beside such a space
)

// SeatStatus is what a seat is in one show at one instant.
type SeatStatus string

// The states of a seat.
const (
	SeatAvailable SeatStatus = "available"
	SeatHeld      SeatStatus = "held"
	SeatBooked    SeatStatus = "booked"
	SeatBlocked   SeatStatus = "blocked"
)

// Letter is the state in the statuses string of a map: a, h, b or x.
func (s SeatStatus) Letter() byte {
	switch s {
	case SeatHeld:
		return 'h'
	case SeatBooked:
		return 'b'
	case SeatBlocked:
		return 'x'
	default:
		return 'a'
	}
}

// Plan is an immutable seating plan of a hall. The order of Seats is the order
// of the document it came from, and of the letters in a map's statuses.
//
// A seat is known by its number (No): unique in its hall, given once and kept
// by every later plan of the hall that has a seat with the same section, row
// and seat. So a show can move to another plan while its seats stay theirs.
type Plan struct {
	ID             uuid.UUID
	OrganisationID uuid.UUID
	HallID         uuid.UUID
	Name           string
	Categories     []Category
	Seats          []Seat
	Areas          []Area
	Drawing        []Drawing // texts and shapes kept for drawing the map
}

// Category is a price class of a plan; its name is unique in the plan.
type Category struct {
	ID    uuid.UUID
	Name  string
	Color string // CSS hex colour such as #87A9CD; "" when unknown
}

// Seat is one seat of a plan.
type Seat struct {
	No       int32 // unique in the hall; see [Plan]
	ID       uuid.UUID
	Section  string // "" when the plan has no sections
	Row      string // "" when the plan has no rows
	Number   string // the seat's own name in its row: "12", "C"; never empty
	Label    string // section, row and number, those that are not empty, joined with "-"; unique in the plan
	Category int    // index into Plan.Categories
	Kind     SeatKind
	Features []string // restricted_view, aisle, …; nil when none
	X, Y     float64  // in the plan's own units; 0, 0 when Placed is false
	Placed   bool     // the document gave a position
}

// Area is a part of a plan with places for Capacity people and no seats.
type Area struct {
	No       int32 // unique in the hall; see [Plan]
	ID       uuid.UUID
	Name     string // unique in the plan
	Category int    // index into Plan.Categories
	Capacity int    // 1 or more
	X, Y     float64
	Placed   bool
	Outline  []Point // the area's polygon; nil when unknown
}

// Point is a position in a plan's own units.
type Point struct {
	X float64 `json:"x" doc:"Horizontal position in the plan's own units" example:"120.5"`
	Y float64 `json:"y" doc:"Vertical position, growing downwards" example:"80"`
}

// Drawing is a shape or text of a plan that cannot be sold: a stage, a bar, a
// row's letter.
type Drawing struct {
	Kind   string  `json:"kind" enum:"text,rectangle,circle,ellipse,polygon" doc:"What to draw" example:"text"`
	Text   string  `json:"text,omitempty" doc:"The text to write" example:"Stage"`
	X      float64 `json:"x" doc:"Horizontal position in the plan's own units" example:"300"`
	Y      float64 `json:"y" doc:"Vertical position, growing downwards" example:"10"`
	Width  float64 `json:"width,omitempty" doc:"Width, or the diameter of a circle" example:"200"`
	Height float64 `json:"height,omitempty" doc:"Height" example:"40"`
	Turn   float64 `json:"turn,omitempty" doc:"Rotation in degrees, clockwise" example:"0"`
	Color  string  `json:"color,omitempty" doc:"CSS hex colour" example:"#cccccc"`
	Points []Point `json:"points,omitempty" doc:"Corners of a polygon"`
}

// PlanIndex finds the seats of a plan by number, id and label. It is built
// once and safe for concurrent use.
type PlanIndex struct {
	*Plan
	byNo    []int32 // seat number → position + 1; 0: not in this plan
	byID    map[uuid.UUID]int32
	byLabel map[string]int32
	beside  func() []int32
	offered func() map[string][]Run
}

// Run is a run of seat numbers, both ends included.
type Run struct{ First, Last int32 }

// Index builds the index of p, which must not change afterwards.
func (p *Plan) Index() *PlanIndex {
	x := &PlanIndex{Plan: p, byID: make(map[uuid.UUID]int32, len(p.Seats)), byLabel: make(map[string]int32, len(p.Seats))}
	for i, s := range p.Seats {
		if int(s.No) >= len(x.byNo) {
			x.byNo = append(x.byNo, make([]int32, int(s.No)+1-len(x.byNo))...)
		}
		x.byNo[s.No] = int32(i) + 1
		x.byID[s.ID] = int32(i)
		x.byLabel[s.Label] = int32(i)
	}
	x.beside = sync.OnceValue(p.neighbours)
	x.offered = sync.OnceValue(x.offers)
	return x
}

// Offered are the seats of a category that anybody may be offered, as runs of
// their numbers, the lowest first. A nil index has none.
func (x *PlanIndex) Offered(category string) []Run {
	if x == nil {
		return nil
	}
	return x.offered()[category]
}

func (x *PlanIndex) offers() map[string][]Run {
	runs := map[string][]Run{}
	for no, at := range x.byNo {
		if at == 0 || !x.Seats[at-1].offerable() {
			continue
		}
		category := x.CategoryOf(&x.Seats[at-1])
		list := runs[category]
		if n := len(list); n > 0 && list[n-1].Last == int32(no)-1 {
			list[n-1].Last++
		} else {
			runs[category] = append(list, Run{int32(no), int32(no)})
		}
	}
	return runs
}

// Beside returns the position of the seat next to the one at a position, going
// one way along its row; -1 at the row's end and at an aisle.
func (x *PlanIndex) Beside(at int32) int32 { return x.beside()[at] }

// neighbours finds for each seat the next one of its row: by where they stand,
// or, when the document does not say, by its order; never by their numbers,
// which in some houses go 1, 3, 5. A gap of twice the row's usual is an aisle.
func (p *Plan) neighbours() []int32 {
	next := make([]int32, len(p.Seats))
	rows := map[[2]string][]int32{}
	for i := range p.Seats {
		next[i] = -1
		name := [2]string{p.Seats[i].Section, p.Seats[i].Row}
		rows[name] = append(rows[name], int32(i))
	}
	for _, row := range rows {
		if slices.ContainsFunc(row, func(i int32) bool { return !p.Seats[i].Placed }) {
			for n := range len(row) - 1 {
				next[row[n]] = row[n+1]
			}
			continue
		}
		// A row may run along either axis, and be bent.
		x := func(i int32) float64 { return p.Seats[i].X }
		y := func(i int32) float64 { return p.Seats[i].Y }
		along := x
		if spread(row, y) > spread(row, x) {
			along = y
		}
		slices.SortStableFunc(row, func(i, j int32) int { return cmp.Compare(along(i), along(j)) })
		gaps := make([]float64, len(row)-1)
		for n := range gaps {
			gaps[n] = math.Hypot(x(row[n+1])-x(row[n]), y(row[n+1])-y(row[n]))
		}
		for usual := median(gaps); len(gaps) > 0; gaps = gaps[:len(gaps)-1] {
			if n := len(gaps) - 1; gaps[n] < 2*usual {
				next[row[n]] = row[n+1]
			}
		}
	}
	return next
}

func spread(row []int32, of func(int32) float64) float64 {
	least, most := of(row[0]), of(row[0])
	for _, i := range row {
		least, most = min(least, of(i)), max(most, of(i))
	}
	return most - least
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(list))[len(list)/2]
}

// Seat returns the seat with the given number, or nil. A nil index has none.
func (x *PlanIndex) Seat(no int32) *Seat {
	if i, ok := x.Position(no); ok {
		return &x.Seats[i]
	}
	return nil
}

// Position returns where the seat with the given number stands in the plan.
func (x *PlanIndex) Position(no int32) (int, bool) {
	if x == nil || no < 0 || int(no) >= len(x.byNo) || x.byNo[no] == 0 {
		return 0, false
	}
	return int(x.byNo[no] - 1), true
}

// SeatByID returns the seat with the given id, or nil.
func (x *PlanIndex) SeatByID(id uuid.UUID) *Seat {
	if x == nil {
		return nil
	}
	if i, ok := x.byID[id]; ok {
		return &x.Seats[i]
	}
	return nil
}

// SeatByLabel returns the seat with the given label, or nil.
func (x *PlanIndex) SeatByLabel(label string) *Seat {
	if x == nil {
		return nil
	}
	if i, ok := x.byLabel[label]; ok {
		return &x.Seats[i]
	}
	return nil
}

// CategoryOf returns the category name of a seat of this plan.
func (x *PlanIndex) CategoryOf(s *Seat) string { return x.Categories[s.Category].Name }
