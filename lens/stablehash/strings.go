package stablehash

import (
	"encoding"
	"encoding/json"
	"reflect"
	"unicode/utf8"
)

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// validStrings reports whether all strings in v that encoding/json writes are
// valid UTF-8. It runs after a successful encoding, so v has no cycles.
func validStrings(v any) bool { return validValue(reflect.ValueOf(v)) }

func validValue(v reflect.Value) bool {
	if !v.IsValid() {
		return true
	}
	t := v.Type()
	if t.Implements(jsonMarshaler) {
		return true // its output is checked as bytes
	}
	switch v.Kind() {
	case reflect.String:
		return t.Implements(textMarshaler) || utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		return validValue(v.Elem())
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return true // base64, or numbers
		}
		for i := range v.Len() {
			if !validValue(v.Index(i)) {
				return false
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if !validValue(it.Key()) || !validValue(it.Value()) {
				return false
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := t.Field(i)
			if (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-" && !validValue(v.Field(i)) {
				return false
			}
		}
	}
	return true
}
