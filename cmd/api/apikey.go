package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

func apikeyVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apikey",
		Short: "Make, list and revoke API keys",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(apikeyCreate(), apikeyList(), apikeyRevoke())
	return cmd
}

func apikeyCreate() *cobra.Command {
	var name string
	var scopes []string
	var life time.Duration
	cmd := &cobra.Command{
		Use:     "create",
		Short:   "Make an API key and print it, this once",
		Example: "  rowlock apikey create --name='box office 2' --scopes=sales:read,reservations:staff",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return onStore(cmd, func(ctx context.Context, s *store.Store) error {
				granted := make([]boxoffice.Scope, len(scopes))
				for i, scope := range scopes {
					granted[i] = boxoffice.Scope(scope)
				}
				var expires *time.Time
				if life > 0 {
					at := time.Now().Add(life)
					expires = &at
				}
				key, k, err := s.CreateAPIKey(ctx, boxoffice.DefaultOrganisationID, name, granted, expires)
				if err != nil {
					return plainly(err)
				}
				fmt.Fprintln(cmd.OutOrStdout(), key)
				fmt.Fprintf(cmd.ErrOrStderr(), "This is key %s with %s. It is not kept: store it now.\n", k.ID, strings.Join(scopes, ", "))
				return nil
			})
		},
	}
	takes(cmd, databaseSettings...)
	cmd.Flags().StringVar(&name, "name", "", "what the key is for")
	cmd.Flags().StringSliceVar(&scopes, "scopes", nil, "what it may do, with commas between: "+joined(boxoffice.Scopes))
	cmd.Flags().DurationVar(&life, "expires-in", 0, "how long it works; 0: until it is revoked")
	_ = cmd.MarkFlagRequired("name")
	_ = cmd.MarkFlagRequired("scopes")
	_ = cmd.RegisterFlagCompletionFunc("scopes", cobra.FixedCompletions(strings.Split(joined(boxoffice.Scopes), ","), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// joined is a list of scopes with commas between them, as --scopes takes it.
func joined(scopes []boxoffice.Scope) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, ",")
}

func apikeyList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List API keys",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return onStore(cmd, func(ctx context.Context, s *store.Store) error {
				w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "ID\tBEGINS\tNAME\tSCOPES\tCREATED\tUSABLE")
				for page := (store.Page{Limit: 200}); ; {
					keys, err := s.APIKeys(ctx, boxoffice.DefaultOrganisationID, page)
					if err != nil {
						return err
					}
					for _, k := range keys {
						fmt.Fprintf(w, "%s\t%s…\t%s\t%s\t%s\t%s\n", k.ID, k.Prefix, k.Name, joined(k.Scopes), k.CreatedAt.UTC().Format(time.RFC3339), usable(&k))
						page.After = k.ID
					}
					if len(keys) < page.Limit {
						return w.Flush()
					}
				}
			})
		},
	}
	takes(cmd, databaseSettings...)
	return cmd
}

func usable(k *boxoffice.APIKey) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked " + k.RevokedAt.UTC().Format(time.RFC3339)
	case k.ExpiresAt != nil && k.Usable(time.Now()):
		return "until " + k.ExpiresAt.UTC().Format(time.RFC3339)
	case k.ExpiresAt != nil:
		return "expired " + k.ExpiresAt.UTC().Format(time.RFC3339)
	}
	return "yes"
}

func apikeyRevoke() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Put an API key out of use",
		Long:  "Puts a key out of use. Instances that have just seen it may take it for another half minute.",
		Args:  oneArg("the key's id, see rowlock apikey list"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := uuid.Parse(args[0])
			if err != nil {
				return usageError{fmt.Errorf("%q is no id; rowlock apikey list shows them", args[0])}
			}
			return onStore(cmd, func(ctx context.Context, s *store.Store) error {
				k, err := s.RevokeAPIKey(ctx, boxoffice.DefaultOrganisationID, id)
				if err != nil {
					return plainly(err)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s… (%s) is revoked\n", k.Prefix, k.Name)
				return nil
			})
		},
	}
	takes(cmd, databaseSettings...)
	return cmd
}
