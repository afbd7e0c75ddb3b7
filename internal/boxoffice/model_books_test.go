package boxoffice

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// modelBooking is a purchase of the model: it knows what was said and what was
// had, and no money but the price of an attempt.
type modelBooking struct {
	id       uuid.UUID
	status   BookingStatus // pending also when the hold has ended unpaid: see [model.stands]
	attempts []*modelAttempt
	tickets  []*modelTicket // nil: never bought
}

type modelAttempt struct {
	id     uuid.UUID
	status PaymentStatus
	amount int64
}

type modelTicket struct {
	id         uuid.UUID
	seat, area int32 // -1: none
	status     TicketStatus
}

func (k *modelBooking) open() *modelAttempt {
	if k == nil {
		return nil
	}
	for _, p := range k.attempts {
		if p.status == PaymentPending {
			return p
		}
	}
	return nil
}

func (k *modelBooking) live(of func(*modelTicket) bool) (n int) {
	for _, t := range k.tickets {
		if t.status != TicketVoid && of(t) {
			n++
		}
	}
	return n
}

// stands is the booking's status at now: without an attempt under way it
// expires with its hold.
func (h *modelHold) stands(now time.Time) BookingStatus {
	if h.book.status == BookingPending && !h.has(now) && h.book.open() == nil {
		return BookingExpired
	}
	return h.book.status
}

func (h *modelHold) total() (sum int64) {
	price := prices()
	for no, kind := range h.seats {
		category := "stalls"
		if seatNames[no][0] == 'B' {
			category = "box"
		}
		sum += price[PriceKey{category, kind}]
	}
	for u, n := range h.units {
		sum += int64(n) * price[PriceKey{"floor", u.kind}]
	}
	return sum
}

// buy gives the places of a hold to its booking.
func (h *modelHold) buy() {
	k := h.book
	k.status = BookingConfirmed
	ticket := func(seat, area int32) {
		k.tickets = append(k.tickets, &modelTicket{ticketID(nameOf(k.id), len(k.tickets)+1), seat, area, TicketValid})
	}
	for _, no := range slices.Sorted(maps.Keys(h.seats)) {
		ticket(no, -1)
	}
	for _, u := range slices.SortedFunc(maps.Keys(h.units), func(x, y modelUnit) int {
		return cmp.Or(cmp.Compare(x.area, y.area), cmp.Compare(x.kind, y.kind))
	}) {
		for range h.units[u] {
			ticket(-1, u.area)
		}
	}
}

// end releases a hold, and takes back what is being bought of it.
func (h *modelHold) end() {
	h.ended = true
	if h.book != nil {
		h.book.status = BookingCancelled
	}
}

func (m *model) bookingOf(id uuid.UUID) *modelHold {
	for _, h := range m.holds {
		if h.book != nil && h.book.id == id {
			return h
		}
	}
	return nil
}

// buy carries out what is done to purchases.
func (m *model) buy(cmd Command, now time.Time) Code {
	staff, actor := cmd.Actor.Staff, cmd.Actor.CustomerID
	payable := func(h *modelHold) Code {
		switch {
		case m.terms.Status == ShowCancelled:
			return CodeShowNotOnSale
		case h.booked() || h.ended:
			return CodeReservationNotActive
		case !h.has(now):
			return CodeReservationExpired
		case h.book.open() != nil:
			return CodePaymentInProgress
		}
		return ""
	}
	switch do := cmd.Do.(type) {
	case *BeginPayment:
		h := m.holds[do.ReservationID]
		if h == nil || !staff && h.customer != actor {
			return CodeNotFound
		}
		if code := payable(h); code != "" {
			return code
		}
		if h.book == nil {
			h.book = &modelBooking{id: do.BookingID, status: BookingPending}
		}
		h.book.attempts = append(h.book.attempts, &modelAttempt{do.PaymentID, PaymentPending, h.total()})
		if until := now.Add(PaymentExtension); h.own.IsZero() && until.After(h.until) {
			h.own, h.until = h.until, until
		}
	case *ConfirmReservation:
		h := m.holds[do.ReservationID]
		if h == nil {
			return CodeNotFound
		}
		if code := payable(h); code != "" {
			return code
		}
		if h.book == nil {
			h.book = &modelBooking{id: do.BookingID}
		}
		if do.Method != MethodComp {
			h.book.attempts = append(h.book.attempts, &modelAttempt{do.PaymentID, PaymentSucceeded, h.total()})
		}
		h.buy()
	case *SettlePayment:
		h := m.bookingOf(do.BookingID)
		if h == nil {
			return CodeNotFound
		}
		i := slices.IndexFunc(h.book.attempts, func(p *modelAttempt) bool { return p.id == do.PaymentID })
		if i < 0 {
			return CodeNotFound
		}
		p := h.book.attempts[i]
		switch {
		case do.Status == PaymentSucceeded && do.AmountMinor != 0 && do.AmountMinor != p.amount:
			return CodeInternal
		case do.Status == PaymentSucceeded && p.status != PaymentSucceeded:
			m.paid(h, p, now)
		case p.status == PaymentPending && do.Status != PaymentPending:
			p.status = do.Status
			if h.book.status == BookingPending && h.has(now) && !h.own.IsZero() && h.until.After(h.own) {
				h.until = h.own
			}
		}
	case *CancelBooking:
		return m.cancel(do, actor, now)
	case *CheckIn:
		h := m.bookingOf(do.BookingID)
		if h == nil {
			return CodeNotFound
		}
		i := slices.IndexFunc(h.book.tickets, func(t *modelTicket) bool { return t.id == do.TicketID })
		if i < 0 {
			return CodeNotFound
		}
		t := h.book.tickets[i]
		if other, told := m.scans[do.ScanID]; told && other != t.id {
			return CodeValidation
		} else if !told && t.status == TicketValid {
			t.status = TicketUsed
		}
		m.scans[do.ScanID] = t.id
	}
	return ""
}

// paid is what comes of money: what it was paid for, if that can be had.
func (m *model) paid(h *modelHold, p *modelAttempt, now time.Time) {
	k, stands := h.book, h.stands(now)
	p.status = PaymentSucceeded
	over := m.terms.Status == ShowCancelled
	switch {
	case stands != BookingPending && stands != BookingExpired:
		return
	case over:
	case h.has(now):
		if p.amount == h.total() {
			h.buy()
		}
		return
	case p.amount == h.total() && m.free(h, now):
		h.buy()
		return
	}
	if stands == BookingPending && k.open() == nil {
		if h.has(now) {
			h.ended = true
		}
		k.status = BookingFailed
	}
}

// free says whether all places of a hold that is over can be had.
func (m *model) free(h *modelHold, now time.Time) bool {
	for no := range h.seats {
		if m.plan.Seat(no) == nil {
			return false
		}
		switch m.seat(no, now) {
		case SeatAvailable:
		case SeatBlocked:
			if h.block == uuid.Nil || m.blockOf[no] != h.block {
				return false
			}
		default:
			return false
		}
	}
	wanted := map[int32]int{}
	for u, n := range h.units {
		wanted[u.area] += n
	}
	for area, n := range wanted {
		if capacity, ok := m.capacity[area]; n > 0 && (!ok || capacity-m.used(area, now) < n) {
			return false
		}
	}
	limit := m.terms.MaxPlacesPerCustomer
	return limit == 0 || h.staff || m.has(h.customer, now)+h.count() <= limit
}

func (m *model) cancel(do *CancelBooking, actor string, now time.Time) Code {
	h := m.bookingOf(do.BookingID)
	if h == nil || !do.Override && h.customer != actor {
		return CodeNotFound
	}
	k := h.book
	var chosen []*modelTicket
	code := func() Code {
		for i, id := range do.TicketIDs {
			j := slices.IndexFunc(k.tickets, func(t *modelTicket) bool { return t.id == id })
			if j < 0 || slices.Index(do.TicketIDs, id) < i {
				return CodeValidation
			}
			chosen = append(chosen, k.tickets[j])
		}
		if do.TicketIDs == nil {
			chosen = k.tickets
		}
		return ""
	}()
	switch h.stands(now) {
	case BookingPending:
		switch {
		case do.TicketIDs != nil:
			return CodeValidation
		case h.has(now):
			h.end()
		}
		k.status = BookingCancelled
	case BookingConfirmed:
		if code != "" {
			return code
		}
		chosen = slices.DeleteFunc(slices.Clone(chosen), func(t *modelTicket) bool { return t.status == TicketVoid })
		used := slices.ContainsFunc(chosen, func(t *modelTicket) bool { return t.status == TicketUsed })
		if len(chosen) > 0 && !do.Override && (m.terms.Cancellation == nil || used) {
			return CodeBookingNotCancellable
		}
		for _, t := range chosen {
			t.status = TicketVoid
		}
		if k.live(func(*modelTicket) bool { return true }) == 0 {
			k.status = BookingCancelled
		}
	case BookingCancelled:
		return code
	default:
		return CodeBookingNotCancellable
	}
	return ""
}

// learn takes over what the gateway's desk has done to a booking.
func (k *modelBooking) learn(from *Booking) {
	k.status = from.Status
	for i, t := range from.Tickets {
		k.tickets[i].status = t.Status
	}
}

func (m *model) agreeOnBooking(t *rapid.T, k *Booking, h *modelHold, now time.Time) {
	if (k == nil) != (h.book == nil) {
		t.Fatalf("%s: there is a booking, or there is none", since(now))
	}
	if k == nil {
		return
	}
	var got, want strings.Builder
	status := k.Status
	if status == BookingPending && k.open() == nil && !h.has(now) {
		status = BookingExpired
	}
	fmt.Fprint(&got, status)
	fmt.Fprint(&want, h.stands(now))
	for _, p := range k.Payments {
		fmt.Fprint(&got, " ", nameOf(p.ID), " ", p.Status, " ", p.AmountMinor)
	}
	for _, p := range h.book.attempts {
		fmt.Fprint(&want, " ", nameOf(p.id), " ", p.status, " ", p.amount)
	}
	for _, t := range k.Tickets {
		fmt.Fprint(&got, " ", nameOf(t.ID), " ", t.SeatNo, " ", t.AreaNo, " ", t.Status)
	}
	for _, t := range h.book.tickets {
		fmt.Fprint(&want, " ", nameOf(t.id), " ", t.seat, " ", t.area, " ", t.status)
	}
	if got.String() != want.String() {
		t.Fatalf("%s: booking %s is %s,\n the model says %s", since(now), nameOf(k.ID), &got, &want)
	}
}

// purchase draws something that is done to a purchase; "" if there is none.
func (g *game) purchase() string {
	var holds, bought []string
	for _, name := range g.holds {
		if h := g.m.holds[id(name)]; h != nil && h.book != nil {
			bought = append(bought, name)
		} else if h != nil {
			holds = append(holds, name)
		}
	}
	what := g.one("settle", "begin", "cancel", "settle", "begin", "confirm", "scan", "refund", "giveback", "retry", "stop")
	from := bought
	if what == "begin" || what == "confirm" {
		from = slices.Concat(holds, bought)
	}
	if len(from) == 0 {
		return ""
	}
	hold := g.one(from...)
	h := g.m.holds[id(hold)]
	actor := h.customer
	if g.chance(8) {
		actor = g.one("anna", "bert", "staff")
	}
	key := func() string {
		if g.chance(5) {
			return fmt.Sprintf(" key=k%d", g.upTo(6))
		}
		return ""
	}
	if what == "begin" || what == "confirm" {
		if g.pays[hold] > 5 {
			return ""
		}
		attempt := sibling(hold, "p") + "abcdefg"[:g.pays[hold]]
		g.pays[hold]++
		if what == "confirm" {
			return fmt.Sprintf("staff confirm %s %s %s ref=7", hold, attempt, g.one("cash", "comp"))
		}
		line := fmt.Sprintf("%s begin %s %s", actor, hold, attempt)
		if g.chance(3) {
			line += " holders=" + g.one("X", "Y")
		}
		if h.book != nil && g.chance(2) {
			line += " free"
		}
		return line + key()
	}
	booking, n := nameOf(h.book.id), len(h.book.tickets)
	switch {
	case what == "settle" && len(h.book.attempts) > 0:
		p := h.book.attempts[g.upTo(len(h.book.attempts))-1]
		line := fmt.Sprintf("gate settle %s %s", nameOf(p.id), g.one("ok", "failed", "ok", "cancelled", "pending"))
		if g.chance(12) {
			line += fmt.Sprint(" amount=", p.amount+int64(g.upTo(2))-1)
		}
		return line
	case what == "cancel" && hold != "r0":
		line := fmt.Sprintf("%s cancel %s", actor, booking)
		if n > 0 && !g.chance(3) || g.chance(10) {
			for range g.upTo(2) {
				line += fmt.Sprint(" ", g.upTo(n+1))
			}
		}
		// What an overdue hold leaves to be cancelled depends on whether it was
		// closed, for those who may cancel anything.
		if overdue := h.book.status == BookingPending && !h.has(g.now) && h.book.open() == nil; !overdue && g.chance(2) {
			line += " override"
		}
		return line + key()
	case what == "scan" && n > 0:
		g.scans++
		scan := g.scans
		if g.chance(5) {
			scan = g.upTo(g.scans)
		}
		line := fmt.Sprintf("door scan %s.%d s%d", booking, g.upTo(n), scan)
		if g.chance(3) {
			line += fmt.Sprintf(" at=%ds", g.upTo(60))
		}
		return line
	case (what == "refund" || what == "retry") && len(g.d.refunds) > 0:
		var names []string
		for id := range g.d.refunds {
			names = append(names, nameOf(id))
		}
		slices.Sort(names)
		if name := g.one(names...); what == "refund" {
			return fmt.Sprintf("gate refund %s %s ref=re%d", name, g.one("failed", "ok", "pending"), g.upTo(3))
		} else {
			return "staff retry " + name
		}
	case what == "giveback" && hold != "r0":
		return fmt.Sprintf("staff giveback %s amount=%d cause=c%d", booking, g.upTo(60), g.upTo(4))
	case what == "stop" && g.chance(20):
		return "staff cancel"
	}
	return ""
}

// desk draws a refund that the gateway's desk has begun, of a payment that
// succeeded.
func (g *game) desk() (line string, h *modelHold) {
	if !g.chance(6) {
		return "", nil
	}
	for _, name := range g.holds {
		h := g.m.holds[id(name)]
		if h == nil || h.book == nil || !g.chance(2) {
			continue
		}
		for _, p := range h.book.attempts {
			if p.status == PaymentSucceeded {
				amount := []int64{p.amount, max(p.amount/3, 1)}[g.upTo(2)-1]
				return fmt.Sprintf("gate desk %s %s amount=%d ref=d%d", nameOf(p.id), g.one("ok", "ok", "failed"), amount, g.upTo(4)), h
			}
		}
	}
	return "", nil
}
