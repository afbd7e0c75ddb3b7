package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// lobby is a waiting room written down by hand. Times are seconds.
type lobby struct {
	*story
	room room
}

func newLobby() *lobby {
	s := newStory()
	s.show.crowded = true
	l := &lobby{story: s, room: room{sh: s.show, holders: map[string]string{}, right: true, history: &history{began: at(0)}}}
	return l
}

func moment(seconds float64) *time.Time {
	return new(at(0).Add(time.Duration(seconds * float64(time.Second))))
}

// enters is somebody who joined at the beginning, with a turn from one time on
// that lapses two seconds later, unless it was used at another: then it ends
// twenty seconds after that. 0: never.
func (l *lobby) enters(id string, from, used float64) *entrant {
	e := entrant{Entry: id, Customer: "c-" + id, Joined: at(0)}
	if from > 0 {
		e.Turn, e.Admitted, e.Lapses = new(1), moment(from), moment(from+2)
	}
	if used > 0 {
		e.Ends = moment(used + 20)
	}
	l.room.entrants = append(l.room.entrants, e)
	return &l.room.entrants[len(l.room.entrants)-1]
}

// logs adds what became of a customer's hold.
func (l *lobby) logs(typ, reservation, customer string, when, ends int, status string) {
	e := logged(int64(len(l.room.log)+1), typ, reservation, ends, "A-1", held, 0, 0)
	e.At, e.After.Status, e.Reason = at(when), status, "buyer"
	l.room.log = append(l.room.log, e)
	l.room.holders[reservation] = customer
}

// sets adds that the room was opened or closed.
func (l *lobby) sets(what string, when int) {
	e := logged(int64(len(l.room.log)+1), "show.changed", "", 0, "", "", 0, 0)
	e.At, e.Note = at(when), "The waiting room is "+what
	l.room.log = append(l.room.log, e)
}

func TestWhatAWaitingRoomMayDo(t *testing.T) {
	t.Parallel()
	const created, cancelled, consumed = "reservation.created", "reservation.cancelled", "reservation.consumed"
	for _, c := range []struct {
		name  string
		tell  func(l *lobby)
		wrong string // a part of it; "": nothing is
	}{
		{"a hold with a turn", func(l *lobby) {
			l.enters("e1", 5, 6)
			l.logs(created, "r1", "c-e1", 6, 10, "active")
		}, ""},
		{"one after the other", func(l *lobby) {
			l.enters("e1", 5, 6)
			l.logs(created, "r1", "c-e1", 6, 16, "active")
			l.logs(cancelled, "r1", "c-e1", 7, 16, "cancelled")
			l.logs(created, "r2", "c-e1", 8, 10, "active")
			l.logs(created, "r3", "c-e1", 11, 20, "active") // the second is over
		}, ""},
		{"two at once", func(l *lobby) {
			l.enters("e1", 5, 6)
			l.logs(created, "r1", "c-e1", 6, 16, "active")
			l.logs(created, "r2", "c-e1", 8, 10, "active")
		}, "with which reservation r1 was active"},
		{"one after something was bought", func(l *lobby) {
			l.enters("e1", 5, 6)
			l.logs(created, "r1", "c-e1", 6, 16, "active")
			l.logs(consumed, "r1", "c-e1", 7, 16, "consumed")
			l.logs(created, "r2", "c-e1", 8, 10, "active")
		}, "with which reservation r1 was consumed"},
		{"without a turn", func(l *lobby) {
			l.enters("e1", 0, 0)
			l.logs(created, "r1", "c-e1", 6, 16, "active")
		}, "who had no turn then"},
		{"before the turn", func(l *lobby) {
			l.enters("e1", 5, 6)
			l.logs(created, "r1", "c-e1", 4, 16, "active")
		}, "who had no turn then"},
		{"after the turn", func(l *lobby) {
			l.enters("e1", 5, 6)
			l.logs(created, "r1", "c-e1", 27, 30, "active")
		}, "who had no turn then"},
		{"after leaving", func(l *lobby) {
			l.enters("e1", 5, 6).Closed = moment(7)
			l.logs(created, "r1", "c-e1", 8, 10, "active")
		}, "who had no turn then"},
		{"staff needs none", func(l *lobby) {
			l.logs(created, "r1", "c-e1", 6, 10, "active")
			l.room.log[0].Reason = "staff"
		}, ""},
		{"none is needed while it is closed", func(l *lobby) {
			l.sets("closed: by_hand.", 5)
			l.logs(created, "r1", "c-e1", 6, 10, "active")
			l.tell(5, 5.5, Op{Do: closeQueue})
			l.tell(6, 7, Op{Do: place, Status: 201})
		}, ""},
		{"one is needed when it is open again", func(l *lobby) {
			l.sets("closed: by_hand.", 4)
			l.sets("open.", 5)
			l.logs(created, "r1", "c-e1", 6, 10, "active")
		}, "who had no turn then"},
		{"nor was anybody let in before it was closed, or when it was open again", func(l *lobby) {
			l.tell(4, 5, Op{Do: closeQueue})
			l.tell(5, 6, Op{Do: openQueue})
			l.tell(7, 8, Op{Do: place, Status: 201})
		}, "was answered 201"},
		{"it may have been closed already, or still", func(l *lobby) {
			l.tell(4, 5, Op{Do: closeQueue})
			l.tell(8, 9, Op{Do: openQueue})
			l.tell(3, 4.5, Op{Do: place, Status: 201})
			l.tell(8.5, 10, Op{Do: place, Status: 201})
		}, ""},
		{"an entry that is lost", func(l *lobby) { l.tell(1, 2, Op{Do: queueUp, Entry: "e1"}) }, "is lost"},
		{"one who left and is there", func(l *lobby) {
			l.enters("e1", 0, 0)
			l.tell(1, 2, Op{Do: leaveQueue, Entry: "e1"})
		}, "and is in it"},
		{"too many wait", func(l *lobby) { l.tell(1, 2, Op{Do: look, Waiting: 7}) }, "7 waited"},
		{"nothing was shown, and they were refused", func(l *lobby) { l.tell(1, 2, Op{Do: place, Status: 403, Code: "QUEUE_TOKEN_REQUIRED"}) }, ""},
		{"nothing was shown, and sales are paused", func(l *lobby) { l.tell(1, 2, Op{Do: place, Status: 409, Code: "SHOW_NOT_ON_SALE"}) }, ""},
		{"nothing was shown, and they were let in", func(l *lobby) { l.tell(1, 2, Op{Do: place, Status: 201}) }, "was answered 201"},
		{"nothing was shown, and they were told about seats", func(l *lobby) {
			l.tell(1, 2, Op{Do: place, Status: 409, Code: "SEAT_ALREADY_RESERVED"})
		}, "not QUEUE_TOKEN_REQUIRED"},
		{"another's was shown, and they were let in", func(l *lobby) { l.tell(1, 2, Op{Do: place, Status: 201, Pass: anothersOne}) }, "not QUEUE_TOKEN_INVALID"},
		{"a turn that is good is refused", func(l *lobby) {
			l.tell(1, 2, Op{Do: place, Status: 403, Code: "QUEUE_TOKEN_EXPIRED", Pass: ownTurn, TurnEnds: 3 * second})
		}, "until 3.000 s"},
		{"a turn that is over is refused", func(l *lobby) {
			l.tell(1, 4, Op{Do: place, Status: 403, Code: "QUEUE_TOKEN_EXPIRED", Pass: ownTurn, TurnEnds: 3 * second})
		}, ""},
		{"positions fall", func(l *lobby) {
			for i, p := range []int64{9, 9, 4, 1} {
				l.tell(float64(i), float64(i)+0.5, Op{Do: look, Entry: "e1", Position: p})
			}
			l.tell(9, 10, Op{Do: look, Entry: "e2", Position: 7})
			l.tell(1, 10, Op{Do: look, Entry: "e2", Position: 8}) // at the same time
		}, ""},
		{"a position rises", func(l *lobby) {
			l.tell(1, 2, Op{Do: look, Entry: "e1", Position: 3})
			l.tell(3, 4, Op{Do: look, Entry: "e1", Position: 4})
		}, "was told position 3 at 2.000 s and position 4 at 3.000 s"},
		{"one every two seconds", func(l *lobby) {
			for i := range 60 {
				l.enters(fmt.Sprint("e", i), 2*float64(i+1), 2*float64(i+1)+0.5)
			}
		}, ""},
		{"one a second", func(l *lobby) {
			for i := range 60 {
				l.enters(fmt.Sprint("e", i), float64(i+1), float64(i+1)+0.5)
			}
		}, "more than 30 a minute"},
		{"one a second, two in three of whom missed the turn", func(l *lobby) {
			for i := range 60 {
				used := float64(i+1) + 0.5
				if i%3 > 0 {
					used = 0
				}
				l.enters(fmt.Sprint("e", i), float64(i+1), used)
			}
		}, ""},
		{"what was told counts as well as what is written", func(l *lobby) {
			for i := range 60 {
				id := fmt.Sprint("e", i)
				l.enters(id, 2*float64(i+1), 2*float64(i+1)+0.5)
				l.tell(float64(i), float64(i)+0.1, Op{Do: look, Entry: id, Admitted: 2*int64(i+1)*second - second})
			}
		}, "more than 30 a minute"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLobby()
			c.tell(l)
			l.room.ops = l.ops
			var wrong []string
			l.room.audit(func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) })
			if c.wrong == "" && wrong != nil || c.wrong != "" && (wrong == nil || !strings.Contains(wrong[0], c.wrong)) {
				t.Errorf("%q, want %q", wrong, c.wrong)
			}
		})
	}
}
