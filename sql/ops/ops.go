// Package ops holds what people on call ask the database, as files that psql
// can run too, and the invariants that must hold at every moment.
//
// A file of queries is one statement:
//
//	-- What it shows, in one sentence.
//	-- params: show, seat
//	select … where ($1::uuid is null or show_id = $1) …
//
// params names $1, $2 and so on; each is null when it is not given. In psql:
//
//	\i sql/ops/holds_by_show.sql \bind 0197a1f0-… \g
//
// invariants.sql holds many statements, each below "-- name: <rule>". Each
// returns no row while its rule holds, and the offending rows when it does not.
// Contention tests, the simulator, rowlock prove and the person on call all
// read this one text.
package ops

import (
	"embed"
	"io/fs"
	"strings"
	"sync"
)

//go:embed *.sql
var files embed.FS

const invariants = "invariants"

// Query is one question.
type Query struct {
	Name   string   // of the file, without .sql
	About  string   // one sentence
	Params []string // names of $1, $2, …
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
			if list, ok := strings.CutPrefix(comment, "params: "); ok {
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
	for _, q := range Queries() {
		if q.Name == name {
			return q, true
		}
	}
	return Query{}, false
}

// Rule is one invariant.
type Rule struct {
	Name string
	SQL  string // returns no row while the rule holds
}

// Rules returns every invariant, in the order of the file.
var Rules = sync.OnceValue(func() (all []Rule) {
	const marker = "-- name: "
	for _, part := range strings.Split("\n"+read(invariants+".sql"), "\n"+marker)[1:] {
		name, _, _ := strings.Cut(part, "\n")
		all = append(all, Rule{Name: strings.TrimSpace(name), SQL: marker + strings.TrimSpace(part)})
	}
	return all
})

func read(file string) string {
	text, err := files.ReadFile(file)
	if err != nil {
		panic(err)
	}
	return string(text)
}
