//go:build unix

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// faketimeLibraries are where packages put libfaketime.
var faketimeLibraries = []string{
	"/usr/lib/*/faketime/libfaketime.so.1",     // Debian, Ubuntu
	"/usr/lib64/faketime/libfaketime.so.1",     // Fedora
	"/usr/lib/faketime/libfaketime.so.1",       // Arch
	"/usr/local/lib/faketime/libfaketime.so.1", // built by hand
}

// fakeTime makes the clock of the servers one that can be stepped.
func (d *database) fakeTime(dir string) error {
	for _, pattern := range faketimeLibraries {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			continue
		}
		d.clock = filepath.Join(dir, "clock")
		d.env = []string{
			"LD_PRELOAD=" + found[0], "FAKETIME_TIMESTAMP_FILE=" + d.clock,
			"FAKETIME_NO_CACHE=1", // one clock for all processes, also in the second after a step
			"FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1",
		}
		return d.setClock(0)
	}
	return errors.New("libfaketime is not installed (Debian, Ubuntu: apt install faketime)")
}

// setClock sets the servers' clock off by that much, to the millisecond, at
// once.
func (d *database) setClock(off time.Duration) error {
	// Renamed, so that nobody reads half of it.
	fresh := d.clock + ".new"
	if err := os.WriteFile(fresh, fmt.Appendf(nil, "%+.3f\n", off.Seconds()), 0o644); err != nil {
		return err
	}
	return os.Rename(fresh, d.clock)
}
