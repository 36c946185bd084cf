package main

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/postledger/postledger"
)

// filter are the flags that choose messages and deliveries.
type filter struct {
	App       string    `help:"An app's id (operators only)." placeholder:"ID"`
	Profile   string    `help:"A profile's name or id." placeholder:"NAME"`
	Batch     string    `help:"A batch's id." placeholder:"ID"`
	Since     time.Time `help:"Accepted at or after this time (RFC 3339)." placeholder:"TIME"`
	Until     time.Time `help:"Accepted before this time (RFC 3339)." placeholder:"TIME"`
	RefScope  string    `help:"Scope of --ref." placeholder:"TEXT"`
	Ref       string    `help:"Your own name for what it is about." placeholder:"TEXT"`
	Lane      string    `help:"immediate or bulk." enum:",immediate,bulk" default:""`
	Recipient string    `help:"A whole address, in any spelling." placeholder:"ADDRESS"`
}

// statusFlag is the flag of lists that choose by state.
type statusFlag struct {
	Status []string `help:"States, such as queued,unconfirmed." placeholder:"STATUS"`
}

func (f *statusFlag) statuses() ([]postledger.Status, error) {
	var out []postledger.Status
	for _, s := range f.Status {
		if !postledger.Status(s).Valid() {
			return nil, usage("--status: %q is not one of %v", s, postledger.Statuses())
		}
		out = append(out, postledger.Status(s))
	}
	return out, nil
}

// optionalID reads an id that may be missing.
func optionalID(flag, text string) (postledger.ID, error) {
	if text == "" {
		return postledger.ID{}, nil
	}
	return needID(flag, text)
}

func needID(flag, text string) (postledger.ID, error) {
	id, err := postledger.ParseID(text)
	if err != nil {
		return id, usage("%s: %w", flag, err)
	}
	return id, nil
}

func (f *filter) ids() (app, batch postledger.ID, err error) {
	if app, err = optionalID("--app", f.App); err != nil {
		return app, batch, err
	}
	batch, err = optionalID("--batch", f.Batch)
	return app, batch, err
}

// limit bounds what a list prints.
type limit struct {
	Limit int `help:"How many to list at most; 0 is no bound." default:"50"`
}

func (l *limit) check() error {
	if l.Limit < 0 {
		return usage("--limit: must not be negative")
	}
	return nil
}

// page is how many to fetch at a time.
func (l *limit) page() int {
	if l.Limit == 0 {
		return 1000
	}
	return min(l.Limit, 1000)
}

// take collects a list up to the limit. What goes on after it is said on the
// standard error, so that nobody takes a part for the whole.
func take[T any](e *env, l *limit, list iter.Seq2[T, error]) ([]T, error) {
	var out []T
	for item, err := range list {
		if err != nil {
			return nil, err
		}
		if l.Limit > 0 && len(out) == l.Limit {
			fmt.Fprintf(e.stderr, "there are more than %d: use --limit\n", l.Limit)
			break
		}
		out = append(out, item)
	}
	return slices.Clip(out), nil
}

// list prints rows or JSON.
func list[T any](e *env, asJSON bool, items []T, header string, row func(*T) []string) error {
	if asJSON {
		if items == nil {
			items = []T{}
		}
		return printJSON(e.stdout, items)
	}
	rows := make([][]string, len(items))
	for i := range items {
		rows[i] = row(&items[i])
	}
	return table(e.stdout, header, rows)
}
