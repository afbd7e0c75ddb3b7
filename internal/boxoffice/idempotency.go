package boxoffice

import "github.com/google/uuid"

// IdempotencyKey makes a retry of a write the same write. The zero value
// means that the write has none.
type IdempotencyKey struct {
	// Owner is the caller the key belongs to, see [Caller]: two callers may
	// use the same key without ever meeting.
	Owner string
	Key   uuid.UUID // a version 4 UUID, made by the client
	// Fingerprint is a SHA-256 over what was asked for: method, path with its
	// parameters, and the parsed body (raw bytes for plan documents). The same
	// key with another fingerprint is IDEMPOTENCY_KEY_REUSED.
	Fingerprint [32]byte
}

// IsZero reports whether there is no key.
func (k IdempotencyKey) IsZero() bool { return k.Key == uuid.Nil }
