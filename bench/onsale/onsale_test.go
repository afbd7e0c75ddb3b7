package onsale

import (
	"errors"
	"flag"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/rowlock/rowlock/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var profiles = flag.String("profiles", "", "a folder for CPU profiles of the server, for TestProfile")

// One house for all: building the server takes longer than asking it.
func TestEachRowIsMeasured(t *testing.T) {
	t.Parallel()
	h, err := Open(t.Context(), Config{URL: pgtest.New(t).URL})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()

	t.Run("everybody is answered and no seat is sold twice", func(t *testing.T) {
		for _, strategy := range []string{Rowlock, "waiting"} {
			sold, err := h.Sell(t.Context(), strategy, Sale{Seats: 60, Connections: 20, Attempts: 300, Most: time.Minute, Contended: true})
			if err != nil {
				t.Fatal(err)
			}
			if sold.Attempts != 300 || sold.Failed != 0 || sold.Answers["201"] == 0 || sold.Answers["201"]+sold.Answers[taken] != 300 || sold.P99 == 0 || sold.Twice != 0 {
				t.Errorf("%s: %+v", strategy, sold)
			}
		}
		sold, err := h.Sell(t.Context(), Rowlock, Sale{Seats: 100, Connections: 10, Attempts: 100, Most: time.Minute})
		if err != nil || sold.Answers["201"] != 100 {
			t.Errorf("%+v, %v", sold, err)
		}
	})
	t.Run("a steady load is served whole", func(t *testing.T) {
		holds, reads, err := h.Steady(t.Context(), Steady{Shows: 2, Holds: 20, Reads: 50, During: time.Second})
		if err != nil || holds.Answers["201"] != 20 || reads.Answers["200"] != 50 {
			t.Errorf("%+v\n%+v\n%v", holds, reads, err)
		}
	})
	t.Run("viewers see what is sold", func(t *testing.T) {
		for _, poll := range []time.Duration{0, 100 * time.Millisecond} {
			w, err := h.Watch(t.Context(), Audience{Viewers: 50, Seats: 200, Holds: 50, Poll: poll, During: time.Second})
			if err != nil || w.P99 == 0 || w.Bytes == 0 || w.Gaps != 0 || w.Behind != 0 || w.Servers != 1 {
				t.Errorf("%+v, %v", w, err)
			}
		}
	})
	t.Run("viewers go on where they were when their servers are killed", func(t *testing.T) {
		w, err := h.Watch(t.Context(), Audience{Viewers: 50, Seats: 300, Holds: 50, During: time.Second, Kill: time.Second})
		if want := (Sightings{Returned: 50}); err != nil || !reflect.DeepEqual(w.After, want) || w.Back == 0 {
			t.Errorf("%+v, %v", w, err)
		}
	})
	t.Run("too many are turned away or served", func(t *testing.T) {
		c, err := h.Crush(t.Context(), Crush{Shows: 2, Seats: 10_000, Party: 2, Callers: 20, During: 300 * time.Millisecond, Times: 2})
		if err != nil {
			t.Fatal(err)
		}
		if c.Crush.Failed != 0 || c.Crush.Attempts == 0 || c.Crush.Answers["204"]+c.Crush.Shed != c.Crush.Attempts || c.Health.Answers["200"] == 0 {
			t.Errorf("%+v\n%+v", c.Crush, c.Health)
		}
	})
	t.Run("lists and maps are read in each way", func(t *testing.T) {
		lists, err := h.Catalogue(t.Context(), 2_000, 100*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		maps, err := h.Maps(t.Context(), 50*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range append(lists, maps...) {
			if r.Attempts == 0 || r.P99 == 0 {
				t.Errorf("%s: %+v", r.Name, r.Load)
			}
		}
	})
}

func TestAnswersAreNamedByTheirCode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "409", `{"code":"KEY_IN_USE","detail":"…"}`: "KEY_IN_USE", `{"type":"…","code":"SEAT_ALREADY_RESERVED"}`: taken,
	} {
		var resp fasthttp.Response
		resp.SetStatusCode(fasthttp.StatusConflict)
		resp.SetBodyString(text)
		if name, _ := nameOf(&resp); name != want {
			t.Errorf("%q: %s instead of %s", text, name, want)
		}
	}
}

func TestWhatIsNotWantedHasFailed(t *testing.T) {
	t.Parallel()
	m := newMeter()
	began := time.Now().Add(-time.Second)
	for _, status := range []int{201, 201, 500, 200} {
		var resp fasthttp.Response
		resp.SetStatusCode(status)
		m.record(&resp, nil, 10*time.Millisecond, []string{"201"})
	}
	m.record(nil, errors.New("gone"), time.Second, []string{"201"})
	var resp fasthttp.Response
	resp.SetStatusCode(fasthttp.StatusServiceUnavailable)
	resp.SetBodyString(`{"code":"OVERLOADED"}`)
	resp.Header.Set("Retry-After", "3")
	m.record(&resp, nil, time.Millisecond, []string{"201"})
	if comeBack(&resp) != 3*time.Second {
		t.Error("who is turned away does not come back when told to")
	}
	l := m.result(began)
	if l.Attempts != 6 || l.Failed != 3 || l.Shed != 1 || l.Answers["201"] != 2 || l.PerSecond() > 2 || l.PerSecond() < 0.1 || !strings.HasPrefix(l.Why, "500") || l.err() == nil {
		t.Errorf("%+v", l)
	}
	if l.P50 < 9*time.Millisecond || l.P99 > 11*time.Millisecond {
		t.Errorf("neither who had no answer nor who was turned away counts in the times: %+v", l)
	}
}

// TestProfile is no test: it sells as the rows do and leaves CPU profiles of the
// server, to see where a refusal and a hold spend their time.
func TestProfile(t *testing.T) {
	if *profiles == "" {
		t.Skip("-profiles says where to")
	}
	h, err := Open(t.Context(), Config{URL: pgtest.New(t).URL})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for name, sale := range map[string]Sale{"refused": Contended, "placed": AllSucceeds} {
		sale.Profile = filepath.Join(*profiles, name+".pprof")
		sold, err := h.Sell(t.Context(), Rowlock, sale)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.0f/s, p50 %v, p99 %v, CPU of the server %v each, %d turned away", name, sold.PerSecond(), sold.P50, sold.P99, sold.CPU, sold.Shed)
	}
	crush := Tenfold
	crush.Profile = filepath.Join(*profiles, "crush.pprof")
	c, err := h.Crush(t.Context(), crush)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("crush: %.0f/s of %.0f/s at best, turned away p99 %v", c.Crush.PerSecond(), c.Best.PerSecond(), c.Crush.ShedP99)
}
