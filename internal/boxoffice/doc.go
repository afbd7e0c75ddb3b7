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
// # A booking
//
//	            paid, or nothing to pay
//	pending ──────────────────────────────▶ confirmed ──cancel──▶ cancelled
//	   │ hold over, no payment under way        ▲
//	   ├───────────────▶ expired ───────────────┘ only by a late payment
//	   │ taken back, hold released
//	   ├───────────────▶ cancelled
//	   │ paid too late for its places: the money goes back
//	   └───────────────▶ failed
//
// It is made with the first attempt to pay its reservation, and there is one
// for a reservation. While an attempt is under way the hold stays as it is,
// and ends no earlier than [PaymentExtension] after the first began.
//
// # A payment, one attempt at one gateway
//
//	pending ──▶ failed, cancelled ──the gateway's late truth──▶ succeeded
//	   └────────────────────────────────────────────────────────▲
//
// Of those that succeeded one is applied to the booking; each other one is
// given back in the command that learns of it.
//
// # A refund
//
//	pending ──▶ succeeded ──the bank sends it back──▶ failed
//	   ▲ └────────────────────────────────────────────▲ │ │
//	   └───────────────────── people send it again ─────┘ │
//	             succeeded ◀── people pay it otherwise ───┘
//
// # A ticket
//
//	valid ──admitted──▶ used
//	  │                   │ cancelled, given back at the gateway
//	  └───────▶ void ◀────┘    void wins over used
//
// # An entry of a show's waitlist
//
//	waiting ──offer──▶ offered ──bought────────▶ accepted
//	   │                  │  let go  ──────────▶ declined
//	   │                  └──time over──▶ lapsed ──▶ accepted only by a late payment
//	   └──leave──▶ left
//
// An entry has one offer, which is a reservation like any other: it is spent,
// whatever becomes of what was bought, and who let it go may join again, behind
// the others. What an offer gives back is offered to the next. closed is
// derived: the entry waits, and the show sells no more.
//
// Places that become free while somebody waits go to the waitlist first, the
// earliest entry first, in the batch that frees them: nobody else can have them
// in between. Who cannot be served with what there is is passed over, and what
// nobody who waits can use is on sale to everybody.
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
