package onsale

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

// Sighting is a viewer who saw that a show had moved on.
type Sighting struct {
	After, Version int64 // from which version to which
	At             int64 // nanoseconds of the clock of this machine
}

// Sightings are what viewers saw.
type Sightings struct {
	Seen     []Sighting
	Gaps     int // changes that did not follow what was seen before
	Resets   int // viewers who were told to begin anew
	Returned int // viewers who came back when their stream had ended
	Behind   int // viewers who have not seen the last version
}

// Add adds what others saw.
func (s *Sightings) Add(more *Sightings) {
	s.Seen = append(s.Seen, more.Seen...)
	s.Gaps, s.Resets, s.Returned, s.Behind = s.Gaps+more.Gaps, s.Resets+more.Resets, s.Returned+more.Returned, s.Behind+more.Behind
}

// Audience is many people who look at a show while it sells.
type Audience struct {
	Viewers int
	Seats   int
	Holds   int           // a second, of two seats each
	Poll    time.Duration // how often they ask; 0: they are told
	During  time.Duration // of the sale; 0: nothing is sold
	Kill    time.Duration // of another, by a server that nobody watches, in the middle of which the others are killed; 0: none are
}

// Watched is what came of an audience.
type Watched struct {
	Sold     Load
	Servers  int           // that the viewers were spread over: a process has only so many file handles
	P50, P99 time.Duration // from the answer to a hold until a viewer had seen it
	Bytes    float64       // by which each viewer made the servers larger, before the sale
	CPU      time.Duration // of the servers, in the sale
	Gaps     int
	Behind   int
	After    Sightings     // of the servers' death, without Seen
	Back     time.Duration // from then until everybody had seen all that was sold meanwhile
}

// handlesApart is how many file handles a process needs beside its viewers.
const handlesApart = 500

// Watch lets an audience look at a show while it sells.
func (h *House) Watch(ctx context.Context, a Audience) (w Watched, err error) {
	program, err := build(ctx, h.dir, "bench/onsale/viewers")
	if err != nil {
		return w, err
	}
	var handles syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &handles); err != nil {
		return w, err
	}
	each := int(handles.Max) - handlesApart
	w.Servers = (a.Viewers + each - 1) / each
	shows, err := h.shows(ctx, 1, a.Seats)
	if err != nil {
		return w, err
	}
	show := &shows[0]
	servers := make([]*service, w.Servers)
	for i := range servers {
		if servers[i], err = h.serve(ctx, Rowlock, ""); err != nil {
			return w, err
		}
		defer func() { err = errors.Join(err, servers[i].stop()) }()
	}
	for _, s := range servers { // so that what every server needs is there already
		if _, err := fasthttpGet(s, show); err != nil {
			return w, err
		}
	}
	before, _, err := usage(servers)
	if err != nil {
		return w, err
	}
	crowds := make([]*crowd, w.Servers)
	for i := range crowds {
		n := a.Viewers / w.Servers
		if i < a.Viewers%w.Servers {
			n++
		}
		if crowds[i], err = gather(ctx, program, servers[i], show, n, a.Poll); err != nil {
			return w, err
		}
		defer crowds[i].end()
	}
	size, cpu, err := usage(servers)
	if err != nil {
		return w, err
	}
	w.Bytes = float64(size-before) / float64(a.Viewers)
	// Only now: who says nothing for minutes is hung up on.
	callers, hangUp, err := h.callers(ctx, servers[0], holding)
	if err != nil {
		return w, err
	}
	defer hangUp()
	answered := newAnswers()
	if a.During > 0 {
		w.Sold = pace(ctx, callers, a.Holds, a.During, []string{"201"}, func(c *caller, i int) (*fasthttp.Response, error) {
			c.body = show.hold(c.body[:0], 2*i, 2)
			resp, err := c.post(c.body)
			if err == nil {
				answered.add(string(resp.Header.Peek("Show-Version")))
			}
			return resp, err
		})
	}
	_, after, err := usage(servers)
	if err != nil {
		return w, err
	}
	w.CPU = after - cpu
	seen, err := saw(crowds, answered.last)
	if err != nil {
		return w, err
	}
	w.Gaps, w.Behind = seen.Gaps, seen.Behind
	var took []time.Duration
	for _, s := range seen.Seen {
		if at, ok := answered.at[s.After+1]; ok { // of several changes the one that waited longest
			took = append(took, max(0, time.Duration(s.At-at)))
		}
	}
	if len(took) > 0 {
		slices.Sort(took)
		w.P50, w.P99 = took[len(took)/2], took[len(took)*99/100]
	}
	if a.Kill > 0 {
		return w, h.kill(ctx, &w, a, servers, crowds, show, w.Sold.Attempts)
	}
	return w, nil
}

// kill has a server that nobody watches sell on after so many holds, kills those
// that are watched in the middle of that, and starts them again.
func (h *House) kill(ctx context.Context, w *Watched, a Audience, servers []*service, crowds []*crowd, show *show, from int64) (err error) {
	till, err := h.serve(ctx, Rowlock, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, till.stop()) }()
	callers, hangUp, err := h.callers(ctx, till, holding)
	if err != nil {
		return err
	}
	defer hangUp()
	answered := newAnswers()
	var selling sync.WaitGroup
	var sold Load
	selling.Go(func() {
		sold = pace(ctx, callers, a.Holds, a.Kill, []string{"201"}, func(c *caller, i int) (*fasthttp.Response, error) {
			c.body = show.hold(c.body[:0], 2*(int(from)+i), 2)
			resp, err := c.post(c.body)
			if err == nil {
				answered.add(string(resp.Header.Peek("Show-Version")))
			}
			return resp, err
		})
	})
	time.Sleep(a.Kill / 2)
	died := time.Now()
	for _, s := range servers {
		s.kill()
	}
	for _, s := range servers {
		err = errors.Join(err, s.start(ctx))
	}
	selling.Wait()
	if err = errors.Join(err, sold.err()); err != nil {
		return err
	}
	w.After, err = saw(crowds, answered.last)
	w.After.Seen, w.Back = nil, time.Since(died)
	return err
}

// saw waits until all have seen a version, and gathers what they saw.
func saw(crowds []*crowd, last int64) (all Sightings, err error) {
	for _, c := range crowds {
		if _, err := fmt.Fprintln(c.in, last); err != nil {
			return all, err
		}
	}
	for _, c := range crowds {
		var s Sightings
		if err := c.answers.Decode(&s); err != nil {
			return all, err
		}
		all.Add(&s)
	}
	return all, nil
}

func fasthttpGet(s *service, show *show) (int, error) {
	status, _, err := fasthttp.Get(nil, "http://"+s.addr+show.path("availability"))
	return status, err
}

// answers are when holds were answered, by the version that they made.
type answers struct {
	mu   sync.Mutex
	at   map[int64]int64
	last int64
}

func newAnswers() *answers { return &answers{at: map[int64]int64{}} }

func (a *answers) add(version string) {
	now := time.Now().UnixNano()
	v, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at[v], a.last = now, max(a.last, v)
}

// crowd is a process of viewers.
type crowd struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *gob.Decoder
}

// gather starts a process of n viewers and waits until all have seen the show.
func gather(ctx context.Context, program string, s *service, show *show, n int, poll time.Duration) (*crowd, error) {
	c := &crowd{cmd: exec.CommandContext(ctx, program, "-addr", s.addr, "-path", strings.TrimSuffix(show.path(""), "/"), "-n", strconv.Itoa(n), "-poll", poll.String())}
	c.cmd.Stderr = os.Stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is ours
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	out := bufio.NewReader(stdout)
	c.answers = gob.NewDecoder(out)
	if _, err := out.ReadString('\n'); err != nil { // it says that they are ready, or why not on its stderr
		c.end()
		return nil, fmt.Errorf("%d viewers did not come: %w", n, err)
	}
	return c, nil
}

func (c *crowd) end() {
	c.in.Close()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait() // it was killed
}

// usage is the memory and the processor time of servers.
func usage(servers []*service) (bytes int64, cpu time.Duration, err error) {
	const tick = 10 * time.Millisecond // of Linux, for user programs
	for _, s := range servers {
		folder := "/proc/" + strconv.Itoa(s.cmd.Process.Pid)
		statm, err := os.ReadFile(folder + "/statm")
		if err != nil {
			return 0, 0, err
		}
		stat, err := os.ReadFile(folder + "/stat")
		if err != nil {
			return 0, 0, err
		}
		var size, resident, user, system int64
		if _, err := fmt.Sscan(string(statm), &size, &resident); err != nil {
			return 0, 0, err
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+2:]))
		if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
			return 0, 0, err
		}
		bytes, cpu = bytes+resident*int64(os.Getpagesize()), cpu+time.Duration(user+system)*tick
	}
	return bytes, cpu, nil
}
