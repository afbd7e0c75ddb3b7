package boxoffice

import (
	"testing"

	"pgregory.net/rapid"
)

func TestDecimal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		amount   int64
		currency string
		want     string
	}{
		{1234, "EUR", "12.34"}, {5, "EUR", "0.05"}, {0, "EUR", "0.00"}, {-5, "EUR", "-0.05"}, {-1234, "EUR", "-12.34"},
		{10000, "JPY", "10000"}, {0, "JPY", "0"}, {1234, "KWD", "1.234"}, {7, "KWD", "0.007"}, {12345, "CLF", "1.2345"},
		{100, "COP", "1.00"}, {1000, "IQD", "1.000"}, {500, "ISK", "500"},
	} {
		if got := Decimal(c.amount, c.currency); got != c.want {
			t.Errorf("Decimal(%d, %s) = %s, not %s", c.amount, c.currency, got, c.want)
		}
	}
}

func TestApportionAddsUpExactly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		total   int64
		weights []int64
		want    []int64
	}{
		{100, []int64{1, 1, 1}, []int64{34, 33, 33}},
		{101, []int64{1, 1}, []int64{51, 50}},
		{2, []int64{1, 1, 1}, []int64{1, 1, 0}},
		{10, []int64{0, 5, 0}, []int64{0, 10, 0}},
		{0, []int64{3, 4}, []int64{0, 0}},
		{7, nil, []int64{}},
		{5, []int64{0, 0}, []int64{0, 0}},
		{999_999_999_999, []int64{1_000_000_000_000, 1_000_000_000_000, 1_000_000_000_000}, []int64{333_333_333_333, 333_333_333_333, 333_333_333_333}},
		{1_000_000_000_000_000, []int64{999_999_999_999, 1}, []int64{999_999_999_999_000, 1000}},
	} {
		got := Apportion(c.total, c.weights)
		if len(got) != len(c.want) {
			t.Fatalf("Apportion(%d, %v) = %v", c.total, c.weights, got)
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("Apportion(%d, %v) = %v, not %v", c.total, c.weights, got, c.want)
				break
			}
		}
	}
}

// Half of an odd amount is rounded half up, so that a buyer never gets less
// than the share they were promised.
func TestShare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		amounts []int64
		percent int
		want    []int64
	}{
		{[]int64{101}, 50, []int64{51}},
		{[]int64{101, 101}, 50, []int64{51, 50}},
		{[]int64{1234, 1234, 1234}, 33, []int64{408, 407, 407}},
		{[]int64{4000, 2500}, 100, []int64{4000, 2500}},
		{[]int64{4000, 2500}, 0, []int64{0, 0}},
	} {
		got := Share(c.amounts, c.percent)
		for i := range c.want {
			if got[i] != c.want[i] {
				t.Errorf("Share(%v, %d) = %v, not %v", c.amounts, c.percent, got, c.want)
				break
			}
		}
	}
}

// Whatever is divided: the parts add up, none is more than there was, and each
// is its exact share but for less than one unit.
func TestApportionAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Int64Range(0, 1_000_000), 1, 20).Draw(t, "weights")
		var sum int64
		for _, w := range weights {
			sum += w
		}
		total := rapid.Int64Range(0, sum).Draw(t, "total")
		if percent := rapid.IntRange(0, 100).Draw(t, "percent"); rapid.Bool().Draw(t, "share") {
			total = (sum*int64(percent) + 50) / 100
		}
		left := total
		for i, part := range Apportion(total, weights) {
			left -= part
			if part < 0 || part > weights[i] {
				t.Fatalf("%d of %d", part, weights[i])
			}
			if off := part*sum - total*weights[i]; off >= sum && sum > 0 || off <= -sum && sum > 0 {
				t.Fatalf("%d is not the share of %d in %d of %d", part, weights[i], total, sum)
			}
		}
		if left != 0 {
			t.Fatalf("%d of %d are left", left, total)
		}
	})
}
