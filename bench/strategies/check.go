package strategies

import (
	"context"
	_ "embed"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/sql/ops"
)

var (
	//go:embed sql/prepare.sql
	sqlPrepare string
	//go:embed sql/guard_on.sql
	sqlGuardOn string
	//go:embed sql/guard_off.sql
	sqlGuardOff string
	//go:embed sql/twice.sql
	sqlTwice string
)

// Prepare makes what the strategies need beyond Rowlock's schema. Doing it
// again changes nothing.
func Prepare(ctx context.Context, superuser *pgxpool.Pool) error {
	_, err := superuser.Exec(ctx, sqlPrepare)
	return err
}

// Guard switches the schema's own guard against a second owner off and on. It
// is off for the naive strategy, which could not show otherwise what it does;
// the others never touch it.
func Guard(ctx context.Context, superuser *pgxpool.Pool, on bool) error {
	sql := sqlGuardOff
	if on {
		sql = sqlGuardOn
	}
	_, err := superuser.Exec(ctx, sql)
	return err
}

// Twice counts the seats of all shows that were sold to two customers or more.
func Twice(ctx context.Context, pool *pgxpool.Pool) (seats int64, err error) {
	err = pool.QueryRow(ctx, sqlTwice).Scan(&seats)
	return seats, err
}

// Audit returns the names of the rules of sql/ops/invariants.sql that do not
// hold, but for those that a strategy goes without.
func Audit(ctx context.Context, pool *pgxpool.Pool, without ...string) (broken []string, err error) {
	rules, err := ops.Prove(ctx, pool)
	for _, rule := range rules {
		if !slices.Contains(without, rule.Name) {
			broken = append(broken, rule.Name)
		}
	}
	return broken, err
}
