//go:build unix && !linux

package postgres

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// attributes for a child process. Nothing ends it when this process is killed;
// the next Start on the folder does.
func (u user) attributes(syscall.Signal) *syscall.SysProcAttr {
	// A group of its own: Ctrl-C in the terminal is for us, who then stop the
	// server when the last request has been served.
	a := &syscall.SysProcAttr{Setpgid: true}
	if u.kind == nobody {
		a.Credential = &syscall.Credential{Uid: u.uid, Gid: u.gid}
	}
	return a
}

// canNamespace says no: user namespaces are Linux's.
func canNamespace() bool { return false }

// runsIn says whether the process is a Postgres server on the data folder,
// which its command line names.
func runsIn(pid int, data string) bool {
	out, err := exec.Command("ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(out), "postgres") && strings.Contains(string(out), data)
}

// children are the processes that pid has started and that have not ended.
func children(pid int) (all []int, err error) {
	out, err := exec.Command("pgrep", "-P", strconv.Itoa(pid)).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil, nil // none
	}
	for line := range strings.Lines(string(out)) {
		if child, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			all = append(all, child)
		}
	}
	return all, err
}
