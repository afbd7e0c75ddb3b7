package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/tern/v2/migrate"

	"github.com/rowlock/rowlock/sql/migrations"
	"github.com/rowlock/rowlock/sql/roles"
)

// ErrServerTooOld says that the server lacks what the SQL needs.
var ErrServerTooOld = errors.New("Rowlock needs Postgres 15 or newer")

const (
	versionTable = "public.schema_version"
	minServer    = 15

	// lockPoll is how often a starting instance asks whether another one has
	// finished migrating.
	lockPoll = 100 * time.Millisecond
)

// Migrate brings the schema to the version of this binary and grants the roles
// their due on new tables. It connects as the schema's owner, directly and not
// through a pooler. It returns the versions before and after.
//
// Any number of instances may call it at once; one does the work, the others
// wait for it. A schema newer than the binary, as during a rolling deploy, is
// left alone and is no error: migrations are written so that the previous
// binary can live with them.
//
// The error is [ErrServerTooOld] for Postgres before 15.
func Migrate(ctx context.Context, ownerURL string, log *slog.Logger) (from, to int32, err error) {
	return migrateFS(ctx, ownerURL, log, migrations.FS)
}

func migrateFS(ctx context.Context, ownerURL string, log *slog.Logger, files fs.FS) (from, to int32, err error) {
	conn, err := pgx.Connect(ctx, ownerURL)
	if err != nil {
		return 0, 0, fmt.Errorf("migrate: %w", err)
	}
	// Closing the session is what gives the lock back.
	defer conn.Close(context.WithoutCancel(ctx))
	if err := checkServer(conn); err != nil {
		return 0, 0, err
	}
	if err := lockSchema(ctx, conn, log); err != nil {
		return 0, 0, fmt.Errorf("migrate: %w", err)
	}
	m, err := migrate.NewMigrator(ctx, conn, versionTable)
	if err != nil {
		return 0, 0, fmt.Errorf("migrate: %w", err)
	}
	if err := m.LoadMigrations(files); err != nil {
		return 0, 0, fmt.Errorf("migrate: %w", err)
	}
	if from, err = m.GetCurrentVersion(ctx); err != nil {
		return 0, 0, fmt.Errorf("migrate: %w", err)
	}
	switch last := int32(len(m.Migrations)); {
	case from > last:
		// tern would refuse, and a rolling deploy could not restart an old instance.
		log.Warn("the schema is newer than this binary", "schema", from, "binary", last)
		return from, from, nil
	case from == last:
		return from, from, nil
	}
	m.OnStart = func(sequence int32, name, direction, _ string) {
		log.Info("migrating", "name", name, "direction", direction)
	}
	if err := m.Migrate(ctx); err != nil {
		return from, from, fmt.Errorf("migrate: %w", err)
	}
	if _, err := conn.Exec(ctx, roles.Grants); err != nil {
		return from, from, fmt.Errorf("grant privileges: %w", err)
	}
	if to, err = m.GetCurrentVersion(ctx); err != nil {
		return from, from, fmt.Errorf("migrate: %w", err)
	}
	return from, to, nil
}

// SchemaVersion is the number of the last migration that ran, 0 for none.
func SchemaVersion(ctx context.Context, conn *pgx.Conn) (int32, error) {
	var version int32
	err := conn.QueryRow(ctx, migrations.Version).Scan(&version)
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) && e.Code == "42P01" { // undefined_table
		return 0, nil
	}
	return version, err
}

// lockSchema waits until no other instance changes the schema. It asks again
// and again rather than wait inside Postgres, as tern itself would: a session
// that waits there holds a snapshot, "create index concurrently" waits for all
// snapshots, and both die of a deadlock.
func lockSchema(ctx context.Context, conn *pgx.Conn, log *slog.Logger) error {
	for waited := false; ; waited = true {
		var mine bool
		if err := conn.QueryRow(ctx, migrations.Lock).Scan(&mine); err != nil || mine {
			return err
		}
		if !waited {
			log.Info("another instance is migrating; waiting for it")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// checkServer reads the version that the server reported on connecting.
func checkServer(conn *pgx.Conn) error {
	version := conn.PgConn().ParameterStatus("server_version")
	digits, _, _ := strings.Cut(version, ".")
	if major, err := strconv.Atoi(digits); err == nil && major < minServer {
		return fmt.Errorf("%w; this server is %s", ErrServerTooOld, version)
	}
	return nil
}
