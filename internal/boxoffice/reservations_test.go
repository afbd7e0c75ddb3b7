package boxoffice

import (
	"strings"
	"testing"
)

// A reservation in each of its states, before anna (its customer), bert
// (another) or staff gives each command. By then it is five minutes past noon,
// or twenty when the hold is overdue, expired or cancelled.
func TestReservationStates(t *testing.T) {
	t.Parallel()
	states := map[string]string{
		"active":    "anna place r1 A1 A2 GA*2 => ok r1: A1 A2 GA*2 until 15m for 280\nat 5m",
		"overdue":   "anna place r1 A1 A2 GA*2 => ok r1: A1 A2 GA*2 until 15m for 280\nat 20m",
		"expired":   "anna place r1 A1 A2 GA*2 => ok r1: A1 A2 GA*2 until 15m for 280\nat 20m\nsystem expire 9 => ok 1",
		"cancelled": "anna place r1 A1 A2 GA*2 => ok r1: A1 A2 GA*2 until 15m for 280\nanna release r1 => ok r1\nat 20m",
		"consumed":  "booked r1 anna A1 A2 GA*2\nat 5m",
	}
	for line := range strings.Lines(`
		active    anna  place r2 A1         => SEAT_ALREADY_RESERVED A1=held own=r1
		active    bert  place r2 A1         => SEAT_ALREADY_RESERVED A1=held
		active    staff place r2 A1         => SEAT_ALREADY_RESERVED A1=held
		active    staff place r2 A1 for=anna => SEAT_ALREADY_RESERVED A1=held own=r1
		active    anna  change r1 +A3 -A1   => ok r1: A2 A3 GA*2 until 15m for 280
		active    bert  change r1 +A3 -A1   => NOT_FOUND
		active    staff change r1 +A3 -A1   => ok r1: A2 A3 GA*2 until 15m for 280
		active    anna  extend r1           => ok r1: A1 A2 GA*2 until 20m for 280
		active    bert  extend r1           => NOT_FOUND
		active    staff extend r1           => ok r1: A1 A2 GA*2 until 20m for 280
		active    anna  release r1          => ok r1
		active    bert  release r1          => NOT_FOUND
		active    staff release r1          => ok r1
		active    system expire 9           => ok
		active    staff block b1 A1         => SEAT_ALREADY_RESERVED A1=held

		overdue   anna  place r2 A1         => ok r2: A1 until 35m for 100
		overdue   bert  place r2 A1         => ok r2: A1 until 35m for 100
		overdue   staff place r2 A1         => ok r2: A1 until 35m for 100
		overdue   anna  change r1 +A3 -A1   => RESERVATION_EXPIRED at 15m
		overdue   bert  change r1 +A3 -A1   => NOT_FOUND
		overdue   staff change r1 +A3 -A1   => RESERVATION_EXPIRED at 15m
		overdue   anna  extend r1           => RESERVATION_EXPIRED at 15m
		overdue   bert  extend r1           => NOT_FOUND
		overdue   staff extend r1           => RESERVATION_EXPIRED at 15m
		overdue   anna  release r1          => ok r1
		overdue   bert  release r1          => NOT_FOUND
		overdue   staff release r1          => ok r1
		overdue   system expire 9           => ok 1
		overdue   staff block b1 A1         => ok b1 1

		expired   anna  place r2 A1         => ok r2: A1 until 35m for 100
		expired   bert  place r2 A1         => ok r2: A1 until 35m for 100
		expired   staff place r2 A1         => ok r2: A1 until 35m for 100
		expired   anna  change r1 +A3 -A1   => RESERVATION_EXPIRED at 15m
		expired   bert  change r1 +A3 -A1   => NOT_FOUND
		expired   staff change r1 +A3 -A1   => RESERVATION_EXPIRED at 15m
		expired   anna  extend r1           => RESERVATION_EXPIRED at 15m
		expired   bert  extend r1           => NOT_FOUND
		expired   staff extend r1           => RESERVATION_EXPIRED at 15m
		expired   anna  release r1          => ok r1
		expired   bert  release r1          => NOT_FOUND
		expired   staff release r1          => ok r1
		expired   system expire 9           => ok
		expired   staff block b1 A1         => ok b1 1

		cancelled anna  place r2 A1         => ok r2: A1 until 35m for 100
		cancelled bert  place r2 A1         => ok r2: A1 until 35m for 100
		cancelled staff place r2 A1         => ok r2: A1 until 35m for 100
		cancelled anna  change r1 +A3 -A1   => RESERVATION_NOT_ACTIVE cancelled
		cancelled bert  change r1 +A3 -A1   => NOT_FOUND
		cancelled staff change r1 +A3 -A1   => RESERVATION_NOT_ACTIVE cancelled
		cancelled anna  extend r1           => RESERVATION_NOT_ACTIVE cancelled
		cancelled bert  extend r1           => NOT_FOUND
		cancelled staff extend r1           => RESERVATION_NOT_ACTIVE cancelled
		cancelled anna  release r1          => ok r1
		cancelled bert  release r1          => NOT_FOUND
		cancelled staff release r1          => ok r1
		cancelled system expire 9           => ok
		cancelled staff block b1 A1         => ok b1 1

		consumed  anna  place r2 A1         => SEAT_ALREADY_RESERVED A1=booked
		consumed  bert  place r2 A1         => SEAT_ALREADY_RESERVED A1=booked
		consumed  staff place r2 A1         => SEAT_ALREADY_RESERVED A1=booked
		consumed  anna  change r1 +A3 -A1   => RESERVATION_NOT_ACTIVE consumed booking-r1
		consumed  bert  change r1 +A3 -A1   => NOT_FOUND
		consumed  staff change r1 +A3 -A1   => RESERVATION_NOT_ACTIVE consumed booking-r1
		consumed  anna  extend r1           => RESERVATION_NOT_ACTIVE consumed booking-r1
		consumed  bert  extend r1           => NOT_FOUND
		consumed  staff extend r1           => RESERVATION_NOT_ACTIVE consumed booking-r1
		consumed  anna  release r1          => RESERVATION_NOT_ACTIVE consumed booking-r1
		consumed  bert  release r1          => NOT_FOUND
		consumed  staff release r1          => RESERVATION_NOT_ACTIVE consumed booking-r1
		consumed  system expire 9           => ok
		consumed  staff block b1 A1         => SEAT_ALREADY_RESERVED A1=booked
	`) {
		if len(words(line)) == 0 {
			continue
		}
		state, event := split(strings.TrimSpace(line), " ")
		t.Run(state+"/"+strings.Join(words(event)[:2], "-"), func(t *testing.T) {
			t.Parallel()
			play(t, states[state]+"\n"+event)
		})
	}
}

func TestPlaceReservation(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"HoldsSeatsAndUnitsAtTheirPrices": `
			anna place r1 A2:child A1 B1 GA*1 GA*1:child => ok r1: A1 A2:child B1 GA*1:child GA*1 until 15m for 510
			  log 1.0 reservation.created anna buyer r1 >active A1=h A2=h B1=h GA+2 until 15m
			map hhaaaaaaha GA 2+0/10 PIT 0+0/4`,
		"LosesToAnEarlierHold": `
			anna place r1 A1 A2            => ok r1: A1 A2 until 15m for 200
			bert place r2 A3 A2 A1         => SEAT_ALREADY_RESERVED A2=held A1=held
			map hhaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"OneOfTwoOverlappingInABatchWins": `
			anna place r1 A1 A2            => ok r1: A1 A2 until 15m for 200
			& bert place r2 A2 A1          => SEAT_ALREADY_RESERVED A2=held A1=held
			& carl place r3 A3             => ok r3: A3 until 15m for 100`,
		"ARefusedOneHoldsNothing": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			bert place r2 A1 A2 GA*2       => SEAT_ALREADY_RESERVED A1=held
			map haaaaaaaaa GA 0+0/10 PIT 0+0/4
			carl place r3 A2               => ok r3: A2 until 15m for 100`,
		"SaysAllThatStandsInTheWay": `
			booked r9 zoe A3 GA*8
			staff block b1 A4              => ok b1 1
			anna place r1 A1               => ok r1: A1 until 15m for 100
			bert place r2 A1 A2 A3 A4 GA*3 => TOO_MANY_SEATS limit=5 requested=7
			staff place r2 A1 A2 A3 A4 GA*3 => SEAT_ALREADY_RESERVED A1=held A3=booked A4=blocked GA=2/3`,
		"ASeatLockedByOutsidersIsTaken": `
			foreign A1
			anna place r1 A1               => SEAT_ALREADY_RESERVED A1=held
			anna place r1 A2               => ok r1: A2 until 15m for 100`,
		"UnknownPlacesAreNamedAsSent": `
			anna place r1 A1 Z9 VIP*2      => SEAT_NOT_FOUND Z9 VIP`,
		"UnknownTicketTypesAreNamed": `
			anna place r1 A1 A2:senior B1:child GA*1:dog => VALIDATION_ERROR seats[1].ticketType seats[2].ticketType areas[0].ticketType`,
		"ASeatNamedTwiceIsMalformed": `
			anna place r1 A1 A2 A1         => VALIDATION_ERROR seats[2]
			anna place r1 A1 A2 A1 A2 A1   => VALIDATION_ERROR seats[4] seats[3]
			map aaaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"AnAreaNamedTwiceIsSummed": `
			anna place r1 GA*1 GA*2        => ok r1: GA*3 until 15m for 120
			staff place r2 GA*4 GA*4       => INSUFFICIENT_INVENTORY GA=7/8
			staff place r2 GA*4 GA*4:child => INSUFFICIENT_INVENTORY GA=7/8
			bert place r2 GA*2 GA*2:child  => ok r2: GA*2:child GA*2 until 15m for 120`,
		"NothingIsMalformed": `
			anna place r1                  => VALIDATION_ERROR seats`,
		"TwoPoolsAreTwoPools": `
			staff place r1 GA*10           => ok r1: GA*10 until 15m for 400
			anna place r2 GA*1 PIT*5       => TOO_MANY_SEATS limit=5 requested=6
			anna place r2 PIT*4 GA*1       => INSUFFICIENT_INVENTORY GA=0/1
			anna place r2 PIT*4            => ok r2: PIT*4 until 15m for 160`,

		// Rule 2.
		"PartOfAnAreaWhenAllowed": `
			staff place r1 GA*8            => ok r1: GA*8 until 15m for 320
			anna place r2 GA*5?            => ok r2: GA*2 of 5 until 15m for 80
			bert place r3 GA*1?            => INSUFFICIENT_INVENTORY GA=0/1
			bert place r3 A1 GA*1?         => INSUFFICIENT_INVENTORY GA=0/1
			bert place r3 PIT*1? GA*1?     => INSUFFICIENT_INVENTORY GA=0/1
			map aaaaaaaaaa GA 10+0/10 PIT 0+0/4`,
		"PartIsForAreasNotForSeats": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			bert place r2 A1 A2 GA*3?      => SEAT_ALREADY_RESERVED A1=held`,
		"OneLineMayBePartialTheOtherNot": `
			staff place r1 GA*7            => ok r1: GA*7 until 15m for 280
			anna place r2 GA*2 GA*3:child? => ok r2: GA*1:child of 3 GA*2 until 15m for 100
			map aaaaaaaaaa GA 10+0/10 PIT 0+0/4`,

		// How long, how many.
		"CustomersChooseUpToTheShowsLength": `
			anna place r1 A1 ttl=1         => ok r1: A1 until 1s for 100
			anna place r2 A2 ttl=900       => ok r2: A2 until 15m for 100
			anna place r3 A3 ttl=901       => VALIDATION_ERROR ttlSeconds`,
		"StaffChooseUpToTheLongest": `
			staff place r1 A1 ttl=1800     => ok r1: A1 until 30m for 100
			staff place r2 A2 ttl=1801     => VALIDATION_ERROR ttlSeconds`,
		"StaffAreNotHeldToPlacesPerReservation": `
			staff amend perCustomer=2 => ok
			anna place r1 A1 A2 A3 A4 A5 A6 => TOO_MANY_SEATS limit=5 requested=6
			anna place r1 GA*6              => TOO_MANY_SEATS limit=5 requested=6
			anna place r1 A1 GA*5           => TOO_MANY_SEATS limit=5 requested=6
			staff place r1 A1 A2 A3 A4 A5 A6 GA*3 for=anna => ok r1: A1 A2 A3 A4 A5 A6 GA*3 until 15m for 720`,
		"PerCustomerCountsHoldsAndBookings": `
			staff amend perCustomer=4      => ok
			booked r9 anna A8
			anna place r1 A1 GA*1 ttl=60   => ok r1: A1 GA*1 until 1m for 140
			anna place r2 A3 A4            => CUSTOMER_LIMIT_REACHED limit=4 held=3
			& bert place r3 A3 A4          => ok r3: A3 A4 until 15m for 200
			& anna place r4 A5             => ok r4: A5 until 15m for 100
			& anna place r5 A6             => CUSTOMER_LIMIT_REACHED limit=4 held=4
			& anna release r4              => ok r4
			& anna place r5 A6             => ok r5: A6 until 15m for 100
			at 1m                          # r1 is over, though nobody has closed it
			anna place r6 A7 A1            => ok r6: A1 A7 until 16m for 200
			anna place r7 GA*1             => CUSTOMER_LIMIT_REACHED limit=4 held=4
			staff place r8 GA*1 for=anna   => ok r8: GA*1 until 16m for 40
			anna place r7 GA*1             => CUSTOMER_LIMIT_REACHED limit=4 held=5`,
		"ALimitSetInTheSameBatchCounts": `
			anna place r1 A1 A2            => ok r1: A1 A2 until 15m for 200
			& staff amend perCustomer=2    => ok
			& anna place r2 A3             => CUSTOMER_LIMIT_REACHED limit=2 held=2`,

		// The order of refusals.
		"RefusalsComeInTheirOrder": `
			booked r9 zoe A1
			staff amend perCustomer=1      => ok
			staff pause                    => ok
			anna place r9 Z9 A1 A2 A1 A3 A4 A5 ttl=901 from=b1 => FORBIDDEN
			anna place r9 Z9 A1 A2 A1 A3 A4 A5 ttl=901 => VALIDATION_ERROR seats[3] ttlSeconds
			anna place r1 Z9 A1 A2 A3 A4 A5 => SHOW_NOT_ON_SALE paused
			staff resume                   => ok
			anna place r1 Z9 A1 A2 A3 A4 A5 => TOO_MANY_SEATS limit=5 requested=6
			anna place r1 Z9 A1:dog A2 A3  => SEAT_NOT_FOUND Z9
			anna place r1 A1:dog A2 A3     => VALIDATION_ERROR seats[0].ticketType
			anna place r1 A1 A2 A3         => CUSTOMER_LIMIT_REACHED limit=1 held=0
			anna place r1 A1               => SEAT_ALREADY_RESERVED A1=booked`,
	})
}

// An overdue hold is free for the next one from its very instant, and is
// closed by whoever needs its places.
func TestOverdueHolds(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"EndToTheMicrosecond": `
			anna place r1 A1 GA*10? => TOO_MANY_SEATS limit=5 requested=11
			staff place r1 A1 GA*10        => ok r1: A1 GA*10 until 15m for 500
			at 14m59.999999s
			map haaaaaaaaa GA 10+0/10 PIT 0+0/4
			bert place r2 A1               => SEAT_ALREADY_RESERVED A1=held
			bert place r2 GA*1             => INSUFFICIENT_INVENTORY GA=0/1
			system expire 9                => ok
			at 15m
			map aaaaaaaaaa GA 10+0/10 PIT 0+0/4
			bert place r2 A1 GA*1          => ok r2: A1 GA*1 until 30m for 140
			  log 2.0 reservation.expired system expired r1 active>expired A1=a GA-10 until 15m
			  log 2.1 reservation.created bert buyer r2 >active A1=h GA+1 until 30m
			map haaaaaaaaa GA 1+0/10 PIT 0+0/4`,
		"GiveBackAllTheirPlacesWhenOneIsWanted": `
			anna place r1 A1 A2 A3 GA*2    => ok r1: A1 A2 A3 GA*2 until 15m for 380
			at 15m
			bert place r2 A2               => ok r2: A2 until 30m for 100
			map ahaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"SeveralInTheWayAreClosedOnceEach": `
			anna place r1 A1 A2 ttl=60     => ok r1: A1 A2 until 1m for 200
			bert place r2 A3 ttl=30        => ok r2: A3 until 30s for 100
			at 1m
			carl place r3 A3 A1 A2         => ok r3: A1 A2 A3 until 16m for 300
			  log 3.0 reservation.expired system expired r2 active>expired A3=a until 30s
			  log 3.1 reservation.expired system expired r1 active>expired A1=a A2=a until 1m
			  log 3.2 reservation.created carl buyer r3 >active A1=h A2=h A3=h until 16m`,
		"AreClosedInAreasOldestFirstAndNoMoreThanNeeded": `
			staff place r1 GA*3 ttl=30     => ok r1: GA*3 until 30s for 120
			staff place r2 GA*3 ttl=20     => ok r2: GA*3 until 20s for 120
			staff place r3 GA*3 ttl=40     => ok r3: GA*3 until 40s for 120
			at 1m
			bert place r4 GA*1             => ok r4: GA*1 until 16m for 40
			  log 4.0 reservation.created bert buyer r4 >active GA+1 until 16m
			bert place r5 GA*4             => ok r5: GA*4 until 16m for 160
			  log 5.0 reservation.expired system expired r2 active>expired GA-3 until 20s
			  log 5.1 reservation.expired system expired r1 active>expired GA-3 until 30s
			  log 5.2 reservation.created bert buyer r5 >active GA+4 until 16m
			map aaaaaaaaaa GA 8+0/10 PIT 0+0/4
			bert place r6 GA*5?            => ok r6: GA*5 until 16m for 200
			map aaaaaaaaaa GA 10+0/10 PIT 0+0/4`,
		"OneThatHasBothSeatAndUnitsIsClosedOnce": `
			staff place r1 A1 GA*8 PIT*4   => ok r1: A1 GA*8 PIT*4 until 15m for 580
			staff place r2 GA*2 ttl=60     => ok r2: GA*2 until 1m for 80
			at 20m
			bert place r3 A1 GA*3 PIT*1    => ok r3: A1 GA*3 PIT*1 until 35m for 260
			  log 3.0 reservation.expired system expired r1 active>expired A1=a GA-8 PIT-4 until 15m
			  log 3.1 reservation.created bert buyer r3 >active A1=h GA+3 PIT+1 until 35m
			map haaaaaaaaa GA 5+0/10 PIT 1+0/4`,
		"OneThatSpansTwoAreasHelpsBoth": `
			staff place r1 GA*5 PIT*2 ttl=30 => ok r1: GA*5 PIT*2 until 30s for 280
			staff place r2 GA*5 PIT*2 ttl=60 => ok r2: GA*5 PIT*2 until 1m for 280
			at 1m
			bert place r3 PIT*1 GA*3       => ok r3: GA*3 PIT*1 until 16m for 160
			  log 3.0 reservation.expired system expired r1 active>expired GA-5 PIT-2 until 30s
			  log 3.1 reservation.created bert buyer r3 >active GA+3 PIT+1 until 16m
			staff place r4 PIT*2 GA*7      => ok r4: GA*7 PIT*2 until 16m for 360
			map aaaaaaaaaa GA 10+0/10 PIT 3+0/4`,
		"StayWhenTheCommandIsRefused": `
			anna place r1 A1 ttl=60        => ok r1: A1 until 1m for 100
			bert place r2 A2               => ok r2: A2 until 15m for 100
			at 1m
			carl place r3 A1 A2            => SEAT_ALREADY_RESERVED A2=held
			system expire 9                => ok 1`,
		"AreTidiedOldestFirst": `
			anna place r1 A1 ttl=3         => ok r1: A1 until 3s for 100
			anna place r2 A2 ttl=1         => ok r2: A2 until 1s for 100
			anna place r3 A3 ttl=2         => ok r3: A3 until 2s for 100
			anna place r4 A4               => ok r4: A4 until 15m for 100
			at 3s
			system expire 2                => ok 2
			  log 5.0 reservation.expired system swept r2 active>expired A2=a until 1s
			  log 5.1 reservation.expired system swept r3 active>expired A3=a until 2s
			system expire 2                => ok 1
			system expire 2                => ok
			& carl place r5 A1 A2 A3       => ok r5: A1 A2 A3 until 15m3s for 300`,
		"TwoTidyingInOneBatchShareTheWork": `
			anna place r1 A1 ttl=1         => ok r1: A1 until 1s for 100
			anna place r2 A2 ttl=2         => ok r2: A2 until 2s for 100
			at 2s
			system expire 1                => ok 1
			& system expire 5              => ok 1
			& system expire 5              => ok`,
	})
}

func TestChangeReservation(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"AddsAndRemovesAndKeepsEndAndPrices": `
			anna place r1 A1 A2 GA*1       => ok r1: A1 A2 GA*1 until 15m for 240
			staff amend price=7            => ok
			at 5m
			anna change r1 +A3 -A1 +GA*1   => ok r1: A2 A3 GA*1 GA*1 until 15m for 154
			  log 3.0 reservation.changed anna buyer r1 A1=a A3=h GA+1 until 15m
			map ahhaaaaaaa GA 2+0/10 PIT 0+0/4
			anna change r1 -GA*1           => ok r1: A2 A3 GA*1 until 15m for 114  # the dearer unit went
			bert place r2 A1               => ok r2: A1 until 20m for 7`,
		"WhatItRemovesTheNextMayTakeInTheSameBatch": `
			anna place r1 A1 A2            => ok r1: A1 A2 until 15m for 200
			anna change r1 -A1             => ok r1: A2 until 15m for 100
			& bert place r2 A1             => ok r2: A1 until 15m for 100
			& anna change r1 +A1           => SEAT_ALREADY_RESERVED A1=held
			map hhaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"AllOrNothing": `
			anna place r1 A1 A2            => ok r1: A1 A2 until 15m for 200
			bert place r2 A3               => ok r2: A3 until 15m for 100
			anna change r1 +A3 +A4 -A1 +GA*2 => SEAT_ALREADY_RESERVED A3=held
			map hhhaaaaaaa GA 0+0/10 PIT 0+0/4
			anna release r1                => ok r1
			  log 3.0 reservation.cancelled anna buyer r1 active>cancelled A1=a A2=a until 15m`,
		"ASeatRemovedAndAddedChangesItsTicketType": `
			anna place r1 A1 A2            => ok r1: A1 A2 until 15m for 200
			anna change r1 -A1 +A1:child   => ok r1: A1:child A2 until 15m for 150
			  log 2.0 reservation.changed anna buyer r1 A1=h until 15m
			anna change r1 +A1             => SEAT_ALREADY_RESERVED A1=held own=r1`,
		"UnitsRemovedAndAddedChangeTheirTicketType": `
			staff place r1 GA*10           => ok r1: GA*10 until 15m for 400
			staff change r1 -GA*4 +GA*4:child => ok r1: GA*4:child GA*6 until 15m for 320
			  log 2.0 reservation.changed staff staff r1 GA+0 until 15m
			staff change r1 -GA*4 +GA*5:child => INSUFFICIENT_INVENTORY GA=4/5
			staff change r1 -GA*4 +GA*5:child? => ok r1: GA*8:child of 9 GA*2 until 15m for 240`,
		"RemovesInAnyOrder": `
			anna place r1 A1 A2 A3 A4      => ok r1: A1 A2 A3 A4 until 15m for 400
			anna change r1 -A4 -A1 -A2     => ok r1: A3 until 15m for 100
			map aahaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"TheLastPlaceStays": `
			anna place r1 A1 GA*1          => ok r1: A1 GA*1 until 15m for 140
			anna change r1 -A1 -GA*1       => VALIDATION_ERROR remove
			anna change r1 -A1             => ok r1: GA*1 until 15m for 40
			anna change r1 -GA*1           => VALIDATION_ERROR remove
			anna change r1 -GA*1 +A1       => ok r1: A1 until 15m for 100`,
		"OnlyWhatItHasCanBeRemoved": `
			anna place r1 A1 GA*1          => ok r1: A1 GA*1 until 15m for 140
			bert place r2 A2               => ok r2: A2 until 15m for 100
			anna change r1 -A2 -GA*2 -Z9   => VALIDATION_ERROR remove.seats[0] remove.seats[1] remove.areas[0]
			anna change r1 -GA*1:child     => VALIDATION_ERROR remove.areas[0]
			anna change r1 -GA*1 -GA*1     => VALIDATION_ERROR remove.areas[1]`,
		"NamesEachSeatOnce": `
			anna place r1 A1 A2 A3 A4 A5   => ok r1: A1 A2 A3 A4 A5 until 15m for 500
			anna change r1 -A1 -A1 +A6 +A7 => VALIDATION_ERROR remove.seats[1]
			anna change r1 -A1 -A2 +A6 +A6 => VALIDATION_ERROR add.seats[1]
			anna change r1                 => VALIDATION_ERROR add`,
		"GrowsToTheLimitAndNoFurther": `
			anna place r1 A1 A2 A3 A4      => ok r1: A1 A2 A3 A4 until 15m for 400
			anna change r1 +A5 +A6         => TOO_MANY_SEATS limit=5 requested=6
			anna change r1 +A5 +GA*2 -A1   => TOO_MANY_SEATS limit=5 requested=6
			anna change r1 +A5 +A6 -A1     => ok r1: A2 A3 A4 A5 A6 until 15m for 500
			staff change r1 +A1            => ok r1: A1 A2 A3 A4 A5 A6 until 15m for 600
			anna change r1 -A1 +A1:child   => ok r1: A1:child A2 A3 A4 A5 A6 until 15m for 550  # no larger than before`,
		"CountsTowardsTheCustomersLimit": `
			staff amend perCustomer=3      => ok
			anna place r1 A1 A2            => ok r1: A1 A2 until 15m for 200
			anna change r1 +A3 +A4 -A1     => ok r1: A2 A3 A4 until 15m for 300
			& anna change r1 +A5           => CUSTOMER_LIMIT_REACHED limit=3 held=3
			& anna change r1 -A2           => ok r1: A3 A4 until 15m for 200
			& anna place r2 A5             => ok r2: A5 until 15m for 100
			& anna place r3 A6             => CUSTOMER_LIMIT_REACHED limit=3 held=3
			staff amend perCustomer=1      => ok
			anna change r1 -A3 +A1         => ok r1: A1 A4 until 15m for 200`,
		"ClosesOverdueHoldsInItsWay": `
			bert place r1 A1 GA*5 ttl=60   => TOO_MANY_SEATS limit=5 requested=6
			staff place r1 A1 GA*9 ttl=60  => ok r1: A1 GA*9 until 1m for 460
			anna place r2 A2 GA*1          => ok r2: A2 GA*1 until 15m for 140
			at 1m
			anna change r2 +GA*1 -A2       => ok r2: GA*2 until 15m for 80
			  log 3.0 reservation.expired system expired r1 active>expired A1=a GA-9 until 1m
			  log 3.1 reservation.changed anna buyer r2 A2=a GA+1 until 15m`,
		"RemovingNeedsNoOpenSale": `
			anna place r1 A1 A2            => ok r1: A1 A2 until 15m for 200
			staff pause                    => ok
			anna change r1 -A1 +A3         => SHOW_NOT_ON_SALE paused
			anna change r1 -A1             => ok r1: A2 until 15m for 100
			staff cancel                   => ok
			anna change r1 -A2             => VALIDATION_ERROR remove
			anna release r1                => ok r1`,
		"RefusalsComeInTheirOrder": `
			anna place r1 A1 ttl=60        => ok r1: A1 until 1m for 100
			at 1m
			staff pause                    => ok
			bert change r1 +A2 +A2         => VALIDATION_ERROR add.seats[1]
			bert change r1 +A2 +A3 +A4 +A5 +A6 +Z9 => NOT_FOUND
			anna change r1 +A2 +A3 +A4 +A5 +A6 +Z9 => SHOW_NOT_ON_SALE paused
			staff resume                   => ok
			anna change r1 +A2 +A3 +A4 +A5 +A6 +Z9 => TOO_MANY_SEATS limit=5 requested=7
			anna change r1 +A2 +Z9 -A7     => RESERVATION_EXPIRED at 1m`,
	})
}

func TestExtendReservation(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"ByItsLengthNeverPastTheCap": `
			anna place r1 A1 GA*1          => ok r1: A1 GA*1 until 15m for 140
			at 10m
			anna extend r1                 => ok r1: A1 GA*1 until 25m for 140
			  log 2.0 reservation.extended anna buyer r1 A1=h until 25m
			at 20m
			anna extend r1                 => ok r1: A1 GA*1 until 30m for 140
			anna extend r1                 => EXTENSION_LIMIT_REACHED max 30m
			at 29m59.999999s
			bert place r2 A1               => SEAT_ALREADY_RESERVED A1=held
			at 30m
			anna extend r1                 => RESERVATION_EXPIRED at 30m
			bert place r2 A1               => ok r2: A1 until 45m for 100`,
		"AShortHoldByItsOwnLength": `
			anna place r1 A1 ttl=60        => ok r1: A1 until 1m for 100
			at 30s
			anna extend r1                 => ok r1: A1 until 1m30s for 100`,
		"InTheSameInstantChangesNothing": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			& anna extend r1               => ok r1: A1 until 15m for 100
			anna extend r1                 => ok r1: A1 until 15m for 100
			at 5m
			anna extend r1                 => ok r1: A1 until 20m for 100
			& anna extend r1               => ok r1: A1 until 20m for 100
			bert place r2 A2               => ok r2: A2 until 20m for 100
			  log 3.0 reservation.created bert buyer r2 >active A2=h until 20m`,
		"ALongStaffHoldStaysWithinItself": `
			staff place r1 A1 ttl=1800     => ok r1: A1 until 30m for 100
			staff amend hold=60 maxHold=60 => ok
			at 10m
			staff extend r1                => EXTENSION_LIMIT_REACHED max 30m`,
		"NotWhileSalesAreClosed": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			at 5m
			staff pause                    => ok
			anna extend r1                 => SHOW_NOT_ON_SALE paused
			bert extend r1                 => NOT_FOUND
			staff resume                   => ok
			& anna extend r1               => ok r1: A1 until 20m for 100`,
	})
}

func TestReleaseReservation(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"FreesAtOnceAndOnlyOnce": `
			anna place r1 A1 A2 GA*3       => ok r1: A1 A2 GA*3 until 15m for 320
			anna release r1                => ok r1
			  log 2.0 reservation.cancelled anna buyer r1 active>cancelled A1=a A2=a GA-3 until 15m
			& bert place r2 A1             => ok r2: A1 until 15m for 100
			  log 3.0 reservation.created bert buyer r2 >active A1=h until 15m
			& anna release r1              => ok r1
			anna release r1                => ok r1
			map haaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"PlacedReleasedAndPlacedAgainInOneBatch": `
			anna place r1 A1 GA*2          => ok r1: A1 GA*2 until 15m for 180
			& bert place r2 A1             => SEAT_ALREADY_RESERVED A1=held
			& staff release r1             => ok r1
			& bert place r2 A1             => ok r2: A1 until 15m for 100
			& bert release r1              => NOT_FOUND
			  log 1.0 reservation.created anna buyer r1 >active A1=h GA+2 until 15m
			  log 2.0 reservation.cancelled staff staff r1 active>cancelled A1=a GA-2 until 15m
			  log 3.0 reservation.created bert buyer r2 >active A1=h until 15m
			map haaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"ALiveHoldsSeatGoesToTheNextInOneBatch": `
			anna place r1 A1 A2            => ok r1: A1 A2 until 15m for 200
			anna release r1                => ok r1
			& bert place r2 A1             => ok r2: A1 until 15m for 100
			& bert release r2              => ok r2
			& carl place r3 A1             => ok r3: A1 until 15m for 100
			map haaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"IsAlwaysAllowed": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			bert place r2 A2               => ok r2: A2 until 15m for 100
			staff pause                    => ok
			anna release r1                => ok r1
			staff cancel                   => ok
			bert release r2                => ok r2
			map aaaaaaaaaa GA 0+0/10 PIT 0+0/4`,
	})
}
