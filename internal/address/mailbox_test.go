package address_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/address"
)

func TestParseMailbox(t *testing.T) {
	tests := []struct{ in, name, wire string }{
		{"desk@send.test", "", "desk@send.test"},
		{" <desk@send.test> ", "", "desk@send.test"},
		{"Mira Holt <mira@send.test>", "Mira Holt", "mira@send.test"},
		{"Åse Brønstad\t<ase@send.test>", "Åse Brønstad", "ase@send.test"},
		{`"Holt, Mira" <mira@send.test>`, "Holt, Mira", "mira@send.test"},
		{`"a \"b\" <c> \\" <mira@send.test>`, `a "b" <c> \`, "mira@send.test"},
		{"Holt, Mira (desk) <mira@send.test>", "Holt, Mira (desk)", "mira@send.test"},
		{`Mira <"mira holt"@send.test>`, "Mira", `"mira holt"@send.test`},
		{"דוא\u200f <x@send.test>", "דוא\u200f", "x@send.test"},
	}
	for _, tt := range tests {
		m, err := address.ParseMailbox(tt.in)
		if err != nil {
			t.Errorf("ParseMailbox(%q): %v", tt.in, err)
			continue
		}
		if m.Name != tt.name || m.Address.Wire() != tt.wire {
			t.Errorf("ParseMailbox(%q) = %q, %q; want %q, %q", tt.in, m.Name, m.Address.Wire(), tt.name, tt.wire)
		}
	}
}

func TestParseMailboxRefuses(t *testing.T) {
	tests := []struct {
		in   string
		rule address.Rule
	}{
		{"", address.RuleEmpty},
		{"<>", address.RuleEmpty},
		{"Mira <mira@send.test", address.RuleMailbox},
		{"Mira <mira@send.test> x", address.RuleMailbox},
		{"a <b> <mira@send.test>", address.RuleMailbox},
		{`Mi"ra <mira@send.test>`, address.RuleMailbox},
		{`"Mira <mira@send.test>`, address.RuleMailbox},
		{`"Mira\" <mira@send.test>`, address.RuleMailbox},
		{`"Mira" Holt <mira@send.test>`, address.RuleMailbox},
		{"Mira\r\nBcc: spy@evil.test <mira@send.test>", address.RuleName},
		{"Mira\x00 <mira@send.test>", address.RuleName},
		{"Mira\u202e <mira@send.test>", address.RuleName},
		{"Mira\xff <mira@send.test>", address.RuleEncoding},
		{strings.Repeat("x", 256) + " <mira@send.test>", address.RuleName},
		{"Mira < mira@send.test>", address.RuleLocal},
		// B01: a line break inside the address
		{"Desk <desk@send.test\r\nX-Probe: 1>", address.RuleControl},
	}
	for _, tt := range tests {
		_, err := address.ParseMailbox(tt.in)
		var e *address.Error
		if !errors.As(err, &e) || e.Rule != tt.rule {
			t.Errorf("ParseMailbox(%q): %v, want rule %q", tt.in, err, tt.rule)
		}
	}
}

func FuzzParseMailbox(f *testing.F) {
	for _, s := range []string{"Mira <mira@send.test>", `"Holt, \"M\"" <a@x.test>`, "<a@x.test>", `" <`, "a@x.test"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := address.ParseMailbox(s)
		if err != nil {
			return
		}
		if err := address.CheckName(m.Name); err != nil {
			t.Fatalf("ParseMailbox(%q): name %q: %v", s, m.Name, err)
		}
		if again, err := address.Parse(m.Address.Wire()); err != nil || again.Wire() != m.Address.Wire() {
			t.Fatalf("ParseMailbox(%q): address %q: %v", s, m.Address.Wire(), err)
		}
	})
}
