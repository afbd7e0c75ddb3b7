package seatplan

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// The format: a header that names the columns, then one seat a line. A line
// whose kind is "area" is a standing area: section is its name and seat its
// capacity. Columns may stand in any order.
var csvColumns = [...]string{"section", "row", "seat", "category", "x", "y", "kind"}

const (
	colSection = iota
	colRow
	colSeat
	colCategory
	colX
	colY
	colKind
	colRequired = colX // columns before this one must be there
)

// readCSV reads a manifest.
func readCSV(src *source, b *draft) error {
	r := csv.NewReader(src)
	r.ReuseRecord = true
	r.FieldsPerRecord = -1 // a line with too few fields is a problem among others
	m := manifest{draft: b, r: r, names: map[string]string{}}
	err := m.read()
	if src.err != nil {
		return src.err
	}
	return err
}

type manifest struct {
	*draft
	r       *csv.Reader
	columns [len(csvColumns)]int // index into a record, or -1
	fields  int
	line    int
	column  int
	names   map[string]string // one copy of each name, which outlives its line
}

func (m *manifest) read() error {
	header, err := m.next()
	if err == io.EOF {
		return &brokenError{"$", "the document is empty"}
	}
	if err != nil {
		return err
	}
	if !m.header(header) {
		return nil
	}
	for {
		record, err := m.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		m.place(record)
	}
}

func (m *manifest) next() ([]string, error) {
	record, err := m.r.Read()
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return nil, &brokenError{fmt.Sprintf("line %d", parse.Line), fmt.Sprintf("the CSV is broken at column %d: %s", parse.Column, parse.Err)}
	}
	if err == nil {
		m.line, _ = m.r.FieldPos(0)
	}
	return record, err
}

// at is the path of the field that is being read.
func (m *manifest) at() string {
	if m.column < 0 {
		return fmt.Sprintf("line %d", m.line)
	}
	return fmt.Sprintf("line %d, %s", m.line, csvColumns[m.column])
}

// header finds the columns; false means that no line can be understood.
func (m *manifest) header(record []string) bool {
	for i := range m.columns {
		m.columns[i] = -1
	}
	m.fields = len(record)
	for i, name := range record {
		column := slices.Index(csvColumns[:], strings.ToLower(strings.TrimSpace(name)))
		m.column = column
		switch {
		case column < 0 && strings.TrimSpace(name) == "":
		case column < 0:
			m.warn(m.at(), "the column %.60q is not known here and is left out", name)
		case m.columns[column] >= 0:
			m.problem(m.at(), "the column %q is there twice", csvColumns[column])
		default:
			m.columns[column] = i
		}
	}
	var missing []string
	for i, at := range m.columns[:colRequired] {
		if at < 0 {
			missing = append(missing, csvColumns[i])
		}
	}
	if len(missing) == 0 {
		return true
	}
	hint := ""
	if len(record) == 1 && strings.ContainsAny(record[0], ";\t") {
		hint = "; columns are separated by commas"
	}
	m.problem(fmt.Sprintf("line %d", m.line), "the header lacks %s%s", strings.Join(missing, ", "), hint)
	return false
}

// place reads a line.
func (m *manifest) place(record []string) {
	m.column = -1
	if blank := !slices.ContainsFunc(record, func(s string) bool { return strings.TrimSpace(s) != "" }); blank {
		m.warnEach("$", "the line is empty and is left out")
		return
	}
	if len(record) != m.fields {
		m.problem(m.at(), "the line has %d fields and the header %d", len(record), m.fields)
		return
	}
	field := func(column int) string {
		m.column = column
		if m.columns[column] < 0 {
			return ""
		}
		return m.text(m.at, record[m.columns[column]], maxPart)
	}
	section, row, number := m.keep(field(colSection)), m.keep(field(colRow)), m.keep(field(colSeat))
	ref := m.category(field(colCategory))
	xText, yText := field(colX), field(colY)
	x, hasX := m.coordinate(colX, xText)
	y, hasY := m.coordinate(colY, yText)
	placed := hasX && hasY
	if (xText == "") != (yText == "") {
		m.column = -1
		m.problem(m.at(), "x and y go together")
	}
	if !placed {
		x, y = 0, 0
	}

	switch kind := strings.ToLower(field(colKind)); kind {
	case "area":
		m.column = -1
		if row != "" {
			m.problem(m.at(), "an area has no row")
		}
		capacity, _ := strconv.Atoi(number) // what is no number is refused as 0
		m.addArea(m.at(), boxoffice.Area{Name: section, Category: ref, Capacity: capacity, X: x, Y: y, Placed: placed})
	case "", string(boxoffice.SeatStandard), string(boxoffice.SeatWheelchair), string(boxoffice.SeatCompanion):
		m.addSeat(origin{index: m.line}, boxoffice.Seat{
			Section: section, Row: row, Number: number, Category: ref, Kind: boxoffice.SeatKind(kind), X: x, Y: y, Placed: placed,
		})
	default:
		m.problem(m.at(), "the kind %q is not standard, wheelchair, companion or area", kind)
	}
}

// keep returns a copy of a name. The fields of a line share one string, of
// which nothing else is needed.
func (m *manifest) keep(name string) string {
	kept, ok := m.names[name]
	if !ok {
		kept = strings.Clone(name)
		m.names[kept] = kept
	}
	return kept
}

// category returns the ref of a category, which a manifest declares by use.
func (m *manifest) category(name string) int {
	if name == "" {
		return noCategory
	}
	if _, ok := m.refIndex[categoryRef{name: name}]; !ok {
		name = strings.Clone(name)
		m.declare(m.at(), category{Category: boxoffice.Category{Name: name}})
	}
	return m.ref("", name)
}

func (m *manifest) coordinate(column int, text string) (v float64, ok bool) {
	if text == "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(math.Abs(v) <= maxCoordinate) { // so put, NaN is refused too
		m.column = column
		m.problem(m.at(), "%q is not a number between -%.0f and %.0f", text, maxCoordinate, maxCoordinate)
		return 0, false
	}
	return v, true
}
