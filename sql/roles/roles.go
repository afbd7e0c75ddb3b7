// Package roles holds the SQL around Rowlock's database roles: who exists, what
// each may do, and how to see from within a session whether that is so.
package roles

import _ "embed"

// Each is one file, described at its head.
var (
	//go:embed roles.sql
	Roles string
	//go:embed grants.sql
	Grants string
	//go:embed password.sql
	Password string
	//go:embed settings.sql
	Settings string
	//go:embed powers.sql
	Powers string
	//go:embed database.sql
	Database string
)
