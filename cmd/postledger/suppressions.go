package main

import (
	"fmt"

	"github.com/postledger/postledger/client"
)

type suppressionsCmd struct {
	Ls     suppressionsLsCmd     `cmd:"" help:"List the addresses an app does not send to."`
	Add    suppressionsAddCmd    `cmd:"" help:"Send nothing to an address any more."`
	Remove suppressionsRemoveCmd `cmd:"" help:"Send to an address again."`
}

type suppressionsLsCmd struct {
	remote
	limit
	App string `help:"The app's name or id (operators only)." placeholder:"NAME"`
}

func (c *suppressionsLsCmd) Run(e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	id, err := appID(e.ctx, cl, c.App)
	if err != nil {
		return err
	}
	items, err := take(e, &c.limit, cl.Suppressions(e.ctx, id))
	if err != nil {
		return err
	}
	return list(e, c.JSON, items, "ADDRESS REASON SOURCE CREATED", func(s *client.Suppression) []string {
		return []string{s.Address, s.Reason, s.Source, moment(s.CreatedAt)}
	})
}

type suppressionsAddCmd struct {
	remote
	Address string `arg:"" help:"The address."`
	Reason  string `help:"Why, for people." required:""`
	App     string `help:"The app's name or id (operators only)." placeholder:"NAME"`
}

func (c *suppressionsAddCmd) Run(e *env) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	id, err := appID(e.ctx, cl, c.App)
	if err != nil {
		return err
	}
	if err := cl.Suppress(e.ctx, id, c.Address, c.Reason); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(e.stdout, map[string]string{"suppressed": c.Address})
	}
	_, err = fmt.Fprintln(e.stdout, "suppressed")
	return err
}

type suppressionsRemoveCmd struct {
	remote
	Address string `arg:"" help:"The address."`
	App     string `help:"The app's name or id (operators only)." placeholder:"NAME"`
}

func (c *suppressionsRemoveCmd) Run(e *env) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	id, err := appID(e.ctx, cl, c.App)
	if err != nil {
		return err
	}
	if err := cl.Unsuppress(e.ctx, id, c.Address); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(e.stdout, map[string]string{"removed": c.Address})
	}
	_, err = fmt.Fprintln(e.stdout, "removed")
	return err
}
