package main

import (
	"github.com/postledger/postledger"
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
	items, err := forApp(e, &c.remote, c.App, func(cl *client.Client, id postledger.ID) ([]client.Suppression, error) {
		return take(e, &c.limit, cl.Suppressions(e.ctx, id))
	})
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
	answer, err := forApp(e, &c.remote, c.App, func(cl *client.Client, id postledger.ID) (map[string]string, error) {
		return map[string]string{"suppressed": c.Address}, cl.Suppress(e.ctx, id, c.Address, c.Reason)
	})
	if err != nil {
		return err
	}
	return c.done(e, answer, "suppressed")
}

type suppressionsRemoveCmd struct {
	remote
	Address string `arg:"" help:"The address."`
	App     string `help:"The app's name or id (operators only)." placeholder:"NAME"`
}

func (c *suppressionsRemoveCmd) Run(e *env) error {
	answer, err := forApp(e, &c.remote, c.App, func(cl *client.Client, id postledger.ID) (map[string]string, error) {
		return map[string]string{"removed": c.Address}, cl.Unsuppress(e.ctx, id, c.Address)
	})
	if err != nil {
		return err
	}
	return c.done(e, answer, "removed")
}
