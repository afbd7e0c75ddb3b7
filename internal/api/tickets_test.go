package api_test

import (
	"bytes"
	"fmt"
	"image/png"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
)

// scan is a scan of a ticket's code.
func scan(code, id string, more ...string) string {
	return `{"code":"` + code + `","scanId":"` + id + `"` + strings.Join(more, "") + `}`
}

func code(r reply, i int) string { return r.field(fmt.Sprintf("tickets.%d.code", i)).(string) }

func TestCheckIn(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := openOn(t, db)
	show := fixture.Show(t, s.store, fixture.Options{Seats: 20})
	me := as(uuid.NewString())
	k := s.must("POST", "/bookings", buying(s.hold(me, show.ID, "Stalls-A-1", "Stalls-A-2", "Stalls-A-3", "Stalls-A-4", "Stalls-A-5"), "sbx_ok", `,"holders":["Ada"]`), me...)
	at := "/tickets/check-in"
	rows := func() (n int) {
		t.Helper()
		if err := db.Pool("").QueryRow(t.Context(), "select count(*) from scans").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}

	t.Run("is for the door", func(t *testing.T) {
		if r := s.ask("POST", at, scan(code(k, 0), uuid.NewString()), me...); r.Code != 403 {
			t.Error(r.Code, r.Body)
		}
	})
	t.Run("admits once at two gates at once, and each scan is answered the same again", func(t *testing.T) { // C81
		scans := []string{uuid.NewString(), uuid.NewString()}
		var answers [2]reply
		var group sync.WaitGroup
		for i, id := range scans {
			group.Go(func() { answers[i] = s.must("POST", at, scan(code(k, 0), id, `,"gate":"`+fmt.Sprint("gate ", i)+`"`)) })
		}
		group.Wait()
		first, second := 0, 1
		if answers[0].text("result") != "admitted" {
			first, second = 1, 0
		}
		if a, b := answers[first], answers[second]; a.text("result") != "admitted" || a.tree["admitted"] != true || a.field("ticket.holderName") != "Ada" || a.field("ticket.label") != "Stalls-A-1" ||
			b.text("result") != "already_used" || b.tree["admitted"] != false || b.text("firstGate") != fmt.Sprint("gate ", first) || b.text("firstUsedAt") != a.text("at") {
			t.Error(a.Body, b.Body)
		}
		for i, id := range scans {
			if r := s.must("POST", at, scan(code(k, 0), id, `,"gate":"elsewhere"`)); r.Body.String() != answers[i].Body.String() {
				t.Errorf("the same scan again:\n%s\n%s", answers[i].Body, r.Body)
			}
		}
		if rows() != 2 {
			t.Error(rows())
		}
		if r := s.must("GET", "/tickets/"+ticketID(k, 0), "", me...); r.text("status") != "used" || r.text("usedGate") != fmt.Sprint("gate ", first) {
			t.Error(r.Body)
		}
		if r := s.ask("POST", at, scan(code(k, 1), scans[0])); r.Code != 422 {
			t.Error("one scan of two tickets:", r.Code, r.Body)
		}
	})
	t.Run("a key that is sent again is answered the same", func(t *testing.T) {
		key, body := newKey(), scan(code(k, 4), uuid.NewString())
		first := s.must("POST", at, body, "Idempotency-Key", key)
		s.same("check-in", first, s.must("POST", at, body, "Idempotency-Key", key))
	})
	t.Run("what is forged, altered or of another show is told, and not kept", func(t *testing.T) { // C84
		before := rows()
		altered := []byte(code(k, 1))
		altered[30] ^= 1
		for _, wrong := range []string{"nonsense", ticketID(k, 1), string(altered), code(k, 1)[1:], code(k, 1) + " ", "李小龍"} {
			if r := s.must("POST", at, scan(wrong, uuid.NewString())); r.text("result") != "invalid" || r.tree["admitted"] != false || r.tree["ticket"] != nil {
				t.Error(wrong, r.Body)
			}
		}
		if r := s.must("POST", at, scan(code(k, 1), uuid.NewString(), `,"showId":"`+uuid.NewString()+`"`)); r.text("result") != "wrong_show" || r.tree["ticket"] != nil {
			t.Error(r.Body)
		}
		if rows() != before {
			t.Error("kept", rows()-before)
		}
		if r := s.must("POST", at, scan(strings.ToLower(code(k, 1)), uuid.NewString(), `,"showId":"`+show.ID.String()+`"`)); r.text("result") != "admitted" {
			t.Error("in small letters:", r.Body)
		}
	})
	t.Run("void wins over used", func(t *testing.T) { // C84
		s.must("POST", path(k)+"/cancel", `{"ticketIds":["`+ticketID(k, 1)+`"]}`)
		if r := s.must("POST", at, scan(code(k, 1), uuid.NewString())); r.text("result") != "void" || r.tree["admitted"] != false {
			t.Error(r.Body)
		}
		for _, picture := range []string{"/qr.svg", "/qr.png"} {
			if r := s.ask("GET", "/tickets/"+ticketID(k, 1)+picture, ""); r.Code != 409 || r.text("code") != "CONFLICT" {
				t.Error(picture, r.Code, r.Body)
			}
		}
		if r := s.must("GET", "/tickets/"+ticketID(k, 1), "", me...); r.text("status") != "void" || r.tree["code"] != nil {
			t.Error(r.Body)
		}
	})
	t.Run("what a device did without a network is kept as it happened, and marked", func(t *testing.T) { // C83
		s.must("POST", path(k)+"/cancel", `{"ticketIds":["`+ticketID(k, 2)+`"]}`)
		late := s.must("POST", at, scan(code(k, 2), uuid.NewString(), `,"gate":"shed","at":"`+time.Now().UTC().Format(time.RFC3339Nano)+`"`))
		if late.text("result") != "void" || late.tree["admitted"] != true || late.tree["shouldNotHaveBeenAdmitted"] != true || late.tree["offline"] != true {
			t.Error(late.Body)
		}
		earlier := s.must("POST", at, scan(code(k, 3), uuid.NewString(), `,"gate":"shed","at":"`+soon(-time.Hour)+`"`))
		again := s.must("POST", at, scan(code(k, 3), uuid.NewString(), `,"gate":"hall"`))
		if earlier.text("result") != "admitted" || earlier.tree["shouldNotHaveBeenAdmitted"] != false || again.text("result") != "already_used" || again.text("firstUsedAt") != soon(-time.Hour) && again.text("firstGate") != "shed" {
			t.Error(earlier.Body, again.Body)
		}
		if r := s.ask("POST", at, scan(code(k, 3), uuid.NewString(), `,"at":"`+soon(time.Hour)+`"`)); r.Code != 422 {
			t.Error("a scan of the future:", r.Code, r.Body)
		}
	})
	t.Run("is counted by gate and by head", func(t *testing.T) {
		r := s.must("GET", "/shows/"+show.ID.String()+"/admissions", "")
		// The first, the fifth, the second in small letters, the third and the fourth at the shed.
		if r.tree["heads"] != 5.0 || r.tree["entries"] != 5.0 || r.tree["flagged"] != 1.0 || r.tree["tickets"] != 3.0 || r.tree["refused"] != 3.0 {
			t.Error(r.Body)
		}
		heads := map[string]any{}
		for _, g := range r.list("gates") {
			heads[g.(map[string]any)["gate"].(string)] = g.(map[string]any)["heads"]
		}
		if heads["shed"] != 2.0 || heads["hall"] != 0.0 {
			t.Error(heads)
		}
		if r := s.ask("GET", "/shows/"+show.ID.String()+"/admissions", "", me...); r.Code != 403 {
			t.Error(r.Code, r.Body)
		}
	})
}

func TestScansAreCounted(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{})
	k := s.buy(as(uuid.NewString()), show.ID, "Stalls-A-1")
	key, body := newKey(), scan(code(k, 0), uuid.NewString())
	for range 2 {
		s.must("POST", "/tickets/check-in", body, "Idempotency-Key", key)
	}
	s.must("POST", "/tickets/check-in", scan(code(k, 0), uuid.NewString()))
	s.must("POST", "/tickets/check-in", scan("nonsense", uuid.NewString()))
	w := httptest.NewRecorder()
	s.metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, result := range []string{"admitted", "already_used", "invalid"} {
		if line := `rowlock_check_ins_total{result="` + result + `"} 1`; !strings.Contains(w.Body.String(), line) {
			t.Error("no line", line)
		}
	}
}

func TestTheDoorSeesNamesAndNoCodes(t *testing.T) {
	t.Parallel()
	s := open(t)
	const door = "key of the door"
	if err := s.store.EnsureAPIKey(t.Context(), door, "door", []boxoffice.Scope{boxoffice.ScopeCheckin}); err != nil {
		t.Fatal(err)
	}
	show := fixture.Show(t, s.store, fixture.Options{})
	me := as(uuid.NewString())
	k := s.must("POST", "/bookings", buying(s.hold(me, show.ID, "Stalls-A-1"), "sbx_ok", `,"holders":["Ada"]`), me...)
	if r := s.must("GET", "/tickets/"+ticketID(k, 0), "", "X-API-Key", door); r.text("holderName") != "Ada" || r.tree["code"] != nil {
		t.Error(r.Body)
	}
	for _, path := range []string{path(k), "/tickets/" + ticketID(k, 0) + "/qr.svg"} {
		if r := s.ask("GET", path, "", "X-API-Key", door); r.Code != 404 {
			t.Error(path, r.Code, r.Body)
		}
	}
	for _, ask := range [][3]string{{"GET", "/bookings", ""}, {"DELETE", path(k), ""}, {"PATCH", "/tickets/" + ticketID(k, 0), `{"holderName":"M"}`}, {"POST", path(k) + "/refunds", "{}"}} {
		if r := s.ask(ask[0], ask[1], ask[2], "X-API-Key", door); r.Code != 403 {
			t.Error(ask, r.Code, r.Body)
		}
	}
	if r := s.must("POST", "/tickets/check-in", scan(code(k, 0), uuid.NewString()), "X-API-Key", door); r.text("result") != "admitted" {
		t.Error(r.Body)
	}
}

// C27: nothing but the name changes, and no place is needed.
func TestNamingATicketOfASoldOutShow(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{Seats: 2})
	me := as(uuid.NewString())
	k := s.buy(me, show.ID, "Stalls-A-1", "Stalls-A-2")
	version := s.must("GET", "/shows/"+show.ID.String(), "").tree["version"]
	at := "/tickets/" + ticketID(k, 0)
	before := s.must("GET", at, "", me...)
	key := newKey()
	first := s.must("PATCH", at, `{"holderName":"  Nguye\u0302\u0303n Thị Ánh "}`, withKey(me, key)...)
	if first.text("holderName") != "Nguyễn Thị Ánh" || first.text("code") != before.text("code") || first.tree["price"] != before.tree["price"] {
		t.Error(first.Body)
	}
	s.same("naming", first, s.must("PATCH", at, `{"holderName":"  Nguye\u0302\u0303n Thị Ánh "}`, withKey(me, key)...))
	for _, none := range []string{`null`, `""`, `"  "`} {
		s.must("PATCH", at, `{"holderName":"X"}`)
		if r := s.must("PATCH", at, `{"holderName":`+none+`}`, me...); r.tree["holderName"] != nil {
			t.Error(none, r.Body)
		}
	}
	if now := s.must("GET", "/shows/"+show.ID.String(), ""); now.tree["version"] != version || now.tree["soldOut"] != true {
		t.Error(now.Body)
	}
}

func TestTicketsOnPaperAndScreens(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{Seats: 4, Floor: 4})
	me := as(uuid.NewString())
	hold := s.must("POST", "/reservations", `{"showId":"`+show.ID.String()+`","seats":[{"label":"Stalls-A-1"}],"areas":[{"areaId":"`+show.Areas[0].ID.String()+`","quantity":1}]}`, me...)
	k := s.must("POST", "/bookings", buying(hold.text("reservationId"), "sbx_ok"), me...)
	mine := []string{"X-Mock-User-Id", me[1]}
	svg := s.raw("GET", "/tickets/"+ticketID(k, 0)+"/qr.svg", mine...)
	if svg.Code != 200 || svg.Header().Get("Content-Type") != "image/svg+xml" || !strings.HasPrefix(svg.Body.String(), "<svg") || svg.Header().Get("Cache-Control") != "private, no-store" {
		t.Error(svg.Code, svg.Header())
	}
	for query, side := range map[string]int{"": 512, "?size=300": 300, "?size=64": 64} {
		picture := s.raw("GET", "/tickets/"+ticketID(k, 1)+"/qr.png"+query, mine...)
		img, err := png.Decode(bytes.NewReader(picture.Body.Bytes()))
		if err != nil || img.Bounds().Dx() != side || picture.Header().Get("Content-Type") != "image/png" {
			t.Error(query, picture.Code, picture.Header(), err)
		}
	}
	if r := s.ask("GET", "/tickets/"+ticketID(k, 1)+"/qr.png?size=63", "", me...); r.Code != 422 {
		t.Error(r.Code, r.Body)
	}
	sizes := map[string]bool{}
	for _, lang := range []string{"", "de-AT, en;q=0.5", "ar", "xx-nonsense!!"} {
		pdf := s.raw("GET", path(k)+"/tickets.pdf", append(mine, "Accept-Language", lang)...)
		if pdf.Code != 200 || !strings.HasPrefix(pdf.Body.String(), "%PDF-") || !strings.Contains(pdf.Header().Get("Content-Disposition"), k.text("reference")) {
			t.Error(lang, pdf.Code, pdf.Header())
		}
		sizes[fmt.Sprint(pdf.Body.Len())] = true
	}
	if len(sizes) < 3 {
		t.Error("all languages look the same")
	}
	if list := s.must("GET", path(k)+"/tickets", "", me...); len(list.list("tickets")) != 2 || list.field("tickets.1.areaId") == nil || list.field("tickets.0.code") != code(k, 0) {
		t.Error(list.Body)
	}
	s.must("DELETE", path(k), "")
	if r := s.ask("GET", path(k)+"/tickets.pdf", "", me...); r.Code != 409 {
		t.Error(r.Code, r.Body)
	}
}

func TestTheTicketsOfAGroupArePrintedInParts(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{Floor: 210, Edit: func(n *store.NewShow) { n.MaxPlacesPerReservation = 210 }})
	me := as(uuid.NewString())
	hold := s.must("POST", "/reservations", `{"showId":"`+show.ID.String()+`","areas":[{"areaId":"`+show.Areas[0].ID.String()+`","quantity":205}]}`, me...)
	k := s.must("POST", "/bookings", buying(hold.text("reservationId"), "sbx_ok"), me...)
	s.must("POST", path(k)+"/cancel", `{"ticketIds":["`+ticketID(k, 202)+`"]}`)
	for query, pages := range map[string]int{"?from=201": 2, "?from=201&limit=200": 2, "?limit=3": 2, "?from=203&limit=2": 1} {
		pdf := s.raw("GET", path(k)+"/tickets.pdf"+query, "X-Mock-User-Id", me[1])
		if got := strings.Count(pdf.Body.String(), "/Type/Page/Parent"); pdf.Code != 200 || got != pages {
			t.Error(query, pdf.Code, got, "pages")
		}
	}
	for query, field := range map[string]string{"": "limit", "?from=4": "limit", "?limit=201": "limit", "?limit=0": "limit", "?from=0": "from"} {
		if r := s.ask("GET", path(k)+"/tickets.pdf"+query, "", me...); r.Code != 422 || r.text("code") != "VALIDATION_ERROR" || !slices.Contains(r.fields(), field) {
			t.Error(query, r.Code, r.Body)
		}
	}
	for _, query := range []string{"?from=206", "?from=203&limit=1"} {
		if r := s.ask("GET", path(k)+"/tickets.pdf"+query, "", me...); r.Code != 409 {
			t.Error(query, r.Code, r.Body)
		}
	}
}
