package seatplan

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// plain says that s is printable ASCII without outer spaces, as nearly all
// names are; such text needs no further look.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s == "" || (s[0] != ' ' && s[len(s)-1] != ' ')
}

// text returns a name as it is kept: trimmed, in Unicode form NFC, at most max
// characters. at says where it stands if it has to be refused.
func (b *draft) text(at func() string, s string, max int) string {
	if !plain(s) {
		s = norm.NFC.String(strings.TrimFunc(s, invisibleSpace))
		for _, r := range s {
			switch {
			case unicode.IsControl(r) || r == '\u2028' || r == '\u2029':
				b.problem(at(), "the text holds the control character %U", r)
				return ""
			case r == unicode.ReplacementChar:
				b.problem(at(), "the text holds U+FFFD, which stands for characters that were lost")
				return ""
			}
		}
	}
	if len(s) > max && utf8.RuneCountInString(s) > max {
		b.problem(at(), "the text is longer than %d characters", max)
		return ""
	}
	return s
}

// caption returns the text of a drawing: what cannot be shown is left out,
// because nothing depends on it.
func caption(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, s)
	s = norm.NFC.String(strings.Join(strings.Fields(s), " "))
	if utf8.RuneCountInString(s) > maxName {
		s = strings.TrimSpace(string([]rune(s)[:maxName]))
	}
	return s
}

func invisibleSpace(r rune) bool {
	return unicode.IsSpace(r) || r == '\u200b' || r == '\ufeff'
}

var foldCase = cases.Fold()

// fold returns what a person sees when reading s in a hurry: texts that differ
// only in case, Unicode form, spacing or invisible characters fold alike.
func fold(s string) string {
	if !plain(s) {
		s = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) {
				return -1
			}
			return r
		}, s)
		s = norm.NFKC.String(foldCase.String(norm.NFKC.String(s)))
	}
	if s = strings.ToLower(s); strings.Contains(s, "  ") {
		s = strings.Join(strings.Fields(s), " ")
	}
	return s
}

var hexColor = regexp.MustCompile(`^#([0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})$`)

// color returns s if it is a CSS hex colour. Others are dropped with a
// warning: the map writes colours into its page, where other text might be
// code.
func (b *draft) color(at func() string, s string) string {
	if s == "" || hexColor.MatchString(s) {
		return s
	}
	b.warn(at(), "the colour is not in the form #rrggbb and is left out")
	return ""
}
