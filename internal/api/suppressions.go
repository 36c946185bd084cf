package api

import (
	"context"
	"net/http"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/address"
	"github.com/postledger/postledger/internal/ledger"
)

type suppressionView struct {
	AppID     postledger.ID `json:"app_id"`
	Address   string        `json:"address" doc:"In its folded form: addresses that differ in spelling only are one."`
	Reason    string        `json:"reason"`
	Source    string        `json:"source" doc:"Who put it there: app, operator, or a report."`
	CreatedAt time.Time     `json:"created_at"`
}

type suppressionRequest struct {
	App     postledger.ID `json:"app,omitzero" doc:"The app; for operators, who must name it."`
	Address string        `json:"address"`
	Reason  string        `json:"reason" doc:"Why, for people." example:"asked by phone"`
}

type listSuppressionsInput struct {
	App   postledger.ID `query:"app" doc:"The app; for operators, who must name it."`
	After string        `query:"after" doc:"The last address of the page before."`
	Limit int           `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

type deleteSuppressionInput struct {
	App     postledger.ID `query:"app" doc:"The app; for operators, who must name it."`
	Address string        `query:"address" required:"true"`
}

type suppressionsView struct {
	Items []suppressionView `json:"items"`
	Next  string            `json:"next,omitempty" doc:"The after of the next page."`
}

func (s *server) suppressionRoutes() {
	rt := func(method, id, summary, text string, app postledger.Scope) route {
		r := admin(method, "/v1/suppressions", id, summary, text)
		r.app, r.codes = app, []Code{codeBadInput, codeAppUnknown}
		return r
	}
	read(s, rt(http.MethodGet, "list-suppressions", "List suppressions", "The addresses an app does not send to, in order.", postledger.ScopeRead), s.listSuppressions)
	put := rt(http.MethodPut, "put-suppression", "Suppress an address", "Nothing is sent to it any more, also of what waits already.", postledger.ScopeSend)
	put.success = http.StatusNoContent
	write(s, put, s.putSuppression)
	del := rt(http.MethodDelete, "delete-suppression", "Take an address off the list", "", postledger.ScopeSend)
	del.success, del.codes = http.StatusNoContent, append(del.codes, codeNotSuppressed)
	read(s, del, s.deleteSuppression)
}

// listed is the app whose list is meant. An operator names one that exists.
func (s *server) listed(ctx context.Context, c *call, at string, asked postledger.ID) (postledger.ID, error) {
	switch {
	case c.foreign(asked):
		return asked, problem(codeAppUnknown, "")
	case !c.operator():
		return c.key.AppID, nil
	case asked.IsZero():
		return asked, field(at, accept.RuleRequired, "is missing: an operator names an app")
	}
	_, err := s.Ledger.AppByID(ctx, asked)
	return asked, err
}

func viewSuppression(l *ledger.Suppression) suppressionView {
	return suppressionView{l.AppID, l.AddressFolded, l.Reason, l.Source, l.CreatedAt}
}

func (s *server) listSuppressions(ctx context.Context, c *call, in *listSuppressionsInput) (suppressionsView, error) {
	app, err := s.listed(ctx, c, "app", in.App)
	if err != nil {
		return suppressionsView{}, err
	}
	list, err := s.Ledger.Suppressions(ctx, app, foldText(in.After), in.Limit)
	v := suppressionsView{Items: viewList(list, viewSuppression).Items}
	if len(list) == in.Limit {
		v.Next = list[len(list)-1].AddressFolded
	}
	return v, err
}

func (s *server) putSuppression(ctx context.Context, c *call, _ *struct{}, body *suppressionRequest) (none, error) {
	app, err := s.listed(ctx, c, "app", body.App)
	if err != nil {
		return none{}, err
	}
	a, err := address.Parse(body.Address)
	if err != nil {
		return none{}, field("address", accept.RuleSyntax, "is not an e-mail address")
	}
	if body.Reason == "" {
		return none{}, field("reason", accept.RuleRequired, "is missing")
	}
	if err := checkText("reason", body.Reason); err != nil {
		return none{}, err
	}
	row := ledger.Suppression{AppID: app, AddressFolded: a.Fold(), Reason: body.Reason, Source: "app"}
	if c.operator() {
		row.Source = "operator"
	}
	return none{}, s.Ledger.PutSuppression(ctx, row, c.audit(s.Ledger.NewID(), "suppression.put", "app", app.String()))
}

func (s *server) deleteSuppression(ctx context.Context, c *call, in *deleteSuppressionInput) (none, error) {
	app, err := s.listed(ctx, c, "app", in.App)
	if err != nil {
		return none{}, err
	}
	folded, err := foldAddress("address", in.Address)
	if err != nil {
		return none{}, err
	}
	return none{}, s.Ledger.DeleteSuppression(ctx, app, folded, c.audit(s.Ledger.NewID(), "suppression.delete", "app", app.String()))
}
