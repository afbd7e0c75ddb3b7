package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

func TestEveryCodeHasAStatusAPageAndAnExample(t *testing.T) {
	t.Parallel()
	seen := map[boxoffice.Class]bool{}
	examples := problemExamples()
	for _, c := range boxoffice.Codes {
		seen[c.Class] = true
		status, ok := httpStatus[c.Class]
		if !ok || Status(c.Code) != status {
			t.Errorf("%s: class %d has no status", c.Code, c.Class)
		}
		example, ok := examples[string(c.Code)]
		if !ok {
			t.Errorf("%s has no example", c.Code)
			continue
		}
		for _, member := range c.Members {
			if _, ok := example.Value.(map[string]any)[member]; !ok {
				t.Errorf("%s: the example lacks %s", c.Code, member)
			}
		}
	}
	for class := range httpStatus {
		if !seen[class] && class != boxoffice.ClassDeclined {
			t.Errorf("class %d has a status and no code", class)
		}
	}
}

func TestEveryMemberInTheCatalogueIsAFactAndTheOtherWayRound(t *testing.T) {
	t.Parallel()
	facts, members := map[string]bool{}, map[string]bool{}
	for f := range reflect.TypeFor[boxoffice.Facts]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		facts[name] = true
	}
	for _, c := range boxoffice.Codes {
		for _, m := range c.Members {
			members[m] = true
			if !facts[m] {
				t.Errorf("%s promises %s, which is no fact", c.Code, m)
			}
		}
	}
	for f := range facts {
		if !members[f] {
			t.Errorf("the fact %s belongs to no code", f)
		}
	}
	for _, reserved := range []string{"type", "title", "status", "detail", "instance", "requestId", "code"} {
		if facts[reserved] {
			t.Errorf("the fact %s hides a standard member", reserved)
		}
	}
}

func TestFactsAreMembersOfTheProblem(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	id, five := uuid.MustParse(exampleID), 5
	refusal := boxoffice.Refuse(boxoffice.CodeSeatAlreadyReserved, "Žižkov-A-7 <is> held.")
	refusal.Facts.UnavailableSeats = []boxoffice.SeatRef{{SeatID: id, Label: "Žižkov-A-7", Status: boxoffice.SeatHeld}}
	refusal.Facts.Limit = &five
	d.fail = fmt.Errorf("placing: %w", refusal)
	w := d.ask("POST", specimenPath, `{"name":"Ada"}`, "X-Request-Id: abc-1")
	p := d.wantRefused(w, boxoffice.CodeSeatAlreadyReserved)
	if w.Code != 409 || p.Detail != "Žižkov-A-7 <is> held." || p.Instance != specimenPath || p.RequestID != "abc-1" {
		t.Errorf("got %s", w.Body)
	}
	if len(p.UnavailableSeats) != 1 || p.UnavailableSeats[0].SeatID != id || *p.Limit != 5 {
		t.Errorf("facts are missing: %s", w.Body)
	}
	if strings.Contains(w.Body.String(), "violations") {
		t.Errorf("empty facts are shown: %s", w.Body)
	}
}

func TestAnUnknownErrorIsLoggedWholeAndShownAsNothing(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"plain":    errSecret,
		"wrapped":  fmt.Errorf("store: %w", errSecret),
		"internal": &boxoffice.Error{Code: boxoffice.CodeInternal, Detail: "password=hunter2", Cause: errSecret},
		"no code":  &boxoffice.Error{Code: "NO_SUCH_CODE", Detail: "password=hunter2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, Options{})
			d.fail = err
			w := d.ask("POST", specimenPath, `{"name":"Ada"}`)
			d.wantRefused(w, boxoffice.CodeInternal)
			if w.Code != 500 || strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
			if !strings.Contains(d.logged.String(), "hunter2") {
				t.Errorf("the log lacks the error: %s", d.logged)
			}
		})
	}
}

func TestUnavailableTellsTheOutcomeAndKeepsTheCauseInside(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	refusal := boxoffice.Refuse(boxoffice.CodeUnavailable, "The database is away.")
	refusal.Facts.Outcome, refusal.Cause = "unknown", errSecret
	d.fail = refusal
	w := d.ask("POST", specimenPath, `{"name":"Ada"}`)
	if p := d.wantRefused(w, boxoffice.CodeUnavailable); p.Outcome != "unknown" || strings.Contains(w.Body.String(), "hunter2") {
		t.Errorf("got %s", w.Body)
	}
	if !strings.Contains(d.logged.String(), "hunter2") {
		t.Error("the cause is not in the log")
	}
}

func TestADeadlineIsNotABug(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	d.fail = fmt.Errorf("reading: %w", context.DeadlineExceeded)
	if p := d.wantRefused(d.ask("GET", specimenPath, ""), boxoffice.CodeUnavailable); p.Outcome != "unknown" {
		t.Errorf("outcome %q", p.Outcome)
	}
}

func TestRetryAfterIsOnEveryRefusalThatPasses(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	for _, c := range boxoffice.Codes {
		d.fail = boxoffice.Refuse(c.Code, "")
		w := d.ask("GET", specimenPath, "")
		got := w.Header().Get("Retry-After")
		want := ""
		if w.Code == 503 || w.Code == 429 || c.Code == boxoffice.CodeKeyInUse || c.Code == boxoffice.CodePaymentInProgress {
			want = "1"
		}
		if got != want {
			t.Errorf("%s (%d): Retry-After %q, want %q", c.Code, w.Code, got, want)
		}
	}
	e := boxoffice.Refuse(boxoffice.CodeLockTimeout, "")
	e.RetryAfter = 2100 * time.Millisecond
	d.fail = e
	if got := d.ask("GET", specimenPath, "").Header().Get("Retry-After"); got != "3" {
		t.Errorf("2.1 s are shown as %q", got)
	}
}

func TestTheEnvelopeIsAroundAnswersAndRefusalsAlike(t *testing.T) {
	t.Parallel()
	const envelope = "Accept: " + envelopeType
	d := newDoor(t, Options{})
	unwrap := func(path, body, method, member string) map[string]any {
		t.Helper()
		w := d.ask(method, path, body, envelope)
		if got := w.Header().Get("Content-Type"); got != envelopeType {
			t.Errorf("%s %s: content type %q", method, path, got)
		}
		var outer map[string]map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &outer); err != nil || len(outer) != 1 || outer[member] == nil {
			t.Fatalf("%s %s: no %s in %s (%v)", method, path, member, w.Body, err)
		}
		return outer[member]
	}
	if got := unwrap(specimenPath, `{"name":"Ada"}`, "POST", "data"); got["name"] != "Ada" {
		t.Errorf("got %v", got)
	}
	if got := unwrap(specimenPath, "", "GET", "data"); got["seen"] != true {
		t.Errorf("a body that was encoded before: %v", got)
	}
	for _, refused := range []struct{ path, body, method, code string }{
		{specimenPath, `{"name":""}`, "POST", "VALIDATION_ERROR"},
		{specimenPath, `{`, "POST", "VALIDATION_ERROR"},
		{specimenPath + "?nonsense=1", ``, "GET", "VALIDATION_ERROR"},
		{specimenPath, ``, "PUT", "METHOD_NOT_ALLOWED"},
		{"/nowhere", ``, "GET", "NOT_FOUND"},
		{specimenPath, ``, "DELETE", "FORBIDDEN"},
		{"/panics", ``, "GET", "INTERNAL"},
	} {
		if got := unwrap(refused.path, refused.body, refused.method, "error"); got["code"] != refused.code {
			t.Errorf("%s %s: got %v, want %s", refused.method, refused.path, got["code"], refused.code)
		}
	}
	d.fail = boxoffice.Refuse(boxoffice.CodeNotFound, "Gone.")
	if got := unwrap(specimenPath, "", "GET", "error"); got["code"] != "NOT_FOUND" {
		t.Errorf("got %v", got)
	}
}

func TestALargeLimitIsWrittenOut(t *testing.T) {
	t.Parallel()
	vs := findings([]error{&huma.ErrorDetail{Message: "expected number <= 1e+06", Location: "body.capacity"}})
	if want := (boxoffice.Violation{Field: "capacity", Message: "expected number <= 1000000"}); vs[0] != want {
		t.Errorf("%+v", vs)
	}
}

func TestNotModifiedHasNoBody(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	d.fail = NotModified(`"7"`, "public, max-age=60")
	w := d.ask("GET", specimenPath, "")
	if w.Code != http.StatusNotModified || w.Body.Len() != 0 || w.Header().Get("ETag") != `"7"` || w.Header().Values("Cache-Control")[0] != "public, max-age=60" {
		t.Errorf("status %d, headers %v, body %q", w.Code, w.Header(), w.Body)
	}
}

func TestConditionsCompareETags(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	for header, want := range map[string]bool{`"7"`: true, `W/"7"`: true, `"6", "7"`: true, `*`: true, `"8"`: false, `7`: false} {
		d.ask("GET", specimenPath, "", "If-None-Match: "+header)
		c := d.handled[len(d.handled)-1]
		if got := c.Matches(`"7"`); got != want {
			t.Errorf("If-None-Match %s: %v", header, got)
		}
	}
	d.ask("GET", specimenPath, "")
	c := d.handled[len(d.handled)-1]
	if c.Matches(`"7"`) {
		t.Error("without the header a condition applies")
	}
}
