package api

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/google/uuid"
)

// What is cached how long. What has availability in it is as young as that.
const (
	catalogueAge    = "public, max-age=60"
	availabilityAge = "public, max-age=5"
)

// body hashes what is sent. What only says how late it is is left out by the
// caller.
func bodyHash(body any) string {
	text, err := json.Marshal(body)
	if err != nil {
		return "" // then the answer fails too, and says why
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func revisionTag(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }

// cacheable says how long an answer may be kept, and by what it differs. What
// an organiser sees is not for others.
func cacheable(call *Call, public string) string {
	call.Header().Add("Vary", "Accept, Authorization, X-API-Key")
	if seesDrafts(&call.Caller) {
		return "private, no-cache"
	}
	return public
}

// catalogueOutput is an answer of the catalogue.
type catalogueOutput[T any] struct {
	ETag         string `header:"ETag" doc:"Changes when the answer does; for If-None-Match, and If-Match of a PATCH"`
	CacheControl string `header:"Cache-Control" doc:"How long it may be kept"`
	Body         T
}

// answer is a cacheable answer, or 304 when the client has it already.
func answer[T any](call *Call, etag, public string, body T) (*catalogueOutput[T], error) {
	cache := cacheable(call, public)
	if call.Matches(etag) {
		return nil, NotModified(etag, cache)
	}
	return &catalogueOutput[T]{etag, cache, body}, nil
}

// createdOutput is the answer to a POST that made something.
type createdOutput[T any] struct {
	Location string `header:"Location" doc:"Where it is"`
	ETag     string `header:"ETag" doc:"For If-Match"`
	Body     T
}

func created[T any](call *Call, path string, id uuid.UUID, revision int64, replayed bool, body T) *createdOutput[T] {
	if replayed {
		call.Replayed()
	}
	return &createdOutput[T]{basePath + path + id.String(), revisionTag(revision), body}
}
