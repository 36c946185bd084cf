package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/secret"
)

// server is a whole Postledger on an embedded ledger, whose mail goes to the
// sandbox, with an operator and an app.
type server struct {
	url      string
	operator *client.Client
	app      *client.App
	token    string // of the app, with every scope
	client   *client.Client
}

func start(t *testing.T) *server {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "postledger.yaml")
	must(t, os.WriteFile(path, fmt.Appendf(nil, "data_dir: %s\nhttp: 127.0.0.1:0\nadmin_http: off\n", filepath.Join(dir, "data")), 0o600))
	c, err := config.Load(path, nil)
	must(t, err)
	must(t, os.MkdirAll(c.DataDir, 0o700))
	token := firstKey(t, &c)
	var log bytes.Buffer
	a := app.New(c, app.Options{Version: "test", Log: slog.New(slog.NewTextHandler(&log, nil))})
	must(t, a.Start(t.Context()))
	t.Cleanup(func() {
		must(t, a.Stop())
		if t.Failed() {
			t.Log(log.String())
		}
	})
	s := &server{url: "http://" + a.Addr()}
	s.operator = dial(t, s.url, token)
	s.furnish(t)
	return s
}

// firstKey makes an operator's key as the command for it does: before there is
// one, nobody can ask the API.
func firstKey(t *testing.T, c *config.Config) string {
	t.Helper()
	l, err := app.OpenLedger(t.Context(), c, app.Migrated, slog.New(slog.DiscardHandler))
	must(t, err)
	token, sum := secret.NewToken("op")
	k := postledger.APIKey{
		ID: l.NewID(), Name: "first", Scopes: []postledger.Scope{postledger.ScopeAdmin, postledger.ScopeAudit}, Hint: token[len(token)-4:],
	}
	must(t, l.CreateAPIKey(t.Context(), k, sum, postledger.AuditEvent{ID: l.NewID(), Action: "key.create", Result: "done"}))
	must(t, l.Close())
	return token
}

func (s *server) furnish(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	_, err := s.operator.PutProfile(ctx, "main", client.ProfileChange{ProfileConfig: sandboxed(), IsDefault: true})
	must(t, err)
	s.app, err = s.operator.CreateApp(ctx, "shop")
	must(t, err)
	s.token = s.key(t, postledger.ScopeSend, postledger.ScopeRead, postledger.ScopeContent)
	s.client = dial(t, s.url, s.token)
}

func sandboxed() postledger.ProfileConfig {
	return postledger.ProfileConfig{From: "desk@send.test", Transport: "sandbox", Connections: 2}
}

func (s *server) key(t *testing.T, scopes ...postledger.Scope) string {
	t.Helper()
	k, err := s.operator.CreateAPIKey(t.Context(), client.NewAPIKey{App: s.app.ID, Name: "test", Scopes: scopes})
	must(t, err)
	return k.Token
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused demands a code.
func refused(t *testing.T, err error, code client.Code) *client.Error {
	t.Helper()
	var e *client.Error
	if !errors.Is(err, code) || !errors.As(err, &e) || e.RequestID == "" {
		t.Fatalf("got %v, want %s with a request id", err, code)
	}
	return e
}
