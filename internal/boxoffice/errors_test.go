package boxoffice

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestEveryCodeIsDescribedOnce(t *testing.T) {
	t.Parallel()
	members := map[string]bool{}
	for f := range reflect.TypeFor[Facts]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		members[name] = true
	}
	seen := map[Code]bool{}
	for _, c := range Codes {
		if seen[c.Code] || c.Class == 0 || c.Title == "" || c.When == "" || c.Client == "" {
			t.Errorf("%s is described twice, or not wholly: %+v", c.Code, c)
		}
		seen[c.Code] = true
		for _, m := range c.Members {
			if !members[m] {
				t.Errorf("%s has the member %s, which Facts has not", c.Code, m)
			}
		}
		if got := c.Code.Info(); got.Title != c.Title {
			t.Errorf("Info of %s is %+v", c.Code, got)
		}
	}
	if got := Code("NO_SUCH").Info().Code; got != CodeInternal {
		t.Errorf("an unknown code is %s", got)
	}
}

func TestErrorsKeepTheirCodeWhenWrapped(t *testing.T) {
	t.Parallel()
	cause := errors.New("broken pipe")
	err := fmt.Errorf("placing: %w", &Error{Code: CodeUnavailable, Detail: "The database is away.", Cause: cause})
	switch {
	case CodeOf(err) != CodeUnavailable, CodeOf(cause) != CodeInternal, CodeOf(nil) != "":
		t.Errorf("codes are %q, %q, %q", CodeOf(err), CodeOf(cause), CodeOf(nil))
	case !errors.Is(err, &Error{Code: CodeUnavailable}), errors.Is(err, &Error{Code: CodeNotFound}), !errors.Is(err, cause):
		t.Errorf("%v is not what it is", err)
	case err.Error() != "placing: UNAVAILABLE: The database is away.: broken pipe":
		t.Errorf("it reads %q", err)
	}
}
