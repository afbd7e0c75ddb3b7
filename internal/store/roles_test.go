package store_test

import (
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/postgres"
	"github.com/rowlock/rowlock/internal/store"
)

// insufficientPrivilege is what Postgres answers to what a role may not do.
const insufficientPrivilege = "42501"

func code(err error) string {
	e := (*pgconn.PgError)(nil)
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestEnsureRoles(t *testing.T) {
	t.Parallel()

	t.Run("Twice, and by five at once in databases of their own", func(t *testing.T) {
		t.Parallel()
		done := make(chan error)
		for range 5 {
			db := pgtest.New(t)
			go func() {
				err := store.EnsureRoles(t.Context(), db.URL(""), nil)
				if err == nil {
					err = store.EnsureRoles(t.Context(), db.URL(""), nil)
				}
				done <- err
			}()
		}
		for range 5 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})

	t.Run("A password is set and stands in no statement", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		admin := connect(t, db.URL(""))
		var before *string
		if err := admin.QueryRow(t.Context(), "select rolpassword from pg_authid where rolname = 'rowlock_ops'").Scan(&before); err != nil {
			t.Fatal(err)
		}
		if before != nil {
			t.Skip("this server's roles have passwords that others use")
		}
		const secret = "it's \"quoted\" \\ and $1"
		if err := store.EnsureRoles(t.Context(), db.URL(""), map[string]string{store.RoleOps: secret}); err != nil {
			t.Fatal(err)
		}
		var hash *string
		if err := admin.QueryRow(t.Context(), "select rolpassword from pg_authid where rolname = 'rowlock_ops'").Scan(&hash); err != nil {
			t.Fatal(err)
		}
		if hash == nil || !strings.HasPrefix(*hash, "SCRAM-SHA-256$") {
			t.Errorf("got %v", hash)
		}
		if _, err := admin.Exec(t.Context(), "alter role rowlock_ops password null"); err != nil {
			t.Error(err)
		}
	})

	t.Run("The application may not touch the change log, the lane only add to it", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		for _, role := range []string{store.RoleApp, store.RoleLane} {
			conn := connect(t, db.URL(role))
			if _, err := conn.Exec(t.Context(), "select from changes"); err != nil {
				t.Errorf("%s may not read the log: %v", role, err)
			}
			for _, sql := range []string{
				"update changes set reason = ''",
				"delete from changes",
				"truncate changes",
				"alter table changes add column x int",
				"drop table changes",
				"create table mine ()",
				"update schema_version set version = 0",
				"delete from river_migration",
			} {
				if _, err := conn.Exec(t.Context(), sql); code(err) != insufficientPrivilege {
					t.Errorf("%s: %s: %v", role, sql, err)
				}
			}
			_, err := conn.Exec(t.Context(), `insert into changes (show_id, version, n, organisation_id, at, type, actor, reason)
				values (gen_random_uuid(), 1, 0, gen_random_uuid(), now(), 'test', 'system', 'staff')`)
			if want := map[string]string{store.RoleApp: insufficientPrivilege, store.RoleLane: ""}[role]; code(err) != want {
				t.Errorf("%s inserts: %v", role, err)
			}
		}
	})

	t.Run("Every other table can be written, by a default for reading alone", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		admin := connect(t, db.URL(""))
		var missing []string
		if err := admin.QueryRow(t.Context(), `
			select coalesce(array_agg(role || ' ' || relname), '{}')
			  from pg_class, unnest(array['rowlock_app', 'rowlock_lane']) role
			 where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
			   and relname not in ('changes', 'schema_version', 'river_migration')
			   and not (role = 'rowlock_app' and relname in ('show_heads', 'show_seats', 'show_areas', 'reservations', 'blocks',
			                                                 'bookings', 'payments', 'refunds', 'tickets', 'scans',
			                                                 'waitlist_entries', 'waitlist_looks'))
			   and not (has_table_privilege(role, pg_class.oid, 'select') and has_table_privilege(role, pg_class.oid, 'insert')
			        and has_table_privilege(role, pg_class.oid, 'update') and has_table_privilege(role, pg_class.oid, 'delete'))`).Scan(&missing); err != nil {
			t.Fatal(err)
		}
		if len(missing) > 0 {
			t.Errorf("no privileges: %v", missing)
		}
		owner := connect(t, db.URL(store.RoleOwner))
		if _, err := owner.Exec(t.Context(), "create table later (id bigserial)"); err != nil {
			t.Fatal(err)
		}
		app := connect(t, db.URL(store.RoleApp))
		if _, err := app.Exec(t.Context(), "select from later"); err != nil {
			t.Error(err)
		}
		if _, err := app.Exec(t.Context(), "insert into later default values"); code(err) != insufficientPrivilege {
			t.Errorf("the default lets the application write: %v", err)
		}
		if err := store.EnsureRoles(t.Context(), db.URL(""), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := app.Exec(t.Context(), "insert into later default values"); err != nil {
			t.Error(err)
		}
	})

	t.Run("What pg_restore made can be written, sequences too, and dumped again", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		admin := connect(t, db.URL(""))
		// A superuser makes it and gives it away, so the owner's defaults do not apply.
		if _, err := admin.Exec(t.Context(), "create table restored (id bigserial); alter table restored owner to rowlock_owner"); err != nil {
			t.Fatal(err)
		}
		if err := store.EnsureRoles(t.Context(), db.URL(""), nil); err != nil {
			t.Fatal(err)
		}
		for role, sql := range map[string]string{
			store.RoleApp:  "insert into restored default values",
			store.RoleLane: "insert into restored default values",
			store.RoleOps:  "select last_value from restored_id_seq",
		} {
			if _, err := connect(t, db.URL(role)).Exec(t.Context(), sql); err != nil {
				t.Errorf("%s: %v", role, err)
			}
		}
	})

	t.Run("A partition of the change log is the change log", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		owner := connect(t, db.URL(store.RoleOwner))
		if _, err := owner.Exec(t.Context(), `drop table changes;
			create table changes (show_id int) partition by range (show_id);
			create table changes_1 partition of changes for values from (0) to (10)`); err != nil {
			t.Fatal(err)
		}
		if err := store.EnsureRoles(t.Context(), db.URL(""), nil); err != nil {
			t.Fatal(err)
		}
		lane := connect(t, db.URL(store.RoleLane))
		if _, err := lane.Exec(t.Context(), "insert into changes values (1)"); err != nil {
			t.Error(err)
		}
		if _, err := lane.Exec(t.Context(), "delete from changes_1"); code(err) != insufficientPrivilege {
			t.Errorf("got %v", err)
		}
	})

	t.Run("Only the lanes change who owns a place", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		app := connect(t, db.URL(store.RoleApp))
		for _, sql := range []string{
			"update show_seats set state = 'a'", "delete from show_seats", "update show_areas set held = 0", "delete from show_areas",
			"update show_heads set version = 0", "delete from show_heads", "update reservations set status = 'active'",
			"update reservations set customer_id = 'eve'", "delete from reservations", "insert into reservations default values",
			"insert into blocks default values", "delete from blocks", "truncate show_seats", "create table mine (id int)",
			"create function public.now() returns timestamptz language sql as 'select null::timestamptz'",
		} {
			if _, err := app.Exec(t.Context(), sql); code(err) != insufficientPrivilege {
				t.Errorf("%s: %v", sql, err)
			}
		}
	})

	t.Run("People on call read everything and change nothing", func(t *testing.T) {
		t.Parallel()
		ops := connect(t, pgtest.New(t).URL(store.RoleOps))
		for _, sql := range []string{"select from changes", "select from reservation_items", "select from river_job", "select last_value from river_job_id_seq", "select query from pg_stat_activity"} {
			if _, err := ops.Exec(t.Context(), sql); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
		}
		if _, err := ops.Exec(t.Context(), "delete from shows"); err == nil {
			t.Error("may delete shows")
		}
		if _, err := ops.Exec(t.Context(), "select rolpassword from pg_authid"); code(err) != insufficientPrivilege {
			t.Errorf("reads the hashes of passwords: %v", err)
		}
		if _, err := ops.Exec(t.Context(), "set default_transaction_read_only = off"); err != nil {
			t.Fatal(err)
		}
		if _, err := ops.Exec(t.Context(), "delete from shows"); code(err) != insufficientPrivilege {
			t.Errorf("only a setting stands in the way: %v", err)
		}
	})

	t.Run("The owner of a database who may create roles suffices", func(t *testing.T) {
		t.Parallel()
		// As on hosted servers. A server of its own: here nobody else has made
		// the roles before.
		server, err := postgres.Start(t.Context(), postgres.Config{Ephemeral: true, Dir: t.TempDir(), Version: os.Getenv("PG")})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Stop()
		super := server.URL(postgres.Superuser, "postgres")
		admin := connect(t, super)
		for _, sql := range []string{"create role hosted login createrole createdb", "create database rowlock owner hosted"} {
			if _, err := admin.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := store.EnsureRoles(t.Context(), server.URL("hosted", "rowlock"), nil); err != nil {
				t.Fatal(err)
			}
			if _, _, err := store.Migrate(t.Context(), server.URL(store.RoleOwner, "rowlock"), quiet); err != nil {
				t.Fatal(err)
			}
		}
		for _, role := range []string{store.RoleApp, store.RoleLane} {
			conn := connect(t, server.URL(role, "rowlock"))
			if got, err := store.CheckPowers(t.Context(), conn); err != nil || len(got) > 0 {
				t.Errorf("%s: %v, %v", role, got, err)
			}
			if _, err := conn.Exec(t.Context(), "delete from shows"); err != nil {
				t.Errorf("%s: %v", role, err)
			}
		}
	})

	t.Run("Each role says what it is for", func(t *testing.T) {
		t.Parallel()
		var silent int
		if err := pgtest.New(t).Pool("").QueryRow(t.Context(),
			"select count(*) from pg_roles where rolname like 'rowlock%' and shobj_description(oid, 'pg_authid') is null").Scan(&silent); err != nil || silent > 0 {
			t.Errorf("%d roles without a comment, %v", silent, err)
		}
	})
}

func TestEnsureDatabase(t *testing.T) {
	t.Parallel()
	db := pgtest.NewEmpty(t)
	name := db.Name + `_"more`
	for range 2 {
		if err := store.EnsureDatabase(t.Context(), db.URL(""), name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := connect(t, db.URL("")).Exec(t.Context(), `drop database "`+strings.ReplaceAll(name, `"`, `""`)+`"`); err != nil {
		t.Error(err)
	}
}

func TestCheckSettings(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)

	for _, role := range []string{store.RoleApp, store.RoleLane} {
		t.Run("As "+role+" comes all is well, and each change is seen", func(t *testing.T) {
			t.Parallel()
			conn := connect(t, db.URL(role))
			if got, err := store.CheckSettings(t.Context(), conn); err != nil || len(got) != 0 {
				t.Fatalf("got %v, %v", got, err)
			}
			want := []string{"default_transaction_isolation", "idle_in_transaction_session_timeout", "jit", "statement_timeout", "synchronous_commit"}
			if role == store.RoleLane {
				want = append(want, "enable_hashjoin", "enable_mergejoin", "enable_seqscan", "plan_cache_mode")
				slices.Sort(want)
			}
			for _, name := range want {
				value := map[string]string{
					"default_transaction_isolation": "serializable", "idle_in_transaction_session_timeout": "0", "statement_timeout": "11s",
					"synchronous_commit": "off", "plan_cache_mode": "auto",
				}[name]
				if value == "" {
					value = "on"
				}
				if _, err := conn.Exec(t.Context(), "select set_config($1, $2, false)", name, value); err != nil {
					t.Fatal(err)
				}
			}
			got, err := store.CheckSettings(t.Context(), conn)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				got[i], _, _ = strings.Cut(got[i], " ")
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}

	t.Run("A URL that overrides the role's settings is seen", func(t *testing.T) {
		t.Parallel()
		u, err := url.Parse(db.URL(store.RoleApp))
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		q.Set("synchronous_commit", "off")
		u.RawQuery = q.Encode()
		got, err := store.CheckSettings(t.Context(), connect(t, u.String()))
		if err != nil || !slices.Equal(got, []string{`synchronous_commit is "off", should be "on"`}) {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestCheckPowers(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	for role, want := range map[string][]string{
		"":              {"is a superuser", "owns the tables", "may change the change log"},
		store.RoleOwner: {"owns the tables", "may change the change log"},
		store.RoleApp:   {},
		store.RoleLane:  {},
		store.RoleOps:   {},
	} {
		t.Run("Of "+role, func(t *testing.T) {
			t.Parallel()
			got, err := store.CheckPowers(t.Context(), connect(t, db.URL(role)))
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("got %q, %v; want %q", got, err, want)
			}
		})
	}
}
