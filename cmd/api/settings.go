package main

import (
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowlock/rowlock/internal/config"
)

// setting is a flag. It keeps the text that was given; config alone decides
// what that means.
type setting struct {
	config.Setting
	text string
}

func (s *setting) String() string { return s.text }
func (s *setting) Set(text string) error {
	s.text = text
	return nil
}

// Type is what the help shows behind the flag.
func (s *setting) Type() string { return s.Setting.Type }

// takes gives a verb flags for the settings it looks at, which are named as in
// the environment; without names, for all.
func takes(cmd *cobra.Command, names ...string) {
	for _, s := range config.Settings() {
		if len(names) > 0 && !slices.Contains(names, s.Env) {
			continue
		}
		flag := cmd.Flags().VarPF(&setting{s, s.Default}, s.Flag, "", s.Help)
		if s.Type == "bool" {
			flag.NoOptDefVal = "true"
		}
		if s.OneOf != nil {
			_ = cmd.RegisterFlagCompletionFunc(s.Flag, cobra.FixedCompletions(s.OneOf, cobra.ShellCompDirectiveNoFileComp))
		}
	}
}

// settings reads what the verb takes from its flags, which win, and the
// environment, where fallback (which may be nil) has what stands for a variable
// that is not set.
//
// A verb that does not take ENV serves nobody. It looks at no setting beyond
// its own, so that it is not refused for want of a secret it has no use for.
func settings(cmd *cobra.Command, fallback map[string]string) (config.Config, error) {
	taken := map[string]*pflag.Flag{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if s, ok := f.Value.(*setting); ok {
			taken[s.Env] = f
		}
	})
	return config.Load(func(env string) (string, bool) {
		flag := taken[env]
		switch {
		case flag == nil && env == "ENV":
			return "development", true
		case flag == nil:
			return "", false
		case flag.Changed:
			return flag.Value.String(), true
		}
		if text := os.Getenv(env); text != "" { // an empty variable counts as none
			return text, true
		}
		text, ok := fallback[env]
		return text, ok
	})
}
