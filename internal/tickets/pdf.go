package tickets

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image/color"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/go-text/typesetting/di"
	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"
)

// Document is a sheet of tickets, two to an A4 page.
type Document struct {
	// Language is a BCP 47 tag: that of the document, and of the labels if
	// they are not given. In one that is written from right to left the sheet
	// is mirrored.
	Language string
	// Labels are those of [LabelsFor] the language if the Date is nil.
	Labels Labels
	// Accent is the colour of the edge and of the venue's name: a dark one,
	// since white stands on it. The zero value is a burgundy.
	Accent  color.RGBA
	Tickets []Ticket
	// First is the number of the first ticket and Of that of all, where the
	// document is a part of what was bought; zero: it is all of it.
	First, Of int
}

// Ticket is what is printed on one. Every text may be in any script and of any
// length; it is made smaller, broken into lines and in the end cut to fit. What
// is empty is left out.
type Ticket struct {
	ID   uuid.UUID
	Code string // of [Signer.Code]

	Event string
	Venue string
	Hall  string
	// Starts and Doors are shown in their own location, which should be the
	// show's time zone.
	Starts time.Time
	Doors  time.Time

	// Where: a section, row and seat, or an area.
	Section, Row, Seat, Area string

	Type       string
	PriceMinor int64
	Currency   string // ISO 4217; without one no price is shown
	Holder     string
	Reference  string
}

// The page and what is on it, in millimetres.
const (
	mm = 72 / 25.4

	pageWidth  = 210.0
	pageHeight = 297.0
	halfHeight = pageHeight / 2

	cardX      = 12.0
	cardY      = 12.0
	cardWidth  = pageWidth - 2*cardX
	cardHeight = 118.0
	corner     = 3.5
	bandWidth  = 12.0
	tearX      = 138.0 // where the stub is torn off
	bodyX      = cardX + bandWidth + 8
	bodyWidth  = tearX - 7 - bodyX
	stubX      = tearX + 8
	stubWidth  = cardX + cardWidth - 8 - stubX
)

var (
	burgundy = color.RGBA{R: 0x6d, G: 0x1a, B: 0x2d, A: 0xff}
	gold     = color.RGBA{R: 0xb0, G: 0x8d, B: 0x57, A: 0xff}
	dark     = color.RGBA{R: 0x1f, G: 0x1b, B: 0x1c, A: 0xff}
	grey     = color.RGBA{R: 0x76, G: 0x6e, B: 0x6b, A: 0xff}
	hairline = color.RGBA{R: 0xcd, G: 0xc4, B: 0xba, A: 0xff}
	white    = color.RGBA{R: 0xff, G: 0xff, B: 0xff, A: 0xff}
)

// presses bounds how many documents are made at once, in requests and jobs
// together: making them is all computing, and the other half of the processor
// is for who buys.
var presses = semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)/2)))

// PDF writes a document of printable tickets, when it is its turn. It fails
// only when w does, when a code is too long for a QR code, or when ctx ends:
// nobody waits for the pages any more.
func PDF(ctx context.Context, w io.Writer, doc Document) error {
	if err := presses.Acquire(ctx, 1); err != nil {
		return err
	}
	defer presses.Release(1)
	doc.First, doc.Of = cmp.Or(doc.First, 1), cmp.Or(doc.Of, len(doc.Tickets))
	if doc.Labels.Date == nil {
		doc.Labels = LabelsFor(doc.Language)
	}
	if doc.Accent == (color.RGBA{}) {
		doc.Accent = burgundy
	}
	lang := cmp.Or(doc.Language, "en")
	s := &sheet{document: newDocument(), Document: doc, mirrored: rightToLeft(lang)}
	base := di.DirectionLTR
	if s.mirrored {
		base = di.DirectionRTL
	}
	s.typesetter = newTypesetter(lang, base)

	for i, t := range doc.Tickets {
		s.top = halfHeight * float64(i%2)
		if err := s.ticket(i, t); err != nil {
			return err
		}
		if i%2 == 1 || i == len(doc.Tickets)-1 {
			if err := ctx.Err(); err != nil {
				return err
			}
			s.page(pageWidth*mm, pageHeight*mm, s.content.Bytes())
			s.content.Reset()
		}
	}
	title := "Tickets"
	if len(doc.Tickets) > 0 {
		title = joined(doc.Tickets[0].Event, doc.Tickets[0].Reference)
	}
	return s.finish(w, title, lang)
}

// sheet draws tickets. Places are in millimetres from the start of the line,
// which is on the right where that is how one reads, and from the top of the
// half of the page that is being drawn.
type sheet struct {
	*document
	*typesetter
	Document
	content  bytes.Buffer
	top      float64
	mirrored bool
}

func (s *sheet) ticket(i int, t Ticket) error {
	l := s.Labels
	s.card()
	if i%2 == 0 && i+1 < len(s.Tickets) {
		s.cut()
	}
	s.edge(l.Admit)

	s.text(joined(t.Venue, t.Hall), at{bodyX, cardY + 9.5, bodyWidth, 8}, look{style: semibold, most: 10.5, least: 6, color: s.Accent, spacing: 30})
	bottom := s.text(t.Event, at{bodyX, cardY + 19, bodyWidth, 29}, look{style: serif, most: 31, least: 9, color: dark})
	bottom = max(bottom, cardY+30) + 5
	s.rule(bodyX, bottom, 16, 0.7, gold)
	bottom = s.text(l.Date(t.Starts), at{bodyX, bottom + 5, bodyWidth, 6}, look{style: semibold, most: 13, least: 8, color: dark})
	clock, zone := t.Starts.Format("15:04"), zoneOf(t.Starts)
	if !t.Doors.IsZero() {
		zone = joined(with(l.Doors, t.Doors.Format("15:04")), zone)
	}
	right := s.textWidth(clock, at{bodyX, bottom + 3, 40, 6}, look{style: semibold, most: 13, least: 13, color: dark})
	s.text(zone, at{bodyX + right + 3, bottom + 3 + 0.85, bodyWidth - right - 3, 5}, look{style: sans, most: 9, least: 5, color: grey})

	s.place(t)
	s.foot(t)
	return s.stub(i, t)
}

// place says where to sit or stand, in cells with hairlines between them.
func (s *sheet) place(t Ticket) {
	const y = cardY + 72
	type cell struct {
		label, value string
		share        float64
	}
	var cells []cell
	total := 0.0
	for _, c := range []cell{
		{s.Labels.Section, t.Section, 2}, {s.Labels.Row, t.Row, 1}, {s.Labels.Seat, t.Seat, 1}, {s.Labels.Area, t.Area, 4},
	} {
		if c.value != "" {
			cells = append(cells, c)
			total += c.share
		}
	}
	s.rule(bodyX, y, bodyWidth, 0.2, hairline)
	x := bodyX
	for i, c := range cells {
		width := bodyWidth * c.share / total
		inset := 0.0
		if i > 0 {
			s.fill(x, y+3, 0.2, 14, hairline)
			inset = 5
		}
		s.label(c.label, x+inset, y+4, width-inset-2)
		s.text(c.value, at{x + inset, y + 8.6, width - inset - 3, 10}, look{style: serif, most: 24, least: 6, color: dark})
		x += width
	}
	s.rule(bodyX, y+20.5, bodyWidth, 0.2, hairline)
}

// foot says whose ticket it is, of which type and at what price.
func (s *sheet) foot(t Ticket) {
	const y = cardY + 96.5
	x, rest := bodyX, bodyWidth
	if t.Holder != "" {
		width := bodyWidth * 0.62
		s.label(s.Labels.Holder, x, y, width-4)
		s.text(t.Holder, at{x, y + 4.2, width - 4, 14.5}, look{style: semibold, most: 13, least: 5, color: dark})
		x, rest = x+width, rest-width
	}
	if t.Type == "" && t.Currency == "" {
		return
	}
	s.label(s.Labels.TicketType, x, y, rest)
	bottom := s.text(t.Type, at{x, y + 4.2, rest, 7}, look{style: semibold, most: 11, least: 5.5, color: dark})
	if t.Currency != "" {
		s.text(s.Labels.amount(t.PriceMinor, t.Currency), at{x, bottom + 2, rest, 5}, look{style: sans, most: 10, least: 5, color: grey})
	}
}

// stub has what is looked at in the doorway.
func (s *sheet) stub(i int, t Ticket) error {
	const side = stubWidth
	if err := s.qr(t.Code, stubX, cardY+9.5, side); err != nil {
		return err
	}
	y := cardY + 9.5 + side + 7
	if t.Reference != "" {
		s.label(s.Labels.Reference, stubX, y, side)
	}
	y = s.text(t.Reference, at{stubX, y + 4.6, side, 7}, look{style: semibold, most: 15, least: 6, color: dark, spacing: 40}) + 5.5
	l := s.Labels
	y = s.text(joined(t.Section, with(l.Row, t.Row), with(l.Seat, t.Seat), t.Area), at{stubX, y, side, 4}, look{style: semibold, most: 9, least: 5, color: dark}) + 1.8
	s.text(l.Date(t.Starts)+", "+t.Starts.Format("15:04"), at{stubX, y, side, 4}, look{style: sans, most: 8, least: 5, color: grey})
	s.text(fmt.Sprintf(s.Labels.Ticket, s.First+i, s.Of), at{stubX, cardY + cardHeight - 13.5, side, 4}, look{style: sans, most: 7.5, least: 5, color: grey})
	s.text(t.ID.String(), at{stubX, cardY + cardHeight - 9.2, side, 3}, look{style: sans, most: 5.6, least: 4, color: grey})
	s.text(s.Labels.Note, at{cardX + 2, cardY + cardHeight + 4.5, cardWidth - 4, 7}, look{style: sans, most: 7, least: 5, color: grey})
	return nil
}

// joined puts together those parts that are not empty.
func joined(parts ...string) string {
	var some []string
	for _, p := range parts {
		if p != "" {
			some = append(some, p)
		}
	}
	return strings.Join(some, " · ")
}

// with puts a label before a value, if there is one.
func with(label, value string) string {
	if value == "" {
		return ""
	}
	return label + " " + value
}

// zoneOf names a time's zone: CET (Europe/Berlin). Zones that have no letters
// of their own are named by their offset.
func zoneOf(t time.Time) string {
	name, _ := t.Zone()
	if strings.HasPrefix(name, "+") || strings.HasPrefix(name, "-") {
		name = "UTC" + t.Format("-07:00")
	}
	if place := t.Location().String(); place != name && place != "Local" && place != "" {
		return name + " (" + place + ")"
	}
	return name
}
