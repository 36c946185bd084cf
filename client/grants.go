package client

import (
	"context"
	"net/http"
	"time"

	"github.com/postledger/postledger"
)

// Grant lets an app use a profile.
type Grant struct {
	AppID     postledger.ID `json:"app_id"`
	ProfileID postledger.ID `json:"profile_id"`
	// TrustedHTML: the app's HTML is sent as it is.
	TrustedHTML bool `json:"trusted_html"`
	// Quota is the app's recipients in any 1,440 minutes; nil means the
	// profile's.
	Quota     *int64    `json:"quota"`
	CreatedAt time.Time `json:"created_at"`
	// RevokedAt is zero while it holds.
	RevokedAt time.Time `json:"revoked_at"`
}

// GrantTerms are what a grant allows.
type GrantTerms struct {
	// TrustedHTML leaves the app's HTML as it is; else it is filtered.
	TrustedHTML bool `json:"trusted_html,omitempty"`
	// Quota bounds the app's recipients in any 1,440 minutes on this profile,
	// from 0; nil keeps the profile's.
	Quota *int64 `json:"quota,omitempty"`
}

func grantPath(app postledger.ID, profile string) string {
	return at(at("/v1/apps", app.String())+"/grants", profile)
}

// Grants lists an app's grants, with those that were revoked. Errors:
// ErrAppUnknown; scope admin.
func (c *Client) Grants(ctx context.Context, app postledger.ID) ([]Grant, error) {
	return all[Grant](ctx, c, get("list grants", at("/v1/apps", app.String())+"/grants"))
}

// PutGrant lets an app use a profile, named or by id. An app without any grant
// may use the default profile only; one with grants may use what they name.
// Errors: ErrBadInput, ErrAppUnknown, ErrAppRemoved, ErrProfileUnknown,
// ErrProfileRemoved; scope admin.
func (c *Client) PutGrant(ctx context.Context, app postledger.ID, profile string, t GrantTerms) (*Grant, error) {
	return ask[Grant](ctx, c, &call{
		op: "put grant", method: http.MethodPut, path: grantPath(app, profile), repeatable: true, in: &t,
	})
}

// RevokeGrant ends a grant at once; what waits of the app on this profile is
// canceled step by step. Errors: ErrGrantUnknown, ErrProfileUnknown; scope
// admin.
func (c *Client) RevokeGrant(ctx context.Context, app postledger.ID, profile string) (*Grant, error) {
	return ask[Grant](ctx, c, &call{
		op: "revoke grant", method: http.MethodDelete, path: grantPath(app, profile), repeatable: true,
	})
}
