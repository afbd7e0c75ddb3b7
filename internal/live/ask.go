package live

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// questionMax is how many questions one statement may ask.
const questionMax = 256

// Question asks what was logged in a show after a version.
type Question struct {
	ShowID uuid.UUID
	After  int64
}

// asker puts questions about many shows into one statement: those that come
// while one is out go together with the next. So the more is asked, the less
// each question costs, and no crowd of readers takes the database's time from
// those who buy.
type asker struct {
	loader Loader
	most   int // entries of each show's log

	mu      sync.Mutex
	waiting []*question
	out     bool // a statement is
}

// question is a question, and its answer.
type question struct {
	Question
	until time.Time
	done  chan struct{}
	delta *Delta
	err   error
}

// ask returns what was logged in a show after a version, the first so many
// entries, within checkMax, its turn included.
func (a *asker) ask(show uuid.UUID, after int64) (*Delta, error) {
	q := &question{Question: Question{show, after}, until: time.Now().Add(checkMax), done: make(chan struct{})}
	a.mu.Lock()
	a.waiting = append(a.waiting, q)
	if !a.out {
		a.out = true
		go a.run()
	}
	a.mu.Unlock()
	<-q.done
	return q.delta, q.err
}

// run sends what waits, one statement after the other, until nothing does.
func (a *asker) run() {
	for {
		a.mu.Lock()
		some := a.waiting[:min(len(a.waiting), questionMax)]
		a.waiting = a.waiting[len(some):]
		if len(some) == 0 {
			a.out = false
			a.mu.Unlock()
			return
		}
		a.mu.Unlock()
		a.send(some)
	}
}

// send sends questions as one statement, and answers them.
func (a *asker) send(some []*question) {
	ctx, cancel := context.WithDeadline(context.Background(), some[0].until)
	defer cancel()
	questions := make([]Question, len(some))
	for i, q := range some {
		questions[i] = q.Question
	}
	deltas, err := a.loader.ReadSeatMapChanges(ctx, questions, a.most)
	for i, q := range some {
		switch {
		case err != nil:
			q.err = err
		case deltas[i] == nil:
			q.err = boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such show.")
		default:
			q.delta = deltas[i]
		}
		close(q.done)
	}
}
