package config

import (
	"reflect"
	"strings"
)

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
		out = append(out, key)
	}
	return out
}

// group tells a struct of keys from a struct that is one value.
func group(t reflect.Type) bool {
	return t == reflect.TypeFor[Log]() || t == reflect.TypeFor[Timings]() || t == reflect.TypeFor[Limits]() || t == reflect.TypeFor[S3]()
}

// variables are the names under which the environment has the keys.
func variables(keys []string) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
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
