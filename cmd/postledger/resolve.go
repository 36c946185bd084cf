package main

import (
	"fmt"
	"slices"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
)

type messagesResolveCmd struct {
	remote
	filter
	statusFlag
	ID     string `arg:"" optional:"" help:"A message's id; without it the flags choose."`
	Reason string `help:"Only those that are unconfirmed for this reason, such as restored." placeholder:"REASON"`
	All    bool   `help:"All unconfirmed ones; needed when nothing else chooses."`
	Sent   bool   `help:"They count as sent." xor:"what" required:""`
	Resend bool   `help:"They leave again. A recipient may get a second copy." xor:"what" required:""`
}

// resolvePage is how many ids one decision may name.
const resolvePage = 1000

func (c *messagesResolveCmd) Run(e *env) error {
	for _, s := range c.Status {
		if s != string(postledger.StatusUnconfirmed) {
			return usage("--status: only unconfirmed deliveries can be resolved")
		}
	}
	if c.Reason != "" && !slices.Contains([]postledger.Reason{
		postledger.ReasonNoAnswer, postledger.ReasonWorkerLost, postledger.ReasonRestored,
	}, postledger.Reason(c.Reason)) {
		return usage("--reason: %q is not a reason of unconfirmed deliveries (no_answer, worker_lost, restored)", c.Reason)
	}
	choice, err := c.choice(c.ID, c.All || c.Reason != "")
	if err != nil {
		return err
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	what := client.ResolveSent
	if c.Resend {
		what = client.ResolveResend
	}
	var total client.Resolved
	if c.Reason == "" {
		err = c.decide(e, cl, what, choice, &total)
	} else {
		err = c.byReason(e, cl, what, choice, &total)
	}
	if err != nil {
		if total.Resolved > 0 {
			fmt.Fprintf(e.stderr, "%d were resolved before this failed; run it again for the rest\n", total.Resolved)
		}
		return err
	}
	if c.JSON {
		return printJSON(e.stdout, total)
	}
	_, err = fmt.Fprintf(e.stdout, "%d resolved, %d may not move (canceled or decided meanwhile)\n", total.Resolved, total.Unchanged)
	return err
}

func (c *messagesResolveCmd) decide(e *env, cl *client.Client, what client.Resolution, choice client.Choice, total *client.Resolved) error {
	for {
		done, err := cl.Resolve(e.ctx, what, choice)
		if err != nil {
			return err
		}
		total.Resolved += done.Resolved
		total.Unchanged += done.Unchanged
		if !done.More {
			return nil
		}
	}
}

// byReason lists what the filter chooses, and decides about those that have
// the reason, by their ids: the list is read before the first decision, page
// by page, so that what a decision moves is not met again.
func (c *messagesResolveCmd) byReason(e *env, cl *client.Client, what client.Resolution, f client.Choice, total *client.Resolved) error {
	var ids []postledger.ID
	for d, err := range cl.Deliveries(e.ctx, client.DeliveryFilter{
		App: f.App, Profile: f.Profile, Message: f.Message, Batch: f.Batch, Statuses: []postledger.Status{postledger.StatusUnconfirmed},
		Since: f.Since, Until: f.Until, RefScope: f.RefScope, RefID: f.RefID, Lane: f.Lane, Recipient: f.Recipient, PageSize: resolvePage,
	}) {
		if err != nil {
			return err
		}
		if d.Reason == postledger.Reason(c.Reason) {
			ids = append(ids, d.ID)
		}
	}
	for page := range slices.Chunk(ids, resolvePage) {
		if err := c.decide(e, cl, what, client.Choice{IDs: page}, total); err != nil {
			return err
		}
	}
	return nil
}
