package mail

import (
	"fmt"
	"strings"
	"text/template"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/currency"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// phrases asks for one phrase after the other and remembers the first error.
type phrases struct {
	words *template.Template
	tag   language.Tag
	err   error
}

func (p *phrases) say(name string, data any) string {
	text, err := say(p.words, name, data)
	if err != nil && p.err == nil {
		p.err = err
	}
	// Not Fields, which would take no-break spaces too.
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n", r) }), " ")
}

// money writes an amount as the language does.
func (p *phrases) money(minor int64, code string) string {
	if minor == 0 {
		return p.say("free", nil)
	}
	symbol := code
	if unit, err := currency.ParseISO(code); err == nil {
		symbol = message.NewPrinter(p.tag).Sprint(currency.Symbol(unit))
	}
	amount := punctuate(boxoffice.Decimal(minor, code), p.say("group", nil), p.say("point", nil))
	last, _ := utf8.DecodeLastRuneInString(symbol)
	return p.say("money", struct {
		Amount, Symbol string
		Word           bool // the symbol is one of letters, like CHF
	}{amount, symbol, unicode.IsLetter(last)})
}

// when writes a time on the venue's clock.
func (p *phrases) when(at time.Time, zone string) string {
	if at.IsZero() {
		return ""
	}
	place, err := time.LoadLocation(zone)
	if err != nil {
		place = time.UTC
	}
	at = at.In(place)
	abbreviation := at.Format("MST")
	if abbreviation[0] == '+' || abbreviation[0] == '-' { // has no name, like +04
		abbreviation = "UTC" + abbreviation
	}
	pick := func(name string, i, n int) string {
		names := strings.Split(p.say(name, nil), ",")
		if len(names) != n {
			if p.err == nil {
				p.err = fmt.Errorf("%s.tmpl: %q: expected %d names with commas between them", p.tag, name, n)
			}
			return ""
		}
		return strings.TrimSpace(names[i])
	}
	return p.say("when", struct {
		Weekday, Month, Clock, Zone string
		Day, Year                   int
	}{
		pick("weekdays", int(at.Weekday()), 7), pick("months", int(at.Month())-1, 12),
		at.Format("15:04"), abbreviation, at.Day(), at.Year(),
	})
}

// punctuate writes a decimal number with a language's marks.
func punctuate(number, group, point string) string {
	whole, fraction, broken := strings.Cut(number, ".")
	whole, negative := strings.CutPrefix(whole, "-")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + group + whole[i:]
	}
	if negative {
		whole = "\u2212" + whole
	}
	if broken {
		return whole + point + fraction
	}
	return whole
}
