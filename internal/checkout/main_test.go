package checkout_test

import (
	"os"
	"testing"

	"github.com/rowlock/rowlock/internal/pgtest"
)

// TestMain runs the tests; or, in a process that a test has started to be
// killed, a little Rowlock.
func TestMain(m *testing.M) {
	if orders := os.Getenv(childEnv); orders != "" {
		child(orders)
		return
	}
	pgtest.Main(m)
}
