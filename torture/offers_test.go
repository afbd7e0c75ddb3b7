package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/torture/cluster"
)

// joined is an entry of the log by which somebody joined a waitlist.
func joined(version int64) entry { return logged(version, "waitlist.joined", "", 0, "", "", 0, 0) }

// by says why something was logged.
func by(reason string, e entry) entry {
	e.Reason = reason
	return e
}

// waits is somebody on a waitlist who was offered reservation; "": nothing.
func waits(id string, party int, reservation string, categories ...string) listedEntry {
	e := listedEntry{EntryID: id, PartySize: party, Categories: categories}
	if reservation != "" {
		e.Offer = &listedOffer{ReservationID: reservation}
	}
	return e
}

// A waitlist of a show with three seats and four units, all of which are held
// at first.
func TestWhoIsServedByAWaitlist(t *testing.T) {
	t.Parallel()
	full := []entry{
		by("buyer", logged(1, "reservation.created", "r1", 1000, "A-1", held, 4, 0)),
		by("buyer", logged(2, "reservation.created", "r2", 1000, "A-2", held, 0, 0)),
		by("buyer", logged(3, "reservation.created", "r3", 50, "A-3", held, 0, 0)),
		joined(4), joined(5),
	}
	free := func(version int64, reservation, seat string) entry {
		return by("buyer", logged(version, "reservation.cancelled", reservation, 1000, seat, available, 0, 0))
	}
	offer := func(version int64, reservation, seat string) entry {
		return by("waitlist", logged(version, "reservation.created", reservation, 1000, seat, held, 0, 0))
	}
	buy := func(version int64, seat string) entry {
		return by("buyer", logged(version, "reservation.created", "b", 1000, seat, held, 0, 0))
	}
	for _, c := range []struct {
		name  string
		list  []listedEntry
		log   []entry
		wrong string // a part of it; "": nothing is
	}{
		{"the first first", []listedEntry{waits("e1", 1, "o1"), waits("e2", 1, "")}, []entry{free(6, "r2", "A-2"), offer(7, "o1", "A-2")}, ""},
		{"the second first", []listedEntry{waits("e1", 1, ""), waits("e2", 1, "o2")}, []entry{free(6, "r2", "A-2"), offer(7, "o2", "A-2")}, "e1 (1 places of [], since version 4) of the waitlist of the show was passed over"},
		{"the second first, as the first needs two", []listedEntry{waits("e1", 2, ""), waits("e2", 1, "o2")}, []entry{free(6, "r2", "A-2"), offer(7, "o2", "A-2")}, ""},
		{"the second first, as the first wants the floor", []listedEntry{waits("e1", 1, "", "Floor"), waits("e2", 1, "o2")}, []entry{free(6, "r2", "A-2"), offer(7, "o2", "A-2")}, ""},
		{"a place offered twice", []listedEntry{waits("e1", 1, "o1"), waits("e2", 1, "o2")}, []entry{free(6, "r2", "A-2"), offer(7, "o1", "A-2"), offer(8, "o2", "A-2")}, "was offered seat A-2 at version 8"},
		{"a place offered twice at once", []listedEntry{waits("e1", 1, "o1"), waits("e2", 1, "o2")}, []entry{free(6, "r2", "A-2"), offer(7, "o1", "A-2"), offer(7, "o2", "A-2")}, "was offered seat A-2 at version 7"},
		{"a place that is not free", []listedEntry{waits("e1", 1, "o1"), waits("e2", 1, "")}, []entry{offer(6, "o1", "A-2")}, "was offered seat A-2"},
		{"a place whose hold is over and not closed", []listedEntry{waits("e1", 1, "o1"), waits("e2", 1, "")}, []entry{offer(50, "o1", "A-3")}, ""},
		{"more units than there are", []listedEntry{waits("e1", 1, "o1", "Floor"), waits("e2", 1, "")},
			[]entry{by("waitlist", logged(6, "reservation.created", "o1", 1000, "", "", 1, 0))}, "1 more than were free"},
		{"an offer to nobody", []listedEntry{waits("e1", 1, "o1"), waits("e2", 2, "")}, []entry{free(6, "r2", "A-2"), offer(7, "o1", "A-2"), free(8, "o1", "A-2"), offer(9, "o9", "A-2")}, "to nobody who waited"},
		{"a buyer passes them", []listedEntry{waits("e1", 1, ""), waits("e2", 2, "")}, []entry{free(6, "r2", "A-2"), buy(7, "A-2")}, "past entry e1"},
		{"a buyer takes what none of them can use", []listedEntry{waits("e1", 2, ""), waits("e2", 2, "")}, []entry{free(6, "r2", "A-2"), buy(7, "A-2")}, ""},
		{"a buyer takes an overdue seat past them", []listedEntry{waits("e1", 1, ""), waits("e2", 2, "")}, []entry{buy(50, "A-3")}, "past entry e1"},
		{"who left is served no more", []listedEntry{waits("e1", 1, ""), waits("e2", 1, "o2")}, []entry{left(6, "e1"), free(7, "r2", "A-2"), offer(8, "o2", "A-2")}, ""},
		{"nobody is served while sales are paused", []listedEntry{waits("e1", 1, ""), waits("e2", 1, "")}, []entry{logged(6, "show.paused", "", 0, "", "", 0, 0), free(7, "r2", "A-2")}, ""},
		{"a place that nobody is offered", []listedEntry{waits("e1", 2, ""), waits("e2", 1, "")}, []entry{free(6, "r2", "A-2")}, "waits to the end"},
		{"who joins while there are places", []listedEntry{waits("e1", 2, ""), waits("e2", 2, ""), waits("e3", 1, "")}, []entry{free(6, "r2", "A-2"), joined(7), buy(8, "A-2")}, "e3 (1 places of [], since version 7) joined"},
		{"who is not on the list", []listedEntry{waits("e1", 2, "")}, nil, "is not on it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			log := slices.Concat(full, c.log)
			for i := len(full); i < len(log); i++ { // a version that is far away is only late
				log[i].Sequence = min(log[i].Sequence, log[i-1].Sequence+1)
			}
			// What is free at the end is another rule's.
			if !strings.Contains(c.wrong, "to the end") && c.name != "nobody is served while sales are paused" {
				log = append(log, logged(log[len(log)-1].Sequence+1, "show.cancelled", "", 0, "", "", 0, 0))
			}
			var wrong []string
			serve(newStory().show, log, c.list, func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) })
			if c.wrong == "" && wrong != nil || c.wrong != "" && (wrong == nil || !strings.Contains(wrong[0], c.wrong)) {
				t.Errorf("%q, want %q", wrong, c.wrong)
			}
		})
	}
}

// left is an entry of the log by which somebody left a waitlist.
func left(version int64, id string) entry {
	e := logged(version, "waitlist.left", "", 0, "", "", 0, 0)
	e.Note = "party of 1, entry " + id
	return e
}

// While the database's clock is behind, a show's time stands where it was: an
// offer may have been made long after what it says.
func TestAnOfferIsDatedLooselyWhileTheClockIsBehind(t *testing.T) {
	t.Parallel()
	began := at(0)
	r := &round{history: &history{began: began}, shows: []*show{{}}, auditor: &client{}}
	stepped := cluster.Event{Kind: cluster.ClockStepped, Began: began.Add(20 * time.Second), Ended: began.Add(22 * time.Second)}
	r.events = []cluster.Event{stepped}
	offer := func(version int64, when time.Duration) entry {
		e := by("waitlist", logged(version, "reservation.created", fmt.Sprint("o", version), 1000, "", "", 1, 0))
		e.At = began.Add(when)
		return e
	}
	r.offers(0, &books{log: []entry{offer(1, 10*time.Second), offer(2, 19*time.Second), offer(3, 19*time.Second), offer(4, 21*time.Second)}})
	for i, loose := range []bool{false, false, true, true} {
		o := r.history.ops[i]
		if tight := o.Return-o.Call == 2*slack; tight == loose {
			t.Errorf("the offer of version %d: from %d to %d", o.Version, o.Call, o.Return)
		}
	}
}

func TestAHoldIsClosedInTime(t *testing.T) {
	t.Parallel()
	fault := func(kind cluster.Kind, from, to int) cluster.Event {
		return cluster.Event{Kind: kind, Began: at(from), Ended: at(to)}
	}
	for name, c := range map[string]struct {
		closed int // seconds after its end, which is at 10
		faults []cluster.Event
		judged int64
		found  int
	}{
		"soon":                             {70, nil, 1, 0},
		"late":                             {71, nil, 1, 1},
		"late, by a fault":                 {100, []cluster.Event{fault(cluster.PostgresKilled, 20, 50)}, 1, 0},
		"two faults at once count once":    {100, []cluster.Event{fault(cluster.InstanceFrozen, 25, 40), fault(cluster.PostgresKilled, 20, 40)}, 1, 1},
		"what keeps nobody from closing":   {100, []cluster.Event{fault(cluster.GatewayUnsure, 20, 60)}, 1, 1},
		"a fault that was over before":     {71, []cluster.Event{fault(cluster.PostgresKilled, 0, 9)}, 1, 1},
		"while the clock was wrong":        {200, []cluster.Event{fault(cluster.ClockStepped, 20, 22)}, 0, 0},
		"long before the clock went wrong": {71, []cluster.Event{fault(cluster.ClockStepped, 300, 302)}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &round{t: &run{began: at(0)}, history: &history{began: at(0)}, events: c.faults}
			r.closed(&show{}, []entry{logged(int64(c.closed), "reservation.expired", "r1", 10, "", "", 0, 0)})
			if judged, found := r.t.counts.expired.Load(), len(r.t.findings); judged != c.judged || found != c.found {
				t.Errorf("%d judged, %d found: %v", judged, found, r.t.findings)
			}
		})
	}
}
