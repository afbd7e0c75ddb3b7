//go:build unix

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// clockVariable sets the clock of a binary made by [Build] off, such as -90s.
const clockVariable = "TORTURE_CLOCK_OFF"

// The clock that is patched in. Go programs ask the kernel for the time without
// the C library, so nothing can come in between as with Postgres; but the
// go command can be told to read one file for another. Only the wall clock
// moves, as when somebody sets a machine's date: timers go on.
const (
	clockRead = "sec, nsec, mono := runtimeNow()\n"
	clockOff  = `
var tortureClockOff = func() int64 {
	text, _ := syscall.Getenv("` + clockVariable + `")
	off, err := ParseDuration(text)
	if err != nil {
		return 0
	}
	return int64(off / Second)
}()
`
)

// Build makes the rowlock binary from this module's source in dir, with build
// tags if any are given, and returns its path. Its clock can be set off, see
// [Cluster.ClockOff]. The first time it compiles the standard library anew,
// which takes a minute.
func Build(ctx context.Context, dir string, tags ...string) (binary string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	root, err := goCommand(ctx, "", "env", "GOROOT")
	if err != nil {
		return "", err
	}
	module, err := goCommand(ctx, "", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return "", err
	}
	overlay, err := overlayClock(dir, strings.TrimSpace(root))
	if err != nil {
		return "", err
	}
	binary = filepath.Join(dir, "rowlock")
	_, err = goCommand(ctx, strings.TrimSpace(module), "build", "-overlay", overlay, "-ldflags", "-s -w", "-tags", strings.Join(tags, ","), "-o", binary, "./cmd/api")
	return binary, err
}

// overlayClock writes the patched clock, and the file that tells the go command
// of it, into dir.
func overlayClock(dir, root string) (overlay string, err error) {
	original := filepath.Join(root, "src", "time", "time.go")
	text, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	if bytes.Count(text, []byte(clockRead)) != 1 || bytes.Count(text, []byte("import (\n")) != 1 {
		return "", errors.New("cluster: the clock of this version of Go does not look as expected: " + original)
	}
	text = bytes.Replace(text, []byte("import (\n"), []byte("import (\n\t\"syscall\"\n"), 1)
	text = bytes.Replace(text, []byte(clockRead), []byte(clockRead+"\tsec += tortureClockOff\n"), 1)
	text = append(text, clockOff...)
	patched := filepath.Join(dir, "time.go.txt") // not a Go file to those who look for them
	if err := os.WriteFile(patched, text, 0o644); err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: patched}})
	if err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, replace, 0o644)
}

// goCommand runs the go command in dir and returns what it printed.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	var out, failure bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = &out, &failure
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, failure.Bytes())
	}
	return out.String(), nil
}
