package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/payment"
)

// auditor knows whose each place is, from the log alone, and what people were
// told. It keeps the highest time that the database's clock has shown: nothing
// may have ended by another.
type auditor struct {
	w       *world
	version int64
	n       int
	at      time.Time // of the last entry
	high    time.Time
	seats   map[int32]*seatModel
	holds   map[uuid.UUID]*holdModel
	order   []uuid.UUID
	scans   map[uuid.UUID][]uuid.UUID // that were told, by ticket
	results map[uuid.UUID]boxoffice.ScanResult

	capacity, held, booked int // of the area

	parties []*waitModel // who joined the waitlist, the earliest first
	turns   map[int64]*turnModel
	calls   int  // turns of the waiting room
	freed   int  // turns that were given back
	open    bool // the waiting room
}

type seatModel struct {
	letter byte
	owner  uuid.UUID
	until  time.Time
	block  uuid.UUID
}

// holdModel is what the log tells of a reservation.
type holdModel struct {
	status string
	until  time.Time
	units  int // of the area, while it is active
}

func newAuditor(w *world) *auditor {
	a := &auditor{w: w, seats: map[int32]*seatModel{}, holds: map[uuid.UUID]*holdModel{}, scans: map[uuid.UUID][]uuid.UUID{}, results: map[uuid.UUID]boxoffice.ScanResult{}, turns: map[int64]*turnModel{}, open: w.tables.terms.QueueOpen, at: w.tables.changed, high: w.clock(), capacity: w.tables.areas[floor].Capacity}
	for no := range w.tables.seats {
		a.seats[no] = &seatModel{letter: 'a'}
	}
	return a
}

// now is the show's time, as the auditor knows it.
func (a *auditor) now() time.Time {
	if c := a.w.clock(); c.After(a.at) {
		return c
	}
	return a.at
}

// free says whether a seat can be had at now.
func (s *seatModel) free(now time.Time) bool {
	return s.letter == 'a' || s.letter == 'h' && !now.Before(s.until) && s.block == uuid.Nil
}

// batch goes along a batch that was committed: each command by what those
// before it left.
func (a *auditor) batch(batch []*call, cmds []boxoffice.Command, outcomes []boxoffice.Outcome, log []boxoffice.Change) {
	if c := a.w.clock(); c.After(a.high) {
		a.high = c
	}
	now, all := a.now(), log
	if len(batch) > 1 {
		a.w.seen.things["commands of several in one batch"]++
	}
	serve := func() {
		if !isOffers(log) {
			return
		}
		for version := log[0].Version; len(log) > 0 && log[0].Version == version; log = log[1:] {
			if log[0].Reason == boxoffice.ReasonWaitlist {
				a.offered(&log[0])
			}
			a.apply(&log[0], all, now)
		}
	}
	for i, o := range outcomes {
		do := cmds[i].Do
		join, joins := do.(*boxoffice.JoinWaitlist)
		_, offers := do.(*boxoffice.OfferWaitlist)
		_, changes := do.(*boxoffice.ChangeReservation)
		place, places := do.(*boxoffice.PlaceReservation)
		if joins || offers || changes || places {
			serve() // those who wait come first
		}
		switch {
		case o.Err != nil:
			a.refused(cmds[i].Do, o.Err, now)
		case o.Replayed:
			a.w.seen.things["a request is answered again"]++
		default:
			if takes(do) {
				a.nobodyWaits(a.parties, true, cmds[i].Actor.Name+" got between")
			}
			if places && a.open && !cmds[i].Actor.Staff {
				a.turn(place, o.Receipt.ReservationID, now)
			}
			for len(log) > 0 && log[0].Version <= o.Receipt.Version && !isOffers(log) {
				if !asked(cmds[i].Do, log[0].Type) {
					a.w.fail("log entry %d.%d, %s, was asked for by nobody: %T", log[0].Version, log[0].N, log[0].Type, cmds[i].Do)
				}
				a.apply(&log[0], all, now)
				log = log[1:]
			}
			if joins {
				a.joined(join)
			}
			switch do := do.(type) {
			case *boxoffice.LeaveWaitlist:
				a.gone(do.ID)
			case *boxoffice.SetQueue:
				a.open = do.Open
			case *boxoffice.SetAreaCapacity:
				a.capacity = do.Capacity
			case *boxoffice.ExpireReservations:
				for _, id := range a.order {
					if h := a.holds[id]; len(batch) == 1 && o.Receipt.Count < do.Limit && h.status == string(boxoffice.ReservationActive) && !now.Before(h.until) {
						a.w.fail("%s ended at %s, and was not closed at %s", name(id), h.until.Sub(start), now.Sub(start))
					}
				}
			}
		}
	}
	serve()
	if len(log) > 0 {
		a.w.fail("log entry %d.%d is nobody's", log[0].Version, log[0].N)
	}
	a.tables()
}

// asked says whether a command may bring about what takes something away from
// somebody who was told of it.
func asked(do boxoffice.Doer, t boxoffice.ChangeType) bool {
	switch do.(type) {
	case *boxoffice.CancelBooking, *boxoffice.RecordRefund:
		return true
	case *boxoffice.ReleaseReservation, *boxoffice.LeaveWaitlist:
		return t != boxoffice.TicketVoidChange
	case *boxoffice.SettlePayment: // of money that came too late
		return t != boxoffice.TicketVoidChange && t != boxoffice.BookingCancelledChange
	}
	return t != boxoffice.ReservationCancelled && t != boxoffice.BookingCancelledChange && t != boxoffice.TicketVoidChange
}

// refused checks that what was said to stand in the way did.
func (a *auditor) refused(do boxoffice.Doer, err *boxoffice.Error, now time.Time) {
	place, ok := do.(*boxoffice.PlaceReservation)
	if !ok {
		return
	}
	for _, no := range err.SeatNos {
		if s := a.seats[no]; s.free(now) {
			a.w.fail("seat %s was refused though it is free at %s: %c of %s until %s", seatNames[no], now.Sub(start), s.letter, name(s.owner), s.until.Sub(start))
		}
	}
	left := a.left(now)
	for _, short := range err.AreaNos {
		if short.Available < left && len(place.Seats) == 0 {
			a.w.fail("the area was refused with %d left, though %d are free at %s", short.Available, left, now.Sub(start))
		}
	}
}

// apply follows the log by one entry of all that a batch made, and refuses what
// cannot follow.
func (a *auditor) apply(c *boxoffice.Change, all []boxoffice.Change, now time.Time) {
	fail := func(format string, args ...any) {
		a.w.fail("log entry %d.%d, %s of %s: %s", c.Version, c.N, c.Type, name(c.ReservationID), fmt.Sprintf(format, args...))
	}
	if next := c.Version == a.version+1 && c.N == 0; !next && (c.Version != a.version || c.N != a.n+1) {
		fail("follows %d.%d", a.version, a.n)
	}
	if c.At.Before(a.at) || c.At.After(now) {
		fail("is of %s, between %s and %s", c.At.Sub(start), a.at.Sub(start), now.Sub(start))
	}
	a.version, a.n, a.at = c.Version, c.N, c.At
	h := a.holds[c.ReservationID]
	switch c.Type {
	case boxoffice.ReservationCreated:
		if h != nil {
			fail("there is one already")
		}
		h = &holdModel{}
		a.holds[c.ReservationID], a.order = h, append(a.order, c.ReservationID)
	case boxoffice.ReservationExtended, boxoffice.ReservationChanged:
		if !now.Before(h.until) {
			fail("it ended at %s", h.until.Sub(start))
		}
	case boxoffice.ReservationExpire:
		// An attempt that failed takes the time back that it gave.
		failed := slices.ContainsFunc(all, func(o boxoffice.Change) bool {
			return o.Version == c.Version && o.ReservationID == c.ReservationID && (o.Type == boxoffice.PaymentFailedChange || o.Type == boxoffice.PaymentSucceededChange)
		})
		if a.high.Before(c.ExpiresAt) && a.at.Before(c.ExpiresAt) || a.high.Before(h.until) && !failed {
			fail("it lasts until %s, and it was never later than %s", h.until.Sub(start), a.high.Sub(start))
		}
	}
	if h == nil && c.ReservationID != uuid.Nil {
		fail("there is no such reservation")
		return
	}
	if c.ReservationID != uuid.Nil && reservationEntry(c.Type) {
		if h.status != c.Before {
			fail("it was %s, not %s", h.status, c.Before)
		}
		h.status = c.After
		if !c.ExpiresAt.IsZero() {
			h.until = c.ExpiresAt
		}
	}
	for i, no := range c.SeatNos {
		a.seat(c, a.seats[no], no, c.SeatStates[i], now, fail)
	}
	for i := range c.AreaNos {
		a.held += int(c.AreaUnits[i])
		if c.AreaBooked != nil {
			a.booked += int(c.AreaBooked[i])
		}
		if h != nil {
			h.units += int(c.AreaUnits[i])
		}
	}
}

func reservationEntry(t boxoffice.ChangeType) bool {
	switch t {
	case boxoffice.ReservationCreated, boxoffice.ReservationChanged, boxoffice.ReservationExtended, boxoffice.ReservationExpire,
		boxoffice.ReservationCancelled, boxoffice.ReservationConsume:
		return true
	}
	return false
}

// seat follows what an entry says of a seat: who has it gives it, and nobody
// takes it from somebody.
func (a *auditor) seat(c *boxoffice.Change, s *seatModel, no int32, to byte, now time.Time, fail func(string, ...any)) {
	own := s.owner == c.ReservationID && c.ReservationID != uuid.Nil
	switch to {
	case 'h', 'b':
		fromBlock := s.letter == 'x' && c.BlockID != uuid.Nil && s.block == c.BlockID
		if !own && s.letter != 'a' && !fromBlock {
			fail("takes seat %s from %s, %c until %s", seatNames[no], name(s.owner), s.letter, s.until.Sub(start))
		}
		s.owner, s.until = c.ReservationID, c.ExpiresAt
	default:
		switch {
		case c.Type == boxoffice.PlaceBlocked && !s.free(now), c.Type == boxoffice.PlaceUnblocked && s.letter != 'x':
			fail("seat %s is %c of %s", seatNames[no], s.letter, name(s.owner))
		case c.ReservationID != uuid.Nil && !own:
			fail("frees seat %s, which is %c of %s", seatNames[no], s.letter, name(s.owner))
		}
		s.owner, s.until = uuid.Nil, time.Time{}
		if c.Type == boxoffice.PlaceBlocked {
			s.block = c.BlockID
		} else if to == 'a' {
			s.block = uuid.Nil
		}
	}
	s.letter = to
}

// tables compares what is written down twice.
func (a *auditor) tables() {
	w, t := a.w, a.w.tables
	if t.version != a.version {
		w.fail("the show is at version %d, its log at %d", t.version, a.version)
	}
	owners, has := map[int32]uuid.UUID{}, map[string]int{}
	held, booked := 0, 0
	for _, id := range t.held {
		r := t.holds[id]
		if h := a.holds[id]; h == nil || h.status != string(r.Status) {
			w.fail("reservation %s is %s, the log says otherwise", name(id), r.Status)
			return
		}
		k := t.books[r.BookingID]
		void := func(is func(*boxoffice.Ticket) bool) (n int) {
			if k != nil {
				for _, ticket := range k.Tickets {
					if ticket.Status == boxoffice.TicketVoid && is(ticket) {
						n++
					}
				}
			}
			return n
		}
		if r.Status != boxoffice.ReservationActive && r.Status != boxoffice.ReservationConsumed {
			continue
		}
		if !r.Staff && !r.Overdue(a.now()) {
			if has[r.CustomerID] += r.Places() - r.CancelledPlaces; t.terms.MaxPlacesPerCustomer > 0 && has[r.CustomerID] > t.terms.MaxPlacesPerCustomer {
				w.fail("%s has %d places of at most %d", r.CustomerID, has[r.CustomerID], t.terms.MaxPlacesPerCustomer)
			}
		}
		for _, s := range r.Seats {
			if void(func(ticket *boxoffice.Ticket) bool { return ticket.SeatNo == s.No }) > 0 {
				continue
			}
			if o, taken := owners[s.No]; taken {
				w.fail("seat %s has two owners, %s and %s", seatNames[s.No], name(o), name(id))
			}
			owners[s.No] = id
		}
		for _, l := range r.Areas {
			if r.Status == boxoffice.ReservationActive {
				held += l.Quantity
			} else {
				booked += l.Quantity
			}
		}
		if r.Status == boxoffice.ReservationConsumed {
			booked -= void(func(ticket *boxoffice.Ticket) bool { return ticket.AreaNo >= 0 })
		}
	}
	for no := range int32(len(seatNames)) {
		row, s := t.seats[no], a.seats[no]
		if row.State != s.letter || row.ReservationID != owners[no] || row.ReservationID != s.owner || row.State == 'h' && !row.HeldUntil.Equal(t.holds[row.ReservationID].ExpiresAt) {
			w.fail("seat %s is %c of %s; the log says %c of %s, the reservations say %s", seatNames[no], row.State, name(row.ReservationID), s.letter, name(s.owner), name(owners[no]))
		}
	}
	if area := t.areas[floor]; area.Held != held || area.Booked != booked || area.Capacity != a.capacity || held != a.held || booked != a.booked || held+booked > area.Capacity {
		w.fail("the area has %d held and %d booked of %d; the reservations say %d and %d, the log says %d and %d",
			area.Held, area.Booked, area.Capacity, held, booked, a.held, a.booked)
	}
	for _, id := range t.booked {
		a.booking(t.books[id])
	}
	a.waitlist()
	a.room()
}

// booking checks that the money of a booking adds up.
func (a *auditor) booking(k *boxoffice.Booking) {
	r := a.w.tables.holds[k.ReservationID]
	fail := func(format string, args ...any) {
		a.w.fail("booking %s, %s, of %s: %s", name(k.ID), k.Status, name(r.ID), fmt.Sprintf(format, args...))
	}
	var refunded, applied int64
	for _, p := range k.Payments {
		var back int64
		whole := false
		for _, f := range k.Refunds {
			if f.PaymentID == p.ID && f.Status != boxoffice.RefundFailed {
				back += f.AmountMinor
			}
			whole = whole || f.PaymentID == p.ID && f.AmountMinor == p.AmountMinor
		}
		refunded += back
		switch {
		case back != p.RefundedMinor:
			fail("%d of %s went back, its refunds are %d", p.RefundedMinor, name(p.ID), back)
		case p.ID == k.AppliedID:
			applied = p.AmountMinor
			if p.Status != boxoffice.PaymentSucceeded {
				fail("the payment that bought it is %s", p.Status)
			}
		case p.Status == boxoffice.PaymentSucceeded && !whole:
			fail("%s bought nothing and does not go back", name(p.ID))
		}
	}
	if refunded != k.RefundedMinor {
		fail("%d went back, its payments say %d", k.RefundedMinor, refunded)
	}
	live := 0
	var worth int64
	for _, t := range k.Tickets {
		worth += t.PriceMinor
		var back int64
		for _, f := range k.Refunds {
			if i := slices.Index(f.TicketIDs, t.ID); i >= 0 && f.Status != boxoffice.RefundFailed {
				back += f.TicketAmount[i]
			}
		}
		if back != t.RefundedMinor || back > t.PriceMinor {
			fail("%d went back of ticket %d for %d, its refunds are %d", t.RefundedMinor, t.N, t.PriceMinor, back)
		}
		if t.Status != boxoffice.TicketVoid {
			live++
		}
	}
	switch bought := !k.ConfirmedAt.IsZero(); {
	case bought != (len(k.Tickets) > 0) || bought && len(k.Tickets) != r.Places():
		fail("%d tickets for %d places", len(k.Tickets), r.Places())
	case bought && (worth != applied || worth != k.TotalMinor):
		fail("tickets of %d for %d, paid with %d", worth, k.TotalMinor, applied)
	case (k.Status == boxoffice.BookingConfirmed) != (live > 0):
		fail("%d live tickets", live)
	case k.Status == boxoffice.BookingPending && r.Status != boxoffice.ReservationActive && !slices.ContainsFunc(k.Payments, func(p *boxoffice.Payment) bool { return p.Status == boxoffice.PaymentPending }):
		fail("waits for nothing")
	}
}

// told notes what somebody was told: it must be so, and as it was told before.
func (a *auditor) told(in *intent, t told) {
	if was := in.told; was != nil {
		if was.hold != t.hold || was.booking != t.booking || was.id != t.id || was.number != t.number || (was.scan != nil) != (t.scan != nil) || was.scan != nil && was.scan.Result != t.scan.Result {
			a.w.fail("#%d was told %s, and now %s", in.n, was, t)
		}
	} else {
		in.told = &t
	}
	if s := t.scan; s != nil {
		if was, told := a.results[s.ID]; told && was != s.Result {
			a.w.fail("#%d: the gate was told %s of scan %s, and now %s", in.n, was, name(s.ID), s.Result)
		}
		a.results[s.ID] = s.Result
		a.scans[s.TicketID] = append(a.scans[s.TicketID], s.ID)
	}
	a.kept(in, &t)
}

// kept checks that what was told is there.
func (a *auditor) kept(in *intent, t *told) {
	b := a.w.tables
	if t.hold != uuid.Nil && b.holds[t.hold] == nil {
		a.w.fail("#%d was told of %s, which is not there", in.n, name(t.hold))
	}
	if k := b.books[t.booking]; t.booking != uuid.Nil && (k == nil || t.status == boxoffice.BookingConfirmed && k.ConfirmedAt.IsZero() || t.status == boxoffice.BookingCancelled && k.Status != boxoffice.BookingCancelled) {
		a.w.fail("#%d was told that %s is %s, which it is not", in.n, name(t.booking), t.status)
	}
	for _, id := range t.refunds {
		if _, f := b.refund(id); f == nil {
			a.w.fail("#%d was told of refund %s, which is not there", in.n, name(id))
		}
	}
	if strings.HasPrefix(in.what, "wait for") && b.entries[t.id] == nil {
		a.w.fail("#%d was told that %s waits, which does not", in.n, name(t.id))
	}
	if e := b.entries[t.id]; t.left && (e == nil || e.StatusAt(a.now(), b.ends(e), b.terms) == boxoffice.WaitlistWaiting || e.StatusAt(a.now(), b.ends(e), b.terms) == boxoffice.WaitlistOffered) {
		a.w.fail("#%d left the waitlist with %s, which is still on it", in.n, name(t.id))
	}
	if t.scan != nil {
		if s := b.scans[t.scan.ID]; s == nil || s.Result != t.scan.Result {
			a.w.fail("#%d was told %s, which is not there", in.n, t.scan.Result)
		}
	}
}

// see counts what the run came past.
func (a *auditor) see() {
	things := a.w.seen.things
	for _, c := range a.w.tables.log {
		things[string(c.Type)+", "+string(c.Reason)]++
	}
	for _, e := range a.w.tables.entries {
		switch e.Status {
		case boxoffice.WaitlistAccepted:
			things["an offer was accepted"]++
		case boxoffice.WaitlistDeclined:
			things["an offer was declined"]++
		case boxoffice.WaitlistLapsed:
			things["an offer lapsed"]++
		case boxoffice.WaitlistLeft:
			things["somebody left the waitlist"]++
		}
	}
	for _, t := range a.turns {
		if t.turn == 2 {
			things["a second turn"]++
		}
	}
	for _, in := range a.w.intents {
		if in.over != nil {
			things[string(boxoffice.CodeOf(in.over))]++
		}
		if in.told != nil && in.told.scan != nil {
			things["scan "+string(in.told.scan.Result)]++
		}
	}
}

// end checks what must be so when nothing is left to do.
func (a *auditor) end() {
	w, t := a.w, a.w.tables
	a.tables()
	a.mailed()
	for _, in := range w.intents {
		if in.told != nil {
			a.kept(in, in.told)
		}
		n := 0
		for _, id := range in.made {
			if t.holds[id] != nil || t.blocks[id] != nil || t.entries[id] != nil {
				n++
			}
			if _, p := t.payment(id); p != nil {
				n++
			}
		}
		if n > 1 {
			w.fail("#%d, %s, was done %d times", in.n, in.what, n)
		}
		if in.open {
			w.fail("#%d, %s, has no end", in.n, in.what)
		}
	}
	for _, id := range t.held {
		if r := t.holds[id]; r.Status == boxoffice.ReservationActive {
			w.fail("%s is over and never closed", name(id))
		}
	}
	var in, kept, back int64
	for _, id := range t.booked {
		k := t.books[id]
		if k.Status == boxoffice.BookingPending {
			w.fail("%s is pending for ever", name(id))
		}
		for _, p := range k.Payments {
			if p.Status == boxoffice.PaymentPending {
				w.fail("%s is pending for ever", name(p.ID))
			}
			if ch := w.gate.charges[p.ID]; p.Gateway == gatewayName && (p.Status == boxoffice.PaymentSucceeded) != (ch != nil && ch.state == payment.Succeeded) {
				w.fail("%s is %s, the gateway says otherwise", name(p.ID), p.Status)
			}
		}
		for _, f := range k.Refunds {
			if f.Status == boxoffice.RefundPending {
				w.fail("refund %s is pending for ever", name(f.ID))
			}
		}
	}
	for _, ch := range w.gate.order {
		if ch.state != payment.Succeeded {
			continue
		}
		in += ch.amount
		k, p := t.payment(ch.payment)
		if p == nil || p.AmountMinor != ch.amount {
			w.fail("the gateway took %d for %s, which the books do not know", ch.amount, name(ch.payment))
			continue
		}
		var gave, refunded, worth int64
		for _, m := range w.gate.back {
			if m.charge == ch && m.state == payment.Succeeded {
				gave += m.amount
			}
		}
		for _, f := range k.Refunds {
			if f.PaymentID == p.ID && f.Status == boxoffice.RefundSucceeded {
				refunded += f.AmountMinor
			}
		}
		if p.ID == k.AppliedID {
			for _, ticket := range k.Tickets {
				worth += ticket.PriceMinor - ticket.RefundedMinor
			}
		}
		if gave != refunded {
			w.fail("the gateway gave %d of %s back, the books say %d", gave, name(p.ID), refunded)
		}
		if ch.amount != gave+worth {
			w.fail("the gateway took %d for %s and gave %d back; tickets are worth %d", ch.amount, name(p.ID), gave, worth)
		}
		kept, back = kept+worth, back+gave
	}
	if in != kept+back {
		w.fail("%d came in, %d was kept, %d went back", in, kept, back)
	}
}
