package address_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"pgregory.net/rapid"

	"github.com/postledger/postledger/internal/address"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"mira@rcv.test", `"ops@in.test> NOTIFY=NEVER"@out.test`, `"a\"b\\c d"@x.test`, "Åse@BÜCHER.test",
		"a@xn--bcher-kva.test", "a@例え。テスト", "\u037e@x.test", "\u1fef@x.test", "İ@x.test", "Ⱥ@x.test", "a@ß.test", "a\r\n@x.test",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkAddress(t, s) })
}

type failer interface {
	Helper()
	Fatalf(string, ...any)
}

// checkAddress holds what is true of every input.
func checkAddress(t failer, s string) {
	t.Helper()
	a, err := address.Parse(s)
	if err != nil {
		var e *address.Error
		if !errors.As(err, &e) || !a.IsZero() {
			t.Fatalf("Parse(%q) = %v, %v: want a typed error and no address", s, a, err)
		}
		return
	}
	wire := a.Wire()
	if len(wire) > 254 || !utf8.ValidString(wire) {
		t.Fatalf("wire form of %q is %q", s, wire)
	}
	checkSafe(t, wire)
	again, err := address.Parse(wire)
	if err != nil || again.Wire() != wire || again.Fold() != a.Fold() {
		t.Fatalf("Parse(%q): wire %q reads back as %q, %v", s, wire, again.Wire(), err)
	}
	folded, err := address.Parse(a.Fold())
	switch {
	case err == nil:
		if folded.Fold() != a.Fold() {
			t.Fatalf("fold %q of %q folds again to %q", a.Fold(), s, folded.Fold())
		}
	case !isRule(err, address.RuleLocalLength, address.RuleLength):
		// Lower case can be longer than upper case, nothing else may go wrong.
		t.Fatalf("fold %q of %q: %v", a.Fold(), s, err)
	}
}

// checkSafe looks at the wire form with none of the package's own code.
func checkSafe(t failer, wire string) {
	t.Helper()
	quoted := false
	for i := 0; i < len(wire); i++ {
		c := wire[i]
		switch {
		case c < 0x20 || c == 0x7f || c == '<' || c == '>':
			t.Fatalf("wire form %q holds %q", wire, c)
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && strings.IndexByte(" (),:;[]\\", c) >= 0:
			t.Fatalf("wire form %q holds %q outside quotes", wire, c)
		}
	}
	if quoted {
		t.Fatalf("wire form %q has an open quote", wire)
	}
}

func isRule(err error, rules ...address.Rule) bool {
	var e *address.Error
	if !errors.As(err, &e) {
		return false
	}
	for _, r := range rules {
		if e.Rule == r {
			return true
		}
	}
	return false
}

func TestParseProperties(t *testing.T) {
	local := rapid.StringOf(rapid.OneOf(
		rapid.SampledFrom([]rune(`aZ9.+-"\@ <>;:,()[]`)),
		rapid.SampledFrom([]rune("åÅİıßſΣς\u0338\u0307\u037e\u1fef\u212a\u0345")),
		rapid.Rune(),
	))
	domain := rapid.StringOf(rapid.SampledFrom([]rune("abXN-.0ü例。ßı\u200d")))
	rapid.Check(t, func(t *rapid.T) {
		l := local.Draw(t, "local")
		if rapid.Bool().Draw(t, "quoted") {
			l = `"` + l + `"`
		}
		checkAddress(t, l+"@"+domain.Draw(t, "domain"))
	})
}

// An ASCII domain that the Lookup profile takes is written as the profile
// writes it; the only names taken beyond it have hyphens in third and fourth
// place.
func TestASCIIDomainAgreesWithLookup(t *testing.T) {
	label := rapid.StringMatching(`[a-zA-Z0-9-]{1,8}`)
	rapid.Check(t, func(t *rapid.T) {
		domain := strings.Join(rapid.SliceOfN(label, 1, 4).Draw(t, "labels"), ".")
		want, wantErr := idna.Lookup.ToASCII(domain)
		a, err := address.Parse("a@" + domain)
		if isRule(err, address.RuleLiteral) {
			return
		}
		if wantErr == nil && (err != nil || a.Domain() != want) {
			t.Fatalf("domain %q: %q, %v; Lookup says %q", domain, a.Domain(), err, want)
		}
		if wantErr != nil && err == nil && !strings.Contains(domain, "--") {
			t.Fatalf("domain %q taken; Lookup says %v", domain, wantErr)
		}
	})
}
