//go:build unix

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/rs/zerolog"

	"github.com/rowlock/rowlock/internal/postgres"
)

// line is the way from one process to Postgres.
type line struct {
	turn  turn // of faults
	proxy *toxiproxy.Proxy

	mu       sync.Mutex
	upstream string
	cut      bool
}

func newLine(name, upstream string) (*line, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	l := &line{turn: newTurn(), upstream: upstream, proxy: toxiproxy.NewProxy(server, name, fmt.Sprintf("127.0.0.1:%d", port), upstream)}
	return l, l.proxy.Start()
}

// address is where the process finds Postgres.
func (l *line) address() string { return l.proxy.Listen }

// lead makes the line end at another server. What is connected is cut.
func (l *line) lead(upstream string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.upstream = upstream
	return l.apply()
}

// setCut cuts what is connected, and refuses who calls, until it is called with
// false.
func (l *line) setCut(cut bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	return l.apply()
}

func (l *line) apply() error {
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err := l.proxy.Update(&toxiproxy.Proxy{Listen: l.proxy.Listen, Upstream: l.upstream, Enabled: !l.cut})
		if !portTaken(err) || time.Since(began) > portMax {
			return err
		}
	}
}

// portMax is how long a port that we have just given up may still be taken: a
// process that is being started has it, until it becomes another program.
const portMax = 10 * time.Second

func portTaken(err error) bool {
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, postgres.ErrPortTaken)
}

// poison lets a toxic work on what Postgres says until cure is called.
func (l *line) poison(toxic string, attributes any) (cure func() error, err error) {
	text, err := json.Marshal(map[string]any{"type": toxic, "stream": "downstream", "attributes": attributes})
	if err != nil {
		return nil, err
	}
	added, err := l.proxy.Toxics.AddToxicJson(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return func() error { return l.proxy.Toxics.RemoveToxic(context.Background(), added.Name) }, nil
}

func (l *line) close() { l.proxy.Stop() }

// cutAt is a toxic of ours: it cuts a connection in the place of passing on
// what Postgres says when a command of this name is done.
type cutAt struct {
	Command string `json:"command"`
}

const cutAtType = "rowlock_cut_at"

func init() {
	toxics.Register(cutAtType, new(cutAt))
	zerolog.SetGlobalLevel(zerolog.Disabled) // some toxics log past the logger that a proxy is given
}

// Pipe passes chunks on. The message may lie across two of them and is missed
// then; the next one will do.
func (t *cutAt) Pipe(stub *toxics.ToxicStub) {
	// CommandComplete: C, the length of what follows and itself, the name, 0.
	message := append([]byte{'C', 0, 0, 0, byte(4 + len(t.Command) + 1)}, t.Command+"\x00"...)
	for {
		select {
		case <-stub.Interrupt:
			return
		case chunk := <-stub.Input:
			if chunk == nil {
				stub.Close()
				return
			}
			if bytes.Contains(chunk.Data, message) {
				stub.Close()
				for range stub.Input { // so that who writes into it can end
				}
				return
			}
			stub.Output <- chunk
		}
	}
}

// freePort finds a port below those that the system gives to connections, so
// that nobody has it when what listened there is started again.
func freePort() (int, error) {
	for range 1000 {
		port := 15_000 + rand.IntN(15_000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("cluster: no port is free")
}
