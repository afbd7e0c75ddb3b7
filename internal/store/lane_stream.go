package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
)

// streamBytes is how much is put together before it is sent: enough that
// Postgres is busy with it for longer than it takes to send, some dozens of rows.
const streamBytes = 8 << 10

// stream is the last pipeline of a lane's transaction. Of a large batch the first
// statements are sent while the next are put together, so that Postgres and this
// process work at the same time; a [pgx.Batch] would let each wait for the other.
// An error is kept and told by [stream.commit].
type stream struct {
	ctx    context.Context // of the pipeline, which knows no other way
	w      *laneWorker
	pipe   *pgconn.Pipeline // nil: nothing is on its way
	unsent int              // bytes
	last   pgconn.CommandTag
	err    error
}

// queue sends a statement, now or with others.
func (s *stream) queue(sql string, args ...any) {
	if s.err == nil {
		s.err = s.put(sql, args)
	}
}

// fail ends the stream, and with it the transaction.
func (s *stream) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

func (s *stream) put(sql string, args []any) error {
	statement, err := s.prepared(sql)
	if err != nil {
		return err
	}
	b := &s.w.builder
	if err := b.Build(s.w.conn.TypeMap(), statement, args); err != nil {
		return fmt.Errorf("%.60s: %w", sql, err)
	}
	if s.pipe == nil {
		s.pipe = s.w.conn.PgConn().StartPipeline(s.ctx)
	}
	s.pipe.SendQueryStatement(statement, b.ParamValues, b.ParamFormats, slices.Clone(b.ResultFormats))
	for _, value := range b.ParamValues {
		s.unsent += len(value)
	}
	if s.unsent < streamBytes {
		return nil
	}
	s.unsent = 0
	return s.pipe.Flush()
}

// prepared makes the statement known to the connection. One that it does not know
// yet waits for those that are on their way.
func (s *stream) prepared(sql string) (*pgconn.StatementDescription, error) {
	if statement := s.w.statements[sql]; statement != nil {
		return statement, nil
	}
	if err := s.finish(); err != nil {
		return nil, err
	}
	statement, err := s.w.conn.Prepare(s.ctx, sql, sql)
	if err == nil {
		s.w.statements[sql] = statement
	}
	return statement, err
}

// finish takes in the answers to what was sent.
func (s *stream) finish() (err error) {
	if s.pipe == nil {
		return nil
	}
	pipe := s.pipe
	s.pipe, s.unsent = nil, 0
	defer func() {
		if closed := pipe.Close(); err == nil {
			err = closed
		}
	}()
	if err := pipe.Sync(); err != nil {
		return err
	}
	for {
		answer, err := pipe.GetResults()
		if err != nil {
			return err
		}
		rows, more := answer.(*pgconn.ResultReader)
		if !more {
			return nil
		}
		if s.last, err = rows.Close(); err != nil {
			return err
		}
	}
}

// commit ends the transaction, if all went well.
func (s *stream) commit() error {
	s.queue(sqlLanesCommit)
	s.fail(s.finish())
	if s.err == nil && s.last.String() != "COMMIT" {
		// COMMIT of a failed transaction answers ROLLBACK, without an error.
		s.err = errors.New("commit answered " + s.last.String())
	}
	return s.err
}
