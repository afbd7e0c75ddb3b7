package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"golang.org/x/sync/singleflight"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/recent"
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

// kept is how long an answer is kept for all who ask the same.
type kept struct {
	public string        // for how long others may keep it
	max    time.Duration // and for how long we do
}

// Lists take long, and everybody who opens the catalogue asks for the same. An
// availability in one is 5 s old at most, of which the store takes 3.
var (
	keptCatalogue    = kept{catalogueAge, time.Minute}
	keptAvailability = kept{availabilityAge, 2 * time.Second}
)

const (
	keptTimeout = 10 * time.Second // of making an answer
	keptMax     = 64               // answers of a generation, of up to a megabyte
)

// answers are answers as they were lately.
type answers struct {
	known *recent.Map[string, knownAnswer]
	asked singleflight.Group
}

type knownAnswer struct {
	text JSON
	etag string
	at   time.Time
}

// find makes what is not known any more, once for all who ask meanwhile, also
// when the first of them leaves. What is asked for often is made anew before
// it is too old, so that nobody waits.
func (k *answers) find(ctx context.Context, name string, keep time.Duration, make func(context.Context) (JSON, error)) (knownAnswer, error) {
	known, ok := k.known.Load(name)
	age := time.Since(known.at)
	if ok && age < keep/2 {
		return known, nil
	}
	made := k.asked.DoChan(name, func() (fresh any, err error) {
		defer func() {
			if p := recover(); p != nil { // of nobody's request, it would end the process
				fresh, err = knownAnswer{}, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keptTimeout)
		defer cancel()
		known := knownAnswer{at: time.Now()}
		if known.text, err = make(ctx); err != nil {
			return known, err
		}
		known.etag = hashTimeless(known.text)
		k.known.Store(name, known)
		return known, nil
	})
	if ok && age < keep {
		return known, nil
	}
	select {
	case m := <-made:
		return m.Val.(knownAnswer), m.Err
	case <-ctx.Done():
		return knownAnswer{}, &boxoffice.Error{Code: boxoffice.CodeUnavailable, Detail: "The answer was not there in time.", Cause: ctx.Err()}
	}
}

// answerKept is answerHashed of an answer that is kept for all who ask the same;
// name says what. Who changes the catalogue sees the change at once, and so does
// who asks with Cache-Control: no-cache.
func answerKept[T any](ctx context.Context, a *API, call *Call, name string, keep kept, make func(context.Context) (T, error)) (*catalogueOutput[T], error) {
	if seesDrafts(&call.Caller) || strings.Contains(call.x.r.Header.Get("Cache-Control"), "no-cache") {
		body, err := make(ctx)
		if err != nil {
			return nil, err
		}
		return answerHashed(call, "", keep.public, body)
	}
	known, err := a.answers.find(ctx, call.Caller.OrganisationID.String()+" "+name, keep.max, func(ctx context.Context) (JSON, error) {
		body, err := make(ctx)
		if err != nil {
			return nil, err
		}
		return render(body)
	})
	if err != nil {
		return nil, err
	}
	if age := int(time.Since(known.at).Seconds()); age > 0 {
		call.Header().Set("Age", strconv.Itoa(age))
	}
	etag, cache := `"`+known.etag+`"`, cacheable(call, keep.public)
	if call.Matches(etag) {
		return nil, NotModified(etag, cache)
	}
	return &catalogueOutput[T]{etag, cache, sent[T]{known.text}}, nil
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
