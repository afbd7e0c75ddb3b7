//go:build unix

package postgres

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestMain lets the test binary play the part of a process that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("POSTGRES_TEST_CHILD"); dir != "" {
		child(dir)
		return
	}
	os.Exit(m.Run())
}

// child starts a server in dir, says where, and waits to be killed. With a
// size it first puts a small disk there.
func child(dir string) {
	fail := func(err error) {
		fmt.Println("failed:", strings.ReplaceAll(err.Error(), "\n", " "), errors.Is(err, ErrNoSpace))
		os.Exit(0)
	}
	if size := os.Getenv("POSTGRES_TEST_DISK"); size != "" {
		if err := mount(dir, size); err != nil {
			fmt.Println("no disk:", err)
			os.Exit(0)
		}
	}
	s, err := Start(context.Background(), Config{Dir: dir, Version: os.Getenv("POSTGRES_TEST_VERSION"), Ephemeral: os.Getenv("POSTGRES_TEST_EPHEMERAL") != ""})
	if err != nil {
		fail(err)
	}
	fmt.Println("started:", s.process.Pid, s.URL(Superuser, "postgres"))
	<-s.Done()
}

// spawn runs child in a process of its own and returns what it says.
func spawn(t *testing.T, dir string, attributes *syscall.SysProcAttr, env ...string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, "POSTGRES_TEST_CHILD="+dir)...)
	cmd.SysProcAttr = attributes
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("cannot start such a process here: %v", err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(line)
}

func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	s, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func exec1(t *testing.T, url, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	values, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(values, " ")
}

// mustFail starts a server that must not start, and checks that the error is
// of the kind and tells what to do.
func mustFail(t *testing.T, cfg Config, kind error) {
	t.Helper()
	s, err := Start(t.Context(), cfg)
	if err == nil {
		s.Stop()
		t.Fatalf("started; want %v", kind)
	}
	e := (*Error)(nil)
	if !errors.Is(err, kind) || !errors.As(err, &e) || e.Do == "" {
		t.Fatalf("got %v; want %v with advice", err, kind)
	}
	t.Log(err)
}

// systemMajor is the major version that Start takes by itself.
func systemMajor(t *testing.T) int {
	t.Helper()
	found := Find(t.Context())
	if len(found) == 0 || found[0].Major < minMajor {
		t.Skip("no Postgres of this machine's own")
	}
	return found[0].Major
}

func TestStart(t *testing.T) {
	t.Parallel()

	t.Run("Who has no password stays out", func(t *testing.T) {
		t.Parallel()
		s := start(t, Config{Ephemeral: true, Dir: t.TempDir(), Password: "Correct0Horse"})
		if got := exec1(t, s.URL(Superuser, "postgres"), "show listen_addresses"); got != "127.0.0.1" {
			t.Errorf("got %q", got)
		}
		for _, url := range []string{
			strings.Replace(s.URL(Superuser, "postgres"), ":Correct0Horse", "", 1),
			strings.Replace(s.URL(Superuser, "postgres"), "Correct0Horse", "Correct0House", 1),
		} {
			if conn, err := pgx.Connect(t.Context(), url); err == nil {
				conn.Close(t.Context())
				t.Errorf("%s is let in", url)
			}
		}
	})

	t.Run("An ephemeral server leaves nothing behind", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s := start(t, Config{Dir: dir, Ephemeral: true})
		if got := exec1(t, s.URL(Superuser, "postgres"), "select current_setting('fsync')"); got != "off" {
			t.Errorf("fsync is %s", got)
		}
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})

	t.Run("A durable server keeps its data, and flushes it", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s := start(t, Config{Dir: dir})
		url := s.URL(Superuser, "postgres")
		got := exec1(t, url, "select name || '=' || setting from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'data_checksums') order by name")
		if got != "data_checksums=on fsync=on full_page_writes=on synchronous_commit=on" {
			t.Error(got)
		}
		exec1(t, url, "create table kept ()")
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		s = start(t, Config{Dir: dir})
		exec1(t, s.URL(Superuser, "postgres"), "table kept")
	})

	t.Run("It is open to this machine only, and through TCP only", func(t *testing.T) {
		t.Parallel()
		s := start(t, Config{Ephemeral: true, Dir: t.TempDir()})
		got := exec1(t, s.URL(Superuser, "postgres"), "select name || '=' || setting from pg_settings where name in ('listen_addresses', 'unix_socket_directories') order by name")
		if got != "listen_addresses=127.0.0.1 unix_socket_directories=" {
			t.Error(got)
		}
		got = exec1(t, s.URL(Superuser, "postgres"), "select type || ' ' || address || ' ' || auth_method from pg_hba_file_rules")
		if got != "host 127.0.0.1 trust" {
			t.Error(got)
		}
	})

	t.Run("Settings of the caller come last", func(t *testing.T) {
		t.Parallel()
		s := start(t, Config{Ephemeral: true, Dir: t.TempDir(), Settings: map[string]string{"max_connections": "17"}})
		if got := exec1(t, s.URL(Superuser, "postgres"), "select current_setting('max_connections')"); got != "17" {
			t.Error(got)
		}
	})

	t.Run("A missing pg_stat_statements is done without", func(t *testing.T) {
		t.Parallel()
		s := start(t, Config{Ephemeral: true, Dir: t.TempDir(), Settings: map[string]string{"dynamic_library_path": "/nonexistent"}})
		if got := exec1(t, s.URL(Superuser, "postgres"), "select current_setting('shared_preload_libraries')"); got != "" {
			t.Error(got)
		}
	})

	t.Run("The npm package serves where it is asked for", func(t *testing.T) {
		t.Parallel()
		if _, err := exec.LookPath("npm"); err != nil {
			t.Skip("no npm")
		}
		// A cache of its own, used by two at once: the fetch itself is tested.
		dir, cache := t.TempDir(), t.TempDir()
		results := make(chan error, 2)
		for range 2 {
			go func() {
				s, err := Start(t.Context(), Config{Dir: dir, Cache: cache, Ephemeral: true, Version: "18"})
				if err == nil {
					if !strings.HasPrefix(s.Version(), "18.") {
						err = fmt.Errorf("got version %s", s.Version())
					}
					s.Stop()
				}
				results <- err
			}()
		}
		for range 2 {
			err := <-results
			if errors.Is(err, ErrNotFound) && os.Getenv("PG") == "" {
				t.Skipf("cannot reach npm's registry: %v", err)
			}
			if err != nil {
				t.Error(err)
			}
		}
	})

	t.Run("Root without namespaces runs it as nobody", func(t *testing.T) {
		t.Parallel()
		if os.Geteuid() != 0 {
			t.Skip("not root")
		}
		dir := t.TempDir()
		if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
			t.Fatal(err)
		}
		s, err := startAs(t.Context(), Config{Dir: dir, Ephemeral: true}, user{kind: nobody, uid: 65534, gid: 65534})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Stop()
		info, err := os.Stat(s.data)
		if err != nil {
			t.Fatal(err)
		}
		if uid := info.Sys().(*syscall.Stat_t).Uid; uid != 65534 {
			t.Errorf("the data belongs to %d", uid)
		}
		exec1(t, s.URL(Superuser, "postgres"), "select 'alive'")
	})
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()

	t.Run("A folder that is in use", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s := start(t, Config{Dir: dir})
		mustFail(t, Config{Dir: dir}, ErrInUse)
		exec1(t, s.URL(Superuser, "postgres"), "select 'the first one is unharmed'")
	})

	t.Run("A port that is taken", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		mustFail(t, Config{Dir: t.TempDir(), Port: l.Addr().(*net.TCPAddr).Port}, ErrPortTaken)
	})

	t.Run("Data of a version that is not installed", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "data-9"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "data-9", "PG_VERSION"), []byte("9\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		mustFail(t, Config{Dir: dir}, ErrOtherMajor)
	})

	t.Run("A folder that lies about its version", func(t *testing.T) {
		t.Parallel()
		dir, major := t.TempDir(), systemMajor(t)
		data := filepath.Join(dir, fmt.Sprintf("data-%d", major))
		if err := os.Mkdir(data, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("14\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		mustFail(t, Config{Dir: dir}, ErrOtherMajor)
	})

	t.Run("A folder that nobody cannot come to", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		closed := filepath.Join(dir, "closed")
		if err := os.Mkdir(closed, 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := startAs(t.Context(), Config{Dir: filepath.Join(closed, "state")}, user{kind: nobody, uid: 65534, gid: 65534})
		if !errors.Is(err, ErrNotAllowed) {
			t.Errorf("got %v", err)
		}
	})

	t.Run("A full disk", func(t *testing.T) {
		t.Parallel()
		for _, size := range []string{"4k", "16m"} { // no room for the folder; no room for its content
			_, line := spawn(t, t.TempDir(), ownDisk(), "POSTGRES_TEST_DISK="+size)
			if strings.HasPrefix(line, "no disk:") {
				t.Skip(line)
			}
			if !strings.HasPrefix(line, "failed:") || !strings.HasSuffix(line, "true") || !strings.Contains(line, "free at least") {
				t.Errorf("on a disk of %s: %s", size, line)
			}
		}
	})

	t.Run("A folder that cannot be written", func(t *testing.T) {
		t.Parallel()
		if runtime.GOOS != "linux" {
			t.Skip("no folder here that is closed to root too")
		}
		mustFail(t, Config{Dir: "/sys/rowlock"}, ErrNotAllowed)
	})

	t.Run("A registry of npm's that cannot be reached", func(t *testing.T) {
		t.Parallel()
		if _, err := exec.LookPath("npm"); err != nil {
			t.Skip("no npm")
		}
		home := t.TempDir() // neither our cache nor npm's own
		_, line := spawn(t, t.TempDir(), nil, "POSTGRES_TEST_VERSION=18", "HOME="+home, "XDG_CACHE_HOME="+home,
			"npm_config_cache="+home, "npm_config_registry=http://127.0.0.1:1/", "npm_config_fetch_retries=0")
		if !strings.HasPrefix(line, "failed:") || !strings.Contains(line, "npm could not fetch Postgres 18") || !strings.Contains(line, "ECONNREFUSED") {
			t.Error(line)
		}
	})

	t.Run("A version that nobody has", func(t *testing.T) {
		t.Parallel()
		mustFail(t, Config{Dir: t.TempDir(), Version: "12"}, ErrNotFound)
	})
}

func TestStartAfterACrash(t *testing.T) {
	t.Parallel()

	t.Run("Of this process", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		cmd, line := spawn(t, dir, nil)
		var pid int
		var url string
		if _, err := fmt.Sscanf(line, "started: %d %s", &pid, &url); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		exec1(t, url, "create table kept ()")
		cmd.Process.Kill()
		cmd.Wait()
		// At once: the orphan may still be shutting down.
		s := start(t, Config{Dir: dir})
		exec1(t, s.URL(Superuser, "postgres"), "table kept")
		if s.process.Pid == pid || runsIn(pid, s.data) {
			t.Errorf("the orphan %d still runs", pid)
		}
	})

	t.Run("Of the server", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s := start(t, Config{Dir: dir})
		exec1(t, s.URL(Superuser, "postgres"), "create table kept ()")
		s.process.Kill()
		<-s.Done()
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		// The number in postmaster.pid now belongs to another program of this user.
		file := filepath.Join(s.data, "postmaster.pid")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "\n")
		if err := os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())+"\n"+rest), 0o600); err != nil {
			t.Fatal(err)
		}
		s = start(t, Config{Dir: dir})
		exec1(t, s.URL(Superuser, "postgres"), "table kept")
	})

	t.Run("Of a test run, whose folder is swept", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		cmd, line := spawn(t, dir, nil, "POSTGRES_TEST_EPHEMERAL=1")
		var pid int
		var url string
		if _, err := fmt.Sscanf(line, "started: %d %s", &pid, &url); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		cmd.Process.Kill()
		cmd.Wait()
		// The server ends by itself a moment later, where there is a signal for
		// that; until then its folder is left alone.
		if !diesWithParent {
			syscall.Kill(pid, syscall.SIGQUIT)
		}
		for ctx := t.Context(); ; {
			s, err := Start(ctx, Config{Dir: dir, Ephemeral: true})
			if err != nil {
				t.Fatal(err)
			}
			s.Stop()
			left, _ := os.ReadDir(dir)
			if len(left) == 0 {
				break
			}
			select {
			case <-ctx.Done():
				t.Fatalf("left behind: %v", left)
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
}

func TestKillAndFreeze(t *testing.T) {
	t.Parallel()

	t.Run("A killed server has lost nothing that was committed", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s := start(t, Config{Dir: dir})
		exec1(t, s.URL(Superuser, "postgres"), "create table kept ()")
		all, err := children(s.process.Pid)
		if err != nil || len(all) < 3 {
			t.Fatalf("children %v, %v", all, err)
		}
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		for _, pid := range append(all, s.process.Pid) {
			for runsIn(pid, s.data) { // a killed process ends in its own time
				time.Sleep(time.Millisecond)
			}
		}
		if _, err := os.Stat(filepath.Join(s.data, "postmaster.pid")); err != nil {
			t.Error("it has tidied up:", err)
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		s = start(t, Config{Dir: dir})
		exec1(t, s.URL(Superuser, "postgres"), "table kept")
	})

	t.Run("A frozen server answers when it has thawed", func(t *testing.T) {
		t.Parallel()
		s := start(t, Config{Ephemeral: true})
		conn, err := pgx.Connect(t.Context(), s.URL(Superuser, "postgres"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		if err := s.Freeze(); err != nil {
			t.Fatal(err)
		}
		answered := make(chan error, 1)
		go func() {
			_, err := conn.Exec(t.Context(), "select")
			answered <- err
		}()
		select {
		case err := <-answered:
			t.Error("answered meanwhile:", err)
		case <-time.After(50 * time.Millisecond):
		}
		if err := s.Thaw(); err != nil {
			t.Fatal(err)
		}
		if err := <-answered; err != nil {
			t.Error(err)
		}
	})
}

func TestStartOnAStandbysData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, Config{Dir: dir})
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Data(), "standby.signal"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.user.own(filepath.Join(s.Data(), "standby.signal")); err != nil {
		t.Fatal(err)
	}
	s = start(t, Config{Dir: dir, Env: []string{"PGAPPNAME=follower"}, Settings: map[string]string{"primary_conninfo": "host=127.0.0.1 port=1"}})
	conn, err := pgx.Connect(t.Context(), s.URL(Superuser, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var follows bool
	if err := conn.QueryRow(t.Context(), "select pg_is_in_recovery()").Scan(&follows); err != nil || !follows {
		t.Errorf("it follows: %v, %v", follows, err)
	}
	if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.process.Pid)); err == nil && !strings.Contains(string(env), "PGAPPNAME=follower") {
		t.Error("its environment is not as it was asked for")
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	var (
		pg13  = Binaries{Version: "13.9", Major: 13}
		pg15  = Binaries{Version: "15.18", Major: 15}
		pg17  = Binaries{Version: "17.2", Major: 17}
		npm   = Binaries{Version: "18.4", Major: 18, Dir: "npm"}
		works = func() (Binaries, error) { return npm, nil }
		fails = func() (Binaries, error) { return Binaries{}, &Error{Kind: ErrNotFound, What: "offline"} }
	)
	for _, c := range []struct {
		name    string
		version string
		have    []int
		found   []Binaries
		fetch   func() (Binaries, error)
		want    Binaries
		err     error
	}{
		{name: "The newest of the machine", found: []Binaries{pg17, pg15}, fetch: fails, want: pg17},
		{name: "npm where the machine has none", fetch: works, want: npm},
		{name: "npm where the machine's is too old", found: []Binaries{pg13}, fetch: works, want: npm},
		{name: "Too old and no npm", found: []Binaries{pg13}, fetch: fails, err: ErrTooOld},
		{name: "None and no npm", fetch: fails, err: ErrNotFound},
		{name: "Version 18 is npm's", version: "18", found: []Binaries{pg17}, have: []int{17}, fetch: works, want: npm},
		{name: "A version asked for", version: "15", found: []Binaries{pg17, pg15}, have: []int{17}, fetch: fails, want: pg15},
		{name: "A version asked for that is too old", version: "13", found: []Binaries{pg13}, fetch: works, err: ErrNotFound},
		{name: "The one that wrote the data", have: []int{15}, found: []Binaries{pg17, pg15}, fetch: works, want: pg15},
		{name: "npm if that wrote the data", have: []int{18, 15}, found: []Binaries{pg17, pg15}, fetch: works, want: npm},
		{name: "None that can read the data", have: []int{16}, found: []Binaries{pg17, pg15}, fetch: works, err: ErrOtherMajor},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := choose(c.version, c.have, c.found, c.fetch)
			if got != c.want || !errors.Is(err, c.err) {
				t.Errorf("got %v, %v; want %v, %v", got, err, c.want, c.err)
			}
		})
	}
}

// Whoever starts a server sweeps away what killed ones have left, and must not
// take the folder of one that is just being made.
func TestFoldersThatAreMadeAtOnceStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 200 {
				dir, unlock, err := ephemeralFolder(parent)
				if err == nil {
					_, err = os.Stat(dir)
					unlock() // as if the process had been killed
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}
