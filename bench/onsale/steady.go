package onsale

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// Steady is an ordinary busy evening: holds that nobody else wants, and people
// who look at maps, whether or not the ones before have been answered.
type Steady struct {
	Shows  int
	Holds  int // a second, of two seats each
	Reads  int // a second, of the availability of any of the shows, whole and compressed
	During time.Duration
}

// Evening is the steady load of the table.
var Evening = Steady{Shows: 20, Holds: 500, Reads: 2_000, During: 10 * time.Second}

// Connections of each kind: enough for one to be free whenever a request is
// due, unless answers take longer than they may.
const (
	holding = 128
	reading = 256
)

// Steady runs both loads at the same time.
func (h *House) Steady(ctx context.Context, load Steady) (holds, reads Load, err error) {
	each := 2 * int(float64(load.Holds)*load.During.Seconds()) / load.Shows
	shows, err := h.shows(ctx, load.Shows, each+2)
	if err != nil {
		return holds, reads, err
	}
	err = h.behind(ctx, Rowlock, "", func(s *service) error {
		callers, hangUp, err := h.callers(ctx, s, holding+reading)
		if err != nil {
			return err
		}
		defer hangUp()
		read := func(c *caller, _ int) (*fasthttp.Response, error) {
			return c.get(shows[rand.IntN(len(shows))].path("availability"), takesGzip)
		}
		looked := press(ctx, callers, 4*len(callers), time.Minute, []string{"200"}, read)
		if err := looked.err(); err != nil {
			return err
		}
		var both sync.WaitGroup
		both.Go(func() {
			holds = pace(ctx, callers[:holding], load.Holds, load.During, []string{"201"}, func(c *caller, i int) (*fasthttp.Response, error) {
				c.body = shows[i%len(shows)].hold(c.body[:0], i/len(shows)*2, 2)
				return c.post(c.body)
			})
		})
		both.Go(func() { reads = pace(ctx, callers[holding:], load.Reads, load.During, []string{"200"}, read) })
		both.Wait()
		return errors.Join(holds.err(), reads.err())
	})
	return holds, reads, err
}
