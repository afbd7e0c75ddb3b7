package main

import (
	"maps"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The steps that are timed, each from the instant at which it was due: a buyer
// who has thought for two seconds clicks after two seconds, however busy the
// drill is. What was asked again counts until it was answered for good.
const (
	stepSession = "session" // becoming a guest
	stepQueue   = "queue"   // from joining the waiting room to being let in
	stepLook    = "look"    // reading what is free
	stepHold    = "hold"    // won or lost
	stepPay     = "pay"     // until the booking is confirmed
	stepTickets = "tickets"
	stepRelease = "release"
	stepWhole   = "whole"   // from coming to having tickets, without thinking or queueing
	stepView    = "view"    // those who only watch
	stepRefusal = "refusal" // each 429 and 503, from being sent
	stepCheck   = "check"   // reads after the sale; counted, not timed
)

var steps = []string{stepSession, stepQueue, stepLook, stepHold, stepPay, stepTickets, stepRelease, stepWhole, stepView, stepRefusal}

// What became of buyers.
const (
	paid        = "paid"
	abandoned   = "abandoned"   // left while holding
	released    = "released"    // gave back what they held
	soldOut     = "sold out"    // nothing was free
	outrun      = "outrun"      // somebody was faster each time
	missed      = "missed"      // their turn in the waiting room
	overdue     = "overdue"     // the hold ended before it was paid
	impatient   = "impatient"   // left without an answer
	closed      = "closed"      // refused: not on sale, or over a limit of customers
	failed      = "failed"      // an answer that there should not be
	interrupted = "interrupted" // Ctrl-C while they were thinking
)

var outcomes = []string{paid, abandoned, released, soldOut, outrun, missed, overdue, impatient, closed, failed, interrupted}

// answerKey is a sort of answer.
type answerKey struct {
	Step   string `json:"step"`
	Status int    `json:"status"` // 0: none came
	Code   string `json:"code,omitempty"`
}

// series are counts for each second of the drill.
type series struct {
	Arrived []int `json:"arrived"`
	LetIn   []int `json:"letIn,omitempty"` // by the waiting room
	Held    []int `json:"held"`
	Paid    []int `json:"paid"`
}

// meter keeps what is seen while it goes on.
type meter struct {
	began, over time.Time

	mu        sync.Mutex
	steps     map[string]*hdrhistogram.Histogram
	recent    map[string]*hdrhistogram.Histogram // holds and payments since it was last asked
	lag       *hdrhistogram.Histogram            // how late buyers were sent on their way
	answers   map[answerKey]int
	outcomes  map[string]int
	perSecond series
	arrived   int
	held      int
	lost      int
	gone      int      // buyers who are done
	surprises []string // the first answers that there should not have been
}

const surprisesMax = 5

// newHistogram is for microseconds up to a quarter of an hour, to three digits.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, (15 * time.Minute).Microseconds(), 3)
}

func note(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(1, d.Microseconds()), h.HighestTrackableValue())) // it is within the bounds
}

func newMeter() *meter {
	m := &meter{
		began: time.Now(), steps: map[string]*hdrhistogram.Histogram{}, lag: newHistogram(),
		recent:  map[string]*hdrhistogram.Histogram{stepHold: newHistogram(), stepPay: newHistogram()},
		answers: map[answerKey]int{}, outcomes: map[string]int{},
	}
	for _, s := range steps {
		m.steps[s] = newHistogram()
	}
	return m
}

// begin sets the clock to the start of the sale.
func (m *meter) begin(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.began = at
}

// end notes that the last buyer has left.
func (m *meter) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = time.Now()
}

// count adds one to the second that it is.
func (m *meter) count(list *[]int) {
	second := max(0, int(time.Since(m.began)/time.Second))
	for len(*list) <= second {
		*list = append(*list, 0)
	}
	(*list)[second]++
}

// came counts a buyer who set out, so much after being due.
func (m *meter) came(late time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.arrived++
	note(m.lag, late)
	m.count(&m.perSecond.Arrived)
}

// took times a step.
func (m *meter) took(step string, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	note(m.steps[step], d)
	if h := m.recent[step]; h != nil {
		note(h, d)
	}
}

// answered counts one attempt.
func (m *meter) answered(step string, status int, code string, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers[answerKey{step, status, code}]++
	if status == 429 || status == 503 {
		note(m.steps[stepRefusal], d)
	}
}

// letIn counts a buyer whose turn it is, after so much waiting.
func (m *meter) letIn(waited time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	note(m.steps[stepQueue], waited)
	m.count(&m.perSecond.LetIn)
}

func (m *meter) holds(won bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if won {
		m.held++
		m.count(&m.perSecond.Held)
	} else {
		m.lost++
	}
}

// ended counts what became of a buyer.
func (m *meter) ended(outcome string, surprise error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone++
	m.outcomes[outcome]++
	if outcome == paid {
		m.count(&m.perSecond.Paid)
	}
	if surprise != nil && len(m.surprises) < surprisesMax {
		m.surprises = append(m.surprises, surprise.Error())
	}
}

// moment is what the screen shows.
type moment struct {
	arrived, inFlight, held, lost, errors int

	outcomes map[string]int
	refused  map[string]int // by code
	recent   map[string]*hdrhistogram.Histogram
	since    time.Duration
}

// now is how it stands, and the waits since it was last asked.
func (m *meter) now() moment {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := moment{
		arrived: m.arrived, inFlight: m.arrived - m.gone, held: m.held, lost: m.lost, since: time.Since(m.began),
		outcomes: maps.Clone(m.outcomes), refused: map[string]int{}, recent: m.recent,
	}
	m.recent = map[string]*hdrhistogram.Histogram{stepHold: newHistogram(), stepPay: newHistogram()}
	for k, n := range m.answers {
		switch {
		case k.isError():
			s.errors += n
		case k.Status >= 400 && k.Step != stepCheck:
			s.refused[k.label()] += n
		}
	}
	return s
}

// isError is whether it is an answer that the contract does not have: none at
// all, or an error that is not a refusal.
func (k answerKey) isError() bool {
	return k.Status == 0 || k.Status >= 500 && k.Status != 503
}
