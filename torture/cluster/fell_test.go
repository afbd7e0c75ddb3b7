//go:build unix

package cluster

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestACrashLastsUntilTheServerIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		f := &falls{log: &log}
		began := time.Now()
		want := ""
		for _, c := range []struct {
			after time.Duration
			line  string
		}{
			{1 * time.Second, "LOG:  database system is ready to accept connections\n"},
			{2 * time.Second, "LOG:  client backend (PID 77) was terminated by signal 6: Aborted\n"},
			{3 * time.Second, "LOG:  client backend (PID 78) was terminated by signal 11: Segmentation fault\n"},
			{5 * time.Second, "LOG:  database system is ready to accept connections\n"},
			{6 * time.Second, "LOG:  client backend (PID 79) was terminated by signal 9: Killed\n"},
			{70 * time.Second, "LOG:  autovacuum worker (PID 80) was terminated by signal 11: Segmentation fault\n"},
		} {
			time.Sleep(time.Until(began.Add(c.after)))
			if _, err := f.Write([]byte(c.line)); err != nil {
				t.Fatal(err)
			}
			want += c.line
		}
		if log.String() != want {
			t.Errorf("passed on: %q", log.String())
		}
		spans := func() (list string) {
			for _, e := range f.all() {
				list += fmt.Sprintf("%v to %v; ", e.Began.Sub(began), e.Ended.Sub(began))
			}
			return list
		}
		time.Sleep(10 * time.Second)
		if got := spans(); got != "2s to 5s; 1m10s to 1m20s; " {
			t.Errorf("crashed: %s", got)
		}
		time.Sleep(time.Hour) // it was ended before it came back
		if got := spans(); got != "2s to 5s; 1m10s to 1m40s; " {
			t.Errorf("crashed: %s", got)
		}
	})
}
