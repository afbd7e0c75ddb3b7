package boxoffice

import (
	"time"

	"github.com/google/uuid"
)

// ChangeType names what happened. One catalogue serves the change log, the
// webhooks and GET /changes.
type ChangeType string

// The types of change.
const (
	ReservationCreated   ChangeType = "reservation.created"
	ReservationChanged   ChangeType = "reservation.changed"
	ReservationExtended  ChangeType = "reservation.extended"
	ReservationExpire    ChangeType = "reservation.expired"
	ReservationCancelled ChangeType = "reservation.cancelled"
	PlaceBlocked         ChangeType = "place.blocked"
	PlaceUnblocked       ChangeType = "place.unblocked"
	ReservationConsume   ChangeType = "reservation.consumed"

	BookingCreated         ChangeType = "booking.created"
	BookingConfirmedChange ChangeType = "booking.confirmed"
	BookingFailedChange    ChangeType = "booking.failed"
	BookingExpiredChange   ChangeType = "booking.expired"
	BookingCancelledChange ChangeType = "booking.cancelled"
	PaymentCreated         ChangeType = "payment.created" // an attempt began
	PaymentSucceededChange ChangeType = "payment.succeeded"
	PaymentFailedChange    ChangeType = "payment.failed" // declined, or cancelled
	RefundCreated          ChangeType = "refund.created" // it is on its way
	RefundSucceededChange  ChangeType = "refund.succeeded"
	RefundFailedChange     ChangeType = "refund.failed"
	TicketIssued           ChangeType = "ticket.issued"
	TicketUsedChange       ChangeType = "ticket.used"
	TicketVoidChange       ChangeType = "ticket.void"

	WaitlistJoined     ChangeType = "waitlist.joined" // offers and what becomes of them are told of their reservations
	WaitlistLeftChange ChangeType = "waitlist.left"

	ShowPublished       ChangeType = "show.published"
	ShowPausedChange    ChangeType = "show.paused"
	ShowResumed         ChangeType = "show.resumed"
	ShowCancelledChange ChangeType = "show.cancelled"
	ShowChanged         ChangeType = "show.changed"
)

// Reason says why something happened.
type Reason string

// The reasons.
const (
	ReasonBuyer   Reason = "buyer"
	ReasonStaff   Reason = "staff"
	ReasonExpired Reason = "expired" // closed by its own job or by the next buyer
	ReasonSwept   Reason = "swept"   // closed by the periodic sweep: its job did not run

	ReasonPaymentFailed Reason = "payment_failed" // the time that paying took is taken back
	ReasonLatePayment   Reason = "late_payment"   // the money came after the hold's end
	ReasonShowCancelled Reason = "show_cancelled"
	ReasonGateway       Reason = "gateway"  // the payment gateway said so
	ReasonWaitlist      Reason = "waitlist" // offered to somebody who had waited for it
)

// Change is one entry of a show's log.
type Change struct {
	Version       int64 // the show's version that the command made
	N             int   // place within the version, from 0
	At            time.Time
	Type          ChangeType
	Actor         string
	Reason        Reason
	ReservationID uuid.UUID // zero: none
	BlockID       uuid.UUID // zero: none
	BookingID     uuid.UUID // zero: none
	PaymentID     uuid.UUID // zero: none
	RefundID      uuid.UUID // zero: none
	TicketIDs     []uuid.UUID
	AmountMinor   int64     // of the payment or refund
	Before, After string    // statuses
	ExpiresAt     time.Time // zero: none
	SeatNos       []int32   // seats whose state changed, or whose hold's end did
	SeatStates    []byte    // their state after, in step
	AreaNos       []int32
	AreaUnits     []int32 // held units: taken positive, given back negative
	AreaBooked    []int32 // booked units, likewise
	Detail        string  // for people
}
