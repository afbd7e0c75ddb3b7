package api

import (
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/recent"
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
	buckets *recent.Map[string, *bucket]
}

// bucket holds a caller's tokens.
type bucket struct {
	*rate.Limiter
	size   int
	policy []string // as a header: what a full bucket holds, and seconds to fill it
}

func newBucket(perSecond float64, size int) *bucket {
	seconds := int(math.Ceil(float64(size) / perSecond))
	return &bucket{rate.NewLimiter(rate.Limit(perSecond), size), size, []string{fmt.Sprintf(`"default";q=%d;w=%d`, size, seconds)}}
}

func newLimiter(opts LimitOptions) *limiter {
	return &limiter{opts: opts, buckets: recent.New[string, *bucket](bucketsMax)}
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
	if l.exempt(addr) {
		return nil
	}
	if c.Anonymous() {
		who = "address|" + addr.String()
	}
	if x.endpoint.busy {
		who = "busy|" + who
	}
	size := max(int(math.Ceil(perSecond*burst.Seconds())), x.endpoint.weight)
	b := l.buckets.Take(who, func() *bucket { return newBucket(perSecond, size) })

	now := time.Now()
	reservation := b.ReserveN(now, min(x.endpoint.weight, b.size))
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	left := max(0, b.TokensAt(now))
	full := math.Ceil((float64(b.size) - left) / perSecond)
	text := append(make([]byte, 0, 64), `"default";r=`...)
	text = strconv.AppendInt(text, int64(left), 10)
	text = append(text, ";t="...)
	text = strconv.AppendInt(text, int64(full), 10)
	h := x.Header()
	h["RateLimit-Policy"] = b.policy
	h["RateLimit"] = []string{string(text)}
	if wait > 0 {
		e := boxoffice.Refuse(boxoffice.CodeRateLimited, "You may ask %g times a second.", perSecond)
		e.RetryAfter = wait
		return e
	}
	return nil
}

func (l *limiter) exempt(addr netip.Addr) bool { return l.opts.SkipLoopback && addr.IsLoopback() }

// limited is the address of a request, if there is a limit for it.
func (l *limiter) limited(r *http.Request) netip.Addr {
	if l.opts.PerSecond <= 0 {
		return netip.Addr{}
	}
	if addr := l.address(r); !l.exempt(addr) {
		return addr
	}
	return netip.Addr{}
}

// address is where the request comes from. Of an IPv6 address only the network
// counts: a single customer has 2^64 of them.
func (l *limiter) address(r *http.Request) netip.Addr {
	text := r.RemoteAddr
	if forwarded := r.Header["X-Forwarded-For"]; l.opts.TrustProxy && len(forwarded) > 0 {
		last := forwarded[len(forwarded)-1]
		text = strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
	}
	var addr netip.Addr
	if host, err := netip.ParseAddrPort(text); err == nil { // some proxies write the port, too
		addr = host.Addr()
	} else if addr, err = netip.ParseAddr(text); err != nil {
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
