package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/sql/ops"
)

// sold is a database with a show in which something happened.
func sold(t *testing.T) (*pgtest.DB, fixture.Made, *store.ReservationView) {
	t.Helper()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	made := fixture.Show(t, s, fixture.Options{Seats: 20, Floor: 50})
	key := fixture.Key()
	r, _, err := s.PlaceReservation(t.Context(), boxoffice.Actor{CustomerID: "ann", Name: "ann"}, &key, store.PlaceRequest{
		ShowID: made.ID, CustomerID: "ann",
		Seats: []store.SeatRef{{ID: made.Seats[0].ID}, {ID: made.Seats[1].ID}},
		Areas: []store.AreaRef{{ID: made.Areas[0].ID, Quantity: 2}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return db, made, r
}

func TestOpsRunsEveryQueryAsTheOpsRole(t *testing.T) {
	t.Parallel()
	db, made, r := sold(t)
	if _, err := db.Pool("").Exec(t.Context(), `update reservations set created_at = created_at - interval '1 hour', expires_at = expires_at - interval '1 hour'`); err != nil {
		t.Fatal(err)
	}
	url := "--database-url=" + db.URL(store.RoleOps)
	list := must(t, "ops")
	for _, q := range ops.Queries() {
		if !strings.Contains(list, q.Name) || q.About == "" {
			t.Errorf("%s is not listed, or does not say what it shows", q.Name)
		}
		args := []string{"ops", q.Name, url}
		for _, name := range q.Params {
			switch name {
			case "show":
				args = append(args, "--show="+made.ID.String())
			case "reservation":
				args = append(args, "--reservation="+r.ID.String())
			case "booking":
				args = append(args, "--booking=CDEFGHJK")
			case "seat":
				args = append(args, "--seat="+made.Seats[0].Label)
			default:
				t.Errorf("%s: this test does not know what to ask about %s", q.Name, name)
			}
		}
		if out := must(t, args...); !strings.Contains(out, "-+-") && q.Name != "booking_story" || !regexp.MustCompile(`\(\d+ rows?\)`).MatchString(out) {
			t.Errorf("%s: %s", q.Name, out)
		}
		code, _, stderr := verb(t, "", "ops", q.Name, url) // with nothing named
		if story := strings.HasSuffix(q.Name, "_story"); story && (code != 2 || !strings.Contains(stderr, "needs --")) || !story && code != 0 {
			t.Errorf("%s of nothing: exit %d, %s", q.Name, code, stderr)
		}
	}
	if out := must(t, "ops", "overdue_holds", url, "--show="+made.ID.String()); !strings.Contains(out, made.ID.String()+" | An Evening of Locks | 1     | 4      | ") || !strings.Contains(out, "(1 row)") {
		t.Errorf("overdue_holds:\n%s", out)
	}
	if code, _, stderr := verb(t, "", "ops", "who_is_rich", url); code != 2 || !strings.Contains(stderr, "no query") {
		t.Errorf("unknown query: exit %d, %s", code, stderr)
	}
	if code, _, stderr := verb(t, "", "ops", "overdue_holds", url, "--show=the one tonight"); code != 2 || !strings.Contains(stderr, "is no id") {
		t.Errorf("no id: exit %d, %s", code, stderr)
	}
}

func TestOpsAndProveCannotWriteWhoeverAsks(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	cmd := opsVerb()
	cmd.SetContext(t.Context())
	if err := cmd.Flags().Set("database-url", db.URL("")); err != nil {
		t.Fatal(err)
	}
	conn, err := connectOps(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `delete from shows`); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("%v", err)
	}
}

func TestProveFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	db, made, r := sold(t)
	url := "--database-url=" + db.URL(store.RoleOps)
	if out := must(t, "prove", url); !strings.Contains(out, "rules hold") || strings.Contains(out, "BROKEN") {
		t.Fatalf("%s", out)
	}
	// Behind the back of every constraint: the same seat for a second reservation.
	other := uuid.New()
	if _, err := db.Pool("").Exec(t.Context(), `
		insert into reservations (show_id, reservation_id, organisation_id, customer_id, created_at, expires_at, hold_seconds, currency, total_minor, places,
		                          seat_nos, seat_types, seat_prices)
		select show_id, $1, organisation_id, 'bob', created_at, expires_at, hold_seconds, currency, seat_prices[1], 1, seat_nos[1:1], seat_types[1:1], seat_prices[1:1]
		  from reservations where reservation_id = $2`, other, r.ID); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := verb(t, "", "prove", url)
	if code != 1 || !strings.Contains(out, "BROKEN  no seat has two owners") || !strings.Contains(out, other.String()) || !strings.Contains(stderr, "rules are broken") {
		t.Errorf("a seat sold twice: exit %d\n%s%s", code, out, stderr)
	}
	if _, err := db.Pool("").Exec(t.Context(), `update show_areas set held = held + 1 where show_id = $1`, made.ID); err != nil {
		t.Fatal(err)
	}
	if _, out, _ := verb(t, "", "prove", url); !strings.Contains(out, "BROKEN  the held units of an area") || !strings.Contains(out, "BROKEN  no seat has two owners") {
		t.Errorf("a wrong counter besides:\n%s", out)
	}
}
