package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/store"
	"github.com/rowlock/rowlock/sql/queries"
)

func waiter(name string) boxoffice.Actor { return boxoffice.Actor{CustomerID: name, Name: name} }

func join(t *testing.T, s *store.Store, show uuid.UUID, who string, party int, categories ...string) *store.WaitlistView {
	t.Helper()
	v, _, err := s.JoinWaitlist(t.Context(), waiter(who), new(fixture.Key()), store.JoinRequest{
		ShowID: show, CustomerID: who, PartySize: party, Categories: categories,
		Buyer: boxoffice.Buyer{Name: who, Email: who + "@example.org", Locale: "en"},
	})
	if err != nil {
		t.Fatal(who, err)
	}
	return v
}

func entry(t *testing.T, s *store.Store, id uuid.UUID) *store.WaitlistView {
	t.Helper()
	v, err := s.ReadWaitlistEntry(t.Context(), uuid.Nil, "", id)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// offersOf makes a show whose offers last so many seconds.
func offersOf(seconds, seats, floor int) fixture.Options {
	return fixture.Options{Seats: seats, Floor: floor, Edit: func(n *store.NewShow) {
		n.OfferSeconds, n.MaxPlacesPerReservation = seconds, 20
	}}
}

func TestAWaitlistIsServedInOrder(t *testing.T) {
	t.Parallel()
	r := newRush(t, 1)
	s := r.stores[0]
	show := fixture.Show(t, s, offersOf(600, 4, 0))
	staff := boxoffice.Actor{Staff: true, Name: "key:test"}
	hold := func(who string, seats ...int) *store.ReservationView {
		req := store.PlaceRequest{ShowID: show.ID, CustomerID: who}
		for _, i := range seats {
			req.Seats = append(req.Seats, store.SeatRef{ID: show.Seats[i].ID})
		}
		v, _, err := s.PlaceReservation(t.Context(), waiter(who), new(fixture.Key()), req)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	ann, bob := hold("ann", 0, 1), hold("bob", 2, 3)
	three, two, one := join(t, s, show.ID, "three", 3), join(t, s, show.ID, "two", 2), join(t, s, show.ID, "one", 1)
	if three.Position != 1 || two.Position != 2 || one.Position != 3 || one.Status != boxoffice.WaitlistWaiting || one.Why != boxoffice.WaitSoldOut {
		t.Fatalf("joined as %+v, %+v, %+v", three, two, one)
	}
	key := fixture.Key()
	again := store.JoinRequest{ShowID: show.ID, CustomerID: "late", PartySize: 1, Buyer: boxoffice.Buyer{Name: "Late", Email: "late@example.org"}}
	late, _, err := s.JoinWaitlist(t.Context(), waiter("late"), &key, again)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.ReleaseReservation(t.Context(), waiter("ann"), new(fixture.Key()), ann.ID); err != nil {
		t.Fatal(err)
	}
	// In the order in which they came: three cannot be served, two can.
	if v := entry(t, s, three.ID); v.Status != boxoffice.WaitlistWaiting || v.Why != boxoffice.WaitTooFew || v.Free != 2 || v.Position != 1 {
		t.Errorf("three is %s %s, %d free, at %d", v.Status, v.Why, v.Free, v.Position)
	}
	v := entry(t, s, two.ID)
	if v.Status != boxoffice.WaitlistOffered || v.Position != 0 || v.OfferEnds.Sub(v.OfferedAt) != 600*time.Second {
		t.Fatalf("two is %+v", v)
	}
	offer, err := s.ReadReservation(t.Context(), uuid.Nil, "two", v.ReservationID)
	if err != nil || offer.EntryID != two.ID || offer.Places != 2 || offer.Status != boxoffice.ReservationActive || offer.TotalMinor != 2*fixture.FrontPrice {
		t.Fatalf("the offer is %+v, %v", offer, err)
	}
	if v := entry(t, s, one.ID); v.Why != boxoffice.WaitOthersFirst || v.Position != 2 {
		t.Errorf("one is %s at %d", v.Why, v.Position)
	}
	// What was answered to a key is answered again, whatever became of the entry.
	if _, _, err := s.ReleaseReservation(t.Context(), waiter("bob"), new(fixture.Key()), bob.ID); err != nil {
		t.Fatal(err)
	}
	if v := entry(t, s, late.ID); v.Status != boxoffice.WaitlistOffered {
		t.Fatalf("late is %s: seats for one and late were free", v.Status)
	}
	replay, replayed, err := s.JoinWaitlist(t.Context(), waiter("late"), &key, again)
	if err != nil || !replayed || replay.Status != late.Status || replay.Position != late.Position || replay.Why != late.Why || !replay.Now.Equal(late.Now) || replay.ShowVersion != late.ShowVersion {
		t.Errorf("the replay is %+v (%v)\nthe first was %+v", replay, err, late)
	}
	if _, err := s.ReadWaitlistEntry(t.Context(), uuid.Nil, "somebody else", late.ID); boxoffice.CodeOf(err) != boxoffice.CodeNotFound {
		t.Error("somebody else's entry:", err)
	}
	// Bought by people at the box office: spent.
	if _, err := s.ConfirmReservation(t.Context(), staff, new(fixture.Key()), offer.ID, store.ConfirmRequest{Method: "comp"}); err != nil {
		t.Fatal(err)
	}
	if v := entry(t, s, two.ID); v.Status != boxoffice.WaitlistAccepted {
		t.Errorf("two is %s", v.Status)
	}
	list, waiting, err := s.ListWaitlist(t.Context(), store.WaitlistFilter{OrganisationID: boxoffice.DefaultOrganisationID, ShowID: show.ID, Limit: 10})
	if err != nil || waiting != 1 || len(list) != 4 || list[0].ID != three.ID || list[0].Position != 1 || list[0].Buyer.Email != "three@example.org" {
		t.Errorf("%d wait: %+v, %v", waiting, list, err)
	}
	if list, _, err = s.ListWaitlist(t.Context(), store.WaitlistFilter{
		OrganisationID: boxoffice.DefaultOrganisationID, ShowID: show.ID, Limit: 10, Status: boxoffice.WaitlistOffered,
	}); err != nil || len(list) != 2 {
		t.Errorf("offered: %+v, %v", list, err)
	}
	if _, _, err := s.ListWaitlist(t.Context(), store.WaitlistFilter{OrganisationID: uuid.New(), ShowID: show.ID, Limit: 10}); boxoffice.CodeOf(err) != boxoffice.CodeNotFound {
		t.Error("another organisation's waitlist:", err)
	}
	if rows, _, err := s.ForgetPeople(t.Context(), fixture.Key(), boxoffice.DefaultOrganisationID, "three"); err != nil || rows != 1 {
		t.Error("forgot", rows, err)
	}
	if v := entry(t, s, three.ID); v.Buyer != nil || v.Status != boxoffice.WaitlistWaiting {
		t.Errorf("forgotten: %+v", v)
	}
	r.proven(t)
}

// An offer that nobody comes for passes on at its very end, by the database
// clock and with no worker running, past every buyer who wants the place.
func TestAnOfferPassesOnPastTheBuyers(t *testing.T) {
	t.Parallel()
	r := newRush(t, 2)
	show := fixture.Show(t, r.stores[0], offersOf(1, 1, 0))
	want := store.PlaceRequest{ShowID: show.ID, CustomerID: "ann", TTLSeconds: 1, Seats: []store.SeatRef{{ID: show.Seats[0].ID}}}
	if _, _, err := r.stores[0].PlaceReservation(t.Context(), waiter("ann"), new(fixture.Key()), want); err != nil {
		t.Fatal(err)
	}
	first, second := join(t, r.stores[0], show.ID, "first", 1), join(t, r.stores[1], show.ID, "second", 1)
	// Somebody asks all the time, through both instances.
	until := time.Now().Add(2500 * time.Millisecond)
	var group sync.WaitGroup
	for i, s := range r.stores {
		group.Go(func() {
			req := want
			req.CustomerID = fmt.Sprint("buyer-", i)
			for time.Now().Before(until) {
				if entry(t, r.stores[0], second.ID).Status != boxoffice.WaitlistWaiting {
					return
				}
				_, _, err := s.PlaceReservation(t.Context(), waiter(req.CustomerID), new(fixture.Key()), req)
				if boxoffice.CodeOf(err) != boxoffice.CodeSeatAlreadyReserved {
					t.Errorf("a buyer who had not waited: %v", err)
					return
				}
			}
			t.Error("the place did not reach the second who waited")
		})
	}
	group.Wait()
	if v := entry(t, r.stores[0], first.ID); v.Status != boxoffice.WaitlistLapsed {
		t.Errorf("the first is %s", v.Status)
	}
	r.proven(t)
}

// Many places are let go at the same moment, through several instances, while
// buyers want them, too: each is offered once, never more than there are, the
// earliest first, and buyers get what is left over.
func TestNeverMoreOffersThanPlaces(t *testing.T) {
	t.Parallel()
	const seats, floor, parties = 12, 6, 9
	r := newRush(t, 3)
	show := fixture.Show(t, r.stores[0], offersOf(600, seats, floor))
	var holds []*store.ReservationView
	for i := range seats {
		req := store.PlaceRequest{ShowID: show.ID, CustomerID: fmt.Sprint("owner-", i), Seats: []store.SeatRef{{ID: show.Seats[i].ID}}}
		if i < floor {
			req.Areas = []store.AreaRef{{ID: show.Areas[0].ID, Quantity: 1}}
		}
		v, _, err := r.stores[0].PlaceReservation(t.Context(), waiter(req.CustomerID), new(fixture.Key()), req)
		if err != nil {
			t.Fatal(err)
		}
		holds = append(holds, v)
	}
	var entries []*store.WaitlistView
	for i := range parties {
		entries = append(entries, join(t, r.stores[i%3], show.ID, fmt.Sprint("party-", i), 1+i%3))
	}
	var group sync.WaitGroup
	gate := make(chan struct{})
	for i, h := range holds {
		group.Go(func() {
			<-gate
			if _, _, err := r.stores[i%3].ReleaseReservation(t.Context(), waiter(h.CustomerID), new(fixture.Key()), h.ID); err != nil {
				t.Error(err)
			}
		})
		group.Go(func() {
			<-gate
			req := store.PlaceRequest{ShowID: show.ID, CustomerID: fmt.Sprint("buyer-", i), Seats: []store.SeatRef{{ID: show.Seats[i].ID}}}
			_, _, err := r.stores[(i+1)%3].PlaceReservation(t.Context(), waiter(req.CustomerID), new(fixture.Key()), req)
			if err != nil && boxoffice.CodeOf(err) != boxoffice.CodeSeatAlreadyReserved {
				t.Error(err)
			}
		})
	}
	close(gate)
	group.Wait()
	offered := 0
	for _, e := range entries {
		if v := entry(t, r.stores[0], e.ID); v.Status == boxoffice.WaitlistOffered {
			offered += v.PartySize
		}
	}
	if offered == 0 || offered > seats+floor {
		t.Errorf("%d places were offered, there are %d", offered, seats+floor)
	}
	r.proven(t)
}

// The sweep finds shows where somebody waits though something is free, which
// the lane could not know of.
func TestTheSweepServesAWaitlist(t *testing.T) {
	t.Parallel()
	r := newRush(t, 1)
	s := r.stores[0]
	show := fixture.Show(t, s, offersOf(600, 1, 0))
	if _, _, err := s.PlaceReservation(t.Context(), waiter("ann"), new(fixture.Key()), store.PlaceRequest{
		ShowID: show.ID, CustomerID: "ann", TTLSeconds: 1, Seats: []store.SeatRef{{ID: show.Seats[0].ID}},
	}); err != nil {
		t.Fatal(err)
	}
	e := join(t, s, show.ID, "first", 1)
	if shows, err := s.UnservedShows(t.Context(), 10); err != nil || len(shows) != 0 {
		t.Fatal("nothing is free yet:", shows, err)
	}
	if _, err := r.all.Exec(t.Context(), "select pg_sleep(1)"); err != nil {
		t.Fatal(err)
	}
	shows, err := s.UnservedShows(t.Context(), 10)
	if err != nil || len(shows) != 1 || shows[0] != show.ID {
		t.Fatal("the hold is over:", shows, err)
	}
	if err := s.OfferWaitlist(t.Context(), show.ID); err != nil {
		t.Fatal(err)
	}
	if v := entry(t, s, e.ID); v.Status != boxoffice.WaitlistOffered {
		t.Errorf("it is %s", v.Status)
	}
	r.proven(t)
}

// Whoever waits in a long line is found, however many wait before them for
// something else.
func TestALongWaitlistIsServed(t *testing.T) {
	t.Parallel()
	r := newRush(t, 1)
	s := r.stores[0]
	show := fixture.Show(t, s, offersOf(600, 2, 0))
	hold, _, err := s.PlaceReservation(t.Context(), waiter("ann"), new(fixture.Key()), store.PlaceRequest{
		ShowID: show.ID, CustomerID: "ann", Seats: []store.SeatRef{{ID: show.Seats[0].ID}, {ID: show.Seats[1].ID}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		join(t, s, show.ID, fmt.Sprint("pair-", i), 2)
	}
	single, next := join(t, s, show.ID, "single", 1, "Front"), join(t, s, show.ID, "next", 1, "Front")
	if _, _, err := s.ChangeReservation(t.Context(), waiter("ann"), new(fixture.Key()), hold.ID, store.ChangeRequest{
		RemoveSeats: []store.SeatRef{{ID: show.Seats[0].ID}},
	}); err != nil {
		t.Fatal(err)
	}
	if v := entry(t, s, single.ID); v.Status != boxoffice.WaitlistOffered {
		t.Errorf("the first who could use one seat is %s", v.Status)
	}
	if v := entry(t, s, next.ID); v.Status != boxoffice.WaitlistWaiting || v.Position != 41 || v.Why != boxoffice.WaitOthersFirst {
		t.Errorf("the next is %s at %d: %s", v.Status, v.Position, v.Why)
	}
	r.proven(t)
}

// An offer passes on when its entry leaves, too, and when a place of it is
// given back.
func TestLeavingPassesAnOfferOn(t *testing.T) {
	t.Parallel()
	r := newRush(t, 1)
	s := r.stores[0]
	show := fixture.Show(t, s, offersOf(600, 2, 0))
	hold, _, err := s.PlaceReservation(t.Context(), waiter("ann"), new(fixture.Key()), store.PlaceRequest{
		ShowID: show.ID, CustomerID: "ann", Seats: []store.SeatRef{{ID: show.Seats[0].ID}, {ID: show.Seats[1].ID}},
	})
	if err != nil {
		t.Fatal(err)
	}
	first, second, third := join(t, s, show.ID, "first", 2), join(t, s, show.ID, "second", 2), join(t, s, show.ID, "third", 1)
	if _, _, err := s.ReleaseReservation(t.Context(), waiter("ann"), new(fixture.Key()), hold.ID); err != nil {
		t.Fatal(err)
	}
	key := fixture.Key()
	version, _, err := s.LeaveWaitlist(t.Context(), waiter("first"), &key, first.ID)
	if err != nil {
		t.Fatal(err)
	}
	if again, replayed, err := s.LeaveWaitlist(t.Context(), waiter("first"), &key, first.ID); err != nil || !replayed || again != version {
		t.Error("a replay:", again, replayed, err)
	}
	offer := entry(t, s, second.ID)
	if v := entry(t, s, first.ID); v.Status != boxoffice.WaitlistDeclined || offer.Status != boxoffice.WaitlistOffered {
		t.Fatalf("the first is %s, the second %s", v.Status, offer.Status)
	}
	if _, _, err := s.ChangeReservation(t.Context(), waiter("second"), new(fixture.Key()), offer.ReservationID, store.ChangeRequest{
		RemoveSeats: []store.SeatRef{{ID: show.Seats[1].ID}},
	}); err != nil {
		t.Fatal(err)
	}
	if v := entry(t, s, third.ID); v.Status != boxoffice.WaitlistOffered {
		t.Errorf("the third is %s", v.Status)
	}
	r.proven(t)
}

// Whatever makes places free serves the waitlist in its own transaction.
func TestWhateverFreesPlacesServesTheWaitlist(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	staff := boxoffice.Actor{Staff: true, Name: "key:test"}
	org := boxoffice.DefaultOrganisationID
	seats := func(show fixture.Made, list ...int) (refs []store.SeatRef) {
		for _, i := range list {
			refs = append(refs, store.SeatRef{ID: show.Seats[i].ID})
		}
		return refs
	}
	r := newRush(t, 1)
	s := r.stores[0]
	for name, free := range map[string]func(t *testing.T, show fixture.Made, hold *store.ReservationView) error{
		"a block that is taken off": func(t *testing.T, show fixture.Made, _ *store.ReservationView) error {
			_, err := s.UnblockSeats(ctx, staff, new(fixture.Key()), org, show.ID, uuid.Nil, seats(show, 1))
			return err
		},
		"a larger capacity": func(t *testing.T, show fixture.Made, _ *store.ReservationView) error {
			_, err := s.SetAreaCapacity(ctx, staff, new(fixture.Key()), org, show.ID, show.Areas[0].ID, 2)
			return err
		},
		"a larger plan": func(t *testing.T, show fixture.Made, _ *store.ReservationView) error {
			plan := fixture.Plan(t, s, show.HallID, fixture.Options{Seats: 4, Floor: 1})
			_, err := s.AmendShow(ctx, staff, new(fixture.Key()), org, show.ID, store.ShowAmendment{PlanID: &plan})
			return err
		},
		"a cancelled booking": func(t *testing.T, show fixture.Made, hold *store.ReservationView) error {
			k, err := s.ConfirmReservation(ctx, staff, new(fixture.Key()), hold.ID, store.ConfirmRequest{Method: "comp"})
			if err == nil {
				_, err = s.CancelBooking(ctx, staff, new(fixture.Key()), k.BookingID, store.CancelRequest{Override: true, Reason: boxoffice.ReasonStaff})
			}
			return err
		},
		"a sale that goes on": func(t *testing.T, show fixture.Made, hold *store.ReservationView) error {
			pause, resume := boxoffice.SetShowStatus{Verb: boxoffice.PauseShow}, boxoffice.SetShowStatus{Verb: boxoffice.ResumeShow}
			_, err := s.SetShowStatus(ctx, staff, new(fixture.Key()), org, show.ID, pause)
			if err == nil {
				_, _, err = s.ReleaseReservation(ctx, waiter("ann"), new(fixture.Key()), hold.ID)
			}
			if err == nil {
				_, err = s.SetShowStatus(ctx, staff, new(fixture.Key()), org, show.ID, resume)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			show := fixture.Show(t, s, offersOf(600, 2, 1))
			if _, err := s.BlockSeats(ctx, staff, new(fixture.Key()), org, show.ID, seats(show, 1), "camera"); err != nil {
				t.Fatal(err)
			}
			hold, _, err := s.PlaceReservation(ctx, waiter("ann"), new(fixture.Key()), store.PlaceRequest{
				ShowID: show.ID, CustomerID: "ann", Seats: seats(show, 0), Areas: []store.AreaRef{{ID: show.Areas[0].ID, Quantity: 1}},
			})
			if err != nil {
				t.Fatal(err)
			}
			e := join(t, s, show.ID, "waits", 1)
			if err := free(t, show, hold); err != nil {
				t.Fatal(err)
			}
			if v := entry(t, s, e.ID); v.Status != boxoffice.WaitlistOffered {
				t.Errorf("it is %s: %s", v.Status, v.Why)
			}
		})
	}
	r.proven(t)
}

// The first who waits leaves in the very batch that frees places for them: the
// next has the places, though one party was all that they would do for.
func TestWhoLeavesWhenTheirTurnComesMakesWayForTheNext(t *testing.T) {
	t.Parallel()
	s := openShop(t, offersOf(600, 2, 0))
	hold, err := s.place(t.Context(), "ann", 0, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	first, second := join(t, s.Store, s.ID, "first", 2), join(t, s.Store, s.ID, "second", 2)
	both := gathered(t, s.db, 2)
	var group sync.WaitGroup
	group.Go(func() {
		if _, _, err := both.LeaveWaitlist(t.Context(), waiter("first"), new(fixture.Key()), first.ID); err != nil {
			t.Error(err)
		}
	})
	group.Go(func() {
		if _, _, err := both.ReleaseReservation(t.Context(), waiter("ann"), new(fixture.Key()), hold.ID); err != nil {
			t.Error(err)
		}
	})
	group.Wait()
	if v := entry(t, s.Store, second.ID); v.Status != boxoffice.WaitlistOffered {
		t.Errorf("the second is %s", v.Status)
	}
}

// untouched fails when a transaction since the given one has locked one of a
// show's seats: that leaves its mark in the row.
func (s shop) untouched(t *testing.T, since int, seats []boxoffice.Seat) {
	t.Helper()
	nos := make([]int32, len(seats))
	for i := range seats {
		nos[i] = seats[i].No
	}
	if n := s.count(t, "select count(*) from show_seats where show_id = $1 and seat_no = any ($2::int[]) and xmax::text::bigint >= $3", s.ID, nos, since); n > 0 {
		t.Errorf("%d of %d seats were locked that it was not about", n, len(seats))
	}
}

// transaction is the number of a transaction of now.
func (s shop) transaction(t *testing.T) int {
	t.Helper()
	return s.count(t, "select pg_current_xact_id()::text::bigint")
}

// Somebody waits for one category, and all the others are on sale: a batch that
// frees places there reads no more than what is free of the one.
func TestAWaitlistForOneCategoryLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	s := openShop(t, fixture.Options{Seats: 40, RowLength: 40, Edit: func(n *store.NewShow) { n.MaxPlacesPerReservation = 20 }})
	front := make([]int, 20)
	for i := range front {
		front[i] = i
	}
	if _, err := s.place(t.Context(), "ann", 0, front...); err != nil {
		t.Fatal(err)
	}
	e := join(t, s.Store, s.ID, "waits", 1, "Front")
	since := s.transaction(t)
	hold, err := s.place(t.Context(), "bob", 0, 30, 31)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.ReleaseReservation(t.Context(), waiter("bob"), new(fixture.Key()), hold.ID); err != nil {
		t.Fatal(err)
	}
	s.untouched(t, since, s.Seats[32:])
	if v := entry(t, s.Store, e.ID); v.Status != boxoffice.WaitlistWaiting || v.Why != boxoffice.WaitSoldOut {
		t.Errorf("it is %s: %s", v.Status, v.Why)
	}
}

// Nobody is served while sales rest: nothing is read or locked for it, whatever
// is given back.
func TestAWaitlistThatRestsCostsNothing(t *testing.T) {
	t.Parallel()
	s := openShop(t, offersOf(600, 6, 0))
	hold, err := s.place(t.Context(), "ann", 0, 0, 1, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.pool.Exec(t.Context(), `insert into waitlist_entries (show_id, entry_id, organisation_id, customer_id, entry_no, party_size, status, joined_at)
		select show_id, gen_random_uuid(), organisation_id, 'waits', 0, 6, 'waiting', clock_timestamp() from shows where show_id = $1`, s.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.pool.Exec(t.Context(), "update show_heads set waiting = 1 where show_id = $1", s.ID); err != nil {
		t.Fatal(err)
	}
	pause := boxoffice.SetShowStatus{Verb: boxoffice.PauseShow}
	if _, err := s.SetShowStatus(t.Context(), fixture.Staff, new(fixture.Key()), boxoffice.DefaultOrganisationID, s.ID, pause); err != nil {
		t.Fatal(err)
	}
	since := s.transaction(t)
	if _, _, err := s.ChangeReservation(t.Context(), waiter("ann"), new(fixture.Key()), hold.ID, store.ChangeRequest{
		RemoveSeats: []store.SeatRef{{ID: s.Seats[0].ID}},
	}); err != nil {
		t.Fatal(err)
	}
	s.untouched(t, since, s.Seats[4:])
}

// Who has all that a customer may have is passed over, however many they are.
func TestAnybodyWhoMayHaveNoMoreIsPassedOver(t *testing.T) {
	t.Parallel()
	const many = 60
	s := openShop(t, offersOf(600, 2, many))
	hold, err := s.place(t.Context(), "ann", 0, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range many {
		group.Go(func() {
			who := fmt.Sprint("has-one-", i)
			if _, _, err := s.PlaceReservation(t.Context(), waiter(who), new(fixture.Key()), store.PlaceRequest{
				ShowID: s.ID, CustomerID: who, Areas: []store.AreaRef{{ID: s.Areas[0].ID, Quantity: 1}},
			}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for i := range many {
		group.Go(func() { join(t, s.Store, s.ID, fmt.Sprint("has-one-", i), 1) })
	}
	group.Wait()
	last := join(t, s.Store, s.ID, "last", 1)
	one := 1
	if _, err := s.AmendShow(t.Context(), fixture.Staff, new(fixture.Key()), boxoffice.DefaultOrganisationID, s.ID, store.ShowAmendment{MaxPlacesPerCustomer: &one}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.ReleaseReservation(t.Context(), waiter("ann"), new(fixture.Key()), hold.ID); err != nil {
		t.Fatal(err)
	}
	if v := entry(t, s.Store, last.ID); v.Status != boxoffice.WaitlistOffered || v.Position != 0 {
		t.Errorf("the last is %s: %s", v.Status, v.Why)
	}
}

// A sale that begins by itself begins with those who wait: whoever is first
// with a request is behind them.
func TestASaleThatBeginsByItselfServesTheWaitlistFirst(t *testing.T) {
	t.Parallel()
	s := openShop(t, offersOf(600, 1, 0))
	hold, err := s.place(t.Context(), "ann", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	e := join(t, s.Store, s.ID, "waits", 1)
	begins := new(s.clock(t).Add(time.Second))
	if _, err := s.AmendShow(t.Context(), fixture.Staff, new(fixture.Key()), boxoffice.DefaultOrganisationID, s.ID, store.ShowAmendment{SalesStartAt: &begins}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.ReleaseReservation(t.Context(), waiter("ann"), new(fixture.Key()), hold.ID); err != nil {
		t.Fatal(err)
	}
	if v := entry(t, s.Store, e.ID); v.Status != boxoffice.WaitlistWaiting || v.Why != boxoffice.WaitNotOnSale {
		t.Fatalf("before the sale it is %s: %s", v.Status, v.Why)
	}
	if _, err := s.pool.Exec(t.Context(), "select pg_sleep(extract(epoch from $1::timestamptz - clock_timestamp()) + 0.001)", *begins); err != nil {
		t.Fatal(err)
	}
	if _, err := s.place(t.Context(), "bob", 0, 0); boxoffice.CodeOf(err) != boxoffice.CodeSeatAlreadyReserved {
		t.Errorf("a buyer who had not waited: %v", err)
	}
	if v := entry(t, s.Store, e.ID); v.Status != boxoffice.WaitlistOffered {
		t.Errorf("it is %s", v.Status)
	}
}

// Shows that are over, or sell no more, are nothing to the sweep, however much
// is left of them: it would look at them for ever.
func TestTheSweepLeavesShowsAloneThatSellNoMore(t *testing.T) {
	t.Parallel()
	s := openShop(t, offersOf(600, 2, 0))
	if _, err := s.place(t.Context(), "ann", 0, 0); err != nil {
		t.Fatal(err)
	}
	join(t, s.Store, s.ID, "pair", 2)
	for what, c := range map[string]struct {
		sql  string
		want int
	}{
		"on sale":            {"update shows set starts_at = clock_timestamp() + interval '1 day' where show_id = $1", 1},
		"over":               {"update shows set starts_at = clock_timestamp() - interval '1 day' where show_id = $1", 0},
		"not yet over":       {"update shows set starts_at = clock_timestamp() - interval '1 hour', ends_at = clock_timestamp() + interval '1 hour' where show_id = $1", 1},
		"sold till the eve":  {"update shows set sales_end_at = clock_timestamp() - interval '1 minute' where show_id = $1", 0},
		"not sold until May": {"update shows set sales_start_at = clock_timestamp() + interval '1 minute' where show_id = $1", 0},
	} {
		tx, err := s.pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if _, err := tx.Exec(t.Context(), c.sql, s.ID); err != nil {
			t.Fatal(err)
		}
		if err := tx.QueryRow(t.Context(), "select count(*) from ("+queries.All()["waitlist_shows"]+"\n) x", 10).Scan(&n); err != nil {
			t.Fatal(err)
		}
		tx.Rollback(t.Context())
		if n != c.want {
			t.Errorf("a show that is %s: %d", what, n)
		}
	}
}

// Who waited for a show is forgotten a while after it.
func TestWhoWaitedIsForgotten(t *testing.T) {
	t.Parallel()
	s := openShop(t, offersOf(600, 1, 0))
	if _, err := s.place(t.Context(), "ann", 0, 0); err != nil {
		t.Fatal(err)
	}
	e := join(t, s.Store, s.ID, "waits", 1)
	if n, err := s.PurgeWaitlistBuyers(t.Context(), 10); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := s.pool.Exec(t.Context(), "update shows set starts_at = clock_timestamp() - interval '31 days'"); err != nil {
		t.Fatal(err)
	}
	if n, err := s.PurgeWaitlistBuyers(t.Context(), 10); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if v := entry(t, s.Store, e.ID); v.Buyer != nil || v.CustomerID != "waits" {
		t.Errorf("it is %+v", v)
	}
}
