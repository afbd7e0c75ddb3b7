package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/checkout"
	"github.com/rowlock/rowlock/internal/payment"
	"github.com/rowlock/rowlock/internal/store"
)

// operation is something that happens. Its numbers choose among what there is
// when its turn comes, so that it means something, perhaps nothing, whichever
// operations went before it.
type operation struct {
	kind    int
	a, b, c uint16
}

// kinds are the operations, and how often they are drawn. Half of the seeds have
// a waitlist, and a quarter, of those that have as of those that have not, a
// waiting room.
var kinds = []struct {
	often int
	do    func(w *world, o operation)
	in    func(seed uint64) bool // nil: all
}{
	{260, (*world).opProceed, nil},
	{34, (*world).opPlace, nil},
	{8, (*world).opChange, nil},
	{8, (*world).opExtend, nil},
	{8, (*world).opRelease, nil},
	{40, (*world).opBook, nil},
	{14, (*world).opPay, nil},
	{14, (*world).opCancel, nil},
	{16, (*world).opAgain, nil},
	{6, (*world).opConfirm, nil},
	{6, (*world).opGiveBack, nil},
	{6, (*world).opRetryRefund, nil},
	{3, (*world).opBlock, nil},
	{5, (*world).opUnblock, nil},
	{4, (*world).opCapacity, nil},
	{6, (*world).opStatus, nil},
	{12, (*world).opCheckIn, nil},
	{40, (*world).opJob, nil},
	{3, (*world).opPause, nil},
	{4, (*world).opSweep, nil},
	{26, (*world).opWebhook, nil},
	{8, (*world).opLoseWebhook, nil},
	{4, (*world).opArrive, nil},
	{22, (*world).opGateway, nil},
	{3, (*world).opDesk, nil},
	{4, (*world).opTruth, nil},
	{4, (*world).opSentBack, nil},
	{26, (*world).opPass, nil},
	{8, (*world).opEdge, nil},
	{5, (*world).opJump, nil},
	{9, (*world).opCrash, nil},

	{40, (*world).opJoin, hasWaitlist},
	{8, (*world).opLeave, hasWaitlist},
	{14, (*world).opFill, hasWaitlist},
	{3, (*world).opSales, hasWaitlist},
	{3, (*world).opSweepWaitlist, hasWaitlist},

	{5, (*world).opQueue, hasRoom},
	{60, (*world).opEnter, hasRoom},
	{60, (*world).opCall, hasRoom},
	{60, (*world).opLook, hasRoom},
	{60, (*world).opTurn, hasRoom},
	{5, (*world).opExit, hasRoom},
}

func hasWaitlist(seed uint64) bool { return seed%2 == 0 }

func hasRoom(seed uint64) bool { return seed/2%4 == 0 }

// draw makes the operations of a seed.
func draw(seed uint64, n int) []operation {
	r := rand.New(rand.NewPCG(seed, 0))
	total := 0
	often := make([]int, len(kinds))
	for i, k := range kinds {
		if k.in == nil || k.in(seed) {
			often[i] = k.often
			total += k.often
		}
	}
	list := make([]operation, n)
	for i := range list {
		pick := r.IntN(total)
		for kind := range kinds {
			if pick -= often[kind]; pick < 0 {
				list[i] = operation{kind, uint16(r.Uint32()), uint16(r.Uint32()), uint16(r.Uint32())}
				break
			}
		}
	}
	return list
}

// one chooses from a list; false: it is empty.
func one[T any](list []T, a uint16) (v T, ok bool) {
	if len(list) == 0 {
		return v, false
	}
	return list[int(a)%len(list)], true
}

var customers = []string{"anna", "bert", "cleo", "dora"}

func customer(a uint16) boxoffice.Actor {
	name := customers[int(a)%len(customers)]
	return boxoffice.Actor{CustomerID: name, Name: name}
}

var staff = boxoffice.Actor{Staff: true, Name: "staff"}

func (w *world) process(a uint16) *process { return w.procs[int(a)%len(w.procs)] }

func (w *world) opProceed(o operation) {
	for i := range int(o.b)%4 + 1 {
		c, ok := one(w.calls, o.a+uint16(i))
		if !ok {
			return
		}
		f := fateDone
		if rare := o.c % 16; i == 0 && int(rare) < int(fates) {
			f = fate(rare)
		}
		w.proceed(c, f, int(o.b>>8)%4+1)
	}
}

func seatsAt(a, n int) (wants []boxoffice.SeatWant, label string) {
	for i := range n {
		no := (a + i) % len(seatNames)
		wants = append(wants, boxoffice.SeatWant{No: int32(no), TicketType: "standard", Named: seatNames[no]})
		label += " " + seatNames[no]
	}
	return wants, label
}

func (w *world) opPlace(o operation) {
	w.hold(o, customer(o.a))
}

// hold lets somebody want places.
func (w *world) hold(o operation, who boxoffice.Actor) {
	seats, label := seatsAt(int(o.b), int(o.b>>8)%3)
	var areas []boxoffice.AreaWant
	if n := int(o.c) % 4; n > 0 && (n < 3 || len(seats) == 0) {
		areas = []boxoffice.AreaWant{{No: floor, TicketType: "standard", Quantity: n, Named: "floor", AllowPartial: o.c&64 > 0}}
		label += fmt.Sprintf(" floor*%d", n)
	}
	if len(seats)+len(areas) == 0 {
		seats, label = seatsAt(int(o.b), 1)
	}
	var block uuid.UUID
	if len(seats) > 0 && o.c&128 > 0 {
		if block = w.tables.seats[seats[0].No].BlockID; block != uuid.Nil {
			who = boxoffice.Actor{Staff: true, CustomerID: who.CustomerID, Name: "staff"}
		}
	}
	w.place(w.process(o.a>>8), who, label, &boxoffice.PlaceReservation{Seats: seats, Areas: areas, FromBlockID: block, Pass: w.shows(who.CustomerID, o.b>>4)})
}

func (w *world) place(p *process, who boxoffice.Actor, label string, place *boxoffice.PlaceReservation) {
	w.wants(p, who, "place"+label, func(ctx context.Context, p *process, in *intent) (told, error) {
		out, _, err := (&books{p}).do(ctx, "place"+label+" for "+who.CustomerID, who, in.key, func() boxoffice.Doer {
			do := *place
			do.ID, do.CustomerID = w.id('r'), who.CustomerID
			in.made = append(in.made, do.ID)
			return &do
		})
		if err != nil {
			return told{}, err
		}
		return told{hold: out.Receipt.ReservationID, until: out.Receipt.Reservation.ExpiresAt}, nil
	})
}

// holder is a hold that somebody was told of.
type holder struct {
	who  boxoffice.Actor
	hold uuid.UUID
}

func (w *world) holders() (list []holder) {
	for _, in := range w.intents {
		if in.told != nil && in.told.hold != uuid.Nil && strings.HasPrefix(in.what, "place") {
			list = append(list, holder{in.who, in.told.hold})
		}
	}
	for _, id := range w.tables.waited { // their customers read of them
		if e := w.tables.entries[id]; e.ReservationID != uuid.Nil {
			list = append(list, holder{boxoffice.Actor{CustomerID: e.CustomerID, Name: e.CustomerID}, e.ReservationID})
		}
	}
	return list
}

// recent chooses a hold, rather one that lives.
func (w *world) recent(a uint16) (holder, bool) {
	list := w.holders()
	if a%4 > 0 {
		list = slices.DeleteFunc(list, func(h holder) bool { return w.tables.holds[h.hold].Status != boxoffice.ReservationActive })
	}
	return one(list, a/4)
}

func (w *world) onHold(o operation, what string, doer func(hold uuid.UUID) boxoffice.Doer) {
	h, ok := w.recent(o.a)
	if !ok {
		return
	}
	w.wants(w.process(o.b), h.who, what+" "+name(h.hold), func(ctx context.Context, p *process, in *intent) (told, error) {
		out, _, err := (&books{p}).do(ctx, what+" "+name(h.hold), h.who, in.key, func() boxoffice.Doer { return doer(h.hold) })
		if err != nil {
			return told{}, err
		}
		return told{hold: out.Receipt.ReservationID}, nil
	})
}

func (w *world) opChange(o operation) {
	seats, label := seatsAt(int(o.c), int(o.c>>8)%2+1)
	if o.c&1 > 0 {
		w.onHold(o, "add"+label+" to", func(hold uuid.UUID) boxoffice.Doer { return &boxoffice.ChangeReservation{ID: hold, AddSeats: seats} })
		return
	}
	w.onHold(o, "take"+label+" from", func(hold uuid.UUID) boxoffice.Doer {
		return &boxoffice.ChangeReservation{ID: hold, RemoveSeats: seats, AddAreas: []boxoffice.AreaWant{{No: floor, TicketType: "standard", Quantity: 1, Named: "floor"}}}
	})
}

func (w *world) opExtend(o operation) {
	w.onHold(o, "extend", func(hold uuid.UUID) boxoffice.Doer { return &boxoffice.ExtendReservation{ID: hold} })
}

func (w *world) opRelease(o operation) {
	w.onHold(o, "release", func(hold uuid.UUID) boxoffice.Doer { return &boxoffice.ReleaseReservation{ID: hold} })
}

// bought is what came of paying.
func bought(res *checkout.Result, err error) (told, error) {
	if err != nil {
		return told{}, err
	}
	t := told{booking: res.Booking.ID, status: res.Booking.Status}
	if t.status != boxoffice.BookingConfirmed {
		t.status = ""
	}
	return t, nil
}

func pays(c uint16) checkout.Payment {
	return checkout.Payment{Method: "card", Token: cards[int(c)%len(cards)]}
}

func (w *world) opBook(o operation) {
	h, ok := w.recent(o.a)
	if !ok {
		return
	}
	pay, who := pays(o.c), h.who
	who.Staff = false
	w.wants(w.process(o.b), who, "book "+name(h.hold)+" by card: "+pay.Token, func(ctx context.Context, p *process, in *intent) (told, error) {
		return bought(p.checkout.Book(ctx, who, in.key, checkout.Request{ReservationID: h.hold, Payment: pay}))
	})
}

// some chooses a booking of the tables, rather a late one.
func (w *world) some(a uint16) (*boxoffice.Booking, boxoffice.Actor, bool) {
	list := w.tables.booked
	if n := len(list); n > 3 && a%4 > 0 {
		list = list[n-3:]
	}
	id, ok := one(list, a/4)
	if !ok {
		return nil, boxoffice.Actor{}, false
	}
	k := w.tables.books[id]
	return k, boxoffice.Actor{CustomerID: k.CustomerID, Name: k.CustomerID}, true
}

func (w *world) opPay(o operation) {
	k, who, ok := w.some(o.a)
	if !ok {
		return
	}
	pay, id := pays(o.c), k.ID
	w.wants(w.process(o.b), who, "pay "+name(id)+" by card: "+pay.Token, func(ctx context.Context, p *process, in *intent) (told, error) {
		return bought(p.checkout.Pay(ctx, who, in.key, id, pay))
	})
}

func (w *world) opCancel(o operation) {
	k, who, ok := w.some(o.a)
	if !ok {
		return
	}
	req, id, what := store.CancelRequest{}, k.ID, "cancel "
	if o.c%3 == 0 {
		who, req, what = staff, store.CancelRequest{Override: true, Reason: boxoffice.ReasonStaff}, "cancel, whatever the terms say, "
	}
	if ticket, some := one(k.Tickets, o.c>>8); some && o.c%2 == 0 {
		req.TicketIDs = []uuid.UUID{ticket.ID}
		what += fmt.Sprintf("ticket %d of ", ticket.N)
	}
	w.wants(w.process(o.b), who, what+name(id), func(ctx context.Context, p *process, in *intent) (told, error) {
		done, err := p.checkout.Cancel(ctx, who, in.key, id, req)
		if err != nil {
			return told{}, err
		}
		t := told{booking: id, status: done.Status}
		for _, f := range done.Refunds {
			t.refunds = append(t.refunds, f.ID)
		}
		return t, nil
	})
}

// opAgain sends a request once more: one whose answer was lost, or any.
func (w *world) opAgain(o operation) {
	var list []*intent
	for _, in := range w.intents {
		if in.over == nil && (in.open || o.c%4 == 0) {
			list = append(list, in)
		}
	}
	if in, ok := one(list, o.a); ok {
		w.ask(w.process(o.b), in)
	}
}

func (w *world) opConfirm(o operation) {
	h, ok := w.recent(o.a)
	if !ok {
		return
	}
	method := []string{"cash", boxoffice.MethodComp}[o.c%2]
	w.wants(w.process(o.b), staff, "confirm "+name(h.hold)+" by "+method, func(ctx context.Context, p *process, in *intent) (told, error) {
		out, _, err := (&books{p}).do(ctx, "confirm "+name(h.hold), staff, in.key, func() boxoffice.Doer {
			in.made = append(in.made, w.id('p'))
			return &boxoffice.ConfirmReservation{
				ReservationID: h.hold, BookingID: w.id('b'), Reference: "REF", PaymentID: in.made[len(in.made)-1], Method: method, PaymentRef: "receipt",
			}
		})
		if err != nil {
			return told{}, err
		}
		return told{booking: out.Receipt.BookingID, status: boxoffice.BookingStatus(out.Receipt.Booking)}, nil
	})
}

// staffDo has staff give a command.
func (w *world) staffDo(b uint16, what string, doer func(in *intent) boxoffice.Doer) {
	w.wants(w.process(b), staff, what, func(ctx context.Context, p *process, in *intent) (told, error) {
		out, _, err := (&books{p}).do(ctx, what, staff, in.key, func() boxoffice.Doer { return doer(in) })
		if err != nil {
			return told{}, err
		}
		return told{id: out.Receipt.ID, scan: out.Receipt.Scan}, nil
	})
}

func (w *world) opGiveBack(o operation) {
	k, _, ok := w.some(o.a)
	if !ok {
		return
	}
	amount, id := int64(o.c%500), k.ID
	w.staffDo(o.b, fmt.Sprintf("give %d of %s back", amount, name(id)), func(in *intent) boxoffice.Doer {
		return &boxoffice.GiveBack{BookingID: id, AmountMinor: amount, Cause: fmt.Sprint("given:", in.n)}
	})
}

func (w *world) opRetryRefund(o operation) {
	if f, ok := one(w.refused(), o.a); ok {
		w.retry(o.b, f)
	}
}

// refused are refunds that the gateway would not make.
func (w *world) refused() (list []*boxoffice.Refund) {
	for _, id := range w.tables.booked {
		for _, f := range w.tables.books[id].Refunds {
			if f.Status == boxoffice.RefundFailed && !strings.HasPrefix(f.Cause, "dispute:") {
				list = append(list, f)
			}
		}
	}
	return list
}

func (w *world) retry(b uint16, f *boxoffice.Refund) {
	w.staffDo(b, "send refund "+name(f.ID)+" again", func(*intent) boxoffice.Doer {
		return &boxoffice.RetryRefund{BookingID: f.BookingID, RefundID: f.ID}
	})
}

func (w *world) opBlock(o operation) {
	seats, label := seatsAt(int(o.a), int(o.c)%2+1)
	w.staffDo(o.b, "block"+label, func(in *intent) boxoffice.Doer {
		in.made = append(in.made, w.id('x'))
		return &boxoffice.BlockSeats{ID: in.made[len(in.made)-1], Seats: seats, Reason: "press"}
	})
}

func (w *world) opUnblock(o operation) {
	seats, label := seatsAt(int(o.a), 1)
	w.staffDo(o.b, "unblock"+label, func(*intent) boxoffice.Doer { return &boxoffice.UnblockSeats{Seats: seats} })
}

func (w *world) opCapacity(o operation) {
	n := int(o.a)%4 + 2
	w.staffDo(o.b, fmt.Sprintf("the area has %d places", n), func(*intent) boxoffice.Doer { return &boxoffice.SetAreaCapacity{AreaNo: floor, Capacity: n} })
}

func (w *world) opStatus(o operation) {
	verb := boxoffice.ResumeShow
	switch o.a % 12 {
	case 0, 1:
		verb = boxoffice.PauseShow
	case 2:
		verb = boxoffice.CancelShow
	}
	w.staffDo(o.b, string(verb)+" the show", func(*intent) boxoffice.Doer { return &boxoffice.SetShowStatus{Verb: verb} })
}

func (w *world) opCheckIn(o operation) {
	k, _, ok := w.some(o.a)
	if !ok {
		return
	}
	ticket, ok := one(k.Tickets, o.c)
	if !ok {
		return
	}
	id, n, booking := ticket.ID, ticket.N, k.ID
	scan := w.id('g')
	if again := w.auditor.scans[id]; len(again) > 0 && o.c&1024 > 0 { // the device is not sure that it was heard
		scan = again[0]
	}
	var at time.Time
	if o.c&256 > 0 { // by a device without a line, a while ago
		at = w.clock().Add(-time.Duration(o.c%60) * time.Second)
	}
	w.staffDo(o.b, fmt.Sprintf("check ticket %d of %s in by scan %s", n, name(booking), name(scan)), func(*intent) boxoffice.Doer {
		return &boxoffice.CheckIn{BookingID: booking, TicketID: id, ScanID: scan, Gate: "north", At: at}
	})
}

func (w *world) opJob(o operation) {
	if w.paused {
		return
	}
	var list []*job
	for _, j := range w.jobs {
		twice := o.c%8 == 0 // by whoever thinks the first is dead, or that nobody did it
		if due := !j.at.After(w.clock()); due && (twice || !j.done && j.running == 0) {
			list = append(list, j)
		}
	}
	if j, ok := one(list, o.a); ok {
		w.say("instance %d works on %s (task %d)", w.process(o.b).n, j, w.tasks+1)
		w.work(w.process(o.b), j)
	}
}

func (w *world) opPause(o operation) {
	w.paused = o.a%3 == 0
	w.say("the queue is paused: %t", w.paused)
}

func (w *world) opSweep(o operation) {
	w.sweep(w.process(o.b), o.a%2 == 0)
}

func (w *world) sweep(p *process, holds bool) {
	w.say("instance %d sweeps (task %d)", p.n, w.tasks+1)
	w.begin(p, func(ctx context.Context) {
		if holds {
			_ = (&books{p}).expire(ctx, boxoffice.ReasonSwept)
		} else {
			_ = p.checkout.SettleShow(ctx, show)
		}
	}, func() {}, func() {})
}

// hearAll tells an instance of the next event that was not taken.
func (w *world) hearAll(p *process) bool {
	i := slices.IndexFunc(w.gate.events, func(e *event) bool { return !e.taken })
	if i >= 0 {
		w.webhook(p, w.gate.events[i])
	}
	return i >= 0
}

// sweepLast does what jobs have left that came when a clock had jumped back:
// they found nothing to do.
func (w *world) sweepLast(p *process) bool {
	for _, id := range w.tables.held {
		if r := w.tables.holds[id]; r.Status == boxoffice.ReservationActive {
			w.pass(r.ExpiresAt.Sub(w.clock()))
			w.sweep(p, true)
			return true
		}
	}
	var due time.Time
	for _, c := range w.tables.checks {
		if due.IsZero() || c.due.Before(due) {
			due = c.due
		}
	}
	if due.IsZero() {
		return false
	}
	w.pass(due.Sub(w.clock()))
	w.sweep(p, false)
	return true
}

func (w *world) opWebhook(o operation) {
	var list []*event
	for _, e := range w.gate.events {
		if !e.lost && (!e.taken || o.c%8 == 0) { // told again
			list = append(list, e)
		}
	}
	if e, ok := one(list, o.a); ok {
		w.webhook(w.process(o.b), e)
	}
}

// opLoseWebhook loses one that tells what can be asked for.
func (w *world) opLoseWebhook(o operation) {
	var list []*event
	for _, e := range w.gate.events {
		if !e.taken && !e.sure && e.under == 0 {
			list = append(list, e)
		}
	}
	if e, ok := one(list, o.a); ok {
		w.say("%s is lost: %s", e.ID, e.what)
		e.taken, e.lost = true, true
	}
}

// opArrive lets a request come to the gateway that was given up.
func (w *world) opArrive(o operation) {
	if n := len(w.late); n > 0 {
		w.arrive(int(o.a) % n)
	}
}

func (w *world) opGateway(o operation) {
	var open []*charge
	for _, ch := range w.gate.order {
		if ch.state == payment.Pending {
			open = append(open, ch)
		}
	}
	if ch, ok := one(open, o.a); ok {
		w.gate.move(ch, o.c%4 > 0)
		return
	}
	for _, m := range w.gate.back {
		if m.state == payment.Pending {
			w.gate.giveBack(m)
			return
		}
	}
}

// giveBack brings a slow refund to its end.
func (g *gateway) giveBack(m *moneyBack) {
	m.state = payment.Succeeded
	g.w.say("gateway: %s is through", m.id)
	g.tellRefund(m, false)
}

// opDesk lets the gateway give money back by itself, or a bank take it.
func (w *world) opDesk(o operation) {
	var list []*charge
	for _, ch := range w.gate.taken() {
		k, p := w.tables.payment(ch.payment)
		if ch.given == 0 && p.RefundedMinor == 0 && p.ID == k.AppliedID {
			list = append(list, ch)
		}
	}
	if ch, ok := one(list, o.a); ok {
		amount := ch.amount
		if o.c%2 == 0 {
			amount = ch.amount/3 + 1
		}
		w.gate.desk(ch, amount, o.c%4 == 3)
		w.hear(w.gate.events[len(w.gate.events)-1])
	}
}

// opTruth lets a payment have succeeded that was said to have failed.
func (w *world) opTruth(o operation) {
	var list []*charge
	for _, ch := range w.gate.order {
		if ch.state == payment.Failed {
			list = append(list, ch)
		}
	}
	if ch, ok := one(list, o.a); ok {
		w.gate.become(ch, payment.Succeeded)
		w.gate.events[len(w.gate.events)-1].sure = true
	}
}

// opSentBack lets a bank send money back that was given back, whatever the
// books have heard of it.
func (w *world) opSentBack(o operation) {
	var list []*moneyBack
	for _, m := range w.gate.back {
		if m.state == payment.Succeeded && m.refund != uuid.Nil {
			list = append(list, m)
		}
	}
	if m, ok := one(list, o.a); ok {
		m.state = payment.Failed
		m.charge.given -= m.amount
		w.say("gateway: the bank sends %s back", m.id)
		w.gate.tellRefund(m, true)
	}
}

// hear has an event taken in at once, with nothing in between.
func (w *world) hear(e *event) {
	p := w.boot(len(w.procs)) // an instance of its own, which nothing disturbs
	for w.webhook(p, e); ; {
		i := slices.IndexFunc(w.calls, func(c *call) bool { return c.task.process == p })
		if i < 0 {
			return
		}
		w.proceed(w.calls[i], fateDone, 1)
	}
}

func (w *world) opPass(o operation) {
	w.pass(time.Duration(o.a%200) * 100 * time.Millisecond)
}

// opEdge goes to the very end of a hold, or a microsecond before.
func (w *world) opEdge(o operation) {
	var list []*boxoffice.Reservation
	for _, id := range w.tables.held {
		if r := w.tables.holds[id]; r.Status == boxoffice.ReservationActive && r.ExpiresAt.After(w.clock()) {
			list = append(list, r)
		}
	}
	r, ok := one(list, o.a)
	if !ok {
		return
	}
	w.pass(r.ExpiresAt.Sub(w.clock()) - time.Duration(o.c%2)*time.Microsecond)
	if len(r.Seats) > 0 && o.c&2 > 0 { // and somebody waits for one of its seats
		seats, label := seatsAt(int(r.Seats[0].No), 1)
		who := customer(o.b >> 8)
		w.place(w.process(o.b), who, label, &boxoffice.PlaceReservation{Seats: seats, Pass: w.shows(who.CustomerID, 0)})
		if n := len(w.calls); n > 0 {
			w.proceed(w.calls[n-1], fateDone, 1)
		}
	}
}

func (w *world) opJump(o operation) {
	w.skew += time.Duration(int(o.a)%181-90) * time.Second
	w.say("the database's clock jumps")
}

func (w *world) opCrash(o operation) {
	w.say("instance %d dies", int(o.a)%len(w.procs))
	w.crash(int(o.a) % len(w.procs))
}

// mend ends all that goes wrong, and lets time pass until nothing is left to do.
func (w *world) mend() {
	w.say("-- everything is mended, and time goes on")
	w.paused = false
	retries := map[uuid.UUID]int{}
	for rounds := 0; w.broken == "" && w.next(retries); rounds++ {
		if rounds == 1000 {
			w.fail("it does not come to rest")
		}
	}
}

// next does the next thing that is left to do; false: there is none.
func (w *world) next(retries map[uuid.UUID]int) bool {
	p := w.procs[0]
	if len(w.calls) > 0 {
		w.proceed(w.calls[0], fateDone, 4)
		return true
	}
	if w.under > 0 { // somebody waits in vain
		w.pass(10 * time.Second)
		return true
	}
	if !w.slow && w.hearAll(p) {
		return true
	}
	for _, in := range w.intents {
		if in.open {
			w.ask(p, in)
			return true
		}
	}
	for _, ch := range w.gate.order {
		if ch.state == payment.Pending {
			w.gate.move(ch, true)
			return true
		}
	}
	for _, m := range w.gate.back {
		if m.state == payment.Pending {
			w.gate.giveBack(m)
			return true
		}
	}
	for _, f := range w.refused() {
		if retries[f.ID]++; retries[f.ID] < 3 {
			w.retry(0, f)
			return true
		}
	}
	var first *job
	for _, j := range w.jobs {
		if !j.done && (first == nil || j.at.Before(first.at)) {
			first = j
		}
	}
	if first == nil {
		if w.hearAll(p) || w.sweepLast(p) {
			return true
		}
		if len(w.late) > 0 {
			told := len(w.gate.events)
			w.arrive(0)
			if w.slow { // and nobody hears of it
				for _, e := range w.gate.events[told:] {
					e.taken, e.lost = true, true
				}
			}
			return true
		}
		if !w.swept {
			w.swept = true
			if s := w.tables.terms.SalesStartAt; s != nil {
				w.pass(s.Sub(w.clock()))
			}
			w.sweepWaitlist(p)
			return true
		}
		return false
	}
	w.pass(first.at.Sub(w.clock()))
	w.say("instance %d works on %s (task %d)", p.n, first, w.tasks+1)
	w.work(p, first)
	return true
}
