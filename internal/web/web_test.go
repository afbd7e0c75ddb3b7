package web

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

func page(t *testing.T, h http.Handler, path string, headers ...string) (*httptest.ResponseRecorder, string) {
	t.Helper()
	r := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w, w.Body.String()
}

// elsewhere finds what a page would load from another server.
var elsewhere = regexp.MustCompile(`(src|href|url)\s*[=(]\s*["']?(https?:)?//`)

func TestThePagesLoadNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	problems := Problems(func(boxoffice.Code) int { return 400 })
	for path, h := range map[string]http.Handler{"/": App(true), "/developers": Developers(DevelopersOptions{}), "/docs": Docs(), "/problems": problems, "/style.css": Style()} {
		w, body := page(t, h, path)
		if w.Code != 200 || elsewhere.MatchString(body) {
			t.Errorf("%s: %d %s", path, w.Code, elsewhere.FindString(body))
		}
		if policy := w.Header().Get("Content-Security-Policy"); path != "/style.css" && (!strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "http")) {
			t.Errorf("%s: policy %q", path, policy)
		}
	}
}

func TestTheDocsAreServedPackedAndUnpacked(t *testing.T) {
	t.Parallel()
	for file, kind := range map[string]string{"web-components.min.js": "text/javascript", "styles.min.css": "text/css"} {
		packed, body := page(t, Docs(), "/docs/"+file, "Accept-Encoding", "gzip, br")
		if packed.Header().Get("Content-Encoding") != "gzip" || !strings.HasPrefix(packed.Header().Get("Content-Type"), kind) {
			t.Errorf("%s: %v", file, packed.Header())
		}
		r, err := gzip.NewReader(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		unpacked, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		plain, body := page(t, Docs(), "/docs/"+file)
		if plain.Header().Get("Content-Encoding") != "" || body != string(unpacked) || len(body) < 100_000 {
			t.Errorf("%s: %d bytes unpacked, %d from the gzip", file, len(body), len(unpacked))
		}
	}
	for _, unknown := range []string{"/docs/", "/docs/nothing", "/docs/operations/placeReservation"} {
		if w, _ := page(t, Docs(), unknown); w.Code != http.StatusFound || w.Header().Get("Location") != "/docs" {
			t.Errorf("%s: %d %v", unknown, w.Code, w.Header())
		}
	}
}

func TestThePageForDevelopersListsShowsInTheZoneOfTheirVenue(t *testing.T) {
	t.Parallel()
	shows := []Show{{
		ID: "0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e", Ref: "demo-theatre-tonight", Title: "<Hamlet>", Venue: "Národní divadlo", City: "Praha",
		StartsAt: time.Date(2026, 12, 1, 18, 30, 0, 0, time.UTC), TimeZone: "Europe/Prague", OnSale: true,
		Available: 1, Capacity: 900, PriceFrom: 5, Currency: "EUR", Exponent: 2,
	}, {ID: "x", Title: "Later", TimeZone: "nowhere", PriceFrom: -1}}
	list := Developers(DevelopersOptions{Mock: true, Shows: func(context.Context) ([]Show, error) { return shows, nil }})
	_, body := page(t, list, "/developers")
	for _, want := range []string{"&lt;Hamlet&gt;", "Tue 1 Dec, 19:30", "0.05 EUR", "1 of 900", `value="1"`, "demo-theatre-tonight", "X-Mock-User-Id", `href="/riverui/"`, "http://example.com/api/v1/reservations"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	broken := Developers(DevelopersOptions{Shows: func(context.Context) ([]Show, error) { return nil, errors.New("hunter2") }})
	if w, body := page(t, broken, "/developers"); w.Code != 200 || strings.Contains(body, "hunter2") || !strings.Contains(body, "cannot be had now") {
		t.Errorf("without shows: %d", w.Code)
	}
}

func TestMoneyHasAsManyDigitsAsItsCurrency(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"1200 JPY": money(1200, 0, "JPY"), "12.50 EUR": money(1250, 2, "EUR"), "0.005 KWD": money(5, 3, "KWD"), "0.00 EUR": money(0, 2, "EUR"), "0 JPY": money(0, 0, "JPY"),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestEveryProblemCodeHasItsPage(t *testing.T) {
	t.Parallel()
	h := Problems(func(c boxoffice.Code) int { return 418 })
	_, all := page(t, h, "/problems")
	for _, c := range boxoffice.Codes {
		slug := strings.ToLower(strings.ReplaceAll(string(c.Code), "_", "-"))
		w, body := page(t, h, "/problems/"+slug)
		if w.Code != 200 || strings.Count(body, "<dl>") != 1 || !strings.Contains(body, string(c.Code)) || !strings.Contains(all, string(c.Code)) {
			t.Errorf("%s: %d", slug, w.Code)
		}
	}
	if w, _ := page(t, h, "/problems/nothing"); w.Code != http.StatusFound {
		t.Errorf("an unknown code: %d", w.Code)
	}
}

func TestBundlesAreKeptByTheirContent(t *testing.T) {
	t.Parallel()
	_, body := page(t, App(false), "/")
	for _, name := range []string{"page.js", "page.css"} {
		if !strings.Contains(body, `"`+Versioned(name)+`"`) {
			t.Errorf("the page lacks %s", Versioned(name))
		}
		kept, _ := page(t, Assets(), Versioned(name), "Accept-Encoding", "gzip")
		asked, _ := page(t, Assets(), "/assets/"+name)
		if kept.Code != 200 || !strings.Contains(kept.Header().Get("Cache-Control"), "immutable") || asked.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %d %v %v", name, kept.Code, kept.Header(), asked.Header())
		}
	}
	if w, _ := page(t, Assets(), "/assets/nothing.js"); w.Code != http.StatusNotFound {
		t.Errorf("an unknown bundle: %d", w.Code)
	}
	if strings.Contains(body, "data-developers") {
		t.Error("in production the page links to that for developers")
	}
}

func TestTheElementIsForEverybodysPages(t *testing.T) {
	t.Parallel()
	first, body := page(t, Embed(), "/embed.js")
	if first.Header().Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(body, "rowlock-map") {
		t.Errorf("%v", first.Header())
	}
	again, body := page(t, Embed(), "/embed.js", "If-None-Match", first.Header().Get("ETag"))
	if again.Code != http.StatusNotModified || body != "" {
		t.Errorf("again: %d", again.Code)
	}
	if worker, body := page(t, Leave(), "/leave.js"); worker.Header().Get("Content-Security-Policy") == "" || !strings.Contains(body, "waitUntil") {
		t.Errorf("the worker: %v", worker.Header())
	}
}

func TestTheOrganisersPagesRunTheirOwnScriptOnly(t *testing.T) {
	t.Parallel()
	w, body := page(t, Organiser(), "/organiser")
	policy := w.Header().Get("Content-Security-Policy")
	if w.Code != 200 || !strings.HasPrefix(policy, "default-src 'none'; script-src 'self';") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
		t.Errorf("%d, policy %q", w.Code, policy)
	}
	if !strings.Contains(policy, "frame-ancestors 'none'") || w.Header().Get("Cross-Origin-Opener-Policy") != "same-origin" {
		t.Errorf("another site's page may hold it: %v", w.Header())
	}
	if elsewhere.MatchString(body) || regexp.MustCompile(`<script[^>]*>[^<]|<style|\son[a-z]+=`).MatchString(body) {
		t.Errorf("something of another server, or inline: %s", body)
	}
	for _, name := range []string{"organiser.js", "organiser.css"} {
		if !strings.Contains(body, `"`+Versioned(name)+`"`) {
			t.Errorf("%s is not loaded", name)
		}
	}
}
