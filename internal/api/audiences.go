package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/audience"
)

// Audiences is the step that checks, counts and shows audiences.
type Audiences interface {
	Check(ctx context.Context, app postledger.App, d postledger.AudienceDefinition) (postledger.AudienceDefinition, error)
	Preview(ctx context.Context, app postledger.App, d postledger.AudienceDefinition, params map[string]any, want audience.Want, progress func(audience.Progress)) (audience.Preview, error)
}

// AudienceFields are what an audience says; the names are those of
// postledger.AudienceDefinition.
type AudienceFields struct {
	Source   string              `json:"source" doc:"The application's database, by its name in the server's configuration."`
	Lens     json.RawMessage     `json:"lens" doc:"The lens, an object with from, where, select and, if needed, order, key, params and zone. Every row is {\"everyone\": true}, and nothing else is."`
	Address  string              `json:"address" doc:"The field of the lens's select that holds the address; contact.email is that of a related row." example:"email"`
	Locale   string              `json:"locale,omitempty" given:"nonempty" doc:"The field with the language."`
	Tenant   string              `json:"tenant,omitempty" given:"nonempty" doc:"The field with the tenant."`
	Timezone string              `json:"timezone,omitempty" given:"nonempty" doc:"The field with the time zone."`
	Category postledger.Category `json:"category" enum:"system,platform,activity,marketing" doc:"What kind of mail goes to it."`
}

type audienceView struct {
	ID       postledger.ID `json:"id"`
	AppID    postledger.ID `json:"app_id"`
	Name     string        `json:"name"`
	Revision int64         `json:"revision" doc:"Counts the saves. A save names the one it was made from."`
	AudienceFields
	CreatedAt time.Time     `json:"created_at"`
	UpdatedAt time.Time     `json:"updated_at" doc:"When this version was saved."`
	SavedBy   postledger.ID `json:"saved_by,omitzero" doc:"The API key that saved it."`
	RemovedAt time.Time     `json:"removed_at,omitzero"`
}

func viewAudience(a *postledger.Audience) audienceView {
	return audienceView{
		a.ID, a.AppID, a.Name, a.Revision, AudienceFields(a.AudienceDefinition), a.CreatedAt, a.UpdatedAt, a.SavedBy, a.RemovedAt,
	}
}

type audiencesView struct {
	Items []audienceView `json:"items"`
	Next  string         `json:"next,omitempty" doc:"The after of the next page."`
}

// audienceRequest is an audience as it is saved.
type audienceRequest struct {
	App      postledger.ID `json:"app,omitzero" doc:"The app; for operators, who must name it."`
	Revision int64         `json:"revision" minimum:"0" doc:"0 creates the audience; else the revision that the change was made from."`
	Name     string        `json:"name,omitempty" given:"nonempty" doc:"Another name for the audience; the path's when left out."`
	AudienceFields
}

// AppInput names the app that an operator means.
type AppInput struct {
	App postledger.ID `query:"app" doc:"The app; for operators, who must name it."`
}

type listAudiencesInput struct {
	AppInput
	After string `query:"after" doc:"The last name of the page before."`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

// AudienceInput names an audience.
type AudienceInput struct {
	Audience string `path:"audience" doc:"The audience's name or id. One that was removed has its id only."`
}

type getAudienceInput struct {
	AudienceInput
	AppInput
	Revision int64 `query:"revision" minimum:"1" doc:"The version; the current one when left out."`
}

type removeAudienceInput struct {
	AudienceInput
	AppInput
}

type audienceVersionsInput struct {
	AudienceInput
	AppInput
	After int64 `query:"after" minimum:"1" doc:"The last revision of the page before."`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (s *server) audienceRoutes() {
	rt := func(method, path, id, summary, text string, app postledger.Scope, codes ...Code) route {
		r := admin(method, "/v1/audiences"+path, id, summary, text)
		r.tag, r.app, r.codes = tagAudiences, app, append([]Code{codeBadInput, codeAppUnknown}, codes...)
		return r
	}
	read(s, rt(http.MethodGet, "", "list-audiences", "List audiences", "By name, each in its current version; those that were removed are left out. A page ends early where lenses are large: `next` tells whether there are others.",
		postledger.ScopeRead), s.listAudiences)
	read(s, rt(http.MethodGet, "/{audience}", "get-audience", "See an audience", "Any of its versions: each save adds one, and none is ever changed.",
		postledger.ScopeRead, codeAudienceUnknown), s.getAudience)
	read(s, rt(http.MethodGet, "/{audience}/versions", "list-audience-versions", "List an audience's versions", "The newest first, also of one that was removed. A page ends early where lenses are large.",
		postledger.ScopeRead, codeAudienceUnknown), s.listVersions)
	write(s, rt(http.MethodPut, "/{audience}", "put-audience", "Save an audience",
		"The audience is checked against the source as it is now, and saved as a new version. Nothing is saved when the source does not answer, or when the audience has another revision than the request names.",
		postledger.ScopeSend, codeInvalidAudience, codeAudienceUnknown, codeAudienceExists, codeAudienceRemoved, codeAudienceLimit, codeRevisionConflict, codeSourceUnavailable), s.putAudience)
	read(s, rt(http.MethodDelete, "/{audience}", "remove-audience", "Remove an audience", "Its versions stay, and its name is free.",
		postledger.ScopeSend, codeAudienceUnknown), s.removeAudience)
	s.previewRoute()
}

// audienceApp is the app that is meant, as the sources know it.
func (s *server) audienceApp(ctx context.Context, c *call, asked postledger.ID) (postledger.App, error) {
	id, err := s.listed(ctx, c, "app", asked)
	if err != nil {
		return postledger.App{}, err
	}
	if !c.operator() {
		return c.app, nil
	}
	return s.Ledger.AppByID(ctx, id)
}

// audience finds an app's audience by its id or name; a version of it, if revision
// is not 0.
func (s *server) audience(ctx context.Context, app postledger.ID, nameOrID string, revision int64) (postledger.Audience, error) {
	id, err := postledger.ParseID(nameOrID)
	if err != nil {
		a, err := s.Ledger.AudienceByName(ctx, app, nameOrID)
		if err != nil || revision == 0 {
			return a, err
		}
		id = a.ID
	}
	return s.Ledger.AudienceByID(ctx, app, id, revision)
}

func (s *server) listAudiences(ctx context.Context, c *call, in *listAudiencesInput) (audiencesView, error) {
	app, err := s.audienceApp(ctx, c, in.App)
	if err != nil {
		return audiencesView{}, err
	}
	list, more, err := s.Ledger.Audiences(ctx, app.ID, in.After, in.Limit)
	v := audiencesView{Items: viewList(list, viewAudience).Items}
	if more {
		v.Next = list[len(list)-1].Name
	}
	return v, err
}

func (s *server) getAudience(ctx context.Context, c *call, in *getAudienceInput) (audienceView, error) {
	app, err := s.audienceApp(ctx, c, in.App)
	if err != nil {
		return audienceView{}, err
	}
	a, err := s.audience(ctx, app.ID, in.Audience, in.Revision)
	return viewAudience(&a), err
}

func (s *server) listVersions(ctx context.Context, c *call, in *audienceVersionsInput) (audiencesView, error) {
	app, err := s.audienceApp(ctx, c, in.App)
	if err != nil {
		return audiencesView{}, err
	}
	a, err := s.audience(ctx, app.ID, in.Audience, 0)
	if err != nil {
		return audiencesView{}, err
	}
	list, more, err := s.Ledger.AudienceVersions(ctx, app.ID, a.ID, in.After, in.Limit)
	v := audiencesView{Items: viewList(list, viewAudience).Items}
	if n := len(list); more && list[n-1].Revision > 1 {
		v.Next = strconv.FormatInt(list[n-1].Revision, 10)
	}
	return v, err
}

func (s *server) putAudience(ctx context.Context, c *call, in *AudienceInput, body *audienceRequest) (audienceView, error) {
	app, err := s.audienceApp(ctx, c, body.App)
	if err != nil {
		return audienceView{}, err
	}
	a, err := s.changedAudience(ctx, app.ID, in.Audience, body)
	if err != nil {
		return audienceView{}, err
	}
	if a.AudienceDefinition, err = s.Audiences.Check(ctx, app, postledger.AudienceDefinition(body.AudienceFields)); err != nil {
		return audienceView{}, audienceProblem(err, "")
	}
	a.SavedBy = c.key.ID
	saved, err := s.Ledger.PutAudience(ctx, a, body.Revision, c.audienceAudit(s, "audience.put", app.ID, a.ID))
	return viewAudience(&saved), err
}

// changedAudience is the audience that is saved, but for what it says.
func (s *server) changedAudience(ctx context.Context, app postledger.ID, path string, body *audienceRequest) (postledger.Audience, error) {
	if body.Revision < 0 {
		return postledger.Audience{}, field("revision", accept.RuleRange, "is negative")
	}
	if body.Revision == 0 {
		a := postledger.Audience{ID: s.Ledger.NewID(), AppID: app, Name: path}
		if body.Name != "" && body.Name != path {
			return a, field("name", accept.RuleMismatch, "is another than the path's")
		}
		return a, checkName("audience", path)
	}
	a, err := s.audience(ctx, app, path, 0)
	if err != nil {
		return a, err
	}
	if a.RemovedAt.IsZero() && a.Revision != body.Revision {
		return a, problem(codeRevisionConflict, "")
	}
	if body.Name != "" {
		a.Name = body.Name
		return a, checkName("name", body.Name)
	}
	return a, nil
}

func (s *server) removeAudience(ctx context.Context, c *call, in *removeAudienceInput) (audienceView, error) {
	app, err := s.audienceApp(ctx, c, in.App)
	if err != nil {
		return audienceView{}, err
	}
	a, err := s.audience(ctx, app.ID, in.Audience, 0)
	if err != nil {
		return audienceView{}, err
	}
	if err := s.Ledger.RemoveAudience(ctx, app.ID, a.ID, c.audienceAudit(s, "audience.remove", app.ID, a.ID)); err != nil {
		return audienceView{}, err
	}
	a, err = s.Ledger.AudienceByID(ctx, app.ID, a.ID, 0)
	return viewAudience(&a), err
}

func (c *call) audienceAudit(s *server, action string, app, id postledger.ID) postledger.AuditEvent {
	e := c.audit(s.Ledger.NewID(), action, "audience", id.String())
	e.AppID = app
	return e
}
