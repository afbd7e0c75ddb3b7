package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/fixture/plans"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
)

func TestMigrateTwice(t *testing.T) {
	t.Parallel()
	url := "--migrate-database-url=" + pgtest.NewEmpty(t).URL(store.RoleOwner)
	if out := must(t, "migrate", url); !strings.Contains(out, "from version 0 to ") {
		t.Errorf("first: %s", out)
	}
	if out := must(t, "migrate", url); !strings.Contains(out, "nothing to do") {
		t.Errorf("second: %s", out)
	}
}

func TestRolesMakesTheDatabaseToo(t *testing.T) {
	t.Parallel()
	db := pgtest.NewEmpty(t)
	name := "made_" + strings.TrimPrefix(db.Name, "test_")
	for range 2 {
		must(t, "roles", "--database-url="+db.URL(""), "--create-database="+name)
	}
	t.Cleanup(func() {
		if _, err := db.Pool("").Exec(context.Background(), `drop database `+name+` with (force)`); err != nil {
			t.Error(err)
		}
	})
	url, err := withPath(db.URL(store.RoleOwner), name)
	if err != nil {
		t.Fatal(err)
	}
	must(t, "migrate", "--migrate-database-url="+url)
	if code, _, stderr := verb(t, "", "roles", "--database-url="+db.URL(store.RoleApp)); code != 1 || !strings.Contains(stderr, "must be a superuser's") {
		t.Errorf("as a role that may not: exit %d, %s", code, stderr)
	}
}

func TestAPIKeysFromCreationToRevocation(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	url := "--database-url=" + db.URL(store.RoleApp)
	key := strings.TrimSpace(must(t, "apikey", "create", url, "--name=box office 2", "--scopes=sales:read,reservations:staff", "--expires-in=1h"))
	k, err := s.APIKeyByHash(t.Context(), boxoffice.HashAPIKey(key))
	if err != nil {
		t.Fatal(err)
	}
	if k.Name != "box office 2" || len(k.Scopes) != 2 || k.ExpiresAt == nil || !k.Usable(k.CreatedAt) {
		t.Errorf("%+v", k)
	}
	if out := must(t, "apikey", "list", url); !strings.Contains(out, k.ID.String()) || !strings.Contains(out, "sales:read,reservations:staff") || strings.Contains(out, key) {
		t.Errorf("list: %s", out)
	}
	must(t, "apikey", "revoke", url, k.ID.String())
	if k, err = s.APIKeyByHash(t.Context(), boxoffice.HashAPIKey(key)); err != nil || k.RevokedAt == nil {
		t.Errorf("after the revocation: %+v, %v", k, err)
	}
	if out := must(t, "apikey", "list", url); !strings.Contains(out, "revoked ") {
		t.Errorf("list: %s", out)
	}
	if code, _, stderr := verb(t, "", "apikey", "create", url, "--name=x", "--scopes=everything"); code != 1 || !strings.Contains(stderr, `there is no scope "everything"`) {
		t.Errorf("unknown scope: exit %d, %s", code, stderr)
	}
	if code, _, stderr := verb(t, "", "apikey", "revoke", url, uuid.NewString()); code != 1 || !strings.Contains(stderr, "no such API key") {
		t.Errorf("unknown key: exit %d, %s", code, stderr)
	}
}

func TestImport(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	hall := fixture.Hall(t, fixture.On(t, db)).HallID.String()
	url := "--database-url=" + db.URL(store.RoleApp)
	theatre, err := plans.Files.ReadFile("theatre.csv")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "theatre.csv")
	if err := os.WriteFile(file, theatre, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := must(t, "import", url, "--hall="+hall, "--format=csv", file); !regexp.MustCompile(`version 1 of hall Great Hall: \d+ seats`).MatchString(out) {
		t.Errorf("from a file: %s", out)
	}
	if code, out, stderr := verb(t, string(theatre), "import", url, "--hall="+hall, "--format=csv", "-"); code != 0 || !strings.Contains(out, "version 2") {
		t.Errorf("from standard input: exit %d, %s%s", code, out, stderr)
	}
	twice := "section,row,seat,category\nStalls,A,1,Front\nStalls,A,1,Front\nStalls,A,2,\n"
	code, _, stderr := verb(t, twice, "import", url, "--hall="+hall, "--format=csv", "-")
	if code != 1 || !strings.Contains(stderr, "line 3: ") || !strings.Contains(stderr, "line 4: ") || !strings.Contains(stderr, "refused: 2 problems") {
		t.Errorf("a bad plan: exit %d, %s", code, stderr)
	}
	if code, _, stderr := verb(t, twice, "import", url, "--hall="+uuid.NewString(), "--format=csv", "-"); code != 1 || !strings.Contains(stderr, "no such hall") {
		t.Errorf("no hall: exit %d, %s", code, stderr)
	}
}

func TestDocumentsNeedNoDatabaseAndKnowWhenAFileIsOld(t *testing.T) {
	t.Parallel()
	document := must(t, "openapi")
	if !strings.Contains(document, "openapi: 3.1.0") || !strings.Contains(document, "/reservations:") {
		t.Fatalf("%.200s", document)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "docs"), 0o700); err != nil {
		t.Fatal(err)
	}
	must(t, "documents", dir)
	must(t, "documents", "--check", dir)
	first, rest, _ := strings.Cut(document, "\n")
	if err := os.WriteFile(filepath.Join(dir, "openapi.yaml"), []byte(first+"\n# edited\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := verb(t, "", "documents", "--check", dir); code != 1 || !strings.Contains(stderr, "from line 2 on") {
		t.Errorf("an edited file: exit %d, %s", code, stderr)
	}
}

func TestRunStartsServesAndStops(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	env := map[string]string{"DATA_DIR": dir, "LOG_LEVEL": "info"}
	for _, what := range []string{"first", "again"} {
		p := start(t, env, "run").ready()
		for line := range p.said {
			if strings.Contains(line, "Ctrl-C stops it") {
				break
			}
		}
		if code, body := p.send("GET", "/riverui/api/states", "", map[string]string{"X-API-Key": devKey}); code != 200 {
			t.Errorf("%s: River UI: %d %s", what, code, body)
		}
		if code, _ := p.get("/"); code != 200 {
			t.Errorf("%s: the landing page: %d", what, code)
		}
		if out := must(t, "apikey", "list", "--data-dir="+dir); !strings.Contains(out, "make run") {
			t.Errorf("%s: other verbs do not find the database: %s", what, out)
		}
		if code, _, stderr := verb(t, "", "reset", "--data-dir="+dir); code != 1 || !strings.Contains(stderr, "is running") {
			t.Errorf("%s: reset while it runs: exit %d, %s", what, code, stderr)
		}
		p.terminate()
		p.wait()
		if left, _ := filepath.Glob(filepath.Join(dir, "data-*")); len(left) != 1 {
			t.Errorf("%s: the state is gone: %v", what, left)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, urlFile), []byte("postgres://postgres@127.0.0.1:1/rowlock"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := verb(t, "", "prove", "--data-dir="+dir); code != 1 || !strings.Contains(stderr, "no rowlock run is running") {
		t.Errorf("after a run that was killed: exit %d, %s", code, stderr)
	}
	mine := filepath.Join(dir, "mine.txt")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, "reset", "--data-dir="+dir)
	if left, _ := os.ReadDir(dir); len(left) != 1 || left[0].Name() != "mine.txt" {
		t.Errorf("reset left %v", left)
	}
}
