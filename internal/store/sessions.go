package store

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

var (
	sqlSessionsInsert = queries.Must("sessions_insert")
	sqlSessionsPurge  = queries.Must("sessions_purge")
)

// RecordSession notes that a guest was given a token. The token stands for
// itself: the row is for people who ask who a customer id is.
func (s *Store) RecordSession(ctx context.Context, customerID string, expires time.Time) error {
	_, err := s.pool.Exec(ctx, sqlSessionsInsert, NewID(), boxoffice.DefaultOrganisationID, customerID, expires)
	return coded(err)
}

// PurgeSessions forgets guests and organisers whose session has ended, at most
// limit of each. When it returns less than limit, none is left.
func (s *Store) PurgeSessions(ctx context.Context, limit int) (int64, error) {
	guests, err := s.pool.Exec(ctx, sqlSessionsPurge, limit)
	if err != nil {
		return 0, coded(err)
	}
	organisers, err := s.pool.Exec(ctx, sqlSignInsPurge, limit)
	return max(guests.RowsAffected(), organisers.RowsAffected()), coded(err)
}
