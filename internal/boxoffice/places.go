package boxoffice

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// SeatWant is a seat that somebody wants.
type SeatWant struct {
	No         int32 // -1: no seat of the show; Named says what was sent
	TicketType string
	Named      string // as the client named it
}

// AreaWant is a number of units that somebody wants of an area.
type AreaWant struct {
	No           int32 // -1: no area of the show
	TicketType   string
	Quantity     int // 1 or more
	AllowPartial bool
	Named        string
}

// checkCount refuses more places than a reservation of this show may have.
func (b *batch) checkCount(places int) *Error {
	if b.cmd.Actor.Staff {
		return atMost(reservationSeatLimit, places)
	}
	return atMost(b.Terms.MaxPlacesPerReservation, places)
}

func atMost(limit, places int) *Error {
	if places <= limit {
		return nil
	}
	e := Refuse(CodeTooManySeats, "At most %d places fit in one reservation here.", limit)
	e.Facts.Limit, e.Facts.Requested = new(limit), new(places)
	return e
}

// items are seats and units of areas that move together.
type items struct {
	seats []SeatLine
	areas []AreaLine
}

// taking is what a command will take, worked out before anything is changed.
type taking struct {
	items
	overdue []*Reservation // to be closed first
}

// places counts what is wanted.
func places(seats []SeatWant, areas []AreaWant) int {
	n := len(seats)
	for _, a := range areas {
		n += a.Quantity
	}
	return n
}

// twice lists the seats that are named more than once.
func (b *batch) twice(field string, seats []SeatWant) (bad []Violation) {
	b.nos = b.nos[:0]
	for _, w := range seats {
		b.nos = append(b.nos, w.No)
	}
	slices.Sort(b.nos)
	for i, no := range b.nos {
		if no >= 0 && i > 0 && no == b.nos[i-1] && (i == 1 || no != b.nos[i-2]) {
			last := len(seats) - 1
			for seats[last].No != no {
				last--
			}
			bad = append(bad, Violation{field + "[" + strconv.Itoa(last) + "]", "seat " + seats[last].Named + " is named more than once"})
		}
	}
	return bad
}

// plan works out how the wanted places can be taken for a customer, or refuses
// with everything that stands in the way. It changes nothing. Seats of block
// may be taken, too; back is what the customer's own hold gives back in the
// same command. The taking is good until the next plan.
func (b *batch) plan(customer string, block uuid.UUID, seats []SeatWant, areas []AreaWant, back items, path string) (taking, *Error) {
	var t taking
	if err := b.known(seats, areas); err != nil {
		return t, err
	}
	var bad []Violation
	t.items = items{b.scratch.seats[:0], b.scratch.areas[:0]}
	for i, w := range seats {
		seat := b.Terms.Plan.Seat(w.No)
		price, ok := b.Terms.price(b.Terms.Plan.CategoryOf(seat), w.TicketType)
		if !ok {
			bad = append(bad, Violation{path + "seats[" + strconv.Itoa(i) + "].ticketType", "seat " + seat.Label + " has no ticket type " + w.TicketType})
		}
		t.seats = append(t.seats, SeatLine{w.No, w.TicketType, price})
	}
	for i, w := range areas {
		price, ok := b.Terms.price(b.Areas[w.No].Category, w.TicketType)
		if !ok {
			bad = append(bad, Violation{path + "areas[" + strconv.Itoa(i) + "].ticketType", "area " + b.Areas[w.No].Name + " has no ticket type " + w.TicketType})
		}
		t.areas = append(t.areas, AreaLine{w.No, w.TicketType, w.Quantity, w.Quantity, price})
	}
	b.scratch = t.items
	if bad != nil {
		return t, Invalid(bad...)
	}
	taken, err := b.planSeats(&t, customer, block, back)
	if err != nil {
		return t, err
	}
	short := b.planAreas(&t, areas, back)
	if err := b.checkCustomer(customer, t.places(), back.places()); err != nil {
		return t, err
	}
	switch {
	case taken.nos != nil:
		e := taken.refuse("of the wanted seats cannot be had.")
		e.AreaNos = short
		if taken.own != uuid.Nil {
			e.Facts.OwnReservationID = new(taken.own) // perhaps: see HolderOf
		}
		return t, e
	case short != nil:
		e := Refuse(CodeInsufficient, "Not enough places are left.")
		e.AreaNos = short
		return t, e
	}
	return t, nil
}

// known refuses seats and areas that are not of this show.
func (b *batch) known(seats []SeatWant, areas []AreaWant) *Error {
	var unknown []string
	for _, w := range seats {
		if b.Terms.Plan.Seat(w.No) == nil {
			unknown = append(unknown, w.Named)
		}
	}
	for _, w := range areas {
		if b.Areas[w.No] == nil {
			unknown = append(unknown, w.Named)
		}
	}
	if unknown == nil {
		return nil
	}
	e := Refuse(CodeSeatNotFound, "Not in this show's plan: %d of the named places.", len(unknown))
	e.Facts.UnknownSeats = unknown
	return e
}

// inTheWay is what keeps seats from being taken.
type inTheWay struct {
	nos  []int32
	nows []SeatStatus
	own  uuid.UUID // a hold of the customer who asks; zero: none
}

func (w *inTheWay) add(no int32, now SeatStatus) {
	w.nos, w.nows = append(w.nos, no), append(w.nows, now)
}

func (w *inTheWay) refuse(what string) *Error {
	return &Error{Code: CodeSeatAlreadyReserved, Detail: strconv.Itoa(len(w.nos)) + " " + what, SeatNos: w.nos, SeatNows: w.nows}
}

// planSeats finds what stands in the way of the seats of t, and which overdue
// holds have to be closed first.
func (b *batch) planSeats(t *taking, customer string, block uuid.UUID, back items) (way inTheWay, err *Error) {
	for _, s := range t.seats {
		row := b.Seats[s.No]
		if row == nil {
			way.add(s.No, SeatHeld)
			continue
		}
		if back.hasSeat(s.No) {
			continue // given back and taken again, perhaps as another ticket type
		}
		status := row.StatusAt(b.Now)
		switch {
		case status == SeatBlocked && block != uuid.Nil && row.BlockID == block:
			status = SeatAvailable
		case status == SeatHeld && row.Holder == HolderOf(customer) && way.own == uuid.Nil:
			way.own = row.ReservationID
		}
		if status == SeatAvailable && !row.Locked {
			status = SeatHeld // somebody outside the lanes has the row
		}
		if status != SeatAvailable {
			way.add(s.No, status)
			continue
		}
		if row.State == 'h' {
			if t.overdue, err = b.closeFirst(t.overdue, row); err != nil {
				return way, err
			}
		}
	}
	return way, nil
}

// closeFirst adds the overdue hold that a seat still belongs to.
func (b *batch) closeFirst(list []*Reservation, row *SeatRow) ([]*Reservation, *Error) {
	r := b.Reservations[row.ReservationID]
	if r == nil || !r.Overdue(b.Now) {
		return nil, Refuse(CodeInternal, "an overdue hold in the way was not loaded, or is not overdue")
	}
	if !slices.Contains(list, r) {
		list = append(list, r)
	}
	return list, nil
}

// planAreas works out how many of the wanted units of t can be had, closing
// overdue holds of an area, the oldest first, only as far as they are needed.
// Each line that allows a part gets at least one unit.
func (b *batch) planAreas(t *taking, areas []AreaWant, back items) (short []AreaShort) {
	for i, w := range areas {
		of := func(v AreaWant) bool { return v.No == w.No }
		if slices.ContainsFunc(areas[:i], of) {
			continue // worked out with the area's first line
		}
		a, wanted := b.Areas[w.No], 0
		for _, v := range areas[i:] {
			if of(v) {
				wanted += v.Quantity
			}
		}
		left := a.Capacity - a.Held - a.Booked + units(back.areas, a.No)
		for _, o := range t.overdue {
			left += units(o.Areas, a.No)
		}
		if left < wanted {
			for _, o := range b.overdue() {
				if n := units(o.Areas, a.No); n > 0 && left < wanted && !slices.Contains(t.overdue, o) {
					t.overdue = append(t.overdue, o)
					left += n
				}
			}
		}
		rest, enough := left, true
		for j := i; j < len(areas); j++ {
			if !of(areas[j]) {
				continue
			}
			got := max(min(areas[j].Quantity, rest), 0)
			if got < areas[j].Quantity && (!areas[j].AllowPartial || got == 0) {
				got, enough = 0, false
			}
			t.areas[j].Quantity = got
			rest -= got
		}
		if !enough {
			short = append(short, AreaShort{a.No, wanted, max(left, 0)})
		}
	}
	return short
}

// checkCustomer refuses more places than a customer may have in this show.
func (b *batch) checkCustomer(customer string, taken, back int) *Error {
	if b.cmd.Actor.Staff {
		return nil
	}
	return b.limitCustomer(customer, taken, back)
}

// limitCustomer is checkCustomer, whoever gives the command.
func (b *batch) limitCustomer(customer string, taken, back int) *Error {
	limit, held := b.Terms.MaxPlacesPerCustomer, b.Places[customer]
	if limit == 0 || taken <= back || held-back+taken <= limit {
		return nil
	}
	e := Refuse(CodeCustomerLimit, "One customer may have %d places in this show.", limit)
	e.Facts.Limit, e.Facts.Held = new(limit), new(held)
	return e
}

// apply carries a worked-out taking through for r, whose lines no longer have
// what it gives back.
func (b *batch) apply(r *Reservation, t taking, back items) {
	for _, o := range t.overdue {
		b.close(o, ReservationExpired, ReasonExpired)
	}
	b.changeReservation(r)
	b.giveBack(back)
	for _, s := range t.seats {
		row := b.Seats[s.No]
		b.changeSeat(row)
		// A seat that has a block by now is sold from it, and keeps it.
		row.State, row.ReservationID, row.HeldUntil, row.Holder = 'h', r.ID, r.ExpiresAt, HolderOf(r.CustomerID)
	}
	if len(t.seats) > 0 {
		r.Seats = slices.Concat(r.Seats, t.seats)
		slices.SortFunc(r.Seats, compareSeatLines)
	}
	for _, l := range t.areas {
		a := b.Areas[l.No]
		b.changeArea(a)
		a.Held += l.Quantity
	}
	r.Areas = mergeAreas(r.Areas, t.areas)
	b.Places[r.CustomerID] += t.places() - back.places()
}

// giveBack frees seats and units.
func (b *batch) giveBack(back items) {
	for _, s := range back.seats {
		b.free(b.Seats[s.No])
	}
	for _, l := range back.areas {
		a := b.Areas[l.No]
		b.changeArea(a)
		a.Held -= l.Quantity
		b.freed = true
	}
}

// mergeAreas adds lines to lines: one a (area, ticket type, price).
func mergeAreas(have, more []AreaLine) []AreaLine {
	if len(more) == 0 {
		return have
	}
	out := slices.Clone(have)
	for _, m := range more {
		i, found := slices.BinarySearchFunc(out, m, compareAreaLines)
		if found {
			out[i].Requested += m.Requested
			out[i].Quantity += m.Quantity
		} else {
			out = slices.Insert(out, i, m)
		}
	}
	return out
}

// free gives a held seat back: to everybody, or to its block.
func (b *batch) free(row *SeatRow) {
	b.freed = true
	b.changeSeat(row)
	row.State = 'a'
	if row.BlockID != uuid.Nil {
		row.State = 'x'
	}
	row.ReservationID, row.HeldUntil, row.Holder = uuid.Nil, time.Time{}, 0
}

// places counts seats and units.
func (x items) places() int {
	n := len(x.seats)
	for _, a := range x.areas {
		n += a.Quantity
	}
	return n
}

// hasSeat says whether a seat is among the seats, which are sorted.
func (x items) hasSeat(no int32) bool {
	_, found := slices.BinarySearchFunc(x.seats, SeatLine{No: no}, compareSeatLines)
	return found
}

// units counts the units of an area in lines.
func units(lines []AreaLine, area int32) int {
	n := 0
	for _, l := range lines {
		if l.No == area {
			n += l.Quantity
		}
	}
	return n
}

// used counts the places of an area that nobody else can have: booked, and
// held by holds that are not over.
func (b *batch) used(a *AreaRow) int {
	n := a.Booked + a.Held
	for _, r := range b.overdue() {
		n -= units(r.Areas, a.No)
	}
	return n
}

func compareSeatLines(x, y SeatLine) int { return cmp.Compare(x.No, y.No) }

func compareAreaLines(x, y AreaLine) int {
	return cmp.Or(cmp.Compare(x.No, y.No), cmp.Compare(x.TicketType, y.TicketType), cmp.Compare(x.PriceMinor, y.PriceMinor))
}
