package checkout_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/sandbox"
	"github.com/rowlock/rowlock/internal/store"
)

func mails(s *setup) { s.mails = true }

// post fails the test unless just so many mails of each kind were written.
func (h *house) posted(want map[string]int) {
	h.t.Helper()
	for _, kind := range []string{boxoffice.MailConfirmation, boxoffice.MailExpiry, boxoffice.MailCancellation, boxoffice.MailRefund, boxoffice.MailReminder, boxoffice.MailOffer} {
		queued := read[int](h, `select count(*)::int from river_job where kind = 'mail_send' and args->>'mail' = $1`, kind)
		if files := h.sent(kind); len(files) != want[kind] || queued != want[kind] {
			h.t.Errorf("%s: %d mails written, %d on the queue, not %d", kind, len(files), queued, want[kind])
		}
	}
}

func TestABookingIsConfirmedAndCancelledByOneMailEach(t *testing.T) {
	t.Parallel()
	h := open(t, mails, policy(0, 100))
	v := h.bought("ada", sandbox.TokenStorm, 0, 1)
	h.rest()
	h.posted(map[string]int{"confirmation": 1})
	if letter := h.letter(h.sent("confirmation")[0]); !strings.Contains(letter, "ada@example.org") || !strings.Contains(letter, v.Reference) {
		t.Error("the letter is to somebody else, or about something else")
	}
	for range 2 {
		if _, err := h.cancel("ada", v.ID); err != nil {
			t.Fatal(err)
		}
	}
	h.rest()
	h.posted(map[string]int{"confirmation": 1, "cancellation": 1})
}

func TestEachCancellationOfAPartHasItsMail(t *testing.T) {
	t.Parallel()
	h := open(t, mails, policy(0, 100))
	v := h.bought("ada", sandbox.TokenOK, 0, 1, 2)
	h.rest()
	for _, ticket := range v.Tickets {
		if _, err := h.cancel("ada", v.ID, ticket.ID); err != nil {
			t.Fatal(err)
		}
	}
	h.rest()
	h.posted(map[string]int{"confirmation": 1, "cancellation": 3})
}

// As if both had been decided at one instant, in one batch.
func TestOfTwoCancellationsAtOnceEachMailTellsItsOwn(t *testing.T) {
	t.Parallel()
	h := open(t, mails, policy(0, 50))
	v := h.bought("ada", sandbox.TokenOK, 0, 1, 2, 8)
	h.rest()
	for _, tickets := range [][]uuid.UUID{{v.Tickets[0].ID}, {v.Tickets[1].ID, v.Tickets[3].ID}} {
		if _, err := h.cancel("ada", v.ID, tickets...); err != nil {
			t.Fatal(err)
		}
	}
	h.exec(`with t as (update tickets set void_at = (select max(void_at) from tickets) where status = 'void')
		update refunds set created_at = (select max(void_at) from tickets)`)
	h.rest()
	letters := h.sent("cancellation")
	if len(letters) != 2 {
		t.Fatal(letters)
	}
	const one, two = "20.00", "32.50"
	for i, want := range []string{one, two} {
		letter := h.letter(letters[i])
		for _, seat := range []int{0, 1, 2, 8} {
			if told := strings.Contains(letter, h.Seats[seat].Label); told != (i == 0 && seat == 0 || i == 1 && (seat == 1 || seat == 8)) {
				t.Errorf("letter %d tells of %s: %v", i, h.Seats[seat].Label, told)
			}
		}
		if !strings.Contains(letter, want) {
			t.Errorf("letter %d says nothing of %s:\n%s", i, want, letter)
		}
	}
}

func TestAHoldThatEndsUnpaidIsToldOnce(t *testing.T) {
	t.Parallel()
	h := open(t, mails)
	r := h.hold("ada", 0)
	_, err := h.book(r, sandbox.TokenDeclined)
	refused(t, err, boxoffice.CodePaymentDeclined)
	h.hold("bob", 1) // nobody has begun to pay: nobody is known
	h.endHolds(h.ID)
	h.works()
	h.until("the holds are closed", func() bool {
		return read[int](h, `select count(*)::int from reservations where status = 'expired'`) == 2
	})
	h.rest()
	h.posted(map[string]int{"expiry": 1})
}

func TestMoneyThatGoesBackIsToldOnce(t *testing.T) {
	t.Parallel()
	h := open(t, mails)
	v := h.bought("ada", sandbox.TokenOK, 0)
	if _, _, _, err := h.store.GiveBack(h.ctx, fixture.Staff, new(fixture.Key()), v.ID, store.GiveBackRequest{AmountMinor: 500}); err != nil {
		t.Fatal(err)
	}
	// And somebody else's came too late.
	res, err := h.book(h.hold("bob", 1), sandbox.TokenAsync)
	if err != nil {
		t.Fatal(err)
	}
	h.endHolds(h.ID)
	h.hold("eve", 1)
	h.settle(res.Booking.Payment().ID)
	h.rest()
	h.is(res.Booking.ID, boxoffice.BookingFailed)
	h.posted(map[string]int{"confirmation": 1, "refund": 2})
}

func TestReminderOnceAShow(t *testing.T) {
	t.Parallel()
	h := open(t, mails, edited(func(n *store.NewShow) { n.StartsAt = time.Now().Add(23 * time.Hour) }))
	h.bought("ada", sandbox.TokenOK, 0)
	cancelled := h.bought("eve", sandbox.TokenOK, 1)
	if _, err := h.out.Cancel(h.ctx, fixture.Staff, new(fixture.Key()), cancelled.ID, store.CancelRequest{Override: true, Reason: boxoffice.ReasonStaff}); err != nil {
		t.Fatal(err)
	}
	h.works() // which looks for shows that are near at once
	reminded := func() int {
		return read[int](h, `select count(*)::int from river_job where kind = 'buyers_remind' and state = 'completed'`)
	}
	h.until("the buyers are reminded", func() bool { return reminded() == 1 })
	h.rest()
	// Again, in another process.
	if shows, err := h.store.RemindBuyers(h.ctx, 24*time.Hour, 10); err != nil || shows != 0 {
		t.Error(shows, "shows", err)
	}
	h.rest()
	if n := len(h.sent("reminder")); n != 1 {
		t.Error(n, "reminders")
	}
	if n := read[int](h, `select count(*)::int from river_job where kind = 'mail_send' and args->>'mail' = 'reminder'`); n != 1 {
		t.Error(n, "reminders on the queue")
	}
	// The show is moved, and who was told of the old day hears of the new one.
	startsAt := time.Now().Add(22 * time.Hour)
	if _, err := h.store.AmendShow(h.ctx, fixture.Staff, new(fixture.Key()), boxoffice.DefaultOrganisationID, h.ID, store.ShowAmendment{StartsAt: &startsAt}); err != nil {
		t.Fatal(err)
	}
	if shows, err := h.store.RemindBuyers(h.ctx, 24*time.Hour, 10); err != nil || shows != 1 {
		t.Error(shows, "shows", err)
	}
}

func TestNobodyIsToldWhoseDataAreEmptied(t *testing.T) {
	t.Parallel()
	h := open(t, mails, policy(0, 100))
	v := h.bought("ada", sandbox.TokenOK, 0)
	rows, _, err := h.store.ForgetPeople(h.ctx, fixture.Key(), boxoffice.DefaultOrganisationID, "ada")
	if err != nil || rows != 1 {
		t.Fatal(rows, err)
	}
	if _, err := h.cancel("ada", v.ID); err != nil {
		t.Fatal(err)
	}
	h.rest()
	for _, kind := range []string{"confirmation", "cancellation"} {
		if n := len(h.sent(kind)); n != 0 {
			t.Error(n, kind)
		}
	}
	if n := read[int](h, `select count(*)::int from river_job where kind = 'mail_send' and state = 'completed'`); n != 2 {
		t.Error(n, "jobs have found nobody to tell")
	}
	if v := h.is(v.ID, boxoffice.BookingCancelled); v.Buyer != nil {
		t.Error("the buyer is still known")
	}
}
