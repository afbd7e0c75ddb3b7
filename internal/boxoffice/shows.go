package boxoffice

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// ShowStatus is what the organiser has made of a show. That a show has ended
// or is sold out is derived.
type ShowStatus string

// The states of a show.
const (
	ShowDraft     ShowStatus = "draft"
	ShowOnSale    ShowStatus = "on_sale"
	ShowPaused    ShowStatus = "paused"
	ShowCancelled ShowStatus = "cancelled"
	ShowEnded     ShowStatus = "ended" // derived, never stored
)

// Limits of a show's settings.
const (
	HoldSecondsDefault    = 900
	HoldSecondsMax        = 3600
	MaxHoldSecondsDefault = 1800
	MaxHoldSecondsMax     = 7 * 24 * 3600
	PlacesDefault         = 5      // per reservation
	PlacesMax             = 10_000 // per reservation, also for staff
)

// TicketTypeStandard is the ticket type that every category prices.
const TicketTypeStandard = "standard"

// PriceKey says what a price is for.
type PriceKey struct{ Category, TicketType string }

// Terms are the rarely changing facts of a show by which its places are sold.
// They are shared between goroutines and never changed: a change of the show
// makes new Terms with the next Definition.
type Terms struct {
	ShowID                  uuid.UUID
	OrganisationID          uuid.UUID
	Definition              int64
	Status                  ShowStatus
	StartsAt                time.Time
	EndsAt                  *time.Time
	SalesStartAt            *time.Time
	SalesEndAt              *time.Time
	Currency                string // ISO 4217
	HoldSeconds             int    // 1…[HoldSecondsMax]
	MaxHoldSeconds          int    // HoldSeconds…[MaxHoldSecondsMax]
	MaxPlacesPerReservation int    // 1…[PlacesMax]
	MaxPlacesPerCustomer    int    // 0: no limit
	OfferSeconds            int    // 1…[OfferSecondsMax]: how long who waited has to buy
	Prices                  map[PriceKey]int64
	Plan                    *PlanIndex // nil for a stock without a hall
	// Cancellation is a fact of the show that a rule does read; nil: buyers may
	// not cancel. [AmendShow.Other] saves it.
	Cancellation *Cancellation
	Queue        Queue
	QueueOpen    bool   // who wants to hold needs a turn
	QueueEnded   string // why it was closed the last time; "": it was not, or is open
}

// End is when the show is over: its end, or its start when the end is unknown.
func (t *Terms) End() time.Time {
	if t.EndsAt != nil {
		return *t.EndsAt
	}
	return t.StartsAt
}

// StatusAt is the status with [ShowEnded] derived.
func (t *Terms) StatusAt(now time.Time) ShowStatus {
	if (t.Status == ShowOnSale || t.Status == ShowPaused) && !now.Before(t.End()) {
		return ShowEnded
	}
	return t.Status
}

// OnSale refuses with SHOW_NOT_ON_SALE unless places can be newly held at now.
func (t *Terms) OnSale(now time.Time) *Error {
	refuse := func(reason, detail string) *Error {
		e := Refuse(CodeShowNotOnSale, "%s", detail)
		e.Facts.Reason, e.Facts.SalesStartAt = reason, t.SalesStartAt
		return e
	}
	switch s := t.StatusAt(now); {
	case s != ShowOnSale:
		return refuse(string(s), "The show is "+string(s)+".")
	case t.SalesStartAt != nil && now.Before(*t.SalesStartAt):
		return refuse("before_sales", "Sales begin at "+t.SalesStartAt.UTC().Format(time.RFC3339)+".")
	case t.SalesEndAt != nil && !now.Before(*t.SalesEndAt):
		return refuse("after_sales", "Sales have ended.")
	}
	return nil
}

// price is what a place of a category costs; false when the category has no
// such ticket type.
func (t *Terms) price(category, ticketType string) (int64, bool) {
	p, ok := t.Prices[PriceKey{category, ticketType}]
	return p, ok
}

// SetShowStatus publishes, pauses, resumes or cancels a show. Asking for what
// is already so changes nothing and succeeds.
type SetShowStatus struct{ Verb ShowVerb }

// ShowVerb is what an organiser does to a show's status.
type ShowVerb string

// The verbs.
const (
	PublishShow ShowVerb = "publish"
	PauseShow   ShowVerb = "pause"
	ResumeShow  ShowVerb = "resume"
	CancelShow  ShowVerb = "cancel"
)

// showVerbs is the closed table of a show's transitions.
var showVerbs = map[ShowVerb]struct {
	From []ShowStatus
	To   ShowStatus
	Type ChangeType
}{
	PublishShow: {[]ShowStatus{ShowDraft}, ShowOnSale, ShowPublished},
	PauseShow:   {[]ShowStatus{ShowOnSale}, ShowPaused, ShowPausedChange},
	ResumeShow:  {[]ShowStatus{ShowPaused}, ShowOnSale, ShowResumed},
	CancelShow:  {[]ShowStatus{ShowDraft, ShowOnSale, ShowPaused}, ShowCancelled, ShowCancelledChange},
}

// To is the status that the verb leads to.
func (v ShowVerb) To() ShowStatus { return showVerbs[v].To }

func (c *SetShowStatus) decide(b *batch) *Error {
	t := b.Terms
	verb, ok := showVerbs[c.Verb]
	switch {
	case !ok:
		return Refuse(CodeInternal, "no such verb")
	case t.Status == verb.To:
		return nil
	case !slices.Contains(verb.From, t.Status):
		return Refuse(CodeConflict, "A show that is %s cannot be taken through %q.", t.Status, c.Verb)
	}
	if c.Verb == PublishShow && !b.Now.Before(t.End()) {
		return Refuse(CodeConflict, "The show is over; move startsAt first.")
	}
	next := *t
	next.Status = verb.To
	b.redefine(&next)
	b.log(Change{Type: verb.Type, Before: string(t.Status), After: string(verb.To)})
	if verb.To == ShowCancelled {
		b.task(Task{Kind: TaskCancelShow})
	}
	return nil
}

// AmendShow changes a show's terms. Nil fields stay. The currency is fixed
// after the first hold; a lower limit does not touch holds that exist.
type AmendShow struct {
	Definition              int64 // what If-Match named; 0: any
	StartsAt                *time.Time
	EndsAt                  **time.Time
	SalesStartAt            **time.Time
	SalesEndAt              **time.Time
	Currency                *string
	HoldSeconds             *int
	MaxHoldSeconds          *int
	MaxPlacesPerReservation *int
	MaxPlacesPerCustomer    *int // 0: no limit
	OfferSeconds            *int
	Prices                  map[PriceKey]int64
	Plan                    *PlanIndex // to move to
	Queue                   *QueueChange
	PlanAreas               []AreaRow // the areas of Plan as rows of this show; numbers that exist keep their counts

	// Other is opaque to the rules: columns of the show that no rule reads
	// (note, language, …), saved by the store when this command succeeds.
	Other any
}

func (c *AmendShow) decide(b *batch) *Error {
	next := *b.Terms
	if c.Definition != 0 && c.Definition != next.Definition {
		return Refuse(CodePreconditionFailed, "The show has changed; its ETag is now %q.", etag(next.Definition))
	}
	if next.Status == ShowCancelled {
		return Refuse(CodeConflict, "The show is cancelled.")
	}
	set(&next.StartsAt, c.StartsAt)
	set(&next.EndsAt, c.EndsAt)
	set(&next.SalesStartAt, c.SalesStartAt)
	set(&next.SalesEndAt, c.SalesEndAt)
	set(&next.HoldSeconds, c.HoldSeconds)
	set(&next.MaxHoldSeconds, c.MaxHoldSeconds)
	set(&next.MaxPlacesPerReservation, c.MaxPlacesPerReservation)
	set(&next.MaxPlacesPerCustomer, c.MaxPlacesPerCustomer)
	set(&next.OfferSeconds, c.OfferSeconds)
	if c.Currency != nil && *c.Currency != next.Currency {
		if b.EverHeld {
			return Refuse(CodeConflict, "The currency is fixed after the first hold.")
		}
		next.Currency = *c.Currency
	}
	if c.Prices != nil {
		next.Prices = c.Prices
	}
	if c.Queue != nil {
		if err := c.Queue.to(&next.Queue); err != nil {
			return err
		}
	}
	if err := next.check(); err != nil {
		return err
	}
	var moved *planMove
	areas := b.Areas
	if c.Plan != nil && (next.Plan == nil || next.Plan.ID != c.Plan.ID) {
		if next.Plan == nil {
			return Refuse(CodeConflict, "A stock of places has no plan to move from.")
		}
		m, err := b.planMove(c.Plan, c.PlanAreas)
		if err != nil {
			return err
		}
		moved, areas, next.Plan = m, m.areas, c.Plan
	}
	if err := next.checkPrices(areas); err != nil {
		return err
	}
	if moved != nil {
		b.moveTo(moved)
	}
	b.redefine(&next)
	b.did.Amended = append(b.did.Amended, c)
	b.log(Change{Type: ShowChanged, Before: string(next.Status), After: string(next.Status)})
	return nil
}

func etag(definition int64) string { return "\"" + itoa(definition) + "\"" }

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// check refuses terms that contradict themselves.
func (t *Terms) check() *Error {
	var v []Violation
	if t.EndsAt != nil && !t.EndsAt.After(t.StartsAt) {
		v = append(v, Violation{"endsAt", "must be after startsAt"})
	}
	if t.SalesStartAt != nil && t.SalesEndAt != nil && !t.SalesEndAt.After(*t.SalesStartAt) {
		v = append(v, Violation{"salesEndAt", "must be after salesStartAt"})
	}
	if t.MaxHoldSeconds < t.HoldSeconds {
		v = append(v, Violation{"maxHoldSeconds", "must not be below holdSeconds"})
	}
	if v != nil {
		return Invalid(v...)
	}
	return nil
}

// checkPrices refuses terms that leave a category that has places without a
// standard price, or price a category that does not exist.
func (t *Terms) checkPrices(areas map[int32]*AreaRow) *Error {
	known, used := map[string]bool{}, map[string]bool{}
	if t.Plan != nil {
		for _, c := range t.Plan.Categories {
			known[c.Name] = true
		}
		sold := make([]bool, len(t.Plan.Categories))
		for i := range t.Plan.Seats {
			sold[t.Plan.Seats[i].Category] = true
		}
		for i, c := range t.Plan.Categories {
			if sold[i] {
				used[c.Name] = true
			}
		}
	}
	for _, a := range areas {
		known[a.Category], used[a.Category] = true, true
	}
	var v []Violation
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if _, ok := t.price(name, TicketTypeStandard); !ok {
			v = append(v, Violation{"prices", "category " + name + " has no price for ticketType standard"})
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(t.Prices), comparePriceKeys) {
		if !known[k.Category] {
			v = append(v, Violation{"prices", "the plan has no category " + k.Category})
		}
	}
	if v != nil {
		return Invalid(v...)
	}
	return nil
}

// CheckTerms refuses the terms of a new show that contradict themselves or
// leave a category without a price.
func CheckTerms(t *Terms, areas []AreaRow) *Error {
	if err := t.check(); err != nil {
		return err
	}
	m := make(map[int32]*AreaRow, len(areas))
	for i := range areas {
		m[areas[i].No] = &areas[i]
	}
	return t.checkPrices(m)
}

// planMove is what moving to another plan does to the rows of a show.
type planMove struct {
	plan    *PlanIndex
	areas   map[int32]*AreaRow
	added   []int32 // seats
	removed []int32 // seats
}

// planMove works out a move, or refuses it with PLAN_IN_USE naming every used
// seat that would vanish. It needs all rows of the show.
func (b *batch) planMove(to *PlanIndex, areas []AreaRow) (*planMove, *Error) {
	m := &planMove{plan: to, areas: map[int32]*AreaRow{}}
	if to.HallID != b.Terms.Plan.HallID {
		return nil, Invalid(Violation{"planId", "is a plan of another hall"})
	}
	var lost []SeatRef
	for _, no := range slices.Sorted(maps.Keys(b.Seats)) {
		row := b.Seats[no]
		if _, stays := to.Position(no); stays {
			continue
		}
		if s := row.StatusAt(b.Now); s != SeatAvailable {
			seat := b.Terms.Plan.Seat(no)
			lost = append(lost, SeatRef{SeatID: seat.ID, Label: seat.Label, Status: s})
		}
		m.removed = append(m.removed, no)
	}
	for _, s := range to.Seats {
		if b.Seats[s.No] == nil {
			m.added = append(m.added, s.No)
		}
	}
	var full *Error
	for _, a := range areas {
		if old := b.Areas[a.No]; old != nil && full == nil {
			if used := b.used(old); used > a.Capacity {
				full = Refuse(CodeCapacityInUse, "Area %s has %d places in use, more than the new plan gives it.", a.Name, used)
				full.Facts.InUse = &used
			}
		}
		m.areas[a.No] = &a
	}
	var gone []string
	for _, no := range slices.Sorted(maps.Keys(b.Areas)) {
		if old := b.Areas[no]; m.areas[no] == nil && b.used(old) > 0 {
			gone = append(gone, old.Name)
		}
	}
	if lost != nil || gone != nil {
		e := Refuse(CodePlanInUse, "The new plan lacks places in use: %d seats, %d areas.", len(lost), len(gone))
		if gone != nil {
			e.Detail += " The areas: " + strings.Join(gone, ", ") + "."
		}
		e.Facts.Seats = lost
		return nil, e
	}
	if full != nil {
		return nil, full
	}
	return m, nil
}

// moveTo carries a worked-out move through. Overdue holds are closed first,
// so that none of them still points at a seat that vanishes.
func (b *batch) moveTo(m *planMove) {
	if b.gone == nil {
		b.added, b.gone, b.goneAreas = map[int32]bool{}, map[int32]*SeatRow{}, map[int32]bool{}
	}
	for _, r := range b.overdue() {
		b.close(r, ReservationExpired, ReasonExpired)
	}
	// Commands of one batch may move a show to and fro: a seat that was added
	// and is removed again never was, one that comes back is the row it was.
	for _, no := range m.removed {
		if !b.added[no] {
			b.gone[no] = b.Seats[no]
		}
		delete(b.added, no)
		delete(b.Seats, no)
	}
	for _, no := range m.added {
		row := b.gone[no]
		switch {
		case row == nil:
			row = &SeatRow{No: no, State: 'a', Locked: true}
			b.added[no] = true
		case row.dirty:
			b.did.Seats = append(b.did.Seats, row)
		}
		delete(b.gone, no)
		b.Seats[no] = row
	}
	b.did.Seats = slices.DeleteFunc(b.did.Seats, func(s *SeatRow) bool { return b.Seats[s.No] != s })
	for no, old := range b.Areas {
		switch next := m.areas[no]; {
		case next != nil:
			next.Held, next.Booked, next.Known = old.Held, old.Booked, old.Known
		case old.Known:
			b.goneAreas[no] = true
		}
	}
	for no, a := range m.areas {
		a.Known = a.Known || b.goneAreas[no]
		delete(b.goneAreas, no)
		b.changeArea(a)
	}
	b.Areas = m.areas
	b.did.Areas = slices.DeleteFunc(b.did.Areas, func(a *AreaRow) bool { return b.Areas[a.No] != a })
}
