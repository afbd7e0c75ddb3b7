//go:build unix

package cluster

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/internal/sandbox"
)

const (
	gatewayKey    = "torture-key"
	webhookSecret = "torture-webhook-secret"
	webhookPath   = "/api/v1/webhooks/payments/sandbox"
)

// gateway is the sandbox on a port of its own, and the door through which its
// webhooks come to whichever instance is up.
type gateway struct {
	sandbox         *sandbox.Sandbox
	url             string
	calls, webhooks turn // of faults
	stop            func()
}

func startGateway(dir string, log *slog.Logger) (*gateway, error) {
	box, err := sandbox.New(sandbox.Options{
		Dir: filepath.Join(dir, "sandbox"), Key: gatewayKey, WebhookSecret: webhookSecret, Log: log,
		Slow: 3 * time.Second, Timeout: 20 * time.Second, Async: time.Second, Session: time.Minute, Retry: 250 * time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, box.Close())
	}
	ctx, stop := context.WithCancel(context.Background())
	server := &http.Server{Handler: box, ReadHeaderTimeout: 10 * time.Second}
	var group sync.WaitGroup
	group.Go(func() { _ = box.Run(ctx) })           // it ends when it is told to
	group.Go(func() { _ = server.Serve(listener) }) // likewise
	return &gateway{calls: newTurn(), webhooks: newTurn(), sandbox: box, url: "http://" + listener.Addr().String(), stop: func() {
		stop()
		server.Close()
		group.Wait()
		_ = box.Close() // the ledger is written line by line
	}}, nil
}

// openDoor lets webhooks in to the instances in turn, as a load balancer does. One
// that comes to an instance which is down is answered 502, and sent again.
func (g *gateway) openDoor(urls []string) error {
	var targets []*url.URL
	for _, text := range urls {
		target, err := url.Parse(text)
		if err != nil {
			return err
		}
		targets = append(targets, target)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var next atomic.Uint64
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(targets[next.Add(1)%uint64(len(targets))]) },
		Transport:    &http.Transport{DisableKeepAlives: true},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // it ends when it is told to
	}()
	stop := g.stop
	g.stop = func() {
		stop()
		server.Close()
		<-ended
	}
	g.sandbox.SetWebhookURL("http://" + listener.Addr().String() + webhookPath)
	return nil
}
