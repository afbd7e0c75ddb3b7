package boxoffice

import (
	"slices"
	"strconv"

	"github.com/google/uuid"
)

// BlockSeats keeps seats off sale. All of them must be available.
type BlockSeats struct {
	ID     uuid.UUID // UUIDv7, made by the caller
	Seats  []SeatWant
	Reason string
}

func (c *BlockSeats) decide(b *batch) *Error {
	if b.Terms.Status == ShowCancelled {
		return Refuse(CodeConflict, "The show is cancelled.")
	}
	if err := b.known(c.Seats, nil); err != nil {
		return err
	}
	var taken []int32
	var states []SeatStatus
	var overdue []*Reservation
	for _, w := range c.Seats {
		row := b.Seats[w.No]
		switch {
		case row == nil:
			taken, states = append(taken, w.No), append(states, SeatHeld)
		case row.StatusAt(b.Now) != SeatAvailable:
			taken, states = append(taken, w.No), append(states, row.StatusAt(b.Now))
		case !row.Locked:
			taken, states = append(taken, w.No), append(states, SeatHeld)
		case row.State == 'h':
			o := b.Reservations[row.ReservationID]
			if o == nil {
				return Refuse(CodeInternal, "an overdue hold in the way was not loaded")
			}
			if !slices.Contains(overdue, o) {
				overdue = append(overdue, o)
			}
		}
	}
	if taken != nil {
		e := Refuse(CodeSeatAlreadyReserved, "%d of the seats are in use.", len(taken))
		e.SeatNos, e.SeatNows = taken, states
		return e
	}
	for _, o := range overdue {
		b.close(o, ReservationExpired, ReasonExpired)
	}
	nos := make([]int32, 0, len(c.Seats))
	for _, w := range c.Seats {
		row := b.Seats[w.No]
		row.State, row.BlockID, row.dirty = 'x', c.ID, true
		nos = append(nos, w.No)
	}
	slices.Sort(nos)
	b.Blocks[c.ID] = true
	b.did.Blocks = append(b.did.Blocks, NewBlock{c.ID, c.Reason, nos})
	b.log(Change{Type: PlaceBlocked, BlockID: c.ID, Before: string(SeatAvailable), After: string(SeatBlocked),
		SeatNos: nos, SeatStates: letters('x', len(nos)), Detail: c.Reason})
	b.out.ID, b.out.Count = c.ID, len(nos)
	return nil
}

// UnblockSeats puts seats back on sale: the named ones, or all of a block. A
// seat that is being sold from its block is in use, and refused.
type UnblockSeats struct {
	BlockID uuid.UUID // zero: the named seats
	Seats   []SeatWant
}

func (c *UnblockSeats) decide(b *batch) *Error {
	if err := b.known(c.Seats, nil); err != nil {
		return err
	}
	var rows []*SeatRow
	if c.BlockID != uuid.Nil {
		if !b.Blocks[c.BlockID] {
			return Refuse(CodeNotFound, "There is no such block.")
		}
		for _, row := range b.Seats {
			if row.BlockID == c.BlockID {
				rows = append(rows, row)
			}
		}
	}
	var bad []Violation
	for i, w := range c.Seats {
		row := b.Seats[w.No]
		if row == nil || row.BlockID == uuid.Nil {
			bad = append(bad, Violation{"seats[" + strconv.Itoa(i) + "]", w.Named + " is not blocked"})
			continue
		}
		rows = append(rows, row)
	}
	if bad != nil {
		return Invalid(bad...)
	}
	slices.SortFunc(rows, func(x, y *SeatRow) int { return int(x.No) - int(y.No) })
	var taken []int32
	var states []SeatStatus
	var overdue []*Reservation
	for _, row := range rows {
		switch s := row.StatusAt(b.Now); {
		case s != SeatBlocked:
			taken, states = append(taken, row.No), append(states, s)
		case row.State == 'h':
			if o := b.Reservations[row.ReservationID]; o == nil {
				return Refuse(CodeInternal, "an overdue hold in the way was not loaded")
			} else if !slices.Contains(overdue, o) {
				overdue = append(overdue, o)
			}
		}
	}
	if taken != nil {
		e := Refuse(CodeSeatAlreadyReserved, "%d of the seats are being sold from their block.", len(taken))
		e.SeatNos, e.SeatNows = taken, states
		return e
	}
	for _, o := range overdue {
		b.close(o, ReservationExpired, ReasonExpired)
	}
	if len(rows) == 0 {
		return nil
	}
	nos := make([]int32, 0, len(rows))
	for _, row := range rows {
		row.State, row.BlockID, row.dirty = 'a', uuid.Nil, true
		nos = append(nos, row.No)
	}
	b.log(Change{Type: PlaceUnblocked, BlockID: c.BlockID, Before: string(SeatBlocked), After: string(SeatAvailable),
		SeatNos: nos, SeatStates: letters('a', len(nos))})
	b.out.ID, b.out.Count = c.BlockID, len(nos)
	return nil
}

// SetAreaCapacity changes how many places an area has, never below what is
// held and booked.
type SetAreaCapacity struct {
	AreaNo   int32
	Capacity int // 0…
}

func (c *SetAreaCapacity) decide(b *batch) *Error {
	a := b.Areas[c.AreaNo]
	if a == nil {
		return Refuse(CodeNotFound, "There is no such area in this show.")
	}
	if used := a.Booked + b.liveUnits()[a.No]; c.Capacity < used {
		e := Refuse(CodeCapacityInUse, "%d places of the area are held and booked.", used)
		e.Facts.InUse = &used
		return e
	}
	if c.Capacity == a.Capacity {
		return nil
	}
	for _, o := range b.overdueOf(a.No) {
		if a.Held+a.Booked <= c.Capacity {
			break
		}
		b.close(o, ReservationExpired, ReasonExpired)
	}
	was := a.Capacity
	a.Capacity, a.dirty = c.Capacity, true
	b.log(Change{Type: ShowChanged, AreaNos: []int32{a.No}, AreaUnits: []int32{0},
		Detail: "capacity of " + a.Name + " " + strconv.Itoa(was) + " → " + strconv.Itoa(c.Capacity)})
	return nil
}

func letters(l byte, n int) []byte {
	s := make([]byte, n)
	for i := range s {
		s[i] = l
	}
	return s
}
