package report

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed plot.svg
var plotText string

var plot = template.Must(template.New("plot").Parse(plotText))

// Measures of a picture, and colours that are readable on white and on black.
const (
	wide    = 820
	left    = 256 // where bars begin
	room    = 250 // for the longest bar; what follows is for figures
	step    = 30
	thick   = 18
	above   = 28
	ours    = "#2e9e6b"
	theirs  = "#8b95a5"
	bad     = "#d9663b"
	unusual = "#d99a2b" // of who sells seats twice
)

type line struct {
	Name, Figure, Note string
	Ours, Spread       bool
	Colour, NoteColour string
	Top, Text, Middle  int
	Long, Least, Most  float64
	After              float64
	Marks              []mark
}

type mark struct {
	X        float64
	From, To int
	Colour   string
}

// Plot draws a row: a bar for each strategy with the least and the most of the
// rounds, and marks where it should end, or end before.
func (r *Row) Plot(w io.Writer) error {
	longest := 0.0
	for _, res := range r.Results {
		longest = max(longest, res.Most)
	}
	for _, bar := range r.Bars {
		if goal, ok := r.goal(bar); ok && (r.Less || goal < 2*longest) {
			longest = max(longest, goal)
		}
	}
	if longest == 0 {
		return nil
	}
	at := func(v float64) float64 { return left + room*v/longest }
	p := struct {
		Width, Height, Left, NameEnd, Thick int
		Title, Unit, Legend                 string
		Less                                bool
		Lines                               []line
		LegendTop, LegendText, LegendBase   int
	}{Width: wide, Left: left, NameEnd: left - 10, Thick: thick, Title: r.Title, Unit: r.Unit, Less: r.Less}
	alone := r.Result(Rowlock) == nil
	top, rounds := above, 0
	for _, res := range r.Results {
		if len(res.Values) == 0 {
			continue
		}
		rounds = max(rounds, len(res.Values))
		l := line{
			Name: res.Name(), Figure: Figure(res.Median), Ours: alone || strings.HasPrefix(res.Strategy, Rowlock), Colour: theirs, NoteColour: "#808890",
			Top: top, Middle: top + thick/2, Text: top + thick/2 + 5, Long: at(res.Median) - left, Least: at(res.Least), Most: at(res.Most),
			Spread: res.Most > res.Least, After: at(max(res.Median, res.Most)) + 8,
		}
		if l.Ours {
			l.Colour = ours
		}
		if n := sold(res); n > 0 {
			l.Colour, l.Note, l.NoteColour = unusual, Figure(n)+" seats sold twice", bad
		}
		for _, bar := range r.Bars {
			if bar.Missing || bar.Note != "" {
				continue
			}
			if bar.Of == res.Strategy {
				if goal, ok := r.goal(bar); ok && goal <= longest {
					colour := "#5f6b7a"
					if !bar.Reached {
						colour = bad
					}
					l.Marks = append(l.Marks, mark{at(goal), top - 3, top + thick + 3, colour})
					l.After = max(l.After, at(goal)+8)
					p.Legend = map[Sense]string{AtLeast: "to reach", AtMost: "not to pass"}[bar.Sense]
				}
			}
			if bar.Against == res.Strategy && bar.Of == Rowlock && l.Note == "" {
				l.Note = fmt.Sprintf("Rowlock: %s ×, to reach %s ×", Figure(bar.Value), Figure(bar.Limit))
				if !bar.Reached {
					l.NoteColour = bad
				}
			}
		}
		p.Lines = append(p.Lines, l)
		top += step
	}
	p.Height = top + 6
	if p.Legend != "" {
		if rounds > 1 {
			p.Legend += "; the thin line is from the least to the most of the rounds"
		}
		p.LegendTop, p.LegendText, p.LegendBase, p.Height = top+4, left+8, top+14, top+26
	}
	return plot.Execute(w, p)
}

// goal is the value that a bar asks of its strategy.
func (r *Row) goal(bar Bar) (float64, bool) {
	if bar.Note != "" || bar.Missing {
		return 0, false
	}
	if bar.Against == "" {
		return bar.Limit, bar.Limit > 0
	}
	other, ok := r.figure(bar.Against, "")
	return bar.Limit * other, ok
}

// sold is how many seats a strategy sold twice.
func sold(res Result) float64 {
	for name, v := range res.Notes {
		if strings.HasSuffix(name, "seats sold twice") {
			return v
		}
	}
	return 0
}

// Plots draws every row into a folder, as <id>.svg.
func (r *Report) Plots(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i := range r.Rows {
		var text strings.Builder
		if err := r.Rows[i].Plot(&text); err != nil {
			return err
		}
		if text.Len() == 0 {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, r.Rows[i].ID+".svg"), []byte(text.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
