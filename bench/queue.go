package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

const (
	ofRate     = "called, of the rate"
	ofRateFull = "called, of the rate, with everybody there"
	readFull   = "read p99 ms, with everybody there"
	joinFull   = "joins/s, with everybody there"
)

// queue has people join before the sale, be drawn and called by two instances;
// then it fills the room up and looks whether anything takes longer.
func (b *bench) queue(ctx context.Context) (report.Row, error) {
	people, filled, perMinute := pick(b, 100_000, 5_000), pick(b, 400_000, 20_000), 30_000
	row := report.Row{
		ID: "queue", Title: "People who join a waiting room", Unit: "joins/s",
		Explain: fmt.Sprintf("%s people join before the sale, 800 at once, at two instances on one database. When it opens they are drawn, and both instances call them at %s a minute. "+
			"Then %s more are in the room.", digits(float64(people)), digits(float64(perMinute)), digits(float64(filled))),
		Bars: []report.Bar{
			{Note: ofRate, Sense: report.AtLeast, Limit: .95}, {Note: ofRate, Sense: report.AtMost, Limit: 1.05},
			{Note: ofRateFull, Sense: report.AtLeast, Limit: .95}, {Note: ofRateFull, Sense: report.AtMost, Limit: 1.05},
			none("", failures), none("", "called out of turn"),
		},
	}
	return b.compare(ctx, &row, 1, []variant{{report.Rowlock, "Rowlock", func(ctx context.Context) (measure, error) {
		return b.wait(ctx, people, filled, perMinute)
	}}})
}

func (b *bench) wait(ctx context.Context, people, filled, perMinute int) (m measure, err error) {
	h := b.house
	shows, err := h.shows(ctx, 1, 1000)
	if err != nil {
		return m, err
	}
	show, org := shows[0], boxoffice.DefaultOrganisationID
	sell, err := h.seller(ctx, report.Rowlock, 2)
	if err != nil {
		return m, err
	}
	defer sell.stop()
	organiser := boxoffice.Actor{Staff: true, Name: "organiser"}
	amend := func(a store.ShowAmendment) error {
		_, err := sell.stores[0].AmendShow(ctx, organiser, new(newKey()), org, show, a)
		return err
	}
	soon := time.Now().Add(time.Hour)
	if err := amend(store.ShowAmendment{SalesStartAt: new(&soon), Queue: &boxoffice.QueueChange{RatePerMinute: &perMinute}}); err != nil {
		return m, err
	}
	if _, err := sell.stores[0].SetQueue(ctx, organiser, new(newKey()), org, show, boxoffice.SetQueue{Open: true}); err != nil {
		return m, err
	}
	var mu sync.Mutex
	var entries []uuid.UUID
	join := func(ctx context.Context, caller, _ int) error {
		key := newKey()
		v, _, err := sell.of(caller).JoinQueue(ctx, key, key.Owner, show)
		if err == nil {
			mu.Lock()
			entries = append(entries, v.EntryID)
			mu.Unlock()
		}
		return err
	}
	joins := press(ctx, b.screen, 800, people, 2*time.Minute, join)
	m.value = joins.perSecond()
	m.notes = map[string]float64{"p50 ms": joins.wait(50), "p99 ms": joins.wait(99)}
	m.sums = map[string]float64{failures: float64(joins.failed)}
	if joins.why != nil {
		b.screen.say("  the first that could not join: %v", joins.why)
	}
	calling, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	for _, s := range sell.stores {
		group.Go(func() { _ = s.RunQueues(calling, func(int) {}) }) // it ends because it is told to
	}
	ago := time.Now().Add(-time.Minute)
	if err := amend(store.ShowAmendment{SalesStartAt: new(&ago)}); err != nil {
		return m, err
	}
	called := func(note string) error {
		var since time.Time
		if err := h.all.QueryRow(ctx, sqlClock).Scan(&since); err != nil {
			return err
		}
		time.Sleep(pick(b, 20*time.Second, 5*time.Second))
		var n, back, seconds float64
		if err := h.all.QueryRow(ctx, sqlQueueCalled, show, since).Scan(&n, &seconds, &back); err != nil {
			return err
		}
		m.notes[note] = n * 60 / seconds / float64(perMinute)
		m.sums["called out of turn"] += back
		return nil
	}
	if err := called(ofRate); err != nil {
		return m, err
	}
	if _, err := h.all.Exec(ctx, sqlQueueFill, show, filled); err != nil {
		return m, err
	}
	if _, err := h.all.Exec(ctx, sqlVacuum); err != nil {
		return m, err
	}
	if err := called(ofRateFull); err != nil {
		return m, err
	}
	reads := press(ctx, b.screen, 50, min(len(entries), 20_000), time.Minute, func(ctx context.Context, caller, i int) error {
		_, err := sell.of(caller).QueueEntry(ctx, uuid.Nil, "", entries[i])
		return err
	})
	m.notes[readFull], m.notes["reads/s, with everybody there"] = reads.wait(99), reads.perSecond()
	m.sums[failures] += float64(reads.failed)
	more := press(ctx, b.screen, 800, people/5, time.Minute, join)
	m.notes[joinFull] = more.perSecond()
	m.sums[failures] += float64(more.failed)
	_, err = h.check(ctx, report.Rowlock, shows)
	return m, err
}
