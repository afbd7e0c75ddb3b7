package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// report is all that a drill found.
type report struct {
	Began    time.Time `json:"began"`
	TookMS   int64     `json:"tookMs"`
	ShowID   string    `json:"showId"`
	Show     string    `json:"show"`
	Capacity int       `json:"capacity"`
	Free     int       `json:"freeAtFirst"`
	Options  *options  `json:"options"`

	Arrived   int            `json:"arrived"`
	Outcomes  map[string]int `json:"outcomes"`
	Steps     []stepReport   `json:"steps"`
	Answers   []answerReport `json:"answers"`
	PerSecond series         `json:"perSecond"`
	LagP99MS  float64        `json:"drillLateP99Ms"`
	LagMaxMS  float64        `json:"drillLateMaxMs"`
	Surprises []string       `json:"surprises"`

	Checks []check  `json:"checks"`
	Missed []string `json:"missed"`
	Exit   int      `json:"exit"`
}

// stepReport is how long a step took, in milliseconds.
type stepReport struct {
	Step  string  `json:"step"`
	Count int64   `json:"count"`
	P50   float64 `json:"p50Ms"`
	P90   float64 `json:"p90Ms"`
	P99   float64 `json:"p99Ms"`
	P999  float64 `json:"p999Ms"`
	Max   float64 `json:"maxMs"`
}

type answerReport struct {
	answerKey
	Count int `json:"count"`
}

func newReport(o *options, h *hall, m *meter, records []record, checks []check) *report {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &report{
		Began: m.began.UTC(), TookMS: m.over.Sub(m.began).Milliseconds(), ShowID: h.show.ShowID, Show: h.show.name(), Capacity: h.before.Capacity, Free: h.before.Available, Options: o,
		Arrived: len(records), Outcomes: m.outcomes, PerSecond: m.perSecond,
		LagP99MS: millis(m.lag.ValueAtQuantile(99)), LagMaxMS: millis(m.lag.Max()), Surprises: append([]string{}, m.surprises...),
		Checks: checks, Missed: []string{},
	}
	seconds := int(m.over.Sub(m.began)/time.Second) + 1
	for _, list := range []*[]int{&r.PerSecond.Arrived, &r.PerSecond.LetIn, &r.PerSecond.Held, &r.PerSecond.Paid} {
		*list = append(*list, make([]int, max(0, seconds-len(*list)))...) // so that charts stand below each other
	}
	if o.P99 > 0 && m.steps[stepHold].TotalCount() == 0 {
		r.Missed = append(r.Missed, "nobody got as far as holding, so nobody knows about --p99")
	}
	for _, name := range steps {
		h := m.steps[name]
		if h.TotalCount() == 0 {
			continue
		}
		at := func(q float64) float64 { return millis(h.ValueAtQuantile(q)) }
		r.Steps = append(r.Steps, stepReport{name, h.TotalCount(), at(50), at(90), at(99), at(99.9), millis(h.Max())})
		if o.P99 > 0 && (name == stepHold || name == stepPay) {
			if p99 := at(99); p99 > float64(o.P99)/float64(time.Millisecond) {
				r.Missed = append(r.Missed, fmt.Sprintf("%s: 99%% took up to %s, and --p99 is %v", name, brief(p99), o.P99))
			}
		}
	}
	requests, errs := 0, 0
	for k, n := range m.answers {
		r.Answers = append(r.Answers, answerReport{k, n})
		requests += n
		if k.isError() {
			errs += n
		}
	}
	slices.SortFunc(r.Answers, func(a, b answerReport) int {
		return cmp.Or(cmp.Compare(stepOrder(a.Step), stepOrder(b.Step)), cmp.Compare(a.Status, b.Status), cmp.Compare(a.Code, b.Code))
	})
	if float64(errs) > float64(o.Errors)*float64(requests) {
		r.Missed = append(r.Missed, fmt.Sprintf("%s of %s requests failed, and --errors is %s", digits(errs), digits(requests), o.Errors.String()))
	}
	if n := m.outcomes[failed]; float64(n) > float64(o.Errors)*float64(len(records)) {
		r.Missed = append(r.Missed, fmt.Sprintf("%s of %s buyers had an answer that there should not be, and --errors is %s", digits(n), digits(len(records)), o.Errors.String()))
	}
	r.Exit = r.verdict()
	return r
}

func stepOrder(step string) int {
	if i := slices.Index(steps, step); i >= 0 {
		return i
	}
	return len(steps)
}

// verdict is the exit code: a broken rule weighs most, then not to know.
func (r *report) verdict() int {
	code := exitFine
	if len(r.Missed) > 0 {
		code = exitMissed
	}
	for _, c := range r.Checks {
		if len(c.Unread) > 0 {
			code = exitUnable
		}
	}
	for _, c := range r.Checks {
		if len(c.Broken) > 0 {
			return exitBroken
		}
	}
	return code
}

// shownMax is how many things of a kind are shown; the JSON has all of them.
const shownMax = 5

// print writes the report for people.
func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s of %s buyers came to %s (%s of %s places free); the last left after %.1f s\n",
		digits(r.Arrived), digits(r.Options.Buyers), r.Show, digits(r.Free), digits(r.Capacity), float64(r.TookMS)/1000)
	r.printOutcomes(w)
	fmt.Fprintf(w, "\nHow long it took, from the instant at which it was due\n")
	fmt.Fprintf(w, "  %-8s %9s %9s %9s %9s %9s %9s\n", "", "count", "p50", "p90", "p99", "p99.9", "max")
	for _, s := range r.Steps {
		fmt.Fprintf(w, "  %-8s %9s %9s %9s %9s %9s %9s\n", s.Step, digits(int(s.Count)), brief(s.P50), brief(s.P90), brief(s.P99), brief(s.P999), brief(s.Max))
	}
	if r.LagP99MS > lagTold {
		fmt.Fprintf(w, "  The drill itself was up to %s late for 99%% of its buyers, %s at worst: part of the above is this machine's.\n", brief(r.LagP99MS), brief(r.LagMaxMS))
	}
	fmt.Fprintln(w, "\nWhat was answered")
	for _, a := range r.Answers {
		fmt.Fprintf(w, "  %-8s %9s  %s\n", a.Step, digits(a.Count), a.label())
	}
	for _, s := range r.Surprises {
		fmt.Fprintf(w, "  such as: %s\n", s)
	}
	fmt.Fprintln(w, "\nOver time")
	for _, line := range []struct {
		name   string
		counts []int
	}{{"came", r.PerSecond.Arrived}, {"let in", r.PerSecond.LetIn}, {"held", r.PerSecond.Held}, {"paid", r.PerSecond.Paid}} {
		chart, most, width := spark(line.counts, chartWidth)
		if most > 0 {
			fmt.Fprintf(w, "  %-6s %s  at most %s\n", line.name, chart, perSecond(most, width))
		}
	}
	fmt.Fprintln(w, "\nWhat must be so")
	for _, c := range r.Checks {
		c.print(w)
	}
	for _, m := range r.Missed {
		fmt.Fprintf(w, "  missed: %s\n", m)
	}
	fmt.Fprintf(w, "\n%s\n", map[int]string{
		exitFine:   "Fine: no rule was broken.",
		exitBroken: "BROKEN: a rule that must never be broken was.",
		exitUnable: "Unknown: not everything could be checked.",
		exitMissed: "Missed: no rule was broken, but a threshold was not kept.",
	}[r.Exit])
}

// lagTold is how late the drill may be, in milliseconds, without a word.
const lagTold = 10

func (r *report) printOutcomes(w io.Writer) {
	for _, name := range outcomes {
		if n := r.Outcomes[name]; n > 0 {
			fmt.Fprintf(w, "  %9s %s\n", digits(n), explained[name])
		}
	}
}

// explained says what became of buyers in more words.
var explained = map[string]string{
	paid:        "paid and have tickets",
	abandoned:   "left with places in the basket",
	released:    "gave back what they held",
	soldOut:     "found nothing free",
	outrun:      "found others faster each time",
	missed:      "missed their turn in the waiting room",
	overdue:     "paid too late: the hold was over",
	impatient:   "left, tired of waiting",
	closed:      "were refused: sales closed, or over a customer's limit",
	failed:      "had an answer that there should not be",
	interrupted: "left as the sale was ended",
}

func (k answerKey) label() string {
	if k.Status == 0 {
		return k.Code
	}
	return strings.TrimSpace(strconv.Itoa(k.Status) + " " + k.Code)
}

func (c *check) print(w io.Writer) {
	mark := "ok    "
	switch {
	case len(c.Broken) > 0:
		mark = "BROKEN"
	case len(c.Unread) > 0:
		mark = "?     "
	}
	fmt.Fprintf(w, "  %s  %s (%s looked at)\n", mark, c.Rule, digits(c.Examined))
	for _, list := range [][]string{c.Broken, c.Unread} {
		for i, what := range list {
			if i == shownMax {
				fmt.Fprintf(w, "          and %s more\n", digits(len(list)-i))
				break
			}
			fmt.Fprintf(w, "          %s\n", what)
		}
	}
}

const chartWidth = 60

// spark draws counts of seconds as a line of blocks, with at most so many of
// them; most is the highest of them, and width how many seconds each is.
func spark(counts []int, columns int) (chart string, most, width int) {
	const bars = "▁▂▃▄▅▆▇█"
	width = max(1, (len(counts)+columns-1)/columns)
	var sums []int
	for part := range slices.Chunk(counts, width) {
		sum := 0
		for _, n := range part {
			sum += n
		}
		sums = append(sums, sum)
		most = max(most, sum)
	}
	var b strings.Builder
	levels := []rune(bars)
	for _, n := range sums {
		if n == 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(levels[(n*len(levels)-1)/most])
	}
	return b.String(), most, width
}

func perSecond(n, width int) string {
	if width == 1 {
		return digits(n) + " a second"
	}
	return fmt.Sprintf("%s in %d s", digits(n), width)
}

func millis(micros int64) float64 { return float64(micros) / 1000 }

// brief is a duration in milliseconds, of which people want to know two or
// three digits.
func brief(ms float64) string {
	switch {
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 10_000:
		return fmt.Sprintf("%.0f ms", ms)
	default:
		return fmt.Sprintf("%.1f s", ms/1000)
	}
}

// digits groups a number by thousands.
func digits(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// tally lists counts, the largest first.
func tally(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = name + " " + digits(counts[name])
	}
	return strings.Join(names, ", ")
}
