package hop

import (
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver"
	"github.com/postledger/postledger/internal/mime/dkim"
	"github.com/postledger/postledger/internal/secret"
	"github.com/postledger/postledger/internal/transport"
	"github.com/postledger/postledger/internal/transport/sandbox"
	"github.com/postledger/postledger/internal/transport/smtp"
)

// Factory makes hops. It is safe for concurrent use.
type Factory struct {
	ring *secret.Keyring
	kept *sandbox.Transport
	kill func(point string)
	log  *slog.Logger
}

// New makes a factory. All sandbox profiles share one store of kept mail.
func New(ring *secret.Keyring, kept *sandbox.Transport, log *slog.Logger) *Factory {
	return &Factory{ring: ring, kept: kept, log: log}
}

// Kept is the sandbox's mail.
func (f *Factory) Kept() *sandbox.Transport { return f.kept }

// Capabilities are those of a profile's transport, known without its secrets.
func (f *Factory) Capabilities(p *postledger.Profile) transport.Capabilities {
	if p.Config.Transport == Sandbox {
		return f.kept.Capabilities()
	}
	return transport.Capabilities{Name: p.Config.Transport}
}

// Make makes a profile's transport and signer. It opens no connection.
func (f *Factory) Make(p postledger.Profile) (deliver.Hop, error) {
	password, key, err := f.open(&p)
	if err != nil {
		return deliver.Hop{}, err
	}
	return f.make(&p, password, key)
}

// Check reports what is wrong with a configuration and its secrets, by making
// the hop they describe.
func (f *Factory) Check(p postledger.Profile) error {
	h, err := f.Make(p)
	if err != nil {
		return err
	}
	return h.Transport.Close()
}

func (f *Factory) make(p *postledger.Profile, password, key string) (deliver.Hop, error) {
	var h deliver.Hop
	signer, err := signerOf(&p.Config, key)
	if err != nil {
		return h, err
	}
	switch p.Config.Transport {
	case Sandbox:
		if err := strict(p.Config.Settings, &struct{}{}); err != nil {
			return h, err
		}
		h.Transport = shared{f.kept}
	case SMTP:
		if h.Transport, err = f.smtp(&p.Config, password); err != nil {
			return h, err
		}
	default:
		return h, &FieldError{"transport", fmt.Sprintf("%q is not one of %s, %s", p.Config.Transport, SMTP, Sandbox)}
	}
	if signer != nil {
		h.Signer = signer
	}
	return h, nil
}

func (f *Factory) smtp(c *postledger.ProfileConfig, password string) (transport.Transport, error) {
	s, err := parseSMTP(c.Settings)
	if err != nil {
		return nil, err
	}
	roots, err := readRoots(s.CAFile)
	if err != nil {
		return nil, err
	}
	t := s.Timeouts
	made, err := smtp.New(smtp.Config{
		Host: s.Host, Port: s.Port, TLS: s.TLS, ServerName: s.ServerName, RootCAs: roots,
		Username: s.Username, Password: password, Auth: s.Auth, HelloName: s.HelloName,
		MaxConnections: max(2, c.Connections), MaxMessagesPerConnection: s.MessagesPerConnection,
		MaxIdle: s.MaxIdle.duration(), MaxAge: s.MaxAge.duration(),
		Timeouts: smtp.Timeouts{
			Connect: t.Connect.duration(), Greeting: t.Greeting.duration(), Hello: t.Hello.duration(), StartTLS: t.StartTLS.duration(),
			Auth: t.Auth.duration(), Mail: t.Mail.duration(), Rcpt: t.Rcpt.duration(), Data: t.Data.duration(),
			Block: t.Block.duration(), Dot: t.Dot.duration(),
		},
		Log:  f.log,
		Dial: f.dial(),
	})
	if err != nil {
		// The transport names the field and the rule: "smtp host: must not …".
		field, rule, _ := strings.Cut(strings.TrimPrefix(err.Error(), "smtp "), ": ")
		if field == "username and password" {
			return nil, &FieldError{"password", "and settings.username: " + rule}
		}
		return nil, &FieldError{"settings." + strings.ReplaceAll(field, " ", "_"), rule}
	}
	return made, nil
}

// readRoots reads issuers in PEM.
func readRoots(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, &FieldError{"settings.ca_file", "cannot be read: " + errors.Unwrap(err).Error()}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, &FieldError{"settings.ca_file", "holds no certificate in PEM"}
	}
	return pool, nil
}

// signerOf makes the DKIM signer, if the profile has one.
func signerOf(c *postledger.ProfileConfig, key string) (*dkim.Signer, error) {
	switch {
	case key == "" && c.DKIMDomain == "" && c.DKIMSelector == "":
		return nil, nil
	case key == "":
		return nil, &FieldError{"dkim_key", "is missing: dkim_domain and dkim_selector need it"}
	case c.DKIMDomain == "" || c.DKIMSelector == "":
		return nil, &FieldError{"dkim_domain", "and dkim_selector belong to a DKIM key: both must be set"}
	}
	private, err := dkim.ParseKey([]byte(key))
	if err != nil {
		return nil, dkimFault(err)
	}
	signer, err := dkim.New(dkim.Key{Domain: c.DKIMDomain, Selector: c.DKIMSelector, Private: private})
	if err != nil {
		return nil, dkimFault(err)
	}
	return signer, nil
}

// dkimFault maps the signer's names of fields to the profile's.
func dkimFault(err error) error {
	var k *dkim.KeyError
	if !errors.As(err, &k) {
		return err
	}
	field := "dkim_" + k.Field
	if k.Field == "private" {
		field = "dkim_key"
	}
	return &FieldError{field, k.Rule}
}

// shared is a sandbox that outlives the profile: closing a profile's hop must
// not close the store that all share.
type shared struct{ *sandbox.Transport }

func (shared) Close() error { return nil }
