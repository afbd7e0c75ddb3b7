package onsale

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rowlock/rowlock/internal/store"
)

// service is the server under test: a process of its own.
type service struct {
	addr  string
	cmd   *exec.Cmd
	stdin io.Closer
}

// build compiles a command of this module into dir.
func build(ctx context.Context, dir, pkg string) (string, error) {
	binary := filepath.Join(dir, filepath.Base(pkg))
	out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/rowlock/rowlock/"+pkg).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return binary, nil
}

// serve starts the server with a strategy. profile, if any, is the file that
// its CPU profile goes into when it stops.
func (h *House) serve(ctx context.Context, strategy, profile string) (*service, error) {
	s := &service{cmd: exec.CommandContext(ctx, h.server,
		"-strategy", strategy, "-app", h.cfg.URL(store.RoleApp), "-lane", h.cfg.URL(store.RoleLane), "-redis", h.cfg.Redis,
		"-secret", h.secret, "-cpuprofile", profile)}
	s.cmd.Stderr = os.Stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is ours
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = 10 * time.Second
	var err error
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the server with strategy %s did not start", strategy), s.stop())
	}
	s.addr = strings.TrimSpace(line)
	return s, nil
}

// stop ends the process and waits for its end.
func (s *service) stop() error {
	s.stdin.Close()
	return s.cmd.Wait()
}

// behind serves with a strategy while something is done.
func (h *House) behind(ctx context.Context, strategy, profile string, do func(*service) error) error {
	s, err := h.serve(ctx, strategy, profile)
	if err != nil {
		return err
	}
	err = do(s)
	if stopped := s.stop(); stopped != nil {
		err = errors.Join(err, fmt.Errorf("the server with strategy %s: %w", strategy, stopped))
	}
	return err
}
