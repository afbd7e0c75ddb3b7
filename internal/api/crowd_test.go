package api

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestCrowd(t *testing.T) {
	t.Parallel()

	// arrive lets people come at a steady rate to a house that serves so many a
	// second, all who are inside alike, and returns how many were served in the
	// last half of the time, and how long the slowest of them took.
	arrive := func(c *crowd, every time.Duration, people int, serves int64) (served int64, slowest time.Duration) {
		var n, slow atomic.Int64
		for i := range people {
			if c.enter() {
				go func() {
					came := time.Now()
					time.Sleep(time.Duration(c.inside.Load()) * time.Second / time.Duration(serves))
					c.leave(came)
					if i >= people/2 {
						n.Add(1)
						slow.Store(max(slow.Load(), int64(time.Since(came))))
					}
				}()
			}
			time.Sleep(every)
		}
		synctest.Wait()
		return n.Load(), time.Duration(slow.Load())
	}

	t.Run("lets everybody in while there is room for everybody", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(10_000, func(float64) {})
			if served, _ := arrive(c, time.Millisecond, 10_000, 2_000); served < 4_900 {
				t.Errorf("%d of 5000 were served", served)
			}
			if room := c.room.Load(); room < roomFirst {
				t.Errorf("the room shrank to %d", room)
			}
			time.Sleep(time.Minute)
		})
	})

	t.Run("ten times too many: as many are served as can be, and none of them waits for long", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(10_000, func(float64) {})
			served, slowest := arrive(c, 100*time.Microsecond, 200_000, 1_000) // 10,000 a second for 20 s
			if served < 8_000 || served > 12_000 {
				t.Errorf("%d were served in 10 s by a house that serves 1000 a second", served)
			}
			if slowest > 3*tookMax {
				t.Errorf("somebody who was let in took %v", slowest)
			}
			time.Sleep(time.Minute)
		})
	})

	t.Run("a house that became quick again has its room back", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(10_000, func(float64) {})
			arrive(c, time.Millisecond, 10_000, 50)
			small := c.room.Load()
			time.Sleep(time.Minute)
			served, _ := arrive(c, time.Millisecond, 20_000, 20_000)
			if small > roomFirst/2 || served < 9_900 {
				t.Errorf("the room was %d, and then %d of 10000 were served", small, served)
			}
			time.Sleep(time.Minute)
		})
	})

	t.Run("has less room before those inside take too long", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(10_000, func(float64) {})
			for range 20 { // 200 at a time, who take 200 ms: a thousand a second
				for range 200 {
					c.enter()
				}
				came := time.Now()
				time.Sleep(tookMax * 2 / 5)
				for range 200 {
					c.leave(came)
				}
			}
			if room := c.room.Load(); room != 2*1000/2 {
				t.Errorf("%d would be let in at once, who would take %v", room, time.Duration(room)*time.Millisecond)
			}
		})
	})

	t.Run("is never without a place, and never above what it may have", func(t *testing.T) {
		t.Parallel()
		c := newCrowd(100, func(float64) {})
		if c.room.Load() != 100 {
			t.Error(c.room.Load())
		}
		for range 50 {
			c.enter()
			c.ends = time.Time{}
			c.leave(time.Now().Add(-time.Hour))
		}
		if c.room.Load() != roomMin {
			t.Error(c.room.Load())
		}
	})
}
