package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
)

// offered marks holds that nobody asked for: offers of a waitlist.
const offered = "offer"

// offer is an entry of the log by which a waitlist's entry was given places.
func (e *entry) offer() bool { return e.Type == "reservation.created" && e.Reason == "waitlist" }

// offers adds the offers of a waitlist to the history, which nobody has asked
// for at any time: the lane made them when the places became free.
func (r *round) offers(at int, b *books) {
	sh := r.shows[at]
	made, of := map[string]*listed{}, map[string]string{} // by reservation; reservations by entry
	for i := range b.reservations {
		l := &b.reservations[i]
		made[l.ReservationID], of[l.WaitlistEntryID] = l, l.ReservationID
	}
	for _, o := range r.history.all() {
		if o.Show == at && o.Do == delist { // they may not have known what they let go of
			o.Reservation = of[o.Entry]
		}
	}
	var last time.Time
	for i := range b.log {
		e := &b.log[i]
		stands := !e.At.After(last) // a show's time never goes back: while the clock is behind, it stands
		last = e.At
		if !e.offer() {
			continue
		}
		id, when := e.Object.ReservationID, r.history.on(e.At)
		o := &Op{
			Client: r.auditor.id, Do: place, What: offered, Show: at, Call: when - slack, Return: when + slack, Tries: 1, Status: http.StatusCreated,
			Reservation: id, Ends: r.history.on(e.After.ExpiresAt), Version: e.Sequence,
		}
		if l := made[id]; l != nil {
			o.Customer, o.Entry = l.CustomerID, l.WaitlistEntryID
		}
		for _, s := range e.After.Seats {
			o.Seats = append(o.Seats, slices.Index(sh.label, s.Label))
		}
		for _, a := range e.After.Areas {
			o.Units += a.Units
		}
		for _, w := range r.wrong() {
			if stands || o.Return > w.from && o.Call < w.to+clockOffMax {
				o.Call, o.Return = 0, r.seen(id)
			}
		}
		r.history.add(o)
	}
}

// seen is when somebody had been told of a reservation, or now.
func (r *round) seen(reservation string) int64 {
	first := r.history.now()
	for _, o := range r.history.all() {
		if o.Reservation == reservation && o.ok() {
			first = min(first, o.Return)
		}
	}
	return first
}

// party is somebody on a waitlist, on the way through the log.
type party struct {
	*listedEntry
	since int64 // the version that it joined with
	waits bool
}

func (p *party) String() string {
	return fmt.Sprintf("entry %s (%d places of %v, since version %d)", p.EntryID, p.PartySize, p.Categories, p.since)
}

// vacant is how many places are free.
type vacant struct{ seats, floor int }

func (v vacant) String() string { return fmt.Sprintf("%d seats and %d units", v.seats, v.floor) }

// seat says whether a party could be given places: seats, or room on the floor,
// and not some of each.
func (v vacant) seat(p *party) bool {
	seats, floor := side(p.Categories)
	return seats && v.seats >= p.PartySize || floor && v.floor >= p.PartySize
}

// vacant counts what is free at a time: with holds that are over and not closed
// yet, or without.
func (b *board) vacant(sh *show, now time.Time, overdue bool) vacant {
	over := func(ends int64) bool { return overdue && ends <= now.UnixNano() }
	v := vacant{floor: sh.floor - b.booked}
	for i, s := range b.states {
		if s == 'a' || s == 'h' && over(b.ends[i]) {
			v.seats++
		}
	}
	for _, st := range b.units {
		if !over(st.ends) {
			v.floor -= st.n
		}
	}
	return v
}

// serving is a waitlist's way through the log of its show.
type serving struct {
	sh      *show
	list    []listedEntry // those who have not joined yet
	parties []*party
	selling bool
	offers  int
	tell    func(format string, args ...any)
}

// serve goes through the log of a show that people wait for, and says where
// somebody was given what others had waited for longer, or what was not free;
// where a buyer was; and where nobody was, though somebody waits to the end.
// list are those who ever waited, in the order of joining. It returns how many
// offers there were.
func serve(sh *show, log []entry, list []listedEntry, tell func(format string, args ...any)) int {
	s := &serving{sh: sh, list: list, selling: true, tell: tell}
	film := &reel{sh: sh, log: log}
	for rest := log; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Sequence == rest[0].Sequence {
			n++
		}
		before, _ := film.at(rest[0].Sequence - 1)
		s.version(before, rest[:n])
		rest = rest[n:]
	}
	if len(log) == 0 || !s.selling {
		return s.offers
	}
	b, _ := film.at(log[len(log)-1].Sequence)
	free := b.vacant(sh, time.Unix(0, math.MaxInt64), true)
	for _, p := range s.waiting() {
		if free.seat(p) {
			tell("%s of the waitlist of %s waits to the end, where %v are free", p, sh.title, free)
		}
	}
	return s.offers
}

func (s *serving) waiting() []*party {
	return slices.DeleteFunc(slices.Clone(s.parties), func(p *party) bool { return !p.waits })
}

// version takes what was logged together, on the board as it was before.
func (s *serving) version(before *board, log []entry) {
	if slices.ContainsFunc(log, func(e entry) bool { return e.offer() }) {
		s.offer(before, log)
		return
	}
	for i := range log {
		switch e := &log[i]; {
		case e.Type == "show.paused" || e.Type == "show.cancelled":
			s.selling = false
		case e.Type == "show.resumed":
			s.selling = true
		case e.Type == "waitlist.joined":
			s.join(before, e)
		case e.Type == "waitlist.left":
			for _, p := range s.parties {
				p.waits = p.waits && !strings.Contains(e.Note, p.EntryID)
			}
		case e.Reason == "buyer" && (e.Type == "reservation.created" || e.Type == "reservation.changed"):
			s.bought(before, e)
		}
	}
}

func (s *serving) join(before *board, e *entry) {
	if len(s.list) == 0 {
		s.tell("somebody joined the waitlist of %s (version %d) and is not on it", s.sh.title, e.Sequence)
		return
	}
	p := &party{&s.list[0], e.Sequence, true}
	s.list, s.parties = s.list[1:], append(s.parties, p)
	if free := before.vacant(s.sh, e.At, true); free.seat(p) {
		s.tell("%s joined the waitlist of %s while %v were free", p, s.sh.title, free)
	}
}

// offer takes a serving of the waitlist: the earliest first, whoever there are
// places for, and nobody else.
func (s *serving) offer(before *board, log []entry) {
	now, version := log[0].At, log[0].Sequence
	free := before.vacant(s.sh, now, true)
	given := map[string]*entry{} // by reservation
	for i := range log {
		if e := &log[i]; e.offer() {
			given[e.Object.ReservationID] = e
			s.offers++
		}
	}
	taken := map[int]bool{}
	for _, p := range s.waiting() {
		var e *entry
		if p.Offer != nil {
			e = given[p.Offer.ReservationID]
		}
		if e == nil {
			if free.seat(p) {
				s.tell("%s of the waitlist of %s was passed over at version %d, with %v free for it", p, s.sh.title, version, free)
			}
			continue
		}
		delete(given, p.Offer.ReservationID)
		p.waits = false
		for _, seat := range e.After.Seats {
			i := slices.Index(s.sh.label, seat.Label)
			is := before.states[i]
			if taken[i] || is != 'a' && (is != 'h' || before.ends[i] > now.UnixNano()) {
				s.tell("%s of the waitlist of %s was offered seat %s at version %d, where it is %q and reservation %s has it", p, s.sh.title, seat.Label, version, is, before.owners[i])
			}
			taken[i] = true
			free.seats--
		}
		for _, a := range e.After.Areas {
			if free.floor -= a.Units; free.floor < 0 {
				s.tell("%s of the waitlist of %s was offered %d units at version %d, %d more than were free", p, s.sh.title, a.Units, version, -free.floor)
			}
		}
	}
	for id := range given {
		s.tell("reservation %s of %s is an offer (version %d) to nobody who waited", id, s.sh.title, version)
	}
}

// bought takes a buyer's hold: nobody who waits could have had the places.
// Whoever wants what an overdue hold has, brings the waitlist in by that.
func (s *serving) bought(before *board, e *entry) {
	id, overdue, took := e.Object.ReservationID, false, 0
	for _, seat := range e.After.Seats {
		i := slices.Index(s.sh.label, seat.Label)
		if seat.Status == held && before.owners[i] != id {
			overdue = overdue || before.states[i] == 'h'
			took++
		}
	}
	for _, a := range e.After.Areas {
		if a.Units > 0 {
			overdue = overdue || a.Units > before.vacant(s.sh, e.At, false).floor
			took += a.Units
		}
	}
	if took == 0 || !s.selling {
		return
	}
	free := before.vacant(s.sh, e.At, overdue)
	for _, p := range s.waiting() {
		if free.seat(p) {
			s.tell("reservation %s of %s was placed (version %d, %s) past %s, which could have had %v", id, s.sh.title, e.Sequence, e.Type, p, free)
		}
	}
}

// served audits the waitlist of a show.
func (r *round) served(ctx context.Context, at int, b *books) error {
	sh := r.shows[at]
	list, err := pages[listedEntry](ctx, r.auditor, "/shows/"+sh.id+"/waitlist", "entries")
	if err != nil {
		return err
	}
	on := map[string]*listedEntry{}
	for i := range list {
		on[list[i].EntryID] = &list[i]
	}
	for _, o := range r.history.all() {
		if o.Show != at || !o.ok() || o.Do != enlist && o.Do != delist {
			continue
		}
		switch e := on[o.Entry]; {
		case e == nil:
			r.t.found("entry %s of the waitlist of %s was acknowledged (%s, client %d at %.3f s) and is lost", o.Entry, sh.title, o.Do, o.Client, seconds(o.Call))
		case o.Do == enlist && (e.PartySize != o.Party || e.CustomerID != o.Customer):
			r.t.found("entry %s of the waitlist of %s was acknowledged for %d places and customer %s, and is for %d and %s", o.Entry, sh.title, o.Party, o.Customer, e.PartySize, e.CustomerID)
		case o.Do == delist && (e.Status == "waiting" || e.Status == "offered"):
			r.t.found("entry %s left the waitlist of %s (client %d at %.3f s) and is %s", o.Entry, sh.title, o.Client, seconds(o.Call), e.Status)
		}
	}
	r.t.counts.offers.Add(int64(serve(sh, b.log, list, r.t.found)))
	return nil
}

// starving tells of somebody who waits for places that are free.
func (r *round) starving(ctx context.Context, sh *show) (string, error) {
	list, err := pages[listedEntry](ctx, r.auditor, "/shows/"+sh.id+"/waitlist?status=waiting", "entries")
	if err != nil || len(list) == 0 {
		return "", err
	}
	maps, err := r.writtenAll(ctx)
	if err != nil {
		return "", err
	}
	for i, m := range maps {
		free := vacant{strings.Count(m.letters, "a"), m.free}
		for j := range list {
			if p := (&party{listedEntry: &list[j]}); r.shows[i] == sh && m.status == "on_sale" && free.seat(p) {
				return fmt.Sprintf("entry %s of %s waits for %d places, and %v are free", p.EntryID, sh.title, p.PartySize, free), nil
			}
		}
	}
	return "", nil
}
