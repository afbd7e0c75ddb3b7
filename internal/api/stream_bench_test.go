package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/fixture"
)

// BenchmarkViewers tells 4,000 viewers of one show of changes, one after the
// other: with a goroutine for each viewer, which is what a connection gets that
// cannot be written to without waiting, and without.
//
//	go test -run '^$' -bench Viewers -benchtime 20x ./internal/api
//
// "told-ms" is from the commit until the last viewer has been sent it, and
// "cpu-us" what that costs this process and its kernel for each of them.
// "other-ms" is how long the same process takes at most for a question to the
// database meanwhile: what else it does waits behind viewers.
// "kB" is what an idle viewer adds to heap and stacks.
func BenchmarkViewers(b *testing.B) {
	for _, c := range []struct {
		name  string
		plain bool
	}{{"resting", false}, {"goroutines", true}} {
		b.Run(c.name, func(b *testing.B) { benchmarkViewers(b, 4000, c.plain) })
	}
}

// plainly is a listener of connections that are no more than that.
type plainly struct{ net.Listener }

func (l plainly) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return struct{ net.Conn }{c}, err
}

func benchmarkViewers(b *testing.B, n int, plain bool) {
	s := fixture.Open(b)
	show := fixture.Show(b, s, fixture.Options{Seats: 10})
	a := New(Options{Store: s, Log: slog.New(slog.DiscardHandler)})
	server := httptest.NewUnstartedServer(a)
	server.Config = a.Server()
	if plain {
		server.Listener = plainly{server.Listener}
	}
	server.Start()
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = a.Run(ctx) // it ends because it is told to
	}()
	defer func() { a.close(); server.Close(); stop(); <-ended }()

	before := inUse()
	viewers := make([]syscall.RawConn, n)
	for i := range viewers {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		if viewers[i], err = conn.(*net.TCPConn).SyscallConn(); err != nil {
			b.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, "GET /api/v1/shows/%s/stream HTTP/1.1\r\nHost: rowlock\r\n\r\n", show.ID); err != nil {
			b.Fatal(err)
		}
	}
	drain := func(until string) {
		for _, v := range viewers {
			for !strings.Contains(take(b, v), until) {
				time.Sleep(time.Millisecond) // a poll
			}
		}
	}
	drain("event: snapshot")
	grown := float64(inUse()-before) / float64(n) / 1000

	var told, other []time.Duration
	var cpu time.Duration
	for i := 0; b.Loop(); i++ {
		r := placed(b, s, show, 0, 0)
		began, used := time.Now(), processor(b)
		most := time.Duration(0)
		if i%2 == 0 {
			for _, v := range viewers {
				await(b, v)
			}
			told, cpu = append(told, time.Since(began)), cpu+processor(b)-used
		} else {
			for last := viewers[n-1]; !waiting(b, last); {
				at := time.Now()
				if err := s.Ready(b.Context()); err != nil {
					b.Fatal(err)
				}
				most = max(most, time.Since(at))
			}
			other = append(other, most)
		}
		drain("event: changes")
		if _, _, err := s.ReleaseReservation(b.Context(), fixture.Staff, new(fixture.Key()), r.ID); err != nil {
			b.Fatal(err)
		}
		drain("event: changes")
	}
	median := func(list []time.Duration) float64 {
		slices.Sort(list)
		return float64(list[len(list)/2].Microseconds()) / 1000
	}
	b.ReportMetric(0, "ns/op") // means nothing here
	b.ReportMetric(median(told), "told-ms")
	b.ReportMetric(float64(cpu.Microseconds())/float64(n*len(told)), "cpu-us")
	b.ReportMetric(grown, "kB")
	if len(other) > 0 {
		b.ReportMetric(median(other), "other-ms")
	}
}

// inUse is how much memory lives, heap and stacks.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// processor is how much processor time this process has used.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// take reads what a connection has.
func take(b *testing.B, raw syscall.RawConn) string {
	return receive(b, raw, make([]byte, 8192), 0)
}

// waiting reports whether a connection has something to read.
func waiting(b *testing.B, raw syscall.RawConn) bool {
	return receive(b, raw, make([]byte, 1), syscall.MSG_PEEK) != ""
}

// await waits until a connection has something to read.
func await(b *testing.B, raw syscall.RawConn) {
	for !waiting(b, raw) {
		time.Sleep(time.Millisecond) // a poll
	}
}

func receive(b *testing.B, raw syscall.RawConn, into []byte, flags int) (text string) {
	if err := raw.Read(func(fd uintptr) bool {
		n, _, err := syscall.Recvfrom(int(fd), into, flags)
		if err != nil && !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR) {
			b.Error(err)
		}
		text = string(into[:max(0, n)])
		return true
	}); err != nil {
		b.Fatal(err)
	}
	return text
}
