package jobs

import (
	"context"
	"sync"

	"github.com/google/uuid"
)

// turns lets one job at a time work on a show, and one more wait for that. The
// one that waits will see all that is overdue when its turn comes, so a further
// job for the show has nothing left to do. A hot show makes hundreds of jobs a
// second, and they cost it one question to the database at a time; a show that
// is locked for long keeps one connection waiting and not all of them.
type turns struct {
	slots chan struct{} // taken by each show at work

	mu    sync.Mutex
	shows map[uuid.UUID]*turn
}

type turn struct {
	jobs int           // 1: works; 2: works, and waits
	busy chan struct{} // full while one works
}

func newTurns(shows int) *turns {
	return &turns{slots: make(chan struct{}, shows), shows: map[uuid.UUID]*turn{}}
}

// take waits for the show's turn and returns what ends it. It returns nil when
// another job waits already and will do this one's work too.
func (t *turns) take(ctx context.Context, show uuid.UUID) (end func(), err error) {
	t.mu.Lock()
	s := t.shows[show]
	if s == nil {
		s = &turn{busy: make(chan struct{}, 1)}
		t.shows[show] = s
	}
	if s.jobs == 2 {
		t.mu.Unlock()
		return nil, nil
	}
	s.jobs++
	t.mu.Unlock()
	select {
	case s.busy <- struct{}{}:
	case <-ctx.Done():
		t.leave(show, s)
		return nil, ctx.Err()
	}
	// Left before it is free: whoever still counts two then knows that the
	// second has not begun.
	free := func() { t.leave(show, s); <-s.busy }
	select {
	case t.slots <- struct{}{}:
		return func() { <-t.slots; free() }, nil
	case <-ctx.Done():
		free()
		return nil, ctx.Err()
	}
}

func (t *turns) leave(show uuid.UUID, s *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.jobs--; s.jobs == 0 {
		delete(t.shows, show)
	}
}
