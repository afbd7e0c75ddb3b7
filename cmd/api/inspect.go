package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/config"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/sql/migrations"
)

// schema is the version that the database is at and the one that this binary
// was made for.
func schema(ctx context.Context, conn *pgx.Conn) (have, want int32, err error) {
	files, err := migrations.FS.ReadDir(".")
	if err != nil {
		return 0, 0, err
	}
	have, err = store.SchemaVersion(ctx, conn)
	return have, int32(len(files)), err
}

// inspect looks at the database before anything is opened, so that what is
// wrong is said once and clearly. It migrates first if there is a role for it.
func inspect(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	if cfg.DatabaseURL == "" {
		return errors.New("DATABASE_URL is not set. On a developer's machine, rowlock run starts a database of its own")
	}
	if cfg.MigrateDatabaseURL != "" {
		if _, _, err := store.Migrate(ctx, cfg.MigrateDatabaseURL, log); err != nil {
			return err
		}
	}
	for i, url := range slices.Compact([]string{cfg.DirectURL(), cfg.LaneURL()}) {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return fmt.Errorf("database: %w", err)
		}
		defer conn.Close(context.WithoutCancel(ctx))
		if err := inspectRole(ctx, cfg, log, conn); err != nil {
			return err
		}
		if i > 0 {
			continue
		}
		switch have, want, err := schema(ctx, conn); {
		case err != nil:
			return err
		case have < want:
			return fmt.Errorf("the schema is at version %d and this binary needs %d: run rowlock migrate", have, want)
		case have > want:
			log.Warn("the schema is newer than this binary", "schema", have, "binary", want)
		}
		if err := store.CheckConnections(ctx, conn, cfg.ConnectionsMax()); err != nil {
			return err
		}
	}
	return nil
}

// inspectRole says what is wrong with the role that conn belongs to: in
// production, too much power is refused.
func inspectRole(ctx context.Context, cfg *config.Config, log *slog.Logger, conn *pgx.Conn) error {
	role := conn.Config().User
	powers, err := store.CheckPowers(ctx, conn)
	if err != nil {
		return err
	}
	if len(powers) > 0 {
		if !cfg.Development() {
			return fmt.Errorf("the database role %s %s: in production the service runs as roles that cannot (rowlock roles makes them)", role, strings.Join(powers, " and "))
		}
		log.Warn("the database role has powers that production refuses", "role", role, "powers", powers)
	}
	wrong, err := store.CheckSettings(ctx, conn)
	for _, w := range wrong {
		log.Warn("a setting of the database role is not as rowlock roles makes it", "role", role, "setting", w)
	}
	return err
}
