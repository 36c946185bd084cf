package smtp

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"
)

// TLSMode says when a connection is encrypted.
type TLSMode string

// The TLS modes.
const (
	// TLSImplicit speaks TLS from the first byte (RFC 8314 §3.3, port 465).
	TLSImplicit TLSMode = "implicit"
	// TLSRequired demands STARTTLS and a certificate that verifies.
	TLSRequired TLSMode = "required"
	// TLSOpportunistic uses STARTTLS if it works. Not together with a login.
	TLSOpportunistic TLSMode = "opportunistic"
	// TLSNone never encrypts. Not together with a login.
	TLSNone TLSMode = "none"
)

// AuthMechanism is how a login is made; "" takes PLAIN or else LOGIN,
// whichever the hop offers.
type AuthMechanism string

// The mechanisms.
const (
	AuthPlain   AuthMechanism = "PLAIN"   // RFC 4616
	AuthLogin   AuthMechanism = "LOGIN"   // no RFC, widely needed
	AuthXOAuth2 AuthMechanism = "XOAUTH2" // the password is an OAuth 2.0 bearer token
)

// Timeouts are the limits of each phase, counted from its start. The
// defaults, taken where a field is 0, are the minima of RFC 5321 §4.5.3.2.
type Timeouts struct {
	Connect  time.Duration // TCP, default 30 s
	Greeting time.Duration // 220, default 5 min
	Hello    time.Duration // EHLO and HELO, default 5 min
	StartTLS time.Duration // STARTTLS and the handshake, default 2 min
	Auth     time.Duration // each step of a login, default 5 min
	Mail     time.Duration // default 5 min; RSET too
	Rcpt     time.Duration // default 5 min
	Data     time.Duration // DATA to 354, default 2 min
	Block    time.Duration // writing one block of the message, default 3 min
	// Dot is how long the answer to the final dot is waited for, default
	// 10 min. Less makes unconfirmed deliveries of what was accepted.
	Dot time.Duration
}

// Config is one relay and how to use it.
type Config struct {
	Host string
	Port int
	TLS  TLSMode
	// ServerName is verified in the hop's certificate, default Host.
	ServerName string
	// RootCAs are the trusted issuers, default the system's.
	RootCAs *x509.CertPool

	Username string
	Password string
	Auth     AuthMechanism

	// HelloName is our name in EHLO, default the host's name.
	HelloName string

	// MaxConnections bounds open connections, in use and idle; default 8.
	// Memory: about 40 KiB each.
	MaxConnections int
	// MaxMessagesPerConnection, default 100.
	MaxMessagesPerConnection int
	// MaxIdle is how long an unused connection may be used again, default 30 s.
	MaxIdle time.Duration
	// MaxAge is how old a connection may grow, default 5 min.
	MaxAge time.Duration

	Timeouts Timeouts

	// Dial opens the TCP connection, default a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Now is the clock of MaxIdle and MaxAge, default time.Now.
	Now func() time.Time
	// Log gets warnings about the hop, default none.
	Log *slog.Logger
}

// withDefaults checks c and fills in what is not set.
func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Host == "":
		return c, errors.New("smtp host: must not be empty")
	case hasControl(c.Host):
		return c, errors.New("smtp host: must not contain spaces or control characters")
	case c.Port < 1 || c.Port > 65535:
		return c, fmt.Errorf("smtp port: %d is not between 1 and 65535", c.Port)
	case hasControl(c.HelloName):
		return c, errors.New("smtp hello name: must not contain spaces or control characters")
	case c.MaxConnections < 0 || c.MaxMessagesPerConnection < 0 || c.MaxIdle < 0 || c.MaxAge < 0:
		return c, errors.New("smtp limits: must not be negative")
	}
	switch c.TLS {
	case TLSImplicit, TLSRequired:
	case TLSOpportunistic, TLSNone:
		if c.Username != "" || c.Password != "" {
			return c, fmt.Errorf("smtp tls: %q may send a login in clear text; use %q or %q with a username", c.TLS, TLSRequired, TLSImplicit)
		}
	default:
		return c, fmt.Errorf("smtp tls: %q is not one of implicit, required, opportunistic, none", c.TLS)
	}
	switch c.Auth {
	case "", AuthPlain, AuthLogin, AuthXOAuth2:
	default:
		return c, fmt.Errorf("smtp auth: %q is not one of PLAIN, LOGIN, XOAUTH2", c.Auth)
	}
	switch {
	case (c.Username == "") != (c.Password == ""):
		return c, errors.New("smtp username and password: give both or none")
	case c.Username == "" && c.Auth != "":
		return c, fmt.Errorf("smtp auth: %s needs a username and a password", c.Auth)
	case strings.ContainsRune(c.Username+c.Password, 0):
		return c, errors.New("smtp username and password: must not contain NUL")
	case strings.ContainsAny(c.Username+c.Password, "\x01") && c.Auth == AuthXOAuth2:
		return c, errors.New("smtp username and password: must not contain the separator 0x01 of XOAUTH2")
	}

	if c.ServerName == "" {
		c.ServerName = c.Host
	}
	if c.HelloName == "" {
		c.HelloName = hostName()
	}
	setDefault(&c.MaxConnections, 8)
	setDefault(&c.MaxMessagesPerConnection, 100)
	setDefault(&c.MaxIdle, 30*time.Second)
	setDefault(&c.MaxAge, 5*time.Minute)
	if c.Dial == nil {
		c.Dial = new(net.Dialer).DialContext
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if err := c.Timeouts.setDefaults(); err != nil {
		return c, err
	}
	return c, nil
}

func (t *Timeouts) setDefaults() error {
	for _, f := range []struct {
		name string
		d    *time.Duration
		def  time.Duration
	}{
		{"connect", &t.Connect, 30 * time.Second},
		{"greeting", &t.Greeting, 5 * time.Minute},
		{"hello", &t.Hello, 5 * time.Minute},
		{"starttls", &t.StartTLS, 2 * time.Minute},
		{"auth", &t.Auth, 5 * time.Minute},
		{"mail", &t.Mail, 5 * time.Minute},
		{"rcpt", &t.Rcpt, 5 * time.Minute},
		{"data", &t.Data, 2 * time.Minute},
		{"block", &t.Block, 3 * time.Minute},
		{"dot", &t.Dot, 10 * time.Minute},
	} {
		if *f.d < 0 {
			return fmt.Errorf("smtp timeout %s: must not be negative", f.name)
		}
		setDefault(f.d, f.def)
	}
	return nil
}

func setDefault[T comparable](field *T, def T) {
	var zero T
	if *field == zero {
		*field = def
	}
}

// hostName is a name EHLO may carry; RFC 5321 §4.1.4 prefers a literal to a
// name that means nothing, and forbids failing because of it.
func hostName() string {
	if name, err := os.Hostname(); err == nil && name != "" && !hasControl(name) {
		return name
	}
	return "[127.0.0.1]"
}

// hasControl reports a character that could end or split a command line.
func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
}
