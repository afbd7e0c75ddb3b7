package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// screen is where the race is watched: a terminal, on which a line moves, or
// anything else, to which whole lines are written.
type screen struct {
	out  io.Writer
	live bool
}

func newScreen(f *os.File) *screen {
	info, err := f.Stat()
	return &screen{out: f, live: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

func (s *screen) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// watch shows how a way gets on until it has ended.
func (s *screen) watch(name string, began time.Time, ended <-chan struct{}, c *crowd) {
	if !s.live {
		<-ended
		return
	}
	const width = 24
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			fmt.Fprint(s.out, "\r\x1b[K")
			return
		case now := <-tick.C:
			filled := min(width, int(now.Sub(began)*width/each))
			fmt.Fprintf(s.out, "\r\x1b[K  %-20s %s%s %3.1f s  %9s attempts  %7s holds", name, strings.Repeat("█", filled), strings.Repeat("░", width-filled),
				now.Sub(began).Seconds(), digits(c.attempts.Load()), digits(c.holds.Load()))
		}
	}
}

// done sums a way up in a line.
func (s *screen) done(r *result) {
	verdict := "no seat twice"
	if r.twice > 0 {
		verdict = fmt.Sprintf("%s seats sold to two customers or more, one of them to %d", digits(r.twice), r.most)
	}
	s.say("  %-20s %4.1f s, %s seats sold: %s", r.name, r.took.Seconds(), digits(r.seats), verdict)
}

// table compares them all.
func (s *screen) table(results []result) {
	s.say("")
	s.say("  %-20s %12s %10s %11s %16s %10s %10s", "", "attempts/s", "holds/s", "seats sold", "sold twice", "wait p50", "wait p99")
	for i := range results {
		r := &results[i]
		s.say("  %-20s %12s %10s %11s %16s %10s %10s", r.name, digits(int64(r.perSecond(r.attempts))), digits(int64(r.perSecond(r.reservations))),
			digits(r.seats), digits(r.twice), brief(r.wait(50)), brief(r.wait(99)))
	}
	s.say("")
	for _, r := range results {
		if r.seats == seats {
			s.say("%s sold the house out after %.1f s.", r.name, r.took.Seconds())
		}
		if r.failed > 0 {
			s.say("%s: %s attempts failed, the first with: %v", r.name, digits(r.failed), r.why)
		}
	}
	s.say("The first two run a transaction for each request, on the connections that suit them best. A sequence numbers their changes, and they")
	s.say("need a job for each hold; Rowlock's log has no gap, and holds that end together share a job. To check and then act, the guard of")
	s.say("Rowlock's schema had to be switched off: with it Postgres refuses the second sale.")
}

// brief is a duration of which people want to know two or three digits.
func brief(d time.Duration) string {
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}

// digits groups a number by thousands.
func digits(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
