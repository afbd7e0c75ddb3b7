package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

func TestOperatorsPagesNeedAKeyWithTheirScope(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	d.MountOps("/riverui/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "jobs") }))
	send := func(method, name, password string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "https://rowlock.example/riverui/jobs", nil)
		if password != "" {
			r.SetBasicAuth(name, password)
		}
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		return w
	}
	nobody := send("GET", "", "")
	if nobody.Code != 401 || !strings.HasPrefix(nobody.Header().Get("WWW-Authenticate"), "Basic ") {
		t.Errorf("nobody: %d %v", nobody.Code, nobody.Header())
	}
	for name, c := range map[string]struct {
		w    *httptest.ResponseRecorder
		want int
	}{
		"basic":                 {send("GET", "anybody", "admin-key"), 200},
		"header":                {send("GET", "", "", "X-API-Key: admin-key"), 200},
		"wrong key":             {send("GET", "admin", "nonsense"), 401},
		"other scope":           {send("GET", "x", "sales-key"), 403},
		"mock user":             {send("GET", "", "", "X-Mock-User-Id: "+exampleID), 401},
		"write from here":       {send("POST", "x", "admin-key", "Sec-Fetch-Site: same-origin"), 200},
		"write from a stranger": {send("POST", "x", "admin-key", "Sec-Fetch-Site: cross-site", "Origin: https://evil.example"), 403},
	} {
		if c.w.Code != c.want {
			t.Errorf("%s: %d, want %d", name, c.w.Code, c.want)
		}
	}
	redirect := httptest.NewRecorder()
	d.ServeHTTP(redirect, httptest.NewRequest("GET", "/riverui", nil))
	if redirect.Code/100 != 3 || redirect.Header().Get("Location") != "/riverui/" {
		t.Errorf("without the slash: %d", redirect.Code)
	}
}

func TestReadyOnlyWhenEveryCheckIs(t *testing.T) {
	t.Parallel()
	fine := Check{"database", func(context.Context) error { return nil }}
	ready := func(checks ...Check) (int, readiness, *door) {
		d := newDoor(t, Options{Checks: checks})
		w := d.ask("GET", "/readyz", "")
		var r readiness
		if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		return w.Code, r, d
	}
	if code, r, _ := ready(fine, fine); code != 200 || r.Status != "ready" || len(r.Checks) != 2 || !r.Checks[1].OK {
		t.Errorf("%d %+v", code, r)
	}
	code, r, d := ready(fine, Check{"migrations", func(context.Context) error { return boxoffice.Refuse(boxoffice.CodeUnavailable, "version 3, not 4") }},
		Check{"workers", func(context.Context) error { return errSecret }})
	if code != 503 || r.Status != "unready" || !r.Checks[0].OK || r.Checks[1].Detail != "version 3, not 4" || r.Checks[2].OK {
		t.Errorf("%d %+v", code, r)
	}
	if strings.Contains(r.Checks[2].Detail, "hunter2") || !strings.Contains(d.logged.String(), "hunter2") {
		t.Error("an unknown error is shown, or not logged")
	}
	if w := d.ask("GET", "/healthz", ""); w.Code != 200 {
		t.Errorf("/healthz depends on the checks: %d", w.Code)
	}
}

func TestACheckThatHangsHasFailed(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{Checks: []Check{{"database", func(ctx context.Context) error {
		if _, ok := ctx.Deadline(); !ok {
			return nil
		}
		return errors.New("too slow")
	}}}})
	if w := d.ask("GET", "/readyz", ""); w.Code != 503 {
		t.Error("checks have no deadline")
	}
}
