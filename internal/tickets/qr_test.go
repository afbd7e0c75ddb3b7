package tickets_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"

	"github.com/rowlock/rowlock/internal/tickets"
)

func read(t *testing.T, img image.Image) string {
	t.Helper()
	bitmap, err := gozxing.NewBinaryBitmapFromImage(img)
	if err != nil {
		t.Fatal(err)
	}
	got, err := qrcode.NewQRCodeReader().Decode(bitmap, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got.GetText()
}

func TestAScannerReadsTheCodeFromThePNG(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 160, 333, 1024} {
		picture, err := tickets.QRPNG(code1, size)
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(picture))
		if err != nil {
			t.Fatal(err)
		}
		// 45 modules and the quiet zone: a code of version 7, which it is
		// only as long as the alphanumeric mode holds all of the code.
		if want := max(size, 53); img.Bounds() != image.Rect(0, 0, want, want) {
			t.Errorf("size %d: the picture is %v", size, img.Bounds())
		}
		quiet := 4 * (img.Bounds().Dx() / 53)
		for i := range img.Bounds().Dx() {
			for j := range quiet {
				for _, p := range []image.Point{{i, j}, {j, i}, {i, img.Bounds().Dy() - 1 - j}, {img.Bounds().Dx() - 1 - j, i}} {
					if r, _, _, _ := img.At(p.X, p.Y).RGBA(); r == 0 {
						t.Fatalf("size %d: the quiet zone is dark at %v", size, p)
					}
				}
			}
		}
		if got := read(t, img); got != code1 {
			t.Errorf("size %d: read %s", size, got)
		}
	}
}

func TestAPNGIsNeverLargerThanTheLargest(t *testing.T) {
	t.Parallel()
	picture, err := tickets.QRPNG(code1, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := png.DecodeConfig(bytes.NewReader(picture)); err != nil || c.Width != tickets.QRSizeMax {
		t.Errorf("%d wide, %v", c.Width, err)
	}
}

func TestAScannerReadsTheCodeFromTheSVG(t *testing.T) {
	t.Parallel()
	title := `Ticket of Zoë & "Bo" <3`
	picture, err := tickets.QRSVG(code1, title)
	if err != nil {
		t.Fatal(err)
	}
	var svg struct {
		Role    string `xml:"role,attr"`
		ViewBox string `xml:"viewBox,attr"`
		Title   string `xml:"title"`
		Paths   []struct {
			D string `xml:"d,attr"`
		} `xml:"path"`
	}
	if err := xml.Unmarshal(picture, &svg); err != nil {
		t.Fatal(err)
	}
	if svg.Role != "img" || svg.Title != title || svg.ViewBox != "0 0 53 53" || len(svg.Paths) != 2 {
		t.Fatalf("%+v", svg)
	}
	const scale = 4
	img := image.NewGray(image.Rect(0, 0, 53*scale, 53*scale))
	for i := range img.Pix {
		img.Pix[i] = 0xff
	}
	for _, part := range strings.Split(strings.Trim(svg.Paths[1].D, "Mz"), "zM") {
		var x, y, n, back int
		if _, err := fmt.Sscanf(part, "%d %dh%dv1h-%d", &x, &y, &n, &back); err != nil || n != back {
			t.Fatalf("%s: %v", part, err)
		}
		for dy := range scale {
			for dx := range n * scale {
				img.SetGray(x*scale+dx, y*scale+dy, color.Gray{})
			}
		}
	}
	if got := read(t, img); got != code1 {
		t.Errorf("read %s", got)
	}
}

func TestATextTooLongForAnyQRCodeIsAnError(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("A", 5000)
	if _, err := tickets.QRPNG(long, 100); err == nil {
		t.Error("a PNG of it")
	}
	if _, err := tickets.QRSVG(long, ""); err == nil {
		t.Error("an SVG of it")
	}
}
