// Command viewers looks at one show as many people do: each with a connection
// of their own, by its stream or by asking every few seconds. It is a process
// of its own, so that what looking costs and what being looked at costs can be
// told apart, and since a process has only so many file handles.
//
// It prints "ready" when everybody has seen the show. Then it reads the
// version that the show comes to, waits until everybody has seen that, and
// writes what they saw when, as a [onsale.Sightings] in gob.
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
	"time"

	"github.com/rowlock/rowlock/bench/onsale"
)

const (
	perAddress  = 20_000 // connections from one address: its ports are not endless
	connecting  = 64     // at once
	waitMax     = 20 * time.Second
	eventBuffer = 1024 // only the beginnings of lines are of interest
	pollBuffer  = 4096
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

// viewer is one of them.
type viewer struct {
	conn    net.Conn
	r       *bufio.Reader
	version atomic.Int64
	gaps    int
	seen    []onsale.Sighting
}

func watch() error {
	all := make([]*viewer, *n)
	var ready, ended sync.WaitGroup
	turn := make(chan struct{}, connecting)
	failed := make(chan error, 1)
	for i := range all {
		all[i] = &viewer{}
		ready.Add(1)
		turn <- struct{}{}
		ended.Go(func() {
			there := sync.OnceFunc(func() { <-turn; ready.Done() })
			defer there()
			if err := all[i].look(i, there); !errors.Is(err, net.ErrClosed) {
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
	var last int64
	if _, err := fmt.Fscan(os.Stdin, &last); err != nil {
		return err
	}
	out := onsale.Sightings{}
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
		v.conn.Close()
	}
	ended.Wait()
	for _, v := range all {
		out.Gaps += v.gaps
		out.Seen = append(out.Seen, v.seen...)
	}
	return gob.NewEncoder(os.Stdout).Encode(&out)
}

// look looks until the connection is closed, and says by what.
func (v *viewer) look(i int, there func()) (err error) {
	from := &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+i/perAddress))}
	d := net.Dialer{LocalAddr: from, Timeout: waitMax}
	if i < perAddress {
		d.LocalAddr = nil
	}
	if v.conn, err = d.Dial("tcp", *addr); err != nil {
		return err
	}
	if *every > 0 {
		return v.poll(there)
	}
	if _, err := fmt.Fprintf(v.conn, "GET %s/stream HTTP/1.1\r\nHost: %s\r\n\r\n", *path, *addr); err != nil {
		return err
	}
	v.r = bufio.NewReaderSize(v.conn, eventBuffer)
	return v.listen(there)
}

var (
	changesLine  = []byte(`data: {"after":`)
	versionField = []byte(`,"version":`)
	idField      = []byte("id: ")
	eventField   = []byte("event: ")
	snapshotName = []byte("event: snapshot")
)

// listen reads a stream. It looks at the beginnings of lines.
func (v *viewer) listen(there func()) error {
	snapshot, whole := false, true
	for {
		line, err := v.r.ReadSlice('\n')
		begins := whole
		whole = err == nil
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if !begins {
			continue
		}
		switch {
		case bytes.HasPrefix(line, eventField):
			snapshot = bytes.HasPrefix(line, snapshotName)
		case snapshot && bytes.HasPrefix(line, idField):
			version, _ := strconv.ParseInt(string(bytes.TrimSpace(line[len(idField):])), 10, 64)
			if before := v.version.Load(); before != 0 { // shorter than the changes
				v.saw(before, version)
			}
			v.version.Store(version)
			there()
		case bytes.HasPrefix(line, changesLine):
			after, rest := number(line[len(changesLine):])
			version, _ := number(bytes.TrimPrefix(rest, versionField))
			if after != v.version.Load() {
				v.gaps++
			}
			v.saw(after, version)
			v.version.Store(version)
		}
	}
}

func number(b []byte) (n int64, rest []byte) {
	for len(b) > 0 && b[0] >= '0' && b[0] <= '9' {
		n, b = 10*n+int64(b[0]-'0'), b[1:]
	}
	return n, b
}

func (v *viewer) saw(after, version int64) {
	if version > after {
		v.seen = append(v.seen, onsale.Sighting{After: after, Version: version, At: time.Now().UnixNano()})
	}
}

// poll asks again and again, as a page does that has no stream.
func (v *viewer) poll(there func()) error {
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
			if before := v.version.Load(); before != 0 {
				v.saw(before, version)
			}
			v.version.Store(version)
		}
		if first {
			there()
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
