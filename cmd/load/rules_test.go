package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func rng() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func TestBuyersComeInOrderAndInTime(t *testing.T) {
	t.Parallel()
	const n, over = 10_000, 10 * time.Second
	for c, inTheFirstFifth := range map[curve][2]int{rush: {6000, 6700}, steady: {1850, 2150}} {
		times := arrivals(n, over, c, rng())
		early := 0
		for _, at := range times {
			if at < over/5 {
				early++
			}
		}
		if !slices.IsSorted(times) || times[0] < 0 || times[n-1] > over || early < inTheFirstFifth[0] || early > inTheFirstFifth[1] {
			t.Errorf("%s: from %v to %v, %d in the first fifth", c, times[0], times[n-1], early)
		}
		if again := arrivals(n, over, c, rng()); !slices.Equal(times, again) {
			t.Errorf("%s: another crowd from the same seed", c)
		}
	}
}

// house has three rows of eight seats; the last seat of the first row is for a
// wheelchair.
func house() *hall {
	h := &hall{show: show{MaxPlacesPerReservation: 5}}
	for _, row := range []string{"A", "B", "C"} {
		for _, name := range "12345678" {
			kind := "standard"
			if row == "A" && name == '8' {
				kind = "wheelchair"
			}
			h.seats = append(h.seats, seat{SeatID: row + string(name), Label: row + "-" + string(name), Row: row, Kind: kind})
		}
	}
	h.arrange(4)
	return h
}

func TestBuyersChooseTheBestSeatsSideBySide(t *testing.T) {
	t.Parallel()
	h := house()
	free := strings.Repeat("a", 24)
	for _, c := range []struct {
		what, statuses string
		n              int
		want           []int
	}{
		{"the middle of the first row", free, 3, []int{2, 3, 4}},
		{"beside what is taken", "aahhaaaa" + free[8:], 3, []int{10, 11, 12}},
		{"fewer when there are no three", "aahhhhhh" + strings.Repeat("b", 16), 3, []int{0, 1}},
		{"nothing of a full house", strings.Repeat("b", 24), 1, nil},
		{"not the place for a wheelchair", "hhhhhhha" + strings.Repeat("h", 16), 1, nil},
	} {
		if got := h.choose(c.statuses, c.n, 0, rng()); c.want == nil && got != nil || c.want != nil && !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", c.what, got)
		}
	}
	seen := map[int]int{}
	r := rng()
	for range 3000 {
		block := h.choose(free, 2, 0.2, r)
		if len(block) != 2 || block[1] != block[0]+1 || block[0]/8 != block[1]/8 || slices.Contains(block, 7) {
			t.Fatalf("%v are not side by side", block)
		}
		seen[block[0]]++
	}
	if len(seen) < 15 || seen[3]+seen[2] < 4*(seen[16]+seen[22]) {
		t.Errorf("how often each was chosen: %v", seen)
	}
}

// waiting is a transport that answers from a list.
type waiting struct {
	answers []func() (*http.Response, error)
	keys    []string
	at      []time.Time
}

func (w *waiting) RoundTrip(r *http.Request) (*http.Response, error) {
	w.keys, w.at = append(w.keys, r.Header.Get("Idempotency-Key")), append(w.at, time.Now())
	next := w.answers[min(len(w.keys), len(w.answers))-1]
	return next()
}

func says(status int, retryAfter, body string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		w := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
		if retryAfter != "" {
			w.Header.Set("Retry-After", retryAfter)
		}
		return w, nil
	}
}

func cut() (*http.Response, error) { return nil, io.ErrUnexpectedEOF }

func TestWhatIsRefusedForNowIsSentAgainWithTheSameKeyAndNoSooner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &waiting{answers: []func() (*http.Response, error){
			says(429, "3", `{"code":"RATE_LIMITED"}`), says(503, "2", `{"code":"OVERLOADED"}`), cut, says(502, "", "<html>"),
			says(409, "1", `{"code":"IDEMPOTENCY_KEY_IN_USE"}`), says(201, "", `{"reservationId":"r"}`),
		}}
		m := newMeter()
		to := &target{base: "http://localhost", client: &http.Client{Transport: w}, meter: m}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		a, err := to.ask(ctx, caller{}, request{step: stepHold, method: http.MethodPost, path: "/reservations"})
		if err != nil || a.status != http.StatusCreated || len(w.keys) != 6 || !a.sent.Equal(began) {
			t.Fatalf("%+v, %v after %d attempts", a, err, len(w.keys))
		}
		if keys := slices.Compact(w.keys); len(keys) != 1 || !regexp.MustCompile(`^[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}$`).MatchString(keys[0]) {
			t.Errorf("keys %q", keys)
		}
		for i, least := range []time.Duration{3 * time.Second, 2 * time.Second, 0, 0, time.Second} { // the clock is the test's own
			if waited := w.at[i+1].Sub(w.at[i]); waited <= least {
				t.Errorf("attempt %d came after %v, and had to wait %v", i+2, waited, least)
			}
		}
		if now := m.now(); now.errors != 2 || now.refused["429 RATE_LIMITED"] != 1 || now.refused["503 OVERLOADED"] != 1 {
			t.Errorf("counted %+v", now)
		}
	})
}

func TestPatienceEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func() (*http.Response, error)
		unsure bool
	}{
		"Shed":        {says(503, "1", `{"code":"OVERLOADED"}`), false},
		"RateLimited": {says(429, "1", `{"code":"RATE_LIMITED"}`), false},
		"Unavailable": {says(503, "1", `{"code":"UNAVAILABLE"}`), true},
		"Cut":         {cut, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &waiting{answers: []func() (*http.Response, error){c.answer}}
				to := &target{base: "http://localhost", client: &http.Client{Transport: w}, meter: newMeter()}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := to.ask(ctx, caller{}, request{step: stepHold, method: http.MethodPost, path: "/reservations"})
				var silent *noAnswer
				if !errors.As(err, &silent) || silent.unsure != c.unsure || len(w.keys) < 5 {
					t.Errorf("%v after %d attempts", err, len(w.keys))
				}
			})
		})
	}
}

func TestARefusalIsFinal(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 409, 410, 422} {
		w := &waiting{answers: []func() (*http.Response, error){says(status, "", `{"code":"X"}`)}}
		to := &target{base: "http://localhost", client: &http.Client{Transport: w}, meter: newMeter()}
		a, err := to.ask(t.Context(), caller{}, request{step: stepHold, method: http.MethodPost, path: "/reservations"})
		if err != nil || a.status != status || a.code != "X" || len(w.keys) != 1 {
			t.Errorf("%d: %+v, %v after %d attempts", status, a, err, len(w.keys))
		}
	}
}

func TestOnlyThisMachineIsATarget(t *testing.T) {
	t.Parallel()
	for at, fine := range map[string]bool{
		"http://127.0.0.1:8080": true, "http://[::1]:8080": true, "https://127.9.9.9/rowlock/": true, "http://[::ffff:127.0.0.1]": true,
		"http://192.0.2.1:8080": false, "http://0.0.0.0:8080": false, "http://[2001:db8::1]": false, "http://10.0.0.1": false,
		"ftp://127.0.0.1": false, "127.0.0.1:8080": false, "http://": false, "http://a:b@127.0.0.1": false, "http://127.0.0.1/?x": false,
	} {
		if _, err := dial(t.Context(), &options{Target: at}, nil); (err == nil) != fine {
			t.Errorf("%s: %v", at, err)
		}
	}
	if _, err := dial(t.Context(), &options{Target: "http://192.0.2.1", Owned: true}, nil); err != nil {
		t.Errorf("its owner has spoken: %v", err)
	}
	if code, _, _, stderr := run(t, t.Context(), "--target", "http://192.0.2.1:8080"); code != exitUnable || !strings.Contains(stderr, "--i-own-this-host") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestANameIsNotFollowedElsewhereLater(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	conn, err := only(new(net.Dialer), []netip.Addr{netip.MustParseAddr("127.0.0.1")})(t.Context(), "tcp", net.JoinHostPort("elsewhere.invalid", port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if conn.RemoteAddr().String() != l.Addr().String() {
		t.Errorf("it is connected to %v", conn.RemoteAddr())
	}
}

func TestTwoOwnersAreFound(t *testing.T) {
	t.Parallel()
	h := house()
	h.before.Areas = []area{{AreaID: "floor", Name: "Floor", Capacity: 10, Booked: 4}}
	at := func(second int) time.Time { return time.Unix(int64(1000+second), 0) }
	held := func(from, until int) record {
		return record{seats: []string{"A1"}, heldAt: at(from), heldUntil: at(until)}
	}
	bought := func(from, until, paid int) record {
		r := held(from, until)
		r.paidAt = at(paid)
		return r
	}
	stands := func(units int) record { return record{areaID: "floor", units: units, paidAt: at(1)} }
	for name, c := range map[string]struct {
		records []record
		found   int
	}{
		"OneAfterTheOther":                 {[]record{held(0, 10), held(10, 20), bought(20, 30, 25)}, 0},
		"HeldWhileHeld":                    {[]record{held(0, 10), held(9, 20)}, 1},
		"HeldAfterItWasSold":               {[]record{bought(0, 10, 5), held(50, 60)}, 1},
		"SoldTwice":                        {[]record{bought(0, 10, 5), bought(20, 30, 25)}, 1},
		"WithinALongHold":                  {[]record{held(0, 100), held(5, 10), held(101, 110)}, 1},
		"LateAnswersOfHoldsThatWereOver":   {[]record{held(30, 20), held(20, 40)}, 0},
		"AnAreaThatIsFull":                 {[]record{stands(3), stands(3)}, 0},
		"AnAreaThatIsMoreThanFull":         {[]record{stands(3), stands(4)}, 1},
		"AreasThatWereHeldAndGivenBackAll": {[]record{stands(6), {areaID: "floor", units: 6}}, 0},
	} {
		if found := twice(c.records, h); len(found) != c.found {
			t.Errorf("%s: %q", name, found)
		}
	}
}

func TestAMapAddsUp(t *testing.T) {
	t.Parallel()
	good := func() availability {
		return availability{
			Capacity: 14, Available: 8, Held: 2, Booked: 3, Blocked: 1, Statuses: "aahx",
			Categories: []struct{ Capacity, Available, Held, Booked, Blocked int }{{4, 2, 1, 0, 1}, {10, 6, 1, 3, 0}},
			Areas:      []area{{Name: "Floor", Capacity: 10, Available: 6, Held: 1, Booked: 3}},
		}
	}
	v := good()
	if wrong := sums(&v, 4); wrong != nil {
		t.Errorf("it does: %q", wrong)
	}
	for name, spoil := range map[string]func(*availability){
		"ALetter":      func(v *availability) { v.Statuses = "aaax" },
		"ALetterLess":  func(v *availability) { v.Statuses = "aah" },
		"ATotal":       func(v *availability) { v.Available++ },
		"AnArea":       func(v *availability) { v.Areas[0].Held++ },
		"ACategory":    func(v *availability) { v.Categories[0].Booked++ },
		"TheCapacity":  func(v *availability) { v.Capacity-- },
		"UnknownState": func(v *availability) { v.Statuses = "aah?" },
	} {
		v := good()
		if spoil(&v); sums(&v, 4) == nil {
			t.Errorf("%s is wrong, and nobody saw it", name)
		}
	}
}

func TestFlagsSayHowManyComeHowFast(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		buyers int
		over   time.Duration
	}{
		"":                              {1000, time.Minute},
		"--buyers=50 --over=10s":        {50, 10 * time.Second},
		"--rate=50 --over=10s":          {500, 10 * time.Second},
		"--rate=50":                     {3000, time.Minute},
		"--rate=50 --buyers=100":        {100, 2 * time.Second},
		"--rate=0.5 --buyers=1":         {1, 2 * time.Second},
		"--rate=5 --buyers=5 --over=1s": {},
		"--rate=0":                      {},
		"--rate=1e9":                    {},
		"--buyers=0":                    {},
		"--buyers=100001":               {},
		"--buyers=6000 --over=1s":       {},
		"--over=61m":                    {},
		"--over=0s":                     {},
		"--viewers=20001":               {},
		"--viewers=-1":                  {},
		"--patience=0s":                 {},
		"--abandon=60% --release=50%":   {},
		"--mock --api-key=x":            {},
		"--i-own-this-host":             {},
		"--curve=wave":                  {},
		"--abandon=NaN":                 {},
		"--abandon=101%":                {},
		"--cards=tok_visa":              {},
		"here":                          {},
	} {
		var got *options
		cmd := newCommand(func(_ *cobra.Command, o *options) error { got = o; return nil })
		cmd.SetArgs(strings.Fields(line))
		err := cmd.Execute()
		switch {
		case want.buyers == 0 && err == nil:
			t.Errorf("%q: %+v is not refused", line, got)
		case want.buyers == 0:
		case err != nil:
			t.Errorf("%q: %v", line, err)
		case got.Buyers != want.buyers || got.Over != want.over || got.Seed == 0:
			t.Errorf("%q: %d buyers over %v, seed %d", line, got.Buyers, got.Over, got.Seed)
		}
	}
}

func TestSharesAndCardsPrintWhatTheyTake(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"10%": "10%", "0.1": "10%", "0": "0%", "0.7%": "0.7%", "100%": "100%"} {
		var s share
		if err := s.Set(text); err != nil || s.String() != want {
			t.Errorf("%q: %s, %v", text, s.String(), err)
		}
	}
	var c cards
	if err := c.Set("sbx_ok=3,sbx_declined"); err != nil || c.String() != "sbx_ok=3,sbx_declined=1" {
		t.Errorf("%s, %v", c.String(), err)
	}
	drawn := map[string]int{}
	for r, i := rng(), 0; i < 4000; i++ {
		drawn[c.draw(r)]++
	}
	if drawn["sbx_declined"] < 850 || drawn["sbx_declined"] > 1150 {
		t.Errorf("%v", drawn)
	}
	if err := c.Set("none"); err != nil || len(c) != 0 || c.String() != "none" {
		t.Errorf("%v, %v", c, err)
	}
}

func TestChartsAreAsHighAsTheirCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		counts      []int
		columns     int
		want        string
		most, width int
	}{
		{[]int{0, 1, 8, 4}, 60, " ▁█▄", 8, 1},
		{[]int{1, 1, 1, 1, 2}, 3, "███", 2, 2},
		{nil, 60, "", 0, 1},
	} {
		if chart, most, width := spark(c.counts, c.columns); chart != c.want || most != c.most || width != c.width {
			t.Errorf("%v: %q, at most %d in %d", c.counts, chart, most, width)
		}
	}
}

func TestTheDocumentationNamesEveryFlagAndNoOther(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/load.md")
	if err != nil {
		t.Fatal(err)
	}
	flags := newCommand(nil).Flags()
	flags.VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(string(text), "`--"+f.Name) {
			t.Errorf("docs/load.md does not explain --%s", f.Name)
		}
	})
	for _, m := range regexp.MustCompile("`--([a-z0-9-]+)").FindAllSubmatch(text, -1) {
		if flags.Lookup(string(m[1])) == nil {
			t.Errorf("docs/load.md names --%s, which there is not", m[1])
		}
	}
}

func TestAChangeThatAViewerMissedIsSeen(t *testing.T) {
	t.Parallel()
	v := &streamViewer{scenario: &scenario{meter: newMeter()}, position: map[string]int{"a": 0, "b": 1}}
	v.hear("snapshot", []byte(`{"version":5,"statuses":"aa"}`))
	v.hear("changes", []byte(`{"after":5,"version":7,"seats":[{"seatId":"B","status":"blocked"}]}`))
	if v.gap != "" || string(v.statuses) != "ax" {
		t.Errorf("%q, %s", v.gap, v.statuses)
	}
	if !v.knows(&availability{Version: 7, Statuses: "ax"}) || v.knows(&availability{Version: 7, Statuses: "aa"}) {
		t.Error("it does not know what it knows")
	}
	v.hear("changes", []byte(`{"after":8,"version":9,"seats":[]}`))
	if !strings.Contains(v.gap, "version 7") {
		t.Errorf("%q", v.gap)
	}
	v.hear("changes", []byte(`{"after":9,`))
	if !strings.Contains(v.gap, "JSON") {
		t.Errorf("%q", v.gap)
	}
}

// Of an event that is cut off nothing may stay, or the viewer would go on after
// something that they were never told.
func TestAViewerComesBackAfterTheLastWholeEvent(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("Last-Event-ID")
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "retry: 1\nevent: heartbeat\ndata: {}\n\nevent: snapshot\nid: 5\ndata: {\"version\":5,\"statuses\":\"aa\"}\n\nevent: changes\nid: 6\ndata: {\"after\":5,\"ver")
	}))
	defer server.Close()
	v := &streamViewer{scenario: &scenario{meter: newMeter(), hall: &hall{}, target: &target{base: server.URL, meter: newMeter(), streams: server.Client()}}}
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		v.watch(ctx)
	}()
	for _, want := range []string{"", "5"} {
		if got := <-asked; got != want {
			t.Errorf("it comes back after %q, not %q", got, want)
		}
	}
	leave()
	<-ended
	if v.gap != "" {
		t.Error(v.gap)
	}
}
