package main

import "github.com/spf13/cobra"

func workVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "work",
		Short: "Work jobs without serving the API",
		Long:  "Works jobs. ADDR answers /healthz, /readyz and /metrics and nothing else.",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd, working)
		},
	}
	takes(cmd)
	return cmd
}
