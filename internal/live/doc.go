// Package live keeps the maps of the shows that are being looked at in memory.
//
// A map is read a thousand times for each change, so nearly every read finds
// what it needs here. Yet each is right: it may not miss anything that was
// acknowledged before it, on any instance. So every read asks the database one
// cheap question, "what was logged in this show after version v?", and what
// comes back brings the map up to date. Reads that arrive while a question is
// out share the next one: a question that began after a read arrived knows
// everything that was acknowledged before it. However many read a show, one
// connection is busy with it.
//
//	Read ──▶ join the next check ──▶ changes after v? ──▶ none: the same view
//	                                                 ├──▶ some: apply, new view
//	                                                 └──▶ too many, or the show itself changed: read all
//
// A [Map] is what is written down. A [View] is that at an instant: a hold ends
// at its end by the database's clock, whether or not anything has tidied it
// up. Views are immutable, and whatever is encoded from one is kept with it,
// so a thousand readers of the same view cost one encoding.
//
// The package knows nothing of Postgres; a [Loader] does.
package live
