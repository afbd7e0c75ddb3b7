package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// retryAfterMax is the longest that anybody is told to wait, in seconds.
const retryAfterMax = 120

// inside is what only those who look after the service should see: statements,
// drivers, addresses, stacks.
var inside = regexp.MustCompile(`(?i)sqlstate|pgx|pgconn|postgres(ql)?:|\brelation "|\bselect\b.+\bfrom\b|\binsert into\b|\bupdate\b.+\bset\b|` +
	`goroutine \d|\.go:\d|runtime error|\bpanic\b|dial tcp|connection re(set|fused)|broken pipe|unexpected eof|127\.0\.0\.1|\[::1\]|context (canceled|deadline)`)

// manners says what is wrong with a refusal, whatever it refuses; "": nothing.
// However bad things are, it is a problem document, says when to come back
// where that helps, and tells nothing of what is inside.
func (a *answer) manners() string {
	p := &a.problem
	switch kind := a.header.Get("Content-Type"); {
	case kind != "application/problem+json":
		return fmt.Sprintf("its type is %q", kind)
	case p.Status != a.status:
		return fmt.Sprintf("it says that its status is %d", p.Status)
	case p.Code == "" || p.Code != boxoffice.CodeInternal && p.Code.Info().Code == boxoffice.CodeInternal:
		return "its code is none of the catalogue"
	case p.RequestID == "" || p.RequestID != a.header.Get("X-Request-Id"):
		return "it does not name its request"
	case p.Code == boxoffice.CodeUnavailable && p.Outcome != "none" && p.Outcome != "unknown":
		return "it does not say whether anything was done"
	}
	if leak := inside.Find(a.body); leak != nil {
		return fmt.Sprintf("it tells what is inside: %q", leak)
	}
	waits := a.status == http.StatusServiceUnavailable || a.status == http.StatusTooManyRequests ||
		p.Code == boxoffice.CodeKeyInUse || p.Code == boxoffice.CodePaymentInProgress
	after := a.header.Get("Retry-After")
	if seconds, err := strconv.Atoi(after); waits && (err != nil || seconds < 1 || seconds > retryAfterMax) {
		return fmt.Sprintf("its Retry-After is %q", after)
	}
	return ""
}
