package tickets

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/go-text/typesetting/di"
	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/harfbuzz"
	"github.com/go-text/typesetting/language"
	"github.com/go-text/typesetting/shaping"
	"golang.org/x/image/math/fixed"
	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"
)

// em is the size at which all text is shaped. What comes out is in thousandths
// of the size that it is drawn at, so that a text is shaped once and then tried
// at as many sizes as it takes to fit.
const em = 1000

// typesetter turns text into lines of glyphs. It belongs to one document.
type typesetter struct {
	shaper    shaping.HarfbuzzShaper
	segmenter shaping.Segmenter
	wrapper   shaping.LineWrapper

	faces map[string]*font.Face
	named map[*font.Face]*typeface
	lang  language.Language
	base  di.Direction // of a text that has no direction of its own
	had   map[setting]set

	// What the segmenter is at.
	style   string
	script  string
	scripts []string // all of the text's
	last    *font.Face
}

func newTypesetter(lang string, base di.Direction) *typesetter {
	return &typesetter{
		faces: map[string]*font.Face{},
		named: map[*font.Face]*typeface{},
		lang:  language.NewLanguage(lang),
		base:  base,
		had:   map[setting]set{},
	}
}

// setting is a text with the look and the box, in points, that it is set in.
type setting struct {
	text          string
	look          look
	width, height float64
}

// set is what came of a setting.
type set struct {
	paragraph paragraph
	size      float64
	lines     []line
}

// fitted shapes a text and fits it into a box, once: most of what is on one
// ticket is on the others, too.
func (t *typesetter) fitted(text string, l look, w, h float64) (p paragraph, size float64, lines []line) {
	want := setting{text, l, w, h}
	s, known := t.had[want]
	if !known {
		s.paragraph = t.shape(text, l.style, l.spacing)
		s.size, s.lines = t.fit(s.paragraph, w, h, l.most, l.least)
		t.had[want] = s
	}
	return s.paragraph, s.size, s.lines
}

// face is nil when there is no such font.
func (t *typesetter) face(name string) *font.Face {
	f, known := t.faces[name]
	if !known {
		if load := typefaces[name]; load != nil {
			tf := load()
			f = font.NewFace(tf.font)
			t.named[f] = tf
		}
		t.faces[name] = f
	}
	return f
}

// SetScript and [typesetter.ResolveFace] make a typesetter a
// [shaping.FontmapScript].
func (t *typesetter) SetScript(s language.Script) {
	t.script = strings.ToLower(s.String())
}

// ResolveFace picks the font for a rune. It never answers nil.
func (t *typesetter) ResolveFace(r rune) *font.Face {
	// A mark goes where its letter is, if it can.
	if t.last != nil && unicode.Is(unicode.M, r) {
		if _, ok := t.last.NominalGlyph(r); ok {
			return t.last
		}
	}
	f := t.find(r)
	if f == nil {
		f = t.face(t.style)
	}
	t.last = f
	return f
}

func (t *typesetter) find(r rune) *font.Face {
	for _, names := range [][]string{{t.style, sans, t.script}, t.scripts, others} {
		for _, name := range names {
			if f := t.face(name); f != nil {
				if _, ok := f.NominalGlyph(r); ok {
					return f
				}
			}
		}
	}
	return nil
}

// printable is text as it can be set: in one line, composed, and with whatever
// no font has a sign for written out: as what Unicode says it is made of, or
// else as its number, U+13080. A name is then still told apart from others,
// which a box or a question mark would not do.
func (t *typesetter) printable(text string) []rune {
	composed := norm.NFC.String(text)
	t.scripts = nil
	for _, r := range composed {
		t.SetScript(language.LookupScript(r))
		if !slices.Contains(t.scripts, t.script) {
			t.scripts = append(t.scripts, t.script)
		}
	}
	var out []rune
	for _, r := range composed {
		switch {
		case unicode.IsSpace(r):
			out = append(out, ' ')
		case unicode.IsControl(r):
		case t.covers(r):
			out = append(out, r)
		default:
			for _, part := range norm.NFKD.String(string(r)) {
				if t.covers(part) {
					out = append(out, part)
				} else {
					out = append(out, []rune(fmt.Sprintf("U+%04X", part))...)
				}
			}
		}
	}
	return out
}

func (t *typesetter) covers(r rune) bool {
	return harfbuzz.IsDefaultIgnorable(r) || t.find(r) != nil
}

// space is the width of a space, in thousandths of the size.
const space = 260

// paragraph is a text that has been shaped.
type paragraph struct {
	text  []rune
	runs  []shaping.Output
	dir   di.Direction
	style string
}

// shape sets a text in a style. spacing, in thousandths of the size, is put
// between letters, but never where it would tear a script that is joined.
func (t *typesetter) shape(text, style string, spacing int) paragraph {
	t.style = style
	p := paragraph{text: t.printable(text), style: style, dir: t.base}
	for _, r := range p.text {
		props, _ := bidi.LookupRune(r)
		if c := props.Class(); c == bidi.L {
			p.dir = di.DirectionLTR
			break
		} else if c == bidi.R || c == bidi.AL {
			p.dir = di.DirectionRTL
			break
		}
	}
	if len(p.text) == 0 {
		return p
	}
	t.last = nil
	input := shaping.Input{Text: p.text, RunEnd: len(p.text), Direction: p.dir, Size: fixed.I(em), Language: t.lang}
	joined := false
	for _, run := range t.segmenter.Split(input, t) {
		joined = joined || run.Script != language.Latin && run.Script != language.Common
		out := t.shaper.Shape(run)
		// A space belongs to the font of the word before it, and in some fonts
		// it is as wide as a sign: between words of any script it is a space.
		for i, g := range out.Glyphs {
			if p.text[g.TextIndex()] == ' ' && g.RunesCount() == 1 {
				out.Glyphs[i].Advance = fixed.I(space)
			}
		}
		out.RecomputeAdvance()
		p.runs = append(p.runs, out)
	}
	if spacing != 0 && !joined {
		shaping.AddSpacing(p.runs, p.text, 0, fixed.I(spacing))
	}
	return p
}

// line is a line of a paragraph, its runs from left to right. Measures are in
// thousandths of the size.
type line struct {
	runs                   []shaping.Output
	width, ascent, descent float64
}

// lines breaks a paragraph into lines of at most the width, between words or,
// where a word is too long, within it if breakWords says so. With n > 0 there
// are at most n lines, and … is at the end of the last if that was too few.
func (t *typesetter) lines(p paragraph, width float64, breakWords bool, n int) (lines []line) {
	if len(p.runs) == 0 {
		return nil
	}
	// The wrapper writes into the glyphs that it is given.
	runs := slices.Clone(p.runs)
	for i := range runs {
		runs[i].Glyphs = slices.Clone(runs[i].Glyphs)
	}
	config := shaping.WrapConfig{Direction: p.dir, TruncateAfterLines: n, BreakPolicy: shaping.Never}
	if breakWords {
		config.BreakPolicy = shaping.WhenNecessary
	}
	if n > 0 {
		config = config.WithTruncator(&t.shaper, shaping.Input{
			Text: []rune{'…'}, RunEnd: 1, Direction: p.dir, Face: t.face(sans), Size: fixed.I(em), Script: language.Common, Language: t.lang,
		})
	}
	wrapped, _ := t.wrapper.WrapParagraphF(config, fixed.Int26_6(width*64), p.text, shaping.NewSliceIterator(runs))
	for _, w := range wrapped {
		l := line{runs: slices.Clone(w), ascent: 720, descent: 200}
		slices.SortStableFunc(l.runs, func(a, b shaping.Output) int { return int(a.VisualIndex - b.VisualIndex) })
		for _, run := range l.runs {
			for _, g := range run.Glyphs {
				l.width += float64(g.Advance) / 64
				top := float64(g.YBearing+g.YOffset) / 64
				bottom := top + float64(g.Height)/64
				// Marks over capitals may reach into the space above. A tower of
				// marks, as nobody is named, does not push its line off the page.
				l.ascent = min(max(l.ascent, top-260), ascentMax)
				l.descent = min(max(l.descent, -bottom), descentMax)
			}
		}
		lines = append(lines, l)
	}
	return lines
}

// In thousandths of the size: the least space between two lines, and the most
// that a line reaches above and below its base.
const (
	leading    = 220
	ascentMax  = 1500
	descentMax = 1200
)

func height(lines []line) (h float64) {
	for i, l := range lines {
		if i > 0 {
			h += leading
		}
		h += l.ascent + l.descent
	}
	return h
}

// fit finds the largest size from most down to least, in points, at which a
// paragraph is within a width and a height, also in points, with every word in
// one piece. At the least size words are broken, and what does not fit even so
// is cut, with … at its end.
func (t *typesetter) fit(p paragraph, w, h, most, least float64) (size float64, lines []line) {
	for size = most; size > least; size *= 0.96 {
		lines = t.lines(p, w/size*em, false, 0)
		wide := slices.ContainsFunc(lines, func(l line) bool { return l.width*size > w*em })
		if !wide && height(lines)*size <= h*em {
			return size, lines
		}
	}
	lines = t.lines(p, w/least*em, true, 0)
	for n := len(lines) - 1; n > 0 && height(lines)*least > h*em; n-- {
		lines = t.lines(p, w/least*em, true, n)
	}
	return least, lines
}
