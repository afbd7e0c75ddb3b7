package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// The API's answers, as far as the drill reads them.
type (
	reservation struct {
		ReservationID, Status string
		Seats                 []struct{ SeatID string }
		Areas                 []struct {
			AreaID   string
			Quantity int
		}
		TotalAmount      int64
		ExpiresInSeconds int64
		ShowVersion      int64
		BookingID        string
	}
	booking struct {
		BookingID, Status, PaymentStatus string
		TotalAmount, RefundedAmount      int64
		Tickets                          []ticket
		Payments                         []struct {
			Status                 string
			Amount, RefundedAmount int64
		}
		NextAction *struct{ Type string }
	}
	ticket struct{ SeatID, AreaID, Status, Code string }
)

// settleMax is how long payments and ended holds may take to settle once the
// sale is over.
const settleMax = time.Minute

// check is a rule that was looked after.
type check struct {
	Rule     string   `json:"rule"`
	Examined int      `json:"examined"`
	Broken   []string `json:"broken"`
	Unread   []string `json:"unread,omitempty"` // what could not be looked at
}

// The rules.
const (
	ruleOwners   = "no place had two owners"
	ruleBookings = "every booking that was acknowledged is there, with its tickets"
	ruleMoney    = "every charge has its tickets, or its money back"
	ruleHolds    = "holds that ended are over, and their places free"
	ruleCounts   = "the counts of the map add up"
	ruleQueue    = "positions in the waiting room only fell"                      // where there was one
	ruleViewers  = "who watched saw each change in order, and ended with the map" // by the stream
)

// auditor looks at everything that buyers were told, through the API.
type auditor struct {
	target  *target
	hall    *hall
	records []record
	shared  bool

	mu     sync.Mutex
	checks map[string]*check
	alive  map[string]bool // seats of holds that are still on, or may be
	units  bool            // the same of some area
}

// audit checks what buyers were told against what the deployment says, when all
// is settled. It only reads.
func audit(ctx context.Context, t *target, h *hall, records []record, shared bool) []check {
	a := &auditor{target: t, hall: h, records: records, shared: shared, checks: map[string]*check{}, alive: map[string]bool{}}
	rules := []string{ruleOwners, ruleBookings, ruleMoney, ruleHolds, ruleCounts}
	for _, rule := range rules {
		a.checks[rule] = &check{Rule: rule, Broken: []string{}}
	}
	a.waitForHolds(ctx)
	next := make(chan *record)
	var readers sync.WaitGroup
	for range 32 {
		readers.Go(func() {
			for r := range next {
				a.follow(ctx, r)
			}
		})
	}
	for i := range records {
		next <- &records[i]
	}
	close(next)
	readers.Wait()

	owners := a.checks[ruleOwners]
	owners.Examined = len(h.seats) + len(h.before.Areas)
	owners.Broken = append(owners.Broken, twice(records, h)...)
	var v availability
	within, cancel := context.WithTimeout(ctx, settleMax)
	defer cancel()
	if err := t.read(within, "/shows/"+h.show.ShowID+"/availability", &v); err != nil {
		a.unread(ruleCounts, err)
		a.unread(ruleHolds, err)
	} else {
		a.checks[ruleCounts].Examined = 1
		a.broken(ruleCounts, sums(&v, len(h.seats))...)
		if len(v.Statuses) == len(h.seats) {
			a.compare(&v)
		}
	}
	checks := make([]check, len(rules))
	for i, rule := range rules {
		checks[i] = *a.checks[rule]
	}
	return checks
}

func (a *auditor) broken(rule string, what ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.checks[rule].Broken = append(a.checks[rule].Broken, what...)
}

func (a *auditor) unread(rule string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.checks[rule].Unread = append(a.checks[rule].Unread, err.Error())
}

func (a *auditor) examined(rule string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.checks[rule].Examined++
}

// mayLive notes that the record's places may be held still.
func (a *auditor) mayLive(seats []string, units bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range seats {
		a.alive[id] = true
	}
	a.units = a.units || units
}

// waitForHolds waits until those who left have lost what they held.
func (a *auditor) waitForHolds(ctx context.Context) {
	last := time.Now()
	for i := range a.records {
		if r := &a.records[i]; r.outcome == abandoned && r.overAt.After(last) {
			last = r.overAt
		}
	}
	until(ctx, last)
}

// follow finds out what became of what a buyer was told.
func (a *auditor) follow(ctx context.Context, r *record) {
	ctx, cancel := context.WithTimeout(ctx, settleMax)
	defer cancel()
	if r.wrong != nil {
		a.broken(ruleBookings, r.wrong.Error())
	}
	a.mayLive(r.mayHold, r.maybeUnits)
	switch {
	case r.reservationID == "":
	case !r.paidAt.IsZero():
		a.followBooking(ctx, r)
	default:
		a.followHold(ctx, r)
	}
}

// followHold looks at a hold whose buyer was not told of a booking.
func (a *auditor) followHold(ctx context.Context, r *record) {
	var h reservation
	answered, err := a.target.ask(ctx, r.caller, request{step: stepCheck, method: http.MethodGet, path: "/reservations/" + r.reservationID})
	switch {
	case err != nil:
		a.unread(ruleHolds, fmt.Errorf("reservation %s: %w", r.reservationID, err))
		a.mayLive(r.seats, r.units > 0)
		return
	case answered.status == http.StatusNotFound:
		a.broken(ruleHolds, fmt.Sprintf("reservation %s was acknowledged, and is not there", r.reservationID))
		return
	case answered.status != http.StatusOK:
		a.unread(ruleHolds, &unexpected{"reservation " + r.reservationID, answered})
		return
	}
	if err := answered.decode(&h); err != nil {
		a.unread(ruleHolds, err)
		return
	}
	if h.BookingID != "" {
		r.bookingID = h.BookingID
		a.followBooking(ctx, r)
	}
	a.examined(ruleHolds)
	want := map[string]string{abandoned: "expired", released: "cancelled"}[r.outcome]
	switch {
	case want != "" && h.Status != want:
		a.broken(ruleHolds, fmt.Sprintf("reservation %s should be %s, and is %s", r.reservationID, want, h.Status))
	case h.Status == "active":
		a.mayLive(r.seats, r.units > 0) // its buyer left without an answer, and it ends by itself
	}
}

// followBooking looks at a booking until nothing of its money is in the air.
func (a *auditor) followBooking(ctx context.Context, r *record) {
	a.examined(ruleMoney)
	for {
		var k booking
		answered, err := a.target.ask(ctx, r.caller, request{step: stepCheck, method: http.MethodGet, path: "/bookings/" + r.bookingID + "?wait=20"})
		if err == nil && answered.status == http.StatusOK {
			err = answered.decode(&k)
		}
		switch {
		case err != nil:
			a.unread(ruleBookings, fmt.Errorf("booking %s: %w", r.bookingID, err))
			return
		case answered.status == http.StatusNotFound:
			a.broken(ruleBookings, fmt.Sprintf("booking %s was acknowledged, and is not there", r.bookingID))
			return
		case answered.status != http.StatusOK:
			a.unread(ruleBookings, &unexpected{"booking " + r.bookingID, answered})
			return
		}
		if k.Status == "pending" && k.PaymentStatus == "pending" && ctx.Err() == nil {
			continue
		}
		a.judge(r, &k)
		return
	}
}

// judge holds a settled booking against what its buyer was told.
func (a *auditor) judge(r *record, k *booking) {
	if !r.paidAt.IsZero() {
		a.examined(ruleBookings)
		if k.Status != "confirmed" {
			a.broken(ruleBookings, fmt.Sprintf("booking %s was acknowledged, and is %s", r.bookingID, k.Status))
		} else if err := r.fits(k.Tickets); err != nil {
			a.broken(ruleBookings, err.Error())
		}
	} else if k.Status == "confirmed" { // they left before they were told
		if err := r.fits(k.Tickets); err != nil {
			a.broken(ruleBookings, err.Error())
		}
		r.paidAt = time.Now()
	}
	var charged, back, pending int64
	for _, p := range k.Payments {
		switch p.Status {
		case "succeeded":
			charged += p.Amount
			back += p.RefundedAmount
		case "pending":
			pending++
		}
	}
	due := int64(0)
	if k.Status == "confirmed" {
		due = k.TotalAmount
	}
	switch {
	case charged-back != due:
		a.broken(ruleMoney, fmt.Sprintf("booking %s is %s and costs %d; %d were charged and %d given back", r.bookingID, k.Status, k.TotalAmount, charged, back))
	case pending > 0 && k.Status != "confirmed":
		a.unread(ruleMoney, fmt.Errorf("booking %s: a payment was under way for longer than %v", r.bookingID, settleMax))
	}
}

// fits is whether tickets are for the places that the buyer holds.
func (r *record) fits(tickets []ticket) error {
	var seats []string
	units := 0
	for _, t := range tickets {
		switch {
		case t.Code == "" || t.Status != "valid":
			return fmt.Errorf("booking %s has a ticket that is %s, code %q", r.bookingID, t.Status, t.Code)
		case t.SeatID != "":
			seats = append(seats, t.SeatID)
		case t.AreaID == r.areaID:
			units++
		}
	}
	if units != r.units || len(tickets) != units+len(seats) || !slices.Equal(slices.Sorted(slices.Values(seats)), slices.Sorted(slices.Values(r.seats))) {
		return fmt.Errorf("booking %s of %d places has %d tickets, or for other places", r.bookingID, len(r.seats)+r.units, len(tickets))
	}
	return nil
}

// claim is a time in which a seat certainly was a buyer's: from when they knew
// it until they could not be sure of it any more.
type claim struct {
	buyer       int
	from, until time.Time // until is zero when it is for good
}

// twice finds places that two buyers were told they own at the same time, and
// areas of which more was sold than there is. Nothing it finds can be explained
// by answers that overtook each other: each claim begins when its answer was
// there, and ends before the hold did.
func twice(records []record, h *hall) (found []string) {
	claims := map[string][]claim{}
	sold := map[string]int{}
	for n := range records {
		r := &records[n]
		for _, id := range r.seats {
			if r.heldAt.Before(r.heldUntil) {
				claims[id] = append(claims[id], claim{n, r.heldAt, r.heldUntil})
			}
			if !r.paidAt.IsZero() {
				claims[id] = append(claims[id], claim{n, r.paidAt, time.Time{}})
			}
		}
		if !r.paidAt.IsZero() && r.units > 0 {
			sold[r.areaID] += r.units
		}
	}
	for _, s := range h.seats {
		list := claims[s.SeatID]
		slices.SortFunc(list, func(a, b claim) int { return a.from.Compare(b.from) })
		for i := 1; i < len(list); i++ {
			// The one before that lasts longest is the one to look at.
			if before := longest(list[:i]); before.buyer != list[i].buyer && before.lasts(list[i].from) {
				found = append(found, fmt.Sprintf("seat %s was buyer %d's and buyer %d's at the same time", s.Label, before.buyer, list[i].buyer))
				break
			}
		}
	}
	for _, v := range h.before.Areas {
		if sold[v.AreaID] > v.Capacity-v.Booked {
			found = append(found, fmt.Sprintf("area %s: %d places were sold, and %d were to be had", v.Name, sold[v.AreaID], v.Capacity-v.Booked))
		}
	}
	return found
}

func (c *claim) lasts(at time.Time) bool { return c.until.IsZero() || c.until.After(at) }

func longest(list []claim) claim {
	return slices.MaxFunc(list, func(a, b claim) int {
		switch {
		case a.until.IsZero():
			return 1
		case b.until.IsZero():
			return -1
		}
		return a.until.Compare(b.until)
	})
}

// sums checks that a map adds up.
func sums(v *availability, seats int) (wrong []string) {
	letters := map[rune]int{}
	for _, l := range v.Statuses {
		letters[l]++
	}
	if len(v.Statuses) != seats {
		wrong = append(wrong, fmt.Sprintf("%d letters for %d seats", len(v.Statuses), seats))
	}
	available, held, booked, capacity := letters['a'], letters['h'], letters['b'], len(v.Statuses)
	for _, r := range v.Areas {
		if r.Available+r.Held+r.Booked != r.Capacity {
			wrong = append(wrong, fmt.Sprintf("area %s: %d available, %d held and %d booked of %d", r.Name, r.Available, r.Held, r.Booked, r.Capacity))
		}
		available, held, booked, capacity = available+r.Available, held+r.Held, booked+r.Booked, capacity+r.Capacity
	}
	said := [5]int{v.Available, v.Held, v.Booked, v.Blocked, v.Capacity}
	if counted := [5]int{available, held, booked, letters['x'], capacity}; counted != said {
		wrong = append(wrong, fmt.Sprintf("available, held, booked, blocked and all are %v, and the places counted %v", said, counted))
	}
	var byCategory [5]int
	for _, c := range v.Categories {
		for i, n := range []int{c.Available, c.Held, c.Booked, c.Blocked, c.Capacity} {
			byCategory[i] += n
		}
	}
	if byCategory != said {
		wrong = append(wrong, fmt.Sprintf("available, held, booked, blocked and all are %v, and by category %v", said, byCategory))
	}
	return wrong
}

// compare holds the map, now that it is quiet, against what buyers were told.
func (a *auditor) compare(v *availability) {
	booked := map[string]bool{}
	units := map[string]int{}
	for i := range a.records {
		if r := &a.records[i]; !r.paidAt.IsZero() {
			for _, id := range r.seats {
				booked[id] = true
			}
			units[r.areaID] += r.units
		}
	}
	for i, s := range a.hall.seats {
		before, after := a.hall.before.Statuses[i], v.Statuses[i]
		switch {
		case booked[s.SeatID]:
			if after != 'b' {
				a.broken(ruleBookings, fmt.Sprintf("seat %s was sold, and the map says %q", s.Label, after))
			}
		case before != 'a' || after == 'a' || a.shared || a.alive[s.SeatID]:
		default:
			a.broken(ruleHolds, fmt.Sprintf("seat %s was free, no buyer has it, and the map says %q", s.Label, after))
		}
	}
	if a.units {
		return
	}
	before := map[string]area{}
	for _, r := range a.hall.before.Areas {
		before[r.AreaID] = r
	}
	for _, r := range v.Areas {
		want := before[r.AreaID].Booked + units[r.AreaID]
		if r.Booked < want || r.Booked > want && !a.shared {
			a.broken(ruleBookings, fmt.Sprintf("area %s: %d places are booked, and %d were sold", r.Name, r.Booked, want))
		}
		if r.Held > before[r.AreaID].Held && !a.shared {
			a.broken(ruleHolds, fmt.Sprintf("area %s: %d places are held, and no buyer has them", r.Name, r.Held))
		}
	}
}
