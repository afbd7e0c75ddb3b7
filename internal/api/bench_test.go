package api

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// discard is a ResponseWriter that costs nothing.
type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// BenchmarkWrite is what the door itself costs a write, from the mux to the
// last byte: everything but the network and the store.
func BenchmarkWrite(b *testing.B) {
	const body = `{"name":"Ada","seats":[{"label":"Stalls-A-7"},{"label":"Stalls-A-8"}],"count":2}`
	refusal := boxoffice.Refuse(boxoffice.CodeSeatAlreadyReserved, "Stalls-A-7 is held.")
	refusal.Facts.UnavailableSeats = []boxoffice.SeatRef{{Label: "Stalls-A-7", Status: boxoffice.SeatHeld}}
	for name, fail := range map[string]error{"taken": refusal, "placed": nil} {
		b.Run(name, func(b *testing.B) {
			d := newDoor(&testing.T{}, Options{Log: slog.New(slog.DiscardHandler)})
			d.fail = fail
			b.ReportAllocs()
			for b.Loop() {
				d.handled = d.handled[:0]
				r := httptest.NewRequest("POST", specimenPath, strings.NewReader(body))
				r.Header = http.Header{"Idempotency-Key": {goodKey}, "X-Mock-User-Id": {exampleID}, "Content-Type": {"application/json"}}
				d.ServeHTTP(discard{http.Header{}}, r)
			}
		})
	}
	b.Run("httptest alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r := httptest.NewRequest("POST", specimenPath, strings.NewReader(body))
			r.Header = http.Header{"Idempotency-Key": {goodKey}, "X-Mock-User-Id": {exampleID}, "Content-Type": {"application/json"}}
		}
	})
}
