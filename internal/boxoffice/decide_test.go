package boxoffice

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestIdempotency(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"ARetryGetsTheFirstAnswer": `
			anna place r1 A1 GA*1 key=k    => ok r1: A1 GA*1 until 15m for 140
			& anna place r2 A1 GA*1 key=k  => again r1: A1 GA*1 until 15m for 140
			  log 1.0 reservation.created anna buyer r1 >active A1=h GA+1 until 15m
			at 5m
			anna extend r1                 => ok r1: A1 GA*1 until 20m for 140
			anna change r1 +A2             => ok r1: A1 A2 GA*1 until 20m for 240
			anna place r3 A1 GA*1 key=k    => again r1: A1 GA*1 until 15m for 140
			  log nothing
			at 2h
			anna place r3 A1 GA*1 key=k    => again r1: A1 GA*1 until 15m for 140
			staff cancel                   => ok
			& anna place r3 A1 GA*1 key=k  => again r1: A1 GA*1 until 15m for 140`,
		"OfEveryCommand": `
			staff block b1 A1 key=k1       => ok b1 1
			staff block b2 A1 key=k1       => again b1 1
			staff unblock b1 key=k2        => ok b1 1
			staff unblock b1 key=k2        => again b1 1
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna change r1 +A2 key=k1      => ok r1: A1 A2 until 15m for 200
			anna change r1 +A2 key=k1      => again r1: A1 A2 until 15m for 200
			anna release r1 key=k2         => ok r1
			& anna release r1 key=k2       => again r1
			staff pause key=k3             => ok
			staff resume                   => ok
			staff pause key=k3             => again
			anna place r2 A1               => ok r2: A1 until 15m for 100`,
		"TheSameKeyForSomethingElseIsRefused": `
			anna place r1 A1 key=k         => ok r1: A1 until 15m for 100
			& anna place r2 A2 key=k       => IDEMPOTENCY_KEY_REUSED
			anna place r2 A2 key=k         => IDEMPOTENCY_KEY_REUSED
			anna release r1 key=k          => IDEMPOTENCY_KEY_REUSED
			map haaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"KeysBelongToTheirOwner": `
			anna place r1 A1 key=k         => ok r1: A1 until 15m for 100
			& bert place r2 A1 key=k       => SEAT_ALREADY_RESERVED A1=held
			& bert place r2 A2 key=k       => ok r2: A2 until 15m for 100`,
		"ARefusalIsNotRemembered": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			bert place r2 A1 key=k         => SEAT_ALREADY_RESERVED A1=held
			bert place r3 A1 key=k         => SEAT_ALREADY_RESERVED A1=held
			& anna release r1              => ok r1
			& bert place r4 A1 key=k       => ok r4: A1 until 15m for 100
			& bert place r5 A1 key=k       => again r4: A1 until 15m for 100
			& bert place r6 A2 key=k       => IDEMPOTENCY_KEY_REUSED`,
		"WhatChangesNothingIsRememberedToo": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna release r1                => ok r1
			anna release r1 key=k          => ok r1
			  log nothing
			anna release r1 key=k          => again r1`,
	})
}

func TestAReceiptIsWhatTheCommandLeft(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"WhateverTheBatchDoesAfterwards": `
			anna place r1 A1 GA*1          => ok r1: A1 GA*1 until 15m for 140
			at 1m
			anna change r1 +A2             => ok r1: A1 A2 GA*1 until 15m for 240
			& anna change r1 +GA*1         => ok r1: A1 A2 GA*2 until 15m for 280
			& anna extend r1               => ok r1: A1 A2 GA*2 until 16m for 280
			& anna change r1 -A1 -GA*1     => ok r1: A2 GA*1 until 16m for 140
			& anna change r1 +GA*2         => ok r1: A2 GA*3 until 16m for 220
			& anna release r1              => ok r1`,
	})
}

func TestAReceiptHoldsNoPersonalData(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	cmd := command("anna@example.org", words("place r1 A1 GA*2 key=k"))
	cmd.Do.(*PlaceReservation).Metadata = map[string]string{"name": "Anna"}
	outcomes, did := d.decide(noon, cmd,
		command("anna@example.org", words("begin r1 p1 holders=Anna key=k2")),
		command("anna@example.org", words("cancel k1 key=k3")),
	)
	for _, k := range did.Kept {
		text, err := json.Marshal(k.Receipt)
		if err != nil || strings.Contains(strings.ToLower(string(text)), "anna") {
			t.Errorf("the receipt is %s (%v)", text, err)
		}
	}
	if len(did.Kept) != 3 {
		t.Errorf("%d receipts", len(did.Kept))
	}
	if r := outcomes[0].Receipt; r.Version != 1 || !r.At.Equal(noon) {
		t.Errorf("the receipt says version %d at %v", r.Version, r.At)
	}
}

func TestAShowThatIsNotThere(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"place r1 A1", "release r1", "publish", "expire 5", "block b1 A1"} {
		outcomes, did := Decide(State{Now: noon}, []Command{command("staff", words(text))})
		if got := outcomeText(outcomes[0]); got != "NOT_FOUND" || did.Dirty {
			t.Errorf("%s: %s, dirty %v", text, got, did.Dirty)
		}
	}
}

// Holds of one length that are placed in one batch end at one instant, and
// need one job.
func TestEndsAreListedOnceEach(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.decide(noon, command("anna", words("place r0 A8 ttl=30")))
	at := noon.Add(duration("10s"))
	_, did := d.decide(at,
		command("anna", words("place r1 A1")),
		command("bert", words("place r2 A2 ttl=60")),
		command("carl", words("place r3 A3")),
		command("anna", words("extend r0")),
		command("dora", words("place r4 A4 ttl=60")),
		command("emil", words("place r5 A4")),
	)
	var got []string
	for _, end := range did.Ends {
		got = append(got, since(end))
	}
	if want := []string{"15m10s", "1m10s", "40s"}; !slices.Equal(got, want) {
		t.Errorf("ends at %v, want %v", got, want)
	}
}

// A loader that forgets something makes a refusal, not a seat sold twice.
func TestWhatWasNotLoadedIsNotSold(t *testing.T) {
	t.Parallel()
	place := []Command{command("bert", words("place r2 A1"))}
	overdue := func() State {
		d := newDatabase(t)
		d.decide(noon, command("anna", words("place r1 A1 ttl=60")))
		return d.load(noon.Add(duration("1m")), place)
	}
	for name, c := range map[string]struct {
		spoil func(*State)
		want  string
	}{
		"all there":                {func(*State) {}, "ok r2: A1 until 16m for 100"},
		"no seat":                  {func(st *State) { delete(st.Seats, 0) }, "SEAT_ALREADY_RESERVED A1=held"},
		"no lock":                  {func(st *State) { st.Seats[0].Locked = false }, "SEAT_ALREADY_RESERVED A1=held"},
		"no hold":                  {func(st *State) { delete(st.Reservations, id("r1")) }, "INTERNAL"},
		"a hold that ends later":   {func(st *State) { st.Reservations[id("r1")].ExpiresAt = noon.Add(duration("2m")) }, "INTERNAL"},
		"a hold closed before":     {func(st *State) { st.Reservations[id("r1")].Status = ReservationReleased }, "INTERNAL"},
		"its own id taken already": {func(st *State) { st.Reservations[id("r2")] = &Reservation{ID: id("r2")} }, "INTERNAL"},
	} {
		st := overdue()
		c.spoil(&st)
		outcomes, did := Decide(st, place)
		if got := outcomeText(outcomes[0]); got != c.want || (outcomes[0].Err != nil) == did.Dirty {
			t.Errorf("%s: %s, dirty %v; want %s", name, got, did.Dirty, c.want)
		}
	}
}

func TestAHoldWhoseSeatIsAnothersIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"extend r1", "change r1 -A1", "release r1", "begin r1 p1", "confirm r1 p1 comp"} {
		cmds := []Command{command("anna", words(text))}
		d := newDatabase(t)
		d.decide(noon, command("anna", words("place r1 A1 A2")))
		st := d.load(noon.Add(duration("1m")), cmds)
		st.Seats[0].ReservationID = uuid.Nil
		st.Seats[0].State = 'a'
		outcomes, did := Decide(st, cmds)
		switch {
		case text != "release r1" && (outcomeText(outcomes[0]) != "INTERNAL" || did.Dirty || len(did.Seats)+len(did.Updated) > 0):
			t.Errorf("%s: %s, changes %+v", text, outcomeText(outcomes[0]), did)
		case text == "release r1" && (len(did.Seats) != 1 || did.Seats[0].No != 1):
			t.Errorf("release freed %v", did.Seats)
		}
	}
}

// The same with what was paid already: the gateway says it again.
func TestMoneyForAHoldWhoseSeatIsAnothersIsNotSettled(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.decide(noon, command("anna", words("place r1 A1 A2")))
	d.decide(noon, command("anna", words("begin r1 p1")))
	for name, spoil := range map[string]func(*State){
		"another's":  func(st *State) { st.Seats[0].ReservationID = id("r9") },
		"not loaded": func(st *State) { delete(st.Seats, 0) },
	} {
		cmds := []Command{command("gate", words("settle p1 ok ref=g1"))}
		st := d.load(noon, cmds)
		spoil(&st)
		if outcomes, did := Decide(st, cmds); outcomeText(outcomes[0]) != "INTERNAL" || did.Writes() {
			t.Errorf("%s: %s, changes %+v", name, outcomeText(outcomes[0]), did)
		}
	}
}

func TestAStateMayLackWhatItHasNothingOf(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	cmds := []Command{
		command("anna", words("place r1 A1 key=k")),
		command("staff", words("amend perCustomer=1")),
		command("anna", words("place r2 A2")),
		command("staff", words("block b1 A2")),
		command("anna", words("begin r1 p1")),
	}
	st := d.load(noon, cmds)
	st.Reservations, st.Places, st.Blocks, st.Receipts, st.Bookings, st.Scans = nil, nil, nil, nil, nil, nil
	outcomes, did := Decide(st, cmds)
	for i, want := range []string{"ok r1: A1 until 15m for 100", "ok", "CUSTOMER_LIMIT_REACHED limit=1 held=1", "ok b1 1", "ok r1: A1 until 15m for 100 k1 pending p1"} {
		if got := outcomeText(outcomes[i]); got != want {
			t.Errorf("command %d: %s, want %s", i, got, want)
		}
	}
	if did.Version != 4 || len(did.Kept) != 1 || len(did.Blocks) != 1 {
		t.Errorf("changes are %+v", did)
	}
}
