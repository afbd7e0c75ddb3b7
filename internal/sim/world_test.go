package sim

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/checkout"
	"github.com/rowlock/rowlock/internal/payment"
)

// world is one run. All of it but the requests under way belongs to the one
// goroutine that carries out the operations; a request runs only while that
// one waits, until it ends or wants something of the world.
type world struct {
	bug    bug
	traced bool
	lines  []string // what happened, in words
	broken string   // the first thing that must not be

	tables  *tables
	gate    *gateway
	auditor *auditor
	procs   []*process
	calls   []*call // that wait to be picked, the oldest first
	late    []*call // requests to the gateway that arrive when they will, though nobody waits any more
	jobs    []*job
	paused  bool // the queue
	slow    bool // webhooks come when jobs are done, in the end
	intents []*intent
	ids     int
	tasks   int           // begun
	under   int           // of them, not ended
	skew    time.Duration // how far the database's clock is ahead of the others
	passes  []boxoffice.Pass
	mailed  map[uuid.UUID]int // offers, by entry
	swept   bool              // the waitlist, in the end
	seen    *seen

	mu     sync.Mutex
	posted []*call // since the last look
	ended  []*task
	steps  []checkout.Step // since the last look
}

// seen counts what runs came past, so that a test can see that they come past
// everything.
type seen struct {
	steps  map[checkout.Step]int // at which an instance died
	things map[string]int
}

// process is an instance, until it dies.
type process struct {
	w        *world
	n        int
	died     chan struct{}
	dead     bool
	skew     time.Duration // of its own clock, which decides nothing
	checkout *checkout.Checkout
}

// task is a request, a job or a webhook that an instance works on.
type task struct {
	n       int
	process *process
	done    func() // it came to its end, and that is known
	lost    func() // its instance died first, or its answer was lost
	mute    bool   // it was
}

// taskKey and intentKey are what a request's context carries.
type (
	taskKey   struct{}
	intentKey struct{}
)

// call is something that a task wants of the database or the gateway. It waits
// until an operation picks it: so everything else can happen before it, and
// also that its instance dies.
type call struct {
	task  *task
	what  string
	steps []checkout.Step // between the call before it and this one
	gone  atomic.Bool     // nobody waits for the answer any more

	// It is one of these: a command for a lane, made when it is decided; a
	// reading or another transaction; a request to the gateway.
	doer func() boxoffice.Doer
	read func() error
	wire func() (answer func())

	command boxoffice.Command
	out     boxoffice.Outcome
	err     error
	done    chan struct{} // it was answered
}

var errDied = errors.New("sim: the instance is dead")

// job is work on the queue.
type job struct {
	n       int
	task    boxoffice.Task
	at      time.Time
	running int
	done    bool
}

const taskExpire boxoffice.TaskKind = "expire"

func newWorld(seed uint64, b bug, s *seen) *world {
	w := &world{bug: b, seen: s, slow: seed/3%2 == 0, mailed: map[uuid.UUID]int{}}
	w.tables = newTables(w.clock(), int(seed%3)*2, hasRoom(seed))
	w.gate = &gateway{w: w, charges: map[uuid.UUID]*charge{}, refunds: map[string]*moneyBack{}}
	w.auditor = newAuditor(w)
	for n := range 3 {
		w.procs = append(w.procs, w.boot(n))
	}
	return w
}

// boot starts an instance.
func (w *world) boot(n int) *process {
	p := &process{w: w, n: n, died: make(chan struct{}), skew: time.Duration(n-1) * 90 * time.Second}
	p.checkout = checkout.New(checkout.Config{
		Store: &books{p}, Gateways: []payment.Gateway{&port{p}},
		Step: func(s checkout.Step) { w.mu.Lock(); w.steps = append(w.steps, s); w.mu.Unlock() },
	})
	return p
}

// clock is the database's.
func (w *world) clock() time.Time { return time.Now().Add(w.skew) }

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	if d > 0 {
		time.Sleep(d)
		w.settle()
	}
}

func (w *world) id(of byte) uuid.UUID {
	w.ids++
	return id(w.ids, of)
}

func (w *world) say(format string, args ...any) {
	if w.traced {
		w.lines = append(w.lines, fmt.Sprintf("%8s  ", w.clock().Sub(start).Truncate(time.Microsecond))+fmt.Sprintf(format, args...))
	}
}

// fail notes the first thing that must not be.
func (w *world) fail(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
		w.say("!! %s", w.broken)
	}
}

// start is when the fake clock of a bubble begins.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// begin lets an instance begin with a task, up to the first thing that it wants.
// The last one is to be heard: by a client, a gateway, the queue.
func (w *world) begin(p *process, run func(ctx context.Context), done, lost func()) {
	w.tasks++
	w.under++
	t := &task{n: w.tasks, process: p, done: done, lost: lost}
	go func() {
		defer func() {
			if r := recover(); r != nil {
				w.mu.Lock()
				w.fail("panic: %v\n%s", r, debug.Stack())
				w.mu.Unlock()
			}
			w.mu.Lock()
			w.ended = append(w.ended, t)
			w.mu.Unlock()
		}()
		ctx := context.WithValue(context.Background(), taskKey{}, t)
		run(ctx)
		t.mute = p.wait(ctx, &call{what: "answer", read: func() error { return nil }}) != nil
	}()
	w.settle()
}

// settle waits until every task waits for the world, or has ended.
func (w *world) settle() {
	synctest.Wait()
	w.mu.Lock()
	posted, ended := w.posted, w.ended
	w.posted, w.ended, w.steps = nil, nil, w.steps[:0]
	w.mu.Unlock()
	// Tasks that go on side by side, as those that ran out of time together,
	// come in any order.
	if len(posted) > 1 {
		slices.SortFunc(posted, func(x, y *call) int { return cmp.Or(cmp.Compare(x.task.n, y.task.n), strings.Compare(x.what, y.what)) })
	}
	w.calls = append(w.calls, posted...)
	w.calls = slices.DeleteFunc(w.calls, func(c *call) bool { return c.wire == nil && c.gone.Load() })
	slices.SortFunc(ended, func(x, y *task) int { return cmp.Compare(x.n, y.n) })
	for _, t := range ended {
		w.under--
		if t.mute {
			t.lost()
		} else {
			t.done()
		}
	}
}

// wait hands a call to the world and waits for the answer. What a dead
// instance calls is not heard.
func (p *process) wait(ctx context.Context, c *call) error {
	w := p.w
	c.task, _ = ctx.Value(taskKey{}).(*task)
	c.done = make(chan struct{})
	w.mu.Lock()
	if p.dead {
		w.mu.Unlock()
		return errDied
	}
	c.steps = slices.Clone(w.steps)
	w.posted = append(w.posted, c)
	w.mu.Unlock()
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		w.mu.Lock()
		w.seen.things["a call takes too long"]++
		w.mu.Unlock()
		c.gone.Store(true)
		return ctx.Err()
	case <-p.died:
		c.gone.Store(true)
		return errDied
	}
}

// crash ends an instance with all that it was doing, and starts another in its
// place.
func (w *world) crash(n int) {
	p := w.procs[n]
	for _, c := range w.calls {
		if c.task.process == p && !c.gone.Load() {
			for _, s := range c.steps {
				w.seen.steps[s]++
			}
		}
	}
	w.end(p)
	w.procs[n] = w.boot(n)
}

func (w *world) end(p *process) {
	w.mu.Lock()
	p.dead = true
	w.mu.Unlock()
	close(p.died)
	w.settle()
}

// fate is what becomes of a call.
type fate int

const (
	fateDone    fate = iota
	fateNone         // it does not arrive, and the caller learns that
	fateUnknown      // it is done, and the answer is lost
	fateLost         // it does not arrive, and the caller cannot know
	fateTwice        // it is done, the answer is lost, and whoever called sees to it again
	fateCrash        // it is done, and the instance dies
	fateLate         // the caller gives up, and it is done when nobody thinks of it any more
	fates
)

func (f fate) String() string {
	return []string{"", ", refused by the network", ", done but unanswered", ", lost", ", unanswered and sent again", ", and the instance dies", ", delayed"}[f]
}

// unavailable is what a caller is told whose call did not come through.
func unavailable(outcome string) error {
	e := boxoffice.Refuse(boxoffice.CodeUnavailable, "The database cannot be reached.")
	e.Facts.Outcome = outcome
	return e
}

// proceed picks a call. Of commands for a lane, up to n of the instance go
// together.
func (w *world) proceed(c *call, f fate, n int) {
	if c.doer != nil {
		w.lane(c.task.process, f, n, c)
		return
	}
	w.calls = slices.DeleteFunc(w.calls, func(o *call) bool { return o == c })
	if c.task.process.dead && f == fateCrash {
		f = fateUnknown // it was on its way when the instance died
	}
	w.say("instance %d, task %d: %s%s", c.task.process.n, c.task.n, c.what, f)
	arrives := f != fateNone && f != fateLost && f != fateLate
	if c.wire != nil {
		if arrives {
			answer := c.wire()
			if f == fateTwice {
				answer = c.wire()
			}
			if f == fateDone || f == fateTwice {
				answer()
			}
		}
		switch f {
		case fateLate:
			w.late = append(w.late, c)
			fallthrough
		case fateUnknown, fateNone:
			c.err = errors.New("sim: the line broke")
		case fateLost:
			return // the caller waits until its time is up
		}
	} else {
		if arrives {
			c.err = c.read()
		}
		switch f {
		case fateNone, fateLost, fateLate:
			c.err = unavailable("none")
		case fateUnknown:
			c.err = unavailable("unknown")
		}
	}
	if f == fateCrash {
		w.crash(c.task.process.n)
		return
	}
	close(c.done)
	w.settle()
}

// arrive lets a delayed request come to the gateway.
func (w *world) arrive(i int) {
	c := w.late[i]
	w.late = slices.Delete(w.late, i, i+1)
	w.say("late: %s", c.what)
	c.wire()
}

// lane works a batch of an instance's commands in one transaction.
func (w *world) lane(p *process, f fate, n int, first *call) {
	if f == fateLate { // no lane does that: what it has given up it does not do
		f = fateLost
	}
	batch := []*call{first}
	for _, c := range w.calls {
		if c != first && c.doer != nil && c.task.process == p && len(batch) < n {
			batch = append(batch, c)
		}
	}
	w.calls = slices.DeleteFunc(w.calls, func(c *call) bool { return slices.Contains(batch, c) })
	for _, c := range batch {
		if c.command.Do == nil {
			c.command.Do = c.doer()
		}
		w.say("instance %d, task %d: %s%s", p.n, c.task.n, c.what, f)
	}
	if f != fateNone && f != fateLost {
		w.commit(p, batch, f == fateDone)
	} else if w.bug == earlyAnswer {
		w.answerEarly(p, batch)
		f = fateDone
	}
	if f == fateTwice { // as the lane does when its connection breaks
		w.commit(p, batch, true)
	}
	for _, c := range batch {
		switch f {
		case fateNone:
			c.err = unavailable("none")
		case fateUnknown, fateLost:
			c.err = unavailable("unknown")
		default:
			if c.out.Err != nil {
				c.err = c.out.Err
			}
			if f == fateTwice {
				c.out.Replayed = false
			}
		}
	}
	if f == fateCrash {
		w.crash(p.n)
		return
	}
	for _, c := range batch {
		close(c.done)
	}
	w.settle()
}

// decide loads what a batch needs and decides it.
func (w *world) decide(p *process, batch []*call) (now time.Time, cmds []boxoffice.Command, outcomes []boxoffice.Outcome, did *boxoffice.Changes) {
	for _, c := range batch {
		cmds = append(cmds, c.command)
	}
	clock := w.clock()
	if w.bug == processClock {
		clock = clock.Add(p.skew)
	}
	now = w.tables.now(clock)
	st := w.tables.load(now, cmds)
	w.misload(&st)
	outcomes, did = boxoffice.Decide(st, cmds)
	for i, o := range outcomes {
		if o.Err != nil && o.Err.Code == boxoffice.CodeInternal {
			w.fail("%s: %v", batch[i].what, o.Err)
		}
	}
	return now, cmds, outcomes, did
}

// commit carries a batch out, answers it and has it audited.
func (w *world) commit(p *process, batch []*call, answered bool) {
	now, cmds, outcomes, did := w.decide(p, batch)
	if w.bug == skipLock {
		w.interleave(p, outcomes, did)
	}
	w.missave(did, answered)
	was := w.tables.terms
	if err := w.tables.save(now, did); err != nil {
		w.fail("the database refuses: %v", err)
		for _, c := range batch {
			c.out.Err = boxoffice.Refuse(boxoffice.CodeInternal, "%v", err)
		}
		return
	}
	for _, end := range did.Ends {
		w.enqueue(boxoffice.Task{Kind: taskExpire, At: end})
	}
	for _, t := range did.Tasks {
		w.enqueue(t)
	}
	for i, c := range batch {
		c.out = outcomes[i]
	}
	w.auditor.batch(batch, cmds, outcomes, did.Log)
	w.reopen(was, now)
}

func (w *world) enqueue(t boxoffice.Task) {
	if t.Kind == boxoffice.TaskMail {
		if t.Mail == boxoffice.MailOffer {
			w.mailed[t.WaitlistEntryID]++
		}
		return
	}
	w.jobs = append(w.jobs, &job{n: len(w.jobs) + 1, task: t, at: t.At})
}

// work begins with a job.
func (w *world) work(p *process, j *job) {
	var err error
	j.running++
	end := func(died bool) func() {
		return func() {
			j.running--
			var wait *checkout.ErrWait
			switch {
			case died: // rescued after a while
				j.at = w.clock().Add(time.Minute)
			case errors.As(err, &wait):
				j.at = w.clock().Add(wait.After)
			case err != nil:
				j.at = w.clock().Add(5 * time.Second)
			default:
				j.done = true
			}
		}
	}
	w.begin(p, func(ctx context.Context) { err = w.do(ctx, p, j) }, end(false), end(true))
}

func (w *world) do(ctx context.Context, p *process, j *job) error {
	switch j.task.Kind {
	case taskExpire:
		return (&books{p}).expire(ctx, boxoffice.ReasonExpired)
	case boxoffice.TaskSettle:
		return p.checkout.SettleShow(ctx, show)
	case boxoffice.TaskRefund:
		return p.checkout.SendRefund(ctx, j.task.RefundID)
	case boxoffice.TaskCancelShow:
		more, err := p.checkout.CancelShow(ctx, show, func() bool { return j.n%2 == 0 })
		if err == nil && more {
			return &checkout.ErrWait{}
		}
		return err
	case boxoffice.TaskEvent:
		return p.checkout.ApplyEvent(ctx, j.task.Gateway, j.task.Event)
	}
	return fmt.Errorf("there is no job for %q", j.task.Kind)
}

func (j *job) String() string {
	s := fmt.Sprintf("job %d, %s", j.n, j.task.Kind)
	if j.task.Kind == boxoffice.TaskRefund {
		s += " " + name(j.task.RefundID)
	}
	return s + j.task.Event
}

// intent is what somebody wants, with the key that makes all attempts at it one.
type intent struct {
	n    int
	who  boxoffice.Actor
	what string
	key  *boxoffice.IdempotencyKey
	ask  func(ctx context.Context, p *process, in *intent) (told, error)
	made []uuid.UUID // what attempts would have made
	open bool        // the last answer was lost, or said that the outcome is unknown
	told *told       // the first good answer; nil: none yet
	over error       // a refusal
}

// told is a good answer.
type told struct {
	hold    uuid.UUID
	until   time.Time
	booking uuid.UUID
	status  boxoffice.BookingStatus
	refunds []uuid.UUID
	id      uuid.UUID
	left    bool // the waitlist: id is the entry
	number  int64
	scan    *boxoffice.Scan
}

// wants makes an intent and has an instance asked for it.
func (w *world) wants(p *process, who boxoffice.Actor, what string, ask func(ctx context.Context, p *process, in *intent) (told, error)) {
	in := &intent{n: len(w.intents) + 1, who: who, what: what, ask: ask}
	in.key = &boxoffice.IdempotencyKey{Owner: who.Name, Key: id(in.n, 'k'), Fingerprint: [32]byte{byte(in.n)}}
	w.intents = append(w.intents, in)
	w.ask(p, in)
}

func (w *world) ask(p *process, in *intent) {
	var t told
	var err error
	w.say("%s asks instance %d, #%d: %s (task %d)", in.who.Name, p.n, in.n, in.what, w.tasks+1)
	w.begin(p, func(ctx context.Context) { t, err = in.ask(context.WithValue(ctx, intentKey{}, in), p, in) }, func() {
		switch code := boxoffice.CodeOf(err); {
		case err == nil:
			w.say("#%d is told: %s", in.n, t)
			in.open = false
			w.auditor.told(in, t)
		case code.Info().Class == boxoffice.ClassUnavailable || code == boxoffice.CodeInternal:
			in.open = true
		default:
			w.say("#%d is refused: %v", in.n, err)
			in.open, in.over = false, err
		}
	}, func() { in.open = true })
}

func (t told) String() string {
	var s []string
	for _, id := range slices.Concat([]uuid.UUID{t.hold, t.booking, t.id}, t.refunds) {
		if id != uuid.Nil {
			s = append(s, name(id))
		}
	}
	if !t.until.IsZero() {
		s = append(s, "until "+t.until.Sub(start).String())
	}
	if t.scan != nil {
		s = append(s, string(t.scan.Result))
	}
	if t.number > 0 {
		s = append(s, fmt.Sprint("number ", t.number))
	}
	return strings.Join(append(s, string(t.status)), " ")
}

// webhook lets an instance hear of an event.
func (w *world) webhook(p *process, e *event) {
	body, err := json.Marshal(e.Event)
	must(err)
	w.say("instance %d hears of %s: %s (task %d)", p.n, e.ID, e.what, w.tasks+1)
	var failed error
	e.under++
	w.begin(p, func(ctx context.Context) { failed = p.checkout.Webhook(ctx, gatewayName, nil, body) }, func() {
		e.under--
		if failed == nil {
			e.taken = true
		}
	}, func() { e.under-- })
}
