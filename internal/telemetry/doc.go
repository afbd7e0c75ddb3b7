// Package telemetry is how Rowlock tells what it does: structured logs with
// the request's id ([NewLogger]) and Prometheus metrics ([Metrics]).
//
// Nothing personal goes into either: no names, addresses, tokens, keys or
// query strings. Metric labels take few values, all known in advance: an
// operation's id, never a path; an error code, never a message.
package telemetry
