package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/seatplan"
	"github.com/rowlock/rowlock/internal/store"
)

var planFormats = []string{string(seatplan.Pretix), string(seatplan.Seatsio), string(seatplan.CSV), string(seatplan.Rowlock)}

func importVerb() *cobra.Command {
	var hall, format string
	var opts seatplan.Options
	cmd := &cobra.Command{
		Use:   "import --hall=ID --format=FORMAT FILE",
		Short: "Import a seating plan into a hall",
		Long: `Imports a plan as the next version of a hall's plans, as POST
/halls/{hallId}/plans does. FILE may be - for standard input. A plan that is
refused is refused whole, with every problem and where it is.`,
		Example: "  rowlock import --hall=0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e --format=pretix theatre.json",
		Args:    oneArg("the plan's file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := uuid.Parse(hall)
			if err != nil {
				return usageError{fmt.Errorf("--hall: %q is no id", hall)}
			}
			file := io.NopCloser(cmd.InOrStdin())
			if args[0] != "-" {
				if file, err = os.Open(args[0]); err != nil {
					return err
				}
			}
			defer file.Close()
			return onStore(cmd, func(ctx context.Context, s *store.Store) error {
				return importPlan(ctx, cmd, s, id, seatplan.Format(format), file, opts)
			})
		},
	}
	takes(cmd, databaseSettings...)
	cmd.Flags().StringVar(&hall, "hall", "", "id of the hall")
	cmd.Flags().StringVar(&format, "format", "", "language of the plan: pretix, seatsio, csv or rowlock")
	cmd.Flags().BoolVar(&opts.RenameDuplicates, "rename-duplicates", false, "import seats that are named twice under a suffixed name")
	_ = cmd.MarkFlagRequired("hall")
	_ = cmd.MarkFlagRequired("format")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(planFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func importPlan(ctx context.Context, cmd *cobra.Command, s *store.Store, hall uuid.UUID, format seatplan.Format, file io.Reader, opts seatplan.Options) error {
	h, err := s.Hall(ctx, hall)
	if err != nil {
		return plainly(err)
	}
	sum := sha256.New()
	plan, warned, err := seatplan.Read(ctx, format, io.TeeReader(file, sum), opts)
	stderr := cmd.ErrOrStderr()
	for _, w := range warned {
		fmt.Fprintf(stderr, "warning: %s: %s\n", w.Path, w.Message)
	}
	var problems *seatplan.Problems
	if errors.As(err, &problems) {
		for _, p := range problems.List {
			fmt.Fprintf(stderr, "%s: %s\n", p.Path, p.Message)
		}
		return fmt.Errorf("the plan is refused: %d problems", problems.Total)
	}
	if err != nil {
		return err
	}
	plan.HallID, plan.OrganisationID = hall, h.OrganisationID
	warnings := make([]store.PlanWarning, len(warned))
	for i, w := range warned {
		warnings[i] = store.PlanWarning(w)
	}
	// Each run is a request of its own: importing a plan twice makes two versions.
	key := boxoffice.IdempotencyKey{Owner: "rowlock import", Key: uuid.New(), Fingerprint: [sha256.Size]byte(sum.Sum(nil))}
	done, _, err := s.ImportPlan(ctx, key, string(format), plan, warnings)
	if err != nil {
		return plainly(err)
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "plan %s, version %d of hall %s: %d seats, %d areas\n", done.PlanID, done.Version, h.Name, done.SeatCount, len(done.Areas))
	for _, c := range done.Categories {
		fmt.Fprintf(out, "  category %s: %d seats\n", c.Name, c.SeatCount)
	}
	for _, a := range done.Areas {
		fmt.Fprintf(out, "  area %s: %d places\n", a.Name, a.Capacity)
	}
	return nil
}
