package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// The document is walked as JSON, as a generator would read it, so that
// nothing added later can slip through undescribed.
func TestTheOpenAPIDocumentDescribesEverything(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]*API{"the real one": New(Options{}), "the tests' own": newDoor(t, Options{}).API} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := json.Marshal(a.OpenAPI())
			if err != nil {
				t.Fatal(err)
			}
			var doc document31
			if err := json.Unmarshal(raw, &doc.tree); err != nil {
				t.Fatal(err)
			}
			for _, finding := range doc.undescribed() {
				t.Error(finding)
			}
		})
	}
}

// document31 is an OpenAPI 3.1 document, decoded.
type document31 struct {
	tree     map[string]any
	findings []string
}

func (d *document31) find(format string, args ...any) {
	d.findings = append(d.findings, fmt.Sprintf(format, args...))
}

// undescribed lists whatever has no description: operations, parameters,
// bodies, answers, their headers and fields, and the codes of refusals.
func (d *document31) undescribed() []string {
	if d.tree["openapi"] != "3.1.0" {
		d.find("version %v", d.tree["openapi"])
	}
	for path, item := range d.object(d.tree, "paths") {
		for method, op := range item.(map[string]any) {
			d.operation(strings.ToUpper(method)+" "+path, op.(map[string]any))
		}
	}
	for name, schema := range d.object(d.tree, "components", "schemas") {
		d.schema(name, schema.(map[string]any))
	}
	examples := d.object(d.tree, "components", "examples")
	for _, c := range boxoffice.Codes {
		if examples[string(c.Code)] == nil {
			d.find("%s has no example", c.Code)
		}
	}
	slices.Sort(d.findings)
	return d.findings
}

func (*document31) object(from map[string]any, path ...string) map[string]any {
	for _, step := range path {
		from, _ = from[step].(map[string]any)
	}
	return from
}

func (d *document31) text(where string, of map[string]any, members ...string) {
	for _, m := range members {
		if s, _ := of[m].(string); strings.TrimSpace(s) == "" {
			d.find("%s has no %s", where, m)
		}
	}
}

func (d *document31) operation(where string, op map[string]any) {
	d.text(where, op, "summary", "description", "operationId")
	if tags, _ := op["tags"].([]any); len(tags) != 1 {
		d.find("%s has not one tag", where)
	}
	parameters, _ := op["parameters"].([]any)
	keyed := false
	sent := map[string]bool{}
	for _, p := range parameters {
		p := p.(map[string]any)
		here := fmt.Sprintf("%s: parameter %v", where, p["name"])
		d.text(here, p, "description")
		if p["example"] == nil && d.object(p, "schema")["examples"] == nil {
			d.find("%s has no example", here)
		}
		sent[p["name"].(string)] = true
		keyed = keyed || p["name"] == "Idempotency-Key"
	}
	if body := d.object(op, "requestBody"); body != nil {
		for kind, content := range d.object(body, "content") {
			d.schema(where+": body "+kind, d.object(content.(map[string]any), "schema"))
		}
	}
	success := false
	responses := d.object(op, "responses")
	if responses["default"] != nil {
		d.find("%s has a default answer", where)
	}
	codes := map[string]bool{}
	tagged := strings.HasPrefix(where, "GET ") && d.object(responses, "200", "headers", "ETag") != nil
	if sent["If-None-Match"] != tagged || (responses["304"] != nil) != tagged {
		d.find("%s: its ETag, If-None-Match and 304 do not go together", where)
	}
	if sent["If-Match"] != (responses["412"] != nil) {
		d.find("%s: If-Match and 412 do not go together", where)
	}
	for status, r := range responses {
		r := r.(map[string]any)
		here := where + ": " + status
		d.text(here, r, "description")
		success = success || status[0] == '2'
		for name, h := range d.object(r, "headers") {
			d.text(here+": header "+name, h.(map[string]any), "description")
		}
		if problem := d.object(r, "content", "application/problem+json"); problem != nil {
			examples := d.object(problem, "examples")
			if len(examples) == 0 {
				d.find("%s has no examples", here)
			}
			for code := range examples {
				codes[code] = true
				if !strings.Contains(r["description"].(string), "`"+code+"`") {
					d.find("%s does not explain %s", here, code)
				}
			}
		} else if status[0] == '4' || status[0] == '5' {
			d.find("%s is not a problem", here)
		}
		for kind, content := range d.object(r, "content") {
			d.schema(here+": "+kind, d.object(content.(map[string]any), "schema"))
		}
	}
	if !success {
		d.find("%s has no success", where)
	}
	need := []boxoffice.Code{boxoffice.CodeInternal, boxoffice.CodeRateLimited, boxoffice.CodeOverloaded, boxoffice.CodeUnavailable, boxoffice.CodeValidation}
	if keyed {
		need = append(need, boxoffice.CodeKeyInUse, boxoffice.CodeKeyReused)
	}
	for _, c := range need {
		if !codes[string(c)] {
			d.find("%s does not document %s", where, c)
		}
	}
}

// schema wants a description of every field, however deep, and an example
// unless its own fields have them.
func (d *document31) schema(where string, s map[string]any) {
	for name, field := range d.object(s, "properties") {
		field := field.(map[string]any)
		here := where + "." + name
		d.text(here, field, "description")
		if kind, _ := field["type"].(string); kind != "" && kind != "array" && kind != "object" && field["examples"] == nil {
			d.find("%s has no example", here)
		}
		d.schema(here, field)
	}
	for _, within := range []string{"items", "additionalProperties"} {
		if inner, ok := s[within].(map[string]any); ok {
			d.schema(where+"."+within, inner)
		}
	}
	for _, group := range []string{"oneOf", "anyOf", "allOf"} {
		list, _ := s[group].([]any)
		for i, inner := range list {
			d.schema(fmt.Sprintf("%s.%s[%d]", where, group, i), inner.(map[string]any))
		}
	}
	if kinds, ok := s["type"].([]any); ok && slices.Contains(kinds, any("array")) {
		d.find("%s may be null instead of an array", where)
	}
}

func TestTheDocumentIsServedInAllItsForms(t *testing.T) {
	t.Parallel()
	d := newDoor(t, Options{})
	for path, version := range map[string]string{
		"/openapi.json": `"openapi":"3.1.0"`, "/openapi.yaml": "openapi: 3.1.0",
		"/openapi-3.0.json": `"openapi":"3.0.3"`, "/openapi-3.0.yaml": "openapi: 3.0.3",
	} {
		w := d.ask("GET", path, "")
		if w.Code != 200 || !strings.Contains(w.Body.String(), version) {
			t.Errorf("%s: %d, no %s", path, w.Code, version)
		}
		// The last two are no words of 3.0, and Huma leaves them in.
		for _, word := range []string{"$schema", "contentMediaType", "identifier: ", `"identifier":`} {
			if strings.Contains(w.Body.String(), word) {
				t.Errorf("%s: %s is in it", path, word)
			}
		}
	}
}
