package api

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

// Who has been told of a position on one instance and comes to another is told
// of none that is higher, however seldom that one asks.
func TestAWatchedWaitingRoomIsNoOlderThanWhoComesToIt(t *testing.T) {
	t.Parallel()
	began := time.Now()
	at := func(seconds int, head int64) *store.QueueState {
		return &store.QueueState{Head: boxoffice.QueueHead{Joined: 100, Drawn: 100, Head: head}, Now: began.Add(time.Duration(seconds) * time.Second)}
	}
	rooms := &queueRooms{ask: func(ctx context.Context, _ uuid.UUID) (*store.QueueState, error) {
		<-ctx.Done() // the database is slow
		return nil, ctx.Err()
	}}
	show := uuid.New()
	room := rooms.enter(show, at(0, 10))
	defer room.leave()
	_, news := room.now()
	if rooms.enter(show, at(1, 12)) != room {
		t.Fatal("a room of its own for each who watches")
	}
	defer room.leave()
	select {
	case <-news:
	default:
		t.Error("the others were not told")
	}
	for _, c := range []struct {
		seconds    int
		head, want int64
	}{
		{0, 11, 12}, // read before, and slower
		{2, 12, 12},
		{-30, 13, 13}, // a clock that went back
		{3, 20, 20},
	} {
		room.learn(at(c.seconds, c.head))
		if st, _ := room.now(); st.Head.Head != c.want {
			t.Errorf("at %d s with head %d: head %d, want %d", c.seconds, c.head, st.Head.Head, c.want)
		}
	}
}
