package tickets_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"github.com/rowlock/rowlock/internal/tickets"
)

func ticket(t testing.TB) tickets.Ticket {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return tickets.Ticket{
		ID: claims.TicketID, Code: code1,
		Event: "A Midsummer Night’s Dream", Venue: "Theater am Fluss", Hall: "Großer Saal",
		Starts:  time.Date(2026, 11, 28, 19, 30, 0, 0, berlin),
		Doors:   time.Date(2026, 11, 28, 18, 45, 0, 0, berlin),
		Section: "Stalls", Row: "C", Seat: "12",
		Type: "Adult", PriceMinor: 5400, Currency: "EUR",
		Holder: "Zoë O’Neill", Reference: "K7QX2M",
	}
}

// sheet is a PDF as a test reads it.
type sheet struct {
	raw   []byte
	pages []string // what is drawn on each
	// What the text of each page says, one entry for each line of it, as a
	// reader copies it.
	lines [][]string
}

func pdf(t testing.TB, doc tickets.Document) sheet {
	t.Helper()
	var b bytes.Buffer
	if err := tickets.PDF(t.Context(), &b, doc); err != nil {
		t.Fatal(err)
	}
	s := sheet{raw: b.Bytes()}
	objects := map[string]string{}
	for _, o := range regexp.MustCompile(`(?s)(\d+) 0 obj\n(.*?)\nendobj\n`).FindAllSubmatch(s.raw, -1) {
		objects[string(o[1])] = string(o[2])
	}
	stream := func(object string) string {
		_, packed, found := strings.Cut(objects[object], "stream\n")
		if !found {
			t.Fatalf("object %s has no stream", object)
		}
		z, err := zlib.NewReader(strings.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	says := map[string]map[string]string{} // font → glyph → text
	for _, f := range regexp.MustCompile(`/(F\d+) (\d+) 0 R`).FindAllStringSubmatch(objects["3"], -1) {
		says[f[1]] = map[string]string{}
		for _, m := range regexp.MustCompile(`<(\w{4})><(\w*)>`).FindAllStringSubmatch(stream(reference(objects[f[2]], "ToUnicode")), -1) {
			says[f[1]][m[1]] = text(t, m[2])
		}
	}
	for _, o := range regexp.MustCompile(`\d+`).FindAllString(regexp.MustCompile(`Kids\[(.*)\]`).FindStringSubmatch(objects["2"])[1], -1) {
		if objects[o] == "" {
			continue // the 0 of a reference
		}
		page := stream(reference(objects[o], "Contents"))
		s.pages = append(s.pages, page)
		var lines []string
		for _, block := range regexp.MustCompile(`(?s)BT\n(.*?)ET\n`).FindAllStringSubmatch(page, -1) {
			var line strings.Builder
			font, actual := "", false
			for _, op := range regexp.MustCompile(`/(F\d+) |<FEFF(\w*)>|EMC|<(\w{4})>`).FindAllStringSubmatch(block[1], -1) {
				switch {
				case op[1] != "":
					font = op[1]
				case op[0] == "EMC":
					actual = false
				case op[2] != "":
					line.WriteString(text(t, op[2]))
					actual = true
				case !actual:
					line.WriteString(says[font][op[3]])
				}
				if op[3] == "0000" {
					t.Errorf("the sign for a missing one is drawn in %s", line.String())
				}
			}
			lines = append(lines, line.String())
		}
		s.lines = append(s.lines, lines)
	}
	return s
}

func reference(object, name string) string {
	return regexp.MustCompile(`/` + name + ` (\d+) 0 R`).FindStringSubmatch(object)[1]
}

func text(t testing.TB, utf16Hex string) string {
	t.Helper()
	b, err := hex.DecodeString(utf16Hex)
	if err != nil {
		t.Fatal(err)
	}
	var units []uint16
	for i := 0; i+1 < len(b); i += 2 {
		units = append(units, uint16(b[i])<<8|uint16(b[i+1]))
	}
	return string(utf16.Decode(units))
}

// letters are a text's, in an order that does not depend on where on the line
// they are drawn, and without the spaces at which lines end.
func letters(text string) string {
	var all []rune
	for _, r := range norm.NFC.String(text) {
		if !unicode.IsSpace(r) {
			all = append(all, r)
		}
	}
	slices.Sort(all)
	return string(all)
}

func TestEverythingThatATicketSaysIsOnIt(t *testing.T) {
	t.Parallel()
	s := pdf(t, tickets.Document{Language: "en", Tickets: []tickets.Ticket{ticket(t), ticket(t)}})
	for _, want := range []string{
		"A Midsummer", "Night’s Dream", "Theater am Fluss · Großer Saal", "Saturday, 28 November 2026", "19:30", "Doors 18:45 · CET (Europe/Berlin)",
		"SECTION", "Stalls", "ROW", "C", "SEAT", "12", "NAME", "Zoë O’Neill", "TICKET", "Adult", "54.00 EUR", "BOOKING", "K7QX2M",
		"Ticket 1 of 2", "Ticket 2 of 2", "0197a2b4-3c5d-7e6f-8a9b-0c1d2e3f4a5b", "ADMIT ONE",
	} {
		if !slices.ContainsFunc(s.lines[0], func(l string) bool { return strings.TrimSpace(l) == want }) {
			t.Errorf("%q is not on it: %q", want, s.lines[0])
		}
	}
	for _, want := range []string{"/Lang <FEFF0065006E>", "/DisplayDocTitle true", "/Title <FEFF00410020004D006900640073"} {
		if !bytes.Contains(s.raw, []byte(want)) {
			t.Errorf("the document has no %s", want)
		}
	}
}

func TestANameInAnyScriptIsPrintedAndCanBeCopied(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"李小龍", "Nguyễn Thị Ánh", "محمد عبد الرحمن", "שלום בן־דוד", "हिन्दी क्षत्रिय", "ไทย น้ำ", "한국어 김민준", "Zoe\u0308 O'Brien", "😀 👩‍👩‍👧 🇩🇪", "𝓑𝓸𝓫 ★ ♪",
		"⺐ and ⼪", // one glyph for two signs
		strings.Repeat("Ab ", 66) + "de", strings.Repeat("W", 200), strings.Repeat("龍", 200), strings.Repeat("م", 200),
	} {
		one := ticket(t)
		one.Holder = name
		s := pdf(t, tickets.Document{Language: "en", Tickets: []tickets.Ticket{one}})
		at := slices.Index(s.lines[0], "NAME")
		end := slices.Index(s.lines[0], "TICKET")
		if at < 0 || end < at {
			t.Fatalf("%q", s.lines[0])
		}
		if got := strings.Join(s.lines[0][at+1:end], ""); letters(got) != letters(name) {
			t.Errorf("%s is printed as %s", name, got)
		}
	}
}

func TestNoNameIsDrawnOverTheRestOfTheTicket(t *testing.T) {
	t.Parallel()
	one := ticket(t)
	one.Holder = "Z" + strings.Repeat("\u0311\u0324", 90)
	page := pdf(t, tickets.Document{Tickets: []tickets.Ticket{one}}).pages[0]
	// All but the text along the edge, which is ours, are drawn in a window.
	if texts, windows := strings.Count(page, "BT\n"), strings.Count(page, " re W n\n"); windows < texts-2 {
		t.Errorf("%d lines in %d windows", texts, windows)
	}
}

func TestACutTextIsStillCopiedWhole(t *testing.T) {
	t.Parallel()
	one := ticket(t)
	one.Holder = strings.Repeat("Very long ", 200)
	s := pdf(t, tickets.Document{Language: "en", Tickets: []tickets.Ticket{one}})
	at, end := slices.Index(s.lines[0], "NAME"), slices.Index(s.lines[0], "TICKET")
	if got := strings.Join(s.lines[0][at+1:end], ""); letters(got) != letters(one.Holder) {
		t.Errorf("copied: %s", got)
	}
}

func TestTheSheetSpeaksTheLanguageAndIsMirroredForArabic(t *testing.T) {
	t.Parallel()
	german := pdf(t, tickets.Document{Language: "de", Tickets: []tickets.Ticket{ticket(t)}})
	for _, want := range []string{"REIHE", "54,00 EUR", "Samstag, 28. November 2026"} {
		if !slices.Contains(german.lines[0], want) {
			t.Errorf("%q is not on the German one: %q", want, german.lines[0])
		}
	}
	arabic := pdf(t, tickets.Document{Language: "ar", Tickets: []tickets.Ticket{ticket(t)}})
	if !slices.ContainsFunc(arabic.lines[0], func(l string) bool { return letters(l) == letters("السبت، 28 نوفمبر 2026") }) {
		t.Errorf("the date is not on the Arabic one: %q", arabic.lines[0])
	}
	for _, m := range regexp.MustCompile(` 1 0 0 1 (\S+) \S+ Tm`).FindAllStringSubmatch(arabic.pages[0], -1) {
		if x, err := strconv.ParseFloat(m[1], 64); err != nil || x < 30 || x > 500 {
			t.Errorf("a line begins at %s points", m[1])
		}
	}
	if qrLeft(t, german.pages[0]) < 300 || qrLeft(t, arabic.pages[0]) > 300 {
		t.Errorf("the codes are at %v and %v points", qrLeft(t, german.pages[0]), qrLeft(t, arabic.pages[0]))
	}
}

// qrLeft is how far from the left of the page its first QR code is, in points.
func qrLeft(t *testing.T, page string) float64 {
	t.Helper()
	m := regexp.MustCompile(`q [\d.]+ 0 0 -[\d.]+ ([\d.]+) [\d.]+ cm`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("there is no QR code")
	}
	left, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return left
}

func TestTheQRCodeOnPaperIsTheOneOnTheScreen(t *testing.T) {
	t.Parallel()
	page := pdf(t, tickets.Document{Tickets: []tickets.Ticket{ticket(t)}}).pages[0]
	svg, err := tickets.QRSVG(code1, "")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, m := range regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1`).FindAllStringSubmatch(string(svg), -1) {
		x, _ := strconv.Atoi(m[1])
		y, _ := strconv.Atoi(m[2])
		fmt.Fprintf(&want, "%d %d %s 1 re\n", x-4, y-4, m[3])
	}
	if want.Len() == 0 || !strings.Contains(page, want.String()) {
		t.Error("it is another one")
	}
}

func TestTwoTicketsAreOnAPage(t *testing.T) {
	t.Parallel()
	for n, pages := range map[int]int{1: 1, 2: 1, 3: 2, 5: 3} {
		if s := pdf(t, tickets.Document{Tickets: slices.Repeat([]tickets.Ticket{ticket(t)}, n)}); len(s.pages) != pages {
			t.Errorf("%d tickets are on %d pages", n, len(s.pages))
		}
	}
}

func TestATicketOfWhichLittleIsKnownIsPrintedAllTheSame(t *testing.T) {
	t.Parallel()
	s := pdf(t, tickets.Document{Tickets: []tickets.Ticket{{ID: uuid.Max, Code: code1, Area: "Standing", Starts: time.Unix(0, 0).UTC()}}})
	for _, label := range []string{"ROW", "SEAT", "NAME", "TICKET", "BOOKING"} {
		if slices.Contains(s.lines[0], label) {
			t.Errorf("%s stands there for nothing", label)
		}
	}
	for _, want := range []string{"AREA", "Standing", "00:00", "UTC"} {
		if !slices.Contains(s.lines[0], want) {
			t.Errorf("%s is not there: %q", want, s.lines[0])
		}
	}
}

func TestAZoneWithoutANameIsAnOffset(t *testing.T) {
	t.Parallel()
	dubai, err := time.LoadLocation("Asia/Dubai")
	if err != nil {
		t.Fatal(err)
	}
	one := ticket(t)
	one.Starts, one.Doors = one.Starts.In(dubai), time.Time{}
	if s := pdf(t, tickets.Document{Tickets: []tickets.Ticket{one}}); !slices.Contains(s.lines[0], "UTC+04:00 (Asia/Dubai)") {
		t.Errorf("%q", s.lines[0])
	}
}

func TestTheTableOfObjectsIsRight(t *testing.T) {
	t.Parallel()
	raw := pdf(t, tickets.Document{Tickets: []tickets.Ticket{ticket(t)}}).raw
	start := regexp.MustCompile(`startxref\n(\d+)\n%%EOF\n$`).FindSubmatch(raw)
	if start == nil {
		t.Fatal("the end is missing")
	}
	at, _ := strconv.Atoi(string(start[1]))
	entries := regexp.MustCompile(`(\d{10}) 00000 n `).FindAllSubmatch(raw[at:], -1)
	if len(entries) < 5 {
		t.Fatalf("%d objects", len(entries))
	}
	for i, e := range entries {
		offset, _ := strconv.Atoi(string(e[1]))
		if want := fmt.Sprintf("%d 0 obj\n", i+1); !bytes.HasPrefix(raw[offset:], []byte(want)) {
			t.Errorf("object %d is not at %d", i+1, offset)
		}
	}
}

func TestTheSameTicketsMakeTheSameFileHoweverManyAskAtOnce(t *testing.T) {
	t.Parallel()
	one := ticket(t)
	one.Holder = "李小龍 محمد हिन्दी 😀"
	doc := tickets.Document{Tickets: []tickets.Ticket{one}}
	want := pdf(t, doc).raw
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			var b bytes.Buffer
			if err := tickets.PDF(t.Context(), &b, doc); err != nil || !bytes.Equal(b.Bytes(), want) {
				t.Errorf("another file, or %v", err)
			}
		})
	}
	all.Wait()
}

type broken struct{}

var errBroken = errors.New("the line is dead")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestAReaderThatGoesAwayIsTold(t *testing.T) {
	t.Parallel()
	if err := tickets.PDF(t.Context(), broken{}, tickets.Document{Tickets: []tickets.Ticket{ticket(t)}}); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
}

// FuzzPDF looks for a name that cannot be printed.
func FuzzPDF(f *testing.F) {
	for _, name := range []string{"Zoe\u0308", "محمد (Mo) 123", "क्ष", "👩‍👩‍👧", "\u202e\u2066", "\xff", "𓀀"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		one := ticket(t)
		one.Event, one.Holder, one.Row = name, name, name
		pdf(t, tickets.Document{Language: "ar", Tickets: []tickets.Ticket{one}})
	})
}

func BenchmarkPDF(b *testing.B) {
	doc := tickets.Document{Language: "en", Tickets: slices.Repeat([]tickets.Ticket{ticket(b)}, 5)}
	doc.Tickets[1].Holder = "李小龍"
	doc.Tickets[2].Holder = "محمد عبد الرحمن"
	var file bytes.Buffer
	for b.Loop() {
		file.Reset()
		if err := tickets.PDF(b.Context(), &file, doc); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(file.Len()), "bytes/file")
}

// impatient is somebody who leaves after so many looks at whether they have.
type impatient struct {
	context.Context
	looks *int
}

func (c impatient) Err() error {
	if *c.looks--; *c.looks < 0 {
		return context.Canceled
	}
	return nil
}

func TestNoFurtherPageIsMadeForWhoHasLeft(t *testing.T) {
	t.Parallel()
	looks := 3
	var b bytes.Buffer
	err := tickets.PDF(impatient{t.Context(), &looks}, &b, tickets.Document{Tickets: slices.Repeat([]tickets.Ticket{ticket(t)}, 100)})
	if !errors.Is(err, context.Canceled) || looks != -1 || b.Len() != 0 {
		t.Errorf("%v, %d looks after leaving, %d bytes", err, -1-looks, b.Len())
	}
}

func TestAPartSaysWhichTicketsOfAllItHas(t *testing.T) {
	t.Parallel()
	s := pdf(t, tickets.Document{Tickets: slices.Repeat([]tickets.Ticket{ticket(t)}, 3), First: 201, Of: 250})
	for i, want := range []string{"Ticket 201 of 250", "Ticket 202 of 250", "Ticket 203 of 250"} {
		if !slices.Contains(s.lines[i/2], want) {
			t.Errorf("page %d does not say %q: %q", i/2+1, want, s.lines[i/2])
		}
	}
}
