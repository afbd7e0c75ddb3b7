package boxoffice

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Class says what kind of refusal a [Code] is. The API maps a class to an HTTP
// status, the jobs map it to retry, snooze or cancel.
type Class uint8

// The classes, in the order of the HTTP statuses they become.
const (
	ClassExcessive       Class = iota + 1 // more than a limit allows: 400
	ClassUnauthenticated                  // no or bad credentials: 401
	ClassDeclined                         // a payment was refused: 402
	ClassDenied                           // known, but not allowed: 403
	ClassNotFound                         // no such thing, or not yours: 404
	ClassMethod                           // the path knows other methods: 405
	ClassConflict                         // the state of things forbids it: 409
	ClassGone                             // it was, and is over: 410
	ClassPrecondition                     // If-Match did not match: 412
	ClassTooLarge                         // the body is over its limit: 413
	ClassMediaType                        // the body's type is not understood: 415
	ClassInvalid                          // malformed input: 422
	ClassThrottled                        // this caller asks too often: 429
	ClassInternal                         // a bug: 500
	ClassUnavailable                      // not now: 503
)

// Code is the stable name of a refusal, upper snake case. Codes are never
// renamed; each is declared once, in [Codes].
type Code string

// The codes. [Codes] says for each when it is given and what to do.
const (
	CodeValidation            Code = "VALIDATION_ERROR"
	CodeTooManySeats          Code = "TOO_MANY_SEATS"
	CodeUnauthenticated       Code = "UNAUTHENTICATED"
	CodeForbidden             Code = "FORBIDDEN"
	CodeNotFound              Code = "NOT_FOUND"
	CodeSeatNotFound          Code = "SEAT_NOT_FOUND"
	CodeSeatAlreadyReserved   Code = "SEAT_ALREADY_RESERVED"
	CodeInsufficient          Code = "INSUFFICIENT_INVENTORY"
	CodeKeyInUse              Code = "IDEMPOTENCY_KEY_IN_USE"
	CodeKeyReused             Code = "IDEMPOTENCY_KEY_REUSED"
	CodeReservationExpired    Code = "RESERVATION_EXPIRED"
	CodeReservationNotActive  Code = "RESERVATION_NOT_ACTIVE"
	CodeExtensionLimit        Code = "EXTENSION_LIMIT_REACHED"
	CodeCustomerLimit         Code = "CUSTOMER_LIMIT_REACHED"
	CodePaymentDeclined       Code = "PAYMENT_DECLINED"
	CodePaymentInProgress     Code = "PAYMENT_IN_PROGRESS"
	CodeBookingNotCancellable Code = "BOOKING_NOT_CANCELLABLE"
	CodeAlreadyRefunded       Code = "ALREADY_REFUNDED"
	CodeShowNotOnSale         Code = "SHOW_NOT_ON_SALE"
	CodeCapacityInUse         Code = "CAPACITY_IN_USE"
	CodePlanInUse             Code = "PLAN_IN_USE"
	CodePlacesAvailable       Code = "PLACES_AVAILABLE"
	CodeOnWaitlist            Code = "ALREADY_ON_WAITLIST"
	CodeConflict              Code = "CONFLICT"
	CodeQueueTokenRequired    Code = "QUEUE_TOKEN_REQUIRED"
	CodeQueueTokenExpired     Code = "QUEUE_TOKEN_EXPIRED"
	CodeQueueTokenInvalid     Code = "QUEUE_TOKEN_INVALID"
	CodeLockTimeout           Code = "LOCK_TIMEOUT"
	CodeOverloaded            Code = "OVERLOADED"
	CodeUnavailable           Code = "UNAVAILABLE"
	CodeRateLimited           Code = "RATE_LIMITED"
	CodePayloadTooLarge       Code = "PAYLOAD_TOO_LARGE"
	CodePreconditionFailed    Code = "PRECONDITION_FAILED"
	CodeMethodNotAllowed      Code = "METHOD_NOT_ALLOWED"
	CodeUnsupportedMediaType  Code = "UNSUPPORTED_MEDIA_TYPE"
	CodeInternal              Code = "INTERNAL"
)

// CodeInfo describes a code for people: docs/problems.md and the OpenAPI
// document are generated from it.
type CodeInfo struct {
	Code    Code
	Class   Class
	Title   string   // one line, the problem document's title
	When    string   // when it is given
	Client  string   // what a client does about it
	Members []string // problem document members beyond the standard ones
}

// Codes is the one catalogue of codes, in the order of the docs page.
var Codes = []CodeInfo{
	{CodeValidation, ClassInvalid, "The request is malformed", "A field, header or parameter is missing, malformed or unknown; the same seat is named twice; nothing is asked for; the JSON is broken.", "Fix the input; violations names each field.", []string{"violations"}},
	{CodeTooManySeats, ClassExcessive, "Too many places in one reservation", "The request asks for more places than the show's maxPlacesPerReservation.", "Ask for fewer places.", []string{"limit", "requested"}},
	{CodeUnauthenticated, ClassUnauthenticated, "Credentials are missing or not valid", "No credentials were sent where some are needed, or the token or key is unknown, expired or malformed.", "Send a valid bearer token or API key.", nil},
	{CodeForbidden, ClassDenied, "The credentials lack a scope", "The caller is known but lacks the scope that the operation needs.", "Use credentials with the scope that detail names.", nil},
	{CodeNotFound, ClassNotFound, "No such thing", "Nothing has this id, or it belongs to somebody else.", "Check the id.", nil},
	{CodeSeatNotFound, ClassNotFound, "Some seats are not in this show", "At least one named seat or area is not part of the show's plan.", "Refresh the seat map.", []string{"unknownSeats"}},
	{CodeSeatAlreadyReserved, ClassConflict, "At least one place is taken", "A wanted seat is held, booked or blocked.", "Refresh the seat map and choose other places.", []string{"unavailableSeatIds", "unavailableSeats", "areas", "ownReservationId"}},
	{CodeInsufficient, ClassConflict, "Not enough places left in an area", "Fewer units are left in an area than were asked for.", "Ask for fewer.", []string{"areas"}},
	{CodeKeyInUse, ClassConflict, "The first request with this Idempotency-Key is still running", "A request with the same key is being worked on, here or on another instance.", "Wait as Retry-After says and send the same request again.", nil},
	{CodeKeyReused, ClassInvalid, "The Idempotency-Key belongs to another request", "The key was used before for a request with another method, path or body.", "Make a new key.", nil},
	{CodeReservationExpired, ClassGone, "The hold is over", "expiresAt has been reached. With refund, the buyer had paid, too late for the places, and the money goes back.", "Start over with a new reservation.", []string{"expiredAt", "bookingId", "refund"}},
	{CodeReservationNotActive, ClassConflict, "The reservation is not active", "It was already cancelled, or consumed by a booking.", "Read the reservation.", []string{"reservationStatus", "bookingId"}},
	{CodeExtensionLimit, ClassConflict, "The hold cannot be extended further", "The hold already reaches as far as maxHoldSeconds allows.", "Pay now.", []string{"maxExpiresAt"}},
	{CodeCustomerLimit, ClassConflict, "The customer's limit for this show is reached", "The customer would have more places than maxPlacesPerCustomer.", "Ask for fewer places.", []string{"limit", "held"}},
	{CodePaymentDeclined, ClassDeclined, "The payment was declined", "The gateway said no. The hold goes back to its own end, expiresAt; the booking can be paid in another way until then.", "Offer another method, by POST /bookings/{bookingId}/pay.", []string{"declineCode", "bookingId", "paymentId", "expiresAt"}},
	{CodePaymentInProgress, ClassConflict, "A payment is under way", "An attempt to pay the booking has no outcome yet.", "Wait as Retry-After says and read the booking.", []string{"bookingId"}},
	{CodeBookingNotCancellable, ClassConflict, "The booking cannot be cancelled", "The show's terms do not allow it, or not any more; a ticket was used; or the booking was never confirmed.", "Tell the buyer; until says when it was still possible.", []string{"until"}},
	{CodeAlreadyRefunded, ClassConflict, "The money was given back before", "Nothing is left to give back.", "Read the booking's refunds.", nil},
	{CodeShowNotOnSale, ClassConflict, "The show is not on sale", "The show is a draft, paused, cancelled or ended, or it is outside its sale window.", "Show the reason; salesStartAt says when to come back.", []string{"reason", "salesStartAt"}},
	{CodeCapacityInUse, ClassConflict, "The capacity is in use", "The new capacity is lower than what is held and booked.", "Choose a capacity of at least inUse.", []string{"inUse"}},
	{CodePlanInUse, ClassConflict, "Seats in use would vanish", "The new plan lacks a seat that is held, booked or blocked.", "Keep those seats in the plan.", []string{"seats"}},
	{CodePlacesAvailable, ClassConflict, "The show is not sold out for this party", "Somebody wants to wait for places that are free.", "Hold them with POST /reservations.", []string{"available"}},
	{CodeOnWaitlist, ClassConflict, "The customer is on this waitlist already", "The customer has an entry of the show's waitlist that waits, or has an offer.", "Read the entry that waitlistEntryId names; to wait for something else, leave it first.", []string{"waitlistEntryId"}},
	{CodeConflict, ClassConflict, "The state of things forbids it", "Another thing has the same externalRef, or the show's state does not allow the change.", "detail says what stands in the way; of a waiting room that cannot be joined, reason does.", []string{"reason"}},
	{CodeQueueTokenRequired, ClassDenied, "The waiting room is open", "So many people want to buy that they take turns, and the request has no X-Queue-Token.", "Join the queue at queueUrl.", []string{"queueUrl"}},
	{CodeQueueTokenExpired, ClassDenied, "The turn is over", "The queue token was not used in time, or its session is over.", "Join the queue again, at queueUrl: who missed a turn may come back once.", []string{"queueUrl"}},
	{CodeQueueTokenInvalid, ClassDenied, "The queue token does not admit to this", "The queue token is another show's or customer's, or is used up: something is held or was bought with it.", "Send one's own token; give back what is held with it first; or join the queue again, at queueUrl.", []string{"queueUrl"}},
	{CodeLockTimeout, ClassUnavailable, "The show was busy for too long", "The show's lock was not had in time. Nothing was done.", "Retry with back-off.", nil},
	{CodeOverloaded, ClassUnavailable, "This instance sheds load", "More people want in than can be served now. Nothing was done.", "Retry with back-off, as Retry-After says.", nil},
	{CodeUnavailable, ClassUnavailable, "The database is away", "The database cannot be reached or is failing over. outcome says whether the request may have been carried out.", "Retry with the same Idempotency-Key.", []string{"outcome"}},
	{CodeRateLimited, ClassThrottled, "Too many requests", "The caller is over its rate limit.", "Wait as Retry-After says.", nil},
	{CodePayloadTooLarge, ClassTooLarge, "The body is too large", "The body is over the operation's limit: 1 MiB, plans 64 MiB.", "Send less.", nil},
	{CodePreconditionFailed, ClassPrecondition, "The thing has changed meanwhile", "If-Match does not name the current version.", "Read it again and repeat the change.", nil},
	{CodeMethodNotAllowed, ClassMethod, "The path does not know this method", "The path exists with other methods; Allow lists them.", "Use one of those.", nil},
	{CodeUnsupportedMediaType, ClassMediaType, "The body's type is not understood", "Content-Type is not one that the operation takes.", "Send application/json, or what the operation names.", nil},
	{CodeInternal, ClassInternal, "A bug", "Something unforeseen happened. Nothing leaks; the request id finds it in the log.", "Report the request id.", nil},
}

var codeInfo = func() map[Code]CodeInfo {
	m := make(map[Code]CodeInfo, len(Codes))
	for _, c := range Codes {
		m[c.Code] = c
	}
	return m
}()

// Info returns the description of c; for a code that is not in [Codes], that
// of INTERNAL.
func (c Code) Info() CodeInfo {
	if info, ok := codeInfo[c]; ok {
		return info
	}
	return codeInfo[CodeInternal]
}

// Violation is one malformed input: which, and what is wrong with it.
type Violation struct {
	Field   string `json:"field" doc:"Path of the field in the body, or the name of the header or parameter" example:"seats[0].label"`
	Message string `json:"message" doc:"What is wrong with it" example:"expected required property label to be present"`
}

// SeatRef names a seat that stands in the way and says why.
type SeatRef struct {
	SeatID uuid.UUID  `json:"seatId" doc:"The seat's id" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	Label  string     `json:"label" doc:"The seat's label" example:"Stalls-A-7"`
	Status SeatStatus `json:"status" enum:"available,held,booked,blocked" doc:"What it is now" example:"held"`
}

// AreaRef names an area that has fewer units left than were asked for.
type AreaRef struct {
	AreaID    uuid.UUID `json:"areaId" doc:"The area's id" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	Requested int       `json:"requested" minimum:"0" doc:"Units asked for" example:"4"`
	Available int       `json:"available" minimum:"0" doc:"Units left" example:"2"`
}

// RefundRef is money that goes back to a buyer.
type RefundRef struct {
	RefundID    uuid.UUID `json:"refundId" doc:"The refund" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	AmountMinor int64     `json:"amount" minimum:"1" doc:"How much, in the currency's minor unit" example:"9000"`
	Currency    string    `json:"currency" doc:"ISO 4217" example:"EUR"`
}

// Facts are the members of a problem document beyond the standard ones. Which
// of them a code carries is listed in [Codes].
type Facts struct {
	Violations         []Violation `json:"violations,omitempty" doc:"With VALIDATION_ERROR: every malformed input"`
	Limit              *int        `json:"limit,omitempty" doc:"The limit that would be passed" example:"5"`
	Requested          *int        `json:"requested,omitempty" doc:"Places asked for" example:"6"`
	Held               *int        `json:"held,omitempty" doc:"Places the customer has in this show already" example:"4"`
	UnknownSeats       []string    `json:"unknownSeats,omitempty" doc:"Seats and areas not in the show's plan, as sent" example:"[\"Z-99\"]"`
	UnavailableSeatIDs []uuid.UUID `json:"unavailableSeatIds,omitempty" doc:"Seats that stand in the way"`
	UnavailableSeats   []SeatRef   `json:"unavailableSeats,omitempty" doc:"The same, with label and status"`
	Areas              []AreaRef   `json:"areas,omitempty" doc:"Areas with too few units left"`
	OwnReservationID   *uuid.UUID  `json:"ownReservationId,omitempty" doc:"The caller's own active reservation that holds one of the seats" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	ExpiredAt          *time.Time  `json:"expiredAt,omitempty" doc:"When the hold ended" example:"2026-11-27T20:15:00.123456Z"`
	ReservationStatus  string      `json:"reservationStatus,omitempty" enum:"active,consumed,expired,cancelled" doc:"With RESERVATION_NOT_ACTIVE: what it is instead. (status is the HTTP status, by RFC 9457.)" example:"cancelled"`
	BookingID          *uuid.UUID  `json:"bookingId,omitempty" doc:"The booking that consumed the reservation" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	PaymentID          *uuid.UUID  `json:"paymentId,omitempty" doc:"The attempt that was declined" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d6e"`
	DeclineCode        string      `json:"declineCode,omitempty" doc:"Why, in the gateway's words" example:"insufficient_funds"`
	ExpiresAt          *time.Time  `json:"expiresAt,omitempty" doc:"When the hold ends" example:"2026-11-27T20:15:00.123456Z"`
	Until              *time.Time  `json:"until,omitempty" doc:"Until when the booking could be cancelled" example:"2026-11-26T20:00:00Z"`
	Refund             *RefundRef  `json:"refund,omitempty" doc:"Money that goes back"`
	MaxExpiresAt       *time.Time  `json:"maxExpiresAt,omitempty" doc:"The latest end this hold can have" example:"2026-11-27T20:30:00Z"`
	Reason             string      `json:"reason,omitempty" doc:"Why the show is not on sale: draft, paused, cancelled, ended, before_sales, after_sales; with CONFLICT, why its waiting room cannot be joined: closed (places can be held without it), sold_out, full" example:"before_sales"`
	SalesStartAt       *time.Time  `json:"salesStartAt,omitempty" doc:"When sales begin" example:"2026-12-01T10:00:00Z"`
	Available          *int        `json:"available,omitempty" doc:"With PLACES_AVAILABLE: places of the wanted categories that are free; in a large hall, at least so many" example:"3"`
	WaitlistEntryID    *uuid.UUID  `json:"waitlistEntryId,omitempty" doc:"The customer's entry of the waitlist" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d67"`
	InUse              *int        `json:"inUse,omitempty" doc:"Units held and booked" example:"40"`
	Seats              []SeatRef   `json:"seats,omitempty" doc:"Seats in use that would vanish"`
	QueueURL           string      `json:"queueUrl,omitempty" format:"uri-reference" doc:"With QUEUE_TOKEN_…: where to join the queue, by POST" example:"/api/v1/shows/0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60/queue"`
	Outcome            string      `json:"outcome,omitempty" enum:"none,unknown" doc:"With UNAVAILABLE: none: nothing was done; unknown: it may have been done, the same key tells" example:"none"`
}

// Error is a refusal with a code: the only kind of error whose text a client
// sees. Anything else is INTERNAL, logged whole and shown as nothing.
type Error struct {
	Code       Code
	Detail     string        // for people; says what to do
	RetryAfter time.Duration // 0: the code's default
	Facts      Facts
	Cause      error // for the log only

	// Refused places as the lane knows them; the store turns them into
	// Facts.UnavailableSeats and Facts.Areas, where ids and labels are known.
	SeatNos  []int32
	SeatNows []SeatStatus
	AreaNos  []AreaShort
}

// AreaShort is an area with too few units left, by its number.
type AreaShort struct {
	AreaNo    int32
	Requested int
	Available int
}

func (e *Error) Error() string {
	s := string(e.Code)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Cause }

// Is makes errors.Is(err, &Error{Code: c}) true for any error of code c.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Refuse makes an [Error].
func Refuse(code Code, format string, args ...any) *Error {
	if len(args) == 0 {
		return &Error{Code: code, Detail: format}
	}
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Invalid makes a VALIDATION_ERROR with the given violations.
func Invalid(violations ...Violation) *Error {
	e := &Error{Code: CodeValidation, Detail: "The request has malformed input; violations names each."}
	e.Facts.Violations = violations
	return e
}

// CodeOf returns err's code, INTERNAL when it has none, "" when err is nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}
