package boxoffice

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// WaitlistStatus is the state of an entry of a show's waitlist; see the
// package comment.
type WaitlistStatus string

// The states of an entry.
const (
	WaitlistWaiting  WaitlistStatus = "waiting"
	WaitlistOffered  WaitlistStatus = "offered"  // places are held for it
	WaitlistAccepted WaitlistStatus = "accepted" // and were bought: the entry is spent, whatever follows
	WaitlistDeclined WaitlistStatus = "declined" // and were let go
	WaitlistLapsed   WaitlistStatus = "lapsed"   // and nobody came for them
	WaitlistLeft     WaitlistStatus = "left"     // left before there was an offer
	WaitlistClosed   WaitlistStatus = "closed"   // derived, never stored: the show sells no more
)

// Limits of waitlists.
const (
	OfferSecondsDefault = 900
	OfferSecondsMax     = MaxHoldSecondsMax
	WaitlistMax         = 100_000 // entries of a show that wait
)

// WaitlistEntry is a party that waits for places of a show.
type WaitlistEntry struct {
	ID            uuid.UUID
	CustomerID    string
	No            int64    // the show's version that it came with: the lower, the earlier
	PartySize     int      // 1…
	Categories    []string // wanted ones, the best first; nil: any
	Status        WaitlistStatus
	JoinedAt      time.Time
	OfferedAt     time.Time // zero: never
	ClosedAt      time.Time // when it was accepted, declined, left or lapsed; zero: it was not
	ReservationID uuid.UUID // its offer; zero: it had none

	dirty bool
}

// StatusAt is the state that a reader sees, given the end of its offer's hold:
// an offer whose time is over has lapsed, and who waits for a show that sells
// no more waits for nothing.
func (e *WaitlistEntry) StatusAt(now, offerEnds time.Time, t *Terms) WaitlistStatus {
	switch {
	case e.Status == WaitlistOffered && !now.Before(offerEnds):
		return WaitlistLapsed
	case e.Status == WaitlistWaiting && t.over(now):
		return WaitlistClosed
	}
	return e.Status
}

// over says that nothing of the show will be sold any more.
func (t *Terms) over(now time.Time) bool {
	s := t.StatusAt(now)
	return s == ShowCancelled || s == ShowEnded || t.SalesEndAt != nil && !now.Before(*t.SalesEndAt)
}

// WaitlistBuyer is who waits. It is personal, as [Buyer] is.
type WaitlistBuyer struct {
	EntryID    uuid.UUID
	CustomerID string
	Buyer      *Buyer
}

// WaitlistLook is what there was for those who wait when places were last
// free, and what was left when the waitlist had been served. It tells
// everybody why they were passed over.
type WaitlistLook struct {
	At         time.Time
	Categories []string // in step with:
	Found      []int32  // places free
	Remaining  []int32  // places left over: on sale to everybody
}

// free counts places of some categories, nil for all.
func (l *WaitlistLook) free(counts []int32, categories []string) (n int) {
	for i, c := range l.Categories {
		if categories == nil || slices.Contains(categories, c) {
			n += int(counts[i])
		}
	}
	return n
}

// WaitlistReason says why an entry has no offer.
type WaitlistReason string

// The reasons.
const (
	WaitSoldOut       WaitlistReason = "sold_out"       // no place of the wanted categories was free when some last were, or none has been since it joined
	WaitTooFew        WaitlistReason = "too_few_left"   // some were, but fewer than its party needs
	WaitOthersFirst   WaitlistReason = "others_first"   // enough were, and went to entries before it
	WaitApart         WaitlistReason = "apart"          // enough are, but some seats and some standing, or in several areas
	WaitNotOnSale     WaitlistReason = "not_on_sale"    // sales rest
	WaitOverLimit     WaitlistReason = "over_limit"     // its party is larger than the show allows by now
	WaitCustomerLimit WaitlistReason = "customer_limit" // its customer has as many places as the show allows
)

// Why says why an entry that waits has no offer, and how many places of its
// categories were free when that was last seen. look is nil when none ever
// was; places are those that the customer has in the show.
func (e *WaitlistEntry) Why(t *Terms, now time.Time, look *WaitlistLook, places int) (why WaitlistReason, found int) {
	if look != nil && look.At.Before(e.JoinedAt) {
		look = nil
	}
	if look != nil {
		found = look.free(look.Found, e.Categories)
	}
	switch {
	case t.OnSale(now) != nil:
		return WaitNotOnSale, found
	case e.PartySize > t.MaxPlacesPerReservation:
		return WaitOverLimit, found
	case t.MaxPlacesPerCustomer > 0 && places+e.PartySize > t.MaxPlacesPerCustomer:
		return WaitCustomerLimit, found
	case found >= e.PartySize && look.free(look.Remaining, e.Categories) < e.PartySize:
		return WaitOthersFirst, found
	}
	return tooFew(found, e.PartySize), found
}

func tooFew(found, party int) WaitlistReason {
	switch {
	case found == 0:
		return WaitSoldOut
	case found < party:
		return WaitTooFew
	}
	return WaitApart
}

// JoinWaitlist puts a party on the waitlist of a show that cannot seat it now.
type JoinWaitlist struct {
	ID         uuid.UUID // UUIDv7, made by the caller
	CustomerID string
	PartySize  int
	Categories []string
	Buyer      *Buyer
}

func (c *JoinWaitlist) decide(b *batch) *Error {
	if err := c.check(b); err != nil {
		return err
	}
	if err := b.Terms.OnSale(b.Now); err != nil {
		return err
	}
	// Whoever writes the party down: the offer will be the customer's, and is held
	// to what customers may have.
	if err := atMost(b.Terms.MaxPlacesPerReservation, c.PartySize); err != nil {
		return err
	}
	var lapsed *Reservation // an offer that is over, though nothing has tidied it up
	for _, e := range b.Waitlist {
		if e.CustomerID != c.CustomerID || e.Status != WaitlistWaiting && e.Status != WaitlistOffered {
			continue
		}
		if r := b.Reservations[e.ReservationID]; r != nil && r.Overdue(b.Now) {
			lapsed = r
			continue
		}
		refusal := Refuse(CodeOnWaitlist, "One customer is on a show's waitlist once; leave it first to change what is waited for.")
		refusal.Facts.WaitlistEntryID = new(e.ID)
		return refusal
	}
	if err := b.limitCustomer(c.CustomerID, c.PartySize, 0); err != nil {
		return err
	}
	v := b.vacant()
	if v.choose(c.PartySize, c.Categories) != nil {
		e := Refuse(CodePlacesAvailable, "The show has places for this party: hold them now.")
		e.Facts.Available = new(v.count(c.Categories))
		return e
	}
	if b.Waiting >= WaitlistMax {
		return Refuse(CodeConflict, "The waitlist of this show is full: %d parties wait.", b.Waiting)
	}
	if lapsed != nil {
		b.close(lapsed, ReservationExpired, ReasonExpired)
	}
	e := &WaitlistEntry{
		ID: c.ID, CustomerID: c.CustomerID, No: b.did.Version + 1, PartySize: c.PartySize, Categories: c.Categories,
		Status: WaitlistWaiting, JoinedAt: b.Now,
	}
	b.queue = append(b.waiting(), e) // the last of them
	if b.Waitlist == nil {
		b.Waitlist = map[uuid.UUID]*WaitlistEntry{}
	}
	b.Waitlist[e.ID] = e
	b.changeEntry(e)
	b.did.Waiters = append(b.did.Waiters, WaitlistBuyer{e.ID, e.CustomerID, c.Buyer})
	b.Waiting++
	b.logEntry(e, WaitlistJoined, "", b.reason())
	b.out.ID, b.out.Count = e.ID, b.Waiting
	b.out.Free = v.count(c.Categories)
	b.out.Why = string(tooFew(b.out.Free, e.PartySize))
	return nil
}

// check refuses categories that the show does not have, and parties that all
// of the wanted ones together could never seat.
func (c *JoinWaitlist) check(b *batch) *Error {
	var bad []Violation
	known := map[string]int{} // places
	if p := b.Terms.Plan; p != nil {
		for _, category := range p.Categories {
			for _, r := range p.Offered(category.Name) {
				known[category.Name] += int(r.Last-r.First) + 1
			}
		}
	}
	for _, a := range b.Areas {
		known[a.Category] = max(known[a.Category], a.Capacity) // it is offered from one area
	}
	most := 0
	for category, places := range known {
		if c.Categories == nil || slices.Contains(c.Categories, category) {
			most += places
		}
	}
	for i, category := range c.Categories {
		field := "categories[" + strconv.Itoa(i) + "]"
		if _, ok := known[category]; !ok {
			bad = append(bad, Violation{field, "the show has no places to offer in category " + category})
		} else if slices.Index(c.Categories, category) < i {
			bad = append(bad, Violation{field, category + " is named more than once"})
		}
	}
	if bad == nil && c.PartySize > most {
		bad = append(bad, Violation{"partySize", "is more than there is: " + strconv.Itoa(most) + " places of the wanted categories"})
	}
	if bad != nil {
		return Invalid(bad...)
	}
	return nil
}

// LeaveWaitlist takes a party off the waitlist. An offer that it has is let
// go, and passes on. Leaving what is over already changes nothing and succeeds.
type LeaveWaitlist struct{ ID uuid.UUID }

func (c *LeaveWaitlist) decide(b *batch) *Error {
	e := b.Waitlist[c.ID]
	if e == nil || (!b.cmd.Actor.Staff && e.CustomerID != b.cmd.Actor.CustomerID) {
		return Refuse(CodeNotFound, "There is no such entry.")
	}
	switch e.Status {
	case WaitlistWaiting:
		b.changeEntry(e)
		e.Status, e.ClosedAt = WaitlistLeft, b.Now
		b.Waiting--
		b.logEntry(e, WaitlistLeftChange, WaitlistWaiting, b.reason())
	case WaitlistOffered:
		r := b.Reservations[e.ReservationID]
		if r == nil {
			return Refuse(CodeInternal, "the offer of the entry was not loaded")
		}
		// One that is over is closed, too: a clock that goes back would bring it back
		// to somebody who has left.
		if r.Overdue(b.Now) {
			b.close(r, ReservationExpired, ReasonExpired)
		} else {
			b.close(r, ReservationReleased, b.reason())
		}
	}
	b.out.ID = e.ID
	return nil
}

// OfferWaitlist has the waitlist served, should places be free that it was not
// asked about. Every batch that frees places, or finds that time has freed some,
// does so by itself; this is for shows that nobody does anything with, and for
// what happened outside of the lanes.
type OfferWaitlist struct{}

func (*OfferWaitlist) decide(*batch) *Error { return nil }

// takes says whether a command may take what is free, and must therefore let
// those go first who have waited for it.
func takes(do Doer) bool {
	switch do.(type) {
	case *PlaceReservation, *ChangeReservation, *JoinWaitlist, *OfferWaitlist:
		return true
	}
	return false
}

// serve offers what is free to those who wait, the earliest first. Who cannot
// be served is passed over. It is a command of its own, between those of the
// batch: what was freed is nobody else's until the waitlist has had it.
func (b *batch) serve() {
	b.freed = false
	if b.Waiting == 0 || b.Terms.OnSale(b.Now) != nil {
		return
	}
	v := b.vacant()
	found := v.counts()
	if !slices.ContainsFunc(found, func(n int32) bool { return n > 0 }) {
		return
	}
	cmd, n, out := b.cmd, b.n, b.out
	b.cmd, b.n, b.out = &Command{Actor: Actor{Name: systemActor}}, 0, Receipt{}
	for _, e := range b.waiting() {
		if e.Status == WaitlistWaiting {
			b.offer(e, v)
		}
	}
	if b.n > 0 {
		b.did.Version++
		b.did.Dirty = true
	}
	b.cmd, b.n, b.out = cmd, n, out
	b.did.Look = &WaitlistLook{At: b.Now, Categories: v.categories, Found: found, Remaining: v.counts()}
	b.freed = false // what closed overdue holds gave back was counted as free
}

// waiting lists the loaded entries that wait, the earliest first.
func (b *batch) waiting() []*WaitlistEntry {
	if b.queue == nil {
		for _, e := range b.Waitlist {
			if e.Status == WaitlistWaiting {
				b.queue = append(b.queue, e)
			}
		}
		slices.SortFunc(b.queue, func(x, y *WaitlistEntry) int { return cmp.Compare(x.No, y.No) })
	}
	return b.queue
}

// offer holds places for an entry if it can be served.
func (b *batch) offer(e *WaitlistEntry, v *vacancies) {
	if b.checkCount(e.PartySize) != nil {
		return
	}
	choice := v.choose(e.PartySize, e.Categories)
	if choice == nil {
		return
	}
	t := b.Terms
	take, err := b.plan(e.CustomerID, uuid.Nil, choice.seats, choice.areas, items{}, "")
	if err != nil {
		return // the customer has as many places as they may
	}
	r := &Reservation{
		ID: DerivedID(e.ID, "offer"), ShowID: t.ShowID, CustomerID: e.CustomerID, Status: ReservationActive,
		CreatedAt: b.Now, ExpiresAt: b.Now.Add(time.Duration(t.OfferSeconds) * time.Second), HoldSeconds: t.OfferSeconds,
		Currency: t.Currency, WaitlistEntryID: e.ID,
		dirty: true,
	}
	b.apply(r, take, items{})
	v.take(choice)
	b.Reservations[r.ID] = r
	b.EverHeld = true
	b.did.Placed = append(b.did.Placed, r)
	b.endsAt(r.ExpiresAt)
	b.changeEntry(e)
	e.Status, e.OfferedAt, e.ReservationID = WaitlistOffered, b.Now, r.ID
	b.Waiting--
	b.logReservation(r, ReservationCreated, "", ReasonWaitlist, take.items, items{})
	b.task(Task{Kind: TaskMail, Mail: MailOffer, WaitlistEntryID: e.ID})
}

// endOffer tells the entry of an offer that its hold has ended, or was bought.
func (b *batch) endOffer(r *Reservation) {
	e := b.Waitlist[r.WaitlistEntryID]
	if e == nil {
		return // not an offer
	}
	to := map[ReservationStatus]WaitlistStatus{
		ReservationConsumed: WaitlistAccepted, ReservationReleased: WaitlistDeclined, ReservationExpired: WaitlistLapsed,
	}[r.Status]
	if e.Status == to {
		return
	}
	b.changeEntry(e)
	e.Status, e.ClosedAt = to, b.Now
}

func (b *batch) changeEntry(e *WaitlistEntry) {
	if !e.dirty {
		e.dirty = true
		b.did.Entries = append(b.did.Entries, e)
	}
}

func (b *batch) logEntry(e *WaitlistEntry, typ ChangeType, before WaitlistStatus, reason Reason) {
	b.log(Change{
		Type: typ, Reason: reason, Before: string(before), After: string(e.Status),
		Detail: "party of " + strconv.Itoa(e.PartySize) + ", entry " + e.ID.String(),
	})
}

// vacancies are the places that can be offered: all that is free, except
// spaces for wheelchairs and the seats beside them, which are for those who
// need them and stay on sale to everybody.
type vacancies struct {
	plan       *PlanIndex
	categories []string           // of the show, in the order of the plan
	seats      map[string][]int32 // free ones by category: positions in the plan, in order
	free       []bool             // the same by position
	areas      []area
}

type area struct {
	no       int32
	category string
	left     int
}

// choice is what somebody could have.
type choice struct {
	seats []SeatWant
	areas []AreaWant
	at    []int32 // of the seats: positions in the plan
}

// offerable says whether the seat is one that anybody may be offered.
func (s *Seat) offerable() bool { return s.Kind != SeatWheelchair && s.Kind != SeatCompanion }

// vacant looks what is free now, overdue holds included.
func (b *batch) vacant() *vacancies {
	v := &vacancies{plan: b.Terms.Plan, seats: map[string][]int32{}}
	if v.plan != nil {
		for _, c := range v.plan.Categories {
			v.categories = append(v.categories, c.Name)
		}
		v.free = make([]bool, len(v.plan.Seats))
	}
	for _, row := range b.Seats {
		i, known := v.plan.Position(row.No)
		if !known || !row.Locked || row.StatusAt(b.Now) != SeatAvailable {
			continue
		}
		if s := &v.plan.Seats[i]; s.offerable() {
			c := v.plan.CategoryOf(s)
			v.seats[c], v.free[i] = append(v.seats[c], int32(i)), true
		}
	}
	for _, list := range v.seats {
		slices.Sort(list)
	}
	for _, a := range b.Areas {
		v.areas = append(v.areas, area{a.No, a.Category, a.Capacity - b.used(a)})
	}
	slices.SortFunc(v.areas, func(x, y area) int { return cmp.Compare(x.no, y.no) })
	for _, a := range v.areas {
		if !slices.Contains(v.categories, a.category) {
			v.categories = append(v.categories, a.category)
		}
	}
	return v
}

// counts are the places by category, in step with v.categories.
func (v *vacancies) counts() []int32 {
	n := make([]int32, len(v.categories))
	for i, c := range v.categories {
		n[i] = int32(v.count([]string{c}))
	}
	return n
}

// count counts the places of some categories, nil for all.
func (v *vacancies) count(categories []string) (n int) {
	if categories == nil {
		categories = v.categories
	}
	for _, c := range categories {
		n += len(v.seats[c])
	}
	for _, a := range v.areas {
		if slices.Contains(categories, a.category) {
			n += max(0, a.left)
		}
	}
	return n
}

// choose picks places for a party, or nil. In the order of the categories that
// it wants, or of the plan: seats side by side of one category, or room for all
// in one area; failing that, seats anywhere in those categories. What it finds
// first in the order of the plan is as good as any.
func (v *vacancies) choose(party int, categories []string) *choice {
	if categories == nil {
		categories = v.categories
	}
	if v.count(categories) < party {
		return nil // as for most of a long waitlist
	}
	for _, c := range categories {
		if run := v.sideBySide(v.seats[c], party); run != nil {
			return v.chosen(run)
		}
		for _, a := range v.areas {
			if a.category == c && a.left >= party {
				return &choice{areas: []AreaWant{{No: a.no, TicketType: TicketTypeStandard, Quantity: party}}}
			}
		}
	}
	var apart []int32
	for _, c := range categories {
		apart = append(apart, v.seats[c][:min(len(v.seats[c]), party-len(apart))]...)
	}
	if len(apart) < party {
		return nil
	}
	return v.chosen(apart)
}

func (v *vacancies) chosen(at []int32) *choice {
	c := &choice{at: at}
	for _, i := range at {
		s := &v.plan.Seats[i]
		c.seats = append(c.seats, SeatWant{No: s.No, TicketType: TicketTypeStandard, Named: s.Label})
	}
	return c
}

// sideBySide finds as many free seats next to each other in one row, all of
// the category whose free seats these are.
func (v *vacancies) sideBySide(seats []int32, party int) []int32 {
	if len(seats) < party {
		return nil
	}
	run := make([]int32, 0, party)
	for _, first := range seats {
		run = append(run[:0], first)
		for len(run) < party {
			next := v.plan.Beside(run[len(run)-1])
			if next < 0 || !v.free[next] || v.plan.Seats[next].Category != v.plan.Seats[first].Category {
				break
			}
			run = append(run, next)
		}
		if len(run) == party {
			return run
		}
	}
	return nil
}

// take removes what was chosen.
func (v *vacancies) take(c *choice) {
	for _, i := range c.at {
		name := v.plan.CategoryOf(&v.plan.Seats[i])
		at, _ := slices.BinarySearch(v.seats[name], i)
		v.seats[name], v.free[i] = slices.Delete(v.seats[name], at, at+1), false
	}
	for _, w := range c.areas {
		for i := range v.areas {
			if v.areas[i].no == w.No {
				v.areas[i].left -= w.Quantity
			}
		}
	}
}
