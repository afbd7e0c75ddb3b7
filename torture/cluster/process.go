//go:build unix

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// restartPause is what a supervisor waits before it starts again what fell.
	restartPause = 200 * time.Millisecond
	// repairMax is how long a part may take to work again.
	repairMax = time.Minute
	// stopMax is how long a process may take to stop when asked to.
	stopMax = 20 * time.Second
)

// process is a rowlock process and its supervisor, who starts it again whenever
// it ends without having been asked to.
type process struct {
	name   string // "instance 0"
	binary string
	args   []string
	url    string
	file   string // its log
	log    *slog.Logger
	turn   turn

	mu       sync.Mutex
	settings map[string]string
	stop     chan struct{} // closed: it is not to run
	stopped  chan struct{} // closed by the supervisor when it does not
	run      *run
	exits    []Exit
}

// run is one life of a process.
type run struct {
	cmd    *exec.Cmd
	ready  chan struct{} // closed once /readyz says so
	exited chan struct{}
}

// up starts the process and its supervisor.
func (p *process) up() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop, p.stopped = make(chan struct{}), make(chan struct{})
	go p.supervise(p.stop, p.stopped)
}

// down ends the process with a signal, and with SIGKILL if it takes no notice,
// which is an error.
func (p *process) down(sig syscall.Signal) (err error) {
	p.mu.Lock()
	close(p.stop)
	r, stopped := p.run, p.stopped
	p.mu.Unlock()
	if r != nil {
		r.cmd.Process.Signal(sig)
		select {
		case <-r.exited:
		case <-time.After(stopMax):
			err = fmt.Errorf("cluster: %s did not stop within %v of %v", p.name, stopMax, sig)
			r.cmd.Process.Signal(syscall.SIGKILL)
		}
	}
	<-stopped
	return err
}

func (p *process) signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return fmt.Errorf("cluster: %s does not run", p.name)
	}
	return p.run.cmd.Process.Signal(sig)
}

// supervise keeps the process running until stop is closed and whoever closed
// it has ended the process.
func (p *process) supervise(stop <-chan struct{}, stopped chan<- struct{}) {
	defer close(stopped)
	for {
		r, err := p.launch(stop)
		switch {
		case err != nil:
			p.exit(err.Error(), false)
		case r == nil:
			return
		default:
			<-r.exited
			p.ended(r, stop)
		}
		select {
		case <-stop:
			return
		case <-time.After(restartPause):
		}
	}
}

// ended notes that a life is over, and that nobody asked for it if stop is not
// closed.
func (p *process) ended(r *run, stop <-chan struct{}) {
	p.mu.Lock()
	p.run = nil
	p.mu.Unlock()
	select {
	case <-stop:
		return
	default:
	}
	select {
	case <-r.ready:
		p.exit(r.cmd.ProcessState.String(), true)
	default:
		p.exit(r.cmd.ProcessState.String(), false)
	}
}

// exit notes an end that nobody asked for.
func (p *process) exit(state string, ready bool) {
	e := Exit{Process: p.name, At: time.Now(), Ready: ready, State: state, Log: logTail(p.file)}
	p.log.Warn("ended by itself", "process", p.name, "state", state, "ready", ready)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exits = append(p.exits, e)
}

// launch starts the process once, unless stop is closed: then it returns nil.
func (p *process) launch(stop <-chan struct{}) (*run, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-stop:
		return nil, nil
	default:
	}
	out, err := os.OpenFile(p.file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(p.binary, p.args...)
	cmd.Env = environment(p.settings)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = attributes()
	r := &run{cmd: cmd, ready: make(chan struct{}), exited: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// Locked for the process's whole life and never unlocked: should this
		// thread end, Linux would take that for the death of the parent.
		runtime.LockOSThread()
		err := cmd.Start()
		out.Close()
		started <- err
		if err == nil {
			cmd.Wait()
		}
		close(r.exited)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	p.run = r
	go p.watch(r)
	return r, nil
}

// environment has what the settings say and nothing of ours.
func environment(settings map[string]string) []string {
	env := []string{"PATH=/usr/bin:/bin"}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		env = append(env, name+"="+settings[name])
	}
	return env
}

// watch finds out when the process is ready for the first time.
func (p *process) watch(r *run) {
	for {
		if isReady(p.url) {
			close(r.ready)
			return
		}
		select {
		case <-r.exited:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// client asks processes how they are. It keeps no connections, which would go
// to those that were killed.
var client = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func isReady(url string) bool {
	resp, err := client.Get(url + "/readyz")
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK
}

// awaitFirst waits until the process is ready, and does not forgive it if it
// falls before: nothing is wrong yet.
func (p *process) awaitFirst(ctx context.Context) error { return p.await(ctx, 0) }

// awaitReady waits until the process, or one started after it, is ready.
func (p *process) awaitReady(ctx context.Context) error { return p.await(ctx, math.MaxInt) }

func (p *process) await(ctx context.Context, exitsMax int) error {
	ctx, cancel := context.WithTimeout(ctx, repairMax)
	defer cancel()
	for {
		p.mu.Lock()
		r, exits := p.run, p.exits
		p.mu.Unlock()
		if len(exits) > exitsMax {
			return fmt.Errorf("cluster: %s ended at once: %s\n%s", p.name, exits[0].State, exits[0].Log)
		}
		var ready <-chan struct{}
		if r != nil {
			ready = r.ready
		}
		select {
		case <-ready:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("cluster: %s is not ready: %w\n%s", p.name, ctx.Err(), logTail(p.file))
		case <-time.After(20 * time.Millisecond): // it may have been started again
		}
	}
}

// set changes settings from the next start on; an empty text takes one away.
func (p *process) set(name, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settings = maps.Clone(p.settings)
	p.settings[name] = text
}

// logTail is the last lines of a log.
func logTail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return strings.TrimSpace(string(bytes.Join(lines[max(0, len(lines)-10):], []byte("\n"))))
}
