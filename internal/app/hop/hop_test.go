package hop_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/app/hop"
	"github.com/postledger/postledger/internal/mime/dkim"
	"github.com/postledger/postledger/internal/secret"
	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/internal/transport/sandbox"
)

func ring(t *testing.T, keys ...string) *secret.Keyring {
	t.Helper()
	k, err := secret.ParseKeyring(strings.Join(keys, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func factory(t *testing.T, keys ...string) *hop.Factory {
	t.Helper()
	kept, err := sandbox.New(sandbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return hop.New(ring(t, keys...), kept, slog.New(slog.DiscardHandler))
}

func profile(transport, settings string) postledger.Profile {
	var ids postledger.IDSource
	return postledger.Profile{
		ID: ids.Next(time.Now()), Name: "main",
		Config: postledger.ProfileConfig{From: "a@example.org", Transport: transport, Settings: json.RawMessage(settings), Connections: 2},
	}
}

func value(s string) *secret.Value {
	v := secret.NewValue(s)
	return &v
}

const relay = `{"host":"relay.example.net","port":587,"tls":"required","username":"u"}`

func TestASecretOpensWhereItBelongsOnly(t *testing.T) {
	f := factory(t, secret.Generate())
	p := profile(hop.SMTP, relay)
	var err error
	if p.Secrets, err = f.Seal(postledger.Profile{}, p, hop.Change{Password: value("pass word")}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(p.Secrets), "pass word") {
		t.Fatal("the password is readable")
	}
	if _, err := f.Make(p); err != nil {
		t.Fatalf("in its place: %v", err)
	}
	tests := map[string]func(*postledger.Profile){
		"another row": func(p *postledger.Profile) { p.ID[15]++ },
		"another host": func(p *postledger.Profile) {
			p.Config.Settings = json.RawMessage(strings.Replace(relay, "relay", "evil", 1))
		},
		"another port": func(p *postledger.Profile) {
			p.Config.Settings = json.RawMessage(strings.Replace(relay, "587", "588", 1))
		},
		"another user": func(p *postledger.Profile) {
			p.Config.Settings = json.RawMessage(strings.Replace(relay, `"u"`, `"v"`, 1))
		},
		"damaged": func(p *postledger.Profile) { p.Secrets = p.Secrets[:len(p.Secrets)-9] },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			q := p
			q.Secrets = append([]byte(nil), p.Secrets...)
			change(&q)
			if _, err := f.Make(q); err == nil {
				t.Error("it opened")
			}
		})
	}
	if _, err := factory(t, secret.Generate()).Make(p); !errors.Is(err, secret.ErrKeyUnknown) {
		t.Errorf("with another key: %v", err)
	}
}

func TestSecretsOverChanges(t *testing.T) {
	f := factory(t, secret.Generate())
	old := profile(hop.SMTP, relay)
	old.Config.DKIMDomain, old.Config.DKIMSelector = "example.org", "s1"
	var err error
	old.Secrets, err = f.Seal(postledger.Profile{}, old, hop.Change{Password: value("p"), DKIMKey: value(pemKey(t))})
	if err != nil {
		t.Fatal(err)
	}
	moved := old
	moved.Config.Settings = json.RawMessage(strings.Replace(relay, "relay", "other", 1))
	renamed := old
	renamed.Config.FromName = "Shop"
	elsewhere := old
	elsewhere.Config.DKIMDomain = "example.com"
	tests := map[string]struct {
		next           postledger.Profile
		change         hop.Change
		want           error
		password, dkim bool
	}{
		"nothing changed":            {renamed, hop.Change{}, nil, true, true},
		"the host, and no password":  {moved, hop.Change{}, hop.ErrPasswordAgain, false, false},
		"the host, and its password": {moved, hop.Change{Password: value("q")}, nil, true, true},
		"the host, and none any more": {
			moved, hop.Change{Password: value("")}, nil, false, true,
		},
		"the domain, and no key": {elsewhere, hop.Change{}, hop.ErrDKIMKeyAgain, false, false},
		"all removed":            {renamed, hop.Change{Password: value(""), DKIMKey: value("")}, nil, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			next := tt.next
			sealed, err := f.Seal(old, next, tt.change)
			if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
				t.Fatalf("%v, want %v", err, tt.want)
			}
			if err != nil {
				return
			}
			next.Secrets = sealed
			password, dkimKey := hop.Has(&next)
			if password != tt.password || dkimKey != tt.dkim {
				t.Errorf("password %v, DKIM key %v", password, dkimKey)
			}
		})
	}
}

func TestResealUsesTheCurrentKey(t *testing.T) {
	older, current := secret.Generate(), secret.Generate()
	p := profile(hop.SMTP, relay)
	var err error
	if p.Secrets, err = factory(t, older).Seal(postledger.Profile{}, p, hop.Change{Password: value("p")}); err != nil {
		t.Fatal(err)
	}
	f := factory(t, current, older)
	sealed, changed, err := f.Reseal(p)
	if err != nil || !changed {
		t.Fatal(changed, err)
	}
	p.Secrets = sealed
	if _, changed, err = f.Reseal(p); err != nil || changed {
		t.Fatalf("twice: %v, %v", changed, err)
	}
	if _, err := factory(t, current).Make(p); err != nil {
		t.Errorf("without the older key: %v", err)
	}
	if _, _, err := factory(t, secret.Generate()).Reseal(p); !errors.Is(err, secret.ErrKeyUnknown) {
		t.Errorf("without any of its keys: %v", err)
	}
}

func pemKey(t *testing.T) string {
	t.Helper()
	k, err := dkim.GenerateKey(dkim.Ed25519)
	if err != nil {
		t.Fatal(err)
	}
	b, err := dkim.EncodeKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFaultsNameTheField(t *testing.T) {
	tests := map[string]struct {
		transport, settings string
		domain, selector    string
		change              hop.Change
		field, rule         string
	}{
		"an unknown transport":   {"pigeon", ``, "", "", hop.Change{}, "transport", `"pigeon" is not one of`},
		"an unknown setting":     {hop.SMTP, `{"hots":"x"}`, "", "", hop.Change{}, "settings.hots", "is no setting"},
		"a setting of a sandbox": {hop.Sandbox, `{"host":"x"}`, "", "", hop.Change{}, "settings.host", "is no setting"},
		"a text for a number":    {hop.SMTP, `{"host":"x","port":"25"}`, "", "", hop.Change{}, "settings.port", "must not be a string"},
		"two objects":            {hop.SMTP, `{"host":"x"} {}`, "", "", hop.Change{}, "settings", "one JSON object"},
		"no host":                {hop.SMTP, `{"tls":"none"}`, "", "", hop.Change{}, "settings.host", "must not be empty"},
		"no settings":            {hop.SMTP, ``, "", "", hop.Change{}, "settings.host", "must not be empty"},
		"a bad TLS mode":         {hop.SMTP, `{"host":"x","tls":"maybe"}`, "", "", hop.Change{}, "settings.tls", "is not one of"},
		"a bad port":             {hop.SMTP, `{"host":"x","tls":"none","port":70000}`, "", "", hop.Change{}, "settings.port", "70000"},
		"a login in clear":       {hop.SMTP, `{"host":"x","tls":"none","username":"u"}`, "", "", hop.Change{Password: value("p")}, "settings.tls", "clear text"},
		"a user alone":           {hop.SMTP, `{"host":"x","tls":"required","username":"u"}`, "", "", hop.Change{}, "password", "give both or none"},
		"a negative time":        {hop.SMTP, `{"host":"x","tls":"none","timeouts_seconds":{"dot":-1}}`, "", "", hop.Change{}, "settings.timeouts_seconds.dot", "between"},
		"a missing CA file":      {hop.SMTP, `{"host":"x","tls":"required","ca_file":"/nowhere"}`, "", "", hop.Change{}, "settings.ca_file", "no such file"},
		"a DKIM domain alone":    {hop.Sandbox, ``, "example.org", "s", hop.Change{}, "dkim_key", "is missing"},
		"a DKIM key alone":       {hop.Sandbox, ``, "", "", hop.Change{DKIMKey: value(pemKey(t))}, "dkim_domain", "must be set"},
		"a damaged DKIM key":     {hop.Sandbox, ``, "example.org", "s", hop.Change{DKIMKey: value("S3cr3t")}, "dkim_key", "is not PEM"},
		"a bad selector":         {hop.Sandbox, ``, "example.org", "s 1", hop.Change{DKIMKey: value(pemKey(t))}, "dkim_selector", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := factory(t, secret.Generate())
			p := profile(tt.transport, tt.settings)
			p.Config.DKIMDomain, p.Config.DKIMSelector = tt.domain, tt.selector
			sealed, err := f.Seal(postledger.Profile{}, p, tt.change)
			if err != nil {
				t.Fatal(err)
			}
			p.Secrets = sealed
			var fault *hop.FieldError
			if err := f.Check(p); !errors.As(err, &fault) || fault.Field != tt.field || !strings.Contains(fault.Rule, tt.rule) {
				t.Fatalf("%v, want %s: …%s", err, tt.field, tt.rule)
			}
			if strings.Contains(fault.Error(), "S3cr3t") {
				t.Error("the fault holds the secret")
			}
		})
	}
}

func TestASandboxIsSharedAndOutlivesItsProfiles(t *testing.T) {
	f := factory(t, secret.Generate())
	p := profile(hop.Sandbox, ``)
	if !f.Capabilities(&p).Sandbox {
		t.Error("it does not say that it is one")
	}
	if err := f.Check(p); err != nil { // makes and closes a hop
		t.Fatal(err)
	}
	h, err := f.Make(p)
	if err != nil {
		t.Fatal(err)
	}
	if o := h.Transport.Probe(context.Background()); o.Class != postledger.OutcomeAccepted {
		t.Error(o)
	}
	if err := f.Kept().Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAProfileReachesItsRelay(t *testing.T) {
	addr, _ := testserver.Mailpit(t)
	host, port, _ := strings.Cut(addr, ":")
	f := factory(t, secret.Generate())
	p := profile(hop.SMTP, `{"host":"`+host+`","port":`+port+`,"tls":"none"}`)
	h, err := f.Make(p)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Transport.Close(); err != nil {
			t.Error(err)
		}
	}()
	if o := h.Transport.Probe(t.Context()); o.Class != postledger.OutcomeAccepted {
		t.Error(o, o.Text)
	}
}
