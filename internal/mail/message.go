package mail

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	netmail "net/mail"
	"regexp"
	"strings"
	"unicode"

	gomail "github.com/wneessen/go-mail"
	"golang.org/x/text/unicode/bidi"
)

// Message is one mail to one person.
type Message struct {
	// ID names the mail among all that were ever sent, made of what it is
	// about: confirmation.<booking id>. Sent again it keeps its ID. Letters,
	// digits, hyphens, underscores and single dots, at most 200. With the
	// domain of From it is the Message-ID.
	ID       string
	From, To netmail.Address
	ReplyTo  netmail.Address // zero: answers go to From
	Subject  string
	Text     string
	HTML     string // "": text alone
	Locale   string // BCP 47, what it is written in; "": not said
	// Attachments come with it, in this order.
	Attachments []Attachment
}

// Attachment is a file that comes with a mail.
type Attachment struct {
	Name        string // as the reader sees it
	ContentType string // application/pdf
	Content     []byte
}

var messageID = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// compose makes the MIME message. What it refuses is refused for good, and
// named without the address: the error ends in a log.
func (m Message) compose() (*gomail.Msg, error) {
	if len(m.ID) > 200 || !messageID.MatchString(m.ID) {
		return nil, fmt.Errorf("%w: the message has no proper ID", ErrPermanent)
	}
	from, err := address(m.From)
	if err != nil {
		return nil, fmt.Errorf("%w: the sender's address is not valid", ErrPermanent)
	}
	to, err := address(m.To)
	if err != nil {
		return nil, fmt.Errorf("%w: the recipient's address is not valid", ErrPermanent)
	}
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(from)
	msg.ToMailAddress(to)
	if m.ReplyTo.Address != "" {
		reply, err := address(m.ReplyTo)
		if err != nil {
			return nil, fmt.Errorf("%w: the address for answers is not valid", ErrPermanent)
		}
		msg.ReplyToMailAddress(reply)
	}
	msg.Subject(clean(m.Subject))
	msg.SetMessageIDWithValue(m.ID + from.Address[strings.LastIndexByte(from.Address, '@'):])
	// Says to vacation programs that nobody is there to read their answer.
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	if m.Locale != "" {
		msg.SetGenHeader(gomail.HeaderContentLang, clean(m.Locale))
	}
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	if m.HTML != "" {
		msg.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	}
	for _, a := range m.Attachments {
		kind, params, err := mime.ParseMediaType(a.ContentType)
		if err != nil {
			return nil, fmt.Errorf("%w: attachment of type %q", ErrPermanent, a.ContentType)
		}
		content := bytes.NewReader(a.Content)
		msg.AttachReadSeeker(clean(a.Name), content, gomail.WithFileContentType(gomail.ContentType(mime.FormatMediaType(kind, params))))
	}
	return msg, nil
}

// address checks an address and cleans the name beside it.
func address(a netmail.Address) (*netmail.Address, error) {
	parsed, err := netmail.ParseAddress(a.Address)
	if err != nil {
		return nil, err
	}
	// "Eve <eve@example.org>", or a comment: more than an address.
	if parsed.Name != "" || strings.ContainsFunc(parsed.Address, unicode.IsControl) {
		return nil, errors.New("more than an address")
	}
	// net/mail lets a backslash into an encoded word, where it must not be, and
	// then cannot read it itself.
	name := strings.ReplaceAll(clean(a.Name), `\`, "/")
	return &netmail.Address{Name: name, Address: parsed.Address}, nil
}

// clean makes a line of what a stranger typed: whatever could end a line is a
// space, and what could turn around the text behind it is gone. Joiners stay,
// Persian and emoji are written with them. "=?" begins an encoded word, which
// mail programs would decode in a header that needs no encoding.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.IsSpace(r) || r == unicode.ReplacementChar {
			return ' '
		}
		p, _ := bidi.LookupRune(r)
		switch p.Class() {
		case bidi.LRO, bidi.RLO, bidi.LRE, bidi.RLE, bidi.PDF, bidi.LRI, bidi.RLI, bidi.FSI, bidi.PDI, bidi.Control:
			return -1
		}
		return r
	}, s)
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "=?", "= ?")
}

// isolate keeps a piece of text that runs the other way from disturbing the
// order of what stands around it.
func isolate(s string, rtl bool) string {
	for _, r := range s {
		p, _ := bidi.LookupRune(r)
		if c := p.Class(); c == bidi.L && rtl || (c == bidi.R || c == bidi.AL) && !rtl {
			return "\u2068" + s + "\u2069"
		}
	}
	return s
}
