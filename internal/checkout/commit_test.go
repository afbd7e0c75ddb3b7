package checkout_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/payment"
	"github.com/rowlock/rowlock/internal/sandbox"
	"github.com/rowlock/rowlock/internal/store"
)

// cutter is a network that loses the connection around the first COMMIT of the
// transactions that log a change of its type: before Postgres sees it, or after
// it has committed and before its answer arrives.
type cutter struct {
	change boxoffice.ChangeType
	after  bool
	wait   func() // until the commit has happened
	done   atomic.Bool
}

func (c *cutter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return &cutConn{Conn: conn, c: c}, err
}

type cutConn struct {
	net.Conn
	c   *cutter
	cut atomic.Bool
}

// Write recognises the pipeline that ends with COMMIT: it carries the log.
func (c *cutConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(c.c.change)) && c.c.done.CompareAndSwap(false, true) {
		c.cut.Store(true)
		if !c.c.after {
			c.Conn.Close()
			return 0, net.ErrClosed
		}
	}
	return c.Conn.Write(p)
}

func (c *cutConn) Read(p []byte) (int, error) {
	if c.cut.Load() && c.c.after {
		c.c.wait()
		c.Conn.Close()
	}
	return c.Conn.Read(p)
}

var commits = map[string]struct {
	change    boxoffice.ChangeType
	committed string
}{
	"begin":  {boxoffice.PaymentCreated, `select exists (select from payments)`},
	"settle": {boxoffice.BookingConfirmedChange, `select exists (select from bookings where status = 'confirmed')`},
}

// openCut opens a house whose lane loses its connection around a COMMIT.
// then is called when the commit has happened, or has not, and before the
// lane is back.
func openCut(t *testing.T, step string, after bool, then func(*house), edit ...func(*setup)) (*house, *cutter) {
	t.Helper()
	var h *house
	cut := &cutter{change: commits[step].change, after: after}
	cut.wait = sync.OnceFunc(func() {
		h.until("it is committed", func() bool { return read[bool](h, commits[step].committed) })
		then(h)
	})
	h = open(t, append(edit, func(s *setup) {
		before := s.store
		s.store = func(c *store.Config) {
			if before != nil {
				before(c)
			}
			c.LaneDial = cut.dial
		}
	})...)
	return h, cut
}

func TestALineCutOnEitherSideOfACommitIsNotNoticed(t *testing.T) {
	t.Parallel()
	for step := range commits {
		for side, after := range map[string]bool{"before": false, "after": true} {
			t.Run(side+" the commit of "+step, func(t *testing.T) {
				t.Parallel()
				h, cut := openCut(t, step, after, func(*house) {})
				h.gateway.HoldWebhooks()
				key := new(fixture.Key())
				r := h.hold("a", 0, 1)
				res, err := h.bookAs(key, r, sandbox.TokenOK)
				if err != nil {
					t.Fatal(err)
				}
				if !cut.done.Load() {
					t.Fatal("nothing was cut")
				}
				if v := h.is(res.Booking.ID, boxoffice.BookingConfirmed); len(v.Payments) != 1 || len(v.Tickets) != 2 {
					t.Error(len(v.Payments), "payments", len(v.Tickets), "tickets")
				}
				again, err := h.bookAs(key, r, sandbox.TokenOK)
				if err != nil || !again.Replayed || again.Booking.ID != res.Booking.ID {
					t.Error(err, again)
				}
			})
		}
	}
}

// Another instance has the show when the lane comes back, for longer than the
// lane may wait: so it cannot say what became of the commit.
func TestAnUnknownCommitOfBeginIsSaidToBeAndTheSameKeyGoesOn(t *testing.T) {
	t.Parallel()
	release := func() {}
	h, _ := openCut(t, "begin", true, func(h *house) { release = h.lock(h.ID) }, impatient)
	key := new(fixture.Key())
	r := h.hold("a", 0)
	_, err := h.bookAs(key, r, sandbox.TokenOK)
	release()
	if refusal := refused(t, err, boxoffice.CodeUnavailable); refusal.Facts.Outcome != "unknown" {
		t.Fatal(refusal.Facts.Outcome)
	}
	if len(h.charges()) != 0 {
		t.Fatal("charged for what is not known to have begun")
	}
	res, err := h.bookAs(key, r, sandbox.TokenOK)
	if err != nil || !res.Replayed || res.Booking.Status != boxoffice.BookingConfirmed || len(res.Booking.Payments) != 1 {
		t.Fatal(err, res)
	}
}

func TestAnAnswerThatCannotBeSettledIsNotLost(t *testing.T) {
	t.Parallel()
	var h *house
	release := func() {}
	h = open(t, impatient, func(s *setup) {
		s.charges = func(g payment.Gateway) payment.Gateway {
			return meanwhile{g, func() { release = h.lock(h.ID) }}
		}
	})
	h.gateway.HoldWebhooks()
	res, err := h.book(h.hold("a", 0), sandbox.TokenOK)
	release()
	if err != nil || !res.Pending || res.Booking.Status != boxoffice.BookingPending {
		t.Fatal(err, res)
	}
	h.works() // and no webhook comes
	h.until("the job has asked", func() bool {
		h.passTime()
		return h.booking(res.Booking.ID).Status == boxoffice.BookingConfirmed
	})
}

func TestAnUnknownCommitOfSettleIsNoticedByTheNextWhoAsks(t *testing.T) {
	t.Parallel()
	release := func() {}
	h, _ := openCut(t, "settle", true, func(h *house) { release = h.lock(h.ID) }, impatient)
	h.gateway.HoldWebhooks()
	res, err := h.book(h.hold("a", 0), sandbox.TokenOK)
	release()
	if err != nil || res.Booking.Status != boxoffice.BookingConfirmed || res.Pending {
		t.Fatal("it is committed, and the buyer is told otherwise:", err, res)
	}
}

// meanwhile is a gateway during whose charges something happens.
type meanwhile struct {
	payment.Gateway
	happens func()
}

func (g meanwhile) Charge(ctx context.Context, c payment.Charge) (payment.Answer, error) {
	a, err := g.Gateway.Charge(ctx, c)
	g.happens()
	return a, err
}
