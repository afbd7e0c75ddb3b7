package api

import (
	"encoding/base64"
	"strings"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// cursor makes the cursor of a list sorted in a way, from what the last thing
// on the page is sorted by.
func cursor(sort string, parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(sort + " " + strings.Join(parts, " ")))
}

// cursorID reads a cursor that is an id. The zero id: there is none.
func cursorID(sort, s string) (uuid.UUID, error) {
	parts, err := cursorParts(sort, s, 1)
	if err != nil || parts == nil {
		return uuid.Nil, err
	}
	id, err := uuid.Parse(parts[0])
	if err != nil {
		return uuid.Nil, errCursor()
	}
	return id, nil
}

// cursorParts reads a cursor of n parts; nil: there is none.
func cursorParts(sort, s string, n int) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(s)
	parts := strings.Split(string(text), " ")
	if err != nil || len(parts) != n+1 || parts[0] != sort {
		return nil, errCursor()
	}
	return parts[1:], nil
}

func errCursor() error {
	return boxoffice.Invalid(boxoffice.Violation{Field: "cursor", Message: "is not a cursor of this list"})
}

// page cuts a list that was read with one more than was asked for, and makes
// the cursor of the next page.
func page[T any](list []T, limit int, cursor func(last T) string) ([]T, string) {
	if len(list) <= limit {
		return list, ""
	}
	return list[:limit], cursor(list[limit-1])
}
