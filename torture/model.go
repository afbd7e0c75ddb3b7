package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

// step is what an operation does to one seat, area, ticket or show: what
// porcupine is told of it.
type step struct {
	do    act
	owner string // reservation
	block string
	saw   string   // what a refusal said that the thing was
	n     int      // units, capacity
	ids   []string // tickets of the area
	maybe bool     // its outcome is not known: it does something, or not
	op    *Op      // nil: time did it
}

// act is the kind of a step. Acts that see change nothing.
type act string

const (
	take   act = "take"      // hold
	keep   act = "keep"      // was found to be the owner's hold
	give   act = "give"      // the owner gives it back, and must have it
	drop   act = "drop"      // the same, unless it was over before
	end    act = "end"       // the hold's time is up
	book   act = "book"      // what is held, or was and is free still
	void   act = "void"      // what was booked is given back, unless it was before
	bar    act = "block"     //
	unbar  act = "unblock"   //
	see    act = "see"       // what was in the way, or was not
	resize act = "capacity"  //
	tight  act = "too small" // the capacity would have been
	admit  act = "admit"     //
	open   act = "on sale"   // it was seen to be
	shut   act = "paused"    // it was seen to be
	begin  act = "resume"    //
	stop   act = "pause"     //
	alter  act = "set"       // one of a show's terms
	fit    act = "fit"       // so many places were let into a reservation
)

// The words for what a seat is, as the API has them.
const (
	available = "available"
	held      = "held"
	booked    = "booked"
	blocked   = "blocked"
)

// seat is what a seat is: one of the words, whose, and the block that it goes
// back to.
type seat struct{ is, owner, block string }

func (s seat) seen() string {
	if s.is == available && s.block != "" {
		return blocked
	}
	return s.is
}

// next is the seat after a step, or false if the step could not be.
func (s seat) next(in step) (seat, bool) {
	mine := s.owner == in.owner
	free := s.is == available && (s.block == "" || s.block == in.block)
	switch in.do {
	case take:
		return seat{held, in.owner, s.block}, free
	case keep:
		return s, s.is == held && mine
	case give:
		return seat{available, "", s.block}, s.is == held && mine
	case drop, end:
		if s.is == held && mine {
			s = seat{available, "", s.block}
		}
		return s, true
	case book:
		return seat{booked, in.owner, s.block}, s.is == held && mine || free
	case void:
		if s.is == booked && mine {
			return seat{available, "", s.block}, true
		}
		return s, !mine
	case bar:
		return seat{available, "", in.block}, s.is == available && s.block == ""
	case unbar:
		if s.block != in.block {
			return s, true // it was taken out of the block before
		}
		return seat{is: available}, s.is == available
	case see:
		// Staff sees the places of its own block as free.
		return s, s.seen() == in.saw || in.saw == available && free
	}
	return s, false
}

var seats = porcupine.Model{
	Init: func() any { return seat{is: available} },
	Step: func(state, input, _ any) (bool, any) {
		in := input.(step)
		next, ok := state.(seat).next(in)
		if in.maybe && !ok {
			return true, state
		}
		return ok, next
	},
	DescribeOperation: describe,
	DescribeState:     func(state any) string { return fmt.Sprint(state) },
}

// area is what a standing area is: how many units whoever has.
type area struct {
	capacity     int
	held, booked map[string]int
	void         map[string]int // tickets
}

func (a area) used() int {
	n := 0
	for _, m := range []map[string]int{a.held, a.booked} {
		for _, units := range m {
			n += units
		}
	}
	return n
}

// with is a copy in which an owner has n more.
func with(m map[string]int, owner string, n int) map[string]int {
	m = maps.Clone(m)
	if m[owner] += n; m[owner] == 0 {
		delete(m, owner)
	}
	return m
}

func (a area) next(in step) (area, bool) {
	switch in.do {
	case take:
		ok := a.used()+in.n <= a.capacity
		a.held = with(a.held, in.owner, in.n)
		return a, ok
	case keep:
		return a, a.held[in.owner] >= in.n
	case give:
		ok := a.held[in.owner] >= in.n
		a.held = with(a.held, in.owner, -in.n)
		return a, ok
	case drop, end:
		a.held = with(a.held, in.owner, -a.held[in.owner])
		return a, true
	case book:
		n := a.held[in.owner]
		if n == 0 { // it came too late, and there was room still
			n = in.n
		} else {
			a.held = with(a.held, in.owner, -n)
		}
		ok := n == in.n && a.used()+n <= a.capacity
		a.booked = with(a.booked, in.owner, n)
		return a, ok
	case void:
		ok := true
		for _, id := range in.ids {
			if a.void[id] == 0 {
				ok = ok && a.booked[in.owner] > 0
				a.void, a.booked = with(a.void, id, 1), with(a.booked, in.owner, -1)
			}
		}
		return a, ok
	case resize:
		ok := in.n >= a.used()
		a.capacity = in.n
		return a, ok
	case tight:
		return a, in.n == a.used()
	case see:
		return a, in.n == max(0, a.capacity-a.used())
	}
	return a, false
}

// areas is the model of an area that had so many units at first.
func areas(units int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return area{units, map[string]int{}, map[string]int{}, map[string]int{}} },
		Step: func(state, input, _ any) (bool, any) {
			in := input.(step)
			next, ok := state.(area).next(in)
			if in.maybe && !ok {
				return true, state
			}
			return ok, next
		},
		Equal: func(x, y any) bool {
			a, b := x.(area), y.(area)
			return a.capacity == b.capacity && maps.Equal(a.held, b.held) && maps.Equal(a.booked, b.booked) && maps.Equal(a.void, b.void)
		},
		DescribeOperation: describe,
		DescribeState: func(state any) string {
			a := state.(area)
			return fmt.Sprintf("%d of %d: held %v, booked %v", a.used(), a.capacity, a.held, a.booked)
		},
	}
}

// register is the model of something that is one of a few words: a ticket, or
// whether a show sells.
func register(first string, next func(is string, in step) (string, bool)) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return first },
		Step: func(state, input, _ any) (bool, any) {
			in := input.(step)
			is, ok := next(state.(string), in)
			if in.maybe && !ok {
				return true, state
			}
			return ok, is
		},
		DescribeOperation: describe,
		DescribeState:     func(state any) string { return state.(string) },
	}
}

var tickets = register("valid", func(is string, in step) (string, bool) {
	switch in.do {
	case admit:
		return "used", is == "valid"
	case void:
		return "void", true
	case see: // as a gate is told
		return is, is == map[string]string{"already_used": "used", "void": "void"}[in.saw]
	}
	return is, false
})

var sales = register("on sale", func(is string, in step) (string, bool) {
	switch in.do {
	case stop:
		return "paused", true
	case begin:
		return "on sale", true
	case open:
		return is, is == "on sale"
	case shut:
		return is, is == "paused"
	}
	return is, false
})

// term is the model of one of a show's terms, a number.
func term(first int64) porcupine.Model {
	return register(fmt.Sprint(first), func(is string, in step) (string, bool) {
		switch in.do {
		case alter:
			return in.saw, true
		case see:
			return is, is == in.saw
		case fit:
			most, err := strconv.Atoi(is)
			return is, err == nil && in.n <= most
		}
		return is, false
	})
}

// holders is the model of the name on a ticket.
var holders = register("", func(is string, in step) (string, bool) {
	if in.do == alter {
		return in.saw, true
	}
	return is, is == in.saw
})

// sees says that the step changes nothing: it only tells what it found.
func (s step) sees() bool {
	return slices.Contains([]act{see, keep, tight, open, shut, fit}, s.do)
}

// describe is a step in words.
func describe(input, _ any) string { return input.(step).String() }

func (s step) String() string {
	words := []string{string(s.do)}
	if s.do == end {
		words[0] = "the end of"
	}
	if s.n != 0 {
		words = append(words, fmt.Sprint(s.n))
	}
	if s.owner != "" {
		words = append(words, short(s.owner))
	}
	if s.block != "" {
		words = append(words, "of block "+short(s.block))
	}
	if s.saw != "" {
		words = append(words, "it is "+s.saw)
	}
	if s.maybe {
		words = append(words, "(not known)")
	}
	return strings.Join(words, " ")
}

// short is the end of an id, which tells those of one second apart.
func short(id string) string { return id[max(0, len(id)-8):] }
