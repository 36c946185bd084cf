package main

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

type sourcesCmd struct {
	Ls    sourcesLsCmd    `cmd:"" help:"List the configured databases of applications."`
	Show  sourcesShowCmd  `cmd:"" help:"Show a source's tables, or one table's fields and relations, as lenses see them."`
	Check sourcesCheckCmd `cmd:"" help:"Open sources, read their catalogues, and try whether their logins could write. Exit code 1 when one cannot be used."`
}

type sourcesLsCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

type sourceJSON struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Database string `json:"database"`
	Model    string `json:"model,omitempty"`
}

// Run connects to nothing.
func (c *sourcesLsCmd) Run(e *env) error {
	cfg, err := e.cli.config()
	if err != nil {
		return err
	}
	items := []sourceJSON{}
	for _, name := range sourceNames(cfg) {
		dsn, _, _, err := cfg.Reads(name)
		if err != nil {
			return &usageError{err}
		}
		kind, err := source.DialectOf(dsn)
		if err != nil {
			return usage("sources.%s.dsn: %w", name, err)
		}
		items = append(items, sourceJSON{name, string(kind), placeOf(dsn), cfg.Sources[name].Model})
	}
	return list(e, c.JSON, items, "NAME KIND DATABASE MODEL", func(s *sourceJSON) []string {
		return []string{s.Name, s.Kind, s.Database, s.Model}
	})
}

func sourceNames(cfg *config.Config) []string { return slices.Sorted(maps.Keys(cfg.Sources)) }

// placeOf is where a DSN leads, without login and options. One that is written so that a
// part of its login may stand elsewhere (a password with a slash or a question mark) leads
// nowhere.
func placeOf(dsn string) string {
	scheme, rest, _ := strings.Cut(dsn, ":")
	if scheme == "sqlite" {
		path, _, _ := strings.Cut(rest, "?")
		return strings.TrimPrefix(path, "//")
	}
	u, err := url.Parse(dsn)
	if err != nil || u.User == nil && strings.Contains(dsn, "@") {
		return ""
	}
	return u.Host + u.Path
}

type sourcesShowCmd struct {
	Name  string `arg:"" help:"The source's name."`
	Table string `arg:"" optional:"" help:"A table, as the catalogue names it."`
	JSON  bool   `name:"json" help:"Print JSON."`
}

func (c *sourcesShowCmd) Run(e *env) error {
	cfg, err := e.cli.config()
	if err != nil {
		return err
	}
	if _, found := cfg.Sources[c.Name]; !found {
		return usage("there is no source %q (one of %v)", c.Name, sourceNames(cfg))
	}
	s, read, err := app.OpenSource(e.ctx, cfg, c.Name)
	if err != nil {
		return err
	}
	defer s.Close()
	if c.Table == "" {
		for _, note := range read.Notes {
			fmt.Fprintln(e.stderr, "note:", note)
		}
		return c.tables(e, read)
	}
	t, found := read.Table(c.Table)
	if !found {
		return usage("source %s has no table %q", c.Name, c.Table)
	}
	return c.table(e, t)
}

type sourceTableJSON struct {
	Table     string     `json:"table"`
	SQLName   string     `json:"sql_name"`
	View      bool       `json:"view,omitempty"`
	Rows      int64      `json:"estimated_rows" doc:"-1 when the database has no estimate."`
	Keys      [][]string `json:"keys"`
	Fields    int        `json:"fields"`
	Hidden    int        `json:"hidden"`
	Relations int        `json:"relations"`
}

func (c *sourcesShowCmd) tables(e *env, read *catalogue.Catalogue) error {
	var items []sourceTableJSON
	for _, t := range read.Tables() {
		item := sourceTableJSON{Table: t.Name, SQLName: sqlName(t), View: t.View, Rows: t.Rows, Keys: t.Keys, Relations: len(t.Relations())}
		for _, column := range t.Columns() {
			if usable(column) {
				item.Fields++
			} else {
				item.Hidden++
			}
		}
		items = append(items, item)
	}
	return list(e, c.JSON, items, "TABLE IN-DATABASE KEY ROWS FIELDS HIDDEN RELATIONS", func(t *sourceTableJSON) []string {
		key, rows := "none", "unknown"
		if len(t.Keys) > 0 {
			key = strings.Join(t.Keys[0], ",")
		}
		if t.Rows >= 0 {
			rows = "~" + strconv.FormatInt(t.Rows, 10)
		}
		return []string{t.Table, t.SQLName, key, rows, strconv.Itoa(t.Fields), strconv.Itoa(t.Hidden), strconv.Itoa(t.Relations)}
	})
}

func sqlName(t *catalogue.Table) string {
	if t.Schema == "" {
		return t.SQLName
	}
	return t.Schema + "." + t.SQLName
}

func usable(c *catalogue.Column) bool { return !c.Hidden && c.Kind != catalogue.Unsupported }

type sourceFieldJSON struct {
	Field    string         `json:"field"`
	Kind     catalogue.Kind `json:"kind,omitempty"`
	To       string         `json:"to,omitempty"`
	Many     bool           `json:"many,omitempty"`
	Nullable bool           `json:"nullable,omitempty"`
	Hidden   bool           `json:"hidden,omitempty"`
	Note     string         `json:"note,omitempty"`
}

func (c *sourcesShowCmd) table(e *env, t *catalogue.Table) error {
	var items []sourceFieldJSON
	for _, column := range t.Columns() {
		item := sourceFieldJSON{Field: column.Name, Kind: column.Kind, Nullable: column.Nullable, Hidden: !usable(column), Note: column.Why}
		switch {
		case column.Kind == catalogue.Unsupported:
			item.Note = column.Type + " cannot be read"
		case column.Kind == catalogue.Enum:
			item.Note = "one of " + strings.Join(column.Labels, ", ")
		case column.Kind == catalogue.Array:
			item.Note = "of " + string(column.Element)
		}
		items = append(items, item)
	}
	for _, r := range t.Relations() {
		item := sourceFieldJSON{Field: r.Name, To: r.To.Name, Many: r.Many}
		if r.Declared {
			item.Note = "declared by the model"
		}
		items = append(items, item)
	}
	return list(e, c.JSON, items, "FIELD KIND NULL HIDDEN NOTE", func(f *sourceFieldJSON) []string {
		kind := string(f.Kind)
		switch {
		case f.Many:
			kind = "→ many " + f.To
		case f.To != "":
			kind = "→ " + f.To
		}
		return []string{f.Field, kind, mark(f.Nullable), mark(f.Hidden), f.Note}
	})
}

func mark(b bool) string {
	if b {
		return "yes"
	}
	return ""
}
