package store

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

const (
	// queueTick is how often an instance calls people. All instances do: who
	// comes first calls whoever the rate allows since the last call.
	queueTick = 250 * time.Millisecond
	// placesKnown is how long it is known that a show has places, free or held.
	placesKnown = time.Second
)

var systemActor = boxoffice.Actor{Staff: true, Name: "system"}

// RunQueues calls people in all open waiting rooms, and opens those that more
// people come to than their threshold, until ctx ends. told hears how many were
// called.
func (s *Store) RunQueues(ctx context.Context, told func(called int)) error {
	tick := time.NewTicker(queueTick)
	defer tick.Stop()
	for n := 0; ; n++ {
		if n%4 == 0 {
			s.reportArrivals(ctx)
		}
		told(s.callAll(ctx))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// callAll calls people in every open waiting room. One that cannot be had does
// not keep the others waiting, and its turn comes again.
func (s *Store) callAll(ctx context.Context) int {
	shows, err := readIDs(ctx, s.pool, sqlQueueShowsOpen)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Warn("queue: open waiting rooms could not be read", "error", err)
		}
		return 0
	}
	var called atomic.Int64
	var group sync.WaitGroup
	turns := make(chan struct{}, 4) // connections of the pool that this may take at once
	for _, show := range shows {
		turns <- struct{}{}
		group.Go(func() {
			defer func() { <-turns }()
			ctx, cancel := context.WithTimeout(ctx, connectMax)
			defer cancel()
			n, err := s.CallQueue(ctx, show)
			called.Add(int64(n))
			if err != nil && ctx.Err() == nil {
				s.log.Warn("queue: nobody could be called", "show", show, "error", err)
			}
		})
	}
	group.Wait()
	return int(called.Load())
}

// reportArrivals tells the database who has come to shows that open by
// themselves, and opens those that too many came to.
func (s *Store) reportArrivals(ctx context.Context) {
	for show, n := range s.arrivals.take() {
		var sum int64
		if err := s.pool.QueryRow(ctx, sqlQueueHeadsArrive, show, n).Scan(&sum); err != nil {
			continue // no such show; or the database is away, and nobody can buy
		}
		st, err := s.QueueState(ctx, show)
		if err != nil || st.Terms.QueueOpen || st.Terms.Queue.Mode != boxoffice.QueueAutomatic {
			continue
		}
		early := st.Terms.SalesStartAt != nil && st.Now.Before(*st.Terms.SalesStartAt)
		if crowd := st.Head.Joined - st.Head.Head; sum <= int64(st.Terms.Queue.Threshold) && (!early || crowd <= int64(st.Terms.Queue.Threshold)) {
			continue
		}
		// A crowd before a show that is sold out would have it open and close
		// for as long as they try.
		if free, held, err := s.places(ctx, show); err != nil || !early && !free && !held {
			continue
		}
		if _, err := s.do(ctx, show, &laneCommand{Command: boxoffice.Command{Actor: systemActor, Do: &boxoffice.SetQueue{Open: true}}}); err != nil {
			s.log.Warn("queue: a waiting room could not be opened", "show", show, "error", err)
			continue
		}
		s.log.Info("queue: a waiting room opened by itself", "show", show, "arrivals", sum)
	}
}

// CallQueue calls the next people in a show's waiting room, as many as its rate
// allows since they were called the last time, by whichever instance. It also
// draws the rounds whose time has come, passes on turns that were missed, and
// closes the room when the show is over or sold out, or the crowd is gone. It
// returns how many it called.
func (s *Store) CallQueue(ctx context.Context, show uuid.UUID) (called int, err error) {
	free, held, err := s.places(ctx, show)
	if err != nil {
		return 0, err
	}
	end := ""
	err = s.tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		called, end = 0, ""
		q, err := loadQueue(ctx, tx, show)
		if err != nil {
			return err
		}
		if !q.st.Terms.QueueOpen {
			return nil
		}
		q.close()
		c := &calling{queueTx: q}
		if called, err = c.call(ctx, tx, free); err != nil {
			return err
		}
		switch status := q.st.Terms.StatusAt(q.st.Now); {
		case status == boxoffice.ShowCancelled, status == boxoffice.ShowEnded:
			end = string(status) // or it would be looked after for ever
		case !q.saleOpen():
			q.st.Head.Calm = time.Time{} // who has not come yet is no sign of calm
		case !free && !held:
			end = boxoffice.QueueSoldOut
		case q.st.Head.Watch(q.st.Now, q.st.Terms.Queue.RatePerMinute) && q.st.Terms.Queue.Mode == boxoffice.QueueAutomatic:
			end = boxoffice.QueueCalm
		}
		return q.save(ctx, tx)
	})
	if err != nil {
		return 0, err
	}
	if end != "" {
		_, err = s.do(ctx, show, &laneCommand{Command: boxoffice.Command{Actor: systemActor, Do: &boxoffice.SetQueue{Ended: end}}})
	}
	return called, err
}

// calling is a waiting room in which people are called.
type calling struct {
	*queueTx
}

func (c *calling) call(ctx context.Context, tx pgx.Tx, free bool) (called int, err error) {
	st := c.st
	show, h, settings := st.Terms.ShowID, &st.Head, &st.Terms.Queue
	var front []int64
	b := &pgx.Batch{}
	if c.saleOpen() { // a pause takes nobody's turn: see queue_admissions_resume
		b.Queue(sqlQueueAdmissionsLapse, show, st.Now).Exec(func(tag pgconn.CommandTag) error {
			h.Freed += tag.RowsAffected()
			return nil
		})
	}
	b.Queue(sqlQueueAdmissionsReturning, show, boxoffice.QueueCallMax).Query(func(rows pgx.Rows) (err error) {
		front, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return 0, err
	}
	h.Undrawn(c.undrawn)
	nobody := len(front) == 0 && h.Drawn == h.Head
	stands := !c.saleOpen() || !free
	if (stands || nobody) && st.Now.Sub(h.Since) < time.Second {
		return 0, nil // so little time is not worth a write
	}
	if stands {
		h.Stand(st.Now)
		return 0, nil
	}
	again, next := h.Call(st.Now, settings.RatePerMinute, int64(len(front)))
	lapses := st.Now.Add(time.Duration(settings.AdmissionSeconds) * time.Second)
	b = &pgx.Batch{}
	if again > 0 {
		b.Queue(sqlQueueAdmissionsRecall, show, front[:again], st.Now, lapses)
		called = int(again)
	}
	if next > 0 {
		numbers, positions, err := c.next(ctx, tx, h.Head-next, h.Head)
		if err != nil {
			return 0, err
		}
		b.Queue(sqlQueueAdmissionsCall, show, st.Terms.OrganisationID, st.Now, lapses, numbers, positions).Exec(func(tag pgconn.CommandTag) error {
			// Who has left meanwhile lets somebody else in, the next time.
			h.Freed += next - tag.RowsAffected()
			called += int(tag.RowsAffected())
			return nil
		})
	}
	if b.Len() == 0 {
		return 0, nil
	}
	return called, tx.SendBatch(ctx, b).Close()
}

// next works out who has the places after from up to to.
func (c *calling) next(ctx context.Context, tx pgx.Tx, from, to int64) (numbers, positions []int64, err error) {
	rows, err := tx.Query(ctx, sqlQueueRoundsOf, c.st.Terms.ShowID, from+1, to)
	rounds, err := collect(rows, err, func(row pgx.Row) (*boxoffice.QueueRound, error) { return scanRound(row) })
	if err != nil {
		return nil, nil, err
	}
	for _, r := range c.undrawn { // those that have been drawn just now are not written yet
		if r.Drawn() {
			rounds = append(rounds, r)
		}
	}
	for _, r := range rounds {
		d := r.Draw()
		for p := max(from, r.First) + 1; p <= min(to, r.First+r.Entries); p++ {
			positions = append(positions, p)
			numbers = append(numbers, r.First+1+int64(d.Of(uint64(p-r.First-1))))
		}
	}
	return numbers, positions, nil
}

// placesSeen is whether a show had free places, and held ones.
type placesSeen struct {
	free, held bool
	at         time.Time // process clock
}

// places says whether a show has a free place, and a held one: lately.
func (s *Store) places(ctx context.Context, show uuid.UUID) (free, held bool, err error) {
	if seen, ok := s.seen.Load(show); ok && time.Since(seen.(placesSeen).at) < placesKnown {
		return seen.(placesSeen).free, seen.(placesSeen).held, nil
	}
	if err := s.pool.QueryRow(ctx, sqlQueueShowsPlaces, show).Scan(&free, &held); err != nil {
		return false, false, coded(err)
	}
	if free || held { // that it is sold out ends a waiting room, and must be so now
		s.seen.Store(show, placesSeen{free, held, time.Now()})
	}
	return free, held, nil
}
