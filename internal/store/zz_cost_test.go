package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/store"
)

func TestZZCost(t *testing.T) {
	for _, waiting := range []int{0, 10, 100_000} {
		s := openShop(t, fixture.Options{Seats: 20000, RowLength: 100, Edit: func(n *store.NewShow) { n.MaxPlacesPerReservation = 10 }})
		var holds []*store.ReservationView
		// 400 pairs held by ann, the rest by two staff holds
		for i := range 400 {
			v, err := s.place(t.Context(), fmt.Sprint("ann", i), 0, 2*i, 2*i+1)
			if err != nil {
				t.Fatal(err)
			}
			holds = append(holds, v)
		}
		for _, part := range [][2]int{{800, 10800}, {10800, 20000}} {
			req := store.PlaceRequest{ShowID: s.ID, CustomerID: "crowd"}
			for i := part[0]; i < part[1]; i++ {
				req.Seats = append(req.Seats, store.SeatRef{ID: s.Seats[i].ID})
			}
			if _, _, err := s.PlaceReservation(t.Context(), boxoffice.Actor{Staff: true, CustomerID: "crowd", Name: "staff"}, new(fixture.Key()), req); err != nil {
				t.Fatal(err)
			}
		}
		if waiting > 0 {
			if _, err := s.pool.Exec(t.Context(), `insert into waitlist_entries (show_id, entry_id, organisation_id, customer_id, entry_no, party_size, categories, status, joined_at)
				select $1, gen_random_uuid(), organisation_id, 'w-' || i, -1000000 + i, 1 + i % 6,
				  case i % 5 when 0 then '{Front}'::text[] when 1 then '{Back}' when 2 then '{Front,Back}' else '{}' end, 'waiting', clock_timestamp()
				  from shows, generate_series(1, $2::int) as i where show_id = $1`, s.ID, waiting); err != nil {
				t.Fatal(err)
			}
			if _, err := s.pool.Exec(t.Context(), `update show_heads set waiting = $2 where show_id = $1`, s.ID, waiting); err != nil {
				t.Fatal(err)
			}
		}
		var refused, released []time.Duration
		for i := range 300 {
			at := time.Now()
			if _, err := s.place(t.Context(), "bob", 0, 5000+i); boxoffice.CodeOf(err) != boxoffice.CodeSeatAlreadyReserved {
				t.Fatal(err)
			}
			refused = append(refused, time.Since(at))
			at = time.Now()
			if _, _, err := s.ReleaseReservation(t.Context(), boxoffice.Actor{CustomerID: holds[i].CustomerID, Name: "x"}, new(fixture.Key()), holds[i].ID); err != nil {
				t.Fatal(err)
			}
			released = append(released, time.Since(at))
		}
		slices.Sort(refused)
		slices.Sort(released)
		offers := s.count(t, "select count(*) from waitlist_entries where show_id = $1 and status = 'offered'", s.ID)
		t.Logf("%d wait: refused p50 %v p99 %v, released p50 %v p99 %v, %d offers", waiting, refused[150], refused[297], released[150], released[297], offers)
		if waiting == 0 {
			continue
		}
		id := s.count(t, "select 1")
		_ = id
		var entryID string
		s.pool.QueryRow(t.Context(), "select entry_id from waitlist_entries where show_id=$1 and status='waiting' order by entry_no desc limit 1", s.ID).Scan(&entryID)
		var joins []time.Duration
		for i := range 100 {
			at := time.Now()
			join(t, s.Store, s.ID, fmt.Sprint("j", i), 2)
			joins = append(joins, time.Since(at))
		}
		slices.Sort(joins)
		t.Logf("joins (and read with position) p50 %v p99 %v", joins[50], joins[98])
		// much is on sale: somebody waits for Front only
	}
	s := openShop(t, fixture.Options{Seats: 20000, RowLength: 100, Edit: func(n *store.NewShow) { n.MaxPlacesPerReservation = 10 }})
	req := store.PlaceRequest{ShowID: s.ID, CustomerID: "crowd"}
	for i := 0; i < 10000; i++ {
		req.Seats = append(req.Seats, store.SeatRef{ID: s.Seats[i].ID})
	}
	if _, _, err := s.PlaceReservation(t.Context(), boxoffice.Actor{Staff: true, CustomerID: "crowd", Name: "staff"}, new(fixture.Key()), req); err != nil {
		t.Fatal(err)
	}
	for _, waits := range []bool{false, true} {
		if waits {
			join(t, s.Store, s.ID, "vip", 2, "Front")
		}
		var placed, released []time.Duration
		for i := range 300 {
			at := time.Now()
			v, err := s.place(t.Context(), fmt.Sprint("bob", i), 0, 15000+i)
			if err != nil {
				t.Fatal(err)
			}
			placed = append(placed, time.Since(at))
			at = time.Now()
			if _, _, err := s.ReleaseReservation(t.Context(), boxoffice.Actor{CustomerID: v.CustomerID, Name: "x"}, new(fixture.Key()), v.ID); err != nil {
				t.Fatal(err)
			}
			released = append(released, time.Since(at))
		}
		slices.Sort(placed)
		slices.Sort(released)
		t.Logf("half on sale, waits %v: placed p50 %v p99 %v, released p50 %v p99 %v", waits, placed[150], placed[297], released[150], released[297])
	}
}
