package seatplan_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/rowlock/rowlock/internal/seatplan"
)

// TestExamplesOfTheDocumentation imports every example of docs/plans.md, whose
// fences say the format behind the language: ```json pretix.
func TestExamplesOfTheDocumentation(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/plans.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[seatplan.Format]int{}
	for _, m := range regexp.MustCompile("(?ms)^```(?:json|csv) (\\w+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		format := seatplan.Format(m[1])
		plan, warnings := readOpts(t, format, m[2], seatplan.Options{})
		if len(warnings) > 0 {
			t.Errorf("the %s example is warned of: %v", format, warnings)
		}
		roundTrip(t, plan)
		found[format]++
	}
	if found[seatplan.CSV] != 1 || found[seatplan.Rowlock] != 1 || found[seatplan.Pretix] != 2 || found[seatplan.Seatsio] != 1 {
		t.Errorf("examples: %v", found)
	}
}
