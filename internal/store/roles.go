package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowlock/rowlock/sql/roles"
)

// The roles that [EnsureRoles] makes.
const (
	RoleOwner = "rowlock_owner" // migrations
	RoleApp   = "rowlock_app"   // requests and jobs
	RoleLane  = "rowlock_lane"  // the lanes
	RoleOps   = "rowlock_ops"   // people on call, reading only
)

// EnsureRoles makes Rowlock's roles, or brings them up to date, and lets them
// into the database that url names. url is a superuser's, or that of the
// database's owner if it may create roles. passwords are by role; a role
// without one keeps what it has. Calling it again changes nothing.
func EnsureRoles(ctx context.Context, url string, passwords map[string]string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("roles: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := checkServer(conn); err != nil {
		return err
	}
	// Roles are rows that all databases share, and no lock in one database
	// keeps a caller in another away; the loser simply tries again.
	for attempt := 1; ; attempt++ {
		err := ensureRoles(ctx, conn, passwords)
		if err == nil {
			return nil
		}
		if attempt == 10 || !lostRoleRace(err) {
			return fmt.Errorf("roles: %w", err)
		}
	}
}

func ensureRoles(ctx context.Context, conn *pgx.Conn, passwords map[string]string) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for role, password := range passwords {
			if _, err := tx.Exec(ctx, roles.Password, role, password); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, roles.Roles); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, roles.Grants)
		return err
	})
}

// lostRoleRace is for "already exists" from the shared catalogue's index, and
// for "tuple concurrently updated", which has no code of its own.
func lostRoleRace(err error) bool {
	e := (*pgconn.PgError)(nil)
	return errors.As(err, &e) && (e.Code == "23505" || e.Code == "42710" || e.Code == "XX000")
}

// EnsureDatabase makes the database unless it is there. url is that of any
// database on the server, as a role that may create databases.
func EnsureDatabase(ctx context.Context, url, name string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var statement string
	switch err := conn.QueryRow(ctx, roles.Database, name).Scan(&statement); {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("create database: %w", err)
	}
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	return nil
}

// CheckSettings returns a sentence for each setting of the session that is not
// what [EnsureRoles] makes it, none if all is well. Such a session works, but a
// frozen instance could hold a show, or a lane could lose its plans.
func CheckSettings(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	rows, err := conn.Query(ctx, roles.Settings)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		var name, is, want string
		err := row.Scan(&name, &is, &want)
		return fmt.Sprintf("%s is %q, should be %q", name, is, want), err
	})
}

// CheckPowers returns what the session's role may do although the service's
// role should not: "is a superuser", "owns the tables", "may change the change
// log". In production the service refuses to run with any.
func CheckPowers(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	rows, err := conn.Query(ctx, roles.Powers)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
