package store

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// availabilityAge is how old the availability in lists may be.
const availabilityAge = 3 * time.Second

// countsMax is how many shows' counts are kept.
const countsMax = 100_000

// countsCache keeps what was counted in shows, so that lists that everybody
// looks at do not count 20,000 seats each time. A show is counted again only
// when its version has moved, or a hold has ended since, and not more often
// than every few seconds however many ask.
type countsCache struct {
	mu     sync.Mutex
	counts map[uuid.UUID]counted
	turn   chan struct{} // one count at a time: those who wait find it done
}

type counted struct {
	Availability
	version    int64
	definition int64
	next       *time.Time // a hold ends, and places become free without a version
}

func newCountsCache() *countsCache {
	return &countsCache{counts: map[uuid.UUID]counted{}, turn: make(chan struct{}, 1)}
}

// fill sets the availability of those shows whose count is still right and
// returns the others.
func (c *countsCache) fill(list []ShowListing) (stale []uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range list {
		show := &list[i]
		n, ok := c.counts[show.ShowID]
		age := show.Now.Sub(n.AsOf)
		switch {
		case !ok || n.definition != show.Definition: // it may have another plan
			stale = append(stale, show.ShowID)
			continue
		case n.version == show.Version && (n.next == nil || show.Now.Before(*n.next)):
			n.AsOf = show.Now
			c.counts[show.ShowID] = n
		case age > availabilityAge:
			stale = append(stale, show.ShowID)
			continue
		}
		show.Availability = n.Availability
	}
	return stale
}

func (c *countsCache) put(id uuid.UUID, n counted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.counts[id]; ok && old.AsOf.After(n.AsOf) {
		return
	}
	for other := range c.counts { // any one may go
		if len(c.counts) < countsMax {
			break
		}
		delete(c.counts, other)
	}
	c.counts[id] = n
}

// count sets the availability of the shows.
func (s *Store) count(ctx context.Context, q querier, list []ShowListing) error {
	if len(s.counts.fill(list)) == 0 {
		return nil
	}
	select {
	case s.counts.turn <- struct{}{}:
		defer func() { <-s.counts.turn }()
	case <-ctx.Done():
		return coded(ctx.Err())
	}
	stale := s.counts.fill(list)
	if len(stale) == 0 {
		return nil
	}
	rows, err := q.Query(ctx, sqlShowsCount, stale)
	if err != nil {
		return coded(err)
	}
	definitions := make(map[uuid.UUID]int64, len(list))
	for i := range list {
		definitions[list[i].ShowID] = list[i].Definition
	}
	fresh := make(map[uuid.UUID]Availability, len(stale))
	var id uuid.UUID
	var n counted
	if _, err := pgx.ForEachRow(rows, []any{&id, &n.version, &n.AsOf, &n.Capacity, &n.Available, &n.next}, func() error {
		n.definition = definitions[id]
		s.counts.put(id, n)
		fresh[id] = n.Availability
		n.next = nil
		return nil
	}); err != nil {
		return coded(err)
	}
	for i := range list {
		if a, ok := fresh[list[i].ShowID]; ok {
			list[i].Availability = a
		}
	}
	return nil
}
