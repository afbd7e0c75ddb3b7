// Package deploy_test holds what is deployed beside Rowlock to what Rowlock
// is: an alert on a metric that was renamed never fires, and nobody notices.
package deploy_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"

	"github.com/rowlock/rowlock/internal/telemetry"
	"github.com/rowlock/rowlock/sql/ops"
)

const (
	rulesFile = "prometheus/rowlock-alerts.yaml"
	guide     = "../docs/operations.md"
)

type rule struct {
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string
}

func rules(t *testing.T) (all []rule) {
	t.Helper()
	file, err := os.Open(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var doc struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	d := yaml.NewDecoder(file)
	d.KnownFields(true)
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for _, g := range doc.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("there are no rules")
	}
	return all
}

// metrics are the labels of every metric of Rowlock's, by name.
func metrics(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	own := telemetry.NewMetrics()
	fields := reflect.ValueOf(own).Elem()
	described := regexp.MustCompile(`fqName: "(\w+)".*variableLabels: \{(.*)\}`)
	for i := range fields.NumField() {
		if !fields.Type().Field(i).IsExported() {
			continue
		}
		if c, ok := fields.Field(i).Interface().(prometheus.Collector); ok {
			desc := make(chan *prometheus.Desc, 1)
			c.Describe(desc)
			m := described.FindStringSubmatch((<-desc).String())
			all[m[1]] = append(regexp.MustCompile(`\w+`).FindAllString(m[2], -1), "le", "instance", "job")
		}
	}
	pool, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1/none") // connects to nothing until asked to
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	own.WatchPool("requests", pool)
	page := httptest.NewRecorder()
	own.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	for _, m := range regexp.MustCompile(`(?m)^# HELP (rowlock_pool_\w+)`).FindAllStringSubmatch(page.Body.String(), -1) {
		all[m[1]] = []string{"pool", "instance", "job"}
	}
	return all
}

// base is the name of a metric as it is declared: a histogram is scraped as
// three.
func base(name string) string {
	return regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
}

func TestAlertsAreOfMetricsThatThereAre(t *testing.T) {
	t.Parallel()
	known := metrics(t)
	// A name with what stands in its braces, and the labels of by ().
	selector := regexp.MustCompile(`(rowlock_\w+)(?:\{([^}]*)\})?`)
	matcher := regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`)
	grouping := regexp.MustCompile(`by \(([^)]*)\)`)
	seen := map[string]bool{}
	for _, r := range rules(t) {
		if seen[r.Alert] {
			t.Errorf("there are two %s", r.Alert)
		}
		seen[r.Alert] = true
		found := selector.FindAllStringSubmatch(r.Expr+" "+r.Annotations["summary"], -1)
		if len(found) == 0 && !strings.Contains(r.Expr, "up{") {
			t.Errorf("%s is of no metric", r.Alert)
		}
		for _, m := range found {
			labels, ok := known[base(m[1])]
			if !ok {
				t.Errorf("%s: there is no metric %s", r.Alert, m[1])
				continue
			}
			wanted := matcher.FindAllStringSubmatch(m[2], -1)
			for _, by := range grouping.FindAllStringSubmatch(r.Expr, -1) {
				for label := range strings.SplitSeq(by[1], ",") {
					wanted = append(wanted, []string{"", strings.TrimSpace(label)})
				}
			}
			for _, w := range wanted {
				if !slices.Contains(labels, w[1]) {
					t.Errorf("%s: %s has no label %s", r.Alert, m[1], w[1])
				}
			}
		}
	}
}

func TestAlertsSayWhatToDo(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(text), -1) {
		anchor := regexp.MustCompile("[^a-z0-9 _-]").ReplaceAllString(strings.ToLower(m[1]), "")
		anchors[strings.ReplaceAll(anchor, " ", "-")] = true
	}
	asked := regexp.MustCompile(`rowlock ops (\w+)`)
	for _, r := range rules(t) {
		if s := r.Labels["severity"]; s != "page" && s != "ticket" {
			t.Errorf("%s is of the severity %q", r.Alert, s)
		}
		for _, name := range []string{"summary", "description"} {
			if len(r.Annotations[name]) < 15 {
				t.Errorf("%s has no %s", r.Alert, name)
			}
		}
		page, anchor, _ := strings.Cut(r.Annotations["runbook_url"], "#")
		if !strings.HasSuffix(page, "/docs/operations.md") || !anchors[anchor] {
			t.Errorf("%s leads to %q, which is not in %s", r.Alert, r.Annotations["runbook_url"], guide)
		}
		if !strings.Contains(string(text), "`"+r.Alert+"`") {
			t.Errorf("%s does not name %s", guide, r.Alert)
		}
		for _, m := range asked.FindAllStringSubmatch(r.Annotations["description"], -1) {
			if _, ok := ops.Find(m[1]); !ok {
				t.Errorf("%s asks %s, which there is not", r.Alert, m[1])
			}
		}
	}
	for _, name := range regexp.MustCompile("`(Rowlock[A-Z]\\w+)`").FindAllStringSubmatch(string(text), -1) {
		if !slices.ContainsFunc(rules(t), func(r rule) bool { return r.Alert == name[1] }) {
			t.Errorf("%s names %s, which there is not", guide, name[1])
		}
	}
}

func TestOperationsExplainsMetricsAndQuestions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	known := metrics(t)
	for name := range known {
		if !strings.HasPrefix(name, "rowlock_pool_") && !strings.Contains(string(text), name) {
			t.Errorf("it does not explain %s", name)
		}
	}
	if all := fmt.Sprintf("all %d rules hold", len(ops.Rules())); !strings.Contains(string(text), all) {
		t.Errorf("prove does not say what it shows: %s", all)
	}
	for _, q := range ops.Queries() {
		if !strings.Contains(string(text), "**"+q.Name+"**") {
			t.Errorf("it does not explain the question %s", q.Name)
		}
	}
	roles := []string{"rowlock_owner", "rowlock_app", "rowlock_lane", "rowlock_ops"}
	for _, name := range regexp.MustCompile(`\browlock_[a-z_]*[a-z]`).FindAllString(string(text), -1) {
		if known[base(name)] == nil && !slices.Contains(roles, name) && name != "rowlock_pool" {
			t.Errorf("there is no %s", name)
		}
	}
}

func TestAlertsFireOnABadDayAndOnlyThen(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: apt install prometheus)")
	}
	for _, args := range [][]string{{"check", "rules", rulesFile}, {"test", "rules", "prometheus/rowlock-alerts.test.yaml"}} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	// The bad day is bad for every rule.
	day, err := os.ReadFile("prometheus/rowlock-alerts.test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules(t) {
		if !strings.Contains(string(day), `alertname="`+r.Alert+`"`) {
			t.Errorf("nobody has seen %s fire", r.Alert)
		}
	}
}
