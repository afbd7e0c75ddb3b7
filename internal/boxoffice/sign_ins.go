package boxoffice

import (
	"time"

	"github.com/google/uuid"
)

// SignIn is a browser that an organiser is signed in with. It stands for an API
// key, or for what a token said.
type SignIn struct {
	OrganisationID uuid.UUID
	// KeyHash is HashAPIKey of the key that it was opened with, whose rights it
	// has for as long as the key has them. nil: it was opened with a token.
	KeyHash []byte
	// Owner, CustomerID and Scopes are those of the token's [Caller]; empty with
	// a key.
	Owner, CustomerID string
	Scopes            []Scope
	ExpiresAt         time.Time
}
