package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/lanes"
)

// A hundred thousand people join in the minutes before a sale, and each has a
// number of their own, without gaps. So they join as holds are placed: in
// batches, one transaction for all who came while the last one was committing.
// They have lanes of their own, on the pool of requests: a rush into the
// waiting room takes nothing from those who are inside.

// joinLanes bounds the batches of those who join.
var joinLanes = lanes.Config{Lanes: 2, BatchMax: 1024, QueueMax: 1 << 15, Timeout: 5 * time.Second}

// joining is somebody who wants into a waiting room.
type joining struct {
	key      boxoffice.IdempotencyKey
	customer string
}

// joined is what came of it.
type joined struct {
	view     QueueView
	replayed bool
	err      error // a refusal
}

type joinCall = lanes.Call[*joining, joined]

// JoinQueue gives a customer a place in a show's waiting room: one entry a
// customer. Joining again answers the entry that is there; who missed their
// turn comes back with it, once, and is called next; who had their turn, or
// left, starts again at the end. It returns the entry and whether the answer is
// that of an earlier request with the same key.
func (s *Store) JoinQueue(ctx context.Context, key boxoffice.IdempotencyKey, customer string, show uuid.UUID) (QueueView, bool, error) {
	if n := utf8.RuneCountInString(customer); n < 1 || n > boxoffice.CustomerIDMax {
		return QueueView{}, false, boxoffice.Invalid(boxoffice.Violation{Field: "customerId", Message: "is needed: the credentials are no customer's"})
	}
	t, err := s.termsOf(ctx, show)
	if err == nil && t.Status == boxoffice.ShowDraft {
		t, err = s.freshTerms(ctx, show) // it may have been published on another instance
	}
	if err != nil {
		return QueueView{}, false, err
	}
	if t.Status == boxoffice.ShowDraft {
		return QueueView{}, false, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such show.")
	}
	if t.Queue.Mode == boxoffice.QueueAutomatic {
		s.arrivals.add(show)
	}
	out, err := s.joins.Do(ctx, show, &joining{key, customer})
	if err == nil {
		err = out.err
	}
	if err != nil {
		return QueueView{}, false, err
	}
	out.view.CustomerID = customer
	return out.view, out.replayed, nil
}

// joinWorker works batches of those who join.
type joinWorker struct{ s *Store }

func (s *Store) openJoins(bool) lanes.Worker[*joining, joined] { return joinWorker{s} }

func (w joinWorker) Close() {}

// Work gives each show of the batch a transaction. Nobody can spoil it for the
// others: what they send has been checked.
func (w joinWorker) Work(ctx context.Context, calls []*joinCall) (busy []*joinCall) {
	byShow := map[uuid.UUID][]*joinCall{}
	for _, c := range calls {
		byShow[c.Show] = append(byShow[c.Show], c)
	}
	for show, of := range byShow {
		ctx, cancel := context.WithTimeout(ctx, transactionMax)
		var answers []joined
		err := w.s.tx(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
			answers, err = joinQueue(ctx, tx, show, of)
			return err
		})
		cancel()
		for i, c := range of {
			if err != nil {
				c.Answer(joined{}, err)
			} else {
				c.Answer(answers[i], nil)
			}
		}
	}
	return nil
}

// joinQueue lets all of a batch into a show's waiting room.
func joinQueue(ctx context.Context, tx pgx.Tx, show uuid.UUID, calls []*joinCall) ([]joined, error) {
	n := len(calls)
	answers := make([]joined, n)
	keyA, keyB := make([]int32, n), make([]int32, n)
	owners, keys, customers := make([]string, n), make([]uuid.UUID, n), make([]string, n)
	for i, c := range calls {
		keyA[i], keyB[i] = lockKeyOf(&c.Command.key)
		owners[i], keys[i], customers[i] = c.Command.key.Owner, c.Command.key.Key, c.Command.customer
	}
	q := &queueTx{changed: map[int]bool{}}
	var had []bool
	known := map[boxoffice.KeyID]answered{}
	entries := map[string]*boxoffice.QueueEntry{}
	b := &pgx.Batch{}
	b.Queue(sqlQueuePlans)
	b.Queue(sqlLanesTryKeys, keyA, keyB).Query(func(rows pgx.Rows) (err error) {
		had, err = pgx.CollectRows(rows, pgx.RowTo[bool])
		return err
	})
	q.queue(b, show)
	b.Queue(sqlIdempotencyLoad, owners, keys).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var i int
			var fingerprint []byte
			var receipt string
			if err := rows.Scan(&i, &fingerprint, &receipt); err != nil {
				return err
			}
			out := answered{}
			copy(out.fingerprint[:], fingerprint)
			if err := json.Unmarshal([]byte(receipt), &out.view); err != nil {
				return err
			}
			known[boxoffice.KeyID{Owner: owners[i-1], Key: keys[i-1]}] = out
		}
		return rows.Err()
	})
	b.Queue(sqlQueueEntriesOf, show, customers).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			e, err := scanQueueEntry(rows)
			if err != nil {
				return err
			}
			entries[e.CustomerID] = e
		}
		return rows.Err()
	})
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	j := &join{queueTx: q, entries: entries, rounds: map[int]*boxoffice.QueueRound{}}
	q.close()
	var kept []int
	for i, c := range calls {
		k := boxoffice.KeyID{Owner: owners[i], Key: keys[i]}
		if out, ok := known[k]; ok {
			answers[i] = joined{view: out.view, replayed: true}
			if out.fingerprint != c.Command.key.Fingerprint {
				answers[i] = joined{err: boxoffice.Refuse(boxoffice.CodeKeyReused, "This Idempotency-Key was used for another request; make a new one.")}
			}
			continue
		}
		if !had[i] {
			answers[i].err = boxoffice.Refuse(boxoffice.CodeKeyInUse, "The first request with this Idempotency-Key is still running.")
			continue
		}
		e, err := j.enter(c.Command.customer)
		if err != nil {
			answers[i].err = err
			continue
		}
		r, err2 := j.round(ctx, tx, e.Round)
		if err2 != nil {
			return nil, err2
		}
		answers[i].view = queueView(q.st, e, r)
		known[k] = answered{c.Command.key.Fingerprint, answers[i].view}
		kept = append(kept, i)
	}
	b = &pgx.Batch{}
	j.queueSave(b, kept, calls, answers)
	if len(kept) == 0 && b.Len() == 0 {
		b.Queue(sqlLanesWitness).QueryRow(func(row pgx.Row) error { var lsn string; return row.Scan(&lsn) })
	}
	return answers, tx.SendBatch(ctx, b).Close()
}

// answered is what was answered to a key, in an earlier batch or in this one.
type answered struct {
	fingerprint [32]byte
	view        QueueView
}

// join is a batch of people at the door of a waiting room.
type join struct {
	*queueTx
	entries map[string]*boxoffice.QueueEntry // living ones, by customer
	rounds  map[int]*boxoffice.QueueRound    // drawn ones that were looked up
	added   map[int][]*boxoffice.QueueEntry  // new ones, by round
	over    []int64                          // numbers of entries that end
	back    []int64                          // numbers of those who come back
}

// enter is the entry that a customer has from now on.
func (j *join) enter(customer string) (*boxoffice.QueueEntry, *boxoffice.Error) {
	st := j.st
	if err := st.Terms.Joinable(st.Now); err != nil {
		return nil, err
	}
	if e := j.entries[customer]; e != nil {
		switch status, until := e.StatusAt(st.Now, &st.Terms.Queue); {
		case status == boxoffice.QueueWaiting, status == boxoffice.QueueAdmitted:
			return e, nil
		case !until.IsZero():
			if !e.Admission.PassedOn {
				st.Head.Freed++
			}
			e.Admission.ReturningAt, e.Admission.PassedOn = st.Now, true
			j.back = append(j.back, e.Number)
			return e, nil
		}
		j.over = append(j.over, e.Number)
	}
	if most := int64(st.Terms.Queue.SizeMax); most > 0 && st.Head.Joined-st.Head.Head >= most {
		return nil, boxoffice.QueueFull()
	}
	var key [32]byte
	rand.Read(key[:])
	r := j.open(key[:])
	st.Head.Joined++
	e := &boxoffice.QueueEntry{ID: NewID(), Number: st.Head.Joined, Round: r.Round, CustomerID: customer, JoinedAt: st.Now}
	r.Entries++
	r.Digest = boxoffice.DigestEntry(r.Digest, e.ID)
	j.changed[r.Round] = true
	j.entries[customer] = e
	if j.added == nil {
		j.added = map[int][]*boxoffice.QueueEntry{}
	}
	j.added[r.Round] = append(j.added[r.Round], e)
	return e, nil
}

// round finds the round of an entry.
func (j *join) round(ctx context.Context, tx pgx.Tx, no int) (*boxoffice.QueueRound, error) {
	for _, r := range j.undrawn {
		if r.Round == no {
			return r, nil
		}
	}
	if r := j.rounds[no]; r != nil {
		return r, nil
	}
	r, err := scanRound(tx.QueryRow(ctx, sqlQueueRoundsRead, j.st.Terms.ShowID, no, 1))
	j.rounds[no] = r
	return r, err
}

// queueSave writes what the batch came to, with the receipts of those whose
// answers are kept.
func (j *join) queueSave(b *pgx.Batch, kept []int, calls []*joinCall, answers []joined) {
	show, org, now := j.st.Terms.ShowID, j.st.Terms.OrganisationID, j.st.Now
	if len(j.over) > 0 {
		b.Queue(sqlQueueEntriesClose, show, j.over, now)
	}
	if len(j.back) > 0 {
		b.Queue(sqlQueueAdmissionsReturn, show, j.back, now)
	}
	j.queueTx.queueSave(b)
	for round, list := range j.added {
		numbers, ids, customers := make([]int64, len(list)), make([]uuid.UUID, len(list)), make([]string, len(list))
		for i, e := range list {
			numbers[i], ids[i], customers[i] = e.Number, e.ID, e.CustomerID
		}
		b.Queue(sqlQueueEntriesInsert, show, org, round, now, numbers, ids, customers)
	}
	n := len(kept)
	if n == 0 {
		return
	}
	owners, receipts, keys := make([]string, n), make([]string, n), make([]uuid.UUID, n)
	fingerprints, ats := make([][]byte, n), make([]time.Time, n)
	for i, at := range kept {
		k := &calls[at].Command.key
		text, err := json.Marshal(&answers[at].view)
		if err != nil {
			panic(fmt.Sprintf("receipt: %v", err)) // numbers, times and short texts: this cannot happen
		}
		owners[i], keys[i], fingerprints[i], ats[i], receipts[i] = k.Owner, k.Key, k.Fingerprint[:], now, string(text)
	}
	b.Queue(sqlIdempotencyInsert, owners, keys, repeat(org, n), fingerprints, ats, repeat(show, n), receipts)
}
