package cluster

import "syscall"

// attributes of a child that dies with the thread that forks it: see launch. A
// group of its own keeps a Ctrl-C in the terminal from it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
