package main

import (
	"fmt"
	"strings"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
)

type messagesCmd struct {
	Ls      messagesLsCmd      `cmd:"" help:"List messages, newest first."`
	Show    messagesShowCmd    `cmd:"" help:"Show a message, its deliveries and their history."`
	Cancel  messagesCancelCmd  `cmd:"" help:"Take back what has not left yet."`
	Resend  messagesResendCmd  `cmd:"" help:"Send a message again to recipients that failed, as a new message."`
	Resolve messagesResolveCmd `cmd:"" help:"Decide about unconfirmed deliveries."`
}

type messagesLsCmd struct {
	remote
	filter
	statusFlag
	limit
}

func (c *messagesLsCmd) Run(e *env) error {
	app, batch, err := c.ids()
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
	items, err := take(e, &c.limit, cl.Messages(e.ctx, client.MessageFilter{
		App: app, Profile: c.Profile, Batch: batch, Statuses: statuses, Since: c.Since, Until: c.Until,
		RefScope: c.RefScope, RefID: c.Ref, Lane: lane(c.Lane), Recipient: c.Recipient, PageSize: c.page(),
	}))
	if err != nil {
		return err
	}
	return list(e, c.JSON, items, "ID CREATED PROFILE LANE STATUS DELIVERIES SUBJECT", func(m *client.StoredMessage) []string {
		return []string{m.ID.String(), moment(m.CreatedAt), m.Profile, string(m.Lane), string(m.Status), counts(m.Counts), m.Subject}
	})
}

type messagesShowCmd struct {
	remote
	ID string `arg:"" help:"The message's id."`
}

func (c *messagesShowCmd) Run(e *env) error {
	id, err := needID("id", c.ID)
	if err != nil {
		return err
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	m, err := cl.Message(e.ctx, id)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(e.stdout, m)
	}
	rows := [][]string{
		{"id", m.ID.String()},
		{"subject", m.Subject},
		{"status", fmt.Sprintf("%s (%s)", m.Status, counts(m.Counts))},
		{"profile", m.Profile},
		{"lane", string(m.Lane)},
		{"created", moment(m.CreatedAt)},
		{"due", moment(m.SendAt)},
		{"expires", moment(m.ExpiresAt)},
		{"settled", moment(m.SettledAt)},
	}
	if err := table(e.stdout, "MESSAGE ", rows); err != nil {
		return err
	}
	fmt.Fprintln(e.stdout)
	rows = nil
	for _, d := range m.Deliveries {
		rows = append(rows, []string{d.ID.String(), string(d.Kind), d.Address, stage(d.Status, d.Resent), dash(string(d.Reason)), fmt.Sprint(d.Attempts), moment(d.SettledAt), dash(d.Response)})
		for _, v := range d.Events {
			what := strings.TrimSpace(fmt.Sprintf("%s %s %s", v.Phase, v.Enhanced, v.Response))
			rows = append(rows, []string{"  " + moment(v.At), v.Kind, "", string(v.To), dash(string(v.Reason)), fmt.Sprint(v.Attempt), dash(v.Actor), dash(what)})
		}
	}
	return table(e.stdout, "DELIVERY KIND RECIPIENT STATUS REASON ATTEMPTS SETTLED RESPONSE", rows)
}

type messagesCancelCmd struct {
	remote
	filter
	ID     string `arg:"" optional:"" help:"A message's id; without it the flags choose."`
	Reason string `help:"Only those in their state for this reason, such as throttled." placeholder:"REASON"`
	All    bool   `help:"All there is; needed when nothing else chooses."`
}

func (c *messagesCancelCmd) Run(e *env) error {
	choice, err := c.choice(c.ID, c.Reason, c.All)
	if err != nil {
		return err
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	var total client.Canceled
	for {
		done, err := cl.Cancel(e.ctx, choice)
		if err != nil {
			return err
		}
		total.Canceled += done.Canceled
		total.OnTheWire += done.OnTheWire
		total.Unchanged += done.Unchanged
		if !done.More {
			break
		}
	}
	return c.done(e, total, "%d canceled, %d on the wire or unconfirmed (noted), %d had settled", total.Canceled, total.OnTheWire, total.Unchanged)
}

// choice turns the flags into what a decision is about. Nothing in particular
// is refused: a variable that was empty must not mean everyone.
func (f *filter) choice(message, reason string, all bool) (client.Choice, error) {
	app, batch, err := f.ids()
	if err != nil {
		return client.Choice{}, err
	}
	id, err := optionalID("id", message)
	if err != nil {
		return client.Choice{}, err
	}
	c := client.Choice{
		All: all, App: app, Profile: f.Profile, Message: id, Batch: batch, RefScope: f.RefScope, RefID: f.Ref,
		Lane: lane(f.Lane), Since: f.Since, Until: f.Until, Recipient: f.Recipient,
		Reason: postledger.Reason(reason),
	}
	if *f == (filter{}) && message == "" && reason == "" && !all {
		return c, usage("nothing was chosen: give an id or a filter, or --all")
	}
	return c, nil
}

type messagesResendCmd struct {
	remote
	ID       string   `arg:"" help:"The message's id."`
	Delivery []string `help:"A delivery to send again; default all that failed." placeholder:"ID"`
	Key      string   `help:"Idempotency key."`
}

func (c *messagesResendCmd) Run(e *env) error {
	id, err := needID("id", c.ID)
	if err != nil {
		return err
	}
	r := client.Resending{Key: c.Key}
	for _, d := range c.Delivery {
		one, err := needID("--delivery", d)
		if err != nil {
			return err
		}
		r.Deliveries = append(r.Deliveries, one)
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	a, err := cl.ResendMessage(e.ctx, id, r)
	if err != nil {
		return err
	}
	return c.done(e, a, "accepted %s", a.ID)
}
