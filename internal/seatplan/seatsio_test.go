package seatplan_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/seatplan"
)

func sample(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSeatsioRowsAndAreas(t *testing.T) {
	t.Parallel()
	plan, warnings := readOpts(t, seatplan.Seatsio, sample(t, "sampleChart.json"), seatplan.Options{})
	if plan.Name != "Sample chart" || len(plan.Seats) != 32 {
		t.Fatalf("%q, %d seats", plan.Name, len(plan.Seats))
	}
	first := boxoffice.Seat{Row: "A", Number: "1", Label: "A-1", Kind: boxoffice.SeatStandard, X: 151.94, Y: 99.56, Placed: true}
	if !reflect.DeepEqual(plan.Seats[0], first) {
		t.Errorf("%+v", plan.Seats[0])
	}
	for _, s := range plan.Seats {
		if (s.Kind == boxoffice.SeatWheelchair) != (s.Label == "A-7") {
			t.Errorf("%s is for %s", s.Label, s.Kind)
		}
		if in := plan.Categories[s.Category].Name; in != map[string]string{"A": "Cat1", "B": "Cat1", "C": "Cat2", "D": "Cat2"}[s.Row] {
			t.Errorf("%s is in %s", s.Label, in)
		}
	}
	if len(plan.Areas) != 2 {
		t.Fatalf("%+v", plan.Areas)
	}
	a := plan.Areas[1]
	if a.Name != "GA2" || a.Capacity != 100 || plan.Categories[a.Category].Name != "Cat2" || a.X != 389.22 || a.Y != 139.45 || !a.Placed || a.Outline[0] != (boxoffice.Point{X: 441.442, Y: 139.45}) {
		t.Errorf("%+v", a)
	}
	stage := boxoffice.Drawing{Kind: "rectangle", Text: "Stage", X: 218.94, Y: 30.56, Width: 245.556, Height: 61.111, Color: "#D0D1D2"}
	if !reflect.DeepEqual(plan.Drawing, []boxoffice.Drawing{stage}) {
		t.Errorf("%+v", plan.Drawing)
	}
	wantStrings(t, "warnings", messages(warnings), []string{`$: the category "Cat3" has no places and is left out`})
	roundTrip(t, plan)
}

func TestSeatsioErrorsAreAllNamed(t *testing.T) {
	t.Parallel()
	got := problems(t, seatplan.Seatsio, sample(t, "sampleChartWithErrors.json"), seatplan.Options{})
	wantStrings(t, "problems", got, []string{
		"subChart.rows[0].seats[3]: no category",
		`subChart.rows[0].seats[2]: "?" stands for a name that was never given`,
		`subChart.rows[0].seats[1]: the seat "A-1" is here again; it was first at subChart.rows[0].seats[0]`,
	})
}

func TestSeatsioSectionsGivePositionAndCategory(t *testing.T) {
	t.Parallel()
	plan := read(t, seatplan.Seatsio, sample(t, "sampleChartWithSections.json"))
	if len(plan.Seats) != 71 {
		t.Fatalf("%d seats", len(plan.Seats))
	}
	i := slices.IndexFunc(plan.Seats, func(s boxoffice.Seat) bool { return s.Section == "Section B" })
	s := plan.Seats[i]
	if s.Label != "Section B-A-1" || s.X != 189.94+16.25 || s.Y != 45.25 || plan.Categories[s.Category].Name != "cat2" || plan.Categories[plan.Seats[0].Category].Name != "cat1" {
		t.Errorf("%+v", s)
	}
	if d := plan.Drawing[1]; d.Kind != "polygon" || d.Text != "Section B" || d.X != 246.69 || len(d.Points) != 4 {
		t.Errorf("%+v", plan.Drawing)
	}
	roundTrip(t, plan)
}

func TestSeatsioTablesAreSoldSeatBySeat(t *testing.T) {
	t.Parallel()
	plan, warnings := readOpts(t, seatplan.Seatsio, sample(t, "sampleChartWithTables.json"), seatplan.Options{})
	wantStrings(t, "labels", labels(plan), strings.Fields("T1-1 T1-2 T1-3 T1-4 T1-5 T1-6 T2-1 T2-2 T2-3 T2-4 T2-5 T2-6"))
	if d := plan.Drawing[0]; d.Kind != "circle" || d.Text != "T1" || d.Width != 47.746 {
		t.Errorf("%+v", plan.Drawing)
	}
	if got := messages(warnings); got[0] != `subChart.tables[1]: "T2" is sold as a whole there; here its places are sold one by one` {
		t.Errorf("%s", got)
	}
	roundTrip(t, plan)
}

func TestSeatsioFloorsLieBelowEachOther(t *testing.T) {
	t.Parallel()
	plan, warnings := readOpts(t, seatplan.Seatsio, sample(t, "sampleChartWithFloors.json"), seatplan.Options{})
	wantStrings(t, "labels", labels(plan), []string{"S1-A-1", "S1-A-2", "S2-B-1", "S2-B-2"})
	if s := plan.Seats[2]; s.X != 1242.22+16 || s.Y != 155.22 || plan.Categories[s.Category].Name != "Bar" {
		t.Errorf("%+v", s)
	}
	wantStrings(t, "warnings", messages(warnings), []string{`$: places with category key 2 are labelled "Foo"; the key counts, which is "Bar"`})
	roundTrip(t, plan)
}

func TestSeatsioCategoriesAreInheritedAndFlagsKept(t *testing.T) {
	t.Parallel()
	plan, warnings := readOpts(t, seatplan.Seatsio, `{
		"subChart": {"sections": [{
			"subChart": {
				"rows": [
					{"seats": [{"label": "1"}, {"label": "2", "categoryLabel": "Own", "companionSeat": true, "restrictedView": true},
						{"label": "3", "categoryKey": "a", "semiAmbulatorySeat": true, "disabledBySocialDistancingRules": true, "mood": "gay"}], "categoryKey": 2, "label": "A"},
					{"label": "B", "seats": [{"label": "1", "x": 1, "y": 2, "accessible": true}, {"label": "2", "x": 1}]}
				],
				"generalAdmissionAreas": [{"label": "Pit", "capacity": 5, "type": "rectangle", "center": {"x": 1, "y": 1}, "width": 2, "height": 2, "rotationAngle": 90}],
				"booths": [{"label": "B1", "center": {"x": 3, "y": 3}}]
			},
			"label": "S", "categoryKey": 1, "topLeft": {"x": 100, "y": 100}
		}]},
		"categories": {"list": [{"key": 1, "label": "Sect"}, {"key": 2, "label": "Row"}, {"key": 3, "label": "Own"}, {"key": "a", "label": "Wheels", "accessible": true}]}
	}`, seatplan.Options{})
	var got []string
	for _, s := range plan.Seats {
		got = append(got, strings.Join(append([]string{s.Label, plan.Categories[s.Category].Name, string(s.Kind)}, s.Features...), " "))
	}
	wantStrings(t, "seats", got, []string{
		"S-A-1 Row standard", "S-A-2 Own companion restricted_view", "S-A-3 Wheels wheelchair semi_ambulatory",
		"S-B-1 Sect wheelchair", "S-B-2 Sect standard", "S-B1 Sect standard booth",
	})
	if a, b := plan.Seats[3], plan.Seats[4]; a.X != 101 || a.Y != 102 || b.Placed {
		t.Errorf("%+v %+v", a, b)
	}
	pit := boxoffice.Area{Name: "S-Pit", Capacity: 5, X: 101, Y: 101, Placed: true, Outline: []boxoffice.Point{{X: 102, Y: 100}, {X: 102, Y: 102}, {X: 100, Y: 102}, {X: 100, Y: 100}}}
	if !reflect.DeepEqual(plan.Areas, []boxoffice.Area{pit}) {
		t.Errorf("%+v", plan.Areas)
	}
	const seats = "subChart.sections[].subChart.rows[].seats[]"
	wantStrings(t, "warnings", messages(warnings), []string{
		seats + ".disabledBySocialDistancingRules: the seat is closed there by a distancing rule; here it is a seat like any other",
		seats + ".mood: this is not known here and is left out",
	})
	roundTrip(t, plan)
}

func TestSeatsioRaceTrack(t *testing.T) {
	t.Parallel()
	plan, warnings, err := seatplan.Read(t.Context(), seatplan.Seatsio, realFile(t, "seatsio/sampleChartWithZones.json"), seatplan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Seats) != 8897 || len(plan.Categories) != 2 || len(warnings) > 0 {
		t.Errorf("%d seats, %d categories, warnings %v", len(plan.Seats), len(plan.Categories), warnings)
	}
	if s := plan.Seats[0]; s.Label != "Goal Stand 4-A-1" || s.X != 39735.23+676 || s.Y != 22018.06+976 {
		t.Errorf("%+v", s)
	}
	roundTrip(t, plan)
}
