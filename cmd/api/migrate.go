package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/internal/store"
)

func migrateVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's schema up to date",
		Long: `Brings the schema to the version of this binary, as the role that owns the
tables (MIGRATE_DATABASE_URL). Any number may run at once: one does the work. A
schema that is newer than the binary is left alone.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := settings(cmd, chore)
			if err != nil {
				return err
			}
			url := cfg.MigrateURL()
			if url == "" {
				if url = running(&cfg, store.RoleOwner); url == "" {
					return errNoDatabase("MIGRATE_DATABASE_URL")
				}
			}
			from, to, err := store.Migrate(cmd.Context(), url, logger(&cfg, cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			if from == to {
				fmt.Fprintf(cmd.OutOrStdout(), "the schema is at version %d: nothing to do\n", to)
				return nil
			}
			fmt.Fprintf(cmd.OutOrStdout(), "the schema went from version %d to %d\n", from, to)
			return nil
		},
	}
	takes(cmd, "MIGRATE_DATABASE_URL", "DATABASE_DIRECT_URL", "DATABASE_URL", "DATA_DIR", "LOG_LEVEL", "LOG_FORMAT")
	return cmd
}

// errNoDatabase says how to name a database.
func errNoDatabase(variable string) error {
	return errors.New(variable + " is not set, and no rowlock run is running here")
}
