package main

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// offerSeconds is how long an offer of the waitlist lasts: short, so that many
// lapse and pass on.
const offerSeconds = 3

// waitMax is how long who waits for places waits before they leave.
const waitMax = 6 * time.Second

// listedEntry is an entry of a waitlist as answers tell it.
type listedEntry struct {
	EntryID, CustomerID string
	Status              string
	PartySize           int
	Categories          []string
	Position            int64
	Available           int
	Offer               *listedOffer
}

type listedOffer struct {
	ReservationID        string
	OfferedAt, ExpiresAt time.Time
}

// tells notes in o what an answer says about an entry.
func (e *listedEntry) tells(o *Op) {
	o.Entry, o.EntryIs, o.Position, o.Party, o.Wanted = e.EntryID, e.Status, e.Position, e.PartySize, e.Categories
	if e.Offer != nil {
		o.Reservation = e.Offer.ReservationID
	}
}

// waiter waits for places of the show that is sold out until ctx ends. stop
// ends even what is not answered.
func (c *client) waiter(ctx, stop context.Context, r *round) {
	among := r.among(func(sh *show) bool { return sh.wanted })
	for n := uint64(0); ctx.Err() == nil; n++ {
		v := newVisit(c, r, n, among)
		v.waitlist(ctx, stop)
		rest(ctx, time.Duration(v.plan.IntN(200))*time.Millisecond)
	}
}

// waitlist is a visit of a party that comes when all is taken. It sees to that:
// friends take what is left, and let go of some of it.
func (v *visit) waitlist(ctx, stop context.Context) {
	sizes := [...]int{1, 1, 2, 2, 3}
	party := sizes[v.plan.IntN(len(sizes))]
	wanted := [...][]string{nil, nil, {"Seats"}, {"Floor"}, {"Floor", "Seats"}}[v.plan.IntN(5)]
	friends := v.fill(stop)
	e := v.enlist(stop, party, wanted)
	if e == nil {
		return
	}
	for _, f := range friends {
		if v.chance(50) {
			f.visit.release(stop, f.hold)
		}
	}
	if v.chance(8) {
		v.delist(stop, e)
		return
	}
	patience, cancel := context.WithTimeout(ctx, waitMax)
	defer cancel()
	for e.Status == "waiting" && patience.Err() == nil {
		rest(patience, time.Duration(100+v.plan.IntN(300))*time.Millisecond)
		e = v.readOffer(stop, e)
	}
	switch {
	case e.Status == "offered":
		v.answer(ctx, stop, e)
	case v.chance(70): // else it goes on, without them
		v.delist(stop, e)
	}
}

// friend holds places that somebody waits for.
type friend struct {
	visit *visit
	hold  *hold
}

// fill holds what is free, for one friend each time.
func (v *visit) fill(ctx context.Context) (friends []friend) {
	m := v.lookAround(ctx)
	for m.Statuses == "" && ctx.Err() == nil {
		m = v.lookAround(ctx) // at one that shows seats
	}
	var seats []int
	for i := range m.Statuses {
		if m.Statuses[i] == 'a' {
			seats = append(seats, i)
		}
	}
	take := func(seats []int, units int) {
		f := *v
		f.customer = newID(v.plan).String()
		if h := f.place(ctx, seats, units, ""); h != nil {
			friends = append(friends, friend{&f, h})
		}
	}
	if len(seats) > 0 {
		take(seats, 0)
	}
	if m.Free > 0 {
		take(nil, m.Free)
	}
	return friends
}

func (v *visit) enlist(ctx context.Context, party int, wanted []string) *listedEntry {
	o := v.op(enlist)
	o.Party, o.Wanted = party, wanted
	body := object{"partySize": party, "buyer": object{"name": "Grace Hopper", "email": "grace@example.org"}}
	if wanted != nil {
		body["categories"] = wanted
	}
	req := request{method: http.MethodPost, path: "/shows/" + v.show.id + "/waitlist", customer: v.customer, key: newKey(v.plan), body: body}
	if v.chance(10) {
		req.patience = 1
	}
	again := v.chance(15)
	var e listedEntry
	a := v.send(ctx, o, req, &e)
	if o.ok() {
		e.tells(o)
	}
	v.done(ctx, o, req, a, again)
	if !o.ok() {
		return nil
	}
	return &e
}

func (v *visit) delist(ctx context.Context, e *listedEntry) {
	o := v.op(delist)
	o.Entry = e.EntryID
	req := request{method: http.MethodDelete, path: "/waitlist/" + e.EntryID, customer: v.customer, key: newKey(v.plan)}
	again := v.chance(20)
	a := v.send(ctx, o, req, nil)
	v.done(ctx, o, req, a, again)
}

// readOffer reads an entry of the waitlist.
func (v *visit) readOffer(ctx context.Context, old *listedEntry) *listedEntry {
	o := v.op(look)
	o.What, o.Entry = "waitlist entry", old.EntryID
	var e listedEntry
	a := v.send(ctx, o, request{method: http.MethodGet, path: "/waitlist/" + old.EntryID, customer: v.customer}, &e)
	if o.ok() {
		e.tells(o)
	}
	v.h.add(o)
	if !o.ok() {
		if o.known() {
			v.t.found("entry %s of the waitlist was acknowledged, and then read as %d %s", old.EntryID, a.status, a.problem.Code)
		}
		return old
	}
	return &e
}

// answer does with an offer what people do.
func (v *visit) answer(ctx, stop context.Context, e *listedEntry) {
	h := &hold{id: e.Offer.ReservationID, ends: e.Offer.ExpiresAt, total: -1}
	r, ok := v.read(stop, h)
	if !ok {
		return
	}
	for _, s := range r.Seats {
		h.seats = append(h.seats, v.show.index[s.SeatID])
	}
	h.units = r.units()
	if len(h.seats)+h.units != e.PartySize || r.WaitlistEntryID != e.EntryID {
		v.t.found("entry %s of the waitlist waits for %d places and was offered %d by reservation %s, which says that it is the offer of %q", e.EntryID, e.PartySize, len(h.seats)+h.units, h.id, r.WaitlistEntryID)
	}
	switch n := v.plan.IntN(100); {
	case n < 45:
		v.pay(stop, h, v.token(), newKey(v.plan), v.chance(10))
		v.settle(stop, h)
	case n < 60:
		v.release(stop, h)
	case n < 70:
		v.delist(stop, e)
	case n < 85:
		return // others see what becomes of it
	default:
		rest(ctx, time.Until(h.ends)+50*time.Millisecond)
	}
	v.readOffer(stop, e)
}

// side is where a waitlist's categories are, by the names of package cluster.
func side(wanted []string) (seats, floor bool) {
	all := strings.Join(wanted, " ")
	return wanted == nil || strings.Contains(all, "Seats"), wanted == nil || strings.Contains(all, "Floor")
}
