package live

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// The letters of a seat as it is written down: those of
// [boxoffice.SeatStatus], and one for a held seat that goes back to its block.
const (
	seatAvailable     = 'a'
	seatHeld          = 'h'
	seatHeldFromBlock = 'H'
	seatBooked        = 'b'
	seatBlocked       = 'x'
)

// Head is where a show's log stands.
type Head struct {
	Version    int64
	Definition int64     // of the show's terms
	ChangedAt  time.Time // when the version was made
	Now        time.Time // the clock that the show is judged by, read with the rest
}

// Map is the places of a show as they are written down at one version. Holds
// that are over and not closed are in it as holds.
type Map struct {
	Head
	Terms  *boxoffice.Terms
	States []byte               // a letter a seat, in plan order
	Ends   []time.Time          // of the seats' holds, in plan order; zero unless held
	Areas  []Area               // by number
	Holds  map[uuid.UUID][]Hold // of areas, by reservation
}

// Area is an area of a show as it is written down.
type Area struct {
	No       int32
	ID       uuid.UUID
	Ref      string // the organiser's own identifier; "": none
	Name     string
	Category string
	Capacity int
	Held     int // overdue holds that are not closed yet included
	Booked   int
}

// Hold is a number of units of an area that a reservation holds.
type Hold struct {
	AreaNo int32
	Units  int
	End    time.Time
}

// AddHold adds units of an area to those of a reservation, whose hold has one
// end.
func (m *Map) AddHold(reservation uuid.UUID, h Hold) {
	hold := m.Holds[reservation]
	i := slices.IndexFunc(hold, func(have Hold) bool { return have.AreaNo == h.AreaNo })
	if i < 0 {
		i, hold = len(hold), append(hold, Hold{AreaNo: h.AreaNo})
	}
	hold[i].Units += h.Units
	hold = slices.DeleteFunc(hold, func(h Hold) bool { return h.Units <= 0 })
	for i := range hold {
		hold[i].End = h.End
	}
	m.Holds[reservation] = hold
	if len(hold) == 0 {
		delete(m.Holds, reservation)
	}
}

// Delta is what was logged in a show after a version.
type Delta struct {
	Head
	Changes []Change // in order
}

// Change is an entry of the log, as far as it moves places.
type Change struct {
	Version       int64
	Type          boxoffice.ChangeType
	ReservationID uuid.UUID
	ExpiresAt     time.Time
	SeatNos       []int32
	SeatStates    string // a letter each, in step
	AreaNos       []int32
	AreaUnits     []int32 // held ones: taken positive, given back negative
	AreaBooked    []int32 // booked ones, likewise; empty when none were
}

// follows reports whether d can be applied to m. It cannot when entries are
// missing, or when one of them changed the show itself: prices, plan,
// capacity. Then the map has to be read again.
func (m *Map) follows(d *Delta) bool {
	if d.Definition != m.Definition || d.Version < m.Version {
		return false
	}
	at := m.Version
	for i := range d.Changes {
		c := &d.Changes[i]
		if c.Version != at && c.Version != at+1 || c.Version == m.Version || len(c.SeatNos) != len(c.SeatStates) {
			return false
		}
		at = c.Version
		switch c.Type {
		case boxoffice.ReservationCreated, boxoffice.ReservationChanged, boxoffice.ReservationExtended,
			boxoffice.ReservationExpire, boxoffice.ReservationCancelled, boxoffice.ReservationConsume:
		case boxoffice.PlaceBlocked, boxoffice.PlaceUnblocked, boxoffice.TicketVoidChange:
		case boxoffice.BookingCreated, boxoffice.BookingConfirmedChange, boxoffice.BookingFailedChange, boxoffice.BookingExpiredChange,
			boxoffice.BookingCancelledChange, boxoffice.PaymentCreated, boxoffice.PaymentSucceededChange, boxoffice.PaymentFailedChange,
			boxoffice.RefundCreated, boxoffice.RefundSucceededChange, boxoffice.RefundFailedChange,
			boxoffice.TicketIssued, boxoffice.TicketUsedChange, boxoffice.WaitlistJoined, boxoffice.WaitlistLeftChange: // they move no place
		default:
			return false
		}
		for _, no := range c.SeatNos {
			if _, ok := m.Terms.Plan.Position(no); !ok {
				return false
			}
		}
		for _, no := range c.AreaNos {
			if _, ok := m.area(no); !ok {
				return false
			}
		}
	}
	return at == d.Version
}

func (m *Map) area(no int32) (int, bool) {
	return slices.BinarySearchFunc(m.Areas, no, func(a Area, no int32) int { return cmp.Compare(a.No, no) })
}

// apply brings m to the version of d, which follows it.
func (m *Map) apply(d *Delta) {
	for i := range d.Changes {
		c := &d.Changes[i]
		for j, no := range c.SeatNos {
			m.set(no, c.SeatStates[j], c.ExpiresAt)
		}
		m.moveUnits(c)
	}
	m.Head = d.Head
}

// set writes a seat's new state down. That a held seat belongs to a block is
// seen from what it was before: the log has only the four letters.
func (m *Map) set(no int32, state byte, end time.Time) {
	i, _ := m.Terms.Plan.Position(no)
	was := m.States[i]
	if state != seatHeld {
		end = time.Time{}
	} else if was == seatBlocked || was == seatHeldFromBlock {
		state = seatHeldFromBlock
	}
	m.States[i], m.Ends[i] = state, end
}

// moveUnits follows the units of areas, and the holds that have some.
func (m *Map) moveUnits(c *Change) {
	for j, no := range c.AreaNos {
		i, _ := m.area(no)
		m.Areas[i].Held += int(c.AreaUnits[j])
		if j < len(c.AreaBooked) {
			m.Areas[i].Booked += int(c.AreaBooked[j])
		}
		if c.ExpiresAt.IsZero() {
			continue // no hold's units
		}
		m.AddHold(c.ReservationID, Hold{AreaNo: no, Units: int(c.AreaUnits[j]), End: c.ExpiresAt})
	}
	if c.ExpiresAt.IsZero() {
		return // it is about what was bought
	}
	// An extension moves the end and no units.
	for j := range m.Holds[c.ReservationID] {
		m.Holds[c.ReservationID][j].End = c.ExpiresAt
	}
}
