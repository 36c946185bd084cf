package config

import (
	"reflect"
	"slices"
	"strings"
)

// anyName stands in a key for a name that the configuration gives.
const anyName = "*"

// keys lists every key, in the order of the struct.
func keys() []string { return keysOf(reflect.TypeFor[Config](), "") }

func keysOf(t reflect.Type, prefix string) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		key := prefix + f.Tag.Get("koanf")
		if group(f.Type) {
			out = append(out, keysOf(f.Type, key+".")...)
			continue
		}
		if f.Type.Kind() == reflect.Map {
			out = append(out, keysOf(f.Type.Elem(), key+"."+anyName+".")...)
			continue
		}
		out = append(out, key)
	}
	return out
}

// group tells a struct of keys from a struct that is one value.
func group(t reflect.Type) bool {
	return t == reflect.TypeFor[Audiences]() || t == reflect.TypeFor[Log]() || t == reflect.TypeFor[Timings]() ||
		t == reflect.TypeFor[Limits]() || t == reflect.TypeFor[S3]() || t == reflect.TypeFor[Jobs]()
}

// isKey tells whether key is one of known, names filled in.
func isKey(known []string, key string) bool {
	return slices.ContainsFunc(known, func(k string) bool {
		head, _ := cutParts(k, key)
		return head && strings.Count(k, ".") == strings.Count(key, ".")
	})
}

// isGroup tells whether key is the beginning of one of known.
func isGroup(known []string, key string) bool {
	return slices.ContainsFunc(known, func(k string) bool {
		head, more := cutParts(k, key)
		return head && more
	})
}

// cutParts tells whether a known key begins with the parts of key, and whether it
// has more.
func cutParts(known, key string) (head, more bool) {
	want, have := strings.Split(known, "."), strings.Split(key, ".")
	if len(have) > len(want) {
		return false, false
	}
	for i, part := range have {
		if part != want[i] && (want[i] != anyName || part == "") {
			return false, false
		}
	}
	return true, len(want) > len(have)
}

// variables are the names under which the environment has the keys.
func variables(keys []string) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		k = strings.ReplaceAll(k, anyName, "name")
		out[i] = Prefix + strings.ToUpper(strings.ReplaceAll(k, ".", "__"))
	}
	return out
}

// suggest names the known word that is closest to a wrong one, if it is close.
func suggest(wrong string, known []string) string {
	best, distance := "", 1+len(wrong)/4
	for _, k := range known {
		if d := edits(wrong, k); d <= distance && (best == "" || d < distance) {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean " + best + "?)"
}

// edits is the Levenshtein distance.
func edits(a, b string) int {
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
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
