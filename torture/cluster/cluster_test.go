//go:build unix

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/sandbox"
)

var buildFolder string

// binary is built once, for whichever test comes first.
var binary = sync.OnceValues(func() (string, error) { return Build(context.Background(), buildFolder) })

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		child(dir)
		return
	}
	var err error
	if buildFolder, err = os.MkdirTemp("", "rowlock-cluster-build-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(buildFolder)
	os.Exit(code)
}

// start starts a cluster that the test ends, and whose files stay if it fails.
func start(t *testing.T, cfg Config) *Cluster {
	t.Helper()
	var err error
	if cfg.Binary, err = binary(); err != nil {
		t.Fatal(err)
	}
	if cfg.Dir, err = os.MkdirTemp("", "rowlock-cluster-"); err != nil {
		t.Fatal(err)
	}
	cfg.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	c, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		for _, e := range c.Exits() {
			if e.Ready {
				t.Errorf("%s fell: %s\n%s", e.Process, e.State, e.Log)
			}
		}
		if t.Failed() {
			t.Log("its files are in", cfg.Dir)
			return
		}
		os.RemoveAll(cfg.Dir)
	})
	return c
}

// browser keeps no connections to those who are killed.
var browser = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// post asks again and again, with the same key, until there is an answer that
// says what was done.
func post(ctx context.Context, url, customer string, body any) (status int, text string, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return 0, "", err
	}
	key := strings.ReplaceAll(uuid.NewString(), "-", "")
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
		if err != nil {
			return 0, "", err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", key)
		req.Header.Set("X-Mock-User-Id", customer)
		if resp, err := browser.Do(req); err == nil {
			answer, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err == nil && resp.StatusCode < 500 && !strings.Contains(string(answer), "IDEMPOTENCY_KEY_IN_USE") {
				return resp.StatusCode, string(answer), nil
			}
		}
		select {
		case <-ctx.Done():
			return 0, "", ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// hold asks for a seat and returns 201, or 409 for one that is taken.
func hold(ctx context.Context, url, customer string, show Show, label string) (status int, reservation string, err error) {
	status, text, err := post(ctx, url+"/api/v1/reservations", customer, map[string]any{"showId": show.ID, "seats": []any{map[string]string{"label": label}}})
	if err != nil || status == http.StatusConflict && strings.Contains(text, "SEAT_ALREADY_RESERVED") {
		return status, "", err
	}
	if status != http.StatusCreated {
		return 0, "", fmt.Errorf("%s: %d %s", label, status, text)
	}
	var made struct{ ReservationID string }
	err = json.Unmarshal([]byte(text), &made)
	return status, made.ReservationID, err
}

// buy holds a seat and pays for it. What becomes of that may not be known yet.
func buy(ctx context.Context, url string, show Show, label string) error {
	customer := uuid.NewString()
	_, reservation, err := hold(ctx, url, customer, show, label)
	if err != nil {
		return err
	}
	status, text, err := post(ctx, url+"/api/v1/bookings", customer, map[string]any{
		"reservationId": reservation, "buyer": map[string]string{"name": "Ada Lovelace", "email": "ada@example.org"},
		"payment": map[string]string{"method": "card", "token": "sbx_ok"},
	})
	if err == nil && status != http.StatusCreated && status != http.StatusAccepted {
		err = fmt.Errorf("%s: %d %s", label, status, text)
	}
	return err
}

// sale is a show that sells its seats one by one, and what was sold so far.
type sale struct {
	c    *Cluster
	show Show

	mu   sync.Mutex
	next int
	sold map[string]bool
}

func newSale(t *testing.T, c *Cluster, seats int) *sale {
	t.Helper()
	show, err := c.NewShow(t.Context(), ShowOptions{Seats: seats})
	if err != nil {
		t.Fatal(err)
	}
	return &sale{c: c, show: show, sold: map[string]bool{}}
}

// sell holds the next seat at an instance, and insists on it.
func (s *sale) sell(ctx context.Context, instance int) error {
	s.mu.Lock()
	label := s.show.Labels[s.next]
	s.next++
	s.mu.Unlock()
	status, _, err := hold(ctx, s.c.URLs()[instance], uuid.NewString(), s.show, label)
	if err != nil {
		return err
	}
	if status != http.StatusCreated {
		return fmt.Errorf("%s, which nobody else wanted: %d", label, status)
	}
	s.acknowledged(label)
	return nil
}

func (s *sale) acknowledged(label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sold[label] = true
}

// sellAll lets all instances sell, until stop is called, two buyers at each.
func (s *sale) sellAll(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for i := range s.c.URLs() {
		for range 2 {
			group.Go(func() {
				for ctx.Err() == nil {
					if err := s.sell(ctx, i); err != nil && ctx.Err() == nil {
						t.Error(err)
						return
					}
					time.Sleep(10 * time.Millisecond) // so that the house lasts
				}
			})
		}
	}
	return func() { cancel(); group.Wait() }
}

// check compares what was acknowledged with what the database has.
func (s *sale) check(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, s.c.Database())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	rows, err := conn.Query(ctx, `select p.label from shows s join show_seats h using (show_id) join plan_seats p using (plan_id, seat_no) where s.show_id = $1 and h.state = 'h'`, s.show.ID)
	if err != nil {
		t.Fatal(err)
	}
	labels, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]bool{}
	for _, label := range labels {
		held[label] = true
	}
	for label := range s.sold {
		if !held[label] {
			t.Errorf("the hold of %s was acknowledged and is lost", label)
		}
	}
	t.Logf("%d holds acknowledged", len(s.sold))
	prove(t, s.c)
}

// prove asks for broken rules.
func prove(t *testing.T, c *Cluster) {
	t.Helper()
	if out, err := c.Run(t.Context(), "prove"); err != nil {
		t.Error(out, err)
	}
}

func TestWhatWasAcknowledgedSurvivesEveryFault(t *testing.T) {
	t.Parallel()
	c := start(t, Config{Instances: 2, Workers: 1, Standby: true, Proxy: true, FakeTime: true, Seed: 1})
	s := newSale(t, c, 4000)
	stop := s.sellAll(t)
	rng := rand.New(rand.NewPCG(1, 1))
	for _, kind := range c.Kinds() {
		short, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
		e, err := c.Inflict(short, kind, rng)
		cancel()
		if err != nil || e.Kind != kind || e.What == "" || !e.Ended.After(e.Began) {
			t.Fatalf("%s: %+v, %v", kind, e, err)
		}
		for i := range c.URLs() {
			if err := s.sell(t.Context(), i); err != nil {
				t.Fatalf("after %s: instance %d does not sell: %v", e.What, i, err)
			}
		}
	}
	stop()
	s.check(t)
}

func TestAFrozenInstanceKeepsNobodyWaitingAndSellsNothingLate(t *testing.T) {
	t.Parallel()
	c := start(t, Config{Instances: 2, Standby: true})
	s := newSale(t, c, 300)
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	var sold, refused atomic.Int32
	var frozen time.Time
	var elsewhere sync.Once
	try := func(instance int, label string) {
		status, _, err := hold(t.Context(), c.URLs()[instance], uuid.NewString(), s.show, label)
		switch {
		case err != nil:
			t.Error(err)
		case status == http.StatusCreated:
			sold.Add(1)
			s.acknowledged(label)
			if instance == 1 {
				elsewhere.Do(func() { t.Logf("the other instance sold after %v", time.Since(frozen)) })
			}
		case instance == 0:
			refused.Add(1)
		}
	}
	var group sync.WaitGroup
	var next atomic.Int32
	const buyers = 3
	for range buyers {
		group.Go(func() {
			for ctx.Err() == nil {
				try(0, s.show.Labels[next.Add(1)-1]) // nobody else wants it, until the instance is frozen
			}
		})
	}
	caught, err := c.freezeMidTransaction(t.Context(), c.processes[0])
	enough()
	if err != nil || !caught {
		t.Errorf("frozen in the middle of a transaction: %v, %v", caught, err)
	}
	// All that is left, and that the frozen instance is about to sell, is sold
	// by the other one, while the first is still frozen.
	frozen = time.Now()
	wanted := make(chan string, len(s.show.Labels))
	for _, label := range s.show.Labels {
		wanted <- label
	}
	close(wanted)
	var others sync.WaitGroup
	for range 8 {
		others.Go(func() {
			for label := range wanted {
				try(1, label)
			}
		})
	}
	others.Wait()
	// What the first has sold and not said yet is missing.
	if n := int(sold.Load()); n < len(s.show.Labels)-buyers {
		t.Errorf("%d of %d seats are sold", n, len(s.show.Labels))
	}
	if err := c.processes[0].signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if refused.Load() == 0 {
		t.Error("the frozen instance could sell what it was about to")
	}
	if n := int(sold.Load()); n != len(s.show.Labels) {
		t.Errorf("%d seats are sold, of %d", n, len(s.show.Labels))
	}
	s.check(t)
}

func TestProcessesFindThePrimaryByThemselves(t *testing.T) {
	t.Parallel()
	c := start(t, Config{Instances: 1, Standby: true})
	s := newSale(t, c, 100)
	for range 3 {
		if err := s.sell(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		before := c.Database()
		if _, err := c.Promote(t.Context()); err != nil {
			t.Fatal(err)
		}
		if c.Database() == before {
			t.Error("the primary is where it was")
		}
	}
	if err := s.sell(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	s.check(t)

	// What is left of it can be looked into, and written to.
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	url, stop, err := Open(t.Context(), c.Folder())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := conn.QueryRow(t.Context(), "with one as (insert into river_queue (name, updated_at) values ('mine', now())) select count(*) from reservations").Scan(&n); err != nil || n != len(s.sold) {
		t.Errorf("%d holds were kept, of %d: %v", n, len(s.sold), err)
	}
	if err := errors.Join(conn.Close(context.Background()), stop()); err != nil {
		t.Error(err)
	}
}

func TestTheSmallerFaults(t *testing.T) {
	t.Parallel()
	c := start(t, Config{Instances: 1, FakeTime: true})
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, c.Database())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	// during does a fault, cuts it short when seen says that it is there, and
	// waits until it is repaired.
	during := func(t *testing.T, seen func() bool, f func(context.Context) (Event, error)) {
		t.Helper()
		ctx, enough := context.WithCancel(ctx)
		defer enough()
		ended := make(chan error, 1)
		go func() {
			_, err := f(ctx)
			ended <- err
		}()
		for !seen() {
			select {
			case err := <-ended:
				t.Fatal("it ended and was not seen:", err)
			case <-time.After(10 * time.Millisecond):
			}
		}
		enough()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if seen() {
			t.Error("it is not repaired")
		}
	}
	far := func(at time.Time) bool { return time.Until(at).Abs() > 60*time.Second }

	t.Run("Clock of a process", func(t *testing.T) {
		during(t, func() bool {
			resp, err := browser.Get(c.URLs()[0] + "/healthz")
			if err != nil {
				return false // it is being started again
			}
			resp.Body.Close()
			at, err := http.ParseTime(resp.Header.Get("Date"))
			return err == nil && far(at)
		}, func(ctx context.Context) (Event, error) { return c.ClockOff(ctx, 0, -90*time.Second, time.Minute) })
	})
	t.Run("Clock of the database", func(t *testing.T) {
		if !slices.Contains(c.Kinds(), ClockStepped) {
			t.Skip("libfaketime is not installed")
		}
		during(t, func() bool {
			var at time.Time
			if err := conn.QueryRow(ctx, "select clock_timestamp()").Scan(&at); err != nil {
				t.Fatal(err)
			}
			return far(at)
		}, func(ctx context.Context) (Event, error) {
			return c.StepDatabaseClock(ctx, 90*time.Second, time.Minute)
		})
	})
	t.Run("Jobs paused", func(t *testing.T) {
		during(t, func() bool {
			var paused bool
			if err := conn.QueryRow(ctx, "select exists (select from river_queue where paused_at is not null)").Scan(&paused); err != nil {
				t.Fatal(err)
			}
			return paused
		}, func(ctx context.Context) (Event, error) { return c.PauseJobs(ctx, time.Minute) })
	})
	t.Run("Jobs twice and a gateway that cannot be relied on", func(t *testing.T) {
		s := newSale(t, c, 20)
		buying, enough := context.WithCancel(ctx)
		defer enough()
		var faults sync.WaitGroup
		for _, f := range []func(context.Context, time.Duration) (Event, error){c.UnsureGateway, c.HoldWebhooks} {
			faults.Go(func() {
				if _, err := f(buying, time.Minute); err != nil {
					t.Error(err)
				}
			})
		}
		var buyers sync.WaitGroup
		for i := range 10 {
			buyers.Go(func() {
				if err := buy(ctx, c.URLs()[0], s.show, s.show.Labels[i]); err != nil {
					t.Error(err)
				}
			})
		}
		buyers.Wait()
		if len(c.Sandbox().Undelivered()) == 0 {
			t.Error("webhooks are not held")
		}
		enough()
		faults.Wait()
		if err := c.Sandbox().AwaitDelivery(ctx); err != nil {
			t.Error(err)
		}
		for _, again := range []func(context.Context, int) (Event, error){c.RunJobsTwice, c.RepeatWebhooks} {
			e, err := again(ctx, 50)
			if err != nil || strings.HasPrefix(e.What, "0 ") {
				t.Error(e.What, err)
			}
		}
		charged := map[string]int{}
		for _, p := range c.Sandbox().Ledger().Payments {
			if p.State == sandbox.Succeeded {
				charged[p.MerchantID]++
			}
			if charged[p.MerchantID] > 1 {
				t.Errorf("%s is charged twice", p.MerchantID)
			}
		}
		prove(t, c)
	})

	t.Run("A crash of Postgres is seen", func(t *testing.T) {
		if n := len(c.Falls()); n > 0 && !slices.Contains(c.Kinds(), ClockStepped) {
			t.Error("it crashed before, times: ", n)
		}
		victim, err := pgx.Connect(ctx, c.Database())
		if err != nil {
			t.Fatal(err)
		}
		defer victim.Close(context.Background())
		began := time.Now()
		if err := syscall.Kill(int(victim.PgConn().PID()), syscall.SIGABRT); err != nil {
			t.Fatal(err)
		}
		for {
			falls := c.Falls()
			if n := len(falls); n > 0 && falls[n-1].Began.After(began) && falls[n-1].Ended.After(falls[n-1].Began) {
				break
			}
			if time.Since(began) > time.Minute {
				t.Fatalf("%+v", falls)
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}

func TestAProcessDiesWithUs(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells a process that its parent has died")
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), childVariable+"="+t.TempDir())
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	parent.Process.Kill()
	parent.Wait()
	for alive(pid) {
		time.Sleep(10 * time.Millisecond)
	}
}

// alive says whether a process runs; one that has ended stays in the table of
// processes until somebody asks for it.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

const childVariable = "CLUSTER_TEST_CHILD"

// child starts a process, prints its number and waits to be killed.
func child(dir string) {
	p := &process{binary: "/bin/sleep", args: []string{"60"}, file: filepath.Join(dir, "log"), log: slog.New(slog.DiscardHandler)}
	p.stop = make(chan struct{})
	r, err := p.launch(p.stop)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.cmd.Process.Pid)
	<-r.exited
}
