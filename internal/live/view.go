package live

import (
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// View is a show's map at an instant. It is shared and must not be changed.
type View struct {
	Terms   *boxoffice.Terms
	Version int64
	// Since is from when on the places are like this, by the database's clock:
	// the show's last change, or the end of a hold that came after it.
	Since time.Time
	// Overdue counts the places that are free, or blocked again, because their
	// hold is over, though nothing has closed it yet. It grows within a
	// version, and nothing else does: version and it name a view.
	Overdue    int
	Statuses   string // a letter a seat, in plan order: a, h, b or x
	Areas      []AreaView
	Categories []CategoryCount // of the plan, then those that only areas have
	Total      Count           // of all categories

	// ShowStatus is the show's own, with ended derived, and SaleOpen whether
	// places can be newly held.
	ShowStatus boxoffice.ShowStatus
	SaleOpen   bool

	// Stale is set while the database is away: changes of the last Age may be
	// missing. Holds end nevertheless.
	Stale bool
	Age   time.Duration

	until   time.Time // when the next hold ends, or sales begin or end; zero: never
	overdue []int     // the positions of the seats that Overdue counts

	mu      sync.Mutex
	encoded map[string]*encoding
}

// SoldOut reports whether no place is left.
func (v *View) SoldOut() bool { return v.Total.Capacity > 0 && v.Total.Available <= 0 }

// AreaView is an area at an instant.
type AreaView struct {
	No        int32
	ID        uuid.UUID
	Ref       string // the organiser's own identifier; "": none
	Name      string
	Category  string
	Capacity  int
	Held      int // by holds that are not over
	Booked    int
	Available int // 0 or more
}

// Count is how many places there are of each status.
type Count struct{ Capacity, Available, Held, Booked, Blocked int }

// CategoryCount counts the places of a category: seats, and units of areas.
type CategoryCount struct {
	Category string
	Count
}

type encoding struct {
	once  sync.Once
	bytes []byte
}

// ETag names the view; it is the same on every instance. It is weak, since a
// body may be sent compressed or not.
func (v *View) ETag() string { return fmt.Sprintf(`W/"%d-%d"`, v.Version, v.Overdue) }

// Status is what the seat at a position of the plan is.
func (v *View) Status(position int) boxoffice.SeatStatus {
	switch v.Statuses[position] {
	case seatHeld:
		return boxoffice.SeatHeld
	case seatBooked:
		return boxoffice.SeatBooked
	case seatBlocked:
		return boxoffice.SeatBlocked
	}
	return boxoffice.SeatAvailable
}

// Area finds an area by its id.
func (v *View) Area(id uuid.UUID) (*AreaView, bool) {
	for i := range v.Areas {
		if v.Areas[i].ID == id {
			return &v.Areas[i], true
		}
	}
	return nil, false
}

// Encoded returns what encode makes of the view, made once for each name and
// kept with the view.
func (v *View) Encoded(name string, encode func() []byte) []byte {
	v.mu.Lock()
	e := v.encoded[name]
	if e == nil {
		e = &encoding{}
		if v.encoded == nil {
			v.encoded = map[string]*encoding{}
		}
		v.encoded[name] = e
	}
	v.mu.Unlock()
	e.once.Do(func() { e.bytes = encode() })
	return e.bytes
}

// At is the map at an instant by the database's clock.
func (m *Map) At(now time.Time) *View {
	v := &View{
		Terms: m.Terms, Version: m.Version, Since: m.ChangedAt,
		ShowStatus: m.Terms.StatusAt(now), SaleOpen: m.Terms.OnSale(now) == nil,
	}
	v.count(m, m.statuses(v, now), now)
	end := m.Terms.End()
	for _, at := range []*time.Time{m.Terms.SalesStartAt, m.Terms.SalesEndAt, &end} {
		if at != nil && now.Before(*at) && (v.until.IsZero() || at.Before(v.until)) {
			v.until = *at
		}
	}
	return v
}

// over reports whether a hold that ends at end is over at now, and notes in
// the view when that last happened and when it will happen next.
func (v *View) over(end, now time.Time) bool {
	if now.Before(end) {
		if v.until.IsZero() || end.Before(v.until) {
			v.until = end
		}
		return false
	}
	if end.After(v.Since) {
		v.Since = end
	}
	return true
}

// statuses writes the letters as a reader sees them, and counts them by the
// plan's categories.
func (m *Map) statuses(v *View, now time.Time) []Count {
	if m.Terms.Plan == nil {
		return nil
	}
	plan := m.Terms.Plan
	counts := make([]Count, len(plan.Categories))
	letters := make([]byte, len(m.States))
	for i, state := range m.States {
		if state == seatHeld || state == seatHeldFromBlock {
			switch over := v.over(m.Ends[i], now); {
			case !over:
				state = seatHeld
			case state == seatHeld:
				state = seatAvailable
				v.overdue = append(v.overdue, i)
			default:
				state = seatBlocked
				v.overdue = append(v.overdue, i)
			}
		}
		letters[i] = state
		c := &counts[plan.Seats[i].Category]
		c.Capacity++
		switch state {
		case seatHeld:
			c.Held++
		case seatBooked:
			c.Booked++
		case seatBlocked:
			c.Blocked++
		default:
			c.Available++
		}
	}
	v.Statuses, v.Overdue = string(letters), len(v.overdue)
	return counts
}

// count adds the areas and sums up. A category that only areas have comes
// after those of the plan.
func (v *View) count(m *Map, seats []Count, now time.Time) {
	over := map[int32]int{}
	for _, hold := range m.Holds {
		for _, h := range hold {
			if v.over(h.End, now) {
				over[h.AreaNo] += h.Units
				v.Overdue += h.Units
			}
		}
	}
	index := map[string]int{}
	for i := range seats {
		name := m.Terms.Plan.Categories[i].Name
		index[name] = i
		v.Categories = append(v.Categories, CategoryCount{name, seats[i]})
	}
	for _, a := range m.Areas {
		view := AreaView{No: a.No, ID: a.ID, Ref: a.Ref, Name: a.Name, Category: a.Category, Capacity: a.Capacity, Booked: a.Booked, Held: a.Held - over[a.No]}
		view.Available = max(0, a.Capacity-a.Booked-view.Held)
		v.Areas = append(v.Areas, view)
		i, ok := index[a.Category]
		if !ok {
			i = len(v.Categories)
			index[a.Category] = i
			v.Categories = append(v.Categories, CategoryCount{Category: a.Category})
		}
		v.Categories[i].add(Count{Capacity: view.Capacity, Available: view.Available, Held: view.Held, Booked: view.Booked})
	}
	for _, c := range v.Categories {
		v.Total.add(c.Count)
	}
}

func (c *Count) add(more Count) {
	c.Capacity += more.Capacity
	c.Available += more.Available
	c.Held += more.Held
	c.Booked += more.Booked
	c.Blocked += more.Blocked
}

// holds reports whether the view is still the map at now.
func (v *View) holds(m *Map, now time.Time) bool {
	return v.Version == m.Version && !now.Before(v.Since) && (v.until.IsZero() || now.Before(v.until))
}
