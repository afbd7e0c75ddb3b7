package seatplan

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"unicode/utf8"
)

const peekSize = 16 << 10

// someJSON is the guess for an object that has no telling member.
const someJSON = "JSON"

// source is the document's bytes on their way to a parser. It vouches that
// they are UTF-8, which neither parser does: encoding/json would put U+FFFD in
// place of what is not, and two seats would become equal that were not.
//
// Its err tells a reader that failed from a document that is wrong; the
// parsers wrap both in errors of their own.
type source struct {
	ctx    context.Context
	r      *bufio.Reader
	err    error
	offset int64 // of the first byte not yet returned
	line   int   // that it stands in, from 1
	carry  []byte
}

func newSource(ctx context.Context, r io.Reader) *source {
	return &source{ctx: ctx, r: bufio.NewReaderSize(r, peekSize), line: 1, carry: make([]byte, 0, utf8.UTFMax)}
}

// guess says what the beginning of the document looks like: a [Format], some
// other thing in words, or "". It also steps over a byte order mark.
func (s *source) guess() string {
	head, _ := s.r.Peek(peekSize) // an error is kept by r and comes with Read
	if bytes.HasPrefix(head, []byte("\ufeff")) {
		n, _ := s.r.Discard(3)
		s.offset = int64(n)
		head = head[3:]
	}
	has := func(member string) bool { return bytes.Contains(head, []byte(`"`+member+`"`)) }
	switch text := bytes.TrimLeft(head, " \t\r\n"); {
	case len(text) == 0:
		return ""
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}), bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		return "UTF-16 text (save it as UTF-8)"
	case bytes.HasPrefix(text, []byte("PK\x03\x04")):
		return "a spreadsheet or ZIP archive (export it as CSV)"
	case text[0] == '<':
		return "XML, SVG or HTML"
	case text[0] == '[':
		return "a JSON array"
	case text[0] != '{':
		first, _, _ := bytes.Cut(text, []byte("\n"))
		if bytes.ContainsAny(first, ",;\t") {
			return string(CSV)
		}
		return ""
	case has("venueType"), has("subChart"), has("subChartFloors"):
		return string(Seatsio)
	case has("row_number"), has("seat_guid"), has("zones"):
		return string(Pretix)
	case has("sections") && has("rows"):
		return string(Rowlock)
	default:
		return someJSON
	}
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if s.err = s.ctx.Err(); s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(p)
	if good := s.validate(p[:n]); good < n || (err == io.EOF && len(s.carry) > 0) {
		line := s.line + bytes.Count(p[:good], []byte("\n"))
		s.err = &brokenError{
			path:    fmt.Sprintf("line %d", line),
			message: fmt.Sprintf("the text is not valid UTF-8 at byte %d", s.offset+int64(good)),
		}
		return 0, s.err
	}
	s.line += bytes.Count(p[:n], []byte("\n"))
	s.offset += int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// validate returns how many bytes of p are part of valid UTF-8; a character
// that is cut off at p's end waits in s.carry for the rest of it.
func (s *source) validate(p []byte) int {
	rest := p
	for len(s.carry) > 0 && len(rest) > 0 {
		s.carry, rest = append(s.carry, rest[0]), rest[1:]
		if utf8.FullRune(s.carry) {
			if r, size := utf8.DecodeRune(s.carry); r == utf8.RuneError && size <= 1 {
				return 0
			}
			s.carry = s.carry[:0]
		}
	}
	for back := 1; back < utf8.UTFMax && back <= len(rest); back++ {
		if tail := rest[len(rest)-back:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				s.carry = append(s.carry, tail...)
				rest = rest[:len(rest)-back]
			}
			break
		}
	}
	if utf8.Valid(rest) {
		return len(p)
	}
	good := len(p) - len(rest) - len(s.carry)
	for len(rest) > 0 {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size <= 1 {
			break
		}
		good += size
		rest = rest[size:]
	}
	return good
}
