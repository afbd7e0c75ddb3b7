// Package store is Rowlock's only way to Postgres. One exported method is one
// use case and one transaction; transactions never leave the package. All SQL
// is in sql/queries.
//
// Everything that changes who owns a place goes through a lane (lane.go): a
// group commit over all commands that have queued, decided by the pure
// [boxoffice.Decide]. Everything else is an ordinary transaction (tx.go).
package store
