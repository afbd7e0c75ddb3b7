package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/config"
	"github.com/rowlock/rowlock/internal/fixture/demo"
	"github.com/rowlock/rowlock/internal/postgres"
	"github.com/rowlock/rowlock/internal/store"
)

// devKey is the admin key of make run. Everybody knows it.
const devKey = "dev-admin-key"

// Secrets that outlive a restart, each in a file of its own: of guests' tokens,
// the password of the database, which anybody on this machine can reach, and the
// key of ticket codes.
const (
	secretFile   = "session-secret"
	passwordFile = "database-password"
	ticketFile   = "ticket-key"

	mailFolder    = "mail"    // where mails are dropped
	sandboxFolder = "sandbox" // the ledger of the sandbox gateway
)

func runVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run everything on this machine: Postgres, demo data, API, jobs",
		Long: `Starts a Postgres of its own in DATA_DIR (or uses DATABASE_URL), makes roles,
schema and demo data, and serves the API with jobs, docs and River UI. Anybody
may be anybody, the admin key is dev-admin-key: this is for trying Rowlock, and
for developing it.

Ctrl-C stops everything. What was done stays; rowlock reset drops it.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := settings(cmd, map[string]string{
				"ENV": "development", "AUTH_MODE": "mock", "LOG_FORMAT": "text", "LOG_LEVEL": "warn", "SHUTDOWN_TIMEOUT": "5s",
			})
			if err != nil {
				return err
			}
			if !cfg.Development() {
				return errors.New("rowlock run is for development: ENV must not be " + cfg.Env)
			}
			return run(cmd.Context(), cfg, logger(&cfg, cmd.ErrOrStderr()), cmd.OutOrStdout())
		},
	}
	takes(cmd)
	return cmd
}

func run(ctx context.Context, cfg config.Config, log *slog.Logger, out io.Writer) error {
	slog.SetDefault(log)
	listener, err := listen(cfg.Addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	var parts []part
	if cfg.DatabaseURL == "" {
		server, err := startPostgres(ctx, &cfg, log)
		if err != nil {
			return err
		}
		defer server.Stop()
		defer os.Remove(filepath.Join(cfg.DataDir, urlFile))
		parts = append(parts, part{"postgres", func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return nil
			case <-server.Done():
				return errors.New("the database server ended by itself; LOG_LEVEL=debug shows its log")
			}
		}})
		fmt.Fprintf(out, "Postgres %s is up, its data is in %s; make reset drops that\n", server.Version(), cfg.DataDir)
	} else if _, _, err := store.Migrate(ctx, cfg.MigrateURL(), log); err != nil {
		return err
	}
	if cfg.SessionSecret == "" {
		if cfg.SessionSecret, err = keepSecret(filepath.Join(cfg.DataDir, secretFile)); err != nil {
			return err
		}
	}
	if cfg.TicketKeys == "" {
		secret, err := keepSecret(filepath.Join(cfg.DataDir, ticketFile))
		if err != nil {
			return err
		}
		seed := sha256.Sum256([]byte(secret))
		cfg.TicketKeys = hex.EncodeToString(seed[:])
	}
	if cfg.MailURL == "" {
		cfg.MailURL = filepath.Join(cfg.DataDir, mailFolder)
	}
	if cfg.SandboxURL == "" {
		more, err := startSandbox(&cfg, listener.Addr(), log)
		if err != nil {
			return err
		}
		parts = append(parts, more...)
	}
	mode := serving
	if cfg.Jobs {
		mode |= working
	}
	s, err := newService(ctx, cfg, log, listener, mode)
	if err != nil {
		return err
	}
	if addr, ok := listener.Addr().(*net.TCPAddr); ok && !addr.IP.IsLoopback() {
		log.Warn("everybody who reaches this address may do everything here: " + devKey + " is no secret, and mock users need none")
	}
	parts = append(parts, part{"demo", func(ctx context.Context) error {
		if err := s.store.EnsureAPIKey(ctx, devKey, "make run", []boxoffice.Scope{boxoffice.ScopeAdmin}); err != nil {
			return err
		}
		if err := demo.Load(ctx, s.store, log); err != nil {
			return err
		}
		fmt.Fprint(out, welcome(listener.Addr(), &cfg))
		return nil
	}})
	return s.run(ctx, parts...)
}

// startPostgres starts the server of our own, makes roles, database and
// schema, and writes into cfg how each role gets there.
func startPostgres(ctx context.Context, cfg *config.Config, log *slog.Logger) (_ *postgres.Server, err error) {
	version := ""
	if cfg.PG != 0 {
		version = fmt.Sprint(cfg.PG)
	}
	password, err := keepSecret(filepath.Join(cfg.DataDir, passwordFile))
	if err != nil {
		return nil, fmt.Errorf("%w: choose another folder with DATA_DIR", err)
	}
	server, err := postgres.Start(ctx, postgres.Config{Dir: cfg.DataDir, Password: password, Version: version, Log: log})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			server.Stop()
		}
	}()
	const database = "rowlock"
	super := server.URL(postgres.Superuser, database)
	if err := store.EnsureDatabase(ctx, server.URL(postgres.Superuser, "postgres"), database); err != nil {
		return nil, err
	}
	passwords := map[string]string{store.RoleOwner: password, store.RoleApp: password, store.RoleLane: password, store.RoleOps: password}
	if err := store.EnsureRoles(ctx, super, passwords); err != nil {
		return nil, err
	}
	if _, _, err := store.Migrate(ctx, server.URL(store.RoleOwner, database), log); err != nil {
		return nil, err
	}
	cfg.DatabaseURL = server.URL(store.RoleApp, database)
	cfg.DatabaseLaneURL = server.URL(store.RoleLane, database)
	return server, os.WriteFile(filepath.Join(cfg.DataDir, urlFile), []byte(super+"\n"), 0o600)
}

// keepSecret reads a secret, and makes it the first time.
func keepSecret(path string) (string, error) {
	text, err := os.ReadFile(path)
	if secret := strings.TrimSpace(string(text)); secret != "" {
		return secret, nil
	}
	if err == nil {
		return "", fmt.Errorf("%s is empty: remove it", path)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	// Never over another's, who starts at the same time.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	secret := rand.Text() + rand.Text()
	_, err = file.WriteString(secret + "\n")
	return secret, errors.Join(err, file.Close())
}

// welcome says where to look.
func welcome(addr net.Addr, cfg *config.Config) string {
	base := "http://" + addr.String()
	if tcp, ok := addr.(*net.TCPAddr); ok && (tcp.IP.IsLoopback() || tcp.IP.IsUnspecified()) {
		base = fmt.Sprintf("http://localhost:%d", tcp.Port)
	}
	return fmt.Sprintf(`
Rowlock is at %[1]s

  %[1]s/          what is on: choose seats, pay, get tickets
  %[1]s/developers  a first hold with curl
  %[1]s/docs      every operation, to try
  %[1]s/riverui/  jobs at work (any name, password %[2]s)
  %[1]s/organiser shows as they sell, bookings, the door; the key signs you in
  %[1]s/metrics   figures
  %[3]s          the sandbox gateway, where paying costs nothing
  %[4]s           mails to buyers

  X-API-Key: %[2]s        may do everything
  X-Mock-User-Id: <any UUID>      is a customer

Ctrl-C stops it; what you did stays.
`, base, devKey, cfg.SandboxURL, cfg.MailURL)
}
