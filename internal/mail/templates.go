package mail

import (
	"embed"
	"fmt"
	htmltemplate "html/template"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"

	"golang.org/x/text/language"
)

//go:embed templates
var embedded embed.FS

// itemsMax is how many lines a mail lists; the tickets themselves are behind
// the link.
const itemsMax = 40

// Templates are how mails look and what they say. mail.html and mail.txt are
// the look, the same for all; <locale>.tmpl has the words, the names of months
// and the way to write money of one language.
type Templates struct {
	html    *htmltemplate.Template
	text    *template.Template
	words   map[language.Tag]*template.Template
	tags    []language.Tag // English first, which is spoken when nothing fits
	matcher language.Matcher
}

// LoadTemplates returns the built-in templates, with those in dir in their
// place: a file mail.html or mail.txt replaces the look, a file de.tmpl
// replaces the words that it defines, fr.tmpl and de-AT.tmpl add languages;
// what they do not define is said in English and in German. Without a dir ("")
// all are built in.
//
// Every mail is written once to see whether it can be. The error of a broken
// template names file and line.
func LoadTemplates(dir string) (*Templates, error) {
	builtin, err := fs.Sub(embedded, "templates")
	if err != nil {
		return nil, err
	}
	t := &Templates{words: map[language.Tag]*template.Template{}}
	if err := t.parse(builtin); err != nil {
		return nil, err
	}
	if dir != "" {
		if err := t.parse(os.DirFS(dir)); err != nil {
			return nil, fmt.Errorf("mail templates in %s: %w", dir, err)
		}
	}
	for tag := range t.words {
		t.tags = append(t.tags, tag)
	}
	slices.SortFunc(t.tags, func(a, b language.Tag) int {
		if (a == language.English) != (b == language.English) {
			if a == language.English {
				return -1
			}
			return 1
		}
		return strings.Compare(a.String(), b.String())
	})
	t.matcher = language.NewMatcher(t.tags)
	for _, tag := range t.tags {
		for _, n := range rehearsals(tag) {
			if _, err := t.Render(n); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// parse reads the templates of a folder over those that are there already.
func (t *Templates) parse(dir fs.FS) error {
	files, err := fs.ReadDir(dir, ".")
	if err != nil {
		return err
	}
	// A language before those that fall back on it: en, de, de-AT.
	rank := func(f fs.DirEntry) int {
		if f.Name() == "en.tmpl" {
			return 0
		}
		return len(f.Name())
	}
	slices.SortStableFunc(files, func(a, b fs.DirEntry) int { return rank(a) - rank(b) })
	for _, f := range files {
		name, ext := f.Name(), path.Ext(f.Name())
		if strings.HasPrefix(name, ".") || !slices.Contains([]string{".html", ".txt", ".tmpl"}, ext) {
			continue
		}
		content, err := fs.ReadFile(dir, name)
		if err != nil {
			return err
		}
		switch base := strings.TrimSuffix(name, ext); {
		case name == "mail.html":
			t.html, err = htmltemplate.New(name).Parse(string(content))
		case name == "mail.txt":
			t.text, err = template.New(name).Parse(string(content))
		case ext == ".tmpl":
			err = t.parseWords(base, name, string(content))
		default:
			err = fmt.Errorf("%s: expected mail.html, mail.txt or a language, such as fr.tmpl", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *Templates) parseWords(locale, name, content string) error {
	tag, err := language.Parse(locale)
	if err != nil {
		return fmt.Errorf("%s: %q is no language", name, locale)
	}
	words := t.words[tag]
	if words == nil {
		words = template.New("")
		if base := t.fallback(tag); base != nil {
			if words, err = base.Clone(); err != nil {
				return err
			}
		}
	}
	if _, err := words.New(name).Parse(content); err != nil {
		return err
	}
	t.words[tag] = words
	return nil
}

// fallback is what says the words that a language does not define: German for
// Austria's, else English. Nil while English itself is read.
func (t *Templates) fallback(tag language.Tag) *template.Template {
	for p := tag.Parent(); p != language.Und; p = p.Parent() {
		if words := t.words[p]; words != nil {
			return words
		}
	}
	return t.words[language.English]
}

// Render writes the mail of a notice: Subject, Text, HTML and Locale. Who gets
// it and its ID are the caller's.
func (t *Templates) Render(n Notice) (Message, error) {
	if !slices.Contains(Kinds, n.Kind) {
		return Message{}, fmt.Errorf("mail: unknown kind %q", n.Kind)
	}
	wanted, _, _ := language.ParseAcceptLanguage(n.Locale)
	_, index, sure := t.matcher.Match(wanted...)
	if sure == language.No { // it proposes one of the same script even then
		index = 0
	}
	v, err := t.view(n, t.tags[index])
	if err != nil {
		return Message{}, err
	}
	var text, html strings.Builder
	if err := t.text.Execute(&text, v); err != nil {
		return Message{}, err
	}
	if err := t.html.Execute(&html, v); err != nil {
		return Message{}, err
	}
	return Message{Subject: v.Subject, Text: tidy(text.String()), HTML: html.String(), Locale: v.Locale}, nil
}

var blankLines = regexp.MustCompile(`\n{3,}`)

// tidy takes away the empty lines that parts left out leave behind.
func tidy(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		lines = append(lines, strings.TrimRight(line, " \n\r"))
	}
	return strings.TrimSpace(blankLines.ReplaceAllString(strings.Join(lines, "\n"), "\n\n")) + "\n"
}

// view is what templates see: everything said in the buyer's language.
type view struct {
	Kind   Kind
	Locale string // what it is written in
	RTL    bool
	Dir    string // ltr or rtl

	Shop, BuyerName, Reference string
	Event, Venue, Hall         string
	When                       string // day, time and zone; "": not known
	Until                      string // of an offer: when it ends, likewise

	Items []line
	Count int // of places, also those not listed
	More  int // places not listed

	Total, Refund string // money
	Paid          bool   // it cost something
	Refunded      bool   // something goes back
	Partly        bool   // less than was paid goes back
	ShowCancelled bool

	BookingURL, TicketsURL, OfferURL string

	// What the language says about it all.
	Subject, Heading, Lead, After string

	words *template.Template
}

// line is one or more places that are the same to the reader.
type line struct {
	Label, TicketType string
	Count             int
	Price             string // of all of them
}

// Say says a word or phrase of the language.
func (v *view) Say(name string) (string, error) { return say(v.words, name, v) }

func say(words *template.Template, name string, data any) (string, error) {
	var b strings.Builder
	if err := words.ExecuteTemplate(&b, name, data); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}

func (t *Templates) view(n Notice, tag language.Tag) (*view, error) {
	v := &view{
		Kind: n.Kind, Locale: tag.String(), Dir: "ltr", words: t.words[tag],
		Count: len(n.Items), Paid: n.TotalMinor > 0, Refunded: n.RefundMinor > 0,
		Partly: n.RefundMinor > 0 && n.RefundMinor < n.TotalMinor, ShowCancelled: n.ShowCancelled,
		BookingURL: n.BookingURL,
	}
	if n.Kind == Offer {
		v.OfferURL = n.OfferURL
	}
	if n.Kind == Confirmation || n.Kind == Reminder { // else they are of no use any more
		v.TicketsURL = n.TicketsURL
	}
	if script, _ := tag.Script(); slices.Contains([]string{"Arab", "Hebr", "Thaa", "Syrc", "Nkoo", "Adlm"}, script.String()) {
		v.RTL, v.Dir = true, "rtl"
	}
	typed := func(s string) string { return isolate(clean(s), v.RTL) }
	v.Shop, v.Reference = typed(n.Shop), typed(n.Reference)
	v.Event, v.Venue, v.Hall = typed(n.Event), typed(n.Venue), typed(n.Hall)
	if !advertises(n.BuyerName) {
		v.BuyerName = typed(n.BuyerName)
	}

	words := phrases{words: t.words[tag], tag: tag}
	v.When, v.Until = words.when(n.StartsAt, n.TimeZone), words.when(n.Until, n.TimeZone)
	v.Total, v.Refund = words.money(n.TotalMinor, n.Currency), words.money(n.RefundMinor, n.Currency)
	for i := 0; i < len(n.Items); {
		same := i + 1
		for same < len(n.Items) && n.Items[same] == n.Items[i] {
			same++
		}
		if len(v.Items) == itemsMax {
			v.More = len(n.Items) - i
			break
		}
		item := n.Items[i]
		v.Items = append(v.Items, line{Label: typed(item.Label), TicketType: typed(item.TicketType),
			Count: same - i, Price: words.money(item.PriceMinor*int64(same-i), n.Currency)})
		i = same
	}
	for part, into := range map[string]*string{"subject": &v.Subject, "heading": &v.Heading, "lead": &v.Lead, "after": &v.After} {
		*into = words.say(string(n.Kind)+"."+part, v)
	}
	return v, words.err
}

var linkLike = regexp.MustCompile(`[/@\\]|\pL\.\pL\pL`)

// advertises reports whether a name would be made a link by mail programs.
// Anybody can type somebody else's address and such a name, hold a seat and
// let it expire: the mail that follows must not carry their message.
func advertises(name string) bool { return linkLike.MatchString(name) }

// rehearsals are notices that between them make templates do all they can.
func rehearsals(tag language.Tag) []Notice {
	var all []Notice
	for _, kind := range Kinds {
		full := Notice{
			Kind: kind, Locale: tag.String(), Shop: "Shop", BuyerName: "Ada", Reference: "ABCD2345",
			Event: "Event", Venue: "Venue", Hall: "Hall", StartsAt: time.Date(2030, 1, 2, 19, 0, 0, 0, time.UTC), TimeZone: "Europe/Berlin",
			Currency: "EUR", TotalMinor: 300, RefundMinor: 200, BookingURL: "https://example.org/b", TicketsURL: "https://example.org/t",
			Until: time.Date(2029, 12, 1, 12, 0, 0, 0, time.UTC), OfferURL: "https://example.org/o",
		}
		for range itemsMax + 2 {
			full.Items = append(full.Items, Item{Label: strings.Repeat("A", 1+len(full.Items)), TicketType: "adult", PriceMinor: 100})
		}
		whole := full
		whole.Items, whole.RefundMinor, whole.ShowCancelled = []Item{{"A", "adult", 300}}, 300, true
		unpaid := full
		unpaid.RefundMinor, unpaid.ShowCancelled = 0, true
		none := full
		none.RefundMinor = 0
		all = append(all, full, whole, unpaid, none, Notice{Kind: kind, Locale: tag.String()})
	}
	return all
}
