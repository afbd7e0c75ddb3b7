package store_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/sql/migrations"
)

var quiet = slog.New(slog.DiscardHandler)

func TestMain(m *testing.M) { pgtest.Main(m) }

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// last is the number of the newest migration.
func last(t *testing.T) int32 {
	t.Helper()
	files, err := migrate.FindMigrations(migrations.FS)
	if err != nil {
		t.Fatal(err)
	}
	return int32(len(files))
}

func TestMigrate(t *testing.T) {
	t.Parallel()

	t.Run("Five instances that start at once migrate once", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t)
		type result struct {
			from, to int32
			err      error
		}
		results := make(chan result)
		for range 5 {
			go func() {
				from, to, err := store.Migrate(t.Context(), db.URL(store.RoleOwner), quiet)
				results <- result{from, to, err}
			}()
		}
		worked := 0
		for range 5 {
			r := <-results
			if r.err != nil || r.to != last(t) {
				t.Errorf("got version %d, %v; want %d", r.to, r.err, last(t))
			}
			if r.from == 0 {
				worked++
			}
		}
		if worked != 1 {
			t.Errorf("%d instances migrated", worked)
		}
		version, err := store.SchemaVersion(t.Context(), connect(t, db.URL(store.RoleApp)))
		if err != nil || version != last(t) {
			t.Errorf("the application sees version %d, %v", version, err)
		}
	})

	t.Run("River finds its schema complete", func(t *testing.T) {
		t.Parallel()
		m, err := rivermigrate.New(riverpgxv5.New(pgtest.New(t).Pool(store.RoleApp)), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Validate(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !got.OK {
			t.Error(got.Messages)
		}
	})

	t.Run("Down leaves nothing behind and up again works", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t)
		conn := connect(t, db.URL(store.RoleOwner))
		before := objects(t, conn)
		if _, _, err := store.Migrate(t.Context(), db.URL(store.RoleOwner), quiet); err != nil {
			t.Fatal(err)
		}
		full := objects(t, conn)
		m, err := migrate.NewMigrator(t.Context(), conn, "public.schema_version")
		if err != nil {
			t.Fatal(err)
		}
		if err := m.LoadMigrations(migrations.FS); err != nil {
			t.Fatal(err)
		}
		if err := m.MigrateTo(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		left := slices.DeleteFunc(objects(t, conn), func(name string) bool {
			return strings.Contains(name, "schema_version") || slices.Contains(before, name)
		})
		if len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		if from, to, err := store.Migrate(t.Context(), db.URL(store.RoleOwner), quiet); err != nil || from != 0 || to != last(t) {
			t.Errorf("got %d to %d, %v", from, to, err)
		}
		if again := objects(t, conn); !slices.Equal(again, full) {
			t.Errorf("the second time made other things: %v and %v", full, again)
		}
	})

	t.Run("A schema newer than the binary is left alone", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		conn := connect(t, db.URL(store.RoleOwner))
		if _, err := conn.Exec(t.Context(), "update schema_version set version = version + 1"); err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		from, to, err := store.Migrate(t.Context(), db.URL(store.RoleOwner), slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil || from != last(t)+1 || to != from {
			t.Errorf("got %d to %d, %v", from, to, err)
		}
		if !strings.Contains(log.String(), "level=WARN") {
			t.Errorf("no warning: %q", log.String())
		}
	})

	t.Run("Waiting for another instance ends with the context", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t)
		conn := connect(t, db.URL(store.RoleOwner))
		var mine bool
		if err := conn.QueryRow(t.Context(), migrations.Lock).Scan(&mine); err != nil || !mine {
			t.Fatal(mine, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		log := slog.New(slog.NewTextHandler(onWrite(cancel), nil)) // "waiting for it"
		if _, _, err := store.Migrate(ctx, db.URL(store.RoleOwner), log); err == nil {
			t.Error("did not wait")
		}
	})

	t.Run("Before the first migration the version is 0", func(t *testing.T) {
		t.Parallel()
		version, err := store.SchemaVersion(t.Context(), connect(t, pgtest.NewEmpty(t).URL(store.RoleOwner)))
		if err != nil || version != 0 {
			t.Errorf("got %d, %v", version, err)
		}
	})
}

// onWrite is a writer that calls itself.
type onWrite func()

func (f onWrite) Write(p []byte) (int, error) { f(); return len(p), nil }

// objects lists what a migration may leave in the schema public, and what was
// granted on it.
func objects(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `
		select c.relkind::text || ' ' || c.relname || ' ' || coalesce(c.relacl::text, '') as object
		  from pg_class c where c.relnamespace = 'public'::regnamespace
		union all
		select 'function ' || p.oid::regprocedure from pg_proc p where p.pronamespace = 'public'::regnamespace
		union all
		select 'type ' || t.typname from pg_type t where t.typnamespace = 'public'::regnamespace
		union all
		select 'trigger ' || g.tgname from pg_trigger g where not g.tgisinternal
		union all
		select 'extension ' || e.extname from pg_extension e
		order by object`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestEverythingInTheSchemaSaysWhatItIs(t *testing.T) {
	t.Parallel()
	rows, err := pgtest.New(t).Pool("").Query(t.Context(), `
		select c.relname::text from pg_class c
		 where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v') and obj_description(c.oid, 'pg_class') is null
		   and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e')
		union all
		select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
		 where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v') and col_description(c.oid, a.attnum) is null
		   and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e')`)
	if err != nil {
		t.Fatal(err)
	}
	silent, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(silent) > 0 {
		t.Error(silent, err)
	}
}
