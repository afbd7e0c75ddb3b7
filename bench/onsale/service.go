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
	addr    string
	program string
	args    []string
	cmd     *exec.Cmd
	stdin   io.Closer
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
	s := &service{addr: "127.0.0.1:0", program: h.server, args: []string{
		"-strategy", strategy, "-app", h.cfg.URL(store.RoleApp), "-lane", h.cfg.URL(store.RoleLane), "-redis", h.cfg.Redis,
		"-secret", h.secret, "-cpuprofile", profile}}
	if err := s.start(ctx); err != nil {
		return nil, fmt.Errorf("the server with strategy %s did not start: %w", strategy, err)
	}
	return s, nil
}

// start starts the process, at the address that it had before.
func (s *service) start(ctx context.Context) error {
	s.cmd = exec.CommandContext(ctx, s.program, append([]string{"-addr", s.addr}, s.args...)...)
	s.cmd.Stderr = os.Stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is ours
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = 10 * time.Second
	var err error
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return errors.Join(err, s.stop())
	}
	s.addr = strings.TrimSpace(line)
	return nil
}

// kill ends the process as a power cut does.
func (s *service) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.stop() // it was killed
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
