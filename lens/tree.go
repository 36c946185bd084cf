package lens

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// node is a JSON or YAML value with the order of its members kept.
type node struct {
	// value is nil, a bool, a string or a json.Number where the node is neither
	// object nor list.
	value   any
	members []member
	items   []node
	sort    nodeSort
}

type nodeSort int

const (
	scalar nodeSort = iota
	object
	list
)

type member struct {
	name string
	node node
}

func (n node) is(sort nodeSort) bool { return n.sort == sort }
func (n node) null() bool            { return n.sort == scalar && n.value == nil }

func (n node) describe() string {
	switch {
	case n.sort == object:
		return "an object"
	case n.sort == list:
		return "a list"
	case n.value == nil:
		return "null"
	}
	switch n.value.(type) {
	case bool:
		return "true or false"
	case string:
		return "text"
	}
	return "a number"
}

// treeDepth bounds nesting of the text; a where of MaxDepth fits well.
const treeDepth = 3 * MaxDepth

// jsonTree reads one JSON value. What encoding/json would forgive is an error:
// bytes that are not UTF-8, a key given twice, anything after the value.
func jsonTree(text []byte) (node, error) {
	if err := readableText(text); err != nil {
		return node{}, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	root, err := jsonNode(decoder, text, "", 0)
	if err != nil {
		return node{}, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return node{}, &Fault{Problem: "something follows the JSON value"}
	}
	return root, nil
}

func readableText(text []byte) error {
	switch {
	case len(text) > MaxBytes:
		return &Fault{Problem: fmt.Sprintf("a lens has at most %d bytes", MaxBytes)}
	case !utf8.Valid(text):
		return &Fault{Problem: "the text is not UTF-8"}
	}
	return nil
}

func jsonNode(decoder *json.Decoder, text []byte, path string, depth int) (node, error) {
	began := decoder.InputOffset()
	token, err := decoder.Token()
	if err != nil {
		return node{}, &Fault{Path: path, Problem: fmt.Sprintf("not JSON: %v", err)}
	}
	if _, isText := token.(string); isText && halfPair(text[began:decoder.InputOffset()]) {
		return node{}, &Fault{Path: path, Problem: notText}
	}
	delimiter, ok := token.(json.Delim)
	if !ok {
		return node{value: token}, nil
	}
	if depth == treeDepth {
		return node{}, &Fault{Path: path, Problem: fmt.Sprintf("nested more than %d deep", treeDepth)}
	}
	n := node{sort: list}
	if delimiter == '{' {
		n.sort = object
	}
	for decoder.More() {
		at := fmt.Sprintf("%s[%d]", path, len(n.items))
		name := ""
		if n.sort == object {
			began := decoder.InputOffset()
			key, err := decoder.Token()
			if err != nil {
				return node{}, &Fault{Path: path, Problem: fmt.Sprintf("not JSON: %v", err)}
			}
			if halfPair(text[began:decoder.InputOffset()]) {
				return node{}, &Fault{Path: at, Problem: notText}
			}
			name, _ = key.(string)
			at = join(path, name)
			if n.has(name) {
				return node{}, &Fault{Path: at, Problem: "given twice"}
			}
		}
		inner, err := jsonNode(decoder, text, at, depth+1)
		if err != nil {
			return node{}, err
		}
		n.add(name, inner)
	}
	if _, err := decoder.Token(); err != nil {
		return node{}, &Fault{Path: path, Problem: fmt.Sprintf("not JSON: %v", err)}
	}
	return n, nil
}

func (n *node) add(name string, inner node) {
	if n.sort == object {
		n.members = append(n.members, member{name, inner})
		return
	}
	n.items = append(n.items, inner)
}

func (n node) has(name string) bool {
	_, found := n.get(name)
	return found
}

func (n node) get(name string) (node, bool) {
	for _, m := range n.members {
		if m.name == name {
			return m.node, true
		}
	}
	return node{}, false
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
