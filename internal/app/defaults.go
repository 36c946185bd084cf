package app

import (
	"context"
	"errors"
	"net/http"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/api"
	"github.com/postledger/postledger/internal/app/hop"
	"github.com/postledger/postledger/internal/ledger"
)

// ErrSandboxDefault: mail would be accepted and never leave.
var ErrSandboxDefault = errors.New("the default profile is a sandbox, which sends nothing: make another one the default, or set allow_sandbox: true if that is meant")

// checkDefault refuses a sandbox where people expect mail to leave.
func (a *App) checkDefault(p *postledger.Profile) error {
	if p.IsDefault && p.Config.Transport == hop.Sandbox && !a.ledger.SQLite() && !a.config.AllowSandbox {
		return ErrSandboxDefault
	}
	return nil
}

// apiLedger is the ledger as the API writes to it.
type apiLedger struct {
	*ledger.Ledger
	app *App
}

// PutProfile holds every way by which a profile becomes the default: by its
// own change, by being made it, and by being the first.
func (l apiLedger) PutProfile(ctx context.Context, p postledger.Profile, revision int64, audit postledger.AuditEvent) (postledger.Profile, error) {
	next := p
	if !next.IsDefault {
		all, err := l.Profiles(ctx)
		if err != nil {
			return p, err
		}
		next.IsDefault = true
		for i := range all {
			if all[i].IsDefault && all[i].ID != p.ID {
				next.IsDefault = false
			}
		}
	}
	if err := l.app.checkDefault(&next); err != nil {
		return p, invalidProfile("transport", "must not be sandbox: "+err.Error())
	}
	return l.Ledger.PutProfile(ctx, p, revision, audit)
}

// invalidProfile is the API's refusal of a profile.
func invalidProfile(field, rule string) *api.Problem {
	const code = "invalid_profile"
	p := &api.Problem{
		Type: "/docs#" + code, Code: code, Status: http.StatusBadRequest,
		Errors: []api.FieldError{{Field: field, Rule: accept.RuleNotAllowed, Message: rule}},
	}
	for _, e := range api.Errors() {
		if e.Code == code {
			p.Title, p.Status = e.Title, e.Status
		}
	}
	return p
}
