package boxoffice

import (
	"bytes"
	"cmp"
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
	bad := b.twice("seats", c.Seats)
	if len(c.Seats) == 0 {
		bad = append(bad, Violation{"seats", "name at least one seat"})
	}
	if bad != nil {
		return Invalid(bad...)
	}
	if b.Terms.Status == ShowCancelled {
		return Refuse(CodeConflict, "The show is cancelled.")
	}
	if err := b.known(c.Seats, nil); err != nil {
		return err
	}
	t := taking{}
	for _, w := range c.Seats {
		t.seats = append(t.seats, SeatLine{No: w.No})
	}
	taken, err := b.planSeats(&t, "", uuid.Nil, items{})
	if err != nil {
		return err
	}
	if taken.nos != nil {
		return taken.refuse("of the seats are in use.")
	}
	for _, o := range t.overdue {
		b.close(o, ReservationExpired, ReasonExpired)
	}
	nos := make([]int32, 0, len(c.Seats))
	for _, w := range c.Seats {
		row := b.Seats[w.No]
		b.changeSeat(row)
		row.State, row.BlockID = 'x', c.ID
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
	if bad := b.twice("seats", c.Seats); bad != nil {
		return Invalid(bad...)
	}
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
		switch {
		case row == nil || row.BlockID == uuid.Nil:
			bad = append(bad, Violation{"seats[" + strconv.Itoa(i) + "]", w.Named + " is not blocked"})
		case row.BlockID != c.BlockID: // or it is there already
			rows = append(rows, row)
		}
	}
	if bad != nil {
		return Invalid(bad...)
	}
	slices.SortFunc(rows, func(x, y *SeatRow) int { return cmp.Compare(x.No, y.No) })
	var taken inTheWay
	var overdue []*Reservation
	for _, row := range rows {
		switch s := row.StatusAt(b.Now); {
		case s != SeatBlocked:
			taken.add(row.No, s)
		case !row.Locked:
			taken.add(row.No, SeatHeld) // somebody outside the lanes has the row
		case row.State == 'h':
			var err *Error
			if overdue, err = b.closeFirst(overdue, row); err != nil {
				return err
			}
		}
	}
	if taken.nos != nil {
		return taken.refuse("of the seats are being sold from their block.")
	}
	for _, o := range overdue {
		b.close(o, ReservationExpired, ReasonExpired)
	}
	if len(rows) == 0 {
		return nil
	}
	nos := make([]int32, 0, len(rows))
	b.freed = true
	for _, row := range rows {
		b.changeSeat(row)
		row.State, row.BlockID = 'a', uuid.Nil
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
	if used := b.used(a); c.Capacity < used {
		e := Refuse(CodeCapacityInUse, "%d places of the area are held and booked.", used)
		e.Facts.InUse = &used
		return e
	}
	if c.Capacity == a.Capacity {
		return nil
	}
	for _, o := range b.overdue() {
		if a.Held+a.Booked > c.Capacity && units(o.Areas, a.No) > 0 {
			b.close(o, ReservationExpired, ReasonExpired)
		}
	}
	b.freed = b.freed || c.Capacity > a.Capacity
	was := a.Capacity
	b.changeArea(a)
	a.Capacity = c.Capacity
	b.log(Change{Type: ShowChanged, AreaNos: []int32{a.No}, AreaUnits: []int32{0},
		Detail: "capacity of " + a.Name + " " + strconv.Itoa(was) + " → " + strconv.Itoa(c.Capacity)})
	return nil
}

func letters(l byte, n int) []byte { return bytes.Repeat([]byte{l}, n) }
