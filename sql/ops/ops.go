// Package ops holds what people on call ask the database, as files that psql
// runs as they are, and the rules that must hold at every moment.
//
// A file is one statement below a comment, whose first sentence says what it
// shows:
//
//	-- Who holds what in a show, the next to end first.
//	-- params: show
//
// A parameter is a setting of the session, because that is the one thing that
// psql, a pooled connection and Go all know how to give. None is required:
// without it a query is about everything, or finds nothing.
//
//	psql -c "set rowlock.show = '0197a1f0-…'" -f sql/ops/holds_by_show.sql
//	rowlock ops holds_by_show --show=0197a1f0-…
//	make ops Q=holds_by_show SHOW=0197a1f0-…
//
// invariants.sql is many statements, each below "-- name: <rule>" and a
// sentence. Each returns no row while its rule holds, and what breaks it when
// it does not. Contention tests, rowlock prove and the person on call read this
// one text.
package ops

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed *.sql
	files embed.FS
	//go:embed run/set.sql
	set string
)

const (
	invariants   = "invariants"
	nameMarker   = "-- name: "
	paramsMarker = "params: "
)

// Query is one question.
type Query struct {
	Name   string   // of the file, without .sql
	About  string   // one sentence
	Params []string // names of what it can be asked about
	SQL    string
}

// Queries returns every query, by name, without the invariants.
var Queries = sync.OnceValue(func() (all []Query) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		panic(err)
	}
	for _, file := range names {
		q := Query{Name: strings.TrimSuffix(file, ".sql"), SQL: read(file)}
		if q.Name == invariants {
			continue
		}
		for line := range strings.Lines(q.SQL) {
			comment, ok := strings.CutPrefix(strings.TrimSpace(line), "-- ")
			if !ok {
				break
			}
			if list, ok := strings.CutPrefix(comment, paramsMarker); ok {
				for name := range strings.SplitSeq(list, ",") {
					q.Params = append(q.Params, strings.TrimSpace(name))
				}
			} else if q.About == "" {
				q.About = comment
			}
		}
		all = append(all, q)
	}
	return all
})

// Find returns the query of a name.
func Find(name string) (Query, bool) {
	i := slices.IndexFunc(Queries(), func(q Query) bool { return q.Name == name })
	if i < 0 {
		return Query{}, false
	}
	return Queries()[i], true
}

// Rule is one invariant.
type Rule struct {
	Name  string // the rule in words, joined with underscores
	About string // one sentence: what it protects from
	SQL   string // returns no row while the rule holds
}

// Rules returns every invariant, in the order of the file.
var Rules = sync.OnceValue(func() (all []Rule) {
	for _, part := range strings.Split("\n"+read(invariants+".sql"), "\n"+nameMarker)[1:] {
		name, rest, _ := strings.Cut(part, "\n")
		about, _, _ := strings.Cut(rest, "\n")
		all = append(all, Rule{
			Name:  strings.TrimSpace(name),
			About: strings.TrimPrefix(about, "-- "),
			SQL:   nameMarker + strings.TrimSpace(part),
		})
	}
	return all
})

// Conn is what queries run on: a connection or a pool.
type Conn interface {
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// lookOnly keeps every query to one snapshot and from changing anything,
// whoever asks.
var lookOnly = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

// Run asks a query and returns its rows below the names of its columns. params
// are by name; empty ones are not given.
func Run(ctx context.Context, conn Conn, name string, params map[string]string) (columns []string, rows [][]any, err error) {
	q, ok := Find(name)
	if !ok {
		return nil, nil, fmt.Errorf("ops: there is no query %q", name)
	}
	tx, err := conn.BeginTx(ctx, lookOnly)
	if err != nil {
		return nil, nil, err
	}
	defer tx.Rollback(ctx) // it wrote nothing
	for _, param := range slices.Sorted(maps.Keys(params)) {
		if !slices.Contains(q.Params, param) {
			return nil, nil, fmt.Errorf("ops: %s takes no %s", name, param)
		}
		if _, err := tx.Exec(ctx, set, param, params[param]); err != nil {
			return nil, nil, err
		}
	}
	return ask(ctx, tx, q.SQL)
}

// Broken is a rule that does not hold, with the rows that break it.
type Broken struct {
	Rule
	Columns []string
	Rows    [][]any
}

// Prove returns the rules that do not hold, in one snapshot.
func Prove(ctx context.Context, conn Conn) (broken []Broken, err error) {
	tx, err := conn.BeginTx(ctx, lookOnly)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback(ctx) // it wrote nothing
	for _, rule := range Rules() {
		columns, rows, err := ask(ctx, tx, rule.SQL)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rule.Name, err)
		}
		if len(rows) > 0 {
			broken = append(broken, Broken{rule, columns, rows})
		}
	}
	return broken, nil
}

func ask(ctx context.Context, tx pgx.Tx, sql string) (columns []string, list [][]any, err error) {
	rows, err := tx.Query(ctx, sql)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for _, f := range rows.FieldDescriptions() {
		columns = append(columns, f.Name)
	}
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return nil, nil, err
		}
		list = append(list, values)
	}
	return columns, list, rows.Err()
}

func read(file string) string {
	text, err := files.ReadFile(file)
	if err != nil {
		panic(err)
	}
	return string(text)
}
