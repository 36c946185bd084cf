package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing/iotest"
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

// DecodeSlowly decodes a message that comes byte by byte.
func DecodeSlowly(text []byte) ([]byte, error) {
	var m messageRequest
	if err := newDecoder(&types, iotest.OneByteReader(bytes.NewReader(text))).whole(&m); err != nil {
		return nil, err
	}
	return json.Marshal(m)
}

// ReadTokens reads any JSON and returns its one value as it stands there, and
// whether all of it is text.
func ReadTokens(r io.Reader) (raw []byte, clean bool, err error) {
	t := newTokens(r)
	c, err := t.next()
	if err != nil {
		return nil, false, err
	}
	if raw, err = t.raw(c); err != nil {
		return nil, false, err
	}
	if _, err = t.next(); err == nil {
		err = errors.New("something follows")
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return raw, !t.bad, err
}

// ReadText reads a text.
func ReadText(r io.Reader) (s string, ok bool, err error) {
	t := newTokens(r)
	if _, err := t.next(); err != nil {
		return "", false, err
	}
	return t.text()
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
