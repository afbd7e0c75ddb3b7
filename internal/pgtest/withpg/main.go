// Command withpg runs a command beside one throw-away Postgres, so that the
// tests of all packages share a server:
//
//	go run ./internal/pgtest/withpg -- go test ./...
//
// It ends as the command ends, with its exit code. With -keep the server of a
// failed command stays until Ctrl-C, to look into the databases of its tests.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/postgres"
)

func main() {
	keep := flag.Bool("keep", false, "keep the server of a failed command until Ctrl-C")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: withpg [-keep] -- command [argument ...]")
		os.Exit(2)
	}
	os.Exit(run(*keep, flag.Args()))
}

func run(keep bool, args []string) int {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	server, err := postgres.Start(context.Background(), postgres.Config{
		Ephemeral: true,
		Version:   os.Getenv("PG"),
		Log:       slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer server.Stop()

	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	address := server.URL(postgres.Superuser, "postgres")
	cmd.Env = append(os.Environ(), pgtest.Env+"="+address)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 127
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case sig := <-interrupted:
			// Ctrl-C in a terminal reaches the command by itself; twice does no harm.
			cmd.Process.Signal(sig)
		case err := <-ended:
			code := cmd.ProcessState.ExitCode()
			if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
			if code < 0 {
				code = 1 // ended by a signal
			}
			if code != 0 && keep {
				fmt.Fprintf(os.Stderr, "Postgres %s stays at %s until Ctrl-C\n", server.Version(), address)
				<-interrupted
			}
			return code
		}
	}
}
