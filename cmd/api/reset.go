package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/internal/postgres"
)

func resetVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Drop what rowlock run keeps",
		Long:  "Removes the database of rowlock run from DATA_DIR. It touches no database that DATABASE_URL names.",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := settings(cmd, nil)
			if err != nil {
				return err
			}
			if url := running(&cfg, postgres.Superuser); url != "" {
				if conn, err := pgx.Connect(cmd.Context(), url); err == nil {
					conn.Close(cmd.Context())
					return errors.New("rowlock run is running: stop it with Ctrl-C first")
				}
			}
			// Only what run made: DATA_DIR may be anything.
			gone, err := filepath.Glob(filepath.Join(cfg.DataDir, "data-[1-9]*"))
			if err != nil {
				return err
			}
			for _, name := range []string{urlFile, secretFile, passwordFile, ticketFile, mailFolder, sandboxFolder, "lock"} {
				gone = append(gone, filepath.Join(cfg.DataDir, name))
			}
			for _, path := range gone {
				if err := os.RemoveAll(path); err != nil {
					return err
				}
			}
			_ = os.Remove(cfg.DataDir) // if nothing else is in it
			fmt.Fprintf(cmd.OutOrStdout(), "%s is empty\n", cfg.DataDir)
			return nil
		},
	}
	takes(cmd, "DATA_DIR")
	return cmd
}
