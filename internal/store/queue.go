package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

var (
	sqlQueuePlans               = queries.Must("queue_plans")
	sqlQueueHeadsEnsure         = queries.Must("queue_heads_ensure")
	sqlQueueHeadsOpen           = queries.Must("queue_heads_open")
	sqlQueueHeadsLock           = queries.Must("queue_heads_lock")
	sqlQueueHeadsSave           = queries.Must("queue_heads_save")
	sqlQueueHeadsArrive         = queries.Must("queue_heads_arrive")
	sqlQueueShowsRead           = queries.Must("queue_shows_read")
	sqlQueueShowsOpen           = queries.Must("queue_shows_open")
	sqlQueueShowsPlaces         = queries.Must("queue_shows_places")
	sqlQueueRoundsUndrawn       = queries.Must("queue_rounds_undrawn")
	sqlQueueRoundsRead          = queries.Must("queue_rounds_read")
	sqlQueueRoundsOfEntry       = queries.Must("queue_rounds_of_entry")
	sqlQueueRoundsLast          = queries.Must("queue_rounds_last")
	sqlQueueRoundsOf            = queries.Must("queue_rounds_of")
	sqlQueueRoundsSave          = queries.Must("queue_rounds_save")
	sqlQueueEntriesOf           = queries.Must("queue_entries_of")
	sqlQueueEntriesInsert       = queries.Must("queue_entries_insert")
	sqlQueueEntriesClose        = queries.Must("queue_entries_close")
	sqlQueueEntriesFind         = queries.Must("queue_entries_find")
	sqlQueueEntriesRead         = queries.Must("queue_entries_read")
	sqlQueueEntriesList         = queries.Must("queue_entries_list")
	sqlQueueEntriesPurge        = queries.Must("queue_entries_purge")
	sqlQueueAdmissionsLapse     = queries.Must("queue_admissions_lapse")
	sqlQueueAdmissionsReturning = queries.Must("queue_admissions_returning")
	sqlQueueAdmissionsRecall    = queries.Must("queue_admissions_recall")
	sqlQueueAdmissionsResume    = queries.Must("queue_admissions_resume")
	sqlQueueAdmissionsCall      = queries.Must("queue_admissions_call")
	sqlQueueAdmissionsReturn    = queries.Must("queue_admissions_return")
	sqlQueueAdmissionsClose     = queries.Must("queue_admissions_close")
	sqlQueueAdmissionsPositions = queries.Must("queue_admissions_positions")
	sqlQueueWaiting             = queries.Must("queue_waiting")
)

// QueueView is a queue entry as its customer sees it, at one instant. It is
// also the receipt of joining, and has nothing personal in its JSON.
type QueueView struct {
	EntryID       uuid.UUID             `json:"entry"`
	ShowID        uuid.UUID             `json:"show"`
	CustomerID    string                `json:"-"`
	Number        int64                 `json:"number"`
	Round         int                   `json:"round"`
	KeyHash       string                `json:"keyHash"` // of the round's draw
	JoinedAt      time.Time             `json:"joinedAt"`
	Status        boxoffice.QueueStatus `json:"status"`
	Position      int64                 `json:"position,omitempty"` // 0: not known yet, or not waiting
	Wait          time.Duration         `json:"wait,omitempty"`     // about, until Position is called; 0 when that is 0
	Turn          int                   `json:"turn,omitempty"`     // of the admission; 0: there was none
	AdmittedAt    time.Time             `json:"admittedAt,omitzero"`
	LapsesAt      time.Time             `json:"lapsesAt,omitzero"`
	SessionEndsAt time.Time             `json:"sessionEndsAt,omitzero"` // zero: the turn was not used
	ReturnUntil   time.Time             `json:"returnUntil,omitzero"`   // until when who missed the turn may come back
	Open          bool                  `json:"open"`
	State         string                `json:"state,omitempty"` // why the room does not move, or is closed; see [boxoffice.Terms.QueueState]
	Waiting       int64                 `json:"waiting"`         // entries that have not been called
	Now           time.Time             `json:"now"`
}

// QueueState is how a show's waiting room is, at one instant.
type QueueState struct {
	Terms boxoffice.Terms // what a waiting room goes by: status, times, settings; no prices, no plan
	Head  boxoffice.QueueHead
	Now   time.Time // never before Head.Since
}

func queueOrDefault(q *boxoffice.Queue) boxoffice.Queue {
	if q == nil {
		return boxoffice.DefaultQueue
	}
	return *q
}

// queueOrNil stores nothing for a show whose organiser has said nothing.
func queueOrNil(q *boxoffice.Queue) *boxoffice.Queue {
	if *q == boxoffice.DefaultQueue || *q == (boxoffice.Queue{}) {
		return nil
	}
	return q
}

func scanQueueState(row scanner) (*QueueState, error) {
	st := &QueueState{}
	t, h := &st.Terms, &st.Head
	var queue *boxoffice.Queue
	var since, calm *time.Time
	err := row.Scan(&t.ShowID, &t.OrganisationID, &t.Status, &t.StartsAt, &t.EndsAt, &t.SalesStartAt, &t.SalesEndAt,
		&queue, &t.QueueOpen, &t.QueueEnded, &h.Joined, &h.Drawn, &h.Head, &since, &h.Freed, &h.Rounds, &calm, &st.Now)
	t.Queue, h.Since, h.Calm = queueOrDefault(queue), orZero(since), orZero(calm)
	return st, err
}

func scanRound(row scanner) (*boxoffice.QueueRound, error) {
	r := &boxoffice.QueueRound{}
	var closes, closed, drawn *time.Time
	err := row.Scan(&r.Round, &r.First, &r.Entries, &r.OpenedAt, &closes, &closed, &drawn, &r.Key, &r.Digest, &r.Beacon, &r.PublicValue, &r.PublicFrom)
	r.ClosesAt, r.ClosedAt, r.DrawnAt = orZero(closes), orZero(closed), orZero(drawn)
	return r, err
}

// scanQueueEntry reads an entry with its admission, if it has one.
func scanQueueEntry(row scanner, more ...any) (*boxoffice.QueueEntry, error) {
	e := &boxoffice.QueueEntry{}
	a := &boxoffice.Admission{}
	var closed, admitted, lapses, session, returning, left *time.Time
	var position *int64
	var turn *int
	var reservation *uuid.UUID
	var passedOn *bool
	dest := []any{&e.ID, &e.Number, &e.Round, &e.CustomerID, &e.JoinedAt, &closed,
		&position, &turn, &admitted, &lapses, &session, &reservation, &returning, &passedOn, &left, &a.Booked}
	err := row.Scan(append(dest, more...)...)
	e.ClosedAt = orZero(closed)
	if turn != nil {
		a.Number, a.EntryID, a.CustomerID = e.Number, e.ID, e.CustomerID
		a.Position, a.Turn, a.AdmittedAt, a.LapsesAt = orZero(position), *turn, orZero(admitted), orZero(lapses)
		a.SessionEndsAt, a.ReservationID, a.ReturningAt = orZero(session), orZero(reservation), orZero(returning)
		a.PassedOn, a.ClosedAt = orZero(passedOn), orZero(left)
		e.Admission = a
	}
	return e, err
}

// queueView is what a customer sees of an entry.
func queueView(st *QueueState, e *boxoffice.QueueEntry, r *boxoffice.QueueRound) QueueView {
	v := QueueView{
		EntryID: e.ID, ShowID: st.Terms.ShowID, CustomerID: e.CustomerID, Number: e.Number, Round: e.Round, KeyHash: r.KeyHash(), JoinedAt: e.JoinedAt,
		Position: e.PositionAt(st.Head.Head, r), Open: st.Terms.QueueOpen, State: st.Terms.QueueState(st.Now), Waiting: st.Head.Joined - st.Head.Head, Now: st.Now,
	}
	v.Status, v.ReturnUntil = e.StatusAt(st.Now, &st.Terms.Queue)
	if v.Position > 0 {
		v.Wait = st.Terms.Queue.Wait(v.Position)
	}
	if a := e.Admission; a != nil && v.Status == boxoffice.QueueAdmitted {
		v.Turn, v.AdmittedAt, v.LapsesAt, v.SessionEndsAt = a.Turn, a.AdmittedAt, a.LapsesAt, a.SessionEndsAt
	}
	return v
}

// QueueState reads how a show's waiting room is. Shows that are drafts are
// NOT_FOUND.
func (s *Store) QueueState(ctx context.Context, show uuid.UUID) (*QueueState, error) {
	st, err := scanQueueState(s.pool.QueryRow(ctx, sqlQueueShowsRead, show, nil))
	if errors.Is(err, pgx.ErrNoRows) || err == nil && st.Terms.Status == boxoffice.ShowDraft {
		return nil, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such show.")
	}
	return st, coded(err)
}

func errNoQueueEntry() error {
	return boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such queue entry.")
}

// QueueEntry reads an entry, also after its end. customerID "" reads anybody's
// of the organisation; otherwise those of others are NOT_FOUND.
func (s *Store) QueueEntry(ctx context.Context, organisation uuid.UUID, customerID string, id uuid.UUID) (v QueueView, err error) {
	var of uuid.UUID
	var e *boxoffice.QueueEntry
	var st *QueueState
	var r *boxoffice.QueueRound
	err = s.snapshotBatch(ctx, func(b *pgx.Batch) {
		b.Queue(sqlQueuePlans)
		b.Queue(sqlQueueEntriesRead, id).QueryRow(func(row pgx.Row) (err error) { e, err = scanQueueEntry(row, &of); return err })
		b.Queue(sqlQueueShowsRead, nil, id).QueryRow(func(row pgx.Row) (err error) { st, err = scanQueueState(row); return err })
		b.Queue(sqlQueueRoundsOfEntry, id).QueryRow(func(row pgx.Row) (err error) { r, err = scanRound(row); return err })
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return v, errNoQueueEntry()
	}
	if err != nil {
		return v, err
	}
	if customerID != "" && customerID != e.CustomerID || organisation != uuid.Nil && organisation != of {
		return v, errNoQueueEntry()
	}
	return queueView(st, e, r), nil
}

// queueShowOf finds the show of an entry that the caller may see, and whose it
// is.
func (s *Store) queueShowOf(ctx context.Context, organisation uuid.UUID, customerID string, id uuid.UUID) (show, of uuid.UUID, err error) {
	var customer string
	err = s.pool.QueryRow(ctx, sqlQueueEntriesFind, id).Scan(&show, &customer, &of)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		err = errNoQueueEntry()
	case err != nil:
		err = coded(err)
	case customerID != "" && customerID != customer, organisation != uuid.Nil && organisation != of:
		err = errNoQueueEntry()
	}
	return show, of, err
}

// QueueRounds reads the rounds of a show's waiting room from a number on, at
// most limit. The keys of those that are not drawn must not be told.
func (s *Store) QueueRounds(ctx context.Context, show uuid.UUID, from, limit int) ([]boxoffice.QueueRound, error) {
	rows, err := s.pool.Query(ctx, sqlQueueRoundsRead, show, from, limit)
	if err != nil {
		return nil, coded(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (boxoffice.QueueRound, error) {
		r, err := scanRound(row)
		return *r, err
	})
	return list, coded(err)
}

// QueueRound reads the round that began last; nil when there is none yet.
func (s *Store) QueueRound(ctx context.Context, show uuid.UUID) (*boxoffice.QueueRound, error) {
	r, err := scanRound(s.pool.QueryRow(ctx, sqlQueueRoundsLast, show))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return r, coded(err)
}

// NumberedEntry is an entry's id with its number.
type NumberedEntry struct {
	Number int64
	ID     uuid.UUID
}

// QueueEntries reads the ids behind the numbers after a number, in order.
func (s *Store) QueueEntries(ctx context.Context, show uuid.UUID, after int64, limit int) ([]NumberedEntry, error) {
	rows, err := s.pool.Query(ctx, sqlQueueEntriesList, show, after, limit)
	if err != nil {
		return nil, coded(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[NumberedEntry])
	return list, coded(err)
}

// CalledEntry is who was called, and in which place.
type CalledEntry struct{ Number, Position int64 }

// QueueCalled reads who was called, by number.
func (s *Store) QueueCalled(ctx context.Context, show uuid.UUID, after int64, limit int) ([]CalledEntry, error) {
	rows, err := s.pool.Query(ctx, sqlQueueAdmissionsPositions, show, after, limit)
	if err != nil {
		return nil, coded(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[CalledEntry])
	return list, coded(err)
}

// QueueWaiting counts who waits in all open waiting rooms, and those.
func (s *Store) QueueWaiting(ctx context.Context) (waiting int64, rooms int, err error) {
	err = s.pool.QueryRow(ctx, sqlQueueWaiting).Scan(&waiting, &rooms)
	return waiting, rooms, coded(err)
}

// PurgeQueueEntries forgets who waited for shows that are long over, at most
// limit.
func (s *Store) PurgeQueueEntries(ctx context.Context, limit int) (n int64, err error) {
	err = s.pool.QueryRow(ctx, sqlQueueEntriesPurge, limit).Scan(&n)
	return n, coded(err)
}

// SetQueue opens or closes a show's waiting room; see [boxoffice.SetQueue].
func (s *Store) SetQueue(ctx context.Context, actor boxoffice.Actor, key *boxoffice.IdempotencyKey, organisation, show uuid.UUID, set boxoffice.SetQueue) (ChangedShow, error) {
	return s.change(ctx, organisation, show, actor, key, &set)
}

// LeaveQueue takes a customer out of a waiting room. A turn that was not used
// is passed on; what is held stays held. Leaving again changes nothing.
func (s *Store) LeaveQueue(ctx context.Context, key boxoffice.IdempotencyKey, organisation uuid.UUID, customerID string, id uuid.UUID) (replayed bool, err error) {
	show, of, err := s.queueShowOf(ctx, organisation, customerID, id)
	if err != nil {
		return false, err
	}
	_, replayed, err = once(ctx, s, of, key, func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
		q, err := loadQueue(ctx, tx, show)
		if err != nil {
			return struct{}{}, err
		}
		e, err := scanQueueEntry(tx.QueryRow(ctx, sqlQueueEntriesRead, id), new(uuid.UUID))
		if err != nil || !e.ClosedAt.IsZero() {
			return struct{}{}, err
		}
		b := &pgx.Batch{}
		b.Queue(sqlQueueEntriesClose, show, []int64{e.Number}, q.st.Now)
		b.Queue(sqlQueueAdmissionsClose, show, e.Number, q.st.Now).QueryRow(func(row pgx.Row) error {
			var unused bool
			if err := row.Scan(&unused); !errors.Is(err, pgx.ErrNoRows) && err != nil {
				return err
			}
			if unused {
				q.st.Head.Freed++
			}
			return nil
		})
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, q.save(ctx, tx)
	})
	return replayed, err
}

// DrawQueue draws a closed round by what its beacon has said; the only one that
// waits for it, if there is one.
func (s *Store) DrawQueue(ctx context.Context, key boxoffice.IdempotencyKey, organisation, show uuid.UUID, value string) (replayed bool, err error) {
	var c boxoffice.Checks
	c.Line("publicValue", &value, 1, boxoffice.BeaconMax)
	if err := c.Err(); err != nil {
		return false, err
	}
	t, err := s.termsOf(ctx, show)
	if err != nil {
		return false, err
	}
	if t.OrganisationID != organisation {
		return false, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such show.")
	}
	_, replayed, err = once(ctx, s, organisation, key, func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
		q, err := loadQueue(ctx, tx, show)
		if err != nil {
			return struct{}{}, err
		}
		q.close()
		var drawn bool
		for _, r := range q.undrawn {
			if r.Beacon != "" && !r.ClosedAt.IsZero() && !r.Drawn() {
				r.DrawFrom(q.st.Now, boxoffice.DrawnFromBeacon, value)
				q.changed[r.Round], drawn = true, true
			}
		}
		if !drawn {
			return struct{}{}, boxoffice.Refuse(boxoffice.CodeConflict, "No draw waits for its beacon: it waits from the opening of the sale on, for a minute, if a beacon was named before.")
		}
		return struct{}{}, q.save(ctx, tx)
	})
	return replayed, err
}

// queueTx is a waiting room under its lock.
type queueTx struct {
	st      *QueueState
	was     boxoffice.QueueHead
	undrawn []*boxoffice.QueueRound // in turn
	changed map[int]bool            // rounds to be written
}

// loadQueue locks a waiting room and reads what decides about it. The lock is a
// statement of its own: what is read after it is what it protects.
func loadQueue(ctx context.Context, tx pgx.Tx, show uuid.UUID) (*queueTx, error) {
	q := &queueTx{changed: map[int]bool{}}
	b := &pgx.Batch{}
	q.queue(b, show)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		if errors.Is(err, pgx.ErrNoRows) {
			err = boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such show.")
		}
		return nil, err
	}
	return q, nil
}

func (q *queueTx) queue(b *pgx.Batch, show uuid.UUID) {
	b.Queue(sqlQueuePlans)
	b.Queue(sqlQueueHeadsEnsure, show)
	b.Queue(sqlQueueHeadsLock, show)
	b.Queue(sqlQueueShowsRead, show, nil).QueryRow(func(row pgx.Row) (err error) {
		if q.st, err = scanQueueState(row); err == nil {
			q.was = q.st.Head
		}
		return err
	})
	b.Queue(sqlQueueRoundsUndrawn, show).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			r, err := scanRound(rows)
			if err != nil {
				return err
			}
			q.undrawn = append(q.undrawn, r)
		}
		return rows.Err()
	})
}

// saleOpen says whether who has a turn can hold places now.
func (q *queueTx) saleOpen() bool { return q.st.Terms.OnSale(q.st.Now) == nil }

// early says whether the sale has not opened yet.
func (q *queueTx) early() bool {
	at := q.st.Terms.SalesStartAt
	return at != nil && q.st.Now.Before(*at)
}

// close ends the rounds whose time has come.
func (q *queueTx) close() {
	for _, r := range q.undrawn {
		if r.Close(q.st.Now, !q.early()) {
			q.changed[r.Round] = true
		}
	}
}

// open is the round that somebody joins now: it is begun if none is open.
func (q *queueTx) open(key []byte) *boxoffice.QueueRound {
	if n := len(q.undrawn); n > 0 && q.undrawn[n-1].ClosedAt.IsZero() {
		return q.undrawn[n-1]
	}
	q.st.Head.Rounds++
	r := &boxoffice.QueueRound{
		Round: q.st.Head.Rounds, First: q.st.Head.Joined, OpenedAt: q.st.Now, Key: key,
		Digest: boxoffice.DigestStart(q.st.Terms.ShowID, q.st.Head.Rounds),
	}
	if q.early() {
		r.Beacon = q.st.Terms.Queue.Beacon
	} else {
		r.ClosesAt = q.st.Now.Add(boxoffice.QueueRoundTime)
	}
	q.undrawn = append(q.undrawn, r)
	q.changed[r.Round] = true
	return r
}

// save writes what changed.
func (q *queueTx) save(ctx context.Context, tx pgx.Tx) error {
	b := &pgx.Batch{}
	q.queueSave(b)
	if b.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, b).Close()
}

func (q *queueTx) queueSave(b *pgx.Batch) {
	show, org := q.st.Terms.ShowID, q.st.Terms.OrganisationID
	for _, r := range q.undrawn {
		if q.changed[r.Round] {
			b.Queue(sqlQueueRoundsSave, show, org, r.Round, r.First, r.Entries, r.OpenedAt, instant(r.ClosesAt), instant(r.ClosedAt),
				instant(r.DrawnAt), r.Key, r.Digest, r.Beacon, r.PublicValue, r.PublicFrom)
		}
	}
	h := &q.st.Head
	h.Undrawn(q.undrawn)
	if *h != q.was {
		b.Queue(sqlQueueHeadsSave, show, h.Joined, h.Drawn, h.Head, h.Since, h.Freed, h.Rounds, instant(h.Calm))
	}
}

// arrivals counts who wants in, by show, until it is reported.
type arrivals struct {
	mu    sync.Mutex
	shows map[uuid.UUID]int64
}

func (a *arrivals) add(show uuid.UUID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.shows == nil {
		a.shows = map[uuid.UUID]int64{}
	}
	a.shows[show]++
}

func (a *arrivals) take() map[uuid.UUID]int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	shows := a.shows
	a.shows = nil
	return shows
}
