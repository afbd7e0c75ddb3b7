//go:build unix

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ephemeralPrefix names the folders of servers that live for one test run.
const ephemeralPrefix = "rowlock-pg-"

// lock takes the lock file at path, or fails with [ErrInUse] at once, or with
// [fs.ErrNotExist] if somebody removed it meanwhile. The kernel drops the lock
// when this process dies, however it dies.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		owner, _ := io.ReadAll(f)
		f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, err
		}
		return nil, &Error{
			Kind: ErrInUse,
			What: fmt.Sprintf("%s is in use by process %s", filepath.Dir(path), strings.TrimSpace(string(owner))),
			Do:   "stop that one with Ctrl-C, or choose another folder with DATA_DIR",
		}
	}
	// A file may be locked and yet be gone, with its folder: see sweep.
	locked, err := f.Stat()
	if err == nil {
		var there fs.FileInfo
		if there, err = os.Stat(path); err == nil && !os.SameFile(locked, there) {
			err = &fs.PathError{Op: "lock", Path: path, Err: fs.ErrNotExist}
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	f.Truncate(0) // the pid is for the message above; failing to write it is harmless
	fmt.Fprintln(f, os.Getpid())
	return func() { f.Close() }, nil
}

// lockWait is lock, but waits for whoever holds it.
func lockWait(ctx context.Context, path string) (unlock func(), err error) {
	for {
		unlock, err := lock(path)
		if !errors.Is(err, ErrInUse) {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// ephemeralFolder makes and locks a fresh folder below parent.
func ephemeralFolder(parent string) (dir string, unlock func(), err error) {
	if parent == "" {
		parent = os.TempDir()
	}
	sweep(parent)
	for {
		dir, err = os.MkdirTemp(parent, ephemeralPrefix)
		if err != nil {
			return "", nil, err
		}
		unlock, err = lock(filepath.Join(dir, "lock"))
		// Another process's sweep may have got in between; then it is gone.
		if !errors.Is(err, ErrInUse) && !errors.Is(err, os.ErrNotExist) {
			return dir, unlock, err
		}
	}
}

// sweep removes the folders of test servers whose process was killed before it
// could: those whose lock is free and whose server has ended.
func sweep(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, ephemeralPrefix+"*"))
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "lock")); err != nil {
			continue // just being made, or not ours to read
		}
		unlock, err := lock(filepath.Join(dir, "lock"))
		if err != nil {
			continue
		}
		data, _ := filepath.Glob(filepath.Join(dir, "data-*"))
		if !slices.ContainsFunc(data, func(d string) bool { return postmaster(d) != 0 }) {
			os.RemoveAll(dir)
		}
		unlock()
	}
}

// dataMajors lists the major versions of which dir holds data, newest first.
func dataMajors(dir string) []int {
	files, _ := filepath.Glob(filepath.Join(dir, "data-*", "PG_VERSION"))
	var majors []int
	for _, f := range files {
		if m, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(f)), "data-")); err == nil {
			majors = append(majors, m)
		}
	}
	slices.Sort(majors)
	slices.Reverse(majors)
	return majors
}

// checkMajor compares the version written in the data folder itself: a folder
// copied or renamed by hand may say something else than its name.
func checkMajor(data string, b Binaries) error {
	text, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if err != nil {
		return err
	}
	if v := strings.TrimSpace(string(text)); v != strconv.Itoa(b.Major) {
		return &Error{
			Kind: ErrOtherMajor,
			What: fmt.Sprintf("%s was written by Postgres %s, but the server is %s", data, v, b.Version),
			Do:   fmt.Sprintf("install Postgres %s, or drop the data with make reset", v),
		}
	}
	return nil
}

// postmaster returns the process id of the server that runs on the data
// folder, or 0. A postmaster.pid whose process is gone, or whose number now
// belongs to another program, counts as none.
func postmaster(data string) int {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 0 || !runsIn(pid, data) {
		return 0
	}
	return pid
}

// takeOver makes sure that no server runs on the data folder. Called with the
// folder's lock held, so any server still there has lost its parent: on Linux
// it is just shutting down, elsewhere it has to be told.
func takeOver(ctx context.Context, data string) error {
	told := false
	for deadline := time.Now().Add(30 * time.Second); ; {
		pid := postmaster(data)
		if pid == 0 {
			// What is left is stale. Postgres would judge it by its number
			// alone and refuse when that number has been given to another
			// program of the same user, as happens in every restarted container.
			err := os.Remove(filepath.Join(data, "postmaster.pid"))
			if errors.Is(err, os.ErrNotExist) {
				err = nil
			}
			return err
		}
		if !told {
			syscall.Kill(pid, syscall.SIGINT)
			told = true
		}
		if time.Now().After(deadline) {
			return &Error{
				Kind: ErrInUse,
				What: fmt.Sprintf("a server without a parent (process %d) runs on %s and does not stop", pid, data),
				Do:   "end that process",
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
