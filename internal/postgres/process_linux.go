package postgres

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
