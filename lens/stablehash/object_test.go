package stablehash_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/postledger/postledger/lens/stablehash"
)

// An object that is hashed member by member has the hash of the whole.
func TestObject(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.MapOfN(rapid.String(), genValue(1), 0, 4).Draw(t, "values")
		texts := rapid.MapOfN(rapid.String(), rapid.String(), 0, 3).Draw(t, "texts")
		all, written := map[string]any{}, map[string]string{}
		for name, v := range values {
			var b strings.Builder
			spell(t, &b, v)
			all[name] = json.RawMessage(b.String())
		}
		for name, s := range texts {
			all[name] = s
		}
		for name := range all {
			quoted, err := json.Marshal(name)
			if err != nil {
				t.Fatal(err)
			}
			c, err := stablehash.Canonical(quoted)
			if err != nil {
				t.Fatal(err)
			}
			written[string(c[1:len(c)-1])] = name
		}
		want, err := stablehash.Sum(all)
		if err != nil {
			t.Fatal(err)
		}
		o := stablehash.NewObject()
		for _, w := range slices.Sorted(maps.Keys(written)) {
			switch v := all[written[w]].(type) {
			case string:
				o.Text(written[w], v)
			default:
				o.Value(written[w], v)
			}
		}
		if got, err := o.Sum(); err != nil || got != want {
			t.Fatalf("the object of %v has %s, %v; want %s", all, got, err, want)
		}
	})
}

// Texts and values that end before, at and after what is hashed at once.
func TestObjectOfAnySize(t *testing.T) {
	t.Parallel()
	for n := 4080; n < 4110; n++ {
		for _, s := range []string{strings.Repeat("x", n), strings.Repeat("x", n) + strings.Repeat("\n", 5000), strings.Repeat("é\"", n)} {
			o := stablehash.NewObject()
			o.Text("a", s)
			o.Value("b", []string{s, s})
			got, err := o.Sum()
			if want, _ := stablehash.Sum(map[string]any{"a": s, "b": []string{s, s}}); err != nil || got != want {
				t.Fatalf("%d bytes: %s, %v; want %s", len(s), got, err, want)
			}
		}
	}
}

func TestObjectRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		add  func(*stablehash.Object)
		rule stablehash.Rule
	}{
		"a name twice":         {func(o *stablehash.Object) { o.Text("a", ""); o.Value("a", 1) }, stablehash.RuleDuplicate},
		"the empty name twice": {func(o *stablehash.Object) { o.Text("", ""); o.Text("", "") }, stablehash.RuleDuplicate},
		"names out of order":   {func(o *stablehash.Object) { o.Text("b", ""); o.Text("a", ""); o.Text("c", "") }, stablehash.RuleDuplicate},
		"a text not UTF-8":     {func(o *stablehash.Object) { o.Text("a", "\xff"); o.Text("b", "") }, stablehash.RuleEncoding},
		"a name not UTF-8":     {func(o *stablehash.Object) { o.Text("\xff", "") }, stablehash.RuleEncoding},
		"a value not UTF-8":    {func(o *stablehash.Object) { o.Value("a", "\xff") }, stablehash.RuleEncoding},
	} {
		o := stablehash.NewObject()
		tt.add(o)
		_, err := o.Sum()
		var refused *stablehash.Error
		if !errors.As(err, &refused) || refused.Rule != tt.rule {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The text is not copied: what is held is a buffer and the rest of the value.
func TestObjectHoldsNoCopy(t *testing.T) {
	large := strings.Repeat("<td class=\"x\">\n\x01é</td>", 1<<16)
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			o := stablehash.NewObject()
			o.Value("a", 1)
			o.Text("html", large)
			if _, err := o.Sum(); err != nil {
				b.Fatal(err)
			}
		}
	})
	if got := r.AllocedBytesPerOp(); got > int64(len(large))/8 {
		t.Errorf("%d bytes were allocated for a text of %d", got, len(large))
	}
}
