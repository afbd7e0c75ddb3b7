package api_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/internal/api"
)

// A customer's id may be a mail address; whoever asks for it to be forgotten
// does not want it in the log.
func TestTheLogHasNoCustomersInIt(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	a := api.New(api.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	for _, path := range []string{"/customers/ada@example.org/personal-data", "/customers/ada@example.org", "/customers/ada@example.org/x/y"} {
		r := httptest.NewRequest(http.MethodDelete, "/api/v1"+path, nil)
		a.ServeHTTP(httptest.NewRecorder(), r)
	}
	if got := log.String(); strings.Contains(got, "ada") || strings.Count(got, "/api/v1/customers/…/") != 3 {
		t.Errorf("logged:\n%s", got)
	}
}
