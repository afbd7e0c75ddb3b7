package mail

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestDropWritesTheMailAndItsPage(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "when", "needed")
	m := letter()
	m.HTML = "<p>first</p>"
	d := NewDrop(dir)
	if err := d.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	m.HTML = "<p>second</p>"
	if err := d.Send(t.Context(), m); err != nil { // the job's second try
		t.Fatal(err)
	}
	other := letter()
	other.ID, other.HTML = "refund.1", ""
	if err := d.Send(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if got, want := list(t, dir), []string{m.ID + ".eml", m.ID + ".html", "refund.1.eml"}; !slices.Equal(got, want) {
		t.Errorf("files %q, not %q", got, want)
	}
	raw, err := os.ReadFile(filepath.Join(dir, m.ID+".eml"))
	if err != nil {
		t.Fatal(err)
	}
	if h, parts := read(t, raw); decoded(t, h, "Subject") != m.Subject || len(parts) != 3 || parts[1].content != m.HTML {
		t.Errorf("%v %+q", h, parts)
	}
	page, err := os.ReadFile(filepath.Join(dir, m.ID+".html"))
	if err != nil || string(page) != m.HTML {
		t.Errorf("%q, %v", page, err)
	}
	for _, name := range list(t, dir) {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestDropThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := letter()

	bad := letter()
	bad.ID = "../outside"
	if err := NewDrop(dir).Send(t.Context(), bad); !errors.Is(err, ErrPermanent) {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := NewDrop(dir).Send(ended, m); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// A folder is where the mail should be.
	if err := os.Mkdir(filepath.Join(dir, m.ID+".html"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := NewDrop(dir).Send(t.Context(), m); err == nil || errors.Is(err, ErrPermanent) {
		t.Error(err)
	}
	if got := list(t, dir); !slices.Equal(got, []string{m.ID + ".html"}) {
		t.Errorf("files %q", got)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := NewDrop(file).Send(t.Context(), m); err == nil || errors.Is(err, ErrPermanent) {
		t.Error(err)
	}
}
