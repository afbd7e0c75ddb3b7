package jobs

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// pipelined is a [pgx.Tx] that puts statements into a pipeline, where River
// would send them one by one. They have no answers yet: rows are none, and an
// error is the pipeline's. What asks for one row is asked at once.
type pipelined struct {
	*session
	b *pgx.Batch
}

// session is a connection under a name that does not hide the method Conn.
type session = pgx.Conn

func (p pipelined) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	p.b.Queue(sql, args...)
	return pgconn.CommandTag{}, nil
}

func (p pipelined) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	p.b.Queue(sql, args...)
	return noRows{}, nil
}

var errPipelined = errors.New("jobs: a pipeline neither begins nor ends a transaction")

func (p pipelined) Begin(context.Context) (pgx.Tx, error) { return nil, errPipelined }
func (p pipelined) Commit(context.Context) error          { return errPipelined }
func (p pipelined) Rollback(context.Context) error        { return errPipelined }
func (p pipelined) LargeObjects() pgx.LargeObjects        { panic(errPipelined) }
func (p pipelined) Conn() *pgx.Conn                       { return p.session }

// noRows is the answer to a statement that was not sent yet.
type noRows struct{}

var errNoRow = errors.New("jobs: the statement was not sent yet")

func (noRows) Close()                                       {}
func (noRows) Err() error                                   { return nil }
func (noRows) CommandTag() pgconn.CommandTag                { return pgconn.CommandTag{} }
func (noRows) FieldDescriptions() []pgconn.FieldDescription { return nil }
func (noRows) Next() bool                                   { return false }
func (noRows) Scan(...any) error                            { return errNoRow }
func (noRows) Values() ([]any, error)                       { return nil, errNoRow }
func (noRows) RawValues() [][]byte                          { return nil }
func (noRows) Conn() *pgx.Conn                              { return nil }
func (noRows) TypeMap() *pgtype.Map                         { return nil }
