package boxoffice

import (
	"strings"
	"testing"
)

// A1 in each of its states before each command that wants it. b1 is a block of
// A1 and A2; r1 is a hold; it is 12:20, and r1 was held at 12:00 for 15 or 30
// minutes.
func TestSeatStates(t *testing.T) {
	t.Parallel()
	const block = "staff block b1 A1 A2 => ok b1 2\n"
	states := map[string]string{
		"available":     "at 20m",
		"held":          "staff place r1 A1 ttl=1800 => ok r1: A1 until 30m for 100\nat 20m",
		"overdue":       "anna place r1 A1 => ok r1: A1 until 15m for 100\nat 20m",
		"booked":        "booked r1 anna A1\nat 20m",
		"blocked":       block + "at 20m",
		"block-held":    block + "staff place r1 A1 from=b1 ttl=1800 => ok r1: A1 until 30m for 100\nat 20m",
		"block-overdue": block + "staff place r1 A1 from=b1 => ok r1: A1 until 15m for 100\nat 20m",
	}
	for line := range strings.Lines(`
		available     bert  place r2 A1         => ok r2: A1 until 35m for 100     | h
		available     staff place r2 A1 from=b1 => ok r2: A1 until 35m for 100     | h
		available     staff block b2 A1         => ok b2 1                         | x
		available     staff unblock A1          => VALIDATION_ERROR seats[0]       | a
		available     staff unblock b1          => NOT_FOUND                       | a

		held          bert  place r2 A1         => SEAT_ALREADY_RESERVED A1=held   | h
		held          staff place r2 A1 from=b1 => SEAT_ALREADY_RESERVED A1=held own=r1 | h
		held          staff block b2 A1         => SEAT_ALREADY_RESERVED A1=held   | h
		held          staff unblock A1          => VALIDATION_ERROR seats[0]       | h

		overdue       bert  place r2 A1         => ok r2: A1 until 35m for 100     | h
		overdue       staff place r2 A1 from=b1 => ok r2: A1 until 35m for 100     | h
		overdue       staff block b2 A1         => ok b2 1                         | x
		overdue       staff unblock A1          => VALIDATION_ERROR seats[0]       | a

		booked        bert  place r2 A1         => SEAT_ALREADY_RESERVED A1=booked | b
		booked        staff place r2 A1 from=b1 => SEAT_ALREADY_RESERVED A1=booked | b
		booked        staff block b2 A1         => SEAT_ALREADY_RESERVED A1=booked | b
		booked        staff unblock A1          => VALIDATION_ERROR seats[0]       | b

		blocked       bert  place r2 A1         => SEAT_ALREADY_RESERVED A1=blocked | x
		blocked       bert  place r2 A1 from=b1 => FORBIDDEN                       | x
		blocked       staff place r2 A1         => SEAT_ALREADY_RESERVED A1=blocked | x
		blocked       staff place r2 A1 from=b2 => SEAT_ALREADY_RESERVED A1=blocked | x
		blocked       staff place r2 A1 from=b1 => ok r2: A1 until 35m for 100     | h
		blocked       staff block b2 A1         => SEAT_ALREADY_RESERVED A1=blocked | x
		blocked       staff unblock A1          => ok 1                            | a
		blocked       staff unblock b1          => ok b1 2                         | a
		blocked       staff unblock b1 A2       => ok b1 2                         | a

		block-held    bert  place r2 A1         => SEAT_ALREADY_RESERVED A1=held   | h
		block-held    staff place r2 A1 from=b1 => SEAT_ALREADY_RESERVED A1=held own=r1 | h
		block-held    staff block b2 A1         => SEAT_ALREADY_RESERVED A1=held   | h
		block-held    staff unblock A1          => SEAT_ALREADY_RESERVED A1=held   | h
		block-held    staff unblock b1          => SEAT_ALREADY_RESERVED A1=held   | h
		block-held    staff unblock A2          => ok 1                            | h

		block-overdue bert  place r2 A1         => SEAT_ALREADY_RESERVED A1=blocked | x
		block-overdue staff place r2 A1 from=b1 => ok r2: A1 until 35m for 100     | h
		block-overdue staff block b2 A1         => SEAT_ALREADY_RESERVED A1=blocked | x
		block-overdue staff unblock A1          => ok 1                            | a
		block-overdue staff unblock b1          => ok b1 2                         | a
	`) {
		if len(words(line)) == 0 {
			continue
		}
		event, letter := split(strings.TrimSpace(line), "|")
		state, event := split(event, " ")
		t.Run(state+"/"+strings.Join(words(event)[:2], "-"), func(t *testing.T) {
			t.Parallel()
			d := play(t, states[state]+"\n"+event)
			if got := d.seatMap(noon.Add(duration("20m")))[:1]; got != letter {
				t.Errorf("%s: A1 is %s afterwards, want %s", event, got, letter)
			}
		})
	}
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"KeepSeatsOffSale": `
			staff block b1 A3 A1           => ok b1 2
			  log 1.0 place.blocked staff staff b1 available>blocked A1=x A3=x
			anna place r1 A2 A3            => SEAT_ALREADY_RESERVED A3=blocked
			map xaxaaaaaaa GA 0+0/10 PIT 0+0/4
			staff unblock b1               => ok b1 2
			  log 2.0 place.unblocked staff staff b1 blocked>available A1=a A3=a
			staff unblock b1               => ok
			anna place r1 A2 A3            => ok r1: A2 A3 until 15m for 200`,
		"AllOrNothing": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			staff block b1 A1 A2           => SEAT_ALREADY_RESERVED A1=held
			staff block b1 A2 Z9           => SEAT_NOT_FOUND Z9
			staff block b1 A2 A2           => VALIDATION_ERROR seats[1]
			staff block b1                 => VALIDATION_ERROR seats
			map haaaaaaaaa GA 0+0/10 PIT 0+0/4
			staff block b1 A2 A3           => ok b1 2
			staff unblock A2 A4            => VALIDATION_ERROR seats[1]
			staff unblock A2 A2            => VALIDATION_ERROR seats[1]
			staff unblock A2 Z9            => SEAT_NOT_FOUND Z9
			staff unblock b9               => NOT_FOUND
			map hxxaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"TakeBackWhatWasSoldFromThem": `
			staff block b1 A1 A2           => ok b1 2
			staff place r1 A1 A3 from=b1 for=anna => ok r1: A1 A3 until 15m for 200
			  log 2.0 reservation.created staff staff r1 b1 >active A1=h A3=h until 15m
			map hxhaaaaaaa GA 0+0/10 PIT 0+0/4
			anna release r1                => ok r1
			  log 3.0 reservation.cancelled anna buyer r1 b1 active>cancelled A1=x A3=a until 15m
			map xxaaaaaaaa GA 0+0/10 PIT 0+0/4
			staff place r2 A1 A2 from=b1 ttl=60 => ok r2: A1 A2 until 1m for 200
			at 1m
			map xxaaaaaaaa GA 0+0/10 PIT 0+0/4
			system expire 9                => ok 1
			  log 5.0 reservation.expired system swept r2 b1 active>expired A1=x A2=x until 1m`,
		"AreNotOpenToTheCustomerOfAHoldFromThem": `
			staff block b1 A1 A2 A3        => ok b1 3
			staff place r1 A1 A2 from=b1 for=anna => ok r1: A1 A2 until 15m for 200
			anna change r1 +A3             => SEAT_ALREADY_RESERVED A3=blocked
			staff change r1 +A3            => ok r1: A1 A2 A3 until 15m for 300
			anna change r1 -A1 +A1:child   => ok r1: A1:child A2 A3 until 15m for 250
			anna change r1 -A2             => ok r1: A1:child A3 until 15m for 150
			  log 5.0 reservation.changed anna buyer r1 b1 A2=x until 15m
			anna change r1 +A2             => SEAT_ALREADY_RESERVED A2=blocked
			anna release r1                => ok r1
			map xxxaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"CloseOverdueHoldsInTheirWay": `
			anna place r1 A1 A2 ttl=60     => ok r1: A1 A2 until 1m for 200
			at 1m
			staff block b1 A1              => ok b1 1
			  log 2.0 reservation.expired system expired r1 active>expired A1=a A2=a until 1m
			  log 2.1 place.blocked staff staff b1 available>blocked A1=x
			staff place r2 A1 from=b1 ttl=60 => ok r2: A1 until 2m for 100
			at 2m
			staff unblock A1               => ok 1
			  log 4.0 reservation.expired system expired r2 b1 active>expired A1=x until 2m
			  log 4.1 place.unblocked staff staff blocked>available A1=a
			map aaaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"WaitForNobodyOutsideTheLanes": `
			staff block b1 A1              => ok b1 1
			foreign A1 A2
			staff unblock A1               => SEAT_ALREADY_RESERVED A1=held
			staff block b2 A2              => SEAT_ALREADY_RESERVED A2=held`,
		"WorkInABatch": `
			staff block b1 A1 A2           => ok b1 2
			& anna place r1 A1             => SEAT_ALREADY_RESERVED A1=blocked
			& staff place r2 A1 from=b1    => ok r2: A1 until 15m for 100
			& staff unblock b1             => SEAT_ALREADY_RESERVED A1=held
			& staff unblock A2             => ok 1
			& anna place r1 A2             => ok r1: A2 until 15m for 100
			& staff release r2             => ok r2
			map xhaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"EndWithTheShow": `
			staff cancel                   => ok
			staff block b1 A1              => CONFLICT`,
	})
}

func TestSetAreaCapacity(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"NeverBelowWhatIsHeldAndBooked": `
			booked r9 zoe GA*3
			anna place r1 GA*5             => ok r1: GA*5 until 15m for 200
			staff capacity GA 7            => CAPACITY_IN_USE inUse=8
			staff capacity GA 8            => ok
			  log 2.0 show.changed staff staff GA+0
			bert place r2 GA*1             => INSUFFICIENT_INVENTORY GA=0/1
			staff capacity GA 9            => ok
			& bert place r2 GA*1           => ok r2: GA*1 until 15m for 40
			map aaaaaaaaaa GA 6+3/9 PIT 0+0/4
			staff capacity GA 9            => ok
			  log nothing`,
		"OverdueHoldsAreNotInUse": `
			staff place r1 GA*4 ttl=30     => ok r1: GA*4 until 30s for 160
			staff place r2 GA*4 ttl=20     => ok r2: GA*4 until 20s for 160
			staff place r3 GA*2            => ok r3: GA*2 until 15m for 80
			at 30s
			staff capacity GA 1            => CAPACITY_IN_USE inUse=2
			staff capacity GA 7            => ok
			  log 4.0 reservation.expired system expired r2 active>expired GA-4 until 20s
			  log 4.1 show.changed staff staff GA+0
			staff capacity GA 2            => ok
			map aaaaaaaaaa GA 2+0/2 PIT 0+0/4`,
		"DownToNothing": `
			staff capacity PIT 0           => ok
			anna place r1 PIT*1?           => INSUFFICIENT_INVENTORY PIT=0/1
			staff capacity BAR 5           => NOT_FOUND`,
	})
}
