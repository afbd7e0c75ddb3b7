package onsale

import (
	"context"
	"crypto/rand"
	_ "embed"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/bench/strategies"
	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/jobs"
	"github.com/rowlock/rowlock/internal/store"
)

var (
	//go:embed sql/forget.sql
	sqlForget string
	//go:embed sql/catalogue.sql
	sqlCatalogue string
)

// Config says where to measure.
type Config struct {
	// URL is the address of a database with Rowlock's schema, for a role; "" is
	// the superuser's. What is in it goes.
	URL func(role string) string
	// Redis is where a Redis listens; "": there is none.
	Redis string
}

// House is a database with the halls that shows are put on in, and the server
// that sells them.
type House struct {
	cfg    Config
	dir    string
	server string // the program
	secret string
	all    *pgxpool.Pool // as superuser, to set up and to count
	store  *store.Store  // for the organiser; buyers come over HTTP
	event  uuid.UUID
	hall   uuid.UUID
	plans  map[int]*store.PlanDetails // by number of seats
	end    func()
}

// Open builds the server and makes a hall.
func Open(ctx context.Context, cfg Config) (_ *House, err error) {
	h := &House{cfg: cfg, secret: rand.Text() + rand.Text(), plans: map[int]*store.PlanDetails{}, end: func() {}}
	defer func() {
		if err != nil {
			h.Close()
		}
	}()
	if h.dir, err = os.MkdirTemp("", "rowlock-onsale-"); err != nil {
		return nil, err
	}
	if h.server, err = build(ctx, h.dir, "bench/onsale/server"); err != nil {
		return nil, err
	}
	if h.all, err = pgxpool.New(ctx, cfg.URL("")); err != nil {
		return nil, err
	}
	if err := strategies.Prepare(ctx, h.all); err != nil {
		return nil, err
	}
	scheduler, err := jobs.NewScheduler(slog.New(slog.DiscardHandler), false)
	if err != nil {
		return nil, err
	}
	if h.store, err = store.Open(ctx, store.Config{URL: cfg.URL(store.RoleApp), LaneURL: cfg.URL(store.RoleLane), Jobs: scheduler}); err != nil {
		return nil, err
	}
	working, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = h.store.Run(working) // it ends because it is told to
	}()
	h.end = func() { stop(); <-ended }
	return h, h.furnish(ctx)
}

// Close ends what Open began.
func (h *House) Close() {
	h.end()
	if h.store != nil {
		h.store.Close()
	}
	if h.all != nil {
		h.all.Close()
	}
	os.RemoveAll(h.dir)
}

func (h *House) furnish(ctx context.Context) error {
	org := boxoffice.DefaultOrganisationID
	venue, _, err := h.store.CreateVenue(ctx, newKey(), boxoffice.Venue{OrganisationID: org, Name: "Rush House", City: "Helsinki", Country: "FI", TimeZone: "Europe/Helsinki"})
	if err != nil {
		return err
	}
	hall, _, err := h.store.CreateHall(ctx, newKey(), boxoffice.Hall{OrganisationID: org, VenueID: venue.ID, Name: "Hall"})
	if err != nil {
		return err
	}
	event, _, err := h.store.CreateEvent(ctx, newKey(), boxoffice.Event{OrganisationID: org, Kind: "concert", Title: "The Rush", Genre: "rock", Language: "fi"})
	h.hall, h.event = hall.ID, event.ID
	return err
}

// plan is a plan of the hall with so many seats, in rows of a hundred.
func (h *House) plan(ctx context.Context, seats int) (*store.PlanDetails, error) {
	if p := h.plans[seats]; p != nil {
		return p, nil
	}
	org := boxoffice.DefaultOrganisationID
	p := &boxoffice.Plan{OrganisationID: org, HallID: h.hall, Categories: []boxoffice.Category{{Name: "All"}}}
	for i := range seats {
		row, number := strconv.Itoa(1+i/100), strconv.Itoa(1+i%100)
		p.Seats = append(p.Seats, boxoffice.Seat{Row: row, Number: number, Label: row + "-" + number, Kind: boxoffice.SeatStandard})
	}
	done, _, err := h.store.ImportPlan(ctx, newKey(), "rowlock", p, nil)
	if err != nil {
		return nil, err
	}
	h.plans[seats], err = h.store.ReadPlan(ctx, done.PlanID, org, true)
	return h.plans[seats], err
}

// show is a performance that nobody has bought anything of.
type show struct {
	id    uuid.UUID
	seats []boxoffice.Seat
}

// shows makes n of them, with so many seats each, and forgets all others.
func (h *House) shows(ctx context.Context, n, seats int) ([]show, error) {
	if _, err := h.all.Exec(ctx, sqlForget); err != nil {
		return nil, err
	}
	plan, err := h.plan(ctx, seats)
	if err != nil {
		return nil, err
	}
	list := make([]show, n)
	for i := range list {
		made, _, err := h.store.CreateShow(ctx, boxoffice.Actor{Staff: true, Name: "bench"}, newKey(), store.NewShow{
			Organisation: boxoffice.DefaultOrganisationID, EventID: h.event, PlanID: plan.ID, StartsAt: time.Now().AddDate(0, 1, 0),
			Currency: "EUR", Prices: []store.Price{{Category: "All", AmountMinor: 25_00}}, MaxPlacesPerReservation: partyMax, Publish: true,
		})
		if err != nil {
			return nil, err
		}
		list[i] = show{made.ShowID, plan.Seats}
	}
	return list, h.settle(ctx)
}

// settle does what the database would have done by the time that a sale
// begins, and would do in the middle of it otherwise.
func (h *House) settle(ctx context.Context) error {
	if _, err := h.all.Exec(ctx, "vacuum analyze"); err != nil {
		return err
	}
	_, err := h.all.Exec(ctx, "checkpoint")
	return err
}

func newKey() boxoffice.IdempotencyKey {
	k := boxoffice.IdempotencyKey{Owner: "bench", Key: uuid.New()}
	copy(k.Fingerprint[:], k.Key[:])
	return k
}
