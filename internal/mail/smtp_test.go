package mail

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// post is a mail server that keeps what it accepts.
type post struct {
	// What it does at each step; nil is to accept.
	mail, rcpt, data func(*smtp.Conn) error
	reset            func(*smtp.Conn) // after the answer to a message

	user, password string // "": nobody has to log in
	tls            *tls.Config
	implicit       bool

	addr string
	mu   sync.Mutex
	got  []accepted
}

type accepted struct {
	from, to, user string
	utf8, secret   bool // SMTPUTF8 asked for; over TLS
	raw            string
}

func (p *post) accepted() []accepted {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]accepted(nil), p.got...)
}

// open starts the server, which ends with the test.
func (p *post) open(t *testing.T) *post {
	t.Helper()
	s := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &session{post: p, conn: c}, nil }))
	s.Domain, s.EnableSMTPUTF8, s.AllowInsecureAuth = "localhost", true, p.tls == nil
	s.ErrorLog = quiet{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.addr = l.Addr().String()
	if p.implicit {
		l = tls.NewListener(l, p.tls)
	} else {
		s.TLSConfig = p.tls
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		<-done
	})
	return p
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
func (quiet) Println(...any)        {}

type session struct {
	*post
	conn *smtp.Conn
	now  accepted
}

func at(step func(*smtp.Conn) error, c *smtp.Conn) error {
	if step == nil {
		return nil
	}
	return step(c)
}

func (s *session) AuthMechanisms() []string {
	if s.user == "" {
		return nil
	}
	return []string{sasl.Plain}
}

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != s.user || password != s.password {
			return smtp.ErrAuthFailed
		}
		s.now.user = user
		return nil
	}), nil
}

func (s *session) Mail(from string, opts *smtp.MailOptions) error {
	if s.user != "" && s.now.user == "" {
		return smtp.ErrAuthRequired
	}
	_, secret := s.conn.TLSConnectionState()
	s.now.from, s.now.utf8, s.now.secret = from, opts.UTF8, secret
	return at(s.mail, s.conn)
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.now.to = to
	return at(s.rcpt, s.conn)
}

func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := at(s.data, s.conn); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.raw = string(raw)
	s.got = append(s.got, s.now)
	return nil
}

func (s *session) Reset() {
	if s.reset != nil && s.now.raw != "" {
		s.reset(s.conn)
	}
}

func (s *session) Logout() error { return nil }

// answer is what a server says at a step.
func answer(code int, text string) func(*smtp.Conn) error {
	return func(*smtp.Conn) error {
		return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 1, 1}, Message: text}
	}
}

// hangUp closes the connection without a word.
func hangUp(c *smtp.Conn) error {
	c.Conn().Close()
	return errors.New("gone")
}

var certificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
})

func serverTLS() *tls.Config { return &tls.Config{Certificates: []tls.Certificate{certificate()}} }

// sender is the one that MAIL_URL would make, trusting our certificate.
func sender(t *testing.T, setting string) *SMTP {
	t.Helper()
	s, err := ParseURL(setting)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(certificate().Leaf)
	s.(*SMTP).tls = &tls.Config{RootCAs: roots}
	return s.(*SMTP)
}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestSMTPHandsTheMessageOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		post    *post
		setting string
	}{
		"InTheClear":             {&post{}, "smtp://%s?tls=none"},
		"InTheClearWithPassword": {&post{user: "shop", password: "p@ss:/word"}, "smtp://shop:p%%40ss%%3A%%2Fword@%s?tls=none"},
		"STARTTLS":               {&post{tls: serverTLS()}, "smtp://%s"},
		"STARTTLSWithPassword":   {&post{tls: serverTLS(), user: "shop", password: "secret"}, "smtp://shop:secret@%s?tls=starttls"},
		"TLS":                    {&post{tls: serverTLS(), implicit: true}, "smtps://%s"},
		"TLSWithPassword":        {&post{tls: serverTLS(), implicit: true, user: "shop", password: "secret"}, "smtp://shop:secret@%s?tls=implicit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := c.post.open(t)
			m := letter()
			if err := sender(t, fmt.Sprintf(c.setting, p.addr)).Send(soon(t), m); err != nil {
				t.Fatal(err)
			}
			got := p.accepted()
			if len(got) != 1 {
				t.Fatalf("%d messages", len(got))
			}
			if g := got[0]; g.from != m.From.Address || g.to != m.To.Address || g.user != p.user || g.secret != (p.tls != nil) || g.utf8 {
				t.Errorf("%+v", g)
			}
			h, parts := read(t, []byte(got[0].raw))
			if id := h.Get("Message-ID"); id != "<"+m.ID+"@example.org>" || len(parts) != 3 || lf(parts[0].content) != m.Text || parts[2].content != string(m.Attachments[0].Content) {
				t.Errorf("%s %+q", id, parts)
			}
		})
	}
}

func TestSMTPAsksForUTF8OnlyWhenAnAddressNeedsIt(t *testing.T) {
	t.Parallel()
	p := new(post).open(t)
	m := letter()
	m.To.Address = "ада@example.com"
	if err := sender(t, "smtp://"+p.addr+"?tls=none").Send(soon(t), m); err != nil {
		t.Fatal(err)
	}
	if got := p.accepted(); len(got) != 1 || !got[0].utf8 || got[0].to != m.To.Address {
		t.Errorf("%+v", got)
	}
}

func TestSMTPSaysWhetherTryingAgainHelps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		post      *post
		setting   string
		permanent bool
		says      string // what somebody on call needs to see
	}{
		"NoSuchMailbox":       {&post{rcpt: answer(550, "no such user")}, "smtp://%s?tls=none", true, "550"},
		"MailboxBusy":         {&post{rcpt: answer(451, "greylisted")}, "smtp://%s?tls=none", false, "451"},
		"ContentRefused":      {&post{data: answer(554, "looks like spam")}, "smtp://%s?tls=none", true, "looks like spam"},
		"DiskFull":            {&post{data: answer(452, "full")}, "smtp://%s?tls=none", false, "452"},
		"SenderNotAllowed":    {&post{mail: answer(553, "not yours")}, "smtp://%s?tls=none", false, "553"},
		"LoginNeeded":         {&post{user: "shop", password: "x"}, "smtp://%s?tls=none", false, "502"},
		"LoginWrong":          {&post{user: "shop", password: "x"}, "smtp://shop:secret@%s?tls=none", false, "535"},
		"HangsUpAtSender":     {&post{mail: hangUp}, "smtp://%s?tls=none", false, ""},
		"HangsUpAtRecipient":  {&post{rcpt: hangUp}, "smtp://%s?tls=none", false, ""},
		"HangsUpBeforeYes":    {&post{data: hangUp}, "smtp://%s?tls=none", false, ""},
		"NoSTARTTLS":          {&post{}, "smtp://%s", false, "STARTTLS"},
		"STARTTLSForImplicit": {&post{tls: serverTLS()}, "smtps://%s", false, "tls"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := c.post.open(t)
			err := sender(t, fmt.Sprintf(c.setting, p.addr)).Send(soon(t), letter())
			if err == nil || errors.Is(err, ErrPermanent) != c.permanent {
				t.Fatalf("permanent: %v: %v", errors.Is(err, ErrPermanent), err)
			}
			if s := err.Error(); !strings.Contains(s, c.says) || !strings.Contains(s, p.addr) || strings.Contains(s, "secret") {
				t.Error(s)
			}
			if got := p.accepted(); len(got) != 0 {
				t.Errorf("accepted %+v", got)
			}
		})
	}
}

func TestSMTPTrustsNoUnknownCertificate(t *testing.T) {
	t.Parallel()
	for _, p := range []*post{{tls: serverTLS()}, {tls: serverTLS(), implicit: true}} {
		p.open(t)
		s := sender(t, "smtp://"+p.addr)
		if p.implicit {
			s.mode = tlsImplicit
		}
		s.tls = nil
		var unknown x509.UnknownAuthorityError
		if err := s.Send(soon(t), letter()); !errors.As(err, &unknown) || errors.Is(err, ErrPermanent) {
			t.Error(err)
		}
	}
}

func TestSMTPDoesNotSendAgainWhatWasAccepted(t *testing.T) {
	t.Parallel()
	p := (&post{reset: func(c *smtp.Conn) { c.Conn().Close() }}).open(t) // right after its 250
	if err := sender(t, "smtp://"+p.addr+"?tls=none").Send(soon(t), letter()); err != nil {
		t.Error(err)
	}
	if got := p.accepted(); len(got) != 1 {
		t.Errorf("%d messages", len(got))
	}
}

func TestSMTPServerThatIsAwayIsWorthTryingAgain(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	if err := sender(t, "smtp://"+addr).Send(soon(t), letter()); err == nil || errors.Is(err, ErrPermanent) {
		t.Error(err)
	}
}

// The library waits for a greeting as long as it takes; we stop when told to.
func TestSMTPStopsWithItsContextWhereverItIs(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*post{"Connected": nil, "InTheMiddle": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patience := soon(t)
			ctx, cancel := context.WithCancel(patience)
			var addr string
			if p == nil {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { l.Close() })
				addr = l.Addr().String()
				go func() {
					if conn, err := l.Accept(); err == nil {
						cancel()
						io.Copy(io.Discard, conn) // until they leave
						conn.Close()
					}
				}()
			} else {
				p.rcpt = func(*smtp.Conn) error {
					cancel()
					<-t.Context().Done() // says nothing until the test is over
					return nil
				}
				addr = p.open(t).addr
			}
			if err := sender(t, "smtp://"+addr+"?tls=none").Send(ctx, letter()); !errors.Is(err, context.Canceled) || errors.Is(err, ErrPermanent) || patience.Err() != nil {
				t.Error(err, patience.Err())
			}
		})
	}
}

// Errors are kept with the job, where no personal data may be.
func TestErrorsDoNotNameTheRecipient(t *testing.T) {
	t.Parallel()
	m := letter()
	m.To = netmail.Address{Name: "Ada Lovelace", Address: "ada.lovelace+seats@example.com"}
	for _, text := range []string{
		"<ada.lovelace+seats@example.com>: Recipient address rejected", "no such user Ada.Lovelace+Seats here",
		"unknown: ADA.LOVELACE+SEATS@EXAMPLE.COM; see https://mail.example.net/why", "(ada.lovelace+seats@example.com)",
	} {
		for _, code := range []int{450, 550} {
			p := (&post{rcpt: answer(code, text)}).open(t)
			err := sender(t, "smtp://"+p.addr+"?tls=none").Send(soon(t), m)
			if err == nil || strings.Contains(strings.ToLower(err.Error()), "lovelace") || !strings.Contains(err.Error(), fmt.Sprint(code)) {
				t.Error(err)
			}
		}
	}
}
