package main

import (
	"fmt"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
)

type deliveriesCmd struct {
	Ls deliveriesLsCmd `cmd:"" help:"List deliveries, one for each recipient, newest first."`
}

type deliveriesLsCmd struct {
	remote
	filter
	statusFlag
	limit
	Message  string `help:"A message's id." placeholder:"ID"`
	Prefix   string `help:"How the address begins, at least two characters." placeholder:"TEXT"`
	Domain   string `help:"The address's domain; needs --since and --until." placeholder:"NAME"`
	Contains string `help:"A text in the address; needs --since and --until." placeholder:"TEXT"`
}

func (c *deliveriesLsCmd) Run(e *env) error {
	app, batch, err := c.ids()
	if err != nil {
		return err
	}
	message, err := optionalID("--message", c.Message)
	if err != nil {
		return err
	}
	statuses, err := c.statuses()
	if err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	items, err := take(e, &c.limit, cl.Deliveries(e.ctx, client.DeliveryFilter{
		App: app, Profile: c.Profile, Message: message, Batch: batch, Statuses: statuses, Since: c.Since, Until: c.Until,
		RefScope: c.RefScope, RefID: c.Ref, Lane: lane(c.Lane), Recipient: c.Recipient,
		Prefix: c.Prefix, Domain: c.Domain, Contains: c.Contains, PageSize: c.page(),
	}))
	if err != nil {
		return err
	}
	return list(e, c.JSON, items, "ID CREATED RECIPIENT STATUS REASON ATTEMPTS RESPONSE", func(d *client.ListedDelivery) []string {
		return []string{d.ID.String(), moment(d.CreatedAt), d.Address, stage(d.Status, d.Resent), dash(string(d.Reason)), fmt.Sprint(d.Attempts), dash(d.Response)}
	})
}

func lane(s string) postledger.Lane { return postledger.Lane(s) }

// stage is a delivery's state. One that was sent again in doubt says so: its first
// copy may have arrived, whatever became of the other.
func stage(status postledger.Status, resent bool) string {
	if resent {
		return string(status) + " (resent)"
	}
	return string(status)
}
