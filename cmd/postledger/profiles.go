package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/postledger/postledger/client"
)

type profilesCmd struct {
	Ls       profilesLsCmd       `cmd:"" help:"List profiles with their health and what waits."`
	Show     profilesShowCmd     `cmd:"" help:"Show a profile."`
	Put      profilesPutCmd      `cmd:"" help:"Create a profile, or change what the flags name."`
	Default  profilesDefaultCmd  `cmd:"" help:"Make a profile the default."`
	Pause    profilesPauseCmd    `cmd:"" help:"Send nothing until it is resumed; what waits keeps waiting."`
	Resume   profilesResumeCmd   `cmd:"" help:"End a pause, whoever made it."`
	TestSend profilesTestSendCmd `cmd:"" help:"Send a real test message, and say what became of it."`
	Delete   profilesDeleteCmd   `cmd:"" help:"Remove a profile; what waits is canceled."`
}

type profilesLsCmd struct {
	remote
	Removed bool `help:"Also those that were removed."`
}

func (c *profilesLsCmd) Run(e *env) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	all, err := cl.Profiles(e.ctx)
	if err != nil {
		return err
	}
	shown := all[:0]
	for _, p := range all {
		if c.Removed || p.RemovedAt.IsZero() {
			shown = append(shown, p)
		}
	}
	return list(e, c.JSON, shown, "NAME DEFAULT FROM TRANSPORT REVISION STATE WAITING LATE", func(p *client.Profile) []string {
		byDefault, more := "", ""
		if p.IsDefault {
			byDefault = "yes"
		}
		if p.Waiting.More {
			more = "+"
		}
		return []string{
			p.Name, dash(byDefault), p.From, p.Transport, fmt.Sprint(p.Revision), profileState(p),
			fmt.Sprint(p.Waiting.N) + more, fmt.Sprintf("%ds", p.Waiting.LateSeconds),
		}
	})
}

// profileState is one word, or an alarm.
func profileState(p *client.Profile) string {
	switch {
	case !p.RemovedAt.IsZero():
		return "removed"
	case p.Paused != nil && p.Paused.Alarm != "":
		return "paused: " + p.Paused.Alarm
	case p.Paused != nil:
		return "paused: " + dash(p.Paused.Reason)
	case p.Health != nil && p.Health.Reason != "":
		return p.Health.State + ": " + p.Health.Reason
	case p.Health != nil:
		return p.Health.State
	default:
		return "up"
	}
}

// aProfile are the flags of a command about one profile.
type aProfile struct {
	remote
	Profile string `arg:"" help:"The profile's name or id."`
}

// run does one thing to a profile and prints what it is then.
func (c *aProfile) run(e *env, do func(context.Context, *client.Client) (*client.Profile, error)) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	p, err := do(e.ctx, cl)
	if err != nil {
		return err
	}
	return printProfile(e, p, c.JSON)
}

func printProfile(e *env, p *client.Profile, asJSON bool) error {
	if asJSON {
		return printJSON(e.stdout, p)
	}
	_, err := fmt.Fprintf(e.stdout, "%s: revision %d, %s\n", printable(p.Name), p.Revision, printable(profileState(p)))
	return err
}

type profilesShowCmd struct{ aProfile }

func (c *profilesShowCmd) Run(e *env) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	p, err := cl.Profile(e.ctx, c.Profile)
	if err != nil {
		return err
	}
	return printJSON(e.stdout, p)
}

type profilesDefaultCmd struct{ aProfile }

func (c *profilesDefaultCmd) Run(e *env) error {
	return c.run(e, func(ctx context.Context, cl *client.Client) (*client.Profile, error) {
		return cl.MakeDefaultProfile(ctx, c.Profile)
	})
}

type profilesPauseCmd struct {
	aProfile
	Reason string `help:"Why, for people."`
}

func (c *profilesPauseCmd) Run(e *env) error {
	return c.run(e, func(ctx context.Context, cl *client.Client) (*client.Profile, error) {
		return cl.PauseProfile(ctx, c.Profile, c.Reason)
	})
}

type profilesResumeCmd struct{ aProfile }

func (c *profilesResumeCmd) Run(e *env) error {
	return c.run(e, func(ctx context.Context, cl *client.Client) (*client.Profile, error) {
		return cl.ResumeProfile(ctx, c.Profile)
	})
}

type profilesDeleteCmd struct{ aProfile }

func (c *profilesDeleteCmd) Run(e *env) error {
	return c.run(e, func(ctx context.Context, cl *client.Client) (*client.Profile, error) {
		return cl.RemoveProfile(ctx, c.Profile)
	})
}

type profilesTestSendCmd struct {
	aProfile
	App string `help:"App in whose name it is sent, by name or id." required:"" placeholder:"NAME"`
	To  string `help:"Address it is sent to." required:"" placeholder:"ADDRESS"`
}

var errTestFailed = errors.New("the test message was not taken by the next hop")

func (c *profilesTestSendCmd) Run(e *env) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	app, err := appID(e.ctx, cl, c.App)
	if err != nil {
		return err
	}
	t, err := cl.TestProfile(e.ctx, c.Profile, app, c.To)
	if err != nil {
		return err
	}
	if c.JSON {
		err = printJSON(e.stdout, t)
	} else {
		_, err = fmt.Fprintf(e.stdout, "%s: %s %s %s\n", t.MessageID, t.Delivery.Status, t.Delivery.Reason, printable(t.Delivery.Response))
	}
	if err == nil && (!t.Settled || t.Delivery.SentAt.IsZero()) {
		return errTestFailed
	}
	return err
}
