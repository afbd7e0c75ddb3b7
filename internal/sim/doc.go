// Package sim simulates Rowlock: the rules of boxoffice and the saga of
// checkout, both as they are, on tables in memory, with a clock, a queue, a
// gateway and a network that do the worst they may. It has only tests.
//
// A run is a list of operations drawn from a seed: somebody asks for something,
// one of the parked calls goes on, an instance dies, a clock jumps, a webhook
// comes twice, the queue stands still. Between any two steps of a request there
// is a place for every other operation, since every call of the database or of
// the gateway waits until an operation picks it. After each commit an auditor
// compares the tables with a model that reads nothing but the log, and with
// what customers were told. Half of the shows have a waitlist, a quarter a
// waiting room: nobody may wait for what they could have, get what others wait
// for, or hold anything without a turn of their own. When the list is over,
// everything that went wrong is mended, time goes on until nothing is left to
// do, and the auditor counts the money.
//
// Nothing runs at the same time as anything else, and nothing but the seed
// decides: a seed that fails fails again. Its operations are then left out, as
// many as can be while it still fails, and the rest is printed:
//
//	go test ./internal/sim -run Sim -args -seeds 100000 -seed 42
//
// runs so many seeds from the given one on, and this prints all that happens in
// one:
//
//	go test ./internal/sim -run Sim -v -args -seeds 1 -seed 42
//
// What runs is compared with itself made worse: with each of the mistakes in
// bugs_test.go, some seed must fail.
//
// How the lots of a waiting room are drawn is not simulated: everybody there has
// their place in the order in which they came. And one thing that a gateway may
// do is left out, for the rules do not promise to get it right: money that it
// gives back by itself is heard of before anything else is given back for that
// payment.
package sim
