package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

var (
	sqlShowsInsert        = queries.Must("shows_insert")
	sqlShowHeadsInsert    = queries.Must("show_heads_insert")
	sqlShowSeatsInsert    = queries.Must("show_seats_insert")
	sqlShowAreasInsert    = queries.Must("show_areas_insert")
	sqlShowsFacts         = queries.Must("shows_facts")
	sqlShowsSaveFacts     = queries.Must("shows_save_facts")
	sqlShowsFind          = queries.Must("shows_find")
	sqlShowsFindUpcoming  = queries.Must("shows_find_upcoming")
	sqlShowsFindByEvent   = queries.Must("shows_find_by_event")
	sqlShowsFindByVenue   = queries.Must("shows_find_by_venue")
	sqlShowsFindByRef     = queries.Must("shows_find_by_ref")
	sqlShowsState         = queries.Must("shows_state")
	sqlShowsRead          = queries.Must("shows_read")
	sqlShowPricesReadMany = queries.Must("show_prices_read")
	sqlHousesNamed        = queries.Must("houses_named")
	sqlShowsCount         = queries.Must("shows_count")
)

// Price is what a place of a category costs for a ticket type.
type Price struct {
	Category    string
	TicketType  string // "": standard
	AmountMinor int64  // 0…[boxoffice.AmountMax]
}

// NewShow is a show to be made: of a plan, or a bare stock of areas. Numbers
// that are 0 take their defaults.
type NewShow struct {
	Organisation uuid.UUID
	EventID      uuid.UUID
	Event        *boxoffice.Event // a new one, instead of EventID

	PlanID uuid.UUID
	Prices []Price // of the plan's categories

	Areas    []NewArea // instead of PlanID
	VenueID  uuid.UUID // of a stock, if it is somewhere
	TimeZone string    // of a stock without a venue; "": UTC

	StartsAt                 time.Time
	EndsAt                   *time.Time
	SalesStartAt, SalesEndAt *time.Time
	Currency                 string
	HoldSeconds              int
	MaxHoldSeconds           int
	MaxPlacesPerReservation  int
	MaxPlacesPerCustomer     int // 0: no limit
	OfferSeconds             int
	Facts                    boxoffice.ShowFacts
	Publish                  bool
}

// NewArea is a part of a stock: places without seats, a category of its own
// that bears its name.
type NewArea struct {
	Name        string
	Capacity    int
	ExternalRef string
	Prices      []Price // Category is not looked at
}

// CreatedShow is what came of making a show.
type CreatedShow struct {
	ShowID  uuid.UUID
	EventID uuid.UUID
	PlanID  uuid.UUID // zero for a stock
	Status  boxoffice.ShowStatus
	Version int64
	Areas   []CreatedArea
}

// CreatedArea is an area of a new show.
type CreatedArea struct {
	ID          uuid.UUID
	Name        string
	Capacity    int
	ExternalRef string
}

// CreateShow makes a show with all its places, and its event too if that is
// new; then publishes it if that was asked. Publishing is a change of its own,
// through the lane: a retry after a crash in between makes up for it.
func (s *Store) CreateShow(ctx context.Context, actor boxoffice.Actor, key boxoffice.IdempotencyKey, n NewShow) (CreatedShow, bool, error) {
	created, replayed, err := once(ctx, s, n.Organisation, key, func(ctx context.Context, tx pgx.Tx) (CreatedShow, error) {
		return s.createShow(ctx, tx, n)
	})
	if err != nil || !n.Publish {
		return created, replayed, err
	}
	if replayed {
		t, err := s.loadTerms(ctx, s.pool, created.ShowID)
		if err != nil || t.Status != boxoffice.ShowDraft {
			return created, replayed, err
		}
	}
	publish := &boxoffice.SetShowStatus{Verb: boxoffice.PublishShow}
	_, err = s.do(ctx, created.ShowID, &laneCommand{Command: boxoffice.Command{Actor: actor, Do: publish}})
	return created, replayed, err
}

func (s *Store) createShow(ctx context.Context, tx pgx.Tx, n NewShow) (CreatedShow, error) {
	var c boxoffice.Checks
	n.check(&c)
	t := &boxoffice.Terms{
		ShowID: NewID(), OrganisationID: n.Organisation, Definition: 1, Status: boxoffice.ShowDraft,
		StartsAt: n.StartsAt, EndsAt: n.EndsAt, SalesStartAt: n.SalesStartAt, SalesEndAt: n.SalesEndAt, Currency: n.Currency,
		HoldSeconds: n.HoldSeconds, MaxHoldSeconds: n.MaxHoldSeconds,
		MaxPlacesPerReservation: n.MaxPlacesPerReservation, MaxPlacesPerCustomer: n.MaxPlacesPerCustomer,
		OfferSeconds: n.OfferSeconds,
		Prices:       map[boxoffice.PriceKey]int64{}, Queue: boxoffice.DefaultQueue,
	}
	show := &newShow{tx: tx, n: &n, terms: t}
	var err error
	if n.PlanID != uuid.Nil {
		err = show.ofPlan(ctx, s, &c)
	} else {
		err = show.ofStock(ctx, &c)
	}
	if err == nil {
		err = show.ofEvent(ctx, &c)
	}
	if err == nil {
		err = c.Err()
	}
	if err != nil {
		return CreatedShow{}, err
	}
	if err := boxoffice.CheckTerms(t, show.areas); err != nil {
		return CreatedShow{}, err
	}
	if n.Publish {
		var now time.Time
		if err := tx.QueryRow(ctx, sqlLanesClock).Scan(&now); err != nil {
			return CreatedShow{}, err
		}
		if !now.Before(t.End()) {
			return CreatedShow{}, boxoffice.Invalid(boxoffice.Violation{Field: "startsAt", Message: "must be in the future for the show to be published"})
		}
	}
	return show.insert(ctx)
}

// check fills in the defaults and refuses what cannot be.
func (n *NewShow) check(c *boxoffice.Checks) {
	c.Instant("startsAt", &n.StartsAt)
	c.Instant("endsAt", n.EndsAt)
	c.Instant("salesStartAt", n.SalesStartAt)
	c.Instant("salesEndAt", n.SalesEndAt)
	c.Currency("currency", n.Currency)
	if n.HoldSeconds == 0 {
		n.HoldSeconds = boxoffice.HoldSecondsDefault
	}
	if n.MaxHoldSeconds == 0 {
		n.MaxHoldSeconds = max(boxoffice.MaxHoldSecondsDefault, n.HoldSeconds)
	}
	if n.MaxPlacesPerReservation == 0 {
		n.MaxPlacesPerReservation = boxoffice.PlacesDefault
	}
	if n.OfferSeconds == 0 {
		n.OfferSeconds = boxoffice.OfferSecondsDefault
	}
	checkLimits(c, &n.HoldSeconds, &n.MaxHoldSeconds, &n.MaxPlacesPerReservation, &n.MaxPlacesPerCustomer, &n.OfferSeconds)
	n.Facts.Check(c)
}

// checkLimits checks those limits of a show that are given.
func checkLimits(c *boxoffice.Checks, hold, maxHold, places, perCustomer, offer *int) {
	between := func(field string, n *int, least, most int64) {
		if n != nil {
			c.Between(field, int64(*n), least, most)
		}
	}
	between("holdSeconds", hold, 1, boxoffice.HoldSecondsMax)
	between("maxHoldSeconds", maxHold, 1, boxoffice.MaxHoldSecondsMax)
	between("maxPlacesPerReservation", places, 1, boxoffice.PlacesMax)
	between("maxPlacesPerCustomer", perCustomer, 0, boxoffice.PerCustomerMax)
	between("offerSeconds", offer, 1, boxoffice.OfferSecondsMax)
}

// newShow is a show on its way into the database.
type newShow struct {
	tx    pgx.Tx
	n     *NewShow
	terms *boxoffice.Terms

	hall, plan *uuid.UUID
	venue      *uuid.UUID
	zone       string
	areas      []boxoffice.AreaRow
	refs       []string // externalRefs of areas, in step
}

// ofPlan takes the places from a plan and the zone from its venue.
func (w *newShow) ofPlan(ctx context.Context, s *Store, c *boxoffice.Checks) error {
	plan, err := s.planOf(ctx, w.tx, w.n.PlanID)
	if boxoffice.CodeOf(err) == boxoffice.CodeNotFound || err == nil && plan.OrganisationID != w.n.Organisation {
		c.Add("planId", "there is no such plan")
		return nil
	}
	if err != nil {
		return err
	}
	hall, err := scanHall(w.tx.QueryRow(ctx, sqlHallsRead, plan.HallID))
	if err != nil {
		return err
	}
	venue, err := scanVenue(w.tx.QueryRow(ctx, sqlVenuesRead, hall.VenueID))
	if err != nil {
		return err
	}
	w.plan, w.hall, w.venue, w.zone = &w.n.PlanID, &hall.ID, &venue.ID, venue.TimeZone
	w.terms.Plan, w.areas = plan, planAreas(plan)
	w.refs = make([]string, len(w.areas))
	for k, v := range checkPrices(c, "prices", w.n.Prices) {
		w.terms.Prices[k] = v
	}
	return nil
}

// planAreas are the areas of a plan as rows of a show.
func planAreas(p *boxoffice.PlanIndex) []boxoffice.AreaRow {
	rows := make([]boxoffice.AreaRow, len(p.Areas))
	for i, a := range p.Areas {
		rows[i] = boxoffice.AreaRow{No: a.No, ID: a.ID, Name: a.Name, Category: p.Categories[a.Category].Name, Capacity: a.Capacity}
	}
	return rows
}

// checkPrices makes a table of a list of prices.
func checkPrices(c *boxoffice.Checks, field string, list []Price) map[boxoffice.PriceKey]int64 {
	prices := make(map[boxoffice.PriceKey]int64, len(list))
	if len(list) > boxoffice.PricesMax {
		c.Add(field, "expected at most %d prices", boxoffice.PricesMax)
		return prices
	}
	for i, p := range list {
		at := fmt.Sprintf("%s[%d].", field, i)
		if p.TicketType == "" {
			p.TicketType = boxoffice.TicketTypeStandard
		}
		c.Line(at+"category", &p.Category, 1, boxoffice.PartMax)
		c.Line(at+"ticketType", &p.TicketType, 1, boxoffice.PartMax)
		c.Between(at+"amount", p.AmountMinor, 0, boxoffice.AmountMax)
		k := boxoffice.PriceKey{Category: p.Category, TicketType: p.TicketType}
		if _, twice := prices[k]; twice {
			c.Add(field+fmt.Sprintf("[%d]", i), "category %s has two prices for ticketType %s", k.Category, k.TicketType)
		}
		prices[k] = p.AmountMinor
	}
	return prices
}

// ofStock takes the places from the request.
func (w *newShow) ofStock(ctx context.Context, c *boxoffice.Checks) error {
	if n := len(w.n.Areas); n < 1 || n > boxoffice.AreasMax {
		c.Add("areas", "expected 1 to %d areas", boxoffice.AreasMax)
		return nil
	}
	w.zone = w.n.TimeZone
	switch {
	case w.n.VenueID != uuid.Nil:
		venue, err := scanVenue(w.tx.QueryRow(ctx, sqlVenuesRead, w.n.VenueID))
		if err = found(err, "venue"); boxoffice.CodeOf(err) == boxoffice.CodeNotFound || err == nil && venue.OrganisationID != w.n.Organisation {
			c.Add("venueId", "there is no such venue")
			return nil
		} else if err != nil {
			return err
		}
		w.venue, w.zone = &venue.ID, venue.TimeZone
	case w.zone == "":
		w.zone = "UTC"
	default:
		if err := checkZone(ctx, w.tx, c, w.zone); err != nil {
			return err
		}
	}
	named := map[string]bool{}
	for i := range w.n.Areas {
		a := &w.n.Areas[i]
		at := fmt.Sprintf("areas[%d].", i)
		c.Line(at+"name", &a.Name, 1, boxoffice.PartMax)
		c.Line(at+"externalRef", &a.ExternalRef, 0, boxoffice.ExternalRefMax)
		c.Between(at+"capacity", int64(a.Capacity), 0, boxoffice.CapacityMax)
		if named[a.Name] {
			c.Add(at+"name", "two areas have this name")
		}
		named[a.Name] = true
		for j := range a.Prices {
			a.Prices[j].Category = a.Name
		}
		prices := checkPrices(c, at+"prices", a.Prices)
		if _, ok := prices[boxoffice.PriceKey{Category: a.Name, TicketType: boxoffice.TicketTypeStandard}]; !ok {
			c.Add(at+"prices", "there is no price for ticketType standard")
		}
		for k, v := range prices {
			w.terms.Prices[k] = v
		}
		w.areas = append(w.areas, boxoffice.AreaRow{No: int32(i), ID: NewID(), Name: a.Name, Category: a.Name, Capacity: a.Capacity})
		w.refs = append(w.refs, a.ExternalRef)
	}
	return nil
}

// ofEvent makes sure of the event, which is made if it is new and all else is
// right so far.
func (w *newShow) ofEvent(ctx context.Context, c *boxoffice.Checks) error {
	if w.n.Event == nil {
		e, err := scanEvent(w.tx.QueryRow(ctx, sqlEventsLock, w.n.EventID, w.n.Organisation))
		switch err = found(err, "event"); {
		case boxoffice.CodeOf(err) == boxoffice.CodeNotFound:
			c.Add("eventId", "there is no such event")
		case err != nil:
			return err
		case e.Status == boxoffice.EventArchived:
			c.Add("eventId", "the event is archived")
		}
		return nil
	}
	e := *w.n.Event
	e.OrganisationID = w.n.Organisation
	c.Prefix = "event."
	e.Check(c)
	c.Prefix = ""
	if c.Found != nil {
		return nil
	}
	err := insertEvent(ctx, w.tx, &e)
	w.n.EventID = e.ID
	return err
}

// insert writes the show and all its places.
func (w *newShow) insert(ctx context.Context) (CreatedShow, error) {
	n, t := w.n, w.terms
	done := CreatedShow{ShowID: t.ShowID, EventID: n.EventID, PlanID: n.PlanID, Status: t.Status}
	if n.Publish {
		// The first command on a show makes version 1, and nobody else knows
		// of this show yet.
		done.Status, done.Version = boxoffice.ShowOnSale, 1
	}
	b := &pgx.Batch{}
	f := factsOrEmpty(n.Facts)
	b.Queue(sqlShowsInsert, t.ShowID, n.Organisation, n.EventID, w.venue, w.hall, w.plan, t.StartsAt, t.EndsAt, f.DoorsAt, w.zone,
		f.Language, f.Format, f.Accessibility, f.Note, t.Currency, t.HoldSeconds, t.MaxHoldSeconds, t.MaxPlacesPerReservation,
		t.MaxPlacesPerCustomer, t.SalesStartAt, t.SalesEndAt, f.Cancellation, f.TestMode, f.ExternalRef, f.Metadata, t.OfferSeconds)
	b.Queue(sqlShowHeadsInsert, t.ShowID, n.Organisation)
	var categories, types []string
	var amounts []int64
	for k, amount := range t.Prices {
		categories, types, amounts = append(categories, k.Category), append(types, k.TicketType), append(amounts, amount)
	}
	b.Queue(sqlShowPricesInsert, t.ShowID, n.Organisation, categories, types, amounts)
	if w.plan != nil {
		b.Queue(sqlShowSeatsInsert, t.ShowID, n.Organisation, *w.plan)
	}
	if len(w.areas) > 0 {
		var nos, capacities []int32
		var ids []uuid.UUID
		var names, of []string
		for i, a := range w.areas {
			nos, capacities, ids = append(nos, a.No), append(capacities, int32(a.Capacity)), append(ids, a.ID)
			names, of = append(names, a.Name), append(of, a.Category)
			done.Areas = append(done.Areas, CreatedArea{a.ID, a.Name, a.Capacity, w.refs[i]})
		}
		b.Queue(sqlShowAreasInsert, t.ShowID, n.Organisation, nos, ids, names, of, w.refs, capacities)
	}
	return done, w.tx.SendBatch(ctx, b).Close()
}

// factsOrEmpty has empty lists instead of none, which is null in Postgres.
func factsOrEmpty(f boxoffice.ShowFacts) boxoffice.ShowFacts {
	f.Format, f.Accessibility = orEmpty(f.Format), orEmpty(f.Accessibility)
	if f.Metadata == nil {
		f.Metadata = map[string]string{}
	}
	return f
}

// ChangedShow is what came of changing a show.
type ChangedShow struct {
	Version  int64
	Replayed bool // it is the answer to an earlier request with the same key
}

// command gives a command to a show of the organisation; another's show is
// NOT_FOUND.
func (s *Store) command(ctx context.Context, organisation, show uuid.UUID, cmd *laneCommand) (*boxoffice.Receipt, bool, error) {
	t, err := s.termsOf(ctx, show)
	if err != nil {
		return nil, false, err
	}
	if t.OrganisationID != organisation {
		return nil, false, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such show.")
	}
	out, err := s.do(ctx, show, cmd)
	if err != nil {
		return nil, false, err
	}
	return out.Receipt, out.Replayed, nil
}

func (s *Store) change(ctx context.Context, organisation, show uuid.UUID, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, do boxoffice.Doer) (ChangedShow, error) {
	r, replayed, err := s.command(ctx, organisation, show, &laneCommand{Command: boxoffice.Command{Key: key, Actor: actor, Do: do}})
	if err != nil {
		return ChangedShow{}, err
	}
	return ChangedShow{r.Version, replayed}, nil
}

// SetShowStatus takes a show through a verb: publish, pause, resume or cancel;
// see [boxoffice.SetShowStatus].
func (s *Store) SetShowStatus(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, organisation, show uuid.UUID, set boxoffice.SetShowStatus) (ChangedShow, error) {
	return s.change(ctx, organisation, show, actor, key, &set)
}

// SetAreaCapacity changes how many places an area of a show has; see
// [boxoffice.SetAreaCapacity].
func (s *Store) SetAreaCapacity(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, organisation, show, area uuid.UUID, capacity int) (ChangedShow, error) {
	areas, err := s.areasOf(ctx, show)
	if err != nil {
		return ChangedShow{}, coded(err)
	}
	no := int32(-1) // nothing has it: the rules say NOT_FOUND
	for _, a := range areas {
		if a.ID == area {
			no = a.No
		}
	}
	return s.change(ctx, organisation, show, actor, key, &boxoffice.SetAreaCapacity{AreaNo: no, Capacity: capacity})
}

// ShowAmendment changes a show. Nil fields stay; a nil within a time takes it
// away.
type ShowAmendment struct {
	Definition              int64 // that If-Match named; 0: any
	StartsAt                *time.Time
	EndsAt                  **time.Time
	SalesStartAt            **time.Time
	SalesEndAt              **time.Time
	Currency                *string
	HoldSeconds             *int
	MaxHoldSeconds          *int
	MaxPlacesPerReservation *int
	MaxPlacesPerCustomer    *int // 0: no limit
	OfferSeconds            *int
	Prices                  []Price // all of them
	Queue                   *boxoffice.QueueChange
	PlanID                  *uuid.UUID
	Facts                   func(*boxoffice.ShowFacts) // may run more than once
}

// AmendShow changes a show's terms and facts in one transaction; see
// [boxoffice.AmendShow].
func (s *Store) AmendShow(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, organisation, show uuid.UUID, a ShowAmendment) (ChangedShow, error) {
	var c boxoffice.Checks
	c.Instant("startsAt", a.StartsAt)
	for _, t := range []struct {
		field string
		to    **time.Time
	}{{"endsAt", a.EndsAt}, {"salesStartAt", a.SalesStartAt}, {"salesEndAt", a.SalesEndAt}} {
		if t.to != nil {
			c.Instant(t.field, *t.to)
		}
	}
	if a.Currency != nil {
		c.Currency("currency", *a.Currency)
	}
	checkLimits(&c, a.HoldSeconds, a.MaxHoldSeconds, a.MaxPlacesPerReservation, a.MaxPlacesPerCustomer, a.OfferSeconds)
	amend := &boxoffice.AmendShow{
		Definition: a.Definition, StartsAt: a.StartsAt, EndsAt: a.EndsAt, SalesStartAt: a.SalesStartAt, SalesEndAt: a.SalesEndAt,
		Currency: a.Currency, HoldSeconds: a.HoldSeconds, MaxHoldSeconds: a.MaxHoldSeconds,
		MaxPlacesPerReservation: a.MaxPlacesPerReservation, MaxPlacesPerCustomer: a.MaxPlacesPerCustomer, Queue: a.Queue,
		OfferSeconds: a.OfferSeconds,
	}
	if a.Prices != nil {
		amend.Prices = checkPrices(&c, "prices", a.Prices)
	}
	if a.PlanID != nil {
		plan, err := s.planOf(ctx, s.pool, *a.PlanID)
		switch {
		case boxoffice.CodeOf(err) == boxoffice.CodeNotFound || err == nil && plan.OrganisationID != organisation:
			c.Add("planId", "there is no such plan")
		case err != nil:
			return ChangedShow{}, err
		default:
			amend.Plan, amend.PlanAreas = plan, planAreas(plan)
		}
	}
	if a.Facts != nil {
		// Checked here, where a mistake is one caller's own; saved in the lane.
		var f boxoffice.ShowFacts
		a.Facts(&f)
		f.Check(&c)
		amend.Other = factsSaver(a.Facts)
	}
	if err := c.Err(); err != nil {
		return ChangedShow{}, err
	}
	return s.change(ctx, organisation, show, actor, key, amend)
}

// factsSaver changes the facts of a show in the lane's transaction.
type factsSaver func(*boxoffice.ShowFacts)

// Save implements [Saver].
func (change factsSaver) Save(ctx context.Context, tx pgx.Tx, show uuid.UUID) error {
	var f boxoffice.ShowFacts
	err := tx.QueryRow(ctx, sqlShowsFacts, show).Scan(&f.DoorsAt, &f.Language, &f.Format, &f.Accessibility, &f.Note,
		&f.Cancellation, &f.TestMode, &f.ExternalRef, &f.Metadata)
	if err != nil {
		return err
	}
	change(&f)
	var c boxoffice.Checks
	f.Check(&c)
	if err := c.Err(); err != nil {
		return err
	}
	f = factsOrEmpty(f)
	_, err = tx.Exec(ctx, sqlShowsSaveFacts, show, f.DoorsAt, f.Language, f.Format, f.Accessibility, f.Note,
		f.Cancellation, f.TestMode, f.ExternalRef, f.Metadata)
	return err
}

// ShowListing is a show as readers see it, at one instant.
type ShowListing struct {
	boxoffice.Terms // without the plan; prices are in PriceList
	EventID         uuid.UUID
	PlanID          uuid.UUID // zero for a stock
	TimeZone        string
	Facts           boxoffice.ShowFacts
	VenueID         uuid.UUID // zero: none
	VenueName       string
	City            string
	Country         string
	HallID          uuid.UUID // zero: none
	HallName        string
	PriceList       []Price // by category and ticket type
	Version         int64
	Now             time.Time // the clock that it is judged by
	Availability    Availability
}

// Availability is how many places of a show are free: coarse, for lists.
type Availability struct {
	Available int
	Capacity  int
	AsOf      time.Time // at most [availabilityAge] ago
}

// ShowFilter chooses shows; empty fields choose all.
type ShowFilter struct {
	Organisation uuid.UUID
	Drafts       bool
	EventID      uuid.UUID
	VenueID      uuid.UUID
	From, To     *time.Time // of the start
	Status       string     // as a reader sees it: ended is one
	ExternalRef  string

	AfterStart *time.Time // start and id of the last show of the page before
	Page
}

// upcoming: who does not say which shows wants those that are not over.
func (f *ShowFilter) upcoming() bool { return f.From == nil && f.To == nil && f.Status == "" }

// Shows lists shows in time order.
func (s *Store) Shows(ctx context.Context, f ShowFilter) (list []ShowListing, err error) {
	sql, args := sqlShowsFind, []any{f.Organisation, f.Drafts, f.From, f.To, f.Status, f.AfterStart, f.after(), f.Limit, nil}
	switch {
	case f.ExternalRef != "":
		sql, args = sqlShowsFindByRef, []any{f.Organisation, f.Drafts, f.ExternalRef}
	case f.EventID != uuid.Nil:
		sql, args = sqlShowsFindByEvent, append(args, f.EventID, idOrNil(f.VenueID), f.upcoming())
	case f.VenueID != uuid.Nil:
		sql, args = sqlShowsFindByVenue, append(args, f.VenueID, f.upcoming())
	case f.upcoming():
		sql, args = sqlShowsFindUpcoming, []any{f.Organisation, f.Drafts, f.AfterStart, f.after(), f.Limit, nil}
	}
	find := func(ctx context.Context, q querier) error {
		ids, err := readIDs(ctx, q, sql, args...)
		if err == nil {
			list, err = s.readShowsNamed(ctx, q, ids)
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

// ReadShow reads one show. A draft is NOT_FOUND for everybody but those of its
// organisation who may see drafts.
func (s *Store) ReadShow(ctx context.Context, id, organisation uuid.UUID, drafts bool) (ShowListing, error) {
	list, err := s.readShowsNamed(ctx, s.pool, []uuid.UUID{id})
	if err != nil {
		return ShowListing{}, err
	}
	if len(list) == 0 || list[0].Status == boxoffice.ShowDraft && !(drafts && list[0].OrganisationID == organisation) {
		return ShowListing{}, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such show.")
	}
	return list[0], nil
}

// listingsMax is how many shows are kept as they were read, in a generation: a
// kilobyte each.
const listingsMax = 50_000

// knownShow is a show as it was read, without what changes by itself: its
// version, the clock, availability, and the names of the house it is in. It
// never changes.
type knownShow struct {
	ShowListing
	row uint32 // which version of its row that was
}

// showState is what of a show may have changed since it was read.
type showState struct {
	id      uuid.UUID
	row     uint32
	version int64
	now     time.Time
}

func scanShowState(row pgx.Row) (n showState, err error) {
	err = row.Scan(&n.id, &n.row, &n.version, &n.now)
	return n, err
}

// readShowsNamed reads shows by their ids, in that order.
func (s *Store) readShowsNamed(ctx context.Context, q querier, ids []uuid.UUID) ([]ShowListing, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := q.Query(ctx, sqlShowsState, ids)
	states, err := collect(rows, err, scanShowState)
	if err != nil {
		return nil, err
	}
	return s.readShows(ctx, q, states)
}

// readShows reads shows with prices and availability, in the order of the
// states. A show whose row is the one that it was read from is not read again:
// its prices change with it.
func (s *Store) readShows(ctx context.Context, q querier, states []showState) ([]ShowListing, error) {
	var unknown []uuid.UUID
	list := make([]ShowListing, len(states))
	at := make(map[uuid.UUID]*ShowListing, len(states))
	for i, state := range states {
		if known, ok := s.known.Load(state.id); ok && known.row == state.row {
			list[i] = known.ShowListing
			list[i].Version, list[i].Now = state.version, state.now
			continue
		}
		unknown = append(unknown, state.id)
		at[state.id] = &list[i]
	}
	if len(unknown) > 0 {
		fresh, err := s.readKnown(ctx, q, unknown)
		if err != nil {
			return nil, err
		}
		for _, k := range fresh {
			*at[k.ShowID] = k.ShowListing
			s.known.Store(k.ShowID, k)
		}
	}
	if err := nameHouses(ctx, q, list); err != nil {
		return nil, err
	}
	return list, s.count(ctx, q, list)
}

// readKnown reads shows whatever is known of them, in any order.
func (s *Store) readKnown(ctx context.Context, q querier, ids []uuid.UUID) ([]*knownShow, error) {
	rows, err := q.Query(ctx, sqlShowsRead, ids)
	list, err := collect(rows, err, scanShow)
	if err != nil {
		return nil, err
	}
	byID := make(map[uuid.UUID]*knownShow, len(list))
	for _, show := range list {
		byID[show.ShowID] = show
	}
	if rows, err = q.Query(ctx, sqlShowPricesReadMany, ids); err != nil {
		return nil, coded(err)
	}
	var id uuid.UUID
	var p Price
	_, err = pgx.ForEachRow(rows, []any{&id, &p.Category, &p.TicketType, &p.AmountMinor}, func() error {
		if show := byID[id]; show != nil {
			show.PriceList = append(show.PriceList, p)
		}
		return nil
	})
	return list, coded(err)
}

func scanShow(row pgx.Row) (*knownShow, error) {
	var l knownShow
	var plan, venue, hall *uuid.UUID
	err := row.Scan(&l.ShowID, &l.OrganisationID, &l.EventID, &plan, &l.Status, &l.StartsAt, &l.EndsAt, &l.TimeZone,
		&l.Currency, &l.HoldSeconds, &l.MaxHoldSeconds, &l.MaxPlacesPerReservation, &l.MaxPlacesPerCustomer, &l.OfferSeconds,
		&l.SalesStartAt, &l.SalesEndAt, &l.Definition,
		&l.Facts.DoorsAt, &l.Facts.Language, &l.Facts.Format, &l.Facts.Accessibility, &l.Facts.Note, &l.Facts.Cancellation, &l.Facts.TestMode,
		&l.Facts.ExternalRef, &l.Facts.Metadata, &venue, &hall, &l.QueueOpen,
		&l.row, &l.Version, &l.Now)
	l.PlanID, l.VenueID, l.HallID = orZero(plan), orZero(venue), orZero(hall)
	return &l, err
}

// nameHouses sets the names of the shows' venues and halls, which may change
// when no show does.
func nameHouses(ctx context.Context, q querier, list []ShowListing) error {
	type house struct{ name, city, country string }
	houses := map[uuid.UUID]house{}
	for i := range list {
		houses[list[i].VenueID], houses[list[i].HallID] = house{}, house{}
	}
	delete(houses, uuid.Nil)
	if len(houses) == 0 {
		return nil
	}
	rows, err := q.Query(ctx, sqlHousesNamed, slices.Collect(maps.Keys(houses)))
	if err != nil {
		return coded(err)
	}
	var id uuid.UUID
	var h house
	if _, err := pgx.ForEachRow(rows, []any{&id, &h.name, &h.city, &h.country}, func() error {
		houses[id] = h
		return nil
	}); err != nil {
		return coded(err)
	}
	for i := range list {
		l := &list[i]
		venue := houses[l.VenueID]
		l.VenueName, l.City, l.Country, l.HallName = venue.name, venue.city, venue.country, houses[l.HallID].name
	}
	return nil
}
