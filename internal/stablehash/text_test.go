package stablehash_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/postledger/postledger/internal/stablehash"
)

// A text that is handed over beside the value counts as if it were in it.
func TestSumTexts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.MapOfN(rapid.String(), genValue(1), 0, 4).Draw(t, "members")
		apart := rapid.MapOfN(rapid.String(), rapid.String(), 0, 3).Draw(t, "texts")
		rest, all := map[string]any{}, map[string]any{}
		for name, v := range members {
			var b strings.Builder
			spell(t, &b, v)
			all[name] = json.RawMessage(b.String())
			if _, ok := apart[name]; !ok {
				rest[name] = all[name]
			}
		}
		var texts []stablehash.Text
		for name, s := range apart {
			all[name] = s
			texts = append(texts, stablehash.Text{Name: name, Value: s})
		}
		want, err := stablehash.Sum(all)
		if err != nil {
			t.Fatal(err)
		}
		got, err := stablehash.SumTexts(rest, texts...)
		if err != nil || got != want {
			t.Fatalf("SumTexts(%v, %q) = %s, %v; want %s", rest, texts, got, err, want)
		}
	})
}

func TestSumTextsRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		v     any
		texts []stablehash.Text
		rule  stablehash.Rule
	}{
		"no object":          {[]int{1}, []stablehash.Text{{Name: "a"}}, stablehash.RuleSyntax},
		"null":               {nil, []stablehash.Text{{Name: "a"}}, stablehash.RuleSyntax},
		"a name twice":       {map[string]int{"a": 1}, []stablehash.Text{{Name: "a", Value: "x"}}, stablehash.RuleDuplicate},
		"two of one name":    {struct{}{}, []stablehash.Text{{Name: "a"}, {Name: "a", Value: "x"}}, stablehash.RuleDuplicate},
		"a text not UTF-8":   {struct{}{}, []stablehash.Text{{Name: "a", Value: "\xff"}}, stablehash.RuleEncoding},
		"a name not UTF-8":   {struct{}{}, []stablehash.Text{{Name: "\xff"}}, stablehash.RuleEncoding},
		"a member not UTF-8": {map[string]string{"b": "\xff"}, nil, stablehash.RuleEncoding},
	} {
		_, err := stablehash.SumTexts(tt.v, tt.texts...)
		var refused *stablehash.Error
		if !errors.As(err, &refused) || refused.Rule != tt.rule {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The text is not copied: what is held is a buffer and the rest of the value.
func TestSumTextsHoldsNoCopy(t *testing.T) {
	large := strings.Repeat("<td class=\"x\">\n\x01é</td>", 1<<16)
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := stablehash.SumTexts(struct{ A int }{1}, stablehash.Text{Name: "html", Value: large}); err != nil {
				b.Fatal(err)
			}
		}
	})
	if got := r.AllocedBytesPerOp(); got > int64(len(large))/8 {
		t.Errorf("%d bytes were allocated for a text of %d", got, len(large))
	}
}
