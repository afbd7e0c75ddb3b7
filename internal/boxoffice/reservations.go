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

	dirty, placed bool
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
	Areas       []AreaWant // an (area, ticket type) at most once
	TTLSeconds  int        // 0: the show's holdSeconds
	FromBlockID uuid.UUID  // staff: seats of this block may be taken
	Metadata    map[string]string
}

func (c *PlaceReservation) decide(b *batch) *Error {
	t, staff := b.Terms, b.cmd.Actor.Staff
	if err := t.OnSale(b.Now); err != nil {
		return err
	}
	hold := cmp.Or(c.TTLSeconds, t.HoldSeconds)
	if most := map[bool]int{false: t.HoldSeconds, true: t.MaxHoldSeconds}[staff]; hold > most {
		return Invalid(Violation{"ttlSeconds", "must be at most " + strconv.Itoa(most) + " for this show"})
	}
	wanted := len(c.Seats)
	for _, a := range c.Areas {
		wanted += a.Quantity
	}
	if err := b.checkCount(wanted); err != nil {
		return err
	}
	r := &Reservation{
		ID: c.ID, ShowID: t.ShowID, CustomerID: c.CustomerID, Status: ReservationActive,
		CreatedAt: b.Now, ExpiresAt: b.Now.Add(time.Duration(hold) * time.Second), HoldSeconds: hold,
		Staff: staff, BlockID: c.FromBlockID, Currency: t.Currency, Metadata: c.Metadata,
		placed: true, dirty: true,
	}
	if b.Reservations[c.ID] != nil {
		return Refuse(CodeInternal, "a reservation has this id already")
	}
	take, err := b.plan(r, c.Seats, c.Areas, nil, "")
	if err != nil {
		return err
	}
	b.apply(r, take)
	b.Reservations[r.ID] = r
	b.did.Placed = append(b.did.Placed, r)
	b.endsAt(r.ExpiresAt)
	b.logReservation(r, ReservationCreated, "", take)
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
	r, err := b.own(c.ID)
	if err != nil {
		return err
	}
	adds := len(c.AddSeats)+len(c.AddAreas) > 0
	if adds {
		if err := b.Terms.OnSale(b.Now); err != nil {
			return err
		}
	}
	wanted := len(c.AddSeats)
	for _, a := range c.AddAreas {
		wanted += a.Quantity
	}
	removed := len(c.RemoveSeats)
	for _, a := range c.RemoveAreas {
		removed += a.Quantity
	}
	if adds {
		if err := b.checkCount(r.Places() - removed + wanted); err != nil {
			return err
		}
	}
	if err := r.alive(b.Now); err != nil {
		return err
	}
	next, back, err := r.without(c.RemoveSeats, c.RemoveAreas)
	if err != nil {
		return err
	}
	take, err := b.plan(next, c.AddSeats, c.AddAreas, back, "add.")
	if err != nil {
		return err
	}
	if len(next.Seats)+len(take.seats) == 0 && len(next.Areas)+len(take.areas) == 0 {
		return Invalid(Violation{"remove", "would remove the last place; release the reservation instead"})
	}
	r.Seats, r.Areas = next.Seats, next.Areas
	b.apply(r, take)
	b.logReservation(r, ReservationChanged, ReservationActive, take)
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
		if r.ExpiresAt.Before(last) { // a hold of the same length placed in this very instant
			b.answer(r)
			return nil
		}
		e := Refuse(CodeExtensionLimit, "The hold already ends as late as this show allows.")
		e.Facts.MaxExpiresAt = &last
		return e
	}
	r.ExpiresAt, r.dirty = until, true
	t := taking{}
	for _, s := range r.Seats {
		row := b.Seats[s.No]
		if row == nil || row.ReservationID != r.ID {
			return Refuse(CodeInternal, "a seat of the hold is not its own")
		}
		row.HeldUntil, row.dirty = until, true
		t.logged = append(t.logged, s.No)
	}
	b.endsAt(until)
	b.logReservation(r, ReservationExtended, ReservationActive, &t)
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
	var due []*Reservation
	for _, r := range b.Reservations {
		if r.Overdue(b.Now) {
			due = append(due, r)
		}
	}
	slices.SortFunc(due, compareReservations)
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
	e.Facts.Limit, e.Facts.Requested = &limit, &places
	return e
}

// taking is what a command will take and give back, worked out before
// anything is changed.
type taking struct {
	seats     []SeatLine
	areas     []AreaLine
	back      *givingBack
	overdue   []*Reservation // to be closed first
	fromBlock map[int32]bool // seats that keep their block
	logged    []int32        // seats whose end moved, for the log
}

// givingBack is what a change removes from its own hold.
type givingBack struct {
	seats map[int32]bool
	units map[int32]int
}

// plan works out how the wanted places can be taken for r, or refuses with
// everything that stands in the way. It changes nothing. back is what r itself
// gives back in the same command.
func (b *batch) plan(r *Reservation, seats []SeatWant, areas []AreaWant, back *givingBack, path string) (*taking, *Error) {
	t := &taking{back: back, fromBlock: map[int32]bool{}}
	if err := b.known(seats, areas); err != nil {
		return nil, err
	}
	var bad []Violation
	for i, w := range seats {
		seat := b.Terms.Plan.Seat(w.No)
		price, ok := b.Terms.price(b.Terms.Plan.CategoryOf(seat), w.TicketType)
		if !ok {
			bad = append(bad, Violation{path + "seats[" + strconv.Itoa(i) + "].ticketType", "seat " + seat.Label + " has no ticket type " + w.TicketType})
		}
		t.seats = append(t.seats, SeatLine{w.No, w.TicketType, price})
	}
	prices := make([]int64, len(areas))
	for i, w := range areas {
		var ok bool
		if prices[i], ok = b.Terms.price(b.Areas[w.No].Category, w.TicketType); !ok {
			bad = append(bad, Violation{path + "areas[" + strconv.Itoa(i) + "].ticketType", "area " + b.Areas[w.No].Name + " has no ticket type " + w.TicketType})
		}
	}
	if bad != nil {
		return nil, Invalid(bad...)
	}
	closing := map[uuid.UUID]bool{}
	overdue := func(id uuid.UUID) *Error {
		if o := b.Reservations[id]; o == nil {
			return Refuse(CodeInternal, "an overdue hold in the way was not loaded")
		} else if !closing[id] {
			closing[id] = true
			t.overdue = append(t.overdue, o)
		}
		return nil
	}
	var taken []int32
	var states []SeatStatus
	var own uuid.UUID
	for _, w := range seats {
		row := b.Seats[w.No]
		status := SeatHeld
		if row != nil {
			status = row.StatusAt(b.Now)
			switch {
			case back != nil && back.seats[w.No]:
				status = SeatAvailable
			case status == SeatBlocked && r.BlockID != uuid.Nil && row.BlockID == r.BlockID:
				status = SeatAvailable
				t.fromBlock[w.No] = true
			}
			if status == SeatAvailable && !row.Locked {
				status = SeatHeld // somebody outside the lanes has the row
			}
		}
		if status != SeatAvailable {
			taken, states = append(taken, w.No), append(states, status)
			if row != nil && row.State == 'h' && row.HolderID == r.CustomerID && status == SeatHeld && own == uuid.Nil {
				own = row.ReservationID
			}
			continue
		}
		if row.State == 'h' && (back == nil || !back.seats[w.No]) {
			if err := overdue(row.ReservationID); err != nil {
				return nil, err
			}
		}
	}
	short, err := b.planAreas(t, areas, prices, closing, overdue)
	if err != nil {
		return nil, err
	}
	if err := b.checkCustomer(r, t); err != nil {
		return nil, err
	}
	if taken != nil {
		e := Refuse(CodeSeatAlreadyReserved, "%d of the wanted seats cannot be had.", len(taken))
		e.SeatNos, e.SeatNows, e.AreaNos = taken, states, short
		if own != uuid.Nil {
			e.Detail += " Your own reservation " + own.String() + " holds one of them; change or release it."
			e.Facts.OwnReservationID = &own
		}
		return nil, e
	}
	if short != nil {
		e := Refuse(CodeInsufficient, "Not enough places are left.")
		e.AreaNos = short
		return nil, e
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

// planAreas works out the units, closing overdue holds of an area, the oldest
// first, only as far as they are needed.
func (b *batch) planAreas(t *taking, areas []AreaWant, prices []int64, closing map[uuid.UUID]bool, overdue func(uuid.UUID) *Error) ([]AreaShort, *Error) {
	var short []AreaShort
	free := map[int32]int{}
	for i, w := range areas {
		a := b.Areas[w.No]
		left, seen := free[w.No]
		if !seen {
			left = a.Capacity - a.Held - a.Booked
			if t.back != nil {
				left += t.back.units[w.No]
			}
			for id := range closing {
				left += b.Reservations[id].units(w.No)
			}
		}
		if left < w.Quantity {
			for _, o := range b.overdueOf(w.No) {
				if left >= w.Quantity {
					break
				}
				if !closing[o.ID] {
					if err := overdue(o.ID); err != nil {
						return nil, err
					}
					// It may give back units of other areas wanted here, too.
					for no := range free {
						free[no] += o.units(no)
					}
					left += o.units(w.No)
				}
			}
		}
		got := min(w.Quantity, max(left, 0))
		if got < w.Quantity && (!w.AllowPartial || got == 0) {
			short = append(short, AreaShort{w.No, w.Quantity, max(left, 0)})
			got = 0
		}
		free[w.No] = left - got
		if got > 0 {
			t.areas = append(t.areas, AreaLine{w.No, w.TicketType, w.Quantity, got, prices[i]})
		}
	}
	return short, nil
}

// checkCustomer refuses more places than a customer may have in this show.
func (b *batch) checkCustomer(r *Reservation, t *taking) *Error {
	limit := b.Terms.MaxPlacesPerCustomer
	if limit == 0 || b.cmd.Actor.Staff {
		return nil
	}
	wanted, back := len(t.seats), 0
	for _, a := range t.areas {
		wanted += a.Quantity
	}
	if t.back != nil {
		back = len(t.back.seats)
		for _, n := range t.back.units {
			back += n
		}
	}
	held := b.Places[r.CustomerID]
	if wanted == 0 || held-back+wanted <= limit {
		return nil
	}
	e := Refuse(CodeCustomerLimit, "One customer may have %d places in this show.", limit)
	e.Facts.Limit, e.Facts.Held = &limit, &held
	return e
}

// apply carries a worked-out taking through.
func (b *batch) apply(r *Reservation, t *taking) {
	for _, o := range t.overdue {
		b.close(o, ReservationExpired, ReasonExpired)
	}
	places := r.Places()
	if t.back != nil {
		for no := range t.back.seats {
			b.free(b.Seats[no])
			places++
		}
		for no, n := range t.back.units {
			b.Areas[no].Held -= n
			b.Areas[no].dirty = true
			places += n
		}
	}
	for _, s := range t.seats {
		row := b.Seats[s.No]
		row.State, row.ReservationID, row.HeldUntil, row.HolderID, row.dirty = 'h', r.ID, r.ExpiresAt, r.CustomerID, true
		if !t.fromBlock[s.No] {
			row.BlockID = uuid.Nil
		}
	}
	if len(t.seats) > 0 {
		r.Seats = append(slices.Clone(r.Seats), t.seats...)
		slices.SortFunc(r.Seats, func(x, y SeatLine) int { return cmp.Compare(x.No, y.No) })
	}
	if len(t.areas) > 0 {
		r.Areas = mergeAreas(r.Areas, t.areas)
		for _, a := range t.areas {
			b.Areas[a.No].Held += a.Quantity
			b.Areas[a.No].dirty = true
		}
	}
	r.dirty = true
	if b.Terms.MaxPlacesPerCustomer > 0 {
		b.Places[r.CustomerID] += r.Places() - places
	}
}

// mergeAreas adds lines to lines: one a (area, ticket type, price).
func mergeAreas(have, more []AreaLine) []AreaLine {
	out := slices.Clone(have)
next:
	for _, m := range more {
		for i := range out {
			if out[i].No == m.No && out[i].TicketType == m.TicketType && out[i].PriceMinor == m.PriceMinor {
				out[i].Requested += m.Requested
				out[i].Quantity += m.Quantity
				continue next
			}
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(x, y AreaLine) int {
		return cmp.Or(cmp.Compare(x.No, y.No), cmp.Compare(x.TicketType, y.TicketType), cmp.Compare(x.PriceMinor, y.PriceMinor))
	})
	return out
}

// without is r with places removed, as a copy, and what that gives back.
func (r *Reservation) without(seats []SeatWant, areas []AreaWant) (*Reservation, *givingBack, *Error) {
	next := r.snapshot()
	back := &givingBack{seats: map[int32]bool{}, units: map[int32]int{}}
	var bad []Violation
	for i, w := range seats {
		if !slices.ContainsFunc(r.Seats, func(s SeatLine) bool { return s.No == w.No }) {
			bad = append(bad, Violation{"remove.seats[" + strconv.Itoa(i) + "]", w.Named + " is not a seat of this reservation"})
			continue
		}
		back.seats[w.No] = true
	}
	next.Seats = slices.DeleteFunc(slices.Clone(r.Seats), func(s SeatLine) bool { return back.seats[s.No] })
	next.Areas = slices.Clone(r.Areas)
	for i, w := range areas {
		left := w.Quantity
		// The latest price goes first, so that what is kept is what was held first.
		for j := len(next.Areas) - 1; j >= 0 && left > 0; j-- {
			if line := &next.Areas[j]; line.No == w.No && line.TicketType == w.TicketType {
				n := min(left, line.Quantity)
				line.Quantity -= n
				line.Requested = line.Quantity
				left -= n
			}
		}
		if left > 0 {
			bad = append(bad, Violation{"remove.areas[" + strconv.Itoa(i) + "]", "the reservation has fewer places of " + w.Named})
			continue
		}
		back.units[w.No] += w.Quantity
	}
	next.Areas = slices.DeleteFunc(next.Areas, func(a AreaLine) bool { return a.Quantity == 0 })
	if bad != nil {
		return nil, nil, Invalid(bad...)
	}
	return next, back, nil
}

// close ends a hold: its seats and units are free, or blocked again.
func (b *batch) close(r *Reservation, to ReservationStatus, reason Reason) {
	t := taking{back: &givingBack{seats: map[int32]bool{}, units: map[int32]int{}}}
	for _, s := range r.Seats {
		// A seat that another reservation owns by now is not this one's to free.
		if row := b.Seats[s.No]; row != nil && row.ReservationID == r.ID {
			b.free(row)
			t.back.seats[s.No] = true
		}
	}
	for _, a := range r.Areas {
		b.Areas[a.No].Held -= a.Quantity
		b.Areas[a.No].dirty = true
		t.back.units[a.No] += a.Quantity
	}
	if to == ReservationReleased && b.Terms.MaxPlacesPerCustomer > 0 {
		b.Places[r.CustomerID] -= r.Places() // an overdue one was not counted
	}
	before := r.Status
	r.Status, r.ClosedAt, r.CloseReason, r.dirty = to, b.Now, reason, true
	typ := ReservationCancelled
	if to == ReservationExpired {
		typ = ReservationExpire
	}
	b.logReservation(r, typ, before, &t)
	b.did.Log[len(b.did.Log)-1].Reason = reason
}

// free gives a held seat back: to everybody, or to its block.
func (b *batch) free(row *SeatRow) {
	row.State = 'a'
	if row.BlockID != uuid.Nil {
		row.State = 'x'
	}
	row.ReservationID, row.HeldUntil, row.HolderID, row.dirty = uuid.Nil, time.Time{}, "", true
}

// overdueOf lists the overdue holds with units of an area, the oldest first.
func (b *batch) overdueOf(area int32) []*Reservation {
	var out []*Reservation
	for _, r := range b.Reservations {
		if r.Overdue(b.Now) && r.units(area) > 0 {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, compareReservations)
	return out
}

// units counts the units of an area in the hold.
func (r *Reservation) units(area int32) int {
	n := 0
	for _, a := range r.Areas {
		if a.No == area {
			n += a.Quantity
		}
	}
	return n
}

// liveUnits is, for each area, the held units that are not overdue.
func (b *batch) liveUnits() map[int32]int {
	live := make(map[int32]int, len(b.Areas))
	for no, a := range b.Areas {
		live[no] = a.Held
	}
	for _, r := range b.Reservations {
		if r.Overdue(b.Now) {
			for _, a := range r.Areas {
				live[a.No] -= a.Quantity
			}
		}
	}
	return live
}

// answer puts the hold as it is now into the command's receipt.
func (b *batch) answer(r *Reservation) {
	b.out.ReservationID, b.out.Reservation = r.ID, r.snapshot()
}

// logReservation logs a transition of a hold with the seats and units it moved.
func (b *batch) logReservation(r *Reservation, typ ChangeType, before ReservationStatus, t *taking) {
	c := Change{Type: typ, ReservationID: r.ID, BlockID: r.BlockID, Before: string(before), After: string(r.Status), ExpiresAt: r.ExpiresAt}
	nos := make([]int32, 0, len(t.seats)+len(t.logged))
	for _, s := range t.seats {
		nos = append(nos, s.No)
	}
	nos = append(nos, t.logged...)
	units := map[int32]int32{}
	for _, a := range t.areas {
		units[a.No] += int32(a.Quantity)
	}
	if t.back != nil {
		for no := range t.back.seats {
			nos = append(nos, no)
		}
		for no, n := range t.back.units {
			units[no] -= int32(n)
		}
	}
	slices.Sort(nos)
	c.SeatNos = slices.Compact(nos)
	for _, no := range c.SeatNos {
		c.SeatStates = append(c.SeatStates, b.Seats[no].State)
	}
	for no := range units {
		c.AreaNos = append(c.AreaNos, no)
	}
	slices.Sort(c.AreaNos)
	for _, no := range c.AreaNos {
		c.AreaUnits = append(c.AreaUnits, units[no])
	}
	b.log(c)
}
