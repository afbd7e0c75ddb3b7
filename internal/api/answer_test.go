package api

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
)

func TestAnETagOverlooksOnlyWhenAvailabilityWasRead(t *testing.T) {
	t.Parallel()
	shows := func(change func(*Show)) string {
		first := Show{Availability: ShowAvailability{312, 480, time.Unix(1, 0)}, Metadata: map[string]string{"asOf": "spring", "at": "480"}}
		second := first
		change(&second)
		text, err := render(showsBody{Shows: []Show{first, second}})
		if err != nil {
			t.Fatal(err)
		}
		return hashTimeless(text)
	}
	same := shows(func(*Show) {})
	if shows(func(s *Show) { s.Availability.AsOf = time.Unix(2, 5000) }) != same {
		t.Error("a later reading of the same is something new")
	}
	for name, change := range map[string]func(*Show){
		"places":            func(s *Show) { s.Availability.Available-- },
		"capacity":          func(s *Show) { s.Availability.Capacity++ },
		"start":             func(s *Show) { s.StartsAt = time.Unix(3, 0) },
		"a pair named asOf": func(s *Show) { s.Metadata = map[string]string{"asOf": "autumn", "at": "480"} },
		"a pair behind it":  func(s *Show) { s.Metadata = map[string]string{"asOf": "spring", "at": "481"} },
		"a reference":       func(s *Show) { s.ExternalRef = `7,"asOf":"x"` },
	} {
		if shows(change) == same {
			t.Errorf("%s: changes, and the ETag does not", name)
		}
	}
}

func TestFacetsAreCountedOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cache := facetsCache{known: newRecent[knownFacets](facetsMax)}
		counts, broken := 0, error(nil)
		count := func(ctx context.Context, _ uuid.UUID) (facetsBody, error) {
			counts++
			if _, limited := ctx.Deadline(); !limited {
				t.Error("counting may take for ever")
			}
			return facetsBody{}, errors.Join(broken, ctx.Err())
		}
		want := func(times int) {
			t.Helper()
			gone, leave := context.WithCancel(t.Context())
			leave() // who leaves does not spoil it for others
			known, err := cache.find(gone, uuid.UUID{1}, count)
			if err != nil || counts != times || time.Since(known.at) >= facetsKept {
				t.Errorf("counted %d times, want %d; from %v ago, %v", counts, times, time.Since(known.at), err)
			}
		}
		want(1)
		want(1)
		time.Sleep(facetsKept - 1)
		want(1)
		time.Sleep(time.Nanosecond)
		broken = errors.New("no database")
		if _, err := cache.find(t.Context(), uuid.UUID{1}, count); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		broken = nil
		want(3) // an error is not kept
		want(3)
		if _, err := cache.find(t.Context(), uuid.UUID{2}, count); err != nil || counts != 4 {
			t.Errorf("another organisation: counted %d times, %v", counts, err)
		}
	})
}
