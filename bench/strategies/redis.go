package strategies

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"time"
)

// ErrNoRedis says that there is no redis-server to start.
var ErrNoRedis = errors.New("redis-server is not on PATH: install it (apt install redis-server, brew install redis) to compare with it, too")

// redisStart is how long a server may take until it answers.
const redisStart = 10 * time.Second

// untilStdinEnds runs a command that ends when standard input does, which it
// does however we end.
const untilStdinEnds = `
exec 3<&0
"$0" "$@" & server=$!
{ cat <&3; kill -9 $server; } >/dev/null 2>&1 &
wait $server`

// StartRedis starts a server on a free port of loopback, with dir as its
// folder. It keeps nothing on disk: that is its best case, as it may then lose
// what it acknowledged, which Postgres may not. stop ends it.
func StartRedis(ctx context.Context, dir string) (addr string, stop func(), err error) {
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return "", nil, ErrNoRedis
	}
	// Somebody may have the port between our asking and its taking: once more then.
	for range 3 {
		if addr, stop, err = startRedis(ctx, binary, dir); err == nil {
			return addr, stop, nil
		}
	}
	return "", nil, err
}

func startRedis(ctx context.Context, binary, dir string) (addr string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return "", nil, err
	}
	var out bytes.Buffer
	// Not of the context: a server ends when it is stopped, after its users.
	cmd := exec.Command("sh", "-c", untilStdinEnds, binary, "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir,
		"--save", "", "--appendonly", "no", "--maxclients", "2000")
	cmd.Stdout, cmd.Stderr = &out, &out
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("redis-server: %w", err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }() // it is killed, as it has nothing to save
	stop = func() {
		_ = stdin.Close() // or it has ended by itself
		<-ended
	}
	addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	ctx, cancel := context.WithTimeout(ctx, redisStart)
	defer cancel()
	for !answers(ctx, addr) {
		select {
		case <-ended:
			return "", nil, fmt.Errorf("redis-server ended: %s", out.String())
		case <-ctx.Done():
			stop()
			return "", nil, fmt.Errorf("redis-server does not answer: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return addr, stop, nil
}

// answers says whether there is a Redis. The client would fill the screen with
// what it thinks of none.
func answers(ctx context.Context, addr string) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	answer := make([]byte, len("+PONG\r\n"))
	_ = conn.SetDeadline(time.Now().Add(time.Second)) // or it fails at once, which is no answer either
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	_, err = io.ReadFull(conn, answer)
	return err == nil && string(answer) == "+PONG\r\n"
}
