package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

var (
	sqlShowHeadsUpdate    = queries.Must("show_heads_update")
	sqlShowsRedefine      = queries.Must("shows_redefine")
	sqlShowsPublishEvent  = queries.Must("shows_publish_event")
	sqlShowPricesDelete   = queries.Must("show_prices_delete")
	sqlShowPricesInsert   = queries.Must("show_prices_insert")
	sqlReservationsInsert = queries.Must("reservations_insert")
	sqlReservationsUpdate = queries.Must("reservations_update")
	sqlSeatsUpdate        = queries.Must("seats_update")
	sqlSeatsInsert        = queries.Must("seats_insert")
	sqlSeatsDelete        = queries.Must("seats_delete")
	sqlAreasUpdate        = queries.Must("areas_update")
	sqlAreasDelete        = queries.Must("areas_delete")
	sqlBlocksInsert       = queries.Must("blocks_insert")
	sqlChangesInsert      = queries.Must("changes_insert")
)

// save writes what was decided and commits.
func (t *laneTx) save(ctx context.Context, writes bool) error {
	if !writes {
		// Only replays. They say again that something is safe, so they wait for
		// the standby as the first answers did.
		return t.commit(ctx, func(out *stream) { out.queue(sqlLanesWitness) })
	}
	var ends []Ending
	var tasks []Task
	for _, sh := range t.shows {
		for _, at := range sh.did.Ends {
			ends = append(ends, Ending{sh.id, at})
		}
		for _, task := range sh.did.Tasks {
			tasks = append(tasks, Task{sh.id, task})
		}
		if err := t.saveShow(ctx, sh); err != nil {
			return err
		}
	}
	jobs := &pgx.Batch{}
	if len(ends)+len(tasks) > 0 && t.w.s.cfg.Jobs != nil {
		if err := t.w.s.cfg.Jobs.Schedule(ctx, t.w.conn, jobs, ends, tasks); err != nil {
			return err
		}
	}
	return t.commit(ctx, func(out *stream) {
		for _, q := range jobs.QueuedQueries {
			out.queue(q.SQL, q.Arguments...)
		}
		t.saveHeads(out)
		t.saveReservations(out)
		t.saveWaitlist(out)
		t.saveSeats(out)
		t.saveAreas(out)
		t.saveAdmissions(out)
		t.saveBookings(out)
		t.savePayments(out)
		t.saveRefunds(out)
		t.saveTickets(out)
		t.saveScans(out)
		t.savePeople(out)
		t.saveLog(out)
		t.saveReceipts(out)
	})
}

// commit writes and commits. Its wait has no deadline that a caller set: a
// cancel during COMMIT would let Postgres give up the standby and still
// acknowledge.
func (t *laneTx) commit(ctx context.Context, write func(*stream)) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), transactionMax)
	defer cancel()
	out := &stream{ctx: ctx, w: t.w}
	write(out)
	t.sent = out.err == nil
	return out.commit()
}

func (t *laneTx) exec(ctx context.Context, sql string, args ...any) error {
	_, err := t.w.conn.Exec(ctx, sql, args...)
	return err
}

// exactly refuses a statement that did not change the rows it was meant to. It
// is for pipelines before the last: what travels with COMMIT is committed by
// the time anybody counts.
func exactly(b *pgx.Batch, n int, what, sql string, args ...any) {
	b.Queue(sql, args...).Exec(func(tag pgconn.CommandTag) error {
		if got := tag.RowsAffected(); got != int64(n) {
			return fmt.Errorf("%s: changed %d rows, not %d", what, got, n)
		}
		return nil
	})
}

func (t *laneTx) saveHeads(out *stream) {
	var ids, orgs []uuid.UUID
	var versions, defs []int64
	var nows []time.Time
	for _, sh := range t.shows {
		if !sh.did.Dirty {
			continue
		}
		def := sh.def
		if sh.did.Terms != nil {
			def = sh.did.Terms.Definition
		}
		ids, orgs = append(ids, sh.id), append(orgs, sh.state.Terms.OrganisationID)
		versions = append(versions, sh.did.Version)
		nows, defs = append(nows, sh.state.Now), append(defs, def)
	}
	if len(ids) > 0 {
		out.queue(sqlShowHeadsUpdate, ids, orgs, versions, nows, defs)
	}
}

// items are the places of reservations as columns of array literals.
type items struct {
	seatNos, seatTypes, seatPrices                                []string
	areaNos, areaTypes, areaRequested, areaQuantities, areaPrices []*string // nil: no areas
}

func (c *items) add(r *boxoffice.Reservation) {
	c.seatNos = append(c.seatNos, literal(r.Seats, func(b []byte, s boxoffice.SeatLine) []byte { return strconv.AppendInt(b, int64(s.No), 10) }))
	c.seatTypes = append(c.seatTypes, literal(r.Seats, func(b []byte, s boxoffice.SeatLine) []byte { return appendQuoted(b, s.TicketType) }))
	c.seatPrices = append(c.seatPrices, literal(r.Seats, func(b []byte, s boxoffice.SeatLine) []byte { return strconv.AppendInt(b, s.PriceMinor, 10) }))
	c.areaNos = append(c.areaNos, literalOrNil(r.Areas, func(b []byte, a boxoffice.AreaLine) []byte { return strconv.AppendInt(b, int64(a.No), 10) }))
	c.areaTypes = append(c.areaTypes, literalOrNil(r.Areas, func(b []byte, a boxoffice.AreaLine) []byte { return appendQuoted(b, a.TicketType) }))
	c.areaRequested = append(c.areaRequested, literalOrNil(r.Areas, func(b []byte, a boxoffice.AreaLine) []byte { return strconv.AppendInt(b, int64(a.Requested), 10) }))
	c.areaQuantities = append(c.areaQuantities, literalOrNil(r.Areas, func(b []byte, a boxoffice.AreaLine) []byte { return strconv.AppendInt(b, int64(a.Quantity), 10) }))
	c.areaPrices = append(c.areaPrices, literalOrNil(r.Areas, func(b []byte, a boxoffice.AreaLine) []byte { return strconv.AppendInt(b, a.PriceMinor, 10) }))
}

func (c *items) args() []any {
	return []any{c.seatNos, c.seatTypes, c.seatPrices, c.areaNos, c.areaTypes, c.areaRequested, c.areaQuantities, c.areaPrices}
}

// literal writes a Postgres array literal: unnest cannot take apart an array
// of arrays of different lengths, so each row's array travels as text.
func literal[T any](list []T, one func([]byte, T) []byte) string {
	if len(list) == 0 {
		return "{}"
	}
	b := make([]byte, 1, 2+12*len(list))
	b[0] = '{'
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, v)
	}
	return string(append(b, '}'))
}

// literalOrNil is literal, but nothing for an empty list.
func literalOrNil[T any](list []T, one func([]byte, T) []byte) *string {
	if len(list) == 0 {
		return nil
	}
	s := literal(list, one)
	return &s
}

func appendID(b []byte, id uuid.UUID) []byte { return append(b, id.String()...) }

func appendNumber(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }

func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		if s[i] == '"' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}

// reservations are reservations as columns, in the order of the arguments of
// reservations_insert and reservations_update.
type reservations struct {
	shows, ids, orgs      []uuid.UUID
	customers, currencies []string
	created, expires      []time.Time
	holds, places         []int32
	staff                 []bool
	blocks                []pgtype.UUID
	totals                []int64
	items                 items
	metadata              []*string

	statuses  []string
	closed    []pgtype.Timestamptz
	reasons   []*string
	bookings  []pgtype.UUID
	ownEnds   []pgtype.Timestamptz
	cancelled []int32
}

func (c *reservations) add(org uuid.UUID, r *boxoffice.Reservation) {
	c.shows, c.ids, c.orgs = append(c.shows, r.ShowID), append(c.ids, r.ID), append(c.orgs, org)
	c.customers, c.currencies = append(c.customers, r.CustomerID), append(c.currencies, r.Currency)
	c.created, c.expires = append(c.created, r.CreatedAt), append(c.expires, r.ExpiresAt)
	c.holds, c.places = append(c.holds, int32(r.HoldSeconds)), append(c.places, int32(r.Places()))
	c.staff, c.blocks = append(c.staff, r.Staff), append(c.blocks, nullable(r.BlockID))
	c.totals, c.metadata = append(c.totals, r.TotalMinor()), append(c.metadata, jsonOrNil(r.Metadata))
	c.items.add(r)
	c.statuses, c.closed = append(c.statuses, string(r.Status)), append(c.closed, instant(r.ClosedAt))
	c.reasons = append(c.reasons, textOrNil(string(r.CloseReason)))
	c.bookings, c.ownEnds = append(c.bookings, nullable(r.BookingID)), append(c.ownEnds, instant(r.OwnEnd))
	c.cancelled = append(c.cancelled, int32(r.CancelledPlaces))
}

func (c *reservations) args() []any {
	args := []any{c.shows, c.ids, c.orgs, c.customers, c.created, c.expires, c.holds, c.staff, c.blocks, c.currencies, c.totals, c.places}
	return append(append(args, c.items.args()...), c.metadata)
}

// saveReservations ends and changes what exists, then adds what is new. What
// was placed and ended within one batch is added and then ended: a reservation
// begins active.
func (t *laneTx) saveReservations(out *stream) {
	var placed, updated, over reservations
	for _, sh := range t.shows {
		if sh.state.Terms == nil {
			continue // there is no such show, and nothing was done to it
		}
		org := sh.state.Terms.OrganisationID
		for _, r := range sh.did.Updated {
			updated.add(org, r)
		}
		for _, r := range sh.did.Placed {
			placed.add(org, r)
			if r.Status != boxoffice.ReservationActive {
				over.add(org, r)
			}
		}
	}
	update := func(c *reservations) {
		if len(c.ids) > 0 {
			out.queue(sqlReservationsUpdate, append(c.args(), c.statuses, c.closed, c.reasons, c.bookings, c.ownEnds, c.cancelled)...)
		}
	}
	update(&updated)
	if len(placed.ids) > 0 {
		out.queue(sqlReservationsInsert, placed.args()...)
	}
	update(&over)
}

func (t *laneTx) saveSeats(out *stream) {
	var shows, orgs []uuid.UUID
	var nos, holders []int32
	var states []string
	var owners, blocks []pgtype.UUID
	var until []pgtype.Timestamptz
	for _, sh := range t.shows {
		for _, s := range sh.did.Seats {
			shows, orgs = append(shows, sh.id), append(orgs, sh.state.Terms.OrganisationID)
			nos, states = append(nos, s.No), append(states, stateText[s.State])
			owners, blocks = append(owners, nullable(s.ReservationID)), append(blocks, nullable(s.BlockID))
			until, holders = append(until, instant(s.HeldUntil)), append(holders, s.Holder)
		}
	}
	t.freeHanded(out)
	if len(nos) > 0 {
		out.queue(sqlSeatsUpdate, shows, orgs, nos, states, owners, until, blocks, holders)
	}
}

// freeHanded frees the seats that one owner gave back and another took within
// the batch: a seat does not go straight from one living owner to the next.
func (t *laneTx) freeHanded(out *stream) {
	for _, sh := range t.shows {
		if len(sh.did.Handed) > 0 {
			out.queue(sqlSeatsUpdate, freed(sh, sh.did.Handed)...)
		}
	}
}

// freed are the arguments that write seats as nobody's.
func freed(sh *laneShow, nos []int32) []any {
	n := len(nos)
	return []any{repeat(sh.id, n), repeat(sh.state.Terms.OrganisationID, n), nos, repeat("a", n),
		make([]pgtype.UUID, n), make([]pgtype.Timestamptz, n), make([]pgtype.UUID, n), make([]int32, n)}
}

var stateText = map[byte]string{'a': "a", 'h': "h", 'b': "b", 'x': "x"}

func (t *laneTx) saveAreas(out *stream) {
	var shows, orgs, ids []uuid.UUID
	var names, categories []string
	var nos, capacities, held, booked []int32
	for _, sh := range t.shows {
		for _, a := range sh.did.Areas {
			shows, orgs = append(shows, sh.id), append(orgs, sh.state.Terms.OrganisationID)
			nos, ids = append(nos, a.No), append(ids, a.ID)
			names, categories = append(names, a.Name), append(categories, a.Category)
			capacities, held, booked = append(capacities, int32(a.Capacity)), append(held, int32(a.Held)), append(booked, int32(a.Booked))
		}
	}
	if len(nos) > 0 {
		out.queue(sqlAreasUpdate, shows, orgs, nos, ids, names, categories, capacities, held, booked)
	}
}

func (t *laneTx) saveLog(out *stream) {
	var shows, orgs []uuid.UUID
	var versions []int64
	var ns []int32
	var ats []time.Time
	var types, actors, reasons []string
	var reservations, blocks []pgtype.UUID
	var before, after, seatNos, seatStates, areaNos, areaUnits, details []*string
	var expires []pgtype.Timestamptz
	var bookings, payments, refunds []pgtype.UUID
	var tickets, areaBooked []*string
	var amounts []*int64
	list := func(l []int32) *string {
		return literalOrNil(l, func(b []byte, n int32) []byte { return strconv.AppendInt(b, int64(n), 10) })
	}
	for _, sh := range t.shows {
		for i := range sh.did.Log {
			c := &sh.did.Log[i]
			shows, orgs = append(shows, sh.id), append(orgs, sh.state.Terms.OrganisationID)
			versions, ns, ats = append(versions, c.Version), append(ns, int32(c.N)), append(ats, c.At)
			types, actors, reasons = append(types, string(c.Type)), append(actors, c.Actor), append(reasons, string(c.Reason))
			reservations, blocks = append(reservations, nullable(c.ReservationID)), append(blocks, nullable(c.BlockID))
			before, after = append(before, textOrNil(c.Before)), append(after, textOrNil(c.After))
			expires = append(expires, instant(c.ExpiresAt))
			seatNos, seatStates = append(seatNos, list(c.SeatNos)), append(seatStates, textOrNil(string(c.SeatStates)))
			areaNos, areaUnits = append(areaNos, list(c.AreaNos)), append(areaUnits, list(c.AreaUnits))
			var detail *string
			if c.Detail != "" {
				detail = jsonOrNil(map[string]string{"text": c.Detail})
			}
			details = append(details, detail)
			bookings, payments, refunds = append(bookings, nullable(c.BookingID)), append(payments, nullable(c.PaymentID)), append(refunds, nullable(c.RefundID))
			tickets, areaBooked = append(tickets, uuidsOrNil(c.TicketIDs)), append(areaBooked, list(c.AreaBooked))
			var amount *int64
			if c.AmountMinor != 0 {
				amount = &c.AmountMinor
			}
			amounts = append(amounts, amount)
		}
	}
	if len(shows) > 0 {
		out.queue(sqlChangesInsert, shows, versions, ns, orgs, ats, types, actors, reasons, reservations,
			blocks, before, after, expires, seatNos, seatStates, areaNos, areaUnits, details, bookings, payments, refunds, tickets, areaBooked, amounts)
	}
}

func (t *laneTx) saveReceipts(out *stream) {
	var owners, receipts []string
	var keys, orgs, shows []uuid.UUID
	var fingerprints [][]byte
	var ats []time.Time
	for _, sh := range t.shows {
		for _, k := range sh.did.Kept {
			text, err := json.Marshal(k.Receipt)
			if err != nil {
				out.fail(fmt.Errorf("receipt: %w", err))
			}
			owners, receipts = append(owners, k.Key.Owner), append(receipts, string(text))
			keys, orgs, shows = append(keys, k.Key.Key), append(orgs, sh.state.Terms.OrganisationID), append(shows, sh.id)
			fingerprints, ats = append(fingerprints, k.Key.Fingerprint[:]), append(ats, k.Receipt.At)
		}
	}
	if len(keys) > 0 {
		out.queue(sqlIdempotencyInsert, owners, keys, orgs, fingerprints, ats, shows, receipts)
	}
}

// A Saver saves columns of a show that no rule reads, inside the transaction
// of the [boxoffice.AmendShow] that carries it.
type Saver interface {
	Save(ctx context.Context, tx pgx.Tx, show uuid.UUID) error
}

// saveShow writes changes of the show itself. They are rare, so each statement
// may have a round trip of its own.
func (t *laneTx) saveShow(ctx context.Context, sh *laneShow) error {
	for _, bl := range sh.did.Blocks {
		if err := t.exec(ctx, sqlBlocksInsert, sh.id, bl.ID, sh.state.Terms.OrganisationID, bl.Reason, bl.SeatNos, sh.state.Now); err != nil {
			return err
		}
	}
	terms := sh.did.Terms
	if terms == nil {
		return nil
	}
	// Several commands of one batch may each have made a definition; only the
	// last is written, as one step.
	terms.Definition = sh.def + 1
	var planID *uuid.UUID
	if terms.Plan != nil {
		planID = &terms.Plan.ID
	}
	b := &pgx.Batch{}
	exactly(b, 1, "terms", sqlShowsRedefine, sh.id, terms.Definition, string(terms.Status), terms.StartsAt, terms.EndsAt,
		terms.SalesStartAt, terms.SalesEndAt, terms.Currency, terms.HoldSeconds, terms.MaxHoldSeconds,
		terms.MaxPlacesPerReservation, terms.MaxPlacesPerCustomer, planID, queueOrNil(&terms.Queue), terms.QueueOpen, terms.QueueEnded, terms.OfferSeconds)
	switch was := sh.state.Terms; {
	case !terms.QueueOpen:
	case !was.QueueOpen:
		b.Queue(sqlQueueHeadsOpen, sh.id, terms.OrganisationID, sh.state.Now)
		b.Queue(sqlQueueAdmissionsLapse, sh.id, sh.state.Now) // turns of the last time are nobody's now
	case was.Status == boxoffice.ShowPaused && terms.Status == boxoffice.ShowOnSale:
		b.Queue(sqlQueueAdmissionsResume, sh.id, sh.state.Now.Add(time.Duration(terms.Queue.AdmissionSeconds)*time.Second))
	}
	if err := t.send(ctx, b); err != nil {
		return err
	}
	if terms.Status == boxoffice.ShowOnSale {
		if err := t.exec(ctx, sqlShowsPublishEvent, sh.id); err != nil {
			return err
		}
	}
	for _, amended := range sh.did.Amended {
		if saver, ok := amended.Other.(Saver); ok {
			if err := saver.Save(ctx, laneConn{t.w.conn}, sh.id); err != nil {
				return err
			}
		}
	}
	if slices.ContainsFunc(sh.did.Amended, func(a *boxoffice.AmendShow) bool { return a.Prices != nil }) {
		if err := t.savePrices(ctx, sh.id, terms); err != nil {
			return err
		}
	}
	return t.savePlan(ctx, sh)
}

func (t *laneTx) savePrices(ctx context.Context, show uuid.UUID, terms *boxoffice.Terms) error {
	if err := t.exec(ctx, sqlShowPricesDelete, show); err != nil {
		return err
	}
	var categories, types []string
	var amounts []int64
	for k, amount := range terms.Prices {
		categories, types, amounts = append(categories, k.Category), append(types, k.TicketType), append(amounts, amount)
	}
	return t.exec(ctx, sqlShowPricesInsert, show, terms.OrganisationID, categories, types, amounts)
}

// savePlan writes the rows that a move to another plan brings and takes away.
// What the move closed is written by the common statements afterwards; here
// only free rows go, so those that just became free are freed first.
func (t *laneTx) savePlan(ctx context.Context, sh *laneShow) error {
	if !slices.ContainsFunc(sh.did.Amended, func(a *boxoffice.AmendShow) bool { return a.Plan != nil }) {
		return nil
	}
	if n := len(sh.did.RemovedSeats); n > 0 {
		b := &pgx.Batch{}
		b.Queue(sqlSeatsUpdate, freed(sh, sh.did.RemovedSeats)...)
		exactly(b, n, "seats removed by the plan", sqlSeatsDelete, sh.id, sh.did.RemovedSeats)
		if err := t.send(ctx, b); err != nil {
			return err
		}
	}
	if len(sh.did.AddedSeats) > 0 {
		if err := t.exec(ctx, sqlSeatsInsert, sh.id, sh.state.Terms.OrganisationID, sh.did.AddedSeats); err != nil {
			return err
		}
	}
	// Areas that the plan brings are written with those that changed.
	if len(sh.did.RemovedAreas) > 0 {
		return t.exec(ctx, sqlAreasDelete, sh.id, sh.did.RemovedAreas)
	}
	return nil
}

func repeat[T any](v T, n int) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = v
	}
	return s
}

func nullable(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: id != uuid.Nil} }

func instant(t time.Time) pgtype.Timestamptz { return pgtype.Timestamptz{Time: t, Valid: !t.IsZero()} }

func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// jsonOrNil is a JSON object of strings with its keys in order, or nil.
func jsonOrNil(m map[string]string) *string {
	if len(m) == 0 {
		return nil
	}
	var b strings.Builder
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b.WriteByte(',')
		} else {
			b.WriteByte('{')
		}
		key, _ := json.Marshal(k)
		value, _ := json.Marshal(m[k])
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	s := b.String()
	return &s
}

// laneConn lends the lane's connection, in its open transaction, to code that
// wants a pgx.Tx. Only the lane itself ends the transaction.
type laneConn struct{ *laneSession }

// laneSession is a connection under a name that does not hide the method Conn.
type laneSession = pgx.Conn

var errLaneTx = errors.New("store: the lane ends its own transaction")

func (c laneConn) Begin(context.Context) (pgx.Tx, error) { return nil, errLaneTx }
func (c laneConn) Commit(context.Context) error          { return errLaneTx }
func (c laneConn) Rollback(context.Context) error        { return errLaneTx }
func (c laneConn) LargeObjects() pgx.LargeObjects        { panic(errLaneTx) }
func (c laneConn) Conn() *pgx.Conn                       { return c.laneSession }
