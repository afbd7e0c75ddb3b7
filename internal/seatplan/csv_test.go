package seatplan_test

import (
	"reflect"
	"testing"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/seatplan"
)

func TestCSVInAnyShapeThatSpreadsheetsWrite(t *testing.T) {
	t.Parallel()
	want := read(t, seatplan.CSV, csvHeader+"Stalls,A,1,Front,10,20,wheelchair\n\"Up, left\",,2,Back,,,\nPit,,30,Back,1,2,area\n")
	if !reflect.DeepEqual(want, &boxoffice.Plan{
		Categories: []boxoffice.Category{{Name: "Front"}, {Name: "Back"}},
		Seats: []boxoffice.Seat{
			{Section: "Stalls", Row: "A", Number: "1", Label: "Stalls-A-1", Kind: boxoffice.SeatWheelchair, X: 10, Y: 20, Placed: true},
			{Section: "Up, left", Number: "2", Label: "Up, left-2", Category: 1, Kind: boxoffice.SeatStandard},
		},
		Areas: []boxoffice.Area{{Name: "Pit", Category: 1, Capacity: 30, X: 1, Y: 2, Placed: true}},
	}) {
		t.Fatalf("%+v", want)
	}
	for name, document := range map[string]string{
		"byte order mark": "\ufeff" + csvHeader + "Stalls,A,1,Front,10,20,wheelchair\n\"Up, left\",,2,Back,,,\nPit,,30,Back,1,2,area\n",
		"CRLF":            "section,row,seat,category,x,y,kind\r\nStalls,A,1,Front,10,20,wheelchair\r\n\"Up, left\",,2,Back,,,\r\nPit,,30,Back,1,2,area\r\n",
		"other order":     "Kind , SEAT,x,y,Category,Row,section\nWheelchair,1,10,20,Front,A,Stalls\n,2,,,Back,,\"Up, left\"\nAREA,30,1,2,Back,,Pit",
		"all quoted":      "\"section\",\"row\",\"seat\",\"category\",\"x\",\"y\",\"kind\"\n\"Stalls\",\"A\",\"1\",\"Front\",\"10\",\"20\",\"wheelchair\"\n\"Up, left\",\"\",\"2\",\"Back\",\"\",\"\",\"\"\n\"Pit\",\"\",\"30\",\"Back\",\"1\",\"2\",\"area\"\n",
		"empty lines":     csvHeader + "Stalls,A,1,Front,10.0000,2e1,wheelchair\n\n,,,,,,\n\"Up, left\",,2,Back,,,standard\nPit,,30,Back,1,2,area\n , ,,,,,\n",
		"more columns":    "section,row,seat,category,x,y,kind,note\nStalls,A,1,Front,10,20,wheelchair,aisle\n\"Up, left\",,2,Back,,,,\nPit,,30,Back,1,2,area,\n",
	} {
		if got := read(t, seatplan.CSV, document); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, want)
		}
	}
	short := read(t, seatplan.CSV, "section,row,seat,category\nS,A,1,P\n")
	wantStrings(t, "labels", labels(short), []string{"S-A-1"})
	roundTrip(t, want)
}

func TestCSVProblemsAreAllListed(t *testing.T) {
	t.Parallel()
	got := problems(t, seatplan.CSV, csvHeader+
		"S,A,1,P,1,,\n"+
		"S,A,2,P,NaN,0,\n"+
		"S,A,3,P,0,-Inf,\n"+
		"S,A,4,P,1e300,0,\n"+
		"S,A,5,P,left,0,\n"+
		"S,A,6,P,0,0,sofa\n"+
		"S,A,7,P\n"+
		"S,A,,P,,,\n"+
		"S,A,9,,,,\n"+
		"Pit,,-5,P,,,area\n"+
		"Pit2,,0,P,,,area\n"+
		"Pit3,,many,P,,,area\n"+
		"Pit4,,1000001,P,,,area\n"+
		"Pit5,A,5,P,,,area\n"+
		",,5,P,,,area\n"+
		"Pit6,,5,,,,area\n"+
		"pit6,,5,P,,,area\n", seatplan.Options{})
	const capacity = "is not a whole number from 1 to 1000000"
	wantStrings(t, "problems", got, []string{
		"line 2: x and y go together",
		`line 3, x: "NaN" is not a number between -10000000 and 10000000`,
		`line 4, y: "-Inf" is not a number between -10000000 and 10000000`,
		`line 5, x: "1e300" is not a number between -10000000 and 10000000`,
		`line 6, x: "left" is not a number between -10000000 and 10000000`,
		`line 7, kind: the kind "sofa" is not standard, wheelchair, companion or area`,
		"line 8: the line has 4 fields and the header 7",
		"line 15: an area has no row",
		"line 10: no category",
		"line 17: no category",
		"line 9: the seat has no number or letter",
		`line 11: the capacity of the area "Pit" ` + capacity,
		`line 12: the capacity of the area "Pit2" ` + capacity,
		`line 13: the capacity of the area "Pit3" ` + capacity,
		`line 14: the capacity of the area "Pit4" ` + capacity,
		"line 16: the area has no name",
		`line 18: the area "pit6" is here again; it was first at line 17`,
	})
}

func TestCSVHeaderThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{
		"section;row;seat;category\nS;A;1;P\n":      "line 1: the header lacks section, row, seat, category; columns are separated by commas",
		"section,row,number,category\nS,A,1,P\n":    "line 1: the header lacks seat",
		"S,A,1,P,,,\n":                              "line 1: the header lacks section, row, seat, category",
		"section,row,seat,seat,category\nS,A,1,1,P": "line 1, seat: the column \"seat\" is there twice",
		csvHeader: "$: the document has no seats and no areas",
	} {
		wantStrings(t, "problems", problems(t, seatplan.CSV, document, seatplan.Options{}), []string{want})
	}
}
