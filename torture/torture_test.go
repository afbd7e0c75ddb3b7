package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/sandbox"
	"github.com/rowlock/rowlock/torture/cluster"
)

// lines is where a test's run is watched.
type lines struct{ t *testing.T }

func (l lines) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}

// The same code as go run ./torture, for some seconds. A failure names the
// folder with everything in it, and the command for a longer run.
func TestNothingIsLostOrSoldTwiceUnderFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("it kills processes for some seconds")
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	rep, err := torture(ctx, options{
		seed: 20261127, during: 5 * time.Second, each: time.Minute, faults: []string{"kill", "cut"},
		buyers: 6, staff: 1, queuers: 3, waiters: 2, viewers: 1, troubles: 2, calm: 500 * time.Millisecond,
		// None whose outcome a job asks for later: the test would wait for it.
		cards: []card{{sandbox.TokenOK, 70}, {sandbox.TokenDeclined, 15}, {sandbox.TokenStorm, 15}},
		house: cluster.Config{Instances: 2, Proxy: true},
	}, &screen{out: lines{t}})
	if err != nil {
		t.Fatal(err)
	}
	if rep.count(cluster.InstanceKilled, cluster.CutAfter) == 0 || rep.Operations[place]["done"] == 0 {
		t.Errorf("nothing happened: %d places held, faults %v", rep.Operations[place]["done"], rep.Faults) // the seed begins with one of these two
	}
	for what, n := range rep.Checks {
		// In so short a time it may be that no hold ends, nobody is called, and nothing becomes free; and nothing is frozen.
		kind, _, _ := strings.Cut(what, " ")
		if n == 0 && !slices.Contains([]string{"holds", "turns", "offers", "shows"}, kind) {
			t.Errorf("%s: none", what)
		}
	}
}

func TestTheSameSeedPlansTheSame(t *testing.T) {
	t.Parallel()
	wishes := func(seed uint64) (all [][]int) {
		sh := newStory().show
		for visit := range uint64(50) {
			v := newVisit(&client{t: &run{seed: seed}, id: 3}, &round{n: 2, shows: []*show{sh}}, visit, []int{0})
			seats, units := v.want()
			all = append(all, append(seats, units, v.plan.IntN(1000)))
		}
		return all
	}
	same, again, other := wishes(1), wishes(1), wishes(2)
	differs := false
	for i := range same {
		for j := range same[i] {
			if len(again[i]) != len(same[i]) || again[i][j] != same[i][j] {
				t.Fatalf("visit %d: %v, and again %v", i, same[i], again[i])
			}
		}
		differs = differs || len(other[i]) != len(same[i]) || other[i][0] != same[i][0]
	}
	if !differs {
		t.Error("another seed plans the same")
	}
}

func TestEveryKindOfFaultComesBeforeAnyComesAgain(t *testing.T) {
	t.Parallel()
	kinds := []cluster.Kind{cluster.InstanceKilled, cluster.InstanceFrozen, cluster.Cut, cluster.CutAfter, cluster.JobsTwice}
	r, again := &run{seed: 1, kinds: kinds}, &run{seed: 1, kinds: kinds}
	for range 10 {
		came := map[cluster.Kind]int{}
		for range 5 {
			l, same := r.draw(), again.draw()
			if came[l.kind]++; l.kind != same.kind || l.rng.Uint64() != same.rng.Uint64() {
				t.Errorf("%s, and again %s", l.kind, same.kind)
			}
		}
		want := map[cluster.Kind]int{cluster.InstanceKilled: 2, cluster.Cut: 1, cluster.CutAfter: 1, cluster.JobsTwice: 1}
		if !maps.Equal(came, want) {
			t.Errorf("of five faults there were %v", came)
		}
	}
	l := r.draw()
	if r.undo(l); r.draw().kind != l.kind {
		t.Error("what came to nothing does not come next")
	}
}

func TestFaultsAreChosenByName(t *testing.T) {
	t.Parallel()
	can := []cluster.Kind{cluster.InstanceKilled, cluster.Cut, cluster.CutAfter}
	for _, c := range []struct {
		names []string
		n     int
	}{{nil, 3}, {[]string{"none"}, 0}, {[]string{"cut"}, 2}, {[]string{"kill", "cut"}, 3}} {
		if kinds, err := choose(c.names, can); err != nil || len(kinds) != c.n {
			t.Errorf("%v: %v, %v", c.names, kinds, err)
		}
	}
	if _, err := choose([]string{"flood"}, can); err == nil {
		t.Error("an unknown fault was taken")
	}
	if _, err := choose([]string{"kill", "promote"}, can); err == nil || !strings.Contains(err.Error(), "a standby") {
		t.Errorf("a fault that cannot happen here: %v", err)
	}
	if lines := strings.Join(missing(can), "\n"); !strings.Contains(lines, "apt install faketime") || strings.Contains(lines, "kill") {
		t.Errorf("what cannot happen here:\n%s", lines)
	}
}

func TestALongRunHasEveryFault(t *testing.T) {
	t.Parallel()
	long := options{during: eachKindIn, troubles: 1}
	r := &run{cfg: long, kinds: []cluster.Kind{cluster.Cut, cluster.CutAfter, cluster.JobsTwice}, done: map[cluster.Kind]int{}, screen: &screen{out: lines{t}}}
	r.happened(cluster.Event{Kind: cluster.Cut})
	r.happened(cluster.Event{Kind: cluster.JobsTwice, Idle: true})
	if never := strings.Join(r.never(), ", "); never != "cut after commit, jobs run twice" {
		t.Errorf("there was never: %s", never)
	}
	r.cfg.during--
	if never := r.never(); never != nil {
		t.Errorf("in a short run there was never: %v", never)
	}
}
