package ops_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/sql/ops"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// night is a database in which a show has sold for a while, by the store's own
// methods: every kind of change has happened.
type night struct {
	t    *testing.T
	db   *pgtest.DB
	all  *pgxpool.Pool // as superuser
	ops  *pgxpool.Pool // as people on call
	s    *store.Store
	show fixture.Made
	// The holds that live.
	ann, box *store.ReservationView
	// One that is over and was not closed.
	late *store.ReservationView
	// One that was released.
	gone *store.ReservationView
	// What was paid for.
	gala gala
	// The show that people wait for.
	rush uuid.UUID
	// A show that is sold out, and who waits for it: one bought what was
	// offered, one has an offer, one waits, one left.
	full                         fixture.Made
	bought, asked, waits, leaver *store.WaitlistView
}

var org = boxoffice.DefaultOrganisationID

func newNight(t *testing.T) *night {
	t.Helper()
	db := pgtest.New(t)
	n := &night{t: t, db: db, all: db.Pool(""), ops: db.Pool(store.RoleOps), s: fixture.On(t, db)}
	n.show = fixture.Show(t, n.s, fixture.Options{Seats: 20, Floor: 50})
	stock, _, err := n.s.CreateShow(t.Context(), fixture.Staff, fixture.Key(), store.NewShow{
		Organisation: org, EventID: n.show.EventID, StartsAt: time.Now().Add(time.Hour * 24), Currency: "EUR", Publish: true,
		Areas: []store.NewArea{{Name: "Day ticket", Capacity: 10, Prices: []store.Price{{AmountMinor: 1500}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	seats, floor := n.show.Seats, n.show.Areas[0].ID

	expired := n.place("dora", store.PlaceRequest{Seats: refs(seats[6]), TTLSeconds: 1})
	n.late = n.place("late", store.PlaceRequest{Seats: refs(seats[7]), Areas: []store.AreaRef{{ID: floor, Quantity: 3}}, TTLSeconds: 1})
	n.ann = n.place("ann", store.PlaceRequest{
		Seats: refs(seats[0], seats[2]), Areas: []store.AreaRef{{ID: floor, Quantity: 2}, {ID: floor, TicketType: "child", Quantity: 1}},
	})
	n.gone = n.place("bob", store.PlaceRequest{Seats: refs(seats[3])})
	n.place("stan", store.PlaceRequest{ShowID: stock.ShowID, Areas: []store.AreaRef{{ID: stock.Areas[0].ID, Quantity: 4}}})
	_, _, err = n.s.ChangeReservation(t.Context(), customer("ann"), new(fixture.Key()), n.ann.ID, store.ChangeRequest{
		AddSeats: refs(seats[4]), RemoveSeats: refs(seats[2]), RemoveAreas: []store.AreaRef{{ID: floor, Quantity: 1}},
	})
	n.must(err)
	n.ann, _, err = n.s.ExtendReservation(t.Context(), customer("ann"), new(fixture.Key()), n.ann.ID)
	n.must(err)
	_, _, err = n.s.ReleaseReservation(t.Context(), customer("bob"), new(fixture.Key()), n.gone.ID)
	n.must(err)
	block, err := n.s.BlockSeats(t.Context(), fixture.Staff, new(fixture.Key()), org, n.show.ID, refs(seats[10], seats[11], seats[12]), "the press")
	n.must(err)
	n.box, _, err = n.s.PlaceReservation(t.Context(), fixture.Staff, new(fixture.Key()), store.PlaceRequest{
		ShowID: n.show.ID, CustomerID: "desk", Seats: refs(seats[10]), FromBlockID: block.BlockID,
	})
	n.must(err)
	_, err = n.s.UnblockSeats(t.Context(), fixture.Staff, new(fixture.Key()), org, n.show.ID, uuid.Nil, refs(seats[12]))
	n.must(err)
	for _, verb := range []boxoffice.ShowVerb{boxoffice.PauseShow, boxoffice.ResumeShow} {
		_, err = n.s.SetShowStatus(t.Context(), fixture.Staff, new(fixture.Key()), org, n.show.ID, boxoffice.SetShowStatus{Verb: verb})
		n.must(err)
	}
	// A move to a plan with more seats; the first plan's stay theirs.
	larger := fixture.Plan(t, n.s, n.show.HallID, fixture.Options{Seats: 24, Floor: 60})
	_, err = n.s.AmendShow(t.Context(), fixture.Staff, new(fixture.Key()), org, n.show.ID, store.ShowAmendment{PlanID: &larger})
	n.must(err)
	// The next buyer of a seat closes the overdue hold that had it.
	n.until(expired.ExpiresAt)
	n.until(n.late.ExpiresAt)
	n.place("eve", store.PlaceRequest{Seats: refs(seats[6])})
	n.pay()
	n.wait()
	n.queue()
	return n
}

// queue has two people wait for a show of its own; one of them holds when it is their turn.
func (n *night) queue() {
	n.t.Helper()
	rush, _, err := n.s.CreateShow(n.t.Context(), fixture.Staff, fixture.Key(), store.NewShow{
		Organisation: org, EventID: n.show.EventID, StartsAt: time.Now().Add(time.Hour * 48), Currency: "EUR", Publish: true,
		Areas: []store.NewArea{{Name: "Rush", Capacity: 7, Prices: []store.Price{{AmountMinor: 900}}}},
	})
	n.must(err)
	n.rush = rush.ShowID
	_, err = n.s.AmendShow(n.t.Context(), fixture.Staff, new(fixture.Key()), org, n.rush, store.ShowAmendment{Queue: &boxoffice.QueueChange{RatePerMinute: new(1_000_000)}})
	n.must(err)
	_, err = n.s.SetQueue(n.t.Context(), fixture.Staff, new(fixture.Key()), org, n.rush, boxoffice.SetQueue{Open: true})
	n.must(err)
	var quinn store.QueueView
	for _, who := range []string{"quinn", "quentin"} {
		quinn, _, err = n.s.JoinQueue(n.t.Context(), fixture.Key(), who, n.rush)
		n.must(err)
	}
	for quinn.Status == boxoffice.QueueWaiting {
		_, err = n.s.CallQueue(n.t.Context(), n.rush)
		n.must(err)
		quinn, err = n.s.QueueEntry(n.t.Context(), uuid.Nil, "", quinn.EntryID)
		n.must(err)
	}
	n.place("quentin", store.PlaceRequest{ShowID: n.rush, Areas: []store.AreaRef{{ID: rush.Areas[0].ID, Quantity: 1}},
		Pass: &boxoffice.Pass{ShowID: n.rush, Number: quinn.Number, Turn: 1, CustomerID: "quentin"}})
}

func (n *night) wait() {
	n.t.Helper()
	n.full = fixture.Show(n.t, n.s, fixture.Options{Seats: 2})
	join := func(who string, party int) *store.WaitlistView {
		v, _, err := n.s.JoinWaitlist(n.t.Context(), customer(who), new(fixture.Key()), store.JoinRequest{
			ShowID: n.full.ID, CustomerID: who, PartySize: party, Buyer: boxoffice.Buyer{Name: who, Email: who + "@example.org"},
		})
		n.must(err)
		return v
	}
	hold := n.place("first", store.PlaceRequest{ShowID: n.full.ID, Seats: refs(n.full.Seats...)})
	n.waits, n.bought, n.asked, n.leaver = join("wanda", 2), join("will", 1), join("wim", 1), join("walt", 1)
	_, _, err := n.s.LeaveWaitlist(n.t.Context(), customer("walt"), new(fixture.Key()), n.leaver.ID)
	n.must(err)
	for _, seat := range n.full.Seats[:1] {
		_, _, err = n.s.ChangeReservation(n.t.Context(), customer("first"), new(fixture.Key()), hold.ID, store.ChangeRequest{RemoveSeats: refs(seat)})
		n.must(err)
	}
	_, _, err = n.s.ReleaseReservation(n.t.Context(), customer("first"), new(fixture.Key()), hold.ID)
	n.must(err)
	offer, err := n.s.ReadWaitlistEntry(n.t.Context(), uuid.Nil, "", n.bought.ID)
	n.must(err)
	_, err = n.s.ConfirmReservation(n.t.Context(), fixture.Staff, new(fixture.Key()), offer.ReservationID, store.ConfirmRequest{Method: "comp"})
	n.must(err)
}

func (n *night) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *night) place(who string, req store.PlaceRequest) *store.ReservationView {
	n.t.Helper()
	req.CustomerID = who
	if req.ShowID == uuid.Nil {
		req.ShowID = n.show.ID
	}
	r, _, err := n.s.PlaceReservation(n.t.Context(), customer(who), new(fixture.Key()), req)
	n.must(err)
	return r
}

// until waits for an instant of the database's clock.
func (n *night) until(at time.Time) {
	n.t.Helper()
	_, err := n.all.Exec(n.t.Context(), `select pg_sleep(extract(epoch from $1::timestamptz - clock_timestamp()))`, at)
	n.must(err)
}

func customer(id string) boxoffice.Actor { return boxoffice.Actor{CustomerID: id, Name: id} }

func refs(seats ...boxoffice.Seat) (list []store.SeatRef) {
	for _, s := range seats {
		list = append(list, store.SeatRef{ID: s.ID})
	}
	return list
}

// found is what a query answered, with its cells as text.
type found []map[string]string

func (n *night) ask(name string, params map[string]string) found {
	n.t.Helper()
	columns, rows, err := ops.Run(n.t.Context(), n.ops, name, params)
	if err != nil {
		n.t.Fatalf("%s: %v", name, err)
	}
	list := make(found, len(rows))
	for i, row := range rows {
		list[i] = map[string]string{}
		for j, v := range row {
			switch v := v.(type) {
			case [16]byte:
				list[i][columns[j]] = uuid.UUID(v).String()
			case nil:
			default:
				list[i][columns[j]] = fmt.Sprint(v)
			}
		}
	}
	return list
}

// where returns the rows that have all these cells.
func (f found) where(cells map[string]string) (some found) {
	for _, row := range f {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(cells)), func(k string) bool { return row[k] != cells[k] }) {
			some = append(some, row)
		}
	}
	return some
}

// one returns the one row that has all these cells.
func one(t *testing.T, f found, cells map[string]string) map[string]string {
	t.Helper()
	some := f.where(cells)
	if len(some) != 1 {
		t.Fatalf("%d rows with %v, want 1, among %v", len(some), cells, f)
	}
	return some[0]
}

func TestQueries(t *testing.T) {
	t.Parallel()
	n := newNight(t)
	run := func(name string, do func(t *testing.T)) {
		t.Run(name, func(sub *testing.T) {
			n.t = sub
			defer func() { n.t = t }()
			do(sub)
		})
	}
	show := map[string]string{"show": n.show.ID.String()}
	run("holds_by_show names every place, its holder and the time that is left", func(t *testing.T) {
		f := n.ask("holds_by_show", show)
		if len(f) != 4 { // late, eve, ann, box
			t.Errorf("%d holds", len(f))
		}
		ann := one(t, f, map[string]string{"customer_id": "ann", "status": "held"})
		if ann["seats"] != "[Stalls-A-1 Stalls-A-5]" || ann["areas"] != "[1 Floor (child) 1 Floor (standard)]" || ann["seconds_left"] == "" {
			t.Errorf("%v", ann)
		}
		one(t, f, map[string]string{"customer_id": "late", "status": "overdue", "areas": "[3 Floor (standard)]"})
		one(t, f, map[string]string{"customer_id": "desk", "staff": "true"})
		one(t, n.ask("holds_by_show", nil), map[string]string{"customer_id": "stan"})
	})

	run("overdue_holds counts what is over and not closed", func(t *testing.T) {
		for _, params := range []map[string]string{nil, show} {
			one(t, n.ask("overdue_holds", params), map[string]string{"show_id": show["show"], "holds": "1", "places": "4"})
		}
		if f := n.ask("overdue_holds", map[string]string{"show": uuid.NewString()}); len(f) != 0 {
			t.Errorf("%v", f)
		}
	})

	run("seat_story tells a seat's life and what it is now", func(t *testing.T) {
		for _, seat := range []string{n.show.Seats[6].Label, n.show.Seats[6].ID.String()} {
			f := n.ask("seat_story", map[string]string{"show": show["show"], "seat": seat})
			var told []string
			for _, row := range f {
				told = append(told, row["what"]+" "+row["state"]+" "+row["customer_id"])
			}
			want := []string{"reservation.created held dora", "reservation.expired available dora", "reservation.created held eve", "now held eve"}
			if !slices.Equal(told, want) {
				t.Errorf("%s:\n%s", seat, strings.Join(told, "\n"))
			}
		}
		blocked := n.ask("seat_story", map[string]string{"show": show["show"], "seat": n.show.Seats[11].Label})
		one(t, blocked, map[string]string{"what": "place.blocked", "state": "blocked", "actor": fixture.Staff.Name})
		one(t, blocked, map[string]string{"what": "now", "state": "blocked"})
		one(t, n.ask("seat_story", map[string]string{"show": show["show"], "seat": n.show.Seats[7].Label}),
			map[string]string{"what": "now: the hold is over and not closed yet", "customer_id": "late"})
	})

	run("reservation_story tells a hold's life and what it is now", func(t *testing.T) {
		f := n.ask("reservation_story", map[string]string{"reservation": n.ann.ID.String()})
		var told []string
		for _, row := range f {
			told = append(told, row["what"])
		}
		if want := []string{"reservation.created", "reservation.changed", "reservation.extended", "now"}; !slices.Equal(told, want) {
			t.Errorf("%q", told)
		}
		one(t, f, map[string]string{"what": "reservation.changed", "seats": "[Stalls-A-3 Stalls-A-5]", "seat_states": "ah", "areas": "[-1 Floor]"})
		one(t, f, map[string]string{"what": "now", "status": "active", "seats": "[Stalls-A-1 Stalls-A-5]"})
		one(t, n.ask("reservation_story", map[string]string{"reservation": n.gone.ID.String()}),
			map[string]string{"what": "now", "status": "cancelled", "reason": "buyer"})
	})

	run("sales_by_show counts every place once", func(t *testing.T) {
		for _, params := range []map[string]string{nil, show} {
			// 24 seats and 60 places: ann 4, eve and the desk one each, one blocked; late's are free.
			row := one(t, n.ask("sales_by_show", params), map[string]string{"show_id": show["show"]})
			if row["capacity"] != "84" || row["held"] != "6" || row["blocked"] != "1" || row["free"] != "77" || row["holds"] != "3" {
				t.Errorf("%v", row)
			}
		}
		one(t, n.ask("sales_by_show", nil), map[string]string{"capacity": "10", "held": "4", "free": "6", "held_minor": "6000"})
	})

	run("waitlist_by_show tells who waits, who has an offer, and why not", func(t *testing.T) {
		f := n.ask("waitlist_by_show", map[string]string{"show": n.full.ID.String()})
		if len(f) != 4 {
			t.Errorf("%v", f)
		}
		one(t, f, map[string]string{"customer_id": "wanda", "status": "waiting", "party_size": "2", "found": "1", "remaining": "0"})
		one(t, f, map[string]string{"customer_id": "will", "status": "accepted"})
		one(t, f, map[string]string{"customer_id": "wim", "status": "offered"})
		one(t, f, map[string]string{"customer_id": "walt", "status": "left"})
		if f := n.ask("waitlist_by_show", nil); len(f) != 1 || f[0]["customer_id"] != "wanda" {
			t.Errorf("%v", f)
		}
	})

	n.testMoney(run)

	run("queue_by_show says how far waiting rooms have come", func(t *testing.T) {
		want := map[string]string{"show_id": n.rush.String(), "open": "true", "joined": "2", "head": "2", "waiting": "0", "unused": "1", "inside": "1", "per_minute": "1000000"}
		one(t, n.ask("queue_by_show", nil), want)
		one(t, n.ask("queue_by_show", map[string]string{"show": n.rush.String()}), want)
	})

	run("lane_locks shows who has a show and who waits for it", func(t *testing.T) {
		held, err := n.db.Pool(store.RoleLane).Begin(t.Context())
		n.must(err)
		defer held.Rollback(t.Context())
		_, err = held.Exec(t.Context(), `select pg_advisory_xact_lock(show_lock_key($1)), pg_try_advisory_xact_lock(1, 2)`, n.show.ID)
		n.must(err)
		done := make(chan error, 1)
		waiting := n.db.Pool(store.RoleApp)
		go func() {
			_, err := waiting.Exec(t.Context(), `select pg_advisory_xact_lock(show_lock_key($1))`, n.show.ID)
			done <- err
		}()
		var f found
		for len(f.where(map[string]string{"granted": "false"})) == 0 && t.Context().Err() == nil {
			f = n.ask("lane_locks", nil)
		}
		holder := one(t, f, map[string]string{"granted": "true", "show_id": show["show"], "role": store.RoleLane, "keys": "1", "title": "An Evening of Locks"})
		waiter := one(t, f, map[string]string{"granted": "false", "show_id": show["show"], "role": store.RoleApp})
		if waiter["behind"] != "["+holder["pid"]+"]" {
			t.Errorf("%v waits behind %s", holder["pid"], waiter["behind"])
		}
		n.must(held.Rollback(t.Context()))
		n.must(<-done)
	})

	run("oldest_snapshot names the transaction that holds vacuum back", func(t *testing.T) {
		old, err := n.db.Pool(store.RoleApp).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
		n.must(err)
		defer old.Rollback(t.Context())
		var pid string
		n.must(old.QueryRow(t.Context(), `select pg_backend_pid()::text from shows`).Scan(&pid))
		one(t, n.ask("oldest_snapshot", nil), map[string]string{"what": "transaction", "pid": pid, "role": store.RoleApp, "state": "idle in transaction"})
	})

	run("jobs counts by queue, kind and state", func(t *testing.T) {
		_, err := n.all.Exec(t.Context(), `
			insert into river_job (kind, args, queue, state, max_attempts, attempt, scheduled_at, attempted_at, finalized_at, errors)
			values ('reservations_expire', '{}', 'expiry', 'scheduled', 25, 0, now() - interval '1 minute', null, null, null),
			       ('reservations_expire', '{}', 'expiry', 'scheduled', 25, 0, now() + interval '1 minute', null, null, null),
			       ('reservations_sweep', '{}', 'default', 'discarded', 25, 25, now(), now(), now(), array['{"error": "first"}', '{"error": "last"}']::jsonb[])`)
		n.must(err)
		f := n.ask("jobs", nil)
		if row := one(t, f, map[string]string{"queue": "expiry", "state": "scheduled", "jobs": "2"}); row["late"] == "" {
			t.Errorf("%v", row)
		}
		one(t, f, map[string]string{"kind": "reservations_sweep", "state": "discarded", "attempts_most": "25", "last_error": "last"})
	})

	run("connections sees everybody", func(t *testing.T) {
		f := n.ask("connections", nil).where(map[string]string{"database": n.db.Name, "application": "rowlock lane"})
		if len(f) == 0 || f[0]["role"] != store.RoleLane || f[0]["connections_max"] == "" {
			t.Errorf("%v", f)
		}
	})

	run("bloat lists tables with their indexes", func(t *testing.T) {
		f := n.ask("bloat", nil)
		if len(f.where(map[string]string{"table": "show_seats"})) != 2 {
			t.Errorf("%v", f.where(map[string]string{"table": "show_seats"}))
		}
		one(t, f, map[string]string{"table": "show_seats", "index": "show_seats_pkey"})
	})

	run("slow names statements as the files do, or says why it cannot", func(t *testing.T) {
		f := n.ask("slow", nil)
		if len(f) == 1 && strings.Contains(f[0]["statement"], "not installed") {
			t.Skip("this server has no pg_stat_statements")
		}
		var named string
		for _, row := range f {
			if strings.HasPrefix(row["text"], "select h.show_id, h.version, h.changed_at, h.definition, h.waiting from unnest") && row["calls"] != "" {
				named = row["statement"]
			}
		}
		if named != "show_heads_load" {
			t.Errorf("%q", named)
		}
	})

	run("slow does without the extension", func(t *testing.T) {
		tx, err := n.all.Begin(t.Context())
		n.must(err)
		defer tx.Rollback(t.Context())
		_, err = tx.Exec(t.Context(), `drop extension if exists pg_stat_statements`)
		n.must(err)
		slow, _ := ops.Find("slow")
		var statement string
		n.must(tx.QueryRow(t.Context(), `select statement from (`+strings.TrimSuffix(strings.TrimSpace(slow.SQL), ";")+`) as slow`).Scan(&statement))
		if !strings.Contains(statement, "not installed") {
			t.Errorf("%q", statement)
		}
	})

	run("Every file runs in psql as it is", func(t *testing.T) {
		// psql sends a file's text as simple queries, after the settings.
		conn, err := n.ops.Acquire(t.Context())
		n.must(err)
		defer conn.Release()
		given := map[string]string{"show": show["show"], "seat": n.show.Seats[0].Label, "reservation": n.ann.ID.String(),
			"booking": n.gala.booking["kim"].BookingID.String()}
		for name, value := range given {
			_, err := conn.Conn().PgConn().Exec(t.Context(), `set rowlock.`+name+` = '`+value+`'`).ReadAll()
			n.must(err)
		}
		for _, q := range ops.Queries() {
			results, err := conn.Conn().PgConn().Exec(t.Context(), q.SQL).ReadAll()
			if err != nil {
				t.Errorf("%s: %v", q.Name, err)
				continue
			}
			if len(results) != 1 {
				t.Errorf("%s is %d statements", q.Name, len(results))
			}
		}
	})

	run("Nothing that is not asked about is taken", func(t *testing.T) {
		if _, _, err := ops.Run(t.Context(), n.ops, "jobs", show); err == nil || !strings.Contains(err.Error(), "takes no show") {
			t.Errorf("%v", err)
		}
		if _, _, err := ops.Run(t.Context(), n.ops, "who_is_rich", nil); err == nil || !strings.Contains(err.Error(), "no query") {
			t.Errorf("%v", err)
		}
	})
}

func TestFilesSayWhatTheyTake(t *testing.T) {
	t.Parallel()
	setting := regexp.MustCompile(`current_setting\('rowlock\.(\w+)'`)
	for _, q := range ops.Queries() {
		used := map[string]bool{}
		for _, m := range setting.FindAllStringSubmatch(q.SQL, -1) {
			used[m[1]] = true
		}
		want := slices.Sorted(slices.Values(q.Params))
		if got := slices.Sorted(maps.Keys(used)); !slices.Equal(got, want) {
			t.Errorf("%s says it takes %v and asks for %v", q.Name, want, got)
		}
		if !strings.HasSuffix(q.About, ".") || !strings.Contains(q.SQL, "-f sql/ops/"+q.Name+".sql") {
			t.Errorf("%s does not say what it shows, or how to run it", q.Name)
		}
	}
	if !slices.IsSortedFunc(ops.Queries(), func(a, b ops.Query) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the list is not by name")
	}
	for _, r := range ops.Rules() {
		if !strings.HasSuffix(r.About, ".") || strings.Contains(r.Name, " ") {
			t.Errorf("rule %q has no sentence: %q", r.Name, r.About)
		}
	}
}

// breaks says for each rule how to break it behind the back of every
// constraint and trigger, with $1 the show and $2 a reservation of it, ann's.
var breaks = map[string][]string{
	"a_held_seat_belongs_to_an_active_reservation_that_lists_it": {
		`update reservations set status = 'cancelled', closed_at = now() where show_id = $1 and reservation_id = $2`,
		`update show_seats set reservation_id = $2, state = 'h', held_until = (select expires_at from reservations where reservation_id = $2) where show_id = $1 and seat_no = 19`,
		`update show_seats set held_until = held_until + interval '1 second' where show_id = $1 and reservation_id = $2`,
	},
	"a_booked_seat_belongs_to_a_consumed_reservation_that_lists_it": {
		`update show_seats set state = 'b', held_until = null where show_id = $1 and reservation_id = $2`,
	},
	"an_active_reservation_owns_every_seat_it_lists": {
		`update show_seats set reservation_id = show_id where show_id = $1 and reservation_id = $2`,
		`update show_seats set state = 'a', reservation_id = null, held_until = null where show_id = $1 and reservation_id = $2`,
		`update reservations set seat_nos = seat_nos || 19, seat_types = seat_types || 'standard'::text, seat_prices = seat_prices || 0::bigint where show_id = $1 and reservation_id = $2`,
	},
	"no_seat_has_two_owners": {
		`insert into reservations select (r).* from (select jsonb_populate_record(x, '{"reservation_id": "0197a1f0-0000-7000-8000-000000000001"}') as r from reservations x where show_id = $1 and reservation_id = $2) y`,
	},
	"a_blocked_seat_is_one_of_its_block": {
		`delete from blocks where show_id = $1 and $2::uuid is not null`,
		`update blocks set seat_nos = '{}' where show_id = $1 and $2::uuid is not null`,
	},
	"the_held_units_of_an_area_are_those_of_its_active_reservations": {
		`update show_areas set held = held + 1 where show_id = $1 and $2::uuid is not null`,
		`delete from show_areas where show_id = $1 and $2::uuid is not null`,
		`update reservations set area_quantities = '{1,2}' where show_id = $1 and reservation_id = $2`,
	},
	"no_area_is_oversold": {
		`update show_areas set capacity = 1 where show_id = $1 and $2::uuid is not null`,
		`update show_areas set booked = -1 where show_id = $1 and $2::uuid is not null`,
		`update show_areas set held = -1 where show_id = $1 and $2::uuid is not null`,
	},
	"the_places_and_total_of_a_reservation_are_those_of_its_items": {
		`update reservations set places = places - 1 where show_id = $1 and reservation_id = $2`,
		`update reservations set seat_prices = array[0, 0] where show_id = $1 and reservation_id = $2`,
	},
	"no_price_is_negative_and_no_line_is_empty": {
		`update reservations set seat_prices = array[-1, 0] where show_id = $1 and reservation_id = $2`,
		`update reservations set area_prices = array[-1, 0] where show_id = $1 and reservation_id = $2`,
		`update reservations set area_quantities = '{0,1}' where show_id = $1 and reservation_id = $2`,
		`update reservations set area_requested = '{0,0}' where show_id = $1 and reservation_id = $2`,
	},
	"the_currency_of_a_reservation_is_that_of_its_show": {
		`update reservations set currency = 'JPY' where show_id = $1 and reservation_id = $2`,
	},
	"the_change_log_of_a_show_has_no_gap_and_ends_at_its_version": {
		`delete from changes where show_id = $1 and version = 3 and $2::uuid is not null`,
		`update changes set version = 99 where show_id = $1 and version = 3 and $2::uuid is not null`,
		`update show_heads set version = version + 1 where show_id = $1 and $2::uuid is not null`,
		`delete from show_heads where show_id = $1 and $2::uuid is not null`,
	},
	"the_rows_of_a_change_are_numbered_without_a_gap": {
		`update changes set n = n + 1 where show_id = $1 and version = 3 and $2::uuid is not null`,
	},
	"time_does_not_run_backwards_in_a_show": {
		`update changes set at = at - interval '1 hour' where show_id = $1 and version = 5 and $2::uuid is not null`,
		`update show_heads set changed_at = changed_at - interval '1 hour' where show_id = $1 and $2::uuid is not null`,
	},
	"a_show_and_its_head_have_the_same_definition": {
		`update show_heads set definition = definition + 1 where show_id = $1 and $2::uuid is not null`,
	},
	"the_last_logged_state_of_a_seat_is_its_state": {
		`update show_seats set state = 'a', reservation_id = null, held_until = null where show_id = $1 and reservation_id = $2`,
		`delete from show_seats where show_id = $1 and reservation_id = $2`,
		`update show_seats set state = 'x', block_id = $2 where show_id = $1 and seat_no = 19`,
	},
	"every_reservation_is_logged_from_its_making_to_its_end": {
		`delete from changes where show_id = $1 and reservation_id = $2`,
		`delete from changes where show_id = $1 and reservation_id = $2 and before_status is null`,
		`update changes set after_status = 'cancelled' where show_id = $1 and reservation_id = $2 and type = 'reservation.changed'`,
		`update reservations set status = 'cancelled', closed_at = now() where show_id = $1 and reservation_id = $2`,
		`update reservations set expires_at = expires_at + interval '1 second' where show_id = $1 and reservation_id = $2`,
		`delete from reservations where show_id = $1 and reservation_id = $2`,
	},
	"the_log_accounts_for_the_units_of_every_reservation": {
		`update changes set area_units = '{2}' where show_id = $1 and reservation_id = $2 and type = 'reservation.created'`,
		`update reservations set area_quantities = '{1,2}' where show_id = $1 and reservation_id = $2`,
	},
	"the_seats_of_a_show_are_those_of_its_plan": {
		`delete from show_seats where show_id = $1 and seat_no = 19 and $2::uuid is not null`,
		`insert into show_seats (show_id, seat_no, organisation_id) select $1, 99, organisation_id from shows where show_id = $1 and $2::uuid is not null`,
	},
	"the_areas_of_a_show_are_those_of_its_plan": {
		`delete from show_areas where show_id = $1 and $2::uuid is not null`,
		`update show_areas set area_no = 9 where show_id = $1 and $2::uuid is not null`,
	},
	"every_category_with_places_has_a_standard_price": {
		`delete from show_prices where show_id = $1 and category = 'Back' and $2::uuid is not null`,
		`delete from show_prices where show_id = $1 and category = 'Floor' and ticket_type = 'standard' and $2::uuid is not null`,
	},
	"a_plan_is_whole": {
		`delete from plan_seats where plan_id = (select plan_id from shows where show_id = $1) and position = 3 and $2::uuid is not null`,
		`update plan_seats set category_no = 77 where plan_id = (select plan_id from shows where show_id = $1) and position = 3 and $2::uuid is not null`,
		`delete from hall_areas where hall_id = (select hall_id from shows where show_id = $1) and $2::uuid is not null`,
	},
	"what_belongs_together_belongs_to_one_organisation": {
		`update show_seats set organisation_id = $2 where show_id = $1 and seat_no = 19`,
		`update reservations set organisation_id = $2 where show_id = $1 and reservation_id = $2`,
		`update plan_seats set organisation_id = $2 where plan_id = (select plan_id from shows where show_id = $1) and position = 3`,
		`update venues set organisation_id = $2 where venue_id = (select venue_id from shows where show_id = $1)`,
		`update events set organisation_id = $2 where event_id = (select event_id from shows where show_id = $1)`,
	},
	"the_numbers_of_a_waiting_room_are_those_of_its_rounds": {
		`update queue_heads set joined = joined + 1 where $1::uuid is not null and $2::uuid is not null`,
		`update queue_rounds set first = first + 1 where $1::uuid is not null and $2::uuid is not null`,
		`update queue_entries set number = number + 100 where $1::uuid is not null and $2::uuid is not null`,
		`delete from queue_rounds where $1::uuid is not null and $2::uuid is not null`,
	},
	"nobody_was_called_before_their_turn": {
		`update queue_heads set head = 0 where $1::uuid is not null and $2::uuid is not null`,
		`update queue_rounds set drawn_at = null where $1::uuid is not null and $2::uuid is not null`,
		`update queue_admissions set position = 100 where $1::uuid is not null and $2::uuid is not null`,
		`update queue_admissions set customer_id = 'somebody else' where $1::uuid is not null and $2::uuid is not null`,
		`delete from queue_entries where $1::uuid is not null and $2::uuid is not null`,
	},
	"a_turn_was_used_by_its_own_customer": {
		`update queue_admissions set reservation_id = $2 where $1::uuid is not null and number = 2`,
		`update queue_admissions set session_ends_at = admitted_at - interval '1 second' where $1::uuid is not null and $2::uuid is not null and number = 2`,
	},
	"an_offer_of_the_waitlist_is_a_hold_of_the_one_who_waited": {
		`update waitlist_entries set status = 'declined' where status = 'offered' and $1::uuid is not null and $2::uuid is not null`,
		`update waitlist_entries set status = 'offered' where status = 'accepted' and $1::uuid is not null and $2::uuid is not null`,
		`update waitlist_entries set customer_id = 'walt' where status = 'offered' and $1::uuid is not null and $2::uuid is not null`,
		`update reservations set waitlist_entry_id = null where waitlist_entry_id is not null and $1::uuid is not null and $2::uuid is not null`,
		`update reservations set waitlist_entry_id = show_id where show_id = $1 and reservation_id = $2`,
		`delete from waitlist_entries where status = 'accepted' and $1::uuid is not null and $2::uuid is not null`,
	},
	"a_show_knows_how_many_wait": {
		`update show_heads set waiting = waiting + 1 where show_id = $1 and $2::uuid is not null`,
		`update waitlist_entries set status = 'left' where status = 'waiting' and $1::uuid is not null and $2::uuid is not null`,
	},
	"a_customer_waits_once_in_a_show": {
		`update waitlist_entries set customer_id = 'wim' where status = 'waiting' and $1::uuid is not null and $2::uuid is not null`,
	},
	"who_waits_is_logged_as_they_came_and_went": {
		`delete from waitlist_entries where status = 'waiting' and $1::uuid is not null and $2::uuid is not null`,
		`update waitlist_entries set entry_no = entry_no + 100 where status = 'waiting' and $1::uuid is not null and $2::uuid is not null`,
		`update waitlist_entries set status = 'waiting' where status = 'left' and $1::uuid is not null and $2::uuid is not null`,
	},
	"what_is_personal_of_a_waitlist_belongs_to_an_entry_of_the_same_customer": {
		`update waitlist_buyers set customer_id = 'nobody' where $1::uuid is not null and $2::uuid is not null`,
		`delete from waitlist_entries where $1::uuid is not null and $2::uuid is not null`,
	},
	"a_remembered_answer_is_about_something_that_exists": {
		`delete from reservations where show_id = $1 and reservation_id = $2`,
	},
}

func TestInvariants(t *testing.T) {
	t.Parallel()
	n := newNight(t)
	broken, err := ops.Prove(t.Context(), n.ops)
	n.must(err)
	for _, b := range broken {
		t.Errorf("after honest sales: %s: %v %v", b.Name, b.Columns, b.Rows)
	}
	n.unguard()
	known := map[string]bool{}
	for _, rule := range ops.Rules() {
		known[rule.Name] = true
		if len(breaks[rule.Name])+len(breaksOfMoney[rule.Name]) == 0 {
			t.Errorf("nobody tries to break %s", rule.Name)
		}
		for _, harm := range breaks[rule.Name] {
			if rows := n.harmed(harm, rule.SQL, n.show.ID, n.ann.ID); rows == 0 {
				t.Errorf("%s does not see\n\t%s", rule.Name, harm)
			}
		}
		for _, harm := range breaksOfMoney[rule.Name] {
			if rows := n.harmed(harm, rule.SQL, n.gala.ID, n.gala.booking["kim"].BookingID); rows == 0 {
				t.Errorf("%s does not see\n\t%s", rule.Name, harm)
			}
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(breaks)), slices.Collect(maps.Keys(breaksOfMoney))) {
		if !known[name] {
			t.Errorf("there is no rule %s", name)
		}
	}
}

// unguard takes from the database what would keep harm off: from here on it is
// for looking only.
func (n *night) unguard() {
	n.t.Helper()
	_, err := n.all.Exec(n.t.Context(), `
		do $$
		declare
		  it record;
		begin
		  for it in select conrelid::regclass as name, conname
		              from pg_constraint c
		             where contype in ('c', 'u') and connamespace = 'public'::regnamespace and conrelid::regclass::text not like 'river%'
		  loop
		    execute format('alter table %s drop constraint %I', it.name, it.conname);
		  end loop;
		  for it in select i.indexrelid::regclass as name
		              from pg_index i join pg_class t on t.oid = i.indrelid
		             where t.relnamespace = 'public'::regnamespace and i.indisunique and not i.indisprimary and t.relname not like 'river%'
		  loop
		    execute format('drop index %s', it.name);
		  end loop;
		end $$`)
	n.must(err)
}

// harmed does harm, counts what a rule says to it, and takes it back.
func (n *night) harmed(harm, rule string, args ...any) (rows int) {
	n.t.Helper()
	ctx := n.t.Context()
	tx, err := n.all.Begin(ctx)
	n.must(err)
	defer tx.Rollback(ctx)
	_, err = tx.Exec(ctx, `set local session_replication_role = replica`) // no trigger keeps it off
	n.must(err)
	tag, err := tx.Exec(ctx, harm, args...)
	if err != nil || tag.RowsAffected() == 0 {
		n.t.Errorf("%s: %v, %v", harm, tag, err)
		return 1
	}
	found, err := tx.Query(ctx, rule)
	n.must(err)
	for found.Next() {
		rows++
	}
	n.must(found.Err())
	return rows
}
