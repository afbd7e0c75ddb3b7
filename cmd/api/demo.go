package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/internal/fixture/demo"
	"github.com/rowlock/rowlock/internal/store"
)

func demoVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Load the demo data: venues, plans, events, and shows in the coming weeks",
		Long:  "Loads the demo data, as rowlock run does. Running it again adds what is missing, such as shows of days that have come nearer.",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := settings(cmd, chore)
			if err != nil {
				return err
			}
			log := logger(&cfg, cmd.ErrOrStderr())
			return withStore(cmd.Context(), &cfg, log, func(ctx context.Context, s *store.Store) error {
				if err := demo.Load(ctx, s, log); err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), "the demo data is there")
				return nil
			})
		},
	}
	takes(cmd, databaseSettings...)
	return cmd
}
