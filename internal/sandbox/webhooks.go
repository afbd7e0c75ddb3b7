package sandbox

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	webhooksMax    = 16               // on their way at once
	webhookTimeout = 10 * time.Second // for the receiver to answer
	retryMax       = time.Minute      // between two attempts
	webhookLife    = 72 * time.Hour   // then nobody is told any more
	stormCopies    = 5
)

// SignatureHeader has the time of the attempt and the signature of its bytes:
// t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">.
const SignatureHeader = "Sandbox-Signature"

func newWebhookClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = webhooksMax
	return &http.Client{
		Timeout: webhookTimeout, Transport: transport,
		// A receiver that has moved is one that did not take it.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// tell makes the event that says what an object is now.
func (s *Sandbox) tell(eventType string, object any, storm bool) *event {
	data, err := json.Marshal(object)
	if err != nil {
		panic(err) // strings, numbers and times
	}
	return &event{Event: Event{ID: newID("evt"), Type: eventType, Created: s.now(), Data: data}, Storm: storm}
}

func (s *Sandbox) tellPayment(p *payment) *event {
	kind := string(p.State)
	if p.Open() {
		kind = "pending"
	}
	return s.tell("payment."+kind, p.Payment, storms(p))
}

// tellRefund says what became of a refund. That it is pending is no news.
func (s *Sandbox) tellRefund(p *payment, re *refund) []*event {
	if re.State == Pending {
		return nil
	}
	return []*event{s.tell("refund."+string(re.State), re.Refund, storms(p))}
}

func storms(p *payment) bool { return behaves(p.Method, p.Token, p.Amount).storm }

// deliver sends the events of one record until each has been taken, or ctx or
// the event's life ends.
func (s *Sandbox) deliver(ctx context.Context, batch []*event) {
	if batch[0].Storm {
		s.storm(ctx, batch)
	}
	var group sync.WaitGroup
	for _, e := range batch {
		group.Go(func() { s.insist(ctx, e) })
	}
	group.Wait()
}

// storm sends copies of the events side by side, the later events first.
func (s *Sandbox) storm(ctx context.Context, batch []*event) {
	var group sync.WaitGroup
	for range stormCopies {
		group.Go(func() {
			for _, e := range slices.Backward(batch) {
				if status, err := s.attempt(ctx, e); err == nil && taken(status) {
					s.delivered(e)
				}
			}
		})
	}
	group.Wait()
}

// insist sends an event until it is taken.
func (s *Sandbox) insist(ctx context.Context, e *event) {
	for wait := s.opts.Retry; ; wait = min(2*wait, retryMax) {
		s.mu.Lock()
		done, held := !s.ledger.undelivered[e.ID], s.held
		if !done && held {
			s.outbox = append(s.outbox, []*event{{Event: e.Event}})
		}
		s.mu.Unlock()
		if done || held {
			return
		}
		status, err := s.attempt(ctx, e)
		if err == nil && taken(status) {
			s.deaf.Store(false)
			s.delivered(e)
			return
		}
		if ctx.Err() != nil {
			return
		}
		level := slog.LevelDebug
		if !s.deaf.Swap(true) {
			level = slog.LevelWarn // the first of perhaps thousands
		}
		s.log.Log(ctx, level, "webhook not taken", "event", e.ID, "type", e.Type, "status", status, "error", err, "again_in", wait)
		if !pause(ctx, wait) {
			return
		}
		if s.now().Sub(e.Created) > webhookLife {
			s.log.Error("webhook given up", "event", e.ID, "type", e.Type)
			s.delivered(e)
			return
		}
	}
}

func taken(status int) bool { return status >= 200 && status < 300 }

// delivered writes down that nobody needs to be told any more.
func (s *Sandbox) delivered(e *event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ledger.undelivered[e.ID] {
		_ = s.commit(&record{Delivered: e.ID}) // logged there; it is sent once more after a restart
	}
}

// attempt sends an event once, when there is room for it.
func (s *Sandbox) attempt(ctx context.Context, e *event) (status int, err error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return s.post(ctx, e.Event)
}

// Deliver sends an event now, be it held or taken long ago, and returns the
// receiver's answer.
func (s *Sandbox) Deliver(ctx context.Context, eventID string) (status int, err error) {
	s.mu.Lock()
	e := s.ledger.events[eventID]
	s.mu.Unlock()
	if e == nil {
		return 0, fmt.Errorf("sandbox: there is no event %q", eventID)
	}
	status, err = s.post(ctx, e.Event)
	if err == nil && taken(status) {
		s.delivered(e)
	}
	return status, err
}

// post sends an event, signed at this moment.
func (s *Sandbox) post(ctx context.Context, e Event) (status int, err error) {
	body, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	url := s.url
	s.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(SignatureHeader, sign(s.opts.WebhookSecret, s.now(), body))
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // so that the connection can be used again
	return resp.StatusCode, nil
}

func sign(secret string, at time.Time, body []byte) string {
	t := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(body)
	return "t=" + t + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}
