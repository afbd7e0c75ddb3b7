//go:build unix

package postgres

import (
	"errors"
	"fmt"
	"syscall"
)

// Kill ends the server as a crash would: every process of it at once, with
// nothing written out. The next [Start] on the folder recovers what had been
// committed. After it Stop has nothing to do.
func (s *Server) Kill() (err error) {
	s.stop.Do(func() {
		defer s.release()
		if err = s.signal(syscall.SIGKILL); err == nil {
			<-s.exited
		}
	})
	return err
}

// Freeze stops the server's processes as they stand, connections and all, until
// Thaw or Kill.
func (s *Server) Freeze() error { return s.signal(syscall.SIGSTOP) }

// Thaw lets them go on.
func (s *Server) Thaw() error { return s.signal(syscall.SIGCONT) }

// signal sends a signal to the postmaster and all its children, which are in
// process groups of their own.
func (s *Server) signal(sig syscall.Signal) error {
	// Stopped first, it has no further children while we go through them.
	if err := s.process.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	all, err := children(s.process.Pid)
	for _, pid := range all {
		if e := syscall.Kill(pid, sig); e != nil && !errors.Is(e, syscall.ESRCH) {
			err = errors.Join(err, e)
		}
	}
	if err = errors.Join(err, s.process.Signal(sig)); err != nil {
		return fmt.Errorf("postgres: %v: %w", sig, err)
	}
	return nil
}
