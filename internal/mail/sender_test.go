package mail

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseURLKnowsServersAndFolders(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"smtp://mail.example.org":                         "smtp://mail.example.org:587?tls=starttls",
		"smtp://mail.example.org/":                        "smtp://mail.example.org:587?tls=starttls",
		"smtp://u:p@mail.example.org:2525?tls=starttls":   "smtp://mail.example.org:2525?tls=starttls",
		"smtp://mail.example.org:465":                     "smtp://mail.example.org:465?tls=implicit",
		"smtps://u:p@mail.example.org":                    "smtp://mail.example.org:465?tls=implicit",
		"smtp://mail.example.org?tls=implicit":            "smtp://mail.example.org:465?tls=implicit",
		"smtp://mail.example.org?tls=none":                "smtp://mail.example.org:25?tls=none",
		"smtp://u:p@localhost:1025?tls=none":              "smtp://localhost:1025?tls=none",
		"smtp://[::1]:1025?tls=none":                      "smtp://[::1]:1025?tls=none",
		"smtp://apikey:p%40ss%2Fword@mail.example.org:25": "smtp://mail.example.org:25?tls=starttls",
		"file:///var/spool/mails":                         "/var/spool/mails",
		".rowlock/mail":                                   ".rowlock/mail",
	} {
		s, err := ParseURL(setting)
		if err != nil {
			t.Errorf("%s: %v", setting, err)
			continue
		}
		if got := fmt.Sprint(s); got != want {
			t.Errorf("%s: %s, not %s", setting, got, want)
		}
	}
	s, err := ParseURL("smtp://apikey:p%40ss%2Fword@mail.example.org")
	if smtp, ok := s.(*SMTP); err != nil || !ok || smtp.user != "apikey" || smtp.password != "p@ss/word" {
		t.Errorf("%v, %v", s, err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(verb, struct{ Mail Sender }{s}); strings.Contains(got, "p@ss") {
			t.Errorf("%s prints the password: %s", verb, got)
		}
	}
}

func TestParseURLNeverRepeatsThePassword(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{
		"",
		"smtp://", "smtp:///", "smtp://:587", "smtp://:sesame@mail.example.org", "smtp://u:sesame@",
		"smtp://u:sesame@mail.example.org:0", "smtp://u:sesame@mail.example.org:99999", "smtp://u:sesame@mail.example.org:sesame",
		"smtp://u:sesame%zz@mail.example.org", "smtp://u:1/sesame@mail.example.org", "smtp://u:12?sesame@mail.example.org",
		"smtp://u:12?tls=sesame@mail.example.org", "smtp://u:12#sesame@mail.example.org", "smtp://u:se same@mail.example.org",
		"smtp://u:sesame@mail.example.org/path", "smtp://u:sesame@mail.example.org?tls=yes", "smtp://u:sesame@mail.example.org?tls=none",
		"smtp://u:sesame@mail.example.org?tls=none&tls=starttls", "smtp://u:sesame@mail.example.org?TLS=none",
		"smtps://u:sesame@mail.example.org?tls=starttls", "http://u:sesame@mail.example.org",
		"smtp:u:sesame@mail.example.org", "u:sesame@mail.example.org:587", "smtp:mail.example.org",
		"file://sesame/mails", "file://", "file:///mails?sesame=1",
	} {
		s, err := ParseURL(setting)
		if err == nil {
			t.Errorf("%q is %v", setting, s)
		} else if strings.Contains(err.Error(), "sesame") || strings.Contains(err.Error(), "same@") {
			t.Errorf("%q: %v", setting, err)
		}
	}
}
