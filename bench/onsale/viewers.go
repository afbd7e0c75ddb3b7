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

// Sightings are what all viewers of a process saw.
type Sightings struct {
	Seen   []Sighting
	Gaps   int // changes that did not follow what was seen before
	Behind int // viewers who have not seen the last version
}

// Audience is many people who look at a show while it sells.
type Audience struct {
	Viewers int
	Seats   int
	Holds   int           // a second, of two seats each
	Poll    time.Duration // how often they ask; 0: they are told
	During  time.Duration // of the sale; 0: nothing is sold
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
	var took []time.Duration
	for _, c := range crowds {
		seen, err := c.finish(answered.last)
		if err != nil {
			return w, err
		}
		w.Gaps, w.Behind = w.Gaps+seen.Gaps, w.Behind+seen.Behind
		for _, s := range seen.Seen {
			if at, ok := answered.at[s.After+1]; ok { // of several changes the one that waited longest
				took = append(took, max(0, time.Duration(s.At-at)))
			}
		}
	}
	if len(took) > 0 {
		slices.Sort(took)
		w.P50, w.P99 = took[len(took)/2], took[len(took)*99/100]
	}
	return w, nil
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
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
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
	c.out = bufio.NewReader(stdout)
	if _, err := c.out.ReadString('\n'); err != nil { // it says that they are ready, or why not on its stderr
		c.end()
		return nil, fmt.Errorf("%d viewers did not come: %w", n, err)
	}
	return c, nil
}

// finish waits until the viewers have seen a version, and returns what they
// saw.
func (c *crowd) finish(last int64) (s Sightings, err error) {
	if _, err := fmt.Fprintln(c.in, last); err != nil {
		return s, err
	}
	return s, gob.NewDecoder(c.out).Decode(&s)
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
