package main

import (
	"fmt"

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

func (c *messagesResolveCmd) Run(e *env) error {
	for _, s := range c.Status {
		if s != string(postledger.StatusUnconfirmed) {
			return usage("--status: only unconfirmed deliveries can be resolved")
		}
	}
	choice, err := c.choice(c.ID, c.Reason, c.All)
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
	for more := true; more; {
		done, err := cl.Resolve(e.ctx, what, choice)
		if err != nil {
			if total.Resolved > 0 {
				fmt.Fprintf(e.stderr, "%d were resolved before this failed; run it again for the rest\n", total.Resolved)
			}
			return err
		}
		total.Resolved += done.Resolved
		total.Unchanged += done.Unchanged
		more = done.More
	}
	return c.done(e, total, "%d resolved, %d may not move (canceled or decided meanwhile)", total.Resolved, total.Unchanged)
}
