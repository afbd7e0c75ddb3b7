package boxoffice

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// ReservationStatus is the state of a hold; see the package comment.
type ReservationStatus string

// The states of a reservation.
const (
	ReservationActive    ReservationStatus = "active"
	ReservationConsumed  ReservationStatus = "consumed"
	ReservationExpired   ReservationStatus = "expired"
	ReservationReleased  ReservationStatus = "cancelled"
	reservationSeatLimit                   = PlacesMax
)

// SeatLine is a seat of a reservation with its price as it was when held.
type SeatLine struct {
	No         int32  `json:"n"`
	TicketType string `json:"t"`
	PriceMinor int64  `json:"p"`
}

// AreaLine is a number of units of an area at one price.
type AreaLine struct {
	No         int32  `json:"n"`
	TicketType string `json:"t"`
	Requested  int    `json:"r"`
	Quantity   int    `json:"q"`
	PriceMinor int64  `json:"p"` // of one unit
}

// Reservation is a hold. Its JSON form is that of receipts and leaves out
// what can be read again and what is personal.
type Reservation struct {
	ID          uuid.UUID         `json:"-"`
	ShowID      uuid.UUID         `json:"-"`
	CustomerID  string            `json:"-"`
	Status      ReservationStatus `json:"s"`
	CreatedAt   time.Time         `json:"c"`
	ExpiresAt   time.Time         `json:"e"`
	HoldSeconds int               `json:"-"`
	ClosedAt    time.Time         `json:"-"` // zero: not closed
	CloseReason Reason            `json:"-"`
	Staff       bool              `json:"-"`
	BlockID     uuid.UUID         `json:"-"` // zero: not sold from a block
	BookingID   uuid.UUID         `json:"-"` // zero: none
	Currency    string            `json:"-"`
	Seats       []SeatLine        `json:"l,omitempty"` // sorted by number
	Areas       []AreaLine        `json:"a,omitempty"` // sorted by number, ticket type, price
	Metadata    map[string]string `json:"-"`

	dirty bool
}

// Overdue says whether the hold is over by the clock, though not closed yet.
func (r *Reservation) Overdue(now time.Time) bool {
	return r.Status == ReservationActive && !now.Before(r.ExpiresAt)
}

// StatusAt is the status that a reader sees: overdue is expired.
func (r *Reservation) StatusAt(now time.Time) ReservationStatus {
	if r.Overdue(now) {
		return ReservationExpired
	}
	return r.Status
}

// Places counts seats and units.
func (r *Reservation) Places() int {
	n := len(r.Seats)
	for _, a := range r.Areas {
		n += a.Quantity
	}
	return n
}

// TotalMinor is the sum of all prices in the currency's minor unit.
func (r *Reservation) TotalMinor() int64 {
	var sum int64
	for _, s := range r.Seats {
		sum += s.PriceMinor
	}
	for _, a := range r.Areas {
		sum += int64(a.Quantity) * a.PriceMinor
	}
	return sum
}

// snapshot is a copy for a receipt, which later commands of the batch must not
// change. Lines are never changed in place, so they can be shared.
func (r *Reservation) snapshot() *Reservation {
	c := *r
	return &c
}

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

// PlaceReservation holds places for a customer: all of them, or none, unless
// parts of areas are allowed.
type PlaceReservation struct {
	ID          uuid.UUID // UUIDv7, made by the caller
	CustomerID  string
	Seats       []SeatWant
	Areas       []AreaWant
	TTLSeconds  int       // 0: the show's holdSeconds
	FromBlockID uuid.UUID // staff: seats of this block may be taken
	Metadata    map[string]string
}

func (c *PlaceReservation) decide(b *batch) *Error {
	t, staff := b.Terms, b.cmd.Actor.Staff
	if c.FromBlockID != uuid.Nil && !staff {
		return Refuse(CodeForbidden, "Only staff may sell from a block.")
	}
	bad := b.twice("seats", c.Seats)
	hold, most := cmp.Or(c.TTLSeconds, t.HoldSeconds), t.HoldSeconds
	if staff {
		most = t.MaxHoldSeconds
	}
	if hold > most {
		bad = append(bad, Violation{"ttlSeconds", "must be at most " + strconv.Itoa(most) + " for this show"})
	}
	wanted := places(c.Seats, c.Areas)
	if wanted == 0 {
		bad = append(bad, Violation{"seats", "name at least one seat or area"})
	}
	if bad != nil {
		return Invalid(bad...)
	}
	if err := t.OnSale(b.Now); err != nil {
		return err
	}
	if err := b.checkCount(wanted); err != nil {
		return err
	}
	if b.Reservations[c.ID] != nil {
		return Refuse(CodeInternal, "a reservation has this id already")
	}
	take, err := b.plan(c.CustomerID, c.FromBlockID, c.Seats, c.Areas, items{}, "")
	if err != nil {
		return err
	}
	r := &Reservation{
		ID: c.ID, ShowID: t.ShowID, CustomerID: c.CustomerID, Status: ReservationActive,
		CreatedAt: b.Now, ExpiresAt: b.Now.Add(time.Duration(hold) * time.Second), HoldSeconds: hold,
		Staff: staff, BlockID: c.FromBlockID, Currency: t.Currency, Metadata: c.Metadata,
		dirty: true,
	}
	b.apply(r, take, items{})
	b.Reservations[r.ID] = r
	b.EverHeld = true
	b.did.Placed = append(b.did.Placed, r)
	b.endsAt(r.ExpiresAt)
	b.logReservation(r, ReservationCreated, "", b.reason(), take.items, items{})
	b.answer(r)
	return nil
}

// ChangeReservation adds places to a hold and removes others, all or nothing.
// The hold's end and the price of kept places stay.
type ChangeReservation struct {
	ID          uuid.UUID
	AddSeats    []SeatWant
	AddAreas    []AreaWant
	RemoveSeats []SeatWant // TicketType is not looked at
	RemoveAreas []AreaWant
}

func (c *ChangeReservation) decide(b *batch) *Error {
	bad := append(b.twice("add.seats", c.AddSeats), b.twice("remove.seats", c.RemoveSeats)...)
	added, removed := places(c.AddSeats, c.AddAreas), places(c.RemoveSeats, c.RemoveAreas)
	if added+removed == 0 {
		bad = append(bad, Violation{"add", "name something to add or to remove"})
	}
	if bad != nil {
		return Invalid(bad...)
	}
	r, err := b.own(c.ID)
	if err != nil {
		return err
	}
	if added > 0 {
		if err := b.Terms.OnSale(b.Now); err != nil {
			return err
		}
	}
	if added > removed { // a hold that does not grow may stay above a limit it was not made under
		if err := b.checkCount(r.Places() - removed + added); err != nil {
			return err
		}
	}
	if err := r.alive(b.Now); err != nil {
		return err
	}
	kept, back, err := r.without(c.RemoveSeats, c.RemoveAreas)
	if err != nil {
		return err
	}
	for _, s := range back.seats {
		if row := b.Seats[s.No]; row == nil || row.ReservationID != r.ID {
			return Refuse(CodeInternal, "a seat of the hold is not its own")
		}
	}
	var block uuid.UUID
	if b.cmd.Actor.Staff {
		block = r.BlockID // the customer of such a hold may not help themselves to the block
	}
	take, err := b.plan(r.CustomerID, block, c.AddSeats, c.AddAreas, back, "add.")
	if err != nil {
		return err
	}
	if len(kept.seats)+len(take.seats)+len(kept.areas)+len(take.areas) == 0 {
		return Invalid(Violation{"remove", "would remove the last place; release the reservation instead"})
	}
	r.Seats, r.Areas = kept.seats, kept.areas
	b.apply(r, take, back)
	b.logReservation(r, ReservationChanged, ReservationActive, b.reason(), take.items, back)
	b.answer(r)
	return nil
}

// ExtendReservation moves a hold's end to now plus its length, at most to its
// creation plus the show's maxHoldSeconds, never back.
type ExtendReservation struct{ ID uuid.UUID }

func (c *ExtendReservation) decide(b *batch) *Error {
	r, err := b.own(c.ID)
	if err != nil {
		return err
	}
	if err := b.Terms.OnSale(b.Now); err != nil {
		return err
	}
	if err := r.alive(b.Now); err != nil {
		return err
	}
	until := b.Now.Add(time.Duration(r.HoldSeconds) * time.Second)
	last := r.CreatedAt.Add(time.Duration(max(b.Terms.MaxHoldSeconds, r.HoldSeconds)) * time.Second)
	if until.After(last) {
		until = last
	}
	if !until.After(r.ExpiresAt) {
		if r.ExpiresAt.Before(last) { // it was placed or extended in this very instant, or is being paid
			b.answer(r)
			return nil
		}
		e := Refuse(CodeExtensionLimit, "The hold already ends as late as this show allows.")
		e.Facts.MaxExpiresAt = &last
		return e
	}
	for _, s := range r.Seats {
		if row := b.Seats[s.No]; row == nil || row.ReservationID != r.ID {
			return Refuse(CodeInternal, "a seat of the hold is not its own")
		}
	}
	b.changeReservation(r)
	r.ExpiresAt = until
	for _, s := range r.Seats {
		row := b.Seats[s.No]
		b.changeSeat(row)
		row.HeldUntil = until
	}
	b.endsAt(until)
	b.logReservation(r, ReservationExtended, ReservationActive, b.reason(), items{seats: r.Seats}, items{})
	b.answer(r)
	return nil
}

// ReleaseReservation ends a hold at once. Releasing what is over already
// changes nothing and succeeds; what was consumed is refused.
type ReleaseReservation struct{ ID uuid.UUID }

func (c *ReleaseReservation) decide(b *batch) *Error {
	r, err := b.own(c.ID)
	if err != nil {
		return err
	}
	switch r.StatusAt(b.Now) {
	case ReservationConsumed:
		return r.notActive()
	case ReservationActive:
		b.close(r, ReservationReleased, b.reason())
	}
	b.out.ReservationID = r.ID
	return nil
}

// ExpireReservations closes overdue holds, the oldest first: those the lane
// loaded for it. It finds nothing to do when others did it before.
type ExpireReservations struct {
	Limit  int // 1…; how many holds one command closes
	Reason Reason
}

func (c *ExpireReservations) decide(b *batch) *Error {
	due := b.overdue()
	for _, r := range due[:min(len(due), c.Limit)] {
		b.close(r, ReservationExpired, c.Reason)
		b.out.Count++
	}
	return nil
}

// own returns the reservation if the actor may touch it: its customer, or
// staff. Other people's look like none.
func (b *batch) own(id uuid.UUID) (*Reservation, *Error) {
	r := b.Reservations[id]
	if r == nil || (!b.cmd.Actor.Staff && r.CustomerID != b.cmd.Actor.CustomerID) {
		return nil, Refuse(CodeNotFound, "There is no such reservation.")
	}
	return r, nil
}

// alive refuses a hold that is over.
func (r *Reservation) alive(now time.Time) *Error {
	switch r.StatusAt(now) {
	case ReservationActive:
		return nil
	case ReservationExpired:
		e := Refuse(CodeReservationExpired, "The hold ended at %s.", r.ExpiresAt.UTC().Format(time.RFC3339Nano))
		e.Facts.ExpiredAt = new(r.ExpiresAt)
		return e
	}
	return r.notActive()
}

func (r *Reservation) notActive() *Error {
	e := Refuse(CodeReservationNotActive, "The reservation is %s.", r.Status)
	e.Facts.ReservationStatus = string(r.Status)
	if r.BookingID != uuid.Nil {
		e.Facts.BookingID = new(r.BookingID)
	}
	return e
}

// checkCount refuses more places than a reservation of this show may have.
func (b *batch) checkCount(places int) *Error {
	limit := b.Terms.MaxPlacesPerReservation
	if b.cmd.Actor.Staff {
		limit = reservationSeatLimit
	}
	if places <= limit {
		return nil
	}
	e := Refuse(CodeTooManySeats, "At most %d places fit in one reservation of this show.", limit)
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
	e := Refuse(CodeSeatNotFound, "%d of the named places are not in this show's plan.", len(unknown))
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
	limit, held := b.Terms.MaxPlacesPerCustomer, b.Places[customer]
	if limit == 0 || b.cmd.Actor.Staff || taken <= back || held-back+taken <= limit {
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

// without is what r keeps and what it gives back when places are removed.
func (r *Reservation) without(seats []SeatWant, areas []AreaWant) (kept, back items, err *Error) {
	var bad []Violation
	for i, w := range seats {
		j, found := slices.BinarySearchFunc(r.Seats, SeatLine{No: w.No}, compareSeatLines)
		if !found {
			bad = append(bad, Violation{"remove.seats[" + strconv.Itoa(i) + "]", w.Named + " is not a seat of this reservation"})
			continue
		}
		back.seats = append(back.seats, r.Seats[j])
	}
	slices.SortFunc(back.seats, compareSeatLines)
	kept.seats = slices.DeleteFunc(slices.Clone(r.Seats), func(s SeatLine) bool { return back.hasSeat(s.No) })
	kept.areas = slices.Clone(r.Areas)
	for i, w := range areas {
		left := w.Quantity
		// Where prices differ the dearest units go first.
		for j := len(kept.areas) - 1; j >= 0 && left > 0; j-- {
			if line := &kept.areas[j]; line.No == w.No && line.TicketType == w.TicketType && line.Quantity > 0 {
				gone := *line
				gone.Quantity = min(left, line.Quantity)
				back.areas = append(back.areas, gone)
				line.Quantity -= gone.Quantity
				line.Requested = line.Quantity
				left -= gone.Quantity
			}
		}
		if left > 0 {
			bad = append(bad, Violation{"remove.areas[" + strconv.Itoa(i) + "]", "the reservation has fewer places of " + w.Named})
		}
	}
	kept.areas = slices.DeleteFunc(kept.areas, func(a AreaLine) bool { return a.Quantity == 0 })
	if bad != nil {
		return kept, back, Invalid(bad...)
	}
	return kept, back, nil
}

// close ends a hold: its seats and units are free, or blocked again.
func (b *batch) close(r *Reservation, to ReservationStatus, reason Reason) {
	back := items{areas: r.Areas}
	for _, s := range r.Seats {
		// A seat that another reservation owns by now is not this one's to free.
		if row := b.Seats[s.No]; row != nil && row.ReservationID == r.ID {
			back.seats = append(back.seats, s)
		}
	}
	b.giveBack(back)
	if to == ReservationReleased {
		b.Places[r.CustomerID] -= r.Places() // an overdue one was not counted
	}
	before := r.Status
	b.changeReservation(r)
	r.Status, r.ClosedAt, r.CloseReason = to, b.Now, reason
	typ := ReservationCancelled
	if to == ReservationExpired {
		typ = ReservationExpire
	}
	b.logReservation(r, typ, before, reason, items{}, back)
}

// free gives a held seat back: to everybody, or to its block.
func (b *batch) free(row *SeatRow) {
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

// answer puts the hold as it is now into the command's receipt.
func (b *batch) answer(r *Reservation) {
	b.out.ReservationID, b.out.Reservation = r.ID, r.snapshot()
}

// logReservation logs a transition of a hold with the seats and units it moved.
func (b *batch) logReservation(r *Reservation, typ ChangeType, before ReservationStatus, reason Reason, took, back items) {
	c := Change{
		Type: typ, Reason: reason, ReservationID: r.ID, BlockID: r.BlockID,
		Before: string(before), After: string(r.Status), ExpiresAt: r.ExpiresAt,
	}
	if typ == ReservationExpire {
		c.Actor = systemActor
	}
	if n := len(took.seats) + len(back.seats); n > 0 {
		c.SeatNos = make([]int32, 0, n)
		for _, s := range took.seats {
			c.SeatNos = append(c.SeatNos, s.No)
		}
		for _, s := range back.seats {
			c.SeatNos = append(c.SeatNos, s.No)
		}
		slices.Sort(c.SeatNos)
		c.SeatNos = slices.Compact(c.SeatNos)
		c.SeatStates = make([]byte, len(c.SeatNos))
		for i, no := range c.SeatNos {
			c.SeatStates[i] = b.Seats[no].State
		}
	}
	c.moveUnits(took.areas, 1)
	c.moveUnits(back.areas, -1)
	b.log(c)
}

// moveUnits adds units taken or given back to the entry, its areas sorted.
func (c *Change) moveUnits(lines []AreaLine, sign int32) {
	for _, l := range lines {
		i, found := slices.BinarySearch(c.AreaNos, l.No)
		if !found {
			c.AreaNos = slices.Insert(c.AreaNos, i, l.No)
			c.AreaUnits = slices.Insert(c.AreaUnits, i, 0)
		}
		c.AreaUnits[i] += sign * int32(l.Quantity)
	}
}
