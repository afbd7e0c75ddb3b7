package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

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
			if *value == "" {
				continue
			}
			if _, err := uuid.Parse(*value); err != nil && name != "seat" && name != "booking" { // those may be named by label and reference
				return usageError{fmt.Errorf("--%s: %q is no id", name, *value)}
			}
			params[name] = *value
		}
		if strings.HasSuffix(q.Name, "_story") && len(params) < len(q.Params) { // the others may be asked about all there is
			return usageError{fmt.Errorf("%s needs --%s", q.Name, strings.Join(q.Params, " and --"))}
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
		printTable(cmd.OutOrStdout(), columns, rows, len(rows))
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
