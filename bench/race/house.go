package main

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/bench/strategies"
	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/jobs"
	"github.com/rowlock/rowlock/internal/postgres"
	"github.com/rowlock/rowlock/internal/store"
)

// house is the database with the store that Rowlock sells through, and a hall
// whose every performance is a fresh set of the same seats.
type house struct {
	server *postgres.Server
	dir    string
	all    *pgxpool.Pool // as superuser, to set up and to count
	store  *store.Store
	plan   *store.PlanDetails
	event  uuid.UUID
	stop   func()
}

const database = "rowlock"

// open starts the server, with the settings of rowlock run, in a folder that
// goes when it closes.
func open(ctx context.Context) (h *house, err error) {
	h = &house{stop: func() {}}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if h.dir, err = os.MkdirTemp("", "rowlock-race-"); err != nil {
		return h, err
	}
	// The server may run as another user, who has to come through; its data
	// folder inside stays private.
	if err := os.Chmod(h.dir, 0o711); err != nil {
		return h, err
	}
	if h.server, err = postgres.Start(ctx, postgres.Config{Dir: h.dir}); err != nil {
		return h, err
	}
	super := h.server.URL(postgres.Superuser, database)
	if err := store.EnsureDatabase(ctx, h.server.URL(postgres.Superuser, "postgres"), database); err != nil {
		return h, err
	}
	if err := store.EnsureRoles(ctx, super, nil); err != nil {
		return h, err
	}
	quiet := slog.New(slog.DiscardHandler)
	if _, _, err := store.Migrate(ctx, h.server.URL(store.RoleOwner, database), quiet); err != nil {
		return h, err
	}
	if h.all, err = pgxpool.New(ctx, super); err != nil {
		return h, err
	}
	if err := strategies.Prepare(ctx, h.all); err != nil {
		return h, err
	}
	scheduler, err := jobs.NewScheduler(quiet, false)
	if err != nil {
		return h, err
	}
	h.store, err = store.Open(ctx, store.Config{URL: h.server.URL(store.RoleApp, database), LaneURL: h.server.URL(store.RoleLane, database), Jobs: scheduler})
	if err != nil {
		return h, err
	}
	working, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = h.store.Run(working) // it ends because it is told to
	}()
	h.stop = func() { stop(); <-ended }
	return h, h.build(ctx)
}

func (h *house) close() {
	h.stop()
	if h.store != nil {
		h.store.Close()
	}
	if h.all != nil {
		h.all.Close()
	}
	if h.server != nil {
		h.server.Stop()
	}
	os.RemoveAll(h.dir)
}

// build makes the hall and its plan.
func (h *house) build(ctx context.Context) error {
	org := boxoffice.DefaultOrganisationID
	venue, _, err := h.store.CreateVenue(ctx, newKey(), boxoffice.Venue{OrganisationID: org, Name: "Race House", City: "Helsinki", Country: "FI", TimeZone: "Europe/Helsinki"})
	if err != nil {
		return err
	}
	hall, _, err := h.store.CreateHall(ctx, newKey(), boxoffice.Hall{OrganisationID: org, VenueID: venue.ID, Name: "Hall"})
	if err != nil {
		return err
	}
	p := &boxoffice.Plan{OrganisationID: org, HallID: hall.ID, Categories: []boxoffice.Category{{Name: "All"}}}
	for i := range seats {
		row, number := strconv.Itoa(1+i/100), strconv.Itoa(1+i%100)
		p.Seats = append(p.Seats, boxoffice.Seat{Row: row, Number: number, Label: row + "-" + number, Kind: boxoffice.SeatStandard})
	}
	done, _, err := h.store.ImportPlan(ctx, newKey(), "rowlock", p, nil)
	if err != nil {
		return err
	}
	event, _, err := h.store.CreateEvent(ctx, newKey(), boxoffice.Event{OrganisationID: org, Kind: "concert", Title: "The Race"})
	if err != nil {
		return err
	}
	h.event = event.ID
	h.plan, err = h.store.ReadPlan(ctx, done.PlanID, org, true)
	return err
}

// show makes a performance that nobody has bought anything of.
func (h *house) show(ctx context.Context) (uuid.UUID, error) {
	show, _, err := h.store.CreateShow(ctx, boxoffice.Actor{Staff: true, Name: "race"}, newKey(), store.NewShow{
		Organisation: boxoffice.DefaultOrganisationID, EventID: h.event, PlanID: h.plan.ID, StartsAt: time.Now().AddDate(0, 1, 0),
		Currency: "EUR", Prices: []store.Price{{Category: "All", AmountMinor: 25_00}}, Publish: true,
	})
	if err != nil {
		return uuid.Nil, err
	}
	// As autovacuum would have by the time that a sale begins.
	_, err = h.all.Exec(ctx, "vacuum analyze")
	return show.ShowID, err
}

func newKey() boxoffice.IdempotencyKey {
	k := boxoffice.IdempotencyKey{Owner: "race", Key: uuid.New()}
	copy(k.Fingerprint[:], k.Key[:])
	return k
}
