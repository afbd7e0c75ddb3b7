package mail

import "time"

// Kind is what a mail is about. It is part of template names and message IDs.
type Kind string

// The kinds.
const (
	Confirmation Kind = "confirmation" // booked: the tickets
	Expiry       Kind = "expiry"       // the hold ended before it was paid; with a refund when money came too late
	Cancellation Kind = "cancellation" // places of a booking, or all, were cancelled
	Refund       Kind = "refund"       // money is on its way back
	Reminder     Kind = "reminder"     // the show is near
	Offer        Kind = "offer"        // places are held for somebody who waited
)

// Kinds are all of them.
var Kinds = []Kind{Confirmation, Expiry, Cancellation, Refund, Reminder, Offer}

// Notice is what a mail tells. Texts are as somebody typed them; Render makes
// them safe. Empty ones are left out.
type Notice struct {
	Kind   Kind
	Locale string // BCP 47, or as in Accept-Language; unknown or empty: English
	Shop   string // who sells

	BuyerName string
	Reference string // the booking's

	Event    string // its title
	Venue    string
	Hall     string
	StartsAt time.Time // zero: a stock without a time
	TimeZone string    // IANA name of the venue's zone; unknown: UTC

	Items []Item // what the mail is about: of a cancellation, what was cancelled

	Currency    string // ISO 4217
	TotalMinor  int64  // what all items cost, in the currency's minor unit
	RefundMinor int64  // what goes back; 0: nothing

	// ShowCancelled says that it was the show that was cancelled, not the booking.
	ShowCancelled bool

	Until time.Time // of an offer: when it ends

	BookingURL string // where the booking is seen
	OfferURL   string // where the offer is bought; only in an offer
	TicketsURL string // where the tickets are; only in a confirmation or reminder
}

// Item is one place.
type Item struct {
	Label      string // Stalls-D-1, or the area's name
	TicketType string
	PriceMinor int64
}
