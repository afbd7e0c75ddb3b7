package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/store"
)

// event is one of a stream.
type event struct {
	name, id, data string
	retry          int
}

func into[T any](t testing.TB, e event) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(e.data), &v); err != nil {
		t.Fatalf("%v in %+v", err, e)
	}
	return v
}

// viewer reads a stream.
type viewer struct {
	t       testing.TB
	resp    *http.Response
	lines   *bufio.Scanner
	lastID  string
	skipped []event // heartbeats, and that the database is there
}

// serveStreams serves the door over a real connection, with its feeds at work.
func serveStreams(t *testing.T, d *door) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(d)
	server.Config = d.Server()
	server.Start()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = d.Run(ctx) // it ends because it is told to
	}()
	t.Cleanup(func() { d.close(); server.Close(); stop(); <-ended })
	return server
}

func ask(t testing.TB, url string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func watchShow(t testing.TB, server *httptest.Server, show uuid.UUID, headers ...string) *viewer {
	t.Helper()
	resp := ask(t, server.URL+"/api/v1/shows/"+show.String()+"/stream", headers...)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d", resp.StatusCode)
	}
	v := &viewer{t: t, resp: resp, lines: bufio.NewScanner(resp.Body)}
	v.lines.Buffer(nil, 1<<20)
	return v
}

// raw is the next event, as a browser reads it.
func (v *viewer) raw() (e event, err error) {
	for v.lines.Scan() {
		name, value, _ := strings.Cut(v.lines.Text(), ": ")
		switch name {
		case "event":
			e.name = value
		case "id":
			e.id, v.lastID = value, value
		case "data":
			e.data += value
		case "retry":
			e.retry, _ = strconv.Atoi(value)
		case "":
			return e, nil
		default:
			v.t.Fatalf("no line of an event: %q", v.lines.Text())
		}
	}
	if v.lines.Err() != nil {
		return e, v.lines.Err()
	}
	return e, io.EOF
}

// next is the next event that says something new.
func (v *viewer) next() event {
	v.t.Helper()
	for {
		e, err := v.raw()
		if err != nil {
			v.t.Fatal(err)
		}
		if e.name != "heartbeat" && (e.name != "stale" || into[StaleEvent](v.t, e).Stale) {
			return e
		}
		v.skipped = append(v.skipped, e)
	}
}

func (v *viewer) want(name string) event {
	v.t.Helper()
	e := v.next()
	if e.name != name {
		v.t.Fatalf("got %+v, want %s", e, name)
	}
	return e
}

func TestWatchingAShow(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	show := fixture.Show(t, s, fixture.Options{Seats: 6, Floor: 8})
	d := newDoor(t, Options{Store: s, CORSOrigins: []string{"*"}})
	server := serveStreams(t, d)
	v := watchShow(t, server, show.ID, "Origin: https://tickets.example.org")
	h := v.resp.Header
	if h.Get("Content-Type") != "text/event-stream" || h.Get("X-Accel-Buffering") != "no" || !strings.Contains(h.Get("Cache-Control"), "no-store") ||
		h.Get("X-Request-Id") == "" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%v", h)
	}
	e := v.want("snapshot")
	first := into[SnapshotEvent](t, e)
	if first.Statuses != "aaaaaa" || first.Areas[0].Available != 8 || first.Status != "on_sale" || first.SoldOut || !first.SaleOpen || e.id != fmt.Sprint(first.Version) {
		t.Errorf("%+v", e)
	}
	if len(v.skipped) != 1 || v.skipped[0].retry < 500 {
		t.Fatalf("before it came %+v", v.skipped)
	}
	if beat := into[HeartbeatEvent](t, v.skipped[0]); time.Since(beat.ServerTime).Abs() > time.Hour {
		t.Errorf("%+v", beat)
	}

	hold := placed(t, s, show, 3, 1, 2)
	e = v.want("changes")
	c := into[ChangesEvent](t, e)
	if c.After != first.Version || c.Version != hold.ShowVersion || e.id != fmt.Sprint(c.Version) || len(c.Seats) != 2 ||
		c.Seats[0] != (WatchedSeat{show.Seats[1].ID, show.Seats[1].Label, "held"}) || c.Areas[0] != (WatchedArea{show.Areas[0].ID, 5, 8}) {
		t.Errorf("%+v", e)
	}
	if testutil.ToFloat64(d.metrics.Streams) != 1 {
		t.Errorf("%v streams are open", testutil.ToFloat64(d.metrics.Streams))
	}

	t.Run("Coming back", func(t *testing.T) {
		for _, how := range []string{"", "?lastEventId=" + fmt.Sprint(first.Version)} {
			url := server.URL + "/api/v1/shows/" + show.ID.String() + "/stream"
			var back *viewer
			if how == "" {
				back = watchShow(t, server, show.ID, "Last-Event-ID: "+fmt.Sprint(first.Version))
			} else {
				back = &viewer{t: t, resp: ask(t, url+how)}
				back.lines = bufio.NewScanner(back.resp.Body)
			}
			e := back.next()
			if e.name == "show" {
				e = back.next()
			}
			if got := into[ChangesEvent](t, e); e.name != "changes" || got.After != first.Version || got.Version != c.Version || len(got.Seats) != 2 {
				t.Errorf("%s: %+v", how, e)
			}
			// Elsewhere they may have been told that the database is away.
			if len(back.skipped) != 2 || back.skipped[1].name != "stale" {
				t.Errorf("it begins with %+v", back.skipped)
			}
			back.resp.Body.Close()
		}
	})
	t.Run("Coming back from nowhere", func(t *testing.T) {
		for _, id := range []string{"1000000", "seven", "-4", "99999999999999999999"} {
			back := watchShow(t, server, show.ID, "Last-Event-ID: "+id)
			back.lastID = id
			back.want("reset")
			if back.lastID != "" { // if it were cut here, it would go on from nothing
				t.Errorf("after a reset it would come back with %q", back.lastID)
			}
			if e := back.want("snapshot"); e.id != fmt.Sprint(c.Version) {
				t.Errorf("%+v", e)
			}
			back.resp.Body.Close()
		}
	})
	t.Run("When it is sold out, and paused", func(t *testing.T) {
		placed(t, s, show, 5)
		for _, i := range []int{0, 3, 4, 5} {
			placed(t, s, show, 0, i)
		}
		for {
			if e := v.next(); e.name == "show" {
				if got := into[ShowEvent](t, e); !got.SoldOut || got.Status != "on_sale" || e.id != "" {
					t.Errorf("%+v", e)
				}
				break
			}
		}
		v.want("changes")
		if _, err := s.SetShowStatus(t.Context(), fixture.Staff, new(fixture.Key()), boxoffice.DefaultOrganisationID, show.ID, boxoffice.SetShowStatus{Verb: boxoffice.PauseShow}); err != nil {
			t.Fatal(err)
		}
		if got := into[ShowEvent](t, v.want("show")); got.Status != "paused" || got.SaleOpen {
			t.Errorf("%+v", got)
		}
		v.want("changes")
	})
	t.Run("A draft is for its organiser only", func(t *testing.T) {
		draft := fixture.Show(t, s, fixture.Options{Draft: true})
		path := "/api/v1/shows/" + draft.ID.String() + "/stream"
		d.wantRefused(d.ask("GET", path, ""), boxoffice.CodeNotFound)
		watchShow(t, server, draft.ID, "X-API-Key: admin-key").want("snapshot")
		d.wantRefused(d.ask("GET", "/api/v1/shows/"+uuid.NewString()+"/stream", ""), boxoffice.CodeNotFound)
	})
	t.Run("Only the head", func(t *testing.T) {
		if w := d.ask("HEAD", "/api/v1/shows/"+show.ID.String()+"/stream", ""); w.Code != http.StatusOK || w.Body.Len() != 0 || w.Header().Get("Content-Type") != "text/event-stream" {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
	})
	t.Run("Through something that does not give its connection away", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := httptest.NewRecorder()
		written := &notified{w, make(chan struct{}, 100)}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			d.ServeHTTP(written, httptest.NewRequest("GET", "/api/v1/shows/"+show.ID.String()+"/stream", nil).WithContext(ctx))
		}()
		<-written.wrote // the greeting
		<-written.wrote
		cancel()
		<-ended
		if !strings.Contains(w.Body.String(), "event: snapshot\nid: ") || !w.Flushed {
			t.Errorf("%s", w.Body)
		}
	})
}

type notified struct {
	*httptest.ResponseRecorder
	wrote chan struct{}
}

func (n *notified) Write(b []byte) (int, error) {
	defer func() { n.wrote <- struct{}{} }()
	return n.ResponseRecorder.Write(b)
}

func (n *notified) SetWriteDeadline(time.Time) error { return nil }

func TestStreamsAreCountedByThemselves(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	show := fixture.Show(t, s, fixture.Options{})
	d := newDoor(t, Options{Store: s, StreamsMax: 2, StreamsPerAddress: 3, InFlightMax: 1, Limit: LimitOptions{PerSecond: 1000}})
	server := serveStreams(t, d)
	one, two := watchShow(t, server, show.ID), watchShow(t, server, show.ID)
	one.want("snapshot")
	two.want("snapshot")
	url := server.URL + "/api/v1/shows/" + show.ID.String()
	if resp := ask(t, url+"/stream"); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("the third: %d %v", resp.StatusCode, resp.Header)
	}
	if resp := ask(t, url+"/availability"); resp.StatusCode != http.StatusOK {
		t.Errorf("an ordinary request beside them: %d", resp.StatusCode)
	}
	d.streams.mu.Lock()
	if n := len(d.streams.from); n != 1 {
		t.Errorf("streams from %d addresses", n)
	}
	d.streams.mu.Unlock()
	// Who leaves makes room; that is seen when something is sent.
	one.resp.Body.Close()
	for i := 0; ask(t, url+"/stream").StatusCode != http.StatusOK; i = (i + 1) % 2 {
		if i == 0 {
			placedOrNot(t, s, show)
		}
	}
}

// placedOrNot moves a show's version: by a hold, or by its end.
func placedOrNot(t *testing.T, s *store.Store, show fixture.Made) {
	t.Helper()
	r := placed(t, s, show, 0, 0)
	if _, _, err := s.ReleaseReservation(t.Context(), fixture.Staff, new(fixture.Key()), r.ID); err != nil {
		t.Fatal(err)
	}
}

func TestNobodyTakesAllStreams(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	show := fixture.Show(t, s, fixture.Options{})
	for _, exempt := range []bool{false, true} {
		d := newDoor(t, Options{Store: s, StreamsMax: 10, StreamsPerAddress: 2, Limit: LimitOptions{PerSecond: 1000, TrustProxy: true, SkipLoopback: exempt}})
		server := serveStreams(t, d)
		url := server.URL + "/api/v1/shows/" + show.ID.String() + "/stream"
		const one, other, local = "X-Forwarded-For: 203.0.113.7", "X-Forwarded-For: 203.0.113.8", "X-Forwarded-For: 127.0.0.1"
		for _, at := range []string{one, one, other, local, local} {
			if resp := ask(t, url, at); resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %d", at, resp.StatusCode)
			}
		}
		if resp := ask(t, url, one); resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
			t.Errorf("the third: %d %v", resp.StatusCode, resp.Header)
		}
		if resp := ask(t, url, local); (resp.StatusCode == http.StatusOK) != exempt {
			t.Errorf("the third of who may be exempt: %d", resp.StatusCode)
		}
	}
}

func TestAViewerWhoDoesNotReadIsDroppedAndOthersAreServed(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	show := fixture.Show(t, s, fixture.Options{Seats: 3000, Edit: func(n *store.NewShow) { n.MaxPlacesPerReservation = 1000 }})
	d := newDoor(t, Options{Store: s})
	d.sendMax = 300 * time.Millisecond
	server := serveStreams(t, d)
	reads := watchShow(t, server, show.ID)
	reads.want("snapshot")

	conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET /api/v1/shows/%s/stream HTTP/1.1\r\nHost: rowlock\r\n\r\n", show.ID); err != nil {
		t.Fatal(err)
	}
	for testutil.ToFloat64(d.metrics.Streams) != 2 {
		time.Sleep(time.Millisecond) // a poll: the request is on its way
	}
	all := make([]int, 900)
	for i := range all {
		all[i] = i
	}
	dropped := d.metrics.StreamsEnded.WithLabelValues("slow")
	for testutil.ToFloat64(dropped) == 0 {
		r := placed(t, s, show, 0, all...)
		if _, _, err := s.ReleaseReservation(t.Context(), fixture.Staff, new(fixture.Key()), r.ID); err != nil {
			t.Fatal(err)
		}
		for reads.lastID != fmt.Sprint(r.ShowVersion+1) {
			if e := reads.next(); e.name == "reset" {
				t.Fatalf("%+v", e)
			}
		}
	}
	if n := testutil.ToFloat64(d.metrics.Streams); n != 1 {
		t.Errorf("%v streams are open", n)
	}
}

func TestStreamsEndWithTheServer(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	show := fixture.Show(t, s, fixture.Options{})
	d := newDoor(t, Options{Store: s})
	server := serveStreams(t, d)
	viewers := make([]*viewer, 20)
	for i := range viewers {
		viewers[i] = watchShow(t, server, show.ID)
		viewers[i].want("snapshot")
	}
	if err := server.Config.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	apart := map[int64]bool{}
	for _, v := range viewers {
		e := v.want("closing")
		wait := into[ClosingEvent](t, e).RetryMS
		if int64(e.retry) != wait || wait < 500 {
			t.Errorf("%+v", e)
		}
		apart[wait] = true
		if e, err := v.raw(); !errors.Is(err, io.EOF) {
			t.Errorf("after the last: %+v, %v", e, err)
		}
	}
	if len(apart) < 10 {
		t.Errorf("all come back at the same time: %v", apart)
	}
}

func TestDrainSaysWhoWasCutOff(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	if err := d.streams.enter(netip.Addr{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Drain(ctx); err == nil || !strings.Contains(err.Error(), "1 event streams") {
		t.Errorf("%v", err)
	}
}

func TestEventsOfAStreamAreDescribed(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(newDoor(t, Options{}).OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	var doc document31
	if err := json.Unmarshal(raw, &doc.tree); err != nil {
		t.Fatal(err)
	}
	for path, kinds := range map[string][]eventKind{"/shows/{showId}/stream": showEvents, "/queue/{entryId}/stream": queueEvents} {
		schema := doc.object(doc.tree, "paths", path, "get", "responses", "200", "content", "text/event-stream", "schema")
		events, _ := schema["items"].(map[string]any)["oneOf"].([]any)
		if len(events) != len(kinds) {
			t.Fatalf("%v", schema)
		}
		for i, e := range events {
			properties := e.(map[string]any)["properties"].(map[string]any)
			name := properties["event"].(map[string]any)["const"]
			if ref, _ := properties["data"].(map[string]any)["$ref"].(string); name != kinds[i].name || ref != "#/components/schemas/"+kinds[i].data.Name() {
				t.Errorf("%v: %v", name, properties)
			}
		}
	}
}

// While a show sells, viewers come and rest, and the server stops.
func TestStreamsThatRestEndWithTheServer(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	show := fixture.Show(t, s, fixture.Options{})
	d := newDoor(t, Options{Store: s})
	server := serveStreams(t, d)
	viewers := make([]*viewer, 50)
	for i := range viewers {
		viewers[i] = watchShow(t, server, show.ID)
	}
	defer meanwhile(func() { placedOrNot(t, s, show) })()
	for _, v := range viewers {
		v.want("snapshot")
		v.want("changes")
	}
	d.close()
	if err := d.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, v := range viewers {
		last := event{}
		for e, err := v.raw(); err == nil; e, err = v.raw() {
			last = e
		}
		if last.name != "closing" {
			t.Errorf("the last that viewer %d is told is %+v", i, last)
		}
	}
	if n := testutil.ToFloat64(d.metrics.Streams); n != 0 {
		t.Errorf("%v streams are open", n)
	}
}

// While streams end there are fewer and fewer of them. All the same, all of
// them come back.
func TestViewersComeBackApartFromAllWhoLeftWithThem(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	const viewers = 20_000
	d.streams.open.Store(viewers)
	d.close()
	late := 0
	for left := int64(viewers); left > 0; left-- {
		d.streams.open.Store(left)
		if d.comeBack() > 5000 {
			late++
		}
	}
	if late < viewers/3 {
		t.Errorf("only %d of %d come back after five seconds", late, viewers)
	}
}

// A stream that rests is told that it is alive, and when to come back.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	show := fixture.Show(t, s, fixture.Options{})
	d := newDoor(t, Options{Store: s})
	server := serveStreams(t, d)
	v := watchShow(t, server, show.ID)
	v.want("snapshot")
	defer meanwhile(func() { d.maps.Beat(0, 1) })()
	e, err := v.raw()
	if beat := into[HeartbeatEvent](t, e); err != nil || e.name != "heartbeat" || e.retry < 500 || time.Since(beat.ServerTime).Abs() > time.Hour {
		t.Errorf("%+v, %v", e, err)
	}
}

// meanwhile does something again and again, until it is told to stop.
func meanwhile(do func()) (stop func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-over:
				return
			default:
				do()
			}
		}
	}()
	return func() { close(over); <-ended }
}
