package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/postledger/postledger/internal/accept"
)

// leaf decodes a value that is not taken apart here.
func (d *decoder) leaf(v reflect.Value, path string) error {
	var raw json.RawMessage
	if err := d.dec.Decode(&raw); err != nil {
		return d.broken(err)
	}
	if !utf8.Valid(raw) || (raw[0] == '"' && lonelySurrogate(raw)) {
		d.add(path, accept.RuleEncoding, "is not valid UTF-8")
		return nil
	}
	if bytes.Equal(raw, []byte("null")) {
		d.add(path, ruleNull, "is null: leave it out if it is not meant")
		return nil
	}
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		if name := repeated(raw); name != "" {
			d.add(path+"."+safeName(name), accept.RuleDuplicate, "is given more than once")
			return nil
		}
		v.SetBytes(raw)
		return nil
	}
	err := json.Unmarshal(raw, v.Addr().Interface())
	if err == nil {
		return nil
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		d.add(path, ruleType, "must be "+kindName(v))
		return nil
	}
	d.add(path, accept.RuleSyntax, "must be "+kindName(v))
	return nil
}

// described is a type that says what its JSON looks like.
type described interface{ describe() string }

func kindName(v reflect.Value) string {
	if t, ok := v.Addr().Interface().(described); ok {
		return t.describe()
	}
	switch v.Type().String() {
	case "time.Time":
		return "a time such as 2026-01-31T12:00:00Z (RFC 3339)"
	case "postledger.ID":
		return "a UUID"
	}
	switch v.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Int32:
		return "a whole number"
	case reflect.Slice:
		return "a text in base64"
	default:
		return "a text"
	}
}

// fieldsOf is a struct's members by their JSON name, embedded ones too.
func fieldsOf(t reflect.Type) map[string][]int {
	out := map[string][]int{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "" || name == "-" {
			continue
		}
		out[name] = f.Index
	}
	return out
}

// closest names the member that was probably meant.
func closest(name string, fields map[string][]int) string {
	best, least := "", 3
	for known := range fields {
		if strings.EqualFold(known, name) {
			return ": did you mean " + known + "?"
		}
		if d := distance(known, name, least); d < least || (d == least && best != "" && known < best) {
			best, least = known, d
		}
	}
	if best == "" {
		return ""
	}
	return ": did you mean " + best + "?"
}

// distance is the number of insertions, deletions and replacements between two
// names (Levenshtein); names that differ by most in length are not compared.
func distance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// lonelySurrogate reports an escape such as \ud800 that is half a character:
// encoding/json would put U+FFFD in its place.
func lonelySurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if i >= len(raw) || raw[i] != 'u' {
			continue
		}
		switch c := hex4(raw[i+1:]); {
		case c >= 0xdc00 && c < 0xe000:
			return true
		case c >= 0xd800 && c < 0xdc00:
			rest := raw[min(i+5, len(raw)):]
			if !bytes.HasPrefix(rest, []byte(`\u`)) {
				return true
			}
			if low := hex4(rest[2:]); low < 0xdc00 || low >= 0xe000 {
				return true
			}
			i += 10
		}
	}
	return false
}

func hex4(b []byte) (c rune) {
	for i := range min(4, len(b)) {
		switch d := b[i] | 0x20; {
		case d >= '0' && d <= '9':
			c = c<<4 | rune(d-'0')
		case d >= 'a' && d <= 'f':
			c = c<<4 | rune(d-'a'+10)
		}
	}
	return c
}

// repeated is the first name that an object inside raw has twice, or "".
func repeated(raw []byte) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	var open []map[string]bool // nil for a list
	name := false
	for {
		t, err := dec.Token()
		if err != nil {
			return ""
		}
		switch t := t.(type) {
		case json.Delim:
			switch t {
			case '{':
				open, name = append(open, map[string]bool{}), true
				continue
			case '[':
				open, name = append(open, nil), false
				continue
			default:
				open = open[:len(open)-1]
			}
		case string:
			if name {
				seen := open[len(open)-1]
				if seen[t] {
					return t
				}
				seen[t], name = true, false
				continue
			}
		}
		name = len(open) > 0 && open[len(open)-1] != nil
	}
}
