package store

import (
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/sql/queries"
)

var (
	sqlQueueAdmissionsLoad = queries.Must("queue_admissions_load")
	sqlQueueAdmissionsUse  = queries.Must("queue_admissions_use")
)

// loadAdmissions queues the turns that holds need. A show without an open
// waiting room has none, and pays nothing.
func (t *laneTx) loadAdmissions(b *pgx.Batch) {
	var shows []uuid.UUID
	var numbers []int64
	for _, sh := range t.shows {
		for _, n := range sh.turns {
			shows, numbers = append(shows, sh.id), append(numbers, n)
		}
	}
	if len(numbers) == 0 {
		return
	}
	b.Queue(sqlQueueAdmissionsLoad, shows, numbers).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var show uuid.UUID
			a := &boxoffice.Admission{}
			var session, returning, closed *time.Time
			var reservation *uuid.UUID
			if err := rows.Scan(&show, &a.Number, &a.EntryID, &a.CustomerID, &a.Position, &a.Turn, &a.AdmittedAt, &a.LapsesAt, &session,
				&reservation, &returning, &a.PassedOn, &closed); err != nil {
				return err
			}
			a.SessionEndsAt, a.ReservationID = orZero(session), orZero(reservation)
			a.ReturningAt, a.ClosedAt = orZero(returning), orZero(closed)
			sh := t.show(show)
			if sh.state.Admissions == nil {
				sh.state.Admissions = map[int64]*boxoffice.Admission{}
			}
			if sh.state.Admissions[a.Number] == nil {
				sh.state.Admissions[a.Number] = a // else two commands of the batch show the same token
			}
			if a.ReservationID != uuid.Nil {
				sh.overdue[a.ReservationID] = true // loaded like a holder that stands in the way
			}
		}
		return rows.Err()
	})
}

// saveAdmissions writes the turns that were used.
func (t *laneTx) saveAdmissions(out *stream) {
	var shows, orgs, entries, reservations []uuid.UUID
	var numbers, positions []int64
	var customers []string
	var admitted, lapses []time.Time
	var sessions []pgtype.Timestamptz
	for _, sh := range t.shows {
		for _, a := range sh.did.Admissions {
			shows, orgs, entries = append(shows, sh.id), append(orgs, sh.state.Terms.OrganisationID), append(entries, a.EntryID)
			numbers, positions, customers = append(numbers, a.Number), append(positions, a.Position), append(customers, a.CustomerID)
			admitted, lapses = append(admitted, a.AdmittedAt), append(lapses, a.LapsesAt)
			sessions, reservations = append(sessions, instant(a.SessionEndsAt)), append(reservations, a.ReservationID)
		}
	}
	if len(numbers) > 0 {
		out.queue(sqlQueueAdmissionsUse, shows, orgs, numbers, entries, customers, positions, admitted, lapses, sessions, reservations)
	}
}
