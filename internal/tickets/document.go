package tickets

import (
	"bytes"
	"compress/zlib"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/shaping"
)

// document writes a PDF 1.7 file: pages of shapes and of glyphs that have been
// placed already, and the fonts with just these glyphs. It is written here
// because the libraries that write PDF either take text and not glyphs, which
// rules out most scripts, or come with a drawing program attached.
type document struct {
	out     bytes.Buffer
	packer  *zlib.Writer
	offsets []int // of object n at n-1
	pages   []int
	fonts   []*embedded
}

// embedded is a font as far as the document uses it.
type embedded struct {
	face    *typeface
	object  int
	glyphs  map[font.GID]bool
	widths  map[font.GID]int
	unicode map[font.GID]string
}

// The first objects have fixed numbers, since others name them.
const (
	catalogObject = 1 + iota
	pagesObject
	resourcesObject
	infoObject
	fixedObjects = infoObject
)

func newDocument() *document {
	d := &document{packer: zlib.NewWriter(io.Discard), offsets: make([]int, fixedObjects)}
	// The second line tells programs that move files that this one is binary.
	d.out.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	return d
}

// reserve is the number of an object that is written later.
func (d *document) reserve() int {
	d.offsets = append(d.offsets, 0)
	return len(d.offsets)
}

func (d *document) object(n int, format string, args ...any) {
	d.offsets[n-1] = d.out.Len()
	fmt.Fprintf(&d.out, "%d 0 obj\n", n)
	fmt.Fprintf(&d.out, format, args...)
	d.out.WriteString("\nendobj\n")
}

// stream writes data compressed. entries are more of its dictionary.
func (d *document) stream(entries string, data []byte) int {
	var packed bytes.Buffer
	d.packer.Reset(&packed)
	d.packer.Write(data) //nolint:errcheck // memory takes everything
	d.packer.Close()     //nolint:errcheck
	n := d.reserve()
	d.object(n, "<</Length %d/Filter/FlateDecode%s>>\nstream\n%s\nendstream", packed.Len(), entries, packed.Bytes())
	return n
}

// page adds a page, in points.
func (d *document) page(width, height float64, content []byte) {
	contents := d.stream("", content)
	n := d.reserve()
	d.object(n, "<</Type/Page/Parent %d 0 R/MediaBox[0 0 %s %s]/Resources %d 0 R/Contents %d 0 R>>",
		pagesObject, num(width), num(height), resourcesObject, contents)
	d.pages = append(d.pages, n)
}

func (d *document) embedded(face *typeface) (index int, e *embedded) {
	index = slices.IndexFunc(d.fonts, func(e *embedded) bool { return e.face == face })
	if index < 0 {
		index = len(d.fonts)
		d.fonts = append(d.fonts, &embedded{
			face: face, object: d.reserve(),
			glyphs: map[font.GID]bool{}, widths: map[font.GID]int{}, unicode: map[font.GID]string{},
		})
	}
	return index, d.fonts[index]
}

// finish writes what the pages refer to, and the whole to w.
func (d *document) finish(w io.Writer, title, lang string) error {
	var kids, fonts strings.Builder
	for _, p := range d.pages {
		fmt.Fprintf(&kids, "%d 0 R ", p)
	}
	for i, e := range d.fonts {
		d.embed(i, e)
		fmt.Fprintf(&fonts, "/F%d %d 0 R", i, e.object)
	}
	d.object(catalogObject, "<</Type/Catalog/Pages %d 0 R/Lang %s/ViewerPreferences<</DisplayDocTitle true>>>>", pagesObject, textString(lang))
	d.object(pagesObject, "<</Type/Pages/Count %d/Kids[%s]>>", len(d.pages), kids.String())
	d.object(resourcesObject, "<</Font<<%s>>>>", fonts.String())
	d.object(infoObject, "<</Title %s/Creator %s>>", textString(title), textString("Rowlock"))

	xref := d.out.Len()
	fmt.Fprintf(&d.out, "xref\n0 %d\n0000000000 65535 f \n", len(d.offsets)+1)
	for _, at := range d.offsets {
		fmt.Fprintf(&d.out, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&d.out, "trailer\n<</Size %d/Root %d 0 R/Info %d 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(d.offsets)+1, catalogObject, infoObject, xref)
	_, err := d.out.WriteTo(w)
	return err
}

// embed writes a font: its outlines, how wide its glyphs are, and which text
// they stand for, so that it can be searched for and copied.
func (d *document) embed(index int, e *embedded) {
	gids := make([]font.GID, 0, len(e.glyphs))
	for gid := range e.glyphs {
		gids = append(gids, gid)
	}
	slices.Sort(gids)

	var widths, unicode strings.Builder
	for _, gid := range gids {
		fmt.Fprintf(&widths, "%d[%d]", gid, e.widths[gid])
	}
	unicode.WriteString("/CIDInit/ProcSet findresource begin 12 dict begin begincmap\n" +
		"/CIDSystemInfo<</Registry(Adobe)/Ordering(UCS)/Supplement 0>>def/CMapName/Adobe-Identity-UCS def/CMapType 2 def\n" +
		"1 begincodespacerange<0000><FFFF>endcodespacerange\n")
	for part := range slices.Chunk(gids, 100) { // as many as a section may have
		fmt.Fprintf(&unicode, "%d beginbfchar\n", len(part))
		for _, gid := range part {
			fmt.Fprintf(&unicode, "<%04X><%s>\n", gid, utf16Hex(e.unicode[gid]))
		}
		unicode.WriteString("endbfchar\n")
	}
	unicode.WriteString("endcmap CMapName currentdict/CMap defineresource pop end end")

	// Each subset is named by a tag of six letters, different from all others of the document.
	name := fmt.Sprintf("%c%cAAAA+%s", 'A'+index/26, 'A'+index%26, e.face.name)
	file := e.face.subset(e.glyphs)
	program := d.stream(fmt.Sprintf("/Length1 %d", len(file)), file)
	extents, _ := font.NewFace(e.face.font).FontHExtents()
	scale := 1000 / float32(e.face.font.Upem())
	descriptor, descendant, toUnicode := d.reserve(), d.reserve(), d.stream("", []byte(unicode.String()))
	d.object(descriptor, "<</Type/FontDescriptor/FontName/%s/Flags 4/FontBBox[-1000 -500 2000 1200]/ItalicAngle 0/Ascent %.0f/Descent %.0f/CapHeight 714/StemV 80/FontFile2 %d 0 R>>",
		name, extents.Ascender*scale, extents.Descender*scale, program)
	d.object(descendant, "<</Type/Font/Subtype/CIDFontType2/BaseFont/%s/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/FontDescriptor %d 0 R/CIDToGIDMap/Identity/W[%s]>>",
		name, descriptor, widths.String())
	d.object(e.object, "<</Type/Font/Subtype/Type0/BaseFont/%s/Encoding/Identity-H/DescendantFonts[%d 0 R]/ToUnicode %d 0 R>>",
		name, descendant, toUnicode)
}

// draw writes the operators that show a line with its left end at x and y, in
// points. With up it is turned to read from the bottom to the top.
func (d *document) draw(b *bytes.Buffer, t *typesetter, p paragraph, l line, x, y, size float64, up bool) {
	b.WriteString("BT\n")
	for _, run := range l.runs {
		face := t.named[run.Face]
		index, e := d.embedded(face)
		turn := "1 0 0 1"
		if up {
			turn = "0 1 -1 0"
		}
		fmt.Fprintf(b, "/F%d %s Tf %s %s %s Tm ", index, num(size), turn, num(x), num(y))
		// The other scripts' fonts have one weight: for a bold line they are drawn with an outline.
		bold := p.style != sans && !slices.Contains([]string{sans, semibold, serif, "emoji"}, face.file)
		if bold {
			fmt.Fprintf(b, "2 Tr %s w ", num(size*0.025))
		}
		e.show(b, p.text, run, size)
		if bold {
			b.WriteString("0 Tr ")
		}
		if advance := float64(run.Advance) / 64 / em * size; up {
			y += advance
		} else {
			x += advance
		}
	}
	b.WriteString("ET\n")
}

// show writes the glyphs of a run, cluster by cluster. The pen is where the
// widths of the glyphs have brought it; where the shaper wants it elsewhere it
// is moved.
func (e *embedded) show(b *bytes.Buffer, text []rune, run shaping.Output, size float64) {
	var pen, want, rise float64
	open := false
	closeArray := func() {
		if open {
			b.WriteString("]TJ\n")
			open = false
		}
	}
	for i := 0; i < len(run.Glyphs); {
		cluster := run.Glyphs[i : i+max(1, run.Glyphs[i].GlyphsCount())]
		i += len(cluster)
		var source string
		whole := len(cluster) > 1
		if first := cluster[0]; first.TextIndex() < run.Runes.Offset {
			// The … at the end of a cut text stands for what was cut.
			source, whole = string(text[run.Runes.Offset:]), true
			e.unicode[first.GlyphID] = "…"
		} else {
			// A glyph alone says which text it stands for, wherever that is
			// always the same text. Otherwise the cluster says it as a whole.
			source = string(text[first.TextIndex():min(len(text), first.TextIndex()+first.RunesCount())])
			said, known := e.unicode[first.GlyphID]
			if !known {
				e.unicode[first.GlyphID] = source
			}
			whole = whole || known && said != source
		}
		if whole {
			closeArray()
			fmt.Fprintf(b, "/Span<</ActualText<FEFF%s>>>BDC ", utf16Hex(source))
		}
		for _, g := range cluster {
			if g.GlyphID == font.EmptyGlyph { // there to be counted, not to be seen
				want += float64(g.Advance) / 64
				continue
			}
			if _, known := e.widths[g.GlyphID]; !known {
				e.glyphs[g.GlyphID] = true
				e.widths[g.GlyphID] = int(run.Face.HorizontalAdvance(g.GlyphID)*1000/float32(run.Face.Upem()) + 0.5)
			}
			if up := float64(g.YOffset) / 64; up != rise {
				closeArray()
				rise = up
				fmt.Fprintf(b, "%s Ts ", num(rise*size/em))
			}
			if !open {
				b.WriteByte('[')
				open = true
			}
			if at := want + float64(g.XOffset)/64; at-pen > 0.5 || pen-at > 0.5 {
				b.WriteString(num(pen - at))
				pen = at
			}
			fmt.Fprintf(b, "<%04X>", g.GlyphID)
			pen += float64(e.widths[g.GlyphID])
			want += float64(g.Advance) / 64
		}
		if whole {
			closeArray()
			b.WriteString("EMC ")
		}
	}
	closeArray()
	if rise != 0 {
		b.WriteString("0 Ts ")
	}
}

// num writes a number as short as it may be.
func num(f float64) string {
	s := strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.3f", f), "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}

// textString is a text in a dictionary.
func textString(s string) string { return "<FEFF" + utf16Hex(s) + ">" }

func utf16Hex(s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u>>8), byte(u))
	}
	return strings.ToUpper(hex.EncodeToString(b))
}
