package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
)

type audienceCmd struct {
	Ls      audienceLsCmd      `cmd:"" help:"List audiences, or the versions of one."`
	Show    audienceShowCmd    `cmd:"" help:"Show an audience, in any of its versions."`
	Put     audiencePutCmd     `cmd:"" help:"Save an audience from a file, as a new version."`
	Rm      audienceRmCmd      `cmd:"" help:"Remove an audience; its versions stay readable by its id."`
	Count   audienceCountCmd   `cmd:"" help:"Count whom an audience would reach, and whom not and why."`
	Preview audiencePreviewCmd `cmd:"" help:"Count an audience, and show ten of its rows."`
	Explain audienceExplainCmd `cmd:"" help:"Say what an audience's lens means, and how the database would read it."`
	Schema  audienceSchemaCmd  `cmd:"" help:"Print the JSON Schema of an audience's rows: what a template may use."`
}

// ofApp names the app that an operator means.
type ofApp struct {
	App string `help:"The app's name or id (operators only)." placeholder:"NAME"`
}

type audienceLsCmd struct {
	remote
	limit
	ofApp
	Audience string `arg:"" optional:"" help:"An audience's name or id: list its versions."`
}

func (c *audienceLsCmd) Run(e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	items, err := forApp(e, &c.remote, c.App, func(cl *client.Client, id postledger.ID) ([]client.Audience, error) {
		if c.Audience != "" {
			return take(e, &c.limit, cl.AudienceVersions(e.ctx, id, c.Audience))
		}
		return take(e, &c.limit, cl.Audiences(e.ctx, id))
	})
	if err != nil {
		return err
	}
	return list(e, c.JSON, items, "NAME REVISION SOURCE CATEGORY SAVED ID", func(a *client.Audience) []string {
		return []string{a.Name, strconv.FormatInt(a.Revision, 10), a.Source, string(a.Category), moment(a.UpdatedAt), a.ID.String()}
	})
}

type audienceShowCmd struct {
	remote
	ofApp
	Audience string `arg:"" help:"The audience's name or id."`
	Revision int64  `help:"The version; default the current one."`
}

func (c *audienceShowCmd) Run(e *env) error {
	a, err := forApp(e, &c.remote, c.App, func(cl *client.Client, id postledger.ID) (*client.Audience, error) {
		return cl.Audience(e.ctx, id, c.Audience, c.Revision)
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(e.stdout, a)
	}
	return printAudience(e, a)
}

func printAudience(e *env, a *client.Audience) error {
	fmt.Fprintf(e.stdout, "%s  version %d, saved %s\n", a.Name, a.Revision, moment(a.UpdatedAt))
	if !a.RemovedAt.IsZero() {
		fmt.Fprintf(e.stdout, "removed %s\n", moment(a.RemovedAt))
	}
	rows := [][]string{{"id", a.ID.String()}, {"source", a.Source}, {"category", string(a.Category)}, {"address", a.Address}}
	for _, f := range [][]string{{"locale", a.Locale}, {"tenant", a.Tenant}, {"timezone", a.Timezone}} {
		if f[1] != "" {
			rows = append(rows, f)
		}
	}
	rows = append(rows, []string{"lens", string(a.Lens)})
	for _, r := range rows {
		fmt.Fprintf(e.stdout, "  %-9s %s\n", r[0], printable(r[1]))
	}
	return nil
}

type audiencePutCmd struct {
	remote
	ofApp
	Audience string `arg:"" help:"The audience's name or id."`
	File     string `help:"File in YAML or JSON with source, lens, address, category and, if needed, locale, tenant and timezone." required:"" type:"existingfile" placeholder:"FILE"`
	Rename   string `help:"Another name for it." placeholder:"NAME"`
	Revision *int64 `help:"The version the file was made from, 0 for a new audience; default the current one."`
}

// Run names the version that the change was made from: of two who save at once,
// one is told.
func (c *audiencePutCmd) Run(e *env) error {
	d, err := readAudience(c.File)
	if err != nil {
		return err
	}
	a, err := forApp(e, &c.remote, c.App, func(cl *client.Client, id postledger.ID) (*client.Audience, error) {
		change := client.AudienceChange{App: id, Name: c.Rename, AudienceDefinition: *d}
		if c.Revision != nil {
			change.Revision = *c.Revision
		} else {
			old, err := cl.Audience(e.ctx, id, c.Audience, 0)
			switch {
			case err == nil:
				change.Revision = old.Revision
			case !errors.Is(err, client.ErrAudienceUnknown):
				return nil, err
			}
		}
		return cl.PutAudience(e.ctx, c.Audience, change)
	})
	if err != nil {
		return err
	}
	return c.done(e, a, "%s: saved as version %d", a.Name, a.Revision)
}

type audienceRmCmd struct {
	remote
	ofApp
	Audience string `arg:"" help:"The audience's name or id."`
}

func (c *audienceRmCmd) Run(e *env) error {
	a, err := forApp(e, &c.remote, c.App, func(cl *client.Client, id postledger.ID) (*client.Audience, error) {
		return cl.RemoveAudience(e.ctx, id, c.Audience)
	})
	if err != nil {
		return err
	}
	return c.done(e, a, "%s: removed; its versions stay as %s", a.Name, a.ID)
}
