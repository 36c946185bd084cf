package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/postledger/postledger"
)

// APIKey identifies a caller. Its token is never shown again.
type APIKey struct {
	ID postledger.ID `json:"id"`
	// AppID is the app it is bound to; zero for an operator's key.
	AppID  postledger.ID      `json:"app_id"`
	Name   string             `json:"name"`
	Scopes []postledger.Scope `json:"scopes"`
	// Hint is the token's last four characters, to tell keys apart.
	Hint      string    `json:"hint"`
	CreatedAt time.Time `json:"created_at"`
	// ExpiresAt and RevokedAt are zero while it has no end.
	ExpiresAt time.Time `json:"expires_at"`
	RevokedAt time.Time `json:"revoked_at"`
}

// NewAPIKey is what a key is made of.
type NewAPIKey struct {
	// App binds it to an app; zero makes an operator's key.
	App postledger.ID `json:"app,omitzero"`
	// Name is what it is for, at most 255 bytes.
	Name string `json:"name"`
	// Scopes are send, read and content for an app, admin and audit for an
	// operator.
	Scopes []postledger.Scope `json:"scopes"`
	// ExpiresAt is when it ends; zero is never.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// CreatedAPIKey is a key with its token.
type CreatedAPIKey struct {
	ID        postledger.ID      `json:"id"`
	AppID     postledger.ID      `json:"app_id"`
	Name      string             `json:"name"`
	Scopes    []postledger.Scope `json:"scopes"`
	Hint      string             `json:"hint"`
	ExpiresAt time.Time          `json:"expires_at"`
	// Token is the key itself. It is shown this once, and kept by nobody.
	Token string `json:"token"`
}

// APIKeys lists an app's keys, or the operators' for the zero id, oldest first,
// with those that have ended. Errors: ErrAppUnknown; scope admin.
func (c *Client) APIKeys(ctx context.Context, app postledger.ID) ([]APIKey, error) {
	cl := get("list API keys", "/v1/keys")
	p := parameters{}
	p.id("app", app)
	cl.query = url.Values(p)
	return all[APIKey](ctx, c, cl)
}

// CreateAPIKey makes a key. It is not repeated by itself when its answer is
// lost: a second key would be made, and the token of the first known to nobody.
// Errors: ErrBadInput, ErrAppUnknown, ErrAppRemoved; scope admin.
func (c *Client) CreateAPIKey(ctx context.Context, k NewAPIKey) (*CreatedAPIKey, error) {
	return ask[CreatedAPIKey](ctx, c, &call{op: "create API key", method: http.MethodPost, path: "/v1/keys", in: &k})
}

// RevokeAPIKey ends a key; all processes refuse it within two seconds. Errors:
// ErrKeyUnknown; scope admin.
func (c *Client) RevokeAPIKey(ctx context.Context, id postledger.ID) error {
	return c.do(ctx, &call{
		op: "revoke API key", method: http.MethodDelete, path: at("/v1/keys", id.String()), repeatable: true,
	})
}
