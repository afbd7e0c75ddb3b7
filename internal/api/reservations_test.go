package api_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/api"
	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
)

// as names the caller of a request: a mock user, and no API key.
func as(user string) []string { return []string{"X-Mock-User-Id", user, "X-API-Key", ""} }

func withKey(caller []string, key string) []string {
	return append(slices.Clone(caller), "Idempotency-Key", key)
}

// held is a request for seats by label.
func held(show uuid.UUID, labels ...string) string {
	type seat struct {
		Label string `json:"label"`
	}
	body := struct {
		ShowID uuid.UUID `json:"showId"`
		Seats  []seat    `json:"seats"`
	}{ShowID: show}
	for _, l := range labels {
		body.Seats = append(body.Seats, seat{l})
	}
	b, _ := json.Marshal(body)
	return string(b)
}

func TestPlaceReservation(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{Seats: 10, Floor: 10})
	ada, bob := as(uuid.NewString()), as(uuid.NewString())

	t.Run("answers with what was held, where it is, and the show's version", func(t *testing.T) {
		body := `{"showId":"` + show.ID.String() + `","seats":[{"seatId":"` + show.Seats[0].ID.String() + `"},{"label":"` + show.Seats[1].Label + `","ticketType":"child"}],
			"areas":[{"areaId":"` + show.Areas[0].ID.String() + `","quantity":1},{"areaId":"` + show.Areas[0].ID.String() + `","quantity":2}],"metadata":{"cart":"Zoë 李小龍 محمد 🎭"}}`
		r := s.ask("POST", "/reservations", body, ada...)
		if r.Code != 201 || r.Header().Get("Location") != "/api/v1/reservations/"+r.text("reservationId") || r.Header().Get("Show-Version") != "2" {
			t.Fatal(r.Code, r.Header(), r.Body)
		}
		want := float64(fixture.FrontPrice + fixture.ChildPrice + 3*fixture.FloorPrice)
		if r.tree["totalAmount"] != want || r.tree["seatCount"] != 5.0 || r.field("areas.0.quantity") != 3.0 || r.field("metadata.cart") != "Zoë 李小龍 محمد 🎭" || r.tree["expiresInSeconds"] != 900.0 {
			t.Error(r.Body)
		}
		// What was acknowledged can be read in the very next request, by its
		// owner, and by nobody else.
		path := "/reservations/" + r.text("reservationId")
		if got := s.ask("GET", path, "", ada...); got.Code != 200 || got.text("reservationId") != r.text("reservationId") {
			t.Error(got.Code, got.Body)
		}
		for method, body := range map[string]string{"GET": "", "DELETE": "", "PATCH": `{"remove":{"seats":[{"label":"` + show.Seats[1].Label + `"}]}}`} {
			if got := s.ask(method, path, body, bob...); got.Code != 404 || got.text("code") != "NOT_FOUND" {
				t.Error(method, got.Code, got.Body)
			}
		}
	})

	t.Run("refuses all when one place is taken, and names one's own hold", func(t *testing.T) {
		r := s.ask("POST", "/reservations", held(show.ID, show.Seats[0].Label, show.Seats[2].Label), bob...)
		if r.Code != 409 || r.text("code") != "SEAT_ALREADY_RESERVED" || r.field("unavailableSeats.0.label") != show.Seats[0].Label || r.tree["ownReservationId"] != nil {
			t.Error(r.Code, r.Body)
		}
		if r = s.ask("POST", "/reservations", held(show.ID, show.Seats[0].Label), ada...); r.Code != 409 || r.tree["ownReservationId"] == nil {
			t.Error(r.Code, r.Body)
		}
		if r = s.ask("POST", "/reservations", held(show.ID, show.Seats[2].Label), bob...); r.Code != 201 {
			t.Error("the refused request kept a seat:", r.Code, r.Body)
		}
	})

	t.Run("refuses what is not there", func(t *testing.T) {
		r := s.ask("POST", "/reservations", held(show.ID, "Z-99", show.Seats[9].Label), bob...)
		if r.Code != 404 || r.text("code") != "SEAT_NOT_FOUND" || fmt.Sprint(r.tree["unknownSeats"]) != "[Z-99]" {
			t.Error(r.Code, r.Body)
		}
		if r = s.ask("POST", "/reservations", held(uuid.New(), "A-1"), bob...); r.Code != 404 || r.text("code") != "NOT_FOUND" {
			t.Error(r.Code, r.Body)
		}
		if r = s.ask("POST", "/reservations", held(show.ID, "a", "b", "c", "d", "e", "f"), bob...); r.Code != 400 || r.text("code") != "TOO_MANY_SEATS" || r.tree["limit"] != 5.0 || r.tree["requested"] != 6.0 {
			t.Error(r.Code, r.Body)
		}
	})

	t.Run("refuses a seat that is named twice, by label and by id", func(t *testing.T) {
		seat := show.Seats[5]
		r := s.ask("POST", "/reservations", `{"showId":"`+show.ID.String()+`","seats":[{"label":"`+seat.Label+`"},{"seatId":"`+seat.ID.String()+`"}]}`, bob...)
		if r.Code != 422 || r.text("code") != "VALIDATION_ERROR" || !slices.Contains(r.fields(), "seats[1]") {
			t.Error(r.Code, r.Body)
		}
	})
}

func TestWhatTheShowDoesNotHaveIsRefusedAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := openOn(t, db)
	show := fixture.Show(t, s.store, fixture.Options{Seats: 10, Floor: 4})
	// Another show, of a larger plan: its first ten seats have the same labels.
	other := fixture.Show(t, s.store, fixture.Options{Seats: 21, Floor: 4})
	ada := as(uuid.NewString())
	hold := "/reservations/" + s.hold(ada, show.ID, show.Seats[0].Label)
	label := func(l string) string { return `"seats":[{"label":"` + l + `"}]` }
	seat := func(m fixture.Made, i int) string { return `"seats":[{"seatId":"` + m.Seats[i].ID.String() + `"}]` }
	area := func(m fixture.Made) string {
		return `"areas":[{"areaId":"` + m.Areas[0].ID.String() + `","quantity":1}]`
	}
	written := func() (n [5]int64) {
		t.Helper()
		if err := db.Pool("").QueryRow(t.Context(), `select (select count(*) from reservations), (select count(*) from changes), (select count(*) from idempotency_keys),
			(select sum(version) from show_heads), (select count(*) from show_seats where reservation_id is not null or block_id is not null)`).Scan(&n[0], &n[1], &n[2], &n[3], &n[4]); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := written()
	for name, places := range map[string]string{
		"a label that nobody has":         label("FAKE-99"),
		"a label of another plan":         label(other.Seats[20].Label),
		"another show's seat":             seat(other, 0),
		"another show's seat, of no name": seat(other, 20),
		"no seat at all":                  `"seats":[{"seatId":"` + uuid.NewString() + `"}]`,
		"another show's area":             area(other),
		"a free seat and one that is not": `"seats":[{"label":"` + show.Seats[1].Label + `"},{"label":"FAKE-99"}]`,
		"a free area and a seat not here": area(show) + "," + seat(other, 3),
	} {
		path := "/shows/" + show.ID.String() + "/seats"
		asks := []struct {
			method, path, body string
			caller             []string
		}{
			{"POST", "/reservations", `{"showId":"` + show.ID.String() + `",` + places + `}`, ada},
			{"POST", "/reservations", `{"showId":"` + show.ID.String() + `","customerId":"c",` + places + `}`, nil},
			{"PATCH", hold, `{"add":{` + places + `}}`, ada},
			{"POST", path + "/block", `{"reason":"r",` + places + `}`, nil},
			{"POST", path + "/unblock", `{` + places + `}`, nil},
		}
		if strings.Contains(places, "areas") {
			asks = asks[:3] // only seats are blocked
		}
		for _, ask := range asks {
			r := s.ask(ask.method, ask.path, ask.body, ask.caller...)
			if r.Code != 404 || r.text("code") != "SEAT_NOT_FOUND" || len(r.list("unknownSeats")) != 1 {
				t.Errorf("%s: %s %s: %d %s", name, ask.method, ask.path, r.Code, r.Body)
			}
		}
	}
	if after := written(); after != before {
		t.Errorf("reservations, changes, keys, versions, seats in use: %v, before %v", after, before)
	}
}

// Whatever the way to a seat, one has it and the others are told so.
func TestTheCounterAndThePublicNeverGetTheSameSeat(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	counter, other := openOn(t, db), openOn(t, db)
	const rounds = 60
	show := fixture.Show(t, counter.store, fixture.Options{Seats: rounds})
	ways := []struct {
		status string // of the seat, when this way was the first
		take   func(public *site, label string) reply
	}{
		{"held", func(public *site, label string) reply {
			return public.ask("POST", "/reservations", held(show.ID, label), as(uuid.NewString())...)
		}},
		{"booked", func(_ *site, label string) reply {
			r := counter.ask("POST", "/reservations", strings.TrimSuffix(held(show.ID, label), "}")+`,"customerId":"at the counter"}`)
			if r.Code != 201 {
				return r
			}
			return counter.ask("POST", "/reservations/"+r.text("reservationId")+"/confirm", `{"paymentMethod":"cash","paymentReference":"till 1"}`)
		}},
		{"blocked", func(_ *site, label string) reply {
			return counter.ask("POST", "/shows/"+show.ID.String()+"/seats/block", `{"seats":[{"label":"`+label+`"}],"reason":"house seat"}`)
		}},
	}
	want := map[string]string{}
	for i, seat := range show.Seats {
		public := []*site{counter, other}[i%2]
		replies := make([]reply, len(ways))
		gate := make(chan struct{})
		var group sync.WaitGroup
		for j, way := range ways {
			group.Go(func() {
				<-gate
				replies[j] = way.take(public, seat.Label)
			})
		}
		close(gate)
		group.Wait()
		for j, r := range replies {
			switch {
			case r.Code == 201 && want[seat.Label] == "":
				want[seat.Label] = ways[j].status
			case r.Code == 409 && r.text("code") == "SEAT_ALREADY_RESERVED" && r.field("unavailableSeats.0.label") == seat.Label:
			default:
				t.Errorf("%s, by the way to %s: %d %s", seat.Label, ways[j].status, r.Code, r.Body)
			}
		}
	}
	for _, seat := range counter.must("GET", "/shows/"+show.ID.String()+"/seats?minVersion="+fmt.Sprint(rounds), "").list("seats") {
		seat := seat.(map[string]any)
		if label := seat["label"].(string); seat["status"] != want[label] || want[label] == "" {
			t.Errorf("%s is %v, and %q had it first", label, seat["status"], want[label])
		}
	}
}

func TestReservationLifecycle(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{Seats: 10, Floor: 4})
	ada, bob := as(uuid.NewString()), as(uuid.NewString())
	a, b, c := show.Seats[0].Label, show.Seats[1].Label, show.Seats[2].Label
	first := s.ask("POST", "/reservations", held(show.ID, a, b), ada...)
	path := "/reservations/" + first.text("reservationId")

	changed := s.ask("PATCH", path, `{"add":{"seats":[{"label":"`+c+`"}]},"remove":{"seats":[{"label":"`+a+`"}]}}`, ada...)
	if changed.Code != 200 || changed.tree["seatCount"] != 2.0 || changed.tree["expiresAt"] != first.tree["expiresAt"] {
		t.Error(changed.Code, changed.Body)
	}
	if r := s.ask("POST", "/reservations", held(show.ID, a), bob...); r.Code != 201 {
		t.Error("what was removed is not free at once:", r.Code, r.Body)
	}
	if r := s.ask("PATCH", path, `{"remove":{"seats":[{"label":"`+b+`"},{"label":"`+c+`"}]}}`, ada...); r.Code != 422 {
		t.Error("the last place was removed:", r.Code, r.Body)
	}
	extended := s.ask("POST", path+"/extend", "", ada...)
	if extended.Code != 200 || extended.text("expiresAt") <= first.text("expiresAt") {
		t.Error(extended.Code, extended.Body)
	}
	for range 2 { // a second time changes nothing
		if r := s.ask("DELETE", path, "", ada...); r.Code != 204 || r.Body.Len() != 0 {
			t.Error(r.Code, r.Body)
		}
	}
	if r := s.ask("POST", path+"/extend", "", ada...); r.Code != 409 || r.text("code") != "RESERVATION_NOT_ACTIVE" || r.text("reservationStatus") != "cancelled" {
		t.Error(r.Code, r.Body)
	}
	if r := s.ask("GET", path, "", ada...); r.text("status") != "cancelled" || r.tree["expiresInSeconds"] != 0.0 {
		t.Error(r.Body)
	}

	// The box office lists holds, and frees one.
	list := s.ask("GET", "/reservations?status=active&showId="+show.ID.String(), "")
	if list.Code != 200 || len(list.list("reservations")) != 1 {
		t.Fatal(list.Code, list.Body)
	}
	if r := s.ask("DELETE", "/reservations/"+list.field("reservations.0.reservationId").(string), ""); r.Code != 204 {
		t.Error(r.Code, r.Body)
	}
	if r := s.ask("GET", "/reservations?customerId="+bob[1], "", ada...); r.Code != 403 {
		t.Error(r.Code, r.Body)
	}
	// Pages hang together.
	page := s.ask("GET", "/reservations?limit=1", "")
	rest := s.ask("GET", "/reservations?limit=1&cursor="+page.text("nextCursor"), "")
	if len(page.list("reservations")) != 1 || len(rest.list("reservations")) != 1 || rest.tree["nextCursor"] != nil ||
		page.field("reservations.0.reservationId") == rest.field("reservations.0.reservationId") {
		t.Error(page.Body, rest.Body)
	}

	// After a pause nothing new is held, and what is held is released.
	last := s.ask("POST", "/reservations", held(show.ID, c), ada...)
	s.must("POST", "/shows/"+show.ID.String()+"/pause", "")
	if r := s.ask("POST", "/reservations", held(show.ID, a), bob...); r.Code != 409 || r.text("code") != "SHOW_NOT_ON_SALE" || r.text("reason") != "paused" {
		t.Error(r.Code, r.Body)
	}
	if r := s.ask("POST", "/reservations/"+last.text("reservationId")+"/extend", "", ada...); r.Code != 409 {
		t.Error(r.Code, r.Body)
	}
	if r := s.ask("DELETE", "/reservations/"+last.text("reservationId"), "", ada...); r.Code != 204 {
		t.Error(r.Code, r.Body)
	}
}

func TestIdempotency(t *testing.T) {
	t.Parallel()

	t.Run("a missing or malformed key is 422 before any transaction begins", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		show := fixture.Show(t, s.store, fixture.Options{})
		ada := as(uuid.NewString())
		malformed := map[string]string{
			"missing":     "",
			"hyphenated":  uuid.NewString(),
			"upper-case":  strings.ToUpper(newKey()),
			"version 1":   strings.ReplaceAll(uuid.Must(uuid.NewUUID()).String(), "-", ""),
			"bad variant": "0123456789ab4def0123456789abcdef",
			"too long":    newKey() + "0",
		}
		if n := fixture.Connections(s.store, func() {
			for name, key := range malformed {
				r := s.ask("POST", "/reservations", held(show.ID, show.Seats[0].Label), withKey(ada, key)...)
				if r.Code != 422 || r.text("code") != "VALIDATION_ERROR" || r.field("violations.0.field") != "Idempotency-Key" ||
					r.field("violations.0.message") != "Idempotency-Key must be a lowercase UUID v4 without hyphens" {
					t.Error(name, r.Code, r.Body)
				}
			}
		}); n != 0 {
			t.Errorf("refusing keys took %d connections", n)
		}
	})

	t.Run("a replay is the same to the byte, for every write on reservations", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		show := fixture.Show(t, s.store, fixture.Options{Floor: 5, Seats: 10})
		ada := as(uuid.NewString())
		place := `{"showId":"` + show.ID.String() + `","seats":[{"label":"` + show.Seats[1].Label + `"}],"areas":[{"areaId":"` + show.Areas[0].ID.String() + `","quantity":2}],"metadata":{"b":"2","a":"1"}}`
		keys := []string{newKey(), newKey(), newKey(), newKey()}
		first := s.ask("POST", "/reservations", place, withKey(ada, keys[0])...)
		path := "/reservations/" + first.text("reservationId")
		steps := []struct{ method, path, body string }{
			{"POST", "/reservations", place},
			{"PATCH", path, `{"add":{"seats":[{"label":"` + show.Seats[2].Label + `"}]}}`},
			{"POST", path + "/extend", ""},
			{"DELETE", path, ""},
		}
		answers := []reply{first}
		for i, step := range steps[1:] {
			answers = append(answers, s.ask(step.method, step.path, step.body, withKey(ada, keys[i+1])...))
		}
		for i, step := range steps {
			again := s.ask(step.method, step.path, step.body, withKey(ada, keys[i])...)
			want := answers[i]
			if again.Code != want.Code || again.Body.String() != want.Body.String() || again.Header().Get("Location") != want.Header().Get("Location") || again.Header().Get("Show-Version") != want.Header().Get("Show-Version") {
				t.Errorf("%s %s:\n%d %s\n%d %s", step.method, step.path, want.Code, want.Body, again.Code, again.Body)
			}
			if again.Header().Get("Idempotency-Replayed") != "true" || want.Header().Get("Idempotency-Replayed") != "" {
				t.Error(step.method, step.path, again.Header(), want.Header())
			}
		}
		if r := s.ask("POST", "/reservations", held(show.ID, show.Seats[5].Label), withKey(ada, keys[0])...); r.Code != 422 || r.text("code") != "IDEMPOTENCY_KEY_REUSED" {
			t.Error("another body:", r.Code, r.Body)
		}
		if r := s.ask("POST", path+"/extend", "", withKey(ada, keys[0])...); r.Code != 422 || r.text("code") != "IDEMPOTENCY_KEY_REUSED" {
			t.Error("another path:", r.Code, r.Body)
		}
		if r := s.ask("POST", "/reservations", held(show.ID, show.Seats[6].Label), withKey(as(uuid.NewString()), keys[0])...); r.Code != 201 || r.Header().Get("Idempotency-Replayed") != "" {
			t.Error("another caller's key is another key:", r.Code, r.Body)
		}
	})

	t.Run("a key is of the operation that it was first sent to", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		show := fixture.Show(t, s.store, fixture.Options{})
		path := "/shows/" + show.ID.String()
		hold := "/reservations/" + s.hold(as(uuid.NewString()), show.ID, show.Seats[0].Label)
		writes := []struct{ method, path, body string }{
			{"POST", "/venues", `{"name":"V","city":"Wien","country":"AT","timeZone":"Europe/Vienna"}`},
			{"POST", "/halls", `{"venueId":"` + show.VenueID.String() + `","name":"H"}`},
			{"POST", "/events", `{"kind":"play","title":"E"}`},
			{"PATCH", "/events/" + show.EventID.String(), `{"title":"E"}`},
			{"PATCH", path, `{"note":"N"}`},
			{"POST", path + "/pause", ""},
			{"POST", path + "/resume", ""},
			{"POST", path + "/seats/block", `{"seats":[{"label":"` + show.Seats[1].Label + `"}],"reason":"r"}`},
			{"POST", "/reservations", strings.TrimSuffix(held(show.ID, show.Seats[2].Label), "}") + `,"customerId":"c"}`},
			{"POST", hold + "/extend", ""},
			{"POST", hold + "/confirm", `{"paymentMethod":"comp"}`},
		}
		for i, first := range writes {
			key := newKey()
			done := s.must(first.method, first.path, first.body, "Idempotency-Key", key)
			for j, w := range writes {
				r := s.ask(w.method, w.path, w.body, "Idempotency-Key", key)
				if j == i {
					s.same(first.method+" "+first.path, done, r)
				} else if r.Code != 422 || r.text("code") != "IDEMPOTENCY_KEY_REUSED" {
					t.Errorf("%s %s with the key of %s %s: %d %s", w.method, w.path, first.method, first.path, r.Code, r.Body)
				}
			}
		}
	})

	t.Run("a refused request may try again with its key", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		show := fixture.Show(t, s.store, fixture.Options{})
		ada, bob := as(uuid.NewString()), as(uuid.NewString())
		first := s.ask("POST", "/reservations", held(show.ID, show.Seats[0].Label), ada...)
		key := newKey()
		if r := s.ask("POST", "/reservations", held(show.ID, show.Seats[0].Label), withKey(bob, key)...); r.Code != 409 {
			t.Fatal(r.Code, r.Body)
		}
		s.ask("DELETE", "/reservations/"+first.text("reservationId"), "", ada...)
		if r := s.ask("POST", "/reservations", held(show.ID, show.Seats[0].Label), withKey(bob, key)...); r.Code != 201 {
			t.Fatal(r.Code, r.Body)
		}
	})
}

// instance is a service of its own on a database that others share.
func instance(t *testing.T, db *pgtest.DB) http.Handler {
	return api.New(api.Options{Log: slog.New(slog.DiscardHandler), Store: fixture.On(t, db), Auth: api.AuthOptions{Mock: true}})
}

func TestTwoThousandBuyersOverHTTP(t *testing.T) {
	t.Parallel()
	for instances := 1; instances <= 2; instances++ {
		t.Run(fmt.Sprintf("on %d instances leave disjoint winners, and every loser overlaps one", instances), func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			show := fixture.Show(t, fixture.On(t, db), fixture.Options{Seats: 400})
			var servers []*httptest.Server
			for range instances {
				srv := httptest.NewServer(instance(t, db))
				t.Cleanup(srv.Close)
				srv.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = 256
				servers = append(servers, srv)
			}
			const buyers = 2000
			wanted, status := make([][]string, buyers), make([]int, buyers)
			var group sync.WaitGroup
			slots := make(chan struct{}, 400) // open connections
			for i := range buyers {
				first := rand.IntN(len(show.Seats))
				for j := range 1 + rand.IntN(5) {
					wanted[i] = append(wanted[i], show.Seats[(first+j*7)%len(show.Seats)].Label)
				}
				group.Go(func() {
					slots <- struct{}{}
					defer func() { <-slots }()
					srv := servers[i%instances]
					body := held(show.ID, wanted[i]...)
					for {
						req, _ := http.NewRequest("POST", srv.URL+"/api/v1/reservations", strings.NewReader(body))
						req.Header.Set("Content-Type", "application/json")
						req.Header.Set("X-Mock-User-Id", uuid.NewString())
						req.Header.Set("Idempotency-Key", newKey())
						res, err := srv.Client().Do(req)
						if err != nil {
							t.Error(err)
							return
						}
						res.Body.Close()
						// A busy test machine may shed; that is an answer, and no loss.
						if status[i] = res.StatusCode; res.StatusCode != http.StatusServiceUnavailable {
							return
						}
						time.Sleep(10 * time.Millisecond)
					}
				})
			}
			group.Wait()
			owner := map[string]int{}
			for i, seats := range wanted {
				switch status[i] {
				case 201:
					for _, seat := range seats {
						if other, taken := owner[seat]; taken {
							t.Fatalf("seat %s was sold to %d and to %d", seat, other, i)
						}
						owner[seat] = i
					}
				case 409:
				default:
					t.Fatalf("buyer %d got %d", i, status[i])
				}
			}
			for i, seats := range wanted {
				if status[i] == 409 && !slices.ContainsFunc(seats, func(seat string) bool { _, taken := owner[seat]; return taken }) {
					t.Fatalf("buyer %d lost although nobody has any of %v", i, seats)
				}
			}
			if len(owner) == 0 {
				t.Fatal("nobody won")
			}
		})
	}
}

func TestFiftyRequestsWithOneKeyMakeOneReservation(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	show := fixture.Show(t, fixture.On(t, db), fixture.Options{})
	doors := []http.Handler{instance(t, db), instance(t, db)}
	ada, key := as(uuid.NewString()), newKey()
	var group sync.WaitGroup
	var mu sync.Mutex
	bodies := map[string]bool{}
	for i := range 50 {
		group.Go(func() {
			r := httptest.NewRequest("POST", "/api/v1/reservations", strings.NewReader(held(show.ID, show.Seats[0].Label)))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-Mock-User-Id", ada[1])
			r.Header.Set("Idempotency-Key", key)
			w := httptest.NewRecorder()
			doors[i%2].ServeHTTP(w, r)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case w.Code == 201:
				bodies[w.Body.String()] = true
			case w.Code == 409 && strings.Contains(w.Body.String(), string(boxoffice.CodeKeyInUse)) && w.Header().Get("Retry-After") != "":
			default:
				t.Error(w.Code, w.Body)
			}
		})
	}
	group.Wait()
	var n int
	if err := db.Pool("").QueryRow(t.Context(), "select count(*) from reservations").Scan(&n); err != nil || n != 1 || len(bodies) != 1 {
		t.Fatal(n, len(bodies), err)
	}
}

func TestSellingFromABlock(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{})
	path, a, b := "/shows/"+show.ID.String(), show.Seats[0].Label, show.Seats[1].Label
	block := s.must("POST", path+"/seats/block", `{"seats":[{"label":"`+a+`"},{"label":"`+b+`"}],"reason":"house seats"}`).text("blockId")
	from := func(block string, seat string) string {
		return strings.TrimSuffix(held(show.ID, seat), "}") + `,"customerId":"friend of the house","fromBlockId":"` + block + `"}`
	}
	if r := s.ask("POST", "/reservations", from(block, a), as(uuid.NewString())...); r.Code != 403 {
		t.Error("a customer sells from a block:", r.Code, r.Body)
	}
	if r := s.ask("POST", "/reservations", from(uuid.NewString(), a)); r.Code != 404 || r.text("code") != "NOT_FOUND" {
		t.Error("a block that is not there:", r.Code, r.Body)
	}
	sold := s.ask("POST", "/reservations", from(block, a))
	if sold.Code != 201 {
		t.Fatal(sold.Code, sold.Body)
	}
	if r := s.ask("POST", path+"/seats/unblock", `{"blockId":"`+block+`"}`); r.Code != 409 || r.field("unavailableSeats.0.label") != a {
		t.Error("a block is opened while a seat of it is being sold:", r.Code, r.Body)
	}
	// Given back, the seat is the block's again, and nobody else's.
	s.must("DELETE", "/reservations/"+sold.text("reservationId"), "")
	if r := s.ask("POST", "/reservations", held(show.ID, a), as(uuid.NewString())...); r.Code != 409 || r.field("unavailableSeats.0.status") != "blocked" {
		t.Error(r.Code, r.Body)
	}
	s.must("POST", path+"/seats/unblock", `{"blockId":"`+block+`"}`)
	if r := s.ask("POST", "/reservations", held(show.ID, a, b), as(uuid.NewString())...); r.Code != 201 {
		t.Error(r.Code, r.Body)
	}
}

func TestStaffOfAnotherOrganisationFindNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := openOn(t, db)
	show := fixture.Show(t, s.store, fixture.Options{})
	ada := as(uuid.NewString())
	path := "/reservations/" + s.must("POST", "/reservations", held(show.ID, show.Seats[0].Label), ada...).text("reservationId")
	const key = "the key of another organisation"
	pool := db.Pool("")
	other := uuid.New()
	if _, err := pool.Exec(t.Context(), "insert into organisations (organisation_id, name) values ($1, 'Other')", other); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), "insert into api_keys (api_key_id, organisation_id, name, prefix, hash, scopes) values (gen_random_uuid(), $1, 'o', 'o', $2, '{admin}')",
		other, boxoffice.HashAPIKey(key)); err != nil {
		t.Fatal(err)
	}
	for _, ask := range []struct{ method, path, body string }{
		{"GET", path, ""},
		{"DELETE", path, ""},
		{"POST", path + "/extend", ""},
		{"PATCH", path, `{"add":{"seats":[{"label":"` + show.Seats[1].Label + `"}]}}`},
		{"POST", "/reservations", strings.TrimSuffix(held(show.ID, show.Seats[2].Label), "}") + `,"customerId":"c"}`},
		{"POST", "/shows/" + show.ID.String() + "/pause", ""},
		{"POST", "/shows/" + show.ID.String() + "/seats/block", `{"seats":[{"label":"` + show.Seats[3].Label + `"}],"reason":"r"}`},
	} {
		if r := s.ask(ask.method, ask.path, ask.body, "X-API-Key", key); r.Code != 404 {
			t.Errorf("%s %s: %d %s", ask.method, ask.path, r.Code, r.Body)
		}
	}
	if r := s.ask("GET", "/reservations", "", "X-API-Key", key); len(r.list("reservations")) != 0 {
		t.Error(r.Body)
	}
	if r := s.ask("GET", path, "", ada...); r.text("status") != "active" {
		t.Error(r.Body)
	}
}
