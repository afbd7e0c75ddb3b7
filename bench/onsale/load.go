package onsale

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/valyala/fasthttp"
)

// Load is what many callers got for what they asked.
type Load struct {
	Attempts int64            // requests sent
	Answers  map[string]int64 // by status, or the code of a refusal: "201", "SEAT_ALREADY_RESERVED"
	Failed   int64            // requests without an answer, and answers that must not be
	Why      string           // the first that failed
	Shed     int64            // requests that were turned away with OVERLOADED
	Took     time.Duration    // from the first request to the last answer
	P50, P99 time.Duration    // of the time until an answer, to who was let in
	Max      time.Duration
	ShedP99  time.Duration // of the time until somebody knew to be turned away
}

// PerSecond is the rate of answers to who was let in.
func (l *Load) PerSecond() float64 {
	if l.Took <= 0 {
		return 0
	}
	return float64(l.Attempts-l.Failed-l.Shed) / l.Took.Seconds()
}

// err says that something failed, and the first that did.
func (l *Load) err() error {
	if l.Failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d requests failed, the first: %s", l.Failed, l.Attempts, l.Why)
}

// meter gathers a load. One caller's measurements are added at once.
type meter struct {
	mu         sync.Mutex
	load       Load
	last       time.Time
	took, shed *hdrhistogram.Histogram // of microseconds
}

func newMeter() *meter {
	most := int64(2 * answerMax / time.Microsecond)
	return &meter{load: Load{Answers: map[string]int64{}}, took: hdrhistogram.New(1, most, 3), shed: hdrhistogram.New(1, most, 3)}
}

// record adds an answer of HTTP. Those that are not wanted have failed.
func (m *meter) record(resp *fasthttp.Response, err error, took time.Duration, wanted []string) {
	if err != nil {
		m.add("", err.Error(), took)
		return
	}
	answer, text := nameOf(resp)
	why := ""
	switch seconds, _ := strconv.Atoi(string(resp.Header.Peek("Retry-After"))); {
	case answer == overloaded && seconds < 1:
		why = "turned away without a Retry-After"
	case answer != overloaded && !slices.Contains(wanted, answer):
		why = answer + ": " + text
	}
	m.add(answer, why, took)
}

// add adds an answer, and how long it took. why says that it has failed; "" as
// the answer, that there was none.
func (m *meter) add(answer, why string, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.load.Attempts++
	if why != "" {
		m.load.Failed++
		m.load.Why = cmp.Or(m.load.Why, why)
	}
	if answer == "" {
		return
	}
	m.load.Answers[answer]++
	into := m.took
	if answer == overloaded {
		m.load.Shed++
		into = m.shed
	}
	_ = into.RecordValue(min(took.Microseconds(), into.HighestTrackableValue()))
	m.last = time.Now()
}

// result is the load that began then.
func (m *meter) result(began time.Time) Load {
	l := m.load
	of := func(h *hdrhistogram.Histogram, q float64) time.Duration {
		return time.Duration(h.ValueAtQuantile(q)) * time.Microsecond
	}
	l.Took, l.P50, l.P99, l.Max, l.ShedP99 = max(0, m.last.Sub(began)), of(m.took, 50), of(m.took, 99), of(m.took, 100), of(m.shed, 99)
	return l
}

// nameOf names an answer: by the code of its problem document, or by its
// status. text is what it says, cut short.
func nameOf(resp *fasthttp.Response) (name, text string) {
	status := resp.StatusCode()
	switch {
	case status < 400:
		return strconv.Itoa(status), ""
	case status == fasthttp.StatusConflict && bytes.Contains(resp.Body(), []byte(`"code":"`+taken+`"`)):
		return taken, "" // most answers of an on-sale: parsing them would cost more than asking
	case status == fasthttp.StatusServiceUnavailable && bytes.Contains(resp.Body(), []byte(`"code":"`+overloaded+`"`)):
		return overloaded, "" // and most of a crush
	}
	var problem struct{ Code, Detail string }
	if err := json.Unmarshal(resp.Body(), &problem); err != nil || problem.Code == "" {
		return strconv.Itoa(status), fmt.Sprintf("%.200s", resp.Body())
	}
	return problem.Code, problem.Detail
}

// press lets each caller ask again as soon as it has an answer, until so many
// attempts are made, or the time is over: what is under way then is still
// answered. Who is turned away comes back when told to, with another attempt.
func press(ctx context.Context, callers []*caller, attempts int, most time.Duration, wanted []string, ask func(c *caller, attempt int) (*fasthttp.Response, error)) Load {
	ctx, over := context.WithTimeout(ctx, most)
	defer over()
	m := newMeter()
	var next atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for _, c := range callers {
		all.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= attempts {
					over() // nobody needs to come back
					return
				}
				sent := time.Now()
				resp, err := ask(c, i)
				m.record(resp, err, time.Since(sent), wanted)
				if err != nil {
					return // its connection is gone
				}
				if later := comeBack(resp); later > 0 {
					select {
					case <-ctx.Done():
					case <-time.After(later):
					}
				}
			}
		})
	}
	all.Wait()
	return m.result(began)
}

// comeBack is how long somebody who is turned away was told to wait.
func comeBack(resp *fasthttp.Response) time.Duration {
	if resp.StatusCode() != fasthttp.StatusServiceUnavailable {
		return 0
	}
	seconds, _ := strconv.Atoi(string(resp.Header.Peek("Retry-After")))
	return time.Duration(max(1, seconds)) * time.Second
}

// pace asks at a steady rate, whether or not answers come, and times each from
// the instant at which it was due: who waits for a caller to be free waits.
func pace(ctx context.Context, callers []*caller, rate int, during time.Duration, wanted []string, ask func(c *caller, attempt int) (*fasthttp.Response, error)) Load {
	m := newMeter()
	var next atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for _, c := range callers {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				after := time.Duration(i) * time.Second / time.Duration(rate)
				if after >= during || ctx.Err() != nil {
					return
				}
				due := began.Add(after)
				time.Sleep(time.Until(due)) // the rate of the load, not a wait for anything
				resp, err := ask(c, i)
				m.record(resp, err, time.Since(due), wanted)
				if err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return m.result(began)
}
