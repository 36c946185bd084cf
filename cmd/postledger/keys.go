package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/secret"
)

type keysCmd struct {
	Create     keysCreateCmd     `cmd:"" help:"Make an API key, directly in the database."`
	Ls         keysLsCmd         `cmd:"" help:"List API keys, directly from the database."`
	Revoke     keysRevokeCmd     `cmd:"" help:"End an API key, directly in the database."`
	Encryption keysEncryptionCmd `cmd:"" help:"Make an encryption key for the configuration."`
	Dkim       keysDkimCmd       `cmd:"" name:"dkim" help:"Make a DKIM key, and print the DNS record that publishes it."`
}

type keysCreateCmd struct {
	Operator  bool          `help:"A key that administers." xor:"who" required:""`
	App       string        `help:"A key of this app." xor:"who" required:"" placeholder:"NAME"`
	NewApp    bool          `help:"Make the app if there is none of this name."`
	Name      string        `help:"What the key is called in lists." default:"cli"`
	Scopes    []string      `help:"For an app: send, read, content. For an operator: admin, audit. Default: send,read or admin,audit."`
	ExpiresIn time.Duration `help:"How long it is good for; default for ever." placeholder:"720h"`
	Out       string        `help:"Write it to a new file of mode 0600 instead of the terminal; - is the standard output, also when that is no terminal." placeholder:"FILE"`
}

func (c *keysCreateCmd) scopes() ([]postledger.Scope, error) {
	allowed, scopes := []postledger.Scope{postledger.ScopeSend, postledger.ScopeRead, postledger.ScopeContent},
		[]postledger.Scope{postledger.ScopeSend, postledger.ScopeRead}
	kind := "an app's key"
	if c.Operator {
		allowed = []postledger.Scope{postledger.ScopeAdmin, postledger.ScopeAudit}
		scopes, kind = allowed, "an operator's key"
	}
	if len(c.Scopes) == 0 {
		return scopes, nil
	}
	scopes = nil
	for _, s := range c.Scopes {
		if !slices.Contains(allowed, postledger.Scope(s)) {
			return nil, usage("--scopes: %q is not a scope of %s (one of %v)", s, kind, allowed)
		}
		if !slices.Contains(scopes, postledger.Scope(s)) {
			scopes = append(scopes, postledger.Scope(s))
		}
	}
	return scopes, nil
}

func (c *keysCreateCmd) Run(e *env) (err error) {
	scopes, err := c.scopes()
	switch {
	case err != nil:
		return err
	case c.NewApp && c.App == "":
		return usage("--new-app: needs --app")
	case c.ExpiresIn < 0:
		return usage("--expires-in: must not be negative")
	case c.Name == "" || len(c.Name) > 255:
		return usage("--name: must have 1 to 255 bytes")
	case !utf8.ValidString(c.Name) || strings.ContainsFunc(c.Name, unicode.IsControl):
		return usage("--name: holds a control character, or is no UTF-8")
	}
	deliver, err := tokenSink(e, c.Out)
	if err != nil {
		return err
	}
	cfg, err := e.cli.config()
	if err != nil {
		return err
	}
	// The first key of an embedded ledger is often made before its first start.
	access := app.Existing
	if cfg.Database.Embedded() {
		access = app.Migrated
	}
	l, err := openExisting(e, cfg, access)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	key := postledger.APIKey{ID: l.NewID(), Name: c.Name, Scopes: scopes}
	kind := "op"
	if !c.Operator {
		kind = "app"
		if key.AppID, err = c.app(e, l); err != nil {
			return err
		}
	}
	if c.ExpiresIn > 0 {
		now, err := l.Now(e.ctx)
		if err != nil {
			return err
		}
		key.ExpiresAt = now.Add(c.ExpiresIn)
	}
	token, sum := secret.NewToken(kind)
	key.Hint = token[len(token)-4:]
	// It is delivered first: a key that nobody has seen must not exist.
	if err := deliver(token); err != nil {
		return err
	}
	a := audit(l, "api_key.create", "api_key", key.ID.String())
	a.AppID = key.AppID
	return l.CreateAPIKey(e.ctx, key, sum, a)
}

// app finds the app, or makes it.
func (c *keysCreateCmd) app(e *env, l *ledger.Ledger) (postledger.ID, error) {
	found, err := l.AppByName(e.ctx, c.App)
	switch {
	case err == nil:
		return found.ID, nil
	case !errors.Is(err, ledger.ErrAppUnknown):
		return postledger.ID{}, err
	case !c.NewApp:
		return postledger.ID{}, fmt.Errorf("--app: there is no app %q (make it with `postledger apps create`, or add --new-app)", c.App)
	case !appName(c.App):
		return postledger.ID{}, usage("--app: a name has 1 to 63 of a-z, 0-9, '.', '_' and '-', begins with a letter or digit, and is no id")
	}
	made := postledger.App{ID: l.NewID(), Name: c.App}
	a := audit(l, "app.create", "app", made.ID.String())
	a.AppID = made.ID
	return made.ID, l.CreateApp(e.ctx, made, a)
}

// appName is the rule that the API has for names of apps.
func appName(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		if !letter && (i == 0 || r != '.' && r != '_' && r != '-') {
			return false
		}
	}
	_, err := postledger.ParseID(s)
	return s != "" && len(s) <= 63 && err != nil
}

// tokenSink decides where a secret goes before it is made. It never goes into
// a pipe or a log by accident.
func tokenSink(e *env, out string) (func(string) error, error) {
	switch {
	case out == "-", out == "" && terminal(e.stdout):
		return func(token string) error {
			_, err := fmt.Fprintln(e.stdout, token)
			return err
		}, nil
	case out == "":
		return nil, usage("the key would go into a pipe or a file that others may read: use --out FILE, or --out - if that is meant")
	default:
		return func(token string) error {
			if err := config.WriteSecretFile(out, token+"\n"); err != nil {
				return fmt.Errorf("write %s: %w", out, err)
			}
			fmt.Fprintln(e.stderr, "written to", out)
			return nil
		}, nil
	}
}

type keysLsCmd struct {
	App  string `help:"The keys of this app; default the operators'." placeholder:"NAME"`
	JSON bool   `name:"json" help:"Print JSON."`
}

func (c *keysLsCmd) Run(e *env) error {
	return direct(e, func(l *ledger.Ledger) error {
		var id postledger.ID
		if c.App != "" {
			a, err := l.AppByName(e.ctx, c.App)
			if err != nil {
				return fmt.Errorf("--app %q: %w", c.App, err)
			}
			id = a.ID
		}
		keys, err := l.APIKeys(e.ctx, id)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(e.stdout, keysJSON(keys))
		}
		rows := make([][]string, len(keys))
		for i, k := range keys {
			state := "good"
			switch {
			case !k.RevokedAt.IsZero():
				state = "revoked"
			case !k.ExpiresAt.IsZero() && k.ExpiresAt.Before(time.Now()):
				state = "expired"
			}
			rows[i] = []string{k.ID.String(), k.Name, "…" + k.Hint, joined(k.Scopes, ","), moment(k.CreatedAt), moment(k.ExpiresAt), state}
		}
		return table(e.stdout, "ID NAME KEY SCOPES CREATED EXPIRES STATE", rows)
	})
}

type keyJSON struct {
	ID        postledger.ID      `json:"id"`
	AppID     postledger.ID      `json:"app_id,omitzero"`
	Name      string             `json:"name"`
	Scopes    []postledger.Scope `json:"scopes"`
	Hint      string             `json:"hint"`
	CreatedAt time.Time          `json:"created_at"`
	ExpiresAt time.Time          `json:"expires_at,omitzero"`
	RevokedAt time.Time          `json:"revoked_at,omitzero"`
}

func keysJSON(keys []postledger.APIKey) []keyJSON {
	out := make([]keyJSON, len(keys))
	for i, k := range keys {
		out[i] = keyJSON(k)
	}
	return out
}

func joined[S ~string](list []S, sep string) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = string(s)
	}
	return strings.Join(texts, sep)
}

type keysRevokeCmd struct {
	ID string `arg:"" help:"The key's id."`
}

func (c *keysRevokeCmd) Run(e *env) error {
	id, err := postledger.ParseID(c.ID)
	if err != nil {
		return usage("id: %w", err)
	}
	return direct(e, func(l *ledger.Ledger) error {
		return l.RevokeAPIKey(e.ctx, id, audit(l, "api_key.revoke", "api_key", id.String()))
	})
}

type keysEncryptionCmd struct {
	Out string `help:"Write it to a new file of mode 0600; - is the standard output." placeholder:"FILE"`
}

func (c *keysEncryptionCmd) Run(e *env) error {
	deliver, err := tokenSink(e, c.Out)
	if err != nil {
		return err
	}
	return deliver(secret.Generate())
}
