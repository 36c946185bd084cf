package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/ledger"
)

type booksCmd struct {
	NoAttachments bool `help:"Do not compare with the attachment store."`
	JSON          bool `name:"json" help:"Print JSON."`
}

// Run audits the ledger directly in the database, whether it is served or not.
func (c *booksCmd) Run(e *env) (err error) {
	cfg, err := e.cli.config()
	if err != nil {
		return err
	}
	l, err := openExisting(e, cfg, app.Existing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	var list ledger.BlobLister
	if !c.NoAttachments {
		store, err := app.OpenBlobs(cfg, app.Existing, version, l)
		if err != nil {
			return fmt.Errorf("%w (--no-attachments leaves them out)", err)
		}
		defer store.Close()
		list = app.ListBlobs(store)
	}
	report, err := l.Books(e.ctx, list)
	if err != nil {
		return err
	}
	if err := printBooks(e, &report, c.JSON); err != nil {
		return err
	}
	if len(report.Differences) > 0 {
		return errDifference
	}
	return nil
}

// booksJSON is a report for programs.
type booksJSON struct {
	At          string                      `json:"at"`
	Balanced    bool                        `json:"balanced"`
	Accepted    int64                       `json:"accepted"`
	States      map[postledger.Status]int64 `json:"states"`
	Sandbox     int64                       `json:"sandbox"`
	Removed     int64                       `json:"removed"`
	Differences []differenceJSON            `json:"differences"`
}

type differenceJSON struct {
	Kind    string   `json:"kind"`
	Count   int64    `json:"count"`
	Samples []string `json:"samples"`
}

func printBooks(e *env, r *ledger.Report, asJSON bool) error {
	if asJSON {
		out := booksJSON{
			At: r.At.UTC().Format("2006-01-02T15:04:05.000Z"), Balanced: len(r.Differences) == 0, Accepted: r.Totals.Accepted,
			States: r.Totals.States, Sandbox: r.Totals.Sandbox, Removed: r.Totals.Removed, Differences: []differenceJSON{},
		}
		for _, d := range r.Differences {
			out.Differences = append(out.Differences, differenceJSON(d))
		}
		return printJSON(e.stdout, out)
	}
	rows := [][]string{{"accepted", fmt.Sprint(r.Totals.Accepted)}}
	for _, s := range postledger.Statuses() {
		rows = append(rows, []string{"  " + string(s), fmt.Sprint(r.Totals.States[s])})
	}
	rows = append(rows, []string{"  sandbox", fmt.Sprint(r.Totals.Sandbox)}, []string{"  removed", fmt.Sprint(r.Totals.Removed)})
	if err := table(e.stdout, "DELIVERIES COUNT", rows); err != nil {
		return err
	}
	if len(r.Differences) == 0 {
		_, err := fmt.Fprintln(e.stdout, "\nThe books balance.")
		return err
	}
	fmt.Fprintln(e.stdout, "\nThe books do not balance:")
	rows = nil
	for _, d := range r.Differences {
		rows = append(rows, []string{d.Kind, fmt.Sprint(d.Count), strings.Join(d.Samples, " ")})
	}
	return table(e.stdout, "DIFFERENCE COUNT AMONG_THEM", rows)
}
