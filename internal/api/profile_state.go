package api

import (
	"context"
	"net/http"

	"github.com/postledger/postledger"
)

type pauseRequest struct {
	Reason string `json:"reason,omitempty" doc:"Why, for people." example:"the relay is moved"`
}

func (s *server) profileStateRoutes() {
	rt := admin(http.MethodPost, "/v1/profiles/{profile}/default", "make-default-profile", "Make a profile the default", "It takes the place of the one that is.")
	rt.codes = []Code{codeProfileUnknown, codeProfileRemoved, codeRevisionConflict}
	read(s, rt, s.makeDefault)
	rt = admin(http.MethodPost, "/v1/profiles/{profile}/pause", "pause-profile", "Pause a profile",
		"Nothing leaves any more, and what waits keeps waiting; only a caller's own deadline passes. The answer shows how much waits, and how late the oldest is.")
	rt.codes = []Code{codeProfileUnknown, codeProfileRemoved}
	write(s, rt, s.pauseProfile)
	rt = admin(http.MethodPost, "/v1/profiles/{profile}/resume", "resume-profile", "Resume a profile",
		"Ends a pause, whoever made it. The answer shows how much waits, and how late the oldest is.")
	rt.codes = []Code{codeProfileUnknown, codeProfileRemoved}
	read(s, rt, s.resumeProfile)
	rt = admin(http.MethodDelete, "/v1/profiles/{profile}", "remove-profile", "Remove a profile",
		"Nothing leaves any more; what waits is canceled, 1,000 deliveries at a time: `waiting` says how far that is.")
	rt.codes = []Code{codeProfileUnknown, codeProfileIsDefault}
	read(s, rt, s.removeProfile)
}

// profileChange runs a change of one profile and answers with what it is then.
func (s *server) profileChange(ctx context.Context, in *profileInput, change func(p *postledger.Profile) error) (profileView, error) {
	p, err := s.profile(ctx, in.Profile)
	if err != nil {
		return profileView{}, err
	}
	if err := change(&p); err != nil {
		return profileView{}, err
	}
	s.Changed()
	if p, err = s.Ledger.ProfileByID(ctx, p.ID); err != nil {
		return profileView{}, err
	}
	return s.seenProfile(ctx, &p)
}

func (s *server) makeDefault(ctx context.Context, c *call, in *profileInput) (profileView, error) {
	return s.profileChange(ctx, in, func(p *postledger.Profile) error {
		p.IsDefault = true
		_, err := s.Ledger.PutProfile(ctx, *p, p.Revision, c.profileAudit(s, "profile.default", p))
		return err
	})
}

func (s *server) pauseProfile(ctx context.Context, c *call, in *profileInput, body *pauseRequest) (profileView, error) {
	if err := checkText("reason", body.Reason); err != nil {
		return profileView{}, err
	}
	return s.profileChange(ctx, in, func(p *postledger.Profile) error {
		return s.Ledger.PauseProfile(ctx, p.ID, body.Reason, "", c.profileAudit(s, "profile.pause", p))
	})
}

func (s *server) resumeProfile(ctx context.Context, c *call, in *profileInput) (profileView, error) {
	return s.profileChange(ctx, in, func(p *postledger.Profile) error {
		return s.Ledger.ResumeProfile(ctx, p.ID, c.profileAudit(s, "profile.resume", p))
	})
}

func (s *server) removeProfile(ctx context.Context, c *call, in *profileInput) (profileView, error) {
	return s.profileChange(ctx, in, func(p *postledger.Profile) error {
		return s.Ledger.RemoveProfile(ctx, p.ID, c.profileAudit(s, "profile.remove", p))
	})
}
