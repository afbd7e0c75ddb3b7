package report

import (
	"bufio"
	"bytes"
	"context"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Machine is what the figures belong to.
type Machine struct {
	CPU      string            `json:"cpu"`
	Cores    int               `json:"cores"`
	MemoryGB float64           `json:"memoryGb"`
	System   string            `json:"system"`
	Kernel   string            `json:"kernel"`
	Go       string            `json:"go"`
	Postgres string            `json:"postgres"`
	Redis    string            `json:"redis,omitempty"` // "": none
	Settings map[string]string `json:"settings"`        // of Postgres, those that matter
}

// settings of Postgres that figures hang on.
var settings = []string{
	"fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "commit_delay", "shared_buffers", "max_connections",
	"max_wal_size", "checkpoint_timeout", "autovacuum", "data_checksums", "jit",
}

// ThisMachine asks the machine, and the server that the pool leads to. What it
// cannot find out stays empty.
func ThisMachine(ctx context.Context, pool *pgxpool.Pool) (m Machine, err error) {
	m = Machine{Cores: runtime.NumCPU(), Go: strings.TrimPrefix(runtime.Version(), "go"), Settings: map[string]string{}}
	m.CPU = field("/proc/cpuinfo", "model name", ":")
	if kb, err := strconv.ParseFloat(strings.TrimSuffix(field("/proc/meminfo", "MemTotal", ":"), " kB"), 64); err == nil {
		m.MemoryGB = math.Round(kb / (1 << 20))
	}
	m.System = strings.Trim(field("/etc/os-release", "PRETTY_NAME", "="), `"`)
	if m.System == "" {
		m.System = runtime.GOOS
	}
	m.Kernel = output(ctx, "uname", "-sr")
	if text := output(ctx, "redis-server", "--version"); text != "" {
		_, after, _ := strings.Cut(text, "v=")
		m.Redis, _, _ = strings.Cut(after, " ")
	}
	for _, name := range append([]string{"server_version"}, settings...) {
		var value string
		if err := pool.QueryRow(ctx, "show "+name).Scan(&value); err != nil {
			return m, err
		}
		if name == "server_version" {
			m.Postgres, _, _ = strings.Cut(value, " ")
		} else {
			m.Settings[name] = value
		}
	}
	return m, nil
}

// Commit is the one that the files are of, short; with a + when some of them
// were changed since.
func Commit(ctx context.Context) string {
	commit := output(ctx, "git", "rev-parse", "--short=9", "HEAD")
	if commit == "" {
		return "unknown"
	}
	if output(ctx, "git", "status", "--porcelain", "--untracked-files=no", "--", ":!bench/results", ":!bench/plots", ":!bench/README.md") != "" {
		commit += "+"
	}
	return commit
}

// field is what stands behind a name in a file of the system.
func field(file, name, sep string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), sep); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func output(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
