package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/sql/ops"
)

// waitingRoom is a show whose waiting room is open, and lets everybody in at once.
func waitingRoom(t *testing.T, s *site) fixture.Made {
	t.Helper()
	show := fixture.Show(t, s.store, fixture.Options{Seats: 10})
	s.must("PATCH", "/shows/"+show.ID.String(), `{"queue":{"ratePerMinute":1000000,"admissionSeconds":60}}`)
	s.must("POST", "/shows/"+show.ID.String()+"/queue/open", "")
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.store.RunQueues(ctx, func(int) {}) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return show
}

// drawing makes a show whose draw waits for its beacon.
func (s *site) drawing() (show string) {
	show = s.must("POST", "/shows", `{"event":{"kind":"talk","title":"T"},"startsAt":"`+soon(time.Hour)+`","currency":"EUR","salesStartAt":"`+soon(time.Minute)+`",
		"areas":[{"name":"F","capacity":1,"prices":[{"amount":1}]}],"publish":true}`).text("showId")
	s.must("PATCH", "/shows/"+show, `{"queue":{"beacon":"a lottery"}}`)
	s.must("POST", "/shows/"+show+"/queue/open", "")
	s.must("POST", "/shows/"+show+"/queue", "", as(uuid.NewString())...)
	s.must("PATCH", "/shows/"+show, `{"salesStartAt":"`+soon(-time.Minute)+`"}`)
	return show
}

// admission waits for a customer's turn and returns the token.
func (s *site) admission(caller []string, entry string) string {
	s.t.Helper()
	for {
		r := s.must("GET", "/queue/"+entry, "", caller...)
		if r.text("status") == "admitted" {
			return r.field("admission.token").(string)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestWaitingRoom(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := waitingRoom(t, s)
	room := "/shows/" + show.ID.String() + "/queue"
	ann, bob := as(uuid.NewString()), as(uuid.NewString())
	want := func(r reply, status int, code string) {
		t.Helper()
		if r.Code != status || r.text("code") != code || r.text("queueUrl") != "/api/v1"+room {
			t.Errorf("%d %s, want %d %s", r.Code, r.Body, status, code)
		}
	}
	if r := s.must("GET", "/shows/"+show.ID.String(), "", stranger...); r.field("queue.open") != true {
		t.Errorf("%s", r.Body)
	}
	body := held(show.ID, show.Seats[0].Label)
	want(s.ask("POST", "/reservations", body, ann...), 403, "QUEUE_TOKEN_REQUIRED")
	want(s.ask("POST", "/reservations", body, append(ann, "X-Queue-Token", "nonsense")...), 403, "QUEUE_TOKEN_INVALID")
	// The waiting room comes before the count, and after what is wrong with the show.
	labels := make([]string, 6)
	for i := range labels {
		labels[i] = show.Seats[i].Label
	}
	want(s.ask("POST", "/reservations", held(show.ID, labels...), ann...), 403, "QUEUE_TOKEN_REQUIRED")
	s.must("POST", "/shows/"+show.ID.String()+"/pause", "")
	if r := s.ask("POST", "/reservations", body, ann...); r.text("code") != "SHOW_NOT_ON_SALE" {
		t.Errorf("%s", r.Body)
	}
	s.must("POST", "/shows/"+show.ID.String()+"/resume", "")

	key := newKey()
	joined := s.must("POST", room, "", withKey(ann, key)...)
	entry := joined.text("entryId")
	if joined.Code != 201 || joined.Header().Get("Location") != "/api/v1/queue/"+entry || joined.text("status") != "waiting" || joined.text("streamToken") == "" ||
		joined.Header().Get("Retry-After") == "" {
		t.Errorf("%s %v", joined.Body, joined.Header())
	}
	s.same("joining", joined, s.must("POST", room, "", withKey(ann, key)...))
	if r := s.ask("GET", "/queue/"+entry, "", bob...); r.Code != 404 {
		t.Errorf("another's entry: %d", r.Code)
	}
	token := s.admission(ann, entry)
	want(s.ask("POST", "/reservations", body, append(bob, "X-Queue-Token", token)...), 403, "QUEUE_TOKEN_INVALID")
	if r := s.must("GET", "/queue/"+entry, ""); r.field("status") != "admitted" || r.field("admission.token") != "" || r.field("streamToken") != "" || r.Header().Get("Retry-After") != "" {
		t.Errorf("what staff sees: %s", r.Body)
	}
	s.must("POST", "/reservations", body, append(ann, "X-Queue-Token", token)...)
	want(s.ask("POST", "/reservations", held(show.ID, show.Seats[1].Label), append(ann, "X-Queue-Token", token)...), 403, "QUEUE_TOKEN_INVALID")
	if r := s.must("GET", "/queue/"+entry, "", ann...); r.field("admission.used") != true {
		t.Errorf("%s", r.Body)
	}

	draws := s.must("GET", room+"/draws", "", stranger...)
	if len(draws.list("draws")) != 1 || draws.field("draws.0.key") == nil || draws.field("draws.0.keyHash") != joined.text("keyHash") {
		t.Errorf("%s", draws.Body)
	}
	if r := s.must("GET", room, "", stranger...); r.field("open") != true || r.field("joined") != float64(1) || r.field("waiting") != float64(0) || r.field("settings.ratePerMinute") != float64(1e6) {
		t.Errorf("%s", r.Body)
	}
	s.must("DELETE", "/queue/"+entry, "", ann...)
	s.must("DELETE", "/queue/"+entry, "", ann...) // once more is no mistake
	s.must("POST", room+"/close", "")
	s.must("POST", "/reservations", held(show.ID, show.Seats[2].Label), bob...)
	if r := s.ask("POST", room, "", bob...); r.Code != 409 || r.text("reason") != "closed" {
		t.Errorf("%d %s", r.Code, r.Body)
	}
	for body, field := range map[string]string{
		`{"queue":{"ratePerMinute":0}}`: "queue.ratePerMinute", `{"queue":{"mode":"sometimes"}}`: "queue.mode", `{"queue":{"x":1}}`: "queue", `{"queue":null}`: "queue",
	} {
		if r := s.ask("PATCH", "/shows/"+show.ID.String(), body); r.Code != 422 || !strings.HasPrefix(r.field("violations.0.field").(string), field) {
			t.Errorf("%s: %d %s", body, r.Code, r.Body)
		}
	}
}

func TestATurnThatIsOver(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := openOn(t, db)
	show := waitingRoom(t, s)
	room := "/shows/" + show.ID.String() + "/queue"
	ann := as(uuid.NewString())
	exec := func(sql string) {
		t.Helper()
		if _, err := db.Pool("").Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	// count is what people on call are told of turns.
	count := func() (unused, inside, missed any) {
		t.Helper()
		columns, rows, err := ops.Run(t.Context(), db.Pool(store.RoleOps), "queue_by_show", map[string]string{"show": show.ID.String()})
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		cell := func(name string) any { return rows[0][slices.Index(columns, name)] }
		return cell("unused"), cell("inside"), cell("missed")
	}
	wantCount := func(when string, unused, inside, missed int64) {
		t.Helper()
		if a, b, c := count(); a != unused || b != inside || c != missed {
			t.Errorf("%s there are %v unused, %v inside and %v missed, want %d, %d, %d", when, a, b, c, unused, inside, missed)
		}
	}
	hold := func(token string) reply {
		return s.ask("POST", "/reservations", held(show.ID, show.Seats[0].Label), append(ann, "X-Queue-Token", token)...)
	}
	wantOver := func(when, token string) {
		t.Helper()
		r := hold(token)
		if r.Code != 403 || r.text("code") != "QUEUE_TOKEN_EXPIRED" || r.text("queueUrl") != "/api/v1"+room || !strings.Contains(r.text("detail"), "Join the queue again") {
			t.Errorf("%s: %d %s", when, r.Code, r.Body)
		}
	}
	join := func() string { t.Helper(); return s.must("POST", room, "", ann...).text("entryId") }

	entry := join()
	first := s.admission(ann, entry)
	wantCount("in her turn", 1, 0, 0)
	exec("update queue_admissions set lapses_at = admitted_at + interval '1 microsecond'")
	wantOver("a turn that was missed", first)
	wantCount("when she has missed it", 0, 0, 1)
	if r := s.must("GET", "/queue/"+entry, "", ann...); r.text("status") != "expired" || r.text("returnUntil") == "" || r.field("admission") != nil {
		t.Errorf("%s", r.Body)
	}

	// What she was told to do helps.
	if again := join(); again != entry {
		t.Errorf("she comes back as another: %s, not %s", again, entry)
	}
	second := s.admission(ann, entry)
	wantOver("the missed turn's token in the next", first)
	r := hold(second)
	if r.Code != 201 {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	wantCount("when she holds", 0, 1, 0)
	s.must("DELETE", "/reservations/"+r.text("reservationId"), "", ann...)
	exec("update queue_admissions set session_ends_at = admitted_at + interval '1 microsecond'")
	wantOver("a session that has ended", second)
	wantCount("after her session", 0, 0, 0)
	if r := s.must("GET", "/queue/"+entry, "", ann...); r.text("status") != "expired" || r.text("returnUntil") != "" {
		t.Errorf("%s", r.Body)
	}
	anew := join()
	if anew == entry {
		t.Error("who has had a turn has it again")
	}
	if r := hold(s.admission(ann, anew)); r.Code != 201 {
		t.Errorf("%d %s", r.Code, r.Body)
	}
}

// event is one server-sent event.
type event struct {
	name string
	data map[string]any
}

// watch opens a stream on a server and returns its events.
func watch(t *testing.T, url string) <-chan event {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatal(resp.Status, resp.Header)
	}
	events := make(chan event)
	go func() {
		defer close(events)
		defer resp.Body.Close()
		var e event
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			switch line := lines.Text(); {
			case strings.HasPrefix(line, "event: "):
				e = event{name: line[7:]}
			case strings.HasPrefix(line, "data: "):
				if err := json.Unmarshal([]byte(line[6:]), &e.data); err != nil {
					t.Error(line, err)
				}
			case line == "" && e.name != "":
				select {
				case events <- e:
				case <-t.Context().Done():
					return
				}
			}
		}
	}()
	return events
}

func TestWaitingRoomStream(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := waitingRoom(t, s)
	room := "/shows/" + show.ID.String() + "/queue"
	server := httptest.NewServer(s.API)
	defer server.Close()
	stream := func(r reply) string {
		return fmt.Sprintf("%s/api/v1/queue/%s/stream?streamToken=%s", server.URL, r.text("entryId"), r.text("streamToken"))
	}
	s.must("POST", "/shows/"+show.ID.String()+"/pause", "")
	ann := as(uuid.NewString())
	joined := s.must("POST", room, "", ann...)
	if r := s.raw("GET", "/queue/"+joined.text("entryId")+"/stream?streamToken=x"); r.Code != 404 {
		t.Errorf("with another's token: %d", r.Code)
	}
	events := watch(t, stream(joined))
	first := <-events
	if first.name != "position" || first.data["open"] != true || first.data["reason"] != "paused" || first.data["waiting"] != float64(1) {
		t.Errorf("%+v", first)
	}
	s.must("POST", "/shows/"+show.ID.String()+"/resume", "")
	last := 2.0
	for e := range events {
		if p, ok := e.data["position"].(float64); e.name == "position" && ok {
			if p > last {
				t.Errorf("rose from %v to %v", last, p)
			}
			last = p
		}
		if e.name != "admitted" {
			continue
		}
		if e.data["used"] != false || e.data["expiresAt"] == nil {
			t.Errorf("%+v", e)
		}
		s.must("POST", "/reservations", held(show.ID, show.Seats[0].Label), append(ann, "X-Queue-Token", e.data["token"].(string))...)
		break
	}
	s.must("POST", "/shows/"+show.ID.String()+"/cancel", "")
	for e := range events {
		if e.name == "ended" {
			if e.data["reason"] != "cancelled" {
				t.Errorf("%+v", e)
			}
			last = -1
		}
	}
	if last != -1 {
		t.Error("the stream ended without a word")
	}
}

func TestAStreamGoesOnForWhoComesBack(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := waitingRoom(t, s)
	s.must("PATCH", "/shows/"+show.ID.String(), `{"queue":{"admissionSeconds":1}}`)
	server := httptest.NewServer(s.API)
	defer server.Close()
	ann := as(uuid.NewString())
	joined := s.must("POST", "/shows/"+show.ID.String()+"/queue", "", ann...)
	events := watch(t, fmt.Sprintf("%s/api/v1/queue/%s/stream?streamToken=%s", server.URL, joined.text("entryId"), joined.text("streamToken")))
	missed := false
	for e := range events {
		switch {
		case e.name == "expired" && !missed:
			missed = true
			s.must("PATCH", "/shows/"+show.ID.String(), `{"queue":{"admissionSeconds":600}}`)
			if r := s.must("POST", "/shows/"+show.ID.String()+"/queue", "", ann...); r.text("entryId") != joined.text("entryId") {
				t.Fatalf("%s", r.Body)
			}
		case e.name == "admitted" && missed:
			return
		}
	}
	t.Error("the stream ended without a second turn")
}

func TestAStoppingServerSendsWatchersAway(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := waitingRoom(t, s)
	s.must("POST", "/shows/"+show.ID.String()+"/pause", "")
	server := httptest.NewUnstartedServer(s.API)
	server.Config = s.API.Server()
	server.Start()
	r := s.must("POST", "/shows/"+show.ID.String()+"/queue", "", as(uuid.NewString())...)
	events := watch(t, fmt.Sprintf("%s/api/v1/queue/%s/stream?streamToken=%s", server.URL, r.text("entryId"), r.text("streamToken")))
	<-events
	stopped := make(chan error, 1)
	go func() { stopped <- server.Config.Shutdown(t.Context()) }()
	for e := range events {
		if e.name == "closing" && e.data["retryMs"].(float64) > 0 {
			if err := <-stopped; err != nil {
				t.Error(err)
			}
			return
		}
	}
	t.Error("nobody was told to come back")
}
