package checkout_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/checkout"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/jobs"
	"github.com/rowlock/rowlock/internal/lanes"
	"github.com/rowlock/rowlock/internal/payment"
	"github.com/rowlock/rowlock/internal/store"
)

const childEnv = "ROWLOCK_TEST_CHILD"

// orders are what a child needs to know.
type orders struct {
	URL, LaneURL string // of the database
	Gateway      string
	KillAt       int  // it kills itself at this point of its way, from 0; -1: never
	Jobs         bool // it works jobs
	Webhooks     int  // an answer of the gateway reaches it only after so many webhooks
}

// act is something to do.
type act struct {
	Do       string // book, pay, ask, cancel, send
	ID       uuid.UUID
	Customer string
	Token    string
}

// came is what came of it.
type came struct {
	Code  boxoffice.Code
	Trace []checkout.Step // all points that were passed so far
}

// later delays the answers of a gateway until webhooks were taken.
type later struct {
	payment.Gateway
	until <-chan struct{}
}

func (g later) Charge(ctx context.Context, c payment.Charge) (payment.Answer, error) {
	a, err := g.Gateway.Charge(ctx, c)
	select {
	case <-g.until:
	case <-ctx.Done():
	}
	return a, err
}

// child is a little Rowlock in a process of its own: it does what it is told,
// and kills itself where it is told, without a moment to tidy up.
func child(text string) {
	var o orders
	must(json.Unmarshal([]byte(text), &o))
	jobsOf, err := jobs.NewScheduler(quietly, true)
	must(err)
	ctx := context.Background()
	s, err := store.Open(ctx, store.Config{
		URL: o.URL, LaneURL: o.LaneURL, PoolMax: 3, Jobs: jobsOf, Lanes: lanes.Config{Lanes: 1, WaitersMax: 1},
	})
	must(err)
	go s.Run(ctx)

	var mu sync.Mutex
	trace := []checkout.Step{} // not null in JSON
	until, webhooks := make(chan struct{}), 0
	g := gatewayAt(o.Gateway)
	if o.Webhooks > 0 {
		g = later{g, until}
	}
	out := checkout.New(checkout.Config{Store: s, Gateways: []payment.Gateway{g}, Step: func(step checkout.Step) {
		mu.Lock()
		defer mu.Unlock()
		if len(trace) == o.KillAt {
			self, err := os.FindProcess(os.Getpid())
			must(err)
			must(self.Kill())
			select {}
		}
		trace = append(trace, step)
	}})
	if o.Jobs {
		pool, err := jobs.OpenPool(ctx, o.URL, 3)
		must(err)
		j, err := jobs.New(jobs.Config{Store: s, Checkout: out, Pool: pool})
		must(err)
		go j.Run(ctx)
	}

	mux := http.NewServeMux()
	mux.HandleFunc("POST /webhooks", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(take(out, r))
		if webhooks++; webhooks == o.Webhooks {
			close(until)
		}
	})
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		var a act
		must(json.NewDecoder(r.Body).Decode(&a))
		code := boxoffice.CodeOf(a.on(ctx, out))
		mu.Lock()
		defer mu.Unlock()
		must(json.NewEncoder(w).Encode(came{code, trace}))
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	fmt.Println("http://" + listener.Addr().String())
	go http.Serve(listener, mux)
	io.Copy(io.Discard, os.Stdin) // until whoever started it ends, or lets it
}

func (a act) on(ctx context.Context, out *checkout.Checkout) (err error) {
	pay := checkout.Payment{Method: "card", Token: a.Token}
	switch a.Do {
	case "book":
		_, err = out.Book(ctx, buyer(a.Customer), new(fixture.Key()), checkout.Request{ReservationID: a.ID, Buyer: who(a.Customer), Payment: pay})
	case "pay":
		_, err = out.Pay(ctx, buyer(a.Customer), new(fixture.Key()), a.ID, pay)
	case "ask":
		err = out.Ask(ctx, a.ID)
	case "cancel":
		_, err = out.Cancel(ctx, buyer(a.Customer), new(fixture.Key()), a.ID, store.CancelRequest{})
	case "send":
		err = out.SendRefund(ctx, a.ID)
	case "":
	default:
		panic(a.Do)
	}
	return err
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// process is a child as its parent sees it.
type process struct {
	url   string
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{}
}

// start starts a child on the house's database and gateway.
func (h *house) start(o orders) (*process, error) {
	o.URL, o.LaneURL, o.Gateway = h.db.URL(store.RoleApp), h.db.URL(store.RoleLane), h.url
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(os.Args[0]), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	p.cmd.Stderr = os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(stdout)
	if lines.Scan() {
		p.url = lines.Text()
	}
	go func() {
		p.cmd.Wait()
		close(p.ended)
	}()
	if p.url == "" {
		p.end()
		return nil, fmt.Errorf("the child did not start")
	}
	return p, nil
}

// do lets the child do something; ok says that it has lived to tell.
func (p *process) do(a act) (c came, ok bool) {
	body, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	resp, err := http.Post(p.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return c, false
	}
	defer resp.Body.Close()
	return c, json.NewDecoder(resp.Body).Decode(&c) == nil
}

// end lets the child end, if it has not, and waits for that.
func (p *process) end() {
	p.stdin.Close()
	<-p.ended
}

// killed says whether the child, which has ended, was killed.
func (p *process) killed() bool {
	return !p.cmd.ProcessState.Exited()
}

// bury lets the time of a dead child pass: that of its leadership among those
// who work jobs, and that of the jobs it had begun. Nobody else may work jobs.
func (h *house) bury() {
	h.t.Helper()
	h.until("its last words are heard", func() bool { // what Postgres had read of it is done
		return read[int](h, `select count(*)::int from pg_stat_activity where datname = current_database() and application_name = 'rowlock jobs'`) == 0
	})
	h.exec(`update river_leader set expires_at = now() - interval '1 minute'`)
	h.exec(`update river_job set attempted_at = attempted_at - interval '1 hour' where state = 'running'`)
	// A job that has died five times is given up: what it was for is the sweep's.
	h.exec(`update payment_checks set due_at = clock_timestamp() - interval '1 minute'`)
}
