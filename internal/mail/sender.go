package mail

import (
	"context"
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Sender is the way out for mails.
type Sender interface {
	// Send hands a message over, or says why not. Nil means that somebody
	// else has it now and will deliver it or say so. An error that is
	// [ErrPermanent] will be the same next time; after any other it is worth
	// trying again. A message of which it is not known whether it went out is
	// of the second kind: it may arrive twice, with the same Message-ID.
	//
	// Errors tell neither the recipient's name nor address.
	Send(ctx context.Context, m Message) error
}

// ErrPermanent marks the refusal of a message that will never be accepted: the
// mailbox does not exist, the message is malformed.
var ErrPermanent = errors.New("mail refused for good")

// ParseURL makes the sender that a setting describes:
//
//	smtp://user:password@mail.example.org:587?tls=starttls
//	file:///var/spool/rowlock or a folder
//
// tls is starttls (the default; refused when the server does not offer it),
// implicit (TLS from the first byte; the default of smtps:// and of port 465)
// or none. Without a port it is 587, 465 or 25. A password is sent in clear
// text to this machine itself only.
//
// Nothing of the setting is in the error: in a mistyped one the password may be
// anywhere.
func ParseURL(setting string) (Sender, error) {
	if setting == "" {
		return nil, errors.New("no mail server is named")
	}
	if !strings.Contains(setting, "://") {
		if strings.Contains(setting, "@") || strings.HasPrefix(setting, "smtp") && strings.Contains(setting, ":") {
			return nil, errors.New("expected smtp://user:password@host:port or a folder")
		}
		return NewDrop(setting), nil
	}
	u, err := url.Parse(setting)
	if err != nil {
		return nil, errors.New("expected smtp://user:password@host:port, where : / ? # @ % in user and password are written as %3A %2F %3F %23 %40 %25")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || u.Fragment != "" {
		return nil, errors.New("expected nothing but ?tls= behind host and port; are special characters in the password escaped?")
	}
	switch u.Scheme {
	case "file":
		if u.Host != "" || u.Path == "" || len(query) > 0 {
			return nil, errors.New("expected file:///folder")
		}
		return NewDrop(filepath.FromSlash(u.Path)), nil
	case "smtp", "smtps":
	default:
		return nil, errors.New("expected smtp://, smtps:// or file://")
	}
	for name, values := range query {
		if name != "tls" || len(values) != 1 {
			return nil, errors.New("expected no parameter but tls; are special characters in the password escaped?")
		}
	}
	if u.Hostname() == "" || u.Path != "" && u.Path != "/" {
		return nil, errors.New("expected a host, and no path behind it")
	}
	s := &SMTP{host: u.Hostname(), mode: query.Get("tls")}
	if s.mode == "" {
		s.mode = tlsStart
		if u.Scheme == "smtps" || u.Port() == "465" {
			s.mode = tlsImplicit
		}
	}
	port, known := map[string]int{tlsStart: 587, tlsImplicit: 465, tlsNone: 25}[s.mode]
	if !known || u.Scheme == "smtps" && s.mode != tlsImplicit {
		return nil, errors.New("tls: expected starttls, implicit or none, and with smtps:// only implicit")
	}
	s.port = port
	if u.Port() != "" {
		if s.port, err = strconv.Atoi(u.Port()); err != nil || s.port < 1 || s.port > 65535 {
			return nil, errors.New("expected a port between 1 and 65535")
		}
	}
	if u.User != nil {
		s.user = u.User.Username()
		s.password, _ = u.User.Password()
		if s.user == "" {
			return nil, errors.New("expected a user before the password")
		}
		// The library names them the same way.
		if s.mode == tlsNone && !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, s.host) {
			return nil, errors.New("tls=none: a password must not go over the network in clear text")
		}
	}
	return s, nil
}

func (s *SMTP) addr() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }
