package stablehash_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/postledger/postledger/lens/stablehash"
)

func TestCanonical(t *testing.T) {
	tests := []struct{ in, want string }{
		{" null ", "null"},
		{"\r\n\ttrue", "true"},
		{"[ ]", "[]"},
		{"{ }", "{}"},
		{`[1 , 2,[ false ]]`, `[1,2,[false]]`},
		{`{"b":1,"a":{"d":[],"c":{}}}`, `{"a":{"c":{},"d":[]},"b":1}`},
		{`{"a!":1,"a":2,"":3}`, `{"":3,"a":2,"a!":1}`},
		{`{"é":1,"z":2,"😀":3,"\ufb33":4}`, `{"z":2,"é":1,"` + "\ufb33" + `":4,"😀":3}`},
		{`"\u0041\/\u005c\"\u0022\b\f\n\r\t\u0008\u000A\u001F\u007f\u00e9"`, `"A/\\\"\"\b\f\n\r\t\b\n\u001f` + "\x7fé" + `"`},
		{`"\ud83d\ude00 \ufffd"`, "\"😀 \ufffd\""},
		{"\"e\u0301 \u00e9\"", "\"e\u0301 \u00e9\""}, // not normalised
		{"0", "0"},
		{"-0", "0"},
		{"-0.00e5", "0"},
		{"1.0", "1"},
		{"1e0", "1"},
		{"10e-1", "1"},
		{"100E+2", "10000"},
		{"-120.50", "-120.5"},
		{"0.000001", "0.000001"},
		{"0.0000001", "1e-7"},
		{"12.5e-8", "1.25e-7"},
		{"100000000000000000000", "100000000000000000000"},
		{"1e20", "100000000000000000000"},
		{"1e21", "1e+21"},
		{"1000000000000000000000", "1e+21"},
		{"1234567890123456789012", "1.234567890123456789012e+21"},
		{"9007199254740993", "9007199254740993"},
		{"0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"},
		{"1e999999999", "1e+999999999"},
		{"-1e-999999999", "-1e-999999999"},
	}
	for _, tt := range tests {
		got, err := stablehash.Canonical([]byte(tt.in))
		if err != nil || string(got) != tt.want {
			t.Errorf("Canonical(%s) = %s, %v; want %s", tt.in, got, err, tt.want)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	deep := strings.Repeat("[", 129) + strings.Repeat("]", 129)
	deepObject := strings.Repeat(`{"a":`, 129) + "1" + strings.Repeat("}", 129)
	tests := []struct {
		in     string
		rule   stablehash.Rule
		offset int
	}{
		{"", stablehash.RuleSyntax, 0},
		{"  ", stablehash.RuleSyntax, 2},
		{"nul", stablehash.RuleSyntax, 0},
		{"nulll", stablehash.RuleSyntax, 4},
		{"1 2", stablehash.RuleSyntax, 2},
		{"\ufeff1", stablehash.RuleSyntax, 0},
		{"\x00", stablehash.RuleSyntax, 0},
		{"[1,]", stablehash.RuleSyntax, 3},
		{"[1", stablehash.RuleSyntax, 2},
		{"[1;2]", stablehash.RuleSyntax, 2},
		{`{"a":1,}`, stablehash.RuleSyntax, 7},
		{`{a:1}`, stablehash.RuleSyntax, 1},
		{`{"a" 1}`, stablehash.RuleSyntax, 5},
		{`{"a":1`, stablehash.RuleSyntax, 6},
		{`"a`, stablehash.RuleSyntax, 2},
		{"\"a\nb\"", stablehash.RuleSyntax, 2},
		{`"\x"`, stablehash.RuleSyntax, 2},
		{`"\`, stablehash.RuleSyntax, 2},
		{`"\u12`, stablehash.RuleSyntax, 5},
		{`"\u12g4"`, stablehash.RuleSyntax, 5},
		{"01", stablehash.RuleSyntax, 0},
		{"-", stablehash.RuleSyntax, 1},
		{"+1", stablehash.RuleSyntax, 0},
		{".5", stablehash.RuleSyntax, 0},
		{"1.", stablehash.RuleSyntax, 2},
		{"1.e1", stablehash.RuleSyntax, 2},
		{"1e", stablehash.RuleSyntax, 2},
		{"1e+", stablehash.RuleSyntax, 3},
		{"NaN", stablehash.RuleSyntax, 0},
		{"1e1000000000", stablehash.RuleNumber, 12},
		{"10e999999999", stablehash.RuleNumber, 12},
		{"0.1e-999999999", stablehash.RuleNumber, 14},
		{"\"\xff\"", stablehash.RuleEncoding, 1},
		{"\"\xed\xa0\x80\"", stablehash.RuleEncoding, 1},
		{`"\ud800"`, stablehash.RuleEncoding, 7},
		{`"\udc00\ud800"`, stablehash.RuleEncoding, 13},
		{`"\ud800x"`, stablehash.RuleEncoding, 7},
		{`{"a":1,"a":1}`, stablehash.RuleDuplicate, 13},
		{`{"a":1,"b":2,"\u0061":3}`, stablehash.RuleDuplicate, 24},
		{deep, stablehash.RuleDepth, 128},
		{deepObject, stablehash.RuleDepth, 640},
	}
	for _, tt := range tests {
		got, err := stablehash.Canonical([]byte(tt.in))
		var e *stablehash.Error
		if !errors.As(err, &e) || got != nil {
			t.Errorf("Canonical(%.60q) = %s, %v; want rule %q", tt.in, got, err, tt.rule)
			continue
		}
		if e.Rule != tt.rule || e.Offset != tt.offset {
			t.Errorf("Canonical(%.60q): %q at %d (%v); want %q at %d", tt.in, e.Rule, e.Offset, err, tt.rule, tt.offset)
		}
	}
}

func TestCanonicalLimits(t *testing.T) {
	if _, err := stablehash.Canonical([]byte(strings.Repeat("[", 128) + strings.Repeat("]", 128))); err != nil {
		t.Errorf("128 levels: %v", err)
	}
	big := make([]byte, stablehash.MaxBytes+1)
	var e *stablehash.Error
	if _, err := stablehash.Canonical(big); !errors.As(err, &e) || e.Rule != stablehash.RuleSize {
		t.Errorf("text over the limit: %v", err)
	}
}
