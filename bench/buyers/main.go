// Command buyers lets people buy at a steady rate, whether or not answers come,
// from a Rowlock of its own: hold two seats, pay at the sandbox gateway, which
// answers at once, and fetch the tickets; all over HTTP. Each is timed from the
// instant at which they were due. At the end rowlock prove looks for a rule
// that was broken.
//
//	go run ./bench/buyers -rate 200 -for 15s
//
// It starts bin/rowlock in a folder that goes when it ends, on ports that are
// free, and talks to nothing else.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	rate := flag.Int("rate", 200, "buyers a second")
	during := flag.Duration("for", 15*time.Second, "for how long they come")
	binary := flag.String("rowlock", "bin/rowlock", "the binary to run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *binary, *rate, *during)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "buyers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, binary string, rate int, during time.Duration) error {
	if rate < 1 || rate > 10_000 || during < time.Second || during > 5*time.Minute {
		return errors.New("-rate is 1 to 10000, -for one second to five minutes")
	}
	s, err := start(ctx, binary)
	if err != nil {
		return err
	}
	defer s.stop()
	buyers := int(during.Seconds() * float64(rate))
	if err := s.build(ctx, 2*buyers); err != nil {
		return err
	}
	fmt.Printf("%d buyers a second for %v: two seats each, paid at the sandbox, tickets fetched\n", rate, during)
	results := make([]result, buyers)
	var all sync.WaitGroup
	began := time.Now()
	for i := range results {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
		time.Sleep(time.Until(due)) // the rate of the load, not a wait for anything
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if i%(rate*5) == 0 && i > 0 {
			fmt.Printf("  %v: %d have come\n", time.Since(began).Round(time.Second), i)
		}
		all.Go(func() { results[i] = s.buy(ctx, due, i) })
	}
	all.Wait()
	took := time.Since(began)
	return s.report(ctx, results, took)
}

// result is what became of one buyer: how long after being due each step was
// done.
type result struct {
	hold, pay, tickets time.Duration
	err                error
}

func (s *service) buy(ctx context.Context, due time.Time, i int) (r result) {
	user := fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i)
	var hold struct{ ReservationID string }
	r.err = s.ask(ctx, user, http.MethodPost, "/reservations", http.StatusCreated, &hold, map[string]any{
		"showId": s.show, "seats": []any{map[string]string{"label": seat(2 * i)}, map[string]string{"label": seat(2*i + 1)}},
	})
	if r.hold = time.Since(due); r.err != nil {
		return r
	}
	var booking struct{ BookingID, Status string }
	r.err = s.ask(ctx, user, http.MethodPost, "/bookings", http.StatusCreated, &booking, map[string]any{
		"reservationId": hold.ReservationID, "buyer": map[string]string{"name": "Ada Lovelace", "email": "ada@example.org"},
		"payment": map[string]string{"method": "card", "token": "sbx_ok"},
	})
	if r.pay = time.Since(due); r.err != nil {
		return r
	}
	var list struct{ Tickets []struct{ Code string } }
	r.err = s.ask(ctx, user, http.MethodGet, "/bookings/"+booking.BookingID+"/tickets", http.StatusOK, &list, nil)
	if r.tickets = time.Since(due); r.err == nil && (len(list.Tickets) != 2 || list.Tickets[0].Code == "") {
		r.err = fmt.Errorf("booking %s has %d tickets", booking.BookingID, len(list.Tickets))
	}
	return r
}

func seat(i int) string { return fmt.Sprintf("%d-%d", 1+i/100, 1+i%100) }

func (s *service) report(ctx context.Context, results []result, took time.Duration) error {
	failed := map[string]int{}
	steps := map[string][]time.Duration{}
	for _, r := range results {
		if r.err != nil {
			failed[r.err.Error()]++
			continue
		}
		steps["hold"], steps["pay"], steps["tickets"] = append(steps["hold"], r.hold), append(steps["pay"], r.pay), append(steps["tickets"], r.tickets)
	}
	fmt.Printf("\n%d bought in %v, %.0f a second; until, in ms:\n", len(steps["tickets"]), took.Round(time.Millisecond), float64(len(steps["tickets"]))/took.Seconds())
	fmt.Printf("  %-8s %8s %8s %8s %8s\n", "", "p50", "p90", "p99", "max")
	for _, name := range []string{"hold", "pay", "tickets"} {
		d := steps[name]
		if len(d) == 0 {
			continue
		}
		slices.Sort(d)
		of := func(p float64) float64 { return float64(d[int(p*float64(len(d)-1))].Microseconds()) / 1000 }
		fmt.Printf("  %-8s %8.1f %8.1f %8.1f %8.1f\n", name, of(.5), of(.9), of(.99), of(1))
	}
	for what, n := range failed {
		fmt.Printf("  %d times: %s\n", n, what)
	}
	prove := exec.CommandContext(ctx, s.binary, "prove")
	prove.Env = s.env
	out, err := prove.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	fmt.Println(lines[len(lines)-1])
	if err != nil {
		return fmt.Errorf("prove: %w\n%s", err, out)
	}
	if len(failed) > 0 {
		return errors.New("not everybody could buy")
	}
	return nil
}

// service is a Rowlock of our own.
type service struct {
	binary string
	env    []string
	cmd    *exec.Cmd
	dir    string
	url    string
	show   string
	client *http.Client
}

func start(ctx context.Context, binary string) (_ *service, err error) {
	s := &service{client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}}
	if s.binary, err = filepath.Abs(binary); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "rowlock-buyers-"); err != nil {
		return nil, err
	}
	if err := os.Chmod(s.dir, 0o711); err != nil { // the database may run as another user
		return nil, err
	}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	s.url = "http://" + addr
	s.cmd = exec.Command(s.binary, "run")
	s.env = slices.DeleteFunc(s.cmd.Environ(), func(v string) bool { return strings.HasPrefix(v, "DATABASE_") }) // nobody else's database
	s.env = append(s.env, "ADDR="+addr, "SANDBOX_ADDR=127.0.0.1:0", "DATA_DIR="+filepath.Join(s.dir, "data"))
	s.cmd.Env, s.cmd.Stderr = s.env, os.Stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is ours
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for until := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if r, err := s.client.Get(s.url + "/readyz"); err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK && s.ask(ctx, "", http.MethodGet, "/shows?externalRef=demo-theatre-tonight", http.StatusOK, nil, nil) == nil {
				return s, nil
			}
		}
		if time.Now().After(until) || ctx.Err() != nil {
			return nil, errors.New("rowlock run did not come up")
		}
	}
}

func (s *service) stop() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
	}
	os.RemoveAll(s.dir)
}

// build makes a show with so many seats.
func (s *service) build(ctx context.Context, seats int) error {
	var venue struct{ VenueID string }
	var hall struct{ HallID string }
	var plan struct{ PlanID string }
	var event struct{ EventID string }
	var show struct{ ShowID string }
	var csv bytes.Buffer
	csv.WriteString("section,row,seat,category\n")
	for i := range seats {
		fmt.Fprintf(&csv, ",%d,%d,All\n", 1+i/100, 1+i%100)
	}
	for _, step := range []func() error{
		func() error {
			return s.ask(ctx, "", http.MethodPost, "/venues", http.StatusCreated, &venue, map[string]string{"name": "Rush House", "city": "Helsinki", "country": "FI", "timeZone": "Europe/Helsinki"})
		},
		func() error {
			return s.ask(ctx, "", http.MethodPost, "/halls", http.StatusCreated, &hall, map[string]string{"venueId": venue.VenueID, "name": "Hall"})
		},
		func() error {
			return s.ask(ctx, "", http.MethodPost, "/halls/"+hall.HallID+"/plans?format=csv", http.StatusCreated, &plan, csv.Bytes())
		},
		func() error {
			return s.ask(ctx, "", http.MethodPost, "/events", http.StatusCreated, &event, map[string]string{"kind": "concert", "title": "The Rush"})
		},
		func() error {
			return s.ask(ctx, "", http.MethodPost, "/shows", http.StatusCreated, &show, map[string]any{
				"eventId": event.EventID, "planId": plan.PlanID, "startsAt": time.Now().AddDate(0, 1, 0), "currency": "EUR", "publish": true,
				"prices": []any{map[string]any{"category": "All", "amount": 2500}},
			})
		},
	} {
		if err := step(); err != nil {
			return err
		}
	}
	s.show = show.ShowID
	return nil
}

// ask sends a request as a customer, or without one as the organiser.
func (s *service) ask(ctx context.Context, user, method, path string, want int, into, body any) error {
	var content []byte
	kind := "application/json"
	switch body := body.(type) {
	case nil:
	case []byte:
		content, kind = body, "text/csv"
	default:
		var err error
		if content, err = json.Marshal(body); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, s.url+"/api/v1"+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	if user != "" {
		r.Header.Set("X-Mock-User-Id", user)
	} else {
		r.Header.Set("X-API-Key", "dev-admin-key")
	}
	if content != nil {
		r.Header.Set("Content-Type", kind)
	}
	r.Header.Set("Idempotency-Key", newKey())
	w, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer w.Body.Close()
	answer, err := io.ReadAll(w.Body)
	if err != nil {
		return err
	}
	if w.StatusCode != want {
		return fmt.Errorf("%s %s: %d instead of %d: %.200s", method, strings.SplitN(path, "?", 2)[0], w.StatusCode, want, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

func newKey() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = 0x40|b[6]&0x0f, 0x80|b[8]&0x3f
	return hex.EncodeToString(b[:])
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
