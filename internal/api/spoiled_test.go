package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/fixture"
)

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
	kept := s.must("POST", "/reservations", `{"showId":"`+onSale+`","seats":[{"label":"Stalls-A-2"}],"customerId":"c"}`).text("reservationId")
	area := "/shows/" + stock.text("showId") + "/areas/" + stock.field("areas.0.areaId").(string)

	sold := fixture.Show(t, s.store, fixture.Options{Seats: 20})
	take := func(seat int) string {
		return s.must("POST", "/reservations", strings.TrimSuffix(held(sold.ID, sold.Seats[seat].Label), "}")+`,"customerId":"c"}`).text("reservationId")
	}
	buy := func(seat int) reply { return s.must("POST", "/bookings", buying(take(seat), "sbx_ok")) }
	drawing := s.drawing()
	toConfirm, toPay := take(0), s.ask("POST", "/bookings", buying(take(1), "sbx_declined")).text("bookingId")
	full := fixture.Show(t, s.store, fixture.Options{Seats: 1})
	s.must("POST", "/reservations", strings.TrimSuffix(held(full.ID, full.Seats[0].Label), "}")+`,"customerId":"c"}`)
	toCancel, toRefund, toName := buy(2), buy(3), buy(4)
	refused := s.must("POST", "/bookings/"+s.must("POST", "/bookings", buying(take(6), "sbx_refund_fails")).text("bookingId")+"/refunds", `{}`).text("refundId")
	if err := s.checkout.SendRefund(t.Context(), uuid.MustParse(refused)); err != nil {
		t.Fatal(err)
	}

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
			"maxPlacesPerCustomer":5,"offerSeconds":900,"salesStartAt":"2098-01-01T20:00:00Z","salesEndAt":"2099-01-01T20:00:00Z","language":"en","format":["a"],"accessibility":["b"],"note":"n",
			"cancellation":{"untilMinutesBeforeStart":1,"refundPercent":1},"testMode":true,"externalRef":"s","metadata":{"a":"b"},"publish":false}`,
		"PATCH /venues/{venueId}": `{"name":"N","city":"C","country":"AT","timeZone":"UTC","externalRef":"v2"}`,
		"PATCH /halls/{hallId}":   `{"name":"N","externalRef":"h2"}`,
		"PATCH /events/{eventId}": `{"kind":"play","title":"T","genre":"g","language":"en","durationMinutes":1,"ageRating":"0","description":"d","posterUrl":"https://example.org/p","externalRef":"e2","archived":false}`,
		"PATCH /shows/{showId}": `{"startsAt":"2099-01-01T20:00:00Z","endsAt":"2099-01-01T22:00:00Z","doorsAt":"2099-01-01T19:00:00Z","currency":"EUR","holdSeconds":900,"maxHoldSeconds":1800,"maxPlacesPerReservation":5,
			"maxPlacesPerCustomer":5,"offerSeconds":900,"salesStartAt":"2098-01-01T20:00:00Z","salesEndAt":"2099-01-01T20:00:00Z","prices":[{"category":"Front","ticketType":"standard","amount":1},{"category":"Back","amount":1}],
			"planId":"` + plan + `","language":"en","format":["a"],"accessibility":["b"],"note":"n","cancellation":{"untilMinutesBeforeStart":1,"refundPercent":1},"testMode":true,"externalRef":"s2","metadata":{"a":"b"},
			"queue":{"mode":"automatic","threshold":1,"ratePerMinute":1,"admissionSeconds":1,"sessionSeconds":1,"returnSeconds":0,"sizeMax":0,"beacon":"b"}}`,
		"PATCH /shows/{showId}/areas/{areaId}":       `{"capacity":2}`,
		"POST /shows/{showId}/queue/draw":            `{"publicValue":"7f3a"}`,
		"POST /shows/{showId}/seats/block":           `{"seats":[{"label":"Stalls-A-1"}],"reason":"r"}`,
		"POST /shows/{showId}/seats/unblock":         `{"seats":[{"label":"Stalls-A-1"}]}`,
		"POST /reservations":                         `{"showId":"` + onSale + `","seats":[{"label":"Stalls-A-1","ticketType":"standard"}],"areas":[{"areaId":"` + floor + `","ticketType":"standard","quantity":1,"allowPartial":false}],"ttlSeconds":60,"metadata":{"a":"b"},"customerId":"c"}`,
		"PATCH /reservations/{reservationId}":        `{"add":{"seats":[{"label":"Stalls-A-3","ticketType":"standard"}],"areas":[{"areaId":"` + floor + `","ticketType":"standard","quantity":1,"allowPartial":true}]},"remove":{"seats":[{"label":"Stalls-A-2"}]}}`,
		"POST /shows/{showId}/waitlist":              `{"partySize":1,"categories":["Front"],"buyer":` + ada + `,"customerId":"w"}`,
		"POST /bookings":                             `{"reservationId":"` + take(5) + `","buyer":` + ada + `,"holders":["A"],"payment":{"method":"card","token":"sbx_ok","gateway":"sandbox"},"returnUrl":"https://example.org/"}`,
		"POST /bookings/{bookingId}/pay":             `{"payment":{"method":"card","token":"sbx_ok","gateway":"sandbox"},"returnUrl":"https://example.org/"}`,
		"POST /reservations/{reservationId}/confirm": `{"paymentMethod":"cash","paymentReference":"r","buyer":` + ada + `,"holders":["A"]}`,
		"POST /bookings/{bookingId}/cancel":          `{"ticketIds":["` + ticketID(toCancel, 0) + `"]}`,
		"POST /bookings/{bookingId}/refunds":         `{"ticketIds":["` + ticketID(toRefund, 0) + `"],"amount":1}`,
		"POST /refunds/{refundId}/retry":             `{"paidBy":"transfer 17"}`,
		"PATCH /tickets/{ticketId}":                  `{"holderName":"N"}`,
		"POST /tickets/check-in":                     `{"code":"` + code(toName, 0) + `","scanId":"` + uuid.NewString() + `","gate":"g","at":"2026-01-01T20:00:00Z","showId":"` + sold.ID.String() + `"}`,
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
		"POST /bookings": {
			"buyer.name": {" ", "a\nb"}, "buyer.email": {"ada", "Ada <ada@example.org>", "a@b c"}, "buyer.locale": {"x_!"}, "payment.method": {"cowries"},
			"returnUrl": {"javascript:alert(1)", "ftp://example.org", "//example.org"}, "holders": {[]any{"A", "B"}, []any{"a\nb"}},
		},
		"POST /shows/{showId}/waitlist": {
			"partySize": {2.0, 10001.0}, "categories": {[]any{"Nope"}, []any{"Front", "Front"}, []any{"a\nb"}}, "buyer.email": {"ada"},
		},
		"POST /bookings/{bookingId}/pay":             {"payment.method": {"cowries"}, "returnUrl": {"javascript:alert(1)"}},
		"POST /reservations/{reservationId}/confirm": {"buyer.email": {"ada"}, "holders": {[]any{"A", "B"}}, "paymentReference": {"", "  "}},
		"POST /bookings/{bookingId}/cancel":          {"ticketIds": {[]any{uuid.NewString()}}},
		"POST /bookings/{bookingId}/refunds":         {"ticketIds": {[]any{uuid.NewString()}}, "amount": {4001.0}},
		"PATCH /tickets/{ticketId}":                  {"holderName": {"a\nb"}},
		"POST /tickets/check-in":                     {"scanId": {uuid.Nil.String()}, "at": {"2999-01-01T20:00:00Z", "2026-01-01T20:00:00"}},
	}
	paths := strings.NewReplacer("{reservationId}", kept, "{venueId}", venue, "{hallId}", hall, "{eventId}", event)
	for operation, body := range good {
		method, template, _ := strings.Cut(operation, " ")
		path := template
		for _, own := range []struct{ template, name, id string }{
			{"/shows/{showId}/queue/draw", "{showId}", drawing}, {"/reservations/{reservationId}/confirm", "{reservationId}", toConfirm}, {"/bookings/{bookingId}/pay", "{bookingId}", toPay},
			{"/bookings/{bookingId}/cancel", "{bookingId}", toCancel.text("bookingId")}, {"/bookings/{bookingId}/refunds", "{bookingId}", toRefund.text("bookingId")},
			{"/shows/{showId}/waitlist", "{showId}", full.ID.String()},
			{"/tickets/{ticketId}", "{ticketId}", ticketID(toName, 0)}, {"/refunds/{refundId}/retry", "{refundId}", refused},
		} {
			if own.template == template {
				path = strings.ReplaceAll(path, own.name, own.id)
			}
		}
		path = paths.Replace(path)
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
				if path == "" && template != "/reservations/{reservationId}" && !nullable(property) && (method == "PATCH" || slices.Contains(required, any(name))) {
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
			if broken == "" && dig(doc, "paths", template, strings.ToLower(method), "requestBody", "required") != true {
				continue
			}
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
			wrong = append(wrong, []any{1.0})
			if n, ok := items["maxLength"].(float64); ok {
				wrong = append(wrong, []any{strings.Repeat("ä", int(n)+1)})
			} else {
				wrong = append(wrong, []any{strings.Repeat("x", 51)}, []any{" "})
			}
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
