package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

// retriesMax is how often a transaction is repeated after a serialization
// failure or a deadlock.
const retriesMax = 2

// tx runs do in a READ COMMITTED transaction and commits it, again after a
// serialization failure or a deadlock. Errors come back with their code.
func (s *Store) tx(ctx context.Context, do func(ctx context.Context, tx pgx.Tx) error) error {
	for attempt := 0; ; attempt++ {
		err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
			return do(ctx, tx)
		})
		if retryable(err) && attempt < retriesMax {
			continue
		}
		return coded(err)
	}
}

var (
	sqlServiceReady          = queries.Must("service_ready")
	sqlServiceReplan         = queries.Must("service_replan")
	sqlServiceOldestSnapshot = queries.Must("service_oldest_snapshot")
	sqlServiceOldestJob      = queries.Must("service_oldest_job")
	sqlServiceSnapshot       = queries.Must("service_snapshot")
	sqlIdempotencyLoad       = queries.Must("idempotency_load")
	sqlIdempotencyInsert     = queries.Must("idempotency_insert")
	sqlIdempotencyPurge      = queries.Must("idempotency_purge")
	sqlLanesTryKeys          = queries.Must("lanes_try_keys")
	sqlLanesClock            = queries.Must("lanes_clock")
)

// once does a write at most once per idempotency key: the key's row commits
// with the write. A key that was answered before gets the same T again, and
// true. T must survive JSON and hold no personal data.
func once[T any](ctx context.Context, s *Store, organisation uuid.UUID, key boxoffice.IdempotencyKey, do func(ctx context.Context, tx pgx.Tx) (T, error)) (result T, replayed bool, err error) {
	err = s.tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		var zero T
		result, replayed = zero, false
		a, b := lockKeyOf(&key)
		var had bool
		if err := tx.QueryRow(ctx, sqlLanesTryKeys, []int32{a}, []int32{b}).Scan(&had); err != nil {
			return err
		}
		if !had {
			return boxoffice.Refuse(boxoffice.CodeKeyInUse, "The first request with this Idempotency-Key is still running.")
		}
		var i int
		var fingerprint []byte
		var receipt string
		err := tx.QueryRow(ctx, sqlIdempotencyLoad, []string{key.Owner}, []uuid.UUID{key.Key}).Scan(&i, &fingerprint, &receipt)
		switch {
		case err == nil && string(fingerprint) != string(key.Fingerprint[:]):
			return boxoffice.Refuse(boxoffice.CodeKeyReused, "This Idempotency-Key was used for another request; make a new one.")
		case err == nil:
			replayed = true
			if err := json.Unmarshal([]byte(receipt), &result); err != nil {
				return err
			}
			// It says again that something is safe: see lanes_witness.
			_, err = tx.Exec(ctx, sqlLanesWitness)
			return err
		case !errors.Is(err, pgx.ErrNoRows):
			return err
		}
		if result, err = do(ctx, tx); err != nil {
			return err
		}
		text, err := json.Marshal(result)
		if err != nil {
			return fmt.Errorf("receipt: %w", err)
		}
		_, err = tx.Exec(ctx, sqlIdempotencyInsert, []string{key.Owner}, []uuid.UUID{key.Key}, []uuid.UUID{organisation},
			[][]byte{key.Fingerprint[:]}, []any{nil}, []any{nil}, []string{string(text)})
		return err
	})
	return result, replayed, err
}

// lockKeyOf is the advisory lock of an idempotency key, in the two-argument
// key space: keys are random, so their own bits serve, mixed with the owner's.
func lockKeyOf(k *boxoffice.IdempotencyKey) (a, b int32) {
	h := uint32(2166136261) // FNV-1a
	for i := 0; i < len(k.Owner); i++ {
		h = (h ^ uint32(k.Owner[i])) * 16777619
	}
	id := k.Key
	x := uint32(id[0])<<24 | uint32(id[1])<<16 | uint32(id[2])<<8 | uint32(id[3])
	y := uint32(id[12])<<24 | uint32(id[13])<<16 | uint32(id[14])<<8 | uint32(id[15])
	return int32(x ^ h), int32(y)
}
