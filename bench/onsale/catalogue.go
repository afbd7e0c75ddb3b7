package onsale

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/valyala/fasthttp"
)

// browsers are who look through the catalogue at the same time, and browsing is
// how often a second they ask for a page.
const (
	browsers = 64
	browsing = 50

	facets = "facets"
)

// Catalogue reads lists of so many shows in each way that the contract has, one
// way after the other, each for a while: pages of 50, from the first to the last.
func (h *House) Catalogue(ctx context.Context, shows int, during time.Duration) (list []Reading, err error) {
	if _, err := h.all.Exec(ctx, sqlForget); err != nil {
		return nil, err
	}
	if _, err := h.all.Exec(ctx, sqlCatalogue, shows); err != nil {
		return nil, fmt.Errorf("making the catalogue: %w", err)
	}
	if err := h.settle(ctx); err != nil {
		return nil, err
	}
	err = h.behind(ctx, Rowlock, "", func(s *service) error {
		first, hangUp, err := h.callers(ctx, s, 1)
		if err != nil {
			return err
		}
		ways, err := waysToBrowse(first[0])
		hangUp()
		if err != nil {
			return err
		}
		// Only now: the server hangs up on who has nothing to ask.
		callers, hangUp, err := h.callers(ctx, s, browsers)
		if err != nil {
			return err
		}
		defer hangUp()
		for _, way := range ways {
			if err := ctx.Err(); err != nil {
				return err
			}
			r := Reading{Name: way.name}
			r.Load = pace(ctx, callers, browsing, during, []string{"200"}, func(c *caller, _ int) (*fasthttp.Response, error) {
				return c.get(apiPath+way.paths[rand.IntN(len(way.paths))], "")
			})
			if err := r.err(); err != nil {
				return fmt.Errorf("%s: %w", r.Name, err)
			}
			list = append(list, r)
		}
		return nil
	})
	return list, err
}

// wayToBrowse is a list, with the paths of some of its pages.
type wayToBrowse struct {
	name  string
	paths []string
}

// waysToBrowse finds out what there is to ask for. A cursor of a page that was
// found by its day is one of the whole list, too.
func waysToBrowse(c *caller) ([]wayToBrowse, error) {
	var page struct {
		Shows []struct {
			EventID string
			Venue   struct{ VenueID string }
		}
		NextCursor string
	}
	read := func(path string) error {
		page.NextCursor = ""
		resp, err := c.get(apiPath+path, "")
		if err != nil {
			return err
		}
		if resp.StatusCode() != fasthttp.StatusOK {
			return fmt.Errorf("%s: %.200s", path, resp.Body())
		}
		return json.Unmarshal(resp.Body(), &page)
	}
	var shows, ofVenue, ofEvent, ofDay, events, eventsOfDay []string
	for day := 0; ; day++ {
		from := time.Now().UTC().AddDate(0, 0, day).Truncate(time.Second)
		filter := "?from=" + from.Format(time.RFC3339)
		if err := read("/shows" + filter + "&limit=1"); err != nil {
			return nil, err
		}
		if page.NextCursor == "" {
			break
		}
		shows = append(shows, "/shows?cursor="+page.NextCursor)
		ofVenue = append(ofVenue, "/shows?venueId="+page.Shows[0].Venue.VenueID)
		ofEvent = append(ofEvent, "/shows?eventId="+page.Shows[0].EventID)
		ofDay = append(ofDay, "/shows"+filter+"&to="+from.AddDate(0, 0, 1).Format(time.RFC3339))
		eventsOfDay = append(eventsOfDay, "/events?date="+from.Format(time.DateOnly))
	}
	for cursor := ""; ; cursor = page.NextCursor {
		if err := read("/events?cursor=" + cursor); err != nil {
			return nil, err
		}
		if page.NextCursor == "" {
			break
		}
		events = append(events, "/events?cursor="+page.NextCursor)
	}
	return []wayToBrowse{
		{"shows, first page", []string{"/shows"}},
		{"shows, any page", shows},
		{"shows, the last page", shows[len(shows)-1:]},
		{"shows of a venue", ofVenue},
		{"shows of an event", ofEvent},
		{"shows of a day", ofDay},
		{"events, first page", []string{"/events"}},
		{"events, any page", events},
		{"events in a city", []string{"/events?city=Helsinki+1", "/events?city=Vienna+2", "/events?city=Oslo+4"}},
		{"events of a day", eventsOfDay},
		{"events by kind, genre, language", []string{"/events?kind=movie&genre=drama", "/events?kind=play&language=en", "/events?genre=jazz&language=fi"}},
		{"events by words", []string{"/events?q=act+24", "/events?q=evening", "/events?q=nowhere"}},
		{facets, []string{"/facets"}},
	}, nil
}
