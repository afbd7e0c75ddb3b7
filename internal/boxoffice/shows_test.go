package boxoffice

import (
	"strings"
	"testing"
)

// A show in each of its statuses before each verb.
func TestShowStates(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(`
		draft     publish => ok on_sale
		draft     pause   => CONFLICT
		draft     resume  => CONFLICT
		draft     cancel  => ok cancelled
		on_sale   publish => ok
		on_sale   pause   => ok paused
		on_sale   resume  => ok
		on_sale   cancel  => ok cancelled
		paused    publish => CONFLICT
		paused    pause   => ok
		paused    resume  => ok on_sale
		paused    cancel  => ok cancelled
		cancelled publish => CONFLICT
		cancelled pause   => CONFLICT
		cancelled resume  => CONFLICT
		cancelled cancel  => ok
	`) {
		if len(words(line)) == 0 {
			continue
		}
		event, want := split(line, "=>")
		w := words(event)
		status, verb := ShowStatus(w[0]), w[1]
		t.Run(w[0]+"/"+verb, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			d.terms.Status = status
			outcomes, did := d.decide(noon, command("staff", words(verb)))
			got := outcomeText(outcomes[0])
			if did.Terms != nil {
				got += " " + string(did.Terms.Status)
				if did.Terms.Definition != 2 || len(did.Log) != 1 || did.Log[0].Before != w[0] || did.Log[0].Reason != ReasonStaff {
					t.Errorf("definition %d, log %+v", did.Terms.Definition, did.Log)
				}
			}
			if got != want {
				t.Errorf("%s a %s show: %s, want %s", verb, status, got, want)
			}
		})
	}
}

// What can be held and released in each status of the show, with a live hold
// r1 of anna; ended is a show on sale, eight hours later, with r1 of half an
// hour before.
func TestCommandsByShowStatus(t *testing.T) {
	t.Parallel()
	states := map[ShowStatus]string{
		ShowOnSale:    "at 5m",
		ShowPaused:    "staff pause => ok\nat 5m",
		ShowCancelled: "staff cancel => ok\nat 5m",
		ShowEnded:     "staff amend starts=5m => ok\nat 5m",
		"before":      "staff amend sales=1h => ok\nat 5m",
		"after":       "staff amend salesEnd=5m => ok\nat 5m",
	}
	for line := range strings.Lines(`
		on_sale   anna  place r2 A3      => ok r2: A3 until 20m for 100
		on_sale   anna  change r1 +A3    => ok r1: A1 A2 A3 until 15m for 300
		on_sale   anna  change r1 -A1    => ok r1: A2 until 15m for 100
		on_sale   anna  extend r1        => ok r1: A1 A2 until 20m for 200
		on_sale   anna  release r1       => ok r1
		paused    anna  place r2 A3      => SHOW_NOT_ON_SALE paused
		paused    staff place r2 A3      => SHOW_NOT_ON_SALE paused
		paused    anna  change r1 +A3    => SHOW_NOT_ON_SALE paused
		paused    anna  change r1 -A1    => ok r1: A2 until 15m for 100
		paused    anna  extend r1        => SHOW_NOT_ON_SALE paused
		paused    anna  release r1       => ok r1
		cancelled anna  place r2 A3      => SHOW_NOT_ON_SALE cancelled
		cancelled anna  change r1 +A3    => SHOW_NOT_ON_SALE cancelled
		cancelled anna  change r1 -A1    => ok r1: A2 until 15m for 100
		cancelled anna  extend r1        => SHOW_NOT_ON_SALE cancelled
		cancelled anna  release r1       => ok r1
		cancelled staff amend hold=5     => CONFLICT
		ended     anna  place r2 A3      => SHOW_NOT_ON_SALE ended
		ended     anna  change r1 +A3    => SHOW_NOT_ON_SALE ended
		ended     anna  extend r1        => SHOW_NOT_ON_SALE ended
		ended     anna  release r1       => ok r1
		ended     staff amend starts=8h  => ok
		before    anna  place r2 A3      => SHOW_NOT_ON_SALE before_sales sales 1h
		before    anna  extend r1        => SHOW_NOT_ON_SALE before_sales sales 1h
		before    anna  release r1       => ok r1
		after     anna  place r2 A3      => SHOW_NOT_ON_SALE after_sales
		after     staff place r2 A3      => SHOW_NOT_ON_SALE after_sales
		after     anna  change r1 +A3    => SHOW_NOT_ON_SALE after_sales
		after     anna  extend r1        => SHOW_NOT_ON_SALE after_sales
		after     anna  release r1       => ok r1
	`) {
		if len(words(line)) == 0 {
			continue
		}
		state, event := split(strings.TrimSpace(line), " ")
		t.Run(state+"/"+strings.Join(words(event)[:2], "-"), func(t *testing.T) {
			t.Parallel()
			play(t, "anna place r1 A1 A2 => ok r1: A1 A2 until 15m for 200\n"+states[ShowStatus(state)]+"\n"+event)
		})
	}
}

func TestSales(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"BeginAndEndToTheMicrosecond": `
			staff amend sales=1h salesEnd=2h => ok
			at 59m59.999999s
			anna place r1 A1               => SHOW_NOT_ON_SALE before_sales sales 1h
			at 1h
			anna place r1 A1               => ok r1: A1 until 1h15m for 100
			at 1h59m59.999999s
			anna place r2 A2               => ok r2: A2 until 2h14m59.999999s for 100
			at 2h
			anna place r3 A3               => SHOW_NOT_ON_SALE after_sales sales 1h`,
		"EndWithTheShowsEndOrItsStart": `
			at 8h
			anna place r1 A1               => SHOW_NOT_ON_SALE ended
			staff amend ends=10h           => ok
			anna place r1 A1               => ok r1: A1 until 8h15m for 100
			at 10h
			anna place r2 A2               => SHOW_NOT_ON_SALE ended
			staff publish                  => ok
			anna place r2 A2               => SHOW_NOT_ON_SALE ended`,
		"AHoldMayOutliveThem": `
			staff amend salesEnd=1m        => ok
			at 59s
			anna place r1 A1               => ok r1: A1 until 15m59s for 100
			at 15m58s
			bert place r2 A1               => SHOW_NOT_ON_SALE after_sales
			anna release r1                => ok r1`,
	})
}

func TestADraftThatIsOverIsNotPublished(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.terms.Status = ShowDraft
	for at, want := range map[string]string{"8h": "CONFLICT", "7h59m59.999999s": "ok"} {
		outcomes, _ := d.decide(noon.Add(duration(at)), command("staff", words("publish")))
		if got := outcomeText(outcomes[0]); got != want {
			t.Errorf("publish at %s: %s, want %s", at, got, want)
		}
		d.terms.Status = ShowDraft
	}
}

func TestAmendShow(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"LaterCommandsOfTheBatchSeeIt": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			& staff amend hold=60 price=7  => ok
			& bert place r2 A2             => ok r2: A2 until 1m for 7
			& bert place r3 A3 ttl=61      => VALIDATION_ERROR ttlSeconds
			& staff pause                  => ok
			& bert place r3 A3             => SHOW_NOT_ON_SALE paused
			  log 1.0 reservation.created anna buyer r1 >active A1=h until 15m
			  log 2.0 show.changed staff staff
			  log 3.0 reservation.created bert buyer r2 >active A2=h until 1m
			  log 4.0 show.paused staff staff on_sale>paused`,
		"ALowerLimitLeavesHoldsAlone": `
			anna place r1 A1 A2 A3         => ok r1: A1 A2 A3 until 15m for 300
			staff amend places=2           => ok
			anna change r1 +A4             => TOO_MANY_SEATS limit=2 requested=4
			anna change r1 -A1 +A4         => ok r1: A2 A3 A4 until 15m for 300
			at 5m
			anna extend r1                 => ok r1: A2 A3 A4 until 20m for 300`,
		"TheCurrencyIsFixedAfterTheFirstHold": `
			staff amend currency=JPY       => ok
			anna place r1 A1               => ok r1: A1 until 15m for 100
			& staff amend currency=EUR     => CONFLICT
			& staff amend currency=JPY     => ok
			staff amend currency=EUR       => CONFLICT
			anna release r1                => ok r1
			staff amend currency=EUR       => CONFLICT`,
		"OnlyWhatIfMatchNamed": `
			staff amend match=2 hold=60    => PRECONDITION_FAILED
			staff amend match=1 hold=60    => ok
			& staff amend match=1 hold=90  => PRECONDITION_FAILED
			staff amend match=2 hold=90    => ok`,
		"NeverAgainstItself": `
			staff amend ends=8h            => VALIDATION_ERROR endsAt
			staff amend ends=9h            => ok
			staff amend starts=9h          => VALIDATION_ERROR endsAt
			staff amend starts=9h ends=none => ok
			staff amend sales=2h salesEnd=2h => VALIDATION_ERROR salesEndAt
			staff amend hold=2000          => VALIDATION_ERROR maxHoldSeconds
			staff amend maxHold=899        => VALIDATION_ERROR maxHoldSeconds
			staff amend hold=1000 maxHold=1000 => ok`,
		"EveryCategoryWithPlacesHasAStandardPrice": `
			staff amend without=box        => VALIDATION_ERROR prices
			staff amend without=floor      => VALIDATION_ERROR prices
			staff amend also=royal         => VALIDATION_ERROR prices
			staff amend price=0            => ok
			anna place r1 A1:child         => VALIDATION_ERROR seats[0].ticketType
			anna place r1 A1 B1            => ok r1: A1 B1 until 15m for 0`,
		"NoPlacesOfAnotherShow": `
			anna place r1 C1               => SEAT_NOT_FOUND C1
			anna place r1 BAR*1            => SEAT_NOT_FOUND BAR`,
	})
}

// Whoever may change a show is staff to its log, with or without the scope to
// hold places for others.
func TestAnOrganisersChangesAreStaffs(t *testing.T) {
	t.Parallel()
	play(t, `
		olga pause                     => ok
		  log 1.0 show.paused olga staff on_sale>paused
		olga block b1 A1               => ok b1 1
		  log 2.0 place.blocked olga staff b1 available>blocked A1=x
		olga capacity GA 9             => ok
		  log 3.0 show.changed olga staff GA+0`)
}

func TestMoveToAnotherPlan(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"KeepsEverySeatAndCountThatIsUsed": `
			booked r9 zoe A1 GA*2
			staff block b1 A2              => ok b1 1
			anna place r1 A3 GA*3          => ok r1: A3 GA*3 until 15m for 220
			staff amend plan=small         => ok
			map bxhaaaaa GA 3+2/5
			anna place r2 A8               => SEAT_NOT_FOUND A8
			anna place r2 PIT*1            => SEAT_NOT_FOUND PIT
			anna place r2 GA*1             => INSUFFICIENT_INVENTORY GA=0/1
			staff amend plan=big           => ok
			map bxhaaaaaaaaa GA 3+2/12 PIT 0+0/4 BAR 0+0/3
			anna place r2 C1 A8 BAR*2      => ok r2: A8 C1 BAR*2 until 15m for 280
			anna release r1                => ok r1
			map bxaaaaahaaha GA 0+2/12 PIT 0+0/4 BAR 2+0/3`,
		"NamesEveryUsedSeatThatWouldVanish": `
			booked r9 zoe A7
			staff block b1 A8              => ok b1 1
			staff amend plan=small         => PLAN_IN_USE A7=booked A8=blocked
			staff unblock b1               => ok b1 1
			anna place r1 A8 A1            => ok r1: A1 A8 until 15m for 200
			staff amend plan=small         => PLAN_IN_USE A7=booked A8=held
			map haaaaabhaa GA 0+0/10 PIT 0+0/4`,
		"NoAreaThatIsUsedVanishes": `
			anna place r1 PIT*1            => ok r1: PIT*1 until 15m for 40
			staff amend plan=small         => PLAN_IN_USE
			anna release r1                => ok r1
			& staff amend plan=small       => ok
			map aaaaaaaa GA 0+0/5`,
		"NoAreaShrinksBelowItsUse": `
			booked r9 zoe GA*2
			staff place r1 GA*4            => ok r1: GA*4 until 15m for 160
			staff amend plan=small         => CAPACITY_IN_USE inUse=6
			staff change r1 -GA*1          => ok r1: GA*3 until 15m for 120
			& staff amend plan=small       => ok
			map aaaaaaaa GA 3+2/5`,
		"ClosesOverdueHoldsFirst": `
			staff place r1 A7 A1 PIT*2 GA*8 ttl=60 => ok r1: A1 A7 GA*8 PIT*2 until 1m for 600
			staff amend plan=small         => PLAN_IN_USE A7=held
			& anna place r2 A2             => ok r2: A2 until 15m for 100
			at 1m
			staff amend plan=small         => ok
			& anna place r3 A1 GA*4        => ok r3: A1 GA*4 until 16m for 260
			  log 3.0 reservation.expired system expired r1 active>expired A1=a A7=a GA-8 PIT-2 until 1m
			  log 3.1 show.changed staff staff
			  log 4.0 reservation.created anna buyer r3 >active A1=h GA+4 until 16m
			map hhaaaaaa GA 4+0/5`,
		"ToAndFroInOneBatch": `
			anna place r1 A7 A1 PIT*1 ttl=60 => ok r1: A1 A7 PIT*1 until 1m for 240
			anna place r2 A8               => ok r2: A8 until 15m for 100
			at 1m
			anna release r2                => ok r2
			& staff amend plan=big         => ok
			& bert place r3 C1 BAR*1       => ok r3: C1 BAR*1 until 16m for 140
			& bert release r3              => ok r3
			& staff amend plan=small       => ok
			& bert place r4 A7             => SEAT_NOT_FOUND A7
			& staff amend plan=hall        => ok
			& bert place r5 A7 A8 PIT*1    => ok r5: A7 A8 PIT*1 until 16m for 240
			map aaaaaahhaa GA 0+0/10 PIT 1+0/4
			bert release r5                => ok r5
			& staff amend plan=small       => ok
			& staff amend plan=hall        => ok
			& staff amend plan=small       => ok
			& staff amend plan=big         => ok
			map aaaaaaaaaaaa GA 0+0/12 PIT 0+0/4 BAR 0+0/3
			staff amend plan=small         => ok
			staff amend plan=hall          => ok
			& anna place r6 PIT*1          => ok r6: PIT*1 until 16m for 40
			& staff amend plan=big         => ok
			map aaaaaaaaaaaa GA 0+0/12 PIT 1+0/4 BAR 0+0/3`,
		"OnlyWithinItsHall": `
			staff amend plan=other         => VALIDATION_ERROR planId
			staff amend plan=hall          => ok`,
		"NeedsPricesForItsCategories": `
			staff amend without=floor plan=small => VALIDATION_ERROR prices
			map aaaaaaaaaa GA 0+0/10 PIT 0+0/4`,
	})
}

func TestAStockHasNoPlanToMoveFrom(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.terms.Plan, d.seats, d.seen = nil, map[int32]SeatRow{}, map[int32]byte{}
	for _, event := range []struct{ actor, text, want string }{
		{"anna", "place r1 GA*3", "ok r1: GA*3 until 15m for 120"},
		{"anna", "place r2 A1", "SEAT_NOT_FOUND A1"},
		{"staff", "amend plan=small", "CONFLICT"},
		{"staff", "amend price=5", "VALIDATION_ERROR prices prices"},
	} {
		outcomes, _ := d.decide(noon, command(event.actor, words(event.text)))
		if got := outcomeText(outcomes[0]); got != event.want {
			t.Errorf("%s: %s, want %s", event.text, got, event.want)
		}
	}
}

func TestCheckTerms(t *testing.T) {
	t.Parallel()
	terms := func(change func(*Terms)) *Terms {
		t := *newDatabase(t).terms
		t.Prices = prices()
		change(&t)
		return &t
	}
	for name, c := range map[string]struct {
		terms *Terms
		want  string
	}{
		"as they should be":  {terms(func(*Terms) {}), ""},
		"no price for seats": {terms(func(t *Terms) { delete(t.Prices, PriceKey{"box", "standard"}) }), "prices"},
		"no price for areas": {terms(func(t *Terms) { delete(t.Prices, PriceKey{"floor", "standard"}) }), "prices"},
		"another category":   {terms(func(t *Terms) { t.Prices[PriceKey{"royal", "standard"}] = 1 }), "prices"},
		"hold too long":      {terms(func(t *Terms) { t.HoldSeconds = 3600 }), "maxHoldSeconds"},
	} {
		got := ""
		if err := CheckTerms(c.terms, hallPlan.areas); err != nil {
			for _, v := range err.Facts.Violations {
				got += v.Field
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
