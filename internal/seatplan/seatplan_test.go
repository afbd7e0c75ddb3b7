package seatplan_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/seatplan"
)

const csvHeader = "section,row,seat,category,x,y,kind\n"

func read(t *testing.T, format seatplan.Format, document string) *boxoffice.Plan {
	t.Helper()
	plan, _ := readOpts(t, format, document, seatplan.Options{})
	return plan
}

func readOpts(t *testing.T, format seatplan.Format, document string, opts seatplan.Options) (*boxoffice.Plan, []seatplan.Warning) {
	t.Helper()
	plan, warnings, err := seatplan.Read(t.Context(), format, strings.NewReader(document), opts)
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	return plan, warnings
}

// problems returns what a refused document is told, one "path: message" each.
func problems(t *testing.T, format seatplan.Format, document string, opts seatplan.Options) []string {
	t.Helper()
	plan, _, err := seatplan.Read(t.Context(), format, strings.NewReader(document), opts)
	var refused *seatplan.Problems
	if !errors.As(err, &refused) {
		t.Fatalf("not refused: plan %v, error %v", plan, err)
	}
	if plan != nil {
		t.Error("a refused document gave a plan")
	}
	var list []string
	for _, p := range refused.List {
		list = append(list, p.Path+": "+p.Message)
	}
	return list
}

func wantStrings(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func labels(plan *boxoffice.Plan) (list []string) {
	for _, s := range plan.Seats {
		list = append(list, s.Label)
	}
	return list
}

func messages(warnings []seatplan.Warning) (list []string) {
	for _, w := range warnings {
		list = append(list, w.Path+": "+w.Message)
	}
	return list
}

// realFile opens a file of the collection of real plans, which stands beside
// the repository and not in it.
func realFile(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join("../../../shared/data/seatplans", path))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the collection of real plans is not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestSeatsThatLookAlikeAreRefusedAndAllListed(t *testing.T) {
	t.Parallel()
	got := problems(t, seatplan.CSV, csvHeader+
		"Stalls,A,1,P,,,\n"+
		"Stalls,A,1,P,,,\n"+ // the same key
		"Stalls, A ,1,P,,,\n"+ // … once it is trimmed
		"Stalls-A,,1,P,,,\n"+ // another key, the same label
		"stalls,a,1,P,,,\n"+ // but for case
		"Stalls,\uff21,1,P,,,\n"+ // but for Unicode form: a fullwidth A
		"Stalls,A,\u20601,P,,,\n"+ // but for an invisible character
		"Café,,1,P,,,\n"+
		"Cafe\u0301,,1,P,,,\n"+ // the same in NFC
		"STRASSE,,1,P,,,\n"+
		"Straße,,1,P,,,\n"+
		"Bal  cony,,1,P,,,\n"+
		"Bal cony,,1,P,,,\n"+
		"Stalls,A,01,P,,,\n", // this one is another seat
		seatplan.Options{})
	wantStrings(t, "problems", got, []string{
		`line 3: the seat "Stalls-A-1" is here again; it was first at line 2`,
		`line 4: the seat "Stalls-A-1" is here again; it was first at line 2`,
		`line 5: section "Stalls-A", row "", seat "1" has the label "Stalls-A-1" of section "Stalls", row "A", seat "1" at line 2`,
		`line 6: the seat "stalls-a-1" differs from "Stalls-A-1" at line 2 only in case, spacing or Unicode form`,
		"line 7: the seat \"Stalls-\uff21-1\" differs from \"Stalls-A-1\" at line 2 only in case, spacing or Unicode form",
		`line 8: the seat "Stalls-A-\u20601" differs from "Stalls-A-1" at line 2 only in case, spacing or Unicode form`,
		`line 10: the seat "Café-1" is here again; it was first at line 9`,
		`line 12: the seat "Straße-1" differs from "STRASSE-1" at line 11 only in case, spacing or Unicode form`,
		`line 14: the seat "Bal cony-1" differs from "Bal  cony-1" at line 13 only in case, spacing or Unicode form`,
	})
}

func TestRenamedDuplicatesAreUniqueAndWarnedOf(t *testing.T) {
	t.Parallel()
	plan, warnings := readOpts(t, seatplan.CSV, csvHeader+
		"S,A,12,P,,,\n"+
		"S,A,12,P,,,\n"+
		"S,A,12,P,,,\n"+
		"S,a,12,P,,,\n"+
		"S,A,12_2,P,,,\n"+ // stands later and still keeps its own name
		"S,A,12_3,P,,,\n"+
		"S,A,12_3,P,,,\n"+
		"Floor,,10,P,,,area\n"+
		"floor,,20,P,,,area\n",
		seatplan.Options{RenameDuplicates: true})
	wantStrings(t, "labels", labels(plan), []string{"S-A-12", "S-A-12_4", "S-A-12_5", "S-a-12_6", "S-A-12_2", "S-A-12_3", "S-A-12_3_2"})
	if a, b := plan.Areas[0].Name, plan.Areas[1].Name; a != "Floor" || b != "floor_2" {
		t.Errorf("areas %q and %q", a, b)
	}
	wantStrings(t, "warnings", messages(warnings), []string{
		`line 3: the seat "S-A-12" is here again; it was first at line 2; imported as "S-A-12_4"`,
		`line 4: the seat "S-A-12" is here again; it was first at line 2; imported as "S-A-12_5"`,
		`line 5: the seat "S-a-12" differs from "S-A-12" at line 2 only in case, spacing or Unicode form; imported as "S-a-12_6"`,
		`line 8: the seat "S-A-12_3" is here again; it was first at line 7; imported as "S-A-12_3_2"`,
		`line 10: the area "floor" is here again; it was first at line 9; imported as "floor_2"`,
	})
}

func TestNamesOfAnyScriptSurvive(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"Ложа", "桟敷席", "שורה", "صف", "भवन", "Cà phê", "👩‍👩‍👧", "Ĳ", "Łódź", "Ångström-Saal",
	} {
		plan := read(t, seatplan.CSV, csvHeader+name+","+name+","+name+","+name+",,,\n")
		if s := plan.Seats[0]; s.Section != name || s.Label != name+"-"+name+"-"+name || plan.Categories[0].Name != name {
			t.Errorf("%q became %+v", name, s)
		}
	}
}

func TestTextThatCannotBeANameIsRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ö", 64)
	read(t, seatplan.CSV, csvHeader+long+",A,1,P,,,\n")
	got := problems(t, seatplan.Rowlock, `{"categories":[{"name":"P"}],"sections":[{"name":"S","rows":[{"name":"A","category":"P","seats":[
		{"seat":"1\u0000"},{"seat":"2\u0007x"},{"seat":"\ud800"},{"seat":"`+long+`x"},{"seat":"a\u2028b"},{"seat":"\u200b"},{"seat":" "},{},{"seat":"?"},{"seat":null},{"seat":true}]}]}]}`,
		seatplan.Options{})
	const row = "sections[0].rows[0].seats"
	wantStrings(t, "problems", got, []string{
		row + "[0].seat: the text holds the control character U+0000",
		row + "[1].seat: the text holds the control character U+0007",
		row + "[2].seat: the text holds U+FFFD, which stands for characters that were lost",
		row + "[3].seat: the text is longer than 64 characters",
		row + "[4].seat: the text holds the control character U+2028",
		row + "[10].seat: this must be text and is true or false",
		row + "[0]: the seat has no number or letter",
		row + "[1]: the seat has no number or letter",
		row + "[2]: the seat has no number or letter",
		row + "[3]: the seat has no number or letter",
		row + "[4]: the seat has no number or letter",
		row + "[5]: the seat has no number or letter",
		row + "[6]: the seat has no number or letter",
		row + "[7]: the seat has no number or letter",
		row + `[8]: "?" stands for a name that was never given`,
		row + "[9]: the seat has no number or letter",
		row + "[10]: the seat has no number or letter",
	})
}

func TestTextThatIsNotUTF8IsRefusedWhereverReadsAreCut(t *testing.T) {
	t.Parallel()
	document := csvHeader + "Parkett,A,1,Ränge,,,\n" + "R\xe4nge,A,1,P,,,\n"
	for name, r := range map[string]io.Reader{
		"whole":     strings.NewReader(document),
		"by byte":   iotest.OneByteReader(strings.NewReader(document)),
		"with data": iotest.DataErrReader(strings.NewReader(document)),
	} {
		_, _, err := seatplan.Read(t.Context(), seatplan.CSV, r, seatplan.Options{})
		want := fmt.Sprintf("the plan has a problem: line 3: the text is not valid UTF-8 at byte %d", strings.IndexByte(document, '\xe4'))
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	for _, tail := range []string{"\xc3", "\xe2\x82", "\xf0\x9f\x98"} {
		if list := problems(t, seatplan.CSV, csvHeader+"S,A,1,P"+tail, seatplan.Options{}); !strings.Contains(list[0], "not valid UTF-8") {
			t.Errorf("%q at the end: %s", tail, list)
		}
	}
	euro := strings.Repeat("€", 30_000) // characters that lie across the ends of reads
	plan := read(t, seatplan.Rowlock, `{"drawing":[{"kind":"text","text":"`+euro+`","x":0,"y":0}],"categories":[{"name":"P"}],"areas":[{"name":"€","category":"P","capacity":1}]}`)
	if plan.Areas[0].Name != "€" || strings.Trim(plan.Drawing[0].Text, "€") != "" {
		t.Errorf("%+v", plan)
	}
}

func TestAnUnreadableDocumentSaysWhereItBreaks(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 100_000)
	for _, c := range []struct {
		format         seatplan.Format
		document, want string
	}{
		{seatplan.Rowlock, ``, "$: the document ends in the middle, after 0 bytes"},
		{seatplan.Rowlock, `{"name":"x"`, "$: the document ends in the middle, after 11 bytes"},
		{seatplan.Rowlock, `{"sections":[{"rows":[{"seats":[{"seat":"1`, "sections[0].rows[0].seats[0].seat: the document ends in the middle, after 40 bytes"},
		{seatplan.Rowlock, `{"name":"x",}`, "$: the JSON is broken near byte 12: invalid character '}'"},
		{seatplan.Rowlock, `{"name":nul}`, "name: the JSON is broken near byte 10: invalid character '}' in literal null (expecting 'l')"},
		{seatplan.Rowlock, `{"areas":[{"name":"x" "capacity":1}]}`, "areas[0]: the JSON is broken near byte 22: invalid character '\"' after object key:value pair"},
		{seatplan.Rowlock, `{"name":"x"} {"name":"y"}`, "$: there is more text behind the end of the document"},
		{seatplan.Rowlock, `{"name":"x"}]`, "$: the JSON is broken near byte 12: invalid character ']' looking for beginning of value"},
		{seatplan.Rowlock, "{\"name\":\"a\nb\"}", `name: the JSON is broken near byte 9: invalid character '\n' in string literal`},
		{seatplan.Pretix, `{"zones":` + deep, "zones[0]: the document is nested deeper than 64 levels"},
		{seatplan.Pretix, `{"what":` + deep, "what: the document is nested deeper than 64 levels"},
		{seatplan.CSV, ``, "$: the document is empty"},
		{seatplan.CSV, csvHeader + "S,A,\"1,P,,,\nS,A,2,P,,,\n", `line 3: the CSV is broken at column 12: extraneous or missing " in quoted-field`},
		{seatplan.CSV, csvHeader + "S,A\"1,P,,,\n", `line 2: the CSV is broken at column 4: bare " in non-quoted-field`},
	} {
		list := problems(t, c.format, c.document, seatplan.Options{})
		if last := list[len(list)-1]; !strings.HasPrefix(last, c.want) {
			t.Errorf("%.60s\n got %s\nwant %s", c.document, last, c.want)
		}
	}
}

func TestTheWrongFormatIsNamed(t *testing.T) {
	t.Parallel()
	documents := map[string]string{
		"pretix":                         `{"name":"x","categories":[],"zones":[{"rows":[]}]}`,
		"seatsio":                        `{"name":"x","subChart":{"rows":[]}}`,
		"csv":                            csvHeader + "S,A,1,,,,\n",
		"rowlock":                        `{"sections":[{"name":"S","rows":[{"seats":[{"seat":"1"}]}]}]}`,
		"XML, SVG or HTML":               `<svg xmlns="http://www.w3.org/2000/svg"/>`,
		"a JSON array":                   `[{"seat":"1"}]`,
		"UTF-16 text (save it as UTF-8)": "\xff\xfes\x00e\x00c\x00",
		"a spreadsheet or ZIP archive (export it as CSV)": "PK\x03\x04",
	}
	for _, format := range []seatplan.Format{seatplan.Pretix, seatplan.Seatsio, seatplan.CSV, seatplan.Rowlock} {
		for looks, document := range documents {
			list := problems(t, format, document, seatplan.Options{})
			want := fmt.Sprintf("$: the document looks like %s, but was sent as %s", looks, format)
			if told := list[0] == want; told == (looks == string(format)) {
				t.Errorf("%s sent as %s: %s", looks, format, list)
			}
		}
	}
	if _, _, err := seatplan.Read(t.Context(), "xls", strings.NewReader(""), seatplan.Options{}); err == nil {
		t.Error("a format that does not exist was read")
	}
}

func TestTheListOfProblemsIsBounded(t *testing.T) {
	t.Parallel()
	_, _, err := seatplan.Read(t.Context(), seatplan.CSV, strings.NewReader(csvHeader+strings.Repeat("S,A,1,P,,,\n", 5001)), seatplan.Options{})
	var refused *seatplan.Problems
	if !errors.As(err, &refused) || refused.Total != 5000 || len(refused.List) != 1000 {
		t.Fatalf("%v", err)
	}
	if want := "the plan has 5000 problems: line 3: "; !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), "; and 4995 more") {
		t.Errorf("%v", err)
	}
	_, warnings := readOpts(t, seatplan.CSV, csvHeader+strings.Repeat("S,A,1,P,,,\n", 5001), seatplan.Options{RenameDuplicates: true})
	if last := warnings[len(warnings)-1]; len(warnings) != 1001 || last.Message != "and 4000 more warnings" {
		t.Errorf("%d warnings, the last %v", len(warnings), last)
	}
}

func TestTooManySeatsAreRefusedOnce(t *testing.T) {
	t.Parallel()
	document := csvHeader + "S,A,1,P,,,\nS,A,2,P,,,\nS,A,3,P,,,\nS,A,4,P,,,\n"
	got := problems(t, seatplan.CSV, document, seatplan.Options{MaxSeats: 2})
	wantStrings(t, "problems", got, []string{"line 4: there are more than 2 seats"})
	if plan, _ := readOpts(t, seatplan.CSV, document, seatplan.Options{MaxSeats: 4}); len(plan.Seats) != 4 {
		t.Errorf("%d seats", len(plan.Seats))
	}
}

func TestLimitsAreTold(t *testing.T) {
	t.Parallel()
	list := func(n int, element string) string {
		return strings.TrimSuffix(strings.Repeat(element+",", n), ",")
	}
	numbered := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const area = `"categories":[{"name":"P"}],"areas":[{"name":"A","category":"P","capacity":1}]`
	for want, document := range map[string]string{
		"areas[10000]: there are more than 10000 areas": `{"categories":[{"name":"P"}],"areas":[` +
			numbered(10_001, `{"name":"A%d","category":"P","capacity":1}`) + `]}`,
		"categories[1000]: there are more than 1000 categories":        `{"categories":[` + numbered(1_001, `{"name":"P%d"}`) + `]}`,
		"$: the object has more than 200 members":                      `{` + numbered(201, `"m%d":0`) + `}`,
		`categories[1].name: the text is longer than 64 characters`:    `{"categories":[{"name":"P"},{"name":"` + strings.Repeat("x", 65) + `"}],"areas":[]}`,
		`"a b": the format has no such member`:                         `{"a b":1,` + area + `}`,
		"categories[0].color: this must be text and is true or false":  `{"categories":[{"name":"P","color":true}],"areas":[{"name":"A","category":"P","capacity":1}]}`,
		"areas[0].x: the number is not between -10000000 and 10000000": `{"categories":[{"name":"P"}],"areas":[{"name":"A","category":"P","capacity":1,"x":1e8,"y":1}]}`,
		"name: the text is longer than 200 characters":                 `{"name":"` + strings.Repeat("x", 201) + `",` + area + `}`,
	} {
		got := problems(t, seatplan.Rowlock, document, seatplan.Options{})
		if !slices.Contains(got, want) {
			t.Errorf("%.200s\nwant %s", got, want)
		}
	}

	plan, warnings := readOpts(t, seatplan.Rowlock, `{`+area+`,"drawing":[`+list(20_002, `{"kind":"circle","x":1,"y":1,"width":2}`)+`]}`, seatplan.Options{})
	if len(plan.Drawing) != 20_000 || len(warnings) != 2 {
		t.Errorf("%d drawings, %v", len(plan.Drawing), warnings)
	}
	plan, warnings = readOpts(t, seatplan.Rowlock, `{`+area+`,"drawing":[{"kind":"polygon","points":[`+list(10_002, `{"x":1,"y":1}`)+`]}]}`, seatplan.Options{})
	if len(plan.Drawing[0].Points) != 10_000 {
		t.Errorf("%d points", len(plan.Drawing[0].Points))
	}
	wantStrings(t, "warnings", messages(warnings), []string{"drawing[].points[]: there are more than 10000 points; the rest are left out (2 times)"})
}

func TestPositionsThatAddUpToTooMuch(t *testing.T) {
	t.Parallel()
	const document = `{"name":"x","categories":[{"name":"P"}],"zones":[{"position":{"x":9e6,"y":0},"rows":[{"row_number":"A","position":{"x":%s,"y":0},"seats":[
		{"seat_number":"1","seat_guid":"g","position":{"x":0,"y":0},"category":"P"}]}],
		"areas":[{"shape":"circle","circle":{"radius":5},"position":{"x":9e6,"y":0}}]}]}`
	got := problems(t, seatplan.Pretix, fmt.Sprintf(document, "9e6"), seatplan.Options{})
	wantStrings(t, "problems", got, []string{"zones[0].rows[0].seats[0]: the position is too far from the origin"})
	plan, warnings := readOpts(t, seatplan.Pretix, fmt.Sprintf(document, "0"), seatplan.Options{})
	wantStrings(t, "warnings", messages(warnings), []string{"$: 1 of the drawings are too far from the origin or too large and are left out"})
	roundTrip(t, plan)
}

func TestAFailingReaderIsNoProblemOfTheDocument(t *testing.T) {
	t.Parallel()
	lost := errors.New("connection lost")
	for _, format := range []seatplan.Format{seatplan.CSV, seatplan.Rowlock, seatplan.Pretix, seatplan.Seatsio} {
		r := io.MultiReader(strings.NewReader("{"+strings.Repeat(" ", 100_000)), iotest.ErrReader(lost))
		_, _, err := seatplan.Read(t.Context(), format, r, seatplan.Options{})
		var refused *seatplan.Problems
		if !errors.Is(err, lost) || errors.As(err, &refused) {
			t.Errorf("%s: %v", format, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := seatplan.Read(ctx, format, strings.NewReader("{}"), seatplan.Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", format, err)
		}
	}
}

func TestRealManifests(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ seats, sections, rows, categories, problems int }{
		"seatsio-sample-32.csv":          {32, 1, 4, 2, 0},
		"seatsio-errors-32.csv":          {problems: 3},
		"seatsio-sections-71.csv":        {71, 2, 13, 2, 0},
		"seatsio-race-track-8897.csv":    {8897, 4, 131, 2, 0},
		"pretix-arena-738-repeated.csv":  {problems: 738 - 318},
		"ttm-playhouse-347.csv":          {347, 8, 40, 2, 0},
		"ttm-concert-hall-1867.csv":      {1867, 7, 108, 2, 0},
		"metalist1925-dynamo-4226.csv":   {4226, 8, 152, 1, 0},
		"metalist1925-stadium-39616.csv": {39616, 58, 1453, 4, 0},
		"aircraft-ek-77w-421.csv":        {421, 2, 47, 2, 0},
		"svg-amazing-venue-152.csv":      {problems: 152},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, _, err := seatplan.Read(t.Context(), seatplan.CSV, realFile(t, "manifests/"+name), seatplan.Options{})
			if want.problems > 0 {
				var refused *seatplan.Problems
				if !errors.As(err, &refused) || refused.Total != want.problems || len(refused.List) != want.problems {
					t.Fatalf("want %d problems: %v", want.problems, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			sections, rows := map[string]bool{}, map[[2]string]bool{}
			for _, s := range plan.Seats {
				sections[s.Section] = true
				rows[[2]string{s.Section, s.Row}] = true
			}
			if len(plan.Seats) != want.seats || len(sections) != want.sections || len(rows) != want.rows || len(plan.Categories) != want.categories {
				t.Errorf("%d seats, %d sections, %d rows, %d categories", len(plan.Seats), len(sections), len(rows), len(plan.Categories))
			}
			roundTrip(t, plan)
		})
	}
}

func TestRealFilesOfOtherSystemsAreRefusedByEveryReader(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"theater-ticket-manager/playhouse-347.json", "theater-ticket-manager/concert-hall-1867.json",
		"metalist1925/stadium-39616.json", "metalist1925/dynamo-4226.json",
		"aircraft/ek-77w-421.json", "svg/amazing-venue.svg",
	} {
		for _, format := range []seatplan.Format{seatplan.Pretix, seatplan.Seatsio, seatplan.CSV, seatplan.Rowlock} {
			_, _, err := seatplan.Read(t.Context(), format, realFile(t, name), seatplan.Options{})
			var refused *seatplan.Problems
			if !errors.As(err, &refused) {
				t.Errorf("%s as %s: %v", name, format, err)
			}
		}
	}
}

// roundTrip holds WriteRowlock to its word.
func roundTrip(t *testing.T, plan *boxoffice.Plan) {
	t.Helper()
	var out bytes.Buffer
	if err := seatplan.WriteRowlock(&out, plan); err != nil {
		t.Fatal(err)
	}
	again, warnings, err := seatplan.Read(t.Context(), seatplan.Rowlock, bytes.NewReader(out.Bytes()), seatplan.Options{MaxSeats: len(plan.Seats) + 1})
	if err != nil {
		t.Fatalf("what was written is refused: %v\n%.2000s", err, out.String())
	}
	if len(warnings) > 0 && strings.Contains(warnings[0].Message, "left out") {
		t.Errorf("%v", warnings)
	}
	if !reflect.DeepEqual(plan, again) {
		t.Errorf("written and read again, the plan differs:\n%.2000s", out.String())
	}
}
