package store_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/sql/queries"
)

func TestEveryStatement(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t).URL(store.RoleLane))
	for _, name := range slices.Sorted(maps.Keys(queries.All())) {
		if _, err := conn.Prepare(t.Context(), name, queries.All()[name]); err != nil {
			t.Errorf("%s is not what the schema understands: %v", name, err)
		}
	}
	if unused := queries.Unused(); len(unused) > 0 {
		t.Error("nobody uses", unused)
	}
}

// The lane plans each statement once and keeps the plan, maybe from the time
// when its tables were empty. So the plans are looked at on empty, analysed
// tables, where the planner is most tempted to read from end to end.
func TestLaneStatementsKeepToTheirIndexes(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	if _, err := db.Pool("").Exec(t.Context(), "vacuum analyze"); err != nil {
		t.Fatal(err)
	}
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
			if n.Type == "Hash Join" || n.Type == "Merge Join" {
				t.Errorf("%s has a %s", name, n.Type)
			}
		})
	}
}

type planNode struct {
	Type      string     `json:"Node Type"`
	Relation  string     `json:"Relation Name"`
	IndexCond string     `json:"Index Cond"`
	Plans     []planNode `json:"Plans"`
}

func (n planNode) walk(look func(planNode)) {
	look(n)
	for _, p := range n.Plans {
		p.walk(look)
	}
}
