// Package jobs does what must be done later: it closes holds at their end,
// sweeps up behind that, and forgets what has served its time. The queue is
// River's, in the same Postgres, so that a job commits or vanishes with the
// transaction that made it necessary.
//
// # Expiry in three layers, each enough without the next
//
//	rule    a hold past its expiresAt is over for every reader and buyer, whatever
//	        this package does: boxoffice compares with the database clock
//	job     one per (show, expiresAt), scheduled at that instant by the lane that
//	        wrote the hold; it closes what is overdue in the show
//	sweep   every 30 seconds over all shows, for what slipped through
//
// So correctness never rests on a job running on time, once, or at all. A job
// that comes early, late or twice finds nothing and ends. Nobody cancels a job
// when a hold is bought or released: the cancellation would send a NOTIFY from
// inside the lane's transaction, and that costs more than half of all commits.
//
// # River's own facts
//
// River moves a scheduled job to its queue up to five seconds before it is due,
// once in five seconds, on the elected leader. A hold of five seconds or more
// is therefore closed within a poll of its end, a shorter one up to five
// seconds late. A leader that crashes is replaced after at most 15 seconds, and
// jobs becoming due meanwhile are late by as much; one that stops in good order
// hands over at once. The sweep is the leader's too: interval, grace and a new
// election stay within the minute in which places are promised to be reclaimed.
//
// What a job that a dead process left behind has not done is done again after a
// minute, or by the sweep before that. All kinds are known to every process, as
// River's leader discards what it does not know.
//
// # Lag
//
// [WatchLag] measures the age of the oldest hold that is overdue and not
// closed, in every process and without River: an alarm must not depend on what
// it watches. Above 120 seconds somebody should look (rowlock_expiry_lag_seconds).
// So they should when a job has been running for ten minutes
// (rowlock_jobs_running_age_seconds): none may for more than two, so its process
// is dead, and nobody has given it to another.
package jobs
