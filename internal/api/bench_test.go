package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// discard is a ResponseWriter that costs nothing.
type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

const benchBody = `{"name":"Ada","seats":[{"label":"Stalls-A-7"},{"label":"Stalls-A-8"}],"count":2}`

func benchRequest() *http.Request {
	r := httptest.NewRequest("POST", specimenPath, strings.NewReader(benchBody))
	r.Header = http.Header{"Idempotency-Key": {goodKey}, "X-Mock-User-Id": {exampleID}, "Content-Type": {"application/json"}}
	return r
}

// outcomes are what a hold on a hot show ends in.
func outcomes() map[string]error {
	refusal := boxoffice.Refuse(boxoffice.CodeSeatAlreadyReserved, "Stalls-A-7 is held.")
	refusal.Facts.UnavailableSeats = []boxoffice.SeatRef{{Label: "Stalls-A-7", Status: boxoffice.SeatHeld}}
	return map[string]error{"taken": refusal, "placed": nil}
}

func benchDoor() *door {
	return newDoor(&testing.T{}, Options{Log: slog.New(slog.DiscardHandler), Limit: LimitOptions{PerSecond: 1e9}})
}

// BenchmarkWrite is what the door itself costs a write, from the mux to the
// last byte: everything but the network and the store.
func BenchmarkWrite(b *testing.B) {
	for name, fail := range outcomes() {
		b.Run(name, func(b *testing.B) {
			d := benchDoor()
			d.fail = fail
			b.ReportAllocs()
			for b.Loop() {
				d.handled = d.handled[:0]
				d.ServeHTTP(discard{http.Header{}}, benchRequest())
			}
		})
	}
	b.Run("httptest alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			benchRequest()
		}
	})
}

// BenchmarkListing is what a page of fifty events with twenty shows each costs
// after it was read.
func BenchmarkListing(b *testing.B) {
	d := benchDoor()
	body := eventsBody{Events: make([]EventWithShows, 50)}
	now := time.Now().UTC()
	for i := range body.Events {
		e := &body.Events[i]
		e.Event = Event{EventID: uuid.New(), Kind: "play", Title: "The Tempest", Genre: "drama", Language: "en", Status: "published"}
		e.Shows = make([]Show, showsInList)
		for j := range e.Shows {
			e.Shows[j] = Show{
				ShowID: uuid.New(), EventID: e.EventID, StartsAt: now, EndsAt: &now, TimeZone: "Europe/Vienna", Status: "on_sale", Currency: "EUR",
				Venue: &ShowVenue{uuid.New(), "Grand Theatre", "Vienna", "AT"}, Hall: &ShowHall{uuid.New(), "Main stage"},
				Prices: []ShowPrice{{"Stalls", "standard", 4500}, {"Circle", "standard", 3000}}, Availability: ShowAvailability{312, 480, now},
			}
		}
	}
	register(d.API, Operation{
		ID: "listSpecimens", Method: http.MethodGet, Path: "/specimens", Tag: "Operations", Summary: "List", Description: "For tests.", Access: Public,
	}, func(_ context.Context, call *Call, _ *struct{}) (*catalogueOutput[eventsBody], error) {
		return answerHashed(call, "", availabilityAge, body)
	})
	b.ReportAllocs()
	for b.Loop() {
		d.ServeHTTP(discard{http.Header{}}, httptest.NewRequest("GET", "/api/v1/specimens", nil))
	}
}

// BenchmarkWire is a write over a connection of its own: the door, net/http,
// and the system calls of both ends.
func BenchmarkWire(b *testing.B) {
	for name, fail := range outcomes() {
		b.Run(name, func(b *testing.B) {
			d := benchDoor()
			d.fail = fail
			server := httptest.NewServer(d)
			defer server.Close()
			b.ReportAllocs()
			for b.Loop() {
				d.handled = d.handled[:0]
				r, err := http.NewRequest("POST", server.URL+specimenPath, strings.NewReader(benchBody))
				if err != nil {
					b.Fatal(err)
				}
				r.Header = benchRequest().Header
				w, err := server.Client().Do(r)
				if err != nil {
					b.Fatal(err)
				}
				io.Copy(io.Discard, w.Body)
				w.Body.Close()
			}
		})
	}
}
