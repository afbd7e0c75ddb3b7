// Command torture sells a house under faults and proves that nothing went
// wrong: real processes of the real binary, a real standby, and clients who do
// everything that the API has, over HTTP, while processes are killed, lines are
// cut, clocks are wrong and the gateway loses its answers. See package cluster
// for what fails and how.
//
//	go run ./torture -seed 7 -for 5m
//	go run ./torture -faults kill,cut -for 1m
//	go run ./torture -planted skip-lock -for 2m
//
// # What is written down
//
// Each client writes down what it asked, when, when it was answered, and what.
// A request without an answer (a line that broke, a process that died) is sent
// again with the same Idempotency-Key until one comes. Some clients walk away
// instead: then it is not known whether it was done. Viewers watch every show
// over its stream, come and go, and write down each event.
//
// # What is proved
//
// Time is cut into rounds with shows of their own. One of them is cancelled in
// the middle, and everybody gets their money back; for one people wait when it
// is sold out; one has a waiting room, which is open. After each round the faults
// end, everything comes to rest, and then:
//
//   - the history of every seat, every standing area, every ticket and the name on
//     it, of each show's sales, prices, limit and start is linearizable: porcupine
//     finds an order of the operations, each within its time, in which every
//     answer was right. A hold's end is an operation, too, at its expiresAt. What
//     is not known may have happened at any later time, or never;
//   - what was acknowledged is there: by the API, in the log at the version that
//     was named, and in the database;
//   - the gateway's own ledger and the bookings agree about every charge, and what
//     was paid is what was said when it was held; a refund that the gateway had
//     refused was made once, when it was sent again;
//   - shows that an instance had locked when it was frozen sold elsewhere in
//     seconds;
//   - every map that anybody was shown is the log replayed to its version;
//   - every viewer was told each version of the log once and in order, with all
//     that it is about, and ends with the map that the database has; who had to
//     begin anew had a reason to;
//   - nobody held anything without a turn in the waiting room, nor twice with one;
//     people were called no faster than its rate, in the order of its draw, and
//     were told positions that only fall;
//   - the waitlist had what became free before any buyer, the earliest first, each
//     place once, and nobody waits for what is free;
//   - whatever was refused was refused by a problem document that says when to
//     come back and nothing of what is inside;
//   - holds that ended were closed within a minute;
//   - rowlock prove finds no rule broken, in the middle of it as well.
//
// # What a seed repeats
//
// A seed fixes which faults come in which order, and what each client wants to
// do and how patient it is. It does not fix how the threads of a dozen processes
// meet: a run with the same seed does the same, not in the same microsecond.
// So a run that fails keeps everything: the history, the database, a picture of
// the order that porcupine looked for, and the few operations that suffice to
// see the contradiction.
package main
