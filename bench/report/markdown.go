package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// The block of a document that [Report.Into] writes.
const (
	begin = "<!-- figures: written by make bench, not by hand -->"
	end   = "<!-- figures end -->"
)

// Markdown writes the report: the machine, a table of what was to be reached,
// and each row with its picture, which lies in the folder plots.
func (r *Report) Markdown(w io.Writer, plots string) {
	m := &r.Machine
	fmt.Fprintf(w, "%s, commit `%s`. %s, %d cores, %s GB; %s, %s; Go %s, PostgreSQL %s", r.When.Format("2 January 2006"), r.Commit, m.CPU, m.Cores,
		Figure(m.MemoryGB), m.System, m.Kernel, m.Go, m.Postgres)
	if m.Redis != "" {
		fmt.Fprintf(w, ", Redis %s in memory", m.Redis)
	}
	fmt.Fprint(w, ".\nPostgres:")
	for i, name := range slices.Sorted(maps.Keys(m.Settings)) {
		fmt.Fprintf(w, "%s `%s=%s`", map[bool]string{true: ",", false: ""}[i > 0], name, m.Settings[name])
	}
	fmt.Fprint(w, ".\n\n")
	fmt.Fprint(w, "| | Rowlock | came out (to reach) | |\n| --- | ---: | --- | --- |\n")
	for i := range r.Rows {
		row := &r.Rows[i]
		first := ""
		if res := row.Result(Rowlock); res != nil && len(res.Values) > 0 {
			first = Figure(res.Median) + " " + row.Unit
		}
		verdict := "✓"
		if !row.Reached() {
			verdict = "✗"
		}
		fmt.Fprintf(w, "| [%s](#%s) | %s | %s | %s |\n", row.Title, anchor(row.Title), first, row.outcome(), verdict)
	}
	for i := range r.Rows {
		r.Rows[i].markdown(w, plots, r.Commit)
	}
}

// outcome is what came of each bar, and what it is to be. What must never be is
// named when it was.
func (r *Row) outcome() string {
	var lines []string
	for _, b := range r.Bars {
		if b.Missing || b.Limit == 0 && b.Reached {
			continue
		}
		value, unit := Figure(b.Value), " "+r.Unit
		switch {
		case b.Against != "":
			unit = " ×"
		case b.Note != "":
			unit = ""
		}
		line := value + unit
		if !b.Reached {
			line = "**" + line + "**"
		}
		if b.Against != "" {
			line += " " + r.name(b.Against)
		}
		if b.Of != Rowlock {
			line = r.name(b.Of) + ": " + line
		}
		if b.Note != "" {
			line += " " + b.Note
		}
		lines = append(lines, line+" ("+map[Sense]string{AtLeast: "≥ ", AtMost: "≤ "}[b.Sense]+Figure(b.Limit)+")")
	}
	return strings.Join(lines, "<br>")
}

// Says is a bar and what came of it, as a line; "" of what must never be and
// never was.
func (r *Row) Says(b Bar) string {
	if b.Missing || b.Limit == 0 && b.Reached {
		return ""
	}
	verdict := map[bool]string{true: "✓", false: "✗"}[b.Reached]
	what, unit, goal := r.name(b.Of), r.Unit, Figure(b.Limit)
	if b.Note != "" {
		what, unit = what+", "+b.Note, ""
	}
	if b.Against != "" {
		unit, goal = "× "+r.name(b.Against), goal+" ×"
	}
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s: %s %s, %s %s", verdict, what, Figure(b.Value), unit, b.Sense, goal)), " ")
}

func (r *Row) name(strategy string) string {
	if res := r.Result(strategy); res != nil {
		return res.Name()
	}
	return strategy
}

func (r *Row) markdown(w io.Writer, plots, commit string) {
	fmt.Fprintf(w, "\n### %s\n\n", r.Title)
	if r.Explain != "" {
		fmt.Fprintf(w, "%s\n\n", r.Explain)
	}
	if r.Commit != "" && r.Commit != commit {
		fmt.Fprintf(w, "Measured on %s at commit `%s`.\n\n", r.When.Format("2 January 2006"), r.Commit)
	}
	if r.Skipped != "" {
		fmt.Fprintf(w, "Not all were measured: %s.\n\n", r.Skipped)
	}
	fmt.Fprintf(w, "![%s](%s/%s.svg)\n\n", r.Title, plots, r.ID)
	notes := map[string]bool{}
	for _, res := range r.Results {
		for name := range res.Notes {
			notes[name] = true
		}
	}
	names := slices.Sorted(maps.Keys(notes))
	fmt.Fprintf(w, "| | median, %s | least | most | rounds |", r.Unit)
	for _, name := range names {
		fmt.Fprintf(w, " %s |", name)
	}
	fmt.Fprintf(w, "\n| --- |%s\n", strings.Repeat(" ---: |", 4+len(names)))
	for _, res := range r.Results {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %d |", res.Name(), Figure(res.Median), Figure(res.Least), Figure(res.Most), len(res.Values))
		for _, name := range names {
			text := ""
			if v, ok := res.Notes[name]; ok {
				text = Figure(v)
			}
			fmt.Fprintf(w, " %s |", text)
		}
		fmt.Fprintln(w)
	}
}

// Into writes the report between the marks of a document, or behind its end
// where there are none.
func (r *Report) Into(document, plots string) error {
	text, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	var block bytes.Buffer
	fmt.Fprintln(&block, begin)
	r.Markdown(&block, plots)
	fmt.Fprintln(&block, end)
	head, rest, found := bytes.Cut(text, []byte(begin+"\n"))
	if !found {
		return os.WriteFile(document, slices.Concat(text, []byte("\n"), block.Bytes()), 0o644)
	}
	_, tail, found := bytes.Cut(rest, []byte(end+"\n"))
	if !found {
		return errors.New(document + ": the figures begin and do not end: " + end)
	}
	return os.WriteFile(document, slices.Concat(head, block.Bytes(), tail), 0o644)
}

// Figure is a number as people read it: three digits that count, thousands
// grouped.
func Figure(v float64) string {
	if v < 0 {
		return "-" + Figure(-v)
	}
	digits := 0
	switch {
	case v == math.Trunc(v) || v >= 100:
	case v >= 10:
		digits = 1
	default:
		digits = 2
	}
	if v >= 10_000 {
		v = math.Round(v/100) * 100
	} else if v >= 1000 {
		v = math.Round(v/10) * 10
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	whole, part, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if part != "" {
		return whole + "." + part
	}
	return whole
}

// anchor is what a heading is linked by.
func anchor(title string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(title) {
		switch {
		case c == ' ' || c == '-':
			b.WriteByte('-')
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b.WriteRune(c)
		}
	}
	return b.String()
}
