package api_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stripe/stripe-go/v82/webhook"

	"github.com/rowlock/rowlock/internal/api"
	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/checkout"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/payment"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/sandbox"
)

// house is a site for fuzzers: one for a whole process, with something in it
// for every operation to work on. What they do to it is found by walking the
// OpenAPI document, so an operation that is added later is fuzzed as well.
type house struct {
	*site
	pool       *pgxpool.Pool
	operations []operation         // by path and method
	known      map[string]string   // field or parameter to a value that is there
	sold       fixture.Made        // the show where things are held and bought
	seat       int                 // of its seats, the next that nobody has
	staged     map[string]staging  // what an operation works on, by its id
	rows       []int64             // how much there was after the last input
	documents  map[string][]string // examples of plans, by format
	full       uuid.UUID           // a show that is sold out; zero: not made yet
}

// operation is one of the OpenAPI document.
type operation struct {
	id, method, path string
	parameters       []map[string]any
	body             map[string]any // the schema of a JSON body; nil: there is none
	document         bool
	identified       bool
	refusals         map[string]bool // codes that are documented
}

// staging is a purchase in some state, made for one operation.
type staging struct {
	values map[string]string
	made   time.Time
}

// stagedFor is how long what was staged lasts: less than a hold.
const stagedFor = 5 * time.Minute

const (
	fuzzOrigin   = "https://tickets.example"
	stripeSecret = "whsec_fuzz"
	webhookKey   = "sandbox-webhook-secret"               // as openOn has it
	buyer        = "0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6f" // whose purchases are staged
)

func openHouse(f *testing.F) *house {
	f.Helper()
	db := pgtest.New(f)
	h := &house{staged: map[string]staging{}, documents: map[string][]string{}}
	h.site = openOn(f, db, func(c *checkout.Config) {
		c.Gateways = append(c.Gateways, payment.NewStripe(payment.StripeOptions{WebhookSecret: stripeSecret}))
	})
	h.API = api.New(api.Options{
		Log: slog.New(slog.NewTextHandler(h.logged, &slog.HandlerOptions{Level: slog.LevelError})), Metrics: h.metrics,
		Store: h.store, Checkout: h.checkout, Tickets: h.tickets, CORSOrigins: []string{fuzzOrigin},
		Auth: api.AuthOptions{Mock: true, Keys: h.store, SessionSecret: []byte("a secret of at least thirty-two bytes")},
	})
	h.pool = db.Pool("")

	spare := fixture.Show(f, h.store, fixture.Options{Seats: 10, Floor: 10, Draft: true})
	steered := fixture.Show(f, h.store, fixture.Options{Draft: true})
	h.known = map[string]string{
		"planId": spare.PlanID.String(), "hallId": spare.HallID.String(),
		"venueId": spare.VenueID.String(), "eventId": spare.EventID.String(), "gateway": "sandbox", "customerId": buyer, "method": "card", "token": "sbx_ok",
		"category": "Front", "label": spare.Seats[0].Label, "posterUrl": "https://example.org/p.jpg", "returnUrl": "https://example.org/", "holders": "Ada",
		"doorsAt": soon(47 * time.Hour), "startsAt": soon(48 * time.Hour), "endsAt": soon(49 * time.Hour), "salesEndAt": soon(48 * time.Hour),
	}
	h.sell()
	// Organisers change shows where nobody buys.
	for path, show := range map[string]fixture.Made{
		"PATCH /shows/{showId}": spare, "PATCH /shows/{showId}/areas/{areaId}": spare, "POST /shows/{showId}/seats/block": spare, "POST /shows/{showId}/seats/unblock": spare,
		"POST /shows/{showId}/publish": steered, "POST /shows/{showId}/pause": steered, "POST /shows/{showId}/resume": steered, "POST /shows/{showId}/cancel": steered,
	} {
		h.known[path+" showId"], h.known[path+" areaId"] = show.ID.String(), spare.Areas[0].ID.String()
	}
	h.known["PATCH /events/{eventId} eventId"] = steered.EventID.String() // it may be archived
	bought := h.fresh("readBooking")
	maps.Copy(h.known, map[string]string{
		"bookingId": bought["bookingId"], "ticketId": bought["ticketId"], "reservationId": bought["reservationId"], "refundId": uuid.NewString(), "code": bought["code"],
	})
	h.read(f)
	page, err := os.ReadFile("../../docs/plans.md")
	if err != nil {
		f.Fatal(err)
	}
	parts := strings.Split(string(page), "```")
	for i := 1; i < len(parts); i += 2 {
		info, example, _ := strings.Cut(parts[i], "\n")
		if _, format, ok := strings.Cut(info, " "); ok {
			h.documents[format] = append(h.documents[format], example)
		}
	}
	h.rows = h.count(f)
	mine := h.request(&h.operations[slices.IndexFunc(h.operations, func(op operation) bool { return op.id == "readBooking" })])
	for who, want := range []int{200, 200, 401} {
		headers, _ := asker(uint8(who))
		if w := h.send(mine, "", headers); w.Code != want {
			f.Fatalf("asker %d reads a buyer's booking: %d %s", who, w.Code, w.Body)
		}
	}
	return h
}

// sell puts a show on sale when the last has no seats left.
func (h *house) sell() {
	h.sold, h.seat = fixture.Show(h.t, h.store, fixture.Options{Seats: 5_000, RowLength: 100, Floor: 100_000}), 0
	h.known["showId"], h.known["areaId"] = h.sold.ID.String(), h.sold.Areas[0].ID.String()
}

// read walks the OpenAPI document.
func (h *house) read(f *testing.F) {
	raw, err := json.Marshal(h.OpenAPI())
	if err != nil {
		f.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		f.Fatal(err)
	}
	paths := dig(doc, "paths").(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		methods := paths[path].(map[string]any)
		for _, method := range slices.Sorted(maps.Keys(methods)) {
			at := methods[method].(map[string]any)
			op := operation{id: at["operationId"].(string), method: strings.ToUpper(method), path: path, refusals: map[string]bool{}}
			if schema := dig(at, "requestBody", "content", "application/json", "schema"); dig(schema, "$ref") != nil {
				op.body = whole(doc, schema, 0).(map[string]any)
			} else {
				op.document = dig(at, "requestBody") != nil
			}
			if security, _ := at["security"].([]any); len(security) > 0 && len(security[0].(map[string]any)) > 0 {
				op.identified = true
			}
			parameters, _ := at["parameters"].([]any)
			for _, p := range parameters {
				op.parameters = append(op.parameters, p.(map[string]any))
			}
			for _, r := range dig(at, "responses").(map[string]any) {
				examples, _ := dig(r, "content", "application/problem+json", "examples").(map[string]any)
				for code := range examples {
					op.refusals[code] = true
				}
			}
			h.operations = append(h.operations, op)
		}
	}
}

// whole is a schema with what it refers to in place.
func whole(doc map[string]any, v any, depth int) any {
	switch v := v.(type) {
	case map[string]any:
		if v["$ref"] != nil && depth < 8 {
			return whole(doc, resolve(doc, v), depth+1)
		}
		m := make(map[string]any, len(v))
		for name, inner := range v {
			m[name] = whole(doc, inner, depth)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, inner := range v {
			list[i] = whole(doc, inner, depth)
		}
		return list
	}
	return v
}

// apart are fields that cannot be sent together with others of their body.
var apart = map[string][]string{
	"createShow": {"event", "areas", "venueId", "timeZone"}, "placeReservation": {"fromBlockId"}, "changeReservation": {"remove.areas"}, "unblockSeats": {"blockId"},
}

// example is a value that a schema allows and the house can do something with.
func (h *house) example(op *operation, schema map[string]any, field string, values map[string]string) any {
	name := field[strings.LastIndexByte(field, '.')+1:]
	if name == "externalRef" {
		return uuid.NewString()
	}
	for _, key := range []string{field, name} {
		if v, ok := values[key]; ok && kind(schema) == "string" {
			return v
		}
	}
	if v, ok := h.known[name]; ok && kind(schema) == "string" {
		return v
	}
	switch kind(schema) {
	case "object":
		properties, _ := schema["properties"].(map[string]any)
		if properties == nil {
			return map[string]any{"a": "b"}
		}
		m := map[string]any{}
		for inner, s := range properties {
			inside := strings.TrimPrefix(field+"."+inner, ".")
			if slices.Contains(apart[op.id], inside) || inner == "seatId" {
				continue
			}
			m[inner] = h.example(op, s.(map[string]any), inside, values)
		}
		return m
	case "array":
		items, _ := schema["items"].(map[string]any)
		if name == "prices" {
			var all []any
			for _, category := range []string{"Front", "Back", "Floor"} {
				all = append(all, with(h.example(op, items, field, values).(map[string]any), "category", category))
			}
			return all
		}
		if items["properties"] != nil || values[name] != "" || h.known[name] != "" {
			return []any{h.example(op, items, field, values)}
		}
	}
	if examples, _ := schema["examples"].([]any); len(examples) > 0 {
		return examples[0]
	}
	switch kind(schema) {
	case "array":
		return []any{}
	case "string":
		return "x"
	case "boolean":
		return false
	}
	return 1
}

// request is an operation's example.
type request struct {
	op    *operation
	path  map[string]string
	query url.Values
	body  any // nil: none, or a document
	kind  string
}

func (h *house) request(op *operation) request {
	q := request{op: op, path: map[string]string{}, query: url.Values{}}
	values := h.stage(op.id)
	for _, p := range op.parameters {
		if name := p["name"].(string); p["in"] == "path" {
			q.path[name] = h.known[name]
			if v, ok := h.known[op.method+" "+op.path+" "+name]; ok {
				q.path[name] = v
			}
			if v, ok := values[name]; ok {
				q.path[name] = v
			}
		}
	}
	if op.body != nil {
		q.kind, q.body = "application/json", h.example(op, op.body, "", values)
	}
	return q
}

// send sends it, with a body and headers of the caller's; nil: it cannot be
// written as a request.
func (h *house) send(q request, body string, headers map[string]string) *httptest.ResponseRecorder {
	path := "/api/v1" + q.op.path
	for name, v := range q.path {
		path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(v))
	}
	at, err := url.ParseRequestURI(path)
	if err != nil {
		return nil
	}
	at.RawQuery = q.query.Encode()
	r := httptest.NewRequest(q.op.method, "/", strings.NewReader(body))
	r.URL, r.RequestURI = at, at.RequestURI()
	r.Header.Set("X-API-Key", organiser)
	if q.kind != "" {
		r.Header.Set("Content-Type", q.kind)
	}
	if q.op.method != http.MethodGet {
		r.Header.Set("Idempotency-Key", newKey())
	}
	for name, v := range headers {
		r.Header.Set(name, v)
	}
	// Streams and long polls end when their reader goes.
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(ctx))
	if w.Code < 300 || w.Code == http.StatusConflict || w.Code == http.StatusGone || w.Code == http.StatusPaymentRequired {
		delete(h.staged, q.op.id) // it is used up
	}
	return w
}

// stage is what an operation works on, made anew when the last was used up.
func (h *house) stage(operation string) map[string]string {
	if s, ok := h.staged[operation]; ok && time.Since(s.made) < stagedFor {
		return s.values
	}
	values := h.fresh(operation)
	h.staged[operation] = staging{values, time.Now()}
	return values
}

func (h *house) fresh(operation string) map[string]string {
	next := func() string {
		if h.seat == len(h.sold.Seats) {
			h.sell()
		}
		h.seat++
		return h.sold.Seats[h.seat-1].Label
	}
	hold := func(labels ...string) string {
		return h.must("POST", "/reservations", strings.TrimSuffix(held(h.sold.ID, labels...), "}")+`,"customerId":`+quote(buyer)+`}`).text("reservationId")
	}
	book := func(token string) reply { return h.ask("POST", "/bookings", buying(hold(next()), token)) }
	waiting := func() (values map[string]string, body string) {
		if h.full == uuid.Nil { // a show that is sold out
			full := fixture.Show(h.t, h.store, fixture.Options{Seats: 4})
			taken := h.must("POST", "/reservations", strings.TrimSuffix(held(full.ID, full.Seats[0].Label, full.Seats[1].Label, full.Seats[2].Label, full.Seats[3].Label), "}")+`,"customerId":"first"}`)
			h.must("POST", "/reservations/"+taken.text("reservationId")+"/confirm", `{"paymentMethod":"comp"}`)
			h.full = full.ID
		}
		who := uuid.NewString()
		return map[string]string{"showId": h.full.String(), "customerId": who, "categories": "Front"},
			`{"partySize":1,"buyer":` + ada + `,"customerId":"` + who + `"}`
	}
	switch operation {
	case "joinWaitlist":
		values, _ := waiting()
		return values
	case "readWaitlistEntry", "leaveWaitlist":
		_, body := waiting()
		return map[string]string{"entryId": h.must("POST", "/shows/"+h.full.String()+"/waitlist", body).text("entryId")}
	case "placeReservation":
		return map[string]string{"label": next(), "customerId": buyer}
	case "createBooking", "confirmReservation", "extendReservation", "releaseReservation":
		return map[string]string{"reservationId": hold(next())}
	case "changeReservation":
		first := next()
		return map[string]string{"reservationId": hold(first, next()), "remove.seats.label": first, "add.seats.label": next()}
	case "drawQueue":
		return map[string]string{"showId": h.drawing()}
	case "payBooking":
		return map[string]string{"bookingId": book("sbx_declined").text("bookingId")}
	case "retryRefund":
		k := book("sbx_refund_fails")
		refund := h.must("POST", path(k)+"/refunds", `{}`).text("refundId")
		if err := h.checkout.SendRefund(h.t.Context(), uuid.MustParse(refund)); err != nil {
			h.t.Fatal(err)
		}
		return map[string]string{"refundId": refund}
	case "readBooking", "listTickets", "cancelBooking", "deleteBooking", "createRefund", "nameTicket", "checkIn", "readTicket":
		k := book("sbx_ok")
		return map[string]string{
			"bookingId": k.text("bookingId"), "reservationId": k.text("reservationId"), "ticketId": ticketID(k, 0), "ticketIds": ticketID(k, 0), "code": code(k, 0),
			"scanId": uuid.NewString(),
		}
	}
	return nil
}

// count is how much there is of everything that the organiser's key and buyers
// make.
// What gateways tell comes when it comes, and is not in it.
func (h *house) count(t testing.TB) []int64 {
	t.Helper()
	var n []int64
	if err := h.pool.QueryRow(t.Context(), `select array[
		(select count(*) from changes where actor like 'key:%' or actor = $1), (select count(*) from venues), (select count(*) from halls), (select count(*) from plans),
		(select count(*) from events), (select count(*) from shows), (select count(*) from scans)]`, buyer).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// events is how much gateways have told.
func (h *house) events(t testing.TB) (n int) {
	t.Helper()
	if err := h.pool.QueryRow(t.Context(), "select count(*) from payment_events").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// leaks are words of our inside that nobody outside may read.
var leaks = []string{"SQLSTATE", "pgx", "pgconn", "goroutine ", ".go:", "panic:", "runtime error", "violates", "syntax error", "insert into", "nil pointer", "interface conversion"}

// check holds an answer against what every answer keeps to.
func (h *house) check(t *testing.T, q request, given string, w *httptest.ResponseRecorder) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Errorf("%s %s: %d %.2000s\n%s", q.op.method, q.op.path, w.Code, w.Body, fmt.Sprintf(format, args...))
	}
	if h.logged.Len() > 0 {
		fail("logged: %s", h.logged)
		h.logged.Reset()
	}
	body := w.Body.String()
	for name, values := range w.Header() {
		for _, v := range values {
			if strings.ContainsAny(name+v, "\r\n\x00") {
				fail("the header %s is %q", name, v)
			}
		}
	}
	if strings.Contains(w.Header().Get("Content-Type"), "json") && body != "" && !(json.Valid(w.Body.Bytes()) && utf8.ValidString(body)) {
		fail("is no JSON")
	}
	if w.Code < 400 {
		h.rows = h.count(t)
		return
	}
	var p struct {
		api.Problem
		Error *api.Problem `json:"error"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		fail("no problem: %v", err)
	}
	if p.Error != nil {
		p.Problem = *p.Error
	}
	switch {
	case w.Code >= 500 && p.Code != boxoffice.CodeLockTimeout && p.Code != boxoffice.CodeOverloaded: // this machine may be busy
		fail("failed")
	case p.Status != w.Code || p.Title == "" || p.RequestID != w.Header().Get("X-Request-Id") || api.Status(p.Code) != w.Code:
		fail("an incomplete problem")
	case !q.op.refusals[string(p.Code)]:
		fail("the document does not say that it may answer %s", p.Code)
	case p.Code == boxoffice.CodeValidation && len(p.Violations) == 0:
		fail("no field is named")
	}
	for _, v := range p.Violations {
		if v.Field == "" || v.Message == "" {
			fail("the violation %+v", v)
		}
	}
	for _, word := range leaks {
		if strings.Contains(body, word) && !strings.Contains(given, word) {
			fail("it says %q", word)
		}
	}
	was := h.rows
	h.rows = h.count(t)
	if p.Code != boxoffice.CodePaymentDeclined && !slices.Equal(was, h.rows) { // a declined payment is on record
		fail("refused, and of effect: %v became %v", was, h.rows)
	}
}

// spoiled is v as JSON with the n-th value in it, counted from 0 and from the
// top, replaced by text: as it is if it is JSON, and as a string if it is not.
func spoiled(v any, n int, text string) string {
	if !json.Valid([]byte(text)) {
		text = quote(text)
	}
	n %= values(v)
	var b strings.Builder
	var write func(v any)
	write = func(v any) {
		n--
		if n == -1 {
			b.WriteString(text)
			return
		}
		switch v := v.(type) {
		case map[string]any:
			b.WriteByte('{')
			for i, name := range slices.Sorted(maps.Keys(v)) {
				if i > 0 {
					b.WriteByte(',')
				}
				b.WriteString(quote(name) + ":")
				write(v[name])
			}
			b.WriteByte('}')
		case []any:
			b.WriteByte('[')
			for i, inner := range v {
				if i > 0 {
					b.WriteByte(',')
				}
				write(inner)
			}
			b.WriteByte(']')
		default:
			text, _ := json.Marshal(v)
			b.Write(text)
		}
	}
	write(v)
	return b.String()
}

func values(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			n += values(inner)
		}
	case []any:
		for _, inner := range v {
			n += values(inner)
		}
	}
	return n
}

// odd are texts that have been somebody's problem.
var odd = []string{
	"", " ", "\x00", `"\u0000"`, "\xff", "\ud7ff", "null", "true", "0", "-1", "1.5", "1e400", "9223372036854775808", "-9223372036854775809", "[]", "{}", "[null]", `{"":""}`,
	"00000000-0000-0000-0000-000000000000", "0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e", "{0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e}", "2026-11-27T20:15:00Z", "9999-12-31T23:59:60Z",
	"0000-01-01T00:00:00Z", "-infinity", "%", "%00", "../..", "'; drop table shows --", "\\", "a\nb", "\u202e", "e\u0301", "ﷺ", "👩‍👩‍👧", "*", `"3"`, `W/"3"`, "a;q=0", "Bearer x", "Basic Og==",
}

// askers are the credentials to ask with: the organiser's, which send puts in,
// a buyer's, and none.
var askers = []map[string]string{nil, {"X-API-Key": "", "X-Mock-User-Id": buyer}, {"X-API-Key": ""}}

// asker is one of them, and whether it is none.
func asker(who uint8) (headers map[string]string, nobody bool) {
	n := int(who) % len(askers)
	return askers[n], n == len(askers)-1
}

// FuzzBodies sends bodies: any text, or an operation's example with one value
// in it replaced.
func FuzzBodies(f *testing.F) {
	h := openHouse(f)
	var taking []*operation
	for i := range h.operations {
		if op := &h.operations[i]; op.body != nil || op.document && op.id != "receivePaymentEvent" {
			taking = append(taking, op)
		}
	}
	documents := slices.Sorted(maps.Keys(h.documents))
	for i, op := range taking {
		if op.body == nil {
			for _, format := range documents {
				for who, text := range h.documents[format] {
					f.Add(uint8(who), uint8(i), uint16(slices.Index(documents, format)), text)
				}
			}
			continue
		}
		q := h.request(op)
		text, _ := json.Marshal(q.body)
		if w := h.send(q, string(text), nil); w.Code >= 300 {
			f.Errorf("%s: its example is refused: %d %s\n%s", op.id, w.Code, w.Body, text)
		}
		for who := range askers {
			f.Add(uint8(who), uint8(i), uint16(0), string(text))
		}
		for j := range 6 { // the fuzzer brings the others together
			f.Add(uint8(j), uint8(i), uint16(1+i*j), odd[(7*i+j)%len(odd)])
		}
	}
	h.rows = h.count(f)
	f.Fuzz(func(t *testing.T, who, operation uint8, node uint16, text string) {
		h.t = t
		op := taking[int(operation)%len(taking)]
		q := h.request(op)
		h.rows = h.count(t)
		if op.document {
			format := documents[int(node)%len(documents)]
			q.query.Set("format", format)
			if q.kind = "application/json"; format == "csv" {
				q.kind = "text/csv"
			}
		} else if node > 0 {
			text = spoiled(q.body, int(node), text)
		}
		given, nobody := asker(who)
		w := h.send(q, text, given)
		if w == nil {
			return
		}
		h.check(t, q, text, w)
		if nobody && op.identified && w.Code < 400 {
			t.Errorf("%s is open to everybody: %d", op.id, w.Code)
		}
		t.Logf("%s\n%d %s", text, w.Code, w.Body)
	})
}

// headers are those that anybody here reads.
var headers = []string{
	"Idempotency-Key", "If-Match", "If-None-Match", "Authorization", "Accept", "Content-Type", "Last-Event-ID", "X-API-Key", "Origin", "X-Mock-User-Id", "X-Request-Id",
	"X-Queue-Token", "Accept-Language", "Accept-Encoding", "Content-Encoding", "Access-Control-Request-Method", "X-Forwarded-For", "X-Forwarded-Proto",
	"Cookie", "Sec-Fetch-Site", "Cache-Control",
}

// FuzzHeaders sends operations' examples with one header replaced. What is no
// credential opens nothing.
func FuzzHeaders(f *testing.F) {
	h := openHouse(f)
	for i := range h.operations {
		for j := i % 5; j < len(headers); j += 5 {
			f.Add(uint8(i), uint8(j), odd[(i+j)%len(odd)])
		}
	}
	f.Add(uint8(0), uint8(slices.Index(headers, "Origin")), fuzzOrigin)
	f.Add(uint8(0), uint8(slices.Index(headers, "Accept")), "application/vnd.rowlock.envelope+json")
	f.Fuzz(func(t *testing.T, operation, header uint8, value string) {
		// What net/http does not let in.
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) || strings.TrimSpace(value) != value {
			return
		}
		h.t = t
		op := &h.operations[int(operation)%len(h.operations)]
		name := headers[int(header)%len(headers)]
		q := h.request(op)
		h.rows = h.count(t)
		body := ""
		if q.body != nil {
			text, _ := json.Marshal(q.body)
			body = string(text)
		}
		given := map[string]string{name: value}
		credential := name == "Authorization" || name == "X-API-Key" || name == "X-Mock-User-Id"
		if credential { // and no other
			given["X-API-Key"], given["X-Mock-User-Id"] = "", ""
			given[name] = value
		}
		w := h.send(q, body, given)
		if w == nil {
			return
		}
		h.check(t, q, value+body, w)
		if allowed := w.Header().Get("Access-Control-Allow-Origin"); allowed != "" && allowed != fuzzOrigin {
			t.Errorf("scripts of %q are let in", allowed)
		}
		if credential && name != "X-Mock-User-Id" && op.identified && w.Code < 400 && value != organiser {
			t.Errorf("%s: %q opens %s: %d", name, value, op.id, w.Code)
		}
	})
}

// FuzzParameters tries every parameter of a path or a query, cursors among
// them, which come as they are and as the text in a cursor.
func FuzzParameters(f *testing.F) {
	h := openHouse(f)
	for i, op := range h.operations {
		for j, p := range op.parameters {
			if p["in"] == "header" {
				continue
			}
			f.Add(uint8(i+j), uint8(i), uint8(j), odd[(i+j)%len(odd)], false)
			for who := range askers {
				f.Add(uint8(who), uint8(i), uint8(j), fmt.Sprint(p["example"]), false)
			}
			if p["name"] == "cursor" {
				q := h.request(&op)
				q.query.Set("limit", "1")
				w := h.send(q, "", nil)
				var page struct{ NextCursor string }
				json.Unmarshal(w.Body.Bytes(), &page)
				text, _ := base64.RawURLEncoding.DecodeString(page.NextCursor)
				f.Add(uint8(0), uint8(i), uint8(j), string(text), true)
			}
		}
	}
	f.Fuzz(func(t *testing.T, who, operation, parameter uint8, value string, cursor bool) {
		h.t = t
		op := &h.operations[int(operation)%len(h.operations)]
		if len(op.parameters) == 0 {
			return
		}
		p := op.parameters[int(parameter)%len(op.parameters)]
		q := h.request(op)
		h.rows = h.count(t)
		if cursor {
			value = base64.RawURLEncoding.EncodeToString([]byte(value))
		}
		switch p["in"] {
		case "path":
			if value == "" || value == "." || value == ".." || strings.Contains(value, "/") {
				return // another path
			}
			q.path[p["name"].(string)] = value
		case "query":
			q.query.Set(p["name"].(string), value)
		default:
			return
		}
		body := ""
		if q.body != nil {
			text, _ := json.Marshal(q.body)
			body = string(text)
		}
		given, nobody := asker(who)
		w := h.send(q, body, given)
		if w == nil {
			return
		}
		h.check(t, q, value, w)
		if nobody && op.identified && w.Code < 400 {
			t.Errorf("%s is open to everybody: %d", op.id, w.Code)
		}
	})
}

// FuzzWebhooks sends what claims to be a gateway's event, signed as the gateway
// would, or with whatever signature. Nothing that is not signed has an effect.
func FuzzWebhooks(f *testing.F) {
	h := openHouse(f)
	k := h.fresh("readBooking")
	paid := h.must("GET", "/bookings/"+k["bookingId"], "")
	id := paid.field("payments.0.paymentId").(string)
	receive := &h.operations[slices.IndexFunc(h.operations, func(op operation) bool { return op.id == "receivePaymentEvent" })]
	var events []any
	add := func(text string) {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			f.Fatal(err, text)
		}
		events = append(events, v)
	}
	if err := h.gateway.AwaitDelivery(f.Context()); err != nil {
		f.Fatal(err)
	}
	for _, e := range h.gateway.Events() {
		add(`{"id":` + quote(e.ID) + `,"type":` + quote(e.Type) + `,"data":` + string(e.Data) + `}`)
	}
	at := h.gateway.Ledger().Payments[0].ID
	for _, kind := range []string{"refund.succeeded", "refund.failed", "dispute.opened"} {
		add(`{"id":"evt_1","type":"` + kind + `","data":{"id":"re_1","merchant_id":"","payment":"` + at + `","merchant_payment_id":"` + id + `","amount":1,"state":"succeeded","failure":"f"}}`)
	}
	sandboxes := len(events)
	for _, e := range [][2]string{
		{"payment_intent.succeeded", `{"id":"pi_1","object":"payment_intent","amount":4000,"amount_received":4000,"currency":"eur","status":"succeeded","metadata":{"rowlock_payment":"` + id + `"}}`},
		{"refund.updated", `{"id":"re_1","object":"refund","amount":1,"currency":"eur","status":"succeeded","payment_intent":"pi_1","metadata":{"rowlock_payment":"` + id + `"}}`},
		{"charge.dispute.created", `{"id":"du_1","object":"dispute","amount":1,"currency":"eur","status":"needs_response","payment_intent":"pi_1"}`},
	} {
		add(`{"id":"evt_1","object":"event","type":"` + e[0] + `","data":{"object":` + e[1] + `}}`)
	}
	for i, e := range events {
		text, _ := json.Marshal(e)
		f.Add(uint8(i), uint16(0), string(text), true, "")
		for j := range 6 {
			f.Add(uint8(i), uint16(1+i+j), odd[(4+7*i+j)%len(odd)], true, "")
		}
		f.Add(uint8(i), uint16(0), string(text), false, "t=1,v1=00")
	}
	f.Fuzz(func(t *testing.T, event uint8, node uint16, text string, sign bool, signature string) {
		h.t = t
		which := int(event) % len(events)
		if node > 0 {
			text = spoiled(events[which], int(node), text)
		}
		header := map[string]string{}
		q := request{op: receive, path: map[string]string{"gateway": "sandbox"}, kind: "application/json"}
		name := sandbox.SignatureHeader
		if which >= sandboxes {
			q.path["gateway"], name = "stripe", "Stripe-Signature"
		}
		switch {
		case !sign:
			header[name] = signature
		case which < sandboxes:
			now := fmt.Sprint(time.Now().Unix())
			mac := hmac.New(sha256.New, []byte(webhookKey))
			mac.Write([]byte(now + "." + text))
			header[name] = "t=" + now + ",v1=" + hex.EncodeToString(mac.Sum(nil))
		default:
			header[name] = webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: []byte(text), Secret: stripeSecret}).Header
		}
		h.rows = h.count(t)
		was := h.events(t)
		w := h.send(q, text, header)
		h.check(t, q, text, w)
		if is := h.events(t); w.Code >= 400 && is != was || !sign && w.Code < 400 {
			t.Errorf("signed %t and answered %d: %d events were kept, and now %d", sign, w.Code, was, is)
		}
	})
}
