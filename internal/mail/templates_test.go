package mail

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/language"
)

// tempest is a notice of three tickets.
func tempest(kind Kind, locale string) Notice {
	return Notice{
		Kind: kind, Locale: locale, Shop: "Lakeside Tickets", BuyerName: "Ada Lovelace", Reference: "K7WQ3XNP",
		Event: "The Tempest", Venue: "Playhouse", Hall: "Main stage",
		StartsAt: time.Date(2026, 12, 4, 18, 30, 0, 0, time.UTC), TimeZone: "Europe/Berlin",
		Items:    []Item{{"Stalls-D-1", "adult", 123450}, {"Stalls-D-2", "adult", 4500}, {"Stalls-D-3", "child", 0}},
		Currency: "EUR", TotalMinor: 127950, RefundMinor: 99999,
		BookingURL: "https://tickets.example.org/b/1?a=b&c=d", TicketsURL: "https://tickets.example.org/t/1",
		OfferURL: "https://tickets.example.org/o/1", Until: time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC),
	}
}

func builtin(t *testing.T) *Templates {
	t.Helper()
	return load(t, "")
}

func load(t *testing.T, dir string) *Templates {
	t.Helper()
	templates, err := LoadTemplates(dir)
	if err != nil {
		t.Fatal(err)
	}
	return templates
}

func render(t *testing.T, templates *Templates, n Notice) Message {
	t.Helper()
	m, err := templates.Render(n)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// page is what a browser makes of HTML: the text on it, its links, and the
// attributes of <html>.
type page struct {
	text  string
	links []string
	root  map[string]string
	tags  map[string]int
}

func open(t *testing.T, html string) page {
	t.Helper()
	p := page{root: map[string]string{}, tags: map[string]int{}}
	d := xml.NewDecoder(strings.NewReader(html))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var text strings.Builder
	hidden := 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%v in:\n%s", err, html)
		}
		switch token := token.(type) {
		case xml.StartElement:
			p.tags[token.Name.Local]++
			if token.Name.Local == "head" {
				hidden++
			}
			for _, a := range token.Attr {
				switch {
				case token.Name.Local == "html":
					p.root[a.Name.Local] = a.Value
				case a.Name.Local == "href" || a.Name.Local == "src":
					p.links = append(p.links, a.Value)
				}
			}
		case xml.EndElement:
			if token.Name.Local == "head" {
				hidden--
			}
			text.WriteString(" ")
		case xml.CharData:
			if hidden == 0 {
				text.Write(token)
			}
		}
	}
	p.text = strings.Join(strings.Fields(text.String()), " ")
	return p
}

func TestRenderSaysEverythingInEveryLanguage(t *testing.T) {
	t.Parallel()
	templates := builtin(t)
	when := map[string]string{
		"en": "Friday, 4 December 2026, 19:30 CET",
		"de": "Freitag, 4. Dezember 2026, 19:30 Uhr (CET)",
		"ar": "الجمعة 4 ديسمبر 2026، 19:30 (CET)",
	}
	until := map[string]string{
		"en": "until Tuesday, 1 December 2026, 09:00 CET",
		"de": "bis Dienstag, 1. Dezember 2026, 09:00 Uhr (CET)",
		"ar": "حتى الثلاثاء 1 ديسمبر 2026، 09:00 (CET)",
	}
	total := map[string]string{"en": "€1,279.50", "de": "1.279,50\u00a0€", "ar": "1,279.50\u00a0€"}
	refund := map[string]string{"en": "€999.99", "de": "999,99\u00a0€", "ar": "999.99\u00a0€"}
	free := map[string]string{"en": "free", "de": "kostenlos", "ar": "مجانًا"}
	subjects := map[string]bool{}
	for locale := range when {
		for _, kind := range Kinds {
			m := render(t, templates, tempest(kind, locale))
			html := open(t, m.HTML)
			for what, text := range map[string]string{"text": m.Text, "HTML": strings.ReplaceAll(html.text, "\u00a0", " ")} {
				wants := []string{"Ada Lovelace", "K7WQ3XNP", "The Tempest", "Playhouse", "Main stage", "Stalls-D-1", "Stalls-D-3", "adult", "child",
					"Lakeside Tickets", when[locale], free[locale]}
				if kind == Offer {
					wants = append(wants, until[locale])
				}
				if kind == Confirmation || kind == Reminder || kind == Offer {
					wants = append(wants, total[locale])
				} else {
					wants = append(wants, refund[locale])
				}
				for _, want := range wants {
					if what == "HTML" {
						want = strings.ReplaceAll(want, "\u00a0", " ")
					}
					if !strings.Contains(text, want) {
						t.Errorf("%s %s %s lacks %q:\n%s", locale, kind, what, want, text)
					}
				}
				if bad := regexp.MustCompile(`<no value>|ZgotmplZ|%!|\{\{|\}\}`).FindString(text + m.Subject); bad != "" {
					t.Errorf("%s %s %s has %q", locale, kind, what, bad)
				}
			}
			dir := "ltr"
			if locale == "ar" {
				dir = "rtl"
			}
			if html.root["lang"] != locale || html.root["dir"] != dir || m.Locale != locale {
				t.Errorf("%s %s: %v, %s", locale, kind, html.root, m.Locale)
			}
			links := []string{"https://tickets.example.org/b/1?a=b&c=d"}
			if kind == Confirmation || kind == Reminder {
				links = []string{"https://tickets.example.org/t/1", links[0]}
			}
			if kind == Offer {
				links = []string{"https://tickets.example.org/o/1", links[0]}
			}
			if !slices.Equal(html.links, links) {
				t.Errorf("%s %s: links %q", locale, kind, html.links)
			}
			for _, link := range links {
				if !strings.Contains(m.Text, link) {
					t.Errorf("%s %s: text lacks %s", locale, kind, link)
				}
			}
			if m.Subject == "" || subjects[m.Subject] || strings.ContainsAny(m.Subject, "\r\n") {
				t.Errorf("%s %s: subject %q", locale, kind, m.Subject)
			}
			subjects[m.Subject] = true
		}
	}
}

func TestRenderLeavesOutWhatIsNotThere(t *testing.T) {
	t.Parallel()
	m := render(t, builtin(t), Notice{Kind: Expiry, Shop: "Shop", Reference: "K7WQ3XNP", Event: "Cups", Items: []Item{{"Cup", "", 100}}, Currency: "EUR"})
	want := `Hello,

We kept these places until the time to pay was over. No payment arrived, so others can book them now. You have not been charged.

Cups

- Cup: €1.00

Booking reference: K7WQ3XNP

Shop

You get this mail because of a booking at Shop that was made with this address.
`
	if m.Text != want {
		t.Errorf("%s", m.Text)
	}
	if html := open(t, m.HTML); len(html.links) != 0 || strings.Contains(html.text, "get back") {
		t.Errorf("%v", html)
	}
}

func TestRenderTellsWhatBecomesOfTheMoney(t *testing.T) {
	t.Parallel()
	templates := builtin(t)
	for name, c := range map[string]struct {
		kind          Kind
		showCancelled bool
		total, refund int64
		says, silent  string
	}{
		"ExpiredUnpaid":            {Expiry, false, 500, 0, "You have not been charged", "send back"},
		"PaidTooLate":              {Expiry, false, 500, 500, "We send back €5.00, the same", "have not been charged"},
		"CancelledWhole":           {Cancellation, false, 500, 500, "We send back €5.00, the same", "€5.00 of"},
		"CancelledWithFee":         {Cancellation, false, 500, 333, "We send back €3.33 of €5.00", "nothing is paid back"},
		"CancelledWithoutRefund":   {Cancellation, false, 500, 0, "nothing is paid back", "send back"},
		"CancelledFree":            {Cancellation, false, 0, 0, "no longer valid", "paid back"},
		"ShowCancelled":            {Cancellation, true, 500, 500, "will not take place. We are sorry. We send back €5.00", "no longer valid"},
		"ShowCancelledMoneyByHand": {Cancellation, true, 500, 0, "will not take place", "nothing is paid back"},
		"Refunded":                 {Refund, false, 500, 250, "We have sent back €2.50", "cancelled"},
	} {
		n := tempest(c.kind, "")
		n.ShowCancelled, n.TotalMinor, n.RefundMinor = c.showCancelled, c.total, c.refund
		m := render(t, templates, n)
		for _, text := range []string{m.Text, open(t, m.HTML).text} {
			if !strings.Contains(text, c.says) || strings.Contains(text, c.silent) {
				t.Errorf("%s: wants %q and not %q:\n%s", name, c.says, c.silent, text)
			}
		}
	}
}

func TestRenderIsSafeFromWhatPeopleType(t *testing.T) {
	t.Parallel()
	templates := builtin(t)
	calm := open(t, render(t, templates, tempest(Confirmation, "")).HTML)
	evil := "<script>alert(1)</script>\"'><img src=x onerror=y>&amp;\r\nBcc: all\u202e"
	n := tempest(Confirmation, "")
	n.BuyerName, n.Event, n.Venue, n.Hall, n.Reference, n.Shop = evil, evil, evil, evil, evil, evil
	n.Items = []Item{{evil, evil, 1}, {"b", "c", 2}, {"d", "e", 3}}
	n.BookingURL, n.TicketsURL = "javascript:alert(1)", `https://example.org/"><script>`
	m := render(t, templates, n)
	html := open(t, m.HTML)
	if html.tags["script"]+html.tags["img"] != 0 || html.tags["td"] != calm.tags["td"] {
		t.Errorf("tags %v", html.tags)
	}
	if !slices.Equal(html.links, []string{"https://example.org/%22%3e%3cscript%3e", "#ZgotmplZ"}) {
		t.Errorf("links %q", html.links)
	}
	if !strings.Contains(html.text, clean(evil)) {
		t.Errorf("the title is not as typed: %s", html.text)
	}
	if strings.ContainsAny(m.Subject+m.Text, "\r\u202e") || strings.Contains(m.Text, "\nBcc") {
		t.Errorf("%q\n%s", m.Subject, m.Text)
	}
	if _, err := templates.Render(Notice{Kind: "advert"}); err == nil {
		t.Error("a kind that nobody knows is rendered")
	}
}

// The mail to an address that is not the writer's must not be their advert.
func TestRenderGreetsNobodyWhoseNameIsALink(t *testing.T) {
	t.Parallel()
	for name, greeted := range map[string]bool{
		"J. R. R. Tolkien": true, "Ada": true, "Dr. Müller-Lüdenscheidt": true, "O’Brien": true, "ليلى بن علي": true, "Nguyễn Văn A": true,
		"win http://evil.example": false, "evil.example": false, "www.evil.example": false, "a@evil.example": false, "evil．example/x": false,
	} {
		n := tempest(Expiry, "")
		n.BuyerName = name
		m := render(t, builtin(t), n)
		if got := strings.Contains(m.Text, clean(name)) && strings.Contains(m.HTML, clean(name)); got != greeted {
			t.Errorf("%q is greeted: %v:\n%s", name, got, m.Text)
		}
	}
}

func TestRenderListsEqualPlacesOnceAndNotThousands(t *testing.T) {
	t.Parallel()
	n := tempest(Confirmation, "")
	n.Items = nil
	for range 300 {
		n.Items = append(n.Items, Item{"Standing", "adult", 1050})
	}
	m := render(t, builtin(t), n)
	if !strings.Contains(m.Text, "- Standing, adult × 300: €3,150.00\n") || strings.Count(m.HTML, "Standing") != 1 {
		t.Errorf("%s", m.Text)
	}
	for i := range 300 {
		n.Items[i].Label = "Seat " + strings.Repeat("I", i+1)
	}
	m = render(t, builtin(t), n)
	if strings.Count(m.Text, "Seat I") != itemsMax || !strings.Contains(m.Text, "and 260 more") || !strings.Contains(open(t, m.HTML).text, "and 260 more") {
		t.Errorf("%s", m.Text)
	}
}

func TestRenderChoosesTheNearestLanguage(t *testing.T) {
	t.Parallel()
	templates := builtin(t)
	for locale, want := range map[string]string{
		"": "en", "en": "en", "en-GB": "en", "de": "de", "de-AT": "de", "DE_ch": "de", "gsw": "de", "ar": "ar", "ar-AE": "ar", "ar-EG": "ar",
		"fr": "en", "zh-Hant": "en", "he": "en", "fa": "en", "fr-CH, de;q=0.8, en;q=0.7": "de", "xx": "en", "not a language": "en", "\r\n": "en", "de\x00": "en",
	} {
		if got := render(t, templates, tempest(Confirmation, locale)).Locale; got != want {
			t.Errorf("%q: %s, not %s", locale, got, want)
		}
	}
}

func TestAmountsHaveTheDigitsOfTheirCurrency(t *testing.T) {
	t.Parallel()
	templates := builtin(t)
	for _, c := range []struct {
		minor                  int64
		currency, locale, want string
	}{
		{1, "EUR", "en", "€0.01"}, {100, "EUR", "en", "€1.00"}, {123456789, "EUR", "en", "€1,234,567.89"}, {123456789, "EUR", "de", "1.234.567,89\u00a0€"},
		{5, "JPY", "en", "¥5"}, {1500, "JPY", "de", "1.500\u00a0¥"}, {1500, "KWD", "en", "KWD\u00a01.500"}, {1, "KWD", "de", "0,001\u00a0KWD"},
		{4500, "CHF", "en", "CHF\u00a045.00"}, {4500, "USD", "en", "$45.00"}, {4500, "CAD", "en", "CA$45.00"}, {4500, "GBP", "ar", "45.00\u00a0£"},
		{12345, "IQD", "en", "IQD\u00a012.345"}, {12345, "RSD", "en", "RSD\u00a0123.45"}, {12345, "CLF", "en", "CLF\u00a01.2345"}, // by ISO, not CLDR
		{9223372036854775807, "EUR", "en", "€92,233,720,368,547,758.07"}, {-5, "EUR", "en", "€−0.05"}, {-9223372036854775808, "JPY", "en", "¥−9,223,372,036,854,775,808"},
		{100, "", "en", "1.00"}, {100, "???", "en", "???1.00"},
	} {
		tag := templates.tags[slices.IndexFunc(templates.tags, func(tag language.Tag) bool { return tag.String() == c.locale })]
		words := phrases{words: templates.words[tag], tag: tag}
		if got := words.money(c.minor, c.currency); got != c.want || words.err != nil {
			t.Errorf("%d %s in %s: %q, not %q (%v)", c.minor, c.currency, c.locale, got, c.want, words.err)
		}
	}
}

func TestTimesAreOnTheVenuesClock(t *testing.T) {
	t.Parallel()
	templates := builtin(t)
	at := time.Date(2026, 3, 1, 0, 5, 0, 0, time.UTC)
	for _, c := range []struct{ zone, locale, want string }{
		{"UTC", "en", "Sunday, 1 March 2026, 00:05 UTC"},
		{"America/New_York", "en", "Saturday, 28 February 2026, 19:05 EST"},
		{"Europe/Vienna", "de", "Sonntag, 1. März 2026, 01:05 Uhr (CET)"},
		{"Asia/Dubai", "en", "Sunday, 1 March 2026, 04:05 UTC+04"},
		{"Asia/Dubai", "ar", "الأحد 1 مارس 2026، 04:05 (UTC+04)"},
		{"Atlantis/Centre", "en", "Sunday, 1 March 2026, 00:05 UTC"},
	} {
		n := tempest(Confirmation, c.locale)
		n.StartsAt, n.TimeZone = at, c.zone
		if m := render(t, templates, n); !strings.Contains(m.Text, "\n"+c.want+"\n") {
			t.Errorf("%s: no %q in\n%s", c.zone, c.want, m.Text)
		}
	}
}

// folder is a folder of templates.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOrganisersReplaceWhatTheyLike(t *testing.T) {
	t.Parallel()
	t.Run("Words", func(t *testing.T) {
		t.Parallel()
		templates := load(t, folder(t, map[string]string{
			"en.tmpl": `{{define "confirmation.heading"}}Ahoy{{end}}`, "README.md": "not ours {{", ".hidden.tmpl": "{{",
		}))
		m := render(t, templates, tempest(Confirmation, "en"))
		if html := open(t, m.HTML); !strings.Contains(html.text, "Ahoy") || !strings.Contains(html.text, "Your booking is confirmed") || m.Subject != "Your tickets for The Tempest" {
			t.Errorf("%s\n%s", m.Subject, html.text)
		}
		if m := render(t, templates, tempest(Confirmation, "de")); strings.Contains(m.HTML, "Ahoy") {
			t.Error("German has English words")
		}
		if m := render(t, builtin(t), tempest(Confirmation, "en")); strings.Contains(m.HTML, "Ahoy") {
			t.Error("the built-in templates have changed")
		}
	})
	t.Run("Look", func(t *testing.T) {
		t.Parallel()
		templates := load(t, folder(t, map[string]string{"mail.html": `<html lang="{{.Locale}}"><p>{{.Event}} {{.Say "total"}} {{.Total}}`, "mail.txt": `{{.Lead}}`}))
		n := tempest(Confirmation, "de")
		n.Event = "<b>"
		if m := render(t, templates, n); m.HTML != "<html lang=\"de\"><p>&lt;b&gt; Summe 1.279,50\u00a0€" || !strings.HasPrefix(m.Text, "Ihre Buchung ist bestätigt.") || m.Subject != "Ihre Tickets für <b>" {
			t.Errorf("%+v", m)
		}
	})
	t.Run("Languages", func(t *testing.T) {
		t.Parallel()
		templates := load(t, folder(t, map[string]string{
			"en.tmpl":    `{{define "total"}}Sum{{end}}`,
			"de.tmpl":    `{{define "total"}}Gesamt{{end}}`,
			"de-AT.tmpl": `{{define "hello"}}Servus {{.BuyerName}},{{end}}`,
			"fr.tmpl":    `{{define "hello"}}Bonjour {{.BuyerName}},{{end}}{{define "money"}}{{.Amount}} {{.Symbol}}{{end}}{{define "point"}},{{end}}`,
			"he.tmpl":    `{{define "hello"}}שלום {{.BuyerName}},{{end}}`,
		}))
		french := render(t, templates, tempest(Confirmation, "fr-BE"))
		if french.Locale != "fr" || !strings.HasPrefix(french.Text, "Bonjour Ada Lovelace,\n") || !strings.Contains(french.Text, "Sum: 1,279,50 €") {
			t.Errorf("%s: %s", french.Locale, french.Text)
		}
		austrian := render(t, templates, tempest(Confirmation, "de-AT"))
		if austrian.Locale != "de-AT" || !strings.HasPrefix(austrian.Text, "Servus Ada Lovelace,\n\nIhre Buchung") || !strings.Contains(austrian.Text, "Gesamt: 1.279,50\u00a0€") {
			t.Errorf("%s: %s", austrian.Locale, austrian.Text)
		}
		hebrew := render(t, templates, tempest(Confirmation, "he-IL"))
		if root := open(t, hebrew.HTML).root; root["dir"] != "rtl" || !strings.HasPrefix(hebrew.Text, "שלום \u2068Ada Lovelace\u2069,") {
			t.Errorf("%v %s", root, hebrew.Text)
		}
	})
}

func TestBrokenTemplatesAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, content, says string }{
		{"mail.html", "<p>\n{{.Event", "mail.html:2"},
		{"mail.html", "<p>\n\n{{.Evnt}}", "mail.html:3"},
		{"mail.html", "<p>\n{{.Say \"tootal\"}}", "mail.html:2"},
		{"mail.html", "<a href='{{if .RTL}}'{{end}}>", "mail.html"},
		{"mail.txt", "\n\n\n{{range .Items}}{{.Prize}}{{end}}", "mail.txt:4"},
		{"mail.txt", "{{range .Items}}", "mail.txt:1"},
		{"de.tmpl", "\n{{define \"total\"}}\n{{.Nothing}}{{end}}", "de.tmpl:3"},
		{"fr.tmpl", "{{define \"hello\"}}\n\n{{.Buyer}}{{end}}", "fr.tmpl:3"},
		{"fr.tmpl", "{{define \"months\"}}janvier, février{{end}}", "fr.tmpl"},
		{"français.tmpl", "", "français.tmpl"},
		{"confirmation.html", "", "confirmation.html"},
	} {
		_, err := LoadTemplates(folder(t, map[string]string{c.name: c.content}))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %q: %v", c.name, c.content, err)
		}
	}
	if _, err := LoadTemplates(filepath.Join(t.TempDir(), "nowhere")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
