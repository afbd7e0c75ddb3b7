// Package report is what a benchmark came to: rows of figures, strategies side
// by side, with what was to be reached and whether it was; as JSON, as a table
// and as pictures.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Rowlock names the results that are Rowlock's own.
const Rowlock = "rowlock"

// Report is a run, or what several came to.
type Report struct {
	Machine Machine   `json:"machine"`
	Commit  string    `json:"commit"` // with a + behind it when files were changed
	When    time.Time `json:"when"`
	Quick   bool      `json:"quick,omitempty"` // too short for its figures to mean much
	Rows    []Row     `json:"rows"`
}

// Row is one thing that was measured.
type Row struct {
	ID      string   `json:"id"`    // short, for flags and files
	Title   string   `json:"title"` // a line of a table
	Explain string   `json:"explain,omitempty"`
	Unit    string   `json:"unit"`           // of the results' values: "holds/s", "ms"
	Less    bool     `json:"less,omitempty"` // is better
	Results []Result `json:"results"`
	Bars    []Bar    `json:"bars,omitempty"`
	// Skipped says why there are no results of some strategies.
	Skipped string `json:"skipped,omitempty"`
	// Commit and When are the run's; rows of several may stand in one report.
	Commit string    `json:"commit,omitempty"`
	When   time.Time `json:"when,omitzero"`
}

// Result is what one strategy came to, or Rowlock in one of several situations.
type Result struct {
	Strategy string    `json:"strategy"`        // its name, unique in the row
	Title    string    `json:"title,omitempty"` // for people; "": the name
	Values   []float64 `json:"values"`          // one a round
	Median   float64   `json:"median"`
	Least    float64   `json:"min"`
	Most     float64   `json:"max"`
	// Notes are other figures, medians of the rounds unless their name says
	// otherwise: "p99 ms", "seats sold twice".
	Notes map[string]float64 `json:"notes,omitempty"`
}

// Bar is what is to be reached: by a result's median, or one of its notes, or
// what it is of another result's.
type Bar struct {
	Of      string  `json:"of"`                // the strategy; "": Rowlock
	Note    string  `json:"note,omitempty"`    // "": the median
	Against string  `json:"against,omitempty"` // the strategy by which it is divided; "": none
	Sense   Sense   `json:"sense"`
	Limit   float64 `json:"limit"`
	Value   float64 `json:"value"` // what came of it
	Reached bool    `json:"reached"`
	// Missing: one of the two was not measured, so nothing can be said.
	Missing bool `json:"missing,omitempty"`
}

// Sense is which side of a limit is the good one.
type Sense string

// The senses.
const (
	AtLeast Sense = "at least"
	AtMost  Sense = "at most"
)

// Settle works out medians, and which bars were reached. It is called when all
// values are there; doing it again changes nothing.
func (r *Row) Settle() {
	for i := range r.Results {
		res := &r.Results[i]
		if len(res.Values) > 0 {
			res.Median, res.Least, res.Most = Median(res.Values), slices.Min(res.Values), slices.Max(res.Values)
		}
	}
	for i := range r.Bars {
		bar := &r.Bars[i]
		if bar.Of == "" {
			bar.Of = Rowlock
		}
		value, ok := r.figure(bar.Of, bar.Note)
		if ok && bar.Against != "" {
			var other float64
			if other, ok = r.figure(bar.Against, bar.Note); ok {
				if ok = other != 0; ok {
					value /= other
				}
			}
		}
		bar.Missing = !ok
		bar.Value, bar.Reached = 0, false
		if ok {
			bar.Value = value
			bar.Reached = bar.Sense == AtLeast && value >= bar.Limit || bar.Sense == AtMost && value <= bar.Limit
		}
	}
}

func (r *Row) figure(strategy, note string) (float64, bool) {
	res := r.Result(strategy)
	if res == nil || len(res.Values) == 0 {
		return 0, false
	}
	if note == "" {
		return res.Median, true
	}
	v, ok := res.Notes[note]
	return v, ok
}

// Result is the strategy's; nil when there is none.
func (r *Row) Result(strategy string) *Result {
	for i := range r.Results {
		if r.Results[i].Strategy == strategy {
			return &r.Results[i]
		}
	}
	return nil
}

// Reached says whether all bars were that could be judged.
func (r *Row) Reached() bool {
	return !slices.ContainsFunc(r.Bars, func(b Bar) bool { return !b.Missing && !b.Reached })
}

// Name is what people call the result.
func (r *Result) Name() string {
	if r.Title != "" {
		return r.Title
	}
	return r.Strategy
}

// Median is the middle one of the values, or what lies between the middle two.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// latest is the file that has the newest of each row.
const latest = "latest.json"

// Save writes the report as <date>-<commit>.json, and puts its rows into
// latest.json, where those of other runs stay that this one did not repeat.
// Rows of a quick run do not go there.
func (r *Report) Save(dir string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path = filepath.Join(dir, r.When.UTC().Format("2006-01-02T1504")+"-"+r.Commit+".json")
	if err := write(path, r); err != nil {
		return "", err
	}
	if r.Quick {
		return path, nil
	}
	all, err := Latest(dir)
	if errors.Is(err, fs.ErrNotExist) {
		all, err = &Report{}, nil
	}
	if err != nil {
		return "", err
	}
	all.Machine, all.Commit, all.When = r.Machine, r.Commit, r.When
	for _, row := range r.Rows {
		row.Commit, row.When = r.Commit, r.When
		if i := slices.IndexFunc(all.Rows, func(old Row) bool { return old.ID == row.ID }); i >= 0 {
			all.Rows[i] = row
		} else {
			all.Rows = append(all.Rows, row)
		}
	}
	return path, write(filepath.Join(dir, latest), all)
}

// Latest reads the newest results of a folder.
func Latest(dir string) (*Report, error) {
	text, err := os.ReadFile(filepath.Join(dir, latest))
	if err != nil {
		return nil, err
	}
	r := &Report{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", latest, err)
	}
	return r, nil
}

// Order puts rows in the order of the ids, or of those that theirs begin with;
// others last.
func (r *Report) Order(ids []string) {
	place := func(row Row) int {
		if i := slices.IndexFunc(ids, func(id string) bool { return row.ID == id || strings.HasPrefix(row.ID, id+"-") }); i >= 0 {
			return i
		}
		return len(ids)
	}
	slices.SortStableFunc(r.Rows, func(a, b Row) int { return place(a) - place(b) })
}

func write(path string, r *Report) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
