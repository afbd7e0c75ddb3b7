package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

// What is looked at in a waiting room, beside how fast people join.
const (
	joinedNote  = "joined"
	rateNote    = "called, of the rate"
	readsNote   = "reads/s"
	riseNote    = "positions that rose"
	turnNote    = "called out of turn"
	drawNote    = "places of the draw that was run again"
	otherNote   = "called otherwise than rowlock draw says"
	roomSome    = "some" // the room, by how many are in it
	roomFull    = "full"
	queueRate   = 30_000 // people a minute
	holdsOfTurn = 300    // by people whose turn it is, each time
)

// queue has people join before the sale, be drawn and called by two instances;
// then it fills the room up and looks whether anything takes longer.
func (b *bench) queue(ctx context.Context) (report.Row, error) {
	people, full := pick(b, 100_000, 5_000), pick(b, 500_000, 25_000)
	row := report.Row{
		ID: "queue", Title: "People who join a waiting room", Unit: "joins/s",
		Explain: fmt.Sprintf("%s people join before the sale, 800 at once, at two instances on one database. When it opens they are drawn, and both instances call them, %s a minute. "+
			"Meanwhile some of them look again and again whether their position has risen; `rowlock draw` runs the draw again and holds it against who was called; "+
			"everybody reads their entry, %d hold a seat with their turn, and more people join. Then the room is filled up to %s, and all that is done once more.",
			digits(float64(people)), digits(queueRate), holdsOfTurn, digits(float64(full))),
		Bars: []report.Bar{
			{Note: joinedNote, Sense: report.AtLeast, Limit: float64(people)}, none("", failures),
			{Of: roomSome, Note: rateNote, Sense: report.AtLeast, Limit: .95}, {Of: roomSome, Note: rateNote, Sense: report.AtMost, Limit: 1.05},
			{Of: roomFull, Note: rateNote, Sense: report.AtLeast, Limit: .95}, {Of: roomFull, Note: rateNote, Sense: report.AtMost, Limit: 1.05},
			{Of: roomSome, Note: drawNote, Sense: report.AtLeast, Limit: float64(people)}, none(roomSome, otherNote),
			times(roomFull, roomSome, 1/1.3), {Of: roomFull, Note: readsNote, Against: roomSome, Sense: report.AtLeast, Limit: 1 / 1.3},
		},
	}
	for _, of := range []string{roomSome, roomFull} {
		row.Bars = append(row.Bars, none(of, failures), none(of, riseNote), none(of, turnNote))
	}
	r := &rush{bench: b, people: people, held: map[int64]bool{}}
	defer r.end()
	return b.compare(ctx, &row, 1, []variant{
		{report.Rowlock, "before the sale", r.before},
		{roomSome, digits(float64(people)) + " in the room", func(ctx context.Context) (measure, error) {
			m, err := r.inside(ctx)
			if err != nil {
				return m, err
			}
			return m, r.drawAgain(ctx, &m)
		}},
		{roomFull, digits(float64(full)) + " in the room", func(ctx context.Context) (measure, error) {
			if err := r.fill(ctx, int64(full)); err != nil {
				return measure{}, err
			}
			m, err := r.inside(ctx)
			if err != nil {
				return m, err
			}
			_, err = b.house.check(ctx, report.Rowlock, []uuid.UUID{r.show})
			return m, err
		}},
	})
}

// rush is a waiting room from the first who joins to the last who is looked at.
type rush struct {
	*bench
	people int
	show   uuid.UUID
	sell   *seller
	ends   []func()

	mu      sync.Mutex
	waiters []waiter

	held map[int64]bool // numbers of those who have held a seat
}

// waiter is somebody in the room.
type waiter struct {
	entry    uuid.UUID
	number   int64
	customer string
}

func (r *rush) end() {
	for i := len(r.ends) - 1; i >= 0; i-- {
		r.ends[i]()
	}
}

func (r *rush) amend(ctx context.Context, a store.ShowAmendment) error {
	_, err := r.sell.stores[0].AmendShow(ctx, boxoffice.Actor{Staff: true, Name: "organiser"}, new(newKey()), boxoffice.DefaultOrganisationID, r.show, a)
	return err
}

// join is somebody who joins, of whom nobody has heard before.
func (r *rush) join(ctx context.Context, caller, _ int) error {
	key := newKey()
	v, _, err := r.sell.of(caller).JoinQueue(ctx, key, key.Owner, r.show)
	if err == nil {
		r.mu.Lock()
		r.waiters = append(r.waiters, waiter{v.EntryID, v.Number, key.Owner})
		r.mu.Unlock()
	}
	return err
}

// joins presses so many people into the room.
func (r *rush) joins(ctx context.Context, people int, m *measure) {
	p := press(ctx, r.screen, 800, people, 2*time.Minute, r.join)
	m.value = p.perSecond()
	m.notes[joinedNote], m.notes["p50 ms"], m.notes["p99 ms"] = float64(p.attempts)-float64(p.failed), p.wait(50), p.wait(99)
	r.failed(&p, m)
}

func (r *rush) failed(p *pressed, m *measure) {
	m.sums[failures] += float64(p.failed)
	if p.why != nil {
		r.screen.say("  %d failed, the first: %v", p.failed, p.why)
	}
}

// before opens the room, has people join, and then opens the sale.
func (r *rush) before(ctx context.Context) (m measure, err error) {
	m = measure{notes: map[string]float64{}, sums: map[string]float64{}}
	h := r.house
	shows, err := h.shows(ctx, 1, 1000)
	if err != nil {
		return m, err
	}
	r.show = shows[0]
	if r.sell, err = h.seller(ctx, report.Rowlock, 2); err != nil {
		return m, err
	}
	r.ends = append(r.ends, r.sell.stop)
	soon := time.Now().Add(time.Hour)
	// Nobody's turn ends while it is looked at: what lapses is passed on beyond the rate.
	err = r.amend(ctx, store.ShowAmendment{SalesStartAt: new(&soon), Queue: &boxoffice.QueueChange{RatePerMinute: new(queueRate), AdmissionSeconds: new(3600)}})
	if err != nil {
		return m, err
	}
	organiser := boxoffice.Actor{Staff: true, Name: "organiser"}
	if _, err := r.sell.stores[0].SetQueue(ctx, organiser, new(newKey()), boxoffice.DefaultOrganisationID, r.show, boxoffice.SetQueue{Open: true}); err != nil {
		return m, err
	}
	r.joins(ctx, r.people, &m)
	calling, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	r.ends = append(r.ends, func() { stop(); group.Wait() })
	for _, s := range r.sell.stores {
		group.Go(func() { _ = s.RunQueues(calling, func(int) {}) }) // it ends because it is told to
	}
	ago := time.Now().Add(-time.Minute)
	return m, r.amend(ctx, store.ShowAmendment{SalesStartAt: new(&ago)})
}

// inside looks at the room while people are called.
func (r *rush) inside(ctx context.Context) (m measure, err error) {
	m = measure{notes: map[string]float64{}, sums: map[string]float64{}}
	if err := r.called(ctx, &m); err != nil {
		return m, err
	}
	reads := press(ctx, r.screen, 50, min(len(r.waiters), 20_000), time.Minute, func(ctx context.Context, caller, i int) error {
		_, err := r.sell.of(caller).QueueEntry(ctx, uuid.Nil, "", r.waiters[i].entry)
		return err
	})
	m.notes[readsNote], m.notes["read p99 ms"] = reads.perSecond(), reads.wait(99)
	r.failed(&reads, &m)
	if err := r.holds(ctx, &m); err != nil {
		return m, err
	}
	r.joins(ctx, r.people/5, &m)
	return m, nil
}

// called measures for a while how many are called, and asks people meanwhile
// where they are.
func (r *rush) called(ctx context.Context, m *measure) error {
	var since time.Time
	if err := r.house.all.QueryRow(ctx, sqlClock).Scan(&since); err != nil {
		return err
	}
	during, end := context.WithTimeout(ctx, pick(r.bench, 20*time.Second, 5*time.Second))
	defer end()
	rose, err := r.watch(during)
	if err != nil && during.Err() == nil {
		return err
	}
	<-during.Done()
	var n, back, seconds float64
	if err := r.house.all.QueryRow(ctx, sqlQueueCalled, r.show, since).Scan(&n, &seconds, &back); err != nil {
		return err
	}
	if seconds == 0 {
		return errors.New("nobody was called")
	}
	m.notes[rateNote] = n * 60 / seconds / queueRate
	m.sums[turnNote], m.sums[riseNote] = back, float64(rose)
	return nil
}

// watch asks a hundred people over and over where they are, at one instance and
// the other, and counts who is farther back than before, or has to wait again.
func (r *rush) watch(ctx context.Context) (rose int, err error) {
	const watched = 100
	last := map[uuid.UUID]int64{}
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for round := 0; ; round++ {
		for i := range watched {
			id := r.waiters[i*len(r.waiters)/watched].entry
			v, err := r.sell.of(round+i).QueueEntry(ctx, uuid.Nil, "", id)
			if err != nil {
				return rose, err
			}
			was, known := last[id]
			if known && v.Status == boxoffice.QueueWaiting && (v.Position > was || v.Position == 0) {
				rose++
			}
			if v.Position > 0 || v.Status != boxoffice.QueueWaiting {
				last[id] = v.Position
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return rose, nil
		}
	}
}

// holds has people hold a seat whose turn it is.
func (r *rush) holds(ctx context.Context, m *measure) error {
	of := map[int64]waiter{}
	for _, w := range r.waiters {
		of[w.number] = w
	}
	list, err := r.sell.stores[0].QueueCalled(ctx, r.show, 0, len(r.held)+holdsOfTurn)
	if err != nil {
		return err
	}
	first := len(r.held)
	var turns []waiter
	for _, c := range list {
		if w, ok := of[c.Number]; ok && !r.held[c.Number] && len(turns) < holdsOfTurn {
			turns, r.held[c.Number] = append(turns, w), true
		}
	}
	holds := press(ctx, r.screen, 50, len(turns), time.Minute, func(ctx context.Context, caller, i int) error {
		w, key := turns[i], newKey()
		key.Owner = w.customer
		_, _, err := r.sell.of(caller).PlaceReservation(ctx, boxoffice.Actor{CustomerID: w.customer, Name: w.customer}, &key, store.PlaceRequest{
			ShowID: r.show, CustomerID: w.customer, Seats: []store.SeatRef{{Label: strconv.Itoa(first + i)}},
			Pass: &boxoffice.Pass{ShowID: r.show, Number: w.number, Turn: 1, CustomerID: w.customer},
		})
		return err
	})
	m.notes["hold p99 ms"] = holds.wait(99)
	r.failed(&holds, m)
	return nil
}

// drawAgain has rowlock draw run the draw again, and holds what it prints
// against who was called.
func (r *rush) drawAgain(ctx context.Context, m *measure) error {
	cmd := exec.CommandContext(ctx, "go", "run", "github.com/rowlock/rowlock/cmd/api", "draw", "--show", r.show.String())
	cmd.Env = append(cmd.Environ(), "DATABASE_URL="+r.house.url(store.RoleApp), "DATABASE_LANE_URL="+r.house.url(store.RoleLane))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("rowlock draw: %w\n%s", err, said.Bytes())
	}
	places := map[int64]int64{}
	m.sums[otherNote] = 0
	for line := range strings.Lines(string(out)) {
		var number, position int64
		if _, err := fmt.Sscan(line, &number, &position); err != nil {
			return fmt.Errorf("rowlock draw printed %q", line)
		}
		places[number] = position
	}
	list, err := r.sell.stores[0].QueueCalled(ctx, r.show, 0, r.people)
	if err != nil {
		return err
	}
	for _, c := range list {
		if was, ok := places[c.Number]; ok && was != c.Position {
			m.sums[otherNote]++
		}
	}
	m.notes[drawNote] = float64(len(places))
	return nil
}

// fill puts people into the room until there are so many, as if they had
// joined: hours of joining in some seconds.
func (r *rush) fill(ctx context.Context, full int64) error {
	for {
		st, err := r.sell.stores[0].QueueState(ctx, r.show)
		if err != nil {
			return err
		}
		done, err := r.house.all.Exec(ctx, sqlQueueFill, r.show, max(1, full-st.Head.Joined))
		if err != nil {
			return err
		}
		if done.RowsAffected() > 0 {
			break
		}
		time.Sleep(100 * time.Millisecond) // until those who joined last have been drawn
	}
	_, err := r.house.all.Exec(ctx, sqlVacuum)
	return err
}
