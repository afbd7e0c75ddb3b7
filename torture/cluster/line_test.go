//go:build unix

package cluster

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/sql/queries"
)

// Whoever commits, whether for the first time on a connection or not.
func TestALineIsCutOnTheRightSideOfACommit(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := pgtest.NewEmpty(t)
	direct, err := pgx.Connect(ctx, db.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close(context.Background())
	address, err := url.Parse(db.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLine("test", address.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	address.Host = l.address()
	// A sequence remembers what came, whether it was committed or not.
	if _, err := direct.Exec(ctx, "create sequence came; create table done (n bigint)"); err != nil {
		t.Fatal(err)
	}
	const insert = "insert into done select nextval('came')"
	commit := map[string]func(conn *pgx.Conn) error{
		"a lane": func(conn *pgx.Conn) error {
			if _, err := conn.Exec(ctx, queries.Must("lanes_begin")); err != nil {
				t.Fatal("BEGIN:", err)
			}
			b := &pgx.Batch{}
			b.Queue(insert)
			b.Queue(queries.Must("lanes_commit"))
			return conn.SendBatch(ctx, b).Close()
		},
		"a transaction": func(conn *pgx.Conn) error {
			tx, err := conn.Begin(ctx)
			if err != nil {
				t.Fatal("BEGIN:", err)
			}
			if _, err := tx.Exec(ctx, insert); err != nil {
				t.Fatal("before COMMIT:", err)
			}
			return tx.Commit(ctx)
		},
	}
	count := func(sql string) (n int) {
		if err := direct.QueryRow(ctx, sql).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	came, done := 0, 0
	for who, do := range commit {
		for _, after := range []bool{false, true} {
			for _, again := range []bool{false, true} {
				conn, err := pgx.Connect(ctx, address.String())
				if err != nil {
					t.Fatal(err)
				}
				if again {
					if err := do(conn); err != nil {
						t.Fatal(err)
					}
					came, done = came+1, done+1
				}
				cure, err := l.cutAtCommits(after)
				if err != nil {
					t.Fatal(err)
				}
				if err := do(conn); err == nil || !conn.IsClosed() {
					t.Errorf("%s, after %v, again %v: it was answered: %v", who, after, again, err)
				}
				if cuts, err := cure(); err != nil || cuts != 1 {
					t.Errorf("%s, after %v, again %v: %d cuts, %v", who, after, again, cuts, err)
				}
				if came++; after {
					done++
				}
				for count("select coalesce(pg_sequence_last_value('came'), 0)") < came {
					time.Sleep(time.Millisecond)
				}
				for count("select count(*) from pg_stat_activity where datname = current_database() and backend_type = 'client backend'") > 1 {
					time.Sleep(time.Millisecond)
				}
				if n := count("select count(*) from done"); n != done {
					t.Errorf("%s, after %v, again %v: %d commits, not %d", who, after, again, n, done)
				}
			}
		}
	}
}
