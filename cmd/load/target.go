package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
)

const (
	answerMax   = 64 << 20         // bytes of a body: a map of a stadium is some of them
	dialTimeout = 10 * time.Second // for a connection; patience ends everything else
)

// target is the deployment that the drill is for.
type target struct {
	base   string // http://host:port/api/v1
	client *http.Client
	meter  *meter
	// streams are connections of their own: they stay open.
	streams *http.Client
}

// dial makes sure that the target may be loaded. Every address that its name
// has must be of this machine, and no other is connected to later, whatever the
// name leads to by then; unless the owner has spoken.
func dial(ctx context.Context, o *options, m *meter) (*target, error) {
	u, err := url.Parse(o.Target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("--target %q is not an address like http://localhost:8080", o.Target)
	}
	dialer := &net.Dialer{Timeout: dialTimeout}
	transport := &http.Transport{
		MaxIdleConns: o.Connections, MaxIdleConnsPerHost: o.Connections, MaxConnsPerHost: o.Connections,
		IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: dialTimeout, ForceAttemptHTTP2: true,
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext,
	}
	if !o.Owned {
		addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
		if err != nil {
			return nil, err
		}
		for _, a := range addrs {
			if !a.Unmap().IsLoopback() {
				return nil, fmt.Errorf("%s is at %v, which is not this machine: a drill is for one's own deployment. If it is yours, say --i-own-this-host", u.Hostname(), a.Unmap())
			}
		}
		transport.Proxy, transport.DialContext = nil, only(dialer, addrs)
	}
	// A redirect might lead to a host that nobody asked about.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	open := transport.Clone()
	open.MaxConnsPerHost, open.MaxIdleConnsPerHost = 0, -1
	return &target{
		base:    strings.TrimSuffix(u.String(), "/") + "/api/v1",
		meter:   m,
		client:  &http.Client{Transport: transport, CheckRedirect: stay},
		streams: &http.Client{Transport: open, CheckRedirect: stay},
	}, nil
}

// only dials these addresses, whatever name it is given.
func only(dialer *net.Dialer, addrs []netip.Addr) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		for _, a := range addrs {
			if conn, err = dialer.DialContext(ctx, network, net.JoinHostPort(a.String(), port)); err == nil {
				return conn, nil
			}
		}
		return nil, err
	}
}

// caller is who asks. The zero caller is anybody.
type caller struct {
	header, value string
	customer      string // whose holds they are, when an API key makes them
}

// request is what is asked.
type request struct {
	step   string // of the buyer, for the figures
	method string
	path   string
	body   any
	etag   string // what the asker has
	turn   string // of the waiting room
}

// answer is what came back for good.
type answer struct {
	status int
	code   string // of a problem
	etag   string
	body   []byte
	sent   time.Time // for the first time

	retryAfter time.Duration
	wait       bool // retryAfter was given
}

func (a *answer) String() string {
	return fmt.Sprintf("%d %s %.200s", a.status, a.code, a.body)
}

// decode reads the body.
func (a *answer) decode(into any) error {
	if err := json.Unmarshal(a.body, into); err != nil {
		return fmt.Errorf("an answer that is no JSON: %w: %.100q", err, a.body)
	}
	return nil
}

// noAnswer says that patience ended before an answer came that counts.
type noAnswer struct {
	unsure bool // it may have been done all the same
	last   string
}

func (e *noAnswer) Error() string { return "no answer in time; last: " + e.last }

// ask sends a request until it is answered for good, or ctx is over. What is
// refused for the moment, or not answered, is sent again with the same
// Idempotency-Key, no sooner than the refusal says and not all at once.
func (t *target) ask(ctx context.Context, who caller, r request) (answer, error) {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return answer{}, err
		}
	}
	key := strings.ReplaceAll(newUUID(), "-", "")
	first := time.Now()
	gaveUp := &noAnswer{last: "none"}
	for attempt := 0; ; attempt++ {
		if ctx.Err() != nil {
			return answer{}, gaveUp
		}
		sent := time.Now()
		a, err := t.send(ctx, who, r, key, body)
		a.sent = first
		if err != nil {
			if errors.Is(ctx.Err(), context.Canceled) { // it was no longer wanted, which is no fault of the service
				return answer{}, gaveUp
			}
			gaveUp.unsure, gaveUp.last = true, err.Error()
			t.meter.answered(r.step, 0, kindOf(err), time.Since(sent))
		} else {
			t.meter.answered(r.step, a.status, a.code, time.Since(sent))
			if !a.forNow() {
				return a, nil
			}
			gaveUp.last = a.String()
			if a.status >= 500 && a.code != "OVERLOADED" && a.code != "LOCK_TIMEOUT" {
				gaveUp.unsure = true // only those two say that nothing was done
			}
		}
		select {
		case <-ctx.Done():
			return answer{}, gaveUp
		case <-time.After(pause(attempt, &a)):
		}
	}
}

// forNow is whether the same request may have another answer later.
func (a *answer) forNow() bool {
	return a.status == http.StatusTooManyRequests || a.status >= 500 || a.status == http.StatusConflict && a.wait
}

// pause is how long to wait before the next attempt. What was refused waits for
// as long as it was told, and then a little, so that those who were refused
// together do not come back together. What was not answered waits twice as long
// each time.
func pause(attempt int, a *answer) time.Duration {
	const least, most = 250 * time.Millisecond, 8 * time.Second
	wait := min(least<<min(attempt, 10), most)
	jitter := rand.N(wait)
	if a.wait {
		return a.retryAfter + jitter
	}
	return wait/2 + jitter
}

// send makes one attempt.
func (t *target) send(ctx context.Context, who caller, r request, key string, body []byte) (answer, error) {
	hr, err := http.NewRequestWithContext(ctx, r.method, t.base+r.path, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if who.header != "" {
		hr.Header.Set(who.header, who.value)
	}
	if body != nil {
		hr.Header.Set("Content-Type", "application/json")
	}
	if r.method != http.MethodGet {
		hr.Header.Set("Idempotency-Key", key)
	}
	if r.etag != "" {
		hr.Header.Set("If-None-Match", r.etag)
	}
	if r.turn != "" {
		hr.Header.Set("X-Queue-Token", r.turn)
	}
	w, err := t.client.Do(hr)
	if err != nil {
		return answer{}, err
	}
	defer w.Body.Close()
	text, err := io.ReadAll(io.LimitReader(w.Body, answerMax))
	if err != nil {
		return answer{}, err
	}
	a := answer{status: w.StatusCode, body: text, etag: w.Header.Get("ETag")}
	if seconds, err := strconv.Atoi(w.Header.Get("Retry-After")); err == nil && seconds >= 0 {
		a.retryAfter, a.wait = time.Duration(seconds)*time.Second, true
	}
	if a.status >= 400 {
		var p struct{ Code string }
		_ = json.Unmarshal(text, &p) // a proxy's page has no code
		a.code = p.Code
	}
	return a, nil
}

// read asks for something that everybody may see, and decodes it.
func (t *target) read(ctx context.Context, path string, into any) error {
	a, err := t.ask(ctx, caller{}, request{step: stepCheck, method: http.MethodGet, path: path})
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return &unexpected{"GET " + path, a}
	}
	return a.decode(into)
}

// unexpected is an answer that there should not have been.
type unexpected struct {
	asked string
	answer
}

func (e *unexpected) Error() string { return e.asked + ": " + e.String() }

// kindOf groups the errors of connections.
func kindOf(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection cut"
	default:
		return "no connection"
	}
}

func newUUID() string { return uuid.NewString() }
