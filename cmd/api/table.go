package main

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

var onOneLine = strings.NewReplacer("\r", " ", "\n", " ", "\t", " ")

// cell is a value as psql would print it, more or less.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case time.Time:
		return v.UTC().Format("2006-01-02 15:04:05.000000Z")
	case [16]byte:
		return uuid.UUID(v).String()
	case []byte:
		return fmt.Sprintf(`\x%x`, v)
	case string:
		return onOneLine.Replace(v) // a statement has line breaks, a row of a table has not
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = cell(v[i])
		}
		return "{" + strings.Join(parts, ",") + "}"
	case map[string]any:
		text, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(text)
	case driver.Valuer: // numerics and intervals
		if inner, err := v.Value(); err == nil {
			return cell(inner)
		}
	}
	return fmt.Sprint(v)
}

// printTable writes what a query found, at most so many of its rows.
func printTable(w io.Writer, columns []string, rows [][]any, most int) {
	shown := make([][]string, min(most, len(rows)))
	for i := range shown {
		for _, v := range rows[i] {
			shown[i] = append(shown[i], cell(v))
		}
	}
	widths := make([]int, len(columns))
	for _, line := range append([][]string{columns}, shown...) {
		for i, text := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	line := func(cells []string) {
		var b strings.Builder
		for i, text := range cells {
			if i > 0 {
				b.WriteString(" | ")
			}
			b.WriteString(text)
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)))
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
	line(columns)
	rule := make([]string, len(widths))
	for i, n := range widths {
		rule[i] = strings.Repeat("-", n)
	}
	fmt.Fprintln(w, strings.Join(rule, "-+-"))
	for _, cells := range shown {
		line(cells)
	}
	if left := len(rows) - len(shown); left > 0 {
		fmt.Fprintf(w, "… and %d more\n", left)
	}
	if len(rows) == 1 {
		fmt.Fprintln(w, "(1 row)")
	} else {
		fmt.Fprintf(w, "(%d rows)\n", len(rows))
	}
}
