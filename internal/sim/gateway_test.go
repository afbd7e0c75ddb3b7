package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/payment"
)

const gatewayName = "sim"

// gateway takes money and gives it back, as the port in payment wants it: by
// the ids of who calls, each once. What it says by itself are events.
type gateway struct {
	w       *world
	charges map[uuid.UUID]*charge
	order   []*charge
	refunds map[string]*moneyBack // by id and attempt
	back    []*moneyBack
	events  []*event
}

// charge is a payment at the gateway.
type charge struct {
	id       string
	payment  uuid.UUID
	amount   int64
	state    payment.State
	token    string
	redirect bool // it waits for the buyer
	until    time.Time
	given    int64 // given back, or on its way
}

// moneyBack is a refund, or what a bank took back.
type moneyBack struct {
	id     string
	refund uuid.UUID // zero: not ours
	charge *charge
	amount int64
	state  payment.State
	bank   bool
}

// event is what the gateway tells, until it is taken. One that may be lost is
// about something that is asked for as well.
type event struct {
	payment.Event
	what  string
	taken bool
	lost  bool
	under int  // deliveries under way
	sure  bool // it is told until it is taken
}

// The tokens of cards, by what they do.
const (
	cardOK            = "ok"
	cardDeclined      = "declined"
	cardSlow          = "slow"           // charged later
	cardSlowDeclined  = "slow declined"  // declined later
	cardTooLate       = "too late"       // charged later, and cannot be cancelled
	cardPage          = "page"           // the buyer has to confirm
	cardRefundSlow    = "refund slow"    // given back later
	cardRefundRefused = "refund refused" // given back only when it is asked for again
)

var cards = []string{cardOK, cardOK, cardDeclined, cardSlow, cardSlowDeclined, cardTooLate, cardPage, cardRefundSlow, cardRefundRefused}

func (g *gateway) charge(c payment.Charge) *charge {
	ch := g.charges[c.PaymentID]
	if ch != nil {
		if ch.amount != 0 && ch.amount != c.AmountMinor {
			g.w.fail("%s was charged with %d, and again with %d", name(c.PaymentID), ch.amount, c.AmountMinor)
		}
		return ch
	}
	if _, p := g.w.tables.payment(c.PaymentID); p == nil {
		g.w.fail("%s is charged, and not in the books", name(c.PaymentID))
	}
	ch = g.open(c.PaymentID)
	ch.amount, ch.token, ch.until = c.AmountMinor, c.Token, c.Until
	switch c.Token {
	case cardDeclined:
		g.become(ch, payment.Failed)
	case cardSlow, cardSlowDeclined, cardTooLate:
		ch.state = payment.Pending
	case cardPage:
		ch.state, ch.redirect = payment.Pending, true
	default:
		g.become(ch, payment.Succeeded)
	}
	return ch
}

func (g *gateway) open(payment uuid.UUID) *charge {
	ch := &charge{id: fmt.Sprintf("ch%d", len(g.order)+1), payment: payment}
	g.charges[payment], g.order = ch, append(g.order, ch)
	return ch
}

func (g *gateway) become(ch *charge, s payment.State) {
	ch.state = s
	g.w.say("gateway: %s of %s is %s", ch.id, name(ch.payment), s)
	g.tell(false, payment.Event{Kind: payment.EventPayment, Payment: payment.Ref{PaymentID: ch.payment, Gateway: ch.id}, Answer: ch.answer()},
		"%s of %s is %s", ch.id, name(ch.payment), s)
}

func (g *gateway) tell(sure bool, e payment.Event, format string, args ...any) {
	e.ID = fmt.Sprintf("ev%d", len(g.events)+1)
	g.events = append(g.events, &event{Event: e, what: fmt.Sprintf(format, args...), sure: sure})
}

func (ch *charge) answer() payment.Answer {
	a := payment.Answer{State: ch.state, Gateway: ch.id, AmountMinor: ch.amount, Currency: "EUR"}
	switch {
	case ch.state == payment.Failed:
		a.DeclineCode = "declined"
	case ch.state == payment.Pending && ch.redirect:
		a.Next = &payment.Next{Type: "redirect", URL: "https://gateway.example/" + ch.id}
	}
	return a
}

// cancel ends what was not taken, also what has not come yet.
func (g *gateway) cancel(payment_ uuid.UUID) *charge {
	ch := g.charges[payment_]
	switch {
	case ch == nil:
		ch = g.open(payment_)
		ch.state = payment.Cancelled
	case ch.state == payment.Pending && ch.token != cardTooLate:
		g.become(ch, payment.Cancelled)
	}
	return ch
}

// move is time at the gateway: what is open comes to its end.
func (g *gateway) move(ch *charge, yes bool) {
	switch {
	case ch.state != payment.Pending:
	case ch.redirect && (!yes || !g.w.clock().Before(ch.until)), ch.token == cardSlowDeclined:
		g.become(ch, payment.Failed)
	default:
		g.become(ch, payment.Succeeded)
	}
}

// refund gives money back for a row of the books, which must be there.
func (g *gateway) refund(r payment.Refund) payment.RefundAnswer {
	key := fmt.Sprint(r.RefundID, r.Attempt)
	m := g.refunds[key]
	if m == nil {
		if _, f := g.w.tables.refund(r.RefundID); f == nil {
			g.w.fail("refund %s of %s is sent, and not in the books", name(r.RefundID), name(r.Payment.PaymentID))
		}
		ch := g.charges[r.Payment.PaymentID]
		m = &moneyBack{id: fmt.Sprintf("re%d", len(g.back)+1), refund: r.RefundID, charge: ch, amount: r.AmountMinor, state: payment.Succeeded}
		g.refunds[key], g.back = m, append(g.back, m)
		switch {
		case ch == nil || ch.state != payment.Succeeded || ch.given+r.AmountMinor > ch.amount, ch.token == cardRefundRefused && r.Attempt == 1:
			m.state = payment.Failed
		case ch.token == cardRefundSlow:
			m.state = payment.Pending
			ch.given += m.amount
		default:
			ch.given += m.amount
		}
		g.w.say("gateway: %s gives %d back for %s: %s", m.id, m.amount, name(r.Payment.PaymentID), m.state)
		g.tellRefund(m, false)
	}
	return m.answer()
}

func (m *moneyBack) answer() payment.RefundAnswer {
	a := payment.RefundAnswer{State: m.state, Gateway: m.id}
	if m.state == payment.Failed {
		a.Failure = "refused"
	}
	return a
}

func (g *gateway) tellRefund(m *moneyBack, sure bool) {
	if m.state == payment.Pending {
		return
	}
	e := payment.Event{
		Kind: payment.EventRefund, Payment: payment.Ref{PaymentID: m.charge.payment, Gateway: m.charge.id}, RefundID: m.refund,
		GatewayRefund: m.id, AmountMinor: m.amount, Refund: m.answer(),
	}
	if m.bank {
		e.Kind, e.Refund = payment.EventDispute, payment.RefundAnswer{}
	}
	g.tell(sure, e, "%s of %s is %s", m.id, name(m.charge.payment), m.state)
}

// desk gives money back, or lets a bank take it, without asking anybody.
func (g *gateway) desk(ch *charge, amount int64, bank bool) {
	m := &moneyBack{id: fmt.Sprintf("re%d", len(g.back)+1), charge: ch, amount: amount, state: payment.Succeeded, bank: bank}
	g.back = append(g.back, m)
	ch.given += amount
	g.w.say("gateway: %s gives %d of %s back by itself", m.id, amount, name(ch.payment))
	g.tellRefund(m, true)
}

// port is the gateway as an instance knows it. Whatever it calls is on its way
// until the world picks it, also when nobody waits for the answer any more.
type port struct{ p *process }

var _ payment.Gateway = (*port)(nil)

func (*port) Name() string { return gatewayName }

func (*port) Methods() []payment.Method { return []payment.Method{{Name: "card", Token: true}} }

func (o *port) call(ctx context.Context, what string, wire func(*gateway) func()) error {
	return o.p.wait(ctx, &call{what: what, wire: func() func() { return wire(o.p.w.gate) }})
}

func (o *port) Charge(ctx context.Context, c payment.Charge) (a payment.Answer, err error) {
	err = o.call(ctx, "charge "+name(c.PaymentID), func(g *gateway) func() {
		told := g.charge(c).answer()
		return func() { a = told }
	})
	return a, err
}

func (o *port) Find(ctx context.Context, p payment.Ref) (a payment.Answer, err error) {
	unknown := false
	err = o.call(ctx, "find "+name(p.PaymentID), func(g *gateway) func() {
		ch := g.charges[p.PaymentID]
		if ch == nil {
			return func() { unknown = true }
		}
		told := ch.answer()
		return func() { a = told }
	})
	if err == nil && unknown {
		err = payment.ErrUnknown
	}
	return a, err
}

func (o *port) Cancel(ctx context.Context, p payment.Ref) (a payment.Answer, err error) {
	err = o.call(ctx, "cancel at the gateway "+name(p.PaymentID), func(g *gateway) func() {
		told := g.cancel(p.PaymentID).answer()
		return func() { a = told }
	})
	return a, err
}

func (o *port) Refund(ctx context.Context, r payment.Refund) (a payment.RefundAnswer, err error) {
	err = o.call(ctx, "refund "+name(r.RefundID), func(g *gateway) func() {
		told := g.refund(r)
		return func() { a = told }
	})
	return a, err
}

func (o *port) Webhook(_ http.Header, body []byte) (e payment.Event, err error) {
	err = json.Unmarshal(body, &e)
	return e, err
}

// taken are the payments that the books and the gateway must agree about.
func (g *gateway) taken() (list []*charge) {
	for _, ch := range g.order {
		if ch.state == payment.Succeeded {
			list = append(list, ch)
		}
	}
	return list
}
