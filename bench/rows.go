package main

import (
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/bench/onsale"
	"github.com/rowlock/rowlock/bench/report"
)

// scenario is a row of the table in the making.
type scenario struct {
	id, about string
	takes     time.Duration // in a whole run of five rounds, to say what is ahead
	quickly   time.Duration // in a quick one
	long      bool          // left out of quick runs, unless it is asked for
	measure   func(b *bench, ctx context.Context) ([]report.Row, error)
}

// single is of those that measure one row.
func single(measure func(b *bench, ctx context.Context) (report.Row, error)) func(b *bench, ctx context.Context) ([]report.Row, error) {
	return func(b *bench, ctx context.Context) ([]report.Row, error) {
		row, err := measure(b, ctx)
		return []report.Row{row}, err
	}
}

// overHTTP is what package onsale measures, in a database of its own.
func overHTTP(id string) func(b *bench, ctx context.Context) ([]report.Row, error) {
	return func(b *bench, ctx context.Context) ([]report.Row, error) {
		at := slices.IndexFunc(onsale.Scenarios, func(s onsale.Scenario) bool { return s.ID == id })
		h, err := b.city.open(ctx, "onsale")
		if err != nil {
			return nil, err
		}
		defer h.close()
		house, err := onsale.Open(ctx, onsale.Config{URL: h.url, Redis: b.city.redis})
		if err != nil {
			return nil, err
		}
		defer house.Close()
		return onsale.Scenarios[at].Run(ctx, house, onsale.Options{Rounds: b.rounds, Quick: b.quick, Say: func(format string, args ...any) {
			b.screen.say("  "+format, args...)
		}})
	}
}

// scenarios are all rows, in the order of the table.
var scenarios = []scenario{
	{"hot", "one hot show, every attempt succeeds", 150 * time.Second, 20 * time.Second, false, single((*bench).hot)},
	{"contended", "one hot show, 1 to 3 seats side by side, anywhere", 3 * time.Minute, 15 * time.Second, false, single((*bench).contended)},
	{"hundred", "100 shows at once, every attempt succeeds", 150 * time.Second, 22 * time.Second, false, single((*bench).hundred)},
	{"mix", "60 % place, 20 % confirm, 15 % release, 5 % extend", time.Minute, 11 * time.Second, false, single((*bench).mix)},
	{"limit", "what this Postgres writes without anybody asking", 50 * time.Second, 5 * time.Second, false, single((*bench).limit)},
	{"sizes", "a show of 300, 2,000 and 20,000 seats", 45 * time.Second, 5 * time.Second, true, single((*bench).sizes)},
	{"shows", "the same sale over 1, 10 and 1,000 shows", 45 * time.Second, 4 * time.Second, true, single((*bench).manyShows)},
	{"old", "millions of old rows in the tables", 30 * time.Second, 9 * time.Second, true, single((*bench).old)},
	{"expire", "20,000 holds end in the same second", time.Minute, 7 * time.Second, false, single((*bench).expire)},
	{"two", "two instances on one database", time.Minute, 6 * time.Second, false, single((*bench).two)},
	{"snapshot", "a transaction is left open while seats are sold", 130 * time.Second, 9 * time.Second, true, single((*bench).snapshot)},
	{"queue", "100,000 people join a waiting room, and are called", 4 * time.Minute, 40 * time.Second, true, single((*bench).queue)},
	{"one", "one caller, nothing else running", 30 * time.Second, 6 * time.Second, false, single((*bench).one)},
	{"onsale", "on-sale over HTTP, 2,000 connections on one show", 10 * time.Minute, 30 * time.Second, true, overHTTP("onsale")},
	{"steady", "500 holds and 2,000 map reads a second, over HTTP", 150 * time.Second, 14 * time.Second, true, overHTTP("steady")},
	{"buyers", "200 buyers a second hold, pay and fetch tickets", 2 * time.Minute, 10 * time.Second, true, overHTTP("buyers")},
	{"catalogue", "lists of 50,000 shows, over HTTP", 2 * time.Minute, 10 * time.Second, true, overHTTP("catalogue")},
	{"maps", "map reads at saturation, over HTTP", 150 * time.Second, 9 * time.Second, true, overHTTP("maps")},
	{"viewers", "20,000 people watch a show while it sells", 6 * time.Minute, 20 * time.Second, true, overHTTP("viewers")},
	{"streams", "50,000 idle streams", 3 * time.Minute, 10 * time.Second, true, overHTTP("streams")},
	{"crush", "ten times more people than can be served, over HTTP", 3 * time.Minute, 15 * time.Second, true, overHTTP("crush")},
}
