package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/internal/store"
)

func rolesVerb() *cobra.Command {
	var database string
	cmd := &cobra.Command{
		Use:   "roles",
		Short: "Make the database roles, and the database",
		Long: `Makes the four roles that Rowlock works with, or brings them up to date, and
lets them into the database: rowlock_owner (migrations), rowlock_app (the
service), rowlock_lane (the lanes) and rowlock_ops (people on call; reads only).

DATABASE_URL is that of a superuser, or of the database's owner if it may create
roles. A role gets the password in ROWLOCK_OWNER_PASSWORD, ROWLOCK_APP_PASSWORD,
ROWLOCK_LANE_PASSWORD or ROWLOCK_OPS_PASSWORD; one that is not set stays as it
is. Running it again changes nothing.`,
		Example: "  DATABASE_URL=postgres://postgres@db/rowlock ROWLOCK_APP_PASSWORD=… rowlock roles",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := settings(cmd, nil)
			if err != nil {
				return err
			}
			if cfg.DatabaseURL == "" {
				return errNoDatabase("DATABASE_URL")
			}
			if database != "" {
				if err := store.EnsureDatabase(cmd.Context(), cfg.DatabaseURL, database); err != nil {
					return mayNot(err)
				}
				if cfg.DatabaseURL, err = withPath(cfg.DatabaseURL, database); err != nil {
					return err
				}
			}
			passwords := map[string]string{}
			for _, role := range []string{store.RoleOwner, store.RoleApp, store.RoleLane, store.RoleOps} {
				if password := os.Getenv(strings.ToUpper(role) + "_PASSWORD"); password != "" {
					passwords[role] = password
				}
			}
			if err := store.EnsureRoles(cmd.Context(), cfg.DatabaseURL, passwords); err != nil {
				return mayNot(err)
			}
			fmt.Fprintln(cmd.OutOrStdout(), "the roles rowlock_owner, rowlock_app, rowlock_lane and rowlock_ops are there")
			return nil
		},
	}
	takes(cmd, "DATABASE_URL")
	cmd.Flags().StringVar(&database, "create-database", "", "make this database first, and let the roles into it")
	return cmd
}

// mayNot says whose DATABASE_URL this takes, if it was somebody else's.
func mayNot(err error) error {
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) && e.Code == "42501" {
		return fmt.Errorf("%w: DATABASE_URL must be a superuser's, or that of the database's owner with the right to create roles", err)
	}
	return err
}
