package api

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"

	"github.com/postledger/postledger/internal/accept"
)

// text reads a string into v. The second result is false when it was none.
func (d *decoder) text(v reflect.Value, path string) (string, bool, error) {
	c, err := d.in.next()
	if err != nil {
		return "", false, d.broken(err)
	}
	if c != '"' {
		return "", false, d.another(c, path, kindName(v))
	}
	t, ok, err := d.in.text()
	switch {
	case err != nil:
		return "", false, d.broken(err)
	case !ok:
		d.in.bad = true
		d.add(path, accept.RuleEncoding, "is not valid UTF-8")
		return "", false, nil
	}
	return t, true, nil
}

// bytes reads a string in base64.
func (d *decoder) bytes(v reflect.Value, path string) error {
	text, ok, err := d.text(v, path)
	if !ok {
		return err
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		d.add(path, accept.RuleSyntax, "must be "+kindName(v))
		return nil
	}
	v.SetBytes(b)
	return nil
}

// leaf decodes a small value that is not taken apart here.
func (d *decoder) leaf(v reflect.Value, path string) error {
	c, err := d.in.next()
	if err != nil {
		return d.broken(err)
	}
	raw, err := d.in.raw(c)
	if err != nil {
		return d.broken(err)
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
	err = json.Unmarshal(raw, v.Addr().Interface())
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

// members are the members that the types of requests have, by type: each is
// looked at once.
type members struct{ m sync.Map }

// of is a struct's members by their JSON name, embedded ones too.
func (c *members) of(t reflect.Type) map[string][]int {
	if known, ok := c.m.Load(t); ok {
		return known.(map[string][]int)
	}
	out := map[string][]int{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "" || name == "-" {
			continue
		}
		out[name] = f.Index
	}
	c.m.Store(t, out)
	return out
}

// closest names the member that was probably meant: by two letters another name at
// most, and by no more than half of them. Of equally close ones it is the first by
// the alphabet.
func closest(name string, fields map[string][]int) string {
	best, least := "", min(3, len(name)/2+1)
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
// names (Levenshtein), or more than most where their lengths say so.
func distance(a, b string, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
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
