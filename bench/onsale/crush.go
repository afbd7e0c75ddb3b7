package onsale

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/rowlock/rowlock/bench/report"
)

// Crush is many times more people than can be served. They want large parties,
// and give them back, so that the house is what cannot keep up: a machine that
// serves 20,000 small holds a second cannot also play the 200,000 people who want
// them.
type Crush struct {
	Shows, Seats int           // of each show
	Party        int           // seats of a hold
	Callers      int           // who ask at the same time
	During       time.Duration // of each of the two loads
	Times        int           // how many times what can be served comes in the second
	Profile      string        // file for the server's CPU profile; "": none
}

// Tenfold is the crush of the table.
var Tenfold = Crush{Shows: 30, Seats: 20_000, Party: partyMax, Callers: 3_000, During: 12 * time.Second, Times: 10}

const (
	partyMax   = 100 // places of a reservation, in all shows here
	crushFirst = 200 // callers who find out what can be served
)

// Crushed is what came of it.
type Crushed struct {
	Best   Load // as many as are served, asking again at once
	Crush  Load // the many
	Health Load // of /healthz and /readyz meanwhile
	// What the two loads cost this process and the service's, in cores.
	BestUse, CrushUse Use
}

// Use is how many cores somebody used on average.
type Use struct{ Client, Service float64 }

// using measures what is used while something is done.
func using(c *caller, do func()) (u Use, err error) {
	client, service, err := spentByAll(c)
	if err != nil {
		return u, err
	}
	began := time.Now()
	do()
	took := time.Since(began).Seconds()
	clientAfter, serviceAfter, err := spentByAll(c)
	return Use{(clientAfter - client).Seconds() / took, (serviceAfter - service).Seconds() / took}, err
}

func spentByAll(c *caller) (client, service time.Duration, err error) {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0, 0, err
	}
	service, err = spent(c)
	return time.Duration(use.Utime.Nano() + use.Stime.Nano()), service, err
}

// parties are the places that nobody has yet: one for each hold.
type parties struct {
	mu   sync.Mutex
	left []party
}

// party is the request for its places. It is made once: the client shares the
// cores with the house, and most of those who come are turned away.
type party []byte

func (p *parties) take() (party, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.left) == 0 {
		return nil, false
	}
	last := len(p.left) - 1
	next := p.left[last]
	p.left = p.left[:last]
	return next, true
}

func (p *parties) giveBack(one party) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = append(p.left, one)
}

// Crush finds out how many holds are served in a second, then lets many times
// as many come in each, whether or not others have been served.
func (h *House) Crush(ctx context.Context, c Crush) (done Crushed, err error) {
	shows, err := h.shows(ctx, c.Shows, c.Seats)
	if err != nil {
		return done, err
	}
	var free parties
	for i := range shows {
		for from := 0; from+c.Party <= c.Seats; from += c.Party {
			free.left = append(free.left, shows[i].hold(nil, from, c.Party))
		}
	}
	rand.Shuffle(len(free.left), func(i, j int) { free.left[i], free.left[j] = free.left[j], free.left[i] })
	err = h.behind(ctx, Rowlock, c.Profile, func(s *service) error {
		callers, hangUp, err := h.callers(ctx, s, c.Callers+2)
		if err != nil {
			return err
		}
		defer hangUp()
		looked := press(ctx, callers, len(callers), time.Minute, []string{"200"}, func(c *caller, i int) (*fasthttp.Response, error) {
			return c.get(shows[i%len(shows)].path("availability"), takesGzip)
		})
		if err := looked.err(); err != nil {
			return err
		}
		out := errors.New("no seats are left: more callers than parties")
		hold := func(one *caller, _ int) (*fasthttp.Response, error) {
			want, ok := free.take()
			if !ok {
				return nil, out
			}
			defer free.giveBack(want)
			resp, err := one.post(want)
			if err != nil || resp.StatusCode() != fasthttp.StatusCreated {
				return resp, err
			}
			return one.release(string(resp.Header.Peek("Location")))
		}
		buyers, watch := callers[:c.Callers], callers[c.Callers:]
		done.BestUse, err = using(watch[0], func() {
			done.Best = press(ctx, buyers[:min(crushFirst, c.Callers)], math.MaxInt, c.During, []string{"204"}, hold)
		})
		if err := errors.Join(err, done.Best.err()); err != nil {
			return err
		}
		done.CrushUse, err = using(watch[0], func() {
			var both sync.WaitGroup
			both.Go(func() {
				done.Health = pace(ctx, watch, 20, c.During, []string{"200"}, func(one *caller, i int) (*fasthttp.Response, error) {
					return one.get([]string{"/healthz", "/readyz"}[i%2], "")
				})
			})
			both.Go(func() {
				rate := max(1, c.Times*int(done.Best.PerSecond()))
				done.Crush = pace(ctx, buyers, rate, c.During, []string{"204"}, hold)
			})
			both.Wait()
		})
		return errors.Join(err, done.Health.err())
	})
	return done, err
}

const (
	noteOffered = "came per second"
	noteHealth  = "health p99 ms"
	noteClient  = "cores of the client"
	noteService = "cores of the service"
	servedBest  = "as many as are served"
	servedCrush = "ten times as many"
)

func crushes(ctx context.Context, h *House, o Options) ([]report.Row, error) {
	load := Tenfold
	load.During = o.during(load.During, 2*time.Second)
	t := table{row: report.Row{
		ID: "crush", Title: "Ten times more people than can be served", Unit: "held and given back/s",
		Explain: fmt.Sprintf("Holds of %d seats of %d shows, each given back at once: so much that the house is what cannot keep up. First %d callers ask again at once, which shows what can be served; then ten times as many come each second, whether or not others have been answered. "+
			"Times are from when they came. /healthz and /readyz are asked meanwhile, and have to say 200.", load.Party, load.Shows, crushFirst),
		Bars: []report.Bar{
			{Of: servedCrush, Against: servedBest, Sense: report.AtLeast, Limit: 0.8}, {Of: servedCrush, Note: noteAway, Sense: report.AtMost, Limit: 50},
			{Of: servedCrush, Note: noteFailed, Sense: report.AtMost},
		},
	}}
	for round := range o.Rounds {
		c, err := h.Crush(ctx, load)
		if err != nil {
			return nil, err
		}
		notes := c.Best.notes()
		notes[noteClient], notes[noteService] = c.BestUse.Client, c.BestUse.Service
		t.add(servedBest, "", c.Best.PerSecond(), notes)
		notes = c.Crush.notes()
		notes[noteClient], notes[noteService] = c.CrushUse.Client, c.CrushUse.Service
		notes[noteOffered], notes[noteHealth] = float64(c.Crush.Attempts)/load.During.Seconds(), ms(c.Health.P99)
		t.add(servedCrush, "", c.Crush.PerSecond(), notes)
		if c.Crush.Failed > 0 {
			o.Say("crush, round %d: %d failed, the first: %s", round+1, c.Crush.Failed, c.Crush.Why)
		}
		o.Say("crush, round %d: %.0f/s at best, of %.0f/s that came %.0f/s were served, p99 %.0f ms; turned away p99 %.1f ms; health p99 %.1f ms; cores of client and service %.2f and %.2f, then %.2f and %.2f", round+1,
			c.Best.PerSecond(), notes[noteOffered], c.Crush.PerSecond(), ms(c.Crush.P99), ms(c.Crush.ShedP99), ms(c.Health.P99), c.BestUse.Client, c.BestUse.Service, c.CrushUse.Client, c.CrushUse.Service)
	}
	return []report.Row{t.settle()}, nil
}
