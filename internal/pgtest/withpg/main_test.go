package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestMain lets the test binary be the command, and the command it runs.
func TestMain(m *testing.M) {
	switch os.Getenv("WITHPG_TEST") {
	case "withpg":
		os.Setenv("WITHPG_TEST", "")
		main()
	default:
		os.Exit(m.Run())
	}
}

// withpg is the command with these arguments, its folder in a place of its own.
func withpg(t *testing.T, args ...string) (cmd *exec.Cmd, dir string) {
	t.Helper()
	dir = t.TempDir()
	cmd = exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "WITHPG_TEST=withpg", "TMPDIR="+dir)
	return cmd, dir
}

func TestWithPG(t *testing.T) {
	t.Parallel()

	t.Run("The command finds a server, and its exit code is passed on", func(t *testing.T) {
		t.Parallel()
		cmd, dir := withpg(t, "--", "sh", "-c", "echo $ROWLOCK_TEST_DATABASE_URL; exit 7")
		out, _ := cmd.Output()
		if code := cmd.ProcessState.ExitCode(); code != 7 {
			t.Errorf("exit code %d", code)
		}
		if !strings.HasPrefix(string(out), "postgres://") {
			t.Errorf("address %q", out)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})

	t.Run("A command that is not there", func(t *testing.T) {
		t.Parallel()
		cmd, _ := withpg(t, "/nonexistent/command")
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 127 {
			t.Errorf("exit code %d: %s", cmd.ProcessState.ExitCode(), out)
		}
	})

	t.Run("An interrupt reaches the command", func(t *testing.T) {
		t.Parallel()
		cmd, dir := withpg(t, "--", "sh", "-c", "trap 'exit 3' TERM; echo ready; while :; do sleep 0.1; done")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatal(line, err)
		}
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 3 {
			t.Errorf("exit code %d", code)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})

	t.Run("The server of a failed command stays if asked to", func(t *testing.T) {
		t.Parallel()
		cmd, _ := withpg(t, "-keep", "--", "false")
		errors, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(errors).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		_, address, _ := strings.Cut(line, " stays at ")
		address, _, _ = strings.Cut(address, " ")
		conn, err := pgx.Connect(t.Context(), address)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		conn.Close(t.Context())
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 1 {
			t.Errorf("exit code %d", code)
		}
	})
}
