package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// staff looks after the shows: keeps seats off sale and sells them, pauses
// sales, changes capacities.
func (c *client) staff(ctx, stop context.Context, r *round) {
	among := r.among(func(*show) bool { return true })
	for n := uint64(0); ctx.Err() == nil; n++ {
		v := newVisit(c, r, n, among)
		if v.show.crowded && v.chance(30) {
			v.closeRoom(stop)
		}
		switch v.plan.IntN(7) {
		case 0, 1:
			v.blockSeats(stop)
		case 2:
			v.pauseSales(stop)
		case 3:
			v.resize(stop)
		case 4:
			v.amend(stop)
		case 5:
			v.mend(stop)
		default:
			v.lists(stop)
		}
		rest(ctx, time.Duration(50+v.plan.IntN(300))*time.Millisecond)
	}
}

func (v *visit) blockSeats(ctx context.Context) {
	seats, _ := v.want()
	if seats == nil {
		seats = []int{v.plan.IntN(len(v.show.seats))}
	}
	o := v.op(block)
	o.Seats = seats
	req := request{method: http.MethodPost, path: "/shows/" + v.show.id + "/seats/block", key: newKey(v.plan), body: object{"seats": v.seatList(seats), "reason": "camera"}}
	var b struct{ BlockID string }
	again := v.chance(20)
	a := v.send(ctx, o, req, &b)
	o.Block = b.BlockID
	v.done(ctx, o, req, a, again)
	if !o.ok() {
		return
	}
	rest(ctx, time.Duration(v.plan.IntN(300))*time.Millisecond)
	if v.chance(50) {
		if h := v.place(ctx, seats[:1], 0, b.BlockID); h != nil {
			switch v.plan.IntN(3) {
			case 0:
				v.confirm(ctx, h, "comp")
			case 1:
				v.release(ctx, h)
			}
		}
	}
	u := v.op(unblock)
	u.Seats, u.Block = seats, b.BlockID
	req = request{method: http.MethodPost, path: "/shows/" + v.show.id + "/seats/unblock", key: newKey(v.plan), body: object{"blockId": b.BlockID}}
	a = v.send(ctx, u, req, nil)
	v.done(ctx, u, req, a, false)
}

func (v *visit) pauseSales(ctx context.Context) {
	for _, do := range []verb{pause, resume} {
		o := v.op(do)
		req := request{method: http.MethodPost, path: "/shows/" + v.show.id + "/" + string(do), key: newKey(v.plan)}
		a := v.send(ctx, o, req, nil)
		v.done(ctx, o, req, a, false)
		rest(ctx, time.Duration(v.plan.IntN(100))*time.Millisecond)
	}
}

func (v *visit) resize(ctx context.Context) {
	if v.show.floor == 0 || v.show.wanted { // what is free there must follow from the log
		return
	}
	o := v.op(capacity)
	o.Capacity = max(1, v.show.floor-3+v.plan.IntN(7))
	req := request{method: http.MethodPatch, path: "/shows/" + v.show.id + "/areas/" + v.show.area.String(), key: newKey(v.plan), body: object{"capacity": o.Capacity}}
	a := v.send(ctx, o, req, nil)
	v.done(ctx, o, req, a, v.chance(20))
}

// amend changes what places cost, when the show begins, and how many places one
// may hold; that only where nobody waits for more.
func (v *visit) amend(ctx context.Context) {
	o, body := v.op(amend), object{}
	o.Terms = &terms{}
	if v.chance(60) {
		o.Terms.Seat = 1000 + 100*v.plan.Int64N(40)
		prices := []object{{"category": "Seats", "amount": o.Terms.Seat}}
		if v.show.floor > 0 {
			o.Terms.Floor = 1000 + 100*v.plan.Int64N(40)
			prices = append(prices, object{"category": "Floor", "amount": o.Terms.Floor})
		}
		body["prices"] = prices
	}
	if v.chance(30) {
		at := time.Unix(v.show.terms.Starts+int64(v.plan.IntN(86_400)), 0).UTC()
		o.Terms.Starts, body["startsAt"] = at.Unix(), at
	}
	if !v.show.wanted && (v.chance(40) || len(body) == 0) {
		o.Terms.Most = 2 + v.plan.IntN(mostPlaces-1)
		body["maxPlacesPerReservation"] = o.Terms.Most
	}
	if len(body) == 0 {
		return
	}
	req := request{method: http.MethodPatch, path: "/shows/" + v.show.id, key: newKey(v.plan), body: body}
	again := v.chance(20)
	a := v.send(ctx, o, req, nil)
	v.done(ctx, o, req, a, again)
}

// terms reads the terms of a show, and notes them in o.
func (c *client) terms(ctx context.Context, sh *show, o *Op) (*terms, error) {
	a := c.ask(ctx, o, request{method: http.MethodGet, path: "/shows/" + sh.id})
	if !a.ok() {
		return nil, fmt.Errorf("%s: answered %d %s", sh.title, a.status, a.problem.Code)
	}
	var is struct {
		StartsAt                time.Time
		MaxPlacesPerReservation int
		Prices                  []struct {
			Category string
			Amount   int64
		}
	}
	if err := json.Unmarshal(a.body, &is); err != nil {
		return nil, err
	}
	o.Terms = &terms{Most: is.MaxPlacesPerReservation, Starts: is.StartsAt.Unix()}
	for _, p := range is.Prices {
		if p.Category == "Seats" {
			o.Terms.Seat = p.Amount
		} else {
			o.Terms.Floor = p.Amount
		}
	}
	return o.Terms, nil
}

// lists reads what people at a desk read.
func (v *visit) lists(ctx context.Context) {
	for _, path := range []string{
		"/reservations?status=active&showId=" + v.show.id, "/bookings?showId=" + v.show.id,
		"/shows/" + v.show.id + "/admissions", "/changes?limit=20&showId=" + v.show.id,
	} {
		o := v.op(look)
		o.What = "list"
		v.send(ctx, o, request{method: http.MethodGet, path: path}, nil)
		v.h.add(o)
	}
	o := v.op(look)
	o.What = "show"
	if _, err := v.client.terms(ctx, v.show, o); err != nil && o.known() {
		v.t.found("%v", err)
	}
	v.h.add(o)
}
