package tickets

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-text/typesetting/di"
	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
	"golang.org/x/text/unicode/norm"
)

// names are what people are called, and what has gone wrong elsewhere.
var names = []string{
	"李小龍", "Nguyễn Thị Ánh", "محمد عبد الرحمن الخطيب", "שלום בן־דוד", "हिन्दी क्षत्रिय श्री", "ไทย น้ำ ปู่", "한국어 김민준", "Zoe\u0308 O'Brien-O’Neill",
	"😀 Party 🎉 👩‍👩‍👧 👍🏽 🇩🇪", strings.Repeat("Wolfeschlegelsteinhausen", 8) + "Mr Smith", strings.Repeat("W", 200), strings.Repeat("龍", 200),
	"𠮷田 髙橋 さくら カタカナ", "தமிழ் செல்வி", "বাংলা শ্রী", "ქართული Հայերեն", "Ελληνικά Русский Ґалаґан", "ལྷ་ས། བསྟན་འཛིན", "မြန်မာ ကျော်", "ខ្មែរ ស្រី",
	"አማርኛ", "محمد (Mo) 123", "Mo محمد ٣، ٤", "𝓑𝓸𝓫 ★ ❤ ♪", "ਗੁਰਮੁਖੀ ગુજરાતી ଓଡ଼ିଆ తెలుగు ಕನ್ನಡ മലയാളം සිංහල", "ລາວ ދިވެހި ᏣᎳᎩ ⵜⴰⵎⴰⵣⵉⵖⵜ ߒߞߏ", "Þórður Łukasz Ğ Ș Ŵ Ơ",
}

func TestEveryFontIsReadable(t *testing.T) {
	t.Parallel()
	for file, load := range typefaces {
		tf := load()
		if tf.name == "" || len(tf.tables["glyf"]) == 0 {
			t.Errorf("%s: %q, %d bytes of outlines", file, tf.name, len(tf.tables["glyf"]))
		}
	}
	for _, file := range append([]string{sans, semibold, serif}, others...) {
		if typefaces[file] == nil {
			t.Errorf("there is no font %s", file)
		}
	}
}

func TestASubsetHasTheOutlinesThatItNeedsAndNoOthers(t *testing.T) {
	t.Parallel()
	composites := 0
	for file, load := range typefaces {
		tf := load()
		glyphs := int(binary.BigEndian.Uint16(tf.tables["maxp"][4:]))
		// The last composite glyph has the most to lose: parts of all sorts.
		wanted, parts := glyphs/2, []int(nil)
		for gid := range glyphs {
			if p := components(outline(tf.tables, gid)); p != nil {
				wanted, parts = gid, p
			}
		}
		if parts != nil {
			composites++
		}
		loader, err := opentype.NewLoader(bytes.NewReader(tf.subset(map[font.GID]bool{font.GID(wanted): true})))
		if err != nil {
			t.Fatal(err)
		}
		tables := map[string][]byte{}
		for _, tag := range loader.Tables() {
			if tables[tag.String()], err = loader.RawTable(tag); err != nil {
				t.Fatal(err)
			}
		}
		count, size := int(binary.BigEndian.Uint16(tables["maxp"][4:])), 0
		for gid := range count {
			size += len(outline(tables, gid))
		}
		for _, gid := range append(parts, wanted, 0) {
			if got, want := outline(tables, gid), outline(tf.tables, gid); !bytes.HasPrefix(got, want) {
				t.Errorf("%s: glyph %d of %d is %d bytes, want %d", file, gid, wanted, len(got), len(want))
			}
		}
		if len(tables["hmtx"]) < 2*count || size > 8000 {
			t.Errorf("%s: %d widths and %d bytes of outlines for %d glyphs", file, len(tables["hmtx"]), size, count)
		}
	}
	if composites < 10 {
		t.Errorf("only %d fonts had a composite glyph to try", composites)
	}
}

func TestEveryNameHasASignForEachOfItsLetters(t *testing.T) {
	t.Parallel()
	for _, style := range []string{sans, semibold, serif} {
		ts := newTypesetter("en", di.DirectionLTR)
		for _, name := range names {
			p := ts.shape(name, style, 0)
			if got, want := string(p.text), norm.NFC.String(name); got != want {
				t.Errorf("%q is set as %q", want, got)
			}
			for _, run := range p.runs {
				for _, g := range run.Glyphs {
					if g.GlyphID == 0 {
						t.Errorf("%s: %q has no sign in %s", name, p.text[g.TextIndex()], ts.named[run.Face].file)
					}
				}
			}
		}
	}
}

func TestArabicIsJoinedAndRunsFromRightToLeft(t *testing.T) {
	t.Parallel()
	ts := newTypesetter("en", di.DirectionLTR)
	p := ts.shape("محمد", sans, 0)
	if p.dir != di.DirectionRTL || len(p.runs) != 1 {
		t.Fatalf("direction %v, %d runs", p.dir, len(p.runs))
	}
	var order []int
	for _, g := range p.runs[0].Glyphs {
		order = append(order, g.TextIndex())
		if alone, _ := p.runs[0].Face.NominalGlyph(p.text[g.TextIndex()]); g.GlyphID == alone && g.TextIndex() != 3 {
			t.Errorf("letter %d stands alone", g.TextIndex())
		}
	}
	if !slices.Equal(order, []int{3, 2, 1, 0}) {
		t.Errorf("from left to right are the letters %v", order)
	}
}

func TestDevanagariFormsConjuncts(t *testing.T) {
	t.Parallel()
	p := newTypesetter("en", di.DirectionLTR).shape("क्ष", sans, 0)
	if n := len(p.runs[0].Glyphs); n != 1 {
		t.Errorf("three signs make %d glyphs, want 1", n)
	}
}

func TestAnEmojiSequenceIsOnePicture(t *testing.T) {
	t.Parallel()
	for _, sequence := range []string{"👩‍👩‍👧", "👍🏽", "🇩🇪"} {
		p := newTypesetter("en", di.DirectionLTR).shape(sequence, sans, 0)
		seen := 0
		for _, run := range p.runs {
			for _, g := range run.Glyphs {
				if g.GlyphID != font.EmptyGlyph && g.Width > 0 {
					seen++
				}
			}
		}
		if seen != 1 {
			t.Errorf("%s is %d pictures", sequence, seen)
		}
	}
}

func TestAMarkIsTakenFromTheFontOfItsLetter(t *testing.T) {
	t.Parallel()
	// The plain font has the accent too, but it would not know where to put it.
	p := newTypesetter("en", di.DirectionLTR).shape("ე\u0304", serif, 0)
	if len(p.runs) != 1 {
		t.Errorf("the letter and its mark are %d runs", len(p.runs))
	}
}

func TestSpacingTearsNoJoinedScript(t *testing.T) {
	t.Parallel()
	ts := newTypesetter("en", di.DirectionLTR)
	width := func(text string, spacing int) float64 {
		return ts.lines(ts.shape(text, semibold, spacing), 1e6, false, 0)[0].width
	}
	if width("محمد", 300) != width("محمد", 0) {
		t.Error("Arabic is torn")
	}
	if width("Name", 300) != width("Name", 0)+3*300 {
		t.Error("Latin is not spaced")
	}
}

func TestSpacesAreAsWideInEveryScript(t *testing.T) {
	t.Parallel()
	ts := newTypesetter("en", di.DirectionLTR)
	width := func(text string) float64 {
		return ts.lines(ts.shape(text, sans, 0), 1e6, false, 0)[0].width
	}
	for _, pair := range [][2]string{{"Zoe", "Bo"}, {"김", "민준"}, {"😀", "Bo"}, {"李", "小龍"}, {"محمد", "عبد"}} {
		if got := width(pair[0]+" "+pair[1]) - width(pair[0]) - width(pair[1]); got != space {
			t.Errorf("between %s and %s is %v", pair[0], pair[1], got)
		}
	}
}

// TestGlyphsAreDrawnWhereTheShaperPutsThem follows the pen over the page.
func TestGlyphsAreDrawnWhereTheShaperPutsThem(t *testing.T) {
	t.Parallel()
	type place struct {
		gid  font.GID
		x, y float64
	}
	const left, base, size = 50.0, 70.0, 20.0
	ts := newTypesetter("en", di.DirectionLTR)
	for _, name := range names {
		p := ts.shape(name, sans, 0)
		l := ts.lines(p, 1e7, false, 0)[0]
		var want []place
		x := left
		for _, run := range l.runs {
			for _, g := range run.Glyphs {
				if g.GlyphID != font.EmptyGlyph {
					want = append(want, place{g.GlyphID, x + float64(g.XOffset)/64/em*size, base + float64(g.YOffset)/64/em*size})
				}
				x += float64(g.Advance) / 64 / em * size
			}
		}

		d := newDocument()
		var content bytes.Buffer
		d.draw(&content, ts, p, l, left, base, size, false)
		var got []place
		var pen, line, rise float64
		var e *embedded
		number := func(s string) float64 {
			f, err := strconv.ParseFloat(s, 64)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		for _, op := range regexp.MustCompile(`/F(\d+) \S+ Tf|1 0 0 1 (\S+) (\S+) Tm|(\S+) Ts|\S+ Tr|\S+ w|<FEFF\w*>|<(\w{4})>|(-?[\d.]+)`).FindAllStringSubmatch(content.String(), -1) {
			switch {
			case op[1] != "":
				e = d.fonts[int(number(op[1]))]
			case op[2] != "":
				pen, line = number(op[2]), number(op[3])
			case op[4] != "":
				rise = number(op[4])
			case op[5] != "":
				gid, err := strconv.ParseUint(op[5], 16, 16)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, place{font.GID(gid), pen, line + rise})
				pen += float64(e.widths[font.GID(gid)]) / em * size
			case op[6] != "":
				pen -= number(op[6]) / em * size
			}
		}
		if len(got) != len(want) {
			t.Errorf("%.20s: %d glyphs are drawn of %d", name, len(got), len(want))
			continue
		}
		for i := range want {
			// Half a thousandth of the size is nothing to the eye.
			const eye = size / em
			if g, w := got[i], want[i]; g.gid != w.gid || math.Abs(g.x-w.x) > eye || math.Abs(g.y-w.y) > eye {
				t.Errorf("%.20s: glyph %d is %v, want %v", name, i, g, w)
				break
			}
		}
	}
}

func TestWhatNoFontHasIsWrittenOutAndTold(t *testing.T) {
	t.Parallel()
	ts := newTypesetter("en", di.DirectionLTR)
	for text, want := range map[string]string{
		"𓀀 Ptah":           "U+13000 Ptah",
		"a\tb\nc\u2028d":   "a b c d",
		"bell\a":           "bell",
		"Zoe\u0308":        "Zoë",
		"it's ok?":         "it's ok?",
		"\u202eevil\u2066": "\u202eevil\u2066",
	} {
		if got := string(ts.shape(text, sans, 0).text); got != want {
			t.Errorf("%q is set as %q, want %q", text, got, want)
		}
	}
}

func TestATextFitsItsBoxByWhateverIsNeeded(t *testing.T) {
	t.Parallel()
	const w, h, most, least = 160, 40, 13, 5
	ts := newTypesetter("en", di.DirectionLTR)
	for _, name := range append(names, strings.Repeat("A very long name ", 100), "") {
		p := ts.shape(name, semibold, 0)
		size, lines := ts.fit(p, w, h, most, least)
		if size < least || size > most {
			t.Errorf("%.20s: size %v", name, size)
		}
		if got := height(lines) * size / em; got > h {
			t.Errorf("%.20s: %v high", name, got)
		}
		for _, l := range lines {
			if got := l.width * size / em; got > w+0.01 {
				t.Errorf("%.20s: %v wide", name, got)
			}
		}
	}
}

func TestATowerOfMarksDoesNotPushItsLineAway(t *testing.T) {
	t.Parallel()
	ts := newTypesetter("en", di.DirectionLTR)
	l := ts.lines(ts.shape("Z"+strings.Repeat("\u0311\u0324", 90), sans, 0), 1e6, false, 0)[0]
	if l.ascent > 2000 || l.descent > 2000 {
		t.Errorf("the line is %v high and %v deep", l.ascent, l.descent)
	}
}

func TestALineBreakAtOneSizeIsForgottenAtTheNext(t *testing.T) {
	t.Parallel()
	ts := newTypesetter("en", di.DirectionLTR)
	p := ts.shape("Mary Jane", sans, 0)
	before := ts.lines(p, 1e6, false, 0)[0].width
	if n := len(ts.lines(p, 3000, false, 0)); n != 2 {
		t.Fatalf("%d lines, want 2", n)
	}
	if after := ts.lines(p, 1e6, false, 0)[0].width; after != before {
		t.Errorf("in one line again it is %v wide, was %v", after, before)
	}
}

func TestOnlyWhatDoesNotFitAtTheLeastSizeIsCut(t *testing.T) {
	t.Parallel()
	ts := newTypesetter("en", di.DirectionLTR)
	ellipsis, _ := ts.face(sans).NominalGlyph('…')
	cut := func(text string) bool {
		p := ts.shape(text, semibold, 0)
		_, lines := ts.fit(p, 160, 40, 13, 5)
		end := lines[len(lines)-1].runs
		run := end[len(end)-1]
		return run.Face == ts.face(sans) && run.Glyphs[len(run.Glyphs)-1].GlyphID == ellipsis
	}
	if cut(strings.Repeat("W", 200)) {
		t.Error("200 W, the widest letter, are cut")
	}
	if !cut(strings.Repeat("W", 400)) {
		t.Error("400 W are not")
	}
}

func TestAmountsHaveTheirCurrencysDigits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		labels   Labels
		minor    int64
		currency string
		want     string
	}{
		{English, 5400, "EUR", "54.00 EUR"},
		{German, 5400, "EUR", "54,00 EUR"},
		{English, 5, "EUR", "0.05 EUR"},
		{English, 0, "USD", "0.00 USD"},
		{English, 123456789, "EUR", "1,234,567.89 EUR"},
		{German, 123456789, "EUR", "1.234.567,89 EUR"},
		{English, 12500, "JPY", "12,500 JPY"},
		{English, 999, "JPY", "999 JPY"},
		{English, 12500, "KWD", "12.500 KWD"},
		{English, 1, "CLF", "0.0001 CLF"},
		{English, -5400, "EUR", "−54.00 EUR"},
	} {
		if got := c.labels.amount(c.minor, c.currency); got != c.want {
			t.Errorf("%d %s: %s, want %s", c.minor, c.currency, got, c.want)
		}
	}
}

func TestLabelsComeInTheClosestLanguage(t *testing.T) {
	t.Parallel()
	for lang, want := range map[string]string{
		"": "Seat", "en-GB": "Seat", "fr": "Seat", "not a tag": "Seat", "de": "Platz", "de-AT": "Platz", "gsw": "Platz", "ar-EG": "المقعد",
	} {
		if got := LabelsFor(lang).Seat; got != want {
			t.Errorf("%q: %s, want %s", lang, got, want)
		}
	}
}

func TestWhoWaitsForAPressMayLeave(t *testing.T) {
	t.Parallel()
	all := int64(max(1, runtime.GOMAXPROCS(0)/2))
	if err := presses.Acquire(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	defer presses.Release(all)
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- PDF(ctx, io.Discard, Document{}) }() // with no page to be interrupted at
	leave()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
