package onsale

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Rush is people who come at a steady rate, whether or not others have been
// served. Each holds two seats, pays at the sandbox gateway, which answers at
// once, and fetches the tickets.
type Rush struct {
	Binary string        // of rowlock; "": one is built
	Rate   int           // buyers a second, 1 to 10,000
	During time.Duration // for how long they come, a second to five minutes
	Say    func(format string, args ...any)
}

// Bought is how long after a buyer came each step was done, and what rowlock
// prove says at the end.
type Bought struct {
	Hold, Pay, Tickets Load
	Verdict            string
}

// Buy runs a rush on a Rowlock of its own: rowlock run, with API, jobs, gateway
// and mails in one process, in a folder that goes when it ends. The error is
// that somebody could not buy, or that a rule was broken.
func Buy(ctx context.Context, rush Rush) (Bought, error) {
	if rush.Rate < 1 || rush.Rate > 10_000 || rush.During < time.Second || rush.During > 5*time.Minute {
		return Bought{}, errors.New("the rate is 1 to 10000 buyers a second, for one second to five minutes")
	}
	s, err := start(ctx, rush.Binary)
	if err != nil {
		return Bought{}, err
	}
	defer s.stop()
	buyers := int(rush.During.Seconds() * float64(rush.Rate))
	if err := s.build(ctx, 2*buyers); err != nil {
		return Bought{}, err
	}
	rush.Say("%d buyers a second for %v: two seats each, paid at the sandbox, tickets fetched", rush.Rate, rush.During)
	held, paid, fetched := newMeter(), newMeter(), newMeter()
	var all sync.WaitGroup
	began := time.Now()
	for i := range buyers {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(rush.Rate))
		time.Sleep(time.Until(due)) // the rate of the load, not a wait for anything
		if ctx.Err() != nil {
			break
		}
		if i%(rush.Rate*5) == 0 && i > 0 {
			rush.Say("  %v: %d have come", time.Since(began).Round(time.Second), i)
		}
		all.Go(func() {
			b := buyer{s: s, due: due, user: fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i)}
			b.step(held, func() error { return b.hold(ctx, i) })
			b.step(paid, func() error { return b.pay(ctx) })
			b.step(fetched, func() error { return b.fetch(ctx) })
		})
	}
	all.Wait()
	b := Bought{Hold: held.result(began), Pay: paid.result(began), Tickets: fetched.result(began)}
	if err := ctx.Err(); err != nil {
		return b, err
	}
	b.Verdict, err = s.prove(ctx)
	return b, errors.Join(err, b.Hold.err(), b.Pay.err(), b.Tickets.err())
}

// buyer is one person on their way.
type buyer struct {
	s                    *rowlock
	due                  time.Time
	user                 string
	reservation, booking string
	failed               bool
}

// step does the next step, unless one before has failed.
func (b *buyer) step(m *meter, do func() error) {
	if b.failed {
		return
	}
	answer, why := "done", ""
	if err := do(); err != nil {
		b.failed, answer, why = true, "", err.Error()
	}
	m.add(answer, why, time.Since(b.due))
}

func (b *buyer) hold(ctx context.Context, i int) error {
	var hold struct{ ReservationID string }
	err := b.s.ask(ctx, b.user, http.MethodPost, "/reservations", http.StatusCreated, &hold, map[string]any{
		"showId": b.s.show, "seats": []any{map[string]string{"label": label(2 * i)}, map[string]string{"label": label(2*i + 1)}},
	})
	b.reservation = hold.ReservationID
	return err
}

func (b *buyer) pay(ctx context.Context) error {
	var booking struct{ BookingID string }
	err := b.s.ask(ctx, b.user, http.MethodPost, "/bookings", http.StatusCreated, &booking, map[string]any{
		"reservationId": b.reservation, "buyer": map[string]string{"name": "Ada Lovelace", "email": "ada@example.org"},
		"payment": map[string]string{"method": "card", "token": "sbx_ok"},
	})
	b.booking = booking.BookingID
	return err
}

func (b *buyer) fetch(ctx context.Context) error {
	var list struct{ Tickets []struct{ Code string } }
	err := b.s.ask(ctx, b.user, http.MethodGet, "/bookings/"+b.booking+"/tickets", http.StatusOK, &list, nil)
	if err == nil && (len(list.Tickets) != 2 || list.Tickets[0].Code == "") {
		err = fmt.Errorf("booking %s has %d tickets", b.booking, len(list.Tickets))
	}
	return err
}

// label is what people read on seat i of a plan of ours.
func label(i int) string { return fmt.Sprintf("%d-%d", 1+i/100, 1+i%100) }

// rowlock is a rowlock run of our own.
type rowlock struct {
	binary string
	env    []string
	cmd    *exec.Cmd
	dir    string
	url    string
	show   string
	client *http.Client
}

func start(ctx context.Context, binary string) (_ *rowlock, err error) {
	s := &rowlock{client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}}
	if s.dir, err = os.MkdirTemp("", "rowlock-buyers-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	if err := os.Chmod(s.dir, 0o711); err != nil { // the database may run as another user
		return nil, err
	}
	if binary == "" {
		binary, err = build(ctx, s.dir, "cmd/api")
	}
	if err != nil {
		return nil, err
	}
	if s.binary, err = filepath.Abs(binary); err != nil {
		return nil, err
	}
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

func (s *rowlock) stop() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
	}
	os.RemoveAll(s.dir)
}

// prove returns the last line of rowlock prove.
func (s *rowlock) prove(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, s.binary, "prove")
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("prove: %w\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1], nil
}

// build makes a show with so many seats.
func (s *rowlock) build(ctx context.Context, seats int) error {
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
func (s *rowlock) ask(ctx context.Context, user, method, path string, want int, into, body any) error {
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
	r.Header.Set("Idempotency-Key", string(appendKey(nil)))
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

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
