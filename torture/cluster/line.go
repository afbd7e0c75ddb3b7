//go:build unix

package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/rs/zerolog"

	"github.com/rowlock/rowlock/internal/postgres"
	"github.com/rowlock/rowlock/sql/queries"
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
	_, cure, err = l.add("downstream", toxic, attributes)
	return cure, err
}

// add lets a toxic work on what is said in one direction until cure is called.
func (l *line) add(stream, toxic string, attributes any) (added toxics.Toxic, cure func() error, err error) {
	text, err := json.Marshal(map[string]any{"type": toxic, "stream": stream, "attributes": attributes})
	if err != nil {
		return nil, nil, err
	}
	wrapper, err := l.proxy.Toxics.AddToxicJson(bytes.NewReader(text))
	if err != nil {
		return nil, nil, err
	}
	return wrapper.Toxic, func() error { return l.proxy.Toxics.RemoveToxic(context.Background(), wrapper.Name) }, nil
}

// cutAtCommits cuts each connection on which a COMMIT is sent, before Postgres
// gets it, or before the process gets the answer (after), until cure is called,
// which says how many that were.
func (l *line) cutAtCommits(after bool) (cure func() (cuts int, err error), err error) {
	stream, marks := "upstream", commits()
	if after {
		stream, marks = "downstream", [][]byte{encoded(&pgproto3.CommandComplete{CommandTag: []byte("COMMIT")})}
	}
	added, heal, err := l.add(stream, cutAtType, &cutAt{Marks: marks})
	if err != nil {
		return nil, err
	}
	return func() (int, error) {
		err := heal()
		return int(added.(*cutAt).cuts.Load()), err
	}, nil
}

func (l *line) close() { l.proxy.Stop() }

// commits are the messages by which our processes commit: a lane by a statement
// that pgx has prepared, under a name which follows from its text, and
// everybody else by a query.
func commits() [][]byte {
	sum := sha256.Sum256([]byte(queries.Must("lanes_commit")))
	return [][]byte{
		encoded(&pgproto3.Bind{PreparedStatement: "stmtcache_" + hex.EncodeToString(sum[:24])}),
		encoded(&pgproto3.Query{String: "commit"}),
	}
}

func encoded(m pgproto3.Message) []byte {
	text, err := m.Encode(nil)
	if err != nil {
		panic(err) // of what is too long
	}
	return text
}

// cutAt is a toxic of ours: it passes on what is said before one of these
// messages, and cuts the connection in the place of passing that on.
type cutAt struct {
	Marks [][]byte `json:"marks"`
	cuts  atomic.Int64
}

const cutAtType = "rowlock_cut_at"

func init() {
	toxics.Register(cutAtType, new(cutAt))
	zerolog.SetGlobalLevel(zerolog.Disabled) // some toxics log past the logger that a proxy is given
}

// Pipe passes chunks on. The message may lie across two of them and is missed
// then; the next one will do.
func (t *cutAt) Pipe(stub *toxics.ToxicStub) {
	for {
		select {
		case <-stub.Interrupt:
			return
		case chunk := <-stub.Input:
			if chunk == nil {
				stub.Close()
				return
			}
			for _, mark := range t.Marks {
				before, _, found := bytes.Cut(chunk.Data, mark)
				if !found {
					continue
				}
				t.cuts.Add(1)
				if chunk.Data = before; len(before) > 0 {
					stub.Output <- chunk
				}
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
