package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/config"
	"github.com/rowlock/rowlock/internal/store"
)

// urlFile is where rowlock run says, in its folder, how to reach its database,
// so that other verbs find it while it runs.
const urlFile = "database-url"

// running is the address of the database of a rowlock run on this machine, for
// a role, or "".
func running(cfg *config.Config, role string) string {
	text, err := os.ReadFile(filepath.Join(cfg.DataDir, urlFile))
	if err != nil {
		return ""
	}
	u, err := url.Parse(strings.TrimSpace(string(text)))
	if err != nil {
		return ""
	}
	// A run that was killed could not take its file away.
	conn, err := net.DialTimeout("tcp", u.Host, time.Second)
	if err != nil {
		return ""
	}
	conn.Close()
	if password, ok := u.User.Password(); ok {
		u.User = url.UserPassword(role, password)
	} else {
		u.User = url.User(role)
	}
	return u.String()
}

// withPath is the address of another database on the same server.
func withPath(address, database string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" {
		return "", errors.New("DATABASE_URL must be a URL, such as postgres://user@host/database")
	}
	u.Path = "/" + database
	return u.String(), nil
}

// databaseSettings are what a verb takes that works on the data of a service.
var databaseSettings = []string{"DATABASE_URL", "DATABASE_LANE_URL", "DATA_DIR", "LOG_LEVEL", "LOG_FORMAT"}

// chore has what verbs that end by themselves do differently: a person reads
// their log.
var chore = map[string]string{"LOG_FORMAT": "text", "LOG_LEVEL": "warn"}

// withStore lends a verb the store with its lanes at work.
func withStore(ctx context.Context, cfg *config.Config, log *slog.Logger, do func(context.Context, *store.Store) error) error {
	if cfg.DatabaseURL == "" {
		if cfg.DatabaseURL = running(cfg, store.RoleApp); cfg.DatabaseURL == "" {
			return errNoDatabase("DATABASE_URL")
		}
		cfg.DatabaseLaneURL = running(cfg, store.RoleLane)
	}
	s, err := openStore(ctx, cfg, log, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(working) }()
	err = do(ctx, s)
	stop()
	return errors.Join(err, <-ended)
}

// onStore is withStore with the verb's own settings.
func onStore(cmd *cobra.Command, do func(context.Context, *store.Store) error) error {
	cfg, err := settings(cmd, chore)
	if err != nil {
		return err
	}
	return withStore(cmd.Context(), &cfg, logger(&cfg, cmd.ErrOrStderr()), do)
}

// plainly is a refusal as a person at a prompt wants to read it.
func plainly(err error) error {
	var refusal *boxoffice.Error
	if !errors.As(err, &refusal) || refusal.Cause != nil {
		return err
	}
	text := refusal.Detail
	for _, v := range refusal.Facts.Violations {
		text += fmt.Sprintf("\n  %s: %s", v.Field, v.Message)
	}
	return errors.New(text)
}
