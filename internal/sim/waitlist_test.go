package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// The waitlist: how it is loaded and saved, what people do with it, and what
// the auditor knows of it.

// waitlist loads the entries that a batch is about, and, if places may become
// free for those who wait, what is free and who comes next, no more of it than
// the store.
func (l *loading) waitlist(cmds []boxoffice.Command) {
	t := l.t
	if t.waiting > 0 {
		l.due(1, func(*boxoffice.Reservation) bool { return true })
	}
	for _, id := range l.leaves {
		l.entry(id)
	}
	if l.serves() {
		l.st.Offering = true
		for no := range int32(len(seatNames)) {
			if t.seats[no].State == 'a' {
				l.seat(no)
			}
		}
		l.due(500, func(*boxoffice.Reservation) bool { return true })
		customers := slices.Clone(l.joins)
		if t.terms.MaxPlacesPerCustomer > 0 {
			for _, id := range t.held {
				if r := l.st.Reservations[id]; r != nil {
					customers = append(customers, r.CustomerID)
				}
			}
		}
		for _, id := range t.waited {
			e := t.entries[id]
			if live := e.Status == boxoffice.WaitlistWaiting || e.Status == boxoffice.WaitlistOffered; live && slices.Contains(customers, e.CustomerID) {
				l.entry(id)
			}
		}
		l.next(cmds)
	}
	for _, id := range t.held {
		if r := l.st.Reservations[id]; r != nil && r.WaitlistEntryID != uuid.Nil {
			l.entry(r.WaitlistEntryID)
		}
	}
}

// serves says whether the waitlist goes first in the batch.
func (l *loading) serves() bool {
	t, now := l.t, l.st.Now
	if t.terms.OnSale(now) != nil && !l.redefines || t.waiting == 0 && l.joins == nil {
		return false
	}
	s := t.terms.SalesStartAt
	begun := s != nil && t.changed.Before(*s)
	overdue := slices.ContainsFunc(t.held, func(id uuid.UUID) bool { r := l.st.Reservations[id]; return r != nil && r.Overdue(now) })
	return l.frees || l.joins != nil || begun || overdue
}

// next loads of each sort of party as many as could be served.
func (l *loading) next(cmds []boxoffice.Command) {
	t, most := l.t, 0
	for _, s := range l.st.Seats {
		if s.State == 'a' || s.State == 'x' {
			most++
		}
	}
	for _, a := range l.st.Areas {
		most += a.Capacity - a.Held - a.Booked
	}
	for _, r := range l.st.Reservations {
		if r.Status == boxoffice.ReservationActive || r.Status == boxoffice.ReservationConsumed {
			most += r.Places()
		}
	}
	for _, c := range cmds {
		if do, ok := c.Do.(*boxoffice.SetAreaCapacity); ok {
			most += do.Capacity
		}
	}
	sorts := map[string]int{}
	for _, id := range t.waited {
		e := t.entries[id]
		sort := fmt.Sprint(e.PartySize, e.Categories)
		if e.Status != boxoffice.WaitlistWaiting || e.PartySize > most || sorts[sort] >= most/e.PartySize+len(l.leaves) {
			continue
		}
		if limit := t.terms.MaxPlacesPerCustomer; limit > 0 && t.places(e.CustomerID, l.st.Now)+e.PartySize > limit {
			continue
		}
		sorts[sort]++
		l.entry(id)
	}
}

// entry loads an entry, with its offer and what its customer has.
func (l *loading) entry(id uuid.UUID) {
	e := l.t.entries[id]
	if e == nil || l.st.Waitlist[id] != nil {
		return
	}
	l.st.Waitlist[id] = copyEntry(e)
	if e.Status == boxoffice.WaitlistOffered {
		l.hold(e.ReservationID)
	}
	l.places(e.CustomerID)
}

func (t *tables) saveWaitlist(did *boxoffice.Changes) error {
	for _, e := range did.Entries {
		old := t.entries[e.ID]
		if old == nil {
			t.waited = append(t.waited, e.ID)
		} else if can := map[boxoffice.WaitlistStatus][]boxoffice.WaitlistStatus{
			boxoffice.WaitlistWaiting: {boxoffice.WaitlistOffered, boxoffice.WaitlistLeft, boxoffice.WaitlistDeclined},
			boxoffice.WaitlistOffered: {boxoffice.WaitlistAccepted, boxoffice.WaitlistDeclined, boxoffice.WaitlistLapsed},
			boxoffice.WaitlistLapsed:  {boxoffice.WaitlistAccepted},
		}[old.Status]; old.Status != e.Status && !slices.Contains(can, e.Status) {
			return fmt.Errorf("entry %s was %s and cannot become %s", name(e.ID), old.Status, e.Status)
		}
		row := copyEntry(e)
		if old != nil { // columns that are written once
			row.No, row.CustomerID, row.PartySize, row.Categories, row.JoinedAt = old.No, old.CustomerID, old.PartySize, old.Categories, old.JoinedAt
		}
		t.entries[e.ID] = row
	}
	live := map[string]bool{}
	for i, id := range t.waited {
		e := t.entries[id]
		if i > 0 && e.No <= t.entries[t.waited[i-1]].No {
			return fmt.Errorf("entry %s came before the one before it", name(id))
		}
		if e.Status == boxoffice.WaitlistWaiting || e.Status == boxoffice.WaitlistOffered {
			if live[e.CustomerID] {
				return fmt.Errorf("%s waits twice", e.CustomerID)
			}
			live[e.CustomerID] = true
		}
	}
	t.waiting = did.Waiting
	return nil
}

// ends is when the offer of an entry is over; zero: it has none.
func (t *tables) ends(e *boxoffice.WaitlistEntry) (at time.Time) {
	if r := t.holds[e.ReservationID]; r != nil {
		at = r.ExpiresAt
	}
	return at
}

func copyEntry(e *boxoffice.WaitlistEntry) *boxoffice.WaitlistEntry {
	return &boxoffice.WaitlistEntry{
		ID: e.ID, CustomerID: e.CustomerID, No: e.No, PartySize: e.PartySize, Categories: slices.Clone(e.Categories), Status: e.Status,
		JoinedAt: e.JoinedAt, OfferedAt: e.OfferedAt, ClosedAt: e.ClosedAt, ReservationID: e.ReservationID,
	}
}

// wishes are what parties want, the more often the likelier.
var wishes = [][]string{nil, nil, {"box"}, {"stalls"}, {"floor"}, {"box", "stalls"}, {"floor", "box"}}

// opJoin lets somebody join, rather with a wish that cannot be had now.
func (w *world) opJoin(o operation) {
	party, wish := int(o.b)%3+1, wishes[int(o.c)%len(wishes)]
	for i := 0; i < 6 && w.auditor.serveable(party, wish); i++ {
		party, wish = i%3+1, wishes[(int(o.c)+i)%len(wishes)]
	}
	who := customer(o.a)
	what := fmt.Sprintf("wait for %d of %s", party, strings.Join(wish, ","))
	w.wants(w.process(o.a>>8), who, what, func(ctx context.Context, p *process, in *intent) (told, error) {
		out, _, err := (&books{p}).do(ctx, what+" for "+who.CustomerID, who, in.key, func() boxoffice.Doer {
			in.made = append(in.made, w.id('w'))
			return &boxoffice.JoinWaitlist{
				ID: in.made[len(in.made)-1], CustomerID: who.CustomerID, PartySize: party, Categories: wish, Buyer: &boxoffice.Buyer{Name: who.Name},
			}
		})
		if err != nil {
			return told{}, err
		}
		return told{id: out.Receipt.ID}, nil
	})
}

func (w *world) opLeave(o operation) {
	id, ok := one(w.tables.waited, o.a)
	if !ok {
		return
	}
	customer := w.tables.entries[id].CustomerID
	who := boxoffice.Actor{CustomerID: customer, Name: customer}
	w.wants(w.process(o.b), who, "leave "+name(id), func(ctx context.Context, p *process, in *intent) (told, error) {
		out, _, err := (&books{p}).do(ctx, "leave "+name(id), who, in.key, func() boxoffice.Doer { return &boxoffice.LeaveWaitlist{ID: id} })
		if err != nil {
			return told{}, err
		}
		return told{id: out.Receipt.ID, left: true}, nil
	})
}

// opFill lets the box office hold all that is left.
func (w *world) opFill(o operation) {
	do, label := &boxoffice.PlaceReservation{}, ""
	for no := range int32(len(seatNames)) {
		if w.auditor.seats[no].free(w.auditor.now()) {
			seats, l := seatsAt(int(no), 1)
			do.Seats, label = append(do.Seats, seats...), label+l
		}
	}
	if left := w.auditor.left(w.auditor.now()); left > 0 {
		do.Areas = []boxoffice.AreaWant{{No: floor, TicketType: "standard", Quantity: left, Named: "floor"}}
		label += fmt.Sprintf(" floor*%d", left)
	}
	if label != "" {
		w.place(w.process(o.a), boxoffice.Actor{Staff: true, CustomerID: "crowd", Name: "staff"}, label, do)
	}
}

// opSales lets the sale begin a while from now.
func (w *world) opSales(o operation) {
	at := w.clock().Add(time.Duration(o.a%40) * time.Second)
	w.staffDo(o.b, "sales begin at "+at.Sub(start).String(), func(*intent) boxoffice.Doer { return &boxoffice.AmendShow{SalesStartAt: new(&at)} })
}

func (w *world) opSweepWaitlist(o operation) { w.sweepWaitlist(w.process(o.a)) }

// sweepWaitlist serves the waitlist, as the sweep does.
func (w *world) sweepWaitlist(p *process) {
	w.say("instance %d serves the waitlist (task %d)", p.n, w.tasks+1)
	w.begin(p, func(ctx context.Context) {
		_, _, _ = (&books{p}).do(ctx, "serve the waitlist", system, nil, func() boxoffice.Doer { return &boxoffice.OfferWaitlist{} })
	}, func() {}, func() {})
}

// waitModel is what the auditor knows of a party: what was answered to it, and
// what the log tells of the reservation that is its offer.
type waitModel struct {
	id       uuid.UUID
	offer    uuid.UUID // the reservation that it would be
	customer string
	party    int
	wish     []string
	waits    bool
}

// takes says whether a command may take places that others wait for.
func takes(do boxoffice.Doer) bool {
	switch do := do.(type) {
	case *boxoffice.PlaceReservation:
		return do.FromBlockID == uuid.Nil
	case *boxoffice.ChangeReservation:
		return len(do.AddSeats)+len(do.AddAreas) > 0
	}
	return false
}

// left is how many places of the area can be had at now.
func (a *auditor) left(now time.Time) int {
	left := a.capacity - a.booked
	for _, id := range a.order {
		if h := a.holds[id]; h.status == string(boxoffice.ReservationActive) && now.Before(h.until) {
			left -= h.units
		}
	}
	return left
}

// serveable says whether a party could be offered places by what is free: seats
// of the wanted categories, or room in the area.
func (a *auditor) serveable(party int, wish []string) bool {
	now, seats := a.now(), 0
	wants := func(category string) bool { return wish == nil || slices.Contains(wish, category) }
	for no, label := range seatNames {
		if wants(map[byte]string{'A': "stalls", 'B': "box"}[label[0]]) && a.seats[int32(no)].free(now) {
			seats++
		}
	}
	return seats >= party || wants("floor") && a.left(now) >= party
}

// limited says whether a customer may have so many places no more. Within a
// batch that is not known of who has had any.
func (a *auditor) limited(p *waitModel, within bool) bool {
	t := a.w.tables
	if t.terms.MaxPlacesPerCustomer == 0 {
		return false
	}
	if within {
		return slices.ContainsFunc(t.held, func(id uuid.UUID) bool { return t.holds[id].CustomerID == p.customer })
	}
	return t.places(p.customer, a.now())+p.party > t.terms.MaxPlacesPerCustomer
}

// nobodyWaits fails when somebody among the first n who wait could be served.
func (a *auditor) nobodyWaits(list []*waitModel, within bool, what string) {
	for _, p := range list {
		if p.waits && a.serveable(p.party, p.wish) && !a.limited(p, within) {
			a.w.fail("%s waits for %d of %v and could have them at %s: %s", name(p.id), p.party, p.wish, a.now().Sub(start), what)
		}
	}
}

// offered takes an offer out of the log: it is of the first who can be served,
// and what they wait for.
func (a *auditor) offered(c *boxoffice.Change) {
	i := slices.IndexFunc(a.parties, func(p *waitModel) bool { return p.offer == c.ReservationID })
	if i < 0 || !a.parties[i].waits {
		a.w.fail("%s is an offer to nobody who waits", name(c.ReservationID))
		return
	}
	p := a.parties[i]
	a.nobodyWaits(a.parties[:i], true, name(p.id)+" came later, and has an offer")
	places := len(c.SeatNos)
	for _, n := range c.AreaUnits {
		places += int(n)
	}
	if places != p.party || len(c.SeatNos) > 0 && len(c.AreaUnits) > 0 {
		a.w.fail("%s waits for %d and is offered %v and %v", name(p.id), p.party, c.SeatNos, c.AreaUnits)
	}
	p.waits = false
}

// isOffers says whether the first version of a log is one by which the waitlist
// was served.
func isOffers(log []boxoffice.Change) bool {
	return len(log) > 0 && slices.ContainsFunc(log, func(c boxoffice.Change) bool {
		return c.Version == log[0].Version && c.Reason == boxoffice.ReasonWaitlist
	})
}

// joined and gone follow what was answered to who came and went.
func (a *auditor) joined(do *boxoffice.JoinWaitlist) {
	a.parties = append(a.parties, &waitModel{
		id: do.ID, offer: boxoffice.DerivedID(do.ID, "offer"), customer: do.CustomerID, party: do.PartySize, wish: do.Categories, waits: true,
	})
}

func (a *auditor) gone(id uuid.UUID) {
	for _, p := range a.parties {
		if p.id == id {
			p.waits = false
		}
	}
}

// waitlist compares entries with their offers, and with what was answered.
func (a *auditor) waitlist() {
	w, t := a.w, a.w.tables
	waiting := 0
	for _, id := range t.waited {
		e, want := t.entries[id], boxoffice.WaitlistWaiting
		i := slices.IndexFunc(a.parties, func(p *waitModel) bool { return p.id == id })
		if i < 0 {
			w.fail("entry %s joined without anybody's asking", name(id))
			return
		}
		if r := t.holds[a.parties[i].offer]; r != nil {
			want = map[boxoffice.ReservationStatus]boxoffice.WaitlistStatus{
				boxoffice.ReservationActive: boxoffice.WaitlistOffered, boxoffice.ReservationConsumed: boxoffice.WaitlistAccepted,
				boxoffice.ReservationReleased: boxoffice.WaitlistDeclined, boxoffice.ReservationExpired: boxoffice.WaitlistLapsed,
			}[r.Status]
			if e.ReservationID != r.ID || r.WaitlistEntryID != id || r.CustomerID != e.CustomerID {
				w.fail("%s is the offer of %s for %s, and %s that of %s for %s", name(e.ReservationID), name(id), e.CustomerID, name(r.ID), name(r.WaitlistEntryID), r.CustomerID)
			}
		} else if !a.parties[i].waits {
			want = boxoffice.WaitlistLeft
		} else {
			waiting++
		}
		if e.Status != want {
			w.fail("entry %s is %s, and should be %s", name(id), e.Status, want)
		}
	}
	if waiting != t.waiting {
		w.fail("%d wait, the show says %d", waiting, t.waiting)
	}
	if t.terms.OnSale(a.now()) == nil {
		a.nobodyWaits(a.parties, false, "nobody was told")
	}
}

// mailed checks that everybody who had an offer was told once.
func (a *auditor) mailed() {
	for _, id := range a.w.tables.waited {
		want := 0
		if a.w.tables.entries[id].ReservationID != uuid.Nil {
			want = 1
		}
		if n := a.w.mailed[id]; n != want {
			a.w.fail("%s was written to %d times, and should be %d times", name(id), n, want)
		}
	}
}
