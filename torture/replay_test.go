package main

import (
	"fmt"
	"testing"
	"time"
)

func at(seconds int) time.Time { return time.Unix(1_800_000_000+int64(seconds), 0) }

// logged makes an entry that moves one seat, and units of the area.
func logged(version int64, typ, reservation string, ends int, label, status string, units, booked int) entry {
	e := entry{Type: typ, Sequence: version, At: at(int(version))}
	e.Object.ReservationID = reservation
	if ends > 0 {
		e.After.ExpiresAt = at(ends)
	}
	if label != "" {
		e.After.Seats = append(e.After.Seats, struct{ SeatID, Label, Status string }{"", label, status})
	}
	if units != 0 || booked != 0 {
		e.After.Areas = append(e.After.Areas, struct{ Units, Booked int }{units, booked})
	}
	return e
}

func TestMapsAreTheLogReplayed(t *testing.T) {
	t.Parallel()
	sh := newStory().show
	log := []entry{
		logged(1, "reservation.created", "r1", 100, "A-1", held, 2, 0),
		logged(2, "place.blocked", "", 0, "A-2", blocked, 0, 0),
		logged(3, "reservation.created", "r2", 50, "A-2", held, 0, 0), // from the block
		logged(4, "reservation.consumed", "r1", 100, "A-1", booked, -2, 2),
		logged(5, "reservation.created", "r3", 200, "", "", 1, 0),
		logged(6, "reservation.extended", "r3", 300, "", "", 0, 0),
	}
	for _, c := range []struct {
		name    string
		version int64
		asOf    int
		want    seen
	}{
		{"a hold", 1, 5, seen{Statuses: "haa", Held: 2, Booked: 0, Free: 2}},
		{"a hold that is over and not closed", 1, 100, seen{Statuses: "aaa", Held: 0, Booked: 0, Free: 4}},
		{"a hold from a block", 3, 49, seen{Statuses: "hha", Held: 2, Free: 2}},
		{"one that is over", 3, 50, seen{Statuses: "hxa", Held: 2, Free: 2}},
		{"a booking", 4, 50, seen{Statuses: "bxa", Booked: 2, Free: 2}},
		{"a hold in the area", 5, 199, seen{Statuses: "bxa", Held: 1, Booked: 2, Free: 1}},
		{"one that is over there", 5, 200, seen{Statuses: "bxa", Booked: 2, Free: 2}},
		{"one that was extended", 6, 299, seen{Statuses: "bxa", Held: 1, Booked: 2, Free: 1}},
	} {
		m := c.want
		m.Version, m.AsOf, m.Capacity = c.version, at(c.asOf).UnixNano(), 4
		var told []string
		tell := func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
		if n := replay(sh, log, []*Op{{Map: &m}}, tell); n != 1 || told != nil {
			t.Errorf("%s: %v", c.name, told)
		}
		wrong := m
		wrong.Statuses = "aab"
		later := m
		later.Version = 7
		less := m
		less.Free--
		if n := replay(sh, log, []*Op{{Map: &wrong}, {Map: &later}, {Map: &less}}, tell); n != 0 || len(told) != 3 {
			t.Errorf("%s: of three wrong maps %d were told: %v", c.name, len(told), told)
		}
	}
}

func TestALogWithAGapIsTold(t *testing.T) {
	t.Parallel()
	sh := newStory().show
	for _, c := range []struct {
		versions []int64
		ns       []int
		told     int
	}{
		{[]int64{1, 1, 2, 3}, []int{0, 1, 0, 0}, 0},
		{[]int64{1, 3}, []int{0, 0}, 1},
		{[]int64{1, 2, 2}, []int{0, 0, 2}, 1},
		{[]int64{1, 1}, []int{0, 0}, 1},
	} {
		log := make([]entry, len(c.versions))
		for i := range log {
			log[i].Sequence, log[i].N = c.versions[i], c.ns[i]
		}
		n := 0
		gapless(sh, log, func(string, ...any) { n++ })
		if n != c.told {
			t.Errorf("%v %v: told %d times, want %d", c.versions, c.ns, n, c.told)
		}
	}
}
