// Package onsale is what make bench asks of the whole service over HTTP: an
// on-sale, steady selling beside reading, paying, a large catalogue, and maps.
// The server is a process of its own, with the door that rowlock serve has, in
// front of Rowlock or of another strategy; the client is lean, as it shares the
// processors with what it measures.
package onsale

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/bench/strategies"
	"github.com/rowlock/rowlock/internal/boxoffice"
)

const (
	apiPath    = "/api/v1"
	placePath  = apiPath + "/reservations"
	taken      = string(boxoffice.CodeSeatAlreadyReserved)
	overloaded = string(boxoffice.CodeOverloaded)
)

// Sale is an on-sale: everybody comes at once for one show.
type Sale struct {
	Seats       int           // of the show
	Connections int           // open at the same time, each with a customer who asks again at once
	Attempts    int           // requests in all
	Most        time.Duration // no new request after that
	Contended   bool          // one to three seats side by side, anywhere; else the next free one, and every attempt succeeds
	Profile     string        // file for the server's CPU profile; "": none
}

// The on-sales of the table.
var (
	Contended   = Sale{Seats: 2_000, Connections: 2_000, Attempts: 100_000, Most: 12 * time.Second, Contended: true}
	AllSucceeds = Sale{Seats: 40_000, Connections: 2_000, Attempts: 40_000, Most: 12 * time.Second}
)

const (
	// Rowlock is the name of the strategy that is none: the lanes.
	Rowlock = report.Rowlock
	naive   = "naive"
)

// Sold is what came of a sale.
type Sold struct {
	Load
	Twice int64         // seats that were sold to two customers or more
	CPU   time.Duration // that the server spent on an answer, Postgres and clients not counted
}

// Sell runs a sale behind a strategy, and looks at what it left in the tables.
// It is an error that a rule of sql/ops/invariants.sql is broken which the
// strategy promises to keep: a strategy that sells a seat twice is not fast, it
// is wrong. The naive one may, and says how often it did.
func (h *House) Sell(ctx context.Context, strategy string, sale Sale) (sold Sold, err error) {
	var without []string
	if strategy != Rowlock {
		s, err := strategies.Named(strategy)
		if err != nil {
			return sold, err
		}
		without = s.Without
	}
	shows, err := h.shows(ctx, 1, sale.Seats)
	if err != nil {
		return sold, err
	}
	if strategy == naive {
		if err := strategies.Guard(ctx, h.all, false); err != nil {
			return sold, err
		}
		defer func() { err = errors.Join(err, strategies.Guard(context.WithoutCancel(ctx), h.all, true)) }()
	}
	err = h.behind(ctx, strategy, sale.Profile, func(s *service) error {
		callers, hangUp, err := h.callers(ctx, s, sale.Connections)
		if err != nil {
			return err
		}
		defer hangUp()
		return sold.sell(ctx, callers, shows[0], sale)
	})
	if err != nil {
		return sold, err
	}
	if sold.Twice, err = strategies.Twice(ctx, h.all); err != nil || strategy == naive {
		return sold, err
	}
	broken, err := strategies.Audit(ctx, h.all, without...)
	if err == nil && len(broken) > 0 {
		err = fmt.Errorf("%s broke %s", strategy, strings.Join(broken, ", "))
	}
	return sold, err
}

func (s *Sold) sell(ctx context.Context, callers []*caller, show show, sale Sale) error {
	// Each has looked at the map, as people do before a sale: their tokens are
	// known, the show's terms are loaded.
	path := show.path("availability")
	looked := press(ctx, callers, len(callers), time.Minute, []string{"200"}, func(c *caller, _ int) (*fasthttp.Response, error) { return c.get(path, "") })
	if err := looked.err(); err != nil {
		return err
	}
	before, err := spent(callers[0])
	if err != nil {
		return err
	}
	wanted := []string{"201"}
	if sale.Contended {
		wanted = append(wanted, taken)
	}
	s.Load = press(ctx, callers, sale.Attempts, sale.Most, wanted, func(c *caller, attempt int) (*fasthttp.Response, error) {
		from, n := attempt, 1
		if sale.Contended {
			n = 1 + rand.IntN(3)
			from = rand.IntN(len(show.seats) - n + 1)
		}
		c.body = show.hold(c.body[:0], from, n)
		return c.post(c.body)
	})
	after, err := spent(callers[0])
	if err != nil {
		return errors.Join(err, s.err())
	}
	s.CPU = (after - before) / time.Duration(max(1, s.Attempts))
	return nil
}

// spent asks the server how much CPU it has used so far.
func spent(c *caller) (time.Duration, error) {
	resp, err := c.get("/metrics", "")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(resp.Body()), "\nprocess_cpu_seconds_total ")
	text, _, _ := strings.Cut(rest, "\n")
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, errors.New("the server does not say how much CPU it used")
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// path is where something of the show is.
func (s *show) path(what string) string { return apiPath + "/shows/" + s.id.String() + "/" + what }

// hold appends a request for n seats, from the given one on.
func (s *show) hold(b []byte, from, n int) []byte {
	b = append(b, `{"showId":"`...)
	b = append(b, s.id.String()...)
	b = append(b, `","seats":[`...)
	for i, seat := range s.seats[from : from+n] {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"seatId":"`...)
		b = append(b, seat.ID.String()...)
		b = append(b, `"}`...)
	}
	return append(b, "]}"...)
}
