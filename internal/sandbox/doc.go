// Package sandbox is a little payment gateway: a server of its own with a
// ledger of its own, which behaves like a real one and takes no real money.
// Developers pay at it, and tests prove with it that a buyer is charged once,
// however the two sides are killed and whatever gets lost between them.
//
// It knows nothing of Rowlock, and speaks with it over HTTP only, as any
// gateway would. A merchant sends payments and refunds with an Idempotency-Key,
// may ask for them at any time, and hears of everything that becomes of them by
// signed webhooks, which come at least once and in no particular order.
//
//	                   ┌───────────────▶ succeeded ──▶ refunds, a dispute
//	POST /v1/payments ─┼─▶ processing ──────┤ │
//	                   ├─▶ requires_action ─┤ ▼ of these, nothing becomes anything else
//	                   ├───────────────▶ failed
//	                   └─ (cancel) ────▶ cancelled
//
// The card's token decides which way a payment goes, see Tokens. What is
// processing settles by itself after a while; what requires action waits for
// the buyer at the hosted page, until the session ends.
//
// # The ledger
//
// Every change is one line of JSON in an append-only file: the objects as they
// are from then on, and the events that tell of it. The line is written before
// anything is answered, so a sandbox that is killed has lost no charge that it
// answered, and no webhook of one. It does not wait for the disk, as no money
// is in it: when the machine itself goes down, the last lines may be gone.
package sandbox
