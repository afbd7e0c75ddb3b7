package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

var (
	sqlZonesKnown      = queries.Must("zones_known")
	sqlVenuesInsert    = queries.Must("venues_insert")
	sqlVenuesUpdate    = queries.Must("venues_update")
	sqlVenuesRead      = queries.Must("venues_read")
	sqlVenuesLock      = queries.Must("venues_lock")
	sqlVenuesList      = queries.Must("venues_list")
	sqlShowsMoveZone   = queries.Must("shows_move_zone")
	sqlHallsInsert     = queries.Must("halls_insert")
	sqlHallsUpdate     = queries.Must("halls_update")
	sqlHallsRead       = queries.Must("halls_read")
	sqlHallsLock       = queries.Must("halls_lock")
	sqlHallsList       = queries.Must("halls_list")
	sqlEventsInsert    = queries.Must("events_insert")
	sqlEventsUpdate    = queries.Must("events_update")
	sqlEventsRead      = queries.Must("events_read")
	sqlEventsLock      = queries.Must("events_lock")
	sqlEventsPublished = queries.Must("events_published")
	sqlEventsFind      = queries.Must("events_find")
	sqlEventsShows     = queries.Must("events_shows")
	sqlFacetsCount     = queries.Must("facets_count")
)

// Page says which part of a list is wanted.
type Page struct {
	After uuid.UUID // the last one of the page before; zero: from the beginning
	Limit int
}

func (p Page) after() *uuid.UUID { return idOrNil(p.After) }

func idOrNil(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// Amendment is a change of something of the catalogue.
type Amendment[T any] struct {
	Organisation uuid.UUID
	ID           uuid.UUID
	Revision     int64    // that If-Match named; 0: any
	Change       func(*T) // may run more than once
}

// unchanged refuses with PRECONDITION_FAILED if the thing is at another
// revision than the caller thinks.
func (a *Amendment[T]) unchanged(revision int64) error {
	if a.Revision != 0 && a.Revision != revision {
		return boxoffice.Refuse(boxoffice.CodePreconditionFailed, "It has changed; its ETag begins with \"%d now.", revision)
	}
	return nil
}

// found turns "no rows" into NOT_FOUND.
func found(err error, noun string) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such %s.", noun)
	}
	return err
}

// CreateVenue adds a venue. Its id, revision and time of creation are given
// here. It refuses with VALIDATION_ERROR, or CONFLICT when the externalRef is
// another's.
func (s *Store) CreateVenue(ctx context.Context, key boxoffice.IdempotencyKey, v boxoffice.Venue) (boxoffice.Venue, bool, error) {
	return once(ctx, s, v.OrganisationID, key, func(ctx context.Context, tx pgx.Tx) (boxoffice.Venue, error) {
		if err := checkVenue(ctx, tx, &v); err != nil {
			return v, err
		}
		v.ID = NewID()
		err := tx.QueryRow(ctx, sqlVenuesInsert, v.ID, v.OrganisationID, v.Name, v.City, v.Country, v.TimeZone, v.ExternalRef).
			Scan(&v.Revision, &v.CreatedAt)
		return v, err
	})
}

// AmendVenue changes a venue. When its time zone changes, so does that of its
// shows: their instants stay, and are printed in the zone that is right.
func (s *Store) AmendVenue(ctx context.Context, key boxoffice.IdempotencyKey, a Amendment[boxoffice.Venue]) (boxoffice.Venue, bool, error) {
	return once(ctx, s, a.Organisation, key, func(ctx context.Context, tx pgx.Tx) (boxoffice.Venue, error) {
		v, err := scanVenue(tx.QueryRow(ctx, sqlVenuesLock, a.ID, a.Organisation))
		if err != nil {
			return v, found(err, "venue")
		}
		if err := a.unchanged(v.Revision); err != nil {
			return v, err
		}
		zone := v.TimeZone
		a.Change(&v)
		if err := checkVenue(ctx, tx, &v); err != nil {
			return v, err
		}
		if err := tx.QueryRow(ctx, sqlVenuesUpdate, v.ID, v.Name, v.City, v.Country, v.TimeZone, v.ExternalRef).Scan(&v.Revision); err != nil {
			return v, err
		}
		if v.TimeZone != zone {
			_, err = tx.Exec(ctx, sqlShowsMoveZone, v.ID, v.TimeZone)
		}
		return v, err
	})
}

func checkVenue(ctx context.Context, q querier, v *boxoffice.Venue) error {
	var c boxoffice.Checks
	v.Check(&c)
	if err := checkZone(ctx, q, &c, v.TimeZone); err != nil {
		return err
	}
	return c.Err()
}

// checkZone notes a violation unless the zone is known to both of us: Postgres
// compares days in it, and clients print times in it.
func checkZone(ctx context.Context, q querier, c *boxoffice.Checks, zone string) error {
	known := zone != "" && zone != "Local"
	if known {
		_, err := time.LoadLocation(zone)
		known = err == nil
	}
	if known {
		if err := q.QueryRow(ctx, sqlZonesKnown, zone).Scan(&known); err != nil {
			return err
		}
	}
	if !known {
		c.Add("timeZone", "must be an IANA time zone such as Europe/Berlin")
	}
	return nil
}

func scanVenue(row pgx.Row) (v boxoffice.Venue, err error) {
	err = row.Scan(&v.ID, &v.OrganisationID, &v.Name, &v.City, &v.Country, &v.TimeZone, &v.ExternalRef, &v.Revision, &v.CreatedAt)
	return v, err
}

// Venue reads a venue, or refuses with NOT_FOUND.
func (s *Store) Venue(ctx context.Context, id uuid.UUID) (boxoffice.Venue, error) {
	v, err := scanVenue(s.pool.QueryRow(ctx, sqlVenuesRead, id))
	return v, coded(found(err, "venue"))
}

// VenueFilter chooses venues; empty fields choose all.
type VenueFilter struct {
	Organisation uuid.UUID
	City         string
	ExternalRef  string
	Page
}

// Venues lists venues, oldest first.
func (s *Store) Venues(ctx context.Context, f VenueFilter) ([]boxoffice.Venue, error) {
	rows, err := s.pool.Query(ctx, sqlVenuesList, f.Organisation, f.City, f.ExternalRef, f.after(), f.Limit)
	return collect(rows, err, scanVenue)
}

func collect[T any](rows pgx.Rows, err error, scan func(pgx.Row) (T, error)) ([]T, error) {
	if err != nil {
		return nil, coded(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (T, error) { return scan(row) })
	return list, coded(err)
}

// CreateHall adds a hall to a venue of the same organisation.
func (s *Store) CreateHall(ctx context.Context, key boxoffice.IdempotencyKey, h boxoffice.Hall) (boxoffice.Hall, bool, error) {
	return once(ctx, s, h.OrganisationID, key, func(ctx context.Context, tx pgx.Tx) (boxoffice.Hall, error) {
		var c boxoffice.Checks
		h.Check(&c)
		if err := c.Err(); err != nil {
			return h, err
		}
		h.ID = NewID()
		err := tx.QueryRow(ctx, sqlHallsInsert, h.ID, h.OrganisationID, h.VenueID, h.Name, h.ExternalRef).Scan(&h.Revision, &h.CreatedAt)
		if errors.Is(err, pgx.ErrNoRows) {
			c.Add("venueId", "there is no such venue")
			err = c.Err()
		}
		return h, err
	})
}

// AmendHall changes a hall's name or externalRef.
func (s *Store) AmendHall(ctx context.Context, key boxoffice.IdempotencyKey, a Amendment[boxoffice.Hall]) (boxoffice.Hall, bool, error) {
	return once(ctx, s, a.Organisation, key, func(ctx context.Context, tx pgx.Tx) (boxoffice.Hall, error) {
		h, err := scanHall(tx.QueryRow(ctx, sqlHallsLock, a.ID, a.Organisation))
		if err != nil {
			return h, found(err, "hall")
		}
		if err := a.unchanged(h.Revision); err != nil {
			return h, err
		}
		a.Change(&h)
		var c boxoffice.Checks
		h.Check(&c)
		if err := c.Err(); err != nil {
			return h, err
		}
		err = tx.QueryRow(ctx, sqlHallsUpdate, h.ID, h.Name, h.ExternalRef).Scan(&h.Revision)
		return h, err
	})
}

func scanHall(row pgx.Row) (h boxoffice.Hall, err error) {
	err = row.Scan(&h.ID, &h.OrganisationID, &h.VenueID, &h.Name, &h.ExternalRef, &h.Revision, &h.CreatedAt)
	return h, err
}

// Hall reads a hall, or refuses with NOT_FOUND.
func (s *Store) Hall(ctx context.Context, id uuid.UUID) (boxoffice.Hall, error) {
	h, err := scanHall(s.pool.QueryRow(ctx, sqlHallsRead, id))
	return h, coded(found(err, "hall"))
}

// HallFilter chooses halls; empty fields choose all.
type HallFilter struct {
	Organisation uuid.UUID
	VenueID      uuid.UUID
	ExternalRef  string
	Page
}

// Halls lists halls, oldest first.
func (s *Store) Halls(ctx context.Context, f HallFilter) ([]boxoffice.Hall, error) {
	rows, err := s.pool.Query(ctx, sqlHallsList, f.Organisation, idOrNil(f.VenueID), f.ExternalRef, f.after(), f.Limit)
	return collect(rows, err, scanHall)
}

// CreateEvent adds an event, as a draft.
func (s *Store) CreateEvent(ctx context.Context, key boxoffice.IdempotencyKey, e boxoffice.Event) (boxoffice.Event, bool, error) {
	return once(ctx, s, e.OrganisationID, key, func(ctx context.Context, tx pgx.Tx) (boxoffice.Event, error) {
		var c boxoffice.Checks
		e.Check(&c)
		if err := c.Err(); err != nil {
			return e, err
		}
		err := insertEvent(ctx, tx, &e)
		return e, err
	})
}

func insertEvent(ctx context.Context, tx pgx.Tx, e *boxoffice.Event) error {
	e.ID = NewID()
	return tx.QueryRow(ctx, sqlEventsInsert, e.ID, e.OrganisationID, e.Kind, e.Title, boxoffice.SearchForm(e.Title), e.Genre, e.Language,
		e.DurationMinutes, e.AgeRating, e.Description, e.PosterURL, e.ExternalRef).Scan(&e.Status, &e.Revision, &e.CreatedAt)
}

// AmendEvent changes an event. A status of draft or published, which only
// says that it is not archived, becomes the one that its shows make it.
func (s *Store) AmendEvent(ctx context.Context, key boxoffice.IdempotencyKey, a Amendment[boxoffice.Event]) (boxoffice.Event, bool, error) {
	return once(ctx, s, a.Organisation, key, func(ctx context.Context, tx pgx.Tx) (boxoffice.Event, error) {
		e, err := scanEvent(tx.QueryRow(ctx, sqlEventsLock, a.ID, a.Organisation))
		if err != nil {
			return e, found(err, "event")
		}
		if err := a.unchanged(e.Revision); err != nil {
			return e, err
		}
		a.Change(&e)
		var c boxoffice.Checks
		e.Check(&c)
		if err := c.Err(); err != nil {
			return e, err
		}
		if e.Status != boxoffice.EventArchived {
			var published bool
			if err := tx.QueryRow(ctx, sqlEventsPublished, e.ID).Scan(&published); err != nil {
				return e, err
			}
			e.Status = boxoffice.EventDraft
			if published {
				e.Status = boxoffice.EventPublished
			}
		}
		err = tx.QueryRow(ctx, sqlEventsUpdate, e.ID, e.Kind, e.Title, boxoffice.SearchForm(e.Title), e.Genre, e.Language,
			e.DurationMinutes, e.AgeRating, e.Description, e.PosterURL, e.Status, e.ExternalRef).Scan(&e.Revision)
		return e, err
	})
}

func scanEvent(row pgx.Row) (e boxoffice.Event, err error) {
	err = row.Scan(&e.ID, &e.OrganisationID, &e.Kind, &e.Title, &e.Genre, &e.Language, &e.DurationMinutes, &e.AgeRating,
		&e.Description, &e.PosterURL, &e.Status, &e.ExternalRef, &e.Revision, &e.CreatedAt)
	return e, err
}

// EventListing is an event with its shows.
type EventListing struct {
	boxoffice.Event
	Shows []ShowListing // in time order
}

// EventFilter chooses events, and those of their shows that are listed with
// them; empty fields choose all.
type EventFilter struct {
	Organisation uuid.UUID
	Drafts       bool // what is not published too
	Kind         string
	Genre        string
	Query        string // part of the title
	ExternalRef  string

	VenueID  uuid.UUID
	City     string
	Date     string     // 2026-11-27, in the venue's zone
	From, To *time.Time // of the show's start
	Language string

	ShowsMax int // listed with each event
	Page
}

// upcoming: who does not ask for a time wants what is not over.
func (f *EventFilter) upcoming() bool { return f.Date == "" && f.From == nil && f.To == nil }

// anyShow: an organiser who asks for nothing about shows wants the events that
// have none yet too.
func (f *EventFilter) anyShow() bool {
	return f.Drafts && f.upcoming() && f.VenueID == uuid.Nil && f.City == "" && f.Language == ""
}

func (f *EventFilter) date() *string {
	if f.Date == "" {
		return nil
	}
	return &f.Date
}

// window is when shows that match start. Those of a day start within a day of
// it in UTC, whatever their zone: the index knows only instants.
func (f *EventFilter) window() (from, to *time.Time) {
	from, to = f.From, f.To
	day, err := time.Parse(time.DateOnly, f.Date)
	if err != nil {
		return from, to
	}
	if first := day.AddDate(0, 0, -1); from == nil || from.Before(first) {
		from = &first
	}
	if last := day.AddDate(0, 0, 2); to == nil || to.After(last) {
		to = &last
	}
	return from, to
}

// likeEscaper keeps a search from being a pattern.
var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// Events lists events, newest first, each with its first shows that match.
func (s *Store) Events(ctx context.Context, f EventFilter) (list []EventListing, err error) {
	var pattern string
	if q := boxoffice.SearchForm(f.Query); q != "" {
		pattern = "%" + likeEscaper.Replace(q) + "%"
	}
	find := func(ctx context.Context, q querier) error {
		from, to := f.window()
		// Planned each time: which way to go depends on what is asked for, and a plan for anything looks at every event.
		ids, err := readIDs(ctx, q, sqlEventsFind, pgx.QueryExecModeCacheDescribe, f.Organisation, f.Drafts, f.Kind, f.Genre, pattern, f.ExternalRef,
			idOrNil(f.VenueID), f.City, f.date(), from, to, f.Language, f.upcoming(), f.anyShow(), f.after(), f.Limit, nil)
		if err == nil {
			list, err = s.listings(ctx, q, ids, &f)
		}
		return err
	}
	if f.Drafts { // organisers look at what they have just made
		err = find(ctx, s.pool)
	} else {
		err = s.reading(ctx, find)
	}
	return list, err
}

// ReadEvent reads one event with its shows, or refuses with NOT_FOUND. The
// filter says which shows, and whether drafts may be seen.
func (s *Store) ReadEvent(ctx context.Context, id uuid.UUID, f EventFilter) (EventListing, error) {
	list, err := s.listings(ctx, s.pool, []uuid.UUID{id}, &f)
	if err != nil {
		return EventListing{}, err
	}
	if len(list) == 0 || list[0].Status == boxoffice.EventDraft && !(f.Drafts && list[0].OrganisationID == f.Organisation) {
		return EventListing{}, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such event.")
	}
	return list[0], nil
}

// listings reads events with their shows, in the order of the ids.
func (s *Store) listings(ctx context.Context, q querier, ids []uuid.UUID, f *EventFilter) ([]EventListing, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := q.Query(ctx, sqlEventsRead, ids)
	events, err := collect(rows, err, scanEvent)
	if err != nil {
		return nil, err
	}
	from, to := f.window()
	rows, err = q.Query(ctx, sqlEventsShows, ids, f.Drafts, f.ShowsMax, idOrNil(f.VenueID), f.City, f.date(), from, to, f.Language, f.upcoming(), nil, f.Organisation)
	shows, err := collect(rows, err, scanShowState)
	if err != nil {
		return nil, err
	}
	read, err := s.readShows(ctx, q, shows)
	if err != nil {
		return nil, err
	}
	byID := make(map[uuid.UUID]*boxoffice.Event, len(events))
	for i := range events {
		byID[events[i].ID] = &events[i]
	}
	list := make([]EventListing, 0, len(ids))
	for _, id := range ids {
		n := 0 // of the event's shows, which stand together
		for n < len(read) && read[n].EventID == id {
			n++
		}
		if e := byID[id]; e != nil {
			list = append(list, EventListing{*e, read[:n]})
		}
		read = read[n:]
	}
	return list, nil
}

func scanID(row pgx.Row) (id uuid.UUID, err error) {
	err = row.Scan(&id)
	return id, err
}

func readIDs(ctx context.Context, q querier, sql string, args ...any) ([]uuid.UUID, error) {
	rows, err := q.Query(ctx, sql, args...)
	return collect(rows, err, scanID)
}

// Facet is a value that events can be filtered by, and how many have it.
type Facet struct {
	Value string
	Count int
}

// Facets counts the events that are on by "city", "genre", "language" and
// "kind", the most frequent values first.
func (s *Store) Facets(ctx context.Context, organisation uuid.UUID) (map[string][]Facet, error) {
	var facets map[string][]Facet
	err := s.reading(ctx, func(ctx context.Context, q querier) error {
		facets = map[string][]Facet{}
		rows, err := q.Query(ctx, sqlFacetsCount, organisation, nil)
		if err != nil {
			return coded(err)
		}
		var by string
		var f Facet
		_, err = pgx.ForEachRow(rows, []any{&by, &f.Value, &f.Count}, func() error {
			facets[by] = append(facets[by], f)
			return nil
		})
		return coded(err)
	})
	if err != nil {
		return nil, err
	}
	return facets, nil
}
