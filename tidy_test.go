// Package rowlock_test holds the house rules of docs and style as tests: who
// may import whom, where SQL stands, what every package must say, and that
// generated files are what their source says.
package rowlock_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/rowlock/rowlock/"

type listedPackage struct {
	ImportPath string
	Dir        string
	Doc        string
	Imports    []string
	GoFiles    []string
}

// output runs a command and returns what it prints.
func output(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.Bytes())
	}
	return out
}

var listed = sync.OnceValue(func() []byte {
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,Imports,GoFiles", "./...").Output()
	if err != nil {
		panic(err)
	}
	return out
})

func packages(t *testing.T) []listedPackage {
	t.Helper()
	var all []listedPackage
	for d := json.NewDecoder(bytes.NewReader(listed())); ; {
		var p listedPackage
		if err := d.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		p.ImportPath = strings.TrimPrefix(p.ImportPath, module)
		if len(p.GoFiles) > 0 { // else nothing but tests
			all = append(all, p)
		}
	}
}

// below says what each package of this module may import of it. A name that
// ends in a slash means all that is under it.
var below = map[string][]string{
	"internal/boxoffice": {},

	"internal/lanes":     {"internal/boxoffice"},
	"internal/payment":   {"internal/boxoffice"},
	"internal/sandbox":   {"internal/boxoffice"},
	"internal/tickets":   {"internal/boxoffice"},
	"internal/mail":      {"internal/boxoffice"},
	"internal/seatplan":  {"internal/boxoffice"},
	"internal/live":      {"internal/boxoffice"},
	"internal/web":       {"internal/boxoffice"},
	"internal/telemetry": {"internal/boxoffice"},
	"internal/config":    {},
	"internal/recent":    {},
	"internal/postgres":  {},

	"sql/queries":    {},
	"sql/migrations": {},
	"sql/roles":      {},
	"sql/ops":        {},

	"internal/store":    {"internal/boxoffice", "internal/lanes", "internal/live", "internal/recent", "sql/"},
	"internal/checkout": {"internal/boxoffice", "internal/payment", "internal/store", "internal/tickets"},
	"internal/jobs":     {"internal/boxoffice", "internal/checkout", "internal/mail", "internal/store", "internal/telemetry", "internal/tickets"},
	"internal/api":      {"internal/boxoffice", "internal/checkout", "internal/payment", "internal/store", "internal/telemetry", "internal/tickets", "internal/live", "internal/recent", "internal/seatplan"},

	// Not part of the service: they stand beside it and use what they like of it.
	"cmd/":              {"internal/", "sql/"},
	"bench/":            {"bench/", "internal/", "sql/"},
	"bench":             {"bench/", "internal/", "sql/"},
	"torture/":          {"internal/", "sql/"},
	"torture":           {"torture/", "internal/", "sql/"},
	"internal/sim":      {"internal/", "sql/"},
	"internal/pgtest":   {"internal/postgres", "internal/store", "sql/"},
	"internal/pgtest/":  {"internal/pgtest", "internal/postgres"},
	"internal/fixture":  {"internal/", "sql/"},
	"internal/fixture/": {"internal/", "sql/"},
	"internal/tools/":   {},
}

// testOnly are packages that a shipped one must not import.
var testOnly = []string{"internal/pgtest", "internal/fixture", "internal/sim"}

func covers(pattern, pkg string) bool {
	return pattern == pkg || strings.HasSuffix(pattern, "/") && strings.HasPrefix(pkg, pattern)
}

func TestImportsOnlyGoDown(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		allowed, known := below[p.ImportPath]
		if !known {
			for pattern, list := range below {
				if covers(pattern, p.ImportPath) {
					allowed, known = list, true
				}
			}
		}
		if !known {
			t.Errorf("%s: nobody said what it may import: add it to below", p.ImportPath)
			continue
		}
		for _, imported := range p.Imports {
			pkg, ours := strings.CutPrefix(imported, module)
			if ours && !slices.ContainsFunc(allowed, func(pattern string) bool { return covers(pattern, pkg) }) {
				t.Errorf("%s imports %s, which is not below it", p.ImportPath, pkg)
			}
			// The plans and shows of the demo are data of the product, made by its fixtures.
			if ours && slices.Contains(testOnly, pkg) && (strings.HasPrefix(p.ImportPath, "cmd/") || p.ImportPath == "internal/fixture/demo") {
				t.Errorf("%s imports %s, which is for tests", p.ImportPath, pkg)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if len(p.Doc) < 20 {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

// statement finds SQL in a string, and not the English that reads like it.
var statement = regexp.MustCompile(`(?i)^\s*(select\s.+\sfrom\s|select\s+\w+\(|insert\s+into\s|update\s+\w+\s+set\s|delete\s+from\s|with\s+\w+\s+as\s*\(|(create|alter|drop|truncate)\s+(table|index|role|database|schema|function|unique|type)\s|listen\s+\w+$|notify\s+\w+)`)

func TestAllSQLIsInFiles(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		// Tests may; the naive ways of bench/race are there to be seen beside
		// each other; the generator's SQL ends up in sql/migrations.
		if slices.Contains(testOnly, p.ImportPath) || strings.HasPrefix(p.ImportPath, "bench/") || p.ImportPath == "internal/tools/rivermigrations" {
			continue
		}
		for _, name := range p.GoFiles {
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil && statement.MatchString(text) {
						t.Errorf("%s: SQL in Go: %.60q", files.Position(lit.Pos()), text)
					}
				}
				return true
			})
		}
	}
}

func TestTheRuleAboutSQLFindsSQL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"select 1 from shows":                true,
		"\n\tinsert into shows values ($1)":  true,
		"UPDATE shows SET status = 'paused'": true,
		"select pg_try_advisory_lock($1)":    true,
		"create table t (a int)":             true,
		"select the seats that you want":     false,
		"update the page":                    false,
		"delete it and start over":           false,
		"with a key as the password":         false,
		"insert your card":                   false,
	} {
		if statement.MatchString(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// files are the repository's: what git knows, and what is new and not ignored.
func files(t *testing.T) []string {
	t.Helper()
	list := strings.Split(strings.TrimSpace(string(output(t, "git", "ls-files", "--cached", "--others", "--exclude-standard"))), "\n")
	return slices.DeleteFunc(list, func(name string) bool {
		info, err := os.Lstat(name)
		return err != nil || !info.Mode().IsRegular() // removed and not yet committed, or a link
	})
}

func TestNoFileKnowsTheMachineItWasWrittenOn(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	foreign := map[string]string{"a home folder": `/(home|Users)/[a-z]`}
	if up := filepath.Dir(here); strings.Count(up, "/") > 0 && len(up) > 4 {
		foreign["where this repository lies"] = regexp.QuoteMeta(up) + `/`
	}
	for name, where := range map[string]string{"GOPROXY": "go", "registry": "npm"} {
		if host := configured(where, name); host != "" {
			foreign["this machine's "+name] = regexp.QuoteMeta(host)
		}
	}
	for what, pattern := range foreign {
		re := regexp.MustCompile(pattern)
		for _, name := range files(t) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			// Where Homebrew is on every Linux.
			text = bytes.ReplaceAll(text, []byte("/home/linuxbrew/"), nil)
			if at := re.FindIndex(text); at != nil && name != "tidy_test.go" {
				t.Errorf("%s, line %d: names %s: %q", name, 1+bytes.Count(text[:at[0]], []byte("\n")), what, text[at[0]:at[1]])
			}
		}
	}
}

// configured is the host that go or npm fetches from, when it is not the one
// that everybody has.
func configured(tool, name string) string {
	args := []string{"env", name}
	if tool == "npm" {
		args = []string{"config", "get", name}
	}
	out, err := exec.Command(tool, args...).Output()
	if err != nil {
		return "" // not installed
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), ",")
	_, rest, found := strings.Cut(first, "://")
	host, _, _ := strings.Cut(rest, "/")
	if !found || host == "proxy.golang.org" || host == "registry.npmjs.org" {
		return ""
	}
	return host
}

func TestGeneratedFilesAreWhatTheirSourceSays(t *testing.T) {
	t.Parallel()
	output(t, "go", "run", "./cmd/api", "documents", "--check", ".")
}

func TestEveryTargetOfTheMakefileIsExplained(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):(.*)$`).FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(m[2], "## ") {
			t.Errorf("make %s has no explanation behind ##", m[1])
		}
	}
}
