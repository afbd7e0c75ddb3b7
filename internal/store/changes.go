package store

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

var (
	sqlChangesOfShow    = queries.Must("changes_of_show")
	sqlChangesOfBooking = queries.Must("changes_of_booking")
	sqlChangesList      = queries.Must("changes_list")
)

// ChangeID is a change's place in the log of all shows.
type ChangeID struct {
	Xid     uint64 // the transaction that wrote it
	ShowID  uuid.UUID
	Version int64
	N       int32
}

// ChangeView is an entry of the log with its places named.
type ChangeView struct {
	ChangeID
	At            time.Time
	Type          boxoffice.ChangeType
	Actor         string
	Reason        boxoffice.Reason
	ReservationID uuid.UUID // zero: none
	BlockID       uuid.UUID // zero: none
	BookingID     uuid.UUID // zero: none
	PaymentID     uuid.UUID // zero: none
	RefundID      uuid.UUID // zero: none
	TicketIDs     []uuid.UUID
	AmountMinor   int64     // of the payment or refund; 0: none
	Before, After string    // statuses; "" when there is none
	ExpiresAt     time.Time // zero: none
	Seats         []ChangedSeat
	Areas         []ChangedArea
	Detail        string // for people
}

// ChangedSeat is a seat and what it became.
type ChangedSeat struct {
	SeatID uuid.UUID // zero: the show has moved to a plan without it
	Label  string
	Status boxoffice.SeatStatus
}

// ChangedArea is an area and the units that were taken or, negative, given
// back: buying moves units from held to booked.
type ChangedArea struct {
	AreaID uuid.UUID // zero: the show has moved to a plan without it
	Name   string
	Units  int // held ones
	Booked int // units
}

// ChangeFilter says which changes to list. Zero values do not filter.
type ChangeFilter struct {
	OrganisationID uuid.UUID // required
	ShowID         uuid.UUID
	SeatID         uuid.UUID
	ReservationID  uuid.UUID
	BookingID      uuid.UUID
	Type           boxoffice.ChangeType
	Actor          string
	Since          time.Time
	After          *ChangeID // the last one of the page before
	Limit          int       // 1…200
}

// ListChanges returns a page of the log, the oldest first. Within one show,
// or of one reservation or booking, the order is that of the show's versions
// and the page is up to date. Across shows it is an order in which nothing ever appears
// behind what was returned: changes are held back while a transaction that
// began before them is running.
func (s *Store) ListChanges(ctx context.Context, f ChangeFilter) ([]ChangeView, error) {
	if f.ShowID == uuid.Nil && f.ReservationID != uuid.Nil {
		show, _, err := s.showOf(ctx, f.ReservationID)
		if boxoffice.CodeOf(err) == boxoffice.CodeNotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		f.ShowID = show
	}
	if f.ShowID == uuid.Nil && f.BookingID != uuid.Nil {
		place, err := s.placeOfBooking(ctx, f.BookingID)
		if boxoffice.CodeOf(err) == boxoffice.CodeNotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		f.ShowID = place.show
	}
	after := f.After
	if after != nil && f.ShowID != uuid.Nil && after.ShowID != f.ShowID {
		return nil, boxoffice.Invalid(boxoffice.Violation{Field: "cursor", Message: "is of another list"})
	}
	var xid *string
	var show *uuid.UUID
	var version *int64
	var n *int32
	if after != nil {
		xid, show, version, n = new(strconv.FormatUint(after.Xid, 10)), &after.ShowID, &after.Version, &after.N
	}
	var rows pgx.Rows
	var err error
	if f.ShowID != uuid.Nil {
		sql := sqlChangesOfShow
		if f.BookingID != uuid.Nil {
			sql = sqlChangesOfBooking
		}
		rows, err = s.pool.Query(ctx, sql, f.OrganisationID, f.ShowID, version, n,
			nullable(f.SeatID), nullable(f.ReservationID), nullable(f.BookingID), textOrNil(string(f.Type)), textOrNil(f.Actor), instant(f.Since), f.Limit)
	} else {
		rows, err = s.pool.Query(ctx, sqlChangesList, f.OrganisationID, xid, show, version, n,
			nullable(f.SeatID), nullable(f.BookingID), textOrNil(string(f.Type)), textOrNil(f.Actor), instant(f.Since), f.Limit)
	}
	if err != nil {
		return nil, coded(err)
	}
	list, err := pgx.CollectRows(rows, scanChange)
	if err != nil {
		return nil, coded(err)
	}
	return s.nameChanges(ctx, list)
}

// loggedChange is an entry with its places as the log has them.
type loggedChange struct {
	ChangeView
	seatNos, areaNos, areaUnits, areaBooked []int32
	states                                  string
}

func scanChange(row pgx.CollectableRow) (c loggedChange, err error) {
	var xid string
	var reservation, block, booking, payment, refund *uuid.UUID
	var amount *int64
	var before, after, states, detail *string
	var expires *time.Time
	err = row.Scan(&xid, &c.ShowID, &c.Version, &c.N, &c.At, &c.Type, &c.Actor, &c.Reason, &reservation, &block, &booking,
		&before, &after, &expires, &c.seatNos, &states, &c.areaNos, &c.areaUnits, &c.areaBooked, &detail,
		&payment, &refund, &c.TicketIDs, &amount)
	if err != nil {
		return c, err
	}
	c.ReservationID, c.BlockID, c.BookingID = orZero(reservation), orZero(block), orZero(booking)
	c.Before, c.After, c.states, c.Detail = orZero(before), orZero(after), orZero(states), orZero(detail)
	c.ExpiresAt, c.PaymentID, c.RefundID, c.AmountMinor = orZero(expires), orZero(payment), orZero(refund), orZero(amount)
	c.Xid, err = strconv.ParseUint(xid, 10, 64)
	return c, err
}

var statusOf = map[byte]boxoffice.SeatStatus{
	'a': boxoffice.SeatAvailable, 'h': boxoffice.SeatHeld, 'b': boxoffice.SeatBooked, 'x': boxoffice.SeatBlocked,
}

// nameChanges names the places of changes as the shows' plans do now.
func (s *Store) nameChanges(ctx context.Context, list []loggedChange) ([]ChangeView, error) {
	views := make([]ChangeView, len(list))
	areas := map[uuid.UUID]map[int32]*boxoffice.AreaRow{}
	fresh := map[uuid.UUID]bool{}
	for i, c := range list {
		for j, no := range c.seatNos {
			terms, err := s.termsOf(ctx, c.ShowID)
			if err != nil {
				return nil, err
			}
			if terms.Plan.Seat(no) == nil && !fresh[c.ShowID] { // our terms may be old
				fresh[c.ShowID] = true
				if terms, err = s.loadTerms(ctx, s.pool, c.ShowID); err != nil {
					return nil, err
				}
			}
			seat := cmp.Or(terms.Plan.Seat(no), &boxoffice.Seat{Label: "#" + strconv.Itoa(int(no))})
			c.Seats = append(c.Seats, ChangedSeat{seat.ID, seat.Label, statusOf[c.states[j]]})
		}
		if len(c.areaNos) > 0 && areas[c.ShowID] == nil {
			rows, err := s.areasOf(ctx, c.ShowID)
			if err != nil {
				return nil, err
			}
			areas[c.ShowID] = map[int32]*boxoffice.AreaRow{}
			for k := range rows {
				areas[c.ShowID][rows[k].No] = &rows[k]
			}
		}
		for j, no := range c.areaNos {
			area := cmp.Or(areas[c.ShowID][no], &boxoffice.AreaRow{Name: "#" + strconv.Itoa(int(no))})
			changed := ChangedArea{AreaID: area.ID, Name: area.Name, Units: int(c.areaUnits[j])}
			if j < len(c.areaBooked) {
				changed.Booked = int(c.areaBooked[j])
			}
			c.Areas = append(c.Areas, changed)
		}
		views[i] = c.ChangeView
	}
	return views, nil
}
