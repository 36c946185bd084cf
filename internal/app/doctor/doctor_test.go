package doctor_test

import (
	"encoding/json"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/app/doctor"
	"github.com/postledger/postledger/internal/app/hop"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/mime/dkim"
	"github.com/postledger/postledger/internal/secret"
	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/internal/transport/sandbox"
)

// ward is a ledger to examine.
type ward struct {
	*testing.T
	config  config.Config
	ledger  *ledger.Ledger
	factory *hop.Factory
}

func newWard(t *testing.T, database string) *ward {
	t.Helper()
	w := &ward{T: t, config: config.Default()}
	dir := t.TempDir()
	w.config.DataDir, w.config.Blobs, w.config.JournalDir = dir, dir+"/blobs", dir+"/journal"
	if database == "" {
		database = "sqlite://" + dir + "/ledger.db"
	}
	var err error
	if w.config.Database, err = config.ParseDatabase(database); err != nil {
		t.Fatal(err)
	}
	w.config.EncryptionKey = secret.NewValue(secret.Generate())
	ring, err := w.config.Keyring()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := sandbox.New(sandbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w.factory = hop.New(ring, kept, slog.New(slog.DiscardHandler))
	if w.ledger, err = app.OpenLedger(t.Context(), &w.config, app.Migrated, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.ledger.Close() })
	return w
}

// profile makes one; key is a DKIM key in PEM.
func (w *ward) profile(name, key string, c postledger.ProfileConfig) postledger.Profile {
	w.Helper()
	p := postledger.Profile{ID: w.ledger.NewID(), Name: name, Config: c}
	var change hop.Change
	if key != "" {
		v := secret.NewValue(key)
		change.DKIMKey = &v
	}
	var err error
	if p.Secrets, err = w.factory.Seal(postledger.Profile{}, p, change); err != nil {
		w.Fatal(err)
	}
	if p, err = w.ledger.PutProfile(w.Context(), p, 0, postledger.AuditEvent{Action: "profile.put", Result: "done"}); err != nil {
		w.Fatal(err)
	}
	return p
}

func relay(from string) postledger.ProfileConfig {
	return postledger.ProfileConfig{
		From: from, Transport: hop.SMTP, Connections: 2,
		Settings: json.RawMessage(`{"host":"127.0.0.1","port":2525,"tls":"none"}`),
	}
}

// finds checks that one finding is in a state and holds the texts.
func finds(t *testing.T, all []doctor.Finding, state, what string, says ...string) {
	t.Helper()
	for _, f := range all {
		if f.What != what {
			continue
		}
		got := "fault"
		if f.OK {
			got = "ok"
		}
		if f.Warning {
			got = "warning"
		}
		for _, s := range says {
			if got != state || !strings.Contains(f.Says, s) {
				t.Errorf("%s: %s, %q; want %s, %q", what, got, f.Says, state, s)
			}
		}
		return
	}
	t.Errorf("nothing is said of %q in %+v", what, all)
}

func TestSettingsOfProfiles(t *testing.T) {
	t.Parallel()
	w := newWard(t, "")
	none := relay("a@example.org")
	none.QuotaPerDay = new(int64)
	w.profile("none", "", none)
	far := relay("not an address")
	far.Settings = json.RawMessage(`{"host":"relay.example.org","tls":"none"}`)
	far.PacePerMinute = 60
	w.profile("far", "", far)
	login := relay("a@example.org")
	login.Settings = json.RawMessage(`{"host":"127.0.0.1","tls":"none","username":"u"}`)
	w.profile("login", "", login)
	sure := relay("a@example.org")
	sure.Settings = json.RawMessage(`{"host":"relay.example.org","tls":"required"}`)
	p := w.profile("sure", "", sure)
	if err := w.ledger.PauseProfile(t.Context(), p.ID, "maintenance", "", postledger.AuditEvent{Action: "profile.pause", Result: "done"}); err != nil {
		t.Fatal(err)
	}
	damaged := w.profile("damaged", "", relay("a@example.org"))
	damaged.Secrets = []byte("{")
	if _, err := w.ledger.PutProfile(t.Context(), damaged, 1, postledger.AuditEvent{Action: "profile.put", Result: "done"}); err != nil {
		t.Fatal(err)
	}
	all := doctor.Examine(t.Context(), &w.config, doctor.Options{})
	finds(t, all, "warning", "profile none, limits", "no pace", "quota_per_day is 0")
	finds(t, all, "ok", "profile none, TLS", "127.0.0.1 is this machine")
	finds(t, all, "ok", "profile none, from", "example.org", "signs nothing")
	finds(t, all, "ok", "profile none, secrets", "it has none")
	finds(t, all, "ok", "profile none, next hop", "no login was tried")
	finds(t, all, "ok", "profile none, waiting", "nothing waits")
	finds(t, all, "ok", "profile none, DNS", "was not asked")
	finds(t, all, "ok", "profile far, limits", "60 recipients a minute, no quota")
	finds(t, all, "fault", "profile far, from", "no e-mail address")
	finds(t, all, "warning", "profile far, TLS", "clear text")
	finds(t, all, "fault", "profile login, TLS", "there is a login")
	finds(t, all, "fault", "profile login, secrets", "settings.tls")
	finds(t, all, "ok", "profile sure, TLS", "is required")
	finds(t, all, "fault", "profile sure, waiting", "paused since", "(maintenance); nothing waits")
	finds(t, all, "fault", "profile damaged, secrets", "damaged")
}

func TestSandboxDefaultOnPostgreSQL(t *testing.T) {
	t.Parallel()
	w := newWard(t, testserver.Postgres(t))
	w.profile("box", "", postledger.ProfileConfig{From: "a@example.org", Transport: hop.Sandbox, Connections: 2})
	finds(t, doctor.Examine(t.Context(), &w.config, doctor.Options{}), "fault", "profile box, default", "allow_sandbox")
	w.config.AllowSandbox = true
	for _, f := range doctor.Examine(t.Context(), &w.config, doctor.Options{Login: true}) {
		if !f.OK {
			t.Errorf("%+v", f)
		}
	}
}

// published makes a key and the record of its public half.
func published(t *testing.T, a dkim.Algorithm) (key, record string) {
	t.Helper()
	private, err := dkim.GenerateKey(a)
	if err != nil {
		t.Fatal(err)
	}
	text, err := dkim.EncodeKey(private)
	if err != nil {
		t.Fatal(err)
	}
	if record, err = dkim.Record(private.Public()); err != nil {
		t.Fatal(err)
	}
	return string(text), record
}

func TestRecordsOfProfiles(t *testing.T) {
	t.Parallel()
	w := newWard(t, "")
	rsa, rsaRecord := published(t, dkim.RSA)
	ed, edRecord := published(t, dkim.Ed25519)
	_, other := published(t, dkim.RSA)
	z := zone{txt: map[string]string{}, mx: map[string]string{}}
	for _, c := range []struct{ name, key, record, state, says string }{
		{"rsa", rsa, rsaRecord, "ok", "public half"},
		{"ed25519", ed, edRecord, "ok", "public half"},
		{"spaced", rsa, strings.Replace(strings.ReplaceAll(rsaRecord, ";", " ;\t"), "k=rsa ;", "", 1), "ok", "public half"},
		{"other", rsa, other, "warning", "another key"},
		{"kind", rsa, edRecord, "warning", "of type ed25519"},
		{"revoked", rsa, "v=DKIM1; p=", "warning", "revoked"},
		{"broken", rsa, "v=DKIM1; p=%%", "warning", "another key"},
		{"stranger", rsa, "hello", "warning", "no DKIM key"},
		{"missing", ed, "", "warning", "has no TXT record"},
	} {
		config := relay("a@" + c.name + ".example.org")
		config.DKIMDomain, config.DKIMSelector = "example.org", c.name
		switch c.name {
		case "rsa":
			config.BounceDomain = "bounce.example.org"
		case "ed25519":
			config.BounceDomain = "none.example.org"
		case "other":
			config.DKIMDomain = "example.net"
		}
		w.profile(c.name, c.key, config)
		if c.record != "" {
			z.txt[dkim.RecordName(c.name, config.DKIMDomain)+"."] = c.record
		}
	}
	z.mx["bounce.example.org."], z.mx["spaced.example.org."], z.mx["kind.example.org."] = "mx.example.org.", "mx.example.org.", "."
	all := doctor.Examine(t.Context(), &w.config, doctor.Options{DNS: z.resolver(t)})
	for _, c := range [][3]string{
		{"rsa", "ok", "public half"},
		{"ed25519", "ok", "public half"},
		{"spaced", "ok", "public half"},
		{"other", "warning", "another key"},
		{"kind", "warning", "of type ed25519"},
		{"revoked", "warning", "revoked"},
		{"broken", "warning", "another key"},
		{"stranger", "warning", "no DKIM key"},
		{"missing", "warning", "has no TXT record"},
	} {
		finds(t, all, c[1], "profile "+c[0]+", DKIM record", c[2])
		finds(t, all, "ok", "profile "+c[0]+", secrets", "its DKIM key can sign")
	}
	finds(t, all, "ok", "profile rsa, from", "rsa.example.org")
	finds(t, all, "warning", "profile other, from", "example.net", "DMARC")
	finds(t, all, "ok", "profile rsa, replies", "bounce_domain: bounce.example.org has an MX")
	finds(t, all, "warning", "profile ed25519, replies", "bounce_domain: none.example.org has no MX")
	finds(t, all, "ok", "profile spaced, replies", "the domain of from: spaced.example.org has an MX")
	finds(t, all, "warning", "profile kind, replies", "takes no mail")
	for _, f := range all {
		if !f.OK {
			t.Errorf("%+v", f)
		}
	}
}

// Without a DNS that answers nothing is a fault, and one question is asked.
func TestNoDNS(t *testing.T) {
	t.Parallel()
	w := newWard(t, "")
	key, _ := published(t, dkim.Ed25519)
	c := relay("a@example.org")
	c.DKIMDomain, c.DKIMSelector = "example.org", "s1"
	w.profile("one", key, c)
	w.profile("two", key, c)
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent.Close() // nobody answers at its address
	all := doctor.Examine(t.Context(), &w.config, doctor.Options{DNS: to(silent.LocalAddr().String())})
	for _, name := range []string{"one", "two"} {
		finds(t, all, "warning", "profile "+name+", DKIM record", "was not checked")
		finds(t, all, "warning", "profile "+name+", replies", "was not checked")
		finds(t, all, "ok", "profile "+name+", next hop", "no login was tried")
	}
}
