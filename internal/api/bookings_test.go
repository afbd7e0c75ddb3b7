package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rowlock/rowlock/internal/api"
	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/sandbox"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/internal/telemetry"
	"github.com/rowlock/rowlock/internal/tickets"
)

const ada = `{"name":"Ada Lovelace","email":"ada@example.org","phone":"+44 20 7946 0958","locale":"en-GB"}`

// buying is a request to buy a reservation with a card of the sandbox.
func buying(reservation, token string, more ...string) string {
	return `{"reservationId":"` + reservation + `","buyer":` + ada + `,"payment":{"method":"card","token":"` + token + `"}` + strings.Join(more, "") + `}`
}

func card(token string) string { return `{"payment":{"method":"card","token":"` + token + `"}}` }

// hold holds seats and returns the reservation's id.
func (s *site) hold(caller []string, show uuid.UUID, labels ...string) string {
	s.t.Helper()
	return s.must("POST", "/reservations", held(show, labels...), caller...).text("reservationId")
}

// buy holds seats, pays for them and returns the confirmed booking.
func (s *site) buy(caller []string, show uuid.UUID, labels ...string) reply {
	s.t.Helper()
	r := s.must("POST", "/bookings", buying(s.hold(caller, show, labels...), "sbx_ok"), caller...)
	if r.Code != 201 {
		s.t.Fatal(r.Code, r.Body)
	}
	return r
}

func path(r reply) string { return "/bookings/" + r.text("bookingId") }

// ticketID is the id of the i-th ticket of a booking.
func ticketID(r reply, i int) string { return r.field(fmt.Sprintf("tickets.%d.ticketId", i)).(string) }

// status is what the map says of a seat.
func (s *site) status(show uuid.UUID, label string) string {
	s.t.Helper()
	for _, seat := range s.must("GET", "/shows/"+show.String()+"/seats", "").list("seats") {
		if seat := seat.(map[string]any); seat["label"] == label {
			return seat["status"].(string)
		}
	}
	return "nowhere"
}

// mayCancel gives a show terms on which its buyers may cancel.
func mayCancel(percent int) fixture.Options {
	return fixture.Options{Edit: func(n *store.NewShow) {
		n.Facts.Cancellation = &boxoffice.Cancellation{UntilMinutesBeforeStart: 60, RefundPercent: percent}
	}}
}

// same holds a replay against the first answer: all of it.
func (s *site) same(what string, first, again reply) {
	s.t.Helper()
	if again.Code != first.Code || again.Body.String() != first.Body.String() || again.Header().Get("Location") != first.Header().Get("Location") ||
		again.Header().Get("Show-Version") != first.Header().Get("Show-Version") {
		s.t.Errorf("%s: the replay differs:\n%d %v %s\n%d %v %s", what, first.Code, first.Header(), first.Body, again.Code, again.Header(), again.Body)
	}
	if again.Header().Get("Idempotency-Replayed") != "true" || first.Header().Get("Idempotency-Replayed") != "" {
		s.t.Errorf("%s: which of the two is the replay?", what)
	}
}

// sendRefunds sends a booking's refunds to their gateway, as jobs would.
func (s *site) sendRefunds(r reply) reply {
	s.t.Helper()
	now := s.must("GET", path(r), "")
	for _, f := range now.list("refunds") {
		if err := s.checkout.SendRefund(s.t.Context(), uuid.MustParse(f.(map[string]any)["refundId"].(string))); err != nil {
			s.t.Fatal(err)
		}
	}
	return s.must("GET", path(r), "")
}

func TestBuyingWhatIsHeld(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{Seats: 4, Floor: 10})
	me, other := as(uuid.NewString()), as(uuid.NewString())
	hold := s.must("POST", "/reservations", `{"showId":"`+show.ID.String()+`","seats":[{"label":"Stalls-A-1"}],"areas":[{"areaId":"`+show.Areas[0].ID.String()+`","quantity":2}],"metadata":{"cart":"8231"}}`, me...)
	body := buying(hold.text("reservationId"), "sbx_ok", `,"holders":["Ada","","Charles"]`)
	key := newKey()
	first := s.ask("POST", "/bookings", body, withKey(me, key)...)
	if first.Code != 201 || first.Header().Get("Location") != "/api/v1"+path(first) || first.text("status") != "confirmed" || first.text("paymentStatus") != "succeeded" {
		t.Fatal(first.Code, first.Header(), first.Body)
	}
	const total = fixture.FrontPrice + 2*fixture.FloorPrice
	if first.tree["totalAmount"] != float64(total) || first.tree["refundedAmount"] != 0.0 || len(first.list("tickets")) != 3 || len(first.list("payments")) != 1 ||
		len(first.text("reference")) != 8 || first.field("metadata.cart") != "8231" || first.field("buyer.name") != "Ada Lovelace" || first.tree["nextAction"] != nil ||
		first.field("tickets.0.label") != "Stalls-A-1" || first.field("tickets.0.holderName") != "Ada" || first.field("tickets.1.label") != "Floor" ||
		first.field("tickets.1.holderName") != nil || first.field("tickets.2.holderName") != "Charles" || first.field("tickets.2.areaId") != show.Areas[0].ID.String() {
		t.Error(first.Body)
	}
	if l := s.gateway.Ledger(); len(l.Payments) != 1 || l.Sums["EUR"].Net != total {
		t.Errorf("%+v", l)
	}

	// A scanner without a network: nothing but the published keys.
	var keys tickets.Keys
	published := s.raw("GET", "/tickets/keys")
	if err := json.Unmarshal(published.Body.Bytes(), &keys); err != nil || published.Code != 200 || !strings.HasPrefix(published.Header().Get("Cache-Control"), "public") {
		t.Fatal(err, published.Header(), published.Body)
	}
	for i := range 3 {
		claims, err := tickets.Verify(keys, first.field(fmt.Sprintf("tickets.%d.code", i)).(string))
		if err != nil || claims.ShowID != show.ID || claims.TicketID.String() != ticketID(first, i) {
			t.Error(err, claims)
		}
	}

	// What was acknowledged is there in the very next request, for whom it is.
	read := s.must("GET", path(first), "", me...)
	if read.Body.String() != first.Body.String() {
		t.Errorf("read otherwise than answered:\n%s\n%s", read.Body, first.Body)
	}
	reservation := s.must("GET", "/reservations/"+hold.text("reservationId"), "", me...)
	if reservation.text("status") != "consumed" || reservation.text("bookingId") != first.text("bookingId") {
		t.Error(reservation.Body)
	}
	if at := s.must("GET", "/shows/"+show.ID.String()+"/availability?minVersion="+first.Header().Get("Show-Version"), ""); at.text("statuses") != "baaa" || at.field("areas.0.booked") != 2.0 {
		t.Error(at.Body)
	}
	tid := ticketID(first, 0)
	for _, ask := range [][2]string{
		{"GET", path(first)}, {"GET", path(first) + "/tickets"}, {"GET", path(first) + "/tickets.pdf"}, {"GET", path(first) + "/refunds"}, {"DELETE", path(first)},
		{"GET", "/tickets/" + tid}, {"GET", "/tickets/" + tid + "/qr.svg"}, {"GET", "/tickets/" + tid + "/qr.png"},
	} {
		if r := s.ask(ask[0], ask[1], "", other...); r.Code != 404 || r.text("code") != "NOT_FOUND" {
			t.Error(ask, r.Code, r.Body)
		}
	}
	for _, ask := range [][2]string{{path(first) + "/pay", card("sbx_ok")}, {path(first) + "/cancel", "{}"}, {"/bookings", body}} {
		if r := s.ask("POST", ask[0], ask[1], other...); r.Code != 404 || r.text("code") != "NOT_FOUND" {
			t.Error(ask, r.Code, r.Body)
		}
	}
	if r := s.ask("PATCH", "/tickets/"+tid, `{"holderName":"Mallory"}`, other...); r.Code != 404 {
		t.Error(r.Code, r.Body)
	}
	// Bought is bought.
	if r := s.ask("POST", "/bookings", body, me...); r.Code != 409 || r.text("code") != "RESERVATION_NOT_ACTIVE" || r.text("bookingId") != first.text("bookingId") {
		t.Error(r.Code, r.Body)
	}
	if r := s.ask("DELETE", "/reservations/"+hold.text("reservationId"), "", me...); r.Code != 409 {
		t.Error(r.Code, r.Body)
	}

	// The first answer stays the first answer, whatever has become of it since.
	s.same("at once", first, s.ask("POST", "/bookings", body, withKey(me, key)...))
	s.must("POST", "/tickets/check-in", `{"code":"`+first.field("tickets.0.code").(string)+`","scanId":"`+uuid.NewString()+`"}`)
	s.must("POST", path(first)+"/refunds", `{"amount":100}`)
	s.must("DELETE", path(first), "")
	s.same("after it was used and cancelled", first, s.ask("POST", "/bookings", body, withKey(me, key)...))
	if r := s.ask("POST", "/bookings", buying(hold.text("reservationId"), "sbx_declined"), withKey(me, key)...); r.text("code") != "IDEMPOTENCY_KEY_REUSED" {
		t.Error(r.Code, r.Body)
	}

	var types []string
	for _, c := range s.must("GET", "/changes?bookingId="+first.text("bookingId"), "").list("changes") {
		types = append(types, c.(map[string]any)["type"].(string))
	}
	want := "booking.created payment.created payment.succeeded reservation.consumed booking.confirmed ticket.issued ticket.used refund.created ticket.void refund.created booking.cancelled refund.succeeded"
	if strings.Join(types, " ") != want {
		t.Errorf("logged %v", types)
	}
	var consumed reply
	consumed.tree = s.must("GET", "/changes?type=reservation.consumed&showId="+show.ID.String(), "").list("changes")[0].(map[string]any)
	if consumed.field("after.areas.0.units") != -2.0 || consumed.field("after.areas.0.booked") != 2.0 || consumed.field("object.bookingId") != first.text("bookingId") {
		t.Error(consumed.tree)
	}
	if r := s.ask("GET", "/changes?type=reservation.eaten", ""); r.Code != 422 {
		t.Error(r.Code, r.Body)
	}
}

func TestADeclinedCardAndThenAGoodOne(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{})
	me := as(uuid.NewString())
	hold := s.must("POST", "/reservations", strings.TrimSuffix(held(show.ID, "Stalls-A-1"), "}")+`,"ttlSeconds":60}`, me...)
	key := newKey()
	body := buying(hold.text("reservationId"), "sbx_insufficient_funds")
	declined := s.ask("POST", "/bookings", body, withKey(me, key)...)
	if declined.Code != 402 || declined.text("code") != "PAYMENT_DECLINED" || declined.text("declineCode") != "insufficient_funds" || declined.text("paymentId") == "" {
		t.Fatal(declined.Code, declined.Body)
	}
	// The time that paying was given is taken back with the failure.
	if declined.text("expiresAt") != hold.text("expiresAt") {
		t.Error("the hold ends at", declined.text("expiresAt"), "and not at its own end", hold.text("expiresAt"))
	}
	at := path(declined)
	pending := s.must("GET", at, "", me...)
	if pending.text("status") != "pending" || pending.text("paymentStatus") != "failed" || pending.text("expiresAt") != hold.text("expiresAt") ||
		pending.field("payments.0.declineCode") != "insufficient_funds" || len(pending.list("tickets")) != 0 {
		t.Error(pending.Body)
	}
	if s.status(show.ID, "Stalls-A-1") != "held" {
		t.Error("after a decline the hold is gone")
	}
	again := s.ask("POST", "/bookings", body, withKey(me, key)...)
	if again.Code != 402 || again.text("paymentId") != declined.text("paymentId") || len(s.gateway.Ledger().Payments) != 1 {
		t.Error("the same key was another attempt:", again.Code, again.Body)
	}

	paid := s.ask("POST", at+"/pay", card("sbx_ok"), withKey(me, key[:30]+"00")...)
	if paid.Code != 200 || paid.text("status") != "confirmed" || paid.text("bookingId") != declined.text("bookingId") || len(paid.list("payments")) != 2 {
		t.Fatal(paid.Code, paid.Body)
	}
	s.same("paying", paid, s.ask("POST", at+"/pay", card("sbx_ok"), withKey(me, key[:30]+"00")...))
	if late := s.ask("POST", "/bookings", body, withKey(me, key)...); late.Code != 402 || late.text("paymentId") != declined.text("paymentId") {
		t.Error("a decline is not repeated when another card has paid:", late.Code, late.Body)
	}
	l := s.gateway.Ledger()
	if len(l.Payments) != 2 || l.Payments[0].MerchantID == l.Payments[1].MerchantID || l.Sums["EUR"].Net != fixture.FrontPrice {
		t.Errorf("%+v", l)
	}
}

// decide presses a button of the gateway's page, and does not go where it leads.
func decide(t *testing.T, r reply, decision string) {
	t.Helper()
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := browser.PostForm(r.field("nextAction.url").(string), url.Values{"decision": {decision}})
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
}

func TestAPaymentThatTheBuyerConfirmsOnAPage(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{})
	me := as(uuid.NewString())
	body := strings.Replace(buying(s.hold(me, show.ID, "Stalls-A-1"), "", `,"returnUrl":"https://tickets.example.org/done"`), `"card","token":""`, `"redirect"`, 1)
	key := newKey()
	first := s.ask("POST", "/bookings", body, withKey(me, key)...)
	if first.Code != 202 || first.text("status") != "pending" || first.text("paymentStatus") != "pending" || first.field("nextAction.type") != "redirect" || first.Header().Get("Location") == "" {
		t.Fatal(first.Code, first.Body)
	}
	again := s.ask("POST", "/bookings", body, withKey(me, key)...)
	if again.Code != 202 || again.field("nextAction.url") != first.field("nextAction.url") || len(s.gateway.Ledger().Payments) != 1 {
		t.Error("a retry is another attempt:", again.Code, again.Body)
	}
	if r := s.ask("POST", path(first)+"/pay", card("sbx_ok"), me...); r.Code != 409 || r.text("code") != "PAYMENT_IN_PROGRESS" || r.text("bookingId") != first.text("bookingId") || r.Header().Get("Retry-After") == "" {
		t.Error(r.Code, r.Body)
	}
	if r := s.ask("PATCH", "/reservations/"+first.text("reservationId"), `{"add":{"seats":[{"label":"Stalls-A-2"}]}}`, me...); r.Code != 409 || r.text("code") != "PAYMENT_IN_PROGRESS" {
		t.Error("what is being paid was changed:", r.Code, r.Body)
	}
	waiting := make(chan reply)
	go func() { waiting <- s.ask("GET", path(first)+"?wait=20", "", me...) }()
	decide(t, first, "decline")
	if r := <-waiting; r.text("status") != "pending" || r.text("paymentStatus") != "failed" || r.tree["nextAction"] != nil {
		t.Error("declined on the page:", r.Body)
	}
	next := s.ask("POST", path(first)+"/pay", `{"payment":{"method":"redirect","gateway":"sandbox"}}`, me...)
	if next.Code != 202 {
		t.Fatal(next.Code, next.Body)
	}
	go func() { waiting <- s.ask("GET", path(first)+"?wait=20", "", me...) }()
	decide(t, next, "confirm")
	if r := <-waiting; r.text("status") != "confirmed" || len(r.list("tickets")) != 1 {
		t.Error("confirmed on the page:", r.Body)
	}
}

func TestWhoWaitsForNewsTakesNoPlaceFromOthers(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{})
	me := as(uuid.NewString())
	booked := s.ask("POST", "/bookings", buying(s.hold(me, show.ID, show.Seats[0].Label), "sbx_redirect"), me...)
	if booked.Code != 202 {
		t.Fatal(booked.Code, booked.Body)
	}
	metrics := telemetry.NewMetrics()
	narrow := *s
	narrow.API = api.New(api.Options{
		Metrics: metrics, Store: s.store, Checkout: s.checkout, Tickets: s.tickets, InFlightMax: 1,
		Auth: api.AuthOptions{Mock: true, Keys: s.store, SessionSecret: []byte("a secret of at least thirty-two bytes")},
	})
	waiting := make(chan reply)
	go func() { waiting <- narrow.ask("GET", path(booked)+"?wait=20", "", me...) }()
	for testutil.ToFloat64(metrics.InFlight) < 1 {
		time.Sleep(time.Millisecond)
	}
	// While it looks it counts, so now and then somebody else is refused.
	for range 10 {
		for narrow.ask("GET", "/shows", "").Code != 200 {
			select {
			case r := <-waiting:
				t.Fatal("nobody was served before it had its answer:", r.Code, r.Body)
			case <-time.After(time.Millisecond):
			}
		}
	}
	decide(t, booked, "confirm")
	if r := <-waiting; r.text("status") != "confirmed" {
		t.Error(r.Code, r.Body)
	}
}

func TestAPaymentThatSettlesLater(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{})
	for i, c := range []struct{ token, status, payment string }{{"sbx_async", "confirmed", "succeeded"}, {"sbx_async_declined", "pending", "failed"}, {"sbx_webhooks_storm", "confirmed", "succeeded"}} {
		me := as(uuid.NewString())
		r := s.must("POST", "/bookings", buying(s.hold(me, show.ID, show.Seats[i].Label), c.token), me...)
		if c.token != "sbx_webhooks_storm" && r.Code != 202 {
			t.Error(c.token, r.Code, r.Body)
		}
		for r = s.must("GET", path(r)+"?wait=20", "", me...); r.text("paymentStatus") == "pending"; {
			r = s.must("GET", path(r)+"?wait=20", "", me...)
		}
		if r.text("status") != c.status || r.text("paymentStatus") != c.payment {
			t.Error(c.token, r.Body)
		}
	}
	if err := s.gateway.AwaitDelivery(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(s.must("GET", "/changes?type=ticket.issued&showId="+show.ID.String(), "").list("changes")); n != 2 {
		t.Errorf("tickets were issued %d times", n)
	}
}

func TestALongPollEnds(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{})
	me := as(uuid.NewString())
	r := s.must("POST", "/bookings", buying(s.hold(me, show.ID, "Stalls-A-1"), "sbx_redirect"), me...)
	poll := func(ctx context.Context, wait string) reply {
		req := httptest.NewRequestWithContext(ctx, "GET", "/api/v1"+path(r)+"?wait="+wait, nil)
		req.Header.Set("X-Mock-User-Id", me[1])
		w := httptest.NewRecorder()
		s.ServeHTTP(w, req)
		return reply{ResponseRecorder: w}
	}
	if got := poll(t.Context(), "1"); got.Code != 200 {
		t.Error("when its time is over:", got.Code, got.Body)
	}
	gone, leave := context.WithCancel(t.Context())
	ended := make(chan reply)
	go func() { ended <- poll(gone, "20") }()
	leave()
	if got := <-ended; got.Code != 503 {
		t.Error("when the client has gone away:", got.Code, got.Body)
	}
	go func() { ended <- poll(t.Context(), "20") }()
	if err := s.Server().Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got.Code != 200 {
		t.Error("when the server stops:", got.Code, got.Body)
	}
}

func TestTwoCardsAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{})
	me := as(uuid.NewString())
	declined := s.ask("POST", "/bookings", buying(s.hold(me, show.ID, "Stalls-A-1"), "sbx_declined"), me...)
	// Both are at the gateway at the same time, or one is refused before.
	s.gateway.Inject(func(*http.Request) sandbox.Fault { return sandbox.Fault{Before: 200 * time.Millisecond} })
	answers := make(chan reply, 2)
	for range 2 {
		go func() { answers <- s.ask("POST", path(declined)+"/pay", card("sbx_ok"), me...) }()
	}
	codes := []int{(<-answers).Code, (<-answers).Code}
	slices.Sort(codes)
	if !slices.Equal(codes, []int{200, 409}) {
		t.Error(codes)
	}
	if l := s.gateway.Ledger(); l.Sums["EUR"].Net != fixture.FrontPrice {
		t.Errorf("%+v", l)
	}
}

func TestWhatCostsNothingIsNotPaid(t *testing.T) {
	t.Parallel()
	s := open(t)
	free := fixture.Show(t, s.store, fixture.Options{Edit: func(n *store.NewShow) {
		for i := range n.Prices {
			n.Prices[i].AmountMinor = 0
		}
	}})
	me := as(uuid.NewString())
	r := s.ask("POST", "/bookings", `{"reservationId":"`+s.hold(me, free.ID, "Stalls-A-1")+`","buyer":`+ada+`}`, me...)
	if r.Code != 201 || r.text("paymentStatus") != "none" || len(r.list("payments")) != 0 || len(r.list("tickets")) != 1 || len(s.gateway.Ledger().Payments) != 0 {
		t.Error(r.Code, r.Body)
	}
	if r := s.must("GET", "/shows/"+free.ID.String()+"/payment-methods", "", stranger...); len(r.list("paymentMethods")) != 0 {
		t.Error(r.Body)
	}
	show := fixture.Show(t, s.store, fixture.Options{})
	hold := s.hold(me, show.ID, "Stalls-A-1")
	if r := s.ask("POST", "/bookings", `{"reservationId":"`+hold+`","buyer":`+ada+`}`, me...); r.Code != 422 || !slices.Contains(r.fields(), "payment") {
		t.Error(r.Code, r.Body)
	}
	if r := s.must("GET", "/reservations/"+hold, "", me...); r.tree["bookingId"] != nil {
		t.Error("a refused request made a booking:", r.Body)
	}
	if r := s.must("GET", "/shows/"+show.ID.String()+"/payment-methods", "", stranger...); r.field("paymentMethods.0.method") != "card" || r.field("paymentMethods.0.gateway") != "sandbox" {
		t.Error(r.Body)
	}
	if r := s.ask("GET", "/shows/"+uuid.NewString()+"/payment-methods", ""); r.Code != 404 {
		t.Error(r.Code, r.Body)
	}
}

// The input is judged before the things it names are looked for, and those
// before their state.
func TestRefusalsOfPayingComeInOrder(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{})
	me := as(uuid.NewString())
	released := s.hold(me, show.ID, "Stalls-A-1")
	s.must("DELETE", "/reservations/"+released, "", me...)
	live := s.hold(me, show.ID, "Stalls-A-2")
	bad := func(body string) string { return strings.Replace(body, "ada@example.org", "ada", 1) }
	for _, c := range []struct {
		path, body string
		as         []string
		want       string
	}{
		{"/bookings", bad(buying(live, "sbx_ok")), stranger, "UNAUTHENTICATED"},
		{"/reservations/" + live + "/confirm", `{}`, me, "FORBIDDEN"},
		{"/bookings", bad(buying(uuid.NewString(), "sbx_ok")), append([]string{"Idempotency-Key", "x"}, me...), "VALIDATION_ERROR"},
		{"/bookings", bad(buying(uuid.NewString(), "sbx_ok")), me, "VALIDATION_ERROR"},
		{"/bookings", strings.Replace(buying(uuid.NewString(), "sbx_ok"), `"card"`, `"cowries"`, 1), me, "VALIDATION_ERROR"},
		{"/bookings", buying(uuid.NewString(), "sbx_ok"), me, "NOT_FOUND"},
		{"/bookings", buying(live, "sbx_ok"), as(uuid.NewString()), "NOT_FOUND"},
		{"/bookings", buying(released, "sbx_ok"), me, "RESERVATION_NOT_ACTIVE"},
		{"/bookings/" + uuid.NewString() + "/pay", card("sbx_ok"), me, "NOT_FOUND"},
		{"/bookings/" + uuid.NewString() + "/cancel", `{}`, me, "NOT_FOUND"},
		{"/bookings/" + uuid.NewString() + "/refunds", `{}`, nil, "NOT_FOUND"},
		{"/refunds/" + uuid.NewString() + "/retry", ``, nil, "NOT_FOUND"},
	} {
		if r := s.ask("POST", c.path, c.body, c.as...); r.text("code") != c.want {
			t.Errorf("%s %s: want %s, got %s", c.path, c.body, c.want, r.Body)
		}
	}
	s.must("POST", "/shows/"+show.ID.String()+"/cancel", "")
	if r := s.ask("POST", "/bookings", buying(released, "sbx_ok"), me...); r.text("code") != "SHOW_NOT_ON_SALE" {
		t.Error(r.Body)
	}
}

func TestPeopleThatCannotBe(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{})
	me := as(uuid.NewString())
	hold := s.hold(me, show.ID, "Stalls-A-1")
	for field, wrong := range map[string][2]string{
		"buyer.name":     {`"Ada Lovelace"`, `" \t "`},
		"buyer.email":    {`"ada@example.org"`, `"Ada <ada@example.org>"`},
		"buyer.locale":   {`"en-GB"`, `"x_!"`},
		"payment.method": {`"card"`, `"cowries"`},
		"returnUrl":      {`"reservationId"`, `"returnUrl":"javascript:alert(1)","reservationId"`},
		"holders":        {`"reservationId"`, `"holders":["a","b"],"reservationId"`},
		"holders[0]":     {`"reservationId"`, `"holders":["a\nb"],"reservationId"`},
	} {
		r := s.ask("POST", "/bookings", strings.Replace(buying(hold, "sbx_ok"), wrong[0], wrong[1], 1), me...)
		if r.Code != 422 || !slices.Contains(r.fields(), field) {
			t.Error(field, r.Code, r.Body)
		}
	}
	for _, mail := range []string{"ada", "ada@", "@example.org", "a b@example.org", "ada@example.org, bob@example.org", "ada@example.org>"} {
		r := s.ask("POST", "/bookings", strings.Replace(buying(hold, "sbx_ok"), "ada@example.org", mail, 1), me...)
		if r.Code != 422 || !slices.Contains(r.fields(), "buyer.email") {
			t.Error(mail, r.Code, r.Body)
		}
	}
	if n := len(s.gateway.Ledger().Payments); n != 0 {
		t.Errorf("%d were charged", n)
	}
}

// Case C85.
func TestNamesInEveryScript(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{Seats: 20})
	for i, name := range []string{
		"李小龍", "Nguyễn Thị Ánh", "محمد", "Zoe\u0308", "🎭 Thalia", strings.Repeat("ß", 200), "Conan O'Brien", "שרה ב", "प्रिया शर्मा", "สมชาย", "Ελένη", "김민준", `<b>"Ada" & \ co</b>`,
	} {
		me := as(uuid.NewString())
		want := strings.ReplaceAll(name, "Zoe\u0308", "Zoë")
		hold := s.hold(me, show.ID, show.Seats[i].Label)
		body := strings.Replace(buying(hold, "sbx_ok", `,"holders":[`+quote(name)+`]`), `"Ada Lovelace"`, quote(name), 1)
		r := s.ask("POST", "/bookings", body, me...)
		if r.Code != 201 || r.field("buyer.name") != want || r.field("tickets.0.holderName") != want {
			t.Errorf("%s: %d %s", name, r.Code, r.Body)
			continue
		}
		if pdf := s.raw("GET", path(r)+"/tickets.pdf", as(me[1])...); pdf.Code != 200 || !strings.HasPrefix(pdf.Body.String(), "%PDF-") || pdf.Header().Get("Content-Type") != "application/pdf" {
			t.Errorf("%s: %d %v", name, pdf.Code, pdf.Header())
		}
		if found := s.must("GET", "/bookings?q="+url.QueryEscape(name), ""); len(name) < 100 && !strings.ContainsAny(name, "🎭<") && (len(found.list("bookings")) != 1 || found.field("bookings.0.bookingId") != r.text("bookingId")) {
			t.Errorf("%s is not found: %s", name, found.Body)
		}
	}
	if r := s.ask("POST", "/bookings", strings.Replace(buying(uuid.NewString(), "sbx_ok"), "Ada Lovelace", strings.Repeat("ß", 201), 1), as(uuid.NewString())...); r.Code != 422 {
		t.Error(r.Code, r.Body)
	}
}

func TestFindingAndForgettingPeople(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{})
	me, other := as(uuid.NewString()), as(uuid.NewString())
	mine := s.must("POST", "/bookings", buying(s.hold(me, show.ID, "Stalls-A-1"), "sbx_ok", `,"holders":["Charles Babbage"]`), me...)
	theirs := s.must("POST", "/bookings", strings.NewReplacer("Ada Lovelace", "Grace Hopper", "ada@", "grace@", "7946 0958", "1111 2222").Replace(buying(s.hold(other, show.ID, "Stalls-A-2"), "sbx_ok")), other...)
	reference := mine.text("reference")
	for _, q := range []string{reference, strings.ToLower(reference), reference[:4] + "-" + reference[4:], "lovel", "LOVELACE ada", "ada@example.org", "Ada@", "+44 20 7946 0958", "79460958"} {
		if r := s.must("GET", "/bookings?q="+url.QueryEscape(q), ""); len(r.list("bookings")) != 1 || r.field("bookings.0.bookingId") != mine.text("bookingId") {
			t.Errorf("%q: %s", q, r.Body)
		}
	}
	for _, q := range []string{"ada hopper", "nobody", "' or x=x --", "%", `\`, ":*", "&|!"} {
		if r := s.ask("GET", "/bookings?q="+url.QueryEscape(q), ""); r.Code != 200 || len(r.list("bookings")) != 0 && !strings.ContainsAny(q, `%\:&`) {
			t.Errorf("%q: %d %s", q, r.Code, r.Body)
		}
	}
	for _, query := range []string{"q=ada", "customerId=" + other[1]} {
		if r := s.ask("GET", "/bookings?"+query, "", me...); r.Code != 403 {
			t.Error(query, r.Code, r.Body)
		}
	}
	if r := s.must("GET", "/bookings?showId="+show.ID.String()+"&status=confirmed", "", me...); len(r.list("bookings")) != 1 || r.field("bookings.0.bookingId") != mine.text("bookingId") {
		t.Error(r.Body)
	}
	page := s.must("GET", "/bookings?limit=1", "")
	rest := s.must("GET", "/bookings?limit=1&cursor="+page.text("nextCursor"), "")
	if page.field("bookings.0.bookingId") != theirs.text("bookingId") || rest.field("bookings.0.bookingId") != mine.text("bookingId") || rest.tree["nextCursor"] != nil {
		t.Error(page.Body, rest.Body)
	}

	if r := s.ask("DELETE", "/customers/"+me[1]+"/personal-data", "", me...); r.Code != 403 {
		t.Error(r.Code, r.Body)
	}
	key := newKey()
	first := s.must("DELETE", "/customers/"+me[1]+"/personal-data", "", "Idempotency-Key", key)
	if first.tree["rows"] != 2.0 {
		t.Error(first.Body)
	}
	s.same("forgetting", first, s.must("DELETE", "/customers/"+me[1]+"/personal-data", "", "Idempotency-Key", key))
	if r := s.must("DELETE", "/customers/"+me[1]+"/personal-data", ""); r.tree["rows"] != 0.0 {
		t.Error(r.Body)
	}
	after := s.must("GET", path(mine), "", me...)
	if after.tree["buyer"] != nil || after.field("tickets.0.holderName") != nil || after.text("status") != "confirmed" || strings.Contains(after.Body.String(), "Lovelace") {
		t.Error(after.Body)
	}
	if r := s.must("GET", "/bookings?q=lovelace", ""); len(r.list("bookings")) != 0 {
		t.Error(r.Body)
	}
	if r := s.must("GET", path(theirs), ""); r.field("buyer.name") != "Grace Hopper" {
		t.Error(r.Body)
	}
}

func TestBookingWhatWasPaidElsewhere(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{Seats: 20})
	me := as(uuid.NewString())
	for i, method := range []string{"cash", "terminal", "invoice", "external", "comp"} {
		at := "/reservations/" + s.hold(me, show.ID, show.Seats[i].Label, show.Seats[i+10].Label) + "/confirm"
		if r := s.ask("POST", at, `{"paymentMethod":"`+method+`"}`); method != "comp" && (r.Code != 422 || !slices.Contains(r.fields(), "paymentReference")) {
			t.Error(method, r.Code, r.Body)
		} else if method == "comp" && r.Code != 201 {
			t.Error(method, r.Code, r.Body)
		}
		if method == "comp" {
			continue
		}
		if r := s.ask("POST", at, `{"paymentMethod":"`+method+`","paymentReference":"4711"}`, me...); r.Code != 403 {
			t.Error("a customer says that they have paid:", r.Code, r.Body)
		}
		key := newKey()
		body := `{"paymentMethod":"` + method + `","paymentReference":"4711","buyer":` + ada + `,"holders":["A","B"]}`
		first := s.ask("POST", at, body, "Idempotency-Key", key)
		if first.Code != 201 || first.field("payments.0.gateway") != "manual" || first.field("payments.0.method") != method || first.text("customerId") != me[1] ||
			first.tree["totalAmount"] != float64(fixture.FrontPrice+fixture.BackPrice) || first.field("tickets.1.holderName") != "B" {
			t.Error(method, first.Code, first.Body)
		}
		// People give back what people took, there and then.
		gone := s.must("POST", path(first)+"/cancel", `{"ticketIds":["`+ticketID(first, 0)+`"]}`)
		if gone.field("refunds.0.status") != "succeeded" || gone.field("refunds.0.amount") != float64(fixture.FrontPrice) || gone.text("status") != "confirmed" {
			t.Error(method, gone.Body)
		}
		s.same(method, first, s.ask("POST", at, body, "Idempotency-Key", key))
	}
	given := s.must("GET", "/bookings?limit=1", "")
	if given.field("bookings.0.totalAmount") != 0.0 || given.field("bookings.0.tickets.0.price") != 0.0 || given.field("bookings.0.paymentStatus") != "none" {
		t.Error(given.Body)
	}
	if n := len(s.gateway.Ledger().Payments); n != 0 {
		t.Errorf("%d were charged", n)
	}
	if r := s.ask("POST", "/reservations/"+uuid.NewString()+"/confirm", `{"paymentMethod":"comp"}`); r.Code != 404 {
		t.Error(r.Code, r.Body)
	}
}

func TestCancellingOnTheShowsTerms(t *testing.T) {
	t.Parallel()
	s := open(t)
	me := as(uuid.NewString())

	t.Run("where there are none it is refused, but not to who may refund", func(t *testing.T) {
		show := fixture.Show(t, s.store, fixture.Options{})
		k := s.buy(me, show.ID, "Stalls-A-1")
		if r := s.ask("DELETE", path(k), "", me...); r.Code != 409 || r.text("code") != "BOOKING_NOT_CANCELLABLE" {
			t.Error(r.Code, r.Body)
		}
		if r := s.ask("DELETE", path(k), ""); r.Code != 200 || r.text("status") != "cancelled" || r.field("refunds.0.amount") != float64(fixture.FrontPrice) || r.field("refunds.0.reason") != "staff" {
			t.Error(r.Code, r.Body)
		}
	})
	t.Run("when it is too late it says until when it was possible", func(t *testing.T) {
		o := mayCancel(100)
		terms := o.Edit
		o.Edit = func(n *store.NewShow) { terms(n); n.StartsAt = time.Now().Add(30 * time.Minute) }
		k := s.buy(me, fixture.Show(t, s.store, o).ID, "Stalls-A-1")
		if r := s.ask("DELETE", path(k), "", me...); r.Code != 409 || r.text("code") != "BOOKING_NOT_CANCELLABLE" || r.text("until") == "" {
			t.Error(r.Code, r.Body)
		}
	})
	t.Run("one ticket of three frees one place, each once, and answers the same each time", func(t *testing.T) { // C60, C25
		show := fixture.Show(t, s.store, mayCancel(50))
		k := s.buy(me, show.ID, "Stalls-A-1", "Stalls-A-2", "Stalls-A-3")
		key, second := newKey(), `{"ticketIds":["`+ticketID(k, 1)+`"]}`
		first := s.ask("POST", path(k)+"/cancel", second, withKey(me, key)...)
		if first.Code != 200 || first.text("status") != "confirmed" || len(first.list("seatsReleased")) != 1 || first.field("seatsReleased.0.label") != "Stalls-A-2" ||
			first.field("seatsReleased.0.ticketId") != ticketID(k, 1) || first.field("refunds.0.amount") != float64(fixture.FrontPrice/2) || first.field("refunds.0.status") != "pending" ||
			first.field("refunds.0.ticketIds.0") != ticketID(k, 1) {
			t.Fatal(first.Code, first.Body)
		}
		for label, want := range map[string]string{"Stalls-A-1": "booked", "Stalls-A-2": "available", "Stalls-A-3": "booked"} {
			if got := s.status(show.ID, label); got != want {
				t.Errorf("%s is %s", label, got)
			}
		}
		if r := s.must("POST", path(k)+"/cancel", second, me...); r.Body.String() != first.Body.String() {
			t.Errorf("asked again:\n%s\n%s", first.Body, r.Body)
		}
		s.hold(as(uuid.NewString()), show.ID, "Stalls-A-2") // somebody else has it now
		whole := s.must("POST", path(k)+"/cancel", "{}", withKey(me, newKey())...)
		if whole.text("status") != "cancelled" || len(whole.list("seatsReleased")) != 3 || len(whole.list("refunds")) != 2 {
			t.Error(whole.Body)
		}
		if r := s.must("DELETE", path(k), "", me...); r.Body.String() != whole.Body.String() {
			t.Errorf("asked again:\n%s\n%s", whole.Body, r.Body)
		}
		if done := s.sendRefunds(k); done.tree["refundedAmount"] != float64(3*fixture.FrontPrice/2) || done.field("refunds.1.status") != "succeeded" || done.field("tickets.0.code") != nil {
			t.Error(done.Body)
		}
		s.same("long after", first, s.ask("POST", path(k)+"/cancel", second, withKey(me, key)...))
		if got := s.status(show.ID, "Stalls-A-2"); got != "held" {
			t.Error("the next one's seat is", got)
		}
		if r := s.ask("POST", path(k)+"/cancel", `{"ticketIds":["`+uuid.NewString()+`"]}`, me...); r.Code != 422 || !slices.Contains(r.fields(), "ticketIds[0]") {
			t.Error(r.Code, r.Body)
		}
	})
	t.Run("a booking that is not paid is taken back whole", func(t *testing.T) { // C22
		show := fixture.Show(t, s.store, fixture.Options{Seats: 4, Floor: 4})
		hold := s.must("POST", "/reservations", `{"showId":"`+show.ID.String()+`","seats":[{"label":"Stalls-A-1"}],"areas":[{"areaId":"`+show.Areas[0].ID.String()+`","quantity":2}]}`, me...)
		k := s.ask("POST", "/bookings", buying(hold.text("reservationId"), "sbx_declined"), me...)
		first := s.must("DELETE", path(k), "", me...)
		if first.Code != 200 || first.text("status") != "cancelled" || len(first.list("seatsReleased")) != 3 || len(first.list("refunds")) != 0 {
			t.Error(first.Code, first.Body)
		}
		if got := s.status(show.ID, "Stalls-A-1"); got != "available" {
			t.Error(got)
		}
		if r := s.must("DELETE", path(k), "", me...); r.Body.String() != first.Body.String() {
			t.Errorf("asked again:\n%s\n%s", first.Body, r.Body)
		}
		if r := s.ask("POST", path(k)+"/pay", card("sbx_ok"), me...); r.Code != 409 || r.text("code") != "RESERVATION_NOT_ACTIVE" {
			t.Error(r.Code, r.Body)
		}
	})
	t.Run("while it is being paid it is cancelled at the gateway", func(t *testing.T) {
		show := fixture.Show(t, s.store, fixture.Options{})
		k := s.must("POST", "/bookings", buying(s.hold(me, show.ID, "Stalls-A-1"), "sbx_redirect"), me...)
		key := newKey()
		first := s.ask("DELETE", path(k), "", withKey(me, key)...)
		if first.Code != 202 || first.text("status") != "cancelled" || first.field("seatsReleased.0.label") != "Stalls-A-1" {
			t.Error(first.Code, first.Body)
		}
		s.same("cancelling what was being paid", first, s.ask("DELETE", path(k), "", withKey(me, key)...))
		if r := s.must("GET", path(k), "", me...); r.text("paymentStatus") != "cancelled" || r.tree["nextAction"] != nil {
			t.Error(r.Body)
		}
		if got := s.status(show.ID, "Stalls-A-1"); got != "available" {
			t.Error(got)
		}
	})
	t.Run("and money that comes all the same goes back once", func(t *testing.T) { // C37
		show := fixture.Show(t, s.store, fixture.Options{})
		s.gateway.HoldWebhooks() // or it might be paid before it is cancelled
		k := s.must("POST", "/bookings", buying(s.hold(me, show.ID, "Stalls-A-1"), "sbx_async_late"), me...)
		if r := s.ask("DELETE", path(k), "", me...); r.Code != 202 {
			t.Error(r.Code, r.Body)
		}
		for _, p := range s.gateway.Ledger().Payments {
			if p.MerchantID == k.field("payments.0.paymentId") && p.Open() {
				if err := s.gateway.Settle(p.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
		s.gateway.ReleaseWebhooks()
		if err := s.gateway.AwaitDelivery(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.checkout.Ask(t.Context(), uuid.MustParse(k.field("payments.0.paymentId").(string))); err != nil {
			t.Fatal(err)
		}
		if r := s.sendRefunds(k); r.text("status") != "cancelled" || r.text("paymentStatus") != "succeeded" || len(r.list("refunds")) != 1 || r.field("refunds.0.status") != "succeeded" ||
			r.field("refunds.0.reason") != "late_payment" || r.tree["refundedAmount"] != r.tree["totalAmount"] || len(r.list("tickets")) != 0 {
			t.Error(r.Body)
		}
	})
}

func TestRefundsAddUp(t *testing.T) { // C52, C58
	t.Parallel()
	s := open(t)
	for currency, price := range map[string]int64{"JPY": 101, "EUR": 3333, "KWD": 1234567} {
		t.Run(currency, func(t *testing.T) {
			o := mayCancel(50)
			terms := o.Edit
			o.Edit = func(n *store.NewShow) {
				terms(n)
				n.Currency = currency
				for i := range n.Prices {
					n.Prices[i].AmountMinor = price
				}
			}
			show := fixture.Show(t, s.store, o)
			me := as(uuid.NewString())
			k := s.buy(me, show.ID, "Stalls-A-1", "Stalls-A-2", "Stalls-A-3")
			total := 3 * price
			if k.tree["totalAmount"] != float64(total) || k.text("currency") != currency {
				t.Fatal(k.Body)
			}
			// The price is another one by now; what was paid is what goes back.
			s.must("PATCH", "/shows/"+show.ID.String(), `{"prices":[{"category":"Front","amount":9999},{"category":"Back","amount":9999}]}`)
			key := newKey()
			third := s.must("POST", path(k)+"/refunds", fmt.Sprintf(`{"amount":%d}`, total/3+1), "Idempotency-Key", key)
			if third.Code != 201 || third.tree["amount"] != float64(total/3+1) || third.text("status") != "pending" || len(third.list("ticketIds")) != 3 {
				t.Error(third.Code, third.Body)
			}
			half := s.must("POST", path(k)+"/cancel", `{"ticketIds":["`+ticketID(k, 0)+`"]}`, me...)
			rest := s.must("DELETE", path(k), "") // whatever the terms say
			now := s.sendRefunds(k)
			s.same("the refund", third, s.must("POST", path(k)+"/refunds", fmt.Sprintf(`{"amount":%d}`, total/3+1), "Idempotency-Key", key))
			var sum, ofTickets, sent int64
			for _, f := range now.list("refunds") {
				f := f.(map[string]any)
				if f["status"] != "succeeded" || f["amount"] != float64(int64(f["amount"].(float64))) || f["currency"] != currency {
					t.Error(f)
				}
				sum += int64(f["amount"].(float64))
			}
			for i, ticket := range now.list("tickets") {
				ticket := ticket.(map[string]any)
				ofTickets += int64(ticket["refundedAmount"].(float64))
				if i > 0 && ticket["refundedAmount"] != float64(price) {
					t.Error(ticket)
				}
			}
			for _, p := range s.gateway.Ledger().Payments {
				if p.MerchantID == k.field("payments.0.paymentId") {
					sent = p.Refunded
				}
			}
			if now.tree["refundedAmount"] != float64(sum) || ofTickets != sum || sent != sum || sum > total {
				t.Errorf("refunds %d, of tickets %d, at the gateway %d, in the booking %v, of %d\n%s\n%s", sum, ofTickets, sent, now.tree["refundedAmount"], total, half.Body, rest.Body)
			}
			if left := total - sum; left > 0 {
				if r := s.ask("POST", path(k)+"/refunds", fmt.Sprintf(`{"amount":%d}`, left+1)); r.Code != 422 && r.Code != 409 {
					t.Error(r.Code, r.Body)
				}
			}
			if r := s.ask("POST", path(k)+"/refunds", "{}"); r.Code != 409 || r.text("code") != "ALREADY_REFUNDED" {
				t.Error("what is void is refunded again:", r.Code, r.Body)
			}
		})
	}
	t.Run("one that the gateway refuses can be sent again", func(t *testing.T) {
		show := fixture.Show(t, s.store, fixture.Options{})
		me := as(uuid.NewString())
		k := s.must("POST", "/bookings", buying(s.hold(me, show.ID, "Stalls-A-1"), "sbx_refund_fails"), me...)
		f := s.must("POST", path(k)+"/refunds", "{}")
		again := "/refunds/" + f.text("refundId") + "/retry"
		if r := s.ask("POST", again, ""); r.Code != 409 {
			t.Error(r.Code, r.Body)
		}
		if r := s.sendRefunds(k); r.field("refunds.0.status") != "failed" || r.field("refunds.0.failure") == nil || r.tree["refundedAmount"] != 0.0 {
			t.Error(r.Body)
		}
		if r := s.ask("POST", again, "", me...); r.Code != 403 {
			t.Error(r.Code, r.Body)
		}
		if r := s.must("POST", again, ""); r.text("status") != "pending" || r.text("refundId") != f.text("refundId") {
			t.Error(r.Body)
		}
		if r := s.must("GET", path(k)+"/refunds", "", me...); r.field("refunds.0.status") != "pending" {
			t.Error(r.Body)
		}
	})
}

func TestPayingGoesOnWhenSellingDoesNot(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{})
	me := as(uuid.NewString())
	first, second, third := s.hold(me, show.ID, "Stalls-A-1"), s.hold(me, show.ID, "Stalls-A-2"), s.hold(me, show.ID, "Stalls-A-3")
	at := "/shows/" + show.ID.String()
	s.must("POST", at+"/pause", "")
	if r := s.ask("POST", "/bookings", buying(first, "sbx_ok"), me...); r.Code != 201 { // C28
		t.Error(r.Code, r.Body)
	}
	if r := s.ask("DELETE", "/reservations/"+second, "", me...); r.Code != 204 {
		t.Error(r.Code, r.Body)
	}
	if r := s.must("GET", at, ""); r.tree["refunding"] != nil {
		t.Error(r.Body)
	}
	s.must("POST", at+"/cancel", "")
	if r := s.ask("POST", "/bookings", buying(third, "sbx_ok"), me...); r.Code != 409 || r.text("code") != "SHOW_NOT_ON_SALE" || r.text("reason") != "cancelled" {
		t.Error(r.Code, r.Body)
	}
	if r := s.must("GET", at, "", stranger...); r.field("refunding.left") != 1.0 || r.field("refunding.complete") != false {
		t.Error(r.Body)
	}
	if more, err := s.checkout.CancelShow(t.Context(), show.ID, func() bool { return false }); more || err != nil {
		t.Fatal(more, err)
	}
	if r := s.must("GET", at, "", stranger...); r.field("refunding.left") != 0.0 || r.field("refunding.done") != 1.0 || r.field("refunding.refundsPending") != 1.0 || r.field("refunding.complete") != false {
		t.Error(r.Body)
	}
	s.sendRefunds(s.must("GET", "/bookings", "", me...).at("bookings.0"))
	if r := s.must("GET", at, "", stranger...); r.field("refunding.complete") != true {
		t.Error(r.Body)
	}
	if r := s.must("GET", at+"/payment-methods", ""); len(r.list("paymentMethods")) != 0 {
		t.Error(r.Body)
	}
}

// at is a part of an answer, to be asked like one.
func (r reply) at(path string) reply {
	tree, _ := r.field(path).(map[string]any)
	return reply{tree: tree}
}

func TestAHoldThatEndsUnpaid(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{})
	me := as(uuid.NewString())
	hold := s.must("POST", "/reservations", strings.TrimSuffix(held(show.ID, "Stalls-A-1"), "}")+`,"ttlSeconds":1}`, me...)
	for s.must("GET", "/reservations/"+hold.text("reservationId"), "", me...).text("status") == "active" {
		time.Sleep(10 * time.Millisecond)
	}
	r := s.ask("POST", "/bookings", buying(hold.text("reservationId"), "sbx_ok"), me...)
	if r.Code != 410 || r.text("code") != "RESERVATION_EXPIRED" || r.text("expiredAt") != hold.text("expiresAt") || len(s.gateway.Ledger().Payments) != 0 {
		t.Error(r.Code, r.Body)
	}
}

func TestABookingOfAnotherOrganisationIsNowhere(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := openOn(t, db)
	show := fixture.Show(t, s.store, mayCancel(100))
	me := as(uuid.NewString())
	k := s.buy(me, show.ID, "Stalls-A-1", "Stalls-A-2")
	f := s.must("POST", path(k)+"/refunds", `{"amount":1}`)
	hold := s.hold(me, show.ID, "Stalls-A-3")
	const key = "the key of another organisation"
	other := uuid.New()
	for sql, args := range map[string][]any{
		"insert into organisations (organisation_id, name) values ($1, 'Other')": {other},
	} {
		if _, err := db.Pool("").Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Pool("").Exec(t.Context(), "insert into api_keys (api_key_id, organisation_id, name, prefix, hash, scopes) values (gen_random_uuid(), $1, 'o', 'o', $2, '{admin}')",
		other, boxoffice.HashAPIKey(key)); err != nil {
		t.Fatal(err)
	}
	tid := "/tickets/" + ticketID(k, 0)
	for _, ask := range []struct{ method, path, body string }{
		{"GET", path(k), ""}, {"GET", path(k) + "/tickets", ""}, {"GET", path(k) + "/tickets.pdf", ""}, {"GET", path(k) + "/refunds", ""},
		{"GET", tid, ""}, {"GET", tid + "/qr.svg", ""}, {"PATCH", tid, `{"holderName":"Mallory"}`},
		{"DELETE", path(k), ""}, {"POST", path(k) + "/cancel", "{}"}, {"POST", path(k) + "/refunds", "{}"}, {"POST", "/refunds/" + f.text("refundId") + "/retry", ""},
		{"POST", "/reservations/" + hold + "/confirm", `{"paymentMethod":"comp"}`}, {"POST", "/bookings", buying(hold, "sbx_ok")},
		{"GET", "/shows/" + show.ID.String() + "/admissions", ""},
	} {
		if r := s.ask(ask.method, ask.path, ask.body, "X-API-Key", key); r.Code != 404 {
			t.Errorf("%s %s: %d %s", ask.method, ask.path, r.Code, r.Body)
		}
	}
	for _, query := range []string{"", "?q=lovelace", "?q=" + k.text("reference"), "?showId=" + show.ID.String()} {
		if r := s.must("GET", "/bookings"+query, "", "X-API-Key", key); len(r.list("bookings")) != 0 {
			t.Error(query, r.Body)
		}
	}
	if r := s.must("POST", "/tickets/check-in", `{"code":"`+k.field("tickets.0.code").(string)+`","scanId":"`+uuid.NewString()+`"}`, "X-API-Key", key); r.text("result") != "invalid" || r.tree["ticket"] != nil {
		t.Error(r.Body)
	}
	if r := s.must("DELETE", "/customers/"+me[1]+"/personal-data", "", "X-API-Key", key); r.tree["rows"] != 0.0 {
		t.Error(r.Body)
	}
	if r := s.must("GET", path(k), "", me...); r.text("status") != "confirmed" || r.field("buyer.name") != "Ada Lovelace" || r.field("tickets.0.status") != "valid" {
		t.Error(r.Body)
	}
}

// C19, C25: what is given back through whatever door is free for the next one.
func TestWhatIsGivenBackIsFree(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{Floor: 5, Edit: func(n *store.NewShow) {
		n.Facts.Cancellation = &boxoffice.Cancellation{RefundPercent: 100}
	}})
	me, next := as(uuid.NewString()), as(uuid.NewString())
	area := func(n int) string {
		return `{"areas":[{"areaId":"` + show.Areas[0].ID.String() + `","quantity":` + fmt.Sprint(n) + `}]}`
	}
	free := func(n int) {
		t.Helper()
		if r := s.must("GET", "/shows/"+show.ID.String()+"/areas/"+show.Areas[0].ID.String()+"/availability", ""); r.tree["available"] != float64(n) {
			t.Errorf("want %d free: %s", n, r.Body)
		}
	}
	hold := s.must("POST", "/reservations", strings.Replace(area(5), "{", `{"showId":"`+show.ID.String()+`",`, 1), me...).text("reservationId")
	free(0)
	s.must("PATCH", "/reservations/"+hold, `{"remove":`+area(1)+`}`, me...)
	free(1)
	k := s.must("POST", "/bookings", buying(hold, "sbx_ok"), me...)
	s.must("POST", path(k)+"/cancel", `{"ticketIds":["`+ticketID(k, 0)+`","`+ticketID(k, 3)+`"]}`, me...)
	free(3)
	// Refunded at the gateway's own desk: nobody told us but its webhook.
	desk := httptest.NewRecorder()
	s.gateway.ServeHTTP(desk, httptest.NewRequest("POST", "/desk/disputes", strings.NewReader(`{"payment":"`+k.field("payments.0.paymentId").(string)+`"}`)))
	if desk.Code != 201 {
		t.Fatal(desk.Code, desk.Body)
	}
	if err := s.gateway.AwaitDelivery(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := s.must("GET", path(k), "", me...); r.text("status") != "cancelled" || r.field("tickets.1.status") != "void" {
		t.Error(r.Body)
	}
	free(5)
	s.must("POST", "/reservations", strings.Replace(area(5), "{", `{"showId":"`+show.ID.String()+`",`, 1), next...)
}

// One buyer's retries and impatience, all at once, with a gateway that takes
// its time: charged once, one set of tickets.
func TestManyRequestsForOnePurchase(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{})
	me := as(uuid.NewString())
	body := buying(s.hold(me, show.ID, "Stalls-A-1"), "sbx_webhooks_storm")
	s.gateway.Inject(func(*http.Request) sandbox.Fault { return sandbox.Fault{After: 100 * time.Millisecond} })
	keys := []string{newKey(), newKey(), newKey()}
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			r := s.ask("POST", "/bookings", body, withKey(me, keys[i%3])...)
			switch code := r.text("code"); {
			case r.Code == 201 || r.Code == 202:
			case r.Code == 409 && slices.Contains([]string{"PAYMENT_IN_PROGRESS", "RESERVATION_NOT_ACTIVE", "IDEMPOTENCY_KEY_IN_USE"}, code):
			default:
				t.Error(r.Code, r.Body)
			}
		})
	}
	group.Wait()
	if err := s.gateway.AwaitDelivery(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := s.must("GET", "/bookings", "", me...)
	if len(r.list("bookings")) != 1 || r.field("bookings.0.status") != "confirmed" || len(r.at("bookings.0").list("tickets")) != 1 {
		t.Error(r.Body)
	}
	if l := s.gateway.Ledger(); l.Sums["EUR"].Net != fixture.FrontPrice {
		t.Errorf("%+v", l)
	}
}

// A purchase that is asked for again does not look for itself in the log, or
// it would take the longer the more the show has sold.
func TestAPurchaseIsAnsweredAgainWithoutTheLog(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := openOn(t, db)
	show := fixture.Show(t, s.store, fixture.Options{})
	me := as(uuid.NewString())
	body, key := buying(s.hold(me, show.ID, "Stalls-A-1"), "sbx_ok"), newKey()
	first := s.ask("POST", "/bookings", body, withKey(me, key)...)
	again := func(what, change string) {
		t.Helper()
		if _, err := db.Pool("").Exec(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		s.same(what, first, s.ask("POST", "/bookings", body, withKey(me, key)...))
	}
	again("without its row in the log", `with gone as (delete from changes where type = 'booking.confirmed' returning *) select * into kept from gone`)
	again("from before bookings had their version", `insert into changes select * from kept; update bookings set confirmed_version = null`)
	if r := s.must("GET", "/changes?bookingId="+first.text("bookingId")+"&type=booking.confirmed&showId="+show.ID.String(), ""); len(r.list("changes")) != 1 {
		t.Error(r.Body)
	}
}
