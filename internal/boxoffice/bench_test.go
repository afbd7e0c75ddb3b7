package boxoffice

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
)

const benchBatch = 256 // what a lane takes at most

// BenchmarkDecide decides batches of 256 commands on one show of 2,000 seats;
// an operation is one command. Loading is not measured.
func BenchmarkDecide(b *testing.B) {
	seat := func(i, n int) []SeatWant {
		var w []SeatWant
		for k := range n {
			w = append(w, SeatWant{No: int32((i*n + k) % 2000), TicketType: TicketTypeStandard})
		}
		return w
	}
	for _, c := range []struct {
		name  string
		place func(i int) *PlaceReservation
		taken bool // every seat, and every unit, by live holds
	}{
		{"AllSucceed/1seat", func(i int) *PlaceReservation { return &PlaceReservation{Seats: seat(i, 1)} }, false},
		{"AllSucceed/2seats", func(i int) *PlaceReservation { return &PlaceReservation{Seats: seat(i, 2)} }, false},
		{"AllSucceed/area", func(int) *PlaceReservation {
			return &PlaceReservation{Areas: []AreaWant{{No: 0, TicketType: TicketTypeStandard, Quantity: 2}}}
		}, false},
		{"AllRefused/1seat", func(i int) *PlaceReservation { return &PlaceReservation{Seats: seat(i, 1)} }, true},
		{"AllRefused/2seats", func(i int) *PlaceReservation { return &PlaceReservation{Seats: seat(i, 2)} }, true},
		{"AllRefused/area", func(int) *PlaceReservation {
			return &PlaceReservation{Areas: []AreaWant{{No: 0, TicketType: TicketTypeStandard, Quantity: 2}}}
		}, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			plan := &Plan{ID: id("bench"), Categories: []Category{{Name: "stalls"}, {Name: "floor"}}}
			for i := range int32(2000) {
				plan.Seats = append(plan.Seats, Seat{No: i, Label: fmt.Sprint(i)})
			}
			terms := &Terms{
				Status: ShowOnSale, StartsAt: noon.Add(time.Hour), Currency: "EUR", HoldSeconds: 900, MaxHoldSeconds: 1800, MaxPlacesPerReservation: 5,
				Prices: map[PriceKey]int64{{"stalls", "standard"}: 100, {"floor", "standard"}: 40}, Plan: plan.Index(),
			}
			cmds := make([]Command, benchBatch)
			for i := range cmds {
				do := c.place(i)
				do.ID, do.CustomerID = uuid.New(), fmt.Sprint("customer-", i)
				cmds[i] = Command{Key: &IdempotencyKey{Owner: do.CustomerID, Key: uuid.New()}, Actor: Actor{CustomerID: do.CustomerID, Name: do.CustomerID}, Do: do}
			}
			load := func() State {
				st := State{Terms: terms, Now: noon, Seats: map[int32]*SeatRow{}, Areas: map[int32]*AreaRow{0: {Category: "floor", Capacity: 1000}}, Reservations: map[uuid.UUID]*Reservation{}}
				for i := range cmds {
					for _, w := range cmds[i].Do.(*PlaceReservation).Seats {
						row := &SeatRow{No: w.No, State: 'a', Locked: true}
						if c.taken {
							row.State, row.ReservationID, row.HeldUntil, row.Holder, row.Locked = 'h', id("other"), noon.Add(time.Minute), HolderOf("other"), false
						}
						st.Seats[w.No] = row
					}
				}
				if c.taken {
					st.Areas[0].Held = 1000
				}
				return st
			}
			b.ReportAllocs()
			for done := 0; done < b.N; done += benchBatch {
				b.StopTimer()
				st := load()
				batch := cmds[:min(benchBatch, b.N-done)]
				b.StartTimer()
				outcomes, _ := Decide(st, batch)
				if (outcomes[0].Err != nil) != c.taken {
					b.Fatal(outcomes[0].Err)
				}
			}
		})
	}
}

// BenchmarkDecidePayments decides batches of 256 commands on one show of 2,000
// seats: attempts that begin, and such that succeed. An operation is one
// command. Loading is not measured.
func BenchmarkDecidePayments(b *testing.B) {
	plan := &Plan{ID: id("bench"), Categories: []Category{{Name: "stalls"}}}
	for i := range int32(2000) {
		plan.Seats = append(plan.Seats, Seat{No: i, Label: fmt.Sprint(i)})
	}
	terms := &Terms{
		Status: ShowOnSale, StartsAt: noon.Add(time.Hour), Currency: "EUR", HoldSeconds: 900, MaxHoldSeconds: 1800, MaxPlacesPerReservation: 5,
		Prices: map[PriceKey]int64{{"stalls", "standard"}: 100}, Plan: plan.Index(),
	}
	// load is a show in which each buyer holds two seats; begun says whether
	// they are paying.
	load := func(begun bool) (State, []Command) {
		st := State{
			Terms: terms, Now: noon.Add(time.Minute), Seats: map[int32]*SeatRow{}, Reservations: map[uuid.UUID]*Reservation{}, Bookings: map[uuid.UUID]*Booking{},
		}
		cmds := make([]Command, benchBatch)
		for i := range cmds {
			customer := fmt.Sprint("customer-", i)
			r := &Reservation{
				ID: uuid.New(), CustomerID: customer, Status: ReservationActive, CreatedAt: noon, ExpiresAt: noon.Add(15 * time.Minute),
				HoldSeconds: 900, Currency: "EUR",
			}
			for k := range int32(2) {
				no := int32(i)*2 + k
				r.Seats = append(r.Seats, SeatLine{no, TicketTypeStandard, 100})
				st.Seats[no] = &SeatRow{No: no, State: 'h', ReservationID: r.ID, HeldUntil: r.ExpiresAt, Holder: HolderOf(customer), Locked: true}
			}
			st.Reservations[r.ID] = r
			booking, payment := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
			if !begun {
				cmds[i] = Command{
					Key: &IdempotencyKey{Owner: customer, Key: uuid.New()}, Actor: Actor{CustomerID: customer, Name: customer},
					Do: &BeginPayment{
						ReservationID: r.ID, BookingID: booking, Reference: "CDEFGHJK", PaymentID: payment, Gateway: "sandbox", Method: "card",
						Buyer: &Buyer{Name: customer, Email: "a@example.org"},
					},
				}
				continue
			}
			r.BookingID = booking
			st.Bookings[booking] = &Booking{
				ID: booking, Reference: "CDEFGHJK", ReservationID: r.ID, CustomerID: customer, Status: BookingPending, Currency: "EUR", TotalMinor: 200, CreatedAt: noon,
				Payments: []*Payment{{ID: payment, BookingID: booking, Gateway: "sandbox", Method: "card", Status: PaymentPending, AmountMinor: 200, Currency: "EUR", CreatedAt: noon}},
			}
			cmds[i] = Command{Actor: Actor{Name: "gateway:sandbox"}, Do: &SettlePayment{
				ReservationID: r.ID, BookingID: booking, PaymentID: payment, Status: PaymentSucceeded, Ref: "sbx_1", AmountMinor: 200,
			}}
		}
		return st, cmds
	}
	for _, c := range []struct {
		name  string
		begun bool
		want  BookingStatus
	}{{"Begin", false, BookingPending}, {"Settle", true, BookingConfirmed}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for done := 0; done < b.N; done += benchBatch {
				b.StopTimer()
				st, cmds := load(c.begun)
				cmds = cmds[:min(benchBatch, b.N-done)]
				b.StartTimer()
				outcomes, _ := Decide(st, cmds)
				if o := outcomes[len(outcomes)-1]; o.Err != nil || o.Receipt.Booking != string(c.want) {
					b.Fatal(o.Err)
				}
			}
		})
	}
}
