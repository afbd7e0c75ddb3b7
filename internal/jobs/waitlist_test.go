package jobs

import (
	"testing"
	"time"

	"github.com/google/uuid"

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

func TestOffersAreMailedBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	priority := func(mail string) int {
		return jobOf(store.Task{Task: boxoffice.Task{Kind: boxoffice.TaskMail, Mail: mail}}).InsertOpts.Priority
	}
	for _, other := range []string{boxoffice.MailConfirmation, boxoffice.MailExpiry, boxoffice.MailCancellation, boxoffice.MailRefund, boxoffice.MailReminder} {
		if priority(boxoffice.MailOffer) >= priority(other) {
			t.Errorf("an offer waits behind mails of the kind %s", other)
		}
	}
}
