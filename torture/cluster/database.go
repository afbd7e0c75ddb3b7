//go:build unix

package cluster

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/postgres"
)

var (
	//go:embed sql/backup_start.sql
	sqlBackupStart string
	//go:embed sql/backup_stop.sql
	sqlBackupStop string
	//go:embed sql/streaming.sql
	sqlStreaming string
	//go:embed sql/synchronous.sql
	sqlSynchronous string
	//go:embed sql/await_standby.sql
	sqlAwaitStandby string
	//go:embed sql/reload.sql
	sqlReload string
	//go:embed sql/promote.sql
	sqlPromote string
)

// databaseName is that of Rowlock's database.
const databaseName = "rowlock"

// site is a place where a Postgres runs, as primary or as standby.
type site struct {
	name string // "a" or "b"
	dir  string
	port int
	log  *slog.Logger

	server *postgres.Server // nil: none has run here
}

// database is one or two servers, of which one takes writes.
type database struct {
	turn      turn // of faults
	clockTurn turn // of those of the clock
	standby   bool
	settings  map[string]string
	env       []string
	clock     string // the file that steps the clock; "": it cannot be stepped
	logs      []*os.File
	falls     []*falls

	mu      sync.Mutex
	primary *site
	other   *site
}

// newDatabase says where servers are to run, and starts none.
func newDatabase(cfg *Config, connections int) (*database, error) {
	d := &database{turn: newTurn(), clockTurn: newTurn(), standby: cfg.Standby, settings: map[string]string{
		"max_connections":          fmt.Sprint(connections),
		"shared_buffers":           "64MB",
		"shared_preload_libraries": "",
		// Files of the data folder, which go with it, where others would stay
		// behind in /dev/shm each time that a server is killed.
		"dynamic_shared_memory_type": "mmap",
		// The copy takes no WAL along, and fetches what was written meanwhile.
		"wal_keep_size":                "512MB",
		"max_wal_size":                 "256MB",
		"wal_retrieve_retry_interval":  "100ms",
		"wal_receiver_status_interval": "1s",
	}}
	if runtime.GOOS == "linux" {
		// Before it recovers, a server flushes all its files, one by one unless
		// the kernel can do it in one go.
		d.settings["recovery_init_sync_method"] = "syncfs"
	}
	for _, s := range []struct {
		name string
		at   **site
	}{{"a", &d.primary}, {"b", &d.other}} {
		file, err := os.Create(filepath.Join(cfg.Dir, "postgres-"+s.name+".log"))
		if err != nil {
			return nil, err
		}
		watched := &falls{log: file}
		d.logs, d.falls = append(d.logs, file), append(d.falls, watched)
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		*s.at = &site{
			name: s.name, dir: filepath.Join(cfg.Dir, "postgres-"+s.name), port: port,
			log: slog.New(slog.NewTextHandler(watched, &slog.HandlerOptions{Level: slog.LevelDebug})),
		}
	}
	return d, nil
}

// run starts a server on the data of a site, which is made if there is none.
func (d *database) run(ctx context.Context, s, of *site) error {
	settings := map[string]string{}
	for name, value := range d.settings {
		settings[name] = value
	}
	// It means something to a standby only, and a standby is what either may be.
	settings["primary_conninfo"] = fmt.Sprintf("host=127.0.0.1 port=%d user=%s application_name=standby", of.port, postgres.Superuser)
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		server, err := postgres.Start(ctx, postgres.Config{Dir: s.dir, Port: s.port, Settings: settings, Env: d.env, Log: s.log})
		if err == nil {
			s.server = server
			return nil
		}
		if !portTaken(err) || time.Since(began) > portMax {
			return err
		}
	}
}

// address of a role at a site.
func (s *site) address(role string) string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", role, s.port, databaseName)
}

// upstream is where the present primary listens.
func (d *database) upstream() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Sprintf("127.0.0.1:%d", d.primary.port)
}

// url is the address of the present primary.
func (d *database) url(role string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.primary.address(role)
}

// admin connects to a server as whoever looks after it. What is done there must
// not wait for a standby that is hung or gone.
func admin(ctx context.Context, s *site) (*pgx.Conn, error) {
	c, err := pgx.ParseConfig(s.address(postgres.Superuser))
	if err != nil {
		return nil, err
	}
	c.Database = "postgres"
	c.RuntimeParams["synchronous_commit"] = "local"
	return pgx.ConnectConfig(ctx, c)
}

// letStandbyIn changes who may connect: "all" databases do not include the
// stream of changes.
func letStandbyIn(ctx context.Context, s *site) error {
	hba, err := os.OpenFile(filepath.Join(s.server.Data(), "pg_hba.conf"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = hba.WriteString("host replication " + postgres.Superuser + " 127.0.0.1/32 trust\n")
	if err := errors.Join(err, hba.Close()); err != nil {
		return err
	}
	conn, err := admin(ctx, s)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, sqlReload)
	return err
}

// follow makes a standby of the primary at the other site, from a fresh copy,
// and returns when every commit waits for it.
func (d *database) follow(ctx context.Context) error {
	conn, err := admin(ctx, d.primary)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if d.other.server != nil { // it may have begun to follow before, and not got there
		if err := d.other.server.Kill(); err != nil {
			return err
		}
	}
	if err := d.copy(ctx, conn); err != nil {
		return fmt.Errorf("cluster: copy for a standby: %w", err)
	}
	if err := d.run(ctx, d.other, d.primary); err != nil {
		return err
	}
	if err := await(ctx, conn, sqlStreaming); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, sqlAwaitStandby); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, sqlReload); err != nil {
		return err
	}
	return await(ctx, conn, sqlSynchronous)
}

// await asks again and again until the answer is yes.
func await(ctx context.Context, conn *pgx.Conn, question string) error {
	for {
		var yes bool
		if err := conn.QueryRow(ctx, question).Scan(&yes); err != nil || yes {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cluster: no standby follows: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// copy makes the data of the other site a copy of the primary's, which goes on
// meanwhile. pg_basebackup would do, but does not come with every server.
func (d *database) copy(ctx context.Context, conn *pgx.Conn) error {
	from := d.primary.server.Data()
	to := filepath.Join(d.other.dir, filepath.Base(from))
	if err := empty(to); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, sqlBackupStart); err != nil {
		return err
	}
	if err := copyData(ctx, from, to); err != nil {
		return err
	}
	var label string
	if err := conn.QueryRow(ctx, sqlBackupStop).Scan(&label); err != nil {
		return err
	}
	for name, text := range map[string]string{"backup_label": label, "standby.signal": ""} {
		if err := writeLike(from, filepath.Join(to, name), text); err != nil {
			return err
		}
	}
	return nil
}

// empty removes what is in a folder, and makes it if need be. The folder itself
// stays: by its number the next server finds, and frees, the shared memory that
// one which was killed has left behind.
func empty(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// notCopied are files of a running server and folders whose content means
// nothing to another one: it makes that anew, or fetches it.
var notCopied = map[string]bool{
	"postmaster.pid": true, "postmaster.opts": true, "backup_label": true, "tablespace_map": true, "standby.signal": true,
	"pg_wal": true, "pg_replslot": true, "pg_dynshmem": true, "pg_notify": true, "pg_serial": true,
	"pg_snapshots": true, "pg_stat_tmp": true, "pg_subtrans": true,
}

// copyData copies the files of a running server, whose pages may be torn and
// are mended by WAL. A file may vanish meanwhile.
func copyData(ctx context.Context, from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		switch {
		case entry.IsDir():
			if err := os.MkdirAll(target, 0o700); err != nil {
				return err
			}
			if err := errors.Join(os.Chmod(target, 0o700), ownLike(path, target)); err != nil {
				return err
			}
			if notCopied[name] {
				return fs.SkipDir
			}
			return nil
		case notCopied[name], strings.HasPrefix(entry.Name(), "pgsql_tmp"):
			return nil
		}
		return copyFile(path, target)
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	return ownLike(filepath.Dir(from), to)
}

func writeLike(like, path, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	return ownLike(like, path)
}

// ownLike gives a file to the owner of another, who is not us where Postgres
// has to run as somebody else.
func ownLike(like, path string) error {
	info, err := os.Stat(like)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if of, ok := info.Sys().(*syscall.Stat_t); ok && int(of.Uid) != os.Getuid() {
		return os.Chown(path, int(of.Uid), int(of.Gid))
	}
	return nil
}

// crash kills the primary, and starts it again on its data when down is over;
// it returns when that was.
func (d *database) crash(ctx context.Context, down time.Duration) (time.Duration, error) {
	if err := d.primary.server.Kill(); err != nil {
		return 0, err
	}
	down = last(ctx, down)
	ctx, cancel := repair(ctx)
	defer cancel()
	if err := d.run(ctx, d.primary, d.other); err != nil {
		return down, err
	}
	return down, d.awaitSynchronous(ctx)
}

// awaitSynchronous waits until the standby follows again, if there is one.
func (d *database) awaitSynchronous(ctx context.Context) error {
	if !d.standby {
		return nil
	}
	return insist(ctx, func(ctx context.Context) error {
		conn, err := admin(ctx, d.primary)
		if err != nil {
			return err
		}
		defer conn.Close(context.WithoutCancel(ctx))
		return await(ctx, conn, sqlSynchronous)
	})
}

// failOver replaces a primary that has been killed by its standby. moved is
// called as soon as that takes writes; they hang until it has a standby itself.
func (d *database) failOver(ctx context.Context, moved func() error) error {
	conn, err := admin(ctx, d.other)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var promoted bool
	if err := conn.QueryRow(ctx, sqlPromote).Scan(&promoted); err != nil || !promoted {
		return errors.Join(errors.New("cluster: the standby was not promoted"), err)
	}
	d.mu.Lock()
	d.primary, d.other = d.other, d.primary
	d.mu.Unlock()
	if err := moved(); err != nil {
		return err
	}
	return insist(ctx, d.follow)
}

// close ends the servers.
func (d *database) close() (err error) {
	for _, s := range []*site{d.primary, d.other} {
		if s.server != nil {
			_ = s.server.Thaw() // it may have ended long ago
			err = errors.Join(err, s.server.Stop())
		}
	}
	for _, f := range d.logs {
		f.Close()
	}
	return err
}

// repair is time for repairing, even if the fault was cut short.
func repair(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), repairMax)
}
