package postgres

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// attributes for a child process that gets sig when this process dies. They
// hold for the thread that forks: see launch.
func (u user) attributes(sig syscall.Signal) *syscall.SysProcAttr {
	// A group of its own: Ctrl-C in the terminal is for us, who then stop the
	// server when the last request has been served.
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: sig}
	switch u.kind {
	case namespaced:
		a.Cloneflags = syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getgid(), Size: 1}}
	case nobody:
		a.Credential = &syscall.Credential{Uid: u.uid, Gid: u.gid}
	}
	return a
}

// canNamespace tries whether the kernel lets us make a user namespace; some
// containers forbid it.
func canNamespace() bool {
	cmd := exec.Command("/bin/sh", "-c", "exit 0")
	cmd.SysProcAttr = user{kind: namespaced}.attributes(syscall.SIGKILL)
	return cmd.Run() == nil
}

// runsIn says whether the process is a Postgres server on the data folder,
// which is its working directory.
func runsIn(pid int, data string) bool {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil || strings.TrimSpace(string(name)) != "postgres" {
		return false
	}
	data, err = filepath.EvalSymlinks(data)
	if err != nil {
		return false
	}
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return err == nil && cwd == data
}

// children are the processes that pid has started and that have not ended.
func children(pid int) (all []int, err error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended meanwhile
		}
		// pid (name) state parent …; the name may have anything in it.
		_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				return nil, err
			}
			all = append(all, child)
		}
	}
	return all, err
}
