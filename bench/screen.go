package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/rowlock/rowlock/bench/report"
)

// screen is where a run is watched: a terminal, on which a line moves, or
// anything else, to which whole lines are written.
type screen struct {
	out  io.Writer
	live bool
	what string // row, round and strategy
}

func newScreen(f *os.File) *screen {
	info, err := f.Stat()
	return &screen{out: f, live: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

func (s *screen) say(format string, args ...any) {
	s.clear()
	fmt.Fprintf(s.out, format+"\n", args...)
}

// now says what is going on from now on.
func (s *screen) now(format string, args ...any) {
	s.what = fmt.Sprintf(format, args...)
	s.move("")
}

func (s *screen) move(rest string) {
	if s.live {
		fmt.Fprintf(s.out, "\r\x1b[K  %s  %s", s.what, rest)
	}
}

func (s *screen) clear() {
	if s.live {
		fmt.Fprint(s.out, "\r\x1b[K")
	}
}

// follow shows how a tally grows, until the function that it returns is called.
func (s *screen) follow(t *tally) (end func()) {
	if !s.live {
		return func() {}
	}
	ending, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		began := time.Now()
		for {
			select {
			case <-ending:
				return
			case now := <-tick.C:
				n := t.answered.Load()
				s.move(fmt.Sprintf("%9s answered %9s/s", digits(float64(n)), digits(float64(n)/now.Sub(began).Seconds())))
			}
		}
	}()
	return func() { close(ending); <-ended }
}

// row says what a row came to.
func (s *screen) row(r *report.Row) {
	s.say("%s (%s)", r.Title, r.ID)
	for _, res := range r.Results {
		text := fmt.Sprintf("  %-36s %10s %-11s", res.Name(), report.Figure(res.Median), r.Unit)
		if len(res.Values) > 1 {
			text += fmt.Sprintf(" %s to %s", report.Figure(res.Least), report.Figure(res.Most))
		}
		for _, name := range slices.Sorted(maps.Keys(res.Notes)) {
			if v := res.Notes[name]; v != 0 {
				text += fmt.Sprintf("; %s %s", name, report.Figure(v))
			}
		}
		s.say("%s", text)
	}
	if r.Skipped != "" {
		s.say("  not all were measured: %s", r.Skipped)
	}
	for _, bar := range r.Bars {
		if text := r.Says(bar); text != "" {
			s.say("  %s", text)
		}
	}
}

// digits groups a number by thousands.
func digits(v float64) string {
	text := strconv.FormatInt(int64(v+0.5), 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
