package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

var (
	sqlPlansRead          = queries.Must("plans_read")
	sqlPlansPublic        = queries.Must("plans_public")
	sqlPlansList          = queries.Must("plans_list")
	sqlPlansNextVersion   = queries.Must("plans_next_version")
	sqlPlansInsert        = queries.Must("plans_insert")
	sqlHallSeatsLoad      = queries.Must("hall_seats_load")
	sqlHallAreasLoad      = queries.Must("hall_areas_load")
	sqlPlanCategoriesLoad = queries.Must("plan_categories_load")
	sqlPlanSeatsLoad      = queries.Must("plan_seats_load")
	sqlPlanAreasLoad      = queries.Must("plan_areas_load")

	sqlHallSeatsInsert      = queries.Must("hall_seats_insert")
	sqlHallAreasInsert      = queries.Must("hall_areas_insert")
	sqlPlanCategoriesInsert = queries.Must("plan_categories_insert")
	sqlPlanSeatsInsert      = queries.Must("plan_seats_insert")
	sqlPlanAreasInsert      = queries.Must("plan_areas_insert")
)

// querier is what reads: a pool, a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// loadPlan reads a plan with all its places, one statement for each kind of
// them. A plan that does not exist is NOT_FOUND. Plans never change, so the
// statements need not see one snapshot.
func (s *Store) loadPlan(ctx context.Context, q querier, id uuid.UUID) (*boxoffice.Plan, error) {
	p, err := loadPlanHead(ctx, q, id)
	if err != nil {
		return nil, err
	}
	return &p.Plan, loadPlaces(ctx, q, &p.Plan, p.SeatCount)
}

func loadPlanHead(ctx context.Context, q querier, id uuid.UUID) (*PlanDetails, error) {
	p := &PlanDetails{Plan: boxoffice.Plan{ID: id}}
	err := q.QueryRow(ctx, sqlPlansRead, id).Scan(&p.OrganisationID, &p.HallID, &p.Version, &p.Name, &p.Format,
		&p.SeatCount, &p.Drawing, &p.Warnings, &p.CreatedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such plan.")
	}
	return p, err
}

// loadPlaces fills in a plan's categories, seats and areas.
func loadPlaces(ctx context.Context, q querier, p *boxoffice.Plan, seats int) error {
	rows, err := q.Query(ctx, sqlPlanCategoriesLoad, p.ID)
	if err != nil {
		return err
	}
	if p.Categories, err = pgx.CollectRows(rows, pgx.RowToStructByPos[boxoffice.Category]); err != nil {
		return err
	}
	if rows, err = q.Query(ctx, sqlPlanSeatsLoad, p.ID, p.HallID); err != nil {
		return err
	}
	p.Seats = make([]boxoffice.Seat, 0, seats)
	// A hall has few sections, rows and features, and 40,000 seats that name
	// them: each text is kept once.
	texts := map[string]string{}
	once := func(s *string) {
		if kept, ok := texts[*s]; ok {
			*s = kept
		} else {
			texts[*s] = *s
		}
	}
	var seat boxoffice.Seat
	var x, y *float64
	_, err = pgx.ForEachRow(rows, []any{&seat.No, &seat.ID, &seat.Section, &seat.Row, &seat.Number, &seat.Label,
		&seat.Category, &seat.Kind, &seat.Features, &x, &y}, func() error {
		once(&seat.Section)
		once(&seat.Row)
		once(&seat.Number)
		once((*string)(&seat.Kind))
		for i := range seat.Features {
			once(&seat.Features[i])
		}
		seat.X, seat.Y, seat.Placed = position(x, y)
		p.Seats = append(p.Seats, seat)
		seat.Features = nil // or the next scan would write into this seat's
		return nil
	})
	if err != nil {
		return err
	}
	if rows, err = q.Query(ctx, sqlPlanAreasLoad, p.ID, p.HallID); err != nil {
		return err
	}
	p.Areas, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (a boxoffice.Area, err error) {
		var x, y *float64
		err = row.Scan(&a.No, &a.ID, &a.Name, &a.Category, &a.Capacity, &x, &y, &a.Outline)
		a.X, a.Y, a.Placed = position(x, y)
		return a, err
	})
	return err
}

func position(x, y *float64) (float64, float64, bool) {
	if x == nil || y == nil {
		return 0, 0, false
	}
	return *x, *y, true
}

// PlanDetails is a plan with what is known about its import.
type PlanDetails struct {
	boxoffice.Plan
	Version   int // counts the plans of the hall, from 1
	Format    string
	SeatCount int
	Warnings  []PlanWarning
	CreatedAt time.Time
}

// PlanWarning is something that the import noticed and passed over.
type PlanWarning struct {
	Path    string `json:"path" doc:"Where in the document" example:"zones[0].rows[2]"`
	Message string `json:"message" doc:"What was left out or changed" example:"the row has no name"`
}

// PlanImport is what came of an import.
type PlanImport struct {
	PlanID     uuid.UUID
	HallID     uuid.UUID
	Version    int
	SeatCount  int
	Categories []ImportedCategory
	Areas      []ImportedArea
	Warnings   []PlanWarning
}

// ImportedCategory is a price class with the number of its seats.
type ImportedCategory struct {
	ID        uuid.UUID
	Name      string
	SeatCount int
}

// ImportedArea is a standing area.
type ImportedArea struct {
	ID       uuid.UUID
	Name     string
	Capacity int
}

// ImportPlan keeps a plan as the next version of its hall's plans. Seats and
// areas that an earlier plan of the hall had keep their numbers and ids; the
// plan's own are ignored. Imports in one hall come one after the other.
//
// A plan with 40,000 seats takes about a second: they are copied, not inserted.
func (s *Store) ImportPlan(ctx context.Context, key boxoffice.IdempotencyKey, format string, p *boxoffice.Plan, warnings []PlanWarning) (PlanImport, bool, error) {
	return once(ctx, s, p.OrganisationID, key, func(ctx context.Context, tx pgx.Tx) (PlanImport, error) {
		hall, err := scanHall(tx.QueryRow(ctx, sqlHallsLock, p.HallID, p.OrganisationID))
		if err != nil {
			return PlanImport{}, found(err, "hall")
		}
		in := &planImport{tx: tx, org: p.OrganisationID, plan: *p}
		in.plan.ID = NewID()
		if in.plan.Name == "" {
			in.plan.Name = hall.Name
		}
		done := PlanImport{PlanID: in.plan.ID, HallID: p.HallID, SeatCount: len(p.Seats), Warnings: orEmpty(warnings)}
		if err := tx.QueryRow(ctx, sqlPlansNextVersion, p.HallID).Scan(&done.Version); err != nil {
			return done, err
		}
		_, err = tx.Exec(ctx, sqlPlansInsert, in.plan.ID, in.org, p.HallID, done.Version, in.plan.Name, format, len(p.Seats),
			orEmpty(p.Drawing), done.Warnings)
		if err != nil {
			return done, err
		}
		for _, step := range []func(context.Context) error{in.numberSeats, in.numberAreas, in.saveCategories, in.saveSeats, in.saveAreas} {
			if err := step(ctx); err != nil {
				return done, err
			}
		}
		in.tell(&done)
		return done, nil
	})
}

// planImport is a plan on its way into the database.
type planImport struct {
	tx   pgx.Tx
	org  uuid.UUID
	plan boxoffice.Plan

	seats []numbered // in step with plan.Seats
	areas []numbered // in step with plan.Areas
}

// numbered is what a hall gives a seat or an area for ever.
type numbered struct {
	no int32
	id uuid.UUID
}

type seatKey struct{ section, row, number string }

// numberSeats finds the numbers of the seats that the hall has, and gives the
// next ones to those that are new.
func (in *planImport) numberSeats(ctx context.Context) error {
	had := map[seatKey]numbered{}
	rows, err := in.tx.Query(ctx, sqlHallSeatsLoad, in.plan.HallID)
	if err != nil {
		return err
	}
	var k seatKey
	var n numbered
	if _, err := pgx.ForEachRow(rows, []any{&n.no, &n.id, &k.section, &k.row, &k.number}, func() error {
		had[k] = n
		return nil
	}); err != nil {
		return err
	}
	next := int32(len(had))
	var added []int // places in the plan
	in.seats = make([]numbered, len(in.plan.Seats))
	for i := range in.plan.Seats {
		seat := &in.plan.Seats[i]
		k := seatKey{seat.Section, seat.Row, seat.Number}
		n, ok := had[k]
		if !ok {
			n = numbered{next, NewID()}
			next++
			added = append(added, i)
		}
		in.seats[i] = n
	}
	return inParts(added, func(part []int, _ int) error {
		seat := func(i int) *boxoffice.Seat { return &in.plan.Seats[i] }
		_, err := in.tx.Exec(ctx, sqlHallSeatsInsert, in.plan.HallID, in.org,
			each(part, func(i int) int32 { return in.seats[i].no }), each(part, func(i int) uuid.UUID { return in.seats[i].id }),
			each(part, func(i int) string { return seat(i).Section }), each(part, func(i int) string { return seat(i).Row }), each(part, func(i int) string { return seat(i).Number }))
		return err
	})
}

func (in *planImport) numberAreas(ctx context.Context) error {
	had := map[string]numbered{}
	rows, err := in.tx.Query(ctx, sqlHallAreasLoad, in.plan.HallID)
	if err != nil {
		return err
	}
	var name string
	var n numbered
	if _, err := pgx.ForEachRow(rows, []any{&n.no, &n.id, &name}, func() error {
		had[name] = n
		return nil
	}); err != nil {
		return err
	}
	next := int32(len(had))
	var added []int
	in.areas = make([]numbered, len(in.plan.Areas))
	for i := range in.plan.Areas {
		name := in.plan.Areas[i].Name
		n, ok := had[name]
		if !ok {
			n = numbered{next, NewID()}
			next++
			added = append(added, i)
		}
		in.areas[i] = n
	}
	return inParts(added, func(part []int, _ int) error {
		_, err := in.tx.Exec(ctx, sqlHallAreasInsert, in.plan.HallID, in.org,
			each(part, func(i int) int32 { return in.areas[i].no }), each(part, func(i int) uuid.UUID { return in.areas[i].id }),
			each(part, func(i int) string { return in.plan.Areas[i].Name }))
		return err
	})
}

func (in *planImport) saveCategories(ctx context.Context) error {
	in.plan.Categories = slices.Clone(in.plan.Categories)
	for i := range in.plan.Categories {
		in.plan.Categories[i].ID = NewID()
	}
	return inParts(in.plan.Categories, func(part []boxoffice.Category, first int) error {
		_, err := in.tx.Exec(ctx, sqlPlanCategoriesInsert, in.plan.ID, in.org, first,
			each(part, func(c boxoffice.Category) uuid.UUID { return c.ID }),
			each(part, func(c boxoffice.Category) string { return c.Name }), each(part, func(c boxoffice.Category) string { return c.Color }))
		return err
	})
}

func (in *planImport) saveSeats(ctx context.Context) error {
	return inParts(in.plan.Seats, func(part []boxoffice.Seat, first int) error {
		_, err := in.tx.Exec(ctx, sqlPlanSeatsInsert, in.plan.ID, in.org, first,
			each(in.seats[first:first+len(part)], func(n numbered) int32 { return n.no }),
			each(part, func(s boxoffice.Seat) string { return s.Label }), each(part, func(s boxoffice.Seat) int32 { return int32(s.Category) }),
			each(part, func(s boxoffice.Seat) string { return string(s.Kind) }), each(part, func(s boxoffice.Seat) string { return literal(s.Features, appendQuoted) }),
			each(part, func(s boxoffice.Seat) *float64 { return coordinate(s.X, s.Placed) }), each(part, func(s boxoffice.Seat) *float64 { return coordinate(s.Y, s.Placed) }))
		return err
	})
}

func (in *planImport) saveAreas(ctx context.Context) error {
	return inParts(in.plan.Areas, func(part []boxoffice.Area, first int) error {
		outlines := make([]string, len(part))
		for i := range part {
			text, err := json.Marshal(orEmpty(part[i].Outline))
			if err != nil {
				return fmt.Errorf("outline: %w", err)
			}
			outlines[i] = string(text)
		}
		_, err := in.tx.Exec(ctx, sqlPlanAreasInsert, in.plan.ID, in.org, first,
			each(in.areas[first:first+len(part)], func(n numbered) int32 { return n.no }),
			each(part, func(a boxoffice.Area) int32 { return int32(a.Category) }), each(part, func(a boxoffice.Area) int32 { return int32(a.Capacity) }),
			each(part, func(a boxoffice.Area) *float64 { return coordinate(a.X, a.Placed) }), each(part, func(a boxoffice.Area) *float64 { return coordinate(a.Y, a.Placed) }),
			outlines)
		return err
	})
}

func coordinate(v float64, placed bool) *float64 {
	if !placed {
		return nil
	}
	return &v
}

// orEmpty is an empty list instead of none, which is null in Postgres.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// importBatch is how many places one statement inserts: it stays far below
// statement_timeout.
const importBatch = 10_000

// inParts saves a list part by part; first is the place of a part's first in
// the list. COPY would be as quick and send no columns, but behind a PgBouncer
// that keeps prepared statements a short COPY of pgx's keeps its connection
// until the client goes: its end comes before Postgres has asked for the rows,
// and PgBouncer then waits for one more answer.
func inParts[T any](list []T, save func(part []T, first int) error) error {
	first := 0
	for part := range slices.Chunk(list, importBatch) {
		if err := save(part, first); err != nil {
			return err
		}
		first += len(part)
	}
	return nil
}

// each is a column: one value of each element.
func each[T, V any](list []T, value func(T) V) []V {
	column := make([]V, len(list))
	for i, v := range list {
		column[i] = value(v)
	}
	return column
}

// tell sums up the import.
func (in *planImport) tell(done *PlanImport) {
	done.Categories = make([]ImportedCategory, len(in.plan.Categories))
	for i, c := range in.plan.Categories {
		done.Categories[i] = ImportedCategory{ID: c.ID, Name: c.Name}
	}
	for i := range in.plan.Seats {
		done.Categories[in.plan.Seats[i].Category].SeatCount++
	}
	done.Areas = make([]ImportedArea, len(in.plan.Areas))
	for i, a := range in.plan.Areas {
		done.Areas[i] = ImportedArea{ID: in.areas[i].id, Name: a.Name, Capacity: a.Capacity}
	}
}

// ReadPlan reads a plan with all its places. Who may not see drafts of the
// organisation sees it once a published show uses it; before, it is NOT_FOUND.
func (s *Store) ReadPlan(ctx context.Context, id, organisation uuid.UUID, drafts bool) (*PlanDetails, error) {
	p, err := loadPlanHead(ctx, s.pool, id)
	if err != nil {
		return nil, coded(err)
	}
	if !drafts || p.OrganisationID != organisation {
		var public bool
		if err := s.pool.QueryRow(ctx, sqlPlansPublic, id).Scan(&public); err != nil {
			return nil, coded(err)
		}
		if !public {
			return nil, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such plan.")
		}
	}
	index, err := s.planOf(ctx, s.pool, id)
	if err != nil {
		return nil, err
	}
	p.Plan = *index.Plan
	return p, nil
}

// PlanListing is a plan without its places.
type PlanListing struct {
	ID        uuid.UUID
	Version   int
	Name      string
	Format    string
	SeatCount int
	CreatedAt time.Time
}

// Plans lists the plans of a hall, newest first, below the version before if
// that is not 0. A hall of another organisation is NOT_FOUND.
func (s *Store) Plans(ctx context.Context, organisation, hall uuid.UUID, before, limit int) ([]PlanListing, error) {
	h, err := s.Hall(ctx, hall)
	if err != nil {
		return nil, err
	}
	if h.OrganisationID != organisation {
		return nil, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such hall.")
	}
	var below *int
	if before > 0 {
		below = &before
	}
	rows, err := s.pool.Query(ctx, sqlPlansList, hall, below, limit)
	return collect(rows, err, func(row pgx.Row) (p PlanListing, err error) {
		err = row.Scan(&p.ID, &p.Version, &p.Name, &p.Format, &p.SeatCount, &p.CreatedAt)
		return p, err
	})
}
