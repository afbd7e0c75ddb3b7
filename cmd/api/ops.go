package main

import (
	"cmp"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/sql/ops"
)

var opsSettings = []string{"DATABASE_URL", "DATA_DIR"}

func opsVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ops [QUERY]",
		Short: "Ask the database what people on call want to know",
		Long: `Runs one of the queries in sql/ops and prints its rows; without a name, lists
the queries. It asks as the role rowlock_ops, which only reads: DATABASE_URL is
that role's, or rowlock run is running.`,
		Example: "  rowlock ops\n  rowlock ops holds_by_show --show=0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e",
		Args:    cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
			for _, q := range ops.Queries() {
				names = append(names, q.Name+"\t"+q.About)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	takes(cmd, opsSettings...)
	given := map[string]*string{}
	for _, q := range ops.Queries() {
		for _, name := range q.Params {
			if given[name] == nil {
				given[name] = cmd.Flags().String(name, "", "what to ask about, for the queries that take "+name)
			}
		}
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return listQueries(cmd.OutOrStdout())
		}
		q, ok := ops.Find(args[0])
		if !ok {
			return usageError{fmt.Errorf("there is no query %q; rowlock ops lists them", args[0])}
		}
		params := map[string]string{}
		for name, value := range given {
			if *value != "" && !slices.Contains(q.Params, name) {
				return usageError{fmt.Errorf("%s takes no --%s", q.Name, name)}
			}
			if *value != "" {
				params[name] = *value
			}
		}
		conn, err := connectOps(cmd)
		if err != nil {
			return err
		}
		defer conn.Close(cmd.Context())
		columns, rows, err := ops.Run(cmd.Context(), conn, q.Name, params)
		if err != nil {
			return err
		}
		found := newTable(columns, rows)
		found.print(cmd.OutOrStdout(), len(found.rows))
		return nil
	}
	return cmd
}

func listQueries(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, q := range ops.Queries() {
		fmt.Fprintf(table, "%s\t%s\t%s\n", q.Name, strings.Join(q.Params, " "), q.About)
	}
	return table.Flush()
}

// connectOps connects as whoever may look at everything and change nothing.
func connectOps(cmd *cobra.Command) (*pgx.Conn, error) {
	cfg, err := settings(cmd, chore)
	if err != nil {
		return nil, err
	}
	url := cmp.Or(cfg.DatabaseURL, running(&cfg, store.RoleOps))
	if url == "" {
		return nil, errNoDatabase("DATABASE_URL")
	}
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	c.RuntimeParams["application_name"] = "rowlock ops"
	c.RuntimeParams["default_transaction_read_only"] = "on" // whoever's URL it is
	return pgx.ConnectConfig(cmd.Context(), c)
}

// table is what a query found, as text.
type table struct {
	columns []string
	rows    [][]string
}

func newTable(columns []string, rows [][]any) table {
	t := table{columns: columns}
	for _, values := range rows {
		line := make([]string, len(values))
		for i, v := range values {
			line[i] = cell(v)
		}
		t.rows = append(t.rows, line)
	}
	return t
}

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

// print writes at most so many rows, in columns.
func (t *table) print(w io.Writer, most int) {
	widths := make([]int, len(t.columns))
	shown := t.rows[:min(most, len(t.rows))]
	for _, line := range append([][]string{t.columns}, shown...) {
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
	line(t.columns)
	rule := make([]string, len(widths))
	for i, n := range widths {
		rule[i] = strings.Repeat("-", n)
	}
	fmt.Fprintln(w, strings.Join(rule, "-+-"))
	for _, cells := range shown {
		line(cells)
	}
	if left := len(t.rows) - len(shown); left > 0 {
		fmt.Fprintf(w, "… and %d more\n", left)
	}
	if len(t.rows) == 1 {
		fmt.Fprintln(w, "(1 row)")
	} else {
		fmt.Fprintf(w, "(%d rows)\n", len(t.rows))
	}
}
