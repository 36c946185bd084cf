package stablehash

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// Text is a member of an object: a string that may be too large to be copied.
type Text struct{ Name, Value string }

// SumTexts returns the hash of the object that v is with the texts as further
// members. It is what [Sum] returns for all of them in one value, but holds no
// copy of a text.
func SumTexts(v any, texts ...Text) (Hash, error) {
	if len(texts) == 0 {
		return Sum(v)
	}
	canonical, err := encode(v)
	if err != nil {
		return Hash{}, err
	}
	parts, err := parts(canonical)
	if err != nil {
		return Hash{}, err
	}
	for _, t := range texts {
		name, err := encode(t.Name)
		if err != nil {
			return Hash{}, err
		}
		if !utf8.ValidString(t.Value) {
			return Hash{}, &Error{Rule: RuleEncoding, Detail: "text " + t.Name + " is not valid UTF-8"}
		}
		parts = append(parts, part{name: name, text: t.Value})
	}
	byName := func(a, b part) int { return bytes.Compare(a.inside(), b.inside()) }
	slices.SortFunc(parts, byName)
	h := sha256.New()
	w := bufio.NewWriterSize(h, 16<<10) // a hash never fails, nor does this
	between := byte('{')
	for i, p := range parts {
		if i > 0 && byName(parts[i-1], p) == 0 {
			return Hash{}, &Error{Rule: RuleDuplicate, Detail: "object has a name twice"}
		}
		w.WriteByte(between)
		w.Write(p.name)
		w.WriteByte(':')
		if p.value != nil {
			w.Write(p.value)
		} else {
			writeText(w, p.text)
		}
		between = ','
	}
	w.WriteByte('}')
	w.Flush()
	return Hash{set: true, sum: [sha256.Size]byte(h.Sum(nil))}, nil
}

// part is a member in canonical form, or one whose value is still a text.
type part struct {
	name, value []byte
	text        string
}

// inside is the name without its quotes.
func (p part) inside() []byte { return p.name[1 : len(p.name)-1] }

// parts takes an object in canonical form apart.
func parts(canonical []byte) ([]part, error) {
	if canonical[0] != '{' {
		return nil, &Error{Rule: RuleSyntax, Detail: "value with further members is no object"}
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(canonical, &members); err != nil {
		return nil, &Error{Rule: RuleSyntax, Detail: err.Error()}
	}
	out := make([]part, 0, len(members)+2)
	for name, value := range members {
		quoted, err := encode(name)
		if err != nil {
			return nil, err
		}
		out = append(out, part{name: quoted, value: value})
	}
	return out, nil
}

// writeText writes the canonical form of a string that is valid UTF-8.
func writeText(w *bufio.Writer, s string) {
	w.WriteByte('"')
	var escaped [8]byte
	run := 0
	for i := range len(s) {
		if c := s[i]; c < utf8.RuneSelf && !plain[c] {
			w.WriteString(s[run:i])
			w.Write(appendRune(escaped[:0], rune(c)))
			run = i + 1
		}
	}
	w.WriteString(s[run:])
	w.WriteByte('"')
}
