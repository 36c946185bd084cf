package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// encode makes JSON of a request. encoding/json would replace bytes that are not
// UTF-8 by U+FFFD without a word, and mail would say something other than what
// was asked for; so they are refused here, as the server refuses them.
func encode(v any) ([]byte, error) {
	if field := notUTF8(reflect.ValueOf(v), ""); field != "" {
		return nil, fmt.Errorf("%s: is not valid UTF-8", field)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	// HTML bodies are mostly made of what would be escaped.
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// notUTF8 is the path of a text that is not UTF-8, or "".
func notUTF8(v reflect.Value, path string) string {
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			return path
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return notUTF8(v.Elem(), path)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return ""
		}
		for i := range v.Len() {
			if f := notUTF8(v.Index(i), path+"["+strconv.Itoa(i)+"]"); f != "" {
				return f
			}
		}
	case reflect.Struct:
		return notUTF8Field(v, path)
	}
	return ""
}

func notUTF8Field(v reflect.Value, path string) string {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := path
		switch {
		case f.Anonymous && name == "":
			// Its members are this object's.
		case !f.IsExported() || name == "-" || name == "":
			continue
		case path == "":
			at = name
		default:
			at = path + "." + name
		}
		if bad := notUTF8(v.Field(i), at); bad != "" {
			return bad
		}
	}
	return ""
}
