package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/sandbox"
)

// webhook sends what claims to be a gateway's event.
func (s *site) webhook(gateway, body, signature string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/api/v1/webhooks/payments/"+gateway, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(sandbox.SignatureHeader, signature)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestWebhooks(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := openOn(t, db)
	show := fixture.Show(t, s.store, fixture.Options{})
	me := as(uuid.NewString())
	stored := func() (n int) {
		t.Helper()
		if err := db.Pool("").QueryRow(t.Context(), "select count(*) from payment_events").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	s.gateway.HoldWebhooks()
	k := s.must("POST", "/bookings", buying(s.hold(me, show.ID, "Stalls-A-1"), "sbx_async"), me...)
	for s.gateway.Ledger().Payments[0].State != sandbox.Succeeded { // it has settled, and nobody is told
		if err := s.gateway.Settle(s.gateway.Ledger().Payments[0].ID); err != nil {
			t.Fatal(err)
		}
	}
	event := s.gateway.Events()[len(s.gateway.Events())-1]
	forged := `{"id":"` + event.ID + `","type":"` + event.Type + `","data":` + string(event.Data) + `}`
	for name, signature := range map[string]string{"none": "", "nonsense": "t=1,v1=00", "an old one": "t=1000000000,v1=" + strings.Repeat("ab", 32)} {
		if w := s.webhook("sandbox", forged, signature); w.Code != 401 || stored() != 0 {
			t.Errorf("%s: %d %s, %d stored", name, w.Code, w.Body, stored())
		}
	}
	if r := s.must("GET", path(k), "", me...); r.text("status") != "pending" {
		t.Error("a forged event had an effect:", r.Body)
	}
	if w := s.webhook("cowries", forged, ""); w.Code != 404 {
		t.Error(w.Code, w.Body)
	}
	if w := s.webhook("sandbox", strings.Repeat("x", 1<<20+1), ""); w.Code != 413 {
		t.Error(w.Code, w.Body)
	}
	// The real one, five times: taken each time, and of effect once.
	for range 5 {
		if status, err := s.gateway.Deliver(t.Context(), event.ID); err != nil || status != http.StatusOK {
			t.Fatal(status, err)
		}
	}
	if r := s.must("GET", path(k), "", me...); r.text("status") != "confirmed" || stored() != 1 {
		t.Error(stored(), r.Body)
	}
	if n := len(s.must("GET", "/changes?type=booking.confirmed&showId="+show.ID.String(), "").list("changes")); n != 1 {
		t.Errorf("confirmed %d times", n)
	}
	s.gateway.ReleaseWebhooks()
	if err := s.gateway.AwaitDelivery(t.Context()); err != nil {
		t.Fatal(err)
	}
}
