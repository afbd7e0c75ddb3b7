package postgres

import (
	"errors"
	"strings"
)

// The kinds of failure that have a cure. Each arrives wrapped in an [*Error],
// whose text says what to do.
var (
	ErrNotFound   = errors.New("no usable Postgres server found")
	ErrTooOld     = errors.New("the Postgres server is too old")
	ErrPortTaken  = errors.New("the port is taken")
	ErrNoSpace    = errors.New("no space left on the disk")
	ErrOtherMajor = errors.New("the data folder belongs to another major version of Postgres")
	ErrInUse      = errors.New("the data folder is in use")
	ErrNotAllowed = errors.New("the folder is closed to us, or to the server's user")
)

// Error says why the server did not start and what to do about it.
type Error struct {
	Kind error  // one of the Err… values, or the error of the operating system
	What string // what happened, with the particulars
	Do   string // what to do about it; empty if only the log can tell
	Log  string // the last lines that the server or npm wrote, if any
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("postgres: ")
	b.WriteString(e.What)
	if e.Do != "" {
		b.WriteString(": ")
		b.WriteString(e.Do)
	}
	if e.Log != "" {
		b.WriteString("\n")
		b.WriteString(e.Log)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Kind }
