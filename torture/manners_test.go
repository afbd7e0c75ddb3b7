package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func TestARefusalSaysWhatItShouldAndNoMore(t *testing.T) {
	t.Parallel()
	const overloaded = `{"type":"/problems/overloaded","title":"This instance sheds load","status":503,"code":"OVERLOADED","requestId":"r1","detail":"Too many requests are waiting; select fewer."}`
	for _, c := range []struct {
		name   string
		change func(h http.Header, body *string)
		wrong  string // begins like this; "": nothing is
	}{
		{"as it should be", func(http.Header, *string) {}, ""},
		{"another type", func(h http.Header, _ *string) { h.Set("Content-Type", "application/json") }, "its type"},
		{"another status", func(_ http.Header, b *string) { *b = strings.Replace(*b, "503", "500", 1) }, "it says that its status"},
		{"a code that nobody knows", func(_ http.Header, b *string) { *b = strings.Replace(*b, "OVERLOADED", "TIRED", 1) }, "its code"},
		{"no request", func(h http.Header, _ *string) { h.Del("X-Request-Id") }, "it does not name its request"},
		{"no outcome", func(_ http.Header, b *string) { *b = strings.Replace(*b, "OVERLOADED", "UNAVAILABLE", 1) }, "it does not say whether"},
		{"an outcome", func(_ http.Header, b *string) {
			*b = strings.Replace(*b, `"OVERLOADED"`, `"UNAVAILABLE","outcome":"unknown"`, 1)
		}, ""},
		{"no time to come back", func(h http.Header, _ *string) { h.Del("Retry-After") }, "its Retry-After"},
		{"a strange time to come back", func(h http.Header, _ *string) { h.Set("Retry-After", "soon") }, "its Retry-After"},
		{"a statement", func(_ http.Header, b *string) {
			*b = strings.Replace(*b, "Too many", "SELECT version FROM show_heads: ", 1)
		}, "it tells what is inside"},
		{"a driver's error", func(_ http.Header, b *string) {
			*b = strings.Replace(*b, "Too many", "ERROR: deadlock (SQLSTATE 40P01)", 1)
		}, "it tells what is inside"},
		{"a stack", func(_ http.Header, b *string) {
			*b = strings.Replace(*b, "Too many", "goroutine 17 [running]: api.go:42", 1)
		}, "it tells what is inside"},
		{"an address", func(_ http.Header, b *string) {
			*b = strings.Replace(*b, "Too many", "dial tcp 10.0.0.7:5432", 1)
		}, "it tells what is inside"},
	} {
		h, body := http.Header{"Content-Type": {"application/problem+json"}, "X-Request-Id": {"r1"}, "Retry-After": {"1"}}, overloaded
		c.change(h, &body)
		a := &answer{status: 503, header: h, body: []byte(body)}
		if err := json.Unmarshal(a.body, &a.problem); err != nil {
			t.Fatal(err)
		}
		if wrong := a.manners(); c.wrong == "" != (wrong == "") || !strings.HasPrefix(wrong, c.wrong) {
			t.Errorf("%s: %q, want %q", c.name, wrong, c.wrong)
		}
	}
}
