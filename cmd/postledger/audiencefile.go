package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/lens"
)

// shownOfAudience are the members of a shown audience that a definition has not.
var shownOfAudience = []string{"id", "app_id", "name", "revision", "created_at", "updated_at", "saved_by", "removed_at"}

// readAudience reads a definition in YAML or JSON, such as show --json prints. The
// lens library reads the lens, as strictly as the server does.
func readAudience(path string) (*postledger.AudienceDefinition, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, usage("--file: %w", err)
	}
	d, err := parseAudience(text)
	if err != nil {
		return nil, usage("--file: %s: %w", path, err)
	}
	return d, nil
}

func parseAudience(text []byte) (*postledger.AudienceDefinition, error) {
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&document); err != nil {
		return nil, fmt.Errorf("is neither YAML nor JSON: %w", err)
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the definition: a file has one")
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("is no group of source, lens, address and category")
	}
	var d postledger.AudienceDefinition
	var category string
	texts := map[string]*string{
		"source": &d.Source, "address": &d.Address, "locale": &d.Locale, "tenant": &d.Tenant, "timezone": &d.Timezone, "category": &category,
	}
	members := document.Content[0].Content
	seen := map[string]bool{}
	for i := 0; i+1 < len(members); i += 2 {
		name, value := members[i].Value, members[i+1]
		if seen[name] {
			return nil, fmt.Errorf("%s: is given twice", name)
		}
		seen[name] = true
		switch into := texts[name]; {
		case into != nil && value.Kind == yaml.ScalarNode && value.Tag == "!!str":
			*into = value.Value
		case into != nil:
			return nil, fmt.Errorf("%s: must be a text", name)
		case name == "lens":
			if err := lensOf(value, &d.Lens); err != nil {
				return nil, err
			}
		case !slices.Contains(shownOfAudience, name):
			return nil, fmt.Errorf("%s: unknown; an audience has source, lens, address, category, locale, tenant and timezone", name)
		}
	}
	d.Category = postledger.Category(category)
	if !seen["lens"] {
		return nil, errors.New("lens: is missing")
	}
	return &d, nil
}

func lensOf(n *yaml.Node, into *json.RawMessage) error {
	text, err := config.YAMLText(n)
	if err != nil {
		return fmt.Errorf("lens: %w", err)
	}
	l, err := lens.ParseYAML(text)
	if err != nil {
		return fmt.Errorf("lens: %w", err)
	}
	if *into, err = l.MarshalJSON(); err != nil {
		return fmt.Errorf("lens: %w", err)
	}
	return nil
}

// readParams reads name=value: the value is JSON, or else a text.
func readParams(list []string) (map[string]any, error) {
	if len(list) == 0 {
		return nil, nil
	}
	params := map[string]any{}
	for _, p := range list {
		name, text, found := strings.Cut(p, "=")
		if _, twice := params[name]; !found || name == "" || twice {
			return nil, usage("--param: must be NAME=VALUE, each name once")
		}
		var value any = text
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var parsed any
		if d.Decode(&parsed) == nil && !d.More() {
			value = parsed
		}
		params[name] = value
	}
	return params, nil
}
