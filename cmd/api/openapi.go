package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/internal/api"
)

func openapiVerb() *cobra.Command {
	var check string
	cmd := &cobra.Command{
		Use:   "openapi",
		Short: "Print the OpenAPI document",
		Long:  "Prints the OpenAPI 3.1 document of this binary, in YAML. It needs no database.",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			document, err := api.New(api.Options{Version: version}).OpenAPI().YAML()
			if err != nil {
				return err
			}
			if check == "" {
				_, err := cmd.OutOrStdout().Write(document)
				return err
			}
			committed, err := os.ReadFile(check)
			if err != nil {
				return err
			}
			if line := firstDifference(committed, document); line > 0 {
				return fmt.Errorf("%s is not what this source serves, from line %d on: run make openapi", check, line)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&check, "check", "", "compare with this file instead, and fail if it differs")
	cmd.Flags().Lookup("check").NoOptDefVal = "openapi.yaml"
	return cmd
}

// firstDifference is the line, from 1, in which two texts first differ; 0 when
// they do not.
func firstDifference(a, b []byte) int {
	if bytes.Equal(a, b) {
		return 0
	}
	x, y := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(x), len(y)) {
		if !bytes.Equal(x[i], y[i]) {
			return i + 1
		}
	}
	return min(len(x), len(y)) + 1
}
