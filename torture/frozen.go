package main

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/torture/cluster"
)

// An instance that is frozen in the middle of a transaction has shows locked,
// which sell elsewhere as soon as Postgres ends that transaction: after the five
// seconds of the lane's idle_in_transaction_session_timeout, and one in which
// whoever waits comes by again. The lag is for machines that are busy with a
// dozen processes.
const (
	elsewhereMax = 6 * time.Second
	elsewhereLag = 6 * time.Second
)

// hinders are the faults that keep a show from being sold by themselves.
var hinders = []cluster.Kind{
	cluster.InstanceKilled, cluster.InstanceFrozen, cluster.ClockWrong, cluster.PostgresKilled, cluster.PostgresFell, cluster.Promoted, cluster.StandbyHung,
	cluster.HungPromoted, cluster.ClockStepped, cluster.Cut, cluster.CutBefore, cluster.CutAfter, cluster.Slowed, cluster.Silenced,
}

// inLane are the verbs that need a show's lock. The first of them need nothing
// else, such as a gateway.
var inLane = []verb{place, change, extend, release, block, unblock, pause, resume, capacity, checkIn, pay, confirm, cancel, refund}

const lockOnly = 10

// frozen sees that shows which an instance had locked when it was frozen were
// sold by the others soon.
func (r *round) frozen() {
	faults, ops := r.faults(), r.history.all()
	for i := range faults {
		f := &faults[i]
		if f.Caught == nil {
			continue
		}
		limit := f.Caught.At.Add(elsewhereMax + elsewhereLag)
		hindered := slices.ContainsFunc(faults, func(other cluster.Event) bool {
			return !other.Began.Equal(f.Began) && slices.Contains(hinders, other.Kind) && other.Began.Before(limit.Add(askMax)) && other.Ended.After(f.Caught.At)
		})
		for at, sh := range r.shows {
			if !slices.Contains(f.Caught.Shows, uuid.MustParse(sh.id)) {
				continue
			}
			mine := slices.DeleteFunc(slices.Clone(ops), func(o *Op) bool { return o.Show != at })
			s := elsewhere(mine, r.t.house.URLs()[f.Caught.Instance], r.history.on(f.Caught.At), r.history.on(f.Ended), hindered)
			switch {
			case s.late != nil:
				r.t.found("%s was locked by an instance that was frozen at %v, and %.1f s later another one answered with %q who had asked for it %.1f s before",
					sh.title, f.Caught.At, s.after.Seconds(), s.late.Code, float64(s.late.To-s.late.From)/1e6)
			case s.why != "":
				r.t.screen.say("%s, locked by an instance that was frozen: not judged, %s", sh.title, s.why)
				r.t.counts.notJudged.Add(1)
			default:
				r.t.screen.say("%s, locked by an instance that was frozen, sold elsewhere after %.1f s", sh.title, s.after.Seconds())
				r.t.counts.freed.Add(1)
			}
		}
	}
}

// sale is what is known of how soon a show sold elsewhere.
type sale struct {
	after time.Duration // since it was locked: when it sold, or when it did not
	late  *vain         // who should have got in, and did not
	why   string        // nothing can be said
}

// elsewhere judges by the operations on a show that was locked from when the
// instance behind door was frozen until it went on. Who says that it sold is
// whoever asked another instance after the beginning and was told that something
// was done. Who says that it did not is whoever another instance kept waiting
// in vain over the limit, unless some other fault hindered them.
func elsewhere(ops []*Op, door string, from, to int64, hindered bool) (s sale) {
	limit := from + int64((elsewhereMax+elsewhereLag)/time.Microsecond)
	first := never
	for _, o := range ops {
		if o.ok() && slices.Contains(inLane, o.Do) && o.Door != "" && o.Door != door && o.began() >= from {
			first = min(first, o.Return)
		}
		for i := range o.InVain {
			v := &o.InVain[i]
			waited := v.Code == string(boxoffice.CodeLockTimeout) || v.Code == ""
			if waited && slices.Contains(inLane[:lockOnly], o.Do) && v.Door != door && v.From >= from && v.From < limit && v.To > limit && v.To < to && (s.late == nil || v.To < s.late.To) {
				s.late = v
			}
		}
	}
	switch {
	case first <= limit:
		return sale{after: time.Duration(first-from) * time.Microsecond}
	case hindered:
		return sale{why: "there was another fault"}
	case s.late == nil:
		return sale{why: "nobody asked for it elsewhere"}
	}
	s.after = time.Duration(s.late.To-from) * time.Microsecond
	return s
}

// began is when the try began that was answered.
func (o *Op) began() int64 {
	if n := len(o.InVain); n > 0 {
		return o.InVain[n-1].To
	}
	return o.Call
}
