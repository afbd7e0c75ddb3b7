package boxoffice

import (
	"slices"
	"sync"

	"github.com/google/uuid"
)

// saveWaitlist keeps the entries of the waitlist, and refuses what the schema
// refuses.
func (d *database) saveWaitlist(did *Changes, fail func(string, ...any)) {
	for _, e := range did.Entries {
		old, ok := d.waitlist[e.ID]
		if ok && old.Status != e.Status && old.Status != WaitlistWaiting &&
			!(old.Status == WaitlistOffered && slices.Contains([]WaitlistStatus{WaitlistAccepted, WaitlistDeclined, WaitlistLapsed}, e.Status)) &&
			!(old.Status == WaitlistLapsed && e.Status == WaitlistAccepted) {
			fail("entry %s came back from %s as %s", nameOf(e.ID), old.Status, e.Status)
		}
		if (e.Status == WaitlistWaiting || e.Status == WaitlistOffered) != e.ClosedAt.IsZero() || (e.ReservationID == uuid.Nil) != e.OfferedAt.IsZero() {
			fail("entry %s is %s: %+v", nameOf(e.ID), e.Status, e)
		}
		for _, other := range d.waitlist {
			live := other.Status == WaitlistWaiting || other.Status == WaitlistOffered
			if live && other.ID != e.ID && other.CustomerID == e.CustomerID && e.ClosedAt.IsZero() {
				fail("%s waits twice", e.CustomerID)
			}
		}
		row := *e
		row.dirty = false
		d.waitlist[e.ID] = row
	}
	for _, w := range did.Waiters {
		d.waiters[w.EntryID] = w
	}
	if did.Look != nil {
		d.look = did.Look
	}
}

// checkWaitlist holds entries against their offers.
func (d *database) checkWaitlist(did *Changes) {
	d.t.Helper()
	waiting, offers := 0, map[uuid.UUID]bool{}
	for _, e := range d.waitlist {
		if e.Status == WaitlistWaiting {
			waiting++
		}
		if e.ReservationID == uuid.Nil {
			continue
		}
		offers[e.ReservationID] = true
		r := d.reservations[e.ReservationID]
		want := map[ReservationStatus]WaitlistStatus{
			ReservationActive: WaitlistOffered, ReservationConsumed: WaitlistAccepted, ReservationReleased: WaitlistDeclined, ReservationExpired: WaitlistLapsed,
		}[r.Status]
		if e.Status != want || r.WaitlistEntryID != e.ID || r.CustomerID != e.CustomerID {
			d.t.Fatalf("entry %s of %s is %s, its offer %s of %s %s", nameOf(e.ID), e.CustomerID, e.Status, nameOf(r.ID), r.CustomerID, r.Status)
		}
	}
	for _, r := range d.reservations {
		if r.WaitlistEntryID != uuid.Nil && !offers[r.ID] {
			d.t.Fatalf("%s is nobody's offer", nameOf(r.ID))
		}
	}
	if did.Waiting != waiting {
		d.t.Fatalf("%d wait, the show says %d", waiting, did.Waiting)
	}
}

// offers are the reservations that entries are offered, by name: that of w501
// is r501, so that what follows from it has the names it always has.
var offers sync.Map

func nameOffer(entry string) {
	name, u := "r"+entry[1:], DerivedID(id(entry), "offer")
	offers.Store(name, u)
	derived.Store(u, name)
}
