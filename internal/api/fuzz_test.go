package api_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/postledger/postledger/internal/api"
)

// What the strict decoder takes, encoding/json takes and reads alike; what it
// refuses names fields without values.
func FuzzDecodeMessage(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"to":[{"address":"a@in.test","name":"A"}],"text":"x"}`, `{"deadline":60}`, `{"deadline":"2026-01-01T00:00:00Z"}`,
		`{"text":"\ud83d\ude00"}`, `{"text":"\ud83d"}`, `{"text":"\\ud83d"}`, `{"text":"a","text":"b"}`, `{"Text":"a"}`, `{"cc":null}`,
		`{"attachments":[{"content":"YQ==","size":1}]}`, `{"send_at":"2026-01-01T00:00:00+01:00"}`, `[]`, `7`, `{"to":{}}`, `{"ref":[[{}]]}`,
		`{"actor":{"id":"1","id":"2"}}`, "{\"text\":\"\xff\"}", `{"text":"x"}{}`, `{"text":"x"`, ``, `nul`, `{"text":1e999}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := api.DecodeMessage(text)
		slow, late := api.DecodeSlowly(text)
		if !bytes.Equal(got, slow) || fmt.Sprint(err) != fmt.Sprint(late) || !slices.Equal(api.Fields(err), api.Fields(late)) {
			t.Fatalf("read at once it is %s, %v, and byte by byte %s, %v", got, err, slow, late)
		}
		if err != nil {
			fields := api.Fields(err)
			if len(fields) == 0 {
				t.Fatalf("refused without a field: %v", err)
			}
			for _, name := range fields {
				if len(name) > 200 || !utf8.ValidString(name) || strings.ContainsAny(name, "@\r\n<\"") {
					t.Errorf("the field is called %q", name)
				}
			}
			return
		}
		want, err := api.DecodeLenient(text)
		if err != nil {
			t.Fatalf("taken, but encoding/json says %v", err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("read as %s, and leniently as %s", got, want)
		}
		if !utf8.Valid(text) {
			t.Error("taken, but not UTF-8")
		}
	})
}

// Any key that a structured field string can express is read back.
func TestIdempotencyKeyForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[ -~]{1,40}`).Draw(t, "key")
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if got, err := api.IdempotencyKey(quoted); err != nil || got != key {
			t.Fatalf("%s is read as %q, %v", quoted, got, err)
		}
		bare := strings.Trim(key, " ")
		if bare == "" || bare[0] == '"' {
			return
		}
		if got, err := api.IdempotencyKey(bare); err != nil || got != bare {
			t.Fatalf("%s is read as %q, %v", bare, got, err)
		}
	})
}

func FuzzIdempotencyKey(f *testing.F) {
	for _, s := range []string{`a`, `"a"`, `"a\"b"`, `"a\`, `""`, `"`, "\x00", `"é"`, `"a";x=1`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		key, err := api.IdempotencyKey(header)
		if err != nil {
			return
		}
		if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
			t.Errorf("%q is read as %q", header, key)
		}
	})
}

// Settings are kept as they are, so what is inside them is looked at too.
func TestRepeatedSettings(t *testing.T) {
	profile := `{"settings":%s}`
	for settings, ok := range map[string]bool{
		`{}`: true, `{"a":1,"b":{"a":2}}`: true, `{"a":[{"x":1},{"x":2}]}`: true, `{"a":"b","b":"a"}`: true, `{"a":"a"}`: true,
		`{"a":1,"a":1}`: false, `{"b":{"a":1,"a":2}}`: false, `{"b":[{"a":1,"a":2}]}`: false, `{"a":[],"a":[]}`: false, `{"a":{},"a":{}}`: false,
		`{"b":[1,{"c":2}],"a":1,"a":1}`: false,
	} {
		if err := api.DecodeProfile([]byte(strings.Replace(profile, "%s", settings, 1))); (err == nil) != ok {
			t.Errorf("%s: %v", settings, err)
		}
	}
}
