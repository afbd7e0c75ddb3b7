package seatplan

import (
	"cmp"
	"math"
	"slices"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// widestGap is the distance between two seats, in units of the usual distance
// in their row, up to which people still sit beside each other. A wheelchair
// space takes about one and a half seats; an aisle at least one.
const widestGap = 1.75

// Runs returns the seats that lie beside each other: each run holds indexes
// into seats, in the order in which one would walk past them. Two seats are
// neighbours if they follow each other in a run.
//
// Rows are taken apart by section and row. Where all seats of a row have a
// position, that decides; otherwise the order of the plan does, in one run.
// Numbers never do: odd and even seats may lie on two sides of a house.
func Runs(seats []boxoffice.Seat) [][]int {
	type key struct{ section, row string }
	rows := map[key][]int{}
	var order []key
	for i, s := range seats {
		k := key{s.Section, s.Row}
		if _, ok := rows[k]; !ok {
			order = append(order, k)
		}
		rows[k] = append(rows[k], i)
	}
	var runs [][]int
	for _, k := range order {
		row := rows[k]
		if slices.ContainsFunc(row, func(i int) bool { return !seats[i].Placed }) {
			runs = append(runs, row)
			continue
		}
		row = walk(seats, row)
		usual := usualDistance(seats, row)
		start := 0
		for i := 1; i < len(row); i++ {
			if distance(seats[row[i-1]], seats[row[i]]) > widestGap*usual {
				runs = append(runs, row[start:i])
				start = i
			}
		}
		runs = append(runs, row[start:])
	}
	return runs
}

// walk returns a row in the order of the shorter of two ways past its seats:
// that of the plan, which is right around a table, and that along the line
// from the left end to the right, which is right in a row whose numbers alternate.
func walk(seats []boxoffice.Seat, row []int) []int {
	first := seats[row[0]]
	end := slices.MaxFunc(row, func(a, b int) int { return cmp.Compare(distance(first, seats[a]), distance(first, seats[b])) })
	start := slices.MaxFunc(row, func(a, b int) int {
		return cmp.Compare(distance(seats[end], seats[a]), distance(seats[end], seats[b]))
	})
	dx, dy := seats[end].X-seats[start].X, seats[end].Y-seats[start].Y
	if dx < 0 || (dx == 0 && dy < 0) { // so that the order of the plan has no say
		dx, dy = -dx, -dy
	}
	along := slices.Clone(row)
	slices.SortStableFunc(along, func(a, b int) int {
		return cmp.Compare(seats[a].X*dx+seats[a].Y*dy, seats[b].X*dx+seats[b].Y*dy)
	})
	if wayLength(seats, along) < 0.999*wayLength(seats, row) { // not for a rounding error
		return along
	}
	return row
}

func wayLength(seats []boxoffice.Seat, row []int) (sum float64) {
	for i := 1; i < len(row); i++ {
		sum += distance(seats[row[i-1]], seats[row[i]])
	}
	return sum
}

// usualDistance is the median distance from one seat of a row to the next.
func usualDistance(seats []boxoffice.Seat, row []int) float64 {
	if len(row) < 2 {
		return 0
	}
	steps := make([]float64, len(row)-1)
	for i := range steps {
		steps[i] = distance(seats[row[i]], seats[row[i+1]])
	}
	slices.Sort(steps)
	return steps[(len(steps)-1)/2]
}

func distance(a, b boxoffice.Seat) float64 { return math.Hypot(a.X-b.X, a.Y-b.Y) }
