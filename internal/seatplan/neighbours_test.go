package seatplan_test

import (
	"strings"
	"testing"

	"github.com/rowlock/rowlock/internal/seatplan"
)

func runs(t *testing.T, format seatplan.Format, document string) (list []string) {
	t.Helper()
	plan := read(t, format, document)
	for _, run := range seatplan.Runs(plan.Seats) {
		var names []string
		for _, i := range run {
			names = append(names, plan.Seats[i].Label)
		}
		list = append(list, strings.Join(names, " "))
	}
	return list
}

func TestNeighbours(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seats string
		want  []string
	}{
		"without positions as they stand in the document": {
			",A,2,P,,,\n,B,1,P,,,\n,A,1,P,,,\n,A,11,P,,,\n", []string{"A-2 A-1 A-11", "B-1"}},
		"with positions as they lie, whatever the numbers": {
			",A,1,P,30,0,\n,A,2,P,10,0,\n,A,3,P,40,0,\n,A,4,P,20,0,\n", []string{"A-2 A-4 A-1 A-3"}},
		"not across an aisle": {
			",A,1,P,0,0,\n,A,2,P,20,0,\n,A,3,P,60,0,\n,A,4,P,80,0,\n,A,5,P,100,0,\n", []string{"A-1 A-2", "A-3 A-4 A-5"}},
		"beside a wheelchair space, which is wide": {
			",A,1,P,0,0,wheelchair\n,A,2,P,30,0,companion\n,A,3,P,50,0,\n,A,4,P,70,0,\n", []string{"A-1 A-2 A-3 A-4"}},
		"along a slanted row that is written backwards": {
			",A,1,P,30,60,\n,A,2,P,20,40,\n,A,3,P,10,20,\n", []string{"A-1 A-2 A-3"}},
		"around a table": {
			",T,1,P,0,-10,\n,T,2,P,9,-5,\n,T,3,P,9,5,\n,T,4,P,0,10,\n,T,5,P,-9,5,\n,T,6,P,-9,-5,\n", []string{"T-1 T-2 T-3 T-4 T-5 T-6"}},
		"as in the document if one position is missing": {
			",A,1,P,30,0,\n,A,2,P,,,\n,A,3,P,10,0,\n", []string{"A-1 A-2 A-3"}},
		"not in rows of the same name in two sections": {
			"L,A,1,P,0,0,\nR,A,1,P,20,0,\n", []string{"L-A-1", "R-A-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantStrings(t, "runs", runs(t, seatplan.CSV, csvHeader+c.seats), c.want)
		})
	}
}

func TestNeighboursOfRealRows(t *testing.T) {
	t.Parallel()
	wantStrings(t, "runs", runs(t, seatplan.Seatsio, sample(t, "sampleChartWithTables.json")), []string{
		"T1-1 T1-2 T1-3 T1-4 T1-5 T1-6", "T2-1 T2-2 T2-3 T2-4 T2-5 T2-6",
	})
}
