package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/app/config"
)

// profilesPutCmd changes what its flags name and leaves the rest. The change
// names the revision it was made from: two operators at once do not undo each
// other's.
type profilesPutCmd struct {
	aProfile
	File               string         `help:"File with the whole profile in JSON, as show prints it; flags stand over it." type:"existingfile" placeholder:"FILE"`
	Default            bool           `help:"Make it the default profile."`
	From               *string        `help:"Address that mail is from." placeholder:"ADDRESS"`
	FromName           *string        `help:"Name shown beside it."`
	Transport          *string        `help:"smtp or sandbox."`
	Connections        *int           `help:"Transactions of one process at one time (8 for a new profile)."`
	PacePerMinute      *int           `help:"Recipients a minute; 0 is no bound."`
	QuotaPerDay        *int64         `help:"Recipients of one app in any 1,440 minutes; -1 is no bound."`
	MaxAttachmentBytes *int64         `help:"Attachments of one message together."`
	ImmediatePerMinute *int           `help:"One app's immediate messages a minute; 0 is no bound."`
	RetryHorizon       *time.Duration `help:"How long refusals for now are retried." placeholder:"24h"`
	OnUnconfirmed      *string        `help:"hold or resend."`
	BounceDomain       *string        `help:"Domain of return paths, for bounces." placeholder:"DOMAIN"`
	MessageIDDomain    *string        `name:"message-id-domain" help:"Right side of Message-ID." placeholder:"DOMAIN"`
	Host               *string        `help:"SMTP: the relay's name." group:"smtp"`
	Port               *int           `help:"SMTP: its port." group:"smtp"`
	TLS                *string        `name:"tls" help:"SMTP: implicit, required, opportunistic or none." group:"smtp"`
	ServerName         *string        `help:"SMTP: name in its certificate." group:"smtp"`
	CAFile             *string        `name:"ca-file" help:"SMTP: issuers to trust, in PEM, on the server's disk." group:"smtp" placeholder:"FILE"`
	Username           *string        `help:"SMTP: user name." group:"smtp"`
	Auth               *string        `help:"SMTP: PLAIN, LOGIN or XOAUTH2." group:"smtp"`
	HelloName          *string        `help:"SMTP: our name in EHLO." group:"smtp"`
	PasswordFile       string         `help:"SMTP: file of mode 0600 with the password; - asks on the terminal." xor:"password" group:"smtp" placeholder:"FILE"`
	NoPassword         bool           `help:"SMTP: remove the password." xor:"password" group:"smtp"`
	DKIMDomain         *string        `name:"dkim-domain" help:"DKIM: domain that signs." group:"dkim" placeholder:"DOMAIN"`
	DKIMSelector       *string        `name:"dkim-selector" help:"DKIM: selector." group:"dkim"`
	DKIMKeyFile        string         `name:"dkim-key-file" help:"DKIM: file of mode 0600 with the private key in PEM." xor:"dkimkey" group:"dkim" placeholder:"FILE"`
	NoDKIMKey          bool           `name:"no-dkim-key" help:"DKIM: remove the key." xor:"dkimkey" group:"dkim"`
}

func (c *profilesPutCmd) Run(e *env) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	change := client.ProfileChange{ProfileConfig: postledger.ProfileConfig{Connections: 8}, IsDefault: c.Default}
	old, err := cl.Profile(e.ctx, c.Profile)
	switch {
	case errors.Is(err, client.ErrProfileUnknown):
	case err != nil:
		return err
	case !old.RemovedAt.IsZero():
		// Its name is free again.
	default:
		change.Revision, change.ProfileConfig = old.Revision, old.ProfileConfig
		change.IsDefault = old.IsDefault || c.Default
	}
	if err := c.apply(&change.ProfileConfig); err != nil {
		return err
	}
	if change.Password, err = c.password(e); err != nil {
		return err
	}
	if change.DKIMKey, err = secretOf("--dkim-key-file", c.DKIMKeyFile, c.NoDKIMKey); err != nil {
		return err
	}
	p, err := cl.PutProfile(e.ctx, c.Profile, change)
	if err != nil {
		return err
	}
	return printProfile(e, p, c.JSON)
}

// apply lays the file and then the flags over a configuration.
func (c *profilesPutCmd) apply(p *postledger.ProfileConfig) error {
	if c.File != "" {
		whole, err := readProfile(c.File, p.Connections)
		if err != nil {
			return err
		}
		*p = *whole
	}
	set(&p.From, c.From)
	set(&p.FromName, c.FromName)
	if c.Transport != nil && *c.Transport != p.Transport {
		p.Settings = nil // they are the former transport's
	}
	set(&p.Transport, c.Transport)
	set(&p.Connections, c.Connections)
	set(&p.PacePerMinute, c.PacePerMinute)
	set(&p.MaxAttachmentBytes, c.MaxAttachmentBytes)
	set(&p.ImmediatePerMinute, c.ImmediatePerMinute)
	set(&p.BounceDomain, c.BounceDomain)
	set(&p.MessageIDDomain, c.MessageIDDomain)
	set(&p.DKIMDomain, c.DKIMDomain)
	set(&p.DKIMSelector, c.DKIMSelector)
	if c.QuotaPerDay != nil {
		p.QuotaPerDay = c.QuotaPerDay
		if *c.QuotaPerDay == -1 {
			p.QuotaPerDay = nil
		}
	}
	if c.RetryHorizon != nil {
		if *c.RetryHorizon < time.Second {
			return usage("--retry-horizon: must be at least 1s")
		}
		p.RetryHorizonSeconds = int64(*c.RetryHorizon / time.Second)
	}
	if c.OnUnconfirmed != nil {
		p.OnUnconfirmed = postledger.OnUnconfirmed(*c.OnUnconfirmed)
	}
	return c.settings(p)
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// settings lays the SMTP flags over the transport's settings.
func (c *profilesPutCmd) settings(p *postledger.ProfileConfig) error {
	all := map[string]any{}
	if len(p.Settings) > 0 {
		d := json.NewDecoder(bytes.NewReader(p.Settings))
		d.UseNumber()
		if err := d.Decode(&all); err != nil {
			return fmt.Errorf("settings: %w", err)
		}
	}
	for name, v := range map[string]*string{
		"host": c.Host, "tls": c.TLS, "server_name": c.ServerName, "ca_file": c.CAFile,
		"username": c.Username, "auth": c.Auth, "hello_name": c.HelloName,
	} {
		switch {
		case v == nil:
		case *v == "":
			delete(all, name)
		default:
			all[name] = *v
		}
	}
	if c.Port != nil {
		all["port"] = *c.Port
	}
	if len(all) == 0 {
		p.Settings = nil
		return nil
	}
	var err error
	p.Settings, err = json.Marshal(all)
	return err
}

// password reads the secret from a file or the terminal, never from argv.
func (c *profilesPutCmd) password(e *env) (*string, error) {
	if c.PasswordFile != "-" {
		return secretOf("--password-file", c.PasswordFile, c.NoPassword)
	}
	if !terminal(e.stdin) {
		return nil, usage("--password-file: - asks on the terminal, and there is none")
	}
	fmt.Fprint(e.stderr, "Password: ")
	text, err := term.ReadPassword(int(e.stdin.Fd()))
	fmt.Fprintln(e.stderr)
	if err != nil {
		return nil, fmt.Errorf("read password: %w", err)
	}
	s := string(text)
	return &s, nil
}

// secretOf reads a secret of a file; nil keeps what is there.
func secretOf(flag, path string, remove bool) (*string, error) {
	if remove {
		none := ""
		return &none, nil
	}
	if path == "" {
		return nil, nil
	}
	text, err := config.ReadSecretFile(path)
	if err != nil {
		return nil, usage("%s: %w", flag, err)
	}
	text = strings.TrimRight(text, "\r\n")
	if text == "" {
		return nil, usage("%s: %s is empty", flag, path)
	}
	return &text, nil
}

// shownFields are those of a shown profile that a change has not.
var shownFields = []string{
	"id", "name", "revision", "is_default", "has_password", "has_dkim_key", "paused", "health", "waiting", "created_at", "updated_at", "removed_at",
}

// readProfile reads a whole profile; one that does not name its connections
// gets those given.
func readProfile(path string, connections int) (*postledger.ProfileConfig, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usage("--file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("--file: %w", err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, usage("--file: is not a JSON object: %w", err)
	}
	for _, name := range shownFields {
		delete(all, name)
	}
	rest, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	p := postledger.ProfileConfig{Connections: connections}
	d := json.NewDecoder(bytes.NewReader(rest))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return nil, usage("--file: %w", err)
	}
	return &p, nil
}
