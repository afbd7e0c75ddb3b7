package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// How long a client waits for an answer before it asks again: longer than the
// service takes when all is well, with a gateway that is silent where people
// pay, and not so long that everybody waits for an instance that is frozen.
const (
	askMax = 4 * time.Second
	payMax = 15 * time.Second
)

// illFor is how long an instance is mostly left alone that did not answer.
const illFor = 3 * time.Second

// client is one of those who ask. Which instance it asks and how long it waits
// between two tries is luck, and not fixed by the seed.
type client struct {
	t  *run
	id int
}

// request is what is asked. The same key is the same request.
type request struct {
	method, path string
	customer     string            // "": staff
	key          string            // "": a read
	header       map[string]string // more of them
	body         any
	patience     int // tries without an answer after which the client walks away; 0: none
}

// answer is what came back.
type answer struct {
	door    string // whose
	status  int
	header  http.Header
	body    []byte
	problem problem // of a refusal
}

type problem struct {
	Code             boxoffice.Code
	Status           int
	RequestID        string
	Outcome          string
	UnavailableSeats []struct {
		SeatID uuid.UUID
		Status string
	}
	Areas      []struct{ Available int }
	ExpiresAt  time.Time
	BookingID  string
	InUse      *int
	Limit      int
	Violations []struct{ Field, Message string }
	Detail     string
}

func (a *answer) ok() bool { return a.status >= 200 && a.status < 300 }

// fate is what is known after a try.
type fate int

const (
	answered fate = iota
	nothing       // it was not done, and may be asked again
	unsure        // it may have been done
)

// ask asks until there is an answer, and writes down when, in o.
func (c *client) ask(ctx context.Context, o *Op, req request) *answer {
	o.Client, o.Customer, o.Call = c.id, req.customer, c.t.now()
	var body []byte
	if req.body != nil {
		body, _ = json.Marshal(req.body) // of maps and strings
	}
	pause := 20 * time.Millisecond
	for silent := 0; ; {
		o.Tries++
		from := c.t.now()
		a, f := c.try(ctx, req, body)
		c.t.counts.tried(o, f)
		switch f {
		case answered:
			o.Return, o.Status, o.Code, o.Door = c.t.now(), a.status, string(a.problem.Code), a.door
			c.t.counts.did(o)
			return a
		case unsure:
			o.Doubt = o.Doubt || req.key != ""
			silent++
		case nothing:
		}
		o.InVain = append(o.InVain, vain{Door: a.door, From: from, To: c.t.now(), Code: string(a.problem.Code)})
		if ctx.Err() != nil || silent > 0 && silent == req.patience {
			o.Return = never
			c.t.counts.did(o)
			return &answer{}
		}
		// A little longer each time, and not all at once.
		rest(ctx, pause/2+time.Duration(rand.Int64N(int64(pause))))
		pause = min(2*pause, 500*time.Millisecond)
	}
}

// try asks once.
func (c *client) try(ctx context.Context, req request, body []byte) (*answer, fate) {
	patience := askMax
	if strings.HasPrefix(req.path, "/bookings") {
		patience = payMax
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	w, door, err := c.call(ctx, req, body)
	if err != nil {
		c.t.ill.Store(door, time.Now())
		return &answer{door: door}, unsure
	}
	defer w.Body.Close()
	a, f := c.hear(req, w)
	a.door = door
	return a, f
}

// call sends a request to an instance, and returns the beginning of its answer.
func (c *client) call(ctx context.Context, req request, body []byte) (w *http.Response, door string, err error) {
	door = c.t.door()
	r, err := http.NewRequestWithContext(ctx, req.method, door+"/api/v1"+req.path, bytes.NewReader(body))
	if err != nil {
		return nil, door, err
	}
	if body == nil {
		r.Body, r.ContentLength = nil, 0
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	if req.customer != "" {
		r.Header.Set("X-Mock-User-Id", req.customer)
	} else {
		r.Header.Set("X-API-Key", c.t.house.Key())
	}
	if req.key != "" {
		r.Header.Set("Idempotency-Key", req.key)
	}
	for name, value := range req.header {
		r.Header.Set(name, value)
	}
	w, err = c.t.http.Do(r)
	return w, door, err
}

// hear reads an answer to its end, and says what it tells.
func (c *client) hear(req request, w *http.Response) (a *answer, f fate) {
	a = &answer{status: w.StatusCode, header: w.Header}
	var err error
	if a.body, err = io.ReadAll(w.Body); err != nil {
		return a, unsure
	}
	if a.ok() || a.status == http.StatusNotModified {
		return a, answered
	}
	if err := json.Unmarshal(a.body, &a.problem); err != nil {
		c.t.found("%s %s was answered %d without a problem document: %.200s", req.method, req.path, a.status, a.body)
		return a, unsure
	}
	if wrong := a.manners(); wrong != "" {
		c.t.found("%s %s was answered %d %s, %s: %v %.400s", req.method, req.path, a.status, a.problem.Code, wrong, a.header, a.body)
	}
	c.t.counts.polite.Add(1)
	switch code := a.problem.Code; code {
	case boxoffice.CodeOverloaded, boxoffice.CodeLockTimeout, boxoffice.CodeKeyInUse:
		return a, nothing
	case boxoffice.CodeUnavailable:
		if !c.t.faulty() {
			c.t.found("%s %s: %s, without a fault: %s", req.method, req.path, code, a.problem.Detail)
		}
		if a.problem.Outcome == "none" {
			return a, nothing
		}
		return a, unsure
	}
	if a.status >= 500 {
		c.t.found("%s %s was answered %d %s: %.300s", req.method, req.path, a.status, a.problem.Code, a.body)
		return a, unsure
	}
	return a, answered
}

// door is the address of an instance: mostly of one that has answered lately,
// as a load balancer would have it.
func (t *run) door() string {
	urls := t.house.URLs()
	url := urls[rand.IntN(len(urls))]
	for range 3 {
		if at, ok := t.ill.Load(url); !ok || time.Since(at.(time.Time)) > illFor {
			break
		}
		url = urls[rand.IntN(len(urls))]
	}
	return url
}

// again sends a request once more that was answered. It must be answered the
// same, and do nothing.
func (c *client) again(ctx context.Context, req request, first *answer) {
	o := &Op{Do: look, What: "replay"}
	a := c.ask(ctx, o, req)
	switch {
	case !o.known():
	case a.status != first.status || !bytes.Equal(a.body, first.body):
		c.t.found("%s %s with the key %s was answered %d %s and, sent again, %d %s", req.method, req.path, req.key, first.status, brief(first.body), a.status, brief(a.body))
	case a.header.Get("Idempotency-Replayed") != "true" && !c.t.faulty():
		// (When the line breaks while the service repeats an answer, it takes the
		// replay for the first time. The answer shows that it was not.)
		c.t.found("%s %s with the key %s was done twice: its second answer is no replay", req.method, req.path, req.key)
	default:
		c.t.counts.replays.Add(1)
	}
}

func brief(b []byte) string { return strings.Join(strings.Fields(string(b[:min(len(b), 600)])), " ") }

// rest waits, unless ctx ends.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// newID draws a UUID, version 4.
func newID(r *rand.Rand) uuid.UUID {
	var id uuid.UUID
	for i := range 2 {
		n := r.Uint64()
		for j := range 8 {
			id[8*i+j] = byte(n >> (8 * j))
		}
	}
	id[6], id[8] = 0x40|id[6]&0x0f, 0x80|id[8]&0x3f
	return id
}

// newKey draws an idempotency key.
func newKey(r *rand.Rand) string {
	id := newID(r)
	return hex.EncodeToString(id[:])
}
