package store

import (
	"context"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

var (
	sqlSignInsInsert = queries.Must("sign_ins_insert")
	sqlSignInsByHash = queries.Must("sign_ins_by_hash")
	sqlSignInsClose  = queries.Must("sign_ins_close")
	sqlSignInsPurge  = queries.Must("sign_ins_purge")
)

// OpenSignIn notes that a browser has signed in. hash is that of its cookie,
// which is not kept.
func (s *Store) OpenSignIn(ctx context.Context, hash []byte, in boxoffice.SignIn) error {
	var owner, customer *string
	if in.KeyHash == nil {
		owner, customer = &in.Owner, &in.CustomerID
	}
	_, err := s.pool.Exec(ctx, sqlSignInsInsert, NewID(), in.OrganisationID, hash, in.KeyHash, owner, customer, in.Scopes, in.ExpiresAt)
	return coded(err)
}

// SignInByHash finds the browser with a cookie of this hash. One that has signed
// out, or whose time is over, is NOT_FOUND.
func (s *Store) SignInByHash(ctx context.Context, hash []byte) (in boxoffice.SignIn, err error) {
	err = s.pool.QueryRow(ctx, sqlSignInsByHash, hash).Scan(&in.OrganisationID, &in.KeyHash, &in.Owner, &in.CustomerID, &in.Scopes, &in.ExpiresAt)
	return in, coded(found(err, "sign-in"))
}

// CloseSignIn signs a browser out, on each instance as soon as it asks again.
// One that is not signed in stays so.
func (s *Store) CloseSignIn(ctx context.Context, hash []byte) error {
	_, err := s.pool.Exec(ctx, sqlSignInsClose, hash)
	return coded(err)
}
