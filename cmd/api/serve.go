package main

import (
	"log/slog"

	"github.com/spf13/cobra"
)

func serveVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API, and work jobs beside it",
		Long: `Serves the API, its docs, River UI, health and metrics, and works jobs beside
it. Run as many instances as you like on one database.

The schema must be there (rowlock migrate), or MIGRATE_DATABASE_URL be set: then
each instance migrates before it serves, and one of them does the work.

On SIGTERM /readyz says 503, running requests are answered, running jobs end,
and what they asked of the database is done.`,
		Example: "  DATABASE_URL=postgres://rowlock_app@db/rowlock SESSION_SECRET=… rowlock serve --addr=:8080\n  rowlock serve --jobs=false",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd, serving)
		},
	}
	takes(cmd)
	return cmd
}

func serve(cmd *cobra.Command, mode int) error {
	cfg, err := settings(cmd, nil)
	if err != nil {
		return err
	}
	if cfg.Jobs {
		mode |= working
	}
	listener, err := listen(cfg.Addr)
	if err != nil {
		return err
	}
	log := logger(&cfg, cmd.ErrOrStderr())
	slog.SetDefault(log)
	s, err := newService(cmd.Context(), cfg, log, listener, mode)
	if err != nil {
		return err
	}
	return s.run(cmd.Context())
}
