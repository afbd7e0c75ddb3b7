package sandbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options are how a sandbox is set up. Key and WebhookSecret are needed.
type Options struct {
	Dir           string // folder of the ledger, made if need be; "": in memory only
	Key           string // the merchant's API key, sent as Authorization: Bearer
	WebhookSecret string // signs webhooks
	WebhookURL    string // where webhooks go; "": they wait for SetWebhookURL
	PublicURL     string // of this server, for links to the hosted page; "": as the request says

	Slow    time.Duration    // until sbx_slow is answered; 0: 5 s
	Timeout time.Duration    // until the connection of sbx_timeout is cut, if the client does not give up before; 0: 30 s
	Async   time.Duration    // until what is processing or pending settles; 0: 1 s
	Session time.Duration    // life of a session at the hosted page for which the merchant named no end; 0: 30 min
	Retry   time.Duration    // until the second attempt at a webhook, doubled for each further one up to a minute; 0: 1 s
	Clock   func() time.Time // nil: time.Now

	Log *slog.Logger // nil: slog.Default
}

// Sandbox is the gateway. It is safe for concurrent use.
type Sandbox struct {
	opts   Options
	log    *slog.Logger
	mux    *http.ServeMux
	client *http.Client
	slots  chan struct{} // one for each webhook on its way
	wake   chan struct{} // tells Run that there is something to take
	deaf   atomic.Bool   // the last webhook was not taken

	mu      sync.Mutex
	ledger  *ledger
	changed chan struct{}               // closed by the next record
	url     string                      // of webhooks
	held    bool                        // webhooks wait
	fault   func(r *http.Request) Fault // nil: none
	outbox  [][]*event                  // of each record, for Run to take
	due     []string                    // ids of what settles by itself, for Run to take
}

// New opens the ledger, and starts nothing.
func New(opts Options) (*Sandbox, error) {
	if opts.Key == "" || opts.WebhookSecret == "" {
		return nil, errors.New("sandbox: Key and WebhookSecret are needed")
	}
	opts.Slow = cmp.Or(opts.Slow, 5*time.Second)
	opts.Timeout = cmp.Or(opts.Timeout, 30*time.Second)
	opts.Async = cmp.Or(opts.Async, time.Second)
	opts.Session = cmp.Or(opts.Session, 30*time.Minute)
	opts.Retry = cmp.Or(opts.Retry, time.Second)
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	ledger, err := openLedger(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	s := &Sandbox{
		opts: opts, log: opts.Log, client: newWebhookClient(), url: opts.WebhookURL, ledger: ledger,
		slots: make(chan struct{}, webhooksMax), wake: make(chan struct{}, 1), changed: make(chan struct{}),
	}
	s.mux = s.routes()
	return s, nil
}

// Close closes the ledger's file. Nothing may be asked of the sandbox any more.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ledger.file == nil {
		return nil
	}
	return s.ledger.file.Close()
}

// ServeHTTP serves the API, the hosted page and the desk.
func (s *Sandbox) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Run delivers webhooks and settles what settles by itself, until ctx ends.
// It begins with what an earlier run, or process, has left.
func (s *Sandbox) Run(ctx context.Context) error {
	s.mu.Lock()
	s.outbox, s.due = nil, nil
	for _, id := range s.ledger.eventIDs {
		if s.ledger.undelivered[id] {
			s.outbox = append(s.outbox, []*event{s.ledger.events[id]})
		}
	}
	for _, id := range s.ledger.paymentIDs {
		if s.ledger.payments[id].Open() {
			s.due = append(s.due, id)
		}
	}
	for _, id := range s.ledger.refundIDs {
		if s.ledger.refunds[id].State == Pending {
			s.due = append(s.due, id)
		}
	}
	s.mu.Unlock()

	var group sync.WaitGroup
	defer group.Wait()
	for {
		s.mu.Lock()
		var batches [][]*event
		if !s.held && s.url != "" {
			batches, s.outbox = s.outbox, nil
		}
		var due []string
		due, s.due = s.due, nil
		s.mu.Unlock()
		for _, batch := range batches {
			group.Go(func() { s.deliver(ctx, batch) })
		}
		for _, id := range due {
			group.Go(func() { s.settleInTime(ctx, id) })
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		}
	}
}

// awake tells Run to look.
func (s *Sandbox) awake() {
	select {
	case s.wake <- struct{}{}:
	default: // it has been told
	}
}

// commit makes a record so, and hands Run what follows from it. The caller has
// the lock.
func (s *Sandbox) commit(r *record) error {
	r.At = s.now()
	if err := s.ledger.write(r); err != nil {
		s.log.Error("the ledger cannot be written", "error", err)
		return err
	}
	close(s.changed)
	s.changed = make(chan struct{})
	if len(r.Events) > 0 {
		s.outbox = append(s.outbox, r.Events)
	}
	if p := r.Payment; p != nil && p.Open() {
		s.due = append(s.due, p.ID)
	}
	if re := r.Refund; re != nil && re.State == Pending {
		s.due = append(s.due, re.ID)
	}
	s.awake()
	return nil
}

func (s *Sandbox) now() time.Time { return s.opts.Clock().UTC() }

// newID makes an id that nobody can guess: that of a payment opens its page.
func newID(prefix string) string { return prefix + "_" + strings.ToLower(rand.Text()) }

func (s *Sandbox) authorised(r *http.Request) bool {
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && subtle.ConstantTimeCompare([]byte(key), []byte(s.opts.Key)) == 1
}

// Ledger is everything there is, for audits.
func (s *Sandbox) Ledger() Ledger {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.all()
}

// Events are all events, the oldest first.
func (s *Sandbox) Events() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.eventsWhere(func(string) bool { return true })
}

// Undelivered are the events that no receiver has taken yet, the oldest first.
func (s *Sandbox) Undelivered() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.eventsWhere(func(id string) bool { return s.ledger.undelivered[id] })
}

// AwaitDelivery waits until every event has been taken, or ctx ends.
func (s *Sandbox) AwaitDelivery(ctx context.Context) error {
	for {
		s.mu.Lock()
		left, changed := len(s.ledger.undelivered), s.changed
		s.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Sandbox) eventsWhere(so func(id string) bool) []Event {
	var list []Event
	for _, id := range s.ledger.eventIDs {
		if so(id) {
			list = append(list, s.ledger.events[id].Event)
		}
	}
	return list
}

// Fault is what goes wrong with a request to the API, for tests. A client may
// repeat a request by itself when its answer was dropped: Go's does, with an
// Idempotency-Key, on a connection that it had used before.
type Fault struct {
	Before time.Duration // waits before it does anything
	Refuse bool          // does nothing and answers 503
	After  time.Duration // waits when it is done, before it answers
	Drop   bool          // does it, and cuts the connection instead of answering
}

// Inject lets faults happen: f is asked for each request to the API. Nil ends
// that.
func (s *Sandbox) Inject(f func(r *http.Request) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

func (s *Sandbox) faultOf(r *http.Request) Fault {
	s.mu.Lock()
	f := s.fault
	s.mu.Unlock()
	if f == nil {
		return Fault{}
	}
	return f(r)
}

// SetWebhookURL says where webhooks go from now on, those that wait, too.
func (s *Sandbox) SetWebhookURL(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.url = url
	s.awake()
}

// HoldWebhooks lets webhooks wait until ReleaseWebhooks. One that is on its way
// still arrives.
func (s *Sandbox) HoldWebhooks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
}

// ReleaseWebhooks sends the webhooks that were held, and further ones.
func (s *Sandbox) ReleaseWebhooks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
	s.awake()
}

// Settle settles a payment that is processing, or a refund that is pending, as
// time would have done. A payment that requires action is failed.
func (s *Sandbox) Settle(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settle(id)
}

// settleInTime settles what settles by itself when its time has come.
func (s *Sandbox) settleInTime(ctx context.Context, id string) {
	s.mu.Lock()
	var at time.Time
	if p := s.ledger.payments[id]; p != nil {
		at = p.SettlesAt
	} else if re := s.ledger.refunds[id]; re != nil {
		at = re.SettlesAt
	}
	s.mu.Unlock()
	if !pause(ctx, at.Sub(s.now())) {
		return
	}
	if err := s.Settle(id); err != nil {
		s.log.Error("not settled", "id", id, "error", err)
	}
}

// pause waits, and says whether it was the time that ended it and not ctx.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// newest is the end of a list, the last first.
func newest[T any](list []T, limit int) []T {
	list = slices.Clone(list[max(0, len(list)-limit):])
	slices.Reverse(list)
	return list
}
