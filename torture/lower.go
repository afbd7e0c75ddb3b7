package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// partition is the history of one seat, area, ticket or show's sales.
type partition struct {
	name    string
	model   porcupine.Model
	history []porcupine.Operation
}

// slack is how far the clock of the database and ours may be apart. They are
// the same clock; it may be set right a little while a run lasts.
const slack = int64(50 * time.Millisecond / time.Microsecond)

// span is a time in which the database's clock was wrong.
type span struct{ from, to int64 }

// clockOffMax is how far the database's clock is stepped at most, and how long
// after that shows may keep the time that they saw.
const clockOffMax = int64(3 * time.Minute / time.Microsecond)

// lowering turns what clients did to many things at once into what happened to
// each thing.
type lowering struct {
	shows   []*show
	wrong   []span // of the database's clock
	clients int

	order []string
	parts map[string]*partition
}

// lower cuts a history into partitions.
func lower(ops []*Op, shows []*show, wrong []span) []*partition {
	l := &lowering{shows: shows, wrong: wrong, parts: map[string]*partition{}}
	holds := map[string][]*Op{}
	var ids []string
	ticketsOf := map[string][]string{}
	ops = slices.DeleteFunc(slices.Clone(ops), func(o *Op) bool { return shows[o.Show].doomed })
	for _, o := range ops {
		l.clients = max(l.clients, o.Client+1)
		if o.Reservation != "" {
			if holds[o.Reservation] == nil {
				ids = append(ids, o.Reservation)
			}
			holds[o.Reservation] = append(holds[o.Reservation], o)
		}
		if len(o.Tickets) > 0 {
			ticketsOf[o.Booking] = o.Tickets
		}
	}
	for _, o := range ops {
		l.refused(o)
		l.sold(o)
		l.staff(o)
		l.terms(o)
		l.named(o)
		l.scanned(o, ticketsOf)
	}
	for _, id := range ids {
		l.hold(id, holds[id])
	}
	list := make([]*partition, len(l.order))
	for i, name := range l.order {
		list[i] = l.parts[name]
		list[i].history = thin(list[i].history)
		slices.SortStableFunc(list[i].history, func(x, y porcupine.Operation) int { return cmp.Compare(x.Call, y.Call) })
	}
	return list
}

// thin takes from a history what only makes the search for its order longer.
// Time may end a hold at any moment while a clock is wrong, and a release that
// was not answered may be done at any later one; but a hold that is known to be
// over by then, or booked, is not changed by either. What could only come later
// is left out, and what could come later, too, comes before.
func thin(history []porcupine.Operation) []porcupine.Operation {
	begun := map[string]int64{} // by when everything of a hold was taken
	for _, o := range history {
		if s := o.Input.(step); s.do == take {
			begun[s.owner] = max(begun[s.owner], o.Return)
		}
	}
	over := map[string]int64{} // by when it is over for certain
	for _, o := range history {
		if s := o.Input.(step); !s.maybe && o.Call > begun[s.owner] && slices.Contains([]act{drop, end, book}, s.do) {
			if at, known := over[s.owner]; !known || o.Return < at {
				over[s.owner] = o.Return
			}
		}
	}
	var left []porcupine.Operation
	for _, o := range history {
		if s := o.Input.(step); s.do == drop || s.do == end {
			if at, known := over[s.owner]; known && o.Call > at {
				continue
			} else if known {
				o.Return = min(o.Return, at)
			}
		}
		left = append(left, o)
	}
	return left
}

func (l *lowering) add(name string, model porcupine.Model, call, ret int64, s step) {
	p := l.parts[name]
	if p == nil {
		p = &partition{name: name, model: model}
		l.parts[name] = p
		l.order = append(l.order, name)
	}
	client := l.clients // time
	if s.op != nil {
		client = max(0, s.op.Client)
	}
	p.history = append(p.history, porcupine.Operation{ClientId: client, Input: s, Call: call, Return: max(call, ret)})
}

func (l *lowering) seat(o *Op, i int, call, ret int64, s step) {
	l.add(l.shows[o.Show].name(i), seats, call, ret, s)
}

func (l *lowering) area(o *Op, call, ret int64, s step) {
	sh := l.shows[o.Show]
	l.add(sh.areaName(), areas(sh.floor), call, ret, s)
}

// done adds what an operation did to places, if it was done; if nobody knows,
// that it may have done it, at any time after it was called. A refusal after a
// try that went unanswered says nothing about that try: only what was done is
// remembered with a key.
func (l *lowering) done(o *Op, places []int, units int, s step) {
	s.op = o
	ret := o.Return
	switch {
	case o.ok():
	case o.Doubt || !o.known():
		s.maybe, ret = true, never
	default:
		return
	}
	for _, i := range places {
		l.seat(o, i, o.Call, ret, s)
	}
	if s.n = units; units != 0 {
		l.area(o, o.Call, ret, s)
	}
}

// refused adds what refusals told about the places that were wanted.
func (l *lowering) refused(o *Op) {
	if !o.known() || o.ok() {
		return
	}
	switch boxoffice.Code(o.Code) {
	case boxoffice.CodeSeatAlreadyReserved:
		for _, i := range o.Seats {
			saw := cmp.Or(o.Taken[i], available)
			l.seat(o, i, o.Call, o.Return, step{do: see, saw: saw, block: o.Block, op: o})
		}
	case boxoffice.CodeInsufficient:
		for _, i := range o.Seats {
			l.seat(o, i, o.Call, o.Return, step{do: see, saw: available, block: o.Block, op: o})
		}
	}
	if o.Left != nil && (o.Do == place || o.Do == change) {
		l.area(o, o.Call, o.Return, step{do: see, n: *o.Left, op: o})
	}
}

// sold adds what an answer tells about whether the show was selling.
func (l *lowering) sold(o *Op) {
	name := l.shows[o.Show].title + ", sales"
	at := func(do act) { l.add(name, sales, o.Call, o.Return, step{do: do, op: o}) }
	switch o.Do {
	case place, extend:
		switch code := boxoffice.Code(o.Code); {
		case !o.known():
		case o.ok(), code == boxoffice.CodeSeatAlreadyReserved, code == boxoffice.CodeInsufficient:
			at(open)
		case code == boxoffice.CodeShowNotOnSale:
			at(shut)
		}
	case pause, resume:
		s, ret := step{do: map[verb]act{pause: stop, resume: begin}[o.Do], op: o}, o.Return
		if !o.ok() {
			if !o.Doubt && o.known() {
				return
			}
			s.maybe, ret = true, never
		}
		l.add(name, sales, o.Call, ret, s)
	}
}

// staff adds blocks and capacities.
func (l *lowering) staff(o *Op) {
	switch o.Do {
	case block:
		if o.ok() { // its id is known only then; else the refusal tells what was seen
			l.done(o, o.Seats, 0, step{do: bar, block: o.Block})
		}
	case unblock:
		l.done(o, o.Seats, 0, step{do: unbar, block: o.Block})
	case capacity:
		l.done(o, nil, o.Capacity, step{do: resize})
		if boxoffice.Code(o.Code) == boxoffice.CodeCapacityInUse && o.Left != nil {
			l.area(o, o.Call, o.Return, step{do: tight, n: *o.Left, op: o})
		}
	}
}

// terms adds what was done to a show's terms, or seen of them.
func (l *lowering) terms(o *Op) {
	sh := l.shows[o.Show]
	if o.ok() && o.Places > 0 && o.Block == "" { // staff may hold as many as it likes
		l.add(sh.title+", most places", term(int64(sh.terms.Most)), o.Call, o.Return, step{do: fit, n: o.Places, op: o})
	}
	if o.Terms == nil {
		return
	}
	first, told := sh.terms.list(), o.Terms.list()
	for i, name := range termNames {
		s, ret := step{do: see, saw: fmt.Sprint(told[i]), op: o}, o.Return
		if o.Do == amend {
			s.do = alter
			if !o.ok() {
				if o.known() && !o.Doubt {
					continue
				}
				s.maybe, ret = true, never
			}
		}
		if told[i] != 0 {
			l.add(sh.title+", "+name, term(first[i]), o.Call, ret, s)
		}
	}
}

// termNames name what list lists.
var termNames = []string{"price of seats", "price of the floor", "most places", "start"}

func (t *terms) list() []int64 { return []int64{t.Seat, t.Floor, int64(t.Most), t.Starts} }

// named adds the names that tickets were given, that were seen on them, and that
// were forgotten.
func (l *lowering) named(o *Op) {
	ids, s, ret := []string{o.Ticket}, step{do: see, op: o}, o.Return
	switch {
	case o.Do == forget:
		ids, s.do = o.Tickets, alter
	case o.Holder == nil:
		return
	case o.Do == name:
		s.do, s.saw = alter, *o.Holder
	default:
		s.saw = *o.Holder
	}
	if s.do == alter && !o.ok() {
		if o.known() && !o.Doubt {
			return
		}
		s.maybe, ret = true, never
	}
	for _, id := range ids {
		l.add(l.shows[o.Show].title+", holder of ticket "+id, holders, o.Call, ret, s)
	}
}

// scanned adds what became of tickets.
func (l *lowering) scanned(o *Op, ticketsOf map[string][]string) {
	switch o.Do {
	case checkIn:
		name := l.shows[o.Show].title + ", ticket " + o.Ticket
		switch {
		case !o.known() || !o.ok() && o.Doubt:
			l.add(name, tickets, o.Call, never, step{do: admit, maybe: true, op: o})
		case o.Result == "admitted":
			l.add(name, tickets, o.Call, o.Return, step{do: admit, op: o})
		case o.ok():
			l.add(name, tickets, o.Call, o.Return, step{do: see, saw: o.Result, op: o})
		}
	case cancel:
		list, maybe, ret := o.Void, false, o.Return
		if !o.ok() {
			if o.known() && !o.Doubt {
				return
			}
			maybe, ret = true, never
			if len(list) == 0 {
				list = ticketsOf[o.Booking]
			}
		}
		for _, id := range list {
			l.add(l.shows[o.Show].title+", ticket "+id, tickets, o.Call, ret, step{do: void, maybe: maybe, op: o})
		}
	}
}

// hold adds the life of a hold: what was done to it, its end, and its booking.
func (l *lowering) hold(id string, ops []*Op) {
	i := slices.IndexFunc(ops, func(o *Op) bool { return o.Do == place && o.ok() })
	if i < 0 {
		return // nobody knows how it began: somebody walked away and left no trace
	}
	made := ops[i]
	all, units := slices.Clone(made.Seats), made.Units
	l.done(made, made.Seats, made.Units, step{do: take, owner: id, block: made.Block})
	for _, o := range ops {
		switch o.Do {
		case change:
			l.done(o, o.Back, o.BackUnits, step{do: give, owner: id})
			l.done(o, o.Seats, o.Units, step{do: take, owner: id})
			all, units = append(all, o.Seats...), units+o.Units
		case extend:
			if o.ok() {
				l.done(o, o.Seats, o.Units, step{do: keep, owner: id})
			}
		case pay:
			if o.ok() || boxoffice.Code(o.Code) == boxoffice.CodePaymentDeclined {
				begun := *o
				begun.Status = 200 // a declined payment was begun
				s := step{do: keep, owner: id}
				l.done(&begun, o.Seats, o.Units, s)
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	for _, o := range ops {
		switch {
		case o.Do == release, o.Do == delist: // who leaves the waitlist lets go of an offer
			l.done(o, all, units, step{do: drop, owner: id})
		case o.Do == cancel && o.ok() && len(o.Void) == 0: // it was not paid yet
			l.done(o, o.Back, o.BackUnits, step{do: drop, owner: id})
		case o.Do == cancel && o.ok():
			l.done(o, o.Back, len(o.VoidUnits), step{do: void, owner: id, ids: o.VoidUnits})
		case o.Do == cancel: // a step that is not known does nothing where it cannot be
			l.done(o, all, 0, step{do: void, owner: id})
			l.done(o, all, units, step{do: drop, owner: id})
		}
	}
	from, to := l.ends(made, ops)
	for _, i := range all {
		l.seat(made, i, from, to, step{do: end, owner: id})
	}
	if units > 0 {
		l.area(made, from, to, step{do: end, owner: id})
	}
	l.bought(id, ops)
}

// begun says whether a payment may have been begun by the operation.
func begun(o *Op) bool {
	if o.Do != pay {
		return false
	}
	return o.ok() || o.Doubt || !o.known() ||
		boxoffice.Code(o.Code) == boxoffice.CodePaymentDeclined || boxoffice.Code(o.Code) == boxoffice.CodeReservationExpired && o.Booking != ""
}

// ends is the time in which a hold is over, unless it was ended otherwise. It
// is an instant, unless a payment gave it more time which nobody was told of.
func (l *lowering) ends(made *Op, ops []*Op) (from, to int64) {
	from, to = made.Ends, made.Ends
	first, last, open := never, int64(0), false
	for _, o := range ops {
		if !begun(o) {
			continue
		}
		first = min(first, o.Call)
		last = max(last, min(o.Return, never))
		to = max(to, o.Ends)
		declined := boxoffice.Code(o.Code) == boxoffice.CodePaymentDeclined || boxoffice.Code(o.Code) == boxoffice.CodeReservationExpired
		open = open || o.Doubt || !o.known() || !declined
	}
	for _, o := range ops {
		if o.Do != extend {
			continue
		}
		switch {
		case o.ok():
			to = max(to, o.Ends)
			if o.Return < first { // no payment is part of that end
				from = max(from, o.Ends)
			}
		case o.Doubt || !o.known():
			to = never
		}
	}
	switch extra := int64(boxoffice.PaymentExtension / time.Microsecond); {
	case first == never:
	case open:
		// It may begin while nobody waits for the answer any more.
		to = max(to, min(never, last)+2*extra)
	default:
		to = max(to, last)
	}
	from, to = from-slack, min(never, to+slack)
	for _, w := range l.wrong {
		if from > w.from && from < w.to+clockOffMax {
			from = max(made.Call, w.from)
		}
		if to > w.from && to < w.to+clockOffMax {
			to = w.to + clockOffMax
		}
		if to > w.from-clockOffMax && to <= w.from {
			to = w.to + slack // a clock that goes back behind it undoes it, where nothing has happened since
		}
	}
	return from, to
}

// bought adds the purchase of a hold, which may come long after the client was
// told to wait.
func (l *lowering) bought(id string, ops []*Op) {
	call, ret, at := never, never, int64(0)
	var paid, places *Op
	for _, o := range ops {
		if begun(o) || o.Do == confirm && (o.ok() || o.Doubt || !o.known()) {
			call = min(call, o.Call)
			places = o
			if paid == nil || o.ok() && !paid.ok() {
				paid = o
			}
		}
		if o.Confirmed != 0 {
			at, ret = o.Confirmed, min(ret, o.Return)
		}
	}
	if at == 0 || paid == nil {
		return
	}
	if l.wrong == nil { // it is known when
		call, ret = max(call, at-slack), min(ret, at+slack)
	}
	for _, i := range places.Seats {
		l.seat(paid, i, call, ret, step{do: book, owner: id, block: paid.Block, op: paid})
	}
	if places.Units > 0 {
		l.area(paid, call, ret, step{do: book, owner: id, n: places.Units, op: paid})
	}
}
