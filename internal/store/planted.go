package store

// A bug that can be built into the lanes, to see that torture finds it: which
// one is the constant planted, which a build tag chooses. Without a tag it is
// noBug, and the compiler leaves out whatever asks for another.
type bug int

const (
	noBug        bug = iota
	skipLock         // goes on without the show's lock
	earlyAnswer      // answers before COMMIT
	processClock     // judges time by the clock of this process
)
