package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/lens"
)

// Floors are the conditions that the configuration puts under every lens on a
// source: for everybody, and besides for an app.
type Floors struct {
	All  lens.Scope
	Apps map[string]lens.Scope
}

// Allows tells whether a source is for an app. A source that names none is for no
// app: what a login can read is more than what an app should.
func (s *Source) Allows(app postledger.App) bool {
	return slices.Contains(s.Apps, app.Name) || slices.Contains(s.Apps, app.ID.String())
}

// For is the floor under the lenses of an app; one that stands there by name and by
// id has both.
func (f Floors) For(app postledger.App) (lens.Scope, error) {
	floor := f.All
	for _, name := range []string{app.Name, app.ID.String()} {
		own, found := f.Apps[name]
		if !found {
			continue
		}
		var err error
		if floor, err = floor.And(own); err != nil {
			return lens.Scope{}, err
		}
	}
	return floor, nil
}

// Each gives the floor for everybody ("") and that of each app that has its own,
// for checks.
func (f Floors) Each(do func(app string, floor lens.Scope) error) error {
	errs := []error{do("", f.All)}
	for _, app := range slices.Sorted(maps.Keys(f.Apps)) {
		floor, err := f.All.And(f.Apps[app])
		if err == nil {
			err = do(app, floor)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Floors reads the file with the floors of the source called name. Without one, or
// where it says nothing of a table, the login's rights are the floor.
func (c *Config) Floors(name string) (Floors, error) {
	s, found := c.Sources[name]
	if !found {
		return Floors{}, fmt.Errorf("sources.%s: is not configured", name)
	}
	if s.Scope == "" {
		return Floors{}, nil
	}
	text, err := os.ReadFile(s.Scope)
	if err != nil {
		return Floors{}, fmt.Errorf("sources.%s.scope: cannot be read: %w", name, err)
	}
	f, err := parseFloors(text)
	if err != nil {
		return Floors{}, fmt.Errorf("sources.%s.scope: read %s: %w", name, s.Scope, err)
	}
	for _, app := range slices.Sorted(maps.Keys(f.Apps)) {
		if !slices.Contains(s.Apps, app) {
			return Floors{}, fmt.Errorf("sources.%s.scope: read %s: apps.%s: sources.%s.apps does not name it", name, s.Scope, app, name)
		}
	}
	return f, nil
}

// parseFloors reads
//
//	zone: Europe/Oslo
//	where: {users: {deleted_at: {isNull: true}}}
//	apps: {forum: {users: {forum_member: {eq: true}}}}
//
// Each part is handed to the lens library, which is strict; here only the parts are
// told apart.
func parseFloors(text []byte) (Floors, error) {
	f := Floors{Apps: map[string]lens.Scope{}}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil || len(document.Content) != 1 {
		return f, errors.New("is no YAML document with zone, where and apps")
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return f, errors.New("something follows the YAML document")
	}
	parts, err := membersOf(document.Content[0], "")
	if err != nil {
		return f, err
	}
	for name := range parts {
		if name != "zone" && name != "where" && name != "apps" {
			return f, fmt.Errorf("%s: unknown; the file has zone, where and apps", name)
		}
	}
	if parts["where"] == nil && parts["apps"] == nil {
		return f, errors.New("has neither where nor apps")
	}
	if where := parts["where"]; where != nil {
		if f.All, err = parseFloor(where, parts["zone"]); err != nil {
			return f, err
		}
	}
	if parts["apps"] == nil {
		return f, nil
	}
	apps, err := membersOf(parts["apps"], "apps.")
	if err != nil {
		return f, err
	}
	for _, app := range slices.Sorted(maps.Keys(apps)) {
		if f.Apps[app], err = parseFloor(apps[app], parts["zone"]); err != nil {
			return f, fmt.Errorf("apps.%s: %w", app, err)
		}
	}
	return f, nil
}

func membersOf(n *yaml.Node, path string) (map[string]*yaml.Node, error) {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		return nil, fmt.Errorf("%smust be a group of keys", path)
	}
	out := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if n.Content[i].Kind != yaml.ScalarNode || name == "" || out[name] != nil {
			return nil, fmt.Errorf("%s%s: is given twice, or is no key", path, name)
		}
		out[name] = n.Content[i+1]
	}
	return out, nil
}

func parseFloor(where, zone *yaml.Node) (lens.Scope, error) {
	key := func(name string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: name} }
	root := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{key("where"), where}}
	if zone != nil {
		root.Content = append(root.Content, key("zone"), zone)
	}
	text, err := YAMLText(root)
	if err != nil {
		return lens.Scope{}, err
	}
	return lens.ParseScope(text)
}
