package sim

import (
	"flag"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/checkout"
)

var (
	seeds = flag.Int("seeds", 3000, "how many seeds to run")
	seed  = flag.Uint64("seed", 1, "the first seed")
)

// length is how many operations a seed has.
const length = 160

// run plays operations in a world of their own, whose settings are the seed's.
// It returns what went wrong, "" if nothing did, and what happened if it is
// traced.
func run(t *testing.T, seed uint64, ops []operation, b bug, traced bool, s *seen) (broken string, lines []string) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(seed, b, s)
		w.traced = traced
		defer func() {
			if r := recover(); r != nil {
				w.fail("panic: %v\n%s", r, debug.Stack())
			}
			for _, p := range w.procs {
				w.end(p)
			}
			broken, lines = w.broken, w.lines
		}()
		for _, o := range ops {
			if w.broken != "" {
				return
			}
			kinds[o.kind].do(w, o)
		}
		w.mend()
		if w.broken == "" {
			w.auditor.end()
			w.auditor.see()
		}
	})
	return broken, lines
}

func newSeen() *seen { return &seen{steps: map[checkout.Step]int{}, things: map[string]int{}} }

// report says how a seed failed, with as few operations as will do, and how
// many they are.
func report(t *testing.T, seed uint64, b bug) (text string, operations int) {
	s := newSeen()
	least := shrink(draw(seed, length), func(ops []operation) bool {
		broken, _ := run(t, seed, ops, b, false, s)
		return broken != ""
	})
	broken, lines := run(t, seed, least, b, true, s)
	const most = 100
	if n := len(lines) - 2*most; n > 0 { // it does not come to rest
		lines = slices.Concat(lines[:most], []string{fmt.Sprintf("… %d lines …", n)}, lines[len(lines)-most:])
	}
	text = fmt.Sprintf("seed %d: %s\n%d operations of %d are enough:\n%s", seed, broken, len(least), length, strings.Join(lines, "\n"))
	if b == noBug {
		text += fmt.Sprintf("\nagain: go test ./internal/sim -run Sim -args -seed %d -seeds 1", seed)
	}
	return text, len(least)
}

// TestSimulationFindsNothing runs seeds until one fails. It prints what happens
// in a seed that is run alone, with -v.
func TestSimulationFindsNothing(t *testing.T) {
	t.Parallel()
	s, traced := newSeen(), *seeds == 1 && testing.Verbose()
	for i := range *seeds {
		n := *seed + uint64(i)
		broken, lines := run(t, n, draw(n, length), noBug, traced, s)
		if traced {
			t.Log("\n" + strings.Join(lines, "\n"))
		}
		if broken != "" {
			text, _ := report(t, n, noBug)
			t.Fatal(text)
		}
	}
	if *seeds < 1000 {
		return
	}
	for _, step := range checkout.Steps {
		if s.steps[step] == 0 {
			t.Errorf("no instance died %s", step)
		}
	}
	for _, thing := range things {
		if s.things[thing] == 0 {
			t.Errorf("never came past: %s", thing)
		}
	}
}

// things are what seeds must come past, or they prove little.
var things = []string{
	"a call takes too long", "a request is answered again", "commands of several in one batch",

	"booking.cancelled, buyer", "booking.cancelled, gateway", "booking.cancelled, show_cancelled", "booking.cancelled, staff",
	"booking.confirmed, buyer", "booking.confirmed, late_payment", "booking.confirmed, staff", "booking.expired, expired", "booking.failed, late_payment",
	"payment.failed, gateway", "payment.succeeded, gateway", "payment.succeeded, staff",
	"place.blocked, staff", "place.unblocked, staff",
	"refund.created, buyer", "refund.created, late_payment", "refund.created, show_cancelled", "refund.created, staff",
	"refund.failed, buyer", "refund.failed, late_payment", "refund.succeeded, gateway", "refund.succeeded, late_payment",
	"reservation.cancelled, buyer", "reservation.cancelled, show_cancelled", "reservation.changed, buyer", "reservation.consumed, late_payment",
	"reservation.created, staff", "reservation.expired, expired", "reservation.expired, swept",
	"reservation.extended, buyer", "reservation.extended, payment_failed",
	"scan admitted", "scan already_used", "scan void", "show.cancelled, staff", "show.paused, staff", "show.resumed, staff", "ticket.void, gateway",

	"an offer was accepted", "an offer was declined", "an offer lapsed", "somebody left the waitlist", "held with a turn", "a second turn",
	"reservation.created, waitlist", "waitlist.joined, buyer", "waitlist.left, buyer", "ALREADY_ON_WAITLIST", "PLACES_AVAILABLE",
	"QUEUE_TOKEN_REQUIRED", "QUEUE_TOKEN_INVALID", "QUEUE_TOKEN_EXPIRED",

	"ALREADY_REFUNDED", "BOOKING_NOT_CANCELLABLE", "CAPACITY_IN_USE", "CUSTOMER_LIMIT_REACHED", "INSUFFICIENT_INVENTORY", "PAYMENT_DECLINED",
	"PAYMENT_IN_PROGRESS", "RESERVATION_EXPIRED", "RESERVATION_NOT_ACTIVE", "SEAT_ALREADY_RESERVED", "SHOW_NOT_ON_SALE", "TOO_MANY_SEATS",
}

// TestAPlantedBugIsFound makes each mistake that a run can be made with, and
// wants it found within so many seeds, and shown in few operations.
func TestAPlantedBugIsFound(t *testing.T) {
	const within, few = 500, 40
	for _, b := range bugs {
		t.Run(strings.ReplaceAll(string(b), " ", "_"), func(t *testing.T) {
			t.Parallel()
			for n := uint64(1); n <= within; n++ {
				if broken, _ := run(t, n, draw(n, length), b, false, newSeen()); broken == "" {
					continue
				}
				text, operations := report(t, n, b)
				if t.Log(text); operations > few {
					t.Errorf("shown in %d operations", operations)
				}
				return
			}
			t.Errorf("not found in %d seeds", within)
		})
	}
}

// TestASeedDoesTheSameAgain: or a failure could not be looked into.
func TestASeedDoesTheSameAgain(t *testing.T) {
	t.Parallel()
	for n := range uint64(50) {
		_, first := run(t, n, draw(n, length), noBug, true, newSeen())
		_, again := run(t, n, draw(n, length), noBug, true, newSeen())
		if !slices.Equal(first, again) {
			t.Fatalf("seed %d:\n%s\n\nand then:\n%s", n, strings.Join(first, "\n"), strings.Join(again, "\n"))
		}
	}
}

func TestShrinkKeepsWhatIsNeeded(t *testing.T) {
	t.Parallel()
	all := draw(7, length)
	needed := []operation{all[3], all[64], all[159]}
	least := shrink(all, func(ops []operation) bool {
		return !slices.ContainsFunc(needed, func(o operation) bool { return !slices.Contains(ops, o) })
	})
	if !slices.Equal(least, needed) {
		t.Errorf("%d operations are left of %d, %d are needed", len(least), len(all), len(needed))
	}
}

// TestTablesKeepEveryColumn: a field that a row has and its copy lacks would be
// lost in every batch.
func TestTablesKeepEveryColumn(t *testing.T) {
	t.Parallel()
	keeps(t, copyHold)
	keeps(t, copyBooking)
	keeps(t, copyPayment)
	keeps(t, copyRefund)
	keeps(t, copyTicket)
	keeps(t, copyEntry)
	keeps(t, copyAdmission)
}

func keeps[T any](t *testing.T, copied func(*T) *T) {
	t.Helper()
	row := new(T)
	v := reflect.ValueOf(row).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.CanSet() {
			f.Set(sample(f.Type()))
		}
	}
	if again := copied(row); !reflect.DeepEqual(row, again) {
		t.Errorf("%T:\n%+v\nis kept as\n%+v", row, row, again)
	}
}

// sample is a value that is not zero.
func sample(of reflect.Type) reflect.Value {
	v := reflect.New(of).Elem()
	switch v.Interface().(type) {
	case time.Time:
		return reflect.ValueOf(start)
	case uuid.UUID:
		return reflect.ValueOf(show)
	}
	switch of.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v = reflect.Append(v, sample(of.Elem()))
	case reflect.Map:
		v = reflect.MakeMap(of)
		v.SetMapIndex(sample(of.Key()), sample(of.Elem()))
	case reflect.Pointer:
		v = reflect.New(of.Elem())
	}
	return v
}
