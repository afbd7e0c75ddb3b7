package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
)

// What is cached how long. What has availability in it is as young as that.
const (
	catalogueAge    = "public, max-age=60"
	availabilityAge = "public, max-age=5"
)

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
	Body         sent[T]
}

// sent is a T as it is sent.
type sent[T any] struct{ JSON }

// Schema is that of a T.
func (sent[T]) Schema(r huma.Registry) *huma.Schema { return r.Schema(reflect.TypeFor[T](), true, "") }

// answer is a cacheable answer, or 304 when the client has it already.
func answer[T any](call *Call, etag, public string, body T) (*catalogueOutput[T], error) {
	cache := cacheable(call, public)
	if call.Matches(etag) {
		return nil, NotModified(etag, cache)
	}
	text, err := render(body)
	return &catalogueOutput[T]{etag, cache, sent[T]{text}}, err
}

// answerHashed is answer for what has no revision, or parts that change beside
// it: the ETag is the revision, if there is one, and a hash of what is sent.
func answerHashed[T any](call *Call, revision, public string, body T) (*catalogueOutput[T], error) {
	text, err := render(body)
	if err != nil {
		return nil, err
	}
	etag, cache := `"`+revision+hashTimeless(text)+`"`, cacheable(call, public)
	if call.Matches(etag) {
		return nil, NotModified(etag, cache)
	}
	return &catalogueOutput[T]{etag, cache, sent[T]{text}}, nil
}

func render(body any) (JSON, error) {
	var b bytes.Buffer
	err := marshalJSON(&b, body)
	return b.Bytes(), err
}

// hashTimeless hashes a body without the times that only say when an
// availability was read: behind the number of places, which is how they differ
// from an asOf among an organiser's own pairs of text.
func hashTimeless(body []byte) string {
	h := sha256.New()
	name := []byte(`,"asOf":"`)
	for {
		before, after, found := bytes.Cut(body, name)
		h.Write(before)
		if !found {
			break
		}
		h.Write(name)
		if last := before[len(before)-1]; last >= '0' && last <= '9' {
			after = after[bytes.IndexByte(after, '"'):]
		}
		body = after
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
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
