package report_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/bench/report"
)

// sample is a row as a benchmark fills it in.
func sample() report.Row {
	return report.Row{
		ID: "hot", Title: "One hot show, <all> succeed", Unit: "holds/s",
		Results: []report.Result{
			{Strategy: report.Rowlock, Title: "Rowlock", Values: []float64{30_000, 10_000, 20_000}, Notes: map[string]float64{"failed": 0}},
			{Strategy: "waiting", Title: "SELECT … FOR UPDATE", Values: []float64{1000, 3000}},
			{Strategy: "naive", Values: []float64{5000}, Notes: map[string]float64{"seats sold twice": 7}},
		},
		Bars: []report.Bar{
			{Against: "waiting", Sense: report.AtLeast, Limit: 10},
			{Against: "waiting", Sense: report.AtLeast, Limit: 10.1},
			{Against: "redis", Sense: report.AtLeast, Limit: 3},
			{Note: "failed", Sense: report.AtMost},
			{Of: "naive", Note: "seats sold twice", Sense: report.AtLeast, Limit: 1},
			{Of: "naive", Sense: report.AtMost, Limit: 4990},
		},
	}
}

func TestARowIsSettledByMedians(t *testing.T) {
	t.Parallel()
	row := sample()
	row.Settle()
	if got := row.Results[0]; got.Median != 20_000 || got.Least != 10_000 || got.Most != 30_000 {
		t.Errorf("%+v", got)
	}
	if got := row.Results[1].Median; got != 2000 {
		t.Errorf("of two values: %v", got)
	}
	for i, want := range []struct {
		value            float64
		reached, missing bool
	}{{10, true, false}, {10, false, false}, {0, false, true}, {0, true, false}, {7, true, false}, {5000, false, false}} {
		if b := row.Bars[i]; b.Value != want.value || b.Reached != want.reached || b.Missing != want.missing {
			t.Errorf("bar %d: %+v", i, b)
		}
	}
	if row.Reached() {
		t.Error("a bar was missed")
	}
	row.Bars = row.Bars[2:5]
	if !row.Reached() {
		t.Error("what cannot be judged does not count as missed")
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 2}, 2}} {
		if got := report.Median(c.values); got != c.want {
			t.Errorf("%v: %v", c.values, got)
		}
	}
}

func TestFiguresHaveTheDigitsThatCount(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0", 1: "1", 0.456: "0.46", 12.34: "12.3", 99: "99", 123.4: "123", 1234: "1,230", 17_449: "17,400", 1_000_000: "1,000,000", -5.5: "-5.50",
	} {
		if got := report.Figure(v); got != want {
			t.Errorf("%v: %q, not %q", v, got, want)
		}
	}
}

func TestAPictureIsWellFormedAndShowsEveryStrategy(t *testing.T) {
	t.Parallel()
	row := sample()
	row.Settle()
	var text strings.Builder
	if err := row.Plot(&text); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(text.String())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v\n%s", err, &text)
		}
	}
	for _, want := range []string{"Rowlock", "SELECT … FOR UPDATE", "naive", "7 seats sold twice", "&lt;all&gt;"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in the picture", want)
		}
	}
}

func TestRowsOfOtherRunsStayAmongTheLatest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	row, other := sample(), sample()
	other.ID = "cold"
	first := report.Report{Commit: "aaa", When: time.Unix(1e9, 0), Rows: []report.Row{row, other}}
	if _, err := first.Save(dir); err != nil {
		t.Fatal(err)
	}
	again := sample()
	again.Title = "again"
	second := report.Report{Commit: "bbb", When: time.Unix(2e9, 0), Rows: []report.Row{again}}
	path, err := second.Save(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil || !strings.Contains(path, "bbb") {
		t.Error(path, err)
	}
	quick := report.Report{Commit: "ccc", When: time.Unix(3e9, 0), Quick: true, Rows: []report.Row{sample()}}
	if _, err := quick.Save(dir); err != nil {
		t.Fatal(err)
	}
	all, err := report.Latest(dir)
	if err != nil {
		t.Fatal(err)
	}
	all.Order([]string{"cold", "hot"})
	if len(all.Rows) != 2 || all.Rows[0].ID != "cold" || all.Rows[0].Commit != "aaa" || all.Rows[1].Title != "again" || all.Rows[1].Commit != "bbb" {
		t.Errorf("%+v", all.Rows)
	}
}

func TestFiguresReplaceThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(file, []byte("# Before\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	row := sample()
	row.Settle()
	r := report.Report{Commit: "first", Rows: []report.Row{row}}
	if err := r.Into(file, "plots"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, "# After\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	r.Commit = "second"
	if err := r.Into(file, "plots"); err != nil {
		t.Fatal(err)
	}
	if text, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	got := string(text)
	if !strings.HasPrefix(got, "# Before\n") || !strings.HasSuffix(got, "# After\n") || strings.Contains(got, "first") || strings.Count(got, "second") != 1 {
		t.Error(got)
	}
	for _, want := range []string{"plots/hot.svg", "| 10 × SELECT … FOR UPDATE (≥ 10)<br>**10 ×** SELECT … FOR UPDATE (≥ 10.1)<br>", "naive: **5,000 holds/s** (≤ 4,990)", "| ✗ |"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
