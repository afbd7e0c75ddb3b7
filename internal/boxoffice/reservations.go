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
	// OwnEnd is when the hold would have ended without the extension that its
	// payment was given; zero: it was given none yet. While no payment is under
	// way it is ExpiresAt.
	OwnEnd          time.Time         `json:"-"`
	CancelledPlaces int               `json:"-"` // of a consumed one: tickets that are void
	Currency        string            `json:"-"`
	Seats           []SeatLine        `json:"l,omitempty"` // sorted by number
	Areas           []AreaLine        `json:"a,omitempty"` // sorted by number, ticket type, price
	Metadata        map[string]string `json:"-"`
	WaitlistEntryID uuid.UUID         `json:"-"` // zero: not an offer

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

// PlaceReservation holds places for a customer: all of them, or none, unless
// parts of areas are allowed.
type PlaceReservation struct {
	ID          uuid.UUID // UUIDv7, made by the caller
	CustomerID  string
	Seats       []SeatWant
	Areas       []AreaWant
	TTLSeconds  int       // 0: the show's holdSeconds
	FromBlockID uuid.UUID // staff: seats of this block may be taken
	Pass        *Pass     // nil: none was shown
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
	turn, err := b.admission(c)
	if err != nil {
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
	b.use(turn, r)
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
		// Nor does an offer outgrow its party: it may last far longer than a hold.
		if e := b.Waitlist[r.WaitlistEntryID]; e != nil && !b.cmd.Actor.Staff {
			if err := atMost(e.PartySize, r.Places()-removed+added); err != nil {
				return err
			}
		}
	}
	if err := r.alive(b.Now); err != nil {
		return err
	}
	if r.BookingID != uuid.Nil {
		if _, err := b.payable(r); err != nil {
			return err // what is being paid stays as it is
		}
	}
	kept, back, err := r.without(c.RemoveSeats, c.RemoveAreas)
	if err != nil {
		return err
	}
	if err := b.owns(r, back.seats); err != nil {
		return err
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
	if k := b.Bookings[r.BookingID]; k != nil { // what the hold has is what will be paid
		b.changeBooking(k)
		k.TotalMinor = r.TotalMinor()
		b.unname(k)
	}
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
	own := cmp.Or(r.OwnEnd, r.ExpiresAt)
	last := r.CreatedAt.Add(time.Duration(max(b.Terms.MaxHoldSeconds, r.HoldSeconds)) * time.Second)
	if r.WaitlistEntryID != uuid.Nil && !b.cmd.Actor.Staff {
		last = own // others wait for it
	}
	if until.After(last) {
		until = last
	}
	if !until.After(own) {
		if own.Before(last) { // it was placed or extended in this very instant
			b.answer(r)
			return nil
		}
		e := Refuse(CodeExtensionLimit, "The hold already ends as late as this show allows.")
		e.Facts.MaxExpiresAt = &last
		return e
	}
	if err := b.owns(r, r.Seats); err != nil {
		return err
	}
	if !r.OwnEnd.IsZero() {
		r.OwnEnd = until
	}
	if until.Before(r.ExpiresAt) {
		until = r.ExpiresAt // it is being paid, and has that long
	}
	b.moveEnd(r, until)
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

// owns refuses a hold some of whose seats are written down as another's, or
// were not loaded: it is broken, and is not made worse.
func (b *batch) owns(r *Reservation, seats []SeatLine) *Error {
	for _, s := range seats {
		if row := b.Seats[s.No]; row == nil || row.ReservationID != r.ID {
			return Refuse(CodeInternal, "a seat of the hold is not its own")
		}
	}
	return nil
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
	b.endOffer(r)
	if r.BookingID != uuid.Nil {
		b.left(r, to, reason)
	}
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

// reservationChange is an entry about a hold and seats of it that changed.
func (b *batch) reservationChange(r *Reservation, typ ChangeType, before ReservationStatus, reason Reason, seats []SeatLine) Change {
	c := Change{
		Type: typ, Reason: reason, ReservationID: r.ID, BlockID: r.BlockID, BookingID: r.BookingID,
		Before: string(before), After: string(r.Status), ExpiresAt: r.ExpiresAt,
	}
	for _, s := range seats {
		c.SeatNos, c.SeatStates = append(c.SeatNos, s.No), append(c.SeatStates, b.Seats[s.No].State)
	}
	return c
}

// moveUnits adds held units, taken or given back, to the entry, its areas sorted.
func (c *Change) moveUnits(lines []AreaLine, sign int32) {
	for _, l := range lines {
		c.AreaUnits[c.area(l.No)] += sign * int32(l.Quantity)
	}
}

// bookUnits does the same with booked units.
func (c *Change) bookUnits(lines []AreaLine, sign int32) {
	for _, l := range lines {
		c.AreaBooked[c.area(l.No)] += sign * int32(l.Quantity)
	}
}

func (c *Change) area(no int32) int {
	i, found := slices.BinarySearch(c.AreaNos, no)
	if !found {
		c.AreaNos = slices.Insert(c.AreaNos, i, no)
		c.AreaUnits = slices.Insert(c.AreaUnits, i, 0)
		c.AreaBooked = slices.Insert(c.AreaBooked, i, 0)
	}
	return i
}
