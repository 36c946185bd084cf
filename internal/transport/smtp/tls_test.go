package smtp_test

import (
	"context"
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport/smtp"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

const year = 365 * 24 * time.Hour

func TestTLS(t *testing.T) {
	ca := transporttest.NewAuthority(t)
	for _, mode := range []smtp.TLSMode{smtp.TLSImplicit, smtp.TLSRequired, smtp.TLSOpportunistic} {
		t.Run(string(mode), func(t *testing.T) {
			hop := transporttest.NewHop(t, transporttest.HopConfig{
				TLS: ca.Server(transporttest.HopName, time.Now().Add(year)), Implicit: mode == smtp.TLSImplicit,
			})
			tr := dial(t, hop, oneConnection, func(c *smtp.Config) { c.TLS, c.RootCAs = mode, ca.Pool() })
			for range 3 {
				out, _ := send(t, tr, envelope())
				wantClasses(t, out, postledger.OutcomeAccepted)
			}
			for _, a := range hop.Accepted() {
				if !a.Encrypted {
					t.Error("sent in plain text")
				}
			}
			if n := hop.Connections(); n != 1 {
				t.Errorf("%d connections, want 1", n)
			}
		})
	}
}

// B34: STARTTLS is offered and does not work.
func TestBrokenTLS(t *testing.T) {
	ca, stranger := transporttest.NewAuthority(t), transporttest.NewAuthority(t)
	good := ca.Server(transporttest.HopName, time.Now().Add(year))
	old := good.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS10
	for _, tc := range []struct {
		name  string
		tls   *tls.Config
		rules []transporttest.Rule
	}{
		{"TLS 1.0 only", old, nil},
		{"closes in the handshake", good, []transporttest.Rule{
			{At: transporttest.StepStartTLS, Do: transporttest.Goodbye("220 go ahead")},
		}},
		{"closes at STARTTLS", good, []transporttest.Rule{
			{At: transporttest.StepStartTLS, Do: transporttest.Action{Drop: true}},
		}},
		{"refuses STARTTLS", good, []transporttest.Rule{
			{At: transporttest.StepStartTLS, Do: transporttest.Answer("454 4.7.0 not now")},
		}},
		{"garbage for a handshake", good, []transporttest.Rule{
			{At: transporttest.StepStartTLS, Do: transporttest.Goodbye("220 go ahead\n250 not TLS")},
		}},
		{"expired certificate", ca.Server(transporttest.HopName, time.Now().Add(-time.Hour)), nil},
		{"another host's certificate", ca.Server("other.test", time.Now().Add(year)), nil},
		{"unknown authority", stranger.Server(transporttest.HopName, time.Now().Add(year)), nil},
	} {
		t.Run(tc.name+", opportunistic", func(t *testing.T) {
			hop := transporttest.NewHop(t, transporttest.HopConfig{TLS: tc.tls, Rules: tc.rules})
			tr := dial(t, hop, func(c *smtp.Config) { c.TLS, c.RootCAs = smtp.TLSOpportunistic, ca.Pool() })
			out, _ := send(t, tr, envelope())
			wantClasses(t, out, postledger.OutcomeAccepted)
			if !strings.HasPrefix(out[0].Text, "250 2.0.0 accepted (in plain text, TLS failed: ") {
				t.Errorf("the outcome does not say so: %q", out[0].Text)
			}
			a := hop.Accepted()
			if len(a) != 1 || a[0].Encrypted || a[0].Conn != 2 {
				t.Errorf("accepted %+v, want one in plain text on a new connection", a)
			}
		})
		t.Run(tc.name+", required", func(t *testing.T) {
			hop := transporttest.NewHop(t, transporttest.HopConfig{TLS: tc.tls, Rules: tc.rules})
			tr := dial(t, hop, func(c *smtp.Config) { c.TLS, c.RootCAs = smtp.TLSRequired, ca.Pool() })
			out, _ := send(t, tr, envelope())
			wantClasses(t, out, postledger.OutcomeUnavailable)
			if out[0].Phase != postledger.PhaseStartTLS {
				t.Errorf("got %v %q", out[0], out[0].Text)
			}
			wantAccepted(t, hop, 0)
			if n := hop.Connections(); n != 1 {
				t.Errorf("%d connections: fell back", n)
			}
		})
	}
}

// Required never goes without; a hop that stops offering it changes nothing.
func TestTLSNotOffered(t *testing.T) {
	hop := transporttest.NewHop(t, transporttest.HopConfig{})
	tr := dial(t, hop, func(c *smtp.Config) { c.TLS = smtp.TLSRequired })
	out, _ := send(t, tr, envelope())
	wantClasses(t, out, postledger.OutcomeUnavailable)
	wantAccepted(t, hop, 0)

	tr = dial(t, hop, func(c *smtp.Config) { c.TLS = smtp.TLSOpportunistic })
	out, _ = send(t, tr, envelope())
	wantClasses(t, out, postledger.OutcomeAccepted)
}

// Replies injected in clear text behind the 220 must not be believed.
func TestClearTextBeforeTheHandshakeIsForgotten(t *testing.T) {
	ca := transporttest.NewAuthority(t)
	hop := transporttest.NewHop(t, transporttest.HopConfig{
		TLS: ca.Server(transporttest.HopName, time.Now().Add(year)),
		Rules: []transporttest.Rule{
			{At: transporttest.StepStartTLS, Do: transporttest.Answer("220 go ahead\n250-evil.test\n250 AUTH PLAIN")},
		},
	})
	tr := dial(t, hop, func(c *smtp.Config) { c.TLS, c.RootCAs = smtp.TLSRequired, ca.Pool() })
	out, _ := send(t, tr, envelope())
	wantClasses(t, out, postledger.OutcomeAccepted)
	if a := hop.Accepted()[0]; !a.Encrypted || !strings.Contains(a.Mail, "SIZE=") {
		t.Errorf("went on with what was said in clear text: %+v", a)
	}
}

func TestLogin(t *testing.T) {
	ca := transporttest.NewAuthority(t)
	for _, tc := range []struct {
		name     string
		auth     smtp.AuthMechanism
		offered  []string
		password string
		reply    string
		class    postledger.OutcomeClass
	}{
		{"plain by default", "", nil, "secret-1", "", postledger.OutcomeAccepted},
		{"login by default", "", []string{"LOGIN"}, "secret-1", "", postledger.OutcomeAccepted},
		{"plain", smtp.AuthPlain, nil, "secret-1", "", postledger.OutcomeAccepted},
		{"login", smtp.AuthLogin, nil, "secret-1", "", postledger.OutcomeAccepted},
		{"xoauth2", smtp.AuthXOAuth2, nil, "secret-1", "", postledger.OutcomeAccepted},
		{"wrong, plain", smtp.AuthPlain, nil, "secret-2", "", postledger.OutcomeMisconfigured},
		{"wrong, login", smtp.AuthLogin, nil, "secret-2", "", postledger.OutcomeMisconfigured},
		{"wrong, xoauth2", smtp.AuthXOAuth2, nil, "secret-2", "", postledger.OutcomeMisconfigured},
		{"not offered", smtp.AuthXOAuth2, []string{"PLAIN"}, "secret-1", "", postledger.OutcomeMisconfigured},
		{"none known", "", []string{"GSSAPI"}, "secret-1", "", postledger.OutcomeMisconfigured},
		{"asks for more", smtp.AuthPlain, nil, "secret-1", "334 more", postledger.OutcomeMisconfigured},
		{"temporary", "", nil, "secret-1", "454 4.7.0 later", postledger.OutcomeUnavailable},
		{"transition", "", nil, "secret-1", "432 4.7.12 later", postledger.OutcomeUnavailable},
		{"goodbye", "", nil, "secret-1", "421 4.3.2 bye", postledger.OutcomeUnavailable},
		{"demanded", "", nil, "secret-1", "530 5.7.0 no", postledger.OutcomeMisconfigured},
		{"too weak", "", nil, "secret-1", "534 5.7.9 no", postledger.OutcomeMisconfigured},
		{"disabled", "", nil, "secret-1", "525 5.7.13 no", postledger.OutcomeMisconfigured},
		{"unknown mechanism", "", nil, "secret-1", "504 5.5.4 no", postledger.OutcomeMisconfigured},
		{"encryption demanded", "", nil, "secret-1", "538 5.7.11 no", postledger.OutcomeMisconfigured},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := transporttest.HopConfig{
				TLS: ca.Server(transporttest.HopName, time.Now().Add(year)), Logins: map[string]string{"desk": "secret-1"},
				Mechanisms: tc.offered,
			}
			if tc.reply != "" {
				cfg.Rules = []transporttest.Rule{{At: transporttest.StepAuth, Do: transporttest.Answer(tc.reply)}}
			}
			hop := transporttest.NewHop(t, cfg)
			tr := dial(t, hop, func(c *smtp.Config) {
				c.TLS, c.RootCAs = smtp.TLSRequired, ca.Pool()
				c.Username, c.Password, c.Auth = "desk", tc.password, tc.auth
			})
			if o := tr.Probe(context.Background()); o.Class != tc.class || o.Phase != postledger.PhaseAuth {
				t.Errorf("probe: %v %q, want %v", o, o.Text, tc.class)
			}
			out, w := send(t, tr, envelope())
			wantClasses(t, out, tc.class)
			if out[0].Class != postledger.OutcomeAccepted && (out[0].Phase != postledger.PhaseAuth || w.WasBegun()) {
				t.Errorf("got %v, begun %v", out[0], w.WasBegun())
			}
			if strings.Contains(out[0].Text, tc.password) {
				t.Errorf("the text holds the password: %q", out[0].Text)
			}
		})
	}
}

// B35: the login is refused, later it works: nothing is lost, refused or charged.
func TestLoginRefusedThenMended(t *testing.T) {
	ca := transporttest.NewAuthority(t)
	for _, tc := range []struct {
		reply string
		class postledger.OutcomeClass
	}{
		{"535 5.7.8 wrong password", postledger.OutcomeMisconfigured},
		{"454 4.7.0 temporary", postledger.OutcomeUnavailable},
	} {
		hop := transporttest.NewHop(t, transporttest.HopConfig{
			TLS: ca.Server(transporttest.HopName, time.Now().Add(year)), Logins: map[string]string{"desk": "secret"},
			Rules: []transporttest.Rule{{At: transporttest.StepAuth, Times: 20, Do: transporttest.Answer(tc.reply)}},
		})
		tr := dial(t, hop, func(c *smtp.Config) {
			c.TLS, c.RootCAs, c.Username, c.Password = smtp.TLSRequired, ca.Pool(), "desk", "secret"
		})
		for range 20 {
			out, _ := send(t, tr, envelope())
			wantClasses(t, out, tc.class)
		}
		for range 20 {
			out, _ := send(t, tr, envelope())
			wantClasses(t, out, postledger.OutcomeAccepted)
		}
		wantAccepted(t, hop, 20)
	}
}

// B30: a 454 to the final dot is a throttle; sent again, everything arrives.
func TestThrottledAtTheDot(t *testing.T) {
	hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
		{At: transporttest.StepDot, Times: 12, Do: transporttest.Answer("454 4.7.0 slow down")},
	}})
	tr := dial(t, hop)
	open, throttled := 60, 0
	for open > 0 {
		out, w := send(t, tr, envelope())
		switch out[0].Class {
		case postledger.OutcomeAccepted:
			open--
		case postledger.OutcomeThrottled:
			throttled++
			if w.Answer() == nil {
				t.Error("the wire was not told the answer")
			}
		default:
			t.Fatalf("got %v", out[0])
		}
	}
	wantAccepted(t, hop, 60)
	if throttled != 12 || hop.Connections() != 1 {
		t.Errorf("%d throttled on %d connections, want 12 on 1", throttled, hop.Connections())
	}
}
