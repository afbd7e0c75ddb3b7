package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/sql/ops"
)

func waiting(party int, more ...string) string {
	return fmt.Sprintf(`{"partySize":%d,"buyer":%s%s}`, party, ada, strings.Join(more, ""))
}

func (s *site) entry(caller []string, joined reply) reply {
	s.t.Helper()
	return s.must("GET", "/waitlist/"+joined.text("entryId"), "", caller...)
}

// The whole story: sold out, two parties wait, a booking is cancelled, the
// earliest that fits is offered the places and the other told why not; the
// offer lapses and passes on, is bought, and is spent whatever follows.
func TestAWaitlistFromSoldOutToSpent(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := openOn(t, db)
	show := fixture.Show(t, s.store, fixture.Options{Seats: 4, Edit: func(n *store.NewShow) {
		n.OfferSeconds, n.Facts.Cancellation = 1, &boxoffice.Cancellation{RefundPercent: 100}
	}})
	at := "/shows/" + show.ID.String()
	owner, other := as(uuid.NewString()), as(uuid.NewString())
	ann, bob, cyd := as(uuid.NewString()), as(uuid.NewString()), as(uuid.NewString())

	// While there are places for the party, there is nothing to wait for.
	sold := s.buy(owner, show.ID, "Stalls-A-1", "Stalls-A-2")
	if r := s.ask("POST", at+"/waitlist", waiting(2), ann...); r.text("code") != "PLACES_AVAILABLE" || r.field("available") != 2.0 {
		t.Fatalf("two are free: %d %s", r.Code, r.Body)
	}
	s.buy(other, show.ID, "Stalls-A-3", "Stalls-A-4")
	key := newKey()
	first := s.ask("POST", at+"/waitlist", waiting(3), withKey(ann, key)...)
	if first.Code != 201 || first.text("status") != "waiting" || first.text("reason") != "sold_out" || first.field("position") != 1.0 ||
		first.Header().Get("Location") != "/api/v1/waitlist/"+first.text("entryId") || first.Header().Get("Show-Version") == "" {
		t.Fatal(first.Code, first.Header(), first.Body)
	}
	second := s.must("POST", at+"/waitlist", waiting(2, `,"categories":["Back","Front"]`), bob...)
	third := s.must("POST", at+"/waitlist", waiting(1), cyd...)
	if r := s.ask("POST", at+"/waitlist", waiting(1), ann...); r.text("code") != "ALREADY_ON_WAITLIST" || r.text("waitlistEntryId") != first.text("entryId") {
		t.Errorf("a second entry: %d %s", r.Code, r.Body)
	}
	if r := s.ask("GET", "/waitlist/"+first.text("entryId"), "", bob...); r.Code != 404 {
		t.Errorf("somebody else's entry: %d", r.Code)
	}
	if r := s.ask("GET", at+"/waitlist", "", ann...); r.Code != 403 {
		t.Errorf("a customer lists: %d", r.Code)
	}

	// A booking is cancelled: the second party fits, the first is passed over.
	s.must("POST", path(sold)+"/cancel", `{}`, owner...)
	if r := s.entry(ann, first); r.text("status") != "waiting" || r.text("reason") != "too_few_left" || r.field("available") != 2.0 || r.field("position") != 1.0 {
		t.Errorf("the first: %s", r.Body)
	}
	offered := s.entry(bob, second)
	if offered.text("status") != "offered" {
		t.Fatal(offered.Body)
	}
	reservation := offered.field("offer.reservationId").(string)
	hold := s.must("GET", "/reservations/"+reservation, "", bob...)
	if hold.text("waitlistEntryId") != second.text("entryId") || hold.field("seatCount") != 2.0 || hold.field("totalAmount") != 2.0*fixture.FrontPrice {
		t.Errorf("the offer: %s", hold.Body)
	}
	if r := s.ask("POST", "/reservations", held(show.ID, "Stalls-A-1"), owner...); r.text("code") != "SEAT_ALREADY_RESERVED" {
		t.Errorf("a buyer past those who wait: %d %s", r.Code, r.Body)
	}
	list := s.must("GET", at+"/waitlist", "")
	if list.field("waiting") != 2.0 || list.field("entries.0.reason") != "too_few_left" || list.field("entries.1.status") != "offered" ||
		list.field("entries.2.reason") != "others_first" || list.field("entries.0.buyer.name") != "Ada Lovelace" {
		t.Errorf("the list: %s", list.Body)
	}
	if r := s.must("GET", at+"/waitlist?status=waiting&limit=1", ""); len(r.list("entries")) != 1 || r.text("nextCursor") == "" {
		t.Errorf("a page: %s", r.Body)
	} else if r := s.must("GET", at+"/waitlist?status=waiting&limit=1&cursor="+r.text("nextCursor"), ""); r.field("entries.0.entryId") != third.text("entryId") || r.text("nextCursor") != "" {
		t.Errorf("the next: %s", r.Body)
	}

	// Nobody comes for it: at its end it passes on, to the third, who fits.
	if _, err := db.Pool("").Exec(t.Context(), "select pg_sleep(extract(epoch from expires_at - clock_timestamp()) + 0.001) from reservations where reservation_id = $1", reservation); err != nil {
		t.Fatal(err)
	}
	if r := s.entry(bob, second); r.text("status") != "lapsed" {
		t.Errorf("over by the clock alone: %s", r.Body)
	}
	s.must("PATCH", at, `{"offerSeconds":600}`)
	if closed, err := s.store.ExpireReservations(t.Context(), show.ID, boxoffice.ReasonExpired); err != nil {
		t.Fatal(closed, err)
	}
	passed := s.entry(cyd, third)
	if passed.text("status") != "offered" {
		t.Fatal(passed.Body)
	}
	// Bought, it is spent: that it is given back later changes nothing for the
	// entry, and the place goes on.
	bought := s.must("POST", "/bookings", buying(passed.field("offer.reservationId").(string), "sbx_ok"), cyd...)
	if r := s.entry(cyd, third); bought.Code != 201 || r.text("status") != "accepted" {
		t.Fatal(bought.Code, r.Body)
	}
	// Who let their offer lapse may wait again, behind the others. One place is
	// left over, and on sale to everybody.
	behind := s.must("POST", at+"/waitlist", waiting(2), bob...)
	if behind.field("position") != 2.0 || behind.text("reason") != "too_few_left" || behind.field("available") != 1.0 {
		t.Errorf("again: %s", behind.Body)
	}
	s.must("POST", path(bought)+"/cancel", `{}`, cyd...)
	if r := s.entry(bob, behind); r.text("status") != "offered" {
		t.Errorf("the two that are free now: %s", r.Body)
	}
	if r := s.entry(cyd, third); r.text("status") != "accepted" {
		t.Errorf("a refund brought the entry back: %s", r.Body)
	}

	again := s.ask("POST", at+"/waitlist", waiting(3), withKey(ann, key)...)
	s.same("joining", first, again)
	for range 2 {
		if r := s.ask("DELETE", "/waitlist/"+first.text("entryId"), "", ann...); r.Code != 204 {
			t.Error(r.Code, r.Body)
		}
	}
	if r := s.entry(ann, first); r.text("status") != "left" || r.field("position") != nil {
		t.Errorf("who left: %s", r.Body)
	}
	changes := s.must("GET", "/changes?type=waitlist.joined&showId="+show.ID.String(), "")
	if n := len(changes.list("changes")); n != 4 || changes.field("changes.0.object.kind") != "waitlist" || !strings.Contains(changes.field("changes.0.note").(string), first.text("entryId")) {
		t.Errorf("%d joined: %s", n, changes.Body)
	}
	broken, err := ops.Prove(t.Context(), db.Pool(store.RoleOps))
	if err != nil || len(broken) > 0 {
		t.Error(broken, err)
	}
}

func TestAWaitlistIsForCustomersOfTheShow(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fixture.Show(t, s.store, fixture.Options{Seats: 2, Floor: 8})
	at := "/shows/" + show.ID.String() + "/waitlist"
	s.buy(as(uuid.NewString()), show.ID, "Stalls-A-1", "Stalls-A-2")
	s.must("PATCH", "/shows/"+show.ID.String()+"/areas/"+show.Areas[0].ID.String(), `{"capacity":6}`)
	s.must("POST", "/reservations", `{"showId":"`+show.ID.String()+`","customerId":"crowd","areas":[{"areaId":"`+show.Areas[0].ID.String()+`","quantity":6}]}`)
	me := as(uuid.NewString())
	for body, want := range map[string]string{
		waiting(6):                                         "TOO_MANY_SEATS",
		waiting(5, `,"categories":["Front"]`):              "VALIDATION_ERROR",
		waiting(1, `,"categories":["Upper circle"]`):       "VALIDATION_ERROR",
		waiting(1, `,"customerId":"somebody-else"`):        "FORBIDDEN",
		`{"partySize":1,"buyer":{"name":"A","email":"a"}}`: "VALIDATION_ERROR",
	} {
		if r := s.ask("POST", at, body, me...); r.text("code") != want {
			t.Errorf("%s: %d %s", body, r.Code, r.Body)
		}
	}
	if r := s.ask("POST", at, waiting(1)); r.text("code") != "VALIDATION_ERROR" {
		t.Errorf("nobody in particular: %d %s", r.Code, r.Body)
	}
	// The box office writes somebody down, and takes them off.
	staffed := s.must("POST", at, waiting(1, `,"customerId":"by-phone"`))
	if staffed.text("customerId") != "by-phone" {
		t.Error(staffed.Body)
	}
	if r := s.ask("DELETE", "/waitlist/"+staffed.text("entryId"), "", me...); r.Code != http.StatusNotFound {
		t.Errorf("somebody else takes them off: %d", r.Code)
	}
	if r := s.ask("DELETE", "/waitlist/"+staffed.text("entryId"), ""); r.Code != http.StatusNoContent {
		t.Errorf("the box office takes them off: %d", r.Code)
	}
	if r := s.ask("POST", "/shows/"+uuid.NewString()+"/waitlist", waiting(1), me...); r.Code != http.StatusNotFound {
		t.Errorf("no such show: %d", r.Code)
	}
	s.must("POST", "/shows/"+show.ID.String()+"/pause", "")
	if r := s.ask("POST", at, waiting(1), me...); r.text("code") != "SHOW_NOT_ON_SALE" || r.text("reason") != "paused" {
		t.Errorf("a show that is paused: %d %s", r.Code, r.Body)
	}
}
