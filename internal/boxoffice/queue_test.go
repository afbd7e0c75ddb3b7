package boxoffice

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever the clock does and however often they are asked: never more than the
// rate allows, and nothing goes back.
func TestAQueueNeverCallsMoreThanItsRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.IntRange(1, 100_000).Draw(t, "rate")
		h := QueueHead{Since: noon, Joined: 1 << 40, Drawn: 1 << 40}
		now, last := noon, noon
		var called, freed int64
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			now = now.Add(time.Duration(rapid.Int64Range(-3e9, 5e9).Draw(t, "step")))
			if now.After(last) {
				last = now
			}
			given := rapid.Int64Range(0, 3).Draw(t, "freed")
			h.Freed += given
			freed += given
			h.Drawn = h.Head + rapid.Int64Range(0, 200_000).Draw(t, "waiting")
			back := rapid.Int64Range(0, 1000).Draw(t, "back")
			before := h
			again, next := h.Call(now, rate, back)
			called += again + next
			if again < 0 || again > back || next < 0 || h.Head != before.Head+next || h.Head > h.Drawn || h.Since.Before(before.Since) || h.Freed < 0 {
				t.Fatalf("%+v after %+v: %d of %d again, and %d", h, before, again, back, next)
			}
			if again < back && next > 0 {
				t.Fatalf("%d are called before all who came back", next)
			}
			if most := int64(last.Sub(noon))*int64(rate)/int64(time.Minute) + freed; called > most {
				t.Fatalf("called %d, the rate allows %d", called, most)
			}
		}
	})
}

// Asked often, by anybody, while people wait: no fewer either.
func TestAQueueCallsAsManyAsItsRate(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{1, 7, 60, 599, 600, 6000, 999_999} {
		h := QueueHead{Since: noon, Joined: 1 << 40, Drawn: 1 << 40}
		var called int64
		for at := time.Duration(0); at <= 10*time.Minute; at += 237 * time.Millisecond {
			_, n := h.Call(noon.Add(at), rate, 0)
			called += n
		}
		if want := int64(10 * rate); called < want-want/100-1 || called > want {
			t.Errorf("rate %d: %d in ten minutes, not %d", rate, called, want)
		}
	}
}

func TestAQueueSavesUpOneTurn(t *testing.T) {
	t.Parallel()
	h := QueueHead{Since: noon}
	for i := range 600 {
		if _, n := h.Call(noon.Add(time.Duration(i)*time.Second), 60, 0); n != 0 {
			t.Fatal(n)
		}
	}
	h.Joined, h.Drawn = 1000, 1000
	if _, n := h.Call(noon.Add(600*time.Second), 60, 0); n < 1 || n > 2 {
		t.Errorf("%d are called at once after ten quiet minutes", n)
	}
	// What is given back waits for those who are to be drawn, and for nobody else.
	h = QueueHead{Since: noon, Freed: 2, Joined: 5}
	if h.Call(noon, 60, 0); h.Freed != 2 {
		t.Errorf("%+v", h)
	}
	h.Joined = 0
	if h.Call(noon, 60, 0); h.Freed != 0 {
		t.Errorf("%+v", h)
	}
}

// Who comes back takes a turn, and moves nobody: what was given back is for
// those who wait, and is forgotten only when nobody does.
func TestTurnsGivenBackAreForThoseWhoWait(t *testing.T) {
	t.Parallel()
	since := noon.Add(-time.Second)
	h := QueueHead{Since: since, Joined: 15, Drawn: 10, Head: 5, Freed: 7}
	if again, next := h.Call(noon, 600, 5); again != 5 || next != 5 || h.Freed != 7 {
		t.Errorf("five are to be drawn still: %d again, %d next, %+v", again, next, h)
	}
	h = QueueHead{Since: since, Joined: 10, Drawn: 10, Head: 5, Freed: 7}
	if again, next := h.Call(noon, 600, 5); again != 5 || next != 5 || h.Freed != 0 {
		t.Errorf("nobody waits any more: %d again, %d next, %+v", again, next, h)
	}
	// Five minutes in which every place is held, and a thousand turns end; then one place is free.
	h = QueueHead{Since: since, Joined: 5000, Drawn: 5000, Head: 1200}
	for i := range 300 {
		h.Freed += 4
		h.Stand(noon.Add(time.Duration(i) * time.Second))
	}
	if _, next := h.Call(noon.Add(300*time.Second), 600, 0); next > 10 {
		t.Errorf("%d rush in for one place", next)
	}
}

func TestRoundsCloseInTheirTime(t *testing.T) {
	t.Parallel()
	before := &QueueRound{OpenedAt: noon, Digest: make([]byte, 32)}
	if before.Close(noon.Add(time.Hour), false) || !before.Close(noon.Add(time.Hour), true) || before.PublicFrom != DrawnFromEntries {
		t.Errorf("%+v", before)
	}
	later := &QueueRound{OpenedAt: noon, ClosesAt: noon.Add(QueueRoundTime)}
	if later.Close(noon.Add(QueueRoundTime-1), true) || !later.Close(noon.Add(QueueRoundTime), true) || !later.Drawn() {
		t.Errorf("%+v", later)
	}
	beacon := &QueueRound{OpenedAt: noon, Beacon: "drand"}
	if !beacon.Close(noon, true) || beacon.Drawn() || beacon.Close(noon.Add(beaconWait-1), true) || !beacon.Close(noon.Add(beaconWait), true) || !beacon.Drawn() {
		t.Errorf("%+v", beacon)
	}
}
