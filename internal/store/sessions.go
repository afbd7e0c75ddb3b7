package store

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// RecordSession notes that a guest was given a token. The token stands for
// itself: the row is for people who ask who a customer id is.
func (s *Store) RecordSession(ctx context.Context, customerID string, expires time.Time) error {
	_, err := s.pool.Exec(ctx, sqlSessionsInsert, NewID(), boxoffice.DefaultOrganisationID, customerID, expires)
	return coded(err)
}
