package tickets

import (
	"fmt"
	"image/color"
	"math"
	"strings"
)

// at is a box for a text, in millimetres.
type at struct{ x, y, width, height float64 }

// overhang is how far the strokes of a text may reach out of its box, in
// millimetres.
const overhang = 2.0

// look is how a text is set: sizes in points, spacing between letters in
// thousandths of the size.
type look struct {
	style       string
	most, least float64
	color       color.RGBA
	spacing     int
}

// point is a place on the page as a PDF counts: in points, from the lower left.
func (s *sheet) point(x, y float64) (float64, float64) {
	if s.mirrored {
		x = pageWidth - x
	}
	return x * mm, (pageHeight - s.top - y) * mm
}

func (s *sheet) ops(format string, args ...any) {
	for i, a := range args {
		if f, ok := a.(float64); ok {
			args[i] = num(f)
		}
	}
	fmt.Fprintf(&s.content, format+"\n", args...)
}

// ink sets the colour of what is filled and of what is stroked.
func (s *sheet) ink(c color.RGBA) {
	r, g, b := float64(c.R)/255, float64(c.G)/255, float64(c.B)/255
	s.ops("%v %v %v rg %v %v %v RG", r, g, b, r, g, b)
}

// text sets a text at the start of a box and answers where its lowest line ends.
func (s *sheet) text(text string, box at, l look) (bottom float64) {
	bottom, _ = s.set(text, box, l)
	return bottom
}

// textWidth is text that answers how wide it came out.
func (s *sheet) textWidth(text string, box at, l look) (width float64) {
	_, width = s.set(text, box, l)
	return width
}

func (s *sheet) set(text string, box at, l look) (bottom, width float64) {
	p, size, lines := s.fitted(text, l, box.width*mm, box.height*mm)
	// Whatever somebody calls themselves, it does not cover the seat or the code.
	px, py := s.point(box.x, box.y+box.height+overhang)
	if s.mirrored {
		px -= box.width * mm
	}
	s.ops("q %v %v %v %v re W n", px-overhang*mm, py, (box.width+2*overhang)*mm, (box.height+2*overhang)*mm)
	s.ink(l.color)
	y := box.y
	for i, line := range lines {
		if i > 0 {
			y += leading * size / em / mm
		}
		y += line.ascent * size / em / mm
		wide := line.width * size / em
		px, py := s.point(box.x, y)
		if s.mirrored {
			px -= wide
		}
		s.draw(&s.content, s.typesetter, p, line, px, py, size, false)
		y += line.descent * size / em / mm
		width = max(width, wide/mm)
	}
	s.ops("Q")
	return y, width
}

// label sets the name of a field, small and in capitals. Scripts without
// capitals would be hard to read as small as that.
func (s *sheet) label(text string, x, y, width float64) {
	capitals, most := strings.ToUpper(text), 6.2
	if capitals == strings.ToLower(text) {
		most = 8
	}
	s.text(capitals, at{x, y, width, 3}, look{style: semibold, most: most, least: 4, color: grey, spacing: 90})
}

func (s *sheet) fill(x, y, width, height float64, c color.RGBA) {
	s.ink(c)
	px, py := s.point(x, y+height)
	if s.mirrored {
		px -= width * mm
	}
	s.ops("%v %v %v %v re f", px, py, width*mm, height*mm)
}

func (s *sheet) rule(x, y, width, thick float64, c color.RGBA) { s.fill(x, y, width, thick, c) }

// card draws the ticket's outline, with a bite at both ends of the line along
// which the stub is torn off.
func (s *sheet) card() {
	const (
		left, right = cardX, cardX + cardWidth
		up, down    = cardY, cardY + cardHeight
		bite        = 3.0
	)
	s.ink(hairline)
	s.ops("%v w", 0.3*mm)
	s.move(left+corner, up)
	s.line(tearX-bite, up)
	s.arc(tearX, up, bite, math.Pi, 0)
	s.line(right-corner, up)
	s.arc(right-corner, up+corner, corner, -math.Pi/2, 0)
	s.line(right, down-corner)
	s.arc(right-corner, down-corner, corner, 0, math.Pi/2)
	s.line(tearX+bite, down)
	s.arc(tearX, down, bite, 0, -math.Pi)
	s.line(left+corner, down)
	s.arc(left+corner, down-corner, corner, math.Pi/2, math.Pi)
	s.line(left, up+corner)
	s.arc(left+corner, up+corner, corner, math.Pi, 3*math.Pi/2)
	s.ops("h S")
	s.ops("q [0 %v] 0 d 1 J %v w", 1.6*mm, 0.45*mm)
	s.move(tearX, up+bite+2)
	s.line(tearX, down-bite-1)
	s.ops("S Q")
}

// edge draws the dark band at the start of the card, with a text along it.
func (s *sheet) edge(text string) {
	const (
		left, right = cardX, cardX + bandWidth
		up, down    = cardY, cardY + cardHeight
	)
	s.ink(s.Accent)
	s.move(right, up)
	s.line(right, down)
	s.line(left+corner, down)
	s.arc(left+corner, down-corner, corner, math.Pi/2, math.Pi)
	s.line(left, up+corner)
	s.arc(left+corner, up+corner, corner, math.Pi, 3*math.Pi/2)
	s.ops("f")
	s.fill(right+0.9, up, 0.35, cardHeight, gold)

	p, size, lines := s.fitted(strings.ToUpper(text), look{style: semibold, most: 8.5, least: 5, spacing: 320}, (cardHeight-16)*mm, 6*mm)
	if len(lines) == 0 {
		return
	}
	s.ink(white)
	x, y := s.point(left+bandWidth/2, up+cardHeight/2)
	x += lines[0].ascent * size / em / 2
	s.draw(&s.content, s.typesetter, p, lines[0], x, y-lines[0].width*size/em/2, size, true)
}

// cut draws the line along which two tickets are parted.
func (s *sheet) cut() {
	s.ink(hairline)
	s.ops("q %v w [%v %v] 0 d", 0.2*mm, 2*mm, 2*mm)
	s.move(0, halfHeight)
	s.line(pageWidth, halfHeight)
	s.ops("S Q")
}

func (s *sheet) move(x, y float64) {
	px, py := s.point(x, y)
	s.ops("%v %v m", px, py)
}

func (s *sheet) line(x, y float64) {
	px, py := s.point(x, y)
	s.ops("%v %v l", px, py)
}

// arc goes on with a part of a circle, at most half of it, from one angle to
// another; they grow clockwise, y pointing down.
func (s *sheet) arc(cx, cy, r, from, to float64) {
	const parts = 2
	step := (to - from) / parts
	k := 4.0 / 3 * math.Tan(step/4) * r
	for i := range parts {
		a := from + float64(i)*step
		b := a + step
		x1, y1 := s.point(cx+r*math.Cos(a)-k*math.Sin(a), cy+r*math.Sin(a)+k*math.Cos(a))
		x2, y2 := s.point(cx+r*math.Cos(b)+k*math.Sin(b), cy+r*math.Sin(b)-k*math.Cos(b))
		x3, y3 := s.point(cx+r*math.Cos(b), cy+r*math.Sin(b))
		s.ops("%v %v %v %v %v %v c", x1, y1, x2, y2, x3, y3)
	}
}

// qr draws a code as one path.
func (s *sheet) qr(code string, x, y, side float64) error {
	m, err := matrix(code)
	if err != nil {
		return err
	}
	px, py := s.point(x, y)
	if s.mirrored {
		px -= side * mm
	}
	module := side * mm / float64(m.Size())
	s.ops("0 0 0 rg q %v 0 0 %v %v %v cm", module, -module, px, py)
	runs(m, func(x, y, n int) { s.ops("%d %d %d 1 re", x, y, n) })
	s.ops("f Q")
	return nil
}
