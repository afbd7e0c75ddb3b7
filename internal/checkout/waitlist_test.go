package checkout_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/sandbox"
	"github.com/rowlock/rowlock/internal/store"
)

func (h *house) waits(name string, party int) *store.WaitlistView {
	h.t.Helper()
	v, _, err := h.store.JoinWaitlist(h.ctx, buyer(name), new(fixture.Key()), store.JoinRequest{
		ShowID: h.ID, CustomerID: name, PartySize: party, Buyer: who(name),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return v
}

func (h *house) entry(v *store.WaitlistView) *store.WaitlistView {
	h.t.Helper()
	now, err := h.store.ReadWaitlistEntry(h.ctx, uuid.Nil, "", v.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	return now
}

// What a cancellation gives back is offered by mail to who waited longest, and
// when they let it go, to the next: once each. Who was forgotten, or had let it
// go by then, is not written to.
func TestAnOfferIsMailedToEachWhoIsAsked(t *testing.T) {
	t.Parallel()
	h := open(t, mails, policy(0, 100), func(s *setup) { s.show.Seats = 2 })
	v := h.bought("ada", sandbox.TokenOK, 0, 1)
	first, forgotten, last := h.waits("bob", 2), h.waits("cyd", 2), h.waits("dan", 2)
	if _, _, err := h.store.ForgetPeople(h.ctx, fixture.Key(), boxoffice.DefaultOrganisationID, "cyd"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.cancel("ada", v.ID); err != nil {
		t.Fatal(err)
	}
	h.works()
	h.until("the first is asked by mail", func() bool { return len(h.sent("offer")) == 1 })
	letter := h.letter(h.sent("offer")[0])
	for _, want := range []string{"bob@example.org", h.Seats[0].Label, h.Seats[1].Label, "Places for you"} {
		if !strings.Contains(letter, want) {
			t.Errorf("the letter lacks %s:\n%s", want, letter)
		}
	}
	for _, e := range []*store.WaitlistView{first, forgotten} {
		now := h.entry(e)
		if now.Status != boxoffice.WaitlistOffered {
			t.Fatalf("%s is %s", now.CustomerID, now.Status)
		}
		if _, _, err := h.store.ReleaseReservation(h.ctx, buyer(now.CustomerID), new(fixture.Key()), now.ReservationID); err != nil {
			t.Fatal(err)
		}
	}
	h.until("the last is asked by mail", func() bool { return len(h.sent("offer")) == 2 })
	now := h.entry(last)
	hold, err := h.store.ReadReservation(h.ctx, uuid.Nil, "dan", now.ReservationID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.book(hold, sandbox.TokenOK); err != nil {
		t.Fatal(err)
	}
	h.rest()
	if status := h.entry(last).Status; status != boxoffice.WaitlistAccepted {
		t.Errorf("who bought is %s", status)
	}
	if files := h.sent("offer"); len(files) != 2 {
		t.Errorf("mails: %v", files)
	}
}
