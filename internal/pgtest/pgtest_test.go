package pgtest_test

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestNew(t *testing.T) {
	t.Parallel()

	t.Run("Each test has a migrated database of its own", func(t *testing.T) {
		t.Parallel()
		for range 5 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				pool := pgtest.New(t).Pool(store.RoleApp)
				if _, err := pool.Exec(t.Context(), "insert into river_queue (name, updated_at) values ('mine', now())"); err != nil {
					t.Fatal(err)
				}
				var rows int
				if err := pool.QueryRow(t.Context(), "select count(*) from river_queue").Scan(&rows); err != nil || rows != 1 {
					t.Errorf("%d rows, %v", rows, err)
				}
			})
		}
	})

	t.Run("Each role comes as itself", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		for _, role := range []string{store.RoleOwner, store.RoleApp, store.RoleLane, store.RoleOps} {
			var is string
			if err := db.Pool(role).QueryRow(t.Context(), "select current_user").Scan(&is); err != nil || is != role {
				t.Errorf("%s is %s, %v", role, is, err)
			}
		}
	})

	t.Run("The database goes with the test", func(t *testing.T) {
		t.Parallel()
		admin := pgtest.NewEmpty(t)
		var name string
		t.Run("", func(t *testing.T) { name = pgtest.New(t).Name })
		if exists(t, admin, name) {
			t.Errorf("%s is still there", name)
		}
	})

	t.Run("A failed test keeps it and says where", func(t *testing.T) {
		t.Parallel()
		admin := pgtest.NewEmpty(t)
		cmd := exec.Command(os.Args[0], "-test.run=^TestThatFails$")
		cmd.Env = append(os.Environ(), "PGTEST_FAIL=1", pgtest.Env+"="+admin.URL(""))
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Fatalf("did not fail: %s", out)
		}
		m := regexp.MustCompile(`database kept: \S*/(test_\w+)`).FindSubmatch(out)
		if m == nil {
			t.Fatalf("no address in %s", out)
		}
		if !exists(t, admin, string(m[1])) {
			t.Errorf("%s is gone", m[1])
		}
		if _, err := admin.Pool("").Exec(t.Context(), "drop database "+pgx.Identifier{string(m[1])}.Sanitize()); err != nil {
			t.Error(err)
		}
	})
}

// TestThatFails is for the test above, in a process of its own.
func TestThatFails(t *testing.T) {
	if os.Getenv("PGTEST_FAIL") == "" {
		t.Skip("fails on purpose")
	}
	pgtest.New(t)
	t.Error("on purpose")
}

func exists(t *testing.T, db *pgtest.DB, name string) (there bool) {
	t.Helper()
	if err := db.Pool("").QueryRow(t.Context(), "select exists (select from pg_database where datname = $1)", name).Scan(&there); err != nil {
		t.Fatal(err)
	}
	return there
}
