package store_test

import (
	"testing"

	"github.com/rowlock/rowlock/internal/fixture"
)

func TestCreateShow(t *testing.T) {
	t.Parallel()
	s := fixture.Open(t)
	m := fixture.Show(t, s, fixture.Options{Seats: 40_000, Floor: 100})
	t.Log(m.ID, len(m.Seats), m.Areas)
}
