package store

import (
	"context"
	"errors"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

var (
	sqlShowsTerms  = queries.Must("shows_terms")
	sqlShowsPrices = queries.Must("shows_prices")
)

// Bounds of the cache.
const (
	termsMax     = 4096      // shows
	planSeatsMax = 4_000_000 // seats of all cached plans together
)

// termsCache keeps what rarely changes about shows, and the immutable plans.
// Terms may be old: a lane compares their definition with the show's head
// under the lock, everybody else lives with it.
type termsCache struct {
	mu    sync.RWMutex
	terms map[uuid.UUID]*boxoffice.Terms
	plans map[uuid.UUID]*boxoffice.PlanIndex
	seats int
	areas map[uuid.UUID][]boxoffice.AreaRow // of shows in terms, for their numbers, ids and names
}

func newTermsCache() *termsCache {
	return &termsCache{terms: map[uuid.UUID]*boxoffice.Terms{}, plans: map[uuid.UUID]*boxoffice.PlanIndex{}, areas: map[uuid.UUID][]boxoffice.AreaRow{}}
}

func (c *termsCache) get(show uuid.UUID) *boxoffice.Terms {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.terms[show]
}

// put keeps terms unless newer ones are there.
func (c *termsCache) put(t *boxoffice.Terms) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.terms[t.ShowID]; old != nil && old.Definition > t.Definition {
		return
	}
	// Any one may go: a map's order is random enough.
	for id := range c.terms {
		if len(c.terms) < termsMax {
			break
		}
		delete(c.terms, id)
		delete(c.areas, id)
	}
	c.terms[t.ShowID] = t
}

func (c *termsCache) forget(show uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.terms, show)
	delete(c.areas, show)
}

func (c *termsCache) areasOf(show uuid.UUID) []boxoffice.AreaRow {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.areas[show]
}

func (c *termsCache) putAreas(show uuid.UUID, areas []boxoffice.AreaRow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.terms[show] != nil {
		c.areas[show] = areas
	}
}

func (c *termsCache) plan(id uuid.UUID) *boxoffice.PlanIndex {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.plans[id]
}

func (c *termsCache) putPlan(p *boxoffice.PlanIndex) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plans[p.ID] != nil {
		return
	}
	for id, old := range c.plans {
		if c.seats+len(p.Seats) <= planSeatsMax {
			break
		}
		delete(c.plans, id)
		c.seats -= len(old.Seats)
	}
	c.plans[p.ID] = p
	c.seats += len(p.Seats)
}

// termsOf returns a show's terms, from the cache if they are there. They may
// be older than the show: enough to name seats by, and for nothing else.
//
// After a restart in the middle of a sale everybody asks at once for the same
// plan of 40,000 seats: it is read once, for all of them.
func (s *Store) termsOf(ctx context.Context, show uuid.UUID) (*boxoffice.Terms, error) {
	if t := s.terms.get(show); t != nil {
		return t, nil
	}
	t, err, _ := s.asked.Do(show.String(), func() (any, error) {
		if t := s.terms.get(show); t != nil {
			return t, nil // come in between
		}
		// Whoever asked first may go away, and the others still want to know.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), transactionMax)
		defer cancel()
		return s.freshTerms(ctx, show)
	})
	if err != nil {
		return nil, err
	}
	return t.(*boxoffice.Terms), nil
}

// freshTerms reads a show's terms, all of one moment.
func (s *Store) freshTerms(ctx context.Context, show uuid.UUID) (t *boxoffice.Terms, err error) {
	err = s.snapshot(ctx, func(tx pgx.Tx) error {
		t, err = s.loadTerms(ctx, tx, show)
		return err
	})
	return t, err
}

// termsAt returns the terms of the given definition, for a transaction that
// has the show's lock.
func (s *Store) termsAt(ctx context.Context, q querier, show uuid.UUID, definition int64) (*boxoffice.Terms, error) {
	if t := s.terms.get(show); t != nil && t.Definition == definition {
		return t, nil
	}
	return s.loadTerms(ctx, q, show)
}

func (s *Store) loadTerms(ctx context.Context, q querier, show uuid.UUID) (*boxoffice.Terms, error) {
	t := &boxoffice.Terms{Prices: map[boxoffice.PriceKey]int64{}}
	var planID *uuid.UUID
	var queue *boxoffice.Queue
	err := q.QueryRow(ctx, sqlShowsTerms, show).Scan(&t.ShowID, &t.OrganisationID, &t.Definition, &t.Status, &t.StartsAt, &t.EndsAt,
		&t.SalesStartAt, &t.SalesEndAt, &t.Currency, &t.HoldSeconds, &t.MaxHoldSeconds,
		&t.MaxPlacesPerReservation, &t.MaxPlacesPerCustomer, &planID, &t.Cancellation, &t.OfferSeconds, &queue, &t.QueueOpen, &t.QueueEnded)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such show.")
	}
	if err != nil {
		return nil, coded(err)
	}
	t.Queue = queueOrDefault(queue)
	rows, err := q.Query(ctx, sqlShowsPrices, show)
	if err != nil {
		return nil, coded(err)
	}
	var k boxoffice.PriceKey
	var amount int64
	if _, err := pgx.ForEachRow(rows, []any{&k.Category, &k.TicketType, &amount}, func() error {
		t.Prices[k] = amount
		return nil
	}); err != nil {
		return nil, coded(err)
	}
	if planID != nil {
		if t.Plan, err = s.planOf(ctx, q, *planID); err != nil {
			return nil, err
		}
	}
	s.terms.put(t)
	return t, nil
}

// planOf returns a plan with its index, from the cache if it is there.
func (s *Store) planOf(ctx context.Context, q querier, id uuid.UUID) (*boxoffice.PlanIndex, error) {
	if p := s.terms.plan(id); p != nil {
		return p, nil
	}
	plan, err := s.loadPlan(ctx, q, id)
	if err != nil {
		return nil, coded(err)
	}
	p := plan.Index()
	s.terms.putPlan(p)
	return p, nil
}
