package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/bench/strategies"
	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

const (
	everybody = 400            // callers who press at once
	sameRows  = "rowlock-rows" // Rowlock writing the rows of the others, a job a hold
)

// sellers are Rowlock's variants and the strategies that are asked for.
func (b *bench) sellers(row *report.Row, rows bool, names []string, sell func(ctx context.Context, name string, instants bool) (measure, error)) []variant {
	list := []variant{{report.Rowlock, "Rowlock", func(ctx context.Context) (measure, error) { return sell(ctx, report.Rowlock, false) }}}
	if rows {
		list = append(list, variant{sameRows, "Rowlock, a job for each hold", func(ctx context.Context) (measure, error) { return sell(ctx, report.Rowlock, true) }})
	}
	for _, name := range names {
		s, err := strategies.Named(name)
		if err != nil {
			panic(err) // the names are ours
		}
		if s.Redis && b.city.redis == "" {
			row.Skipped = strategies.ErrNoRedis.Error()
			continue
		}
		list = append(list, variant{s.Name, s.Title, func(ctx context.Context) (measure, error) { return sell(ctx, s.Name, false) }})
	}
	return list
}

// everyone is all strategies, from the simplest on.
func everyone() (names []string) {
	for _, s := range strategies.All {
		names = append(names, s.Name)
	}
	return names
}

// times is a bar: so many times as fast as another.
func times(of, against string, n float64) report.Bar {
	return report.Bar{Of: of, Against: against, Sense: report.AtLeast, Limit: n}
}

// none is a bar: never.
func none(of, note string) report.Bar {
	return report.Bar{Of: of, Note: note, Sense: report.AtMost, Limit: 0}
}

func (b *bench) hot(ctx context.Context) (report.Row, error) {
	seats := pick(b, 40_000, 5_000)
	row := report.Row{
		ID: "hot", Title: "One hot show, every attempt succeeds", Unit: "holds/s",
		Explain: fmt.Sprintf("%d callers hold one seat each of a show of %s, until it is sold out; the others sell for %v. Holds that are placed in one batch end at the same instant, "+
			"and Rowlock makes one job for all of them; the others need one each. So that all write the same rows, Rowlock runs once more with "+
			"holds of different lengths, which end at an instant each and have a job each.", everybody, digits(float64(seats)), b.most("")),
		Bars: []report.Bar{
			times("", "advisory", 30), times("", "waiting", 12), times("", "setnx", 12), times("", "lua", 12),
			times(sameRows, "advisory", 20), times(sameRows, "waiting", 7), times(sameRows, "setnx", 7), times(sameRows, "lua", 7),
			none("", failures), none(sameRows, failures),
		},
	}
	return b.compare(ctx, &row, b.rounds, b.sellers(&row, true, everyone(), func(ctx context.Context, name string, instants bool) (measure, error) {
		return b.sell(ctx, b.house, name, sale{
			shows: 1, seats: seats, callers: everybody, attempts: seats, most: b.most(name), instants: instants,
		})
	}))
}

// most is how long a sale may take in which every attempt succeeds. Of Rowlock
// the end is awaited; the others are as fast at the start as at the end.
func (b *bench) most(strategy string) time.Duration {
	if strategy == report.Rowlock {
		return noLimit
	}
	return pick(b, 2*time.Second, 300*time.Millisecond)
}

func (b *bench) contended(ctx context.Context) (report.Row, error) {
	attempts, seats := pick(b, 30_000, 2_000), pick(b, 2_000, 500)
	row := report.Row{
		ID: "contended", Title: "One hot show, contended", Unit: "attempts/s",
		Explain: fmt.Sprintf("%d callers want 1 to 3 seats side by side anywhere in a show of %s, %s attempts in all: most come too late and are told so. "+
			"Who checks and then acts sells the same seat to several customers.", everybody, digits(float64(seats)), digits(float64(attempts))),
		Bars: []report.Bar{
			times("", "advisory", 40), times("", "waiting", 8), times("", "setnx", 3), times("", "lua", 3),
			none("", twice), {Of: naive, Note: twice, Sense: report.AtLeast, Limit: 1}, none("", failures),
		},
	}
	return b.compare(ctx, &row, b.rounds, b.sellers(&row, false, everyone(), func(ctx context.Context, name string, _ bool) (measure, error) {
		return b.sell(ctx, b.house, name, sale{
			shows: 1, seats: seats, callers: everybody, attempts: attempts, most: noLimit, contended: true,
		})
	}))
}

func (b *bench) hundred(ctx context.Context) (report.Row, error) {
	seats := pick(b, 400, 50)
	row := report.Row{
		ID: "hundred", Title: "100 shows at once, every attempt succeeds", Unit: "holds/s",
		Explain: fmt.Sprintf("%d callers hold one seat each of any of 100 shows of %d, until all are sold out; the others sell for %v.", everybody, seats, b.most("")),
		Bars: []report.Bar{
			times("", "advisory", 12), times("", "waiting", 12), times("", "setnx", 12), times("", "lua", 12),
			times(sameRows, "advisory", 8), times(sameRows, "waiting", 8), times(sameRows, "setnx", 8), times(sameRows, "lua", 8),
			none("", failures), none(sameRows, failures),
		},
	}
	return b.compare(ctx, &row, b.rounds, b.sellers(&row, true, everyone(), func(ctx context.Context, name string, instants bool) (measure, error) {
		return b.sell(ctx, b.house, name, sale{
			shows: 100, seats: seats, callers: everybody, attempts: 100 * seats, most: b.most(name), instants: instants,
		})
	}))
}

const alone = "one show"

func (b *bench) manyShows(ctx context.Context) (report.Row, error) {
	all := pick(b, 40_000, 5_000)
	row := report.Row{
		ID: "shows", Title: "The same sale over 1, 10 and 1,000 shows", Unit: "holds/s",
		Explain: fmt.Sprintf("%d callers hold %s seats, one each, every attempt succeeds: all of one show, or of ten, or of a thousand.", everybody, digits(float64(all))),
	}
	var variants []variant
	for _, shows := range []int{1, 10, 1000} {
		name := digits(float64(shows)) + " shows"
		if shows == 1 {
			name = alone
		}
		variants = append(variants, variant{name, "", func(ctx context.Context) (measure, error) {
			return b.sell(ctx, b.house, report.Rowlock, sale{shows: shows, seats: all / shows, callers: everybody, attempts: all, most: noLimit})
		}})
		row.Bars = append(row.Bars, none(name, failures))
		if shows > 1 {
			row.Bars = append(row.Bars, times(name, alone, 1/1.5))
		}
	}
	return b.compare(ctx, &row, b.rounds, variants)
}

func (b *bench) two(ctx context.Context) (report.Row, error) {
	row := report.Row{
		ID: "two", Title: "Two instances on one database", Unit: "holds/s",
		Explain: fmt.Sprintf("%d callers, every attempt succeeds; with two instances each serves half of them, whatever show they want. "+
			"Errors and deadlocks are counted, and there must be none.", everybody),
	}
	all := pick(b, 40_000, 5_000)
	var variants []variant
	for _, shows := range []int{1, 100} {
		names := [2]string{}
		for i := range names {
			names[i] = fmt.Sprintf("%s, %s", []string{"one instance", "two instances"}[i], map[int]string{1: "one show", 100: "100 shows"}[shows])
			variants = append(variants, variant{names[i], "", func(ctx context.Context) (measure, error) {
				return b.deadlocks(ctx, func() (measure, error) {
					return b.sell(ctx, b.house, report.Rowlock, sale{
						shows: shows, seats: all / shows, callers: everybody, attempts: all, most: noLimit, instances: i + 1,
					})
				})
			}})
		}
		row.Bars = append(row.Bars, times(names[1], names[0], map[int]float64{1: 0.85, 100: 0.7}[shows]),
			none(names[1], failures), none(names[1], deadlocked))
	}
	return b.compare(ctx, &row, b.rounds, variants)
}

const deadlocked = "deadlocks"

// deadlocks counts those that the database saw meanwhile.
func (b *bench) deadlocks(ctx context.Context, do func() (measure, error)) (m measure, err error) {
	var before, after float64
	if err := b.house.all.QueryRow(ctx, sqlDeadlocks).Scan(&before); err != nil {
		return m, err
	}
	if m, err = do(); err != nil {
		return m, err
	}
	if err := b.house.all.QueryRow(ctx, sqlDeadlocks).Scan(&after); err != nil {
		return m, err
	}
	m.sums[deadlocked] = after - before
	return m, nil
}

func (b *bench) one(ctx context.Context) (report.Row, error) {
	attempts := pick(b, 600, 200)
	row := report.Row{
		ID: "one", Title: "One caller, nothing else running", Unit: "holds/s",
		Explain: fmt.Sprintf("One caller holds %d seats, one after the other. Nobody is there to share a transaction with.", attempts),
		Bars:    []report.Bar{times("", "advisory", 1), none("", failures)},
	}
	return b.compare(ctx, &row, b.rounds, b.sellers(&row, false, []string{"waiting", "pipelined", "advisory"}, func(ctx context.Context, name string, _ bool) (measure, error) {
		return b.sell(ctx, b.house, name, sale{shows: 1, seats: attempts, callers: 1, attempts: attempts, most: noLimit})
	}))
}

// wants is what the next caller goes for: a show, and seats by name.
func (s *sale) wants(names []string) func(i int) (show int, seats []string) {
	if s.contended {
		return func(int) (int, []string) {
			n := 1 + rand.IntN(3)
			first := rand.IntN(s.seats - n + 1)
			return 0, names[first : first+n]
		}
	}
	order := rand.Perm(s.seats * s.shows)
	return func(i int) (int, []string) {
		show, seat := order[i]%s.shows, order[i]/s.shows
		return show, names[seat : seat+1]
	}
}

// mine are a caller's holds of one show.
type mine []struct {
	id    uuid.UUID
	actor boxoffice.Actor
}

// staff confirms what was given away: the strategies sell nothing for money.
var staff = boxoffice.Actor{Staff: true, Name: "key:bench"}

func (b *bench) mix(ctx context.Context) (report.Row, error) {
	seats := pick(b, 40_000, 5_000)
	row := report.Row{
		ID: "mix", Title: "A mix of commands on one hot show", Unit: "commands/s",
		Explain: fmt.Sprintf("%d callers: 60 of 100 commands place a hold of one seat, 20 confirm one, 15 release one, 5 extend one, each on holds of the caller's own.", everybody),
		Bars:    []report.Bar{times("", "advisory", 30), times("", "waiting", 10), none("", failures)},
	}
	return b.compare(ctx, &row, b.rounds, b.sellers(&row, false, []string{"waiting", "pipelined", "advisory"}, func(ctx context.Context, name string, _ bool) (m measure, err error) {
		shows, err := b.house.shows(ctx, 1, seats+warmings)
		if err != nil {
			return m, err
		}
		p, err := b.mixed(ctx, name, shows[0], seats)
		if err != nil {
			return m, err
		}
		if p.why != nil {
			b.screen.say("  %s: %d of %d failed, the first: %v", name, p.failed, p.attempts, p.why)
		}
		sold, err := b.house.check(ctx, name, shows)
		m.value = p.perSecond()
		m.notes = map[string]float64{"p50 ms": p.wait(50), "p99 ms": p.wait(99)}
		m.sums = map[string]float64{failures: float64(p.failed), twice: float64(sold)}
		return m, err
	}))
}

func (b *bench) mixed(ctx context.Context, strategy string, show uuid.UUID, seats int) (p pressed, err error) {
	sell, err := b.house.seller(ctx, strategy, 1)
	if err != nil {
		return p, err
	}
	defer sell.stop()
	s := sell.stores[0]
	names := labels(seats + warmings)
	holds := make([]mine, everybody)
	command := func(ctx context.Context, caller, seat int) error {
		own := &holds[caller]
		dice := rand.IntN(100)
		if dice < 60 || len(*own) == 0 {
			id, actor, err := place(ctx, s, show, 0, names[seat])
			if err == nil {
				*own = append(*own, struct {
					id    uuid.UUID
					actor boxoffice.Actor
				}{id, actor})
			}
			return err
		}
		i, key := rand.IntN(len(*own)), newKey()
		hold := (*own)[i]
		if dice >= 95 {
			_, _, err := s.ExtendReservation(ctx, hold.actor, &key, hold.id)
			return err
		}
		(*own)[i] = (*own)[len(*own)-1]
		*own = (*own)[:len(*own)-1]
		if dice < 80 {
			_, err := s.ConfirmReservation(ctx, staff, &key, hold.id, store.ConfirmRequest{Method: boxoffice.MethodComp})
			return err
		}
		_, _, err := s.ReleaseReservation(ctx, hold.actor, &key, hold.id)
		return err
	}
	warmed := press(ctx, b.screen, 64, warmings, time.Minute, func(ctx context.Context, caller, i int) error { return command(ctx, caller, seats+i) })
	if warmed.why != nil {
		return p, warmed.why
	}
	return press(ctx, b.screen, everybody, seats, b.most(strategy), command), nil
}

func (b *bench) sizes(ctx context.Context) (report.Row, error) {
	const callers = 100
	commands := pick(b, 40_000, 6_000)
	row := report.Row{
		ID: "sizes", Title: "A show of 300, 2,000 and 20,000 seats", Unit: "commands/s",
		Explain: fmt.Sprintf("%d callers place a hold of one seat and release it, over and over, each with seats of their own; %s commands.", callers, digits(float64(commands))),
	}
	var variants []variant
	for _, seats := range []int{300, 2_000, 20_000} {
		name := digits(float64(seats)) + " seats"
		variants = append(variants, variant{name, "", func(ctx context.Context) (measure, error) {
			return b.turnstile(ctx, seats, callers, commands, noLimit, nil)
		}})
		row.Bars = append(row.Bars, none(name, failures))
		if seats > 300 {
			row.Bars = append(row.Bars, times(name, "300 seats", 1/1.5))
		}
	}
	return b.compare(ctx, &row, b.rounds, variants)
}

// turnstile has callers place holds and release them, over and over, each with
// seats of their own. Beside, if it is not nil, is done once all are at it, and
// told of each answer.
func (b *bench) turnstile(ctx context.Context, seats, callers, commands int, most time.Duration, answered func()) (m measure, err error) {
	shows, err := b.house.shows(ctx, 1, seats)
	if err != nil {
		return m, err
	}
	p, err := func() (p pressed, err error) {
		sell, err := b.house.seller(ctx, report.Rowlock, 1)
		if err != nil {
			return p, err
		}
		defer sell.stop()
		s, names := sell.stores[0], labels(seats)
		holds := make([]mine, callers)
		turn := make([]int, callers)
		command := func(ctx context.Context, caller, _ int) error {
			if answered != nil {
				defer answered()
			}
			if own := holds[caller]; len(own) > 0 {
				key := newKey()
				holds[caller] = own[:0]
				_, _, err := s.ReleaseReservation(ctx, own[0].actor, &key, own[0].id)
				return err
			}
			share := seats / callers
			seat := caller*share + turn[caller]%share
			turn[caller]++
			id, actor, err := place(ctx, s, shows[0], 0, names[seat])
			if err == nil {
				holds[caller] = append(holds[caller], struct {
					id    uuid.UUID
					actor boxoffice.Actor
				}{id, actor})
			}
			return err
		}
		if warmed := press(ctx, b.screen, callers, 4*callers, time.Minute, command); warmed.why != nil {
			return p, warmed.why
		}
		return press(ctx, b.screen, callers, commands, most, command), nil
	}()
	if err != nil {
		return m, err
	}
	if p.why != nil {
		b.screen.say("  %d of %d failed, the first: %v", p.failed, p.attempts, p.why)
	}
	sold, err := b.house.check(ctx, report.Rowlock, shows)
	m.value = p.perSecond()
	m.notes = map[string]float64{"p50 ms": p.wait(50), "p99 ms": p.wait(99)}
	m.sums = map[string]float64{failures: float64(p.failed), twice: float64(sold)}
	return m, err
}
