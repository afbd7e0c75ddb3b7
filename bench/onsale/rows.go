package onsale

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/bench/strategies"
)

// Options say how much is measured.
type Options struct {
	Rounds int  // of each row, at least 1; the strategies take turns in each
	Quick  bool // a few seconds each: to see that it works
	Say    func(format string, args ...any)
}

// during is how long a load lasts, in a whole run and in a quick one.
func (o *Options) during(whole, quick time.Duration) time.Duration {
	if o.Quick {
		return quick
	}
	return whole
}

// Scenario measures one or more rows of the table.
type Scenario struct {
	ID  string
	Run func(context.Context, *House, Options) ([]report.Row, error)
}

// Scenarios are those of the table that are measured over HTTP, in order.
var Scenarios = []Scenario{
	{"onsale", onSales}, {"steady", steady}, {"buyers", buyers}, {"catalogue", catalogue}, {"maps", seatMaps}, {"crush", crushes},
	{"viewers", viewers}, {"streams", idleStreams},
}

// The names of notes.
const (
	noteP50      = "p50 ms"
	noteP99      = "p99 ms"
	noteBytes    = "bytes"
	noteCPU      = "server CPU µs"
	noteFailed   = "failed"
	noteTwice    = "seats sold twice"
	noteShed     = "turned away"
	noteAway     = "turned away, p99 ms"
	noteEach     = "kB a viewer"
	noteGaps     = "gaps"
	noteBehind   = "never saw the end"
	noteSplit    = "servers"
	noteResets   = "told to begin anew"
	noteReturned = "came back"
)

// added are the notes that are added up: what must not be is not to be lost in
// a median.
var added = []string{noteFailed, noteTwice, noteGaps, noteBehind, noteResets}

// table gathers the rounds of a row's results.
type table struct {
	row   report.Row
	notes map[string]map[string][]float64 // by result and name
}

// add adds what a round came to.
func (t *table) add(name, title string, value float64, notes map[string]float64) {
	if t.notes == nil {
		t.notes = map[string]map[string][]float64{}
	}
	res := t.row.Result(name)
	if res == nil {
		t.row.Results = append(t.row.Results, report.Result{Strategy: name, Title: title})
		res = &t.row.Results[len(t.row.Results)-1]
		t.notes[name] = map[string][]float64{}
	}
	res.Values = append(res.Values, value)
	for note, v := range notes {
		t.notes[name][note] = append(t.notes[name][note], v)
	}
}

func (t *table) settle() report.Row {
	for i := range t.row.Results {
		res := &t.row.Results[i]
		res.Notes = map[string]float64{}
		for note, values := range t.notes[res.Strategy] {
			if !slices.Contains(added, note) {
				res.Notes[note] = report.Median(values)
				continue
			}
			for _, v := range values {
				res.Notes[note] += v
			}
		}
	}
	t.row.Settle()
	return t.row
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// notes are the figures that go with every load.
func (l *Load) notes() map[string]float64 {
	notes := map[string]float64{noteP50: ms(l.P50), noteP99: ms(l.P99), noteFailed: float64(l.Failed), noteShed: float64(l.Shed)}
	if l.Shed > 0 {
		notes[noteAway] = ms(l.ShedP99)
	}
	return notes
}

// compared are the strategies that Rowlock stands beside in on-sales, and what
// it is called there.
var compared = []struct{ name, title string }{
	{Rowlock, "Rowlock"}, {naive, ""}, {"waiting", ""}, {"pipelined", ""}, {"setnx", ""}, {"lua", ""},
}

func onSales(ctx context.Context, h *House, o Options) ([]report.Row, error) {
	contended := table{row: report.Row{
		ID: "onsale-contended", Title: "On-sale over HTTP, contended", Unit: "answers/s",
		Explain: fmt.Sprintf("%d attempts at one to three seats side by side of a show of %d, by %d open connections, each asking again at once. Who is turned away (OVERLOADED) comes back when told to, and is not among the answers.", Contended.Attempts, Contended.Seats, Contended.Connections),
		Bars: []report.Bar{
			{Note: noteP99, Sense: report.AtMost, Limit: 250},
			{Against: "waiting", Sense: report.AtLeast, Limit: 5}, {Against: "setnx", Sense: report.AtLeast, Limit: 2}, {Against: "lua", Sense: report.AtLeast, Limit: 2},
			{Note: noteFailed, Sense: report.AtMost}, {Of: naive, Note: noteTwice, Sense: report.AtLeast, Limit: 1},
		},
	}}
	all := table{row: report.Row{
		ID: "onsale-all", Title: "On-sale over HTTP, every attempt succeeds", Unit: "holds/s",
		Explain: fmt.Sprintf("%d seats of one show, one after the other, by %d open connections.", AllSucceeds.Attempts, AllSucceeds.Connections),
		Bars:    []report.Bar{{Note: noteP99, Sense: report.AtMost, Limit: 250}, {Note: noteFailed, Sense: report.AtMost}},
	}}
	for _, against := range []string{naive, "waiting", "setnx", "lua"} {
		all.row.Bars = append(all.row.Bars, report.Bar{Against: against, Sense: report.AtLeast, Limit: 10})
	}
	for round := range o.Rounds {
		for _, run := range []struct {
			sale Sale
			into *table
		}{{Contended, &contended}, {AllSucceeds, &all}} {
			run.sale.Most = o.during(run.sale.Most, 1500*time.Millisecond)
			for _, s := range compared {
				title, redis := s.title, false
				if s.name != Rowlock {
					strategy, err := strategies.Named(s.name)
					if err != nil {
						return nil, err
					}
					title, redis = strategy.Title, strategy.Redis
				}
				if redis && h.cfg.Redis == "" {
					run.into.row.Skipped = "no redis-server on PATH"
					continue
				}
				sold, err := h.Sell(ctx, s.name, run.sale)
				if err != nil {
					return nil, fmt.Errorf("%s: %s: %w", run.into.row.Title, s.name, err)
				}
				notes := sold.notes()
				notes[noteTwice], notes[noteCPU] = float64(sold.Twice), float64(sold.CPU.Microseconds())
				run.into.add(s.name, title, sold.PerSecond(), notes)
				o.Say("%s, round %d, %s: %.0f/s, p50 %.0f ms, p99 %.0f ms, server CPU %v, %d turned away, %d seats sold twice, %d failed %s", run.into.row.ID, round+1, s.name,
					sold.PerSecond(), ms(sold.P50), ms(sold.P99), sold.CPU, sold.Shed, sold.Twice, sold.Failed, sold.Why)
			}
		}
	}
	return []report.Row{contended.settle(), all.settle()}, nil
}

func steady(ctx context.Context, h *House, o Options) ([]report.Row, error) {
	t := table{row: report.Row{
		ID: "steady", Title: fmt.Sprintf("%d holds and %d seat-map reads a second over HTTP", Evening.Holds, Evening.Reads), Unit: "p99 ms", Less: true,
		Explain: "Nobody wants what another has. Requests come at their rate whether or not answers do, and are timed from when they were due. Reads are of the availability, whole and compressed. Half as many are measured beside it.",
		Bars: []report.Bar{
			{Of: "hold", Sense: report.AtMost, Limit: 50}, {Of: "availability", Sense: report.AtMost, Limit: 10},
		},
	}}
	load := Evening
	load.During = o.during(load.During, 3*time.Second)
	for round := range o.Rounds {
		for part, suffix := range []string{"", ", half as many"} {
			some := load
			some.Holds, some.Reads = load.Holds>>part, load.Reads>>part
			holds, reads, err := h.Steady(ctx, some)
			if err != nil {
				return nil, err
			}
			t.add("hold"+suffix, "", ms(holds.P99), holds.notes())
			t.add("availability"+suffix, "", ms(reads.P99), reads.notes())
			o.Say("steady, round %d, %d holds and %d reads a second: hold p99 %.1f ms, availability p99 %.1f ms", round+1, some.Holds, some.Reads, ms(holds.P99), ms(reads.P99))
		}
	}
	return []report.Row{t.settle()}, nil
}

func buyers(ctx context.Context, _ *House, o Options) ([]report.Row, error) {
	const rate = 200
	t := table{row: report.Row{
		ID: "buyers", Title: fmt.Sprintf("Hold, pay, tickets: %d buyers a second over HTTP", rate), Unit: "p99 ms", Less: true,
		Explain: "With everything in one rowlock run: API, jobs, Postgres, sandbox with its webhooks, and mails with printed tickets. From when a buyer came until each step was done.",
		Bars:    []report.Bar{{Of: "tickets", Sense: report.AtMost, Limit: 2000}},
	}}
	for round := range o.Rounds {
		b, err := Buy(ctx, Rush{Rate: rate, During: o.during(15*time.Second, 3*time.Second), Say: func(string, ...any) {}})
		if err != nil {
			return nil, err
		}
		t.add("hold", "", ms(b.Hold.P99), b.Hold.notes())
		t.add("pay", "", ms(b.Pay.P99), b.Pay.notes())
		t.add("tickets", "", ms(b.Tickets.P99), b.Tickets.notes())
		o.Say("buyers, round %d: held p99 %.0f ms, paid %.0f ms, tickets %.0f ms; %s", round+1, ms(b.Hold.P99), ms(b.Pay.P99), ms(b.Tickets.P99), b.Verdict)
	}
	return []report.Row{t.settle()}, nil
}

func catalogue(ctx context.Context, h *House, o Options) ([]report.Row, error) {
	t := table{row: report.Row{
		ID: "catalogue", Title: "Lists of a catalogue of 50,000 shows", Unit: "p99 ms", Less: true,
		Explain: fmt.Sprintf("Pages of 50 over HTTP, %d a second, without a cache in between: 50,000 shows of 2,500 events in 100 halls of 20 seats.", browsing),
	}}
	for round := range o.Rounds {
		list, err := h.Catalogue(ctx, 50_000, o.during(5*time.Second, 400*time.Millisecond))
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			t.add(r.Name, "", ms(r.P99), r.notes())
			o.Say("catalogue, round %d, %s: p50 %.1f ms, p99 %.1f ms", round+1, r.Name, ms(r.P50), ms(r.P99))
		}
	}
	for _, r := range t.row.Results {
		if r.Strategy == facets { // no list
			continue
		}
		t.row.Bars = append(t.row.Bars, report.Bar{Of: r.Strategy, Sense: report.AtMost, Limit: 20})
	}
	return []report.Row{t.settle()}, nil
}

func seatMaps(ctx context.Context, h *House, o Options) ([]report.Row, error) {
	t := table{row: report.Row{
		ID: "maps", Title: "Reads of a map of 300 seats over HTTP, as many as go", Unit: "reads/s",
		Explain: fmt.Sprintf("%d connections, each asking again at once. The last row is what the server and these readers can do at most: an answer that is the same for everybody.", mapReaders),
		Bars:    []report.Bar{{Of: mapUnchanged, Sense: report.AtLeast, Limit: 20_000}},
	}}
	for round := range o.Rounds {
		list, err := h.Maps(ctx, o.during(5*time.Second, time.Second))
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			notes := r.notes()
			notes[noteBytes] = float64(r.Bytes)
			t.add(r.Name, "", r.PerSecond(), notes)
			o.Say("maps, round %d, %s: %.0f/s, p99 %.1f ms", round+1, r.Name, r.PerSecond(), ms(r.P99))
		}
	}
	return []report.Row{t.settle()}, nil
}

// Told is 20,000 people who watch a show while it sells.
var Told = Audience{Viewers: 20_000, Seats: 20_000, Holds: 100, During: 20 * time.Second, Kill: 4 * time.Second}

func viewers(ctx context.Context, h *House, o Options) ([]report.Row, error) {
	const told, asking = "stream", "asking every 2 s"
	a := Told
	if o.Quick {
		a.Viewers = 500
	}
	a.During, a.Kill = o.during(a.During, 3*time.Second), o.during(a.Kill, time.Second)
	t := table{row: report.Row{
		ID: "viewers", Title: fmt.Sprintf("%d viewers of one show while it sells", a.Viewers), Unit: "p99 ms", Less: true,
		Explain: fmt.Sprintf("A show of %d seats sells %d holds of two seats a second. From the answer to a hold until a viewer has seen it; of several changes that come at once, the one that waited longest. Viewers and servers share the machine; a process has only so many file handles, so they may be spread over several.", a.Seats, a.Holds),
		Bars: []report.Bar{
			{Of: told, Sense: report.AtMost, Limit: 1000}, {Of: told, Note: noteGaps, Sense: report.AtMost}, {Of: told, Note: noteBehind, Sense: report.AtMost}, {Of: told, Note: noteFailed, Sense: report.AtMost},
		},
	}}
	back := table{row: report.Row{
		ID: "resume", Title: fmt.Sprintf("%d viewers whose servers are killed and started again", a.Viewers), Unit: "s until all are back", Less: true,
		Explain: "In the middle of a sale by another server. From the kill until each viewer has come back by Last-Event-ID, as late as the stream had told them to, and has seen all that was sold meanwhile.",
		Bars: []report.Bar{
			{Note: noteGaps, Sense: report.AtMost}, {Note: noteResets, Sense: report.AtMost}, {Note: noteBehind, Sense: report.AtMost},
			{Note: noteReturned, Sense: report.AtLeast, Limit: float64(a.Viewers)},
		},
	}}
	kill := a.Kill
	for round := range o.Rounds {
		for _, way := range []struct {
			name       string
			poll, kill time.Duration
		}{{told, 0, kill}, {asking, 2 * time.Second, 0}} {
			a.Poll, a.Kill = way.poll, way.kill
			w, err := h.Watch(ctx, a)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", way.name, err)
			}
			t.add(way.name, "", ms(w.P99), map[string]float64{
				noteP50: ms(w.P50), noteEach: w.Bytes / 1000, noteCPU: float64(w.CPU.Microseconds()), noteGaps: float64(w.Gaps), noteBehind: float64(w.Behind),
				noteSplit: float64(w.Servers), "hold p99 ms": ms(w.Sold.P99), noteFailed: float64(w.Sold.Failed),
			})
			o.Say("viewers, round %d, %s: seen p50 %.0f ms, p99 %.0f ms, %.1f kB a viewer, server CPU %v, hold p99 %.0f ms, %d gaps, %d never saw the end; %d servers", round+1, way.name,
				ms(w.P50), ms(w.P99), w.Bytes/1000, w.CPU, ms(w.Sold.P99), w.Gaps, w.Behind, w.Servers)
			if a.Kill > 0 {
				back.add(Rowlock, "", w.Back.Seconds(), map[string]float64{
					noteGaps: float64(w.After.Gaps), noteResets: float64(w.After.Resets), noteBehind: float64(w.After.Behind), noteReturned: float64(w.After.Returned),
				})
				o.Say("resume, round %d: %d came back, all within %.1f s; %d gaps, %d resets, %d never saw the end", round+1,
					w.After.Returned, w.Back.Seconds(), w.After.Gaps, w.After.Resets, w.After.Behind)
			}
		}
	}
	return []report.Row{t.settle(), back.settle()}, nil
}

func idleStreams(ctx context.Context, h *House, o Options) ([]report.Row, error) {
	a := Audience{Viewers: 50_000, Seats: 2_000}
	if o.Quick {
		a.Viewers = 1_000
	}
	t := table{row: report.Row{
		ID: "streams", Title: fmt.Sprintf("%d idle streams", a.Viewers), Unit: "kB a viewer", Less: true,
		Explain: "By how much the servers grow with each, as the operating system counts it, sockets excepted.",
	}}
	for round := range o.Rounds {
		w, err := h.Watch(ctx, a)
		if err != nil {
			return nil, err
		}
		t.add(Rowlock, "", w.Bytes/1000, map[string]float64{noteSplit: float64(w.Servers)})
		o.Say("streams, round %d: %.1f kB a viewer; %d servers", round+1, w.Bytes/1000, w.Servers)
	}
	return []report.Row{t.settle()}, nil
}
