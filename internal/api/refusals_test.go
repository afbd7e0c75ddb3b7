package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

func TestIdempotencyKeysHaveOneSpelling(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	for name, key := range map[string]string{
		"missing":        "",
		"hyphenated":     "7c9e6679-7425-40de-944b-e07fc1f90ae7",
		"upper case":     "7C9E6679742540DE944BE07FC1F90AE7",
		"version 1":      "7c9e6679742510de944be07fc1f90ae7",
		"version 7":      "0197a1f05b7e7c3a9d7e1f2a3b4c5d6e",
		"wrong variant":  "7c9e6679742540deb44be07fc1f90ae7"[:16] + "c" + "44be07fc1f90ae7",
		"too short":      goodKey[:31],
		"too long":       goodKey + "0",
		"not hex":        goodKey[:31] + "g",
		"space before":   "  " + goodKey, // ask takes one away
		"text":           "please",
		"two in one":     goodKey + ", " + goodKey,
		"non-ASCII":      strings.Repeat("é", 16),
		"in parentheses": "{" + goodKey[:30] + "}",
	} {
		w := d.ask("POST", specimenPath, `{"name":"Ada"}`, "Idempotency-Key:"+key)
		p := d.wantRefused(w, boxoffice.CodeValidation)
		want := boxoffice.Violation{Field: "Idempotency-Key", Message: "Idempotency-Key must be a lowercase UUID v4 without hyphens"}
		if w.Code != 422 || len(p.Violations) != 1 || p.Violations[0] != want || !strings.Contains(p.Detail, "uuid4().hex") {
			t.Errorf("%s: %s", name, w.Body)
		}
	}
	for _, key := range []string{goodKey, "00000000000040008000000000000000", "ffffffffffff4fffbfffffffffffffff"} {
		if w := d.ask("POST", specimenPath, `{"name":"Ada"}`, "Idempotency-Key: "+key); w.Code != 201 {
			t.Errorf("%s: %d %s", key, w.Code, w.Body)
		}
	}
	if len(d.handled) != 3 {
		t.Errorf("%d requests reached the handler, want 3", len(d.handled))
	}
	r := httptest.NewRequest("POST", specimenPath, strings.NewReader(`{"name":"Ada"}`))
	r.Header = http.Header{"Idempotency-Key": {goodKey, goodKey}, "X-Mock-User-Id": {exampleID}}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	d.wantRefused(w, boxoffice.CodeValidation)
}

func TestReadsNeedNoKey(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	if w := d.ask("GET", specimenPath, ""); w.Code != 200 || !d.handled[0].Key.IsZero() {
		t.Errorf("status %d", w.Code)
	}
}

func TestTheFingerprintIsOfWhatWasAskedForAndNotOfItsSpelling(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	print := func(path, body string) [32]byte {
		t.Helper()
		if w := d.ask("POST", path, body); w.Code != 201 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return d.handled[len(d.handled)-1].Key.Fingerprint
	}
	first := print(specimenPath+"?wait=1", `{"name":"Ada","count":2}`)
	for _, same := range []string{`{"count":2,"name":"Ada"}`, "{ \"name\" : \"\\u0041da\",\n\"count\":2}", `{"name":"Ada","count":2,"ttl":900}`} {
		if print(specimenPath+"?wait=1", same) != first {
			t.Errorf("%s has another fingerprint", same)
		}
	}
	for _, other := range []string{`{"name":"Ada","count":3}`, `{"name":"Ada"}`, `{"name":"Ada","count":2,"seats":[{"label":"A-1"}]}`} {
		if print(specimenPath+"?wait=1", other) == first {
			t.Errorf("%s has the same fingerprint", other)
		}
	}
	if print(specimenPath+"?wait=2", `{"name":"Ada","count":2}`) == first {
		t.Error("another parameter has the same fingerprint")
	}
	if print("/api/v1/specimens/0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6f?wait=1", `{"name":"Ada","count":2}`) == first {
		t.Error("another path has the same fingerprint")
	}
}

// What is wrong with a request is told in the order of the contract, whatever
// else is wrong with it.
func TestRefusalsComeInTheOrderOfTheContract(t *testing.T) {
	t.Parallel()
	const (
		badToken = "Authorization: Bearer nonsense"
		nobody   = "X-Mock-User-Id:"
		badKey   = "Idempotency-Key: nonsense"
		form     = "Content-Type: application/x-www-form-urlencoded"
		badBody  = `{"name":5`
	)
	huge := `{"name":"` + strings.Repeat("x", bodyMaxDefault) + `"}`
	d := newDoor(t, Options{})
	for _, step := range []struct {
		method, body string
		headers      []string
		want         boxoffice.Code
	}{
		{"POST", badBody, []string{badToken, badKey, form}, boxoffice.CodeUnauthenticated},
		{"POST", badBody, []string{nobody, badKey, form}, boxoffice.CodeUnauthenticated},
		{"DELETE", "", []string{nobody, badKey}, boxoffice.CodeUnauthenticated},
		{"DELETE", "", []string{badKey}, boxoffice.CodeForbidden},
		{"POST", huge, []string{badKey, form}, boxoffice.CodePayloadTooLarge},
		{"POST", huge, []string{badKey}, boxoffice.CodePayloadTooLarge},
		{"POST", badBody, []string{badKey, form}, boxoffice.CodeUnsupportedMediaType},
		{"POST", badBody, []string{badKey}, boxoffice.CodeValidation},
		{"POST", badBody, nil, boxoffice.CodeValidation},
	} {
		w := d.ask(step.method, specimenPath, step.body, step.headers...)
		p := d.wantRefused(w, step.want)
		if slices.Contains(step.headers, badKey) && step.want == boxoffice.CodeValidation && p.Violations[0].Field != "Idempotency-Key" {
			t.Errorf("the body was refused before the key: %s", w.Body)
		}
	}
	if len(d.handled) != 0 {
		t.Error("a handler was reached")
	}

	limited := newDoor(t, Options{Limit: LimitOptions{PerSecond: 0.001}})
	limited.ask("GET", specimenPath, "", badToken)
	limited.wantRefused(limited.ask("POST", specimenPath, badBody, badToken, badKey), boxoffice.CodeRateLimited)
	full := newDoor(t, Options{InFlightMax: -1})
	full.wantRefused(full.ask("POST", specimenPath, badBody, badToken, badKey), boxoffice.CodeOverloaded)
}

func TestBodiesMayBeAsLargeAsTheLimitAndNoLarger(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	wrap := func(size int) string {
		const start, end = `{"name":"Ada"`, `}`
		return start + strings.Repeat(" ", size-len(start)-len(end)) + end
	}
	if w := d.ask("POST", specimenPath, wrap(bodyMaxDefault)); w.Code != 201 {
		t.Errorf("just as large: %d %s", w.Code, w.Body)
	}
	d.wantRefused(d.ask("POST", specimenPath, wrap(bodyMaxDefault+1)), boxoffice.CodePayloadTooLarge)

	chunked := httptest.NewRequest("POST", specimenPath, strings.NewReader(wrap(bodyMaxDefault+1)))
	chunked.ContentLength = -1
	chunked.Header = http.Header{"Idempotency-Key": {goodKey}, "X-Mock-User-Id": {exampleID}}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, chunked)
	d.wantRefused(w, boxoffice.CodePayloadTooLarge)
}

func TestTheTypeOfABodyIsReadAsItsStandardSays(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	for _, kind := range []string{"", "application/json", "Application/JSON; charset=UTF-8", "application/merge-patch+json"} {
		if w := d.ask("POST", specimenPath, `{"name":"Ada"}`, "Content-Type: "+kind); w.Code != 201 {
			t.Errorf("%q: %d %s", kind, w.Code, w.Body)
		}
	}
	if w := d.ask("POST", specimenPath, `{"name":"Ada"}`, "Content-Encoding: identity"); w.Code != 201 {
		t.Errorf("identity: %d %s", w.Code, w.Body)
	}
	for _, header := range []string{"Content-Type: text/json", "Content-Type: application/jsonx", "Content-Type: ;", "Content-Encoding: gzip"} {
		d.wantRefused(d.ask("POST", specimenPath, `{"name":"Ada"}`, header), boxoffice.CodeUnsupportedMediaType)
	}
}

func TestDocumentsAreStreamedCountedAndFingerprinted(t *testing.T) {
	t.Parallel()
	const path = "/api/v1/specimens"
	d := newDoor(t, Options{})
	for i, body := range []string{"a,b", "a,b", "a,c"} {
		if w := d.ask("POST", path, body, "Content-Type: text/csv; charset=utf-8"); w.Code != 200 || w.Body.String() != fmt.Sprintf("%q\n", body) {
			t.Fatalf("request %d: %d %s", i, w.Code, w.Body)
		}
	}
	if d.handled[0].Key.Fingerprint != d.handled[1].Key.Fingerprint || d.handled[0].Key.Fingerprint == d.handled[2].Key.Fingerprint {
		t.Error("fingerprints do not follow the bytes")
	}
	if w := d.ask("POST", path, strings.Repeat("x", 1000), "Content-Type: text/csv"); w.Code != 200 {
		t.Errorf("just as large as it may be: %d", w.Code)
	}
	d.wantRefused(d.ask("POST", path, strings.Repeat("x", 1001), "Content-Type: text/csv"), boxoffice.CodePayloadTooLarge)
	d.wantRefused(d.ask("POST", path, "{}"), boxoffice.CodeUnsupportedMediaType)

	chunked := httptest.NewRequest("POST", path, strings.NewReader(strings.Repeat("x", 1001)))
	chunked.ContentLength = -1
	chunked.Header = http.Header{"Idempotency-Key": {goodKey}, "X-Mock-User-Id": {exampleID}, "Content-Type": {"text/csv"}}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, chunked)
	d.wantRefused(w, boxoffice.CodePayloadTooLarge)
}

func TestBrokenInputIsNamedAndNeverFails(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	for _, c := range []struct{ name, body, field string }{
		{"no body", ``, "body"},
		{"white space", ` `, "body"},
		{"broken JSON", `{"name":`, "name"},
		{"missing brace", `{"name":"Ada"`, "body"},
		{"trailing data", `{"name":"Ada"} {}`, "body"},
		{"trailing comma", `{"name":"Ada",}`, "body"},
		{"single quotes", `{'name':'Ada'}`, "body"},
		{"comment", `{/**/"name":"Ada"}`, "body"},
		{"not an object", `[]`, "body"},
		{"null", `null`, "body"},
		{"text", `"Ada"`, "body"},
		{"missing field", `{}`, "name"},
		{"null field", `{"name":null}`, "name"},
		{"wrong type", `{"name":5}`, "name"},
		{"too short", `{"name":""}`, "name"},
		{"too long", `{"name":"` + strings.Repeat("ž", 21) + `"}`, "name"},
		{"unknown field", `{"name":"Ada","nmae":"Ada"}`, "nmae"},
		{"unknown field within", `{"name":"Ada","seats":[{"label":"A-1"},{"label":"A-1","row":"A"}]}`, "seats[1].row"},
		{"other case", `{"name":"Ada","Count":1}`, "Count"},
		{"given twice", `{"name":"Ada","name":"Bob"}`, "name"},
		{"given twice within", `{"name":"Ada","seats":[{"label":"A-1","label":"A-2"}]}`, "seats[0].label"},
		{"given twice, spelled otherwise", `{"name":"Ada","\u006eame":"Bob"}`, "name"},
		{"U+0000", "{\"name\":\"A\x00da\"}", "name"},
		{"escaped U+0000", `{"name":"A\u0000da"}`, "name"},
		{"U+0000 in a name", `{"name":"Ada","metadata":{"a\u0000":"b"}}`, "metadata"},
		{"U+0000 within", `{"name":"Ada","metadata":{"a":"\u0000"}}`, "metadata.a"},
		{"invalid UTF-8", "{\"name\":\"A\xffda\"}", "body"},
		{"invalid UTF-8 in a name", "{\"name\":\"Ada\",\"metadata\":{\"\xc3\":\"b\"}}", "body"},
		{"half a surrogate pair", `{"name":"\ud83c"}`, "name"},
		{"the other half", `{"name":"\udfad"}`, "name"},
		{"broken escape", `{"name":"\x41"}`, "name"},
		{"broken unicode escape", `{"name":"\u00g1"}`, "name"},
		{"control character", "{\"name\":\"A\nda\"}", "name"},
		{"fraction for an integer", `{"name":"Ada","count":1.5}`, "count"},
		{"negative", `{"name":"Ada","count":-1}`, "count"},
		{"beyond 32 bits", `{"name":"Ada","count":3000000000}`, "count"},
		{"beyond 64 bits", `{"name":"Ada","ttl":99999999999999999999}`, "ttl"},
		{"beyond any", `{"name":"Ada","ttl":1e999}`, "ttl"},
		{"leading zero", `{"name":"Ada","count":01}`, "body"},
		{"hex", `{"name":"Ada","count":0x1}`, "body"},
		{"NaN", `{"name":"Ada","count":NaN}`, "count"},
		{"no UUID", `{"name":"Ada","showId":"7"}`, "showId"},
		{"time without offset", `{"name":"Ada","at":"2026-11-27T20:15:00"}`, "at"},
		{"day for a time", `{"name":"Ada","at":"2026-11-27"}`, "at"},
		{"no time", `{"name":"Ada","at":"tomorrow"}`, "at"},
		{"too many items", `{"name":"Ada","seats":[` + strings.TrimSuffix(strings.Repeat(`{"label":"A"},`, 11), ",") + `]}`, "seats"},
		{"deep", `{"name":` + strings.Repeat("[", 100_000) + `}`, "name" + strings.Repeat("[0]", 32)},
		{"object for text", `{"name":{}}`, "name"},
		{"number for a list", `{"name":"Ada","seats":5}`, "seats"},
	} {
		w := d.ask("POST", specimenPath, c.body)
		p := d.wantRefused(w, boxoffice.CodeValidation)
		if w.Code != 422 || len(p.Violations) == 0 || p.Violations[0].Field != c.field {
			t.Errorf("%s: want a violation of %s, got %d %s", c.name, c.field, w.Code, w.Body)
		}
		for _, leak := range []string{"Go ", "struct", "specimen.", "json:"} {
			if p.Violations != nil && strings.Contains(p.Violations[0].Message, leak) {
				t.Errorf("%s: Go shows through: %s", c.name, w.Body)
			}
		}
		if c.field == "at" && (len(p.Violations) == 0 || !strings.Contains(p.Violations[0].Message, "with an offset")) {
			t.Errorf("%s: nobody says what a time lacks: %s", c.name, w.Body)
		}
	}
	if len(d.handled) != 0 {
		t.Errorf("%d reached the handler", len(d.handled))
	}
}

func TestParametersAndHeadersAreCheckedLikeBodies(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	for _, c := range []struct{ name, target, header, field string }{
		{"unknown parameter", specimenPath + "?page=2", "", "page"},
		{"wrong type", specimenPath + "?limit=many", "", "limit"},
		{"too small", specimenPath + "?limit=0", "", "limit"},
		{"too large", specimenPath + "?limit=201", "", "limit"},
		{"U+0000 in a parameter", specimenPath + "?q=a%00b", "", "q"},
		{"invalid UTF-8 in a parameter", specimenPath + "?q=%ff", "", "q"},
		{"U+0000 in a parameter's name", specimenPath + "?q%00=1", "", "query"},
		{"broken escape", specimenPath + "?q=%zz", "", "query"},
		{"given twice", specimenPath + "?q=a&limit=1&q=b", "", "q"},
		{"no UUID in the path", "/api/v1/specimens/7", "", "id"},
		{"U+0000 in the path", "/api/v1/specimens/a%00b", "", "path"},
		{"invalid UTF-8 in the path", "/api/v1/specimens/%ff", "", "path"},
		{"invalid UTF-8 in a header", specimenPath, "X-Queue-Token: \xff", "X-Queue-Token"},
	} {
		var headers []string
		if c.header != "" {
			headers = append(headers, c.header)
		}
		p := d.wantRefused(d.ask("GET", c.target, "", headers...), boxoffice.CodeValidation)
		if len(p.Violations) == 0 || p.Violations[0].Field != c.field {
			t.Errorf("%s: got %+v", c.name, p.Violations)
		}
	}
	if len(d.handled) != 0 {
		t.Error("a handler was reached")
	}
}

func TestNamesInAnyScriptSurvive(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	for _, name := range []string{"Žofie Šťastná", "محمد", "שרה ב", "王小明", "é (e + ́)", "👩‍👩‍👧", "a<b>&c", `\ud83c\udfad`, `A\n\t\"\\\/`} {
		w := d.ask("POST", specimenPath, `{"name":"`+name+`"}`)
		want := strings.NewReplacer(`\ud83c\udfad`, "🎭", `\/`, "/").Replace(name)
		if w.Code != 201 || !strings.HasPrefix(w.Body.String(), `{"name":"`+want+`"`) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestUnknownPathsAndMethodsAreProblems(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	for _, path := range []string{"/nowhere", "/api/v1", "/api/v1/nowhere", specimenPath + "/more", "/%00"} {
		if w := d.ask("GET", path, ""); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		} else {
			d.wantRefused(w, boxoffice.CodeNotFound)
		}
	}
	w := d.ask("PATCH", specimenPath, "{}")
	d.wantRefused(w, boxoffice.CodeMethodNotAllowed)
	if allow := w.Header().Get("Allow"); w.Code != 405 || allow != "DELETE, GET, HEAD, POST" {
		t.Errorf("status %d, Allow %q", w.Code, allow)
	}
}

func TestAPanicHidesItsReasonAndKeepsItInTheLog(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	w := d.ask("GET", "/panics", "")
	d.wantRefused(w, boxoffice.CodeInternal)
	if strings.Contains(w.Body.String(), "secret") || !strings.Contains(d.logged.String(), "the secret is 42") || !strings.Contains(d.logged.String(), "api_test.go") {
		t.Errorf("shown %s, logged %s", w.Body, d.logged)
	}
	register(d.API, Operation{ID: "panicking", Method: "GET", Path: "/panicking", Tag: "Operations", Summary: "Panic", Description: "For tests.", Access: Open},
		func(context.Context, *Call, *struct{}) (*struct{}, error) { panic("the secret is 43") })
	d.wantRefused(d.ask("GET", "/api/v1/panicking", ""), boxoffice.CodeInternal)
	if d.inFlight.Load() != 0 {
		t.Error("the request still counts as in flight")
	}
}

func TestRequestIDsAreTakenOverWhenHarmless(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	for given, taken := range map[string]bool{
		"abc-DEF_1.2": true, strings.Repeat("a", 128): true,
		strings.Repeat("a", 129): false, "a b": false, "a\"b": false, "é": false, "": false,
	} {
		w := d.ask("GET", "/healthz", "", "X-Request-Id:"+given)
		if got := w.Header().Get("X-Request-Id"); (got == given) != taken || got == "" {
			t.Errorf("%q became %q", given, got)
		}
	}
}

func TestCORSIsForTheOriginsOfTheSetting(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{CORSOrigins: []string{"https://tickets.example"}})
	preflight := []string{"Origin: https://tickets.example", "Access-Control-Request-Method: POST", "Idempotency-Key:", "X-Mock-User-Id:"}
	w := d.ask("OPTIONS", specimenPath, "", preflight...)
	if w.Code != 204 || w.Header().Get("Access-Control-Allow-Origin") != "https://tickets.example" || !strings.Contains(w.Header().Get("Access-Control-Allow-Headers"), "Idempotency-Key") {
		t.Errorf("preflight: %d %v", w.Code, w.Header())
	}
	w = d.ask("GET", specimenPath, "", "Origin: https://tickets.example")
	for _, exposed := range []string{"Location", "ETag", "Retry-After", "RateLimit", "Idempotency-Replayed", "Show-Version", "X-Request-Id"} {
		if !strings.Contains(w.Header().Get("Access-Control-Expose-Headers"), exposed) {
			t.Errorf("%s is not exposed", exposed)
		}
	}
	if w := d.ask("GET", "/nowhere", "", "Origin: https://tickets.example"); w.Header().Get("Access-Control-Allow-Origin") == "" {
		t.Error("refusals cannot be read by scripts")
	}
	if w := d.ask("GET", specimenPath, "", "Origin: https://evil.example"); w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Error("any origin is allowed")
	}
	if w := newDoor(t, Options{CORSOrigins: []string{"*"}}).ask("GET", specimenPath, "", "Origin: https://any.example"); w.Header().Get("Access-Control-Allow-Origin") != "*" {
		t.Error("* does not allow all")
	}
}

// FuzzParseJSON: whatever parseJSON takes encoding/json takes too, and reads
// the same.
func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e3,true,null,"\u00e9\ud83c\udfad\n"]}`, `[]`, `"x"`, `0`, `{"a":{"b":[[]]}}`, `tru`, `{"a":1,"a":2}`, "\"\xff\"", `"\u0000"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := parseJSON(data)
		if err != nil {
			if _, _, ok := splitJSONError(err.Error()); !ok {
				t.Errorf("an error without a field: %v", err)
			}
			return
		}
		if want, err := referenceJSON(bytes.TrimSpace(data)); err != nil || fmt.Sprint(v) != fmt.Sprint(want) {
			t.Errorf("%q: got %v, encoding/json %v (%v)", data, v, want, err)
		}
	})
}
