package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// tape is what a viewer was told, written down by hand.
type tape struct {
	sh    *show
	heard []*news
	line  int
	time  int64
}

func (t *tape) add(event, id string, say told) *tape {
	t.time += second
	t.heard = append(t.heard, &news{Line: t.line, Time: t.time, Event: event, ID: id, told: say})
	return t
}

// comes brings the viewer to an instance with an id.
func (t *tape) comes(from string) *tape {
	t.line++
	t.add(comes, "", told{})
	t.heard[len(t.heard)-1].From = from
	return t
}

func (t *tape) snapshot(version int64, statuses string, free int) *tape {
	return t.add("snapshot", fmt.Sprint(version), told{Version: version, Statuses: statuses, Areas: []toldArea{{free, 4}}, Status: "on_sale"})
}

// changes tells of seats, such as "A-1 held", and of the area unless free is -1.
func (t *tape) changes(after, version int64, free int, seats ...string) *tape {
	say, id := told{After: after, Version: version}, ""
	if version > after {
		id = fmt.Sprint(version)
	}
	for _, s := range seats {
		label, status, _ := strings.Cut(s, " ")
		for i, l := range t.sh.label {
			if l == label {
				say.Seats = append(say.Seats, toldSeat{t.sh.seats[i], status})
			}
		}
	}
	if free >= 0 {
		say.Areas = []toldArea{{free, 4}}
	}
	return t.add("changes", id, say)
}

// What a viewer of three seats and four units may be told of a log, and what
// not. Each event comes a second after the one before.
func TestWhatAViewerIsToldIsTheLog(t *testing.T) {
	t.Parallel()
	log := []entry{
		logged(1, "reservation.created", "r1", 100, "A-1", held, 2, 0),
		logged(2, "place.blocked", "", 0, "A-2", blocked, 0, 0),
		logged(3, "reservation.created", "r2", 4, "A-2", held, 0, 0), // from the block
		logged(4, "reservation.consumed", "r1", 100, "A-1", booked, -2, 2),
		logged(5, "show.paused", "", 0, "", "", 0, 0),
		logged(6, "reservation.created", "r3", 200, "A-3", held, 0, 0),
	}
	begin := func(s *tape) *tape { return s.comes("").snapshot(1, "haa", 2) }
	for _, c := range []struct {
		name  string
		tell  func(s *tape)
		wrong string // a part of it; "": nothing is
	}{
		{"each change", func(s *tape) {
			begin(s).changes(1, 2, -1, "A-2 blocked").changes(2, 3, -1, "A-2 held").changes(3, 4, 2, "A-1 booked")
		}, ""},
		{"several at once, and a hold that ends", func(s *tape) {
			begin(s).changes(1, 3, -1, "A-2 held").changes(3, 3, -1, "A-2 blocked").changes(3, 4, 2, "A-1 booked")
		}, ""},
		{"on another line", func(s *tape) {
			begin(s).changes(1, 2, -1, "A-2 blocked").comes("2").changes(2, 4, 2, "A-1 booked", "A-2 held")
		}, ""},
		{"everything, because it is shorter", func(s *tape) { begin(s).comes("1").snapshot(4, "bha", 2) }, ""},
		{"a change is missing", func(s *tape) { begin(s).changes(1, 2, -1, "A-2 blocked").changes(3, 4, 2, "A-1 booked") }, "it follows version 3"},
		{"a change comes twice", func(s *tape) { begin(s).changes(1, 2, -1, "A-2 blocked").changes(1, 2, -1, "A-2 blocked") }, "it follows version 1"},
		{"a seat is missing", func(s *tape) { begin(s).changes(1, 3, -1).changes(3, 4, 2, "A-1 booked") }, "without seat A-2"},
		{"the area is missing", func(s *tape) { begin(s).changes(1, 4, -1, "A-1 booked", "A-2 held") }, "without the area"},
		{"a seat is something else", func(s *tape) { begin(s).changes(1, 2, -1, "A-2 held") }, "seat A-2"},
		{"a seat that nothing was said about is something else", func(s *tape) { s.comes("").snapshot(1, "hab", 2) }, "seat A-3"},
		{"a hold ends too early", func(s *tape) { begin(s).changes(1, 1, -1, "A-1 available") }, "seat A-1"},
		{"there is more room than there is", func(s *tape) { s.comes("").snapshot(1, "haa", 3) }, "3 of 4 units"},
		{"the units of a hold are free before its end", func(s *tape) { begin(s).changes(1, 1, 4) }, "4 of 4 units"},
		{"an id where there should be none", func(s *tape) { begin(s).add("changes", "1", told{After: 1, Version: 1}) }, `the id "1"`},
		{"no id where there should be one", func(s *tape) { begin(s).add("changes", "", told{After: 1, Version: 2}) }, `the id ""`},
		{"a version that was never logged", func(s *tape) { s.comes("").snapshot(7, "bhh", 2) }, "which the log does not have"},
		{"changes before there is a map", func(s *tape) { s.comes("").changes(1, 2, -1, "A-2 blocked") }, "before there was a map"},
		{"an older version", func(s *tape) {
			s.comes("").snapshot(4, "bha", 2).comes("4").add("reset", "", told{Version: 2}).snapshot(2, "hxa", 2)
		}, "what came after version 4"},
		{"an older version, because the show has changed", func(s *tape) {
			s.comes("").snapshot(5, "bha", 2).comes("5").add("reset", "", told{Version: 4}).snapshot(4, "bha", 2)
		}, "what came after version 5"},
		{"begin anew, because the show has changed", func(s *tape) {
			s.time = 10 * second
			s.comes("").snapshot(4, "bha", 2).comes("4").add("reset", "", told{Version: 6}).snapshot(6, "bxh", 2)
		}, ""},
		{"begin anew, for no reason", func(s *tape) { begin(s).comes("1").add("reset", "", told{Version: 4}).snapshot(4, "bha", 2) }, "what came after version 1"},
		{"begin anew, in the middle", func(s *tape) { begin(s).add("reset", "", told{Version: 4}).snapshot(4, "bha", 2) }, "nobody had asked"},
		{"begin anew, while the log cannot be read", func(s *tape) {
			s.time = 1000 * second
			s.comes("").snapshot(5, "bxa", 2).comes("5").add("reset", "", told{Version: 6}).snapshot(6, "bxh", 2)
		}, ""},
		{"who begins anew and is cut off comes with nothing", func(s *tape) {
			s.time = 10 * second
			s.comes("").snapshot(4, "bha", 2).comes("4").add("reset", "", told{Version: 6}).comes("").snapshot(6, "bxh", 2)
		}, ""},
		{"an event that nobody knows", func(s *tape) { begin(s).add("surprise", "", told{}) }, "no such event"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &tape{sh: newStory().show}
			c.tell(s)
			zero := at(0).UnixNano()
			may := circumstances{
				away: func(from, _ int64) bool { return from > 999*second },
				over: func(end, heard int64) bool { return (end-zero)/1000 <= heard },
			}
			var wrong []string
			follow(s.sh, log, s.heard, may, func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) })
			if c.wrong == "" && wrong != nil || c.wrong != "" && (len(wrong) != 1 || !strings.Contains(wrong[0], c.wrong)) {
				t.Errorf("%q, want %q", wrong, c.wrong)
			}
		})
	}
}

func TestAViewerEndsWithItsMap(t *testing.T) {
	t.Parallel()
	s := &tape{sh: newStory().show}
	log := []entry{logged(1, "reservation.created", "r1", 100, "A-1", held, 2, 0), logged(2, "place.blocked", "", 0, "A-2", blocked, 0, 0)}
	s.comes("").snapshot(1, "haa", 2).add("stale", "", told{Stale: true}).comes("1").add("show", "", told{Status: "paused"}).changes(1, 2, -1, "A-2 blocked")
	may := circumstances{away: func(int64, int64) bool { return false }, over: func(int64, int64) bool { return false }}
	has, told := follow(s.sh, log, s.heard, may, t.Errorf)
	if want := (picture{version: 2, letters: "hxa", free: 2, capacity: 4, status: "paused"}); has == nil || *has != want || told.versions != 1 {
		t.Errorf("%v after %d versions, want %v", has, told.versions, want)
	}
}

func TestEventsAreReadAsABrowserReadsThem(t *testing.T) {
	t.Parallel()
	const text = "retry: 700\nevent: heartbeat\ndata: {}\n\n: a comment\nevent: changes\nid: 7\ndata: {\"a\":\ndata: 1}\n\nevent: reset\nid: \ndata: {}\n\nevent: snapshot\nid: 8\ndata: {"
	s := &events{lines: bufio.NewReader(strings.NewReader(text))}
	for _, want := range []struct {
		name, data string
		id         *string
	}{{"heartbeat", "{}", nil}, {"changes", `{"a":1}`, new("7")}, {"reset", "{}", new("")}} {
		e, err := s.next()
		if err != nil || e.name != want.name || string(e.data) != want.data || (e.id == nil) != (want.id == nil) || e.id != nil && *e.id != *want.id {
			t.Errorf("%+v, %v, want %+v", e, err, want)
		}
	}
	if e, err := s.next(); !errors.Is(err, io.EOF) {
		t.Errorf("half an event was read: %+v, %v", e, err)
	}
	if s.retry != 700*time.Millisecond {
		t.Errorf("come back in %v", s.retry)
	}
}
