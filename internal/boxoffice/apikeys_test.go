package boxoffice

import (
	"bytes"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestAdminHasEveryScopeAndOthersTheirOwn(t *testing.T) {
	t.Parallel()
	admin := &Caller{Kind: CallerAPIKey, Scopes: []Scope{ScopeAdmin}}
	door := &Caller{Kind: CallerAPIKey, Scopes: []Scope{ScopeCheckin}}
	for _, s := range Scopes {
		if !s.Valid() || !admin.Has(s) || door.Has(s) != (s == ScopeCheckin) || (&Caller{Kind: CallerAnonymous}).Has(s) {
			t.Errorf("%s: valid %v, admin %v, door %v", s, s.Valid(), admin.Has(s), door.Has(s))
		}
	}
	if Scope("reservations").Valid() {
		t.Error("a scope that is none is valid")
	}
}

func TestAKeyIsUsableUntilItExpiresOrIsRevoked(t *testing.T) {
	t.Parallel()
	before, after := noon.Add(-time.Microsecond), noon.Add(time.Microsecond)
	for name, c := range map[string]struct {
		key  APIKey
		want bool
	}{
		"for ever":        {APIKey{}, true},
		"expires later":   {APIKey{ExpiresAt: &after}, true},
		"expires now":     {APIKey{ExpiresAt: &noon}, false},
		"expired":         {APIKey{ExpiresAt: &before}, false},
		"revoked":         {APIKey{RevokedAt: &before}, false},
		"revoked now":     {APIKey{RevokedAt: &noon}, false},
		"revoked later":   {APIKey{RevokedAt: &after, ExpiresAt: &after}, true},
		"expired, later…": {APIKey{RevokedAt: &after, ExpiresAt: &before}, false},
	} {
		if got := c.key.Usable(noon); got != c.want {
			t.Errorf("%s: usable %v", name, got)
		}
	}
}

func TestANewKeyIsRandomAndOnlyItsHashAndBeginningAreKept(t *testing.T) {
	t.Parallel()
	key, prefix, hash, err := NewAPIKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, _, _, _ := NewAPIKey(rand.Reader)
	switch {
	case key == other, len(key) < 40, !strings.HasPrefix(key, "rlk_"):
		t.Errorf("keys are %q, %q", key, other)
	case !strings.HasPrefix(key, prefix), len(prefix) > 10, prefix != APIKeyPrefix(key):
		t.Errorf("the prefix of %q is %q", key, prefix)
	case !bytes.Equal(hash, HashAPIKey(key)), bytes.Equal(hash, HashAPIKey(other)), len(hash) != 32:
		t.Errorf("the hash is %x", hash)
	}
	if got := APIKeyPrefix("dev-admin-key"); len(got) > len("dev-admin-key")/2 {
		t.Errorf("%q shows most of a chosen key", got)
	}
	if got := APIKeyPrefix(""); got != "" {
		t.Errorf("no key begins with %q", got)
	}
	broken := errors.New("no entropy")
	if _, _, _, err := NewAPIKey(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a key without randomness: %v", err)
	}
}
