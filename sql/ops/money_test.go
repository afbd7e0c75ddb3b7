package ops_test

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/store"
)

// gala is a show whose places were paid for in every way in which that can go.
type gala struct {
	fixture.Made
	booking map[string]store.Begun // by customer; with the last payment begun
}

// box is the box office: staff that may confirm, refund and scan.
var box = boxoffice.Actor{Staff: true, Name: "key:box"}

// buyer is somebody whose name must not turn up where it does not belong.
var buyer = boxoffice.Buyer{Name: "Kimiko Hidden", Email: "hidden@example.org", Phone: "+49 30 5550123", Locale: "de"}

func (n *night) begin(who string, seats ...int) store.Begun {
	n.t.Helper()
	r := n.hold(who, 0, seats...)
	return n.beginFor(who, r)
}

func (n *night) hold(who string, ttl int, seats ...int) *store.ReservationView {
	n.t.Helper()
	req := store.PlaceRequest{ShowID: n.gala.ID, TTLSeconds: ttl}
	for _, i := range seats {
		req.Seats = append(req.Seats, refs(n.gala.Seats[i])...)
	}
	return n.place(who, req)
}

func (n *night) beginFor(who string, r *store.ReservationView) store.Begun {
	n.t.Helper()
	b, err := n.s.BeginBooking(n.t.Context(), customer(who), new(fixture.Key()), r.ID, store.BeginRequest{
		Gateway: "sandbox", Method: "card", Buyer: &buyer, Holders: []string{"Hidden Holder"},
	})
	n.must(err)
	n.gala.booking[who] = b
	return b
}

// again begins another attempt.
func (n *night) again(who string) store.Begun {
	n.t.Helper()
	b, err := n.s.BeginPayment(n.t.Context(), customer(who), new(fixture.Key()), n.gala.booking[who].BookingID,
		store.BeginRequest{Gateway: "sandbox", Method: "card"})
	n.must(err)
	n.gala.booking[who] = b
	return b
}

// say tells what the gateway says of a payment.
func (n *night) say(payment uuid.UUID, s store.Settlement) store.Settled {
	n.t.Helper()
	p, err := n.s.PaymentPlace(n.t.Context(), payment)
	n.must(err)
	if s.Ref == "" {
		s.Ref = "ch_" + payment.String()
	}
	done, err := n.s.SettlePayment(n.t.Context(), "gateway:sandbox", p, s)
	n.must(err)
	return done
}

func (n *night) succeed(payment uuid.UUID, want boxoffice.BookingStatus) {
	n.t.Helper()
	if done := n.say(payment, store.Settlement{Status: boxoffice.PaymentSucceeded}); done.Booking != want {
		n.t.Fatalf("the booking is %s, want %s", done.Booking, want)
	}
}

func (n *night) decline(payment uuid.UUID) {
	n.t.Helper()
	n.say(payment, store.Settlement{Status: boxoffice.PaymentFailed, DeclineCode: "insufficient_funds"})
}

// sayRefund tells what the gateway says of a refund of a booking.
func (n *night) sayRefund(booking uuid.UUID, i int, status boxoffice.RefundStatus, ref string) uuid.UUID {
	n.t.Helper()
	k := n.read(booking)
	f, err := n.s.RefundPlace(n.t.Context(), k.Refunds[i].ID)
	n.must(err)
	failure := ""
	if status == boxoffice.RefundFailed {
		failure = "account_closed"
	}
	n.must(n.s.SettleRefund(n.t.Context(), "gateway:sandbox", f, status, ref, failure))
	return f.RefundID
}

func (n *night) read(booking uuid.UUID) *store.BookingView {
	n.t.Helper()
	k, err := n.s.ReadBooking(n.t.Context(), uuid.Nil, "", booking)
	n.must(err)
	return k
}

func (n *night) cancel(actor boxoffice.Actor, booking uuid.UUID, req store.CancelRequest) {
	n.t.Helper()
	_, err := n.s.CancelBooking(n.t.Context(), actor, new(fixture.Key()), booking, req)
	n.must(err)
}

func (n *night) scan(ticket uuid.UUID, gate string, at time.Time) boxoffice.ScanResult {
	n.t.Helper()
	c, err := n.s.CheckIn(n.t.Context(), box, new(fixture.Key()), store.CheckInRequest{
		TicketID: ticket, ShowID: n.gala.ID, ScanID: uuid.New(), Gate: gate, At: at,
	})
	n.must(err)
	return c.Scan.Result
}

// pay lets a show be paid for in every way in which that can go. At its end
// one payment waits for its buyer, one for its gateway though its hold is
// over, and refunds are on their way.
func (n *night) pay() {
	n.t.Helper()
	ctx := n.t.Context()
	n.gala = gala{fixture.Show(n.t, n.s, fixture.Options{Seats: 40, Floor: 50, Edit: func(s *store.NewShow) {
		s.Facts.Cancellation = &boxoffice.Cancellation{RefundPercent: 50}
	}}), map[string]store.Begun{}}
	floor := n.gala.Areas[0].ID

	// Kim pays on a gateway's page, gives a seat back for half of its price, and
	// gets something back for a bad view.
	kim := n.beginFor("kim", n.place("kim", store.PlaceRequest{
		ShowID: n.gala.ID, Seats: refs(n.gala.Seats[0], n.gala.Seats[1]),
		Areas: []store.AreaRef{{ID: floor, Quantity: 2}, {ID: floor, TicketType: "child", Quantity: 1}},
	}))
	n.say(kim.PaymentID, store.Settlement{Status: boxoffice.PaymentPending, Next: `{"type":"redirect","url":"https://gateway.example/p?token=secret"}`})
	n.succeed(kim.PaymentID, boxoffice.BookingConfirmed)
	tickets := n.read(kim.BookingID).Tickets
	n.scan(tickets[3].ID, "South", time.Time{})
	n.cancel(customer("kim"), kim.BookingID, store.CancelRequest{TicketIDs: []uuid.UUID{tickets[1].ID, tickets[4].ID}})
	n.sayRefund(kim.BookingID, 0, boxoffice.RefundSucceeded, "re_kim")
	_, _, _, err := n.s.GiveBack(ctx, box, new(fixture.Key()), kim.BookingID, store.GiveBackRequest{AmountMinor: 1000})
	n.must(err)
	var now time.Time
	n.must(n.all.QueryRow(ctx, `select clock_timestamp()`).Scan(&now))
	for i, want := range []boxoffice.ScanResult{
		n.scan(tickets[0].ID, "North", time.Time{}), boxoffice.ScanAdmitted,
		n.scan(tickets[0].ID, "South", time.Time{}), boxoffice.ScanAlreadyUsed,
		n.scan(tickets[0].ID, "Yard", now.Add(-time.Minute)), boxoffice.ScanAdmitted, // it was first
		n.scan(tickets[0].ID, "Yard", now), boxoffice.ScanAlreadyUsed,
		n.scan(tickets[1].ID, "North", time.Time{}), boxoffice.ScanVoid,
		n.scan(tickets[1].ID, "Yard", now), boxoffice.ScanVoid,
		n.scan(tickets[4].ID, "Yard", now.Add(-time.Minute)), boxoffice.ScanAdmitted, // before it was void
	} {
		if i%2 == 0 {
			n.last = want
		} else if n.last != want {
			n.t.Fatalf("scan %d is %s, want %s", i/2, n.last, want)
		}
	}

	// Lee's first card was declined, the second was good, and then the first one's money came after all.
	first := n.begin("lee", 2)
	n.decline(first.PaymentID)
	n.succeed(n.again("lee").PaymentID, boxoffice.BookingConfirmed)
	n.succeed(first.PaymentID, boxoffice.BookingConfirmed)
	refused := n.sayRefund(first.BookingID, 0, boxoffice.RefundFailed, "re_lee_1")
	_, _, _, err = n.s.RetryRefund(ctx, box, new(fixture.Key()), refused)
	n.must(err)

	// Max is still at the gateway's page.
	n.say(n.begin("max", 3).PaymentID, store.Settlement{Status: boxoffice.PaymentPending, Next: `{"type":"redirect","url":"https://gateway.example/p?token=secret"}`})

	// Holds that end before the money comes. Once extended, never again.
	var ends time.Time
	late := map[string]store.Begun{}
	for i, who := range []string{"nia", "oda", "pia", "rob", "sue", "tom"} {
		r := n.hold(who, 2, 5+i)
		ends = r.ExpiresAt
		late[who] = n.beginFor(who, r)
		n.decline(late[who].PaymentID)
	}
	for _, who := range []string{"rob", "sue", "tom"} {
		late[who] = n.again(who)
	}
	n.until(ends)
	n.succeed(late["nia"].PaymentID, boxoffice.BookingConfirmed) // nobody had closed it
	for i := range 5 {
		if i == 0 {
			_, err := n.s.ExpireReservations(ctx, n.gala.ID, boxoffice.ReasonExpired)
			n.must(err)
			continue
		}
		n.hold("quin", 0, 6+i)
	}
	n.succeed(late["oda"].PaymentID, boxoffice.BookingConfirmed) // its seat was free still
	n.succeed(late["pia"].PaymentID, boxoffice.BookingExpired)
	n.succeed(late["rob"].PaymentID, boxoffice.BookingFailed)
	n.decline(late["sue"].PaymentID)

	// What the box office does: cash, and a part of it back; a gift.
	for who, req := range map[string]store.ConfirmRequest{"cash": {Method: "cash", PaymentRef: "till 7"}, "gift": {Method: boxoffice.MethodComp}} {
		seats := map[string][]int{"cash": {12, 13}, "gift": {14}}[who]
		r, _, err := n.s.PlaceReservation(ctx, box, new(fixture.Key()), store.PlaceRequest{
			ShowID: n.gala.ID, CustomerID: who, Seats: append(refs(n.gala.Seats[seats[0]]), refs(n.gala.Seats[seats[len(seats)-1]])...)[:len(seats)],
		})
		n.must(err)
		n.gala.booking[who], err = n.s.ConfirmReservation(ctx, box, new(fixture.Key()), r.ID, req)
		n.must(err)
	}
	cash := n.gala.booking["cash"].BookingID
	n.cancel(box, cash, store.CancelRequest{TicketIDs: []uuid.UUID{n.read(cash).Tickets[0].ID}, Override: true, Reason: boxoffice.ReasonStaff})

	// Uma went away, and her money came all the same.
	uma := n.begin("uma", 16)
	n.cancel(customer("uma"), uma.BookingID, store.CancelRequest{})
	n.succeed(uma.PaymentID, boxoffice.BookingCancelled)

	// The gateway's desk gave all of Vic's money back.
	vic := n.begin("vic", 17)
	n.succeed(vic.PaymentID, boxoffice.BookingConfirmed)
	place, err := n.s.PaymentPlace(ctx, vic.PaymentID)
	n.must(err)
	n.must(n.s.RecordRefund(ctx, "gateway:sandbox", place, store.DeskRefund{Ref: "re_desk", AmountMinor: place.AmountMinor, Status: boxoffice.RefundSucceeded}))

	// The seat of one who was let go was sold again.
	wes := n.begin("wes", 18)
	n.succeed(wes.PaymentID, boxoffice.BookingConfirmed)
	n.cancel(box, wes.BookingID, store.CancelRequest{Override: true, Reason: boxoffice.ReasonStaff})
	n.succeed(n.begin("xen", 18).PaymentID, boxoffice.BookingConfirmed)

	for id, event := range map[string]string{
		"evt_1": `{"ID":"evt_1","Kind":"payment","Type":"payment.succeeded","Payment":{"PaymentID":"` + kim.PaymentID.String() + `"}}`,
		"evt_2": `{"ID":"evt_2","Kind":"payment","Type":"payment.succeeded","Payment":{"PaymentID":"` + late["tom"].PaymentID.String() + `"}}`,
	} {
		_, err := n.s.StorePaymentEvent(ctx, "sandbox", id, []byte(event))
		n.must(err)
	}
	n.must(n.s.PaymentEventDone(ctx, "sandbox", "evt_1", "applied"))
}

// personal finds what is personal in an answer of a query.
func personal(f found) (cells []string) {
	for _, row := range f {
		for name, cell := range row {
			for _, secret := range []string{"hidden", "555", "secret"} {
				if strings.Contains(strings.ToLower(cell), secret) {
					cells = append(cells, name+": "+cell)
				}
			}
		}
	}
	return cells
}
