package boxoffice

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math/bits"
	"time"

	"github.com/google/uuid"
)

// Draw is the order of n people as a keyed permutation of 0…n-1: whose turn is
// when is computed from their number, in either direction, and never written
// down. It is a Feistel network of [drawRounds] rounds over the smallest even
// number of bits that hold n, with HMAC-SHA-256 as the round function; what
// falls outside of n goes through again until it is inside. docs/queue.md says
// the same in the words of somebody who wants to check it.
//
// A Draw is used by one goroutine at a time.
type Draw struct {
	n    uint64
	half uint // bits of either half
	mac  hash.Hash
	in   [9]byte
	out  [sha256.Size]byte
}

const (
	drawRounds = 10
	// drawHalfMin keeps a handful of people from being put in order by one or
	// two bits of the key: Feistel networks are no good on tiny domains.
	drawHalfMin = 4
)

// NewDraw makes the order of n people. The seed is HMAC-SHA-256 of the public
// value under the key: whoever knows one of them knows nothing.
func NewDraw(key []byte, publicValue string, n uint64) *Draw {
	seed := hmac.New(sha256.New, key)
	seed.Write([]byte(publicValue))
	half := uint(drawHalfMin)
	if n > 1 {
		half = max(half, (uint(bits.Len64(n-1))+1)/2)
	}
	return &Draw{n: n, half: half, mac: hmac.New(sha256.New, seed.Sum(nil))}
}

// At is the place, from 0, of the i-th of the n, from 0.
func (d *Draw) At(i uint64) uint64 {
	for i = d.forth(i); i >= d.n; {
		i = d.forth(i)
	}
	return i
}

// Of is who of the n, from 0, has a place, from 0: the inverse of At.
func (d *Draw) Of(place uint64) uint64 {
	for place = d.back(place); place >= d.n; {
		place = d.back(place)
	}
	return place
}

func (d *Draw) forth(v uint64) uint64 {
	l, r := v>>d.half, v&(1<<d.half-1)
	for i := range drawRounds {
		l, r = r, l^d.round(byte(i), r)
	}
	return l<<d.half | r
}

func (d *Draw) back(v uint64) uint64 {
	l, r := v>>d.half, v&(1<<d.half-1)
	for i := drawRounds - 1; i >= 0; i-- {
		l, r = r^d.round(byte(i), l), l
	}
	return l<<d.half | r
}

// round is the last bits of the first eight bytes of HMAC(seed, i ‖ x).
func (d *Draw) round(i byte, x uint64) uint64 {
	d.in[0] = i
	binary.BigEndian.PutUint64(d.in[1:], x)
	d.mac.Reset()
	d.mac.Write(d.in[:])
	return binary.BigEndian.Uint64(d.mac.Sum(d.out[:0])) & (1<<d.half - 1)
}

// Where the public value of a draw is from.
const (
	DrawnFromEntries = "entries" // the digest of everybody who joined
	DrawnFromBeacon  = "beacon"  // what the source that was named before has said since
)

// QueueRound is everybody who joined a waiting room before the sale, or later
// within the same few seconds. Whoever is in a round comes before everybody in
// the next; among themselves they come in the order of its [Draw].
type QueueRound struct {
	Round       int   // from 1
	First       int64 // entries before it: its numbers are First+1…First+Entries
	Entries     int64
	OpenedAt    time.Time
	ClosesAt    time.Time // zero: when the sale opens
	ClosedAt    time.Time // zero: it is open
	DrawnAt     time.Time // zero: its order is not known yet
	Key         []byte    // 32 random bytes, told when it is drawn
	Digest      []byte    // of its entries so far, see [DigestEntry]
	Beacon      string    // the source of the public value that was named before; "": the entries themselves
	PublicValue string    // "" until it is drawn
	PublicFrom  string    // [DrawnFromEntries] or [DrawnFromBeacon]
}

// KeyHash is what is told of the key from the beginning: its SHA-256, in hex.
func (r *QueueRound) KeyHash() string {
	sum := sha256.Sum256(r.Key)
	return hex.EncodeToString(sum[:])
}

// Drawn says whether the order is known.
func (r *QueueRound) Drawn() bool { return !r.DrawnAt.IsZero() }

// Draw is the order of a round that is drawn.
func (r *QueueRound) Draw() *Draw { return NewDraw(r.Key, r.PublicValue, uint64(r.Entries)) }

// Position is the place in the show's whole order, from 1, of a number of a
// round that is drawn.
func (r *QueueRound) Position(number int64) int64 {
	return r.First + int64(r.Draw().At(uint64(number-r.First-1))) + 1
}

// Has says whether a number, or a position, is of this round.
func (r *QueueRound) Has(number int64) bool {
	return number > r.First && number <= r.First+r.Entries
}

// DigestStart is the digest of a round that nobody has joined.
func DigestStart(show uuid.UUID, round int) []byte {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(show[:len(show):len(show)], uint64(round)))
	return sum[:]
}

// DigestEntry is the digest of a round with one entry more: SHA-256 over the
// digest before it and the entry's id. Ids are random, so that nobody who joins
// knows what those who follow will make of it.
func DigestEntry(digest []byte, entry uuid.UUID) []byte {
	sum := sha256.Sum256(append(digest[:len(digest):len(digest)], entry[:]...))
	return sum[:]
}

// beaconWait is how long a round that is closed waits for what its beacon says.
// Then it is drawn from its entries: a sale does not wait for ever.
const beaconWait = time.Minute

// Close ends a round whose time has come, and draws it unless it waits for its
// beacon. It reports whether the round changed.
func (r *QueueRound) Close(now time.Time, saleOpen bool) bool {
	if r.ClosedAt.IsZero() {
		if r.ClosesAt.IsZero() && !saleOpen || now.Before(r.ClosesAt) {
			return false
		}
		r.ClosedAt = now
		if r.Beacon == "" {
			r.DrawFrom(now, DrawnFromEntries, hex.EncodeToString(r.Digest))
		}
		return true
	}
	if r.Drawn() || now.Before(r.ClosedAt.Add(beaconWait)) {
		return false
	}
	r.DrawFrom(now, DrawnFromEntries, hex.EncodeToString(r.Digest))
	return true
}

// DrawFrom draws a closed round from a public value.
func (r *QueueRound) DrawFrom(now time.Time, from, value string) {
	r.DrawnAt, r.PublicFrom, r.PublicValue = now, from, value
}
