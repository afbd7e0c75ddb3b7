package config

import (
	"fmt"
	"log/slog"
	"reflect"
	"strings"
)

// Help is the table of all settings, in Markdown: the text of "rowlock help"
// and of the docs.
func Help() string {
	var b strings.Builder
	b.WriteString("| variable | flag | default | meaning |\n| --- | --- | --- | --- |\n")
	for _, s := range settings {
		fallback := ""
		if s.fallback != "" {
			fallback = "`" + s.fallback + "`"
		}
		help := s.help
		if s.oneof != nil {
			help += " One of: " + strings.Join(s.oneof, ", ") + "."
		}
		fmt.Fprintf(&b, "| `%s` | `--%s` | %s | %s |\n", s.env, s.flag, fallback, help)
	}
	return b.String()
}

// String lists the settings and their values for the log. Of a secret it only
// says that it is set.
func (c Config) String() string {
	var b strings.Builder
	v := reflect.ValueOf(c)
	for i, s := range settings {
		text := fmt.Sprint(v.Field(i))
		if s.secret && text != "" {
			text = "(set)"
		}
		fmt.Fprintf(&b, "%s=%s\n", s.env, text)
	}
	return b.String()
}

// LogValue is String, so that no log handler looks into the fields itself.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }
