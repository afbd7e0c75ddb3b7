// Command rowlock sells seats without ever selling one twice. It is one binary
// with a verb for each job: serving, working jobs, migrating, importing plans,
// proving that nothing was sold twice, and running all of it on a developer's
// machine.
//
// A verb has a file of its name; service.go puts together what serves and works.
// This is the only package that reads flags and the environment.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	_ "time/tzdata" // venues have time zones, and not every image has their rules

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/internal/config"
)

// version is the release that this source is, or is on the way to.
const version = "0.1.0"

func main() {
	os.Exit(rowlock(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// errSilent is a failure whose reason has been printed.
var errSilent = errors.New("failed")

// rowlock runs one verb and returns the exit code: 0 done, 1 failed, 2 asked
// for something that there is not.
func rowlock(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// The first signal asks for a graceful end. It also puts the default back,
	// so that a second one ends a process that hangs.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	switch err := root.ExecuteContext(ctx); {
	case err == nil:
		return 0
	case errors.Is(err, errSilent):
		return 1
	case errors.As(err, new(usageError)), strings.HasPrefix(err.Error(), "required flag"): // cobra's own has no type
		fmt.Fprintf(stderr, "rowlock: %v\nTry: rowlock help\n", err)
		return 2
	default:
		fmt.Fprintf(stderr, "rowlock: %v\n", err)
		return 1
	}
}

// usageError is about the command line itself.
type usageError struct{ error }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "rowlock",
		Short:         "Rowlock sells seats without ever selling one twice",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("there is no verb %q", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddGroup(
		&cobra.Group{ID: "home", Title: "On a developer's machine:"},
		&cobra.Group{ID: "service", Title: "The service:"},
		&cobra.Group{ID: "data", Title: "The database and what is in it:"},
	)
	for group, verbs := range map[string][]*cobra.Command{
		"home":    {runVerb(), resetVerb(), demoVerb(), sandboxVerb()},
		"service": {serveVerb(), workVerb()},
		"data":    {migrateVerb(), rolesVerb(), apikeyVerb(), importVerb(), proveVerb(), drawVerb(), opsVerb()},
	} {
		for _, verb := range verbs {
			verb.GroupID = group
			root.AddCommand(verb)
		}
	}
	root.AddCommand(openapiVerb(), documentsVerb(), versionVerb(), &cobra.Command{
		Use:   "settings",
		Short: "About the settings: environment variables and flags",
		Long:  "Settings are read from the environment; a flag wins over its variable.\n\n" + config.Help(),
	})
	return root
}

// noArgs refuses arguments where a verb has none.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes no argument, but was given %q", cmd.Name(), args[0])}
	}
	return nil
}

// oneArg wants exactly one argument, and says which.
func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError{fmt.Errorf("%s takes one argument: %s", cmd.Name(), what)}
		}
		return nil
	}
}

func versionVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and what it was built from",
		Args:  noArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			revision, goVersion := "unknown", ""
			if info, ok := debug.ReadBuildInfo(); ok {
				goVersion = info.GoVersion
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						revision = s.Value
					}
				}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "rowlock %s, revision %s, %s\n", version, revision, goVersion)
		},
	}
}
