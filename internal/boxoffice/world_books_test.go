package boxoffice

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
)

// once refuses rows that are not each once and sorted: one statement may not
// write a row twice.
func once[T any](d *database, what string, rows []T, id func(T) uuid.UUID) {
	d.t.Helper()
	seen := map[uuid.UUID]bool{}
	for _, row := range rows {
		if seen[id(row)] {
			d.t.Fatalf("database: %s %s is written twice", what, nameOf(id(row)))
		}
		seen[id(row)] = true
	}
}

// saveBookings writes bookings and what belongs to them in the order of the
// store, under the constraints and triggers of 016_bookings.sql.
func (d *database) saveBookings(did *Changes, fail func(string, ...any)) {
	d.t.Helper()
	once(d, "booking", did.Bookings, func(k *Booking) uuid.UUID { return k.ID })
	once(d, "payment", did.Payments, func(p *Payment) uuid.UUID { return p.ID })
	once(d, "refund", did.Refunds, func(f *Refund) uuid.UUID { return f.ID })
	once(d, "ticket", did.Tickets, func(t *Ticket) uuid.UUID { return t.ID })
	once(d, "scan", did.Scans, func(s *Scan) uuid.UUID { return s.ID })
	once(d, "buyer", did.People, func(p People) uuid.UUID { return p.BookingID })

	confirmed, expired, resent := map[uuid.UUID]bool{}, map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	for i, k := range did.Bookings {
		if i > 0 && bytes.Compare(did.Bookings[i-1].ID[:], k.ID[:]) >= 0 {
			fail("bookings are not sorted")
		}
		old, known := d.bookings[k.ID]
		if old.Status == BookingExpired && k.Status == BookingCancelled && !k.ConfirmedAt.IsZero() {
			old.Status = BookingConfirmed // in between; the store works such a batch in halves
		}
		if back := known && old.Status != BookingPending && k.Status != old.Status; back &&
			!(old.Status == BookingConfirmed && k.Status == BookingCancelled) && !(old.Status == BookingExpired && k.Status == BookingConfirmed) {
			fail("booking %s came back from %s as %s", nameOf(k.ID), old.Status, k.Status)
		}
		for other := range maps.Values(d.bookings) {
			if other.ID != k.ID && (other.Reference == k.Reference || other.ReservationID == k.ReservationID) {
				fail("bookings %s and %s have one reference or reservation", nameOf(k.ID), nameOf(other.ID))
			}
		}
		never, open, free := k.ConfirmedAt.IsZero(), k.ClosedAt.IsZero(), k.AppliedID == uuid.Nil
		if ok := map[BookingStatus]bool{
			BookingPending: never && open && free, BookingConfirmed: !never && open && (k.TotalMinor == 0 || !free),
			BookingFailed: never && !open, BookingExpired: never && !open, BookingCancelled: !open,
		}[k.Status]; !ok || k.TotalMinor < 0 || k.RefundedMinor < 0 {
			fail("booking %s is %s: %+v", nameOf(k.ID), k.Status, k)
		}
		if r, ok := d.reservations[k.ReservationID]; !ok || r.BookingID != k.ID || r.CustomerID != k.CustomerID {
			fail("booking %s is of %s, which does not know it", nameOf(k.ID), nameOf(k.ReservationID))
		}
		if known && (old.Reference != k.Reference || old.ReservationID != k.ReservationID || !old.CreatedAt.Equal(k.CreatedAt)) {
			fail("booking %s has become another", nameOf(k.ID))
		}
		confirmed[k.ID] = k.Status == BookingConfirmed && old.Status != BookingConfirmed
		expired[k.ID] = k.Status == BookingExpired && old.Status != BookingExpired
		row := *k
		row.dirty, row.Payments, row.Refunds, row.Tickets = false, nil, nil, nil
		d.bookings[k.ID] = row
	}
	for _, p := range did.Payments {
		old, known := d.payments[p.ID]
		if known && p.Status != old.Status && (old.Status == PaymentSucceeded || old.Status != PaymentPending && p.Status != PaymentSucceeded) {
			fail("payment %s came back from %s as %s", nameOf(p.ID), old.Status, p.Status)
		}
		if p.Status == PaymentPending {
			for _, other := range d.payments {
				if other.ID != p.ID && other.BookingID == p.BookingID && other.Status == PaymentPending {
					fail("payments %s and %s of %s are both open", nameOf(p.ID), nameOf(other.ID), nameOf(p.BookingID))
				}
			}
			if !known && !slices.ContainsFunc(did.Tasks, func(t Task) bool { return t.Kind == TaskSettle && t.At.After(p.CreatedAt) }) {
				fail("nothing will ask for %s", nameOf(p.ID))
			}
		}
		if p.AmountMinor <= 0 || p.RefundedMinor < 0 || p.RefundedMinor > p.AmountMinor || p.SettledAt.IsZero() != (p.Status == PaymentPending) {
			fail("payment %s: %+v", nameOf(p.ID), p)
		}
		if known && (old.AmountMinor != p.AmountMinor || old.Gateway != p.Gateway || old.Currency != p.Currency || old.Ref != "" && old.Ref != p.Ref) {
			fail("payment %s has become another", nameOf(p.ID))
		}
		row := *p
		row.dirty = false
		d.payments[p.ID] = row
	}
	for _, f := range did.Refunds {
		refundID(nameOf(f.PaymentID) + "/" + f.Cause)
		old, known := d.refunds[f.ID]
		var sum int64
		for _, part := range f.TicketAmount {
			sum += part
			if part <= 0 {
				fail("refund %s gives a ticket %d", nameOf(f.ID), part)
			}
		}
		reasons := []Reason{ReasonBuyer, ReasonStaff, ReasonShowCancelled, ReasonLatePayment, ReasonGateway}
		if f.AmountMinor <= 0 || f.Attempt < 1 || f.SettledAt.IsZero() != (f.Status == RefundPending) || f.ID != DerivedID(f.PaymentID, f.Cause) ||
			len(f.TicketIDs) != len(f.TicketAmount) || f.TicketIDs != nil && sum != f.AmountMinor || !slices.Contains(reasons, f.Reason) || len(f.Cause) > 200 {
			fail("refund %s: %+v", nameOf(f.ID), f)
		}
		if known && (old.AmountMinor != f.AmountMinor || old.Cause != f.Cause || old.PaymentID != f.PaymentID || !slices.Equal(old.TicketAmount, f.TicketAmount)) {
			fail("refund %s has become another", nameOf(f.ID))
		}
		resent[f.ID] = f.Status == RefundPending && (!known || f.Attempt > old.Attempt)
		row := *f
		row.dirty, row.TicketIDs, row.TicketAmount = false, slices.Clone(f.TicketIDs), slices.Clone(f.TicketAmount)
		d.refunds[f.ID] = row
	}
	for _, status := range []bool{true, false} { // void ones first: their places may be sold again
		for _, t := range did.Tickets {
			if (t.Status == TicketVoid) == status {
				d.saveTicket(t, fail)
			}
		}
	}
	for _, s := range did.Scans {
		if _, ok := d.tickets[s.TicketID]; !ok || !slices.Contains([]ScanResult{ScanAdmitted, ScanAlreadyUsed, ScanVoid}, s.Result) {
			fail("scan %s: %+v", nameOf(s.ID), s)
		}
		if old, known := d.scans[s.ID]; known && (old.TicketID != s.TicketID || old.Result != s.Result || old.Admitted != s.Admitted || !old.At.Equal(s.At)) {
			fail("scan %s is told in another way than before", nameOf(s.ID))
		}
		d.scans[s.ID] = *s
	}
	for _, p := range did.People {
		if _, ok := d.bookings[p.BookingID]; !ok {
			fail("people of %s, which is not there", nameOf(p.BookingID))
		}
		row := d.people[p.BookingID]
		if p.Buyer != nil {
			row.Buyer = p.Buyer
		}
		if p.Unnamed || p.Holders != nil {
			row.Holders = p.Holders
		}
		d.people[p.BookingID] = row
	}
	d.checkTasks(did, confirmed, expired, resent, fail)
}

func (d *database) saveTicket(t *Ticket, fail func(string, ...any)) {
	d.t.Helper()
	ticketID(nameOf(t.BookingID), t.N)
	old, known := d.tickets[t.ID]
	if t.N < 1 || (t.SeatNo < 0) == (t.AreaNo < 0) || t.PriceMinor < 0 || t.RefundedMinor < 0 || t.RefundedMinor > t.PriceMinor ||
		t.Status == TicketUsed && t.UsedAt.IsZero() || (t.Status == TicketVoid) != !t.VoidAt.IsZero() {
		fail("ticket %s: %+v", nameOf(t.ID), t)
	}
	if known && (old.PriceMinor != t.PriceMinor || old.SeatNo != t.SeatNo || old.N != t.N || old.Status == TicketVoid && t.Status != TicketVoid ||
		old.Status == TicketUsed && t.Status == TicketValid) {
		fail("ticket %s was %+v and is %+v", nameOf(t.ID), old, t)
	}
	for _, other := range d.tickets {
		if other.ID != t.ID && t.SeatNo >= 0 && other.SeatNo == t.SeatNo && t.Status != TicketVoid && other.Status != TicketVoid {
			fail("tickets %s and %s are both for seat %s", nameOf(t.ID), nameOf(other.ID), seatNames[t.SeatNo])
		}
	}
	row := *t
	row.dirty = false
	d.tickets[t.ID] = row
}

// checkTasks: what must follow does, and once.
func (d *database) checkTasks(did *Changes, confirmed, expired, resent map[uuid.UUID]bool, fail func(string, ...any)) {
	d.t.Helper()
	type task struct {
		kind            TaskKind
		mail            string
		booking, refund uuid.UUID
	}
	count := map[task]int{}
	for _, t := range did.Tasks {
		count[task{t.Kind, t.Mail, t.BookingID, t.RefundID}]++
	}
	for ids, mail := range map[*map[uuid.UUID]bool]string{&confirmed: MailConfirmation, &expired: MailExpiry} {
		for id, now := range *ids {
			if n := count[task{TaskMail, mail, id, uuid.Nil}]; now && n != 1 {
				fail("%d mails of %s about %s", n, mail, nameOf(id))
			}
		}
	}
	for id, now := range resent {
		if now && count[task{TaskRefund, "", d.refunds[id].BookingID, id}] < 1 {
			fail("nothing will send %s", nameOf(id))
		}
	}
}

// hear follows the statuses that the log tells: each transition in one row.
func (d *database) hear(c Change) {
	d.t.Helper()
	tell := func(id uuid.UUID) {
		if was := d.told[id]; was != c.Before && (c.Type != TicketVoidChange || was == string(TicketVoid)) {
			d.t.Fatalf("log row %d.%d: %s of %s was %s, not %q", c.Version, c.N, c.Type, nameOf(id), was, c.Before)
		}
		d.told[id] = c.After
	}
	switch kind, _ := split(string(c.Type), "."); kind {
	case "reservation":
		tell(c.ReservationID)
	case "booking":
		tell(c.BookingID)
	case "payment":
		tell(c.PaymentID)
		if p := d.payments[c.PaymentID]; c.AmountMinor != p.AmountMinor {
			d.t.Fatalf("log row %d.%d: %d of %d", c.Version, c.N, c.AmountMinor, p.AmountMinor)
		}
	case "refund":
		tell(c.RefundID)
		if f := d.refunds[c.RefundID]; c.AmountMinor != f.AmountMinor || c.PaymentID != f.PaymentID {
			d.t.Fatalf("log row %d.%d: %d of %d", c.Version, c.N, c.AmountMinor, f.AmountMinor)
		}
	case "ticket":
		for _, id := range c.TicketIDs {
			tell(id)
		}
	}
}

// checkMoney: what came in is what tickets are worth, what was kept and what
// goes back; of each booking, and on every way that it is written down.
func (d *database) checkMoney() {
	d.t.Helper()
	for id := range d.bookings {
		k := d.booking(id)
		bad := func(format string, args ...any) {
			d.t.Helper()
			d.t.Fatalf("%s: "+format, append([]any{bookingText(k)}, args...)...)
		}
		r := d.reservations[k.ReservationID]
		var in, back, worth, given int64
		backOf, ticketBack := map[uuid.UUID]int64{}, map[uuid.UUID]int64{}
		for _, f := range k.Refunds {
			if f.Status == RefundFailed {
				continue
			}
			backOf[f.PaymentID] += f.AmountMinor
			for i, t := range f.TicketIDs {
				ticketBack[t] += f.TicketAmount[i]
			}
		}
		for _, p := range k.Payments {
			back += p.RefundedMinor
			switch {
			case p.RefundedMinor != backOf[p.ID]:
				bad("%s has %d refunded, its refunds are %d", nameOf(p.ID), p.RefundedMinor, backOf[p.ID])
			case p.Status != PaymentSucceeded && (p.RefundedMinor > 0 || p.ID == k.AppliedID):
				bad("%s was not paid", nameOf(p.ID))
			case p.Status != PaymentSucceeded:
				continue
			case p.ID != k.AppliedID && !slices.ContainsFunc(k.Refunds, func(f *Refund) bool { // that there was, whatever became of it
				return f.PaymentID == p.ID && f.AmountMinor == p.AmountMinor
			}):
				bad("%s bought nothing, and does not go back", nameOf(p.ID))
			}
			in += p.AmountMinor
		}
		voided := 0
		for _, t := range k.Tickets {
			worth += t.PriceMinor
			given += t.RefundedMinor
			if t.RefundedMinor != ticketBack[t.ID] {
				bad("%s has %d refunded, its refunds are %d", nameOf(t.ID), t.RefundedMinor, ticketBack[t.ID])
			}
			if t.Status == TicketVoid {
				voided++
			}
		}
		if k.RefundedMinor != back {
			bad("refunded %d", back)
		}
		applied := k.payment(k.AppliedID)
		if applied != nil && (worth != applied.AmountMinor || given != applied.RefundedMinor) {
			bad("paid %d of which %d went back; tickets are %d, %d", applied.AmountMinor, applied.RefundedMinor, worth, given)
		}
		if bought := k.ConfirmedAt != (time.Time{}); bought {
			if len(k.Tickets) != r.Places() || r.Status != ReservationConsumed || worth != k.TotalMinor || (worth > 0) != (applied != nil) {
				bad("hold %s has %d places and is %s; tickets are worth %d", nameOf(r.ID), r.Places(), r.Status, worth)
			}
			if voided != r.CancelledPlaces || (voided == len(k.Tickets)) != (k.Status == BookingCancelled) {
				bad("%d tickets are void, %d places of the hold cancelled", voided, r.CancelledPlaces)
			}
			for _, t := range k.Tickets {
				if row := d.seats[t.SeatNo]; t.SeatNo >= 0 && t.Status != TicketVoid && (row.State != 'b' || row.ReservationID != r.ID) {
					bad("seat %s is %c of %s", seatNames[t.SeatNo], row.State, nameOf(row.ReservationID))
				}
			}
		} else if len(k.Tickets) > 0 || k.AppliedID != uuid.Nil || r.Status == ReservationConsumed {
			bad("has tickets, or places, of hold %s, %s", nameOf(r.ID), r.Status)
		}
		if k.Status == BookingPending && r.Status != ReservationActive && k.open() == nil {
			bad("waits for nothing: the hold is %s", r.Status)
		}
		if k.Status == BookingPending && k.TotalMinor != r.TotalMinor() {
			bad("the hold costs %d", r.TotalMinor())
		}
		if !r.OwnEnd.IsZero() && r.Status == ReservationActive && k.Status == BookingPending && k.open() == nil && !r.ExpiresAt.Equal(r.OwnEnd) {
			bad("nothing is being paid, and %s lasts until %s, not %s", nameOf(r.ID), since(r.ExpiresAt), since(r.OwnEnd))
		}
	}
	for id, r := range d.reservations {
		if r.Status == ReservationConsumed && d.bookings[r.BookingID].ConfirmedAt.IsZero() {
			d.t.Fatalf("%s was bought by nobody", nameOf(id))
		}
	}
	for name, statuses := range map[string]map[uuid.UUID]string{
		"reservation": statusesOf(d.reservations, func(r Reservation) string { return string(r.Status) }),
		"booking":     statusesOf(d.bookings, func(k Booking) string { return string(k.Status) }),
		"payment":     statusesOf(d.payments, func(p Payment) string { return string(p.Status) }),
		"refund":      statusesOf(d.refunds, func(f Refund) string { return string(f.Status) }),
		"ticket":      statusesOf(d.tickets, func(t Ticket) string { return string(t.Status) }),
	} {
		for id, status := range statuses {
			if d.told[id] != status {
				d.t.Fatalf("%s %s is %s, the log says %s", name, nameOf(id), status, d.told[id])
			}
		}
	}
}

func statusesOf[T any](rows map[uuid.UUID]T, status func(T) string) map[uuid.UUID]string {
	all := map[uuid.UUID]string{}
	for id, row := range rows {
		all[id] = status(row)
	}
	return all
}
