package smtp

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport"
)

// dial opens a connection up to where MAIL may be sent. On failure the
// connection is closed, c is nil and the outcome says why.
func (t *Transport) dial(ctx context.Context) (*conn, postledger.Outcome) {
	c, why := t.open(ctx, t.cfg.TLS != TLSNone)
	if c == nil && t.cfg.TLS == TLSOpportunistic && why.Phase == postledger.PhaseStartTLS && ctx.Err() == nil {
		// Never go on with the connection whose handshake failed.
		t.cfg.Log.Warn("tls failed, sending in plain text",
			slog.String("host", t.cfg.Host), slog.String("error", why.Text))
		plain, again := t.open(ctx, false)
		if plain != nil {
			plain.plain = "in plain text, TLS failed: " + why.Text
		}
		return plain, again
	}
	return c, why
}

func (t *Transport) open(ctx context.Context, withTLS bool) (*conn, postledger.Outcome) {
	dialCtx, cancel := context.WithTimeout(ctx, t.cfg.Timeouts.Connect)
	raw, err := t.cfg.Dial(dialCtx, "tcp", net.JoinHostPort(t.cfg.Host, strconv.Itoa(t.cfg.Port)))
	cancel()
	if err != nil {
		if ctx.Err() != nil {
			return nil, stopped(postledger.PhaseConnect, "stopped while connecting")
		}
		return nil, lost(postledger.OutcomeUnavailable, postledger.PhaseConnect, err)
	}
	c := newConn(raw, t.cfg.Now())
	g := c.watch(ctx)
	why, ok := t.introduce(ctx, c, withTLS)
	if !g.release() {
		why, ok = stopped(why.Phase, "stopped while connecting"), false
	}
	if !ok {
		c.drop()
		return nil, why
	}
	return c, postledger.Outcome{}
}

// introduce takes a new connection from the greeting to the login.
func (t *Transport) introduce(ctx context.Context, c *conn, withTLS bool) (postledger.Outcome, bool) {
	if t.cfg.TLS == TLSImplicit {
		if why, ok := t.handshake(ctx, c); !ok {
			return why, false
		}
	}
	r, err := c.read(t.cfg.Timeouts.Greeting)
	if why, ok := expectPositive(postledger.PhaseGreeting, r, err); !ok {
		return why, false
	}
	if why, ok := t.hello(c); !ok {
		return why, false
	}
	if withTLS && !c.encrypted() {
		switch {
		case c.ext.startTLS:
			r, err := c.command(t.cfg.Timeouts.StartTLS, "STARTTLS")
			if why, ok := expectPositive(postledger.PhaseStartTLS, r, err); !ok {
				return why, false
			}
			if why, ok := t.handshake(ctx, c); !ok {
				return why, false
			}
			// All that was learnt in clear text is void (RFC 3207 §4.2).
			if why, ok := t.hello(c); !ok {
				return why, false
			}
		case t.cfg.TLS == TLSRequired:
			return failure(postledger.OutcomeUnavailable, postledger.PhaseStartTLS,
				"TLS is required and the next hop does not offer STARTTLS"), false
		}
	}
	if t.cfg.Username != "" {
		return t.login(c)
	}
	return postledger.Outcome{}, true
}

// tlsConfig is shared by all connections, so that a later handshake can resume
// the session of an earlier one.
func tlsConfig(cfg Config) *tls.Config {
	return &tls.Config{
		ServerName:         cfg.ServerName,
		RootCAs:            cfg.RootCAs,
		MinVersion:         tls.VersionTLS12,
		ClientSessionCache: tls.NewLRUClientSessionCache(cfg.MaxConnections),
		// Small records at the start of a write would make eight writes of
		// one usual message.
		DynamicRecordSizingDisabled: true,
	}
}

func (t *Transport) handshake(ctx context.Context, c *conn) (postledger.Outcome, bool) {
	ctx, cancel := context.WithTimeout(ctx, t.cfg.Timeouts.StartTLS)
	defer cancel()
	if err := c.startTLS(ctx, t.tls); err != nil {
		return failure(postledger.OutcomeUnavailable, postledger.PhaseStartTLS,
			fmt.Sprintf("TLS handshake failed: %v", err)), false
	}
	return postledger.Outcome{}, true
}

// hello sends EHLO, or HELO to a hop that does not know it (RFC 5321 §3.2).
func (t *Transport) hello(c *conn) (postledger.Outcome, bool) {
	c.ext = extensions{}
	r, err := c.command(t.cfg.Timeouts.Hello, "EHLO "+t.cfg.HelloName)
	if err == nil && r.Code/100 == 5 {
		r, err = c.command(t.cfg.Timeouts.Hello, "HELO "+t.cfg.HelloName)
		return expectPositive(postledger.PhaseHello, r, err)
	}
	if why, ok := expectPositive(postledger.PhaseHello, r, err); !ok {
		return why, false
	}
	c.ext = parseExtensions(r.Text)
	return postledger.Outcome{}, true
}

// expectPositive judges a reply of the phases before AUTH.
func expectPositive(phase postledger.Phase, r transport.Reply, err error) (postledger.Outcome, bool) {
	switch {
	case err != nil:
		return lost(postledger.OutcomeUnavailable, phase, err), false
	case !r.Positive():
		return transport.Classify(phase, r, 0, nil), false
	}
	return postledger.Outcome{}, true
}
