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
//	4. all writes, jobs, commit                   save()
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

// transactionMax bounds a lane's transaction up to its COMMIT, and then COMMIT.
// It is longer than statement_timeout and strikes when the network is gone, or
// the synchronous standby.
const transactionMax = 12 * time.Second

// queueMax is how long a batch that had few of its shows waits for one. Others
// of its lane wait with it: it is some batches of another instance, and no more.
const queueMax = 100 * time.Millisecond

// laneCommand is a command with what must be loaded for it and cannot be seen
// from the command itself.
type laneCommand struct {
	boxoffice.Command
	extraSeats []int32 // seats to lock, such as those of a block
	replay     bool    // it was a replay already when its commit went unanswered
}

// seatsAlike is how many seats take as long as the rest of a command does.
const seatsAlike = 16

// Weight implements [lanes.Heavy].
func (c *laneCommand) Weight() int {
	seats := len(c.extraSeats)
	switch do := c.Do.(type) {
	case *boxoffice.PlaceReservation:
		seats += len(do.Seats)
	case *boxoffice.ChangeReservation:
		seats += len(do.AddSeats) + len(do.RemoveSeats)
	case *boxoffice.BlockSeats:
		seats += len(do.Seats)
	case *boxoffice.UnblockSeats:
		seats += len(do.Seats)
	case *boxoffice.ExpireReservations:
		seats += do.Limit
	}
	return 1 + seats/seatsAlike
}

type laneCall = lanes.Call[*laneCommand, boxoffice.Outcome]

// do sends a command through its show's lane. The outcome's refusal comes back
// as the error, with seats and areas named.
func (s *Store) do(ctx context.Context, show uuid.UUID, cmd *laneCommand) (boxoffice.Outcome, error) {
	out, err := s.road(ctx, show, cmd)
	if boxoffice.CodeOf(err) == boxoffice.CodeLockTimeout && s.away.Load() {
		// It is not the show that was busy: its lane waits for the database.
		e := &boxoffice.Error{Code: boxoffice.CodeUnavailable, Detail: "The database cannot be reached; nothing was done.", Cause: err}
		e.Facts.Outcome = "none"
		return out, e
	}
	if err == nil && out.Err != nil {
		customer := cmd.Actor.CustomerID
		if place, ok := cmd.Do.(*boxoffice.PlaceReservation); ok {
			customer = place.CustomerID
		}
		err = s.explain(ctx, show, customer, out.Err)
	}
	return out, err
}

func (s *Store) road(ctx context.Context, show uuid.UUID, cmd *laneCommand) (boxoffice.Outcome, error) {
	if s.cfg.Road != nil {
		return s.cfg.Road.Do(ctx, show, cmd.Command)
	}
	return s.lanes.Do(ctx, show, cmd)
}

// laneWorker works the batches of one lane, or of one show's waiter, on a
// connection of its own.
type laneWorker struct {
	s       *Store
	waiting bool
	conn    *pgx.Conn // nil: not connected
	planned time.Time // when its statements were planned for the tables as they were

	statements map[string]*pgconn.StatementDescription // what [stream] has prepared on conn
	builder    pgx.ExtendedQueryBuilder
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
	"lock_timeout":                        "250ms", // for rows that somebody outside has: the whole lane waits
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
	// After a fail-over the old address may be a standby's.
	c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
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
	setTypes(conn)
	w.conn, w.statements = conn, map[string]*pgconn.StatementDescription{}
	return nil
}

// Work runs a batch until it commits; see [lanes.Worker]. The database away: nobody runs until it
// answers, then again; a commit that happened although its answer was lost
// shows in the idempotency keys. A deadlock, a serialization failure, or a table
// that was altered since its statement was prepared: again.
// Anything else: in halves, until the bad command is alone, so that it does not
// fail its neighbours.
func (w *laneWorker) Work(ctx context.Context, calls []*laneCall) (busy []*laneCall) {
	pause := 10 * time.Millisecond
	for attempt := 0; ; attempt++ {
		t := &laneTx{w: w}
		err := w.connect(ctx)
		if err == nil {
			err = t.runSafely(ctx, calls)
		}
		if err == nil {
			if w.s.away.Load() {
				w.s.away.Store(false)
			}
			return t.busy
		}
		lost := w.conn == nil || w.conn.IsClosed() || away(err)
		w.rollback(ctx, lost || outdated(err))
		switch {
		case lost:
			w.s.away.Store(true)
			w.s.log.Warn("lane: the database is away", "error", err, "commands", len(calls))
			t.unknown()
			if calls = inTime(calls, func(c *laneCall) error { return unreachable(c, err) }); len(calls) == 0 {
				return nil
			}
			time.Sleep(pause)
			pause = min(2*pause, 250*time.Millisecond)
		case (retryable(err) || outdated(err)) && attempt < retriesMax:
		case w.waiting && lockNotAvailable(err) && !t.locked:
			return unanswered(calls)
		case len(calls) > 1:
			if lockNotAvailable(err) { // each half may wait as long again
				calls = inTime(calls, func(c *laneCall) error { return laneError(c, err) })
			}
			busy = w.Work(ctx, calls[:len(calls)/2])
			return append(busy, w.Work(ctx, calls[len(calls)/2:])...)
		default:
			calls[0].Answer(boxoffice.Outcome{}, laneError(calls[0], err))
			return nil
		}
	}
}

// rollback ends what is left of a failed transaction, or the connection.
func (w *laneWorker) rollback(ctx context.Context, lost bool) {
	if !lost && w.conn.PgConn().TxStatus() != 'I' {
		ctx, cancel := context.WithTimeout(ctx, connectMax)
		defer cancel()
		_, err := w.conn.Exec(ctx, sqlLanesRollback)
		lost = err != nil
	}
	if lost {
		w.Close()
	}
}

func laneError(c *laneCall, err error) error {
	switch {
	case !lockNotAvailable(err):
		return coded(err)
	case c.Unknown:
		return unreachable(c, err)
	}
	return &boxoffice.Error{Code: boxoffice.CodeLockTimeout, Detail: "A row of the show was locked for too long; nothing was done.", Cause: err}
}

func unreachable(c *laneCall, cause error) error {
	e := &boxoffice.Error{Code: boxoffice.CodeUnavailable, Detail: "The database cannot be reached. Retry with the same Idempotency-Key.", Cause: cause}
	e.Facts.Outcome = map[bool]string{false: "none", true: "unknown"}[c.Unknown]
	return e
}

func lockNotAvailable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "55P03"
}

// inTime answers the calls whose time is up and returns the others.
func inTime(calls []*laneCall, late func(*laneCall) error) []*laneCall {
	now := time.Now()
	return slices.DeleteFunc(unanswered(calls), func(c *laneCall) bool {
		if now.Before(c.Deadline) {
			return false
		}
		c.Answer(boxoffice.Outcome{}, late(c))
		return true
	})
}

func unanswered(calls []*laneCall) []*laneCall {
	return slices.DeleteFunc(slices.Clone(calls), (*laneCall).Answered)
}

// laneTx is one attempt at one transaction for a batch.
type laneTx struct {
	w      *laneWorker
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
	waiting  int // entries of the waitlist that wait
	state    boxoffice.State
	seats    map[int32]bool     // wanted
	bookings map[uuid.UUID]bool // named; false: loaded
	late     map[uuid.UUID]bool // reservations that a payment may come too late for; false: looked at
	owned    map[uuid.UUID]bool // reservations whose seats are loaded
	scans    []*boxoffice.CheckIn
	turns    []int64       // numbers of queue entries whose turns are to be used
	areas    map[int32]int // units wanted
	named    map[uuid.UUID]bool
	due      int // overdue holds to load at most
	all      bool
	ever     bool
	limits   bool               // a command of the batch sets a limit per customer
	overdue  map[uuid.UUID]bool // holders of wanted seats whose time is up, and the last holds of turns
	outcomes []boxoffice.Outcome
	did      *boxoffice.Changes

	// Of the waitlist: see lane_waitlist.go.
	frees     bool               // a command of the batch may free places
	redefines bool               // a command may begin sales again, raise limits, or ask to serve
	joins     []string           // customers who want to wait
	leaves    int32              // commands to leave it
	entries   map[uuid.UUID]bool // named; false: asked for
	sorts     []waitlistSort     // that wait
	step      int                // of loading it
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
	calls = unanswered(calls)
	t.group(calls)
	if len(t.shows) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, transactionMax)
	defer cancel()
	if err := t.lockShows(ctx, calls); err != nil {
		return err
	}
	t.locked = true
	if err := t.load(ctx); err != nil {
		return err
	}
	writes, replayed := false, false
	for _, sh := range t.shows {
		cmds := make([]boxoffice.Command, len(sh.calls))
		for i, c := range sh.calls {
			cmds[i] = c.Command.Command
		}
		sh.state.Receipts = t.receipts
		sh.outcomes, sh.did = boxoffice.Decide(sh.state, cmds)
		writes = writes || sh.did.Writes()
		for _, o := range sh.outcomes {
			replayed = replayed || o.Replayed
		}
	}
	if !writes && !replayed {
		// Only refusals, by what is committed: nobody has to wait for the end of
		// the transaction to know them.
		t.answer()
		return t.exec(ctx, sqlLanesRollback)
	}
	if planted == earlyAnswer {
		t.answer()
	}
	if err := t.save(ctx, writes); err != nil {
		return err
	}
	t.remember()
	t.tellWaitlist()
	t.answer()
	t.w.s.changed(t.shows)
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

// lockShows locks those of the batch's shows that it can have.
//
// When it had fewer than half of what it came for, another instance has the
// other shows. Trying again at once would fail until the other happens to look
// away when we look, and a batch of what is left costs nearly as much as a whole
// one. So it queues for one of them, and the lock's own queue lets instances take
// turns. It holds nothing while it waits. If it waits in vain, somebody has that
// show for longer, and the others are done without it.
func (t *laneTx) lockShows(ctx context.Context, calls []*laneCall) error {
	if t.w.waiting {
		return t.lock(ctx, 0)
	}
	if err := t.lock(ctx, -1); err != nil || 2*len(t.busy) <= len(calls) {
		return err
	}
	missed := t.busy[0].Show
	err := t.lockAgain(ctx, calls, missed)
	if lockNotAvailable(err) {
		err = t.lockAgain(ctx, calls, uuid.Nil)
	}
	return err
}

// lockAgain gives back what the transaction has, and locks anew, waiting for the
// show that was missed, or, if that is uuid.Nil, for none.
func (t *laneTx) lockAgain(ctx context.Context, calls []*laneCall, missed uuid.UUID) error {
	if err := t.exec(ctx, sqlLanesRollback); err != nil {
		return err
	}
	t.shows, t.busy = nil, nil
	t.group(unanswered(calls))
	return t.lock(ctx, slices.IndexFunc(t.shows, func(sh *laneShow) bool { return sh.id == missed }))
}

// lock begins the transaction, tries the locks of shows and keys, and reads
// the clock, the heads and what was answered before. It waits for the show at
// waitFor, and for none if that is negative.
func (t *laneTx) lock(ctx context.Context, waitFor int) error {
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
	if now := time.Now(); now.Sub(t.w.planned) > t.w.s.replan {
		b.Queue(sqlServiceReplan)
		t.w.planned = now
	}
	if waitFor >= 0 {
		sh := t.shows[waitFor]
		left := t.w.s.queueMax
		if t.w.waiting {
			left = time.Until(sh.calls[0].Deadline)
		}
		for _, c := range sh.calls {
			left = min(left, time.Until(c.Deadline))
		}
		b.Queue(sqlLanesWaitTimeout, strconv.FormatInt(max(1, left.Milliseconds()), 10))
		b.Queue(sqlLanesWaitShow, sh.id)
		b.Queue(sqlLanesWaitTimeout, laneSettings["lock_timeout"]) // what is left may be nothing, and is not for rows
		sh.had = true
	}
	if !t.w.waiting {
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
			var waiting int
			var changed time.Time
			if err := rows.Scan(&id, &version, &changed, &def, &waiting); err != nil {
				return err
			}
			i, _ := slices.BinarySearchFunc(t.shows, id, func(sh *laneShow, id uuid.UUID) int { return bytes.Compare(sh.id[:], id[:]) })
			sh := t.shows[i]
			sh.found, sh.state.Version, sh.changed, sh.def = true, version, changed, def
			sh.waiting, sh.state.Waiting = waiting, waiting
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
	if planted == processClock {
		clock = time.Now()
	}
	for _, sh := range t.shows {
		if planted == skipLock {
			sh.had = true
		}
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
	return t.w.conn.SendBatch(ctx, b).Close()
}

// remember puts changed terms into the cache, now that they are committed.
func (t *laneTx) remember() {
	for _, sh := range t.shows {
		switch {
		case slices.ContainsFunc(sh.did.Amended, func(a *boxoffice.AmendShow) bool { return a.Other != nil }):
			t.w.s.terms.forget(sh.id) // a fact that a rule reads may be among what was saved
		case sh.did.Terms != nil:
			t.w.s.terms.put(sh.did.Terms)
		}
	}
}

// answer gives everybody their outcome.
func (t *laneTx) answer() {
	for _, sh := range t.shows {
		for i, c := range sh.calls {
			o := sh.outcomes[i]
			if c.Unknown && !c.Command.replay {
				o.Replayed = false // it was this very call whose commit went unanswered
			}
			c.Answer(o, nil)
		}
	}
}

// unknown notes with the calls that their COMMIT, if it was sent, was not
// answered.
func (t *laneTx) unknown() {
	if !t.sent {
		return
	}
	for _, sh := range t.shows {
		for i, c := range sh.calls {
			if !c.Unknown {
				c.Command.replay = sh.outcomes[i].Replayed
			}
			c.Unknown = true
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
