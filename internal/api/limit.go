package api

import (
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// LimitOptions say how often a caller may ask. Limits are kept by each
// instance for itself.
type LimitOptions struct {
	PerSecond    float64 // for a customer, or the address of somebody unknown; 0: no limit
	KeyPerSecond float64 // for an organisation's API keys together; 0: no limit
	// SkipLoopback exempts callers on this machine: for development, never
	// behind a proxy on the same machine.
	SkipLoopback bool
	// TrustProxy takes the caller's address from the last entry of
	// X-Forwarded-For, which a proxy in front must set.
	TrustProxy bool
}

// bucketsMax is how many callers a generation of buckets remembers. One that
// is forgotten starts again with a full bucket.
const bucketsMax = 50_000

// burst is how many seconds' worth of requests a caller may make at once: a
// page that loads asks for a handful of things together.
const burst = 2 * time.Second

// limiter keeps a token bucket for each caller.
type limiter struct {
	opts    LimitOptions
	buckets *recent[*rate.Limiter]
}

func newLimiter(opts LimitOptions) *limiter {
	return &limiter{opts: opts, buckets: newRecent[*rate.Limiter](bucketsMax)}
}

// take counts the request against its caller and says in the headers what is
// left. The error is RATE_LIMITED.
func (l *limiter) take(x *exchange, c *boxoffice.Caller) error {
	perSecond, who := l.opts.PerSecond, c.Owner
	if c.Kind == boxoffice.CallerAPIKey || x.endpoint.busy {
		perSecond = l.opts.KeyPerSecond
	}
	if perSecond <= 0 {
		return nil
	}
	addr := l.address(x.r)
	if l.opts.SkipLoopback && addr.IsLoopback() {
		return nil
	}
	if c.Anonymous() {
		who = "address|" + addr.String()
	}
	if x.endpoint.busy {
		who = "busy|" + who
	}
	size := max(int(math.Ceil(perSecond*burst.Seconds())), x.endpoint.weight)
	bucket := l.buckets.take(who, func() *rate.Limiter { return rate.NewLimiter(rate.Limit(perSecond), size) })

	now := time.Now()
	reservation := bucket.ReserveN(now, min(x.endpoint.weight, bucket.Burst()))
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	left := max(0, bucket.TokensAt(now))
	full := math.Ceil((float64(bucket.Burst()) - left) / perSecond)
	h := x.Header()
	h["RateLimit-Policy"] = []string{fmt.Sprintf(`"default";q=%d;w=%d`, bucket.Burst(), int(math.Ceil(float64(bucket.Burst())/perSecond)))}
	h["RateLimit"] = []string{fmt.Sprintf(`"default";r=%d;t=%d`, int(left), int(full))}
	if wait > 0 {
		e := boxoffice.Refuse(boxoffice.CodeRateLimited, "You may ask %g times a second.", perSecond)
		e.RetryAfter = wait
		return e
	}
	return nil
}

// address is where the request comes from. Of an IPv6 address only the network
// counts: a single customer has 2^64 of them.
func (l *limiter) address(r *http.Request) netip.Addr {
	text := r.RemoteAddr
	if forwarded := r.Header["X-Forwarded-For"]; l.opts.TrustProxy && len(forwarded) > 0 {
		last := forwarded[len(forwarded)-1]
		text = strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
	}
	// Some proxies write the port, too.
	if host, err := netip.ParseAddrPort(text); err == nil {
		text = host.Addr().String()
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is6() && !addr.IsLoopback() {
		if network, err := addr.Prefix(64); err == nil {
			return network.Addr()
		}
	}
	return addr
}

// recent is a map that forgets what has not been asked for lately, so that it
// stays small whatever strangers put into it. It has two generations: when the
// young one is full it becomes the old one, and the old one goes. What is
// found in the old one moves to the young.
type recent[V any] struct {
	mu         sync.Mutex
	young, old map[string]V
	max        int // entries of a generation
}

func newRecent[V any](max int) *recent[V] {
	return &recent[V]{young: make(map[string]V), max: max}
}

// take finds key's value, or makes it.
func (r *recent[V]) take(key string, fresh func() V) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.find(key)
	if !ok {
		v = fresh()
		r.put(key, v)
	}
	return v
}

func (r *recent[V]) load(key string) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.find(key)
}

func (r *recent[V]) store(key string, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(key, v)
}

func (r *recent[V]) find(key string) (V, bool) {
	v, ok := r.young[key]
	if ok {
		return v, true
	}
	if v, ok = r.old[key]; ok {
		r.put(key, v)
	}
	return v, ok
}

func (r *recent[V]) put(key string, v V) {
	if len(r.young) >= r.max {
		r.old, r.young = r.young, make(map[string]V)
	}
	r.young[key] = v
}
