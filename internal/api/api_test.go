package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

const goodKey = "7c9e6679742540de944be07fc1f90ae7"

// specimen has a field of every sort that the real operations have.
type specimen struct {
	Name   string            `json:"name" minLength:"1" maxLength:"20" doc:"A name" example:"Ada"`
	Seats  []specimenSeat    `json:"seats,omitempty" doc:"Seats" maxItems:"10"`
	Count  int32             `json:"count,omitempty" minimum:"0" doc:"A count" example:"1"`
	ShowID uuid.UUID         `json:"showId,omitempty" format:"uuid" doc:"A show" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	At     *time.Time        `json:"at,omitempty" doc:"A time" example:"2026-11-27T20:15:00Z"`
	Meta   map[string]string `json:"metadata,omitempty" doc:"Text"`
	TTL    int               `json:"ttl,omitempty" default:"900" doc:"Seconds" example:"900"`
}

type specimenSeat struct {
	Label string `json:"label" doc:"Label of a seat" example:"A-1"`
}

type specimenInput struct {
	ID   uuid.UUID `path:"id" format:"uuid" doc:"Which" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	Wait int       `query:"wait" minimum:"0" maximum:"20" doc:"Seconds to wait" example:"1"`
	Body specimen
}

type specimenOutput struct{ Body specimen }

// door is an API with a few operations of its own, and what they saw.
type door struct {
	*API
	t       *testing.T
	handled []*Call // calls that reached a handler
	fail    error   // what the handlers answer
	logged  *bytes.Buffer
}

func newDoor(t *testing.T, opts Options) *door {
	t.Helper()
	d := &door{t: t, logged: new(bytes.Buffer)}
	if opts.Log == nil {
		opts.Log = slog.New(slog.NewTextHandler(d.logged, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	opts.Auth.Mock = true
	if opts.Auth.SessionSecret == nil {
		opts.Auth.SessionSecret = []byte("a secret of at least thirty-two bytes")
	}
	if opts.Auth.Keys == nil {
		opts.Auth.Keys = keyring{"admin-key": {boxoffice.ScopeAdmin}, "sales-key": {boxoffice.ScopeSalesRead}}
	}
	d.API = New(opts)
	register(d.API, Operation{
		ID: "putSpecimen", Method: http.MethodPost, Path: "/specimens/{id}", Tag: "Operations",
		Summary: "Put a specimen", Description: "For tests.", Status: http.StatusCreated,
	}, func(_ context.Context, c *Call, in *specimenInput) (*specimenOutput, error) {
		d.handled = append(d.handled, c)
		if d.fail != nil {
			return nil, d.fail
		}
		return &specimenOutput{in.Body}, nil
	})
	register(d.API, Operation{
		ID: "readSpecimen", Method: http.MethodGet, Path: "/specimens/{id}", Tag: "Operations",
		Summary: "Read a specimen", Description: "For tests.", Access: Public,
	}, func(_ context.Context, c *Call, in *struct {
		ID    uuid.UUID `path:"id" format:"uuid" doc:"Which" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
		Limit int       `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"At most so many" example:"50"`
		Q     string    `query:"q" doc:"Text to find" example:"Ada"`
	}) (*struct{ Body JSON }, error) {
		d.handled = append(d.handled, c)
		if d.fail != nil {
			return nil, d.fail
		}
		return &struct{ Body JSON }{JSON(`{"seen":true}`)}, nil
	})
	register(d.API, Operation{
		ID: "dropSpecimen", Method: http.MethodDelete, Path: "/specimens/{id}", Tag: "Operations",
		Summary: "Drop a specimen", Description: "For tests.", Scopes: []boxoffice.Scope{boxoffice.ScopeCatalogueWrite},
	}, func(_ context.Context, c *Call, in *struct {
		ID uuid.UUID `path:"id" format:"uuid" doc:"Which" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	}) (*struct{}, error) {
		d.handled = append(d.handled, c)
		return nil, d.fail
	})
	register(d.API, Operation{
		ID: "importSpecimens", Method: http.MethodPost, Path: "/specimens", Tag: "Operations",
		Summary: "Import specimens", Description: "For tests.", BodyMax: 1000,
		Documents: []Document{{MediaType: "text/csv", Description: "One a line"}},
	}, func(_ context.Context, c *Call, _ *struct{}) (*struct{ Body string }, error) {
		text, err := io.ReadAll(c.Document())
		if err != nil {
			return nil, err
		}
		if c.Key, err = c.DocumentKey(); err != nil {
			return nil, err
		}
		d.handled = append(d.handled, c)
		return &struct{ Body string }{string(text)}, nil
	})
	d.Mount("GET /panics", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the secret is 42") }))
	return d
}

// keyring knows API keys by heart.
type keyring map[string][]boxoffice.Scope

func (k keyring) APIKeyByHash(_ context.Context, hash []byte) (boxoffice.APIKey, error) {
	for key, scopes := range k {
		if bytes.Equal(boxoffice.HashAPIKey(key), hash) {
			return boxoffice.APIKey{OrganisationID: boxoffice.DefaultOrganisationID, Scopes: scopes}, nil
		}
	}
	return boxoffice.APIKey{}, boxoffice.Refuse(boxoffice.CodeNotFound, "No such key.")
}

const specimenPath = "/api/v1/specimens/0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"

// ask sends a request with headers given as "Name: value"; a header given
// again replaces the usual one, and "Name:" removes it.
func (d *door) ask(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	d.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if method != http.MethodGet {
		r.Header.Set("Idempotency-Key", goodKey)
		r.Header.Set("X-Mock-User-Id", "0197a1f0-0000-7000-8000-000000000001")
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ":")
		if value = strings.TrimPrefix(value, " "); value == "" {
			r.Header.Del(name)
		} else {
			r.Header.Set(name, value)
		}
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

func problemOf(t *testing.T, w *httptest.ResponseRecorder) Problem {
	t.Helper()
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("content type %q, want a problem; body %s", got, w.Body)
	}
	var p Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatal(err)
	}
	if p.Status != w.Code || p.Type != ProblemPath(p.Code) || p.RequestID == "" || p.Title == "" {
		t.Errorf("incomplete problem with status %d: %s", w.Code, w.Body)
	}
	return p
}

func (d *door) wantRefused(w *httptest.ResponseRecorder, code boxoffice.Code) Problem {
	d.t.Helper()
	p := problemOf(d.t, w)
	if p.Code != code {
		d.t.Errorf("got %s, want %s: %s", p.Code, code, w.Body)
	}
	return p
}

func TestAWriteReachesItsHandler(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	w := d.ask("POST", specimenPath, `{"name":"Ada"}`)
	if w.Code != http.StatusCreated || len(d.handled) != 1 {
		t.Fatalf("status %d, body %s", w.Code, w.Body)
	}
	c := d.handled[0]
	if c.Caller.Kind != boxoffice.CallerMock || c.Key.Key.Version() != 4 || c.Key.Owner != c.Caller.Owner || c.Key.Fingerprint == [32]byte{} {
		t.Errorf("call %+v", c)
	}
	if got := w.Header().Get("Cache-Control"); got != "private, no-store" {
		t.Errorf("Cache-Control %q", got)
	}
	var back specimen
	if err := json.Unmarshal(w.Body.Bytes(), &back); err != nil || back.TTL != 900 {
		t.Errorf("the default is missing: %s (%v)", w.Body, err)
	}
}

var errSecret = errors.New("password=hunter2")

func referenceJSON(data []byte) (v any, err error) {
	err = json.Unmarshal(data, &v)
	return v, err
}
