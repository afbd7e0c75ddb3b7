package store

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

var (
	sqlAPIKeysInsert = queries.Must("apikeys_insert")
	sqlAPIKeysEnsure = queries.Must("apikeys_ensure")
	sqlAPIKeysByHash = queries.Must("apikeys_by_hash")
	sqlAPIKeysList   = queries.Must("apikeys_list")
	sqlAPIKeysRevoke = queries.Must("apikeys_revoke")
)

// CreateAPIKey makes a key. The secret is returned this once and not kept, so
// there is no idempotency key either: a retry makes another key, and the lost
// one is revoked. expires may be nil.
func (s *Store) CreateAPIKey(ctx context.Context, organisation uuid.UUID, name string, scopes []boxoffice.Scope, expires *time.Time) (secret string, k boxoffice.APIKey, err error) {
	var c boxoffice.Checks
	c.Line("name", &name, 1, boxoffice.NameMax)
	c.Instant("expiresAt", expires)
	if len(scopes) == 0 {
		c.Add("scopes", "name at least one scope")
	}
	for _, scope := range scopes {
		if !scope.Valid() {
			c.Add("scopes", "there is no scope %q", scope)
		}
	}
	if err := c.Err(); err != nil {
		return "", k, err
	}
	secret, prefix, hash, err := boxoffice.NewAPIKey(rand.Reader)
	if err != nil {
		return "", k, err
	}
	k = boxoffice.APIKey{ID: NewID(), OrganisationID: organisation, Name: name, Prefix: prefix, Scopes: scopes, ExpiresAt: expires}
	err = s.pool.QueryRow(ctx, sqlAPIKeysInsert, k.ID, organisation, name, prefix, hash, scopes, expires).Scan(&k.CreatedAt)
	if err != nil {
		return "", k, coded(err)
	}
	return secret, k, nil
}

// EnsureAPIKey makes sure that a chosen key is in use with these scopes: the
// admin key of development, or one that a deployment brings along.
func (s *Store) EnsureAPIKey(ctx context.Context, key, name string, scopes []boxoffice.Scope) error {
	_, err := s.pool.Exec(ctx, sqlAPIKeysEnsure, NewID(), boxoffice.DefaultOrganisationID, name, boxoffice.APIKeyPrefix(key), boxoffice.HashAPIKey(key), scopes)
	return coded(err)
}

// APIKeyByHash finds the key with this [boxoffice.HashAPIKey], revoked and
// expired ones too. A key that does not exist is NOT_FOUND.
func (s *Store) APIKeyByHash(ctx context.Context, hash []byte) (boxoffice.APIKey, error) {
	k, err := scanAPIKey(s.pool.QueryRow(ctx, sqlAPIKeysByHash, hash))
	return k, coded(found(err, "API key"))
}

// APIKeys lists the keys of an organisation, newest first.
func (s *Store) APIKeys(ctx context.Context, organisation uuid.UUID, page Page) ([]boxoffice.APIKey, error) {
	rows, err := s.pool.Query(ctx, sqlAPIKeysList, organisation, page.after(), page.Limit)
	return collect(rows, err, scanAPIKey)
}

// RevokeAPIKey puts a key out of use, on each instance as soon as it asks
// again. Revoking it again changes nothing.
func (s *Store) RevokeAPIKey(ctx context.Context, organisation, id uuid.UUID) (boxoffice.APIKey, error) {
	k, err := scanAPIKey(s.pool.QueryRow(ctx, sqlAPIKeysRevoke, id, organisation))
	return k, coded(found(err, "API key"))
}

func scanAPIKey(row pgx.Row) (k boxoffice.APIKey, err error) {
	err = row.Scan(&k.ID, &k.OrganisationID, &k.Name, &k.Prefix, &k.Scopes, &k.CreatedAt, &k.ExpiresAt, &k.RevokedAt)
	return k, err
}
