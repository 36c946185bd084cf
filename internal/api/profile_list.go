package api

import (
	"context"
	"net/http"

	"github.com/postledger/postledger"
)

type profileInput struct {
	Profile string `path:"profile" doc:"The profile's name or id."`
}

func (s *server) profileRoutes() {
	read(s, admin(http.MethodGet, "/v1/profiles", "list-profiles", "List profiles", "By name, with those that were removed."), s.listProfiles)
	rt := admin(http.MethodGet, "/v1/profiles/{profile}", "get-profile", "See a profile", "")
	rt.codes = []Code{codeProfileUnknown}
	read(s, rt, s.getProfile)
	s.putProfileRoute()
	s.profileStateRoutes()
	s.testProfileRoute()
}

// profile finds a profile by its id or name.
func (s *server) profile(ctx context.Context, nameOrID string) (postledger.Profile, error) {
	if id, err := postledger.ParseID(nameOrID); err == nil {
		return s.Ledger.ProfileByID(ctx, id)
	}
	return s.Ledger.ProfileByName(ctx, nameOrID)
}

func (s *server) listProfiles(ctx context.Context, _ *call, _ *struct{}) (listView[profileView], error) {
	list, err := s.Ledger.Profiles(ctx)
	if err != nil {
		return listView[profileView]{}, err
	}
	waiting, err := s.Ledger.Backlogs(ctx)
	return viewList(list, func(p *postledger.Profile) profileView { return s.viewProfile(p, waiting[p.ID]) }), err
}

func (s *server) getProfile(ctx context.Context, _ *call, in *profileInput) (profileView, error) {
	p, err := s.profile(ctx, in.Profile)
	if err != nil {
		return profileView{}, err
	}
	return s.seenProfile(ctx, &p)
}

// seenProfile is a profile with what waits on it.
func (s *server) seenProfile(ctx context.Context, p *postledger.Profile) (profileView, error) {
	waiting, err := s.Ledger.Backlogs(ctx)
	return s.viewProfile(p, waiting[p.ID]), err
}
