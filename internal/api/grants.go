package api

import (
	"context"
	"net/http"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
)

type grantView struct {
	AppID       postledger.ID `json:"app_id"`
	ProfileID   postledger.ID `json:"profile_id"`
	TrustedHTML bool          `json:"trusted_html" doc:"The app's HTML is sent as it is."`
	Quota       *int64        `json:"quota,omitempty" doc:"Recipients in any 1,440 minutes; the profile's when missing."`
	CreatedAt   time.Time     `json:"created_at"`
	RevokedAt   time.Time     `json:"revoked_at,omitzero"`
}

type grantRequest struct {
	TrustedHTML bool   `json:"trusted_html,omitempty" doc:"Leave the app's HTML as it is; else it is sanitised."`
	Quota       *int64 `json:"quota,omitempty" minimum:"0" doc:"The app's own recipients in any 1,440 minutes on this profile; the profile's when left out."`
}

type grantInput struct {
	App     postledger.ID `path:"app" doc:"The app."`
	Profile string        `path:"profile" doc:"A profile's name or id."`
}

func (s *server) grantRoutes() {
	rt := admin(http.MethodGet, "/v1/apps/{app}/grants", "list-grants", "List an app's grants", "With those that were revoked.")
	rt.codes = []Code{codeAppUnknown}
	read(s, rt, s.listGrants)
	rt = admin(http.MethodPut, "/v1/apps/{app}/grants/{profile}", "put-grant", "Grant a profile",
		"An app without any grant may use the default profile only; one with grants may use what they name.")
	rt.codes = []Code{codeBadInput, codeAppUnknown, codeAppRemoved, codeProfileUnknown, codeProfileRemoved}
	write(s, rt, s.putGrant)
	rt = admin(http.MethodDelete, "/v1/apps/{app}/grants/{profile}", "revoke-grant", "Revoke a grant",
		"It is obeyed at once; what waits of the app on this profile is canceled, 1,000 deliveries at a time: `waiting` of the profile says how far that is.")
	rt.codes = []Code{codeGrantUnknown, codeProfileUnknown}
	read(s, rt, s.revokeGrant)
}

func viewGrant(g *postledger.Grant) grantView { return grantView(*g) }

func (s *server) listGrants(ctx context.Context, _ *call, in *appInput) (listView[grantView], error) {
	if _, err := s.Ledger.AppByID(ctx, in.App); err != nil {
		return listView[grantView]{}, err
	}
	list, err := s.Ledger.Grants(ctx, in.App)
	return viewList(list, viewGrant), err
}

func (s *server) putGrant(ctx context.Context, c *call, in *grantInput, body *grantRequest) (grantView, error) {
	if body.Quota != nil && *body.Quota < 0 {
		return grantView{}, field("quota", accept.RuleRange, "is negative")
	}
	p, err := s.profile(ctx, in.Profile)
	if err != nil {
		return grantView{}, err
	}
	g := postledger.Grant{AppID: in.App, ProfileID: p.ID, TrustedHTML: body.TrustedHTML, Quota: body.Quota}
	if err := s.Ledger.PutGrant(ctx, g, c.grantAudit(s, "grant.put", in.App, p.ID)); err != nil {
		return grantView{}, err
	}
	s.Changed()
	return s.grant(ctx, in.App, p.ID)
}

func (s *server) revokeGrant(ctx context.Context, c *call, in *grantInput) (grantView, error) {
	p, err := s.profile(ctx, in.Profile)
	if err != nil {
		return grantView{}, err
	}
	if err := s.Ledger.RevokeGrant(ctx, in.App, p.ID, c.grantAudit(s, "grant.revoke", in.App, p.ID)); err != nil {
		return grantView{}, err
	}
	s.Changed()
	return s.grant(ctx, in.App, p.ID)
}

func (c *call) grantAudit(s *server, action string, app, profile postledger.ID) postledger.AuditEvent {
	e := c.audit(s.Ledger.NewID(), action, "profile", profile.String())
	e.AppID, e.Detail = app, "app="+app.String()
	return e
}

// grant reads one grant back.
func (s *server) grant(ctx context.Context, app, profile postledger.ID) (grantView, error) {
	list, err := s.Ledger.Grants(ctx, app)
	if err != nil {
		return grantView{}, err
	}
	for i := range list {
		if list[i].ProfileID == profile {
			return viewGrant(&list[i]), nil
		}
	}
	return grantView{}, problem(codeGrantUnknown, "")
}
