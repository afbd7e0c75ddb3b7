package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/sql/ops"
)

// The words for people are in Markdown, and rot unless they are run. A block of
// sh below the comment <!-- test --> is run; the blocks of one page run in one
// shell, one after the other, as a reader pastes them. A block below
// <!-- prints --> is what the block before it prints, where … stands for
// whatever changes. Space does not count: people read JSON that is broken into
// lines.
const (
	root       = "../.."
	testMark   = "<!-- test -->"
	printsMark = "<!-- prints -->"
)

// example is a block of a page that is run.
type example struct {
	line   int // in the page, from 1
	sh     string
	prints string // "": anything
}

// examples reads the examples of a page.
func examples(t *testing.T, page string) (found []example) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		mark := lines[i]
		if mark != testMark && mark != printsMark {
			continue
		}
		begin := i + 2
		for i = begin; i < len(lines) && lines[i] != "```"; i++ {
		}
		if i == len(lines) || !strings.HasPrefix(lines[begin-1], "```") {
			t.Fatalf("%s:%d: no block below %s", page, begin-1, mark)
		}
		block := strings.Join(lines[begin:i], "\n")
		switch {
		case mark == testMark:
			found = append(found, example{line: begin, sh: block})
		case len(found) == 0 || found[len(found)-1].prints != "":
			t.Fatalf("%s:%d: nothing before it prints this", page, begin-1)
		default:
			found[len(found)-1].prints = block
		}
	}
	return found
}

var space = regexp.MustCompile(`\s+`)

func withoutSpace(s string) string { return space.ReplaceAllString(s, "") }

// printed is whether out is what an example says that it prints.
func printed(out, prints string) bool {
	parts := strings.Split(withoutSpace(prints), "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`(?s)^` + strings.Join(parts, `.*`) + `$`).MatchString(withoutSpace(out))
}

func TestTheExamplesOfTheDocumentationRun(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the examples need %s", tool)
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	above, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), ".rowlock")
	p := start(t, map[string]string{"DATA_DIR": data, "LOG_LEVEL": "info"}, "run").ready()
	for line := range p.said { // until the demo data is there
		if strings.Contains(line, "Ctrl-C stops it") {
			break
		}
	}
	for _, page := range []string{"README.md", "docs/authentication.md", "docs/bookings.md", "docs/coming-from.md", "docs/plans.md", "docs/reservations.md", "docs/shows.md", "docs/waitlist.md"} {
		t.Run(page, func(t *testing.T) {
			blocks := examples(t, page)
			if len(blocks) == 0 {
				t.Fatal("it has no example")
			}
			// A make without its build, as the test binary is rowlock.
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
				t.Fatal(err)
			}
			binary := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", asRowlock, exe)
			if err := os.WriteFile(filepath.Join(dir, "bin", "rowlock"), []byte(binary), 0o755); err != nil {
				t.Fatal(err)
			}
			var script strings.Builder
			// What the make test around this was given, such as ARGS, is not for it.
			fmt.Fprintf(&script, "make() { MAKEFLAGS= ARGS= command make --no-print-directory -f '%s' -o build \"$@\"; }\n", filepath.Join(above, "Makefile"))
			for i, b := range blocks {
				fmt.Fprintf(&script, "%s\nprintf '\\n--- %d ---\\n'\n", strings.ReplaceAll(b.sh, "http://localhost:8080", p.base), i)
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			cmd := exec.CommandContext(ctx, "bash", "-eu")
			cmd.Dir, cmd.Stdin = dir, strings.NewReader(script.String())
			cmd.Env = append(os.Environ(), "DATA_DIR="+data)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			stdout, err := cmd.Output()
			rest := string(stdout)
			for i, b := range blocks {
				out, after, ended := strings.Cut(rest, fmt.Sprintf("\n--- %d ---\n", i))
				if !ended {
					t.Fatalf("%s:%d: it fails: %v\n%s\n%s%s", page, b.line, err, b.sh, rest, stderr.Bytes())
				}
				rest = after
				if b.prints != "" && !printed(out, b.prints) {
					t.Errorf("%s:%d:\n%s\nprints\n%s\nand not\n%s", page, b.line, b.sh, out, b.prints)
				}
			}
		})
	}
	t.Run("docs/operations.md names the metrics that there are", func(t *testing.T) {
		_, metrics := p.get("/metrics")
		text, err := os.ReadFile(filepath.Join(root, "docs", "operations.md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^# HELP (rowlock_\w+)`).FindAllStringSubmatch(metrics, -1) {
			if !strings.HasPrefix(m[1], "rowlock_pool_") && !strings.Contains(string(text), m[1]) {
				t.Errorf("it does not explain %s", m[1])
			}
		}
		for _, q := range ops.Queries() {
			if !strings.Contains(string(text), "**"+q.Name+"**") {
				t.Errorf("it does not explain the question %s", q.Name)
			}
		}
	})
	p.terminate()
	p.wait()
}

// pages are all pages of the documentation.
func pages(t *testing.T) (all []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "bench/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

func TestTheDocumentationNamesTestsAndFilesThatThereAre(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			there[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Benchmark|Fuzz)[A-Z]\\w+)(?:/[^`]*)?`")
	link := regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllSubmatch(text, -1) {
			if !there[string(m[1])] {
				t.Errorf("%s: there is no %s", page, m[1])
			}
		}
		for _, m := range link.FindAllSubmatch(text, -1) {
			target := string(m[1])
			if strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), target)); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", page, target)
			}
		}
	}
}
