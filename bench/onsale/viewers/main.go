// Command viewers looks at one show as many people do: each with a connection
// of their own, by its stream or by asking every few seconds. It is a process
// of its own, so that what looking costs and what being looked at costs can be
// told apart, and since a process has only so many file handles.
//
// It prints "ready" when everybody has seen the show. Then, again and again
// until its input ends, it reads a version that the show comes to, waits until
// everybody has seen that, and writes what they saw when, as an
// [onsale.Sightings] in gob. Whose stream ends comes back, and goes on after
// what was seen last.
package main

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rowlock/rowlock/bench/onsale"
)

const (
	perAddress = 20_000 // connections from one address: its ports are not endless
	connecting = 64     // at once
	waitMax    = time.Minute
	lineMax    = 64       // bytes of a line: only the beginnings are of interest
	readMax    = 64 << 10 // bytes at once
	pollBuffer = 4096
	againAfter = 200 * time.Millisecond // where nobody answers
)

var (
	addr  = flag.String("addr", "", "host and port of the server")
	path  = flag.String("path", "", "the show's path")
	n     = flag.Int("n", 1, "how many viewers")
	every = flag.Duration("poll", 0, "ask so often; 0: by the stream")
)

func main() {
	flag.Parse()
	if err := watch(); err != nil {
		fmt.Fprintln(os.Stderr, "viewers:", err)
		os.Exit(1)
	}
}

// over says that everybody goes home.
var over atomic.Bool

// viewer is one of them.
type viewer struct {
	mu   sync.Mutex // conn, and what was seen
	conn net.Conn
	r    *bufio.Reader // of who asks

	version atomic.Int64
	seen    onsale.Sightings

	line  []byte // the beginning of a line that is not whole yet
	event event  // likewise
	last  string // id of the last event that had one
	retry time.Duration
	there func()
}

// event is as much of an event as is of interest.
type event struct {
	name           string
	id             string
	identified     bool // by id, which may be that there is none any more
	after, version int64
	changes        bool
}

func watch() error {
	all := make([]*viewer, *n)
	var ready, ended sync.WaitGroup
	turn := make(chan struct{}, connecting)
	failed := make(chan error, 1)
	for i := range all {
		ready.Add(1)
		turn <- struct{}{}
		all[i] = &viewer{there: sync.OnceFunc(func() { <-turn; ready.Done() })}
		ended.Go(func() {
			defer all[i].there()
			if err := all[i].look(i); !over.Load() {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	ready.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	fmt.Println("ready")
	out := gob.NewEncoder(os.Stdout)
	for {
		var last int64
		if _, err := fmt.Fscan(os.Stdin, &last); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if err := out.Encode(sightings(all, last)); err != nil {
			return err
		}
	}
	over.Store(true)
	for _, v := range all {
		v.mu.Lock()
		v.conn.Close()
		v.mu.Unlock()
	}
	ended.Wait()
	return nil
}

// sightings waits until everybody has seen a version, and gathers what they saw
// since it was last asked.
func sightings(all []*viewer, last int64) *onsale.Sightings {
	out := &onsale.Sightings{}
	for deadline := time.Now().Add(waitMax); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		out.Behind = 0
		for _, v := range all {
			if v.version.Load() < last {
				out.Behind++
			}
		}
		if out.Behind == 0 {
			break
		}
	}
	for _, v := range all {
		v.mu.Lock()
		out.Add(&v.seen)
		v.seen = onsale.Sightings{}
		v.mu.Unlock()
	}
	return out
}

// look looks until everybody goes home, or there was nothing to be seen at all.
func (v *viewer) look(i int) error {
	for attempt := 0; ; attempt++ {
		err := v.connect(i)
		if err == nil && *every > 0 {
			return v.poll()
		}
		wait := againAfter
		if err == nil {
			err = v.follow()
			wait = v.retry
		}
		if over.Load() || v.version.Load() == 0 || attempt > int(waitMax/againAfter) {
			return err
		}
		time.Sleep(wait)
	}
}

func (v *viewer) connect(i int) error {
	d := net.Dialer{Timeout: waitMax}
	if i >= perAddress {
		d.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+i/perAddress))}
	}
	conn, err := d.Dial("tcp", *addr)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.conn = conn; over.Load() {
		conn.Close()
	}
	return nil
}

// buffers are what is read into: only who has something to read needs one.
var buffers = sync.Pool{New: func() any { return new([readMax]byte) }}

// follow reads a stream until it ends, and says by what.
func (v *viewer) follow() error {
	defer v.conn.Close()
	request := "GET " + *path + "/stream HTTP/1.1\r\nHost: " + *addr + "\r\n"
	if v.last != "" {
		request += "Last-Event-ID: " + v.last + "\r\n"
	}
	if _, err := io.WriteString(v.conn, request+"\r\n"); err != nil {
		return err
	}
	raw, err := v.conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	v.line, v.event, v.retry = v.line[:0], event{}, 0
	if v.last != "" {
		v.mu.Lock()
		v.seen.Returned++
		v.mu.Unlock()
	}
	var ended error
	err = raw.Read(func(fd uintptr) bool {
		b := buffers.Get().(*[readMax]byte)
		defer buffers.Put(b)
		for {
			n, err := syscall.Read(int(fd), b[:])
			switch {
			case err == nil && n > 0:
				v.hear(b[:n])
				if n < len(b) {
					return false // until there is more
				}
			case err == nil:
				ended = io.EOF
				return true
			case errors.Is(err, syscall.EINTR):
			case errors.Is(err, syscall.EAGAIN):
				return false
			default:
				ended = err
				return true
			}
		}
	})
	if err == nil {
		err = ended
	}
	return err
}

// hear takes what was read apart into lines.
func (v *viewer) hear(b []byte) {
	for len(b) > 0 {
		line, rest, whole := bytes.Cut(b, []byte{'\n'})
		if !whole || len(v.line) > 0 {
			v.line = append(v.line, line[:min(len(line), max(0, lineMax-len(v.line)))]...)
			line = v.line
		}
		if whole {
			v.read(line)
			v.line = v.line[:0]
		}
		b = rest
	}
}

var (
	changesLine  = []byte(`data: {"after":`)
	versionField = []byte(`,"version":`)
	idField      = []byte("id: ")
	eventField   = []byte("event: ")
	retryField   = []byte("retry: ")
)

// read looks at the beginning of a line. An event counts when it has ended.
func (v *viewer) read(line []byte) {
	e := &v.event
	switch {
	case len(line) == 0:
		v.saw(e)
		*e = event{}
	case bytes.HasPrefix(line, eventField):
		e.name = string(line[len(eventField):])
	case bytes.HasPrefix(line, idField):
		e.id, e.identified = string(line[len(idField):]), true
	case bytes.HasPrefix(line, retryField):
		millis, _ := number(line[len(retryField):])
		v.retry = time.Duration(millis) * time.Millisecond
	case bytes.HasPrefix(line, changesLine):
		var rest []byte
		e.after, rest = number(line[len(changesLine):])
		e.version, _ = number(bytes.TrimPrefix(rest, versionField))
		e.changes = true
	}
}

func (v *viewer) saw(e *event) {
	if e.identified {
		v.last = e.id
	}
	before := v.version.Load()
	switch {
	case e.name == "reset":
		v.mu.Lock()
		v.seen.Resets++
		v.mu.Unlock()
	case e.name == "snapshot": // it may be shorter than the changes
		version, _ := strconv.ParseInt(e.id, 10, 64)
		v.moved(before, version)
		v.there()
	case e.changes:
		if e.after != before {
			v.mu.Lock()
			v.seen.Gaps++
			v.mu.Unlock()
		}
		v.moved(e.after, e.version)
	}
}

func number(b []byte) (n int64, rest []byte) {
	for len(b) > 0 && b[0] >= '0' && b[0] <= '9' {
		n, b = 10*n+int64(b[0]-'0'), b[1:]
	}
	return n, b
}

// moved notes that the viewer has seen the show move on.
func (v *viewer) moved(after, version int64) {
	if version > after && after > 0 {
		v.mu.Lock()
		v.seen.Seen = append(v.seen.Seen, onsale.Sighting{After: after, Version: version, At: time.Now().UnixNano()})
		v.mu.Unlock()
	}
	v.version.Store(version)
}

// poll asks again and again, as a page does that has no stream.
func (v *viewer) poll() error {
	v.r = bufio.NewReaderSize(v.conn, pollBuffer)
	tag := ""
	next := time.Now()
	for first := true; ; first = false {
		request := "GET " + *path + "/availability HTTP/1.1\r\nHost: " + *addr + "\r\nAccept-Encoding: gzip\r\n"
		if tag != "" {
			request += "If-None-Match: " + tag + "\r\n"
		}
		if _, err := io.WriteString(v.conn, request+"\r\n"); err != nil {
			return err
		}
		got, err := v.answer()
		if err != nil {
			return err
		}
		if got != tag {
			tag = got
			version, _ := number([]byte(tag[len(`W/"`):]))
			v.moved(v.version.Load(), version)
		}
		if first {
			v.there()
			next = next.Add(rand.N(*every))
		}
		for next = next.Add(*every); next.Before(time.Now()); next = next.Add(*every) {
		}
		time.Sleep(time.Until(next))
	}
}

// answer reads one, and returns its ETag.
func (v *viewer) answer() (tag string, err error) {
	length := 0
	for {
		line, err := v.r.ReadSlice('\n')
		if err != nil {
			return "", err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch string(name) {
		case "Etag":
			tag = string(value)
		case "Content-Length":
			n, _ := number(value)
			length = int(n)
		}
	}
	if tag == "" {
		return "", errors.New("an answer without an ETag")
	}
	_, err = v.r.Discard(length)
	return tag, err
}
