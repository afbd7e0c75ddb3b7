package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

var (
	sqlTicketsRead         = queries.Must("tickets_read")
	sqlTicketsReadOne      = queries.Must("tickets_read_one")
	sqlTicketsPlace        = queries.Must("tickets_place")
	sqlTicketHoldersDelete = queries.Must("ticket_holders_delete")
	sqlAdmissionsRead      = queries.Must("admissions_read")
	sqlAdmissionsTickets   = queries.Must("admissions_tickets")
)

// ticketPlace is where a ticket is: what never changes about it.
type ticketPlace struct {
	bookingPlace
	booking uuid.UUID
	n       int
}

func (s *Store) placeOfTicket(ctx context.Context, id uuid.UUID) (p ticketPlace, err error) {
	err = s.pool.QueryRow(ctx, sqlTicketsPlace, id).Scan(&p.show, &p.booking, &p.reservation, &p.n, &p.organisation, &p.customer)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, errNoTicket()
	}
	return p, coded(err)
}

func errNoTicket() error { return boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such ticket.") }

// SingleTicket is a ticket read by itself: its booking may have thousands.
type SingleTicket struct {
	TicketView
	CustomerID string // of its booking, as the following
	Reference  string
	Currency   string // ISO 4217
}

// ReadTicket returns a ticket; who may see it is as in [Store.ReadBooking].
func (s *Store) ReadTicket(ctx context.Context, organisation uuid.UUID, customer string, id uuid.UUID) (*SingleTicket, error) {
	v := &SingleTicket{}
	var holder *string
	var owner uuid.UUID
	show, t, err := scanTicket(s.pool.QueryRow(ctx, sqlTicketsReadOne, id), &holder, &owner, &v.CustomerID, &v.Reference, &v.Currency)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errNoTicket()
	}
	if err != nil {
		return nil, coded(err)
	}
	if (customer != "" && v.CustomerID != customer) || (organisation != uuid.Nil && owner != organisation) {
		return nil, errNoTicket()
	}
	v.Ticket, v.ShowID, v.HolderName = *t, show, orZero(holder)
	return v, s.nameTicket(ctx, &v.TicketView)
}

// NameHolder puts a name on a ticket, or with "" takes it off. Nothing else
// about the ticket changes.
func (s *Store) NameHolder(ctx context.Context, key boxoffice.IdempotencyKey, organisation uuid.UUID, customer string, ticket uuid.UUID, name string) (replayed bool, err error) {
	p, err := s.placeOfTicket(ctx, ticket)
	if err != nil {
		return false, err
	}
	if (customer != "" && p.customer != customer) || (organisation != uuid.Nil && p.organisation != organisation) {
		return false, errNoTicket()
	}
	_, replayed, err = once(ctx, s, p.organisation, key, func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
		if name == "" {
			_, err := tx.Exec(ctx, sqlTicketHoldersDelete, p.show, p.booking, p.n)
			return struct{}{}, err
		}
		_, err := tx.Exec(ctx, sqlTicketHoldersSave, []uuid.UUID{p.show}, []uuid.UUID{p.booking}, []int32{int32(p.n)},
			[]uuid.UUID{p.organisation}, []string{p.customer}, []string{name})
		return struct{}{}, err
	})
	return replayed, err
}

// CheckInRequest tells of a scan at a gate.
type CheckInRequest struct {
	TicketID uuid.UUID // as its code says
	ShowID   uuid.UUID // as its code says
	ScanID   uuid.UUID
	Gate     string
	At       time.Time // a device without a line let its holder in then; zero: now
}

// CheckedIn is what a gate is told.
type CheckedIn struct {
	Scan     boxoffice.Scan
	Ticket   *TicketView
	Version  int64
	Replayed bool
}

// CheckIn admits a ticket, once; see [boxoffice.CheckIn]. A ticket that there
// is not, or not in that show, is NOT_FOUND.
func (s *Store) CheckIn(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, req CheckInRequest) (*CheckedIn, error) {
	p, err := s.placeOfTicket(ctx, req.TicketID)
	if err != nil {
		return nil, err
	}
	if p.show != req.ShowID {
		return nil, errNoTicket()
	}
	out, err := s.do(ctx, p.show, &laneCommand{Command: boxoffice.Command{Key: key, Actor: actor, Do: &boxoffice.CheckIn{
		BookingID: p.booking, TicketID: req.TicketID, ScanID: req.ScanID, Gate: req.Gate, At: req.At,
	}}})
	if err != nil {
		return nil, err
	}
	ticket, err := s.ReadTicket(ctx, uuid.Nil, "", req.TicketID)
	if err != nil {
		return nil, err
	}
	return &CheckedIn{*out.Receipt.Scan, &ticket.TicketView, out.Receipt.Version, out.Replayed}, nil
}

// Admissions are who went in.
type Admissions struct {
	Tickets int // valid and used
	Heads   int // different tickets that were admitted
	Entries int // scans that let somebody in; more than Heads when devices without a line let a ticket in twice
	Flagged int // of them, those that should not have
	Refused int // scans that let nobody in
	Gates   []GateAdmissions
}

// GateAdmissions are who went in at one gate.
type GateAdmissions struct {
	Gate                             string
	Heads, Entries, Flagged, Refused int
}

// Admissions counts who went into a show of an organisation.
func (s *Store) Admissions(ctx context.Context, organisation, show uuid.UUID) (a Admissions, err error) {
	t, err := s.termsOf(ctx, show)
	if err != nil {
		return a, err
	}
	if t.OrganisationID != organisation {
		return a, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such show.")
	}
	b := &pgx.Batch{}
	b.Queue(sqlAdmissionsTickets, show).QueryRow(func(row pgx.Row) error { return row.Scan(&a.Tickets) })
	b.Queue(sqlAdmissionsRead, show).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var gate *string
			var g GateAdmissions
			var all bool
			if err := rows.Scan(&gate, &g.Entries, &g.Heads, &g.Flagged, &g.Refused, &all); err != nil {
				return err
			}
			if all {
				a.Heads, a.Entries, a.Flagged, a.Refused = g.Heads, g.Entries, g.Flagged, g.Refused
				continue
			}
			g.Gate = orZero(gate)
			a.Gates = append(a.Gates, g)
		}
		return rows.Err()
	})
	return a, coded(s.pool.SendBatch(ctx, b).Close())
}
