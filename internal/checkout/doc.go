// Package checkout takes the money exactly once, or gives it back. It holds
// the flows that are longer than one transaction, and nothing else: what a
// step means is decided in boxoffice, under the show's lock, and what a
// gateway says comes through the port in payment.
//
// # The saga
//
// A closed list of steps, each committed before the next acts, each
// repeatable. No lock and no transaction is open while a gateway is called.
//
//	begin    lane      verify the hold by the database clock, lengthen it once,
//	                   write booking (pending), attempt (pending), and a job that
//	                   asks for the attempt should nobody ever hear of it
//	charge   gateway   idempotency key = the attempt's id
//	settle   lane      apply what the gateway says
//
//	refund   lane      a refund is a row first, made with what caused it
//	send     gateway   idempotency key = the refund's id
//	settle   lane
//
// # An attempt
//
//	         ┌────────── answer, webhook, reconciler: whoever is first ─────────┐
//	         │                                                                  ▼
//	begin ─▶ pending ── no ──▶ failed, cancelled ── the gateway's late yes ──▶ succeeded
//	         │  ▲  the hold goes back to its own end                            │
//	         └──┘  unknown: asked again after 15 s, 30 s, 1 min, … 1 h          ▼
//	                                          hold alive ─────────▶ confirmed, tickets
//	                                          hold over, places free ─▶ the same
//	                                          otherwise ──────────▶ one refund
//
// Settling never goes down in truth (pending < failed, cancelled < succeeded),
// and telling it the same again changes nothing. So it does not matter whether
// the answer comes first or the webhook, how often, or from which process.
//
// # Who ends what a crash left behind
//
//	died after begin     the job asks the gateway; one that never heard of the
//	                     attempt is told to refuse it, and the attempt failed
//	died after charge    the job, or the webhook, settles
//	died after settle    nothing is left to do
//	died before sending  the refund's own job sends it; the gateway knows the id
//	a refund
package checkout
