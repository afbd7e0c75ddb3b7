package main

import (
	"slices"
	"strings"
	"time"
)

// entry is a line of a show's log.
type entry struct {
	Type     string
	Sequence int64
	N        int
	At       time.Time
	Actor    string
	Reason   string
	Note     string
	Object   struct {
		ReservationID, BookingID, RefundID string
		TicketIDs                          []string
	}
	Before *struct{ Status string }
	After  struct {
		Status    string
		ExpiresAt time.Time
		Seats     []struct{ SeatID, Label, Status string }
		Areas     []struct{ Units, Booked int }
	}
}

// board is a show's map, as the log says it. Ends of holds are nanoseconds
// since 1970.
type board struct {
	states []byte // a, h, b, x, or H: held from a block
	ends   []int64
	owners []string            // reservations that the seats were last logged with
	units  map[string]standing // held in the area, by reservation
	booked int
}

type standing struct {
	n    int
	ends int64
}

// follow applies an entry.
func (b *board) follow(sh *show, e *entry) {
	var ends int64
	if !e.After.ExpiresAt.IsZero() {
		ends = e.After.ExpiresAt.UnixNano()
	}
	for _, s := range e.After.Seats {
		i := slices.Index(sh.label, s.Label)
		if i < 0 {
			continue
		}
		state, was := letters[s.Status][0], b.states[i]
		if state == 'h' && (was == 'x' || was == 'H') {
			state = 'H'
		}
		b.states[i], b.ends[i], b.owners[i] = state, ends, e.Object.ReservationID
	}
	for _, a := range e.After.Areas {
		b.booked += a.Booked
		if ends != 0 {
			st := b.units[e.Object.ReservationID]
			b.units[e.Object.ReservationID] = standing{st.n + a.Units, ends}
		}
	}
	if st, ok := b.units[e.Object.ReservationID]; ok && ends != 0 {
		b.units[e.Object.ReservationID] = standing{st.n, ends}
	}
}

// at is what somebody is shown when the database's clock says now.
func (b *board) at(now int64) (statuses string, held int) {
	letters := make([]byte, len(b.states))
	for i, s := range b.states {
		over := b.ends[i] <= now
		switch {
		case s == 'h' && over:
			s = 'a'
		case s == 'H' && over:
			s = 'x'
		case s == 'H':
			s = 'h'
		}
		letters[i] = s
	}
	for _, st := range b.units {
		if st.ends > now {
			held += st.n
		}
	}
	return string(letters), held
}

// reel is a log that can be wound to any version.
type reel struct {
	sh      *show
	log     []entry
	board   *board
	next    int // entry
	version int64
}

// at is the board at a version, and whether the log has that. It is good until
// the next call.
func (f *reel) at(version int64) (*board, bool) {
	if f.board == nil || version < f.version {
		n := len(f.sh.seats)
		f.board = &board{states: []byte(strings.Repeat("a", n)), ends: make([]int64, n), owners: make([]string, n), units: map[string]standing{}}
		f.next, f.version = 0, 0
	}
	for ; f.next < len(f.log) && f.log[f.next].Sequence <= version; f.next++ {
		f.board.follow(f.sh, &f.log[f.next])
		f.version = f.log[f.next].Sequence
	}
	return f.board, f.version == version
}

// replay holds every map that was shown against the log, and returns how many
// agree. tell gets what does not.
func replay(sh *show, log []entry, maps []*Op, tell func(format string, args ...any)) (agree int) {
	film := &reel{sh: sh, log: log}
	slices.SortFunc(maps, func(x, y *Op) int { return int(x.Map.Version - y.Map.Version) })
	for _, o := range maps {
		m := o.Map
		b, logged := film.at(m.Version)
		if !logged {
			tell("a map of %s had version %d, which the log does not have", sh.title, m.Version)
			continue
		}
		statuses, held := b.at(m.AsOf)
		free := max(0, m.Capacity-held-b.booked)
		switch {
		case m.Statuses != "" && m.Statuses != statuses:
			tell("a map (%s) of %s, version %d, showed\n    %s, where the log says\n    %s", o.What, sh.title, m.Version, m.Statuses, statuses)
		case m.Held >= 0 && sh.floor > 0 && (m.Held != held || m.Booked != b.booked || m.Free != free):
			tell("a map (%s) of %s, version %d, showed %d units held, %d booked, %d of %d free, where the log says %d, %d and %d",
				o.What, sh.title, m.Version, m.Held, m.Booked, m.Free, m.Capacity, held, b.booked, free)
		case m.Held < 0 && sh.floor > 0 && m.Free != free:
			tell("a map (%s) of %s, version %d, showed %d of %d units free, where the log says %d", o.What, sh.title, m.Version, m.Free, m.Capacity, free)
		default:
			agree++
		}
	}
	return agree
}

// gapless sees that a log has every version, and every entry of each, once.
func gapless(sh *show, log []entry, tell func(format string, args ...any)) {
	version, n := int64(0), 0
	for i := range log {
		e := &log[i]
		switch {
		case e.Sequence == version && e.N == n:
			n++
		case e.Sequence == version+1 && e.N == 0:
			version, n = e.Sequence, 1
		default:
			tell("the log of %s goes from %d.%d to %d.%d", sh.title, version, n-1, e.Sequence, e.N)
			version, n = e.Sequence, e.N+1
		}
	}
}
