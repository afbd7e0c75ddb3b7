package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/internal/web"
)

// listedMax is how many shows the page for developers lists.
const listedMax = 20

// listedFor is how long a list is shown: anybody may load the page, as often as
// they like.
const listedFor = 5 * time.Second

// recentShows remembers the answer of ask for a while.
type recentShows struct {
	ask   func(context.Context) ([]web.Show, error)
	mu    sync.Mutex
	last  []web.Show
	until time.Time
}

func (r *recentShows) shows(ctx context.Context) ([]web.Show, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Now().Before(r.until) {
		return r.last, nil
	}
	shows, err := r.ask(ctx)
	if err == nil {
		r.last, r.until = shows, time.Now().Add(listedFor)
	}
	return shows, err
}

// shows lists what the page for developers shows, the soonest first.
func (s *service) shows(ctx context.Context) ([]web.Show, error) {
	events, err := s.store.Events(ctx, store.EventFilter{
		Organisation: boxoffice.DefaultOrganisationID, ShowsMax: 5, Page: store.Page{Limit: 100},
	})
	if err != nil {
		return nil, err
	}
	var shows []web.Show
	for _, e := range events {
		for _, l := range e.Shows {
			show := web.Show{
				ID: l.ShowID.String(), Ref: l.Facts.ExternalRef, Title: e.Title, Kind: string(e.Kind),
				Venue: l.VenueName, City: l.City, StartsAt: l.StartsAt, TimeZone: l.TimeZone,
				OnSale: l.Status == boxoffice.ShowOnSale, Available: l.Availability.Available, Capacity: l.Availability.Capacity,
				PriceFrom: -1, Currency: l.Currency, Exponent: boxoffice.Exponent(l.Currency),
			}
			for _, p := range l.PriceList {
				if p.TicketType == boxoffice.TicketTypeStandard && (show.PriceFrom < 0 || p.AmountMinor < show.PriceFrom) {
					show.PriceFrom = p.AmountMinor
				}
			}
			shows = append(shows, show)
		}
	}
	slices.SortFunc(shows, func(a, b web.Show) int { return a.StartsAt.Compare(b.StartsAt) })
	return shows[:min(listedMax, len(shows))], nil
}
