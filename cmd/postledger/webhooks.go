package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
)

type webhooksCmd struct {
	Add      webhooksAddCmd      `cmd:"" help:"Tell an endpoint what becomes of an app's deliveries."`
	Ls       webhooksLsCmd       `cmd:"" help:"List webhooks."`
	Show     webhooksShowCmd     `cmd:"" help:"Show a webhook."`
	Rotate   webhooksRotateCmd   `cmd:"" help:"Make another secret; the one of now goes on signing for a time."`
	Enable   webhooksEnableCmd   `cmd:"" help:"Tell a webhook again."`
	Disable  webhooksDisableCmd  `cmd:"" help:"Tell a webhook nothing any more."`
	Rm       webhooksRmCmd       `cmd:"" help:"Remove a webhook."`
	Attempts webhooksAttemptsCmd `cmd:"" help:"List a webhook's tries, newest first."`
	Replay   webhooksReplayCmd   `cmd:"" help:"Send events again: of one delivery, or of all that were accepted in a time."`
	Test     webhooksTestCmd     `cmd:"" help:"Send a webhook an event that is about nothing. Exit code 1 when it does not take it."`
}

// hook is a command about one webhook.
type hook struct {
	remote
	ID string `arg:"" help:"The webhook's id."`
}

func (h *hook) open() (*client.Client, postledger.ID, error) {
	id, err := postledger.ParseID(h.ID)
	if err != nil {
		return nil, id, usage("id: %w", err)
	}
	cl, err := h.client()
	return cl, id, err
}

// secretOut is where a secret goes that is shown once.
type secretOut struct {
	Out string `help:"Write the secret to a new file of mode 0600 instead of the terminal; - is the standard output, also when that is no terminal." placeholder:"FILE"`
}

type webhooksAddCmd struct {
	remote
	secretOut
	URL            string   `arg:"" name:"url" help:"https:// or http://, on port 443 or 80 unless the server's configuration allows more."`
	States         []string `help:"What it is told of." default:"sent,unconfirmed,failed,suppressed,canceled"`
	Description    string   `help:"For people."`
	IncludeAddress bool     `help:"Put recipients' addresses and the next hop's replies into events."`
	App            string   `help:"The app's name or id (operators only)." placeholder:"NAME"`
}

func (c *webhooksAddCmd) Run(e *env) error {
	deliver, err := tokenSink(e, c.Out)
	if err != nil {
		return err
	}
	states := make([]postledger.Status, len(c.States))
	for i, s := range c.States {
		states[i] = postledger.Status(s)
	}
	made, err := forApp(e, &c.remote, c.App, func(cl *client.Client, id postledger.ID) (*client.Webhook, error) {
		return cl.CreateWebhook(e.ctx, client.NewWebhook{App: id, URL: c.URL, Description: c.Description, States: states, IncludeAddress: c.IncludeAddress})
	})
	if err != nil {
		return err
	}
	return c.show(e, &c.remote, deliver, made)
}

// show hands the secret out, and tells the rest apart from it.
func (o *secretOut) show(e *env, r *remote, deliver func(string) error, w *client.Webhook) error {
	if err := deliver(w.Secret); err != nil {
		return fmt.Errorf("webhook %s is made, and its secret is lost (make another with `postledger webhooks rotate`): %w", w.ID, err)
	}
	w.Secret = ""
	if o.Out == "-" && !r.JSON {
		return nil // the secret alone
	}
	if r.JSON && o.Out != "-" {
		return printJSON(e.stdout, w)
	}
	_, err := fmt.Fprintf(e.stderr, "webhook %s\n", w.ID)
	return err
}

type webhooksLsCmd struct {
	remote
	App string `help:"The app's name or id; default all apps (operators only)." placeholder:"NAME"`
}

func (c *webhooksLsCmd) Run(e *env) error {
	items, err := forApp(e, &c.remote, c.App, func(cl *client.Client, id postledger.ID) ([]client.Webhook, error) {
		return cl.Webhooks(e.ctx, id)
	})
	if err != nil {
		return err
	}
	return list(e, c.JSON, items, "ID APP STATE URL TOLD DESCRIPTION", func(w *client.Webhook) []string {
		return []string{w.ID.String(), w.AppID.String(), webhookState(w), w.URL, joined(w.States, ","), dash(w.Description)}
	})
}

func webhookState(w *client.Webhook) string {
	switch {
	case !w.Enabled:
		return "disabled"
	case !w.FailingSince.IsZero():
		return "failing"
	}
	return "working"
}

type webhooksShowCmd struct{ hook }

func (c *webhooksShowCmd) Run(e *env) error {
	cl, id, err := c.open()
	if err != nil {
		return err
	}
	w, err := cl.Webhook(e.ctx, id)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(e.stdout, w)
	}
	rows := [][]string{
		{"id", w.ID.String()},
		{"app", w.AppID.String()},
		{"url", w.URL},
		{"description", dash(w.Description)},
		{"told of", joined(w.States, ",")},
		{"addresses", yesNo(w.IncludeAddress)},
		{"state", webhookState(w)},
		{"failing since", moment(w.FailingSince)},
		{"disabled at", moment(w.DisabledAt)},
		{"why", dash(w.DisabledReason)},
		{"old secret until", moment(w.PreviousSecretUntil)},
		{"created", moment(w.CreatedAt)},
		{"changed", moment(w.UpdatedAt)},
	}
	return table(e.stdout, "FIELD VALUE", rows)
}

type webhooksRotateCmd struct {
	hook
	secretOut
	Overlap time.Duration `help:"How long the secret of now signs beside the new one, at most 168h; 0 ends it at once." default:"24h"`
}

func (c *webhooksRotateCmd) Run(e *env) error {
	deliver, err := tokenSink(e, c.Out)
	if err != nil {
		return err
	}
	cl, id, err := c.open()
	if err != nil {
		return err
	}
	w, err := cl.RotateWebhook(e.ctx, id, c.Overlap)
	if err != nil {
		return err
	}
	return c.show(e, &c.remote, deliver, w)
}

type webhooksEnableCmd struct{ hook }

func (c *webhooksEnableCmd) Run(e *env) error {
	cl, id, err := c.open()
	if err != nil {
		return err
	}
	w, err := cl.EnableWebhook(e.ctx, id)
	if err != nil {
		return err
	}
	return c.done(e, w, "enabled; what settled meanwhile can be replayed")
}

type webhooksDisableCmd struct {
	hook
	Reason string `help:"Why, for people." required:""`
}

func (c *webhooksDisableCmd) Run(e *env) error {
	cl, id, err := c.open()
	if err != nil {
		return err
	}
	w, err := cl.DisableWebhook(e.ctx, id, c.Reason)
	if err != nil {
		return err
	}
	return c.done(e, w, "disabled")
}

type webhooksRmCmd struct{ hook }

func (c *webhooksRmCmd) Run(e *env) error {
	cl, id, err := c.open()
	if err != nil {
		return err
	}
	if err := cl.RemoveWebhook(e.ctx, id); err != nil {
		return err
	}
	return c.done(e, map[string]string{"removed": id.String()}, "removed")
}

type webhooksAttemptsCmd struct {
	hook
	limit
	Delivery string `help:"Only tries to tell of this delivery." placeholder:"ID"`
}

func (c *webhooksAttemptsCmd) Run(e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	cl, id, err := c.open()
	if err != nil {
		return err
	}
	delivery, err := optionalID("--delivery", c.Delivery)
	if err != nil {
		return err
	}
	items, err := take(e, &c.limit, cl.WebhookAttempts(e.ctx, id, delivery))
	if err != nil {
		return err
	}
	return list(e, c.JSON, items, "AT EVENT DELIVERY STATE TRY VERDICT CODE TOOK AGAIN RESPONSE", func(a *client.WebhookAttempt) []string {
		response := []rune(a.Response)
		return []string{
			moment(a.At), a.EventID.String(), dash(idText(a.DeliveryID)), dash(string(a.State)), fmt.Sprint(a.Attempt), a.Verdict, fmt.Sprint(a.Code),
			(time.Duration(a.TookMS) * time.Millisecond).String(), moment(a.RetryAt), dash(string(response[:min(len(response), 60)])),
		}
	})
}

func idText(id postledger.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

type webhooksReplayCmd struct {
	hook
	Delivery string    `help:"One delivery." placeholder:"ID" xor:"what" required:""`
	Since    time.Time `help:"Deliveries that were accepted from then on." placeholder:"2026-01-31T12:00:00Z" format:"2006-01-02T15:04:05Z07:00" xor:"what" required:""`
	Until    time.Time `help:"Deliveries that were accepted before; default now." placeholder:"2026-01-31T12:00:00Z" format:"2006-01-02T15:04:05Z07:00"`
	States   []string  `help:"Those that are in these states now; default all that the webhook is told of."`
}

func (c *webhooksReplayCmd) Run(e *env) error {
	cl, id, err := c.open()
	if err != nil {
		return err
	}
	delivery, err := optionalID("--delivery", c.Delivery)
	if err != nil {
		return err
	}
	if !delivery.IsZero() {
		if !c.Until.IsZero() || len(c.States) > 0 {
			return usage("--delivery: does not go with --until and --states")
		}
		r, err := cl.ReplayWebhookDelivery(e.ctx, id, delivery)
		if err != nil {
			return err
		}
		return c.done(e, r, "event %s is queued", r.EventID)
	}
	what := client.WebhookRange{Since: c.Since, Until: c.Until}
	for _, s := range c.States {
		what.States = append(what.States, postledger.Status(s))
	}
	r, err := cl.ReplayWebhook(e.ctx, id, what)
	if err != nil {
		return err
	}
	return c.done(e, r, "replay %s is queued", r.ReplayID)
}

type webhooksTestCmd struct{ hook }

var errNotTaken = errors.New("the endpoint did not take the event")

func (c *webhooksTestCmd) Run(e *env) error {
	cl, id, err := c.open()
	if err != nil {
		return err
	}
	r, err := cl.TestWebhook(e.ctx, id)
	if err != nil {
		return err
	}
	if err := c.done(e, r, "%s %d in %d ms %s", r.Verdict, r.Code, r.TookMS, printable(r.Response)); err != nil {
		return err
	}
	if r.Verdict != "delivered" {
		return errNotTaken
	}
	return nil
}
