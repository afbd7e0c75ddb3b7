package strategies

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// tx is a transaction. A pipelined one saves round trips: it begins with the
// first questions and is committed with the last writes.
type tx struct {
	conn      *pgx.Conn
	pipelined bool
	next      *pgx.Batch // what goes with the next [tx.send]
}

// transact runs work in a transaction. What it has queued in the end goes with
// COMMIT. An error of work, or of the server, leaves nothing written.
func transact(ctx context.Context, pool *pgxpool.Pool, pipelined bool, work func(*tx) error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // which ends the connection if the transaction is still open
	t := &tx{conn: conn.Conn(), pipelined: pipelined, next: &pgx.Batch{}}
	t.next.Queue("begin")
	if err = t.step(ctx); err == nil {
		err = work(t)
	}
	if err == nil {
		err = t.step(ctx)
	}
	if err == nil {
		t.next.Queue("commit").Exec(func(tag pgconn.CommandTag) error {
			if tag.String() != "COMMIT" { // of a transaction that has failed
				return fmt.Errorf("commit answered %s", tag)
			}
			return nil
		})
		err = t.send(ctx)
	}
	if conn.Conn().PgConn().TxStatus() != 'I' {
		_, failed := conn.Exec(context.WithoutCancel(ctx), "rollback")
		err = errors.Join(err, failed)
	}
	return err
}

// step is the end of a step: the next need not be in a round trip of its own.
func (t *tx) step(ctx context.Context) error {
	if t.pipelined {
		return nil
	}
	return t.send(ctx)
}

// send sends what is queued, in one round trip, and takes in the answers.
func (t *tx) send(ctx context.Context) error {
	b := t.next
	if b.Len() == 0 {
		return nil
	}
	t.next = &pgx.Batch{}
	return t.conn.SendBatch(ctx, b).Close()
}
