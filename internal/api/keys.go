package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/secret"
)

type keyView struct {
	ID        postledger.ID      `json:"id"`
	AppID     postledger.ID      `json:"app_id,omitzero" doc:"The app it is bound to; missing for an operator's key."`
	Name      string             `json:"name"`
	Scopes    []postledger.Scope `json:"scopes"`
	Hint      string             `json:"hint" doc:"The token's last four characters."`
	CreatedAt time.Time          `json:"created_at"`
	ExpiresAt time.Time          `json:"expires_at,omitzero"`
	RevokedAt time.Time          `json:"revoked_at,omitzero"`
}

// newKeyView is the only answer that ever holds a token.
type newKeyView struct {
	ID        postledger.ID      `json:"id"`
	AppID     postledger.ID      `json:"app_id,omitzero"`
	Name      string             `json:"name"`
	Scopes    []postledger.Scope `json:"scopes"`
	Hint      string             `json:"hint"`
	ExpiresAt time.Time          `json:"expires_at,omitzero"`
	Token     string             `json:"token" doc:"The key itself. It is shown this once and not kept."`
}

type keyRequest struct {
	App       postledger.ID      `json:"app,omitzero" doc:"The app it is bound to; without it the key is an operator's."`
	Name      string             `json:"name" doc:"What it is for." example:"checkout service"`
	Scopes    []postledger.Scope `json:"scopes" doc:"send, read, content for an app; admin, audit for an operator."`
	ExpiresAt time.Time          `json:"expires_at,omitzero" doc:"Never, when left out."`
}

type keyInput struct {
	Key postledger.ID `path:"key" doc:"The key."`
}

type listKeysInput struct {
	App postledger.ID `query:"app" doc:"The app whose keys are listed; the operators' when left out."`
}

func (s *server) keyRoutes() {
	rt := admin(http.MethodGet, "/v1/keys", "list-keys", "List API keys", "Oldest first, with those that have ended. Tokens are never shown.")
	rt.codes = []Code{codeAppUnknown}
	read(s, rt, s.listKeys)
	rt = admin(http.MethodPost, "/v1/keys", "create-key", "Create an API key", "The answer holds the token, which is shown this once.")
	rt.success, rt.codes = http.StatusCreated, []Code{codeBadInput, codeAppUnknown, codeAppRemoved}
	write(s, rt, s.createKey)
	rt = admin(http.MethodDelete, "/v1/keys/{key}", "revoke-key", "Revoke an API key", "It is refused from now on; other processes notice within two seconds.")
	rt.success, rt.codes = http.StatusNoContent, []Code{codeKeyUnknown}
	read(s, rt, s.revokeKey)
}

func viewKey(k *postledger.APIKey) keyView {
	v := keyView(*k)
	if v.Scopes == nil {
		v.Scopes = []postledger.Scope{}
	}
	return v
}

func (s *server) listKeys(ctx context.Context, _ *call, in *listKeysInput) (listView[keyView], error) {
	if !in.App.IsZero() {
		if _, err := s.Ledger.AppByID(ctx, in.App); err != nil {
			return listView[keyView]{}, err
		}
	}
	list, err := s.Ledger.APIKeys(ctx, in.App)
	return viewList(list, viewKey), err
}

func (s *server) createKey(ctx context.Context, c *call, _ *struct{}, body *keyRequest) (newKeyView, error) {
	if err := body.check(s.Now()); err != nil {
		return newKeyView{}, err
	}
	kind := "op"
	if !body.App.IsZero() {
		kind = "app"
	}
	token, sum := secret.NewToken(kind)
	k := postledger.APIKey{
		ID: s.Ledger.NewID(), AppID: body.App, Name: body.Name, Scopes: body.Scopes,
		Hint: token[len(token)-4:], ExpiresAt: body.ExpiresAt,
	}
	if err := s.Ledger.CreateAPIKey(ctx, k, sum, c.audit(s.Ledger.NewID(), "key.create", "api_key", k.ID.String())); err != nil {
		return newKeyView{}, err
	}
	s.Changed()
	return newKeyView{k.ID, k.AppID, k.Name, k.Scopes, k.Hint, k.ExpiresAt, token}, nil
}

func (k *keyRequest) check(now time.Time) error {
	if k.Name == "" {
		return field("name", accept.RuleRequired, "is missing")
	}
	if err := checkText("name", k.Name); err != nil {
		return err
	}
	allowed, whose := []postledger.Scope{postledger.ScopeAdmin, postledger.ScopeAudit}, "an operator's key: admin, audit"
	if !k.App.IsZero() {
		allowed, whose = []postledger.Scope{postledger.ScopeSend, postledger.ScopeRead, postledger.ScopeContent}, "an app's key: send, read, content"
	}
	if len(k.Scopes) == 0 {
		return field("scopes", accept.RuleRequired, "is empty")
	}
	for i, sc := range k.Scopes {
		switch {
		case !slices.Contains(allowed, sc):
			return field("scopes", accept.RuleUnknown, "has a scope that is not one of "+whose)
		case slices.Contains(k.Scopes[:i], sc):
			return field("scopes", accept.RuleDuplicate, "has a scope twice")
		}
	}
	if !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(now) {
		return field("expires_at", accept.RuleRange, "is not in the future")
	}
	return nil
}

func (s *server) revokeKey(ctx context.Context, c *call, in *keyInput) (none, error) {
	err := s.Ledger.RevokeAPIKey(ctx, in.Key, c.audit(s.Ledger.NewID(), "key.revoke", "api_key", in.Key.String()))
	s.keys.clear()
	s.Changed()
	return none{}, err
}
