package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/sql/ops"
)

// shownMax is how many offending rows of a rule are printed.
const shownMax = 20

func proveVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prove",
		Short: "Prove from the database that nothing was sold twice",
		Long: `Asks the database whether any rule is broken that must hold at every moment: the
queries of sql/ops/invariants.sql, all in one snapshot. It prints the rows that
break a rule. Exit 0: all rules hold. Exit 1: one does not.

It only reads, and may run beside a sale.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conn, err := connectOps(cmd)
			if err != nil {
				return err
			}
			defer conn.Close(cmd.Context())
			broken, err := ops.Prove(cmd.Context(), conn)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			for _, rule := range ops.Rules() {
				i := slices.IndexFunc(broken, func(b ops.Broken) bool { return b.Name == rule.Name })
				if i < 0 {
					fmt.Fprintf(out, "holds   %s\n", words(rule.Name))
					continue
				}
				fmt.Fprintf(out, "BROKEN  %s\n        %s\n", words(rule.Name), rule.About)
				printTable(out, broken[i].Columns, broken[i].Rows, shownMax)
			}
			if len(broken) > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "rowlock: %d of %d rules are broken\n", len(broken), len(ops.Rules()))
				return errSilent
			}
			fmt.Fprintf(out, "all %d rules hold\n", len(ops.Rules()))
			return nil
		},
	}
	takes(cmd, opsSettings...)
	return cmd
}

// words is a rule's name as a sentence begins.
func words(name string) string { return strings.ReplaceAll(name, "_", " ") }
