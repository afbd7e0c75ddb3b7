package mail

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// tester is a *testing.T or *rapid.T.
type tester interface {
	Helper()
	Error(...any)
	Errorf(string, ...any)
	Fatal(...any)
	Fatalf(string, ...any)
}

// letter is a message that has everything.
func letter() Message {
	return Message{
		ID:      "confirmation.0190b7c2-0000-7000-8000-000000000001",
		From:    netmail.Address{Name: "Театр «Ладья»", Address: "tickets@example.org"},
		To:      netmail.Address{Name: "Ada Lovelace", Address: "ada@example.com"},
		ReplyTo: netmail.Address{Address: "desk@example.org"},
		Subject: "Ihre Tickets für «Die Möwe»", Locale: "de",
		Text: "Grüße\nund bis bald\n.\n", HTML: "<p dir=\"rtl\">مرحبًا</p>\n",
		Attachments: []Attachment{{Name: "Tickets für Ada.pdf", ContentType: "application/pdf", Content: []byte("%PDF-1.7\x00\xff\r\n.\r\n")}},
	}
}

func written(t tester, m Message) []byte {
	t.Helper()
	msg, err := m.compose()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := msg.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// part is a leaf of a MIME message, decoded.
type part struct {
	kind, charset, file string
	content             string
}

// read parses a message as a mail program does.
func read(t tester, raw []byte) (netmail.Header, []part) {
	t.Helper()
	msg, err := netmail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, raw)
	}
	return msg.Header, leaves(t, msg.Header.Get("Content-Type"), msg.Header.Get("Content-Transfer-Encoding"), msg.Header.Get("Content-Disposition"), msg.Body)
}

func leaves(t tester, contentType, encoding, disposition string, body io.Reader) []part {
	t.Helper()
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		t.Fatalf("%v: %q", err, contentType)
	}
	if strings.HasPrefix(kind, "multipart/") {
		var all []part
		for r := multipart.NewReader(body, params["boundary"]); ; {
			p, err := r.NextRawPart()
			if err == io.EOF {
				return all
			} else if err != nil {
				t.Fatal(err)
			}
			all = append(all, leaves(t, p.Header.Get("Content-Type"), p.Header.Get("Content-Transfer-Encoding"), p.Header.Get("Content-Disposition"), p)...)
		}
	}
	switch encoding {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	default:
		t.Fatalf("encoding %q", encoding)
	}
	content, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	p := part{kind: kind, charset: params["charset"], content: string(content)}
	if disposition != "" {
		_, params, err := mime.ParseMediaType(disposition)
		if err != nil {
			t.Fatalf("%v: %q", err, disposition)
		}
		if p.file, err = new(mime.WordDecoder).DecodeHeader(params["filename"]); err != nil {
			t.Fatal(err)
		}
	}
	return []part{p}
}

func decoded(t tester, h netmail.Header, name string) string {
	t.Helper()
	s, err := new(mime.WordDecoder).DecodeHeader(h.Get(name))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lf is what a text is but for its line ends, which MIME makes CRLF.
func lf(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

func TestMessageIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	m := letter()
	h, parts := read(t, written(t, m))

	for name, want := range map[string]string{
		"Subject": m.Subject, "Message-ID": "<" + m.ID + "@example.org>",
		"Auto-Submitted": "auto-generated", "Content-Language": "de", "MIME-Version": "1.0",
	} {
		if got := decoded(t, h, name); got != want {
			t.Errorf("%s: %q, not %q", name, got, want)
		}
	}
	if _, err := h.Date(); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]netmail.Address{"From": m.From, "To": m.To, "Reply-To": m.ReplyTo} {
		got, err := h.AddressList(name)
		if err != nil || len(got) != 1 || *got[0] != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	want := []part{
		{"text/plain", "UTF-8", "", m.Text},
		{"text/html", "UTF-8", "", m.HTML},
		{"application/pdf", "", "Tickets für Ada.pdf", string(m.Attachments[0].Content)},
	}
	for i := range parts[:min(2, len(parts))] {
		parts[i].content = lf(parts[i].content)
	}
	if !slices.Equal(parts, want) {
		t.Errorf("parts\n%+q, not\n%+q", parts, want)
	}
}

func TestMessageOfTextAloneHasOnePart(t *testing.T) {
	t.Parallel()
	h, parts := read(t, written(t, Message{ID: "a", From: letter().From, To: letter().To, Subject: "s", Text: "t\n"}))
	if len(parts) != 1 || parts[0].kind != "text/plain" || lf(parts[0].content) != "t\n" || h.Get("Reply-To") != "" {
		t.Errorf("%v %+q", h, parts)
	}
}

func headerNames(h netmail.Header) []string { return slices.Sorted(maps.Keys(h)) }

// A mail program must find no header that we did not write, whatever the
// buyer is called.
func TestNobodyCanWriteHeaders(t *testing.T) {
	t.Parallel()
	clear := letter()
	plain, _ := read(t, written(t, clear))

	check := func(t tester, typed string) {
		m := letter()
		m.To.Name, m.ReplyTo.Name, m.Subject, m.Attachments[0].Name = typed, typed, typed, "x"+typed
		m.Locale = typed
		if m.Locale == "" {
			m.Locale = "en"
		}
		raw := written(t, m)
		header, _, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
		for line := range bytes.SplitSeq(header, []byte("\r\n")) {
			if len(line) > 998 || bytes.ContainsAny(line, "\r\n") {
				t.Errorf("%q: line %q", typed, line)
			}
		}
		for _, b := range header {
			if b >= utf8.RuneSelf {
				t.Errorf("%q: header is not ASCII: %q", typed, header)
				break
			}
		}
		h, parts := read(t, raw)
		if got := headerNames(h); !slices.Equal(got, headerNames(plain)) {
			t.Errorf("%q: headers %q", typed, got)
		}
		for name, values := range h {
			if len(values) != 1 {
				t.Errorf("%q: %s is there %d times", typed, name, len(values))
			}
		}
		want := clean(typed)
		to, err := h.AddressList("To")
		if err != nil || len(to) != 1 || to[0].Address != m.To.Address || clean(to[0].Name) != strings.ReplaceAll(want, `\`, "/") {
			t.Errorf("%q: To %q, %v", typed, h.Get("To"), err)
		}
		if got := decoded(t, h, "Subject"); got != want {
			t.Errorf("%q: Subject %q, not %q", typed, got, want)
		}
		if len(parts) != 3 {
			t.Errorf("%q: %d parts", typed, len(parts))
		}
	}
	for _, typed := range []string{
		"Eve\r\nBcc: everybody@example.org", "Eve\nBcc: x@example.org", "Eve\rBcc: x@example.org", "Eve\r\n\r\n<b>body</b>",
		"Eve\u2028Bcc: x", "Eve\u0085Bcc: x", "Eve\x00", "\x1b[31m",
		`Eve" <eve@example.org>, "Mallory`, `O'Brien \ "The" <x>`, `\"`, "=?utf-8?q?Bcc=3A_x?=", "(comment)", "a,b;c:d@e",
		strings.Repeat("a", 200), strings.Repeat("محمد ", 40), strings.Repeat("紫", 200), strings.Repeat("👩‍👩‍👧 ", 25),
		"\u202eeve\u202c", "שרה כהן", "", " ", "é", "e\u0301",
	} {
		check(t, typed)
	}
	t.Run("AnyText", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) { check(t, rapid.String().Draw(t, "typed")) })
	})
}

func TestTextsThatTurnOthersAroundAreStraightened(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"\u202eeve\u2066 \u2069b": "eve b",
		"a\tb\u00a0 c\r\n":        "a b c",
		"می\u200cخواهم":           "می\u200cخواهم", // needs its joiner
		"👩‍👩‍👧":                   "👩‍👩‍👧",
		"bad \xff byte":           "bad byte",
		"=\u202e?utf-8?q?x?=":     "= ?utf-8?q?x?=",
	} {
		if got := clean(typed); got != want {
			t.Errorf("%+q: %+q, not %+q", typed, got, want)
		}
	}
	for _, c := range []struct {
		text string
		rtl  bool
		want string
	}{
		{"Ada", false, "Ada"}, {"Ada", true, "\u2068Ada\u2069"}, {"ليلى", true, "ليلى"}, {"ليلى", false, "\u2068ليلى\u2069"}, {"12", true, "12"},
	} {
		if got := isolate(c.text, c.rtl); got != c.want {
			t.Errorf("%+q, rtl %v: %+q", c.text, c.rtl, got)
		}
	}
}

func TestMalformedMessagesAreRefusedForGoodAndSilently(t *testing.T) {
	t.Parallel()
	for what, spoil := range map[string]func(*Message){
		"no ID":                   func(m *Message) { m.ID = "" },
		"an ID that is a path":    func(m *Message) { m.ID = "../secret" },
		"an ID with two dots":     func(m *Message) { m.ID = "a..b" },
		"an ID with a line break": func(m *Message) { m.ID = "a\r\nBcc: x" },
		"a long ID":               func(m *Message) { m.ID = strings.Repeat("a", 201) },
		"no recipient":            func(m *Message) { m.To.Address = "" },
		"no domain":               func(m *Message) { m.To.Address = "secret" },
		"two recipients":          func(m *Message) { m.To.Address = "secret@example.org, b@example.org" },
		"a name in the address":   func(m *Message) { m.To.Address = "Secret <secret@example.org>" },
		"a comment":               func(m *Message) { m.To.Address = "secret@example.org (x)" },
		"a command":               func(m *Message) { m.To.Address = "secret@example.org>\r\nRCPT TO:<b@example.org" },
		"a bad sender":            func(m *Message) { m.From.Address = "secret" },
		"a bad way back":          func(m *Message) { m.ReplyTo.Address = "secret" },
		"a bad type":              func(m *Message) { m.Attachments[0].ContentType = "" },
	} {
		m := letter()
		spoil(&m)
		_, err := m.compose()
		if !errors.Is(err, ErrPermanent) || strings.Contains(err.Error(), "ecret") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
