package store_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/sql/ops"
)

// fast is a rate that lets everybody in at once, as far as tests go.
const fast = 1_000_000

// openRoom is a show whose waiting room is open; early: the sale is not.
func openRoom(t *testing.T, early bool, change boxoffice.QueueChange) shop {
	t.Helper()
	s := openShop(t, fixture.Options{Seats: 20, Floor: 100_000, Edit: func(n *store.NewShow) {
		if early {
			n.SalesStartAt = new(time.Now().Add(time.Hour))
		}
	}})
	if change.RatePerMinute == nil {
		change.RatePerMinute = new(fast)
	}
	s.amend(t, store.ShowAmendment{Queue: &change})
	s.setQueue(t, boxoffice.SetQueue{Open: true})
	return s
}

func (s shop) amend(t *testing.T, a store.ShowAmendment) {
	t.Helper()
	if _, err := s.AmendShow(t.Context(), fixture.Staff, new(fixture.Key()), boxoffice.DefaultOrganisationID, s.ID, a); err != nil {
		t.Fatal(err)
	}
}

func (s shop) setQueue(t *testing.T, set boxoffice.SetQueue) {
	t.Helper()
	if _, err := s.SetQueue(t.Context(), fixture.Staff, new(fixture.Key()), boxoffice.DefaultOrganisationID, s.ID, set); err != nil {
		t.Fatal(err)
	}
}

// openSale begins the sale.
func (s shop) openSale(t *testing.T) {
	t.Helper()
	s.amend(t, store.ShowAmendment{SalesStartAt: new(new(time.Now().Add(-time.Minute)))})
}

func (s shop) setStatus(t *testing.T, verb boxoffice.ShowVerb) {
	t.Helper()
	if _, err := s.SetShowStatus(t.Context(), fixture.Staff, new(fixture.Key()), boxoffice.DefaultOrganisationID, s.ID, boxoffice.SetShowStatus{Verb: verb}); err != nil {
		t.Fatal(err)
	}
}

// soldOut takes every place of the show away, or gives all of them back.
func (s shop) soldOut(t *testing.T, all bool) {
	t.Helper()
	seats, area := "update show_seats set state = 'a'", "update show_areas set capacity = 1000"
	if all {
		seats, area = "update show_seats set state = 'x', block_id = gen_random_uuid()", "update show_areas set capacity = 0"
	} else {
		seats += ", block_id = null"
	}
	for _, sql := range []string{seats, area} {
		if _, err := s.pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

// lapse ends all turns that were not used, as if their time were over.
func (s shop) lapse(t *testing.T) {
	t.Helper()
	_, err := s.pool.Exec(t.Context(), "update queue_admissions set admitted_at = admitted_at - interval '1 hour', lapses_at = clock_timestamp() where session_ends_at is null")
	if err != nil {
		t.Fatal(err)
	}
}

func (s shop) roomOpen(t *testing.T) bool {
	t.Helper()
	st, err := s.QueueState(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	return st.Terms.QueueOpen
}

func (s shop) join(t *testing.T, customer string) store.QueueView {
	t.Helper()
	v, _, err := s.JoinQueue(t.Context(), fixture.Key(), customer, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (s shop) entry(t *testing.T, id uuid.UUID) store.QueueView {
	t.Helper()
	v, err := s.QueueEntry(t.Context(), uuid.Nil, "", id)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// until calls people until the entry is what is wanted.
func (s shop) until(t *testing.T, id uuid.UUID, status boxoffice.QueueStatus) store.QueueView {
	t.Helper()
	for {
		if _, err := s.CallQueue(t.Context(), s.ID); err != nil {
			t.Fatal(err)
		}
		if v := s.entry(t, id); v.Status == status {
			return v
		}
		time.Sleep(time.Millisecond)
	}
}

// admitted is a customer whose turn it is.
func (s shop) admitted(t *testing.T, customer string) store.QueueView {
	t.Helper()
	return s.until(t, s.join(t, customer).EntryID, boxoffice.QueueAdmitted)
}

func passOf(v store.QueueView) *boxoffice.Pass {
	return &boxoffice.Pass{ShowID: v.ShowID, Number: v.Number, Turn: v.Turn, CustomerID: v.CustomerID}
}

// holdWith asks for a place of the floor.
func (s shop) holdWith(ctx context.Context, customer string, pass *boxoffice.Pass, ttl int) (*store.ReservationView, error) {
	key := fixture.Key()
	key.Owner = "customer|" + customer
	v, _, err := s.PlaceReservation(ctx, boxoffice.Actor{CustomerID: customer, Name: customer}, &key, store.PlaceRequest{
		ShowID: s.ID, CustomerID: customer, TTLSeconds: ttl, Pass: pass, Areas: []store.AreaRef{{ID: s.floor(), Quantity: 1}},
	})
	return v, err
}

func (s shop) floor() uuid.UUID { return s.Areas[0].ID }

// sound fails unless every invariant holds.
func (s shop) sound(t *testing.T) {
	t.Helper()
	broken, err := ops.Prove(t.Context(), s.pool)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range broken {
		t.Errorf("%s: %v", b.Name, b.Rows)
	}
}

// crowd has n customers join at once, and returns their entries by number.
func (s shop) crowd(t *testing.T, n int, stores ...*store.Store) []store.QueueView {
	t.Helper()
	if stores == nil {
		stores = []*store.Store{s.Store}
	}
	list := make([]store.QueueView, n)
	var group sync.WaitGroup
	var next atomic.Int64
	for range 200 {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				v, _, err := stores[i%int64(len(stores))].JoinQueue(t.Context(), fixture.Key(), fmt.Sprint("customer ", i), s.ID)
				if err != nil {
					t.Error(err)
					return
				}
				list[i] = v
			}
		})
	}
	group.Wait()
	slices.SortFunc(list, func(x, y store.QueueView) int { return int(x.Number - y.Number) })
	return list
}

func TestQueue(t *testing.T) {
	t.Parallel()

	t.Run("who joins before the sale is drawn when it opens, and the draw can be run again", func(t *testing.T) {
		t.Parallel()
		const n = 3000
		s := openRoom(t, true, boxoffice.QueueChange{})
		second := fixture.On(t, s.db)
		list := s.crowd(t, n, s.Store, second)
		for i, v := range list {
			if v.Number != int64(i+1) || v.Round != 1 || v.Position != 0 || v.Status != boxoffice.QueueWaiting || v.KeyHash != list[0].KeyHash {
				t.Fatalf("entry %d: %+v", i+1, v)
			}
		}
		if called, err := s.CallQueue(t.Context(), s.ID); called != 0 || err != nil {
			t.Fatal("called before the sale:", called, err)
		}
		rounds, err := s.QueueRounds(t.Context(), s.ID, 1, 10)
		if err != nil || len(rounds) != 1 || rounds[0].Drawn() || rounds[0].Entries != n {
			t.Fatal(rounds, err)
		}
		s.openSale(t)
		before := map[int64]int64{}
		for called := 0; called < n; {
			c, err := second.CallQueue(t.Context(), s.ID)
			if err != nil {
				t.Fatal(err)
			}
			called += c
			for _, v := range []store.QueueView{list[0], list[n/2], list[n-1]} {
				now := s.entry(t, v.EntryID)
				if last, known := before[v.Number]; known && now.Position > last {
					t.Errorf("number %d rose from %d to %d", v.Number, last, now.Position)
				}
				before[v.Number] = now.Position
			}
		}
		rounds, _ = s.QueueRounds(t.Context(), s.ID, 1, 1)
		r := &rounds[0]
		if !r.Drawn() || r.KeyHash() != list[0].KeyHash || r.PublicFrom != boxoffice.DrawnFromEntries {
			t.Fatalf("%+v", r)
		}
		digest := boxoffice.DigestStart(s.ID, 1)
		for _, v := range list {
			digest = boxoffice.DigestEntry(digest, v.EntryID)
		}
		if hex.EncodeToString(digest) != r.PublicValue {
			t.Error("the public value is not the digest of the entries")
		}
		called, err := s.QueueCalled(t.Context(), s.ID, 0, 2*n)
		if err != nil || len(called) != n {
			t.Fatal(len(called), err)
		}
		again := boxoffice.NewDraw(r.Key, r.PublicValue, n)
		for _, c := range called {
			if want := int64(again.At(uint64(c.Number-1))) + 1; c.Position != want {
				t.Fatalf("number %d was called as %d, not %d", c.Number, c.Position, want)
			}
		}
		if s.count(t, "select count(*) from (select admitted_at < lag(admitted_at) over (order by position) as back from queue_admissions) x where back") != 0 {
			t.Error("somebody was called before one in front of them")
		}
		s.sound(t)
	})

	t.Run("one entry a customer, whoever asks how often", func(t *testing.T) {
		t.Parallel()
		s := openRoom(t, true, boxoffice.QueueChange{})
		key := fixture.Key()
		first, replayed, err := s.JoinQueue(t.Context(), key, "ann", s.ID)
		if err != nil || replayed {
			t.Fatal(err, replayed)
		}
		again, replayed, err := s.JoinQueue(t.Context(), key, "ann", s.ID)
		if err != nil || !replayed || utc(fmt.Sprintf("%+v", again)) != utc(fmt.Sprintf("%+v", first)) {
			t.Errorf("%v %v\n%+v\n%+v", err, replayed, first, again)
		}
		if other := s.join(t, "ann"); other.EntryID != first.EntryID {
			t.Error("a second entry")
		}
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				if v, _, err := s.JoinQueue(t.Context(), fixture.Key(), "bob", s.ID); err != nil || v.Number != 2 {
					t.Error(v.Number, err)
				}
			})
		}
		group.Wait()
		key.Fingerprint[0]++
		if _, _, err := s.JoinQueue(t.Context(), key, "ann", s.ID); boxoffice.CodeOf(err) != boxoffice.CodeKeyReused {
			t.Error(err)
		}
		if n := s.count(t, "select count(*) from queue_entries"); n != 2 {
			t.Error(n)
		}
	})

	t.Run("nobody holds without a turn of their own", func(t *testing.T) {
		t.Parallel()
		s := openRoom(t, false, boxoffice.QueueChange{})
		other := s
		other.Made = fixture.Show(t, s.Store, fixture.Options{Seats: 4, Floor: 10})
		other.amend(t, store.ShowAmendment{Queue: &boxoffice.QueueChange{RatePerMinute: new(fast)}})
		other.setQueue(t, boxoffice.SetQueue{Open: true})
		refused := func(what string, code boxoffice.Code, err error) {
			t.Helper()
			if boxoffice.CodeOf(err) != code {
				t.Errorf("%s: %v, want %s", what, err, code)
			}
		}
		hold := func(customer string, pass *boxoffice.Pass) error {
			_, err := s.holdWith(t.Context(), customer, pass, 0)
			return err
		}
		refused("no token", boxoffice.CodeQueueTokenRequired, hold("ann", nil))
		refused("a forged token", boxoffice.CodeQueueTokenInvalid, hold("ann", &boxoffice.Pass{Forged: true}))
		ann := s.admitted(t, "ann")
		early := passOf(ann)
		early.Number, early.CustomerID = 4711, "ann"
		refused("a number that was not called", boxoffice.CodeQueueTokenInvalid, hold("ann", early))
		refused("another customer", boxoffice.CodeQueueTokenInvalid, hold("bob", passOf(ann)))
		_, err := other.holdWith(t.Context(), "ann", passOf(ann), 0)
		refused("another show", boxoffice.CodeQueueTokenInvalid, err)

		// A refused hold does not use the turn up.
		key := fixture.Key()
		_, _, err = s.PlaceReservation(t.Context(), boxoffice.Actor{CustomerID: "ann"}, &key, store.PlaceRequest{
			ShowID: s.ID, CustomerID: "ann", Pass: passOf(ann), Areas: []store.AreaRef{{ID: uuid.New(), Quantity: 1}},
		})
		refused("a place that there is not", boxoffice.CodeSeatNotFound, err)
		if v := s.entry(t, ann.EntryID); !v.SessionEndsAt.IsZero() {
			t.Error("a refused hold used the turn up")
		}
		first, err := s.holdWith(t.Context(), "ann", passOf(ann), 0)
		if err != nil {
			t.Fatal(err)
		}
		refused("a second live hold", boxoffice.CodeQueueTokenInvalid, hold("ann", passOf(ann)))
		if _, _, err := s.ReleaseReservation(t.Context(), boxoffice.Actor{CustomerID: "ann"}, new(fixture.Key()), first.ID); err != nil {
			t.Fatal(err)
		}
		second, err := s.holdWith(t.Context(), "ann", passOf(ann), 0)
		if err != nil {
			t.Fatal("not again after a release:", err)
		}
		if _, err := s.ConfirmReservation(t.Context(), fixture.Staff, new(fixture.Key()), second.ID, store.ConfirmRequest{Method: "cash", PaymentRef: "till 1"}); err != nil {
			t.Fatal(err)
		}
		refused("after the booking", boxoffice.CodeQueueTokenInvalid, hold("ann", passOf(ann)))
		if v := s.entry(t, ann.EntryID); v.Status != boxoffice.QueueExpired || !v.ReturnUntil.IsZero() {
			t.Errorf("after the booking: %+v", v)
		}
		if v := s.join(t, "ann"); v.Number <= ann.Number || v.Status != boxoffice.QueueWaiting {
			t.Errorf("who bought starts again at the end: %+v", v)
		}

		// Many at once with one token: one of them gets it.
		bob := s.admitted(t, "bob")
		var got atomic.Int32
		var group sync.WaitGroup
		for range 30 {
			group.Go(func() {
				switch err := hold("bob", passOf(bob)); boxoffice.CodeOf(err) {
				case "":
					got.Add(1)
				case boxoffice.CodeQueueTokenInvalid:
				default:
					t.Error(err)
				}
			})
		}
		group.Wait()
		if got.Load() != 1 {
			t.Errorf("%d holds with one turn", got.Load())
		}
		// Staff needs none.
		if _, _, err := s.PlaceReservation(t.Context(), fixture.Staff, new(fixture.Key()), store.PlaceRequest{
			ShowID: s.ID, CustomerID: "guest of the house", Areas: []store.AreaRef{{ID: s.floor(), Quantity: 1}},
		}); err != nil {
			t.Error(err)
		}
		s.setQueue(t, boxoffice.SetQueue{Ended: boxoffice.QueueByHand})
		if err := hold("carl", nil); err != nil {
			t.Error("closed, and yet:", err)
		}
		s.sound(t)
	})

	t.Run("a turn ends, by the database's clock, unless it is used; and a session after its time", func(t *testing.T) {
		t.Parallel()
		s := openRoom(t, false, boxoffice.QueueChange{AdmissionSeconds: new(2), SessionSeconds: new(6)})
		ann, bob := s.join(t, "ann"), s.join(t, "bob")
		ann = s.until(t, ann.EntryID, boxoffice.QueueAdmitted)
		if _, err := s.holdWith(t.Context(), "ann", passOf(ann), 1); err != nil {
			t.Fatal(err)
		}
		bob = s.until(t, bob.EntryID, boxoffice.QueueAdmitted)
		s.sleepUntil(t, bob.LapsesAt)
		if _, err := s.holdWith(t.Context(), "bob", passOf(bob), 0); boxoffice.CodeOf(err) != boxoffice.CodeQueueTokenExpired {
			t.Error("after it lapsed:", err)
		}
		// Ann's hold is over, her session is not.
		now := s.entry(t, ann.EntryID)
		if now.Status != boxoffice.QueueAdmitted || now.SessionEndsAt.Sub(ann.AdmittedAt) < 6*time.Second {
			t.Fatalf("%+v", now)
		}
		s.sleepUntil(t, now.SessionEndsAt)
		if _, err := s.holdWith(t.Context(), "ann", passOf(ann), 0); boxoffice.CodeOf(err) != boxoffice.CodeQueueTokenExpired {
			t.Error("after the session:", err)
		}
	})

	t.Run("who sleeps through their turn comes back once, to the front, and the turn is passed on", func(t *testing.T) {
		t.Parallel()
		s := openRoom(t, false, boxoffice.QueueChange{AdmissionSeconds: new(1)})
		ann := s.admitted(t, "ann")
		// From now on nobody is called by the rate.
		s.amend(t, store.ShowAmendment{Queue: &boxoffice.QueueChange{RatePerMinute: new(1)}})
		bob, carl := s.join(t, "bob"), s.join(t, "carl")
		s.sleepUntil(t, ann.LapsesAt)
		if v := s.entry(t, ann.EntryID); v.Status != boxoffice.QueueExpired || v.ReturnUntil.Sub(v.Now) < 5*time.Minute {
			t.Fatalf("%+v", v)
		}
		back := s.join(t, "ann")
		if back.EntryID != ann.EntryID || back.Status != boxoffice.QueueWaiting || back.Position != 1 {
			t.Fatalf("%+v", back)
		}
		back = s.until(t, ann.EntryID, boxoffice.QueueAdmitted) // by the turn that she gave back herself
		if back.Turn != 2 {
			t.Errorf("%+v", back)
		}
		if _, err := s.holdWith(t.Context(), "ann", passOf(ann), 0); boxoffice.CodeOf(err) != boxoffice.CodeQueueTokenExpired {
			t.Error("the first turn's token works in the second:", err)
		}
		s.sleepUntil(t, back.LapsesAt)
		if v := s.entry(t, ann.EntryID); v.Status != boxoffice.QueueExpired || !v.ReturnUntil.IsZero() {
			t.Errorf("a third time: %+v", v)
		}
		// Her turn is passed on to whoever is next.
		for s.entry(t, bob.EntryID).Status == boxoffice.QueueWaiting && s.entry(t, carl.EntryID).Status == boxoffice.QueueWaiting {
			if _, err := s.CallQueue(t.Context(), s.ID); err != nil {
				t.Fatal(err)
			}
		}
		s.sound(t)
	})

	t.Run("who leaves is not called, and a turn that was not used is passed on", func(t *testing.T) {
		t.Parallel()
		s := openRoom(t, false, boxoffice.QueueChange{})
		ann := s.admitted(t, "ann")
		s.amend(t, store.ShowAmendment{Queue: &boxoffice.QueueChange{RatePerMinute: new(1)}})
		bob, carl := s.join(t, "bob"), s.join(t, "carl")
		leave := func(v store.QueueView) {
			t.Helper()
			if _, err := s.LeaveQueue(t.Context(), fixture.Key(), uuid.Nil, v.CustomerID, v.EntryID); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.LeaveQueue(t.Context(), fixture.Key(), uuid.Nil, "carl", bob.EntryID); boxoffice.CodeOf(err) != boxoffice.CodeNotFound {
			t.Error("another's entry:", err)
		}
		leave(bob)
		leave(bob)
		leave(ann)
		if _, err := s.holdWith(t.Context(), "ann", passOf(ann), 0); boxoffice.CodeOf(err) != boxoffice.CodeQueueTokenInvalid {
			t.Error(err)
		}
		s.until(t, carl.EntryID, boxoffice.QueueAdmitted)
		if v := s.entry(t, bob.EntryID); v.Status != boxoffice.QueueLeft {
			t.Errorf("%+v", v)
		}
		if v := s.join(t, "bob"); v.Number != 4 {
			t.Errorf("%+v", v)
		}
		if n := s.count(t, "select count(*) from idempotency_keys k where not exists (select from organisations o where o.organisation_id = k.organisation_id)"); n != 0 {
			t.Errorf("%d keys are of no organisation", n)
		}
		s.sound(t)
	})

	t.Run("a turn that was passed on is not used as well", func(t *testing.T) {
		t.Parallel()
		s := openRoom(t, false, boxoffice.QueueChange{})
		ann := s.admitted(t, "ann")
		// As if it had lapsed between the lane's reading of the clock and of the turn.
		if _, err := s.pool.Exec(t.Context(), "update queue_admissions set passed_on = true"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.holdWith(t.Context(), "ann", passOf(ann), 0); boxoffice.CodeOf(err) != boxoffice.CodeQueueTokenExpired {
			t.Error(err)
		}
	})

	t.Run("a pause takes nobody's turn", func(t *testing.T) {
		t.Parallel()
		s := openRoom(t, false, boxoffice.QueueChange{})
		ann := s.admitted(t, "ann")
		s.setStatus(t, boxoffice.PauseShow)
		bob := s.join(t, "bob")
		s.lapse(t)
		if called, err := s.CallQueue(t.Context(), s.ID); called != 0 || err != nil {
			t.Error("called in a pause:", called, err)
		}
		if n := s.count(t, "select freed from queue_heads"); n != 0 {
			t.Error("a turn that ended in the pause was given to somebody else")
		}
		s.setStatus(t, boxoffice.ResumeShow)
		now := s.entry(t, ann.EntryID)
		if now.Status != boxoffice.QueueAdmitted || now.LapsesAt.Sub(now.Now) < time.Minute {
			t.Errorf("%+v", now)
		}
		if _, err := s.holdWith(t.Context(), "ann", passOf(ann), 0); err != nil {
			t.Error("with the token from before the pause:", err)
		}
		s.until(t, bob.EntryID, boxoffice.QueueAdmitted)
		s.sound(t)
	})

	t.Run("when it opens again turns of the last time are nobody's", func(t *testing.T) {
		t.Parallel()
		s := openRoom(t, false, boxoffice.QueueChange{})
		s.admitted(t, "ann")
		s.amend(t, store.ShowAmendment{Queue: &boxoffice.QueueChange{RatePerMinute: new(1)}})
		bob := s.join(t, "bob")
		s.setQueue(t, boxoffice.SetQueue{Ended: boxoffice.QueueByHand})
		s.lapse(t)
		s.setQueue(t, boxoffice.SetQueue{Open: true})
		if called, err := s.CallQueue(t.Context(), s.ID); called != 0 || err != nil {
			t.Error(called, err)
		}
		if n := s.count(t, "select freed from queue_heads"); n != 0 || s.entry(t, bob.EntryID).Status != boxoffice.QueueWaiting {
			t.Error("turns of the last time are passed on:", n)
		}
	})

	t.Run("settings change while it is open", func(t *testing.T) {
		t.Parallel()
		s := openRoom(t, false, boxoffice.QueueChange{SizeMax: new(1)})
		change := func(c boxoffice.QueueChange) { s.amend(t, store.ShowAmendment{Queue: &c}) }
		change(boxoffice.QueueChange{RatePerMinute: new(1)})
		ann := s.join(t, "ann")
		full := func() *boxoffice.Error {
			_, _, err := s.JoinQueue(t.Context(), fixture.Key(), "bob", s.ID)
			e, _ := err.(*boxoffice.Error)
			return e
		}
		if e := full(); e == nil || e.Facts.Reason != "full" || e.RetryAfter == 0 {
			t.Errorf("%+v", e)
		}
		change(boxoffice.QueueChange{SizeMax: new(2)})
		if e := full(); e != nil {
			t.Error(e)
		}
		change(boxoffice.QueueChange{RatePerMinute: new(fast), SizeMax: new(1)}) // nobody loses a place that they have
		ann = s.until(t, ann.EntryID, boxoffice.QueueAdmitted)
		change(boxoffice.QueueChange{AdmissionSeconds: new(500), SessionSeconds: new(1000), SizeMax: new(0)})
		carl := s.admitted(t, "carl")
		if carl.LapsesAt.Sub(carl.AdmittedAt) != 500*time.Second || ann.LapsesAt.Sub(ann.AdmittedAt) != 120*time.Second {
			t.Errorf("%+v %+v", carl, ann)
		}
		if _, err := s.holdWith(t.Context(), "carl", passOf(carl), 0); err != nil {
			t.Fatal(err)
		}
		if v := s.entry(t, carl.EntryID); v.SessionEndsAt.Sub(v.AdmittedAt) < 1000*time.Second {
			t.Errorf("%+v", v)
		}
		s.lapse(t)
		if v := s.entry(t, ann.EntryID); v.ReturnUntil.IsZero() {
			t.Errorf("%+v", v)
		}
		change(boxoffice.QueueChange{ReturnSeconds: new(0)})
		if v := s.entry(t, ann.EntryID); !v.ReturnUntil.IsZero() {
			t.Errorf("%+v", v)
		}
		s.sound(t)
	})

	t.Run("several instances call no more than the rate allows, and no fewer", func(t *testing.T) {
		t.Parallel()
		const perMinute, n = 6000, 150
		s := openRoom(t, true, boxoffice.QueueChange{RatePerMinute: new(perMinute)})
		s.crowd(t, n)
		s.openSale(t)
		stores := []*store.Store{s.Store, fixture.On(t, s.db), fixture.On(t, s.db)}
		var group sync.WaitGroup
		var called atomic.Int64
		for _, one := range stores {
			for range 2 {
				group.Go(func() {
					for called.Load() < n && t.Context().Err() == nil {
						c, err := one.CallQueue(t.Context(), s.ID)
						if err != nil {
							t.Error(err)
							return
						}
						called.Add(int64(c))
					}
				})
			}
		}
		group.Wait()
		var most, least float64
		// At each call: how many had been called since the first, against what the rate allows in that time.
		err := s.pool.QueryRow(t.Context(), `
			select max(c - 2 - elapsed * 100), min(case when c = $1 then c / (elapsed * 100) end)
			  from (select count(*) over (order by admitted_at) as c,
			               extract(epoch from admitted_at - min(admitted_at) over ())::float8 as elapsed
			          from queue_admissions) x where elapsed > 0`, n).Scan(&most, &least)
		if err != nil {
			t.Fatal(err)
		}
		if most > 2*100+2 { // what was caught up with at first, at most
			t.Errorf("at some moment %.0f too many had been called", most)
		}
		if least < 0.95 {
			t.Errorf("called %.2f of what the rate allows", least)
		}
		s.sound(t)
	})

	t.Run("lines that are cut lose nobody and double nobody", func(t *testing.T) {
		t.Parallel()
		const n = 600
		s := openRoom(t, true, boxoffice.QueueChange{})
		stores := []*store.Store{s.Store, fixture.On(t, s.db)}
		// cutting ends sessions of both instances, in the middle of whatever they do, while do runs.
		cutting := func(do func()) {
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				// Ever less often, so that a slow machine gets through as well.
				for pause := 10 * time.Millisecond; ; pause += pause / 20 {
					select {
					case <-ctx.Done():
						return
					case <-time.After(pause):
						_, _ = s.pool.Exec(ctx, `select pg_terminate_backend(pid) from pg_stat_activity
							where datname = current_database() and application_name = 'rowlock requests' order by random() limit 1`)
					}
				}
			}()
			do()
			stop()
			<-ended
		}
		again := func(err error) bool {
			switch code := boxoffice.CodeOf(err); code {
			case "":
				return false
			case boxoffice.CodeUnavailable, boxoffice.CodeLockTimeout, boxoffice.CodeKeyInUse:
				return t.Context().Err() == nil
			default:
				t.Error(err)
				return false
			}
		}
		cutting(func() {
			var group sync.WaitGroup
			var next atomic.Int64
			for range 20 {
				group.Go(func() {
					for i := next.Add(1) - 1; i < n; i = next.Add(1) - 1 {
						key := fixture.Key()
						for store := i; ; store++ {
							if _, _, err := stores[store%2].JoinQueue(t.Context(), key, fmt.Sprint("customer ", i), s.ID); !again(err) {
								break
							}
						}
					}
				})
			}
			group.Wait()
		})
		s.openSale(t)
		cutting(func() {
			for i := 0; s.count(t, "select count(*) from queue_admissions") < n && !t.Failed(); i++ {
				_, err := stores[i%2].CallQueue(t.Context(), s.ID)
				again(err)
			}
		})
		if joined, entries := s.count(t, "select joined from queue_heads"), s.count(t, "select count(distinct customer_id) from queue_entries where closed_at is null"); joined != n || entries != n {
			t.Errorf("%d numbers, %d customers", joined, entries)
		}
		if calls := s.count(t, "select count(distinct position) from queue_admissions where position between 1 and 600"); calls != n {
			t.Errorf("%d were called", calls)
		}
		s.sound(t)
	})

	t.Run("an instance that starts anew goes on where the others were", func(t *testing.T) {
		t.Parallel()
		s := openRoom(t, true, boxoffice.QueueChange{})
		list := s.crowd(t, 50)
		s.openSale(t)
		ann := s.until(t, list[0].EntryID, boxoffice.QueueAdmitted)
		head := s.count(t, "select head from queue_heads")
		fresh := s
		fresh.Store = fixture.On(t, s.db)
		if v := fresh.entry(t, ann.EntryID); v.Status != boxoffice.QueueAdmitted {
			t.Errorf("%+v", v)
		}
		if _, err := fresh.holdWith(t.Context(), ann.CustomerID, passOf(ann), 0); err != nil {
			t.Error(err)
		}
		fresh.until(t, list[49].EntryID, boxoffice.QueueAdmitted)
		if now := s.count(t, "select head from queue_heads"); now < head {
			t.Error(head, now)
		}
	})

	t.Run("a show that is sold out closes its waiting room, one whose places are held waits", func(t *testing.T) {
		t.Parallel()
		s := openRoom(t, false, boxoffice.QueueChange{})
		ann := s.admitted(t, "ann")
		for _, a := range []struct {
			sql  string
			open bool
		}{
			{"update show_areas set capacity = held + booked", true},
			{"update show_areas set held = 0, booked = 0, capacity = 0", false},
		} {
			if a.open {
				// All seats are held.
				var seats []store.SeatRef
				for _, seat := range s.Seats {
					seats = append(seats, store.SeatRef{ID: seat.ID})
				}
				if _, _, err := s.PlaceReservation(t.Context(), fixture.Staff, new(fixture.Key()), store.PlaceRequest{ShowID: s.ID, CustomerID: "house", Seats: seats}); err != nil {
					t.Fatal(err)
				}
			} else if _, err := s.pool.Exec(t.Context(), "update show_seats set state = 'b', held_until = null where show_id = $1", s.ID); err != nil {
				t.Fatal(err)
			}
			if _, err := s.pool.Exec(t.Context(), a.sql); err != nil {
				t.Fatal(err)
			}
			fresh := fixture.On(t, s.db) // which has not looked lately
			if _, err := fresh.CallQueue(t.Context(), s.ID); err != nil {
				t.Fatal(err)
			}
			st, err := s.QueueState(t.Context(), s.ID)
			if err != nil || st.Terms.QueueOpen != a.open {
				t.Fatal(err, st.Terms.QueueOpen, a.open)
			}
		}
		if v := s.entry(t, ann.EntryID); v.Open || v.State != boxoffice.QueueSoldOut {
			t.Errorf("%+v", v)
		}
		if _, _, err := s.JoinQueue(t.Context(), fixture.Key(), "late", s.ID); boxoffice.CodeOf(err) != boxoffice.CodeConflict || !strings.Contains(err.Error(), "sold out") {
			t.Error(err)
		}
	})

	t.Run("places that come just before the sale keep it open", func(t *testing.T) {
		t.Parallel()
		s := openRoom(t, true, boxoffice.QueueChange{})
		s.soldOut(t, true)
		if _, err := s.CallQueue(t.Context(), s.ID); err != nil { // it has looked now
			t.Fatal(err)
		}
		s.soldOut(t, false)
		s.openSale(t)
		if _, err := s.CallQueue(t.Context(), s.ID); err != nil || !s.roomOpen(t) {
			t.Error("it was closed as sold out, and is not:", err)
		}
	})

	t.Run("a crowd does not open it again when all is sold", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, fixture.Options{Seats: 1, Floor: 1})
		s.amend(t, store.ShowAmendment{Queue: &boxoffice.QueueChange{Mode: new(boxoffice.QueueAutomatic), Threshold: new(5)}})
		s.soldOut(t, true)
		crowd := func() bool {
			for i := range 20 {
				_, _ = s.holdWith(t.Context(), fmt.Sprint("customer ", i), nil, 0) // an arrival, whatever becomes of it
			}
			s.ReportArrivals(t.Context())
			return s.roomOpen(t)
		}
		if crowd() {
			t.Error("it opened")
		}
		s.soldOut(t, false)
		if !crowd() {
			t.Error("there are places again, and it did not open")
		}
	})

	t.Run("a show that is over needs none", func(t *testing.T) {
		t.Parallel()
		for _, over := range []func(s shop){
			func(s shop) { s.setStatus(t, boxoffice.CancelShow) },
			func(s shop) {
				s.amend(t, store.ShowAmendment{StartsAt: new(time.Now().Add(-3 * time.Hour)), EndsAt: new(new(time.Now().Add(-time.Hour)))})
			},
		} {
			s := openRoom(t, false, boxoffice.QueueChange{})
			ann := s.join(t, "ann")
			over(s)
			if _, err := s.CallQueue(t.Context(), s.ID); err != nil || s.roomOpen(t) {
				t.Error("it is looked after for ever:", err)
			}
			if v := s.entry(t, ann.EntryID); v.State != "cancelled" && v.State != "ended" {
				t.Errorf("%+v", v)
			}
		}
	})

	t.Run("an automatic one does not take the quiet before the sale for calm", func(t *testing.T) {
		t.Parallel()
		s := openRoom(t, true, boxoffice.QueueChange{Mode: new(boxoffice.QueueAutomatic)})
		calm := func() {
			t.Helper()
			if _, err := s.pool.Exec(t.Context(), "update queue_heads set calm_since = now() - interval '10 minutes'"); err != nil {
				t.Fatal(err)
			}
			if _, err := s.CallQueue(t.Context(), s.ID); err != nil {
				t.Fatal(err)
			}
		}
		calm()
		s.openSale(t)
		if _, err := s.CallQueue(t.Context(), s.ID); err != nil || !s.roomOpen(t) {
			t.Error("it closed as the sale began:", err)
		}
		if calm(); s.roomOpen(t) {
			t.Error("it stays open though nobody has come for ten minutes")
		}
	})

	t.Run("what arrives is added up over all instances", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, fixture.Options{Floor: 1000})
		s.amend(t, store.ShowAmendment{Queue: &boxoffice.QueueChange{Mode: new(boxoffice.QueueAutomatic), Threshold: new(20)}})
		other := s
		other.Store = fixture.On(t, s.db)
		arrive := func(s shop, n int) bool {
			t.Helper()
			for i := range n {
				if _, err := s.holdWith(t.Context(), fmt.Sprint("customer ", i), nil, 0); err != nil {
					t.Fatal(err)
				}
			}
			// What came before counts for ten seconds, and a slow test is no crowd.
			if _, err := s.pool.Exec(t.Context(), "update queue_heads set arrivals_since = clock_timestamp()"); err != nil {
				t.Fatal(err)
			}
			s.ReportArrivals(t.Context())
			return s.roomOpen(t)
		}
		if arrive(s, 12) || arrive(other, 8) {
			t.Error("twenty are not more than twenty")
		}
		if !arrive(other, 1) {
			t.Error("twenty-one came to two instances, and it did not open")
		}
	})

	t.Run("it opens by itself when more arrive than its threshold, or have joined before the sale", func(t *testing.T) {
		t.Parallel()
		for _, early := range []bool{false, true} {
			s := openShop(t, fixture.Options{Floor: 1000, Edit: func(n *store.NewShow) {
				if early {
					n.SalesStartAt = new(time.Now().Add(time.Hour))
				}
			}})
			s.amend(t, store.ShowAmendment{Queue: &boxoffice.QueueChange{Mode: new(boxoffice.QueueAutomatic), Threshold: new(20)}})
			if _, _, err := s.JoinQueue(t.Context(), fixture.Key(), "ann", s.ID); (err == nil) != early {
				t.Fatal(early, err)
			}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- s.RunQueues(ctx, func(int) {}) }()
			for i := 0; ; i++ {
				customer := fmt.Sprint("customer ", i)
				var err error
				if early {
					_, _, err = s.JoinQueue(t.Context(), fixture.Key(), customer, s.ID)
				} else {
					_, err = s.holdWith(t.Context(), customer, nil, 0)
				}
				if boxoffice.CodeOf(err) == boxoffice.CodeQueueTokenRequired {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if st, err := s.QueueState(t.Context(), s.ID); err != nil || st.Terms.QueueOpen {
					if i < 19 {
						t.Error("it opened for", i)
					}
					break
				}
				if i > 900 {
					time.Sleep(10 * time.Millisecond)
					i--
				}
			}
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})

	t.Run("a draw with a beacon waits for what it says", func(t *testing.T) {
		t.Parallel()
		s := openRoom(t, true, boxoffice.QueueChange{Beacon: new("drand quicknet round 4242")})
		list := s.crowd(t, 30)
		draw := func(value string) error {
			_, err := s.DrawQueue(t.Context(), fixture.Key(), boxoffice.DefaultOrganisationID, s.ID, value)
			return err
		}
		if err := draw("too early"); boxoffice.CodeOf(err) != boxoffice.CodeConflict {
			t.Error(err)
		}
		s.openSale(t)
		if called, err := s.CallQueue(t.Context(), s.ID); called != 0 || err != nil {
			t.Error("called before the draw:", called, err)
		}
		if err := draw("7f3a"); err != nil {
			t.Fatal(err)
		}
		if err := draw("7f3b"); boxoffice.CodeOf(err) != boxoffice.CodeConflict {
			t.Error("drawn twice:", err)
		}
		r, err := s.QueueRound(t.Context(), s.ID)
		if err != nil || r.PublicValue != "7f3a" || r.PublicFrom != boxoffice.DrawnFromBeacon {
			t.Fatal(r, err)
		}
		s.until(t, list[29].EntryID, boxoffice.QueueAdmitted)
		s.sound(t)
	})

	t.Run("it has room for as many as it may", func(t *testing.T) {
		t.Parallel()
		s := openRoom(t, true, boxoffice.QueueChange{SizeMax: new(2)})
		s.crowd(t, 2)
		if _, _, err := s.JoinQueue(t.Context(), fixture.Key(), "late", s.ID); boxoffice.CodeOf(err) != boxoffice.CodeConflict {
			t.Error(err)
		}
	})

	t.Run("a show without one cannot be waited for", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, fixture.Options{})
		if _, _, err := s.JoinQueue(t.Context(), fixture.Key(), "ann", s.ID); boxoffice.CodeOf(err) != boxoffice.CodeConflict {
			t.Error(err)
		}
		if _, _, err := s.JoinQueue(t.Context(), fixture.Key(), "ann", uuid.New()); boxoffice.CodeOf(err) != boxoffice.CodeNotFound {
			t.Error(err)
		}
		if n := s.count(t, "select count(*) from queue_heads"); n != 0 {
			t.Error("strangers make rows:", n)
		}
	})

	t.Run("what everybody's position is computed from never goes back, at a psql prompt either", func(t *testing.T) {
		t.Parallel()
		s := openRoom(t, true, boxoffice.QueueChange{})
		s.crowd(t, 10)
		s.openSale(t)
		s.until(t, s.join(t, "last").EntryID, boxoffice.QueueAdmitted)
		for constraint, list := range map[string][]string{
			"queue_heads_never_fall": {"head = head - 1", "since = since - interval '1 second'", "joined = joined - 1", "drawn = drawn - 1, head = 0"},
		} {
			for _, set := range list {
				_, err := s.pool.Exec(t.Context(), "update queue_heads set "+set)
				var pg *pgconn.PgError
				if !errors.As(err, &pg) || pg.ConstraintName != constraint {
					t.Errorf("%s: %v", set, err)
				}
			}
		}
		for _, set := range []string{"public_value = 'x'", "key = sha256('x')", "drawn_at = drawn_at + interval '1 second'"} {
			_, err := s.pool.Exec(t.Context(), "update queue_rounds set "+set)
			var pg *pgconn.PgError
			if !errors.As(err, &pg) || pg.ConstraintName != "queue_rounds_stay_drawn" {
				t.Errorf("%s: %v", set, err)
			}
		}
	})
}

// sleepUntil waits for an instant of the database's clock.
func (s shop) sleepUntil(t *testing.T, at time.Time) {
	t.Helper()
	if _, err := s.pool.Exec(t.Context(), "select pg_sleep(extract(epoch from $1::timestamptz - clock_timestamp()) + 0.001)", at); err != nil {
		t.Fatal(err)
	}
}

func TestQueueIsPurged(t *testing.T) {
	t.Parallel()
	s := openRoom(t, true, boxoffice.QueueChange{})
	s.crowd(t, 5)
	if n, err := s.PurgeQueueEntries(t.Context(), 10); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := s.pool.Exec(t.Context(), "update shows set sales_start_at = null, starts_at = now() - interval '31 days', ends_at = null"); err != nil {
		t.Fatal(err)
	}
	if n, err := s.PurgeQueueEntries(t.Context(), 10); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	s.sound(t)
}
