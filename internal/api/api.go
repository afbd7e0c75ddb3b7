package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/checkout"
	"github.com/rowlock/rowlock/internal/live"
	"github.com/rowlock/rowlock/internal/recent"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/internal/telemetry"
	"github.com/rowlock/rowlock/internal/tickets"
)

// Options are what the HTTP door needs. The zero value serves the OpenAPI
// document and refuses all credentials, which is enough to write openapi.yaml.
type Options struct {
	Log     *slog.Logger       // default: slog.Default
	Metrics *telemetry.Metrics // default: metrics that nobody reads
	Version string             // of the binary; shown in the OpenAPI document
	Addr    string             // host and port of Server

	// Store is the database with its rules. nil will do for writing the OpenAPI
	// document.
	Store *store.Store
	// Checkout takes the money. nil: one without gateways, where only what
	// costs nothing can be bought.
	Checkout *checkout.Checkout
	// Tickets signs the codes of tickets. nil: they have none, and no code is
	// valid.
	Tickets *tickets.Signer

	Auth  AuthOptions
	Limit LimitOptions
	// InFlightMax is how many requests may be worked on at once, event streams
	// excepted; one more is answered OVERLOADED. 0 means 10,000.
	InFlightMax int
	// StreamsMax is how many event streams may be open at once; one more is
	// answered OVERLOADED. 0 means 50,000.
	StreamsMax int
	// StreamsPerAddress is how many of them may come from one address, so that
	// nobody alone takes all; one more is answered RATE_LIMITED. 0 means a tenth
	// of StreamsMax. Whom no rate limit bounds, this does not either.
	StreamsPerAddress int
	// CORSOrigins are the origins whose scripts may call the API, such as
	// https://tickets.example.org; "*" is every origin; none means no CORS.
	CORSOrigins []string
	// Checks are what must be right for /readyz to say so.
	Checks []Check
}

// API is the HTTP door: an http.Handler with all operations, and whatever else
// was mounted beside them.
type API struct {
	opts     Options
	log      *slog.Logger
	metrics  *telemetry.Metrics
	auth     *authenticator
	limits   *limiter
	mux      *http.ServeMux
	routes   *http.ServeMux // the same patterns without the catch-all: knows 404 from 405
	huma     huma.API
	inFlight atomic.Int64
	polling  atomic.Int64 // requests that wait for news of a booking
	streams  streams
	sendMax  time.Duration // for what is sent to a viewer
	maps     *live.Maps
	crowd    *crowd
	closing  chan struct{} // closed when the server stops: whoever waits for news answers
	close    func()

	lastReady lastReady
	answers   answers

	queue *queueSigner
	rooms *queueRooms
}

// tags group the operations in the docs.
var tags = []*huma.Tag{
	{Name: "Catalogue", Description: "What is on: events, shows, venues. Public."},
	{Name: "Seats", Description: "What is free in a show: maps, counts and their live stream. Public."},
	{Name: "Queue", Description: "Waiting rooms: whose turn it is when more people want to buy than can be served."},
	{Name: "Reservations", Description: "Holding places for a customer until they are paid or given back."},
	{Name: "Waitlist", Description: "Waiting for places of a sold-out show."},
	{Name: "Bookings", Description: "Buying what is held, and giving it back."},
	{Name: "Tickets", Description: "What a buyer carries to the door, and the door."},
	{Name: "Organisers", Description: "Making venues, plans, events and shows, and steering sales."},
	{Name: "Operations", Description: "Changes, keys, and what else a box office and its operators need."},
	{Name: "Sessions", Description: "Who is calling."},
}

const description = `Rowlock sells seats without ever selling one twice.

**Writes** need an ` + "`Idempotency-Key`" + `: a UUID version 4 in lower case and without hyphens. Send the same key with each retry of a request and it is done once; the answer to a retry carries ` + "`Idempotency-Replayed: true`" + `.

**Refusals** are problem documents (RFC 9457) with a stable ` + "`code`" + `; the page that ` + "`type`" + ` points to explains it. When several reasons apply, the first of these is given: 429/503, 401, 403, 413/415, 422 for the key, 422 for the rest, 404, 409 of the show, 403 of the waiting room, 400, 410/409 of the reservation, 404 of seats, 409 of places. With ` + "`Accept: application/vnd.rowlock.envelope+json`" + ` bodies come as ` + "`{data}`" + ` and ` + "`{error}`" + `.

**Times** are RFC 3339 in UTC. **Amounts** are integers in the currency's minor unit.`

// New makes the door with every operation in it. It starts nothing: see [API.Run].
func New(opts Options) *API {
	opts.Log = cmp.Or(opts.Log, slog.Default())
	opts.InFlightMax = cmp.Or(opts.InFlightMax, 10_000)
	opts.StreamsMax = cmp.Or(opts.StreamsMax, 50_000)
	opts.StreamsPerAddress = cmp.Or(opts.StreamsPerAddress, max(1, opts.StreamsMax/10))
	if opts.Metrics == nil {
		opts.Metrics = telemetry.NewMetrics()
	}
	a := &API{
		opts: opts, log: opts.Log, metrics: opts.Metrics,
		auth:   newAuthenticator(opts.Auth),
		limits: newLimiter(opts.Limit),
		mux:    http.NewServeMux(), routes: http.NewServeMux(),
		closing: make(chan struct{}),
		streams: streams{most: int64(opts.StreamsMax), mostFrom: opts.StreamsPerAddress, from: map[netip.Addr]int{}, shown: opts.Metrics.Streams},
		sendMax: sendMax,
		maps:    live.New(opts.Store, encodeNews),
		answers: answers{known: recent.New[string, knownAnswer](keptMax)},
	}
	a.queue = newQueueSigner(opts.Auth.SessionSecret)
	if opts.Store != nil {
		a.rooms = &queueRooms{ask: opts.Store.QueueState, rounds: opts.Store.QueueRounds}
	}
	a.crowd = newCrowd(max(1, opts.InFlightMax), a.metrics.Room.Set)
	a.close = sync.OnceFunc(func() {
		a.streams.last.Store(a.streams.open.Load())
		close(a.closing)
		a.maps.Rouse()
	})
	if opts.Checkout == nil {
		a.opts.Checkout = checkout.New(checkout.Config{Store: opts.Store, Log: opts.Log})
	}
	a.huma = huma.NewAPI(a.config(), adapter{a})
	a.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.(*exchange).failRoute() })
	a.mountHealth()
	a.registerSessions()
	a.registerSignIns()
	a.registerCatalogue()
	a.registerPlans()
	a.registerShows()
	a.registerBlocks()
	a.registerQueue()
	a.registerReservations()
	a.registerWaitlist()
	a.registerBookings()
	a.registerPayments()
	a.registerTickets()
	a.registerSeatmap()
	a.registerChanges()
	a.registerSales()
	return a
}

func init() {
	// Arrays are arrays, and never null: every generated client is nicer.
	huma.DefaultArrayNullable = false
	// seatid is not seatId. Go's JSON would take either.
	huma.ValidateStrictCasing = true
}

func (a *API) config() huma.Config {
	c := huma.DefaultConfig("Rowlock", cmp.Or(a.opts.Version, "0.0.0"))
	c.Info.Description = description
	c.Info.License = &huma.License{Name: "Apache-2.0", URL: "https://www.apache.org/licenses/LICENSE-2.0"} // 3.0 knows no identifier
	c.Servers = []*huma.Server{{URL: basePath, Description: "This server"}}
	c.Tags = tags
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"bearer":   {Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "A customer's token from the identity provider, or a guest's from POST /sessions. Its scope claim may grant scopes."},
		"apiKey":   {Type: "apiKey", In: "header", Name: "X-API-Key", Description: "For back ends, box offices and organisers. Sent together with a bearer token, the key's scopes act for the token's customer."},
		"mockUser": {Type: "apiKey", In: "header", Name: "X-Mock-User-Id", Description: "Any UUID is a customer. Only with AUTH_MODE=mock, which production refuses."},
	}
	c.Components.Examples = problemExamples()
	c.Formats = formats()
	c.RejectUnknownQueryParameters = true
	c.CreateHooks = nil // no $schema in bodies
	c.DocsPath = ""     // ours works without a network: internal/web
	c.SchemasPath = ""
	return c
}

// OpenAPI is the document of all operations.
func (a *API) OpenAPI() *huma.OpenAPI { return a.huma.OpenAPI() }

// Mount adds a handler beside the operations, under a pattern of
// http.ServeMux. It gets request ids, the log, recovery and security headers
// like any operation, but no authentication, limits or idempotency.
func (a *API) Mount(pattern string, h http.Handler) {
	a.mux.Handle(pattern, h)
	a.routes.Handle(pattern, h)
}

// answerTimeout is how long an answer may take from the end of the request's
// header until the client has taken all of it. Who takes it slower holds a
// place of Options.InFlightMax and is cut off. Event streams have no such end.
const answerTimeout = time.Minute

// Server is an http.Server for the API with the limits that it counts on.
// Bodies have their own deadline, see ServeHTTP.
func (a *API) Server() *http.Server {
	s := &http.Server{
		Addr: a.opts.Addr, Handler: a,
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelDebug), // broken connections, mostly
	}
	s.RegisterOnShutdown(a.close)
	return s
}

// Run keeps what is watched up to date until ctx ends. Without it streams
// begin, and hear of holds' ends only.
func (a *API) Run(ctx context.Context) error {
	beats, stop := context.WithCancel(ctx)
	var beating sync.WaitGroup
	beating.Go(func() { a.beat(beats) })
	defer beating.Wait()
	defer stop()
	return a.maps.Run(ctx)
}

// Drain waits until every event stream has ended, which they do when the
// Server shuts down, or ctx ends. Shutdown itself does not wait for them: they
// have taken their connections from it.
func (a *API) Drain(ctx context.Context) error {
	for a.streams.open.Load() > 0 {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%d event streams were cut off: %w", a.streams.open.Load(), ctx.Err())
		}
	}
	return nil
}

// streams counts the open event streams.
type streams struct {
	open  atomic.Int64
	last  atomic.Int64 // how many were open when the server began to stop
	most  int64
	shown prometheus.Gauge

	mu       sync.Mutex
	from     map[netip.Addr]int
	mostFrom int
}

// enter lets one in, or says why not. Those of no address are not counted by it.
func (s *streams) enter(from netip.Addr) error {
	if s.open.Add(1) > s.most {
		s.open.Add(-1)
		return crowded(rand.IntN(10))
	}
	if !s.count(from) {
		s.open.Add(-1)
		e := boxoffice.Refuse(boxoffice.CodeRateLimited, "Your address has as many event streams as it may have, %d.", s.mostFrom)
		e.RetryAfter = time.Duration(10+rand.IntN(10)) * time.Second
		return e
	}
	s.shown.Inc()
	return nil
}

func (s *streams) count(from netip.Addr) bool {
	if !from.IsValid() {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.from[from] >= s.mostFrom {
		return false
	}
	s.from[from]++
	return true
}

func (s *streams) leave(from netip.Addr) {
	s.open.Add(-1)
	s.shown.Dec()
	if !from.IsValid() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.from[from]--; s.from[from] == 0 {
		delete(s.from, from)
	}
}

// adapter registers Huma's operations in our mux.
type adapter struct{ a *API }

func (d adapter) Handle(op *huma.Operation, handler func(huma.Context)) {
	ep, ok := op.Metadata[endpointKey].(*endpoint)
	if !ok { // one of Huma's own: the OpenAPI document
		d.a.Mount(op.Method+" "+op.Path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handler(humago.NewContext(op, r, w))
		}))
		return
	}
	d.a.Mount(op.Method+" "+basePath+op.Path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := w.(*exchange)
		x.r, x.endpoint = r, ep
		x.huma = operationContext{humago.NewContext(op, r, x), x}
		x.operate(handler)
	}))
}

func (d adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.a.ServeHTTP(w, r) }

// Header values that every answer has. They are shared, since they are full:
// whoever adds to one gets a copy.
var (
	noSniff    = []string{"nosniff"}
	noFrames   = []string{"DENY"}
	noReferrer = []string{"no-referrer"}
	noStore    = []string{"private, no-store"}
)

// ServeHTTP answers one request: request id, headers, preflight, the handler,
// recovery, metrics and log.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{ResponseWriter: w, a: a, r: r, began: time.Now()}
	x.call = Call{RequestID: requestID(r.Header), x: x}
	x.ctx = requestContext{r.Context(), x}
	h := w.Header()
	h["X-Request-Id"] = []string{x.call.RequestID}
	h["X-Content-Type-Options"] = noSniff
	h["X-Frame-Options"] = noFrames
	h["Referrer-Policy"] = noReferrer
	defer x.finish()
	if r.ContentLength != 0 {
		// Also where nobody asks for the body: the server waits for the rest
		// of it before it sends an answer, for ever if need be.
		_ = huma.SetReadDeadline(x, x.began.Add(bodyTimeout))
	}
	if len(a.opts.CORSOrigins) > 0 && a.cors(x) {
		return
	}
	a.mux.ServeHTTP(x, r)
}

// finish recovers from a panic and accounts for the request.
func (x *exchange) finish() {
	if p := recover(); p != nil {
		x.recovered(p)
	}
	took := time.Since(x.began)
	status := cmp.Or(x.status, http.StatusOK)
	x.a.metrics.Requests.WithLabelValues(x.operation(), strconv.Itoa(status)).Inc()
	if x.endpoint != nil && !x.endpoint.stream {
		x.endpoint.seconds.Observe(took.Seconds())
	}
	// Who is turned away is counted and no line of the log: there may be a
	// hundred thousand a second of them.
	if !x.shed && x.a.log.Enabled(&x.ctx, slog.LevelInfo) {
		// The path has ids in it but nothing personal, with one exception; the
		// query may have, and stays out.
		x.a.log.LogAttrs(&x.ctx, slog.LevelInfo, "request",
			slog.String("method", x.r.Method), slog.String("path", loggedPath(x.r.URL.Path)), slog.Int("status", status),
			slog.Duration("took", took), slog.String("operation", x.operation()), slog.String("caller", string(x.call.Caller.Kind)))
	}
}

// loggedPath is a path without customers' ids: they are what the identity
// provider makes them, and may be mail addresses.
func loggedPath(path string) string {
	const customers = basePath + "/customers/"
	rest, ok := strings.CutPrefix(path, customers)
	if !ok {
		return path
	}
	_, after, _ := strings.Cut(rest, "/")
	return customers + "…/" + after
}

func (x *exchange) recovered(p any) {
	if p == http.ErrAbortHandler {
		panic(p)
	}
	if x.r.Context().Err() == nil { // else the client has left, and writing to it failed
		x.a.log.LogAttrs(&x.ctx, slog.LevelError, "panic", slog.String("operation", x.operation()),
			slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	}
	if x.status != 0 {
		// Half an answer is out: only a broken connection tells the client.
		panic(http.ErrAbortHandler)
	}
	x.answer(x.render(errInternal))
}

// failRoute answers for paths and methods that nobody registered.
func (x *exchange) failRoute() {
	probe := &probe{header: http.Header{}}
	h, _ := x.a.routes.Handler(x.r)
	h.ServeHTTP(probe, x.r)
	if allow := probe.header.Get("Allow"); probe.status == http.StatusMethodNotAllowed {
		x.Header().Set("Allow", allow)
		x.fail(boxoffice.Refuse(boxoffice.CodeMethodNotAllowed, "Here only %s.", allow))
		return
	}
	x.fail(boxoffice.Refuse(boxoffice.CodeNotFound, "There is nothing at this path; /docs lists what there is."))
}

// probe takes an answer that nobody will see.
type probe struct {
	header http.Header
	status int
}

func (p *probe) Header() http.Header         { return p.header }
func (p *probe) WriteHeader(status int)      { p.status = status }
func (p *probe) Write(b []byte) (int, error) { return len(b), nil }

// operate runs an operation: everything the contract says about every
// request, in the order of its refusals, and then Huma with the handler.
func (x *exchange) operate(handler func(huma.Context)) {
	a, ep := x.a, x.endpoint
	if ep.stream {
		from := a.limits.limited(x.r)
		if err := a.streams.enter(from); err != nil {
			x.shed = true
			x.fail(err)
			return
		}
		defer func() {
			if !x.taken {
				a.streams.leave(from)
			}
		}()
		_ = http.NewResponseController(x).SetWriteDeadline(time.Time{})
	} else {
		a.metrics.InFlight.Inc()
		defer a.metrics.InFlight.Dec()
		if a.inFlight.Add(1) > int64(a.opts.InFlightMax) {
			a.inFlight.Add(-1)
			x.shed = true
			x.fail(crowded(rand.IntN(4)))
			return
		}
		defer a.inFlight.Add(-1)
	}
	if ep.entry {
		if !a.crowd.enter() {
			x.shed = true
			x.fail(crowded(rand.IntN(4)))
			return
		}
		defer func() { a.crowd.leave(x.admitted) }()
	}
	buffer := buffers.Get().(*bytes.Buffer)
	defer putBuffer(buffer)
	if err := x.admit(buffer); err != nil {
		x.fail(err)
		return
	}
	x.admitted = time.Now()
	// What is private to a caller, nearly everything, stays out of caches;
	// operations that know better say so.
	x.Header()["Cache-Control"] = noStore
	handler(&x.huma)
}

// crowded refuses whom there is no room for, and tells them to come back a
// little apart from each other, so that they do not come back as one.
func crowded(apart int) *boxoffice.Error {
	e := boxoffice.Refuse(boxoffice.CodeOverloaded, "This instance is answering as many requests as it can; nothing was done.")
	e.RetryAfter = time.Duration(1+apart) * time.Second
	return e
}

// admit lets a request through to its handler, or says why not.
func (x *exchange) admit(buffer *bytes.Buffer) error {
	ep := x.endpoint
	caller, authErr := x.a.identify(x)
	x.call.Caller = caller
	if err := x.a.limits.take(x, &caller); err != nil {
		return err
	}
	if authErr != nil {
		return authErr
	}
	if err := authorise(&caller, ep); err != nil {
		return err
	}
	if err := x.receive(buffer); err != nil {
		return err
	}
	if ep.keyed {
		key, err := idempotencyKey(x.r.Header)
		if err != nil {
			return err
		}
		x.call.Key = boxoffice.IdempotencyKey{Owner: caller.Owner, Key: key}
	}
	return x.checkText()
}

// authorise holds the caller against what the operation needs.
func authorise(c *boxoffice.Caller, ep *endpoint) error {
	if ep.access != Identified {
		return nil
	}
	if c.Anonymous() {
		return boxoffice.Refuse(boxoffice.CodeUnauthenticated, "Send a bearer token or an API key. POST %s/sessions gives a guest a token.", basePath)
	}
	if len(ep.scopes) > 0 && !slices.ContainsFunc(ep.scopes, c.Has) {
		return boxoffice.Refuse(boxoffice.CodeForbidden, "This needs the scope %s.", ep.scopes[0])
	}
	return nil
}

// How long a client may take to send a body, and a document.
const (
	bodyTimeout     = 10 * time.Second
	documentTimeout = 5 * time.Minute
)

// receive checks the body's type and size and reads it, if it is JSON.
func (x *exchange) receive(buffer *bytes.Buffer) error {
	r, ep := x.r, x.endpoint
	if ep.body == bodyNone {
		return nil
	}
	if r.ContentLength > ep.bodyMax {
		return tooLarge(ep.bodyMax)
	}
	if r.ContentLength != 0 {
		if !accepts(ep, r.Header.Get("Content-Type")) {
			return unsupported(ep)
		}
		if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
			// Read as it is, it would be called broken JSON.
			return boxoffice.Refuse(boxoffice.CodeUnsupportedMediaType, "Bodies are taken without Content-Encoding.")
		}
		if ep.body == bodyJSON {
			// Huma compares letter by letter, and a type may be in any case.
			r.Header["Content-Type"] = jsonType
		}
	}
	if ep.body == bodyDocument {
		x.document = &document{x: x, left: ep.bodyMax, max: ep.bodyMax, sum: sha256.New()}
		_ = huma.SetReadDeadline(x, x.began.Add(documentTimeout))
		_ = http.NewResponseController(x).SetWriteDeadline(x.began.Add(documentTimeout + answerTimeout))
		x.hashRequest(x.document.sum)
		return nil
	}
	if r.ContentLength != 0 {
		n, err := buffer.ReadFrom(io.LimitReader(r.Body, ep.bodyMax+1))
		if err != nil {
			return bodyError(err)
		}
		if n > ep.bodyMax {
			return tooLarge(ep.bodyMax)
		}
		x.received()
	}
	x.body.Reset(buffer.Bytes())
	return nil
}

// received takes the body's deadline away when the body is here: while the
// handler runs the server reads on, to notice that the client leaves, and would
// take the deadline for that.
func (x *exchange) received() { _ = huma.SetReadDeadline(x, time.Time{}) }

var jsonType = []string{"application/json"}

// accepts reports whether an operation takes bodies of a type. One without a
// type is taken for what the operation wants.
func accepts(ep *endpoint, contentType string) bool {
	if contentType == "" || contentType == ep.bodyTypes[0] {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	return slices.Contains(ep.bodyTypes, media) || ep.body == bodyJSON && strings.HasSuffix(media, "+json")
}

// checkText refuses what Postgres cannot store, wherever in a request it may
// be; the JSON body is checked where it is parsed.
func (x *exchange) checkText() error {
	var vs []boxoffice.Violation
	check := func(field, s string) {
		if !utf8.ValidString(s) {
			vs = append(vs, boxoffice.Violation{Field: shorten(field), Message: "must be valid UTF-8"})
		} else if strings.IndexByte(s, 0) >= 0 {
			vs = append(vs, boxoffice.Violation{Field: shorten(field), Message: "must not contain U+0000"})
		}
	}
	check("path", x.r.URL.Path)
	for name, values := range x.r.Header {
		for _, v := range values {
			check(name, v)
		}
	}
	if x.r.URL.RawQuery != "" {
		query, err := url.ParseQuery(x.r.URL.RawQuery)
		if err != nil {
			vs = append(vs, boxoffice.Violation{Field: "query", Message: "broken percent-encoding, or a semicolon"})
		}
		for name, values := range query {
			check("query", name)
			if len(values) > 1 { // which of the two is meant?
				vs = append(vs, boxoffice.Violation{Field: shorten(strings.ToValidUTF8(name, "\uFFFD")), Message: "given twice"})
			}
			for _, v := range values {
				check(strings.ToValidUTF8(name, "\uFFFD"), v)
			}
		}
	}
	if vs != nil {
		return boxoffice.Invalid(vs...)
	}
	return nil
}

// requestID takes over the client's id if it is harmless in logs and headers,
// and makes one otherwise. It is for finding things, not a secret.
func requestID(h http.Header) string {
	if given := h["X-Request-Id"]; len(given) == 1 && len(given[0]) <= 128 && given[0] != "" && strings.IndexFunc(given[0], func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '-' && r != '_' && r != '.'
	}) < 0 {
		return given[0]
	}
	var id [16]byte
	binary.LittleEndian.PutUint64(id[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(id[8:], rand.Uint64())
	return hex.EncodeToString(id[:])
}

const (
	corsMethods = "GET, HEAD, POST, PUT, PATCH, DELETE"
	corsHeaders = "Accept, Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-API-Key, X-Mock-User-Id, X-Queue-Token, X-Request-Id"
	corsExposed = "ETag, Idempotency-Replayed, Location, RateLimit, RateLimit-Policy, Retry-After, Show-Version, X-Request-Id"
)

// cors says to browsers whose scripts may call. Cookies are never asked for:
// those of organisers are for this server's own pages. It reports whether the request was a
// preflight, and is answered.
func (a *API) cors(x *exchange) bool {
	origin := x.r.Header.Get("Origin")
	h := x.Header()
	h.Add("Vary", "Origin")
	if origin == "" {
		return false
	}
	if slices.Contains(a.opts.CORSOrigins, "*") {
		origin = "*"
	} else if !slices.Contains(a.opts.CORSOrigins, origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", corsExposed)
	if x.r.Method != http.MethodOptions || x.r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	h.Set("Access-Control-Max-Age", "600")
	x.WriteHeader(http.StatusNoContent)
	return true
}
