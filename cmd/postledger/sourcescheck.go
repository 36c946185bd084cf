package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

type sourcesCheckCmd struct {
	Names []string `arg:"" optional:"" name:"name" help:"Sources to check; default all."`
	JSON  bool     `name:"json" help:"Print JSON."`
}

// finding is one thing that was looked at.
type finding struct {
	State  string `json:"state"`
	Source string `json:"source"`
	Says   string `json:"says"`
}

const (
	findingGood    = "ok"
	findingWarning = "warning"
	findingFault   = "FAULT"
)

func (c *sourcesCheckCmd) Run(e *env) error {
	cfg, err := e.cli.config()
	if err != nil {
		return err
	}
	names := c.Names
	if len(names) == 0 {
		names = sourceNames(cfg)
	}
	var findings []finding
	for _, name := range names {
		if _, found := cfg.Sources[name]; !found {
			return usage("there is no source %q (one of %v)", name, sourceNames(cfg))
		}
		findings = append(findings, checkSource(e, cfg, name)...)
	}
	err = list(e, c.JSON, findings, "STATE SOURCE FINDING", func(f *finding) []string {
		return []string{f.State, f.Source, f.Says}
	})
	if err == nil && slices.ContainsFunc(findings, func(f finding) bool { return f.State == findingFault }) {
		return errDifference
	}
	return err
}

func checkSource(e *env, cfg *config.Config, name string) []finding {
	s, read, err := app.OpenSource(e.ctx, cfg, name)
	if err != nil {
		return []finding{{findingFault, name, err.Error()}}
	}
	defer s.Close()
	tables, fields, hidden := read.Tables(), 0, 0
	var keyless []string
	for _, t := range tables {
		if len(t.Keys) == 0 {
			keyless = append(keyless, t.Name)
		}
		for _, column := range t.Columns() {
			fields++
			if !usable(column) {
				hidden++
			}
		}
	}
	found := []finding{{findingGood, name, fmt.Sprintf("%s: %d tables, %d fields, %d of them hidden or of a type that cannot be read", s.Dialect(), len(tables), fields, hidden)}}
	if len(tables) == 0 {
		found[0] = finding{findingFault, name, "the login may read no table (GRANT SELECT, or sources." + name + ".schemas)"}
		return found
	}
	if len(keyless) > 0 {
		found = append(found, finding{findingWarning, name, "no unique key without nulls is known of " + strings.Join(keyless, ", ") + ": lenses cannot page through them until the model names one"})
	}
	for _, note := range read.Notes {
		found = append(found, finding{findingWarning, name, note})
	}
	found = append(found, checkFloors(e, cfg, name, s, read)...)
	return append(found, checkReadOnly(e, s, name, tables))
}

// checkFloors says who may use a source, and what every lens on it is held to.
func checkFloors(e *env, cfg *config.Config, name string, s *source.Source, read *catalogue.Catalogue) []finding {
	apps := cfg.Sources[name].Apps
	who := finding{findingGood, name, "is for the apps " + strings.Join(apps, ", ")}
	if len(apps) == 0 {
		who = finding{findingWarning, name, "is for no app: sources." + name + ".apps names those that may use it"}
	}
	floors, err := cfg.Floors(name)
	if err == nil {
		err = app.CheckFloors(floors, read)
	}
	switch {
	case err != nil:
		return []finding{who, {findingFault, name, err.Error()}}
	case len(floors.All.Where)+len(floors.Apps) == 0:
		return []finding{who}
	}
	all := []lens.Scope{floors.All}
	for _, app := range slices.Sorted(maps.Keys(floors.Apps)) {
		all = append(all, floors.Apps[app])
	}
	var tables, misfits []string
	var unknown error
	for _, floor := range all {
		tables = slices.AppendSeq(tables, maps.Keys(floor.Where))
		fields, err := floor.Misfits(e.ctx, read, s)
		misfits, unknown = append(misfits, fields...), errors.Join(unknown, err)
	}
	found := []finding{who, {findingGood, name, "there are floors under " + listed(tables)}}
	if len(misfits) > 0 {
		found = append(found, finding{findingWarning, name, "a floor compares " + listed(misfits) +
			", where a value is none of its declared type: it counts as null, and a floor that asks for null lets its row through"})
	}
	if unknown != nil {
		found = append(found, finding{findingWarning, name, "whether a floor meets values that are none of their declared type is not known: " + unknown.Error()})
	}
	return found
}

// listed writes names in order, each once.
func listed(names []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", ")
}

// checkReadOnly tries a table at a time: what a login may write is granted by
// table.
func checkReadOnly(e *env, s *source.Source, name string, tables []*catalogue.Table) finding {
	for _, t := range tables {
		if t.View {
			continue
		}
		writable, err := s.Writable(e.ctx, t)
		switch {
		case err != nil:
			return finding{findingFault, name, fmt.Sprintf("whether its login can write %s could not be tried: %v", t.Name, err)}
		case writable && s.Dialect() == catalogue.SQLite:
			return finding{findingWarning, name, "this user can write its file; lenses open it to be read only, but a file of another owner is safer"}
		case writable:
			return finding{findingWarning, name, fmt.Sprintf("its login can write %s: give it one that has SELECT only (lenses ask for read-only transactions, which a fault of ours could forget)", t.Name)}
		}
		if s.Dialect() == catalogue.SQLite {
			break // the file is asked, not the table
		}
	}
	return finding{findingGood, name, "its login can write nothing"}
}
