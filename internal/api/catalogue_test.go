package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/api"
	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// site is the whole service in front of a database of the test's own.
type site struct {
	*api.API
	t      *testing.T
	store  *store.Store
	logged *bytes.Buffer
}

const organiser = "organiser-key"

func open(t *testing.T) *site {
	t.Helper()
	return openOn(t, pgtest.New(t))
}

// openOn is open on a database that the test looks into.
func openOn(t *testing.T, db *pgtest.DB) *site {
	t.Helper()
	s := &site{t: t, store: fixture.On(t, db), logged: new(bytes.Buffer)}
	if err := s.store.EnsureAPIKey(t.Context(), organiser, "organiser", []boxoffice.Scope{boxoffice.ScopeCatalogueWrite, boxoffice.ScopeReservationsStaff}); err != nil {
		t.Fatal(err)
	}
	s.API = api.New(api.Options{
		Log: slog.New(slog.NewTextHandler(s.logged, &slog.HandlerOptions{Level: slog.LevelError})), Store: s.store,
		Auth: api.AuthOptions{Mock: true, Keys: s.store, SessionSecret: []byte("a secret of at least thirty-two bytes")},
	})
	t.Cleanup(func() {
		if s.logged.Len() > 0 {
			t.Errorf("logged: %s", s.logged)
		}
	})
	return s
}

// reply is an answer, and its body as JSON.
type reply struct {
	*httptest.ResponseRecorder
	tree map[string]any
}

func newKey() string { return strings.ReplaceAll(uuid.NewString(), "-", "") }

// ask sends a request as the organiser; headers are pairs, and an empty value
// takes a header away.
func (s *site) ask(method, path, body string, headers ...string) reply {
	s.t.Helper()
	r := httptest.NewRequest(method, "/api/v1"+path, strings.NewReader(body))
	r.Header.Set("X-API-Key", organiser)
	if method != http.MethodGet {
		r.Header.Set("Idempotency-Key", newKey())
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	out := reply{ResponseRecorder: w}
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &out.tree); err != nil {
			s.t.Errorf("%s %s: %d %s: %v", method, path, w.Code, w.Body, err)
		}
	}
	return out
}

// raw is ask for an answer that may not be JSON.
func (s *site) raw(method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/api/v1"+path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// must is ask for what has to succeed.
func (s *site) must(method, path, body string, headers ...string) reply {
	s.t.Helper()
	r := s.ask(method, path, body, headers...)
	if r.Code >= 300 {
		s.t.Fatalf("%s %s: %d %s", method, path, r.Code, r.Body)
	}
	return r
}

// stranger sends nobody's credentials.
var stranger = []string{"X-API-Key", ""}

func (r reply) text(name string) string { s, _ := r.tree[name].(string); return s }

func (r reply) list(name string) []any { l, _ := r.tree[name].([]any); return l }

// field is the value at a path such as shows.0.venue.name.
func (r reply) field(path string) any {
	var v any = r.tree
	for _, step := range strings.Split(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

// fields are the names of what was wrong.
func (r reply) fields() []string {
	var names []string
	for _, v := range r.list("violations") {
		names = append(names, v.(map[string]any)["field"].(string))
	}
	return names
}

const csvPlan = "section,row,seat,category\nStalls,A,1,Front\nStalls,A,2,Front\nStalls,B,1,Back\n"

func (s *site) hall() (venue, hall string) {
	s.t.Helper()
	venue = s.must("POST", "/venues", `{"name":"Haus","city":"Wien","country":"AT","timeZone":"Europe/Vienna"}`).text("venueId")
	return venue, s.must("POST", "/halls", `{"venueId":"`+venue+`","name":"Saal"}`).text("hallId")
}

func (s *site) plan(hall, csv string) string {
	s.t.Helper()
	return s.must("POST", "/halls/"+hall+"/plans?format=csv", csv, "Content-Type", "text/csv").text("planId")
}

func (s *site) event(title string) string {
	s.t.Helper()
	return s.must("POST", "/events", `{"kind":"play","title":`+quote(title)+`}`).text("eventId")
}

func quote(s string) string { b, _ := json.Marshal(s); return string(b) }

func soon(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }

func (s *site) show(event, plan string, more ...string) string {
	s.t.Helper()
	body := `{"eventId":"` + event + `","planId":"` + plan + `","startsAt":"` + soon(48*time.Hour) + `","currency":"EUR","publish":true,
		"prices":[{"category":"Front","amount":4000},{"category":"Back","amount":2500}]` + strings.Join(more, "") + `}`
	return s.must("POST", "/shows", body).text("showId")
}

func TestAnOrganiserMakesAShowAndEverybodySeesIt(t *testing.T) {
	t.Parallel()
	s := open(t)
	venue, hall := s.hall()
	imported := s.must("POST", "/halls/"+hall+"/plans?format=csv", csvPlan, "Content-Type", "text/csv")
	plan := imported.text("planId")
	if imported.field("seatCount") != 3.0 || imported.field("categories.0.seatCount") != 2.0 || imported.field("version") != 1.0 {
		t.Errorf("import: %s", imported.Body)
	}
	event := s.event("Der Sturm")
	created := s.must("POST", "/shows", `{"eventId":"`+event+`","planId":"`+plan+`","startsAt":"`+soon(48*time.Hour)+`","currency":"EUR",
		"prices":[{"category":"Front","amount":4000},{"category":"Front","ticketType":"child","amount":1000},{"category":"Back","amount":2500}],
		"externalRef":"sturm-1","metadata":{"season":"2026"},"format":["omu"],"note":"Kein Nacheinlass."}`)
	show := created.text("showId")
	if created.text("status") != "draft" || created.Header().Get("Location") != "/api/v1/shows/"+show || created.Header().Get("Show-Version") != "0" {
		t.Errorf("created: %s %v", created.Body, created.Header())
	}

	// A draft is nobody's business.
	for _, path := range []string{"/shows/" + show, "/events/" + event, "/plans/" + plan} {
		if r := s.ask("GET", path, "", stranger...); r.Code != 404 {
			t.Errorf("a stranger reads the draft %s: %d", path, r.Code)
		}
		if r := s.ask("GET", path, ""); r.Code != 200 || !strings.HasPrefix(r.Header().Get("Cache-Control"), "private") {
			t.Errorf("the organiser reads the draft %s: %d %s", path, r.Code, r.Header().Get("Cache-Control"))
		}
	}
	for _, path := range []string{"/shows", "/events"} {
		if r := s.ask("GET", path, "", stranger...); len(r.list(path[1:])) != 0 {
			t.Errorf("a stranger finds drafts: %s", r.Body)
		}
		if r := s.ask("GET", path, ""); len(r.list(path[1:])) != 1 {
			t.Errorf("the organiser does not find the draft: %s", r.Body)
		}
	}

	published := s.must("POST", "/shows/"+show+"/publish", "")
	if published.text("status") != "on_sale" || published.Header().Get("Show-Version") != "1" {
		t.Errorf("published: %s", published.Body)
	}
	seen := s.must("GET", "/shows/"+show, "", stranger...)
	for path, want := range map[string]any{
		"eventId": event, "venue.venueId": venue, "venue.city": "Wien", "hall.name": "Saal", "planId": plan, "timeZone": "Europe/Vienna",
		"status": "on_sale", "soldOut": false, "saleOpen": true, "version": 1.0, "currency": "EUR", "holdSeconds": 900.0, "maxHoldSeconds": 1800.0,
		"maxPlacesPerReservation": 5.0, "availability.available": 3.0, "availability.capacity": 3.0, "queue.open": false,
		"prices.0.category": "Back", "prices.1.ticketType": "child", "prices.1.amount": 1000.0, "format.0": "omu", "note": "Kein Nacheinlass.",
		"externalRef": "sturm-1", "metadata": nil,
	} {
		if got := seen.field(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	if got := s.must("GET", "/shows/"+show, "").field("metadata.season"); got != "2026" {
		t.Errorf("the organiser's metadata: %v", got)
	}
	on := s.must("GET", "/events", "", stranger...)
	if on.field("events.0.eventId") != event || on.field("events.0.shows.0.showId") != show || on.field("events.0.status") != "published" {
		t.Errorf("what is on: %s", on.Body)
	}
	p := s.must("GET", "/plans/"+plan, "", stranger...)
	if p.field("seats.2.label") != "Stalls-B-1" || p.field("seats.2.category") != "Back" || !strings.Contains(p.Header().Get("Cache-Control"), "immutable") {
		t.Errorf("plan: %s %v", p.Body, p.Header())
	}
	for range 2 {
		zipped := s.raw("GET", "/plans/"+plan, "X-API-Key", "", "Accept-Encoding", "gzip")
		unzip, err := gzip.NewReader(zipped.Body)
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := io.ReadAll(unzip); err != nil || string(plain) != p.Body.String() || zipped.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("compressed: %s, %v", plain, err)
		}
	}
	if r := s.must("GET", "/plans/"+plan, "", "Accept", "application/vnd.rowlock.envelope+json", "Accept-Encoding", "gzip"); r.field("data.planId") != plan {
		t.Errorf("in an envelope: %s", r.Body)
	}
	facets := s.must("GET", "/facets", "", stranger...)
	if facets.field("cities.0.value") != "Wien" || facets.field("kinds.0.count") != 1.0 {
		t.Errorf("facets: %s", facets.Body)
	}

	for _, step := range []struct{ verb, status string }{{"pause", "paused"}, {"pause", "paused"}, {"resume", "on_sale"}, {"cancel", "cancelled"}} {
		s.must("POST", "/shows/"+show+"/"+step.verb, "")
		if got := s.must("GET", "/shows/"+show, "", stranger...).text("status"); got != step.status {
			t.Errorf("after %s: %s", step.verb, got)
		}
	}
	if r := s.ask("POST", "/shows/"+show+"/resume", ""); r.Code != 409 || r.text("code") != "CONFLICT" {
		t.Errorf("resuming a cancelled show: %d %s", r.Code, r.Body)
	}
}

func TestAStockIsMadeInOneCall(t *testing.T) {
	t.Parallel()
	s := open(t)
	body := `{"event":{"kind":"festival","title":"Sommer"},"publish":true,"startsAt":"` + soon(time.Hour) + `","currency":"JPY",
		"areas":[{"name":"Floor","capacity":250,"externalRef":"sku-1","prices":[{"amount":500},{"ticketType":"child","amount":0}]},
		         {"name":"Balkon","capacity":0,"prices":[{"amount":700}]}]}`
	key := newKey()
	made := s.must("POST", "/shows", body, "Idempotency-Key", key)
	again := s.must("POST", "/shows", body, "Idempotency-Key", key)
	if made.Body.String() != again.Body.String() || again.Header().Get("Idempotency-Replayed") != "true" || made.Header().Get("Location") != again.Header().Get("Location") {
		t.Errorf("replay: %s\nfirst:  %s", again.Body, made.Body)
	}
	if made.text("status") != "on_sale" || made.field("version") != 1.0 || made.field("areas.0.externalRef") != "sku-1" {
		t.Errorf("made: %s", made.Body)
	}
	show := s.must("GET", "/shows/"+made.text("showId"), "", stranger...)
	if show.text("status") != "on_sale" || show.field("version") != 1.0 || show.text("timeZone") != "UTC" || show.field("venue") != nil ||
		show.field("availability.capacity") != 250.0 || show.field("prices.0.category") != "Balkon" {
		t.Errorf("show: %s", show.Body)
	}
	area := made.field("areas.1.areaId").(string)
	if r := s.must("PATCH", "/shows/"+made.text("showId")+"/areas/"+area, `{"capacity":40}`); r.Header().Get("Show-Version") != "2" {
		t.Errorf("capacity: %v", r.Header())
	}
	if got := s.must("GET", "/shows?externalRef=none", "").list("shows"); len(got) != 0 {
		t.Errorf("found by another's ref: %v", got)
	}
	if r := s.ask("POST", "/shows", strings.Replace(body, "Sommer", "Winter", 1), "Idempotency-Key", key); r.Code != 422 || r.text("code") != "IDEMPOTENCY_KEY_REUSED" {
		t.Errorf("the key for something else: %d %s", r.Code, r.Body)
	}
}

func TestNamesInAnyScriptSurvive(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, name := range []string{
		"李小龍", "Nguyễn Thị Ánh", "محمد", "Ζωή", "Zoë's “Bühne” <b>&amp;</b>", "🎭 drama", "日本武道館", "भारत भवन", strings.Repeat("ä", 200), `O'Neill "\" DROP TABLE`,
	} {
		v := s.must("POST", "/venues", `{"name":`+quote(name)+`,"city":`+quote(name)+`,"country":"AT","timeZone":"UTC"}`)
		got := s.must("GET", "/venues/"+v.text("venueId"), "", stranger...)
		if got.text("name") != name || got.text("city") != name {
			t.Errorf("%q came back as %q, %q", name, got.text("name"), got.text("city"))
		}
		if found := s.must("GET", "/venues?city="+url.QueryEscape(name), "", stranger...).list("venues"); len(found) != 1 {
			t.Errorf("%q is found %d times by its city", name, len(found))
		}
		e := s.must("POST", "/events", `{"kind":"play","title":`+quote(name)+`}`)
		if e.text("title") != name {
			t.Errorf("%q came back as %q", name, e.text("title"))
		}
	}
	decomposed := "Zoe\u0308"
	if got := s.must("POST", "/events", `{"kind":"play","title":"`+decomposed+`"}`).text("title"); got != "Zoë" {
		t.Errorf("not composed: %q", got)
	}
	if r := s.ask("POST", "/events", `{"kind":"play","title":"a\u0000b"}`); r.Code != 422 || !slices.Equal(r.fields(), []string{"title"}) {
		t.Errorf("U+0000: %d %s", r.Code, r.Body)
	}
}

func TestSearchKnowsEveryScriptsLetters(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, title := range []string{"Übermut & Straße", "ΟΔΥΣΣΕΙΑ", "Война и мир", "100 % Rabatt_", "Ｆｕｌｌｗｉｄｔｈ"} {
		s.event(title)
	}
	for q, want := range map[string]string{
		"üBERMUT": "Übermut & Straße", "u\u0308ber": "Übermut & Straße", "STRASSE": "Übermut & Straße", "οδυσσεια": "ΟΔΥΣΣΕΙΑ",
		"ВОЙНА": "Война и мир", "100 %": "100 % Rabatt_", "%": "100 % Rabatt_", "t_": "100 % Rabatt_", "fullwidth": "Ｆｕｌｌｗｉｄｔｈ", "nothing": "", `\`: "",
	} {
		found := s.must("GET", "/events?q="+url.QueryEscape(q), "")
		title, _ := found.field("events.0.title").(string)
		if title != want || len(found.list("events")) > 1 {
			t.Errorf("%q finds %s", q, found.Body)
		}
	}
}

func TestListsComeInPages(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, hall := s.hall()
	plan := s.plan(hall, csvPlan)
	event := s.event("Serie")
	for range 4 {
		s.show(event, plan)
	}
	for range 4 {
		s.hall()
		s.plan(hall, csvPlan)
		s.show(s.event("Andere"), plan)
	}
	for noun, path := range map[string]string{
		"venues": "/venues", "halls": "/halls", "events": "/events", "shows": "/shows", "plans": "/halls/" + hall + "/plans",
	} {
		seen := map[string]bool{}
		cursor := ""
		for pages := 0; ; pages++ {
			r := s.must("GET", path+"?limit=2&cursor="+cursor, "")
			for _, one := range r.list(noun) {
				id := one.(map[string]any)[strings.TrimSuffix(noun, "s")+"Id"].(string)
				if seen[id] {
					t.Errorf("%s: %s is there twice", noun, id)
				}
				seen[id] = true
			}
			if len(r.list(noun)) > 2 || pages > 10 {
				t.Fatalf("%s: page %d has %d", noun, pages, len(r.list(noun)))
			}
			if cursor = r.text("nextCursor"); cursor == "" {
				break
			}
		}
		want := map[string]int{"venues": 5, "halls": 5, "events": 5, "shows": 8, "plans": 5}[noun]
		if len(seen) != want {
			t.Errorf("%s: %d in pages, want %d", noun, len(seen), want)
		}
		for _, bad := range []string{"x", "bm90IG91cnM", "c2hvd3MgMSAy", "cGxhbnMgeA", "dmVudWVzIDE"} {
			if r := s.ask("GET", path+"?cursor="+bad, ""); r.Code != 422 || !slices.Equal(r.fields(), []string{"cursor"}) {
				t.Errorf("%s: cursor %s: %d %s", noun, bad, r.Code, r.Body)
			}
		}
		for _, bad := range []string{"0", "201", "x"} {
			if r := s.ask("GET", path+"?limit="+bad, ""); r.Code != 422 || !slices.Equal(r.fields(), []string{"limit"}) {
				t.Errorf("%s: limit %s: %d %s", noun, bad, r.Code, r.Body)
			}
		}
	}
}

func TestTheFiltersOfWhatIsOn(t *testing.T) {
	t.Parallel()
	s := open(t)
	place := func(city, zone string) (venue, plan string) {
		venue = s.must("POST", "/venues", `{"name":"Haus","city":"`+city+`","country":"AT","timeZone":"`+zone+`"}`).text("venueId")
		hall := s.must("POST", "/halls", `{"venueId":"`+venue+`","name":"Saal"}`).text("hallId")
		return venue, s.plan(hall, csvPlan)
	}
	wien, wienPlan := place("Wien", "Europe/Vienna")
	_, aucklandPlan := place("Auckland", "Pacific/Auckland")
	at := func(event, plan, start, more string) {
		s.must("POST", "/shows", `{"eventId":"`+event+`","planId":"`+plan+`","startsAt":"`+start+`","currency":"EUR","publish":true,
			"prices":[{"category":"Front","amount":4000},{"category":"Back","amount":2500}]`+more+`}`)
	}
	film := s.must("POST", "/events", `{"kind":"movie","title":"Film","genre":"drama","language":"en","externalRef":"film-1"}`).text("eventId")
	play := s.must("POST", "/events", `{"kind":"play","title":"Stück","language":"de"}`).text("eventId")
	at(film, wienPlan, "2099-05-01T22:30:00Z", "")                     // 2 May, 00:30 in Vienna
	at(film, aucklandPlan, "2099-05-01T10:00:00Z", `,"language":"mi"`) // 1 May, 22:00 in Auckland
	at(play, wienPlan, "2099-06-01T18:00:00Z", "")

	for query, want := range map[string][]string{
		"":                                      {"Film:2", "Stück:1"},
		"?city=Wien":                            {"Film:1", "Stück:1"},
		"?city=Auckland":                        {"Film:1"},
		"?city=wien":                            {},
		"?venueId=" + wien:                      {"Film:1", "Stück:1"},
		"?date=2099-05-02":                      {"Film:1"},
		"?date=2099-05-01":                      {"Film:1"},
		"?date=2099-05-01&city=Wien":            {},
		"?date=2099-04-30":                      {},
		"?from=2099-05-01T12:00:00Z":            {"Film:1", "Stück:1"},
		"?to=2099-05-01T12:00:00Z":              {"Film:1"},
		"?genre=drama":                          {"Film:2"},
		"?language=mi":                          {"Film:1"},
		"?language=en":                          {"Film:1"},
		"?kind=play":                            {"Stück:1"},
		"?externalRef=film-1":                   {"Film:2"},
		"?q=ST%C3%9CCK":                         {"Stück:1"},
		"?kind=movie&city=Wien&language=de":     {},
		"?from=2099-05-01T12:30:00%2B02:00":     {"Film:1", "Stück:1"},
		"?venueId=" + uuid.NewString():          {},
		"?kind=movie&from=2099-05-01T22:31:00Z": {},
	} {
		r := s.must("GET", "/events"+query, "", stranger...)
		got := []string{}
		for _, e := range r.list("events") {
			e := e.(map[string]any)
			got = append(got, fmt.Sprintf("%s:%d", e["title"], len(e["shows"].([]any))))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	for query, want := range map[string]int{
		"": 3, "?eventId=" + film: 2, "?venueId=" + wien: 2, "?eventId=" + film + "&venueId=" + wien: 1, "?from=2099-05-15T00:00:00Z": 1,
		"?to=2099-05-01T22:30:00Z": 1, "?status=on_sale": 3, "?status=ended": 0, "?status=draft": 0, "?eventId=" + film + "&status=paused": 0,
	} {
		if got := len(s.must("GET", "/shows"+query, "", stranger...).list("shows")); got != want {
			t.Errorf("/shows%s: %d, want %d", query, got, want)
		}
	}
	for query, field := range map[string]string{
		"/events?venueId=x": "venueId", "/events?date=2099-13-01": "date", "/events?date=x": "date", "/events?from=2099-05-01": "from", "/events?to=2099-05-01T00:00:00": "to",
		"/events?kind=opera": "kind", "/events?language=%2A": "language", "/events?city=" + strings.Repeat("x", 201): "city", "/events?q=" + strings.Repeat("x", 101): "q",
		"/events?colour=red": "colour", "/shows?eventId=x": "eventId", "/shows?status=sold": "status", "/shows?from=x": "from", "/shows?to=9999-12-31T23:59:59-12:00": "to",
		"/shows?date=2099-05-01": "date", "/venues?limit=-1": "limit", "/halls?venueId=1": "venueId",
	} {
		if r := s.ask("GET", query, "", stranger...); r.Code != 422 || !slices.Contains(r.fields(), field) {
			t.Errorf("%s: %d %s", query, r.Code, r.Body)
		}
	}
}

func TestConditionalRequests(t *testing.T) {
	t.Parallel()
	s := open(t)
	venue, hall := s.hall()
	plan := s.plan(hall, csvPlan)
	event := s.event("Sturm")
	show := s.show(event, plan)
	for _, path := range []string{"/venues/" + venue, "/halls/" + hall, "/events/" + event, "/shows/" + show, "/plans/" + plan, "/venues", "/halls", "/events", "/shows", "/facets"} {
		first := s.must("GET", path, "", stranger...)
		etag := first.Header().Get("ETag")
		if !strings.HasPrefix(first.Header().Get("Cache-Control"), "public, max-age=") {
			t.Errorf("%s: %q", path, first.Header().Get("Cache-Control"))
		}
		same := s.ask("GET", path, "", "X-API-Key", "", "If-None-Match", etag)
		if etag == "" || same.Code != 304 || same.Body.Len() != 0 || same.Header().Get("ETag") != etag {
			t.Errorf("%s: %q is answered with %d", path, etag, same.Code)
		}
		enveloped := s.ask("GET", path, "", "X-API-Key", "", "Accept", "application/vnd.rowlock.envelope+json", "If-None-Match", etag)
		other := enveloped.Header().Get("ETag")
		if enveloped.Code != 200 || other == "" || other == etag {
			t.Errorf("%s in an envelope: %d, ETag %q", path, enveloped.Code, other)
		}
		if r := s.ask("GET", path, "", "X-API-Key", "", "Accept", "application/vnd.rowlock.envelope+json", "If-None-Match", other); r.Code != 304 || r.Header().Get("ETag") != other {
			t.Errorf("%s in an envelope, again: %d", path, r.Code)
		}
	}
	for path, body := range map[string]string{
		"/venues/" + venue: `{"name":"Burg"}`, "/halls/" + hall: `{"name":"Saal 2"}`, "/events/" + event: `{"title":"Unwetter"}`, "/shows/" + show: `{"note":"neu"}`,
	} {
		etag := s.must("GET", path, "").Header().Get("ETag")
		key := newKey()
		first := s.must("PATCH", path, body, "If-Match", etag, "Idempotency-Key", key)
		if r := s.ask("PATCH", path, body, "If-Match", etag); r.Code != 412 || r.text("code") != "PRECONDITION_FAILED" {
			t.Errorf("%s: an old ETag: %d %s", path, r.Code, r.Body)
		}
		if r := s.ask("PATCH", path, body, "If-Match", etag, "Idempotency-Key", key); r.Code != 200 || r.Body.String() != first.Body.String() {
			t.Errorf("%s: the same request again: %d %s", path, r.Code, r.Body)
		}
		if r := s.ask("PATCH", path, body, "If-Match", `"nonsense"`); r.Code != 412 {
			t.Errorf("%s: another's ETag: %d %s", path, r.Code, r.Body)
		}
		s.must("PATCH", path, body, "If-Match", "*")
		s.must("PATCH", path, body, "If-Match", s.must("GET", path, "", "Accept", "application/vnd.rowlock.envelope+json").Header().Get("ETag"))
		if s.must("GET", path, "").Header().Get("ETag") == etag {
			t.Errorf("%s: the ETag stayed", path)
		}
	}
}

func TestAShowIsAmended(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, hall := s.hall()
	plan := s.plan(hall, csvPlan)
	show := s.show(s.event("Sturm"), plan)
	larger := s.plan(hall, csvPlan+"Stalls,B,2,Back\nLoge,,1,Loge\n")
	if r := s.ask("PATCH", "/shows/"+show, `{"planId":"`+larger+`"}`); r.Code != 422 || !slices.Equal(r.fields(), []string{"prices"}) {
		t.Errorf("a plan with a category that has no price: %d %s", r.Code, r.Body)
	}
	r := s.must("PATCH", "/shows/"+show, `{"planId":"`+larger+`","prices":[{"category":"Front","amount":1},{"category":"Back","amount":2},{"category":"Loge","amount":3}],
		"startsAt":"2099-01-01T20:00:00+01:00","endsAt":"2099-01-01T22:00:00Z","doorsAt":"2099-01-01T18:00:00Z","holdSeconds":60,"maxHoldSeconds":120,"maxPlacesPerReservation":9,
		"maxPlacesPerCustomer":3,"currency":"CHF","language":"de-at","format":["3d"],"accessibility":["relaxed"],"note":"N","testMode":true,"metadata":{"a":"b"},
		"cancellation":{"untilMinutesBeforeStart":60,"refundPercent":50},"salesEndAt":"2098-12-31T00:00:00Z","externalRef":"ref"}`)
	if r.Header().Get("Show-Version") != "2" {
		t.Errorf("version %v", r.Header())
	}
	after := s.must("GET", "/shows/"+show, "")
	for path, want := range map[string]any{
		"planId": larger, "startsAt": "2099-01-01T19:00:00Z", "endsAt": "2099-01-01T22:00:00Z", "doorsAt": "2099-01-01T18:00:00Z", "holdSeconds": 60.0, "maxHoldSeconds": 120.0,
		"maxPlacesPerReservation": 9.0, "maxPlacesPerCustomer": 3.0, "currency": "CHF", "language": "de-AT", "format.0": "3d", "accessibility.0": "relaxed", "note": "N", "testMode": true,
		"metadata.a": "b", "cancellation.refundPercent": 50.0, "salesEndAt": "2098-12-31T00:00:00Z", "externalRef": "ref", "availability.capacity": 5.0,
		"prices.2.category": "Loge", "version": 2.0, "status": "on_sale",
	} {
		if got := after.field(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	s.must("PATCH", "/shows/"+show, `{"endsAt":null,"doorsAt":null,"maxPlacesPerCustomer":null,"language":null,"note":null,"cancellation":null,"salesEndAt":null,"externalRef":null,"metadata":null}`)
	bare := s.must("GET", "/shows/"+show, "")
	for _, name := range []string{"endsAt", "doorsAt", "maxPlacesPerCustomer", "language", "note", "cancellation", "salesEndAt", "externalRef"} {
		if got, there := bare.tree[name]; there {
			t.Errorf("%s is still %v", name, got)
		}
	}
	// An amendment of something else moves no instant.
	for range 3 {
		s.must("PATCH", "/shows/"+show, `{"note":"x"}`)
	}
	if got := s.must("GET", "/shows/"+show, "").text("startsAt"); got != "2099-01-01T19:00:00Z" {
		t.Errorf("the start moved to %s", got)
	}
}

func TestSeatsAreBlockedAndUnblocked(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, hall := s.hall()
	plan := s.plan(hall, csvPlan)
	show := s.show(s.event("Sturm"), plan)
	seat := s.must("GET", "/plans/"+plan, "").field("seats.1.seatId").(string)
	key := newKey()
	body := `{"seats":[{"label":"Stalls-A-1"},{"seatId":"` + seat + `"}],"reason":"camera"}`
	r := s.must("POST", "/shows/"+show+"/seats/block", body, "Idempotency-Key", key)
	if r.Code != 201 || r.field("seatCount") != 2.0 || r.Header().Get("Show-Version") != "2" {
		t.Errorf("%d %s %v", r.Code, r.Body, r.Header())
	}
	if again := s.must("POST", "/shows/"+show+"/seats/block", body, "Idempotency-Key", key); again.Body.String() != r.Body.String() {
		t.Errorf("replay: %s", again.Body)
	}
	taken := s.ask("POST", "/shows/"+show+"/seats/block", `{"seats":[{"label":"Stalls-A-1"}],"reason":"x"}`)
	if taken.Code != 409 || taken.field("unavailableSeats.0.label") != "Stalls-A-1" || taken.field("unavailableSeats.0.status") != "blocked" {
		t.Errorf("blocked twice: %d %s", taken.Code, taken.Body)
	}
	if unknown := s.ask("POST", "/shows/"+show+"/seats/block", `{"seats":[{"label":"Z-9"}],"reason":"x"}`); unknown.Code != 404 || unknown.field("unknownSeats.0") != "Z-9" {
		t.Errorf("unknown: %d %s", unknown.Code, unknown.Body)
	}
	one := s.must("POST", "/shows/"+show+"/seats/unblock", `{"seats":[{"label":"Stalls-A-1"}]}`)
	rest := s.must("POST", "/shows/"+show+"/seats/unblock", `{"blockId":"`+r.text("blockId")+`"}`)
	if one.field("seatCount") != 1.0 || rest.field("seatCount") != 1.0 {
		t.Errorf("unblocked %s, then %s", one.Body, rest.Body)
	}
	if r := s.ask("POST", "/shows/"+show+"/seats/unblock", `{"blockId":"`+uuid.NewString()+`"}`); r.Code != 404 {
		t.Errorf("no such block: %d %s", r.Code, r.Body)
	}
}

func TestAPlanIsRefusedWithEveryProblem(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, hall := s.hall()
	path := "/halls/" + hall + "/plans"
	bad := "section,row,seat,category\nS,A,1,F\nS,A,1,F\nS,a,1,F\nS,A,,F\nS,B,1,\n"
	r := s.ask("POST", path+"?format=csv", bad, "Content-Type", "text/csv")
	if r.Code != 422 || r.text("code") != "VALIDATION_ERROR" || len(r.fields()) != 4 || !slices.Contains(r.fields(), "line 3") || !strings.Contains(r.text("detail"), "4 problems") {
		t.Errorf("%d %s", r.Code, r.Body)
	}
	if got := s.must("GET", path, "").list("plans"); len(got) != 0 {
		t.Errorf("imported in part: %v", got)
	}
	renamed := s.must("POST", path+"?format=csv&duplicates=rename", "section,row,seat,category\nS,A,1,F\nS,A,1,F\n", "Content-Type", "text/csv")
	if renamed.field("seatCount") != 2.0 || len(renamed.list("warnings")) != 1 {
		t.Errorf("renamed: %s", renamed.Body)
	}
	for query, field := range map[string]string{"": "format", "?format=xml": "format", "?format=csv&duplicates=yes": "duplicates"} {
		if r := s.ask("POST", path+query, csvPlan, "Content-Type", "text/csv"); r.Code != 422 || !slices.Contains(r.fields(), field) {
			t.Errorf("%q: %d %s", query, r.Code, r.Body)
		}
	}
	if r := s.ask("POST", path+"?format=csv", csvPlan, "Content-Type", "application/xml"); r.Code != 415 {
		t.Errorf("xml: %d", r.Code)
	}
	if r := s.ask("POST", path+"?format=rowlock", csvPlan, "Content-Type", "application/json"); r.Code != 422 || len(r.fields()) == 0 {
		t.Errorf("csv as json: %d %s", r.Code, r.Body)
	}
	if r := s.ask("POST", "/halls/"+uuid.NewString()+"/plans?format=csv", csvPlan, "Content-Type", "text/csv"); r.Code != 404 {
		t.Errorf("no such hall: %d %s", r.Code, r.Body)
	}
	key := newKey()
	first := s.must("POST", path+"?format=csv", csvPlan, "Content-Type", "text/csv", "Idempotency-Key", key)
	again := s.must("POST", path+"?format=csv", csvPlan, "Content-Type", "text/csv", "Idempotency-Key", key)
	if first.Body.String() != again.Body.String() || again.Header().Get("Idempotency-Replayed") != "true" {
		t.Errorf("replay: %s\nfirst:  %s", again.Body, first.Body)
	}
	if r := s.ask("POST", path+"?format=csv", csvPlan+"\n", "Content-Type", "text/csv", "Idempotency-Key", key); r.text("code") != "IDEMPOTENCY_KEY_REUSED" {
		t.Errorf("other bytes: %d %s", r.Code, r.Body)
	}
}

func TestOrganisersOperationsNeedTheirScope(t *testing.T) {
	t.Parallel()
	s := open(t)
	venue, hall := s.hall()
	plan := s.plan(hall, csvPlan)
	show := s.show(s.event("Sturm"), plan)
	for method, paths := range map[string][]string{
		"POST":  {"/venues", "/halls", "/events", "/shows", "/halls/" + hall + "/plans?format=csv", "/shows/" + show + "/publish", "/shows/" + show + "/seats/block", "/shows/" + show + "/seats/unblock"},
		"PATCH": {"/venues/" + venue, "/halls/" + hall, "/shows/" + show, "/shows/" + show + "/areas/" + uuid.NewString()},
		"GET":   {"/halls/" + hall + "/plans"},
	} {
		for _, path := range paths {
			if r := s.ask(method, path, "{}", stranger...); r.Code != 401 {
				t.Errorf("%s %s without credentials: %d", method, path, r.Code)
			}
			if r := s.ask(method, path, "{}", "X-API-Key", "", "X-Mock-User-Id", uuid.NewString()); r.Code != 403 {
				t.Errorf("%s %s as a customer: %d", method, path, r.Code)
			}
		}
	}
	for _, path := range []string{"/shows/", "/events/", "/venues/", "/halls/", "/plans/"} {
		if r := s.ask("GET", path+uuid.NewString(), ""); r.Code != 404 || r.text("code") != "NOT_FOUND" {
			t.Errorf("GET %s…: %d", path, r.Code)
		}
		if r := s.ask("GET", path+"x", ""); r.Code != 422 {
			t.Errorf("GET %sx: %d", path, r.Code)
		}
	}
	for path, body := range map[string]string{
		"/venues/": `{"name":"x"}`, "/halls/": `{"name":"x"}`, "/events/": `{"title":"x"}`, "/shows/": `{"note":"x"}`, "/shows/" + show + "/areas/": `{"capacity":1}`,
	} {
		if r := s.ask("PATCH", path+uuid.NewString(), body); r.Code != 404 {
			t.Errorf("PATCH %s…: %d %s", path, r.Code, r.Body)
		}
	}
}

func TestAGuestIsOnRecord(t *testing.T) {
	t.Parallel()
	s := open(t)
	r := s.must("POST", "/sessions", "", "X-API-Key", "", "Idempotency-Key", "")
	if !strings.HasPrefix(r.text("customerId"), "guest:") || r.text("token") == "" {
		t.Errorf("%s", r.Body)
	}
	// It is purged when the token has ended, and not before.
	if n, err := s.store.PurgeSessions(t.Context(), 10); n != 0 || err != nil {
		t.Errorf("%d were purged, %v", n, err)
	}
	if err := s.store.RecordSession(t.Context(), "guest:past", time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n, err := s.store.PurgeSessions(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("%d were purged, %v", n, err)
	}
}

// Every property of every body, wrong in every way that its schema can tell,
// one at a time, and what the schema cannot tell besides.
func TestEveryFieldWrongInTurnIsNamed(t *testing.T) {
	t.Parallel()
	s := open(t)
	venue, hall := s.hall()
	plan := s.plan(hall, csvPlan)
	event := s.event("Sturm")
	show := s.show(event, plan)
	stock := s.must("POST", "/shows", `{"event":{"kind":"talk","title":"T"},"startsAt":"`+soon(time.Hour)+`","currency":"EUR","areas":[{"name":"F","capacity":1,"prices":[{"amount":1}]}]}`)
	_, floorHall := s.hall()
	floorPlan := s.must("POST", "/halls/"+floorHall+"/plans?format=csv", "section,row,seat,category,kind\nStalls,A,1,Front,standard\nStalls,A,2,Front,standard\nStalls,A,3,Front,standard\nFloor,,10,Front,area\n", "Content-Type", "text/csv")
	floor := floorPlan.field("areas.0.areaId").(string)
	onSale := s.must("POST", "/shows", `{"eventId":"`+event+`","planId":"`+floorPlan.text("planId")+`","startsAt":"`+soon(time.Hour)+`","currency":"EUR","prices":[{"category":"Front","amount":1}],"publish":true}`).text("showId")
	held := s.must("POST", "/reservations", `{"showId":"`+onSale+`","seats":[{"label":"Stalls-A-2"}],"customerId":"c"}`).text("reservationId")
	area := "/shows/" + stock.text("showId") + "/areas/" + stock.field("areas.0.areaId").(string)

	raw, err := json.Marshal(s.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	good := map[string]string{
		"POST /venues": `{"name":"N","city":"C","country":"AT","timeZone":"UTC","externalRef":"v"}`,
		"POST /halls":  `{"venueId":"` + venue + `","name":"N","externalRef":"h"}`,
		"POST /events": `{"kind":"play","title":"T","genre":"g","language":"en","durationMinutes":1,"ageRating":"0","description":"d","posterUrl":"https://example.org/p","externalRef":"e"}`,
		"POST /shows": `{"eventId":"` + event + `","planId":"` + plan + `","prices":[{"category":"Front","ticketType":"standard","amount":1},{"category":"Back","amount":1}],
			"startsAt":"2099-01-01T20:00:00Z","endsAt":"2099-01-01T22:00:00Z","doorsAt":"2099-01-01T19:00:00Z","currency":"EUR","holdSeconds":900,"maxHoldSeconds":1800,"maxPlacesPerReservation":5,
			"maxPlacesPerCustomer":5,"salesStartAt":"2098-01-01T20:00:00Z","salesEndAt":"2099-01-01T20:00:00Z","language":"en","format":["a"],"accessibility":["b"],"note":"n",
			"cancellation":{"untilMinutesBeforeStart":1,"refundPercent":1},"testMode":true,"externalRef":"s","metadata":{"a":"b"},"publish":false}`,
		"PATCH /venues/{venueId}": `{"name":"N","city":"C","country":"AT","timeZone":"UTC","externalRef":"v2"}`,
		"PATCH /halls/{hallId}":   `{"name":"N","externalRef":"h2"}`,
		"PATCH /events/{eventId}": `{"kind":"play","title":"T","genre":"g","language":"en","durationMinutes":1,"ageRating":"0","description":"d","posterUrl":"https://example.org/p","externalRef":"e2","archived":false}`,
		"PATCH /shows/{showId}": `{"startsAt":"2099-01-01T20:00:00Z","endsAt":"2099-01-01T22:00:00Z","doorsAt":"2099-01-01T19:00:00Z","currency":"EUR","holdSeconds":900,"maxHoldSeconds":1800,"maxPlacesPerReservation":5,
			"maxPlacesPerCustomer":5,"salesStartAt":"2098-01-01T20:00:00Z","salesEndAt":"2099-01-01T20:00:00Z","prices":[{"category":"Front","ticketType":"standard","amount":1},{"category":"Back","amount":1}],
			"planId":"` + plan + `","language":"en","format":["a"],"accessibility":["b"],"note":"n","cancellation":{"untilMinutesBeforeStart":1,"refundPercent":1},"testMode":true,"externalRef":"s2","metadata":{"a":"b"}}`,
		"PATCH /shows/{showId}/areas/{areaId}": `{"capacity":2}`,
		"POST /shows/{showId}/seats/block":     `{"seats":[{"label":"Stalls-A-1"}],"reason":"r"}`,
		"POST /shows/{showId}/seats/unblock":   `{"seats":[{"label":"Stalls-A-1"}]}`,
		"POST /reservations":                   `{"showId":"` + onSale + `","seats":[{"label":"Stalls-A-1","ticketType":"standard"}],"areas":[{"areaId":"` + floor + `","ticketType":"standard","quantity":1,"allowPartial":false}],"ttlSeconds":60,"metadata":{"a":"b"},"customerId":"c"}`,
		"PATCH /reservations/{reservationId}":  `{"add":{"seats":[{"label":"Stalls-A-3","ticketType":"standard"}],"areas":[{"areaId":"` + floor + `","ticketType":"standard","quantity":1,"allowPartial":true}]},"remove":{"seats":[{"label":"Stalls-A-2"}]}}`,
	}
	for path, item := range dig(doc, "paths").(map[string]any) {
		for method, op := range item.(map[string]any) {
			schema, _ := dig(op, "requestBody", "content", "application/json", "schema").(map[string]any)
			if schema["$ref"] != nil && good[strings.ToUpper(method)+" "+path] == "" {
				t.Errorf("%s %s has a body that nobody spoils here", method, path)
			}
		}
	}
	more := map[string]map[string][]any{ // what only we know, by operation and field
		"POST /venues": {"country": {"XX", "ZZ"}, "timeZone": {"Mars/Olympus", "Local", "europe/vienna", "../UTC", "CEST+1"}, "name": {" ", "a\nb", "\u200b\u0007"}},
		"POST /halls":  {"venueId": {uuid.NewString()}, "name": {"\t"}},
		"POST /events": {"language": {"english please", "x_!"}, "posterUrl": {"javascript:alert(1)", "ftp://example.org", "//example.org", "%zz"}, "title": {"  "}},
		"POST /shows": {
			"eventId": {uuid.NewString()}, "planId": {uuid.NewString()}, "currency": {"XXX", "EUX", "DEM", "XAU"}, "startsAt": {"2099-01-01T20:00:00", "2099-01-01", "1969-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00", "0000-01-01T00:00:00Z"},
			"endsAt": {"2099-01-01T20:00:00Z", "2099-01-01T20:00:00"}, "salesEndAt": {"2098-01-01T20:00:00Z"}, "maxHoldSeconds": {899.0}, "language": {"x_!"},
			"prices":   {[]any{}, []any{map[string]any{"category": "Front", "amount": 1}}, []any{map[string]any{"category": "Nope", "amount": 1}}},
			"metadata": {map[string]any{"": "x"}, map[string]any{strings.Repeat("k", 41): "x"}, map[string]any{"k": strings.Repeat("v", 501)}, map[string]any{"k": 1}},
		},
		"PATCH /shows/{showId}": {"planId": {uuid.NewString()}, "currency": {"DEM"}, "startsAt": {"2099-01-01T20:00:00"}},
		"POST /reservations": {
			"seats":      {[]any{map[string]any{}}, []any{map[string]any{"label": "Stalls-A-1"}, map[string]any{"label": "Stalls-A-1"}}},
			"ttlSeconds": {1801.0, 0.0, 604801.0}, "metadata": {map[string]any{"": "x"}, map[string]any{"k": strings.Repeat("v", 501)}, map[string]any{"k": 1}},
			"seats[0].ticketType": {"no such type"},
		},
		"PATCH /reservations/{reservationId}": {
			"remove.seats": {[]any{map[string]any{"label": "Stalls-A-1"}}}, "add.seats[0].ticketType": {"no such type"},
		},
	}
	paths := strings.NewReplacer("{reservationId}", held, "{venueId}", venue, "{hallId}", hall, "{eventId}", event)
	for operation, body := range good {
		method, template, _ := strings.Cut(operation, " ")
		path := paths.Replace(template)
		if strings.Contains(path, "/areas/") {
			path = area
		}
		path = strings.ReplaceAll(path, "{showId}", show)
		if template == "/shows/{showId}/seats/unblock" {
			s.ask("POST", "/shows/"+show+"/seats/block", good["POST /shows/{showId}/seats/block"])
		}
		schema := resolve(doc, dig(doc, "paths", template, strings.ToLower(method), "requestBody", "content", "application/json", "schema"))
		var tree map[string]any
		if err := json.Unmarshal([]byte(body), &tree); err != nil {
			t.Fatal(operation, err)
		}
		tried := 0
		refuse := func(field string, wrong map[string]any) {
			tried++
			text, _ := json.Marshal(wrong)
			r := s.ask(method, path, string(text))
			if r.Code < 400 || r.Code >= 500 || r.Header().Get("Content-Type") != "application/problem+json" || r.text("code") == "" {
				t.Errorf("%s with a wrong %s: %d %s\n%s", operation, field, r.Code, r.Body, text)
				return
			}
			if !slices.ContainsFunc(r.fields(), func(f string) bool {
				return f == field || strings.HasPrefix(f, field+"[") || strings.HasPrefix(f, field+".") || strings.HasPrefix(field, f+"[") || strings.HasPrefix(field, f+".")
			}) {
				t.Errorf("%s: the problem does not name %s: %s\n%s", operation, field, r.Body, text)
			}
		}
		// Every property at every depth, in turn: missing, wrong, unknown.
		var walk func(schema, at map[string]any, path string, rebuild func(map[string]any) map[string]any)
		walk = func(schema, at map[string]any, path string, rebuild func(map[string]any) map[string]any) {
			required, _ := schema["required"].([]any)
			for name, property := range dig(schema, "properties").(map[string]any) {
				property := resolve(doc, property)
				if slices.Contains(required, any(name)) {
					refuse(path+name, rebuild(without(at, name)))
				}
				values := wrongValues(doc, property)
				// Without add, or without remove, a reservation is changed all the same.
				if path == "" && template != "/reservations/{reservationId}" && (method == "PATCH" && !nullable(property) || slices.Contains(required, any(name))) {
					values = append(values, nil)
				}
				for _, v := range append(values, more[operation][path+name]...) {
					refuse(path+name, rebuild(with(at, name, v)))
				}
				inside := func(v any) map[string]any { return rebuild(with(at, name, v)) }
				switch have := at[name].(type) {
				case map[string]any:
					if property["properties"] != nil {
						walk(property, have, path+name+".", func(m map[string]any) map[string]any { return inside(m) })
						refuse(path+name+".unknown", inside(with(have, "unknown", 1)))
					}
				case []any:
					if items := resolve(doc, dig(property, "items")); items["properties"] != nil {
						first := have[0].(map[string]any)
						walk(items, first, path+name+"[0].", func(m map[string]any) map[string]any { return inside([]any{m}) })
						refuse(path+name+"[0].unknown", inside([]any{with(first, "unknown", 1)}))
					}
				}
			}
		}
		walk(schema, tree, "", func(m map[string]any) map[string]any { return m })
		refuse("unknown", with(tree, "unknown", 1))
		if tried < 5 {
			t.Errorf("%s: only %d wrong bodies", operation, tried)
		}
		for _, broken := range []string{"", "{", "[]", `"x"`, "null", body[:len(body)-1], body + "x"} {
			if r := s.ask(method, path, broken); r.Code != 422 || r.text("code") != "VALIDATION_ERROR" {
				t.Errorf("%s with the body %q: %d %s", operation, broken, r.Code, r.Body)
			}
		}
		if r := s.ask(method, path, body); r.Code >= 300 {
			t.Errorf("%s with nothing wrong: %d %s", operation, r.Code, r.Body)
		}
	}
}

func dig(v any, steps ...string) any {
	for _, step := range steps {
		m, _ := v.(map[string]any)
		v = m[step]
	}
	return v
}

func resolve(doc map[string]any, v any) map[string]any {
	schema, _ := v.(map[string]any)
	if ref, ok := schema["$ref"].(string); ok {
		schema, _ = dig(doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...).(map[string]any)
	}
	return schema
}

func with(m map[string]any, name string, v any) map[string]any {
	m = maps.Clone(m)
	m[name] = v
	return m
}

func without(m map[string]any, name string) map[string]any {
	m = maps.Clone(m)
	delete(m, name)
	return m
}

func kind(schema map[string]any) string {
	switch k := schema["type"].(type) {
	case string:
		return k
	case []any:
		return k[0].(string)
	}
	return ""
}

func nullable(schema map[string]any) bool {
	kinds, _ := schema["type"].([]any)
	return slices.Contains(kinds, any("null"))
}

// wrongValues are values that a property's schema does not allow.
func wrongValues(doc, schema map[string]any) []any {
	all := map[string]any{"string": "x", "integer": 1.0, "boolean": true, "array": []any{}, "object": map[string]any{}}
	var wrong []any
	for k, v := range all {
		if k != kind(schema) {
			wrong = append(wrong, v)
		}
	}
	number := func(name string) (float64, bool) { n, ok := schema[name].(float64); return n, ok }
	if n, ok := number("minimum"); ok {
		wrong = append(wrong, n-1, -1e300)
	}
	if n, ok := number("maximum"); ok {
		wrong = append(wrong, n+1, 1e300)
	}
	if kind(schema) == "integer" {
		wrong = append(wrong, 1.5)
	}
	if n, ok := number("minLength"); ok && n > 0 {
		wrong = append(wrong, "")
	}
	if n, ok := number("maxLength"); ok && kind(schema) == "string" {
		wrong = append(wrong, strings.Repeat("ä", int(n)+1))
	}
	if schema["enum"] != nil || schema["format"] != nil && kind(schema) == "string" {
		wrong = append(wrong, "no such value")
	}
	if n, ok := number("minItems"); ok && n > 0 {
		wrong = append(wrong, []any{})
	}
	if n, ok := number("maxItems"); ok && n < 100 {
		wrong = append(wrong, slices.Repeat([]any{"x"}, int(n)+1))
	}
	if kind(schema) == "array" {
		items := resolve(doc, schema["items"])
		wrong = append(wrong, []any{nil})
		if kind(items) == "string" {
			wrong = append(wrong, []any{1.0}, []any{strings.Repeat("x", 51)}, []any{" "})
		}
	}
	if n, ok := number("maxProperties"); ok {
		many := map[string]any{}
		for i := range int(n) + 1 {
			many[fmt.Sprint(i)] = "x"
		}
		wrong = append(wrong, many)
	}
	if kind(schema) == "string" {
		wrong = append(wrong, "a\x00b")
	}
	return wrong
}
