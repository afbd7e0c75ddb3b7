// Package seatplan reads the seating plans of other systems, and our own, into
// [boxoffice.Plan]. It is pure: readers in, plans out, no database.
//
// A plan is the one input that can sell a seat twice before anybody buys
// anything: two seats that a person at the door cannot tell apart. So nothing
// is repaired silently. A document is read to its end, and either becomes a
// plan or is refused with every problem and its path, because an organiser who
// is told one problem at a time gives up.
//
// The formats differ in shape and agree in what they say; each has a reader
// that fills one [draft], and only the draft knows the rules:
//
//	pretix.go  ┐
//	seatsio.go ├─ document.go (JSON as a stream) ─┐
//	rowlock.go ┘                                  ├─▶ draft.go ─▶ boxoffice.Plan
//	csv.go ───────────────────────────────────────┘
//
// JSON is walked token by token. A generic tree of a stadium's plan is some
// hundred megabytes; the walk needs what the plan itself needs and no more,
// however much a document carries that we do not keep. Members of an object
// may stand in any order, so readers add seats as they come and set what they
// inherit (section, position, category) when the parent object ends.
//
// docs/plans.md describes the formats for people.
package seatplan
