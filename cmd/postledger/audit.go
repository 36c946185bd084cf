package main

import (
	"time"

	"github.com/postledger/postledger/client"
)

type auditCmd struct {
	Ls auditLsCmd `cmd:"" help:"List who did what, newest first."`
}

type auditLsCmd struct {
	remote
	limit
	App    string    `help:"An app's id." placeholder:"ID"`
	Action string    `help:"One action, such as message.accept."`
	Since  time.Time `help:"At or after this time (RFC 3339)." placeholder:"TIME"`
	Until  time.Time `help:"Before this time (RFC 3339)." placeholder:"TIME"`
}

func (c *auditLsCmd) Run(e *env) error {
	app, err := optionalID("--app", c.App)
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
	items, err := take(e, &c.limit, cl.Audit(e.ctx, client.AuditFilter{
		App: app, Action: c.Action, Since: c.Since, Until: c.Until, PageSize: c.page(),
	}))
	if err != nil {
		return err
	}
	return list(e, c.JSON, items, "AT WHO ACTION TARGET RESULT DETAIL", func(a *client.AuditEvent) []string {
		who := a.ActorType + ":" + a.ActorID
		if a.ActorType == "" && !a.APIKeyID.IsZero() {
			who = "key:" + a.APIKeyID.String()
		}
		return []string{moment(a.At), who, a.Action, dash(a.TargetType + ":" + a.TargetID), a.Result, dash(a.Detail)}
	})
}
