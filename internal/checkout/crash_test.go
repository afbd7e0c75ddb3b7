package checkout_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/checkout"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/sandbox"
	"github.com/rowlock/rowlock/internal/store"
)

// scenario is a way to buy, or to give back. It is played once to see which
// points of the saga it passes, and then once for each of them by a process
// that is killed there.
type scenario struct {
	name     string
	webhooks int
	play     []func(*crash)
	// want is how the booking ends when nobody is killed, and whenever the money
	// was taken and nothing else was asked for; also are other ends that a crash
	// may lead to.
	want boxoffice.BookingStatus
	also []boxoffice.BookingStatus
	free bool // no money is taken, ever
}

// crash is one playing of a scenario, in a show of its own.
type crash struct {
	*scenario
	h      *house
	at     int // where it is killed; -1: nowhere
	show   uuid.UUID
	hold   *store.ReservationView
	child  *process // nil: dead
	told   came
	err    error
	killed bool
}

// The parts of scenarios. What the child does is not done when it is dead; the
// world goes on.
func does(do, token string) func(*crash) {
	return func(c *crash) { c.do(do, token) }
}

func (c *crash) do(do, token string) {
	if c.child == nil {
		return
	}
	a := act{Do: do, Token: token, Customer: c.hold.CustomerID, ID: c.hold.ID}
	switch do {
	case "pay", "cancel":
		a.ID = read[uuid.UUID](c.h, `select booking_id from bookings where show_id = $1 and reservation_id = $2`, c.show, c.hold.ID)
	case "ask":
		a.ID = c.payment()
	case "send":
		a.ID = read[uuid.UUID](c.h, `select coalesce((select refund_id from refunds where show_id = $1 limit 1), $2)`, c.show, uuid.Nil)
		if a.ID == uuid.Nil {
			return // nothing is to be given back
		}
	}
	told, ok := c.child.do(a)
	if !ok {
		c.child.end()
		c.killed = c.child.killed()
		c.child = nil
		return
	}
	c.told = told
}

// payment is the case's last attempt to pay; zero: there is none.
func (c *crash) payment() uuid.UUID {
	return read[uuid.UUID](c.h, `select coalesce((select payment_id from payments where show_id = $1 order by created_at desc limit 1), $2)`, c.show, uuid.Nil)
}

func settles(c *crash) {
	if p := c.h.at(c.payment()); p != nil && p.State == sandbox.Processing {
		c.err = c.h.gateway.Settle(p.ID)
	}
}

func confirms(c *crash) {
	if p := c.h.at(c.payment()); p != nil && p.State == sandbox.RequiresAction {
		c.h.decide(c.payment(), "confirm")
	}
}

// atTheDesk lets people at the gateway give all the money back.
func atTheDesk(what string) func(*crash) {
	return func(c *crash) {
		if p := c.h.at(c.payment()); p != nil && p.State == sandbox.Succeeded {
			c.h.desk(what, c.payment(), 0)
		}
	}
}

func holdEnds(c *crash) { c.h.endHolds(c.show) }

func othersCome(c *crash) {
	_, err := c.h.tryHold(c.show, "somebody else", 0)
	if c.err == nil {
		c.err = err
	}
}

// hears lets the gateway tell the child what it has to tell of the case.
func hears(c *crash) {
	id := c.payment()
	for _, e := range c.h.gateway.Undelivered() {
		if c.child != nil && strings.Contains(string(e.Data), id.String()) {
			_, _ = c.h.gateway.Deliver(c.h.ctx, e.ID)
			c.do("", "") // to see whether it is alive, and where it came
		}
	}
}

// booksAndHears lets the webhook come while the gateway has yet to answer.
func booksAndHears(c *crash) {
	if c.child == nil {
		return
	}
	done := make(chan struct{})
	child := c.child
	go func() {
		defer close(done)
		child.do(act{Do: "book", Token: sandbox.TokenOK, Customer: c.hold.CustomerID, ID: c.hold.ID})
	}()
	var e sandbox.Event
	c.h.until("the gateway tells of the payment", func() bool {
		for _, have := range c.h.gateway.Undelivered() {
			if id := c.payment(); id != uuid.Nil && strings.Contains(string(have.Data), id.String()) {
				e = have
			}
		}
		select {
		case <-done: // it did not come so far
			return true
		default:
			return e.ID != ""
		}
	})
	if e.ID != "" {
		_, _ = c.h.gateway.Deliver(c.h.ctx, e.ID)
	}
	<-done
	c.do("", "")
}

const (
	confirmed = boxoffice.BookingConfirmed
	failed    = boxoffice.BookingFailed
	expired   = boxoffice.BookingExpired
	cancelled = boxoffice.BookingCancelled
)

var scenarios = []scenario{
	{name: "paid at once", play: []func(*crash){does("book", sandbox.TokenOK), hears}, want: confirmed},
	{name: "declined", play: []func(*crash){does("book", sandbox.TokenDeclined), hears}, want: expired, free: true},
	{name: "declined, then another card", play: []func(*crash){
		does("book", sandbox.TokenDeclined), does("pay", sandbox.TokenOK)}, want: confirmed},
	{name: "charged without an answer", play: []func(*crash){does("book", sandbox.TokenTimeout), does("ask", "")}, want: confirmed},
	{name: "settled later, and told by webhook", play: []func(*crash){does("book", sandbox.TokenAsync), settles, hears}, want: confirmed},
	{name: "declined later", play: []func(*crash){does("book", sandbox.TokenAsyncDeclined), settles, does("ask", "")}, want: expired, free: true},
	{name: "confirmed on the gateway's page", play: []func(*crash){does("book", sandbox.TokenRedirect), confirms, hears}, want: confirmed},
	{name: "never confirmed on the gateway's page", play: []func(*crash){
		does("book", sandbox.TokenRedirect), holdEnds, does("ask", "")}, want: expired, free: true},
	{name: "late, with the places free", play: []func(*crash){
		does("book", sandbox.TokenAsync), holdEnds, settles, does("ask", "")}, want: confirmed},
	{name: "late, with the places gone", play: []func(*crash){
		does("book", sandbox.TokenAsync), holdEnds, othersCome, settles, does("ask", ""), does("send", "")}, want: failed},
	{name: "cancelled while it is paid", play: []func(*crash){
		does("book", sandbox.TokenAsync), does("cancel", ""), settles}, want: cancelled, also: []boxoffice.BookingStatus{confirmed}},
	{name: "cancelled too late while it is paid", play: []func(*crash){
		does("book", sandbox.TokenAsyncLate), does("cancel", ""), settles, does("ask", ""), does("send", "")},
		want: cancelled, also: []boxoffice.BookingStatus{confirmed}},
	{name: "cancelled when it was confirmed", play: []func(*crash){
		does("book", sandbox.TokenOK), does("cancel", ""), does("send", "")}, want: cancelled, also: []boxoffice.BookingStatus{confirmed}},
	{name: "given back slowly", play: []func(*crash){
		does("book", sandbox.TokenRefundSlow), does("cancel", ""), does("send", "")}, want: cancelled, also: []boxoffice.BookingStatus{confirmed}},
	{name: "given back at the gateway's desk", play: []func(*crash){does("book", sandbox.TokenOK), atTheDesk("refunds"), hears},
		want: cancelled, also: []boxoffice.BookingStatus{failed, expired}}, // when that is heard of before the payment
	{name: "disputed", play: []func(*crash){does("book", sandbox.TokenOK), atTheDesk("disputes"), hears},
		want: cancelled, also: []boxoffice.BookingStatus{failed, expired}},
	{name: "told by webhook before the answer", webhooks: 1, play: []func(*crash){booksAndHears}, want: confirmed},
}

// TestAProcessKilledAnywhereLosesNoMoney plays every scenario and kills its
// process at every point; then one instance with jobs starts, and nobody steps
// in. All are in one database, each in a show of its own: the instance has to
// tidy up behind all of them at once.
func TestAProcessKilledAnywhereLosesNoMoney(t *testing.T) {
	t.Parallel()
	h := open(t, policy(0, 100))
	var mu sync.Mutex
	children := map[string]*process{} // by show
	route := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		var e struct {
			Data struct {
				MerchantID        string `json:"merchant_id"`
				MerchantPaymentID string `json:"merchant_payment_id"`
			}
		}
		if err := json.Unmarshal(body, &e); err != nil {
			t.Error(err)
		}
		var show string
		_ = h.super.QueryRow(r.Context(), `select show_id::text from payments where payment_id::text in ($1, $2)`, e.Data.MerchantID, e.Data.MerchantPaymentID).Scan(&show)
		mu.Lock()
		p := children[show]
		mu.Unlock()
		if p == nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		r.URL.Path = "/webhooks"
		proxy(p.url).ServeHTTP(w, r)
	}))
	h.receive.Store(&route)
	h.gateway.HoldWebhooks()

	plays := make(chan struct{}, 4) // at the same time
	play := func(s *scenario, at int) *crash {
		plays <- struct{}{}
		defer func() { <-plays }()
		c := &crash{scenario: s, h: h, at: at, show: h.another()}
		if c.hold, c.err = h.tryHold(c.show, fmt.Sprintf("buyer-%s", c.show), 0, 1); c.err != nil {
			return c
		}
		if c.child, c.err = h.start(orders{KillAt: at, Webhooks: s.webhooks}); c.err != nil {
			return c
		}
		mu.Lock()
		children[c.show.String()] = c.child
		mu.Unlock()
		for _, part := range s.play {
			part(c)
		}
		mu.Lock()
		delete(children, c.show.String())
		mu.Unlock()
		if c.child != nil {
			c.child.end()
		}
		return c
	}

	// How far does each get, alive?
	whole := make([]*crash, len(scenarios))
	all(len(scenarios), func(i int) error { whole[i] = play(&scenarios[i], -1); return nil })
	cases := slices.Clone(whole)
	passed := map[checkout.Step]bool{}
	for _, c := range whole {
		if c.err != nil {
			t.Fatalf("%s: %v", c.name, c.err)
		}
		for at, step := range c.told.Trace {
			passed[step] = true
			cases = append(cases, &crash{scenario: c.scenario, at: at})
		}
	}
	for _, step := range checkout.Steps {
		if !passed[step] {
			t.Errorf("no scenario passes %q", step)
		}
	}
	all(len(cases)-len(whole), func(i int) error {
		i += len(whole)
		cases[i] = play(cases[i].scenario, cases[i].at)
		return nil
	})

	// Another instance starts. Nobody else does anything.
	h.receive.Store(nil)
	for _, c := range cases {
		if p := h.at(c.payment()); p != nil && p.State == sandbox.RequiresAction && c.want == confirmed {
			h.decide(c.payment(), "confirm") // a buyer at the gateway's page knows of no crash
		}
	}
	// The jobs alone can do it: what the gateway tells by webhook comes later.
	h.works()
	h.until("the jobs are done", func() bool {
		h.passTime()
		h.passTimeThere()
		return !h.busy()
	})
	h.rest()
	for _, c := range cases {
		h.endHolds(c.show) // of bookings that wait for another card, and of those that were never begun
	}
	h.until("all holds are closed", func() bool {
		return read[int](h, `select count(*)::int from reservations where status = 'active'`) == 0
	})
	h.rest()

	t.Logf("%d scenarios, %d processes killed", len(whole), len(cases)-len(whole))
	for _, c := range cases {
		name := c.name
		if c.at >= 0 {
			name += fmt.Sprintf(", killed %d %s", c.at, whole[slices.IndexFunc(whole, func(w *crash) bool { return w.scenario == c.scenario })].told.Trace[c.at])
		}
		t.Run(name, c.check)
	}
}

// check says whether the case has ended well.
func (c *crash) check(t *testing.T) {
	if c.err != nil {
		t.Fatal(c.err)
	}
	if c.killed != (c.at >= 0) {
		t.Fatal("killed:", c.killed)
	}
	h := c.h
	status := boxoffice.BookingStatus(read[string](h, `select coalesce((select status from bookings where show_id = $1), '')`, c.show))
	taken := read[int](h, `select count(*)::int from payments where show_id = $1 and status = 'succeeded'`, c.show)
	charges := 0
	for _, p := range h.charges() {
		if read[bool](h, `select exists (select from payments where show_id = $1 and payment_id::text = $2)`, c.show, p.MerchantID) {
			charges++
		}
	}
	switch {
	case charges != taken || charges > 1 || c.free && charges > 0:
		t.Errorf("charged %d times; by the database %d times", charges, taken)
	case c.at < 0 && status != c.want:
		t.Errorf("nobody was killed, and the booking is %q, not %s", status, c.want)
	case taken > 0 && status != c.want && !slices.Contains(c.also, status):
		t.Errorf("the money was taken, and the booking is %q, not %s", status, c.want)
	case taken == 0 && !slices.Contains([]boxoffice.BookingStatus{"", expired, cancelled}, status):
		t.Errorf("nothing was paid, and the booking is %q", status)
	}
	if refunds := read[int](h, `select count(*)::int from refunds where show_id = $1`, c.show); refunds != taken && status != confirmed || refunds > 0 && status == confirmed {
		t.Errorf("%d refunds of a booking that is %s", refunds, status)
	}
}

// TestJobsKilledAgainAndAgainGetEverythingDone kills one process after another
// that works jobs, each a little later than the one before. What a dead one was
// working on is River's to find.
func TestJobsKilledAgainAndAgainGetEverythingDone(t *testing.T) {
	t.Parallel()
	h := open(t, policy(0, 100), seats(60))
	hear := h.deaf()
	h.gateway.HoldWebhooks()
	const each = 3
	ends := map[uuid.UUID]boxoffice.BookingStatus{}
	for i := range each {
		name := fmt.Sprint("buyer ", i)
		// A payment whose answer nobody has heard.
		ends[h.forgotten(name, sandbox.TokenTimeout, i)] = confirmed
		// One that was never sent.
		begun, err := h.store.BeginBooking(h.ctx, buyer(name), new(fixture.Key()), h.hold(name, each+i).ID, begin(name))
		if err != nil {
			t.Fatal(err)
		}
		ends[begun.BookingID] = boxoffice.BookingPending
		// One whose booking was cancelled meanwhile.
		id := h.forgotten(name, sandbox.TokenAsync, 2*each+i)
		h.cancelled(name, id)
		ends[id] = cancelled
		// A booking that was cancelled, and whose money nobody has sent.
		id = h.bought(name, sandbox.TokenOK, 3*each+i).ID
		h.cancelled(name, id)
		ends[id] = cancelled
	}
	deaths := 0
	for at := 0; ; at += 1 + at/3 {
		p, err := h.start(orders{KillAt: at, Jobs: true})
		if err != nil {
			t.Fatal(err)
		}
		h.until("the child is dead, or has nothing left to do", func() bool {
			h.passTime()
			_, alive := p.do(act{})
			return !alive || !h.busy()
		})
		p.end()
		if !p.killed() {
			t.Logf("%d processes killed", deaths)
			break
		}
		deaths++
		h.bury()
	}
	hear()
	h.rest()
	for id, want := range ends {
		h.is(id, want)
	}
}
