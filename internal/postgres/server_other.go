//go:build !unix

package postgres

import "context"

// Server is never made here: Postgres is run by us on Unix alone.
type Server struct{}

// Start fails with [ErrNotFound].
func Start(context.Context, Config) (*Server, error) {
	return nil, &Error{Kind: ErrNotFound, What: "starting a server is not supported on this system", Do: "set DATABASE_URL to one, or use WSL"}
}

// Version is the server's own.
func (*Server) Version() string { return "" }

// URL is the address for a role and a database.
func (*Server) URL(role, database string) string { return "" }

// Data is the folder of the data.
func (*Server) Data() string { return "" }

// Done is closed when the server has ended.
func (*Server) Done() <-chan struct{} { return nil }

// Stop ends the server.
func (*Server) Stop() error { return nil }

// Kill ends the server as a crash would.
func (*Server) Kill() error { return nil }

// Freeze stops the server's processes as they stand.
func (*Server) Freeze() error { return nil }

// Thaw lets them go on.
func (*Server) Thaw() error { return nil }
