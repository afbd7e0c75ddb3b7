package checkout_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/sandbox"
	"github.com/rowlock/rowlock/internal/store"
)

// Amounts that do not divide: two seats of one price, one of another.
func priced(currency string, front, back int64) func(*setup) {
	return edited(func(n *store.NewShow) {
		n.Currency = currency
		for i := range n.Prices {
			n.Prices[i].AmountMinor = map[string]int64{"Front": front, "Back": back}[n.Prices[i].Category]
		}
	})
}

func TestSumsAreExactInEveryCurrency(t *testing.T) {
	t.Parallel()
	for currency, prices := range map[string][2]int64{
		"JPY": {3333, 1001}, // no decimals
		"EUR": {4999, 2501},
		"KWD": {12_345, 7}, // three decimals
	} {
		for _, percent := range []int{0, 33, 50, 67, 100} {
			t.Run(fmt.Sprint(currency, " ", percent, " percent"), func(t *testing.T) {
				t.Parallel()
				h := open(t, policy(0, percent), priced(currency, prices[0], prices[1]))
				total := 2*prices[0] + prices[1]
				r := h.hold("a", 0, 1, 9)
				res, err := h.book(r, sandbox.TokenOK)
				if err != nil {
					t.Fatal(err)
				}
				v := h.booking(res.Booking.ID)
				for what, got := range map[string]int64{
					"the hold": r.TotalMinor, "the booking": res.Booking.TotalMinor, "the booking, read again,": v.TotalMinor,
					"the payment": v.Payment().AmountMinor, "the gateway": h.at(v.AppliedID).Amount,
				} {
					if got != total {
						t.Errorf("%s is of %d, not %d", what, got, total)
					}
				}
				if got := h.at(v.AppliedID).Currency; got != currency || v.Currency != currency {
					t.Errorf("in %s and %s", got, v.Currency)
				}

				// One ticket of two, then the others.
				first, others := share(prices[0], percent), share(prices[0]+prices[1], percent)
				refunds := 0
				for i, sum := range []int64{first, others} {
					ids := []uuid.UUID{v.Tickets[0].ID}
					if i == 1 {
						ids = nil
					}
					done, err := h.cancel("a", v.ID, ids...)
					if err != nil {
						t.Fatal(err)
					}
					if sum > 0 {
						refunds++
					}
					if n := len(done.Refunds); i == 0 && (n != refunds || n == 1 && done.Refunds[0].AmountMinor != sum) {
						t.Errorf("%d refunds of one ticket: %+v", n, done.Refunds)
					}
				}
				h.rest()
				v = h.is(v.ID, boxoffice.BookingCancelled)
				h.givenBack(v.ID, refunds, first+others)
				for _, f := range v.Refunds {
					var sum int64
					for _, amount := range f.TicketAmount {
						sum += amount
					}
					if sum != f.AmountMinor || f.Currency != currency {
						t.Errorf("the tickets' parts of %d %s add up to %d", f.AmountMinor, f.Currency, sum)
					}
				}
				for _, re := range h.gateway.Ledger().Refunds {
					if re.Currency != currency {
						t.Errorf("given back in %s", re.Currency)
					}
				}
			})
		}
	}
}

// share is so many percent of an amount, rounded half up: by a way of its own.
func share(amount int64, percent int) int64 {
	whole, rest := amount/100, amount%100
	part := rest * int64(percent)
	sum := whole*int64(percent) + part/100
	if part%100 >= 50 {
		sum++
	}
	return sum
}

func TestAThirdOfEachTicketIsGivenBackToTheUnit(t *testing.T) {
	t.Parallel()
	for _, currency := range []string{"JPY", "EUR", "KWD"} {
		t.Run(currency, func(t *testing.T) {
			t.Parallel()
			h := open(t, priced(currency, 1000, 1000))
			v := h.bought("a", sandbox.TokenOK, 0, 1, 2)
			for i := range 3 { // 1000, three times, over three tickets of 1000
				if _, _, _, err := h.store.GiveBack(h.ctx, fixture.Staff, new(fixture.Key()), v.ID, store.GiveBackRequest{AmountMinor: 1000}); err != nil {
					t.Fatal(i, err)
				}
				for _, ticket := range h.booking(v.ID).Tickets {
					// A third of each more, and no more than a unit off.
					if off := ticket.RefundedMinor*3 - int64(i+1)*1000; off < -3 || off > 3 {
						t.Errorf("after %d of 3 a ticket got %d", i+1, ticket.RefundedMinor)
					}
				}
			}
			h.rest()
			h.givenBack(v.ID, 3, 3000)
		})
	}
}
