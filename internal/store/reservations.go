package store

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

var (
	sqlReservationsShowOf       = queries.Must("reservations_show_of")
	sqlReservationsRead         = queries.Must("reservations_read")
	sqlReservationsList         = queries.Must("reservations_list")
	sqlReservationsOverdueShows = queries.Must("reservations_overdue_shows")
	sqlReservationsAnyDue       = queries.Must("reservations_any_due")
)

// SeatRef names a seat as a client does: by its id, or by its label when the
// id is zero.
type SeatRef struct {
	ID         uuid.UUID
	Label      string
	TicketType string // "": standard
}

func (r SeatRef) String() string {
	if r.ID != uuid.Nil {
		return r.ID.String()
	}
	return r.Label
}

// AreaRef names an area by its id, and how many of its units.
type AreaRef struct {
	ID           uuid.UUID
	TicketType   string // "": standard
	Quantity     int    // 1 or more
	AllowPartial bool
}

// SeatView is a seat of a reservation as a client sees it.
type SeatView struct {
	SeatID     uuid.UUID
	Label      string
	Category   string
	TicketType string
	PriceMinor int64
}

// AreaView is an area of a reservation as a client sees it.
type AreaView struct {
	AreaID     uuid.UUID
	Name       string
	TicketType string
	Requested  int
	Quantity   int
	PriceMinor int64 // of one unit
}

// ReservationView is a reservation as a client sees it, at one instant.
type ReservationView struct {
	OrganisationID uuid.UUID // whose show it is in; zero in answers to writes
	ID             uuid.UUID
	ShowID         uuid.UUID
	CustomerID     string
	Status         boxoffice.ReservationStatus
	Seats          []SeatView
	Areas          []AreaView
	Places         int
	TotalMinor     int64
	Currency       string
	CreatedAt      time.Time
	ExpiresAt      time.Time
	Now            time.Time // the clock that Status was judged by
	ShowVersion    int64
	BookingID      uuid.UUID // zero: none
	EntryID        uuid.UUID // of the waitlist, whose offer it is; zero: none
	Metadata       map[string]string
}

// PlaceRequest asks for places.
type PlaceRequest struct {
	ShowID      uuid.UUID
	CustomerID  string
	Seats       []SeatRef
	Areas       []AreaRef
	TTLSeconds  int // 0: the show's holdSeconds
	FromBlockID uuid.UUID
	Pass        *boxoffice.Pass // of the waiting room; nil: none was shown
	Metadata    map[string]string
}

// PlaceReservation holds places for a customer; see
// [boxoffice.PlaceReservation]. It returns the reservation and whether the
// answer is that of an earlier request with the same key.
func (s *Store) PlaceReservation(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, req PlaceRequest) (_ *ReservationView, replayed bool, err error) {
	if o := s.cfg.Observer; o != nil {
		defer func() { o.Hold(replayed, err) }()
	}
	terms, err := s.termsOf(ctx, req.ShowID)
	if err != nil {
		return nil, false, err
	}
	if terms.Queue.Mode == boxoffice.QueueAutomatic && !actor.Staff {
		s.arrivals.add(req.ShowID)
	}
	if req.FromBlockID != uuid.Nil {
		// Blocks are never deleted, so one that is not there now is not there.
		var seats []int32
		if err := s.pool.QueryRow(ctx, sqlBlocksRead, req.ShowID, req.FromBlockID).Scan(&seats); errors.Is(err, pgx.ErrNoRows) {
			return nil, false, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such block in this show.")
		} else if err != nil {
			return nil, false, coded(err)
		}
	}
	place := &boxoffice.PlaceReservation{
		ID: NewID(), CustomerID: req.CustomerID, TTLSeconds: req.TTLSeconds,
		FromBlockID: req.FromBlockID, Pass: req.Pass, Metadata: req.Metadata,
	}
	if place.Seats, err = s.resolveSeats(ctx, terms, req.Seats); err != nil {
		return nil, false, err
	}
	if place.Areas, err = s.resolveAreas(ctx, terms, req.Areas); err != nil {
		return nil, false, err
	}
	out, err := s.do(ctx, req.ShowID, &laneCommand{Command: boxoffice.Command{Key: key, Actor: actor, Do: place}})
	if err != nil {
		return nil, false, err
	}
	view, err := s.receiptView(ctx, out)
	if err == nil {
		s.showIDs.Store(view.ID, req.ShowID) // something will be done with it soon
	}
	return view, out.Replayed, err
}

// ChangeRequest adds places to a reservation and removes others.
type ChangeRequest struct {
	AddSeats, RemoveSeats []SeatRef
	AddAreas, RemoveAreas []AreaRef
}

// ChangeReservation changes what a reservation holds; see
// [boxoffice.ChangeReservation].
func (s *Store) ChangeReservation(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, id uuid.UUID, req ChangeRequest) (*ReservationView, bool, error) {
	show, terms, err := s.showOf(ctx, id)
	if err != nil {
		return nil, false, err
	}
	change := &boxoffice.ChangeReservation{ID: id}
	if change.AddSeats, err = s.resolveSeats(ctx, terms, req.AddSeats); err == nil {
		change.RemoveSeats, err = s.resolveSeats(ctx, terms, req.RemoveSeats)
	}
	if err == nil {
		change.AddAreas, err = s.resolveAreas(ctx, terms, req.AddAreas)
	}
	if err == nil {
		change.RemoveAreas, err = s.resolveAreas(ctx, terms, req.RemoveAreas)
	}
	if err != nil {
		return nil, false, err
	}
	return s.reservationCommand(ctx, show, actor, key, change)
}

// ExtendReservation moves a reservation's end; see
// [boxoffice.ExtendReservation].
func (s *Store) ExtendReservation(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, id uuid.UUID) (*ReservationView, bool, error) {
	show, _, err := s.showOf(ctx, id)
	if err != nil {
		return nil, false, err
	}
	return s.reservationCommand(ctx, show, actor, key, &boxoffice.ExtendReservation{ID: id})
}

// ReleaseReservation ends a reservation at once; see
// [boxoffice.ReleaseReservation]. It returns the show's version.
func (s *Store) ReleaseReservation(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, id uuid.UUID) (version int64, replayed bool, err error) {
	show, _, err := s.showOf(ctx, id)
	if err != nil {
		return 0, false, err
	}
	out, err := s.do(ctx, show, &laneCommand{Command: boxoffice.Command{Key: key, Actor: actor, Do: &boxoffice.ReleaseReservation{ID: id}}})
	if err != nil {
		return 0, false, err
	}
	return out.Receipt.Version, out.Replayed, nil
}

// ExpireReservations closes overdue holds of a show, at most 500 a command
// with buyers in between, until none is left. It returns how many it closed,
// and asks without a lock first whether there is anything to do.
func (s *Store) ExpireReservations(ctx context.Context, show uuid.UUID, reason boxoffice.Reason) (int, error) {
	const most = 500
	closed := 0
	for {
		var due bool
		if err := s.pool.QueryRow(ctx, sqlReservationsAnyDue, show).Scan(&due); err != nil {
			return closed, coded(err)
		}
		if !due {
			return closed, nil
		}
		out, err := s.do(ctx, show, &laneCommand{Command: boxoffice.Command{
			Actor: boxoffice.Actor{Staff: true, Name: "system"},
			Do:    &boxoffice.ExpireReservations{Limit: most, Reason: reason},
		}})
		if err != nil {
			return closed, err
		}
		closed += out.Receipt.Count
		if out.Receipt.Count == 0 {
			return closed, nil // somebody else did it, or the show's clock is behind
		}
	}
}

// EndHolds releases the active holds of a show, for one that is cancelled. more
// says that enough came true before all were released.
func (s *Store) EndHolds(ctx context.Context, show uuid.UUID, enough func() bool) (more bool, err error) {
	terms, err := s.termsOf(ctx, show)
	if err != nil {
		return true, err
	}
	const slice = 64
	for {
		list, err := s.ListReservations(ctx, ReservationFilter{
			OrganisationID: terms.OrganisationID, ShowID: show, Status: boxoffice.ReservationActive, Limit: slice,
		})
		if err != nil || len(list) == 0 {
			return err != nil, err
		}
		failed := make(chan error, len(list))
		for _, r := range list {
			go func() {
				_, err := s.do(ctx, show, &laneCommand{Command: boxoffice.Command{
					Actor: boxoffice.Actor{Staff: true, Name: "system"}, Do: &boxoffice.ReleaseReservation{ID: r.ID},
				}})
				failed <- err
			}()
		}
		var errs []error
		for range list {
			errs = append(errs, <-failed)
		}
		if err := errors.Join(errs...); err != nil {
			return true, err
		}
		if enough() {
			return true, nil
		}
	}
}

// OverdueShow is a show with holds that ended and are not closed.
type OverdueShow struct {
	ShowID  uuid.UUID
	Lag     time.Duration // how long ago the oldest ended, database clock
	Overdue int           // holds
}

// OverdueShows lists shows whose oldest unclosed hold ended at least the given
// time ago, the most overdue first, at most limit.
func (s *Store) OverdueShows(ctx context.Context, ago time.Duration, limit int) ([]OverdueShow, error) {
	rows, err := s.pool.Query(ctx, sqlReservationsOverdueShows, ago.Seconds(), limit)
	if err != nil {
		return nil, coded(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (o OverdueShow, err error) {
		var seconds float64
		err = row.Scan(&o.ShowID, &seconds, &o.Overdue)
		o.Lag = time.Duration(seconds * float64(time.Second))
		return o, err
	})
	return list, coded(err)
}

// PurgeIdempotencyKeys forgets keys older than 24 hours, at most limit.
func (s *Store) PurgeIdempotencyKeys(ctx context.Context, limit int) (int64, error) {
	tag, err := s.pool.Exec(ctx, sqlIdempotencyPurge, limit)
	return tag.RowsAffected(), coded(err)
}

// ReadReservation returns a reservation, also after its end. A zero
// organisation reads all organisations', and customerID "" anybody's; otherwise
// those of others are NOT_FOUND.
func (s *Store) ReadReservation(ctx context.Context, organisation uuid.UUID, customerID string, id uuid.UUID) (*ReservationView, error) {
	rows, err := s.pool.Query(ctx, sqlReservationsRead, id)
	if err != nil {
		return nil, coded(err)
	}
	list, err := s.views(ctx, rows)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 || (customerID != "" && list[0].CustomerID != customerID) ||
		(organisation != uuid.Nil && list[0].OrganisationID != organisation) {
		return nil, errNoReservation()
	}
	return list[0], nil
}

// ReservationFilter says which reservations to list. Zero values do not
// filter.
type ReservationFilter struct {
	OrganisationID uuid.UUID // required
	ShowID         uuid.UUID
	Status         boxoffice.ReservationStatus
	CustomerID     string
	After          uuid.UUID // the last one of the page before
	Limit          int       // 1…200
}

// ListReservations returns a page of reservations, the newest first.
func (s *Store) ListReservations(ctx context.Context, f ReservationFilter) ([]*ReservationView, error) {
	rows, err := s.pool.Query(ctx, sqlReservationsList, f.OrganisationID, nullable(f.ShowID), textOrNil(string(f.Status)),
		textOrNil(f.CustomerID), nullable(f.After), f.Limit, nil)
	if err != nil {
		return nil, coded(err)
	}
	return s.views(ctx, rows)
}

// views reads rows of reservations_read and reservations_list.
func (s *Store) views(ctx context.Context, rows pgx.Rows) ([]*ReservationView, error) {
	type row struct {
		r       *boxoffice.Reservation
		org     uuid.UUID
		version int64
		now     time.Time
	}
	found, err := pgx.CollectRows(rows, func(cr pgx.CollectableRow) (row, error) {
		var v row
		r, err := scanReservation(cr, &v.org, &v.version, &v.now)
		v.r = r
		return v, err
	})
	if err != nil {
		return nil, coded(err)
	}
	list := make([]*ReservationView, len(found))
	for i, f := range found {
		if list[i], err = s.view(ctx, f.r, f.version, f.now); err != nil {
			return nil, err
		}
		list[i].OrganisationID = f.org
	}
	return list, nil
}

func errNoReservation() error {
	return boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such reservation.")
}

// showsMax is for how many reservations it is known in which show they are; twice
// as many at most, of 32 bytes each.
const showsMax = 100_000

// showOf finds the show of a reservation, which is never another.
func (s *Store) showOf(ctx context.Context, id uuid.UUID) (uuid.UUID, *boxoffice.Terms, error) {
	show, known := s.showIDs.Load(id)
	if !known {
		err := s.pool.QueryRow(ctx, sqlReservationsShowOf, id).Scan(&show)
		if errors.Is(err, pgx.ErrNoRows) {
			return show, nil, errNoReservation()
		}
		if err != nil {
			return show, nil, coded(err)
		}
		s.showIDs.Store(id, show)
	}
	terms, err := s.termsOf(ctx, show)
	return show, terms, err
}

func (s *Store) reservationCommand(ctx context.Context, show uuid.UUID, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, do boxoffice.Doer) (*ReservationView, bool, error) {
	out, err := s.do(ctx, show, &laneCommand{Command: boxoffice.Command{Key: key, Actor: actor, Do: do}})
	if err != nil {
		return nil, false, err
	}
	view, err := s.receiptView(ctx, out)
	return view, out.Replayed, err
}

// receiptView makes the answer to a client from a receipt: the same one, to
// the byte, the first time and at each replay. A receipt that comes from the
// database lacks what cannot change and is personal; that is read again.
func (s *Store) receiptView(ctx context.Context, out boxoffice.Outcome) (*ReservationView, error) {
	r := out.Receipt.Reservation
	if r == nil {
		return nil, errors.New("store: the receipt has no reservation")
	}
	if r.CustomerID == "" {
		whole := *r
		now, err := s.ReadReservation(ctx, uuid.Nil, "", out.Receipt.ReservationID)
		if err != nil {
			return nil, err
		}
		whole.ID, whole.ShowID, whole.CustomerID = now.ID, now.ShowID, now.CustomerID
		whole.Currency, whole.Metadata, whole.WaitlistEntryID = now.Currency, now.Metadata, now.EntryID
		r = &whole
	}
	return s.view(ctx, r, out.Receipt.Version, out.Receipt.At)
}

// view names the places of a reservation.
func (s *Store) view(ctx context.Context, r *boxoffice.Reservation, version int64, now time.Time) (*ReservationView, error) {
	terms, err := s.termsOf(ctx, r.ShowID)
	if err != nil {
		return nil, err
	}
	v := &ReservationView{
		ID: r.ID, ShowID: r.ShowID, CustomerID: r.CustomerID, Status: r.StatusAt(now),
		Places: r.Places(), TotalMinor: r.TotalMinor(), Currency: r.Currency,
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, Now: now, ShowVersion: version,
		BookingID: r.BookingID, EntryID: r.WaitlistEntryID, Metadata: r.Metadata,
	}
	v.Seats = make([]SeatView, 0, len(r.Seats))
	for _, line := range r.Seats {
		seat := terms.Plan.Seat(line.No)
		if seat == nil { // the show moved to a plan without it, or our terms are old
			fresh, err := s.freshTerms(ctx, r.ShowID)
			if err != nil {
				return nil, err
			}
			if terms = fresh; terms.Plan.Seat(line.No) == nil {
				v.Seats = append(v.Seats, SeatView{Label: "#" + strconv.Itoa(int(line.No)), TicketType: line.TicketType, PriceMinor: line.PriceMinor})
				continue
			}
			seat = terms.Plan.Seat(line.No)
		}
		v.Seats = append(v.Seats, SeatView{seat.ID, seat.Label, terms.Plan.CategoryOf(seat), line.TicketType, line.PriceMinor})
	}
	v.Areas = make([]AreaView, 0, len(r.Areas))
	for _, line := range r.Areas {
		a, err := s.area(ctx, r.ShowID, func(a boxoffice.AreaRow) bool { return a.No == line.No })
		if err != nil {
			return nil, err
		}
		if a == nil { // the show moved to a plan without it
			a = &boxoffice.AreaRow{Name: "#" + strconv.Itoa(int(line.No))}
		}
		v.Areas = append(v.Areas, AreaView{a.ID, a.Name, line.TicketType, line.Requested, line.Quantity, line.PriceMinor})
	}
	return v, nil
}

// resolveSeats finds the numbers of named seats. What is not found keeps the
// number -1: whether it is unknown is for the rules to say. Terms that do not
// know a seat may be old, so they are read again, once.
func (s *Store) resolveSeats(ctx context.Context, terms *boxoffice.Terms, refs []SeatRef) ([]boxoffice.SeatWant, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	wants := make([]boxoffice.SeatWant, len(refs))
	var refreshed bool
	for i, ref := range refs {
		find := func() *boxoffice.Seat {
			if ref.ID != uuid.Nil {
				return terms.Plan.SeatByID(ref.ID)
			}
			return terms.Plan.SeatByLabel(ref.Label)
		}
		seat := find()
		if seat == nil && !refreshed {
			refreshed = true
			fresh, err := s.freshTerms(ctx, terms.ShowID)
			if err != nil {
				return nil, err
			}
			terms = fresh
			seat = find()
		}
		wants[i] = boxoffice.SeatWant{No: -1, Named: ref.String(), TicketType: ref.TicketType}
		if seat != nil {
			wants[i].No = seat.No
		}
		if wants[i].TicketType == "" {
			wants[i].TicketType = boxoffice.TicketTypeStandard
		}
	}
	return wants, nil
}

// resolveAreas finds the numbers of named areas and adds up what names the
// same area and ticket type twice.
func (s *Store) resolveAreas(ctx context.Context, terms *boxoffice.Terms, refs []AreaRef) ([]boxoffice.AreaWant, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	var wants []boxoffice.AreaWant
next:
	for _, ref := range refs {
		w := boxoffice.AreaWant{No: -1, Named: ref.ID.String(), TicketType: ref.TicketType, Quantity: ref.Quantity, AllowPartial: ref.AllowPartial}
		if w.TicketType == "" {
			w.TicketType = boxoffice.TicketTypeStandard
		}
		for i := range wants {
			if have := &wants[i]; have.Named == w.Named && have.TicketType == w.TicketType {
				have.Quantity += w.Quantity
				have.AllowPartial = have.AllowPartial && w.AllowPartial
				continue next
			}
		}
		a, err := s.area(ctx, terms.ShowID, func(a boxoffice.AreaRow) bool { return a.ID == ref.ID })
		if err != nil {
			return nil, err
		}
		if a != nil {
			w.No = a.No
		}
		wants = append(wants, w)
	}
	return wants, nil
}

// area finds an area of a show by its number or id, which never change: from
// the cache if it is there. Its counts may be old.
func (s *Store) area(ctx context.Context, show uuid.UUID, is func(boxoffice.AreaRow) bool) (*boxoffice.AreaRow, error) {
	areas := s.terms.areasOf(show)
	i := slices.IndexFunc(areas, is)
	if i < 0 {
		var err error
		if areas, err = s.areasOf(ctx, show); err != nil {
			return nil, err
		}
		s.terms.putAreas(show, areas)
		if i = slices.IndexFunc(areas, is); i < 0 {
			return nil, nil
		}
	}
	return &areas[i], nil
}

// areasOf reads the areas of a show.
func (s *Store) areasOf(ctx context.Context, show uuid.UUID) ([]boxoffice.AreaRow, error) {
	rows, err := s.pool.Query(ctx, sqlAreasLoad, []uuid.UUID{show})
	if err != nil {
		return nil, coded(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (boxoffice.AreaRow, error) {
		var id uuid.UUID
		a := boxoffice.AreaRow{Known: true}
		err := row.Scan(&id, &a.No, &a.ID, &a.Name, &a.Category, &a.Capacity, &a.Held, &a.Booked)
		return a, err
	})
	return list, coded(err)
}

// explain names the seats and areas of a refusal as clients know them, and the
// customer's own reservation if it really is one: seats know only a hash.
func (s *Store) explain(ctx context.Context, show uuid.UUID, customer string, refusal *boxoffice.Error) error {
	if len(refusal.SeatNos) == 0 && len(refusal.AreaNos) == 0 {
		return refusal
	}
	e := *refusal
	if own := e.Facts.OwnReservationID; own != nil {
		e.Facts.OwnReservationID = nil
		if r, err := s.ReadReservation(ctx, uuid.Nil, customer, *own); err == nil {
			e.Facts.OwnReservationID = &r.ID
			e.Detail += " Your own reservation " + r.ID.String() + " holds one of them; change or release it."
		}
	}
	if len(e.SeatNos) > 0 {
		terms, err := s.termsOf(ctx, show)
		if err != nil {
			return err
		}
		var labels []string
		for i, no := range e.SeatNos {
			if seat := terms.Plan.Seat(no); seat != nil {
				e.Facts.UnavailableSeatIDs = append(e.Facts.UnavailableSeatIDs, seat.ID)
				e.Facts.UnavailableSeats = append(e.Facts.UnavailableSeats, boxoffice.SeatRef{SeatID: seat.ID, Label: seat.Label, Status: e.SeatNows[i]})
				if len(labels) < 5 {
					labels = append(labels, seat.Label)
				}
			}
		}
		e.Detail = strings.Join(labels, ", ") + ": " + e.Detail
	}
	for _, short := range e.AreaNos {
		a, err := s.area(ctx, show, func(a boxoffice.AreaRow) bool { return a.No == short.AreaNo })
		if err != nil {
			return err
		}
		if a != nil {
			e.Facts.Areas = append(e.Facts.Areas, boxoffice.AreaRef{AreaID: a.ID, Requested: short.Requested, Available: short.Available})
		}
	}
	return &e
}

// scanReservation reads a row of the reservations' common columns, and what
// follows them.
func scanReservation(row interface{ Scan(...any) error }, more ...any) (*boxoffice.Reservation, error) {
	r := &boxoffice.Reservation{}
	var closed *time.Time
	var block, booking *uuid.UUID
	var ownEnd *time.Time
	var entry *uuid.UUID
	var seatNos, areaNos, requested, quantities []int32
	var seatTypes, areaTypes []string
	var seatPrices, areaPrices []int64
	var metadata []byte
	dest := []any{&r.ShowID, &r.ID, &r.CustomerID, &r.Status, &r.CreatedAt, &r.ExpiresAt, &r.HoldSeconds,
		&closed, &r.Staff, &block, &booking, &r.Currency,
		&seatNos, &seatTypes, &seatPrices, &areaNos, &areaTypes, &requested, &quantities, &areaPrices, &metadata,
		&ownEnd, &r.CancelledPlaces, &entry}
	if err := row.Scan(append(dest, more...)...); err != nil {
		return nil, err
	}
	r.ClosedAt, r.BlockID, r.BookingID = orZero(closed), orZero(block), orZero(booking)
	r.OwnEnd, r.WaitlistEntryID = orZero(ownEnd), orZero(entry)
	for i, no := range seatNos {
		r.Seats = append(r.Seats, boxoffice.SeatLine{No: no, TicketType: seatTypes[i], PriceMinor: seatPrices[i]})
	}
	for i, no := range areaNos {
		r.Areas = append(r.Areas, boxoffice.AreaLine{No: no, TicketType: areaTypes[i], Requested: int(requested[i]), Quantity: int(quantities[i]), PriceMinor: areaPrices[i]})
	}
	if metadata != nil {
		if err := json.Unmarshal(metadata, &r.Metadata); err != nil {
			return nil, err
		}
	}
	return r, nil
}
