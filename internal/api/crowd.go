package api

import (
	"sync"
	"sync/atomic"
	"time"
)

// crowd keeps the house from being run over. When far more people want in than
// it can serve, it serves as many as it can and turns the others away at once,
// before anything has been spent on them.
//
// Only operations that people come in by, see [Operation.Entry], are turned
// away: whoever has a hold can pay for it and give it back. How many may be at
// the door at once follows from how long those take who are let in: it shrinks
// while they take longer than they should, and grows while they do not and the
// room is used. So nobody has to know what the machine can do, and a queue that
// takes longer than people wait does not form.
type crowd struct {
	roomMax int64
	room    atomic.Int64 // who may be at the door at once
	inside  atomic.Int64 // who is

	mu    sync.Mutex
	ends  time.Time // of the window that is being looked at
	took  time.Duration
	left  int64 // how many left in it
	most  int64 // were inside at once in it
	shown func(room float64)
}

// How the room follows.
const (
	roomFirst  = 2048
	roomMin    = 64
	tookMax    = 500 * time.Millisecond // on average, from admission to answer
	crowdEvery = 100 * time.Millisecond
)

func newCrowd(roomMax int, shown func(float64)) *crowd {
	c := &crowd{roomMax: int64(roomMax), shown: shown}
	c.set(roomFirst)
	return c
}

func (c *crowd) set(room int64) {
	room = min(max(room, roomMin), c.roomMax)
	c.room.Store(room)
	c.shown(float64(room))
}

// enter lets one in, or not.
func (c *crowd) enter() bool {
	if c.inside.Add(1) <= c.room.Load() {
		return true
	}
	c.inside.Add(-1)
	return false
}

// leave is for who was let in and leaves now. Their time counts from when all
// of the request was here: how slowly a client sends says nothing about us.
func (c *crowd) leave(admitted time.Time) {
	inside, now := c.inside.Add(-1)+1, time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most = max(c.most, inside)
	if !admitted.IsZero() {
		c.took, c.left = c.took+now.Sub(admitted), c.left+1
	}
	if now.Before(c.ends) || c.left == 0 {
		return
	}
	room, average := c.room.Load(), c.took/time.Duration(c.left)
	switch {
	case average > tookMax:
		// What they take is in proportion to how many they are; never by more
		// than half, as one slow moment of the database is no measure.
		c.set(max(room/2, int64(float64(min(room, c.most))*float64(tookMax)/float64(average))))
	case average > tookMax/4 && c.most >= roomMin:
		// Nobody waits too long yet, but if all who have room came at once, they
		// would. Twice as many as what they take says, as batches carry more then;
		// and no more of them before it is known what these take.
		c.set(min(room+room/64, int64(2*float64(c.most)*float64(tookMax)/float64(average))))
	case c.most > room/2:
		c.set(room + room/8 + 1)
	case room > roomFirst:
		c.set(room - room/64) // forget what was possible once
	}
	c.ends, c.took, c.left, c.most = now.Add(crowdEvery), 0, 0, 0
}
