// Package boxoffice holds the nouns and the rules of selling places, and
// nothing else: no database, no network, no clock, no randomness. Everything
// that may happen to a place is decided here by [Decide], a pure function,
// so that each rule can be tested without a server.
//
// # A seat of a show
//
//	             place                    confirm
//	available ──────────────▶ held ──────────────────▶ booked
//	   ▲  ▲  ◀────────────────┘                           │
//	   │  │   release, expire, remove                     │ cancel
//	   │  └───────────────────────────────────────────────┘
//	   │ unblock        sell from a block: blocked ──▶ held
//	   ▼ block
//	blocked
//
// A held seat whose reservation is overdue counts as available from the very
// microsecond of expiresAt, whether or not anything has tidied it up.
//
// # A reservation
//
//	                confirm
//	active ───────────────────────▶ consumed
//	   │  expiresAt reached             ▲
//	   ├───────────────▶ expired ───────┘ only by a late payment
//	   │  release
//	   └───────────────▶ cancelled
//
// # A show
//
//	draft ──publish──▶ on_sale ◀──resume── paused
//	  │                  │  └────pause───────▲ │
//	  │                  │                     │
//	  └────────cancel────┴──────▶ cancelled ◀──┘
//
// ended is derived: the show's end (or, without one, its start) has passed.
// soldOut is derived: no place is left.
package boxoffice
