package recent_test

import (
	"testing"

	"github.com/rowlock/rowlock/internal/recent"
)

func TestAMapForgetsWhatIsNotAskedFor(t *testing.T) {
	t.Parallel()
	m := recent.New[string, int](2)
	m.Store("asked", 1)
	m.Store("forgotten", 2)
	for i, key := range []string{"a", "b", "c", "d"} {
		m.Store(key, i)
		if v, ok := m.Load("asked"); !ok || v != 1 {
			t.Fatalf("what is asked for is forgotten after %s", key)
		}
	}
	if _, ok := m.Load("forgotten"); ok {
		t.Error("it forgets nothing")
	}
	if v := m.Take("forgotten", func() int { return 3 }); v != 3 {
		t.Error(v)
	}
	if v := m.Take("forgotten", func() int { return 4 }); v != 3 {
		t.Error(v)
	}
}
