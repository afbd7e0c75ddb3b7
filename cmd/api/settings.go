package main

import (
	"os"
	"reflect"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowlock/rowlock/internal/config"
)

// setting is a flag for a field of [config.Config]. It keeps the text that was
// given; config alone decides what that means.
type setting struct {
	env, text string
	kind      reflect.Kind
}

func (s *setting) String() string { return s.text }
func (s *setting) Set(text string) error {
	s.text = text
	return nil
}

// Type is what the help shows behind the flag.
func (s *setting) Type() string {
	switch s.kind {
	case reflect.Bool:
		return "bool"
	case reflect.Int, reflect.Float64:
		return "number"
	case reflect.Int64:
		return "duration"
	}
	return "string"
}

// takes gives a verb flags for the settings it looks at, which are named as in
// the environment; without names, for all.
func takes(cmd *cobra.Command, names ...string) {
	for field := range reflect.TypeFor[config.Config]().Fields() {
		env := field.Tag.Get("env")
		wanted := len(names) == 0
		for _, name := range names {
			wanted = wanted || name == env
		}
		if !wanted {
			continue
		}
		s := &setting{env: env, text: field.Tag.Get("default"), kind: field.Type.Kind()}
		flag := cmd.Flags().VarPF(s, strings.ToLower(strings.ReplaceAll(env, "_", "-")), "", field.Tag.Get("help"))
		if s.kind == reflect.Bool {
			flag.NoOptDefVal = "true"
		}
		if oneof := field.Tag.Get("oneof"); oneof != "" {
			_ = cmd.RegisterFlagCompletionFunc(flag.Name, cobra.FixedCompletions(strings.Split(oneof, ","), cobra.ShellCompDirectiveNoFileComp))
		}
	}
}

// settings reads what the verb takes from its flags and the environment, where
// fallback (which may be nil) has what stands for a variable that is not set.
//
// A verb that does not take ENV serves nobody. It looks at no setting beyond
// its own, so that it is not refused for want of a secret it has no use for.
func settings(cmd *cobra.Command, fallback map[string]string) (config.Config, error) {
	taken := map[string]bool{}
	var args []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if s, ok := f.Value.(*setting); ok {
			taken[s.env] = true
			if f.Changed {
				args = append(args, "--"+f.Name+"="+s.text)
			}
		}
	})
	c, _, err := config.Load(args, func(name string) string {
		if taken[name] {
			if v := os.Getenv(name); v != "" {
				return v
			}
			return fallback[name]
		}
		if name == "ENV" {
			return "development"
		}
		return ""
	})
	return c, err
}
