package main

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/config"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
)

func TestTheKeyThatEverybodyKnowsOpensNothingInProduction(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	admin := []boxoffice.Scope{boxoffice.ScopeAdmin}
	if err := s.EnsureAPIKey(t.Context(), devKey, "rowlock run, by mistake", admin); err != nil {
		t.Fatal(err)
	}
	made, _, err := s.CreateAPIKey(t.Context(), boxoffice.DefaultOrganisationID, "box office", admin, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, production(db), "serve", "--jobs=false").ready()
	for key, want := range map[string]int{devKey: http.StatusUnauthorized, made: http.StatusOK} {
		if code, body := p.send(http.MethodGet, "/api/v1/changes", "", map[string]string{"X-API-Key": key}); code != want {
			t.Errorf("%.8s: %d %s", key, code, body)
		}
	}
	p.terminate()
	p.wait()
}

func TestSecretsAreKeptAndForNobodyElse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "made", "secret")
	first, err := keepSecret(path)
	if err != nil || len(first) < 32 {
		t.Fatal(err, len(first))
	}
	if again, err := keepSecret(path); err != nil || again != first {
		t.Errorf("the second start has another: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	// Without a password the database would be everybody's.
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := keepSecret(path); err == nil {
		t.Errorf("an empty file is the secret %q", got)
	}
}

func TestOtherVerbsReachTheDatabaseOfRunWithItsPassword(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	host := "@" + listener.Addr().String() + "/rowlock?sslmode=disable"
	if err := os.WriteFile(filepath.Join(dir, urlFile), []byte("postgres://postgres:SECRET"+host+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := "postgres://rowlock_ops:SECRET" + host
	if got := running(&config.Config{DataDir: dir}, store.RoleOps); got != want {
		t.Errorf("got %s", got)
	}
}
