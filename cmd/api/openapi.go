package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/internal/api"
	"github.com/rowlock/rowlock/internal/config"
)

func openapiVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "openapi",
		Short: "Print the OpenAPI document",
		Long:  "Prints the OpenAPI 3.1 document of this binary, in YAML. It needs no database.",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			document, err := openapi()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(document)
			return err
		},
	}
}

func openapi() ([]byte, error) {
	return api.New(api.Options{Version: version}).OpenAPI().YAML()
}

// documentsVerb is for this repository, not for people: it writes the files
// that the source already says everything about.
func documentsVerb() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:    "documents DIR",
		Short:  "Write the generated documents of the repository in DIR",
		Hidden: true,
		Args:   oneArg("the repository's folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			document, err := openapi()
			if err != nil {
				return err
			}
			files := map[string][]byte{
				"openapi.yaml":     document,
				"docs/problems.md": []byte(api.ProblemsMarkdown()),
				"docs/settings.md": []byte("<!-- Written by make generate from internal/config. -->\n# Settings\n\nRead from the environment; a flag wins over its variable.\n\n" + config.Help()),
			}
			var errs []error
			for _, name := range slices.Sorted(maps.Keys(files)) {
				path := filepath.Join(args[0], name)
				if check {
					errs = append(errs, differs(path, files[name]))
					continue
				}
				errs = append(errs, os.WriteFile(path, files[name], 0o644))
			}
			return errors.Join(errs...)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing, and fail if a file differs")
	return cmd
}

// differs returns an error unless the file holds exactly this text.
func differs(path string, want []byte) error {
	have, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if bytes.Equal(have, want) {
		return nil
	}
	x, y := bytes.Split(have, []byte("\n")), bytes.Split(want, []byte("\n"))
	line := 0
	for line < len(x) && line < len(y) && bytes.Equal(x[line], y[line]) {
		line++
	}
	return fmt.Errorf("%s is not what the source says, from line %d on: run make generate", path, line+1)
}
