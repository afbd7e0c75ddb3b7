package seatplan_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rowlock/rowlock/internal/seatplan"
)

// fuzz holds a reader to what it promises of any document: it gives a plan or
// a list of problems, never panics, and what it gives keeps the rules and can
// be written and read again.
func fuzz(f *testing.F, format seatplan.Format) {
	f.Fuzz(func(t *testing.T, document string, rename bool) {
		plan, _, err := seatplan.Read(t.Context(), format, strings.NewReader(document), seatplan.Options{RenameDuplicates: rename, MaxSeats: 1000})
		if err != nil {
			var refused *seatplan.Problems
			if plan != nil || !errors.As(err, &refused) || refused.Total < 1 || len(refused.List) < 1 {
				t.Fatalf("plan %v, error %v", plan, err)
			}
			for _, p := range refused.List {
				if p.Path == "" || p.Message == "" || !utf8.ValidString(p.Path+p.Message) {
					t.Errorf("problem %q: %q", p.Path, p.Message)
				}
			}
			return
		}
		unique := map[string]bool{}
		for _, s := range plan.Seats {
			if unique[s.Label] || s.Number == "" || s.Kind == "" || s.Category >= len(plan.Categories) {
				t.Errorf("seat %+v", s)
			}
			unique[s.Label] = true
		}
		if !rename { // a suffix may make a name longer than a document may have it
			roundTrip(t, plan)
		}
	})
}

// seed adds the examples of the documentation, and text that was a problem.
func seed(f *testing.F, format seatplan.Format, more ...string) {
	text, err := os.ReadFile("../../docs/plans.md")
	if err != nil {
		f.Fatal(err)
	}
	parts := strings.Split(string(text), "```")
	for i := 1; i < len(parts); i += 2 {
		if info, example, _ := strings.Cut(parts[i], "\n"); strings.HasSuffix(info, " "+string(format)) {
			f.Add(example, false)
		}
	}
	for _, document := range more {
		f.Add(document, false)
		f.Add(document, true)
	}
}

func FuzzPretix(f *testing.F) {
	seed(f, seatplan.Pretix,
		`{"name":"x","categories":[{"name":"P"}],"zones":[{"name":"Z","position":{"x":9e6,"y":9e6},"rows":[{"row_number":"A","row_number_position":"both","position":{"x":9e6,"y":0},"seats":[{"seat_number":"1","seat_guid":"g","position":{"x":0,"y":0},"category":"P"},{"seat_number":"1","seat_guid":"g","position":{"x":1,"y":0},"category":"P"}]}],"areas":[{"shape":"polygon","polygon":{"points":[{"x":1,"y":1}]},"rotation":45,"text":"a\u0000"}]}]}`,
		`{"zones":[[]],"categories":null}`, `null`, `[]`, `{"zones":[{"rows":[{"seats":[{}]}]}]}`)
	fuzz(f, seatplan.Pretix)
}

func FuzzSeatsio(f *testing.F) {
	samples, err := filepath.Glob("testdata/*.json")
	if err != nil || len(samples) != 5 {
		f.Fatal(samples, err)
	}
	for _, name := range samples {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), false)
	}
	seed(f, seatplan.Seatsio,
		`{"subChart":{"booths":[{"label":"1"}],"shapes":[{"type":"circle"},{"type":"polygon","points":[{"x":1,"y":1}]}],"texts":[{"text":"a  b","x":1}],"tables":[{"type":"round","center":{"x":1,"y":1}}]}}`,
		`{"subChartFloors":[{"height":1e7,"floorDisplayName":"1"},{"height":1e7,"sections":[{"label":"a  b","points":[{"x":1,"y":1},{"x":1,"y":1},{"x":1,"y":1}]}]}]}`)
	fuzz(f, seatplan.Seatsio)
}

func FuzzCSV(f *testing.F) {
	seed(f, seatplan.CSV, csvHeader+"S,A,1,P,,,\nS,A,1,P,,,\nS,A,1_2,P,,,\n", "\ufeff"+csvHeader, csvHeader+"\u0345,\u2126,\ufb01,\u1e9e,1,-0,area\n",
		csvHeader+"S,,\xff,P,,,\n", csvHeader+"S,,\"\n\",P,,,\n", csvHeader+"-,-,-,-,0x1p4,1e-400,\n")
	fuzz(f, seatplan.CSV)
}

func FuzzRowlock(f *testing.F) {
	seed(f, seatplan.Rowlock, `{"categories":[{"name":"P"}],"areas":[{"name":"a","category":"P","capacity":1},{"name":"A","category":"P","capacity":1}]}`,
		`{"sections":[{"category":"P","rows":[{"seats":[{"seat":1,"features":["a"]},{"seat":"1"}]}]}],"categories":[{"name":"P","color":"red"}]}`)
	fuzz(f, seatplan.Rowlock)
}
