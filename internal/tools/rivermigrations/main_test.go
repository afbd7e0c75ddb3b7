package main

import (
	"strings"
	"testing"

	"github.com/rowlock/rowlock/sql/migrations"
)

// TestMigrationsAreRivers fails when River was upgraded and brings another
// version, or when somebody edited a generated file.
func TestMigrationsAreRivers(t *testing.T) {
	t.Parallel()
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		got, err := migrations.FS.ReadFile(name)
		if err != nil {
			t.Errorf("%v: run go generate ./sql/migrations", err)
		} else if string(got) != text {
			t.Errorf("%s differs from what River says: run go generate ./sql/migrations", name)
		}
		// tern renders each file as a Go template.
		if strings.Contains(text, "{{") {
			t.Errorf("%s holds a template action", name)
		}
	}
	entries, err := migrations.FS.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), "_river_") && want[e.Name()] == "" {
			t.Errorf("%s is none of River's", e.Name())
		}
	}
}
