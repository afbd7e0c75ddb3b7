package checkout_test

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	netmail "net/mail"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/checkout"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/jobs"
	"github.com/rowlock/rowlock/internal/mail"
	"github.com/rowlock/rowlock/internal/payment"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/sandbox"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/internal/telemetry"
	"github.com/rowlock/rowlock/internal/tickets"
	"github.com/rowlock/rowlock/sql/ops"
)

// limit turns a hang into a failure. Nothing is measured against it.
const limit = 5 * time.Minute

// The credentials of the tests' gateway.
const (
	apiKey        = "merchant"
	webhookSecret = "between the two of us"
)

var quietly = slog.New(slog.DiscardHandler)

// setup says how a house is to be.
type setup struct {
	gateway sandbox.Options
	store   func(*store.Config)
	charges func(payment.Gateway) payment.Gateway // what stands between the checkout and the gateway
	show    fixture.Options
	mails   bool // they are written into a folder
}

// house is a box office with a database and a gateway of its own, each real,
// which speak over HTTP. Nothing settles by itself at the gateway, and no time
// passes unless the test says so. When the test ends, the house comes to rest
// and its books are audited.
type house struct {
	fixture.Made
	t       testing.TB
	ctx     context.Context
	db      *pgtest.DB
	super   *pgxpool.Pool
	store   *store.Store
	gateway *sandbox.Sandbox
	url     string // of the gateway
	pays    payment.Gateway
	out     *checkout.Checkout
	mails   *mail.Drop
	metrics *telemetry.Metrics
	setup   setup

	working bool // jobs
	stops   []func()
	other   *checkout.Checkout           // takes webhooks; nil: out does
	byHand  map[string]int64             // what people gave back of payments, without the gateway
	breaks  string                       // the rule that the test breaks on purpose
	receive atomic.Pointer[http.Handler] // of webhooks; nil: the house's own
	mu      sync.Mutex
	heard   []int // what webhooks were answered
}

func open(t testing.TB, edit ...func(*setup)) *house {
	t.Helper()
	h := &house{t: t, db: pgtest.New(t), metrics: telemetry.NewMetrics()}
	h.setup.gateway = sandbox.Options{Key: apiKey, WebhookSecret: webhookSecret, Log: quietly, Async: time.Hour, Timeout: time.Millisecond, Retry: 10 * time.Millisecond}
	for _, f := range edit {
		f(&h.setup)
	}
	h.super = h.db.Pool("")
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	h.ctx = ctx
	t.Cleanup(cancel)
	h.store = fixture.On(t, h.db, func(c *store.Config) {
		c.Jobs = scheduler(t)
		if h.setup.store != nil {
			h.setup.store(c)
		}
	})
	h.openGateway()
	h.pays = gatewayAt(h.url)
	if h.setup.charges != nil {
		h.pays = h.setup.charges(h.pays)
	}
	h.out = checkout.New(checkout.Config{Store: h.store, Gateways: []payment.Gateway{h.pays}, Observer: h.metrics})
	h.Made = fixture.Show(t, h.store, h.setup.show)
	t.Cleanup(func() {
		if !t.Failed() {
			h.rest()
			h.audit()
		}
		for _, stop := range h.stops {
			stop()
		}
	})
	return h
}

func scheduler(t testing.TB) *jobs.Scheduler {
	t.Helper()
	s, err := jobs.NewScheduler(quietly, true)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// gatewayAt is the gateway as Rowlock knows it. Each call has a connection of
// its own: on one that was used before net/http repeats a call whose answer was
// lost by itself, and nothing would be lost.
func gatewayAt(address string) payment.Gateway {
	return payment.NewSandbox(payment.SandboxOptions{
		URL: address, Key: apiKey, WebhookSecret: webhookSecret,
		HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	})
}

func (h *house) openGateway() {
	h.t.Helper()
	g, err := sandbox.New(h.setup.gateway)
	if err != nil {
		h.t.Fatal(err)
	}
	h.gateway = g
	server := httptest.NewServer(g)
	h.t.Cleanup(server.Close)
	h.url = server.URL
	here := httptest.NewServer(http.HandlerFunc(h.webhook))
	h.t.Cleanup(here.Close)
	g.SetWebhookURL(here.URL)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	h.t.Cleanup(func() { stop(); <-done })
}

// webhook takes in what the gateway tells, as the API does.
func (h *house) webhook(w http.ResponseWriter, r *http.Request) {
	if other := h.receive.Load(); other != nil {
		(*other).ServeHTTP(w, r)
		return
	}
	status := take(cmp.Or(h.other, h.out), r)
	h.mu.Lock()
	h.heard = append(h.heard, status)
	h.mu.Unlock()
	w.WriteHeader(status)
}

func take(out *checkout.Checkout, r *http.Request) (status int) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = out.Webhook(r.Context(), "sandbox", r.Header, body)
	}
	switch boxoffice.CodeOf(err).Info().Class {
	case boxoffice.ClassUnauthenticated:
		return http.StatusUnauthorized
	case boxoffice.ClassNotFound:
		return http.StatusNotFound
	case boxoffice.ClassInvalid:
		return http.StatusUnprocessableEntity
	}
	if err != nil {
		return http.StatusInternalServerError
	}
	return http.StatusOK
}

// deaf lets nobody take webhooks until the test ends it.
func (h *house) deaf() (hear func()) {
	var nobody http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	h.receive.Store(&nobody)
	return func() { h.receive.Store(nil) }
}

// works begins to work jobs, if nobody has.
func (h *house) works() {
	h.t.Helper()
	if !h.working {
		h.working = true
		h.startJobs(h.store, h.out)
	}
}

// startJobs works jobs until the house's books were audited, or stop is called.
func (h *house) startJobs(s *store.Store, out *checkout.Checkout) (stop func()) {
	h.t.Helper()
	pool, err := jobs.OpenPool(h.ctx, h.db.URL(store.RoleApp), 4)
	if err != nil {
		h.t.Fatal(err)
	}
	cfg := jobs.Config{Store: s, Checkout: out, Pool: pool, Log: quietly}
	if h.setup.mails {
		cfg.Post = h.post(s, out)
	}
	j, err := jobs.New(cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- j.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Error(err)
		}
		pool.Close()
	})
	h.stops = append(h.stops, stop)
	return stop
}

func (h *house) post(s *store.Store, out *checkout.Checkout) *jobs.Post {
	h.t.Helper()
	templates, err := mail.LoadTemplates("")
	if err != nil {
		h.t.Fatal(err)
	}
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed)
	signer, err := tickets.NewSigner([][]byte{seed})
	if err != nil {
		h.t.Fatal(err)
	}
	if h.mails == nil {
		h.mails = mail.NewDrop(h.t.TempDir())
	}
	return &jobs.Post{
		Store: s, Checkout: out, Tickets: signer, Sender: h.mails, Templates: templates,
		From: netmail.Address{Name: "Lock House", Address: "tickets@example.com"}, Shop: "Lock House",
	}
}

// sent lists the mails of a kind in the folder: the bookings they are about.
func (h *house) sent(kind string) []string {
	h.t.Helper()
	files, err := filepath.Glob(filepath.Join(h.mails.String(), kind+".*.eml"))
	if err != nil {
		h.t.Fatal(err)
	}
	return files
}

func (h *house) letter(file string) string {
	h.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

func (h *house) exec(sql string, args ...any) {
	h.t.Helper()
	if _, err := h.super.Exec(h.ctx, sql, args...); err != nil {
		h.t.Fatal(err)
	}
}

// read reads one value, past every rule.
func read[T any](h *house, sql string, args ...any) T {
	h.t.Helper()
	rows, err := h.super.Query(h.ctx, sql, args...)
	if err != nil {
		h.t.Fatal(err)
	}
	v, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	if err != nil {
		h.t.Fatal(err)
	}
	return v
}

// until waits for something to become so.
func (h *house) until(what string, so func() bool) {
	h.t.Helper()
	for !so() {
		if h.ctx.Err() != nil {
			h.t.Fatalf("it was never so that %s\n%s", what, h.unrest())
		}
		// Only so as not to keep a processor busy with asking.
		time.Sleep(5 * time.Millisecond)
	}
}

// buyer is a customer, as commands know one.
func buyer(name string) boxoffice.Actor { return boxoffice.Actor{CustomerID: name, Name: name} }

// who is the customer as a person.
func who(name string) boxoffice.Buyer {
	return boxoffice.Buyer{Name: "Ünal " + name, Email: name + "@example.org", Phone: "+49 30 1234567", Locale: "en"}
}

// hold holds seats, by their place in the plan, for a customer.
func (h *house) hold(customer string, seats ...int) *store.ReservationView {
	h.t.Helper()
	v, err := h.tryHold(h.ID, customer, seats...)
	if err != nil {
		h.t.Fatal(err)
	}
	return v
}

func (h *house) tryHold(show uuid.UUID, customer string, seats ...int) (*store.ReservationView, error) {
	req := store.PlaceRequest{ShowID: show, CustomerID: customer}
	for _, i := range seats {
		req.Seats = append(req.Seats, store.SeatRef{ID: h.Seats[i].ID})
	}
	v, _, err := h.store.PlaceReservation(h.ctx, buyer(customer), new(fixture.Key()), req)
	return v, err
}

// book buys what a reservation holds with a card.
func (h *house) book(r *store.ReservationView, token string) (*checkout.Result, error) {
	return h.bookAs(new(fixture.Key()), r, token)
}

func (h *house) bookAs(key *boxoffice.IdempotencyKey, r *store.ReservationView, token string) (*checkout.Result, error) {
	return h.out.Book(h.ctx, buyer(r.CustomerID), key, checkout.Request{
		ReservationID: r.ID, Buyer: who(r.CustomerID), Payment: checkout.Payment{Method: "card", Token: token},
	})
}

// pay pays a booking in another way.
func (h *house) pay(customer string, booking uuid.UUID, token string) (*checkout.Result, error) {
	return h.out.Pay(h.ctx, buyer(customer), new(fixture.Key()), booking, checkout.Payment{Method: "card", Token: token})
}

// bought holds seats and buys them at once.
func (h *house) bought(customer, token string, seats ...int) *store.BookingView {
	h.t.Helper()
	res, err := h.book(h.hold(customer, seats...), token)
	if err != nil {
		h.t.Fatal(err)
	}
	if res.Booking.Status != boxoffice.BookingConfirmed {
		h.t.Fatal("the booking is", res.Booking.Status)
	}
	return res.Booking
}

// forgotten buys seats for a customer who goes away, from a process that then
// forgets all about it: the charge is sent, and its answer thrown away.
func (h *house) forgotten(customer, token string, seats ...int) (booking uuid.UUID) {
	h.t.Helper()
	begun, err := h.store.BeginBooking(h.ctx, buyer(customer), new(fixture.Key()), h.hold(customer, seats...).ID, begin(customer))
	if err != nil {
		h.t.Fatal(err)
	}
	h.send(begun.PaymentID, token)
	return begun.BookingID
}

// send sends a payment that has begun to the gateway, and nothing else.
func (h *house) send(id uuid.UUID, token string) {
	h.t.Helper()
	p, err := h.store.PaymentPlace(h.ctx, id)
	if err != nil {
		h.t.Fatal(err)
	}
	_, _ = h.pays.Charge(h.ctx, payment.Charge{
		PaymentID: id, BookingID: p.BookingID, ShowID: p.ShowID, Reference: p.Reference, Method: "card", Token: token,
		AmountMinor: p.AmountMinor, Currency: p.Currency, Until: p.HoldEnds,
	})
}

func begin(customer string) store.BeginRequest {
	return store.BeginRequest{Gateway: "sandbox", Method: "card", Buyer: new(who(customer))}
}

// cancelled gives a booking back without telling the gateway of anything.
func (h *house) cancelled(customer string, booking uuid.UUID) {
	h.t.Helper()
	if _, err := h.store.CancelBooking(h.ctx, buyer(customer), new(fixture.Key()), booking, store.CancelRequest{}); err != nil {
		h.t.Fatal(err)
	}
}

// another makes a show like the house's own.
func (h *house) another() uuid.UUID {
	h.t.Helper()
	plan, err := h.store.ReadPlan(h.ctx, h.PlanID, boxoffice.DefaultOrganisationID, true)
	if err != nil {
		h.t.Fatal(err)
	}
	n := store.NewShow{
		Organisation: boxoffice.DefaultOrganisationID, EventID: h.EventID, PlanID: h.PlanID,
		StartsAt: time.Now().Add(30 * 24 * time.Hour), Currency: "EUR", Publish: true,
	}
	for _, c := range plan.Categories {
		n.Prices = append(n.Prices, store.Price{Category: c.Name, AmountMinor: fixture.FrontPrice})
	}
	if h.setup.show.Edit != nil {
		h.setup.show.Edit(&n)
	}
	made, _, err := h.store.CreateShow(h.ctx, fixture.Staff, fixture.Key(), n)
	if err != nil {
		h.t.Fatal(err)
	}
	return made.ShowID
}

// policy is a house whose shows let buyers cancel until so many minutes before
// the start, for so many percent of the price.
func policy(minutes, percent int) func(*setup) {
	return edited(func(n *store.NewShow) {
		n.Facts.Cancellation = &boxoffice.Cancellation{UntilMinutesBeforeStart: minutes, RefundPercent: percent}
	})
}

func edited(edit func(*store.NewShow)) func(*setup) {
	return func(s *setup) {
		before := s.show.Edit
		s.show.Edit = func(n *store.NewShow) {
			if before != nil {
				before(n)
			}
			edit(n)
		}
	}
}

func seats(n int) func(*setup) { return func(s *setup) { s.show.Seats = n } }

func (h *house) booking(id uuid.UUID) *store.BookingView {
	h.t.Helper()
	v, err := h.store.ReadBooking(h.ctx, uuid.Nil, "", id)
	if err != nil {
		h.t.Fatal(err)
	}
	return v
}

// is fails the test unless the booking is so.
func (h *house) is(id uuid.UUID, want boxoffice.BookingStatus) *store.BookingView {
	h.t.Helper()
	v := h.booking(id)
	if v.Status != want {
		h.t.Fatalf("the booking is %s, not %s", v.Status, want)
	}
	return v
}

// at is a payment as the gateway has it; nil: it never heard of it.
func (h *house) at(id uuid.UUID) *sandbox.Payment {
	for _, p := range h.gateway.Ledger().Payments {
		if p.MerchantID == id.String() {
			return &p
		}
	}
	return nil
}

// charges are the gateway's payments for which money was taken.
func (h *house) charges() (list []sandbox.Payment) {
	for _, p := range h.gateway.Ledger().Payments {
		if p.State == sandbox.Succeeded {
			list = append(list, p)
		}
	}
	return list
}

// settle settles a payment at the gateway, as time would have done.
func (h *house) settle(id uuid.UUID) {
	h.t.Helper()
	h.settled(h.at(id).ID)
}

func (h *house) settled(gatewayID string) {
	h.t.Helper()
	if err := h.gateway.Settle(gatewayID); err != nil {
		h.t.Fatal(err)
	}
}

// event is the gateway's last event of a type about a payment.
func (h *house) event(eventType string, id uuid.UUID) (found sandbox.Event) {
	h.t.Helper()
	for _, e := range h.gateway.Events() {
		if e.Type == eventType && strings.Contains(string(e.Data), id.String()) {
			found = e
		}
	}
	if found.ID == "" {
		h.t.Fatalf("the gateway has no event %s about %s", eventType, id)
	}
	return found
}

// deliver lets the gateway send an event now, and returns the answer.
func (h *house) deliver(e sandbox.Event) (status int) {
	h.t.Helper()
	status, err := h.gateway.Deliver(h.ctx, e.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	return status
}

// desk does something at the gateway's desk: refunds, disputes.
func (h *house) desk(what string, payment uuid.UUID, amount int64) {
	h.t.Helper()
	body := fmt.Sprintf(`{"payment": %q, "amount": %d}`, payment, amount)
	resp, err := http.Post(h.url+"/desk/"+what, "application/json", strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		answer, _ := io.ReadAll(resp.Body)
		h.t.Fatalf("%s: %s", resp.Status, answer)
	}
}

// decide is the buyer at the gateway's page.
func (h *house) decide(id uuid.UUID, decision string) {
	h.t.Helper()
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := stay.PostForm(h.url+"/pay/"+h.at(id).ID, url.Values{"decision": {decision}})
	if err != nil {
		h.t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode >= 400 {
		h.t.Fatal(resp.Status)
	}
}

// lock holds a show's lock in a session of its own, as an instance that hangs
// would.
func (h *house) lock(show uuid.UUID) (unlock func()) {
	h.t.Helper()
	conn, err := h.super.Acquire(h.ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := conn.Exec(h.ctx, `select pg_advisory_lock(show_lock_key($1))`, show); err != nil {
		h.t.Fatal(err)
	}
	return sync.OnceFunc(func() {
		if _, err := conn.Exec(h.ctx, `select pg_advisory_unlock_all()`); err != nil {
			h.t.Error(err)
		}
		conn.Release()
	})
}

// endHolds lets the active holds of a show end a second ago: the house's clock
// is the database's, and nobody turns that. The log says what it would have
// said.
func (h *house) endHolds(show uuid.UUID) {
	h.t.Helper()
	h.together([]string{
		// No lane may be between reading an end and writing it.
		`select pg_advisory_xact_lock(show_lock_key($1))`,
		`update reservations set expires_at = clock_timestamp() - interval '1 second', created_at = created_at - (expires_at - clock_timestamp()) - interval '1 second',
		        own_expires_at = own_expires_at - (expires_at - clock_timestamp()) - interval '1 second'
		  where show_id = $1 and status = 'active' and expires_at > clock_timestamp()`,
		`update show_seats s set held_until = r.expires_at from reservations r
		  where s.show_id = $1 and s.state = 'h' and r.show_id = s.show_id and r.reservation_id = s.reservation_id`,
		`update changes c set expires_at = r.expires_at from reservations r
		  where c.show_id = $1 and c.type like 'reservation.%' and r.show_id = c.show_id and r.reservation_id = c.reservation_id and r.status = 'active'`,
		`update river_job set scheduled_at = clock_timestamp(), state = 'available'
		  where state = 'scheduled' and kind = 'reservations_expire' and (args->>'showId')::uuid = $1`,
	}, show)
}

// passTime makes due whatever waits for a time to come: but no hold ends.
func (h *house) passTime() {
	h.t.Helper()
	// All of it is seen at once, and nobody looks meanwhile: a job that finds
	// nothing due, or somebody else at it, leaves the rest to the sweep.
	h.together([]string{
		`lock table payment_checks in share row exclusive mode`,
		`update river_job set scheduled_at = clock_timestamp(), state = 'available'
		  where state in ('scheduled', 'retryable') and kind <> 'reservations_expire'`,
		`update payment_checks set due_at = clock_timestamp() where due_at > clock_timestamp()`,
		`select pg_notify(current_schema() || '.river_insert', json_build_object('queue', queue)::text)
		   from (select distinct queue from river_job where state = 'available') q`,
	})
}

// together executes statements in one transaction.
func (h *house) together(statements []string, args ...any) {
	h.t.Helper()
	if err := pgx.BeginFunc(h.ctx, h.super, func(tx pgx.Tx) error {
		for _, sql := range statements {
			if _, err := tx.Exec(h.ctx, sql, args...); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		h.t.Fatal(err)
	}
}

// passTimeThere settles at the gateway what settles by itself after a while.
func (h *house) passTimeThere() {
	h.t.Helper()
	ledger := h.gateway.Ledger()
	for _, p := range ledger.Payments {
		if p.State == sandbox.Processing {
			h.settled(p.ID)
		}
	}
	for _, re := range ledger.Refunds {
		if re.State == sandbox.Pending {
			h.settled(re.ID)
		}
	}
}

// unrest says what is still under way; "": nothing.
func (h *house) unrest() string {
	var what []string
	rows, _ := h.super.Query(context.Background(), `
		select 'payment ' || status || ' ' || payment_id from payments where status = 'pending'
		union all select 'refund ' || status || ' ' || refund_id from refunds where status = 'pending'
		union all select 'event ' || event_id from payment_events where done_at is null
		union all select 'job ' || kind || ' ' || state || ' ' || attempt || ' ' || args || coalesce(errors[cardinality(errors)]->>'error', '')
		            from river_job where state in ('available', 'running', 'scheduled', 'retryable', 'pending')
		             and (kind in ('payments_settle', 'refund_send', 'payment_event_apply', 'show_cancel') or kind = 'mail_send' and $1)`, h.setup.mails)
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err.Error()
		}
		what = append(what, line)
	}
	if err := rows.Err(); err != nil {
		return err.Error()
	}
	for _, e := range h.gateway.Undelivered() {
		what = append(what, "webhook "+e.Type)
	}
	return strings.Join(what, "\n")
}

// busy says whether something is under way in the house, whatever the
// gateway has still to tell.
func (h *house) busy() bool {
	for line := range strings.Lines(h.unrest()) {
		if !strings.HasPrefix(line, "webhook") {
			return true
		}
	}
	return false
}

// rest works jobs and lets time pass until nothing is under way any more.
func (h *house) rest() {
	h.t.Helper()
	h.works()
	h.gateway.ReleaseWebhooks()
	for h.unrest() != "" {
		if h.ctx.Err() != nil {
			h.t.Fatalf("the house does not come to rest:\n%s", h.unrest())
		}
		h.passTime()
		h.passTimeThere()
		time.Sleep(20 * time.Millisecond) // only so as not to keep a processor busy with asking
	}
}

// entry is a payment with what belongs to it, by the database.
type entry struct {
	ID       string
	Show     uuid.UUID
	Status   sandbox.State
	Amount   int64
	Refunded int64
	Currency string
	Applied  bool  // to its booking
	Kept     int64 // what its booking's tickets cost less what was given back for them
}

// audit compares the house's books, with themselves and with the gateway's.
func (h *house) audit() {
	h.t.Helper()
	broken, err := ops.Prove(h.ctx, h.super)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, b := range broken {
		if b.Name != h.breaks {
			h.t.Errorf("%s\n%v\n%v", b.Name, b.Columns, b.Rows)
		}
	}
	for _, sql := range []string{
		// A confirmed booking has one live ticket a place, any other has none.
		`select k.booking_id || ' ' || k.status || ': ' || live || ' live tickets for ' || places || ' places'
		   from (select k.booking_id, k.status, r.places - r.cancelled_places as places,
		                (select count(*) from tickets t where t.show_id = k.show_id and t.booking_id = k.booking_id and t.status <> 'void') as live
		           from bookings k join reservations r on r.show_id = k.show_id and r.reservation_id = k.reservation_id) k
		  where live <> case status when 'confirmed' then places else 0 end`,
		// A hold is consumed for a booking that is, or was, confirmed.
		`select k.booking_id || ' ' || k.status || ' of a hold that is ' || r.status
		   from bookings k join reservations r on r.show_id = k.show_id and r.reservation_id = k.reservation_id
		  where (k.confirmed_at is not null) <> (r.status = 'consumed') or r.booking_id <> k.booking_id`,
		// What was given back adds up on all sides.
		`select 'payment ' || p.payment_id || ' gave back ' || p.refunded_minor || ', its refunds ' || f.sum
		   from payments p cross join lateral (select coalesce(sum(amount_minor), 0) as sum from refunds f
		     where f.show_id = p.show_id and f.payment_id = p.payment_id and f.status <> 'failed') f
		  where f.sum <> p.refunded_minor or p.refunded_minor > 0 and p.status <> 'succeeded'`,
		`select 'booking ' || k.booking_id || ' gave back ' || k.refunded_minor || ', its payments ' || p.sum
		   from bookings k cross join lateral (select coalesce(sum(refunded_minor), 0) as sum from payments p
		     where p.show_id = k.show_id and p.booking_id = k.booking_id) p where p.sum <> k.refunded_minor`,
		`select 'ticket ' || t.ticket_id || ' gave back ' || t.refunded_minor || ', its refunds ' || f.sum
		   from tickets t cross join lateral (select coalesce(sum(i.amount), 0) as sum
		     from refunds f cross join unnest(f.ticket_ids, f.ticket_amounts) as i(id, amount)
		    where f.show_id = t.show_id and f.booking_id = t.booking_id and f.status <> 'failed' and i.id = t.ticket_id) f
		  where f.sum <> t.refunded_minor`,
		`select 'refund ' || refund_id from refunds f
		  where cardinality(ticket_ids) > 0 and amount_minor <> (select sum(a) from unnest(ticket_amounts) a)`,
		// What is asked for is what has no outcome.
		`select 'asked for: ' || p.payment_id from payments p full join payment_checks c using (payment_id)
		  where (c.payment_id is not null) <> (p.status is not distinct from 'pending')`,
		// What one booking was confirmed by is one change.
		`select 'booking ' || booking_id || ' was confirmed ' || count(*) || ' times' from changes
		  where type = 'booking.confirmed' group by booking_id having count(*) > 1`,
		// Nothing personal is on the queue.
		`select 'job ' || kind || ' ' || args from river_job where args::text like '%Ünal%' or args::text like '%@%' or args::text like '%1234567%'`,
		`select 'change ' || type from changes c where c::text like '%Ünal%' or c::text like '%@example%'`,
		`select 'receipt ' || receipt from idempotency_keys where receipt::text like '%Ünal%' or receipt::text like '%@example%'`,
	} {
		rows, err := h.super.Query(h.ctx, sql)
		if err != nil {
			h.t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			h.t.Fatal(err)
		}
		for _, line := range lines {
			h.t.Error(line)
		}
	}
	if n := read[int](h, `select deadlocks::int from pg_stat_database where datname = current_database()`); n > 0 {
		h.t.Errorf("%d deadlocks", n)
	}
	h.reconcile()
}

// reconcile compares the books with the gateway's ledger: what was taken there
// is applied or given back here, and the sums of each currency are the same.
func (h *house) reconcile() {
	h.t.Helper()
	rows, err := h.super.Query(h.ctx, `
		select p.payment_id::text, p.show_id, p.status, p.amount_minor, p.refunded_minor, p.currency,
		       k.applied_payment_id is not distinct from p.payment_id,
		       coalesce((select sum(t.price_minor - t.refunded_minor) from tickets t where t.show_id = k.show_id and t.booking_id = k.booking_id), 0)::bigint
		  from payments p join bookings k on k.show_id = p.show_id and k.booking_id = p.booking_id
		 where p.gateway = 'sandbox'`)
	if err != nil {
		h.t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[entry])
	if err != nil {
		h.t.Fatal(err)
	}
	ledger := h.gateway.Ledger()
	theirs := map[string]sandbox.Payment{}
	for _, p := range ledger.Payments {
		theirs[p.MerchantID] = p
	}
	sums := map[string]sandbox.Sum{}
	for _, p := range list {
		there, known := theirs[p.ID]
		delete(theirs, p.ID)
		if p.Status == sandbox.Pending {
			h.t.Errorf("payment %s has no outcome", p.ID)
		}
		if (p.Status == sandbox.Succeeded) != (there.State == sandbox.Succeeded) {
			h.t.Errorf("payment %s is %s here, and there %q", p.ID, p.Status, there.State)
		}
		if !known || p.Status != sandbox.Succeeded {
			continue
		}
		kept := int64(0)
		if p.Applied {
			kept = p.Kept
		}
		hand := h.byHand[p.ID]
		if p.Amount != there.Amount || p.Refunded != there.Refunded+there.Refunding+there.Disputed+hand || p.Amount != kept+p.Refunded || p.Currency != there.Currency {
			h.t.Errorf("payment %s: taken %d %s, given back %d, kept %d for tickets; there: %+v", p.ID, p.Amount, p.Currency, p.Refunded, kept, there)
		}
		sum := sums[p.Currency]
		sum.Charged += p.Amount
		sum.Net += kept + hand
		sums[p.Currency] = sum
	}
	for currency, sum := range ledger.Sums {
		if ours := sums[currency]; ours.Charged != sum.Charged || ours.Net != sum.Net {
			h.t.Errorf("%s: taken %d and kept %d; by the gateway %d and %d", currency, ours.Charged, ours.Net, sum.Charged, sum.Net)
		}
	}
	for _, p := range theirs {
		if p.State == sandbox.Succeeded {
			h.t.Errorf("the gateway took money for something that is not here: %+v", p)
		}
	}
}

// figure is what a counter says.
func figure(m prometheus.Metric) float64 {
	var d dto.Metric
	if err := m.Write(&d); err != nil {
		panic(err)
	}
	return d.GetCounter().GetValue()
}

// instance is another process on the house's database and gateway.
func (h *house) instance() *checkout.Checkout {
	h.t.Helper()
	s := fixture.On(h.t, h.db, func(c *store.Config) { c.Jobs = scheduler(h.t) })
	return checkout.New(checkout.Config{Store: s, Gateways: []payment.Gateway{gatewayAt(h.url)}})
}

// refused fails the test unless err is a refusal with the code, and returns it.
func refused(t testing.TB, err error, code boxoffice.Code) *boxoffice.Error {
	t.Helper()
	refusal, ok := err.(*boxoffice.Error)
	if !ok || refusal.Code != code {
		t.Fatalf("%v, not %s", err, code)
	}
	return refusal
}

// proxy hands requests on to somebody else.
func proxy(address string) http.Handler {
	to, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	p := httputil.NewSingleHostReverseProxy(to)
	p.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	return p
}

// all runs the same thing many times at once and returns the errors, in order.
func all(n int, do func(i int) error) []error {
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { errs[i] = do(i) })
	}
	group.Wait()
	return errs
}

func first(errs []error) error { return cmp.Or(errs...) }
