package store

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

var (
	sqlSeatsWanted         = queries.Must("seats_wanted")
	sqlSeatsLockOwned      = queries.Must("seats_lock_owned")
	sqlSeatsLockAll        = queries.Must("seats_lock_all")
	sqlReservationsNamed   = queries.Must("reservations_named")
	sqlReservationsDue     = queries.Must("reservations_due")
	sqlReservationsDueArea = queries.Must("reservations_due_in_areas")
	sqlReservationsPlaces  = queries.Must("reservations_places")
	sqlReservationsExist   = queries.Must("reservations_exist")
	sqlAreasLoad           = queries.Must("areas_load")
)

// load reads, and locks, what the commands need to be decided.
func (t *laneTx) load(ctx context.Context) error {
	for _, sh := range t.shows {
		if !sh.found {
			continue // Decide says NOT_FOUND
		}
		terms, err := t.w.s.termsAt(ctx, t.w.conn, sh.id, sh.def)
		if err != nil {
			return err
		}
		sh.state.Terms = terms
		sh.state.Seats = map[int32]*boxoffice.SeatRow{}
		sh.state.Areas = map[int32]*boxoffice.AreaRow{}
		sh.state.Reservations = map[uuid.UUID]*boxoffice.Reservation{}
		sh.state.Places = map[string]int{}
		sh.state.Blocks = map[uuid.UUID]bool{}
		sh.state.Bookings = map[uuid.UUID]*boxoffice.Booking{}
		sh.state.Scans = map[uuid.UUID]*boxoffice.Scan{}
		sh.need()
	}
	b := &pgx.Batch{}
	t.loadSeats(b)
	t.loadReservations(b)
	t.loadScans(b)
	t.loadAdmissions(b)
	t.loadWaitlist(b)
	// What is read shows what else is needed: the seats of a hold that is named,
	// its booking, an overdue hold on one of the seats. It ends because each is
	// asked for once.
	for b.Len() > 0 {
		if err := t.send(ctx, b); err != nil {
			return err
		}
		b = &pgx.Batch{}
		t.loadLate(b)
		t.loadOwned(b)
		t.loadBookings(b)
		t.loadWaitlist(b)
	}
	return nil
}

// need notes what a show's commands want loaded.
func (sh *laneShow) need() {
	sh.seats, sh.areas = map[int32]bool{}, map[int32]int{}
	sh.named, sh.overdue, sh.owned = map[uuid.UUID]bool{}, map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	sh.bookings, sh.late = map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	want := func(seats []boxoffice.SeatWant) {
		for _, w := range seats {
			if w.No >= 0 {
				sh.seats[w.No] = true
			}
		}
	}
	sh.limits = sh.state.Terms.MaxPlacesPerCustomer > 0
	if sh.waiting > 0 {
		sh.due = 1 // is any? Its places are for those who wait, whatever the batch is about
	}
	for _, c := range sh.calls {
		switch do := c.Command.Do.(type) {
		case *boxoffice.PlaceReservation:
			want(do.Seats)
			for _, a := range do.Areas {
				sh.areas[a.No] += a.Quantity
			}
			sh.limit(do.CustomerID)
			if sh.state.Terms.QueueOpen && do.Pass != nil && !do.Pass.Forged {
				sh.turns = append(sh.turns, do.Pass.Number)
			}
		case *boxoffice.ChangeReservation:
			want(do.AddSeats)
			for _, a := range do.AddAreas {
				sh.areas[a.No] += a.Quantity
			}
			sh.named[do.ID] = true
			sh.limit(c.Command.Actor.CustomerID)
			sh.frees = sh.frees || len(do.RemoveSeats)+len(do.RemoveAreas) > 0
		case *boxoffice.ExtendReservation:
			sh.named[do.ID] = true
		case *boxoffice.ReleaseReservation:
			sh.named[do.ID], sh.frees = true, true
		case *boxoffice.ExpireReservations:
			sh.due += do.Limit
		case *boxoffice.JoinWaitlist:
			sh.joining(do.CustomerID)
		case *boxoffice.LeaveWaitlist:
			sh.entry(do.ID)
			sh.leaves++
			sh.frees = true
		case *boxoffice.OfferWaitlist:
			sh.frees, sh.redefines = true, true
		case *boxoffice.BeginPayment:
			sh.named[do.ReservationID] = true
		case *boxoffice.ConfirmReservation:
			sh.named[do.ReservationID] = true
		case *boxoffice.SettlePayment:
			sh.named[do.ReservationID], sh.bookings[do.BookingID], sh.late[do.ReservationID] = true, true, true
			sh.frees = sh.frees || do.Status == boxoffice.PaymentFailed || do.Status == boxoffice.PaymentCancelled
		case *boxoffice.RecordRefund:
			sh.named[do.ReservationID], sh.bookings[do.BookingID], sh.late[do.ReservationID] = true, true, true
			sh.frees = true
		case *boxoffice.CancelBooking:
			sh.named[do.ReservationID], sh.bookings[do.BookingID] = true, true
			sh.frees = true
		case *boxoffice.SettleRefund:
			sh.bookings[do.BookingID] = true
		case *boxoffice.RetryRefund:
			sh.bookings[do.BookingID] = true
		case *boxoffice.GiveBack:
			sh.bookings[do.BookingID] = true
		case *boxoffice.CheckIn:
			sh.scans = append(sh.scans, do)
		case *boxoffice.BlockSeats:
			want(do.Seats)
		case *boxoffice.UnblockSeats:
			want(do.Seats)
			sh.frees = true
			if len(c.Command.extraSeats) > 0 {
				sh.state.Blocks[do.BlockID] = true
			}
		case *boxoffice.SetAreaCapacity:
			sh.areas[do.AreaNo] += math.MaxInt32 / 2
			sh.frees = true
		case *boxoffice.SetShowStatus:
			sh.frees, sh.redefines = true, true
		case *boxoffice.AmendShow:
			sh.frees, sh.redefines = true, true
			sh.ever = sh.ever || do.Currency != nil
			sh.limits = sh.limits || do.MaxPlacesPerCustomer != nil
			if do.Plan != nil {
				sh.all, sh.due = true, math.MaxInt32
			}
		}
		for _, no := range c.Command.extraSeats {
			sh.seats[no] = true
		}
	}
}

// limit asks for the places that a customer has, where the show limits them.
func (sh *laneShow) limit(customer string) {
	if sh.limits && customer != "" {
		sh.state.Places[customer] = 0
	}
}

// loadSeats queues the reading and locking of wanted seats.
func (t *laneTx) loadSeats(b *pgx.Batch) {
	var shows []uuid.UUID
	var nos []int32
	var nows []time.Time
	for _, sh := range t.shows {
		if sh.all {
			b.Queue(sqlSeatsLockAll, sh.id).Query(t.scanLocked)
			continue
		}
		for _, no := range slices.Sorted(maps.Keys(sh.seats)) {
			shows, nos, nows = append(shows, sh.id), append(nos, no), append(nows, sh.state.Now)
		}
	}
	if len(nos) == 0 {
		return
	}
	b.Queue(sqlSeatsWanted, shows, nos, nows).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var locked *byte
			show, seat, err := scanSeat(rows, &locked)
			if err != nil {
				return err
			}
			// Somebody outside the lanes may have changed the row between its
			// reading and its locking; then it is not had.
			seat.Locked = locked != nil && *locked == seat.State
			sh := t.show(show)
			sh.state.Seats[seat.No] = seat
			if seat.State == 'h' && !sh.state.Now.Before(seat.HeldUntil) {
				sh.overdue[seat.ReservationID] = true
			}
		}
		return rows.Err()
	})
}

// scanLocked takes in seats that this transaction has locked.
func (t *laneTx) scanLocked(rows pgx.Rows) error {
	for rows.Next() {
		show, seat, err := scanSeat(rows)
		if err != nil {
			return err
		}
		seat.Locked = true
		t.show(show).state.Seats[seat.No] = seat
	}
	return rows.Err()
}

func scanSeat(rows pgx.Rows, more ...any) (uuid.UUID, *boxoffice.SeatRow, error) {
	var seat boxoffice.SeatRow
	var show, reservation, block pgtype.UUID
	var until pgtype.Timestamptz
	dest := [8]any{&show, &seat.No, &seat.State, &reservation, &until, &block, &seat.Holder}
	if err := rows.Scan(append(dest[:7], more...)...); err != nil {
		return uuid.Nil, nil, err
	}
	seat.ReservationID, seat.BlockID, seat.HeldUntil = reservation.Bytes, block.Bytes, until.Time
	return show.Bytes, &seat, nil
}

// loadReservations queues the reading of reservations, areas and limits.
func (t *laneTx) loadReservations(b *pgx.Batch) {
	var shows, namedShows, named, dueShows, areaShows, limitShows []uuid.UUID
	var dueNows, areaNows, limitNows []time.Time
	var dueLimits, areaNos, areaUnits []int32
	var customers []string
	for _, sh := range t.shows {
		if sh.state.Terms == nil {
			continue
		}
		shows = append(shows, sh.id)
		for _, id := range slices.SortedFunc(maps.Keys(sh.named), compareIDs) {
			namedShows, named = append(namedShows, sh.id), append(named, id)
		}
		if sh.due > 0 {
			dueShows, dueNows, dueLimits = append(dueShows, sh.id), append(dueNows, sh.state.Now), append(dueLimits, int32(min(sh.due, math.MaxInt32)))
		}
		for _, no := range slices.Sorted(maps.Keys(sh.areas)) {
			areaShows, areaNows, areaNos = append(areaShows, sh.id), append(areaNows, sh.state.Now), append(areaNos, no)
			areaUnits = append(areaUnits, int32(min(sh.areas[no], math.MaxInt32/2)))
		}
		for _, c := range slices.Sorted(maps.Keys(sh.state.Places)) {
			limitShows, limitNows, customers = append(limitShows, sh.id), append(limitNows, sh.state.Now), append(customers, c)
		}
		if sh.ever {
			b.Queue(sqlReservationsExist, sh.id).QueryRow(func(row pgx.Row) error { return row.Scan(&sh.state.EverHeld) })
		}
	}
	if len(named) > 0 {
		b.Queue(sqlReservationsNamed, namedShows, named).Query(t.scanReservations)
	}
	if len(dueShows) > 0 {
		b.Queue(sqlReservationsDue, dueShows, dueNows, dueLimits).Query(t.scanReservations)
	}
	if len(areaNos) > 0 {
		b.Queue(sqlReservationsDueArea, areaShows, areaNows, areaNos, areaUnits).Query(t.scanReservations)
	}
	if len(customers) > 0 {
		b.Queue(sqlReservationsPlaces, limitShows, limitNows, customers).Query(t.scanPlaces)
	}
	if len(shows) > 0 {
		b.Queue(sqlAreasLoad, shows).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var show uuid.UUID
				a := boxoffice.AreaRow{Known: true}
				if err := rows.Scan(&show, &a.No, &a.ID, &a.Name, &a.Category, &a.Capacity, &a.Held, &a.Booked); err != nil {
					return err
				}
				t.show(show).state.Areas[a.No] = &a
			}
			return rows.Err()
		})
	}
}

func (t *laneTx) scanPlaces(rows pgx.Rows) error {
	for rows.Next() {
		var show uuid.UUID
		var customer string
		var places int
		if err := rows.Scan(&show, &customer, &places); err != nil {
			return err
		}
		t.show(show).state.Places[customer] = places
	}
	return rows.Err()
}

func (t *laneTx) scanReservations(rows pgx.Rows) error {
	for rows.Next() {
		r, err := scanReservation(rows)
		if err != nil {
			return err
		}
		t.show(r.ShowID).state.Reservations[r.ID] = r
	}
	return rows.Err()
}

// loadOwned queues the overdue holds that stand in the way, and the seats of
// every reservation that may be ended, changed or bought.
func (t *laneTx) loadOwned(b *pgx.Batch) {
	var shows, inTheWay, seatShows, owners []uuid.UUID
	for _, sh := range t.shows {
		for _, id := range slices.SortedFunc(maps.Keys(sh.overdue), compareIDs) {
			if sh.state.Reservations[id] == nil && !sh.owned[id] {
				shows, inTheWay = append(shows, sh.id), append(inTheWay, id)
			}
		}
		if sh.all {
			continue
		}
		ids := slices.AppendSeq(slices.Collect(maps.Keys(sh.overdue)), maps.Keys(sh.state.Reservations))
		slices.SortFunc(ids, compareIDs)
		for _, id := range slices.Compact(ids) {
			if !sh.owned[id] {
				sh.owned[id] = true
				seatShows, owners = append(seatShows, sh.id), append(owners, id)
			}
		}
	}
	if len(inTheWay) > 0 {
		b.Queue(sqlReservationsNamed, shows, inTheWay).Query(t.scanReservations)
	}
	if len(owners) > 0 {
		b.Queue(sqlSeatsLockOwned, seatShows, owners).Query(t.scanLocked)
	}
}

// loadBookings queues the bookings that are named, and those of reservations,
// whole: with payments, refunds and tickets.
func (t *laneTx) loadBookings(b *pgx.Batch) {
	var shows, ids []uuid.UUID
	for _, sh := range t.shows {
		for _, r := range sh.state.Reservations {
			if _, known := sh.bookings[r.BookingID]; r.BookingID != uuid.Nil && !known {
				sh.bookings[r.BookingID] = true
			}
		}
		for _, id := range slices.SortedFunc(maps.Keys(sh.bookings), compareIDs) {
			if sh.bookings[id] {
				sh.bookings[id] = false
				shows, ids = append(shows, sh.id), append(ids, id)
			}
		}
	}
	t.queueBookings(b, shows, ids)
}

func (t *laneTx) queueBookings(b *pgx.Batch, shows, ids []uuid.UUID) {
	if len(ids) == 0 {
		return
	}
	// The parts come after the bookings they belong to.
	b.Queue(sqlBookingsLoad, shows, ids).Query(t.scanBookings)
	b.Queue(sqlPaymentsLoad, shows, ids).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			show, p, err := scanPayment(rows)
			if err != nil {
				return err
			}
			k := t.show(show).state.Bookings[p.BookingID]
			k.Payments = append(k.Payments, p)
			slices.SortFunc(k.Payments, func(x, y *boxoffice.Payment) int { return x.CreatedAt.Compare(y.CreatedAt) })
		}
		return rows.Err()
	})
	b.Queue(sqlRefundsLoad, shows, ids).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			show, f, err := scanRefund(rows)
			if err != nil {
				return err
			}
			k := t.show(show).state.Bookings[f.BookingID]
			k.Refunds = append(k.Refunds, f)
			slices.SortStableFunc(k.Refunds, func(x, y *boxoffice.Refund) int { return x.CreatedAt.Compare(y.CreatedAt) })
		}
		return rows.Err()
	})
	b.Queue(sqlTicketsLoad, shows, ids).Query(t.scanTickets)
}

func (t *laneTx) scanBookings(rows pgx.Rows) error {
	for rows.Next() {
		show, k, err := scanBooking(rows)
		if err != nil {
			return err
		}
		t.show(show).state.Bookings[k.ID] = k
	}
	return rows.Err()
}

func (t *laneTx) scanTickets(rows pgx.Rows) error {
	for rows.Next() {
		show, ticket, err := scanTicket(rows)
		if err != nil {
			return err
		}
		k := t.show(show).state.Bookings[ticket.BookingID]
		k.Tickets = append(k.Tickets, ticket)
	}
	return rows.Err()
}

// loadLate queues what a payment that came too late needs, to have the places
// of its hold all the same: the overdue holds that stand in the way, and how
// many places the customer has.
func (t *laneTx) loadLate(b *pgx.Batch) {
	var areaShows, limitShows []uuid.UUID
	var areaNows, limitNows []time.Time
	var areaNos, areaUnits []int32
	var customers []string
	for _, sh := range t.shows {
		short := map[int32]bool{}
		for id, asked := range sh.late {
			r := sh.state.Reservations[id]
			if !asked || r == nil || !sh.all && !sh.owned[id] {
				continue // its seats are not here yet
			}
			sh.late[id] = false
			if r.StatusAt(sh.state.Now) != boxoffice.ReservationExpired {
				continue
			}
			for _, s := range r.Seats {
				row := sh.state.Seats[s.No]
				if row != nil && row.State == 'h' && row.ReservationID != id && !sh.state.Now.Before(row.HeldUntil) {
					sh.overdue[row.ReservationID] = true
				}
			}
			for _, l := range r.Areas {
				sh.areas[l.No] += l.Quantity
				short[l.No] = true
			}
			if _, known := sh.state.Places[r.CustomerID]; sh.limits && !known {
				sh.state.Places[r.CustomerID] = 0
				limitShows, limitNows, customers = append(limitShows, sh.id), append(limitNows, sh.state.Now), append(customers, r.CustomerID)
			}
		}
		// For all who want units of an area, or each alone might be no shortage.
		for _, no := range slices.Sorted(maps.Keys(short)) {
			areaShows, areaNows, areaNos = append(areaShows, sh.id), append(areaNows, sh.state.Now), append(areaNos, no)
			areaUnits = append(areaUnits, int32(min(sh.areas[no], math.MaxInt32/2)))
		}
	}
	if len(areaNos) > 0 {
		b.Queue(sqlReservationsDueArea, areaShows, areaNows, areaNos, areaUnits).Query(t.scanReservations)
	}
	if len(customers) > 0 {
		b.Queue(sqlReservationsPlaces, limitShows, limitNows, customers).Query(t.scanPlaces)
	}
}

// loadScans queues the scans that check-ins tell again, and the tickets that
// they are about with the heads of their bookings: who comes with a group of
// thousands does not wait for all of it to be read. A booking that is needed
// whole comes whole, later, in place of that.
func (t *laneTx) loadScans(b *pgx.Batch) {
	var shows, scans, tickets []uuid.UUID
	var headShows, heads, aloneShows, bookings, alone []uuid.UUID
	for _, sh := range t.shows {
		seen := map[uuid.UUID]bool{}
		for _, c := range sh.scans {
			shows, scans, tickets = append(shows, sh.id), append(scans, c.ScanID), append(tickets, c.TicketID)
			if sh.bookings[c.BookingID] || seen[c.TicketID] {
				continue
			}
			seen[c.TicketID] = true
			aloneShows, bookings, alone = append(aloneShows, sh.id), append(bookings, c.BookingID), append(alone, c.TicketID)
			if !seen[c.BookingID] {
				seen[c.BookingID] = true
				headShows, heads = append(headShows, sh.id), append(heads, c.BookingID)
			}
		}
	}
	if len(scans) == 0 {
		return
	}
	if len(alone) > 0 {
		b.Queue(sqlBookingsLoad, headShows, heads).Query(t.scanBookings)
		b.Queue(sqlTicketsNamed, aloneShows, bookings, alone).Query(t.scanTickets)
	}
	b.Queue(sqlScansLoad, shows, scans, tickets).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var show uuid.UUID
			s := &boxoffice.Scan{}
			var firstAt *time.Time
			var firstGate *string
			if err := rows.Scan(&show, &s.ID, &s.TicketID, &s.Result, &s.Admitted, &s.ShouldNot, &s.Offline, &s.Gate,
				&s.At, &s.RecordedAt, &firstAt, &firstGate); err != nil {
				return err
			}
			s.FirstAt, s.FirstGate = orZero(firstAt), orZero(firstGate)
			t.show(show).state.Scans[s.ID] = s
		}
		return rows.Err()
	})
}
