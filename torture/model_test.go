package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"
)

const second = int64(1_000_000)

// story is a history on one show of three seats and an area of four units,
// written down by hand.
type story struct {
	show *show
	ops  []*Op
}

func newStory() *story {
	sh := &show{title: "the show", id: uuid.NewString(), floor: 4, index: map[uuid.UUID]int{}, label: []string{"A-1", "A-2", "A-3"}}
	for i := range sh.label {
		sh.seats = append(sh.seats, uuid.New())
		sh.index[sh.seats[i]] = i
	}
	return &story{show: sh}
}

// tell adds an operation from one time to another, in seconds.
func (s *story) tell(from, to float64, o Op) *Op {
	o.Client, o.Call, o.Return = len(s.ops), int64(from*float64(second)), int64(to*float64(second))
	if to == 0 {
		o.Return, o.Doubt = never, true
	} else if o.Status == 0 {
		o.Status = 200
	}
	s.ops = append(s.ops, &o)
	return &o
}

func (s *story) placed(from, to float64, id string, seats []int, units int, ends float64) *Op {
	return s.tell(from, to, Op{Do: place, Reservation: id, Seats: seats, Units: units, Ends: int64(ends * float64(second))})
}

func (s *story) refused(from, to float64, seat int, is string) *Op {
	return s.tell(from, to, Op{Do: place, Status: 409, Code: "SEAT_ALREADY_RESERVED", Seats: []int{seat}, Taken: map[int]string{seat: is}})
}

// illegal are the names of what has no order.
func (s *story) illegal(t *testing.T) (names []string, list []*partition) {
	t.Helper()
	v := judge(lower(s.ops, []*show{s.show}, nil), 2)
	for _, p := range v.illegal {
		names = append(names, strings.TrimPrefix(p.name, "the show, "))
	}
	if len(v.undecided) > 0 {
		t.Errorf("%d partitions are undecided", len(v.undecided))
	}
	return names, v.illegal
}

func TestWhatIsLegal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		tell    func(s *story)
		illegal string // partitions with commas; "": none
	}{
		{"two buyers of one seat at once, one refused", func(s *story) {
			s.placed(1, 2, "r1", []int{0, 1}, 0, 100)
			s.refused(1, 2, 0, held)
		}, ""},
		{"a seat sold twice", func(s *story) {
			s.placed(1, 2, "r1", []int{0}, 0, 100)
			s.placed(3, 4, "r2", []int{0}, 0, 100)
		}, "seat A-1"},
		{"a seat sold again after its hold was over", func(s *story) {
			s.placed(1, 2, "r1", []int{0}, 0, 10)
			s.placed(11, 12, "r2", []int{0}, 0, 20)
		}, ""},
		{"a seat sold again a second too early", func(s *story) {
			s.placed(1, 2, "r1", []int{0}, 0, 10)
			s.placed(8, 9, "r2", []int{0}, 0, 20)
		}, "seat A-1"},
		{"a seat refused a second after its hold was over", func(s *story) {
			s.placed(1, 2, "r1", []int{0}, 0, 10)
			s.refused(11, 12, 0, held)
		}, "seat A-1"},
		{"the same, but it was extended", func(s *story) {
			s.placed(1, 2, "r1", []int{0}, 0, 10)
			s.tell(3, 4, Op{Do: extend, Reservation: "r1", Seats: []int{0}, Ends: 13 * second})
			s.refused(11, 12, 0, held)
		}, ""},
		{"the same, but it was being paid", func(s *story) {
			s.placed(1, 2, "r1", []int{0}, 0, 10)
			s.tell(3, 4, Op{Do: pay, Status: 202, Reservation: "r1", Booking: "k1", Seats: []int{0}})
			s.refused(11, 12, 0, held)
		}, ""},
		{"the same, but the payment was declined before", func(s *story) {
			s.placed(1, 2, "r1", []int{0}, 0, 10)
			s.tell(3, 4, Op{Do: pay, Status: 402, Code: "PAYMENT_DECLINED", Reservation: "r1", Booking: "k1", Seats: []int{0}, Ends: 10 * second})
			s.refused(11, 12, 0, held)
		}, "seat A-1"},
		{"a seat that was said to be booked and was held", func(s *story) {
			s.placed(1, 2, "r1", []int{0}, 0, 100)
			s.refused(3, 4, 0, booked)
		}, "seat A-1"},
		{"an offer let go of by leaving the waitlist", func(s *story) {
			s.placed(1, 2, "r1", []int{0}, 1, 100)
			s.tell(3, 4, Op{Do: delist, Reservation: "r1"})
			s.placed(5, 6, "r2", []int{0}, 4, 100)
		}, ""},
		{"a release whose outcome nobody knows, done", func(s *story) {
			s.placed(1, 2, "r1", []int{0}, 0, 100)
			s.tell(3, 0, Op{Do: release, Reservation: "r1"})
			s.placed(5, 6, "r2", []int{0}, 0, 100)
		}, ""},
		{"a release whose outcome nobody knows, not done", func(s *story) {
			s.placed(1, 2, "r1", []int{0}, 0, 100)
			s.tell(3, 0, Op{Do: release, Reservation: "r1"})
			s.refused(5, 6, 0, held)
		}, ""},
		{"a release whose outcome nobody knows, done and undone", func(s *story) {
			s.placed(1, 2, "r1", []int{0}, 0, 100)
			s.tell(3, 0, Op{Do: release, Reservation: "r1"})
			s.placed(5, 6, "r2", []int{0}, 0, 9)
			s.tell(20, 21, Op{Do: extend, Reservation: "r1", Seats: []int{0}, Ends: 100 * second})
		}, "seat A-1"},
		{"an extension refused after a try without an answer may have been made by that", func(s *story) {
			s.placed(1, 2, "r1", []int{0}, 0, 10)
			s.tell(3, 4, Op{Do: extend, Doubt: true, Status: 503, Code: "LOCK_TIMEOUT", Reservation: "r1", Seats: []int{0}})
			s.refused(11, 12, 0, held)
		}, ""},
		{"a booking cancelled and sold again", func(s *story) {
			s.placed(1, 2, "r1", []int{0, 1}, 2, 100)
			s.tell(3, 4, Op{Do: pay, Status: 201, Reservation: "r1", Booking: "k1", Seats: []int{0, 1}, Units: 2, Confirmed: 3*second + second/2, Tickets: []string{"t1", "t2", "t3", "t4"}})
			s.refused(4, 5, 1, booked)
			s.tell(5, 6, Op{Do: cancel, Reservation: "r1", Booking: "k1", Back: []int{0}, Void: []string{"t1", "t3"}, VoidUnits: []string{"t3"}})
			s.placed(7, 8, "r2", []int{0}, 3, 100)
			s.refused(7, 8, 1, booked)
			s.tell(9, 10, Op{Do: cancel, Reservation: "r1", Booking: "k1", Back: []int{0}, Void: []string{"t1", "t3"}, VoidUnits: []string{"t3"}}) // again
		}, ""},
		{"a seat of a cancelled booking that nobody gets", func(s *story) {
			s.placed(1, 2, "r1", []int{0}, 0, 100)
			s.tell(3, 4, Op{Do: pay, Status: 201, Reservation: "r1", Booking: "k1", Seats: []int{0}, Confirmed: 3*second + second/2, Tickets: []string{"t1"}})
			s.tell(5, 6, Op{Do: cancel, Reservation: "r1", Booking: "k1", Back: []int{0}, Void: []string{"t1"}})
			s.refused(7, 8, 0, booked)
		}, "seat A-1"},
		{"money that came after the hold was over, the seat free still", func(s *story) {
			s.placed(1, 2, "r1", []int{0}, 1, 10)
			s.tell(3, 4, Op{Do: pay, Status: 202, Reservation: "r1", Booking: "k1", Seats: []int{0}, Units: 1})
			s.tell(300, 301, Op{Do: look, Reservation: "r1", Booking: "k1", Confirmed: 300 * second})
			s.refused(302, 303, 0, booked)
		}, ""},
		{"money that came after the hold was over, the seat another's", func(s *story) {
			s.placed(1, 2, "r1", []int{0}, 0, 10)
			s.tell(3, 4, Op{Do: pay, Status: 202, Reservation: "r1", Booking: "k1", Seats: []int{0}})
			s.placed(290, 291, "r2", []int{0}, 0, 400)
			s.tell(300, 301, Op{Do: look, Reservation: "r1", Booking: "k1", Confirmed: 300 * second})
		}, "seat A-1"},
		{"a block sold from, and taken away", func(s *story) {
			s.tell(1, 2, Op{Do: block, Seats: []int{0}, Block: "b1"})
			s.refused(2, 3, 0, blocked)
			o := s.placed(3, 4, "r1", []int{0}, 0, 100)
			o.Block = "b1"
			s.tell(5, 6, Op{Do: release, Reservation: "r1"})
			s.refused(6, 7, 0, blocked)
			s.tell(7, 8, Op{Do: unblock, Seats: []int{0}, Block: "b1"})
			s.placed(8, 9, "r2", []int{0}, 0, 100)
		}, ""},
		{"a blocked seat sold to anybody", func(s *story) {
			s.tell(1, 2, Op{Do: block, Seats: []int{0}, Block: "b1"})
			s.placed(3, 4, "r1", []int{0}, 0, 100)
		}, "seat A-1"},
		{"an area filled to the last unit", func(s *story) {
			s.placed(1, 2, "r1", nil, 3, 100)
			s.placed(1, 2, "r2", nil, 1, 100)
			s.tell(3, 4, Op{Do: place, Status: 409, Code: "INSUFFICIENT_INVENTORY", Units: 1, Left: new(int)})
			s.tell(5, 6, Op{Do: capacity, Capacity: 5})
			s.placed(7, 8, "r3", nil, 1, 100)
			s.tell(9, 10, Op{Do: capacity, Capacity: 4, Status: 409, Code: "CAPACITY_IN_USE", Left: new(5)})
		}, ""},
		{"an area sold beyond its capacity", func(s *story) {
			s.placed(1, 2, "r1", nil, 3, 100)
			s.placed(1, 2, "r2", nil, 2, 100)
		}, "floor"},
		{"an area that had more left than it said", func(s *story) {
			s.placed(1, 2, "r1", nil, 2, 100)
			s.tell(3, 4, Op{Do: place, Status: 409, Code: "INSUFFICIENT_INVENTORY", Units: 3, Left: new(1)})
		}, "floor"},
		{"one ticket at two gates", func(s *story) {
			s.tell(1, 2, Op{Do: checkIn, Ticket: "t1", Result: "admitted"})
			s.tell(1, 2, Op{Do: checkIn, Ticket: "t1", Result: "already_used"})
		}, ""},
		{"one ticket let in twice", func(s *story) {
			s.tell(1, 2, Op{Do: checkIn, Ticket: "t1", Result: "admitted"})
			s.tell(3, 4, Op{Do: checkIn, Ticket: "t1", Result: "admitted"})
		}, "ticket t1"},
		{"a cancelled ticket let in", func(s *story) {
			s.tell(1, 2, Op{Do: cancel, Booking: "k1", Void: []string{"t1"}})
			s.tell(3, 4, Op{Do: checkIn, Ticket: "t1", Result: "admitted"})
		}, "ticket t1"},
		{"sales paused and resumed", func(s *story) {
			s.tell(1, 2, Op{Do: pause})
			s.tell(2.5, 3, Op{Do: place, Status: 409, Code: "SHOW_NOT_ON_SALE"})
			s.tell(4, 5, Op{Do: resume})
			s.placed(6, 7, "r1", []int{0}, 0, 100)
		}, ""},
		{"a seat sold while sales were paused", func(s *story) {
			s.tell(1, 2, Op{Do: pause})
			s.placed(3, 4, "r1", []int{0}, 0, 100)
			s.tell(5, 6, Op{Do: resume})
		}, "sales"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStory()
			c.tell(s)
			if names, list := s.illegal(t); strings.Join(names, ",") != c.illegal {
				t.Errorf("illegal: %q, want %q", strings.Join(names, ","), c.illegal)
				for _, p := range list {
					t.Log(p.explain(t.TempDir()))
				}
			}
		})
	}
}

// TestAThinnedHistoryIsAsLegal compares the verdicts on random lives in an area:
// some of them told wrongly, some with answers that never came.
func TestAThinnedHistoryIsAsLegal(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	verdicts, thinned := map[porcupine.CheckResult]int{}, 0
	for n := range 5000 {
		const capacity = 3
		var history []porcupine.Operation
		now, is := int64(0), areas(capacity).Init().(area)
		does := func(s step) bool {
			now += 40
			next, ok := is.next(s)
			o := porcupine.Operation{ClientId: len(history), Input: s, Call: now - rng.Int64N(60), Return: now + rng.Int64N(60)}
			switch lost := s.do == drop && rng.IntN(3) == 0; {
			case !ok:
				return false
			case lost:
				s.maybe = true
				o.Input, o.Return = s, never
			case s.do == end && rng.IntN(3) == 0:
				o.Call, o.Return = now-rng.Int64N(400), now+rng.Int64N(400)
			}
			if !s.maybe || rng.IntN(2) == 0 {
				is = next
			}
			history = append(history, o)
			return true
		}
		var lives []string
		for life := 0; life < 12; {
			switch rng.IntN(4) {
			case 0, 1:
				if owner := fmt.Sprint(life); does(step{do: take, owner: owner, n: 1}) {
					lives = append(lives, owner)
				}
				life++
			case 2:
				if len(lives) > 0 {
					i := rng.IntN(len(lives))
					owner := lives[i]
					lives = slices.Delete(lives, i, i+1)
					for _, s := range [][]act{{end}, {drop, end}, {end, drop}, {book, end}, {end, book, end}}[rng.IntN(5)] {
						does(step{do: s, owner: owner, n: map[act]int{book: 1}[s]})
					}
				}
			default:
				wrong := 0
				if rng.IntN(10) == 0 {
					wrong = 1
				}
				free := (capacity - is.used() + wrong) % (capacity + 1)
				now += 40
				history = append(history, porcupine.Operation{ClientId: len(history), Input: step{do: see, n: free}, Call: now - rng.Int64N(60), Return: now + rng.Int64N(60)})
			}
		}
		all, few := porcupine.CheckOperationsTimeout(areas(capacity), history, time.Minute), thin(history)
		verdicts[all]++
		if !slices.EqualFunc(few, history, func(x, y porcupine.Operation) bool { return x.Return == y.Return }) {
			thinned++
		}
		if is := porcupine.CheckOperationsTimeout(areas(capacity), few, time.Minute); is != all {
			t.Fatalf("seed %d, history %d: %s, and thinned %s\n%s", seed, n, all, is, textOf(history))
		}
	}
	if verdicts[porcupine.Ok] < 100 || verdicts[porcupine.Illegal] < 100 || verdicts[porcupine.Unknown] > 0 || thinned < 100 {
		t.Errorf("seed %d: verdicts %v, thinned %d", seed, verdicts, thinned)
	}
}

func TestShrinkingLeavesTheTwoSales(t *testing.T) {
	t.Parallel()
	s := newStory()
	at := 1.0
	for i := range 30 { // an orderly life before
		id := uuid.NewString()
		s.placed(at, at+1, id, []int{i % 2}, 0, at+1000)
		s.refused(at+2, at+3, i%2, held)
		s.tell(at+4, at+5, Op{Do: release, Reservation: id})
		at += 6
	}
	first := s.placed(at, at+1, "the first", []int{0}, 0, at+500)
	second := s.placed(at+2, at+3, "the second", []int{0}, 0, at+500)
	s.refused(at+5, at+6, 0, held)
	_, list := s.illegal(t)
	if len(list) != 1 {
		t.Fatalf("%d partitions are illegal, want one", len(list))
	}
	var left []*Op
	for _, o := range list[0].shrink() {
		if in := o.Input.(step); in.op != nil {
			left = append(left, in.op)
		}
	}
	if !slices.Equal(left, []*Op{first, second}) {
		t.Errorf("shrunk to %v, want the two sales", left)
	}
	dir := t.TempDir()
	if text := list[0].explain(dir); !strings.Contains(text, "drawn in") {
		t.Errorf("it was not drawn: %s", text)
	}
	if drawn, err := filepath.Glob(filepath.Join(dir, "*.html")); err != nil || len(drawn) != 1 {
		t.Errorf("drawn: %v, %v", drawn, err)
	}
}

func TestShrinkingMakesNoFalseAccusation(t *testing.T) {
	t.Parallel()
	s := newStory()
	s.placed(1, 2, "r1", []int{0}, 0, 100)
	s.tell(3, 4, Op{Do: release, Reservation: "r1"})
	s.placed(5, 6, "r2", []int{0}, 0, 100)
	s.tell(7, 8, Op{Do: release, Reservation: "r2"})
	s.refused(9, 10, 0, held) // it was free
	_, list := s.illegal(t)
	if len(list) != 1 {
		t.Fatalf("%d partitions are illegal, want one", len(list))
	}
	left := list[0].shrink()
	if !slices.ContainsFunc(left, func(o porcupine.Operation) bool { return o.Input.(step).do == see }) {
		t.Errorf("the refusal is gone, and with it what was wrong: %s", textOf(left))
	}
}

func TestTermsOfAShowThatIsOnSale(t *testing.T) {
	t.Parallel()
	amended := func(s *story, from, to float64, t terms) { s.tell(from, to, Op{Do: amend, Terms: &t}) }
	bought := func(s *story, from, to, price float64, places int) {
		s.tell(from, to, Op{Do: place, Terms: &terms{Seat: int64(price)}, Places: places})
	}
	for _, c := range []struct {
		name    string
		tell    func(s *story)
		illegal string
	}{
		{"the new price from the moment it was acknowledged on", func(s *story) {
			bought(s, 1, 2, 2500, 1)
			amended(s, 3, 5, terms{Seat: 4000})
			bought(s, 4, 6, 2500, 1)
			bought(s, 4, 7, 4000, 1)
			bought(s, 8, 9, 4000, 1)
		}, ""},
		{"the old price after that", func(s *story) {
			amended(s, 3, 5, terms{Seat: 4000})
			bought(s, 6, 7, 2500, 1)
		}, "price of seats"},
		{"and back", func(s *story) {
			amended(s, 3, 10, terms{Seat: 4000})
			bought(s, 4, 5, 4000, 1)
			bought(s, 6, 7, 2500, 1)
		}, "price of seats"},
		{"a price that may or may not have been set", func(s *story) {
			amended(s, 3, 0, terms{Seat: 4000})
			bought(s, 4, 5, 2500, 1)
			bought(s, 6, 7, 4000, 1)
		}, ""},
		{"a price that was refused", func(s *story) {
			s.tell(3, 4, Op{Do: amend, Status: 409, Terms: &terms{Seat: 4000}})
			bought(s, 6, 7, 4000, 1)
		}, "price of seats"},
		{"more places than a reservation may have", func(s *story) {
			bought(s, 1, 2, 2500, 5)
			amended(s, 3, 4, terms{Most: 2})
			bought(s, 5, 6, 2500, 3)
		}, "most places"},
		{"staff may hold more", func(s *story) {
			amended(s, 3, 4, terms{Most: 2})
			s.tell(5, 6, Op{Do: place, Block: "b1", Places: 3})
		}, ""},
		{"a limit that there is not", func(s *story) {
			s.tell(3, 4, Op{Do: place, Status: 422, Code: "TOO_MANY_SEATS", Terms: &terms{Most: 2}, Places: 3})
		}, "most places"},
		{"a start that was acknowledged and is not read", func(s *story) {
			amended(s, 3, 4, terms{Starts: 7})
			s.tell(5, 6, Op{Do: look, Terms: &terms{Starts: 1}})
		}, "start"},
	} {
		s := newStory()
		s.show.terms = terms{Seat: 2500, Floor: 3000, Most: 5, Starts: 1}
		c.tell(s)
		if names, _ := s.illegal(t); strings.Join(names, ",") != c.illegal {
			t.Errorf("%s: no order of %q, where %q was to be expected", c.name, names, c.illegal)
		}
	}
}

func TestNamesOnTickets(t *testing.T) {
	t.Parallel()
	set := func(s *story, from, to float64, who string) {
		s.tell(from, to, Op{Do: name, Ticket: "t1", Holder: &who})
	}
	read := func(s *story, from, to float64, who string) {
		s.tell(from, to, Op{Do: look, Ticket: "t1", Holder: &who})
	}
	gone := func(s *story, from, to float64) { s.tell(from, to, Op{Do: forget, Tickets: []string{"t1", "t2"}}) }
	for _, c := range []struct {
		name  string
		tell  func(s *story)
		legal bool
	}{
		{"either of two at once", func(s *story) { set(s, 1, 3, "Ada"); set(s, 2, 4, "Grace"); read(s, 5, 6, "Ada") }, true},
		{"neither", func(s *story) { set(s, 1, 3, "Ada"); set(s, 2, 4, "Grace"); read(s, 5, 6, "") }, false},
		{"nobody's any more", func(s *story) { set(s, 1, 2, "Ada"); gone(s, 3, 4); read(s, 5, 6, "") }, true},
		{"not forgotten", func(s *story) { set(s, 1, 2, "Ada"); gone(s, 3, 4); read(s, 5, 6, "Ada") }, false},
		{"maybe forgotten", func(s *story) { set(s, 1, 2, "Ada"); gone(s, 3, 0); read(s, 5, 6, "Ada"); read(s, 7, 8, "") }, true},
		{"given a name again", func(s *story) { set(s, 1, 2, "Ada"); gone(s, 3, 4); set(s, 5, 6, "Ada"); read(s, 7, 8, "Ada") }, true},
	} {
		s := newStory()
		c.tell(s)
		if names, _ := s.illegal(t); (names == nil) != c.legal {
			t.Errorf("%s: no order of %q", c.name, names)
		}
	}
}

// A hold is over at its end, or again until a clock that was set back is right.
func TestWhenAHoldMayBeOver(t *testing.T) {
	t.Parallel()
	const second = int64(1e6)
	wrong := span{8 * second, 10 * second}
	for _, c := range []struct {
		end, from, to int64
		wrong         []span
	}{
		{end: 7 * second, from: 7*second - slack, to: 7*second + slack},
		{end: 7 * second, from: 7*second - slack, to: 10*second + slack, wrong: []span{wrong}},
		{end: 9 * second, from: 8 * second, to: 10*second + clockOffMax, wrong: []span{wrong}},
		{end: 7 * second, from: 7*second - slack, to: 7*second + slack, wrong: []span{{7*second + 2*clockOffMax, 8*second + 2*clockOffMax}}},
	} {
		l := &lowering{wrong: c.wrong}
		if from, to := l.ends(&Op{Call: 3 * second, Ends: c.end}, nil); from != c.from || to != c.to {
			t.Errorf("the end %d with %v: from %d to %d, want from %d to %d", c.end, c.wrong, from, to, c.from, c.to)
		}
	}
}
