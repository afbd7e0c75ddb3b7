package api

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/live"
	"github.com/rowlock/rowlock/internal/store"
)

// The load of BenchmarkAvailability20000.
const (
	benchSeats = 20_000
	benchReads = 500 // a second
	benchHolds = 500 // a second, while it sells
	benchFor   = 10 * time.Second
)

// BenchmarkAvailability20000 reads the availability of a show of 20,000 seats.
//
//	go test -run '^$' -bench Availability20000 -benchtime 1x ./internal/api
//
// "database" is reading everything in one statement, "view" making and
// compressing the body of a version, "seats" the same for the whole seat map. The others are an open loop over HTTP on
// loopback, 500 whole bodies a second for ten seconds, each read timed from
// when it was due: with nothing else going on, and while 500 holds a second
// are placed and every read finds another version. They report percentiles in
// milliseconds and promise none.
func BenchmarkAvailability20000(b *testing.B) {
	s := fixture.Open(b)
	show := fixture.Show(b, s, fixture.Options{Seats: benchSeats, RowLength: 100})

	b.Run("database", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.ReadSeatMap(b.Context(), show.ID); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("view", func(b *testing.B) {
		m, err := s.ReadSeatMap(b.Context(), show.ID)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			plain := encodeAvailability(m.At(m.Now))
			b.ReportMetric(float64(len(plain)), "B/plain")
			b.ReportMetric(float64(len(compress(plain))), "B/gzip")
		}
	})
	b.Run("seats", func(b *testing.B) { // the whole of GET …/seats
		m, err := s.ReadSeatMap(b.Context(), show.ID)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			plain := mustJSON(seatMapOf(m.At(m.Now), "", nil))
			b.ReportMetric(float64(len(plain)), "B/plain")
			b.ReportMetric(float64(len(compress(plain))), "B/gzip")
		}
	})
	b.Run("read", func(b *testing.B) { // one after the other, nothing changing: the question to the database
		maps := live.New(s, nil)
		for b.Loop() {
			if _, err := maps.Read(b.Context(), show.ID); err != nil {
				b.Fatal(err)
			}
		}
	})

	a := New(Options{Store: s, Log: slog.New(slog.DiscardHandler)})
	if a.OpenAPI().Paths["/changes"] == nil {
		a.registerSeatmap()
	}
	server := httptest.NewServer(a)
	defer server.Close()
	address := server.URL + "/api/v1/shows/" + show.ID.String() + "/availability"
	b.Run("quiet", func(b *testing.B) {
		for range b.N {
			benchmarkReads(b, address)
		}
	})
	b.Run("selling", func(b *testing.B) {
		for range b.N {
			ctx, stop := context.WithCancel(b.Context())
			done := make(chan int64)
			go func() { done <- sell(ctx, b, s, show) }()
			benchmarkReads(b, address)
			stop()
			b.ReportMetric(float64(<-done)/benchFor.Seconds(), "holds/s")
		}
	})
}

// sell places holds on random seats at a steady rate until ctx ends, and
// returns how many it got.
func sell(ctx context.Context, b *testing.B, s *store.Store, show fixture.Made) int64 {
	var placed atomic.Int64
	var wg sync.WaitGroup
	tick := time.NewTicker(time.Second / benchHolds)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			continue
		}
		wg.Go(func() {
			req := store.PlaceRequest{ShowID: show.ID, CustomerID: fmt.Sprint("guest:", rand.Uint64()),
				Seats: []store.SeatRef{{ID: show.Seats[rand.IntN(len(show.Seats))].ID}}}
			_, _, err := s.PlaceReservation(b.Context(), boxoffice.Actor{CustomerID: req.CustomerID, Name: req.CustomerID}, new(fixture.Key()), req)
			switch boxoffice.CodeOf(err) {
			case "":
				placed.Add(1)
			case boxoffice.CodeSeatAlreadyReserved:
			default:
				b.Error(err)
			}
		})
	}
	wg.Wait()
	return placed.Load()
}

// benchmarkReads asks at a steady rate, whether or not answers come, and
// reports how long they took.
func benchmarkReads(b *testing.B, address string) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var took []time.Duration
	etags := map[string]bool{}
	var wg sync.WaitGroup
	start := time.Now()
	for i := range int(benchFor.Seconds() * benchReads) {
		due := start.Add(time.Duration(i) * time.Second / benchReads)
		time.Sleep(time.Until(due)) // the rate of the load, not a wait for anything
		wg.Go(func() {
			r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, address, nil)
			if err != nil {
				b.Error(err)
				return
			}
			r.Header.Set("Accept-Encoding", "gzip")
			w, err := client.Do(r)
			if err != nil {
				b.Error(err)
				return
			}
			defer w.Body.Close()
			if _, err := io.Copy(io.Discard, w.Body); err != nil || w.StatusCode != http.StatusOK {
				b.Errorf("status %d, %v", w.StatusCode, err)
			}
			d := time.Since(due)
			mu.Lock()
			defer mu.Unlock()
			took = append(took, d)
			etags[w.Header.Get("ETag")] = true
		})
	}
	wg.Wait()
	slices.Sort(took)
	for _, p := range []struct {
		name string
		of   float64
	}{{"p50-ms", 0.50}, {"p99-ms", 0.99}, {"p100-ms", 1}} {
		b.ReportMetric(float64(took[int(p.of*float64(len(took)-1))].Microseconds())/1000, p.name)
	}
	b.ReportMetric(float64(len(etags)), "versions")
	b.ReportMetric(0, "ns/op") // means nothing here
}
