package api

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/store"
)

// newMapDoor is a door with the operations on maps and changes.
func newMapDoor(t *testing.T, opts Options) *door {
	d := newDoor(t, opts)
	if d.OpenAPI().Paths["/changes"] == nil {
		d.registerSeatmap()
		d.registerChanges()
	}
	return d
}

func decoded[T any](t *testing.T, w *httptest.ResponseRecorder) (v T) {
	t.Helper()
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	return v
}

// placed holds the seats at the given positions, and units of the first area.
func placed(t testing.TB, s *store.Store, show fixture.Made, units int, positions ...int) *store.ReservationView {
	t.Helper()
	req := store.PlaceRequest{ShowID: show.ID, CustomerID: "guest:reader"}
	for _, i := range positions {
		req.Seats = append(req.Seats, store.SeatRef{ID: show.Seats[i].ID})
	}
	if units > 0 {
		req.Areas = []store.AreaRef{{ID: show.Areas[0].ID, Quantity: units}}
	}
	r, _, err := s.PlaceReservation(t.Context(), boxoffice.Actor{CustomerID: req.CustomerID, Name: req.CustomerID}, new(fixture.Key()), req)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReadingPlaces(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	show := fixture.Show(t, s, fixture.Options{Seats: 6, Floor: 8})
	block, err := s.BlockSeats(t.Context(), fixture.Staff, new(fixture.Key()), boxoffice.DefaultOrganisationID, show.ID, []store.SeatRef{{ID: show.Seats[5].ID}}, "camera")
	if err != nil {
		t.Fatal(err)
	}
	hold := placed(t, s, show, 3, 1, 2)
	d := newMapDoor(t, Options{Store: s})
	path := "/api/v1/shows/" + show.ID.String()

	t.Run("Availability", func(t *testing.T) {
		t.Parallel()
		w := d.ask("GET", path+"/availability", "")
		a := decoded[Availability](t, w)
		if a.Statuses != "ahhaax" || a.Version != hold.ShowVersion || !a.AsOf.Equal(hold.CreatedAt) || *a.PlanID != show.PlanID || a.Stale {
			t.Errorf("%+v", a)
		}
		if a.Capacity != 14 || a.Available != 8 || a.Held != 5 || a.Booked != 0 || a.Blocked != 1 {
			t.Errorf("%+v", a)
		}
		want := []CategoryAvailability{{"Front", 3, 1, 2, 0, 0}, {"Back", 3, 2, 0, 0, 1}, {"Floor", 8, 5, 3, 0, 0}}
		if len(a.Categories) != 3 || a.Categories[0] != want[0] || a.Categories[1] != want[1] || a.Categories[2] != want[2] {
			t.Errorf("%+v", a.Categories)
		}
		if len(a.Areas) != 1 || a.Areas[0] != (AreaCount{show.Areas[0].ID, "", "Floor", "Floor", 8, 5, 3, 0}) {
			t.Errorf("%+v", a.Areas)
		}
		if w.Header().Get("ETag") == "" || w.Header().Get("Cache-Control") != "no-cache" || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%v", w.Header())
		}
	})

	t.Run("What has not changed is 304", func(t *testing.T) {
		t.Parallel()
		other := fixture.Show(t, s, fixture.Options{})
		path := "/api/v1/shows/" + other.ID.String() + "/availability"
		etag := d.ask("GET", path, "").Header().Get("ETag")
		w := d.ask("GET", path, "", "If-None-Match: "+etag)
		if w.Code != http.StatusNotModified || w.Body.Len() != 0 || w.Header().Get("ETag") != etag || !strings.Contains(w.Header().Get("Vary"), "Accept-Encoding") {
			t.Errorf("status %d, %v, body %s", w.Code, w.Header(), w.Body)
		}
		placed(t, s, other, 0, 0)
		if w := d.ask("GET", path, "", "If-None-Match: "+etag); w.Code != http.StatusOK || w.Header().Get("ETag") == etag {
			t.Errorf("after a change: status %d, %v", w.Code, w.Header())
		}
	})

	t.Run("Compressed for those who take it, and in an envelope", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{path + "/availability", path + "/seats", path + "/seats?status=held", path + "/areas/" + show.Areas[0].ID.String() + "/availability"} {
			plain := d.ask("GET", path, "")
			w := d.ask("GET", path, "", "Accept-Encoding: br, gzip;q=0.5")
			if w.Header().Get("Content-Encoding") != "gzip" {
				t.Fatalf("%s: %v", path, w.Header())
			}
			r, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(r); err != nil || !bytes.Equal(body, plain.Body.Bytes()) {
				t.Errorf("%s: %v\n%s\n%s", path, err, body, plain.Body)
			}
			for _, taken := range []string{"gzip", "*", "*;q=0, gzip", "identity;q=0, *;q=0.1"} {
				if w := d.ask("GET", path, "", "Accept-Encoding: "+taken); w.Header().Get("Content-Encoding") != "gzip" {
					t.Errorf("%s with %s: %v", path, taken, w.Header())
				}
			}
			for _, refused := range []string{"gzip;q=0", "identity", "br", "*, gzip;q=0", "*;q=0"} {
				if w := d.ask("GET", path, "", "Accept-Encoding: "+refused); w.Header().Get("Content-Encoding") != "" {
					t.Errorf("%s with %s: %v", path, refused, w.Header())
				}
			}
			w = d.ask("GET", path, "", "Accept-Encoding: gzip", "Accept: "+envelopeType)
			var envelope struct{ Data json.RawMessage }
			if err := json.Unmarshal(w.Body.Bytes(), &envelope); err != nil || !bytes.Equal(bytes.TrimSpace(envelope.Data), bytes.TrimSpace(plain.Body.Bytes())) {
				t.Errorf("%s: %v: %s", path, err, w.Body)
			}
		}
	})

	t.Run("Seats", func(t *testing.T) {
		t.Parallel()
		m := decoded[SeatMap](t, d.ask("GET", path+"/seats", ""))
		if m.Currency != "EUR" || m.Version != hold.ShowVersion || len(m.Seats) != 6 || len(m.Areas) != 1 {
			t.Fatalf("%+v", m)
		}
		first, second := m.Seats[0], m.Seats[1]
		if first.SeatID != show.Seats[0].ID || first.Label != "Stalls-A-1" || first.Section != "Stalls" || first.Row != "A" || first.Seat != "1" ||
			first.Category != "Front" || first.Kind != "standard" || first.Features == nil || *first.X != 0 || first.Status != "available" || first.Price != fixture.FrontPrice {
			t.Errorf("%+v", first)
		}
		if second.Status != "held" || second.ReservationID != nil || second.CustomerID != "" || second.HeldUntil != nil {
			t.Errorf("%+v", second)
		}
		if m.Areas[0] != (MapArea{show.Areas[0].ID, "", "Floor", "Floor", 8, 5, fixture.FloorPrice}) {
			t.Errorf("%+v", m.Areas)
		}
		for status, n := range map[string]int{"available": 3, "held": 2, "blocked": 1, "booked": 0} {
			if m := decoded[SeatMap](t, d.ask("GET", path+"/seats?status="+status, "")); len(m.Seats) != n || n > 0 && string(m.Seats[0].Status) != status {
				t.Errorf("%s: %+v", status, m.Seats)
			}
		}
		d.wantRefused(d.ask("GET", path+"/seats?status=free", ""), boxoffice.CodeValidation)
	})

	t.Run("Only staff is told whose a seat is", func(t *testing.T) {
		t.Parallel()
		d.wantRefused(d.ask("GET", path+"/seats?view=staff", ""), boxoffice.CodeUnauthenticated)
		d.wantRefused(d.ask("GET", path+"/seats?view=staff", "", "X-Mock-User-Id: "+uuid.NewString()), boxoffice.CodeForbidden)
		w := d.ask("GET", path+"/seats?view=staff", "", "X-API-Key: sales-key")
		m := decoded[SeatMap](t, w)
		if s := m.Seats[1]; *s.ReservationID != hold.ID || s.CustomerID != "guest:reader" || !s.HeldUntil.Equal(hold.ExpiresAt) || s.BlockID != nil {
			t.Errorf("%+v", s)
		}
		if s := m.Seats[5]; *s.BlockID != block.BlockID || s.ReservationID != nil || s.HeldUntil != nil {
			t.Errorf("%+v", s)
		}
		if s := m.Seats[0]; s.ReservationID != nil || s.BlockID != nil {
			t.Errorf("%+v", s)
		}
		if w.Header().Get("Cache-Control") != "private, no-store" || w.Header().Get("ETag") != "" {
			t.Errorf("%v", w.Header())
		}
	})

	t.Run("An area", func(t *testing.T) {
		t.Parallel()
		a := decoded[AreaAvailability](t, d.ask("GET", path+"/areas/"+show.Areas[0].ID.String()+"/availability", ""))
		if a.Capacity != 8 || a.Booked != 0 || a.ActiveReservations != 3 || a.Available != 5 || a.Version != hold.ShowVersion {
			t.Errorf("%+v", a)
		}
		d.wantRefused(d.ask("GET", path+"/areas/"+uuid.NewString()+"/availability", ""), boxoffice.CodeNotFound)
	})

	t.Run("minVersion", func(t *testing.T) {
		t.Parallel()
		if a := decoded[Availability](t, d.ask("GET", path+"/availability?minVersion=1", "")); a.Version != hold.ShowVersion {
			t.Errorf("%+v", a)
		}
		d.wantRefused(d.ask("GET", path+"/availability?minVersion=-1", ""), boxoffice.CodeValidation)
	})

	t.Run("A stock without seats", func(t *testing.T) {
		t.Parallel()
		stock := fixture.Show(t, s, fixture.Options{Edit: func(n *store.NewShow) {
			n.PlanID, n.Prices = uuid.Nil, nil
			n.Areas = []store.NewArea{{Name: "Mugs", Capacity: 20, Prices: []store.Price{{AmountMinor: 900}}}}
		}})
		placed(t, s, stock, 4)
		path := "/api/v1/shows/" + stock.ID.String()
		a := decoded[Availability](t, d.ask("GET", path+"/availability", ""))
		if a.Statuses != "" || a.PlanID != nil || a.Available != 16 || len(a.Categories) != 1 || a.Areas[0].Held != 4 {
			t.Errorf("%+v", a)
		}
		m := decoded[SeatMap](t, d.ask("GET", path+"/seats", ""))
		if m.Seats == nil || len(m.Seats) != 0 || m.Areas[0].Available != 16 || m.Areas[0].Price != 900 {
			t.Errorf("%+v", m)
		}
	})

	t.Run("A draft is for its organiser only", func(t *testing.T) {
		t.Parallel()
		draft := fixture.Show(t, s, fixture.Options{Draft: true})
		for _, what := range []string{"/seats", "/availability"} {
			path := "/api/v1/shows/" + draft.ID.String() + what
			d.wantRefused(d.ask("GET", path, ""), boxoffice.CodeNotFound)
			d.wantRefused(d.ask("GET", path, "", "X-Mock-User-Id: "+uuid.NewString()), boxoffice.CodeNotFound)
			d.wantRefused(d.ask("GET", path, "", "X-API-Key: sales-key"), boxoffice.CodeNotFound)
			if w := d.ask("GET", path, "", "X-API-Key: admin-key"); w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "private, no-store" {
				t.Errorf("status %d, %v", w.Code, w.Header())
			}
		}
	})

	t.Run("A show that is not there", func(t *testing.T) {
		t.Parallel()
		for _, what := range []string{"/seats", "/availability", "/seats?view=staff"} {
			d.wantRefused(d.ask("GET", "/api/v1/shows/"+uuid.NewString()+what, "", "X-API-Key: admin-key"), boxoffice.CodeNotFound)
		}
	})
}

func TestBodiesOfMapsAreDescribed(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(newMapDoor(t, Options{}).OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	var doc document31
	if err := json.Unmarshal(raw, &doc.tree); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"availability": "Availability", "seats": "SeatMap", "areas/{areaId}/availability": "AreaAvailability"} {
		schema := doc.object(doc.tree, "paths", "/shows/{showId}/"+path, "get", "responses", "200", "content", "application/json", "schema")
		if schema["$ref"] != "#/components/schemas/"+want {
			t.Errorf("%s: %v", path, schema)
		}
	}
}
