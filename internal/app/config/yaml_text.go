package config

import "go.yaml.in/yaml/v3"

// YAMLText writes a part of a document out again, for who reads only text. A null
// that was left out ({ne: }) is spelled: in braces the encoder would write an empty
// text for it, which is a value, and a condition that most rows meet.
func YAMLText(n *yaml.Node) ([]byte, error) {
	spellNulls(n)
	return yaml.Marshal(n)
}

func spellNulls(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		n.Value = "null"
	}
	for _, inner := range n.Content {
		spellNulls(inner)
	}
}
