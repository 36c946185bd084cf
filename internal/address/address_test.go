package address_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/address"
)

func TestParse(t *testing.T) {
	l64 := strings.Repeat("a", 64)
	d185 := strings.Repeat("b", 61) + "." + strings.Repeat("c", 61) + "." + strings.Repeat("d", 61)
	tests := []struct {
		in, wire, fold, domain string
		smtputf8               bool
	}{
		{"mira@rcv.test", "mira@rcv.test", "mira@rcv.test", "rcv.test", false},
		{"Mira.Holt@RCV.test", "Mira.Holt@rcv.test", "mira.holt@rcv.test", "rcv.test", false},
		{"a+b-c_d~e/f=g?h^i`j{k|l}m!n#o$p%q&r'*@x.test", "a+b-c_d~e/f=g?h^i`j{k|l}m!n#o$p%q&r'*@x.test", "a+b-c_d~e/f=g?h^i`j{k|l}m!n#o$p%q&r'*@x.test", "x.test", false},
		{"root@localhost", "root@localhost", "root@localhost", "localhost", false},
		{"1@2x.3com", "1@2x.3com", "1@2x.3com", "2x.3com", false},
		{"a@my--shop.test", "a@my--shop.test", "a@my--shop.test", "my--shop.test", false},
		{"a@BÜCHER.test", "a@xn--bcher-kva.test", "a@xn--bcher-kva.test", "xn--bcher-kva.test", false},
		{"a@XN--BCHER-KVA.test", "a@xn--bcher-kva.test", "a@xn--bcher-kva.test", "xn--bcher-kva.test", false},
		{"a@例え。テスト", "a@xn--r8jz45g.xn--zckzah", "a@xn--r8jz45g.xn--zckzah", "xn--r8jz45g.xn--zckzah", false},
		{"Åse@send.test", "Åse@send.test", "åse@send.test", "send.test", true},
		{"A\u030ase@send.test", "A\u030ase@send.test", "åse@send.test", "send.test", true},
		{"用户@例子.test", "用户@xn--fsqu00a.test", "用户@xn--fsqu00a.test", "xn--fsqu00a.test", true},
		{`"john doe"@out.test`, `"john doe"@out.test`, `"john doe"@out.test`, "out.test", false},
		{`"John"@out.test`, `John@out.test`, `john@out.test`, "out.test", false},
		{`"a\b"@out.test`, `ab@out.test`, `ab@out.test`, "out.test", false},
		{`"a\"b\\c"@out.test`, `"a\"b\\c"@out.test`, `"a\"b\\c"@out.test`, "out.test", false},
		{`"a@b"@out.test`, `"a@b"@out.test`, `"a@b"@out.test`, "out.test", false},
		{`"..x"@out.test`, `"..x"@out.test`, `"..x"@out.test`, "out.test", false},
		{l64 + "@x.test", l64 + "@x.test", l64 + "@x.test", "x.test", false},
		{l64 + "@" + d185 + ".ee", l64 + "@" + d185 + ".ee", l64 + "@" + d185 + ".ee", d185 + ".ee", false},
	}
	for _, tt := range tests {
		a, err := address.Parse(tt.in)
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.in, err)
			continue
		}
		if a.String() != tt.in || a.Wire() != tt.wire || a.Fold() != tt.fold || a.Domain() != tt.domain || a.NeedsSMTPUTF8() != tt.smtputf8 {
			t.Errorf("Parse(%q) = %q, wire %q, fold %q, domain %q, smtputf8 %v; want wire %q, fold %q, domain %q, smtputf8 %v",
				tt.in, a.String(), a.Wire(), a.Fold(), a.Domain(), a.NeedsSMTPUTF8(), tt.wire, tt.fold, tt.domain, tt.smtputf8)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		in   string
		rule address.Rule
	}{
		{"", address.RuleEmpty},
		{"@x.test", address.RuleEmpty},
		{"a@", address.RuleEmpty},
		{`""@x.test`, address.RuleEmpty},
		{"a", address.RuleAt},
		{"a@b@x.test", address.RuleAt},
		{`"a"b@x.test`, address.RuleAt},
		{`"a"`, address.RuleAt},
		{"a@x.test\r\nX-Probe: 1", address.RuleControl},
		{"a@x.test\nRCPT", address.RuleControl},
		{"a\x00@x.test", address.RuleControl},
		{"\"a\tb\"@x.test", address.RuleControl},
		{"a\x7f@x.test", address.RuleControl},
		{"a\u0085@x.test", address.RuleControl},
		{"a\u2028@x.test", address.RuleControl},
		{"\"a\u00a0b\"@x.test", address.RuleControl},
		{"a\u202eb@x.test", address.RuleControl},
		{"a\ufeff@x.test", address.RuleControl},
		{"a\xff@x.test", address.RuleEncoding},
		{"\xc0\xafa@x.test", address.RuleEncoding},
		{"<a@x.test>", address.RuleBracket},
		{"Mira <a@x.test>", address.RuleBracket},
		// B05
		{`"ops@in.test> NOTIFY=NEVER"@out.test`, address.RuleBracket},
		{`"ops@in.test\> NOTIFY=NEVER"@out.test`, address.RuleBracket},
		{" a@x.test", address.RuleLocal},
		{"a b@x.test", address.RuleLocal},
		{".a@x.test", address.RuleLocal},
		{"a.@x.test", address.RuleLocal},
		{"a..b@x.test", address.RuleLocal},
		{"a,b@x.test", address.RuleLocal},
		{"a(b)@x.test", address.RuleLocal},
		{`a"b"@x.test`, address.RuleLocal},
		{`"a@x.test`, address.RuleLocal},
		{`"a\`, address.RuleLocal},
		{`"a\å"@x.test`, address.RuleLocal},
		{strings.Repeat("a", 65) + "@x.test", address.RuleLocalLength},
		{strings.Repeat("å", 33) + "@x.test", address.RuleLocalLength},
		{`"` + strings.Repeat(" ", 63) + `"@x.test`, address.RuleLocalLength},
		{"a@x.test ", address.RuleDomain},
		{"a@x.test.", address.RuleDomain},
		{"a@.x.test", address.RuleDomain},
		{"a@x..test", address.RuleDomain},
		{"a@-x.test", address.RuleDomain},
		{"a@x-.test", address.RuleDomain},
		{"a@x_y.test", address.RuleDomain},
		{"a@x.test:25", address.RuleDomain},
		{"a@x.test,b.test", address.RuleDomain},
		{"a@xn--a.test", address.RuleDomain},
		{"a@xn--bcher-kva-.test", address.RuleDomain},
		{"a@" + strings.Repeat("b", 64) + ".test", address.RuleDomainLength},
		{"a@" + strings.Repeat("b.", 130) + "test", address.RuleDomainLength},
		{"aa@" + strings.Repeat("b.", 124) + "test", address.RuleLength}, // 255
		{strings.Repeat("a", 4097), address.RuleLength},
		{"a@[192.0.2.1]", address.RuleLiteral},
		{"a@[IPv6:2001:db8::1]", address.RuleLiteral},
		{"a@192.0.2.1", address.RuleLiteral},
		{"a@１９２.0.2.１", address.RuleLiteral},
	}
	for _, tt := range tests {
		a, err := address.Parse(tt.in)
		var e *address.Error
		if !errors.As(err, &e) {
			t.Errorf("Parse(%q) = %v, %v; want rule %q", tt.in, a, err, tt.rule)
			continue
		}
		if e.Rule != tt.rule {
			t.Errorf("Parse(%q): rule %q (%v), want %q", tt.in, e.Rule, err, tt.rule)
		}
		if !a.IsZero() {
			t.Errorf("Parse(%q): a refused address is not zero", tt.in)
		}
	}
}

// B22: one recipient in any letter case, and the wire keeps the spelling.
func TestFoldJoinsSpellings(t *testing.T) {
	groups := [][]string{
		{"Mira.Holt@RCV.test", "mira.holt@rcv.test", "MIRA.HOLT@rcv.test", `"mira.holt"@rcv.test`, `"Mira\.Holt"@rcv.test`},
		{"åse@bücher.test", "ÅSE@BÜCHER.test", "a\u030ase@xn--bcher-kva.test"},
		{"k@x.test", "K@x.test", "\u212a@x.test"},
	}
	seen := map[string]int{}
	for i, group := range groups {
		for _, in := range group {
			a, err := address.Parse(in)
			if err != nil {
				t.Fatalf("Parse(%q): %v", in, err)
			}
			if j, ok := seen[a.Fold()]; ok && j != i {
				t.Errorf("%q folds into another group", in)
			}
			seen[a.Fold()] = i
		}
	}
	if len(seen) != len(groups) {
		t.Errorf("%d identities, want %d: %v", len(seen), len(groups), seen)
	}
}

func TestZero(t *testing.T) {
	var a address.Address
	if !a.IsZero() || a.Wire() != "" || a.Fold() != "" || a.String() != "" || a.Domain() != "" || a.NeedsSMTPUTF8() {
		t.Errorf("zero address is not empty: %q %q", a.Wire(), a.Fold())
	}
}

func TestErrorHoldsNoAddress(t *testing.T) {
	for _, in := range []string{"sekret..x@x.test", "sekret@x..test", "sekret@xn--sekret.test", "sekret", "<sekret@x.test>"} {
		if _, err := address.Parse(in); err == nil || strings.Contains(err.Error(), "sekret") {
			t.Errorf("Parse(%q): error %v", in, err)
		}
	}
}
