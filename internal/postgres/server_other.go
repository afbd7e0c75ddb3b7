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

// Done is closed when the server has ended.
func (*Server) Done() <-chan struct{} { return nil }

// Stop ends the server.
func (*Server) Stop() error { return nil }
