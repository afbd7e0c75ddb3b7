// Package migrations holds the schema as numbered steps for tern.
//
// Files are named NNN_name.sql without a gap. Released ones never change. Each
// runs in a transaction of its own and says how to go back below the line
// "---- create above / drop below ----". Roles are not made here: they belong
// to the whole server, not to one database (see sql/roles).
package migrations

import "embed"

//go:generate go run ../../internal/tools/rivermigrations .

// FS holds the files at its root.
//
//go:embed *.sql
var FS embed.FS

// Lock and Version are what the runner asks the database itself; each file says
// what it does at its head.
var (
	//go:embed run/lock.sql
	Lock string
	//go:embed run/version.sql
	Version string
)
