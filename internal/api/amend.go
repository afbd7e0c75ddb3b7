package api

import (
	"context"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

// amended is a field of a PATCH: not there, null, or a value. null takes away
// what may be missing, and is refused for the rest: see [checkNulls].
type amended[T any] struct {
	given, null bool
	value       T
}

// UnmarshalJSON is only called for what is there.
func (f *amended[T]) UnmarshalJSON(data []byte) error {
	f.given = true
	if string(data) == "null" {
		f.null = true
		return nil
	}
	return json.Unmarshal(data, &f.value)
}

// MarshalJSON is for the fingerprint of an idempotency key.
func (f amended[T]) MarshalJSON() ([]byte, error) {
	if f.null {
		return []byte("null"), nil
	}
	return json.Marshal(f.value)
}

// IsZero leaves what was not there out of the fingerprint.
func (f amended[T]) IsZero() bool { return !f.given }

// Schema is that of the value.
func (f amended[T]) Schema(r huma.Registry) *huma.Schema {
	return huma.SchemaFromType(r, reflect.TypeFor[T]())
}

func (f amended[T]) isNull() bool { return f.null }

// to sets what the field is about, to its zero value when it is null.
func (f amended[T]) to(to *T) {
	if f.given {
		*to = f.value
	}
}

// ptr is the value, or nil when it stays.
func (f amended[T]) ptr() *T {
	if !f.given {
		return nil
	}
	return &f.value
}

// checkNulls notes each field of a PATCH that is null and may not be.
func checkNulls(c *boxoffice.Checks, body any) {
	v := reflect.ValueOf(body).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		f, ok := v.Field(i).Interface().(interface{ isNull() bool })
		if ok && f.isNull() && field.Tag.Get("nullable") != "true" {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			c.Add(name, "must not be null")
		}
	}
}

// ifMatch is the revision that If-Match names, which is what our ETags begin
// with; 0 when any will do.
func ifMatch(call *Call) (int64, error) {
	given := call.Request().Header["If-Match"]
	if len(given) == 0 || len(given) == 1 && given[0] == "*" {
		return 0, nil
	}
	if len(given) == 1 {
		tag := strings.Trim(strings.TrimPrefix(given[0], "W/"), `"`)
		number, _, _ := strings.Cut(tag, "-")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && n > 0 && !strings.Contains(tag, ",") {
			return n, nil
		}
	}
	return 0, boxoffice.Refuse(boxoffice.CodePreconditionFailed, "If-Match is not an ETag of this; send one, as it came.")
}

// amendedOutput is the answer to a PATCH.
type amendedOutput[T any] struct {
	ETag string `header:"ETag" doc:"For the next If-Match"`
	Body T
}

// amend changes a thing of the catalogue as a PATCH says.
func amend[T any](ctx context.Context, call *Call, id uuid.UUID, body any,
	save func(context.Context, boxoffice.IdempotencyKey, store.Amendment[T]) (T, bool, error), change func(*T)) (T, error) {
	var zero T
	var c boxoffice.Checks
	checkNulls(&c, body)
	if err := c.Err(); err != nil {
		return zero, err
	}
	revision, err := ifMatch(call)
	if err != nil {
		return zero, err
	}
	thing, replayed, err := save(ctx, call.Key, store.Amendment[T]{
		Organisation: call.Caller.OrganisationID, ID: id, Revision: revision, Change: change,
	})
	if err == nil && replayed {
		call.Replayed()
	}
	return thing, err
}
