//go:build unix

package cluster

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"time"
)

// falls watches the log of a server for processes of it that crash, as those
// under libfaketime do at times: it reads a file whenever it is asked for the
// time, and Postgres asks in the handler of an alarm, which may have come in the
// middle of malloc. The server then ends all others and recovers.
type falls struct {
	log io.Writer

	mu     sync.Mutex
	events []Event
	down   bool // the last one is not over
}

// recoveryMax is the longest that a server takes for that. One that says nothing
// more was ended meanwhile, which is a fault of its own.
const recoveryMax = 30 * time.Second

// Write takes one line, and passes it on.
func (f *falls) Write(line []byte) (int, error) {
	crashed := bytes.Contains(line, []byte("was terminated by signal 6")) || bytes.Contains(line, []byte("was terminated by signal 11"))
	up := bytes.Contains(line, []byte("ready to accept"))
	if crashed || up {
		f.mu.Lock()
		now := time.Now()
		switch {
		case crashed && !f.down:
			f.events, f.down = append(f.events, Event{Kind: PostgresFell, What: "a process of Postgres crashed", Began: now, Ended: now}), true
		case up && f.down:
			f.events[len(f.events)-1].Ended, f.down = now, false
		}
		f.mu.Unlock()
	}
	return f.log.Write(line)
}

// all are the crashes so far.
func (f *falls) all() []Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	events := slices.Clone(f.events)
	if f.down {
		last := &events[len(events)-1]
		last.Ended = last.Began.Add(min(time.Since(last.Began), recoveryMax))
	}
	return events
}

// Falls are the crashes of Postgres that nobody brought about, in order.
func (c *Cluster) Falls() (events []Event) {
	for _, s := range c.database.falls {
		events = append(events, s.all()...)
	}
	slices.SortFunc(events, func(x, y Event) int { return x.Began.Compare(y.Began) })
	return events
}
