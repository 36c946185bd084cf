package main

import (
	"fmt"

	"github.com/postledger/postledger/client"
)

type grantsCmd struct {
	Ls     grantsLsCmd     `cmd:"" help:"List an app's grants."`
	Put    grantsPutCmd    `cmd:"" help:"Let an app use a profile, or change how it may."`
	Revoke grantsRevokeCmd `cmd:"" help:"End a grant; what waits is canceled."`
}

type grantsLsCmd struct {
	remote
	App string `arg:"" help:"The app's name or id."`
}

func (c *grantsLsCmd) Run(e *env) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	id, err := appID(e.ctx, cl, c.App)
	if err != nil {
		return err
	}
	grants, err := cl.Grants(e.ctx, id)
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
	cl, err := c.client()
	if err != nil {
		return err
	}
	id, err := appID(e.ctx, cl, c.App)
	if err != nil {
		return err
	}
	g, err := cl.PutGrant(e.ctx, id, c.Profile, client.GrantTerms{TrustedHTML: c.TrustedHTML, Quota: c.Quota})
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(e.stdout, g)
	}
	_, err = fmt.Fprintf(e.stdout, "%s may use %s\n", printable(c.App), printable(c.Profile))
	return err
}

type grantsRevokeCmd struct {
	remote
	App     string `arg:"" help:"The app's name or id."`
	Profile string `arg:"" help:"The profile's name or id."`
}

func (c *grantsRevokeCmd) Run(e *env) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	id, err := appID(e.ctx, cl, c.App)
	if err != nil {
		return err
	}
	g, err := cl.RevokeGrant(e.ctx, id, c.Profile)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(e.stdout, g)
	}
	_, err = fmt.Fprintf(e.stdout, "%s may not use %s any more\n", printable(c.App), printable(c.Profile))
	return err
}
