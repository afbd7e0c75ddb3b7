package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// Problem is the body of every refusal: a problem document of RFC 9457.
type Problem struct {
	Type      string         `json:"type" format:"uri-reference" doc:"Page that explains the code" example:"/problems/seat-already-reserved"`
	Title     string         `json:"title" doc:"The code in words; the same for every problem of the code" example:"At least one place is taken"`
	Status    int            `json:"status" doc:"The HTTP status" example:"409"`
	Detail    string         `json:"detail,omitempty" doc:"What happened here and what to do, for people" example:"Stalls-A-7 is held."`
	Instance  string         `json:"instance,omitempty" format:"uri-reference" doc:"Path of the request" example:"/api/v1/reservations"`
	RequestID string         `json:"requestId,omitempty" doc:"Finds the request in the log; the same as the X-Request-Id header" example:"8f14e45fceea167a5a36dedd4bea2543"`
	Code      boxoffice.Code `json:"code" doc:"Stable name of the refusal, for programs" example:"SEAT_ALREADY_RESERVED"`
	boxoffice.Facts

	header http.Header
}

// Error makes a Problem an error, which is how Huma takes it from a handler.
func (p *Problem) Error() string { return string(p.Code) + ": " + p.Detail }

// GetStatus is asked by Huma for the response's status.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders is asked by Huma for headers to go with the response.
func (p *Problem) GetHeaders() http.Header { return p.header }

// ContentType is asked by Huma for the response's type, given what the client
// would accept.
func (p *Problem) ContentType(negotiated string) string {
	if negotiated == envelopeType {
		return negotiated
	}
	return "application/problem+json"
}

// httpStatus is the one place where a class of refusal becomes a status.
var httpStatus = map[boxoffice.Class]int{
	boxoffice.ClassExcessive:       http.StatusBadRequest,
	boxoffice.ClassUnauthenticated: http.StatusUnauthorized,
	boxoffice.ClassDeclined:        http.StatusPaymentRequired,
	boxoffice.ClassDenied:          http.StatusForbidden,
	boxoffice.ClassNotFound:        http.StatusNotFound,
	boxoffice.ClassMethod:          http.StatusMethodNotAllowed,
	boxoffice.ClassConflict:        http.StatusConflict,
	boxoffice.ClassGone:            http.StatusGone,
	boxoffice.ClassPrecondition:    http.StatusPreconditionFailed,
	boxoffice.ClassTooLarge:        http.StatusRequestEntityTooLarge,
	boxoffice.ClassMediaType:       http.StatusUnsupportedMediaType,
	boxoffice.ClassInvalid:         http.StatusUnprocessableEntity,
	boxoffice.ClassThrottled:       http.StatusTooManyRequests,
	boxoffice.ClassInternal:        http.StatusInternalServerError,
	boxoffice.ClassUnavailable:     http.StatusServiceUnavailable,
}

// codeFacts is what is the same in every problem of a code.
type codeFacts struct {
	kind       string // the type URI
	title      string
	status     int
	retryAfter time.Duration // 0: no Retry-After, unless the error asks for one
}

var codes = func() map[boxoffice.Code]codeFacts {
	m := make(map[boxoffice.Code]codeFacts, len(boxoffice.Codes))
	for _, c := range boxoffice.Codes {
		f := codeFacts{kind: ProblemPath(c.Code), title: c.Title, status: httpStatus[c.Class]}
		if f.status == http.StatusServiceUnavailable || f.status == http.StatusTooManyRequests || c.Code == boxoffice.CodeKeyInUse || c.Code == boxoffice.CodePaymentInProgress {
			f.retryAfter = time.Second
		}
		m[c.Code] = f
	}
	return m
}()

// ProblemPath is the path of the page that explains a code, and the type of
// its problem documents: /problems/seat-not-found.
func ProblemPath(c boxoffice.Code) string {
	return "/problems/" + strings.ToLower(strings.ReplaceAll(string(c), "_", "-"))
}

// Status is the HTTP status of a code.
func Status(c boxoffice.Code) int {
	if f, ok := codes[c]; ok {
		return f.status
	}
	return http.StatusInternalServerError
}

// problem turns any error into what the client may see of it. What it may not
// see goes to the log, whole, with the request's id.
func (x *exchange) problem(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	e, ok := errors.AsType[*boxoffice.Error](err)
	if !ok || Status(e.Code) == http.StatusInternalServerError {
		return x.render(x.unforeseen(err))
	}
	if e.Cause != nil && Status(e.Code) == http.StatusServiceUnavailable {
		x.a.log.LogAttrs(&x.ctx, slog.LevelWarn, "request refused", slog.String("operation", x.operation()), slog.String("error", e.Error()))
	}
	return x.render(e)
}

// render makes e's problem document, with the headers that go with its status.
func (x *exchange) render(e *boxoffice.Error) *Problem {
	f := codes[e.Code]
	p := &Problem{
		Type: f.kind, Title: f.title, Status: f.status, Code: e.Code,
		Detail: e.Detail, Instance: x.r.URL.EscapedPath(), RequestID: x.call.RequestID, Facts: e.Facts,
	}
	p.Violations = p.Violations[:min(len(p.Violations), violationsShown)]
	wait := f.retryAfter
	if e.RetryAfter > 0 {
		wait = e.RetryAfter
	}
	if wait > 0 {
		p.header = http.Header{"Retry-After": {strconv.Itoa(max(1, int(math.Ceil(wait.Seconds()))))}}
	}
	if f.status == http.StatusUnauthorized {
		p.header = http.Header{"Www-Authenticate": {`Bearer realm="rowlock"`}}
	}
	return p
}

// unforeseen logs an error that has no code and returns what is shown instead:
// nothing. When the client has gone away, or its time is over, the error says
// no more than that, and nobody needs to be called.
func (x *exchange) unforeseen(err error) *boxoffice.Error {
	if x.r.Context().Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		e := boxoffice.Refuse(boxoffice.CodeUnavailable, "The request was not finished in time. Send it again with the same Idempotency-Key to learn what became of it.")
		e.Facts.Outcome = "unknown"
		return e
	}
	x.a.log.LogAttrs(&x.ctx, slog.LevelError, "request failed", slog.String("operation", x.operation()), slog.String("error", err.Error()))
	return errInternal
}

// errInternal is all that a client learns about a bug.
var errInternal = boxoffice.Refuse(boxoffice.CodeInternal, "Something went wrong on our side. The request id finds it in the log.")

// fail answers with err's problem: everything but what Huma finds in a
// request.
func (x *exchange) fail(err error) { x.answer(x.problem(err)) }

func (x *exchange) answer(p *Problem) {
	h := x.Header()
	for k, v := range p.header {
		h[k] = v
	}
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	body := buffers.Get().(*bytes.Buffer)
	defer putBuffer(body)
	kind, marshal := p.ContentType("application/json"), marshalJSON
	if x.call.Enveloped() {
		kind, marshal = envelopeType, marshalEnvelope
	}
	if err := marshal(body, p); err != nil {
		panic(err) // a Problem is plain data: this cannot happen
	}
	h["Content-Type"] = []string{kind}
	x.WriteHeader(p.Status)
	x.Write(body.Bytes())
}

// violationsMax is how many violations one problem lists: a body of 1 MiB can
// hold a hundred thousand mistakes, and no one reads more than a few.
const violationsMax = 100

// violationsShown is the same for what is found beyond the schema: of a plan,
// which people mend by hand, every one of a long list counts.
const violationsShown = 1000

// Huma builds its own refusals through two package variables. They are set
// here, once and before anything is registered, so that a refusal by Huma and
// one by a handler look the same, and so that the text of an unknown error,
// which Huma would show, stays inside.
func init() {
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return &Problem{Status: status, Detail: msg}
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		x := exchangeOf(ctx.Context())
		switch status {
		case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestTimeout:
			if len(errs) == 0 {
				return x.problem(boxoffice.Invalid(boxoffice.Violation{Field: "body", Message: msg}))
			}
			return x.problem(boxoffice.Invalid(findings(errs)...))
		case http.StatusRequestEntityTooLarge:
			return x.problem(tooLarge(x.endpoint.bodyMax))
		case http.StatusUnsupportedMediaType:
			return x.problem(unsupported(x.endpoint))
		}
		return x.problem(errors.Join(append(errs, errors.New(msg))...))
	}
}

// findings translates Huma's findings: "body.seats[0].label" becomes the
// field's path in the body, "query.limit" the parameter's name. What was sent
// is not repeated, since it may be anything.
func findings(errs []error) []boxoffice.Violation {
	vs := make([]boxoffice.Violation, 0, min(len(errs), violationsMax))
	for _, err := range errs {
		if len(vs) == violationsMax {
			break
		}
		v := boxoffice.Violation{Field: "body", Message: err.Error()}
		var d huma.ErrorDetailer
		if errors.As(err, &d) {
			detail := d.ErrorDetail()
			v = boxoffice.Violation{Field: detail.Location, Message: detail.Message}
			if missing, ok := strings.CutPrefix(detail.Message, "expected required property "); ok {
				// Huma names the object that lacks it.
				v.Field += "." + strings.TrimSuffix(missing, " to be present")
			}
			if i := strings.LastIndexByte(v.Message, ' ') + 1; strings.Contains(v.Message[i:], "e+") {
				// Huma writes a limit of a million as 1e+06.
				if limit, err := strconv.ParseFloat(v.Message[i:], 64); err == nil {
					v.Message = v.Message[:i] + strconv.FormatFloat(limit, 'f', -1, 64)
				}
			}
			if detail.Message == validation.MsgExpectedRFC3339DateTime {
				v.Message = "must be an RFC 3339 date and time with an offset, such as 2026-11-27T19:00:00Z"
			}
			if field, message, ok := splitJSONError(detail.Message); ok {
				v = boxoffice.Violation{Field: field, Message: message}
			}
		}
		for _, where := range []string{"body.", "query.", "path.", "header.", "cookie."} {
			if rest, ok := strings.CutPrefix(v.Field, where); ok {
				v.Field = rest
				break
			}
		}
		v.Field = cmp.Or(shorten(v.Field), "body") // a property may have no name
		vs = append(vs, v)
	}
	return vs
}

// shorten cuts a text that came from the client to what is worth repeating.
func shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func tooLarge(bytesMax int64) *boxoffice.Error {
	return boxoffice.Refuse(boxoffice.CodePayloadTooLarge, "The body may have at most %d bytes.", bytesMax)
}

func unsupported(ep *endpoint) *boxoffice.Error {
	return boxoffice.Refuse(boxoffice.CodeUnsupportedMediaType, "Content-Type must be %s.", strings.Join(ep.bodyTypes, " or "))
}

// ProblemsMarkdown is docs/problems.md: every code, with what [boxoffice.Codes]
// says of it.
func ProblemsMarkdown() string {
	var b strings.Builder
	b.WriteString("# Problem codes\n\nGenerated from `internal/boxoffice/errors.go`; a test compares. The same is at `/problems` of a running server.\n\n" +
		"| code | HTTP | when | extra members | what to do |\n| --- | --- | --- | --- | --- |\n")
	for _, c := range boxoffice.Codes {
		members := ""
		if len(c.Members) > 0 {
			members = "`" + strings.Join(c.Members, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s | %s |\n", c.Code, Status(c.Code), c.When, members, c.Client)
	}
	return b.String()
}

// problemExamples are the examples of the OpenAPI document, one for each code.
// The facts in them are the examples of the facts' own fields.
func problemExamples() map[string]*huma.Example {
	examples := make(map[string]*huma.Example, len(boxoffice.Codes))
	for _, c := range boxoffice.Codes {
		value := map[string]any{
			"type": ProblemPath(c.Code), "title": c.Title, "status": Status(c.Code), "detail": c.When,
			"instance": basePath + "/reservations", "requestId": "8f14e45fceea167a5a36dedd4bea2543", "code": c.Code,
		}
		for _, member := range c.Members {
			if v, ok := factExamples[member]; ok {
				value[member] = v
			}
		}
		examples[string(c.Code)] = &huma.Example{Summary: c.Title, Value: value}
	}
	return examples
}

const (
	exampleID   = "0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"
	exampleTime = "2026-11-27T20:15:00.123456Z"
)

// factExamples has an example for every member in boxoffice.Codes; a test
// keeps it complete.
var factExamples = map[string]any{
	"violations":         []any{map[string]any{"field": "seats[0].label", "message": "expected string"}},
	"limit":              5,
	"requested":          6,
	"held":               4,
	"unknownSeats":       []any{"Z-99"},
	"unavailableSeatIds": []any{exampleID},
	"unavailableSeats":   []any{map[string]any{"seatId": exampleID, "label": "Stalls-A-7", "status": "held"}},
	"areas":              []any{map[string]any{"areaId": exampleID, "requested": 4, "available": 2}},
	"ownReservationId":   exampleID,
	"expiredAt":          exampleTime,
	"reservationStatus":  "cancelled",
	"bookingId":          exampleID,
	"paymentId":          exampleID,
	"declineCode":        "insufficient_funds",
	"expiresAt":          exampleTime,
	"until":              exampleTime,
	"refund":             map[string]any{"refundId": exampleID, "amount": 9000, "currency": "EUR"},
	"maxExpiresAt":       exampleTime,
	"reason":             "before_sales",
	"salesStartAt":       exampleTime,
	"inUse":              40,
	"available":          3,
	"waitlistEntryId":    exampleID,
	"seats":              []any{map[string]any{"seatId": exampleID, "label": "Stalls-A-7", "status": "booked"}},
	"queueUrl":           basePath + "/shows/" + exampleID + "/queue",
	"outcome":            "none",
}

// bodyError is what failed while a body was read: too slow, or broken off.
func bodyError(err error) error {
	message := "the body ended early"
	if errors.Is(err, os.ErrDeadlineExceeded) {
		message = "the body did not arrive in time"
	}
	return boxoffice.Invalid(boxoffice.Violation{Field: "body", Message: message})
}

// notModified is not an error but the way to answer 304: the answer that the
// client has already is still right.
type notModified struct{ header http.Header }

// NotModified answers a conditional read: 304 with the same validators that a
// 200 would carry. cacheControl may be "".
func NotModified(etag, cacheControl string) error {
	h := http.Header{"Etag": {etag}}
	if cacheControl != "" {
		h["Cache-Control"] = []string{cacheControl}
	}
	return &notModified{h}
}

func (*notModified) Error() string  { return "not modified" }
func (*notModified) GetStatus() int { return http.StatusNotModified }
