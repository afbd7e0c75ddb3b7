package seatplan

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// draft is a plan in the making. Readers fill it in document order; [finish]
// applies the rules that need the whole.
type draft struct {
	opts     Options
	plan     boxoffice.Plan // Seats[i].Category and Areas[i].Category index refs until finish
	origins  []origin       // of plan.Seats
	areaAt   []string       // paths of plan.Areas
	declared []category
	refs     []categoryRef // what seats and areas said of their category
	refIndex map[categoryRef]int
	problems Problems
	warnings []Warning
	unlisted int                    // warnings beyond maxListed
	repeated map[warningKey]*repeat // warnings of which only the first place is told
	tooMany  bool
}

// origin is where a seat stands in its document. A path of its own for each
// of 40,000 seats would be most of the memory of an import, so the seats of a
// row share theirs.
type origin struct {
	parent string // "zones[0].rows[2].seats"; "" for a line of CSV
	index  int
}

func (o origin) String() string {
	if o.parent == "" {
		return fmt.Sprintf("line %d", o.index)
	}
	return o.parent + "[" + strconv.Itoa(o.index) + "]"
}

// category is a declared category, and categoryRef how seats name one: by key
// (seats.io) or by name. At most one seat in a thousand brings a new ref.
type category struct {
	boxoffice.Category
	key        string
	folded     string // the name, folded
	accessible bool
}

type categoryRef struct{ key, name string }

// noCategory is the ref of a seat that names none, until it inherits one.
const noCategory = -1

type warningKey struct{ path, message string }

type repeat struct {
	order int
	count int
}

func newDraft(opts Options) *draft {
	return &draft{opts: opts, refIndex: map[categoryRef]int{}, repeated: map[warningKey]*repeat{}}
}

func (b *draft) problem(path, format string, args ...any) {
	b.problems.add(Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// seatProblem is a problem of one seat, by its place in the plan.
func (b *draft) seatProblem(i int, format string, args ...any) {
	b.problems.add(Problem{Path: b.origins[i].String(), Message: fmt.Sprintf(format, args...), Seat: i + 1})
}

func (b *draft) warn(path, format string, args ...any) {
	if len(b.warnings) >= maxListed {
		b.unlisted++
		return
	}
	b.warnings = append(b.warnings, Warning{path, fmt.Sprintf(format, args...)})
}

// warnEach counts a warning that may apply to every seat. Its path is a
// pattern such as zones[].rows[].color.
func (b *draft) warnEach(pattern, message string) {
	key := warningKey{pattern, message}
	if r := b.repeated[key]; r != nil {
		r.count++
	} else if len(b.repeated) < maxListed {
		b.repeated[key] = &repeat{order: len(b.repeated), count: 1}
	} else {
		b.unlisted++
	}
}

func (b *draft) listWarnings() []Warning {
	var list []Warning
	keys := slices.SortedFunc(maps.Keys(b.repeated), func(x, y warningKey) int { return b.repeated[x].order - b.repeated[y].order })
	for _, key := range keys {
		message := key.message
		if n := b.repeated[key].count; n > 1 {
			message = fmt.Sprintf("%s (%d times)", message, n)
		}
		list = append(list, Warning{key.path, message})
	}
	list = append(list, b.warnings...)
	if len(list) > maxListed {
		b.unlisted += len(list) - maxListed
		list = list[:maxListed]
	}
	if b.unlisted > 0 {
		list = append(list, Warning{"$", fmt.Sprintf("and %d more warnings", b.unlisted)})
	}
	return list
}

// ref returns the number by which a seat names its category until finish.
func (b *draft) ref(key, name string) int {
	if key == "" && name == "" {
		return noCategory
	}
	ref := categoryRef{key, name}
	i, ok := b.refIndex[ref]
	if !ok {
		i = len(b.refs)
		b.refs = append(b.refs, ref)
		b.refIndex[ref] = i
	}
	return i
}

func (b *draft) declare(path string, c category) {
	switch {
	case c.Name == "":
		b.problem(path, "the category has no name")
		return
	case len(b.declared) == maxCategories:
		b.problem(path, "there are more than %d categories", maxCategories)
		return
	}
	c.folded = fold(c.Name)
	for _, other := range b.declared {
		switch {
		case other.Name == c.Name:
			b.problem(path, "the category %q is declared twice", c.Name)
			return
		case c.key != "" && other.key == c.key:
			b.problem(path, "the category key %q is declared twice", c.key)
			return
		case other.folded == c.folded:
			b.warn(path, "the category %q differs from %q only in case, spacing or Unicode form", c.Name, other.Name)
		}
	}
	b.declared = append(b.declared, c)
}

func (b *draft) addSeat(at origin, s boxoffice.Seat) {
	if len(b.plan.Seats) >= b.opts.MaxSeats {
		if !b.tooMany {
			b.tooMany = true
			b.problem(at.String(), "there are more than %d seats", b.opts.MaxSeats)
		}
		return
	}
	if s.Kind == "" {
		s.Kind = boxoffice.SeatStandard
	}
	b.plan.Seats = append(b.plan.Seats, s)
	b.origins = append(b.origins, at)
}

func (b *draft) addArea(path string, a boxoffice.Area) {
	if len(b.plan.Areas) == maxAreas {
		b.problem(path, "there are more than %d areas", maxAreas)
	}
	if len(b.plan.Areas) < maxAreas {
		b.plan.Areas = append(b.plan.Areas, a)
		b.areaAt = append(b.areaAt, path)
	}
}

func (b *draft) addDrawing(path string, d boxoffice.Drawing) {
	switch {
	case d.Kind == "text" && d.Text == "":
	case len(b.plan.Drawing) >= maxDrawing:
		b.warnEach(path, fmt.Sprintf("there are more than %d drawings; the rest are left out", maxDrawing))
	default:
		b.plan.Drawing = append(b.plan.Drawing, d)
	}
}

// mark is a point in the making of a draft: what comes after it belongs to
// the object that is being read.
type mark struct{ seats, areas, drawing int }

func (b *draft) mark() mark {
	return mark{len(b.plan.Seats), len(b.plan.Areas), len(b.plan.Drawing)}
}

// move adds the position of a parent to all that came after m.
func (b *draft) move(m mark, dx, dy float64) {
	for i := m.seats; i < len(b.plan.Seats); i++ {
		if s := &b.plan.Seats[i]; s.Placed {
			s.X, s.Y = s.X+dx, s.Y+dy
		}
	}
	for i := m.areas; i < len(b.plan.Areas); i++ {
		a := &b.plan.Areas[i]
		if a.Placed {
			a.X, a.Y = a.X+dx, a.Y+dy
		}
		movePoints(a.Outline, dx, dy)
	}
	for i := m.drawing; i < len(b.plan.Drawing); i++ {
		d := &b.plan.Drawing[i]
		d.X, d.Y = d.X+dx, d.Y+dy
		movePoints(d.Points, dx, dy)
	}
}

func movePoints(points []boxoffice.Point, dx, dy float64) {
	for i := range points {
		points[i].X += dx
		points[i].Y += dy
	}
}

// inherit gives a parent's category to what came after m and has none.
func (b *draft) inherit(m mark, ref int) {
	for i := m.seats; i < len(b.plan.Seats); i++ {
		if s := &b.plan.Seats[i]; s.Category == noCategory {
			s.Category = ref
		}
	}
	for i := m.areas; i < len(b.plan.Areas); i++ {
		if a := &b.plan.Areas[i]; a.Category == noCategory {
			a.Category = ref
		}
	}
}

// finish applies the rules that need the whole document.
func (b *draft) finish() {
	if len(b.plan.Seats) == 0 && len(b.plan.Areas) == 0 && b.problems.Total == 0 {
		b.problem("$", "the document has no seats and no areas")
	}
	b.resolveCategories()
	b.checkSeats()
	b.checkAreas()
	if b.problems.Total == 0 {
		b.tidy()
	}
}

// resolveCategories replaces refs by indexes into plan.Categories, in the
// order of their declaration. Categories without a place are left out, since
// every category of a show wants a price.
func (b *draft) resolveCategories() {
	byKey, byName := map[string]int{}, map[string]int{}
	for i, c := range b.declared {
		byKey[c.key], byName[c.Name] = i, i
	}
	found := make([]int, len(b.refs)) // index into declared, or noCategory
	for i, ref := range b.refs {
		keyed, hasKey := byKey[ref.key]
		named, hasName := byName[ref.name]
		switch {
		case ref.key != "" && hasKey:
			found[i] = keyed
			if hasName && named != keyed {
				b.warn("$", "places with category key %s are labelled %q; the key counts, which is %q", ref.key, ref.name, b.declared[keyed].Name)
			}
		case hasName:
			found[i] = named
		default:
			found[i] = noCategory
		}
	}
	used := make([]bool, len(b.declared))
	resolve := func(ref int) (category int, problem string) {
		switch {
		case ref == noCategory:
			return 0, "no category"
		case found[ref] == noCategory:
			return 0, fmt.Sprintf("the category %q is not declared", cmp.Or(b.refs[ref].name, b.refs[ref].key))
		}
		used[found[ref]] = true
		return found[ref], ""
	}
	for i := range b.plan.Seats {
		s := &b.plan.Seats[i]
		category, problem := resolve(s.Category)
		if problem != "" {
			b.seatProblem(i, "%s", problem)
			s.Category = noCategory
			continue
		}
		s.Category = category
		if b.declared[category].accessible && s.Kind == boxoffice.SeatStandard {
			s.Kind = boxoffice.SeatWheelchair
		}
	}
	for i := range b.plan.Areas {
		category, problem := resolve(b.plan.Areas[i].Category)
		if problem != "" {
			b.problem(b.areaAt[i], "%s", problem)
			b.plan.Areas[i].Category = noCategory
			continue
		}
		b.plan.Areas[i].Category = category
	}

	if b.problems.Total > 0 {
		// Some places have no category to point at, and what is no plan is only
		// drawn: all categories will do.
		for _, c := range b.declared {
			b.plan.Categories = append(b.plan.Categories, c.Category)
		}
		return
	}
	index := make([]int, len(b.declared))
	for i, c := range b.declared {
		if !used[i] {
			b.warn("$", "the category %q has no places and is left out", c.Name)
			continue
		}
		index[i] = len(b.plan.Categories)
		b.plan.Categories = append(b.plan.Categories, c.Category)
	}
	for i := range b.plan.Seats {
		b.plan.Seats[i].Category = index[b.plan.Seats[i].Category]
	}
	for i := range b.plan.Areas {
		b.plan.Areas[i].Category = index[b.plan.Areas[i].Category]
	}
}

// sketch makes what was read of a document that breaks off fit to be drawn.
func (b *draft) sketch() {
	for i := range b.plan.Seats {
		s := &b.plan.Seats[i]
		s.Label, s.Category = label(s.Section, s.Row, s.Number), noCategory
	}
	for i := range b.plan.Areas {
		b.plan.Areas[i].Category = noCategory
	}
}

// label joins the parts that are not empty.
func label(section, row, number string) string {
	parts := make([]string, 0, 3)
	for _, p := range [...]string{section, row, number} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "-")
}

// checkSeats labels the seats and finds those that cannot be told apart. One
// look-up by folded label finds all three ways to clash: equal keys, and keys
// that differ in case or Unicode form, have labels that fold alike.
func (b *draft) checkSeats() {
	first := make(map[string]int32, len(b.plan.Seats))
	var clashes []int
	for i := range b.plan.Seats {
		s := &b.plan.Seats[i]
		switch {
		case fold(s.Number) == "":
			b.seatProblem(i, "the seat has no number or letter")
			continue
		case s.Number == "?" || s.Row == "?" || s.Section == "?":
			b.seatProblem(i, `"?" stands for a name that was never given`)
		}
		if tooFar(boxoffice.Point{X: s.X, Y: s.Y}) {
			b.seatProblem(i, "the position is too far from the origin")
		}
		s.Label = label(s.Section, s.Row, s.Number)
		folded := fold(s.Label)
		if _, taken := first[folded]; taken {
			clashes = append(clashes, i)
		} else {
			first[folded] = int32(i)
		}
	}

	suffix := suffixes{}
	for _, i := range clashes {
		s := &b.plan.Seats[i]
		folded := fold(s.Label)
		j := first[folded]
		reason := b.clash(i, int(j))
		if !b.opts.RenameDuplicates {
			b.seatProblem(i, "%s", reason)
			continue
		}
		number := s.Number
		for taken := true; taken; _, taken = first[fold(s.Label)] {
			s.Number = number + suffix.next(folded)
			s.Label = label(s.Section, s.Row, s.Number)
		}
		first[fold(s.Label)] = int32(i)
		b.warn(b.origins[i].String(), "%s; imported as %q", reason, s.Label)
	}
}

// clash says how seat i clashes with the earlier seat j.
func (b *draft) clash(i, j int) string {
	s, t, at := b.plan.Seats[i], b.plan.Seats[j], b.origins[j]
	switch {
	case s.Section == t.Section && s.Row == t.Row && s.Number == t.Number:
		return fmt.Sprintf("the seat %q is here again; it was first at %s", s.Label, at)
	case s.Label == t.Label:
		return fmt.Sprintf("section %q, row %q, seat %q has the label %q of section %q, row %q, seat %q at %s",
			s.Section, s.Row, s.Number, s.Label, t.Section, t.Row, t.Number, at)
	default:
		return fmt.Sprintf("the seat %q differs from %q at %s only in case, spacing or Unicode form", s.Label, t.Label, at)
	}
}

// suffixes counts the clashes of a folded name, so that the thousandth seat of
// one name is not tried under 998 suffixes that are known to be taken.
type suffixes map[string]int

func (s suffixes) next(folded string) string {
	s[folded] = max(s[folded], 1) + 1
	return "_" + strconv.Itoa(s[folded])
}

func (b *draft) checkAreas() {
	first := map[string]int{}
	var clashes []int
	for i, a := range b.plan.Areas {
		if fold(a.Name) == "" || a.Name == "?" {
			b.problem(b.areaAt[i], "the area has no name")
			continue
		}
		if a.Capacity < 1 || a.Capacity > maxCapacity {
			b.problem(b.areaAt[i], "the capacity of the area %q is not a whole number from 1 to %d", a.Name, maxCapacity)
		}
		if tooFar(boxoffice.Point{X: a.X, Y: a.Y}) || slices.ContainsFunc(a.Outline, tooFar) {
			b.problem(b.areaAt[i], "the position is too far from the origin")
		}
		if _, taken := first[fold(a.Name)]; taken {
			clashes = append(clashes, i)
		} else {
			first[fold(a.Name)] = i
		}
	}
	suffix := suffixes{}
	for _, i := range clashes {
		a := &b.plan.Areas[i]
		name, folded := a.Name, fold(a.Name)
		reason := fmt.Sprintf("the area %q is here again; it was first at %s", name, b.areaAt[first[folded]])
		if !b.opts.RenameDuplicates {
			b.problem(b.areaAt[i], "%s", reason)
			continue
		}
		for taken := true; taken; _, taken = first[fold(a.Name)] {
			a.Name = name + suffix.next(folded)
		}
		first[fold(a.Name)] = i
		b.warn(b.areaAt[i], "%s; imported as %q", reason, a.Name)
	}
}

// tooFar finds positions that are the sum of sane ones and not sane.
func tooFar(p boxoffice.Point) bool {
	return math.Abs(p.X) > maxCoordinate || math.Abs(p.Y) > maxCoordinate
}

// tidy drops drawings that are far out, and rounds positions: sums of parents'
// positions end in noise such as 206.19000000000003, and a thousandth of a
// unit is never seen.
func (b *draft) tidy() {
	all := len(b.plan.Drawing)
	b.plan.Drawing = slices.DeleteFunc(b.plan.Drawing, func(d boxoffice.Drawing) bool {
		return slices.ContainsFunc(append(d.Points, boxoffice.Point{X: d.X, Y: d.Y}, boxoffice.Point{X: d.Width, Y: d.Height}), tooFar)
	})
	if n := all - len(b.plan.Drawing); n > 0 {
		b.warn("$", "%d of the drawings are too far from the origin or too large and are left out", n)
		b.plan.Drawing = append([]boxoffice.Drawing(nil), b.plan.Drawing...) // nil if none is left
	}
	for i := range b.plan.Seats {
		s := &b.plan.Seats[i]
		s.X, s.Y = round(s.X), round(s.Y)
	}
	for i := range b.plan.Areas {
		a := &b.plan.Areas[i]
		a.X, a.Y = round(a.X), round(a.Y)
		roundPoints(a.Outline)
	}
	for i := range b.plan.Drawing {
		d := &b.plan.Drawing[i]
		d.X, d.Y = round(d.X), round(d.Y)
		d.Width, d.Height, d.Turn = round(d.Width), round(d.Height), round(d.Turn)
		roundPoints(d.Points)
	}
}

func roundPoints(points []boxoffice.Point) {
	for i := range points {
		points[i] = boxoffice.Point{X: round(points[i].X), Y: round(points[i].Y)}
	}
}

func round(v float64) float64 {
	return math.Round(v*1000)/1000 + 0 // adding zero turns -0 into 0
}
