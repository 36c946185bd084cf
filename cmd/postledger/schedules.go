package main

import (
	"github.com/postledger/postledger/client"
)

type schedulesCmd struct {
	Ls      schedulesLsCmd      `cmd:"" help:"List schedules."`
	Enable  schedulesEnableCmd  `cmd:"" help:"Let a schedule make jobs, from now on."`
	Disable schedulesDisableCmd `cmd:"" help:"Let a schedule make no jobs, also after a restart."`
	Run     schedulesRunCmd     `cmd:"" help:"Make a schedule's job now, enabled or not."`
}

type schedulesLsCmd struct{ remote }

func (c *schedulesLsCmd) Run(e *env) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	items, err := cl.Schedules(e.ctx)
	if err != nil {
		return err
	}
	return list(e, c.JSON, items, "NAME SPEC ZONE ENABLED HANDLER NEXT LAST", func(s *client.Schedule) []string {
		next := "-"
		if s.Enabled {
			next = moment(s.NextAt)
		}
		return []string{s.Name, s.Spec, s.Zone, yesNo(s.Enabled), s.Handler, next, moment(s.LastAt)}
	})
}

// scheduleName is a schedule that a command is about.
type scheduleName struct {
	remote
	Name string `arg:"" help:"The schedule's name."`
}

func (c *scheduleName) enable(e *env, enabled bool, done string) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	if err := cl.EnableSchedule(e.ctx, c.Name, enabled); err != nil {
		return err
	}
	return c.done(e, map[string]any{"name": c.Name, "enabled": enabled}, "%s: %s", c.Name, done)
}

type schedulesEnableCmd struct{ scheduleName }

func (c *schedulesEnableCmd) Run(e *env) error { return c.enable(e, true, "enabled") }

type schedulesDisableCmd struct{ scheduleName }

func (c *schedulesDisableCmd) Run(e *env) error { return c.enable(e, false, "disabled") }

type schedulesRunCmd struct{ scheduleName }

func (c *schedulesRunCmd) Run(e *env) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	made, err := cl.RunSchedule(e.ctx, c.Name)
	if err != nil {
		return err
	}
	return c.done(e, made, "%s: job %s", c.Name, made.Job)
}
