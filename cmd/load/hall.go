package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// show is a show as the API tells it.
type show struct {
	ShowID                  string
	Status                  string
	SoldOut, SaleOpen       bool
	StartsAt                time.Time
	HoldSeconds             int
	MaxPlacesPerReservation int
	ExternalRef             string
	Venue                   struct{ Name string }
	Queue                   struct{ Open bool }
	Prices                  []struct{ Amount int64 }
	Availability            struct{ Available, Capacity int }
}

// name is what people know it by.
func (s *show) name() string {
	return strings.TrimSpace(strings.Join([]string{s.ShowID, s.ExternalRef, s.Venue.Name}, " "))
}

// whyNot says why nobody can buy here; empty: they can.
func (s *show) whyNot() string {
	switch {
	case !s.SaleOpen:
		return "is not on sale (" + s.Status + ")"
	case s.SoldOut:
		return "is sold out"
	}
	return ""
}

// seat is a place in the plan.
type seat struct {
	SeatID, Label, Section, Row, Kind, Status string
}

// availability is what is free: a letter a seat, in the order of the plan.
type availability struct {
	Version                                    int64
	Capacity, Available, Held, Booked, Blocked int
	Statuses                                   string
	Categories                                 []struct{ Capacity, Available, Held, Booked, Blocked int }
	Areas                                      []area
}

type area struct {
	AreaID, Name                      string
	Capacity, Available, Held, Booked int
}

// hall is where the show is: its seats, and which of them lie side by side.
type hall struct {
	show   show
	seats  []seat
	before availability
	pays   bool // there is something to be paid
	// blocks[n] are all ways to sit n side by side, the best first: each is the
	// seats' numbers in the plan.
	blocks [placesMax + 1][][]int
}

// enter finds the show and reads its plan, once, as a page would keep it.
func enter(ctx context.Context, t *target, o *options) (*hall, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	h := new(hall)
	if err := h.find(ctx, t, o.Show); err != nil {
		return nil, err
	}
	path := "/shows/" + h.show.ShowID
	if len(o.Cards) > 0 {
		var offered struct {
			PaymentMethods []struct{ Method, Gateway string }
		}
		if err := t.read(ctx, path+"/payment-methods", &offered); err != nil {
			return nil, err
		}
		for _, p := range h.show.Prices {
			h.pays = h.pays || p.Amount > 0
		}
		i := slices.IndexFunc(offered.PaymentMethods, func(m struct{ Method, Gateway string }) bool { return m.Method == "card" })
		if h.pays && (i < 0 || offered.PaymentMethods[i].Gateway != "sandbox") {
			return nil, errors.New("cards are not paid at the sandbox gateway there, and a drill spends no money: set SANDBOX_URL (docs/settings.md), or buy nothing with --cards none")
		}
	}
	var seats struct{ Seats []seat }
	if err := t.read(ctx, path+"/seats", &seats); err != nil {
		return nil, err
	}
	h.seats = seats.Seats
	if err := t.read(ctx, path+"/availability", &h.before); err != nil {
		return nil, err
	}
	if len(h.before.Statuses) != len(h.seats) {
		return nil, fmt.Errorf("the map has %d seats, and statuses has %d letters", len(h.seats), len(h.before.Statuses))
	}
	h.arrange(min(o.Places, h.show.MaxPlacesPerReservation))
	return h, nil
}

// find reads the show, or takes the first that is on sale.
func (h *hall) find(ctx context.Context, t *target, id string) error {
	if id != "" {
		a, err := t.ask(ctx, caller{}, request{step: stepCheck, method: http.MethodGet, path: "/shows/" + url.PathEscape(id)})
		switch {
		case err != nil:
			return err
		case a.status != http.StatusOK:
			return &unexpected{"--show " + id, a}
		}
		if err := a.decode(&h.show); err != nil {
			return err
		}
		if why := h.show.whyNot(); why != "" {
			return fmt.Errorf("show %s %s", h.show.name(), why)
		}
		return nil
	}
	var list struct{ Shows []show }
	if err := t.read(ctx, "/shows?limit=200", &list); err != nil {
		return err
	}
	var seen strings.Builder
	for _, s := range list.Shows {
		why := s.whyNot()
		if why == "" {
			h.show = s
			return nil
		}
		fmt.Fprintf(&seen, "\n  %s %s", s.name(), why)
	}
	if len(list.Shows) == 0 {
		return errors.New("there are no shows: rowlock demo makes some, or POST /shows one and publish it")
	}
	return fmt.Errorf("no show is on sale; publish or resume one, or make one with POST /shows. There are:%s", seen.String())
}

func (h *hall) title() string {
	return fmt.Sprintf("Show %s: %d of %d places are free", h.show.name(), h.before.Available, h.before.Capacity)
}

// arrange finds the blocks of up to most seats. Rows are as good as they are
// near the front, which is where the plan begins, and seats as they are near
// the middle: the edge of the first row is worth the middle of the fourth.
func (h *hall) arrange(most int) {
	const edge = 3 // rows
	var rows [][]int
	rowOf := map[[2]string]int{}
	for i, s := range h.seats {
		if s.Kind != "standard" {
			continue // kept for those who need it
		}
		name := [2]string{s.Section, s.Row}
		r, ok := rowOf[name]
		if !ok {
			r = len(rows)
			rowOf[name] = r
			rows = append(rows, nil)
		}
		rows[r] = append(rows[r], i)
	}
	type ranked struct {
		seats []int
		score float64
	}
	for n := 1; n <= most; n++ {
		var all []ranked
		for r, row := range rows {
			middle := float64(len(row)-1) / 2
			for from := 0; from+n <= len(row); from++ {
				off := math.Abs(float64(from)+float64(n-1)/2-middle) / max(1, middle)
				all = append(all, ranked{row[from : from+n], float64(r) + edge*off})
			}
		}
		slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(a.score, b.score) })
		h.blocks[n] = make([][]int, len(all))
		for i := range all {
			h.blocks[n][i] = all[i].seats
		}
	}
}

// choose picks n free seats side by side, or fewer if there are no such; nil
// when nothing is free. The best are the likeliest: on average buyers pass over
// a share of what is free, which is spread.
func (h *hall) choose(statuses string, n int, spread share, rng *rand.Rand) []int {
	for ; n > 0; n-- {
		free := 0
		for _, b := range h.blocks[n] {
			if isFree(statuses, b) {
				free++
			}
		}
		if free == 0 {
			continue
		}
		pick := rng.IntN(free)
		if spread < 1 {
			pick = int(rng.ExpFloat64()*float64(spread)*float64(free)) % free
		}
		for _, b := range h.blocks[n] {
			if isFree(statuses, b) {
				if pick == 0 {
					return b
				}
				pick--
			}
		}
	}
	return nil
}

func isFree(statuses string, block []int) bool {
	for _, i := range block {
		if statuses[i] != 'a' {
			return false
		}
	}
	return true
}

// chooseUnits picks an area with room, where there are no seats to be had; the
// first is the best. Empty: there is none.
func (v *availability) chooseUnits(n int) (areaID string, units int) {
	for _, a := range v.Areas {
		if a.Available > 0 {
			return a.AreaID, min(n, a.Available)
		}
	}
	return "", 0
}
