package boxoffice

import (
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// TicketStatus is the state of a ticket; see the package comment.
type TicketStatus string

// The states of a ticket.
const (
	TicketValid TicketStatus = "valid"
	TicketUsed  TicketStatus = "used"
	TicketVoid  TicketStatus = "void"
)

// Ticket is the right to one place.
type Ticket struct {
	ID            uuid.UUID
	BookingID     uuid.UUID
	N             int   // its number in the booking, from 1: seats first
	SeatNo        int32 // -1: a unit of AreaNo
	AreaNo        int32 // -1: a seat
	TicketType    string
	PriceMinor    int64 // as it was when held; 0 for a comp
	RefundedMinor int64 // given back or on its way; at most PriceMinor
	Status        TicketStatus
	IssuedAt      time.Time
	UsedAt        time.Time // of the first admission; zero: none
	UsedGate      string
	UsedScan      uuid.UUID // the scan that admitted first
	VoidAt        time.Time // zero: not void

	dirty bool
}

// issue makes the tickets of a booking: one for each place.
func (b *batch) issue(k *Booking, r *Reservation, reason Reason) {
	comp := k.TotalMinor == 0
	add := func(seat, area int32, kind string, price int64) {
		n := len(k.Tickets) + 1
		if comp {
			price = 0
		}
		t := &Ticket{
			ID: DerivedID(k.ID, "ticket "+strconv.Itoa(n)), BookingID: k.ID, N: n, SeatNo: seat, AreaNo: area,
			TicketType: kind, PriceMinor: price, Status: TicketValid, IssuedAt: b.Now,
		}
		k.Tickets = append(k.Tickets, t)
		b.changeTicket(t)
	}
	for _, s := range r.Seats {
		add(s.No, -1, s.TicketType, s.PriceMinor)
	}
	for _, l := range r.Areas {
		for range l.Quantity {
			add(-1, l.No, l.TicketType, l.PriceMinor)
		}
	}
	b.logTickets(k, TicketIssued, k.Tickets, "", reason)
}

// void takes tickets back: their places are free, or blocked again.
func (b *batch) void(k *Booking, r *Reservation, tickets []*Ticket, reason Reason) {
	c := Change{Type: TicketVoidChange, Reason: reason, BookingID: k.ID, ReservationID: r.ID, Before: string(tickets[0].Status), After: string(TicketVoid)}
	if slices.ContainsFunc(tickets, func(t *Ticket) bool { return t.Status != tickets[0].Status }) {
		c.Before = "" // some valid, some used
	}
	var back []AreaLine
	for _, t := range tickets {
		b.changeTicket(t)
		t.Status, t.VoidAt = TicketVoid, b.Now
		c.TicketIDs = append(c.TicketIDs, t.ID)
		if t.SeatNo >= 0 {
			// A show that moved to another plan keeps its booked seats; so the
			// row is there, and this booking's.
			if row := b.Seats[t.SeatNo]; row != nil && row.ReservationID == r.ID {
				b.free(row)
				c.SeatNos = append(c.SeatNos, t.SeatNo)
			}
			continue
		}
		if a := b.Areas[t.AreaNo]; a != nil {
			b.changeArea(a)
			a.Booked--
			b.freed = true
			back = append(back, AreaLine{No: t.AreaNo, Quantity: 1})
		}
	}
	slices.Sort(c.SeatNos)
	for _, no := range c.SeatNos {
		c.SeatStates = append(c.SeatStates, b.Seats[no].State)
	}
	c.bookUnits(back, -1)
	b.changeReservation(r)
	r.CancelledPlaces += len(tickets)
	b.Places[r.CustomerID] -= len(tickets)
	b.log(c)
}

// Scan is one reading of a ticket's code at a gate.
type Scan struct {
	ID         uuid.UUID // the device's
	TicketID   uuid.UUID
	Result     ScanResult
	Admitted   bool // somebody went in by it
	ShouldNot  bool // admitted by a device without a line, and should not have been
	Offline    bool
	Gate       string
	At         time.Time // when it was read
	RecordedAt time.Time
	FirstAt    time.Time // of the first admission, when it was not this one
	FirstGate  string
}

// ScanResult is what a gate is told.
type ScanResult string

// The results of scans.
const (
	ScanAdmitted    ScanResult = "admitted"
	ScanAlreadyUsed ScanResult = "already_used"
	ScanVoid        ScanResult = "void" // wins over already_used
	ScanWrongShow   ScanResult = "wrong_show"
	ScanInvalid     ScanResult = "invalid"
)

// CheckIn admits a ticket, once. The same scan again is answered the same.
type CheckIn struct {
	BookingID uuid.UUID
	TicketID  uuid.UUID
	ScanID    uuid.UUID
	Gate      string
	// At is when a device without a line read the code and let its holder in;
	// zero: now. It is not after now.
	At time.Time
}

func (c *CheckIn) decide(b *batch) *Error {
	k := b.Bookings[c.BookingID]
	if k == nil || b.alien() {
		return Refuse(CodeNotFound, "There is no such ticket.")
	}
	t := k.ticket(c.TicketID)
	if t == nil {
		return Refuse(CodeNotFound, "There is no such ticket.")
	}
	b.out.BookingID, b.out.ID = k.ID, t.ID
	if s := b.Scans[c.ScanID]; s != nil {
		if s.TicketID != t.ID {
			return Invalid(Violation{"scanId", "was used for another ticket; each scan has its own"})
		}
		b.out.Scan = new(*s)
		return nil
	}
	s := &Scan{
		ID: c.ScanID, TicketID: t.ID, Result: ScanAdmitted, Admitted: true, Offline: !c.At.IsZero(),
		Gate: c.Gate, At: c.At, RecordedAt: b.Now,
	}
	if !s.Offline || s.At.After(b.Now) {
		s.At = b.Now
	}
	switch {
	case t.Status == TicketVoid && !(s.Offline && s.At.Before(t.VoidAt)):
		s.Result, s.Admitted, s.ShouldNot = ScanVoid, s.Offline, s.Offline
	case t.UsedAt.IsZero():
		c.use(b, k, t, s)
	case s.Offline && s.At.Before(t.UsedAt):
		// This one was first; the other, let in later, should not have been.
		if first := b.Scans[t.UsedScan]; first != nil {
			// Its result stays what the gate was told, and is told again.
			first.ShouldNot, first.FirstAt, first.FirstGate = true, s.At, s.Gate
			if !slices.Contains(b.did.Scans, first) {
				b.did.Scans = append(b.did.Scans, first)
			}
		}
		b.changeTicket(t)
		t.UsedAt, t.UsedGate, t.UsedScan = s.At, s.Gate, s.ID
	default:
		s.Result, s.Admitted, s.ShouldNot = ScanAlreadyUsed, s.Offline, s.Offline
		s.FirstAt, s.FirstGate = t.UsedAt, t.UsedGate
	}
	b.Scans[s.ID] = s
	b.did.Scans = append(b.did.Scans, s)
	b.out.Scan = new(*s) // an upload in the same batch may still change it
	return nil
}

func (c *CheckIn) use(b *batch, k *Booking, t *Ticket, s *Scan) {
	before := t.Status
	b.changeTicket(t)
	t.UsedAt, t.UsedGate, t.UsedScan = s.At, s.Gate, s.ID
	if t.Status == TicketVoid {
		return // read before it became void: void it stays
	}
	t.Status = TicketUsed
	b.logTickets(k, TicketUsedChange, []*Ticket{t}, before, ReasonStaff)
}

func (b *batch) changeTicket(t *Ticket) {
	if !t.dirty {
		t.dirty = true
		b.did.Tickets = append(b.did.Tickets, t)
	}
}

func (b *batch) logTickets(k *Booking, typ ChangeType, tickets []*Ticket, before TicketStatus, reason Reason) {
	c := Change{Type: typ, Reason: reason, BookingID: k.ID, ReservationID: k.ReservationID, Before: string(before)}
	for _, t := range tickets {
		c.TicketIDs = append(c.TicketIDs, t.ID)
		c.After = string(t.Status)
	}
	b.log(c)
}
