package seatplan_test

import (
	"errors"
	"io"
	"testing"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/seatplan"
)

func TestRowlockKeepsEverythingOfAPlan(t *testing.T) {
	t.Parallel()
	roundTrip(t, &boxoffice.Plan{
		Name:       `House of "Quotes" <&> é`,
		Categories: []boxoffice.Category{{Name: "B"}, {Name: "A", Color: "#abc"}},
		Seats: []boxoffice.Seat{ // sections and rows that are not together, and come back so
			{Section: "S", Row: "1", Number: "1", Label: "S-1-1", Category: 1, Kind: boxoffice.SeatStandard, X: -1.5, Y: 0, Placed: true},
			{Section: "S", Row: "2", Number: "1", Label: "S-2-1", Kind: boxoffice.SeatCompanion},
			{Section: "S", Row: "1", Number: "2", Label: "S-1-2", Category: 1, Kind: boxoffice.SeatStandard, Features: []string{"aisle", "restricted_view"}},
			{Section: "S", Row: "1", Number: "3", Label: "S-1-3", Category: 0, Kind: boxoffice.SeatWheelchair, Placed: true},
			{Number: "7", Label: "7", Kind: boxoffice.SeatStandard},
			{Section: "S", Row: "1", Number: "4", Label: "S-1-4", Kind: boxoffice.SeatStandard},
		},
		Areas: []boxoffice.Area{
			{Name: "Pit", Category: 1, Capacity: 1},
			{Name: "Lawn", Capacity: 1_000_000, X: 0, Y: 3.125, Placed: true, Outline: []boxoffice.Point{{X: 0, Y: 0}, {X: 1, Y: 0}, {X: 1, Y: 1}}},
		},
		Drawing: []boxoffice.Drawing{
			{Kind: "text", Text: "Bar", X: 1, Y: 2, Height: 12, Turn: -45},
			{Kind: "polygon", Color: "#11223344", Points: []boxoffice.Point{{X: 0, Y: 0}, {X: 1, Y: 0}, {X: 1, Y: 1}}},
			{Kind: "ellipse", X: 1, Y: 1, Width: 3, Height: 2},
		},
	})
}

func TestRowlockRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	got := problems(t, seatplan.Rowlock, `{"rowlockPlan":2,"venue":{"a":[1]},"categories":[{"name":"P","colour":"#fff"}],
		"sections":[{"name":"S","rows":[{"category":"P","seats":[{"seat":"1","kind":"throne"},{"seat":"2","x":1},{"seat":"3","features":["Wide Seat","aisle","aisle",{}]},{"seat":"4","price":3}]}]}],
		"areas":[{"name":"Pit","category":"P","capacity":2.5},{"name":"Pit2","category":"P","capacity":"9"},{"name":"Pit3","category":"P","capacity":1,"outline":[{"x":1}]}],
		"drawing":[{"kind":"star"},{"x":1}]}`, seatplan.Options{})
	const seats = "sections[0].rows[0].seats"
	wantStrings(t, "problems", got, []string{
		"rowlockPlan: only version 1 of the format is known here",
		"venue: the format has no such member",
		"categories[0].colour: the format has no such member",
		seats + `[0].kind: "throne" is not one of ["" "standard" "wheelchair" "companion"]`,
		seats + "[1]: x and y go together",
		seats + "[2].features[0]: a feature is a word such as restricted_view",
		seats + `[2].features[2]: the feature "aisle" is there twice`,
		seats + "[2].features[3]: this must be text and is an object",
		seats + "[2].features[3]: a feature is a word such as restricted_view",
		seats + "[3].price: the format has no such member",
		"areas[1].capacity: this must be a number and is text",
		"areas[2].outline[0]: a point needs x and y",
		`drawing[0].kind: "star" is not one of ["text" "rectangle" "circle" "ellipse" "polygon"]`,
		"drawing[0]: the shape has no kind",
		"drawing[1]: the shape has no kind",
		`areas[0]: the capacity of the area "Pit" is not a whole number from 1 to 1000000`,
		`areas[1]: the capacity of the area "Pit2" is not a whole number from 1 to 1000000`,
	})
}

type fullDisk struct{}

var errFull = errors.New("no space")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestWritingToAFullDiskFails(t *testing.T) {
	t.Parallel()
	var w io.Writer = fullDisk{}
	if err := seatplan.WriteRowlock(w, &boxoffice.Plan{Name: "x"}); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
}
