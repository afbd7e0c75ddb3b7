package api

import (
	"encoding/hex"
	"net/http"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

const (
	keyHeader  = "Idempotency-Key"
	keyPattern = "^[0-9a-f]{8}[0-9a-f]{4}4[0-9a-f]{3}[89ab][0-9a-f]{3}[0-9a-f]{12}$"
	keyMessage = "Idempotency-Key must be a lowercase UUID v4 without hyphens"
	keyDetail  = keyMessage + ". Make one for each new request, and send it again with each retry of that request: " +
		`in a shell with "uuidgen | tr -d - | tr A-F a-f", in JavaScript with crypto.randomUUID().replaceAll("-", ""), in Python with uuid.uuid4().hex.`
)

// idempotencyKey reads the request's key. Only one spelling is taken, so that
// two keys are the same exactly when their bytes are, everywhere.
func idempotencyKey(h http.Header) (uuid.UUID, error) {
	if given := h[keyHeader]; len(given) == 1 {
		if key, ok := parseKey(given[0]); ok {
			return key, nil
		}
	}
	e := boxoffice.Invalid(boxoffice.Violation{Field: keyHeader, Message: keyMessage})
	e.Detail = keyDetail
	return uuid.Nil, e
}

// parseKey matches keyPattern without a regular expression: every write passes
// here.
func parseKey(s string) (key uuid.UUID, ok bool) {
	if len(s) != 32 || s[12] != '4' || s[16] != '8' && s[16] != '9' && s[16] != 'a' && s[16] != 'b' {
		return uuid.Nil, false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return uuid.Nil, false
		}
	}
	_, err := hex.Decode(key[:], []byte(s))
	return key, err == nil
}
