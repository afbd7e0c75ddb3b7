package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"
)

// sendMax is how long one message may take, from dialing to the server's last
// word.
const sendMax = 30 * time.Second

const (
	tlsStart    = "starttls"
	tlsImplicit = "implicit"
	tlsNone     = "none"
)

// SMTP sends through a mail server, each message on a connection of its own:
// mails are few beside everything else, and a connection that is kept is one
// that may have died unseen. [ParseURL] makes it.
type SMTP struct {
	host           string
	port           int
	mode           string // tlsStart, …
	user, password string
	tls            *tls.Config // nil: the system's roots
}

// String is where mails go, without the password.
func (s *SMTP) String() string { return fmt.Sprintf("smtp://%s?tls=%s", s.addr(), s.mode) }

// GoString is the same: %#v would print the password.
func (s *SMTP) GoString() string { return s.String() }

// Send hands the message to the server.
func (s *SMTP) Send(ctx context.Context, m Message) error {
	msg, err := m.compose()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendMax)
	defer cancel()

	config := &tls.Config{}
	if s.tls != nil {
		config = s.tls.Clone()
	}
	config.ServerName = s.host
	config.MinVersion = tls.VersionTLS12

	// The library minds the context only while it dials, and leaves the
	// connection open when the greeting fails. So the connection is ours:
	// closed at the end in any case, and at once when the context ends.
	dial := func(dialing context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(dialing, network, addr)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { conn.Close() })
		if s.mode == tlsImplicit {
			return tls.Client(conn, config), nil
		}
		return conn, nil
	}
	options := []gomail.Option{
		gomail.WithPort(s.port), gomail.WithTimeout(sendMax), gomail.WithDialContextFunc(dial),
		gomail.WithTLSConfig(config), gomail.WithTLSPolicy(gomail.NoTLS),
	}
	if s.mode == tlsStart {
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if s.user != "" {
		options = append(options, gomail.WithUsername(s.user), gomail.WithPassword(s.password), gomail.WithOpportunisticSMTPAuth(
			gomail.SMTPAuthSCRAMSHA256PLUS, gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin, gomail.SMTPAuthCramMD5))
	}
	// Asked for without need, SMTPUTF8 makes the message undeliverable to
	// servers that do not know it.
	if ascii(m.From.Address) && ascii(m.To.Address) && ascii(m.ReplyTo.Address) {
		options = append(options, gomail.WithoutSMTPUTF8())
	}
	client, err := gomail.NewClient(s.host, options...)
	if err != nil {
		return fmt.Errorf("mail server %s: %w", s.addr(), err)
	}
	err = client.DialAndSendWithContext(ctx, msg)
	switch {
	case err == nil, msg.IsDelivered():
		// Once the server has it, a goodbye that fails is no reason to send
		// it again.
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("mail server %s: %w", s.addr(), ctx.Err())
	}
	var refused *gomail.SendError
	if !errors.As(err, &refused) {
		// Before the server heard of the message, so nothing of it is in here.
		return fmt.Errorf("mail server %s: %w", s.addr(), err)
	}
	answer := redact(refused.Error(), m.To.Address)
	if permanent(refused) {
		return fmt.Errorf("%w: mail server %s: %s", ErrPermanent, s.addr(), answer)
	}
	return fmt.Errorf("mail server %s: %s", s.addr(), answer)
}

// permanent reports whether the server said no to this very message. A no to
// our login or to our sender address is about our settings: somebody will mend
// them, and the mail is still to be sent then.
func permanent(err *gomail.SendError) bool {
	switch err.Reason {
	case gomail.ErrSMTPRcptTo, gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
		return err.ErrorCode()/100 == 5
	}
	return false
}

var addressLike = regexp.MustCompile(`[^\s<>"'(),;]+@[^\s<>"'(),;]+`)

// redact takes addresses out of what a server answered: servers like to repeat
// whom they do not know.
func redact(answer, to string) string {
	answer = addressLike.ReplaceAllString(answer, "…")
	if local, _, found := strings.Cut(to, "@"); found {
		answer = regexp.MustCompile(`(?i)(^|[^\pL\pN])`+regexp.QuoteMeta(local)+`($|[^\pL\pN])`).ReplaceAllString(answer, "${1}…${2}")
	}
	return answer
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}
