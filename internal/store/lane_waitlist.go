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
	sqlWaitlistSorts       = queries.Must("waitlist_sorts")
	sqlWaitlistFree        = queries.Must("waitlist_free")
	sqlWaitlistNext        = queries.Must("waitlist_next")
	sqlWaitlistNamed       = queries.Must("waitlist_named")
	sqlWaitlistOfCustomers = queries.Must("waitlist_of_customers")
	sqlWaitlistSave        = queries.Must("waitlist_save")
	sqlWaitlistMark        = queries.Must("waitlist_mark")
	sqlWaitlistCount       = queries.Must("waitlist_count")
	sqlWaitlistBuyersSave  = queries.Must("waitlist_buyers_save")
	sqlWaitlistLooksSave   = queries.Must("waitlist_looks_save")
)

// waitlistDue is how many overdue holds a batch looks at whose places the
// waitlist may have: as many as one [boxoffice.ExpireReservations] closes.
const waitlistDue = 500

// waitlistFree is how many free seats of a run of a category's seats a batch
// reads, and locks, beside those that it frees itself. Who waits could not be
// served by what was free before, so of their category there were fewer than
// their party: more are free only of what somebody waits for who may not have
// it, and to lock the whole hall for them would stop the sale.
const waitlistFree = 1000

// The steps of loading what the waitlist needs.
const (
	waitlistUnread = iota // nothing is here but the show's head
	waitlistUnsure        // what the commands are about is here, or being read
	waitlistSorts         // what sorts of parties wait is being read; what is free comes next
	waitlistPlaces        // what is free is being read; who waits comes next
	waitlistLoaded        // or not needed
)

// waitlistSort are the parties that are alike to the rules: of one size, with
// the same wishes.
type waitlistSort struct {
	party      int32
	categories []string // none: any
}

// loadWaitlist queues the entries that a batch is about. Where the batch may
// free places, or time has freed some, it also queues step by step what sorts
// of parties wait, what is free of what they wait for, and then, when it is
// known how much that is at most, who comes next.
func (t *laneTx) loadWaitlist(b *pgx.Batch) {
	t.loadEntries(b)
	more := b.Len() > 0 // who comes next is read when all that may become free is here
	for _, sh := range t.shows {
		if sh.state.Terms == nil {
			continue
		}
		switch sh.step {
		case waitlistUnread, waitlistUnsure:
			switch {
			case sh.serves():
				sh.state.Offering, sh.step = true, waitlistSorts
				if sh.waiting > 0 {
					b.Queue(sqlWaitlistSorts, sh.id).Query(sh.scanSorts)
				}
			case sh.step == waitlistUnread:
				sh.step = waitlistUnsure
			default:
				sh.step = waitlistLoaded
			}
		case waitlistSorts:
			sh.step = waitlistPlaces
			t.loadFree(b, sh)
		case waitlistPlaces:
			if !more {
				sh.step = waitlistLoaded
				t.loadNext(b, sh)
			}
		}
	}
	t.loadWaiters(b)
}

// serves says whether the waitlist goes first in this batch, as far as can be
// told by what has been read.
func (sh *laneShow) serves() bool {
	terms, now := sh.state.Terms, sh.state.Now
	switch {
	case sh.waiting == 0 && sh.joins == nil, terms.OnSale(now) != nil && !sh.redefines:
		return false
	case sh.frees || sh.joins != nil:
		return true
	}
	// The sale has begun by itself since anything was decided here.
	if s := terms.SalesStartAt; s != nil && sh.changed.Before(*s) {
		return true
	}
	for _, r := range sh.state.Reservations {
		if r.Overdue(now) {
			return true
		}
	}
	return false
}

// loadEntries queues the entries that are named, and those of offers.
func (t *laneTx) loadEntries(b *pgx.Batch) {
	var shows, entries []uuid.UUID
	for _, sh := range t.shows {
		for _, r := range sh.state.Reservations {
			if r.WaitlistEntryID != uuid.Nil {
				sh.entry(r.WaitlistEntryID)
			}
		}
		if len(sh.entries) == 0 {
			continue
		}
		for _, id := range slices.SortedFunc(maps.Keys(sh.entries), compareIDs) {
			if sh.entries[id] {
				sh.entries[id] = false
				shows, entries = append(shows, sh.id), append(entries, id)
			}
		}
	}
	if len(entries) > 0 {
		b.Queue(sqlWaitlistNamed, shows, entries).Query(t.scanEntries)
	}
}

// entry asks for an entry, unless that was done.
func (sh *laneShow) entry(id uuid.UUID) {
	if _, known := sh.entries[id]; known {
		return
	}
	if sh.entries == nil {
		sh.entries = map[uuid.UUID]bool{}
	}
	sh.entries[id] = true
}

// loadFree queues what is free of what anybody waits for, and what those who
// join have already.
func (t *laneTx) loadFree(b *pgx.Batch, sh *laneShow) {
	if first, last := sh.wanted(); !sh.all && first != nil {
		limit := int32(waitlistFree)
		if sh.redefines {
			limit = math.MaxInt32 // much may be free, and nobody could be served till now
		}
		b.Queue(sqlWaitlistFree, sh.id, first, last, limit).Query(t.scanFree)
	}
	b.Queue(sqlReservationsDue, []uuid.UUID{sh.id}, []time.Time{sh.state.Now}, []int32{waitlistDue}).Query(t.scanMissing)
	customers := slices.Clone(sh.joins)
	if sh.limits && sh.waiting > 0 {
		// Who gives places back in this batch may have others.
		for _, r := range sh.state.Reservations {
			customers = append(customers, r.CustomerID)
		}
	}
	if len(customers) > 0 {
		b.Queue(sqlWaitlistOfCustomers, repeat(sh.id, len(customers)), customers).Query(t.scanEntries)
	}
}

// wanted are the seats that who waits or joins would take, as runs of numbers.
func (sh *laneShow) wanted() (first, last []int32) {
	plan := sh.state.Terms.Plan
	if plan == nil {
		return nil, nil
	}
	wishes := make([][]string, 0, len(sh.sorts))
	for _, s := range sh.sorts {
		wishes = append(wishes, s.categories)
	}
	for _, c := range sh.calls {
		if join, ok := c.Command.Do.(*boxoffice.JoinWaitlist); ok {
			wishes = append(wishes, join.Categories)
		}
	}
	for _, c := range plan.Categories {
		if slices.ContainsFunc(wishes, func(wish []string) bool { return len(wish) == 0 || slices.Contains(wish, c.Name) }) {
			for _, run := range plan.Offered(c.Name) {
				first, last = append(first, run.First), append(last, run.Last)
			}
		}
	}
	return first, last
}

// loadNext queues who comes next: of each sort as many as could be served.
// Entries of one sort are alike to the rules, so who is left out could not.
func (t *laneTx) loadNext(b *pgx.Batch, sh *laneShow) {
	most := sh.most()
	var parties, each []int32
	var categories []string
	for _, s := range sh.sorts {
		if s.party <= most {
			parties, categories = append(parties, s.party), append(categories, literal(s.categories, appendQuoted))
			// Who leaves in this batch may have been served by then.
			each = append(each, most/s.party+sh.leaves)
		}
	}
	if len(parties) > 0 {
		b.Queue(sqlWaitlistNext, sh.id, parties, categories, each, sh.perCustomer(), sh.state.Now).Query(t.scanEntries)
	}
}

// perCustomer is how many places one customer may have, at most, at any moment
// of this batch; 0: any number.
func (sh *laneShow) perCustomer() int {
	most := sh.state.Terms.MaxPlacesPerCustomer
	for _, c := range sh.calls {
		if do, ok := c.Command.Do.(*boxoffice.AmendShow); ok && do.MaxPlacesPerCustomer != nil && most > 0 {
			most = max(most, *do.MaxPlacesPerCustomer)
			if *do.MaxPlacesPerCustomer == 0 {
				return 0
			}
		}
	}
	return most
}

func (sh *laneShow) scanSorts(rows pgx.Rows) error {
	for rows.Next() {
		var s waitlistSort
		if err := rows.Scan(&s.party, &s.categories); err != nil {
			return err
		}
		sh.sorts = append(sh.sorts, s)
	}
	return rows.Err()
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

// most is how many places can be free after the batch: what is free now, what
// belongs to anybody it is about, and what a larger capacity or another plan
// brings.
func (sh *laneShow) most() int32 {
	n := 0
	for _, s := range sh.state.Seats {
		if s.State == 'a' || s.State == 'x' {
			n++ // those that are blocked may not be for long
		}
	}
	for _, a := range sh.state.Areas {
		n += max(0, a.Capacity-a.Held-a.Booked)
	}
	for _, r := range sh.state.Reservations {
		if r.Status == boxoffice.ReservationActive || r.Status == boxoffice.ReservationConsumed {
			n += r.Places()
		}
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
		if sh.state.Waitlist == nil {
			sh.state.Waitlist = map[uuid.UUID]*boxoffice.WaitlistEntry{}
		}
		sh.state.Waitlist[e.ID] = e
		sh.entry(e.ID)
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
func (t *laneTx) saveWaitlist(out *stream) {
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
				out.queue(sqlWaitlistMark, sh.id, r.ID, r.WaitlistEntryID)
			}
		}
		for _, w := range sh.did.Waiters {
			out.queue(sqlWaitlistBuyersSave, sh.id, w.EntryID, org, w.CustomerID, w.Buyer.Name, w.Buyer.Email, textOrNil(w.Buyer.Phone), textOrNil(w.Buyer.Locale))
		}
		if sh.did.Waiting != sh.waiting {
			out.queue(sqlWaitlistCount, sh.id, sh.did.Waiting)
		}
		if l := sh.did.Look; l != nil {
			out.queue(sqlWaitlistLooksSave, sh.id, org, l.At, l.Categories, l.Found, l.Remaining)
		}
	}
	if len(ids) > 0 {
		out.queue(sqlWaitlistSave, shows, ids, orgs, customers, nos, sizes, categories, statuses, joined, offered, reservations, closed)
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
