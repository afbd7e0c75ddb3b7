package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/internal/config"
	"github.com/rowlock/rowlock/internal/sandbox"
	"github.com/rowlock/rowlock/internal/telemetry"
)

// The sandbox gateway's address and secrets where nobody chose others.
// Everybody knows them, and no money depends on them.
const (
	sandboxAddr          = "localhost:8090"
	sandboxKey           = "sbx_key"
	sandboxWebhookSecret = "sbx_webhook_secret"
	sandboxWebhookURL    = "http://localhost:8080/api/v1/webhooks/payments/sandbox"
)

// sandboxGrace is how long requests may go on when the sandbox is told to stop:
// some are never answered on purpose.
const sandboxGrace = time.Second

func sandboxVerb() *cobra.Command {
	var addr, public string
	var opts sandbox.Options
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Run the sandbox gateway, where paying costs nothing",
		Long: `Runs a little payment gateway with a ledger of its own, to pay at while
developing and in tests. It behaves like a real one: idempotency keys, signed
webhooks, outcomes that come later, a page where buyers confirm. Tokens such as
sbx_ok, sbx_declined and sbx_redirect stand for cards; docs/gateways.md has them
all.

rowlock run starts one by itself. Open its address in a browser for the desk,
where payments are listed, refunded and disputed.`,
		Example: "  rowlock sandbox\n  rowlock sandbox --addr=:9090 --dir= --webhook-url=http://localhost:8081/api/v1/webhooks/payments/sandbox",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Log = telemetry.NewLogger(cmd.ErrOrStderr(), slog.LevelInfo, "text")
			return runSandbox(cmd.Context(), opts, addr, public, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&addr, "addr", sandboxAddr, "where to listen, host:port")
	flags.StringVar(&opts.Dir, "dir", ".rowlock/sandbox", "folder of the ledger; empty: it is kept in memory only")
	flags.StringVar(&opts.WebhookURL, "webhook-url", sandboxWebhookURL, "where webhooks go")
	flags.StringVar(&opts.Key, "key", sandboxKey, "API key that the merchant sends")
	flags.StringVar(&opts.WebhookSecret, "webhook-secret", sandboxWebhookSecret, "secret that signs webhooks")
	flags.StringVar(&public, "public-url", "", "address of this server in buyers' browsers; empty: the one it listens on")
	return cmd
}

func runSandbox(ctx context.Context, opts sandbox.Options, addr, public string, out io.Writer) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("--addr=%s: %w", addr, err)
	}
	defer listener.Close()
	opts.PublicURL = public
	if public == "" {
		opts.PublicURL = localURL(listener.Addr())
	}
	if tcp, ok := listener.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		opts.Log.Warn("everybody who reaches this address may refund and dispute at the desk, which asks for no key")
	}
	gateway, err := sandbox.New(opts)
	if err != nil {
		return err
	}
	opts.Log.Info("serving", "addr", listener.Addr().String(), "webhooks", opts.WebhookURL)
	fmt.Fprintf(out, "The sandbox gateway is at %s; Ctrl-C stops it\n", opts.PublicURL)
	return errors.Join(together(ctx, opts.Log, sandboxParts(gateway, listener)), gateway.Close())
}

// sandboxParts are what a sandbox gateway does while it runs.
func sandboxParts(gateway *sandbox.Sandbox, listener net.Listener) []part {
	return []part{
		{"sandbox webhooks", gateway.Run},
		{"sandbox", func(ctx context.Context) error {
			server := &http.Server{Handler: gateway, ReadHeaderTimeout: 10 * time.Second}
			stopped := make(chan error, 1)
			go func() {
				<-ctx.Done()
				grace, cancel := context.WithTimeout(context.Background(), sandboxGrace)
				defer cancel()
				err := server.Shutdown(grace)
				if errors.Is(err, context.DeadlineExceeded) {
					err = server.Close()
				}
				stopped <- err
			}()
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return <-stopped
		}},
	}
}

// localURL is the address of a listener in a browser on this machine.
func localURL(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && (tcp.IP.IsLoopback() || tcp.IP.IsUnspecified()) {
		return fmt.Sprintf("http://localhost:%d", tcp.Port)
	}
	return "http://" + addr.String()
}

// startSandbox starts the sandbox gateway of rowlock run, and writes into cfg
// how to get there. Where its port is taken, perhaps by another rowlock run,
// any other will do.
func startSandbox(cfg *config.Config, api net.Addr, log *slog.Logger) ([]part, error) {
	listener, err := net.Listen("tcp", cfg.SandboxAddr)
	if errors.Is(err, syscall.EADDRINUSE) {
		listener, err = net.Listen("tcp", "localhost:0")
	}
	if err != nil {
		return nil, fmt.Errorf("SANDBOX_ADDR=%s: %w", cfg.SandboxAddr, err)
	}
	cfg.SandboxURL = localURL(listener.Addr())
	gateway, err := sandbox.New(sandbox.Options{
		Dir: filepath.Join(cfg.DataDir, sandboxFolder), Key: cfg.SandboxKey, WebhookSecret: cfg.SandboxWebhookSecret,
		WebhookURL: localURL(api) + "/api/v1/webhooks/payments/sandbox", PublicURL: cfg.SandboxURL, Log: log,
	})
	if err != nil {
		listener.Close()
		return nil, err
	}
	ledger := part{"sandbox ledger", func(ctx context.Context) error {
		<-ctx.Done()
		return gateway.Close()
	}}
	return append([]part{ledger}, sandboxParts(gateway, listener)...), nil
}
