package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/telemetry"
)

// exchange is one request and its answer on their way through the house. It is
// the http.ResponseWriter that everything inside writes to, and carries all we
// know about the request, in one allocation.
type exchange struct {
	http.ResponseWriter
	a        *API
	r        *http.Request
	endpoint *endpoint // nil outside of operations
	call     Call
	ctx      requestContext
	huma     operationContext
	body     bytes.Reader // the whole body, when the operation has a JSON one
	document *document    // the body as a stream, when it has a document
	began    time.Time
	admitted time.Time // when all of it was here and it was let through; zero: it was not
	status   int       // 0 until the header is written
	shed     bool      // turned away before anything was spent on it
	taken    bool      // a stream has taken the connection, and is counted by itself

	signedInUntil time.Time // the caller is known by a cookie, until then; zero: by something else, or not
}

// WriteHeader remembers the status for metrics and log.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 || x.status < http.StatusOK {
		x.status = status
	}
	if etag := x.Header()["Etag"]; len(etag) == 1 {
		x.Header()["Etag"] = []string{x.call.tag(etag[0])}
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write sends body bytes, as 200 if nothing else was said before.
func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	return x.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController and Huma's SSE reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

func (x *exchange) operation() string {
	if x.endpoint == nil {
		return "none"
	}
	return x.endpoint.id
}

// requestContext is the request's context with its exchange and request id.
type requestContext struct {
	context.Context
	x *exchange
}

type exchangeKey struct{}

func (c *requestContext) Value(key any) any {
	switch key.(type) {
	case exchangeKey:
		return c.x
	case telemetry.RequestIDKey:
		return c.x.call.RequestID
	}
	return c.Context.Value(key)
}

func exchangeOf(ctx context.Context) *exchange { return ctx.Value(exchangeKey{}).(*exchange) }

type humaContext huma.Context

// operationContext is what Huma sees of an exchange: the body has been read
// and measured already, and the context is ours.
type operationContext struct {
	humaContext
	x *exchange
}

func (c *operationContext) Context() context.Context        { return &c.x.ctx }
func (c *operationContext) BodyReader() io.Reader           { return &c.x.body }
func (c *operationContext) SetReadDeadline(time.Time) error { return nil }
func (c *operationContext) Unwrap() huma.Context            { return c.humaContext }

// SetStatus is what Huma does for a handler that has nothing to say, which is
// too late when the exchange has been answered by [register].
func (c *operationContext) SetStatus(status int) {
	if c.x.status == 0 {
		c.humaContext.SetStatus(status)
	}
}

// Call is what a handler knows of its request beyond the input: who calls, the
// idempotency key, and how to say things about the answer.
type Call struct {
	Caller    boxoffice.Caller
	RequestID string
	// Key is the write's idempotency key, with the fingerprint of method, path
	// and body. It is zero for reads and exempt writes. Where the body is a
	// document it has no fingerprint until [Call.DocumentKey].
	Key boxoffice.IdempotencyKey

	x *exchange
}

// Replayed marks the answer as that of an earlier request with the same key.
func (c *Call) Replayed() { c.x.Header()["Idempotency-Replayed"] = []string{"true"} }

// ShowVersion tells the version of the show that the write made, or found.
func (c *Call) ShowVersion(version int64) {
	c.x.Header()["Show-Version"] = []string{strconv.FormatInt(version, 10)}
}

// Header is the answer's header, for what neither the output struct nor a
// method here says.
func (c *Call) Header() http.Header { return c.x.Header() }

// Request is the request itself.
func (c *Call) Request() *http.Request { return c.x.r }

// Enveloped reports whether the client asked for {data} and {error} around
// bodies. Only handlers that write bytes of their own, compressed ones say,
// need to ask; see also [JSON].
func (c *Call) Enveloped() bool {
	kind, err := c.x.a.huma.Negotiate(c.x.r.Header.Get("Accept"))
	return err == nil && kind == envelopeType
}

// Require refuses with FORBIDDEN (or UNAUTHENTICATED, when nobody is there)
// unless the caller has the scope: for parts of an operation that need more
// than the whole, such as view=staff.
func (c *Call) Require(scope boxoffice.Scope) error {
	switch {
	case c.Caller.Has(scope):
		return nil
	case c.Caller.Anonymous():
		return boxoffice.Refuse(boxoffice.CodeUnauthenticated, "This needs credentials with the scope %s.", scope)
	}
	return boxoffice.Refuse(boxoffice.CodeForbidden, "This needs the scope %s.", scope)
}

// Matches reports whether the client has the thing with this ETag already, by
// If-None-Match: answer with [NotModified]. The comparison is weak.
func (c *Call) Matches(etag string) bool { return matches(c.x.r.Header["If-None-Match"], c.tag(etag)) }

// tag is the ETag of what the client gets, in an envelope or without: a cache
// that has one must not be told that it has the other.
func (c *Call) tag(etag string) string {
	if c.Enveloped() {
		return strings.TrimSuffix(etag, `"`) + `-enveloped"`
	}
	return etag
}

func matches(header []string, etag string) bool {
	etag = strings.TrimPrefix(etag, "W/")
	for _, line := range header {
		for part := range strings.SplitSeq(line, ",") {
			if part = strings.TrimPrefix(strings.TrimSpace(part), "W/"); part == etag || part == "*" {
				return true
			}
		}
	}
	return false
}

// Document is the body of an operation that takes a document, as a stream. It
// fails with PAYLOAD_TOO_LARGE past the operation's limit.
func (c *Call) Document() io.Reader { return c.x.document }

// DocumentKey is the idempotency key with its fingerprint, which is over the
// raw bytes: to be called when [Call.Document] has been read to its end. What
// the reader left over is read here.
func (c *Call) DocumentKey() (boxoffice.IdempotencyKey, error) {
	if _, err := io.Copy(io.Discard, c.x.document); err != nil {
		return boxoffice.IdempotencyKey{}, err
	}
	key := c.Key
	c.x.document.sum.Sum(key.Fingerprint[:0])
	return key, nil
}

// document reads a request body, counts and hashes it.
type document struct {
	x    *exchange
	left int64 // bytes that may still come
	max  int64
	sum  hash.Hash
}

func (d *document) Read(p []byte) (int, error) {
	// One byte more than is left tells a body that is just as long as it may
	// be from one that is longer.
	if int64(len(p)) > d.left+1 {
		p = p[:d.left+1]
	}
	n, err := d.x.r.Body.Read(p)
	if int64(n) > d.left {
		return 0, tooLarge(d.max)
	}
	d.left -= int64(n)
	d.sum.Write(p[:n])
	switch {
	case errors.Is(err, io.EOF):
		d.x.received()
	case err != nil:
		return n, bodyError(err)
	}
	return n, err
}

// hashRequest begins a fingerprint: the customer, since a back end's key may
// come from its users; method, path and parameters, in an order that does not
// depend on how the client sorted them.
func (x *exchange) hashRequest(h io.Writer) {
	for _, part := range [...]string{x.call.Caller.CustomerID, x.r.Method, x.r.URL.Path} {
		io.WriteString(h, part)
		io.WriteString(h, "\x00")
	}
	if x.r.URL.RawQuery != "" {
		io.WriteString(h, x.r.URL.Query().Encode())
	}
	io.WriteString(h, "\x00")
}

// fingerprint is over the parsed body, marshalled again: white space, the
// order of names, and defaults that are spelled out make no difference.
func (x *exchange) fingerprint(body any) error {
	b := buffers.Get().(*bytes.Buffer)
	defer putBuffer(b)
	x.hashRequest(b)
	if body != nil {
		if err := json.NewEncoder(b).Encode(body); err != nil {
			return err
		}
	}
	x.call.Key.Fingerprint = sha256.Sum256(b.Bytes())
	return nil
}
