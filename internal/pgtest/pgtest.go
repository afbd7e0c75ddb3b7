// Package pgtest gives each test a database of its own on a real Postgres.
//
// A database is a clone of a template that holds the migrated schema; the
// template's name is a hash of everything that shaped it, so it is made once
// and never goes stale. pgtestdb does much the same; it was left because it
// knows one role a database where Rowlock has four.
//
// The server is the one that ROWLOCK_TEST_DATABASE_URL names (a superuser's
// URL), which the command withpg sets for a whole test run. Without it each
// test binary starts its own, which ends with it. PG=18 asks for that version.
//
// Tests that import this package and test internal/store must be in package
// store_test: pgtest itself migrates with the store.
package pgtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/internal/postgres"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/sql/migrations"
	"github.com/rowlock/rowlock/sql/roles"
)

// Env names the variable that holds a superuser's URL of the server to use.
const Env = "ROWLOCK_TEST_DATABASE_URL"

// limit is for one step of making a database; it only has to turn a hang into
// a failed test.
const limit = time.Minute

// DB is a database for one test.
type DB struct {
	Name string

	t      testing.TB
	server *server
}

// New returns a database with the whole schema and no rows. It is dropped after
// the test; a failed test keeps it and logs where it is.
func New(t testing.TB) *DB {
	t.Helper()
	s, err := theServer()
	if err != nil {
		t.Fatal(err)
	}
	template, err := s.template()
	if err != nil {
		t.Fatal(err)
	}
	return s.create(t, "template "+template+" strategy file_copy")
}

// NewEmpty returns a database with the roles and nothing else: no schema.
func NewEmpty(t testing.TB) *DB {
	t.Helper()
	s, err := theServer()
	if err != nil {
		t.Fatal(err)
	}
	db := s.create(t, "template template0")
	if err := s.ensureRoles(t.Context(), db.Name); err != nil {
		t.Fatal(err)
	}
	return db
}

// URL is the database's address for a role: [store.RoleApp] and its like, or
// "" for the superuser.
func (db *DB) URL(role string) string { return db.server.url(role, db.Name) }

// Pool returns a pool of connections as the role ("" for the superuser), closed
// at the end of the test.
func (db *DB) Pool(role string) *pgxpool.Pool {
	db.t.Helper()
	pool, err := pgxpool.New(db.t.Context(), db.URL(role))
	if err != nil {
		db.t.Fatal(err)
	}
	db.t.Cleanup(pool.Close)
	return pool
}

// Main runs the tests of a package, then stops the server and removes its
// folder at once. Without it the server ends all the same, and the next test
// run on the machine removes the folder.
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
func Main(m *testing.M) {
	code := m.Run()
	if s, err := theServer(); started && err == nil && s.own != nil {
		s.own.Stop()
	}
	os.Exit(code)
}

// server is where all databases of this process are.
type server struct {
	super    *url.URL
	own      *postgres.Server // nil if it was there before us
	admin    *pgxpool.Pool
	template func() (string, error)
}

var started bool // read after the tests, when nobody can be starting it

var theServer = sync.OnceValues(func() (*server, error) {
	started = true
	s := &server{}
	address := os.Getenv(Env)
	if address == "" {
		own, err := postgres.Start(context.Background(), postgres.Config{
			Ephemeral: true,
			Version:   os.Getenv("PG"),
		})
		if err != nil {
			return nil, err
		}
		s.own = own
		address = own.URL(postgres.Superuser, "postgres")
	}
	var err error
	if s.super, err = url.Parse(address); err != nil {
		return nil, fmt.Errorf("%s: %w", Env, err)
	}
	cfg, err := pgxpool.ParseConfig(s.url("", "postgres"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Env, err)
	}
	cfg.MaxConns = 4
	if s.admin, err = pgxpool.NewWithConfig(context.Background(), cfg); err != nil {
		return nil, err
	}
	s.template = sync.OnceValues(s.makeTemplate)
	return s, nil
})

func (s *server) url(role, database string) string {
	u := *s.super
	u.Path = "/" + database
	if role != "" {
		u.User = url.User(role)
		if password, ok := s.super.User.Password(); ok {
			u.User = url.UserPassword(role, password)
		}
	}
	return u.String()
}

// ensureRoles makes the roles with the superuser's password, if it has one.
func (s *server) ensureRoles(ctx context.Context, database string) error {
	passwords := map[string]string{}
	if password, ok := s.super.User.Password(); ok {
		for _, role := range []string{store.RoleOwner, store.RoleApp, store.RoleLane, store.RoleOps} {
			passwords[role] = password
		}
	}
	return store.EnsureRoles(ctx, s.url("", database), passwords)
}

// create makes a database for one test.
func (s *server) create(t testing.TB, from string) *DB {
	t.Helper()
	db := &DB{Name: "test_" + strings.ToLower(rand.Text()[:12]), t: t, server: s}
	if _, err := s.admin.Exec(t.Context(), "create database "+db.Name+" "+from); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("database kept: %s", db.URL(""))
			if s.own != nil {
				t.Logf("but its server ends with the tests; to look into it: go run ./internal/pgtest/withpg -keep -- go test ...")
			}
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if _, err := s.admin.Exec(ctx, "drop database "+db.Name+" with (force)"); err != nil {
			t.Error(err)
		}
	})
	return db
}

// makeTemplate returns the name of the template, which it makes if no other
// test binary has.
func (s *server) makeTemplate() (name string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	hash, err := shape()
	if err != nil {
		return "", err
	}
	name = "template_" + hash
	conn, err := pgx.Connect(ctx, s.url("", "postgres"))
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx) // and with it goes the lock
	if _, err := conn.Exec(ctx, "select pg_advisory_lock(hashtext('rowlock template'))"); err != nil {
		return "", err
	}
	var there bool
	if err := conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", name).Scan(&there); err != nil || there {
		return name, err
	}
	// Made under another name: a template is whole from the moment it is seen.
	draft := "draft_" + hash
	for _, sql := range []string{"drop database if exists " + draft + " with (force)", "create database " + draft + " template template0"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return "", err
		}
	}
	if err := s.ensureRoles(ctx, draft); err != nil {
		return "", err
	}
	if _, _, err := store.Migrate(ctx, s.url(store.RoleOwner, draft), slog.New(slog.DiscardHandler)); err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, "alter database "+draft+" rename to "+name)
	return name, err
}

// shape is a hash of all that makes the template what it is.
func shape() (string, error) {
	h := sha256.New()
	fmt.Fprint(h, roles.Roles, roles.Grants)
	err := fs.WalkDir(migrations.FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := migrations.FS.ReadFile(path)
		fmt.Fprintf(h, "%s %d %s", path, len(text), text)
		return err
	})
	return fmt.Sprintf("%.6x", h.Sum(nil)), err
}
