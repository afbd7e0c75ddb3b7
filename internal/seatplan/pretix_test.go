package seatplan_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/seatplan"
)

func TestPretixPositionsAddUpWhateverTheOrderOfMembers(t *testing.T) {
	t.Parallel()
	// The members of each object stand in the order least convenient to a stream.
	plan, warnings := readOpts(t, seatplan.Pretix, `{
		"zones": [{
			"rows": [{
				"seats": [
					{"category": "Gold", "position": {"y": 1, "x": 2}, "seat_number": "1", "seat_guid": "g1", "colour": "red"},
					{"category": "Gold", "position": {"x": 12, "y": 1}, "seat_number": 2, "seat_guid": "g2", "uuid": "u", "colour": "red"}
				],
				"row_number_position": "both", "row_number": "A", "position": {"x": 100, "y": 200}
			}],
			"position": {"x": 1000, "y": 2000}, "name": "Saal"
		}],
		"categories": [{"name": "Gold", "color": "#FFD700"}, {"name": "Silver", "color": "silver"}],
		"name": "Haus"
	}`, seatplan.Options{})
	want := &boxoffice.Plan{
		Name:       "Haus",
		Categories: []boxoffice.Category{{Name: "Gold", Color: "#FFD700"}},
		Seats: []boxoffice.Seat{
			{Section: "Saal", Row: "A", Number: "1", Label: "Saal-A-1", Kind: boxoffice.SeatStandard, X: 1102, Y: 2201, Placed: true},
			{Section: "Saal", Row: "A", Number: "2", Label: "Saal-A-2", Kind: boxoffice.SeatStandard, X: 1112, Y: 2201, Placed: true},
		},
		Drawing: []boxoffice.Drawing{{Kind: "text", Text: "A", X: 1092, Y: 2201}, {Kind: "text", Text: "A", X: 1122, Y: 2201}},
	}
	if !reflect.DeepEqual(plan, want) {
		t.Errorf("got  %+v\nwant %+v", plan, want)
	}
	wantStrings(t, "warnings", messages(warnings), []string{
		"zones[].rows[].seats[].colour: this is not known here and is left out (2 times)",
		"categories[1].color: the colour is not in the form #rrggbb and is left out",
		`$: the category "Silver" has no places and is left out`,
	})
	roundTrip(t, plan)
}

func TestPretixShapesOfBothDialectsAreKeptForDrawing(t *testing.T) {
	t.Parallel()
	const plan = `{"name":"x","categories":[{"name":"P"}],"zones":[{"name":"Z","position":{"x":10,"y":20},
		"rows":[{"row_number":"1","seats":[{"seat_number":"1","seat_guid":"g","position":{"x":0,"y":0},"category":"P"}]}],
		"areas":[%s]}]}`
	for _, c := range []struct {
		area string
		want []boxoffice.Drawing
	}{
		{`{"width":80,"height":20,"position":{"x":0,"y":0},"color":"#dddddd","rotation":0,"text":"Stage"}`, []boxoffice.Drawing{
			{Kind: "rectangle", X: 50, Y: 30, Width: 80, Height: 20, Color: "#dddddd"}, {Kind: "text", Text: "Stage", X: 50, Y: 30}}},
		{`{"shape":"rectangle","rectangle":{"width":80,"height":20},"position":{"x":0,"y":0},"rotation":90,"text":{"text":"Stage\nleft","size":12,"color":"#333333","position":{"x":40,"y":10}}}`, []boxoffice.Drawing{
			{Kind: "rectangle", X: 0, Y: 60, Width: 80, Height: 20, Turn: 90}, {Kind: "text", Text: "Stage left", X: 0, Y: 60, Height: 12, Turn: 90, Color: "#333333"}}},
		{`{"shape":"circle","circle":{"radius":7},"position":{"x":1,"y":2}}`, []boxoffice.Drawing{{Kind: "circle", X: 11, Y: 22, Width: 14, Height: 14}}},
		{`{"shape":"ellipse","ellipse":{"radius":{"x":7,"y":3}},"position":{"x":1,"y":2}}`, []boxoffice.Drawing{{Kind: "ellipse", X: 11, Y: 22, Width: 14, Height: 6}}},
		{`{"shape":"polygon","polygon":{"points":[{"x":0,"y":0},{"x":4,"y":0},{"x":4,"y":2}]},"position":{"x":1,"y":2}}`, []boxoffice.Drawing{
			{Kind: "polygon", X: 13, Y: 23, Points: []boxoffice.Point{{X: 11, Y: 22}, {X: 15, Y: 22}, {X: 15, Y: 24}}}}},
		{`{"shape":"text","position":{"x":1,"y":2},"text":{"text":"Bar","position":{"x":5,"y":5}}}`, []boxoffice.Drawing{{Kind: "text", Text: "Bar", X: 16, Y: 27}}},
		{`{"shape":"hexagon","position":{"x":1,"y":2}}`, nil},
	} {
		if got := read(t, seatplan.Pretix, fmt.Sprintf(plan, c.area)).Drawing; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s\n got %+v\nwant %+v", c.area, got, c.want)
		}
	}
}

func TestPretixEarlyDialectNeedsNeitherGUIDsNorPositions(t *testing.T) {
	t.Parallel()
	plan, warnings := readOpts(t, seatplan.Pretix, `{"name":"x","categories":[{"name":"P"}],"zones":[{"displayed":false,"position":{"x":5,"y":5},
		"rows":[{"row_number":"1","number_of_seats":2,"seats_spacing":10,"seats":[
			{"seat_number":"1","seat_guid":"","category":"P"},{"seat_number":"2","category":"P","position":{"x":1,"y":1}}]}]}]}`, seatplan.Options{})
	wantStrings(t, "labels", labels(plan), []string{"1-1", "1-2"})
	if a, b := plan.Seats[0], plan.Seats[1]; a.Placed || a.X != 0 || !b.Placed || b.X != 6 {
		t.Errorf("%+v", plan.Seats)
	}
	wantStrings(t, "warnings", messages(warnings), []string{"zones[].rows[].seats[]: the seat has no seat_guid (2 times)"})
}

func TestPretixProblemsAreAllListed(t *testing.T) {
	t.Parallel()
	got := problems(t, seatplan.Pretix, `{"name":["x"],"name":"y","categories":[{"name":"P"},{"name":"P"},{}],"zones":[{"name":"Z","position":{"x":"1","y":1e999},
		"rows":[{"row_number":"A","seats":[
			{"seat_number":"1","seat_guid":"g","position":{"x":0,"y":0},"category":"P"},
			{"seat_number":"2","seat_guid":"g","position":{"x":0,"y":0},"category":"Q"},
			{"seat_number":"2","seat_guid":"h","position":7},
			"seat"]}, 12]}]}`, seatplan.Options{})
	wantStrings(t, "problems", got, []string{
		"name: this must be text and is an array",
		"name: the member is there twice",
		`categories[1]: the category "P" is declared twice`,
		"categories[2]: the category has no name",
		"zones[0].position.x: this must be a number and is text",
		"zones[0].position.y: the number is not between -10000000 and 10000000",
		`zones[0].rows[0].seats[1].seat_guid: the seat_guid "g" is that of the seat at zones[0].rows[0].seats[0]`,
		"zones[0].rows[0].seats[2].position: this must be an object and is a number",
		"zones[0].rows[0].seats[3]: this must be an object and is text",
		"zones[0].rows[1]: this must be an object and is a number",
		`zones[0].rows[0].seats[1]: the category "Q" is not declared`,
		"zones[0].rows[0].seats[2]: no category",
		"zones[0].rows[0].seats[3]: no category",
		"zones[0].rows[0].seats[3]: the seat has no number or letter",
		`zones[0].rows[0].seats[2]: the seat "Z-A-2" is here again; it was first at zones[0].rows[0].seats[1]`,
	})
}

func TestPretixArenaWithRepeatedGUIDs(t *testing.T) {
	t.Parallel()
	_, _, err := seatplan.Read(t.Context(), seatplan.Pretix, realFile(t, "pretix/arena-738-repeated-guids.json"), seatplan.Options{})
	var refused *seatplan.Problems
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	guids, keys := 0, 0
	for _, p := range refused.List {
		if strings.HasSuffix(p.Path, ".seat_guid") {
			guids++
		} else if strings.Contains(p.Message, "is here again") {
			keys++
		}
	}
	if guids != 738-318 || keys != 738-318 || refused.Total != guids+keys {
		t.Errorf("%d of %d problems are repeated guids, %d repeated seats", guids, refused.Total, keys)
	}

	plan, _, err := seatplan.Read(t.Context(), seatplan.Pretix, realFile(t, "pretix/arena-738-repeated-guids.json"), seatplan.Options{RenameDuplicates: true})
	if err != nil {
		t.Fatal(err)
	}
	unique := map[string]bool{}
	for _, l := range labels(plan) {
		unique[l] = true
	}
	if len(plan.Seats) != 738 || len(unique) != 738 || len(plan.Categories) != 4 {
		t.Errorf("%d seats with %d labels in %d categories", len(plan.Seats), len(unique), len(plan.Categories))
	}
	roundTrip(t, plan)
}
