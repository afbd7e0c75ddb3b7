package sim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// tables stand for Postgres: one show, as it is committed. They load no more of
// it than the store does, keep only the columns of what a batch says it has
// changed, and take no row twice.
type tables struct {
	terms    *boxoffice.Terms
	version  int64
	changed  time.Time // when the last version was made
	seats    map[int32]boxoffice.SeatRow
	areas    map[int32]boxoffice.AreaRow
	holds    map[uuid.UUID]*boxoffice.Reservation
	held     []uuid.UUID // keys of holds, the oldest first
	books    map[uuid.UUID]*boxoffice.Booking
	booked   []uuid.UUID
	scans    map[uuid.UUID]*boxoffice.Scan
	blocks   map[uuid.UUID][]int32
	receipts map[boxoffice.KeyID]receipt
	checks   map[uuid.UUID]*check
	events   map[string]*keptEvent
	log      []boxoffice.Change
	waiting  int // the column of the show's head
	entries  map[uuid.UUID]*boxoffice.WaitlistEntry
	waited   []uuid.UUID // keys of entries, the earliest first
	room     room
}

type receipt struct {
	fingerprint [32]byte
	json        []byte
}

// check is when the gateway of a payment is asked next.
type check struct {
	due   time.Time
	asked int
}

type keptEvent struct {
	event []byte
	done  bool
}

// The place: six seats and an area of four.
var (
	show      = id(0, 's')
	seatNames = []string{"A1", "A2", "A3", "A4", "B1", "B2"}
	plan      = func() *boxoffice.PlanIndex {
		p := &boxoffice.Plan{ID: id(0, 'h'), Categories: []boxoffice.Category{{Name: "stalls"}, {Name: "box"}}}
		for no, name := range seatNames {
			category := 0
			if name[0] == 'B' {
				category = 1
			}
			p.Seats = append(p.Seats, boxoffice.Seat{No: int32(no), ID: id(no, 'a'), Row: name[:1], Number: name[1:], Label: name, Category: category})
		}
		return p.Index()
	}()
)

const floor = int32(0) // the area

// id makes an id that sorts by n and shows what it is of.
func id(n int, of byte) (u uuid.UUID) {
	u[3], u[4], u[5] = byte(n>>16), byte(n>>8), byte(n)
	u[6], u[8], u[15] = 0x70, 0x80, of
	return u
}

// name is how a person reads an id: r7 is a reservation, b8 a booking, p9 a
// payment, and what follows from one of them has its number and a bit of hash.
func name(u uuid.UUID) string {
	n := int(u[3])<<16 | int(u[4])<<8 | int(u[5])
	if u == id(n, u[15]) {
		return fmt.Sprintf("%c%d", u[15], n)
	}
	return fmt.Sprintf("%d~%x", n, u[10:12])
}

func newTables(clock time.Time, limit int, open bool) *tables {
	t := &tables{
		terms: &boxoffice.Terms{
			ShowID: show, Definition: 1, Status: boxoffice.ShowOnSale, StartsAt: clock.Add(8 * time.Hour), Currency: "EUR",
			HoldSeconds: 60, MaxHoldSeconds: 240, OfferSeconds: 40, MaxPlacesPerReservation: 4, MaxPlacesPerCustomer: limit, Plan: plan,
			Prices: map[boxoffice.PriceKey]int64{
				{Category: "stalls", TicketType: "standard"}: 1000, {Category: "box", TicketType: "standard"}: 2500, {Category: "floor", TicketType: "standard"}: 300,
			},
			Cancellation: &boxoffice.Cancellation{RefundPercent: 80, UntilMinutesBeforeStart: 60},
			QueueOpen:    open,
			Queue:        boxoffice.Queue{Mode: boxoffice.QueueOff, Threshold: 100, RatePerMinute: 20, AdmissionSeconds: 20, SessionSeconds: 90, ReturnSeconds: 40},
		},
		changed: clock.Add(-time.Hour), seats: map[int32]boxoffice.SeatRow{}, areas: map[int32]boxoffice.AreaRow{},
		holds: map[uuid.UUID]*boxoffice.Reservation{}, books: map[uuid.UUID]*boxoffice.Booking{}, scans: map[uuid.UUID]*boxoffice.Scan{},
		blocks: map[uuid.UUID][]int32{}, receipts: map[boxoffice.KeyID]receipt{}, checks: map[uuid.UUID]*check{}, events: map[string]*keptEvent{},
		entries: map[uuid.UUID]*boxoffice.WaitlistEntry{}, room: room{answers: map[uuid.UUID]int64{}, head: boxoffice.QueueHead{Since: clock}},
	}
	for no := range seatNames {
		t.seats[int32(no)] = boxoffice.SeatRow{No: int32(no), State: 'a'}
	}
	t.areas[floor] = boxoffice.AreaRow{No: floor, ID: id(0, 'f'), Name: "floor", Category: "floor", Capacity: 4, Known: true}
	return t
}

// now is the show's time when the clock says so: it never goes back.
func (t *tables) now(clock time.Time) time.Time {
	if clock.Before(t.changed) {
		return t.changed
	}
	return clock
}

// loading collects what a batch needs.
type loading struct {
	t        *tables
	st       boxoffice.State
	bookings []uuid.UUID
	checkIns []*boxoffice.CheckIn
	units    map[int32]int

	frees, redefines bool
	joins            []string
	leaves           []uuid.UUID
	turns            []int64
}

// load reads what commands need to be decided, as the lanes do.
func (t *tables) load(now time.Time, cmds []boxoffice.Command) boxoffice.State {
	l := &loading{t: t, units: map[int32]int{}, st: boxoffice.State{
		Terms: t.terms, Now: now, Version: t.version, EverHeld: len(t.held) > 0,
		Seats: map[int32]*boxoffice.SeatRow{}, Areas: map[int32]*boxoffice.AreaRow{}, Reservations: map[uuid.UUID]*boxoffice.Reservation{},
		Places: map[string]int{}, Blocks: map[uuid.UUID]bool{}, Receipts: map[boxoffice.KeyID]boxoffice.Remembered{},
		Bookings: map[uuid.UUID]*boxoffice.Booking{}, Scans: map[uuid.UUID]*boxoffice.Scan{},
		Waiting: t.waiting, Waitlist: map[uuid.UUID]*boxoffice.WaitlistEntry{}, Admissions: map[int64]*boxoffice.Admission{},
	}}
	for no, a := range t.areas {
		l.st.Areas[no] = &a
	}
	for i := range cmds {
		l.command(&cmds[i])
	}
	for no, wanted := range l.units {
		a := t.areas[no]
		l.due(wanted-(a.Capacity-a.Held-a.Booked), func(r *boxoffice.Reservation) bool { return len(r.Areas) > 0 })
	}
	l.admissions()
	l.waitlist(cmds)
	for _, id := range l.bookings {
		l.booking(id)
	}
	for _, c := range l.checkIns {
		l.checkIn(c)
	}
	return l.st
}

func (l *loading) command(cmd *boxoffice.Command) {
	t := l.t
	if k := cmd.Key; k != nil {
		if r, ok := t.receipts[boxoffice.KeyID{Owner: k.Owner, Key: k.Key}]; ok {
			again := boxoffice.Remembered{Fingerprint: r.fingerprint, Receipt: &boxoffice.Receipt{}}
			must(json.Unmarshal(r.json, again.Receipt))
			l.st.Receipts[boxoffice.KeyID{Owner: k.Owner, Key: k.Key}] = again
		}
	}
	switch do := cmd.Do.(type) {
	case *boxoffice.PlaceReservation:
		l.want(do.Seats, do.Areas)
		l.places(do.CustomerID)
		if t.terms.QueueOpen && do.Pass != nil && !do.Pass.Forged {
			l.turns = append(l.turns, do.Pass.Number)
		}
	case *boxoffice.ChangeReservation:
		l.want(do.AddSeats, do.AddAreas)
		l.hold(do.ID)
		l.places(cmd.Actor.CustomerID)
		l.frees = l.frees || len(do.RemoveSeats)+len(do.RemoveAreas) > 0
	case *boxoffice.ExtendReservation:
		l.hold(do.ID)
	case *boxoffice.ReleaseReservation:
		l.hold(do.ID)
		l.frees = true
	case *boxoffice.JoinWaitlist:
		l.joins = append(l.joins, do.CustomerID)
		l.places(do.CustomerID)
	case *boxoffice.LeaveWaitlist:
		l.leaves = append(l.leaves, do.ID)
		l.frees = true
	case *boxoffice.OfferWaitlist, *boxoffice.AmendShow:
		l.frees, l.redefines = true, true
	case *boxoffice.SetQueue:
	case *boxoffice.ExpireReservations:
		l.due(do.Limit, func(*boxoffice.Reservation) bool { return true })
	case *boxoffice.BeginPayment:
		l.hold(do.ReservationID)
	case *boxoffice.ConfirmReservation:
		l.hold(do.ReservationID)
	case *boxoffice.SettlePayment:
		l.late(do.ReservationID, do.BookingID)
		l.frees = l.frees || do.Status == boxoffice.PaymentFailed || do.Status == boxoffice.PaymentCancelled
	case *boxoffice.RecordRefund:
		l.late(do.ReservationID, do.BookingID)
		l.frees = true
	case *boxoffice.CancelBooking:
		l.hold(do.ReservationID)
		l.bookings = append(l.bookings, do.BookingID)
		l.frees = true
	case *boxoffice.SettleRefund:
		l.bookings = append(l.bookings, do.BookingID)
	case *boxoffice.RetryRefund:
		l.bookings = append(l.bookings, do.BookingID)
	case *boxoffice.GiveBack:
		l.bookings = append(l.bookings, do.BookingID)
	case *boxoffice.CheckIn:
		l.checkIns = append(l.checkIns, do)
		l.scan(do.ScanID)
	case *boxoffice.BlockSeats:
		l.want(do.Seats, nil)
	case *boxoffice.UnblockSeats:
		l.want(do.Seats, nil)
		l.frees = true
		if nos, ok := t.blocks[do.BlockID]; ok {
			l.st.Blocks[do.BlockID] = true
			for _, no := range nos {
				l.want([]boxoffice.SeatWant{{No: no}}, nil)
			}
		}
	case *boxoffice.SetAreaCapacity:
		l.units[do.AreaNo] += 1 << 30
		l.frees = true
	case *boxoffice.SetShowStatus:
		l.frees, l.redefines = true, true
	default:
		panic(fmt.Sprintf("what does %T need?", do))
	}
}

func (l *loading) want(seats []boxoffice.SeatWant, areas []boxoffice.AreaWant) {
	for _, w := range seats {
		l.seat(w.No)
		if row := l.st.Seats[w.No]; row != nil && row.State == 'h' && !l.st.Now.Before(row.HeldUntil) {
			l.hold(row.ReservationID)
		}
	}
	for _, a := range areas {
		l.units[a.No] += a.Quantity
	}
}

func (l *loading) seat(no int32) {
	row, ok := l.t.seats[no]
	if !ok || l.st.Seats[no] != nil {
		return
	}
	row.Locked = true
	l.st.Seats[no] = &row
}

func (l *loading) hold(id uuid.UUID) {
	r, ok := l.t.holds[id]
	if !ok || l.st.Reservations[id] != nil {
		return
	}
	l.st.Reservations[id] = copyHold(r)
	for _, s := range r.Seats {
		l.seat(s.No)
	}
	if r.BookingID != uuid.Nil {
		l.bookings = append(l.bookings, r.BookingID)
	}
}

func (l *loading) late(reservation, booking uuid.UUID) {
	l.hold(reservation)
	l.bookings = append(l.bookings, booking)
	r := l.t.holds[reservation]
	if r == nil || r.StatusAt(l.st.Now) != boxoffice.ReservationExpired {
		return
	}
	for _, s := range r.Seats {
		l.want([]boxoffice.SeatWant{{No: s.No}}, nil)
	}
	for _, a := range r.Areas {
		l.units[a.No] += a.Quantity
	}
	l.places(r.CustomerID)
}

// due loads the oldest overdue holds of a kind.
func (l *loading) due(most int, of func(*boxoffice.Reservation) bool) {
	if most <= 0 {
		return
	}
	due := l.t.overdue(l.st.Now, of)
	for _, r := range due[:min(len(due), most)] {
		l.hold(r.ID)
	}
}

func (t *tables) overdue(now time.Time, of func(*boxoffice.Reservation) bool) []*boxoffice.Reservation {
	var due []*boxoffice.Reservation
	for _, id := range t.held {
		if r := t.holds[id]; r.Overdue(now) && of(r) {
			due = append(due, r)
		}
	}
	slices.SortFunc(due, func(x, y *boxoffice.Reservation) int {
		return cmp.Or(x.ExpiresAt.Compare(y.ExpiresAt), bytes.Compare(x.ID[:], y.ID[:]))
	})
	return due
}

// places counts what a customer has, where the show limits it.
func (l *loading) places(customer string) {
	if l.t.terms.MaxPlacesPerCustomer == 0 || customer == "" {
		return
	}
	l.st.Places[customer] = l.t.places(customer, l.st.Now)
}

func (t *tables) places(customer string, now time.Time) (n int) {
	for _, r := range t.holds {
		if r.CustomerID == customer && (r.Status == boxoffice.ReservationConsumed || r.Status == boxoffice.ReservationActive && !r.Overdue(now)) {
			n += r.Places() - r.CancelledPlaces
		}
	}
	return n
}

func (l *loading) scan(id uuid.UUID) {
	if s := l.t.scans[id]; s != nil {
		l.st.Scans[id] = new(*s)
	}
}

func (l *loading) booking(id uuid.UUID) {
	if k := l.t.books[id]; k != nil && l.st.Bookings[id] == nil {
		l.st.Bookings[id] = copyBooking(k)
	}
}

// checkIn loads a ticket with the head of its booking, unless that is here
// whole, and the scan that admitted it.
func (l *loading) checkIn(c *boxoffice.CheckIn) {
	k := l.t.books[c.BookingID]
	if k == nil {
		return
	}
	i := slices.IndexFunc(k.Tickets, func(t *boxoffice.Ticket) bool { return t.ID == c.TicketID })
	if i < 0 {
		return
	}
	l.scan(k.Tickets[i].UsedScan)
	have := l.st.Bookings[k.ID]
	if have == nil {
		head := *k
		head.Payments, head.Refunds, head.Tickets = nil, nil, nil
		have = copyBooking(&head)
		l.st.Bookings[k.ID] = have
	}
	if !slices.ContainsFunc(have.Tickets, func(t *boxoffice.Ticket) bool { return t.ID == c.TicketID }) {
		have.Tickets = append(have.Tickets, copyTicket(k.Tickets[i]))
	}
}

// save writes what a batch did. Whatever the database would refuse is an error.
func (t *tables) save(now time.Time, did *boxoffice.Changes) error {
	if did.Version < t.version || did.Dirty && did.Version == t.version {
		return fmt.Errorf("version %d would follow version %d", did.Version, t.version)
	}
	t.version = did.Version
	if did.Dirty {
		t.changed = now
	}
	if did.Terms != nil {
		if h := &t.room.head; did.Terms.QueueOpen && !t.terms.QueueOpen { // the rate counts from now
			h.Since, h.Freed, h.Calm = t.room.now(now), 0, time.Time{}
		}
		t.terms = did.Terms
	}
	for _, no := range did.Handed {
		t.seats[no] = boxoffice.SeatRow{No: no, State: 'a'}
	}
	for _, s := range did.Seats {
		old := t.seats[s.No].ReservationID
		if old != uuid.Nil && s.ReservationID != uuid.Nil && old != s.ReservationID {
			return fmt.Errorf("seat %s goes from %s to %s without having been free", seatNames[s.No], name(old), name(s.ReservationID))
		}
		t.seats[s.No] = boxoffice.SeatRow{No: s.No, State: s.State, ReservationID: s.ReservationID, HeldUntil: s.HeldUntil, BlockID: s.BlockID, Holder: s.Holder}
	}
	for _, a := range did.Areas {
		if a.Held < 0 || a.Booked < 0 || a.Held+a.Booked > a.Capacity {
			return fmt.Errorf("area %s has %d held and %d booked of %d", a.Name, a.Held, a.Booked, a.Capacity)
		}
		t.areas[a.No] = boxoffice.AreaRow{No: a.No, ID: a.ID, Name: a.Name, Category: a.Category, Capacity: a.Capacity, Held: a.Held, Booked: a.Booked, Known: true}
	}
	for _, r := range did.Updated {
		if t.holds[r.ID] == nil {
			return fmt.Errorf("reservation %s is not there", name(r.ID))
		}
		t.holds[r.ID] = copyHold(r)
	}
	for _, r := range did.Placed {
		t.holds[r.ID] = copyHold(r)
		t.held = append(t.held, r.ID)
	}
	if err := t.saveBooks(did); err != nil {
		return err
	}
	if err := t.saveWaitlist(did); err != nil {
		return err
	}
	for _, a := range did.Admissions {
		row := t.room.entries[a.Number-1].Admission
		row.SessionEndsAt, row.ReservationID = a.SessionEndsAt, a.ReservationID
	}
	for _, b := range did.Blocks {
		t.blocks[b.ID] = b.SeatNos
	}
	for _, k := range did.Kept {
		text, err := json.Marshal(k.Receipt)
		must(err)
		t.receipts[boxoffice.KeyID{Owner: k.Key.Owner, Key: k.Key.Key}] = receipt{k.Key.Fingerprint, text}
	}
	t.log = append(t.log, did.Log...)
	return nil
}

func (t *tables) saveBooks(did *boxoffice.Changes) error {
	for _, k := range did.Bookings {
		row := t.books[k.ID]
		if row == nil {
			row = &boxoffice.Booking{ID: k.ID, Reference: k.Reference, ReservationID: k.ReservationID, CustomerID: k.CustomerID, Currency: k.Currency, CreatedAt: k.CreatedAt}
			t.books[k.ID] = row
			t.booked = append(t.booked, k.ID)
		}
		row.Status, row.TotalMinor, row.RefundedMinor, row.AppliedID = k.Status, k.TotalMinor, k.RefundedMinor, k.AppliedID
		row.ConfirmedAt, row.ConfirmedVersion, row.ClosedAt = k.ConfirmedAt, k.ConfirmedVersion, k.ClosedAt
	}
	for _, p := range did.Payments {
		row, k := copyPayment(p), t.books[p.BookingID]
		if i := slices.IndexFunc(k.Payments, func(q *boxoffice.Payment) bool { return q.ID == p.ID }); i >= 0 {
			k.Payments[i] = row
		} else {
			k.Payments = append(k.Payments, row)
		}
		open := 0
		for _, q := range k.Payments {
			if q.Status == boxoffice.PaymentPending {
				open++
			}
		}
		if open > 1 || p.RefundedMinor < 0 || p.RefundedMinor > p.AmountMinor {
			return fmt.Errorf("booking %s has %d payments under way; %d of %d went back", name(k.ID), open, p.RefundedMinor, p.AmountMinor)
		}
		switch c := t.checks[p.ID]; {
		case p.Status != boxoffice.PaymentPending:
			delete(t.checks, p.ID)
		case c == nil:
			t.checks[p.ID] = &check{due: p.CreatedAt.Add(boxoffice.SettleAfter)}
		}
	}
	for _, id := range did.Hurried {
		if c := t.checks[id]; c != nil && did.Dirty && c.due.After(t.changed) {
			c.due = t.changed
		}
	}
	for _, f := range did.Refunds {
		row, k := copyRefund(f), t.books[f.BookingID]
		if i := slices.IndexFunc(k.Refunds, func(g *boxoffice.Refund) bool { return g.ID == f.ID }); i >= 0 {
			k.Refunds[i] = row
		} else {
			k.Refunds = append(k.Refunds, row)
		}
	}
	for _, ticket := range did.Tickets {
		row, k := copyTicket(ticket), t.books[ticket.BookingID]
		if i := slices.IndexFunc(k.Tickets, func(u *boxoffice.Ticket) bool { return u.ID == ticket.ID }); i >= 0 {
			k.Tickets[i] = row
		} else {
			k.Tickets = append(k.Tickets, row)
		}
	}
	for _, s := range did.Scans {
		t.scans[s.ID] = new(*s)
	}
	return nil
}

// payment finds a payment with its booking; nil: there is none.
func (t *tables) payment(id uuid.UUID) (*boxoffice.Booking, *boxoffice.Payment) {
	for _, k := range t.books {
		for _, p := range k.Payments {
			if p.ID == id {
				return k, p
			}
		}
	}
	return nil, nil
}

func (t *tables) refund(id uuid.UUID) (*boxoffice.Booking, *boxoffice.Refund) {
	for _, k := range t.books {
		for _, f := range k.Refunds {
			if f.ID == id {
				return k, f
			}
		}
	}
	return nil, nil
}

// The columns of rows, as the store reads and writes them.

func copyHold(r *boxoffice.Reservation) *boxoffice.Reservation {
	return &boxoffice.Reservation{
		ID: r.ID, ShowID: r.ShowID, CustomerID: r.CustomerID, Status: r.Status, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt,
		HoldSeconds: r.HoldSeconds, ClosedAt: r.ClosedAt, CloseReason: r.CloseReason, Staff: r.Staff, BlockID: r.BlockID, BookingID: r.BookingID,
		OwnEnd: r.OwnEnd, CancelledPlaces: r.CancelledPlaces, Currency: r.Currency, Seats: slices.Clone(r.Seats), Areas: slices.Clone(r.Areas), Metadata: r.Metadata, WaitlistEntryID: r.WaitlistEntryID,
	}
}

func copyBooking(k *boxoffice.Booking) *boxoffice.Booking {
	c := &boxoffice.Booking{
		ID: k.ID, Reference: k.Reference, ReservationID: k.ReservationID, CustomerID: k.CustomerID, Status: k.Status, Currency: k.Currency,
		TotalMinor: k.TotalMinor, RefundedMinor: k.RefundedMinor, AppliedID: k.AppliedID, CreatedAt: k.CreatedAt, ConfirmedAt: k.ConfirmedAt,
		ConfirmedVersion: k.ConfirmedVersion, ClosedAt: k.ClosedAt,
	}
	for _, p := range k.Payments {
		c.Payments = append(c.Payments, copyPayment(p))
	}
	for _, f := range k.Refunds {
		c.Refunds = append(c.Refunds, copyRefund(f))
	}
	for _, t := range k.Tickets {
		c.Tickets = append(c.Tickets, copyTicket(t))
	}
	return c
}

func copyPayment(p *boxoffice.Payment) *boxoffice.Payment {
	return &boxoffice.Payment{
		ID: p.ID, BookingID: p.BookingID, Gateway: p.Gateway, Method: p.Method, Status: p.Status, AmountMinor: p.AmountMinor, RefundedMinor: p.RefundedMinor,
		Currency: p.Currency, Ref: p.Ref, DeclineCode: p.DeclineCode, Next: p.Next, CreatedAt: p.CreatedAt, SettledAt: p.SettledAt,
	}
}

func copyRefund(f *boxoffice.Refund) *boxoffice.Refund {
	return &boxoffice.Refund{
		ID: f.ID, BookingID: f.BookingID, PaymentID: f.PaymentID, Cause: f.Cause, Reason: f.Reason, Status: f.Status, Attempt: f.Attempt, AmountMinor: f.AmountMinor,
		Currency: f.Currency, TicketIDs: slices.Clone(f.TicketIDs), TicketAmount: slices.Clone(f.TicketAmount), Ref: f.Ref, Failure: f.Failure, CreatedAt: f.CreatedAt, SettledAt: f.SettledAt,
	}
}

func copyTicket(t *boxoffice.Ticket) *boxoffice.Ticket {
	return &boxoffice.Ticket{
		ID: t.ID, BookingID: t.BookingID, N: t.N, SeatNo: t.SeatNo, AreaNo: t.AreaNo, TicketType: t.TicketType, PriceMinor: t.PriceMinor, RefundedMinor: t.RefundedMinor,
		Status: t.Status, IssuedAt: t.IssuedAt, UsedAt: t.UsedAt, UsedGate: t.UsedGate, UsedScan: t.UsedScan, VoidAt: t.VoidAt,
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
