package main

import (
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// An instance is frozen from second 10 to second 40.
func TestWhenAShowSellsElsewhere(t *testing.T) {
	t.Parallel()
	at := func(seconds float64) int64 { return int64(seconds * 1e6) }
	told := func(door string, from, to float64) *Op {
		return &Op{Do: place, Status: 201, Door: door, Call: at(from), Return: at(to)}
	}
	vainly := func(door, code string, from, to float64) *Op {
		return &Op{Do: place, Call: at(from), Return: never, InVain: []vain{{door, at(from), at(to), code}}}
	}
	patient := told("other", 9, 16)
	patient.InVain = []vain{{"frozen", at(9), at(13), ""}, {"other", at(13), at(14.9), string(boxoffice.CodeLockTimeout)}}
	lock := string(boxoffice.CodeLockTimeout)
	late := vainly("other", lock, 21, 23)
	for name, c := range map[string]struct {
		ops      []*Op
		hindered bool
		after    time.Duration
		late     bool
		judged   bool
	}{
		"It sold in time":                          {[]*Op{told("other", 14, 15.5)}, false, 5500 * time.Millisecond, false, true},
		"It sold in time, whatever else there was": {[]*Op{told("other", 14, 15.5), late}, true, 5500 * time.Millisecond, false, true},
		"Who asked again had asked before":         {[]*Op{patient}, false, 6 * time.Second, false, true},
		"What was asked before says nothing":       {[]*Op{told("other", 9.9, 10.1)}, false, 0, false, false},
		"Nor what the frozen one says afterwards":  {[]*Op{told("frozen", 11, 12)}, false, 0, false, false},
		"Nor what needs no lock":                   {[]*Op{{Do: look, Status: 200, Door: "other", Call: at(11), Return: at(12)}}, false, 0, false, false},
		"Nobody asked":                             {nil, false, 0, false, false},
		"Somebody was kept waiting":                {[]*Op{late}, false, 13 * time.Second, true, true},
		"Somebody was, and then it sold too late":  {[]*Op{late, told("other", 23, 24)}, false, 13 * time.Second, true, true},
		"Somebody was not answered at all":         {[]*Op{vainly("other", "", 20, 24)}, false, 14 * time.Second, true, true},
		"Somebody was, by another fault":           {[]*Op{late}, true, 0, false, false},
		"Somebody was, and it was early":           {[]*Op{vainly("other", lock, 12, 14)}, false, 0, false, false},
		"Somebody was, and it was over":            {[]*Op{vainly("other", lock, 39, 41)}, false, 0, false, false},
		"Somebody was, who asked much later":       {[]*Op{vainly("other", lock, 30, 32)}, false, 0, false, false},
		"By the frozen one itself":                 {[]*Op{vainly("frozen", "", 20, 24)}, false, 0, false, false},
		"It was turned away for another reason":    {[]*Op{vainly("other", string(boxoffice.CodeKeyInUse), 21, 23)}, false, 0, false, false},
	} {
		s := elsewhere(c.ops, "frozen", at(10), at(40), c.hindered)
		if s.after != c.after || (s.late != nil) != c.late || (s.why == "") != c.judged {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
