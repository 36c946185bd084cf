package api

import (
	"context"
	"net/http"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
)

type appView struct {
	ID        postledger.ID `json:"id"`
	Name      string        `json:"name"`
	CreatedAt time.Time     `json:"created_at"`
	RemovedAt time.Time     `json:"removed_at,omitzero"`
}

// listView is a list that is short enough to come whole.
type listView[T any] struct {
	Items []T `json:"items"`
}

func viewList[F, T any](list []F, view func(*F) T) listView[T] {
	v := listView[T]{Items: make([]T, 0, len(list))}
	for i := range list {
		v.Items = append(v.Items, view(&list[i]))
	}
	return v
}

type appInput struct {
	App postledger.ID `path:"app" doc:"The app."`
}

type appRequest struct {
	Name string `json:"name" doc:"1 to 63 of a-z, 0-9, '.', '_' and '-', beginning with a letter or digit." example:"shop"`
}

// admin begins a route of the administration.
func admin(method, path, id, summary, text string) route {
	rt := route{
		method: method, path: path, id: id, tag: tagAdministration, summary: summary, text: text,
		operator: postledger.ScopeAdmin,
	}
	if method != http.MethodGet {
		rt.action = id
	}
	return rt
}

func (s *server) appRoutes() {
	read(s, admin(http.MethodGet, "/v1/apps", "list-apps", "List apps", "By name, with those that were removed."), s.listApps)
	rt := admin(http.MethodPost, "/v1/apps", "create-app", "Create an app", "")
	rt.success, rt.codes = http.StatusCreated, []Code{codeBadInput, codeAppExists}
	write(s, rt, s.createApp)
	rt = admin(http.MethodGet, "/v1/apps/{app}", "get-app", "See an app", "")
	rt.codes = []Code{codeAppUnknown}
	read(s, rt, s.getApp)
	rt = admin(http.MethodDelete, "/v1/apps/{app}", "remove-app", "Remove an app",
		"Its keys are refused from now on, and what waits is canceled. Its messages stay until retention removes them.")
	rt.codes = []Code{codeAppUnknown}
	read(s, rt, s.removeApp)
}

func viewApp(a *postledger.App) appView { return appView(*a) }

func (s *server) listApps(ctx context.Context, _ *call, _ *struct{}) (listView[appView], error) {
	list, err := s.Ledger.Apps(ctx)
	return viewList(list, viewApp), err
}

func (s *server) createApp(ctx context.Context, c *call, _ *struct{}, body *appRequest) (appView, error) {
	if err := checkName("name", body.Name); err != nil {
		return appView{}, err
	}
	a := postledger.App{ID: s.Ledger.NewID(), Name: body.Name}
	if err := s.Ledger.CreateApp(ctx, a, c.audit(s.Ledger.NewID(), "app.create", "app", a.ID.String())); err != nil {
		return appView{}, err
	}
	s.Changed()
	return s.getApp(ctx, c, &appInput{App: a.ID})
}

func (s *server) getApp(ctx context.Context, _ *call, in *appInput) (appView, error) {
	a, err := s.Ledger.AppByID(ctx, in.App)
	return viewApp(&a), err
}

func (s *server) removeApp(ctx context.Context, c *call, in *appInput) (appView, error) {
	if err := s.Ledger.RemoveApp(ctx, in.App, c.audit(s.Ledger.NewID(), "app.remove", "app", in.App.String())); err != nil {
		return appView{}, err
	}
	s.keys.clear()
	s.Changed()
	return s.getApp(ctx, c, in)
}

// maxNameLength bounds the names of apps and profiles.
const maxNameLength = 63

// checkName refuses a name that could be taken for something else: an id, a
// path, or another name in another letter case.
func checkName(at, name string) error {
	ok := name != "" && len(name) <= maxNameLength
	for i, r := range []byte(name) {
		plain := (r >= 'a' && r <= 'z') || (r >= '0' && r <= '9')
		ok = ok && (plain || (i > 0 && (r == '.' || r == '_' || r == '-')))
	}
	if _, err := postledger.ParseID(name); err == nil {
		ok = false
	}
	switch {
	case name == "":
		return field(at, accept.RuleRequired, "is missing")
	case !ok:
		return field(at, accept.RuleSyntax, "must have 1 to 63 of a-z, 0-9, '.', '_' and '-', begin with a letter or digit, and be no id")
	}
	return nil
}

// checkText refuses a text that is too long or holds a control character.
func checkText(at, text string) error {
	if len(text) > accept.MaxName {
		return field(at, accept.RuleTooLong, "has more than 255 bytes")
	}
	for _, r := range text {
		if r < 0x20 || (r >= 0x7f && r < 0xa0) {
			return field(at, accept.RuleControl, "holds a control character")
		}
	}
	return nil
}
