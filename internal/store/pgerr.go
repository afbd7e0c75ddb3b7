package store

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// constraintCodes says which refusal a violated constraint becomes. A
// constraint that is not here guards a rule that the code keeps by itself:
// violating it is a bug, and INTERNAL.
var constraintCodes = map[string]struct {
	code   boxoffice.Code
	detail string
}{
	"venues_external_ref":     {boxoffice.CodeConflict, "Another venue has this externalRef."},
	"halls_external_ref":      {boxoffice.CodeConflict, "Another hall has this externalRef."},
	"events_external_ref":     {boxoffice.CodeConflict, "Another event has this externalRef."},
	"shows_external_ref":      {boxoffice.CodeConflict, "Another show has this externalRef."},
	"show_areas_external_ref": {boxoffice.CodeConflict, "Another area of the show has this externalRef."},
}

// retryable reports a serialization failure or a deadlock: the same
// transaction may succeed when it is simply run again.
func retryable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01")
}

// outdated reports that a table was altered since the connection prepared a
// statement that returns its rows; a new connection prepares it anew.
func outdated(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "0A000"
}

// away reports that the database cannot be reached, is shutting down, has ended
// the connection, for whatever reason, or is a standby that cannot write.
func away(err error) bool {
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return true // whatever the server said when it turned us away
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		ended := pg.SeverityUnlocalized == "FATAL" || pg.SeverityUnlocalized == "PANIC"
		return ended || strings.HasPrefix(pg.Code, "08") || strings.HasPrefix(pg.Code, "57P") ||
			pg.Code == "25006" || pg.Code == "53300"
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		(err != nil && strings.Contains(err.Error(), "conn closed"))
}

// coded gives an error from the database its code: a violated constraint's,
// UNAVAILABLE when the database is away. Other errors stay as they are and are
// INTERNAL.
func coded(err error) error {
	if err == nil {
		return nil
	}
	var known *boxoffice.Error
	if errors.As(err, &known) {
		return err
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		if c, ok := constraintCodes[pg.ConstraintName]; ok {
			return &boxoffice.Error{Code: c.code, Detail: c.detail, Cause: err}
		}
	}
	if away(err) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &pg) && pg.Code == "57014" { // statement_timeout
		e := &boxoffice.Error{Code: boxoffice.CodeUnavailable, Detail: "The database cannot be reached. Retry with the same Idempotency-Key.", Cause: err}
		e.Facts.Outcome = "unknown"
		var connect *pgconn.ConnectError
		if errors.As(err, &connect) {
			e.Facts.Outcome = "none" // it was never sent
		}
		return e
	}
	return err
}
