package api_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

const csvPlan = "section,row,seat,category\nStalls,A,1,Front\nStalls,A,2,Front\nStalls,B,1,Back\n"

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
	on := s.must("GET", "/events", "", append(stranger, "Cache-Control", "no-cache")...)
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
	s.must("POST", "/shows", `{"event":{"kind":"festival","title":"Sommer"},"publish":true,"startsAt":"`+soon(time.Hour)+`","currency":"EUR",
		"areas":[{"name":"Floor","capacity":250,"prices":[{"amount":500}]}]}`)
	if own := s.must("GET", "/facets", ""); len(own.list("kinds")) != 2 || own.Header().Get("Age") != "" {
		t.Errorf("the organiser is told old facets: %s", own.Body)
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
	for _, path := range []string{"/seats", "/availability"} {
		if r := s.must("GET", "/shows/"+made.text("showId")+path, "", stranger...); r.field("areas.0.externalRef") != "sku-1" || r.field("areas.1.externalRef") != nil {
			t.Errorf("%s: %s", path, r.Body)
		}
	}
	if r := s.must("GET", "/shows/"+made.text("showId")+"/areas/"+made.field("areas.0.areaId").(string)+"/availability", "", stranger...); r.text("externalRef") != "sku-1" {
		t.Errorf("area: %s", r.Body)
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
}

func TestAnAmendmentOfSomethingElseMovesNoInstant(t *testing.T) {
	t.Parallel()
	s := open(t)
	venue, hall := s.hall()
	event := s.event("Sturm")
	show := s.show(event, s.plan(hall, csvPlan), `,"doorsAt":"2099-03-29T01:30:00.25+05:30","salesStartAt":"2020-10-25T02:30:00+05:30"`)
	s.must("PATCH", "/shows/"+show, `{"startsAt":"2099-03-29T02:30:00+05:30","endsAt":"2099-03-28T18:30:00.123456-03:30","salesEndAt":"2099-03-29T02:00:00+14:00"}`)
	want := map[string]string{
		"doorsAt": "2099-03-28T20:00:00.25Z", "startsAt": "2099-03-28T21:00:00Z", "endsAt": "2099-03-28T22:00:00.123456Z",
		"salesStartAt": "2020-10-24T21:00:00Z", "salesEndAt": "2099-03-28T12:00:00Z",
	}
	check := func(after string) {
		t.Helper()
		for _, shown := range []reply{s.must("GET", "/shows/"+show, ""), s.must("GET", "/shows?eventId="+event, "").at("shows.0")} {
			for name, instant := range want {
				if got := shown.text(name); got != instant {
					t.Errorf("after %s, %s is %s, want %s", after, name, got, instant)
				}
			}
		}
	}
	check("it was made")
	for _, ask := range []struct{ method, path, body string }{
		{"PATCH", "/shows/" + show, `{"note":"x"}`},
		{"PATCH", "/shows/" + show, `{"holdSeconds":60,"metadata":{"a":"b"}}`},
		{"PATCH", "/shows/" + show, `{"prices":[{"category":"Front","amount":1},{"category":"Back","amount":2}]}`},
		{"PATCH", "/shows/" + show, `{"queue":{"ratePerMinute":5}}`},
		{"PATCH", "/events/" + event, `{"title":"Orkan"}`},
		{"PATCH", "/venues/" + venue, `{"name":"Haus 2"}`},
		{"PATCH", "/venues/" + venue, `{"timeZone":"Asia/Kolkata"}`},
		{"POST", "/shows/" + show + "/pause", ""},
		{"POST", "/shows/" + show + "/resume", ""},
	} {
		for range 3 {
			s.must(ask.method, ask.path, ask.body)
		}
		check(ask.method + " " + ask.path + " " + ask.body)
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
