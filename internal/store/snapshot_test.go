package store_test

import (
	"testing"

	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
)

func TestTheOldestSnapshotIsSeenWhoeverHasIt(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	tx, err := db.Pool("").Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), "set transaction isolation level repeatable read"); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "select count(*) from show_seats"); err != nil {
		t.Fatal(err)
	}
	open, err := s.OldestSnapshot(t.Context())
	if err != nil || open <= 0 {
		t.Fatal(open, err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after, err := s.OldestSnapshot(t.Context()); err != nil || after >= open {
		t.Error("after its end:", after, "and before:", open, err)
	}
}
