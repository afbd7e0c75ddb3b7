package store

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

// How a batch learns who waits for places, and writes down what they were
// offered. A show where nobody waits costs it nothing: that stands in the
// show's head, which every batch reads.

var (
	sqlWaitlistFree        = queries.Must("waitlist_free")
	sqlWaitlistNext        = queries.Must("waitlist_next")
	sqlWaitlistNamed       = queries.Must("waitlist_named")
	sqlWaitlistOfCustomers = queries.Must("waitlist_of_customers")
	sqlWaitlistSave        = queries.Must("waitlist_save")
	sqlWaitlistMark        = queries.Must("waitlist_mark")
	sqlWaitlistBuyersSave  = queries.Must("waitlist_buyers_save")
	sqlWaitlistLooksSave   = queries.Must("waitlist_looks_save")
)

// waitlistDue is how many overdue holds a batch looks at whose places the
// waitlist may have: as many as one [boxoffice.ExpireReservations] closes.
const waitlistDue = 500

// waitlistSpare is how many entries of a sort are looked at beyond what the
// places would do for, in a show that limits customers: those of customers who
// have all they may are passed over.
const waitlistSpare = 50

// The steps of loading what the waitlist needs.
const (
	waitlistUnknown = iota // whether the batch needs it
	waitlistPlaces         // what is free is being read; who waits comes next
	waitlistLoaded         // or not needed
)

// loadWaitlist queues the entries that a batch is about. Where the batch may
// free places, or give some to a buyer that were free without anybody's doing,
// it also queues what is free, and then, when it is known how much that is at
// most, who comes next.
func (t *laneTx) loadWaitlist(b *pgx.Batch) {
	var shows, entries, customerShows []uuid.UUID
	var customers []string
	for _, sh := range t.shows {
		if sh.state.Terms == nil {
			continue
		}
		for _, r := range sh.state.Reservations {
			if _, known := sh.entries[r.WaitlistEntryID]; r.WaitlistEntryID != uuid.Nil && !known {
				sh.entries[r.WaitlistEntryID] = true
			}
		}
		for _, id := range slices.SortedFunc(maps.Keys(sh.entries), compareIDs) {
			if sh.entries[id] {
				sh.entries[id] = false
				shows, entries = append(shows, sh.id), append(entries, id)
			}
		}
	}
	// Who comes next is read when all that may become free is here.
	more := b.Len()+len(entries) > 0
	for _, sh := range t.shows {
		if sh.state.Terms == nil {
			continue
		}
		switch sh.step {
		case waitlistUnknown:
			sh.step = waitlistLoaded
			if len(sh.joins) == 0 && !(sh.waiting > 0 && (sh.frees || sh.anyOverdue())) {
				break
			}
			sh.step, sh.state.Offering = waitlistPlaces, true
			if !sh.all {
				b.Queue(sqlWaitlistFree, sh.id).Query(t.scanFree)
			}
			b.Queue(sqlReservationsDue, []uuid.UUID{sh.id}, []time.Time{sh.state.Now}, []int32{waitlistDue}).Query(t.scanMissing)
			for _, c := range sh.joins {
				customerShows, customers = append(customerShows, sh.id), append(customers, c)
			}
		case waitlistPlaces:
			if more {
				break
			}
			sh.step = waitlistLoaded
			if sh.waiting > 0 {
				spare := 0
				if sh.limits {
					spare = waitlistSpare
				}
				b.Queue(sqlWaitlistNext, sh.id, sh.most(), spare).Query(t.scanEntries)
			}
		}
	}
	if len(entries) > 0 {
		b.Queue(sqlWaitlistNamed, shows, entries).Query(t.scanEntries)
	}
	if len(customers) > 0 {
		b.Queue(sqlWaitlistOfCustomers, customerShows, customers).Query(t.scanEntries)
	}
	t.loadWaiters(b)
}

// loadWaiters queues how many places those who wait have, where that is limited.
func (t *laneTx) loadWaiters(b *pgx.Batch) {
	var shows []uuid.UUID
	var nows []time.Time
	var customers []string
	for _, sh := range t.shows {
		if !sh.limits {
			continue
		}
		for _, e := range sh.state.Waitlist {
			if _, known := sh.state.Places[e.CustomerID]; !known {
				sh.state.Places[e.CustomerID] = 0
				shows, nows, customers = append(shows, sh.id), append(nows, sh.state.Now), append(customers, e.CustomerID)
			}
		}
	}
	if len(customers) > 0 {
		b.Queue(sqlReservationsPlaces, shows, nows, customers).Query(t.scanPlaces)
	}
}

// anyOverdue says that a buyer wants what an overdue hold has: the waitlist
// has not been asked about it.
func (sh *laneShow) anyOverdue() bool {
	if len(sh.overdue) > 0 {
		return true
	}
	for _, r := range sh.state.Reservations {
		if r.Overdue(sh.state.Now) {
			return true
		}
	}
	return false
}

// most is how many places can be free after the batch: what is free now, what
// belongs to anybody it is about, and what a larger capacity or another plan
// brings.
func (sh *laneShow) most() int32 {
	n := len(sh.state.Seats)
	for _, a := range sh.state.Areas {
		n += max(0, a.Capacity-a.Held-a.Booked)
	}
	for _, r := range sh.state.Reservations {
		n += r.Places()
	}
	for _, c := range sh.calls {
		switch do := c.Command.Do.(type) {
		case *boxoffice.SetAreaCapacity:
			n += do.Capacity
		case *boxoffice.AmendShow:
			if do.Plan != nil {
				n += len(do.Plan.Seats)
				for _, a := range do.PlanAreas {
					n += a.Capacity
				}
			}
		}
	}
	return int32(min(n, math.MaxInt32/2))
}

// scanFree takes in free seats; what is here already stays as it is.
func (t *laneTx) scanFree(rows pgx.Rows) error {
	for rows.Next() {
		show, seat, err := scanSeat(rows)
		if err != nil {
			return err
		}
		seat.Locked = true
		if seats := t.show(show).state.Seats; seats[seat.No] == nil {
			seats[seat.No] = seat
		}
	}
	return rows.Err()
}

// scanMissing takes in reservations; what is here already stays as it is.
func (t *laneTx) scanMissing(rows pgx.Rows) error {
	for rows.Next() {
		r, err := scanReservation(rows)
		if err != nil {
			return err
		}
		if have := t.show(r.ShowID).state.Reservations; have[r.ID] == nil {
			have[r.ID] = r
		}
	}
	return rows.Err()
}

// scanEntries takes in entries, and asks for their offers.
func (t *laneTx) scanEntries(rows pgx.Rows) error {
	for rows.Next() {
		show, e, err := scanEntry(rows)
		if err != nil {
			return err
		}
		sh := t.show(show)
		if sh.state.Waitlist[e.ID] != nil {
			continue
		}
		sh.state.Waitlist[e.ID] = e
		sh.entries[e.ID] = false
		if e.Status == boxoffice.WaitlistOffered && sh.state.Reservations[e.ReservationID] == nil {
			sh.overdue[e.ReservationID] = true // or not: it is loaded as those are
		}
	}
	return rows.Err()
}

// scanEntry reads the common columns of an entry, and what follows them.
func scanEntry(row scanner, more ...any) (show uuid.UUID, e *boxoffice.WaitlistEntry, err error) {
	e = &boxoffice.WaitlistEntry{}
	var offered, closed *time.Time
	var reservation *uuid.UUID
	dest := []any{&show, &e.ID, &e.CustomerID, &e.No, &e.PartySize, &e.Categories, &e.Status, &e.JoinedAt, &offered, &reservation, &closed}
	err = row.Scan(append(dest, more...)...)
	e.OfferedAt, e.ReservationID, e.ClosedAt = orZero(offered), orZero(reservation), orZero(closed)
	if len(e.Categories) == 0 {
		e.Categories = nil
	}
	return show, e, err
}

// saveWaitlist writes entries, who they are, and what was free for them. It
// comes after the reservations, some of which are offers.
func (t *laneTx) saveWaitlist(b *pgx.Batch) {
	var shows, ids, orgs []uuid.UUID
	var customers, categories, statuses []string
	var nos []int64
	var sizes []int32
	var joined []time.Time
	var offered, closed []pgtype.Timestamptz
	var reservations []pgtype.UUID
	for _, sh := range t.shows {
		if sh.state.Terms == nil {
			continue
		}
		org := sh.state.Terms.OrganisationID
		for _, e := range sh.did.Entries {
			shows, ids, orgs = append(shows, sh.id), append(ids, e.ID), append(orgs, org)
			customers, nos, sizes = append(customers, e.CustomerID), append(nos, e.No), append(sizes, int32(e.PartySize))
			categories, statuses = append(categories, literal(e.Categories, appendQuoted)), append(statuses, string(e.Status))
			joined, offered, closed = append(joined, e.JoinedAt), append(offered, instant(e.OfferedAt)), append(closed, instant(e.ClosedAt))
			reservations = append(reservations, nullable(e.ReservationID))
		}
		for _, r := range sh.did.Placed {
			if r.WaitlistEntryID != uuid.Nil {
				b.Queue(sqlWaitlistMark, sh.id, r.ID, r.WaitlistEntryID)
			}
		}
		for _, w := range sh.did.Waiters {
			b.Queue(sqlWaitlistBuyersSave, sh.id, w.EntryID, org, w.CustomerID, w.Buyer.Name, w.Buyer.Email, textOrNil(w.Buyer.Phone), textOrNil(w.Buyer.Locale))
		}
		if l := sh.did.Look; l != nil {
			b.Queue(sqlWaitlistLooksSave, sh.id, org, l.At, l.Categories, l.Found, l.Remaining)
		}
	}
	if len(ids) > 0 {
		b.Queue(sqlWaitlistSave, shows, ids, orgs, customers, nos, sizes, categories, statuses, joined, offered, reservations, closed)
	}
}

// tellWaitlist tells whoever counts what became of entries.
func (t *laneTx) tellWaitlist() {
	o := t.w.s.cfg.Observer
	if o == nil {
		return
	}
	for _, sh := range t.shows {
		for _, e := range sh.did.Entries {
			o.Waitlist(e.Status)
		}
	}
}

// joining notes a customer who wants to wait.
func (sh *laneShow) joining(customer string) {
	if !slices.Contains(sh.joins, customer) {
		sh.joins = append(sh.joins, customer)
	}
	sh.limit(customer)
}
