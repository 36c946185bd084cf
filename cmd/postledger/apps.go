package main

import (
	"context"
	"fmt"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
)

type appsCmd struct {
	Ls     appsLsCmd     `cmd:"" help:"List apps, removed ones too."`
	Create appsCreateCmd `cmd:"" help:"Make an app."`
	Remove appsRemoveCmd `cmd:"" help:"Remove an app: its keys are refused, and what waits is canceled."`
}

type appsLsCmd struct{ remote }

func (c *appsLsCmd) Run(e *env) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	apps, err := cl.Apps(e.ctx)
	if err != nil {
		return err
	}
	return list(e, c.JSON, apps, "ID NAME CREATED REMOVED", func(a *client.App) []string {
		return []string{a.ID.String(), a.Name, moment(a.CreatedAt), moment(a.RemovedAt)}
	})
}

type appsCreateCmd struct {
	remote
	Name string `arg:"" help:"The app's name."`
}

func (c *appsCreateCmd) Run(e *env) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	a, err := cl.CreateApp(e.ctx, c.Name)
	if err != nil {
		return err
	}
	return c.done(e, a, "%s", a.ID)
}

type appsRemoveCmd struct {
	remote
	App string `arg:"" help:"The app's name or id."`
}

func (c *appsRemoveCmd) Run(e *env) error {
	a, err := forApp(e, &c.remote, c.App, func(cl *client.Client, id postledger.ID) (*client.App, error) {
		return cl.RemoveApp(e.ctx, id)
	})
	if err != nil {
		return err
	}
	return c.done(e, a, "removed %s", printable(a.Name))
}

// forApp asks the server something about the app that a command names.
func forApp[T any](e *env, r *remote, nameOrID string, ask func(*client.Client, postledger.ID) (T, error)) (T, error) {
	var none T
	cl, err := r.client()
	if err != nil {
		return none, err
	}
	id, err := appID(e.ctx, cl, nameOrID)
	if err != nil {
		return none, err
	}
	return ask(cl, id)
}

// appID finds an app by its name or id. "" is the zero id: an app's own key
// needs no app.
func appID(ctx context.Context, cl *client.Client, nameOrID string) (postledger.ID, error) {
	if nameOrID == "" {
		return postledger.ID{}, nil
	}
	if id, err := postledger.ParseID(nameOrID); err == nil {
		return id, nil
	}
	apps, err := cl.Apps(ctx)
	if err != nil {
		return postledger.ID{}, err
	}
	for _, a := range apps {
		if a.Name == nameOrID && a.RemovedAt.IsZero() {
			return a.ID, nil
		}
	}
	return postledger.ID{}, fmt.Errorf("there is no app %q (`postledger apps ls` lists them)", printable(nameOrID))
}
