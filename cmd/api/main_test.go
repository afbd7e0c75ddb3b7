package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/pgtest"
	"github.com/rowlock/rowlock/internal/store"
)

// asRowlock makes the test binary be rowlock itself, for tests of a process.
const asRowlock = "ROWLOCK_TEST_AS_ROWLOCK"

func TestMain(m *testing.M) {
	if os.Getenv(asRowlock) != "" {
		main()
	}
	// The tests say by flags what they mean; a developer's database stays out.
	for _, name := range []string{"DATABASE_URL", "DATABASE_DIRECT_URL", "DATABASE_LANE_URL", "MIGRATE_DATABASE_URL"} {
		os.Unsetenv(name)
	}
	pgtest.Main(m)
}

// limit turns a hang into a failure.
const limit = time.Minute

// until asks again and again whether something is so, where there is no event
// to wait for.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !so(); {
		if time.Now().After(deadline) {
			t.Fatalf("it never came about: %s", what)
		}
	}
}

// verb runs a verb in this process and returns what it printed.
func verb(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = rowlock(args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// must is verb for what cannot fail.
func must(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	code, stdout, stderr := verb(t, "", args...)
	if code != 0 {
		t.Fatalf("rowlock %s: exit %d\n%s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

// process is a rowlock of its own.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	base  string // http://host:port
	log   lockedBuffer
	said  chan string // lines of stdout
	ended chan error
}

// start runs rowlock with exactly this environment, on a free port.
func start(t *testing.T, env map[string]string, args ...string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command(exe, args...), said: make(chan string, 1000), ended: make(chan error, 1)}
	p.cmd.Env = []string{asRowlock + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "PG=" + os.Getenv("PG"), "ADDR=127.0.0.1:0"}
	for name, value := range env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	p.cmd.Stderr = &p.log
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			p.said <- lines.Text()
		}
		close(p.said)
		p.ended <- p.cmd.Wait()
	}()
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			p.cmd.Process.Kill()
			<-p.ended
		}
		if t.Failed() {
			t.Logf("log of rowlock %s:\n%s", strings.Join(args, " "), p.log.String())
		}
	})
	return p
}

var servingAt = regexp.MustCompile(`msg=serving addr=(\S+)`)

// ready waits until the process says that it is ready.
func (p *process) ready() *process {
	p.t.Helper()
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); {
		if p.base == "" {
			if m := servingAt.FindStringSubmatch(p.log.String()); m != nil {
				p.base = "http://" + m[1]
			}
		} else if code, _ := p.get("/readyz"); code == http.StatusOK {
			return p
		}
		select {
		case err := <-p.ended:
			p.ended <- err
			p.t.Fatalf("it ended before it was ready: %v", err)
		case <-time.After(10 * time.Millisecond): // a poll: there is nothing to wait for
		}
	}
	p.t.Fatal("it did not become ready")
	return nil
}

func (p *process) get(path string) (code int, body string) {
	return p.send(http.MethodGet, path, "", nil)
}

// send makes a request; code 0 is one that was not answered.
func (p *process) send(method, path, body string, header map[string]string) (code int, answer string) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, p.base+path, strings.NewReader(body))
	if err != nil {
		p.t.Error(err)
		return 0, ""
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	if err != nil {
		return 0, err.Error()
	}
	return w.StatusCode, string(text)
}

// terminate asks for the end.
func (p *process) terminate() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Error(err)
	}
}

// wait waits for the end, which must be a good one.
func (p *process) wait() {
	p.t.Helper()
	if code := p.exit(); code != 0 {
		p.t.Errorf("exit code %d", code)
	}
}

// exit waits for the end and returns the exit code.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case err := <-p.ended:
		p.ended <- err
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(limit):
		p.t.Fatal("it did not end")
		return -1
	}
}

// production is the environment of a service in production on the database.
func production(db *pgtest.DB) map[string]string {
	return map[string]string{
		"DATABASE_URL": db.URL(store.RoleApp), "DATABASE_LANE_URL": db.URL(store.RoleLane),
		"SESSION_SECRET": "0123456789abcdef0123456789abcdef", "LOG_FORMAT": "text",
		"TICKET_KEYS": strings.Repeat("0123456789abcdef", 4),
	}
}

// with is env and more.
func with(env map[string]string, pairs ...string) map[string]string {
	for i := 0; i < len(pairs); i += 2 {
		env[pairs[i]] = pairs[i+1]
	}
	return env
}

func TestHelpNamesEveryVerbAndSetting(t *testing.T) {
	t.Parallel()
	help := must(t)
	for _, verb := range []string{"serve", "work", "migrate", "roles", "openapi", "apikey", "import", "demo", "run", "reset", "prove", "ops", "version", "completion"} {
		if !regexp.MustCompile(`(?m)^  ` + verb + ` `).MatchString(help) {
			t.Errorf("no %s in\n%s", verb, help)
		}
	}
	if text := must(t, "settings"); !strings.Contains(text, "`SHUTDOWN_TIMEOUT`") || !strings.Contains(text, "`--lane-batch-max`") {
		t.Errorf("settings: %s", text)
	}
	if text := must(t, "serve", "--help"); !strings.Contains(text, "--jobs ") || !strings.Contains(text, `(default "localhost:8080")`) {
		t.Errorf("serve --help: %s", text)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if text := must(t, "completion", shell); !strings.Contains(text, "rowlock") {
			t.Errorf("completion %s: %.100s", shell, text)
		}
	}
	if text := must(t, "__complete", "apikey", "create", "--scopes", ""); !strings.Contains(text, "reservations:staff") {
		t.Errorf("scopes are not completed: %s", text)
	}
}

func TestWhatThereIsNotIsRefusedWithTwo(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"sell"}, {"serve", "now"}, {"serve", "--speed=11"}, {"import"}, {"apikey", "revoke", "the first one", "--database-url=x"}, {"apikey", "create"},
	} {
		if code, _, stderr := verb(t, "", args...); code != 2 || !strings.HasPrefix(stderr, "rowlock: ") {
			t.Errorf("%v: exit %d, %s", args, code, stderr)
		}
	}
	if code, _, stderr := verb(t, "", "migrate", "--data-dir="+t.TempDir()); code != 1 || !strings.Contains(stderr, "MIGRATE_DATABASE_URL") {
		t.Errorf("no database: exit %d, %s", code, stderr)
	}
}

// lockedBuffer is written by a process while a test reads it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
