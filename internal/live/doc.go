// Package live keeps the maps of the shows that are being looked at in memory.
//
// A map is read a thousand times for each change, so nearly every read finds
// what it needs here. Yet each is right: it may not miss anything that was
// acknowledged before it, on any instance. So every read asks the database one
// cheap question, "what was logged in this show after version v?", and what
// comes back brings the map up to date. Reads that arrive while a question is
// out share the next one: a question that began after a read arrived knows
// everything that was acknowledged before it. And the questions about all shows
// that wait go into one statement. However many read, however many shows, one
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
// Who watches a show, a [Viewer], is told what changes. Each watched show has a
// feed, which looks when it is woken: by a commit of this process, by a NOTIFY
// of another, by asking each second, and when the next hold ends. It looks by
// the same checks as everybody else, and what is new since it last looked
// becomes one frame, encoded once and shared by all viewers:
//
//	commit here ───────┐
//	NOTIFY, poll ──────┼─▶ check ──▶ what was logged, what differs ──▶ frame ──▶ viewer, viewer, …
//	a hold's own end ──┘
//
// A frame says after which version it comes and to which it leads, so that
// viewers can see for themselves that nothing is missing. It has in it every
// place that the log was about in between, with its state at the end: frames
// set states and never toggle them. A viewer who comes back with a version gets
// what follows it: from the frames that are kept, or from the log itself, which
// is what makes a restart, or another instance, no event for anybody. Viewers
// are never waited for: who is too far behind is told everything anew.
//
// A viewer who has been told everything can rest ([Viewer.Rest]): then a few
// goroutines tell all of them, and it costs none of its own.
//
// The package knows nothing of Postgres; a [Loader] does.
package live
