package lanes_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/lanes"
)

// command is a name; some are heavy.
type command string

func (c command) Weight() int {
	if strings.HasPrefix(string(c), "heavy") {
		return 2
	}
	return 1
}

type call = lanes.Call[command, string]

// worker is a database for tests: it writes down its batches, and shows can be
// locked in it from outside.
type worker struct {
	mu      sync.Mutex
	batches [][]string
	locked  map[uuid.UUID]chan struct{} // closed: free again
	slow    time.Duration
	waiting bool
	closed  int
	shared  *worker // a waiter writes down where its lane does
}

func (w *worker) worked() [][]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.batches)
}

func (w *worker) open(waiting bool) lanes.Worker[command, string] {
	return &worker{waiting: waiting, shared: w}
}

func (w *worker) Close() {
	w.shared.mu.Lock()
	w.shared.closed++
	w.shared.mu.Unlock()
}

func (w *worker) Work(_ context.Context, batch []*call) (busy []*call) {
	s := w.shared
	time.Sleep(s.slow)
	var names []string
	for _, c := range batch {
		s.mu.Lock()
		lock := s.locked[c.Show]
		s.mu.Unlock()
		if lock != nil {
			c.Unknown = c.Command == "sent"
			select {
			case <-lock:
			default:
				if !w.waiting {
					busy = append(busy, c)
					continue
				}
				select {
				case <-lock:
				case <-time.After(time.Until(c.Deadline)):
					return batch // as after a lock_timeout
				}
			}
		}
		names = append(names, string(c.Command))
		if c.Command != "forgotten" {
			c.Answer("did "+string(c.Command), nil)
		}
	}
	s.mu.Lock()
	s.batches = append(s.batches, names)
	s.mu.Unlock()
	return busy
}

// bubble runs a test with a set of lanes on a fake clock.
func bubble(t *testing.T, cfg lanes.Config, w *worker, test func(t *testing.T, s *lanes.Set[command, string], stop func())) {
	synctest.Test(t, func(t *testing.T) {
		for show := range w.locked {
			w.locked[show] = make(chan struct{}) // made in the bubble, or its clock would not wait for it
		}
		s := lanes.New(cfg, w.open)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		stopped := false
		stop := func() {
			if !stopped {
				stopped = true
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		}
		defer stop()
		test(t, s, stop)
	})
}

func code(err error) boxoffice.Code { return boxoffice.CodeOf(err) }

func outcome(err error) string {
	var e *boxoffice.Error
	if err != nil {
		e, _ = err.(*boxoffice.Error)
	}
	if e == nil {
		return ""
	}
	return e.Facts.Outcome
}

func TestLanesWorkOneCommandAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, lanes.Config{}, &worker{}, func(t *testing.T, s *lanes.Set[command, string], _ func()) {
		start := time.Now()
		got, err := s.Do(t.Context(), uuid.New(), "a")
		if got != "did a" || err != nil || time.Since(start) != 0 {
			t.Fatal(got, err, time.Since(start))
		}
	})
}

func TestLanesTakeWhatQueuedMeanwhileAsTheNextBatch(t *testing.T) {
	t.Parallel()
	w := &worker{slow: time.Second}
	bubble(t, lanes.Config{Lanes: 1, BatchMax: 3, Timeout: 5 * time.Second}, w, func(t *testing.T, s *lanes.Set[command, string], _ func()) {
		show := uuid.New()
		var group sync.WaitGroup
		for i := range 6 {
			group.Go(func() {
				if _, err := s.Do(t.Context(), show, command(fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		group.Wait()
		want := [][]string{{"0"}, {"1", "2", "3"}, {"4", "5"}}
		if !slices.EqualFunc(w.worked(), want, slices.Equal) {
			t.Fatal(w.worked())
		}
	})
}

func TestABatchOfHeavyCommandsIsSmaller(t *testing.T) {
	t.Parallel()
	w := &worker{slow: time.Second}
	bubble(t, lanes.Config{Lanes: 1, BatchMax: 4, Timeout: 5 * time.Second}, w, func(t *testing.T, s *lanes.Set[command, string], _ func()) {
		show := uuid.New()
		var group sync.WaitGroup
		for _, name := range []command{"first", "heavy 1", "light", "heavy 2", "heavy 3", "last"} {
			group.Go(func() {
				if _, err := s.Do(t.Context(), show, name); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		group.Wait()
		want := [][]string{{"first"}, {"heavy 1", "light", "heavy 2"}, {"heavy 3", "last"}}
		if !slices.EqualFunc(w.worked(), want, slices.Equal) {
			t.Fatal(w.worked())
		}
	})
}

func TestLanesRefuseWhenTheQueueIsFull(t *testing.T) {
	t.Parallel()
	w := &worker{slow: time.Second}
	bubble(t, lanes.Config{Lanes: 1, QueueMax: 1}, w, func(t *testing.T, s *lanes.Set[command, string], _ func()) {
		show := uuid.New()
		var group sync.WaitGroup
		for i := range 2 { // one is worked, one waits
			group.Go(func() { s.Do(t.Context(), show, command(fmt.Sprint(i))) })
			synctest.Wait()
		}
		start := time.Now()
		if _, err := s.Do(t.Context(), show, "third"); code(err) != boxoffice.CodeOverloaded || time.Since(start) != 0 {
			t.Fatal(err, time.Since(start))
		}
		group.Wait()
	})
}

func TestLanesMoveABusyShowToItsWaiterAndGoOnWithTheOthers(t *testing.T) {
	t.Parallel()
	busy, free := uuid.New(), uuid.New()
	w := &worker{locked: map[uuid.UUID]chan struct{}{busy: nil}}
	bubble(t, lanes.Config{Lanes: 1}, w, func(t *testing.T, s *lanes.Set[command, string], stop func()) {
		var group sync.WaitGroup
		var answers []string
		var mu sync.Mutex
		for i := range 3 {
			group.Go(func() {
				got, err := s.Do(t.Context(), busy, command(fmt.Sprint("busy ", i)))
				mu.Lock()
				defer mu.Unlock()
				answers = append(answers, fmt.Sprintln(got, err))
			})
			synctest.Wait()
		}
		if got, err := s.Do(t.Context(), free, "free"); got != "did free" || err != nil {
			t.Fatal(got, err)
		}
		if len(answers) != 0 {
			t.Fatal("answered while the show was locked", answers)
		}
		time.Sleep(time.Second)
		close(w.locked[busy])
		group.Wait()
		slices.Sort(answers)
		if want := []string{"did busy 0 <nil>\n", "did busy 1 <nil>\n", "did busy 2 <nil>\n"}; !slices.Equal(answers, want) {
			t.Fatal(answers)
		}
		stop()
		if w.closed != 2 {
			t.Fatal("the lane and the waiter closed", w.closed, "connections")
		}
	})
}

func TestLanesGiveUpOnAShowThatStaysLocked(t *testing.T) {
	t.Parallel()
	busy := uuid.New()
	w := &worker{locked: map[uuid.UUID]chan struct{}{busy: nil}}
	bubble(t, lanes.Config{Lanes: 1, Timeout: 2 * time.Second}, w, func(t *testing.T, s *lanes.Set[command, string], _ func()) {
		start := time.Now()
		_, err := s.Do(t.Context(), busy, "a")
		if code(err) != boxoffice.CodeLockTimeout || time.Since(start) > 3*time.Second {
			t.Fatal(err, time.Since(start))
		}
	})
}

func TestLanesTakeTurnsWhereMoreShowsAreBusyThanCanBeWaitedFor(t *testing.T) {
	t.Parallel()
	first, second, third := uuid.New(), uuid.New(), uuid.New()
	w := &worker{locked: map[uuid.UUID]chan struct{}{first: nil, second: nil, third: nil}}
	bubble(t, lanes.Config{Lanes: 1, WaitersMax: 1, Timeout: 2 * time.Second}, w, func(t *testing.T, s *lanes.Set[command, string], stop func()) {
		var group sync.WaitGroup
		do := func(show uuid.UUID, cmd string, want boxoffice.Code) {
			group.Go(func() {
				start := time.Now()
				if _, err := s.Do(t.Context(), show, command(cmd)); code(err) != want || time.Since(start) > 2*time.Second {
					t.Error(cmd, err, time.Since(start))
				}
			})
			synctest.Wait()
		}
		do(first, "a", "")
		do(second, "b", "")
		do(third, "c", boxoffice.CodeLockTimeout) // stays locked
		time.Sleep(time.Second)
		close(w.locked[first])
		close(w.locked[second])
		group.Wait()
		stop()
		if w.closed != 2 {
			t.Fatal("the lane and the waiters opened", w.closed, "connections")
		}
	})
}

func TestLanesDoNotSayThatNothingWasDoneWhenThatIsUnknown(t *testing.T) {
	t.Parallel()
	show := uuid.New()
	w := &worker{locked: map[uuid.UUID]chan struct{}{show: nil}}
	bubble(t, lanes.Config{Lanes: 1}, w, func(t *testing.T, s *lanes.Set[command, string], _ func()) {
		if _, err := s.Do(t.Context(), show, "sent"); code(err) != boxoffice.CodeUnavailable || outcome(err) != "unknown" {
			t.Fatal(err)
		}
	})
}

func TestLanesDropACallerWhoWentAwayBeforeTheBatchBegan(t *testing.T) {
	t.Parallel()
	w := &worker{slow: time.Second}
	bubble(t, lanes.Config{Lanes: 1}, w, func(t *testing.T, s *lanes.Set[command, string], _ func()) {
		show := uuid.New()
		var group sync.WaitGroup
		group.Go(func() { s.Do(t.Context(), show, "first") })
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		group.Go(func() {
			if _, err := s.Do(ctx, show, "gone"); outcome(err) != "none" {
				t.Error(err)
			}
		})
		synctest.Wait()
		cancel()
		group.Wait()
		time.Sleep(2 * time.Second)
		if got := w.worked(); len(got) != 1 {
			t.Fatal(got)
		}
	})
}

func TestLanesSayUnknownWhenTheCallerLeavesAWorkedCommand(t *testing.T) {
	t.Parallel()
	bubble(t, lanes.Config{Lanes: 1}, &worker{slow: time.Second}, func(t *testing.T, s *lanes.Set[command, string], _ func()) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if _, err := s.Do(ctx, uuid.New(), "a"); code(err) != boxoffice.CodeUnavailable || outcome(err) != "unknown" {
			t.Fatal(err)
		}
	})
}

func TestLanesAnswerACallThatTheWorkerForgot(t *testing.T) {
	t.Parallel()
	bubble(t, lanes.Config{}, &worker{}, func(t *testing.T, s *lanes.Set[command, string], _ func()) {
		if _, err := s.Do(t.Context(), uuid.New(), "forgotten"); code(err) != boxoffice.CodeInternal {
			t.Fatal(err)
		}
	})
}

func TestLanesFinishWhatQueuedWhenTheyStop(t *testing.T) {
	t.Parallel()
	w := &worker{slow: time.Second}
	bubble(t, lanes.Config{Lanes: 1, BatchMax: 1, Timeout: 5 * time.Second}, w, func(t *testing.T, s *lanes.Set[command, string], stop func()) {
		show := uuid.New()
		var group sync.WaitGroup
		for i := range 3 {
			group.Go(func() {
				if _, err := s.Do(t.Context(), show, command(fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		stop()
		group.Wait()
		if _, err := s.Do(t.Context(), show, "late"); code(err) != boxoffice.CodeUnavailable || outcome(err) != "none" {
			t.Fatal(err)
		}
		if got := w.worked(); len(got) != 3 {
			t.Fatal(got)
		}
	})
}

// Between instances on one database shows change hands all the time. What is
// handed back now and then stays with its lane, and its batches.
func TestLanesTryABusyShowAgainBeforeItMovesToAWaiter(t *testing.T) {
	t.Parallel()
	show := uuid.New()
	w := &worker{locked: map[uuid.UUID]chan struct{}{show: nil}, slow: time.Millisecond}
	observed := &batches{}
	bubble(t, lanes.Config{Lanes: 1, Observer: observed}, w, func(t *testing.T, s *lanes.Set[command, string], stop func()) {
		go func() {
			time.Sleep(3500 * time.Microsecond)
			close(w.locked[show])
		}()
		if got, err := s.Do(t.Context(), show, "a"); err != nil || got != "did a" {
			t.Error(got, err)
		}
		stop()
		if !slices.Equal(observed.lanes, []int{0, 0, 0, 0}) {
			t.Error("it was worked by", observed.lanes)
		}
	})
}

// batches notes which lanes worked; -1 is a waiter.
type batches struct{ lanes []int }

func (b *batches) Batch(lane, _ int, _ time.Duration, _ int, _ time.Duration) {
	b.lanes = append(b.lanes, lane)
}
