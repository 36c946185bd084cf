package stablehash_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/postledger/postledger/lens/stablehash"
)

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{
		`{"b":[1.0,-0,1e21,"\ud83d\ude00"],"a":null}`, `[0.1e-7,12345678901234567890123]`, `{"\u0061":1,"a":2}`,
		`"\ud800"`, "\"\xff\"", `[[[]]]`, ` true`, `1e999999999`, `{"a\"":1,"a!":2}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := stablehash.Canonical(text)
		if err != nil {
			checkRefusal(t, text, err)
			return
		}
		again, err := stablehash.Canonical(got)
		if err != nil || !bytes.Equal(again, got) {
			t.Fatalf("Canonical(%s) = %s, and of that %s, %v", text, got, again, err)
		}
		if want, have := decode(t, text), decode(t, got); !same(want, have) {
			t.Fatalf("Canonical(%s) = %s: encoding/json reads %#v and %#v", text, got, want, have)
		}
	})
}

// checkRefusal: a text refused as bad syntax is bad syntax for encoding/json
// too. (The other rules are deliberately stricter.)
func checkRefusal(t *testing.T, text []byte, err error) {
	var e *stablehash.Error
	if !errors.As(err, &e) || e.Offset < 0 || e.Offset > len(text) {
		t.Fatalf("Canonical(%q): %v", text, err)
	}
	if e.Rule == stablehash.RuleSyntax && json.Valid(text) {
		t.Fatalf("Canonical(%q): %v, but encoding/json takes it", text, err)
	}
}

func decode(t *testing.T, text []byte) any {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("encoding/json refuses %q: %v", text, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		t.Fatalf("encoding/json finds more in %q", text)
	}
	return v
}

func same(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(string(a), string(b))
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k := range a {
			if w, ok := b[k]; !ok || !same(a[k], w) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

func sameNumber(a, b string) bool {
	if _, exp, ok := strings.Cut(strings.ToLower(a), "e"); ok {
		if n, err := strconv.Atoi(exp); err != nil || n > 1000 || n < -1000 {
			return true // too large to spell out here
		}
	}
	ra, okA := new(big.Rat).SetString(a)
	rb, okB := new(big.Rat).SetString(b)
	return okA && okB && ra.Cmp(rb) == 0
}

func BenchmarkSumJSON(b *testing.B) {
	text := []byte(`{"to":[{"address":"mira@rcv.test","name":"Mira Holt"}],"subject":"Week 12","html":"` +
		strings.Repeat(`<p style=\"color:#333\">Hello {{ name }}</p>\n`, 65) + `","text":"` + strings.Repeat("Hello there. ", 60) + `","data":{"n":12.50}}`)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := stablehash.SumJSON(text); err != nil {
			b.Fatal(err)
		}
	}
}
