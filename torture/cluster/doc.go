// Package cluster is Rowlock as it runs in production, on this machine: real
// processes of the real binary, a Postgres with a synchronous standby, a
// payment gateway, and a network between them that can be cut. And it knows how
// each of them fails.
//
//	rowlock serve 0..n ──┐                         ┌─▶ Postgres a ──┐ streams,
//	                     ├─▶ a line each ──────────┤                │ synchronously
//	rowlock work  0..n ──┘   (toxiproxy)           └─▶ Postgres b ◀─┘
//	      │      ▲
//	      ▼      │ webhooks, through a door that picks an instance
//	   sandbox gateway, in this process
//
// # Faults
//
// A fault is a method that takes a context, does its damage, lets it last as
// long as it was asked to, or until the context ends, repairs it, waits until
// what it broke works again, and tells in an [Event] what it did and when. So
// whoever wants two faults at once calls two in goroutines of their own. Faults
// of the same part wait for each other: a primary is not killed while it is
// being replaced.
//
// A fault that cannot be repaired within a minute is an error, and so is one
// whose context ends before its turn comes.
//
// # What ends when
//
// Nothing outlives [Cluster.Stop], or this process. On Linux the kernel ends
// the processes should this one be killed. Everything listens on loopback, and
// all files lie in one folder, which stays: with it a failure is looked into.
package cluster
