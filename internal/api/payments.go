package api

import (
	"context"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

func (a *API) registerPayments() {
	refunds := []boxoffice.Scope{boxoffice.ScopeRefunds}
	show := map[string]string{"Show-Version": "The show's version after this."}
	register(a, Operation{
		ID: "listPaymentMethods", Method: http.MethodGet, Path: "/shows/{showId}/payment-methods", Tag: "Bookings", Access: Public,
		Summary:     "List the ways to pay",
		Description: "In the order in which they should be offered. Empty when the show is cancelled, or when everything in it is free.",
		Codes:       []boxoffice.Code{boxoffice.CodeNotFound},
	}, a.listPaymentMethods)
	register(a, Operation{
		ID: "listRefunds", Method: http.MethodGet, Path: "/bookings/{bookingId}/refunds", Tag: "Bookings",
		Summary:     "List what was given back",
		Description: "In the order in which it was begun. Other customers' bookings are not found.",
		Codes:       []boxoffice.Code{boxoffice.CodeNotFound},
	}, a.listRefunds)
	register(a, Operation{
		ID: "createRefund", Method: http.MethodPost, Path: "/bookings/{bookingId}/refunds", Tag: "Bookings", Scopes: refunds, Status: http.StatusCreated,
		Summary: "Give money back, and leave the tickets",
		Description: "For a view that was blocked or a heating that was not on: the tickets stay valid. `amount` is divided among them in proportion to what is left of their prices, in whole minor units that add up to it exactly; without it all that is left goes back. " +
			"To take tickets back as well, cancel them. The answer is the refund as it was begun; the booking has what became of it.",
		Codes:   []boxoffice.Code{boxoffice.CodeNotFound, boxoffice.CodeAlreadyRefunded, boxoffice.CodeLockTimeout},
		Headers: show,
	}, a.createRefund)
	register(a, Operation{
		ID: "retryRefund", Method: http.MethodPost, Path: "/refunds/{refundId}/retry", Tag: "Bookings", Scopes: refunds,
		Summary: "Send a refund again, or say that people made it",
		Description: "One that the gateway has refused, when what stood in its way is mended. With `paidBy`, the reference of a transfer or a receipt, nothing is sent: people gave the money back in another way, and it is noted as done. " +
			"One that is under way, or done, is refused.",
		Codes:   []boxoffice.Code{boxoffice.CodeNotFound, boxoffice.CodeAlreadyRefunded, boxoffice.CodeLockTimeout},
		Headers: show,
	}, a.retryRefund)
	register(a, Operation{
		ID: "receivePaymentEvent", Method: http.MethodPost, Path: "/webhooks/payments/{gateway}", Tag: "Operations", Access: Open, NoKey: true, Busy: true,
		Summary: "Take in a gateway's webhook",
		Description: "For payment gateways only. The signature is checked over the bytes as they came; one that is not the gateway's is `401`, and nothing of it is kept. What is the gateway's is kept once, however often it comes, and answered at once; " +
			"its effect is had here or, should that fail, by a job.",
		Documents: []Document{{MediaType: "application/json", Description: "the gateway's event", Example: map[string]any{"id": "evt_1", "type": "payment.succeeded"}}},
		Codes:     []boxoffice.Code{boxoffice.CodeUnauthenticated, boxoffice.CodeNotFound, boxoffice.CodeLockTimeout},
	}, a.receivePaymentEvent)
}

// PaymentAttempt is one attempt to pay.
type PaymentAttempt struct {
	PaymentID      uuid.UUID `json:"paymentId" format:"uuid" doc:"The attempt" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d65"`
	Gateway        string    `json:"gateway" doc:"Where; manual: taken by people" example:"sandbox"`
	Method         string    `json:"method" doc:"How" example:"card"`
	Status         string    `json:"status" enum:"pending,succeeded,failed,cancelled" doc:"What became of it" example:"succeeded"`
	Amount         int64     `json:"amount" doc:"In the currency's minor unit" example:"9000"`
	RefundedAmount int64     `json:"refundedAmount" doc:"What was given back of it or is on its way" example:"0"`
	DeclineCode    string    `json:"declineCode,omitempty" doc:"Why it failed, in the gateway's words" example:"insufficient_funds"`
	CreatedAt      time.Time `json:"createdAt" doc:"When it began" example:"2026-11-27T20:00:00.123456Z"`
}

// Refund is money that goes back.
type Refund struct {
	RefundID  uuid.UUID   `json:"refundId" format:"uuid" doc:"The refund" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d66"`
	PaymentID uuid.UUID   `json:"paymentId" format:"uuid" doc:"Of which payment" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d65"`
	Amount    int64       `json:"amount" doc:"In the currency's minor unit" example:"4500"`
	Currency  string      `json:"currency" doc:"ISO 4217" example:"EUR"`
	Status    string      `json:"status" enum:"pending,succeeded,failed" doc:"failed: the gateway will not; people must" example:"pending"`
	Reason    string      `json:"reason" enum:"buyer,staff,show_cancelled,late_payment,gateway" doc:"Why; gateway: begun at the gateway's own desk, or by the buyer's bank" example:"buyer"`
	TicketIDs []uuid.UUID `json:"ticketIds" format:"uuid" doc:"Whose money it is; none when it was for no ticket" example:"[\"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d64\"]"`
	CreatedAt time.Time   `json:"createdAt" doc:"When it was begun" example:"2026-11-27T21:00:00.123456Z"`
	Failure   string      `json:"failure,omitempty" doc:"Why it failed, in the gateway's words" example:"account_closed"`
}

func refundBody(f *boxoffice.Refund) Refund {
	r := Refund{f.ID, f.PaymentID, f.AmountMinor, f.Currency, string(f.Status), string(f.Reason), f.TicketIDs, f.CreatedAt.UTC(), f.Failure}
	if r.TicketIDs == nil {
		r.TicketIDs = []uuid.UUID{}
	}
	return r
}

func refundBodies(list []*boxoffice.Refund) []Refund {
	bodies := make([]Refund, len(list))
	for i, f := range list {
		bodies[i] = refundBody(f)
	}
	return bodies
}

// PaymentMethod is a way to pay.
type PaymentMethod struct {
	Method   string `json:"method" doc:"What a payment names it by" example:"card"`
	Title    string `json:"title" doc:"For people" example:"Card"`
	Gateway  string `json:"gateway" doc:"Where" example:"sandbox"`
	Token    bool   `json:"token" doc:"Whether a token that the gateway's script made comes with the payment" example:"true"`
	Redirect bool   `json:"redirect" doc:"Whether the buyer may have to confirm on a page of the gateway" example:"true"`
}

type paymentMethodsBody struct {
	PaymentMethods []PaymentMethod `json:"paymentMethods" doc:"In the order in which they should be offered"`
}

func (a *API) listPaymentMethods(ctx context.Context, call *Call, in *showInput) (*catalogueOutput[paymentMethodsBody], error) {
	l, err := a.opts.Store.ReadShow(ctx, in.ShowID, call.Caller.OrganisationID, seesDrafts(&call.Caller))
	if err != nil {
		return nil, err
	}
	body := paymentMethodsBody{[]PaymentMethod{}}
	costs := slices.ContainsFunc(l.PriceList, func(p store.Price) bool { return p.AmountMinor > 0 })
	if l.Status != boxoffice.ShowCancelled && costs {
		for _, m := range a.opts.Checkout.Methods() {
			body.PaymentMethods = append(body.PaymentMethods, PaymentMethod{m.Name, m.Title, m.Gateway, m.Token, m.Redirect})
		}
	}
	return answerHashed(call, "", catalogueAge, body)
}

type refundsOutput struct {
	Body struct {
		Refunds []Refund `json:"refunds" doc:"In the order in which they were begun"`
	}
}

func (a *API) listRefunds(ctx context.Context, call *Call, in *bookingInput) (*refundsOutput, error) {
	v, err := a.bookingOf(ctx, call, in.BookingID)
	if err != nil {
		return nil, err
	}
	out := &refundsOutput{}
	out.Body.Refunds = refundBodies(v.Refunds)
	return out, nil
}

type createRefundInput struct {
	BookingID uuid.UUID `path:"bookingId" format:"uuid" doc:"The booking" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d63"`
	Body      struct {
		TicketIDs []uuid.UUID `json:"ticketIds,omitempty" format:"uuid" minItems:"1" maxItems:"10000" doc:"For these tickets; missing: for all that are not void" example:"[\"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d64\"]"`
		Amount    *int64      `json:"amount,omitempty" minimum:"1" maximum:"1000000000000" doc:"How much together, in the currency's minor unit; missing: all that is left of their prices" example:"1000"`
	}
}

type createRefundOutput struct {
	Location string `header:"Location" doc:"The booking's refunds"`
	Body     Refund
}

func (a *API) createRefund(ctx context.Context, call *Call, in *createRefundInput) (*createRefundOutput, error) {
	req := store.GiveBackRequest{TicketIDs: in.Body.TicketIDs}
	if in.Body.Amount != nil {
		req.AmountMinor = *in.Body.Amount
	}
	id, version, replayed, err := a.opts.Store.GiveBack(ctx, call.Caller.Actor(), &call.Key, in.BookingID, req)
	if err != nil {
		return nil, err
	}
	f, err := a.refund(ctx, in.BookingID, id)
	if err != nil {
		return nil, err
	}
	finishWrite(call, version, replayed)
	return &createRefundOutput{bookingPath(in.BookingID) + "/refunds", *f}, nil
}

// refund is a refund that was just begun, or begun again.
func (a *API) refund(ctx context.Context, booking, id uuid.UUID) (*Refund, error) {
	v, err := a.opts.Store.ReadBooking(ctx, uuid.Nil, "", booking)
	if err != nil {
		return nil, err
	}
	for _, f := range v.Refunds {
		if f.ID == id {
			return new(refundBody(asBegun(v, f))), nil
		}
	}
	return nil, boxoffice.Refuse(boxoffice.CodeNotFound, "There is no such refund.")
}

type retryRefundInput struct {
	RefundID uuid.UUID `path:"refundId" format:"uuid" doc:"The refund" example:"0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d66"`
	Body     *struct {
		PaidBy string `json:"paidBy,omitempty" maxLength:"200" doc:"How people gave the money back: the reference of a transfer or a receipt" example:"transfer 2026-11-28/17"`
	}
}

type retryRefundOutput struct{ Body Refund }

func (a *API) retryRefund(ctx context.Context, call *Call, in *retryRefundInput) (*retryRefundOutput, error) {
	var c boxoffice.Checks
	paidBy := ""
	if in.Body != nil {
		paidBy = in.Body.PaidBy
	}
	c.Line("paidBy", &paidBy, 0, referenceMax)
	if err := c.Err(); err != nil {
		return nil, err
	}
	id, version, replayed, err := a.opts.Store.RetryRefund(ctx, call.Caller.Actor(), &call.Key, in.RefundID, paidBy)
	if err != nil {
		return nil, err
	}
	place, err := a.opts.Store.RefundPlace(ctx, id)
	if err != nil {
		return nil, err
	}
	f, err := a.refund(ctx, place.BookingID, id)
	if err != nil {
		return nil, err
	}
	if paidBy != "" {
		f.Status = string(boxoffice.RefundSucceeded)
	}
	finishWrite(call, version, replayed)
	return &retryRefundOutput{*f}, nil
}

type paymentEventInput struct {
	Gateway string `path:"gateway" maxLength:"50" doc:"The gateway's name" example:"sandbox"`
}

type paymentEventOutput struct{ Body struct{} }

func (a *API) receivePaymentEvent(ctx context.Context, call *Call, in *paymentEventInput) (*paymentEventOutput, error) {
	body, err := io.ReadAll(call.Document())
	if err != nil {
		return nil, err
	}
	if err := a.opts.Checkout.Webhook(ctx, in.Gateway, call.Request().Header, body); err != nil {
		return nil, err
	}
	return &paymentEventOutput{}, nil
}
