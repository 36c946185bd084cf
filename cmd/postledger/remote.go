package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/app/config"
)

// remote are the flags of a command that speaks HTTP. The key is never one of
// them: a command line can be read by everybody on the machine.
type remote struct {
	Server      string `help:"URL of the server." env:"POSTLEDGER_SERVER" default:"http://127.0.0.1:8025"`
	Credentials string `help:"File of mode 0600 with the API key, unless POSTLEDGER_API_KEY is set (default postledger/credentials in your configuration directory)." env:"POSTLEDGER_CREDENTIALS" placeholder:"FILE" type:"path"`
	JSON        bool   `name:"json" help:"Print JSON."`
}

const keyVariable = "POSTLEDGER_API_KEY"

func (r *remote) client() (*client.Client, error) {
	key, err := r.key()
	if err != nil {
		return nil, err
	}
	c, err := client.New(r.Server, key, client.WithUserAgent("postledger-cli/"+version))
	if err != nil {
		return nil, usage("--server or key: %w", err)
	}
	return c, nil
}

func (r *remote) key() (string, error) {
	if key := os.Getenv(keyVariable); key != "" {
		return key, nil
	}
	path := r.Credentials
	if path == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return "", usage("there is no API key: set %s, or --credentials", keyVariable)
		}
		path = filepath.Join(dir, "postledger", "credentials")
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return "", usage("there is no API key: set %s, or write it to %s (mode 0600), or use --credentials", keyVariable, path)
		}
	}
	text, err := config.ReadSecretFile(path)
	if err != nil {
		return "", usage("--credentials: %w", err)
	}
	return strings.TrimSpace(text), nil
}

// done prints what a command did: the server's answer as JSON, or a line.
func (r *remote) done(e *env, answer any, format string, args ...any) error {
	if r.JSON {
		return printJSON(e.stdout, answer)
	}
	_, err := fmt.Fprintf(e.stdout, format+"\n", args...)
	return err
}

// explain is an error in full: a refusal with all its fields, and the key under
// which a request whose answer never came can be repeated.
func explain(err error) string {
	var b strings.Builder
	b.WriteString(printable(err.Error()))
	var refusal *client.Error
	if errors.As(err, &refusal) && len(refusal.Fields) > 3 {
		for _, f := range refusal.Fields[3:] {
			fmt.Fprintf(&b, "\n  %s %s", printable(f.Field), printable(f.Message))
		}
	}
	var lost *client.NoAnswerError
	if errors.As(err, &lost) && lost.Key != "" || errors.As(err, &refusal) && refusal.FateUnknown {
		fmt.Fprintf(&b, "\n  It may have been accepted. Repeat it with --key %s: it will not be sent twice.", client.KeyOf(err))
	}
	return b.String()
}
