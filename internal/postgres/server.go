//go:build unix

package postgres

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stopLimit is how long a server may take to write its last checkpoint.
const stopLimit = 30 * time.Second

// Server is a running Postgres. It ends with [Server.Stop], or with this process.
type Server struct {
	binaries Binaries
	data     string
	port     int
	cfg      Config
	user     user
	log      *slog.Logger
	release  func() // gives the folder back

	process *os.Process
	exited  chan struct{}
	stop    sync.Once
	stopErr error
}

// Start starts a server and returns when it takes connections. ctx limits the
// start only. Errors with a known cure are of type [*Error].
func Start(ctx context.Context, cfg Config) (*Server, error) {
	return startAs(ctx, cfg, serverUser())
}

func startAs(ctx context.Context, cfg Config, u user) (_ *Server, err error) {
	s := &Server{cfg: cfg, user: u, log: cfg.Log}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	dir, release, err := s.folder()
	if err != nil {
		return nil, err
	}
	s.release = release
	defer func() {
		if err != nil {
			s.release()
		}
	}()
	s.binaries, err = choose(cfg.Version, dataMajors(dir), Find(ctx), func() (Binaries, error) {
		cache, err := s.cache()
		if err != nil {
			return Binaries{}, err
		}
		return fetchNPM(ctx, cache, s.log)
	})
	if err != nil {
		return nil, err
	}
	if err := u.reach(filepath.Join(s.binaries.Dir, "postgres")); err != nil {
		return nil, err
	}
	s.data = filepath.Join(dir, fmt.Sprintf("data-%d", s.binaries.Major))
	if err := s.initialise(ctx); err != nil {
		return nil, err
	}
	if err := takeOver(ctx, s.data); err != nil {
		return nil, err
	}
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	s.log.Info("Postgres is up", "version", s.binaries.Version, "port", s.port, "data", s.data)
	return s, nil
}

// Version is the server's own, such as "15.18".
func (s *Server) Version() string { return s.binaries.Version }

// URL is the address for a role and a database, with the password.
func (s *Server) URL(role, database string) string {
	if s.cfg.Password != "" {
		role += ":" + s.cfg.Password
	}
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", role, s.port, database)
}

// Data is the folder of the data.
func (s *Server) Data() string { return s.data }

// Done is closed when the server has ended, wanted or not.
func (s *Server) Done() <-chan struct{} { return s.exited }

// Stop ends the server: connections are cut, the data is written out (removed
// if ephemeral). Calling it again returns the same error.
func (s *Server) Stop() error {
	s.stop.Do(func() {
		defer s.release()
		signals := []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL}
		if s.cfg.Ephemeral {
			signals = signals[1:] // there is nothing worth a checkpoint
		}
		for _, sig := range signals {
			s.process.Signal(sig)
			select {
			case <-s.exited:
				return
			case <-time.After(stopLimit):
				s.stopErr = fmt.Errorf("postgres: did not stop within %v of %v", stopLimit, sig)
			}
		}
	})
	return s.stopErr
}

// folder locks the folder in which the data lies, or is to lie.
func (s *Server) folder() (dir string, release func(), err error) {
	if s.cfg.Ephemeral {
		dir, unlock, err := ephemeralFolder(s.cfg.Dir)
		if err != nil {
			return "", nil, err
		}
		// The server's user has to come through; its data folder stays private.
		return dir, func() { os.RemoveAll(dir); unlock() }, os.Chmod(dir, 0o711)
	}
	// The server works in its data folder, so a relative path would not do.
	dir, err = filepath.Abs(s.cfg.Dir)
	if err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, diskError(dir, err)
	}
	release, err = lock(filepath.Join(dir, "lock"))
	return dir, release, diskError(dir, err)
}

func (s *Server) cache() (string, error) {
	if s.cfg.Cache != "" {
		return s.cfg.Cache, nil
	}
	if s.user.kind == nobody {
		return "/var/cache/rowlock", nil // root's own is closed to nobody
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "rowlock"), err
}

// initialise makes the data folder unless it is there.
func (s *Server) initialise(ctx context.Context) error {
	u := s.user
	if err := u.reach(s.data); err != nil {
		return err
	}
	if _, err := os.Stat(s.data); err == nil {
		return checkMajor(s.data, s.binaries)
	}
	// Built aside and renamed: a start cut short leaves no half folder behind.
	fresh := s.data + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if err := os.Mkdir(fresh, 0o700); err != nil {
		return diskError(fresh, err)
	}
	defer os.RemoveAll(fresh)
	if err := u.own(fresh); err != nil {
		return err
	}
	// The C locale sorts the same on every machine, and starts fastest.
	args := []string{"-D", fresh, "-U", Superuser, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-instructions"}
	method := "trust"
	if s.cfg.Password != "" {
		method = "scram-sha-256"
		file := fresh + ".password" // not an argument: those can be seen
		defer os.Remove(file)
		if err := os.WriteFile(file, []byte(s.cfg.Password+"\n"), 0o600); err != nil {
			return diskError(file, err)
		}
		if err := u.own(file); err != nil {
			return err
		}
		args = append(args, "--pwfile", file)
	}
	if s.cfg.Ephemeral {
		args = append(args, "--no-sync")
	} else {
		args = append(args, "--data-checksums")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.binaries.Dir, "initdb"), args...)
	cmd.Env = environment
	cmd.Dir = "/" // where we are may be closed to the server's user
	cmd.SysProcAttr = u.attributes(syscall.SIGKILL)
	if out, err := withThread(cmd.CombinedOutput); err != nil {
		return s.explain(fmt.Sprintf("initdb failed (%v)", err), string(out))
	}
	// One way in: this machine, over TCP. Other people's programs run on it,
	// too, and a superuser of Postgres can run any as us.
	hba := []byte("# type database user address method\nhost all all 127.0.0.1/32 " + method + "\n")
	if err := os.WriteFile(filepath.Join(fresh, "pg_hba.conf"), hba, 0o600); err != nil {
		return diskError(fresh, err)
	}
	return os.Rename(fresh, s.data)
}

// environment of the server: the caller's PGPORT, LANG and the like must not
// change what runs.
var environment = []string{"LC_ALL=C", "TZ=UTC", "PATH=/usr/bin:/bin"}

// withThread keeps the goroutine on one thread meanwhile: Linux sends the
// parent-death signal when the *thread* that forked ends, and Go ends threads
// as it likes.
func withThread[T any](f func() (T, error)) (T, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return f()
}

// run starts the server, and again where the failure has a remedy: a free port
// lost to another process, an extension that is not installed, remains of a
// killed server that are still ending.
func (s *Server) run(ctx context.Context) error {
	settings := s.settings()
	for attempt := 1; ; attempt++ {
		if err := s.pickPort(); err != nil {
			return err
		}
		settings["port"] = strconv.Itoa(s.port)
		err := s.launch(ctx, settings)
		switch {
		case err == nil:
			return nil
		case attempt == 50:
			return err
		case s.cfg.Port == 0 && errors.Is(err, ErrPortTaken):
		case errors.Is(err, errNoStatements) && settings["shared_preload_libraries"] == statements:
			s.log.Info("pg_stat_statements is not installed: slow statements are not counted")
			settings["shared_preload_libraries"] = ""
		case errors.Is(err, errStillEnding):
			select {
			case <-ctx.Done():
				return err
			case <-time.After(100 * time.Millisecond):
			}
		default:
			return err
		}
	}
}

const statements = "pg_stat_statements"

var (
	errNoStatements = errors.New("pg_stat_statements is not installed")
	errStillEnding  = errors.New("a killed server's children still run")
)

func (s *Server) settings() map[string]string {
	m := map[string]string{
		"listen_addresses":         "127.0.0.1",
		"unix_socket_directories":  "",
		"max_connections":          "200",
		"shared_buffers":           "256MB",
		"shared_preload_libraries": statements,
		"track_io_timing":          "on",
		"fsync":                    "on",
		"synchronous_commit":       "on",
		"timezone":                 "UTC",
		"log_timezone":             "UTC",
		"log_line_prefix":          "", // slog has the time
	}
	if s.cfg.Ephemeral {
		m["fsync"], m["synchronous_commit"], m["full_page_writes"] = "off", "off", "off"
		m["shared_buffers"] = "128MB"
	}
	maps.Copy(m, s.cfg.Settings)
	return m
}

func (s *Server) pickPort() error {
	s.port = s.cfg.Port
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return portTaken(s.port)
		}
		return err
	}
	s.port = l.Addr().(*net.TCPAddr).Port
	return l.Close()
}

// launch starts the process once and waits until it takes connections.
func (s *Server) launch(ctx context.Context, settings map[string]string) error {
	args := []string{"-D", s.data}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	cmd := exec.Command(filepath.Join(s.binaries.Dir, "postgres"), args...)
	cmd.Env = slices.Concat(environment, s.cfg.Env)
	cmd.Dir = "/"
	death := syscall.SIGINT
	if s.cfg.Ephemeral {
		death = syscall.SIGQUIT
	}
	cmd.SysProcAttr = s.user.attributes(death)
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stderr = w

	exited := make(chan struct{})
	started := make(chan error, 1)
	go func() {
		// Locked for the server's whole life and never unlocked: should this
		// thread end, Linux would take that for the death of the parent.
		runtime.LockOSThread()
		err := cmd.Start()
		w.Close()
		started <- err
		if err == nil {
			cmd.Wait()
		}
		close(exited)
	}()
	if err := <-started; err != nil {
		r.Close()
		return err
	}
	ready := make(chan struct{})
	said := make(chan string, 1)
	go func() { said <- s.listen(r, ready) }()

	select {
	case <-ready:
		s.process, s.exited = cmd.Process, exited
		return nil
	case <-exited:
		return s.explain(fmt.Sprintf("the server ended at once (%v)", cmd.ProcessState), <-said)
	case <-ctx.Done():
		cmd.Process.Signal(syscall.SIGQUIT)
		<-exited
		return fmt.Errorf("postgres: the server was not ready in time: %w\n%s", ctx.Err(), tail(<-said, 15))
	}
}

// listen passes the server's log on and closes ready when it says so itself.
// It returns what was said before that.
func (s *Server) listen(r io.ReadCloser, ready chan struct{}) string {
	defer r.Close()
	var said strings.Builder
	isReady := false
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		level := slog.LevelDebug
		if strings.HasPrefix(line, "PANIC:") {
			level = slog.LevelError
		}
		s.log.Log(context.Background(), level, line, "from", "postgres")
		if isReady {
			continue
		}
		said.WriteString(line + "\n")
		if strings.Contains(line, "database system is ready to accept ") { // connections; of a standby, read-only ones
			isReady = true
			close(ready)
		}
	}
	io.Copy(io.Discard, r) // a line beyond the buffer must not block the server
	return said.String()
}

// explain makes an error of what the server said before it gave up.
func (s *Server) explain(what, said string) error {
	has := func(text string) bool { return strings.Contains(said, text) }
	switch {
	case has("Address already in use"):
		return portTaken(s.port)
	case has("No space left on device"), has("Disk quota exceeded"):
		return noSpace(s.data, tail(said, 5))
	case has(`could not access file "` + statements + `"`):
		return errNoStatements
	case has("pre-existing shared memory block"):
		return &Error{Kind: errStillEnding, What: errStillEnding.Error(), Do: "end them", Log: tail(said, 5)}
	}
	return &Error{Kind: errors.New("the server did not start"), What: what, Log: tail(said, 15)}
}

func portTaken(port int) error {
	return &Error{
		Kind: ErrPortTaken,
		What: fmt.Sprintf("another program listens on 127.0.0.1:%d", port),
		Do:   "stop it, or choose another port (0 takes any free one)",
	}
}

func noSpace(dir, log string) error {
	return &Error{
		Kind: ErrNoSpace,
		What: "the disk that holds " + dir + " is full",
		Do:   "free at least 200 MB there",
		Log:  log,
	}
}

// diskError adds the cure when err is a full disk, or a folder closed to us.
func diskError(dir string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return noSpace(dir, "")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return &Error{Kind: ErrNotAllowed, What: fmt.Sprintf("the data cannot be kept in %s (%v)", dir, err), Do: "choose another folder with DATA_DIR"}
	}
	return err
}

// tail is the last n lines of text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
