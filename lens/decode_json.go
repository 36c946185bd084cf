package lens

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/postledger/postledger/lens/catalogue"
)

// decodeJSON keeps numbers as they are written. JSON's null is null. Of a key that stands
// twice in an object PostgreSQL and MySQL know the last, as decoders do; MariaDB and SQLite
// keep the text, and their functions find the first, so that is what a row says.
func decodeJSON(d catalogue.Dialect, text string) any {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil
	}
	if d != catalogue.PostgreSQL && members(v) != colons(text) {
		decoder = json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		return firstOf(decoder)
	}
	return v
}

// members counts the members of all objects.
func members(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		n = len(v)
		for _, inner := range v {
			n += members(inner)
		}
	case []any:
		for _, inner := range v {
			n += members(inner)
		}
	}
	return n
}

// colons counts those outside strings: each member has one.
func colons(text string) (n int) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++ // within strings only: the text is JSON
		case '"':
			quoted = !quoted
		case ':':
			if !quoted {
				n++
			}
		}
	}
	return n
}

// firstOf reads a value that is known to be JSON.
func firstOf(decoder *json.Decoder) any {
	token, _ := decoder.Token()
	switch token {
	case json.Delim('{'):
		object := map[string]any{}
		for decoder.More() {
			name, _ := decoder.Token()
			value := firstOf(decoder)
			if key, isText := name.(string); isText {
				if _, known := object[key]; !known {
					object[key] = value
				}
			}
		}
		_, _ = decoder.Token()
		return object
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			list = append(list, firstOf(decoder))
		}
		_, _ = decoder.Token()
		return list
	}
	return token
}
