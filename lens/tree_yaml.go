package lens

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// yamlTree reads one YAML document as if it were JSON. Aliases, merges and tags
// are refused, and so are numbers that JSON would write otherwise: 0o17 and
// 1_000 mean different things to different readers.
func yamlTree(text []byte) (node, error) {
	if err := readableText(text); err != nil {
		return node{}, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return node{}, &Fault{Problem: "the text is empty"}
		}
		return node{}, &Fault{Problem: fmt.Sprintf("not YAML: %v", err)}
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return node{}, &Fault{Problem: "something follows the YAML document"}
	}
	if len(document.Content) != 1 {
		return node{}, &Fault{Problem: "the text is empty"}
	}
	return yamlNode(document.Content[0], "", 0)
}

func yamlNode(y *yaml.Node, path string, depth int) (node, error) {
	fault := func(problem string) (node, error) { return node{}, &Fault{Path: path, Problem: problem} }
	switch {
	case y.Kind == yaml.AliasNode || y.Anchor != "":
		return fault("anchors and aliases are not allowed")
	case y.Style&yaml.TaggedStyle != 0:
		return fault("tags are not allowed")
	case depth > treeDepth:
		return fault(fmt.Sprintf("nested more than %d deep", treeDepth))
	}
	switch y.Kind {
	case yaml.ScalarNode:
		return yamlScalar(y, path)
	case yaml.SequenceNode:
		n := node{sort: list}
		for i, item := range y.Content {
			inner, err := yamlNode(item, fmt.Sprintf("%s[%d]", path, i), depth+1)
			if err != nil {
				return node{}, err
			}
			n.add("", inner)
		}
		return n, nil
	case yaml.MappingNode:
		n := node{sort: object}
		for i := 0; i+1 < len(y.Content); i += 2 {
			key := y.Content[i]
			if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" || key.Anchor != "" || key.Style&yaml.TaggedStyle != 0 {
				return fault("a key must be plain text")
			}
			at := join(path, key.Value)
			if n.has(key.Value) {
				return node{}, &Fault{Path: at, Problem: "given twice"}
			}
			inner, err := yamlNode(y.Content[i+1], at, depth+1)
			if err != nil {
				return node{}, err
			}
			n.add(key.Value, inner)
		}
		return n, nil
	}
	return fault("not a value")
}

func yamlScalar(y *yaml.Node, path string) (node, error) {
	switch y.Tag {
	case "!!null":
		return node{}, nil
	case "!!bool":
		return node{value: y.Value == "true" || y.Value == "True" || y.Value == "TRUE"}, nil
	case "!!int", "!!float":
		if !json.Valid([]byte(y.Value)) {
			return node{}, &Fault{Path: path, Problem: fmt.Sprintf("the number %s must be written as in JSON, or in quotes if it is text", y.Value)}
		}
		return node{value: json.Number(y.Value)}, nil
	case "!!str", "!!timestamp":
		return node{value: y.Value}, nil
	}
	return node{}, &Fault{Path: path, Problem: "not a value"}
}
