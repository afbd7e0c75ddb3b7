//go:build unix

package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/jobs"
	"github.com/rowlock/rowlock/internal/store"
)

// The prices of a show, in minor units of EUR.
const (
	SeatMinor  = 25_00
	FloorMinor = 30_00
)

// ShowOptions say what a show is to be like. The zero value is a published show
// of 20 seats.
type ShowOptions struct {
	Seats       int // all of one category; 0: 20, unless there is a Floor
	Floor       int // capacity of a standing area; 0: there is none
	HoldSeconds int // 0: the service's default
	PerCustomer int // places that one customer may have; 0: no limit
}

// Show is a show on sale, and what there is to buy.
type Show struct {
	ID     uuid.UUID
	Seats  []uuid.UUID // in the order of rows and numbers
	Labels []string    // of the seats, …
	Floor  uuid.UUID   // the standing area; zero: none
}

// NewShow makes a hall, an event and a show, on the present primary.
func (c *Cluster) NewShow(ctx context.Context, o ShowOptions) (show Show, err error) {
	if o.Seats == 0 && o.Floor == 0 {
		o.Seats = 20
	}
	err = c.withStore(ctx, func(s *store.Store) error {
		show, err = newShow(ctx, s, o)
		return err
	})
	return show, err
}

// withStore lends the store with its lanes at work.
func (c *Cluster) withStore(ctx context.Context, do func(*store.Store) error) error {
	scheduler, err := jobs.NewScheduler(slog.New(slog.DiscardHandler), false)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, store.Config{URL: c.database.url(store.RoleApp), LaneURL: c.database.url(store.RoleLane), Jobs: scheduler})
	if err != nil {
		return err
	}
	defer s.Close()
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(working) }()
	err = do(s)
	stop()
	return errors.Join(err, <-ended)
}

func newShow(ctx context.Context, s *store.Store, o ShowOptions) (Show, error) {
	org := boxoffice.DefaultOrganisationID
	venue, _, err := s.CreateVenue(ctx, newKey(), boxoffice.Venue{OrganisationID: org, Name: "Torture House", City: "Vilnius", Country: "LT", TimeZone: "Europe/Vilnius"})
	if err != nil {
		return Show{}, err
	}
	hall, _, err := s.CreateHall(ctx, newKey(), boxoffice.Hall{OrganisationID: org, VenueID: venue.ID, Name: "Hall"})
	if err != nil {
		return Show{}, err
	}
	plan, prices := drawn(o)
	plan.OrganisationID, plan.HallID = org, hall.ID
	imported, _, err := s.ImportPlan(ctx, newKey(), "rowlock", plan, nil)
	if err != nil {
		return Show{}, err
	}
	if plan, err = readPlan(ctx, s, imported.PlanID); err != nil {
		return Show{}, err
	}
	made, _, err := s.CreateShow(ctx, boxoffice.Actor{Staff: true, Name: "torture"}, newKey(), store.NewShow{
		Organisation: org, Event: &boxoffice.Event{OrganisationID: org, Kind: "concert", Title: "The Torture"}, PlanID: imported.PlanID, Prices: prices,
		StartsAt: time.Now().AddDate(0, 1, 0), Currency: "EUR", HoldSeconds: o.HoldSeconds, MaxPlacesPerCustomer: o.PerCustomer, Publish: true,
	})
	if err != nil {
		return Show{}, err
	}
	show := Show{ID: made.ShowID}
	for _, seat := range plan.Seats {
		show.Seats, show.Labels = append(show.Seats, seat.ID), append(show.Labels, seat.Label)
	}
	for _, area := range made.Areas {
		show.Floor = area.ID
	}
	return show, nil
}

func readPlan(ctx context.Context, s *store.Store, id uuid.UUID) (*boxoffice.Plan, error) {
	details, err := s.ReadPlan(ctx, id, boxoffice.DefaultOrganisationID, true)
	if err != nil {
		return nil, err
	}
	return &details.Plan, nil
}

// drawn is the plan of a hall with rows of twenty seats, and what they cost.
func drawn(o ShowOptions) (*boxoffice.Plan, []store.Price) {
	plan, prices := &boxoffice.Plan{}, []store.Price(nil)
	if o.Seats > 0 {
		plan.Categories = append(plan.Categories, boxoffice.Category{Name: "Seats"})
		prices = append(prices, store.Price{Category: "Seats", AmountMinor: SeatMinor})
	}
	for i := range o.Seats {
		row, number := rowName(i/20), fmt.Sprint(1+i%20)
		plan.Seats = append(plan.Seats, boxoffice.Seat{Row: row, Number: number, Label: row + "-" + number, Kind: boxoffice.SeatStandard})
	}
	if o.Floor > 0 {
		plan.Areas = []boxoffice.Area{{Name: "Floor", Category: len(plan.Categories), Capacity: o.Floor}}
		plan.Categories = append(plan.Categories, boxoffice.Category{Name: "Floor"})
		prices = append(prices, store.Price{Category: "Floor", AmountMinor: FloorMinor})
	}
	return plan, prices
}

// rowName counts A, B, … Z, AA, AB, …
func rowName(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return rowName(i/26-1) + string(rune('A'+i%26))
}

func newKey() boxoffice.IdempotencyKey {
	k := boxoffice.IdempotencyKey{Owner: "torture", Key: uuid.New()}
	rand.Read(k.Fingerprint[:])
	return k
}
