package boxoffice

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// model is the box office once more, as naive as can be: it knows no rows, no
// counters, no closing and no batches. A place is taken if a live hold or a
// booking has it; that is looked up each time.
type model struct {
	terms    Terms
	plan     *testPlan
	capacity map[int32]int
	holds    map[uuid.UUID]*modelHold
	blockOf  map[int32]uuid.UUID // kept while a seat is sold from its block
	blocks   map[uuid.UUID]bool
	answers  map[KeyID][32]byte
	scans    map[uuid.UUID]uuid.UUID // whose ticket
}

type modelHold struct {
	customer       string
	staff          bool
	created, until time.Time
	own            time.Time // the end without the payment's extension; zero: it had none
	length         time.Duration
	block          uuid.UUID
	seats          map[int32]string // ticket types
	units          map[modelUnit]int
	ended          bool // cancelled
	book           *modelBooking
}

type modelUnit struct {
	area int32
	kind string
}

func newModel(d *database) *model {
	m := &model{
		terms: *d.terms, plan: hallPlan, capacity: map[int32]int{}, holds: map[uuid.UUID]*modelHold{},
		blockOf: map[int32]uuid.UUID{}, blocks: map[uuid.UUID]bool{}, answers: map[KeyID][32]byte{}, scans: map[uuid.UUID]uuid.UUID{},
	}
	for _, a := range hallPlan.areas {
		m.capacity[a.No] = a.Capacity
	}
	return m
}

func (h *modelHold) booked() bool           { return h.book != nil && h.book.tickets != nil }
func (h *modelHold) has(now time.Time) bool { return h.booked() || !h.ended && now.Before(h.until) }

func (h *modelHold) count() int {
	n := len(h.seats)
	for _, q := range h.units {
		n += q
	}
	return n
}

// counts is how many places the hold has now: of a bought one, those whose
// tickets are not void.
func (h *modelHold) counts(now time.Time) int {
	switch {
	case h.booked():
		return h.book.live(func(*modelTicket) bool { return true })
	case h.has(now):
		return h.count()
	}
	return 0
}

func (m *model) seat(no int32, now time.Time) SeatStatus {
	for _, h := range m.holds {
		switch {
		case h.booked():
			if h.book.live(func(t *modelTicket) bool { return t.seat == no }) > 0 {
				return SeatBooked
			}
		case h.seats[no] != "" && h.has(now):
			return SeatHeld
		}
	}
	if m.blockOf[no] != uuid.Nil {
		return SeatBlocked
	}
	return SeatAvailable
}

func (m *model) used(area int32, now time.Time) int {
	n := 0
	for _, h := range m.holds {
		if h.booked() {
			n += h.book.live(func(t *modelTicket) bool { return t.area == area })
			continue
		}
		for u, q := range h.units {
			if u.area == area && h.has(now) {
				n += q
			}
		}
	}
	return n
}

func (m *model) onSale(now time.Time) bool {
	return m.terms.Status == ShowOnSale && now.Before(m.terms.StartsAt)
}

// do carries a command out if it may be, and says with which code it is
// refused if not.
func (m *model) do(cmd Command, now time.Time) Code {
	staff, actor := cmd.Actor.Staff, cmd.Actor.CustomerID
	switch do := cmd.Do.(type) {
	case *PlaceReservation:
		length, most := do.TTLSeconds, m.terms.HoldSeconds
		if staff {
			most = m.terms.MaxHoldSeconds
		}
		if length == 0 {
			length = m.terms.HoldSeconds
		}
		h := &modelHold{
			customer: do.CustomerID, created: now, until: now.Add(time.Duration(length) * time.Second), length: time.Duration(length) * time.Second,
			block: do.FromBlockID, staff: staff, seats: map[int32]string{}, units: map[modelUnit]int{},
		}
		switch n := places(do.Seats, do.Areas); {
		case do.FromBlockID != uuid.Nil && !staff:
			return CodeForbidden
		case n == 0 || length > most || anyTwice(do.Seats):
			return CodeValidation
		case !m.onSale(now):
			return CodeShowNotOnSale
		case n > m.terms.MaxPlacesPerReservation && !staff:
			return CodeTooManySeats
		}
		if code := m.take(h, do.Seats, do.Areas, do.FromBlockID, staff, h.count(), now); code != "" {
			return code
		}
		m.holds[do.ID] = h
	case *ChangeReservation:
		h := m.holds[do.ID]
		added, removed := places(do.AddSeats, do.AddAreas), places(do.RemoveSeats, do.RemoveAreas)
		switch {
		case added+removed == 0 || anyTwice(do.AddSeats) || anyTwice(do.RemoveSeats):
			return CodeValidation
		case h == nil || !staff && h.customer != actor:
			return CodeNotFound
		case added > 0 && !m.onSale(now):
			return CodeShowNotOnSale
		case added > removed && !staff && h.count()+added-removed > m.terms.MaxPlacesPerReservation:
			return CodeTooManySeats
		case h.booked() || h.ended:
			return CodeReservationNotActive
		case !h.has(now):
			return CodeReservationExpired
		case h.book.open() != nil:
			return CodePaymentInProgress
		}
		next := *h
		next.seats, next.units = maps.Clone(h.seats), maps.Clone(h.units)
		for _, w := range do.RemoveSeats {
			if next.seats[w.No] == "" {
				return CodeValidation
			}
			delete(next.seats, w.No)
		}
		for _, w := range do.RemoveAreas {
			u := modelUnit{w.No, w.TicketType}
			if next.units[u] < w.Quantity {
				return CodeValidation
			}
			next.units[u] -= w.Quantity
		}
		block := h.block
		if !staff {
			block = uuid.Nil
		}
		m.holds[do.ID] = &next // its own places are in nobody's way
		code := m.take(&next, do.AddSeats, do.AddAreas, block, staff, h.count(), now, slices.Collect(maps.Keys(h.seats))...)
		if code == "" && next.count() == 0 {
			code = CodeValidation
		}
		if code != "" {
			m.holds[do.ID] = h
		}
		return code
	case *ExtendReservation:
		h := m.holds[do.ID]
		switch {
		case h == nil || !staff && h.customer != actor:
			return CodeNotFound
		case !m.onSale(now):
			return CodeShowNotOnSale
		case h.booked() || h.ended:
			return CodeReservationNotActive
		case !h.has(now):
			return CodeReservationExpired
		}
		last := h.created.Add(max(h.length, time.Duration(m.terms.MaxHoldSeconds)*time.Second))
		until := now.Add(h.length)
		if until.After(last) {
			until = last
		}
		own := h.own
		if own.IsZero() {
			own = h.until
		}
		switch {
		case !until.After(own) && !own.Before(last):
			return CodeExtensionLimit
		case !until.After(own):
			return ""
		case !h.own.IsZero():
			h.own = until
		}
		if until.After(h.until) {
			h.until = until
		}
	case *ReleaseReservation:
		h := m.holds[do.ID]
		switch {
		case h == nil || !staff && h.customer != actor:
			return CodeNotFound
		case h.booked():
			return CodeReservationNotActive
		case h.has(now):
			h.end()
		}
	case *BeginPayment, *ConfirmReservation, *SettlePayment, *CancelBooking, *CheckIn:
		return m.buy(cmd, now)
	case *BlockSeats:
		switch {
		case len(do.Seats) == 0 || anyTwice(do.Seats):
			return CodeValidation
		case m.terms.Status == ShowCancelled:
			return CodeConflict
		case m.unknown(do.Seats, nil):
			return CodeSeatNotFound
		}
		for _, w := range do.Seats {
			if m.seat(w.No, now) != SeatAvailable {
				return CodeSeatAlreadyReserved
			}
		}
		m.blocks[do.ID] = true
		for _, w := range do.Seats {
			m.blockOf[w.No] = do.ID
		}
	case *UnblockSeats:
		switch {
		case anyTwice(do.Seats):
			return CodeValidation
		case m.unknown(do.Seats, nil):
			return CodeSeatNotFound
		case do.BlockID != uuid.Nil && !m.blocks[do.BlockID]:
			return CodeNotFound
		}
		free := map[int32]bool{}
		for _, w := range do.Seats {
			if m.blockOf[w.No] == uuid.Nil {
				return CodeValidation
			}
			free[w.No] = true
		}
		for no, block := range m.blockOf {
			if block == do.BlockID {
				free[no] = true
			}
		}
		for no := range free {
			if m.seat(no, now) != SeatBlocked {
				return CodeSeatAlreadyReserved
			}
		}
		for no := range free {
			delete(m.blockOf, no)
		}
	case *SetAreaCapacity:
		if _, ok := m.capacity[do.AreaNo]; !ok {
			return CodeNotFound
		}
		if do.Capacity < m.used(do.AreaNo, now) {
			return CodeCapacityInUse
		}
		m.capacity[do.AreaNo] = do.Capacity
	case *SetShowStatus:
		switch from := m.terms.Status; {
		case do.Verb == "cancel":
			m.terms.Status = ShowCancelled
		case do.Verb == "pause" && (from == ShowOnSale || from == ShowPaused):
			m.terms.Status = ShowPaused
		case do.Verb == "resume" && (from == ShowOnSale || from == ShowPaused):
			m.terms.Status = ShowOnSale
		default:
			return CodeConflict
		}
	case *AmendShow:
		if m.terms.Status == ShowCancelled {
			return CodeConflict
		}
		next := m.terms
		set(&next.HoldSeconds, do.HoldSeconds)
		set(&next.MaxHoldSeconds, do.MaxHoldSeconds)
		set(&next.MaxPlacesPerReservation, do.MaxPlacesPerReservation)
		set(&next.MaxPlacesPerCustomer, do.MaxPlacesPerCustomer)
		if do.Currency != nil && *do.Currency != next.Currency {
			if len(m.holds) > 0 {
				return CodeConflict
			}
			next.Currency = *do.Currency
		}
		if next.MaxHoldSeconds < next.HoldSeconds {
			return CodeValidation
		}
		if do.Plan != nil && do.Plan.ID != m.plan.ID {
			to := plans[nameOf(do.Plan.ID)]
			for _, s := range m.plan.Seats {
				if to.Seat(s.No) == nil && m.seat(s.No, now) != SeatAvailable {
					return CodePlanInUse
				}
			}
			capacity := map[int32]int{}
			for _, a := range to.areas {
				capacity[a.No] = a.Capacity
			}
			for no := range m.capacity {
				if _, ok := capacity[no]; !ok && m.used(no, now) > 0 {
					return CodePlanInUse
				}
			}
			for no, c := range capacity {
				if m.used(no, now) > c {
					return CodeCapacityInUse
				}
			}
			m.plan, m.capacity = to, capacity
		}
		m.terms = next
	}
	return ""
}

// take puts the wanted places into h, which is nobody's yet or has given back
// what it removes; before is how many places its customer had in it. Seats of
// own were its own before.
func (m *model) take(h *modelHold, seats []SeatWant, areas []AreaWant, block uuid.UUID, staff bool, before int, now time.Time, own ...int32) Code {
	if m.unknown(seats, areas) {
		return CodeSeatNotFound
	}
	for _, w := range seats {
		if w.TicketType != "standard" && seatNames[w.No][0] == 'B' {
			return CodeValidation
		}
	}
	got, taken, short := map[modelUnit]int{}, false, false
	for _, w := range seats {
		status := m.seat(w.No, now)
		mine := status == SeatBlocked && (block != uuid.Nil && m.blockOf[w.No] == block || slices.Contains(own, w.No))
		taken = taken || status != SeatAvailable && !mine
	}
	left := map[int32]int{}
	for _, w := range areas {
		left[w.No] = m.capacity[w.No] - m.used(w.No, now)
	}
	units := 0
	for _, w := range areas {
		n := min(w.Quantity, left[w.No])
		if n < w.Quantity && (!w.AllowPartial || n <= 0) {
			n, short = 0, true
		}
		left[w.No] -= n
		got[modelUnit{w.No, w.TicketType}] += n
		units += n
	}
	if limit := m.terms.MaxPlacesPerCustomer; limit > 0 && !staff {
		has := m.has(h.customer, now)
		if grown := h.count() + len(seats) + units; grown > before && has+len(seats)+units > limit {
			return CodeCustomerLimit
		}
	}
	switch {
	case taken:
		return CodeSeatAlreadyReserved
	case short:
		return CodeInsufficient
	}
	for _, w := range seats {
		h.seats[w.No] = w.TicketType
	}
	for u, n := range got {
		h.units[u] += n
	}
	return ""
}

func (m *model) has(customer string, now time.Time) (n int) {
	for _, h := range m.holds {
		if h.customer == customer {
			n += h.counts(now)
		}
	}
	return n
}

func (m *model) unknown(seats []SeatWant, areas []AreaWant) bool {
	for _, w := range areas {
		if _, ok := m.capacity[w.No]; !ok {
			return true
		}
	}
	return slices.ContainsFunc(seats, func(w SeatWant) bool { return m.plan.Seat(w.No) == nil })
}

func anyTwice(seats []SeatWant) bool {
	seen := map[int32]bool{}
	for _, w := range seats {
		if w.No >= 0 && seen[w.No] {
			return true
		}
		seen[w.No] = true
	}
	return false
}

// answer is what the model expects of a command: again, ok, or a code.
func (m *model) answer(cmd Command, now time.Time) string {
	if cmd.Key != nil {
		if fingerprint, ok := m.answers[keyID(cmd.Key)]; ok {
			if fingerprint != cmd.Key.Fingerprint {
				return string(CodeKeyReused)
			}
			return "again"
		}
	}
	switch cmd.Do.(type) {
	case *SettleRefund, *RetryRefund, *GiveBack:
		return "?" // money only; that it adds up is seen in the database
	}
	if code := m.do(cmd, now); code != "" {
		return string(code)
	}
	if cmd.Key != nil {
		m.answers[keyID(cmd.Key)] = cmd.Key.Fingerprint
	}
	return "ok"
}

// agree compares what a reader of the database sees at now with the model.
func (m *model) agree(t *rapid.T, d *database, now time.Time) {
	for _, s := range m.plan.Seats {
		row := d.seats[s.No]
		if got, want := row.StatusAt(now), m.seat(s.No, now); got != want {
			t.Fatalf("%s: seat %s is %s, the model says %s", since(now), s.Label, got, want)
		}
	}
	for no, capacity := range m.capacity {
		a := d.areas[no]
		live := a.Held + a.Booked
		for _, r := range d.reservations {
			if r.Overdue(now) {
				live -= units(r.Areas, no)
			}
		}
		if a.Capacity != capacity || live != m.used(no, now) {
			t.Fatalf("%s: area %s has %d of %d, the model says %d of %d", since(now), a.Name, live, a.Capacity, m.used(no, now), capacity)
		}
	}
	if len(d.reservations) != len(m.holds) {
		t.Fatalf("%d reservations, the model has %d", len(d.reservations), len(m.holds))
	}
	for id, h := range m.holds {
		r := d.reservations[id]
		status := map[[2]bool]ReservationStatus{{true, true}: ReservationActive, {true, false}: ReservationExpired, {false, true}: ReservationReleased, {false, false}: ReservationReleased}[[2]bool{!h.ended, h.has(now)}]
		if h.booked() {
			status = ReservationConsumed
		}
		if r.StatusAt(now) != status || !r.ExpiresAt.Equal(h.until) || r.Places() != h.count() {
			t.Fatalf("%s: %s is %s until %s with %d places, the model says %s until %s with %d",
				since(now), nameOf(id), r.StatusAt(now), since(r.ExpiresAt), r.Places(), status, since(h.until), h.count())
		}
		m.agreeOnBooking(t, d.booking(r.BookingID), h, now)
	}
}

// game draws the commands of a test, as lines of a script.
type game struct {
	t       *rapid.T
	m       *model
	holds   []string // names given so far
	blocks  []string
	counter int
	pays    map[string]int // attempts of a hold
	scans   int
	now     time.Time
	d       *database // for the refunds there are, which the model does not know
}

func (g *game) one(from ...string) string { return rapid.SampledFrom(from).Draw(g.t, "one") }
func (g *game) chance(in int) bool        { return rapid.IntRange(1, in).Draw(g.t, "chance") == 1 }
func (g *game) upTo(n int) int            { return rapid.IntRange(1, n).Draw(g.t, "n") }

func (g *game) name(prefix string) string {
	g.counter++
	return fmt.Sprint(prefix, g.counter)
}

func (g *game) seats(n int) (w []string) {
	for range n {
		seat := g.one(seatNames...)
		if g.chance(12) {
			seat = "Z9"
		}
		if g.chance(5) {
			seat += ":child"
		}
		w = append(w, seat)
	}
	return w
}

func (g *game) units(n int) (w []string) {
	for range n {
		area := fmt.Sprintf("%s*%d", g.one(areaNames...), g.upTo(5))
		if g.chance(4) {
			area += ":child"
		}
		if g.chance(3) {
			area += "?"
		}
		w = append(w, area)
	}
	return w
}

func (g *game) places() []string {
	switch g.upTo(4) {
	case 1:
		return g.units(g.upTo(2))
	case 2:
		return append(g.seats(g.upTo(2)), g.units(1)...)
	default:
		return g.seats(g.upTo(3))
	}
}

// has draws some of the places that a hold has.
func (g *game) has(name string) []string {
	var all []string
	h := g.m.holds[id(name)]
	if h == nil {
		return nil
	}
	for no := range h.seats {
		all = append(all, seatNames[no])
	}
	for u, n := range h.units {
		if n > 0 {
			all = append(all, fmt.Sprintf("%s*%d:%s", areaNames[u.area], (n+1)/2, u.kind))
		}
	}
	slices.Sort(all)
	if len(all) == 0 {
		return nil
	}
	all = rapid.Permutation(all).Draw(g.t, "all")
	return all[:g.upTo(len(all))]
}

func (g *game) line() string {
	actor := g.one("anna", "bert", "carl", "staff")
	var w []string
	if g.chance(2) {
		if line := g.purchase(); line != "" {
			return line
		}
	}
	switch kind := g.upTo(30); {
	case kind <= 12 || len(g.holds) == 0:
		name := g.name("r")
		w = append([]string{"place", name}, g.places()...)
		g.holds = append(g.holds, name)
		if g.chance(3) {
			w = append(w, fmt.Sprintf("ttl=%d", g.upTo(25)))
		}
		if len(g.blocks) > 0 && g.chance(3) {
			w = append(w, "from="+g.one(g.blocks...))
		}
		if actor == "staff" && g.chance(2) {
			w = append(w, "for=anna")
		}
	case kind <= 17:
		w = []string{"change", g.one(g.holds...)}
		if g.chance(2) {
			for _, p := range g.places() {
				w = append(w, "+"+p)
			}
		}
		if len(w) == 2 || g.chance(2) {
			gone := g.has(w[1])
			if len(gone) == 0 || g.chance(5) {
				gone = g.places()
			}
			for _, p := range gone {
				w = append(w, "-"+p)
			}
		}
	case kind <= 19:
		w = []string{"extend", g.one(g.holds...)}
	case kind <= 23:
		w = []string{"release", g.one(g.holds...)}
	case kind == 24:
		actor, w = "system", []string{"expire", fmt.Sprint(g.upTo(3))}
	case kind == 25:
		name := g.name("b")
		w = append([]string{"block", name}, g.seats(g.upTo(3))...)
		g.blocks = append(g.blocks, name)
	case kind == 26:
		w = append([]string{"unblock"}, g.seats(1)...)
		if len(g.blocks) > 0 && g.chance(2) {
			w = []string{"unblock", g.one(g.blocks...)}
		}
	case kind == 27:
		actor, w = "staff", []string{"capacity", g.one(areaNames...), fmt.Sprint(g.upTo(12))}
	case kind == 28:
		actor, w = "staff", []string{g.one("pause", "resume", "resume", "resume")}
	default:
		actor, w = "staff", []string{"amend", g.one("plan=small", "plan=big", "plan=hall", "perCustomer=6", "perCustomer=0",
			"places=3", "places=6", "hold=5", "hold=20", "maxHold=10", "maxHold=40", "currency=JPY")}
	}
	if g.chance(4) {
		w = append(w, fmt.Sprintf("key=k%d", g.upTo(6)))
	}
	return strings.Join(append([]string{actor}, w...), " ")
}

// Any commands, in any batches, with time moving on: the outcomes are those of
// the model, the database adds up after each batch (see [database.check]), its
// log tells the whole story, and how the commands were cut into batches makes
// no difference to anything.
func TestDecideAgainstTheModel(t *testing.T) {
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, decideAgainstTheModel)
		})
	}
}

func decideAgainstTheModel(t *rapid.T) {
	whole, cut := newDatabase(t), newDatabase(t)
	policy := rapid.SampledFrom([]*Cancellation{nil, {RefundPercent: 100}, {RefundPercent: 33}}).Draw(t, "policy")
	for _, d := range []*database{whole, cut} {
		terms := *d.terms
		terms.HoldSeconds, terms.MaxHoldSeconds, terms.Cancellation = 10, 20, policy
		d.terms = &terms
		d.book("r0", "anna", []SeatWant{{No: 0}}, []AreaWant{{No: 0, TicketType: "standard", Quantity: 2}})
	}
	m := newModel(whole)
	r0 := &modelHold{
		customer: "anna", until: noon.Add(time.Minute), seats: map[int32]string{0: "standard"}, units: map[modelUnit]int{{0, "standard"}: 2},
		book: &modelBooking{id: id("booking-r0")},
	}
	r0.buy()
	m.holds[id("r0")] = r0
	g := &game{t: t, m: m, holds: []string{"r0"}, pays: map[string]int{}, d: whole}
	now := noon
	for range rapid.IntRange(1, 25).Draw(t, "ticks") {
		now = g.later(now)
		g.now = now
		var cmds []Command
		var lines, want []string
		for range g.upTo(6) {
			line := g.line()
			lines = append(lines, fmt.Sprintf("%s %s", since(now), line))
			w := words(line)
			cmds = append(cmds, command(w[0], w[1:]))
			want = append(want, m.answer(cmds[len(cmds)-1], now))
		}
		var undone *modelHold // by the gateway's own desk; the model learns what is left of it from the database
		if line, h := g.desk(); line != "" {
			undone = h
			lines = append(lines, fmt.Sprintf("%s %s", since(now), line))
			w := words(line)
			cmds, want = append(cmds, command(w[0], w[1:])), append(want, "?")
		}
		t.Log(strings.Join(lines, "\n"))
		outcomes, _ := whole.decide(now, cmds...)
		for i, o := range outcomes {
			if got, _, _ := strings.Cut(outcomeText(o), " "); got != want[i] && want[i] != "?" {
				t.Fatalf("%s: %s, the model says %s", lines[i], outcomeText(o), want[i])
			}
		}
		if undone != nil {
			undone.book.learn(whole.booking(undone.book.id))
		}
		m.agree(t, whole, now)
		for rest := cmds; len(rest) > 0; {
			n := g.upTo(len(rest))
			again, _ := cut.decide(now, rest[:n]...)
			for i, o := range again {
				if got, want := outcomeText(o), outcomeText(outcomes[len(cmds)-len(rest)+i]); got != want {
					t.Fatalf("%s: in another batch %s, not %s", lines[len(cmds)-len(rest)+i], got, want)
				}
			}
			rest = rest[n:]
		}
	}
	for what, same := range map[string]bool{
		"seats":        reflect.DeepEqual(whole.seats, cut.seats),
		"areas":        reflect.DeepEqual(whole.areas, cut.areas),
		"reservations": reflect.DeepEqual(whole.reservations, cut.reservations),
		"blocks":       reflect.DeepEqual(whole.blocks, cut.blocks),
		"receipts":     reflect.DeepEqual(whole.receipts, cut.receipts),
		"bookings":     reflect.DeepEqual(whole.bookings, cut.bookings),
		"payments":     reflect.DeepEqual(whole.payments, cut.payments),
		"refunds":      reflect.DeepEqual(whole.refunds, cut.refunds),
		"tickets":      reflect.DeepEqual(whole.tickets, cut.tickets),
		"scans":        reflect.DeepEqual(whole.scans, cut.scans),
		"people":       reflect.DeepEqual(whole.people, cut.people),
		"log":          reflect.DeepEqual(whole.log, cut.log),
		"terms":        reflect.DeepEqual(whole.terms, cut.terms),
	} {
		if !same {
			t.Fatalf("cut into other batches, the same commands leave other %s", what)
		}
	}
}

// later moves time on: not at all, by a microsecond, by seconds, or exactly to
// the end of some hold.
func (g *game) later(now time.Time) time.Time {
	switch g.upTo(5) {
	case 1:
		return now
	case 2:
		return now.Add(time.Microsecond)
	case 3:
		return now.Add(time.Duration(g.upTo(8)) * time.Second)
	}
	next := now
	for _, h := range g.m.holds {
		if h.until.After(now) && (next.Equal(now) || h.until.Before(next)) {
			next = h.until
		}
	}
	if g.chance(3) && next.After(now) {
		return next.Add(-time.Microsecond)
	}
	return next
}
