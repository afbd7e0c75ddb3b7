package api

import (
	"context"
	"net/http"
	"time"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// Session is a guest's identity.
type Session struct {
	Token      string    `json:"token" doc:"Send it as Authorization: Bearer with everything the guest does" example:"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.…"`
	CustomerID string    `json:"customerId" doc:"Who the guest is in reservations and bookings" example:"guest:9b2e7d1c-53a4-4f0e-8b7a-2d4c6e8f0a1b"`
	ExpiresAt  time.Time `json:"expiresAt" doc:"When the token ends; a later one is another guest" example:"2026-12-27T20:15:00Z"`
}

type sessionOutput struct{ Body Session }

func (a *API) registerSessions() {
	register(a, Operation{
		ID: "createSession", Method: http.MethodPost, Path: "/sessions", Tag: "Sessions",
		Summary:     "Become a guest",
		Description: "Gives somebody without an account a token of their own, signed by this server. What they hold and buy is found by this token only. Needs no credentials and no Idempotency-Key: a repeated call makes another guest.",
		Access:      Open, Status: http.StatusCreated, NoKey: true, Weight: 10,
		Codes: []boxoffice.Code{boxoffice.CodeForbidden},
	}, func(ctx context.Context, _ *Call, _ *struct{}) (*sessionOutput, error) {
		if len(a.opts.Auth.SessionSecret) == 0 {
			return nil, boxoffice.Refuse(boxoffice.CodeForbidden, "This server has no guests.")
		}
		token, customerID, expires, err := a.auth.guest()
		if err != nil {
			return nil, err
		}
		if a.opts.Store != nil {
			if err := a.opts.Store.RecordSession(ctx, customerID, expires); err != nil {
				return nil, err
			}
		}
		return &sessionOutput{Session{token, customerID, expires.UTC()}}, nil
	})
}
