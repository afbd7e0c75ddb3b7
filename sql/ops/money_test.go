package ops_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/sql/ops"
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

// confirm books seats that were paid elsewhere, or are given away.
func (n *night) confirm(who string, req store.ConfirmRequest, seats ...int) store.Begun {
	n.t.Helper()
	b, err := n.s.ConfirmReservation(n.t.Context(), box, new(fixture.Key()), n.hold(who, 0, seats...).ID, req)
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

// desk tells of all of a payment that went back, or came again, without us.
func (n *night) desk(payment uuid.UUID, d store.DeskRefund) {
	n.t.Helper()
	p, err := n.s.PaymentPlace(n.t.Context(), payment)
	n.must(err)
	d.AmountMinor = p.AmountMinor
	n.must(n.s.RecordRefund(n.t.Context(), "gateway:sandbox", p, d))
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

func (n *night) scan(ticket uuid.UUID, gate string, at time.Time, want boxoffice.ScanResult) {
	n.t.Helper()
	c, err := n.s.CheckIn(n.t.Context(), box, new(fixture.Key()), store.CheckInRequest{
		TicketID: ticket, ShowID: n.gala.ID, ScanID: uuid.New(), Gate: gate, At: at,
	})
	n.must(err)
	if c.Scan.Result != want {
		n.t.Fatalf("the scan at %s is %s, want %s", gate, c.Scan.Result, want)
	}
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
	n.scan(tickets[3].ID, "South", time.Time{}, boxoffice.ScanAdmitted)
	n.cancel(customer("kim"), kim.BookingID, store.CancelRequest{TicketIDs: []uuid.UUID{tickets[1].ID, tickets[4].ID}})
	n.sayRefund(kim.BookingID, 0, boxoffice.RefundSucceeded, "re_kim")
	_, _, _, err := n.s.GiveBack(ctx, box, new(fixture.Key()), kim.BookingID, store.GiveBackRequest{AmountMinor: 1000})
	n.must(err)
	var now time.Time
	n.must(n.all.QueryRow(ctx, `select clock_timestamp()`).Scan(&now))
	n.scan(tickets[0].ID, "North", time.Time{}, boxoffice.ScanAdmitted)
	n.scan(tickets[0].ID, "South", time.Time{}, boxoffice.ScanAlreadyUsed)
	n.scan(tickets[0].ID, "Yard", now.Add(-time.Minute), boxoffice.ScanAdmitted) // it was first
	n.scan(tickets[0].ID, "Yard", now, boxoffice.ScanAlreadyUsed)
	n.scan(tickets[1].ID, "North", time.Time{}, boxoffice.ScanVoid)
	n.scan(tickets[1].ID, "Yard", now, boxoffice.ScanVoid)
	n.scan(tickets[4].ID, "Yard", now.Add(-time.Minute), boxoffice.ScanAdmitted) // before it was void

	// Lee's first card was declined, the second was good, and then the first one's money came after all.
	first := n.begin("lee", 2)
	n.decline(first.PaymentID)
	n.succeed(n.again("lee").PaymentID, boxoffice.BookingConfirmed)
	n.succeed(first.PaymentID, boxoffice.BookingConfirmed)
	refused := n.sayRefund(first.BookingID, 0, boxoffice.RefundFailed, "re_lee_1")
	_, _, _, err = n.s.RetryRefund(ctx, box, new(fixture.Key()), refused, "")
	n.must(err)

	// Max is still at the gateway's page.
	n.say(n.begin("max", 3).PaymentID, store.Settlement{Status: boxoffice.PaymentPending, Next: `{"type":"redirect","url":"https://gateway.example/p?token=secret"}`})

	// Holds that end before the money comes. Once extended, never again.
	late, ends := map[string]store.Begun{}, map[string]time.Time{}
	for i, who := range []string{"uli", "nia", "oda", "pia", "rob", "sue", "tom"} {
		ttl := 3
		if who == "uli" {
			ttl = 4
		}
		r := n.hold(who, ttl, 4+i)
		ends[who] = r.ExpiresAt
		late[who] = n.beginFor(who, r)
		n.decline(late[who].PaymentID)
	}
	for _, who := range []string{"rob", "sue", "tom", "uli"} {
		late[who] = n.again(who)
	}
	n.until(ends["tom"])
	n.succeed(late["nia"].PaymentID, boxoffice.BookingConfirmed) // nobody had closed it
	_, err = n.s.ExpireReservations(ctx, n.gala.ID, boxoffice.ReasonExpired)
	n.must(err)
	n.hold("quin", 0, 7, 8, 9, 10)
	n.succeed(late["oda"].PaymentID, boxoffice.BookingConfirmed) // its seat was free still
	n.succeed(late["pia"].PaymentID, boxoffice.BookingExpired)
	n.succeed(late["rob"].PaymentID, boxoffice.BookingFailed)
	n.decline(late["sue"].PaymentID)

	// What the box office does: cash, and a part of it back; a gift.
	cash := n.confirm("cash", store.ConfirmRequest{Method: "cash", PaymentRef: "till 7"}, 12, 13).BookingID
	n.cancel(box, cash, store.CancelRequest{TicketIDs: []uuid.UUID{n.read(cash).Tickets[0].ID}, Override: true, Reason: boxoffice.ReasonStaff})
	n.confirm("gift", store.ConfirmRequest{Method: boxoffice.MethodComp}, 14)

	// Uma went away, and her money came all the same.
	uma := n.begin("uma", 16)
	n.cancel(customer("uma"), uma.BookingID, store.CancelRequest{})
	n.succeed(uma.PaymentID, boxoffice.BookingCancelled)

	// The gateway's desk gave all of Vic's money back.
	vic := n.begin("vic", 17)
	n.succeed(vic.PaymentID, boxoffice.BookingConfirmed)
	n.desk(vic.PaymentID, store.DeskRefund{Ref: "re_vic", Status: boxoffice.RefundSucceeded})

	// Yan's refund was refused, and made at the desk instead. Zoe's bank took the money back, and the dispute was won.
	yan, zoe := n.begin("yan", 11), n.begin("zoe", 15)
	n.succeed(yan.PaymentID, boxoffice.BookingConfirmed)
	n.succeed(zoe.PaymentID, boxoffice.BookingConfirmed)
	n.cancel(box, yan.BookingID, store.CancelRequest{Override: true, Reason: boxoffice.ReasonStaff})
	n.sayRefund(yan.BookingID, 0, boxoffice.RefundFailed, "re_yan")
	n.desk(yan.PaymentID, store.DeskRefund{Ref: "re_yan_2", Status: boxoffice.RefundSucceeded})
	n.desk(zoe.PaymentID, store.DeskRefund{Ref: "dp_zoe", Status: boxoffice.RefundSucceeded, Dispute: true})
	n.desk(zoe.PaymentID, store.DeskRefund{Ref: "dp_zoe", Status: boxoffice.RefundFailed, Dispute: true})

	// Zac's hold was short and got the time that paying takes. Ben's got it, too, and gave it back with his card.
	n.beginFor("zac", n.hold("zac", 60, 19))
	n.decline(n.beginFor("ben", n.hold("ben", 60, 20)).PaymentID)

	// Uli takes the purchase back when the hold is over already, and nobody has closed it; then the money comes.
	n.until(ends["uli"])
	n.cancel(customer("uli"), late["uli"].BookingID, store.CancelRequest{})
	n.succeed(late["uli"].PaymentID, boxoffice.BookingCancelled)

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
			for _, secret := range []string{"hidden", "5550123", "secret"} {
				if strings.Contains(strings.ToLower(cell), secret) {
					cells = append(cells, name+": "+cell)
				}
			}
		}
	}
	return cells
}

// testMoney asks the queries about the gala.
func (n *night) testMoney(run func(name string, do func(t *testing.T))) {
	show := map[string]string{"show": n.gala.ID.String()}
	story := func(who string) found {
		return n.ask("booking_story", map[string]string{"booking": n.gala.booking[who].BookingID.String()})
	}
	told := func(f found, columns ...string) (lines []string) {
		for _, row := range f {
			var line []string
			for _, c := range columns {
				if row[c] != "" {
					line = append(line, row[c])
				}
			}
			lines = append(lines, strings.Join(line, " "))
		}
		return lines
	}

	run("money_by_show tells what was taken, kept, given back and is not known", func(t *testing.T) {
		for _, params := range []map[string]string{nil, show} {
			row := one(t, n.ask("money_by_show", params), map[string]string{"show_id": show["show"]})
			// Taken: kim 15000, cash 8000, lee twice 4000, and 4000 each nia, oda, pia, rob, uma, vic, wes, xen, yan, zoe, uli.
			// Back: kim 3500 (half of a seat and a place) and 1000, and 4000 each cash, vic, yan, pia, rob, uma, wes, uli, lee.
			want := map[string]string{
				"currency": "EUR", "taken_minor": "75000", "refunded_minor": "15500", "refunding_minor": "25000", "refused_minor": "0",
				"kept_minor": "34500", "live_tickets_minor": "27000", "fees_minor": "7500", "payments_open": "3", "open_minor": "12000",
			}
			if bad := differ(row, want); bad != nil {
				t.Errorf("%v of %v", bad, row)
			}
		}
		if f := n.ask("money_by_show", map[string]string{"show": uuid.NewString()}); len(f) != 0 {
			t.Errorf("%v", f)
		}
	})

	run("payments_open says whom each payment waits for", func(t *testing.T) {
		for _, params := range []map[string]string{nil, show} {
			f := n.ask("payments_open", params)
			if len(f) != 3 {
				t.Fatalf("%v", f)
			}
			one(t, f, map[string]string{"waits_for": "gateway", "hold": "active"})
			one(t, f, map[string]string{"waits_for": "buyer", "booking": "pending", "hold": "active", "asked": "0", "amount_minor": "4000"})
			one(t, f, map[string]string{"waits_for": "gateway", "booking": "pending", "hold": "expired", "payment_id": n.gala.booking["tom"].PaymentID.String()})
		}
	})

	run("refunds_open tells refused ones from those on their way, with their jobs", func(t *testing.T) {
		id := n.sayRefund(n.gala.booking["pia"].BookingID, 0, boxoffice.RefundFailed, "re_pia")
		lee := n.read(n.gala.booking["lee"].BookingID).Refunds[0]
		_, err := n.all.Exec(t.Context(), `
			insert into river_job (kind, args, queue, state, max_attempts, attempt, scheduled_at, attempted_at, finalized_at, errors)
			values ('refund_send', jsonb_build_object('refundId', $1::uuid), 'payments', 'discarded', 25, 25, now(), now(), now(), array['{"error": "no gateway"}']::jsonb[])`, lee.ID)
		n.must(err)
		for _, params := range []map[string]string{nil, show} {
			f := n.ask("refunds_open", params)
			one(t, f, map[string]string{"status": "failed", "refund_id": id.String(), "failure": "account_closed", "made_up_for": "false", "reason": "late_payment"})
			one(t, f, map[string]string{"status": "pending", "refund_id": lee.ID.String(), "attempt": "2", "job": "discarded", "job_error": "no gateway"})
			one(t, f, map[string]string{"cause": "cancel:1", "reason": "staff", "status": "pending"})
			one(t, f, map[string]string{"status": "failed", "made_up_for": "true"})
			if len(f) != 8 {
				t.Errorf("%d refunds: %v", len(f), told(f, "status", "cause", "amount_minor"))
			}
		}
		broken, err := ops.Prove(t.Context(), n.ops)
		n.must(err)
		if len(broken) != 1 || broken[0].Name != "no_refund_stays_refused" {
			t.Errorf("%v", broken)
		}
		// Not while news of the payment wait for their effect: they may tell where the money is.
		news := func(sql string) {
			t.Helper()
			_, err := n.all.Exec(t.Context(), sql, id)
			n.must(err)
		}
		news(`insert into payment_events (gateway, event_id, event)
			select p.gateway, 'news', jsonb_build_object('payment', p.payment_id) from refunds f join payments p using (show_id, payment_id) where f.refund_id = $1`)
		if broken, err := ops.Prove(t.Context(), n.ops); err != nil || len(broken) != 0 {
			t.Errorf("with news to come: %v, %v", broken, err)
		}
		news(`update payment_events set done_at = now(), outcome = 'applied' where event_id = 'news' and $1::uuid is not null`)
		if broken, err := ops.Prove(t.Context(), n.ops); err != nil || len(broken) != 1 {
			t.Errorf("with news that told nothing: %v, %v", broken, err)
		}
		if row := one(t, n.ask("money_by_show", show), map[string]string{"refused_minor": "4000"}); row["kept_minor"] != "34500" {
			t.Errorf("%v", row)
		}
		_, _, _, err = n.s.RetryRefund(t.Context(), box, new(fixture.Key()), id, "")
		n.must(err)
	})

	run("booking_story tells all of a booking, by reference or id", func(t *testing.T) {
		f := story("kim")
		want := []string{
			"reservation.created active", "booking.created pending", "payment.created pending 15000",
			"payment.succeeded succeeded 15000", "reservation.consumed consumed", "booking.confirmed confirmed", "ticket.issued valid [1 2 3 4 5]",
			"ticket.used used [4]", "scan admitted [4]",
			"ticket.void void [2 5]", "refund.created pending 3500 [2 5]", "refund.succeeded succeeded 3500 [2 5]",
			"refund.created pending 1000 [1 3 4]",
			"ticket.used used [1]", "scan admitted [1]", "scan already_used [1]", "scan, uploaded admitted [1]", "scan, uploaded already_used [1]",
			"scan void [2]", "scan, uploaded void [2]", "scan, uploaded admitted [5]",
			"webhook: payment.succeeded applied",
			"now: " + n.read(n.gala.booking["kim"].BookingID).Reference + " confirmed 15000",
			"now: payment, applied succeeded 15000", "now: refund succeeded 3500 [2 5]", "now: refund pending 1000 [1 3 4]",
			"now: ticket 1 used 4000 [1]", "now: ticket 2 void 4000 [2]", "now: ticket 3 valid 1000 [3]", "now: ticket 4 used 3000 [4]", "now: ticket 5 void 3000 [5]",
		}
		if got := told(f, "what", "status", "amount_minor", "tickets"); !slices.Equal(got, want) {
			t.Errorf("\n%s", strings.Join(got, "\n"))
		}
		reference := n.read(n.gala.booking["kim"].BookingID).Reference
		for _, named := range []string{reference, strings.ToLower(reference[:4]) + "-" + reference[4:]} {
			if got := n.ask("booking_story", map[string]string{"booking": named}); len(got) != len(f) {
				t.Errorf("%s: %d rows, want %d", named, len(got), len(f))
			}
		}
		one(t, story("lee"), map[string]string{"what": "now: refund", "status": "pending", "detail": "re_lee_1; account_closed; attempt 2"})
		if f := n.ask("booking_story", nil); len(f) != 0 {
			t.Errorf("%v", f)
		}
	})

	run("late_payments says what became of the money and why", func(t *testing.T) {
		for _, params := range []map[string]string{nil, show} {
			f := n.ask("late_payments", params)
			for _, row := range f {
				delete(row, "show_id")
			}
			got := told(f, "outcome", "why", "booking")
			slices.Sort(got)
			want := []string{
				"booked the places were free confirmed", "booked the places were free confirmed",
				"refund pending the booking was paid already confirmed", "refund pending the places were gone expired",
				"refund pending the places were gone failed", "refund pending the purchase was taken back cancelled",
				"refund pending the purchase was taken back cancelled",
			}
			if !slices.Equal(got, want) {
				t.Errorf("\n%s", strings.Join(got, "\n"))
			}
		}
	})

	run("webhook_backlog tells what was not done, and its job", func(t *testing.T) {
		_, err := n.all.Exec(t.Context(), `
			insert into river_job (kind, args, queue, state, max_attempts, attempt, scheduled_at, attempted_at, finalized_at, errors)
			values ('payment_event_apply', '{"gateway": "sandbox", "eventId": "evt_2"}', 'payments', 'discarded', 3, 3, now(), now(), now(), array['{"error": "later"}']::jsonb[])`)
		n.must(err)
		f := n.ask("webhook_backlog", nil)
		if len(f) != 1 {
			t.Errorf("%v", f)
		}
		one(t, f, map[string]string{"event_id": "evt_2", "tells": "payment.succeeded", "payment": "pending", "job": "discarded", "last_error": "later"})
	})

	run("admissions_by_gate counts heads and scans", func(t *testing.T) {
		f := n.ask("admissions_by_gate", show)
		one(t, f, map[string]string{"gate": "Yard", "heads": "3", "entries": "4", "should_not_have": "2", "uploaded_later": "4", "refused": "0"})
		one(t, f, map[string]string{"gate": "North", "entries": "1", "should_not_have": "1", "refused": "1"})
		one(t, f, map[string]string{"all_gates": "true", "heads": "4", "entries": "6", "should_not_have": "3", "refused": "2", "expected": "9"})
		if f := n.ask("admissions_by_gate", nil); len(f) != 0 {
			t.Errorf("the gala is in a month: %v", f)
		}
	})

	run("The other stories know of bookings", func(t *testing.T) {
		f := n.ask("seat_story", map[string]string{"show": show["show"], "seat": n.gala.Seats[0].Label})
		want := []string{
			"reservation.created held", "reservation.consumed booked",
			"scan: admitted", "scan: admitted", "scan: already_used", "scan: already_used", "now booked",
		}
		got := told(f, "what", "state")
		for i := range got {
			got[i], _, _ = strings.Cut(got[i], ",")
		}
		if slices.Sort(got[2:6]); !slices.Equal(got, want) || f[0]["booking"] == "" {
			t.Errorf("%q", got)
		}
		freed := n.ask("seat_story", map[string]string{"show": show["show"], "seat": n.gala.Seats[1].Label})
		one(t, freed, map[string]string{"what": "ticket.void", "state": "available", "actor": "kim"})
		k := n.read(n.gala.booking["max"].BookingID)
		one(t, n.ask("reservation_story", map[string]string{"reservation": k.ReservationID.String()}),
			map[string]string{"what": "payment.created", "amount_minor": "4000", "booking": k.Reference})
		one(t, n.ask("holds_by_show", show), map[string]string{"customer_id": "max", "booking": k.Reference, "being_paid": "true"})
		one(t, n.ask("sales_by_show", show), map[string]string{"booked": "9", "booked_minor": "28000"})
	})

	run("No query shows what is personal or secret", func(t *testing.T) {
		for _, q := range ops.Queries() {
			if regexp.MustCompile(`\b(from|join) (buyers|ticket_holders)\b`).MatchString(q.SQL) {
				t.Errorf("%s reads personal data", q.Name)
			}
			given := map[string]string{"show": show["show"], "seat": n.gala.Seats[0].Label,
				"reservation": n.read(n.gala.booking["kim"].BookingID).ReservationID.String(), "booking": n.gala.booking["max"].BookingID.String()}
			maps.DeleteFunc(given, func(name, _ string) bool { return !slices.Contains(q.Params, name) })
			for _, params := range []map[string]string{nil, given} {
				if cells := personal(n.ask(q.Name, params)); q.Name != "bloat" && cells != nil {
					t.Errorf("%s shows %v", q.Name, cells)
				}
			}
		}
	})
}

// differ returns the cells that are not as wanted.
func differ(row, want map[string]string) (bad []string) {
	for name, cell := range want {
		if row[name] != cell {
			bad = append(bad, name+" is "+row[name]+", want "+cell)
		}
	}
	return bad
}

// breaksOfMoney are more of [breaks], with $1 the gala and $2 a booking of it,
// kim's. Bookings of others are found by their customers.
var breaksOfMoney = map[string][]string{
	"a_booked_seat_belongs_to_a_consumed_reservation_that_lists_it": {
		`update reservations set seat_nos = '{30,31}' where show_id = $1 and booking_id = $2`,
	},
	"a_booked_seat_is_that_of_one_live_ticket": {
		`update show_seats set state = 'a', reservation_id = null where show_id = $1 and seat_no = (select seat_no from tickets where booking_id = $2 and n = 1)`,
		`update show_seats set reservation_id = $2 where show_id = $1 and state = 'b' and seat_no = (select seat_no from tickets where booking_id = $2 and n = 1)`,
		`update tickets set status = 'void', void_at = now() where show_id = $1 and booking_id = $2 and n = 1`,
		`update tickets set status = 'valid', void_at = null where show_id = $1 and booking_id = $2 and n = 2`,
		`update tickets set seat_no = (select seat_no from tickets where booking_id = $2 and n = 1) where show_id = $1 and n = 1 and seat_no is not null`,
		`delete from bookings where show_id = $1 and booking_id = $2`,
	},
	"no_seat_has_two_owners": {
		`update tickets set seat_no = (select seat_no from tickets where booking_id = $2 and n = 1) where show_id = $1 and n = 1 and seat_no is not null`,
		`update reservations set seat_nos = (select array[seat_no] from tickets where booking_id = $2 and n = 1) where show_id = $1 and customer_id = 'max'`,
	},
	"the_booked_units_of_an_area_are_its_live_tickets": {
		`update show_areas set booked = booked + 1 where show_id = $1 and $2::uuid is not null`,
		`delete from show_areas where show_id = $1 and $2::uuid is not null`,
		`update tickets set status = 'void', void_at = now() where show_id = $1 and booking_id = $2 and n = 4`,
		`delete from tickets where show_id = $1 and booking_id = $2 and n = 4`,
	},
	"the_rows_of_a_change_are_numbered_without_a_gap": {
		`update changes set n = 9 where show_id = $1 and booking_id = $2 and type = 'ticket.issued'`,
	},
	"every_reservation_is_logged_from_its_making_to_its_end": {
		`update changes set after_status = 'cancelled' where show_id = $1 and booking_id = $2 and type = 'reservation.consumed'`,
		`update changes set before_status = 'expired' where show_id = $1 and booking_id = $2 and type = 'reservation.consumed'`,
		`insert into changes select (r).* from (select jsonb_populate_record(c, jsonb_build_object('n', 9)) as r from changes c
		  where show_id = $1 and $2::uuid is not null and type = 'reservation.consumed' and before_status = 'expired') x`,
	},
	"every_booking_payment_and_refund_is_logged_from_its_making_to_what_it_is": {
		`delete from changes where show_id = $1 and booking_id = $2 and type = 'booking.created'`,
		`delete from changes where show_id = $1 and booking_id = $2 and type = 'payment.succeeded'`,
		`delete from changes where show_id = $1 and booking_id = $2 and type = 'refund.succeeded'`,
		`insert into changes select (r).* from (select jsonb_populate_record(c, jsonb_build_object('n', 9)) as r from changes c
		  where show_id = $1 and booking_id = $2 and type = 'booking.confirmed') x`,
		`update bookings set status = 'cancelled', closed_at = now() where show_id = $1 and booking_id = $2`,
		`update payments set status = 'pending', settled_at = null where show_id = $1 and booking_id = $2`,
		`update refunds set status = 'pending', settled_at = null where show_id = $1 and booking_id = $2 and status = 'succeeded'`,
		`delete from refunds where show_id = $1 and booking_id = $2`,
	},
	"every_ticket_is_logged_once_for_all_that_became_of_it": {
		`delete from changes where show_id = $1 and booking_id = $2 and type = 'ticket.issued'`,
		`delete from changes where show_id = $1 and booking_id = $2 and type = 'ticket.used'`,
		`delete from changes where show_id = $1 and booking_id = $2 and type = 'ticket.void'`,
		`update changes set ticket_ids = ticket_ids || ticket_ids where show_id = $1 and booking_id = $2 and type = 'ticket.used'`,
		`update changes set ticket_ids = ticket_ids || ticket_ids where show_id = $1 and booking_id = $2 and type = 'ticket.void'`,
		`update tickets set status = 'valid' where show_id = $1 and booking_id = $2 and status = 'used'`,
		`delete from tickets where show_id = $1 and booking_id = $2 and n = 3`,
	},
	"the_log_tells_transitions_that_there_are": {
		`update changes set after_status = 'pending' where show_id = $1 and booking_id = $2 and type = 'booking.confirmed'`,
		`update changes set before_status = 'succeeded' where show_id = $1 and booking_id = $2 and type = 'payment.succeeded'`,
		`update changes set before_status = 'void' where show_id = $1 and booking_id = $2 and type = 'ticket.used'`,
		`update changes set type = 'booking.sold' where show_id = $1 and booking_id = $2 and type = 'booking.confirmed'`,
	},
	"the_log_tells_the_amounts_of_payments_and_refunds": {
		`update changes set amount_minor = amount_minor - 1 where show_id = $1 and booking_id = $2 and type = 'payment.succeeded'`,
		`update changes set amount_minor = null where show_id = $1 and booking_id = $2 and type = 'refund.succeeded'`,
		`update payments set amount_minor = amount_minor + 1 where show_id = $1 and booking_id = $2`,
	},
	"the_log_accounts_for_the_units_of_every_reservation": {
		`update changes set area_booked = '{2}' where show_id = $1 and booking_id = $2 and type = 'reservation.consumed'`,
		`update changes set area_booked = '{0}' where show_id = $1 and booking_id = $2 and type = 'ticket.void'`,
		`update changes set area_units = '{0}' where show_id = $1 and booking_id = $2 and type = 'reservation.consumed'`,
		`update tickets set status = 'void', void_at = now() where show_id = $1 and booking_id = $2 and n = 4`,
	},
	"the_log_adds_up_to_the_units_of_every_area": {
		`update show_areas set booked = booked - 1 where show_id = $1 and $2::uuid is not null`,
		`update show_areas set held = held + 1 where show_id = $1 and $2::uuid is not null`,
		`update changes set area_booked = '{0}' where show_id = $1 and booking_id = $2 and type = 'ticket.void'`,
	},
	"what_belongs_together_belongs_to_one_organisation": {
		`update bookings set organisation_id = $2 where show_id = $1`,
		`update payments set organisation_id = $2 where show_id = $1`,
		`update payment_checks set organisation_id = $2 where show_id = $1`,
		`update refunds set organisation_id = $2 where show_id = $1`,
		`update tickets set organisation_id = $2 where show_id = $1`,
		`update scans set organisation_id = $2 where show_id = $1`,
		`update buyers set organisation_id = $2 where show_id = $1`,
		`update ticket_holders set organisation_id = $2 where show_id = $1`,
	},
	"a_remembered_answer_is_about_something_that_exists": {
		`delete from bookings where show_id = $1 and booking_id = $2`,
		`delete from payments where show_id = $1 and booking_id = $2`,
	},
	"a_booking_and_its_reservation_know_each_other": {
		`update reservations set booking_id = null where show_id = $1 and booking_id = $2`,
		`update reservations set booking_id = show_id where show_id = $1 and booking_id = $2`,
		`update bookings set customer_id = 'other' where show_id = $1 and booking_id = $2`,
		`update bookings set reservation_id = show_id where show_id = $1 and booking_id = $2`,
		`delete from bookings where show_id = $1 and booking_id = $2`,
	},
	"a_reservation_is_consumed_by_a_booking_that_was_confirmed": {
		`update reservations set status = 'cancelled' where show_id = $1 and booking_id = $2`,
		`update bookings set confirmed_at = null where show_id = $1 and booking_id = $2`,
		`update reservations set status = 'consumed' where show_id = $1 and $2::uuid is not null and customer_id = 'max'`,
		`update bookings set status = 'confirmed', confirmed_at = now() where show_id = $1 and $2::uuid is not null and customer_id = 'max'`,
	},
	"a_booking_waits_fails_and_ends_as_its_hold_and_payments_do": {
		`update reservations set status = 'cancelled' where show_id = $1 and $2::uuid is not null and customer_id = 'max'`,
		`update payments set status = 'failed', settled_at = now() where show_id = $1 and $2::uuid is not null and status = 'pending'`, // tom's hold is over
		`update payments set status = 'failed' where show_id = $1 and booking_id = (select booking_id from bookings where status = 'failed' and $2::uuid is not null)`,
		`update bookings set status = 'pending', closed_at = null where show_id = $1 and $2::uuid is not null and status = 'failed'`,
		`update bookings set status = 'expired', closed_at = now() where show_id = $1 and $2::uuid is not null and customer_id = 'max'`,
		`update bookings set status = 'cancelled', closed_at = now() where show_id = $1 and $2::uuid is not null and customer_id = 'max'`,
		`delete from reservations where show_id = $1 and $2::uuid is not null and customer_id = 'max'`,
	},
	"a_booking_costs_what_its_reservation_does": {
		`update bookings set total_minor = total_minor - 1 where show_id = $1 and booking_id = $2`,
		`update bookings set total_minor = 0 where show_id = $1 and $2::uuid is not null and customer_id = 'max'`,
	},
	"a_hold_is_lengthened_for_a_payment_once_and_not_for_longer_than_it_takes": {
		`update reservations set own_expires_at = expires_at + interval '1 second' where show_id = $1 and booking_id = $2`,
		`update reservations set own_expires_at = created_at, expires_at = created_at where show_id = $1 and booking_id = $2`,
		`update reservations set own_expires_at = expires_at - interval '121 seconds' where show_id = $1 and booking_id = $2`,
		`update reservations set own_expires_at = expires_at, booking_id = null where show_id = $1 and booking_id = $2`,
		`with settled as (update payments set status = 'failed' where show_id = $1 and $2::uuid is not null and status = 'pending')
		 update reservations set own_expires_at = expires_at - interval '1 second' where show_id = $1 and customer_id = 'max'`,
	},
	"a_confirmed_booking_has_one_ticket_for_each_of_its_places": {
		`delete from tickets where show_id = $1 and booking_id = $2 and n = 2`,
		`update tickets set price_minor = price_minor + 1 where show_id = $1 and booking_id = $2 and n = 2`,
		`update tickets set ticket_type = 'child' where show_id = $1 and booking_id = $2 and n = 1`,
		`update tickets set price_minor = 100 where show_id = $1 and booking_id = (select booking_id from bookings where customer_id = 'gift' and $2::uuid is not null)`,
		`update tickets set booking_id = (select booking_id from bookings where customer_id = 'max') where show_id = $1 and booking_id = $2 and n = 2`,
		`insert into tickets select (r).* from (select jsonb_populate_record(t, jsonb_build_object('n', 6)) as r from tickets t where show_id = $1 and booking_id = $2 and n = 4) x`,
	},
	"the_tickets_of_a_booking_live_as_it_does": {
		`update tickets set n = 9 where show_id = $1 and booking_id = $2 and n = 2`,
		`update tickets set n = 9 where show_id = $1 and booking_id = $2 and n = 1`,
		`update tickets set issued_at = issued_at - interval '1 second' where show_id = $1 and booking_id = $2 and n = 1`,
		`update tickets set issued_at = issued_at + interval '1 second' where show_id = $1 and booking_id = $2 and n = 1`,
		`update tickets set status = 'void' where show_id = $1 and booking_id = $2`,
		`update bookings set status = 'cancelled', closed_at = now() where show_id = $1 and booking_id = $2`,
		`update tickets set status = 'valid' where show_id = $1 and booking_id = (select booking_id from bookings where customer_id = 'vic' and $2::uuid is not null)`,
		`delete from tickets where show_id = $1 and booking_id = $2`,
	},
	"the_cancelled_places_of_a_reservation_are_its_void_tickets": {
		`update reservations set cancelled_places = 0 where show_id = $1 and booking_id = $2`,
		`update reservations set cancelled_places = 1 where show_id = $1 and $2::uuid is not null and customer_id = 'max'`,
		`update tickets set status = 'valid', void_at = null where show_id = $1 and booking_id = $2 and n = 2`,
	},
	"the_applied_payment_took_what_its_booking_costs": {
		`update payments set booking_id = show_id where show_id = $1 and booking_id = $2`,
		`update payments set amount_minor = amount_minor - 1 where show_id = $1 and booking_id = $2`,
		`update payments set status = 'failed' where show_id = $1 and booking_id = $2`,
		`delete from payments where show_id = $1 and booking_id = $2`,
		`update bookings set applied_payment_id = (select payment_id from payments p join bookings k using (booking_id) where k.customer_id = 'xen') where show_id = $1 and booking_id = $2`,
		`update bookings set status = 'cancelled', applied_payment_id = null, closed_at = now() where show_id = $1 and booking_id = $2`,
		`update bookings set applied_payment_id = (select payment_id from payments where booking_id = bookings.booking_id) where show_id = $1 and $2::uuid is not null and customer_id = 'uma'`,
		`update bookings set applied_payment_id = show_id where show_id = $1 and $2::uuid is not null and customer_id = 'gift'`,
	},
	"money_that_bought_nothing_goes_back": {
		`update payments set refunded_minor = refunded_minor - 1 where show_id = $1 and booking_id = (select booking_id from bookings where customer_id = 'uma' and $2::uuid is not null)`,
		`update bookings set applied_payment_id = null where show_id = $1 and booking_id = $2`,
		`update payments set status = 'succeeded' where show_id = $1 and $2::uuid is not null and status = 'failed'`,
	},
	"no_refund_stays_refused": {
		`with back as (update payments set refunded_minor = 0 where show_id = $1 and booking_id = $2)
		 update refunds set status = 'failed' where show_id = $1 and booking_id = $2`,
	},
	"what_is_refunded_is_the_sum_of_the_refunds": {
		`update payments set refunded_minor = refunded_minor - 1 where show_id = $1 and booking_id = $2`,
		`update bookings set refunded_minor = refunded_minor + 1 where show_id = $1 and booking_id = $2`,
		`update tickets set refunded_minor = refunded_minor + 1 where show_id = $1 and booking_id = $2 and n = 2`,
		`update refunds set status = 'failed' where show_id = $1 and booking_id = $2`,
		`delete from refunds where show_id = $1 and booking_id = $2`,
		`delete from payments where show_id = $1 and booking_id = $2`,
		`delete from bookings where show_id = $1 and booking_id = $2`,
		`delete from tickets where show_id = $1 and booking_id = $2 and n = 2`,
	},
	"a_refund_is_of_a_payment_that_succeeded_and_of_the_tickets_it_bought": {
		`update payments set status = 'failed' where show_id = $1 and booking_id = $2`,
		`update refunds set payment_id = show_id where show_id = $1 and booking_id = $2`,
		`update payments set booking_id = show_id where show_id = $1 and booking_id = $2`,
		`update refunds set amount_minor = amount_minor + 1 where show_id = $1 and booking_id = $2`,
		`update refunds set ticket_ids = '{}', ticket_amounts = '{}' where show_id = $1 and booking_id = $2`,
		`update refunds set ticket_amounts[1] = -1, ticket_amounts[2] = ticket_amounts[1] + ticket_amounts[2] + 1 where show_id = $1 and booking_id = $2`,
		`update refunds set ticket_ids = array[show_id], ticket_amounts = array[amount_minor] where show_id = $1 and booking_id = (select booking_id from bookings where customer_id = 'uma' and $2::uuid is not null)`,
	},
	"money_in_is_what_a_booking_keeps_and_what_goes_back": {
		`update payments set amount_minor = amount_minor + 1 where show_id = $1 and booking_id = $2`,
		`update tickets set refunded_minor = refunded_minor + 1 where show_id = $1 and booking_id = $2 and n = 3`,
		`delete from refunds where show_id = $1 and booking_id = (select booking_id from bookings where customer_id = 'uma' and $2::uuid is not null)`,
		`delete from payments where show_id = $1 and booking_id = $2`,
		`delete from tickets where show_id = $1 and booking_id = $2`,
	},
	"money_in_is_confirmed_bookings_and_refunds": {
		`update payments set amount_minor = amount_minor + 1 where show_id = $1 and booking_id = $2`,
		`update bookings set total_minor = total_minor + 1 where show_id = $1 and booking_id = $2`,
		`delete from refunds where show_id = $1 and booking_id = (select booking_id from bookings where customer_id = 'uma' and $2::uuid is not null)`,
		`delete from payments where show_id = $1 and booking_id = $2`,
		`update payments set status = 'succeeded' where show_id = $1 and $2::uuid is not null and status = 'failed'`,
		`update refunds set currency = 'JPY' where show_id = $1 and booking_id = $2`,
		`update bookings set confirmed_at = null where show_id = $1 and booking_id = $2`,
	},
	"the_money_of_a_booking_is_in_one_currency": {
		`update bookings set currency = 'JPY' where show_id = $1 and booking_id = $2`,
		`update payments set currency = 'JPY' where show_id = $1 and booking_id = $2`,
		`update refunds set currency = 'JPY' where show_id = $1 and booking_id = $2`,
		`update shows set currency = 'JPY' where show_id = $1 and $2::uuid is not null`,
	},
	"a_payment_without_an_outcome_is_asked_for_and_no_other": {
		`delete from payment_checks where show_id = $1 and $2::uuid is not null`,
		`update payment_checks set show_id = $2 where show_id = $1`,
		`update payments set status = 'pending', settled_at = null where show_id = $1 and booking_id = $2`,
		`insert into payment_checks select payment_id, show_id, organisation_id, now() from payments where show_id = $1 and booking_id = $2`,
	},
	"what_a_gateway_did_once_is_counted_once": {
		`update payments set gateway_ref = 'ch_1' where show_id = $1 and $2::uuid is not null`,
		`update refunds set gateway_ref = 're_1' where show_id = $1 and booking_id = $2`,
	},
	"a_ticket_was_used_by_the_one_scan_that_admitted_it_first": {
		`delete from scans where show_id = $1 and result = 'admitted' and $2::uuid is not null`,
		`update scans set should_not = false where show_id = $1 and result = 'admitted' and $2::uuid is not null`,
		`update scans set admitted = true, should_not = false where show_id = $1 and result = 'already_used' and $2::uuid is not null`,
		`update tickets set used_at = used_at - interval '1 second' where show_id = $1 and booking_id = $2 and n = 1`,
		`update tickets set used_gate = 'Nowhere' where show_id = $1 and booking_id = $2 and n = 1`,
		`update tickets set used_scan = null where show_id = $1 and booking_id = $2 and n = 1`,
		`update tickets set status = 'valid' where show_id = $1 and booking_id = $2 and n = 1`,
		`update tickets set used_at = null where show_id = $1 and booking_id = $2 and n = 1`,
	},
	"a_scan_says_what_its_ticket_says": {
		`delete from tickets where show_id = $1 and booking_id = $2 and n = 1`,
		`update scans set admitted = not admitted where show_id = $1 and result = 'already_used' and $2::uuid is not null`,
		`update scans set admitted = false where show_id = $1 and result = 'admitted' and $2::uuid is not null`,
		`update scans set should_not = true, first_at = null where show_id = $1 and result = 'admitted' and $2::uuid is not null`,
		`update tickets set status = 'valid' where show_id = $1 and booking_id = $2 and n = 2`,
		`update scans set first_at = null where show_id = $1 and $2::uuid is not null`,
		`update scans set first_at = at + interval '1 second' where show_id = $1 and $2::uuid is not null and first_at is not null`,
		`update scans set at = at - interval '1 day', first_at = at - interval '1 day' where show_id = $1 and $2::uuid is not null and first_at is not null`,
		`update tickets set used_at = null where show_id = $1 and booking_id = $2 and n = 1`,
	},
	"what_is_personal_belongs_to_a_booking_of_the_same_customer": {
		`delete from bookings where show_id = $1 and booking_id = $2`,
		`update buyers set customer_id = 'other' where show_id = $1 and booking_id = $2`,
		`update ticket_holders set customer_id = 'other' where show_id = $1 and booking_id = $2`,
	},
}
