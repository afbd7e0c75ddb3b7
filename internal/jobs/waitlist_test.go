package jobs

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/store"
)

// soldOut makes a show with one place that is held, and somebody who waits for
// it.
func (h *house) soldOut() (show uuid.UUID, entry *store.WaitlistView) {
	h.t.Helper()
	made := fixture.Show(h.t, h.store, fixture.Options{Floor: 1})
	h.hold(made.ID, made.Areas[0].ID, 900)
	entry, _, err := h.store.JoinWaitlist(h.ctx, boxoffice.Actor{CustomerID: "w", Name: "w"}, nil, store.JoinRequest{
		ShowID: made.ID, CustomerID: "w", PartySize: 1, Buyer: boxoffice.Buyer{Name: "W", Email: "w@example.org"},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return made.ID, entry
}

func (h *house) entry(id uuid.UUID) boxoffice.WaitlistStatus {
	h.t.Helper()
	v, err := h.store.ReadWaitlistEntry(h.ctx, uuid.Nil, "", id)
	if err != nil {
		h.t.Fatal(err)
	}
	return v.Status
}

func TestTheSweepServesWaitlists(t *testing.T) {
	t.Parallel()
	h := newHouse(t, false)
	show, entry := h.soldOut()
	w := &sweepWaitlists{store: h.store}
	if err := w.Work(h.ctx, nil); err != nil || h.entry(entry.ID) != boxoffice.WaitlistWaiting {
		t.Fatalf("nothing is free: %v, %s", err, h.entry(entry.ID))
	}
	h.overdue(show, time.Hour)
	if err := w.Work(h.ctx, nil); err != nil || h.entry(entry.ID) != boxoffice.WaitlistOffered {
		t.Errorf("a hold is over: %v, %s", err, h.entry(entry.ID))
	}
}

func TestATaskHasAWaitlistServed(t *testing.T) {
	t.Parallel()
	h := newHouse(t, false)
	show, entry := h.soldOut()
	h.overdue(show, time.Second) // the sweep of holds leaves that to its job
	scheduler, err := NewScheduler(slog.New(slog.DiscardHandler), true)
	if err != nil {
		t.Fatal(err)
	}
	if err := pgx.BeginFunc(h.ctx, h.super, func(tx pgx.Tx) error {
		return scheduler.Schedule(h.ctx, tx, nil, []store.Task{{ShowID: show, Task: boxoffice.Task{Kind: boxoffice.TaskOffer}}})
	}); err != nil {
		t.Fatal(err)
	}
	_, events, start := h.jobs(Config{})
	start()
	if e := h.next(events, OfferWaitlistArgs{}.Kind()); e.Kind != river.EventKindJobCompleted || h.entry(entry.ID) != boxoffice.WaitlistOffered {
		t.Errorf("%s, the entry is %s", e.Kind, h.entry(entry.ID))
	}
}
