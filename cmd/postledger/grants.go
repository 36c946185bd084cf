package main

import (
	"fmt"
	"slices"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
)

type grantsCmd struct {
	Ls     grantsLsCmd     `cmd:"" help:"List an app's grants."`
	Put    grantsPutCmd    `cmd:"" help:"Let an app use a profile, or change how it may. An app without any grant may use the default profile; from its first one on it may use what it is granted, and nothing else."`
	Revoke grantsRevokeCmd `cmd:"" help:"End a grant; what waits is canceled."`
}

type grantsLsCmd struct {
	remote
	App string `arg:"" help:"The app's name or id."`
}

func (c *grantsLsCmd) Run(e *env) error {
	grants, err := forApp(e, &c.remote, c.App, func(cl *client.Client, id postledger.ID) ([]client.Grant, error) {
		return cl.Grants(e.ctx, id)
	})
	if err != nil {
		return err
	}
	return list(e, c.JSON, grants, "PROFILE TRUSTED_HTML QUOTA CREATED REVOKED", func(g *client.Grant) []string {
		quota := "profile's"
		if g.Quota != nil {
			quota = fmt.Sprint(*g.Quota)
		}
		return []string{g.ProfileID.String(), fmt.Sprint(g.TrustedHTML), quota, moment(g.CreatedAt), moment(g.RevokedAt)}
	})
}

type grantsPutCmd struct {
	remote
	App         string `arg:"" help:"The app's name or id."`
	Profile     string `arg:"" help:"The profile's name or id."`
	TrustedHTML bool   `name:"trusted-html" help:"Send the app's HTML as it is, unfiltered."`
	Quota       *int64 `help:"Recipients in any 1,440 minutes; default the profile's."`
}

func (c *grantsPutCmd) Run(e *env) error {
	narrowed := false
	g, err := forApp(e, &c.remote, c.App, func(cl *client.Client, id postledger.ID) (*client.Grant, error) {
		before, err := cl.Grants(e.ctx, id)
		if err != nil {
			return nil, err
		}
		narrowed = !slices.ContainsFunc(before, func(g client.Grant) bool { return g.RevokedAt.IsZero() })
		return cl.PutGrant(e.ctx, id, c.Profile, client.GrantTerms{TrustedHTML: c.TrustedHTML, Quota: c.Quota})
	})
	if err != nil {
		return err
	}
	if narrowed {
		fmt.Fprintf(e.stderr, "%s had no grant before, and could use the default profile: from now on it may use what it is granted, and nothing else.\n", printable(c.App))
	}
	return c.done(e, g, "%s may use %s", printable(c.App), printable(c.Profile))
}

type grantsRevokeCmd struct {
	remote
	App     string `arg:"" help:"The app's name or id."`
	Profile string `arg:"" help:"The profile's name or id."`
}

func (c *grantsRevokeCmd) Run(e *env) error {
	g, err := forApp(e, &c.remote, c.App, func(cl *client.Client, id postledger.ID) (*client.Grant, error) {
		return cl.RevokeGrant(e.ctx, id, c.Profile)
	})
	if err != nil {
		return err
	}
	return c.done(e, g, "%s may not use %s any more", printable(c.App), printable(c.Profile))
}
