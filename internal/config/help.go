package config

import (
	"fmt"
	"log/slog"
	"reflect"
	"strings"
)

// Help is the table of all settings, in Markdown: the text of "rowlock
// settings" and of docs/settings.md.
func Help() string {
	var b strings.Builder
	b.WriteString("| variable | flag | default | meaning |\n| --- | --- | --- | --- |\n")
	for _, s := range Settings() {
		fallback := ""
		if s.Default != "" {
			fallback = "`" + s.Default + "`"
		}
		help := s.Help
		if s.OneOf != nil {
			help += " One of: " + strings.Join(s.OneOf, ", ") + "."
		}
		fmt.Fprintf(&b, "| `%s` | `--%s` | %s | %s |\n", s.Env, s.Flag, fallback, help)
	}
	return b.String()
}

// String lists the settings and their values for the log. Of a secret it only
// says that it is set.
func (c Config) String() string {
	var b strings.Builder
	v := reflect.ValueOf(c)
	for i, s := range Settings() {
		text := fmt.Sprint(v.Field(i))
		if s.secret && text != "" {
			text = "(set)"
		}
		fmt.Fprintf(&b, "%s=%s\n", s.Env, text)
	}
	return b.String()
}

// LogValue is String, so that no log handler looks into the fields itself.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }
