package tickets

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
)

// The fonts, each a subset made by fonts/make.sh. One that is named by four
// letters is for the script of that ISO 15924 code.
//
//go:embed fonts/*.ttf.gz
var fontFiles embed.FS

// The three fonts that the sheet is designed with. Whatever they have no sign
// for is taken from the script's own font or from others.
const (
	sans     = "sans"
	semibold = "sans-semibold"
	serif    = "serif"
)

// others are tried after the designed font, the plain one and the script's
// own, in this order: Chinese, Japanese and Korean signs, then what people
// put beside their names.
var others = []string{"hani", "hani-jp", "hani-hk", "hang", "emoji", "symbols", "symbols2", "math"}

// typeface is a font that has been read. It is never changed.
type typeface struct {
	file   string // as typefaces names it
	name   string // as a PDF names it
	font   *font.Font
	tables map[string][]byte // those that a PDF needs
}

// typefaces has a function for each font, which reads it when it is first
// asked: few tickets need more than two of them.
var typefaces = func() map[string]func() *typeface {
	files, err := fontFiles.ReadDir("fonts")
	if err != nil {
		panic(err) // they are in the binary
	}
	all := map[string]func() *typeface{}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".ttf.gz")
		all[name] = sync.OnceValue(func() *typeface { return loadTypeface(name) })
	}
	return all
}()

// loadTypeface panics when a file is not a font: it is in the binary, and a
// test reads each of them.
func loadTypeface(file string) *typeface {
	t, err := readTypeface(file)
	if err != nil {
		panic(fmt.Sprintf("tickets: font %s: %v", file, err))
	}
	return t
}

func readTypeface(file string) (*typeface, error) {
	zipped, err := fontFiles.ReadFile("fonts/" + file + ".ttf.gz")
	if err != nil {
		return nil, err
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(unzipped)
	if err != nil {
		return nil, err
	}
	loader, err := opentype.NewLoader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	t := &typeface{file: file, tables: map[string][]byte{}}
	for _, tag := range []string{"glyf", "head", "hhea", "hmtx", "loca", "maxp"} {
		if t.tables[tag], err = loader.RawTable(opentype.MustNewTag(tag)); err != nil {
			return nil, fmt.Errorf("table %s: %w", tag, err)
		}
	}
	if t.font, err = font.NewFont(loader); err != nil {
		return nil, err
	}
	t.name = strings.ReplaceAll(t.font.Describe().Family, " ", "")
	return t, nil
}

// subset is a TrueType font with the outlines of the given glyphs only. The
// others are empty, so that every glyph keeps its number and the document can
// use the numbers that the shaper gave; compressed, emptiness costs nothing.
func (t *typeface) subset(gids map[font.GID]bool) []byte {
	need, last := map[int]bool{}, 0
	var want func(gid int)
	want = func(gid int) {
		if need[gid] {
			return
		}
		need[gid], last = true, max(last, gid)
		for _, part := range components(outline(t.tables, gid)) {
			want(part)
		}
	}
	want(0) // the sign for a missing one must be there
	for gid := range gids {
		want(int(gid))
	}

	newLoca := make([]byte, 0, 4*(last+2))
	var newGlyf []byte
	for gid := range last + 1 {
		newLoca = binary.BigEndian.AppendUint32(newLoca, uint32(len(newGlyf)))
		if need[gid] {
			newGlyf = append(newGlyf, outline(t.tables, gid)...)
			newGlyf = append(newGlyf, make([]byte, -len(newGlyf)&3)...)
		}
	}
	newLoca = binary.BigEndian.AppendUint32(newLoca, uint32(len(newGlyf)))

	head, hhea, maxp := bytes.Clone(t.tables["head"]), bytes.Clone(t.tables["hhea"]), bytes.Clone(t.tables["maxp"])
	binary.BigEndian.PutUint32(head[8:], 0)  // the sum of the whole file, which nobody checks within a PDF
	binary.BigEndian.PutUint16(head[50:], 1) // loca is long
	binary.BigEndian.PutUint16(maxp[4:], uint16(last+1))
	hMetrics := min(int(binary.BigEndian.Uint16(hhea[34:])), last+1)
	binary.BigEndian.PutUint16(hhea[34:], uint16(hMetrics))
	hmtx := t.tables["hmtx"][:4*hMetrics+2*(last+1-hMetrics)]

	return fontFile([]fontTable{
		{"glyf", newGlyf}, {"head", head}, {"hhea", hhea}, {"hmtx", hmtx}, {"loca", newLoca}, {"maxp", maxp},
	})
}

// outline is the shape of a glyph as the tables of a font have it.
func outline(tables map[string][]byte, gid int) []byte {
	glyf, loca := tables["glyf"], tables["loca"]
	if long := binary.BigEndian.Uint16(tables["head"][50:]) == 1; long {
		return glyf[binary.BigEndian.Uint32(loca[4*gid:]):binary.BigEndian.Uint32(loca[4*gid+4:])]
	}
	return glyf[2*int(binary.BigEndian.Uint16(loca[2*gid:])) : 2*int(binary.BigEndian.Uint16(loca[2*gid+2:]))]
}

// components are the glyphs of which a composite outline is put together.
func components(outline []byte) (gids []int) {
	if len(outline) < 10 || int16(binary.BigEndian.Uint16(outline)) >= 0 {
		return nil // empty, or a simple one
	}
	const (
		argsAreWords = 1 << 0
		scale        = 1 << 3
		more         = 1 << 5
		scaleXY      = 1 << 6
		matrix       = 1 << 7
	)
	for at := 10; ; {
		flags := binary.BigEndian.Uint16(outline[at:])
		gids = append(gids, int(binary.BigEndian.Uint16(outline[at+2:])))
		at += 6
		if flags&argsAreWords != 0 {
			at += 2
		}
		switch {
		case flags&scale != 0:
			at += 2
		case flags&scaleXY != 0:
			at += 4
		case flags&matrix != 0:
			at += 8
		}
		if flags&more == 0 {
			return gids
		}
	}
}

type fontTable struct {
	tag  string
	data []byte
}

// fontFile puts tables, sorted by tag, into a file.
func fontFile(tables []fontTable) []byte {
	entries := 0
	for 1<<(entries+1) <= len(tables) {
		entries++
	}
	file := []byte{0, 1, 0, 0}
	for _, n := range []int{len(tables), 16 << entries, entries, 16*len(tables) - 16<<entries} {
		file = binary.BigEndian.AppendUint16(file, uint16(n))
	}
	at := len(file) + 16*len(tables)
	for _, t := range tables {
		file = append(file, t.tag...)
		file = binary.BigEndian.AppendUint32(file, checksum(t.data))
		file = binary.BigEndian.AppendUint32(file, uint32(at))
		file = binary.BigEndian.AppendUint32(file, uint32(len(t.data)))
		at += (len(t.data) + 3) &^ 3
	}
	for _, t := range tables {
		file = append(file, t.data...)
		file = append(file, make([]byte, -len(t.data)&3)...)
	}
	return file
}

func checksum(data []byte) (sum uint32) {
	for len(data) >= 4 {
		sum += binary.BigEndian.Uint32(data)
		data = data[4:]
	}
	var rest [4]byte
	copy(rest[:], data)
	return sum + binary.BigEndian.Uint32(rest[:])
}
