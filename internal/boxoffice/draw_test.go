package boxoffice

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestADrawIsAPermutation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(1, 400).Draw(t, "n")
		d := NewDraw(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "key"), rapid.String().Draw(t, "value"), n)
		seen := make([]bool, n)
		for i := range n {
			p := d.At(i)
			if p >= n || seen[p] {
				t.Fatalf("%d of %d has place %d, which is another's or none", i, n, p)
			}
			seen[p] = true
			if back := d.Of(p); back != i {
				t.Fatalf("place %d is %d's, not %d's", p, back, i)
			}
		}
	})
}

// What docs/queue.md says, word by word, by somebody who has never seen the code.
func TestADrawIsWhatTheDocsSay(t *testing.T) {
	t.Parallel()
	mac := func(key []byte, in ...byte) []byte {
		h := hmac.New(sha256.New, key)
		h.Write(in)
		return h.Sum(nil)
	}
	key, value := []byte("a key of thirty-two bytes in all"), "drand 4242: 7f3a"
	for _, n := range []uint64{1, 2, 3, 16, 17, 255, 256, 257, 1000, 65537, 100_000} {
		seed := mac(key, []byte(value)...)
		w := 4
		for 1<<(2*w) < int(n) {
			w++
		}
		through := func(x uint64) uint64 {
			left, right := x/(1<<w), x%(1<<w)
			for round := range 10 {
				f := binary.BigEndian.Uint64(mac(seed, append([]byte{byte(round)}, binary.BigEndian.AppendUint64(nil, right)...)...))
				left, right = right, left^f%(1<<w)
			}
			return left*(1<<w) + right
		}
		d := NewDraw(key, value, n)
		for i := uint64(0); i < n; i += 1 + n/50 {
			want := through(i)
			for want >= n {
				want = through(want)
			}
			if got := d.At(i); got != want {
				t.Fatalf("%d of %d: %d, want %d", i, n, got, want)
			}
		}
	}
}

// No place is anybody's favourite: over many keys everybody comes everywhere.
func TestADrawIsFair(t *testing.T) {
	t.Parallel()
	const n, draws = 7, 7000
	var count [n][n]int
	for k := range draws {
		d := NewDraw([]byte(fmt.Sprint("key ", k)), "value", n)
		for i := range uint64(n) {
			count[i][d.At(i)]++
		}
	}
	// Chi square with 36 degrees of freedom: above 80 once in thirty thousand, and these keys are always the same.
	chi := 0.0
	for i := range n {
		for p := range n {
			off := float64(count[i][p]) - draws/n
			chi += off * off / (draws / n)
		}
	}
	if chi > 80 {
		t.Errorf("chi square is %.1f: %v", chi, count)
	}
}

func BenchmarkDraw(b *testing.B) {
	d := NewDraw(make([]byte, 32), "value", 100_000)
	for i := range uint64(b.N) {
		d.At(i % 100_000)
	}
}
