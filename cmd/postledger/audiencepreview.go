package main

import (
	"fmt"

	"github.com/schollz/progressbar/v3"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
)

// previewFlags are what every look at an audience needs.
type previewFlags struct {
	remote
	ofApp
	Audience string   `arg:"" optional:"" help:"A saved audience's name or id."`
	File     string   `help:"File with an audience that is not saved." type:"existingfile" placeholder:"FILE"`
	Revision int64    `help:"The version of the saved audience; default the current one."`
	Param    []string `help:"A value of one of the lens's parameters, in JSON or as a text; may be repeated." sep:"none" placeholder:"NAME=VALUE"`
}

func (c *previewFlags) ask(e *env, want ...client.Want) (*client.Preview, error) {
	if (c.Audience == "") == (c.File == "") {
		return nil, usage("name a saved audience, or give --file")
	}
	r := client.PreviewRequest{Audience: c.Audience, Revision: c.Revision, Want: want}
	var err error
	if r.Params, err = readParams(c.Param); err != nil {
		return nil, err
	}
	if c.File != "" {
		if r.Definition, err = readAudience(c.File); err != nil {
			return nil, err
		}
	}
	bar := &countBar{e: e}
	r.Progress = bar.show
	defer bar.finish()
	return forApp(e, &c.remote, c.App, func(cl *client.Client, id postledger.ID) (*client.Preview, error) {
		r.App = id
		return cl.PreviewAudience(e.ctx, r)
	})
}

// countBar draws how far a count is, on a terminal only, from the second news on:
// short counts draw nothing.
type countBar struct {
	e    *env
	told int
	bar  *progressbar.ProgressBar
}

func (b *countBar) show(p client.CountProgress) {
	if b.told++; b.told < 2 || !terminal(b.e.stderr) {
		return
	}
	if b.bar == nil {
		b.bar = progressbar.NewOptions64(p.Of, progressbar.OptionSetWriter(b.e.stderr), progressbar.OptionSetDescription("counting"),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("rows"),
			progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish())
	}
	if p.Of >= 0 && p.Read > p.Of {
		b.bar.ChangeMax64(p.Read) // rows came meanwhile
	}
	_ = b.bar.Set64(p.Read) // it only draws
}

func (b *countBar) finish() {
	if b.bar != nil {
		_ = b.bar.Finish()
	}
}

func printCounts(e *env, n *client.AudienceCounts) {
	fmt.Fprintf(e.stdout, "matched       %10d\n", n.Matched)
	for _, r := range []struct {
		name string
		n    int64
	}{
		{"mailable", n.Mailable}, {"no address", n.NoAddress}, {"invalid", n.Invalid}, {"duplicate", n.Duplicate}, {"suppressed", n.Suppressed},
	} {
		fmt.Fprintf(e.stdout, "  %-11s %10d\n", r.name, r.n)
	}
}

type audienceCountCmd struct{ previewFlags }

func (c *audienceCountCmd) Run(e *env) error {
	p, err := c.ask(e, client.WantCounts)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(e.stdout, p.Counts)
	}
	printCounts(e, p.Counts)
	return nil
}

type audiencePreviewCmd struct{ previewFlags }

func (c *audiencePreviewCmd) Run(e *env) error {
	p, err := c.ask(e, client.WantCounts, client.WantSample)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(e.stdout, p)
	}
	printCounts(e, p.Counts)
	if len(p.Sample.Rows) > 0 {
		fmt.Fprintln(e.stdout)
	}
	for _, row := range p.Sample.Rows {
		fmt.Fprintln(e.stdout, printable(string(row)))
	}
	if p.Sample.Masked && len(p.Sample.Rows) > 0 {
		fmt.Fprintln(e.stderr, "Texts are masked: a key of the app with the scopes read and content shows them.")
	}
	return nil
}

type audienceExplainCmd struct{ previewFlags }

func (c *audienceExplainCmd) Run(e *env) error {
	p, err := c.ask(e, client.WantExplanation)
	if err != nil {
		return err
	}
	x := p.Explanation
	if c.JSON {
		return printJSON(e.stdout, x)
	}
	fmt.Fprintln(e.stdout, printable(x.English))
	if x.EstimatedRows >= 0 {
		fmt.Fprintf(e.stdout, "about %d rows\n", x.EstimatedRows)
	}
	if x.SQL != "" {
		fmt.Fprintf(e.stdout, "\n%s\n", printable(x.SQL))
	}
	for i, b := range x.Binds {
		fmt.Fprintf(e.stdout, "  value %d: %s\n", i+1, printable(b))
	}
	for _, w := range x.Warnings {
		fmt.Fprintln(e.stdout, "warning:", printable(w))
	}
	return nil
}

type audienceSchemaCmd struct{ previewFlags }

func (c *audienceSchemaCmd) Run(e *env) error {
	p, err := c.ask(e, client.WantSchema)
	if err != nil {
		return err
	}
	return printJSON(e.stdout, p.Schema)
}
