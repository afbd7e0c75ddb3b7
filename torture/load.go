package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// holdSecondsMax is how long a hold may be in the shows that are sold here:
// short, so that many end by themselves.
const holdSecondsMax = 8

// visit is what a client does with one show: a customer with a name of their
// own, from a plan that is drawn from the seed before the first request.
type visit struct {
	*client
	h        *history
	show     *show
	at       int // the show's index
	plan     *rand.Rand
	customer string
	pass     *pass // what is shown for a turn, where there is a waiting room
}

// newVisit draws the n-th visit of a client in a round, to one of some shows.
func newVisit(c *client, r *round, n uint64, among []int) *visit {
	plan := rand.New(rand.NewPCG(c.t.seed, uint64(r.n)<<40|uint64(c.id)<<24|n))
	at := among[plan.IntN(len(among))]
	return &visit{client: c, h: r.history, show: r.shows[at], at: at, plan: plan, customer: newID(plan).String()}
}

// buyer visits until ctx ends. stop ends even what is not answered.
func (c *client) buyer(ctx, stop context.Context, r *round) {
	among := r.among(func(sh *show) bool { return !sh.crowded })
	for n := uint64(0); ctx.Err() == nil; n++ {
		v := newVisit(c, r, n, among)
		v.buy(stop)
		rest(ctx, time.Duration(v.plan.IntN(60))*time.Millisecond)
	}
}

func (v *visit) chance(percent int) bool { return v.plan.IntN(100) < percent }

// want draws seats side by side, or units of the area, or both.
func (v *visit) want() (seats []int, units int) {
	if v.show.floor > 0 && v.chance(35) {
		units = 1 + v.plan.IntN(3)
		if v.chance(70) {
			return nil, units
		}
	}
	n := 1 + v.plan.IntN(3-min(units, 1))
	first := v.plan.IntN(len(v.show.seats) - n + 1)
	for i := range n {
		seats = append(seats, first+i)
	}
	return seats, units
}

// hold is what a visitor has.
type hold struct {
	id    string
	seats []int
	units int
	block string // it is sold from
	ends  time.Time
	total int64 // what it costs; -1: that was not told
}

type object = map[string]any

func (v *visit) seatList(seats []int) []object {
	list := make([]object, len(seats))
	for i, s := range seats {
		list[i] = object{"seatId": v.show.seats[s]}
		if i%2 == 1 {
			list[i] = object{"label": v.show.label[s]}
		}
	}
	return list
}

func (v *visit) areaList(units int, partial bool) []object {
	if units == 0 {
		return nil
	}
	return []object{{"areaId": v.show.area, "quantity": units, "allowPartial": partial}}
}

// reservation is what an answer says about one.
type reservation struct {
	ReservationID string
	Status        string
	Seats         []struct {
		SeatID uuid.UUID
		Price  int64
	}
	Areas []struct {
		Quantity int
		Price    int64
	}
	TotalAmount int64
	ExpiresAt   time.Time
	BookingID   string
	// WaitlistEntryID is whose offer it is.
	WaitlistEntryID string
}

func (r *reservation) units() int {
	n := 0
	for _, a := range r.Areas {
		n += a.Quantity
	}
	return n
}

// op begins an operation, to be written down when done is called.
func (v *visit) op(do verb) *Op { return &Op{Do: do, Show: v.at} }

// send asks on behalf of the visitor and writes it down.
func (v *visit) send(ctx context.Context, o *Op, req request, into any) *answer {
	if req.method != http.MethodGet && req.key == "" {
		req.key = newKey(v.plan)
	}
	a := v.ask(ctx, o, req)
	if version, err := strconv.ParseInt(a.header.Get("Show-Version"), 10, 64); err == nil {
		o.Version = version
		v.show.tell(version)
	}
	p := &a.problem
	if len(p.UnavailableSeats) > 0 {
		o.Taken = map[int]string{}
		for _, s := range p.UnavailableSeats {
			o.Taken[v.show.index[s.SeatID]] = s.Status
		}
	}
	if len(p.Areas) > 0 {
		o.Left = &p.Areas[0].Available
	}
	if p.Code == boxoffice.CodeTooManySeats && p.Limit > 0 {
		o.Terms = &terms{Most: p.Limit}
	}
	if p.InUse != nil {
		o.Left = p.InUse
	}
	if !p.ExpiresAt.IsZero() {
		o.Ends = v.h.on(p.ExpiresAt)
	}
	o.Booking = max(o.Booking, p.BookingID)
	if a.ok() && into != nil {
		if err := json.Unmarshal(a.body, into); err != nil {
			v.t.found("%s %s: the answer cannot be read: %v", req.method, req.path, err)
		}
	}
	return a
}

// done writes an operation down, and sends a request that was answered once
// more, if the plan says so.
func (v *visit) done(ctx context.Context, o *Op, req request, a *answer, again bool) {
	v.h.add(o)
	if again && o.ok() {
		v.again(ctx, req, a)
	}
}

// place holds places. From a block staff does it.
func (v *visit) place(ctx context.Context, seats []int, units int, fromBlock string) *hold {
	ttl := 2 + v.plan.IntN(holdSecondsMax-1)
	body := object{"showId": v.show.id, "ttlSeconds": ttl, "metadata": object{"visit": v.customer[:8]}}
	if len(seats) > 0 {
		body["seats"] = v.seatList(seats)
	}
	if units > 0 {
		body["areas"] = v.areaList(units, v.chance(30))
	}
	req := request{method: http.MethodPost, path: "/reservations", customer: v.customer, key: newKey(v.plan), body: body}
	if v.chance(10) {
		req.patience = 1
	}
	if fromBlock != "" {
		body["fromBlockId"], body["customerId"], req.customer = fromBlock, v.customer, ""
	}
	o := v.op(place)
	o.Seats, o.Units, o.TTL, o.Block, o.Places = seats, units, ttl, fromBlock, len(seats)+units
	if p := v.pass; p != nil {
		req.header = map[string]string{"X-Queue-Token": p.token}
		o.Pass, o.Entry, o.Admitted, o.TurnEnds = p.whose, p.entry, p.admitted, p.ends
	}
	var r reservation
	again, elsewhere := v.chance(8), v.chance(15)
	a := v.send(ctx, o, req, &r)
	o.Customer = v.customer
	if o.ok() {
		o.Reservation, o.Ends, o.Units = r.ReservationID, v.h.on(r.ExpiresAt), r.units()
		if len(r.Seats) != len(seats) {
			v.t.found("a hold of %d seats was answered with %d: %s", len(seats), len(r.Seats), brief(a.body))
		}
		v.costs(o, &r, seats)
	}
	v.done(ctx, o, req, a, again)
	if !o.ok() {
		return nil
	}
	// The hold's length is exact, and counted from when it was made.
	if made := o.Ends - int64(ttl)*1e6; v.t.clockRight() && (made < o.Call-slack || made > o.Return+slack) {
		v.t.found("reservation %s of %s ends %d seconds after %.3f s, and was asked for from %.3f to %.3f s", r.ReservationID, v.show.title, ttl, float64(made)/1e6, float64(o.Call)/1e6, float64(o.Return)/1e6)
	}
	h := &hold{id: r.ReservationID, seats: seats, units: r.units(), block: fromBlock, ends: r.ExpiresAt, total: r.TotalAmount}
	if elsewhere {
		v.read(ctx, h)
	}
	return h
}

// costs notes in o what the answer says that seats, which are new in the
// reservation, and the floor cost now, and sees that it adds up.
func (v *visit) costs(o *Op, r *reservation, fresh []int) {
	var sum int64
	t := terms{}
	for _, s := range r.Seats {
		sum += s.Price
		if slices.Contains(fresh, v.show.index[s.SeatID]) {
			if t.Seat != 0 && t.Seat != s.Price {
				v.t.found("seats of reservation %s were held at once, for %d and for %d", r.ReservationID, t.Seat, s.Price)
			}
			t.Seat = s.Price
		}
	}
	for _, a := range r.Areas {
		sum += int64(a.Quantity) * a.Price
		if o.Do == place {
			t.Floor = a.Price
		}
	}
	if o.Terms = &t; sum != r.TotalAmount {
		v.t.found("reservation %s costs %d in all and %d in its parts", r.ReservationID, r.TotalAmount, sum)
	}
}

// costs sees that what is paid is what was said when it was held.
func (h *hold) costs(v *visit, what string, total int64) {
	if h.total >= 0 && total != h.total {
		v.t.found("reservation %s was held for %d, and its %s costs %d", h.id, h.total, what, total)
	}
}

// read reads a hold: whoever was told that there is one must find it, on any
// instance.
func (v *visit) read(ctx context.Context, h *hold) (r reservation, ok bool) {
	o := v.op(look)
	o.What, o.Reservation = "reservation", h.id
	a := v.send(ctx, o, request{method: http.MethodGet, path: "/reservations/" + h.id, customer: v.customer}, &r)
	v.h.add(o)
	if o.known() && a.status != http.StatusOK {
		v.t.found("reservation %s was acknowledged, and then read as %d %s", h.id, a.status, a.problem.Code)
	}
	if a.ok() {
		h.costs(v, "reservation", r.TotalAmount)
	}
	return r, a.ok()
}

// choose moves a wish to where the map shows free seats, if it does anywhere.
func (v *visit) choose(seats []int, statuses string) []int {
	for i := range len(statuses) {
		first := (seats[0] + i) % len(statuses)
		if end := first + len(seats); end <= len(statuses) && strings.Trim(statuses[first:end], "a") == "" {
			moved := make([]int, len(seats))
			for j := range moved {
				moved[j] = first + j
			}
			return moved
		}
	}
	return seats
}

// buy is a visit from its beginning to its end.
func (v *visit) buy(ctx context.Context) {
	seats, units := v.want()
	looks, follows := v.chance(50), v.chance(70)
	if looks {
		if m := v.lookAround(ctx); follows && m != nil && len(seats) > 0 && m.Statuses != "" {
			seats = v.choose(seats, m.Statuses)
		}
	}
	h := v.place(ctx, seats, units, "")
	if h == nil {
		return
	}
	if v.chance(12) {
		v.change(ctx, h)
	}
	if v.chance(12) {
		v.extend(ctx, h)
	}
	rest(ctx, time.Duration(v.plan.IntN(200))*time.Millisecond)
	switch n := v.plan.IntN(100); {
	case n < 18:
		v.release(ctx, h)
	case n < 34: // the hold is let go
		v.outlast(ctx, h)
	case n < 42:
		v.confirm(ctx, h, "cash")
	case n < 50: // two windows of a browser
		tokens := [2]string{v.token(), v.token()}
		keys := [2]string{newKey(v.plan), newKey(v.plan)}
		var both sync.WaitGroup
		for i := range tokens {
			both.Go(func() { v.pay(ctx, h, tokens[i], keys[i], false) })
		}
		both.Wait()
		v.settle(ctx, h)
	default:
		v.pay(ctx, h, v.token(), newKey(v.plan), v.chance(8))
		v.settle(ctx, h)
	}
}

// outlast waits until a hold is over and sees that it is.
func (v *visit) outlast(ctx context.Context, h *hold) {
	if !v.chance(30) {
		return // others see it
	}
	rest(ctx, time.Until(h.ends)+5*time.Millisecond)
	if r, ok := v.read(ctx, h); ok && r.Status == "active" && v.t.clockRight() && time.Since(r.ExpiresAt) > time.Second {
		v.t.found("reservation %s ended at %v and was active at %v", h.id, r.ExpiresAt, time.Now())
	}
	// It can no longer be paid, nor extended.
	v.extend(ctx, h)
}

func (v *visit) change(ctx context.Context, h *hold) {
	o := v.op(change)
	o.Reservation = h.id
	body := object{}
	spare := v.plan.IntN(len(v.show.seats))
	if !slices.Contains(h.seats, spare) && len(h.seats)+h.units < 5 {
		o.Seats, o.Places = []int{spare}, len(h.seats)+h.units+1
		body["add"] = object{"seats": v.seatList(o.Seats)}
	}
	if len(h.seats) > 1 || len(h.seats) == 1 && o.Seats != nil {
		o.Back = h.seats[:1]
		o.Places = max(0, o.Places-1)
		body["remove"] = object{"seats": v.seatList(o.Back)}
	}
	if len(body) == 0 {
		return
	}
	req := request{method: http.MethodPatch, path: "/reservations/" + h.id, customer: v.customer, key: newKey(v.plan), body: body}
	again := v.chance(10)
	var r reservation
	a := v.send(ctx, o, req, &r)
	if o.ok() {
		v.costs(o, &r, o.Seats)
		h.seats, h.total = slices.Concat(h.seats[len(o.Back):], o.Seats), r.TotalAmount
	} else if !o.known() || o.Doubt {
		h.total = -1
	}
	v.done(ctx, o, req, a, again)
}

func (v *visit) extend(ctx context.Context, h *hold) {
	o := v.op(extend)
	o.Reservation, o.Seats, o.Units = h.id, h.seats, h.units
	req := request{method: http.MethodPost, path: "/reservations/" + h.id + "/extend", customer: v.customer, key: newKey(v.plan)}
	again := v.chance(10)
	var r reservation
	a := v.send(ctx, o, req, &r)
	if o.ok() {
		o.Ends, h.ends = v.h.on(r.ExpiresAt), r.ExpiresAt
	}
	v.done(ctx, o, req, a, again)
}

func (v *visit) release(ctx context.Context, h *hold) {
	o := v.op(release)
	o.Reservation = h.id
	req := request{method: http.MethodDelete, path: "/reservations/" + h.id, customer: v.customer, key: newKey(v.plan)}
	if v.chance(20) {
		req.patience = 1
	}
	again := v.chance(20)
	a := v.send(ctx, o, req, nil)
	v.done(ctx, o, req, a, again)
}

// lookAround reads the map in one of its forms.
func (v *visit) lookAround(ctx context.Context) *seen {
	o := v.op(look)
	known := v.show.told()
	seenMap := &seen{Held: -1}
	req := request{method: http.MethodGet, customer: v.customer}
	switch v.plan.IntN(3) {
	case 0:
		o.What, req.path = "seats", "/shows/"+v.show.id+"/seats"
		var m struct {
			Version int64
			AsOf    time.Time
			Stale   bool
			Seats   []struct{ Status string }
			Areas   []struct{ Capacity, Available int }
		}
		v.send(ctx, o, req, &m)
		seenMap.Version, seenMap.AsOf, seenMap.Stale = m.Version, m.AsOf.UnixNano(), m.Stale
		for _, s := range m.Seats {
			seenMap.Statuses += letters[s.Status]
		}
		for _, a := range m.Areas {
			seenMap.Capacity, seenMap.Free = a.Capacity, a.Available
		}
	case 1:
		o.What, req.path = "availability", fmt.Sprintf("/shows/%s/availability?minVersion=%d", v.show.id, known)
		var m struct {
			Version  int64
			AsOf     time.Time
			Stale    bool
			Statuses string
			Areas    []struct{ Capacity, Available, Held, Booked int }
		}
		v.send(ctx, o, req, &m)
		seenMap.Version, seenMap.AsOf, seenMap.Stale, seenMap.Statuses = m.Version, m.AsOf.UnixNano(), m.Stale, m.Statuses
		for _, a := range m.Areas {
			seenMap.Capacity, seenMap.Free, seenMap.Held, seenMap.Booked = a.Capacity, a.Available, a.Held, a.Booked
		}
	default:
		if v.show.floor == 0 {
			return nil
		}
		o.What, req.path = "area", fmt.Sprintf("/shows/%s/areas/%s/availability", v.show.id, v.show.area)
		var m struct {
			Version                                         int64
			AsOf                                            time.Time
			Stale                                           bool
			Capacity, Booked, ActiveReservations, Available int
		}
		v.send(ctx, o, req, &m)
		*seenMap = seen{Version: m.Version, AsOf: m.AsOf.UnixNano(), Stale: m.Stale, Held: m.ActiveReservations, Booked: m.Booked, Capacity: m.Capacity, Free: m.Available}
	}
	if o.ok() {
		o.Map = seenMap
		if seenMap.Version < known && !seenMap.Stale {
			v.t.found("somebody was told of version %d of %s, and later somebody was shown version %d", known, v.show.title, seenMap.Version)
		}
	}
	v.h.add(o)
	return o.Map
}

var letters = map[string]string{available: "a", held: "h", booked: "b", blocked: "x"}
