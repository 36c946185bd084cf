package settle_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/postledger/postledger/internal/settle"
)

func TestHideAddress(t *testing.T) {
	for _, c := range []struct{ text, address, want string }{
		{"", "a@x.example", ""},
		{"250 2.0.0 Ok: queued as 4F2", "a@x.example", "250 2.0.0 Ok: queued as 4F2"},
		{"550 <a@x.example> unknown", "", "550 <a@x.example> unknown"},
		{"550 <a@x.example> unknown", "a@x.example", "550 <{rcpt}> unknown"},
		{"550 <A@X.Example>, really a@x.EXAMPLE", "a@x.example", "550 <{rcpt}>, really {rcpt}"},
		{"550 mira.holt@x.example", "Mira.Holt@x.example", "550 {rcpt}"},
		{"a@x.examplea@x.example", "a@x.example", "{rcpt}{rcpt}"},
		{"550 <åse@bokmål.example> and <ÅSE@BOKMÅL.example>", "Åse@bokmål.example", "550 <{rcpt}> and <{rcpt}>"},
		// The Kelvin sign folds to k and has three bytes.
		{"550 \u212Aim@x.example", "kim@x.example", "550 {rcpt}"},
		{"550 kim@x.example", "\u212Aim@x.example", "550 {rcpt}"},
		{"550 a+b.c$d^e(f)@x.example|y", "a+b.c$d^e(f)@x.example", "550 {rcpt}|y"},
		{`550 <"a b\\c"@x.example>`, `"a b\\c"@x.example`, "550 <{rcpt}>"},
		{"550 axx@x.example", "a.x@x.example", "550 axx@x.example"},
		{"550 rcpt@{rcpt}", "rcpt", "550 {rcpt}@{{rcpt}}"},
		{"550 a\xff@x", "a\xff@x", "550 {rcpt}"},
		{"550 $1 a@x.example", "a@x.example", "550 $1 {rcpt}"},
	} {
		if got := settle.HideAddress(c.text, c.address); got != c.want {
			t.Errorf("HideAddress(%q, %q) = %q, want %q", c.text, c.address, got, c.want)
		}
	}
}

func FuzzHideAddress(f *testing.F) {
	f.Add("550 <A@X.example> unknown a@x.example", "a@x.example")
	f.Add("550 \u212A@x İ@x", "k@x")
	f.Add("a@a@a@", "a@a")
	f.Fuzz(func(t *testing.T, text, address string) {
		got := settle.HideAddress(text, address)
		if utf8.ValidString(text) && utf8.ValidString(address) && !utf8.ValidString(got) {
			t.Errorf("not UTF-8: %q", got)
		}
		if address == "" || !strings.Contains(text, address) {
			return
		}
		if !strings.Contains(got, "{rcpt}") {
			t.Errorf("%q without %q is %q", text, address, got)
		}
		// An address with a brace in it could arise anew around the mark.
		if !strings.ContainsAny(address, "{}") && strings.Contains(address, "@") && strings.Contains(got, address) {
			t.Errorf("%q still holds %q: %q", text, address, got)
		}
		if n := strings.Count(text, "@"); strings.Contains(address, "@") && strings.Count(got, "@") >= n {
			t.Errorf("%q without %q is %q", text, address, got)
		}
	})
}

func BenchmarkHideAddress(b *testing.B) {
	for b.Loop() {
		settle.HideAddress("250 2.0.0 Ok: queued as 4FhG2b1xYzz3s", "mira.holt@x.example")
	}
}
