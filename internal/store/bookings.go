package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

var (
	sqlBookingsPlace    = queries.Must("bookings_place")
	sqlBookingsRead     = queries.Must("bookings_read")
	sqlBookingsList     = queries.Must("bookings_list")
	sqlBookingsSearch   = queries.Must("bookings_search")
	sqlBookingsOfShow   = queries.Must("bookings_of_show")
	sqlBookingsProgress = queries.Must("bookings_progress")
	sqlShowsForsaken    = queries.Must("shows_forsaken")
	sqlBookingsToRemind = queries.Must("bookings_to_remind")
	sqlShowsToRemind    = queries.Must("shows_to_remind")
	sqlShowsReminded    = queries.Must("shows_reminded")
	sqlPeopleForget     = queries.Must("people_forget")
)

// BeginRequest asks for an attempt to pay a reservation.
type BeginRequest struct {
	Gateway string
	Method  string
	Buyer   *boxoffice.Buyer // nil: as before, for a booking that exists
	Holders []string         // by place, seats first
}

// Begun is an attempt to pay that has begun, or a booking that needed none.
type Begun struct {
	BookingID uuid.UUID
	PaymentID uuid.UUID // zero: nothing is to be paid
	Version   int64     // of the show
	Replayed  bool      // an earlier request with the same key began it
	// Place is where the attempt is, as [Store.PaymentPlace] would say; nil:
	// ask there.
	Place *PaymentPlace
}

// BeginBooking begins to buy what a reservation holds; see
// [boxoffice.BeginPayment].
func (s *Store) BeginBooking(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, reservation uuid.UUID, req BeginRequest) (Begun, error) {
	show, _, err := s.showOf(ctx, reservation)
	if err != nil {
		return Begun{}, err
	}
	return s.begin(ctx, show, actor, key, func(reference string) boxoffice.Doer {
		return &boxoffice.BeginPayment{
			ReservationID: reservation, BookingID: NewID(), Reference: reference, PaymentID: NewID(),
			Gateway: req.Gateway, Method: req.Method, Buyer: req.Buyer, Holders: req.Holders,
		}
	})
}

// BeginPayment begins a further attempt to pay a booking.
func (s *Store) BeginPayment(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, booking uuid.UUID, req BeginRequest) (Begun, error) {
	place, err := s.placeOfBooking(ctx, booking)
	if err != nil {
		return Begun{}, err
	}
	return s.begin(ctx, place.show, actor, key, func(string) boxoffice.Doer {
		return &boxoffice.BeginPayment{
			ReservationID: place.reservation, PaymentID: NewID(), Gateway: req.Gateway, Method: req.Method,
			Buyer: req.Buyer, Holders: req.Holders,
		}
	})
}

// ConfirmRequest books a hold that was paid elsewhere.
type ConfirmRequest struct {
	Method     string
	PaymentRef string
	Buyer      *boxoffice.Buyer // nil: nobody is named
	Holders    []string
}

// ConfirmReservation books what a reservation holds without a gateway; see
// [boxoffice.ConfirmReservation].
func (s *Store) ConfirmReservation(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, reservation uuid.UUID, req ConfirmRequest) (Begun, error) {
	show, _, err := s.showOf(ctx, reservation)
	if err != nil {
		return Begun{}, err
	}
	return s.begin(ctx, show, actor, key, func(reference string) boxoffice.Doer {
		return &boxoffice.ConfirmReservation{
			ReservationID: reservation, BookingID: NewID(), Reference: reference, PaymentID: NewID(),
			Method: req.Method, PaymentRef: req.PaymentRef, Buyer: req.Buyer, Holders: req.Holders,
		}
	})
}

// begin gives a command that may make a booking. A reference that is taken is
// a matter of chance, and tried again with another one.
func (s *Store) begin(ctx context.Context, show uuid.UUID, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, do func(reference string) boxoffice.Doer) (Begun, error) {
	const tries = 3
	for try := 1; ; try++ {
		cmd := do(newReference())
		out, err := s.do(ctx, show, &laneCommand{Command: boxoffice.Command{Key: key, Actor: actor, Do: cmd}})
		if err == nil {
			r := out.Receipt
			begun := Begun{BookingID: r.BookingID, PaymentID: r.PaymentID, Version: r.Version, Replayed: out.Replayed}
			// A receipt that was read back, because the answer to its commit was
			// lost, has no ids in its hold: much may have happened since.
			if c, ok := cmd.(*boxoffice.BeginPayment); ok && c.BookingID == r.BookingID && r.Reservation != nil && r.Reservation.ID == c.ReservationID {
				begun.Place = placeOf(show, c, r)
			}
			return begun, nil
		}
		var pg *pgconn.PgError
		if try == tries || !errors.As(err, &pg) || pg.ConstraintName != "bookings_one_reference" {
			return Begun{}, err
		}
	}
}

// placeOf is where an attempt is that has just begun, with its booking.
func placeOf(show uuid.UUID, c *boxoffice.BeginPayment, r *boxoffice.Receipt) *PaymentPlace {
	hold := r.Reservation
	return &PaymentPlace{
		ShowID: show, BookingID: r.BookingID, PaymentID: r.PaymentID, ReservationID: hold.ID, Gateway: c.Gateway,
		Status: boxoffice.PaymentPending, Booking: boxoffice.BookingPending, HoldEnds: hold.ExpiresAt,
		AmountMinor: hold.TotalMinor(), Currency: hold.Currency, Reference: c.Reference, CustomerID: hold.CustomerID,
	}
}

// newReference makes a booking's reference from random bytes, each letter as
// likely as the others.
func newReference() string {
	const letters = boxoffice.ReferenceAlphabet
	most := byte(256 / len(letters) * len(letters))
	reference := make([]byte, 0, boxoffice.ReferenceLength)
	var random [2 * boxoffice.ReferenceLength]byte
	for len(reference) < boxoffice.ReferenceLength {
		rand.Read(random[:])
		for _, b := range random {
			if b < most && len(reference) < boxoffice.ReferenceLength {
				reference = append(reference, letters[int(b)%len(letters)])
			}
		}
	}
	return string(reference)
}

// CancelRequest gives tickets back.
type CancelRequest struct {
	TicketIDs []uuid.UUID // nil: all
	Override  bool        // by somebody who may refund
	Reason    boxoffice.Reason
}

// Cancelled is what a cancellation did. It is the same each time it is asked
// for: refunds are as they were begun.
type Cancelled struct {
	Status   boxoffice.BookingStatus
	Tickets  []TicketView     // that were given back
	Hold     *ReservationView // that was released, when it was not confirmed yet; nil: none
	Refunds  []*boxoffice.Refund
	View     *BookingView // as it is now
	Open     uuid.UUID    // a payment that was under way and has to be cancelled at its gateway; zero: none
	Version  int64
	Replayed bool
}

// CancelBooking gives tickets back, or takes a purchase back; see
// [boxoffice.CancelBooking].
func (s *Store) CancelBooking(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, booking uuid.UUID, req CancelRequest) (*Cancelled, error) {
	place, err := s.placeOfBooking(ctx, booking)
	if err != nil {
		return nil, err
	}
	out, err := s.do(ctx, place.show, &laneCommand{Command: boxoffice.Command{Key: key, Actor: actor, Do: &boxoffice.CancelBooking{
		BookingID: booking, ReservationID: place.reservation, TicketIDs: req.TicketIDs, Override: req.Override, Reason: req.Reason,
	}}})
	if err != nil {
		return nil, err
	}
	r := out.Receipt
	v, err := s.ReadBooking(ctx, uuid.Nil, "", booking)
	if err != nil {
		return nil, err
	}
	done := &Cancelled{Status: boxoffice.BookingStatus(r.Booking), View: v, Open: r.PaymentID, Version: r.Version, Replayed: out.Replayed}
	about := func(id uuid.UUID) bool { return len(r.TicketIDs) == 0 || slices.Contains(r.TicketIDs, id) }
	for _, t := range v.Tickets {
		if t.Status == boxoffice.TicketVoid && !t.VoidAt.After(r.At) && about(t.ID) {
			done.Tickets = append(done.Tickets, t)
		}
	}
	if len(v.Tickets) == 0 {
		hold, err := s.ReadReservation(ctx, uuid.Nil, "", place.reservation)
		if err != nil {
			return nil, err
		}
		if hold.Status == boxoffice.ReservationReleased {
			done.Hold = hold
		}
	}
	for _, f := range v.Refunds {
		if strings.HasPrefix(f.Cause, "cancel:") && !f.CreatedAt.After(r.At) && slices.ContainsFunc(f.TicketIDs, about) {
			done.Refunds = append(done.Refunds, f)
		}
	}
	return done, nil
}

// bookingPlace is where a booking is: what never changes about it.
type bookingPlace struct {
	show, reservation, organisation uuid.UUID
	customer                        string
}

func (s *Store) placeOfBooking(ctx context.Context, id uuid.UUID) (p bookingPlace, err error) {
	var status string
	err = s.pool.QueryRow(ctx, sqlBookingsPlace, id).Scan(&p.show, &p.reservation, &p.organisation, &p.customer, &status)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, errNoBooking()
	}
	return p, coded(err)
}

func errNoBooking() error {
	return boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such booking.")
}

// BookingView is a booking as readers see it, at one instant.
type BookingView struct {
	boxoffice.Booking // without Tickets
	ShowID            uuid.UUID
	OrganisationID    uuid.UUID
	Buyer             *boxoffice.Buyer // nil: not given, or forgotten
	Tickets           []TicketView
	ExpiresAt         time.Time // when its hold ends, or ended
	Metadata          map[string]string
	Now               time.Time // database clock
}

// Payment is the attempt that counts: the one that was applied, else the last;
// nil when there was none.
func (v *BookingView) Payment() *boxoffice.Payment {
	for _, p := range v.Payments {
		if p.ID == v.AppliedID {
			return p
		}
	}
	if n := len(v.Payments); n > 0 {
		return v.Payments[n-1]
	}
	return nil
}

// TicketView is a ticket as readers see it.
type TicketView struct {
	boxoffice.Ticket
	ShowID     uuid.UUID
	Seat       SeatView  // of a unit of an area: Label is the area's name, SeatID zero
	Section    string    // as the plan has it; "" for areas, and where there is none
	Row        string    //
	Number     string    // the seat's own name in its row
	AreaID     uuid.UUID // zero: a seat
	HolderName string    // personal; "": not named
}

// ReadBooking returns a booking. A zero organisation reads all organisations',
// and customer "" anybody's; otherwise those of others are NOT_FOUND.
func (s *Store) ReadBooking(ctx context.Context, organisation uuid.UUID, customer string, id uuid.UUID) (*BookingView, error) {
	list, err := s.readBookings(ctx, []uuid.UUID{id})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 || (customer != "" && list[0].CustomerID != customer) ||
		(organisation != uuid.Nil && list[0].OrganisationID != organisation) {
		return nil, errNoBooking()
	}
	return list[0], nil
}

// readBookings reads whole bookings, the newest first, all from one snapshot.
func (s *Store) readBookings(ctx context.Context, ids []uuid.UUID) (list []*BookingView, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	byID := map[uuid.UUID]*BookingView{}
	var tickets []TicketView
	err = s.snapshotBatch(ctx, func(b *pgx.Batch) {
		b.Queue(sqlBookingsRead, ids).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				v := &BookingView{}
				var name, email, phone, locale *string
				show, k, err := scanBooking(rows, &v.OrganisationID, &name, &email, &phone, &locale, &v.ExpiresAt, &v.Metadata, &v.Now)
				if err != nil {
					return err
				}
				v.Booking, v.ShowID = *k, show
				if name != nil {
					v.Buyer = &boxoffice.Buyer{Name: *name, Email: orZero(email), Phone: orZero(phone), Locale: orZero(locale)}
				}
				byID[k.ID] = v
				list = append(list, v)
			}
			return rows.Err()
		})
		b.Queue(sqlPaymentsRead, ids).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				_, p, err := scanPayment(rows)
				if err != nil {
					return err
				}
				byID[p.BookingID].Payments = append(byID[p.BookingID].Payments, p)
			}
			return rows.Err()
		})
		b.Queue(sqlRefundsRead, ids).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				_, f, err := scanRefund(rows)
				if err != nil {
					return err
				}
				byID[f.BookingID].Refunds = append(byID[f.BookingID].Refunds, f)
			}
			return rows.Err()
		})
		b.Queue(sqlTicketsRead, ids).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var v TicketView
				var holder *string
				show, t, err := scanTicket(rows, &holder)
				if err != nil {
					return err
				}
				v.Ticket, v.ShowID, v.HolderName = *t, show, orZero(holder)
				tickets = append(tickets, v)
			}
			return rows.Err()
		})
	})
	if err != nil {
		return nil, err
	}
	for _, t := range tickets {
		if err := s.nameTicket(ctx, &t); err != nil {
			return nil, err
		}
		byID[t.BookingID].Tickets = append(byID[t.BookingID].Tickets, t)
	}
	return list, nil
}

// nameTicket names the place of a ticket as the show's plan does now.
func (s *Store) nameTicket(ctx context.Context, t *TicketView) error {
	t.Seat = SeatView{TicketType: t.TicketType, PriceMinor: t.PriceMinor}
	if t.SeatNo < 0 {
		a, err := s.area(ctx, t.ShowID, func(a boxoffice.AreaRow) bool { return a.No == t.AreaNo })
		if err != nil {
			return err
		}
		a = cmp.Or(a, &boxoffice.AreaRow{Name: "#" + strconv.Itoa(int(t.AreaNo))})
		t.AreaID, t.Seat.Label, t.Seat.Category = a.ID, a.Name, a.Category
		return nil
	}
	terms, err := s.termsOf(ctx, t.ShowID)
	if err != nil {
		return err
	}
	if terms.Plan.Seat(t.SeatNo) == nil { // our terms may be old
		if terms, err = s.freshTerms(ctx, t.ShowID); err != nil {
			return err
		}
	}
	seat := terms.Plan.Seat(t.SeatNo)
	if seat == nil { // a void ticket's, and the show moved to a plan without it
		t.Seat.Label = "#" + strconv.Itoa(int(t.SeatNo))
		return nil
	}
	t.Seat.SeatID, t.Seat.Label, t.Seat.Category = seat.ID, seat.Label, terms.Plan.CategoryOf(seat)
	t.Section, t.Row, t.Number = seat.Section, seat.Row, seat.Number
	return nil
}

// BookingFilter says which bookings to list. Zero values do not filter.
type BookingFilter struct {
	OrganisationID uuid.UUID // required
	ShowID         uuid.UUID
	Status         boxoffice.BookingStatus
	CustomerID     string
	// Search finds by reference, words of the buyer's name, mail address and
	// phone number. Words are beginnings, and all must be found.
	Search string
	After  uuid.UUID // the last one of the page before
	Limit  int       // 1…200
}

// ListBookings returns a page of bookings, the newest first.
func (s *Store) ListBookings(ctx context.Context, f BookingFilter) ([]*BookingView, error) {
	args := []any{f.OrganisationID, nullable(f.ShowID), textOrNil(string(f.Status)), textOrNil(f.CustomerID), nullable(f.After)}
	var ids []uuid.UUID
	var err error
	if strings.TrimSpace(f.Search) != "" {
		ids, err = readIDs(ctx, s.pool, sqlBookingsSearch, append(args, referenceOf(f.Search), prefixes(f.Search), f.Limit)...)
	} else {
		ids, err = readIDs(ctx, s.pool, sqlBookingsList, append(args, f.Limit)...)
	}
	if err != nil {
		return nil, err
	}
	return s.readBookings(ctx, ids)
}

// referenceOf is a search as a reference: people write them in lower case and
// in groups.
func referenceOf(search string) string {
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' {
			return -1
		}
		return r
	}, search))
}

// prefixes makes a tsquery of a search: each word is the beginning of one that
// must be there. A phone number is one word, however it is grouped.
func prefixes(search string) *string {
	words := foldWords(search)
	if digits := digitsOf(search); len(digits) >= 5 && len(words) > 0 && strings.Trim(search, "+-/().0123456789 ") == "" {
		words = []string{digits[max(0, len(digits)-7):]}
	}
	if len(words) == 0 {
		return nil
	}
	for i, w := range words {
		words[i] = "'" + strings.NewReplacer("'", "''", `\`, `\\`).Replace(w) + "':*"
	}
	return new(strings.Join(words, " & "))
}

// ForgetPeople empties what is personal of a customer's bookings: names, mail
// addresses, phone numbers. It returns how many rows went; doing it again
// finds none.
func (s *Store) ForgetPeople(ctx context.Context, key boxoffice.IdempotencyKey, organisation uuid.UUID, customer string) (rows int64, replayed bool, err error) {
	return once(ctx, s, organisation, key, func(ctx context.Context, tx pgx.Tx) (n int64, err error) {
		err = tx.QueryRow(ctx, sqlPeopleForget, organisation, customer).Scan(&n)
		return n, err
	})
}

// OpenBookings lists bookings of a show that are pending or confirmed, by id,
// after the given one.
func (s *Store) OpenBookings(ctx context.Context, show, after uuid.UUID, limit int) ([]uuid.UUID, error) {
	rows, err := s.pool.Query(ctx, sqlBookingsOfShow, show, nullable(after), limit)
	if err != nil {
		return nil, coded(err)
	}
	var ids []uuid.UUID
	var id, reservation uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&id, &reservation}, func() error {
		ids = append(ids, id)
		return nil
	})
	return ids, coded(err)
}

// CancelForsaken puts cancelled shows on the queue again whose bookings are not
// paid back and that have no job: theirs was discarded. It returns how many.
func (s *Store) CancelForsaken(ctx context.Context, limit int) (n int, err error) {
	err = s.tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sqlShowsForsaken, limit)
		if err != nil {
			return err
		}
		shows, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		if err != nil {
			return err
		}
		n = len(shows)
		tasks := make([]Task, n)
		for i, show := range shows {
			tasks[i] = Task{show, boxoffice.Task{Kind: boxoffice.TaskCancelShow}}
		}
		return s.schedule(ctx, tx, tasks)
	})
	return n, err
}

// Progress says how far the paying back of a cancelled show is.
type Progress struct {
	Left     int // bookings that are not cancelled yet
	Done     int // bookings that are
	Sending  int // refunds that the gateway has not answered yet
	Refused  int // refunds that the gateway refuses: people must look
	Complete bool
}

// CancellationProgress says how far the paying back of a cancelled show is.
func (s *Store) CancellationProgress(ctx context.Context, show uuid.UUID) (p Progress, err error) {
	err = s.pool.QueryRow(ctx, sqlBookingsProgress, show).Scan(&p.Left, &p.Done, &p.Sending, &p.Refused)
	p.Complete = p.Left+p.Sending+p.Refused == 0
	return p, coded(err)
}

// RemindBuyers puts a reminder on the queue for each buyer of shows that begin
// within the given time, once a show, for at most so many
// shows. It returns for how many.
func (s *Store) RemindBuyers(ctx context.Context, before time.Duration, most int) (shows int, err error) {
	err = s.tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sqlShowsToRemind, before.Seconds(), most)
		if err != nil {
			return err
		}
		var due []uuid.UUID
		var show uuid.UUID
		var starts time.Time
		if _, err := pgx.ForEachRow(rows, []any{&show, &starts}, func() error { due = append(due, show); return nil }); err != nil {
			return err
		}
		shows = len(due)
		for _, show := range due {
			rows, err := tx.Query(ctx, sqlBookingsToRemind, show)
			if err != nil {
				return err
			}
			ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
			if err != nil {
				return err
			}
			tasks := make([]Task, len(ids))
			for i, id := range ids {
				tasks[i] = Task{show, boxoffice.Task{Kind: boxoffice.TaskMail, Mail: boxoffice.MailReminder, BookingID: id}}
			}
			if err := s.schedule(ctx, tx, tasks); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, sqlShowsReminded, show); err != nil {
				return err
			}
		}
		return nil
	})
	return shows, err
}

func (s *Store) schedule(ctx context.Context, tx pgx.Tx, tasks []Task) error {
	if s.cfg.Jobs == nil || len(tasks) == 0 {
		return nil
	}
	b := &pgx.Batch{}
	if err := s.cfg.Jobs.Schedule(ctx, tx.Conn(), b, nil, tasks); err != nil || b.Len() == 0 {
		return err
	}
	return tx.SendBatch(ctx, b).Close()
}
