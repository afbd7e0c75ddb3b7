package seatplan

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// document walks a JSON document once, token by token, and knows the path of
// the value it is at. A value of the wrong type is a problem and is stepped
// over, so that the walk finds the next problem too; a document that is not
// JSON at all sets err, and every loop ends.
type document struct {
	*draft
	dec  *json.Decoder
	path []step
	seen [][]string // member names of the open objects, by depth
	at   func() string
	err  error
}

// step is an element of an array, or if index is negative, a member of an
// object.
type step struct {
	name  string
	index int
}

func readJSON(src *source, b *draft, read func(*document)) error {
	d := &document{draft: b, dec: json.NewDecoder(src)}
	d.dec.UseNumber()
	d.at = d.here // once: a method value is an allocation, and every text wants it
	read(d)
	if d.err == nil {
		if _, err := d.dec.Token(); err == nil {
			d.breakOff("there is more text behind the end of the document")
		} else if err != io.EOF {
			d.fail(err)
		}
	}
	if src.err != nil {
		return src.err // what the parser made of it is of no interest
	}
	return d.err
}

// here is the path of the value that is being read.
func (d *document) here() string { return d.where(false) }

// pattern is here without indexes: zones[].rows[].seats[].
func (d *document) pattern() string { return d.where(true) }

func (d *document) where(pattern bool) string {
	if len(d.path) == 0 {
		return "$"
	}
	var b strings.Builder
	for _, s := range d.path {
		switch {
		case s.index < 0:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(shortName(s.name))
		case pattern:
			b.WriteString("[]")
		default:
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(s.index))
			b.WriteByte(']')
		}
	}
	return b.String()
}

// shortName is a member's name as paths show it: quoted if it is odd.
func shortName(name string) string {
	const longest = 40
	if len(name) > longest {
		name = strings.ToValidUTF8(name[:longest], "") + "…"
	}
	if name == "" {
		return `""`
	}
	for _, r := range name {
		if r <= ' ' || r == '.' || r == '[' || r == ']' || r == '"' || !strconv.IsPrint(r) {
			return strconv.Quote(name)
		}
	}
	return name
}

func (d *document) breakOff(format string, args ...any) {
	if d.err == nil {
		d.err = &brokenError{d.here(), fmt.Sprintf(format, args...)}
	}
}

func (d *document) fail(err error) {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		d.breakOff("the document ends in the middle, after %d bytes", d.dec.InputOffset())
	case errors.As(err, &syntax):
		d.breakOff("the JSON is broken near byte %d: %s", syntax.Offset, syntax)
	default:
		d.breakOff("the JSON is broken near byte %d: %s", d.dec.InputOffset(), err)
	}
}

// next returns the next token, or nil when the document cannot be read on.
func (d *document) next() json.Token {
	if d.err != nil {
		return nil
	}
	tok, err := d.dec.Token()
	if err != nil {
		d.fail(err)
		return nil
	}
	return tok
}

// members yields the names of an object's members; the body must read each
// value and not break off. It yields nothing for null and for what is no object.
func (d *document) members() iter.Seq[string] {
	return func(yield func(string) bool) { d.membersFrom(d.next())(yield) }
}

// membersFrom is members for a value whose first token was read.
func (d *document) membersFrom(tok json.Token) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !d.opens(tok, '{', "an object") {
			return
		}
		depth := len(d.path)
		for len(d.seen) <= depth {
			d.seen = append(d.seen, nil)
		}
		d.seen[depth] = d.seen[depth][:0]
		for d.err == nil && d.dec.More() {
			name, _ := d.next().(string)
			if d.err != nil {
				break
			}
			d.push(step{name, -1})
			switch {
			case slices.Contains(d.seen[depth], name):
				d.problem(d.here(), "the member is there twice")
				d.skip()
			case len(d.seen[depth]) == maxMembers:
				d.path = d.path[:depth]
				d.breakOff("the object has more than %d members", maxMembers)
			default:
				d.seen[depth] = append(d.seen[depth], name)
				if !yield(name) {
					return
				}
			}
			d.path = d.path[:depth]
		}
		d.next() // the closing brace, or what stands in its place
	}
}

// elements yields the indexes of an array's elements, likewise.
func (d *document) elements() iter.Seq[int] {
	return func(yield func(int) bool) {
		if !d.opens(d.next(), '[', "an array") {
			return
		}
		depth := len(d.path)
		for i := 0; d.err == nil && d.dec.More(); i++ {
			d.push(step{index: i})
			if !yield(i) {
				return
			}
			d.path = d.path[:depth]
		}
		d.next()
	}
}

func (d *document) push(s step) {
	d.path = append(d.path, s)
	if len(d.path) > maxDepth {
		d.breakOff("the document is nested deeper than %d levels", maxDepth)
	}
}

func (d *document) opens(tok json.Token, want json.Delim, kind string) bool {
	switch {
	case d.err != nil:
	case tok == want:
		return true
	case tok != nil || len(d.path) == 0: // null is as good as no member, but not as a whole document
		d.wrongType(kind, tok)
	}
	return false
}

// wrongType reports the value that starts with tok, and steps over it.
func (d *document) wrongType(want string, tok json.Token) {
	got := "null"
	switch tok := tok.(type) {
	case json.Delim:
		got = "an array"
		if tok == '{' {
			got = "an object"
		}
	case string:
		got = "text"
	case json.Number:
		got = "a number"
	case bool:
		got = "true or false"
	}
	d.problem(d.here(), "this must be %s and is %s", want, got)
	d.skipFrom(tok)
}

// skip steps over a value of any type.
func (d *document) skip() { d.skipFrom(d.next()) }

func (d *document) skipFrom(tok json.Token) {
	depth := 0
	for {
		switch tok {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth+len(d.path) > maxDepth {
				d.breakOff("the document is nested deeper than %d levels", maxDepth)
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 || d.err != nil {
			return
		}
		tok = d.next()
	}
}

// unknown steps over a member that no dialect has, with a warning.
func (d *document) unknown() {
	d.warnEach(d.pattern(), "this is not known here and is left out")
	d.skip()
}

// require reports a member that the document lacks, unless that follows from
// a problem that is known.
func (d *document) require(name string, found bool) {
	if d.err == nil && !found && d.problems.Total == 0 {
		d.problem("$", "the document has no %s", name)
	}
}

// raw reads text, or the digits of a number: plans name seats 12 and "12"
// alike. null is "".
func (d *document) raw() string {
	switch tok := d.next().(type) {
	case nil:
		return ""
	case string:
		return tok
	case json.Number:
		return tok.String()
	default:
		d.wrongType("text", tok)
		return ""
	}
}

// part reads the name of a section, row, seat, category or area.
func (d *document) part() string { return d.text(d.at, d.raw(), maxPart) }

func (d *document) name() { d.plan.Name = d.text(d.at, d.raw(), maxName) }

func (d *document) hexColor() string { return d.color(d.at, d.raw()) }

// number reads a number of sane size; ok is false for null and for the rest.
func (d *document) number() (v float64, ok bool) {
	tok := d.next()
	if tok == nil {
		return 0, false
	}
	n, isNumber := tok.(json.Number)
	if !isNumber {
		d.wrongType("a number", tok)
		return 0, false
	}
	return d.sane(n)
}

func (d *document) sane(n json.Number) (v float64, ok bool) {
	v, err := strconv.ParseFloat(n.String(), 64)
	if err != nil || math.Abs(v) > maxCoordinate {
		d.problem(d.here(), "the number is not between -%.0f and %.0f", maxCoordinate, maxCoordinate)
		return 0, false
	}
	return v, true
}

// length is a number where none means 0.
func (d *document) length() float64 {
	v, _ := d.number()
	return v
}

// capacity reads a count of places; what is no whole number becomes 0, which
// [draft.checkAreas] refuses.
func (d *document) capacity() int {
	v, ok := d.number()
	if !ok || v != math.Trunc(v) {
		return 0
	}
	return int(v)
}

func (d *document) flag() bool {
	tok := d.next()
	v, ok := tok.(bool)
	if !ok && tok != nil {
		d.wrongType("true or false", tok)
	}
	return v
}

// point reads {"x": …, "y": …}; ok says that both were there.
func (d *document) point() (p boxoffice.Point, ok bool) { return d.pointFrom(d.next()) }

func (d *document) pointFrom(tok json.Token) (p boxoffice.Point, ok bool) {
	var hasX, hasY bool
	for name := range d.membersFrom(tok) {
		switch name {
		case "x":
			p.X, hasX = d.number()
		case "y":
			p.Y, hasY = d.number()
		default:
			d.unknown()
		}
	}
	return p, hasX && hasY
}

// points reads an array of points.
func (d *document) points() (list []boxoffice.Point) {
	for range d.elements() {
		p, ok := d.point()
		switch {
		case !ok:
			d.problem(d.here(), "a point needs x and y")
		case len(list) == maxPoints:
			d.warnEach(d.pattern(), fmt.Sprintf("there are more than %d points; the rest are left out", maxPoints))
		default:
			list = append(list, p)
		}
	}
	return list
}
