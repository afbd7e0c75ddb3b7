package boxoffice

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Scope is a right that an API key or a token's scope claim grants.
type Scope string

// The scopes.
const (
	ScopeCatalogueWrite    Scope = "catalogue:write"    // venues, halls, plans, events, shows
	ScopeSalesRead         Scope = "sales:read"         // who holds and bought what
	ScopeReservationsStaff Scope = "reservations:staff" // holds for any customer, long, large, of blocked places
	ScopeBookingsConfirm   Scope = "bookings:confirm"   // book without a payment gateway
	ScopeRefunds           Scope = "refunds"            // give money back
	ScopeCheckin           Scope = "checkin"            // admit at the door
	ScopeOps               Scope = "ops"                // River UI and the like
	ScopeAdmin             Scope = "admin"              // every scope
)

// Scopes lists every scope, in the order of the docs.
var Scopes = []Scope{
	ScopeCatalogueWrite, ScopeSalesRead, ScopeReservationsStaff, ScopeBookingsConfirm,
	ScopeRefunds, ScopeCheckin, ScopeOps, ScopeAdmin,
}

// Valid reports whether s is one of [Scopes].
func (s Scope) Valid() bool { return slices.Contains(Scopes, s) }

// CallerKind says how a caller made itself known.
type CallerKind string

// The kinds of caller.
const (
	CallerAnonymous CallerKind = "anonymous" // sent no credentials
	CallerCustomer  CallerKind = "customer"  // a bearer token of the identity provider
	CallerGuest     CallerKind = "guest"     // a bearer token of POST /sessions
	CallerMock      CallerKind = "mock"      // X-Mock-User-Id, in development only
	CallerAPIKey    CallerKind = "apikey"    // X-API-Key
)

// CustomerIDMax is the greatest length of a customer id, in characters; the
// least is 1.
const CustomerIDMax = 128

// Caller is who makes a request.
type Caller struct {
	Kind           CallerKind
	OrganisationID uuid.UUID
	// CustomerID is whose reservations the caller may see and make. It is set
	// for customers, guests and mock users, and for an API key that was sent
	// together with a customer's token.
	CustomerID string
	// Owner is whose idempotency keys the caller uses: issuer and subject of
	// its token, the organisation of its API key, or the mock user. It begins
	// with the kind, so that no two kinds share one.
	Owner  string
	Scopes []Scope
	// KeyPrefix tells which API key it is, see [APIKey]; "" without one.
	KeyPrefix string
}

// Actor is the caller as the rules and the change log see it: by the id of the
// customer, or by the API key's prefix, never by a name.
func (c *Caller) Actor() Actor {
	a := Actor{CustomerID: c.CustomerID, Staff: c.Has(ScopeReservationsStaff), Name: c.CustomerID, OrganisationID: c.OrganisationID}
	if c.KeyPrefix != "" {
		a.Name = "key:" + c.KeyPrefix
	}
	return a
}

// Has reports whether the caller was granted s, by itself or through admin.
func (c *Caller) Has(s Scope) bool {
	return slices.Contains(c.Scopes, s) || slices.Contains(c.Scopes, ScopeAdmin)
}

// Anonymous reports whether nothing is known about the caller.
func (c *Caller) Anonymous() bool { return c.Kind == CallerAnonymous }

// APIKey is a key as it is stored: its secret is known only to its holder.
type APIKey struct {
	ID             uuid.UUID
	OrganisationID uuid.UUID
	Name           string // for people: "box office 2"
	Prefix         string // the beginning of the key, to recognise it in lists
	Scopes         []Scope
	CreatedAt      time.Time
	ExpiresAt      *time.Time // nil: never
	RevokedAt      *time.Time // nil: in use
}

// Usable reports whether the key may be used at now.
func (k *APIKey) Usable(now time.Time) bool {
	return (k.RevokedAt == nil || k.RevokedAt.After(now)) && (k.ExpiresAt == nil || k.ExpiresAt.After(now))
}

// apiKeyPrefix marks our keys, so that secret scanners can find leaked ones.
const apiKeyPrefix = "rlk_"

// apiKeyShown is how many characters of a key its Prefix keeps: enough to tell
// keys apart, and far too few to guess the rest.
const apiKeyShown = len(apiKeyPrefix) + 6

// NewAPIKey makes a key from 32 bytes of random (crypto/rand.Reader, except in
// tests). The key is shown once; only its hash and prefix are to be stored.
func NewAPIKey(random io.Reader) (key, prefix string, hash []byte, err error) {
	var secret [32]byte
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return "", "", nil, err
	}
	key = apiKeyPrefix + base64.RawURLEncoding.EncodeToString(secret[:])
	return key, APIKeyPrefix(key), HashAPIKey(key), nil
}

// HashAPIKey is what is stored and looked up instead of the key: its SHA-256.
// A slow hash would add nothing, since a key is 256 random bits and not a
// password.
func HashAPIKey(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// APIKeyPrefix is the part of a key that may be shown: of a generated key its
// first characters, of a chosen one (such as dev-admin-key) at most a third.
func APIKeyPrefix(key string) string {
	return key[:min(apiKeyShown, (len(key)+2)/3)]
}
