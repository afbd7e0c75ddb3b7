// Package onsale measures over HTTP, as buyers and viewers meet Rowlock: an
// on-sale on 2,000 connections behind each strategy, a steady evening, buying
// with payment and tickets, a large catalogue, and maps read by everybody. Its
// [Scenarios] are rows of make bench; make buyers runs one of them by itself.
//
// The server is a process of its own, bench/onsale/server, with the door, the
// limits and the log that rowlock serve has. It shares the machine with its
// clients and with Postgres, so these cost as little as they can, and what the
// server itself uses of the processor for an answer is told apart.
//
// To see where it goes:
//
//	go test ./bench/onsale -run Profile -v -profiles /tmp
//	go tool pprof -top -cum /tmp/refused.pprof
package onsale
