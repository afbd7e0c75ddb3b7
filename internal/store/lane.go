package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/lanes"
	"github.com/rowlock/rowlock/sql/queries"
)

// The lane's transaction, in round trips:
//
//	1. begin, lock, clock, heads, idempotency     lock()
//	2. wanted seats, reservations, areas          load()
//	3. the seats of those reservations, if any    load()
//	   decide                                     boxoffice.Decide
//	4. expiry jobs, if new holds end              save()
//	5. all writes, commit                         save()
//
// Each lock and each load is a statement of its own with its own snapshot: a
// load that shared one with the lock would read from before it.

var (
	sqlLanesBegin       = queries.Must("lanes_begin")
	sqlLanesCommit      = queries.Must("lanes_commit")
	sqlLanesRollback    = queries.Must("lanes_rollback")
	sqlLanesTryShows    = queries.Must("lanes_try_shows")
	sqlLanesWaitTimeout = queries.Must("lanes_wait_timeout")
	sqlLanesWaitShow    = queries.Must("lanes_wait_show")
	sqlLanesWitness     = queries.Must("lanes_witness")
	sqlShowHeadsLoad    = queries.Must("show_heads_load")
)

// connectMax bounds one attempt to connect a lane.
const connectMax = 5 * time.Second

// roundTripMax bounds a lane's wait for one answer of Postgres. It is longer
// than statement_timeout, so it only strikes when the network is gone.
const roundTripMax = 12 * time.Second

// laneCommand is a command with what must be loaded for it and cannot be seen
// from the command itself.
type laneCommand struct {
	boxoffice.Command
	extraSeats []int32 // seats to lock, such as those of a block
}

type laneCall = lanes.Call[*laneCommand, boxoffice.Outcome]

// do sends a command through its show's lane. The outcome's refusal comes back
// as the error, with seats and areas named.
func (s *Store) do(ctx context.Context, show uuid.UUID, cmd *laneCommand) (boxoffice.Outcome, error) {
	out, err := s.lanes.Do(ctx, show, cmd)
	if err == nil && out.Err != nil {
		customer := cmd.Actor.CustomerID
		if place, ok := cmd.Do.(*boxoffice.PlaceReservation); ok {
			customer = place.CustomerID
		}
		err = s.explain(ctx, show, customer, out.Err)
	}
	return out, err
}

// laneWorker works the batches of one lane, or of one show's waiter, on a
// connection of its own.
type laneWorker struct {
	s       *Store
	waiting bool
	conn    *pgx.Conn // nil: not connected
}

func (s *Store) openLane(waiting bool) lanes.Worker[*laneCommand, boxoffice.Outcome] {
	return &laneWorker{s: s, waiting: waiting}
}

// Close ends the worker's connection.
func (w *laneWorker) Close() {
	if w.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		w.conn.Close(ctx)
		w.conn = nil
	}
}

// laneSettings are what a lane needs of its session. Right after creation or a
// purge, statistics say "empty", and the planner would read growing tables
// from end to end: the lanes' statements are made for their indexes and get
// nothing else. They are also the settings of the role rowlock_lane.
var laneSettings = map[string]string{
	"application_name":                    "rowlock lane",
	"plan_cache_mode":                     "force_generic_plan",
	"enable_seqscan":                      "off",
	"enable_hashjoin":                     "off",
	"enable_mergejoin":                    "off",
	"enable_bitmapscan":                   "off",
	"jit":                                 "off",
	"statement_timeout":                   "10s",
	"lock_timeout":                        "2s",
	"idle_in_transaction_session_timeout": "5s",
	"default_transaction_isolation":       "read committed",
	"synchronous_commit":                  "on",
}

// connect makes sure of a connection that answers.
func (w *laneWorker) connect(ctx context.Context) error {
	if w.conn != nil && !w.conn.IsClosed() {
		return nil
	}
	c, err := pgx.ParseConfig(w.s.cfg.LaneURL)
	if err != nil {
		return err
	}
	for k, v := range laneSettings {
		// A stricter promise that the operator made stays.
		if k == "synchronous_commit" && c.RuntimeParams[k] != "" {
			continue
		}
		c.RuntimeParams[k] = v
	}
	if w.s.cfg.LaneDial != nil {
		c.DialFunc = w.s.cfg.LaneDial
	}
	ctx, cancel := context.WithTimeout(ctx, connectMax)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return err
	}
	if err := conn.Ping(ctx); err != nil {
		conn.Close(ctx)
		return err
	}
	quickColumns(conn)
	w.conn = conn
	return nil
}

// Work answers the calls of a batch; see [lanes.Worker].
func (w *laneWorker) Work(ctx context.Context, batch []*laneCall) []*laneCall {
	return w.work(ctx, batch)
}

// work runs the batch until it commits. A deadlock or a serialization failure:
// again. The database away: nobody runs until it answers, then again; a commit
// that happened although its answer was lost shows in the idempotency keys.
// Anything else: in halves, until the bad command is alone, so that it does not
// fail its neighbours.
func (w *laneWorker) work(ctx context.Context, calls []*laneCall) (busy []*laneCall) {
	sent := false // a COMMIT was sent and not answered
	pause := 10 * time.Millisecond
	for attempt := 0; ; attempt++ {
		t := &laneTx{w: w, again: sent}
		err := w.connect(ctx)
		if err == nil {
			err = t.runSafely(ctx, calls)
		}
		if err == nil {
			return t.busy
		}
		sent = sent || t.sent
		if w.conn != nil && !w.conn.IsClosed() && w.conn.PgConn().TxStatus() != 'I' {
			if _, rollbackErr := w.conn.Exec(ctx, sqlLanesRollback); rollbackErr != nil {
				w.Close()
			}
		}
		switch {
		case retryable(err) && attempt < retriesMax:
		case w.waiting && lockNotAvailable(err) && !t.locked:
			return unanswered(calls)
		case w.conn == nil || w.conn.IsClosed() || away(err):
			w.Close()
			w.s.log.Warn("lane: the database is away", "error", err, "commands", len(calls))
			if calls = w.alive(calls, sent, err); len(calls) == 0 {
				return nil
			}
			time.Sleep(pause)
			pause = min(2*pause, 250*time.Millisecond)
		case len(calls) > 1:
			busy = w.work(ctx, calls[:len(calls)/2])
			return append(busy, w.work(ctx, calls[len(calls)/2:])...)
		default:
			calls[0].Answer(boxoffice.Outcome{}, laneError(err))
			return nil
		}
	}
}

func laneError(err error) error {
	if lockNotAvailable(err) {
		return &boxoffice.Error{Code: boxoffice.CodeLockTimeout, Detail: "A row of the show was locked for too long; nothing was done.", Cause: err}
	}
	return coded(err)
}

func lockNotAvailable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "55P03"
}

// alive answers the calls that cannot wait any longer for the database and
// returns the others.
func (w *laneWorker) alive(calls []*laneCall, sent bool, cause error) []*laneCall {
	now := time.Now()
	var live []*laneCall
	for _, c := range unanswered(calls) {
		if now.Before(c.Deadline) {
			live = append(live, c)
			continue
		}
		e := &boxoffice.Error{Code: boxoffice.CodeUnavailable, Detail: "The database cannot be reached. Retry with the same Idempotency-Key.", Cause: cause}
		e.Facts.Outcome = map[bool]string{false: "none", true: "unknown"}[sent]
		c.Answer(boxoffice.Outcome{}, e)
	}
	return live
}

func unanswered(calls []*laneCall) []*laneCall {
	return slices.DeleteFunc(slices.Clone(calls), (*laneCall).Answered)
}

// laneTx is one attempt at one transaction for a batch.
type laneTx struct {
	w      *laneWorker
	again  bool // an earlier attempt may have committed
	locked bool // the locks were had
	sent   bool // COMMIT was sent

	shows    []*laneShow // in key order
	receipts map[boxoffice.KeyID]boxoffice.Remembered
	busy     []*laneCall
}

// laneShow is a show's part of a batch.
type laneShow struct {
	id       uuid.UUID
	calls    []*laneCall
	had      bool
	found    bool
	changed  time.Time // the last "now" that decided something here
	def      int64
	state    boxoffice.State
	seats    map[int32]bool // wanted
	areas    map[int32]int  // units wanted
	named    map[uuid.UUID]bool
	due      int // overdue holds to load at most
	all      bool
	ever     bool
	limits   bool               // a command of the batch sets a limit per customer
	overdue  map[uuid.UUID]bool // holders of wanted seats whose time is up
	outcomes []boxoffice.Outcome
	did      *boxoffice.Changes
}

// runSafely turns a panic, a bug in the rules, into an error: the batch is then
// halved until the command that caused it is alone.
func (t *laneTx) runSafely(ctx context.Context, calls []*laneCall) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("lane: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return t.run(ctx, calls)
}

func (t *laneTx) run(ctx context.Context, calls []*laneCall) error {
	t.group(unanswered(calls))
	if len(t.shows) == 0 {
		return nil
	}
	if err := t.lock(ctx); err != nil {
		return err
	}
	t.locked = true
	if err := t.load(ctx); err != nil {
		return err
	}
	dirty, replayed := false, false
	for _, sh := range t.shows {
		cmds := make([]boxoffice.Command, len(sh.calls))
		for i, c := range sh.calls {
			cmds[i] = c.Command.Command
		}
		sh.state.Receipts = t.receipts
		sh.outcomes, sh.did = boxoffice.Decide(sh.state, cmds)
		dirty = dirty || sh.did.Dirty || len(sh.did.Kept) > 0
		for _, o := range sh.outcomes {
			replayed = replayed || o.Replayed
		}
	}
	if err := t.save(ctx, dirty, replayed); err != nil {
		return err
	}
	t.remember()
	t.answer()
	return nil
}

// group sorts the calls into their shows and notes what each needs.
func (t *laneTx) group(calls []*laneCall) {
	byID := make(map[uuid.UUID]*laneShow, 1)
	for _, c := range calls {
		sh := byID[c.Show]
		if sh == nil {
			sh = &laneShow{id: c.Show}
			byID[c.Show] = sh
			t.shows = append(t.shows, sh)
		}
		sh.calls = append(sh.calls, c)
	}
	slices.SortFunc(t.shows, func(x, y *laneShow) int { return bytes.Compare(x.id[:], y.id[:]) })
}

// lock begins the transaction, tries the locks of shows and keys, and reads
// the clock, the heads and what was answered before.
func (t *laneTx) lock(ctx context.Context) error {
	var keyA, keyB []int32
	var owners []string
	var keys []uuid.UUID
	var keyCalls []*laneCall
	ids := make([]uuid.UUID, len(t.shows))
	for i, sh := range t.shows {
		ids[i] = sh.id
		for _, c := range sh.calls {
			if k := c.Command.Key; k != nil {
				a, b := lockKeyOf(k)
				keyA, keyB = append(keyA, a), append(keyB, b)
				owners, keys = append(owners, k.Owner), append(keys, k.Key)
				keyCalls = append(keyCalls, c)
			}
		}
	}
	b := &pgx.Batch{}
	b.Queue(sqlLanesBegin)
	if t.w.waiting {
		left := time.Until(t.shows[0].calls[0].Deadline)
		for _, c := range t.shows[0].calls {
			left = min(left, time.Until(c.Deadline))
		}
		b.Queue(sqlLanesWaitTimeout, strconv.FormatInt(max(1, left.Milliseconds()), 10))
		b.Queue(sqlLanesWaitShow, ids[0])
		t.shows[0].had = true
	} else {
		b.Queue(sqlLanesTryShows, ids).Query(func(rows pgx.Rows) error {
			for i := 0; rows.Next(); i++ {
				if err := rows.Scan(&t.shows[i].had); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
	inUse := map[*laneCall]bool{}
	if len(keys) > 0 {
		b.Queue(sqlLanesTryKeys, keyA, keyB).Query(func(rows pgx.Rows) error {
			for i := 0; rows.Next(); i++ {
				var had bool
				if err := rows.Scan(&had); err != nil {
					return err
				}
				if !had {
					inUse[keyCalls[i]] = true
				}
			}
			return rows.Err()
		})
	}
	var clock time.Time
	b.Queue(sqlLanesClock).QueryRow(func(row pgx.Row) error { return row.Scan(&clock) })
	b.Queue(sqlShowHeadsLoad, ids).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var id uuid.UUID
			var version, def int64
			var changed time.Time
			if err := rows.Scan(&id, &version, &changed, &def); err != nil {
				return err
			}
			i, _ := slices.BinarySearchFunc(t.shows, id, func(sh *laneShow, id uuid.UUID) int { return bytes.Compare(sh.id[:], id[:]) })
			sh := t.shows[i]
			sh.found, sh.state.Version, sh.changed, sh.def = true, version, changed, def
		}
		return rows.Err()
	})
	t.receipts = map[boxoffice.KeyID]boxoffice.Remembered{}
	if len(keys) > 0 {
		b.Queue(sqlIdempotencyLoad, owners, keys).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var i int
				var fingerprint []byte
				var receipt string
				if err := rows.Scan(&i, &fingerprint, &receipt); err != nil {
					return err
				}
				r := boxoffice.Remembered{Receipt: &boxoffice.Receipt{}}
				copy(r.Fingerprint[:], fingerprint)
				if err := json.Unmarshal([]byte(receipt), r.Receipt); err != nil {
					return err
				}
				t.receipts[boxoffice.KeyID{Owner: owners[i-1], Key: keys[i-1]}] = r
			}
			return rows.Err()
		})
	}
	if err := t.send(ctx, b); err != nil {
		return err
	}
	for _, sh := range t.shows {
		if !sh.had {
			t.busy = append(t.busy, sh.calls...)
			continue
		}
		sh.calls = slices.DeleteFunc(sh.calls, func(c *laneCall) bool {
			if !inUse[c] {
				return false
			}
			c.Answer(boxoffice.Outcome{Err: boxoffice.Refuse(boxoffice.CodeKeyInUse, "The first request with this Idempotency-Key is still running.")}, nil)
			return true
		})
		// Time does not run backwards in a show, whatever the clock does.
		sh.state.Now = clock
		if sh.changed.After(clock) {
			sh.state.Now = sh.changed
		}
	}
	t.shows = slices.DeleteFunc(t.shows, func(sh *laneShow) bool { return !sh.had || len(sh.calls) == 0 })
	return nil
}

// show finds a show of the batch; rows come back for no others.
func (t *laneTx) show(id uuid.UUID) *laneShow {
	if len(t.shows) == 1 {
		return t.shows[0]
	}
	i, _ := slices.BinarySearchFunc(t.shows, id, func(sh *laneShow, id uuid.UUID) int { return bytes.Compare(sh.id[:], id[:]) })
	return t.shows[i]
}

// send sends a pipeline and takes in its answers.
func (t *laneTx) send(ctx context.Context, b *pgx.Batch) error {
	ctx, cancel := context.WithTimeout(ctx, roundTripMax)
	defer cancel()
	return t.w.conn.SendBatch(ctx, b).Close()
}

// remember puts changed terms into the cache, now that they are committed.
func (t *laneTx) remember() {
	for _, sh := range t.shows {
		if sh.did.Terms != nil {
			t.w.s.terms.put(sh.did.Terms)
		}
	}
}

// answer gives everybody their outcome.
func (t *laneTx) answer() {
	for _, sh := range t.shows {
		for i, c := range sh.calls {
			o := sh.outcomes[i]
			if t.again {
				o.Replayed = false // it was this very call whose commit went unanswered
			}
			c.Answer(o, nil)
		}
	}
}

func compareIDs(x, y uuid.UUID) int { return bytes.Compare(x[:], y[:]) }

func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
