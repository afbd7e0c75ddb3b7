package api_test

import (
	"testing"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

func TestTheFiguresOfASaleAddUp(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, hall := s.hall()
	show := s.show(s.event("Hamlet"), s.plan(hall, "section,row,seat,category\nS,A,1,Front\nS,A,2,Front\nS,A,3,Front\nS,B,1,Back\n"))
	path := "/shows/" + show + "/sales"
	figures := func(want map[string]float64) reply {
		t.Helper()
		r := s.must("GET", path, "")
		for name, n := range want {
			if r.field(name) != n {
				t.Errorf("%s is %v, want %v: %s", name, r.field(name), n, r.Body)
			}
		}
		return r
	}
	if r := figures(map[string]float64{"soldPlaces": 0, "holds": 0, "takenAmount": 0}); len(r.list("minutes")) != 0 || r.text("currency") != "EUR" {
		t.Errorf("%s", r.Body)
	}
	hold := func(seats string) string {
		return s.must("POST", "/reservations", `{"showId":"`+show+`","customerId":"ada","seats":[`+seats+`]}`).text("reservationId")
	}
	hold(`{"label":"S-B-1"}`)
	bought := hold(`{"label":"S-A-1"},{"label":"S-A-2"}`)
	figures(map[string]float64{"holds": 2, "heldPlaces": 3, "heldAmount": 10500, "soldPlaces": 0})
	booking := s.must("POST", "/reservations/"+bought+"/confirm", `{"paymentMethod":"cash","paymentReference":"till 1"}`)
	r := figures(map[string]float64{
		"holds": 1, "heldPlaces": 1, "bookings": 1, "soldPlaces": 2, "soldAmount": 8000, "takenAmount": 8000, "refundedAmount": 0,
		"minutes.0.places": 2, "minutes.0.bookings": 1, "minutes.0.amount": 8000,
	})
	if r.field("version") != s.must("GET", "/shows/"+show, "").field("version") {
		t.Errorf("%s", r.Body)
	}
	ticket := booking.field("tickets.0.ticketId").(string)
	s.must("POST", "/bookings/"+booking.text("bookingId")+"/cancel", `{"ticketIds":["`+ticket+`"]}`)
	figures(map[string]float64{"soldPlaces": 1, "soldAmount": 4000, "takenAmount": 8000, "refundedAmount": 4000, "bookings": 1, "minutes.0.places": 2})

	checkin, _ := s.key(boxoffice.ScopeCheckin)
	s.wantCode(s.ask("GET", path, "", "X-API-Key", checkin), boxoffice.CodeForbidden)
	s.wantCode(s.ask("GET", "/shows/"+hall+"/sales", ""), boxoffice.CodeNotFound)
}

func TestAPlanIsCheckedWithoutBeingImported(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, hall := s.hall()
	check := func(format, kind, document string) reply {
		t.Helper()
		return s.must("POST", "/plans/check?format="+format, document, "Content-Type", kind, "Idempotency-Key", "")
	}
	r := check("csv", "text/csv", "section,row,seat,category,x,y\nS,A,1,Front,10,20\nS,A,1,Front,30,20\nS,A,,Front,50,20\nS,A,4,,,\n")
	if r.field("ok") != false || r.field("problemCount") != 3.0 || len(r.list("seats")) != 4 {
		t.Fatalf("%s", r.Body)
	}
	for path, want := range map[string]any{
		"problems.0.path": "line 5", "problems.0.seat": 3.0, "problems.1.path": "line 4", "problems.1.seat": 2.0, "problems.2.seat": 1.0,
		"seats.1.label": "S-A-1", "seats.1.x": 30.0, "seats.1.category": "Front", "seats.3.category": "", "seats.3.x": nil, "categories.0": "Front",
	} {
		if got := r.field(path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	// What breaks off is drawn as far as it was read.
	r = check("rowlock", "application/json", `{"rowlockPlan":1,"sections":[{"name":"S","category":"P","rows":[{"name":"A","seats":[{"seat":"1"},{"seat":`)
	if r.field("ok") != false || r.field("seats.0.label") == nil || len(r.list("problems")) == 0 {
		t.Errorf("%s", r.Body)
	}
	if r = check("csv", "text/csv", "section,row,seat,category\nS,A,1,Front\n"); r.field("ok") != true || len(r.list("problems")) != 0 {
		t.Errorf("%s", r.Body)
	}
	if r := s.must("GET", "/halls/"+hall+"/plans", ""); len(r.list("plans")) != 0 {
		t.Errorf("imported: %s", r.Body)
	}
	sales, _ := s.key(boxoffice.ScopeSalesRead)
	s.wantCode(s.ask("POST", "/plans/check?format=csv", "x", "Content-Type", "text/csv", "X-API-Key", sales), boxoffice.CodeForbidden)
}
