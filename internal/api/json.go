package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// envelopeType is asked for by clients that are used to {data} and {error}.
const envelopeType = "application/vnd.rowlock.envelope+json"

// JSON is a body that is JSON already, such as a map from the cache. It is
// written as it is, in an envelope if the client asked for one.
type JSON []byte

func (j JSON) text() []byte { return j }

// MarshalJSON lets a JSON be part of something larger.
func (j JSON) MarshalJSON() ([]byte, error) { return j, nil }

// formats are the body formats: strict JSON both ways, and the envelope as an
// answer. Huma looks "json" up for any type that ends in +json.
func formats() map[string]huma.Format {
	plain := huma.Format{Marshal: writeJSON, Unmarshal: unmarshalJSON}
	return map[string]huma.Format{
		"application/json": plain,
		"json":             plain,
		envelopeType:       {Marshal: pooled(marshalEnvelope), Unmarshal: unmarshalJSON},
	}
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// bufferKeptMax is the largest buffer that goes back to the pool: one huge
// body must not keep its memory for ever.
const bufferKeptMax = 256 << 10

func putBuffer(b *bytes.Buffer) {
	if b.Cap() <= bufferKeptMax {
		b.Reset()
		buffers.Put(b)
	}
}

// pooled encodes into a pooled buffer, so that the response is one write.
func pooled(marshal func(*bytes.Buffer, any) error) func(io.Writer, any) error {
	return func(w io.Writer, v any) error {
		b := buffers.Get().(*bytes.Buffer)
		defer putBuffer(b)
		if err := marshal(b, v); err != nil {
			return err
		}
		_, err := w.Write(b.Bytes())
		return err
	}
}

// writeJSON spares what is JSON already the way through a buffer.
func writeJSON(w io.Writer, v any) error {
	if j, ok := v.(interface{ text() []byte }); ok {
		_, err := w.Write(j.text())
		return err
	}
	return pooled(marshalJSON)(w, v)
}

// marshalEnvelope wraps what would be the body: {"error": …} around a problem,
// {"data": …} around anything else.
func marshalEnvelope(b *bytes.Buffer, v any) error {
	if _, ok := v.(*Problem); ok {
		b.WriteString(`{"error":`)
	} else {
		b.WriteString(`{"data":`)
	}
	if err := marshalJSON(b, v); err != nil {
		return err
	}
	b.WriteByte('}')
	return nil
}

// marshalJSON writes v as JSON without escaping <, > and &, which protects
// nobody outside of HTML and makes names unreadable.
func marshalJSON(b *bytes.Buffer, v any) error {
	if j, ok := v.(interface{ text() []byte }); ok {
		_, err := b.Write(j.text())
		return err
	}
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// unmarshalJSON decodes a body. Huma calls it twice: first into an any, which
// it validates against the schema, then into the operation's own type. The
// first time is where we are strict, see [parseJSON]; the second only has to
// translate what Go says of a number that does not fit.
func unmarshalJSON(data []byte, v any) error {
	if tree, ok := v.(*any); ok {
		parsed, err := parseJSON(data)
		if err != nil {
			return err
		}
		*tree = parsed
		return nil
	}
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	if typed, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := typed.Field
		if field == "" {
			field = "body"
		}
		return jsonError(field, "expected "+kindName(typed.Type)+", got "+typed.Value)
	}
	return jsonError("body", strings.TrimPrefix(err.Error(), "json: "))
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "an integer of " + strconv.Itoa(t.Bits()) + " bits"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	default:
		return t.Kind().String()
	}
}

// Huma keeps only the text of what the decoder says, and the field would be
// lost. So it travels in the text, behind a mark that no message contains.
const jsonErrorMark = "\x00"

func jsonError(field, message string) error {
	return errors.New(jsonErrorMark + field + jsonErrorMark + message)
}

func splitJSONError(text string) (field, message string, ok bool) {
	rest, ok := strings.CutPrefix(text, jsonErrorMark)
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, jsonErrorMark)
}

// Bounds of a body: far more than any of ours needs. What is within them is
// held against the schema value by value, which costs a hundred times what
// reading it does.
const (
	depthMax  = 32
	valuesMax = 100_000
)

// parseJSON reads one JSON value, as encoding/json would into an any, but
// refuses what encoding/json lets pass and what would later be read as
// something else, or break: names given twice in an object (which of the two
// is meant?), invalid UTF-8 and lone surrogates (replaced silently), U+0000
// (Postgres cannot store it), great depth and great numbers. The error names
// the field.
func parseJSON(data []byte) (any, error) {
	if !utf8.Valid(data) {
		return nil, jsonError("body", "must be valid UTF-8")
	}
	var steps [8]jsonStep // deeper than any of our bodies, so that path stays here
	p := jsonParser{data: string(data), path: steps[:0]}
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	p.space()
	if p.at < len(p.data) {
		return nil, p.fail("unexpected data after the value, at byte %d", p.at)
	}
	return v, nil
}

// jsonParser is a recursive descent over data, which is a string so that the
// strings in it are pieces of it and not copies. path is where it is, for
// messages.
type jsonParser struct {
	data   string
	at     int
	values int // read so far
	path   []jsonStep
}

// jsonStep is a name in an object or, with an empty name, an index in an array.
type jsonStep struct {
	name  string
	index int
}

func (p *jsonParser) fail(format string, args ...any) error {
	var field strings.Builder
	for _, step := range p.path {
		if step.name == "" {
			fmt.Fprintf(&field, "[%d]", step.index)
			continue
		}
		if field.Len() > 0 {
			field.WriteByte('.')
		}
		field.WriteString(step.name)
	}
	if field.Len() == 0 {
		field.WriteString("body")
	}
	return jsonError(field.String(), fmt.Sprintf(format, args...))
}

func (p *jsonParser) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// next skips white space and returns the byte there, 0 at the end.
func (p *jsonParser) next() byte {
	p.space()
	if p.at == len(p.data) {
		return 0
	}
	return p.data[p.at]
}

func (p *jsonParser) unexpected() error {
	if p.at >= len(p.data) {
		return p.fail("the JSON ends early")
	}
	return p.fail("unexpected %q in the JSON, at byte %d", rune(p.data[p.at]), p.at)
}

func (p *jsonParser) value(depth int) (any, error) {
	if depth > depthMax {
		return nil, p.fail("nested more than %d deep", depthMax)
	}
	if p.values++; p.values > valuesMax {
		return nil, p.fail("there are more than %d values in the JSON", valuesMax)
	}
	switch c := p.next(); {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		return p.text()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	switch rest := p.data[p.at:]; {
	case strings.HasPrefix(rest, "true"):
		p.at += len("true")
		return true, nil
	case strings.HasPrefix(rest, "false"):
		p.at += len("false")
		return false, nil
	case strings.HasPrefix(rest, "null"):
		p.at += len("null")
		return nil, nil
	}
	return nil, p.unexpected()
}

func (p *jsonParser) object(depth int) (any, error) {
	p.at++
	m := make(map[string]any)
	if p.next() == '}' {
		p.at++
		return m, nil
	}
	for {
		if p.next() != '"' {
			return nil, p.unexpected()
		}
		name, err := p.text()
		if err != nil {
			return nil, err
		}
		p.path = append(p.path, jsonStep{name: name})
		if _, twice := m[name]; twice {
			return nil, p.fail("given twice")
		}
		if p.next() != ':' {
			return nil, p.unexpected()
		}
		p.at++
		if m[name], err = p.value(depth + 1); err != nil {
			return nil, err
		}
		p.path = p.path[:len(p.path)-1]
		switch p.next() {
		case ',':
			p.at++
		case '}':
			p.at++
			return m, nil
		default:
			return nil, p.unexpected()
		}
	}
}

func (p *jsonParser) array(depth int) (any, error) {
	p.at++
	list := make([]any, 0, 4)
	if p.next() == ']' {
		p.at++
		return list, nil
	}
	for {
		p.path = append(p.path, jsonStep{index: len(list)})
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		p.path = p.path[:len(p.path)-1]
		list = append(list, v)
		switch p.next() {
		case ',':
			p.at++
		case ']':
			p.at++
			return list, nil
		default:
			return nil, p.unexpected()
		}
	}
}

// text reads a string. Nearly all have no escapes, and are a piece of data.
func (p *jsonParser) text() (string, error) {
	p.at++
	start := p.at
	for ; p.at < len(p.data); p.at++ {
		switch c := p.data[p.at]; {
		case c == '"':
			s := p.data[start:p.at]
			p.at++
			return s, nil
		case c == '\\':
			return p.escaped(start)
		case c < ' ':
			return "", p.control(c)
		}
	}
	return "", p.unexpected()
}

func (p *jsonParser) control(c byte) error {
	if c == 0 {
		return p.fail("must not contain U+0000")
	}
	return p.fail("control character in a string, at byte %d", p.at)
}

func (p *jsonParser) escaped(start int) (string, error) {
	var b strings.Builder
	b.WriteString(p.data[start:p.at])
	for p.at < len(p.data) {
		c := p.data[p.at]
		switch {
		case c == '"':
			p.at++
			return b.String(), nil
		case c < ' ':
			return "", p.control(c)
		case c != '\\':
			b.WriteByte(c)
			p.at++
			continue
		}
		if p.at++; p.at == len(p.data) {
			break
		}
		if i := strings.IndexByte(`"\/bfnrt`, p.data[p.at]); i >= 0 {
			b.WriteByte("\"\\/\b\f\n\r\t"[i])
			p.at++
			continue
		}
		if p.data[p.at] != 'u' {
			return "", p.unexpected()
		}
		p.at--
		r, ok := p.unicode()
		if !ok {
			return "", p.fail("broken \\u escape, at byte %d", p.at)
		}
		if utf16.IsSurrogate(r) {
			low, _ := p.unicode()
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return "", p.fail("must be valid Unicode: half of a surrogate pair")
			}
		}
		if r == 0 {
			return "", p.fail("must not contain U+0000")
		}
		b.WriteRune(r)
	}
	return "", p.unexpected()
}

// unicode reads one \uXXXX, if there is one.
func (p *jsonParser) unicode() (rune, bool) {
	if len(p.data)-p.at < 6 || p.data[p.at] != '\\' || p.data[p.at+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(p.data[p.at+2:p.at+6], 16, 16)
	if err != nil {
		return 0, false
	}
	p.at += 6
	return rune(n), true
}

func (p *jsonParser) digits() bool {
	start := p.at
	for p.at < len(p.data) && p.data[p.at] >= '0' && p.data[p.at] <= '9' {
		p.at++
	}
	return p.at > start
}

func (p *jsonParser) number() (any, error) {
	start := p.at
	if p.data[p.at] == '-' {
		p.at++
	}
	if p.at < len(p.data) && p.data[p.at] == '0' {
		p.at++
	} else if !p.digits() {
		return nil, p.unexpected()
	}
	if p.at < len(p.data) && p.data[p.at] == '.' {
		p.at++
		if !p.digits() {
			return nil, p.unexpected()
		}
	}
	if p.at < len(p.data) && (p.data[p.at] == 'e' || p.data[p.at] == 'E') {
		p.at++
		if p.at < len(p.data) && (p.data[p.at] == '+' || p.data[p.at] == '-') {
			p.at++
		}
		if !p.digits() {
			return nil, p.unexpected()
		}
	}
	f, err := strconv.ParseFloat(p.data[start:p.at], 64)
	if err != nil {
		return nil, p.fail("number out of range")
	}
	return f, nil
}
