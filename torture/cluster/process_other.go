//go:build unix && !linux

package cluster

import "syscall"

// attributes of a child in a group of its own, which a Ctrl-C in the terminal
// does not reach. Only Linux ends it should this process be killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
