package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// watcher shows a drill while it goes on: on a terminal a few lines that are
// drawn again each second, elsewhere a line now and then.
type watcher struct {
	out     io.Writer
	meter   *meter
	options *options
	ending  chan struct{}
	ended   chan struct{}
}

// watch begins to show.
func watch(f *os.File, m *meter, o *options) *watcher {
	w := &watcher{out: f, meter: m, options: o, ending: make(chan struct{}), ended: make(chan struct{})}
	info, err := f.Stat()
	if err == nil && info.Mode()&os.ModeCharDevice != 0 {
		go w.run(time.Second, w.draw)
	} else {
		go w.run(5*time.Second, w.line)
	}
	return w
}

// stop shows how it ended, and no more.
func (w *watcher) stop() {
	close(w.ending)
	<-w.ended
}

func (w *watcher) run(every time.Duration, show func(moment, bool)) {
	defer close(w.ended)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for first := true; ; first = false {
		select {
		case <-tick.C:
			show(w.meter.now(), first)
		case <-w.ending:
			show(w.meter.now(), first)
			return
		}
	}
}

// columns is how wide a terminal is taken to be; longer lines would break the
// drawing over them.
const columns = 79

func (w *watcher) draw(m moment, first bool) {
	const width = 30
	filled := width * m.arrived / w.options.Buyers
	others := 0
	for name, n := range m.outcomes {
		if name != paid {
			others += n
		}
	}
	lines := []string{
		fmt.Sprintf("%5.0f s  %s%s  %s of %s came, %s in flight", m.since.Seconds(), strings.Repeat("█", filled), strings.Repeat("░", width-filled),
			digits(m.arrived), digits(w.options.Buyers), digits(m.inFlight)),
		fmt.Sprintf("         holds %s, lost to others %s, paid %s, left %s", digits(m.held), digits(m.lost), digits(m.paid()), digits(others)),
		"         now: " + waits(m.recent),
		fmt.Sprintf("         errors %s; refused: %s", digits(m.errors), orNone(tally(m.refused))),
	}
	if !first {
		fmt.Fprintf(w.out, "\x1b[%dA", len(lines))
	}
	for _, line := range lines {
		if text := []rune(line); len(text) > columns {
			line = string(text[:columns-1]) + "…"
		}
		fmt.Fprintf(w.out, "\x1b[2K%s\n", line)
	}
}

func (w *watcher) line(m moment, _ bool) {
	fmt.Fprintf(w.out, "%.0f s: %s came, %s in flight, %s holds, %s paid; %s; errors %s; refused: %s\n",
		m.since.Seconds(), digits(m.arrived), digits(m.inFlight), digits(m.held), digits(m.paid()), waits(m.recent), digits(m.errors), orNone(tally(m.refused)))
}

func (m *moment) paid() int { return m.outcomes[paid] }

// waits are the waits of late, p50 and p99.
func waits(recent map[string]*hdrhistogram.Histogram) string {
	var parts []string
	for _, step := range []string{stepHold, stepPay} {
		if h := recent[step]; h.TotalCount() > 0 {
			parts = append(parts, fmt.Sprintf("%s %s and %s", step, brief(millis(h.ValueAtQuantile(50))), brief(millis(h.ValueAtQuantile(99)))))
		}
	}
	if parts == nil {
		return "no holds"
	}
	return "p50 and p99 of " + strings.Join(parts, ", ")
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
