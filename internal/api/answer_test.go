package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/recent"
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

func TestAnAnswerIsMadeOnceForAllWhoAskTheSame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		known := answers{known: recent.New[string, knownAnswer](keptMax)}
		made, broken := 0, error(nil)
		fresh := func(ctx context.Context) (JSON, error) {
			made++
			if _, limited := ctx.Deadline(); !limited {
				t.Error("it may take for ever")
			}
			if made == 6 {
				panic("a bug")
			}
			return JSON(fmt.Sprint(made)), errors.Join(broken, ctx.Err())
		}
		ask := func(name string) (knownAnswer, error) { return known.find(t.Context(), name, time.Minute, fresh) }
		want := func(name, text string) {
			t.Helper()
			answer, err := ask(name)
			if err != nil || string(answer.text) != text || answer.etag != hashTimeless([]byte(text)) || time.Since(answer.at) >= time.Minute {
				t.Errorf("got %s from %v ago, want %s; %v", answer.text, time.Since(answer.at), text, err)
			}
			synctest.Wait()
		}
		gone, leave := context.WithCancel(t.Context())
		leave() // who leaves does not spoil it for others
		if _, err := known.find(gone, "facets", time.Minute, fresh); err != nil && boxoffice.CodeOf(err) != boxoffice.CodeUnavailable {
			t.Error(err)
		}
		synctest.Wait()
		want("facets", "1")
		time.Sleep(time.Minute/2 - 1)
		want("facets", "1")
		time.Sleep(time.Nanosecond)
		want("facets", "1") // nobody waits while it is made anew
		want("facets", "2")
		time.Sleep(time.Minute)
		broken = errors.New("no database")
		if _, err := ask("facets"); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		broken = nil
		want("facets", "4") // an error is not kept
		want("events", "5")
		if _, err := ask("shows"); err == nil || !strings.Contains(err.Error(), "a bug") {
			t.Errorf("got %v", err)
		}
		want("shows", "7")
		hurried, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		if _, err := known.find(hurried, "slow", time.Minute, func(ctx context.Context) (JSON, error) {
			<-ctx.Done() // the database hangs
			return nil, ctx.Err()
		}); boxoffice.CodeOf(err) != boxoffice.CodeUnavailable {
			t.Errorf("who does not wait so long gets %v", err)
		}
		time.Sleep(keptTimeout)
	})
}
