package stablehash_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/postledger/postledger/lens/stablehash"
)

// value is a JSON value for which the test knows equality: numbers are exact
// rationals. Objects are map[string]value.
type value any

func genValue(depth int) *rapid.Generator[value] {
	scalars := []*rapid.Generator[value]{
		rapid.Map(rapid.Bool(), func(b bool) value { return b }),
		rapid.Just[value](nil),
		rapid.Map(rapid.String(), func(s string) value { return s }),
		rapid.Custom(func(t *rapid.T) value {
			n := new(big.Int).SetInt64(rapid.Int64().Draw(t, "n"))
			n.Mul(n, big.NewInt(rapid.Int64().Draw(t, "times")))
			scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(rapid.IntRange(0, 30).Draw(t, "scale"))), nil)
			return new(big.Rat).SetFrac(n, scale)
		}),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	return rapid.OneOf(append(scalars,
		rapid.Map(rapid.SliceOfN(genValue(depth-1), 0, 4), func(s []value) value { return s }),
		rapid.Map(rapid.MapOfN(rapid.String(), genValue(depth-1), 0, 4), func(m map[string]value) value { return m }),
	)...)
}

// spell writes v in one of the many ways JSON has for it.
func spell(t *rapid.T, b *strings.Builder, v value) {
	space := func() {
		b.WriteString(rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r "}).Draw(t, "space"))
	}
	space()
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case string:
		spellString(t, b, v)
	case *big.Rat:
		spellNumber(t, b, v)
	case []value:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			spell(t, b, e)
		}
		space()
		b.WriteByte(']')
	case map[string]value:
		names := slices.Sorted(maps.Keys(v))
		b.WriteByte('{')
		for i, name := range rapid.Permutation(names).Draw(t, "order") {
			if i > 0 {
				b.WriteByte(',')
			}
			space()
			spellString(t, b, name)
			space()
			b.WriteByte(':')
			spell(t, b, v[name])
		}
		space()
		b.WriteByte('}')
	}
	space()
}

func spellString(t *rapid.T, b *strings.Builder, s string) {
	switch rapid.IntRange(0, 2).Draw(t, "string") {
	case 0:
		text, _ := json.Marshal(s)
		b.Write(text)
	case 1:
		b.WriteByte('"')
		for _, r := range s {
			if r > 0xffff {
				r -= 0x10000
				fmt.Fprintf(b, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			} else {
				fmt.Fprintf(b, `\u%04X`, r)
			}
		}
		b.WriteByte('"')
	default:
		enc := json.NewEncoder(b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(s)
	}
}

func spellNumber(t *rapid.T, b *strings.Builder, r *big.Rat) {
	plain := r.FloatString(40)
	if rapid.Bool().Draw(t, "short") {
		plain = strings.TrimSuffix(strings.TrimRight(plain, "0"), ".")
	}
	if r.Sign() == 0 && rapid.Bool().Draw(t, "negative zero") {
		plain = "-" + plain
	}
	if shift := rapid.IntRange(-30, 30).Draw(t, "shift"); shift != 0 {
		scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(shift, -shift))), nil))
		moved := new(big.Rat)
		if shift > 0 {
			moved.Mul(r, scale)
		} else {
			moved.Quo(r, scale)
		}
		plain = fmt.Sprintf("%s%s%d", moved.FloatString(80), rapid.SampledFrom([]string{"e", "E"}).Draw(t, "e"), -shift)
	}
	b.WriteString(plain)
}

func equal(a, b value) bool {
	ra, okA := a.(*big.Rat)
	rb, okB := b.(*big.Rat)
	if okA && okB {
		return ra.Cmp(rb) == 0
	}
	sa, okA := a.([]value)
	sb, okB := b.([]value)
	if okA && okB {
		if len(sa) != len(sb) {
			return false
		}
		for i := range sa {
			if !equal(sa[i], sb[i]) {
				return false
			}
		}
		return true
	}
	ma, okA := a.(map[string]value)
	mb, okB := b.(map[string]value)
	if okA && okB {
		if len(ma) != len(mb) {
			return false
		}
		for k, v := range ma {
			w, ok := mb[k]
			if !ok || !equal(v, w) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

func TestSpellingDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genValue(3).Draw(t, "value")
		var one, two strings.Builder
		spell(t, &one, v)
		spell(t, &two, v)
		a, err := stablehash.SumJSON([]byte(one.String()))
		if err != nil {
			t.Fatalf("SumJSON(%s): %v", one.String(), err)
		}
		b, err := stablehash.SumJSON([]byte(two.String()))
		if err != nil || a != b {
			t.Fatalf("%s and %s: %s and %s, %v", one.String(), two.String(), a, b, err)
		}
	})
}

func TestDifferentValuesDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		depth := rapid.IntRange(0, 2).Draw(t, "depth")
		v, w := genValue(depth).Draw(t, "v"), genValue(depth).Draw(t, "w")
		var one, two strings.Builder
		spell(t, &one, v)
		spell(t, &two, w)
		a, errA := stablehash.Canonical([]byte(one.String()))
		b, errB := stablehash.Canonical([]byte(two.String()))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if bytes.Equal(a, b) != equal(v, w) {
			t.Fatalf("%s and %s: %s and %s", one.String(), two.String(), a, b)
		}
	})
}
