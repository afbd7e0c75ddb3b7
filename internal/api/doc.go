// Package api is the HTTP door: every operation of the contract under /api/v1,
// the OpenAPI document, health, and whatever cmd/api mounts beside them.
//
// # What happens to a request
//
//	ServeHTTP   request id, security headers, CORS preflight, recovery, metrics, log
//	  mux       404 and 405 as problem documents
//	  operate   the refusals that need no handler, in the order of the contract:
//	              503 shed · credentials read · 429 · 401 · 403 scope · 413, 415 and the body read
//	              · 422 Idempotency-Key · 422 U+0000 and broken UTF-8
//	  Huma      strict JSON, validation against the schema: 422
//	  register  fingerprint of the idempotency key; errors become problems
//	  handler   yours
//
// Everything about one request is in one [exchange]; a handler sees its public
// part, a [Call].
//
// # How to add an operation
//
// The operations of a noun are in the noun's file, and its register method is
// called in [New]. What they need (the store) is a field of [Options]; nil must
// do for writing the OpenAPI document.
//
//	func (a *API) registerReservations() {
//		register(a, Operation{
//			ID: "placeReservation", Method: http.MethodPost, Path: "/reservations", Tag: "Reservations",
//			Summary:     "Hold places",
//			Description: "Keeps places for the caller until expiresAt. All or nothing.",
//			Status:      http.StatusCreated,
//			Codes:       []boxoffice.Code{boxoffice.CodeSeatAlreadyReserved, boxoffice.CodeTooManySeats},
//			Headers:     map[string]string{"Show-Version": "Version of the show that the hold made."},
//		}, a.placeReservation)
//	}
//
//	type placeInput struct {
//		Body PlaceRequest
//	}
//
//	type reservationOutput struct {
//		Location string `header:"Location" doc:"The reservation"`
//		Body     Reservation
//	}
//
//	func (a *API) placeReservation(ctx context.Context, call *Call, in *placeInput) (*reservationOutput, error) {
//		r, err := a.opts.Store.PlaceReservation(ctx, call.Key, call.Caller, in.Body.command())
//		if err != nil {
//			return nil, err // a *boxoffice.Error is shown; anything else is logged and hidden
//		}
//		if r.Replayed {
//			call.Replayed()
//		}
//		call.ShowVersion(r.Version)
//		return …
//	}
//
// What to know:
//
//   - [Operation.Access]: the zero value wants a known caller; with Scopes, one
//     who has a scope. [Public] takes anybody and knows those who say who they
//     are; a part that needs more asks [Call.Require]. [Open] looks at nobody.
//   - Every POST, PUT, PATCH and DELETE needs an Idempotency-Key unless NoKey.
//     [Call.Key] goes to the store as it is.
//   - The codes that any operation may give are documented by themselves;
//     Codes are the others. [boxoffice.Refuse] and [boxoffice.Invalid] make
//     errors; never huma.Error…, and never an error text of somebody else.
//   - Everything in input and output has a doc tag, and a test fails if one
//     has not. Ids are uuid.UUID with format:"uuid". Limits belong in tags
//     (minLength, maxLength, minimum, maximum, maxItems, enum, pattern), so
//     that they are checked and documented at once. A field without omitempty
//     is required. Unknown fields are refused for you.
//   - Optional body fields whose zero value means something are pointers; query
//     and header parameters cannot be pointers in Huma, so test for "" or 0.
//   - Conditional reads: if [Call.Matches](etag) return [NotModified]; set the
//     ETag by a field with header:"ETag". Conditional writes: [ifMatch].
//   - Cache-Control is "private, no-store" unless the output has a field with
//     header:"Cache-Control".
//   - A body that is encoded already is a [JSON].
//   - A plan document: [Operation.Documents], then [Call.Document] as the
//     reader and, when it is read, [Call.DocumentKey] for the key.
//   - More than one status of success: an output with a Status, and
//     Operation.Also, which documents the others.
//   - An answer that is a file: an output whose Body is []byte, and
//     Operation.Media.
//   - Answers to replays are made from what the command did, not from what has
//     become of things since: see asConfirmed and asBegun.
//   - Event streams: Operation.Stream and Media, [exchange.flow] to send, and
//     [API.describeEvents] to say what.
//   - The lane's outcomes are counted by whoever runs the lane; requests,
//     durations and refusals of HTTP are counted here, by operation.
//
// # How cmd/api builds it
//
//	a := api.New(api.Options{Log: …, Metrics: …, Store: …, Auth: …, Limit: …, Checks: …})
//	a.Mount("GET /{$}", web.App(…))
//	a.Mount("GET /style.css", web.Style())
//	a.Mount("GET /docs", web.Docs())
//	a.Mount("GET /docs/", web.Docs())
//	a.Mount("GET /problems", web.Problems(api.Status))
//	a.Mount("GET /problems/", web.Problems(api.Status))
//	a.Mount("GET /metrics", metrics.Handler())
//	a.MountOps("/riverui/", ui)
//	a.Server().ListenAndServe()
//
// New(Options{}).OpenAPI().YAML() is openapi.yaml, [ProblemsMarkdown] is
// docs/problems.md.
package api
