package store_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/sql/queries"
)

func TestEveryStatement(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t).URL(store.RoleLane))
	// Five or more arrays in FROM, each of which has a store there; see lanes.sql.
	many := regexp.MustCompile(`(?i)from\s+unnest\s*\(([^(),]+,){4}`)
	for _, name := range slices.Sorted(maps.Keys(queries.All())) {
		if many.MatchString(queries.All()[name]) {
			t.Errorf("%s unnests many arrays in FROM, not in a select list", name)
		}
		if _, err := conn.Prepare(t.Context(), name, queries.All()[name]); err != nil {
			t.Errorf("%s is not what the schema understands: %v", name, err)
		}
	}
	if unused := queries.Unused(); len(unused) > 0 {
		t.Error("nobody uses", unused)
	}
}

// The lane plans each statement once and keeps the plan, maybe from the time
// when its tables were empty. So the plans are looked at on empty tables, with
// statistics, when the planner is most tempted to read from end to end, and
// without, when every index that begins with what is known seems as good as
// another. (With statistics that say "empty", even one that does not. For that
// plans are made anew: see TestPlansOfEmptyTablesAreForgotten.)
func TestLaneStatementsKeepToTheirIndexes(t *testing.T) {
	t.Parallel()
	t.Run("AnalysedWhenEmpty", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		if _, err := db.Pool("").Exec(t.Context(), "vacuum analyze"); err != nil {
			t.Fatal(err)
		}
		explainLane(t, db, func(planNode) string { return "" })
	})
	t.Run("NeverAnalysed", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		explainLane(t, db, readIndexes(t, db).better)
	})
}

func explainLane(t *testing.T, db *pgtest.DB, better func(planNode) string) {
	t.Helper()
	c, err := pgx.ParseConfig(db.URL(store.RoleLane))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(c.RuntimeParams, store.LaneSettings)
	conn, err := pgx.ConnectConfig(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, name := range []string{
		"show_heads_load", "show_heads_update", "idempotency_load", "idempotency_insert",
		"seats_wanted", "seats_lock_owned", "seats_lock_all", "seats_update", "areas_load", "areas_update",
		"reservations_named", "reservations_due", "reservations_due_in_areas", "reservations_places",
		"reservations_insert", "reservations_update", "changes_insert",
		"bookings_load", "bookings_save", "payments_load", "payments_save", "payment_checks_insert", "payment_checks_hurry",
		"payment_checks_delete", "refunds_load", "refunds_save", "tickets_load", "tickets_named", "tickets_save", "scans_load", "scans_save",
		"waitlist_sorts", "waitlist_free", "waitlist_next", "waitlist_count", "waitlist_named", "waitlist_of_customers", "waitlist_save", "waitlist_mark", "waitlist_buyers_save",
		"waitlist_looks_save",
		"buyers_save", "ticket_holders_save", "ticket_holders_clear",
		"shows_terms", "shows_prices", "plans_read", "plan_categories_load", "plan_seats_load", "plan_areas_load",
		"shows_redefine", "shows_publish_event", "shows_save_facts", "show_prices_delete", "show_prices_insert", "blocks_insert",
		"seats_insert", "seats_delete", "areas_delete", "reservations_exist", "queue_admissions_load", "queue_admissions_use", "queue_admissions_lapse", "queue_admissions_resume", "queue_heads_open",
		// Waiting rooms have no lane, but half a million entries. What reads one entry is planned anew each time: see queue_plans.
		"queue_heads_ensure", "queue_heads_lock", "queue_heads_save", "queue_shows_read", "queue_shows_places",
		"queue_rounds_undrawn", "queue_rounds_read", "queue_rounds_last", "queue_rounds_of",
		"queue_entries_of", "queue_entries_insert", "queue_entries_close", "queue_entries_find", "queue_entries_list",
		"queue_admissions_returning", "queue_admissions_recall", "queue_admissions_call", "queue_admissions_return", "queue_admissions_close",
		"queue_admissions_positions",
	} {
		text := queries.All()[name]
		sd, err := conn.Prepare(t.Context(), name, text)
		if err != nil {
			t.Fatal(name, err)
		}
		nulls := strings.TrimSuffix(strings.Repeat("null,", len(sd.ParamOIDs)), ",")
		var raw string
		if err := conn.QueryRow(t.Context(), fmt.Sprintf("explain (format json) execute %s(%s)", name, nulls)).Scan(&raw); err != nil {
			t.Fatal(name, err)
		}
		var plans []struct{ Plan planNode }
		if err := json.Unmarshal([]byte(raw), &plans); err != nil {
			t.Fatal(err)
		}
		plans[0].Plan.walk(func(n planNode) {
			scan := strings.HasSuffix(n.Type, "Scan") && n.Type != "Tid Scan" && n.Relation != ""
			if scan && (n.Type == "Seq Scan" || n.IndexCond == "") {
				t.Errorf("%s reads %s from end to end (%s)", name, n.Relation, n.Type)
			}
			if other := better(n); other != "" && name != "queue_entries_close" { // planned each time, see queue_plans
				t.Errorf("%s looks in %s for %s and then through all of it for %s, not in %s", name, n.Index, n.IndexCond, n.Filter, other)
			}
			if n.Type == "Hash Join" || n.Type == "Merge Join" {
				t.Errorf("%s has a %s", name, n.Type)
			}
		})
	}
}

// indexes are the columns of each index of each table.
type indexes map[string]map[string][]string

func readIndexes(t *testing.T, db *pgtest.DB) indexes {
	t.Helper()
	rows, err := db.Pool("").Query(t.Context(), `
		select i.indrelid::regclass::text, i.indexrelid::regclass::text, array_agg(a.attname::text order by a.attnum)
		  from pg_index i join pg_attribute a on a.attrelid = i.indexrelid
		 where i.indrelid::regclass::text !~ '[.]' group by 1, 2`)
	if err != nil {
		t.Fatal(err)
	}
	all := indexes{}
	var table, index string
	var columns []string
	if _, err := pgx.ForEachRow(rows, []any{&table, &index, &columns}, func() error {
		if all[table] == nil {
			all[table] = map[string][]string{}
		}
		all[table][index] = slices.Clone(columns)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// better names an index that fits a scan better than the one it uses: when it
// uses nothing of that but the show, and goes through all of the show for what
// another index has next. A show has few areas.
func (all indexes) better(n planNode) string {
	columns := all[n.Relation][n.Index]
	if len(columns) == 0 || n.Relation == "show_areas" {
		return ""
	}
	if !mentions(n.IndexCond, columns[0]) {
		return "one that begins with what is known"
	}
	if columns[0] != "show_id" || len(columns) > 1 && mentions(n.IndexCond, columns[1]) {
		return ""
	}
	for name, other := range all[n.Relation] {
		if len(other) > 1 && other[0] == "show_id" && other[1] != "status" && mentions(n.Filter, other[1]) {
			return name
		}
	}
	return ""
}

// mentions reports whether a condition compares a column with something.
func mentions(condition, column string) bool {
	return regexp.MustCompile(`[( ]` + column + `\)? [=<>]`).MatchString(condition)
}

// The plan of a look-up is made for an empty table, and kept; then the table
// fills up within seconds, before Postgres looks at it again.
func TestPlansOfEmptyTablesAreForgotten(t *testing.T) {
	t.Parallel()
	s := openShop(t, fixture.Options{Seats: 20})
	s.Replan(0)
	holdAndRelease := func(seat int) {
		t.Helper()
		r, err := s.place(t.Context(), "guest:ada", 0, seat)
		if err == nil {
			_, _, err = s.ReleaseReservation(t.Context(), fixture.Staff, new(fixture.Key()), r.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	holdAndRelease(0)
	if _, err := s.pool.Exec(t.Context(), "vacuum analyze"); err != nil {
		t.Fatal(err)
	}
	holdAndRelease(0)
	const old = 50_000
	if _, err := s.pool.Exec(t.Context(), `
		insert into reservations (show_id, reservation_id, organisation_id, customer_id, status, created_at, expires_at, hold_seconds, closed_at, close_reason, staff,
		       currency, total_minor, places, seat_nos, seat_types, seat_prices, area_nos, area_types, area_requested, area_quantities, area_prices)
		select r.show_id, gen_random_uuid(), r.organisation_id, r.customer_id, r.status, r.created_at, r.expires_at, r.hold_seconds, r.closed_at, r.close_reason, r.staff,
		       r.currency, r.total_minor, r.places, r.seat_nos, r.seat_types, r.seat_prices, r.area_nos, r.area_types, r.area_requested, r.area_quantities, r.area_prices
		  from reservations r, generate_series(1, $1)`, old); err != nil {
		t.Fatal(err)
	}
	before := s.count(t, `select pg_stat_get_tuples_returned(indexrelid)::int from pg_index where indexrelid = 'reservations_by_customer'::regclass`)
	for seat := range 20 {
		holdAndRelease(seat)
	}
	// What a session has read is counted when it has been idle for a while, or works on after a second.
	var read int
	for began := time.Now(); time.Since(began) < 3*time.Second; time.Sleep(500 * time.Millisecond) {
		holdAndRelease(1)
		read = s.count(t, `select pg_stat_get_tuples_returned(indexrelid)::int from pg_index where indexrelid = 'reservations_by_customer'::regclass`) - before
	}
	if read >= old {
		t.Errorf("%d entries of an index by something else were read to find a few reservations", read)
	}
}

type planNode struct {
	Type      string     `json:"Node Type"`
	Relation  string     `json:"Relation Name"`
	Index     string     `json:"Index Name"`
	IndexCond string     `json:"Index Cond"`
	Filter    string     `json:"Filter"`
	Plans     []planNode `json:"Plans"`
}

func (n planNode) walk(look func(planNode)) {
	look(n)
	for _, p := range n.Plans {
		p.walk(look)
	}
}
