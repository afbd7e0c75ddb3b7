package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/store"
)

func TestAPIKeys(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	scopes := []boxoffice.Scope{boxoffice.ScopeCheckin, boxoffice.ScopeSalesRead}
	expires := time.Now().Add(time.Hour).Truncate(time.Microsecond).UTC()
	secret, made, err := s.CreateAPIKey(t.Context(), org, " box office 2 ", scopes, &expires)
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.APIKeyByHash(t.Context(), boxoffice.HashAPIKey(secret))
	if err != nil || found.ID != made.ID || found.Name != "box office 2" || len(found.Scopes) != 2 || !found.ExpiresAt.Equal(expires) || !found.Usable(time.Now()) {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := s.APIKeyByHash(t.Context(), boxoffice.HashAPIKey(secret+"x")); boxoffice.CodeOf(err) != boxoffice.CodeNotFound {
		t.Errorf("an unknown key: %v", err)
	}
	if _, err := s.RevokeAPIKey(t.Context(), uuid.New(), made.ID); boxoffice.CodeOf(err) != boxoffice.CodeNotFound {
		t.Errorf("another's key: %v", err)
	}
	first, err := s.RevokeAPIKey(t.Context(), org, made.ID)
	if err != nil || first.RevokedAt == nil {
		t.Fatalf("%+v, %v", first, err)
	}
	if again, err := s.RevokeAPIKey(t.Context(), org, made.ID); err != nil || !again.RevokedAt.Equal(*first.RevokedAt) {
		t.Errorf("revoked again: %+v, %v", again, err)
	}
	if found, err := s.APIKeyByHash(t.Context(), boxoffice.HashAPIKey(secret)); err != nil || found.Usable(time.Now().Add(time.Minute)) {
		t.Errorf("revoked: %+v, %v", found, err)
	}

	for range 2 {
		if err := s.EnsureAPIKey(t.Context(), "dev-admin-key", "development", []boxoffice.Scope{boxoffice.ScopeAdmin}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.APIKeys(t.Context(), org, store.Page{Limit: 10})
	if err != nil || len(list) != 2 || list[0].Name != "development" || list[1].ID != made.ID {
		t.Errorf("%+v, %v", list, err)
	}
	if more, err := s.APIKeys(t.Context(), org, store.Page{After: list[0].ID, Limit: 10}); err != nil || len(more) != 1 {
		t.Errorf("the next page: %+v, %v", more, err)
	}
	for name, err := range map[string]error{
		"name":   third(s.CreateAPIKey(t.Context(), org, "", scopes, nil)),
		"scopes": third(s.CreateAPIKey(t.Context(), org, "x", []boxoffice.Scope{"everything"}, nil)),
	} {
		if violated(err) != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func third[A, B any](_ A, _ B, err error) error { return err }
