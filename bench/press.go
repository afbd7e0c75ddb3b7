package main

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

// pressed is what callers got.
type pressed struct {
	attempts int           // answered
	refused  int64         // because a seat was taken, which is an answer
	failed   int64         // for any other reason
	why      error         // the first that failed
	took     time.Duration // until the last answer
	waits    []time.Duration
}

func (p *pressed) perSecond() float64 { return float64(p.attempts) / p.took.Seconds() }

// wait is how long so many of a hundred callers waited at most, milliseconds.
func (p *pressed) wait(percent int) float64 {
	if len(p.waits) == 0 {
		return 0
	}
	return float64(p.waits[(len(p.waits)-1)*percent/100]) / float64(time.Millisecond)
}

// tally counts while callers ask.
type tally struct {
	answered, refused, failed atomic.Int64
	why                       atomic.Pointer[error]
}

func (t *tally) count(err error) {
	switch {
	case err == nil:
	case boxoffice.CodeOf(err) == boxoffice.CodeSeatAlreadyReserved:
		t.refused.Add(1)
	default:
		t.failed.Add(1)
		t.why.CompareAndSwap(nil, &err)
	}
	t.answered.Add(1)
}

func (t *tally) sum(took time.Duration, waits [][]time.Duration) pressed {
	p := pressed{attempts: int(t.answered.Load()), refused: t.refused.Load(), failed: t.failed.Load(), took: took, waits: slices.Concat(waits...)}
	if why := t.why.Load(); why != nil {
		p.why = *why
	}
	slices.Sort(p.waits)
	return p
}

// press has so many callers ask again as soon as they are answered, until n
// attempts are made or the time for new ones is over.
func press(ctx context.Context, watch *screen, callers, n int, most time.Duration, attempt func(ctx context.Context, caller, i int) error) pressed {
	var next atomic.Int64
	var t tally
	defer watch.follow(&t)()
	waits := make([][]time.Duration, callers)
	var group sync.WaitGroup
	began := time.Now()
	for caller := range callers {
		group.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				asked := time.Now()
				if i >= n || asked.Sub(began) > most {
					return
				}
				t.count(attempt(ctx, caller, i))
				waits[caller] = append(waits[caller], time.Since(asked))
			}
		})
	}
	group.Wait()
	return t.sum(time.Since(began), waits)
}

// pace makes so many attempts a second for a while, whether or not others have
// been answered, and takes waits from when each was due. Who comes while all
// callers wait, waits for one of them.
func pace(ctx context.Context, watch *screen, callers, perSecond int, during time.Duration, attempt func(ctx context.Context, caller, i int) error) pressed {
	n := int(during.Seconds() * float64(perSecond))
	each := time.Second / time.Duration(perSecond)
	var next atomic.Int64
	var t tally
	defer watch.follow(&t)()
	waits := make([][]time.Duration, callers)
	var group sync.WaitGroup
	began := time.Now()
	for caller := range callers {
		group.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				due := began.Add(time.Duration(i) * each)
				time.Sleep(time.Until(due))
				t.count(attempt(ctx, caller, i))
				waits[caller] = append(waits[caller], time.Since(due))
			}
		})
	}
	group.Wait()
	return t.sum(time.Since(began), waits)
}

// place holds seats under a key of its own, for a customer of its own, as a
// request over HTTP would.
func place(ctx context.Context, s *store.Store, show uuid.UUID, ttlSeconds int, seats ...string) (uuid.UUID, boxoffice.Actor, error) {
	key := newKey()
	actor := boxoffice.Actor{CustomerID: key.Owner, Name: key.Owner}
	refs := make([]store.SeatRef, len(seats))
	for i, label := range seats {
		refs[i].Label = label
	}
	hold, _, err := s.PlaceReservation(ctx, actor, &key, store.PlaceRequest{ShowID: show, CustomerID: key.Owner, Seats: refs, TTLSeconds: ttlSeconds})
	if err != nil {
		return uuid.Nil, actor, err
	}
	return hold.ID, actor, nil
}

func newKey() boxoffice.IdempotencyKey {
	k := boxoffice.IdempotencyKey{Key: uuid.New()}
	k.Owner = k.Key.String()
	copy(k.Fingerprint[:], k.Key[:])
	copy(k.Fingerprint[16:], k.Key[:])
	return k
}
