package tickets

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"image/png"

	qr "github.com/piglig/go-qr"
)

// quiet is the white margin around a QR code, in modules, that ISO/IEC 18004
// asks for. Without it scanners miss codes on dark pages.
const quiet = 4

// QRSizeMax is the largest side of a QR picture, in pixels.
const QRSizeMax = 4096

// matrix encodes text at level M, which 15 % of dirt do not harm. Level Q would
// cost two more sizes of the code, and smaller modules are a greater risk for a
// telephone in a dark foyer than a stain.
func matrix(text string) (*qr.QrCode, error) {
	m, err := qr.EncodeText(text, qr.Medium)
	if err != nil {
		return nil, fmt.Errorf("tickets: qr: %w", err)
	}
	return m, nil
}

// runs calls draw for each horizontal run of n dark modules.
func runs(m *qr.QrCode, draw func(x, y, n int)) {
	for y := range m.Size() {
		for x := 0; x < m.Size(); x++ {
			n := 0
			for x+n < m.Size() && m.Module(x+n, y) {
				n++
			}
			if n > 0 {
				draw(x, y, n)
				x += n
			}
		}
	}
}

// QRSVG draws a ticket's code as an SVG of one path that scales to any size,
// black on white with its quiet zone whatever page it stands on. title is what
// a screen reader says of it, in the page's language.
func QRSVG(code, title string) ([]byte, error) {
	m, err := matrix(code)
	if err != nil {
		return nil, err
	}
	side := m.Size() + 2*quiet
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" shape-rendering="crispEdges"><title>`, side, side)
	if err := xml.EscapeText(&b, []byte(title)); err != nil {
		return nil, fmt.Errorf("tickets: svg: %w", err)
	}
	fmt.Fprintf(&b, `</title><path fill="#fff" d="M0 0h%dv%dH0z"/><path d="`, side, side)
	runs(m, func(x, y, n int) { fmt.Fprintf(&b, "M%d %dh%dv1h-%dz", x+quiet, y+quiet, n, n) })
	b.WriteString(`"/></svg>`)
	return b.Bytes(), nil
}

// QRPNG draws a ticket's code as a PNG of sizePx by sizePx pixels, at most
// [QRSizeMax]. Every module has the same whole number of pixels, so that the
// picture is crisp; what is left over is added to the quiet zone. A size too
// small for that is made the smallest that is not.
func QRPNG(code string, sizePx int) ([]byte, error) {
	m, err := matrix(code)
	if err != nil {
		return nil, err
	}
	side := m.Size() + 2*quiet
	sizePx = min(max(sizePx, side), QRSizeMax)
	scale := sizePx / side
	margin := (sizePx - m.Size()*scale) / 2
	img := image.NewPaletted(image.Rect(0, 0, sizePx, sizePx), color.Palette{color.White, color.Black})
	runs(m, func(x, y, n int) {
		for dy := range scale {
			row := img.Pix[img.PixOffset(margin+x*scale, margin+y*scale+dy):]
			for i := range n * scale {
				row[i] = 1
			}
		}
	})
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, fmt.Errorf("tickets: png: %w", err)
	}
	return b.Bytes(), nil
}
