package seatplan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// Format names the language of a plan document.
type Format string

// The formats that [Read] understands.
const (
	Pretix  Format = "pretix"  // seating-plan JSON of pretix, the early dialect too
	Seatsio Format = "seatsio" // chart JSON of seats.io
	CSV     Format = "csv"     // our manifest: one seat a line
	Rowlock Format = "rowlock" // our own JSON, which [WriteRowlock] writes
)

// Limits of a document. They are far above any real hall, and bound the memory
// that a hostile document can take.
const (
	DefaultMaxSeats = 200_000

	maxPart       = 64        // characters of a section, row, seat, category or area name
	maxName       = 200       // characters of the plan's name
	maxCapacity   = 1_000_000 // places of an area
	maxCoordinate = 1e7       // distance from the origin, in the plan's units
	maxAreas      = 10_000
	maxCategories = 1_000
	maxDrawing    = 20_000
	maxPoints     = 10_000 // corners of one polygon
	maxFeatures   = 16     // features of one seat
	maxListed     = 1_000  // problems, and warnings, that are listed
	maxDepth      = 64     // levels of nesting in a JSON document
	maxMembers    = 200    // members of one JSON object that is read
)

// Options change how a document is read. The zero value is strict.
type Options struct {
	// RenameDuplicates imports a seat that clashes with an earlier one under a
	// suffixed number (the second 12 becomes 12_2), with a warning, where it
	// would otherwise be refused. Areas are treated alike.
	RenameDuplicates bool
	// MaxSeats is the largest number of seats; 0 means [DefaultMaxSeats].
	MaxSeats int
}

// Warning says what of a document was left out or changed, and where.
type Warning struct{ Path, Message string }

// Problem is one reason why a document is refused. Path is where: a JSON path
// such as zones[0].rows[2].seats[5].category, "line 12" of a CSV file, or "$"
// for the document as a whole.
type Problem struct {
	Path, Message string
	Seat          int // which of the plan's seats it is about, from 1; 0: none that could be told
}

// Problems is the error of a document that was read and refused.
type Problems struct {
	List  []Problem // in the order found; at most the first 1,000
	Total int       // how many there are
}

// Error lists the first problems.
func (p *Problems) Error() string {
	const shown = 5
	var b strings.Builder
	if p.Total == 1 {
		b.WriteString("the plan has a problem: ")
	} else {
		fmt.Fprintf(&b, "the plan has %d problems: ", p.Total)
	}
	for i, q := range p.List[:min(shown, len(p.List))] {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s: %s", q.Path, q.Message)
	}
	if p.Total > shown {
		fmt.Fprintf(&b, "; and %d more", p.Total-shown)
	}
	return b.String()
}

func (p *Problems) add(q Problem) {
	p.Total++
	if len(p.List) < maxListed {
		p.List = append(p.List, q)
	}
}

// Read reads a plan document to its end. The plan's ids and numbers are zero:
// the store gives them. Its name is empty if the document has none.
//
// The error is a [*Problems] if the document is refused, and otherwise what
// the reader or the context said. Warnings come with either.
func Read(ctx context.Context, format Format, r io.Reader, opts Options) (*boxoffice.Plan, []Warning, error) {
	b, err := read(ctx, format, r, opts)
	switch {
	case b == nil:
		return nil, nil, err
	case err != nil:
		return nil, b.listWarnings(), err
	case b.problems.Total > 0:
		return nil, b.listWarnings(), &b.problems
	}
	return &b.plan, b.listWarnings(), nil
}

// Sketch is what was understood of a document, so that people can be shown
// where its problems are. Only one without problems is a plan: in others labels
// may be missing or there twice, and places of no category have -1.
type Sketch struct {
	Plan     boxoffice.Plan
	Problems Problems
	Warnings []Warning
}

// Check reads a document like [Read] and refuses nothing. The error is what the
// reader or the context said.
func Check(ctx context.Context, format Format, r io.Reader, opts Options) (*Sketch, error) {
	b, err := read(ctx, format, r, opts)
	if err != nil {
		return nil, err
	}
	return &Sketch{b.plan, b.problems, b.listWarnings()}, nil
}

func read(ctx context.Context, format Format, r io.Reader, opts Options) (*draft, error) {
	if opts.MaxSeats <= 0 {
		opts.MaxSeats = DefaultMaxSeats
	}
	b := newDraft(opts)
	src := newSource(ctx, r)
	guess := src.guess()

	var err error
	switch format {
	case Pretix:
		err = readJSON(src, b, readPretix)
	case Seatsio:
		err = readJSON(src, b, readSeatsio)
	case Rowlock:
		err = readJSON(src, b, readRowlock)
	case CSV:
		err = readCSV(src, b)
	default:
		return nil, fmt.Errorf("seatplan: no format %q", format)
	}
	var broken *brokenError
	switch {
	case errors.As(err, &broken):
		b.problems.add(Problem{Path: broken.path, Message: broken.message})
		b.sketch()
	case err != nil:
		return b, fmt.Errorf("reading the plan: %w", err)
	default:
		b.finish()
	}
	if b.problems.Total > 0 && guess != "" && guess != string(format) && (guess != someJSON || format == CSV) {
		hint := Problem{Path: "$", Message: fmt.Sprintf("the document looks like %s, but was sent as %s", guess, format)}
		b.problems.List = append([]Problem{hint}, b.problems.List[:min(len(b.problems.List), maxListed-1)]...)
		b.problems.Total++
	}
	return b, nil
}

// brokenError is a document that cannot be read any further.
type brokenError struct{ path, message string }

func (e *brokenError) Error() string { return e.path + ": " + e.message }
