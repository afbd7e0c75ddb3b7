package api

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

func TestAStreamIsSentAsItIsWritten(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{InFlightMax: 1})
	release := make(chan struct{})
	register(d.API, Operation{
		ID: "watch", Method: http.MethodGet, Path: "/watch", Tag: "Operations", Summary: "Watch", Description: "For tests.",
		Access: Open, Stream: true, Status: http.StatusOK,
	}, func(context.Context, *Call, *struct{}) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			ctx.SetHeader("Content-Type", "text/event-stream")
			w := ctx.BodyWriter().(http.ResponseWriter)
			io.WriteString(w, "data: 1\n\n")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			<-release
			io.WriteString(w, "data: 2\n\n")
		}}, nil
	})
	server := httptest.NewServer(d)
	defer server.Close()
	r, err := http.Get(server.URL + "/api/v1/watch")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	first := make([]byte, len("data: 1\n\n"))
	if _, err := io.ReadFull(r.Body, first); err != nil || string(first) != "data: 1\n\n" {
		t.Fatalf("%q %v", first, err)
	}
	if d.inFlight.Load() != 0 {
		t.Error("an open stream counts as a request in flight")
	}
	if other, err := http.Get(server.URL + specimenPath); err != nil || other.StatusCode != 200 {
		t.Errorf("beside an open stream: %v %v", other, err)
	}
	close(release)
	if rest, _ := io.ReadAll(r.Body); string(rest) != "data: 2\n\n" {
		t.Errorf("rest %q", rest)
	}
}

// deadlines records the read deadlines that are set on a connection.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// A deadline that stayed would end the request's context while its handler
// waits for a payment.
func TestTheDeadlineOfABodyEndsWithTheBody(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	r := httptest.NewRequest("POST", specimenPath, strings.NewReader(`{"name":"Ada"}`))
	r.Header = http.Header{"Idempotency-Key": {goodKey}, "X-Mock-User-Id": {exampleID}}
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	d.ServeHTTP(w, r)
	if w.Code != 201 || len(w.set) != 2 || w.set[0].IsZero() || !w.set[1].IsZero() {
		t.Errorf("status %d, deadlines %v", w.Code, w.set)
	}
}

// statuses records how often a status is written.
type statuses struct {
	*httptest.ResponseRecorder
	written []int
}

func (s *statuses) WriteHeader(status int) {
	s.written = append(s.written, status)
	s.ResponseRecorder.WriteHeader(status)
}

// A handler's refusal is written by the door, and Huma has a status of its own
// for a handler that hands it nothing.
func TestARefusalIsWrittenOnce(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	d.fail = boxoffice.Refuse(boxoffice.CodeSeatAlreadyReserved, "Stalls-A-7 is held.")
	r := httptest.NewRequest("POST", specimenPath, strings.NewReader(`{"name":"Ada"}`))
	r.Header = http.Header{"Idempotency-Key": {goodKey}, "X-Mock-User-Id": {exampleID}}
	w := &statuses{ResponseRecorder: httptest.NewRecorder()}
	d.ServeHTTP(w, r)
	if len(w.written) != 1 || w.written[0] != http.StatusConflict {
		t.Errorf("statuses %v: %s", w.written, w.Body)
	}
}

func TestABodyThatBreaksOffIsRefused(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	r := httptest.NewRequest("POST", specimenPath, io.MultiReader(strings.NewReader(`{"name":`), broken{}))
	r.Header = http.Header{"Idempotency-Key": {goodKey}, "X-Mock-User-Id": {exampleID}}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	if p := problemOf(t, w); w.Code != 422 || p.Violations[0].Message != "the body ended early" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestAnOperationThatCannotBeMeantIsRefusedAtStart(t *testing.T) {
	t.Parallel()
	good := Operation{ID: "x", Method: "POST", Path: "/x", Tag: "Operations", Summary: "X", Description: "X."}
	for name, change := range map[string]func(*Operation){
		"no description": func(op *Operation) { op.Description = "" },
		"unknown tag":    func(op *Operation) { op.Tag = "Nonsense" },
		"key for nobody": func(op *Operation) { op.Access = Public },
		"scopes for all": func(op *Operation) {
			op.Access, op.NoKey, op.Scopes = Open, true, []boxoffice.Scope{boxoffice.ScopeOps}
		},
		"body and stream": func(op *Operation) { op.Documents = []Document{{MediaType: "text/csv"}} },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: registered", name)
				}
			}()
			op := good
			change(&op)
			register(New(Options{}), op, func(context.Context, *Call, *struct{ Body specimen }) (*struct{}, error) { return nil, nil })
		}()
	}
}
