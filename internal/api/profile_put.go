package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/secret"
)

// profileRequest is a profile as an operator writes it.
type profileRequest struct {
	Revision  int64  `json:"revision" minimum:"0" doc:"0 creates the profile; else the revision that the change was made from."`
	Name      string `json:"name,omitempty" doc:"Another name for the profile; the path's when left out."`
	IsDefault bool   `json:"is_default,omitempty" doc:"Makes it the default profile. The first one becomes it by itself."`
	ProfileFields
	Password *secret.Value `json:"password,omitempty" writeOnly:"true" doc:"Kept when left out, removed when empty. A changed host, port or user name needs it again."`
	DKIMKey  *secret.Value `json:"dkim_key,omitempty" writeOnly:"true" doc:"A private key in PEM. Kept when left out, removed when empty. A changed dkim_domain needs it again."`
}

func (s *server) putProfileRoute() {
	rt := admin(http.MethodPut, "/v1/profiles/{profile}", "put-profile", "Create or change a profile",
		"The profile is replaced as a whole, secrets apart. A change is refused when the profile has another revision than it names.")
	rt.codes = []Code{codeInvalidProfile, codeProfileUnknown, codeProfileExists, codeRevisionConflict, codeProfileIsDefault, codeSecretsUnreadable}
	write(s, rt, s.putProfile)
}

func (s *server) putProfile(ctx context.Context, c *call, in *profileInput, body *profileRequest) (profileView, error) {
	was, changed, err := s.changedProfile(ctx, in.Profile, body)
	if err != nil {
		return profileView{}, err
	}
	if err := checkProfile(&changed, body.Password); err != nil {
		return profileView{}, err
	}
	changed.Secrets, err = s.Profiles.Seal(was, changed, ProfileSecrets{body.Password, body.DKIMKey})
	if err == nil {
		err = s.Profiles.Check(changed)
	}
	if err != nil {
		return profileView{}, profileProblem(err)
	}
	p, err := s.Ledger.PutProfile(ctx, changed, body.Revision, c.profileAudit(s, "profile.put", &changed))
	if err != nil {
		return profileView{}, err
	}
	s.Changed()
	return s.seenProfile(ctx, &p)
}

// changedProfile is the profile as it is and as it shall be.
func (s *server) changedProfile(ctx context.Context, path string, body *profileRequest) (was, changed postledger.Profile, err error) {
	if body.Revision < 0 {
		return was, changed, field("revision", accept.RuleRange, "is negative")
	}
	if body.Revision == 0 {
		changed.ID, changed.Name = s.Ledger.NewID(), path
		if body.Name != "" && body.Name != path {
			return was, changed, field("name", accept.RuleMismatch, "is another than the path's")
		}
	} else {
		if was, err = s.profile(ctx, path); err != nil {
			return was, changed, err
		}
		if was.RemovedAt.IsZero() && was.Revision != body.Revision {
			return was, changed, problem(codeRevisionConflict, "")
		}
		changed = was
		if body.Name != "" {
			changed.Name = body.Name
		}
	}
	if changed.Name != was.Name {
		at := "name"
		if body.Name == "" {
			at = "profile"
		}
		if err := checkName(at, changed.Name); err != nil {
			return was, changed, err
		}
	}
	changed.IsDefault = body.IsDefault
	changed.Config = postledger.ProfileConfig(body.ProfileFields)
	return was, changed, nil
}

// profileProblem is the refusal of a configuration.
func profileProblem(err error) *Problem {
	var fault *ProfileError
	var p *Problem
	if errors.As(err, &fault) {
		p = problem(codeInvalidProfile, "")
		p.Errors = []FieldError{{fault.Field, accept.RuleSyntax, fault.Rule}}
	} else {
		p = problem(codeSecretsUnreadable, "")
	}
	p.cause = err
	return p
}

func (c *call) profileAudit(s *server, action string, p *postledger.Profile) postledger.AuditEvent {
	e := c.audit(s.Ledger.NewID(), action, "profile", p.ID.String())
	e.Detail = "name=" + p.Name
	return e
}
