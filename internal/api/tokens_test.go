package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/postledger/postledger/internal/api"
)

// What is JSON for encoding/json is JSON here and is kept byte for byte, and
// nothing else is, however it comes in.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{
		`{}`, `[]`, `[1,-0.5e+7,true,false,null,"a"]`, `{"a":{"b":[[],{}]},"c":""}`, ` 7 `, `"\u00e9\n\/"`, `"\ud83d\ude00"`, `"\ud83d"`,
		`"\ude00\ud83d"`, `"\ud83d\n"`, "\"\xff\"", "\"\xc3\xa9\"", "\"a\nb\"", `[1,]`, `[,1]`, `{"a":1,}`, `{"a" 1}`, `{"a":}`, `{1:2}`, `[1 2]`, `[1}`,
		`{"a":1]`, `nul`, `nulll`, `01`, `1.`, `-`, `+1`, `1e`, `"\x"`, `"\u12g4"`, `"abc`, `{`, `]`, `1 2`, ``, "\ufeff1", "[\v]", `"\u003cb\u003e"`,
		"0" + strings.Repeat("c", 3000),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		raw, clean, err := api.ReadTokens(bytes.NewReader(text))
		if valid := json.Valid(text); valid != (err == nil) {
			t.Fatalf("%q: %v, but to encoding/json valid is %v", text, err, valid)
		}
		slow, slowClean, late := api.ReadTokens(iotest.OneByteReader(bytes.NewReader(text)))
		if !bytes.Equal(raw, slow) || clean != slowClean {
			t.Fatalf("%q is %q, and byte by byte %q", text, raw, slow)
		}
		if err != nil {
			if err.Error() != late.Error() || at(err) != at(late) {
				t.Fatalf("%q: %v, and byte by byte %v", text, err, late)
			}
			return
		}
		if !bytes.Equal(raw, bytes.Trim(text, " \t\r\n")) {
			t.Fatalf("%q is read as %q", text, raw)
		}
		if clean && !utf8.Valid(text) {
			t.Fatalf("%q passes for UTF-8", text)
		}
		if raw[0] != '"' {
			return
		}
		var want string
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		got, ok, err := api.ReadText(bytes.NewReader(text))
		if err != nil || ok != clean {
			t.Fatalf("%q: %v, %v", text, ok, err)
		}
		if ok && got != want {
			t.Fatalf("%q is %q, and to encoding/json %q", text, got, want)
		}
		if !ok && !strings.ContainsRune(want, utf8.RuneError) {
			t.Fatalf("%q is refused, and encoding/json reads all of it: %q", text, want)
		}
	})
}

// at is where an error says that the syntax broke.
func at(err error) int64 {
	var s *json.SyntaxError
	if errors.As(err, &s) {
		return s.Offset
	}
	return -1
}

// A text that no buffer holds, escapes at every place of one, and a stream that
// breaks.
func TestTokensAcrossReads(t *testing.T) {
	for _, n := range []int{8185, 8190, 8191, 8192, 8193, 100_000} {
		for _, part := range []string{"x", "\n", "é", "<", "\u2028", "\U0001f600", `"`, `\`} {
			want := strings.Repeat("a", n) + strings.Repeat(part, 20_000)
			text, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			got, ok, err := api.ReadText(iotest.HalfReader(bytes.NewReader(text)))
			if err != nil || !ok || got != want {
				t.Fatalf("%d bytes and then %q: %d bytes, %v, %v", n, part, len(got), ok, err)
			}
		}
	}
	broken := errors.New("the connection broke")
	for _, text := range []string{``, `"a`, `"\`, `"\u00`, `"\ud83d`, `[1`, `{"a"`, `{"a":`, `{"a":1`, `12`} {
		_, _, err := api.ReadTokens(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			t.Errorf("%q and then a fault: %v", text, err)
		}
	}
	deep := strings.Repeat("[", 10_001)
	if _, _, err := api.ReadTokens(strings.NewReader(deep)); at(err) != 10_001 {
		t.Errorf("10,001 lists in each other: %v", err)
	}
}
