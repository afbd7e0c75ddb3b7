package main

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

//go:embed sql/turns.sql
var sqlTurns string

// entrant is somebody who was in a waiting room, as the database has it.
type entrant struct {
	Entry, Customer string
	Joined          time.Time
	Closed          *time.Time // nil: they did not leave
	Turn            *int       // 2: the first was missed; nil: there was none
	Admitted        *time.Time // for that turn
	Lapses          *time.Time // if it is not used
	Ends            *time.Time // since it was used; nil: it was not
}

// had says whether a hold at a time was within the entrant's turn. When the
// clock was wrong, times of the room and of the show may be far apart: each
// keeps to what it has seen.
func (e *entrant) had(at time.Time, right bool) bool {
	return e.Ends != nil && at.Before(*e.Ends) && (!right || !at.Before(*e.Admitted) && (e.Closed == nil || at.Before(*e.Closed)))
}

// room is everything that is known of a waiting room in the end.
type room struct {
	sh       *show
	entrants []entrant
	holders  map[string]string // customers, by reservation
	log      []entry
	ops      []*Op
	right    bool // the database's clock was
	history  *history
}

// audit says what must not be in a waiting room, and returns how many turns
// there were.
func (m *room) audit(tell func(format string, args ...any)) int {
	m.kept(tell)
	m.holds(tell)
	m.refusals(tell)
	m.positions(tell)
	return m.pace(tell)
}

// kept looks for what was acknowledged.
func (m *room) kept(tell func(format string, args ...any)) {
	entries := map[string]*entrant{}
	for i := range m.entrants {
		entries[m.entrants[i].Entry] = &m.entrants[i]
	}
	for _, o := range m.ops {
		if o.Waiting > int64(queueRules.sizeMax) {
			tell("%d waited in %s, where %d may (client %d at %.3f s)", o.Waiting, m.sh.title, queueRules.sizeMax, o.Client, seconds(o.Call))
		}
		switch e := entries[o.Entry]; {
		case !o.ok() || o.Do != queueUp && o.Do != leaveQueue:
		case e == nil:
			tell("entry %s of the waiting room of %s was acknowledged (%s, client %d at %.3f s) and is lost", o.Entry, m.sh.title, o.Do, o.Client, seconds(o.Call))
		case o.Do == leaveQueue && e.Closed == nil:
			tell("entry %s left the waiting room of %s (client %d at %.3f s) and is in it", o.Entry, m.sh.title, o.Client, seconds(o.Call))
		}
	}
}

func seconds(micros int64) float64 { return float64(micros) / 1e6 }

// holds sees by the log that every hold of a customer was placed with a turn of
// theirs, while nothing else was held with it, and before anything was bought.
func (m *room) holds(tell func(format string, args ...any)) {
	type holding struct {
		turn *entrant
		ends time.Time
		is   string
	}
	held := map[string]*holding{} // by reservation
	closed := false
	for i := range m.log {
		e := &m.log[i]
		if note, ok := strings.CutPrefix(e.Note, "The waiting room is "); ok && e.Type == "show.changed" {
			closed = strings.HasPrefix(note, "closed")
		}
		id := e.Object.ReservationID
		if h := held[id]; h != nil && strings.HasPrefix(e.Type, "reservation.") {
			h.ends, h.is = e.After.ExpiresAt, e.After.Status
		}
		if e.Type != "reservation.created" || e.Reason != "buyer" || closed {
			continue
		}
		customer := m.holders[id]
		at := slices.IndexFunc(m.entrants, func(who entrant) bool { return who.Customer == customer && who.had(e.At, m.right) })
		if at < 0 {
			tell("reservation %s of %s was placed (version %d, %.3f s) by customer %s, who had no turn then%s", id, m.sh.title, e.Sequence, seconds(m.history.on(e.At)), customer, m.about(customer))
			continue
		}
		turn := &m.entrants[at]
		for other, h := range held {
			if h.turn == turn && (h.is == "consumed" || h.is == "active" && e.At.Before(h.ends)) {
				tell("reservation %s of %s was placed (version %d) with the turn of entry %s, with which reservation %s was %s then", id, m.sh.title, e.Sequence, turn.Entry, other, h.is)
			}
		}
		held[id] = &holding{turn, e.After.ExpiresAt, e.After.Status}
	}
}

// about tells what customers were told of their turns.
func (m *room) about(customer string) string {
	var b strings.Builder
	for i := range m.entrants {
		if e := &m.entrants[i]; e.Customer == customer {
			fmt.Fprintf(&b, "\n    entry %s, joined at %.3f s", e.Entry, seconds(m.history.on(e.Joined)))
			if e.Admitted != nil {
				fmt.Fprintf(&b, ", turn %d from %.3f s", *e.Turn, seconds(m.history.on(*e.Admitted)))
			}
		}
	}
	for _, o := range m.ops {
		if o.Customer == customer && (o.Entry != "" || o.Do == place) {
			fmt.Fprintf(&b, "\n    %.3f … %.3f s, client %d: %s %s %s, %d %s", seconds(o.Call), seconds(min(o.Return, never)), o.Client, o.Do, o.What, o.EntryIs, o.Status, o.Code)
		}
	}
	return b.String()
}

// refusals sees that nobody was let past who showed nothing, or another's turn,
// and that nobody was told that a turn is over which was not.
func (m *room) refusals(tell func(format string, args ...any)) {
	for _, o := range m.ops {
		if o.Do != place || o.Block != "" || !o.known() || boxoffice.Code(o.Code) == boxoffice.CodeShowNotOnSale || m.closed(o) {
			continue
		}
		want := map[string]boxoffice.Code{"": boxoffice.CodeQueueTokenRequired, anothersOne: boxoffice.CodeQueueTokenInvalid}[o.Pass]
		switch code := boxoffice.Code(o.Code); {
		case want != "" && code != want:
			tell("customer %s showed %q for a turn in %s (client %d at %.3f s) and was answered %d %s, not %s", o.Customer, o.Pass, m.sh.title, o.Client, seconds(o.Call), o.Status, code, want)
		case code == boxoffice.CodeQueueTokenRequired && o.Pass == ownTurn,
			code == boxoffice.CodeQueueTokenExpired && m.right && !o.Doubt && o.Return < o.TurnEnds-slack:
			tell("customer %s had a turn in %s until %.3f s (entry %s) and was answered %s at %.3f s%s", o.Customer, m.sh.title, seconds(o.TurnEnds), o.Entry, code, seconds(o.Return), m.about(o.Customer))
		}
	}
}

// closed says whether the room may have been closed for some time of an
// operation.
func (m *room) closed(o *Op) bool {
	for _, c := range m.ops {
		if c.Do != closeQueue || c.Call > o.Return || !c.ok() && !c.Doubt && c.known() {
			continue
		}
		opened := never
		for _, p := range m.ops {
			if p.Do == openQueue && p.ok() && p.Call >= c.Return {
				opened = min(opened, p.Return)
			}
		}
		if o.Call < opened {
			return true
		}
	}
	return false
}

// positions sees that whoever waits only moves forward, by whichever way they
// follow it.
func (m *room) positions(tell func(format string, args ...any)) {
	last := map[[2]string]*Op{}
	for _, o := range m.ops {
		if o.Position == 0 || !o.ok() {
			continue
		}
		way := [2]string{o.Entry, o.What}
		if before := last[way]; before != nil && before.Return <= o.Call && before.Position < o.Position {
			tell("entry %s of the waiting room of %s was told position %d at %.3f s and position %d at %.3f s (%s)", o.Entry, m.sh.title, before.Position, seconds(before.Return), o.Position, seconds(o.Call), o.What)
		}
		last[way] = o
	}
}

// pace sees that nobody was called faster than the rate allows, turns that were
// missed or given back being another's, and returns how many were called. What
// a rate of two seconds comes to may be called at once: nobody called before.
func (m *room) pace(tell func(format string, args ...any)) int {
	type call struct {
		entry string
		at    int64
	}
	known := map[call]bool{} // told and written are the same
	for _, o := range m.ops {
		if o.Admitted != 0 && o.ok() && o.Do != place {
			known[call{o.Entry, o.Admitted}] = true
		}
	}
	var freed []int64
	for i := range m.entrants {
		switch e := &m.entrants[i]; {
		case e.Turn != nil:
			known[call{e.Entry, m.history.on(*e.Admitted)}] = true
			if *e.Turn == 2 {
				freed = append(freed, m.history.on(e.Joined)) // the first was missed, who knows when
			}
			if e.Ends == nil {
				freed = append(freed, m.history.on(*e.Lapses))
			}
		case e.Closed != nil:
			freed = append(freed, m.history.on(*e.Closed)) // their turn came when they had left
		}
	}
	calls := slices.SortedFunc(maps.Keys(known), func(x, y call) int { return cmp.Compare(x.at, y.at) })
	rate := float64(queueRules.perMinute) / 60
	most := 2*rate + 1
	allowed, spare := most, 0
	slices.Sort(freed)
	for i, c := range calls {
		if i > 0 {
			allowed = min(most, allowed+rate*seconds(c.at-calls[i-1].at))
		}
		for len(freed) > 0 && freed[0] <= c.at {
			freed, spare = freed[1:], spare+1
		}
		switch {
		case allowed >= 0.999:
			allowed--
		case spare > 0:
			spare--
		default:
			from := max(0, i-8)
			tell("%d people were called into %s between %.3f and %.3f s, the last of them entry %s: that is more than %d a minute and what was given back",
				i-from+1, m.sh.title, seconds(calls[from].at), seconds(c.at), c.entry, queueRules.perMinute)
			return len(calls)
		}
	}
	return len(calls)
}

// turns audits the waiting room of a show, by its own eyes and by the binary's.
func (r *round) turns(ctx context.Context, at int, b *books) error {
	m := &room{sh: r.shows[at], holders: map[string]string{}, log: b.log, right: r.t.clockRight(), history: r.history}
	for i := range b.reservations {
		m.holders[b.reservations[i].ReservationID] = b.reservations[i].CustomerID
	}
	for _, o := range r.history.all() {
		if o.Show == at && o.Client != r.auditor.id {
			m.ops = append(m.ops, o)
		}
	}
	conn, err := pgx.Connect(ctx, r.t.house.Database())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	rows, err := conn.Query(ctx, sqlTurns, m.sh.id)
	if err != nil {
		return err
	}
	if m.entrants, err = pgx.CollectRows(rows, pgx.RowToStructByPos[entrant]); err != nil {
		return err
	}
	r.t.counts.turns.Add(int64(m.audit(r.t.found)))
	out, err := r.t.house.Run(ctx, "draw", "--show="+m.sh.id)
	if err != nil {
		r.t.found("rowlock draw --show=%s: %v\n%s", m.sh.id, err, out)
	}
	return nil
}
