package boxoffice

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// soldOut is a show all of whose places are bought: A1-A4 by one, the other
// seats and the areas by others.
const soldOut = `
	staff place r1 A1 A2 for=anna                      => ok r1: A1 A2 until 15m for 200
	& staff place r2 A3 A4 for=bert                    => ok r2: A3 A4 until 15m for 200
	& staff place r3 A5 A6 A7 A8 B1 B2 GA*10 for=carl  => ok r3: A5 A6 A7 A8 B1 B2 GA*10 until 15m for 1400
	& staff place r4 PIT*4 for=dora                    => ok r4: PIT*4 until 15m for 160
	staff confirm r1 p1 comp                           => ok r1 k1 confirmed
	& staff confirm r2 p2 comp                         => ok r2 k2 confirmed
	& staff confirm r3 p3 comp                         => ok r3 k3 confirmed
	& staff confirm r4 p4 comp                         => ok r4 k4 confirmed
`

func TestWaitlist(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"the earliest entry that the places do for is offered them, and the others are told why not": soldOut + `
			emil join w501 4       => ok w501 1 sold_out 0
			fred join w502 2       => ok w502 2 sold_out 0
			gert join w503 2       => ok w503 3 sold_out 0
			entry w501 waiting sold_out 0
			staff cancel k1 1 2 override => ok r1 k1 cancelled
			log 12.0 ticket.void staff staff r1 k1 k1.1 k1.2 valid>void A1=a A2=a
			log 12.1 booking.cancelled staff staff r1 k1 confirmed>cancelled
			log 13.0 reservation.created system waitlist r502 >active A1=h A2=h until 10m
			tasks mail cancellation k1 of [1 2]; mail offer w502
			entry w501 waiting too_few_left 2
			entry w502 offered A1 A2 until 10m
			entry w503 waiting others_first 2
			map hhbbbbbbbb GA 0+10/10 PIT 0+4/4`,
		"an offer is a hold like any other, for the show's offer length, and is not extended": soldOut + `
			staff amend offer=1200 => ok
			emil join w501 1       => ok w501 1 sold_out 0
			staff cancel k1 1 override => ok r1 k1 confirmed
			hold r501 active until 20m
			at 1m
			fred release r501      => NOT_FOUND
			emil extend r501       => EXTENSION_LIMIT_REACHED max 20m
			emil begin r501 p501   => ok r501: A1 until 20m for 100 k501 pending p501`,
		"an offer that nobody came for passes on at its end": soldOut + `
			emil join w501 2       => ok w501 1 sold_out 0
			fred join w502 1       => ok w502 2 sold_out 0
			gert join w503 1       => ok w503 3 sold_out 0
			staff cancel k1 1 2 override => ok r1 k1 cancelled
			at 10m
			entry w501 lapsed
			staff expire 500       => ok 1
			entry w501 lapsed
			entry w502 offered A2 until 20m  # of the two the first in the plan
			entry w503 offered A1 until 20m`,
		"who joins is behind those who waited, also within one batch": soldOut + `
			emil join w501 1       => ok w501 1 sold_out 0
			fred join w502 1       => ok w502 2 sold_out 0
			& staff cancel k1 1 override => ok r1 k1 confirmed
			entry w501 offered A1 until 10m
			entry w502 waiting others_first 1`,
		"an offer that was let go passes on at once, and its entry is over": soldOut + `
			emil join w501 2       => ok w501 1 sold_out 0
			fred join w502 2       => ok w502 2 sold_out 0
			staff cancel k1 1 2 override => ok r1 k1 cancelled
			emil release r501      => ok r501
			entry w501 declined
			entry w502 offered A1 A2 until 10m
			fred leave w502        => ok w502
			entry w502 declined
			fred leave w502        => ok w502
			emil join w503 2       => PLACES_AVAILABLE available=2`,
		"what was bought is spent, whatever becomes of it": soldOut + `
			emil join w501 1       => ok w501 1 sold_out 0
			fred join w502 1       => ok w502 2 sold_out 0
			staff cancel k1 1 override => ok r1 k1 confirmed
			emil begin r501 p501   => ok r501: A1 until 10m for 100 k501 pending p501
			gate settle p501 ok    => ok r501 k501 confirmed p501 succeeded
			entry w501 accepted
			staff cancel k501 override => ok r501 k501 cancelled
			entry w501 accepted
			entry w502 offered A1 until 10m`,
		"only a late payment still accepts an offer that has lapsed": soldOut + `
			emil join w501 1       => ok w501 1 sold_out 0
			staff cancel k1 1 override => ok r1 k1 confirmed
			emil begin r501 p501   => ok r501: A1 until 10m for 100 k501 pending p501
			at 15m
			staff expire 500       => ok 1
			entry w501 lapsed
			gate settle p501 ok    => ok r501 k501 confirmed p501 succeeded late booked
			entry w501 accepted`,
		"a late payment loses to those who waited when they were asked before": soldOut + `
			fred join w502 1       => ok w502 1 sold_out 0
			staff cancel k1 1 override => ok r1 k1 confirmed
			fred begin r502 p502   => ok r502: A1 until 10m for 100 k502 pending p502
			gert join w503 1       => ok w503 1 sold_out 0
			at 15m
			staff expire 500       => ok 1
			entry w503 offered A1 until 25m
			gate settle p502 ok    => ok r502 k502 failed p502 succeeded late refunded
			entry w502 lapsed`,
		"nobody gets between those who wait and what becomes free": soldOut + `
			emil join w501 1       => ok w501 1 sold_out 0
			staff cancel k1 1 override => ok r1 k1 confirmed
			& hans place r9 A1     => SEAT_ALREADY_RESERVED A1=held
			entry w501 offered A1 until 10m
			fred join w502 1       => ok w502 1 sold_out 0
			at 10m                 # no job has run
			hans place r8 A1       => SEAT_ALREADY_RESERVED A1=held
			entry w501 lapsed
			entry w502 offered A1 until 20m`,
		"what nobody who waits can use is on sale to everybody": soldOut + `
			emil join w501 2       => ok w501 1 sold_out 0
			staff cancel k1 1 override => ok r1 k1 confirmed
			entry w501 waiting too_few_left 1
			hans place r9 A1       => ok r9: A1 until 15m for 100`,
		"places are found in the wanted categories, in their order": soldOut + `
			emil join w501 2 box,floor  => ok w501 1 sold_out 0
			fred join w502 1 stalls     => ok w502 2 sold_out 0
			staff cancel k4 override => ok r4 k4 cancelled
			entry w501 offered PIT*2 until 10m
			entry w502 waiting sold_out 0
			gert join w503 3 floor      => ok w503 2 too_few_left 2
			staff unblock               => ok`,
		"seats side by side are preferred to the first ones, and those apart to none": soldOut + `
			emil join w501 2       => ok w501 1 sold_out 0
			fred join w502 2       => ok w502 2 sold_out 0
			staff cancel k3 1 3 4 override => ok r3 k3 confirmed
			entry w501 offered A7 A8 until 10m
			entry w502 waiting others_first 3
			staff cancel k2 1 override => ok r2 k2 confirmed
			entry w502 offered A3 A5 until 10m`,
		"a party is not split between seats and standing places": soldOut + `
			emil join w501 2       => ok w501 1 sold_out 0
			staff cancel k1 1 override => ok r1 k1 confirmed
			staff capacity PIT 5   => ok
			entry w501 waiting apart 2`,
		"whatever frees places serves the waitlist": soldOut + `
			emil join w501 1 floor => ok w501 1 sold_out 0
			staff capacity PIT 5   => ok
			entry w501 offered PIT*1 until 10m
			fred join w502 1 stalls => ok w502 1 sold_out 0
			staff cancel k1 1 override => ok r1 k1 confirmed
			entry w502 offered A1 until 10m
			at 1m
			gert join w503 1 stalls => ok w503 1 sold_out 0
			fred change r502 -A1 +A1:child => ok r502: A1:child until 10m for 50
			entry w503 waiting sold_out 0
			staff pause            => ok
			fred release r502      => ok r502
			entry w503 waiting not_on_sale 0
			staff resume           => ok
			entry w503 offered A1 until 11m`,
		"a block that is taken off serves the waitlist": `
			staff block b1 A1 A2   => ok b1 2
			booked x2 bert A3 A4 A5 A6 A7 A8 B1 B2 GA*10 PIT*4
			emil join w501 2       => ok w501 1 sold_out 0
			staff unblock b1       => ok b1 2
			entry w501 offered A1 A2 until 10m`,
		"a plan with more places serves the waitlist": soldOut + `
			emil join w501 2 stalls => ok w501 1 sold_out 0
			staff amend plan=big   => ok
			entry w501 offered C1 C2 until 10m`,
		"a show that has places for a party has no waitlist for it": `
			booked x2 bert A2 A3 A4 A5 A6 A7 A8 B1 B2 GA*10 PIT*4
			emil join w501 1       => PLACES_AVAILABLE available=1
			emil join w501 1 box   => ok w501 1 sold_out 0
			fred join w502 2       => ok w502 2 too_few_left 1
			hans place r9 A1       => ok r9: A1 until 15m for 100
			at 15m                 # free, though nothing has tidied it up
			gert join w503 1       => PLACES_AVAILABLE available=1`,
		"a customer waits once": soldOut + `
			emil join w501 1       => ok w501 1 sold_out 0
			emil join w502 2       => ALREADY_ON_WAITLIST w501
			staff cancel k1 1 override => ok r1 k1 confirmed
			emil join w503 1       => ALREADY_ON_WAITLIST w501
			fred join w504 1       => ok w504 1 sold_out 0
			at 10m                 # the offer is over, and passes on before emil is back in line
			emil join w505 1       => ok w505 1 sold_out 0
			entry w501 lapsed
			entry w504 offered A1 until 20m
			emil leave w505        => ok w505
			entry w505 left
			fred leave w505        => NOT_FOUND`,
		"a party must be one that the show could ever have": soldOut + `
			emil join w501 6       => TOO_MANY_SEATS limit=5 requested=6
			emil join w501 3 box   => VALIDATION_ERROR partySize
			emil join w501 1 attic,box,box => VALIDATION_ERROR categories[0] categories[2]
			staff pause            => ok
			emil join w501 1       => SHOW_NOT_ON_SALE paused`,
		"a customer who has all they may is passed over": soldOut + `
			carl join w501 1       => ok w501 1 sold_out 0
			fred join w502 1       => ok w502 2 sold_out 0
			staff amend perCustomer=16 => ok
			staff cancel k2 1 override => ok r2 k2 confirmed
			entry w501 waiting customer_limit 1
			entry w502 offered A3 until 10m
			carl join w503 1       => ALREADY_ON_WAITLIST w501
			carl leave w501        => ok w501
			carl join w503 1       => CUSTOMER_LIMIT_REACHED limit=16 held=16`,
		"a show that sells no more closes its waitlist": soldOut + `
			emil join w501 1       => ok w501 1 sold_out 0
			staff cancel           => ok
			entry w501 closed`,
		"a party is held to what customers may have, whoever writes it down": soldOut + `
			staff join w501 6      => TOO_MANY_SEATS limit=5 requested=6
			staff amend perCustomer=4 => ok
			staff join w501 5      => CUSTOMER_LIMIT_REACHED limit=4 held=0
			staff join w501 4      => ok w501 1 sold_out 0`,
		"an offer may change, and does not outgrow its party": soldOut + `
			emil join w501 1       => ok w501 1 sold_out 0
			staff cancel k1 1 2 override => ok r1 k1 cancelled
			entry w501 offered A2 until 10m
			emil change r501 +A1   => TOO_MANY_SEATS limit=1 requested=2
			emil change r501 -A2 +A1 => ok r501: A1 until 10m for 100
			staff change r501 +A2  => ok r501: A1 A2 until 10m for 200`,
		"a sale that begins by itself begins with those who wait": soldOut + `
			emil join w501 1       => ok w501 1 sold_out 0
			staff amend sales=1h   => ok
			staff cancel k1 1 override => ok r1 k1 confirmed
			entry w501 waiting not_on_sale 0
			at 1h
			hans place r9 A1       => SEAT_ALREADY_RESERVED A1=held
			entry w501 offered A1 until 1h10m`,
		"places that time has freed are theirs, too, whatever else a buyer wants": soldOut + `
			staff cancel k1 1 override => ok r1 k1 confirmed
			hans place r9 A1 ttl=60 => ok r9: A1 until 1m for 100
			emil join w501 2       => ok w501 1 sold_out 0
			staff cancel k1 2 override => ok r1 k1 cancelled
			entry w501 waiting too_few_left 1
			at 1m                  # r9 is over, and nobody wants its seat
			gert place r8 A2       => SEAT_ALREADY_RESERVED A2=held
			entry w501 offered A1 A2 until 11m`,
		"who leaves an offer that is over has let it lapse, and it passes on": soldOut + `
			emil join w501 1       => ok w501 1 sold_out 0
			fred join w502 1       => ok w502 2 sold_out 0
			staff cancel k1 1 override => ok r1 k1 confirmed
			at 10m
			emil leave w501        => ok w501
			hold r501 expired until 10m
			entry w501 lapsed
			entry w502 offered A1 until 20m`,
		"the same key joins once": soldOut + `
			emil join w501 1 key=a => ok w501 1 sold_out 0
			emil join w501 1 key=a => again w501 1 sold_out 0
			emil join w501 2 key=a => IDEMPOTENCY_KEY_REUSED`,
	})
}

// A show that sells and takes back at random, with a waitlist: whoever waits
// could not be served by what is free, unless the free places are not for them.
func TestNobodyWaitsForWhatTheyCouldHave(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := newDatabase(t)
		now := noon
		customers := []string{"anna", "bert", "carl", "dora", "emil"}
		holds, entries := []uuid.UUID{}, []uuid.UUID{}
		for i := range 60 {
			who := rapid.SampledFrom(customers).Draw(t, "who")
			cmd := Command{Actor: Actor{CustomerID: who, Name: who}}
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0, 1:
				hold := id(fmt.Sprint("r", i))
				n := rapid.IntRange(0, len(seatNames)-3).Draw(t, "seat")
				cmd.Do = &PlaceReservation{ID: hold, CustomerID: who, Seats: []SeatWant{{int32(n), "standard", seatNames[n]}},
					Areas: []AreaWant{{No: int32(n % 2), TicketType: "standard", Quantity: 1 + n%4}}}
				holds = append(holds, hold)
			case 2, 3:
				entry := id(fmt.Sprint("w", i))
				cmd.Do = &JoinWaitlist{ID: entry, CustomerID: who, PartySize: rapid.IntRange(1, 3).Draw(t, "party"), Buyer: &Buyer{Name: who}}
				if rapid.Bool().Draw(t, "choosy") {
					cmd.Do.(*JoinWaitlist).Categories = []string{rapid.SampledFrom([]string{"stalls", "floor"}).Draw(t, "category")}
				}
				entries = append(entries, entry)
			case 4:
				if len(holds) == 0 {
					continue
				}
				cmd.Actor = Actor{Staff: true, Name: "staff"}
				cmd.Do = &ReleaseReservation{ID: rapid.SampledFrom(holds).Draw(t, "hold")}
			case 5:
				if len(entries) == 0 {
					continue
				}
				cmd.Actor = Actor{Staff: true, Name: "staff"}
				cmd.Do = &LeaveWaitlist{ID: rapid.SampledFrom(entries).Draw(t, "entry")}
			case 6:
				now = now.Add(time.Duration(rapid.SampledFrom([]int64{1, 300, 600, 900}).Draw(t, "later")) * time.Second)
				cmd.Actor, cmd.Do = Actor{Staff: true, Name: "staff"}, &ExpireReservations{Limit: 500, Reason: ReasonExpired}
			}
			d.decide(now, cmd)
			d.served(now)
		}
	})
}

// served fails when somebody waits for what they could have.
func (d *database) served(now time.Time) {
	d.t.Helper()
	st := d.load(now, []Command{{Do: &OfferWaitlist{}}})
	b := &batch{State: st}
	v := b.vacant()
	for _, e := range d.waitlist {
		if e.Status == WaitlistWaiting && v.choose(e.PartySize, e.Categories) != nil && d.due(now, func(*Reservation) bool { return true }) == nil {
			d.t.Fatalf("%s waits, and there are places", nameOf(e.ID))
		}
	}
}

func TestNeighbours(t *testing.T) {
	t.Parallel()
	row := func(at ...float64) *PlanIndex {
		p := &Plan{Categories: []Category{{Name: "stalls"}}}
		for i, x := range at {
			p.Seats = append(p.Seats, Seat{No: int32(i), ID: id(fmt.Sprint("s", i)), Row: "A", Number: fmt.Sprint(2*i + 1), Label: fmt.Sprint(i), X: x, Y: 5, Placed: x >= 0})
		}
		return p.Index()
	}
	runs := func(p *PlanIndex) string {
		var w []string
		for i := range p.Seats {
			w = append(w, fmt.Sprint(p.Beside(int32(i))))
		}
		return strings.Join(w, " ")
	}
	for name, c := range map[string]struct {
		plan *PlanIndex
		want string
	}{
		"by the document when it has no positions":   {row(-1, -1, -1), "1 2 -1"},
		"by position, whatever the document's order": {row(40, 0, 20), "-1 2 0"},
		"an aisle parts them":                        {row(0, 20, 40, 100, 120), "1 2 -1 4 -1"},
		"alone":                                      {row(7), "-1"},
	} {
		if got := runs(c.plan); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if got := runs(hallPlan.PlanIndex); strings.Count(got, "-1") != 2 { // rows A and B
		t.Errorf("the hall's rows: %s", got)
	}
}
