package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// Access says who may call an operation.
type Access uint8

// Who may call an operation. Credentials that are sent but not valid are
// refused everywhere except where nobody looks at them.
const (
	Identified Access = iota // customers, guests, mock users and API keys; with Scopes: who has one of them
	Public                   // anybody; who sends credentials is known by them
	Open                     // anybody; credentials are not looked at
)

// Operation describes one operation: what [register] enforces and what the
// OpenAPI document says.
type Operation struct {
	ID          string // unique, lower camel case: placeReservation; also the metrics' label
	Method      string
	Path        string // below /api/v1: /reservations/{reservationId}
	Tag         string // one of the tags in api.go
	Summary     string // a few words
	Description string // whole sentences: what it does, what is special

	Access Access
	// Scopes: the caller needs one of them. More than one is rare.
	Scopes []boxoffice.Scope

	// Status of success; 0 means 200 with a body and 204 without.
	Status int
	// Also are further statuses of success, with the same body and headers,
	// and when they are given. The output then has a Status.
	Also map[int]string
	// Codes it may refuse with, beyond those that every operation may.
	Codes []boxoffice.Code

	// Media is the type of an answer whose Body is []byte; the handler sets it
	// as Content-Type.
	Media string
	// NoKey exempts a write from the Idempotency-Key.
	NoKey bool
	// BodyMax is the most bytes a body may have; 0 means 1 MiB.
	BodyMax int64
	// Documents are the media types of a body that is a document and not an
	// input's Body: read as a stream from [Call.Document].
	Documents []Document
	// Stream marks answers that stay open, such as event streams.
	Stream bool
	// Weight is how many ordinary requests it counts as in the rate limit; 0
	// means 1.
	Weight int
	// Busy is for callers that speak for very many people, such as payment
	// gateways: they may ask as often as an organisation's keys.
	Busy bool
	// Entry marks what people come in by: when more come than can be served,
	// they are turned away here, and nowhere else.
	Entry bool
	// Headers of a success that the output struct does not have as fields:
	// name to description.
	Headers map[string]string
}

// Document is a kind of document that an operation takes as its body.
type Document struct {
	MediaType   string
	Description string
	Example     any
}

const (
	basePath       = "/api/v1"
	bodyMaxDefault = 1 << 20
)

// endpoint is an operation made ready for serving: nothing in it has to be
// computed for a request.
type endpoint struct {
	id        string
	access    Access
	scopes    []boxoffice.Scope
	keyed     bool
	body      bodyKind
	bodyMax   int64
	bodyTypes []string
	stream    bool
	busy      bool
	entry     bool
	weight    int
	seconds   prometheus.Observer
}

type bodyKind uint8

const (
	bodyNone bodyKind = iota
	bodyJSON
	bodyDocument
)

// endpointKey is where an endpoint travels in huma.Operation.Metadata.
const endpointKey = "endpoint"

// register adds an operation. Every operation goes through here: what the
// contract says of every request is done before handle is called, see doc.go,
// and whatever error handle returns becomes a problem document.
//
// I and O are Huma's input and output structs. The input must not have an
// Idempotency-Key field: it is checked before the input is parsed, and comes
// in Call.Key.
func register[I, O any](a *API, op Operation, handle func(context.Context, *Call, *I) (*O, error)) {
	body, hasBody := reflect.TypeFor[I]().FieldByName("Body")
	op.check(hasBody)
	if op.Status == 0 {
		op.Status = http.StatusNoContent
		if _, answers := reflect.TypeFor[O]().FieldByName("Body"); answers {
			op.Status = http.StatusOK
		}
	}
	described := a.describe(op, hasBody)
	if _, tagged := reflect.TypeFor[O]().FieldByName("ETag"); tagged && op.Method == http.MethodGet {
		describeRevalidation(&described)
	}
	huma.Register(a.huma, described, func(ctx context.Context, in *I) (*O, error) {
		x := exchangeOf(ctx)
		if !x.call.Key.IsZero() && x.document == nil {
			var v any
			if hasBody {
				v = reflect.ValueOf(in).Elem().FieldByIndex(body.Index).Addr().Interface()
			}
			if err := x.fingerprint(v); err != nil {
				x.fail(err)
				return nil, nil
			}
		}
		out, err := handle(ctx, &x.call, in)
		if err == nil {
			return out, nil
		}
		if same, ok := err.(*notModified); ok {
			maps.Copy(x.Header(), same.header)
			return nil, same
		}
		// Huma would find out anew what is known of a problem. Handed nothing, it
		// only sets a status, see operationContext.
		x.fail(err)
		return nil, nil
	})
	if len(op.Also) > 0 {
		first := described.Responses[strconv.Itoa(op.Status)]
		for status, when := range op.Also {
			described.Responses[strconv.Itoa(status)] = &huma.Response{Description: when, Headers: first.Headers, Content: first.Content}
		}
	}
	// Huma leaves the doc of a header field in its schema, where most tools do
	// not look.
	for _, r := range described.Responses {
		for _, h := range r.Headers {
			if h.Description == "" && h.Schema != nil {
				h.Description = h.Schema.Description
			}
		}
	}
	// Only now, or Huma would take a document in JSON for a body of its own.
	for _, d := range op.Documents {
		schema := &huma.Schema{Type: huma.TypeString, Description: d.Description}
		if d.MediaType == "application/json" {
			schema.Type, schema.AdditionalProperties = huma.TypeObject, true
		}
		described.RequestBody.Content[d.MediaType].Schema = schema
	}
}

// check panics on descriptions that cannot be meant, as Huma does: all
// operations are registered at start and by every test.
func (op *Operation) check(hasBody bool) {
	switch {
	case op.ID == "" || op.Method == "" || !strings.HasPrefix(op.Path, "/") || op.Summary == "" || op.Description == "":
		panic(fmt.Sprintf("api: operation %q (%s %s) is not fully described", op.ID, op.Method, op.Path))
	case !slices.ContainsFunc(tags, func(t *huma.Tag) bool { return t.Name == op.Tag }):
		panic(fmt.Sprintf("api: operation %s has the unknown tag %q", op.ID, op.Tag))
	case hasBody && len(op.Documents) > 0:
		panic(fmt.Sprintf("api: operation %s has both a body and documents", op.ID))
	case op.Access != Identified && len(op.Scopes) > 0:
		panic(fmt.Sprintf("api: operation %s is for anybody and needs scopes", op.ID))
	case op.Access != Identified && op.keyed():
		panic(fmt.Sprintf("api: operation %s is for anybody and takes an Idempotency-Key: whose would it be?", op.ID))
	}
}

// keyed reports whether the operation needs an Idempotency-Key.
func (op *Operation) keyed() bool {
	return op.Method != http.MethodGet && op.Method != http.MethodHead && !op.NoKey
}

// describe translates an operation into Huma's terms and fills in what the
// contract says about every operation.
func (a *API) describe(op Operation, hasBody bool) huma.Operation {
	ep := &endpoint{
		id: op.ID, access: op.Access, scopes: op.Scopes, keyed: op.keyed(),
		bodyMax: op.BodyMax, stream: op.Stream, busy: op.Busy, entry: op.Entry, weight: max(1, op.Weight),
		seconds: a.metrics.RequestSeconds.WithLabelValues(op.ID),
	}
	if ep.bodyMax == 0 {
		ep.bodyMax = bodyMaxDefault
	}
	h := huma.Operation{
		OperationID: op.ID, Method: op.Method, Path: op.Path, Tags: []string{op.Tag},
		Summary: op.Summary, Description: op.Description, DefaultStatus: op.Status,
		Responses: map[string]*huma.Response{},
		Metadata:  map[string]any{endpointKey: ep},
		// The wrapper measures, before Huma reads; Huma's own limit is off by
		// one, and must not be what refuses.
		MaxBodyBytes: ep.bodyMax + 1,
	}
	switch {
	case hasBody:
		ep.body, ep.bodyTypes = bodyJSON, []string{"application/json"}
	case len(op.Documents) > 0:
		ep.body = bodyDocument
		h.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{}}
		var kinds []string
		for _, d := range op.Documents {
			ep.bodyTypes = append(ep.bodyTypes, d.MediaType)
			kinds = append(kinds, "`"+d.MediaType+"`: "+d.Description)
			h.RequestBody.Content[d.MediaType] = &huma.MediaType{Example: d.Example}
		}
		h.RequestBody.Description = "The document, read as a stream. " + strings.Join(kinds, "; ")
	}
	if ep.keyed {
		h.Parameters = append(h.Parameters, &huma.Param{
			Name: keyHeader, In: "header", Required: true, Example: "7c9e6679742540de944be07fc1f90ae7",
			Description: "A UUID version 4, lower case, without hyphens, made anew for each new request and sent again with each retry of it. Lives 24 hours. An answer to a retry carries Idempotency-Replayed.",
			Schema:      &huma.Schema{Type: "string", Pattern: keyPattern},
		})
	}
	if slices.Contains(op.Codes, boxoffice.CodePreconditionFailed) {
		h.Parameters = append(h.Parameters, &huma.Param{
			Name: "If-Match", In: "header", Example: `"3"`,
			Description: "The ETag of the version that is to be changed; without it, whatever version there is.",
			Schema:      &huma.Schema{Type: huma.TypeString},
		})
	}
	h.Security, h.Description = a.security(op)
	a.describeSuccess(&h, op, ep)
	a.describeRefusals(&h, op, ep)
	return h
}

// describeRevalidation documents that a read answers 304 to who has it already.
func describeRevalidation(h *huma.Operation) {
	h.Parameters = append(h.Parameters, &huma.Param{
		Name: "If-None-Match", In: "header", Example: `"3"`,
		Description: "The ETag of the answer that the client has; while it is still right, 304 comes instead of it.",
		Schema:      &huma.Schema{Type: huma.TypeString},
	})
	h.Responses[strconv.Itoa(http.StatusNotModified)] = &huma.Response{
		Description: "What If-None-Match names is still right.",
		Headers:     headerParams(map[string]string{"ETag": "As it was sent.", "Cache-Control": "How long it may be kept."}),
	}
}

func (a *API) security(op Operation) (security []map[string][]string, description string) {
	description = op.Description
	if len(op.Scopes) > 0 {
		names := make([]string, len(op.Scopes))
		for i, s := range op.Scopes {
			names[i] = "`" + string(s) + "`"
		}
		description += "\n\nNeeds the scope " + strings.Join(names, " or ") + "."
	}
	// An empty list says that none is needed; in OpenAPI 3.1 an empty object
	// among others makes them optional.
	switch op.Access {
	case Open:
		return []map[string][]string{}, description
	case Public:
		security = append(security, map[string][]string{})
	}
	security = append(security, map[string][]string{"bearer": {}}, map[string][]string{"apiKey": {}})
	if len(op.Scopes) == 0 {
		security = append(security, map[string][]string{"mockUser": {}})
	}
	return security, description
}

func (a *API) describeSuccess(h *huma.Operation, op Operation, ep *endpoint) {
	headers := map[string]string{
		"X-Request-Id":     "The request's id, for support and logs.",
		"RateLimit":        "What is left of the caller's limit (r), and seconds until it is whole again (t).",
		"RateLimit-Policy": "The caller's limit: requests at once (q), and seconds in which as many come back (w).",
	}
	if ep.keyed {
		headers["Idempotency-Replayed"] = "true when this is the answer to an earlier request with the same key."
	}
	maps.Copy(headers, op.Headers)
	r := &huma.Response{Description: http.StatusText(op.Status), Headers: headerParams(headers)}
	if op.Media != "" {
		r.Content = map[string]*huma.MediaType{op.Media: {Schema: &huma.Schema{Type: huma.TypeString, Description: op.Summary}}}
	}
	h.Responses[strconv.Itoa(op.Status)] = r
}

func headerParams(headers map[string]string) map[string]*huma.Param {
	params := make(map[string]*huma.Param, len(headers))
	for name, text := range headers {
		params[name] = &huma.Param{Description: text, Schema: &huma.Schema{Type: "string"}}
	}
	return params
}

// codesOf lists every code that the operation may refuse with, in the order of
// the catalogue.
func codesOf(op Operation, ep *endpoint) []boxoffice.Code {
	all := append([]boxoffice.Code{
		boxoffice.CodeValidation, boxoffice.CodeRateLimited, boxoffice.CodeOverloaded,
		boxoffice.CodeUnavailable, boxoffice.CodeInternal,
	}, op.Codes...)
	if op.Access != Open {
		all = append(all, boxoffice.CodeUnauthenticated)
	}
	if len(op.Scopes) > 0 {
		all = append(all, boxoffice.CodeForbidden)
	}
	if ep.body != bodyNone {
		all = append(all, boxoffice.CodePayloadTooLarge, boxoffice.CodeUnsupportedMediaType)
	}
	if ep.keyed {
		all = append(all, boxoffice.CodeKeyInUse, boxoffice.CodeKeyReused)
	}
	var sorted []boxoffice.Code
	for _, c := range boxoffice.Codes {
		if slices.Contains(all, c.Code) {
			sorted = append(sorted, c.Code)
		}
	}
	return sorted
}

// describeRefusals documents each status that the operation may refuse with,
// with every code behind it and an example of each. The examples are shared
// components, or the document would be mostly examples.
func (a *API) describeRefusals(h *huma.Operation, op Operation, ep *endpoint) {
	schema := a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Problem](), true, "Problem")
	for _, code := range codesOf(op, ep) {
		status := strconv.Itoa(Status(code))
		r := h.Responses[status]
		if r == nil {
			r = &huma.Response{Content: map[string]*huma.MediaType{
				"application/problem+json": {Schema: schema, Examples: map[string]*huma.Example{}},
			}}
			if Status(code) == http.StatusUnauthorized {
				r.Headers = headerParams(map[string]string{"WWW-Authenticate": "How to prove who one is."})
			}
			h.Responses[status] = r
		}
		if codes[code].retryAfter > 0 {
			r.Headers = headerParams(map[string]string{"Retry-After": "Seconds to wait before the next try, where waiting helps."})
		}
		info := code.Info()
		r.Description = strings.TrimSpace(r.Description + "\n\n`" + string(code) + "`: " + info.When + " " + info.Client)
		r.Content["application/problem+json"].Examples[string(code)] = &huma.Example{Ref: "#/components/examples/" + string(code)}
	}
}
