package stablehash_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/postledger/postledger/lens/stablehash"
)

// The file pins version 1: it was checked with sha256sum, and no change of the
// code may change it.
func TestGoldenVectors(t *testing.T) {
	raw, err := os.ReadFile("testdata/v1.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name      string   `json:"name"`
		Texts     []string `json:"texts"`
		Canonical string   `json:"canonical"`
		Hash      string   `json:"hash"`
	}
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 8 {
		t.Fatalf("%d vectors", len(vectors))
	}
	for _, v := range vectors {
		for _, text := range v.Texts {
			canonical, err := stablehash.Canonical([]byte(text))
			if err != nil || string(canonical) != v.Canonical {
				t.Errorf("%s: Canonical(%s) = %s, %v; want %s", v.Name, text, canonical, err, v.Canonical)
			}
			h, err := stablehash.SumJSON([]byte(text))
			if err != nil || h.String() != v.Hash {
				t.Errorf("%s: SumJSON(%s) = %s, %v; want %s", v.Name, text, h, err, v.Hash)
			}
		}
	}
}

func TestSum(t *testing.T) {
	type inner struct {
		Raw  json.RawMessage   `json:"raw,omitempty"`
		Data map[string]string `json:"data,omitempty"`
	}
	type request struct {
		HTML   string    `json:"html"`
		At     time.Time `json:"at"`
		Inner  *inner    `json:"inner,omitempty"`
		Secret string    `json:"-"`
		Blob   []byte    `json:"blob,omitempty"`
	}
	v := request{
		HTML: "<p>\u2028&\ufffd</p>", At: time.Date(2026, 4, 6, 10, 0, 0, 0, time.UTC), Secret: "\xff", Blob: []byte{0xff},
		Inner: &inner{Raw: json.RawMessage(`{"b":"\ufffd","a":1.0}`), Data: map[string]string{"y": "1", "x": "2"}},
	}
	got, err := stablehash.Sum(v)
	if err != nil {
		t.Fatal(err)
	}
	want, err := stablehash.SumJSON([]byte(`{"inner":{"data":{"x":"2","y":"1"},"raw":{"a":1,"b":"\ufffd"}},"blob":"/w==","html":"<p>\u2028&\ufffd</p>","at":"2026-04-06T10:00:00Z"}`))
	if err != nil || got != want {
		t.Errorf("Sum = %s, want %s (%v)", got, want, err)
	}
}

func TestSumRefuses(t *testing.T) {
	type inner struct{ Name string }
	type outer struct{ inner }
	bad := "a\xffb"
	var rule *stablehash.Error
	for _, v := range []any{
		bad, &bad,
		[]string{bad},
		[1]any{bad},
		map[string]int{bad: 1},
		map[string]any{"a": bad},
		inner{bad},
		outer{inner{bad}},
		json.RawMessage("\"\xff\""),
	} {
		if h, err := stablehash.Sum(v); !errors.As(err, &rule) || rule.Rule != stablehash.RuleEncoding || !h.IsZero() {
			t.Errorf("Sum(%T) = %s, %v; want an encoding error", v, h, err)
		}
	}
	if _, err := stablehash.Sum(json.RawMessage(`{"a":1,"a":2}`)); !errors.As(err, &rule) || rule.Rule != stablehash.RuleDuplicate {
		t.Errorf("name twice in raw JSON: %v", err)
	}
	if _, err := stablehash.Sum(make(chan int)); err == nil {
		t.Error("a channel has a hash")
	}
}

func TestParse(t *testing.T) {
	h, err := stablehash.SumJSON([]byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	back, err := stablehash.Parse(h.String())
	if err != nil || back != h {
		t.Errorf("Parse(%s) = %s, %v", h, back, err)
	}
	if (stablehash.Hash{}).String() != "" || h.IsZero() || !(stablehash.Hash{}).IsZero() {
		t.Error("zero hash is not told apart")
	}
	s := h.String()
	for _, in := range []string{"", "v1:", "v2" + s[2:], s[3:], s + "0", s[:len(s)-1], "v1:" + "G" + s[4:], "V1" + s[2:], "v1:A" + s[4:]} {
		if got, err := stablehash.Parse(in); !errors.Is(err, stablehash.ErrHash) || !got.IsZero() {
			t.Errorf("Parse(%q) = %v, %v", in, got, err)
		}
	}
}
