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
	ShowPublished        ChangeType = "show.published"
	ShowPausedChange     ChangeType = "show.paused"
	ShowResumed          ChangeType = "show.resumed"
	ShowCancelledChange  ChangeType = "show.cancelled"
	ShowChanged          ChangeType = "show.changed"
)

// Reason says why something happened.
type Reason string

// The reasons.
const (
	ReasonBuyer   Reason = "buyer"
	ReasonStaff   Reason = "staff"
	ReasonExpired Reason = "expired" // closed by its own job or by the next buyer
	ReasonSwept   Reason = "swept"   // closed by the periodic sweep: its job did not run
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
	Before, After string    // statuses
	ExpiresAt     time.Time // zero: none
	SeatNos       []int32   // seats whose state changed, or whose hold's end did
	SeatStates    []byte    // their state after, in step
	AreaNos       []int32
	AreaUnits     []int32 // taken positive, given back negative
	Detail        string  // for people
}
