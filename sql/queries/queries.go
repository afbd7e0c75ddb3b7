// Package queries holds the statements of the store as files that psql,
// EXPLAIN and a reviewer can read. Each begins with "-- name: <noun>_<verb>",
// which stays in the text sent to Postgres, so that its logs and
// pg_stat_statements speak our language.
package queries

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

//go:embed *.sql
var files embed.FS

const marker = "-- name: "

var (
	texts = load()
	used  = map[string]bool{} // written by package variables, one after the other
)

func load() map[string]string {
	out := map[string]string{}
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		panic(err)
	}
	for _, file := range names {
		b, err := files.ReadFile(file)
		if err != nil {
			panic(err)
		}
		for _, part := range strings.Split("\n"+string(b), "\n"+marker)[1:] {
			name, _, _ := strings.Cut(part, "\n")
			name = strings.TrimSpace(name)
			if _, twice := out[name]; twice {
				panic(fmt.Sprintf("sql/queries: statement %s stands twice", name))
			}
			// In front the name survives where long texts are cut, behind it
			// survives pg_stat_statements of Postgres 18, which drops what
			// stands in front.
			out[name] = marker + strings.TrimSuffix(strings.TrimSpace(part), ";") + "\n" + marker + name
		}
	}
	return out
}

// Must returns the named statement. It is called from package variables, so a
// wrong name stops the program before it starts.
func Must(name string) string {
	text, ok := texts[name]
	if !ok {
		panic("sql/queries: no statement " + name)
	}
	used[name] = true
	return text
}

// All returns every statement by its name.
func All() map[string]string { return maps.Clone(texts) }

// Unused lists the statements that nobody asked for.
func Unused() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for name := range texts {
			if !used[name] && !yield(name) {
				return
			}
		}
	})
}
