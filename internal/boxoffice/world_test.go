package boxoffice

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// noon is when every test begins.
var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// id makes an id that reads as its name; nameOf reads it.
func id(name string) (u uuid.UUID) {
	if offer, ok := offers.Load(name); ok {
		return offer.(uuid.UUID)
	}
	copy(u[:], name)
	return u
}

func nameOf(u uuid.UUID) string {
	if name, ok := derived.Load(u); ok {
		return name.(string)
	}
	return string(bytes.TrimRight(u[:], "\x00"))
}

// derived are the names of derived ids: k1.2 is the second ticket of k1,
// p1/unapplied a refund of p1 for a cause. They are the same in every test.
var derived sync.Map

func ticketID(booking string, n int) uuid.UUID {
	u := DerivedID(id(booking), fmt.Sprint("ticket ", n))
	derived.Store(u, fmt.Sprint(booking, ".", n))
	return u
}

func refundID(name string) uuid.UUID {
	payment, cause, _ := strings.Cut(name, "/")
	u := DerivedID(id(payment), cause)
	derived.Store(u, name)
	return u
}

// The plans of one hall. Seats keep their numbers from plan to plan, and a
// seat's number is not its place in the document.
var (
	hallPlan  = plan("hall", "hall-1", "A1 A2 A3 A4 A5 A6 A7 A8 B1 B2", "GA*10 PIT*4")
	smallPlan = plan("small", "hall-1", "A1 A2 A3 A4 A5 A6 B1 B2", "GA*5")
	bigPlan   = plan("big", "hall-1", "A1 A2 A3 A4 A5 A6 A7 A8 B1 B2 C1 C2", "GA*12 PIT*4 BAR*3")
	otherPlan = plan("other", "hall-2", "A1 A2", "GA*5")
)

var plans = map[string]*testPlan{"hall": hallPlan, "small": smallPlan, "big": bigPlan, "other": otherPlan}

// seatNames are the seats of all plans by number, areaNames the areas.
var (
	seatNames = []string{"A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "B1", "B2", "C1", "C2"}
	areaNames = []string{"GA", "PIT", "BAR"}
)

func noOf(names []string, name string) int32 { return int32(slices.Index(names, name)) }

// prices are the prices of every show: rows A and C, row B, and the areas.
func prices() map[PriceKey]int64 {
	return map[PriceKey]int64{
		{"stalls", "standard"}: 100, {"stalls", "child"}: 50,
		{"box", "standard"}:   300,
		{"floor", "standard"}: 40, {"floor", "child"}: 20,
	}
}

type testPlan struct {
	*PlanIndex
	areas []AreaRow
}

func plan(name, hall, seats, areas string) *testPlan {
	p := &Plan{ID: id(name), HallID: id(hall), Name: name, Categories: []Category{{Name: "stalls"}, {Name: "box"}, {Name: "floor"}}}
	for _, s := range words(seats) {
		category := 0
		if s[0] == 'B' {
			category = 1
		}
		p.Seats = append(p.Seats, Seat{No: noOf(seatNames, s), ID: id(s), Row: s[:1], Number: s[1:], Label: s, Category: category})
	}
	slices.Reverse(p.Seats)
	t := &testPlan{PlanIndex: p.Index()}
	for _, a := range words(areas) {
		area, capacity := split(a, "*")
		t.areas = append(t.areas, AreaRow{No: noOf(areaNames, area), ID: id(area), Name: area, Category: "floor", Capacity: atoi(capacity)})
	}
	return t
}

// database stands for Postgres: it keeps one show between batches, loads no
// more of it than the store does, and refuses what the constraints and
// triggers of the schema refuse.
type database struct {
	t            tester
	terms        *Terms
	version      int64
	seats        map[int32]SeatRow
	areas        map[int32]AreaRow
	reservations map[uuid.UUID]Reservation
	blocks       map[uuid.UUID]NewBlock
	receipts     map[KeyID]savedReceipt
	bookings     map[uuid.UUID]Booking // without what belongs to them
	payments     map[uuid.UUID]Payment
	refunds      map[uuid.UUID]Refund
	tickets      map[uuid.UUID]Ticket
	scans        map[uuid.UUID]Scan
	people       map[uuid.UUID]People
	waitlist     map[uuid.UUID]WaitlistEntry
	waiters      map[uuid.UUID]WaitlistBuyer
	look         *WaitlistLook
	log          []Change
	foreign      map[int32]bool // rows that somebody outside the lanes has locked

	// What somebody knows who has read nothing but the log.
	seen       map[int32]byte
	seenUnits  map[int32]int
	seenBooked map[int32]int
	told       map[uuid.UUID]string // statuses
}

type savedReceipt struct {
	fingerprint [32]byte
	json        string
}

// tester is a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// newDatabase has a show in the hall, on sale from noon - 1 h to noon + 8 h,
// with holds of 15 minutes, at most 30, and 5 places a reservation.
func newDatabase(t tester) *database {
	d := &database{
		t: t,
		terms: &Terms{
			ShowID: id("show"), Definition: 1, Status: ShowOnSale, StartsAt: noon.Add(8 * time.Hour), Currency: "EUR",
			HoldSeconds: 900, MaxHoldSeconds: 1800, OfferSeconds: 600, MaxPlacesPerReservation: 5, Prices: prices(), Plan: hallPlan.PlanIndex,
		},
		seats: map[int32]SeatRow{}, areas: map[int32]AreaRow{}, reservations: map[uuid.UUID]Reservation{},
		blocks: map[uuid.UUID]NewBlock{}, receipts: map[KeyID]savedReceipt{}, foreign: map[int32]bool{},
		bookings: map[uuid.UUID]Booking{}, payments: map[uuid.UUID]Payment{}, refunds: map[uuid.UUID]Refund{},
		tickets: map[uuid.UUID]Ticket{}, scans: map[uuid.UUID]Scan{}, people: map[uuid.UUID]People{},
		waitlist: map[uuid.UUID]WaitlistEntry{}, waiters: map[uuid.UUID]WaitlistBuyer{},
		seen: map[int32]byte{}, seenUnits: map[int32]int{}, seenBooked: map[int32]int{}, told: map[uuid.UUID]string{},
	}
	for _, s := range hallPlan.Seats {
		d.seats[s.No] = SeatRow{No: s.No, State: 'a'}
		d.seen[s.No] = 'a'
	}
	for _, a := range hallPlan.areas {
		a.Known = true
		d.areas[a.No] = a
	}
	return d
}

// book makes a booking out of nothing: a consumed reservation, and tickets
// that cost nothing.
func (d *database) book(name, customer string, seats []SeatWant, areas []AreaWant) {
	booking := "booking-" + name
	r := Reservation{
		ID: id(name), CustomerID: customer, Status: ReservationConsumed, BookingID: id(booking),
		CreatedAt: noon, ExpiresAt: noon.Add(time.Minute), ClosedAt: noon, Currency: "EUR",
	}
	k := Booking{
		ID: r.BookingID, Reference: booking, ReservationID: r.ID, CustomerID: customer, Status: BookingConfirmed,
		Currency: "EUR", CreatedAt: noon, ConfirmedAt: noon,
	}
	n := 0
	ticket := func(seat, area int32, kind string) {
		n++
		t := Ticket{
			ID: ticketID(booking, n), BookingID: k.ID, N: n, SeatNo: seat, AreaNo: area, TicketType: kind,
			Status: TicketValid, IssuedAt: noon,
		}
		d.tickets[t.ID], d.told[t.ID] = t, string(t.Status)
	}
	for _, s := range seats {
		r.Seats = append(r.Seats, SeatLine{No: s.No, TicketType: s.TicketType})
		ticket(s.No, -1, s.TicketType)
		d.seats[s.No] = SeatRow{No: s.No, State: 'b', ReservationID: r.ID}
		d.seen[s.No] = 'b'
	}
	for _, a := range areas {
		r.Areas = append(r.Areas, AreaLine{No: a.No, TicketType: a.TicketType, Requested: a.Quantity, Quantity: a.Quantity})
		row := d.areas[a.No]
		row.Booked += a.Quantity
		d.areas[a.No] = row
		d.seenBooked[a.No] += a.Quantity
		for range a.Quantity {
			ticket(-1, a.No, a.TicketType)
		}
	}
	d.reservations[r.ID], d.told[r.ID] = r, string(r.Status)
	d.bookings[k.ID], d.told[k.ID] = k, string(k.Status)
}

// decide works a batch as the store does: load, decide, save.
func (d *database) decide(now time.Time, cmds ...Command) ([]Outcome, *Changes) {
	d.t.Helper()
	st := d.load(now, cmds)
	outcomes, did := Decide(st, cmds)
	if !st.Offering && !slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Err == nil && !o.Replayed }) {
		d.unchanged(did)
	}
	d.save(now, did)
	d.check(did)
	for customer, places := range d.places(now) {
		if st.Places[customer] != places {
			d.t.Fatalf("%s has %d places, the rules count %d", customer, places, st.Places[customer])
		}
	}
	return outcomes, did
}

// unchanged refuses any change by commands that were all refused.
func (d *database) unchanged(did *Changes) {
	d.t.Helper()
	if did.Writes() || len(did.Seats)+len(did.Areas)+len(did.Placed)+len(did.Updated)+len(did.Ends)+len(did.Hurried) > 0 || did.Terms != nil {
		d.t.Fatalf("what was refused changed something: %+v", did)
	}
}

// places counts the places that each customer has: of live holds, and of
// bookings without those whose tickets are void.
func (d *database) places(now time.Time) map[string]int {
	n := map[string]int{}
	for _, r := range d.reservations {
		if r.Status == ReservationConsumed || r.Status == ReservationActive && now.Before(r.ExpiresAt) {
			n[r.CustomerID] += r.Places() - r.CancelledPlaces
		}
	}
	return n
}

// due lists the overdue holds, the oldest first.
func (d *database) due(now time.Time, of func(*Reservation) bool) []uuid.UUID {
	var due []*Reservation
	for _, r := range d.reservations {
		if r.Status == ReservationActive && !r.ExpiresAt.After(now) && of(&r) {
			due = append(due, &r)
		}
	}
	slices.SortFunc(due, func(x, y *Reservation) int {
		return cmp.Or(x.ExpiresAt.Compare(y.ExpiresAt), bytes.Compare(x.ID[:], y.ID[:]))
	})
	ids := make([]uuid.UUID, len(due))
	for i, r := range due {
		ids[i] = r.ID
	}
	return ids
}

func (d *database) load(now time.Time, cmds []Command) State {
	st := State{
		Terms: d.terms, Now: now, Version: d.version, EverHeld: len(d.reservations) > 0,
		Seats: map[int32]*SeatRow{}, Areas: map[int32]*AreaRow{}, Reservations: map[uuid.UUID]*Reservation{},
		Places: d.places(now), Blocks: map[uuid.UUID]bool{}, Receipts: map[KeyID]Remembered{},
		Bookings: map[uuid.UUID]*Booking{}, Scans: map[uuid.UUID]*Scan{},
	}
	for no, a := range d.areas {
		st.Areas[no] = &a
	}
	locked := map[int32]bool{}
	want := func(seats []SeatWant) {
		for _, w := range seats {
			if row, ok := d.seats[w.No]; ok {
				st.Seats[w.No] = &row
				free := row.State == 'a' || row.State == 'x' || row.State == 'h' && !row.HeldUntil.After(now)
				locked[w.No] = locked[w.No] || free && !d.foreign[w.No]
			}
		}
	}
	var named, bookings, scans []uuid.UUID
	units, expire, all := map[int32]int{}, 0, false
	frees, redefines, joins, entries := false, false, map[string]bool{}, map[uuid.UUID]bool{}
	late := func(reservation, booking uuid.UUID) {
		named, bookings = append(named, reservation), append(bookings, booking)
		r := d.reservations[reservation]
		if r.StatusAt(now) == ReservationConsumed {
			return
		}
		for _, s := range r.Seats {
			if row := d.seats[s.No]; row.State == 'h' && !row.HeldUntil.After(now) {
				named = append(named, row.ReservationID)
			}
		}
		for _, l := range r.Areas {
			units[l.No] += l.Quantity
		}
	}
	for i := range cmds {
		switch do := cmds[i].Do.(type) {
		case *PlaceReservation:
			want(do.Seats)
			for _, a := range do.Areas {
				units[a.No] += a.Quantity
			}
		case *ChangeReservation:
			want(do.AddSeats)
			for _, a := range do.AddAreas {
				units[a.No] += a.Quantity
			}
			named = append(named, do.ID)
			frees = frees || len(do.RemoveSeats)+len(do.RemoveAreas) > 0
		case *ExtendReservation:
			named = append(named, do.ID)
		case *ReleaseReservation:
			named, frees = append(named, do.ID), true
		case *JoinWaitlist:
			joins[do.CustomerID] = true
		case *LeaveWaitlist:
			entries[do.ID], frees = true, true
		case *OfferWaitlist, *SetShowStatus:
			frees, redefines = true, true
		case *ExpireReservations:
			expire = 1e9 // not only do.Limit, so that two in a batch find what two batches would
		case *BeginPayment:
			named = append(named, do.ReservationID)
		case *ConfirmReservation:
			named = append(named, do.ReservationID)
		case *SettlePayment:
			late(do.ReservationID, do.BookingID)
			frees = frees || do.Status == PaymentFailed || do.Status == PaymentCancelled
		case *RecordRefund:
			late(do.ReservationID, do.BookingID)
			frees = true
		case *CancelBooking:
			frees = true
			named, bookings = append(named, do.ReservationID), append(bookings, do.BookingID)
		case *SettleRefund:
			bookings = append(bookings, do.BookingID)
		case *RetryRefund:
			bookings = append(bookings, do.BookingID)
		case *GiveBack:
			bookings = append(bookings, do.BookingID)
		case *CheckIn:
			bookings = append(bookings, do.BookingID)
			scans = append(scans, do.ScanID, d.tickets[do.TicketID].UsedScan)
		case *BlockSeats:
			want(do.Seats)
		case *UnblockSeats:
			want(do.Seats)
			frees = true
			if b, ok := d.blocks[do.BlockID]; ok {
				st.Blocks[do.BlockID] = true
				for _, no := range b.SeatNos {
					want([]SeatWant{{No: no}})
				}
			}
		case *SetAreaCapacity:
			units[do.AreaNo] += 1e9
			frees = true
		case *AmendShow:
			frees, redefines = true, true
			all = all || do.Plan != nil
		}
	}
	for _, row := range st.Seats {
		if row.State == 'h' && !row.HeldUntil.After(now) {
			named = append(named, row.ReservationID)
		}
	}
	everything := func(*Reservation) bool { return true }
	if all {
		expire = 1e9
		for no, row := range d.seats {
			st.Seats[no] = &row
			locked[no] = true
		}
	}
	for _, e := range d.waitlist {
		if e.Status == WaitlistWaiting {
			st.Waiting++
			expire = max(expire, 1) // is any hold over?
		}
	}
	due := d.due(now, everything)
	named = append(named, due[:min(len(due), expire)]...)
	for no, wanted := range units {
		a := d.areas[no]
		short := max(0, wanted-(a.Capacity-a.Held-a.Booked))
		due := d.due(now, func(r *Reservation) bool {
			return slices.ContainsFunc(r.Areas, func(l AreaLine) bool { return l.No == no })
		})
		named = append(named, due[:min(len(due), short)]...)
	}
	overdue := func(id uuid.UUID) bool { r, ok := d.reservations[id]; return ok && r.Overdue(now) }
	// The sale has begun by itself since anything was decided here.
	n, s := len(d.log), d.terms.SalesStartAt
	begun := s != nil && (n == 0 || d.log[n-1].At.Before(*s))
	if (d.terms.OnSale(now) == nil || redefines) && (len(joins) > 0 || st.Waiting > 0 && (frees || begun || slices.ContainsFunc(named, overdue))) {
		st.Offering = true
		for no, row := range d.seats {
			if row.State == 'a' && st.Seats[no] == nil {
				st.Seats[no] = &row
				locked[no] = !d.foreign[no]
			}
		}
		named = append(named, d.due(now, everything)...)
	}
	st.Waitlist = map[uuid.UUID]*WaitlistEntry{}
	for id, e := range d.waitlist {
		live := e.Status == WaitlistWaiting || e.Status == WaitlistOffered
		if entries[id] || live && joins[e.CustomerID] || st.Offering && e.Status == WaitlistWaiting {
			st.Waitlist[id] = &e
			if e.Status == WaitlistOffered {
				named = append(named, e.ReservationID)
			}
		}
	}
	for _, id := range named {
		r, ok := d.reservations[id]
		if !ok || st.Reservations[id] != nil {
			continue
		}
		st.Reservations[id] = &r
		bookings = append(bookings, r.BookingID)
		if e, ok := d.waitlist[r.WaitlistEntryID]; ok && st.Waitlist[e.ID] == nil {
			st.Waitlist[e.ID] = &e
		}
		for _, s := range r.Seats {
			if row, ok := d.seats[s.No]; ok && st.Seats[s.No] == nil {
				st.Seats[s.No] = &row
			}
			locked[s.No] = true
		}
	}
	for no, row := range st.Seats {
		row.Locked = locked[no]
		if row.State == 'h' {
			row.Holder = HolderOf(d.reservations[row.ReservationID].CustomerID)
		}
	}
	for _, id := range bookings {
		if k := d.booking(id); k != nil {
			st.Bookings[id] = k
		}
	}
	for _, id := range scans {
		if s, ok := d.scans[id]; ok {
			st.Scans[id] = &s
		}
	}
	for k, saved := range d.receipts {
		var r Receipt
		d.must(json.Unmarshal([]byte(saved.json), &r))
		st.Receipts[k] = Remembered{saved.fingerprint, &r}
	}
	return st
}

// booking reads a booking whole, or nil.
func (d *database) booking(id uuid.UUID) *Booking {
	k, ok := d.bookings[id]
	if !ok {
		return nil
	}
	for _, p := range d.payments {
		if p.BookingID == id {
			k.Payments = append(k.Payments, &p)
		}
	}
	for _, f := range d.refunds {
		if f.BookingID == id {
			k.Refunds = append(k.Refunds, &f)
		}
	}
	for _, t := range d.tickets {
		if t.BookingID == id {
			k.Tickets = append(k.Tickets, &t)
		}
	}
	slices.SortFunc(k.Payments, func(x, y *Payment) int { return bytes.Compare(x.ID[:], y.ID[:]) })
	slices.SortFunc(k.Refunds, func(x, y *Refund) int {
		return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(nameOf(x.ID), nameOf(y.ID)))
	})
	slices.SortFunc(k.Tickets, func(x, y *Ticket) int { return cmp.Compare(x.N, y.N) })
	return &k
}

func (d *database) save(now time.Time, did *Changes) {
	d.t.Helper()
	fail := func(format string, args ...any) { d.t.Helper(); d.t.Fatalf("database: "+format, args...) }
	if did.Terms != nil {
		d.terms = did.Terms
	}
	for _, no := range did.RemovedSeats {
		if _, ok := d.seats[no]; !ok {
			fail("removed seat %d is not there", no)
		}
		delete(d.seats, no)
	}
	for _, no := range did.AddedSeats {
		if _, ok := d.seats[no]; ok {
			fail("added seat %d is there already", no)
		}
		d.seats[no] = SeatRow{No: no, State: 'a'}
	}
	for _, no := range did.Handed {
		d.seats[no] = SeatRow{No: no, State: 'a'}
	}
	for i, s := range did.Seats {
		old, ok := d.seats[s.No]
		switch {
		case !ok:
			fail("changed seat %d is not there", s.No)
		case i > 0 && did.Seats[i-1].No >= s.No:
			fail("seats are not each once and sorted")
		case old.ReservationID != uuid.Nil && s.ReservationID != uuid.Nil && old.ReservationID != s.ReservationID:
			fail("seat %d handed from %s to %s", s.No, nameOf(old.ReservationID), nameOf(s.ReservationID))
		}
		held, owned, blocked := !s.HeldUntil.IsZero(), s.ReservationID != uuid.Nil, s.BlockID != uuid.Nil
		if one := map[byte]bool{'a': !held && !owned && !blocked, 'h': held && owned, 'b': !held && owned, 'x': !held && !owned && blocked}; !one[s.State] {
			fail("seat %d: %c with %+v", s.No, s.State, s)
		}
		d.seats[s.No] = SeatRow{No: s.No, State: s.State, ReservationID: s.ReservationID, HeldUntil: s.HeldUntil, BlockID: s.BlockID}
	}
	for _, no := range did.RemovedAreas {
		if _, ok := d.areas[no]; !ok {
			fail("removed area %d is not there", no)
		}
		delete(d.areas, no)
	}
	for i, a := range did.Areas {
		if _, ok := d.areas[a.No]; ok != a.Known {
			fail("area %d: known %v, there %v", a.No, a.Known, ok)
		}
		if i > 0 && did.Areas[i-1].No >= a.No {
			fail("areas are not each once and sorted")
		}
		if a.Held < 0 || a.Booked < 0 || a.Held+a.Booked > a.Capacity {
			fail("area %d oversold: %+v", a.No, a)
		}
		row := *a
		row.Known, row.dirty = true, false
		d.areas[a.No] = row
	}
	write := func(r *Reservation, old *Reservation) {
		if old != nil && old.Status != ReservationActive && old.Status != r.Status && (old.Status != ReservationExpired || r.Status != ReservationConsumed) {
			fail("reservation %s came back from %s as %s", nameOf(r.ID), old.Status, r.Status)
		}
		if (r.Status == ReservationActive) != r.ClosedAt.IsZero() || r.Status == ReservationExpired && r.ClosedAt.Before(r.ExpiresAt) {
			fail("reservation %s is %s, closed at %v", nameOf(r.ID), r.Status, r.ClosedAt)
		}
		if r.CancelledPlaces < 0 || r.CancelledPlaces > r.Places() {
			fail("reservation %s has %d places, %d cancelled", nameOf(r.ID), r.Places(), r.CancelledPlaces)
		}
		if r.Places() < 1 || !slices.IsSortedFunc(r.Seats, compareSeatLines) || !slices.IsSortedFunc(r.Areas, compareAreaLines) {
			fail("reservation %s has %v %v", nameOf(r.ID), r.Seats, r.Areas)
		}
		if r.Status == ReservationActive && (old == nil || !old.ExpiresAt.Equal(r.ExpiresAt)) && !slices.ContainsFunc(did.Ends, r.ExpiresAt.Equal) {
			fail("no job will close %s", nameOf(r.ID))
		}
		row := *r
		row.dirty = false
		row.Seats, row.Areas = slices.Clone(r.Seats), slices.Clone(r.Areas)
		d.reservations[r.ID] = row
	}
	for _, r := range did.Updated {
		old, ok := d.reservations[r.ID]
		if !ok {
			fail("updated reservation %s is not there", nameOf(r.ID))
		}
		write(r, &old)
	}
	for _, r := range did.Placed {
		if _, ok := d.reservations[r.ID]; ok {
			fail("placed reservation %s is there already", nameOf(r.ID))
		}
		write(r, nil)
	}
	d.saveBookings(did, fail)
	d.saveWaitlist(did, fail)
	for _, b := range did.Blocks {
		d.blocks[b.ID] = b
	}
	for _, k := range did.Kept {
		text, err := json.Marshal(k.Receipt)
		d.must(err)
		key := KeyID{k.Key.Owner, k.Key.Key}
		if _, ok := d.receipts[key]; ok {
			fail("key %v is kept twice", key)
		}
		d.receipts[key] = savedReceipt{k.Key.Fingerprint, string(text)}
	}
	if did.Dirty != (len(did.Log) > 0) || did.Dirty != (did.Version > d.version) {
		fail("dirty %v, %d log rows, version %d → %d", did.Dirty, len(did.Log), d.version, did.Version)
	}
	for _, c := range did.Log {
		next := len(d.log) == 0 || d.log[len(d.log)-1].Version != c.Version
		want := [2]int64{d.version + 1, 0}
		if !next {
			want = [2]int64{c.Version, int64(d.log[len(d.log)-1].N) + 1}
		} else {
			d.version++
		}
		if got := [2]int64{c.Version, int64(c.N)}; got != want || !c.At.Equal(now) {
			fail("log row %d.%d at %v, want %d.%d", c.Version, c.N, c.At, want[0], want[1])
		}
		if !slices.IsSorted(c.SeatNos) || !slices.IsSorted(c.AreaNos) || len(c.SeatNos) != len(c.SeatStates) || len(c.AreaNos) != len(c.AreaUnits) || c.AreaBooked != nil && len(c.AreaNos) != len(c.AreaBooked) {
			fail("log row %d.%d: %v %s %v %v %v", c.Version, c.N, c.SeatNos, c.SeatStates, c.AreaNos, c.AreaUnits, c.AreaBooked)
		}
		d.log = append(d.log, c)
		d.read(c)
	}
	if d.version != did.Version {
		fail("the log ends at version %d, the show at %d", d.version, did.Version)
	}
}

// read follows the log alone, as a live map does: entries about a show's terms
// make it look at the plan again.
func (d *database) read(c Change) {
	for i, no := range c.SeatNos {
		d.seen[no] = c.SeatStates[i]
	}
	for i, no := range c.AreaNos {
		d.seenUnits[no] += int(c.AreaUnits[i])
		if c.AreaBooked != nil {
			d.seenBooked[no] += int(c.AreaBooked[i])
		}
	}
	d.hear(c)
	if c.Type == ShowChanged {
		maps.DeleteFunc(d.seen, func(no int32, _ byte) bool { return d.terms.Plan.Seat(no) == nil })
		for _, s := range d.terms.Plan.Seats {
			if _, ok := d.seen[s.No]; !ok {
				d.seen[s.No] = 'a'
			}
		}
	}
}

// check compares everything that is written down twice.
func (d *database) check(did *Changes) {
	d.t.Helper()
	owners, units := map[int32]uuid.UUID{}, map[int32][2]int{}
	for _, r := range d.reservations {
		if r.Status != ReservationActive && r.Status != ReservationConsumed {
			continue
		}
		void := map[[2]int32]int{}
		for _, t := range d.tickets {
			if t.BookingID == r.BookingID && t.Status == TicketVoid {
				void[[2]int32{t.SeatNo, t.AreaNo}]++
			}
		}
		for _, s := range r.Seats {
			if void[[2]int32{s.No, -1}] > 0 {
				continue
			}
			if other, taken := owners[s.No]; taken {
				d.t.Fatalf("seat %s has two owners: %s and %s", seatNames[s.No], nameOf(other), nameOf(r.ID))
			}
			owners[s.No] = r.ID
			if row := d.seats[s.No]; r.Status == ReservationActive && (row.State != 'h' || !row.HeldUntil.Equal(r.ExpiresAt)) {
				d.t.Fatalf("seat %s of %s is %c until %v", seatNames[s.No], nameOf(r.ID), row.State, row.HeldUntil)
			}
		}
		for _, a := range r.Areas {
			u := units[a.No]
			if r.Status == ReservationActive {
				u[0] += a.Quantity
			} else {
				u[1] += a.Quantity
			}
			units[a.No] = u
		}
		for place, n := range void {
			if place[1] >= 0 {
				u := units[place[1]]
				u[1] -= n
				units[place[1]] = u
			}
		}
	}
	if d.terms.Plan != nil && len(d.seats) != len(d.terms.Plan.Seats) {
		d.t.Fatalf("%d seats, the plan has %d", len(d.seats), len(d.terms.Plan.Seats))
	}
	for no, row := range d.seats {
		if row.ReservationID != owners[no] {
			d.t.Fatalf("seat %s says %q owns it, the reservations say %q", seatNames[no], nameOf(row.ReservationID), nameOf(owners[no]))
		}
		if d.seen[no] != row.State {
			d.t.Fatalf("seat %s is %c, the log says %c", seatNames[no], row.State, d.seen[no])
		}
	}
	for no, a := range d.areas {
		if u := units[no]; a.Held != u[0] || a.Booked != u[1] || a.Held+a.Booked > a.Capacity {
			d.t.Fatalf("area %s has %+v, the reservations say %v", a.Name, a, u)
		}
		if d.seenUnits[no] != a.Held || d.seenBooked[no] != a.Booked {
			d.t.Fatalf("area %s has %d+%d taken, the log says %d+%d", a.Name, a.Held, a.Booked, d.seenUnits[no], d.seenBooked[no])
		}
	}
	d.checkMoney()
	d.checkWaitlist(did)
}

func (d *database) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatalf("%v", err)
	}
}

// seatMap is what a reader sees at now: a letter a seat, and of each area what
// is held (overdue holds included), booked and its capacity.
func (d *database) seatMap(now time.Time) string {
	var b bytes.Buffer
	for no := range int32(len(seatNames)) {
		if row, ok := d.seats[no]; ok {
			b.WriteByte(row.StatusAt(now).Letter())
		}
	}
	for no := range int32(len(areaNames)) {
		if a, ok := d.areas[no]; ok {
			fmt.Fprintf(&b, " %s %d+%d/%d", a.Name, a.Held, a.Booked, a.Capacity)
		}
	}
	return b.String()
}
