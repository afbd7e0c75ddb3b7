package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
)

var quiet = slog.New(slog.DiscardHandler)

func TestTogetherStopsTheLastPartFirst(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var stopped []string
	var begun sync.WaitGroup
	waits := func(name string) part {
		begun.Add(1)
		return part{name, func(ctx context.Context) error {
			begun.Done()
			<-ctx.Done()
			mu.Lock()
			defer mu.Unlock()
			stopped = append(stopped, name)
			return nil
		}}
	}
	told := part{"told", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
	once := part{"once", func(context.Context) error { return nil }}
	parts := []part{waits("lanes"), once, told, waits("jobs"), waits("http")}
	go func() { begun.Wait(); cancel() }()
	if err := together(ctx, quiet, parts); err != nil {
		t.Error(err)
	}
	if !slices.Equal(stopped, []string{"http", "jobs", "lanes"}) {
		t.Errorf("stopped in the order %v", stopped)
	}
}

func TestTogetherEndsWhenAPartFails(t *testing.T) {
	t.Parallel()
	bang, late := errors.New("bang"), errors.New("and the others did not end well")
	err := together(t.Context(), quiet, []part{
		{"lanes", func(ctx context.Context) error { <-ctx.Done(); return late }},
		{"jobs", func(context.Context) error { return bang }},
	})
	if !errors.Is(err, bang) || !errors.Is(err, late) || strings.Count(err.Error(), "bang") != 1 || !strings.Contains(err.Error(), "jobs: bang") {
		t.Errorf("%v", err)
	}
}

// hold is a request for a seat.
func hold(show uuid.UUID, label string) (body string, header map[string]string) {
	return `{"showId":"` + show.String() + `","seats":[{"label":"` + label + `"}],"ttlSeconds":1}`, map[string]string{
		"Content-Type": "application/json", "X-Mock-User-Id": uuid.NewString(),
		"Idempotency-Key": strings.ReplaceAll(uuid.NewString(), "-", ""),
	}
}

func TestServeDropsNoRequestThatItAccepted(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	made := fixture.Show(t, fixture.On(t, db), fixture.Options{})
	p := start(t, with(production(db), "ENV", "development", "AUTH_MODE", "mock", "LANE_TIMEOUT", "5s"), "serve").ready()

	// Somebody else has the show, so the request is under way when the end is asked for.
	super := db.Pool("")
	conn, err := super.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(t.Context(), `select pg_advisory_lock(show_lock_key($1))`, made.ID); err != nil {
		t.Fatal(err)
	}
	answered := make(chan string, 1)
	go func() {
		body, header := hold(made.ID, made.Seats[0].Label)
		code, answer := p.send(http.MethodPost, "/api/v1/reservations", body, header)
		answered <- http.StatusText(code) + " " + answer
	}()
	until(t, "the request waits for the lock", func() (waiting bool) {
		if err := super.QueryRow(t.Context(), `select exists (select from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database()))`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		return waiting
	})
	p.terminate()
	until(t, "no connection is taken any more", func() bool {
		c, err := net.Dial("tcp", strings.TrimPrefix(p.base, "http://"))
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	if _, err := conn.Exec(t.Context(), `select pg_advisory_unlock_all()`); err != nil {
		t.Fatal(err)
	}
	if got := <-answered; !strings.HasPrefix(got, "Created ") {
		t.Errorf("the request that was under way: %s", got)
	}
	p.wait()
}

func TestServeSaysThatItStopsBeforeItDoes(t *testing.T) {
	t.Parallel()
	p := start(t, production(pgtest.New(t)), "serve").ready()
	p.terminate()
	var code int
	var body string
	until(t, "/readyz says that it stops", func() bool {
		code, body = p.get("/readyz")
		return code != http.StatusOK
	})
	if code != http.StatusServiceUnavailable || !strings.Contains(body, "stopping") {
		t.Errorf("/readyz: %d %s", code, body)
	}
	if code, _ := p.get("/healthz"); code != http.StatusOK {
		t.Errorf("/healthz: %d", code)
	}
	p.wait()
}

func TestServeAndWorkCanBeApart(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	made := fixture.Show(t, fixture.On(t, db), fixture.Options{})
	serve := start(t, with(production(db), "ENV", "development", "AUTH_MODE", "mock"), "serve", "--jobs=false").ready()
	if _, body := serve.get("/readyz"); strings.Contains(body, "workers") {
		t.Errorf("it works no jobs and says that it does: %s", body)
	}
	body, header := hold(made.ID, made.Seats[0].Label)
	if code, answer := serve.send(http.MethodPost, "/api/v1/reservations", body, header); code != http.StatusCreated {
		t.Fatalf("%d %s", code, answer)
	}
	super := db.Pool("")
	status := func() (status string) {
		if err := super.QueryRow(t.Context(), `select status from reservations`).Scan(&status); err != nil {
			t.Fatal(err)
		}
		return status
	}
	if got := status(); got != "active" {
		t.Errorf("with no worker anywhere it is %s", got)
	}
	work := start(t, production(db), "work").ready()
	until(t, "the hold is closed", func() bool { return status() == "expired" })
	for path, want := range map[string]int{"/healthz": 200, "/metrics": 200, "/": 404, "/api/v1/reservations": 404} {
		if code, _ := work.get(path); code != want {
			t.Errorf("the worker's %s: %d, want %d", path, code, want)
		}
	}
	for _, p := range []*process{work, serve} {
		p.terminate()
		p.wait()
	}
}

func TestAJobThatADeadWorkerLeftIsSeenAndNobodyWaitsForIt(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	super := db.Pool("")
	made := fixture.Show(t, fixture.On(t, db), fixture.Options{})
	env := func() map[string]string { return with(production(db), "ENV", "development", "AUTH_MODE", "mock") }
	serve := start(t, env(), "serve", "--jobs=false").ready()
	body, header := hold(made.ID, made.Seats[0].Label)
	if code, answer := serve.send(http.MethodPost, "/api/v1/reservations", body, header); code != http.StatusCreated {
		t.Fatalf("%d %s", code, answer)
	}

	// The worker is killed in the middle of the job that closes the hold.
	conn, err := super.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(t.Context(), `select pg_advisory_lock(show_lock_key($1))`, made.ID); err != nil {
		t.Fatal(err)
	}
	running := func() (n int) {
		if err := super.QueryRow(t.Context(), `select count(*) from river_job where kind = 'reservations_expire' and state = 'running'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	work := start(t, with(production(db), "LANE_TIMEOUT", "5s"), "work").ready()
	until(t, "the job runs", func() bool { return running() == 1 })
	if err := work.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-work.ended
	work.ended <- nil
	if _, err := conn.Exec(t.Context(), `select pg_advisory_unlock_all()`); err != nil {
		t.Fatal(err)
	}
	if _, err := super.Exec(t.Context(), `update river_job set attempted_at = attempted_at - interval '1 hour' where state = 'running'`); err != nil || running() != 1 {
		t.Fatalf("%v, %d jobs run", err, running())
	}

	// The next buyer has the seat, though no process has closed the hold.
	body, header = hold(made.ID, made.Seats[0].Label)
	if code, answer := serve.send(http.MethodPost, "/api/v1/reservations", body, header); code != http.StatusCreated {
		t.Errorf("%d %s", code, answer)
	}
	// People hear of it: from any process, also one that works no jobs, and when they ask.
	other := start(t, env(), "serve", "--jobs=false").ready()
	until(t, "the age of the oldest running job is said to be an hour", func() bool {
		_, page := other.get("/metrics")
		m := regexp.MustCompile(`(?m)^rowlock_jobs_running_age_seconds (\S+)$`).FindStringSubmatch(page)
		if m == nil {
			t.Fatal("there is no such metric")
		}
		age, err := strconv.ParseFloat(m[1], 64)
		return err == nil && age >= 3600
	})
	if text := must(t, "ops", "jobs", "--database-url="+db.URL(store.RoleOps)); !regexp.MustCompile(`reservations_expire +\| running +\| 1 .*\b01:0\d:`).MatchString(text) {
		t.Errorf("the question says\n%s", text)
	}
}

// instants are all instants in an answer, by the path to them.
func instants(v any, path string, found map[string]string) map[string]string {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			instants(value, path+"."+name, found)
		}
	case []any:
		for i, value := range v {
			instants(value, fmt.Sprint(path, ".", i), found)
		}
	case string:
		if _, err := time.Parse(time.RFC3339, v); err == nil {
			found[path] = v
		}
	}
	return found
}

// The server is in one zone, its database in another, and neither is UTC.
func TestTheZoneOfAServerChangesNoInstant(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	super := db.Pool("")
	if _, err := super.Exec(t.Context(), "alter database "+db.Name+" set timezone to 'America/St_Johns'"); err != nil {
		t.Fatal(err)
	}
	made := fixture.Show(t, fixture.On(t, db), fixture.Options{Seats: 2})
	p := start(t, with(production(db), "TZ", "Asia/Kolkata", "ENV", "development", "AUTH_MODE", "mock"), "serve").ready()
	if !strings.Contains(p.log.String(), "+05:30") {
		t.Fatal("the server is not in the zone that it was given")
	}
	ann, bob := uuid.NewString(), uuid.NewString()
	ask := func(who, method, path, body string, want int) (answer map[string]any, at map[string]string) {
		t.Helper()
		code, text := p.send(method, "/api/v1"+path, body, map[string]string{
			"Content-Type": "application/json", "X-Mock-User-Id": who, "Idempotency-Key": strings.ReplaceAll(uuid.NewString(), "-", ""),
		})
		if err := json.Unmarshal([]byte(text), &answer); err != nil || code != want {
			t.Fatalf("%s %s: %d %s, want %d", method, path, code, text, want)
		}
		at = instants(answer, "", map[string]string{})
		for name, instant := range at {
			if !strings.HasSuffix(instant, "Z") {
				t.Errorf("%s %s: %s is not in UTC: %s", method, path, name, instant)
			}
		}
		return answer, at
	}
	place := func(seat, seconds int) string {
		return fmt.Sprintf(`{"showId":"%s","seats":[{"seatId":"%s"}],"ttlSeconds":%d}`, made.ID, made.Seats[seat].ID, seconds)
	}
	// stored is what the database says of a reservation, in UTC.
	stored := func(id any) (expires string, seconds float64, over bool) {
		t.Helper()
		var at time.Time
		if err := super.QueryRow(t.Context(), `select expires_at, extract(epoch from expires_at - created_at)::float8, clock_timestamp() >= expires_at from reservations where reservation_id = $1`, id).
			Scan(&at, &seconds, &over); err != nil {
			t.Fatal(err)
		}
		return at.UTC().Format(time.RFC3339Nano), seconds, over
	}

	long, longAt := ask(ann, "POST", "/reservations", place(0, 600), 201)
	if expires, seconds, _ := stored(long["reservationId"]); longAt[".expiresAt"] != expires || seconds != 600 {
		t.Errorf("it ends at %s, and in the database at %s, after %v s", longAt[".expiresAt"], expires, seconds)
	}
	ask(bob, "POST", "/reservations", place(0, 600), 409)
	for _, path := range []string{
		"/reservations/" + long["reservationId"].(string), "/reservations", "/shows/" + made.ID.String(), "/shows/" + made.ID.String() + "/seats", "/events/" + made.EventID.String(),
	} {
		if _, at := ask(ann, "GET", path, "", 200); len(at) == 0 {
			t.Errorf("%s has no instants", path)
		}
	}

	short, shortAt := ask(ann, "POST", "/reservations", place(1, 1), 201)
	until(t, "the hold is over by the database's clock", func() bool { _, _, over := stored(short["reservationId"]); return over })
	ask(bob, "POST", "/reservations", place(1, 600), 201)
	refused, _ := ask(ann, "POST", "/reservations/"+short["reservationId"].(string)+"/extend", "", 410)
	if refused["expiredAt"] != shortAt[".expiresAt"] {
		t.Errorf("it ended at %v and was to end at %s", refused["expiredAt"], shortAt[".expiresAt"])
	}
	p.terminate()
	p.wait()
}

func TestServeRefusesToStart(t *testing.T) {
	t.Parallel()
	db, empty := pgtest.New(t), pgtest.NewEmpty(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"WithoutADatabase":           {map[string]string{"SESSION_SECRET": "0123456789abcdef0123456789abcdef", "TICKET_KEYS": strings.Repeat("0123456789abcdef", 4)}, "DATABASE_URL is not set"},
		"OnAPortThatIsTaken":         {with(production(db), "ADDR", taken.Addr().String()), "another program serves on " + taken.Addr().String()},
		"AsSuperuserInProduction":    {with(production(db), "DATABASE_URL", db.URL("")), "is a superuser"},
		"AsTheLaneOfAnOwner":         {with(production(db), "DATABASE_LANE_URL", db.URL(store.RoleOwner)), "owns the tables"},
		"OnASchemaThatIsTooOld":      {production(empty), "run rowlock migrate"},
		"WithMorePoolsThanThereIs":   {with(production(db), "POOL_REQUESTS", "1000"), "raise max_connections"},
		"WithMockUsersInProduction":  {with(production(db), "AUTH_MODE", "mock"), "AUTH_MODE must not be mock"},
		"WithASettingThatIsNonsense": {with(production(db), "LANES", "many"), "LANES"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, c.env, "serve")
			if code := p.exit(); code != 1 || !strings.Contains(p.log.String(), c.want) {
				t.Errorf("exit %d; %q is not in its log", code, c.want)
			}
		})
	}
}

func TestServeOnANewerSchemaWarns(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	if _, err := db.Pool("").Exec(t.Context(), `update schema_version set version = version + 1`); err != nil {
		t.Fatal(err)
	}
	p := start(t, with(production(db), "MIGRATE_DATABASE_URL", db.URL(store.RoleOwner)), "serve").ready()
	if !strings.Contains(p.log.String(), "the schema is newer than this binary") {
		t.Error("no warning")
	}
}

func TestServeMigratesWhenItHasTheRoleForIt(t *testing.T) {
	t.Parallel()
	db := pgtest.NewEmpty(t)
	env := with(production(db), "MIGRATE_DATABASE_URL", db.URL(store.RoleOwner))
	first, second := start(t, env, "serve"), start(t, env, "serve")
	first.ready()
	second.ready()
}

// stream reads events of a show from a process.
type stream struct {
	t     *testing.T
	body  io.ReadCloser
	lines *bufio.Scanner
	id    string // of the last event that had one
}

// watch opens a stream after an event; "": from the beginning.
func (p *process) watch(show uuid.UUID, after string) *stream {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	p.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+"/api/v1/shows/"+show.String()+"/stream", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		p.t.Fatalf("%v, %v", resp, err)
	}
	p.t.Cleanup(func() { resp.Body.Close() })
	return &stream{p.t, resp.Body, bufio.NewScanner(resp.Body), after}
}

// next is the next event, what a stream begins with left out; "": the stream has
// ended.
func (s *stream) next() (name, data string) {
	for s.lines.Scan() {
		field, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch field {
		case "event":
			name = value
		case "id":
			s.id = value
		case "data":
			data = value
		case "":
			if name != "heartbeat" && name != "stale" {
				return name, data
			}
		}
	}
	return "", ""
}

// A server is killed in the middle of a sale, and another is started. Its
// viewers go on where they were, as if nothing had happened.
func TestViewersGoOnWhenTheServerIsKilledAndStartedAgain(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	made := fixture.Show(t, s, fixture.Options{Seats: 200})
	env := with(production(db), "ENV", "development", "AUTH_MODE", "mock")
	p := start(t, env, "serve").ready()
	statuses, known := []byte(nil), map[string]int{}
	for i, seat := range made.Seats {
		known[seat.Label] = i
	}
	var version int64
	hear := func(v *stream) {
		t.Helper()
		name, data := v.next()
		switch name {
		case "snapshot":
			var e struct {
				Version  int64
				Statuses string
			}
			if err := json.Unmarshal([]byte(data), &e); err != nil || version != 0 {
				t.Fatalf("after version %d: %v, %s", version, err, data)
			}
			version, statuses = e.Version, []byte(e.Statuses)
		case "changes":
			var e struct {
				After, Version int64
				Seats          []struct{ Label, Status string }
			}
			if err := json.Unmarshal([]byte(data), &e); err != nil || e.After != version {
				t.Fatalf("after version %d: %v, %s", version, err, data)
			}
			version = e.Version
			for _, seat := range e.Seats {
				statuses[known[seat.Label]] = seat.Status[0]
			}
		case "show":
		default:
			t.Fatalf("after version %d: %s %s", version, name, data)
		}
	}
	sell := func(i int) (version int64) {
		t.Helper()
		r, _, err := s.PlaceReservation(t.Context(), fixture.Staff, new(fixture.Key()), store.PlaceRequest{ShowID: made.ID, CustomerID: "guest:a", Seats: []store.SeatRef{{ID: made.Seats[i].ID}}})
		if err != nil {
			t.Fatal(err)
		}
		return r.ShowVersion
	}
	v := p.watch(made.ID, "")
	hear(v)
	for i := range 60 {
		sold := sell(i)
		for i%20 != 19 && version < sold {
			hear(v)
		}
		if i%20 == 19 { // what was sold last may be in it, or not
			if err := p.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-p.ended
			p.ended <- nil
			for name := "?"; name != ""; {
				before := v.id
				if name, _ = v.next(); name != "" {
					v.id = before // it came too late to be looked at
				}
			}
			sell(100 + i)
			p = start(t, env, "serve").ready()
			v = p.watch(made.ID, v.id)
		}
	}
	for last := sell(199); version < last; {
		hear(v)
	}
	for i, letter := range statuses {
		if want := i < 60 || i == 119 || i == 139 || i == 159 || i == 199; (letter == 'h') != want {
			t.Errorf("seat %d is %c", i, letter)
		}
	}
	p.terminate()
	if name, data := v.next(); name != "closing" || !strings.Contains(data, "retryMs") {
		t.Errorf("at the end: %s %s", name, data)
	}
	p.wait()
}
