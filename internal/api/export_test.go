package api

import (
	"bytes"
	"encoding/json"
)

// types are kept as a server keeps them.
var types members

// DecodeMessage decodes a message as the API does and shows it as JSON.
func DecodeMessage(text []byte) ([]byte, error) {
	var m messageRequest
	if err := newDecoder(&types, bytes.NewReader(text)).whole(&m); err != nil {
		return nil, err
	}
	return json.Marshal(m)
}

// DecodeLenient decodes a message as encoding/json does.
func DecodeLenient(text []byte) ([]byte, error) {
	var m messageRequest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	return json.Marshal(m)
}

// DecodeProfile decodes a profile's settings, which are kept as they are.
func DecodeProfile(text []byte) error {
	var p profileRequest
	return newDecoder(&types, bytes.NewReader(text)).whole(&p)
}

// Fields are the names of the fields that an error is about.
func Fields(err error) []string {
	var out []string
	for _, f := range problemOf(err).Errors {
		out = append(out, f.Field)
	}
	return out
}

// IdempotencyKey reads the header.
func IdempotencyKey(header string) (string, error) { return idempotencyKey([]string{header}) }
